//! `profile`: makes one recording of a JVM with async-profiler, and all files that are drawn from it.
//!
//! `probe`, `start` and `stop` drive `asprof`; `convert` turns `profile.jfr` into flame graphs, heatmaps, collapsed
//! stacks, pictures and categories. docs/profiling.md is the manual, docs/contracts.md the contract.

mod categories;
mod cli;
mod collapsed;
mod compare;
mod convert;
mod converter;
mod counts;
mod diff;
mod draw;
mod event;
mod latency;
mod process;
mod quality;
mod record;
#[cfg(test)]
mod recorded;
mod samples;
mod scratch;
mod shares;
#[cfg(test)]
mod simulation;
mod stats;
mod table;
mod tail;
mod tools;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::Cli::parse();
    match cli::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("profile: {error:#}");
            ExitCode::FAILURE
        }
    }
}
