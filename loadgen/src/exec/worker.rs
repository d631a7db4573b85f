//! An event loop of the generator.
//!
//! A loop runs one or more of the threads that the user asked for (`-t`). Each is a [`ScriptThread`] with its own
//! script state and connections. There are never more loops than CPUs, because loops that share a CPU delay each other.
//!
//! Protocol with the collector: the loop connects all its connections and sends [`Message::Ready`]; the collector opens
//! the [`Gate`] with the common start time. The loop then sends requests on schedule. It reports the end of the warm-up
//! with [`Message::Measuring`], and then sends one [`Message::Interval`] a second. At the end time, or when told to
//! stop, it sends the last interval and [`Message::Done`]. Sending a fixed request takes no lock and allocates nothing.

mod encrypted;
mod ending;
mod responses;
mod script_thread;
mod traffic;

use super::connection::{Connection, Phase};
use super::polling::Polling;
use super::protocol::{Gate, Message, WorkerError, WorkerPlan, WorkerResult};
use super::stops::StopFinder;
use super::system::System;
use super::timers::Timers;
use crate::clock::{MILLISECOND, SECOND};
use crate::script::ThreadScript;
use crate::stats::Interval;
use script_thread::ScriptThread;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};

/// Maximum number of bytes read at a time.
const READ_BYTES: usize = 64 * 1024;
/// Maximum number of sockets of one loop that connect at the same time before the run, so that no backlog overflows.
const CONNECTING_MAX: usize = 64;
/// Interval at which the loop checks time limits and the stop flag.
const TICK_NS: u64 = 100 * MILLISECOND;

/// The state of an event loop.
#[derive(Debug)]
pub struct Worker<'a, S: System> {
    plan: Arc<WorkerPlan>,
    /// Index of the loop.
    number: usize,
    script_threads: Vec<ScriptThread<'a>>,
    system: S,
    connections: Vec<Connection<S::Stream>>,
    timers: Timers,
    read_buffer: Box<[u8]>,
    /// The decrypted bytes of `buffer`.
    plain_buffer: Vec<u8>,
    start_ns: u64,
    /// The end of the warm-up. Requests due from this time on are counted.
    measured_ns: u64,
    end_ns: u64,
    /// Whether the run has started and not ended, so that free connections send the requests that are due.
    running: bool,
    /// Whether the warm-up is over.
    measuring: bool,
    interval: Box<Interval>,
    /// Number of the second whose counts `interval` holds.
    second: u64,
    /// Number of requests on the wire.
    in_flight: u64,
    /// When the last request was sent.
    last_sent_ns: u64,
    /// When the last request was answered or lost.
    last_outcome_ns: u64,
    /// Nanoseconds for which the last response lay unread.
    unread_ns: u64,
    /// Nanoseconds by which the clock of the kernel's time stamps is ahead of `now_ns`.
    realtime_offset_ns: u64,
    /// Time in which the loop was idle. The part spent in polling is in `polling`.
    idle_ns: u64,
    polling: Polling,
    stops: StopFinder,
    /// Whether the kernel allowed this thread a higher priority.
    high_priority: bool,
    /// CPU time and polling time of this thread up to the last interval sent.
    cpu_delivered_ns: u64,
    spin_delivered_ns: u64,
    /// CPU time of this thread when the measurement began.
    cpu_at_start_ns: u64,
    /// Number of attempts to connect that failed before the start.
    connect_errors_at_start: u64,
    /// Why the last connection that failed could not be made.
    connect_error: Option<io::Error>,
    messages: Sender<Message>,
    spare: Receiver<Box<Interval>>,
}

impl<'a, S: System> Worker<'a, S> {
    /// Makes loop `number`, which runs the threads `number`, `number` + loops, and so on. `scripts` holds the scripts
    /// of all threads. Full intervals go to `messages` and come back empty from `spare`.
    pub fn new(
        system: S,
        plan: Arc<WorkerPlan>,
        number: usize,
        scripts: &'a [ThreadScript],
        messages: Sender<Message>,
        spare: Receiver<Box<Interval>>,
    ) -> Self {
        let threads: Vec<usize> = (number..scripts.len()).step_by(plan.loops).collect();
        let mut connections = Vec::new();
        for local in 0..plan.connections_per_thread {
            for (script_thread, thread) in threads.iter().enumerate() {
                connections.push(Connection::new(script_thread, plan.arrivals_of_connection(*thread, local)));
            }
        }
        Self {
            connections,
            script_threads: threads.iter().map(|thread| ScriptThread::new(&plan, *thread, &scripts[*thread])).collect(),
            timers: Timers::default(),
            read_buffer: vec![0; READ_BYTES].into_boxed_slice(),
            plain_buffer: Vec::new(),
            start_ns: 0,
            measured_ns: 0,
            end_ns: u64::MAX,
            running: false,
            measuring: false,
            interval: Box::default(),
            second: 0,
            in_flight: 0,
            last_sent_ns: 0,
            last_outcome_ns: 0,
            unread_ns: 0,
            realtime_offset_ns: system.realtime_offset_ns(),
            system,
            idle_ns: 0,
            polling: Polling::new(),
            stops: StopFinder::default(),
            high_priority: false,
            cpu_delivered_ns: 0,
            spin_delivered_ns: 0,
            cpu_at_start_ns: 0,
            connect_errors_at_start: 0,
            connect_error: None,
            plan,
            number,
            messages,
            spare,
        }
    }

