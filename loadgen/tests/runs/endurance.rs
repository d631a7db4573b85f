//! Long runs: memory must not grow with their length.
//!
//! `SOAK_SECONDS` is the length of a run; `make torture-loadgen` takes an hour. The default of 10 s is enough to notice
//! that each request loses a block of 16 bytes: half of the run, 50,000 requests, would lose 800 kB.

use crate::{noop_server, support};
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::time::Duration;

/// Resident memory of `process` in bytes, `None` once it has ended.
fn resident_bytes(process: &Child) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? * 1024)
}

fn median(values: &[u64]) -> u64 {
    let mut values = values.to_vec();
    values.sort_unstable();
    values[values.len() / 2]
}

// The longest test, 10 s: only the process's own memory shows what each request and second leaves behind.
#[test]
fn memory_stays_flat_at_ten_thousand_requests_a_second_with_every_output_on() {
    let seconds: usize = std::env::var("SOAK_SECONDS").map_or(10, |text| text.parse().expect("SOAK_SECONDS"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || noop_server::serve(&listener, 2));
    let directory = tempfile::tempdir().unwrap();
    let json = directory.path().join("load.json");
    let mut process = support::command()
        .args(["-t2", "-c64", "-R10000", "--metrics", "127.0.0.1:0", &format!("-d{seconds}s"), "--json"])
        .arg(&json)
        .arg("--hdr-log")
        .arg(directory.path().join("latency.hlog"))
        .arg(&url)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut samples = Vec::new();
    while process.try_wait().unwrap().is_none() {
        samples.extend(resident_bytes(&process));
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!(process.wait().unwrap().success());
    let result: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let due = result["requests_due"].as_u64().unwrap();
    assert_eq!(due, seconds as u64 * 10_000);
    let requests = result["requests"].as_u64().unwrap();
    assert!(requests as f64 > due as f64 * 0.5, "{requests} of {due} answered");

    // The report is made at the end of the run, and needs memory of its own.
    let length = samples.len() * 9 / 10;
    let (early, late) = (median(&samples[length / 4..length / 2]), median(&samples[length * 3 / 4..length]));
    let grown = late as i64 - early as i64;
    println!("{seconds} s: {requests} requests, {early} bytes early, {late} late: {grown} more");
    // A row of `series` is kept per second, some hundred bytes; half of the run lies between the two medians.
    let allowed = 512 * 1024 + seconds as i64 / 2 * 256;
    assert!(grown < allowed, "memory grew by {grown} bytes, allowed are {allowed}");
}
