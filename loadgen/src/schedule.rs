//! When each request is due.
//!
//! Request `k` of a run at a constant rate is due `k / rate` seconds after the start. The time is computed from the
//! index each time and never accumulated, so it neither drifts nor depends on earlier requests. A plan with several
//! rates is a sequence of such steps. In a ramp the number of due requests is a quadratic function of time, and the
//! time of request `k` is its root.
//!
//! The requests are assigned round-robin: connection `g` of `C` owns the requests `g, g + C, g + 2C, …`, and thread `g
//! mod T` owns the connection. So the requests of all connections together are evenly spaced in time.
//!
//! With Poisson arrivals each connection draws its own times instead; see [`Arrivals`].

mod arrivals;

use crate::clock::SECOND;
use crate::units::{Rate, parse_positive_time_ns, parse_rate};

pub use arrivals::{Arrivals, DueCounter};

/// A step of a plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step {
    /// A constant rate for a time in nanoseconds.
    Constant(Rate, u64),
    /// A rate that changes linearly from one to another, in requests a second, for a time in nanoseconds.
    Ramp(f64, f64, u64),
}

impl Step {
    /// Reads a step such as `10k:30s` or `0-50k:1m`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (rate, time) =
            text.split_once(':').ok_or("expected RATE:TIME or FROM-TO:TIME, such as 10k:30s or 0-50k:1m")?;
        let length_ns = parse_positive_time_ns(time)?;
        let Some((from, to)) = rate.split_once('-') else { return Ok(Self::Constant(parse_rate(rate)?, length_ns)) };
        let end = |text: &str| if text == "0" { Ok(0.0) } else { parse_rate(text).map(Rate::per_second) };
        match (end(from)?, end(to)?) {
            (from, to) if from == to => Err("a ramp needs two different rates".to_owned()),
            (from, to) => Ok(Self::Ramp(from, to, length_ns)),
        }
    }

    fn length_ns(self) -> u64 {
        match self {
            Self::Constant(_, length_ns) | Self::Ramp(_, _, length_ns) => length_ns,
        }
    }

    /// When request `index` of this step is due, in nanoseconds since the start of the step.
    #[inline]
    fn due_ns(self, index: u64) -> u64 {
        match self {
            Self::Constant(rate, _) => constant_due_ns(rate, index),
            Self::Ramp(..) => self.due_at(index as f64) as u64,
        }
    }

    /// As [`Self::due_ns`], for a fractional index.
    fn due_at(self, index: f64) -> f64 {
        match self {
            Self::Constant(rate, _) => index / rate.per_second() * SECOND as f64,
            Self::Ramp(from, to, length_ns) => {
                // index = from·t + slope/2·t², in the form that loses no digits when the slope is small.
                let slope = (to - from) / (length_ns as f64 / SECOND as f64);
                let root = (from * from + 2.0 * slope * index).max(0.0).sqrt();
                if index == 0.0 { 0.0 } else { 2.0 * index / (from + root) * SECOND as f64 }
            }
        }
    }

    /// Number of requests that are due in the first `time_ns` nanoseconds of this step.
    fn due_before(self, time_ns: u64) -> u64 {
        let time_ns = time_ns.min(self.length_ns());
        match self {
            Self::Constant(Rate { requests, seconds }, _) => {
                // due_ns rounds down, so the first index due at or after time_ns is ceil(time × requests / seconds).
                let scaled = u128::from(time_ns) * u128::from(requests);
                scaled.div_ceil(u128::from(SECOND) * u128::from(seconds)) as u64
            }
            Self::Ramp(from, to, length_ns) => {
                let (time_s, length_s) = (time_ns as f64 / SECOND as f64, length_ns as f64 / SECOND as f64);
                let mut count = (from * time_s + (to - from) / length_s * time_s * time_s / 2.0).ceil() as u64;
                // The formula and its inverse may differ in the last digit; the inverse decides.
                while count > 0 && self.due_ns(count - 1) >= time_ns {
                    count -= 1;
                }
                while self.due_at(count as f64) < time_ns as f64 && (count as f64) < self.area() {
                    count += 1;
                }
                count
            }
        }
    }

    /// Number of requests in a step as a real number.
    fn area(self) -> f64 {
        match self {
            Self::Constant(rate, length_ns) => rate.per_second() * length_ns as f64 / SECOND as f64,
            Self::Ramp(from, to, length_ns) => (from + to) / 2.0 * length_ns as f64 / SECOND as f64,
        }
    }
}

