//! A plot on a page of a PDF. Its strokes are krilla-svg's; its text is drawn here, each piece in one go, since krilla-svg
//! writes every letter as a text of its own, which makes the file twice as large.

use krilla::color::rgb;
use krilla::geom::{Point, Size, Transform};
use krilla::paint::Fill;
use krilla::surface::Surface;
use krilla::text::{GlyphId, KrillaGlyph};
use krilla_svg::{SurfaceExt, SvgSettings};
use resvg::usvg::layout::Span;
use resvg::usvg::{Group, Node, Paint, Text, Tree};

use super::pdf::Fonts;
use super::picture;

/// Heavier letters are bold.
const BOLD_FROM: u16 = 600;

/// Draws it at the origin, in this size. Errors: our bugs.
pub fn draw(surface: &mut Surface, fonts: &Fonts, svg: &str, width: f64, height: f64) -> Result<(), String> {
    let size = Size::from_wh(width as f32, height as f32).ok_or("our bug: a plot without a size")?;
    // Every element of a plot is a line.
    let strokes: String = svg.lines().filter(|line| !line.starts_with("<text ")).collect();
    surface
        .draw_svg(&picture::tree(&strokes)?, size, SvgSettings::default())
        .ok_or("our bug: a plot cannot be drawn")?;
    let tree = picture::tree(svg)?;
    let (x, y) = (size.width() / tree.size().width(), size.height() / tree.size().height());
    surface.push_transform(&Transform::from_scale(x, y));
    draw_texts(surface, fonts, &tree, tree.root());
    surface.pop();
    Ok(())
}

fn draw_texts(surface: &mut Surface, fonts: &Fonts, tree: &Tree, group: &Group) {
    for node in group.children() {
        match node {
            Node::Text(text) => draw_text(surface, fonts, tree, text),
            Node::Group(inner) => draw_texts(surface, fonts, tree, inner),
            Node::Path(_) | Node::Image(_) => {}
        }
    }
}

fn draw_text(surface: &mut Surface, fonts: &Fonts, tree: &Tree, text: &Text) {
    let at = text.abs_transform();
    surface.push_transform(&Transform::from_row(at.sx, at.ky, at.kx, at.sy, at.tx, at.ty));
    text.layouted().iter().for_each(|span| draw_span(surface, fonts, tree, span));
    surface.pop();
}

/// Letters of one look, which stand on one line.
fn draw_span(surface: &mut Surface, fonts: &Fonts, tree: &Tree, span: &Span) {
    let Some(first) = span.positioned_glyphs.first() else { return };
    let bold = tree.fontdb().face(first.font).is_some_and(|face| face.weight.0 >= BOLD_FROM);
    let font = if bold { &fonts.bold } else { &fonts.regular };
    let size = span.font_size.get();
    let places: Vec<f32> = span.positioned_glyphs.iter().map(|glyph| glyph.transform().tx).collect();
    let (mut glyphs, mut letters) = (Vec::new(), String::new());
    for (index, glyph) in span.positioned_glyphs.iter().enumerate() {
        let start = letters.len();
        letters.push_str(&glyph.text);
        // To the next one; nothing stands behind the last.
        let advance = places.get(index + 1).map_or(0.0, |next| (next - places[index]) / size);
        let id = GlyphId::new(u32::from(glyph.id.0));
        glyphs.push(KrillaGlyph::new(id, advance, 0.0, 0.0, 0.0, start..letters.len(), None));
    }
    if let Some(Paint::Color(colour)) = span.fill.as_ref().map(|fill| fill.paint()) {
        let paint = rgb::Color::new(colour.red, colour.green, colour.blue).into();
        surface.set_fill(Some(Fill { paint, ..Fill::default() }));
        surface.set_stroke(None);
        let start = Point::from_xy(places[0], first.transform().ty);
        surface.draw_glyphs(start, &glyphs, font.clone(), &letters, size, false);
    }
}
