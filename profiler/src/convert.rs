//! From `profile.jfr` to everything that a run directory holds of it.

use crate::categories::{self, Rules};
use crate::collapsed::{self, Stack};
use crate::event::Event;
use crate::flame::{self, Caption};
use crate::pages::{self, Page};
use crate::picture;
use crate::recorder::{RECORDING, check_recording};
use crate::tools::{self, Tools};
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::thread;

/// What the user asked for.
pub struct Request {
    pub out: PathBuf,
    pub title: String,
    pub events: Option<Vec<Event>>,
    pub categories: Option<PathBuf>,
}

/// The events drawn even where they were not recorded: their files then say so.
const EVENTS_DEFAULT: [Event; 3] = [Event::Cpu, Event::Alloc, Event::Lock];

/// Narrower frames are left out of the flame graphs: one sample of ten thousand can be hundreds of frames deep.
const HTML_WIDTH_MIN_PERCENT: &str = "0.01";

/// Writes all files beside the recording: all of them, or, after an error, none.
pub fn convert(tools: &Tools, request: &Request) -> Result<()> {
    let recording = request.out.join(RECORDING);
    check_recording(&recording)?;
    let rules = match &request.categories {
        None => Rules::parse(categories::BUILT_IN, "categories.toml")?,
        Some(file) => {
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            Rules::parse(&text, &file.display().to_string())?
        }
    };
    let scratch = Scratch::inside(&request.out)?;
    let events = request.events.clone().unwrap_or(Event::ALL.to_vec());
    let converted = run_converter(tools, &recording, &scratch, &events, &request.title)?;
    if converted.truncated {
        eprintln!("profile: {} is cut off: its last chunk is left out", recording.display());
    }
    let drawn: Vec<_> = events
        .into_iter()
        .filter(|event| request.events.is_some() || EVENTS_DEFAULT.contains(event) || converted.has(*event))
        .collect();
    let results = thread::scope(|scope| {
        let draw = |event: Event| draw(event, &converted, &scratch, &rules, &request.title);
        let threads: Vec<_> = drawn.iter().map(|event| scope.spawn(move || draw(*event))).collect();
        threads.into_iter().map(|thread| thread.join().expect("drawing does not panic")).collect::<Result<Vec<_>>>()
    })?;
    scratch.write("profile.json", &pretty(&converted.describe(&drawn, &results))?)?;
    scratch.write("categories.json", &pretty(&table(&drawn, &results))?)?;
    scratch.publish(&request.out)
}

/// What one event came to.
struct Drawn {
    samples: u64,
    value: u64,
    files: Vec<String>,
    shares: Vec<categories::Share>,
}

fn draw(event: Event, converted: &Converted, scratch: &Scratch, rules: &Rules, title: &str) -> Result<Drawn> {
    let name = event.name();
    let text = scratch.read(&format!("{name}.raw"))?;
    let counted = if event.is_weighted() { scratch.read(&format!("{name}-samples.raw"))? } else { text.clone() };
    let parse =
        |text| collapsed::parse(text, event.ends_in_class()).with_context(|| format!("{name}: collapsed stacks"));
    // async-profiler may leave a few strays of an event that was not asked for
    let (stacks, counts) =
        if converted.has(event) { (parse(&text)?, parse(&counted)?) } else { (Vec::new(), Vec::new()) };
    let samples = collapsed::total(&counts);
    let caption_title = title_of(title, event);
    let svg = if collapsed::total(&stacks) == 0 {
        let sentence = converted.why_empty(event);
        for suffix in ["", "-threads", "-heatmap"] {
            scratch.write(&format!("{name}{suffix}.html"), &pages::html(&caption_title, &sentence))?;
        }
        // an empty file would look like a failure
        scratch.write(&format!("{name}.collapsed"), &format!("# {sentence}\n"))?;
        pages::svg(&caption_title, &sentence)
    } else {
        for (suffix, page) in [("", Page::Flame), ("-threads", Page::Flame), ("-heatmap", Page::Heatmap)] {
            let file = format!("{name}{suffix}.html");
            let finished = pages::finish(page, &scratch.read(&file)?, &caption_title);
            scratch.write(&file, &finished.with_context(|| file.clone())?)?;
        }
        scratch.write(&format!("{name}.collapsed"), &collapsed::write(&stacks))?;
        let subtitle = converted.subtitle(event, samples, &stacks);
        flame::draw(event, &stacks, &Caption { title: &caption_title, subtitle: &subtitle })?
    };
    scratch.write(&format!("{name}.svg"), &svg)?;
    scratch.write_bytes(&format!("{name}.png"), &picture::render(&svg).with_context(|| format!("{name}.png"))?)?;
    let files = ["html", "-threads.html", "-heatmap.html", "collapsed", "svg", "png"]
        .map(|end| if end.starts_with('-') { format!("{name}{end}") } else { format!("{name}.{end}") });
    Ok(Drawn {
        samples,
        value: collapsed::total(&stacks),
        files: files.to_vec(),
        shares: rules.classify(&stacks, &counts),
    })
}

