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

/// Smaller start times are relative to the start of the log; larger ones are seconds since 1970. The limit is in 1973.
const ABSOLUTE_S: u64 = 100_000_000;

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
pub fn read(path: &Path, percentile: f64) -> Result<Vec<Interval>> {
    let text = fs::read(path).with_context(|| format!("cannot read the latency log {}", path.display()))?;
    parse(&text, percentile).with_context(|| format!("{} is not an HdrHistogram log", path.display()))
}

fn parse(text: &[u8], percentile: f64) -> Result<Vec<Interval>> {
    let mut begin = Duration::ZERO;
    let mut intervals = Vec::new();
    let mut deserializer = Deserializer::new();
    for entry in IntervalLogIterator::new(text) {
        match entry {
            Ok(LogEntry::StartTime(time) | LogEntry::BaseTime(time)) => begin = time,
            Ok(LogEntry::Interval(interval)) => {
                let bytes = STANDARD.decode(interval.encoded_histogram())?;
                let histogram: Histogram<u64> = deserializer
                    .deserialize(&mut bytes.as_slice())
                    .map_err(|error| anyhow::anyhow!("a histogram cannot be decoded: {error:?}"))?;
                let own = interval.start_timestamp();
                let start = if own.as_secs() >= ABSOLUTE_S { own } else { begin + own };
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
    fn a_file_that_is_not_a_log_is_refused() {
        assert!(parse(b"hello\nworld", 99.0).is_err());
        assert!(parse(b"", 99.0).unwrap_err().to_string().contains("no interval"));
        assert!(read(Path::new("/missing.hlog"), 99.0).unwrap_err().to_string().contains("/missing.hlog"));
    }
}
