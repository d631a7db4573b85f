//! The generator's own delays are distinguished from those of the server, for every request.

mod support;

use std::process::Stdio;
use std::time::Duration;
use support::{Manner, OK, Run, TruthServer, command, load};

/// Runs the generator, stops the whole process for `stop` after `before`, and lets it continue.
fn load_stopped(flags: &str, url: &str, before: Duration, stop: Duration) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("load.json");
    let child = command()
        .args(flags.split_whitespace())
        .arg("--json")
        .arg(&file)
        .arg(url)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let signal = |signal| {
        // SAFETY: the child is ours and has not been waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
    };
    std::thread::sleep(before);
    signal(libc::SIGSTOP);
    std::thread::sleep(stop);
    signal(libc::SIGCONT);
    let output = child.wait_with_output().unwrap();
    let json = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    Run { output, json, directory }
}

fn kept(run: &Run) -> bool {
    run.json["kept_schedule"]["verdict"].as_bool().unwrap()
}

#[test]
fn a_stopped_generator_is_not_charged_to_the_server() {
    let server = TruthServer::start(Manner::Respond(OK.to_vec(), Duration::from_micros(200)));
    for pool in ["fixed", "open"] {
        let flags = format!("-t1 -c1 -d3s -R1000 --strict --pool {pool}");
        let run = load_stopped(&flags, &server.url(), Duration::from_millis(1500), Duration::from_millis(900));
        run.assert_every_request_has_an_outcome();
        let [latency, net, lag] =
            ["latency_us", "net_latency_us", "send_lag_us"].map(|of| run.percentile_us(of, "90") / 1000.0);
        // The 900 requests due meanwhile are 30% of all. Each waited 0 to 900 ms, only for the generator.
        assert!(latency > 400.0, "{pool}: {latency} ms at 90%");
        assert!(lag > 400.0, "{pool}: the send lag says so of every request: {lag} ms at 90%");
        assert!(net < latency / 2.0, "{pool}: {net} of {latency} ms at 90% are left to the server");
        assert_eq!(run.number("send_lag_us.count"), run.number("requests_due") - unsent(&run), "{pool}");

        let stops = run.json["generator_stops"].as_array().unwrap();
        let longest =
            stops.iter().max_by(|a, b| a["length_us"].as_f64().partial_cmp(&b["length_us"].as_f64()).unwrap());
        let (at_s, length_us) =
            (longest.unwrap()["at_s"].as_f64().unwrap(), longest.unwrap()["length_us"].as_f64().unwrap());
        assert!((850_000.0..2_400_000.0).contains(&length_us), "{pool}: {stops:?}");
        assert!((0.5..2.0).contains(&at_s), "{pool}: {stops:?}");
        assert!(!kept(&run), "{pool}");
        assert_eq!(run.output.status.code(), Some(3), "--strict");
        let reasons = run.json["kept_schedule"]["reasons"].to_string();
        assert!(reasons.contains("latency at 99%") && reasons.contains("was stopped for"), "{pool}: {reasons}");
        let rows = run.json["series"].as_array().unwrap();
        let most = |key: &str| rows.iter().filter_map(|row| row[key].as_f64()).fold(0.0, f64::max);
        assert!(most("lag_max_us") > 800_000.0 && most("lag_p99_us") > 400_000.0, "{rows:?}");
    }
}

fn unsent(run: &Run) -> f64 {
    run.json["series"].as_array().unwrap().last().unwrap()["backlog"].as_f64().unwrap()
}

#[test]
fn a_stop_while_a_response_is_on_its_way_is_not_charged_to_the_server_either() {
    // The server takes 20 ms, so that a request is always on the wire when the generator is stopped.
    let server = TruthServer::start(Manner::Respond(OK.to_vec(), Duration::from_millis(20)));
    let flags = "-t1 -c1 -d2s -R50 --idle sleep";
    let run = load_stopped(flags, &server.url(), Duration::from_millis(800), Duration::from_millis(700));
    let (latency, net) = (run.number("latency_us.max") / 1000.0, run.number("net_latency_us.max") / 1000.0);
    assert!(latency > 600.0, "{latency} ms");
    assert!(net < latency / 2.0, "{net} of {latency} ms are left to a server that takes 20");
    assert!(!kept(&run));
}

#[test]
fn a_server_that_stalls_is_charged_and_the_generator_is_not() {
    let stall = (Duration::from_millis(1000), Duration::from_millis(500));
    let server = TruthServer::start(Manner::Stalls(vec![stall]));
    for pool in ["fixed", "open"] {
        let run = load(&format!("-t1 -c2 -d3s -R1000 --pool {pool}"), &server.url());
        run.assert_every_request_has_an_outcome();
        if run.number("latency_us.max") < 400_000.0 {
            continue;
        }
        let [latency, net] = ["latency_us", "net_latency_us"].map(|of| run.percentile_us(of, "99") / 1000.0);
        assert!(net > 250.0 && net > latency / 2.0, "{pool}: {net} of {latency} ms are the server's");
        let rows = run.json["series"].as_array().unwrap();
        let backlog = rows.iter().map(|row| row["backlog"].as_u64().unwrap()).collect::<Vec<_>>();
        assert_eq!(backlog.len(), 3, "{pool}: {backlog:?}");
    }
}

#[test]
fn due_unsent_requests_are_the_backlog_of_each_second() {
    // 40 requests a second are possible and 80 are due: the backlog grows by 40 a second.
    let server = TruthServer::start(Manner::Respond(OK.to_vec(), Duration::from_millis(25)));
    let run = load("-t1 -c1 -d3s -R80", &server.url());
    // Waiting for a connection that is behind is the server's fault.
    let [latency, net] = ["latency_us", "net_latency_us"].map(|of| run.percentile_us(of, "99"));
    assert!(net > 0.9 * latency, "{net} of {latency} µs");
    let rows = run.json["series"].as_array().unwrap();
    let backlog: Vec<u64> = rows.iter().map(|row| row["backlog"].as_u64().unwrap()).collect();
    assert!(backlog[0] >= 38 && backlog[1] > backlog[0] && backlog[2] > backlog[1], "{backlog:?}");
    let sent = run.number("send_lag_us.count");
    assert_eq!(backlog[2] as f64, run.number("requests_due") - sent);
    // The censored requests are at least as many as the backlog, and the percentiles that they hide are null.
    let censored = &run.json["censored"];
    assert_eq!(censored["count"].as_f64().unwrap(), run.number("unfinished.count"));
    let known = 100.0 * run.number("requests") / run.number("requests_due");
    assert!((censored["from_percentile"].as_f64().unwrap() - known).abs() < 1e-6, "{censored}");
    assert!(known < 55.0 && censored["percentiles_us"]["75"].is_null(), "{censored}");
    let text = run.stdout();
    assert!(text.contains(&format!("percentiles above {known:.3}% are unknown")), "{text}");
}
