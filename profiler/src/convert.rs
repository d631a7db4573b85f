//! Makes all profile files of a run directory from `profile.jfr`.

use crate::categories::{self, Rules};
use crate::collapsed::{self, Kind};
use crate::converter::{self, Description, Job};
use crate::counts::Counts;
use crate::draw::flame::{self, Caption};
use crate::draw::pages::{self, Page};
use crate::draw::picture;
use crate::event::Event;
use crate::print::warn;
use crate::quality::{self, CpuQuality};
use crate::record::recorder::{RECORDING, check_recording};
use crate::samples::{self, Samples};
use crate::scratch::Scratch;
use crate::shares::Tables;
use crate::tools::Tools;
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// The user's settings.
pub struct Request {
    pub out: PathBuf,
    pub title: String,
    pub events: Option<Vec<Event>>,
    pub categories: Option<PathBuf>,
    pub from_ms: Option<u64>,
    pub to_ms: Option<u64>,
    pub unfold: bool,
    pub pprof: bool,
    pub heap_mib_max: u32,
    pub time_max: Duration,
}

/// Events that get files even if they were not recorded; the files then state that.
const EVENTS_DEFAULT: [Event; 3] = [Event::Cpu, Event::Alloc, Event::Lock];

/// The table of samples by second that comparisons read.
pub fn samples_file(event: Event) -> String {
    format!("{}.samples.gz", event.name())
}

/// Writes all files beside the recording: all of them or, after an error, none.
pub fn convert(tools: &Tools, request: &Request) -> Result<()> {
    let recording = request.out.join(RECORDING);
    check_recording(&recording)?;
    let from_ms = request.from_ms.unwrap_or(0);
    if request.to_ms.is_some_and(|to_ms| to_ms <= from_ms) {
        bail!("the window is empty: --to must be later than --from");
    }
    let rules = read_rules(request.categories.as_deref())?;
    let scratch = Scratch::inside(&request.out)?;
    let events = request.events.clone().unwrap_or(Event::ALL.to_vec());
    let job = Job {
        tools,
        recording: &recording,
        events: &events,
        from_ms: request.from_ms,
        to_ms: request.to_ms,
        unfold: request.unfold,
        pprof: request.pprof,
        heap_mib_max: request.heap_mib_max,
        time_max: request.time_max,
    };
    let description = converter::run(&job, &scratch, |event| title_of(&request.title, event))?;
    if from_ms > 0 && from_ms >= description.duration_ns / 1_000_000 {
        bail!(
            "the window is empty: the recording ends after {:.1} s, before --from",
            description.duration_ns as f64 / 1e9
        );
    }
    if description.truncated {
        warn(format_args!("{} is cut off: its last chunk is left out", recording.display()));
    }
    let drawn: Vec<_> = events
        .into_iter()
        .filter(|event| request.events.is_some() || EVENTS_DEFAULT.contains(event) || description.has(*event))
        .collect();
    let drawing = Drawing {
        description: &description,
        scratch: &scratch,
        rules: &rules,
        request,
        counts: Counts::read(&recording),
    };
    let results = thread::scope(|scope| {
        let threads: Vec<_> = drawn.iter().map(|event| scope.spawn(|| drawing.draw(*event))).collect();
        threads.into_iter().map(|thread| thread.join().expect("drawing does not panic")).collect::<Result<Vec<_>>>()
    })?;
    let quality = drawing.quality(&drawn, &results);
    for warning in &quality.warnings {
        warn(warning);
    }
    scratch.write("profile.json", pretty(&drawing.describe(&drawn, &results, &quality)?)?)?;
    scratch.write("categories.json", pretty(&table(&drawn, &results))?)?;
    let names =
        results.into_iter().flat_map(|drawn| drawn.files).chain(["categories.json".into(), "profile.json".into()]);
    scratch.publish(&request.out, &names.collect::<Vec<_>>())
}

/// The rules of `file`, or the program's own.
pub fn read_rules(file: Option<&Path>) -> Result<Rules> {
    match file {
        None => Rules::parse(categories::BUILT_IN, "categories.toml"),
        Some(file) => {
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            Rules::parse(&text, &file.display().to_string())
        }
    }
}

