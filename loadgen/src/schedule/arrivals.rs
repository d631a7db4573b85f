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

/// When the `count`-th request from `from_ns` on is due, over the Poisson processes of `parties`. `None` if the plan
/// ends earlier.
pub(super) fn nth_due_after(schedule: &Schedule, from_ns: u64, count: u64, parties: u64) -> Option<u64> {
    use std::cmp::Reverse;
    let mut drawn: Vec<Arrivals> = (0..parties).map(|party| Arrivals::new(schedule, party, parties)).collect();
    let mut next: std::collections::BinaryHeap<_> =
        drawn.iter().enumerate().map(|(party, arrivals)| Reverse((arrivals.due_ns, party))).collect();
    let mut counted = 0;
    while let Some(Reverse((due_ns, party))) = next.pop() {
        if due_ns >= schedule.duration_ns {
            return None;
        }
        counted += u64::from(due_ns >= from_ns);
        if counted == count {
            return Some(due_ns);
        }
        drawn[party].take(schedule, 1);
        next.push(Reverse((drawn[party].due_ns, party)));
    }
    None
}

/// Counts the requests that become due, second by second, over all connections of one generator.
#[derive(Debug)]
pub struct DueCounter {
    /// A second copy of the Poisson processes: the same seeds draw the same times. Empty if arrivals are evenly spaced.
    drawn: Vec<Arrivals>,
    part: Part,
    counted: u64,
}

impl DueCounter {
    /// Makes a counter for those of `connections` connections that belong to `part`.
    pub fn new(schedule: &Schedule, connections: u64, part: Part) -> Self {
        let own = (0..connections).filter(|connection| part.owns(*connection));
        let drawn = match schedule.seed {
            Some(_) => own.map(|connection| Arrivals::new(schedule, connection, connections)).collect(),
            None => Vec::new(),
        };
        Self { drawn, part, counted: 0 }
    }

    /// Number of requests that are due before `time_ns` and that no earlier call has counted.
    pub fn advance(&mut self, schedule: &Schedule, time_ns: u64) -> u64 {
        if schedule.seed.is_none() {
            let before = self.counted;
            self.counted = self.part.share(schedule.due_before(time_ns)).max(before);
            return self.counted - before;
        }
        let mut count = 0;
        for arrivals in &mut self.drawn {
            while arrivals.due_ns() < time_ns {
                arrivals.take(schedule, 1);
                count += 1;
            }
        }
        count
    }
}