fn title_of(title: &str, event: Event) -> String {
    if title.is_empty() { event.title().to_owned() } else { format!("{title} · {}", event.title()) }
}

/// What the converter said of the recording.
struct Converted {
    settings: HashMap<String, String>,
    duration_ns: u64,
    truncated: bool,
}

impl Converted {
    fn parse(output: &str) -> Result<Converted> {
        let mut converted = Converted { settings: HashMap::new(), duration_ns: 0, truncated: false };
        for line in output.lines() {
            match line.splitn(3, '\t').collect::<Vec<_>>().as_slice() {
                ["setting", name, value] => {
                    converted.settings.insert((*name).to_owned(), (*value).to_owned());
                }
                ["duration_ns", value] => converted.duration_ns = value.parse()?,
                ["truncated", value] => converted.truncated = value.parse()?,
                _ => bail!("the converter wrote an unknown line {line:?}"),
            }
        }
        Ok(converted)
    }

    fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str).filter(|value| !value.is_empty() && *value != "-1")
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.setting(name)?.parse().ok()
    }

    /// Whether the recording was to hold this event.
    fn has(&self, event: Event) -> bool {
        match event {
            Event::Cpu => self.engine().is_some(),
            _ => self.setting(event.name()).is_some(),
        }
    }

    /// The CPU engine that really took the samples.
    fn engine(&self) -> Option<&str> {
        self.setting("event")?;
        self.setting("engine")
    }

    fn interval_us(&self) -> Option<f64> {
        self.engine()?;
        Some(self.number("interval")? as f64 / 1e3)
    }

    fn why_empty(&self, event: Event) -> String {
        if self.has(event) {
            format!("No sample of {} was taken in {:.1} s.", event.title(), self.duration_ns as f64 / 1e9)
        } else {
            format!("The recording does not hold {}: `{}` was not among its events.", event.title(), event.name())
        }
    }

    fn subtitle(&self, event: Event, samples: u64, stacks: &[Stack]) -> String {
        let seconds = self.duration_ns as f64 / 1e9;
        let total = collapsed::total(stacks) as f64;
        let count = grouped(samples);
        match event {
            Event::Cpu => format!(
                "{count} samples in {seconds:.1} s, by {}, one per {} µs of CPU time",
                self.engine().unwrap_or("an unknown engine"),
                self.interval_us().unwrap_or(0.0)
            ),
            Event::Wall => format!("{count} samples in {seconds:.1} s"),
            Event::Alloc => format!("{:.1} MiB by {count} samples in {seconds:.1} s", total / 1024.0 / 1024.0),
            Event::Lock => format!("{:.1} ms waited, {count} waits in {seconds:.1} s", total / 1e6),
        }
    }

    fn describe(&self, events: &[Event], results: &[Drawn]) -> Value {
        let described = events.iter().zip(results).map(|(event, drawn)| {
            let value = json!({
                "samples": drawn.samples,
                "empty": drawn.samples == 0,
                "recorded": self.has(*event),
                "unit": event.unit(),
                "total": drawn.value,
                "files": drawn.files,
            });
            (event.name().to_owned(), value)
        });
        json!({
            "format": "lsmlab-profile",
            "version": 1,
            "engine": self.engine(),
            "interval_us": self.interval_us(),
            "duration_s": self.duration_ns as f64 / 1e9,
            "truncated": self.truncated,
            "events": described.collect::<Map<_, _>>(),
            "async_profiler": self.setting("version"),
        })
    }
}

fn table(events: &[Event], results: &[Drawn]) -> Value {
    let units = events.iter().map(|event| (event.name().to_owned(), json!(event.unit())));
    let shares = events.iter().zip(results).map(|(event, drawn)| (event.name().to_owned(), json!(drawn.shares)));
    json!({
        "format": "lsmlab-categories",
        "version": 1,
        "units": units.collect::<Map<_, _>>(),
        "events": shares.collect::<Map<_, _>>(),
    })
}

