//! A server whose behaviour is known exactly, and the generator run against it.
#![allow(dead_code, missing_docs)]

pub mod judge;
pub mod log_server;
pub mod stalls;
pub mod tls_server;
pub mod truth;

use loadgen::clock::now_ns;
use serde_json::Value;
use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// The server's response to each request.
#[derive(Debug, Clone)]
pub enum Manner {
    /// Responds after this time.
    Respond(Vec<u8>, Duration),
    /// Like `Respond`, byte by byte.
    ByteByByte(Vec<u8>),
    /// Responds at once, except within the stalls (start, length), counted from the first request: a request that
    /// arrives in a stall is answered at its end.
    Stalls(Vec<(Duration, Duration)>),
    /// Responds and closes; with a reset if `true`.
    RespondAndClose(Vec<u8>, bool),
    /// Responds to the first requests of each connection with this, then reads on without responding.
    FallSilentAfter(u64),
    /// Accepts this many connections without ever responding on them; responds on all later ones.
    FirstConnectionsSilent(usize),
    /// Closes each connection as soon as it is accepted.
    CloseAtOnce,
    /// Never reads.
    NeverRead,
}

/// One request as the server saw it.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    /// The number of its connection, in the order of accepting.
    pub connection: usize,
    /// When it was read.
    pub arrived_ns: u64,
    /// When its response was written; 0 without one.
    pub answered_ns: u64,
}

/// The server; it stops when dropped.
pub struct TruthServer {
    pub address: SocketAddr,
    log: Arc<Mutex<Vec<Seen>>>,
    /// The text of each batch, in the order of their arrival.
    texts: Arc<Mutex<Vec<String>>>,
    stop: Arc<AtomicBool>,
    /// The open connections, to end them when the server ends.
    streams: Arc<Mutex<HashMap<usize, TcpStream>>>,
}

impl TruthServer {
    pub fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            log: Arc::default(),
            texts: Arc::default(),
            stop: Arc::default(),
            streams: Arc::default(),
        };
        let (log, stop, streams) = (server.log.clone(), server.stop.clone(), server.streams.clone());
        let texts = server.texts.clone();
        let first_ns = Arc::new(Mutex::new(None));
        thread::spawn(move || {
            let mut connections = 0;
            loop {
                let (stream, _) = listener.accept().unwrap();
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                stream.set_nodelay(true).unwrap();
                let connection = connections;
                connections += 1;
                streams.lock().unwrap().insert(connection, stream.try_clone().unwrap());
                let (log, manner, first_ns) = (log.clone(), manner.clone(), first_ns.clone());
                let (streams, texts) = (streams.clone(), texts.clone());
                thread::spawn(move || {
                    // An error means that the peer has gone away.
                    let _ = serve(connection, &stream, &manner, &log, &texts, &first_ns);
                    streams.lock().unwrap().remove(&connection);
                });
            }
        });
        server
    }

    pub fn url(&self) -> String {
        format!("http://{}/path", self.address)
    }

    /// The text of each request so far, or of each batch of pipelined requests.
    pub fn texts(&self) -> Vec<String> {
        self.texts.lock().unwrap().clone()
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.log.lock().unwrap().clone()
    }
}

impl Drop for TruthServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        for stream in self.streams.lock().unwrap().values() {
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// A server that answers every request with [`OK`] at once.
pub fn quick_server() -> TruthServer {
    TruthServer::start(Manner::Respond(OK.to_vec(), Duration::ZERO))
}

fn serve(
    connection: usize,
    mut stream: &TcpStream,
    manner: &Manner,
    log: &Mutex<Vec<Seen>>,
    texts: &Mutex<Vec<String>>,
    first_ns: &Mutex<Option<u64>>,
) -> std::io::Result<()> {
    match manner {
        Manner::CloseAtOnce => return Ok(()),
        Manner::NeverRead => loop {
            thread::sleep(Duration::from_secs(1));
            if stream.take_error()?.is_some() {
                return Ok(());
            }
        },
        _ => {}
    }
    let mut pending = Vec::new();
    let mut buffer = [0; 65536];
    let mut served = 0;
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok(());
        }
        let arrived_ns = now_ns();
        pending.extend_from_slice(&buffer[..length]);
        let Ok(batch) = loadgen::http::Batch::of(&pending) else { continue };
        texts.lock().unwrap().push(String::from_utf8_lossy(&pending).into_owned());
        pending.clear();
        for _ in 0..batch.count() {
            let first = *first_ns.lock().unwrap().get_or_insert(arrived_ns);
            let mut seen = Seen { connection, arrived_ns, answered_ns: 0 };
            let silent = match manner {
                Manner::FallSilentAfter(limit) => served >= *limit,
                Manner::FirstConnectionsSilent(count) => connection < *count,
                _ => false,
            };
            if !silent {
                answer(stream, manner, arrived_ns.saturating_sub(first))?;
                seen.answered_ns = now_ns();
            }
            log.lock().unwrap().push(seen);
            served += 1;
        }
        if let Manner::RespondAndClose(_, reset) = manner {
            if *reset {
                let linger = Some(Duration::ZERO);
                socket2::SockRef::from(stream).set_linger(linger)?;
            }
            return Ok(());
        }
    }
}

