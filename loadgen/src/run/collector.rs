//! Merges the intervals of the threads and publishes them second by second.

use super::{RunError, Start};
use crate::cli::Arguments;
use crate::clock::{SECOND, process_cpu_ns};
use crate::exec::{Message, ThreadResult, WorkerPlan, WorkerResult};
use crate::report::{
    CommonStart, Ending, HdrLog, Live, LoadShape, LoopEnding, Record, Results, RunDescription, ThreadEnding,
    serve_metrics,
};
use crate::schedule::DueCounter;
use crate::stats::{Interval, Second, SecondRow, Totals};
use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// Collects the results of one run, on the main thread.
pub(super) struct Collector<'a> {
    arguments: &'a Arguments,
    plan: &'a Arc<WorkerPlan>,
    /// Channels that return empty intervals, one per loop.
    spares: Vec<SyncSender<Box<Interval>>>,
    connected: u64,
    /// Start of the measurement: requests due from this time on are counted.
    measured_ns: u64,
    started: SystemTime,
    cpu_at_start_ns: u64,
    due: DueCounter,
    /// When the threads that have ended did so, from the end of the warm-up.
    ends_ns: Vec<u64>,
    /// Number of requests due and sent up to the last complete second.
    due_so_far: u64,
    sent_so_far: u64,
    totals: Totals,
    series: Vec<SecondRow>,
    hdr_log: Option<HdrLog>,
    record: Option<Record>,
    /// Present with `--start-at`.
    common_start: Option<CommonStart>,
    live: Arc<Mutex<Live>>,
    /// Whether standard error is a terminal. If it is, it gets one line a second.
    terminal: bool,
    results: Vec<Option<WorkerResult>>,
    /// The first failure, which may have ended the run early.
    failure: Option<RunError>,
    ended_by: Option<String>,
    script_text: Option<String>,
}

impl<'a> Collector<'a> {
    pub(super) fn new(
        arguments: &'a Arguments,
        plan: &'a Arc<WorkerPlan>,
        spares: Vec<SyncSender<Box<Interval>>>,
        connected: u64,
        start: Start,
        script_text: Option<String>,
        terminal: bool,
    ) -> Result<Self, RunError> {
        let started = start.started + Duration::from_nanos(plan.schedule.warmup_ns());
        let mut due = DueCounter::new(&plan.schedule, arguments.parties(), arguments.threads, plan.part);
        due.skip(&plan.schedule, plan.schedule.warmup_ns());
        let hdr_log = match &arguments.hdr_log {
            Some(file) => Some(HdrLog::create(file, started).map_err(RunError::file(file))?),
            None => None,
        };
        let record = match &arguments.record {
            Some(file) => Some(Record::create(file).map_err(RunError::file(file))?),
            None => None,
        };
        let live = Arc::new(Mutex::new(Live::new(plan.schedule.rate_per_s() / plan.part.of as f64)));
        if let Some(address) = arguments.metrics {
            let what = format!("--metrics: cannot listen at {address}");
            serve_metrics(address, live.clone()).map_err(RunError::system(what))?;
        }
        Ok(Self {
            arguments,
            plan,
            connected,
            measured_ns: start.start_ns + plan.schedule.warmup_ns(),
            started,
            cpu_at_start_ns: process_cpu_ns(),
            due,
            ends_ns: Vec::new(),
            due_so_far: 0,
            sent_so_far: 0,
            totals: Totals::new(spares.len()),
            series: Vec::new(),
            hdr_log,
            record,
            common_start: start.common,
            live,
            terminal,
            results: spares.iter().map(|_| None).collect(),
            failure: None,
            ended_by: None,
            script_text,
            spares,
        })
    }

