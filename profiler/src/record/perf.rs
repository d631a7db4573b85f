//! Predicts the CPU engine of a recording: `perf_events`, or `ctimer` if perf events are not permitted.
//!
//! The probe attaches to no JVM: it opens a perf event in this process and reads the JVM's privileges from /proc. The
//! recording states the engine that it really used, and `convert` reports that one.

use crate::record::jvm::Jvm;
use clap::ValueEnum;
use serde::Serialize;
use std::fs;
use std::io;

const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
/// The inode of the initial user namespace: the kernel checks privileges there, not in a container's namespace.
const USER_NAMESPACE_INITIAL: &str = "user:[4026531837]";

/// The process that opens the perf events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FdTransfer {
    Auto,
    On,
    Off,
}

/// The output of `profile probe`.
#[derive(Debug, Serialize, PartialEq)]
pub struct Probe {
    /// `perf_events` or `ctimer`.
    pub engine: &'static str,
    /// Whether this process opens the events for the JVM.
    pub fdtransfer: bool,
    /// The reason for the engine, as one sentence.
    pub why: String,
    /// The value of the sysctl; absent if the kernel lacks it.
    pub perf_event_paranoid: Option<i64>,
    /// Whether this process could open a perf event.
    pub opened_here: bool,
    pub pid: Option<u32>,
}

/// The inputs of the decision.
struct Facts {
    paranoid: Option<i64>,
    opened_here: Result<(), String>,
    /// Why the JVM itself may or may not open perf events.
    jvm: Result<String, String>,
}

/// Finds the engine for `target`, or for a JVM with the rights of this process.
pub fn probe(target: Option<&Jvm>, fdtransfer: FdTransfer) -> Probe {
    let paranoid =
        fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok().and_then(|text| text.trim().parse().ok());
    let opened_here = open_perf_event();
    let jvm = match target {
        Some(jvm) => jvm_may_open(jvm, paranoid),
        None => opened_here.clone().map(|()| "this process can open perf events".to_owned()),
    };
    let mut probe = decide(&Facts { paranoid, opened_here, jvm }, fdtransfer);
    probe.pid = target.map(|jvm| jvm.pid);
    probe
}

fn decide(facts: &Facts, fdtransfer: FdTransfer) -> Probe {
    let transfer = match fdtransfer {
        FdTransfer::On => true,
        FdTransfer::Off => false,
        FdTransfer::Auto => facts.jvm.is_err() && facts.opened_here.is_ok(),
    };
    let (engine, why) = match (&facts.jvm, &facts.opened_here, transfer) {
        (_, Ok(()), true) => ("perf_events", "this process opens perf events and hands them to the JVM".to_owned()),
        (_, Err(here), true) => {
            ("ctimer", format!("--fdtransfer on, but this process cannot open perf events: {here}"))
        }
        (Ok(why), _, false) => ("perf_events", why.clone()),
        (Err(why), Ok(()), false) => ("ctimer", format!("{why}; --fdtransfer on would open them from here")),
        (Err(why), Err(here), false) => {
            ("ctimer", if why == here { why.clone() } else { format!("{why}; and this process cannot either: {here}") })
        }
    };
    Probe {
        engine,
        fdtransfer: transfer,
        why,
        perf_event_paranoid: facts.paranoid,
        opened_here: facts.opened_here.is_ok(),
        pid: None,
    }
}

fn jvm_may_open(jvm: &Jvm, paranoid: Option<i64>) -> Result<String, String> {
    let initial = jvm.user_namespace().is_none_or(|name| name == USER_NAMESPACE_INITIAL);
    let capabilities = if initial { jvm.capabilities().unwrap_or(0) } else { 0 };
    may_open(capabilities, jvm.is_filtered(), paranoid)
}

