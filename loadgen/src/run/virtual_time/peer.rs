//! The server's end of one connection.

use super::conditions::Conditions;
use crate::net::{Event, Interest};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::VecDeque;

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) id: u64,
    pub(super) token: u64,
    pub(super) interest: Interest,
    /// When the attempt to connect ends, and whether it succeeds.
    pub(super) connected: (u64, bool),
    /// Pieces of responses with the times at which they arrive.
    pub(super) inbox: VecDeque<(u64, Vec<u8>)>,
    /// When the peer closes, and whether it resets the connection.
    pub(super) end: Option<(u64, bool)>,
    /// The socket accepts nothing before this time.
    pub(super) room_ns: u64,
    /// The part of a request that has arrived, and when its first byte was sent.
    pub(super) partial: Vec<u8>,
    pub(super) partial_sent_ns: u64,
    /// When the server has served all requests so far.
    pub(super) free_ns: u64,
}

impl Peer {
    pub(super) fn new(id: u64, token: u64, connected: (u64, bool)) -> Self {
        Self {
            id,
            token,
            interest: Interest::ReadWrite,
            connected,
            inbox: VecDeque::new(),
            end: None,
            room_ns: 0,
            partial: Vec::new(),
            partial_sent_ns: 0,
            free_ns: 0,
        }
    }

    /// The time of the next event of the socket that the loop waits for; `u64::MAX` if there is none.
    pub(super) fn ready_ns(&self) -> u64 {
        let (connected_ns, _) = self.connected;
        let readable_ns = self.inbox.front().map(|piece| piece.0).or(self.end.map(|end| end.0));
        let writable_ns = (self.interest == Interest::ReadWrite).then_some(self.room_ns);
        let first_ns = readable_ns.into_iter().chain(writable_ns).min().unwrap_or(u64::MAX);
        first_ns.max(connected_ns)
    }

    pub(super) fn event(&self, now_ns: u64) -> Event {
        let reset = self.end.is_some_and(|(end_ns, reset)| reset && end_ns <= now_ns);
        let room = self.interest == Interest::ReadWrite && self.room_ns <= now_ns;
        Event { token: self.token, writable: room || reset || !self.connected.1 }
    }

    /// Serves the request that has just arrived in full, or whose first bytes have.
    pub(super) fn serve(&mut self, conditions: &Conditions, now_ns: u64) -> Option<u64> {
        let begun_ns = now_ns.max(self.free_ns);
        let seed = conditions.seed ^ now_ns.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ begun_ns;
        let random = &mut SmallRng::seed_from_u64(seed);
        let mut happens = |per_mille: u32| random.random_range(0..1000) < per_mille;
        let (fails, closes, splits) = (
            happens(conditions.failure_per_mille),
            happens(conditions.close_per_mille),
            happens(conditions.pieces_per_mille),
        );
        let tenfold = if happens(20) { random.random_range(1..=10) } else { 1 };
        let service_ns = random.random_range(conditions.service_ns / 2..=conditions.service_ns) * tenfold;
        let stall_ns = conditions.stall_ns.filter(|(from_ns, until_ns)| (*from_ns..*until_ns).contains(&begun_ns));
        let done_ns = stall_ns.map_or(begun_ns, |(_, until_ns)| until_ns) + service_ns;
        if self.end.is_some() || conditions.silent_from_ns.is_some_and(|silent_ns| done_ns >= silent_ns) {
            return None;
        }
        self.free_ns = done_ns;
        if fails {
            match random.random_range(0..4) {
                0 => self.end = Some((done_ns, true)),
                1 => {
                    self.inbox.push_back((done_ns, b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc".to_vec()));
                    self.end = Some((done_ns, false));
                }
                2 => self.inbox.push_back((done_ns, b"no response\r\n\r\n".to_vec())),
                _ => self.free_ns = u64::MAX / 2,
            }
            return None;
        }
        let text: &[u8] = match closes {
            true if random.random() => b"HTTP/1.1 200 OK\r\n\r\nabc",
            true => b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc",
            false => b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        };
        let first = if splits { random.random_range(1..text.len()) } else { 0 };
        if splits {
            self.inbox.push_back((random.random_range(begun_ns..=done_ns), text[..first].to_vec()));
        }
        self.inbox.push_back((done_ns, text[first..].to_vec()));
        if closes {
            self.end = Some((done_ns, false));
        }
        Some(done_ns)
    }
}
