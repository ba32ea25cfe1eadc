//! A point in a process of its own: the archive's database panics on pages that are not what it wrote, sometimes once more
//! while it unwinds from the first panic, and that ends the process.

use std::process::Command;

use super::campaign::try_point;
use super::point::Point;
use super::tally::Tally;

/// Names the point to the new process.
const POINT: &str = "SIMULATION_POINT";
/// What the new process writes before and behind its result, since a test writes more.
const BEGIN: &str = "<<<";
const END: &str = ">>>";
/// The test that does nothing but run the point, in the program that has tests.
const TEST: &str = "a_point_runs_in_a_process_of_its_own_when_it_is_told_so";

/// Runs a point in a process of its own, which is this program once more.
pub fn run(point: &Point) -> Result<Tally, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let output = Command::new(program)
        .args(["--exact", TEST, "--nocapture"])
        .env(POINT, point.to_words())
        .output()
        .map_err(|error| format!("cannot start a process: {error}"))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let result = out.split_once(BEGIN).and_then(|(_, rest)| Some(rest.split_once(END)?.0));
    match result.and_then(|result| result.split_once('\n')) {
        Some(("held", lines)) => Tally::from_lines(lines).ok_or_else(|| format!("no tally: {lines}")),
        Some(("failed", what)) => Err(what.to_owned()),
        _ if point.deceives() && err.contains("redb") && !output.status.success() => {
            let mut tally = Tally::default();
            tally.count_point(point.fault);
            tally.count_refusal("a panic inside the archive's database that ends the process");
            Ok(tally)
        }
        _ => Err(format!("the process ended with {}: {out}{err}", output.status)),
    }
}

/// In the new process: runs the point, if it is told one, and writes the result.
pub fn run_if_told() -> bool {
    let Ok(words) = std::env::var(POINT) else { return false };
    let point = Point::from_words(&words).expect("a point's words");
    match try_point(&point) {
        Ok(tally) => println!("{BEGIN}held\n{}{END}", tally.to_lines()),
        Err(failure) => println!("{BEGIN}failed\n{}{END}", failure.what),
    }
    true
}
