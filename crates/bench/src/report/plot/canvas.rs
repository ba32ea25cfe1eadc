//! Strokes, markers and text as a short SVG. Knows no axes.

use super::super::font::FAMILY;
use super::super::html::escaped;
use super::path::Path;

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

    fn hex(self) -> String {
        format!("#{:02X}{:02X}{:02X}", self.0, self.1, self.2)
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
    fn corners(self) -> &'static [Place] {
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

/// Units to the right of the upper left corner, and down from it.
pub type Place = (f64, f64);

pub struct Canvas {
    elements: String,
    /// What text is unless it says otherwise.
    text_size: f64,
}

/// The SVG of `width` × `height` units on which `paint` drew, mostly in this size of text, named for those who do not
/// see it.
pub fn svg(width: f64, height: f64, text_size: f64, name: &str, paint: impl FnOnce(&mut Canvas)) -> String {
    let mut canvas = Canvas { elements: String::new(), text_size };
    paint(&mut canvas);
    let (ground, ink, name) = (Ink::GROUND.hex(), Ink::TEXT.hex(), escaped(name));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{FAMILY}\" font-size=\"{text_size}\" fill=\"{ink}\" role=\"img\" aria-label=\"{name}\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{ground}\"/>\n{}</svg>\n",
        canvas.elements
    )
}

impl Canvas {
    pub fn line(&mut self, points: &[Place], ink: Ink, width: f64) {
        self.lines(&[points], ink, width);
    }

    /// Lines that have nothing in common but their look, as one element.
    pub fn lines<L: AsRef<[Place]>>(&mut self, lines: &[L], ink: Ink, width: f64) {
        self.stroke(lines, ink, width, "");
    }

    pub fn dashes(&mut self, points: &[Place], ink: Ink, width: f64) {
        self.stroke(&[points], ink, width, " stroke-dasharray=\"5 3.5\"");
    }

    fn stroke<L: AsRef<[Place]>>(&mut self, lines: &[L], ink: Ink, width: f64, further: &str) {
        let path = Path::of(lines, false);
        if !path.is_empty() {
            self.add(format!(
                "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"{further}/>",
                ink.hex()
            ));
        }
    }

    /// Round ones, as the ends of strokes of hardly any length: one without any is left out of a PDF.
    pub fn dots(&mut self, places: &[Place], radius: f64, ink: Ink, opacity: f64) {
        let strokes: Vec<[Place; 2]> = places.iter().map(|&(x, y)| [(x, y), (x + 0.1, y)]).collect();
        let path = Path::of(&strokes, false);
        if !path.is_empty() {
            let (ink, width) = (ink.hex(), 2.0 * radius);
            let through = if opacity < 1.0 { format!(" stroke-opacity=\"{opacity}\"") } else { String::new() };
            self.add(format!(
                "<path d=\"{path}\" stroke=\"{ink}\" stroke-width=\"{width}\" stroke-linecap=\"round\"{through}/>"
            ));
        }
    }

    pub fn cross(&mut self, (x, y): Place, half: f64, ink: Ink) {
        let falling = [(x - half, y - half), (x + half, y + half)];
        let rising = [(x - half, y + half), (x + half, y - half)];
        self.lines(&[falling, rising], ink, 1.6);
    }

    /// The same at many places.
    pub fn markers(&mut self, places: &[Place], half: f64, marker: Marker, ink: Ink) {
        let corners = marker.corners();
        if corners.is_empty() {
            return self.dots(places, half, ink, 1.0);
        }
        let around =
            |&(x, y): &Place| -> Vec<Place> { corners.iter().map(|(dx, dy)| (x + dx * half, y + dy * half)).collect() };
        let path = Path::of(&places.iter().map(around).collect::<Vec<_>>(), true);
        if !path.is_empty() {
            self.add(format!("<path d=\"{path}\" fill=\"{}\"/>", ink.hex()));
        }
    }

    /// A line of text whose baseline is at the point's height.
    pub fn text(&mut self, (x, y): Place, text: &str, size: f64, bold: bool, align: Align, ink: Ink) {
        let (x, y) = (tenth(x), tenth(y));
        let anchor = match align {
            Align::Left => String::new(),
            Align::Middle => " text-anchor=\"middle\"".to_string(),
            Align::Right => " text-anchor=\"end\"".to_string(),
            Align::Up => format!(" text-anchor=\"middle\" transform=\"rotate(-90 {x} {y})\""),
        };
        let size = if size == self.text_size { String::new() } else { format!(" font-size=\"{size}\"") };
        let weight = if bold { " font-weight=\"bold\"" } else { "" };
        let fill = if ink == Ink::TEXT { String::new() } else { format!(" fill=\"{}\"", ink.hex()) };
        self.add(format!("<text x=\"{x}\" y=\"{y}\"{size}{weight}{anchor}{fill}>{}</text>", escaped(text)));
    }

    fn add(&mut self, element: String) {
        self.elements.push_str(&element);
        self.elements.push('\n');
    }
}

/// Finer than that nobody sees.
fn tenth(value: f64) -> f64 {
    (value * 10.0).round() / 10.0 + 0.0
}
