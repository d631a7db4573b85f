//! The response parser against unexpected input: real responses, mutated.
//!
//! For each input, the parser gives the same result whether it is fed whole or in pieces of random sizes. It neither
//! panics nor takes more bytes than there are. A second, straightforward parser that follows RFC 9112, based on httparse,
//! gives the same responses. The inputs follow from a seed; a failure names its own, and `FUZZ_SEED=… FUZZ_INPUTS=1`
//! runs it again.
//!
//! `FUZZ_INPUTS` is the number of inputs (default: a million, a few seconds); `make torture-loadgen` runs fifty
//! million.

use loadgen::http::{Response, ResponseParser};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::time::{Duration, Instant};

const SEEDS: [&[u8]; 10] = [
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello",
    b"HTTP/1.1 201 Created\r\nTransfer-Encoding: gzip, chunked\r\n\r\n4;x=\"y\"\r\nWiki\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n",
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 3\r\n\r\nabc",
    b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end",
    b"HTTP/1.1 503 Service Unavailable\nRetry-After: 1\nContent-Length: 2\n\nno",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nother bytes",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n1\r\na\r\n0\r\n\r\n",
];

const TOKENS: [&[u8]; 32] = [
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b"\n\n",
    b"0\r\n\r\n",
    b"0\r\n",
    b" ",
    b"\t",
    b":",
    b";",
    b",",
    b"\0",
    b"\xff",
    b"HTTP/1.1 ",
    b"HTTP/1.0 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"Content-Length: ",
    b"content-length: 3\r\n",
    b"Content-Length: 18446744073709551615\r\n",
    b"Content-Length: -1\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: identity\r\n",
    b"Connection: close\r\n",
    b"Connection: keep-alive\r\n",
    b"ffffffffffffffff",
    b"fffffffffffffff\r\n",
    b"00000000000000000001\r\n",
    b", 3",
    b"\r\n folded",
    b" 204 ",
    b" 199 ",
];

/// One to three responses, and up to eight changes.
fn input(random: &mut SmallRng) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..random.random_range(1..=3) {
        text.extend_from_slice(SEEDS[random.random_range(0..SEEDS.len())]);
    }
    for _ in 0..random.random_range(0..=8) {
        let at = random.random_range(0..=text.len());
        let end = (at + random.random_range(0..12)).min(text.len());
        match random.random_range(0..7) {
            0 if at < text.len() => text[at] = random.random(),
            1 if at < text.len() => text[at] ^= 1 << random.random_range(0..8),
            2 => drop(text.drain(at..end)),
            3 => drop(text.splice(at..at, text[at..end].to_vec())),
            4 => text.truncate(at),
            5 => drop(text.splice(at..end, SEEDS[random.random_range(0..SEEDS.len())].iter().copied())),
            _ => drop(text.splice(at..at, TOKENS[random.random_range(0..TOKENS.len())].iter().copied())),
        }
    }
    text
}

/// The content of a stream: responses, and whether an error followed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Reading {
    responses: Vec<Response>,
    wrong: bool,
}

/// Parses as a connection does: piece by piece, up to a response after which the connection ends.
fn incremental(pieces: &[&[u8]]) -> Reading {
    let mut parser = ResponseParser::default();
    let mut reading = Reading::default();
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            let Ok((consumed, response)) = parser.feed(rest, false, None) else {
                reading.wrong = true;
                return reading;
            };
            assert!(consumed <= rest.len(), "takes no more than there is");
            assert!(consumed > 0 || response.is_some(), "gets ahead");
            rest = &rest[consumed..];
            match response {
                Some(response) => {
                    reading.responses.push(response);
                    if !response.keep_alive {
                        return reading;
                    }
                }
                None => assert!(rest.is_empty(), "an unfinished response takes all of its input"),
            }
        }
    }
    reading.responses.extend(parser.end_of_stream());
    reading
}

/// The straightforward parser: takes the whole stream, parses the head with httparse, then the body by its headers.
fn plain(stream: &[u8]) -> Reading {
    let mut reading = Reading::default();
    let mut rest = stream;
    while !rest.is_empty() {
        match plain_response(rest) {
            Plain::Response(response, length) => {
                reading.responses.extend(response);
                if response.is_some_and(|response| !response.keep_alive) {
                    return reading;
                }
                rest = &rest[length..];
            }
            Plain::Unfinished => return reading,
            Plain::Wrong => {
                reading.wrong = true;
                return reading;
            }
        }
    }
    reading
}

enum Plain {
    /// A response, or `None` for an interim one, and its length.
    Response(Option<Response>, usize),
    Unfinished,
    Wrong,
}

