//! Runs in virtual time: the real event loops, collector and report against a simulated clock, poller and server.
//!
//! Each run is drawn from a seed: the command line, the server's faults, and the delays and the order in which the loop
//! sees events. It must hold the properties that every run has. `VIRTUAL_RUNS` is the number of random runs, and
//! `VIRTUAL_SEED` repeats a single one.

mod cases;
mod conditions;
mod peer;
mod properties;
mod world;

use super::collector::Collector;
use super::{Start, worker_plan};
use crate::cli::Arguments;
use crate::clock::SECOND;
use crate::exec::{Gate, Message, Worker};
use crate::report::Results;
use crate::script::{MainScript, ScriptOptions, ThreadScript};
use clap::Parser;
use conditions::Conditions;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, SystemTime};
use world::{Seen, World};

/// When the loops start; by then every attempt to connect has ended.
const START_NS: u64 = 60 * SECOND;

/// Lets a script connect without a server.
const ADDRESS: &str = "function wrk.resolve() wrk.addrs = wrk.lookup('127.0.0.1', '1') end\n";

/// A run and what the server saw of it.
#[derive(Debug)]
struct Simulated {
    results: Results,
    /// The requests of each loop, in the order in which they were sent.
    seen: Vec<Vec<Seen>>,
}

/// The arguments of the command `loadgen words http://127.0.0.1:1/`.
fn arguments(words: &str) -> Arguments {
    let words = format!("loadgen {words} http://127.0.0.1:1/");
    let arguments = Arguments::try_parse_from(words.split_whitespace()).unwrap_or_else(|error| panic!("{error}"));
    arguments.validate().unwrap_or_else(|error| panic!("{words}: {error}"));
    arguments
}

/// Runs `arguments` with the script `lua` over `loops` event loops. Files are made in `folder`.
fn simulate(arguments: &Arguments, lua: &str, loops: usize, conditions: Conditions, folder: &Path) -> Simulated {
    let file = folder.join("script.lua");
    std::fs::write(&file, format!("{ADDRESS}{lua}")).unwrap();
    let options =
        ScriptOptions { file: Some(file), target: arguments.url.clone(), headers: Vec::new(), arguments: Vec::new() };
    let main = MainScript::load(options).unwrap();
    let own = (0..arguments.threads).filter(|thread| arguments.part.owns(*thread));
    let scripts: Vec<ThreadScript> = own.map(|_| main.start_thread().unwrap()).collect();
    let loops = loops.min(scripts.len());

    let gate = Gate::default();
    gate.decide(Some(START_NS));
    let (mut sent, mut seen, mut spares, mut connected) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for number in 0..loops {
        let plan = Arc::new(worker_plan(arguments, loops, Vec::new(), None, Arc::default()));
        let world = World::new(conditions, number as u64, plan.stop.clone());
        let (sender, receiver) = mpsc::channel();
        let (spare, empty_boxes) = mpsc::sync_channel(2);
        Worker::new(world.system(), plan, number, &scripts, sender, empty_boxes).run(&gate);
        spares.push(spare);
        seen.push(world.seen());
        sent.push(receiver.into_iter().collect::<VecDeque<Message>>());
    }

    // The collector sees the messages of each loop in order, and those of different loops in any order.
    let mut random = SmallRng::seed_from_u64(conditions.seed);
    let (sender, messages) = mpsc::channel();
    while sent.iter().any(|of_loop| !of_loop.is_empty()) {
        match sent[random.random_range(0..loops)].pop_front() {
            Some(Message::Ready { connected: of_loop, .. }) => connected += of_loop,
            Some(message) => sender.send(message).unwrap(),
            None => {}
        }
    }
    drop(sender);
    let plan = Arc::new(worker_plan(arguments, loops, Vec::new(), None, Arc::default()));
    let started = SystemTime::UNIX_EPOCH + Duration::from_nanos(START_NS);
    let start = Start { start_ns: START_NS, started, common: None };
    let mut collector = Collector::new(arguments, &plan, spares, connected, start, None, false).unwrap();
    collector.collect(&messages).unwrap_or_else(|error| panic!("{error}"));
    Simulated { results: collector.finish(), seen }
}
