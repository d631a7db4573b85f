//! Assigns a stack to a part of the service by the rules of `categories.toml`: by its thread first, then by the
//! innermost frame that matches a rule.

use crate::collapsed::Kind;
use crate::samples::Samples;
use anyhow::{Context, Result, bail};
use regex::{Regex, RegexSet};
use serde::Deserialize;
use std::collections::HashMap;

/// The built-in rules.
pub const BUILT_IN: &str = include_str!("../categories.toml");
/// The category of stacks that match no rule.
pub const OTHER: &str = "other";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    thread: Vec<ThreadRule>,
    category: Vec<CategoryRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThreadRule {
    group: String,
    #[allow(dead_code)]
    what: String,
    /// The category of all samples of these threads.
    category: Option<String>,
    #[serde(default)]
    roots: Vec<String>,
    #[serde(default)]
    names: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CategoryRule {
    name: String,
    /// A note for the reader of the file.
    #[allow(dead_code)]
    what: String,
    /// Applies only if no frame matches a category without this mark.
    #[serde(default)]
    fallback: bool,
    frames: Vec<String>,
}

/// Patterns, each of which belongs to a rule.
struct Patterns {
    #[cfg_attr(not(test), allow(dead_code))]
    texts: Vec<String>,
    set: RegexSet,
    rule_of: Vec<usize>,
}

impl Patterns {
    fn compile(rules: &[(String, &[String])], origin: &str) -> Result<Patterns> {
        let (mut texts, mut rule_of) = (Vec::new(), Vec::new());
        for (rule, (name, patterns)) in rules.iter().enumerate() {
            for pattern in *patterns {
                Regex::new(pattern).with_context(|| format!("{origin}: {name}"))?;
                texts.push(pattern.clone());
                rule_of.push(rule);
            }
        }
        Ok(Patterns { set: RegexSet::new(&texts)?, texts, rule_of })
    }

    /// The first pattern of the file that matches.
    fn first(&self, text: &str) -> Option<usize> {
        self.set.matches(text).iter().next()
    }
}

/// The rules, ready to use.
pub struct Rules {
    groups: Vec<(String, Option<usize>)>,
    categories: Vec<String>,
    roots: Patterns,
    names: Patterns,
    specific: Patterns,
    fallback: Patterns,
}

/// The part of a sample: indices into `Rules::category_names` and `Rules::group_names`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub category: usize,
    pub group: usize,
}

impl Rules {
    /// Reads rules; `origin` names them in errors.
    pub fn parse(text: &str, origin: &str) -> Result<Rules> {
        let file: File = toml::from_str(text).with_context(|| format!("{origin} is not a list of rules"))?;
        let mut categories: Vec<String> = Vec::new();
        for rule in &file.category {
            if categories.contains(&rule.name) || rule.name == OTHER {
                bail!("{origin}: the category {:?} is given twice, or is the reserved {OTHER:?}", rule.name);
            }
            categories.push(rule.name.clone());
        }
        let mut groups: Vec<(String, Option<usize>)> = Vec::new();
        for rule in &file.thread {
            if groups.iter().any(|(name, _)| *name == rule.group) || rule.group == OTHER {
                bail!("{origin}: the thread group {:?} is given twice, or is the reserved {OTHER:?}", rule.group);
            }
            let index = |name: &String| {
                categories.iter().position(|category| category == name).with_context(|| {
                    format!("{origin}: thread group {:?} names the unknown category {name:?}", rule.group)
                })
            };
            groups.push((rule.group.clone(), rule.category.as_ref().map(index).transpose()?));
        }
        let threads = |select: fn(&ThreadRule) -> &[String]| {
            let rules: Vec<_> =
                file.thread.iter().map(|rule| (format!("thread group {:?}", rule.group), select(rule))).collect();
            Patterns::compile(&rules, origin)
        };
        let frames = |fallback: bool| {
            let select = |rule: &'_ CategoryRule| rule.fallback == fallback;
            let rules: Vec<_> = file
                .category
                .iter()
                .map(|rule| {
                    (format!("category {:?}", rule.name), if select(rule) { rule.frames.as_slice() } else { &[] })
                })
                .collect();
            Patterns::compile(&rules, origin)
        };
        categories.push(OTHER.to_owned());
        groups.push((OTHER.to_owned(), None));
        Ok(Rules {
            roots: threads(|rule| &rule.roots)?,
            names: threads(|rule| &rule.names)?,
            specific: frames(false)?,
            fallback: frames(true)?,
            groups,
            categories,
        })
    }

    /// All categories, `other` last.
    pub fn category_names(&self) -> impl Iterator<Item = &str> {
        self.categories.iter().map(String::as_str)
    }

    /// All thread groups, `other` last.
    pub fn group_names(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(|(name, _)| name.as_str())
    }

