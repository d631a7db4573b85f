//! The end of a run: the figures of each generator, and the results of one generator or of several combined.

use super::results::{CommonStart, GeneratorResult, LoopCpu, Results, RunDescription, Unfinished};
use super::verdict::{GeneratorStop, Moved, Verdict, VerdictInput};
use crate::clock::SECOND;
use crate::exec::{RequestRate, STOPS_MAX};
use crate::part::Part;
use crate::stats::{Interval, SecondRow};
use serde::{Deserialize, Serialize};

/// A generator's results, without its counts. Times are in nanoseconds since the end of the warm-up.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Ending {
    /// The load as requested.
    pub description: RunDescription,
    /// The part of the load that the generator sent.
    pub part: Part,
    /// Requests a second of all generators together.
    pub rate_of_all_per_s: f64,
    /// Nanoseconds by which a percentile may always be moved (`--send-lag-max`).
    pub allowed_ns: u64,
    /// Number of connections that were open at the start.
    pub connected: u64,
    /// The requested start, if there was one.
    pub start: Option<CommonStart>,
    /// CPU time of the process.
    pub cpu_ns: u64,
    /// The generator's event loops.
    pub loops: Vec<LoopEnding>,
    /// The generator's threads.
    pub threads: Vec<ThreadEnding>,
    /// Why the run ended early or an output is missing, if that happened.
    pub failure: Option<String>,
    /// The failure that ended the run early, if there was one.
    pub ended_by: Option<String>,
    /// The text of the script, if there is one, so that parts with different scripts are not merged.
    pub script_text: Option<String>,
}

/// The state of an event loop at its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LoopEnding {
    /// When the loop ended.
    pub end_ns: u64,
    /// Time in which the loop was idle.
    pub idle_ns: u64,
    /// The part of `idle_ns` in which the loop polled instead of sleeping.
    pub spin_ns: u64,
    /// CPU time that the loop used.
    pub cpu_ns: u64,
    /// Whether the loop ran at niceness -20.
    pub high_priority: bool,
    /// Start and length of the loop's longest stops.
    pub stops: Vec<(u64, u64)>,
}

/// The state of a thread at its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ThreadEnding {
    /// Index of the thread across all generators.
    pub thread: u64,
    /// Number of the thread's requests that were due.
    pub due: u64,
    /// Number of due requests without a response or an error.
    pub unfinished: u64,
    /// Age of the oldest unfinished request.
    pub oldest_unfinished_ns: u64,
    /// The largest number of requests that one connection had on the wire.
    pub pipelining: u64,
    /// The sampled response rate of the thread.
    pub request_rate: RequestRate,
}

impl Ending {
    /// Actual length of the run; the planned length before any loop has ended.
    pub fn elapsed_ns(&self) -> u64 {
        let planned_ns = (self.description.duration_s * SECOND as f64) as u64;
        self.loops.iter().map(|ended| ended.end_ns).max().unwrap_or(planned_ns)
    }

    /// Combines the endings of all parts, which are in order.
    pub fn together(endings: &[Self]) -> Self {
        let first = endings.first().expect("there is a generator");
        let sum = |of: fn(&Self) -> u64| endings.iter().map(of).sum();
        let starts = endings.iter().filter_map(|ending| ending.start);
        let failures = endings.iter().filter_map(|e| Some(format!("generator {}: {}", e.part, e.failure.as_ref()?)));
        Self {
            description: RunDescription {
                threads: sum(|ending| ending.description.threads),
                connections: sum(|ending| ending.description.connections),
                event_loops: sum(|ending| ending.description.event_loops),
                rate_per_s: first.rate_of_all_per_s,
                started_at: endings.iter().map(|e| e.description.started_at.clone()).min().expect("there is one"),
                ..first.description.clone()
            },
            part: Part::WHOLE,
            rate_of_all_per_s: first.rate_of_all_per_s,
            allowed_ns: endings.iter().map(|ending| ending.allowed_ns).min().expect("there is one"),
            connected: sum(|ending| ending.connected),
            start: starts.max_by_key(|start| start.missed_by_ns),
            cpu_ns: sum(|ending| ending.cpu_ns),
            loops: endings.iter().flat_map(|ending| ending.loops.clone()).collect(),
            threads: endings.iter().flat_map(|ending| ending.threads.clone()).collect(),
            failure: failures.reduce(|all, next| format!("{all}; {next}")),
            // The verdict of each generator says it.
            ended_by: None,
            script_text: None,
        }
    }

