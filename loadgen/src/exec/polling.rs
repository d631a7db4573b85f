//! Separates the time that a loop spends polling into its own and CPU time that other threads took.

/// Initial estimate of the duration of a turn.
const USUAL_NS: u64 = 1_000;
/// Nanoseconds by which one turn changes the estimate.
const STEP_NS: u64 = 2;

/// Measures the time spent polling, in turns: from the end of one empty poll to the end of the next, with what the loop
/// does in between to find nothing due. A turn counts for at most twice the usual duration: a longer one was preempted.
/// The usual duration, which differs between machines from a third of a microsecond to five, is a running median
/// (Frugal-1U of Ma, Muthukrishnan and Sandler, "Frugal Streaming for Estimating Quantiles", 2013).
#[derive(Debug)]
pub struct Polling {
    spent_ns: u64,
    usual_ns: u64,
    /// The end of the last empty poll, if the loop has found nothing to do since.
    empty_since_ns: Option<u64>,
}

impl Polling {
    pub const fn new() -> Self {
        Self { spent_ns: 0, usual_ns: USUAL_NS, empty_since_ns: None }
    }

    /// Adds an empty poll from `began_ns` to `ended_ns`, which completes a turn. Returns how many nanoseconds of the
    /// turn count as polling.
    #[inline]
    pub fn add(&mut self, began_ns: u64, ended_ns: u64) -> u64 {
        let turn_ns = ended_ns - self.empty_since_ns.replace(ended_ns).unwrap_or(began_ns);
        let counted_ns = turn_ns.min(2 * self.usual_ns);
        self.spent_ns += counted_ns;
        if turn_ns > self.usual_ns {
            self.usual_ns += STEP_NS;
        } else {
            self.usual_ns = self.usual_ns.saturating_sub(STEP_NS).max(STEP_NS);
        }
        counted_ns
    }

    /// Notes that the loop has slept or worked, so that the time since the last poll is none of its polling.
    #[inline]
    pub fn end_turn(&mut self) {
        self.empty_since_ns = None;
    }

    /// Nanoseconds counted since the start or the last [`Self::forget`].
    pub const fn spent_ns(&self) -> u64 {
        self.spent_ns
    }

    /// Resets the time to zero, but keeps the usual duration of a turn.
    pub fn forget(&mut self) {
        self.spent_ns = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The time counted of 1000 turns of these lengths one after another, after 10,000 turns for learning.
    fn counted_ns(lengths_ns: &[u64]) -> u64 {
        let mut polling = Polling::new();
        let mut now_ns = 0;
        polling.add(now_ns, now_ns);
        let mut add = |turns: usize, polling: &mut Polling| {
            lengths_ns.iter().cycle().take(turns).for_each(|length_ns| {
                now_ns += length_ns;
                // The poll itself is a part of the turn.
                polling.add(now_ns - length_ns / 2, now_ns);
            });
        };
        add(10_000, &mut polling);
        polling.forget();
        add(1_000, &mut polling);
        polling.spent_ns()
    }

    #[test]
    fn turns_count_whole_on_a_fast_machine_and_on_a_slow_one() {
        for length_ns in [100, 500, 2_000, 5_000] {
            assert_eq!(counted_ns(&[length_ns]), 1_000 * length_ns, "{length_ns}");
            let (shorter, longer) = (length_ns * 7 / 10, length_ns * 13 / 10);
            assert_eq!(counted_ns(&[shorter, length_ns, longer, length_ns]), 1_000 * length_ns, "about {length_ns}");
        }
    }

    #[test]
    fn a_turn_that_was_preempted_counts_for_twice_the_usual_at_most() {
        let mut lengths_ns = vec![500; 100];
        lengths_ns[50] = 3_000_000;
        let counted_ns = counted_ns(&lengths_ns);
        assert!((500_000..=512_000).contains(&counted_ns), "{counted_ns}");
    }

    #[test]
    fn work_between_two_polls_does_not_count() {
        let mut polling = Polling::new();
        assert_eq!(polling.add(100, 400), 300);
        assert_eq!(polling.add(500, 800), 400);
        polling.end_turn();
        assert_eq!(polling.add(1_500, 1_800), 300);
        assert_eq!(polling.spent_ns(), 1_000);
    }
}
