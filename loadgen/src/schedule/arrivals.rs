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
    /// A second copy of the Poisson processes: the same seeds draw the same times. Empty if arrivals are evenly spaced.
    drawn: Vec<(u64, Arrivals)>,
    /// Each thread's share of all requests, and the time from which none of its requests counts.
    threads: Vec<(Part, u64)>,
    counted: u64,
}

impl DueCounter {
    /// Makes a counter for those of `threads` threads that belong to `part`. All threads together have `parties`
    /// connections or pools, and `parties` is a multiple of `threads`.
    pub fn new(schedule: &Schedule, parties: u64, threads: u64, part: Part) -> Self {
        let own = (0..parties).filter(|party| part.owns(*party));
        let drawn = match schedule.seed {
            Some(_) => own.map(|party| (party % threads, Arrivals::new(schedule, party, parties))).collect(),
            None => Vec::new(),
        };
        let own = (0..threads).filter(|thread| part.owns(*thread));
        Self { drawn, threads: own.map(|index| (Part { index, of: threads }, u64::MAX)).collect(), counted: 0 }
    }

    /// Counts no more requests of `thread`, an index among all threads, that are due at `end_ns` or later.
    pub fn end(&mut self, thread: u64, end_ns: u64) {
        self.threads.iter_mut().filter(|(own, _)| own.index == thread).for_each(|(_, until_ns)| *until_ns = end_ns);
    }

    /// Number of requests that are due before `time_ns` and that no earlier call has counted.
    pub fn advance(&mut self, schedule: &Schedule, time_ns: u64) -> u64 {
        if schedule.seed.is_none() {
            let before = self.counted;
            let due = |(thread, until_ns): &(Part, u64)| thread.share(schedule.due_before(time_ns.min(*until_ns)));
            self.counted = self.threads.iter().map(due).sum::<u64>().max(before);
            return self.counted - before;
        }
        let mut count = 0;
        for (thread, arrivals) in &mut self.drawn {
            let own = self.threads.iter().find(|(own, _)| own.index == *thread);
            let until_ns = own.map_or(0, |(_, until_ns)| *until_ns).min(time_ns);
            while arrivals.due_ns() < until_ns {
                arrivals.take(schedule, 1);
                count += 1;
            }
        }
        count
    }
}
