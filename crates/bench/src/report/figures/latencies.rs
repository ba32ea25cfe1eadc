//! Latencies of one series: percentiles against the axis, and the whole distribution of each place on it.

use hdrhistogram::Histogram;

use super::super::document::Figure;
use super::super::groups::{Group, series};
use super::super::number;
use super::super::plot::{Axis, Chart, Ink, Line, Marker, Point, Scale};
use super::super::quantity::axis_name;
use super::Sketch;
use super::axes::duration_axis;
use crate::record::Latency;

/// More lines than this in one plot cannot be told apart.
const LINES_MAX: usize = 8;
/// Points of a distribution between one nine and the next.
const STEPS_A_NINE: usize = 10;
/// Its name, and where a record holds it.
type Percentile = (&'static str, fn(&Latency) -> f64);
const PERCENTILES: [Percentile; 4] =
    [("p50", |l| l.p50), ("p90", |l| l.p90), ("p99", |l| l.p99), ("p99.9", |l| l.p999)];

impl Sketch<'_> {
    pub(super) fn percentiles(&self, series: &str) -> Option<Figure> {
        let groups: Vec<&Group> = self.groups.iter().filter(|group| group.series == series).collect();
        let line = |(index, (label, of)): (usize, &Percentile)| Line {
            label: label.to_string(),
            ink: Ink::SERIES[index],
            marker: Some(Marker::ALL[index]),
            marker_each: 1,
            dashed: false,
            points: groups.iter().filter_map(|group| median_point(group, *of)).collect(),
            dots: Vec::new(),
            crosses: Vec::new(),
        };
        let lines: Vec<Line> = PERCENTILES.iter().enumerate().map(line).collect();
        if lines.iter().all(|line| line.points.is_empty()) {
            return None;
        }
        let title = format!("Latency percentiles against {}, {}", axis_name(self.parts().axis), self.durability);
        let chart = Chart {
            title: format!("{title}, {}", self.loop_kind),
            subtitle: format!("{}: {series} · median of the runs, bars from the least to the most", self.parts().name),
            x: self.x_axis(&[]),
            y: duration_axis(&lines),
            lines,
        };
        let caption =
            "Points: the median over the runs of each run's percentile. Bars: from the run with the least to \
                       that with the most."
                .to_string();
        Some(self.figure("latency-percentiles", caption + self.elsewhere(), &chart))
    }

    pub(super) fn distribution(&self, series: &str) -> Option<Figure> {
        let groups: Vec<(&Group, Histogram<u64>)> = self
            .groups
            .iter()
            .filter(|group| group.series == series)
            .map(|group| (group, group.latencies()))
            .filter(|(_, latencies)| !latencies.is_empty())
            .collect();
        let most = groups.iter().map(|(_, latencies)| latencies.len()).max()?;
        let drawn = spread_evenly(groups.len());
        let inks = spread_over(drawn.len(), Ink::ORDERED.len());
        let lines: Vec<Line> = drawn
            .iter()
            .zip(inks)
            .enumerate()
            .map(|(place, (at, ink))| {
                let (group, latencies) = &groups[*at];
                let label = format!("{} = {}", axis_name(self.parts().axis), number::short(group.value));
                distribution_line(label, Ink::ORDERED[ink], Marker::ALL[place % Marker::ALL.len()], latencies)
            })
            .collect();
        let all = if drawn.len() < groups.len() { "; more in the tables" } else { "" };
        let chart = Chart {
            title: format!("Latency by percentile, {}, {}", self.durability, self.loop_kind),
            subtitle: format!(
                "{}: {series} · all valid runs of a value merged into one histogram{all}",
                self.parts().name
            ),
            x: Axis {
                label: "percentile of requests".to_string(),
                scale: Scale::Nines { nines: (most as f64).log10().clamp(2.0, 6.0) },
                marks: Vec::new(),
                tick: percentile_text,
            },
            y: duration_axis(&lines),
            lines,
        };
        let caption =
            "The histograms of all valid runs merged, never averaged; from 90% on, each labelled step to the \
                       right leaves a tenth of the requests."
                .to_string();
        Some(self.figure("latency-distribution", caption + self.elsewhere(), &chart))
    }

    fn elsewhere(&self) -> &'static str {
        if series(self.study).len() > 1 { " The other series are in the tables." } else { "" }
    }
}

fn median_point(group: &Group, of: fn(&Latency) -> f64) -> Option<Point> {
    let summary = group.summary(|run| (!run.latencies.is_empty()).then(|| of(&run.record.latency)))?;
    let bar = (summary.runs > 1).then_some((summary.min, summary.max));
    Some(Point { x: group.value, y: summary.median, bar })
}

fn distribution_line(label: String, ink: Ink, marker: Marker, latencies: &Histogram<u64>) -> Line {
    let micros = |quantile: f64| latencies.value_at_quantile(quantile) as f64 / 1e3;
    // No further than there are requests to tell.
    let nines = (latencies.len() as f64).log10().min(6.0);
    let steps = (nines * STEPS_A_NINE as f64) as usize;
    let quantiles = (0..=steps).map(|step| 1.0 - 10f64.powf(-(step as f64) / STEPS_A_NINE as f64));
    let points: Vec<Point> = quantiles.map(|q| Point { x: q, y: micros(q), bar: None }).collect();
    Line {
        label,
        ink,
        marker: Some(marker),
        marker_each: STEPS_A_NINE,
        dashed: false,
        points,
        dots: Vec::new(),
        crosses: Vec::new(),
    }
}

/// At most so many of `count` places, with the first and the last.
fn spread_evenly(count: usize) -> Vec<usize> {
    let drawn = count.min(LINES_MAX);
    spread_over(drawn, count)
}

/// `count` places among `among`, from its first to its last.
fn spread_over(count: usize, among: usize) -> Vec<usize> {
    match count {
        0 => Vec::new(),
        1 => vec![0],
        _ => (0..count).map(|index| (index * (among - 1) + (count - 1) / 2) / (count - 1)).collect(),
    }
}

fn percentile_text(quantile: f64) -> String {
    if quantile < 0.9 {
        return format!("{:.0}%", quantile * 100.0);
    }
    // 1 - 10^-n in floating point is not quite it: as many digits as there are nines.
    let nines = -(1.0 - quantile).log10().round();
    format!("{:.*}%", (nines as usize).saturating_sub(2), quantile * 100.0)
}
