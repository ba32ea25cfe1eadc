//! The plots of an experiment, and their contents. It knows no drawing.

use hdrhistogram::Histogram;
use plotters::style::RGBColor;
use plotters::style::colors::colormaps::{ColorMap, ViridisRGB};

use super::chart::{Axis, Chart, Line, Point, SERIES, SOFT};
use super::conditions;
use super::page::Figure;
use super::scale::Scale;
use crate::records::number::{self, capital};
use crate::records::quantity::{P50, P90, P99, P999, Quantity, REQUESTS, SECONDS, SERVER_CPU, TIME_PER_REQUEST};
use crate::records::statistics::{Summary, summarize};
use crate::records::study::{Group, Run, Study};
use crate::records::{Axis as RunAxis, Published, PublishedPoint};

/// The ratio of values from which an axis is logarithmic.
const LINEAR_SPAN_MAX: f64 = 20.0;
/// The factor beyond the values at which intervals are cut off: the interval of two runs can be many times as wide as
/// they are apart, and must not press them flat.
const INTERVAL_ROOM: f64 = 2.0;
/// Lines in one plot, at most: more cannot be told apart.
const LINES_MAX: usize = 8;
/// The end of the colours for ordered series, which go from few to many: before the yellow that is weak on paper.
const SHADE_MAX: f64 = 0.8;
/// Points of a distribution between one nine and the next.
const STEPS_A_NINE: usize = 10;

/// Makes all plots, the experiment's main one first, in files whose names start with `file`.
pub fn of(study: &Study, groups: &[Group], file: &str) -> Vec<Figure> {
    let sketch = Sketch { study, groups, file, durability: conditions::durability(study) };
    let shown: &Quantity = study.experiment.shows.into();
    let published = &study.experiment.published;
    let mut figures = vec![sketch.against_axis(shown, published, "")];
    // Beside figures of another order of magnitude ours would be one flat line.
    if is_wide(&sketch.compared(shown, published)) && !is_wide(&sketch.measured(shown)) {
        figures.push(sketch.against_axis(shown, &[], "-alone"));
    }
    // Runs along requests or clients have more than one message.
    let along = study.experiment.axis;
    if along == Some(RunAxis::Requests) && *shown == SECONDS {
        let published: Vec<Published> = published.iter().map(per_request).collect();
        figures.push(sketch.against_axis(&TIME_PER_REQUEST, &published, ""));
    }
    if along == Some(RunAxis::Clients) && *shown == REQUESTS && groups.iter().any(Group::is_of_its_size) {
        figures.push(sketch.against_axis(&SECONDS, &[], ""));
    }
    // The figure shows the latencies of the series with the most of them; the tables have all.
    let latencies = |series: &&str| -> u64 {
        let groups = groups.iter().filter(|group| group.series == *series);
        groups.flat_map(|group| &group.valid).map(|run| run.latencies.len()).sum()
    };
    let longest = study.series().into_iter().rev().max_by_key(latencies);
    if let Some(series) = longest {
        figures.extend(sketch.percentiles(series));
    }
    if groups.iter().any(|group| group.summary(&SERVER_CPU).is_some()) {
        figures.push(sketch.against_axis(&SERVER_CPU, &[], ""));
    }
    if let Some(series) = longest {
        figures.extend(sketch.distribution(series));
    }
    figures
}

/// Makes a figure with its drawing.
pub fn figure(file: String, caption: String, chart: &Chart) -> Figure {
    Figure { file, caption, svg: chart.svg() }
}

/// The parts that the plots of one experiment share.
struct Sketch<'a> {
    study: &'a Study,
    groups: &'a [Group<'a>],
    file: &'a str,
    durability: String,
}

