//! Misbehaving peers: each is counted in the right class, and none makes the generator hang or spin.

use crate::support::{Manner, OK, TruthServer, command, load, load_on_a_server_that_dies};
use std::net::TcpListener;
use std::time::{Duration, Instant};

const REFUSED: &[u8] = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: 1\r\n\r\n";

fn respond(text: &[u8]) -> Manner {
    Manner::Respond(text.to_vec(), Duration::ZERO)
}

#[test]
fn a_good_server_has_no_errors_and_its_bytes_are_counted() {
    let server = TruthServer::start(respond(OK));
    let run = load("-t2 -c4 -d1s -R200", &server.url());
    run.assert_every_request_has_an_outcome();
    assert_eq!(run.number("requests_due"), 200.0);
    let (requests, errors) = run.counts();
    assert_eq!(errors, [0; 5]);
    assert_eq!(run.number("bytes_read"), (requests * OK.len() as u64) as f64);
    assert_eq!(run.json["status"]["200"], requests);
    assert!(!run.stdout().contains("Socket errors"));
}

#[test]
fn refused_connections_are_exit_code_2() {
    let free_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = command().args(["-R10", "-d1s", &format!("http://{free_port}/")]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("unable to connect to 127.0.0.1:"), "{message}");
    assert!(message.contains("Connection refused"), "{message}");
}

#[test]
fn a_host_that_does_not_answer_is_exit_code_2_and_no_hang() {
    // If a listener's queue is full, the kernel ignores new connections.
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let before_us: Vec<_> = (0..4).map(|_| loadgen::net::connect(address.as_socket().unwrap()).unwrap()).collect();
    std::thread::sleep(Duration::from_millis(100));
    let started = Instant::now();
    let url = format!("http://{}/", address.as_socket().unwrap());
    let output = command().args(["-t1", "-c4", "-R100", "-d1s", "--timeout", "300ms", &url]).output().unwrap();
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("connection timed out"));
    assert_eq!(before_us.len(), 4);
}

