//! Just enough HTTP/1.1 to know where responses end and how many requests a string holds.

mod chunked;
mod request;
mod response;

pub use request::{Batch, Operation, RequestError};
pub use response::{Capture, ParseError, Response, ResponseParser};
