//! The quality of a recording: its actual interval, the CPU time that the samples account for, and broken
//! stacks.

use crate::converter::Description;
use crate::counts::Counts;
use crate::samples::Samples;
use serde::Serialize;

/// The samples' CPU time and the service's may differ by this much before the report says so.
const CPU_DIFFERENCE_MAX: f64 = 0.10;
/// A larger share of broken stacks makes shares doubtful.
const BROKEN_MAX: f64 = 0.05;
/// A larger share of lost samples makes shares doubtful.
const LOST_MAX: f64 = 0.05;

/// Why samples may account for less CPU time. The kernel re-arms perf events at each context switch, and that time
/// has no sample. Timers are expensive in virtual machines, so threads that switch often lose up to a fifth of their
/// time there.
const UNDER: &str = "the rest went to context switches, which cannot be sampled, or samples were lost";
const OVER: &str = "samples were duplicated, or the service ran longer than the recording";

/// Frames by which async-profiler marks a stack that it could not walk to the end.
const BROKEN: [&str; 10] = [
    "[unknown]",
    "[unknown_Java]",
    "[not_walkable_Java]",
    "[deoptimization]",
    "[skipped]",
    "[break_",
    "[no_stack]",
    "[frame_error]",
    "[no_Java_frame]",
    "[GC_active]",
];

/// The facts about CPU samples in profile.json.
#[derive(Debug, Default, Serialize, PartialEq)]
pub struct CpuQuality {
    /// The interval that the engine could keep: at least one kernel tick for ctimer.
    pub interval_had_us: Option<f64>,
    /// CPU time of the service during the recording, by the kernel's count.
    pub cpu_s: Option<f64>,
    /// Samples × interval.
    pub cpu_sampled_s: Option<f64>,
    /// One sentence per reason to doubt.
    pub warnings: Vec<String>,
}

/// Samples of stacks that end early.
pub fn broken(samples: &Samples) -> u64 {
    let is_broken = |name: &str| BROKEN.iter().any(|mark| name.starts_with(mark));
    let marked: Vec<_> = samples.frames.iter().map(|(name, _)| is_broken(name)).collect();
    let mut nodes = vec![false; samples.nodes.len()];
    // in the table each node follows its parent
    for (index, node) in samples.nodes.iter().enumerate() {
        nodes[index] = marked[node.frame] || node.parent.is_some_and(|parent| nodes[parent]);
    }
    samples.rows.iter().filter(|row| nodes[row.node]).map(|row| row.samples).sum()
}

/// Compares the CPU samples with the kernel's count. `tick_us` is one kernel tick.
pub fn of_cpu(description: &Description, samples: u64, broken: u64, whole: bool, tick_us: f64) -> CpuQuality {
    let (Some(engine), Some(requested_us)) = (description.engine(), description.interval_us()) else {
        return CpuQuality::default();
    };
    let had_us = if engine == "ctimer" { requested_us.max(tick_us) } else { requested_us };
    let mut quality = CpuQuality {
        interval_had_us: Some(had_us),
        cpu_s: description.cpu_s.filter(|_| whole),
        cpu_sampled_s: Some(samples as f64 * had_us / 1e6),
        warnings: Vec::new(),
    };
    if had_us > requested_us {
        quality.warnings.push(format!(
            "{engine} takes one sample per kernel tick, which is {had_us} µs, not the requested {requested_us} µs"
        ));
    }
    if let (Some(cpu_s), Some(sampled_s)) = (quality.cpu_s, quality.cpu_sampled_s) {
        let difference = sampled_s / cpu_s - 1.0;
        if difference.abs() > CPU_DIFFERENCE_MAX {
            let (percent, which) = (100.0 * difference.abs(), if difference < 0.0 { "less" } else { "more" });
            quality.warnings.push(format!(
                "the samples account for {sampled_s:.1} s of CPU, {percent:.0}% {which} than the {cpu_s:.1} s that the \
                 service used: {}",
                if difference < 0.0 { UNDER } else { OVER }
            ));
        }
    }
    if samples > 0 && broken as f64 > BROKEN_MAX * samples as f64 {
        let percent = 100.0 * broken as f64 / samples as f64;
        quality.warnings.push(format!("{percent:.0}% of the stacks are broken: their callers are unknown"));
    }
    quality
}