/// The results of one event.
struct Drawn {
    samples: u64,
    value: u64,
    broken: u64,
    kernel_frames: bool,
    files: Vec<String>,
    tables: Tables,
}

/// The inputs for drawing an event.
struct Drawing<'a> {
    description: &'a Description,
    scratch: &'a Scratch,
    rules: &'a Rules,
    request: &'a Request,
    counts: Option<Counts>,
}

impl Drawing<'_> {
    fn draw(&self, event: Event) -> Result<Drawn> {
        let (scratch, name) = (self.scratch, event.name());
        let text = scratch.take(&format!("{name}.samples"))?;
        // async-profiler may leave a few stray samples of an event that was not requested
        let text = if self.description.has(event) { text.as_str() } else { "" };
        let start_ms = self.description.start_ns / 1_000_000 + self.request.from_ms.unwrap_or(0);
        let seconds = self.seconds().ceil() as usize;
        scratch.write(&samples_file(event), samples::compress(text, start_ms, seconds)?)?;
        let samples = Samples::parse(text, event.ends_in_class()).with_context(|| format!("{name}: samples"))?;
        let title = title_of(&self.request.title, event);
        let stacks = samples.stacks(|_| true);
        let value = collapsed::total(&stacks);
        let broken = quality::broken(&samples);
        let kernel_frames = samples.frames.iter().any(|(_, kind)| *kind == Kind::Kernel);
        let svg = if value == 0 {
            let sentence = self.why_empty(event);
            for suffix in ["", "-threads", "-heatmap"] {
                scratch.write(&format!("{name}{suffix}.html"), pages::html(&title, &sentence))?;
            }
            // an empty file would look like an error
            scratch.write(&format!("{name}.collapsed"), format!("# {sentence}\n"))?;
            pages::svg(&title, &sentence)
        } else {
            for (suffix, page) in [("", Page::Flame), ("-threads", Page::Flame), ("-heatmap", Page::Heatmap)] {
                let file = format!("{name}{suffix}.html");
                let finished = pages::finish(page, &scratch.take(&file)?, &title);
                scratch.write(&file, finished.with_context(|| file.clone())?)?;
            }
            scratch.write(&format!("{name}.collapsed"), collapsed::write(&stacks))?;
            let shown = if self.request.unfold { stacks } else { collapsed::fold(&stacks) };
            let subtitle = self.subtitle(event, samples.count(), value, broken);
            flame::draw(event, &shown, &Caption { title: &title, subtitle: &subtitle })?
        };
        scratch.write(&format!("{name}.svg"), &svg)?;
        scratch.write(&format!("{name}.png"), picture::render(&svg).with_context(|| format!("{name}.png"))?)?;
        let mut files = ["html", "-threads.html", "-heatmap.html", "collapsed", "svg", "png", "samples.gz"]
            .map(|end| if end.starts_with('-') { format!("{name}{end}") } else { format!("{name}.{end}") })
            .to_vec();
        files.extend(self.request.pprof.then(|| format!("{name}.pprof")));
        let tables = Tables::of(&samples, self.rules);
        Ok(Drawn { samples: samples.count(), value, broken, kernel_frames, files, tables })
    }

    fn why_empty(&self, event: Event) -> String {
        if self.description.has(event) {
            format!("No sample of {} was taken in {:.1} s.", event.title(), self.seconds())
        } else {
            format!("The recording does not contain {}: `{}` was not among its events.", event.title(), event.name())
        }
    }

    /// Length of the part that is shown.
    fn seconds(&self) -> f64 {
        let whole = self.description.duration_ns as f64 / 1e9;
        let to = self.request.to_ms.map_or(whole, |ms| whole.min(ms as f64 / 1e3));
        (to - self.request.from_ms.unwrap_or(0) as f64 / 1e3).max(0.0)
    }

    fn subtitle(&self, event: Event, samples: u64, total: u64, broken: u64) -> String {
        let (seconds, count) = (self.seconds(), grouped(samples));
        let unwalked = if broken > 0 { format!(", {} of them broken", grouped(broken)) } else { String::new() };
        let date = utc(self.description.start_ns / 1_000_000_000);
        let text = match event {
            Event::Cpu => {
                let quality = quality::of_cpu(self.description, samples, broken, self.is_whole(), quality::tick_us());
                format!(
                    "{count} samples{unwalked} in {seconds:.1} s, by {}, one per {} µs of CPU time",
                    self.description.engine().unwrap_or("an unknown engine"),
                    quality.interval_had_us.unwrap_or(0.0)
                )
            }
            Event::Wall => format!("{count} samples{unwalked} in {seconds:.1} s"),
            Event::Alloc | Event::Nativemem => {
                format!("{:.1} MiB by {count} samples in {seconds:.1} s", total as f64 / 1024.0 / 1024.0)
            }
            Event::Lock => format!("{:.1} ms waited, {count} waits in {seconds:.1} s", total as f64 / 1e6),
        };
        format!("{text} · {date}")
    }

    fn is_whole(&self) -> bool {
        self.request.from_ms.is_none() && self.request.to_ms.is_none()
    }

    fn quality(&self, events: &[Event], results: &[Drawn]) -> CpuQuality {
        let cpu = events.iter().zip(results).find(|(event, _)| **event == Event::Cpu);
        let mut quality = cpu.map_or_else(CpuQuality::default, |(_, drawn)| {
            quality::of_cpu(self.description, drawn.samples, drawn.broken, self.is_whole(), quality::tick_us())
        });
        quality.warnings.extend(self.counts.and_then(quality::of_counts));
        quality
    }

    fn describe(&self, events: &[Event], results: &[Drawn], quality: &CpuQuality) -> Result<Value> {
        let described = events.iter().zip(results).map(|(event, drawn)| {
            let value = json!({
                "samples": drawn.samples,
                "broken": drawn.broken,
                "empty": drawn.samples == 0,
                "recorded": self.description.has(*event),
                "unit": event.unit(),
                "total": drawn.value,
                "files": drawn.files,
            });
            (event.name().to_owned(), value)
        });
        let cpu = events.iter().zip(results).find(|(event, _)| **event == Event::Cpu && self.description.has(**event));
        let mut description = json!({
            "format": "lsmlab-profile",
            "version": 2,
            "title": self.request.title,
            "engine": self.description.engine(),
            "interval_us": self.description.interval_us(),
            "started_ms": self.description.start_ns / 1_000_000,
            "duration_s": self.description.duration_ns as f64 / 1e9,
            "from_ms": self.request.from_ms,
            "to_ms": self.request.to_ms,
            "truncated": self.description.truncated,
            "kernel_frames": cpu.map(|(_, drawn)| drawn.kernel_frames),
            "samples_lost": self.counts.map(|counts| counts.lost),
            "events": described.collect::<Map<_, _>>(),
            "async_profiler": self.description.setting("version"),
        });
        let fields = description.as_object_mut().context("a description is an object")?;
        fields.extend(json!(quality).as_object().cloned().unwrap_or_default());
        Ok(description)
    }
}

