//! Counts the requests in a string and finds the method of each request.

use memchr::memmem;
use std::mem::MaybeUninit;
use thiserror::Error;

/// Maximum number of headers of a request.
const HEADERS_MAX: usize = 128;
/// Maximum number of bytes of a wrong text that an error shows.
const SHOWN_MAX: usize = 40;

/// Why a text is not a sequence of valid requests.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// There is no text.
    #[error("the request is empty")]
    Empty,
    /// The text does not begin with a request line and headers.
    #[error("request {number} is not an HTTP/1.1 request: {reason}")]
    Malformed {
        /// The number of the request in the text, from 1.
        number: u32,
        /// What is wrong.
        reason: String,
    },
    /// The text ends before the end of the headers.
    #[error("request {number} is cut short: an empty line must follow its headers")]
    NoEndOfHeaders {
        /// The number of the request in the text, from 1.
        number: u32,
    },
    /// The text ends before the end of the body.
    #[error("request {number} is cut short: its body has {found} bytes, and its Content-Length is {length}")]
    BodyTooShort {
        /// The number of the request in the text, from 1.
        number: u32,
        /// Number of bytes after the headers.
        found: usize,
        /// The Content-Length.
        length: usize,
    },
    /// Text that is no request follows a complete request.
    #[error(
        "{count} bytes that are no request follow after the end of request {number}: {start:?}; its Content-Length is {length}"
    )]
    Excess {
        /// The number of the request that they follow, from 1.
        number: u32,
        /// Number of bytes.
        count: usize,
        /// The first of them.
        start: String,
        /// The Content-Length of the request.
        length: usize,
    },
    /// The body has no Content-Length, so the start of the next request is unknown.
    #[error("a request with Transfer-Encoding cannot be counted; send the body with a Content-Length")]
    TransferEncoding,
}

/// The method of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(usize)]
pub enum Operation {
    /// GET.
    #[default]
    Get,
    /// PUT.
    Put,
    /// POST.
    Post,
    /// DELETE.
    Delete,
    /// HEAD: its response has no body, even if its headers say so.
    Head,
    /// Any other method.
    Other,
}

impl Operation {
    /// All operations, ordered by their numbers.
    pub const ALL: [Self; Self::COUNT] = [Self::Get, Self::Put, Self::Post, Self::Delete, Self::Head, Self::Other];
    /// The number of operations.
    pub const COUNT: usize = 6;

    /// The method's name; `other` for a method that has no number.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::Post => "POST",
            Self::Delete => "DELETE",
            Self::Head => "HEAD",
            Self::Other => "other",
        }
    }

    /// Reads the method at the start of `request`.
    #[inline]
    fn of(request: &[u8]) -> Self {
        let is = |operation: &Self| {
            let name = operation.name().as_bytes();
            request.starts_with(name) && request.get(name.len()) == Some(&b' ')
        };
        Self::ALL.into_iter().find(is).unwrap_or(Self::Other)
    }
}

/// The requests in one string. Several requests are HTTP pipelining.
#[derive(Debug, PartialEq, Eq, Default)]
pub struct Batch {
    count: u32,
    /// The method of the first request, and of all others if `mixed` is empty.
    operation: Operation,
    /// The method of each request; empty if all methods are the same.
    mixed: Vec<Operation>,
}

impl Clone for Batch {
    fn clone(&self) -> Self {
        Self { count: self.count, operation: self.operation, mixed: self.mixed.clone() }
    }

    /// Copies without allocating, unless `source` has more methods than fit.
    fn clone_from(&mut self, source: &Self) {
        self.count = source.count;
        self.operation = source.operation;
        self.mixed.clone_from(&source.mixed);
    }
}

impl Batch {
    /// Counts the requests in `text`.
    pub fn of(text: &[u8]) -> Result<Self, RequestError> {
        let mut batch = Self::default();
        batch.set(text)?;
        Ok(batch)
    }

    /// Counts the requests in `text`, as [`Batch::of`] does, but reuses this batch's memory.
    ///
    /// Line ends before and after a request belong to it: servers skip them (RFC 9112 §2.2). Checks a GET without a body
    /// in full only if it is the first request of this batch's lifetime.
    pub fn set(&mut self, text: &[u8]) -> Result<(), RequestError> {
        let checked = self.count > 0;
        self.count = 0;
        self.mixed.clear();
        let (mut rest, mut body_length) = (text, 0);
        loop {
            while let [b'\r' | b'\n', after @ ..] = rest {
                rest = after;
            }
            if rest.is_empty() {
                return if self.count > 0 { Ok(()) } else { Err(RequestError::Empty) };
            }
            let operation = Operation::of(rest);
            let number = self.count + 1;
            // The usual case: one request without a body. `wrk.format` made its text, or a script whose first request on
            // this connection was checked in full.
            let length = if checked && operation == Operation::Get && is_one_head(rest) {
                rest.len()
            } else {
                let (head_length, length) = one_request(rest, number).map_err(|error| match error {
                    RequestError::Malformed { .. } | RequestError::NoEndOfHeaders { .. }
                        if number > 1 && operation == Operation::Other =>
                    {
                        let start = String::from_utf8_lossy(&rest[..rest.len().min(SHOWN_MAX)]).into_owned();
                        RequestError::Excess { number: number - 1, count: rest.len(), start, length: body_length }
                    }
                    error => error,
                })?;
                body_length = length;
                head_length + length
            };
            if self.count == 0 {
                self.operation = operation;
            } else if operation != self.operation && self.mixed.is_empty() {
                self.mixed.resize(self.count as usize, self.operation);
            }
            if operation != self.operation || !self.mixed.is_empty() {
                self.mixed.push(operation);
            }
            self.count += 1;
            rest = &rest[length..];
        }
    }

