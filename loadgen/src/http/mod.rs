//! The subset of HTTP/1.1 that is needed to find the end of responses and to count the requests in a string.

mod chunked;
mod error;
mod request;
mod response;

/// Reads the value of a Content-Length. As a client may, takes a value that is repeated in a list for one (RFC 9112 §6.3).
/// `None` if it is no number, or if another one than `earlier` or than before in the list.
fn content_length(value: &[u8], mut earlier: Option<u64>) -> Option<u64> {
    for digits in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
        let length = std::str::from_utf8(digits).ok().filter(|digits| !digits.starts_with('+'))?.parse().ok()?;
        if earlier.is_some_and(|earlier| earlier != length) {
            return None;
        }
        earlier = Some(length);
    }
    earlier
}

pub use error::{ParseError, shown};
pub use request::{Batch, Operation, RequestError};
pub use response::{Capture, Response, ResponseParser};
