//! Why responses were lost.

use serde::{Deserialize, Serialize};

/// The lost responses with one reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadError {
    /// The reason in a few words, such as `malformed head`.
    pub reason: String,
    /// Number of requests that were lost, or of events in which none was.
    pub count: u64,
    /// What happened the first time.
    pub first: String,
}

/// The reasons of [`Errors::read`](super::Errors::read), in the order of their first occurrence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadErrors(Vec<ReadError>);

impl ReadErrors {
    /// Counts `count` lost responses. `first` is kept if no response was lost for this reason before.
    pub fn count(&mut self, reason: &str, count: u64, first: String) {
        match self.0.iter_mut().find(|known| known.reason == reason) {
            Some(known) => known.count += count,
            None => self.0.push(ReadError { reason: reason.to_owned(), count, first }),
        }
    }

    /// Adds the counts of `other`, whose first cases are later ones.
    pub fn add(&mut self, other: &Self) {
        other.0.iter().for_each(|error| self.count(&error.reason, error.count, error.first.clone()));
    }

    /// Removes all counts.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The reasons in the order of their first occurrence.
    pub fn iter(&self) -> impl Iterator<Item = &ReadError> {
        self.0.iter()
    }
}
