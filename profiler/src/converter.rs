//! Runs async-profiler's converter in one JVM with a heap limit and a time limit, and parses its output.

use crate::collapsed;
use crate::draw::label::escape;
use crate::event::Event;
use crate::process::{self, Outcome};
use crate::scratch::Scratch;
use crate::tools::{self, Tools};
use anyhow::{Context, Result, bail};
use std::collections::HashMap;
use std::path::{self, Path};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Narrower frames are left out of the flame graphs: one sample of ten thousand can be hundreds of frames deep.
const HTML_WIDTH_MIN_PERCENT: &str = "0.01";

/// The recording and events to convert, and the converter's heap limit and time limit.
pub struct Job<'a> {
    pub tools: &'a Tools,
    pub recording: &'a Path,
    pub events: &'a [Event],
    /// Milliseconds since the recording's start.
    pub from_ms: Option<u64>,
    pub to_ms: Option<u64>,
    pub unfold: bool,
    pub pprof: bool,
    pub heap_mib_max: u32,
    pub time_max: Duration,
}

/// The converter's facts about the recording.
pub struct Description {
    pub settings: HashMap<String, String>,
    pub start_ns: u64,
    pub duration_ns: u64,
    /// CPU time of the service during the recording; None if the recording lacks it.
    pub cpu_s: Option<f64>,
    pub truncated: bool,
}

impl Description {
    pub fn parse(output: &str) -> Result<Description> {
        let mut description =
            Description { settings: HashMap::new(), start_ns: 0, duration_ns: 0, cpu_s: None, truncated: false };
        for line in output.lines() {
            match line.splitn(3, '\t').collect::<Vec<_>>().as_slice() {
                ["setting", name, value] => {
                    description.settings.insert((*name).to_owned(), (*value).to_owned());
                }
                ["start_ns", value] => description.start_ns = value.parse()?,
                ["duration_ns", value] => description.duration_ns = value.parse()?,
                ["cpu_s", value] => description.cpu_s = Some(value.parse()?).filter(|seconds| *seconds > 0.0),
                ["truncated", value] => description.truncated = value.parse()?,
                _ => bail!("the converter wrote an unknown line {line:?}"),
            }
        }
        Ok(description)
    }

    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str).filter(|value| !value.is_empty() && *value != "-1")
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.setting(name)?.parse().ok()
    }

    /// Whether this event was requested for the recording.
    pub fn has(&self, event: Event) -> bool {
        match event {
            Event::Cpu => self.engine().is_some(),
            _ => self.setting(event.name()).is_some(),
        }
    }

    /// The CPU engine that actually took the samples.
    pub fn engine(&self) -> Option<&str> {
        self.setting("event")?;
        self.setting("engine")
    }

    /// The CPU interval that was requested.
    pub fn interval_us(&self) -> Option<f64> {
        self.engine()?;
        Some(self.number("interval")? as f64 / 1e3)
    }
}

/// Runs every conversion in one JVM. For each event it leaves EVENT.samples and the pages in `scratch`.
pub fn run(job: &Job, scratch: &Scratch, title_of: impl Fn(Event) -> String) -> Result<Description> {
    let tasks: String = job.events.iter().flat_map(|event| tasks(job, *event, &title_of(*event), scratch)).collect();
    scratch.write("tasks", &tasks)?;
    let parallel = thread::available_parallelism().map_or(1, usize::from).min(2);
    let (lib, class_path) = job.tools.converter_class_path()?;
    let mut command = Command::new(path::absolute(tools::java()?)?);
    command
        .current_dir(lib)
        // in the locale C, a JVM finds no file whose path has characters beyond ASCII
        .env("LC_ALL", "C.UTF-8")
        .arg(format!("-Xmx{}m", job.heap_mib_max))
        .args(["-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError", "-XX:TieredStopAtLevel=1", "-Xshare:auto"])
        .args(["-cp", &class_path, "lsmlab.profiler.ConvertRecording"])
        .arg(path::absolute(job.recording)?)
        .arg(scratch.path("tasks"))
        .arg(parallel.to_string());
    let outcome = process::run(&mut command, job.time_max).context("the recording cannot be converted")?;
    if !outcome.status.success() {
        bail!("the recording cannot be converted: {}", explain(&outcome, job.heap_mib_max));
    }
    Description::parse(&outcome.stdout)
}

/// The converter's tasks for an event: one per line, words separated by tabs.
fn tasks(job: &Job, event: Event, title: &str, scratch: &Scratch) -> Vec<String> {
    let name = event.name();
    let path = |file: &str| scratch.path(file).display().to_string();
    let mut options = vec!["--norm".to_owned(), "--title".to_owned(), escape(title)];
    options.extend(event.converter_options().iter().map(|option| (*option).to_owned()));
    for (option, value) in [("--from", job.from_ms), ("--to", job.to_ms)] {
        options.extend(value.into_iter().flat_map(|ms| [option.to_owned(), ms.to_string()]));
    }
    let words = |before: &[&str], after: &[&str]| {
        let words = before.iter().copied().chain(options.iter().map(String::as_str)).chain(after.iter().copied());
        words.collect::<Vec<_>>().join("\t") + "\n"
    };
    let fold = if job.unfold { "" } else { collapsed::FOLD };
    let mut tasks = vec![
        words(&["samples", &path(name), fold], &["-o", "html", "--minwidth", HTML_WIDTH_MIN_PERCENT]),
        words(&["heatmap", &path(&format!("{name}-heatmap.html"))], &[]),
    ];
    if job.pprof {
        tasks.push(words(&["pprof", &path(&format!("{name}.pprof"))], &[]));
    }
    tasks
}

fn explain(outcome: &Outcome, heap_mib_max: u32) -> String {
    let output = outcome.output();
    if output.contains("OutOfMemoryError") {
        return format!(
            "its heap of {heap_mib_max} MiB is too small: give more with --heap, or a shorter --from … --to"
        );
    }
    if output.contains("UnsupportedClassVersionError") {
        return format!("{output}\nthis java is too old: version 17 or later is needed; set JAVA_HOME");
    }
    if output.contains("Incomplete JFR file") || output.contains("Not a valid JFR") || output.contains("Corrupted") {
        return format!("{output}\nthe recording was cut off: was `profile stop` run before the JVM ended?");
    }
    if outcome.stderr.trim().is_empty() {
        outcome.ending()
    } else {
        format!("{} ({})", outcome.stderr.trim(), outcome.ending())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_converter_that_fails_says_why_even_if_it_was_killed() {
        for (script, expected) in [
            ("kill -9 $$", "killed by signal 9, as the kernel does when memory runs out"),
            ("exit 3", "exit status 3"),
            ("echo broken >&2; exit 1", "broken (exit status 1)"),
            ("echo java.lang.OutOfMemoryError >&2; exit 3", "its heap of 16 MiB is too small"),
            ("echo Incomplete JFR file >&2; exit 1", "the recording was cut off"),
        ] {
            let outcome = process::run(Command::new("sh").args(["-c", script]), Duration::from_secs(60)).unwrap();
            let output = explain(&outcome, 16);
            assert!(output.contains(expected), "{script}: {output}");
        }
    }
}
