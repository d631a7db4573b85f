//! Single runs whose result is known.

use super::conditions::Conditions;
use super::{START_NS, Simulated, arguments, simulate};
use crate::clock::{MILLISECOND, SECOND};
use crate::report::TextReport;
use crate::stats::SecondRow;
use hdrhistogram::Histogram;

fn run(words: &str, lua: &str, conditions: Conditions) -> Simulated {
    let folder = tempfile::tempdir().unwrap();
    simulate(&arguments(words), lua, 1, conditions, folder.path())
}

/// A server that answers in a tenth of a millisecond at the most.
const QUICK: Conditions = Conditions { service_ns: 10_000, ..Conditions::CALM };

fn report(run: &Simulated) -> String {
    TextReport::of(&run.results, true, false).to_string()
}

#[test]
fn a_varying_delay_is_no_latency_of_the_next_request() {
    let run = run("-t1 -c1 -R200 -d5s", "function delay() return math.random(10, 50) end", QUICK);
    let net = &run.results.sum.latencies.net;
    // The requests that a long delay held go one after another.
    assert!(run.results.sum.requests > 900 && net.value_at_quantile(0.9) < 2 * MILLISECOND, "{:?}", net.max());
    assert_eq!(run.results.sum.latencies.latency.max(), net.max());
    assert!(run.results.verdict.kept, "{:?}", run.results.verdict);
}

#[test]
fn a_request_that_is_in_its_delay_at_the_end_of_the_warmup_holds_no_other() {
    // Ten requests are due in the warm-up. The ninth, due at 80 ms, is delayed to 280 ms.
    let script = "local n = 0; function delay() n = n + 1; return n == 9 and 200 or 0 end";
    let run = run("-t1 -c1 -R100 -d1s --warmup 100ms", script, QUICK);
    let latencies = &run.results.sum.latencies;
    assert_eq!((run.seen[0].len(), run.results.requests_due), (108, 100));
    assert!(latencies.latency.max() < MILLISECOND, "{} ns", latencies.latency.max());
    assert_eq!(latencies.net, latencies.latency);
}

#[test]
fn a_request_that_is_still_in_its_delay_at_the_end_is_not_due() {
    // The last two are more nanoseconds than the clock has.
    for delay_ms in ["5000", "1.84e13", "1e300"] {
        let delayed = run("-t1 -c2 -R10 -d2s", &format!("function delay() return {delay_ms} end"), QUICK);
        assert_eq!((delayed.results.requests_due, delayed.results.unfinished.count), (0, 0), "{delay_ms}");
        assert!(!report(&delayed).contains("Unfinished"), "{}", report(&delayed));
    }
    // Due at 0 s, 0.1 s, … 1.9 s and delayed by 150 ms: the last two are not due at 2 s. The server is silent from 1 s.
    let silent = Conditions { silent_from_ns: Some(START_NS + SECOND), ..QUICK };
    let late = run("-t1 -c1 -R10 -d2s", "function delay() return 150 end", silent);
    assert_eq!((late.results.requests_due, late.results.sum.requests, late.results.unfinished.count), (19, 9, 10));
    assert_eq!(late.results.unfinished.oldest_ns, 950 * MILLISECOND);
}

#[test]
fn batches_and_requests_are_not_mixed_in_what_is_unknown() {
    let script = "function request() return string.rep(wrk.format(), 10) end";
    // 50 batches of 10 are answered in the first of two seconds, and nothing after.
    let silent = Conditions { silent_from_ns: Some(START_NS + SECOND), ..QUICK };
    for (flags, recorded) in [("", 500), ("-B", 50)] {
        let run = run(&format!("-t1 -c1 -R500 -d2s {flags}"), script, silent);
        assert_eq!((run.results.sum.requests, run.results.sum.latencies.latency.len()), (500, recorded));
        let censored = run.results.censored();
        assert_eq!((censored.count, censored.from_percentile), (500, Some(50.0)), "{flags}");
        assert!(censored.percentiles_us["50"].is_number() && censored.percentiles_us["75"].is_null());
    }
}

#[test]
fn a_batch_that_reaches_beyond_the_end_is_due_in_the_last_second() {
    let script = "function request() return wrk.format():rep(3) end";
    // In the last case, the batch of the warm-up has taken two of the requests that are planned after it.
    for (flags, due) in
        [("-t1 -c1", [100, 101]), ("-t2 -c4 --pool open", [100, 104]), ("-t1 -c1 --warmup 10ms", [100, 98])]
    {
        let run = run(&format!("{flags} -R100 -d2s"), script, QUICK);
        let series: Vec<u64> = run.results.series.iter().map(|row| row.due).collect();
        assert_eq!((&series[..], run.results.requests_due), (&due[..], due.iter().sum()), "{flags}");
    }
}

