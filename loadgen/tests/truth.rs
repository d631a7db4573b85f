//! Checks that the generator's report is true. The server logs when each request arrived and was answered.
//!
//! Each run is compared with its own server's log. Tests with bounds in microseconds need a quiet machine and are
//! ignored: `make torture-loadgen` runs them, and `make bench-loadgen` prints the figures.

#[allow(dead_code, missing_docs)]
#[path = "../examples/noop_server.rs"]
mod noop_server;
mod support;

use std::net::TcpListener;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use support::judge::{Held, holds_in_runs, judge_runs};
use support::log_server::{LogServer, Script};
use support::stalls::{Scenario, within_two_percent};
use support::truth::{Known, Truth, constant, quantile, sorted};
use support::{Manner, OK, TruthServer, load};

const MICROSECOND: f64 = 1e3;

/// These tests measure: one at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
#[ignore = "measures, and so needs a quiet machine; `make torture-loadgen` runs it"]
fn the_latency_of_twenty_scenarios_of_stalls_is_the_computed_one_within_two_percent() {
    let _alone = alone();
    holds_in_runs(20, |held| {
        let scenario = Scenario::draw(7 + held as u64);
        within_two_percent(&scenario, &scenario)
    });
}

#[test]
fn a_property_that_most_runs_break_is_broken_and_a_failure_that_others_caused_is_repeated() {
    let judged = |runs: &[(bool, f64)]| {
        let mut runs = runs.iter();
        judge_runs(2, |_| {
            let (holds, foreign) = *runs.next().unwrap();
            (if holds { Ok(()) } else { Err("late".to_owned()) }, foreign)
        })
    };
    let (holds, fails, disturbed) = ((true, 0.0), (false, 0.0), (false, 0.5));
    assert_eq!(judged(&[holds, holds]), Held::Yes);
    assert_eq!(judged(&[fails, holds, holds]), Held::Yes);
    assert_eq!(judged(&[disturbed, holds, disturbed, holds]), Held::Yes);
    for runs in [[fails, fails, holds], [holds, fails, fails], [fails, holds, fails]] {
        let Held::Broken(why) = judged(&runs) else { panic!("{runs:?}") };
        assert!(why.contains("of 2 wanted, and not in these:\nlate (0% of the machine"), "{why}");
    }
    assert!(matches!(judged(&[disturbed; 6]), Held::NotJudged(_)));
    assert!(matches!(judged(&[fails, disturbed, disturbed, disturbed, disturbed, disturbed]), Held::Broken(_)));
}

#[test]
fn stalls_that_are_not_as_computed_are_noticed() {
    let _alone = alone();
    let scenario = Scenario::draw(1);
    // The server responds by another script than the computed one: 4% more of each service time.
    let other = Scenario { service_ns: scenario.service_ns * 26 / 25, ..scenario.clone() };
    let noticed = within_two_percent(&scenario, &other).unwrap_err();
    assert!(noticed.contains("computed"), "{noticed}");
}

