//! The properties that every run has.

use super::conditions::Conditions;
use super::{START_NS, Simulated, arguments, simulate};
use crate::cli::{Arguments, Idle, Pool};
use crate::clock::MILLISECOND;
use crate::report::Censored;
use crate::schedule::Arrivals;
use crate::stats::new_histogram;
use hdrhistogram::Histogram;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;

const PIPELINED: &str = "function request() return wrk.format() .. wrk.format(nil, '/b') .. wrk.format() end\n";
const STOPS: &str = "local n = 0\n\
    function request() n = n + 1; if n == 20 then wrk.thread:stop() end; return wrk.format() end\n";
const DELAYS: &str = "local n = 0; function delay() n = n + 1; return n * 7 % 31 end\n";

/// Milliseconds that [`DELAYS`] returns at its `call`-th call in a thread, from 1.
fn delay_ms(call: u64) -> u64 {
    call * 7 % 31
}

/// A run that was drawn from a seed.
#[derive(Debug)]
struct Drawn {
    words: String,
    script: &'static str,
    loops: usize,
    conditions: Conditions,
}

/// Draws a run.
fn draw(seed: u64) -> Drawn {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut pick = |choices: &[u64]| choices[random.random_range(0..choices.len())];
    let threads = pick(&[1, 1, 2, 4]);
    let connections = threads * pick(&[1, 2, 5]);
    let (rate, duration_ms) = (pick(&[7, 90, 300, 1000]), pick(&[300, 1000, 1999, 2500]));
    let mut words = format!("-t{threads} -c{connections}");
    let mut add = |probability: u64, option: String| {
        if pick(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) < probability {
            words = format!("{words} {option}");
            true
        } else {
            false
        }
    };
    if !add(2, format!("--rate-plan {rate}:100ms,{}-{rate}:{duration_ms}ms", rate / 2)) {
        add(10, format!("-R{rate} -d{duration_ms}ms"));
    }
    add(3, "--warmup 150ms".to_owned());
    add(2, "--arrivals poisson".to_owned());
    add(2, format!("--requests {}", rate / 3));
    add(2, "--timeout 30ms".to_owned());
    add(1, "--idle hybrid".to_owned());
    let open = add(4, "--pool open".to_owned());
    if !open {
        add(1, "--catch-up-max 2".to_owned());
    }
    let batch = add(1, "-B".to_owned());
    let script = match pick(&[0, 0, 0, 0, 1, 2, 3]) {
        0 if batch => PIPELINED,
        1 => PIPELINED,
        2 => STOPS,
        3 if !open => DELAYS,
        _ => "",
    };
    let mut conditions = Conditions {
        seed,
        service_ns: MILLISECOND * pick(&[1, 5, 40]),
        silent_from_ns: (pick(&[0, 1, 2]) == 0).then(|| START_NS + pick(&[0, 400, 900]) * MILLISECOND),
        pieces_per_mille: pick(&[0, 200]) as u32,
        ..Conditions::CALM
    };
    // A third of the runs have a loop that is never late, so that an independent model predicts them exactly.
    if pick(&[0, 1, 2]) > 0 {
        conditions = Conditions {
            reading_ns_max: pick(&[0, 200, 20_000]),
            lateness_ns_max: pick(&[0, 60_000, 2_000_000]),
            stop_per_mille: pick(&[0, 0, 5]) as u32,
            ..conditions
        };
    }
    if pick(&[0, 1]) > 0 {
        conditions = Conditions {
            failure_per_mille: pick(&[0, 50]) as u32,
            close_per_mille: pick(&[0, 100]) as u32,
            partial_write_per_mille: pick(&[0, 100]) as u32,
            refusal_per_mille: pick(&[0, 100]) as u32,
            interrupt_ns: (pick(&[0, 1, 2, 3]) == 0).then(|| START_NS + pick(&[0, 250, 700]) * MILLISECOND),
            ..conditions
        };
    }
    Drawn { words, script, loops: pick(&[1, 2]) as usize, conditions }
}

/// Whether the loop is never late and the server never fails, so that [`predicted`] knows the run.
fn is_exact(drawn: &Drawn, arguments: &Arguments) -> bool {
    let Conditions { seed, service_ns, silent_from_ns, pieces_per_mille, .. } = drawn.conditions;
    let calm = Conditions { seed, service_ns, silent_from_ns, pieces_per_mille, ..Conditions::CALM };
    // With one connection a thread, the calls of a thread's delay() are in the order of its requests.
    let one_each = arguments.connections == arguments.threads;
    calm == drawn.conditions
        && (drawn.script.is_empty() || drawn.script == DELAYS && one_each)
        && arguments.pool == Pool::Fixed
        && arguments.idle == Idle::Sleep
        && arguments.requests.is_none()
}

/// The prediction of [`predicted`] for one run.
struct Predicted {
    latency: Histogram<u64>,
    unfinished: u64,
    timeouts: u64,
}

