//! The command line: wrk2's options, and those that this generator adds.

mod values;

use crate::part::Part;
use crate::schedule::{Schedule, Step};
use crate::target::Target;
use crate::units::{Rate, parse_count, parse_positive_time_ns, parse_rate, parse_time_ns};
use clap::{Parser, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;
pub use values::CpuList;

const EXAMPLES: &str = "\
Examples:
  loadgen -t2 -c64 -d30s -R10000 -L http://127.0.0.1:8080/
      10,000 requests a second for 30 seconds over 64 connections, with the latency distribution
  loadgen -t4 -c64 -d1m -R70k -L -s scripts/get.lua http://127.0.0.1:8080 -- pairs=2000000
      GET requests for uniformly random keys of a dataset of two million pairs
  loadgen -c1 -d10s -R1000 -L --idle hybrid --json run.json --hdr-log run.hlog http://127.0.0.1:8080/
      the most precise timing, with the results as JSON and as an HdrHistogram log
  loadgen -t1 -c8 -d1m --requests 1000 -R50 --warmup 5s --pool open http://127.0.0.1:8080/
      a thousand requests after a warm-up, each over any free connection
  loadgen merge a.hlog b.hlog
      one distribution for several runs, from their --hdr-log files
  loadgen -t4 -c64 -R70k --part 1/2 --start-at 2026-11-21T09:14:35Z --record 1.record http://10.0.0.7:8080/
      one of two generators that together send what one would: half of the requests, over half of the connections
  loadgen merge 1.record 2.record --json run.json --hdr-log run.hlog
      one report for both generators

Numbers take k, M and G (10k = 10000); times take us, ms, s, m and h (a bare number is seconds).
If an option is given twice, its last value counts; only the headers of -H add up.

Latency counts from the moment a request was due, not from the moment it was sent: a server that
stalls is charged for every request that should have been sent during the stall.

Exit codes: 0 the run took place (the report counts the peer's errors); 1 usage or script error;
2 no connection could be made; 3 with --strict, the schedule was not kept; 130 after Ctrl-C (143 after SIGTERM),
with a report of the results so far.";

/// Applies load to an HTTP server at a constant rate and reports its latency.
#[derive(Debug, Clone, Parser)]
#[command(name = "loadgen", version, disable_version_flag = true, after_help = EXAMPLES, max_term_width = 110)]
// As in wrk2, the last value of an option counts, so that a user can append to a given command line.
#[command(args_override_self = true)]
pub struct Arguments {
    /// Number of threads, each with its own script state; at most one per connection. Threads on the same CPU share an
    /// event loop.
    #[arg(short, long, value_name = "N", default_value = "2", value_parser = values::threads)]
    pub threads: u64,

    /// Connections to keep open, over all threads; rounded down to a multiple of the threads.
    #[arg(short, long, value_name = "N", default_value = "10", value_parser = parse_count)]
    pub connections: u64,

    /// Time for which requests are sent.
    #[arg(short, long = "duration", value_name = "TIME", default_value = "10s", value_parser = parse_positive_time_ns)]
    #[arg(conflicts_with = "rate_plan")]
    pub duration_ns: u64,

    /// Requests a second, over all connections.
    #[arg(short = 'R', long, value_name = "RATE", value_parser = parse_rate, required_unless_present = "rate_plan")]
    pub rate: Option<Rate>,

    /// Send at the rate for this long before the run. No output counts these requests; those not sent in time are
    /// dropped.
    #[arg(long = "warmup", value_name = "TIME", default_value = "0s", value_parser = parse_time_ns)]
    pub warmup_ns: u64,

    /// End before -d once this many requests have been due and each has been answered or lost.
    #[arg(long, value_name = "N", value_parser = parse_count)]
    pub requests: Option<u64>,

    /// Rule that chooses the connection of a request.
    #[arg(long, value_enum, default_value_t = Pool::Fixed)]
    pub pool: Pool,

    /// Limit the rate of a connection that is behind schedule to this many times its usual rate (2 in wrk2). Default:
    /// no limit.
    #[arg(long, value_name = "FACTOR", value_parser = values::catch_up_factor)]
    pub catch_up_max: Option<f64>,

    /// Print the latency distribution.
    #[arg(short = 'L', long)]
    pub latency: bool,

    /// Also print the latency from the moment of sending (implies -L).
    #[arg(short = 'U', long = "u_latency")]
    pub u_latency: bool,

    /// With pipelining, record one latency per batch, that of its last response, instead of one per response.
    #[arg(short = 'B', long = "batch_latency")]
    pub batch_latency: bool,

    /// Lua script that makes the requests; arguments after `--` are passed to its `init(args)`.
    #[arg(short, long, value_name = "FILE")]
    pub script: Option<PathBuf>,

    /// Header to add to every request; may be repeated, with the same name too.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = values::header)]
    pub headers: Vec<(String, String)>,

    /// Count a request as timed out if its response takes longer than this after sending. The response is still
    /// awaited.
    #[arg(short = 'T', long = "timeout", value_name = "TIME", default_value = "2s", value_parser = parse_positive_time_ns)]
    pub timeout_ns: u64,

    /// Statuses that count as served in addition to 200 to 399, such as 404 if keys may be missing.
    #[arg(long, value_name = "STATUS,…", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(100..=599))]
    #[arg(action = clap::ArgAction::Set, num_args = 1)]
    pub expect: Vec<u16>,

    /// Rates and ramps in sequence, instead of -R and -d, such as 10k:30s,10k-50k:1m,50k:30s.
    #[arg(long, value_name = "STEPS", value_delimiter = ',', value_parser = Step::parse, conflicts_with = "rate")]
    #[arg(action = clap::ArgAction::Set, num_args = 1)]
    pub rate_plan: Vec<Step>,

    /// Distribution of the due times of requests.
    #[arg(long, value_enum, value_name = "KIND", default_value_t = ArrivalKind::Even)]
    pub arrivals: ArrivalKind,

    /// Seed of the random arrivals: the same seed gives the same times.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Write the results to FILE as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,

    /// Run as generator I of N. Together they send what one generator would send with the same command line: threads,
    /// connections and requests are divided among them. The numbers of threads and connections must be multiples of N.
    #[arg(long, value_name = "I/N", default_value = "1/1", value_parser = Part::parse)]
    pub part: Part,

    /// Send the first request at this wall-clock time: RFC 3339, or seconds since 1970. If connecting takes longer,
    /// start as soon as possible; the schedule then counts as not kept.
    #[arg(long, value_name = "TIME", value_parser = values::moment)]
    pub start_at: Option<jiff::Timestamp>,

    /// Write a record to FILE, from which `loadgen merge` makes one report of several generators.
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,

    /// Write the latencies to FILE as an HdrHistogram log, one interval a second, in nanoseconds.
    #[arg(long, value_name = "FILE")]
    pub hdr_log: Option<PathBuf>,

    /// Serve live metrics for Prometheus at http://HOST:PORT/metrics during the run.
    #[arg(long, value_name = "HOST:PORT", value_parser = values::socket_address)]
    pub metrics: Option<SocketAddr>,

    /// Way in which a thread waits until the next request is due.
    #[arg(long, value_enum, default_value_t = Idle::Sleep)]
    pub idle: Idle,

    /// Run the event loops at niceness -20, so that other processes of the session do not delay them. They keep their
    /// niceness if the system refuses.
    #[arg(long)]
    pub high_priority: bool,

    /// CPUs for the threads, such as 1 or 0,2-3. Each thread is pinned to one CPU; threads on the same CPU share an
    /// event loop. Default: all CPUs that the process may use, without pinning.
    #[arg(long, value_name = "LIST", value_parser = values::cpu_list)]
    pub cpus: Option<CpuList>,

    /// Largest move of a latency percentile by the generator's own delays with which the schedule counts as kept. A
    /// move of up to 10% is always allowed.
    #[arg(long = "send-lag-max", value_name = "TIME", default_value = "100us", value_parser = parse_positive_time_ns)]
    pub send_lag_max_ns: u64,

    /// End with exit code 3 if the schedule was not kept.
    #[arg(long)]
    pub strict: bool,

    /// Print the version.
    #[arg(short = 'v', long, action = clap::ArgAction::Version)]
    pub version: Option<bool>,

    /// The URL to send to: http://HOST[:PORT][/PATH], or https:// for TLS 1.2 or 1.3. As in wrk2, certificates are not
    /// verified.
    #[arg(value_parser = Target::parse)]
    pub url: Target,

    /// Arguments for the script's `init(args)`.
    #[arg(value_name = "ARGS")]
    pub script_arguments: Vec<String>,
}

/// The way in which a thread waits until the next request is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Idle {
    /// Sleep in the kernel until the exact nanosecond. Uses the least CPU time.
    Sleep,
    /// Poll from 50 µs before a request is due until 200 µs after it was sent, or until its response arrives. More
    /// punctual than sleep; for threads that have a CPU each.
    Hybrid,
    /// Poll all the time. The most punctual; each thread uses a whole CPU.
    Spin,
}

/// Rule that chooses the connection of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pool {
    /// Each connection has its own plan, as in wrk2. A request that is due on a busy connection waits for that
    /// connection.
    Fixed,
    /// Any free connection of the thread sends the next request. A request waits only while all connections are busy.
    Open,
}

