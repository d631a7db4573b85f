//! `https://` targets: results are the same as without TLS, and peers that violate TLS are counted.

use crate::support::tls_server::{Death, Farewell, Manner, TlsServer};
use crate::support::{self, OK, Run, TruthServer, command, is_installed, load, load_on_a_server_that_dies};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;
use std::time::{Duration, Instant};

const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n5\r\ndefgh\r\n0\r\n\r\n";

/// Runs against a server of this behaviour; every request has its outcome, and no CPU is wasted.
fn against(manner: Manner, flags: &str) -> Run {
    let server = TlsServer::start(manner);
    let run = load(flags, &server.url());
    run.assert_every_request_has_an_outcome();
    assert!(run.number("cpu_s") < 0.8 * run.number("elapsed_s"), "{}", run.number("cpu_s"));
    run
}

/// Runs against a server to which no connection can be made; returns the error.
fn nothing_connected(url: &str) -> String {
    let started = Instant::now();
    let output = command().args(["-t1", "-c4", "-R100", "-d1s", "--timeout", "500ms", url]).output().unwrap();
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("unable to connect to 127.0.0.1:") && message.contains("speaks TLS?"), "{message}");
    message
}

#[test]
fn sized_and_chunked_responses_arrive_and_their_bytes_are_counted() {
    for text in [OK, CHUNKED] {
        let run = against(Manner::Respond(text.to_vec()), "-t2 -c4 -d30s -R200 --requests 200");
        let (requests, errors) = run.counts();
        assert_eq!(requests, 200);
        assert_eq!(errors, [0; 5]);
        assert_eq!(run.number("bytes_read"), (requests * text.len() as u64) as f64, "of HTTP, not of TLS");
        assert_eq!(run.json["status"]["200"], requests);
    }
}

#[test]
fn both_versions_of_tls_are_spoken() {
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let server = TlsServer::with_versions(Manner::Respond(OK.to_vec()), &[version]);
        let run = load("-t1 -c4 -d30s -R100 --requests 50", &server.url());
        assert_eq!(run.counts(), (50, [0; 5]), "{version:?}");
    }
}

#[test]
fn responses_may_be_cut_into_records_and_segments_anywhere() {
    for text in [OK, CHUNKED] {
        for manner in
            [Manner::Records(text.to_vec(), 1), Manner::CutAtEvery(text.to_vec()), Manner::Torn(text.to_vec(), 7)]
        {
            let run = against(manner.clone(), "-t1 -c2 -d30s -R150 --requests 150");
            assert_eq!(run.counts(), (150, [0; 5]), "{manner:?}");
        }
    }
}

#[test]
fn a_body_of_many_records_and_a_request_of_many_records_arrive_whole() {
    let body = vec![b'x'; 300_000];
    let text = [b"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n", &body[..]].concat();
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("big.lua");
    let lua = "wrk.method = 'PUT'\nwrk.body = string.rep('0123456789', 200000)\n\
               function response(status, headers, body) assert(#body == 300000 and body:find('[^x]') == nil) end\n";
    std::fs::write(&script, lua).unwrap();
    let run =
        against(Manner::Respond(text.clone()), &format!("-t1 -c2 -d30s -R5 --requests 10 -s {}", script.display()));
    let (requests, errors) = run.counts();
    assert_eq!(requests, 10);
    assert_eq!(errors, [0; 5]);
    assert_eq!(run.number("bytes_read"), (requests * text.len() as u64) as f64);
}

#[test]
fn pipelined_requests_are_answered_one_after_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("three.lua");
    std::fs::write(&script, "function request() return wrk.format() .. wrk.format() .. wrk.format() end\n").unwrap();
    let run =
        against(Manner::Respond(OK.to_vec()), &format!("-t1 -c2 -d30s -R300 --requests 300 -s {}", script.display()));
    let (requests, errors) = run.counts();
    assert!(requests >= 298, "{requests}");
    assert_eq!(errors, [0; 5]);
}

#[test]
fn the_end_of_the_stream_ends_a_response_with_and_without_close_notify() {
    let until_close = b"HTTP/1.1 200 OK\r\n\r\nuntil the end".to_vec();
    let announced = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi".to_vec();
    for text in [until_close, announced] {
        for farewell in [Farewell::None, Farewell::Notify, Farewell::NotifyOnly] {
            let run = against(Manner::RespondAndClose(text.clone(), farewell), "-t1 -c4 -d30s -R100 --requests 100");
            assert_eq!(run.counts(), (100, [0; 5]), "{farewell:?}");
        }
    }
}

#[test]
fn responses_cut_short_are_read_errors_with_and_without_close_notify() {
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec();
    for farewell in [Farewell::None, Farewell::Notify, Farewell::NotifyOnly] {
        let run = against(Manner::RespondAndClose(half.clone(), farewell), "-t1 -c4 -d30s -R100 --requests 100");
        let (requests, [connect, read, write, timeout, status]) = run.counts();
        assert_eq!((requests, connect, timeout, status), (0, 0, 0, 0), "{farewell:?}");
        assert_eq!(read + write, 100, "{farewell:?}");
    }
}

#[test]
fn garbage_below_tls_is_a_read_error() {
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf".to_vec();
    let run = against(Manner::Garbage(half), "-t1 -c4 -d30s -R100 --requests 100");
    let (requests, [connect, read, write, timeout, status]) = run.counts();
    assert_eq!((requests, connect, timeout, status), (0, 0, 0, 0));
    assert_eq!(read + write, 100);
    // After a good response the alert is an error too, but no request's, and the response counts.
    let server = TlsServer::start(Manner::Garbage(OK.to_vec()));
    let run = load("-t1 -c4 -d1s -R100", &server.url());
    let (requests, [connect, read, ..]) = run.counts();
    assert_eq!(connect, 0);
    assert!(requests > 0 && read > 0, "{requests} answered, {read} errors");
}

