//! The command `loadgen`.

use clap::Parser;
use clap::error::ErrorKind;
use loadgen::cli::Arguments;
use loadgen::merge::{MergeArguments, merge};
use loadgen::run::{Interrupts, run};
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args_os().peekable();
    let program = words.next();
    if words.peek().is_some_and(|word| word == "merge") {
        return match MergeArguments::try_parse_from(words) {
            Ok(arguments) => {
                exit_code(merge(&arguments, &mut std::io::stdout().lock()).map(|()| 0).map_err(|e| (e, 1)))
            }
            Err(error) => usage(&error),
        };
    }
    let arguments = match Arguments::try_parse_from(program.into_iter().chain(words)) {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    let interrupts = match Interrupts::install() {
        Ok(interrupts) => interrupts,
        Err(error) => {
            return exit_code(Err((format!("cannot handle Ctrl-C: {error}"), 1)));
        }
    };
    let outcome = run(&arguments, &interrupts, &mut std::io::stdout().lock());
    exit_code(outcome.map_err(|error| (error.to_string(), error.exit_code())))
}

/// Prints the help text, or what is wrong with the command line.
fn usage(error: &clap::Error) -> ExitCode {
    let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    // If even the help cannot be printed, there is nothing left to do.
    let _ = error.print();
    ExitCode::from(if asked_for { 0 } else { 1 })
}

fn exit_code(outcome: Result<u8, (String, u8)>) -> ExitCode {
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err((message, code)) => {
            // `eprintln!` would panic if standard error cannot be written.
            let _ = writeln!(std::io::stderr(), "loadgen: {message}");
            ExitCode::from(code)
        }
    }
}