#[test]
fn a_host_that_does_not_exist_is_an_error_that_names_it() {
    let output = command().args(["-R10", "-d1s", "http://no-such-host.invalid/"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("no-such-host.invalid"));
}

#[test]
fn statuses_outside_200_to_399_are_counted_and_their_connection_stays_open() {
    let server = TruthServer::start(respond(REFUSED));
    let run = load("-t1 -c2 -d1s -R100", &server.url());
    let (requests, errors) = run.counts();
    assert_eq!(errors, [0, 0, 0, 0, requests]);
    assert_eq!(run.json["status"]["503"], requests);
    assert!(run.stdout().contains(&format!("Non-2xx or 3xx responses: {requests}\n")));
    let connections = server.seen().iter().map(|seen| seen.connection).max();
    assert!(connections <= Some(2), "the probe and two connections: {connections:?}");
}

#[test]
fn every_kind_of_body_is_understood_even_byte_by_byte() {
    let chunked: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let interim: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n";
    for text in [OK, chunked, interim] {
        let server = TruthServer::start(Manner::ByteByByte(text.to_vec()));
        let run = load("-t1 -c4 -d30s -R20 --requests 20", &server.url());
        assert_eq!(run.counts(), (20, [0; 5]));
    }
}

#[test]
fn a_server_that_closes_after_each_response_costs_no_request() {
    let until_close = b"HTTP/1.1 200 OK\r\n\r\nuntil the end".to_vec();
    let announced = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi".to_vec();
    for text in [until_close, announced] {
        let server = TruthServer::start(Manner::RespondAndClose(text, false));
        let run = load("-t1 -c4 -d30s -R100 --requests 100", &server.url());
        assert_eq!(run.counts(), (100, [0; 5]));
    }
}

#[test]
fn responses_cut_short_and_garbage_are_read_errors() {
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec();
    for (text, reset) in [(half.clone(), false), (half, true), (b"220 this is no HTTP\r\n\r\n".to_vec(), false)] {
        let server = TruthServer::start(Manner::RespondAndClose(text, reset));
        let run = load("-t1 -c4 -d30s -R100 --requests 100", &server.url());
        run.assert_every_request_has_an_outcome();
        let (requests, [connect, read, write, timeout, status]) = run.counts();
        assert_eq!((requests, connect, timeout, status), (0, 0, 0, 0));
        assert_eq!(read + write, 100);
        assert!(write < 10, "{write}");
        assert!(run.stdout().contains("Socket errors: connect 0, read "));
    }
}

#[test]
fn more_bytes_than_were_asked_for_are_a_read_error() {
    let server = TruthServer::start(respond(&[OK, OK].concat()));
    let run = load("-t1 -c2 -d1s -R50", &server.url());
    let (requests, [connect, read, write, timeout, status]) = run.counts();
    assert_eq!((connect, write, timeout, status), (0, 0, 0, 0));
    assert!(requests >= 2, "the first response of each is good: {requests}");
    assert!(read >= 2, "what follows it is not: {read}");
}

#[test]
fn a_timeout_is_counted_once_and_the_request_is_unfinished() {
    let server = TruthServer::start(Manner::FallSilentAfter(2));
    let started = Instant::now();
    let run = load("-t2 -c4 -d2s -R100 --timeout 300ms", &server.url());
    assert!(started.elapsed() < Duration::from_secs(60), "no hang");
    run.assert_every_request_has_an_outcome();
    let (requests, errors) = run.counts();
    assert_eq!(requests, 8, "two on each connection");
    assert_eq!(errors, [0, 0, 0, 4, 0], "one on each connection");
    assert_eq!(run.number("unfinished.count"), 192.0);
    let oldest_us = run.number("unfinished.oldest_us");
    assert!((1_500_000.0..=2_000_000.0).contains(&oldest_us), "{oldest_us}");
    assert!(run.number("cpu_s") < 0.5, "{}", run.number("cpu_s"));
    assert!(run.stdout().contains("Unfinished:   192 requests due without a response"));
}

#[test]
fn a_late_response_counts_as_timeout_and_as_latency() {
    let server = TruthServer::start(Manner::Respond(OK.to_vec(), Duration::from_millis(250)));
    let run = load("-t1 -c1 -d30s -R1 --requests 1 --timeout 100ms", &server.url());
    assert_eq!(run.counts(), (1, [0, 0, 0, 1, 0]));
    assert!(run.percentile_us("latency_us", "50") >= 250_000.0);
}

#[test]
fn peers_that_accept_and_close_do_not_take_the_cpu() {
    let server = TruthServer::start(Manner::CloseAtOnce);
    let run = load("-t2 -c8 -d2s -R1000", &server.url());
    run.assert_every_request_has_an_outcome();
    assert!(run.number("cpu_s") < 1.2, "two loops that spin take up to 4 s: {}", run.number("cpu_s"));
    assert_eq!(run.number("requests"), 0.0);
}

#[test]
fn a_peer_that_never_reads_neither_hangs_nor_takes_the_cpu() {
    let server = TruthServer::start(Manner::NeverRead);
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("big.lua");
    std::fs::write(&script, "wrk.method = 'PUT'\nwrk.body = string.rep('x', 16 * 1024 * 1024)\n").unwrap();
    let run = load(&format!("-t1 -c2 -d1s -R100 --timeout 200ms -s {}", script.display()), &server.url());
    run.assert_every_request_has_an_outcome();
    assert_eq!(run.counts(), (0, [0, 0, 0, 2, 0]));
    assert!(run.number("cpu_s") < 0.5, "{}", run.number("cpu_s"));
}

/// Answers each request when its head is complete, waits, and then reads the announced body, as RFC 9112 asks. Returns
/// the URL, and the bytes of each body other than the letter x.
fn server_that_answers_early(wait: Duration) -> (String, std::sync::mpsc::Receiver<Vec<u8>>) {
    use std::io::{BufRead, BufReader, Read, Write};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (found, foreign) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, found) = (stream.unwrap(), found.clone());
            std::thread::spawn(move || -> std::io::Result<()> {
                let mut reader = BufReader::new(stream.try_clone()?);
                loop {
                    let (mut line, mut length) = (String::new(), 0);
                    while reader.read_line(&mut line)? > 2 {
                        if let Some(value) = line.strip_prefix("Content-Length: ") {
                            length = value.trim().parse().unwrap();
                        }
                        line.clear();
                    }
                    if length == 0 {
                        return Ok(());
                    }
                    stream.write_all(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")?;
                    std::thread::sleep(wait);
                    let mut body = vec![0; length];
                    reader.read_exact(&mut body)?;
                    let _ = found.send(body.into_iter().filter(|byte| *byte != b'x').collect());
                }
            });
        }
    });
    (url, foreign)
}

#[test]
fn a_response_before_the_body_is_written_does_not_let_the_next_request_into_it() {
    let (url, foreign) = server_that_answers_early(Duration::from_millis(200));
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("big.lua");
    std::fs::write(&script, "wrk.method = 'PUT'\nwrk.body = string.rep('x', 16 * 1024 * 1024)\n").unwrap();
    let run = load(&format!("-t1 -c1 -d2s -R5 -s {}", script.display()), &url);
    run.assert_every_request_has_an_outcome();
    let bodies: Vec<Vec<u8>> = foreign.try_iter().collect();
    assert!(!bodies.is_empty(), "no body came whole");
    assert!(bodies.iter().all(Vec::is_empty), "another request in the body: {bodies:?}");
    let (requests, errors) = run.counts();
    assert!(requests >= 2, "{requests}");
    assert_eq!(errors, [0, 0, 0, 0, requests]);
    // Writing all of it takes some time; waiting for room to write takes none.
    assert!(run.number("cpu_s") < 0.7, "{}", run.number("cpu_s"));
}

