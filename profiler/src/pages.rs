//! What stands in the place of a flame graph where there is nothing to draw.

use crate::flame::{FONT_FAMILY, TITLE_LENGTH_MAX, WIDTH_PX, cut, escape};

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
    use crate::picture;

    #[test]
    fn the_sentence_is_in_the_page_and_in_the_picture() {
        let page = html("a <title>", "No sample: nobody waited.");
        assert!(page.contains("a &lt;title&gt;") && page.contains("nobody waited"));
        let svg = svg("a <title>", "No sample: nobody waited.");
        assert!(svg.contains("nobody waited"));
        let (width, height) = picture::size(&picture::render(&svg).unwrap()).unwrap();
        assert!(width > 1000 && height > 100);
    }
}
