//! A constant-rate HTTP load generator with wrk2's command line, Lua interface and report.

pub mod cli;
pub mod clock;
pub mod exec;
pub mod http;
pub mod merge;
pub mod net;
pub mod part;
pub mod report;
pub mod run;
pub mod schedule;
pub mod script;
pub mod stats;
pub mod target;
pub mod tls;
pub mod units;