fn plain_response(text: &[u8]) -> Plain {
    let mut headers = vec![httparse::EMPTY_HEADER; text.len()];
    let mut response = httparse::Response::new(&mut headers);
    let mut config = httparse::ParserConfig::default();
    let head = match config.allow_obsolete_multiline_headers_in_responses(true).parse_response(&mut response, text) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Plain::Unfinished,
        Err(_) => return Plain::Wrong,
    };
    let values = |name: &str| -> Vec<String> {
        let found = response.headers.iter().filter(|header| header.name.eq_ignore_ascii_case(name));
        found.map(|header| header.value.iter().map(|byte| char::from(*byte)).collect()).collect()
    };
    let tokens = |name: &str| -> Vec<String> {
        let all = values(name).join(",");
        all.split(',').map(|token| token.trim_matches([' ', '\t', '\r', '\n', '\x0c']).to_ascii_lowercase()).collect()
    };
    let has_length = !values("content-length").is_empty();
    let number =
        |digits: String| digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<u64>().ok()).flatten();
    let mut lengths: Vec<Option<u64>> = tokens("content-length").into_iter().map(number).collect();
    lengths.dedup();
    let status = response.code.expect("complete");
    let connection = tokens("connection");
    let says = |word: &str| connection.iter().any(|token| token == word);
    let keep_alive = if response.version == Some(1) { !says("close") } else { says("keep-alive") };
    let done = |keep_alive, length| Plain::Response(Some(Response { status, keep_alive }), length);
    let body = &text[head..];
    match status {
        101 => return done(false, head),
        100..200 => return Plain::Response(None, head),
        ..100 | 204 | 304 => return done(keep_alive, head),
        _ => {}
    }
    let has_encoding = !values("transfer-encoding").is_empty();
    let mut encodings = tokens("transfer-encoding").into_iter().filter(|coding| has_encoding && coding != "identity");
    if let Some(last) = encodings.next_back() {
        if last == "chunked" {
            return match plain_chunks(body) {
                Ok(Some(length)) => done(keep_alive, head + length),
                Ok(None) => Plain::Unfinished,
                Err(()) => Plain::Wrong,
            };
        }
        return done(false, text.len());
    }
    match lengths[..] {
        _ if !has_length => done(false, text.len()),
        [Some(length)] if length <= body.len() as u64 => done(keep_alive, head + length as usize),
        [Some(_)] => Plain::Unfinished,
        _ => Plain::Wrong,
    }
}

/// The length of a chunked body, `None` if it does not end. Lines may end with LF alone.
fn plain_chunks(body: &[u8]) -> Result<Option<usize>, ()> {
    let mut at = 0;
    loop {
        let digits = body[at..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let zeros = body[at..].iter().take_while(|byte| **byte == b'0').count();
        if digits - zeros > 15 {
            return Err(());
        }
        let size = std::str::from_utf8(&body[at..at + digits]).map_err(drop)?;
        at += digits;
        match body.get(at) {
            None => return Ok(None),
            Some(b'\r' | b'\n' | b';' | b' ' | b'\t') if digits > 0 => {}
            Some(_) => return Err(()),
        }
        let size = u64::from_str_radix(size, 16).map_err(drop)?;
        if body[at] == b'\r' {
            at += 1;
        } else if body[at] != b'\n' {
            // An extension ends with the line, at the first CR or LF.
            let Some(length) = body[at..].iter().position(|byte| matches!(byte, b'\r' | b'\n')) else {
                return Ok(None);
            };
            at += length + usize::from(body[at + length] == b'\r');
        }
        match body.get(at) {
            None => return Ok(None),
            Some(b'\n') => at += 1,
            Some(_) => return Err(()),
        }
        if size == 0 {
            return plain_trailers(body, at);
        }
        if size >= (body.len() - at) as u64 {
            return Ok(None);
        }
        at += size as usize;
        if body[at] == b'\r' {
            at += 1;
        }
        match body.get(at) {
            None => return Ok(None),
            Some(b'\n') => at += 1,
            Some(_) => return Err(()),
        }
    }
}

/// Lines up to an empty one.
fn plain_trailers(body: &[u8], mut at: usize) -> Result<Option<usize>, ()> {
    loop {
        match &body[at..] {
            [b'\n', ..] => return Ok(Some(at + 1)),
            [b'\r', b'\n', ..] => return Ok(Some(at + 2)),
            [] | [b'\r'] => return Ok(None),
            [b'\r', ..] => return Err(()),
            line => match memchr::memchr(b'\n', line) {
                Some(length) => at += length + 1,
                None => return Ok(None),
            },
        }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

#[test]
fn any_input_in_any_pieces_is_parsed_as_by_the_plain_parser() {
    let (first, count) = (setting("FUZZ_SEED", 0), setting("FUZZ_INPUTS", 1_000_000));
    let (mut responses, mut wrong) = (0, 0);
    for seed in first..first + count {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut stream = input(&mut random);
        let ends: bool = random.random();
        if ends {
            stream.extend_from_slice(b"\n\n");
        }
        let name = || format!("FUZZ_SEED={seed} FUZZ_INPUTS=1: {:?}", String::from_utf8_lossy(&stream));
        let started = Instant::now();
        let whole = incremental(&[&stream]);
        let mut pieces = Vec::new();
        let mut rest = &stream[..];
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(random.random_range(1..=rest.len().min(20)));
            pieces.push(piece);
            rest = after;
        }
        let in_pieces = incremental(&pieces);
        // A head in pieces is parsed when it has doubled or ended, so an error in one that never ends may be missed.
        // Half of the inputs end with an empty line; there no error may be missed.
        let unnoticed = !ends && whole.wrong && in_pieces == Reading { wrong: false, ..whole.clone() };
        assert!(in_pieces == whole || unnoticed, "in pieces {in_pieces:?}, whole {whole:?}: {}", name());
        assert_eq!(plain(&stream), whole, "the plain way: {}", name());
        assert!(started.elapsed() < Duration::from_secs(5), "hangs: {}", name());
        responses += whole.responses.len();
        wrong += usize::from(whole.wrong);
    }
    println!("{count} inputs: {responses} responses, {wrong} inputs went wrong");
    if count > 1000 {
        let share = wrong as f64 / count as f64;
        assert!(
            (0.1..0.9).contains(&share) && responses as u64 > count / 2,
            "the inputs are neither all good nor all bad"
        );
    }
}
