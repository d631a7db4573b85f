//! Requests, responses and the command line.

use super::{FIVE, error_of, five, run_script};
use crate::support::{Manner, OK, TruthServer, command, load_with, quick_server};
use std::time::Duration;

#[test]
fn hand_made_requests_are_sent_as_they_are_if_they_can_be_counted() {
    let post = "POST /j HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: 2\\r\\n\\r\\n";
    let get = "GET /g HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n";
    let (run, texts) = five(&format!("function request() return '{get}{post}{{}}{get}' end"));
    assert_eq!(run.number("requests"), 6.0, "two batches of three");
    assert_eq!(texts[0].matches(" HTTP/1.1\r\n").count(), 3);
    // As in wrk2, line ends after a body are sent: servers skip them (RFC 9112, section 2.2).
    assert!(five(&format!("function request() return '{post}{{}}\\r\\n' end")).1[0].ends_with("{}\r\n"));
    // So are those before a request; the response to HEAD has no body.
    let no_body = OK.strip_suffix(b"hello").unwrap().to_vec();
    let head = "function request() return '\\r\\nHEAD / HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' end";
    let server = TruthServer::start(Manner::Respond(no_body, Duration::ZERO));
    let run = run_script(head, "-t1 -c1 -d2s -R100 --requests 5", &server);
    assert_eq!(run.number("requests"), 5.0);
    assert!(server.texts()[0].starts_with("\r\nHEAD "), "{:?}", server.texts()[0]);
    for (text, wanted) in [
        (format!("{post}{{"), "request 1 is cut short: its body has 1 bytes, and its Content-Length is 2"),
        (
            "GET / HTTP/1.1\\r\\nHost: x\\r\\n".to_owned(),
            "request 1 is cut short: an empty line must follow its headers",
        ),
        (
            "GET / HTTP/1.1\\r\\nContent-Length: 2\\r\\n\\r\\n".to_owned(),
            "its body has 0 bytes, and its Content-Length is 2",
        ),
        (format!("{get}{post}{{}}more"), "after the end of request 2: \"more\"; its Content-Length is 2"),
        (format!("{get}more\\r\\n\\r\\n"), "after the end of request 1: \"more\\r\\n\\r\\n\""),
        ("hello world, not http\\r\\n\\r\\n".to_owned(), "request 1 is not an HTTP/1.1 request"),
        (String::new(), "the request is empty"),
        (
            "PUT / HTTP/1.1\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\n".to_owned(),
            "a request with Transfer-Encoding cannot be counted",
        ),
    ] {
        let error = error_of(&format!("function request() return '{text}' end"));
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn a_response_that_is_cut_in_pieces_or_pipelined_is_one_response() {
    let server = TruthServer::start(Manner::ByteByByte(OK.to_vec()));
    let run = load_with("-t1 -c1 -d30s -R50 --requests 4", &server.url(), "");
    assert_eq!(run.number("requests"), 4.0);
    let server = TruthServer::start(Manner::Respond(OK.to_vec(), Duration::ZERO));
    let run =
        run_script("function request() return wrk.format():rep(3) end", "-t1 -c1 -d30s -R90 --requests 9", &server);
    assert_eq!((run.number("requests"), run.number("latency_us.count")), (9.0, 9.0));
}

#[test]
fn a_length_that_a_response_repeats_is_accepted() {
    for (repeated, lost) in [("5, 5", 0.0), ("5\r\nContent-Length: 5", 0.0), ("5, 6", 4.0)] {
        let response = String::from_utf8(OK.to_vec())
            .unwrap()
            .replace("Content-Length: 5", &format!("Content-Length: {repeated}"));
        let server = TruthServer::start(Manner::Respond(response.into_bytes(), Duration::ZERO));
        let run = load_with("-t1 -c1 -d30s -R50 --requests 4", &server.url(), "");
        assert_eq!((run.number("errors.read"), run.number("requests")), (lost, 4.0 - lost), "{repeated}");
    }
}

#[test]
fn a_header_that_is_given_twice_is_sent_twice() {
    let server = quick_server();
    let run = |headers: &[&str]| {
        let headers = headers.iter().flat_map(|header| ["-H", header]);
        command().args(FIVE.split(' ')).args(headers).arg(server.url()).output().unwrap()
    };
    let output = run(&["Cookie: a=1", "X-Other: x", "Cookie: b=2", "Accept:*/*"]);
    assert!(output.status.success(), "{output:?}");
    let text = &server.texts()[0];
    for header in ["Cookie: a=1", "Cookie: b=2", "X-Other: x", "Accept: */*"] {
        assert_eq!(text.matches(&format!("\r\n{header}\r\n")).count(), 1, "{header} in {text}");
    }
    for (headers, wanted) in [
        (&["Host: a", "host: b"][..], "-H: Host is given twice"),
        (&["Content-Length: 5"], "-H: Content-Length follows from the body"),
    ] {
        let output = run(headers);
        assert_eq!(output.status.code(), Some(1));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn the_command_line_of_wrk2_has_its_meaning() {
    let server = quick_server();
    let url = &server.url();
    for flags in [
        "-t 1 -c 2 -d 300ms -R 20 --latency",
        "--threads 1 --connections 2 --duration 300ms --rate 20 -L",
        "-t1 -c2 -d300ms -R0.02k -U --timeout 1s -T1s",
        "-t1 -c2 -d300ms -R20 --u_latency -B --batch_latency",
    ] {
        let flags = flags.replace("--timeout 1s -T1s", "--timeout 1s").replace("-B --batch_latency", "--batch_latency");
        let run = load_with(&flags, url, "");
        assert!(run.output.status.success(), "{flags}: {:?}", run.output);
        assert_eq!((run.number("threads"), run.number("connections"), run.number("requests_due")), (1.0, 2.0, 6.0));
        let text = run.stdout();
        assert!(text.starts_with("Running "), "{text}");
        assert!(text.contains("Latency Distribution (HdrHistogram - Recorded Latency)"), "{flags}: {text}");
        assert_eq!(text.contains("Uncorrected Latency"), flags.contains("-U") || flags.contains("u_lat"), "{flags}");
    }
    let output = command().arg("-v").output().unwrap();
    assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().starts_with("loadgen "));
    for flag in ["-h", "--help"] {
        let output = command().arg(flag).output().unwrap();
        assert!(output.status.success() && String::from_utf8(output.stdout).unwrap().contains("--rate <RATE>"));
    }
    let output = command().arg(url).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "the rate is required");
}

#[test]
fn an_option_that_is_given_twice_has_its_last_value() {
    let server = quick_server();
    let flags = "-t4 -c9 -d1h -R1k -T1s -L -s /nowhere.lua -t1 --connections 2 -d300ms --rate 20 -T2s -L \
        --expect 404,410 --expect 500";
    let run = run_script("wrk.path = '/last'", flags, &server);
    assert!(run.output.status.success(), "{:?}", run.output);
    assert_eq!((run.number("threads"), run.number("connections"), run.number("requests_due")), (1.0, 2.0, 6.0));
    assert_eq!(run.json["expect"], serde_json::json!([500]));
    assert!(server.texts()[0].starts_with("GET /last "), "{}", server.texts()[0]);
    let help = String::from_utf8(command().arg("--help").output().unwrap().stdout).unwrap();
    assert!(help.contains("If an option is given twice, its last value counts; only the headers of -H add up."));
}