fn pretty(value: &Value) -> Result<String> {
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

/// Runs every conversion in one JVM.
fn run_converter(
    tools: &Tools,
    recording: &Path,
    scratch: &Scratch,
    events: &[Event],
    title: &str,
) -> Result<Converted> {
    let tasks: String = events.iter().flat_map(|event| tasks(*event, &title_of(title, *event), scratch)).collect();
    scratch.write("tasks", &tasks)?;
    let parallel = thread::available_parallelism().map_or(1, usize::from).min(2);
    let mut command = Command::new(tools::java()?);
    command
        .args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"])
        .args(["-cp", &tools.converter_class_path()?, "lsmlab.profiler.ConvertRecording"])
        .arg(recording)
        .arg(scratch.path("tasks"))
        .arg(parallel.to_string());
    let output =
        command.output().with_context(|| format!("cannot run {}", Path::new(command.get_program()).display()))?;
    scratch.remove("tasks")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("the recording cannot be converted: {}", explain(said.trim()));
    }
    Converted::parse(&String::from_utf8(output.stdout).context("the converter wrote other than UTF-8")?)
}

/// The converter's tasks for an event: its options and output file, separated by tabs.
fn tasks(event: Event, title: &str, scratch: &Scratch) -> Vec<String> {
    let name = event.name();
    let title = title.replace(['\t', '\n', '\r'], " ");
    let task = |options: &[&str], file: &str| {
        let mut words = vec!["--norm", "--title", &title];
        words.extend(options);
        let path = scratch.path(file).display().to_string();
        words.push(&path);
        words.join("\t") + "\n"
    };
    let page = |extra: &[&str], file: &str| task(&[event.converter_options(), extra].concat(), file);
    let mut tasks = vec![
        page(&["-o", "html", "--minwidth", HTML_WIDTH_MIN_PERCENT], &format!("{name}.html")),
        page(&["-o", "html", "--minwidth", HTML_WIDTH_MIN_PERCENT, "-t"], &format!("{name}-threads.html")),
        page(&["-o", "heatmap"], &format!("{name}-heatmap.html")),
        page(&["-o", "collapsed"], &format!("{name}.raw")),
    ];
    if event.is_weighted() {
        let samples = format!("--{name}");
        tasks.push(task(&[&samples, "-o", "collapsed"], &format!("{name}-samples.raw")));
    }
    tasks
}

fn explain(said: &str) -> String {
    if said.contains("UnsupportedClassVersionError") {
        return format!("{said}\nthis java is too old: version 17 or later is needed; set JAVA_HOME");
    }
    if said.contains("Incomplete JFR file") || said.contains("Not a valid JFR") || said.contains("Corrupted") {
        return format!("{said}\nthe recording was cut off: was `profile stop` run before the JVM ended?");
    }
    said.to_owned()
}

/// A directory for what is being written, on the same file system as its destination; removed when dropped.
struct Scratch {
    directory: PathBuf,
}

impl Scratch {
    fn inside(out: &Path) -> Result<Scratch> {
        let out = fs::canonicalize(out)?;
        let directory = out.join(format!(".convert-{}", process::id()));
        fs::create_dir(&directory).with_context(|| format!("cannot write to {}", out.display()))?;
        Ok(Scratch { directory })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    fn read(&self, name: &str) -> Result<String> {
        let path = self.path(name);
        let text = fs::read_to_string(&path).with_context(|| format!("the converter did not write {name}"))?;
        fs::remove_file(path)?;
        Ok(text)
    }

    fn write(&self, name: &str, text: &str) -> Result<()> {
        self.write_bytes(name, text.as_bytes())
    }

    fn write_bytes(&self, name: &str, bytes: &[u8]) -> Result<()> {
        fs::write(self.path(name), bytes).with_context(|| format!("cannot write {name}"))
    }

    fn remove(&self, name: &str) -> Result<()> {
        Ok(fs::remove_file(self.path(name))?)
    }

    /// Moves the files that are wanted into `out`; what the converter wrote for other events is dropped.
    fn publish(self, out: &Path) -> Result<()> {
        let description: Value = serde_json::from_slice(&fs::read(self.path("profile.json"))?)?;
        let events = description["events"].as_object().into_iter().flatten();
        let files = events.flat_map(|(_, event)| event["files"].as_array().into_iter().flatten());
        let names = files.filter_map(Value::as_str).chain(["categories.json", "profile.json"]);
        for name in names {
            fs::rename(self.path(name), out.join(name)).with_context(|| format!("cannot write {name}"))?;
        }
        Ok(())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}
