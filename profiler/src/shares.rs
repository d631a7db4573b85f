//! The table of an event: the share of each category and of each group of threads, with its confidence interval.

use crate::categories::{Place, Rules};
use crate::samples::Samples;
use crate::stats::{self, Estimate};
use serde::Serialize;
use std::collections::BTreeSet;

/// One line of the table of categories.
#[derive(Debug, Serialize, PartialEq)]
pub struct Share {
    pub category: String,
    pub samples: u64,
    /// Share of the event's whole, 0…1: of the samples, of the bytes, of the time waited.
    pub share: f64,
    /// The 95% confidence interval of the share; null for a recording that is too short.
    pub share_low: Option<f64>,
    pub share_high: Option<f64>,
    /// Sum of the samples' values, in the event's unit.
    pub value: u64,
}

/// One line of the table of thread groups.
#[derive(Debug, Serialize, PartialEq)]
pub struct GroupShare {
    pub group: String,
    /// Number of threads that were sampled.
    pub threads: usize,
    pub samples: u64,
    pub share: f64,
    pub share_low: Option<f64>,
    pub share_high: Option<f64>,
    pub value: u64,
}

/// Both tables, largest first.
#[derive(Debug, Default, PartialEq)]
pub struct Tables {
    pub categories: Vec<Share>,
    pub groups: Vec<GroupShare>,
}

/// Values by part and second.
pub struct Matrix {
    pub parts: Vec<Vec<f64>>,
    pub wholes: Vec<f64>,
}

impl Matrix {
    /// Sums by part. `part_of` returns the part of a row of the table, below `count`, or None if it belongs to no part.
    pub fn new(samples: &Samples, count: usize, part_of: impl Fn(usize) -> Option<usize>) -> Matrix {
        let mut matrix = Matrix { parts: vec![vec![0.0; samples.seconds]; count], wholes: vec![0.0; samples.seconds] };
        for (index, row) in samples.rows.iter().enumerate() {
            matrix.wholes[row.second()] += row.value as f64;
            if let Some(part) = part_of(index) {
                matrix.parts[part][row.second()] += row.value as f64;
            }
        }
        matrix
    }

    pub fn estimates(&self) -> Vec<Estimate> {
        stats::shares(&self.parts, &self.wholes)
    }
}

#[derive(Clone, Copy, Default)]
struct Sum {
    samples: u64,
    value: u64,
}

impl Tables {
    /// Sorts every sample into a category and a group.
    pub fn of(samples: &Samples, rules: &Rules) -> Tables {
        let places = rules.place(samples);
        let categories = rows(samples, &places, rules.category_names().count(), |place| place.category);
        let groups = rows(samples, &places, rules.group_names().count(), |place| place.group);
        let mut threads = vec![BTreeSet::new(); rules.group_names().count()];
        for (row, place) in samples.rows.iter().zip(&places) {
            threads[place.group].insert(row.thread);
        }
        let mut tables = Tables::default();
        for (name, (sum, estimate)) in rules.category_names().zip(categories) {
            tables.categories.push(Share {
                category: name.to_owned(),
                samples: sum.samples,
                share: estimate.share,
                share_low: estimate.bounds.map(|bounds| bounds.0),
                share_high: estimate.bounds.map(|bounds| bounds.1),
                value: sum.value,
            });
        }
        for ((name, (sum, estimate)), threads) in rules.group_names().zip(groups).zip(threads) {
            tables.groups.push(GroupShare {
                group: name.to_owned(),
                threads: threads.len(),
                samples: sum.samples,
                share: estimate.share,
                share_low: estimate.bounds.map(|bounds| bounds.0),
                share_high: estimate.bounds.map(|bounds| bounds.1),
                value: sum.value,
            });
        }
        tables.categories.retain(|row| row.samples > 0);
        tables.groups.retain(|row| row.samples > 0);
        tables.categories.sort_by(|a, b| b.value.cmp(&a.value).then_with(|| a.category.cmp(&b.category)));
        tables.groups.sort_by(|a, b| b.value.cmp(&a.value).then_with(|| a.group.cmp(&b.group)));
        tables
    }
}

fn rows(samples: &Samples, places: &[Place], count: usize, part: fn(&Place) -> usize) -> Vec<(Sum, Estimate)> {
    let mut sums = vec![Sum::default(); count];
    for (row, place) in samples.rows.iter().zip(places) {
        sums[part(place)].samples += row.samples;
        sums[part(place)].value += row.value;
    }
    let matrix = Matrix::new(samples, count, |row| Some(part(&places[row])));
    sums.into_iter().zip(matrix.estimates()).collect()
}