    fn verdict(&self, sum: &Interval, stops: &[GeneratorStop]) -> Verdict {
        let idle_share = |ended: &LoopEnding| ended.idle_ns as f64 / ended.end_ns.max(1) as f64;
        Verdict::of(&VerdictInput {
            p50: Moved::of(&sum.latencies, 50.0),
            p99: Moved::of(&sum.latencies, 99.0),
            p99_9: Moved::of(&sum.latencies, 99.9),
            allowed_ns: self.allowed_ns,
            stops: stops.to_vec(),
            elapsed_s: self.elapsed_ns() as f64 / SECOND as f64,
            idle_shares: self.loops.iter().map(idle_share).collect(),
            ended_by: self.ended_by.clone(),
            connected: self.connected,
            connections: self.description.connections,
            start_missed_by_ns: self.start.map_or(0, |start| start.missed_by_ns),
        })
    }

    /// Makes the results. `sum` holds the counts of the run, and `series` those of each second.
    pub fn into_results(mut self, sum: Interval, series: Vec<SecondRow>) -> Results {
        let stops = longest_stops(&self.loops);
        let verdict = self.verdict(&sum, &stops);
        // A turn of polling that was preempted may be counted as longer than it was.
        let spin_ns = self.loops.iter().map(|ended| ended.spin_ns).sum::<u64>().min(self.cpu_ns);
        let loops = self.loops.iter().map(|ended| {
            let cpu_s = ended.cpu_ns as f64 / SECOND as f64;
            let spin_s = (ended.spin_ns as f64 / SECOND as f64).min(cpu_s);
            LoopCpu { cpu_s, spin_s, high_priority: ended.high_priority }
        });
        self.threads.sort_unstable_by_key(|thread| thread.thread);
        Results {
            requests_due: self.threads.iter().map(|thread| thread.due).sum(),
            unfinished: Unfinished {
                count: self.threads.iter().map(|thread| thread.unfinished).sum(),
                oldest_ns: self.threads.iter().map(|thread| thread.oldest_unfinished_ns).max().unwrap_or(0),
            },
            pipelining: self.threads.iter().map(|thread| thread.pipelining).max().unwrap_or(0),
            elapsed_ns: self.elapsed_ns(),
            cpu_ns: self.cpu_ns,
            spin_ns,
            loops: loops.collect(),
            stops,
            request_rates: self.threads.into_iter().map(|thread| thread.request_rate).collect::<Vec<RequestRate>>(),
            series,
            verdict,
            sum,
            part: self.part,
            start: self.start,
            generators: Vec::new(),
            failure: self.failure,
            description: self.description,
        }
    }
}

/// The results of several generators: `parts` holds the ending and the counts of each, and `series` belongs to all of
/// them.
///
/// The verdict is the worst of all: if one generator did not keep its schedule, the load did not keep it.
pub fn results_together(parts: &[(Ending, Interval)], series: Vec<SecondRow>) -> Results {
    let endings: Vec<Ending> = parts.iter().map(|(ending, _)| ending.clone()).collect();
    let mut sum = Interval::default();
    parts.iter().for_each(|(_, counted)| sum.add(counted));
    let mut results = Ending::together(&endings).into_results(sum, series);
    for (ending, counted) in parts {
        let own = ending.clone().into_results(counted.clone(), Vec::new());
        let reasons = own.verdict.reasons.iter().map(|reason| format!("generator {}: {reason}", ending.part));
        results.verdict.reasons.extend(reasons);
        results.generators.push(GeneratorResult::of(&own));
    }
    results.verdict.kept = results.verdict.reasons.is_empty();
    results
}

/// The longest stops of all loops in chronological order.
fn longest_stops(loops: &[LoopEnding]) -> Vec<GeneratorStop> {
    let of_loop = |(event_loop, ended): (usize, &LoopEnding)| {
        let stop = move |(start_ns, length_ns): &(u64, u64)| GeneratorStop {
            at_s: *start_ns as f64 / SECOND as f64,
            length_us: *length_ns as f64 / 1000.0,
            event_loop,
        };
        ended.stops.iter().map(stop).collect::<Vec<_>>()
    };
    let mut stops: Vec<GeneratorStop> = loops.iter().enumerate().flat_map(of_loop).collect();
    stops.sort_by(|a, b| b.length_us.total_cmp(&a.length_us));
    stops.truncate(STOPS_MAX);
    stops.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    stops
}
