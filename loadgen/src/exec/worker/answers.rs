//! What arrives on the connections: answers, ends, garbage.

use super::Worker;
use super::traffic::Loss;
use crate::clock::now_ns;
use crate::exec::connection::Phase;
use crate::exec::protocol::WorkerError;
use crate::http::Answer;
use std::io::{self, Read};

impl Worker<'_> {
    /// Reads what has arrived, once: the poller reports what is left.
    pub(super) fn read(&mut self, index: usize) -> Result<(), WorkerError> {
        if self.connections[index].session.is_some() {
            return self.read_encrypted(index);
        }
        let mut buffer = std::mem::take(&mut self.read_buffer);
        let mut socket = self.connections[index].socket.as_ref().expect("a connection that reads has a socket");
        let read = socket.read(&mut buffer);
        let now = now_ns();
        let outcome = match read {
            Ok(0) => self.peer_closed(index, now),
            Ok(length) => {
                let taken = self.take_bytes(index, &buffer[..length], now);
                taken.and_then(|()| self.go_on(index, now))
            }
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(()),
            Err(_) => {
                self.cut_off(index, now);
                Ok(())
            }
        };
        self.read_buffer = buffer;
        outcome
    }

    /// The peer has ended the connection without ado: an error for those who wait for it, and for nobody else.
    pub(super) fn cut_off(&mut self, index: usize, now: u64) {
        let busy = self.connections[index].is_busy();
        self.lose(index, if busy { Loss::Read } else { Loss::Nothing }, now);
    }

    /// The peer sends no more, which is how some answers end.
    pub(super) fn peer_closed(&mut self, index: usize, now: u64) -> Result<(), WorkerError> {
        let connection = &mut self.connections[index];
        if !connection.is_busy() {
            self.lose(index, Loss::Nothing, now);
            return Ok(());
        }
        if let Some(answer) = connection.parser.end_of_stream() {
            self.answered(index, answer, now)?;
            self.lose(index, Loss::Nothing, now);
        } else {
            self.lose(index, Loss::Read, now);
        }
        Ok(())
    }

    /// Counts the answers in `bytes`, which closes the connection where they are none.
    pub(super) fn take_bytes(&mut self, index: usize, bytes: &[u8], now: u64) -> Result<(), WorkerError> {
        let connection = &self.connections[index];
        if !connection.is_busy() || connection.due_ns >= self.measured_ns {
            self.interval.bytes_read += bytes.len() as u64;
        }
        let wants_responses = self.lanes[self.connections[index].lane].script.wants_responses();
        let mut rest = bytes;
        while !rest.is_empty() {
            let connection = &mut self.connections[index];
            if !connection.is_busy() {
                // Bytes that nobody asked for: this connection cannot be trusted any more.
                self.lose(index, Loss::Read, now);
                return Ok(());
            }
            let to_head = connection.batch.is_head(connection.answered);
            let capture = wants_responses.then_some(&mut connection.capture);
            match connection.parser.feed(rest, to_head, capture) {
                Ok((consumed, answer)) => {
                    rest = &rest[consumed..];
                    let Some(answer) = answer else { continue };
                    self.answered(index, answer, now)?;
                    if !answer.keep_alive {
                        self.lose(index, Loss::Nothing, now);
                        return Ok(());
                    }
                }
                Err(_) => {
                    self.lose(index, Loss::Read, now);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Lets a connection that is free send what is due.
    ///
    /// Only once all that was read is taken: bytes left over would be taken for the answer to the next request.
    pub(super) fn go_on(&mut self, index: usize, now: u64) -> Result<(), WorkerError> {
        if self.running && self.connections[index].phase == Phase::Idle { self.proceed(index, now) } else { Ok(()) }
    }

    /// Counts an answer; the last one of a batch frees the connection.
    fn answered(&mut self, index: usize, answer: Answer, now: u64) -> Result<(), WorkerError> {
        let connection = &mut self.connections[index];
        connection.answered += 1;
        let last = connection.answered == connection.batch.count();
        let lane = &mut self.lanes[connection.lane];
        self.in_flight -= 1;
        if connection.due_ns >= self.measured_ns {
            let latency_ns = now - connection.due_ns;
            self.last_outcome_ns = now;
            self.interval.count_answer(answer.status);
            if last || !self.plan.batch_latency {
                self.interval.latencies.latency.saturating_record(latency_ns);
                self.interval.latencies.uncorrected.saturating_record(now - connection.sent_ns);
            }
            lane.answer(latency_ns);
            if !connection.timed_out && now - connection.sent_ns > self.plan.timeout_ns {
                connection.timed_out = true;
                self.interval.errors.timeout += 1;
            }
        }
        if last {
            connection.phase = Phase::Idle;
            connection.free_since_ns = now;
        }
        if lane.script.wants_responses() {
            lane.script.response(answer.status, &connection.capture)?;
        }
        Ok(())
    }
}
