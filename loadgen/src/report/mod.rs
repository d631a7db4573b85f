//! The results of a run, and the formats in which they are reported.

mod ending;
mod hdr_log;
mod json;
mod live;
mod record;
mod results;
mod shape;
mod spectrum;
mod text;
mod verdict;

pub use ending::{Ending, LoopEnding, ThreadEnding, results_together};
pub use hdr_log::HdrLog;
pub use live::{Live, serve_metrics};
pub use record::{Record, RecordReader, Recorded, RecordedSecond, is_record};
pub use results::{Censored, CommonStart, GeneratorResult, LoopCpu, Results, RunDescription, Unfinished};
pub use shape::{LoadShape, RateStep};
pub use spectrum::{Spectrum, SpectrumRow, in_microseconds};
pub use text::{LatencyBlock, TextReport, ThreadStat, heading};
pub use verdict::{GeneratorStop, Moved, Verdict, VerdictInput};