/// The run of a generator that is never late: each connection sends a request when it is due, the one before is
/// answered, and `--catch-up-max` lets it.
fn predicted(arguments: &Arguments, delays: bool, simulated: &Simulated) -> Predicted {
    let schedule = arguments.schedule();
    let (threads, loops) = (arguments.threads, simulated.seen.len() as u64);
    let (warmup_ns, end_ns) = (START_NS + schedule.warmup_ns(), START_NS + schedule.end_ns());
    let mut predicted = Predicted { latency: new_histogram(), unfinished: 0, timeouts: 0 };
    for (event_loop, seen) in simulated.seen.iter().enumerate() {
        let threads_of_loop = (threads - event_loop as u64).div_ceil(loops);
        let mut by_connection: BTreeMap<u64, Vec<(u64, Option<u64>)>> = BTreeMap::new();
        for seen in seen {
            by_connection.entry(seen.connection).or_default().push((seen.sent_ns, seen.answered_ns));
        }
        for opened in 0..threads_of_loop * arguments.connections_per_thread() {
            let thread = event_loop as u64 + opened % threads_of_loop * loops;
            let connection = opened / threads_of_loop * threads + thread;
            let mut arrivals = Arrivals::new(&schedule, connection, arguments.connections_per_thread() * threads);
            let mut served = by_connection.remove(&opened).unwrap_or_default().into_iter();
            let (mut free_ns, mut held_ns, mut delayed_ns, mut calls) = (0, 0, 0, 0);
            while START_NS + arrivals.due_ns() < end_ns {
                let planned_ns = START_NS + arrivals.due_ns();
                arrivals.take(&schedule, 1);
                let of_the_warmup = planned_ns < warmup_ns;
                let asks_ns = planned_ns.max(free_ns).max(held_ns);
                if of_the_warmup && asks_ns >= warmup_ns {
                    continue;
                }
                let mut due_ns = planned_ns;
                if delays {
                    calls += 1;
                    due_ns = (planned_ns + delay_ms(calls) * MILLISECOND).max(delayed_ns);
                }
                let sends_ns = due_ns.max(asks_ns);
                if of_the_warmup && sends_ns >= warmup_ns {
                    // When the warm-up ended, all of its requests that were not sent were dropped.
                    free_ns = warmup_ns;
                    continue;
                }
                if sends_ns >= end_ns {
                    predicted.unfinished += u64::from(due_ns < end_ns);
                    delayed_ns = due_ns;
                    continue;
                }
                delayed_ns = due_ns;
                let (sent_ns, answered_ns) = served.next().expect("the request was sent");
                assert_eq!(sent_ns, sends_ns, "due at {due_ns} on a connection that is free at {free_ns}");
                free_ns = answered_ns.unwrap_or(u64::MAX);
                if let Some(factor) = arguments.catch_up_max {
                    let gap_ns = START_NS + arrivals.due_ns() - planned_ns;
                    held_ns = sent_ns + (gap_ns as f64 / factor) as u64;
                }
                if of_the_warmup {
                    continue;
                }
                if free_ns <= end_ns {
                    predicted.latency.saturating_record(free_ns - due_ns);
                } else {
                    predicted.unfinished += 1;
                }
                predicted.timeouts += u64::from(free_ns.min(end_ns) - sent_ns > arguments.timeout_ns);
            }
            assert_eq!(served.next(), None, "a request too many");
        }
    }
    predicted
}

/// When the requests of a whole load are due, from the start.
fn due_times(arguments: &Arguments) -> Vec<u64> {
    let schedule = arguments.schedule();
    let parties = arguments.parties();
    let mut times = Vec::new();
    for party in 0..parties {
        let mut arrivals = Arrivals::new(&schedule, party, parties);
        while arrivals.due_ns() < schedule.end_ns() {
            times.push(arrivals.due_ns());
            arrivals.take(&schedule, 1);
        }
    }
    times.sort_unstable();
    times
}

