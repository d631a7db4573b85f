//! A run from the command line to the report.

mod collector;
#[cfg(test)]
mod virtual_time;

use crate::cli::{Arguments, Pool};
use crate::clock::{MILLISECOND, now_ns, realtime_offset_ns};
use crate::exec::{Gate, Linux, Message, Worker, WorkerPlan};
use crate::net;
use crate::report::{CommonStart, TextReport, heading};
use crate::script::{LuaDistribution, MainScript, ScriptError, ScriptOptions, Summary, ThreadScript};
use crate::stats::{Errors, ExpectedStatuses, Interval};
use crate::target;
use crate::tls::Tls;
use collector::Collector;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, SystemTime};
use thiserror::Error;

/// Time between the decision to start and the first request, in which all threads wake up.
const START_DELAY_NS: u64 = 10 * MILLISECOND;

/// The exit code of `--strict` if the schedule was not kept.
const EXIT_SCHEDULE_NOT_KEPT: u8 = 3;

/// Number of empty intervals that each loop starts with: one is merged while the other is filled.
const SPARE_BOXES: usize = 2;

/// Number of open files besides the connections.
const OTHER_FILES: u64 = 64;

/// Why a run did not take place.
#[derive(Debug, Error)]
pub enum RunError {
    /// Options contradict each other, or ask for something that this machine cannot provide.
    #[error("{0}")]
    Usage(String),
    /// The script failed.
    #[error("{0}")]
    Script(#[from] ScriptError),
    /// A thread could not continue.
    #[error("{0}")]
    Thread(String),
    /// No connection could be made.
    #[error("unable to connect to {host}:{port}: {reason}; {hint}")]
    NothingConnected {
        /// The host of the URL.
        host: String,
        /// The port of the URL.
        port: u16,
        /// The system's error message.
        reason: String,
        /// Advice for the user.
        hint: &'static str,
    },
    /// A file or a socket that the generator itself uses failed.
    #[error("{what}: {error}")]
    System {
        /// The operation that failed.
        what: String,
        /// The system's error.
        error: io::Error,
    },
}

impl RunError {
    /// The exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NothingConnected { .. } => 2,
            _ => 1,
        }
    }

    fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| Self::System { what, error }
    }

    fn file(file: &Path) -> impl FnOnce(io::Error) -> Self {
        Self::system(format!("cannot write {}", file.display()))
    }
}

/// Handles SIGINT (Ctrl-C) and SIGTERM: the first signal ends the run with its report, the second ends the process.
#[derive(Debug, Clone, Default)]
pub struct Interrupts {
    /// Set by either signal.
    pub stop: Arc<AtomicBool>,
    terminated: Arc<AtomicBool>,
}

impl Interrupts {
    /// Installs the signal handlers.
    pub fn install() -> io::Result<Self> {
        use signal_hook::consts::{SIGINT, SIGTERM};
        use signal_hook::flag;
        let interrupts = Self::default();
        for (signal, code) in [(SIGINT, 130), (SIGTERM, 143)] {
            // This order matters: the first signal finds the flag unset and does not end the process.
            flag::register_conditional_shutdown(signal, code, interrupts.stop.clone())?;
            flag::register(signal, interrupts.stop.clone())?;
        }
        flag::register(SIGTERM, interrupts.terminated.clone())?;
        Ok(interrupts)
    }

    /// The exit code of a finished run: 0, or 130 or 143 if SIGINT or SIGTERM ended it early.
    fn exit_code(&self) -> u8 {
        match (self.stop.load(Ordering::Relaxed), self.terminated.load(Ordering::Relaxed)) {
            (false, _) => 0,
            (true, false) => 130,
            (true, true) => 143,
        }
    }
}

