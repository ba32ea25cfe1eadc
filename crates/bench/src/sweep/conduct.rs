//! Makes the runs of a design in shuffled order, each kept as it ends. What the figures mean is not its business.

use super::along::{Cell, Design};
use crate::load::Random;
use crate::record::RunRecord;
use crate::results::Results;
use crate::run::RunPlan;

/// Makes one run and tells which part of it is done.
pub type Measure<'a> = &'a mut dyn FnMut(&RunPlan, &mut dyn FnMut(f64)) -> Result<RunRecord, String>;

/// Makes them all. Errors: a run that could not be made, or kept, or that a signal interrupted; those before it are kept.
pub fn conduct(design: &Design, results: &mut Results, measure: Measure) -> Result<(), String> {
    let mut tasks: Vec<&Cell> = Vec::new();
    for cell in &design.cells {
        tasks.extend(std::iter::repeat_n(cell, cell.runs as usize));
    }
    shuffle(&mut tasks, design.experiment.seed);
    results.make(&tasks, |cell| cell.entry(), |cell, _, progress| measure(&cell.plan, progress))
}

/// Puts the items in an order that only the seed decides (Fisher and Yates), so that what drifts with time (heat, a
/// neighbour's load) does not look like an effect of the axis.
fn shuffle<T>(items: &mut [T], seed: u64) {
    let mut random = Random(seed);
    for last in (1..items.len()).rev() {
        items.swap(last, random.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::along;
    use crate::sweep::trial::{args, here};

    #[test]
    fn runs_are_made_in_an_order_that_the_seed_decides_and_records_stay_with_their_cells() {
        let orders = [1, 1, 2].map(|seed| {
            let line = format!("--axis connections --values 1,2,4 --runs 4 -n 10 --seed {seed}");
            let design = along::design(&args(&line), &here(2)).expect("a design");
            let mut order = Vec::new();
            let folder = tempfile::tempdir().expect("a folder");
            let mut results = Results::create(folder.path(), design.experiment.clone()).expect("results");
            let made = conduct(&design, &mut results, &mut |plan, _| {
                order.push(plan.load.connections);
                Ok(RunRecord { load: plan.load.clone(), ..RunRecord::default() })
            });
            made.expect("runs");
            let runs = results.study.runs;
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
    fn every_item_comes_first_about_as_often() {
        let mut first = [0_u32; 6];
        for seed in 0..6_000 {
            let mut items = [0, 1, 2, 3, 4, 5];
            shuffle(&mut items, seed);
            first[items[0]] += 1;
        }
        // 1,000 each; six deviations of the binomial law are 173.
        assert!(first.iter().all(|&times| times.abs_diff(1_000) < 173), "{first:?}");
    }
}
