//! The lines, error bars, dots and crosses of a chart in its frame. Knows no text.

use super::canvas::{self, Canvas, Place};
use super::frame::Frame;
use super::{Chart, Line, Point, Size};

/// Series beside each other at the same place of the axis stand this far apart.
const APART: f64 = 7.0;
/// Runs of one place are spread over this much to each side, so that equal ones stay countable.
const SPREAD: f64 = 9.0;
/// Half of the stroke at the end of an error bar.
const CAP: f64 = 4.5;

pub fn svg(chart: &Chart, size: Size) -> String {
    let frame = Frame::new(chart, size);
    let name = format!("{}. {}", chart.title, chart.subtitle);
    canvas::svg(frame.format.width, frame.height, frame.format.text, &name, |canvas| {
        frame.draw(canvas);
        let shifts = shifts(&chart.lines);
        for (line, shift) in chart.lines.iter().zip(&shifts) {
            canvas.dots(&runs(&frame, line, *shift), 2.2, line.ink, 0.5);
            draw_line(canvas, &frame, line, *shift);
        }
        // Crosses lie on top: what went wrong is not to be overlooked.
        for (line, shift) in chart.lines.iter().zip(&shifts) {
            for &(x, y) in &line.crosses {
                if let (Some(x), Some(y)) = (frame.x(x), frame.y(y)) {
                    canvas.cross((x + shift, y), 4.2, line.ink);
                }
            }
        }
    })
}

/// How far each line is moved aside, so that those with runs or bars do not hide each other.
fn shifts(lines: &[Line]) -> Vec<f64> {
    let is_measured = |line: &&Line| !line.dashed && line.points.iter().any(|point| point.bar.is_some());
    let is_moved = |line: &&Line| !line.dots.is_empty() || is_measured(line);
    let beside = lines.iter().filter(is_moved).count();
    let mut before = 0.0;
    let shift = |line: &Line| {
        if !is_moved(&line) {
            return 0.0;
        }
        before += 1.0;
        (before - (beside as f64 + 1.0) / 2.0) * APART
    };
    lines.iter().map(shift).collect()
}

fn runs(frame: &Frame, line: &Line, shift: f64) -> Vec<Place> {
    let place = |(index, &(x, y)): (usize, &(f64, f64))| {
        let before = line.dots[..index].iter().filter(|dot| dot.0 == x).count();
        let here = line.dots.iter().filter(|dot| dot.0 == x).count();
        let share = if here > 1 { before as f64 / (here - 1) as f64 * 2.0 - 1.0 } else { 0.0 };
        Some((frame.x(x)? + shift + share * SPREAD, frame.y(y)?))
    };
    line.dots.iter().enumerate().filter_map(place).collect()
}

fn draw_line(canvas: &mut Canvas, frame: &Frame, line: &Line, shift: f64) {
    let placed = |point: &Point| Some((frame.x(point.x)? + shift, frame.y(point.y)?));
    let path: Vec<Place> = line.points.iter().filter_map(placed).collect();
    match line.dashed {
        true => canvas.dashes(&path, line.ink, 1.6),
        false if path.len() > 1 => canvas.line(&path, line.ink, 1.8),
        false => {}
    }
    canvas.lines(&bars(frame, line, shift), line.ink, 1.4);
    if let Some(marker) = line.marker {
        let marked: Vec<Place> = line.points.iter().step_by(line.marker_each).filter_map(placed).collect();
        canvas.markers(&marked, 4.0, marker, line.ink);
    }
}

/// A bar that goes on outside the plot ends at its edge, without a stroke across.
fn bars(frame: &Frame, line: &Line, shift: f64) -> Vec<[Place; 2]> {
    let mut strokes = Vec::new();
    for point in &line.points {
        let (Some(x), Some((low, high))) = (frame.x(point.x), point.bar) else { continue };
        let x = x + shift;
        let ends = [low, high].map(|end| frame.y_inside(end));
        strokes.push(ends.map(|(y, _)| (x, y)));
        let whole = ends.into_iter().filter(|(_, is_end)| *is_end);
        strokes.extend(whole.map(|(y, _)| [(x - CAP, y), (x + CAP, y)]));
    }
    strokes
}
