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
mod tally;
mod traffic;

use super::connection::{Connection, Phase};
use super::idle_time::IdleTime;
use super::protocol::{Gate, Message, WorkerError, WorkerPlan, WorkerResult};
use super::system::System;
use super::timers::Timers;
use crate::clock::{MILLISECOND, SECOND};
use crate::schedule::Schedule;
use crate::script::ThreadScript;
use crate::stats::Interval;
use script_thread::ScriptThread;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};
use tally::Tally;

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
    times: Times,
    /// Whether the run has started and not ended, so that free connections send the requests that are due.
    running: bool,
    /// Whether the warm-up is over.
    measuring: bool,
    tally: Tally,
    idle_time: IdleTime,
    /// Nanoseconds for which the last response lay unread.
    unread_ns: u64,
    /// Nanoseconds by which the clock of the kernel's time stamps is ahead of `now_ns`.
    realtime_offset_ns: u64,
    /// Whether the kernel allowed this thread a higher priority.
    high_priority: bool,
    /// Why the last connection that failed could not be made.
    connect_error: Option<io::Error>,
}

/// The times of a run on the monotonic clock.
#[derive(Debug, Clone, Copy)]
struct Times {
    start_ns: u64,
    /// The end of the warm-up. Requests due from this time on are counted.
    measured_ns: u64,
    end_ns: u64,
}

impl Times {
    /// Before the start is decided.
    const UNKNOWN: Self = Self { start_ns: 0, measured_ns: 0, end_ns: u64::MAX };

    fn new(start_ns: u64, schedule: &Schedule) -> Self {
        Self { start_ns, measured_ns: start_ns + schedule.warmup_ns(), end_ns: start_ns + schedule.end_ns() }
    }

    /// The end of a run or a thread that ends early at `now_ns`: not after the planned end, nor before the end of the
    /// warm-up. A request that was due, and perhaps sent, at this very nanosecond counts.
    fn ended(&self, now_ns: u64) -> u64 {
        (now_ns + 1).min(self.end_ns).max(self.measured_ns)
    }
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
            times: Times::UNKNOWN,
            running: false,
            measuring: false,
            tally: Tally::new(number, messages, spare),
            idle_time: IdleTime::new(),
            unread_ns: 0,
            realtime_offset_ns: system.realtime_offset_ns(),
            system,
            high_priority: false,
            connect_error: None,
            plan,
            number,
        }
    }

    /// Runs until the end. Sends results and errors as messages.
    pub fn run(mut self, gate: &Gate) {
        let message = match self.run_all(gate) {
            Ok(None) => return,
            Ok(Some(result)) => Message::Done { worker: self.number, result: Box::new(result) },
            Err(error) => Message::Failed(error),
        };
        self.tally.tell(message);
    }

    fn run_all(&mut self, gate: &Gate) -> Result<Option<WorkerResult>, WorkerError> {
        let cpus = &self.plan.cpus;
        let cpu = (!cpus.is_empty()).then(|| cpus[self.number % cpus.len()]);
        self.high_priority = self.system.enter_thread(cpu, self.plan.high_priority)?;
        self.connect_all()?;
        let connected = self.connections.iter().filter(|connection| connection.phase == Phase::Idle).count();
        let error = self.connect_error.take().map(|error| error.to_string());
        self.tally.ready(connected as u64, error);
        let Some(start_ns) = gate.wait() else { return Ok(None) };
        self.times = Times::new(start_ns, &self.plan.schedule);
        self.tally.last_outcome_ns = self.times.measured_ns;
        for script_thread in &mut self.script_threads {
            script_thread.start(self.times.measured_ns, self.times.end_ns);
        }
        self.running = true;
        Ok(Some(match self.send_until_the_end() {
            Ok(end_ns) => self.finish(end_ns, None),
            // The results so far are worth a report.
            Err(error) => {
                self.measure();
                self.finish(self.times.ended(self.system.now_ns()), Some(error))
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
        let mut next_second_ns = self.times.measured_ns + SECOND;
        // Waits for a start in the future; the stop flag is checked meanwhile.
        let mut next_tick_ns = self.times.start_ns.min(self.system.now_ns()) + TICK_NS;
        loop {
            let now = self.system.now_ns();
            self.idle_time.awake(now);
            if now >= self.times.measured_ns {
                self.measure();
            }
            while next_second_ns < self.times.end_ns && now >= next_second_ns {
                self.deliver();
                next_second_ns += SECOND;
            }
            for script_thread in 0..self.script_threads.len() {
                if self.script_threads[script_thread].is_to_stop() {
                    self.end_script_thread(script_thread, self.times.ended(now));
                }
            }
            let told_to_stop =
                self.plan.stop.load(Ordering::Relaxed) || self.script_threads.iter().all(ScriptThread::has_ended);
            if now >= self.times.end_ns || told_to_stop {
                self.measure();
                return Ok(self.times.ended(now));
            }
            let mut wake_ns = next_second_ns.min(next_tick_ns).min(self.times.end_ns);
            if !self.measuring {
                wake_ns = wake_ns.min(self.times.measured_ns);
            }
            for script_thread in &mut self.script_threads {
                wake_ns = wake_ns.min(script_thread.sample(now));
            }
            if now >= next_tick_ns {
                self.idle_time.works();
                self.enforce_time_limits(now);
                self.realtime_offset_ns = self.system.realtime_offset_ns();
                if self.plan.schedule.is_limited() && self.has_nothing_left_to_do() {
                    return Ok(self.tally.last_outcome_ns);
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
        self.idle_time.restart(self.system.now_ns());
        self.tally.restart(self.system.cpu_ns());
    }

    /// Whether every request of the plan has been answered or lost.
    fn has_nothing_left_to_do(&self) -> bool {
        let end_ns = self.plan.schedule.end_ns();
        let nothing_due =
            |connection: &Connection<S::Stream>| connection.arrivals.as_ref().is_none_or(|a| a.due_ns() >= end_ns);
        self.tally.in_flight == 0
            && self.connections.iter().all(|connection| nothing_due(connection) && !connection.is_busy())
            && self
                .script_threads
                .iter()
                .all(|script_thread| script_thread.arrivals.as_ref().is_none_or(|a| a.due_ns() >= end_ns))
    }

    /// Waits for events until `wake_ns` at the latest, as `--idle` says, and handles them.
    fn idle_until(&mut self, wake_ns: u64) -> Result<(), WorkerError> {
        let awaited_since_ns = self.tally.awaited_since_ns();
        self.handle_events(self.plan.idle.sleep_ns(self.system.now_ns(), wake_ns, awaited_since_ns))
    }

    fn handle_events(&mut self, timeout_ns: u64) -> Result<(), WorkerError> {
        let before = self.system.now_ns();
        let wake_ns = before + timeout_ns;
        self.idle_time.sleeps(before, wake_ns);
        let count = self.system.wait(timeout_ns)?;
        let after = self.system.now_ns();
        self.idle_time.slept(before, wake_ns, after, count > 0);
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
        self.idle_time.awake(now);
        while let Some((time_ns, index)) = self.timers.pop_due(now) {
            self.idle_time.works();
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
            self.tally.interval.in_flight = self.tally.in_flight;
        }
        self.idle_time.works();
        self.tally.deliver(self.system.cpu_ns(), self.idle_time.spin_ns());
    }
}
