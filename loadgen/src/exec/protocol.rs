//! The messages between the collector and the event loops.

use super::sampler::RequestRate;
use super::stops::Stop;
pub(super) use crate::cli::{Idle, Pool};
use crate::part::Part;
use crate::schedule::{Arrivals, Schedule};
use crate::stats::{ExpectedStatuses, Interval};
use crate::tls::Tls;
use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex};
use thiserror::Error;

/// The settings that all threads of a run share.
#[derive(Debug)]
pub struct WorkerPlan {
    /// When each request is due.
    pub schedule: Schedule,
    /// The part of the load that this generator sends.
    pub part: Part,
    /// Number of threads of this generator.
    pub threads: u64,
    /// Number of connections of each thread.
    pub connections_per_thread: u64,
    /// Number of event loops that run the threads: at most one per CPU and one per thread.
    pub loops: usize,
    /// The rule that chooses the connection of a request.
    pub pool: Pool,
    /// Rate limit of a connection that is behind, as a multiple of its usual rate; `None` for no limit.
    pub catch_up_max: Option<f64>,
    /// The TLS settings; `None` for plain TCP.
    pub tls: Option<Tls>,
    /// The time after which a request counts as timed out.
    pub timeout_ns: u64,
    /// Whether to record one latency per batch of pipelined requests.
    pub batch_latency: bool,
    /// Statuses that count as served.
    pub expected: ExpectedStatuses,
    /// The way in which a loop waits until the next request is due.
    pub idle: Idle,
    /// Whether to raise the event loops' priority if the system allows it.
    pub high_priority: bool,
    /// CPUs to which the loops are pinned, in turn; empty for no pinning.
    pub cpus: Vec<usize>,
    /// Set to true to end the run early.
    pub stop: Arc<AtomicBool>,
}

impl WorkerPlan {
    /// Number of threads of all generators together.
    fn threads_of_all(&self) -> u64 {
        self.threads * self.part.of
    }

    /// Number of connections of this generator.
    pub fn connections(&self) -> u64 {
        self.threads * self.connections_per_thread
    }

    /// The number of `thread` among the threads of all generators.
    pub(super) fn number_of_thread(&self, thread: usize) -> u64 {
        self.part.thread(thread as u64)
    }

    /// The plan of connection `local` of `thread`; `None` in an open pool.
    pub(super) fn arrivals_of_connection(&self, thread: usize, local: u64) -> Option<Arrivals> {
        let number = local * self.threads_of_all() + self.number_of_thread(thread);
        let connections = self.threads_of_all() * self.connections_per_thread;
        (self.pool == Pool::Fixed).then(|| Arrivals::new(&self.schedule, number, connections))
    }

    /// The plan of `thread` in an open pool; `None` if each connection has its own plan.
    pub(super) fn arrivals_of_thread(&self, thread: usize) -> Option<Arrivals> {
        let arrivals = || Arrivals::new(&self.schedule, self.number_of_thread(thread), self.threads_of_all());
        (self.pool == Pool::Open).then(arrivals)
    }
}

/// Makes the loops wait until all of them are connected.
#[derive(Debug, Default)]
pub struct Gate {
    decision: Mutex<Option<Option<u64>>>,
    changed: Condvar,
}

impl Gate {
    /// Starts all loops at `start_ns`, or ends them if it is `None`.
    pub fn decide(&self, start_ns: Option<u64>) {
        *self.decision.lock().expect("held for an assignment only") = Some(start_ns);
        self.changed.notify_all();
    }

    pub(super) fn wait(&self) -> Option<u64> {
        let decision = self.decision.lock().expect("held for an assignment only");
        let decided = self.changed.wait_while(decision, |decision| decision.is_none());
        decided.expect("held for an assignment only").flatten()
    }
}

/// A message from a loop to the collector.
#[derive(Debug)]
pub enum Message {
    /// The loop has tried to open all of its connections.
    Ready {
        /// Number of open connections.
        connected: u64,
        /// Why one of the other connections is not open.
        error: Option<String>,
    },
    /// The warm-up is over.
    Measuring,
    /// The counts of one second.
    Interval {
        /// Index of the loop.
        worker: usize,
        /// Index of the second.
        index: u64,
        /// The counts of that second.
        interval: Box<Interval>,
    },
    /// A thread has ended. Comes before the interval of that second.
    ThreadEnded {
        /// Index of the thread across all generators.
        thread: u64,
        /// When it ended.
        end_ns: u64,
        /// Number of its requests that were due, without those of the warm-up.
        due: u64,
    },
    /// The loop has ended.
    Done {
        /// Index of the loop.
        worker: usize,
        /// The results of the loop, without the intervals.
        result: Box<WorkerResult>,
    },
    /// The loop cannot continue.
    Failed(WorkerError),
}

