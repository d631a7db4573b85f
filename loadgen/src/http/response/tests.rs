use super::*;
use proptest::prelude::*;

/// Feeds `pieces` one after the other and collects the responses, as a connection does.
fn responses(pieces: &[&[u8]]) -> Result<Vec<(Response, Capture)>, ParseError> {
    let mut parser = ResponseParser::default();
    let mut capture = Capture::default();
    let mut found = Vec::new();
    for piece in pieces {
        let mut rest = *piece;
        while !rest.is_empty() {
            let (consumed, response) = parser.feed(rest, false, Some(&mut capture))?;
            rest = &rest[consumed..];
            if let Some(response) = response {
                found.push((response, std::mem::take(&mut capture)));
            } else {
                assert!(rest.is_empty(), "an unfinished response takes all of its input");
            }
        }
    }
    if let Some(response) = parser.end_of_stream() {
        found.push((response, capture));
    }
    Ok(found)
}

fn statuses(text: &[u8]) -> Vec<u16> {
    responses(&[text]).unwrap().iter().map(|(response, _)| response.status).collect()
}

const SIZED: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello";
const CHUNKED: &[u8] =
    b"HTTP/1.1 201 Created\r\nTransfer-Encoding: gzip, chunked\r\n\r\n4;x=\"y\"\r\nWiki\r\nA\r\n0123456789\r\n0\r\nT: v\r\n\r\n";
const INTERIM: &[u8] =
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n";
const NOT_MODIFIED: &[u8] = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n";
const EMPTY: &[u8] = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
const CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end";

#[test]
fn each_kind_of_body_ends_where_it_should() {
    let stream = [SIZED, CHUNKED, INTERIM, NOT_MODIFIED, EMPTY, CLOSE].concat();
    let found = responses(&[&stream]).unwrap();
    let statuses: Vec<u16> = found.iter().map(|(response, _)| response.status).collect();
    assert_eq!(statuses, [200, 201, 204, 304, 404, 200]);
    let bodies: Vec<&[u8]> = found.iter().map(|(_, capture)| &capture.body[..]).collect();
    assert_eq!(bodies, [&b"hello"[..], b"Wiki0123456789", b"", b"", b"", b"until the end"]);
    assert_eq!(found[0].1.headers[1], (b"X-A".to_vec(), b"b".to_vec()));
    assert!(found[..5].iter().all(|(response, _)| response.keep_alive));
    assert!(!found[5].0.keep_alive);
}

#[test]
fn the_response_to_head_has_no_body_whatever_its_length() {
    let mut parser = ResponseParser::default();
    let (consumed, response) = parser.feed(SIZED, true, None).unwrap();
    assert_eq!(consumed, SIZED.len() - 5);
    assert_eq!(response, Some(Response { status: 200, keep_alive: true }));
}

