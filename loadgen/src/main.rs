//! The command `loadgen`.

use clap::Parser;
use clap::error::ErrorKind;
use loadgen::cli::Arguments;
use loadgen::run::{Interrupts, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // Nothing can be done where even the help cannot be printed.
            let _ = error.print();
            return ExitCode::from(if asked_for { 0 } else { 1 });
        }
    };
    let interrupts = match Interrupts::install() {
        Ok(interrupts) => interrupts,
        Err(error) => {
            eprintln!("loadgen: cannot handle Ctrl-C: {error}");
            return ExitCode::from(1);
        }
    };
    match run(&arguments, &interrupts, &mut std::io::stdout().lock()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("loadgen: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}
