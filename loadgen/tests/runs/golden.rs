//! Reports that wrk2 itself wrote, in `testdata/`. Each is parsed into its values, its histogram is rebuilt from the
//! spectrum, and this generator's code prints it again. The bytes must be the same.
//!
//! This proves the layout: order and wording of the lines, columns, units, digits, and the rows of the spectrum. It
//! does not prove the statistics, because a report holds no samples. Mean, deviation, maximum and the percentiles without
//! a row in the spectrum are taken from its own lines. The rounding of percentiles to a rank (`value_at`) is repeated
//! here. `truth.rs` proves the figures, `stats/` and `outputs.rs` that they are those of the samples.

use crate::support;
use loadgen::report::{LatencyBlock, Spectrum, TextReport, ThreadStat, heading};
use std::path::PathBuf;

/// A number with wrk2's units, times in microseconds: `1.83ms`, `0.86m`, `16.19k`, `40.19MB`.
fn number(text: &str, minutes: bool) -> f64 {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let value: f64 = digits.parse().unwrap_or_else(|_| panic!("{text:?} is no number"));
    let factor = match &text[digits.len()..] {
        "" | "B" => 1.0,
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" if minutes => 60e6,
        "k" => 1e3,
        "KB" => 1024.0,
        "MB" => 1024.0 * 1024.0,
        "GB" => 1024.0 * 1024.0 * 1024.0,
        unit => panic!("{unit:?} is no unit"),
    };
    value * factor
}

fn thread_stat(line: &str) -> ThreadStat {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [mean, stdev, max] = [1, 2, 3].map(|index: usize| number(words[index], true));
    ThreadStat { mean, stdev, max, within_stdev: words[4].trim_end_matches('%').parse().unwrap() }
}

/// The numbers of a footer line, `#[Mean    =        1.833, StdDeviation   =        1.463]`.
fn footer(line: &str) -> [f64; 2] {
    let mut numbers = line.split(['=', ',', ']']).filter_map(|part| part.trim().parse().ok());
    [numbers.next().unwrap(), numbers.next().unwrap()]
}

/// Prints the report in `text` again, from its values.
fn printed_again(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let line = |start: &str| {
        let found = lines.iter().find(|line| line.trim_start().starts_with(start));
        *found.unwrap_or_else(|| panic!("no line {start:?}"))
    };
    let word = |text: &str, index: usize| text.split_whitespace().nth(index).unwrap().to_owned();

    let (running, setting) = (lines[0], lines[1]);
    let duration_s = number(&word(running, 1), true) / 1e6;
    let head =
        heading(duration_s, &word(running, 4), word(setting, 0).parse().unwrap(), word(setting, 3).parse().unwrap());

    let calibrations = lines.iter().filter(|line| line.contains("Thread calibration"));
    let calibration = |line: &&str| {
        let mean_ms = word(line, 4).trim_end_matches("ms,").parse().unwrap();
        (mean_ms, word(line, 8).trim_end_matches("ms").parse().unwrap())
    };

    let rows = lines.iter().skip_while(|line| !line.contains("TotalCount")).skip(1).filter(|line| !line.is_empty());
    let mut counts = Vec::new();
    let mut total = 0;
    for row in rows.take_while(|line| !line.starts_with('#')) {
        let value_us = (word(row, 0).parse::<f64>().unwrap() * 1000.0).round() as u64;
        let up_to: u64 = word(row, 2).parse().unwrap();
        if up_to > total {
            counts.push((value_us, up_to - total));
            total = up_to;
        }
    }
    // A percentile with a row in the spectrum is taken from the histogram, the others from their own lines.
    let value_at = |percentile: f64| {
        let rank = (percentile / 100.0 * total as f64 + 0.5) as u64;
        let mut up_to = 0;
        let at_rank = counts.iter().find(|(_, count)| {
            up_to += count;
            up_to >= rank
        });
        at_rank.map_or(0.0, |(value_us, _)| *value_us as f64)
    };
    let percentile_lines = lines.iter().skip_while(|line| !line.contains("HdrHistogram - ")).skip(1);
    let percentiles = percentile_lines.take(8).map(|line| {
        let percentile = word(line, 0).trim_end_matches('%').parse().unwrap();
        let is_a_row = [50.0, 75.0, 90.0, 100.0].contains(&percentile);
        (percentile, if is_a_row { value_at(percentile) } else { number(&word(line, 1), true) })
    });
    let [mean_ms, stdev_ms] = footer(line("#[Mean"));
    let [max_ms, count] = footer(line("#[Max"));
    let [buckets, sub_buckets] = footer(line("#[Buckets"));
    assert_eq!(count as u64, total);
    let spectrum = Spectrum {
        rows: Spectrum::rows(&counts),
        mean_us: mean_ms * 1000.0,
        stdev_us: stdev_ms * 1000.0,
        max_us: max_ms * 1000.0,
        count: total,
        buckets: buckets as u64,
        sub_buckets: sub_buckets as u64,
    };

    let totals = lines.iter().find(|line| line.contains(" requests in ")).unwrap();
    let optional = |start: &str, index: usize| {
        let found = lines.iter().find(|line| line.trim_start().starts_with(start));
        found.map_or(0, |line| word(line, index).trim_end_matches(',').parse().unwrap())
    };
    let report = TextReport {
        calibrations: calibrations.map(calibration).collect(),
        latency: thread_stat(line("Latency  ")),
        request_rate: thread_stat(line("Req/Sec")),
        blocks: vec![LatencyBlock {
            title: "Recorded Latency".to_owned(),
            percentiles: percentiles.collect(),
            spectrum,
        }],
        requests: word(totals, 0).parse().unwrap(),
        elapsed_us: number(word(totals, 3).trim_end_matches(','), true),
        bytes: number(&word(totals, 4), false).round() as u64,
        socket_errors: [3, 5, 7, 9].map(|index| optional("Socket errors:", index)),
        bad_status: optional("Non-2xx or 3xx responses:", 4),
        requests_per_s: word(line("Requests/sec"), 1).parse().unwrap(),
        bytes_per_s: number(&word(line("Transfer/sec"), 1), false),
        appendix: Vec::new(),
    };
    format!("{head}{report}")
}

