//! Servers that stall by a script, and the latency that follows from it, computed before the run.

use super::log_server::{LogServer, Request, Script};
use super::truth::{Numbers, Truth, constant, quantile, sorted};
use loadgen::clock::MILLISECOND;
use loadgen::schedule::Arrivals;

/// A random server and the load on it. Times are nanoseconds since the start.
#[derive(Debug, Clone)]
pub struct Scenario {
    pub seed: u64,
    pub connections: usize,
    pub rate: String,
    pub duration_ns: u64,
    pub service_ns: u64,
    /// (start, end)
    pub stalls: Vec<(u64, u64)>,
}

impl Scenario {
    /// Draws one. The service takes at least 10 ms, so that 2% of it exceed a machine's own noise.
    pub fn draw(seed: u64) -> Self {
        let mut numbers = Numbers(seed);
        loop {
            let connections = numbers.between(1, 16);
            let per_connection = numbers.between(15, 45);
            let mut at = numbers.between(50, 400) * MILLISECOND;
            let mut stalls = Vec::new();
            for _ in 0..numbers.between(1, 3) {
                let end = at + numbers.between(100, 450) * MILLISECOND;
                stalls.push((at, end));
                at = end + numbers.between(50, 300) * MILLISECOND;
            }
            let scenario = Self {
                seed,
                connections: connections as usize,
                rate: (connections * per_connection).to_string(),
                duration_ns: 1800 * MILLISECOND,
                service_ns: numbers.between(10, 600 / per_connection) * MILLISECOND,
                stalls,
            };
            if scenario.is_clear() {
                return scenario;
            }
        }
    }

    /// Whether a little noise leaves it unchanged: no response is due near the end, and neither the median nor the 90th
    /// percentile lies where latency jumps.
    fn is_clear(&self) -> bool {
        let near_the_end = |done: &u64| done.abs_diff(self.duration_ns) < 5 * MILLISECOND;
        let latencies = self.latencies_ns();
        let rises = |from, to| quantile(&latencies, to) / quantile(&latencies, from);
        !self.response_times_ns().iter().flatten().any(near_the_end)
            && rises(42.0, 56.0) < 1.01
            && rises(89.0, 91.0) < 1.1
    }

    /// Returns when each request of each connection is answered. A connection serves one request after the other: each
    /// begins when it is due or when the previous one is done. It ends after the service time, or, if it begins in a
    /// stall, at the end of the stall.
    pub fn response_times_ns(&self) -> Vec<Vec<u64>> {
        (0..self.connections)
            .map(|g| {
                let mut done = 0;
                self.due(g)
                    .into_iter()
                    .map(|due| {
                        let begin = due.max(done);
                        let stall = self.stalls.iter().find(|(start, end)| (*start..*end).contains(&begin));
                        done = stall.map_or(begin + self.service_ns, |(_, end)| *end);
                        done
                    })
                    .collect()
            })
            .collect()
    }

    fn due(&self, connection: usize) -> Vec<u64> {
        let schedule = constant(&self.rate);
        let mut arrivals = Arrivals::new(&schedule, connection as u64, self.connections as u64);
        let mut due = Vec::new();
        while arrivals.due_ns() < self.duration_ns {
            due.push(arrivals.due_ns());
            arrivals.take(&schedule, 1);
        }
        due
    }

    /// The latency of every request that is answered before the end.
    pub fn latencies_ns(&self) -> Vec<f64> {
        let responses_ns = self.response_times_ns();
        let of_connection = |g: usize| {
            let pairs = self.due(g).into_iter().zip(responses_ns[g].clone());
            pairs.filter(|(_, done)| *done < self.duration_ns).map(|(due, done)| (done - due) as f64)
        };
        sorted((0..self.connections).flat_map(of_connection))
    }

    /// Like `latencies_ns`, for a run in which the server's clock started `offset_ns` after the generator's, and with
    /// the delays that a busy machine caused in the server itself.
    fn latencies_of_run_ns(&self, log: &[Request], served: &Self, offset_ns: u64) -> Vec<f64> {
        let (responses_ns, script) = (self.response_times_ns(), served.response_times_ns());
        let due: Vec<Vec<u64>> = (0..self.connections).map(|g| self.due(g)).collect();
        let first_ns = log[0].arrived_ns;
        let latency = |request: &Request| {
            let (g, n) = (request.connection, request.number);
            let (due_ns, done_ns) = (*due[g].get(n)?, responses_ns[g][n]);
            let possible_ns = (first_ns + script[g][n]).max(request.arrived_ns);
            let late_ns = request.answered_ns.saturating_sub(possible_ns);
            (done_ns < self.duration_ns).then_some((done_ns + offset_ns + late_ns - due_ns) as f64)
        };
        sorted(log.iter().filter_map(latency))
    }

    pub fn flags(&self) -> String {
        format!("-t1 -c{} -d{}ms -R{}", self.connections, self.duration_ns / MILLISECOND, self.rate)
    }
}

/// The percentiles to compare.
const PERCENTILES: [&str; 5] = ["50", "90", "99", "99.9", "100"];

/// Runs the load against a server that follows `served`; returns (percentile, computed, reported), in nanoseconds, as
/// computed from `scenario`.
pub fn compared(scenario: &Scenario, served: &Scenario) -> Result<Vec<(&'static str, f64, f64)>, String> {
    let server = LogServer::start(Script::At(served.response_times_ns()), None);
    let run = super::load(&scenario.flags(), &server.url());
    run.assert_every_request_has_an_outcome();
    let log = server.finish();
    let truth = Truth::of(&log, &constant(&scenario.rate), scenario.connections);
    let computed = scenario.latencies_of_run_ns(&log, served, truth.first_arrival_ns);
    let reported = run.number("latency_us.count");
    if reported != computed.len() as f64 {
        return Err(format!("{scenario:?}: {reported} latencies reported, {} computed", computed.len()));
    }
    let point = |percentile: &'static str| {
        let computed_ns = quantile(&computed, percentile.parse().unwrap());
        (percentile, computed_ns, run.percentile_us("latency_us", percentile) * 1e3)
    };
    Ok(PERCENTILES.into_iter().map(point).collect())
}

/// Like [`compared`]; a percentile that is off by more than 2% is an error.
pub fn within_two_percent(scenario: &Scenario, served: &Scenario) -> Result<(), String> {
    for (percentile, computed_ns, reported_ns) in compared(scenario, served)? {
        if (reported_ns / computed_ns - 1.0).abs() > 0.02 {
            return Err(format!("{scenario:?}: at {percentile}% {computed_ns} ns computed, {reported_ns} ns reported"));
        }
    }
    Ok(())
}