/// Distribution of the due times of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArrivalKind {
    /// Evenly spaced, as in wrk2.
    Even,
    /// A Poisson process: requests are independent of each other, like those of many users.
    Poisson,
}

impl Arguments {
    /// Checks conditions that involve several options.
    pub fn validate(&self) -> Result<(), String> {
        if self.connections < self.threads {
            return Err(format!(
                "--connections {} is less than --threads {}: every thread needs a connection; raise -c or lower -t",
                self.connections, self.threads
            ));
        }
        let parts = self.part.of;
        if self.threads % parts != 0 || self.connections % self.threads != 0 && parts > 1 {
            return Err(format!(
                "--part {}: {} threads and {} connections cannot be divided evenly: -t must be a multiple of {parts}, \
                 and -c one of -t",
                self.part, self.threads, self.connections
            ));
        }
        if self.high_priority && self.idle != Idle::Sleep {
            return Err(
                "--high-priority needs --idle sleep: a loop that polls would block every other process on its CPU"
                    .to_owned(),
            );
        }
        if self.pool == Pool::Open && self.catch_up_max.is_some() {
            return Err("--catch-up-max limits single connections: it needs --pool fixed".to_owned());
        }
        if self.warmup_ns > 0 && matches!(self.rate_plan.first(), Some(Step::Ramp(from, ..)) if *from == 0.0) {
            return Err(
                "--warmup uses the rate with which the plan begins, which is 0: begin with another rate".to_owned()
            );
        }
        let given = |wanted: &str| self.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(wanted)).count();
        if given("Host") > 1 {
            return Err("-H: Host is given twice; a request has one (RFC 9112, section 3.2)".to_owned());
        }
        if given("Content-Length") > 0 {
            return Err("-H: Content-Length follows from the body; leave it out".to_owned());
        }
        for file in [&self.json, &self.hdr_log, &self.record].into_iter().flatten() {
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
                return Err(format!("cannot write {}: directory {} does not exist", file.display(), folder.display()));
            }
        }
        Ok(())
    }

    /// The schedule that the options describe.
    pub fn schedule(&self) -> Schedule {
        let constant = self.rate.map(|rate| Step::Constant(rate, self.duration_ns));
        let steps: Vec<Step> = constant.into_iter().chain(self.rate_plan.iter().copied()).collect();
        let schedule = Schedule::of_steps(&steps).with_warmup(self.warmup_ns);
        let schedule = match self.arrivals {
            ArrivalKind::Even => schedule,
            ArrivalKind::Poisson => schedule.with_poisson_arrivals(self.seed),
        };
        match self.requests {
            Some(requests) => schedule.limited_to(requests, self.parties()),
            None => schedule,
        }
    }

    /// The number of plans over all generators: one per connection with `--pool fixed`, one per thread with `--pool
    /// open`.
    pub fn parties(&self) -> u64 {
        match self.pool {
            Pool::Fixed => self.connections_per_thread() * self.threads,
            Pool::Open => self.threads,
        }
    }

    /// Connections of each thread.
    pub fn connections_per_thread(&self) -> u64 {
        self.connections / self.threads
    }
}

#[cfg(test)]
mod tests;
