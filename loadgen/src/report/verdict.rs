//! The verdict on the generator. If it did not keep its schedule, its figures describe the generator rather than the
//! server.

use crate::clock::MICROSECOND;
use crate::stats::Latencies;
use crate::units::format_time_us;
use hdrhistogram::Histogram;
use serde::Serialize;

/// Smallest share of the run in which an event loop must be idle. A loop with less had no reserve.
const IDLE_SHARE_MIN: f64 = 0.02;

/// Seconds for which an event loop must have been busy before it counts as one without idle time.
const BUSY_S_MIN: f64 = 0.1;

/// Share of a latency percentile by which the generator's own delays may move it.
const MOVED_SHARE_MAX: f64 = 0.1;

/// Share of the requests that must be due during a stop for the stop to show in the 99.9th percentile.
const STOP_SHARE_MIN: f64 = 0.001;

/// The generator's verdict on itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether requests were sent when they were due, apart from delays of the server.
    #[serde(rename = "verdict")]
    pub kept: bool,
    /// Why the schedule was not kept.
    pub reasons: Vec<String>,
}

/// A latency percentile in nanoseconds, as measured and without the generator's own delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// The percentile as measured.
    pub latency_ns: u64,
    /// The percentile without the generator's own delays.
    pub net_ns: u64,
}

impl Moved {
    /// Computes `percentile` of both distributions.
    pub fn of(latencies: &Latencies, percentile: f64) -> Self {
        let at = |histogram: &Histogram<u64>| histogram.value_at_percentile(percentile);
        Self { latency_ns: at(&latencies.latency), net_ns: at(&latencies.net) }
    }

    /// Whether the generator moved the percentile by more than 10% and by more than `allowed_ns`.
    pub fn is_visible(self, allowed_ns: u64) -> bool {
        let moved_ns = self.latency_ns.saturating_sub(self.net_ns);
        moved_ns > allowed_ns && moved_ns as f64 > self.net_ns as f64 * MOVED_SHARE_MAX
    }
}

/// A gap in which an event loop of the generator did not run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GeneratorStop {
    /// When the gap began, in seconds since the start of the run.
    pub at_s: f64,
    /// Length of the gap in microseconds.
    pub length_us: f64,
    /// Index of the event loop.
    #[serde(rename = "loop")]
    pub event_loop: usize,
}

/// The figures that a verdict is based on.
#[derive(Debug, Clone, PartialEq)]
pub struct VerdictInput {
    /// The median.
    pub p50: Moved,
    /// The 99th percentile.
    pub p99: Moved,
    /// The 99.9th percentile.
    pub p99_9: Moved,
    /// Nanoseconds by which a percentile may always be moved (`--send-lag-max`).
    pub allowed_ns: u64,
    /// The longest gaps in which an event loop did not run.
    pub stops: Vec<GeneratorStop>,
    /// Length of the run in seconds.
    pub elapsed_s: f64,
    /// The share of the run in which each event loop was idle.
    pub idle_shares: Vec<f64>,
    /// The failure that ended the run early, if there was one.
    pub ended_by: Option<String>,
    /// Number of connections that were open at the start.
    pub connected: u64,
    /// Number of connections requested.
    pub connections: u64,
    /// Nanoseconds by which the run started later than requested.
    pub start_missed_by_ns: u64,
}