    /// Receives messages until every thread has ended.
    pub(super) fn collect(&mut self, messages: &Receiver<Message>) -> Result<(), RunError> {
        while self.results.iter().any(Option::is_none) {
            match messages.recv() {
                Ok(Message::Measuring) => self.cpu_at_start_ns = process_cpu_ns(),
                Ok(Message::Interval { worker, index, mut interval }) => {
                    self.totals.deliver(worker, index, &interval);
                    interval.clear();
                    // An ended loop needs no interval. A loop that stood still (a suspended machine) sends one for each
                    // second that it missed; these are dropped.
                    let _ = self.spares[worker].try_send(interval);
                }
                Ok(Message::ThreadEnded { thread, end_ns, due }) => {
                    let end_ns = end_ns.saturating_sub(self.measured_ns);
                    self.due.end(thread, end_ns + self.plan.schedule.warmup_ns(), due);
                    self.ends_ns.push(end_ns);
                }
                Ok(Message::Done { worker, mut result }) => {
                    self.totals.thread_ended(worker);
                    if let Some(error) = result.failure.take() {
                        // The others end too, with a report of the results so far.
                        self.plan.stop.store(true, Ordering::Relaxed);
                        self.ended_by.get_or_insert(error.to_string());
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

    /// The length of the run: the planned one until all threads have ended.
    fn elapsed_ns(&self) -> u64 {
        let all_ended = self.ends_ns.len() as u64 == self.plan.threads;
        let ended_ns = self.ends_ns.iter().max().filter(|_| all_ended);
        ended_ns.copied().unwrap_or(self.plan.schedule.duration_ns())
    }

    fn give_away(&mut self, second: &Second) {
        let from_ns = second.index * SECOND;
        let to_ns = (from_ns + SECOND).min(self.elapsed_ns().max(from_ns));
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
                // For example a full disk: the run continues without its log, and fails at the end.
                self.failure.get_or_insert(error);
                self.hdr_log = None;
            }
        }
        if let Some(record) = &mut self.record {
            let written = record.second(due, to_ns - from_ns, &second.sum);
            self.recorded(written);
        }
    }

    /// Handles the result of writing to the record. If it failed, drops the record; the run continues, and fails at its
    /// end.
    fn recorded(&mut self, written: io::Result<()>) {
        let file = self.arguments.record.as_ref().expect("there is a record because there is a file");
        if let Err(error) = written.map_err(RunError::file(file)) {
            self.failure.get_or_insert(error);
            self.record = None;
        }
    }

    /// Makes the results, once all threads have ended.
    pub(super) fn finish(mut self) -> Results {
        if self.terminal {
            show_on_terminal("");
        }
        let mut ending = self.ending();
        if let Some(mut record) = self.record.take() {
            let written = record.end(&ending);
            self.recorded(written);
        }
        ending.failure = self.failure.map(|failure| failure.to_string());
        ending.into_results(self.totals.sum, self.series)
    }

    fn ending(&mut self) -> Ending {
        let results: Vec<WorkerResult> = self.results.drain(..).flatten().collect();
        let (schedule, part) = (&self.plan.schedule, self.plan.part);
        let started = jiff::Timestamp::try_from(self.started).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        let since_ns = |time_ns: u64| time_ns.saturating_sub(self.measured_ns);
        let loops = results.iter().map(|result| LoopEnding {
            end_ns: since_ns(result.end_ns),
            idle_ns: result.idle_ns,
            spin_ns: result.spin_ns,
            cpu_ns: result.cpu_ns,
            high_priority: result.high_priority,
            stops: result.stops.iter().map(|stop| (since_ns(stop.start_ns), stop.length_ns)).collect(),
        });
        Ending {
            description: RunDescription {
                url: self.arguments.url.url.clone(),
                script: self.arguments.script.as_ref().map(|file| file.display().to_string()),
                threads: self.plan.threads,
                connections: self.plan.connections(),
                event_loops: self.plan.loops as u64,
                pool: self.arguments.pool,
                warmup_s: schedule.warmup_ns() as f64 / SECOND as f64,
                duration_s: schedule.duration_ns() as f64 / SECOND as f64,
                rate_per_s: schedule.rate_per_s() / part.of as f64,
                shape: LoadShape::of(self.arguments),
                started_at: format!("{started:.3}"),
            },
            part,
            rate_of_all_per_s: schedule.rate_per_s(),
            allowed_ns: self.arguments.send_lag_max_ns,
            connected: self.connected,
            start: self.common_start,
            cpu_ns: process_cpu_ns() - self.cpu_at_start_ns,
            loops: loops.collect(),
            threads: results.into_iter().flat_map(|result| result.threads).map(thread_ending).collect(),
            failure: self.failure.as_ref().map(ToString::to_string),
            ended_by: self.ended_by.take(),
            script_text: self.script_text.take(),
        }
    }
}

fn thread_ending(thread: ThreadResult) -> ThreadEnding {
    ThreadEnding {
        thread: thread.thread,
        due: thread.due,
        unfinished: thread.unfinished,
        oldest_unfinished_ns: thread.oldest_unfinished_ns,
        pipelining: thread.pipelining,
        request_rate: thread.request_rate,
    }
}

/// Replaces the last line on the terminal.
fn show_on_terminal(line: &str) {
    // Progress is optional: a terminal that has closed must not end the run.
    let _ = write!(io::stderr(), "\r\x1b[K{line}").and_then(|()| io::stderr().flush());
}
