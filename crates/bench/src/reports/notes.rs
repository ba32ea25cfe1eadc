//! The notes under the tables of systems that took turns: faults, warnings, and a machine that was busy with others.

use crate::records::study::Study;

/// Percent of all cores above which other work disturbs a measurement.
const QUIET_PERCENT: f64 = 5.0;

/// Returns the faults of measurements, and the warnings.
pub fn of_rounds(study: &Study) -> Vec<String> {
    let (all, records) = (study.runs.len(), || study.runs.iter().map(|run| &run.record));
    let invalid = records().filter(|record| !record.is_valid()).count();
    let mut notes = vec![match invalid {
        0 => format!("No error, no wrong and no lost reply in any of the {all} measurements."),
        some => format!("{some} of {all} measurements are invalid, and in no figure."),
    }];
    notes.extend(study.ended_early());
    let disturbed = records().filter(|record| record.busy_percent.is_some_and(|busy| busy > QUIET_PERCENT)).count();
    if disturbed > 0 {
        notes.push(format!(
            "warning: before {disturbed} of {all} measurements the machine was busy with other things (more than \
             {QUIET_PERCENT}%): these figures are disturbed"
        ));
    }
    notes.extend(study.warnings_of_runs().iter().map(|warning| format!("warning: {warning}")));
    for run in study.runs.iter().filter(|run| !run.record.is_valid()) {
        let first = run.record.counts.first_wrong.iter().map(|first| format!("; the first fault was {first}"));
        let why = run.record.invalid_because.join("; ");
        notes.push(format!("INVALID: {}: {why}{}", run.entry.text(), first.collect::<String>()));
    }
    notes
}
