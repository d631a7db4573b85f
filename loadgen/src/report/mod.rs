//! The results of a run and the forms in which they are given away.

mod hdr_log;
mod json;
mod live;
mod results;
mod spectrum;
mod text;
mod verdict;

pub use hdr_log::HdrLog;
pub use live::{Live, serve_metrics};
pub use results::{Censored, GeneratorStop, LoopCpu, Results, RunDescription, Unfinished};
pub use spectrum::{Spectrum, SpectrumRow, in_microseconds};
pub use text::{LatencyBlock, TextReport, ThreadStat, heading};
pub use verdict::{Moved, Verdict, VerdictInput};
