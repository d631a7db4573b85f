//! Compares two sets of samples: categories, groups of threads and methods, each change with its significance.

use crate::categories::Rules;
use crate::collapsed::Kind;
use crate::event::Event;
use crate::samples::Samples;
use crate::shares::Matrix;
use crate::stats::{self, Change, Estimate};
use regex::Regex;
use serde::Serialize;
use std::collections::HashMap;
use std::sync::LazyLock;

/// A change is significant if the chance of one such change in the whole table is below this.
const FALSE_ALARMS_MAX: f64 = 0.001;
/// A change must also be at least this share of the whole: a smaller one does not matter in practice.
const CHANGE_MIN: f64 = 0.005;
/// With this many recordings on each side, each of them is one observation.
const RECORDINGS_MIN: usize = 3;
/// Methods in the table.
const METHODS_MAX: usize = 25;

/// One line of a table: a part's share of the whole on each side.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Line {
    pub name: String,
    pub a: f64,
    pub b: f64,
    /// b − a, with its 95% confidence interval; null if the recordings are too short.
    pub change: f64,
    pub change_low: Option<f64>,
    pub change_high: Option<f64>,
    /// Chance of such a change if nothing changed, corrected for the number of lines (Holm).
    pub p_value: f64,
    pub significant: bool,
}

/// The tables of one event.
#[derive(Clone, Debug, Serialize, PartialEq)]
pub struct Comparison {
    pub samples_a: u64,
    pub samples_b: u64,
    /// The unit of observation: `recordings` or `seconds`.
    pub unit: &'static str,
    pub categories: Vec<Line>,
    pub groups: Vec<Line>,
    /// A method's time includes native and kernel code that it called, and the JDK's locks and sleeps.
    pub methods: Vec<Line>,
}

/// Compares the recordings of `a` with those of `b`, of the same event.
pub fn compare(event: Event, a: &[Samples], b: &[Samples], rules: &Rules) -> Comparison {
    let each = a.len() >= RECORDINGS_MIN && b.len() >= RECORDINGS_MIN;
    let places = |side: &[Samples]| side.iter().map(|samples| rules.place(samples)).collect::<Vec<_>>();
    let (places_a, places_b) = (places(a), places(b));
    let names: Vec<_> = rules.category_names().map(str::to_owned).collect();
    let categories = lines(
        &names,
        &estimates(a, names.len(), each, |recording, row| Some(places_a[recording][row].category)),
        &estimates(b, names.len(), each, |recording, row| Some(places_b[recording][row].category)),
        names.len(),
    );
    let names: Vec<_> = rules.group_names().map(str::to_owned).collect();
    let groups = lines(
        &names,
        &estimates(a, names.len(), each, |recording, row| Some(places_a[recording][row].group)),
        &estimates(b, names.len(), each, |recording, row| Some(places_b[recording][row].group)),
        names.len(),
    );
    let count = |side: &[Samples]| side.iter().map(Samples::count).sum();
    Comparison {
        samples_a: count(a),
        samples_b: count(b),
        unit: if each { "recordings" } else { "seconds" },
        categories,
        groups,
        methods: methods(event, a, b, each),
    }
}

fn methods(event: Event, a: &[Samples], b: &[Samples], each: bool) -> Vec<Line> {
    let mut index = HashMap::new();
    let of_a: Vec<_> = a.iter().map(|samples| methods_of(event, samples, &mut index)).collect();
    let of_b: Vec<_> = b.iter().map(|samples| methods_of(event, samples, &mut index)).collect();
    let all = index.len();
    let shares_a = totals(a, &of_a, all);
    let shares_b = totals(b, &of_b, all);
    let mut order: Vec<usize> = (0..all).collect();
    let weight = |method: &usize| -(shares_b[*method] - shares_a[*method]).abs();
    order.sort_by(|x, y| weight(x).total_cmp(&weight(y)).then(x.cmp(y)));
    order.truncate(METHODS_MAX);
    let mut part_of = vec![None; all];
    let mut names = vec![String::new(); order.len()];
    for (part, method) in order.iter().enumerate() {
        part_of[*method] = Some(part);
    }
    for (name, method) in index {
        if let Some(part) = part_of[method] {
            names[part] = name;
        }
    }
    lines(
        &names,
        &estimates(a, names.len(), each, |recording, row| part_of[of_a[recording][row]]),
        &estimates(b, names.len(), each, |recording, row| part_of[of_b[recording][row]]),
        all,
    )
}

/// Methods of the JDK that wait. Their time is charged to the caller, which sleeps or waits for the lock.
static WAITS: LazyLock<Regex> = LazyLock::new(|| {
    let methods = r"^java/lang/(Thread\.(sleep|join|park|yield)|Object\.wait)|^java/util/concurrent/locks/|^jdk/internal/misc/Unsafe\.park$|^java/util/concurrent/TimeUnit\.sleep$";
    Regex::new(methods).expect("the pattern is a constant")
});

