//! Machine-readable output: JSON, HdrHistogram logs, live metrics, exit codes.

use crate::support::{Manner, TruthServer, command, installed, load, load_with, quick_server};
use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn the_series_adds_up_to_the_totals() {
    let server = quick_server();
    let run = load("-t2 -c4 -d2500ms -R200", &server.url());
    let series = run.json["series"].as_array().unwrap();
    let sum = |key: &str| series.iter().map(|row| row[key].as_u64().unwrap()).sum::<u64>() as f64;
    assert_eq!(series.iter().map(|row| row["due"].as_u64().unwrap()).collect::<Vec<_>>(), [200, 200, 100]);
    assert_eq!(sum("due"), run.number("requests_due"));
    assert_eq!(sum("requests"), run.number("requests"));
    assert_eq!(run.number("latency_us.count"), run.number("requests"));
    assert_eq!(run.number("elapsed_s"), 2.5);
}

#[test]
fn the_hdr_log_holds_the_samples_of_the_report_in_nanoseconds() {
    let server = quick_server();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("latency.hlog");
    let run = load(&format!("-t2 -c4 -d2500ms -R400 --hdr-log {}", file.display()), &server.url());
    let text = std::fs::read(&file).unwrap();
    let lines: Vec<&str> = std::str::from_utf8(&text).unwrap().lines().collect();
    assert!(lines.contains(&"#[Histogram log format version 1.3]"));
    assert!(lines.iter().any(|line| line.starts_with("#[StartTime: ")));
    assert!(
        lines.contains(&"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"")
    );

    // The reading crate does not know the legend that Java's reader expects.
    let without_legend: Vec<&str> = lines.iter().filter(|line| !line.starts_with('"')).copied().collect();
    let log = without_legend.join("\n") + "\n";
    let mut all = loadgen::stats::new_histogram();
    let mut intervals = Vec::new();
    for entry in IntervalLogIterator::new(log.as_bytes()) {
        if let LogEntry::Interval(interval) = entry.unwrap() {
            let bytes = base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram()).unwrap();
            let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
            assert!((histogram.max() as f64 / 1e6 - interval.max()).abs() < 0.001, "Interval_Max is in milliseconds");
            all.add(&histogram).unwrap();
            intervals.push((interval.start_timestamp().as_millis(), interval.duration().as_millis()));
        }
    }
    assert_eq!(intervals, [(0, 1000), (1000, 1000), (2000, 500)]);
    assert_eq!(all.len() as f64, run.number("latency_us.count"));
    for percentile in ["50", "99", "100"] {
        let value_us = all.value_at_percentile(percentile.parse().unwrap()) as f64 / 1000.0;
        assert!((value_us - run.percentile_us("latency_us", percentile)).abs() < 0.001);
    }
}

// Four seconds of real time: the page must be served while the loops are running.
#[test]
fn metrics_are_served_during_the_run() {
    let server = quick_server();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = server.url();
    let run = std::thread::spawn(move || load(&format!("-t1 -c2 -d4s -R100 --metrics {free}"), &url));
    let get = |path: &str| -> std::io::Result<String> {
        let mut stream = TcpStream::connect(free)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")?;
        let mut text = String::new();
        stream.read_to_string(&mut text)?;
        Ok(text)
    };
    let due = |page: &str| -> Option<u64> {
        page.lines().find_map(|line| line.strip_prefix("loadgen_requests_due_total "))?.parse().ok()
    };
    let mut seen = String::new();
    while due(&seen).unwrap_or(0) == 0 && !run.is_finished() {
        std::thread::sleep(Duration::from_millis(50));
        seen = get("/metrics").unwrap_or_default();
    }
    assert!(seen.starts_with("HTTP/1.1 200 OK\r\n"), "{seen}");
    assert!((1..=400).contains(&due(&seen).unwrap()), "{seen}");
    assert!(seen.contains("\nloadgen_target_rate 100\n"), "{seen}");
    assert!(get("/").unwrap().starts_with("HTTP/1.1 404 "));
    run.join().unwrap();
    if installed("promtool", "--version") {
        let page = seen.split_once("\r\n\r\n").unwrap().1;
        let mut check = Command::new("promtool")
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        check.stdin.take().unwrap().write_all(page.as_bytes()).unwrap();
        let checked = check.wait_with_output().unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}

#[test]
fn a_metrics_address_in_use_is_an_error_before_anything_is_sent() {
    let server = quick_server();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let flags = format!("-t1 -c1 -d1s -R10 --metrics {}", taken.local_addr().unwrap());
    let run = load_with(&flags, &server.url(), "");
    assert_eq!(run.output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&run.output.stderr);
    assert!(message.contains("--metrics: cannot listen at 127.0.0.1:"), "{message}");
    assert!(server.seen().is_empty());
}

#[test]
fn ctrl_c_ends_early_with_the_report_and_exit_code_130() {
    let server = quick_server();
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let directory = tempfile::tempdir().unwrap();
        let (json, hlog) = (directory.path().join("load.json"), directory.path().join("x.hlog"));
        let child = command()
            .args(["-t2", "-c4", "-d1m", "-R200", "-L", "--json"])
            .arg(&json)
            .arg("--hdr-log")
            .arg(&hlog)
            .arg(server.url())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // The server's log shows when the second second has begun.
        let begin = server.seen().len();
        while server.seen().len() < begin + 250 {
            std::thread::sleep(Duration::from_millis(20));
        }
        // SAFETY: the child is ours and has not been waited for.
        unsafe { libc::kill(child.id() as i32, signal) };
        let started = Instant::now();
        let output = child.wait_with_output().unwrap();
        assert!(started.elapsed() < Duration::from_secs(30), "not at the end of the minute");
        assert_eq!(output.status.code(), Some(code));
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("Latency Distribution") && text.contains("Requests/sec:"), "{text}");
        let json: serde_json::Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
        let elapsed_s = json["elapsed_s"].as_f64().unwrap();
        assert!((0.5..60.0).contains(&elapsed_s), "{elapsed_s}");
        assert!(json["requests"].as_u64().unwrap() > 0);
        assert!(std::fs::read_to_string(hlog).unwrap().contains("\n1.000,"));
    }
}

