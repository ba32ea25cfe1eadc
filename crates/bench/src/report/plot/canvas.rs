//! Strokes, markers and text on an SVG. Knows no axes.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::super::font::FAMILY;
use super::super::html::escaped;

/// The drawing library counts in whole pixels: ten to a unit keep lines where they belong.
const FINE: f64 = 10.0;
/// The drawing library takes the height of a line for the size of text, and divides by this.
const LINE_HEIGHT: f64 = 1.24;

/// Colours by what they are for. The page has another set for dark screens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ink(u8, u8, u8);

impl Ink {
    pub const TEXT: Self = Self(0x1A, 0x1A, 0x1A);
    pub const SOFT: Self = Self(0x55, 0x55, 0x55);
    pub const GRID: Self = Self(0xE2, 0xE2, 0xE2);
    pub const FINE_GRID: Self = Self(0xF1, 0xF1, 0xF1);
    pub const GROUND: Self = Self(0xFF, 0xFF, 0xFF);
    /// Okabe and Ito's, which people who see colours otherwise can tell apart; without the yellow that paper swallows.
    pub const SERIES: [Self; 6] = [
        Self(0x00, 0x72, 0xB2),
        Self(0xD5, 0x5E, 0x00),
        Self(0x00, 0x9E, 0x73),
        Self(0xCC, 0x79, 0xA7),
        Self(0xE6, 0x9F, 0x00),
        Self(0x56, 0xB4, 0xE9),
    ];
    /// Viridis, for what has an order: from few to many.
    pub const ORDERED: [Self; 8] = [
        Self(0x44, 0x01, 0x54),
        Self(0x46, 0x32, 0x7E),
        Self(0x36, 0x5C, 0x8D),
        Self(0x27, 0x7F, 0x8E),
        Self(0x1F, 0xA1, 0x87),
        Self(0x4A, 0xC1, 0x6D),
        Self(0x9F, 0xC6, 0x2F),
        Self(0xD8, 0xB0, 0x1C),
    ];

    fn solid(self) -> RGBAColor {
        RGBColor(self.0, self.1, self.2).mix(1.0)
    }
}

/// Shapes that stay apart without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    Circle,
    Square,
    Triangle,
    Diamond,
    TriangleDown,
    Bar,
}

impl Marker {
    pub const ALL: [Self; 6] =
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond, Self::TriangleDown, Self::Bar];

    /// Its corners around (0, 0) for a half width of 1.
    fn corners(self) -> &'static [(f64, f64)] {
        match self {
            Self::Circle => &[],
            Self::Square => &[(-0.88, -0.88), (0.88, -0.88), (0.88, 0.88), (-0.88, 0.88)],
            Self::Triangle => &[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)],
            Self::Diamond => &[(0.0, -1.3), (1.1, 0.0), (0.0, 1.3), (-1.1, 0.0)],
            Self::TriangleDown => &[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)],
            Self::Bar => &[(-1.2, -0.45), (1.2, -0.45), (1.2, 0.45), (-1.2, 0.45)],
        }
    }
}

/// Where text stands relative to its point.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Middle,
    Right,
    /// In the middle, reading upwards.
    Up,
}

pub struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// The SVG of `width` × `height` units on which `paint` drew, named for those who do not see it.
pub fn svg(width: f64, height: f64, name: &str, paint: impl FnOnce(&Canvas)) -> String {
    let mut text = String::new();
    let (fine_width, fine_height) = ((width * FINE) as u32, (height * FINE) as u32);
    {
        let area = SVGBackend::with_string(&mut text, (fine_width, fine_height)).into_drawing_area();
        let canvas = Canvas { area };
        canvas.fill(&[(0.0, 0.0), (width, 0.0), (width, height), (0.0, height)], Ink::GROUND, 1.0);
        paint(&canvas);
    }
    let body = text.split_once('>').map_or("", |(_, body)| body);
    let name = escaped(name);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {fine_width} {fine_height}\" role=\"img\" aria-label=\"{name}\"><title>{name}</title>{body}"
    )
}

