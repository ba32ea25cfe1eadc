//! Which plots an experiment gets, and what is in them. Knows no drawing.

mod against_axis;
mod axes;
mod latencies;

use super::document::Figure;
use super::groups::{Group, series};
use super::number;
use super::plot::{Axis, Chart, Scale, Size};
use super::quantity::{Quantity, axis_name};
use super::read::Study;
use crate::record::Published;
use against_axis::per_request;
use axes::is_wide;

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
