use super::*;
use crate::cli::{Arguments, Pool};
use crate::clock::{MILLISECOND, SECOND};
use crate::exec::RequestRate;
use crate::http::Operation;
use crate::part::Part;
use crate::report::{CommonStart, LoadShape, LoopEnding, Record, RunDescription, ThreadEnding};
use crate::stats::{Sample, Totals};
use clap::Parser;
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::Value;
use std::path::Path;

/// The results of one generator, by second and at its end.
#[derive(Debug, Clone)]
struct Found {
    seconds: Vec<Interval>,
    ending: Ending,
}

/// The shape of a load with `flags`, or with -R1000.
fn shape(flags: &[&str]) -> LoadShape {
    let flags = if flags.is_empty() { &["-R1000"] } else { flags };
    let words = ["loadgen", "http://127.0.0.1:8080/"].iter().chain(flags);
    LoadShape::of(&Arguments::try_parse_from(words).unwrap())
}

fn second(random: &mut SmallRng) -> Interval {
    let mut counted = Interval::default();
    for _ in 0..random.random_range(0..40) {
        let (latency_ns, own_error_ns) = (random.random_range(1..3_000_000_000), random.random_range(0..300_000));
        let status = [200, 200, 200, 404, 503][random.random_range(0..5)];
        let operation = [Operation::Get, Operation::Put][random.random_range(0..2)];
        let served = status == 200;
        counted.sent += 1;
        counted.count_response(status, served);
        counted.latencies.record(Sample {
            latency_ns,
            uncorrected_ns: latency_ns / 2,
            own_error_ns,
            operation,
            served,
        });
        counted.latencies.send_lag.record(random.random_range(1..100_000)).unwrap();
    }
    counted.errors.timeout = random.random_range(0..3);
    counted.bytes_read = random.random_range(0..100_000);
    counted.cpu_ns = random.random_range(0..SECOND);
    counted.work_ns_max = counted.cpu_ns / 2;
    counted
}

/// Generator `index` of `of`, with two threads and one event loop.
fn found(random: &mut SmallRng, index: u64, of: u64, seconds: usize) -> Found {
    let length_ns = seconds as u64 * SECOND;
    let thread = |own: u64, random: &mut SmallRng| ThreadEnding {
        thread: own * of + index,
        due: random.random_range(0..1000),
        unfinished: random.random_range(0..3),
        oldest_unfinished_ns: random.random_range(0..SECOND),
        pipelining: random.random_range(1..9),
        request_rate: RequestRate::default(),
    };
    Found {
        seconds: (0..seconds).map(|_| second(random)).collect(),
        ending: Ending {
            description: RunDescription {
                url: "http://127.0.0.1:8080/".to_owned(),
                script: None,
                threads: 2,
                connections: 8,
                event_loops: 1,
                pool: Pool::Fixed,
                warmup_s: 0.0,
                duration_s: seconds as f64,
                rate_per_s: 1000.0 / of as f64,
                shape: shape(&[]),
                started_at: "2026-11-21T09:14:35.000Z".to_owned(),
            },
            part: Part { index, of },
            rate_of_all_per_s: 1000.0,
            allowed_ns: 100_000,
            connected: 8,
            start: Some(CommonStart { at: "2026-11-21T09:14:35Z".parse().unwrap(), missed_by_ns: 0 }),
            cpu_ns: random.random_range(length_ns / 4..length_ns / 2),
            loops: vec![LoopEnding {
                end_ns: length_ns,
                idle_ns: length_ns / 2,
                spin_ns: random.random_range(0..length_ns / 8),
                cpu_ns: random.random_range(length_ns / 4..length_ns / 2),
                high_priority: random.random(),
                stops: vec![(random.random_range(0..length_ns), random.random_range(MILLISECOND..9 * MILLISECOND))],
            }],
            threads: vec![thread(0, random), thread(1, random)],
            failure: None,
            ended_by: None,
            script_text: None,
        },
    }
}

const DUE_A_SECOND: u64 = 50;

