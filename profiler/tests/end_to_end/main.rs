//! The command against real JVMs: a small program whose methods must appear by name in every file.
//!
//! Needs a JDK 25 (`bin/find-jdk`), and Maven once to collect async-profiler.

mod comparison;
mod conversion;
mod errors;
mod recording;
mod support;
