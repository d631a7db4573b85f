//! Sums of the loops' intervals: second by second, and over the whole run.

use super::interval::{Interval, Latencies};
use crate::clock::SECOND;
use hdrhistogram::Histogram;
use serde::Serialize;
use std::collections::VecDeque;

/// Number of empty seconds kept for reuse.
const SPARE_SECONDS: usize = 2;

/// A row of the series: one second of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SecondRow {
    /// Start of the second, in seconds since the start of the run.
    pub t_s: u64,
    /// Number of requests that were due in the second.
    pub due: u64,
    /// Number of requests that were due by the end of the second but not sent.
    pub backlog: u64,
    /// Number of responses that arrived in the second.
    pub requests: u64,
    /// Number of these responses with an expected status.
    pub served: u64,
    /// Number of these responses that refused the request (429, 503).
    pub refused: u64,
    /// Number of failures of all classes in the second.
    pub errors: u64,
    /// Median latency of these responses in microseconds; null without responses.
    pub p50_us: Option<f64>,
    /// 99th percentile of latency in microseconds.
    pub p99_us: Option<f64>,
    /// Maximum latency in microseconds.
    pub max_us: Option<f64>,
    /// Median latency without the generator's own delays, in microseconds.
    pub net_p50_us: Option<f64>,
    /// 99th percentile of latency without the generator's own delays, in microseconds.
    pub net_p99_us: Option<f64>,
    /// Maximum latency without the generator's own delays, in microseconds.
    pub net_max_us: Option<f64>,
    /// Median send lag of the requests sent in the second, in microseconds; null without requests.
    pub lag_p50_us: Option<f64>,
    /// 99th percentile of send lag in microseconds.
    pub lag_p99_us: Option<f64>,
    /// Maximum send lag in microseconds.
    pub lag_max_us: Option<f64>,
    /// CPU time of all event loops in seconds.
    pub cpu_s: f64,
    /// Share of a CPU that the busiest event loop used, without polling.
    pub busiest_loop_share: f64,
}

/// The counts of one second over all threads.
#[derive(Debug, Default)]
pub struct Second {
    /// Index of the second.
    pub index: u64,
    /// The sum of the loops' intervals.
    pub sum: Interval,
}

impl Second {
    /// Makes the row of the series. `due` and `backlog` come from the schedule. `length_ns` is the length of the
    /// second, because the last one of a run may be shorter.
    pub fn row(&self, due: u64, backlog: u64, length_ns: u64) -> SecondRow {
        let Latencies { latency, net, send_lag, .. } = &self.sum.latencies;
        let at = |histogram: &Histogram<u64>, quantile: f64| {
            (!histogram.is_empty()).then(|| histogram.value_at_quantile(quantile) as f64 / 1000.0)
        };
        SecondRow {
            t_s: self.index,
            due,
            backlog,
            requests: self.sum.requests,
            served: self.sum.served,
            refused: self.sum.refused,
            errors: self.sum.errors.total(),
            p50_us: at(latency, 0.5),
            p99_us: at(latency, 0.99),
            max_us: at(latency, 1.0),
            net_p50_us: at(net, 0.5),
            net_p99_us: at(net, 0.99),
            net_max_us: at(net, 1.0),
            lag_p50_us: at(send_lag, 0.5),
            lag_p99_us: at(send_lag, 0.99),
            lag_max_us: at(send_lag, 1.0),
            cpu_s: self.sum.cpu_ns as f64 / SECOND as f64,
            busiest_loop_share: self.sum.work_ns_max as f64 / length_ns.max(1) as f64,
        }
    }
}

/// Merges the intervals of all loops. A second is complete once every loop has delivered it.
#[derive(Debug)]
pub struct Totals {
    /// The sum over the whole run, up to the last complete second.
    pub sum: Interval,
    /// Seconds that some loops have not delivered yet, oldest first, without gaps.
    open: VecDeque<Second>,
    spare: Vec<Second>,
    next_index: u64,
    /// Number of seconds that each loop has delivered.
    delivered: Vec<u64>,
}

impl Totals {
    /// Makes sums for `threads` loops.
    pub fn new(threads: usize) -> Self {
        Self {
            sum: Interval::default(),
            open: VecDeque::new(),
            spare: Vec::new(),
            next_index: 0,
            delivered: vec![0; threads],
        }
    }

    /// Adds the interval of `thread` for second `index`. A loop delivers its seconds in order, without gaps.
    pub fn deliver(&mut self, thread: usize, index: u64, interval: &Interval) {
        debug_assert_eq!(self.delivered[thread], index);
        self.delivered[thread] = index + 1;
        while self.open.back().map_or(self.next_index, |last| last.index + 1) <= index {
            let next = self.open.back().map_or(self.next_index, |last| last.index + 1);
            let mut second = self.spare.pop().unwrap_or_default();
            second.index = next;
            self.open.push_back(second);
        }
        self.open[(index - self.next_index) as usize].sum.add(interval);
    }

    /// Removes and returns the oldest second if every loop has delivered it or has ended.
    pub fn take_complete(&mut self) -> Option<Second> {
        let first = self.open.front()?.index;
        if self.delivered.iter().any(|seconds| *seconds <= first) {
            return None;
        }
        let second = self.open.pop_front()?;
        self.next_index = second.index + 1;
        self.sum.add(&second.sum);
        Some(second)
    }

    /// Records that `thread` has ended and will deliver nothing more.
    pub fn thread_ended(&mut self, thread: usize) {
        self.delivered[thread] = u64::MAX;
    }

    /// Takes back a second for reuse.
    pub fn recycle(&mut self, mut second: Second) {
        if self.spare.len() < SPARE_SECONDS {
            second.sum.clear();
            self.spare.push(second);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(requests: u64) -> Interval {
        let mut interval = Interval::default();
        for _ in 0..requests {
            interval.count_response(200, true);
            interval.latencies.latency.record(1000).unwrap();
        }
        interval
    }

    #[test]
    fn a_second_is_complete_when_every_thread_delivered_it() {
        let mut totals = Totals::new(2);
        totals.deliver(0, 0, &interval(3));
        totals.deliver(0, 1, &interval(5));
        totals.thread_ended(0);
        assert!(totals.take_complete().is_none(), "thread 1 has not delivered");
        totals.deliver(1, 0, &interval(4));
        let second = totals.take_complete().unwrap();
        assert_eq!((second.index, second.sum.requests), (0, 7));
        let row = second.row(8, 1, SECOND);
        assert_eq!((row.due, row.backlog, row.served, row.refused), (8, 1, 7, 0));
        assert_eq!((row.max_us, row.lag_max_us), (Some(1.0), None));
        totals.recycle(second);
        assert!(totals.take_complete().is_none());
        totals.thread_ended(1);
        let last = totals.take_complete().unwrap();
        assert_eq!((last.index, last.sum.requests), (1, 5));
        assert_eq!(totals.sum.requests, 12);
        assert_eq!(totals.sum.statuses().collect::<Vec<_>>(), [(200, 12)]);
        assert_eq!(totals.sum.latencies.latency.len(), 12);
    }

    #[test]
    fn not_all_seconds_that_end_together_are_kept_for_reuse() {
        let mut totals = Totals::new(2);
        for index in 0..20 {
            totals.deliver(0, index, &interval(1));
        }
        for index in 0..20 {
            totals.deliver(1, index, &interval(1));
        }
        while let Some(second) = totals.take_complete() {
            totals.recycle(second);
        }
        assert_eq!(totals.sum.requests, 40);
        assert_eq!(totals.spare.len(), SPARE_SECONDS);
    }
}
