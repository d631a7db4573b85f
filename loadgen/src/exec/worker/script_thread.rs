//! A thread that the user asked for, as an event loop runs it.

use crate::exec::protocol::{Pool, ThreadResult, WorkerPlan};
use crate::exec::sampler::Sampler;
use crate::http::Batch;
use crate::schedule::Arrivals;
use crate::script::ThreadScript;
use std::collections::VecDeque;

/// Bit that marks the timer of a script thread. The numbers of connections do not have it.
const TIMER_BIT: u32 = 1 << 31;

/// A thread's script and sampler. In an open pool also its plan and its free connections.
#[derive(Debug)]
pub(super) struct ScriptThread<'a> {
    /// Index of the thread across all generators.
    pub(super) thread: u64,
    pub(super) script: &'a ThreadScript,
    /// The request that every connection sends, unless the script makes each request.
    pub(super) fixed_batch: Batch,
    sampler: Sampler,
    /// The plan, in an open pool. Otherwise each connection has its own.
    pub(super) arrivals: Option<Arrivals>,
    /// Free connections of an open pool. The connection that has been free for longest comes first.
    pub(super) free: VecDeque<u32>,
    /// Time of the current timer entry; other entries are obsolete.
    pub(super) wake_ns: u64,
    /// Number of requests sent that were due after the warm-up.
    pub(super) taken: u64,
    /// The largest batch so far.
    pub(super) pipelining: u64,
    result: Option<ThreadResult>,
}

impl<'a> ScriptThread<'a> {
    /// Makes the thread. `thread` is its number among those of this generator.
    pub(super) fn new(plan: &WorkerPlan, thread: usize, script: &'a ThreadScript) -> Self {
        let fixed = script.fixed_request().map(Batch::of);
        let open = plan.pool == Pool::Open;
        Self {
            thread: plan.number_of_thread(thread),
            script,
            fixed_batch: fixed.map_or_else(Batch::default, |batch| batch.expect("checked when the script was loaded")),
            sampler: Sampler::new(0, 0),
            arrivals: plan.arrivals_of_thread(thread),
            free: VecDeque::with_capacity(if open { plan.connections_per_thread as usize } else { 0 }),
            wake_ns: u64::MAX,
            taken: 0,
            pipelining: 0,
            result: None,
        }
    }

    /// Starts to sample at `measured_ns`.
    pub(super) fn start(&mut self, measured_ns: u64, end_ns: u64) {
        self.sampler = Sampler::new(measured_ns, end_ns);
    }

    /// The number by which the timers identify script thread `script_thread`.
    pub(super) fn timer(script_thread: usize) -> u32 {
        script_thread as u32 | TIMER_BIT
    }

    /// The script thread whose timer has this number; `None` for the number of a connection.
    pub(super) fn of_timer(number: u32) -> Option<usize> {
        (number & TIMER_BIT != 0).then_some((number & !TIMER_BIT) as usize)
    }

    /// Counts a response.
    #[inline]
    pub(super) fn count_response(&mut self, latency_ns: u64) {
        self.sampler.count_response(latency_ns);
    }

    /// Takes a sample if it is due. Returns the time of the next sample.
    #[inline]
    pub(super) fn sample(&mut self, now_ns: u64) -> u64 {
        if self.has_ended() {
            return u64::MAX;
        }
        if now_ns >= self.sampler.next_ns() {
            self.sampler.sample(now_ns);
        }
        self.sampler.next_ns()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.result.is_some()
    }

    /// Whether the script has asked its thread to end, but the thread has not ended yet.
    #[inline]
    pub(super) fn is_to_stop(&self) -> bool {
        self.script.stopped() && !self.has_ended()
    }

    /// Ends the thread. `unsent` requests were due but not sent, and `in_flight` requests have no response.
    pub(super) fn end(&mut self, unsent: u64, in_flight: u64, oldest_unfinished_ns: u64, end_ns: u64) {
        let request_rate = std::mem::replace(&mut self.sampler, Sampler::new(0, 0)).finish();
        self.result = Some(ThreadResult {
            thread: self.thread,
            // A pipelined batch may have taken requests that fall due after the end; they count as due.
            due: self.taken + unsent,
            unfinished: unsent + in_flight,
            oldest_unfinished_ns,
            pipelining: self.pipelining,
            end_ns,
            request_rate,
        });
    }

    pub(super) fn into_result(self) -> Option<ThreadResult> {
        self.result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_distinguish_script_threads_from_connections() {
        assert_eq!(ScriptThread::of_timer(ScriptThread::timer(3)), Some(3));
        assert_eq!(ScriptThread::of_timer(3), None);
    }
}
