//! Knows which connection has something to do next, and when.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A queue of (time in nanoseconds, connection), earliest first.
///
/// Entries are hints: the caller checks what the connection has to do, so an obsolete entry does no harm and need not be
/// removed.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Timers {
    /// Adds an entry: `connection` must be checked at `time_ns`.
    #[inline]
    pub(super) fn push(&mut self, time_ns: u64, connection: u32) {
        self.heap.push(Reverse((time_ns, connection)));
    }

    /// The time of the next entry; `u64::MAX` if there is none.
    #[inline]
    pub(super) fn next_ns(&self) -> u64 {
        self.heap.peek().map_or(u64::MAX, |Reverse((time_ns, _))| *time_ns)
    }

    /// Removes and returns the next entry if its time is at or before `now_ns`.
    #[inline]
    pub(super) fn pop_due(&mut self, now_ns: u64) -> Option<(u64, u32)> {
        if self.next_ns() > now_ns {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}
