//! The results as JSON, in the format of `load.schema.json`.

use super::results::{Censored, GeneratorResult, LoopCpu, Results, RunDescription};
use super::verdict::{GeneratorStop, Verdict};
use crate::part::Part;
use crate::stats::{DistributionSummary, Errors, ReadErrors, SecondRow};
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
    pipelining: u64,
    requests_due: u64,
    requests: u64,
    bytes_read: u64,
    requests_per_s: f64,
    bytes_per_s: f64,
    elapsed_s: f64,
    lost: u64,
    served: u64,
    refused: u64,
    goodput_per_s: f64,
    latency_us: DistributionSummary,
    served_us: DistributionSummary,
    net_latency_us: DistributionSummary,
    uncorrected_us: DistributionSummary,
    send_lag_us: DistributionSummary,
    by_operation: BTreeMap<&'static str, DistributionSummary>,
    errors: Errors,
    read_errors: &'a ReadErrors,
    status: BTreeMap<u16, u64>,
    unfinished: UnfinishedJson,
    censored: Censored,
    generator_stops: &'a [GeneratorStop],
    cpu_s: f64,
    spin_s: f64,
    loops: &'a [LoopCpu],
    busiest_loop_share: f64,
    kept_schedule: &'a Verdict,
    failure: Option<&'a str>,
    /// The generator's part, such as `1/2`, if it is one of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<String>,
    /// Present with `--start-at`.
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<StartJson>,
    /// Present in a merged report.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    generators: &'a [GeneratorResult],
    series: &'a [SecondRow],
}

#[derive(Debug, Serialize)]
struct StartJson {
    at: String,
    missed_by_us: f64,
}

impl Results {
    /// Writes the results to `file`. Replaces the file only when the results are complete, so a full disk leaves no
    /// partial file.
    pub fn write_json(&self, file: &Path) -> io::Result<()> {
        let latencies = &self.sum.latencies;
        let by_operation = latencies.by_operation();
        let load = Load {
            format: "lsmlab-load",
            version: 1,
            generator: Generator { name: "loadgen", version: env!("CARGO_PKG_VERSION") },
            description: &self.description,
            pipelining: self.pipelining,
            requests_due: self.requests_due,
            requests: self.sum.requests,
            bytes_read: self.sum.bytes_read,
            requests_per_s: self.per_second(self.sum.requests),
            bytes_per_s: self.per_second(self.sum.bytes_read),
            elapsed_s: self.elapsed_s(),
            lost: self.sum.lost,
            served: self.sum.served,
            refused: self.sum.refused,
            goodput_per_s: self.per_second(self.sum.served),
            latency_us: DistributionSummary::of(&latencies.latency),
            served_us: DistributionSummary::of(&latencies.served()),
            net_latency_us: DistributionSummary::of(&latencies.net),
            uncorrected_us: DistributionSummary::of(&latencies.uncorrected),
            send_lag_us: DistributionSummary::of(&latencies.send_lag),
            by_operation: by_operation.iter().map(|(op, h)| (op.name(), DistributionSummary::of(h))).collect(),
            errors: self.sum.errors,
            read_errors: &self.sum.read_errors,
            status: self.sum.statuses().collect(),
            unfinished: UnfinishedJson {
                count: self.unfinished.count,
                oldest_us: self.unfinished.oldest_ns as f64 / 1000.0,
            },
            censored: self.censored(),
            generator_stops: &self.stops,
            cpu_s: self.cpu_ns as f64 / 1e9,
            spin_s: self.spin_ns as f64 / 1e9,
            loops: &self.loops,
            busiest_loop_share: self.busiest_loop_share(),
            kept_schedule: &self.verdict,
            failure: self.failure.as_deref(),
            part: (self.part != Part::WHOLE).then(|| self.part.to_string()),
            start: self.start.map(|start| StartJson {
                at: format!("{:.3}", start.at),
                missed_by_us: start.missed_by_ns as f64 / 1000.0,
            }),
            generators: &self.generators,
            series: &self.series,
        };
        if !file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let mut name = file.as_os_str().to_owned();
            name.push(".partial");
            let partial = Path::new(&name);
            return write(partial, &load).and_then(|()| std::fs::rename(partial, file)).inspect_err(|_| {
                // The partial file is useless; the first error is the one to report.
                let _ = std::fs::remove_file(partial);
            });
        }
        // A pipe or a device, such as /dev/stdout, cannot be replaced.
        write(file, &load)
    }
}

fn write(file: &Path, load: &Load<'_>) -> io::Result<()> {
    let mut writer = BufWriter::new(File::create(file)?);
    serde_json::to_writer_pretty(&mut writer, load)?;
    writer.write_all(b"\n")?;
    writer.flush()
}
