//! `profile tail`: compares the slowest seconds of the latency log with the rest of the recording.
//!
//! A slow request was held up before its second, so the window of a second begins earlier by as much as its latency. To
//! test a part's rate, the same windows are placed elsewhere in the recording at random, around a circle. Loads of
//! neighbouring seconds are alike, so windows near each other move together: moved one by one, they would meet unlike
//! seconds, and chance would seem smaller than it is. Moving all windows together would find no cause that is periodic.
//! Differences are divided by their standard deviation, since a rare part would otherwise drown in the noise of a busy
//! one. The largest of any part counts (Westfall and Young 1993), so the p-value holds for the whole table.

use crate::categories::Rules;
use crate::compare::methods_of;
use crate::convert::{pretty, read_rules, samples_file};
use crate::diff::{pictures, write};
use crate::event::Event;
use crate::latency::{self, Interval};
use crate::print::warn;
use crate::samples::Samples;
use crate::stats::Random;
use crate::{collapsed, table};
use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::{Map, json};
use std::collections::HashMap;
use std::path::PathBuf;

const PLACEMENTS: usize = 2000;
const FALSE_ALARMS_MAX: f64 = 0.05;
/// A comparison needs at least this many seconds.
const WORST_MIN: usize = 3;
/// Windows that are less than this far apart are moved together.
const NEAR_TENTHS: usize = 30;
/// Parts with a smaller share of the whole are not tested: there are hundreds, each with a sample or two, and some of
/// them always lie in a window wherever it is placed.
const SHARE_MIN: f64 = 0.001;
/// A window reaches back at most this far.
const REACH_MS_MAX: f64 = 2000.0;
const METHODS_MAX: usize = 15;
const SEED: u64 = 1;

/// The files and settings of one comparison.
pub struct Request {
    pub out: PathBuf,
    pub latency: PathBuf,
    /// Share of the seconds that counts as the tail.
    pub worst: f64,
    pub percentile: f64,
    pub categories: Option<PathBuf>,
}

/// One line of a table: a part's rate in the slowest seconds and in the rest, per second, in the event's unit.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Line {
    pub name: String,
    pub worst_per_s: f64,
    pub rest_per_s: f64,
    /// Change of the part's share of the whole.
    pub share_change: f64,
    pub p_value: f64,
    pub significant: bool,
}

/// The tables of one event.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Attribution {
    pub categories: Vec<Line>,
    pub methods: Vec<Line>,
}

/// Tenths of a second since the recording began, first and end.
type Window = (usize, usize);

/// Attributes the tail. If that is impossible, tail.json says why as `refused`, and the conversion continues.
pub fn tail_if_possible(request: &Request) -> Result<()> {
    let Err(error) = tail(request) else { return Ok(()) };
    warn(format_args!("the slowest seconds: {error:#}"));
    let refused = json!({"format": "lsmlab-profile-tail", "version": 1, "refused": format!("{error:#}")});
    write(&request.out.join("tail.json"), pretty(&refused)?)
}

/// Writes tail.json, tail.md and both differential flame graphs of each event; returns the tables.
pub fn tail(request: &Request) -> Result<String> {
    let rules = read_rules(request.categories.as_deref())?;
    let intervals = latency::read(&request.latency, request.percentile)?;
    let mut events = Map::new();
    let mut page = String::new();
    let mut chosen = Vec::new();
    let mut common = 0;
    for event in Event::ALL {
        let path = request.out.join(samples_file(event));
        if !path.is_file() {
            continue;
        }
        let samples = Samples::read_file(&path, event.ends_in_class())?;
        if samples.count() == 0 {
            continue;
        }
        let covered = covered(&intervals, &samples);
        common = covered.len();
        let (worst, windows) = worst_windows(covered, &samples, request.worst)?;
        let attribution = attribute(event, &samples, &windows, &rules);
        let inside = inside(&windows, 10 * samples.seconds);
        let rest = collapsed::fold(&samples.stacks(|tenth| !inside[tenth]));
        let slow = collapsed::fold(&samples.stacks(|tenth| inside[tenth]));
        let title = format!("the rest → the slowest seconds · {}", event.title());
        let files = pictures(event, [&rest, &slow], &title, &request.out, "tail")?;
        page += &text(event, &attribution, &files);
        let mut value = json!(attribution);
        value["files"] = json!(files);
        events.insert(event.name().to_owned(), value);
        chosen = worst;
    }
    if events.is_empty() {
        bail!("{} holds no samples: run `profile convert` first", request.out.display());
    }
    let seconds: Vec<_> = chosen
        .iter()
        .map(|interval| json!({"start_ms": interval.start_ms, "latency_ms": interval.latency_ms}))
        .collect();
    let least = chosen.iter().map(|interval| interval.latency_ms).fold(f64::INFINITY, f64::min);
    let head = format!(
        "# The slowest seconds\n\nThe {} of {common} seconds with the highest {}th percentile of latency, {least:.1} \
         ms or more, against the rest. `*` marks what chance would hardly do (p < {FALSE_ALARMS_MAX} over the whole \
         table).\n\n",
        chosen.len(),
        request.percentile
    );
    let result = json!({
        "format": "lsmlab-profile-tail",
        "version": 1,
        "percentile": request.percentile,
        "seconds_compared": common,
        "seconds": seconds,
        "events": events,
    });
    write(&request.out.join("tail.json"), pretty(&result)?)?;
    let page = head + &page;
    write(&request.out.join("tail.md"), &page)?;
    Ok(page)
}

