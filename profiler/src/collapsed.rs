//! Collapsed stacks: `root;…;leaf value`, one line a stack, as the converter writes them.

#[cfg(test)]
use anyhow::{Result, bail};
use regex::Regex;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::sync::LazyLock;

/// The way in which a frame ran. The converter marks it with a suffix, except for native frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Compiled by C2: `_[j]`.
    Compiled,
    /// Inlined into its caller: `_[i]`.
    Inlined,
    /// Interpreted, `_[0]`, or compiled by C1, `_[1]`.
    WarmingUp,
    /// The JVM's own C++.
    Jvm,
    /// Other native code: libc, one-nio's transport.
    Native,
    /// The kernel: `_[k]`.
    Kernel,
    /// Not a frame: the class that was allocated or locked.
    Class,
}

/// One stack, root first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack<'a> {
    pub frames: Vec<(&'a str, Kind)>,
    pub value: u64,
}

#[cfg(test)]
/// Reads collapsed stacks. With `ends_in_class` the last element of each is a class.
pub fn parse(text: &str, ends_in_class: bool) -> Result<Vec<Stack<'_>>> {
    let mut stacks = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        let value = line.rsplit_once(' ').and_then(|(stack, value)| Some((stack, value.parse().ok()?)));
        let Some((stack, value)) = value else {
            bail!("line {}: expected `frame;…;frame value`, found {line:?}", number + 1);
        };
        let mut frames: Vec<_> = stack.split(';').map(frame).collect();
        if let Some(last) = frames.last_mut().filter(|_| ends_in_class) {
            last.1 = Kind::Class;
        }
        stacks.push(Stack { frames, value });
    }
    Ok(stacks)
}

/// A frame's name without its suffix, and its kind.
pub fn frame(text: &str) -> (&str, Kind) {
    const SUFFIXES: [(&str, Kind); 5] = [
        ("_[j]", Kind::Compiled),
        ("_[i]", Kind::Inlined),
        ("_[0]", Kind::WarmingUp),
        ("_[1]", Kind::WarmingUp),
        ("_[k]", Kind::Kernel),
    ];
    for (suffix, kind) in SUFFIXES {
        if let Some(name) = text.strip_suffix(suffix) {
            return (name, kind);
        }
    }
    (text, if text.contains("::") { Kind::Jvm } else { Kind::Native })
}

/// Writes stacks in a form that allows comparing two recordings: no JIT tiers, equal stacks merged, sorted. Kernel
/// frames keep their `_[k]`, by which other tools colour.
pub fn write(stacks: &[Stack]) -> String {
    let mut merged = BTreeMap::<String, u64>::new();
    for stack in stacks {
        let names: Vec<_> = stack
            .frames
            .iter()
            .map(|(name, kind)| if *kind == Kind::Kernel { format!("{name}_[k]") } else { (*name).to_owned() })
            .collect();
        *merged.entry(names.join(";")).or_default() += stack.value;
    }
    merged.iter().fold(String::new(), |mut text, (stack, value)| {
        writeln!(text, "{stack} {value}").expect("a string takes everything");
        text
    })
}

/// Frames between a Java method and the native function that it calls through java.lang.foreign: about a dozen,
/// identical in every stack, without information.
pub const FOLD: &str = r"^java/lang/invoke/(LambdaForm|Invokers\$Holder|(Direct|Delegating)MethodHandle\$Holder|VarHandleSegment)|^jdk/internal/foreign/abi/|^nep_invoker_blob$";
/// The frame that replaces them.
pub const FOLDED: &str = "[downcall]";

/// Replaces each run of frames that `FOLD` matches by one frame.
pub fn fold<'a>(stacks: &[Stack<'a>]) -> Vec<Stack<'a>> {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| Regex::new(FOLD).expect("the pattern is a constant"));
    let mut known = HashMap::new();
    let fold_one = |stack: &Stack<'a>| {
        let mut frames: Vec<(&'a str, Kind)> = Vec::with_capacity(stack.frames.len());
        for (name, kind) in &stack.frames {
            if !*known.entry(*name).or_insert_with(|| PATTERN.is_match(name)) {
                frames.push((*name, *kind));
            } else if frames.last().is_none_or(|last| last.0 != FOLDED) {
                frames.push((FOLDED, Kind::Native));
            }
        }
        Stack { frames, value: stack.value }
    };
    stacks.iter().map(fold_one).collect()
}

/// The sum of the values.
pub fn total(stacks: &[Stack]) -> u64 {
    stacks.iter().map(|stack| stack.value).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_frame_is_its_name_and_its_kind() {
        let stacks = parse("java/A.run_[j];B.in_[i];C.x_[0];C.y_[1];os::now;read;sys_read_[k] 7\n", false).unwrap();
        let kinds: Vec<_> = stacks[0].frames.iter().map(|frame| frame.1).collect();
        use Kind::*;
        assert_eq!(kinds, [Compiled, Inlined, WarmingUp, WarmingUp, Jvm, Native, Kernel]);
        assert_eq!(stacks[0].frames[0].0, "java/A.run");
        assert_eq!(stacks[0].value, 7);
    }

    #[test]
    fn a_name_may_hold_spaces() {
        let stacks = parse("C1 Runtime counter_overflow_blob 12", false).unwrap();
        assert_eq!(stacks[0].frames, [("C1 Runtime counter_overflow_blob", Kind::Native)]);
    }

    #[test]
    fn the_last_element_of_an_allocation_is_its_class() {
        let stacks = parse("A.run_[j];byte[]_[k] 4096", true).unwrap();
        assert_eq!(stacks[0].frames[1], ("byte[]", Kind::Class));
    }

    #[test]
    fn a_line_without_a_value_is_reported() {
        let error = parse("a;b 1\na;b\n", false).unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
        assert!(parse("a;b -1", false).is_err());
    }

    #[test]
    fn the_machinery_of_a_downcall_is_one_frame() {
        let text = "A.send_[j];java/lang/invoke/LambdaForm$MH.invoke_[i];java/lang/invoke/Invokers$Holder.invokeExact_[i];\
                    nep_invoker_blob;send 3\njava/lang/invoke/MethodHandleNatives.linkCallSite_[0] 1";
        let stacks = parse(text, false).unwrap();
        assert_eq!(
            write(&fold(&stacks)),
            "A.send;[downcall];send 3\njava/lang/invoke/MethodHandleNatives.linkCallSite 1\n"
        );
    }

    #[test]
    fn stacks_that_differ_by_jit_tier_are_merged() {
        let stacks = parse("b_[j];k_[k] 1\na_[0] 2\nb_[0];k_[k] 3", false).unwrap();
        assert_eq!(write(&stacks), "a 2\nb;k_[k] 4\n");
    }

    proptest! {
        #[test]
        fn writing_keeps_the_total_and_reads_back_the_same(
            lines in prop::collection::vec(
                (prop::collection::vec("[a-z/]{1,4}(\\.[a-z]{1,2})?(_\\[[ji01k]\\])?", 1..6), 0u64..1 << 40), 0..40)
        ) {
            let text: String = lines.iter().map(|(frames, value)| format!("{} {value}\n", frames.join(";"))).collect();
            let stacks = parse(&text, false).unwrap();
            let written = write(&stacks);
            let again = parse(&written, false).unwrap();
            prop_assert_eq!(total(&again), total(&stacks));
            prop_assert_eq!(write(&again), written);
        }
    }
}
