//! The end of an event loop: its unfinished requests, its last interval and its result.

use super::{ScriptThread, Worker};
use crate::exec::connection::{Connection, Phase};
use crate::exec::idle_time::IdleTime;
use crate::exec::protocol::{Message, WorkerError, WorkerResult};
use crate::exec::system::System;
use crate::schedule::Arrivals;

impl<S: System> Worker<'_, S> {
    /// Ends a thread: counts its unfinished requests and closes its connections.
    pub(super) fn end_script_thread(&mut self, script_thread: usize, end_ns: u64) {
        if self.script_threads[script_thread].has_ended() {
            return;
        }
        let schedule = &self.plan.schedule;
        let (warmup_ns, until_ns) = (schedule.warmup_ns(), end_ns.saturating_sub(self.times.start_ns));
        let script = self.script_threads[script_thread].script;
        let (mut unfinished, mut unsent, mut oldest_due_ns) = (0, 0, end_ns);
        let own = |connection: &&mut Connection<S::Stream>| connection.script_thread == script_thread;
        let waiting = |arrivals: &Arrivals| {
            let count = arrivals.waiting_before(schedule, until_ns)
                - arrivals.waiting_before(schedule, until_ns.min(warmup_ns));
            (count, if count > 0 { self.times.start_ns + arrivals.due_ns().max(warmup_ns) } else { end_ns })
        };
        let mut add = |(count, first_due_ns): (u64, u64)| {
            unsent += count;
            oldest_due_ns = oldest_due_ns.min(first_due_ns);
        };
        if let Some(arrivals) = &self.script_threads[script_thread].arrivals {
            add(waiting(arrivals));
        }
        for connection in self.connections.iter_mut().filter(own) {
            let Some(arrivals) = &mut connection.arrivals else { continue };
            if !script.delays() {
                add(waiting(arrivals));
                continue;
            }
            // A request that is still in its delay is not due, nor is any behind it.
            if arrivals.skip_before(schedule, warmup_ns) {
                connection.delayed_due_ns = None;
            }
            let (mut planned, mut last_due_ns) = (arrivals.clone(), connection.due_ns);
            while planned.due_ns() < until_ns {
                let asked = connection.delayed_due_ns.take();
                let delayed = || self.times.start_ns + planned.due_ns() + script.delay_ns().unwrap_or(0);
                let due_ns = asked.unwrap_or_else(delayed).max(last_due_ns);
                if due_ns >= end_ns {
                    break;
                }
                add((1, due_ns));
                last_due_ns = due_ns;
                planned.take(schedule, 1);
            }
        }
        for connection in self.connections.iter_mut().filter(own) {
            let outstanding = connection.outstanding();
            if outstanding > 0 && connection.due_ns >= self.times.measured_ns {
                unfinished += outstanding;
                oldest_due_ns = oldest_due_ns.min(connection.due_ns);
            }
            self.tally.in_flight -= outstanding;
            connection.close();
            connection.phase = Phase::Ended;
        }
        let ended = &mut self.script_threads[script_thread];
        let (thread, due) = (ended.thread, ended.taken + unsent);
        ended.end(unsent, unfinished, end_ns - oldest_due_ns, end_ns);
        self.tally.tell(Message::ThreadEnded { thread, end_ns, due });
    }

    /// Ends all threads and sends the last interval.
    pub(super) fn finish(&mut self, end_ns: u64, failure: Option<WorkerError>) -> WorkerResult {
        self.enforce_time_limits(end_ns);
        // Taken before the connections are closed.
        self.tally.interval.in_flight = self.tally.in_flight;
        self.running = false;
        for script_thread in 0..self.script_threads.len() {
            self.end_script_thread(script_thread, end_ns);
        }
        self.deliver();
        let threads: Vec<_> = self.script_threads.drain(..).filter_map(ScriptThread::into_result).collect();
        let end_ns = threads.iter().map(|thread| thread.end_ns).max().unwrap_or(end_ns);
        WorkerResult {
            threads,
            end_ns,
            idle_ns: self.idle_time.idle_ns(),
            spin_ns: self.idle_time.spin_ns(),
            cpu_ns: self.tally.cpu_ns(),
            high_priority: self.high_priority,
            stops: std::mem::replace(&mut self.idle_time, IdleTime::new()).into_stops(),
            failure,
        }
    }
}