fn answer(mut stream: &TcpStream, manner: &Manner, since_first_ns: u64) -> std::io::Result<()> {
    match manner {
        Manner::Respond(text, delay) => {
            if !delay.is_zero() {
                thread::sleep(*delay);
            }
            stream.write_all(text)
        }
        Manner::ByteByByte(text) => text.iter().try_for_each(|byte| {
            thread::sleep(Duration::from_micros(50));
            stream.write_all(&[*byte])
        }),
        Manner::Stalls(stalls) => {
            let now = Duration::from_nanos(since_first_ns);
            let stalled = stalls.iter().find(|(start, length)| (*start..*start + *length).contains(&now));
            if let Some((start, length)) = stalled {
                thread::sleep(*start + *length - now);
            }
            stream.write_all(OK)
        }
        Manner::RespondAndClose(text, _) => stream.write_all(text),
        Manner::FallSilentAfter(_) | Manner::FirstConnectionsSilent(_) => stream.write_all(OK),
        Manner::CloseAtOnce | Manner::NeverRead => unreachable!("never answers"),
    }
}

/// A finished run of the generator.
pub struct Run {
    pub output: Output,
    pub json: Value,
    pub directory: tempfile::TempDir,
}

impl Run {
    pub fn stdout(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    /// A number of the JSON, `errors.read`.
    pub fn number(&self, path: &str) -> f64 {
        let value = path.split('.').fold(&self.json, |value, key| &value[key]);
        value.as_f64().unwrap_or_else(|| panic!("{path} is {value}"))
    }

    /// A percentile in microseconds; `latency_us` at `99.9`.
    pub fn percentile_us(&self, distribution: &str, percentile: &str) -> f64 {
        self.json[distribution]["percentiles"][percentile].as_f64().unwrap()
    }

    /// (requests, [connect, read, write, timeout, status])
    pub fn counts(&self) -> (u64, [u64; 5]) {
        let classes = ["connect", "read", "write", "timeout", "status"];
        (self.number("requests") as u64, classes.map(|class| self.number(&format!("errors.{class}")) as u64))
    }

    /// Every request that was due has exactly one outcome.
    pub fn assert_every_request_has_an_outcome(&self) {
        let lost = self.number("errors.read") + self.number("errors.write");
        let known = self.number("requests") + self.number("lost") + self.number("unfinished.count");
        assert_eq!(self.number("lost"), lost, "{:#}", self.json);
        assert_eq!(self.number("requests_due"), known, "{:#}", self.json);
    }
}

/// Whether all `files` of a Debian package are there. If not, the test that needs them is skipped and says so; in CI it
/// fails.
pub fn is_installed(package: &str, files: &[&str]) -> bool {
    let missing = files.iter().find(|file| !std::path::Path::new(file).exists());
    let Some(missing) = missing else { return true };
    let thread = thread::current();
    let text = format!("{}: NOT RUN, needs {missing}: apt-get install {package}", thread.name().unwrap_or("a test"));
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{text}");
    // Bypasses the test harness, which hides the output of passing tests.
    let _ = writeln!(std::io::stderr(), "{text}");
    false
}

/// Whether `program` is installed, which `flag` makes end at once. If it is not, says so, and fails where everything must
/// be tested (`CI=true`).
pub fn installed(program: &str, flag: &str) -> bool {
    let found = Command::new(program).arg(flag).output().is_ok();
    assert!(found || std::env::var("CI").as_deref() != Ok("true"), "{program} is missing");
    if !found {
        eprintln!("skipped a part: {program} is missing");
    }
    found
}

pub fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_loadgen"))
}

/// Runs `loadgen FLAGS URL -- ARGS` to its end.
pub fn load_with(flags: &str, url: &str, script_arguments: &str) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("load.json");
    let output = command()
        .args(flags.split_whitespace())
        .arg("--json")
        .arg(&file)
        .arg(url)
        .arg("--")
        .args(script_arguments.split_whitespace())
        .output()
        .unwrap();
    let json = std::fs::read(&file).map_or(Value::Null, |text| serde_json::from_slice(&text).unwrap());
    Run { output, json, directory }
}

/// Like [`load_with`], for a run that must succeed.
pub fn load(flags: &str, url: &str) -> Run {
    let run = load_with(flags, url, "");
    assert!(run.output.status.success(), "{:?}", run.output);
    run
}

/// Runs for two seconds against a server that is dropped after one. The run must end and pace its attempts to connect.
pub fn load_on_a_server_that_dies<S>(server: S, url: String) -> Run {
    let run = thread::spawn(move || load("-t1 -c4 -d2s -R100", &url));
    thread::sleep(Duration::from_secs(1));
    drop(server);
    let run = run.join().unwrap();
    run.assert_every_request_has_an_outcome();
    let (requests, [connect, ..]) = run.counts();
    assert!(requests > 0, "{requests}");
    assert!((4..200).contains(&connect), "attempts are paced: {connect}");
    run
}