    /// Number of requests; at least 1 if the batch was made from a text.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The method of request number `index` of the batch.
    #[inline]
    pub fn operation(&self, index: u32) -> Operation {
        self.mixed.get(index as usize).copied().unwrap_or(self.operation)
    }

    /// Whether request number `index` of the batch is a HEAD.
    #[inline]
    pub fn is_head(&self, index: u32) -> bool {
        self.operation(index) == Operation::Head
    }
}

/// Whether `text` ends with its first empty line.
#[inline]
fn is_one_head(text: &[u8]) -> bool {
    memmem::find(text, b"\r\n\r\n").is_some_and(|at| at + 4 == text.len())
}

/// The lengths of the head and the body of the first request of `text`. An error calls it request `number`.
fn one_request(text: &[u8], number: u32) -> Result<(usize, usize), RequestError> {
    let malformed = |reason: String| RequestError::Malformed { number, reason };
    let mut headers = [const { MaybeUninit::uninit() }; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut []);
    let head_length = match request.parse_with_uninit_headers(text, &mut headers) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Err(RequestError::NoEndOfHeaders { number }),
        Err(error) => return Err(malformed(error.to_string())),
    };
    let mut length = None;
    for header in request.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let wrong = || malformed("Content-Length is not a number, or there are two that differ".to_owned());
            length = Some(super::content_length(header.value, length).ok_or_else(wrong)?);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(RequestError::TransferEncoding);
        }
    }
    let (found, length) = (text.len() - head_length, length.map_or(0, |length| length as usize));
    if found < length { Err(RequestError::BodyTooShort { number, found, length }) } else { Ok((head_length, length)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: &str = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
    const HEAD: &str = "HEAD /a HTTP/1.1\r\nHost: x\r\n\r\n";
    const PUT: &str = "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n\r\n\r\n";

    #[test]
    fn pipelined_requests_are_counted_with_their_bodies() {
        let batch = Batch::of(format!("{GET}{PUT}{HEAD}{GET}").as_bytes()).unwrap();
        assert_eq!(batch.count(), 4);
        assert_eq!((0..4).map(|i| batch.is_head(i)).collect::<Vec<_>>(), [false, false, true, false]);
        let operations: Vec<_> = (0..4).map(|i| batch.operation(i).name()).collect();
        assert_eq!(operations, ["GET", "PUT", "HEAD", "GET"]);
        assert_eq!(Batch::of(GET.as_bytes()).unwrap().count(), 1);
        let same = Batch::of(format!("{PUT}{PUT}").as_bytes()).unwrap();
        assert_eq!((same.operation(0), same.operation(1)), (Operation::Put, Operation::Put));
        assert_eq!(Batch::of(b"PUTS / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap().operation(0), Operation::Other);
        assert!(Batch::of(HEAD.as_bytes()).unwrap().is_head(0));
        assert!(Batch::of(format!("\r\n\n{HEAD}").as_bytes()).unwrap().is_head(0), "after line ends");
        assert_eq!(Batch::of(format!("{PUT}\r\n{GET}\r\n\n").as_bytes()).unwrap().count(), 2);
    }

    #[test]
    fn the_first_request_of_a_batch_is_checked_in_full() {
        let repeated = "PUT /a HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1, 1\r\n\r\nx";
        assert_eq!(Batch::of(repeated.as_bytes()).map(|batch| batch.count()), Ok(1));
        for wrong in ["1, 2", "+1", "one"] {
            let error = Batch::of(repeated.replace("1, 1", wrong).as_bytes()).unwrap_err().to_string();
            assert!(error.contains("Content-Length is not a number, or there are two that differ"), "{wrong}: {error}");
        }
        let waiting = b"GET /a HTTP/1.1\r\nContent-Length: 4\r\n\r\n";
        assert!(matches!(Batch::of(waiting), Err(RequestError::BodyTooShort { .. })));
        assert!(matches!(Batch::of(b"GET /\r\n\r\n"), Err(RequestError::Malformed { .. })));
    }

    #[test]
    fn text_that_is_not_a_request_is_refused() {
        assert_eq!(Batch::of(b""), Err(RequestError::Empty));
        assert_eq!(Batch::of(b"\r\n"), Err(RequestError::Empty));
        let no_end = b"GET / HTTP/1.1\r\nHost: x\r\n";
        assert_eq!(Batch::of(no_end), Err(RequestError::NoEndOfHeaders { number: 1 }));
        let short = RequestError::BodyTooShort { number: 1, found: 3, length: 4 };
        assert_eq!(Batch::of(&PUT.as_bytes()[..PUT.len() - 1]), Err(short));
        assert!(matches!(Batch::of(b"hello world, not http\r\n\r\n"), Err(RequestError::Malformed { .. })));
        let excess = RequestError::Excess { number: 2, count: 8, start: "junk\r\n\r\n".to_owned(), length: 4 };
        assert_eq!(Batch::of(format!("{GET}{PUT}junk\r\n\r\n").as_bytes()), Err(excess));
        let chunked = b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        assert_eq!(Batch::of(chunked), Err(RequestError::TransferEncoding));
    }
}