/// Returns for each row of the table the method to which its time is charged.
///
/// That is the innermost Java method that `WAITS` does not match, or else the innermost Java method. A stack without Java
/// is charged to its innermost frame outside the kernel. In wall-clock samples it is charged to its outermost frame: the
/// JVM's own threads have the same number of samples in each second, whatever they wait in.
pub fn methods_of(event: Event, samples: &Samples, index: &mut HashMap<String, usize>) -> Vec<usize> {
    let mut known = HashMap::new();
    let mut method = |node: usize| {
        *known.entry(node).or_insert_with(|| {
            let frames: Vec<_> = samples.ancestry(node).filter(|(_, kind)| *kind != Kind::Class).collect();
            let java = |kind: Kind| matches!(kind, Kind::Compiled | Kind::Inlined | Kind::WarmingUp);
            let found = frames.iter().find(|(name, kind)| java(*kind) && !WAITS.is_match(name));
            let found = found.or(frames.iter().find(|(_, kind)| java(*kind)));
            let outermost = frames.last().filter(|_| event == Event::Wall);
            let found =
                found.or(outermost).or(frames.iter().find(|(_, kind)| *kind != Kind::Kernel)).or(frames.first());
            let next = index.len();
            *index.entry(found.map_or("", |(name, _)| name).to_owned()).or_insert(next)
        })
    };
    samples.rows.iter().map(|row| method(row.node)).collect()
}

fn totals(side: &[Samples], methods: &[Vec<usize>], count: usize) -> Vec<f64> {
    let mut sums = vec![0.0; count];
    for (samples, methods) in side.iter().zip(methods) {
        for (row, method) in samples.rows.iter().zip(methods) {
            sums[*method] += row.value as f64;
        }
    }
    let whole: f64 = sums.iter().sum();
    sums.iter().map(|sum| sum / whole.max(1.0)).collect()
}

/// The shares of one side. With `each`, one observation is a recording, otherwise a second of any of its recordings.
fn estimates(
    side: &[Samples],
    count: usize,
    each: bool,
    part_of: impl Fn(usize, usize) -> Option<usize>,
) -> Vec<Estimate> {
    let matrices: Vec<_> = side
        .iter()
        .enumerate()
        .map(|(recording, samples)| Matrix::new(samples, count, |row| part_of(recording, row)))
        .collect();
    if each {
        let share = |matrix: &Matrix, part: usize| {
            matrix.parts[part].iter().sum::<f64>() / matrix.wholes.iter().sum::<f64>().max(1.0)
        };
        let shares = |part| matrices.iter().map(|matrix| share(matrix, part)).collect::<Vec<_>>();
        return (0..count).map(|part| stats::between(&shares(part))).collect();
    }
    let mut joined = Matrix { parts: vec![Vec::new(); count], wholes: Vec::new() };
    for matrix in matrices {
        joined.wholes.extend(matrix.wholes);
        for (part, values) in joined.parts.iter_mut().zip(matrix.parts) {
            part.extend(values);
        }
    }
    joined.estimates()
}

/// The lines of a table, largest change first. `tests` is the number of parts in total.
fn lines(names: &[String], a: &[Estimate], b: &[Estimate], tests: usize) -> Vec<Line> {
    let changes: Vec<Change> = a.iter().zip(b).map(|(a, b)| stats::change(a, b)).collect();
    let p_values: Vec<_> = changes.iter().map(|change| change.p_value).collect();
    let adjusted = stats::holm(&p_values, tests.max(p_values.len()));
    let mut lines: Vec<_> = names
        .iter()
        .zip(a.iter().zip(b))
        .zip(changes.iter().zip(adjusted))
        .filter(|((_, (a, b)), _)| a.share > 0.0 || b.share > 0.0)
        .map(|((name, (a, b)), (change, p_value))| Line {
            name: name.clone(),
            a: a.share,
            b: b.share,
            change: change.change,
            change_low: change.bounds.map(|bounds| bounds.0),
            change_high: change.bounds.map(|bounds| bounds.1),
            p_value,
            significant: p_value < FALSE_ALARMS_MAX && change.change.abs() >= CHANGE_MIN,
        })
        .collect();
    lines.sort_by(|x, y| y.change.abs().total_cmp(&x.change.abs()).then_with(|| x.name.cmp(&y.name)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charged_to(event: Event, frames: &str) -> String {
        let mut table = String::new();
        for (index, frame) in frames.split(';').enumerate() {
            table += &format!("F\t{frame}\nN\t{index}\t{}\n", index + 1);
        }
        table += &format!("T\tw\nS\t0\t1\t{}\t1\t1\n", frames.split(';').count());
        let mut index = HashMap::new();
        methods_of(event, &Samples::parse(&table, false).unwrap(), &mut index);
        index.into_keys().next().unwrap()
    }

    #[test]
    fn a_method_has_the_native_code_the_locks_and_the_sleeps_that_it_called() {
        for (stack, method) in [
            ("java/lang/Thread.run_[j];A.work_[j];libc_write;sys_write_[k]", "A.work"),
            (
                "A.work_[j];A.pause_[j];java/lang/Thread.sleep_[i];java/lang/Thread.sleepNanos0_[j];JVM_SleepNanos",
                "A.pause",
            ),
            (
                "Q.take_[j];java/util/concurrent/locks/ReentrantLock.lock_[i];jdk/internal/misc/Unsafe.park_[j]",
                "Q.take",
            ),
            ("A.wait_[j];java/lang/Object.wait0_[j];ObjectMonitor::wait", "A.wait"),
            ("java/lang/Thread.sleep_[j];JVM_SleepNanos", "java/lang/Thread.sleep"),
            ("start_thread;GCTaskThread::run", "GCTaskThread::run"),
        ] {
            assert_eq!(charged_to(Event::Cpu, stack), method, "{stack}");
        }
        assert_eq!(charged_to(Event::Wall, "start_thread;GCTaskThread::run"), "start_thread");
    }
}