/// The report of one generator that runs the event loops of all.
fn report_of_one(all: &[Found], hdr_log: &Path, json: &Path) -> String {
    let mut totals = Totals::new(all.len());
    for (number, found) in all.iter().enumerate() {
        for (index, counted) in found.seconds.iter().enumerate() {
            totals.deliver(number, index as u64, counted);
        }
        totals.thread_ended(number);
    }
    let start: jiff::Timestamp = "2026-11-21T09:14:35Z".parse().unwrap();
    let mut log = HdrLog::create(hdr_log, start.into()).unwrap();
    let (mut series, mut due, mut sent) = (Vec::new(), 0, 0);
    while let Some(second) = totals.take_complete() {
        due += DUE_A_SECOND * all.len() as u64;
        sent += second.sum.sent;
        series.push(second.row(DUE_A_SECOND * all.len() as u64, due.saturating_sub(sent), SECOND));
        log.write(second.index, SECOND, &second.sum.latencies.latency).unwrap();
    }
    let first = &all[0].ending;
    let number = all.len() as u64;
    let ending = Ending {
        description: RunDescription {
            threads: 2 * number,
            connections: 8 * number,
            event_loops: number,
            rate_per_s: 1000.0,
            ..first.description.clone()
        },
        part: Part::WHOLE,
        connected: 8 * number,
        cpu_ns: all.iter().map(|found| found.ending.cpu_ns).sum(),
        loops: all.iter().flat_map(|found| found.ending.loops.clone()).collect(),
        threads: all.iter().flat_map(|found| found.ending.threads.clone()).collect(),
        ..first.clone()
    };
    let results = ending.into_results(totals.sum, series);
    results.write_json(json).unwrap();
    let run = &results.description;
    let head = heading(run.duration_s, &run.url, run.threads, run.connections);
    format!("{head}{}", TextReport::of(&results, true, false))
}

fn write_record(file: &Path, found: &Found) {
    let mut record = Record::create(file).unwrap();
    for counted in &found.seconds {
        record.second(DUE_A_SECOND, SECOND, counted).unwrap();
    }
    record.end(&found.ending).unwrap();
}

