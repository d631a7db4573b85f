//! Output during a run: Prometheus metrics and a line on the terminal.

use crate::clock::process_cpu_ns;
use crate::http::Operation;
use crate::stats::{Errors, Interval, SecondRow};
use hdrhistogram::Histogram;
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The quantiles of the last second that are reported.
const QUANTILES: [(&str, f64); 5] = [("0.5", 0.5), ("0.9", 0.9), ("0.99", 0.99), ("0.999", 0.999), ("1", 1.0)];

/// Upper bounds of the latency histogram's buckets, in seconds: 50 µs, 75 µs, 100 µs, 150 µs … 79 s, two per doubling.
const BUCKETS_S: [f64; 42] = {
    let mut bounds = [0.0; 42];
    let mut index = 0;
    while index < bounds.len() {
        bounds[index] = (50_u64 << (index / 2)) as f64 / 1e6;
        bounds[index + 1] = (75_u64 << (index / 2)) as f64 / 1e6;
        index += 2;
    }
    bounds
};

/// Latencies of the run so far, as the cumulative buckets of a Prometheus histogram.
#[derive(Debug, Clone, Copy)]
struct Buckets {
    at_most: [u64; BUCKETS_S.len()],
    count: u64,
    sum_s: f64,
}

impl Default for Buckets {
    fn default() -> Self {
        Self { at_most: [0; BUCKETS_S.len()], count: 0, sum_s: 0.0 }
    }
}

impl Buckets {
    fn add(&mut self, latency: &Histogram<u64>) {
        for step in latency.iter_recorded() {
            let (value_s, count) = (step.value_iterated_to() as f64 / 1e9, step.count_at_value());
            let first = BUCKETS_S.partition_point(|bound_s| *bound_s < value_s);
            self.at_most[first..].iter_mut().for_each(|at_most| *at_most += count);
            self.sum_s += latency.median_equivalent(step.value_iterated_to()) as f64 / 1e9 * count as f64;
            self.count += count;
        }
    }
}

/// Times of one kind: the quantiles of the last second, and the number and the sum over the run so far, as a Prometheus
/// summary has them.
#[derive(Debug, Clone, Copy)]
struct Times {
    /// At [`QUANTILES`] in seconds; NaN if the last second had none.
    last_s: [f64; QUANTILES.len()],
    count: u64,
    sum_s: f64,
}

impl Default for Times {
    fn default() -> Self {
        Self { last_s: [f64::NAN; QUANTILES.len()], count: 0, sum_s: 0.0 }
    }
}

impl Times {
    /// Adds the times of a second in nanoseconds.
    fn add(&mut self, second: &Histogram<u64>) {
        let at =
            |quantile: f64| if second.is_empty() { f64::NAN } else { second.value_at_quantile(quantile) as f64 / 1e9 };
        self.last_s = QUANTILES.map(|(_, quantile)| at(quantile));
        self.count += second.len();
        self.sum_s += second.mean() / 1e9 * second.len() as f64;
    }

    /// The samples of a summary.
    fn summary(&self) -> Vec<(String, f64)> {
        let quantiles = QUANTILES.iter().zip(self.last_s);
        let quantiles = quantiles.map(|((name, _), value)| (format!("{{quantile=\"{name}\"}}"), value));
        quantiles.chain([("_sum".to_owned(), self.sum_s), ("_count".to_owned(), self.count as f64)]).collect()
    }
}

/// Time within which a client must send its request for metrics.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(2);

/// Maximum size of a request for metrics in bytes.
const REQUEST_BYTES_MAX: u64 = 16 * 1024;

/// The state of a run as of its last complete second.
#[derive(Debug, Clone)]
pub struct Live {
    /// Target rate in requests a second.
    pub rate_per_s: f64,
    /// Number of requests that have been due so far.
    pub due: u64,
    /// Number of responses so far.
    pub requests: u64,
    /// Number of responses in the last second.
    pub requests_last_second: u64,
    /// Failures so far.
    pub errors: Errors,
    /// Number of responses so far with an expected status, and of those that refused a request.
    served: u64,
    refused: u64,
    /// Number of requests on the wire.
    pub in_flight: u64,
    /// Number of requests that are due but not sent.
    backlog: u64,
    /// Share of a CPU that the busiest event loop used in the last second.
    busiest_loop_share: f64,
    /// Latencies by method.
    buckets: [Buckets; Operation::COUNT],
    latency: Times,
    /// Latency without the generator's own delays.
    net_latency: Times,
    send_lag: Times,
}

