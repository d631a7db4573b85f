use super::*;
use crate::categories;
use crate::samples::{Row, compress};
use crate::simulation::{self, Service};
use std::path::Path;

const START_MS: u64 = 1_700_000_000_000;

/// A minute in which `Pause.stall` uses the CPU for 200 ms every 5 s, and a compaction runs for 3 s.
fn recording(with_pauses: bool) -> Samples {
    let mut random = Random::new(3);
    let mut text = format!("H\t1\t{START_MS}\t60\nT\tworker\nT\tcompactor\nF\tServer.run_[j]\nF\tPause.stall_[j]\n");
    text += "F\tlsmlab/storage/lsm/Compactor.work_[j]\nN\t0\t1\nN\t1\t2\nN\t0\t3\n";
    for tenth in 0..600 {
        let pause = with_pauses && tenth % 50 < 2;
        let (busy, stalled) = if pause { (0, 200) } else { (100 + random.below(60), 0) };
        text += &format!("S\t{tenth}\t1\t1\t{busy}\t{busy}\nS\t{tenth}\t1\t2\t{stalled}\t{stalled}\n");
        let compacting = if (300..330).contains(&tenth) { 150 + random.below(30) } else { 0 };
        text += &format!("S\t{tenth}\t2\t3\t{compacting}\t{compacting}\n");
    }
    Samples::parse(&text, false).unwrap()
}

fn log(slow: impl Fn(u64) -> bool) -> Vec<Interval> {
    let interval = |second: u64| Interval {
        start_ms: START_MS + 300 + 1000 * second,
        end_ms: START_MS + 1300 + 1000 * second,
        latency_ms: if slow(second) { 190.0 } else { 1.0 + second as f64 / 100.0 },
    };
    (0..59).map(interval).collect()
}

fn slowest(intervals: &[Interval], samples: &Samples, part: f64) -> Result<(Vec<Interval>, Vec<Window>)> {
    worst_windows(covered(intervals, samples), samples, part)
}

fn request(out: &Path) -> Request {
    let latency = out.join("latency.hlog");
    Request { out: out.to_owned(), latency, worst: 0.05, percentile: 99.0, categories: None }
}

/// The content of `tail.json`.
fn tail_json(out: &Path) -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(out.join("tail.json")).unwrap()).unwrap()
}

fn rules() -> Rules {
    Rules::parse(categories::BUILT_IN, "categories.toml").unwrap()
}

#[test]
fn a_planted_pause_is_named() {
    let samples = recording(true);
    let (worst, windows) = slowest(&log(|second| second % 5 == 4), &samples, 0.2).unwrap();
    assert_eq!(worst.len(), 12);
    let attribution = attribute(Event::Cpu, &samples, &windows, &rules());
    let first = &attribution.methods[0];
    assert!(first.name == "Pause.stall" && first.significant, "{attribution:#?}");
}

#[test]
fn a_planted_compaction_is_named() {
    let samples = recording(true);
    let (_, windows) = slowest(&log(|second| (30..33).contains(&second)), &samples, 0.05).unwrap();
    let first = &attribute(Event::Cpu, &samples, &windows, &rules()).categories[0];
    assert!(first.name == "compaction" && first.significant, "{first:?}");
}

#[test]
fn seconds_that_are_slow_by_chance_blame_no_code() {
    let samples = recording(true);
    for seed in 0..10 {
        let mut random = Random::new(seed);
        let slow: Vec<_> = (0..3).map(|_| random.below(25) as u64).collect();
        let (_, windows) = slowest(&log(|second| slow.contains(&second)), &samples, 0.05).unwrap();
        let attribution = attribute(Event::Cpu, &samples, &windows, &rules());
        assert!(attribution.categories.iter().all(|line| !line.significant), "{seed}: {attribution:#?}");
    }
}

/// The same samples, with those of each second in all of its tenths.
fn spread(mut samples: Samples) -> Samples {
    let spread = |row: &Row| {
        let part = |all: u64, tenth: usize| (all + tenth as u64) / 10;
        let split = |tenth| Row {
            tenth: 10 * row.second() + tenth,
            samples: part(row.samples, tenth),
            value: part(row.value, tenth),
            ..*row
        };
        (0..10).map(split).collect::<Vec<_>>()
    };
    samples.rows = samples.rows.iter().flat_map(spread).collect();
    samples.start_ms = START_MS;
    samples
}

