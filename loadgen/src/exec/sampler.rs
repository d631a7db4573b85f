//! wrk2's `Thread calibration` and `Req/Sec` lines: the response rate, sampled over short intervals.

use crate::clock::{MILLISECOND, SECOND};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Nanoseconds after which a thread calibrates; in a shorter run it calibrates at half of the run.
const CALIBRATION_NS: u64 = 10 * SECOND;

/// The results of a thread's sampler.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RequestRate {
    /// Mean latency until calibration in milliseconds; NaN without a response.
    #[serde(with = "crate::stats::encoding::number")]
    pub calibration_mean_ms: f64,
    /// Length of the sampling interval that the calibration chose, in milliseconds.
    pub interval_ms: u64,
    /// The samples: responses a second of this thread.
    #[serde(with = "crate::stats::encoding::histogram")]
    pub samples: Histogram<u64>,
}

/// A histogram of rates: up to a thousand million a second, three significant digits.
fn rate_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 1_000_000_000, 3).expect("the bounds are valid")
}

impl Default for RequestRate {
    fn default() -> Self {
        Self { calibration_mean_ms: f64::NAN, interval_ms: 0, samples: rate_histogram() }
    }
}

/// Samples the response rate of one thread. As in wrk2, the interval is twice the 90th percentile of latency, but at
/// least 10 ms.
#[derive(Debug)]
pub(super) struct Sampler {
    found: RequestRate,
    calibration: Option<Histogram<u64>>,
    next_ns: u64,
    last_ns: u64,
    requests: u64,
}

impl Sampler {
    /// Makes a sampler for the time from `start_ns` to `end_ns`.
    pub(super) fn new(start_ns: u64, end_ns: u64) -> Self {
        Self {
            found: RequestRate::default(),
            calibration: Some(crate::stats::new_histogram()),
            next_ns: start_ns + CALIBRATION_NS.min((end_ns - start_ns) / 2),
            last_ns: start_ns,
            requests: 0,
        }
    }

    /// Counts a response that arrived `latency_ns` after its request was due.
    #[inline]
    pub(super) fn count_response(&mut self, latency_ns: u64) {
        self.requests += 1;
        if let Some(calibration) = &mut self.calibration {
            calibration.saturating_record(latency_ns);
        }
    }

    /// When [`Sampler::sample`] must be called next.
    #[inline]
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Calibrates on the first call, and takes a sample on each later one.
    pub(super) fn sample(&mut self, now_ns: u64) {
        match self.calibration.take() {
            Some(latency) => {
                if !latency.is_empty() {
                    self.found.calibration_mean_ms = latency.mean() / MILLISECOND as f64;
                }
                let double_p90_ms = 2 * latency.value_at_quantile(0.9) / MILLISECOND;
                self.found.interval_ms = double_p90_ms.max(10);
            }
            None => {
                let elapsed_ns = (now_ns - self.last_ns).max(1);
                let per_second = u128::from(self.requests) * u128::from(SECOND) / u128::from(elapsed_ns);
                self.found.samples.saturating_record(per_second as u64);
            }
        }
        self.requests = 0;
        self.last_ns = now_ns;
        self.next_ns = now_ns + self.found.interval_ms * MILLISECOND;
    }

    pub(super) fn finish(self) -> RequestRate {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_twice_the_90th_percentile_and_samples_are_rates() {
        let mut sampler = Sampler::new(0, 4 * SECOND);
        assert_eq!(sampler.next_ns(), 2 * SECOND);
        for _ in 0..100 {
            sampler.count_response(15 * MILLISECOND);
        }
        sampler.sample(2 * SECOND);
        assert_eq!(sampler.next_ns(), 2 * SECOND + 30 * MILLISECOND);
        for _ in 0..60 {
            sampler.count_response(1);
        }
        sampler.sample(2 * SECOND + 30 * MILLISECOND);
        let found = sampler.finish();
        assert_eq!(found.interval_ms, 30);
        assert!((found.calibration_mean_ms - 15.0).abs() < 0.02);
        assert_eq!((found.samples.len(), found.samples.max()), (1, 2000));
    }

    #[test]
    fn a_silent_server_leaves_no_number() {
        let mut sampler = Sampler::new(0, SECOND);
        sampler.sample(SECOND / 2);
        let found = sampler.finish();
        assert!(found.calibration_mean_ms.is_nan());
        assert_eq!(found.interval_ms, 10);
    }
}
