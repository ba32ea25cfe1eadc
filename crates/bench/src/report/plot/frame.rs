//! The room of a plot inside its drawing: title, axes, ticks, grid. Knows no lines.

use super::canvas::{Align, Canvas, Ink, Place};
use super::legend::Legend;
use super::{Axis, Chart, Size};
use crate::report::font;

/// Sizes of text and of a drawing.
#[derive(Clone, Copy)]
pub struct Format {
    pub width: f64,
    plot_height: f64,
    pub text: f64,
    title: f64,
}

impl Size {
    pub fn format(self) -> Format {
        match self {
            Self::Wide => Format { width: 760.0, plot_height: 330.0, text: 13.0, title: 16.0 },
            Self::Narrow => Format { width: 360.0, plot_height: 250.0, text: 11.5, title: 13.5 },
        }
    }
}

/// Where everything stands.
pub struct Frame<'a> {
    chart: &'a Chart,
    pub format: Format,
    title: Vec<String>,
    subtitle: Vec<String>,
    pub legend: Legend,
    y_ticks: (Vec<f64>, Vec<f64>),
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    pub height: f64,
}

impl<'a> Frame<'a> {
    pub fn new(chart: &'a Chart, size: Size) -> Self {
        let format = size.format();
        let Format { width, plot_height, text, title: title_size } = format;
        let margin = 10.0;
        let title = font::wrap(&chart.title, title_size, true, width - 2.0 * margin);
        let subtitle = font::wrap(&chart.subtitle, text, false, width - 2.0 * margin);
        let top = margin + (title.len() as f64 * title_size + subtitle.len() as f64 * text) * 1.3 + text * 1.2;
        let y_ticks = chart.y.scale.ticks(5);
        let widest = y_ticks.0.iter().map(|tick| font::width(&(chart.y.tick)(*tick), text, false)).fold(0.0, f64::max);
        let left = margin + text * 1.6 + widest + 8.0;
        let bottom = top + plot_height;
        let legend = Legend::new(chart, text, width - 2.0 * margin);
        let height = (bottom + text * 4.2 + legend.height() + margin / 2.0).ceil();
        Self { chart, format, title, subtitle, legend, y_ticks, left, right: width - 18.0, top, bottom, height }
    }

    pub fn x(&self, value: f64) -> Option<f64> {
        Some(self.left + self.chart.x.scale.place(value)? * (self.right - self.left))
    }

    pub fn y(&self, value: f64) -> Option<f64> {
        Some(self.bottom - self.chart.y.scale.place(value)? * (self.bottom - self.top))
    }

    /// The height of a value or of the edge that it lies beyond, and whether it is the value's own.
    pub fn y_inside(&self, value: f64) -> (f64, bool) {
        // What a scale has no place for is zero or less, on a logarithmic one.
        let place = self.chart.y.scale.place(value).unwrap_or(f64::NEG_INFINITY);
        (self.bottom - place.clamp(0.0, 1.0) * (self.bottom - self.top), (0.0..=1.0).contains(&place))
    }

    pub fn draw(&self, canvas: &mut Canvas) {
        self.draw_title(canvas);
        self.draw_grid(canvas);
        self.draw_x_axis(canvas);
        self.draw_y_axis(canvas);
        self.legend.draw(canvas, (10.0, self.bottom + self.format.text * 4.2));
    }

    fn draw_title(&self, canvas: &mut Canvas) {
        let mut y = 10.0;
        for line in &self.title {
            y += self.format.title * 1.3;
            canvas.text((10.0, y - 4.0), line, self.format.title, true, Align::Left, Ink::TEXT);
        }
        for line in &self.subtitle {
            y += self.format.text * 1.3;
            canvas.text((10.0, y - 2.0), line, self.format.text, false, Align::Left, Ink::SOFT);
        }
    }

    fn draw_grid(&self, canvas: &mut Canvas) {
        for (values, ink) in [(&self.y_ticks.1, Ink::FINE_GRID), (&self.y_ticks.0, Ink::GRID)] {
            canvas.lines(&self.across(values, self.left, self.right), ink, 1.0);
        }
    }

