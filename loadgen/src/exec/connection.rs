//! A connection: its requests on the wire, and the time at which it sends the next one.

use super::stops::STOP_NS_MIN;
use super::system::{Stream, Writer};
use crate::http::{Batch, Capture, ResponseParser};
use crate::schedule::Arrivals;
use crate::tls::Session;
use std::io;

/// The state of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Not connected; the next attempt is at this time.
    Closed { retry_ns: u64 },
    /// Connecting; gives up at this time.
    Connecting { deadline_ns: u64 },
    /// In the TLS handshake; gives up at this time.
    Handshaking { deadline_ns: u64 },
    /// Nothing on the wire.
    Idle,
    /// A batch is being written.
    Writing,
    /// A batch has been written and its responses are awaited.
    Waiting,
    /// The batch was answered before it was written in full; the rest is still being written.
    Finishing,
    /// The thread of the connection has ended.
    Ended,
}

/// A connection and the requests it owns. Used by one thread only.
#[derive(Debug)]
pub(super) struct Connection<S> {
    pub(super) stream: Option<S>,
    /// The TLS session on that socket, if the URL is https.
    pub(super) session: Option<Box<Session>>,
    /// Increases with each new socket, so that events of an earlier socket can be recognised.
    pub(super) generation: u32,
    pub(super) phase: Phase,
    /// Index of the connection's script thread within the loop.
    pub(super) script_thread: usize,
    /// The requests of this connection that have not been sent yet; `None` in an open pool.
    pub(super) arrivals: Option<Arrivals>,
    /// Whether the connection is in the open pool's queue of free connections.
    pub(super) in_pool: bool,
    /// No request is sent before this time, because of the limit on catching up.
    pub(super) held_until_ns: u64,
    /// When the script wants the next request to be sent, if the script has already been asked.
    pub(super) delayed_due_ns: Option<u64>,
    /// Time of the current timer entry; other entries are obsolete.
    pub(super) wake_ns: u64,
    /// When the wire would have been empty if the generator had never been late.
    pub(super) ideal_free_ns: u64,
    /// `held_until_ns` if the generator had never been late.
    pub(super) ideal_held_ns: u64,
    /// The requests on the wire.
    pub(super) batch: Batch,
    pub(super) answered: u32,
    pub(super) due_ns: u64,
    pub(super) sent_ns: u64,
    /// Nanoseconds by which the batch was sent later than a generator that is never late would have sent it.
    pub(super) lag_ns: u64,
    /// Whether the batch has been counted as timed out.
    pub(super) timed_out: bool,
    pub(super) parser: ResponseParser,
    pub(super) capture: Capture,
    /// The part of a request that the socket has not yet accepted; with TLS the session holds it.
    unwritten: Vec<u8>,
    /// Number of bytes of `unwritten` that the socket has accepted.
    unwritten_at: usize,
    /// Number of successive sockets over which no request was sent.
    pub(super) useless_sockets: u32,
}

impl<S: Stream> Connection<S> {
    pub(super) fn new(script_thread: usize, arrivals: Option<Arrivals>) -> Self {
        Self {
            stream: None,
            session: None,
            generation: 0,
            phase: Phase::Closed { retry_ns: 0 },
            script_thread,
            arrivals,
            in_pool: false,
            held_until_ns: 0,
            delayed_due_ns: None,
            wake_ns: u64::MAX,
            ideal_free_ns: 0,
            ideal_held_ns: 0,
            batch: Batch::default(),
            answered: 0,
            due_ns: 0,
            sent_ns: 0,
            lag_ns: 0,
            timed_out: false,
            parser: ResponseParser::default(),
            capture: Capture::default(),
            unwritten: Vec::new(),
            unwritten_at: 0,
            useless_sockets: 0,
        }
    }

    /// Whether the connection is connecting or in the TLS handshake.
    pub(super) fn is_connecting(&self) -> bool {
        matches!(self.phase, Phase::Connecting { .. } | Phase::Handshaking { .. })
    }

    /// Whether requests are on the wire.
    pub(super) fn is_busy(&self) -> bool {
        matches!(self.phase, Phase::Writing | Phase::Waiting)
    }

    /// Records that the wire is empty from `now_ns` on. A generator that is never late would have reached this point
    /// earlier: by the lateness of its send, and by `unread_ns`, the time for which the response lay unread. A delay
    /// below [`STOP_NS_MIN`], the kernel's usual time to wake a thread, is ignored, because it would add up with each
    /// request on a connection that is behind.
    pub(super) fn is_free(&mut self, now_ns: u64, unread_ns: u64) {
        self.phase = Phase::Idle;
        let stopped_ns = if unread_ns >= STOP_NS_MIN { unread_ns } else { 0 };
        self.ideal_free_ns = now_ns - stopped_ns - self.lag_ns;
    }

    /// Number of requests on the wire without a response.
    pub(super) fn outstanding(&self) -> u64 {
        if self.is_busy() { u64::from(self.batch.count() - self.answered) } else { 0 }
    }

    pub(super) fn stream(&self) -> &S {
        self.stream.as_ref().expect("a connection in this phase has a socket")
    }

    /// Writes the text of a batch. Returns whether the socket accepted all of it.
    #[inline]
    pub(super) fn write(&mut self, text: &[u8]) -> io::Result<bool> {
        if let Some(session) = &mut self.session {
            return session.write(text, Writer(self.stream.as_ref().expect("a session has a socket")));
        }
        let written = self.write_some(text)?;
        if written == text.len() {
            return Ok(true);
        }
        self.unwritten.clear();
        self.unwritten.extend_from_slice(&text[written..]);
        self.unwritten_at = 0;
        Ok(false)
    }

    /// Continues where [`Connection::write`] stopped. Returns whether the socket accepted the rest.
    pub(super) fn write_rest(&mut self) -> io::Result<bool> {
        if let Some(session) = &mut self.session {
            return session.flush(Writer(self.stream.as_ref().expect("a session has a socket")));
        }
        self.unwritten_at += self.write_some(&self.unwritten[self.unwritten_at..])?;
        Ok(self.unwritten_at == self.unwritten.len())
    }

    /// Closes the socket. Sends close_notify to a TLS peer first.
    pub(super) fn close(&mut self) {
        if let (Some(mut session), Some(stream)) = (self.session.take(), &self.stream) {
            session.close(Writer(stream));
        }
        self.stream = None;
    }

    fn write_some(&self, text: &[u8]) -> io::Result<usize> {
        loop {
            // std ignores SIGPIPE, so a closed peer is an error here and no signal.
            match self.stream().send(text) {
                Ok(written) => return Ok(written),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}
