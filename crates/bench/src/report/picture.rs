//! SVG to pixels, and to the tree that PDF pages take in. Knows no plots.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::font;

/// Pixels for each unit of the drawing: sharp on dense screens.
pub const SCALE: f32 = 1.5;

pub fn tree(svg: &str) -> Result<Tree, String> {
    let options = Options { fontdb: font::database(), font_family: "DejaVu Sans".to_string(), ..Options::default() };
    Tree::from_str(svg, &options).map_err(|error| format!("our bug: a plot is no SVG: {error}"))
}

pub fn png(svg: &str) -> Result<Vec<u8>, String> {
    let tree = tree(svg)?;
    let size = tree.size();
    let (width, height) = ((size.width() * SCALE) as u32, (size.height() * SCALE) as u32);
    let mut pixels = Pixmap::new(width, height).ok_or("our bug: a plot without a size")?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| format!("a plot cannot be made a PNG: {error}"))
}
