//! Divides the requests of one load among several generators.
//!
//! One generator assigns its requests round-robin: connection `g` of `C` owns the requests `g, g + C, g + 2C, …`, and
//! thread `g mod T` of `T` owns the connection. Several generators do the same with threads: generator `p` of `N` owns
//! the threads `p, p + N, p + 2N, …`. `N` divides `T`, and `T` divides `C`, so generator `p` owns the connections and
//! the requests whose numbers are `p` modulo `N`. Every request belongs to exactly one generator. Each script has the
//! thread number that it would have in a single generator, so it requests the same keys.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Maximum number of generators that share one load.
const PARTS_MAX: u64 = 256;

/// The part of a load that one of several generators sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// Index of the generator.
    pub index: u64,
    /// The number of generators.
    pub of: u64,
}

impl Part {
    /// The whole load, sent by a single generator.
    pub const WHOLE: Self = Self { index: 0, of: 1 };

    /// Reads a part such as `2/3`, in which generators are counted from 1.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read = || {
            let (number, of) = text.split_once('/')?;
            Some((number.parse::<u64>().ok()?, of.parse::<u64>().ok().filter(|of| (1..=PARTS_MAX).contains(of))?))
        };
        match read() {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Self { index: number - 1, of }),
            Some(_) => Err("expected I/N with I from 1 to N".to_owned()),
            None => Err(format!("expected I/N such as 2/3, with at most {PARTS_MAX} generators")),
        }
    }

    /// Whether this generator owns the thread, connection or request with this number in the whole load.
    pub fn owns(self, number: u64) -> bool {
        number % self.of == self.index
    }

    /// The number in the whole load of this generator's thread `own`.
    pub fn thread(self, own: u64) -> u64 {
        own * self.of + self.index
    }

    /// Returns the number of requests that this generator owns among the first `count` of the whole load.
    pub fn share(self, count: u64) -> u64 {
        count.saturating_sub(self.index).div_ceil(self.of)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.of)
    }
}