#[test]
fn neighbouring_seconds_that_are_slow_by_chance_blame_no_code_in_92_of_100_recordings() {
    for correlation in [0.6, 0.9] {
        let mut false_alarms = [0; 2];
        for seed in 0..1000 {
            let samples = spread(simulation::record_load(Service { planted: 0.3 }, 60, correlation, seed));
            let first = Random::new(seed).below(56) as u64;
            let (_, windows) = slowest(&log(|second| (first..first + 3).contains(&second)), &samples, 0.05).unwrap();
            let attribution = attribute(Event::Cpu, &samples, &windows, &simulation::rules());
            for (alarms, lines) in false_alarms.iter_mut().zip([&attribution.categories, &attribution.methods]) {
                *alarms += u32::from(lines.iter().any(|line| line.significant));
            }
        }
        println!("{correlation}: {false_alarms:?} of 1000 tables");
        assert!(false_alarms.iter().all(|alarms| *alarms <= 80), "{correlation}: {false_alarms:?} of 1000 tables");
    }
}

#[test]
fn a_cause_that_is_rare_beside_the_noise_of_the_requests_is_named() {
    for (slow, seed) in [([20, 21, 22], 1), ([5, 31, 50], 2), ([10, 13, 40], 3)] {
        let mut random = Random::new(seed);
        let mut table = format!("H\t1\t{START_MS}\t60\nT\tw\nF\tEngine.get_[j]\nF\tPlanted.gc_[j]\nN\t0\t1\nN\t0\t2\n");
        for second in 0..60 {
            let requests = 1170 + random.below(260);
            let collected = if slow.contains(&second) { 81 } else { 1 };
            for tenth in 0..10 {
                let at = 10 * second + tenth;
                let (get, gc) = ((requests + tenth) / 10, (collected + tenth) / 10);
                table += &format!("S\t{at}\t1\t1\t{get}\t{get}\nS\t{at}\t1\t2\t{gc}\t{gc}\n");
            }
        }
        let samples = Samples::parse(&table, false).unwrap();
        let (_, windows) = slowest(&log(|second| slow.contains(&(second as usize))), &samples, 0.05).unwrap();
        let attribution = attribute(Event::Cpu, &samples, &windows, &simulation::rules());
        for lines in [&attribution.categories, &attribution.methods] {
            let marked: Vec<_> = lines.iter().filter(|line| line.significant).map(|line| &*line.name).collect();
            assert!(matches!(marked[..], ["planted" | "Planted.gc"]), "{slow:?}: {lines:#?}");
        }
    }
}

#[test]
fn a_window_begins_earlier_than_its_second_by_the_latency() {
    let samples = recording(false);
    let intervals = vec![Interval { start_ms: START_MS + 10_000, end_ms: START_MS + 11_000, latency_ms: 250.0 }];
    let mut all = log(|_| false);
    all.extend(intervals);
    let (_, windows) = slowest(&all, &samples, 0.0).unwrap();
    assert!(windows.contains(&(97, 110)), "{windows:?}");
}

#[test]
fn the_page_says_how_many_seconds_of_how_many_are_the_slowest() {
    let directory = tempfile::tempdir().unwrap();
    let write = |name: &str, content: Vec<u8>| std::fs::write(directory.path().join(name), content).unwrap();
    let table = "F\tmain\nN\t0\t1\nT\tworker\n".to_owned()
        + &(0..100).map(|tenth| format!("S\t{tenth}\t1\t1\t5\t5\n")).collect::<String>();
    write(&samples_file(Event::Cpu), compress(&table, START_MS, 10).unwrap());
    write("latency.hlog", latency::written(START_MS, 10, |_| 100));
    assert!(tail(&request(directory.path())).unwrap().contains("The 3 of 10 seconds with the highest 99th percentile"));
    let tail_json = tail_json(directory.path());
    assert_eq!((tail_json["seconds"].as_array().unwrap().len(), tail_json["seconds_compared"].as_u64()), (3, Some(10)));
}

#[test]
fn a_conversion_without_a_usable_log_says_why_the_tail_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    tail_if_possible(&request(directory.path())).unwrap();
    let tail_json = tail_json(directory.path());
    assert!(tail_json["refused"].as_str().unwrap().contains("latency.hlog"), "{tail_json}");
}

#[test]
fn the_log_of_another_repetition_is_refused() {
    let samples = recording(false);
    let earlier: Vec<_> = log(|_| false)
        .into_iter()
        .map(|one| Interval { start_ms: one.start_ms - 3_600_000, end_ms: one.end_ms - 3_600_000, ..one })
        .collect();
    let error = slowest(&earlier, &samples, 0.05).unwrap_err().to_string();
    assert!(error.contains("0 seconds in common") && error.contains("profiled repetition"), "{error}");
}
