//! The report in wrk2's layout, byte for byte.

use super::results::Results;
use super::spectrum::{Spectrum, in_microseconds};
use crate::stats::{PERCENTILES, within_stdev};
use crate::units::{fixed, format_binary, format_metric, format_time_s, format_time_us};
use hdrhistogram::Histogram;
use std::fmt;

/// The heading, printed before the run: its length in seconds, the URL, threads and connections.
pub fn heading(duration_s: f64, url: &str, threads: u64, connections: u64) -> String {
    let duration = format_time_s(duration_s);
    format!("Running {duration} test @ {url}\n  {threads} threads and {connections} connections\n")
}

/// A row of `Thread Stats`.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadStat {
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation.
    pub stdev: f64,
    /// Maximum.
    pub max: f64,
    /// Percentage of the samples within one standard deviation of the mean.
    pub within_stdev: f64,
}

impl ThreadStat {
    /// Summarises a histogram. Mean and standard deviation are NaN if it is empty.
    fn of(histogram: &Histogram<u64>) -> Self {
        let some = |value: f64| if histogram.is_empty() { f64::NAN } else { value };
        Self {
            mean: some(histogram.mean()),
            stdev: some(histogram.stdev()),
            max: histogram.lowest_equivalent(histogram.max()) as f64,
            within_stdev: within_stdev(histogram),
        }
    }
}

/// A latency distribution with its spectrum.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencyBlock {
    /// The kind of latency, such as `Recorded Latency`.
    pub title: String,
    /// Pairs of a percentile and its latency in microseconds.
    pub percentiles: Vec<(f64, f64)>,
    /// The detailed spectrum.
    pub spectrum: Spectrum,
}

impl LatencyBlock {
    fn of(title: &str, histogram: &Histogram<u64>) -> Self {
        let value = |p: f64| (p, histogram.value_at_percentile(p) as f64);
        Self {
            title: title.to_owned(),
            percentiles: PERCENTILES.into_iter().map(value).collect(),
            spectrum: Spectrum::of(histogram),
        }
    }
}

/// Everything that follows the heading. Times are in microseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct TextReport {
    /// For each thread, its mean latency until calibration and its sampling interval, both in milliseconds.
    pub calibrations: Vec<(f64, u64)>,
    /// Latency in microseconds.
    pub latency: ThreadStat,
    /// Responses a second of a single thread.
    pub request_rate: ThreadStat,
    /// The distributions that -L and -U ask for.
    pub blocks: Vec<LatencyBlock>,
    /// Number of responses.
    pub requests: u64,
    /// Length of the run in microseconds.
    pub elapsed_us: f64,
    /// Number of bytes read.
    pub bytes: u64,
    /// Number of socket errors: connect, read, write and timeout.
    pub socket_errors: [u64; 4],
    /// Number of responses with a status outside 200–399.
    pub bad_status: u64,
    /// Responses a second.
    pub requests_per_s: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Lines that wrk2 does not have. They follow all of wrk2's lines.
    pub appendix: Vec<(String, String)>,
}

impl TextReport {
    /// The report of `results`, with one distribution if `latency` is true and another if `uncorrected` is true.
    pub fn of(results: &Results, latency: bool, uncorrected: bool) -> Self {
        let latencies = &results.sum.latencies;
        let recorded = in_microseconds(&latencies.latency);
        let mut blocks = Vec::new();
        if latency || uncorrected {
            blocks.push(LatencyBlock::of("Recorded Latency", &recorded));
        }
        if uncorrected {
            let title = "Uncorrected Latency (measured without taking delayed starts into account)";
            blocks.push(LatencyBlock::of(title, &in_microseconds(&latencies.uncorrected)));
        }
        let errors = &results.sum.errors;
        Self {
            calibrations: results.request_rates.iter().map(|r| (r.calibration_mean_ms, r.interval_ms)).collect(),
            latency: ThreadStat::of(&recorded),
            request_rate: ThreadStat::of(&results.request_rate_samples()),
            blocks,
            requests: results.sum.requests,
            elapsed_us: results.elapsed_s() * 1e6,
            bytes: results.sum.bytes_read,
            socket_errors: [errors.connect, errors.read, errors.write, errors.timeout],
            bad_status: results.sum.non_2xx_or_3xx(),
            requests_per_s: results.per_second(results.sum.requests),
            bytes_per_s: results.per_second(results.sum.bytes_read),
            appendix: appendix(results),
        }
    }
}

