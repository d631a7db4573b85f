//! Counts the requests in a string and finds the method of each request.

use memchr::memmem;
use thiserror::Error;

/// Why a text is not a valid request.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RequestError {
    /// The text does not begin with a request line and headers.
    #[error("not an HTTP/1.1 request: {0}")]
    Malformed(String),
    /// The text ends before the end of the headers or the body.
    #[error("the request is cut short: its headers or its body (Content-Length) end too early")]
    CutShort,
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
    pub fn set(&mut self, text: &[u8]) -> Result<(), RequestError> {
        self.count = 0;
        self.mixed.clear();
        let mut rest = text;
        loop {
            let operation = Operation::of(rest);
            let length = one_request(rest, operation)?;
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
            if rest.is_empty() {
                return Ok(());
            }
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

/// The length of the first request of `text`.
fn one_request(text: &[u8], operation: Operation) -> Result<usize, RequestError> {
    let end_of_headers = memmem::find(text, b"\r\n\r\n").map(|at| at + 4);
    // The usual case: one request without a body. Its text was made by `wrk.format` or by a script whose first request
    // was checked in full.
    if end_of_headers == Some(text.len()) && operation == Operation::Get {
        return Ok(text.len());
    }
    let mut headers = [httparse::EMPTY_HEADER; 128];
    let mut request = httparse::Request::new(&mut headers);
    let body_at = match request.parse(text) {
        Ok(httparse::Status::Complete(body_at)) => body_at,
        Ok(httparse::Status::Partial) => return Err(RequestError::CutShort),
        Err(error) => return Err(RequestError::Malformed(error.to_string())),
    };
    let mut body_length = 0usize;
    for header in request.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            body_length = std::str::from_utf8(header.value)
                .ok()
                .and_then(|value| value.trim().parse().ok())
                .ok_or_else(|| RequestError::Malformed("Content-Length is not a number".to_owned()))?;
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(RequestError::TransferEncoding);
        }
    }
    match body_at.checked_add(body_length) {
        Some(length) if length <= text.len() => Ok(length),
        _ => Err(RequestError::CutShort),
    }
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
    }

    #[test]
    fn text_that_is_not_a_request_is_refused() {
        assert_eq!(Batch::of(b""), Err(RequestError::CutShort));
        assert_eq!(Batch::of(b"GET / HTTP/1.1\r\nHost: x\r\n"), Err(RequestError::CutShort));
        assert_eq!(Batch::of(&PUT.as_bytes()[..PUT.len() - 1]), Err(RequestError::CutShort));
        assert!(matches!(Batch::of(b"hello world, not http\r\n\r\n"), Err(RequestError::Malformed(_))));
        assert!(matches!(Batch::of(format!("{GET}junk\r\n\r\n").as_bytes()), Err(RequestError::Malformed(_))));
        let chunked = b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
        assert_eq!(Batch::of(chunked), Err(RequestError::TransferEncoding));
    }
}
