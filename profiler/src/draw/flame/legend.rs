//! The legend below a flame graph.

use super::towers::base_color;
use super::{FONT_SIZE_PX, FONT_WIDTH_EM, MARGIN_PX, WIDTH_PX};
use crate::collapsed::{FOLDED, Kind};
use crate::event::Event;
use std::fmt::Write;

pub(super) const LEGEND_HEIGHT_PX: usize = 34;

/// Draws the colours of the kinds of frames.
pub(super) fn legend_of_kinds(event: Event, y_px: usize) -> String {
    let mut kinds = vec![Kind::Compiled, Kind::Inlined, Kind::WarmingUp, Kind::Jvm, Kind::Native, Kind::Kernel];
    let mut text = format!(r##"<rect x="0" y="{y_px}" width="100%" height="{LEGEND_HEIGHT_PX}" fill="#ffffff"/>"##);
    if event.ends_in_class() {
        kinds.insert(0, Kind::Class);
    }
    let mut x_px = MARGIN_PX as f64;
    for kind in kinds {
        let name = match (kind, event) {
            (Kind::Class, Event::Alloc) => "class of the allocated object",
            (Kind::Class, _) => "class of the lock",
            _ => kind_name(kind),
        };
        let (r, g, b) = base_color(kind);
        write!(
            text,
            r##"<rect x="{x_px:.1}" y="{}" width="14" height="14" rx="2" fill="#{r:02x}{g:02x}{b:02x}"/><text x="{:.1}" y="{}" fill="#444444">{name}</text>"##,
            y_px + 9,
            x_px + 20.0,
            y_px + 20,
        )
        .expect("a string takes everything");
        x_px += 20.0 + name.len() as f64 * FONT_SIZE_PX as f64 * FONT_WIDTH_EM + 22.0;
    }
    text
}

/// Draws the colours of a difference between A and B.
pub(super) fn legend_of_difference(y_px: usize) -> String {
    let keys = [("#ff5a5a", "wider in B than in A"), ("#fafafa", "the same"), ("#5a5aff", "narrower in B than in A")];
    let mut text = format!(r##"<rect x="0" y="{y_px}" width="100%" height="{LEGEND_HEIGHT_PX}" fill="#ffffff"/>"##);
    for (index, (color, name)) in keys.into_iter().enumerate() {
        let x_px = MARGIN_PX + 230 * index;
        write!(
            text,
            r##"<rect x="{x_px}" y="{}" width="14" height="14" rx="2" fill="{color}" stroke="#cccccc"/><text x="{}" y="{}" fill="#444444">{name}</text>"##,
            y_px + 9,
            x_px + 20,
            y_px + 20,
        )
        .expect("a string takes everything");
    }
    text
}

/// Names the switch at the right end of the legend.
pub(super) fn how_to_unfold(y_px: usize) -> String {
    format!(
        r##"<text x="{}" y="{}" text-anchor="end" fill="#444444">{FOLDED}: --unfold shows its frames</text>"##,
        WIDTH_PX - MARGIN_PX,
        y_px + 20
    )
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Compiled => "Java, compiled",
        Kind::Inlined => "Java, inlined",
        Kind::WarmingUp => "Java, interpreted or C1",
        Kind::Jvm => "JVM",
        Kind::Native => "native",
        Kind::Kernel => "kernel",
        Kind::Class => "class",
    }
}
