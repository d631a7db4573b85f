//! What a loop has counted: one outcome for each request that it sends, by second.

use crate::exec::protocol::Message;
use crate::stats::Interval;
use std::sync::mpsc::{Receiver, Sender};

/// The counts of the current second and of the requests on the wire. Each request that [`Tally::sent`] counts is on the
/// wire until it is answered or lost.
#[derive(Debug)]
pub(super) struct Tally {
    /// Index of the loop.
    worker: usize,
    pub(super) interval: Box<Interval>,
    /// Index of the second whose counts `interval` holds.
    second: u64,
    /// Number of requests on the wire.
    pub(super) in_flight: u64,
    /// When the last request was sent.
    last_sent_ns: u64,
    /// When the last request was answered or lost.
    pub(super) last_outcome_ns: u64,
    /// CPU time and polling time of the loop up to the last interval sent.
    cpu_delivered_ns: u64,
    spin_delivered_ns: u64,
    /// CPU time of the loop when the measurement began.
    cpu_at_start_ns: u64,
    /// Number of attempts to connect that failed before the start.
    connect_errors_at_start: u64,
    messages: Sender<Message>,
    spare: Receiver<Box<Interval>>,
}

impl Tally {
    /// Makes an empty tally of loop `worker`. Full intervals go to `messages` and come back empty from `spare`.
    pub(super) fn new(worker: usize, messages: Sender<Message>, spare: Receiver<Box<Interval>>) -> Self {
        Self {
            worker,
            interval: Box::default(),
            second: 0,
            in_flight: 0,
            last_sent_ns: 0,
            last_outcome_ns: 0,
            cpu_delivered_ns: 0,
            spin_delivered_ns: 0,
            cpu_at_start_ns: 0,
            connect_errors_at_start: 0,
            messages,
            spare,
        }
    }

    /// Sends a message to the collector. A collector that has gone away has already ended the run.
    pub(super) fn tell(&self, message: Message) {
        let _ = self.messages.send(message);
    }

    /// Reports that the loop has tried to open all its connections.
    pub(super) fn ready(&mut self, connected: u64, error: Option<String>) {
        self.connect_errors_at_start = self.interval.errors.connect;
        self.tell(Message::Ready { connected, error });
    }

    /// Drops the counts of the warm-up; the loop has used `cpu_ns` so far. Requests stay on the wire.
    pub(super) fn restart(&mut self, cpu_ns: u64) {
        self.interval.clear();
        self.interval.errors.connect = self.connect_errors_at_start;
        self.cpu_at_start_ns = cpu_ns;
        (self.cpu_delivered_ns, self.spin_delivered_ns) = (cpu_ns, 0);
        self.tell(Message::Measuring);
    }

    /// Counts `count` requests that were sent together; those of the warm-up are on the wire, but not `measured`.
    #[inline]
    pub(super) fn sent(&mut self, count: u64, lag_ns: u64, sent_ns: u64, measured: bool) {
        self.in_flight += count;
        self.last_sent_ns = sent_ns;
        if measured {
            self.interval.latencies.send_lag.saturating_record(lag_ns);
            self.interval.sent += count;
        }
    }

    /// When the last request was sent, if there are requests on the wire.
    #[inline]
    pub(super) fn awaited_since_ns(&self) -> Option<u64> {
        (self.in_flight > 0).then_some(self.last_sent_ns)
    }

    /// Sends the counts of the second to the collector and continues with an empty interval. The loop has used `cpu_ns`
    /// so far, of which it polled for `spin_ns` since the measurement began.
    pub(super) fn deliver(&mut self, cpu_ns: u64, spin_ns: u64) {
        self.interval.cpu_ns = cpu_ns - self.cpu_delivered_ns;
        self.interval.work_ns_max = self.interval.cpu_ns.saturating_sub(spin_ns - self.spin_delivered_ns);
        (self.cpu_delivered_ns, self.spin_delivered_ns) = (cpu_ns, spin_ns);
        let empty = self.spare.try_recv().unwrap_or_default();
        let interval = std::mem::replace(&mut self.interval, empty);
        self.tell(Message::Interval { worker: self.worker, index: self.second, interval });
        self.second += 1;
    }

    /// CPU time that the loop used from the start of the measurement to the last interval.
    pub(super) fn cpu_ns(&self) -> u64 {
        self.cpu_delivered_ns - self.cpu_at_start_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn the_warm_up_counts_in_nothing_but_what_is_on_the_wire() {
        let ((messages, received), (_spare, empty)) = (mpsc::channel(), mpsc::sync_channel(1));
        let mut tally = Tally::new(3, messages, empty);
        tally.interval.errors.connect = 2;
        tally.ready(7, None);
        tally.sent(4, 1_000, 10, false);
        tally.interval.errors.connect += 5;
        assert_eq!((tally.interval.sent, tally.in_flight, tally.awaited_since_ns()), (0, 4, Some(10)));
        tally.restart(500);
        tally.sent(2, 1_000, 20, true);
        tally.in_flight -= 6;
        assert_eq!(tally.awaited_since_ns(), None);
        tally.deliver(900, 100);
        tally.deliver(1_000, 150);
        assert_eq!(tally.cpu_ns(), 500);
        let received: Vec<Message> = received.try_iter().collect();
        let [Message::Ready { connected: 7, .. }, Message::Measuring, Message::Interval { interval, .. }, last] =
            &received[..]
        else {
            panic!("{received:?}");
        };
        assert_eq!((interval.sent, interval.latencies.send_lag.len(), interval.errors.connect), (2, 1, 2));
        assert_eq!((interval.cpu_ns, interval.work_ns_max), (400, 300));
        let Message::Interval { worker: 3, index: 1, interval } = last else { panic!("{last:?}") };
        assert_eq!((interval.sent, interval.cpu_ns, interval.work_ns_max), (0, 100, 50));
    }
}
