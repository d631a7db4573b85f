//! Several generators of one load: the requests that a server sees, and the merged report.

use crate::support::command;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A server that answers 200 and notes every request line; it runs as long as the test.
fn server() -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, lines) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
    let noted = lines.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, noted) = (stream.unwrap(), noted.clone());
            // An error means that the generator has gone away.
            thread::spawn(move || answer(&stream, &noted).ok());
        }
    });
    (address, lines)
}

fn answer(mut stream: &TcpStream, noted: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let (mut pending, mut buffer) = (String::new(), [0; 4096]);
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            length => pending += std::str::from_utf8(&buffer[..length]).unwrap(),
        }
        while let Some(end) = pending.find("\r\n\r\n") {
            let request: String = pending.drain(..end + 4).collect();
            noted.lock().unwrap().push(request.lines().next().unwrap().to_owned());
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")?;
        }
    }
}

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/get.lua");
/// A hundred requests from each of six threads; a slow machine takes longer and loses none.
const LOAD: &str = "-t6 -c12 -R1200 -d60s --requests 600 -L";

fn run(url: &str, words: &[&str]) -> std::process::Child {
    let words = LOAD.split_whitespace().chain(words.iter().copied()).chain(["-s", SCRIPT, url, "--", "pairs=100000"]);
    command().args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn json(file: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn three_generators_request_the_same_keys_as_one_and_are_reported_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (address, seen) = server();
    let url = format!("http://{address}");
    text(&run(&url, &["--json", &path("one.json")]).wait_with_output().unwrap());
    let mut of_one = std::mem::take(&mut *seen.lock().unwrap());

    let records: Vec<String> = (1..=3).map(|part| path(&format!("{part}.record"))).collect();
    let start_at = (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(2)).to_string();
    let part = |(index, record): (usize, &String)| {
        run(&url, &["--part", &format!("{}/3", index + 1), "--start-at", &start_at, "--record", record])
    };
    let running: Vec<_> = records.iter().enumerate().map(part).collect();
    for generator in running {
        let report = text(&generator.wait_with_output().unwrap());
        assert!(report.contains("2 threads and 4 connections"), "{report}");
        assert!(report.contains("  200 requests in "), "{report}");
    }
    let mut of_three = std::mem::take(&mut *seen.lock().unwrap());
    of_one.sort_unstable();
    of_three.sort_unstable();
    assert_eq!(of_one.len(), 600);
    assert_eq!(of_three, of_one);

    let words = ["merge", "--json", &path("all.json"), "--hdr-log", &path("all.hlog")];
    let merged = text(&command().args(words).args(&records).output().unwrap());
    assert!(merged.contains("6 threads and 12 connections"), "{merged}");
    let (one, all) = (json(&folder.path().join("one.json")), json(&folder.path().join("all.json")));
    for key in
        ["threads", "connections", "rate_per_s", "requests_due", "requests", "served", "status", "errors", "unfinished"]
    {
        assert_eq!(all[key], one[key], "{key}");
    }
    assert_eq!(all["generators"].as_array().unwrap().len(), 3);
    let from_log = text(&command().args(["merge", &path("all.hlog")]).output().unwrap());
    assert!(from_log.contains("600 requests of 1 run"), "{from_log}");
}

#[test]
fn parts_of_one_load_have_the_same_script_wherever_it_lies() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("http://{}", server().0);
    let record = |part: u64, lua: &str| {
        let own = folder.path().join(format!("{part}"));
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("m.lua"), lua).unwrap();
        let mut command = command();
        command.current_dir(&own).args(["-t2", "-c2", "-R100", "-d30s", "--requests", "4", "--record", "record"]);
        // The script of the second generator has another path.
        let script = if part == 1 { Path::new("m.lua").to_owned() } else { own.join("m.lua") };
        text(&command.arg("--part").arg(format!("{part}/2")).arg("-s").arg(script).arg(&url).output().unwrap());
        own.join("record")
    };
    let merge = |files: [&Path; 2]| command().arg("merge").args(files).output().unwrap();
    let (first, same) = (record(1, "wrk.path = '/a'\n"), record(2, "wrk.path = '/a'\n"));
    text(&merge([&first, &same]));
    let other = record(2, "wrk.path = '/b'\n");
    let refused = merge([&first, &other]);
    assert_eq!(refused.status.code(), Some(1));
    let error = String::from_utf8(refused.stderr).unwrap();
    assert!(error.contains("line 1 of the script is \"wrk.path = '/a'\" and \"wrk.path = '/b'\""), "{error}");
}

#[test]
fn a_start_that_was_missed_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("json");
    let (address, _) = server();
    let words = ["-t1", "-c1", "-R10", "-d60s", "--requests", "3", "--start-at", "2026-01-01T00:00:00Z", "--strict"];
    let url = format!("http://{address}/");
    let output = command().args(words).args(["--json", file.to_str().unwrap(), &url]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "the schedule was not kept");
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(report.contains("NOT KEPT: the start was missed by "), "{report}");
    let json = json(&file);
    assert!(json["start"]["missed_by_us"].as_f64().unwrap() > 1e9);
    assert_eq!(json["start"]["at"], "2026-01-01T00:00:00.000Z");
}

#[test]
fn a_generator_that_waits_for_its_start_can_be_ended() {
    let (address, _) = server();
    let url = format!("http://{address}/");
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("record");
    let words = ["-t1", "-c1", "-R10", "-d1s", "--start-at", "2200-01-01T00:00:00Z"];
    let mut command = command();
    command.args(words).arg("--record").arg(&record).arg(&url).stdout(Stdio::null());
    let mut waiting = command.spawn().unwrap();
    // The record is made when all connections are open.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !record.exists() {
        assert!(Instant::now() < deadline, "still not connected");
        thread::sleep(Duration::from_millis(10));
    }
    // SAFETY: the process is a child that has not been waited for.
    assert_eq!(unsafe { libc::kill(waiting.id() as i32, libc::SIGINT) }, 0);
    assert_eq!(waiting.wait().unwrap().code(), Some(130));
}
