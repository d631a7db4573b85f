//! A run as the log of the server tells it: when each request was due, sent and answered.

use super::log_server::Request;
use loadgen::clock::SECOND;
use loadgen::schedule::{Arrivals, Schedule};
use loadgen::units::parse_rate;

/// A plan that is longer than any run of the tests.
pub fn constant(rate: &str) -> Schedule {
    Schedule::constant(parse_rate(rate).unwrap(), 24 * 3600 * SECOND)
}

/// One request, in nanoseconds since the start of the run.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub due_ns: u64,
    pub sent_ns: u64,
    /// When the server began to write the response; `None` without one.
    pub answering_ns: Option<u64>,
    /// When the response was written; `None` without one.
    pub answered_ns: Option<u64>,
    /// Nanoseconds by which it was sent later than by a generator that is never late.
    pub lag_ns: u64,
}

/// The requests of a run with one thread.
#[derive(Debug)]
pub struct Truth {
    pub requests: Vec<Known>,
    /// From the start of the run to the arrival of the first request that was read.
    pub first_arrival_ns: u64,
}

impl Truth {
    /// Joins a log with the schedule. Connections are made in the order of their numbers, and request `n` of
    /// connection `g` of `C` is number `g + nC` of the schedule. The start is the moment that makes the most
    /// punctual request punctual to the nanosecond.
    pub fn of(log: &[Request], schedule: &Schedule, connections: usize) -> Self {
        let mut arrivals: Vec<Arrivals> =
            (0..connections).map(|g| Arrivals::new(schedule, g as u64, connections as u64)).collect();
        let mut due_ns = Vec::new();
        for request in log {
            let arrivals = &mut arrivals[request.connection];
            due_ns.push(arrivals.due_ns());
            arrivals.take(schedule, 1);
        }
        let start_ns = log.iter().zip(&due_ns).map(|(request, due)| request.arrived_ns - due).min().unwrap();
        let mut ideal_free_ns = vec![0; connections];
        let mut requests = Vec::new();
        for (request, due_ns) in log.iter().zip(due_ns) {
            let since_start = |time_ns: u64| (time_ns > 0).then(|| time_ns - start_ns);
            let (answering_ns, answered_ns) = (since_start(request.answering_ns), since_start(request.answered_ns));
            let sent_ns = request.arrived_ns - start_ns;
            let ideal_sent_ns = due_ns.max(ideal_free_ns[request.connection]).min(sent_ns);
            ideal_free_ns[request.connection] =
                ideal_sent_ns + answered_ns.map_or(0, |answered_ns| answered_ns - sent_ns);
            requests.push(Known { due_ns, sent_ns, answering_ns, answered_ns, lag_ns: sent_ns - ideal_sent_ns });
        }
        let first = log.first().unwrap().arrived_ns;
        Self { requests, first_arrival_ns: first - start_ns }
    }

    /// Latencies from the due time to `end`, ascending.
    pub fn latencies_ns(&self, end: fn(&Known) -> Option<u64>) -> Vec<f64> {
        sorted(self.requests.iter().filter_map(|known| Some((end(known)? - known.due_ns) as f64)))
    }

    /// Latencies to `end` without the generator's own delays, ascending.
    pub fn net_latencies_ns(&self, end: fn(&Known) -> Option<u64>) -> Vec<f64> {
        sorted(self.requests.iter().filter_map(|known| Some((end(known)? - known.due_ns - known.lag_ns) as f64)))
    }

    /// The send lag of each request, ascending.
    pub fn send_lags_ns(&self) -> Vec<f64> {
        sorted(self.requests.iter().map(|known| known.lag_ns as f64))
    }
}

pub fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// The value that `percentile` percent do not exceed, as HdrHistogram counts.
pub fn quantile(sorted: &[f64], percentile: f64) -> f64 {
    let rank = (sorted.len() as f64 * percentile / 100.0).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// A small random number generator, so that scenarios differ but stay the same from run to run.
#[derive(Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (self.0 >> 33) % (high - low + 1)
    }
}