/// Runs the load that `arguments` describe and prints the report to `out`. Returns the exit code.
pub fn run(arguments: &Arguments, interrupts: &Interrupts, out: &mut impl Write) -> Result<u8, RunError> {
    arguments.validate().map_err(RunError::Usage)?;
    let part = arguments.part;
    let connections = arguments.connections_per_thread() * arguments.threads / part.of;
    let files = net::raise_open_files_limit().map_err(RunError::system("cannot raise the limit of open files"))?;
    if connections + OTHER_FILES > files {
        return Err(RunError::Usage(format!(
            "--connections {connections} needs more open files than the limit of {files}: raise it with `ulimit -n {}`, or lower -c",
            connections + OTHER_FILES
        )));
    }

    let tls = arguments.url.is_https().then(|| Tls::new(&arguments.url.host)).transpose().map_err(RunError::Usage)?;
    if let Err(error) = arguments.url.addresses() {
        return Err(nothing_connected(arguments, Some(error.to_string())));
    }
    let script = MainScript::load(ScriptOptions {
        file: arguments.script.clone(),
        target: arguments.url.clone(),
        headers: arguments.headers.clone(),
        arguments: arguments.script_arguments.clone(),
    })?;
    if script.addresses().is_empty() {
        return Err(nothing_connected(arguments, None));
    }
    let (mut threads, mut remote) = (Vec::new(), Vec::new());
    for thread in 0..arguments.threads {
        match part.owns(thread) {
            true => threads.push(script.start_thread()?),
            false => remote.push(script.skip_thread()?),
        }
    }

    if arguments.pool == Pool::Open && threads.iter().any(ThreadScript::delays) {
        return Err(RunError::Usage(
            "the script's delay() delays single connections: it needs --pool fixed".to_owned(),
        ));
    }

    let print = RunError::system("cannot print the report");
    let url = &arguments.url.url;
    let head = heading(
        arguments.schedule().duration_ns() as f64 / 1e9,
        url,
        arguments.threads / part.of,
        arguments.connections / part.of,
    );
    out.write_all(head.as_bytes()).and_then(|()| out.flush()).map_err(print)?;

    let results = measure(arguments, interrupts, &threads, script.text(), tls);
    // The text of scripts comes first. The report then begins on a new line.
    threads.iter().for_each(ThreadScript::end_line);
    let results = results?;

    // Each output is written even if another failed; the first failure is the run's.
    let written = arguments.json.as_ref().map_or(Ok(()), |file| results.write_json(file).map_err(RunError::file(file)));
    let print = RunError::system("cannot print the report");
    let report = TextReport::of(&results, arguments.latency, arguments.u_latency);
    let printed = write!(out, "{report}").and_then(|()| out.flush()).map_err(print);
    for error in results.sum.read_errors.iter() {
        // Standard error may be closed.
        let _ = writeln!(
            io::stderr(),
            "loadgen: {} read errors: {}, the first time: {}",
            error.count,
            error.reason,
            error.first
        );
    }
    if let Some(failure) = &results.failure {
        return Err(RunError::Thread(failure.clone()));
    }
    written.and(printed)?;
    let summary = Summary {
        duration_us: results.elapsed_ns / 1000,
        requests: results.sum.requests,
        bytes: results.sum.bytes_read,
        errors: Errors { status: results.sum.non_2xx_or_3xx(), ..results.sum.errors },
    };
    let latency = LuaDistribution::new(results.sum.latencies.latency.clone(), 0.001);
    let request_rate = LuaDistribution::new(results.request_rate_samples(), 1.0);
    script.done(&summary, latency, request_rate)?;
    Ok(match interrupts.exit_code() {
        0 if arguments.strict && !results.verdict.kept => EXIT_SCHEDULE_NOT_KEPT,
        code => code,
    })
}

fn nothing_connected(arguments: &Arguments, reason: Option<String>) -> RunError {
    let target = &arguments.url;
    let tried = || {
        let addresses = target.addresses().map_err(|error| error.to_string())?;
        let limit = Duration::from_nanos(arguments.timeout_ns);
        let failed = addresses.into_iter().find_map(|address| target::accepts(address, limit).err());
        failed.map_or(Ok(()), |error| Err(error.to_string()))
    };
    let reason = reason.or_else(|| tried().err()).unwrap_or_else(|| "no connection was accepted".to_owned());
    let hint = match target.is_https() {
        true => "is a server running there that speaks TLS?",
        false => "is the server running there?",
    };
    RunError::NothingConnected { host: target.host.clone(), port: target.port_or_default(), reason, hint }
}