/// The sentence about lost samples.
pub fn of_counts(counts: Counts) -> Option<String> {
    let due = counts.samples + counts.lost;
    let share = counts.lost as f64 / due.max(1) as f64;
    (share > LOST_MAX)
        .then(|| format!("{} of {due} samples of all events were lost ({:.0}%)", counts.lost, 100.0 * share))
}

/// One kernel tick: the resolution of its coarse clock.
pub fn tick_us() -> f64 {
    let mut resolution = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure outlives the call; on an error it stays zero.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut resolution) };
    resolution.tv_sec as f64 * 1e6 + resolution.tv_nsec as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(engine: &str, cpu_s: f64) -> Description {
        let settings = [("event", "cpu"), ("engine", engine), ("interval", "500000")];
        let lines: String = settings.iter().map(|(name, value)| format!("setting\t{name}\t{value}\n")).collect();
        Description::parse(&format!("{lines}cpu_s\t{cpu_s}\n")).unwrap()
    }

    #[test]
    fn the_interval_of_ctimer_is_a_tick_at_least() {
        let quality = of_cpu(&description("ctimer", 10.0), 2500, 0, true, 4000.0);
        assert_eq!(quality.interval_had_us, Some(4000.0));
        assert_eq!(quality.cpu_sampled_s, Some(10.0));
        assert_eq!(quality.warnings.len(), 1, "{:?}", quality.warnings);
        assert!(quality.warnings[0].contains("4000 µs") && quality.warnings[0].contains("500 µs"));
        let fine = of_cpu(&description("ctimer", 10.0), 20_000, 0, true, 100.0);
        assert_eq!((fine.interval_had_us, fine.warnings.len()), (Some(500.0), 0));
    }

    #[test]
    fn samples_that_do_not_account_for_the_services_time_give_a_warning() {
        assert_eq!(of_cpu(&description("perf_events", 10.0), 19_000, 0, true, 4000.0).warnings.len(), 0);
        for (samples, word) in [(10_000, "50% less"), (30_000, "50% more")] {
            let quality = of_cpu(&description("perf_events", 10.0), samples, 0, true, 4000.0);
            assert!(quality.warnings[0].contains(word), "{:?}", quality.warnings);
        }
        let window = of_cpu(&description("perf_events", 10.0), 10_000, 0, false, 4000.0);
        assert_eq!((window.cpu_s, window.warnings.len()), (None, 0), "a window of time has no account of its own");
    }

    #[test]
    fn broken_stacks_are_counted_and_many_give_a_warning() {
        let table = "F\tA.run_[j]\nF\t[break_interpreted]\nF\tB.x\nN\t0\t1\nN\t0\t2\nN\t2\t3\nT\tw\n\
                     S\t0\t1\t1\t90\t90\nS\t0\t1\t3\t10\t10\n";
        let samples = Samples::parse(table, false).unwrap();
        assert_eq!(broken(&samples), 10);
        let quality = of_cpu(&description("perf_events", 0.05), 100, 10, true, 4000.0);
        assert!(quality.warnings[0].contains("10% of the stacks are broken"), "{:?}", quality.warnings);
    }

    #[test]
    fn many_lost_samples_give_a_warning() {
        assert_eq!(of_counts(Counts { samples: 1000, lost: 20 }), None);
        assert_eq!(of_counts(Counts { samples: 0, lost: 0 }), None);
        assert!(of_counts(Counts { samples: 900, lost: 100 }).unwrap().contains("100 of 1000"));
    }

    #[test]
    fn a_tick_of_this_kernel_is_one_to_ten_milliseconds() {
        assert!((1000.0..=10_000.0).contains(&tick_us()), "{}", tick_us());
    }
}
