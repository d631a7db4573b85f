//! A flame graph as SVG, drawn by inferno; colours by kind of frame, labels and legend are ours.

mod legend;
mod towers;

use crate::collapsed::{FOLDED, Stack};
use crate::draw::label::{cut, escape, label, unescape};
use crate::event::Event;
use anyhow::{Context, Result};
use inferno::flamegraph::color::{BackgroundColor, Color};
use inferno::flamegraph::{self, Options, TextTruncateDirection};
use legend::{LEGEND_HEIGHT_PX, how_to_unfold, legend_of_difference, legend_of_kinds};
use regex::{Captures, Regex};
use std::collections::HashMap;
use std::sync::LazyLock;
use towers::merge_tiers;

pub const WIDTH_PX: usize = 1280;
const FONT_SIZE_PX: usize = 12;
const FRAME_HEIGHT_PX: usize = 18;
/// Advance of a character of the font, in ems: Hack and its fallbacks are monospaced.
const FONT_WIDTH_EM: f64 = 0.602;
/// Narrower frames, in per cent of the whole, are left out: they would be under two pixels wide.
const WIDTH_MIN_PERCENT: f64 = 0.1;
/// Characters of a title that fit between the margins, in a font five pixels larger than the labels.
pub const TITLE_LENGTH_MAX: usize = 100;
/// Inferno's margin left and right of the frames.
const MARGIN_PX: usize = 10;
const TEXT_MARGIN_PX: f64 = 3.0;
/// Fallback fonts for browsers without Hack, with the same advance.
pub const FONT_FAMILY: &str = "Hack, 'DejaVu Sans Mono', Menlo, 'Liberation Mono', monospace";

/// The texts of the picture.
pub struct Caption<'a> {
    pub title: &'a str,
    pub subtitle: &'a str,
}

/// Draws `stacks`; at least one must have a value above zero.
pub fn draw(event: Event, stacks: &[Stack], caption: &Caption) -> Result<String> {
    let (lines, mut palette) = merge_tiers(stacks);
    let mut options = options(event, caption);
    options.palette_map = Some(&mut palette);
    let svg = inferno(&mut options, &lines)?;
    let folded = stacks.iter().any(|stack| stack.frames.iter().any(|(name, _)| *name == FOLDED));
    let unfolding = |y_px| if folded { how_to_unfold(y_px) } else { String::new() };
    finish(&svg, |y_px| legend_of_kinds(event, y_px) + &unfolding(y_px))
}

/// Draws the stacks of `after`, coloured by how much wider they are than in `before`, scaled to the same total. With
/// `reverse` it draws those of `before` in the same colours: only this shows what vanished.
pub fn draw_difference(
    event: Event,
    before: &[Stack],
    after: &[Stack],
    reverse: bool,
    caption: &Caption,
) -> Result<String> {
    let (from, to) = if reverse { (after, before) } else { (before, after) };
    let plain =
        |stacks: &[Stack]| merge_tiers(stacks).0.join("\n").replace("_[j]", "").replace("_[i]", "").replace("_[w]", "");
    let mut lines = Vec::new();
    let how = inferno::differential::Options { normalize: true, strip_hex: false };
    inferno::differential::from_readers(how, plain(from).as_bytes(), plain(to).as_bytes(), &mut lines)
        .context("inferno could not compare the stacks")?;
    let lines = String::from_utf8(lines).context("inferno did not write UTF-8")?;
    let mut options = options(event, caption);
    options.negate_differentials = reverse;
    let mut lines: Vec<_> = lines.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    let svg = inferno(&mut options, &lines)?;
    finish(&svg, legend_of_difference)
}

fn inferno(options: &mut Options, lines: &[String]) -> Result<String> {
    let mut svg = Vec::new();
    flamegraph::from_lines(options, lines.iter().map(String::as_str), &mut svg)
        .context("inferno could not draw the stacks")?;
    String::from_utf8(svg).context("inferno did not write UTF-8")
}

