//! The conditions of a run in virtual time: delays, faults and their probabilities.

/// How a world treats the loop and its requests. Probabilities are in thousandths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Conditions {
    pub(super) seed: u64,
    /// The service time of most requests; a few take up to ten times as long.
    pub(super) service_ns: u64,
    /// Up to this much time passes whenever the loop reads the clock.
    pub(super) reading_ns_max: u64,
    /// A wait ends up to this much later than the event or the time that ended it.
    pub(super) lateness_ns_max: u64,
    /// A wait ends up to 100 ms later.
    pub(super) stop_per_mille: u32,
    /// Requests that are reset, cut off, answered with garbage or never answered.
    pub(super) failure_per_mille: u32,
    /// Responses after which the server closes the connection, half of them because the end completes them.
    pub(super) close_per_mille: u32,
    /// Responses that arrive in several pieces.
    pub(super) pieces_per_mille: u32,
    /// Writes of which the socket accepts only a part.
    pub(super) partial_write_per_mille: u32,
    /// Attempts to connect that fail.
    pub(super) refusal_per_mille: u32,
    /// No response arrives from this time on.
    pub(super) silent_from_ns: Option<u64>,
    /// The user presses Ctrl-C at this time.
    pub(super) interrupt_ns: Option<u64>,
    /// The loop does not run from this time on, for this long.
    pub(super) stop_ns: Option<(u64, u64)>,
    /// The server serves nothing from the first time to the second.
    pub(super) stall_ns: Option<(u64, u64)>,
}

impl Conditions {
    /// A loop that is never late and a server that never fails.
    pub(super) const CALM: Self = Self {
        seed: 0,
        service_ns: 1,
        reading_ns_max: 0,
        lateness_ns_max: 0,
        stop_per_mille: 0,
        failure_per_mille: 0,
        close_per_mille: 0,
        pieces_per_mille: 0,
        partial_write_per_mille: 0,
        refusal_per_mille: 0,
        silent_from_ns: None,
        interrupt_ns: None,
        stop_ns: None,
        stall_ns: None,
    };
}