#[test]
#[ignore = "measures, and so needs a quiet machine; `make torture-loadgen` runs it"]
fn latency_with_and_without_send_lag_is_what_the_server_saw() {
    let _alone = alone();
    holds_in_runs(2, |_| {
        let server = LogServer::start(Script::After(200_000), None);
        let run = load("-t1 -c4 -d2s -R1000 --idle hybrid", &server.url());
        run.assert_every_request_has_an_outcome();
        let truth = Truth::of(&server.finish(), &constant("1000"), 4);
        // A response leaves while the server writes it.
        let ends: [fn(&Known) -> Option<u64>; 2] = [|known| known.answering_ns, |known| known.answered_ns];
        let latencies = ends.map(|end| truth.latencies_ns(end));
        let net_latencies = ends.map(|end| truth.net_latencies_ns(end));
        let lags = [truth.send_lags_ns(), truth.send_lags_ns()];
        for percentile in ["50", "90"] {
            let p = percentile.parse().unwrap();
            // The machine's time to wake the generator is in the latency, but neither in the net latency nor in the
            // lag.
            for (name, [least, most], below_us, above_us) in [
                ("net_latency_us", &net_latencies, 10.0, 15.0),
                ("send_lag_us", &lags, 15.0, 15.0),
                ("latency_us", &latencies, 5.0, 50.0),
            ] {
                let reported_ns = run.percentile_us(name, percentile) * 1e3;
                let (least_ns, most_ns) = (quantile(least, p), quantile(most, p));
                if reported_ns < least_ns - below_us * MICROSECOND || reported_ns > most_ns + above_us * MICROSECOND {
                    return Err(format!(
                        "{name} at {percentile}%: {least_ns} to {most_ns} ns in the log, {reported_ns} ns reported"
                    ));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn latency_is_never_less_than_the_service_time() {
    let _alone = alone();
    let server = TruthServer::start(Manner::Respond(OK.to_vec(), Duration::from_millis(20)));
    let run = load("-t1 -c2 -d1s -R40", &server.url());
    // The histogram's precision is 0.1%.
    for distribution in ["latency_us.min", "net_latency_us.min", "uncorrected_us.min"] {
        assert!(run.number(distribution) >= 19_980.0, "{distribution} is {}", run.number(distribution));
    }
}

#[test]
fn a_connection_that_cannot_keep_up_is_charged_from_the_due_times() {
    let _alone = alone();
    // 25 ms of service on one connection allow 40 requests a second; 80 are due. The k-th is due at 12.5 k ms
    // and done no earlier than at 25 (k + 1) ms.
    let server = TruthServer::start(Manner::Respond(OK.to_vec(), Duration::from_millis(25)));
    let run = load("-t1 -c1 -d2s -R80", &server.url());
    run.assert_every_request_has_an_outcome();
    let (requests, unfinished) = (run.number("requests"), run.number("unfinished.count"));
    assert!((1.0..=80.0).contains(&requests), "{requests} answered");
    let (last_us, sent_us) = (run.percentile_us("latency_us", "100"), run.percentile_us("uncorrected_us", "50"));
    assert!(last_us >= 12_480.0 * (requests + 1.0), "the last of {requests} waited {last_us} µs");
    assert!(sent_us < last_us / 2.0, "from the sending it took {sent_us} of {last_us} µs");
    assert_eq!(unfinished, 160.0 - requests);
    // The oldest request without a response was due when the last answered one was, or later.
    let (oldest_us, left_us) = (run.number("unfinished.oldest_us"), 2e6 - 12_500.0 * requests);
    assert!((oldest_us - left_us).abs() < 1000.0, "the oldest waited {oldest_us} µs, {left_us} since it was due");
}

#[test]
#[ignore = "measures, and so needs a quiet machine; `make torture-loadgen` runs it"]
fn gaps_between_arrivals_are_constant_within_the_send_lag_and_do_not_drift() {
    let _alone = alone();
    holds_in_runs(2, |_| {
        let server = LogServer::start(Script::After(0), None);
        let run = load("-t3 -c12 -d3s -R1000 --idle hybrid", &server.url());
        assert_eq!(run.number("requests_due"), 3000.0);
        let arrivals = sorted(server.finish().iter().map(|request| request.arrived_ns as f64));
        if arrivals.len() < 2990 {
            return Err(format!("only {} arrived", arrivals.len()));
        }
        let schedule = constant("1000");
        let after_due: Vec<f64> = arrivals.iter().zip(0..).map(|(at, k)| at - schedule.due_ns(k) as f64).collect();
        let start = after_due.iter().copied().fold(f64::INFINITY, f64::min);
        let late =
            |range: std::ops::Range<usize>| quantile(&sorted(after_due[range].iter().map(|at| at - start)), 50.0);
        let (first, last) = (late(0..1000), late(2000..arrivals.len()));
        // A gap is off by the difference of two send lags, and by the time into the kernel.
        let off = sorted(arrivals.windows(2).map(|pair| (pair[1] - pair[0] - 1e6).abs()));
        for percentile in [50.0, 90.0, 99.0] {
            let lag = run.percentile_us("send_lag_us", &percentile.to_string()) * 1e3;
            let off = quantile(&off, percentile);
            if off > 2.0 * lag + 20.0 * MICROSECOND {
                return Err(format!("at {percentile}% gaps are off by {off} ns, send lag is {lag} ns"));
            }
        }
        let drift = last - first;
        if drift.abs() < 30.0 * MICROSECOND { Ok(()) } else { Err(format!("late {first} ns, at the end {last} ns")) }
    });
}

/// The Kolmogorov-Smirnov statistic of `gaps` against an exponential distribution of mean 1/`rate`, times the square
/// root of their number.
fn distance_from_exponential(gaps: &[f64], rate: f64) -> f64 {
    let n = gaps.len() as f64;
    let distance = gaps.iter().enumerate().map(|(k, gap)| {
        let expected = 1.0 - (-gap * rate).exp();
        (expected - k as f64 / n).abs().max((expected - (k + 1) as f64 / n).abs())
    });
    distance.fold(0.0, f64::max) * n.sqrt()
}

#[test]
#[ignore = "measures, and so needs a quiet machine; `make torture-loadgen` runs it"]
fn poisson_arrivals_pass_a_test_of_goodness_of_fit_and_even_ones_do_not() {
    let _alone = alone();
    let gaps = |arrivals: &str| {
        let server = LogServer::start(Script::After(0), None);
        let run = load(&format!("-t2 -c32 -d4s -R500 --arrivals {arrivals}"), &server.url());
        run.assert_every_request_has_an_outcome();
        let times = sorted(server.finish().iter().map(|request| request.arrived_ns as f64 / 1e9));
        // Gaps of an independent process are uncorrelated, apart from chance.
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
        let covariance = gaps.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>();
        let count = gaps.len() as f64;
        (sorted(gaps.into_iter()), covariance / variance * count.sqrt())
    };
    // 1.95 is exceeded by chance once in a thousand samples, as is a correlation of 3.29 standard errors.
    holds_in_runs(2, |_| {
        let (gaps, correlation) = gaps("poisson");
        let distance = distance_from_exponential(&gaps, 500.0);
        let good = gaps.len() > 1800 && distance < 1.95 && correlation.abs() < 3.29;
        if good { Ok(()) } else { Err(format!("{} gaps, distance {distance}, {correlation}", gaps.len())) }
    });
    let (even, _) = gaps("even");
    let distance = distance_from_exponential(&even, 500.0);
    assert!(distance > 5.0, "the test tells them apart: {distance}");
}

#[test]
fn each_way_to_idle_sends_everything() {
    let _alone = alone();
    let server = TruthServer::start(Manner::Respond(OK.to_vec(), Duration::ZERO));
    let cpu_s = ["sleep", "hybrid", "spin"].map(|idle| {
        let run = load(&format!("-t1 -c2 -d30s -R300 --requests 150 --idle {idle}"), &server.url());
        run.assert_every_request_has_an_outcome();
        assert_eq!(run.number("requests"), 150.0, "{idle}");
        run.number("cpu_s")
    });
    assert!(cpu_s[2] > cpu_s[0], "spinning takes the most CPU time: {cpu_s:?}");
}

#[test]
fn a_loop_that_spins_with_next_to_nothing_to_do_does_next_to_no_work() {
    let _alone = alone();
    let server = TruthServer::start(Manner::Respond(OK.to_vec(), Duration::ZERO));
    let run = load("-t1 -c1 -d1s -R10 --idle spin", &server.url());
    let (spin_s, cpu_s) = (run.number("spin_s"), run.number("cpu_s"));
    assert!(spin_s > 0.9 * cpu_s, "polled for {spin_s} of {cpu_s} s");
}

#[test]
#[ignore = "measures, and so needs a quiet machine; `make torture-loadgen` runs it"]
fn hybrid_polls_for_a_quick_response_and_sleeps_through_a_slow_one() {
    let _alone = alone();
    let polled_us = |service_us: u64, rate: u64, idle: &str| {
        let server = LogServer::start(Script::After(service_us * 1000), None);
        let run = load(&format!("-t1 -c4 -d1s -R{rate} --idle {idle}"), &server.url());
        run.assert_every_request_has_an_outcome();
        run.number("spin_s") * 1e6 / run.number("requests_due")
    };
    // At most 50 µs before and 200 µs after each of the requests, and before each of the other ends of sleep.
    let slow = polled_us(20_000, 100, "hybrid");
    assert!(slow < 400.0, "polled {slow} µs a request for responses that take 20 ms");
    let asleep = polled_us(150, 1000, "sleep");
    assert!(asleep < 20.0, "polled {asleep} µs a request while asleep");
    // A preempted poll counts for less than it took, so this test needs some CPU now and then.
    holds_in_runs(2, |_| {
        let quick = polled_us(150, 1000, "hybrid");
        if quick > 110.0 {
            Ok(())
        } else {
            Err(format!("polled {quick} µs a request for responses that take 150 µs"))
        }
    });
}

// Several seconds of real time: sockets, limits on open files and the kernel's backlog have no virtual counterpart.
#[test]
fn ten_thousand_connections_are_served() {
    let _alone = alone();
    loadgen::net::raise_open_files_limit().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || noop_server::serve(&listener, 2));
    let run = load("-t2 -c10000 -d60s -R4000 --requests 12k --timeout 60s", &url);
    run.assert_every_request_has_an_outcome();
    assert_eq!((run.number("requests_due"), run.number("requests")), (12_000.0, 12_000.0));
    assert_eq!(run.number("errors.connect"), 0.0);
}
