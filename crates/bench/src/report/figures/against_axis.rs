//! A quantity against the axis of an experiment: what was measured, run by run, beside what was published.

use super::super::document::Figure;
use super::super::groups::{Group, series};
use super::super::plot::{Chart, Ink, Line, Marker, Point};
use super::super::quantity::{Quantity, axis_name, capital};
use super::super::read::Run;
use super::axes::value_axis;
use super::{Sketch, is_of_its_size};
use crate::record::{Published, PublishedPoint};

impl Sketch<'_> {
    pub(super) fn against_axis(&self, quantity: Quantity, published: &[Published]) -> Figure {
        let lines = self.compared(quantity, published);
        let title =
            format!("{} against {}, {}", capital(quantity.name()), axis_name(self.parts().axis), self.durability);
        let what = self.spread_text();
        let here = if published.len() < self.parts().published.len() { " · measured here alone" } else { "" };
        let chart = Chart {
            title,
            subtitle: format!("{} · {} · {what}{here}", self.parts().name, self.loop_kind),
            x: self.x_axis(published),
            y: value_axis(quantity, &lines),
            lines,
        };
        let beside = if published.is_empty() {
            ""
        } else {
            " Dashed: what an earlier system reported on other hardware; the difference is of both programs and machines."
        };
        self.figure(quantity.slug(), format!("Every dot is a run; {what}.{beside}"), &chart)
    }

    pub(super) fn compared(&self, quantity: Quantity, published: &[Published]) -> Vec<Line> {
        let mut lines = self.measured(quantity);
        if !published.is_empty() {
            // "Published size" alone would pass for what was published.
            lines.iter_mut().for_each(|line| line.label = format!("measured here: {}", line.label));
        }
        lines.extend(published.iter().map(published_line));
        lines
    }

    fn spread_text(&self) -> &'static str {
        match self.groups.iter().any(|group| group.valid.len() > 1) {
            true => "means with 95% t-intervals",
            false => "one run each",
        }
    }

    pub(super) fn measured(&self, quantity: Quantity) -> Vec<Line> {
        let mut lines = Vec::new();
        for (index, series) in series(self.study).into_iter().enumerate() {
            let fits = |group: &&Group| group.series == series && (quantity != Quantity::Seconds || self.sized(group));
            let groups: Vec<&Group> = self.groups.iter().filter(fits).collect();
            if groups.is_empty() {
                continue;
            }
            let runs = |runs: &[&Run], value: f64| -> Vec<(f64, f64)> {
                runs.iter().filter_map(|run| Some((value, quantity.of(run)?))).collect()
            };
            lines.push(Line {
                label: series.to_string(),
                ink: Ink::SERIES[index % Ink::SERIES.len()],
                marker: Some(Marker::ALL[index % Marker::ALL.len()]),
                marker_each: 1,
                dashed: false,
                points: groups.iter().filter_map(|group| mean_point(group, quantity)).collect(),
                dots: groups.iter().flat_map(|group| runs(&group.valid, group.value)).collect(),
                crosses: groups.iter().flat_map(|group| runs(&group.invalid, group.value)).collect(),
            });
        }
        lines
    }

    /// Whether its execution time is that of the size on the axis: a run scaled up takes longer by design.
    fn sized(&self, group: &Group) -> bool {
        !matches!(self.parts().axis, "requests" | "clients") || is_of_its_size(group)
    }
}

pub(super) fn per_request(line: &Published) -> Published {
    let mut line = line.clone();
    for point in &mut line.points {
        point.mean *= 1e6 / point.value;
        point.deviation = point.deviation.map(|deviation| deviation * 1e6 / point.value);
    }
    line
}

fn mean_point(group: &Group, quantity: Quantity) -> Option<Point> {
    let summary = group.summary(|run| quantity.of(run))?;
    let bar = summary.t95.map(|half| (summary.mean - half, summary.mean + half));
    Some(Point { x: group.value, y: summary.mean, bar })
}

fn published_line(published: &Published) -> Line {
    let point = |point: &PublishedPoint| Point {
        x: point.value,
        y: point.mean,
        bar: point.deviation.map(|deviation| (point.mean - deviation, point.mean + deviation)),
    };
    let points: Vec<Point> = published.points.iter().map(point).collect();
    // The reader must not take it for ours, whatever the file calls it.
    let label = match published.label.contains("other hardware") {
        true => published.label.clone(),
        false => format!("published, other hardware: {}", published.label),
    };
    let spread = if points.iter().any(|point| point.bar.is_some()) { " (± standard deviation)" } else { "" };
    Line {
        label: format!("{label}{spread}"),
        ink: Ink::SOFT,
        marker: Some(Marker::Diamond),
        marker_each: 1,
        dashed: true,
        points,
        dots: Vec::new(),
        crosses: Vec::new(),
    }
}
