//! A chart as data, and its drawing as SVG. Knows no runs: figures fill charts.

mod canvas;
mod draw;
mod frame;
mod legend;
mod path;
mod scale;

pub use canvas::{Ink, Marker};
pub use scale::Scale;

/// One plot, whatever its size will be.
pub struct Chart {
    pub title: String,
    /// Under the title, smaller.
    pub subtitle: String,
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<Line>,
}

pub struct Axis {
    pub label: String,
    pub scale: Scale,
    /// Ticks at these and nowhere else; the scale's own where it is empty.
    pub marks: Vec<f64>,
    pub tick: fn(f64) -> String,
}

/// Points that belong together, with what was measured beside them.
#[derive(Clone)]
pub struct Line {
    pub label: String,
    pub ink: Ink,
    pub marker: Option<Marker>,
    /// On one point of so many, from the first.
    pub marker_each: usize,
    pub dashed: bool,
    pub points: Vec<Point>,
    /// Single runs.
    pub dots: Vec<(f64, f64)>,
    /// Single runs that count for nothing.
    pub crosses: Vec<(f64, f64)>,
}

#[derive(Clone, Copy)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    /// Ends of its error bar.
    pub bar: Option<(f64, f64)>,
}

/// Room for a drawing, in units that are pixels on a plain screen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Size {
    Wide,
    /// For the width of a phone, with text as large as on the wide one.
    Narrow,
}

impl Chart {
    pub fn svg(&self, size: Size) -> String {
        draw::svg(self, size)
    }
}