/// The intervals within the recording.
fn covered(intervals: &[Interval], samples: &Samples) -> Vec<Interval> {
    let end_ms = samples.start_ms + 1000 * samples.seconds as u64;
    intervals.iter().filter(|one| one.start_ms >= samples.start_ms && one.end_ms <= end_ms).copied().collect()
}

/// The slowest of the intervals that the recording covers, and their windows.
fn worst_windows(mut covered: Vec<Interval>, samples: &Samples, part: f64) -> Result<(Vec<Interval>, Vec<Window>)> {
    let count = ((covered.len() as f64 * part).ceil() as usize).max(WORST_MIN);
    if covered.len() < 3 * count {
        bail!(
            "the latency log and the recording have {} seconds in common: at least {} are needed; is it the log of \
             the profiled repetition?",
            covered.len(),
            3 * count
        );
    }
    covered.sort_by(|a, b| b.latency_ms.total_cmp(&a.latency_ms));
    covered.truncate(count);
    covered.sort_by_key(|one| one.start_ms);
    let tenth = |ms: u64| (ms.saturating_sub(samples.start_ms) / 100) as usize;
    let window = |one: &Interval| {
        let reach_ms = one.latency_ms.min(REACH_MS_MAX) as u64;
        (tenth(one.start_ms.saturating_sub(reach_ms)), tenth(one.end_ms).min(10 * samples.seconds))
    };
    let windows = covered.iter().map(window).collect();
    Ok((covered, windows))
}

fn inside(windows: &[Window], tenths: usize) -> Vec<bool> {
    let mut inside = vec![false; tenths];
    for (first, end) in windows {
        inside[*first..*end].fill(true);
    }
    inside
}

/// Compares the windows with the rest of the recording.
fn attribute(event: Event, samples: &Samples, windows: &[Window], rules: &Rules) -> Attribution {
    let places = rules.place(samples);
    let names: Vec<_> = rules.category_names().map(str::to_owned).collect();
    let parts: Vec<_> = places.iter().map(|place| place.category).collect();
    let categories = lines(samples, windows, &names, &parts);
    let mut index = HashMap::new();
    let parts = methods_of(event, samples, &mut index);
    let mut names = vec![String::new(); index.len()];
    for (name, method) in index {
        names[method] = name;
    }
    let mut methods = lines(samples, windows, &names, &parts);
    methods.truncate(METHODS_MAX);
    Attribution { categories, methods }
}

fn lines(samples: &Samples, windows: &[Window], names: &[String], parts: &[usize]) -> Vec<Line> {
    let tenths = 10 * samples.seconds;
    let windows = disjoint(windows);
    let mut series = vec![vec![0.0; tenths]; names.len()];
    for (row, part) in samples.rows.iter().zip(parts) {
        series[*part][row.tenth] += row.value as f64;
    }
    let length: usize = windows.iter().map(|(first, end)| end - first).sum();
    let rates = |part: &Vec<f64>| {
        let inside: f64 = windows.iter().flat_map(|(first, end)| &part[*first..*end]).sum();
        let rest = part.iter().sum::<f64>() - inside;
        (10.0 * inside / length as f64, 10.0 * rest / (tenths - length).max(1) as f64)
    };
    let rates: Vec<_> = series.iter().map(rates).collect();
    let whole = rates.iter().fold((0.0, 0.0), |sum, rate| (sum.0 + rate.0, sum.1 + rate.1));
    let line = |((name, (inside, rest)), p_value): ((&String, &(f64, f64)), f64)| Line {
        name: name.clone(),
        worst_per_s: *inside,
        rest_per_s: *rest,
        share_change: inside / f64::max(whole.0, f64::MIN_POSITIVE) - rest / f64::max(whole.1, f64::MIN_POSITIVE),
        p_value,
        significant: p_value < FALSE_ALARMS_MAX,
    };
    let mut lines: Vec<_> = names.iter().zip(&rates).zip(p_values(&series, &windows)).map(line).collect();
    lines.retain(|line| line.worst_per_s > 0.0 || line.rest_per_s > 0.0);
    let difference = |line: &Line| line.worst_per_s - line.rest_per_s;
    lines.sort_by(|x, y| difference(y).total_cmp(&difference(x)).then_with(|| x.name.cmp(&y.name)));
    lines
}

