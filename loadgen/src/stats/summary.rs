//! A distribution summarised in a few numbers.

use super::encoding;
use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// The percentiles in every summary, the same as wrk2 prints.
pub const PERCENTILES: [f64; 8] = [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0];

/// Count, extremes, mean and percentiles of a histogram of nanoseconds, in microseconds.
///
/// All values but `count` are null if nothing was recorded.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DistributionSummary {
    /// Number of samples.
    pub count: u64,
    /// Smallest sample.
    pub min: Option<f64>,
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Standard deviation of the samples.
    pub stdev: Option<f64>,
    /// Largest sample.
    pub max: Option<f64>,
    /// Values by percentile. The percentile is a string such as `99.9`.
    pub percentiles: Map<String, Value>,
    /// The samples in nanoseconds, so that a reader can merge the distributions of several runs.
    #[serde(serialize_with = "encoding::histogram::optional::serialize")]
    pub histogram: Option<Histogram<u64>>,
}

impl DistributionSummary {
    /// Summarises `histogram`, which is in nanoseconds.
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let some = |value: f64| (!histogram.is_empty()).then(|| round_to_ns(value / 1000.0));
        let percentile = |p: f64| (format!("{p}"), json!(some(histogram.value_at_percentile(p) as f64)));
        Self {
            count: histogram.len(),
            min: some(histogram.min() as f64),
            mean: some(histogram.mean()),
            stdev: some(histogram.stdev()),
            max: some(histogram.max() as f64),
            percentiles: PERCENTILES.into_iter().map(percentile).collect(),
            histogram: Some(histogram.clone()),
        }
    }
}

fn round_to_ns(value_us: f64) -> f64 {
    (value_us * 1000.0).round() / 1000.0
}

/// Percentage of the samples within one standard deviation of the mean; 0 without samples.
pub fn within_stdev(histogram: &Histogram<u64>) -> f64 {
    let (mean, stdev) = (histogram.mean(), histogram.stdev());
    let near = |value: u64| (value as f64 - mean).abs() <= stdev;
    let inside: u64 = histogram
        .iter_recorded()
        .filter(|step| near(histogram.median_equivalent(step.value_iterated_to())))
        .map(|step| step.count_at_value())
        .sum();
    if histogram.is_empty() { 0.0 } else { inside as f64 * 100.0 / histogram.len() as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::new_histogram;
    use base64::{Engine, engine::general_purpose::STANDARD};
    use hdrhistogram::serialization::Deserializer;

    #[test]
    fn a_summary_is_in_microseconds() {
        let mut histogram = new_histogram();
        for value_us in 1..=1000u64 {
            histogram.record(value_us * 1000).unwrap();
        }
        let summary = DistributionSummary::of(&histogram);
        assert_eq!(summary.count, 1000);
        let near = |value: &Value, wanted: f64| (value.as_f64().unwrap() - wanted).abs() <= wanted * 0.0015;
        assert!(near(&summary.percentiles["50"], 500.0));
        assert!(near(&summary.percentiles["99.9"], 999.0));
        assert!(near(&summary.percentiles["100"], 1000.0));
        assert!((summary.mean.unwrap() - 500.5).abs() < 0.5);
        let share = within_stdev(&histogram);
        assert!((57.0..58.5).contains(&share), "a uniform distribution has 57.7% within: {share}");
    }

    #[test]
    fn a_summary_has_the_samples_themselves() {
        let mut histogram = new_histogram();
        [200, 3000, 40_000_000].into_iter().for_each(|value_ns| histogram.record(value_ns).unwrap());
        let json = json!(DistributionSummary::of(&histogram));
        let bytes = STANDARD.decode(json["histogram"].as_str().unwrap()).unwrap();
        assert_eq!(Deserializer::new().deserialize::<u64, _>(&mut &bytes[..]).unwrap(), histogram);
    }

    #[test]
    fn an_empty_distribution_is_null_not_zero() {
        let summary = DistributionSummary::of(&new_histogram());
        assert_eq!((summary.count, summary.min, summary.max), (0, None, None));
        assert!(json!(summary)["histogram"].is_null());
        assert!(summary.percentiles["50"].is_null());
        assert_eq!(within_stdev(&new_histogram()), 0.0);
    }
}