impl Canvas<'_> {
    pub fn line(&self, points: &[(f64, f64)], ink: Ink, width: f64, opacity: f64) {
        let style = ink.solid().mix(opacity).stroke_width((width * FINE) as u32);
        self.draw(&PathElement::new(fine(points), style));
    }

    /// Strokes of `on` units and gaps of `off`, along the whole line.
    pub fn dashes(&self, points: &[(f64, f64)], ink: Ink, width: f64, (on, off): (f64, f64)) {
        let mut travelled = 0.0;
        for pair in points.windows(2) {
            let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
            let length = (x1 - x0).hypot(y1 - y0);
            let along = |at: f64| (x0 + (x1 - x0) * at / length, y0 + (y1 - y0) * at / length);
            let mut at = -(travelled % (on + off));
            while at < length {
                let (from, to) = (at.max(0.0), (at + on).min(length));
                if to > from {
                    self.line(&[along(from), along(to)], ink, width, 1.0);
                }
                at += on + off;
            }
            travelled += length;
        }
    }

    pub fn fill(&self, corners: &[(f64, f64)], ink: Ink, opacity: f64) {
        self.draw(&Polygon::new(fine(corners), ink.solid().mix(opacity)));
    }

    pub fn dot(&self, (x, y): (f64, f64), radius: f64, ink: Ink, opacity: f64) {
        let style = ink.solid().mix(opacity).filled();
        self.draw(&Circle::new(fine_point((x, y)), (radius * FINE) as i32, style));
    }

    pub fn cross(&self, (x, y): (f64, f64), half: f64, ink: Ink) {
        self.line(&[(x - half, y - half), (x + half, y + half)], ink, 1.6, 1.0);
        self.line(&[(x - half, y + half), (x + half, y - half)], ink, 1.6, 1.0);
    }

    pub fn marker(&self, (x, y): (f64, f64), half: f64, marker: Marker, ink: Ink) {
        let corners = marker.corners();
        if corners.is_empty() {
            return self.dot((x, y), half, ink, 1.0);
        }
        let corners: Vec<(f64, f64)> = corners.iter().map(|(dx, dy)| (x + dx * half, y + dy * half)).collect();
        self.fill(&corners, ink, 1.0);
    }

    /// A line of text whose baseline is at the point's height.
    pub fn text(&self, (x, y): (f64, f64), text: &str, size: f64, bold: bool, align: Align, ink: Ink) {
        let h_pos = match align {
            Align::Left => HPos::Left,
            Align::Right => HPos::Right,
            Align::Middle | Align::Up => HPos::Center,
        };
        let transform = if align == Align::Up { FontTransform::Rotate270 } else { FontTransform::None };
        let weight = if bold { FontStyle::Bold } else { FontStyle::Normal };
        let color = ink.solid();
        let style = TextStyle::from((FAMILY, size * FINE * LINE_HEIGHT, weight))
            .color(&color)
            .transform(transform)
            .pos(Pos::new(h_pos, VPos::Top));
        // Text hangs 0.76 of its size below the point it is given.
        let raised = if align == Align::Up { (x - size * 0.76, y) } else { (x, y - size * 0.76) };
        self.draw(&Text::new(text.to_string(), fine_point(raised), style));
    }

    fn draw<'e, E>(&self, element: &'e E)
    where
        &'e E: plotters::element::PointCollection<'e, (i32, i32)>,
        E: for<'b> plotters::element::Drawable<SVGBackend<'b>>,
    {
        self.area.draw(element).expect("invariant: an SVG in memory takes whatever is drawn");
    }
}

fn fine(points: &[(f64, f64)]) -> Vec<(i32, i32)> {
    points.iter().copied().map(fine_point).collect()
}

fn fine_point((x, y): (f64, f64)) -> (i32, i32) {
    ((x * FINE).round() as i32, (y * FINE).round() as i32)
}
