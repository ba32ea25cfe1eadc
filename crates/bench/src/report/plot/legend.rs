//! What the lines, dots and crosses of a plot stand for, in rows below it. Knows no values.

use super::canvas::{Align, Canvas, Ink};
use super::{Chart, Line};
use crate::report::font;

const KEY_WIDTH: f64 = 30.0;
const GAP: f64 = 18.0;

pub struct Legend {
    text: f64,
    /// With the place of each relative to the upper left corner.
    entries: Vec<(Entry, f64, f64)>,
    rows: f64,
}

struct Entry {
    key: Key,
    label: Vec<String>,
}

enum Key {
    Line(Line),
    Dot,
    Cross,
}

impl Legend {
    pub fn new(chart: &Chart, text: f64, width: f64) -> Self {
        let (mut entries, mut x, mut row) = (Vec::new(), 0.0, 0.0);
        for (key, label) in keys(chart) {
            let label = font::wrap(&label, text, false, width - KEY_WIDTH - 4.0);
            let widest = label.iter().map(|line| font::width(line, text, false)).fold(0.0, f64::max);
            let taken = KEY_WIDTH + 4.0 + widest;
            if x > 0.0 && x + taken > width {
                (x, row) = (0.0, row + 1.0);
            }
            let lines = label.len();
            entries.push((Entry { key, label }, x, row));
            x += taken + GAP;
            if lines > 1 {
                (x, row) = (0.0, row + lines as f64);
            }
        }
        let rows = if x > 0.0 { row + 1.0 } else { row };
        Self { text, entries, rows }
    }

    fn row_height(&self) -> f64 {
        self.text * 1.5
    }

    pub fn height(&self) -> f64 {
        self.rows * self.row_height()
    }

    pub fn draw(&self, canvas: &mut Canvas, (left, top): (f64, f64)) {
        for (entry, x, row) in &self.entries {
            let (x, y) = (left + x, top + (row + 0.5) * self.row_height());
            entry.key.draw(canvas, x, y);
            for (index, line) in entry.label.iter().enumerate() {
                let baseline = y + self.text * 0.36 + index as f64 * self.row_height();
                canvas.text((x + KEY_WIDTH + 4.0, baseline), line, self.text, false, Align::Left, Ink::TEXT);
            }
        }
    }
}

impl Key {
    fn draw(&self, canvas: &mut Canvas, x: f64, y: f64) {
        let middle = (x + KEY_WIDTH / 2.0, y);
        match self {
            Self::Dot => canvas.dots(&[middle], 2.2, Ink::SOFT, 0.7),
            Self::Cross => canvas.cross(middle, 3.6, Ink::TEXT),
            Self::Line(line) => {
                let ends = [(x + 1.0, y), (x + KEY_WIDTH - 1.0, y)];
                match line.dashed {
                    true => canvas.dashes(&ends, line.ink, 1.6),
                    false => canvas.line(&ends, line.ink, 1.8),
                }
                if let Some(marker) = line.marker {
                    canvas.markers(&[middle], 4.2, marker, line.ink);
                }
            }
        }
    }
}

fn keys(chart: &Chart) -> Vec<(Key, String)> {
    let bare = |line: &Line| Line { points: Vec::new(), dots: Vec::new(), crosses: Vec::new(), ..line.clone() };
    let lines = chart.lines.iter().filter(|line| !line.label.is_empty());
    let mut keys: Vec<(Key, String)> = lines.map(|line| (Key::Line(bare(line)), line.label.clone())).collect();
    if chart.lines.iter().any(|line| !line.dots.is_empty()) {
        keys.push((Key::Dot, "one run".to_string()));
    }
    if chart.lines.iter().any(|line| !line.crosses.is_empty()) {
        keys.push((Key::Cross, "invalid run, in no mean".to_string()));
    }
    keys
}
