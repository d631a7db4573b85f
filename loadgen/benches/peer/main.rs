//! Measures the cost of the generator and the errors of its figures.
//!
//!     cargo bench --bench peer -- [--quick] [--parts peer,cost,precision,stalls] [--out DIR] [--update-docs PAGE]
//!
//! - peer: compares with Debian's wrk, in alternating runs against the same no-op server and on the same CPU
//! - cost: compares runs with live metrics (scraped once a second) and HDR log with runs without them
//! - precision, stalls: compares the report with the server's log, and with computed latencies
//!
//! Writes `loadgen.json` into DIR (`../results/bench`): a list of `{metric, unit, ours, peer, peer_name, ratio,
//! spread, runs, wanted, met}`. The ratio is the median of the ratios of neighbouring runs, and `spread` has their
//! lowest and highest. A ratio above 1 always means that ours is better. `--parts` replaces only the rows of these
//! parts. The server runs on the first CPU of this process, the generators on its last; with a single CPU the figures
//! mean little.

#[allow(dead_code, missing_docs)]
#[path = "../../examples/noop_server.rs"]
mod noop_server;
mod precision;
mod row;
#[path = "../../tests/support/mod.rs"]
mod support;

use loadgen::net::pin_this_thread;
use row::{Row, Wanted};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// A rate that no server here reaches, so that ours sends as fast as responses come, as wrk does.
const BEYOND_REACH: &str = "-R2M";

/// One run of a generator.
#[derive(Debug, Clone, Copy)]
struct Figures {
    requests_per_s: f64,
    cpu_us_per_request: f64,
}

struct Setting {
    url: String,
    cpu: usize,
    seconds: u32,
    repetitions: usize,
}

fn main() -> ExitCode {
    match bench() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::from(1)
        }
    }
}

/// The parsed command line.
struct Options {
    repetitions: usize,
    seconds: u32,
    scenarios: u64,
    parts: Vec<String>,
    out: PathBuf,
    docs: Option<PathBuf>,
}

impl Options {
    const PARTS: [&str; 4] = ["peer", "cost", "precision", "stalls"];

    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let home = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let mut options = Self {
            repetitions: 6,
            seconds: 5,
            scenarios: 20,
            parts: Self::PARTS.map(str::to_owned).to_vec(),
            out: home.join("../results/bench"),
            docs: None,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--quick" => (options.repetitions, options.seconds, options.scenarios) = (2, 2, 3),
                "--parts" => options.parts = value()?.split(',').map(str::to_owned).collect(),
                "--out" => options.out = value()?.into(),
                "--update-docs" => options.docs = Some(value()?.into()),
                _ => {
                    return Err(format!(
                        "unknown word {word}; known are --quick, --parts, --out DIR, --update-docs PAGE"
                    ));
                }
            }
        }
        match options.parts.iter().find(|part| !Self::PARTS.contains(&part.as_str())) {
            Some(part) => Err(format!("no part {part}; there are {}", Self::PARTS.join(", "))),
            None => Ok(options),
        }
    }

    fn has(&self, part: &str) -> bool {
        self.parts.iter().any(|wanted| wanted == part)
    }
}

