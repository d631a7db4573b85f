//! The due times of one connection in order, and of all connections by second.

use super::Schedule;
use crate::part::Part;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// The requests of one connection.
///
/// Evenly spaced arrivals: connection `g` of `C` owns the requests `g, g + C, g + 2C, …` of the plan.
///
/// Poisson arrivals: each connection is a Poisson process at one `C`-th of the rate, so that all connections together
/// are a Poisson process at the whole rate. Gaps are exponential with mean `C`, measured in requests of the plan and
/// not in seconds, so the process follows the plan's rate at any time.
#[derive(Debug, Clone)]
pub struct Arrivals {
    first: u64,
    step: u64,
    taken: u64,
    due_ns: u64,
    poisson: Option<Poisson>,
}

#[derive(Debug, Clone)]
struct Poisson {
    random: SmallRng,
    index: f64,
}

impl Poisson {
    fn advance(&mut self, mean: f64) {
        // 1 - u is in (0, 1], whose logarithm is finite.
        self.index += -(1.0 - self.random.random::<f64>()).ln() * mean;
    }
}

impl Arrivals {
    /// The arrivals of connection `connection` of `connections`.
    pub fn new(schedule: &Schedule, connection: u64, connections: u64) -> Self {
        let poisson = schedule.seed.map(|seed| {
            let own_seed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ connection;
            let mut poisson = Poisson { random: SmallRng::seed_from_u64(own_seed), index: 0.0 };
            poisson.advance(connections as f64);
            poisson
        });
        let mut arrivals = Self { first: connection, step: connections, taken: 0, due_ns: 0, poisson };
        arrivals.compute(schedule);
        arrivals
    }

    /// When the next request is due, in nanoseconds since the start; the end of the run if there is none.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Number of requests taken so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Takes the next `count` requests.
    #[inline]
    pub fn take(&mut self, schedule: &Schedule, count: u64) {
        self.taken += count;
        if let Some(poisson) = &mut self.poisson {
            for _ in 0..count {
                poisson.advance(self.step as f64);
            }
        }
        self.compute(schedule);
    }

    /// Skips the requests that are due before `time_ns`. Returns whether there were any.
    #[inline]
    pub fn skip_before(&mut self, schedule: &Schedule, time_ns: u64) -> bool {
        if self.due_ns >= time_ns {
            return false;
        }
        self.take(schedule, self.waiting_before(schedule, time_ns));
        true
    }

    #[inline]
    fn compute(&mut self, schedule: &Schedule) {
        self.due_ns = match &self.poisson {
            Some(poisson) => schedule.due_at(poisson.index),
            None => schedule.due_ns(self.first + self.taken * self.step),
        };
    }

    /// Number of requests that are due before `time_ns` and have not been taken. `time_ns` must not be after the plan's
    /// end.
    pub fn waiting_before(&self, schedule: &Schedule, time_ns: u64) -> u64 {
        if self.poisson.is_none() {
            let own = schedule.due_before(time_ns).saturating_sub(self.first).div_ceil(self.step);
            return own.saturating_sub(self.taken);
        }
        let mut ahead = self.clone();
        while ahead.due_ns < time_ns {
            ahead.take(schedule, 1);
        }
        ahead.taken - self.taken
    }
}

/// The index of the `count`-th request that is due at `from_ns` or later, over the Poisson processes of `parties`. `None`
/// if the plan ends earlier.
pub(super) fn nth_index_after(schedule: &Schedule, from_ns: u64, count: u64, parties: u64) -> Option<f64> {
    use std::cmp::Reverse;
    let mut drawn: Vec<Arrivals> = (0..parties).map(|party| Arrivals::new(schedule, party, parties)).collect();
    // The bits of positive numbers have the numbers' order.
    let position = |arrivals: &Arrivals| arrivals.poisson.as_ref().map_or(0, |poisson| poisson.index.to_bits());
    let mut next: std::collections::BinaryHeap<_> =
        drawn.iter().enumerate().map(|(party, arrivals)| Reverse((position(arrivals), party))).collect();
    let mut counted = 0;
    while let Some(Reverse((bits, party))) = next.pop() {
        let arrivals = &mut drawn[party];
        if arrivals.due_ns >= schedule.duration_ns {
            return None;
        }
        counted += u64::from(arrivals.due_ns >= from_ns);
        if counted == count {
            return Some(f64::from_bits(bits));
        }
        arrivals.take(schedule, 1);
        next.push(Reverse((position(arrivals), party)));
    }
    None
}

/// Counts the requests that become due, second by second, over all threads of one generator.
#[derive(Debug)]
pub struct DueCounter {
    threads: Vec<ThreadCounter>,
}

/// The requests of one thread that have become due.
#[derive(Debug)]
struct ThreadCounter {
    /// The thread's share of all requests.
    share: Part,
    /// A second copy of the Poisson processes: the same seeds draw the same times. Empty if arrivals are evenly spaced.
    drawn: Vec<Arrivals>,
    skipped: u64,
    counted: u64,
    /// When the thread ended, and the number of its requests that were due by then, without those that were skipped.
    ended: Option<(u64, u64)>,
}

impl ThreadCounter {
    fn advance(&mut self, schedule: &Schedule, time_ns: u64) -> u64 {
        let due = match self.ended {
            Some((end_ns, due)) if time_ns >= end_ns => self.skipped + due,
            _ if schedule.seed.is_none() => self.share.share(schedule.due_before(time_ns)),
            _ => {
                for arrivals in &mut self.drawn {
                    arrivals.skip_before(schedule, time_ns);
                }
                self.drawn.iter().map(Arrivals::taken).sum()
            }
        };
        let before = self.counted;
        self.counted = due.max(before);
        self.counted - before
    }
}

impl DueCounter {
    /// Makes a counter for those of `threads` threads that belong to `part`. All threads together have `parties`
    /// connections or pools, and `parties` is a multiple of `threads`.
    pub fn new(schedule: &Schedule, parties: u64, threads: u64, part: Part) -> Self {
        let counter = |index: u64| {
            let own = (0..parties).filter(|party| schedule.seed.is_some() && party % threads == index);
            ThreadCounter {
                share: Part { index, of: threads },
                drawn: own.map(|party| Arrivals::new(schedule, party, parties)).collect(),
                skipped: 0,
                counted: 0,
                ended: None,
            }
        };
        Self { threads: (0..threads).filter(|thread| part.owns(*thread)).map(counter).collect() }
    }

    /// Leaves out the requests that are due before `time_ns`.
    pub fn skip(&mut self, schedule: &Schedule, time_ns: u64) {
        self.advance(schedule, time_ns);
        self.threads.iter_mut().for_each(|thread| thread.skipped = thread.counted);
    }

    /// Ends `thread`, an index among all threads, at `end_ns`. Then `due` of its requests were due in all, which are more
    /// than planned after a pipelined batch, and fewer if the script delays requests.
    pub fn end(&mut self, thread: u64, end_ns: u64, due: u64) {
        let own = self.threads.iter_mut().filter(|own| own.share.index == thread);
        own.for_each(|own| own.ended = Some((end_ns, due)));
    }

    /// Number of requests that are due before `time_ns` and that no earlier call has counted.
    pub fn advance(&mut self, schedule: &Schedule, time_ns: u64) -> u64 {
        self.threads.iter_mut().map(|thread| thread.advance(schedule, time_ns)).sum()
    }
}
