//! Tests of which requests a run sends: warm-up, limits on their number, open pools, the limit on catching up,
//! and threads that share an event loop.

use crate::support::judge::holds_in_runs;
use crate::support::{Manner, OK, Run, TruthServer, load, load_with};
use std::time::Duration;

fn server_that_answers_after(delay: Duration) -> TruthServer {
    TruthServer::start(Manner::Respond(OK.to_vec(), delay))
}

fn due_by_second(run: &Run) -> Vec<u64> {
    run.json["series"].as_array().unwrap().iter().map(|row| row["due"].as_u64().unwrap()).collect()
}

#[test]
fn a_warmup_is_sent_and_in_no_output() {
    for flags in ["", "--pool open", "--arrivals poisson"] {
        let server = server_that_answers_after(Duration::ZERO);
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("x.hlog");
        let run = load(&format!("-t2 -c4 -d1s -R200 --warmup 1s {flags} --hdr-log {}", log.display()), &server.url());
        run.assert_every_request_has_an_outcome();
        let (seen, due) = (server.seen().len() as f64, run.number("requests_due"));
        assert_eq!(run.number("warmup_s"), 1.0);
        assert_eq!((run.number("elapsed_s"), run.number("duration_s")), (1.0, 1.0));
        assert_eq!(due_by_second(&run), [due as u64], "{flags}");
        assert!((130.0..270.0).contains(&due), "{flags}: {due}");
        assert!(seen > due, "{flags}: the server saw {seen} requests, {due} of them measured");
        assert_eq!(run.number("bytes_read"), run.number("requests") * OK.len() as f64, "{flags}");
        assert_eq!(run.number("latency_us.count"), run.number("requests"));
        let intervals = std::fs::read_to_string(log).unwrap().lines().filter(|line| line.contains("HIST")).count();
        assert_eq!(intervals, 1);
        if !flags.contains("poisson") {
            assert_eq!(due, 200.0);
        }
    }
}

#[test]
fn a_stall_that_begins_in_the_warmup_delays_only_the_requests_due_after_it() {
    // The stall covers the last 300 ms of the warm-up and the first 200 ms of the measured second.
    let stall = (Duration::from_millis(700), Duration::from_millis(500));
    let server = TruthServer::start(Manner::Stalls(vec![stall]));
    let run = load("-t1 -c1 -d1s -R200 --warmup 1s", &server.url());
    run.assert_every_request_has_an_outcome();
    assert_eq!(run.number("requests_due"), 200.0);
    let max_ms = run.number("latency_us.max") / 1000.0;
    assert!(max_ms < 450.0, "a request due in the warm-up waited 500 ms, one after it 200: {max_ms}");
}

#[test]
fn a_backlog_of_the_warmup_ends_with_it() {
    // One connection and 10 ms a response: 100 requests a second of 800 at most. The 700 that the warm-up leaves unsent
    // would keep the connection busy for the whole measured second.
    for flags in ["", "--pool open", "--arrivals poisson"] {
        let server = server_that_answers_after(Duration::from_millis(10));
        let run = load(&format!("-t1 -c1 -d1s -R800 --warmup 1s {flags}"), &server.url());
        run.assert_every_request_has_an_outcome();
        let (due, answered) = (run.number("requests_due"), run.number("requests"));
        assert!((650.0..950.0).contains(&due), "{flags}: {due}");
        assert!((50.0..=100.0).contains(&answered), "{flags}: {answered}");
        assert_eq!(run.number("unfinished.count") + answered, due, "{flags}");
    }
}