impl Sketch<'_> {
    fn axis(&self) -> &'static str {
        self.study.experiment.axis.map_or("", RunAxis::label)
    }

    fn figure(&self, part: &str, caption: String, chart: Chart) -> Figure {
        let title = format!("{}, {}", chart.title, self.durability);
        let subtitle =
            format!("{} · {} · {}", self.study.experiment.name, conditions::loop_kind(self.study), chart.subtitle);
        figure(format!("{}-{part}", self.file), caption, &Chart { title, subtitle, ..chart })
    }

    /// Draws a quantity against the axis: each measured run, beside the published values.
    fn against_axis(&self, quantity: &Quantity, published: &[Published], file_end: &str) -> Figure {
        let lines = self.compared(quantity, published);
        let several = self.groups.iter().any(|group| group.valid.len() > 1);
        let spread = if several { "means with 95% t-intervals" } else { "one run each" };
        let fewer = published.len() < self.study.experiment.published.len();
        let beside = match published {
            [] => "",
            _ => {
                " Dashed: what an earlier system reported on other hardware; the difference is of both programs and machines."
            }
        };
        let chart = Chart {
            title: format!("{} against {}", capital(quantity.name), self.axis()),
            subtitle: format!("{spread}{}", if fewer { " · measured here alone" } else { "" }),
            x: self.x_axis(published),
            y: value_axis(quantity.axis_label(), quantity.tick(), &lines),
            lines,
        };
        self.figure(&format!("{}{file_end}", quantity.slug), format!("Every dot is a run; {spread}.{beside}"), chart)
    }

    fn compared(&self, quantity: &Quantity, published: &[Published]) -> Vec<Line> {
        let mut lines = self.measured(quantity);
        if !published.is_empty() {
            // "Published size" alone could be read as what was published.
            lines.iter_mut().for_each(|line| line.label = format!("measured here: {}", line.label));
        }
        lines.extend(published.iter().map(published_line));
        lines
    }

    fn measured(&self, quantity: &Quantity) -> Vec<Line> {
        let mut lines = Vec::new();
        for (index, series) in self.study.series().into_iter().enumerate() {
            let fits = |group: &&Group| group.series == series && (*quantity != SECONDS || self.sized(group));
            let of = |run: &&Run| (quantity.of)(&run.record);
            let stack = |group: &Group| Stack {
                x: group.value,
                valid: group.valid.iter().filter_map(of).collect(),
                invalid: group.invalid.iter().filter_map(of).collect(),
            };
            let stacks: Vec<Stack> = self.groups.iter().filter(fits).map(stack).collect();
            if !stacks.is_empty() {
                lines.push(stacked(series, index, &stacks));
            }
        }
        lines
    }

    /// Whether its execution time is that of the size on the axis: a scaled-up run takes longer by design.
    fn sized(&self, group: &Group) -> bool {
        !matches!(self.study.experiment.axis, Some(RunAxis::Requests | RunAxis::Clients)) || group.is_of_its_size()
    }

    fn x_axis(&self, published: &[Published]) -> Axis {
        let mut values: Vec<f64> = self.groups.iter().map(|group| group.value).collect();
        values.extend(published.iter().flat_map(|line| line.points.iter().map(|point| point.value)));
        marked_axis(self.axis(), values, self.study.experiment.log_axis)
    }

    /// Draws percentiles of the latencies of one series against the axis.
    fn percentiles(&self, series: &str) -> Option<Figure> {
        let of_group = |group: &Group, quantity: &Quantity| {
            let Summary { runs, median, min, max, .. } = group.summary(quantity)?;
            Some(Point { x: group.value, y: median, bar: (runs > 1).then_some((min, max)) })
        };
        let groups: Vec<&Group> = self.groups.iter().filter(|group| group.series == series).collect();
        let points = |quantity| groups.iter().filter_map(|group| of_group(group, quantity)).collect();
        let lines: Vec<Line> = ([&P50, &P90, &P99, &P999].into_iter().enumerate())
            .map(|(index, quantity)| line(quantity.head, SERIES[index], index, points(quantity)))
            .collect();
        if lines.iter().all(|line| line.points.is_empty()) {
            return None;
        }
        let caption = "Points: the median over the runs of each run's percentile. Bars: from the run with the least to \
                       that with the most.";
        let chart = Chart {
            title: format!("Latency percentiles against {}", self.axis()),
            subtitle: format!("{series} · median of the runs, bars from the least to the most"),
            x: self.x_axis(&[]),
            y: latency_axis(&lines),
            lines,
        };
        Some(self.figure("latency-percentiles", format!("{caption}{}", self.elsewhere()), chart))
    }

    /// Draws the whole distribution of one series' latencies, at each place of the axis.
    fn distribution(&self, series: &str) -> Option<Figure> {
        let groups = self.groups.iter().filter(|group| group.series == series);
        let all: Vec<(f64, Histogram<u64>)> = groups
            .map(|group| (group.value, group.latencies()))
            .filter(|(_, latencies)| !latencies.is_empty())
            .collect();
        let most = all.iter().map(|(_, latencies)| latencies.len()).max()?;
        let drawn = spread_over(all.len().min(LINES_MAX), all.len());
        let shade = |index: usize| index as f64 / (drawn.len().max(2) - 1) as f64 * SHADE_MAX;
        let lines: Vec<Line> = (drawn.iter().enumerate())
            .map(|(index, at)| {
                let (value, latencies) = &all[*at];
                let label = format!("{} = {}", self.axis(), number::short(*value));
                let line = line(&label, ViridisRGB.get_color(shade(index)), index, distribution_points(latencies));
                Line { marker_each: STEPS_A_NINE, ..line }
            })
            .collect();
        let more = if drawn.len() < all.len() { "; more in the tables" } else { "" };
        let caption = "The histograms of all valid runs merged, never averaged; from 90% on, each labelled step to the \
                       right leaves a tenth of the requests.";
        let scale = Scale::nines((most as f64).log10().clamp(2.0, 6.0));
        let chart = Chart {
            title: "Latency by percentile".to_string(),
            subtitle: format!("{series} · all valid runs of a value merged into one histogram{more}"),
            x: Axis { label: "percentile of requests".to_string(), scale, tick: percentile_text },
            y: latency_axis(&lines),
            lines,
        };
        Some(self.figure("latency-distribution", format!("{caption}{}", self.elsewhere()), chart))
    }

    fn elsewhere(&self) -> &'static str {
        if self.study.series().len() > 1 { " The other series are in the tables." } else { "" }
    }
}

