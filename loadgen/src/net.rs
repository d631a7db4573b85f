//! Non-blocking sockets, and epoll with waits in nanoseconds.

use crate::clock::SECOND;
use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// The kind of readiness to wait for on a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interest {
    /// Bytes to read, or the end of the stream.
    Read,
    /// Bytes to read, or room to write.
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
    /// Whether there is room to write, or an attempt to connect has ended.
    pub writable: bool,
}

/// A level-triggered epoll instance.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
    /// Whether the kernel has epoll_pwait2.
    one_call: bool,
}

impl Poller {
    /// Makes an instance that returns up to `events_max` events at a time.
    pub fn new(events_max: usize) -> io::Result<Self> {
        // SAFETY: the call takes no pointers; its result is checked before it becomes an OwnedFd.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: `fd` was just made and is owned by nobody else.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Self { epoll, events: vec![libc::epoll_event { events: 0, u64: 0 }; events_max], one_call: true })
    }

    /// Starts to watch `fd`.
    pub fn add(&self, fd: RawFd, interest: Interest, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, interest, token)
    }

    /// Changes the kind of readiness to wait for on `fd`.
    pub fn modify(&self, fd: RawFd, interest: Interest, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, interest, token)
    }

    fn control(&self, operation: i32, fd: RawFd, interest: Interest, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest.events(), u64: token };
        // SAFETY: `event` lives through the call; the kernel checks both descriptors.
        check(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), operation, fd, &mut event) }).map(|_| ())
    }

    /// Waits at most `timeout_ns` for events and returns their number. [`Poller::event`] returns each of them.
    pub fn wait(&mut self, timeout_ns: u64) -> io::Result<usize> {
        let timeout = libc::timespec {
            tv_sec: (timeout_ns / SECOND) as libc::time_t,
            tv_nsec: (timeout_ns % SECOND) as libc::c_long,
        };
        let ready = if self.one_call { self.wait_in_one_call(&timeout) } else { self.wait_in_two_calls(&timeout) };
        match ready {
            Ok(count) => Ok(count as usize),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            // Linux before 5.11 does not know the call, and older seccomp profiles of containers forbid it.
            Err(error) if self.one_call && matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EPERM)) => {
                self.one_call = false;
                self.wait(timeout_ns)
            }
            Err(error) => Err(error),
        }
    }

    #[inline]
    fn wait_in_one_call(&mut self, timeout: &libc::timespec) -> io::Result<i32> {
        // SAFETY: `events` has room for the number of events given, `timeout` lives through the call,
        // and the null signal mask leaves the mask as it is.
        check(unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as libc::c_int,
                &raw const *timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        } as i32)
    }

    /// Waits with ppoll, which also has nanoseconds, until the epoll instance is readable, and fetches the events then.
    fn wait_in_two_calls(&mut self, timeout: &libc::timespec) -> io::Result<i32> {
        let mut readable = libc::pollfd { fd: self.epoll.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: as above; `readable` is the one descriptor, and lives through the call.
        if check(unsafe { libc::ppoll(&raw mut readable, 1, &raw const *timeout, std::ptr::null()) })? == 0 {
            return Ok(0);
        }
        let room = self.events.len() as libc::c_int;
        // SAFETY: as above.
        check(unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), self.events.as_mut_ptr(), room, 0) })
    }

    /// Event number `index` of the last wait, from 0.
    pub fn event(&self, index: usize) -> Event {
        let event = self.events[index];
        let writable = event.events & (libc::EPOLLOUT | libc::EPOLLERR | libc::EPOLLHUP) as u32 != 0;
        Event { token: event.u64, writable }
    }
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Makes a non-blocking stream socket that is connecting to `address`, with Nagle's algorithm off.
pub fn connect(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM.nonblocking(), Some(Protocol::TCP))?;
    socket.set_tcp_nodelay(true)?;
    match socket.connect(&address.into()) {
        Ok(()) => Ok(socket),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}

/// Makes the kernel record when bytes arrive at `socket`, for [`receive`].
pub fn note_arrivals(socket: &Socket) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: `on` lives through the call, which is told its size.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    })
    .map(|_| ())
}

/// Reads the bytes that have arrived, as `read` does. Returns their number, and the arrival time of the last ones in
/// nanoseconds of `CLOCK_REALTIME`, or `None` if the kernel did not record it.
#[inline]
pub fn receive(socket: &Socket, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let mut vector = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // Room for one time stamp, aligned as the kernel wants it.
    let mut control = [0u64; 8];
    // SAFETY: an all-zero msghdr is valid. The pointers put into it live through the call, their lengths are right, and
    // the headers that the kernel wrote are walked by its own macros.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut vector;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        let length = libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0);
        if length < 0 {
            return Err(io::Error::last_os_error());
        }
        let mut arrived_ns = None;
        let mut header = libc::CMSG_FIRSTHDR(&raw const message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_TIMESTAMPNS {
                let time = libc::CMSG_DATA(header).cast::<libc::timespec>().read_unaligned();
                arrived_ns = Some(time.tv_sec as u64 * SECOND + time.tv_nsec as u64);
            }
            header = libc::CMSG_NXTHDR(&raw const message, header);
        }
        Ok((length as usize, arrived_ns))
    }
}

