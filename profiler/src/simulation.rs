//! Recordings with a known truth, for tests. Samples cluster by second as real ones do, in a load that drifts and in
//! flushes that last for seconds.

use crate::categories::Rules;
use crate::collapsed::Kind;
use crate::compare::{Comparison, compare};
use crate::event::Event;
use crate::samples::{Node, Row, Samples};
use crate::shares::Tables;
use crate::stats::Random;
use std::collections::HashMap;

const RULES: &str = "
    [[thread]]\ngroup='flush'\nwhat=''\ncategory='flush'\nroots=['^Flusher\\.work$']
    [[thread]]\ngroup='workers'\nwhat=''\nroots=['^Workers\\.work$']
    [[category]]\nname='flush'\nwhat=''\nframes=[]
    [[category]]\nname='planted'\nwhat=''\nframes=['^Planted\\.']
    [[category]]\nname='get'\nwhat=''\nframes=['^Engine\\.get$']
    [[category]]\nname='put'\nwhat=''\nframes=['^Engine\\.put$']";

/// The work of a simulated service.
#[derive(Clone, Copy)]
pub struct Service {
    /// Share of the workers' time that the planted method uses.
    pub planted: f64,
}

/// Methods under the worker's root, among which the rest of the workers' time is split.
const WORK: [(&str, f64); 6] = [
    ("Engine.get", 0.5),
    ("Engine.put", 0.2),
    ("Socket.read", 0.1),
    ("Socket.write", 0.1),
    ("Parser.parse", 0.06),
    ("Queue.take", 0.04),
];

/// Samples of each second: planted, flush, and the rest. The mean load of a worker second is 2,000; `correlation` is
/// that of the loads of neighbouring seconds.
fn seconds(service: Service, count: usize, correlation: f64, random: &mut Random) -> Vec<[f64; 3]> {
    let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    let (mut load, mut tilt) = (normal(), normal());
    let mut flushing = 0_i64;
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        // first-order autoregression, because loads of neighbouring seconds are alike
        load = correlation * load + (1.0 - correlation * correlation).sqrt() * normal();
        tilt = 0.5 * tilt + 0.866 * normal();
        if flushing == 0 && normal() > 1.2 {
            flushing = 2 + (normal().abs() * 1.5) as i64;
        }
        let work = 2000.0 * (1.0 + 0.1 * load).max(0.1);
        let share = (service.planted * (1.0 + 0.15 * tilt)).clamp(0.0, 1.0);
        let flush = if flushing > 0 { 700.0 + 80.0 * normal() } else { 0.0 };
        flushing = (flushing - 1).max(0);
        let noise = |mean: f64, normal: f64| (mean + mean.sqrt() * normal).max(0.0).round();
        all.push([noise(work * share, normal()), noise(flush, normal()), noise(work * (1.0 - share), normal())]);
    }
    all
}

fn record(service: Service, count: usize, seed: u64) -> Samples {
    record_load(service, count, 0.6, seed)
}

/// A recording with all samples of a second in its first tenth.
pub fn record_load(service: Service, count: usize, correlation: f64, seed: u64) -> Samples {
    let mut random = Random::new(seed);
    let seconds = seconds(service, count, correlation, &mut random);
    let mut samples =
        Samples { seconds: count, threads: vec!["worker".into(), "flusher".into()], ..Samples::default() };
    let mut add = |name: &str, parent| {
        samples.frames.push((name.to_owned(), Kind::Compiled));
        samples.nodes.push(Node { parent, frame: samples.frames.len() - 1 });
        samples.nodes.len() - 1
    };
    let (workers, flusher) = (add("Workers.work", None), add("Flusher.work", None));
    let planted = add("Planted.burn", Some(workers));
    let work: Vec<_> = WORK.iter().map(|(name, part)| (add(name, Some(workers)), *part)).collect();
    for (second, [burned, flushed, rest]) in seconds.into_iter().enumerate() {
        let mut row = |thread, node, samples_due: f64| {
            let due = samples_due as u64;
            samples.rows.push(Row { tenth: 10 * second, thread, node, samples: due, value: due });
        };
        row(0, planted, burned);
        row(1, flusher, flushed);
        for (node, part) in &work {
            let spread = (rest * part).sqrt() * 2.0 * (random.unit() - 0.5);
            row(0, *node, (rest * part + spread).max(0.0).round());
        }
    }
    samples
}

pub fn rules() -> Rules {
    Rules::parse(RULES, "simulation").unwrap()
}

/// Shares without intervals, for recordings too long for them.
fn shares_of(samples: &Samples) -> HashMap<String, f64> {
    let rules = rules();
    let names: Vec<_> = rules.category_names().map(str::to_owned).collect();
    let mut shares = HashMap::new();
    let whole = samples.count() as f64;
    for (row, place) in samples.rows.iter().zip(rules.place(samples)) {
        *shares.entry(names[place.category].clone()).or_default() += row.value as f64 / whole;
    }
    shares
}

fn between(a: Service, b: Service, seed: u64) -> Comparison {
    compare(Event::Cpu, &[record(a, 60, seed)], &[record(b, 60, seed + 1)], &rules())
}

#[test]
fn the_intervals_hold_the_truth_in_nine_of_ten_recordings() {
    let service = Service { planted: 0.3 };
    let truth = shares_of(&record(service, 100_000, 1));
    for name in ["planted", "flush", "get"] {
        let true_share = truth[name];
        let mut held = 0;
        let mut width = 0.0;
        for seed in 0..40 {
            let tables = Tables::of(&record(service, 60, 1000 + seed), &rules());
            let row = tables.categories.iter().find(|row| row.category == name).unwrap();
            let (low, high) = (row.share_low.unwrap(), row.share_high.unwrap());
            held += u32::from((low..=high).contains(&true_share));
            width += (high - low) / 40.0;
        }
        assert!(held >= 36, "{name}: {held} of 40 intervals hold {true_share:.4}");
        assert!(width < 0.12, "{name}: intervals of {width:.3} on average say nothing");
    }
}

#[test]
fn a_planted_difference_is_at_the_top_of_the_table() {
    for seed in 0..10 {
        let comparison = between(Service { planted: 0.1 }, Service { planted: 0.2 }, 10 * seed);
        let first = &comparison.categories[0];
        assert!(first.name == "planted" && first.significant && first.change > 0.05, "{comparison:#?}");
        let method = &comparison.methods[0];
        assert!(method.name == "Planted.burn" && method.significant, "{comparison:#?}");
    }
}

#[test]
fn nothing_is_significant_between_two_recordings_of_the_same() {
    for seed in 0..10 {
        let comparison = between(Service { planted: 0.3 }, Service { planted: 0.3 }, 7000 + 10 * seed);
        let lines = comparison.categories.iter().chain(&comparison.groups).chain(&comparison.methods);
        let alarms: Vec<_> = lines.filter(|line| line.significant).collect();
        assert!(alarms.is_empty(), "seed {seed}: {alarms:#?}");
    }
}

#[test]
fn three_recordings_a_side_are_three_observations() {
    let side = |planted, seed: u64| (0..3).map(|n| record(Service { planted }, 30, seed + n)).collect::<Vec<_>>();
    let comparison = compare(Event::Cpu, &side(0.1, 50), &side(0.2, 60), &rules());
    assert_eq!(comparison.unit, "recordings");
    assert_eq!(comparison.categories[0].name, "planted");
    assert!(comparison.categories[0].change_low.unwrap() > 0.0, "{comparison:#?}");
}