#[test]
fn an_alert_after_the_handshake_is_a_read_error_of_waiting_requests() {
    let run = against(Manner::WantCertificate, "-t1 -c4 -d1s -R200");
    let (requests, [connect, read, write, ..]) = run.counts();
    assert_eq!((requests, connect), (0, 0));
    assert!(read + write + run.number("unfinished.count") as u64 == 200, "{:#}", run.json);
}

/// The first request is due when the measurement begins, and lost at once: counting must have begun by then.
#[test]
fn the_first_request_counts_however_soon_it_is_lost() {
    let server = TlsServer::start(Manner::WantCertificate);
    for _ in 0..50 {
        load("-t1 -c4 -d30ms -R200", &server.url()).assert_every_request_has_an_outcome();
    }
}

#[test]
fn a_peer_that_dies_in_the_handshake_is_a_connect_error_wherever_it_does() {
    for bytes in [0, 1, 4, 5, 100, 600] {
        for death in [Death::Close, Death::Reset] {
            let message = nothing_connected(&TlsServer::start(Manner::DieInHandshake(bytes, death)).url());
            assert!(message.contains("the TLS handshake failed: the peer closed"), "{bytes}, {death:?}: {message}");
        }
    }
}

#[test]
fn a_peer_that_never_completes_the_handshake_is_given_up() {
    let message = nothing_connected(&TlsServer::start(Manner::Silent).url());
    assert!(message.contains("timed out"), "{message}");
}

#[test]
fn a_peer_that_speaks_plain_http_is_recognised() {
    let plain = TruthServer::start(support::Manner::Respond(OK.to_vec(), Duration::ZERO));
    // The peer waits for the end of a request's headers, which a TLS greeting lacks, so the generator gives up.
    let message = nothing_connected(&plain.url().replace("http://", "https://"));
    assert!(message.contains("timed out"), "{message}");
    // A server that answers the greeting as a bad request.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            use std::io::{Read, Write};
            let mut stream = stream.unwrap();
            // The generator's first connection is a probe that sends nothing.
            if stream.read(&mut [0; 4096]).is_ok_and(|length| length > 0) {
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
            }
        }
    });
    let message = nothing_connected(&url);
    assert!(message.contains("the TLS handshake failed: the peer does not send TLS"), "{message}");
}

#[test]
fn plain_requests_to_a_peer_that_speaks_tls_are_read_errors() {
    let server = TlsServer::start(Manner::Respond(OK.to_vec()));
    let run = load("-t1 -c2 -d1s -R50", &server.url().replace("https://", "http://"));
    run.assert_every_request_has_an_outcome();
    let (requests, [connect, read, ..]) = run.counts();
    assert_eq!((requests, connect), (0, 0));
    assert!(read > 0, "{read}");
}

#[test]
fn a_server_that_dies_during_the_run_leaves_connect_errors_and_no_hang() {
    let server = TlsServer::start(Manner::Respond(OK.to_vec()));
    let url = server.url();
    let run = load_on_a_server_that_dies(server, url);
    assert!(run.number("cpu_s") < 1.0, "{}", run.number("cpu_s"));
}

#[test]
fn each_of_three_hundred_connections_shakes_hands_once_and_sends_the_urls_name() {
    let server = TlsServer::start(Manner::Respond(OK.to_vec()));
    let run = load("-t2 -c300 -d60s -R600 --requests 1200 --timeout 60s", &server.url());
    run.assert_every_request_has_an_outcome();
    let (requests, errors) = run.counts();
    assert_eq!(requests, 1200);
    assert_eq!(errors, [0; 5]);
    // An address is not a name (RFC 6066), so no name is sent.
    assert_eq!(server.names(), vec![None; 300]);
    let url = server.url().replace("127.0.0.1", "localhost");
    load("-t1 -c2 -d200ms -R100", &url);
    assert_eq!(server.names()[300..], [Some("localhost".to_owned()), Some("localhost".to_owned())]);
}

#[test]
fn a_host_that_is_no_tls_name_is_a_usage_error() {
    let output = command().args(["-R10", "-d1s", "https://-no-/"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8(output.stderr).unwrap().contains("'-no-' is not a valid host name for TLS"));
}

#[test]
fn a_server_may_have_a_key_that_cannot_be_verified() {
    if !is_installed("openssl", &["/usr/bin/openssl"]) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let openssl = |line: &str| {
        let mut command = std::process::Command::new("openssl");
        command.args(line.split(' ')).current_dir(directory.path()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let key = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-521 -nodes -keyout key -out cert -subj /CN=localhost";
    assert!(openssl(key).status().unwrap().success());
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut server = openssl(&format!("s_server -accept {address} -cert cert -key key -www -quiet")).spawn().unwrap();
    let accepts = || (0..100).any(|_| TcpStream::connect(address).is_ok() || waited());
    let run = accepts().then(|| load("-t1 -c1 -d30s -R20 --requests 5", &format!("https://{address}/")));
    server.kill().unwrap();
    server.wait().unwrap();
    assert_eq!(run.expect("openssl accepts connections").number("requests"), 5.0);
}

/// Waits for a server to begin. Always false.
fn waited() -> bool {
    std::thread::sleep(Duration::from_millis(100));
    false
}
