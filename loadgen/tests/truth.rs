//! Is what the generator reports true? The server knows: it logs when each request arrived and was answered.

mod support;

use loadgen::schedule::{Arrivals, Schedule};
use loadgen::units::parse_rate;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use support::{Manner, OK, Seen, TruthServer, in_one_of_ten_runs, load};

const MILLISECOND: f64 = 1e6;

/// These tests measure: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A plan that is longer than any run here.
fn constant(rate: &str) -> Schedule {
    Schedule::constant(parse_rate(rate).unwrap(), 3600 * loadgen::clock::SECOND)
}

/// Requests of a run with one thread, joined with the schedule.
struct Joined {
    /// (due, arrived, answered) in nanoseconds since the start, in the order of the schedule.
    requests: Vec<(u64, u64, u64)>,
}

/// The generator connects in the order of its connections, after one probe; the server numbers them as it
/// accepts them. The start is the time that makes the most punctual arrival exactly punctual.
fn join(seen: &[Seen], rate: &str, connections: u64) -> Joined {
    let schedule = constant(rate);
    let mut arrivals: Vec<Arrivals> = (0..connections).map(|g| Arrivals::new(&schedule, g, connections)).collect();
    let mut requests: Vec<(u64, u64, u64)> = seen
        .iter()
        .map(|seen| {
            let arrivals = &mut arrivals[seen.connection - 1];
            let due = arrivals.due_ns();
            arrivals.take(&schedule, 1);
            (due, seen.arrived_ns, seen.answered_ns)
        })
        .collect();
    let start = requests.iter().map(|(due, arrived, _)| arrived - due).min().unwrap();
    for (_, arrived, answered) in &mut requests {
        *arrived -= start;
        *answered = answered.saturating_sub(start);
    }
    requests.sort_unstable();
    Joined { requests }
}

