use super::*;
use clap::CommandFactory;

fn parse(line: &str) -> Result<Arguments, String> {
    let words = std::iter::once("loadgen").chain(line.split_whitespace());
    Arguments::try_parse_from(words).map_err(|error| error.to_string())
}

#[test]
fn the_command_line_is_consistent() {
    Arguments::command().debug_assert();
}

#[test]
fn wrk2s_command_line_is_understood() {
    let arguments = parse("-t4 -c64 -d1m -R70k -L -s get.lua http://h:1/p -- pairs=5 x=y").unwrap();
    assert_eq!((arguments.threads, arguments.connections), (4, 64));
    assert_eq!(arguments.duration_ns, 60_000_000_000);
    assert_eq!(arguments.schedule().rate_per_s(), 70_000.0);
    assert_eq!(arguments.script_arguments, ["pairs=5", "x=y"]);
    let defaults = parse("--rate 10 http://h").unwrap();
    assert_eq!((defaults.threads, defaults.connections), (2, 10));
    assert_eq!((defaults.duration_ns, defaults.timeout_ns), (10_000_000_000, 2_000_000_000));
    let after_url = parse("http://h word -R10 -U -B --timeout 3s").unwrap();
    assert!(after_url.u_latency && after_url.batch_latency);
    assert_eq!(after_url.script_arguments, ["word"]);
}

#[test]
fn every_flag_refuses_bad_values_and_says_what_it_wants() {
    for (line, wanted) in [
        ("-t0", "expected a whole number above 0"),
        ("-t2000", "at most 1024 threads"),
        ("-c -1", "unexpected argument '-1'"),
        ("-c 1.5", "expected a whole number above 0"),
        ("-d 0", "expected a time above 0"),
        ("-d 10x", "expected a time such as 30s"),
        ("-R 0", "expected requests a second"),
        ("-R fast", "expected requests a second"),
        ("--timeout never", "expected a time such as"),
        ("-H NoColon", "expected 'Name: value'"),
        ("--metrics 9100", "expected HOST:PORT"),
        ("--idle nap", "possible values: sleep, hybrid, spin"),
        ("--cpus 1-", "expected CPU numbers"),
        ("--cpus 3-1", "expected CPU numbers"),
        ("--warmup soon", "expected a time such as"),
        ("--requests 0", "expected a whole number above 0"),
        ("--pool closed", "possible values: fixed, open"),
        ("--catch-up-max 1", "expected a factor above 1"),
        ("--rate-plan 10:1s", "cannot be used with"),
        ("--arrivals bursty", "possible values: even, poisson"),
        ("--seed x", "invalid digit"),
        ("--expect 99", "99 is not in 100..=599"),
        ("--expect 404;500", "invalid digit"),
        ("--send-lag-max 0", "expected a time above 0"),
    ] {
        let rate = if line.starts_with("-R") { "" } else { "-R 10" };
        let error = parse(&format!("{line} {rate} http://h")).expect_err(line);
        assert!(error.contains(wanted), "{line}: {error}");
    }
    assert!(parse("-R10 localhost:80").unwrap_err().contains("write http://localhost:80"));
    assert!(parse("http://h").unwrap_err().contains("--rate <RATE>"));
    assert!(parse("-R10").unwrap_err().contains("<URL>"));
}

#[test]
fn a_rate_plan_takes_the_place_of_rate_and_duration() {
    let arguments = parse("--rate-plan 10:1s,10-20:2s http://h").unwrap();
    assert_eq!(arguments.schedule().duration_ns(), 3_000_000_000);
    assert!(parse("--rate-plan 10:1s -d 5s http://h").unwrap_err().contains("cannot be used with"));
    assert!(parse("--rate-plan 10 http://h").unwrap_err().contains("expected RATE:TIME"));
}

#[test]
fn the_last_value_of_a_list_counts() {
    let arguments = parse("--rate-plan 10:1s,20:1s --expect 404,410 --expect 500 --rate-plan 30:4s http://h").unwrap();
    assert_eq!(arguments.schedule().duration_ns(), 4_000_000_000);
    assert_eq!(arguments.expect, [500]);
    assert_eq!(parse("-R1 -H A:b -H A:c http://h").unwrap().headers.len(), 2);
}

#[test]
fn contradictory_values_are_refused() {
    let error = parse("-R10 -t8 -c4 http://h").unwrap().validate().unwrap_err();
    assert!(error.contains("raise -c or lower -t"), "{error}");
    let error = parse("-R10 --pool open --catch-up-max 2 http://h").unwrap().validate().unwrap_err();
    assert!(error.contains("needs --pool fixed"), "{error}");
    let error = parse("-R10 --high-priority --idle hybrid http://h").unwrap().validate().unwrap_err();
    assert!(error.contains("needs --idle sleep"), "{error}");
    let error = parse("--rate-plan 0-10:1s --warmup 1s http://h").unwrap().validate().unwrap_err();
    assert!(error.contains("begin with another"), "{error}");
    let error = parse("-R10 --json /nowhere/at/all/x.json http://h").unwrap().validate().unwrap_err();
    assert!(error.contains("directory /nowhere/at/all does not exist"), "{error}");
}

#[test]
fn parts_need_threads_and_connections_that_can_be_divided() {
    let error = |line: &str| parse(line).unwrap().validate().unwrap_err();
    assert!(error("-R10 -t4 -c64 --part 1/3 http://h").contains("-t must be a multiple of 3"));
    assert!(error("-R10 -t3 -c64 --part 1/3 http://h").contains("-c one of -t"));
    assert_eq!(parse("-R10 -t3 -c63 --part 3/3 http://h").unwrap().validate(), Ok(()));
    for (part, wanted) in [("0/3", "from 1 to N"), ("4/3", "from 1 to N"), ("2", "such as 2/3"), ("1/0", "such as 2/3")]
    {
        let error = parse(&format!("-R10 --part {part} http://h")).unwrap_err();
        assert!(error.contains(wanted), "{part}: {error}");
    }
}

#[test]
fn a_start_is_a_moment_of_the_wall_clock() {
    let at = |text: &str| parse(&format!("-R10 --start-at {text} http://h")).map(|a| a.start_at.unwrap());
    assert_eq!(at("2026-11-21T09:14:35.5Z").unwrap(), at("1795252475.5").unwrap());
    for wrong in ["soon", "12", "1795252475500"] {
        assert!(at(wrong).unwrap_err().contains("seconds since 1970"), "{wrong}");
    }
}
