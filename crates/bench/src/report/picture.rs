//! SVG to pixels, and to the tree that PDF pages take in. Knows no plots.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::{font, palette};

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
    // A plot has a ground, so nothing shines through and no colour is multiplied by how much does.
    let colours: Vec<palette::Colour> =
        pixels.pixels().iter().map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect();
    palette::png(width, &colours).map_err(|error| format!("a plot cannot be made a PNG: {error}"))
}
