//! The counts of one event loop in one second.
//!
//! The loop fills its own interval without locks or atomics. Each second it swaps the interval for an empty one and
//! sends the full one to the collector, which merges it and sends it back for reuse.
//!
//! Nearly every response has an expected status and belongs to a GET. Only the other responses are recorded a second
//! time, by class. Subtracting them from all responses gives the rest.

use super::STATUS_MAX;
use super::encoding::{histogram, statuses};
use super::read_errors::ReadErrors;
use crate::http::Operation;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// The longest time that a histogram can hold: a day in nanoseconds. Longer times count as a day.
const LATENCY_NS_MAX: u64 = 24 * 3600 * 1_000_000_000;

/// Status codes with which an overloaded server refuses a request.
const REFUSALS: [u16; 2] = [429, 503];

/// An empty histogram of nanoseconds: 1 ns to a day, three significant digits, about 300 KB.
pub fn new_histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3).expect("the bounds are valid")
}

/// A histogram that is created with its first sample.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Sparse(#[serde(with = "histogram::optional")] Option<Histogram<u64>>);

impl Sparse {
    fn record(&mut self, value_ns: u64) {
        self.0.get_or_insert_with(new_histogram).saturating_record(value_ns);
    }

    fn add(&mut self, other: &Self) {
        if let Some(part) = other.0.as_ref().filter(|part| !part.is_empty()) {
            self.0.get_or_insert_with(new_histogram).add(part).expect("all histograms have the same bounds");
        }
    }

    fn clear(&mut self) {
        if let Some(histogram) = self.0.as_mut().filter(|histogram| !histogram.is_empty()) {
            histogram.reset();
        }
    }

    fn subtract_from(&self, whole: &mut Histogram<u64>) {
        if let Some(part) = &self.0 {
            whole.subtract(part).expect("every sample of the part is in the whole");
        }
    }
}

/// The measurements of one response. Times are in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Time from the moment at which the request was due to the end of its response.
    pub latency_ns: u64,
    /// Time from the moment at which the request was sent to the end of its response.
    pub uncorrected_ns: u64,
    /// The part of the latency that the generator itself caused.
    pub own_error_ns: u64,
    /// The request's method.
    pub operation: Operation,
    /// Whether the status was expected.
    pub served: bool,
}

/// The times of all requests, in nanoseconds.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Latencies {
    /// Times from the moment at which a request was due to the end of its response.
    #[serde(with = "histogram")]
    pub latency: Histogram<u64>,
    /// Times from the moment at which a request was sent to the end of its response.
    #[serde(with = "histogram")]
    pub uncorrected: Histogram<u64>,
    /// Latency without the part that the generator itself caused.
    #[serde(with = "histogram")]
    pub net: Histogram<u64>,
    /// For each request sent, how much later it was sent than a generator that is never late would have sent it.
    #[serde(with = "histogram")]
    pub send_lag: Histogram<u64>,
    /// The part of `latency` whose status was not expected.
    unserved: Sparse,
    /// The part of `latency` by method, except GET.
    by_operation: [Sparse; Operation::COUNT],
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            latency: new_histogram(),
            uncorrected: new_histogram(),
            net: new_histogram(),
            send_lag: new_histogram(),
            unserved: Sparse::default(),
            by_operation: Default::default(),
        }
    }
}

impl Latencies {
    /// Records a response.
    #[inline]
    pub fn record(&mut self, sample: Sample) {
        self.latency.saturating_record(sample.latency_ns);
        self.uncorrected.saturating_record(sample.uncorrected_ns);
        self.net.saturating_record(sample.latency_ns.saturating_sub(sample.own_error_ns));
        if !sample.served {
            self.unserved.record(sample.latency_ns);
        }
        if sample.operation != Operation::Get {
            self.by_operation[sample.operation as usize].record(sample.latency_ns);
        }
    }

    /// The latencies of responses with an expected status.
    pub fn served(&self) -> Histogram<u64> {
        let mut served = self.latency.clone();
        self.unserved.subtract_from(&mut served);
        served
    }

