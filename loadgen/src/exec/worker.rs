//! A thread of the generator: an event loop over its connections.
//!
//! Protocol with the collector: the thread connects all its connections and says [`Message::Ready`];
//! the collector opens the [`Gate`] with the common start time; the thread then sends by the schedule
//! and delivers a [`Message::Interval`] a second; at the end time, or when told to stop, it delivers
//! the last one and [`Message::Done`]. Nothing on the way of a fixed request takes a lock or allocates.

mod traffic;

use super::connection::{Connection, Phase};
use super::protocol::{Gate, Message, WorkerError, WorkerPlan, WorkerResult};
use super::sampler::Sampler;
use super::timers::Timers;
use crate::cli::Idle;
use crate::clock::{MICROSECOND, MILLISECOND, SECOND, now_ns};
use crate::http::Batch;
use crate::net::{self, Poller};
use crate::schedule::Arrivals;
use crate::script::ThreadScript;
use crate::stats::Interval;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender};

/// Events taken from the kernel at a time.
const EVENTS_MAX: usize = 256;
/// Bytes read at a time.
const READ_BYTES: usize = 64 * 1024;
/// Sockets of one thread that may be connecting at a time before the run, so that no backlog overflows.
const CONNECTING_MAX: usize = 64;
/// How often time limits and the wish to stop are looked at.
const TICK_NS: u64 = 100 * MILLISECOND;
/// How long before a request is due `--idle hybrid` stops sleeping.
const SPIN_NS: u64 = 50 * MICROSECOND;

/// A thread's state.
#[derive(Debug)]
pub struct Worker<'a> {
    plan: Arc<WorkerPlan>,
    thread: usize,
    script: &'a ThreadScript,
    fixed_batch: Batch,
    poller: Poller,
    connections: Vec<Connection>,
    timers: Timers,
    read_buffer: Box<[u8]>,
    start_ns: u64,
    end_ns: u64,
    /// Between start and end: connections that are free send what is due.
    running: bool,
    interval: Box<Interval>,
    /// Number of the second that `interval` counts.
    second: u64,
    /// Requests on the wire.
    in_flight: u64,
    idle_ns: u64,
    sampler: Sampler,
    /// The last reason why a connection could not be made.
    connect_error: Option<io::Error>,
    messages: Sender<Message>,
    spare: Receiver<Box<Interval>>,
}

impl<'a> Worker<'a> {
    /// Thread number `thread`; full boxes go to `messages` and come back empty from `spare`.
    pub fn new(
        plan: Arc<WorkerPlan>,
        thread: usize,
        script: &'a ThreadScript,
        messages: Sender<Message>,
        spare: Receiver<Box<Interval>>,
    ) -> io::Result<Self> {
        let connections = plan.threads * plan.connections_per_thread;
        let of_local = |local: u64| Arrivals::new(&plan.schedule, local * plan.threads + thread as u64, connections);
        let fixed = script.fixed_request().map(Batch::of);
        Ok(Self {
            connections: (0..plan.connections_per_thread).map(|local| Connection::new(of_local(local))).collect(),
            fixed_batch: fixed.map_or_else(Batch::default, |batch| batch.expect("checked when the script was loaded")),
            poller: Poller::new(EVENTS_MAX)?,
            timers: Timers::default(),
            read_buffer: vec![0; READ_BYTES].into_boxed_slice(),
            start_ns: 0,
            end_ns: u64::MAX,
            running: false,
            interval: Box::default(),
            second: 0,
            in_flight: 0,
            idle_ns: 0,
            sampler: Sampler::new(0, 0),
            connect_error: None,
            plan,
            thread,
            script,
            messages,
            spare,
        })
    }

    /// Runs to the end; what happens is told in messages.
    pub fn run(mut self, gate: &Gate) {
        let messages = self.messages.clone();
        let message = match self.run_all(gate) {
            Ok(None) => return,
            Ok(Some(result)) => Message::Done { thread: self.thread, result: Box::new(result) },
            Err(error) => Message::Failed(error),
        };
        // A collector that has gone away has already ended the run.
        let _ = messages.send(message);
    }

    fn run_all(&mut self, gate: &Gate) -> Result<Option<WorkerResult>, WorkerError> {
        if !self.plan.cpus.is_empty() {
            let cpu = self.plan.cpus[self.thread % self.plan.cpus.len()];
            net::pin_this_thread(cpu).map_err(|error| WorkerError::Cpu { cpu, error })?;
        }
        net::set_timer_slack_of_this_thread_to_minimum()?;
        self.connect_all()?;
        let connected = self.connections.iter().filter(|connection| connection.phase == Phase::Idle).count();
        let error = self.connect_error.take().map(|error| error.to_string());
        let _ = self.messages.send(Message::Ready { connected: connected as u64, error });
        let Some(start_ns) = gate.wait() else { return Ok(None) };
        self.start_ns = start_ns;
        self.end_ns = start_ns + self.plan.schedule.duration_ns();
        self.sampler = Sampler::new(self.start_ns, self.end_ns);
        self.running = true;
        for index in 0..self.connections.len() {
            self.proceed(index, now_ns())?;
        }
        let end_ns = self.send_until_the_end()?;
        Ok(Some(self.finish(end_ns)))
    }

