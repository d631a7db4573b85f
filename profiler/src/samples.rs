//! Every sample of one event by tenth of a second, thread and stack: the converter collects them and comparisons read
//! them.
//!
//! The file `<event>.samples.gz` of a run holds the table as text; `SampleTable.java` states the format. A first line
//! `H 1 start_ms seconds`, separated by tabs, states the version of the format and the start and length of the
//! recording or, with --from or --to, of its window.

use crate::collapsed::{Kind, Stack, frame};
use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

const VERSION: &str = "1";

/// The table of samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// When the recording or its window began, in milliseconds since 1970.
    pub start_ms: u64,
    /// Length of the recording or its window; the last second may be shorter.
    pub seconds: usize,
    pub frames: Vec<(String, Kind)>,
    pub threads: Vec<String>,
    pub nodes: Vec<Node>,
    pub rows: Vec<Row>,
}

/// A node of the call tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// The caller's node; None at the root of a stack.
    pub parent: Option<usize>,
    pub frame: usize,
}

/// The samples of one stack in one thread in a tenth of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Tenths of a second since `start_ms`.
    pub tenth: usize,
    pub thread: usize,
    /// The innermost frame's node.
    pub node: usize,
    pub samples: u64,
    /// Sum of the samples' values, in the event's unit.
    pub value: u64,
}

impl Row {
    pub fn second(&self) -> usize {
        self.tenth / 10
    }
}

impl Samples {
    /// Reads a table. With `ends_in_class` the last frame of each stack is a class.
    pub fn parse(text: &str, ends_in_class: bool) -> Result<Samples> {
        let mut table = Samples::default();
        for (number, line) in text.lines().enumerate() {
            table
                .add(line)
                .with_context(|| format!("line {}: {line:?} is not a line of a table of samples", number + 1))?;
        }
        if ends_in_class {
            table.mark_classes();
        }
        table.seconds = table.seconds.max(table.rows.iter().map(|row| row.second() + 1).max().unwrap_or(0));
        Ok(table)
    }

    fn add(&mut self, line: &str) -> Result<()> {
        let fields: Vec<_> = line.split('\t').collect();
        match fields.as_slice() {
            ["H", VERSION, start_ms, seconds] => {
                self.start_ms = start_ms.parse()?;
                self.seconds = seconds.parse()?;
            }
            ["H", version, ..] => bail!("version {version} of the table is unknown; this program reads {VERSION}"),
            ["F", name] => {
                let (name, kind) = frame(name);
                self.frames.push((name.to_owned(), kind));
            }
            ["T", name] => self.threads.push((*name).to_owned()),
            ["N", parent, frame] => {
                let parent: usize = parent.parse()?;
                let frame: usize = frame.parse()?;
                if parent > self.nodes.len() || frame == 0 || frame > self.frames.len() {
                    bail!("the node refers to a parent or a frame that does not exist");
                }
                self.nodes.push(Node { parent: parent.checked_sub(1), frame: frame - 1 });
            }
            ["S", tenth, thread, node, samples, value] => {
                let (thread, node): (usize, usize) = (thread.parse()?, node.parse()?);
                if thread == 0 || thread > self.threads.len() || node == 0 || node > self.nodes.len() {
                    bail!("the sample refers to a thread or a node that does not exist");
                }
                self.rows.push(Row {
                    tenth: tenth.parse()?,
                    thread: thread - 1,
                    node: node - 1,
                    samples: samples.parse()?,
                    value: value.parse()?,
                });
            }
            _ => bail!("expected H, F, T, N or S and its fields"),
        }
        Ok(())
    }

    /// Frames that end a stack become classes of their own, because the same name may be a frame elsewhere.
    fn mark_classes(&mut self) {
        let mut classes = BTreeMap::new();
        for row in &self.rows {
            let node = row.node;
            let old = self.nodes[node].frame;
            if self.frames[old].1 == Kind::Class {
                continue;
            }
            let next = self.frames.len();
            let new = *classes.entry(old).or_insert(next);
            if new == next {
                self.frames.push((self.frames[old].0.clone(), Kind::Class));
            }
            self.nodes[node].frame = new;
        }
    }

