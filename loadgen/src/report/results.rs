//! The results of a run.

use super::shape::LoadShape;
use super::verdict::{GeneratorStop, Verdict};
use crate::cli::Pool;
use crate::clock::SECOND;
use crate::exec::RequestRate;
use crate::part::Part;
use crate::stats::{DistributionSummary, Interval, PERCENTILES, SecondRow};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The load as requested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunDescription {
    /// The URL under test.
    pub url: String,
    /// The script's file.
    pub script: Option<String>,
    /// Number of threads.
    pub threads: u64,
    /// Number of connections of all threads together.
    pub connections: u64,
    /// Number of event loops that ran the threads.
    pub event_loops: u64,
    /// The rule that chooses the connection of a request.
    pub pool: Pool,
    /// Length of the warm-up, which no figure includes, in seconds.
    pub warmup_s: f64,
    /// Requested length of the run in seconds.
    pub duration_s: f64,
    /// Requested rate in requests a second.
    pub rate_per_s: f64,
    /// The other options that shape the load.
    #[serde(flatten)]
    pub shape: LoadShape,
    /// Time of the start, RFC 3339 in UTC.
    pub started_at: String,
}

/// Requests that were due but had neither a response nor an error at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// Number of unfinished requests.
    pub count: u64,
    /// Age of the oldest unfinished request in nanoseconds: a lower bound of its latency.
    pub oldest_ns: u64,
}

/// The limit that requests without a latency set to the percentiles: those that are unfinished or lost, and with
/// `--batch_latency` all of a batch that was not answered in full. They count as the longest, because a server that
/// drops slow requests must not look faster than one that answers them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Censored {
    /// Number of requests that were due and have no latency.
    pub count: u64,
    /// Lowest percentile of all requests that is unknown; null if all are known.
    pub from_percentile: Option<f64>,
    /// Percentiles of all requests in microseconds, with those that have no latency counted as the longest; null if
    /// unknown.
    pub percentiles_us: Map<String, Value>,
}

impl Censored {
    /// Computes the limits for `all` requests, of which `recorded` have a latency. `latency` holds these latencies in
    /// nanoseconds: one for each request, or one for each batch, of which each then counts alike.
    pub fn of(latency: &Histogram<u64>, recorded: u64, all: u64) -> Self {
        let count = all.saturating_sub(recorded);
        let at = |percentile: f64| {
            if count == 0 {
                let value_us = latency.value_at_percentile(percentile) as f64 / 1000.0;
                return (format!("{percentile}"), json!((!latency.is_empty()).then_some(value_us)));
            }
            // Slightly less, so that 99.9% of 1000 is 999 and not a little more.
            let rank = (percentile / 100.0 * all as f64 - 1e-9).ceil().max(1.0) as u64;
            let known = (rank <= recorded)
                .then(|| latency.value_at_quantile((rank as f64 - 0.5) / recorded as f64) as f64 / 1000.0);
            (format!("{percentile}"), json!(known))
        };
        Self {
            count,
            from_percentile: (count > 0).then(|| recorded as f64 * 100.0 / all as f64),
            percentiles_us: PERCENTILES.into_iter().map(at).collect(),
        }
    }
}

/// The CPU time of one event loop.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LoopCpu {
    /// CPU time in seconds.
    pub cpu_s: f64,
    /// The part of the CPU time spent polling with nothing to do, in seconds.
    pub spin_s: f64,
    /// Whether the loop ran at niceness -20.
    pub high_priority: bool,
}

/// A start on the wall clock that several generators share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommonStart {
    /// The requested time of the start.
    pub at: jiff::Timestamp,
    /// Nanoseconds by which the start was late; 0 if it was on time.
    pub missed_by_ns: u64,
}

/// The results of a run.
#[derive(Debug)]
pub struct Results {
    /// The load as requested.
    pub description: RunDescription,
    /// Number of requests that were due. Each was answered, failed or is unfinished.
    pub requests_due: u64,
    /// Counts and histograms over all threads and seconds.
    pub sum: Interval,
    /// The unfinished requests.
    pub unfinished: Unfinished,
    /// The largest number of requests that one connection had on the wire.
    pub pipelining: u64,
    /// Actual length of the run in nanoseconds.
    pub elapsed_ns: u64,
    /// CPU time of this process during the run, in nanoseconds.
    pub cpu_ns: u64,
    /// The part of the CPU time spent polling with nothing to do, in nanoseconds.
    pub spin_ns: u64,
    /// CPU time of each event loop.
    pub loops: Vec<LoopCpu>,
    /// The longest gaps in which a loop did not run, in chronological order.
    pub stops: Vec<GeneratorStop>,
    /// Why the run ended early or an output is missing, if that happened.
    pub failure: Option<String>,
    /// The sampled response rates, one per thread.
    pub request_rates: Vec<RequestRate>,
    /// The series, one row per second.
    pub series: Vec<SecondRow>,
    /// The generator's verdict on itself.
    pub verdict: Verdict,
    /// The part of the load that this generator sent.
    pub part: Part,
    /// The requested start, if there was one.
    pub start: Option<CommonStart>,
    /// One entry per generator, in the order of parts, if there were several.
    pub generators: Vec<GeneratorResult>,
}