/// Starts the threads, lets them send and collects their results.
fn measure(
    arguments: &Arguments,
    interrupts: &Interrupts,
    scripts: &[ThreadScript],
    script_text: Option<String>,
    tls: Option<Tls>,
) -> Result<crate::report::Results, RunError> {
    let cpus = match &arguments.cpus {
        Some(cpus) => {
            let mut cpus = cpus.0.clone();
            cpus.sort_unstable();
            cpus.dedup();
            cpus
        }
        None => net::cpus_of_this_process().map_err(RunError::system("cannot determine the CPUs of this process"))?,
    };
    let loops = cpus.len().clamp(1, scripts.len());
    let cpus = if arguments.cpus.is_some() { cpus } else { Vec::new() };
    let plan = Arc::new(worker_plan(arguments, loops, cpus, tls, interrupts.stop.clone()));
    let gate = Gate::default();
    let (sender, messages) = mpsc::channel();
    thread::scope(|scope| {
        let mut spares = Vec::new();
        for number in 0..plan.loops {
            let (spare, empty_boxes) = mpsc::sync_channel(SPARE_BOXES);
            for _ in 0..SPARE_BOXES {
                // Cleared, so that its memory is present before the thread needs it.
                let mut empty = Box::<Interval>::default();
                empty.clear();
                spare.send(empty).expect("the receiver is alive");
            }
            spares.push(spare);
            let system = match Linux::new() {
                Ok(system) => system,
                Err(error) => {
                    gate.decide(None);
                    return Err(RunError::system("cannot create an event loop")(error));
                }
            };
            let worker = Worker::new(system, plan.clone(), number, scripts, sender.clone(), empty_boxes);
            let gate = &gate;
            let name = format!("loadgen-{number}");
            let started = thread::Builder::new().name(name).spawn_scoped(scope, move || worker.run(gate));
            if let Err(error) = started {
                gate.decide(None);
                return Err(RunError::system("cannot start a thread")(error));
            }
        }
        drop(sender);
        net::lower_priority_of_this_thread().map_err(RunError::system("cannot lower the collector's priority"))?;
        let connected = wait_until_ready(arguments, plan.loops, &messages);
        let connected = connected.inspect_err(|_| gate.decide(None))?;
        let start = Start::choose(arguments.start_at);
        let start_ns = start.start_ns;
        let terminal = io::stderr().is_terminal();
        let collector = Collector::new(arguments, &plan, spares, connected, start, script_text, terminal);
        let mut collector = collector.inspect_err(|_| gate.decide(None))?;
        gate.decide(Some(start_ns));
        collector.collect(&messages).inspect_err(|_| plan.stop.store(true, Ordering::Relaxed))?;
        Ok(collector.finish())
    })
}

/// The settings of the event loops.
fn worker_plan(
    arguments: &Arguments,
    loops: usize,
    cpus: Vec<usize>,
    tls: Option<Tls>,
    stop: Arc<AtomicBool>,
) -> WorkerPlan {
    WorkerPlan {
        schedule: arguments.schedule(),
        part: arguments.part,
        threads: arguments.threads / arguments.part.of,
        connections_per_thread: arguments.connections_per_thread(),
        loops,
        pool: arguments.pool,
        catch_up_max: arguments.catch_up_max,
        tls,
        timeout_ns: arguments.timeout_ns,
        batch_latency: arguments.batch_latency,
        expected: ExpectedStatuses::with(&arguments.expect),
        idle: arguments.idle,
        high_priority: arguments.high_priority,
        cpus,
        stop,
    }
}

/// The time at which the run starts.
#[derive(Debug, Clone, Copy)]
struct Start {
    /// The start on the clock of `now_ns`.
    start_ns: u64,
    /// The same moment on the wall clock.
    started: SystemTime,
    /// The start requested with `--start-at`, if any.
    common: Option<CommonStart>,
}

impl Start {
    /// Chooses `wanted`, or as early a start as possible if there is none or it has passed.
    fn choose(wanted: Option<jiff::Timestamp>) -> Self {
        let realtime_ns = realtime_offset_ns();
        let earliest_ns = now_ns() + START_DELAY_NS;
        // Before 1970, or before this machine was started, is before now.
        let wanted_ns = |at: jiff::Timestamp| {
            u64::try_from(at.as_nanosecond()).map_or(0, |at_ns| at_ns.saturating_sub(realtime_ns))
        };
        let start_ns = wanted.map_or(earliest_ns, |at| wanted_ns(at).max(earliest_ns));
        Self {
            start_ns,
            started: SystemTime::UNIX_EPOCH + Duration::from_nanos(start_ns + realtime_ns),
            common: wanted.map(|at| CommonStart { at, missed_by_ns: start_ns - wanted_ns(at) }),
        }
    }
}

/// Waits until all event loops are ready. Returns the number of open connections.
fn wait_until_ready(arguments: &Arguments, loops: usize, messages: &mpsc::Receiver<Message>) -> Result<u64, RunError> {
    let (mut connected, mut reason) = (0, None);
    for _ in 0..loops {
        match messages.recv() {
            Ok(Message::Ready { connected: of_thread, error }) => {
                connected += of_thread;
                reason = reason.or(error);
            }
            Ok(Message::Failed(error)) => return Err(RunError::Thread(error.to_string())),
            Ok(_) | Err(_) => return Err(RunError::Thread("a thread ended before the run".to_owned())),
        }
    }
    if connected == 0 { Err(nothing_connected(arguments, reason)) } else { Ok(connected) }
}