/// Applies two rules: the kernel's for events that include kernel code, which async-profiler checks too, and that of
/// Docker's default seccomp profile, which allows the call only with the same capabilities.
fn may_open(capabilities: u64, filtered: bool, paranoid: Option<i64>) -> Result<String, String> {
    let Some(paranoid) = paranoid else {
        return Err("this kernel has no perf events".to_owned());
    };
    for (bit, name) in [(CAP_PERFMON, "CAP_PERFMON"), (CAP_SYS_ADMIN, "CAP_SYS_ADMIN")] {
        if capabilities >> bit & 1 == 1 {
            return Ok(format!("the JVM has {name}"));
        }
    }
    if filtered {
        return Err(
            "the JVM has neither CAP_PERFMON nor CAP_SYS_ADMIN, and a seccomp filter closes perf events".to_owned()
        );
    }
    if paranoid <= 1 {
        return Ok(format!("kernel.perf_event_paranoid is {paranoid}"));
    }
    Err(format!("kernel.perf_event_paranoid is {paranoid}, and the JVM has neither CAP_PERFMON nor CAP_SYS_ADMIN"))
}

/// Opens and closes a software clock event on this thread, with the kernel included.
fn open_perf_event() -> Result<(), String> {
    const PERF_TYPE_SOFTWARE: u32 = 1;
    const PERF_COUNT_SW_CPU_CLOCK: u64 = 0;
    const FLAG_DISABLED: u64 = 1;
    /// The first published layout of `perf_event_attr`; a kernel takes any it knows.
    #[repr(C)]
    struct PerfEventAttr {
        kind: u32,
        size: u32,
        config: u64,
        sample_period: u64,
        sample_type: u64,
        read_format: u64,
        flags: u64,
        wakeup_events: u32,
        breakpoint_type: u32,
        breakpoint_address: u64,
    }
    let attributes = PerfEventAttr {
        kind: PERF_TYPE_SOFTWARE,
        size: size_of::<PerfEventAttr>() as u32,
        config: PERF_COUNT_SW_CPU_CLOCK,
        sample_period: 1_000_000_000,
        sample_type: 0,
        read_format: 0,
        flags: FLAG_DISABLED,
        wakeup_events: 0,
        breakpoint_type: 0,
        breakpoint_address: 0,
    };
    // SAFETY: the attributes outlive the call and `size` is their size; the descriptor is closed below.
    let descriptor = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, 0) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error().to_string());
    }
    // SAFETY: the call above returned this descriptor and nothing else holds it.
    unsafe { libc::close(descriptor as libc::c_int) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(jvm: Result<&str, &str>, here: Result<(), &str>) -> Facts {
        Facts {
            paranoid: Some(2),
            opened_here: here.map_err(str::to_owned),
            jvm: jvm.map(str::to_owned).map_err(str::to_owned),
        }
    }

    #[test]
    fn a_privileged_jvm_opens_perf_events_itself() {
        let probe = decide(&facts(Ok("the JVM has CAP_PERFMON"), Ok(())), FdTransfer::Auto);
        assert_eq!((probe.engine, probe.fdtransfer), ("perf_events", false));
    }

    #[test]
    fn a_privileged_sidecar_opens_them_for_a_plain_jvm() {
        let closed = facts(Err("closed"), Ok(()));
        assert_eq!(decide(&closed, FdTransfer::Auto).engine, "perf_events");
        assert!(decide(&closed, FdTransfer::Auto).fdtransfer);
        let off = decide(&closed, FdTransfer::Off);
        assert_eq!(off.engine, "ctimer");
        assert!(off.why.contains("--fdtransfer on"), "{}", off.why);
    }

    #[test]
    fn without_any_privilege_the_engine_is_ctimer_with_the_reason() {
        let none = facts(Err("closed"), Err("Operation not permitted"));
        for choice in [FdTransfer::Auto, FdTransfer::Off, FdTransfer::On] {
            let probe = decide(&none, choice);
            assert_eq!(probe.engine, "ctimer");
            assert!(probe.why.contains("Operation not permitted"), "{}", probe.why);
        }
    }

    #[test]
    fn the_kernel_permits_by_capability_or_by_sysctl() {
        assert!(may_open(1 << CAP_PERFMON, true, Some(3)).is_ok());
        assert!(may_open(1 << CAP_SYS_ADMIN, true, Some(2)).is_ok());
        assert!(may_open(0, false, Some(1)).is_ok());
        assert!(may_open(0, true, Some(1)).unwrap_err().contains("seccomp"));
        assert!(may_open(0, false, Some(2)).unwrap_err().contains("paranoid is 2"));
        assert!(may_open(u64::MAX, false, None).is_err());
    }
}