fn options<'a>(event: Event, caption: &Caption) -> Options<'a> {
    let mut options = Options::default();
    options.title = cut(caption.title, TITLE_LENGTH_MAX);
    options.subtitle = Some(caption.subtitle.to_owned());
    options.image_width = Some(WIDTH_PX);
    options.min_width = WIDTH_MIN_PERCENT;
    options.frame_height = FRAME_HEIGHT_PX;
    options.font_type = "Hack".to_owned();
    options.font_size = FONT_SIZE_PX;
    options.font_width = FONT_WIDTH_EM;
    options.text_truncate_direction = TextTruncateDirection::Right;
    options.bgcolors = Some(BackgroundColor::Flat(Color { r: 0xff, g: 0xff, b: 0xff }));
    options.deterministic = true;
    options.no_sort = true;
    (options.count_name, options.factor) = match event {
        Event::Lock => ("µs".to_owned(), 1e-3),
        Event::Alloc | Event::Nativemem => ("KiB".to_owned(), 1.0 / 1024.0),
        Event::Cpu | Event::Wall => ("samples".to_owned(), 1.0),
    };
    options
}

/// Adds labels that fit, the legend, and fonts for browsers.
fn finish(svg: &str, legend: impl Fn(usize) -> String) -> Result<String> {
    let svg = relabel(svg);
    let svg = svg.replace("font-family:\"Hack\"", &format!("font-family:{FONT_FAMILY}"));
    static HEIGHT: LazyLock<Regex> =
        LazyLock::new(|| pattern(r#"height="(\d+)" onload="init\(evt\)" viewBox="0 0 \d+ \d+""#));
    let found = HEIGHT.captures(&svg).context("inferno's header has changed")?;
    let drawn_px: usize = found[1].parse()?;
    let total_px = drawn_px + LEGEND_HEIGHT_PX;
    let header = format!(r#"height="{total_px}" onload="init(evt)" viewBox="0 0 {WIDTH_PX} {total_px}""#);
    let svg = HEIGHT.replacen(&svg, 1, header.as_str());
    let end = svg.rfind("</svg>").context("inferno's SVG does not end")?;
    Ok(format!("{}{}{}", &svg[..end], legend(drawn_px), &svg[end..]))
}

/// Shortens labels that are too long. Inferno cuts the end, which is the method's name; this drops the package first.
fn relabel(svg: &str) -> String {
    static FRAME: LazyLock<Regex> = LazyLock::new(|| {
        pattern(concat!(
            r#"<g><title>(?<title>[^<]*)</title><rect (?<rect>[^>]*width="(?<width>[0-9.]+)%"[^>]*)/>"#,
            r#"<text (?<at>[^>]*)>[^<]*</text></g>"#
        ))
    });
    static VALUE: LazyLock<Regex> = LazyLock::new(|| pattern(r" \([^()]* [^()]*, [0-9.]+%(; [+-]?[0-9.]+%)?\)$"));
    let mut labels = HashMap::new();
    let relabelled = FRAME.replace_all(svg, |found: &Captures| {
        let title = unescape(&found["title"]);
        let name = VALUE.replace(&title, "").into_owned();
        let percent: f64 = found["width"].parse().unwrap_or(0.0);
        let room_px = percent / 100.0 * (WIDTH_PX - 2 * MARGIN_PX) as f64 - 2.0 * TEXT_MARGIN_PX;
        let room = (room_px / (FONT_SIZE_PX as f64 * FONT_WIDTH_EM)).floor().max(0.0) as usize;
        let label = labels.entry((name.clone(), room)).or_insert_with(|| label(&name, room));
        format!(
            "<g><title>{}</title><rect {}/><text {}>{}</text></g>",
            escape(&title),
            &found["rect"],
            &found["at"],
            escape(label)
        )
    });
    relabelled.into_owned()
}

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the pattern is a constant")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapsed::parse;
    use crate::draw::picture;
    use proptest::prelude::*;

    const CAPTION: Caption = Caption { title: "an experiment <1> · CPU time", subtitle: "10 samples & more" };

    fn texts(svg: &str) -> Vec<String> {
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(svg, options).expect("the SVG is XML");
        document.descendants().filter_map(|node| node.text()).map(str::to_owned).collect()
    }

    #[test]
    fn the_picture_names_the_experiment_the_frames_and_the_kinds() {
        let stacks = parse("java/lang/Thread.run_[j];lsmlab/storage/Lsm.get_[i];read;sys_read_[k] 10", false).unwrap();
        let svg = draw(Event::Cpu, &stacks, &CAPTION).unwrap();
        let texts = texts(&svg);
        for expected in
            ["an experiment <1> · CPU time", "10 samples & more", "lsmlab/storage/Lsm.get", "sys_read", "Java, inlined"]
        {
            assert!(texts.iter().any(|text| text == expected), "{expected} not in {texts:?}");
        }
        assert!(!svg.contains("_[j]") && !svg.contains("_[k]"));
    }

    #[test]
    fn a_title_that_is_too_long_is_visibly_cut() {
        assert_eq!(cut("short", 5), "short");
        assert_eq!(cut("müßig und lang", 6), "müßig…");
        let end_px = WIDTH_PX as f64 / 2.0 + TITLE_LENGTH_MAX as f64 / 2.0 * (FONT_SIZE_PX + 5) as f64 * FONT_WIDTH_EM;
        let search_px = WIDTH_PX as f64 - 10.0 - 6.0 * FONT_SIZE_PX as f64 * FONT_WIDTH_EM;
        assert!(end_px < search_px, "the title ends at {end_px} px, the search begins at {search_px} px");
    }

    #[test]
    fn a_native_name_that_ends_in_a_number_is_not_taken_for_a_difference() {
        let stacks = parse("handler 7 12", false).unwrap();
        let svg = draw(Event::Cpu, &stacks, &CAPTION).unwrap();
        assert!(texts(&svg).iter().any(|text| text == "handler 7"), "{:?}", texts(&svg));
    }

    /// Each label, measured by its characters, ends inside its frame.
    fn assert_no_label_leaves_its_frame(svg: &str) {
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let document = roxmltree::Document::parse_with_options(svg, options).unwrap();
        let container = document.descendants().find(|node| node.attribute("id") == Some("frames")).unwrap();
        let width_px: f64 = container.attribute("width").unwrap().parse().unwrap();
        let percent = |node: &roxmltree::Node, name| -> f64 {
            node.attribute(name).unwrap().trim_end_matches('%').parse().unwrap()
        };
        let frames: Vec<_> = container.children().filter(|node| node.has_tag_name("g")).collect();
        assert!(!frames.is_empty());
        for frame in frames {
            let rect = frame.children().find(|node| node.has_tag_name("rect")).unwrap();
            let text = frame.children().find(|node| node.has_tag_name("text")).unwrap();
            let characters = text.text().unwrap_or("").chars().count() as f64;
            let end = percent(&text, "x") / 100.0 * width_px + characters * 12.0 * FONT_WIDTH_EM;
            let edge = (percent(&rect, "x") + percent(&rect, "width")) / 100.0 * width_px;
            assert!(characters == 0.0 || end <= edge + 0.5, "{:?} ends at {end}, its frame at {edge}", text.text());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn any_stacks_give_a_picture_without_clipped_labels(
            lines in prop::collection::vec(
                (prop::collection::vec("[a-zA-Z/<&]{1,30}(\\.[a-z]{1,20})?(_\\[[ji01k]\\])?", 1..8), 1u64..1 << 30), 1..30)
        ) {
            let text: String = lines.iter().map(|(frames, value)| format!("{} {value}\n", frames.join(";"))).collect();
            for event in [Event::Cpu, Event::Alloc] {
                let stacks = parse(&text, event.ends_in_class()).unwrap();
                let svg = draw(event, &stacks, &CAPTION).unwrap();
                assert_no_label_leaves_its_frame(&svg);
            }
        }
    }

    #[test]
    fn a_folded_frame_names_the_switch_that_unfolds_it() {
        let named = |stacks| draw(Event::Alloc, &parse(stacks, true).unwrap(), &CAPTION).unwrap().contains("--unfold");
        assert!(named("A.send_[j];[downcall];send;byte[]_[i] 3"));
        assert!(!named("A.send_[j];send;byte[]_[i] 3"));
    }

    #[test]
    fn the_picture_is_1600_pixels_wide_and_its_labels_are_large() {
        let stacks = parse("java/lang/Thread.run_[j];lsmlab/storage/Lsm.get_[i] 10", false).unwrap();
        let svg = draw(Event::Cpu, &stacks, &CAPTION).unwrap();
        let png = picture::render(&svg).unwrap();
        let (width, height) = picture::size(&png).unwrap();
        assert!(width == picture::WIDTH_PX && height > 100, "{width}×{height}");
        let label_px = FONT_SIZE_PX as f64 * f64::from(width) / WIDTH_PX as f64;
        assert!(label_px >= 14.0, "labels of {label_px} px are hard to read");
    }
}
