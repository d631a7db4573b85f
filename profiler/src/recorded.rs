//! Tests the rules of `categories.toml` on stacks of the real service, which `tests/record-fixtures.sh` records.

use crate::categories::{BUILT_IN, OTHER, Rules};
use crate::samples::Samples;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

/// Each file's name, `LOAD.EVENT`, and its samples.
fn recorded() -> Vec<(String, Samples)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/recorded");
    let mut found: Vec<_> = fs::read_dir(&directory)
        .expect("the recordings are there")
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let samples = table(&fs::read_to_string(&path).unwrap(), !name.ends_with(".cpu"));
            (name, samples)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// Collapsed stacks `[thread];frame;…;frame value` as a table. With `ends_in_class` the last frame of each is a class.
fn table(collapsed: &str, ends_in_class: bool) -> Samples {
    let (mut text, mut nodes, mut threads) = (String::new(), 0, HashMap::new());
    for line in collapsed.lines() {
        let (stack, value) = line.rsplit_once(' ').unwrap();
        let (thread, frames) = stack.split_once(';').unwrap();
        let next = threads.len() + 1;
        let thread_id = *threads.entry(thread).or_insert(next);
        if thread_id == next {
            text += &format!("T\t{thread}\n");
        }
        let mut parent = 0;
        for frame in frames.split(';') {
            nodes += 1;
            text += &format!("F\t{frame}\nN\t{parent}\t{nodes}\n");
            parent = nodes;
        }
        text += &format!("S\t0\t{thread_id}\t{parent}\t1\t{value}\n");
    }
    Samples::parse(&text, ends_in_class).unwrap()
}

fn rules() -> Rules {
    Rules::parse(BUILT_IN, "categories.toml").unwrap()
}

/// The value of each category, as a share of the whole, among the samples of threads that `thread` accepts.
fn shares(samples: &Samples, thread: impl Fn(&str) -> bool) -> HashMap<String, f64> {
    let rules = rules();
    let names: Vec<_> = rules.category_names().map(str::to_owned).collect();
    let mut shares = HashMap::new();
    let mut whole = 0.0;
    for (row, place) in samples.rows.iter().zip(rules.place(samples)) {
        if thread(&samples.threads[row.thread]) {
            *shares.entry(names[place.category].clone()).or_insert(0.0) += row.value as f64;
            whole += row.value as f64;
        }
    }
    shares.values_mut().for_each(|share| *share /= whole);
    shares
}

#[test]
fn every_recording_of_the_script_is_there_and_no_other() {
    let script = include_str!("../tests/record-fixtures.sh");
    let (_, table) = script.split_once("<<'TABLE'\n").unwrap();
    let mut due = Vec::new();
    for row in table.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(|row| row.len() == 8) {
        due.extend(row[3].split(',').map(|event| format!("{}.{event}", row[0])));
    }
    due.sort();
    let there: Vec<_> = recorded().into_iter().map(|(name, _)| name).collect();
    assert_eq!(there, due, "run tests/record-fixtures.sh for what is missing");
}

/// Hides the frames of methods that the service no longer has, so that a rule that only they match counts as dead.
fn hide_what_has_moved(samples: &mut Samples) {
    for (name, _) in &mut samples.frames {
        if name.starts_with("lsmlab/") && !is_in_the_sources(name) {
            "moved".clone_into(name);
        }
    }
}

/// Whether the source of the frame's class names its method: `a/B$C.lambda$run$0` is looked for as `run` in `a/B.java`.
fn is_in_the_sources(frame: &str) -> bool {
    let Some((class, method)) = frame.rsplit_once('.').filter(|(class, _)| !class.contains("$$Lambda")) else {
        return true;
    };
    let outer = class.split('$').next().unwrap_or(class);
    let method = method.strip_prefix("lambda$").map_or(method, |rest| rest.split('$').next().unwrap_or(rest));
    let source = ["storage", "server", "peers"].iter().find_map(|room| {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../service").join(room).join("src/main/java");
        fs::read_to_string(root.join(format!("{outer}.java"))).ok()
    });
    source.is_some_and(|text| method.starts_with('<') || text.contains(method))
}

#[test]
fn a_method_that_the_service_no_longer_has_is_recognised() {
    for frame in ["Compactor.work", "Compactor.<init>", "Compactor$Round.work", "Compactor.lambda$work$0"] {
        assert!(is_in_the_sources(&format!("lsmlab/storage/lsm/{frame}")), "{frame}");
    }
    for frame in ["Merge.work", "Compactor.tidyUp", "Compactor.lambda$tidyUp$0"] {
        assert!(!is_in_the_sources(&format!("lsmlab/storage/lsm/{frame}")), "{frame}");
    }
}