    /// The category and the group of each row of the table.
    pub fn place(&self, samples: &Samples) -> Vec<Place> {
        let mut matcher = Matcher::new(self, samples);
        samples.rows.iter().map(|row| matcher.place(row.thread, row.node).0).collect()
    }

    /// The dead rules: patterns that place no sample of these tables, each with its rule's name.
    #[cfg(test)]
    pub fn unused(&self, tables: &[Samples]) -> Vec<String> {
        let mut used = std::collections::HashSet::new();
        for samples in tables {
            let mut matcher = Matcher::new(self, samples);
            for row in &samples.rows {
                used.extend(matcher.place(row.thread, row.node).1.into_iter().flatten());
            }
        }
        let group = |rule: usize| format!("thread group {:?}", self.groups[rule].0);
        let category = |rule: usize| format!("category {:?}", self.categories[rule]);
        let mut unused = Vec::new();
        for (which, patterns) in [&self.roots, &self.names, &self.specific, &self.fallback].into_iter().enumerate() {
            for (index, text) in patterns.texts.iter().enumerate() {
                if !used.contains(&(which, index)) {
                    let rule = patterns.rule_of[index];
                    unused.push(format!("{}: {text}", if which < 2 { group(rule) } else { category(rule) }));
                }
            }
        }
        unused
    }
}

/// The pattern that decided: the index of its set, and its index in the set.
type Evidence = (usize, usize);

/// A place of a stack, with the patterns that decided its thread and its frame.
type Decision = (Place, [Option<Evidence>; 2]);

/// Caches the matches of frames, threads and stacks.
struct Matcher<'a> {
    rules: &'a Rules,
    samples: &'a Samples,
    /// For each frame: the first pattern of `roots`, `specific` and `fallback`.
    frames: Vec<[Option<usize>; 3]>,
    threads: Vec<Option<usize>>,
    places: HashMap<(usize, usize), Decision>,
}

impl<'a> Matcher<'a> {
    fn new(rules: &'a Rules, samples: &'a Samples) -> Matcher<'a> {
        let frame = |(name, kind): &(String, Kind)| match kind {
            // the class at the end of a stack is not a frame
            Kind::Class => [None; 3],
            Kind::Kernel => rules.match_frame(&format!("{name}_[k]")),
            _ => rules.match_frame(name),
        };
        Matcher {
            rules,
            samples,
            frames: samples.frames.iter().map(frame).collect(),
            threads: samples.threads.iter().map(|name| rules.names.first(bare(name))).collect(),
            places: HashMap::new(),
        }
    }

    fn place(&mut self, thread: usize, node: usize) -> Decision {
        if let Some(place) = self.places.get(&(thread, node)) {
            return *place;
        }
        let place = self.find(thread, node);
        self.places.insert((thread, node), place);
        place
    }

    fn find(&self, thread: usize, node: usize) -> Decision {
        let (mut root, mut specific, mut fallback) = (None, None, None::<usize>);
        let mut next = Some(node);
        while let Some(node) = next {
            let [as_root, as_specific, as_fallback] = self.frames[self.samples.nodes[node].frame];
            root = as_root.or(root);
            specific = specific.or(as_specific);
            fallback = fallback.into_iter().chain(as_fallback).min();
            next = self.samples.nodes[node].parent;
        }
        let by_thread = root.map(|pattern| (0, pattern)).or(self.threads[thread].map(|pattern| (1, pattern)));
        let by_frame = specific.map(|pattern| (2, pattern)).or(fallback.map(|pattern| (3, pattern)));
        let rules = self.rules;
        let group = by_thread.map_or(rules.groups.len() - 1, |evidence| rules.rule(evidence));
        match rules.groups[group].1 {
            Some(category) => (Place { category, group }, [by_thread, None]),
            None => {
                let category = by_frame.map_or(rules.categories.len() - 1, |evidence| rules.rule(evidence));
                (Place { category, group }, [by_thread, by_frame])
            }
        }
    }
}

impl Rules {
    fn match_frame(&self, name: &str) -> [Option<usize>; 3] {
        [self.roots.first(name), self.specific.first(name), self.fallback.first(name)]
    }

    fn rule(&self, (which, pattern): Evidence) -> usize {
        [&self.roots, &self.names, &self.specific, &self.fallback][which].rule_of[pattern]
    }
}

