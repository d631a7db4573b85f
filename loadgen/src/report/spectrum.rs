//! The percentile spectrum of HdrHistogram: rows become denser towards 100%.
//!
//! The algorithm is HdrHistogram's percentile iterator with five ticks per half distance. It uses the same order of
//! floating-point operations, so that the rows are equal to the last digit.

use hdrhistogram::Histogram;
use std::fmt;

const TICKS_PER_HALF_DISTANCE: f64 = 5.0;

/// The longest latency of wrk2's histogram: a day in microseconds.
const LATENCY_US_MAX: u64 = 24 * 3600 * 1_000_000;

/// A row: `total` samples, which are `percentile` percent of all, have a value of at most `value_us`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpectrumRow {
    /// The value in microseconds.
    pub value_us: f64,
    /// The percentile for which the row was made, 0 to 100.
    pub percentile: f64,
    /// Number of samples up to the value.
    pub total: u64,
}

/// The spectrum with its footer.
#[derive(Debug, Clone, PartialEq)]
pub struct Spectrum {
    /// The rows, in ascending order.
    pub rows: Vec<SpectrumRow>,
    /// Mean in microseconds.
    pub mean_us: f64,
    /// Standard deviation in microseconds.
    pub stdev_us: f64,
    /// Maximum in microseconds.
    pub max_us: f64,
    /// Number of samples.
    pub count: u64,
    /// Number of buckets of the histogram.
    pub buckets: u64,
    /// Number of sub-buckets of each bucket.
    pub sub_buckets: u64,
}

/// Converts a histogram of nanoseconds to the form that wrk2 keeps: in microseconds, three significant digits, up to a
/// day.
pub fn in_microseconds(nanoseconds: &Histogram<u64>) -> Histogram<u64> {
    let mut histogram = Histogram::new_with_bounds(1, LATENCY_US_MAX, 3).expect("the bounds are valid");
    for step in nanoseconds.iter_recorded() {
        let value_ns = nanoseconds.median_equivalent(step.value_iterated_to());
        histogram.saturating_record_n((value_ns + 500) / 1000, step.count_at_value());
    }
    histogram
}

impl Spectrum {
    /// The spectrum of a histogram in microseconds.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let recorded = histogram.iter_recorded();
        let counts: Vec<(u64, u64)> = recorded
            .map(|step| (histogram.highest_equivalent(step.value_iterated_to()), step.count_at_value()))
            .collect();
        Self {
            rows: Self::rows(&counts),
            mean_us: if histogram.is_empty() { f64::NAN } else { histogram.mean() },
            stdev_us: if histogram.is_empty() { f64::NAN } else { histogram.stdev() },
            max_us: histogram.lowest_equivalent(histogram.max()) as f64,
            count: histogram.len(),
            buckets: u64::from(histogram.buckets()),
            sub_buckets: 2048,
        }
    }

    /// The rows for distinct values in microseconds, in ascending order, each with a count above 0.
    pub fn rows(counts: &[(u64, u64)]) -> Vec<SpectrumRow> {
        let count: u64 = counts.iter().map(|(_, count)| count).sum();
        let mut rows = Vec::new();
        let mut percentile = 0.0f64;
        let mut total = 0;
        let mut values = counts.iter();
        let mut value_us = 0.0;
        while total < count {
            let (value, at_value) = values.next().expect("the counts add up to their sum");
            total += at_value;
            value_us = *value as f64;
            let reached = 100.0 * total as f64 / count as f64;
            while percentile <= reached {
                rows.push(SpectrumRow { value_us, percentile, total });
                let half_distance = 2f64.powi((100.0 / (100.0 - percentile)).log2() as i32 + 1);
                percentile += 100.0 / (TICKS_PER_HALF_DISTANCE * half_distance);
                if total == count {
                    break;
                }
            }
        }
        rows.push(SpectrumRow { value_us, percentile: 100.0, total });
        rows
    }
}

impl fmt::Display for Spectrum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use crate::units::fixed;
        writeln!(f, "{:>12} {:>12} {:>12} {:>12}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
        for row in &self.rows {
            let share = row.percentile / 100.0;
            let inverse = fixed(1.0 / (1.0 - share), 2);
            writeln!(f, "{:12.3} {share:12.6} {:12} {inverse:>12}", row.value_us / 1000.0, row.total)?;
        }
        let (mean, stdev) = (fixed(self.mean_us / 1000.0, 3), fixed(self.stdev_us / 1000.0, 3));
        writeln!(f, "#[Mean    = {mean:>12}, StdDeviation   = {stdev:>12}]")?;
        writeln!(f, "#[Max     = {:12.3}, Total count    = {:12}]", self.max_us / 1000.0, self.count)?;
        writeln!(f, "#[Buckets = {:12}, SubBuckets     = {:12}]", self.buckets, self.sub_buckets)
    }
}
