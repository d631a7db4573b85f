//! The subset of HTTP/1.1 that is needed to find the end of responses and to count the requests in a string.

mod chunked;
mod error;
mod request;
mod response;

pub use error::{ParseError, shown};
pub use request::{Batch, Operation, RequestError};
pub use response::{Capture, Response, ResponseParser};