fn title_of(title: &str, event: Event) -> String {
    if title.is_empty() { event.title().to_owned() } else { format!("{title} · {}", event.title()) }
}

fn table(events: &[Event], results: &[Drawn]) -> Value {
    let each = |value: fn(&Event, &Drawn) -> Value| {
        let pairs = events.iter().zip(results).map(|(event, drawn)| (event.name().to_owned(), value(event, drawn)));
        pairs.collect::<Map<_, _>>()
    };
    json!({
        "format": "lsmlab-categories",
        "version": 2,
        "units": each(|event, _| json!(event.unit())),
        "events": each(|_, drawn| json!(drawn.tables.categories)),
        "groups": each(|_, drawn| json!(drawn.tables.groups)),
    })
}

/// JSON for people and machines.
pub fn pretty(value: &Value) -> Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// 1234567 → 1,234,567
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Seconds since 1970 as `2026-11-21 09:14 UTC` (Hinnant, "chrono-compatible low-level date algorithms").
fn utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02} UTC", second / 3600, second / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_that_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(1_709_164_800 + 3_660), "2024-02-29 01:01 UTC");
        assert_eq!(utc(1_795_252_473), "2026-11-21 09:14 UTC");
    }

    #[test]
    fn a_large_number_is_grouped() {
        assert_eq!((grouped(1_234_567), grouped(12)), ("1,234,567".to_owned(), "12".to_owned()));
    }
}
