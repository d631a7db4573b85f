//! The one clock of the generator: `CLOCK_MONOTONIC` in nanoseconds.

/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;

/// Nanoseconds in a millisecond.
pub const MILLISECOND: u64 = 1_000_000;

/// Nanoseconds in a microsecond.
pub const MICROSECOND: u64 = 1_000;

/// The current time in nanoseconds on `CLOCK_MONOTONIC`. Comparable between threads on the same machine.
#[inline]
pub fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec; CLOCK_MONOTONIC always exists on Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// Nanoseconds by which `CLOCK_REALTIME` is ahead of [`now_ns`]. Constant, unless someone sets the clock.
pub fn realtime_offset_ns() -> u64 {
    let attempt = |_| {
        let before_ns = now_ns();
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: as above; CLOCK_REALTIME always exists.
        unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut time) };
        let between_ns = now_ns() - before_ns;
        (between_ns, (time.tv_sec as u64 * SECOND + time.tv_nsec as u64).saturating_sub(before_ns + between_ns / 2))
    };
    // The shortest attempt was not interrupted between the two clocks.
    (0..3).map(attempt).min().map_or(0, |(_, offset_ns)| offset_ns)
}

/// CPU time, user and system, that this process has used so far, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above; CLOCK_PROCESS_CPUTIME_ID is available to every process.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

/// CPU time, user and system, that the calling thread has used so far, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above; CLOCK_THREAD_CPUTIME_ID is available to every thread.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * SECOND + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_run_backwards() {
        let mut last = now_ns();
        for _ in 0..10_000 {
            let now = now_ns();
            assert!(now >= last);
            last = now;
        }
    }
}
