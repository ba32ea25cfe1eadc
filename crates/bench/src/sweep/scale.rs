//! How many requests make a run last long enough: found by runs that are not kept.

use super::conduct::Measure;
use crate::run::RunPlan;

/// A scaled run lasts at least so long.
pub const SECONDS_MIN: f64 = 5.0;
/// What is aimed at, because a run can be faster than the one that it was reckoned from.
const SECONDS_AIM: f64 = 6.0;
/// A run of this length tells the speed well enough: starting is a small part of it.
const SECONDS_TELLING: f64 = 1.0;
/// Each is longer than the one before; after so many the speed is believed.
const RUNS_MAX: usize = 4;

/// The plan with as many times its requests as should last long enough. Errors: as those of a run; a plan without a
/// number of requests.
pub fn scaled(plan: &RunPlan, measure: Measure) -> Result<RunPlan, String> {
    let size = plan.load.requests.filter(|&requests| requests > 0).ok_or("a plan without requests cannot be scaled")?;
    let mut trial = plan.clone();
    for _ in 0..RUNS_MAX {
        let record = measure(&trial, &mut |_| ())?;
        if !(record.throughput.is_finite() && record.throughput > 0.0) {
            return Err(format!("the size of a longer run cannot be found: {}", record.invalid_because.join("; ")));
        }
        if record.seconds >= SECONDS_TELLING {
            trial.load.requests = Some(multiple(size, record.throughput, SECONDS_AIM));
            return Ok(trial);
        }
        trial.load.requests = Some(multiple(size, record.throughput, 2.0 * SECONDS_TELLING));
    }
    trial.load.requests = trial.load.requests.map(|requests| (requests / size).saturating_mul(3).saturating_mul(size));
    Ok(trial)
}

/// The smallest multiple of the size that lasts so long at this speed.
fn multiple(size: u64, requests_per_second: f64, seconds: f64) -> u64 {
    let times = (requests_per_second * seconds / size as f64).ceil().max(1.0);
    size.saturating_mul(times as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::trial::{fake_at, plan};

    #[test]
    fn a_fast_servers_run_grows_in_multiples_of_the_size() {
        let mut base = plan();
        base.load.requests = Some(4_000);
        let mut made = Vec::new();
        let found = scaled(&base, &mut |plan, _| {
            made.push(plan.load.requests);
            Ok(fake_at(plan, 30_000.0))
        });
        assert_eq!(made, [Some(4_000), Some(60_000)], "0.13 s tells little, 2 s enough");
        assert_eq!(found.expect("a size").load.requests, Some(180_000));
    }

    #[test]
    fn a_slow_servers_run_stays_as_published() {
        let mut base = plan();
        base.load.requests = Some(4_000);
        let found = scaled(&base, &mut |plan, _| Ok(fake_at(plan, 419.0)));
        assert_eq!(found.expect("a size").load.requests, Some(4_000));
    }

    #[test]
    fn a_server_that_answers_nothing_ends_the_search() {
        let ended = scaled(&plan(), &mut |plan, _| Ok(fake_at(plan, 0.0)));
        assert!(ended.expect_err("no speed").contains("cannot be found"));
    }
}