#[test]
fn a_limit_on_requests_ends_the_run_when_all_are_answered() {
    for flags in ["-t1 -c1", "-t2 -c8", "-t2 -c8 --pool open", "-t2 -c8 --arrivals poisson", "-t1 -c3 --warmup 300ms"] {
        let server = server_that_answers_after(Duration::from_millis(20));
        let run = load(&format!("{flags} -d30s -R100 --requests 37"), &server.url());
        run.assert_every_request_has_an_outcome();
        assert_eq!(run.number("requests_due"), 37.0, "{flags}");
        assert_eq!((run.number("requests"), run.number("unfinished.count")), (37.0, 0.0), "{flags}");
        assert!(run.number("elapsed_s") < 30.0, "{flags}: ended by the time limit");
        assert_eq!(due_by_second(&run).iter().sum::<u64>(), 37, "{flags}");
    }
    let server = server_that_answers_after(Duration::ZERO);
    let run = load("-t1 -c1 -d1s -R50 --requests 1M", &server.url());
    assert_eq!((run.number("requests_due"), run.number("elapsed_s")), (50.0, 1.0), "the time limit comes first");
}

#[test]
#[ignore = "measures, and so needs a quiet machine; `make torture-loadgen` runs it"]
fn in_an_open_pool_a_request_waits_only_while_all_connections_are_busy() {
    // Every request takes 40 ms, and one is due each 25 ms: 1.6 connections are busy on average. With a plan
    // for each of four connections (one each 100 ms) nothing waits either; with Poisson arrivals the plans clash.
    let server = server_that_answers_after(Duration::from_millis(40));
    let flags = "-t1 -c6 -d3s -R40 --arrivals poisson --seed 7";
    let waited_us = |run: &Run| run.number("latency_us.mean") - run.number("uncorrected_us.mean");
    holds_in_runs(1, |_| {
        // Both run at once, so that other load on the machine affects both.
        let [fixed, open] = std::thread::scope(|scope| {
            let run = |pool: &str| load(&format!("{flags} --pool {pool}"), &server.url());
            ["fixed", "open"].map(|pool| scope.spawn(move || run(pool))).map(|thread| thread.join().unwrap())
        });
        for run in [&fixed, &open] {
            run.assert_every_request_has_an_outcome();
        }
        assert_eq!(open.json["pool"], "open");
        assert!(waited_us(&fixed) > 4_000.0, "an M/D/1 queue of load 0.27 waits 7 ms: {}", waited_us(&fixed));
        let waited = [waited_us(&fixed), waited_us(&open)];
        if waited[1] < waited[0] / 2.0 { Ok(()) } else { Err(format!("fixed, open: {waited:?} µs")) }
    });
}

#[test]
fn a_connection_that_is_stuck_holds_up_its_own_requests_alone() {
    // The generator first probes the address with a connection of its own, so one of the four never answers.
    let unfinished = |pool: &str| {
        let server = TruthServer::start(Manner::FirstConnectionsSilent(2));
        let run = load(&format!("-t1 -c4 -d2s -R40 --pool {pool} --timeout 30s"), &server.url());
        run.assert_every_request_has_an_outcome();
        run.number("unfinished.count")
    };
    let (fixed, open) = (unfinished("fixed"), unfinished("open"));
    assert!(fixed >= 20.0, "a plan is kept to: {fixed} of 80 have no response");
    assert!(open < fixed, "whichever is free takes the next: {open} of 80 have no response");
}

#[test]
fn an_open_pool_survives_connections_that_close() {
    let announced = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok".to_vec();
    // A request that is sent while the server closes without a word is lost.
    for (response, at_least) in [(announced, 100.0), (OK.to_vec(), 50.0)] {
        let server = TruthServer::start(Manner::RespondAndClose(response, false));
        let run = load("-t1 -c4 -d30s -R100 --requests 100 --pool open", &server.url());
        run.assert_every_request_has_an_outcome();
        assert!(run.number("requests") >= at_least, "{:#}", run.json);
        assert_eq!(run.number("unfinished.count"), 0.0);
    }
}

#[test]
fn delay_needs_plans_of_single_connections() {
    let server = server_that_answers_after(Duration::ZERO);
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("delay.lua");
    std::fs::write(&script, "function delay() return 1 end").unwrap();
    let run = load_with(&format!("-R10 --pool open -s {}", script.display()), &server.url(), "");
    assert_eq!(run.output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&run.output.stderr);
    assert!(message.contains("needs --pool fixed"), "{message}");
    assert!(server.seen().is_empty());
}