#[test]
fn a_thread_that_stops_has_no_backlog_afterwards() {
    let script = "local n = 0\n\
        function request() n = n + 1; if n == 20 then wrk.thread:stop() end; return wrk.format() end";
    for flags in ["", "--pool open", "--arrivals poisson"] {
        let run = run(&format!("-t2 -c2 -R100 -d3s {flags}"), script, QUICK);
        let due: u64 = run.results.series.iter().map(|row| row.due).sum();
        assert_eq!(due, run.results.requests_due, "{flags}");
        assert_eq!(run.results.series.last().map(|row| row.backlog), Some(0), "{flags}");
    }
}

#[test]
fn after_an_interrupt_no_request_is_due() {
    let run = run("-t1 -c1 -R100 -d3s", "", Conditions { interrupt_ns: Some(START_NS + 1_500 * MILLISECOND), ..QUICK });
    let due: Vec<u64> = run.results.series.iter().map(|row| row.due).collect();
    assert_eq!((due, run.results.requests_due), (vec![100, 51], 151));
}

#[test]
fn requests_that_were_lost_count_as_the_longest() {
    // One request in twenty fails after its service time, and the others are quick.
    let failing = Conditions { failure_per_mille: 50, ..QUICK };
    let run = run("-t1 -c50 -R100 -d10s --pool open", "", failing);
    let (lost, due) = (run.results.sum.lost, run.results.requests_due);
    assert!((20..100).contains(&lost), "{lost} of {due}");
    let censored = run.results.censored();
    assert_eq!(censored.count, lost + run.results.unfinished.count);
    assert!(censored.percentiles_us["90"].is_number() && censored.percentiles_us["99"].is_null());
    let report = report(&run);
    assert!(report.contains(&format!("Lost:         {lost} requests whose connection failed")), "{report}");
    let known = format!("{:.3}", censored.from_percentile.unwrap());
    assert!(report.contains(&format!("percentiles above {known}% are unknown")), "{report}");
}

#[test]
fn a_stopped_generator_is_not_charged_to_the_server() {
    let stopped = Conditions {
        service_ns: 200_000,
        stop_ns: Some((START_NS + 1_500 * MILLISECOND, 900 * MILLISECOND)),
        ..Conditions::CALM
    };
    for pool in ["fixed", "open"] {
        let results = run(&format!("-t1 -c1 -d3s -R1000 --pool {pool}"), "", stopped).results;
        let latencies = &results.sum.latencies;
        let p90_ms = |times: &Histogram<u64>| times.value_at_quantile(0.9) / MILLISECOND;
        // The 900 requests due meanwhile are 30% of all. Each waited 0 to 900 ms, only for the generator.
        assert!((590..=700).contains(&p90_ms(&latencies.latency)), "{pool}: {} ms", p90_ms(&latencies.latency));
        assert!((590..=700).contains(&p90_ms(&latencies.send_lag)), "{pool}: {} ms", p90_ms(&latencies.send_lag));
        assert!(latencies.net.max() < 5 * MILLISECOND, "{pool}: {} is left to the server", latencies.net.max());
        let stops: Vec<_> = results.stops.iter().map(|stop| (stop.at_s, stop.length_us)).collect();
        assert!(matches!(stops[..], [(1.499..1.501, 899_000.0..901_000.0)]), "{pool}: {stops:?}");
        let reasons = results.verdict.reasons.join("; ");
        assert!(!results.verdict.kept && reasons.contains("latency at 99%"), "{pool}: {reasons}");
        assert!(reasons.contains("was stopped for"), "{pool}: {reasons}");
        let most = |of: fn(&SecondRow) -> Option<f64>| results.series.iter().filter_map(of).fold(0.0, f64::max);
        assert!(most(|row| row.lag_max_us) > 890_000.0 && most(|row| row.lag_p99_us) > 400_000.0, "{pool}");
    }
}

#[test]
fn a_server_that_stalls_is_charged_and_the_generator_is_not() {
    let stall_ns = Some((START_NS + SECOND, START_NS + 1_500 * MILLISECOND));
    let stalling = Conditions { service_ns: 200_000, stall_ns, ..Conditions::CALM };
    for pool in ["fixed", "open"] {
        let results = run(&format!("-t1 -c2 -d3s -R1000 --pool {pool}"), "", stalling).results;
        let latencies = &results.sum.latencies;
        let max_ms = latencies.latency.max() / MILLISECOND;
        assert!((499..=502).contains(&max_ms), "{pool}: {max_ms} ms");
        assert_eq!((&latencies.net, latencies.send_lag.max()), (&latencies.latency, 0), "{pool}");
        assert!(results.verdict.kept, "{pool}: {:?}", results.verdict);
        // The two connections wait for their responses, and every other request of the stall for a connection.
        let late = latencies.latency.count_between(2 * MILLISECOND, u64::MAX);
        assert!((495..=620).contains(&late), "{pool}: {late}");
    }
}