/// The lines that wrk2 does not have: send lag, lost and unfinished requests, and the verdict.
fn appendix(results: &Results) -> Vec<(String, String)> {
    let lag = &results.sum.latencies.send_lag;
    let lag_at = |quantile: f64| format_time_us(lag.value_at_quantile(quantile) as f64 / 1000.0);
    let mut lines = Vec::new();
    if !lag.is_empty() {
        lines.push(("Send lag:".to_owned(), format!("50% {}, 99% {}, max {}", lag_at(0.5), lag_at(0.99), lag_at(1.0))));
    }
    let net = &results.sum.latencies.net;
    if !net.is_empty() {
        let net_at = |quantile: f64| format_time_us(net.value_at_quantile(quantile) as f64 / 1000.0);
        let text = format!(
            "50% {}, 99% {}, max {} (without the generator's own delays)",
            net_at(0.5),
            net_at(0.99),
            net_at(1.0)
        );
        lines.push(("Net latency:".to_owned(), text));
    }
    if results.sum.served < results.sum.requests {
        let served = results.sum.latencies.served();
        let at = |quantile: f64| format_time_us(served.value_at_quantile(quantile) as f64 / 1000.0);
        let per_second = fixed(results.per_second(results.sum.served), 2);
        let text = format!("{per_second}/s, 50% {}, 99% {}; {} refused", at(0.5), at(0.99), results.sum.refused);
        lines.push(("Served:".to_owned(), text));
    }
    let known = fixed(results.censored().from_percentile.unwrap_or(100.0), 3);
    if results.sum.lost > 0 {
        let text = format!(
            "{} requests whose connection failed, counted as the longest: percentiles above {known}% are unknown",
            results.sum.lost
        );
        lines.push(("Lost:".to_owned(), text));
    }
    if results.unfinished.count > 0 {
        let age = format_time_us(results.unfinished.oldest_ns as f64 / 1000.0);
        let text = format!(
            "{} requests due without a response, the oldest for {age}: percentiles above {known}% are unknown",
            results.unfinished.count
        );
        lines.push(("Unfinished:".to_owned(), text));
    }
    for own in &results.generators {
        let at = |percentile: &str| {
            own.latency_us.percentiles[percentile].as_f64().map_or("none".to_owned(), format_time_us)
        };
        let (rate, share) = (fixed(own.requests_per_s, 2), fixed(own.busiest_loop_share * 100.0, 0));
        let text = format!("{rate}/s, 50% {}, 99% {}, max {}; busiest CPU {share}%", at("50"), at("99"), at("100"));
        lines.push((format!("  {}", own.part), text));
    }
    if results.verdict.kept {
        lines.push(("Schedule:".to_owned(), "kept".to_owned()));
    }
    if let Some(failure) = &results.failure {
        lines.push(("Failed:".to_owned(), failure.clone()));
    }
    for reason in &results.verdict.reasons {
        lines.push(("Schedule:".to_owned(), format!("NOT KEPT: {reason}")));
    }
    lines
}

/// Aligns `text` to the right as wrk does, so that numbers line up whatever the length of their units.
fn aligned(text: &str, width: usize) -> String {
    let last = text.bytes().rev();
    let letters = last.take(2).map(|byte| usize::from(byte.is_ascii_alphabetic()));
    let blanks = 2 - letters.sum::<usize>();
    format!("{text:>width$}{:blanks$}", "", width = width - blanks)
}

fn write_thread_stat(f: &mut fmt::Formatter<'_>, stat: &ThreadStat, format: fn(f64) -> String) -> fmt::Result {
    let (mean, stdev) = (aligned(&format(stat.mean), 8), aligned(&format(stat.stdev), 10));
    let (max, within) = (aligned(&format(stat.max), 9), fixed(stat.within_stdev, 2));
    writeln!(f, "{mean}{stdev}{max}{within:>8}%")
}

impl fmt::Display for LatencyBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  Latency Distribution (HdrHistogram - {})", self.title)?;
        for (percentile, value_us) in &self.percentiles {
            writeln!(f, "{percentile:7.3}%{}", aligned(&format_time_us(*value_us), 10))?;
        }
        writeln!(f, "\n  Detailed Percentile spectrum:")?;
        write!(f, "{}", self.spectrum)?;
        writeln!(f, "----------------------------------------------------------")
    }
}

impl fmt::Display for TextReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (mean_ms, interval_ms) in &self.calibrations {
            let mean = fixed(*mean_ms, 3);
            writeln!(f, "  Thread calibration: mean lat.: {mean}ms, rate sampling interval: {interval_ms}ms")?;
        }
        writeln!(f, "  Thread Stats{:>6}{:>11}{:>8}{:>12}", "Avg", "Stdev", "Max", "+/- Stdev")?;
        write!(f, "    {:<10}", "Latency")?;
        write_thread_stat(f, &self.latency, format_time_us)?;
        write!(f, "    {:<10}", "Req/Sec")?;
        write_thread_stat(f, &self.request_rate, format_metric)?;
        for (index, block) in self.blocks.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            write!(f, "{block}")?;
        }
        let (elapsed, bytes) = (format_time_us(self.elapsed_us), format_binary(self.bytes as f64));
        writeln!(f, "  {} requests in {elapsed}, {bytes}B read", self.requests)?;
        let [connect, read, write, timeout] = self.socket_errors;
        if connect + read + write + timeout > 0 {
            writeln!(f, "  Socket errors: connect {connect}, read {read}, write {write}, timeout {timeout}")?;
        }
        if self.bad_status > 0 {
            writeln!(f, "  Non-2xx or 3xx responses: {}", self.bad_status)?;
        }
        writeln!(f, "Requests/sec: {:>9}", fixed(self.requests_per_s, 2))?;
        writeln!(f, "Transfer/sec: {:>10}B", format_binary(self.bytes_per_s))?;
        for (label, text) in &self.appendix {
            writeln!(f, "{label:<13} {text}")?;
        }
        Ok(())
    }
}