#[test]
#[ignore = "measures, and so needs a quiet machine; `make torture-loadgen` runs it"]
fn a_limit_on_catching_up_spreads_the_backlog_of_a_stall() {
    // 400 ms of stall at 200/s leave 80 requests: without a limit they are sent at once; at twice the rate they take
    // another 400 ms, 40 in 100 ms. The test looks at the busiest 100 ms, because the machine may stop in any others.
    let stall = (Duration::from_millis(500), Duration::from_millis(400));
    let most_in_100_ms = |flags: &str| {
        let server = TruthServer::start(Manner::Stalls(vec![stall]));
        load(&format!("-t1 -c1 -d2s -R200 {flags}"), &server.url()).assert_every_request_has_an_outcome();
        let arrivals: Vec<u64> = server.seen().iter().map(|seen| seen.arrived_ns).collect();
        let within_100_ms = |from: &u64| arrivals.iter().filter(|&at| (*from..from + 100_000_000).contains(at)).count();
        arrivals.iter().map(within_100_ms).max().unwrap()
    };
    let (free, limited) = (most_in_100_ms(""), most_in_100_ms("--catch-up-max 2"));
    assert!(free >= 70, "{free}");
    assert!((25..=45).contains(&limited), "twice the rate is 40 in 100 ms: {limited}");
}

#[test]
fn threads_share_event_loops_if_there_are_fewer_cpus_and_keep_their_scripts() {
    let server = server_that_answers_after(Duration::ZERO);
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("stop.lua");
    let text = "local threads = 0
        function setup(thread) threads = threads + 1; thread:set('number', threads) end
        local seen = 0
        function response() seen = seen + 1; if number == 1 and seen == 5 then wrk.thread:stop() end end";
    std::fs::write(&script, text).unwrap();
    let cpu = loadgen::net::cpus_of_this_process().unwrap()[0];
    let run = load(&format!("-t3 -c6 -d1s -R300 --cpus {cpu} -s {}", script.display()), &server.url());
    run.assert_every_request_has_an_outcome();
    assert_eq!((run.number("threads"), run.number("event_loops")), (3.0, 1.0));
    assert_eq!(run.stdout().matches("Thread calibration: ").count(), 3);
    // Thread 1 stopped after five responses; the others continued to the end.
    let (due, requests) = (run.number("requests_due"), run.number("requests"));
    assert!((205.0..300.0).contains(&due), "200 and those of thread 1 up to its end: {due}");
    assert!(requests > 5.0, "{requests}");
    assert_eq!(run.number("elapsed_s"), 1.0);
}

#[test]
fn polling_is_distinguished_from_work() {
    let server = server_that_answers_after(Duration::ZERO);
    let spun = load("-t1 -c1 -d1s -R20 --idle spin", &server.url());
    let slept = load("-t1 -c1 -d1s -R20 --idle sleep", &server.url());
    assert!(spun.number("spin_s") <= spun.number("cpu_s"));
    assert!(
        spun.number("spin_s") > 0.5 * spun.number("cpu_s"),
        "{} of {}",
        spun.number("spin_s"),
        spun.number("cpu_s")
    );
    assert!(slept.number("spin_s") < 0.01, "{}", slept.number("spin_s"));
}

#[test]
fn a_high_priority_is_reported_if_the_system_allowed_it() {
    let server = server_that_answers_after(Duration::ZERO);
    let allowed = std::thread::spawn(|| loadgen::net::raise_priority_of_this_thread().is_ok()).join().unwrap();
    for (flags, wanted) in [("", false), ("--high-priority", allowed)] {
        let run = load(&format!("-t2 -c2 -d1s -R20 {flags}"), &server.url());
        run.assert_every_request_has_an_outcome();
        let loops = run.json["loops"].as_array().unwrap();
        assert!(!loops.is_empty() && loops.iter().all(|row| row["high_priority"] == wanted), "{flags}: {loops:?}");
    }
}