#[test]
fn keep_alive_follows_the_version_and_the_connection_header() {
    let keep_alive = |text: &[u8]| responses(&[text]).unwrap()[0].0.keep_alive;
    assert!(!keep_alive(b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"));
    assert!(keep_alive(b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n"));
    assert!(!keep_alive(b"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n"));
    assert!(!keep_alive(b"HTTP/1.1 101 Switching Protocols\r\n\r\n"));
}

#[test]
fn a_response_may_have_any_number_of_headers() {
    for count in [127, 128, 129, 5000] {
        let headers: String = (0..count).map(|number| format!("X-{number}: y\r\n")).collect();
        let text = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 0\r\n\r\n");
        let found = responses(&[text.as_bytes()]).unwrap();
        assert_eq!((found.len(), found[0].1.headers.len()), (1, count + 1));
    }
}

#[test]
fn folded_headers_are_unfolded() {
    let text = b"HTTP/1.1 200 OK\r\nX-A: one\r\n two,\r\n\t three\r\nContent-Length:\r\n 2\r\n\r\nok";
    let found = responses(&[text]).unwrap();
    assert_eq!(found[0].1.headers[0], (b"X-A".to_vec(), b"one two, three".to_vec()));
    assert_eq!(found[0].1.body, b"ok");
    let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\r\n chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(statuses(chunked), [200]);
}

#[test]
fn the_identity_coding_changes_nothing() {
    for coding in ["identity", "Identity", "identity, identity", "chunked, identity", ""] {
        let body = if coding.starts_with("chunked") { "2\r\nok\r\n0\r\n\r\n" } else { "ok" };
        let length = if coding.is_empty() { "" } else { "Content-Length: 2\r\n" };
        let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {coding}\r\n{length}\r\n{body}");
        let found = responses(&[text.as_bytes()]).unwrap();
        assert_eq!((found.len(), &found[0].1.body[..]), (1, &b"ok"[..]), "{coding}");
        assert_eq!(found[0].0.keep_alive, !coding.is_empty(), "{coding}");
    }
}

#[test]
fn line_ends_between_responses_are_skipped() {
    let stream = [SIZED, b"\r\n", SIZED, b"\r\n\n\r\n", CHUNKED, b"\n", SIZED].concat();
    for cut in 1..stream.len() {
        let found = responses(&[&stream[..cut], &stream[cut..]]).unwrap();
        assert_eq!(
            found.iter().map(|(response, _)| response.status).collect::<Vec<_>>(),
            [200, 200, 201, 200],
            "{cut}"
        );
    }
}

#[test]
fn a_stream_that_ends_early_gives_no_response() {
    for cut in 0..SIZED.len() {
        assert_eq!(statuses(&SIZED[..cut]), Vec::<u16>::new(), "cut at {cut}");
    }
}

#[test]
fn malformed_responses_are_errors() {
    let error = |text: &[u8]| responses(&[text]).unwrap_err();
    for (text, line) in [
        (&b"SMTP ready\r\n\r\n"[..], "SMTP ready"),
        (b"HTTP/1.1 200 OK\r\nX-A: b\r\nX-Bad : 1\r\nX-C: d\r\n\r\n", "X-Bad : 1"),
        (b"HTTP/1.1 200 OK\r\nX-A: \x00\r\n\r\n", "X-A: \0"),
    ] {
        let ParseError::Head { line: found, .. } = error(text) else { panic!("{text:?}") };
        assert_eq!(found, line);
    }
    // A length that does not matter is no error (RFC 9112 §6.3).
    for response in ["204 No Content\r\n\r\n", "200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"] {
        let text =
            format!("HTTP/1.1 {}", response.replacen("\r\n", "\r\nContent-Length: x\r\nContent-Length: 1\r\n", 1));
        assert_eq!(responses(&[text.as_bytes()]).unwrap().len(), 1, "{text}");
    }
    let zeros = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{:0>40}\r\nok\r\n{:0>40}\r\n\r\n", 2, 0);
    assert_eq!(responses(&[zeros.as_bytes()]).unwrap().len(), 1);
    let length = |value: &str| ParseError::ContentLength(value.to_owned());
    assert_eq!(error(b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n"), length("+5"));
    let huge = "99999999999999999999";
    assert_eq!(error(format!("HTTP/1.1 200 OK\r\nContent-Length: {huge}\r\n\r\n").as_bytes()), length(huge));
    for wrong in ["5, 6", "5,", ",5", "5 5", "5,+5"] {
        assert_eq!(error(format!("HTTP/1.1 200 OK\r\nContent-Length: {wrong}\r\n\r\n").as_bytes()), length(wrong));
    }
    let two = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello";
    assert_eq!(error(two), length("6"));
    assert_eq!(error(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\nContent-Length: 6\r\n\r\n"), length("x"));
    for bad in ["x\r\n", "\r\n", "5\r\nhelloX", "ffffffffffffffff\r\n", "5\rhello"] {
        let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{bad}");
        assert_eq!(error(text.as_bytes()), ParseError::Chunk, "{bad:?}");
    }
    let endless = [b"HTTP/1.1 200 OK\r\n".to_vec(), b"a: b\r\n".repeat(60_000)].concat();
    let mut parser = ResponseParser::default();
    let outcome = endless.chunks(1000).try_for_each(|piece| parser.feed(piece, false, None).map(|_| ()));
    assert!(outcome.is_err());
}

#[test]
fn every_split_in_two_gives_the_same_responses() {
    let stream = [SIZED, CHUNKED, INTERIM, NOT_MODIFIED, EMPTY, CLOSE].concat();
    let whole = responses(&[&stream]).unwrap();
    for cut in 1..stream.len() {
        assert_eq!(responses(&[&stream[..cut], &stream[cut..]]).unwrap(), whole, "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(responses(&bytes).unwrap(), whole);
}

fn any_response() -> impl Strategy<Value = Vec<u8>> {
    let body = proptest::collection::vec(any::<u8>(), 0..200);
    (200u16..600, body, 0usize..3, 1usize..50).prop_map(|(status, body, kind, chunk)| {
        let mut text = format!("HTTP/1.1 {status} Some Reason\r\nServer: x\r\n").into_bytes();
        match kind {
            0 => {
                text.extend(format!("content-length: {}\r\n\r\n", body.len()).bytes());
                if !matches!(status, 204 | 304) {
                    text.extend(body);
                }
            }
            1 => {
                text.extend(b"Transfer-Encoding: chunked\r\n\r\n");
                if !matches!(status, 204 | 304) {
                    for piece in body.chunks(chunk) {
                        text.extend(format!("{:x}\r\n", piece.len()).bytes());
                        text.extend(piece);
                        text.extend(b"\r\n");
                    }
                    text.extend(b"0\r\n\r\n");
                }
            }
            _ => text = [b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(), EMPTY.to_vec()].concat(),
        }
        text
    })
}

proptest! {
    #[test]
    fn any_responses_in_any_pieces_are_the_same(stream in proptest::collection::vec(any_response(), 1..6), sizes in proptest::collection::vec(1usize..90, 1..40)) {
        let count = stream.len();
        let stream = stream.concat();
        let whole = responses(&[&stream]).unwrap();
        prop_assert_eq!(whole.len(), count);
        let mut pieces = Vec::new();
        let mut rest = &stream[..];
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(responses(&pieces).unwrap(), whole);
    }

    #[test]
    fn garbage_causes_no_panic_and_consumes_no_more_than_there_is(garbage in proptest::collection::vec(any::<u8>(), 0..300), size in 1usize..20) {
        let mut parser = ResponseParser::default();
        for piece in garbage.chunks(size) {
            match parser.feed(piece, false, None) {
                Ok((consumed, _)) => prop_assert!(consumed <= piece.len()),
                Err(_) => break,
            }
        }
    }
}
