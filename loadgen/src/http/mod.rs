//! Just enough HTTP/1.1 to know where answers end and how many requests a string holds.

mod chunked;
mod request;
mod response;

pub use request::{Batch, RequestError};
pub use response::{Answer, Capture, ParseError, ResponseParser};
