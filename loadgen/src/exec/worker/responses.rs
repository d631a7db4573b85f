//! Handles input on the connections: responses, ends of streams, and invalid bytes.

use super::Worker;
use super::traffic::{CLOSED, Loss, UNFINISHED};
use crate::exec::connection::Phase;
use crate::exec::protocol::WorkerError;
use crate::exec::system::{Stream, System};
use crate::http::{Response, shown};
use crate::stats::Sample;
use std::io;

impl<S: System> Worker<'_, S> {
    /// Reads once. If more is left, the poller reports the socket again.
    pub(super) fn read(&mut self, index: usize) -> Result<(), WorkerError> {
        if self.connections[index].session.is_some() {
            return self.read_encrypted(index);
        }
        let mut buffer = std::mem::take(&mut self.read_buffer);
        let read = self.connections[index].stream().receive(&mut buffer);
        let now = self.system.now_ns();
        if let Ok((_, arrived_ns)) = read {
            self.note_unread(index, arrived_ns, now);
        }
        let outcome = match read {
            Ok((0, _)) => self.peer_closed(index, now),
            Ok((length, _)) => {
                let taken = self.take_bytes(index, &buffer[..length], now);
                taken.and_then(|()| self.go_on(index, now))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(()),
            Err(error) => {
                self.cut_off(index, error_reason(&error), error.to_string(), now);
                Ok(())
            }
        };
        self.read_buffer = buffer;
        outcome
    }

    /// Records how long the data that was read at `now` lay unread. `arrived_ns` is the time at which the kernel
    /// received it.
    pub(super) fn note_unread(&mut self, index: usize, arrived_ns: Option<u64>, now: u64) {
        let unread_ns = arrived_ns.map_or(0, |arrived_ns| (now + self.realtime_offset_ns).saturating_sub(arrived_ns));
        // Someone may have set the clock since the offset was taken.
        self.unread_ns = unread_ns.min(now.saturating_sub(self.connections[index].sent_ns));
    }

    /// Handles the loss of a connection that the peer has closed. Requests in flight count as read errors with `reason`;
    /// `first` says what happened.
    pub(super) fn cut_off(&mut self, index: usize, reason: &'static str, first: String, now: u64) {
        let connection = &mut self.connections[index];
        let busy = connection.is_busy();
        if connection.phase == Phase::Idle {
            connection.lag_ns = 0;
        }
        self.lose(index, if busy { Loss::Read(reason, first) } else { Loss::Nothing }, now);
    }

    /// Handles the end of the peer's stream, which completes a response without a length.
    pub(super) fn peer_closed(&mut self, index: usize, now: u64) -> Result<(), WorkerError> {
        let connection = &mut self.connections[index];
        match connection.is_busy().then(|| connection.parser.end_of_stream()).flatten() {
            Some(response) => {
                self.answered(index, response, now)?;
                self.lose(index, Loss::Nothing, now);
            }
            None => self.cut_off(index, CLOSED, UNFINISHED.to_owned(), now),
        }
        Ok(())
    }

    /// Counts the responses in `bytes`. Closes the connection if the bytes are invalid.
    pub(super) fn take_bytes(&mut self, index: usize, bytes: &[u8], now: u64) -> Result<(), WorkerError> {
        let connection = &self.connections[index];
        if !connection.is_busy() || connection.due_ns >= self.times.measured_ns {
            self.tally.interval.bytes_read += bytes.len() as u64;
        }
        let wants_responses = self.script_threads[self.connections[index].script_thread].script.wants_responses();
        let mut rest = bytes;
        while !rest.is_empty() {
            let connection = &mut self.connections[index];
            if !connection.is_busy() {
                // Some servers send a line end after a body.
                let extra = rest.trim_ascii_start();
                if !extra.is_empty() {
                    // This connection cannot be trusted any more.
                    self.lose(index, Loss::Read("bytes without a request", format!("{:?}", shown(extra))), now);
                }
                return Ok(());
            }
            let to_head = connection.batch.is_head(connection.answered);
            let capture = wants_responses.then_some(&mut connection.capture);
            match connection.parser.feed(rest, to_head, capture) {
                Ok((consumed, response)) => {
                    rest = &rest[consumed..];
                    let Some(response) = response else { continue };
                    self.answered(index, response, now)?;
                    if !response.keep_alive {
                        self.lose(index, Loss::Nothing, now);
                        return Ok(());
                    }
                }
                Err(error) => {
                    self.lose(index, Loss::Read(error.reason(), error.to_string()), now);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Lets a free connection send the next request if it is due.
    ///
    /// Call this only after all input is consumed. Otherwise the remaining bytes would be taken for the response to the
    /// next request.
    pub(super) fn go_on(&mut self, index: usize, now: u64) -> Result<(), WorkerError> {
        if self.running && self.connections[index].phase == Phase::Idle { self.proceed(index, now) } else { Ok(()) }
    }

    /// Counts a response. The last response of a batch frees the connection.
    fn answered(&mut self, index: usize, response: Response, now: u64) -> Result<(), WorkerError> {
        let connection = &mut self.connections[index];
        connection.answered += 1;
        let last = connection.answered == connection.batch.count();
        let script_thread = &mut self.script_threads[connection.script_thread];
        self.tally.in_flight -= 1;
        if connection.due_ns >= self.times.measured_ns {
            let latency_ns = now - connection.due_ns;
            self.tally.last_outcome_ns = now;
            let served = self.plan.expected.contains(response.status);
            self.tally.interval.count_response(response.status, served);
            if last || !self.plan.batch_latency {
                self.tally.interval.recorded +=
                    if self.plan.batch_latency { u64::from(connection.answered) } else { 1 };
                self.tally.interval.latencies.record(Sample {
                    latency_ns,
                    uncorrected_ns: now - connection.sent_ns,
                    own_error_ns: connection.lag_ns + self.unread_ns,
                    operation: connection.batch.operation(connection.answered - 1),
                    served,
                });
            }
            script_thread.count_response(latency_ns);
            if !connection.timed_out && now - connection.sent_ns > self.plan.timeout_ns {
                connection.timed_out = true;
                self.tally.interval.errors.timeout += 1;
            }
        }
        if last {
            // A response may arrive before its request is written in full; the peer still waits for the rest.
            match connection.phase {
                Phase::Writing => connection.phase = Phase::Finishing,
                _ => connection.is_free(now, self.unread_ns),
            }
        }
        if script_thread.script.wants_responses() {
            script_thread.script.response(response.status, &connection.capture)?;
        }
        Ok(())
    }
}

/// The reason of a response that was lost by an error of the system, in a few words.
pub(super) fn error_reason(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::ConnectionReset { "connection reset" } else { "reading failed" }
}
