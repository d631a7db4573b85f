//! The seam between an event loop and the operating system: a clock, a poller and sockets.
//!
//! The loop is generic in it, so the real system costs no indirection, and tests run the same loop in virtual time.

use super::protocol::WorkerError;
use crate::clock;
use crate::net::{self, Event, Interest, Poller};
use socket2::Socket;
use std::fmt::Debug;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;

/// Maximum number of events fetched from the kernel at a time.
const EVENTS_MAX: usize = 256;

/// The clock and the poller of one event loop. Times are in nanoseconds.
pub trait System: Debug {
    /// A socket of this system.
    type Stream: Stream;

    /// Prepares the thread that runs the loop: pins it to `cpu`, if there is one, and asks for punctual wake-ups.
    /// Returns whether the thread runs at the highest niceness.
    fn enter_thread(&mut self, cpu: Option<usize>, high_priority: bool) -> Result<bool, WorkerError>;

    /// The time of the monotonic clock.
    fn now_ns(&self) -> u64;

    /// How far the clock of [`Stream::receive`] is ahead of [`System::now_ns`].
    fn realtime_offset_ns(&self) -> u64;

    /// The CPU time that the loop has used.
    fn cpu_ns(&self) -> u64;

    /// Starts to connect to `address`. Events of the socket carry `token`; it is writable once the attempt has ended.
    fn connect(&mut self, address: SocketAddr, token: u64) -> io::Result<Self::Stream>;

    /// Changes the kind of readiness to wait for on `stream`.
    fn watch(&mut self, stream: &Self::Stream, interest: Interest, token: u64) -> io::Result<()>;

    /// Waits at most `timeout_ns` for events and returns their number.
    fn wait(&mut self, timeout_ns: u64) -> io::Result<usize>;

    /// Event number `index` of the last wait, from 0.
    fn event(&self, index: usize) -> Event;
}

/// A non-blocking stream socket. Dropping it closes the connection.
pub trait Stream: Debug {
    /// The result of connecting. Call this once the socket is writable.
    fn connect_outcome(&self) -> io::Result<()>;

    /// Reads the bytes that have arrived. Returns their number, and the arrival time of the last ones if it is known.
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)>;

    /// Writes as much of `bytes` as there is room for, and returns that length.
    fn send(&self, bytes: &[u8]) -> io::Result<usize>;
}

/// A stream as a writer.
#[derive(Debug)]
pub(super) struct Writer<'a, S>(pub(super) &'a S);

impl<S: Stream> Write for Writer<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The real system.
#[derive(Debug)]
pub struct Linux {
    poller: Poller,
}

impl Linux {
    /// Makes a poller without sockets.
    pub fn new() -> io::Result<Self> {
        Ok(Self { poller: Poller::new(EVENTS_MAX)? })
    }
}

impl System for Linux {
    type Stream = Socket;

    fn enter_thread(&mut self, cpu: Option<usize>, high_priority: bool) -> Result<bool, WorkerError> {
        if let Some(cpu) = cpu {
            net::pin_this_thread(cpu).map_err(|error| WorkerError::Cpu { cpu, error })?;
        }
        net::set_timer_slack_of_this_thread_to_minimum()?;
        // If the kernel refuses either, the send lag shows what that costs.
        let high_priority = high_priority && net::raise_priority_of_this_thread().is_ok();
        let _ = net::shorten_time_slice_of_this_thread();
        Ok(high_priority)
    }

    #[inline]
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn realtime_offset_ns(&self) -> u64 {
        clock::realtime_offset_ns()
    }

    fn cpu_ns(&self) -> u64 {
        clock::thread_cpu_ns()
    }

    fn connect(&mut self, address: SocketAddr, token: u64) -> io::Result<Socket> {
        let socket = net::connect(address)?;
        // Without kernel time stamps every response counts as read when it arrived.
        let _ = net::note_arrivals(&socket);
        self.poller.add(socket.as_raw_fd(), Interest::ReadWrite, token)?;
        Ok(socket)
    }

    fn watch(&mut self, stream: &Socket, interest: Interest, token: u64) -> io::Result<()> {
        self.poller.modify(stream.as_raw_fd(), interest, token)
    }

    #[inline]
    fn wait(&mut self, timeout_ns: u64) -> io::Result<usize> {
        self.poller.wait(timeout_ns)
    }

    #[inline]
    fn event(&self, index: usize) -> Event {
        self.poller.event(index)
    }
}

impl Stream for Socket {
    fn connect_outcome(&self) -> io::Result<()> {
        net::connect_outcome(self)
    }

    #[inline]
    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        net::receive(self, buffer)
    }

    #[inline]
    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(&mut { self }, bytes)
    }
}
