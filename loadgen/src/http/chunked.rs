//! Finds the end of a chunked body (RFC 9112 §7.1) in input that arrives in pieces.

use super::error::ParseError;

/// Maximum size of a chunk. Zeros before the first other digit do not matter.
const SIZE_MAX: u64 = (1 << 60) - 1;

/// The position in a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the hexadecimal size, which has begun if a digit has been read.
    Size { begun: bool },
    /// In a chunk extension, which ends with the line.
    Extension,
    /// After the CR of the size line.
    SizeLineFeed,
    /// In the data of a chunk.
    Data,
    /// After the data; CR or LF is expected.
    DataEnd,
    /// After the CR that follows the data.
    DataLineFeed,
    /// At the start of a trailer line. An empty line ends the body.
    TrailerStart,
    /// In a trailer line.
    Trailer,
    /// After the CR of the empty line.
    LastLineFeed,
}

/// A decoder that stores no bytes. It separates data from framing and finds the end of the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunked {
    state: State,
    remaining: u64,
}

impl Chunked {
    pub(super) fn new() -> Self {
        Self { state: State::Size { begun: false }, remaining: 0 }
    }

    /// Reads `input`. Returns the number of bytes consumed and whether the body ended there. Passes the content to
    /// `data`.
    pub(super) fn feed(&mut self, input: &[u8], mut data: impl FnMut(&[u8])) -> Result<(usize, bool), ParseError> {
        let mut at = 0;
        while at < input.len() {
            if self.state == State::Data {
                let take = self.remaining.min((input.len() - at) as u64) as usize;
                data(&input[at..at + take]);
                at += take;
                self.remaining -= take as u64;
                if self.remaining == 0 {
                    self.state = State::DataEnd;
                }
                continue;
            }
            if self.step(input[at])? {
                return Ok((at + 1, true));
            }
            at += 1;
        }
        Ok((at, false))
    }

    /// Reads one byte of framing. Returns whether it ends the body.
    fn step(&mut self, byte: u8) -> Result<bool, ParseError> {
        self.state =
            match (self.state, byte) {
                (State::Size { .. }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') if self.remaining <= SIZE_MAX / 16 => {
                    let digit = (byte as char).to_digit(16).expect("a hexadecimal digit");
                    self.remaining = self.remaining * 16 + u64::from(digit);
                    State::Size { begun: true }
                }
                (State::Size { begun: true }, b'\r') => State::SizeLineFeed,
                (State::Size { begun: true }, b';' | b' ' | b'\t') => State::Extension,
                (State::Extension, b'\r') => State::SizeLineFeed,
                (State::Size { begun: true } | State::Extension | State::SizeLineFeed, b'\n') => {
                    if self.remaining == 0 { State::TrailerStart } else { State::Data }
                }
                (State::Extension, _) => State::Extension,
                (State::DataEnd, b'\r') => State::DataLineFeed,
                (State::DataEnd | State::DataLineFeed, b'\n') => State::Size { begun: false },
                (State::TrailerStart, b'\r') => State::LastLineFeed,
                (State::TrailerStart | State::LastLineFeed, b'\n') => return Ok(true),
                (State::Trailer, b'\n') => State::TrailerStart,
                (State::TrailerStart | State::Trailer, _) => State::Trailer,
                _ => return Err(ParseError::Chunk),
            };
        Ok(false)
    }
}
