//! Scripts in real runs, and the shipped workloads.

use crate::support::{Run, TruthServer, load_with, quick_server};
use loadgen::http::Batch;
use loadgen::script::{MainScript, ScriptError, ScriptOptions, ThreadScript};
use loadgen::target::Target;
use std::path::Path;

fn run_script(text: &str, flags: &str, server: &TruthServer) -> Run {
    let directory = tempfile::tempdir().unwrap();
    let script = directory.path().join("script.lua");
    std::fs::write(&script, text).unwrap();
    load_with(&format!("{flags} -s {}", script.display()), &server.url(), "one two")
}

#[test]
fn a_script_that_counts_sees_every_response_and_reports_at_the_end() {
    let server = quick_server();
    let script = "
        local threads = {}
        function setup(thread) table.insert(threads, thread) end
        function init(args) made, seen = 0, 0; assert(args[1] == 'one' and args[2] == 'two') end
        function request() made = made + 1; return wrk.format('GET', '/' .. made) end
        function response(status, headers, body)
            assert(status == 200 and headers['Content-Length'] == '5' and body == 'hello')
            seen = seen + 1
        end
        function done(summary, latency, requests)
            local made, seen = 0, 0
            for _, thread in ipairs(threads) do
                made, seen = made + thread:get('made'), seen + thread:get('seen')
            end
            print('made', made, 'seen', seen, 'requests', summary.requests, 'p50', latency:percentile(50) > 0)
        end";
    let run = run_script(script, "-t2 -c4 -d1s -R200", &server);
    assert!(run.output.status.success(), "{:?}", run.output);
    run.assert_every_request_has_an_outcome();
    let requests = run.number("requests");
    let text = run.stdout();
    let last = text.lines().last().unwrap();
    assert!(last.ends_with(&format!("seen\t{requests}\trequests\t{requests}\tp50\ttrue")), "{last}");
}

#[test]
fn pipelined_requests_share_a_due_time_and_batch_latency_records_one_of_them() {
    let server = quick_server();
    let script = "function request() return wrk.format() .. wrk.format() .. wrk.format() end";
    for (flags, per_batch) in
        [("-t1 -c2 -d30s -R150 --requests 150", 3.0), ("-t1 -c2 -d30s -R150 --requests 150 -B", 1.0)]
    {
        let run = run_script(script, flags, &server);
        run.assert_every_request_has_an_outcome();
        assert_eq!(run.number("errors.read"), 0.0);
        assert_eq!(run.number("requests") % 3.0, 0.0);
        assert!((148.0..=156.0).contains(&run.number("requests")), "{}", run.number("requests"));
        assert_eq!(run.number("latency_us.count"), run.number("requests") / 3.0 * per_batch);
    }
}

#[test]
fn a_delay_is_not_latency() {
    let server = quick_server();
    let run = run_script("function delay() return 30 end", "-t1 -c2 -d30s -R20 --requests 20", &server);
    run.assert_every_request_has_an_outcome();
    assert_eq!(run.number("requests"), 20.0);
    assert!(run.percentile_us("net_latency_us", "50") < 20_000.0);
}

#[test]
fn a_script_may_stop_its_thread() {
    let server = quick_server();
    let script = "local seen = 0
        function response() seen = seen + 1; if seen == 5 then wrk.thread:stop() end end";
    let run = run_script(script, "-t2 -c2 -d30s -R100", &server);
    assert!(run.output.status.success());
    assert!(run.number("requests") >= 5.0, "{}", run.number("requests"));
    assert!(run.number("elapsed_s") < 30.0);
    run.assert_every_request_has_an_outcome();
}

#[test]
fn an_error_at_the_first_request_is_the_reason_of_the_verdict() {
    let run = run_script("function request() error('at once') end", "-t1 -c1 -d30s -R50", &quick_server());
    let report = run.stdout();
    let verdict = report.lines().find(|line| line.starts_with("Schedule:")).unwrap();
    assert!(verdict.contains("NOT KEPT: the run ended early: script: request: "), "{verdict}");
    assert!(verdict.ends_with("script.lua:1: at once") && !verdict.contains("CPUs"), "{verdict}");
    // Nor does a run of a moment, which has no idle time, lack CPUs.
    let script = "function request() wrk.thread:stop() return wrk.format() end";
    let report = run_script(script, "-t1 -c1 -d30s -R50", &quick_server()).stdout();
    assert!(report.contains("Schedule:") && !report.contains("CPUs"), "{report}");
}

#[test]
fn an_error_of_a_script_ends_the_run_with_its_file_and_line() {
    let server = quick_server();
    let script =
        "local n = 0\nfunction request() n = n + 1; if n > 3 then error('enough') end; return wrk.format() end";
    let run = run_script(script, "-t2 -c2 -d30s -R50", &server);
    assert_eq!(run.output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&run.output.stderr);
    assert!(message.contains("script: request: ") && message.contains("script.lua:2: enough"), "{message}");
    // The results up to then are reported all the same.
    run.assert_every_request_has_an_outcome();
    // Three requests of the thread that fails, up to three of the other.
    assert!((3.0..=6.0).contains(&run.number("requests")), "{}", run.number("requests"));
    assert!(run.number("elapsed_s") < 30.0);
    assert!(run.json["failure"].as_str().unwrap().contains("script.lua:2: enough"), "{}", run.json["failure"]);
    let text = run.stdout();
    assert!(text.contains("\nRequests/sec: ") && text.contains("\nFailed:       script: request: "), "{text}");
}