    /// Runs until the end. Sends results and errors as messages.
    pub fn run(mut self, gate: &Gate) {
        let messages = self.messages.clone();
        let message = match self.run_all(gate) {
            Ok(None) => return,
            Ok(Some(result)) => Message::Done { worker: self.number, result: Box::new(result) },
            Err(error) => Message::Failed(error),
        };
        // A collector that has gone away has already ended the run.
        let _ = messages.send(message);
    }

    fn run_all(&mut self, gate: &Gate) -> Result<Option<WorkerResult>, WorkerError> {
        let cpus = &self.plan.cpus;
        let cpu = (!cpus.is_empty()).then(|| cpus[self.number % cpus.len()]);
        self.high_priority = self.system.enter_thread(cpu, self.plan.high_priority)?;
        self.connect_all()?;
        self.connect_errors_at_start = self.interval.errors.connect;
        let connected = self.connections.iter().filter(|connection| connection.phase == Phase::Idle).count();
        let error = self.connect_error.take().map(|error| error.to_string());
        let _ = self.messages.send(Message::Ready { connected: connected as u64, error });
        let Some(start_ns) = gate.wait() else { return Ok(None) };
        self.start_ns = start_ns;
        self.measured_ns = start_ns + self.plan.schedule.warmup_ns();
        self.end_ns = start_ns + self.plan.schedule.end_ns();
        self.last_outcome_ns = self.measured_ns;
        for script_thread in &mut self.script_threads {
            script_thread.start(self.measured_ns, self.end_ns);
        }
        self.running = true;
        Ok(Some(match self.send_until_the_end() {
            Ok(end_ns) => self.finish(end_ns, None),
            // The results so far are worth a report.
            Err(error) => {
                self.measure();
                self.finish(self.system.now_ns().min(self.end_ns).max(self.measured_ns), Some(error))
            }
        }))
    }

    /// Opens all connections, a limited number at a time. Returns when each is connected, has failed or has timed out.
    fn connect_all(&mut self) -> Result<(), WorkerError> {
        let mut next = 0;
        loop {
            let mut pending = self.connections.iter().filter(|connection| connection.is_connecting()).count();
            while pending < CONNECTING_MAX && next < self.connections.len() {
                self.open(next, self.system.now_ns());
                next += 1;
                pending += 1;
            }
            if pending == 0 || self.plan.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.handle_events(TICK_NS)?;
            self.enforce_time_limits(self.system.now_ns());
        }
    }

    /// Sends requests and handles events until the end. Returns the time at which the run ended.
    fn send_until_the_end(&mut self) -> Result<u64, WorkerError> {
        for index in 0..self.connections.len() {
            self.proceed(index, self.system.now_ns())?;
        }
        for script_thread in 0..self.script_threads.len() {
            self.dispatch(script_thread, self.system.now_ns())?;
        }
        let mut next_second_ns = self.measured_ns + SECOND;
        // Waits for a start in the future; the stop flag is checked meanwhile.
        let mut next_tick_ns = self.start_ns.min(self.system.now_ns()) + TICK_NS;
        loop {
            let now = self.system.now_ns();
            self.stops.awake(now);
            if now >= self.measured_ns {
                self.measure();
            }
            while next_second_ns < self.end_ns && now >= next_second_ns {
                self.deliver();
                next_second_ns += SECOND;
            }
            for script_thread in 0..self.script_threads.len() {
                if self.script_threads[script_thread].is_to_stop() {
                    self.end_script_thread(script_thread, now.min(self.end_ns));
                }
            }
            let told_to_stop =
                self.plan.stop.load(Ordering::Relaxed) || self.script_threads.iter().all(ScriptThread::has_ended);
            if now >= self.end_ns || told_to_stop {
                self.measure();
                return Ok(now.min(self.end_ns).max(self.measured_ns));
            }
            let mut wake_ns = next_second_ns.min(next_tick_ns).min(self.end_ns);
            if !self.measuring {
                wake_ns = wake_ns.min(self.measured_ns);
            }
            for script_thread in &mut self.script_threads {
                wake_ns = wake_ns.min(script_thread.sample(now));
            }
            if now >= next_tick_ns {
                self.polling.end_turn();
                self.enforce_time_limits(now);
                self.realtime_offset_ns = self.system.realtime_offset_ns();
                if self.plan.schedule.is_limited() && self.has_nothing_left_to_do() {
                    return Ok(self.last_outcome_ns);
                }
                next_tick_ns = now + TICK_NS;
            }
            self.wake_due_connections()?;
            self.idle_until(wake_ns.min(self.timers.next_ns()))?;
        }
    }

