//! Records the times in which an event loop should have run but did not.

use crate::clock::MILLISECOND;

/// Shortest gap that counts. Shorter ones are the kernel's usual delays.
pub(super) const STOP_NS_MIN: u64 = MILLISECOND;

/// Number of stops that are kept, the longest ones.
pub const STOPS_MAX: usize = 10;

/// A gap in which an event loop had work to do and did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// When the gap began, in nanoseconds of the monotonic clock.
    pub start_ns: u64,
    /// Length of the gap in nanoseconds.
    pub length_ns: u64,
}

/// Finds the stops of one loop. The loop reports when it is awake and until when it intends to sleep.
#[derive(Debug, Default)]
pub(super) struct StopFinder {
    /// The latest time at which the loop was awake or until which it was allowed to sleep.
    excused_until_ns: u64,
    longest: Vec<Stop>,
}

impl StopFinder {
    /// Forgets all stops. Call this while the loop is awake at `now_ns`.
    pub(super) fn restart(&mut self, now_ns: u64) {
        self.excused_until_ns = now_ns;
        self.longest.clear();
    }

    /// Records that the loop, awake at `now_ns`, goes to sleep until `wake_ns` at the latest.
    #[inline]
    pub(super) fn sleep_until(&mut self, now_ns: u64, wake_ns: u64) {
        self.awake(now_ns);
        self.excused_until_ns = wake_ns;
    }

    /// Records that the loop is awake at `now_ns`.
    #[inline]
    pub(super) fn awake(&mut self, now_ns: u64) {
        let gap_ns = now_ns.saturating_sub(self.excused_until_ns);
        if gap_ns >= STOP_NS_MIN {
            keep_longest(&mut self.longest, Stop { start_ns: self.excused_until_ns, length_ns: gap_ns });
        }
        self.excused_until_ns = now_ns;
    }

    /// The longest stops in chronological order.
    pub(super) fn into_longest(mut self) -> Vec<Stop> {
        self.longest.sort_unstable_by_key(|stop| stop.start_ns);
        self.longest
    }
}

/// Adds `stop` to `longest`, and drops the shortest if there are more than [`STOPS_MAX`].
fn keep_longest(longest: &mut Vec<Stop>, stop: Stop) {
    if longest.len() < STOPS_MAX {
        longest.push(stop);
    } else if let Some(shortest) = longest.iter_mut().min_by_key(|stop| stop.length_ns) {
        if shortest.length_ns < stop.length_ns {
            *shortest = stop;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_is_time_after_the_planned_wake_up_or_between_two_wake_ups() {
        let mut finder = StopFinder::default();
        finder.restart(0);
        finder.sleep_until(0, 100 * MILLISECOND);
        finder.awake(50 * MILLISECOND);
        finder.sleep_until(50 * MILLISECOND, 100 * MILLISECOND);
        finder.awake(103 * MILLISECOND);
        finder.awake(103 * MILLISECOND + STOP_NS_MIN - 1);
        finder.awake(110 * MILLISECOND);
        let stops: Vec<_> = finder.into_longest().iter().map(|stop| (stop.start_ns, stop.length_ns)).collect();
        assert_eq!(stops, [(100 * MILLISECOND, 3 * MILLISECOND), (103 * MILLISECOND + 999_999, 6_000_001)]);
    }

    #[test]
    fn a_stop_on_the_way_to_sleep_is_found() {
        let mut finder = StopFinder::default();
        finder.restart(0);
        finder.sleep_until(900 * MILLISECOND, 901 * MILLISECOND);
        finder.awake(901 * MILLISECOND);
        let stops: Vec<_> = finder.into_longest().iter().map(|stop| (stop.start_ns, stop.length_ns)).collect();
        assert_eq!(stops, [(0, 900 * MILLISECOND)]);
    }

    #[test]
    fn the_longest_stops_are_kept_in_chronological_order() {
        let mut finder = StopFinder::default();
        finder.restart(0);
        let mut now_ns = 0;
        for length_ms in (1..=STOPS_MAX as u64 + 5).rev() {
            now_ns += length_ms * MILLISECOND;
            finder.awake(now_ns);
        }
        let lengths: Vec<_> = finder.into_longest().iter().map(|stop| stop.length_ns / MILLISECOND).collect();
        assert_eq!(lengths, (6..=15).rev().collect::<Vec<_>>());
    }
}
