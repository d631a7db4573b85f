//! Did the generator keep its schedule? If not, its figures say more about itself than about the server.

use crate::clock::MICROSECOND;
use crate::units::format_time_us;
use serde::Serialize;

/// A thread that was idle for less than this share of the run had no reserve left.
const IDLE_SHARE_MIN: f64 = 0.02;

/// The share of the median latency that send lag may reach before it distorts what is reported.
const SHARE_OF_MEDIAN_LATENCY: f64 = 0.1;

/// The generator's judgement of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// Whether requests were sent when they were due, as far as that was up to the generator.
    #[serde(rename = "verdict")]
    pub kept: bool,
    /// Why not.
    pub reasons: Vec<String>,
}

/// What a verdict rests on. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct VerdictInput {
    /// 99th percentile of send lag; 0 where nothing was sent on a free connection.
    pub send_lag_p99_ns: u64,
    /// Median latency.
    pub latency_p50_ns: u64,
    /// Send lag that is always accepted (`--send-lag-max`).
    pub send_lag_max_ns: u64,
    /// For each thread the share of the run in which it had nothing to do.
    pub idle_shares: Vec<f64>,
    /// Connections that were open at the start, and wanted.
    pub connected: u64,
    /// See `connected`.
    pub connections: u64,
}

impl Verdict {
    /// Kept if, and only if:
    ///
    /// - the 99th percentile of send lag is at most 10% of the median latency, or at most `send_lag_max_ns`;
    /// - every thread was idle for at least 2% of the run;
    /// - all connections could be made.
    pub fn of(input: &VerdictInput) -> Self {
        let mut reasons = Vec::new();
        let tenth_ns = (input.latency_p50_ns as f64 * SHARE_OF_MEDIAN_LATENCY) as u64;
        if input.send_lag_p99_ns > tenth_ns.max(input.send_lag_max_ns) {
            let show = |time_ns: u64| format_time_us(time_ns as f64 / MICROSECOND as f64);
            reasons.push(format!(
                "requests were sent late: send lag is {} at 99%, over 10% of the median latency ({}) and over {}",
                show(input.send_lag_p99_ns),
                show(input.latency_p50_ns),
                show(input.send_lag_max_ns)
            ));
        }
        let saturated = input.idle_shares.iter().filter(|share| **share < IDLE_SHARE_MIN).count();
        if saturated > 0 {
            reasons.push(format!(
                "{saturated} of {} threads had no idle time: the generator was the bottleneck; give it more CPUs or a lower rate",
                input.idle_shares.len()
            ));
        }
        if input.connected < input.connections {
            reasons.push(format!(
                "only {} of {} connections could be made at the start",
                input.connected, input.connections
            ));
        }
        Self { kept: reasons.is_empty(), reasons }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> VerdictInput {
        VerdictInput {
            send_lag_p99_ns: 90_000,
            latency_p50_ns: 200_000,
            send_lag_max_ns: 100_000,
            idle_shares: vec![0.5, 0.9],
            connected: 64,
            connections: 64,
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
        let late = reasons(VerdictInput { send_lag_p99_ns: 101_000, ..good() });
        assert!(late.starts_with("requests were sent late: send lag is 101.00us at 99%"), "{late}");
        assert!(
            reasons(VerdictInput { idle_shares: vec![0.5, 0.01], ..good() }).starts_with("1 of 2 threads had no idle")
        );
        assert!(reasons(VerdictInput { connected: 63, ..good() }).contains("63 of 64"));
    }

    #[test]
    fn a_slow_server_leaves_room_for_more_lag() {
        let slow = VerdictInput { send_lag_p99_ns: 900_000, latency_p50_ns: 10_000_000, ..good() };
        assert_eq!(reasons(slow), "");
    }
}
