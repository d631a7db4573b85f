//! An incremental response parser. It accepts input in pieces of any size and reports when a response is complete.
//!
//! A response that arrives in one piece, as most do, is parsed in place. Only a head that is split between pieces is
//! copied. The body is skipped, unless a script wants to see it.

use super::chunked::Chunked;
use super::error::{HEAD_BYTES_MAX, ParseError, shown};
use memchr::memmem;
use std::mem::MaybeUninit;

/// Number of headers for which no memory is allocated. A response may have more.
const HEADERS_USUAL: usize = 128;

/// A complete response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
}

/// The headers and the body of a response, kept for a script's `response` function.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capture {
    /// Names and values of the headers in their order. Folded values are unfolded.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The content, without chunk framing.
    pub body: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    Head,
    Fixed(u64),
    Chunked(Chunked),
    UntilClose,
}

/// The response parser of one connection. Parses one response at a time, in the order of the requests. Not thread-safe.
#[derive(Debug, Clone)]
pub struct ResponseParser {
    state: State,
    /// The start of a head that has not arrived completely.
    head: Vec<u8>,
    /// Length of `head` at the last attempt to parse it, so that a head in tiny pieces is not parsed again for each
    /// piece.
    tried: usize,
    status: u16,
    keep_alive: bool,
}

impl Default for ResponseParser {
    fn default() -> Self {
        Self { state: State::Head, head: Vec::new(), tried: 0, status: 0, keep_alive: true }
    }
}

impl ResponseParser {
    /// Resets the state for a new connection.
    pub fn reset(&mut self) {
        *self = Self { head: std::mem::take(&mut self.head), ..Self::default() };
        self.head.clear();
    }

    /// Reads from `input` up to the end of one response.
    ///
    /// Returns the number of bytes consumed, and the response if it is complete. The remaining bytes belong to the next
    /// response. `to_head` says whether the request was a HEAD.
    pub fn feed(
        &mut self,
        input: &[u8],
        to_head: bool,
        mut capture: Option<&mut Capture>,
    ) -> Result<(usize, Option<Response>), ParseError> {
        let mut at = 0;
        if self.state == State::Head {
            let (consumed, complete) = self.feed_head(input, to_head, capture.as_deref_mut())?;
            at = consumed;
            if !complete {
                return Ok((at, None));
            }
        }
        let rest = &input[at..];
        let mut keep = |data: &[u8]| {
            if let Some(capture) = capture.as_deref_mut() {
                capture.body.extend_from_slice(data);
            }
        };
        let (consumed, done) = match &mut self.state {
            State::Head => unreachable!("the head is complete"),
            State::Fixed(remaining) => {
                let take = (*remaining).min(rest.len() as u64) as usize;
                keep(&rest[..take]);
                *remaining -= take as u64;
                (take, *remaining == 0)
            }
            State::Chunked(chunked) => chunked.feed(rest, keep)?,
            State::UntilClose => {
                keep(rest);
                (rest.len(), false)
            }
        };
        Ok((at + consumed, done.then(|| self.finish())))
    }

    /// Handles the end of the peer's stream. Returns the response if the end of the stream completes it.
    pub fn end_of_stream(&mut self) -> Option<Response> {
        (self.state == State::UntilClose).then(|| self.finish())
    }

    fn finish(&mut self) -> Response {
        self.state = State::Head;
        Response { status: self.status, keep_alive: self.keep_alive }
    }

    /// Reads the head, and skips interim (1xx) responses. Returns the number of bytes consumed and whether the head is
    /// complete.
    fn feed_head(
        &mut self,
        input: &[u8],
        to_head: bool,
        mut capture: Option<&mut Capture>,
    ) -> Result<(usize, bool), ParseError> {
        let mut at = 0;
        while at < input.len() {
            let length = if self.head.is_empty() {
                let length = self.parse_head(&input[at..], to_head, capture.as_deref_mut())?;
                if length.is_none() {
                    self.head.extend_from_slice(&input[at..]);
                    self.tried = self.head.len();
                }
                length
            } else {
                self.resume_head(&input[at..], to_head, capture.as_deref_mut())?
            };
            let Some(length) = length else { return Ok((input.len(), false)) };
            at += length;
            let interim = (100..200).contains(&self.status) && self.status != 101;
            if !interim {
                return Ok((at, true));
            }
            self.state = State::Head;
        }
        Ok((at, false))
    }

