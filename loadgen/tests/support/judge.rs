//! Judges properties of single runs on a machine that may be busy with other work.

use std::io::Write;
use std::thread;

/// The largest share of this machine's CPU time that others may use in a run whose failure counts.
const FOREIGN_SHARE_MAX: f64 = 0.03;
/// The number of failures that count, after which a property is broken.
const FAILURES_MAX: usize = 2;

/// The judgement on a property of single runs.
#[derive(Debug, PartialEq, Eq)]
pub enum Held {
    Yes,
    /// Why it is broken.
    Broken(String),
    /// Others may have caused every failure.
    NotJudged(String),
}

/// Judges a property of single runs, on a machine that may be busy with other work.
///
/// `run` gets the number of runs that have held so far; it returns whether this one holds, and the share of the machine
/// that others took meanwhile. The property must hold `wanted` times. A second failure in a run of which others took no
/// CPU time breaks it. With `wanted` = 2, a property that nine runs in ten break passes in three cases of a hundred. A
/// failure that others may have caused is no evidence: such a run is repeated. If there are only such failures, the
/// property is not judged.
pub fn judge_runs(wanted: usize, mut run: impl FnMut(usize) -> (Result<(), String>, f64)) -> Held {
    let (mut held, mut counted, mut reasons) = (0, 0, Vec::new());
    for _ in 0..2 * wanted + 2 {
        match run(held) {
            (Ok(()), _) => held += 1,
            (Err(reason), foreign) => {
                counted += usize::from(foreign <= FOREIGN_SHARE_MAX);
                reasons.push(format!("{reason} ({:.0}% of the machine was taken by others)", foreign * 100.0));
            }
        }
        if held == wanted {
            return Held::Yes;
        }
        if counted == FAILURES_MAX {
            break;
        }
    }
    let reasons = reasons.join("\n");
    if counted == 0 {
        return Held::NotJudged(reasons);
    }
    Held::Broken(format!("held in {held} runs of {wanted} wanted, and not in these:\n{reasons}"))
}

/// Asserts a property of single runs by [`judge_runs`]. Standard error says if it was not judged.
pub fn holds_in_runs(wanted: usize, mut property: impl FnMut(usize) -> Result<(), String>) {
    let judged = judge_runs(wanted, |held| {
        let before = CpuTimes::now();
        let result = property(held);
        (result, before.foreign_share_until(&CpuTimes::now()))
    });
    match judged {
        Held::Yes => {}
        Held::Broken(reasons) => panic!("{reasons}"),
        Held::NotJudged(reasons) => {
            let thread = thread::current();
            let name = thread.name().unwrap_or("a test");
            // Bypasses the test harness, which hides the output of passing tests.
            let _ = writeln!(
                std::io::stderr(),
                "{name}: NOT JUDGED, others took the machine in every run that failed:\n{reasons}"
            );
        }
    }
}

/// CPU time up to now, in seconds.
struct CpuTimes {
    /// Busy time of all CPUs of the machine; `all_s` is their total time.
    busy_s: f64,
    all_s: f64,
    /// CPU time of this process and of the children that it has waited for.
    own_s: f64,
}

impl CpuTimes {
    fn now() -> Self {
        let text = std::fs::read_to_string("/proc/stat").unwrap();
        let line = text.lines().next().unwrap();
        // user nice system idle iowait irq softirq steal; the rest is contained in these.
        let ticks: Vec<f64> = line.split_whitespace().skip(1).take(8).map(|word| word.parse().unwrap()).collect();
        // SAFETY: the call takes no pointers.
        let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
        let all_s = ticks.iter().sum::<f64>() / per_second;
        let own_s = [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN].map(|who| {
            // SAFETY: an all-zero rusage is valid and the call fills it in.
            let usage = unsafe {
                let mut usage: libc::rusage = std::mem::zeroed();
                libc::getrusage(who, &mut usage);
                usage
            };
            let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
            seconds(usage.ru_utime) + seconds(usage.ru_stime)
        });
        Self { busy_s: all_s - (ticks[3] + ticks[4]) / per_second, all_s, own_s: own_s.iter().sum() }
    }

    /// The share of the machine's CPU time that was neither idle nor ours.
    fn foreign_share_until(&self, later: &Self) -> f64 {
        let foreign_s = later.busy_s - self.busy_s - (later.own_s - self.own_s);
        (foreign_s / (later.all_s - self.all_s).max(0.01)).max(0.0)
    }
}
