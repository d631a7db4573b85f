//! The ways in which a response can be malformed.

use thiserror::Error;

/// Maximum length of the status line and headers in bytes.
pub(super) const HEAD_BYTES_MAX: usize = 256 * 1024;

/// Why bytes are not a valid response. The connection is then closed and a read error counted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseError {
    /// The status line or a header is malformed.
    #[error("malformed status line or header: {0}")]
    Head(httparse::Error),
    /// The status line and headers are too long.
    #[error("status line and headers are longer than {HEAD_BYTES_MAX} bytes")]
    HeadTooLong,
    /// Content-Length is not a number, or two different ones are given.
    #[error("Content-Length is not a number, or there are two that differ")]
    ContentLength,
    /// The framing of a chunked body is invalid.
    #[error("malformed chunked body")]
    Chunk,
}
