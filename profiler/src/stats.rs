//! Confidence intervals and tests for shares of clustered samples.
//!
//! Samples of one second are not independent: a flush fills a second with its own. So the unit is the second, and
//! neighbouring seconds are drawn together: the circular block bootstrap (Politis and Romano 1992) of the ratio of two
//! sums. Few blocks make a percentile interval too narrow, so its levels are widened by Student's t (the "expanded
//! percentile interval", Hesterberg 2015, section 4.2). An interval covers noise within a recording, and not the
//! difference between two starts of a JVM.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Fewer seconds than this give no interval.
pub const SECONDS_MIN: usize = 8;
const RESAMPLES: usize = 2000;
const CONFIDENCE: f64 = 0.95;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// Random numbers, SplitMix64 (Steele, Lea and Flood 2014): the same input gives the same interval on every machine.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(SEED);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }

    /// Uniform in 0…1.
    #[cfg(test)]
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// A share, and its uncertainty within the recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub share: f64,
    /// The 95% confidence interval; None if the recording is too short.
    pub bounds: Option<(f64, f64)>,
    pub standard_error: f64,
    /// Degrees of freedom of the standard error.
    pub freedom: f64,
}

/// Number of seconds that are drawn together: 2·n^(1/3). The rate n^(1/3) has the least error; the factor fits the
/// loads of simulation.rs, whose seconds are correlated like those of flushes and drifting rates.
fn block_length(seconds: usize) -> usize {
    (2.0 * (seconds as f64).cbrt()).ceil() as usize
}

/// The share of `parts` in `wholes`, second by second, for each of `parts`.
pub fn shares(parts: &[Vec<f64>], wholes: &[f64]) -> Vec<Estimate> {
    let seconds = wholes.len();
    let total: f64 = wholes.iter().sum();
    let share = |part: &Vec<f64>| if total > 0.0 { part.iter().sum::<f64>() / total } else { 0.0 };
    let unknown = |part| Estimate { share: share(part), bounds: None, standard_error: f64::NAN, freedom: 0.0 };
    if seconds < SECONDS_MIN || total <= 0.0 {
        return parts.iter().map(unknown).collect();
    }
    let length = block_length(seconds);
    let blocks = seconds as f64 / length as f64;
    let freedom = blocks - 1.0;
    let weights = resamples(seconds, length);
    let wholes: Vec<f64> = weights.iter().map(|weight| dot(weight, wholes)).collect();
    let widen = (blocks / freedom).sqrt();
    let tail = Normal::standard().cdf(-quantile_t(freedom) * widen);
    let estimate = |part: &Vec<f64>| {
        let mut replicates: Vec<f64> = weights
            .iter()
            .zip(&wholes)
            .filter(|(_, whole)| **whole > 0.0)
            .map(|(weight, whole)| dot(weight, part) / whole)
            .collect();
        replicates.sort_unstable_by(f64::total_cmp);
        let at = |level: f64| replicates[((replicates.len() - 1) as f64 * level).round() as usize];
        Estimate {
            share: share(part),
            bounds: Some((at(tail).min(share(part)), at(1.0 - tail).max(share(part)))),
            standard_error: deviation(&replicates) * widen,
            freedom,
        }
    };
    parts.iter().map(estimate).collect()
}

/// Returns the number of times that each resample draws each second.
fn resamples(seconds: usize, length: usize) -> Vec<Vec<u16>> {
    let mut random = Random::new(SEED);
    let draw = |_| {
        let mut weight = vec![0; seconds];
        let mut left = seconds;
        while left > 0 {
            let start = random.below(seconds);
            for offset in 0..length.min(left) {
                weight[(start + offset) % seconds] += 1;
            }
            left -= length.min(left);
        }
        weight
    };
    (0..RESAMPLES).map(draw).collect()
}

fn dot(weight: &[u16], values: &[f64]) -> f64 {
    weight.iter().zip(values).map(|(weight, value)| f64::from(*weight) * value).sum()
}

fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)).sqrt()
}

/// The two-sided critical value of Student's t at the confidence of the intervals.
fn quantile_t(freedom: f64) -> f64 {
    student(freedom).inverse_cdf(0.5 + CONFIDENCE / 2.0)
}

fn student(freedom: f64) -> StudentsT {
    StudentsT::new(0.0, 1.0, freedom.max(1.0)).expect("the parameters are positive")
}

/// The change from one share to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    pub change: f64,
    pub bounds: Option<(f64, f64)>,
    /// Two-sided, for the hypothesis that nothing changed; 1 if unknown.
    pub p_value: f64,
}

