//! The generator against Debian's wrk: same no-op server, same CPU, turn by turn.
//!
//!     cargo bench --bench peer -- [--repetitions N] [--seconds S] [--out DIR]
//!
//! writes `loadgen.json` into DIR (`../results/bench`): a list of `{metric, unit, ours, peer, peer_name, ratio,
//! spread, runs}`. A ratio above 1 means that ours is better, whichever way is up: it is the median of the
//! ratios of neighbouring runs, `spread` their lowest and highest. The server runs on the first CPU of this
//! process, the generators on its last; with a single CPU they share it, and the figures say little.

#[allow(dead_code, missing_docs)]
#[path = "../examples/noop_server.rs"]
mod noop_server;

use loadgen::net::pin_this_thread;
use serde_json::{Value, json};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

/// A rate that no server here reaches, so that ours sends as fast as answers come, as wrk does.
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

fn bench() -> Result<(), String> {
    let (mut repetitions, mut seconds, mut out) =
        (5, 5, PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../results/bench"));
    let mut words = std::env::args().skip(1).filter(|word| word != "--bench");
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        let number =
            |text: String| text.parse::<u32>().ok().filter(|n| *n > 0).ok_or(format!("{text} is no number above 0"));
        match word.as_str() {
            "--repetitions" => repetitions = number(value()?)? as usize,
            "--seconds" => seconds = number(value()?)?,
            "--out" => out = value()?.into(),
            _ => return Err(format!("unknown word {word}; known are --repetitions N, --seconds S, --out DIR")),
        }
    }
    if Command::new("wrk").arg("-v").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        return Err("there is no wrk to compare with: apt-get install wrk".to_owned());
    }

    let cpus = cpus_of_this_process()?;
    let (server_cpu, cpu) = (cpus[0], cpus[cpus.len() - 1]);
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| error.to_string())?;
    let url = format!("http://{}/", listener.local_addr().map_err(|error| error.to_string())?);
    std::thread::spawn(move || {
        pin_this_thread(server_cpu).expect("the process may run there");
        noop_server::serve(&listener, 2).expect("the server serves");
    });
    let setting = Setting { url, cpu, seconds, repetitions };

    let mut rows = Vec::new();
    let get = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/get.lua");
    for (name, script) in [("fixed request", None), ("Lua request", Some(get))] {
        let ours = |setting: &Setting| setting.loadgen(&[BEYOND_REACH], script);
        let peer = |setting: &Setting| setting.wrk(script);
        let pairs = setting.alternate(ours, peer)?;
        rows.push(row(&format!("highest rate, {name}"), "requests/s", "wrk", &pairs, |f| f.requests_per_s, true));
        rows.push(row(&format!("CPU time, {name}"), "us/request", "wrk", &pairs, |f| f.cpu_us_per_request, false));
    }
    let hdr_log = std::env::temp_dir().join(format!("loadgen-bench-{}.hlog", std::process::id()));
    let log = hdr_log.display().to_string();
    let with = |setting: &Setting| setting.loadgen(&["-R20000", "--metrics", "127.0.0.1:0", "--hdr-log", &log], None);
    let without = |setting: &Setting| setting.loadgen(&["-R20000"], None);
    let pairs = setting.alternate(with, without)?;
    rows.push(row(
        "CPU time with live metrics and HDR log",
        "us/request",
        "without",
        &pairs,
        |f| f.cpu_us_per_request,
        false,
    ));
    std::fs::remove_file(&hdr_log).map_err(|error| error.to_string())?;

    std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let file = out.join("loadgen.json");
    let text = serde_json::to_string_pretty(&rows).expect("rows are JSON") + "\n";
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    eprintln!("{}", file.display());
    Ok(())
}

impl Setting {
    /// Runs ours and the peer in turns, the order turning round with each repetition.
    fn alternate(
        &self,
        ours: impl Fn(&Self) -> Result<Figures, String>,
        peer: impl Fn(&Self) -> Result<Figures, String>,
    ) -> Result<Vec<(Figures, Figures)>, String> {
        let mut pairs = Vec::new();
        for repetition in 0..self.repetitions {
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

fn row(
    metric: &str,
    unit: &str,
    peer_name: &str,
    pairs: &[(Figures, Figures)],
    figure: impl Fn(Figures) -> f64,
    more_is_better: bool,
) -> Value {
    let ratio = |(ours, peer): &(Figures, Figures)| {
        let ratio = figure(*ours) / figure(*peer);
        if more_is_better { ratio } else { 1.0 / ratio }
    };
    let sorted = |values: Vec<f64>| {
        let mut values = values;
        values.sort_by(f64::total_cmp);
        values
    };
    let median = |values: &[f64]| (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
    let ratios = sorted(pairs.iter().map(ratio).collect());
    let ours = median(&sorted(pairs.iter().map(|pair| figure(pair.0)).collect()));
    let peer = median(&sorted(pairs.iter().map(|pair| figure(pair.1)).collect()));
    let (least, most) = (ratios[0], ratios[ratios.len() - 1]);
    eprintln!(
        "{metric}: {ours:.2} {unit}, {peer_name} {peer:.2}, ratio {:.2} ({least:.2} to {most:.2})",
        median(&ratios)
    );
    json!({
        "metric": metric, "unit": unit, "ours": ours, "peer": peer, "peer_name": peer_name,
        "ratio": median(&ratios), "spread": [least, most], "runs": pairs.len(),
    })
}

/// CPU time of all children that have been waited for.
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
    if cpus.is_empty() { Err("cannot tell the CPUs of this process".to_owned()) } else { Ok(cpus) }
}