/// Why a loop cannot continue.
#[derive(Debug, Error)]
pub enum WorkerError {
    /// The script failed.
    #[error("{0}")]
    Script(#[from] crate::script::ScriptError),
    /// A system call failed.
    #[error("{0}")]
    System(#[from] io::Error),
    /// A CPU from `--cpus` cannot be used.
    #[error("--cpus: cannot run on CPU {cpu}: {error}; `nproc` and `taskset -p $$` show the CPUs that may be used")]
    Cpu {
        /// The CPU's index.
        cpu: usize,
        /// The system's error.
        error: io::Error,
    },
}

/// The results of a thread, without the intervals.
#[derive(Debug)]
pub struct ThreadResult {
    /// Index of the thread across all generators.
    pub thread: u64,
    /// Number of the thread's requests that were due in the run.
    pub due: u64,
    /// Number of due requests that had neither a response nor an error when the thread ended.
    pub unfinished: u64,
    /// Age of the oldest unfinished request since it was due.
    pub oldest_unfinished_ns: u64,
    /// The largest number of requests that one connection had on the wire.
    pub pipelining: u64,
    /// When the thread ended.
    pub end_ns: u64,
    /// The sampled response rate of the thread.
    pub request_rate: RequestRate,
}

/// The results of an event loop, without the intervals.
#[derive(Debug)]
pub struct WorkerResult {
    /// The results of the loop's threads.
    pub threads: Vec<ThreadResult>,
    /// When the last thread ended.
    pub end_ns: u64,
    /// Time in which the loop was idle.
    pub idle_ns: u64,
    /// The part of `idle_ns` in which the loop polled instead of sleeping.
    pub spin_ns: u64,
    /// CPU time that the loop used.
    pub cpu_ns: u64,
    /// Whether the loop ran at niceness -20.
    pub high_priority: bool,
    /// The longest gaps in which the loop did not run.
    pub stops: Vec<Stop>,
    /// Why the loop ended early, if it failed.
    pub failure: Option<WorkerError>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedule::{DueCounter, Step};
    use proptest::prelude::*;

    fn plan(schedule: &Schedule, part: Part, threads: u64, connections_per_thread: u64, pool: Pool) -> WorkerPlan {
        WorkerPlan {
            schedule: schedule.clone(),
            part,
            threads,
            connections_per_thread,
            loops: 1,
            pool,
            catch_up_max: None,
            tls: None,
            timeout_ns: 1,
            batch_latency: false,
            expected: ExpectedStatuses::with(&[]),
            idle: Idle::Sleep,
            high_priority: false,
            cpus: Vec::new(),
            stop: Arc::default(),
        }
    }

    /// When the requests of a generator are due, in order.
    fn due_times(plan: &WorkerPlan) -> Vec<u64> {
        let threads = 0..plan.threads as usize;
        let of_thread = |thread: usize| match plan.pool {
            Pool::Open => vec![plan.arrivals_of_thread(thread)],
            Pool::Fixed => {
                (0..plan.connections_per_thread).map(|own| plan.arrivals_of_connection(thread, own)).collect()
            }
        };
        let mut times = Vec::new();
        for mut arrivals in threads.flat_map(of_thread).flatten() {
            while arrivals.due_ns() < plan.schedule.end_ns() {
                times.push(arrivals.due_ns());
                arrivals.take(&plan.schedule, 1);
            }
        }
        times.sort_unstable();
        times
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn generators_share_the_requests_of_one_and_lose_none(
            rate in 1.0f64..3000.0, ramp_to in 1.0f64..3000.0, seed in proptest::option::of(0u64..9), limit in proptest::option::of(1u64..500),
            of in 1u64..5, threads in 1u64..4, connections_per_thread in 1u64..4, open: bool
        ) {
            let steps = [Step::parse("500:300ms").unwrap(), Step::Ramp(rate, ramp_to, 700_000_000)];
            let mut schedule = Schedule::of_steps(&steps).with_warmup(100_000_000);
            if let Some(seed) = seed {
                schedule = schedule.with_poisson_arrivals(seed);
            }
            let pool = if open { Pool::Open } else { Pool::Fixed };
            let parties = if open { of * threads } else { of * threads * connections_per_thread };
            if let Some(limit) = limit {
                schedule = schedule.limited_to(limit, parties);
            }
            let one = due_times(&plan(&schedule, Part::WHOLE, of * threads, connections_per_thread, pool));
            let (mut together, mut counted) = (Vec::new(), 0);
            for index in 0..of {
                let part = Part { index, of };
                let own = due_times(&plan(&schedule, part, threads, connections_per_thread, pool));
                let count = DueCounter::new(&schedule, parties, of * threads, part).advance(&schedule, schedule.end_ns());
                prop_assert_eq!(own.len() as u64, count, "generator {}", part);
                counted += count;
                together.extend(own);
            }
            together.sort_unstable();
            prop_assert_eq!(counted, one.len() as u64);
            prop_assert_eq!(together, one);
        }
    }
}
