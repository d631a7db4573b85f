//! A clock, a poller, sockets and a server in virtual time.
//!
//! Time passes only in [`System::wait`], and in each reading of the clock if the world says so. The server decides what
//! becomes of a request by the world's seed and the time at which the request arrived, and by nothing else. So
//! generators that send the same requests at the same times are served alike, however many they are.

use super::conditions::Conditions;
use super::peer::Peer;
use crate::exec::{Stream, System, WorkerError};
use crate::net::{Event, Interest};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::cell::RefCell;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Nanoseconds by which the time stamps of arrivals are ahead of the clock.
const REALTIME_OFFSET_NS: u64 = 7_000_000_000;

/// Duration of each poll by a loop that polls instead of sleeping.
const POLL_NS: u64 = 5_000;

/// Number of waits without progress of time after which a loop counts as hanging.
const IDLE_WAITS_MAX: u32 = 100_000;

/// What the server saw of one request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// Index of the connection, in the order in which they were opened.
    pub(super) connection: u64,
    /// When the loop wrote its first byte.
    pub(super) sent_ns: u64,
    /// When the last byte of its response arrived, if it was answered.
    pub(super) answered_ns: Option<u64>,
}

#[derive(Debug)]
struct Inner {
    conditions: Conditions,
    random: SmallRng,
    now_ns: u64,
    peers: Vec<Peer>,
    next_id: u64,
    seen: Vec<Seen>,
    stop: Arc<AtomicBool>,
    idle_waits: u32,
}

/// A world; clones are the same world.
#[derive(Debug, Clone)]
pub(super) struct World(Rc<RefCell<Inner>>);

/// The system of one loop in a world.
#[derive(Debug)]
pub(super) struct VirtualSystem {
    world: World,
    ready: Vec<Event>,
}

/// A socket; identified by a number.
#[derive(Debug)]
pub(super) struct VirtualStream {
    world: World,
    id: u64,
}

impl World {
    /// A world at time 0. `stop` is set at the time of the interrupt. Worlds that differ in `salt` alone serve requests
    /// alike, but events and delays come in another order.
    pub(super) fn new(conditions: Conditions, salt: u64, stop: Arc<AtomicBool>) -> Self {
        Self(Rc::new(RefCell::new(Inner {
            conditions,
            random: SmallRng::seed_from_u64(conditions.seed.wrapping_add(salt)),
            now_ns: 0,
            peers: Vec::new(),
            next_id: 0,
            seen: Vec::new(),
            stop,
            idle_waits: 0,
        })))
    }

    pub(super) fn system(&self) -> VirtualSystem {
        VirtualSystem { world: self.clone(), ready: Vec::new() }
    }

    /// What became of each request, in the order in which they were sent.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.0.borrow().seen.clone()
    }
}

impl Inner {
    fn peer(&mut self, id: u64) -> &mut Peer {
        self.peers.iter_mut().find(|peer| peer.id == id).expect("an open socket")
    }

    fn pass(&mut self, time_ns: u64) {
        self.now_ns += time_ns;
        if self.conditions.interrupt_ns.is_some_and(|at_ns| at_ns <= self.now_ns) {
            self.stop.store(true, Ordering::Relaxed);
        }
    }

    fn happens(&mut self, per_mille: u32) -> bool {
        per_mille > 0 && self.random.random_range(0..1000) < per_mille
    }
}

impl System for VirtualSystem {
    type Stream = VirtualStream;

    fn enter_thread(&mut self, _cpu: Option<usize>, _high_priority: bool) -> Result<bool, WorkerError> {
        Ok(false)
    }

    fn now_ns(&self) -> u64 {
        let mut inner = self.world.0.borrow_mut();
        let reading_ns = inner.conditions.reading_ns_max;
        if reading_ns > 0 {
            let passed_ns = inner.random.random_range(0..=reading_ns);
            inner.pass(passed_ns);
        }
        inner.now_ns
    }

    fn realtime_offset_ns(&self) -> u64 {
        REALTIME_OFFSET_NS
    }

    fn cpu_ns(&self) -> u64 {
        self.world.0.borrow().now_ns / 2
    }

    fn connect(&mut self, _address: SocketAddr, token: u64) -> io::Result<VirtualStream> {
        let mut inner = self.world.0.borrow_mut();
        let refusal = inner.conditions.refusal_per_mille;
        let connected = match inner.happens(refusal) {
            true if inner.random.random() => return Err(ErrorKind::ConnectionRefused.into()),
            true if inner.random.random() => (u64::MAX, false),
            refused => {
                let seed = inner.conditions.seed ^ inner.now_ns;
                (inner.now_ns + SmallRng::seed_from_u64(seed).random_range(0..1_000_000), !refused)
            }
        };
        let id = inner.next_id;
        inner.next_id += 1;
        inner.peers.push(Peer::new(id, token, connected));
        Ok(VirtualStream { world: self.world.clone(), id })
    }

    fn watch(&mut self, stream: &VirtualStream, interest: Interest, token: u64) -> io::Result<()> {
        let mut inner = self.world.0.borrow_mut();
        let peer = inner.peer(stream.id);
        (peer.interest, peer.token) = (interest, token);
        Ok(())
    }