fn quantile(sorted: &[f64], percentile: f64) -> f64 {
    let rank = (sorted.len() as f64 * percentile / 100.0).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// A small generator of numbers, so that scenarios differ but stay the same from run to run.
struct Numbers(u64);

impl Numbers {
    fn between(&mut self, low: u64, high: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        low + (self.0 >> 33) % (high - low + 1)
    }
}

/// What the latencies must be: each connection serves its requests in order, the `n`-th from its due time or
/// from the end of the one before; one that starts in a stall ends with it, another takes the service time of
/// a backlog, which is the one figure taken from the server's log.
fn computed_latencies(joined: &Joined, stalls: &[(Duration, Duration)], connections: u64) -> Vec<f64> {
    let stall_end = |at: u64| {
        let at = Duration::from_nanos(at);
        let stall = stalls.iter().find(|(start, length)| (*start..*start + *length).contains(&at));
        stall.map(|(start, length)| (*start + *length).as_nanos() as u64)
    };
    let of_connection = |g: u64| joined.requests.iter().skip(g as usize).step_by(connections as usize);
    let mut backlogged = Vec::new();
    for g in 0..connections {
        for (before, request) in of_connection(g).zip(of_connection(g).skip(1)) {
            if request.0 < before.2 && stall_end(before.2).is_none() {
                backlogged.push((request.2.saturating_sub(before.2)) as f64);
            }
        }
    }
    let service_ns = if backlogged.is_empty() { 0 } else { quantile(&sorted(backlogged.into_iter()), 50.0) as u64 };
    let mut latencies = Vec::new();
    for g in 0..connections {
        let mut done = 0;
        for (due, ..) in of_connection(g) {
            let begin = done.max(*due);
            done = stall_end(begin).unwrap_or(begin + service_ns);
            latencies.push((done - due) as f64);
        }
    }
    latencies
}

/// Runs one random scenario of stalls and compares three distributions of latency from the due time:
/// the computed one, the one in the server's log, and the reported one.
fn stalls_are_reported_truly(seed: u64) {
    let mut numbers = Numbers(seed);
    let connections = numbers.between(1, 8);
    let rate = numbers.between(400, 1500).to_string();
    let mut stalls = Vec::new();
    let mut at_ms = numbers.between(50, 300);
    for _ in 0..numbers.between(1, 3) {
        let length_ms = numbers.between(100, 350);
        stalls.push((Duration::from_millis(at_ms), Duration::from_millis(length_ms)));
        at_ms += length_ms + numbers.between(50, 200);
    }
    let scenario = format!("seed {seed}: -c{connections} -R{rate}, stalls {stalls:?}");
    in_one_of_ten_runs(|| {
        let server = TruthServer::start(Manner::Stalls(stalls.clone()));
        let run = load(&format!("-t1 -c{connections} -d1600ms -R{rate}"), &server.url());
        run.assert_every_request_has_an_outcome();
        let joined = join(&server.seen(), &rate, connections);

        let computed = sorted(computed_latencies(&joined, &stalls, connections).into_iter());
        let logged = sorted(joined.requests.iter().map(|(due, _, answered)| (answered - due) as f64));
        for percentile in ["50", "90", "99", "99.9", "100"] {
            let reported = run.percentile_us("latency_us", percentile) * 1000.0;
            let p: f64 = percentile.parse().unwrap();
            // At the edge of a stall latency jumps, so a busy moment of the machine that shifts the share of
            // slow requests a little must not count: the value must be that of a rank nearby.
            for (what, truth, rank_slack, slack_ms) in
                [("computed", &computed, 2.0, 8.0), ("logged", &logged, 0.5, 3.0)]
            {
                let low = quantile(truth, p - rank_slack) * 0.98 - slack_ms * MILLISECOND;
                let high = quantile(truth, p + rank_slack) * 1.02 + slack_ms * MILLISECOND;
                if !(low..=high).contains(&reported) {
                    return Err(format!(
                        "{scenario}: at {percentile}% {what} {low} to {high} ns, reported {reported} ns"
                    ));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn the_latency_of_scripted_stalls_is_the_computed_one() {
    let _alone = alone();
    (1..=6).for_each(stalls_are_reported_truly);
}

#[test]
#[ignore = "takes a minute: `cargo test -- --ignored`"]
fn the_latency_of_twenty_scenarios_of_stalls_is_the_computed_one() {
    let _alone = alone();
    (7..=26).for_each(stalls_are_reported_truly);
}

#[test]
fn latency_is_never_less_than_the_service_time() {
    let _alone = alone();
    let server = TruthServer::start(Manner::Answer(OK.to_vec(), Duration::from_millis(20)));
    in_one_of_ten_runs(|| {
        let run = load("-t1 -c2 -d1s -R40", &server.url());
        // The histogram's precision is 0.1%.
        assert!(run.number("latency_us.min") >= 19_980.0, "{}", run.number("latency_us.min"));
        assert!(run.number("uncorrected_us.min") >= 19_980.0);
        let p50 = run.percentile_us("latency_us", "50");
        if p50 < 22_000.0 { Ok(()) } else { Err(format!("p50 is {p50} µs where the service takes 20 ms")) }
    });
}

#[test]
fn a_connection_that_cannot_keep_up_is_charged_from_the_due_times() {
    let _alone = alone();
    // 25 ms of service on one connection allow 40 requests a second; 80 are due. The k-th is due at 12.5 k ms
    // and done at 25 (k + 1) ms.
    in_one_of_ten_runs(|| {
        let server = TruthServer::start(Manner::Answer(OK.to_vec(), Duration::from_millis(25)));
        let run = load("-t1 -c1 -d2s -R80", &server.url());
        run.assert_every_request_has_an_outcome();
        let (requests, unfinished) = (run.number("requests"), run.number("unfinished.count"));
        let last_us = run.percentile_us("latency_us", "100");
        let sent_us = run.percentile_us("uncorrected_us", "50");
        let oldest_us = run.number("unfinished.oldest_us");
        let good = (68.0..=80.0).contains(&requests)
            && (930_000.0..1_200_000.0).contains(&last_us)
            && (25_000.0..29_000.0).contains(&sent_us)
            && (960_000.0..1_230_000.0).contains(&oldest_us);
        let figures =
            format!("{requests} answered, {unfinished} not, oldest {oldest_us}, max {last_us}, sent {sent_us}");
        if good { Ok(()) } else { Err(figures) }
    });
}

#[test]
fn arrivals_are_evenly_spaced_over_all_threads_and_do_not_drift() {
    let _alone = alone();
    in_one_of_ten_runs(|| {
        let server = TruthServer::start(Manner::Answer(OK.to_vec(), Duration::ZERO));
        let run = load("-t3 -c12 -d3s -R1000", &server.url());
        assert_eq!(run.number("requests_due"), 3000.0);
        let arrivals = sorted(server.seen().iter().map(|seen| seen.arrived_ns as f64));
        let schedule = constant("1000");
        let after_due: Vec<f64> = arrivals.iter().zip(0..).map(|(at, k)| at - schedule.due_ns(k) as f64).collect();
        let start = after_due.iter().copied().fold(f64::INFINITY, f64::min);
        let late =
            |range: std::ops::Range<usize>| quantile(&sorted(after_due[range].iter().map(|at| at - start)), 50.0);
        let (first, last) = (late(0..1000), late(2000..arrivals.len()));
        let gaps = sorted(arrivals.windows(2).map(|pair| pair[1] - pair[0]));
        let (low, high) = (quantile(&gaps, 20.0), quantile(&gaps, 80.0));
        let figures = format!("late {first} and {last} ns, gaps {low} to {high} ns, {}", arrivals.len());
        let even = low > 0.7 * MILLISECOND && high < 1.3 * MILLISECOND;
        let punctual = first < MILLISECOND && (last - first).abs() < 0.3 * MILLISECOND;
        if even && punctual { Ok(()) } else { Err(figures) }
    });
}

#[test]
fn slow_rates_and_rates_below_the_thread_count_are_kept() {
    let _alone = alone();
    let server = TruthServer::start(Manner::Answer(OK.to_vec(), Duration::ZERO));
    for (flags, due) in [("-t1 -c1 -d3s -R0.5", 2), ("-t4 -c8 -d3s -R1", 3), ("-t2 -c2 -d300ms -R1000", 300)] {
        let before = server.seen().len();
        let run = load(flags, &server.url());
        run.assert_every_request_has_an_outcome();
        assert_eq!(run.number("requests_due"), f64::from(due), "{flags}");
        let arrived = server.seen().len() - before;
        assert!(arrived >= due as usize / 2, "{flags}: {arrived} of {due} arrived");
    }
}

#[test]
fn each_way_to_idle_sends_everything() {
    let _alone = alone();
    let server = TruthServer::start(Manner::Answer(OK.to_vec(), Duration::ZERO));
    let cpu_s = ["sleep", "hybrid", "spin"].map(|idle| {
        let run = load(&format!("-t1 -c2 -d1s -R300 --idle {idle}"), &server.url());
        run.assert_every_request_has_an_outcome();
        assert!(run.number("requests") >= 250.0, "{idle}");
        assert!(run.percentile_us("send_lag_us", "50") < 20_000.0, "{idle}");
        run.number("cpu_s")
    });
    assert!(cpu_s[2] > cpu_s[0], "spinning takes the most CPU time: {cpu_s:?}");
}

#[test]
fn ten_thousand_connections_are_carried() {
    let _alone = alone();
    let program = std::env::current_exe().unwrap().ancestors().nth(2).unwrap().join("examples/noop_server");
    let mut server = Command::new(program).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(server.stdout.take().unwrap()), &mut line).unwrap();
    let url = format!("http://{}/", line.trim().strip_prefix("ready ").unwrap());
    let run = load("-t2 -c10000 -d3s -R4000 --timeout 10s", &url);
    server.kill().unwrap();
    server.wait().unwrap();
    run.assert_every_request_has_an_outcome();
    assert_eq!(run.number("requests_due"), 12_000.0);
    assert!(run.number("requests") > 11_000.0, "{}", run.number("requests"));
    assert_eq!(run.number("errors.connect"), 0.0);
}