impl Verdict {
    /// Decides whether the schedule was kept. It was if all of these hold:
    ///
    /// - the generator's own delays moved neither the median nor the 99th percentile of latency by more than 10% and
    ///   more than `allowed_ns`;
    /// - they did not move the 99.9th percentile by that much either, or no single stop covers a thousandth of the run;
    /// - every event loop was idle for at least 2% of the run;
    /// - all connections were open at the start;
    /// - the requested start was not missed.
    pub fn of(input: &VerdictInput) -> Self {
        let mut reasons = Vec::new();
        let show = |time_ns: u64| format_time_us(time_ns as f64 / MICROSECOND as f64);
        for (percentile, moved) in [("50", input.p50), ("99", input.p99)] {
            if moved.is_visible(input.allowed_ns) {
                reasons.push(format!(
                    "requests were sent late: latency at {percentile}% is {} with the generator's own delays and {} \
                     without, over 10% and over {} less",
                    show(moved.latency_ns),
                    show(moved.net_ns),
                    show(input.allowed_ns)
                ));
            }
        }
        let longest = input.stops.iter().max_by(|a, b| a.length_us.total_cmp(&b.length_us));
        let run_us = input.elapsed_s * 1e6 * input.idle_shares.len().max(1) as f64;
        if let Some(stop) = longest.filter(|stop| stop.length_us >= run_us * STOP_SHARE_MIN) {
            if input.p99_9.is_visible(input.allowed_ns) {
                reasons.push(format!(
                    "requests were sent late: the generator was stopped for {} at {:.1}s, which is seen in the tail: \
                     latency at 99.9% is {}, and {} without its own delays",
                    format_time_us(stop.length_us),
                    stop.at_s,
                    show(input.p99_9.latency_ns),
                    show(input.p99_9.net_ns)
                ));
            }
        }
        let is_saturated = |share: &&f64| **share < IDLE_SHARE_MIN && (1.0 - **share) * input.elapsed_s >= BUSY_S_MIN;
        let saturated = input.idle_shares.iter().filter(is_saturated).count();
        if saturated > 0 {
            reasons.push(format!(
                "{saturated} of {} event loops had no idle time: the generator was the bottleneck; give it more CPUs or a lower rate",
                input.idle_shares.len()
            ));
        }
        if let Some(failure) = &input.ended_by {
            reasons.push(format!("the run ended early: {failure}"));
        }
        if input.connected < input.connections {
            reasons
                .push(format!("only {} of {} connections were open at the start", input.connected, input.connections));
        }
        if input.start_missed_by_ns > 0 {
            reasons.push(format!(
                "the start was missed by {}: the connections were not open in time, or the clocks differ; give a later --start-at",
                show(input.start_missed_by_ns)
            ));
        }
        Self { kept: reasons.is_empty(), reasons }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> VerdictInput {
        let moved = |latency_us: u64, net_us: u64| Moved { latency_ns: latency_us * 1000, net_ns: net_us * 1000 };
        VerdictInput {
            p50: moved(200, 105),
            p99: moved(5_000, 4_600),
            p99_9: moved(9_000, 8_900),
            allowed_ns: 100_000,
            stops: vec![GeneratorStop { at_s: 3.0, length_us: 30_000.0, event_loop: 1 }],
            elapsed_s: 10.0,
            idle_shares: vec![0.5, 0.9],
            ended_by: None,
            connected: 64,
            connections: 64,
            start_missed_by_ns: 0,
        }
    }

    fn reasons(input: VerdictInput) -> String {
        let verdict = Verdict::of(&input);
        assert_eq!(verdict.kept, verdict.reasons.is_empty());
        verdict.reasons.join("; ")
    }

    #[test]
    fn each_condition_alone_decides() {
        assert_eq!(reasons(good()), "");
        let late = reasons(VerdictInput { p50: Moved { latency_ns: 210_000, net_ns: 105_000 }, ..good() });
        assert!(late.starts_with("requests were sent late: latency at 50% is 210.00us with"), "{late}");
        let late = reasons(VerdictInput { p99: Moved { latency_ns: 806_000_000, net_ns: 130_000 }, ..good() });
        assert!(late.contains("at 99% is 806.00ms with the generator's own delays and 130.00us without"), "{late}");
        let busy = reasons(VerdictInput { idle_shares: vec![0.5, 0.01], ..good() });
        assert!(busy.starts_with("1 of 2 event loops had no idle"), "{busy}");
        // A run of a moment has no time to be idle.
        assert_eq!(reasons(VerdictInput { idle_shares: vec![0.0], elapsed_s: 0.05, ..good() }), "");
        let failed = VerdictInput { ended_by: Some("script: request: s.lua:1: x".to_owned()), ..good() };
        assert_eq!(reasons(failed), "the run ended early: script: request: s.lua:1: x");
        assert!(reasons(VerdictInput { connected: 63, ..good() }).contains("63 of 64"));
        let missed = reasons(VerdictInput { start_missed_by_ns: 1_500_000_000, ..good() });
        assert!(missed.starts_with("the start was missed by 1.50s"), "{missed}");
    }

    #[test]
    fn a_stop_counts_if_it_covers_a_thousandth_of_the_requests() {
        let visible = VerdictInput { p99_9: Moved { latency_ns: 30_000_000, net_ns: 9_000_000 }, ..good() };
        let reason = reasons(visible.clone());
        assert!(reason.contains("the generator was stopped for 30.00ms at 3.0s"), "{reason}");
        // 30 ms of one of two loops is less than a thousandth of 20 s of both.
        assert_eq!(reasons(VerdictInput { elapsed_s: 20.0, ..visible.clone() }), "");
        assert_eq!(reasons(VerdictInput { stops: Vec::new(), ..visible }), "");
    }

    #[test]
    fn a_constant_offset_of_some_tens_of_microseconds_or_a_small_share_is_no_fault() {
        for (latency_ns, net_ns) in [(150_000, 60_000), (9_000_000, 8_300_000)] {
            assert_eq!(reasons(VerdictInput { p99: Moved { latency_ns, net_ns }, ..good() }), "");
        }
    }
}