#[test]
fn a_peer_that_answers_and_never_reads_the_body_loses_its_connection_after_the_time_limit() {
    let (url, _foreign) = server_that_answers_early(Duration::from_secs(60));
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("big.lua");
    std::fs::write(&script, "wrk.method = 'PUT'\nwrk.body = string.rep('x', 16 * 1024 * 1024)\n").unwrap();
    let run = load(&format!("-t1 -c1 -d2s -R5 --timeout 300ms -s {}", script.display()), &url);
    run.assert_every_request_has_an_outcome();
    let (requests, errors) = run.counts();
    assert!((1..=8).contains(&requests), "a connection carries one request each 300 ms: {requests}");
    assert_eq!(errors, [0, 0, 0, 0, requests]);
}

#[test]
fn connections_that_fail_before_the_start_are_counted() {
    // Room for one connection and the probe: the others cannot connect until the time limit.
    let listener = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&std::net::SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
    listener.listen(1).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap().as_socket().unwrap());
    for warmup in ["0s", "300ms"] {
        let run = load(&format!("-t1 -c6 -d300ms -R10 --timeout 200ms --warmup {warmup}"), &url);
        let (_, [connect, ..]) = run.counts();
        assert!(connect >= 3, "{warmup}: {connect}");
        let reasons = run.json["kept_schedule"]["reasons"].to_string();
        assert!(reasons.contains("of 6 connections were open"), "{reasons}");
        // The next round fills the backlog again, and must find it empty.
        while listener_has_one(&listener) {}
    }
}

/// Removes one connection from the backlog, if there is one.
fn listener_has_one(listener: &socket2::Socket) -> bool {
    listener.set_nonblocking(true).unwrap();
    listener.accept().is_ok()
}

#[test]
fn a_server_that_dies_during_the_run_leaves_connect_errors_and_no_hang() {
    let server = TruthServer::start(respond(OK));
    let url = server.url();
    let run = load_on_a_server_that_dies(server, url);
    assert!(run.number("unfinished.count") > 0.0);
    assert!(run.number("cpu_s") < 0.8, "{}", run.number("cpu_s"));
}

/// Twenty requests to a server that answers each with `text`.
fn twenty(text: &[u8]) -> crate::support::Run {
    let server = TruthServer::start(respond(text));
    let run = load("-t1 -c1 -d30s -R200 --requests 20", &server.url());
    run.assert_every_request_has_an_outcome();
    run
}

#[test]
fn responses_as_servers_send_them_are_accepted() {
    let headers: String = (0..200).map(|number| format!("X-{number}: y\r\n")).collect();
    for text in [
        format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 2\r\n\r\nok"),
        "HTTP/1.1 200 OK\r\nX-A: one\r\n two\r\nContent-Length: 2\r\n\r\nok".to_owned(),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\r\n".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok\n".to_owned(),
    ] {
        let run = twenty(text.as_bytes());
        assert_eq!(run.counts(), (20, [0; 5]), "{text}");
        assert_eq!(run.json["read_errors"], serde_json::json!([]));
        assert!(run.output.stderr.is_empty(), "{:?}", run.output);
    }
}

#[test]
fn the_reason_of_a_lost_response_is_in_the_json_and_on_standard_error() {
    let ok = "HTTP/1.1 200 OK\r\n";
    for (text, reason, first) in [
        (format!("{ok}X-Bad : 1\r\n\r\n"), "malformed head", "invalid header name: \"X-Bad : 1\""),
        ("hello\r\n\r\n".to_owned(), "malformed head", "invalid HTTP version: \"hello\""),
        (format!("{ok}{}", "a: b\r\n".repeat(50_000)), "head too long", "longer than 262144 bytes"),
        (format!("{ok}Content-Length: x\r\n\r\n"), "invalid Content-Length", "\"x\""),
        (format!("{ok}Transfer-Encoding: chunked\r\n\r\nx\r\n"), "malformed chunked body", "size"),
    ] {
        let run = twenty(text.as_bytes());
        assert_eq!(run.counts(), (0, [0, 20, 0, 0, 0]), "{text:.99}");
        let errors = run.json["read_errors"].as_array().unwrap();
        assert_eq!((errors.len(), &errors[0]["reason"], &errors[0]["count"]), (1, &reason.into(), &20.into()));
        assert!(errors[0]["first"].as_str().unwrap().contains(first), "{errors:?}");
        let message = String::from_utf8_lossy(&run.output.stderr);
        assert!(message.contains(&format!("loadgen: 20 read errors: {reason}, the first time: ")), "{message}");
        assert!(message.contains(first), "{message}");
    }
    for (manner, reason) in [
        (Manner::RespondAndClose(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".to_vec(), false), "connection closed"),
        (Manner::RespondAndClose(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".to_vec(), true), "connection reset"),
        (respond(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore"), "bytes without a request"),
    ] {
        let server = TruthServer::start(manner);
        let run = load("-t1 -c1 -d30s -R200 --requests 20", &server.url());
        let errors = run.json["read_errors"].as_array().unwrap();
        assert!(errors.iter().any(|error| error["reason"] == reason), "{reason}: {errors:?}");
        let sum: u64 = errors.iter().map(|error| error["count"].as_u64().unwrap()).sum();
        assert_eq!(sum as f64, run.number("errors.read"), "the reasons are all there");
    }
}
