//! Which plots an experiment gets, and what is in them. Knows no drawing.

use hdrhistogram::Histogram;

use super::document::Figure;
use super::groups::{Group, series};
use super::number;
use super::plot::{Axis, Chart, Ink, Line, Marker, Point, Scale, Size};
use super::quantity::{Quantity, axis_name, capital};
use super::read::{Run, Study};
use crate::record::{Latency, Published};

/// Values on one axis that differ by more than this need a logarithmic one.
const LINEAR_SPAN_MAX: f64 = 20.0;
/// More lines than this in one plot cannot be told apart.
const LINES_MAX: usize = 8;
/// Points of a distribution between one nine and the next.
const STEPS_A_NINE: usize = 10;
/// The interval of two runs can be many times as wide as they are apart. It must not press them flat: beyond the
/// values by this factor it is cut off.
const INTERVAL_ROOM: f64 = 2.0;
/// Its name, and where a record holds it.
type Percentile = (&'static str, fn(&Latency) -> f64);
const PERCENTILES: [Percentile; 4] =
    [("p50", |l| l.p50), ("p90", |l| l.p90), ("p99", |l| l.p99), ("p99.9", |l| l.p999)];

/// What the plots of one experiment have in common.
pub struct Sketch<'a> {
    pub study: &'a Study,
    pub groups: &'a [Group<'a>],
    /// What its file names start with.
    pub file: &'a str,
    /// `durability synced`.
    pub durability: String,
    /// `closed loop, latency from sending`.
    pub loop_kind: String,
}

impl Sketch<'_> {
    /// All plots, the one that the experiment is for first. Errors: an experiment that shows nothing known.
    pub fn figures(&self) -> Result<Vec<Figure>, String> {
        let shown = Quantity::shown(&self.study.experiment.shows)?;
        let published = &self.study.experiment.published;
        let mut figures = vec![self.against_axis(shown, published)];
        // Beside figures of another order of magnitude ours would be one flat line.
        if is_wide(&self.compared(shown, published)) && !is_wide(&self.measured(shown)) {
            let alone = self.against_axis(shown, &[]);
            figures.push(Figure { file: format!("{}-alone", alone.file), ..alone });
        }
        figures.extend(self.second(shown));
        let longest = self.longest_series();
        figures.extend(longest.and_then(|series| self.percentiles(series)));
        if self.groups.iter().any(|group| group.summary(|run| Quantity::ServerCpu.of(run)).is_some()) {
            figures.push(self.against_axis(Quantity::ServerCpu, &[]));
        }
        figures.extend(longest.and_then(|series| self.distribution(series)));
        Ok(figures)
    }

    /// Latencies are drawn of one series, the one that has most of them; the tables have all.
    fn longest_series(&self) -> Option<&str> {
        let latencies = |series: &str| -> u64 {
            let groups = self.groups.iter().filter(|group| group.series == series);
            groups.flat_map(|group| &group.valid).map(|run| run.latencies.len()).sum()
        };
        series(self.study).into_iter().rev().max_by_key(|series| latencies(series))
    }

    /// What runs along requests or clients says more than one thing.
    fn second(&self, shown: Quantity) -> Option<Figure> {
        let Experiment { axis, published, .. } = self.parts();
        match (axis, shown) {
            ("requests", Quantity::Seconds) => {
                let each = |line: &Published| per_request(line);
                Some(self.against_axis(Quantity::TimePerRequest, &published.iter().map(each).collect::<Vec<_>>()))
            }
            ("clients", Quantity::Throughput) => {
                let known = self.groups.iter().any(|group| is_of_its_size(group));
                known.then(|| self.against_axis(Quantity::Seconds, &[]))
            }
            _ => None,
        }
    }

    fn parts(&self) -> Experiment<'_> {
        let experiment = &self.study.experiment;
        Experiment { axis: &experiment.axis, name: &experiment.name, published: &experiment.published }
    }

    fn against_axis(&self, quantity: Quantity, published: &[Published]) -> Figure {
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

    fn compared(&self, quantity: Quantity, published: &[Published]) -> Vec<Line> {
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

    fn measured(&self, quantity: Quantity) -> Vec<Line> {
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

    fn percentiles(&self, series: &str) -> Option<Figure> {
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

    fn distribution(&self, series: &str) -> Option<Figure> {
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

    fn x_axis(&self, published: &[Published]) -> Axis {
        let mut values: Vec<f64> = self.groups.iter().map(|group| group.value).collect();
        values.extend(published.iter().flat_map(|line| line.points.iter().map(|point| point.value)));
        values.sort_by(f64::total_cmp);
        values.dedup();
        let scale = match self.study.experiment.log_axis {
            true => Scale::log_around(&values),
            false => Scale::around(&values),
        };
        Axis { label: axis_name(self.parts().axis).to_string(), scale, marks: values, tick: number::short }
    }

    fn figure(&self, part: &str, caption: String, chart: &Chart) -> Figure {
        Figure {
            file: format!("{}-{part}", self.file),
            title: format!("{}. {}", chart.title, chart.subtitle),
            caption,
            wide: chart.svg(Size::Wide),
            narrow: chart.svg(Size::Narrow),
        }
    }
}

struct Experiment<'a> {
    axis: &'a str,
    name: &'a str,
    published: &'a [Published],
}

/// Whether each run was to make as many requests as its place on the axis says. What became of them is another matter:
/// a run that lost some still has its place.
pub fn is_of_its_size(group: &Group) -> bool {
    group.all().all(|run| run.record.load.requests.is_some_and(|requests| requests as f64 == group.value))
}

fn per_request(line: &Published) -> Published {
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

fn median_point(group: &Group, of: fn(&Latency) -> f64) -> Option<Point> {
    let summary = group.summary(|run| (!run.latencies.is_empty()).then(|| of(&run.record.latency)))?;
    let bar = (summary.runs > 1).then_some((summary.min, summary.max));
    Some(Point { x: group.value, y: summary.median, bar })
}

fn published_line(published: &Published) -> Line {
    let point = |point: &crate::record::PublishedPoint| Point {
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

/// Linear from zero where that shows everything, else logarithmic.
fn value_axis(quantity: Quantity, lines: &[Line]) -> Axis {
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
fn is_wide(lines: &[Line]) -> bool {
    let (min, max) = ends(&heights(lines, INTERVAL_ROOM));
    max / min > LINEAR_SPAN_MAX
}

fn duration_axis(lines: &[Line]) -> Axis {
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
