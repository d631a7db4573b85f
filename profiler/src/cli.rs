//! The command line. The help is the fields' doc comments.

use crate::event::{Event, parse_duration_ns, parse_size_bytes};
use crate::print::print;
use crate::record::asprof::Attach;
use crate::record::{jvm, perf, recorder};
use crate::tools::Tools;
use crate::{convert, diff, tail};
use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use std::convert::Infallible;
use std::path::PathBuf;
use std::time::Duration;

/// Records a JVM with async-profiler and turns the recording into flame graphs, heatmaps, pictures and categories.
#[derive(Parser)]
#[command(name = "profile", version)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,

    /// Directory with async-profiler and its converter, filled by `make build-profiler` [default: ../lib beside this
    /// program]
    #[arg(long, global = true, env = "PROFILE_LIB", value_name = "DIR")]
    lib: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Prints, as JSON, which CPU engine works here and why. Attaches to nothing
    Probe(ProbeArgs),
    /// Starts one recording of all events; the JVM itself writes DIR/profile.jfr
    Start(StartArgs),
    /// Ends the recording and checks its file
    Stop(StopArgs),
    /// Makes all files from DIR/profile.jfr
    Convert(ConvertArgs),
    /// Compares the recordings of A with those of B: what changed, and how certain that is
    Diff(DiffArgs),
    /// Compares the slowest seconds of a latency log with the rest of the recording
    Tail(TailArgs),
    /// Unpacks asprof and libasyncProfiler.so now, as the first start would, and prints where they are
    Unpack(UnpackArgs),
}

#[derive(Args)]
struct ProbeArgs {
    /// The JVM to be recorded, or `auto`; default: checks this process instead
    #[arg(long)]
    pid: Option<jvm::Pid>,
    #[command(flatten)]
    attach: Attach,
}

#[derive(Args)]
struct StartArgs {
    /// Process id of the JVM, or `auto` for the one that runs lsmlab-server.jar
    #[arg(long)]
    pid: jvm::Pid,
    /// Directory for profile.jfr; it must exist, and the JVM must see it at the same path
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Events to record
    #[arg(long, value_enum, value_delimiter = ',', default_value = "cpu,alloc,lock")]
    events: Vec<Event>,
    /// CPU sampling interval: CPU time of a thread between two samples
    #[arg(long, default_value = "500us", value_parser = parse_duration_ns)]
    interval: u64,
    /// Wall-clock sampling interval
    #[arg(long, default_value = "20ms", value_parser = parse_duration_ns)]
    wall_interval: u64,
    /// Allocation sampling interval: bytes between two samples
    #[arg(long, default_value = "64k", value_parser = parse_size_bytes)]
    alloc_interval: u64,
    /// Native memory sampling interval for the event nativemem: bytes between two samples
    #[arg(long, default_value = "64k", value_parser = parse_size_bytes)]
    nativemem_interval: u64,
    /// Deepest stack that is recorded in full
    #[arg(long, default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..))]
    depth: u32,
    /// End the recording after this time, rounded up to whole seconds, in case nobody stops it
    #[arg(long, default_value = "1800s", value_parser = parse_duration_ns)]
    timeout: u64,
    /// Shortest lock wait that is recorded
    #[arg(long, default_value = "10us", value_parser = parse_duration_ns)]
    lock_threshold: u64,
    #[command(flatten)]
    attach: Attach,
}

#[derive(Args)]
struct StopArgs {
    /// Process id of the JVM, or `auto`
    #[arg(long)]
    pid: jvm::Pid,
    /// The directory given to start
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    attach: Attach,
}

#[derive(Args)]
struct ConvertArgs {
    /// The directory of profile.jfr, into which the files are written
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// The experiment's name or title, which precedes the event in every title
    #[arg(long, default_value = "", value_parser = one_line)]
    title: String,
    /// Events to draw [default: cpu, alloc and lock, and other recorded events]
    #[arg(long, value_enum, value_delimiter = ',')]
    events: Option<Vec<Event>>,
    /// Rules for categories.json that replace the built-in categories.toml
    #[arg(long, value_name = "FILE")]
    categories: Option<PathBuf>,
    /// Leave out samples before this time since the recording's start, such as 10s
    #[arg(long, value_parser = parse_duration_ns)]
    from: Option<u64>,
    /// Leave out samples after this time since the recording's start
    #[arg(long, value_parser = parse_duration_ns)]
    to: Option<u64>,
    /// Also write <event>.pprof
    #[arg(long)]
    pprof: bool,
    /// Show all frames of java.lang.foreign's downcalls, which are otherwise one frame [downcall]
    #[arg(long)]
    unfold: bool,
    /// Also compare the slowest seconds of this latency log with the rest, as `tail` does
    #[arg(long, value_name = "FILE")]
    latency: Option<PathBuf>,
    /// Heap limit of the converter, in MiB
    #[arg(long, default_value_t = 1024, value_name = "MIB", value_parser = clap::value_parser!(u32).range(16..))]
    heap: u32,
    /// Time limit of the converter
    #[arg(long, default_value = "600s", value_parser = parse_duration_ns)]
    time_limit: u64,
}