#[test]
fn an_error_in_done_leaves_the_report_and_the_json() {
    let server = quick_server();
    let run = run_script("function done() error('at the end') end", "-t1 -c1 -d30s -R50 --requests 15", &server);
    assert_eq!(run.output.status.code(), Some(1));
    let message = String::from_utf8_lossy(&run.output.stderr);
    assert!(message.contains("script: done: ") && message.contains("at the end"), "{message}");
    assert!(run.stdout().contains("\nRequests/sec: "));
    assert!(run.number("requests") > 5.0);
}

/// Two threads of a shipped script.
fn shipped(name: &str, arguments: &str) -> Result<[ThreadScript; 2], ScriptError> {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let main = MainScript::load(ScriptOptions {
        file: Some(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts").join(name)),
        target: Target::parse(&format!("http://{}", server.local_addr().unwrap())).unwrap(),
        headers: Vec::new(),
        arguments: arguments.split_whitespace().map(str::to_owned).collect(),
    })?;
    Ok([main.start_thread()?, main.start_thread()?])
}

fn requests(thread: &ThreadScript, count: usize) -> Vec<String> {
    let mut batch = Batch::default();
    let mut one = || thread.request(&mut batch, |text| String::from_utf8(text.to_vec()).unwrap()).unwrap();
    (0..count).map(|_| one()).collect()
}

/// The number of the key in a request line, and the method.
fn key(request: &str) -> (u64, &str) {
    let (method, rest) = request.split_once(" /v0/entity?id=k").unwrap_or_else(|| panic!("{request}"));
    let (digits, _) = rest.split_once(" HTTP/1.1\r\n").unwrap();
    assert_eq!(digits.len(), 9, "{request}");
    (digits.parse().unwrap(), method)
}

#[test]
fn get_lua_requests_uniform_keys_that_differ_by_thread_and_repeat_with_the_seed() {
    let keys = |arguments: &str, thread: usize| -> Vec<u64> {
        let threads = shipped("get.lua", arguments).unwrap();
        requests(&threads[thread], 10_000).iter().map(|text| key(text).0).collect()
    };
    let first = keys("pairs=1000", 0);
    assert!(first.iter().all(|key| *key < 1000));
    for tenth in 0..10 {
        let count = first.iter().filter(|key| **key / 100 == tenth).count();
        assert!((880..1120).contains(&count), "{count} of 10000 in tenth {tenth}: 4 deviations from 1000");
    }
    assert_eq!(first, keys("seed=1 pairs=1000", 0));
    assert_ne!(first, keys("pairs=1000", 1));
    assert_ne!(first, keys("pairs=1000 seed=2", 0));
}

/// The numbers of the keys that `count` requests of a thread of `name` are for.
fn keys_of(name: &str, arguments: &str, thread: usize, count: usize) -> Vec<u64> {
    let threads = shipped(name, arguments).unwrap();
    requests(&threads[thread], count).iter().map(|text| key(text).0).collect()
}

#[test]
fn sequential_keys_visit_each_key_in_turn_over_all_threads() {
    for (name, more) in [("get.lua", ""), ("put.lua", "value_bytes=1000"), ("mixed.lua", "value_bytes=1000")] {
        let arguments = format!("pairs=6 keys=sequential {more}");
        assert_eq!(keys_of(name, &arguments, 0, 5), [0, 2, 4, 0, 2], "{name}");
        assert_eq!(keys_of(name, &arguments, 1, 5), [1, 3, 5, 1, 3], "{name}");
    }
}

#[test]
fn zipfian_keys_are_requested_by_their_rank_to_the_power_of_theta() {
    const PAIRS: usize = 1000;
    const COUNT: usize = 40_000;
    for (name, theta) in [("get.lua", 0.99), ("put.lua", 0.5), ("mixed.lua", 0.8)] {
        let more = if name == "get.lua" { "" } else { "value_bytes=1000" };
        let arguments = format!("pairs={PAIRS} keys=zipfian theta={theta} {more}");
        let mut counts = vec![0usize; PAIRS];
        keys_of(name, &arguments, 0, COUNT).into_iter().for_each(|key| counts[key as usize] += 1);
        let neighbours = counts.windows(2).filter(|pair| pair.iter().all(|count| *count > COUNT / 200)).count();
        assert!(neighbours <= 2, "{name}: popular keys lie apart");
        let by_rank: Vec<usize> = (0..PAIRS).map(|rank| counts[rank * 7_368_787 % PAIRS]).collect();
        let zeta: f64 = (1..=PAIRS).map(|rank| (rank as f64).powf(-theta)).sum();
        // Shares of the most popular 1, 10, 100 and 500 keys; the formula is exact for two keys and near for the others.
        for most in [1, 10, 100, 500] {
            let expected: f64 = (1..=most).map(|rank| (rank as f64).powf(-theta) / zeta).sum();
            let found = by_rank[..most].iter().sum::<usize>() as f64 / COUNT as f64;
            let deviation = (expected * (1.0 - expected) / COUNT as f64).sqrt();
            assert!(
                (found - expected).abs() < 5.0 * deviation + 0.02 * expected,
                "{name} {most}: {found}, not {expected}"
            );
        }
    }
    let few = keys_of("get.lua", "pairs=2 keys=zipfian", 0, 1000);
    assert!(few.iter().all(|key| *key < 2) && few.contains(&0) && few.contains(&1));
    assert!(keys_of("get.lua", "pairs=1 keys=zipfian", 0, 100).iter().all(|key| *key == 0));
    let many = keys_of("get.lua", "pairs=1000000000 keys=zipfian", 1, 1000);
    assert!(many.iter().all(|key| *key < 1_000_000_000));
    assert_eq!(many, keys_of("get.lua", "pairs=1000000000 keys=zipfian theta=0.99 seed=1", 1, 1000));
}

#[test]
fn put_lua_sends_values_of_90_to_110_percent_of_the_size() {
    let [thread, _] = shipped("put.lua", "pairs=50 value_bytes=200").unwrap();
    let mut lengths = Vec::new();
    let mut bodies = std::collections::HashSet::new();
    for text in requests(&thread, 4000) {
        assert_eq!(key(&text).1, "PUT");
        assert!(key(&text).0 < 50);
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("\r\nContent-Length: {}", body.len())), "{head}");
        assert!(body.bytes().all(|byte| byte.is_ascii_graphic()));
        lengths.push(body.len());
        bodies.insert(body.to_owned());
    }
    assert_eq!((lengths.iter().min(), lengths.iter().max()), (Some(&180), Some(&220)));
    assert_eq!(bodies.len(), 4000, "no value comes twice in a while");
}