    /// Continues a head whose start is in `self.head`. Returns the number of bytes of `input` that belong to it.
    fn resume_head(
        &mut self,
        input: &[u8],
        to_head: bool,
        capture: Option<&mut Capture>,
    ) -> Result<Option<usize>, ParseError> {
        let had = self.head.len();
        let mut head = std::mem::take(&mut self.head);
        head.extend_from_slice(input);
        let new = &head[had.saturating_sub(3)..];
        let ended = memmem::find(new, b"\n\n").is_some() || memmem::find(new, b"\n\r\n").is_some();
        let length = if ended || head.len() >= 2 * self.tried {
            self.tried = head.len();
            self.parse_head(&head, to_head, capture)?
        } else {
            None
        };
        if length.is_some() {
            head.clear();
        } else if head.len() > HEAD_BYTES_MAX {
            return Err(ParseError::HeadTooLong);
        }
        self.head = head;
        // A head that ended in the earlier bytes would have been found earlier.
        Ok(length.map(|length| length - had))
    }

    /// Parses a head and sets the state for its body. Returns the length of the head if it is complete.
    fn parse_head(
        &mut self,
        bytes: &[u8],
        to_head: bool,
        capture: Option<&mut Capture>,
    ) -> Result<Option<usize>, ParseError> {
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS_USUAL];
        let mut more = Vec::new();
        let mut response = httparse::Response::new(&mut []);
        let mut config = httparse::ParserConfig::default();
        // A client accepts folded headers (RFC 9112 §5.2).
        config.allow_obsolete_multiline_headers_in_responses(true);
        let mut parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut headers);
        if parsed == Err(httparse::Error::TooManyHeaders) {
            more.resize(lines(bytes), MaybeUninit::uninit());
            response = httparse::Response::new(&mut []);
            parsed = config.parse_response_with_uninit_headers(&mut response, bytes, &mut more);
        }
        let parsed = parsed.map_err(|error| {
            ParseError::of_head(error, bytes, |part| {
                let mut headers = vec![httparse::EMPTY_HEADER; lines(part)];
                config.parse_response(&mut httparse::Response::new(&mut headers), part).is_ok()
            })
        })?;
        let httparse::Status::Complete(length) = parsed else { return Ok(None) };
        self.status = response.code.expect("a complete response has a status");
        let version_1_1 = response.version == Some(1);
        let mut body = BodyHeaders::default();
        for header in response.headers.iter() {
            body.read(header);
        }
        self.keep_alive = if version_1_1 { !body.close } else { body.keep_alive };
        let empty = to_head || self.status < 200 || matches!(self.status, 204 | 304);
        self.state = match body {
            _ if empty => State::Fixed(0),
            BodyHeaders { transfer_encoding: true, chunked: true, .. } => State::Chunked(Chunked::new()),
            BodyHeaders { transfer_encoding: false, length: Some(length), .. } => State::Fixed(length?),
            _ => {
                self.keep_alive = false;
                State::UntilClose
            }
        };
        if self.status == 101 {
            self.keep_alive = false;
        }
        if let Some(capture) = capture {
            capture.body.clear();
            capture.headers.clear();
            let pairs = response.headers.iter();
            capture.headers.extend(pairs.map(|h| (h.name.as_bytes().to_vec(), unfolded(h.value))));
        }
        Ok(Some(length))
    }
}

/// Number of lines, which is more than the number of headers.
fn lines(head: &[u8]) -> usize {
    memchr::memchr_iter(b'\n', head).count() + 1
}

/// The value of a header with each fold replaced by a space (RFC 9112 §5.2).
fn unfolded(value: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).collect();
    lines.join(&b' ')
}

/// The headers that describe the body and the connection (RFC 9112 §6.3, §9.3).
#[derive(Default)]
struct BodyHeaders {
    /// An invalid length is an error only if the body ends by it.
    length: Option<Result<u64, ParseError>>,
    transfer_encoding: bool,
    chunked: bool,
    close: bool,
    keep_alive: bool,
}

impl BodyHeaders {
    fn read(&mut self, header: &httparse::Header<'_>) {
        // Compares lengths first: most headers are none of these.
        match header.name.len() {
            14 if header.name.eq_ignore_ascii_case("content-length") => {
                let wrong = || ParseError::ContentLength(shown(header.value));
                self.length = Some(match self.length.take() {
                    Some(Err(error)) => Err(error),
                    earlier => super::content_length(header.value, earlier.and_then(Result::ok)).ok_or_else(wrong),
                });
            }
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                // The coding `identity`, which RFC 9112 has removed, changes nothing.
                let codings = header.value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
                for coding in codings.filter(|coding| !coding.eq_ignore_ascii_case(b"identity")) {
                    self.transfer_encoding = true;
                    self.chunked = coding.eq_ignore_ascii_case(b"chunked");
                }
            }
            10 if header.name.eq_ignore_ascii_case("connection") => {
                for token in header.value.split(|byte| *byte == b',') {
                    self.close |= token.trim_ascii().eq_ignore_ascii_case(b"close");
                    self.keep_alive |= token.trim_ascii().eq_ignore_ascii_case(b"keep-alive");
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