#[derive(Args)]
struct DiffArgs {
    /// Directories of converted recordings, before the change. With three or more on each side, each is one observation
    #[arg(long, required = true, num_args = 1.., value_name = "DIR")]
    a: Vec<PathBuf>,
    /// Directories of converted recordings, after the change
    #[arg(long, required = true, num_args = 1.., value_name = "DIR")]
    b: Vec<PathBuf>,
    /// Directory for diff.json, diff.md and the differential flame graphs
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Name of A [default: the title of its recording]
    #[arg(long, value_parser = one_line)]
    title_a: Option<String>,
    /// Name of B
    #[arg(long, value_parser = one_line)]
    title_b: Option<String>,
    /// Events to compare, if both sides have them
    #[arg(long, value_enum, value_delimiter = ',', default_value = "cpu,alloc,lock,wall,nativemem")]
    events: Vec<Event>,
    /// Rules that replace the built-in categories.toml
    #[arg(long, value_name = "FILE")]
    categories: Option<PathBuf>,
    /// Compare even if engines or intervals differ
    #[arg(long)]
    force: bool,
}

const WORST_DEFAULT: f64 = 0.05;
const PERCENTILE_DEFAULT: f64 = 99.0;

#[derive(Args)]
struct TailArgs {
    /// The directory of a converted recording, into which tail.json, tail.md and the differential flame graphs are
    /// written
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// HdrHistogram log of the same repetition, values in nanoseconds
    #[arg(long, value_name = "FILE")]
    latency: PathBuf,
    /// Share of the seconds that counts as slowest; at least three seconds
    #[arg(long, default_value_t = WORST_DEFAULT, value_parser = parse_part)]
    worst: f64,
    /// Percentile of latency that ranks the seconds
    #[arg(long, default_value_t = PERCENTILE_DEFAULT)]
    percentile: f64,
    /// Rules that replace the built-in categories.toml
    #[arg(long, value_name = "FILE")]
    categories: Option<PathBuf>,
}

fn parse_part(text: &str) -> Result<f64, String> {
    let part = text.parse().ok().filter(|part| *part > 0.0 && *part <= 0.3);
    part.ok_or_else(|| "expected a share above 0 and at most 0.3, such as 0.05".to_owned())
}

/// A title without control characters, which a terminal would obey and XML does not allow.
fn one_line(text: &str) -> Result<String, Infallible> {
    Ok(text.replace(char::is_control, " "))
}

#[derive(Args)]
struct UnpackArgs {
    /// Also put libasyncProfiler.so into this directory
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

/// Runs the command; the error is a message for the user.
pub fn run(cli: Cli) -> Result<()> {
    let tools = Tools::at(cli.lib);
    match cli.command {
        Command::Probe(args) => {
            let target = args.pid.map(|pid| jvm::resolve(&pid)).transpose()?;
            let probe = perf::probe(target.as_ref(), args.attach.fdtransfer);
            print(serde_json::to_string_pretty(&probe)? + "\n")
        }
        Command::Start(args) => recorder::start(
            &tools,
            &jvm::resolve(&args.pid)?,
            &args.attach,
            &recorder::Recording {
                out: args.out,
                events: args.events,
                interval_ns: args.interval,
                wall_interval_ns: args.wall_interval,
                alloc_interval_bytes: args.alloc_interval,
                lock_threshold_ns: args.lock_threshold,
                nativemem_interval_bytes: args.nativemem_interval,
                depth: args.depth,
                time_max: Duration::from_nanos(args.timeout),
            },
        ),
        Command::Stop(args) => recorder::stop(&tools, &jvm::resolve(&args.pid)?, &args.attach, &args.out),
        Command::Convert(args) => {
            let tail = args.latency.map(|latency| tail::Request {
                out: args.out.clone(),
                latency,
                worst: WORST_DEFAULT,
                percentile: PERCENTILE_DEFAULT,
                categories: args.categories.clone(),
            });
            let request = convert::Request {
                out: args.out,
                title: args.title,
                events: args.events,
                categories: args.categories,
                from_ms: args.from.map(|ns| ns / 1_000_000),
                to_ms: args.to.map(|ns| ns / 1_000_000),
                unfold: args.unfold,
                pprof: args.pprof,
                heap_mib_max: args.heap,
                time_max: Duration::from_nanos(args.time_limit),
            };
            convert::convert(&tools, &request)?;
            tail.map_or(Ok(()), |tail| tail::tail_if_possible(&tail))
        }
        Command::Diff(args) => diff::diff(&diff::Request {
            a: args.a,
            b: args.b,
            out: args.out,
            title_a: args.title_a,
            title_b: args.title_b,
            events: args.events,
            categories: args.categories,
            force: args.force,
        }),
        Command::Tail(args) => {
            let request = tail::Request {
                out: args.out,
                latency: args.latency,
                worst: args.worst,
                percentile: args.percentile,
                categories: args.categories,
            };
            print(tail::tail(&request)?)
        }
        Command::Unpack(args) => {
            print(format_args!("{}\n{}\n", tools.asprof()?.display(), tools.library()?.display()))?;
            if let Some(directory) = args.to {
                print(format_args!("{}\n", tools.library_in(&directory)?.display()))?;
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_unknown_event_is_refused_with_the_known_ones() {
        let error = Cli::try_parse_from(["profile", "convert", "--out", "x", "--events", "cpu,disk"])
            .err()
            .expect("refused")
            .to_string();
        assert!(error.contains("disk") && error.contains("alloc") && error.contains("wall"), "{error}");
    }
}
