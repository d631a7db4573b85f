//! A server on one thread that responds by a script and logs every request with its time of arrival in the kernel.
//!
//! Over loopback a segment arrives within the sender's own system call. So that time (`SO_TIMESTAMPING`, software) is
//! the time of sending up to a few microseconds, even if a busy machine runs this server late.

use loadgen::clock::{MICROSECOND, SECOND, now_ns};
use loadgen::net::{Interest, Poller, pin_this_thread, set_timer_slack_of_this_thread_to_minimum};
use socket2::{Domain, Socket, Type};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
/// Time before a response is due at which the server stops sleeping.
const SPIN_NS: u64 = 100 * MICROSECOND;

/// When the server responds.
#[derive(Debug, Clone)]
pub enum Script {
    /// This many nanoseconds after it has read the request.
    After(u64),
    /// Request `n` of connection `g` at `[g][n]` nanoseconds after the arrival of the very first request, or at once if
    /// it arrives later than that. Requests beyond the plan get no response.
    At(Vec<Vec<u64>>),
}

/// One request. Times are those of [`now_ns`].
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// The number of its connection, in the order of accepting, without the generator's probe.
    pub connection: usize,
    /// Its number within the connection.
    pub number: usize,
    /// When it arrived in the kernel.
    pub arrived_ns: u64,
    /// When the server began to write its response; 0 without one. It left between this time and the next, which are
    /// tens of microseconds apart if the write has to wake a sleeping CPU.
    pub answering_ns: u64,
    /// When its response was written; 0 without one.
    pub answered_ns: u64,
}

/// The server; it stops when dropped.
#[derive(Debug)]
pub struct LogServer {
    address: SocketAddr,
    log: Arc<Mutex<Vec<Request>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LogServer {
    /// Starts on a free port of 127.0.0.1, on `cpu` if one is given.
    pub fn start(script: Script, cpu: Option<usize>) -> Self {
        let listener = listener().unwrap();
        let address = listener.local_addr().unwrap();
        let (log, stop) = (Arc::<Mutex<Vec<Request>>>::default(), Arc::<AtomicBool>::default());
        let (own_log, own_stop) = (log.clone(), stop.clone());
        let thread = thread::spawn(move || {
            if let Some(cpu) = cpu {
                pin_this_thread(cpu).unwrap();
            }
            set_timer_slack_of_this_thread_to_minimum().unwrap();
            let mut serving = Serving::new(listener, script).unwrap();
            while !own_stop.load(Ordering::Relaxed) {
                serving.turn().unwrap();
            }
            *own_log.lock().unwrap() = serving.log;
        });
        Self { address, log, stop, thread: Some(thread) }
    }

    pub fn url(&self) -> String {
        format!("http://{}/path", self.address)
    }

    /// Ends the server and returns all requests in the order of reading.
    pub fn finish(mut self) -> Vec<Request> {
        self.end();
        std::mem::take(&mut self.log.lock().unwrap())
    }

    fn end(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Wakes the server.
            let _ = TcpStream::connect(self.address);
            thread.join().unwrap();
        }
    }
}

impl Drop for LogServer {
    fn drop(&mut self) {
        self.end();
    }
}

/// Lets the kernel stamp input of sockets that are accepted from this one.
fn listener() -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    let flags = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    // SAFETY: the option takes an unsigned integer, which lives through the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPING,
            (&raw const flags).cast(),
            size_of_val(&flags) as libc::socklen_t,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into())?;
    socket.listen(1024)?;
    Ok(socket.into())
}

struct Peer {
    stream: TcpStream,
    connection: usize,
    received: usize,
    pending: Vec<u8>,
}

struct Serving {
    listener: TcpListener,
    script: Script,
    poller: Poller,
    peers: HashMap<u64, Peer>,
    accepted: usize,
    first_ns: Option<u64>,
    log: Vec<Request>,
    /// (when, token, index in the log)
    pending: BinaryHeap<Reverse<(u64, u64, usize)>>,
}

impl Serving {
    fn new(listener: TcpListener, script: Script) -> io::Result<Self> {
        let poller = Poller::new(256)?;
        poller.add(listener.as_raw_fd(), Interest::Read, 0)?;
        Ok(Self {
            listener,
            script,
            poller,
            peers: HashMap::new(),
            accepted: 0,
            first_ns: None,
            log: Vec::with_capacity(1 << 20),
            pending: BinaryHeap::new(),
        })
    }

