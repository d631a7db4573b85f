//! Sockets and epoll, non-blocking, with waits in nanoseconds.

use crate::clock::SECOND;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// What to wait for on a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Bytes to read, or the end of the stream.
    Read,
    /// As `Read`, or room to write.
    ReadWrite,
}

impl Interest {
    fn events(self) -> u32 {
        let read = libc::EPOLLIN | libc::EPOLLRDHUP;
        match self {
            Self::Read => read as u32,
            Self::ReadWrite => (read | libc::EPOLLOUT) as u32,
        }
    }
}

/// An event on a socket.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    /// The token under which the socket was registered.
    pub token: u64,
    /// There is room to write, or connecting has ended.
    pub writable: bool,
}

/// A level-triggered epoll instance.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
}

impl Poller {
    /// Takes up to `events_max` events at a time.
    pub fn new(events_max: usize) -> io::Result<Self> {
        // SAFETY: the call takes no pointers; its result is checked before it becomes an OwnedFd.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: `fd` was just made and is owned by nobody else.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { epoll, events: vec![libc::epoll_event { events: 0, u64: 0 }; events_max] })
    }

    /// Starts to watch `fd`.
    pub fn add(&self, fd: RawFd, interest: Interest, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, interest, token)
    }

    /// Changes what is watched.
    pub fn modify(&self, fd: RawFd, interest: Interest, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, interest, token)
    }

    fn control(&self, operation: i32, fd: RawFd, interest: Interest, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest.events(), u64: token };
        // SAFETY: `event` lives through the call; the kernel checks both descriptors.
        check(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd, &mut event) }).map(|_| ())
    }

    /// Waits at most `timeout_ns` for events and gives their number; see [`Poller::event`].
    pub fn wait(&mut self, timeout_ns: u64) -> io::Result<usize> {
        let timeout = libc::timespec {
            tv_sec: (timeout_ns / SECOND) as libc::time_t,
            tv_nsec: (timeout_ns % SECOND) as libc::c_long,
        };
        // SAFETY: `events` has room for the number of events given, `timeout` lives through the call,
        // and the null signal mask leaves the mask as it is.
        let ready = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as libc::c_int,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        match check(ready as i32) {
            Ok(count) => Ok(count as usize),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Event number `index` of the last wait.
    pub fn event(&self, index: usize) -> Event {
        let event = self.events[index];
        let writable = event.events & (libc::EPOLLOUT | libc::EPOLLERR | libc::EPOLLHUP) as u32 != 0;
        Event { token: event.u64, writable }
    }
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// A non-blocking stream socket on its way to `address`, with Nagle's algorithm off.
pub fn connect(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
    match socket.connect(&address.into()) {
        Ok(()) => Ok(socket),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// How connecting ended, asked once the socket is writable.
pub fn connect_outcome(socket: &Socket) -> io::Result<()> {
    match socket.take_error()? {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

/// Asks the kernel to wake this thread on time: the default is up to 50 µs late.
pub fn set_timer_slack_of_this_thread_to_minimum() -> io::Result<()> {
    // SAFETY: PR_SET_TIMERSLACK takes one integer.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) }).map(|_| ())
}

/// Lets other threads of this process go first: this one has work that can wait.
pub fn lower_priority_of_this_thread() -> io::Result<()> {
    const NICE: i32 = 10;
    // SAFETY: the call takes integers; on Linux 0 means the calling thread, and raising niceness is always allowed.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS as _, 0, NICE) }).map(|_| ())
}

/// Lets this thread run on `cpu` alone.
pub fn pin_this_thread(cpu: usize) -> io::Result<()> {
    if cpu >= libc::CPU_SETSIZE as usize {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: a zeroed cpu_set_t is an empty set, `cpu` is within it, and the set lives through the call.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        check(libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)).map(|_| ())
    }
}

/// The CPUs that this process may use, ascending.
pub fn cpus_of_this_process() -> io::Result<Vec<usize>> {
    // SAFETY: an all-zero set is valid, the call fills it in, and CPU_ISSET stays within it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        check(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set))?;
        Ok((0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &set)).collect())
    }
}

/// Raises the limit of open files to the hard limit, and gives it.
pub fn raise_open_files_limit() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for both calls.
    unsafe {
        check(libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit))?;
        limit.rlim_cur = limit.rlim_max;
        check(libc::setrlimit(libc::RLIMIT_NOFILE, &limit))?;
    }
    Ok(limit.rlim_cur)
}
