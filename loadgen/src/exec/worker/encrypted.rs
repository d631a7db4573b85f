//! Handshakes and reads on TLS connections. [`Connection::write`] does the writing.
//!
//! [`Connection::write`]: crate::exec::connection::Connection::write

use super::Worker;
use super::responses::error_reason;
use super::traffic::Loss;
use crate::exec::connection::Phase;
use crate::exec::protocol::WorkerError;
use crate::exec::system::{Stream, System, Writer};
use crate::net::Interest;
use crate::tls::Received;
use std::io;

const PEER_CLOSED: &str = "the peer closed";

impl<S: System> Worker<'_, S> {
    /// Starts the handshake on a connected socket. Until it succeeds, the connection counts as connecting.
    pub(super) fn begin_handshake(&mut self, index: usize) -> Result<(), WorkerError> {
        let connection = &mut self.connections[index];
        let Phase::Connecting { deadline_ns } = connection.phase else { unreachable!("it has just connected") };
        let tls = self.plan.tls.as_ref().expect("asked for by the plan");
        match tls.session() {
            Ok(session) => {
                connection.session = Some(Box::new(session));
                connection.phase = Phase::Handshaking { deadline_ns };
                self.shake_hands(index)
            }
            Err(error) => {
                self.connect_failed(index, error, self.system.now_ns());
                Ok(())
            }
        }
    }

    /// Continues the handshake. Once it has succeeded, the connection is free.
    pub(super) fn shake_hands(&mut self, index: usize) -> Result<(), WorkerError> {
        let mut plain = std::mem::take(&mut self.plain_buffer);
        let advanced = self.advance_handshake(index, &mut plain);
        let now = self.system.now_ns();
        let outcome = match advanced {
            Ok(None) => Ok(()),
            Ok(Some(received)) => {
                self.connections[index].is_free(now, 0);
                self.take_received(index, &received, &plain, now)
            }
            Err(error) => {
                self.connect_failed(index, error, now);
                Ok(())
            }
        };
        self.plain_buffer = plain;
        outcome
    }

    /// Reads and writes once. Returns the data that arrived with the end of the handshake, or `None` if it continues.
    fn advance_handshake(&mut self, index: usize, plain: &mut Vec<u8>) -> io::Result<Option<Received>> {
        let failed = |kind, reason: &str| io::Error::new(kind, format!("the TLS handshake failed: {reason}"));
        // A peer that closes with unread input, or that is sent more, resets the connection.
        let closed = |error: io::Error| match error.kind() {
            kind @ (io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe) => failed(kind, PEER_CLOSED),
            _ => error,
        };
        let received = match self.receive(index, plain) {
            Err(error) if is_nothing(&error) => Received::Open,
            other => other.map_err(closed)?,
        };
        let connection = &mut self.connections[index];
        let session = connection.session.as_mut().expect("a handshake has a session");
        if session.is_handshaking() {
            match received {
                Received::Open => {}
                Received::Closed => return Err(failed(io::ErrorKind::UnexpectedEof, PEER_CLOSED)),
                Received::Alert(alert) => {
                    return Err(failed(io::ErrorKind::ConnectionRefused, &format!("the peer sent the alert {alert}")));
                }
                Received::Violation(reason) => return Err(failed(io::ErrorKind::InvalidData, &reason)),
            }
        }
        let stream = connection.stream.as_ref().expect("a session has a socket");
        let flushed = session.flush(Writer(stream)).map_err(closed)?;
        let done = !session.is_handshaking();
        // The rest of our last handshake message is sent with the first request.
        let interest = if flushed || done { Interest::Read } else { Interest::ReadWrite };
        let token = Self::token(connection, index);
        self.system.watch(connection.stream(), interest, token)?;
        Ok(done.then_some(received))
    }

    /// Reads once, and counts the responses in the bytes that have arrived.
    pub(super) fn read_encrypted(&mut self, index: usize) -> Result<(), WorkerError> {
        let mut plain = std::mem::take(&mut self.plain_buffer);
        let received = self.receive(index, &mut plain);
        // Taken after decryption, which is part of receiving a response.
        let now = self.system.now_ns();
        let outcome = match received {
            Ok(received) => self.take_received(index, &received, &plain, now),
            Err(error) if is_nothing(&error) => Ok(()),
            Err(error) => {
                self.cut_off(index, error_reason(&error), error.to_string(), now);
                Ok(())
            }
        };
        self.plain_buffer = plain;
        outcome
    }

    /// Reads from the socket once, and decrypts into `plain`, whose old content is removed first.
    fn receive(&mut self, index: usize, plain: &mut Vec<u8>) -> io::Result<Received> {
        plain.clear();
        let (length, arrived_ns) = self.connections[index].stream().receive(&mut self.read_buffer)?;
        self.note_unread(index, arrived_ns, self.system.now_ns());
        let session = self.connections[index].session.as_mut().expect("asked for connections with one only");
        match length {
            // Many peers close without close_notify.
            0 => Ok(Received::Closed),
            length => Ok(session.receive(&self.read_buffer[..length], plain)),
        }
    }

    fn take_received(&mut self, index: usize, received: &Received, plain: &[u8], now: u64) -> Result<(), WorkerError> {
        self.take_bytes(index, plain, now)?;
        if matches!(self.connections[index].phase, Phase::Closed { .. }) {
            return Ok(());
        }
        match received {
            Received::Open => return self.go_on(index, now),
            Received::Closed => return self.peer_closed(index, now),
            Received::Alert(alert) => self.cut_off(index, "TLS alert", alert.clone(), now),
            Received::Violation(what) => self.lose(index, Loss::Read("invalid TLS", what.clone()), now),
        }
        Ok(())
    }
}

/// Whether the error only says that nothing can be read at the moment.
fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}
