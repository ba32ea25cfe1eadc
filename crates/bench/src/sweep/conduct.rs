//! Makes the runs of a design: finds the sizes of those that are scaled, then all in shuffled order, each kept as it
//! ends. It tells how far it is; what the figures mean is not its business.

use indicatif::{ProgressBar, ProgressStyle};

use super::design::{Cell, Design, Size};
use super::folder::Results;
use super::order::shuffle;
use super::scale;
use crate::number::figure;
use crate::record::RunRecord;
use crate::report::{Run, Study};
use crate::run::RunPlan;

/// Makes one run and tells which part of it is done.
pub type Measure<'a> = &'a mut dyn FnMut(&RunPlan, &mut dyn FnMut(f64)) -> Result<RunRecord, String>;

/// Steps of the bar in a run.
const STEPS: u64 = 100;

/// Makes them all. Errors: a run that could not be made, or kept, or that a signal interrupted; those before it are kept.
pub fn conduct(design: &Design, seed: u64, results: &mut Results, measure: Measure) -> Result<Study, String> {
    let plans = sizes(design, measure).map_err(|error| kept(&error, results, design.runs()))?;
    let mut order: Vec<usize> = Vec::new();
    for (index, cell) in design.cells.iter().enumerate() {
        order.extend(std::iter::repeat_n(index, cell.runs as usize));
    }
    shuffle(&mut order, seed);
    let bar = bar(order.len());
    let mut runs = Vec::new();
    for (number, &index) in order.iter().enumerate() {
        let cell = &design.cells[index];
        let name = named(design, cell);
        bar.set_message(name.clone());
        let begun = number as u64 * STEPS;
        let mut progress = |part: f64| bar.set_position(begun + (part.clamp(0.0, 1.0) * STEPS as f64) as u64);
        let made = measure(&plans[index], &mut progress)
            .and_then(|record| Run::of(results.add(&record, cell.value, &cell.series)?, record));
        let run = made.map_err(|error| {
            bar.finish_and_clear();
            kept(&error, results, order.len())
        })?;
        bar.suspend(|| eprintln!("run {} of {}: {name}: {}", number + 1, order.len(), told(&run.record)));
        runs.push(run);
    }
    bar.finish_and_clear();
    Ok(Study { experiment: results.experiment().clone(), runs })
}

/// The plan of each cell, with the requests of those that are scaled.
fn sizes(design: &Design, measure: Measure) -> Result<Vec<RunPlan>, String> {
    let mut plans = Vec::new();
    for cell in &design.cells {
        let plan = match cell.size {
            Size::Planned => cell.plan.clone(),
            Size::Scaled => {
                let found = scale::scaled(&cell.plan, measure)?;
                let requests = found.load.requests.unwrap_or_default();
                eprintln!("{}: {} requests a run", named(design, cell), figure(requests as f64));
                found
            }
        };
        plans.push(plan);
    }
    Ok(plans)
}

/// Scaled runs that ended earlier than they were to.
pub fn too_short(design: &Design, study: &Study) -> Option<String> {
    let scaled = design.cells.iter().filter(|cell| cell.size == Size::Scaled);
    let is_of = |run: &&Run, cell: &Cell| run.entry.series == cell.series && run.entry.value == cell.value as f64;
    let runs = scaled.flat_map(|cell| study.runs.iter().filter(move |run| run.is_valid() && is_of(run, cell)));
    let shortest = runs.map(|run| run.record.seconds).min_by(f64::total_cmp)?;
    (shortest < scale::SECONDS_MIN)
        .then(|| format!("a scaled run lasted {} s, less than the {} s intended", figure(shortest), scale::SECONDS_MIN))
}

fn named(design: &Design, cell: &Cell) -> String {
    format!("{} {}, {}", design.axis.name(), cell.value, cell.series)
}

fn told(record: &RunRecord) -> String {
    let speed = format!("{} requests/s, {} s", figure(record.throughput), figure(record.seconds));
    match record.invalid_because.as_slice() {
        [] => speed,
        reasons => format!("{speed}, NOT VALID: {}", reasons.join("; ")),
    }
}

fn kept(error: &str, results: &Results, planned: usize) -> String {
    let folder = results.folder().display();
    match results.len() {
        0 => format!("{error} (none of {planned} runs was made)"),
        count => {
            format!(
                "{error} ({folder} holds {count} of {planned} runs, and `pricetime-bench report {folder}` reads them)"
            )
        }
    }
}

/// On a terminal; nowhere else.
fn bar(runs: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {percent}% {msg}, {eta} left");
    let style = style.expect("invariant: the template is right");
    ProgressBar::new(runs as u64 * STEPS).with_style(style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::trial::{args, experiment, fake_at, here};
    use crate::sweep::{along, presets};

    fn conducted(design: &Design, seed: u64, measure: Measure) -> Result<Study, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut results = Results::create(&folder.path().join("out"), experiment()).expect("results");
        conduct(design, seed, &mut results, measure)
    }

    #[test]
    fn runs_are_made_in_an_order_that_the_seed_decides_and_records_stay_with_their_cells() {
        let design = along::design(&args("--axis connections --values 1,2,4 --runs 4 -n 10"), &here(2));
        let design = design.expect("a design");
        let orders = [1, 1, 2].map(|seed| {
            let mut order = Vec::new();
            let outcome = conducted(&design, seed, &mut |plan, _| {
                order.push(plan.load.connections);
                Ok(fake_at(plan, 1_000.0))
            });
            let runs = outcome.expect("runs").runs;
            for cell in &design.cells {
                assert_eq!(runs.iter().filter(|run| run.entry.value == cell.value as f64).count(), 4);
            }
            assert!(runs.iter().all(|run| run.record.load.connections as f64 == run.entry.value));
            order
        });
        assert_eq!(orders[0], orders[1]);
        assert_ne!(orders[0], orders[2]);
        assert!(!orders[0].is_sorted());
    }

    #[test]
    fn scaled_lines_run_long_and_the_others_as_published() {
        let args = args("--preset one-shot --runs 1");
        let preset = presets::ALL.iter().find(|preset| preset.name == "one-shot").expect("the preset");
        let design = preset.design(&args.choice(), &here(1)).expect("a design");
        let outcome = conducted(&design, 1, &mut |plan, _| Ok(fake_at(plan, 20_000.0))).expect("runs");
        let record = |cell: &Cell| {
            &outcome.runs.iter().find(|run| run.entry.series == cell.series).expect("a run of the cell").record
        };
        let [planned, scaled] = [0, 1].map(|cell| (design.cells[cell].size, record(&design.cells[cell])));
        assert_eq!((planned.0, planned.1.load.requests), (Size::Planned, Some(4_000)));
        assert_eq!((scaled.0, scaled.1.load.requests), (Size::Scaled, Some(120_000)));
        assert!(scaled.1.seconds >= scale::SECONDS_MIN);
    }
}
