//! The results as JSON, by `load.schema.json`.

use super::results::{Results, RunDescription};
use super::verdict::Verdict;
use crate::stats::{DistributionSummary, Errors, SecondRow};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

#[derive(Debug, Serialize)]
struct Generator {
    name: &'static str,
    version: &'static str,
}

#[derive(Debug, Serialize)]
struct UnfinishedJson {
    count: u64,
    oldest_us: f64,
}

#[derive(Debug, Serialize)]
struct Load<'a> {
    format: &'static str,
    version: u32,
    generator: Generator,
    #[serde(flatten)]
    description: &'a RunDescription,
    requests_due: u64,
    requests: u64,
    bytes_read: u64,
    requests_per_s: f64,
    bytes_per_s: f64,
    elapsed_s: f64,
    latency_us: DistributionSummary,
    uncorrected_us: DistributionSummary,
    send_lag_us: DistributionSummary,
    errors: Errors,
    status: BTreeMap<u16, u64>,
    unfinished: UnfinishedJson,
    cpu_s: f64,
    spin_s: f64,
    kept_schedule: &'a Verdict,
    series: &'a [SecondRow],
}

impl Results {
    /// Writes the results to `file`, which is replaced.
    pub fn write_json(&self, file: &Path) -> io::Result<()> {
        let latencies = &self.sum.latencies;
        let load = Load {
            format: "lsmlab-load",
            version: 1,
            generator: Generator { name: "loadgen", version: env!("CARGO_PKG_VERSION") },
            description: &self.description,
            requests_due: self.requests_due,
            requests: self.sum.requests,
            bytes_read: self.sum.bytes_read,
            requests_per_s: self.per_second(self.sum.requests),
            bytes_per_s: self.per_second(self.sum.bytes_read),
            elapsed_s: self.elapsed_s(),
            latency_us: DistributionSummary::of(&latencies.latency),
            uncorrected_us: DistributionSummary::of(&latencies.uncorrected),
            send_lag_us: DistributionSummary::of(&latencies.send_lag),
            errors: self.sum.errors,
            status: self.sum.statuses().collect(),
            unfinished: UnfinishedJson {
                count: self.unfinished.count,
                oldest_us: self.unfinished.oldest_ns as f64 / 1000.0,
            },
            cpu_s: self.cpu_ns as f64 / 1e9,
            spin_s: self.spin_ns as f64 / 1e9,
            kept_schedule: &self.verdict,
            series: &self.series,
        };
        let mut writer = BufWriter::new(File::create(file)?);
        serde_json::to_writer_pretty(&mut writer, &load)?;
        writer.write_all(b"\n")?;
        writer.flush()
    }
}
