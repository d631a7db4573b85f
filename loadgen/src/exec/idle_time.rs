//! The time in which a loop had nothing to do, and the times in which it should have run and did not.

use super::polling::Polling;
use super::stops::{Stop, StopFinder};

/// Divides the time of one loop into work, idle time and stops.
#[derive(Debug)]
pub(super) struct IdleTime {
    /// Time in which the loop was idle. The part spent in polling is in `polling`.
    idle_ns: u64,
    polling: Polling,
    stops: StopFinder,
}

impl IdleTime {
    pub(super) fn new() -> Self {
        Self { idle_ns: 0, polling: Polling::new(), stops: StopFinder::default() }
    }

    /// Forgets what was before `now_ns`.
    pub(super) fn restart(&mut self, now_ns: u64) {
        self.idle_ns = 0;
        self.polling.forget();
        self.stops.restart(now_ns);
    }

    /// Records that the loop is awake at `now_ns`.
    #[inline]
    pub(super) fn awake(&mut self, now_ns: u64) {
        self.stops.awake(now_ns);
    }

    /// Records that the loop works, so that the time since the last poll is none of its polling.
    #[inline]
    pub(super) fn works(&mut self) {
        self.polling.end_turn();
    }

    /// Records that the loop, awake at `now_ns`, goes to sleep until `wake_ns` at the latest.
    #[inline]
    pub(super) fn sleeps(&mut self, now_ns: u64, wake_ns: u64) {
        self.stops.sleep_until(now_ns, wake_ns);
    }

    /// Records that a sleep until `wake_ns`, or a poll if `wake_ns` is `before_ns`, ended at `after_ns`; `found` says
    /// whether there is something to do.
    #[inline]
    pub(super) fn slept(&mut self, before_ns: u64, wake_ns: u64, after_ns: u64, found: bool) {
        self.stops.awake(after_ns);
        // Time after the planned wake-up is not idle: the loop wanted to run.
        if wake_ns == before_ns && !found {
            self.idle_ns += self.polling.add(before_ns, after_ns);
        } else {
            self.polling.end_turn();
            self.idle_ns += after_ns.min(wake_ns) - before_ns;
        }
    }

    /// Time in which the loop was idle.
    pub(super) const fn idle_ns(&self) -> u64 {
        self.idle_ns
    }

    /// The part of the idle time in which the loop polled.
    pub(super) const fn spin_ns(&self) -> u64 {
        self.polling.spent_ns()
    }

    /// The longest stops in chronological order.
    pub(super) fn into_stops(self) -> Vec<Stop> {
        self.stops.into_longest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::MILLISECOND;

    #[test]
    fn idle_time_ends_when_the_loop_wanted_to_run() {
        let mut idle = IdleTime::new();
        idle.restart(0);
        idle.sleeps(0, 10 * MILLISECOND);
        idle.slept(0, 10 * MILLISECOND, 14 * MILLISECOND, false);
        assert_eq!((idle.idle_ns(), idle.spin_ns()), (10 * MILLISECOND, 0));
        idle.sleeps(14 * MILLISECOND, 14 * MILLISECOND);
        idle.slept(14 * MILLISECOND, 14 * MILLISECOND, 14 * MILLISECOND + 900, false);
        assert_eq!((idle.idle_ns(), idle.spin_ns()), (10 * MILLISECOND + 900, 900));
        let stops = idle.into_stops();
        assert_eq!(stops, [Stop { start_ns: 10 * MILLISECOND, length_ns: 4 * MILLISECOND }]);
    }
}
