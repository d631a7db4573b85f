//! The latencies as an HdrHistogram log: format 1.3, compressed V2 histograms, one interval a second, in nanoseconds.

use crate::clock::SECOND;
use base64::Engine;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::time::SystemTime;

/// Divisor of the column `Interval_Max`, which is in milliseconds because people read it.
const MAX_VALUE_DIVISOR: f64 = 1e6;

/// Writes an HdrHistogram log.
pub struct HdrLog {
    writer: BufWriter<File>,
    serializer: V2DeflateSerializer,
}

impl std::fmt::Debug for HdrLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HdrLog").field("writer", &self.writer).finish_non_exhaustive()
    }
}

impl HdrLog {
    /// Creates `file` and writes the header; `started` is the start of the run.
    pub fn create(file: &Path, started: SystemTime) -> io::Result<Self> {
        let mut writer = BufWriter::new(File::create(file)?);
        let mut serializer = V2DeflateSerializer::new();
        // The format's version must precede the start time, which the builder writes after comments.
        IntervalLogWriterBuilder::new()
            .add_comment("[Latency in nanoseconds, from the moment each request was due; Interval_Max in milliseconds]")
            .add_comment("[Histogram log format version 1.3]")
            .with_start_time(started)
            .with_base_time(started)
            .begin_log_with(&mut writer, &mut serializer)?;
        writeln!(writer, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"")?;
        Ok(Self { writer, serializer })
    }

    /// Adds the interval of second `index`. `length_ns` is less than a second at the end of a run.
    pub fn write(&mut self, index: u64, length_ns: u64, latency: &Histogram<u64>) -> io::Result<()> {
        self.write_at(index as f64, length_ns, latency)
    }

    /// Adds an interval that begins `start_s` seconds after the start of the run.
    pub fn write_at(&mut self, start_s: f64, length_ns: u64, latency: &Histogram<u64>) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.serializer.serialize(latency, &mut bytes).map_err(io::Error::other)?;
        let (length_s, max_ms) = (length_ns as f64 / SECOND as f64, latency.max() as f64 / MAX_VALUE_DIVISOR);
        let text = base64::engine::general_purpose::STANDARD.encode(&bytes);
        writeln!(self.writer, "{start_s:.3},{length_s:.3},{max_ms:.3},{text}")?;
        self.writer.flush()
    }
}