    /// The latencies of each method that has samples.
    pub fn by_operation(&self) -> Vec<(Operation, Histogram<u64>)> {
        let mut get = self.latency.clone();
        self.by_operation.iter().for_each(|part| part.subtract_from(&mut get));
        let histogram = |operation: Operation| match operation {
            Operation::Get => Some(get.clone()),
            other => self.by_operation[other as usize].0.clone(),
        };
        let all = Operation::ALL.into_iter().filter_map(|operation| Some((operation, histogram(operation)?)));
        all.filter(|(_, histogram)| !histogram.is_empty()).collect()
    }

    /// Adds the samples of `other`.
    pub fn add(&mut self, other: &Self) {
        for (sum, part) in [
            (&mut self.latency, &other.latency),
            (&mut self.uncorrected, &other.uncorrected),
            (&mut self.net, &other.net),
            (&mut self.send_lag, &other.send_lag),
        ] {
            sum.add(part).expect("all histograms have the same bounds");
        }
        self.unserved.add(&other.unserved);
        for (sum, part) in self.by_operation.iter_mut().zip(&other.by_operation) {
            sum.add(part);
        }
    }

    /// Removes all samples.
    pub fn clear(&mut self) {
        for histogram in [&mut self.latency, &mut self.uncorrected, &mut self.net, &mut self.send_lag] {
            histogram.reset();
        }
        self.unserved.clear();
        self.by_operation.iter_mut().for_each(Sparse::clear);
    }
}

/// The statuses that count as served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedStatuses(Box<[bool; STATUS_MAX + 1]>);

impl ExpectedStatuses {
    /// Makes the set of 200 to 399 and the statuses in `more`.
    pub fn with(more: &[u16]) -> Self {
        let mut expected = Box::new([false; STATUS_MAX + 1]);
        expected[200..400].fill(true);
        for status in more {
            expected[usize::from(*status).min(STATUS_MAX)] = true;
        }
        Self(expected)
    }

    /// Whether a response with `status` counts as served.
    #[inline]
    pub fn contains(&self, status: u16) -> bool {
        self.0[usize::from(status).min(STATUS_MAX)]
    }
}

/// Number of failures by class, as in wrk2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// Attempts to connect that failed.
    pub connect: u64,
    /// Requests whose response was cut off or was not valid HTTP.
    pub read: u64,
    /// Requests that could not be written.
    pub write: u64,
    /// Requests that took longer than `--timeout` after sending. Each is counted once, and its response is still
    /// awaited.
    pub timeout: u64,
    /// Responses with a status that was not expected.
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

    /// The sum over all classes.
    pub fn total(&self) -> u64 {
        self.connect + self.read + self.write + self.timeout + self.status
    }
}

/// The counts of one event loop for one second.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Interval {
    /// The times of the answered requests.
    pub latencies: Latencies,
    /// Number of requests sent.
    pub sent: u64,
    /// Number of responses.
    pub requests: u64,
    /// Number of requests whose latency is in `latencies`. With `--batch_latency`, one latency stands for its batch.
    pub recorded: u64,
    /// Number of requests that were lost with their connection.
    pub lost: u64,
    /// Number of responses with an expected status.
    pub served: u64,
    /// Number of responses that refuse the request because of overload (429, 503), unless that status is expected.
    pub refused: u64,
    /// Number of bytes read from the sockets.
    pub bytes_read: u64,
    /// Failures by class.
    pub errors: Errors,
    /// The reasons of `errors.read`.
    pub read_errors: ReadErrors,
    /// Number of requests on the wire at the end of the second.
    pub in_flight: u64,
    /// CPU time of all loops.
    pub cpu_ns: u64,
    /// CPU time of the busiest loop, without polling.
    pub work_ns_max: u64,
    #[serde(with = "statuses")]
    statuses: Box<[u64; STATUS_MAX + 1]>,
}

impl Default for Interval {
    fn default() -> Self {
        Self {
            latencies: Latencies::default(),
            sent: 0,
            requests: 0,
            recorded: 0,
            lost: 0,
            served: 0,
            refused: 0,
            bytes_read: 0,
            errors: Errors::default(),
            read_errors: ReadErrors::default(),
            in_flight: 0,
            cpu_ns: 0,
            work_ns_max: 0,
            statuses: Box::new([0; STATUS_MAX + 1]),
        }
    }
}

