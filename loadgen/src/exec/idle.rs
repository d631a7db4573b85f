//! Decides how long an event loop may sleep, according to `--idle`.

use crate::cli::Idle;
use crate::clock::MICROSECOND;

/// `hybrid` stops sleeping this many nanoseconds before a request is due.
const BEFORE_DUE_NS: u64 = 50 * MICROSECOND;
/// `hybrid` polls for this many nanoseconds after a request was sent. A sleeping thread takes tens of microseconds to
/// run again, which would be charged to a server that responds faster.
const AFTER_SENT_NS: u64 = 200 * MICROSECOND;

impl Idle {
    /// The longest allowed sleep at `now_ns` if nothing is due before `wake_ns`; 0 means poll. `awaited_since_ns` is
    /// the time at which the last request was sent, if responses are outstanding.
    #[inline]
    pub(super) fn sleep_ns(self, now_ns: u64, wake_ns: u64, awaited_since_ns: Option<u64>) -> u64 {
        let left_ns = wake_ns.saturating_sub(now_ns);
        match self {
            Self::Sleep => left_ns,
            Self::Hybrid if awaited_since_ns.is_some_and(|sent_ns| now_ns < sent_ns + AFTER_SENT_NS) => 0,
            Self::Hybrid => left_ns.saturating_sub(BEFORE_DUE_NS),
            Self::Spin => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleeping_lasts_until_something_is_due_and_spinning_never_sleeps() {
        for awaited in [None, Some(999_999)] {
            assert_eq!(Idle::Sleep.sleep_ns(1_000_000, 2_000_000, awaited), 1_000_000);
            assert_eq!(Idle::Sleep.sleep_ns(1_000_000, 900_000, awaited), 0);
            assert_eq!(Idle::Spin.sleep_ns(1_000_000, 2_000_000, awaited), 0);
        }
    }

    #[test]
    fn hybrid_polls_shortly_before_a_request_is_due_and_shortly_after_one_is_sent() {
        let sleep_ns = |now, awaited| Idle::Hybrid.sleep_ns(now, 10_000_000, awaited);
        assert_eq!(sleep_ns(9_950_000, None), 0);
        assert_eq!(sleep_ns(9_900_000, None), 50_000);
        // Nothing is on the wire: sleep, even shortly after the last request.
        assert_eq!(sleep_ns(1_000_000, None), 8_950_000);
        assert_eq!(sleep_ns(1_000_000, Some(1_000_000)), 0);
        assert_eq!(sleep_ns(1_199_999, Some(1_000_000)), 0);
        // With a slower server the thread sleeps.
        assert_eq!(sleep_ns(1_200_000, Some(1_000_000)), 8_750_000);
    }
}
