//! Single runs whose result is known.

use super::world::Conditions;
use super::{START_NS, Simulated, arguments, simulate};
use crate::clock::{MILLISECOND, SECOND};
use crate::report::TextReport;

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
fn a_request_that_is_still_in_its_delay_at_the_end_is_not_due() {
    let delayed = run("-t1 -c2 -R10 -d2s", "function delay() return 5000 end", QUICK);
    assert_eq!((delayed.results.requests_due, delayed.results.unfinished.count), (0, 0));
    assert!(!report(&delayed).contains("Unfinished"), "{}", report(&delayed));
    // Due at 0.1 s, 0.2 s, … 1.9 s and delayed by 150 ms: the last two are not due at 2 s. The server is silent from 1 s.
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
    assert_eq!((due, run.results.requests_due), (vec![100, 50], 150));
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
