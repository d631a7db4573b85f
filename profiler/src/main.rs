//! `profile`: makes one recording of a JVM with async-profiler, and all files that are drawn from it.
//!
//! `probe`, `start` and `stop` drive `asprof`; `convert` turns `profile.jfr` into flame graphs, heatmaps, collapsed
//! stacks, pictures and categories. docs/profiling.md is the manual, docs/contracts.md the contract.

// they panic if the output cannot be written: see print.rs
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

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
mod print;
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
            print::warn(format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
