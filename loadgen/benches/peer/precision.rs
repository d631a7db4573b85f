//! Compares what the generator reports with the truth: a server logs when the kernel received each request and when it
//! was answered; see `tests/support`.

use super::row::{Row, Wanted};
use super::support::load;
use super::support::log_server::{LogServer, Script};
use super::support::stalls::{Scenario, compared};
use super::support::truth::{Truth, constant, quantile};

/// Compares median latency and send lag with the server's log.
pub fn rows(server_cpu: usize, cpu: usize, seconds: u32, runs: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    for (connections, rate, limit_us) in [(1, "1000", 25.0), (64, "50000", 50.0)] {
        let (mut latency, mut lag) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            let server = LogServer::start(Script::After(0), Some(server_cpu));
            let flags = format!("-t1 -c{connections} -d{seconds}s -R{rate} --idle hybrid --cpus {cpu}");
            let run = load(&flags, &server.url());
            let truth = Truth::of(&server.finish(), &constant(rate), connections);
            let logged = truth.latencies_ns(|known| known.answered_ns);
            latency.push((run.percentile_us("latency_us", "50"), quantile(&logged, 50.0) / 1e3));
            lag.push((run.percentile_us("send_lag_us", "99"), quantile(&truth.send_lags_ns(), 99.0) / 1e3));
            eprintln!("-c{connections} -R{rate}: p50 {:?}, p99 of send lag {:?}", latency.last(), lag.last());
        }
        let case = format!("{connections} connection{} at {rate}/s", if connections == 1 { "" } else { "s" });
        rows.push(Row {
            metric: format!("median latency reported, {case}"),
            unit: "us",
            peer_name: "truth",
            more_is_better: false,
            pairs: latency,
            wanted: Wanted::Near(limit_us),
        });
        rows.push(Row {
            metric: format!("99th percentile of send lag, {case}"),
            unit: "us",
            peer_name: "truth",
            more_is_better: false,
            pairs: lag,
            wanted: Wanted::Less(100.0),
        });
    }
    rows
}

/// Scripted stalls: at each percentile, the largest error in `count` random scenarios.
pub fn stalls(count: u64) -> Result<Vec<Row>, String> {
    let mut worst: Vec<(&str, f64, f64)> = Vec::new();
    for seed in 7..7 + count {
        let scenario = Scenario::draw(seed);
        let points = compared(&scenario, &scenario)?;
        eprintln!("seed {seed}: {points:?}");
        if worst.is_empty() {
            worst.clone_from(&points);
        }
        let off = |point: &(&str, f64, f64)| (point.2 / point.1 - 1.0).abs();
        for (worst, point) in worst.iter_mut().zip(points) {
            if off(&point) > off(worst) {
                *worst = point;
            }
        }
    }
    let row = |(percentile, computed_ns, reported_ns): &(&str, f64, f64)| Row {
        metric: format!("stalls, furthest of {count} scenarios at {percentile}%"),
        unit: "ms",
        peer_name: "computed",
        more_is_better: false,
        pairs: vec![(reported_ns / 1e6, computed_ns / 1e6)],
        wanted: Wanted::Near((computed_ns * 0.02 / 1e4).round() / 100.0),
    };
    Ok(worst.iter().map(row).collect())
}
