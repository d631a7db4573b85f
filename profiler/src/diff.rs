//! `profile diff`: what changed between the recordings of A and those of B.

use crate::collapsed::{self, Stack};
use crate::compare::{Comparison, Line, compare};
use crate::convert::{pretty, read_rules, samples_file};
use crate::draw::flame::{self, Caption};
use crate::draw::picture;
use crate::event::Event;
use crate::print::print;
use crate::samples::Samples;
use crate::table;
use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// The recordings and events to compare, and the directory of the results.
pub struct Request {
    pub a: Vec<PathBuf>,
    pub b: Vec<PathBuf>,
    pub out: PathBuf,
    pub title_a: Option<String>,
    pub title_b: Option<String>,
    pub events: Vec<Event>,
    pub categories: Option<PathBuf>,
    /// Compare even recordings that differ in engine or interval.
    pub force: bool,
}

/// The recordings of one side of a comparison.
struct Side {
    title: String,
    directories: Vec<PathBuf>,
    descriptions: Vec<Value>,
}

impl Side {
    fn read(directories: &[PathBuf], title: Option<&str>) -> Result<Side> {
        let describe = |directory: &PathBuf| -> Result<Value> {
            let path = directory.join("profile.json");
            let text = fs::read_to_string(&path).with_context(|| {
                format!("cannot read {}: name the directory of a converted recording", path.display())
            })?;
            serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))
        };
        let descriptions: Vec<_> = directories.iter().map(describe).collect::<Result<_>>()?;
        let own = || descriptions.first().and_then(|first| first["title"].as_str()).unwrap_or_default().to_owned();
        Ok(Side { title: title.map_or_else(own, str::to_owned), directories: directories.to_vec(), descriptions })
    }

    fn has(&self, event: Event) -> bool {
        self.descriptions.iter().all(|description| description["events"][event.name()]["recorded"] == true)
    }

    fn samples(&self, event: Event) -> Result<Vec<Samples>> {
        let read =
            |directory: &PathBuf| Samples::read_file(&directory.join(samples_file(event)), event.ends_in_class());
        self.directories.iter().map(read).collect()
    }
}

/// Writes diff.json, diff.md and both differential flame graphs of each event; prints the tables.
pub fn diff(request: &Request) -> Result<()> {
    let rules = read_rules(request.categories.as_deref())?;
    let a = Side::read(&request.a, request.title_a.as_deref())?;
    let b = Side::read(&request.b, request.title_b.as_deref())?;
    let doubts = differences(&a, &b);
    if !doubts.is_empty() && !request.force {
        bail!("these recordings cannot be compared: {}; --force compares them anyway", doubts.join("; "));
    }
    fs::create_dir_all(&request.out).with_context(|| format!("cannot create {}", request.out.display()))?;
    let mut events = Map::new();
    let mut page = format!("# {} (A) against {} (B)\n\n", a.title, b.title);
    for doubt in &doubts {
        page += &format!("**Compared by force: {doubt}.**\n\n");
    }
    for event in request.events.iter().copied().filter(|event| a.has(*event) && b.has(*event)) {
        let (of_a, of_b) = (a.samples(event)?, b.samples(event)?);
        let comparison = compare(event, &of_a, &of_b, &rules);
        let title = format!("{} → {} · {}", a.title, b.title, event.title());
        let files = pictures(event, [&stacks(&of_a), &stacks(&of_b)], &title, &request.out, "diff")?;
        page += &text(event, &comparison, &files);
        let mut value = json!(comparison);
        value["files"] = json!(files);
        events.insert(event.name().to_owned(), value);
    }
    if events.is_empty() {
        bail!("no event was recorded on both sides");
    }
    let result = json!({
        "format": "lsmlab-profile-diff",
        "version": 1,
        "a": {"title": a.title, "directories": a.directories},
        "b": {"title": b.title, "directories": b.directories},
        "forced": doubts,
        "events": events,
    });
    write(&request.out.join("diff.json"), pretty(&result)?)?;
    write(&request.out.join("diff.md"), &page)?;
    print(page)
}

/// Why the sides cannot be compared.
fn differences(a: &Side, b: &Side) -> Vec<String> {
    let mut found = Vec::new();
    for (key, name) in [("engine", "engines"), ("interval_had_us", "CPU intervals (µs)"), ("version", "formats")] {
        let mut values: Vec<String> = Vec::new();
        for description in a.descriptions.iter().chain(&b.descriptions) {
            let value = description[key].to_string().replace('"', "");
            if !values.contains(&value) {
                values.push(value);
            }
        }
        if values.len() > 1 {
            found.push(format!("their {name} differ: {}", values.join(", ")));
        }
    }
    found
}

fn stacks(side: &[Samples]) -> Vec<Stack<'_>> {
    let all: Vec<_> = side.iter().flat_map(|samples| samples.stacks(|_| true)).collect();
    collapsed::fold(&all)
}

/// Draws the difference in both directions, and returns the names of the files.
pub fn pictures(event: Event, sides: [&[Stack]; 2], title: &str, out: &Path, name: &str) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for (reverse, suffix, shown) in [(false, "", "B"), (true, "-reverse", "A")] {
        if collapsed::total(sides[0]) == 0 || collapsed::total(sides[1]) == 0 {
            continue;
        }
        let subtitle = format!("stacks of {shown}; red grew from A to B, blue shrank; scaled to the same whole");
        let caption = Caption { title, subtitle: &subtitle };
        let svg = flame::draw_difference(event, sides[0], sides[1], reverse, &caption)?;
        for (end, content) in [("svg", svg.as_bytes().to_vec()), ("png", picture::render(&svg)?)] {
            let file = format!("{}-{name}{suffix}.{end}", event.name());
            write(&out.join(&file), content)?;
            files.push(file);
        }
    }
    Ok(files)
}

fn text(event: Event, comparison: &Comparison, files: &[String]) -> String {
    let unit = match comparison.unit {
        "recordings" => "each recording is one observation",
        _ => "each second is one observation: differences between two starts of a JVM are not in the intervals",
    };
    let mut text = format!(
        "## {}\n\n{} samples in A, {} in B; {unit}. A share is of the event's whole; a change is in percentage points \
         with its 95% interval; `*` marks what chance would hardly do (p < 0.001 over the whole table) and is 0.5 points or more.\n\n",
        event.title(),
        comparison.samples_a,
        comparison.samples_b
    );
    for (heading, lines) in [
        ("Category", &comparison.categories),
        ("Thread group", &comparison.groups),
        ("Method, with the native and kernel code that it called", &comparison.methods),
    ] {
        text += &table_of(heading, lines);
    }
    let pictures: Vec<_> = files.iter().map(|file| format!("[{file}]({file})")).collect();
    text + &pictures.join(" · ") + "\n\n"
}

/// A table of lines as Markdown.
pub fn table_of(heading: &str, lines: &[Line]) -> String {
    let cells = |line: &Line| {
        let bounds = match (line.change_low, line.change_high) {
            (Some(low), Some(high)) => format!(" [{:+.1}, {:+.1}]", 100.0 * low, 100.0 * high),
            _ => String::new(),
        };
        vec![
            line.name.replace('|', "\\|"),
            format!("{:.1}%", 100.0 * line.a),
            format!("{:.1}%", 100.0 * line.b),
            format!("{:+.1}{bounds}", 100.0 * line.change),
            if line.significant { "*".to_owned() } else { String::new() },
        ]
    };
    table::markdown(&[heading, "A", "B", "Change", ""], &lines.iter().map(cells).collect::<Vec<_>>())
}

/// Writes a file of a comparison.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}
