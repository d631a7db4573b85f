//! Start and end of a recording, and the choice of its CPU engine.

use crate::support::{Jvm, NOBODY, assert_refused, assert_root, expect_success, jdk, json, profile, record, room};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_recording_ends_by_itself_after_its_timeout_and_its_file_is_whole() {
    let jvm = Jvm::start(&[]);
    let directory = tempfile::tempdir().unwrap();
    let out = fs::canonicalize(directory.path()).unwrap();
    let (pid, to) = (jvm.pid(), out.to_str().unwrap());
    let begin = Instant::now();
    expect_success(&profile(&["start", "--pid", &pid, "--out", to, "--timeout", "1500ms"]));
    while jvm.has_open(&out.join("profile.jfr")) {
        assert!(begin.elapsed() < Duration::from_secs(60), "the recording goes on");
        thread::sleep(Duration::from_millis(20));
    }
    assert!(begin.elapsed() > Duration::from_millis(1900), "1.5 s are rounded up to whole seconds");
    assert_refused(
        &["stop", "--pid", &pid, "--out", to],
        &["no recording is running", "profile.jfr ended before this", "--timeout"],
    );
    drop(jvm); // the conversion needs the CPUs
    expect_success(&profile(&["convert", "--out", to]));
    let description = json(&out.join("profile.json"));
    assert_eq!(description["truncated"], false);
    // async-profiler's timer runs once a second, and late on a busy machine
    let recorded_s = description["duration_s"].as_f64().unwrap();
    assert!((1.9..10.0).contains(&recorded_s), "{recorded_s}");
    assert!(description["events"]["cpu"]["samples"].as_u64().is_some_and(|samples| samples > 0), "{description}");
}

#[test]
fn every_sample_of_the_recording_is_counted_and_no_lost_one() {
    // with 200 threads and this interval, perf events loses some samples; at 20us a JVM may do nothing but handle
    // signals, and not answer
    let jvm = Jvm::with_threads(&[], 200);
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path();
    record(&jvm, out, &["--interval", "100us", "--alloc-interval", "1k"]);
    drop(jvm); // the conversion needs the CPUs
    expect_success(&profile(&["convert", "--out", out.to_str().unwrap()]));
    let (counts, description) = (json(&out.join("recorder.json")), json(&out.join("profile.json")));
    let recorded = ["cpu", "alloc", "lock"].map(|event| description["events"][event]["samples"].as_u64().unwrap());
    let unwritten = counts["samples"].as_u64().unwrap().checked_sub(recorded.iter().sum());
    // samples that are taken while the recording ends are counted but not written
    assert!(unwritten.is_some_and(|samples| samples <= 200), "{counts} for {recorded:?}");
}

#[test]
fn a_second_recording_is_refused_and_the_first_goes_on() {
    let jvm = Jvm::idle(&[]);
    let pid = jvm.pid();
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (out, other) = (first.path().to_str().unwrap(), second.path().to_str().unwrap());
    expect_success(&profile(&["start", "--pid", &pid, "--out", out]));
    assert_refused(&["start", "--pid", &pid, "--out", other], &["a recording is running", "profile stop"]);
    assert_eq!(fs::read_dir(second.path()).unwrap().count(), 0);
    let stop = ["stop", "--pid", &pid, "--out", out];
    expect_success(&profile(&stop));
    assert_refused(&stop, &["no recording is running", "profile.jfr ended before this", "another stop"]);
}

#[test]
fn the_probe_predicts_the_engine_of_the_recording() {
    let jvm = Jvm::start(&[]);
    let probed = profile(&["probe", "--pid", &jvm.pid()]);
    expect_success(&probed);
    let probe: Value = serde_json::from_slice(&probed.stdout).unwrap();
    assert!(probe["why"].as_str().is_some_and(|why| why.len() > 10), "{probe}");
    let directory = tempfile::tempdir().unwrap();
    record(&jvm, directory.path(), &["--events", "cpu"]);
    drop(jvm); // the conversion needs the CPUs
    expect_success(&profile(&["convert", "--out", directory.path().to_str().unwrap()]));
    assert_eq!(json(&directory.path().join("profile.json"))["engine"], probe["engine"], "{probe}");
}

/// Where root may not open perf events either, or every user may, the engine is the same with and without lending.
#[test]
#[ignore = "needs root, because the JVM runs as another user"]
fn a_privileged_profiler_lends_perf_events_to_a_jvm_that_has_none() {
    assert_root();
    let here: Value = serde_json::from_slice(&profile(&["probe"]).stdout).unwrap();
    let directory = tempfile::Builder::new().permissions(fs::Permissions::from_mode(0o777)).tempdir().unwrap();
    let program = directory.path().join("Busy.java");
    fs::copy(room().join("tests/data/Busy.java"), &program).unwrap();
    let mut java = Command::new(jdk().join("bin/java"));
    java.arg(&program).uid(NOBODY).gid(NOBODY).current_dir("/");
    let jvm = Jvm::run(java);
    let lender = here["opened_here"] == true;
    let everybody = lender && here["perf_event_paranoid"].as_i64().is_some_and(|level| level <= 1);
    for (transfer, perf_events) in [("auto", lender), ("off", everybody)] {
        let engine = if perf_events { "perf_events" } else { "ctimer" };
        let out = directory.path().join(transfer);
        fs::create_dir(&out).unwrap();
        fs::set_permissions(&out, fs::Permissions::from_mode(0o777)).unwrap();
        let library = directory.path().join("library");
        let attach = ["--libpath", library.to_str().unwrap(), "--fdtransfer", transfer];
        let (pid, to) = (jvm.pid(), out.to_str().unwrap());
        expect_success(&profile(&[&["start", "--pid", &pid, "--out", to][..], &attach].concat()));
        thread::sleep(Duration::from_secs(3));
        expect_success(&profile(&[&["stop", "--pid", &pid, "--out", to][..], &attach].concat()));
        expect_success(&profile(&["convert", "--out", to]));
        let description = json(&out.join("profile.json"));
        assert_eq!(description["engine"], engine);
        let had_us = description["interval_had_us"].as_f64().unwrap();
        assert_eq!(had_us > 500.0, engine == "ctimer", "{engine}: a sample each {had_us} µs");
        let picture = fs::read_to_string(out.join("cpu.svg")).unwrap();
        assert!(picture.contains(&format!("by {engine}, one per {had_us} µs of CPU time")), "{engine}: {had_us}");
        let kernel = fs::read_to_string(out.join("cpu.collapsed")).unwrap().contains("_[k]");
        assert_eq!(kernel, engine == "perf_events", "kernel frames with {engine}");
    }
}