/// Runs what `seed` draws and checks it.
fn check(seed: u64, folder: &std::path::Path) {
    let drawn = draw(seed);
    let arguments = arguments(&drawn.words);
    let simulated = simulate(&arguments, drawn.script, drawn.loops, drawn.conditions, folder);
    let results = &simulated.results;
    let sum = &results.sum;

    // One outcome for each request, and each second counts its own.
    assert_eq!(results.requests_due, sum.requests + sum.lost + results.unfinished.count, "outcomes");
    assert_eq!(sum.statuses().map(|(_, count)| count).sum::<u64>(), sum.requests);
    let of_series = |of: fn(&crate::stats::SecondRow) -> u64| results.series.iter().map(of).sum::<u64>();
    assert_eq!(of_series(|row| row.requests), sum.requests);
    let one_by_one = drawn.script != PIPELINED;
    // A batch of the warm-up takes requests that are planned after it, and a delay moves them beyond the end. If more were
    // planned in earlier seconds than the last one has, the series counts too many.
    if drawn.script == DELAYS || !one_by_one && arguments.warmup_ns > 0 {
        assert!(of_series(|row| row.due) >= results.requests_due, "due by second");
    } else {
        assert_eq!(of_series(|row| row.due), results.requests_due, "due by second");
        let backlog = results.series.last().map_or(0, |row| row.backlog);
        assert_eq!(backlog, results.requests_due - sum.sent, "the last backlog is what was never sent");
    }

    // No request is sent before it is due, and a run to its end has all that are due.
    let due = due_times(&arguments);
    if one_by_one {
        let mut sent: Vec<u64> = simulated.seen.iter().flatten().map(|seen| seen.sent_ns).collect();
        sent.sort_unstable();
        let early = sent.iter().zip(&due).find(|(sent_ns, due_ns)| **sent_ns < START_NS + **due_ns);
        assert_eq!(early, None, "sent before it was due");
    }
    let whole = drawn.conditions.interrupt_ns.is_none() && ![STOPS, DELAYS].contains(&drawn.script);
    let measured = due.iter().filter(|due_ns| **due_ns >= arguments.warmup_ns).count() as u64;
    if whole && one_by_one {
        assert_eq!(results.requests_due, measured, "due");
    }
    if let Some(requests) = arguments.requests.filter(|_| whole && one_by_one) {
        let unlimited = due_times(&Arguments { requests: None, ..arguments.clone() });
        let planned = unlimited.iter().filter(|due_ns| **due_ns >= arguments.warmup_ns).count() as u64;
        assert_eq!(results.requests_due, requests.min(planned), "of {requests} requests");
    }
    assert!(sum.errors.timeout <= sum.sent, "at most one timeout a request");

    // Latency = net latency + the generator's own delays. The server's part is never counted as the generator's.
    let latencies = &sum.latencies;
    assert_eq!(latencies.net.len(), latencies.latency.len());
    assert!(latencies.net.max() <= latencies.latency.max() && latencies.net.mean() <= latencies.latency.mean());
    if one_by_one && arguments.warmup_ns == 0 && drawn.conditions.close_per_mille == 0 {
        let mut service = new_histogram();
        let answered = simulated.seen.iter().flatten();
        answered.for_each(|seen| {
            if let Some(answered_ns) = seen.answered_ns {
                service.saturating_record(answered_ns - seen.sent_ns);
            }
        });
        if !latencies.net.is_empty() {
            assert!(latencies.net.min() >= service.min(), "net latency below the service time");
        }
    }
    if is_exact(&drawn, &arguments) {
        let predicted = predicted(&arguments, drawn.script == DELAYS, &simulated);
        assert_eq!(latencies.latency, predicted.latency, "latency");
        assert_eq!(latencies.net, predicted.latency, "net latency");
        assert_eq!(latencies.send_lag.max(), 0, "send lag");
        assert_eq!(results.unfinished.count, predicted.unfinished, "unfinished");
        assert_eq!(sum.errors.timeout, predicted.timeouts, "timeouts");
        assert!(results.verdict.kept, "{:?}", results.verdict);
    }

    // What is not known counts as longest.
    let censored = results.censored();
    let unknown = sum.lost + results.unfinished.count;
    // With -B, the responses of a batch that was not answered in full have no latency either.
    assert!(censored.count == unknown || arguments.batch_latency && censored.count > unknown, "{censored:?}");
    let from = censored.from_percentile.unwrap_or(100.0);
    let known = (results.requests_due - censored.count) as f64 * 100.0 / results.requests_due.max(1) as f64;
    assert!(censored.count == 0 || (from - known).abs() < 1e-9, "{from} {known}");
    check_percentiles(&censored, from);
}

/// Percentiles rise up to `from`, and are unknown above.
fn check_percentiles(censored: &Censored, from: f64) {
    let mut last = 0.0;
    for (percentile, value) in &censored.percentiles_us {
        let percentile: f64 = percentile.parse().unwrap();
        match value.as_f64() {
            Some(value) => {
                assert!(
                    value >= last && percentile <= from * (1.0 + 1e-9),
                    "{percentile}: {value} after {last}, {from}"
                );
                last = value;
            }
            None => assert!(percentile >= from * (1.0 - 1e-9) || from >= 100.0, "{percentile} is known below {from}"),
        }
    }
}

#[test]
fn random_runs_have_the_properties_of_every_run() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seeds: Vec<u64> = match number("VIRTUAL_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("VIRTUAL_RUNS").unwrap_or(2000)).collect(),
    };
    // By default malloc returns the pages of the large histograms after each run, which costs more than the run.
    // SAFETY: the calls take integers.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, 1 << 30);
        libc::mallopt(libc::M_MMAP_THRESHOLD, 32 << 20);
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let failed = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for share in seeds.chunks(seeds.len().div_ceil(threads)) {
            let failed = &failed;
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                for seed in share {
                    if let Err(panic) = std::panic::catch_unwind(|| check(*seed, folder.path())) {
                        let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                        failed.lock().unwrap().push(format!("VIRTUAL_SEED={seed}: {text}\n{:?}", draw(*seed)));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} of {} runs:\n{}", failed.len(), seeds.len(), failed.join("\n"));
}