    /// Begins to count, and drops the counts of the warm-up. Must run before the first request that is due after the
    /// warm-up is sent, because its response may arrive before the loop reads the clock again.
    fn measure(&mut self) {
        if std::mem::replace(&mut self.measuring, true) {
            return;
        }
        self.interval.clear();
        self.interval.errors.connect = self.connect_errors_at_start;
        self.idle_ns = 0;
        self.polling.forget();
        self.stops.restart(self.system.now_ns());
        self.cpu_at_start_ns = self.system.cpu_ns();
        (self.cpu_delivered_ns, self.spin_delivered_ns) = (self.cpu_at_start_ns, 0);
        let _ = self.messages.send(Message::Measuring);
    }

    /// Whether every request of the plan has been answered or lost.
    fn has_nothing_left_to_do(&self) -> bool {
        let end_ns = self.plan.schedule.end_ns();
        let nothing_due =
            |connection: &Connection<S::Stream>| connection.arrivals.as_ref().is_none_or(|a| a.due_ns() >= end_ns);
        self.in_flight == 0
            && self.connections.iter().all(|connection| nothing_due(connection) && !connection.is_busy())
            && self
                .script_threads
                .iter()
                .all(|script_thread| script_thread.arrivals.as_ref().is_none_or(|a| a.due_ns() >= end_ns))
    }

    /// Waits for events until `wake_ns` at the latest, as `--idle` says, and handles them.
    fn idle_until(&mut self, wake_ns: u64) -> Result<(), WorkerError> {
        let awaited_since_ns = (self.in_flight > 0).then_some(self.last_sent_ns);
        self.handle_events(self.plan.idle.sleep_ns(self.system.now_ns(), wake_ns, awaited_since_ns))
    }

    fn handle_events(&mut self, timeout_ns: u64) -> Result<(), WorkerError> {
        let before = self.system.now_ns();
        let wake_ns = before + timeout_ns;
        self.stops.sleep_until(before, wake_ns);
        let count = self.system.wait(timeout_ns)?;
        let after = self.system.now_ns();
        self.stops.awake(after);
        // Time after the planned wake-up is not idle: the loop wanted to run.
        if timeout_ns == 0 && count == 0 {
            self.idle_ns += self.polling.add(before, after);
        } else {
            self.polling.end_turn();
            if timeout_ns > 0 {
                self.idle_ns += after.min(wake_ns) - before;
            }
        }
        for index in 0..count {
            let event = self.system.event(index);
            self.handle_event(event)?;
            // A batch of events must not delay what falls due meanwhile.
            self.wake_due_connections()?;
        }
        Ok(())
    }

    /// Serves every connection whose timer has expired.
    fn wake_due_connections(&mut self) -> Result<(), WorkerError> {
        if !self.running {
            return Ok(());
        }
        let mut now = self.system.now_ns();
        self.stops.awake(now);
        while let Some((time_ns, index)) = self.timers.pop_due(now) {
            self.polling.end_turn();
            if let Some(script_thread) = ScriptThread::of_timer(index) {
                if self.script_threads[script_thread].wake_ns == time_ns {
                    self.script_threads[script_thread].wake_ns = u64::MAX;
                    self.dispatch(script_thread, now)?;
                    now = self.system.now_ns();
                }
                continue;
            }
            let connection = &mut self.connections[index as usize];
            if connection.wake_ns == time_ns {
                connection.wake_ns = u64::MAX;
                self.proceed(index as usize, now)?;
                now = self.system.now_ns();
            }
        }
        Ok(())
    }

    /// Sends the counts of the current second to the collector and continues with an empty interval.
    fn deliver(&mut self) {
        if self.running {
            self.interval.in_flight = self.in_flight;
        }
        self.polling.end_turn();
        let (cpu_ns, spin_ns) = (self.system.cpu_ns(), self.polling.spent_ns());
        self.interval.cpu_ns = cpu_ns - self.cpu_delivered_ns;
        self.interval.work_ns_max = self.interval.cpu_ns.saturating_sub(spin_ns - self.spin_delivered_ns);
        (self.cpu_delivered_ns, self.spin_delivered_ns) = (cpu_ns, spin_ns);
        let empty = self.spare.try_recv().unwrap_or_default();
        let interval = std::mem::replace(&mut self.interval, empty);
        let _ = self.messages.send(Message::Interval { worker: self.number, index: self.second, interval });
        self.second += 1;
    }
}
