//! Opens connections, sends requests, and handles failures.

use super::{ScriptThread, Worker};
use crate::clock::MILLISECOND;
use crate::exec::connection::{Connection, Phase};
use crate::exec::protocol::WorkerError;
use crate::exec::system::{Stream, System};
use crate::net::{Event, Interest};
use std::io;

/// The longest pause between attempts to connect.
const RETRY_NS_MAX: u64 = 100 * MILLISECOND;

/// The reason of requests that were lost because the peer closed the connection, and what happened.
pub(super) const CLOSED: &str = "connection closed";
pub(super) const UNFINISHED: &str = "the peer closed the connection before the response was complete";

/// Why the requests on a connection's wire were lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Loss {
    /// The response did not arrive or was invalid: the reason in a few words, and what happened.
    Read(&'static str, String),
    Write,
    /// No request was lost: the peer closed a connection that was not in use, or announced that it would.
    Nothing,
}

impl<S: System> Worker<'_, S> {
    pub(super) fn token(connection: &Connection<S::Stream>, index: usize) -> u64 {
        u64::from(connection.generation) << 32 | index as u64
    }

    /// Starts to connect.
    pub(super) fn open(&mut self, index: usize, now: u64) {
        let connection = &mut self.connections[index];
        let address = self.script_threads[connection.script_thread].script.address();
        connection.generation = connection.generation.wrapping_add(1);
        connection.parser.reset();
        match self.system.connect(address, Self::token(connection, index)) {
            Ok(stream) => {
                connection.stream = Some(stream);
                connection.phase = Phase::Connecting { deadline_ns: now + self.plan.timeout_ns };
            }
            Err(error) => self.connect_failed(index, error, now),
        }
    }

    pub(super) fn connect_failed(&mut self, index: usize, error: io::Error, now: u64) {
        self.tally.interval.errors.connect += 1;
        self.connect_error = Some(error);
        self.retry_later(index, now);
    }

    /// Closes the socket and schedules another attempt to connect: at once, unless no request was sent over the last
    /// sockets either.
    fn retry_later(&mut self, index: usize, now: u64) {
        let connection = &mut self.connections[index];
        connection.close();
        let useless = connection.useless_sockets;
        connection.useless_sockets = useless.saturating_add(1);
        let pause_ns = if useless == 0 { 0 } else { (MILLISECOND << useless.min(10)).min(RETRY_NS_MAX) };
        connection.phase = Phase::Closed { retry_ns: now + pause_ns };
        if self.running {
            self.wake_at(index, now + pause_ns);
        }
    }

    fn wake_at(&mut self, index: usize, time_ns: u64) {
        let connection = &mut self.connections[index];
        if connection.wake_ns != time_ns {
            connection.wake_ns = time_ns;
            self.timers.push(time_ns, index as u32);
        }
    }

    /// Takes the next step of `connection`, and schedules the next call.
    pub(super) fn proceed(&mut self, index: usize, now: u64) -> Result<(), WorkerError> {
        let connection = &mut self.connections[index];
        match connection.phase {
            Phase::Closed { retry_ns } if retry_ns <= now => self.open(index, now),
            Phase::Closed { retry_ns } => self.wake_at(index, retry_ns),
            Phase::Connecting { .. }
            | Phase::Handshaking { .. }
            | Phase::Writing
            | Phase::Waiting
            | Phase::Finishing
            | Phase::Ended => {}
            Phase::Idle => {
                let script_thread = connection.script_thread;
                let schedule = &self.plan.schedule;
                let Some(arrivals) = &mut connection.arrivals else {
                    if !connection.in_pool {
                        connection.in_pool = true;
                        self.script_threads[script_thread].free.push_back(index as u32);
                    }
                    return self.dispatch(script_thread, now);
                };
                if now >= self.times.measured_ns && arrivals.skip_before(schedule, schedule.warmup_ns()) {
                    connection.delayed_due_ns = None;
                }
                let due_ns = connection.delayed_due_ns.unwrap_or(self.times.start_ns + arrivals.due_ns());
                let script = self.script_threads[script_thread].script;
                let send_at_ns = due_ns.max(connection.held_until_ns);
                if send_at_ns > now {
                    // A request of the warm-up is dropped at its end; the next one must not wait for the delay.
                    let of_the_warmup = arrivals.due_ns() < schedule.warmup_ns();
                    let dropped_ns = if of_the_warmup { self.times.measured_ns } else { u64::MAX };
                    self.wake_at(index, send_at_ns.min(dropped_ns));
                    // A connection sends in order, so a long delay holds the requests behind it: they are due when it is, at
                    // the earliest.
                } else if script.delays() && connection.delayed_due_ns.is_none() {
                    connection.delayed_due_ns = Some((due_ns + script.delay_ns()?).max(connection.due_ns));
                    return self.proceed(index, now);
                } else if due_ns < self.times.end_ns {
                    self.send(index, due_ns)?;
                }
            }
        }
        Ok(())
    }

    /// Assigns the requests that are due in an open pool to its free connections.
    pub(super) fn dispatch(&mut self, script_thread: usize, now: u64) -> Result<(), WorkerError> {
        if !self.running || self.script_threads[script_thread].has_ended() {
            return Ok(());
        }
        while let Some(arrivals) = &mut self.script_threads[script_thread].arrivals {
            if now >= self.times.measured_ns {
                arrivals.skip_before(&self.plan.schedule, self.plan.schedule.warmup_ns());
            }
            let due_ns = self.times.start_ns + arrivals.due_ns();
            if due_ns >= self.times.end_ns {
                return Ok(());
            }
            if due_ns > now {
                if self.script_threads[script_thread].wake_ns != due_ns {
                    self.script_threads[script_thread].wake_ns = due_ns;
                    self.timers.push(due_ns, ScriptThread::timer(script_thread));
                }
                return Ok(());
            }
            let Some(index) = self.script_threads[script_thread].free.pop_front() else { return Ok(()) };
            let connection = &mut self.connections[index as usize];
            connection.in_pool = false;
            // A connection that was closed while it was free returns when it is connected again.
            if connection.phase == Phase::Idle {
                self.send(index as usize, due_ns)?;
            }
        }
        Ok(())
    }

    fn send(&mut self, index: usize, due_ns: u64) -> Result<(), WorkerError> {
        let counts = due_ns >= self.times.measured_ns;
        if counts {
            self.measure();
        }
        let connection = &mut self.connections[index];
        let script_thread = &mut self.script_threads[connection.script_thread];
        let mut batch = std::mem::take(&mut connection.batch);
        let mut sent_ns = 0;
        let mut write = |text: &[u8]| {
            sent_ns = self.system.now_ns();
            connection.write(text)
        };
        let written = match script_thread.script.fixed_request() {
            Some(text) => {
                batch.clone_from(&script_thread.fixed_batch);
                write(text)
            }
            None => script_thread.script.request(&mut batch, write)?,
        };
        let ideal_sent_ns = due_ns.max(connection.ideal_free_ns).max(connection.ideal_held_ns).min(sent_ns);
        connection.lag_ns = sent_ns - ideal_sent_ns;
        let count = u64::from(batch.count());
        self.tally.sent(count, connection.lag_ns, sent_ns, counts);
        if counts {
            script_thread.taken += count;
            script_thread.pipelining = script_thread.pipelining.max(count);
        }
        connection.batch = batch;
        connection.answered = 0;
        connection.due_ns = due_ns;
        connection.sent_ns = sent_ns;
        connection.timed_out = false;
        let schedule = &self.plan.schedule;
        let arrivals =
            connection.arrivals.as_mut().or(script_thread.arrivals.as_mut()).expect("one of them has a plan");
        let planned_ns = arrivals.due_ns();
        arrivals.take(schedule, count);
        if let Some(factor) = self.plan.catch_up_max {
            let pause_ns = ((arrivals.due_ns() - planned_ns) as f64 / factor) as u64;
            connection.held_until_ns = sent_ns + pause_ns;
            connection.ideal_held_ns = ideal_sent_ns + pause_ns;
        }
        connection.delayed_due_ns = None;
        connection.useless_sockets = 0;
        connection.phase = Phase::Waiting;
        match written {
            Ok(true) => {}
            Ok(false) => {
                connection.phase = Phase::Writing;
                let token = Self::token(connection, index);
                self.system.watch(connection.stream(), Interest::ReadWrite, token)?;
            }
            Err(_) => self.lose(index, Loss::Write, sent_ns),
        }
        Ok(())
    }

    /// Counts the requests on the wire as lost, closes the socket and opens a new one.
    pub(super) fn lose(&mut self, index: usize, loss: Loss, now: u64) {
        let connection = &mut self.connections[index];
        let outstanding = connection.outstanding();
        self.tally.in_flight -= outstanding;
        let of_the_warmup = outstanding > 0 && connection.due_ns < self.times.measured_ns;
        if !of_the_warmup {
            self.tally.last_outcome_ns = self.tally.last_outcome_ns.max(now);
            self.tally.interval.lost += outstanding;
            match loss {
                Loss::Write => self.tally.interval.errors.write += outstanding.max(1),
                Loss::Nothing if outstanding == 0 => {}
                Loss::Nothing => self.tally.interval.count_read_errors(outstanding, CLOSED, UNFINISHED.to_owned()),
                Loss::Read(reason, first) => self.tally.interval.count_read_errors(outstanding.max(1), reason, first),
            }
        }
        self.retry_later(index, now);
    }

    pub(super) fn handle_event(&mut self, event: Event) -> Result<(), WorkerError> {
        let index = (event.token & u64::from(u32::MAX)) as usize;
        let connection = &mut self.connections[index];
        let of_an_earlier_socket = u64::from(connection.generation) != event.token >> 32;
        if of_an_earlier_socket {
            return Ok(());
        }
        match connection.phase {
            Phase::Closed { .. } | Phase::Ended => Ok(()),
            Phase::Connecting { .. } if event.writable => self.connected(index),
            Phase::Connecting { .. } => Ok(()),
            Phase::Handshaking { .. } => self.shake_hands(index),
            Phase::Writing if event.writable => {
                match connection.write_rest() {
                    Ok(false) => {}
                    Ok(true) => {
                        connection.phase = Phase::Waiting;
                        let token = Self::token(connection, index);
                        self.system.watch(connection.stream(), Interest::Read, token)?;
                    }
                    Err(_) => {
                        self.lose(index, Loss::Write, self.system.now_ns());
                        return Ok(());
                    }
                }
                // A response may come before the request is written in full.
                self.read(index)
            }
            Phase::Finishing if event.writable => self.finish_writing(index),
            Phase::Idle | Phase::Writing | Phase::Waiting | Phase::Finishing => self.read(index),
        }
    }

    /// Continues to write a request whose response has already arrived. The connection is free once all of it is
    /// written.
    fn finish_writing(&mut self, index: usize) -> Result<(), WorkerError> {
        let connection = &mut self.connections[index];
        let written = connection.write_rest();
        let now = self.system.now_ns();
        match written {
            Ok(false) => self.read(index),
            Ok(true) => {
                connection.is_free(now, 0);
                let token = Self::token(connection, index);
                self.system.watch(connection.stream(), Interest::Read, token)?;
                self.go_on(index, now)
            }
            // The peer has sent all that it had to send.
            Err(_) => {
                self.lose(index, Loss::Nothing, now);
                Ok(())
            }
        }
    }

    fn connected(&mut self, index: usize) -> Result<(), WorkerError> {
        let now = self.system.now_ns();
        let connection = &mut self.connections[index];
        if let Err(error) = connection.stream().connect_outcome() {
            self.connect_failed(index, error, now);
            return Ok(());
        }
        if self.plan.tls.is_some() {
            return self.begin_handshake(index);
        }
        let token = Self::token(connection, index);
        self.system.watch(connection.stream(), Interest::Read, token)?;
        connection.is_free(now, 0);
        if self.running { self.proceed(index, now) } else { Ok(()) }
    }

    /// Counts timeouts, one per batch, and gives up connecting after the time limit.
    pub(super) fn enforce_time_limits(&mut self, now: u64) {
        for index in 0..self.connections.len() {
            let connection = &mut self.connections[index];
            match connection.phase {
                Phase::Connecting { deadline_ns } if deadline_ns <= now => {
                    self.connect_failed(index, io::ErrorKind::TimedOut.into(), now);
                }
                Phase::Handshaking { deadline_ns } if deadline_ns <= now => {
                    let error = io::Error::new(io::ErrorKind::TimedOut, "the TLS handshake timed out");
                    self.connect_failed(index, error, now);
                }
                Phase::Writing | Phase::Waiting
                    if !connection.timed_out
                        && connection.due_ns >= self.times.measured_ns
                        && now.saturating_sub(connection.sent_ns) > self.plan.timeout_ns =>
                {
                    connection.timed_out = true;
                    self.tally.interval.errors.timeout += 1;
                }
                // A peer that has answered and does not read the rest must not keep the connection for ever.
                Phase::Finishing if now.saturating_sub(connection.sent_ns) > self.plan.timeout_ns => {
                    self.lose(index, Loss::Nothing, now);
                }
                _ => {}
            }
        }
    }
}