#[test]
fn a_limit_on_catching_up_holds_a_connection_that_is_behind() {
    let stall_ns = Some((START_NS + SECOND, START_NS + 1_500 * MILLISECOND));
    let run = run("-t1 -c1 -d3s -R100 --catch-up-max 2", "", Conditions { stall_ns, ..QUICK });
    let gaps: Vec<u64> = run.seen[0].windows(2).map(|pair| pair[1].sent_ns - pair[0].sent_ns).collect();
    // Fifty requests are behind after the stall. At twice the rate, catching up takes another half second.
    assert_eq!(gaps.iter().min(), Some(&(5 * MILLISECOND)));
    let short = gaps.iter().filter(|gap_ns| **gap_ns == 5 * MILLISECOND).count();
    assert!((95..=100).contains(&short), "{short}");
    assert_eq!(run.results.sum.requests, 300);
}

#[test]
fn due_unsent_requests_are_the_backlog_of_each_second() {
    // The server serves 40 to 80 requests a second and 80 are due.
    let slow = Conditions { service_ns: 25 * MILLISECOND, ..Conditions::CALM };
    let run = run("-t1 -c1 -d3s -R80", "", slow);
    let results = &run.results;
    // Waiting for a connection that is behind is the server's fault.
    assert_eq!(results.sum.latencies.net, results.sum.latencies.latency);
    for row in &results.series {
        let end_ns = START_NS + (row.t_s + 1) * SECOND;
        let sent = run.seen[0].iter().filter(|seen| seen.sent_ns < end_ns).count() as u64;
        assert_eq!(row.backlog, 80 * (row.t_s + 1) - sent, "{row:?}");
    }
    let backlog = results.series.last().unwrap().backlog;
    assert!(backlog > 10 && results.unfinished.count == backlog + 1, "{backlog} and {:?}", results.unfinished);
    let known = results.censored().from_percentile.unwrap();
    assert!((known - 100.0 * results.sum.requests as f64 / 240.0).abs() < 1e-9, "{known}");
    assert!(report(&run).contains(&format!("percentiles above {known:.3}% are unknown")), "{}", report(&run));
}

#[test]
fn slow_rates_and_rates_below_the_thread_count_are_kept() {
    for (words, due) in [("-t1 -c1 -d3s -R0.5", 2), ("-t4 -c8 -d3s -R1", 3), ("-t2 -c2 -d300ms -R1000", 300)] {
        let run = run(words, "", QUICK);
        assert_eq!((run.results.requests_due, run.results.sum.requests, run.seen[0].len()), (due, due, due as usize));
    }
}

#[test]
fn the_parts_of_a_load_send_what_the_whole_sends() {
    let folder = tempfile::tempdir().unwrap();
    let slow = Conditions {
        service_ns: 40 * MILLISECOND,
        failure_per_mille: 20,
        silent_from_ns: Some(START_NS + 2 * SECOND),
        ..Conditions::CALM
    };
    for flags in ["", "--pool open", "--arrivals poisson", "--warmup 300ms --requests 300", "--catch-up-max 2"] {
        for seed in 1..4 {
            let conditions = Conditions { seed, ..slow };
            let words = format!("-t6 -c12 -R200 -d2500ms {flags}");
            let file = |name: String| folder.path().join(name);
            let whole = simulate(&arguments(&words), "", 2, conditions, folder.path());
            let mut records = Vec::new();
            for part in 1..=3 {
                let record = file(format!("{part}.record"));
                let words = format!("{words} --part {part}/3 --record {}", record.display());
                simulate(&arguments(&words), "", 1, conditions, folder.path());
                records.push(record);
            }
            let (json, whole_json) = (file("merged.json".to_owned()), file("whole.json".to_owned()));
            whole.results.write_json(&whole_json).unwrap();
            let merging = crate::merge::MergeArguments { files: records, hdr_log: None, json: Some(json.clone()) };
            crate::merge::merge(&merging, &mut Vec::new()).unwrap();
            let read = |file: &std::path::Path| -> serde_json::Value {
                serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()
            };
            let (merged, whole) = (read(&json), read(&whole_json));
            for figure in [
                "requests_due",
                "requests",
                "lost",
                "status",
                "latency_us",
                "net_latency_us",
                "send_lag_us",
                "unfinished",
                "censored",
            ] {
                assert_eq!(merged[figure], whole[figure], "{words}, seed {seed}: {figure}");
            }
            let of_series = |load: &serde_json::Value, column: &str| -> Vec<serde_json::Value> {
                load["series"].as_array().unwrap().iter().map(|row| row[column].clone()).collect()
            };
            for column in ["due", "backlog", "requests", "p99_us"] {
                assert_eq!(of_series(&merged, column), of_series(&whole, column), "{words}, seed {seed}: {column}");
            }
        }
    }
}
