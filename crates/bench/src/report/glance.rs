//! The most telling figure of each experiment in one table, beside what was published. Knows no plots.

use super::document::Table;
use super::figures::is_of_its_size;
use super::groups::{Group, groups};
use super::number::short;
use super::quantity::{Quantity, axis_name};
use super::read::Study;

/// Errors: an experiment that shows nothing known.
pub fn table(studies: &[Study]) -> Result<Table, String> {
    let heads = ["Experiment", "What it is", "Here: mean ± 95%", "Published there, other hardware"];
    let mut table = Table::new("At a glance: the most telling point of each experiment", &heads);
    for study in studies {
        let experiment = &study.experiment;
        let shown = Quantity::shown(&experiment.shows)?;
        let groups = groups(study);
        let (here, published) = match most_telling(&groups, shown) {
            Some(group) => (here(study, group, shown), published(study, group, shown)),
            None => ("no valid run".to_string(), String::new()),
        };
        table.row([experiment.name.clone(), experiment.title.clone(), here, published]);
    }
    Ok(table)
}

/// The highest throughput, the least latency, the time of the largest size.
fn most_telling<'a>(groups: &'a [Group<'a>], shown: Quantity) -> Option<&'a Group<'a>> {
    let rank = |group: &Group| {
        let mean = group.summary(|run| shown.of(run))?.mean;
        match shown {
            Quantity::Throughput => Some(mean),
            Quantity::Seconds => is_of_its_size(group).then_some(group.value),
            Quantity::Latency | Quantity::TimePerRequest | Quantity::ServerCpu => Some(-mean),
        }
    };
    let ranked = groups.iter().filter_map(|group| Some((rank(group)?, group)));
    ranked.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, group)| group)
}

fn here(study: &Study, group: &Group, shown: Quantity) -> String {
    let Some(summary) = group.summary(|run| shown.of(run)) else { return String::new() };
    let half = summary.t95.map_or(String::new(), |half| format!(" ± {}", shown.text(half)));
    let place = format!("{} = {}", axis_name(&study.experiment.axis), short(group.value));
    format!("{}{half} ({place}; {})", shown.text(summary.mean), group.series)
}

fn published(study: &Study, group: &Group, shown: Quantity) -> String {
    let points = study.experiment.published.iter().flat_map(|line| &line.points);
    let means: Vec<String> =
        points.filter(|point| point.value == group.value).map(|point| shown.text(point.mean)).collect();
    if means.is_empty() { "–".to_string() } else { means.join(" to ") }
}