/// Makes a line without runs.
pub fn line(label: &str, colour: RGBColor, marker: usize, points: Vec<Point>) -> Line {
    let label = label.to_string();
    Line { label, colour, marker, marker_each: 1, dashed: false, points, dots: Vec::new(), crosses: Vec::new() }
}

/// Runs of one place on an axis.
pub struct Stack {
    pub x: f64,
    pub valid: Vec<f64>,
    pub invalid: Vec<f64>,
}

impl Stack {
    /// Returns the mean of the valid ones with its interval.
    pub fn mean(&self) -> Option<Point> {
        let Summary { mean, t95, .. } = summarize(&self.valid)?;
        Some(Point { x: self.x, y: mean, bar: t95.map(|half| (mean - half, mean + half)) })
    }
}

/// Makes a line of means with every run; the same index has the same colour and shape.
pub fn stacked(label: &str, index: usize, stacks: &[Stack]) -> Line {
    let of = |runs: fn(&Stack) -> &[f64]| -> Vec<(f64, f64)> {
        stacks.iter().flat_map(|stack| runs(stack).iter().map(|y| (stack.x, *y))).collect()
    };
    let (dots, crosses) = (of(|stack| &stack.valid), of(|stack| &stack.invalid));
    let points = stacks.iter().filter_map(Stack::mean).collect();
    Line { dots, crosses, ..line(label, SERIES[index % SERIES.len()], index, points) }
}