    /// Opens all connections, a few at a time, until each is connected, has failed or has run out of time.
    fn connect_all(&mut self) -> Result<(), WorkerError> {
        let mut next = 0;
        loop {
            let connecting = |connection: &&Connection| matches!(connection.phase, Phase::Connecting { .. });
            let mut pending = self.connections.iter().filter(connecting).count();
            while pending < CONNECTING_MAX && next < self.connections.len() {
                self.open(next, now_ns());
                next += 1;
                pending += 1;
            }
            if pending == 0 || self.plan.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            self.handle_events(TICK_NS)?;
            self.enforce_time_limits(now_ns());
        }
    }

    /// The loop; gives the time when it ended.
    fn send_until_the_end(&mut self) -> Result<u64, WorkerError> {
        let mut next_second_ns = self.start_ns + SECOND;
        let mut next_tick_ns = self.start_ns + TICK_NS;
        loop {
            let now = now_ns();
            while next_second_ns < self.end_ns && now >= next_second_ns {
                self.deliver();
                next_second_ns += SECOND;
            }
            let told_to_stop = self.plan.stop.load(Ordering::Relaxed) || self.script.stopped();
            if now >= self.end_ns || told_to_stop {
                return Ok(now.min(self.end_ns));
            }
            if now >= self.sampler.next_ns() {
                self.sampler.sample(now);
            }
            if now >= next_tick_ns {
                self.enforce_time_limits(now);
                next_tick_ns = now + TICK_NS;
            }
            self.wake_due_connections()?;
            let wake_ns = self.timers.next_ns().min(next_second_ns).min(next_tick_ns);
            let wake_ns = wake_ns.min(self.sampler.next_ns()).min(self.end_ns);
            self.idle_until(wake_ns)?;
        }
    }

    /// Waits for events up to `wake_ns`, as `--idle` says, and handles them.
    fn idle_until(&mut self, wake_ns: u64) -> Result<(), WorkerError> {
        let before = now_ns();
        let left_ns = wake_ns.saturating_sub(before);
        let timeout_ns = match self.plan.idle {
            Idle::Sleep => left_ns,
            Idle::Hybrid => left_ns.saturating_sub(SPIN_NS),
            Idle::Spin => 0,
        };
        self.handle_events(timeout_ns)
    }

    fn handle_events(&mut self, timeout_ns: u64) -> Result<(), WorkerError> {
        let before = now_ns();
        let count = self.poller.wait(timeout_ns)?;
        if count == 0 || timeout_ns > 0 {
            self.idle_ns += now_ns() - before;
        }
        for index in 0..count {
            let event = self.poller.event(index);
            self.handle_event(event)?;
            // A batch of events must not hold up what falls due meanwhile.
            self.wake_due_connections()?;
        }
        Ok(())
    }

    /// Lets every connection whose time has come go on.
    fn wake_due_connections(&mut self) -> Result<(), WorkerError> {
        if !self.running {
            return Ok(());
        }
        let mut now = now_ns();
        while let Some((time_ns, index)) = self.timers.pop_due(now) {
            let connection = &mut self.connections[index as usize];
            if connection.wake_ns == time_ns {
                connection.wake_ns = u64::MAX;
                self.proceed(index as usize, now)?;
                now = now_ns();
            }
        }
        Ok(())
    }

    /// Sends the box of this second to the collector and goes on with an empty one.
    fn deliver(&mut self) {
        self.interval.in_flight = self.in_flight;
        let empty = self.spare.try_recv().unwrap_or_default();
        let interval = std::mem::replace(&mut self.interval, empty);
        let _ = self.messages.send(Message::Interval { thread: self.thread, index: self.second, interval });
        self.second += 1;
    }

    /// Counts what is left undone and delivers the last box.
    fn finish(&mut self, end_ns: u64) -> WorkerResult {
        self.enforce_time_limits(end_ns);
        let schedule = &self.plan.schedule;
        let (mut due, mut unfinished, mut oldest_ns) = (0, 0, 0);
        for connection in &self.connections {
            let arrivals = &connection.arrivals;
            let unsent = arrivals.waiting_before(schedule, end_ns - self.start_ns);
            // A pipelined batch may have taken requests that fall due after the end: they count as due.
            due += arrivals.taken() + unsent;
            unfinished += unsent + connection.outstanding();
            if connection.is_busy() {
                oldest_ns = oldest_ns.max(end_ns.saturating_sub(connection.due_ns));
            }
            if unsent > 0 {
                oldest_ns = oldest_ns.max(end_ns.saturating_sub(self.start_ns + arrivals.due_ns()));
            }
        }
        self.deliver();
        let request_rate = std::mem::replace(&mut self.sampler, Sampler::new(0, 0)).finish();
        WorkerResult { due, unfinished, oldest_unfinished_ns: oldest_ns, end_ns, idle_ns: self.idle_ns, request_rate }
    }
}
