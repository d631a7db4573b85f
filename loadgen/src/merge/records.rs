//! Makes one report from the records of several generators.
//!
//! The records are read in parallel, one second at a time, so memory use does not grow with the length of the run.

use super::MergeArguments;
use crate::report::{Ending, HdrLog, RecordReader, Recorded, RecordedSecond, TextReport, heading, results_together};
use crate::stats::{Interval, Second, SecondRow};
use serde_json::Value;
use std::io::Write;
use std::time::SystemTime;

/// Settings that parts of one load need not share. Scripts are compared by their texts.
const MAY_DIFFER: [&str; 3] = ["event_loops", "started_at", "script"];

/// Maximum number of characters of a script's line that an error shows.
const SHOWN_MAX: usize = 100;

/// Merges all parts and writes the outputs that `arguments` ask for.
pub(super) fn merge(arguments: &MergeArguments, out: &mut impl Write) -> Result<(), String> {
    let mut readers: Vec<RecordReader> =
        arguments.files.iter().map(|file| RecordReader::open(file)).collect::<Result<_, _>>()?;
    let cannot = |file: &std::path::Path, error: std::io::Error| format!("cannot write {}: {error}", file.display());
    let mut log = None;
    if let Some(file) = &arguments.hdr_log {
        // The log begins with the start time, which is in the ends of the records.
        let endings =
            arguments.files.iter().map(|file| last(RecordReader::open(file)?)).collect::<Result<Vec<_>, _>>()?;
        log = Some(HdrLog::create(file, started(&endings)).map_err(|error| cannot(file, error))?);
    }

    let mut counted: Vec<Interval> = readers.iter().map(|_| Interval::default()).collect();
    let mut endings: Vec<Option<Ending>> = readers.iter().map(|_| None).collect();
    let (mut series, mut due_so_far, mut sent_so_far) = (Vec::<SecondRow>::new(), 0u64, 0u64);
    loop {
        let mut second = Second { index: series.len() as u64, sum: Interval::default() };
        let (mut due, mut length_ns, mut recorded_by_any) = (0, 0, false);
        for (part, reader) in readers.iter_mut().enumerate() {
            if endings[part].is_some() {
                continue;
            }
            match reader.read()? {
                Recorded::Second(own) => {
                    let RecordedSecond { due: own_due, length_ns: own_length_ns, counted: own } = *own;
                    second.sum.add(&own);
                    counted[part].add(&own);
                    due += own_due;
                    length_ns = own_length_ns.max(length_ns);
                    recorded_by_any = true;
                }
                Recorded::End(ending) => endings[part] = Some(*ending),
            }
        }
        if !recorded_by_any {
            break;
        }
        due_so_far += due;
        sent_so_far += second.sum.sent;
        series.push(second.row(due, due_so_far.saturating_sub(sent_so_far), length_ns));
        if let (Some(log), Some(file)) = (&mut log, &arguments.hdr_log) {
            log.write(second.index, length_ns, &second.sum.latencies.latency).map_err(|error| cannot(file, error))?;
        }
    }

    let endings = endings.into_iter().map(|ending| ending.expect("the loop goes on until each has ended"));
    let mut parts: Vec<(Ending, Interval)> = endings.zip(counted).collect();
    parts.sort_by_key(|(ending, _)| ending.part.index);
    check(&parts.iter().map(|(ending, _)| ending).collect::<Vec<_>>())?;
    let results = results_together(&parts, series);
    if let Some(file) = &arguments.json {
        results.write_json(file).map_err(|error| cannot(file, error))?;
    }
    let run = &results.description;
    let head = heading(run.duration_s, &run.url, run.threads, run.connections);
    write!(out, "{head}{}", TextReport::of(&results, true, false)).map_err(|error| format!("cannot print: {error}"))
}

fn last(mut reader: RecordReader) -> Result<Ending, String> {
    loop {
        if let Recorded::End(ending) = reader.read()? {
            return Ok(*ending);
        }
    }
}

fn started(endings: &[Ending]) -> SystemTime {
    let starts = endings.iter().filter_map(|ending| ending.description.started_at.parse::<jiff::Timestamp>().ok());
    starts.min().map_or(SystemTime::UNIX_EPOCH, SystemTime::from)
}

/// Refuses records that are not all parts of the same load. `endings` are in the order of the parts.
fn check(endings: &[&Ending]) -> Result<(), String> {
    let first = endings[0];
    let of = first.part.of;
    for number in 1..=of {
        match endings.iter().filter(|ending| ending.part.index + 1 == number).count() {
            0 => return Err(format!("the record of generator {number}/{of} is missing")),
            1 => {}
            count => return Err(format!("{count} of the records belong to generator {number}/{of}")),
        }
    }
    let of_load = |ending: &Ending| serde_json::to_value(&ending.description).expect("a description is plain data");
    let wanted = of_load(first);
    for ending in endings {
        let differ = |what: &str, a: &dyn std::fmt::Display, b: &dyn std::fmt::Display| {
            Err(format!("generators {} and {} ran different loads: {what} is {a} and {b}", first.part, ending.part))
        };
        if first.part.of != ending.part.of {
            return differ("the number of generators", &first.part.of, &ending.part.of);
        }
        let own = of_load(ending);
        let different = |(key, value): &(&String, &Value)| !MAY_DIFFER.contains(&key.as_str()) && own[key] != **value;
        if let Some((key, value)) = wanted.as_object().into_iter().flatten().find(different) {
            return differ(key, value, &own[key]);
        }
        if first.script_text.is_some() != ending.script_text.is_some() {
            return differ("script", &wanted["script"], &own["script"]);
        }
        let [lines, own_lines] =
            [first, ending].map(|of| of.script_text.as_deref().unwrap_or_default().lines().collect::<Vec<_>>());
        if lines != own_lines {
            let at = lines.iter().zip(&own_lines).take_while(|(line, own)| line == own).count();
            let shown = |lines: &[&str]| match lines.get(at) {
                Some(line) => format!("{:?}", line.chars().take(SHOWN_MAX).collect::<String>()),
                None => "missing".to_owned(),
            };
            return differ(&format!("line {} of the script", at + 1), &shown(&lines), &shown(&own_lines));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