impl Interval {
    /// Counts a response with `status`.
    #[inline]
    pub fn count_response(&mut self, status: u16, served: bool) {
        self.requests += 1;
        self.statuses[usize::from(status).min(STATUS_MAX)] += 1;
        if served {
            self.served += 1;
        } else {
            self.errors.status += 1;
            self.refused += u64::from(REFUSALS.contains(&status));
        }
    }

    /// Counts `count` requests whose response was lost for `reason`; `first` says what happened.
    pub fn count_read_errors(&mut self, count: u64, reason: &str, first: String) {
        self.errors.read += count;
        self.read_errors.count(reason, count, first);
    }

    /// The status codes that occurred, each with its count, in ascending order.
    pub fn statuses(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let counts = self.statuses.iter().enumerate();
        counts.filter(|(_, count)| **count > 0).map(|(status, count)| (status as u16, *count))
    }

    /// Number of responses with a status outside 200–399, even if it was expected. wrk2's line of this name counts those
    /// above 399 only.
    pub fn non_2xx_or_3xx(&self) -> u64 {
        self.statuses().filter(|(status, _)| !(200..400).contains(status)).map(|(_, count)| count).sum()
    }

    /// Empties the interval for reuse.
    pub fn clear(&mut self) {
        self.latencies.clear();
        self.sent = 0;
        self.requests = 0;
        self.recorded = 0;
        self.lost = 0;
        self.served = 0;
        self.refused = 0;
        self.bytes_read = 0;
        self.errors = Errors::default();
        self.read_errors.clear();
        self.in_flight = 0;
        self.cpu_ns = 0;
        self.work_ns_max = 0;
        self.statuses.fill(0);
    }

    /// Adds the counts and samples of `other`. `in_flight`, a gauge, is summed over loops.
    pub fn add(&mut self, other: &Self) {
        self.latencies.add(&other.latencies);
        self.sent += other.sent;
        self.requests += other.requests;
        self.recorded += other.recorded;
        self.lost += other.lost;
        self.served += other.served;
        self.refused += other.refused;
        self.bytes_read += other.bytes_read;
        self.errors.add(&other.errors);
        self.read_errors.add(&other.read_errors);
        self.in_flight += other.in_flight;
        self.cpu_ns += other.cpu_ns;
        self.work_ns_max = self.work_ns_max.max(other.work_ns_max);
        for (sum, part) in self.statuses.iter_mut().zip(other.statuses.iter()) {
            *sum += part;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(latency_ns: u64, operation: Operation, served: bool) -> Sample {
        Sample { latency_ns, uncorrected_ns: latency_ns, own_error_ns: latency_ns / 2, operation, served }
    }

    #[test]
    fn served_latencies_and_those_of_each_method_are_parts_of_the_whole() {
        let mut second = Latencies::default();
        for latency_ns in 1..=100 {
            second.record(sample(latency_ns, Operation::Get, true));
        }
        second.record(sample(5_000, Operation::Put, true));
        second.record(sample(7, Operation::Put, false));
        let mut sum = Latencies::default();
        sum.add(&second);
        second.clear();
        sum.add(&second);
        assert_eq!((sum.latency.len(), sum.served().len()), (102, 101));
        let operations: Vec<_> =
            sum.by_operation().iter().map(|(operation, h)| (operation.name(), h.len(), h.max())).collect();
        assert_eq!(operations, [("GET", 100, 100), ("PUT", 2, 5_000 | 3)]);
        assert_eq!((sum.net.len(), sum.net.max()), (102, 2_500 | 1));
    }

    #[test]
    fn an_expected_status_counts_as_served() {
        let expected = ExpectedStatuses::with(&[404]);
        let mut second = Interval::default();
        for status in [200, 302, 404, 500, 503, 429] {
            second.count_response(status, expected.contains(status));
        }
        assert_eq!((second.requests, second.served, second.refused, second.errors.status), (6, 3, 2, 3));
        assert_eq!(second.non_2xx_or_3xx(), 4);
        assert!(!ExpectedStatuses::with(&[]).contains(404));
    }
}
