//! When each request is due.
//!
//! Request `k` of the run is due `k / rate` seconds after the start. The time is computed from the
//! index each time, never summed up, so it neither drifts nor depends on how earlier requests went.
//!
//! The requests are dealt out like cards: connection `g` of `C` owns the requests `g, g + C, g + 2C, …`
//! and thread `g mod T` owns the connection, so the sum over all connections is evenly spaced in time.

use crate::clock::SECOND;
use crate::units::Rate;

/// The plan of a run at a constant rate. Times are nanoseconds since its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    rate: Rate,
}

impl Schedule {
    /// A plan of `rate`.
    pub fn constant(rate: Rate) -> Self {
        Self { rate }
    }

    /// When request `index` is due.
    #[inline]
    pub fn due_ns(&self, index: u64) -> u64 {
        let Rate { requests, seconds } = self.rate;
        // 64 bits last for 18 thousand million requests; beyond, the slower exact division.
        match index.checked_mul(SECOND * seconds) {
            Some(scaled) => scaled / requests,
            None => (u128::from(index) * u128::from(SECOND) * u128::from(seconds) / u128::from(requests)) as u64,
        }
    }

    /// How many requests are due before `time_ns`: those with `due_ns(k) < time_ns`.
    pub fn due_before(&self, time_ns: u64) -> u64 {
        let Rate { requests, seconds } = self.rate;
        // due_ns rounds down, so the first index due at or after time_ns is ceil(time × requests / seconds).
        (u128::from(time_ns) * u128::from(requests)).div_ceil(u128::from(SECOND) * u128::from(seconds)) as u64
    }

    /// Requests a second.
    pub fn rate_per_s(&self) -> f64 {
        self.rate.per_second()
    }
}

/// The requests `first, first + step, first + 2·step, …` of a run: the hand of a connection or a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hand {
    /// Index of its first request in the run.
    pub first: u64,
    /// Distance to its next one.
    pub step: u64,
}

impl Hand {
    /// The index in the run of this hand's request number `slot`.
    #[inline]
    pub fn index(&self, slot: u64) -> u64 {
        self.first + slot * self.step
    }

    /// How many of the run's first `total` requests belong to this hand.
    pub fn count_of(&self, total: u64) -> u64 {
        total.saturating_sub(self.first).div_ceil(self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn schedule(requests: u64, seconds: u64) -> Schedule {
        Schedule::constant(Rate { requests, seconds })
    }

    #[test]
    fn an_hour_at_an_odd_rate_does_not_drift() {
        let odd = schedule(70_001, 1);
        assert_eq!(odd.due_ns(70_001 * 3600), 3600 * SECOND);
        assert_eq!(schedule(5, 10).due_ns(3), 6 * SECOND);
        assert_eq!(schedule(1_000_000_000, 1).due_ns(1 << 40), 1 << 40);
    }

    proptest! {
        #[test]
        fn due_before_counts_exactly_what_is_due(requests in 1u64..2_000_000, power in 0u32..7, time_ns in 0u64..100 * SECOND) {
            let plan = schedule(requests, 10u64.pow(power));
            let count = plan.due_before(time_ns);
            prop_assert!(plan.due_ns(count) >= time_ns);
            if count > 0 {
                prop_assert!(plan.due_ns(count - 1) < time_ns);
            }
        }

        #[test]
        fn every_request_is_in_one_hand(hands in 1u64..50, total in 0u64..5_000) {
            let dealt: u64 = (0..hands).map(|first| Hand { first, step: hands }.count_of(total)).sum();
            prop_assert_eq!(dealt, total);
        }

        #[test]
        fn due_times_never_go_back(requests in 1u64..1_000_000_000, power in 0u32..7, index in 0u64..1 << 40) {
            let plan = schedule(requests, 10u64.pow(power));
            prop_assert!(plan.due_ns(index) <= plan.due_ns(index + 1));
        }
    }
}