#[test]
fn values_repeat_themselves_as_asked_so_that_they_compress() {
    for name in ["put.lua", "mixed.lua"] {
        let more = if name == "mixed.lua" { " put_percent=100" } else { "" };
        let [thread, _] = shipped(name, &format!("pairs=50 value_bytes=1000 unique_percent=25{more}")).unwrap();
        for text in requests(&thread, 200) {
            let body = text.split_once("\r\n\r\n").unwrap().1.as_bytes();
            let unique = body.len().div_ceil(4);
            assert!((900..=1100).contains(&body.len()));
            assert_eq!(&body[unique..], &body[..body.len() - unique]);
            let different: std::collections::HashSet<_> = body[..unique].iter().collect();
            assert!(different.len() > 60, "the part that is repeated is random");
        }
    }
}

#[test]
fn mixed_lua_sends_its_share_of_puts() {
    for (percent, range) in [(0, 0..=0), (100, 10_000..=10_000), (10, 880..=1120)] {
        let [thread, _] =
            shipped("mixed.lua", &format!("pairs=1000000000 value_bytes=1000 put_percent={percent}")).unwrap();
        let puts = requests(&thread, 10_000).iter().filter(|text| key(text).1 == "PUT").count();
        assert!(range.contains(&puts), "{puts} of 10000 at {percent}%");
    }
}

#[test]
fn shipped_scripts_refuse_arguments_that_they_do_not_know() {
    for (name, arguments, wanted) in [
        ("get.lua", "", "say how many pairs the dataset has"),
        ("get.lua", "pairs=0", "say how many pairs the dataset has"),
        (
            "get.lua",
            "pairs=1 value_bytes=5",
            "argument 'value_bytes=5' is not understood; known are keys=KIND pairs=N seed=N theta=N",
        ),
        ("get.lua", "pairs=9 keys=random", "keys must be uniform, zipfian or sequential"),
        ("get.lua", "pairs=9 keys=zipfian theta=1", "theta must be above 0 and below 1"),
        ("get.lua", "pairs=9 theta=0.x", "argument 'theta=0.x' is not understood"),
        ("get.lua", "pairs=1.5", "argument 'pairs=1.5' is not understood"),
        ("get.lua", "pairs=-1", "argument 'pairs=-1' is not understood"),
        ("put.lua", "pairs=10 value_bytes=0", "value_bytes must be 1 to 16777216"),
        ("put.lua", "pairs=10 unique_percent=0", "unique_percent must be 1 to 100"),
        ("put.lua", "paris=10", "known are keys=KIND pairs=N seed=N theta=N unique_percent=N value_bytes=N"),
        ("mixed.lua", "pairs=10 put_percent=101", "put_percent must be 0 to 100"),
    ] {
        let error = shipped(name, arguments).err().unwrap_or_else(|| panic!("{name} {arguments}")).to_string();
        assert!(error.contains(wanted), "{name} {arguments}: {error}");
    }
}