/// `[worker-1 tid=77]` → `worker-1`
pub fn bare(thread: &str) -> &str {
    let inner = thread.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(thread);
    inner.split_once(" tid=").map_or(inner, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table of one sample for each line `[thread];frame;…`.
    pub fn samples(stacks: &[&str]) -> Samples {
        let mut text = String::new();
        let (mut frames, mut nodes) = (0, 0);
        for (index, stack) in stacks.iter().enumerate() {
            let (thread, rest) = stack.split_once(';').unwrap();
            text += &format!("T\t{thread}\n");
            let mut parent = 0;
            for name in rest.split(';') {
                frames += 1;
                nodes += 1;
                text += &format!("F\t{name}\nN\t{parent}\t{frames}\n");
                parent = nodes;
            }
            text += &format!("S\t0\t{}\t{nodes}\t1\t1\n", index + 1);
        }
        Samples::parse(&text, false).unwrap()
    }

    fn places(rules: &Rules, stacks: &[&str]) -> Vec<(String, String)> {
        let categories: Vec<_> = rules.category_names().collect();
        let groups: Vec<_> = rules.group_names().collect();
        let places = rules.place(&samples(stacks));
        places.iter().map(|place| (groups[place.group].to_owned(), categories[place.category].to_owned())).collect()
    }

    const RULES: &str = "
        [[thread]]\ngroup='flush'\nwhat=''\ncategory='flush'\nroots=['^Flusher\\.work$']
        [[thread]]\ngroup='compaction'\nwhat=''\ncategory='compaction'\nroots=['^Compactor\\.work$']
        [[thread]]\ngroup='workers'\nwhat=''\nnames=['^worker-']
        [[category]]\nname='flush'\nwhat=''\nframes=['^Flusher\\.']
        [[category]]\nname='compaction'\nwhat=''\nframes=['^Compactor\\.']
        [[category]]\nname='reply'\nwhat=''\nframes=['^RangeReply\\.']
        [[category]]\nname='get'\nwhat=''\nframes=['^Scan\\.']
        [[category]]\nname='lock'\nwhat=''\nfallback=true\nframes=['^Lock\\.']
        [[category]]\nname='kernel'\nwhat=''\nfallback=true\nframes=['_\\[k\\]$']";

    #[test]
    fn the_thread_decides_before_any_frame_does() {
        let rules = Rules::parse(RULES, "test").unwrap();
        let place = |stack| places(&rules, &[stack]).remove(0);
        let expect = |group: &str, category: &str| (group.to_owned(), category.to_owned());
        // compaction writes its tables with the code of a flush
        assert_eq!(place("[c];run_[j];Compactor.work_[j];Flusher.add_[i];write"), expect("compaction", "compaction"));
        assert_eq!(place("[f];run_[j];Flusher.work_[j];Compactor.poke_[i]"), expect("flush", "flush"));
        // the outermost root counts
        assert_eq!(place("[c];Flusher.work;Compactor.work"), expect("flush", "flush"));
        // a thread whose root frame is lost is recognised by its name
        assert_eq!(place("[worker-1 tid=9];Scan.next_[j]"), expect("workers", "get"));
    }

    #[test]
    fn the_innermost_frame_that_matches_decides() {
        let rules = Rules::parse(RULES, "test").unwrap();
        let category = |stack| places(&rules, &[stack]).remove(0).1;
        // the scan runs inside the response that it is written to
        assert_eq!(category("[w];RangeReply.write_[j];Scan.next_[j];copy"), "get");
        assert_eq!(category("[w];Scan.next_[j];RangeReply.flush_[j]"), "reply");
        assert_eq!(category("[w];Scan.next_[j];Lock.lock_[j];sys_futex_[k]"), "get");
        assert_eq!(category("[w];Lock.lock_[j];sys_futex_[k]"), "lock", "fallbacks in the order of the file");
        assert_eq!(category("[w];Unknown.run_[j]"), OTHER);
    }

    #[test]
    fn a_pattern_that_decides_nothing_is_named() {
        let rules = Rules::parse(RULES, "test").unwrap();
        let unused = rules.unused(&[samples(&["[w];Scan.next_[j];Lock.lock_[j]", "[worker-2];Lock.lock_[j]"])]);
        assert!(!unused.iter().any(|rule| rule.contains("Scan") || rule.contains("Lock") || rule.contains("worker")));
        assert!(unused.iter().any(|rule| rule.contains("category \"reply\"")), "{unused:?}");
    }

    #[test]
    fn an_invalid_rule_is_named() {
        let error = |text: &str| format!("{:#}", Rules::parse(text, "mine.toml").err().expect("refused"));
        let group = "[[thread]]\ngroup='g'\nwhat=''\nroots=['^x']\n";
        assert!(error(&format!("{group}[[category]]\nname='a'\nwhat=''\nframes=['(']")).contains("category \"a\""));
        assert!(error(&format!("{group}[[category]]\nname='a'\nwhat=''\nframe=[]")).contains("mine.toml"));
        let category = "[[category]]\nname='a'\nwhat=''\nframes=[]\n";
        assert!(error(&format!("{group}{category}{category}")).contains("twice"));
        assert!(error(&format!("{group}{group}{category}")).contains("twice"));
        let unknown = "[[thread]]\ngroup='g'\nwhat=''\ncategory='none'\n";
        assert!(error(&format!("{unknown}{category}")).contains("unknown category \"none\""));
    }
}