/// Welch's test of two independent estimates.
pub fn change(before: &Estimate, after: &Estimate) -> Change {
    let change = after.share - before.share;
    let (v1, v2) = (before.standard_error.powi(2), after.standard_error.powi(2));
    let variance = v1 + v2;
    if before.freedom <= 0.0 || after.freedom <= 0.0 || variance.is_nan() {
        return Change { change, bounds: None, p_value: 1.0 };
    }
    if variance == 0.0 {
        return Change { change, bounds: Some((change, change)), p_value: if change == 0.0 { 1.0 } else { 0.0 } };
    }
    let freedom = variance.powi(2) / (v1.powi(2) / before.freedom + v2.powi(2) / after.freedom);
    let error = variance.sqrt();
    let reach = quantile_t(freedom) * error;
    Change {
        change,
        bounds: Some(((change - reach).max(-1.0), (change + reach).min(1.0))),
        p_value: 2.0 * student(freedom).cdf(-(change / error).abs()),
    }
}

/// The mean of several recordings' shares: each recording, and so each start of the JVM, is one observation.
pub fn between(shares: &[f64]) -> Estimate {
    let count = shares.len() as f64;
    let share = shares.iter().sum::<f64>() / count;
    if shares.len() < 2 {
        return Estimate { share, bounds: None, standard_error: f64::NAN, freedom: 0.0 };
    }
    let standard_error = deviation(shares) / count.sqrt();
    let reach = quantile_t(count - 1.0) * standard_error;
    let bounds = Some(((share - reach).max(0.0), (share + reach).min(1.0)));
    Estimate { share, bounds, standard_error, freedom: count - 1.0 }
}

/// Holm's correction (1979): the chance of one false alarm among all tests is then that of a single test. `count` is
/// the number of tests, which may exceed that of `p_values`.
pub fn holm(p_values: &[f64], count: usize) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_unstable_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least = 0.0_f64;
    for (rank, index) in order.into_iter().enumerate() {
        least = least.max(p_values[index] * (count - rank) as f64).min(1.0);
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_shares_have_an_interval_of_zero_width() {
        let estimates = shares(&[vec![3.0; 20], vec![0.0; 20]], &[10.0; 20]);
        assert!((estimates[0].share - 0.3).abs() < 1e-12);
        let (low, high) = estimates[0].bounds.unwrap();
        assert!(high - low < 1e-9, "{low} {high}");
        assert_eq!(estimates[1].bounds, Some((0.0, 0.0)));
    }

    #[test]
    fn a_short_recording_has_no_interval() {
        let estimates = shares(&[vec![1.0; 5]], &[2.0; 5]);
        assert_eq!((estimates[0].share, estimates[0].bounds), (0.5, None));
        assert_eq!(shares(&[vec![0.0; 20]], &[0.0; 20])[0].share, 0.0);
        assert_eq!(change(&estimates[0], &estimates[0]).p_value, 1.0);
    }

    #[test]
    fn independent_noise_has_the_interval_of_the_textbook() {
        // a coin per sample, 1,000 samples in each of 60 seconds: the standard error is sqrt(p (1 - p) / n)
        let mut random = Random::new(7);
        let part: Vec<f64> = (0..60).map(|_| (0..1000).filter(|_| random.unit() < 0.3).count() as f64).collect();
        let estimate = shares(&[part], &[1000.0; 60])[0];
        let expected = (0.3_f64 * 0.7 / 60_000.0).sqrt();
        assert!((0.6..1.6).contains(&(estimate.standard_error / expected)), "{} {expected}", estimate.standard_error);
    }

    #[test]
    fn holm_is_the_published_example_and_never_more_than_one() {
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005], 4);
        let expected = [0.03, 0.06, 0.06, 0.02];
        assert!(adjusted.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{adjusted:?}");
        assert_eq!(holm(&[0.5, 0.9], 10), [1.0, 1.0]);
    }

    #[test]
    fn several_recordings_are_as_many_observations() {
        let before = between(&[0.10, 0.11, 0.09]);
        let after = between(&[0.20, 0.21, 0.19]);
        let change = change(&before, &after);
        assert!((change.change - 0.1).abs() < 1e-12 && change.p_value < 0.001, "{change:?}");
        let (low, high) = change.bounds.unwrap();
        assert!((0.07..0.08).contains(&low) && (0.12..0.13).contains(&high), "{low} {high}");
    }

    #[test]
    fn a_change_of_a_share_is_never_more_than_the_whole() {
        let low = Estimate { share: 0.2, bounds: None, standard_error: 0.3, freedom: 3.0 };
        let high = Estimate { share: 0.8, bounds: None, standard_error: 0.3, freedom: 3.0 };
        assert_eq!(change(&low, &high).bounds.unwrap().1, 1.0);
        assert_eq!(change(&high, &low).bounds.unwrap().0, -1.0);
    }
}