impl Live {
    /// The state before the first second of a run at `rate_per_s`.
    pub fn new(rate_per_s: f64) -> Self {
        Self {
            rate_per_s,
            due: 0,
            requests: 0,
            requests_last_second: 0,
            errors: Errors::default(),
            served: 0,
            refused: 0,
            in_flight: 0,
            backlog: 0,
            busiest_loop_share: 0.0,
            buckets: Default::default(),
            latency: Times::default(),
            net_latency: Times::default(),
            send_lag: Times::default(),
        }
    }

    /// Adds a second. `sum` holds its counts, and `row` is its row in the series.
    pub fn add_second(&mut self, row: &SecondRow, sum: &Interval) {
        self.due += row.due;
        self.backlog = row.backlog;
        self.busiest_loop_share = row.busiest_loop_share;
        self.served += sum.served;
        self.refused += sum.refused;
        for (operation, latency) in sum.latencies.by_operation() {
            self.buckets[operation as usize].add(&latency);
        }
        self.requests += sum.requests;
        self.requests_last_second = sum.requests;
        self.errors.add(&sum.errors);
        self.in_flight = sum.in_flight;
        self.latency.add(&sum.latencies.latency);
        self.net_latency.add(&sum.latencies.net);
        self.send_lag.add(&sum.latencies.send_lag);
    }

    /// The state in Prometheus' text format.
    pub fn metrics(&self) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: Vec<(String, f64)>| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in samples {
                let value = if value.is_nan() { "NaN".to_owned() } else { value.to_string() };
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        let one = |value: f64| vec![(String::new(), value)];
        let errors = [
            ("connect", self.errors.connect),
            ("read", self.errors.read),
            ("write", self.errors.write),
            ("timeout", self.errors.timeout),
            ("status", self.errors.status),
        ];
        let by_kind = errors.map(|(kind, count)| (format!("{{kind=\"{kind}\"}}"), count as f64)).to_vec();
        family("loadgen_target_rate", "gauge", "Requested rate in requests a second.", one(self.rate_per_s));
        family("loadgen_requests_due_total", "counter", "Requests that were due.", one(self.due as f64));
        family("loadgen_requests_total", "counter", "Responses.", one(self.requests as f64));
        family("loadgen_served_total", "counter", "Responses with an expected status.", one(self.served as f64));
        family("loadgen_refused_total", "counter", "Responses with status 429 or 503.", one(self.refused as f64));
        family("loadgen_errors_total", "counter", "Failures by kind.", by_kind);
        family("loadgen_in_flight", "gauge", "Requests on the wire.", one(self.in_flight as f64));
        family("loadgen_backlog", "gauge", "Requests due and not sent.", one(self.backlog as f64));
        let used = Operation::ALL.into_iter().map(|operation| (operation.name(), &self.buckets[operation as usize]));
        let histogram = used.filter(|(_, buckets)| buckets.count > 0).flat_map(|(name, buckets)| {
            let bounds = BUCKETS_S.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
            let counts = buckets.at_most.iter().copied().chain([buckets.count]);
            let bucket = move |(bound, count): (String, u64)| {
                (format!("_bucket{{operation=\"{name}\",le=\"{bound}\"}}"), count as f64)
            };
            let totals = [("_sum", buckets.sum_s), ("_count", buckets.count as f64)];
            let total = move |(suffix, value): (&str, f64)| (format!("{suffix}{{operation=\"{name}\"}}"), value);
            bounds.zip(counts).map(bucket).chain(totals.into_iter().map(total)).collect::<Vec<_>>()
        });
        let help = "Latency of all responses, from the moment each request was due.";
        family("loadgen_response_latency_seconds", "histogram", help, histogram.collect());
        let help = "Latency from the moment each request was due; quantiles of the last second.";
        family("loadgen_latency_seconds", "summary", help, self.latency.summary());
        let help = "Latency without the generator's own delays; quantiles of the last second.";
        family("loadgen_net_latency_seconds", "summary", help, self.net_latency.summary());
        let help = "Send lag, the generator's own lateness; quantiles of the last second.";
        family("loadgen_send_lag_seconds", "summary", help, self.send_lag.summary());
        let cpu_s = process_cpu_ns() as f64 / 1e9;
        family("loadgen_cpu_seconds_total", "counter", "CPU time of the generator.", one(cpu_s));
        let help = "The busiest event loop's share of a CPU in the last second, polling left out.";
        family("loadgen_busiest_loop_share", "gauge", help, one(self.busiest_loop_share));
        text
    }

