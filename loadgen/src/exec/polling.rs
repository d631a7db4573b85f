//! Separates the time of empty polls into polling and CPU time that other threads took.

/// Initial estimate of the duration of an empty poll.
const USUAL_NS: u64 = 1_000;
/// Nanoseconds by which one poll changes the estimate.
const STEP_NS: u64 = 2;

/// Measures the time spent in empty polls. A poll counts for at most twice the usual duration: a longer one was
/// preempted. The usual duration, which differs between machines from half a microsecond to five, is a running median
/// (Frugal-1U of Ma, Muthukrishnan and Sandler, "Frugal Streaming for Estimating Quantiles", 2013).
#[derive(Debug)]
pub struct Polling {
    spent_ns: u64,
    usual_ns: u64,
}

impl Polling {
    pub const fn new() -> Self {
        Self { spent_ns: 0, usual_ns: USUAL_NS }
    }

    /// Adds an empty poll that took `polled_ns`. Returns the part of it that counts as polling.
    #[inline]
    pub fn add(&mut self, polled_ns: u64) -> u64 {
        let counted_ns = polled_ns.min(2 * self.usual_ns);
        self.spent_ns += counted_ns;
        if polled_ns > self.usual_ns {
            self.usual_ns += STEP_NS;
        } else {
            self.usual_ns = self.usual_ns.saturating_sub(STEP_NS).max(STEP_NS);
        }
        counted_ns
    }

    /// Nanoseconds counted since the start or the last [`Self::forget`].
    pub const fn spent_ns(&self) -> u64 {
        self.spent_ns
    }

    /// Resets the time to zero, but keeps the usual duration of a poll.
    pub fn forget(&mut self) {
        self.spent_ns = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time counted of 1000 polls of these lengths in turn, after 10,000 polls for learning.
    fn counted_ns(lengths_ns: &[u64]) -> u64 {
        let mut polling = Polling::new();
        let add = |polls: usize, polling: &mut Polling| {
            lengths_ns.iter().cycle().take(polls).for_each(|length_ns| {
                polling.add(*length_ns);
            });
        };
        add(10_000, &mut polling);
        polling.forget();
        add(1_000, &mut polling);
        polling.spent_ns()
    }

    #[test]
    fn polls_count_whole_on_a_fast_machine_and_on_a_slow_one() {
        for length_ns in [100, 500, 2_000, 5_000] {
            assert_eq!(counted_ns(&[length_ns]), 1_000 * length_ns, "{length_ns}");
            let (shorter, longer) = (length_ns * 7 / 10, length_ns * 13 / 10);
            assert_eq!(counted_ns(&[shorter, length_ns, longer, length_ns]), 1_000 * length_ns, "about {length_ns}");
        }
    }

    #[test]
    fn a_poll_that_was_preempted_counts_for_twice_the_usual_at_most() {
        let mut lengths_ns = vec![500; 100];
        lengths_ns[50] = 3_000_000;
        let counted_ns = counted_ns(&lengths_ns);
        assert!((500_000..=512_000).contains(&counted_ns), "{counted_ns}");
    }
}
