//! Many points: their choice, their runs on all cores, and the report of a failure, with which it can be repeated.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use model::workload::Random;

use super::faults::Fault;
use super::panics;
use super::point::{self, Point};
use super::process::Sabotage;
use super::tally::Tally;

/// A choice of the points of a scenario.
#[derive(Clone, Copy, Debug)]
pub struct Density {
    /// The number of points of which one is tried.
    pub one_in: usize,
    /// The number of crash points of which one gets a second fault during its recovery.
    pub second_one_in: usize,
    /// The number of operations of that recovery of which one is tried.
    pub of_second_one_in: usize,
}

/// A condition that did not hold, and its point.
#[derive(Clone, Debug)]
pub struct Failure {
    pub point: Option<Point>,
    pub seed: u64,
    pub what: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        let again = "run it again with: cargo run --release -p pricetime --example simulate --";
        match &self.point {
            Some(point) => {
                if point.sabotage != Sabotage::Nothing {
                    writeln!(f, "broken on purpose: {:?}", point.sabotage)?;
                }
                write!(f, "{again} {point}")
            }
            None => write!(f, "without a fault; {again} --seed {}", self.seed),
        }
    }
}

/// Runs one point. A panic is a failure, too.
pub fn try_point(point: &Point) -> Result<Tally, Failure> {
    let fail = |what| Failure { point: Some(*point), seed: point.seed, what };
    guarded(|| point::run(point)).map_err(fail)
}

/// The points of a scenario, drawn by its seed.
pub fn points_of(seed: u64, density: Density, sabotage: Sabotage) -> Result<(Vec<Point>, Tally), Failure> {
    let fail = |what| Failure { point: None, seed, what };
    let (kinds, tally) = guarded(|| point::calm_life(seed, sabotage)).map_err(fail)?;
    let mut random = Random::new(!seed);
    let mut points = Vec::new();
    for (at, kind) in kinds.iter().enumerate() {
        for fault in Fault::ALL.into_iter().filter(|fault| fault.strikes(*kind)) {
            let point = Point { seed, at: at as u64, fault, then: None, sabotage };
            if random.below(density.one_in) == 0 {
                points.push(point);
            }
            if fault.leaves_much_to_recover() && random.below(density.second_one_in) == 0 {
                let fail = |what| Failure { point: Some(point), seed, what };
                let recovery = guarded(|| point::recovery_of(&point)).map_err(fail)?;
                points.extend(second_points(point, &recovery, density, &mut random));
            }
        }
    }
    Ok((points, tally))
}

fn second_points(first: Point, recovery: &[super::process::Kind], density: Density, random: &mut Random) -> Vec<Point> {
    let places = recovery.iter().enumerate();
    let all = places.flat_map(|(at, kind)| {
        let faults = Fault::ALL.into_iter().filter(|fault| fault.strikes(*kind));
        faults.map(move |fault| Point { then: Some((at as u64, fault)), ..first })
    });
    all.filter(|_| random.below(density.of_second_one_in) == 0).collect()
}

/// Runs all points on all cores. Returns the first failure that is found as an error.
pub fn run_all(points: &[Point]) -> Result<Tally, Failure> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let result = Mutex::new(Ok(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !failed.load(Ordering::Relaxed)
                    && let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let tried = try_point(point);
                    failed.fetch_or(tried.is_err(), Ordering::Relaxed);
                    let mut result = result.lock().unwrap_or_else(PoisonError::into_inner);
                    match (&mut *result, tried) {
                        (Ok(sum), Ok(tally)) => sum.add(&tally),
                        (Ok(_), Err(failure)) => *result = Err(failure),
                        (Err(_), _) => {}
                    }
                }
            });
        }
    });
    result.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Runs scenarios one after another, each with its points.
pub fn run_scenarios(
    seeds: impl IntoIterator<Item = u64>,
    density: Density,
    sabotage: Sabotage,
) -> Result<Tally, Failure> {
    let mut sum = Tally::default();
    for seed in seeds {
        let (points, tally) = points_of(seed, density, sabotage)?;
        sum.add(&tally);
        sum.add(&run_all(&points)?);
    }
    Ok(sum)
}

fn guarded<T>(run: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    panics::catch(run).unwrap_or_else(|panic| Err(panic.what))
}