fn merged(files: &[&Path], words: &[&str]) -> Result<String, String> {
    let files = files.iter().map(|file| file.to_str().unwrap());
    let words = std::iter::once("merge").chain(files).chain(words.iter().copied());
    let mut out = Vec::new();
    merge(&MergeArguments::try_parse_from(words).unwrap(), &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

fn all_found(seed: u64, of: u64, seconds: usize) -> Vec<Found> {
    let mut random = SmallRng::seed_from_u64(seed);
    (0..of).map(|index| found(&mut random, index, of, seconds)).collect()
}

/// Drops the lines and the key that name the generators: the verdict of each on itself goes into the common verdict.
fn without_generators(text: &str, json: &Path) -> (String, Value) {
    let own = |line: &&str| !line.starts_with("  1/") && !line.starts_with("  2/") && !line.starts_with("  3/");
    let own_reason = |line: &&str| own(line) && !line.contains("NOT KEPT: generator ");
    let text = text.lines().filter(own_reason).collect::<Vec<_>>().join("\n");
    let mut json: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    json.as_object_mut().unwrap().remove("generators");
    let reasons = json["kept_schedule"]["reasons"].as_array_mut().unwrap();
    reasons.retain(|reason| !reason.as_str().unwrap().starts_with("generator "));
    json["kept_schedule"].as_object_mut().unwrap().remove("verdict");
    (text, json)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn three_generators_merge_into_the_report_of_one_that_did_the_same(
        seed: u64, seconds in 1usize..4, order in Just([0usize, 1, 2]).prop_shuffle()
    ) {
        let all = all_found(seed, 3, seconds);
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name);
        let records: Vec<_> = order.iter().map(|index| (file(&format!("{index}.record")), &all[*index])).collect();
        records.iter().for_each(|(file, found)| write_record(file, found));
        let files: Vec<&Path> = records.iter().map(|(file, _)| file.as_path()).collect();
        let (json, log) = (file("merged.json"), file("merged.hlog"));
        let words = ["--json", json.to_str().unwrap(), "--hdr-log", log.to_str().unwrap()];
        let text = merged(&files, &words).unwrap();

        let (json_of_one, log_of_one) = (file("one.json"), file("one.hlog"));
        let text_of_one = report_of_one(&all, &log_of_one, &json_of_one);
        let (text, merged_json) = without_generators(&text, &json);
        let (text_of_one, one_json) = without_generators(&text_of_one, &json_of_one);
        let kept = |line: &&str| *line != "Schedule:     kept";
        prop_assert_eq!(text.lines().filter(kept).collect::<Vec<_>>(), text_of_one.lines().filter(kept).collect::<Vec<_>>());
        prop_assert_eq!(merged_json, one_json);
        // The order in which seconds arrive must not matter: the logs are identical to the byte.
        prop_assert_eq!(std::fs::read(log).unwrap(), std::fs::read(log_of_one).unwrap());
    }
}

#[test]
fn each_generator_has_a_row_and_the_verdict_is_the_worst() {
    let mut all = all_found(7, 3, 2);
    all[1].ending.start = Some(CommonStart { missed_by_ns: 2 * SECOND, ..all[0].ending.start.unwrap() });
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<_> = (0..3).map(|index| folder.path().join(format!("{index}"))).collect();
    files.iter().zip(&all).for_each(|(file, found)| write_record(file, found));
    let json = folder.path().join("json");
    let files: Vec<&Path> = files.iter().map(|file| file.as_path()).collect();
    let text = merged(&files, &["--json", json.to_str().unwrap()]).unwrap();
    assert!(text.contains("\n  2/3"), "{text}");
    let json: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let generators = json["generators"].as_array().unwrap();
    assert_eq!(generators.iter().map(|own| own["part"].as_str().unwrap()).collect::<Vec<_>>(), ["1/3", "2/3", "3/3"]);
    assert_eq!(generators[1]["start_missed_by_us"], 2e6);
    assert_eq!(json["start"]["missed_by_us"], 2e6);
    assert_eq!(json["kept_schedule"]["verdict"], false);
    let reasons = json["kept_schedule"]["reasons"].to_string();
    assert!(reasons.contains("generator 2/3: the start was missed by 2.00s"), "{reasons}");
}

#[test]
fn records_that_are_not_of_one_load_are_refused() {
    let all = all_found(1, 2, 1);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name);
    let (first, second) = (file("first"), file("second"));
    write_record(&first, &all[0]);
    write_record(&second, &all[1]);
    let refused = |files: &[&Path]| merged(files, &[]).unwrap_err();
    assert_eq!(refused(&[&first]), "the record of generator 2/2 is missing");
    assert_eq!(refused(&[&first, &second, &first]), "2 of the records belong to generator 1/2");

    for (flags, what) in [
        ("-R999", "rate_plan is [{\"from_per_s\":1000.0,\"to_per_s\":1000.0,\"duration_s\":10.0}] and "),
        ("-R1000 --arrivals poisson", "arrivals is \"even\" and \"poisson\""),
        ("-R1000 --requests 5", "requests_max is null and 5"),
        ("-R1000 --timeout 1s", "timeout_s is 2.0 and 1.0"),
        ("-R1000 --expect 404", "expect is [] and [404]"),
        ("-R1000 --idle spin", "idle is \"sleep\" and \"spin\""),
        ("-R1000 --catch-up-max 2", "catch_up_max is null and 2.0"),
        ("-R1000 -B", "batch_latency is false and true"),
        ("-R1000 -H A:b", "headers is [] and [\"A: b\"]"),
        ("-R1000 -H Cookie:b", "headers is [] and [\"Cookie: ***\"]"),
    ] {
        let mut other = all[1].clone();
        other.ending.description.shape = shape(&flags.split(' ').collect::<Vec<_>>());
        write_record(&second, &other);
        let refused = refused(&[&first, &second]);
        let wanted = format!("generators 1/2 and 2/2 ran different loads: {what}");
        assert!(refused.starts_with(&wanted), "{flags}: {refused}");
    }
    let with = |found: &Found, file: &str, text: &str| {
        let mut found = found.clone();
        (found.ending.description.script, found.ending.script_text) = (Some(file.to_owned()), Some(text.to_owned()));
        found
    };
    write_record(&second, &with(&all[1], "a.lua", ""));
    assert!(refused(&[&first, &second]).ends_with("script is null and \"a.lua\""));
    write_record(&first, &with(&all[0], "a/m.lua", "x = 1\ny = 2\n"));
    for (text, wanted) in [
        ("x = 1\ny = 3\n", "line 2 of the script is \"y = 2\" and \"y = 3\""),
        ("x = 1\n", "line 2 of the script is \"y = 2\" and missing"),
        ("x = 1\ny = 2\n\n", "line 3 of the script is missing and \"\""),
    ] {
        write_record(&second, &with(&all[1], "a/m.lua", text));
        assert!(refused(&[&first, &second]).ends_with(wanted), "{wanted}");
    }
    // The same script from another folder, and with the line ends of Windows.
    for text in ["x = 1\ny = 2\n", "x = 1\r\ny = 2\r\n"] {
        write_record(&second, &with(&all[1], "b/m.lua", text));
        merged(&[&first, &second], &[]).unwrap();
    }

    let whole = std::fs::read_to_string(&first).unwrap();
    let cut = whole.lines().take(2).collect::<Vec<_>>().join("\n");
    std::fs::write(&second, cut).unwrap();
    let error = refused(&[&first, &second]);
    assert!(error.contains("second, line 3: the record ends before its run did"), "{error}");

    std::fs::write(&second, "nothing").unwrap();
    let error = super::super::merge(
        &MergeArguments::try_parse_from(["merge", first.to_str().unwrap(), second.to_str().unwrap()]).unwrap(),
        &mut Vec::new(),
    );
    assert!(error.unwrap_err().contains("some of the files are records"));
}