    fn turn(&mut self) -> io::Result<()> {
        let next_ns = self.pending.peek().map_or(u64::MAX, |Reverse((time_ns, ..))| *time_ns);
        let left_ns = next_ns.saturating_sub(now_ns());
        for index in 0..self.poller.wait(left_ns.saturating_sub(SPIN_NS).min(SECOND))? {
            match self.poller.event(index).token {
                0 => self.accept()?,
                token => self.read(token),
            }
        }
        while let Some(Reverse((time_ns, token, index))) = self.pending.peek().copied() {
            if time_ns > now_ns() {
                break;
            }
            self.pending.pop();
            self.answer(token, index);
        }
        Ok(())
    }

    fn accept(&mut self) -> io::Result<()> {
        let (stream, _) = self.listener.accept()?;
        stream.set_nonblocking(true)?;
        stream.set_nodelay(true)?;
        let token = stream.as_raw_fd() as u64;
        self.poller.add(stream.as_raw_fd(), Interest::Read, token)?;
        // The generator's first connection is a probe that carries nothing.
        let connection = self.accepted.wrapping_sub(1);
        self.accepted += 1;
        self.peers.insert(token, Peer { stream, connection, received: 0, pending: Vec::new() });
        Ok(())
    }

    fn read(&mut self, token: u64) {
        let Some(peer) = self.peers.get_mut(&token) else { return };
        let mut buffer = [0; 16 * 1024];
        let (length, arrived_ns) = match receive(&peer.stream, &mut buffer) {
            Ok((length, stamp)) if length > 0 => (length, stamp),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
            // The peer may go away at any time.
            Ok(_) | Err(_) => {
                self.peers.remove(&token);
                return;
            }
        };
        peer.pending.extend_from_slice(&buffer[..length]);
        if loadgen::http::Batch::of(&peer.pending).is_err() {
            return;
        }
        peer.pending.clear();
        let arrived_ns = arrived_ns.expect("the kernel stamps what arrives");
        let first_ns = *self.first_ns.get_or_insert(arrived_ns);
        let (connection, number) = (peer.connection, peer.received);
        let request = Request { connection, number, arrived_ns, answering_ns: 0, answered_ns: 0 };
        peer.received += 1;
        let index = self.log.len();
        self.log.push(request);
        match &self.script {
            Script::After(0) => self.answer(token, index),
            Script::After(delay_ns) => self.pending.push(Reverse((now_ns() + delay_ns, token, index))),
            Script::At(plan) => {
                if let Some(at_ns) = plan.get(request.connection).and_then(|plan| plan.get(request.number)) {
                    self.pending.push(Reverse((first_ns + at_ns, token, index)));
                }
            }
        }
    }

    fn answer(&mut self, token: u64, index: usize) {
        let Some(peer) = self.peers.get_mut(&token) else { return };
        // A response fits into the socket's buffer, so anything but success means that the peer is gone.
        let answering_ns = now_ns();
        match peer.stream.write_all(RESPONSE) {
            Ok(()) => (self.log[index].answering_ns, self.log[index].answered_ns) = (answering_ns, now_ns()),
            Err(_) => drop(self.peers.remove(&token)),
        }
    }
}

/// Reads once; returns the length, and when it arrived in the kernel, on the monotonic clock.
fn receive(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let mut control = [0u64; 32];
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: a zeroed msghdr is valid; the buffers that it points to outlive the call, and the kernel leaves
    // control messages within the length that it sets, which is what the CMSG functions rely on.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut piece;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let length = libc::recvmsg(stream.as_raw_fd(), &raw mut message, 0);
        if length < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut stamp = None;
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SO_TIMESTAMPING {
                let time = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                let age_ns = realtime_ns().saturating_sub(time.tv_sec as u64 * SECOND + time.tv_nsec as u64);
                stamp = Some(now_ns() - age_ns);
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
        Ok((length as usize, stamp))
    }
}

fn realtime_ns() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.expect("the clock is past 1970").as_nanos() as u64
}