fn bench() -> Result<(), String> {
    let options = Options::parse(std::env::args().skip(1).filter(|word| word != "--bench"))?;
    let environment = row::environment();
    let cpus = cpus_of_this_process()?;
    let (server_cpu, cpu) = (cpus[0], cpus[cpus.len() - 1]);
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let url = format!("http://{}/", listener.local_addr().map_err(|error| error.to_string())?);
    std::thread::spawn(move || {
        pin_this_thread(server_cpu).expect("the process may run there");
        noop_server::serve(&listener, 2).expect("the server serves");
    });
    let setting = Setting { url, cpu, seconds: options.seconds, repetitions: options.repetitions };

    let mut rows = Vec::new();
    if options.has("peer") {
        rows.extend(setting.against_wrk()?);
    }
    if options.has("cost") {
        rows.push(setting.cost_of_outputs()?);
    }
    if options.has("precision") {
        rows.extend(precision::rows(server_cpu, cpu, options.seconds, options.repetitions.div_ceil(2)));
    }
    if options.has("stalls") {
        rows.extend(precision::stalls(options.scenarios)?);
    }

    let rows: Vec<Value> = rows.iter().map(Row::to_json).collect();
    std::fs::create_dir_all(&options.out).map_err(|error| format!("{}: {error}", options.out.display()))?;
    let file = options.out.join("loadgen.json");
    let rows = if options.parts.len() == Options::PARTS.len() { rows } else { row::merged(&file, &rows) };
    let text = serde_json::to_string_pretty(&rows).expect("rows are JSON") + "\n";
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    let table = row::table(&rows);
    let facts: Vec<String> =
        environment.iter().map(|(key, value)| format!("{key} {}", value.to_string().trim_matches('"'))).collect();
    println!("{table}\n{}", file.display());
    match &options.docs {
        Some(page) => row::update_docs(page, &format!("{table}\n{}.", facts.join("; "))),
        None => Ok(()),
    }
}

impl Setting {
    fn against_wrk(&self) -> Result<Vec<Row>, String> {
        if Command::new("wrk").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
            return Err("there is no wrk to compare with: apt-get install wrk".to_owned());
        }
        let get = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/get.lua");
        let mut rows = Vec::new();
        for (name, script) in [("fixed request", None), ("Lua request", Some(get))] {
            let ours = |setting: &Self| setting.loadgen(&[BEYOND_REACH], script);
            let pairs = self.alternate(self.repetitions, ours, |setting| setting.wrk(script))?;
            let row = |metric: &str, unit, more_is_better, least, figure: fn(&Figures) -> f64| Row {
                metric: format!("{metric}, {name}"),
                unit,
                peer_name: "wrk",
                more_is_better,
                pairs: pairs.iter().map(|(ours, peer)| (figure(ours), figure(peer))).collect(),
                wanted: Wanted::Ratio(least),
            };
            rows.push(row("highest rate", "requests/s", true, 1.0, |figures| figures.requests_per_s));
            // 0.9 times wrk's CPU time is a ratio of 1.11.
            let least = if script.is_none() { 1.11 } else { 1.0 };
            rows.push(row("CPU time", "us/request", false, least, |figures| figures.cpu_us_per_request));
        }
        Ok(rows)
    }

    fn cost_of_outputs(&self) -> Result<Row, String> {
        let hdr_log = std::env::temp_dir().join(format!("loadgen-bench-{}.hlog", std::process::id()));
        let log = hdr_log.display().to_string();
        // A free port, which other programs are unlikely to take at once.
        let metrics = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let metrics = metrics.map_err(|error| error.to_string())?;
        let flags = ["-R20000", "--metrics", &metrics.to_string(), "--hdr-log", &log];
        let with = |setting: &Self| match scraped(metrics, || setting.loadgen(&flags, None)) {
            (_, 0) => Err(format!("no metrics could be read from {metrics}")),
            (figures, _) => figures,
        };
        // These runs serve no metrics, but are asked for them too, so that the requests disturb both sides equally.
        let without = |setting: &Self| scraped(metrics, || setting.loadgen(&flags[..1], None)).0;
        let pairs = self.alternate(2 * self.repetitions, with, without)?;
        std::fs::remove_file(&hdr_log).map_err(|error| error.to_string())?;
        Ok(Row {
            metric: "CPU time with live metrics and HDR log".to_owned(),
            unit: "us/request",
            peer_name: "without",
            more_is_better: false,
            pairs: pairs.iter().map(|(ours, peer)| (ours.cpu_us_per_request, peer.cpu_us_per_request)).collect(),
            wanted: Wanted::Ratio(0.98),
        })
    }

    /// Runs ours and the peer in turns, and reverses the order with each repetition.
    fn alternate(
        &self,
        repetitions: usize,
        ours: impl Fn(&Self) -> Result<Figures, String>,
        peer: impl Fn(&Self) -> Result<Figures, String>,
    ) -> Result<Vec<(Figures, Figures)>, String> {
        let mut pairs = Vec::new();
        for repetition in 0..repetitions {
            let pair = if repetition % 2 == 0 {
                let ours = ours(self)?;
                (ours, peer(self)?)
            } else {
                let peer = peer(self)?;
                (ours(self)?, peer)
            };
            eprintln!("{pair:?}");
            pairs.push(pair);
        }
        Ok(pairs)
    }

    fn loadgen(&self, flags: &[&str], script: Option<&str>) -> Result<Figures, String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_loadgen"));
        command.args(flags);
        self.measure(command, script)
    }

    fn wrk(&self, script: Option<&str>) -> Result<Figures, String> {
        self.measure(Command::new("wrk"), script)
    }

    fn measure(&self, mut command: Command, script: Option<&str>) -> Result<Figures, String> {
        command.args(["-t1", "-c64", &format!("-d{}s", self.seconds)]);
        if let Some(script) = script {
            command.args(["-s", script]);
        }
        command.args([self.url.as_str(), "--", "pairs=2000000"]);
        let cpu = self.cpu;
        // SAFETY: between fork and exec only a system call is made, and nothing is allocated.
        unsafe { command.pre_exec(move || pin_this_thread(cpu)) };
        let before = cpu_of_children_s();
        let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
        let cpu_s = cpu_of_children_s() - before;
        let text = String::from_utf8_lossy(&output.stdout);
        let requests = text.lines().find_map(|line| line.trim().split_once(" requests in ")?.0.parse::<f64>().ok());
        let rate = text.lines().find_map(|line| line.strip_prefix("Requests/sec:")?.trim().parse::<f64>().ok());
        match (requests, rate) {
            (Some(requests), Some(requests_per_s)) if requests > 0.0 => {
                Ok(Figures { requests_per_s, cpu_us_per_request: cpu_s * 1e6 / requests })
            }
            _ => Err(format!("{command:?} failed: {text}{}", String::from_utf8_lossy(&output.stderr))),
        }
    }
}

