//! Which part of the service a stack belongs to: the first rule of `categories.toml` that one of its frames matches.

use crate::collapsed::{Kind, Stack};
use anyhow::{Context, Result, bail};
use regex::RegexSet;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// The rules that the program carries.
pub const BUILT_IN: &str = include_str!("../categories.toml");
/// What no rule matches.
const OTHER: &str = "other";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    category: Vec<Rule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    name: String,
    /// For the reader of the file.
    #[allow(dead_code)]
    what: String,
    frames: Vec<String>,
}

/// The rules, ready to use.
pub struct Rules {
    names: Vec<String>,
    /// All patterns of all rules, and for each the rule it belongs to.
    patterns: RegexSet,
    rule_of: Vec<usize>,
}

/// One line of the table.
#[derive(Debug, Serialize, PartialEq)]
pub struct Share {
    pub category: String,
    pub samples: u64,
    /// Part of the event's whole, 0…1: of the samples, of the bytes, of the time waited.
    pub share: f64,
    /// In the event's unit.
    pub value: u64,
}

impl Rules {
    /// Reads rules; `origin` names them in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Rules> {
        let file: File = toml::from_str(text).with_context(|| format!("{origin} is not a list of rules"))?;
        let mut names = Vec::new();
        let mut patterns = Vec::new();
        let mut rule_of = Vec::new();
        for rule in file.category {
            if names.contains(&rule.name) || rule.name == OTHER {
                bail!("{origin}: the category {:?} is there twice, or is the reserved {OTHER:?}", rule.name);
            }
            for pattern in rule.frames {
                regex::Regex::new(&pattern).with_context(|| format!("{origin}: category {:?}", rule.name))?;
                patterns.push(pattern);
                rule_of.push(names.len());
            }
            names.push(rule.name);
        }
        Ok(Rules { names, patterns: RegexSet::new(patterns)?, rule_of })
    }

    /// The table of one event, largest first. `counts` are the same stacks, valued by their number of samples.
    pub fn classify(&self, stacks: &[Stack], counts: &[Stack]) -> Vec<Share> {
        let mut cache = HashMap::new();
        let values = self.sum(stacks, &mut cache);
        let samples = self.sum(counts, &mut cache);
        let total: u64 = values.iter().sum();
        let mut table: Vec<_> = self
            .names
            .iter()
            .map(String::as_str)
            .chain([OTHER])
            .zip(samples.iter().zip(&values))
            .filter(|(_, (samples, value))| **samples > 0 || **value > 0)
            .map(|(name, (samples, value))| Share {
                category: name.to_owned(),
                samples: *samples,
                share: if total == 0 { 0.0 } else { *value as f64 / total as f64 },
                value: *value,
            })
            .collect();
        table.sort_by(|a, b| b.value.cmp(&a.value).then_with(|| a.category.cmp(&b.category)));
        table
    }

    fn sum<'a>(&self, stacks: &[Stack<'a>], cache: &mut HashMap<(&'a str, Kind), Option<usize>>) -> Vec<u64> {
        let mut sums = vec![0; self.names.len() + 1];
        for stack in stacks {
            let rule =
                stack.frames.iter().filter_map(|frame| *cache.entry(*frame).or_insert_with(|| self.rule(*frame)));
            sums[rule.min().unwrap_or(self.names.len())] += stack.value;
        }
        sums
    }

    /// The first rule that this frame matches. A class at the end of a stack is no frame.
    fn rule(&self, (name, kind): (&str, Kind)) -> Option<usize> {
        let text = match kind {
            Kind::Class => return None,
            Kind::Kernel => format!("{name}_[k]"),
            _ => name.to_owned(),
        };
        self.patterns.matches(&text).iter().map(|pattern| self.rule_of[pattern]).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapsed::{parse, total};
    use proptest::prelude::*;
    use std::sync::LazyLock;

    fn category(stack: &str) -> String {
        let rules = Rules::parse(BUILT_IN, "categories.toml").unwrap();
        let text = format!("{stack} 5");
        let stacks = parse(&text, false).unwrap();
        let table = rules.classify(&stacks, &stacks);
        assert_eq!(table.len(), 1);
        assert_eq!((table[0].samples, table[0].share), (5, 1.0));
        table[0].category.clone()
    }

    #[test]
    fn the_parts_of_the_service_are_told_apart() {
        for (expected, stack) in [
            ("select", "one/nio/server/SelectorThread.run_[j];one/nio/net/NativeSelector.select_[j];epoll_wait;x_[k]"),
            (
                "select",
                "one/nio/server/SelectorThread.run_[j];one/nio/net/JavaSelector.select_[j];sun/nio/ch/EPoll.wait_[j]",
            ),
            (
                "select",
                "lsmlab/server/http/EventLoop.run_[j];lsmlab/server/http/ChannelSelector.select_[j];lsmlab/server/http/ChannelSelector.collect_[i]",
            ),
            (
                "socket read",
                "lsmlab/server/http/EventLoop.run_[j];lsmlab/server/http/Connection.readSocket_[i];lsmlab/server/http/SystemCalls.receive_[i];recv",
            ),
            (
                "socket write",
                "lsmlab/server/http/EventLoop.run_[j];lsmlab/server/http/Connection.send_[i];lsmlab/server/http/SystemCalls.send_[i];send",
            ),
            (
                "socket read",
                "one/nio/net/Session.process_[j];lsmlab/server/http/Connection.readSocket_[i];one/nio/net/JavaSocket.read_[i];tcp_recvmsg_[k]",
            ),
            (
                "socket write",
                "lsmlab/server/variant/Workers.work_[j];lsmlab/server/http/Exchange.finish_[i];lsmlab/server/http/Connection.send_[i];one/nio/net/NativeSocket.write_[i]",
            ),
            (
                "http parse",
                "one/nio/server/SelectorThread.run_[j];lsmlab/server/http/Connection.process_[j];lsmlab/server/http/Connection.parseHead_[i];lsmlab/server/http/RequestHead.parse_[i]",
            ),
            (
                "queue",
                "lsmlab/server/variant/Workers.work_[j];lsmlab/server/variant/BlockingQueueVariant.lambda$new$0_[i];java/util/concurrent/LinkedBlockingQueue.take_[i];java/util/concurrent/locks/LockSupport.park_[j];Parker::park;x_[k]",
            ),
            (
                "queue",
                "lsmlab/server/http/Connection.process_[j];java/util/concurrent/LinkedBlockingDeque.offerFirst_[j];java/util/concurrent/locks/ReentrantLock.lock_[i]",
            ),
            (
                "dao get",
                "lsmlab/server/http/Exchange.perform_[j];lsmlab/storage/LsmEngine.get_[j];lsmlab/storage/memtable/Memtable.find_[i]",
            ),
            (
                "dao put",
                "lsmlab/server/http/Exchange.perform_[j];lsmlab/storage/LsmEngine.put_[j];lsmlab/storage/CommitPipeline.commit_[i];lsmlab/storage/memtable/Memtable.find_[i]",
            ),
            (
                "wal",
                "lsmlab/storage/LsmEngine.put_[j];lsmlab/storage/CommitPipeline.writeLog_[i];lsmlab/storage/wal/WalWriter.commit_[i];pwrite_[k]",
            ),
            (
                "flush",
                "java/lang/Thread.run_[j];lsmlab/storage/Flusher.work_[j];lsmlab/storage/table/TableWriter.add_[i]",
            ),
            (
                "compaction",
                "java/lang/Thread.run_[j];lsmlab/storage/Compactor.work_[j];lsmlab/storage/cursor/MergingCursor.next_[i]",
            ),
            ("executor", "java/lang/Thread.run_[j];lsmlab/server/variant/Workers.work_[j]"),
            ("connection", "one/nio/server/SelectorThread.run_[j];lsmlab/server/http/Connection.process_[j]"),
            (
                "lock",
                "java/lang/Thread.run_[j];com/example/Foo.bar_[j];java/util/concurrent/locks/ReentrantLock.lock_[j]",
            ),
            ("gc", "start_thread;WorkerThread::run;G1ParScanThreadState::copy"),
            ("gc", "start_thread;VMThread::run;VM_G1CollectForAllocation::doit"),
            ("jit", "start_thread;CompileBroker::compiler_thread_loop;C2Compiler::compile_method"),
            ("profiler", "start_thread;AttachListenerThread::thread_entry;JvmtiAgent::load;AttachListener::x"),
            ("kernel", "start_thread;do_syscall_64_[k]"),
            ("jvm", "start_thread;VMThread::run"),
            ("other", "com/example/Foo.bar_[j]"),
        ] {
            assert_eq!(category(stack), expected, "{stack}");
        }
    }

    #[test]
    fn the_first_rule_of_the_file_wins_wherever_its_frame_stands() {
        let rules =
            "[[category]]\nname='a'\nwhat=''\nframes=['^A\\.']\n[[category]]\nname='b'\nwhat=''\nframes=['^B\\.']";
        let rules = Rules::parse(rules, "test").unwrap();
        let stacks = parse("B.x_[j];A.y_[j] 1\nA.y_[j];B.x_[i] 2\nB.z_[0] 3", false).unwrap();
        let table = rules.classify(&stacks, &stacks);
        let seen: Vec<_> = table.iter().map(|row| (row.category.as_str(), row.value)).collect();
        assert_eq!(seen, [("a", 3), ("b", 3)]);
    }

    #[test]
    fn a_wrong_rule_is_named() {
        let error = |text| format!("{:#}", Rules::parse(text, "mine.toml").err().expect("refused"));
        assert!(error("[[category]]\nname='a'\nwhat=''\nframes=['(']").contains("category \"a\""));
        assert!(error("[[category]]\nname='a'\nwhat=''\nframe=[]").contains("mine.toml"));
        let twice = "[[category]]\nname='a'\nwhat=''\nframes=[]\n";
        assert!(error(&twice.repeat(2)).contains("twice"));
    }

    proptest! {
        #[test]
        fn shares_cover_every_sample_once(
            lines in prop::collection::vec((prop::collection::vec("(one/nio/|lsmlab/|java/)?[a-zA-Z]{1,8}\\.[a-z]{1,8}", 1..6), 0u64..1000), 1..40)
        ) {
            let text: String = lines.iter().map(|(frames, value)| format!("{} {value}\n", frames.join(";"))).collect();
            let stacks = parse(&text, false).unwrap();
            static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::parse(BUILT_IN, "built in").unwrap());
            let table = RULES.classify(&stacks, &stacks);
            prop_assert_eq!(table.iter().map(|row| row.samples).sum::<u64>(), total(&stacks));
            let shares: f64 = table.iter().map(|row| row.share).sum();
            prop_assert!(total(&stacks) == 0 || (shares - 1.0).abs() < 1e-9);
            prop_assert!(table.windows(2).all(|pair| pair[0].value >= pair[1].value));
        }
    }
}