    /// The state as one line for a terminal, without a line end.
    pub fn line(&self, second: u64, duration_s: f64) -> String {
        let time =
            |seconds: f64| if seconds.is_nan() { "-".to_owned() } else { crate::units::format_time_us(seconds * 1e6) };
        format!(
            "{:>4}s of {duration_s:.0}s  {}/s  p50 {}  p99 {}  max {}  in flight {}  errors {}",
            second + 1,
            self.requests_last_second,
            time(self.latency.last_s[0]),
            time(self.latency.last_s[2]),
            time(self.latency.last_s[4]),
            self.in_flight,
            self.errors.total(),
        )
    }
}

/// Serves the metrics of `live` until the process ends. Returns the address that it listens on.
pub fn serve_metrics(address: SocketAddr, live: Arc<Mutex<Live>>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    thread::Builder::new().name("loadgen-metrics".to_owned()).spawn(move || {
        for stream in listener.incoming().flatten() {
            let text = live.lock().expect("held for copies only").metrics();
            // A client that disconnects or sends nonsense gets no response; the next one is served.
            let _ = answer(&stream, &text);
        }
    })?;
    Ok(address)
}

fn answer(mut stream: &TcpStream, metrics: &str) -> io::Result<()> {
    stream.set_read_timeout(Some(CLIENT_TIMEOUT))?;
    stream.set_write_timeout(Some(CLIENT_TIMEOUT))?;
    let mut reader = BufReader::new(stream.take(REQUEST_BYTES_MAX));
    let mut request = String::new();
    reader.read_line(&mut request)?;
    // The rest of the head is read, so that closing does not reset the connection.
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    let path = request.split_whitespace().nth(1).unwrap_or_default();
    let (status, body) = match path {
        "/metrics" => ("200 OK", metrics),
        _ => ("404 Not Found", "the metrics are at /metrics\n"),
    };
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SECOND;
    use crate::stats::{Sample, Second};

    #[test]
    fn metrics_have_every_family_with_a_type_and_valid_samples() {
        let mut live = Live::new(50.0);
        let mut second = Interval::default();
        second.count_response(200, true);
        second.count_response(500, false);
        let sample = |latency_ns: u64, operation| Sample {
            latency_ns,
            uncorrected_ns: latency_ns,
            own_error_ns: 0,
            operation,
            served: true,
        };
        second.latencies.record(sample(1_999_000, Operation::Get));
        second.latencies.record(sample(300_000_000, Operation::Put));
        second.work_ns_max = 250_000_000;
        let second = Second { index: 0, sum: second };
        live.add_second(&second.row(50, 48, SECOND), &second.sum);
        live.add_second(&second.row(50, 48, SECOND), &second.sum);
        let text = live.metrics();
        for line in [
            "# TYPE loadgen_target_rate gauge",
            "loadgen_target_rate 50",
            "loadgen_requests_due_total 100",
            "loadgen_requests_total 4",
            "loadgen_served_total 2",
            "loadgen_backlog 48",
            "loadgen_busiest_loop_share 0.25",
            "# TYPE loadgen_response_latency_seconds histogram",
            "loadgen_response_latency_seconds_bucket{operation=\"GET\",le=\"0.0016\"} 0",
            "loadgen_response_latency_seconds_bucket{operation=\"GET\",le=\"0.0024\"} 2",
            "loadgen_response_latency_seconds_bucket{operation=\"GET\",le=\"+Inf\"} 2",
            "loadgen_response_latency_seconds_count{operation=\"GET\"} 2",
            "loadgen_response_latency_seconds_bucket{operation=\"PUT\",le=\"0.2048\"} 0",
            "loadgen_response_latency_seconds_bucket{operation=\"PUT\",le=\"0.3072\"} 2",
            "loadgen_errors_total{kind=\"status\"} 2",
            "loadgen_errors_total{kind=\"connect\"} 0",
            "# TYPE loadgen_send_lag_seconds summary",
            "loadgen_send_lag_seconds{quantile=\"0.99\"} NaN",
            "loadgen_send_lag_seconds_count 0",
            "loadgen_latency_seconds_count 4",
        ] {
            assert!(text.lines().any(|have| have == line), "{line} in\n{text}");
        }
        assert!(text.contains("\nloadgen_latency_seconds{quantile=\"1\"} 0.3"), "{text}");
        assert!(text.contains("\nloadgen_net_latency_seconds{quantile=\"0.5\"} 0.00"), "{text}");
        assert!(text.contains("\nloadgen_response_latency_seconds_sum{operation=\"GET\"} 0.0039"), "{text}");
        assert!(!text.contains("operation=\"POST\""), "{text}");
        assert!(live.line(0, 10.0).starts_with("   1s of 10s  2/s  p50 2.00ms"), "{}", live.line(0, 10.0));
    }
}
