//! What shaped the load, so that the results alone say how to repeat it.

use crate::cli::{Arguments, ArrivalKind, Idle};
use crate::clock::SECOND;
use crate::schedule::Step;
use serde::{Deserialize, Serialize};

/// Headers whose values are secrets, and so are in no output.
const SECRETS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];

/// A step of the rate plan.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RateStep {
    /// Requests a second at the start of the step, of all generators together.
    pub from_per_s: f64,
    /// Requests a second at its end. The rate between is linear.
    pub to_per_s: f64,
    /// Length in seconds.
    pub duration_s: f64,
}

/// The options that shape the load, apart from those in [`super::RunDescription`] itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadShape {
    /// The rates in sequence.
    pub rate_plan: Vec<RateStep>,
    /// Number of requests after which the run ends (`--requests`).
    pub requests_max: Option<u64>,
    /// Distribution of the due times.
    pub arrivals: ArrivalKind,
    /// Seed of random arrivals.
    pub seed: Option<u64>,
    /// Limit on catching up.
    pub catch_up_max: Option<f64>,
    /// Whether a batch of pipelined requests has one latency.
    pub batch_latency: bool,
    /// Time after which a request counts as timed out, in seconds.
    pub timeout_s: f64,
    /// Statuses that count as served in addition to 200 to 399.
    pub expect: Vec<u16>,
    /// How threads wait until the next request is due.
    pub idle: Idle,
    /// Headers from the command line, as `NAME: VALUE`.
    pub headers: Vec<String>,
    /// The words after `--`, for the script.
    pub script_arguments: Vec<String>,
}

impl LoadShape {
    /// The shape that `arguments` ask for.
    pub fn of(arguments: &Arguments) -> Self {
        let seconds = |time_ns: u64| time_ns as f64 / SECOND as f64;
        let constant = arguments.rate.map(|rate| Step::Constant(rate, arguments.duration_ns));
        let steps = constant.into_iter().chain(arguments.rate_plan.iter().copied()).map(|step| {
            let (from_per_s, to_per_s, length_ns) = match step {
                Step::Constant(rate, length_ns) => (rate.per_second(), rate.per_second(), length_ns),
                Step::Ramp(from, to, length_ns) => (from, to, length_ns),
            };
            RateStep { from_per_s, to_per_s, duration_s: seconds(length_ns) }
        });
        let header = |(name, value): &(String, String)| {
            let secret = SECRETS.iter().any(|secret| name.eq_ignore_ascii_case(secret));
            format!("{name}: {}", if secret { "***" } else { value })
        };
        Self {
            rate_plan: steps.collect(),
            requests_max: arguments.requests,
            arrivals: arguments.arrivals,
            seed: (arguments.arrivals == ArrivalKind::Poisson).then_some(arguments.seed),
            catch_up_max: arguments.catch_up_max,
            batch_latency: arguments.batch_latency,
            timeout_s: seconds(arguments.timeout_ns),
            expect: arguments.expect.clone(),
            idle: arguments.idle,
            headers: arguments.headers.iter().map(header).collect(),
            script_arguments: arguments.script_arguments.clone(),
        }
    }
}
