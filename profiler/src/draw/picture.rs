//! SVG to PNG, with an embedded font, so that the picture is the same on every machine.

use anyhow::{Context, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};
use std::sync::Arc;

/// Width of every PNG, as wide reports show it: the labels of a flame graph are then 15 pixels high.
pub const WIDTH_PX: u32 = 1600;

/// The PNG file of `svg`.
pub fn render(svg: &str) -> Result<Vec<u8>> {
    let mut fonts = Database::new();
    fonts.load_font_data(epaint_default_fonts::HACK_REGULAR.to_vec());
    fonts.set_monospace_family("Hack");
    fonts.set_sans_serif_family("Hack");
    fonts.set_serif_family("Hack");
    let options = Options { font_family: "Hack".to_owned(), fontdb: Arc::new(fonts), ..Options::default() };
    // the controls of the interactive file are useless in a picture
    let still = svg.replace(r#"id="search" "#, r#"id="search" display="none" "#);
    let tree = Tree::from_str(&still, &options).context("the SVG cannot be read back")?;
    let size = tree.size().to_int_size().scale_to_width(WIDTH_PX).context("the picture is too large")?;
    let mut pixels = Pixmap::new(size.width(), size.height()).context("the picture is too large")?;
    let scale = WIDTH_PX as f32 / tree.size().width();
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().context("the PNG cannot be encoded")
}

/// Width and height of a PNG in pixels.
#[cfg(test)]
pub fn size(png: &[u8]) -> Result<(u32, u32)> {
    let pixels = Pixmap::decode_png(png)?;
    Ok((pixels.width(), pixels.height()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_drawn_with_the_embedded_font() {
        let svg = |text: &str| {
            format!(
                r##"<svg xmlns="http://www.w3.org/2000/svg" width="200" height="40"><rect width="200" height="40" fill="#fff"/><text x="5" y="25" font-family="{}" font-size="12">{text}</text></svg>"##,
                crate::draw::flame::FONT_FAMILY
            )
        };
        let dark = |text: &str| {
            let pixels = Pixmap::decode_png(&render(&svg(text)).unwrap()).unwrap();
            pixels.pixels().iter().filter(|pixel| pixel.red() < 128).count()
        };
        assert_eq!(dark(""), 0);
        assert!(dark("HashMap.get") > 200, "{}", dark("HashMap.get"));
    }

    #[test]
    fn text_that_is_not_svg_is_refused() {
        assert!(render("<html/>").is_err());
    }
}
