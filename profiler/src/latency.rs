//! The latency log of a repetition: an HdrHistogram log, one interval a second.

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use std::fs;
use std::path::Path;
use std::time::Duration;

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// One interval of the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// In milliseconds since 1970.
    pub start_ms: u64,
    pub end_ms: u64,
    /// Latency at the requested percentile, in milliseconds.
    pub latency_ms: f64,
}

/// Reads a log whose values are nanoseconds. Intervals without a request are left out.
///
/// Times are those of HdrHistogram's own reader (`HistogramLogReader`): an interval's time counts from the base time.
/// Without one, it counts from the start time if the first interval would otherwise lie more than a year before the start,
/// and else from 1970.
pub fn read(path: &Path, percentile: f64) -> Result<Vec<Interval>> {
    let text = fs::read(path).with_context(|| format!("cannot read the latency log {}", path.display()))?;
    parse(&text, percentile).with_context(|| format!("{} is not an HdrHistogram log", path.display()))
}

fn parse(text: &[u8], percentile: f64) -> Result<Vec<Interval>> {
    // The reading crate rejects blank lines.
    let text = String::from_utf8_lossy(text);
    let text: String = text.lines().filter(|line| !line.trim().is_empty()).map(|line| format!("{line}\n")).collect();
    let (mut log_start, mut base) = (Duration::ZERO, None);
    let mut intervals = Vec::new();
    let mut deserializer = Deserializer::new();
    for entry in IntervalLogIterator::new(text.as_bytes()) {
        match entry {
            Ok(LogEntry::StartTime(time)) => log_start = time,
            Ok(LogEntry::BaseTime(time)) => base = Some(time),
            Ok(LogEntry::Interval(interval)) => {
                let bytes = STANDARD.decode(interval.encoded_histogram())?;
                let histogram: Histogram<u64> = deserializer
                    .deserialize(&mut bytes.as_slice())
                    .map_err(|error| anyhow::anyhow!("a histogram cannot be decoded: {error:?}"))?;
                let own = interval.start_timestamp();
                let relative_to = if own + YEAR < log_start { log_start } else { Duration::ZERO };
                let start = own + *base.get_or_insert(relative_to);
                if !histogram.is_empty() {
                    intervals.push(Interval {
                        start_ms: start.as_millis() as u64,
                        end_ms: (start + interval.duration()).as_millis() as u64,
                        latency_ms: histogram.value_at_percentile(percentile) as f64 / 1e6,
                    });
                }
            }
            Err(error) => bail!("{error:?}"),
        }
    }
    if intervals.is_empty() {
        bail!("it has no interval with a request");
    }
    Ok(intervals)
}

/// A log of one interval a second: the latency is 1 ms in the first, 2 ms in the next, and so on.
#[cfg(test)]
pub fn written(start_ms: u64, seconds: u64, requests: impl Fn(u64) -> u64) -> Vec<u8> {
    use hdrhistogram::serialization::V2DeflateSerializer;
    use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
    let (mut text, mut serializer) = (Vec::new(), V2DeflateSerializer::new());
    let start = std::time::UNIX_EPOCH + Duration::from_millis(start_ms);
    let mut builder = IntervalLogWriterBuilder::new();
    let mut log = builder.with_start_time(start).begin_log_with(&mut text, &mut serializer).unwrap();
    for second in 0..seconds {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        histogram.record_n((1 + second) * 1_000_000, requests(second)).unwrap();
        log.write_histogram(&histogram, Duration::from_secs(second), Duration::from_secs(1), None).unwrap();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_its_time_and_its_percentile() {
        let text = written(1_700_000_000_000, 3, |second| if second == 1 { 0 } else { 100 });
        let intervals = parse(&text, 99.0).unwrap();
        assert_eq!(intervals.len(), 2, "an interval without a request says nothing");
        assert_eq!((intervals[1].start_ms, intervals[1].end_ms), (1_700_000_002_000, 1_700_000_003_000));
        assert!((intervals[1].latency_ms - 3.0).abs() < 0.01, "{:?}", intervals[1]);
    }

    #[test]
    fn logs_of_other_writers_are_read_by_the_formats_own_rule() {
        let own = String::from_utf8(written(1_700_000_000_000, 1, |_| 100)).unwrap();
        let histogram = own.trim_end().rsplit(',').next().unwrap();
        let start = "#[StartTime: 1700000000.000 (seconds since epoch)]\n";
        let base = |time: &str| format!("#[BaseTime: {time} (seconds since epoch)]\n");
        let row = |at: &str| format!("{at},1.000,1.000,{histogram}\n");
        for (name, log, start_ms) in [
            ("no legend", format!("{start}{}", row("3.000")), 1_700_000_003_000),
            ("a blank last line", format!("{start}{}\n", row("3.000")), 1_700_000_003_000),
            ("tags", format!("{start}Tag=A,{}", row("3.000")), 1_700_000_003_000),
            ("started in 1970", format!("#[StartTime: 0.000 (seconds since epoch)]\n{}", row("3.000")), 3_000),
            ("absolute times", format!("{start}{}", row("1700000003.000")), 1_700_000_003_000),
            ("a base time of 1970", format!("{start}{}{}", base("0.000"), row("1700000003.000")), 1_700_000_003_000),
            ("a base before the start", format!("{start}{}{}", base("1699999990.0"), row("13.000")), 1_700_000_003_000),
            ("neither start nor base", row("1700000003.000"), 1_700_000_003_000),
        ] {
            let intervals = parse(log.as_bytes(), 99.0).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(intervals[0].start_ms, start_ms, "{name}");
        }
    }

    #[test]
    fn a_file_that_is_not_a_log_is_refused() {
        assert!(parse(b"hello\nworld", 99.0).is_err());
        assert!(parse(b"", 99.0).unwrap_err().to_string().contains("no interval"));
        assert!(read(Path::new("/missing.hlog"), 99.0).unwrap_err().to_string().contains("/missing.hlog"));
    }
}
