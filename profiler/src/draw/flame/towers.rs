//! The call tree that is drawn: one tower a method, coloured by kind of frame.

use crate::collapsed::{Kind, Stack};
use inferno::flamegraph::color::{Color, PaletteMap};
use std::collections::BTreeMap;

/// The root, which stands for all samples.
const COLOR_ALL: Color = Color { r: 0xe4, g: 0xe4, b: 0xe4 };

/// A node of the call tree: same path and same name, in any tier.
#[derive(Default)]
struct Node<'a> {
    /// Value of the stacks that end here.
    own: u64,
    /// Value by kind: the largest gives the colour.
    kinds: BTreeMap<Kind, u64>,
    children: BTreeMap<&'a str, Node<'a>>,
}

impl Node<'_> {
    fn kind(&self) -> Kind {
        self.kinds.iter().max_by_key(|(_, value)| **value).map_or(Kind::Native, |(kind, _)| *kind)
    }
}

/// Merges frames that differ only by JIT tier: a method that was interpreted, then compiled, is one tower. Returns
/// sorted collapsed lines for inferno, and the colour of each frame in them.
pub(super) fn merge_tiers(stacks: &[Stack]) -> (Vec<String>, PaletteMap) {
    let mut root = Node::default();
    for stack in stacks {
        let mut node = &mut root;
        for (name, kind) in &stack.frames {
            node = node.children.entry(name).or_default();
            *node.kinds.entry(*kind).or_default() += stack.value;
        }
        node.own += stack.value;
    }
    let mut lines = Vec::new();
    let mut palette = PaletteMap::default();
    palette.insert("", COLOR_ALL);
    collect(&root, &mut String::new(), &mut lines, &mut palette);
    lines.sort_unstable();
    (lines, palette)
}

fn collect(node: &Node, path: &mut String, lines: &mut Vec<String>, palette: &mut PaletteMap) {
    if node.own > 0 {
        lines.push(format!("{path} {}", node.own));
    }
    let length = path.len();
    for (name, child) in &node.children {
        let kind = child.kind();
        let frame = marked(name, kind);
        if length > 0 {
            path.push(';');
        }
        path.push_str(&frame);
        palette.insert(frame, color(kind, name));
        collect(child, path, lines, palette);
        path.truncate(length);
    }
}

/// The name with a suffix that inferno does not show, so that one name can have several colours.
fn marked(name: &str, kind: Kind) -> String {
    // inferno would take a number after a space as a second value of the stack
    let name = name.replace(' ', "\u{a0}");
    match kind {
        Kind::Compiled => format!("{name}_[j]"),
        Kind::Inlined => format!("{name}_[i]"),
        Kind::WarmingUp => format!("{name}_[w]"),
        Kind::Kernel => format!("{name}_[k]"),
        Kind::Jvm | Kind::Native | Kind::Class => name,
    }
}

pub(super) fn base_color(kind: Kind) -> (u8, u8, u8) {
    match kind {
        Kind::Compiled => (0x9b, 0xd5, 0x8f),
        Kind::Inlined => (0x8f, 0xd6, 0xd2),
        Kind::WarmingUp => (0xd3, 0xe6, 0x9c),
        Kind::Jvm => (0xf3, 0xdc, 0x7e),
        Kind::Native => (0xf2, 0xa2, 0x96),
        Kind::Kernel => (0xf6, 0xbd, 0x78),
        Kind::Class => (0xa3, 0xc4, 0xf3),
    }
}

/// The colour of the kind, slightly lighter or darker by name, so that neighbours can be distinguished.
fn color(kind: Kind, name: &str) -> Color {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let shade = (hash >> 40) as i32 % 21 - 10;
    let (r, g, b) = base_color(kind);
    let shaded = |channel: u8| (i32::from(channel) + shade).clamp(0, 255) as u8;
    Color { r: shaded(r), g: shaded(g), b: shaded(b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapsed::parse;

    #[test]
    fn a_method_that_was_interpreted_then_compiled_is_one_tower_in_its_later_colour() {
        let stacks = parse("A.run_[0] 1\nA.run_[1];B.go_[1] 1\nA.run_[j];B.go_[j] 8", false).unwrap();
        let (lines, palette) = merge_tiers(&stacks);
        assert_eq!(lines, ["A.run_[j] 1", "A.run_[j];B.go_[j] 9"]);
        assert_eq!(palette.get("A.run_[j]"), Some(color(Kind::Compiled, "A.run")));
    }
}