    /// Reads a table from a file `<event>.samples.gz`.
    pub fn read_file(path: &Path, ends_in_class: bool) -> Result<Samples> {
        let file = File::open(path).with_context(|| {
            format!("cannot read {}: make it from the recording with `profile convert`", path.display())
        })?;
        let mut text = String::new();
        GzDecoder::new(file).read_to_string(&mut text).with_context(|| format!("{} is damaged", path.display()))?;
        Samples::parse(&text, ends_in_class).with_context(|| path.display().to_string())
    }

    /// The frames of a stack, root first.
    pub fn stack(&self, node: usize) -> Vec<(&str, Kind)> {
        let mut frames: Vec<_> = self.ancestry(node).collect();
        frames.reverse();
        frames
    }

    /// The frames of a stack, innermost first.
    pub fn ancestry(&self, node: usize) -> impl Iterator<Item = (&str, Kind)> {
        std::iter::successors(Some(node), |node| self.nodes[*node].parent).map(|node| {
            let (name, kind) = &self.frames[self.nodes[node].frame];
            (name.as_str(), *kind)
        })
    }

    /// The collapsed stacks of the tenths of a second that `wanted` accepts.
    pub fn stacks(&self, wanted: impl Fn(usize) -> bool) -> Vec<Stack<'_>> {
        let mut values = vec![0; self.nodes.len()];
        for row in self.rows.iter().filter(|row| wanted(row.tenth)) {
            values[row.node] += row.value;
        }
        let counted = values.iter().enumerate().filter(|(_, value)| **value > 0);
        counted.map(|(node, value)| Stack { frames: self.stack(node), value: *value }).collect()
    }

    /// The number of samples.
    pub fn count(&self) -> u64 {
        self.rows.iter().map(|row| row.samples).sum()
    }
}

/// The content of the file for a table that the converter wrote.
pub fn compress(table: &str, start_ms: u64, seconds: usize) -> Result<Vec<u8>> {
    let mut out = GzEncoder::new(Vec::new(), Compression::new(6));
    writeln!(out, "H\t{VERSION}\t{start_ms}\t{seconds}")?;
    out.write_all(table.as_bytes())?;
    Ok(out.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapsed;

    const TABLE: &str =
        "F\tA.run_[j]\nF\tB.go_[i]\nN\t0\t1\nN\t1\t2\nT\t[w tid=1]\nS\t0\t1\t2\t3\t300\nS\t25\t1\t1\t1\t50\n";

    #[test]
    fn a_table_reads_back_as_stacks() {
        let table = Samples::parse(TABLE, false).unwrap();
        assert_eq!((table.seconds, table.count()), (3, 4));
        assert_eq!(collapsed::write(&table.stacks(|_| true)), "A.run 50\nA.run;B.go 300\n");
        assert_eq!(collapsed::write(&table.stacks(|tenth| tenth > 0)), "A.run 50\n");
    }

    #[test]
    fn the_last_frame_of_a_weighted_stack_is_a_class_and_elsewhere_a_frame() {
        let table = Samples::parse(TABLE, true).unwrap();
        assert_eq!(table.stack(1), [("A.run", Kind::Class), ("B.go", Kind::Class)]);
        let inner = "F\tA.run_[j]\nN\t0\t1\nN\t1\t1\nT\tw\nS\t0\t1\t2\t1\t1\n";
        let table = Samples::parse(inner, true).unwrap();
        assert_eq!(table.stack(1), [("A.run", Kind::Compiled), ("A.run", Kind::Class)]);
    }

    #[test]
    fn a_file_keeps_the_table_and_its_start() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("cpu.samples.gz");
        std::fs::write(&path, compress(TABLE, 1_700_000_000_000, 7).unwrap()).unwrap();
        let table = Samples::read_file(&path, false).unwrap();
        assert_eq!((table.start_ms, table.seconds, table.count()), (1_700_000_000_000, 7, 4));
    }

    #[test]
    fn a_damaged_table_is_named_by_its_line() {
        for (wrong, line) in [
            ("F\ta\nN\t0\t2\n", "line 2"),
            ("S\t0\t1\t1\t1\t1\n", "line 1"),
            ("H\t9\t0\t0\n", "line 1"),
            ("?\n", "line 1"),
        ] {
            let error = format!("{:#}", Samples::parse(wrong, false).unwrap_err());
            assert!(error.contains(line), "{error}");
        }
        let missing = Samples::read_file(Path::new("/missing.samples.gz"), false).unwrap_err();
        assert!(missing.to_string().contains("profile convert"), "{missing}");
    }
}