#[test]
fn a_full_disk_affects_only_the_output_on_it() {
    let server = quick_server();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("load.json");
    let run = |arguments: &[&str], stdout: Stdio| {
        let _ = std::fs::remove_file(&json);
        let started = Instant::now();
        let mut command = command();
        command.args(["-t1", "-c2", "-d1200ms", "-R100"]).args(arguments).arg(server.url());
        let output = command.stdout(stdout).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(started.elapsed() > Duration::from_millis(1000), "the run goes on to its end");
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(message.contains("No space left on device"), "{arguments:?}: {message}");
        (String::from_utf8(output.stdout).unwrap(), message)
    };
    let due = || {
        let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        (json["requests_due"].as_u64().unwrap(), json["failure"].clone())
    };
    let path = json.display().to_string();

    let (text, message) = run(&["--json", &path, "--hdr-log", "/dev/full"], Stdio::piped());
    assert!(message.contains("cannot write /dev/full"), "{message}");
    assert!(text.contains("\nRequests/sec: "), "{text}");
    assert_eq!(due().0, 120);
    assert!(due().1.as_str().unwrap().contains("cannot write /dev/full"));

    let (text, _) = run(&["--json", "/dev/full"], Stdio::piped());
    assert!(text.contains("\nRequests/sec: "), "{text}");

    // The heading is printed before the run, when a full disk loses nothing.
    let to_full = full.try_clone().unwrap().into();
    let output =
        command().args(["-t1", "-c1", "-d1s", "-R10", &server.url()]).stdout::<Stdio>(to_full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_json_is_written_even_if_the_reader_of_the_text_goes_away() {
    let server = quick_server();
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("load.json");
    let mut child = command()
        .args(["-t1", "-c2", "-d1s", "-R100", "-L", "--json"])
        .arg(&json)
        .arg(server.url())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(500));
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot print the report"));
    let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    assert_eq!(json["requests_due"], 100);
}

#[test]
fn goodput_counts_responses_with_an_expected_status() {
    let not_found = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec();
    let server = TruthServer::start(Manner::Respond(not_found, Duration::ZERO));
    let figures = |flags: &str| {
        let run = load(&format!("-t1 -c2 -d30s -R100 --requests 50 {flags}"), &server.url());
        assert_eq!(run.number("served_us.count"), run.number("served"));
        assert!((run.number("goodput_per_s") * run.number("elapsed_s") - run.number("served")).abs() < 1e-6);
        let text = run.stdout();
        assert!(text.contains(&format!("Non-2xx or 3xx responses: {}\n", run.number("requests"))), "as wrk2: {text}");
        ["requests", "served", "refused", "errors.status"].map(|key| run.number(key) as u64)
    };
    let [requests, served, refused, errors] = figures("");
    assert_eq!(requests, 50);
    assert_eq!([served, refused, errors], [0, 0, requests]);
    let [requests, served, refused, errors] = figures("--expect 404,410");
    assert_eq!([served, refused, errors], [requests, 0, 0]);
}

#[test]
fn each_method_has_latencies_of_its_own() {
    let server = quick_server();
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("mixed.lua");
    let text = "local n = 0
        function request() n = n + 1; return wrk.format(n % 4 == 0 and 'PUT' or 'GET', '/', nil, n % 4 == 0 and 'v' or nil) end";
    std::fs::write(&script, text).unwrap();
    let run = load(&format!("-t1 -c2 -d1s -R200 -s {}", script.display()), &server.url());
    let operations = run.json["by_operation"].as_object().unwrap();
    assert_eq!(operations.keys().collect::<Vec<_>>(), ["GET", "PUT"]);
    let count = |name: &str| operations[name]["count"].as_f64().unwrap();
    assert_eq!(count("GET") + count("PUT"), run.number("latency_us.count"));
    assert!((count("PUT") - run.number("requests") / 4.0).abs() <= 3.0, "{} PUT", count("PUT"));
    let only_get = load("-t1 -c1 -d300ms -R100", &server.url());
    assert_eq!(only_get.json["by_operation"].as_object().unwrap().keys().collect::<Vec<_>>(), ["GET"]);
    assert_eq!(only_get.json["by_operation"]["GET"], only_get.json["latency_us"]);
}

#[test]
fn usage_errors_are_exit_code_1_and_touch_nothing() {
    let server = quick_server();
    for (flags, wanted) in [
        ("-t1 -c1 -d1s", "--rate <RATE>"),
        ("-t4 -c2 -R10", "raise -c or lower -t"),
        ("-R10 -c100000000 -t1", "ulimit -n"),
        ("-R10 -t1 --cpus 1000", "cannot run on CPU 1000"),
        ("-R10 --hdr-log /no/such/directory/x.hlog", "directory /no/such/directory does not exist"),
        ("-R10 -s no-such-script.lua", "cannot read no-such-script.lua"),
    ] {
        let run = load_with(flags, &server.url(), "");
        assert_eq!(run.output.status.code(), Some(1), "{flags}");
        let message = String::from_utf8_lossy(&run.output.stderr);
        assert!(message.contains(wanted), "{flags}: {message}");
        assert!(run.json.is_null(), "{flags} wrote a file");
    }
    assert!(server.seen().is_empty());
}

#[test]
fn help_and_version_are_no_errors() {
    let help = command().arg("--help").output().unwrap();
    assert_eq!(help.status.code(), Some(0));
    let text = String::from_utf8(help.stdout).unwrap();
    for word in ["-R, --rate <RATE>", "Examples:", "Exit codes:", "-- pairs=2000000"] {
        assert!(text.contains(word), "{word} in\n{text}");
    }
    let version = command().arg("-v").output().unwrap();
    assert_eq!(version.status.code(), Some(0));
    assert_eq!(version.stdout, format!("loadgen {}\n", env!("CARGO_PKG_VERSION")).as_bytes());
}

#[test]
fn strict_turns_a_schedule_that_was_not_kept_into_exit_code_3() {
    let server = quick_server();
    let run = load_with("-t1 -c2 -d1s -R200 --strict --send-lag-max 1us", &server.url(), "");
    assert_eq!(run.output.status.code(), Some(3), "{:#}", run.json);
    assert_eq!(run.json["kept_schedule"]["verdict"], false);
    assert!(run.stdout().contains("\nSchedule:     NOT KEPT: requests were sent late: latency at 50% is "));
    let tolerant = load_with("-t1 -c2 -d1s -R200 --strict --send-lag-max 1s", &server.url(), "");
    assert_eq!(tolerant.output.status.code(), Some(0), "{:#}", tolerant.json);
    assert!(tolerant.stdout().ends_with("\nSchedule:     kept\n"));
}

#[test]
fn a_rate_plan_is_followed_and_reported() {
    let server = quick_server();
    let run = load("-t2 -c4 --rate-plan 100:1s,300:1s,0-200:1s", &server.url());
    run.assert_every_request_has_an_outcome();
    let due = run.json["series"].as_array().unwrap().iter().map(|row| row["due"].as_u64().unwrap());
    assert_eq!(due.collect::<Vec<_>>(), [100, 300, 100]);
    assert_eq!(run.number("rate_per_s"), 500.0 / 3.0);
    assert_eq!(run.number("duration_s"), 3.0);
    assert!(run.stdout().starts_with("Running 3s test @ "));
}

#[test]
fn poisson_arrivals_are_counted_like_any_other() {
    let server = quick_server();
    let run = load("-t2 -c8 -d2s -R500 --arrivals poisson --seed 3", &server.url());
    run.assert_every_request_has_an_outcome();
    let series = run.json["series"].as_array().unwrap();
    let due: u64 = series.iter().map(|row| row["due"].as_u64().unwrap()).sum();
    assert_eq!(due as f64, run.number("requests_due"));
    assert!((870..1130).contains(&due), "{due} is 4 deviations from 1000");
    assert_ne!(series[0]["due"], 500, "not evenly spaced");
}

#[test]
fn an_error_that_cannot_be_printed_has_its_exit_code_all_the_same() {
    let server = quick_server();
    let free_port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let run = format!("-t1 -c1 -R10 -d300ms {}", server.url());
    for (line, wanted) in [
        ("merge no-such-file".to_owned(), 1),
        ("-R10 http://a:b@c/".to_owned(), 1),
        (format!("-R10 -s no-such-script {}", server.url()), 1),
        (format!("-R10 http://{free_port}/"), 2),
        (run, 1),
    ] {
        let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
        let status = command().args(line.split(' ')).stdout(full()).stderr(full()).status().unwrap();
        assert_eq!(status.code(), Some(wanted), "{line}");
    }
}