/// Makes an axis that is marked where something was measured.
pub fn marked_axis(label: &str, mut values: Vec<f64>, log: bool) -> Axis {
    values.sort_by(f64::total_cmp);
    values.dedup();
    let scale = if log { Scale::log_around(&values) } else { Scale::around(&values) };
    Axis { label: label.to_string(), scale: scale.marked_at(&values), tick: number::short }
}

/// Makes a linear axis from zero where that shows everything, else a logarithmic one.
pub fn value_axis(label: String, tick: fn(f64) -> String, lines: &[Line]) -> Axis {
    let values = heights(lines, INTERVAL_ROOM);
    match is_wide(lines) {
        true => Axis { label: format!("{label}, log scale"), scale: Scale::log_around(&values), tick },
        false => Axis { label, scale: Scale::from_zero(&values), tick },
    }
}

fn latency_axis(lines: &[Line]) -> Axis {
    let scale = Scale::log_around(&heights(lines, f64::INFINITY));
    Axis { label: "latency, log scale".to_string(), scale, tick: number::micros }
}

/// Whether a linear axis would press the lower values onto its foot.
fn is_wide(lines: &[Line]) -> bool {
    let (min, max) = ends(&heights(lines, INTERVAL_ROOM));
    max / min > LINEAR_SPAN_MAX
}

/// Returns the positive values that are shown, and the ends of bars as far as they have room.
fn heights(lines: &[Line], room: f64) -> Vec<f64> {
    let mut values: Vec<f64> = Vec::new();
    for line in lines {
        values.extend(line.dots.iter().chain(&line.crosses).map(|(_, y)| *y));
        values.extend(line.points.iter().map(|point| point.y));
    }
    values.retain(|value| *value > 0.0);
    if values.is_empty() {
        return values;
    }
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

fn per_request(line: &Published) -> Published {
    let mut line = line.clone();
    for point in &mut line.points {
        point.mean *= 1e6 / point.value;
        point.deviation = point.deviation.map(|deviation| deviation * 1e6 / point.value);
    }
    line
}

fn published_line(published: &Published) -> Line {
    let point = |point: &PublishedPoint| Point {
        x: point.value,
        y: point.mean,
        bar: point.deviation.map(|deviation| (point.mean - deviation, point.mean + deviation)),
    };
    let points: Vec<Point> = published.points.iter().map(point).collect();
    // The reader must not take it for ours, however the file labels it.
    let label = match published.label.contains("other hardware") {
        true => published.label.clone(),
        false => format!("published, other hardware: {}", published.label),
    };
    let spread = if points.iter().any(|point| point.bar.is_some()) { " (± standard deviation)" } else { "" };
    Line { dashed: true, ..line(&format!("{label}{spread}"), SOFT, 3, points) }
}

/// Returns points in microseconds, no further than there are requests for them.
fn distribution_points(latencies: &Histogram<u64>) -> Vec<Point> {
    let nines = (latencies.len() as f64).log10().min(6.0);
    let steps = (nines * STEPS_A_NINE as f64) as usize;
    let quantiles = (0..=steps).map(|step| 1.0 - 10f64.powf(-(step as f64) / STEPS_A_NINE as f64));
    quantiles.map(|q| Point { x: q, y: latencies.value_at_quantile(q) as f64 / 1e3, bar: None }).collect()
}

/// Returns `count` places among `among`, from its first to its last.
fn spread_over(count: usize, among: usize) -> Vec<usize> {
    match count {
        0 => Vec::new(),
        1 => vec![0],
        _ => (0..count).map(|index| (index * (among - 1) + (count - 1) / 2) / (count - 1)).collect(),
    }
}

fn percentile_text(quantile: f64) -> String {
    if quantile < 0.9 {
        return number::percent(quantile);
    }
    // 1 - 10^-n in floating point is not exact: the text has as many digits as there are nines.
    let nines = -(1.0 - quantile).log10().round();
    format!("{:.*}%", (nines as usize).saturating_sub(2), quantile * 100.0)
}