/// For each of `series`, by tenth of a second: how often placements of the windows have as large a difference in any
/// of them; 1 for a series that is not tested.
fn p_values(series: &[Vec<f64>], windows: &[Window]) -> Vec<f64> {
    let tenths = series.first().map_or(0, Vec::len);
    let episodes: Vec<_> = windows.chunk_by(|earlier, later| later.0 - earlier.1 < NEAR_TENTHS).collect();
    let mut random = Random::new(SEED);
    let mut place = |_| episodes.iter().map(|_| random.below(tenths)).collect::<Vec<_>>();
    let placements: Vec<_> = (0..PLACEMENTS).map(&mut place).collect();
    let mut largest = vec![0.0_f64; PLACEMENTS];
    let whole: f64 = series.iter().flatten().sum();
    let observe = |part: &Vec<f64>| {
        if part.iter().sum::<f64>() < SHARE_MIN * whole {
            return 0.0;
        }
        let moved: Vec<_> = episodes.iter().map(|episode| moved_around(part, episode)).collect();
        let square = |sums: &Vec<f64>| sums.iter().map(|sum| sum * sum).sum::<f64>() / tenths as f64;
        let deviation = moved.iter().map(square).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
        for (placement, largest) in placements.iter().zip(&mut largest) {
            let sum: f64 = moved.iter().zip(placement).map(|(sums, shift)| sums[*shift]).sum();
            *largest = largest.max(sum.abs() / deviation);
        }
        moved.iter().map(|sums| sums[0]).sum::<f64>().abs() / deviation
    };
    let observed: Vec<f64> = series.iter().map(observe).collect();
    largest.sort_unstable_by(f64::total_cmp);
    let p_value = |observed: f64| {
        // the same placement may differ by rounding
        let as_large = PLACEMENTS - largest.partition_point(|value| *value < observed * (1.0 - 1e-9));
        (1 + as_large) as f64 / (1 + PLACEMENTS) as f64
    };
    observed.into_iter().map(p_value).collect()
}

/// The sum of `series` within the windows, less its mean, for each number of tenths by which they are moved around the
/// circle.
fn moved_around(series: &[f64], windows: &[Window]) -> Vec<f64> {
    let tenths = series.len();
    let length: usize = windows.iter().map(|(first, end)| end - first).sum();
    let mean = series.iter().sum::<f64>() * length as f64 / tenths as f64;
    let mut sum: f64 = windows.iter().flat_map(|(first, end)| &series[*first..*end]).sum();
    let next = |shift: usize| {
        let before = sum - mean;
        for (first, end) in windows {
            sum += series[(end + shift) % tenths] - series[(first + shift) % tenths];
        }
        before
    };
    (0..tenths).map(next).collect()
}

/// The union of the windows.
fn disjoint(windows: &[Window]) -> Vec<Window> {
    let mut sorted = windows.to_vec();
    sorted.sort_unstable();
    let mut union: Vec<Window> = Vec::with_capacity(sorted.len());
    for (first, end) in sorted {
        match union.last_mut() {
            Some(last) if first <= last.1 => last.1 = last.1.max(end),
            _ => union.push((first, end)),
        }
    }
    union
}

fn text(event: Event, attribution: &Attribution, files: &[String]) -> String {
    let (unit, factor) = match event {
        Event::Cpu | Event::Wall => ("samples/s", 1.0),
        Event::Alloc | Event::Nativemem => ("MiB/s", 1.0 / 1024.0 / 1024.0),
        Event::Lock => ("ms/s", 1e-6),
    };
    let mut text = format!("## {}, {unit}\n\n", event.title());
    for (heading, lines) in [("Category", &attribution.categories), ("Method", &attribution.methods)] {
        let cells = |line: &Line| {
            let change = match line.rest_per_s {
                0.0 => "only there".to_owned(),
                rest => format!("{:+.0}%", 100.0 * (line.worst_per_s / rest - 1.0)),
            };
            vec![
                line.name.replace('|', "\\|"),
                format!("{:.1}", factor * line.worst_per_s),
                format!("{:.1}", factor * line.rest_per_s),
                change,
                format!("{:+.1}", 100.0 * line.share_change),
                if line.significant { "*".to_owned() } else { String::new() },
            ]
        };
        let rows: Vec<_> = lines.iter().map(cells).collect();
        text += &table::markdown(&[heading, "Slowest", "Rest", "Change", "Share, points", ""], &rows);
    }
    let pictures: Vec<_> = files.iter().map(|file| format!("[{file}]({file})")).collect();
    text + &pictures.join(" · ") + "\n\n"
}

#[cfg(test)]
mod tests;