    fn wait(&mut self, timeout_ns: u64) -> io::Result<usize> {
        let mut inner = self.world.0.borrow_mut();
        let inner = &mut *inner;
        let before_ns = inner.now_ns;
        let first_ns = inner.peers.iter().map(Peer::ready_ns).min().unwrap_or(u64::MAX);
        let mut until_ns = first_ns.clamp(before_ns, before_ns.saturating_add(timeout_ns));
        if inner.conditions.lateness_ns_max > 0 {
            until_ns += inner.random.random_range(0..=inner.conditions.lateness_ns_max);
        }
        if inner.happens(inner.conditions.stop_per_mille) {
            until_ns += inner.random.random_range(0..100_000_000);
        }
        if inner.idle_waits > 1 {
            until_ns = until_ns.max(first_ns.min(before_ns + POLL_NS));
        }
        if let Some((from_ns, length_ns)) = inner.conditions.stop_ns.filter(|(from_ns, _)| *from_ns <= until_ns) {
            until_ns = from_ns + length_ns;
            inner.conditions.stop_ns = None;
        }
        inner.pass(until_ns - before_ns);
        inner.idle_waits = if inner.now_ns > before_ns { 0 } else { inner.idle_waits + 1 };
        assert!(inner.idle_waits < IDLE_WAITS_MAX, "the loop hangs at {}", inner.now_ns);
        let now_ns = inner.now_ns;
        self.ready.clear();
        self.ready.extend(inner.peers.iter().filter(|peer| peer.ready_ns() <= now_ns).map(|peer| peer.event(now_ns)));
        // Any order, and at times not all of them.
        for index in (1..self.ready.len()).rev() {
            self.ready.swap(index, inner.random.random_range(0..=index));
        }
        if self.ready.len() > 1 && inner.happens(200) {
            self.ready.truncate(1);
        }
        Ok(self.ready.len())
    }

    fn event(&self, index: usize) -> Event {
        self.ready[index]
    }
}

impl Stream for VirtualStream {
    fn connect_outcome(&self) -> io::Result<()> {
        match self.world.0.borrow_mut().peer(self.id).connected.1 {
            true => Ok(()),
            false => Err(ErrorKind::ConnectionRefused.into()),
        }
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
        let mut inner = self.world.0.borrow_mut();
        let now_ns = inner.now_ns;
        let peer = inner.peer(self.id);
        let (mut length, mut arrived_ns) = (0, None);
        while peer.inbox.front().is_some_and(|(piece_ns, _)| *piece_ns <= now_ns) {
            let (piece_ns, piece) = peer.inbox.pop_front().expect("there is a first piece");
            buffer[length..length + piece.len()].copy_from_slice(&piece);
            length += piece.len();
            arrived_ns = Some(piece_ns + REALTIME_OFFSET_NS);
        }
        match peer.end {
            _ if length > 0 => Ok((length, arrived_ns)),
            Some((end_ns, true)) if end_ns <= now_ns => Err(ErrorKind::ConnectionReset.into()),
            Some((end_ns, false)) if end_ns <= now_ns && peer.inbox.is_empty() => Ok((0, None)),
            _ => Err(ErrorKind::WouldBlock.into()),
        }
    }

    fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.world.0.borrow_mut();
        let inner = &mut *inner;
        let (now_ns, partial_write) = (inner.now_ns, inner.conditions.partial_write_per_mille);
        let (conditions, partly) = (inner.conditions, inner.happens(partial_write));
        let length = if partly { inner.random.random_range(0..bytes.len()) } else { bytes.len() };
        let pause_ns = inner.random.random_range(1..5_000_000);
        let peer = inner.peers.iter_mut().find(|peer| peer.id == self.id).expect("an open socket");
        if peer.end.is_some_and(|(end_ns, reset)| reset && end_ns <= now_ns) {
            return Err(ErrorKind::BrokenPipe.into());
        }
        if peer.room_ns > now_ns {
            return Err(ErrorKind::WouldBlock.into());
        }
        if partly {
            peer.room_ns = now_ns + pause_ns;
        }
        if let Some(end) = peer.end.as_mut().filter(|end| end.0 <= now_ns) {
            // A peer that has closed answers further bytes with a reset.
            end.1 = true;
        }
        for byte in &bytes[..length] {
            if peer.partial.is_empty() {
                peer.partial_sent_ns = now_ns;
            }
            peer.partial.push(*byte);
            if peer.partial.ends_with(b"\r\n\r\n") {
                let answered_ns = peer.serve(&conditions, now_ns);
                inner.seen.push(Seen { connection: self.id, sent_ns: peer.partial_sent_ns, answered_ns });
                peer.partial.clear();
            }
        }
        match length {
            0 => Err(ErrorKind::WouldBlock.into()),
            length => Ok(length),
        }
    }
}

impl Drop for VirtualStream {
    fn drop(&mut self) {
        let mut inner = self.world.0.borrow_mut();
        inner.peers.retain(|peer| peer.id != self.id);
    }
}
