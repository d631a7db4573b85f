//! All that a run found.

use super::verdict::Verdict;
use crate::cli::Pool;
use crate::clock::SECOND;
use crate::exec::RequestRate;
use crate::stats::{Interval, SecondRow};
use hdrhistogram::Histogram;
use serde::Serialize;

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunDescription {
    /// The URL under test.
    pub url: String,
    /// The script's file.
    pub script: Option<String>,
    /// Threads.
    pub threads: u64,
    /// Connections, all threads together.
    pub connections: u64,
    /// Event loops that ran the threads.
    pub event_loops: u64,
    /// Which connection sends a request.
    pub pool: Pool,
    /// Length of the warm-up that is in no figure, in seconds.
    pub warmup_s: f64,
    /// Length in seconds.
    pub duration_s: f64,
    /// Requests a second.
    pub rate_per_s: f64,
    /// Start, RFC 3339 in UTC.
    pub started_at: String,
}

/// Requests that were due and had neither an answer nor an error at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Unfinished {
    /// How many.
    pub count: u64,
    /// For how long the oldest had been due, in nanoseconds: a lower bound of its latency.
    pub oldest_ns: u64,
}

/// All that a run found.
#[derive(Debug)]
pub struct Results {
    /// What was asked for.
    pub description: RunDescription,
    /// Requests that fell due; each was answered, failed or is unfinished.
    pub requests_due: u64,
    /// Counts and histograms of all threads and seconds.
    pub sum: Interval,
    /// What was left undone.
    pub unfinished: Unfinished,
    /// Actual length in nanoseconds.
    pub elapsed_ns: u64,
    /// CPU time of this process during the run, in nanoseconds.
    pub cpu_ns: u64,
    /// The part of it that was spent polling for what was not there yet.
    pub spin_ns: u64,
    /// Sampled rates, one a thread.
    pub request_rates: Vec<RequestRate>,
    /// A row a second.
    pub series: Vec<SecondRow>,
    /// The generator's judgement of itself.
    pub verdict: Verdict,
}

impl Results {
    /// Actual length in seconds.
    pub fn elapsed_s(&self) -> f64 {
        self.elapsed_ns as f64 / SECOND as f64
    }

    /// `count` a second, over the whole run.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.elapsed_s().max(1e-9)
    }

    /// The sampled rates of all threads.
    pub fn request_rate_samples(&self) -> Histogram<u64> {
        let mut all = RequestRate::default().samples;
        for thread in &self.request_rates {
            all.add(&thread.samples).expect("all histograms of rates have the same bounds");
        }
        all
    }
}