/// The figures of one of several generators, for comparison with the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GeneratorResult {
    /// The generator's part, such as `2/3`.
    pub part: String,
    /// When the generator started, RFC 3339 in UTC.
    pub started_at: String,
    /// Microseconds by which the start was late; null if no start was requested.
    pub start_missed_by_us: Option<f64>,
    /// Number of the generator's requests that were due.
    pub requests_due: u64,
    /// Number of responses.
    pub requests: u64,
    /// Responses a second.
    pub requests_per_s: f64,
    /// Latencies in microseconds.
    pub latency_us: DistributionSummary,
    /// Send lag in microseconds.
    pub send_lag_us: DistributionSummary,
    /// CPU time of the generator in seconds.
    pub cpu_s: f64,
    /// The share of a CPU that the generator's busiest event loop used, without polling.
    pub busiest_loop_share: f64,
    /// The generator's verdict on itself.
    pub kept_schedule: Verdict,
}

impl GeneratorResult {
    pub(super) fn of(own: &Results) -> Self {
        Self {
            part: own.part.to_string(),
            started_at: own.description.started_at.clone(),
            start_missed_by_us: own.start.map(|start| start.missed_by_ns as f64 / 1000.0),
            requests_due: own.requests_due,
            requests: own.sum.requests,
            requests_per_s: own.per_second(own.sum.requests),
            latency_us: DistributionSummary::of(&own.sum.latencies.latency),
            send_lag_us: DistributionSummary::of(&own.sum.latencies.send_lag),
            cpu_s: own.cpu_ns as f64 / SECOND as f64,
            busiest_loop_share: own.busiest_loop_share(),
            kept_schedule: own.verdict.clone(),
        }
    }
}

impl Results {
    /// Actual length of the run in seconds.
    pub fn elapsed_s(&self) -> f64 {
        self.elapsed_ns as f64 / SECOND as f64
    }

    /// The share of a CPU that the busiest event loop used, without polling.
    pub fn busiest_loop_share(&self) -> f64 {
        let work_s = self.loops.iter().map(|event_loop| event_loop.cpu_s - event_loop.spin_s);
        work_s.fold(0.0, f64::max) / self.elapsed_s().max(1e-9)
    }

    /// The limit that requests without a latency set to the percentiles.
    pub fn censored(&self) -> Censored {
        Censored::of(&self.sum.latencies.latency, self.sum.recorded, self.requests_due)
    }

    /// Average of `count` per second over the whole run.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.elapsed_s().max(1e-9)
    }

    /// The samples of the response rates of all threads.
    pub fn request_rate_samples(&self) -> Histogram<u64> {
        let mut all = RequestRate::default().samples;
        for thread in &self.request_rates {
            all.add(&thread.samples).expect("all histograms of rates have the same bounds");
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::new_histogram;

    #[test]
    fn percentiles_that_unfinished_requests_may_exceed_are_unknown() {
        let mut latency = new_histogram();
        (1..=86u64).for_each(|value_us| latency.record(value_us * 1000).unwrap());
        let censored = Censored::of(&latency, 86, 100);
        assert_eq!((censored.count, censored.from_percentile), (14, Some(86.0)));
        let at = |percentile: &str| censored.percentiles_us[percentile].as_f64();
        // The median of all hundred is the 50th of the 86 that are known, not their own median.
        assert!((at("50").unwrap() - 50.0).abs() < 0.1, "{:?}", at("50"));
        assert!((at("75").unwrap() - 75.0).abs() < 0.1, "{:?}", at("75"));
        assert_eq!((at("90"), at("100")), (None, None));
    }

    #[test]
    fn without_unfinished_requests_every_percentile_is_that_of_the_latencies() {
        let mut latency = new_histogram();
        (1..=1000u64).for_each(|value_us| latency.record(value_us * 1000).unwrap());
        let censored = Censored::of(&latency, 1000, 1000);
        assert_eq!(censored.from_percentile, None);
        for percentile in PERCENTILES {
            let value_us = latency.value_at_percentile(percentile) as f64 / 1000.0;
            assert_eq!(censored.percentiles_us[&format!("{percentile}")], json!(value_us), "{percentile}");
        }
        let nothing = Censored::of(&new_histogram(), 0, 3);
        assert_eq!((nothing.from_percentile, &nothing.percentiles_us["50"]), (Some(0.0), &json!(null)));
    }
}
