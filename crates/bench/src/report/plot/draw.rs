//! The lines, error bars, dots and crosses of a chart in its frame. Knows no text.

use super::canvas::{self, Canvas};
use super::frame::Frame;
use super::{Chart, Line, Size};

/// Series beside each other at the same place of the axis stand this far apart.
const APART: f64 = 7.0;
/// Runs of one place are spread over this much to each side, so that equal ones stay countable.
const SPREAD: f64 = 9.0;

pub fn svg(chart: &Chart, size: Size) -> String {
    let frame = Frame::new(chart, size);
    let name = format!("{}. {}", chart.title, chart.subtitle);
    canvas::svg(frame.format.width, frame.height, &name, |canvas| {
        frame.draw(canvas);
        let beside = chart.lines.iter().filter(|line| !line.dots.is_empty()).count();
        let shift = |index: usize| match chart.lines[index].dots.is_empty() {
            true => 0.0,
            false => {
                let before = chart.lines[..index].iter().filter(|line| !line.dots.is_empty()).count();
                (before as f64 - (beside as f64 - 1.0) / 2.0) * APART
            }
        };
        for (index, line) in chart.lines.iter().enumerate() {
            draw_runs(canvas, &frame, line, shift(index));
            draw_line(canvas, &frame, line, shift(index));
        }
        // Crosses lie on top: what went wrong is not to be overlooked.
        for (index, line) in chart.lines.iter().enumerate() {
            for &(x, y) in &line.crosses {
                if let (Some(x), Some(y)) = (frame.x(x), frame.y(y)) {
                    canvas.cross((x + shift(index), y), 4.2, line.ink);
                }
            }
        }
    })
}

fn draw_runs(canvas: &Canvas, frame: &Frame, line: &Line, shift: f64) {
    for (index, &(x, y)) in line.dots.iter().enumerate() {
        let before = line.dots[..index].iter().filter(|dot| dot.0 == x).count();
        let here = line.dots.iter().filter(|dot| dot.0 == x).count();
        let share = if here > 1 { before as f64 / (here - 1) as f64 * 2.0 - 1.0 } else { 0.0 };
        if let (Some(x), Some(y)) = (frame.x(x), frame.y(y)) {
            canvas.dot((x + shift + share * SPREAD, y), 2.0, line.ink, 0.45);
        }
    }
}

fn draw_line(canvas: &Canvas, frame: &Frame, line: &Line, shift: f64) {
    let placed = |x: f64, y: f64| Some((frame.x(x)? + shift, frame.y(y)?));
    let path: Vec<(f64, f64)> = line.points.iter().filter_map(|point| placed(point.x, point.y)).collect();
    match line.dashed {
        true => canvas.dashes(&path, line.ink, 1.6, (5.0, 3.5)),
        false if path.len() > 1 => canvas.line(&path, line.ink, 1.8, 1.0),
        false => {}
    }
    for (index, point) in line.points.iter().enumerate() {
        let Some((x, y)) = placed(point.x, point.y) else { continue };
        if let Some((low, high)) = point.bar.and_then(|(low, high)| Some((frame.y(low)?, frame.y(high)?))) {
            canvas.line(&[(x, low), (x, high)], line.ink, 1.4, 1.0);
            canvas.line(&[(x - 4.5, low), (x + 4.5, low)], line.ink, 1.4, 1.0);
            canvas.line(&[(x - 4.5, high), (x + 4.5, high)], line.ink, 1.4, 1.0);
        }
        if let Some(marker) = line.marker.filter(|_| index.is_multiple_of(line.marker_each)) {
            canvas.marker((x, y), 4.0, marker, line.ink);
        }
    }
}