#[test]
fn every_pattern_decides_something_in_a_real_recording() {
    let mut tables: Vec<_> = recorded().into_iter().map(|(_, samples)| samples).collect();
    tables.iter_mut().for_each(hide_what_has_moved);
    let unused = rules().unused(&tables);
    assert!(unused.is_empty(), "patterns that match nothing:\n{}", unused.join("\n"));
}

#[test]
fn less_than_a_twentieth_of_each_recording_is_unclassified() {
    for (name, samples) in recorded() {
        let share = shares(&samples, |_| true).get(OTHER).copied().unwrap_or(0.0);
        assert!(share < 0.05, "{name}: {:.1}% is unclassified", 100.0 * share);
    }
}

#[test]
fn compaction_is_compaction_though_it_writes_by_the_code_of_a_flush() {
    let (_, samples) = recorded().into_iter().find(|(name, _)| name == "sync-put.cpu").unwrap();
    for (thread, category) in [("compact", "compaction"), ("flush", "flush")] {
        let shares = shares(&samples, |name| name.to_lowercase().contains(thread));
        assert!(shares.get(category).is_some_and(|share| *share > 0.99), "threads named {thread}: {shares:?}");
    }
}

#[test]
fn the_background_work_of_rocksdb_is_no_part_of_the_jvm() {
    let (_, mut samples) = recorded().into_iter().find(|(name, _)| name == "rocksdb-put.cpu").unwrap();
    let background =
        |samples: &Samples, node| samples.ancestry(node).any(|(name, _)| name.contains("::BackgroundCall"));
    let kept: Vec<_> = samples.rows.iter().filter(|row| background(&samples, row.node)).copied().collect();
    samples.rows = kept;
    let shares = shares(&samples, |_| true);
    assert!(!shares.is_empty(), "the recording holds background work");
    assert!(shares.keys().all(|name| name == "compaction" || name == "flush"), "{shares:?}");
}

#[test]
fn a_range_is_a_read_and_a_write_to_the_socket_not_a_reply() {
    let (_, samples) = recorded().into_iter().find(|(name, _)| name == "range.cpu").unwrap();
    let shares = shares(&samples, |_| true);
    let of = |name: &str| shares.get(name).copied().unwrap_or(0.0);
    assert!(of("dao get") > 0.05 && of("dao get") + of("socket write") > of("http reply"), "{shares:?}");
}

#[test]
fn the_hand_off_of_an_executor_is_the_queue() {
    for (recording, queue) in [
        ("executor-array-get.lock", "java/util/concurrent/ArrayBlockingQueue."),
        ("executor-stack-get.lock", "java/util/concurrent/LinkedBlockingDeque."),
        ("executor-get.cpu", "java/util/concurrent/LinkedBlockingQueue."),
    ] {
        let (_, recorded) = recorded().into_iter().find(|(name, _)| name == recording).unwrap();
        for frame in [queue, "java/util/concurrent/ThreadPoolExecutor.getTask"] {
            let mut samples = recorded.clone();
            samples.rows.retain(|row| recorded.ancestry(row.node).any(|(name, _)| name.starts_with(frame)));
            let shares = shares(&samples, |_| true);
            assert!(shares.len() == 1 && shares.contains_key("queue"), "{frame} in {recording}: {shares:?}");
        }
    }
    let itself = table("[worker-1];java/util/concurrent/ThreadPoolExecutor.getTask 1\n", false);
    assert!(shares(&itself, |_| true).contains_key("queue"));
}

#[test]
fn the_hand_off_of_the_disruptor_is_the_queue() {
    let (_, mut samples) = recorded().into_iter().find(|(name, _)| name == "disruptor-get.cpu").unwrap();
    let waits = |samples: &Samples, node| {
        samples.ancestry(node).any(|(name, _)| name.starts_with("com/lmax/disruptor/BlockingWaitStrategy."))
    };
    let kept: Vec<_> = samples.rows.iter().filter(|row| waits(&samples, row.node)).copied().collect();
    samples.rows = kept;
    // Lock samples are rare in an idle recording; these two stacks are from a contended one, shortened.
    let contended = table(
        "[worker-1];java/lang/Thread.run;com/lmax/disruptor/BatchEventProcessor.processEvents;\
         com/lmax/disruptor/ProcessingSequenceBarrier.waitFor;com/lmax/disruptor/BlockingWaitStrategy.waitFor;\
         java.lang.Object 1\n\
         [NIO Selector #0];one/nio/server/SelectorThread.run;one/nio/http/HttpSession.handleParsedRequest;\
         lsmlab/server/variant/DisruptorVariant.submit;com/lmax/disruptor/RingBuffer.tryPublishEvent;\
         com/lmax/disruptor/MultiProducerSequencer.publish;com/lmax/disruptor/BlockingWaitStrategy.signalAllWhenBlocking;\
         java.lang.Object 1\n",
        true,
    );
    for samples in [samples, contended] {
        let shares = shares(&samples, |_| true);
        assert!(shares.len() == 1 && shares.contains_key("queue"), "{shares:?}");
    }
}