#[inline]
fn constant_due_ns(Rate { requests, seconds }: Rate, index: u64) -> u64 {
    // 64 bits last for 18 thousand million requests; beyond, the slower exact division.
    match index.checked_mul(SECOND * seconds) {
        Some(scaled) => scaled / requests,
        None => (u128::from(index) * u128::from(SECOND) * u128::from(seconds) / u128::from(requests)) as u64,
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Placed {
    step: Step,
    start_ns: u64,
    /// Number of evenly spaced requests before this step.
    first_index: u64,
    /// The same as a real number, by which Poisson arrivals are placed: a step may end between two requests.
    area_before: f64,
}

/// The plan of a run. Times are in nanoseconds since its start.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    steps: Vec<Placed>,
    /// Total length, including the warm-up.
    duration_ns: u64,
    requests: u64,
    /// The part at the start that is not measured.
    warmup_ns: u64,
    /// No request is due from this time on. This is the end of the run, unless the number of requests is limited.
    sending_ns: u64,
    /// The last Poisson arrival that is due. Unlike times, which are whole nanoseconds, no two arrivals share an index.
    last_index: f64,
    /// Seed of Poisson arrivals; `None` if arrivals are evenly spaced.
    seed: Option<u64>,
}

impl Schedule {
    /// A plan with one rate for `duration_ns`.
    pub fn constant(rate: Rate, duration_ns: u64) -> Self {
        Self::of_steps(&[Step::Constant(rate, duration_ns)])
    }

    /// A plan of one or more steps. Panics if there is none.
    pub fn of_steps(steps: &[Step]) -> Self {
        assert!(!steps.is_empty(), "a plan has a step");
        let (mut placed, mut start_ns, mut first_index, mut area_before) = (Vec::new(), 0, 0, 0.0);
        for step in steps {
            placed.push(Placed { step: *step, start_ns, first_index, area_before });
            start_ns += step.length_ns();
            area_before += step.area();
            first_index += step.due_before(step.length_ns());
        }
        Self {
            steps: placed,
            duration_ns: start_ns,
            requests: first_index,
            warmup_ns: 0,
            sending_ns: start_ns,
            last_index: f64::INFINITY,
            seed: None,
        }
    }

    /// The same plan with a warm-up of `warmup_ns` before it, at the rate with which the plan begins.
    #[must_use]
    pub fn with_warmup(self, warmup_ns: u64) -> Self {
        if warmup_ns == 0 {
            return self;
        }
        let warmup = match self.steps[0].step {
            Step::Constant(rate, _) => Step::Constant(rate, warmup_ns),
            Step::Ramp(from, ..) => Step::Ramp(from, from, warmup_ns),
        };
        let steps: Vec<Step> = std::iter::once(warmup).chain(self.steps.iter().map(|placed| placed.step)).collect();
        Self { warmup_ns, seed: self.seed, ..Self::of_steps(&steps) }
    }

    /// The same plan, of whose measured part only the first `requests` are sent. These are divided among `parties`
    /// connections or pools. Must be the last change to the plan.
    #[must_use]
    pub fn limited_to(mut self, requests: u64, parties: u64) -> Self {
        let last_due_ns = match self.seed {
            None => Some(self.due_ns(self.due_before(self.warmup_ns) + requests - 1)),
            Some(_) => arrivals::nth_index_after(&self, self.warmup_ns, requests, parties).map(|last_index| {
                self.last_index = last_index;
                self.due_at(last_index)
            }),
        };
        if let Some(last_due_ns) = last_due_ns {
            self.sending_ns = self.duration_ns.min(last_due_ns + 1);
        }
        self
    }

    /// The same plan with Poisson arrivals, drawn from `seed`.
    #[must_use]
    pub fn with_poisson_arrivals(self, seed: u64) -> Self {
        Self { seed: Some(seed), ..self }
    }

    /// Length of the measured part.
    pub fn duration_ns(&self) -> u64 {
        self.duration_ns - self.warmup_ns
    }

    /// Length of the warm-up.
    pub fn warmup_ns(&self) -> u64 {
        self.warmup_ns
    }

    /// When the run ends, including the warm-up.
    pub fn end_ns(&self) -> u64 {
        self.duration_ns
    }

    /// Whether the limit on requests ends the plan before the run ends.
    pub fn is_limited(&self) -> bool {
        self.sending_ns < self.duration_ns
    }

    /// Mean rate over the measured part, in requests a second.
    pub fn rate_per_s(&self) -> f64 {
        let measured = &self.steps[usize::from(self.warmup_ns > 0)..];
        match measured {
            [Placed { step: Step::Constant(rate, _), .. }] => rate.per_second(),
            _ => {
                let requests: f64 = measured.iter().map(|placed| placed.step.area()).sum();
                requests * SECOND as f64 / self.duration_ns() as f64
            }
        }
    }

    /// When request `index` is due with evenly spaced arrivals. A time after the end of the run if there is no such
    /// request.
    #[inline]
    pub fn due_ns(&self, index: u64) -> u64 {
        if index >= self.requests {
            return self.duration_ns;
        }
        let placed = match self.steps.len() {
            1 => &self.steps[0],
            _ => &self.steps[self.steps.partition_point(|placed| placed.first_index <= index) - 1],
        };
        self.or_end(placed.start_ns + placed.step.due_ns(index - placed.first_index))
    }

    /// `due_ns`, or the end if the limit on requests comes first.
    #[inline]
    fn or_end(&self, due_ns: u64) -> u64 {
        if due_ns < self.sending_ns { due_ns } else { self.duration_ns }
    }

    /// As [`Self::due_ns`], for a fractional index: the inverse of the number of due requests.
    fn due_at(&self, index: f64) -> u64 {
        if index > self.last_index {
            return self.duration_ns;
        }
        let after = self.steps.partition_point(|placed| placed.area_before <= index);
        let placed = &self.steps[after - 1];
        let within = index - placed.area_before;
        if within >= placed.step.area() {
            return self.steps.get(after).map_or(self.duration_ns, |next| next.start_ns);
        }
        self.or_end(placed.start_ns + placed.step.due_at(within) as u64)
    }

    /// Number of requests that are due before `time_ns` with evenly spaced arrivals.
    pub fn due_before(&self, time_ns: u64) -> u64 {
        let time_ns = time_ns.min(self.sending_ns);
        let after = self.steps.partition_point(|placed| placed.start_ns < time_ns);
        if after == 0 {
            return 0;
        }
        let placed = &self.steps[after - 1];
        placed.first_index + placed.step.due_before(time_ns - placed.start_ns)
    }
}

#[cfg(test)]
mod tests;
