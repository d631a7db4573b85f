//! Counts per event loop and second on the hot path, which the collector merges.

pub(crate) mod encoding;
mod interval;
mod read_errors;
mod summary;
mod totals;

pub use interval::{Errors, ExpectedStatuses, Interval, Latencies, Sample, new_histogram};
pub use summary::{DistributionSummary, PERCENTILES, within_stdev};
pub use totals::{Second, SecondRow, Totals};

/// Highest status code with its own counter. Higher codes share it.
const STATUS_MAX: usize = 999;
pub use read_errors::{ReadError, ReadErrors};
