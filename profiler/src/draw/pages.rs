//! Completes the converter's pages, and makes placeholders for events without samples.

use anyhow::{Context, Result};

use crate::draw::flame::{FONT_FAMILY, TITLE_LENGTH_MAX, WIDTH_PX};
use crate::draw::label::{cut, escape};

/// A page of the converter.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Page {
    Flame,
    Heatmap,
}

/// Adds a title for tabs and bookmarks, and opens a flame graph at its foot, where the wide frames are: the converter
/// opens it at the top, which a single deep stack leaves empty.
pub fn finish(page: Page, html: &str, title: &str) -> Result<String> {
    let head = html.find("<head>").context("the converter's page has no head")? + "<head>".len();
    let end = html.rfind("</body>").context("the converter's page does not end")?;
    let script = match page {
        Page::Flame => "<script>scrollTo(0, document.documentElement.scrollHeight)</script>\n",
        Page::Heatmap => "",
    };
    Ok(format!("{}\n<title>{}</title>{}{script}{}", &html[..head], escape(title), &html[head..end], &html[end..]))
}

/// A self-contained page with one sentence.
pub fn html(title: &str, sentence: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\n\
         <style>body {{ font: 16px/1.5 system-ui, sans-serif; margin: 4rem auto; max-width: 40rem; color: #333 }}</style>\n\
         </head><body><h1>{title}</h1><p>{sentence}</p></body></html>\n",
        title = escape(title),
        sentence = escape(sentence),
    )
}

/// A picture with one sentence.
pub fn svg(title: &str, sentence: &str) -> String {
    let middle = WIDTH_PX / 2;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH_PX}\" height=\"160\" viewBox=\"0 0 {WIDTH_PX} 160\">\
         <style>text {{ font-family: {FONT_FAMILY}; text-anchor: middle }}</style>\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\
         <text x=\"{middle}\" y=\"60\" font-size=\"17\">{}</text>\
         <text x=\"{middle}\" y=\"100\" font-size=\"14\" fill=\"#555555\">{}</text></svg>\n",
        escape(&cut(title, TITLE_LENGTH_MAX)),
        escape(sentence),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::picture;

    #[test]
    fn a_page_of_the_converter_gets_a_title_and_opens_at_its_foot() {
        let page = "<html><head><meta charset='utf-8'></head><body>x</body></html>";
        let flame = finish(Page::Flame, page, "a <title>").unwrap();
        assert!(flame.contains("<head>\n<title>a &lt;title&gt;</title><meta"));
        assert!(flame.contains("x<script>scrollTo") && flame.ends_with("</body></html>"));
        assert!(!finish(Page::Heatmap, page, "t").unwrap().contains("script"));
        assert!(finish(Page::Flame, "nothing", "t").is_err());
    }

    #[test]
    fn the_sentence_is_in_the_page_and_in_the_picture() {
        let page = html("a <title>", "No sample: nobody waited.");
        assert!(page.contains("a &lt;title&gt;") && page.contains("nobody waited"));
        let svg = svg("a <title>", "No sample: nobody waited.");
        assert!(svg.contains("nobody waited"));
        let (width, height) = picture::size(&picture::render(&svg).unwrap()).unwrap();
        assert!(width == picture::WIDTH_PX && height > 100);
    }
}
