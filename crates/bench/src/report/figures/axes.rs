//! The axes of values: linear or logarithmic, and how far they reach.

use super::super::number;
use super::super::plot::{Axis, Line, Scale};
use super::super::quantity::Quantity;

/// Values on one axis that differ by more than this need a logarithmic one.
const LINEAR_SPAN_MAX: f64 = 20.0;
/// The interval of two runs can be many times as wide as they are apart. It must not press them flat: beyond the
/// values by this factor it is cut off.
const INTERVAL_ROOM: f64 = 2.0;

/// Linear from zero where that shows everything, else logarithmic.
pub(super) fn value_axis(quantity: Quantity, lines: &[Line]) -> Axis {
    let values = heights(lines, INTERVAL_ROOM);
    let log = is_wide(lines);
    let scale = if log { Scale::log_around(&values) } else { Scale::from_zero(&values) };
    let (label, tick): (String, fn(f64) -> String) = match quantity.unit() {
        "µs" => (quantity.name().to_string(), number::micros),
        "s" => (quantity.name().to_string(), |seconds| format!("{} s", number::plain(seconds))),
        unit => (format!("{} ({unit})", quantity.name()), number::short),
    };
    let label = if log { format!("{label}, log scale") } else { label };
    Axis { label, scale, marks: Vec::new(), tick }
}

/// Whether a linear axis would press the lower values onto its foot.
pub(super) fn is_wide(lines: &[Line]) -> bool {
    let (min, max) = ends(&heights(lines, INTERVAL_ROOM));
    max / min > LINEAR_SPAN_MAX
}

pub(super) fn duration_axis(lines: &[Line]) -> Axis {
    Axis {
        label: "latency, log scale".to_string(),
        scale: Scale::log_around(&heights(lines, f64::INFINITY)),
        marks: Vec::new(),
        tick: number::micros,
    }
}

/// The positive values that are to be seen, and the ends of bars as far as they have room.
fn heights(lines: &[Line], room: f64) -> Vec<f64> {
    let mut values: Vec<f64> = Vec::new();
    for line in lines {
        values.extend(line.dots.iter().chain(&line.crosses).map(|(_, y)| *y));
        values.extend(line.points.iter().map(|point| point.y));
    }
    values.retain(|value| *value > 0.0);
    let (min, max) = ends(&values);
    let bars = lines.iter().flat_map(|line| &line.points).filter_map(|point| point.bar);
    let bars: Vec<f64> =
        bars.flat_map(|(low, high)| [low, high]).map(|end| end.clamp(min / room, max * room)).collect();
    values.extend(bars);
    values.retain(|value| *value > 0.0);
    values
}

fn ends(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    (least, values.iter().copied().fold(0.0, f64::max))
}
