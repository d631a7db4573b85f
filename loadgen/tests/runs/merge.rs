//! `loadgen merge`: the logs of several runs as one distribution.

use crate::support::{Manner, OK, TruthServer, command, load, quick_server};
use std::time::Duration;

#[test]
fn logs_of_several_runs_merge_into_one_distribution() {
    let fast = quick_server();
    let slow = TruthServer::start(Manner::Respond(OK.to_vec(), Duration::from_millis(30)));
    let directory = tempfile::tempdir().unwrap();
    let log = |name: &str| directory.path().join(name).display().to_string();
    let (first, second, merged) = (log("a.hlog"), log("b.hlog"), log("merged.hlog"));
    let many = load(&format!("-t1 -c4 -d1s -R300 --hdr-log {first}"), &fast.url());
    let few = load(&format!("-t1 -c4 -d1500ms -R20 --hdr-log {second}"), &slow.url());
    let requests = many.number("requests") + few.number("requests");
    let output = command().args(["merge", &first, &second, "--hdr-log", &merged]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(&format!("Total count    = {requests:12}]")), "{text}");
    assert!(text.contains(&format!("  {requests} requests of 2 runs in 1.50s, ")), "{text}");
    assert!(text.starts_with("  Latency Distribution (HdrHistogram - Recorded Latency)\n 50.000%"), "{text}");

    let again = command().args(["merge", &merged]).output().unwrap();
    let again = String::from_utf8(again.stdout).unwrap();
    let spectrum = |text: &str| text.split_once("-----").unwrap().0.to_owned();
    assert_eq!(spectrum(&again), spectrum(&text), "a merged log is a log");
}

#[test]
fn merge_counts_every_interval_of_a_log_whose_intervals_begin_together() {
    let server = quick_server();
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let (log, doubled) = (file("a.hlog"), file("doubled.hlog"));
    let requests = load(&format!("-t1 -c2 -d1s -R100 --hdr-log {log}"), &server.url()).number("requests");
    let text = std::fs::read_to_string(&log).unwrap();
    let interval = text.lines().last().unwrap();
    std::fs::write(&doubled, format!("{text}{interval}\nTag=PUT,{interval}\nTag=PUT,{interval}\n")).unwrap();
    let merged = |log: &str| {
        let output = command().args(["merge", log]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(merged(&log).contains(&format!("  {requests} requests of 1 run in 1.00s, ")));
    assert!(merged(&doubled).contains(&format!("  {} requests of 1 run in 1.00s, ", 4.0 * requests)));
}

#[test]
fn logs_of_other_writers_are_read_by_the_formats_own_rule() {
    let server = quick_server();
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).display().to_string();
    let own = file("own.hlog");
    load(&format!("-t1 -c1 -d1s -R50 --hdr-log {own}"), &server.url());
    let text = std::fs::read_to_string(&own).unwrap();
    let histogram = text.trim_end().rsplit(',').next().unwrap();
    let legend = "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
    let (version, start) =
        ("#[Histogram log format version 1.3]\n", "#[StartTime: 1700000000.000 (seconds since epoch)]\n");
    let row = |at: &str| format!("{at},1.000,1.000,{histogram}\n");
    let (relative, absolute) = (row("0.000") + &row("3.000"), row("1700000000.000") + &row("1700000003.000"));
    let base = |time: &str| format!("#[BaseTime: {time} (seconds since epoch)]\n");
    for (name, log) in [
        ("no legend", format!("{version}{start}{relative}")),
        ("a blank last line", format!("{version}{start}{legend}{relative}\n")),
        ("tags", format!("{version}{start}{legend}Tag=A,{}Tag=B,{}", row("0.000"), row("3.000"))),
        ("started in 1970", format!("{version}#[StartTime: 0.000 (seconds since epoch), Thu Jan 01 1970]\n{relative}")),
        ("absolute times", format!("{version}{start}{absolute}")),
        ("a base time of 1970", format!("{version}{start}{}{absolute}", base("0.000"))),
        ("a base time at the start", format!("{version}{start}{}{relative}", base("1700000000.000"))),
        (
            "a base time before the start",
            format!("{version}{start}{}{}{}", base("1699999990.000"), row("10.000"), row("13.000")),
        ),
        ("neither start nor base", absolute.clone()),
        ("line ends of Windows", format!("{version}{start}{legend}{relative}").replace('\n', "\r\n")),
    ] {
        let (path, merged) = (file("other.hlog"), file("merged.hlog"));
        std::fs::write(&path, log).unwrap();
        let output = command().args(["merge", &path, "--hdr-log", &merged]).output().unwrap();
        assert!(output.status.success(), "{name}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("  100 requests of 1 run in 4.00s, "), "{name}: {text}");
        let merged = std::fs::read_to_string(&merged).unwrap();
        let times: Vec<&str> =
            merged.lines().filter(|line| !line.starts_with(['#', '"'])).map(|line| &line[..5]).collect();
        assert_eq!(times, ["0.000", "3.000"], "{name}");
    }
}

#[test]
fn merge_refuses_files_that_are_not_logs() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (text, empty) = (file("x.hlog", b"this is no log\n"), file("empty.hlog", b""));
    let spoilt = file("spoilt.hlog", b"#[StartTime: 1.000 (seconds since epoch)]\n0.000,1.000,1.000,HISTFAAA\n");
    let binary = file("binary.hlog", &[0xff, 0xfe]);
    for (arguments, wanted) in [
        (vec!["merge"], "required arguments"),
        (vec!["merge", "/no/such.hlog"], "/no/such.hlog: No such file"),
        (vec!["merge", &text], "x.hlog: not an HdrHistogram log"),
        (vec!["merge", &empty], "empty.hlog: it contains no interval"),
        (vec!["merge", &spoilt], "spoilt.hlog: interval at 0ns: "),
        (vec!["merge", &binary], "binary.hlog: not a text file"),
    ] {
        let output = command().args(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(wanted), "{arguments:?}: {message}");
    }
}
