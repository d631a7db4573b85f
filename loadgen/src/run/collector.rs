//! Merges what the threads deliver and gives it away second by second.

use super::RunError;
use crate::cli::Arguments;
use crate::clock::{SECOND, process_cpu_ns};
use crate::exec::{Message, RequestRate, STOPS_MAX, ThreadResult, WorkerPlan, WorkerResult};
use crate::report::{
    GeneratorStop, HdrLog, Live, LoopCpu, Moved, Results, RunDescription, Unfinished, Verdict, VerdictInput,
    serve_metrics,
};
use crate::schedule::DueCounter;
use crate::stats::{Interval, Second, SecondRow, Totals};
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// The collector of one run, on the main thread.
pub(super) struct Collector<'a> {
    arguments: &'a Arguments,
    plan: &'a Arc<WorkerPlan>,
    /// Where empty boxes go back to, one a thread.
    spares: Vec<SyncSender<Box<Interval>>>,
    connected: u64,
    /// When what falls due began to count.
    measured_ns: u64,
    started: SystemTime,
    cpu_at_start_ns: u64,
    due: DueCounter,
    /// Requests due and sent up to the last complete second.
    due_so_far: u64,
    sent_so_far: u64,
    totals: Totals,
    series: Vec<SecondRow>,
    hdr_log: Option<HdrLog>,
    live: Arc<Mutex<Live>>,
    /// Whether standard error is a terminal, which gets a line a second.
    terminal: bool,
    results: Vec<Option<WorkerResult>>,
    /// The first thing that went wrong and did not keep the others from going on.
    failure: Option<RunError>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        arguments: &'a Arguments,
        plan: &'a Arc<WorkerPlan>,
        spares: Vec<SyncSender<Box<Interval>>>,
        connected: u64,
        start_ns: u64,
        started: SystemTime,
    ) -> Result<Self, RunError> {
        let started = started + Duration::from_nanos(plan.schedule.warmup_ns());
        let mut due = DueCounter::new(&plan.schedule, arguments.parties());
        due.advance(&plan.schedule, plan.schedule.warmup_ns());
        let hdr_log = match &arguments.hdr_log {
            Some(file) => Some(HdrLog::create(file, started).map_err(RunError::file(file))?),
            None => None,
        };
        let live = Arc::new(Mutex::new(Live::new(plan.schedule.rate_per_s())));
        if let Some(address) = arguments.metrics {
            let what = format!("--metrics: cannot listen at {address}");
            serve_metrics(address, live.clone()).map_err(RunError::system(what))?;
        }
        Ok(Self {
            arguments,
            plan,
            connected,
            measured_ns: start_ns + plan.schedule.warmup_ns(),
            started,
            cpu_at_start_ns: process_cpu_ns(),
            due,
            due_so_far: 0,
            sent_so_far: 0,
            totals: Totals::new(spares.len()),
            series: Vec::new(),
            hdr_log,
            live,
            terminal: io::stderr().is_terminal(),
            results: spares.iter().map(|_| None).collect(),
            failure: None,
            spares,
        })
    }

    /// Takes messages until every thread has ended.
    pub(super) fn collect(&mut self, messages: &Receiver<Message>) -> Result<(), RunError> {
        while self.results.iter().any(Option::is_none) {
            match messages.recv() {
                Ok(Message::Measuring) => self.cpu_at_start_ns = process_cpu_ns(),
                Ok(Message::Interval { worker, index, mut interval }) => {
                    self.totals.deliver(worker, index, &interval);
                    interval.clear();
                    // A loop that has ended needs no box any more. One that stood still (a suspended machine) made
                    // a box for each second that it missed: those are let go.
                    let _ = self.spares[worker].try_send(interval);
                }
                Ok(Message::Done { worker, mut result }) => {
                    self.totals.thread_ended(worker);
                    if let Some(error) = result.failure.take() {
                        // The others end too, with a report of what was done.
                        self.plan.stop.store(true, Ordering::Relaxed);
                        self.failure.get_or_insert(RunError::Thread(error.to_string()));
                    }
                    self.results[worker] = Some(*result);
                }
                Ok(Message::Failed(error)) => return Err(RunError::Thread(error.to_string())),
                Ok(Message::Ready { .. }) | Err(_) => {
                    return Err(RunError::Thread("a thread ended unexpectedly".to_owned()));
                }
            }
            while let Some(second) = self.totals.take_complete() {
                self.give_away(&second);
                self.totals.recycle(second);
            }
        }
        Ok(())
    }

    fn elapsed_ns(&self) -> u64 {
        let ends = self.results.iter().flatten().map(|result| result.end_ns.saturating_sub(self.measured_ns));
        ends.max().unwrap_or(self.plan.schedule.duration_ns())
    }

    fn give_away(&mut self, second: &Second) {
        let from_ns = second.index * SECOND;
        let all_done = self.results.iter().all(Option::is_some);
        let end_ns = if all_done { self.elapsed_ns() } else { self.plan.schedule.duration_ns() };
        let to_ns = (from_ns + SECOND).min(end_ns.max(from_ns));
        let due = self.due.advance(&self.plan.schedule, self.plan.schedule.warmup_ns() + to_ns);
        self.due_so_far += due;
        self.sent_so_far += second.sum.sent;
        // A pipelined batch takes requests before they are due.
        let backlog = self.due_so_far.saturating_sub(self.sent_so_far);
        let row = second.row(due, backlog, to_ns - from_ns);
        let mut live = self.live.lock().expect("held for copies only");
        live.add_second(&row, &second.sum);
        let line =
            self.terminal.then(|| live.line(second.index, self.plan.schedule.duration_ns() as f64 / SECOND as f64));
        drop(live);
        self.series.push(row);
        if let Some(line) = line {
            show_on_terminal(&line);
        }
        if let Some(log) = &mut self.hdr_log {
            let file = self.arguments.hdr_log.as_ref().expect("there is a log because there is a file");
            let written = log.write(second.index, to_ns - from_ns, &second.sum.latencies.latency);
            if let Err(error) = written.map_err(RunError::file(file)) {
                // A full disk, say: the run goes on without its log, and fails at the end.
                self.failure.get_or_insert(error);
                self.hdr_log = None;
            }
        }
    }

    /// Puts the results together once all threads have ended.
    pub(super) fn finish(self) -> Results {
        if self.terminal {
            show_on_terminal("");
        }
        let elapsed_ns = self.elapsed_ns();
        let cpu_ns = process_cpu_ns() - self.cpu_at_start_ns;
        let results: Vec<WorkerResult> = self.results.into_iter().flatten().collect();
        // An empty poll that was preempted may count for more than it took.
        let spin_ns = results.iter().map(|result| result.spin_ns).sum::<u64>().min(cpu_ns);
        let sum = self.totals.sum;
        let idle_share = |result: &WorkerResult| {
            result.idle_ns as f64 / result.end_ns.saturating_sub(self.measured_ns).max(1) as f64
        };
        let stops = longest_stops(&results, self.measured_ns);
        let loops = results.iter().map(|result| {
            let cpu_s = result.cpu_ns as f64 / SECOND as f64;
            LoopCpu { cpu_s, spin_s: (result.spin_ns as f64 / SECOND as f64).min(cpu_s) }
        });
        let loops = loops.collect();
        let verdict = Verdict::of(&VerdictInput {
            p50: Moved::of(&sum.latencies, 50.0),
            p99: Moved::of(&sum.latencies, 99.0),
            p99_9: Moved::of(&sum.latencies, 99.9),
            allowed_ns: self.arguments.send_lag_max_ns,
            stops: stops.clone(),
            elapsed_s: elapsed_ns as f64 / SECOND as f64,
            idle_shares: results.iter().map(idle_share).collect(),
            connected: self.connected,
            connections: self.plan.threads * self.plan.connections_per_thread,
        });
        let mut threads: Vec<ThreadResult> = results.into_iter().flat_map(|result| result.threads).collect();
        threads.sort_unstable_by_key(|thread| thread.thread);
        let started = jiff::Timestamp::try_from(self.started).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        Results {
            description: RunDescription {
                url: self.arguments.url.url.clone(),
                script: self.arguments.script.as_ref().map(|file| file.display().to_string()),
                threads: self.arguments.threads,
                connections: self.plan.threads * self.plan.connections_per_thread,
                event_loops: self.plan.loops as u64,
                pool: self.arguments.pool,
                warmup_s: self.plan.schedule.warmup_ns() as f64 / SECOND as f64,
                duration_s: self.plan.schedule.duration_ns() as f64 / SECOND as f64,
                rate_per_s: self.plan.schedule.rate_per_s(),
                started_at: format!("{started:.3}"),
            },
            requests_due: threads.iter().map(|thread| thread.due).sum(),
            unfinished: Unfinished {
                count: threads.iter().map(|thread| thread.unfinished).sum(),
                oldest_ns: threads.iter().map(|thread| thread.oldest_unfinished_ns).max().unwrap_or(0),
            },
            elapsed_ns,
            cpu_ns,
            spin_ns,
            loops,
            stops,
            failure: self.failure.map(|failure| failure.to_string()),
            request_rates: threads.into_iter().map(|thread| thread.request_rate).collect::<Vec<RequestRate>>(),
            series: self.series,
            verdict,
            sum,
        }
    }
}

/// The longest stops of all loops, in the order of time since `measured_ns`.
fn longest_stops(results: &[WorkerResult], measured_ns: u64) -> Vec<GeneratorStop> {
    let of_loop = |(event_loop, result): (usize, &WorkerResult)| {
        let stop = move |stop: &crate::exec::Stop| GeneratorStop {
            at_s: stop.start_ns.saturating_sub(measured_ns) as f64 / SECOND as f64,
            length_us: stop.length_ns as f64 / 1000.0,
            event_loop,
        };
        result.stops.iter().map(stop).collect::<Vec<_>>()
    };
    let mut stops: Vec<GeneratorStop> = results.iter().enumerate().flat_map(of_loop).collect();
    stops.sort_by(|a, b| b.length_us.total_cmp(&a.length_us));
    stops.truncate(STOPS_MAX);
    stops.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    stops
}

/// Replaces the terminal's last line.
fn show_on_terminal(line: &str) {
    // Progress is a courtesy: a terminal that has gone away must not end the run.
    let _ = write!(io::stderr(), "\r\x1b[K{line}").and_then(|()| io::stderr().flush());
}