/// Runs a generator and asks for its metrics once a second, as Prometheus would. Also returns the number of requests
/// that were answered.
fn scraped<R>(metrics: SocketAddr, run: impl FnOnce() -> R) -> (R, usize) {
    let (ended, scrapes) = (AtomicBool::new(false), AtomicUsize::new(0));
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let (mut text, request) = (String::new(), b"GET /metrics HTTP/1.1\r\nHost: bench\r\n\r\n");
                // Before and after the run no generator answers.
                let asked = TcpStream::connect(metrics).and_then(|mut stream| {
                    stream.write_all(request)?;
                    stream.read_to_string(&mut text)
                });
                let answered = asked.is_ok() && text.contains("loadgen_requests_total");
                scrapes.fetch_add(usize::from(answered), Ordering::Relaxed);
                std::thread::park_timeout(Duration::from_secs(1));
            }
        });
        let result = run();
        ended.store(true, Ordering::Relaxed);
        result
    });
    (result, scrapes.into_inner())
}

/// CPU time of all children that have ended.
fn cpu_of_children_s() -> f64 {
    // SAFETY: an all-zero rusage is valid, and the call fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// The CPUs that this process may use, ascending.
fn cpus_of_this_process() -> Result<Vec<usize>, String> {
    // SAFETY: an all-zero set is valid, the call fills it in, and CPU_ISSET stays within it.
    let cpus: Vec<usize> = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set);
        (0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &set)).collect()
    };
    if cpus.is_empty() { Err("cannot determine the CPUs of this process".to_owned()) } else { Ok(cpus) }
}
