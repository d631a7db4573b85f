//! Output for people. Unlike `println!`, nothing here ends the program if the output cannot be written.

use anyhow::{Context, Result};
use std::fmt::Display;
use std::io::{self, Write};

/// Writes a text to stdout.
pub fn print(text: impl Display) -> Result<()> {
    let mut out = io::stdout();
    write!(out, "{text}").and_then(|()| out.flush()).context("cannot write to standard output")
}

/// Writes a warning or an error to stderr if possible: if not, there is nobody to tell.
pub fn warn(message: impl Display) {
    let _ = writeln!(io::stderr(), "profile: {message}");
}