    /// Level strokes at the heights of values.
    fn across(&self, values: &[f64], from: f64, to: f64) -> Vec<[Place; 2]> {
        values.iter().filter_map(|value| self.y(*value)).map(|y| [(from, y), (to, y)]).collect()
    }

    /// Strokes down from the axis at values.
    fn down(&self, values: &[f64], length: f64) -> Vec<[Place; 2]> {
        let places = values.iter().filter_map(|value| self.x(*value));
        places.map(|x| [(x, self.bottom), (x, self.bottom + length)]).collect()
    }

    fn draw_x_axis(&self, canvas: &mut Canvas) {
        let text = self.format.text;
        canvas.line(&[(self.left, self.bottom), (self.right, self.bottom)], Ink::TEXT, 1.2);
        let (ticks, fine) = self.x_ticks();
        canvas.lines(&self.down(&fine, 3.0), Ink::SOFT, 0.8);
        canvas.lines(&self.down(&ticks, 5.0), Ink::TEXT, 1.0);
        for (x, label) in self.x_labels(ticks) {
            canvas.text((x, self.bottom + text + 8.0), &label, text, false, Align::Middle, Ink::TEXT);
        }
        let middle = (self.left + self.right) / 2.0;
        canvas.text((middle, self.bottom + text * 2.9), &self.chart.x.label, text, false, Align::Middle, Ink::TEXT);
    }

    /// Labels with their middles. Where two would touch, the less telling one is left out; its tick stays.
    fn x_labels(&self, mut ticks: Vec<f64>) -> Vec<(f64, String)> {
        let (first, last) = (ticks.first().copied().unwrap_or(0.0), ticks.last().copied().unwrap_or(0.0));
        // The ends say how far the axis reaches; its regular steps say more than what is between them.
        ticks.sort_by_key(|tick| match *tick {
            end if end == first || end == last => 0,
            step if is_whole((step / first).log2()) || is_whole(step.log10()) => 1,
            _ => 2,
        });
        let mut placed: Vec<(f64, f64, String)> = Vec::new();
        for tick in ticks {
            let Some(x) = self.x(tick) else { continue };
            let label = (self.chart.x.tick)(tick);
            let half = font::width(&label, self.format.text, false) / 2.0;
            // At the edge of the drawing they lean inwards.
            let x = x.min(self.format.width - half - 4.0);
            let apart = |(other, its_half, _): &(f64, f64, String)| (other - x).abs() >= half + its_half + 5.0;
            if placed.iter().all(apart) {
                placed.push((x, half, label));
            }
        }
        placed.into_iter().map(|(x, _, label)| (x, label)).collect()
    }

    fn x_ticks(&self) -> (Vec<f64>, Vec<f64>) {
        let Axis { scale, marks, .. } = &self.chart.x;
        if marks.is_empty() { scale.ticks(6) } else { (marks.clone(), Vec::new()) }
    }

    fn draw_y_axis(&self, canvas: &mut Canvas) {
        let text = self.format.text;
        canvas.line(&[(self.left, self.top), (self.left, self.bottom)], Ink::TEXT, 1.2);
        canvas.lines(&self.across(&self.y_ticks.0, self.left - 5.0, self.left), Ink::TEXT, 1.0);
        for tick in &self.y_ticks.0 {
            let Some(y) = self.y(*tick) else { continue };
            let label = (self.chart.y.tick)(*tick);
            canvas.text((self.left - 8.0, y + text * 0.36), &label, text, false, Align::Right, Ink::TEXT);
        }
        let middle = (self.top + self.bottom) / 2.0;
        canvas.text((10.0 + text * 0.8, middle), &self.chart.y.label, text, false, Align::Up, Ink::TEXT);
    }
}

fn is_whole(value: f64) -> bool {
    (value - value.round()).abs() < 1e-9
}
