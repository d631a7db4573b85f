//! What one thread counted in one second.
//!
//! The thread fills a box of its own without locks or atomics. Each second it swaps the box for an
//! empty one and sends the full one to the collector, which merges it and sends it back for reuse.

use hdrhistogram::Histogram;

/// The longest time a histogram tells apart, a day in nanoseconds; longer ones count as a day.
const LATENCY_NS_MAX: u64 = 24 * 3600 * 1_000_000_000;

/// Status codes up to here are counted one by one.
const STATUS_MAX: usize = 999;

/// An empty histogram of nanoseconds: 1 ns to a day, three significant digits, about 300 KB.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3).expect("the bounds are valid")
}

/// The three times of every request, in nanoseconds.
#[derive(Debug, Clone)]
pub struct Latencies {
    /// From the moment the request was due to the end of its answer.
    pub latency: Histogram<u64>,
    /// From the moment it was sent to the end of its answer.
    pub uncorrected: Histogram<u64>,
    /// From the moment it was due to the moment it was sent, where its connection was free when it
    /// fell due: the generator's own error.
    pub send_lag: Histogram<u64>,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { latency: new_histogram(), uncorrected: new_histogram(), send_lag: new_histogram() }
    }
}

impl Latencies {
    /// Adds the samples of `other`.
    pub fn add(&mut self, other: &Self) {
        for (sum, part) in [
            (&mut self.latency, &other.latency),
            (&mut self.uncorrected, &other.uncorrected),
            (&mut self.send_lag, &other.send_lag),
        ] {
            sum.add(part).expect("all histograms have the same bounds");
        }
    }

    /// Removes all samples.
    pub fn clear(&mut self) {
        for histogram in [&mut self.latency, &mut self.uncorrected, &mut self.send_lag] {
            histogram.reset();
        }
    }
}

/// Failures by class, as wrk2 has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Errors {
    /// Attempts to connect that failed.
    pub connect: u64,
    /// Requests whose answer was cut off or was no HTTP.
    pub read: u64,
    /// Requests that could not be written.
    pub write: u64,
    /// Requests that took longer than `--timeout` from sending; counted once, their answer still awaited.
    pub timeout: u64,
    /// Answers with a status outside 200–399.
    pub status: u64,
}

impl Errors {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.connect += other.connect;
        self.read += other.read;
        self.write += other.write;
        self.timeout += other.timeout;
        self.status += other.status;
    }

    /// All classes together.
    pub fn total(&self) -> u64 {
        self.connect + self.read + self.write + self.timeout + self.status
    }
}

/// One thread's box for one second.
#[derive(Debug, Clone)]
pub struct Interval {
    /// The three times of the requests that were answered.
    pub latencies: Latencies,
    /// Answers.
    pub requests: u64,
    /// Requests that will have no answer: they failed with a read or write error.
    pub failed: u64,
    /// Bytes read from the sockets.
    pub bytes_read: u64,
    /// Failures by class.
    pub errors: Errors,
    /// Requests on the wire at the end of the second.
    pub in_flight: u64,
    statuses: Box<[u64; STATUS_MAX + 1]>,
}

impl Default for Interval {
    fn default() -> Self {
        Self {
            latencies: Latencies::default(),
            requests: 0,
            failed: 0,
            bytes_read: 0,
            errors: Errors::default(),
            in_flight: 0,
            statuses: Box::new([0; STATUS_MAX + 1]),
        }
    }
}

impl Interval {
    /// Counts an answer with `status`.
    #[inline]
    pub fn count_answer(&mut self, status: u16) {
        self.requests += 1;
        self.statuses[usize::from(status).min(STATUS_MAX)] += 1;
        if !(200..400).contains(&status) {
            self.errors.status += 1;
        }
    }

    /// The status codes that occurred and how often, in ascending order.
    pub fn statuses(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let counts = self.statuses.iter().enumerate();
        counts.filter(|(_, count)| **count > 0).map(|(status, count)| (status as u16, *count))
    }

    /// Empties the box for reuse.
    pub fn clear(&mut self) {
        self.latencies.clear();
        self.requests = 0;
        self.failed = 0;
        self.bytes_read = 0;
        self.errors = Errors::default();
        self.in_flight = 0;
        self.statuses.fill(0);
    }

    /// Adds the counts and samples of `other`; `in_flight`, a level, is summed over threads.
    pub fn add(&mut self, other: &Self) {
        self.latencies.add(&other.latencies);
        self.requests += other.requests;
        self.failed += other.failed;
        self.bytes_read += other.bytes_read;
        self.errors.add(&other.errors);
        self.in_flight += other.in_flight;
        for (sum, part) in self.statuses.iter_mut().zip(other.statuses.iter()) {
            *sum += part;
        }
    }
}
