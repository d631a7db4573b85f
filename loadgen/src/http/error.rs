//! The ways in which a response can be malformed.

use thiserror::Error;

/// Maximum length of the status line and headers in bytes.
pub(super) const HEAD_BYTES_MAX: usize = 256 * 1024;
/// Maximum number of bytes of a malformed line that an error shows.
const SHOWN_MAX: usize = 100;

/// Why bytes are not a valid response. The connection is then closed and a read error counted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseError {
    /// The status line or a header is malformed.
    #[error("{error}: {line:?}")]
    Head {
        /// What is wrong.
        error: httparse::Error,
        /// The start of the line that is wrong.
        line: String,
    },
    /// The status line and headers are too long.
    #[error("status line and headers are longer than {HEAD_BYTES_MAX} bytes")]
    HeadTooLong,
    /// Content-Length is not a number, or two different ones are given.
    #[error("Content-Length is not a number, or there are two that differ: {0:?}")]
    ContentLength(String),
    /// The framing of a chunked body is invalid.
    #[error("a chunk's size or its end is malformed")]
    Chunk,
}

impl ParseError {
    /// The reason in a few words.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Head { .. } => "malformed head",
            Self::HeadTooLong => "head too long",
            Self::ContentLength(_) => "invalid Content-Length",
            Self::Chunk => "malformed chunked body",
        }
    }

    /// Finds the first line of `head` with which `is_valid` refuses its beginning.
    pub(super) fn of_head(error: httparse::Error, head: &[u8], is_valid: impl Fn(&[u8]) -> bool) -> Self {
        let mut ends: Vec<usize> = memchr::memchr_iter(b'\n', head).map(|at| at + 1).collect();
        ends.push(head.len());
        let wrong = ends.partition_point(|end| is_valid(&head[..*end])).min(ends.len() - 1);
        let start = if wrong == 0 { 0 } else { ends[wrong - 1] };
        Self::Head { error, line: shown(&head[start..ends[wrong]]) }
    }
}

/// The start of `bytes` as text, for an error.
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_MAX)]);
    text.trim_end_matches(['\r', '\n']).to_owned()
}
