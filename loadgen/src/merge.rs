//! `loadgen merge`: one distribution from the HdrHistogram logs of several runs, or one report from the records of
//! several generators.

mod records;

use crate::report::{HdrLog, LatencyBlock, Spectrum, in_microseconds, is_record};
use crate::stats::{PERCENTILES, new_histogram};
use crate::units::format_metric;
use base64::Engine;
use clap::Parser;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Merges the latencies of several runs into one distribution, or the records of several generators into the report
/// that one generator would have made.
#[derive(Debug, Parser)]
#[command(name = "loadgen merge", max_term_width = 110)]
pub struct MergeArguments {
    /// HdrHistogram logs as `loadgen --hdr-log` writes them, latencies in nanoseconds; or the records of all parts, as
    /// `loadgen --part I/N --record` writes them.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,

    /// Write the merged latencies to FILE, second by second, each counted from the start of its run.
    #[arg(long, value_name = "FILE")]
    pub hdr_log: Option<PathBuf>,

    /// Write the merged results to FILE as JSON; for records only.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// The content of one HdrHistogram log.
#[derive(Debug)]
struct Log {
    started: SystemTime,
    /// Intervals by start in milliseconds, each with its length in nanoseconds and its latencies.
    intervals: BTreeMap<u128, (u64, Histogram<u64>)>,
}

/// Merges the files in `arguments` and prints the distribution or the report to `out`.
pub fn merge(arguments: &MergeArguments, out: &mut impl Write) -> Result<(), String> {
    let records = arguments.files.iter().filter(|file| is_record(file)).count();
    if records == arguments.files.len() {
        return records::merge(arguments, out);
    }
    if records > 0 {
        return Err(
            "some of the files are records and some are not: merge either records or HdrHistogram logs".to_owned()
        );
    }
    if arguments.json.is_some() {
        return Err("--json needs records, as `loadgen --record` writes them: a log holds latencies only".to_owned());
    }
    let logs: Vec<Log> = arguments.files.iter().map(|file| read(file)).collect::<Result<_, _>>()?;
    let mut together = new_histogram();
    let mut intervals: BTreeMap<u128, (u64, Histogram<u64>)> = BTreeMap::new();
    let mut length_s = 0.0f64;
    for log in &logs {
        for (start_ms, (length_ns, latency)) in &log.intervals {
            let (merged_ns, merged) = intervals.entry(*start_ms).or_insert_with(|| (0, new_histogram()));
            *merged_ns = (*merged_ns).max(*length_ns);
            add(merged, latency);
            add(&mut together, latency);
            length_s = length_s.max(*start_ms as f64 / 1e3 + *length_ns as f64 / 1e9);
        }
    }
    if let Some(file) = &arguments.hdr_log {
        let started = logs.iter().map(|log| log.started).min().expect("there is a log");
        let cannot = |error: std::io::Error| format!("cannot write {}: {error}", file.display());
        let mut log = HdrLog::create(file, started).map_err(cannot)?;
        for (start_ms, (length_ns, latency)) in &intervals {
            log.write_at(*start_ms as f64 / 1e3, *length_ns, latency).map_err(cannot)?;
        }
    }
    let histogram = in_microseconds(&together);
    let percentile = |p: f64| (p, histogram.value_at_percentile(p) as f64);
    let block = LatencyBlock {
        title: "Recorded Latency".to_owned(),
        percentiles: PERCENTILES.into_iter().map(percentile).collect(),
        spectrum: Spectrum::of(&histogram),
    };
    let per_second = format_metric(together.len() as f64 / length_s.max(1e-9));
    let runs = if logs.len() == 1 { "run" } else { "runs" };
    let count = together.len();
    writeln!(out, "{block}  {count} requests of {} {runs} in {length_s:.2}s, {per_second}/s", logs.len())
        .map_err(|error| format!("cannot print: {error}"))
}

/// Adds a histogram, which may have other bounds.
fn add(sum: &mut Histogram<u64>, part: &Histogram<u64>) {
    for step in part.iter_recorded() {
        sum.saturating_record_n(part.median_equivalent(step.value_iterated_to()), step.count_at_value());
    }
}

fn read(file: &Path) -> Result<Log, String> {
    let wrong = |what: String| format!("{}: {what}", file.display());
    let bytes = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("not a text file, so not an HdrHistogram log".to_owned()))?;
    // The reading crate rejects blank lines, and a last line without its end.
    let known: String = text.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("{line}\n")).collect();
    let mut log = Log { started: SystemTime::UNIX_EPOCH, intervals: BTreeMap::new() };
    let mut times = LogTimes::default();
    for entry in IntervalLogIterator::new(known.as_bytes()) {
        match entry.map_err(|error| wrong(format!("not an HdrHistogram log: {error:?}")))? {
            LogEntry::StartTime(since_epoch) => times.start = Some(since_epoch),
            LogEntry::BaseTime(since_epoch) => times.base = Some(since_epoch),
            LogEntry::Interval(interval) => {
                let start = times.since_start(interval.start_timestamp());
                let decoded = base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram());
                let decoded = decoded.map_err(|error| wrong(format!("interval at {start:?}: {error}")))?;
                let latency = Deserializer::new()
                    .deserialize::<u64, _>(&mut &decoded[..])
                    .map_err(|error| wrong(format!("interval at {start:?}: {error}")))?;
                // Intervals may have the same start: one second under several tags, or logs that were concatenated.
                let (length_ns, sum) = log.intervals.entry(start.as_millis()).or_insert_with(|| (0, new_histogram()));
                *length_ns = (*length_ns).max(duration_ns(interval.duration()));
                add(sum, &latency);
            }
        }
    }
    if log.intervals.is_empty() {
        return Err(wrong("it contains no interval; did `loadgen --hdr-log` write it?".to_owned()));
    }
    log.started += times.start.unwrap_or_default();
    Ok(log)
}

/// The times that a log gives, as HdrHistogram's own reader (`HistogramLogReader`) takes them: an interval's time counts
/// from the base time. Without one, it counts from the start time if the first interval would otherwise lie more than a
/// year before the start, and else from 1970. Without a start time the log starts with its first interval.
#[derive(Debug, Default)]
struct LogTimes {
    start: Option<Duration>,
    base: Option<Duration>,
}

impl LogTimes {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

    /// The time of an interval, counted from the start of the log. `own` is its time in the log.
    fn since_start(&mut self, own: Duration) -> Duration {
        let relative_to = self.start.filter(|start| own + Self::YEAR < *start).unwrap_or_default();
        let since_epoch = own + *self.base.get_or_insert(relative_to);
        since_epoch.saturating_sub(*self.start.get_or_insert(since_epoch))
    }
}

fn duration_ns(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}