/// The lines of a report without outer blanks: some of the reports were pasted and lost trailing blanks and empty lines.
fn without_outer_blanks(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

#[test]
fn reports_of_wrk2_are_printed_again_to_the_byte() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/testdata");
    let mut intact = 0;
    let mut all = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let again = printed_again(&text);
        assert_eq!(without_outer_blanks(&again), without_outer_blanks(&text), "{}", path.display());
        // A report that was not pasted has its indentation, and the blank after a unit of one letter.
        let pasted = !text.contains("\n  Thread Stats")
            || text.lines().any(|line| {
                line.contains("000%") && line.ends_with('s') && !line.ends_with("ms") && !line.ends_with("us")
            });
        all += 1;
        if !pasted {
            intact += 1;
            assert_eq!(again.trim_end(), text.trim_end(), "{}", path.display());
        }
    }
    assert_eq!(all, 23);
    assert_eq!(intact, 21, "the others are pasted");
}

#[test]
fn a_report_of_a_real_run_is_in_wrk2s_layout_up_to_its_appendix() {
    let manner = support::Manner::Respond(support::OK.to_vec(), std::time::Duration::from_millis(2));
    let server = support::TruthServer::start(manner);
    let run = support::load("-t2 -c6 -d2s -R300 -L", &server.url());
    let text = run.stdout();
    let (report, appendix) = text.split_once("Send lag:").expect("the appendix starts with send lag");
    assert_eq!(printed_again(report), report);
    assert!(appendix.contains("\nSchedule:     "), "{appendix}");
}

#[test]
fn uncorrected_latency_is_a_second_block() {
    let server = support::TruthServer::start(support::Manner::Respond(support::OK.to_vec(), std::time::Duration::ZERO));
    let text = support::load("-t1 -c1 -d1s -R50 -U", &server.url()).stdout();
    let separator = "-".repeat(58);
    let between = format!(
        "{separator}\n\n  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))\n"
    );
    assert!(text.contains("  Latency Distribution (HdrHistogram - Recorded Latency)\n"), "{text}");
    assert!(text.contains(&between), "{text}");
    assert_eq!(text.matches("#[Buckets =           27, SubBuckets     =         2048]\n").count(), 2);
}

#[test]
fn a_report_without_samples_is_printed_as_wrk2_does() {
    let server = support::TruthServer::start(support::Manner::FallSilentAfter(0));
    let text = support::load("-t1 -c1 -d1s -R5 -L --timeout 100ms", &server.url()).stdout();
    for line in [
        "    Latency     -nanus    -nanus   0.00us    0.00%\n",
        "    Req/Sec     0.00      0.00     0.00    100.00%\n",
        "       0.000     1.000000            0          inf\n",
        "#[Mean    =         -nan, StdDeviation   =         -nan]\n",
        "  0 requests in 1.00s, 0.00B read\n  Socket errors: connect 0, read 0, write 0, timeout 1\n",
        "Requests/sec:      0.00\nTransfer/sec:       0.00B\n",
    ] {
        assert!(text.contains(line), "{line:?} in\n{text}");
    }
}
