//! A chart as data, drawn as SVG by plotters. It knows no runs: `figures.rs` fills charts.

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;

use super::scale::Scale;
use super::table::escaped;

const FAMILY: &str = "sans-serif";

/// The reason why drawing cannot fail.
const DRAWS: &str = "invariant: what is drawn into memory is drawn";

const WIDTH: u32 = 1520;
const PLOT_HEIGHT: u32 = 700;
const TEXT: i32 = 26;
const TITLE: i32 = 32;
const MARGIN: i32 = 20;
/// The width of letters as a part of their size; text that is wrapped by it has room.
const LETTER_WIDTH: f64 = 0.56;
/// Distance between series at the same place of the axis.
const APART: f64 = 14.0;
/// Distance over which runs of one place are spread to each side, so that equal ones stay countable.
const SPREAD: f64 = 18.0;

const INK: RGBColor = RGBColor(0x1A, 0x1A, 0x1A);
pub const SOFT: RGBColor = RGBColor(0x55, 0x55, 0x55);
const GRID: RGBColor = RGBColor(0xE2, 0xE2, 0xE2);
/// The colours of Okabe and Ito, which people with colour blindness can tell apart; without the yellow that is weak on
/// paper.
pub const SERIES: [RGBColor; 6] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
];

/// One plot.
pub struct Chart {
    pub title: String,
    /// The smaller line under the title.
    pub subtitle: String,
    pub x: Axis,
    pub y: Axis,
    pub lines: Vec<Line>,
}

/// The axis along one of its sides.
pub struct Axis {
    pub label: String,
    pub scale: Scale,
    pub tick: fn(f64) -> String,
}

/// Points that belong together, with the runs beside them.
pub struct Line {
    pub label: String,
    pub colour: RGBColor,
    /// The shape that marks its points: lines differ without colour.
    pub marker: usize,
    /// The distance of marked points: one of this many is marked, from the first.
    pub marker_each: usize,
    pub dashed: bool,
    pub points: Vec<Point>,
    /// Single runs.
    pub dots: Vec<(f64, f64)>,
    /// Single runs that do not count.
    pub crosses: Vec<(f64, f64)>,
}

/// A point of a line, with the ends of its error bar.
#[derive(Clone, Copy)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub bar: Option<(f64, f64)>,
}

type Place = (i32, i32);
type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

impl Chart {
    /// Returns its drawing.
    pub fn svg(&self) -> String {
        let (title, subtitle) = (wrapped(&self.title, TITLE), wrapped(&self.subtitle, TEXT));
        let legend = self.legend();
        let head = MARGIN + line_height(TITLE) * title.len() as i32 + line_height(TEXT) * subtitle.len() as i32;
        let plot_end = head + PLOT_HEIGHT as i32;
        let rows: usize = legend.iter().map(|(_, label)| label.len()).sum();
        let height = plot_end + MARGIN + line_height(TEXT) * rows as i32;
        let mut svg = String::new();
        let area = SVGBackend::with_string(&mut svg, (WIDTH, height as u32)).into_drawing_area();
        area.fill(&WHITE).expect(DRAWS);
        let below =
            write(&area, &title, (MARGIN, MARGIN / 2), (FAMILY, TITLE, FontStyle::Bold).into_font().color(&INK));
        write(&area, &subtitle, (MARGIN, below), (FAMILY, TEXT).into_font().color(&SOFT));
        self.draw_plot(&area, head, height - plot_end);
        let mut y = plot_end + MARGIN / 2;
        for (key, label) in &legend {
            key.draw(&area, y + TEXT / 2);
            y = write(&area, label, (MARGIN + KEY_WIDTH + 10, y), (FAMILY, TEXT).into_font().color(&INK));
        }
        area.present().expect(DRAWS);
        drop(area);
        let name = escaped(&format!("{}. {}", self.title, self.subtitle));
        svg.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{name}\" "), 1)
    }

    /// Draws axes and lines, this far from the upper and from the lower edge.
    fn draw_plot(&self, area: &Area, above: i32, below: i32) {
        let plot = area.margin(above, below, MARGIN, 2 * MARGIN);
        let mut context = ChartBuilder::on(&plot)
            .x_label_area_size(90)
            .y_label_area_size(150)
            .margin_top(MARGIN)
            .build_cartesian_2d(self.x.scale.clone(), self.y.scale.clone())
            .expect(DRAWS);
        let font = (FAMILY, TEXT).into_font().color(&INK);
        context
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .light_line_style(TRANSPARENT)
            .axis_style(INK.stroke_width(2))
            .x_desc(&self.x.label)
            .y_desc(&self.y.label)
            .x_label_formatter(&|value| (self.x.tick)(*value))
            .y_label_formatter(&|value| (self.y.tick)(*value))
            .label_style(font.clone())
            .axis_desc_style(font)
            .draw()
            .expect(DRAWS);
        let plotting = context.plotting_area();
        // A point outside the plot is drawn at its edge.
        let place = |x: f64, y: f64, aside: f64| {
            let (low, high) = (self.y.scale.range().start, self.y.scale.range().end);
            let (x, y) = plotting.map_coordinate(&(x, y.clamp(low, high)));
            (x + aside.round() as i32, y)
        };
        let asides = asides(&self.lines);
        for (line, aside) in self.lines.iter().zip(&asides) {
            for (x, y, spread) in spread(&line.dots) {
                area.draw(&Circle::new(place(x, y, aside + spread), 4, line.colour.mix(0.5).filled())).expect(DRAWS);
            }
            self.draw_line(area, line, |point: &Point, y: f64| place(point.x, y, *aside));
        }
        // Crosses lie on top: failures must not be overlooked.
        for (line, aside) in self.lines.iter().zip(&asides) {
            for &(x, y) in &line.crosses {
                area.draw(&Cross::new(place(x, y, *aside), 8, line.colour.stroke_width(3))).expect(DRAWS);
            }
        }
    }

    fn draw_line(&self, area: &Area, line: &Line, place: impl Fn(&Point, f64) -> Place) {
        let places: Vec<Place> = line.points.iter().map(|point| place(point, point.y)).collect();
        stroke(area, &places, line.dashed, line.colour);
        for point in &line.points {
            let Some((low, high)) = point.bar else { continue };
            let ends = [low, high].map(|end| place(point, end));
            stroke(area, &ends, false, line.colour);
            // A bar that goes on outside the plot ends without a stroke across.
            let inside = |end: &f64| self.y.scale.range().contains(end);
            for (end, (x, y)) in [low, high].iter().zip(ends) {
                if inside(end) {
                    stroke(area, &[(x - 8, y), (x + 8, y)], false, line.colour);
                }
            }
        }
        places.iter().step_by(line.marker_each).for_each(|place| mark(area, *place, line.marker, line.colour));
    }

    /// Returns the meaning of lines, dots and crosses, each with the lines of its label.
    fn legend(&self) -> Vec<(Key<'_>, Vec<String>)> {
        let lines = self.lines.iter().map(|line| (Key::Line(line), line.label.as_str()));
        let dots = self.lines.iter().any(|line| !line.dots.is_empty()).then_some((Key::Dot, "one run"));
        let crosses = self.lines.iter().any(|line| !line.crosses.is_empty());
        let crosses = crosses.then_some((Key::Cross, "invalid run, in no mean"));
        lines.chain(dots).chain(crosses).map(|(key, label)| (key, wrapped(label, TEXT))).collect()
    }
}