/// Returns the result of connecting. Call this once the socket is writable.
pub fn connect_outcome(socket: &Socket) -> io::Result<()> {
    match socket.take_error()? {
        None => Ok(()),
        Some(error) => Err(error),
    }
}

/// Asks the kernel to wake this thread punctually. By default the kernel may be up to 50 µs late.
pub fn set_timer_slack_of_this_thread_to_minimum() -> io::Result<()> {
    // SAFETY: PR_SET_TIMERSLACK takes one integer.
    check(unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) }).map(|_| ())
}

/// Asks for a time slice of 100 µs, the shortest that Linux allows. A thread that wakes preempts a thread with a longer
/// slice. Between threads with equal slices it waits until the other's slice ends, which takes a few milliseconds
/// (EEVDF, Linux 6.12 and later; older schedulers ignore the request).
pub fn shorten_time_slice_of_this_thread() -> io::Result<()> {
    const SLICE_NS: u64 = 100_000;
    set_scheduling_of_this_thread(|attributes| attributes.sched_runtime = SLICE_NS)
}

/// Gives this thread the niceness -20: when it wakes, it runs before threads of other niceness. Threads and processes
/// that it starts have niceness 0.
pub fn raise_priority_of_this_thread() -> io::Result<()> {
    set_scheduling_of_this_thread(|attributes| {
        attributes.sched_nice = -20;
        attributes.sched_flags |= libc::SCHED_FLAG_RESET_ON_FORK as u64;
    })
}

fn set_scheduling_of_this_thread(change: impl FnOnce(&mut libc::sched_attr)) -> io::Result<()> {
    // SAFETY: `attributes` is as long as its `size` says and lives through both calls; 0 means the calling thread.
    unsafe {
        let mut attributes: libc::sched_attr = std::mem::zeroed();
        let size = size_of::<libc::sched_attr>() as libc::c_uint;
        check(libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0) as libc::c_int)?;
        change(&mut attributes);
        check(libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) as libc::c_int).map(|_| ())
    }
}

/// Lowers the priority of this thread, so that other threads of the process run first.
pub fn lower_priority_of_this_thread() -> io::Result<()> {
    const NICE: i32 = 10;
    // SAFETY: the call takes integers; on Linux 0 means the calling thread, and raising niceness is always allowed.
    check(unsafe { libc::setpriority(libc::PRIO_PROCESS as _, 0, NICE) }).map(|_| ())
}

/// Pins this thread to `cpu`.
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

/// The CPUs that this process may use, in ascending order.
pub fn cpus_of_this_process() -> io::Result<Vec<usize>> {
    // SAFETY: an all-zero set is valid, the call fills it in, and CPU_ISSET stays within it.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        check(libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set))?;
        Ok((0..libc::CPU_SETSIZE as usize).filter(|cpu| libc::CPU_ISSET(*cpu, &set)).collect())
    }
}

/// Raises the limit on open files to the hard limit, and returns it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{MILLISECOND, now_ns, realtime_offset_ns};
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Duration;

    #[test]
    fn a_shorter_time_slice_leaves_policy_and_niceness_as_they_were() {
        let scheduling = || {
            // SAFETY: the calls take integers; 0 means the calling thread.
            unsafe { (libc::sched_getscheduler(0), libc::getpriority(libc::PRIO_PROCESS as _, 0)) }
        };
        let before = scheduling();
        shorten_time_slice_of_this_thread().unwrap();
        assert_eq!(scheduling(), before);
    }

    #[test]
    fn priority_is_raised_if_that_is_allowed_and_is_not_inherited() {
        // SAFETY: the call takes integers; 0 means the calling thread.
        let niceness = || unsafe { libc::getpriority(libc::PRIO_PROCESS as _, 0) };
        let before = niceness();
        match raise_priority_of_this_thread() {
            Ok(()) => assert_eq!((niceness(), std::thread::spawn(niceness).join().unwrap()), (-20, 0)),
            Err(error) => assert_eq!((niceness(), error.kind()), (before, io::ErrorKind::PermissionDenied)),
        }
    }

    #[test]
    fn the_time_of_arrival_is_the_kernels_and_not_that_of_reading() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = connect(listener.local_addr().unwrap()).unwrap();
        note_arrivals(&socket).unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        let mut buffer = [0; 64];
        // The kernel starts to note arrivals shortly after it was asked to.
        let noted = (0..1000).any(|_| {
            peer.write_all(b"x").unwrap();
            std::thread::sleep(Duration::from_millis(5));
            receive(&socket, &mut buffer).is_ok_and(|(_, arrived_ns)| arrived_ns.is_some())
        });
        assert!(noted);
        let before_ns = now_ns();
        peer.write_all(b"hello").unwrap();
        std::thread::sleep(Duration::from_millis(30));
        let (length, arrived_ns) = receive(&socket, &mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"hello");
        let arrived_ns = arrived_ns.unwrap() - realtime_offset_ns();
        let read_ns = now_ns();
        assert!(arrived_ns >= before_ns - MILLISECOND && arrived_ns + 25 * MILLISECOND <= read_ns);
        assert_eq!(receive(&socket, &mut buffer).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(peer);
        assert_eq!(receive(&socket, &mut buffer).unwrap(), (0, None));
    }
}
