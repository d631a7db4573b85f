//! The record of one of several generators (`--record`): everything that `loadgen merge` needs to make the report that
//! a single generator would have made.
//!
//! It is text with one JSON object per line:
//!
//! ```text
//! {"format":"lsmlab-load-record","version":3}
//! {"second":{"due":…,"length_ns":…,"counted":{…}}}      one for each second, in order
//! {"end":{…}}                                           missing if the generator was killed
//! ```

use super::ending::Ending;
use crate::stats::Interval;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Lines, Write};
use std::path::{Path, PathBuf};

const FORMAT: &str = "lsmlab-load-record";
const VERSION: u32 = 3;

#[derive(Serialize, Deserialize)]
struct Heading {
    format: String,
    version: u32,
}

/// One second in a record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RecordedSecond {
    /// Number of requests that were due in the second.
    pub due: u64,
    /// Length of the second in nanoseconds. The last one may be shorter.
    pub length_ns: u64,
    /// The counts of the second.
    pub counted: Interval,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Line<'a> {
    Second { due: u64, length_ns: u64, counted: &'a Interval },
    End(&'a Ending),
}

/// A line of a record, except the first.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recorded {
    /// The counts of a second.
    Second(Box<RecordedSecond>),
    /// The end of the run.
    End(Box<Ending>),
}

/// Writes a record.
#[derive(Debug)]
pub struct Record(BufWriter<File>);

impl Record {
    /// Creates `file` and writes the first line.
    pub fn create(file: &Path) -> io::Result<Self> {
        let mut record = Self(BufWriter::new(File::create(file)?));
        record.write(&Heading { format: FORMAT.to_owned(), version: VERSION })?;
        Ok(record)
    }

    fn write(&mut self, line: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, line)?;
        self.0.write_all(b"\n")?;
        self.0.flush()
    }

    /// Adds the next second.
    pub fn second(&mut self, due: u64, length_ns: u64, counted: &Interval) -> io::Result<()> {
        self.write(&Line::Second { due, length_ns, counted })
    }

    /// Adds the end of the run.
    pub fn end(&mut self, ending: &Ending) -> io::Result<()> {
        self.write(&Line::End(ending))
    }
}

/// Whether `file` begins like a record.
pub fn is_record(file: &Path) -> bool {
    let first = File::open(file).and_then(|file| BufReader::new(file).lines().next().transpose());
    matches!(first, Ok(Some(line)) if line.contains(FORMAT))
}

/// Reads a record one second at a time.
pub struct RecordReader {
    file: PathBuf,
    lines: Lines<BufReader<File>>,
    number: u64,
}

impl std::fmt::Debug for RecordReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RecordReader").field("file", &self.file).field("number", &self.number).finish_non_exhaustive()
    }
}

impl RecordReader {
    /// Opens `file`. An error names the file.
    pub fn open(file: &Path) -> Result<Self, String> {
        let opened = File::open(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut reader = Self { file: file.to_owned(), lines: BufReader::new(opened).lines(), number: 0 };
        let heading: Heading = reader.line()?;
        if heading.format != FORMAT || heading.version != VERSION {
            let (format, version) = (heading.format, heading.version);
            return Err(reader.wrong(format_args!(
                "expected {FORMAT} version {VERSION}, found {format} version {version}; was it written by another version of loadgen?"
            )));
        }
        Ok(reader)
    }

    /// Reads the next second, or the end of the run.
    pub fn read(&mut self) -> Result<Recorded, String> {
        self.line()
    }

    fn line<T: serde::de::DeserializeOwned>(&mut self) -> Result<T, String> {
        self.number += 1;
        match self.lines.next() {
            Some(Ok(line)) => serde_json::from_str(&line).map_err(|error| self.wrong(format_args!("{error}"))),
            Some(Err(error)) => Err(self.wrong(format_args!("{error}"))),
            None => Err(self.wrong(format_args!("the record ends before its run did: was its generator killed?"))),
        }
    }

    fn wrong(&self, what: std::fmt::Arguments<'_>) -> String {
        format!("{}, line {}: {what}", self.file.display(), self.number)
    }
}