const KEY_WIDTH: i32 = 60;

enum Key<'a> {
    Line(&'a Line),
    Dot,
    Cross,
}

impl Key<'_> {
    fn draw(&self, area: &Area, y: i32) {
        let middle = (MARGIN + KEY_WIDTH / 2, y);
        match self {
            Key::Line(line) => {
                stroke(area, &[(MARGIN, y), (MARGIN + KEY_WIDTH, y)], line.dashed, line.colour);
                mark(area, middle, line.marker, line.colour)
            }
            Key::Dot => area.draw(&Circle::new(middle, 4, SOFT.filled())).expect(DRAWS),
            Key::Cross => area.draw(&Cross::new(middle, 8, INK.stroke_width(3))).expect(DRAWS),
        }
    }
}

/// Writes lines of text from a place downwards, and returns the height below them.
fn write(area: &Area, lines: &[String], (x, mut y): Place, style: TextStyle) -> i32 {
    for line in lines {
        area.draw(&Text::new(line.as_str(), (x, y), style.clone())).expect(DRAWS);
        y += line_height(style.font.get_size() as i32);
    }
    y
}

fn stroke(area: &Area, places: &[Place], dashed: bool, colour: RGBColor) {
    let style = colour.stroke_width(3);
    match dashed {
        true => area.draw(&DashedPathElement::new(places.iter().copied(), 10, 7, style)).expect(DRAWS),
        false => area.draw(&PathElement::new(places.to_vec(), style)).expect(DRAWS),
    }
}

fn mark(area: &Area, (x, y): Place, marker: usize, colour: RGBColor) {
    const SHAPES: [&[Place]; 4] = [
        &[(-7, -7), (7, -7), (7, 7), (-7, 7)],
        &[(0, -10), (9, 6), (-9, 6)],
        &[(0, -11), (9, 0), (0, 11), (-9, 0)],
        &[(0, 10), (9, -6), (-9, -6)],
    ];
    match marker % (SHAPES.len() + 1) {
        0 => area.draw(&Circle::new((x, y), 8, colour.filled())).expect(DRAWS),
        shape => {
            let corners: Vec<Place> = SHAPES[shape - 1].iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
            area.draw(&Polygon::new(corners, colour.filled())).expect(DRAWS)
        }
    }
}

/// Returns how far each line is moved aside, so that those with runs or bars do not hide each other.
fn asides(lines: &[Line]) -> Vec<f64> {
    let moved =
        |line: &Line| !line.dots.is_empty() || (!line.dashed && line.points.iter().any(|point| point.bar.is_some()));
    let all = lines.iter().filter(|line| moved(line)).count() as f64;
    let mut before = 0.0;
    let aside = |line: &Line| match moved(line) {
        false => 0.0,
        true => {
            before += 1.0;
            (before - (all + 1.0) / 2.0) * APART
        }
    };
    lines.iter().map(aside).collect()
}

/// Returns each run with how far it is moved aside from others at the same place of the axis.
fn spread(dots: &[(f64, f64)]) -> impl Iterator<Item = (f64, f64, f64)> {
    dots.iter().enumerate().map(|(index, &(x, y))| {
        let [before, here] = [&dots[..index], dots].map(|some| some.iter().filter(|dot| dot.0 == x).count());
        let share = if here > 1 { before as f64 / (here - 1) as f64 * 2.0 - 1.0 } else { 0.0 };
        (x, y, share * SPREAD)
    })
}

fn line_height(size: i32) -> i32 {
    size * 4 / 3
}

/// Breaks text at spaces into lines that fit the drawing.
fn wrapped(text: &str, size: i32) -> Vec<String> {
    let letters = (f64::from(WIDTH as i32 - 2 * MARGIN - KEY_WIDTH) / (f64::from(size) * LETTER_WIDTH)) as usize;
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut().filter(|line| line.chars().count() + word.chars().count() < letters) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word.to_string()),
        }
    }
    lines
}
