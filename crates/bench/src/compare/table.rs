//! What a comparison prints: a table a mode, ratios with their spread, and what must be known to read them. Text from
//! measurements; measures nothing.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};

use super::goals::Goal;
use super::measurement::{Comparison, Measurement};
use super::mode::Mode;
use super::postgres_table;
use super::quiet::QUIET_PERCENT;
use super::ratio;
use super::subject::Subject;
use crate::run::grouped;
use crate::statistics::summarize;

pub const NOTHING: &str = "–";
/// Above this part of a core the load may be what is measured.
const LOAD_CPU_WARNING: f64 = 0.8;
/// What figures that are stated somewhere must come from.
const STATED_ROUNDS: u32 = 5;
const STATED_SECONDS: f64 = 60.0;
const HEADER: [&str; 11] = [
    "requests/s of",
    "median",
    "min",
    "max",
    "p50 us",
    "p99 us",
    "p99.9 us",
    "server CPU us",
    "load CPU",
    "order ÷ it",
    "resting ÷ it",
];

/// All tables, then what to know of them.
pub fn of(comparison: &Comparison, schedule: &[(Mode, Vec<Subject>)]) -> String {
    let mut text = String::new();
    for (mode, subjects) in schedule {
        let rows = match mode.is_on_postgres() {
            true => postgres_table::table(&comparison.measurements, *mode, subjects),
            false => table(&comparison.measurements, *mode, subjects),
        };
        text += &format!("\n{}: {}\n{rows}\n", mode.name(), mode.title());
    }
    text += &format!("\n{}", notes(comparison));
    if schedule.iter().any(|(mode, _)| mode.is_on_postgres()) {
        text += postgres_table::NOTE;
    }
    if !comparison.goals.is_empty() {
        text += &format!("\n{}", goals(comparison));
    }
    text
}

/// What runs where, and what each of those who take part is set to.
pub fn circumstances(comparison: &Comparison, schedule: &[(Mode, Vec<Subject>)]) -> String {
    let in_a_round: usize = schedule.iter().map(|(_, subjects)| subjects.len()).sum();
    let minutes = (in_a_round as f64 * f64::from(comparison.rounds) * comparison.seconds / 60.0).ceil();
    let machine = &comparison.machine;
    let fsync =
        machine.fsync_us.map_or(String::new(), |[p50, p99]| format!(", fdatasync median {p50:.0} us, p99 {p99:.0} us"));
    let lines = [
        ("machine", format!("{} cores, {}, {}", machine.cores, machine.cpu, machine.kernel)),
        ("disk", format!("{}{fsync}", machine.disk)),
        ("network", format!("loopback, congestion control {}", machine.congestion_control)),
        ("built", format!("{}, {}", machine.commit.as_deref().unwrap_or("unknown commit"), machine.compiler)),
        (
            "rounds",
            format!(
                "{} of {in_a_round} measurements of {} s, new servers and new data for each: {minutes:.0} min, and more to \
                 start them",
                comparison.rounds, comparison.seconds
            ),
        ),
        ("cores", cores(comparison, schedule)),
    ];
    let mut text: String = lines.iter().map(|(label, value)| format!("{label:<12}{value}\n")).collect();
    for (number, subject) in comparison.subjects.iter().enumerate() {
        text += &format!("{:<12}{subject}\n", if number == 0 { "subjects" } else { "" });
    }
    for left_out in &comparison.left_out {
        text += &format!("{:<12}{left_out}\n", "left out");
    }
    text
}

fn cores(comparison: &Comparison, schedule: &[(Mode, Vec<Subject>)]) -> String {
    let Comparison { server_core, load_core, .. } = comparison;
    let together = match schedule.iter().any(|(mode, _)| mode.is_on_postgres()) {
        true => format!("; on PostgreSQL server, database and load all on both of {server_core} and {load_core}"),
        false => String::new(),
    };
    match server_core == load_core {
        false => format!("servers on core {server_core}, loads on core {load_core}{together}"),
        true => format!(
            "servers and loads share core {server_core}, the only one that may be used: a figure is what both together reach"
        ),
    }
}

fn table(all: &[Measurement], mode: Mode, subjects: &[Subject]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled).set_header(HEADER);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for &subject in subjects {
        table.add_row(row(all, mode, subject));
    }
    table
}

fn row(all: &[Measurement], mode: Mode, subject: Subject) -> Vec<String> {
    let of_figure = |figure: fn(&Measurement) -> Option<f64>| {
        let values: Vec<f64> = valid(all, mode, subject).filter_map(figure).collect();
        summarize(&values)
    };
    let median = |figure: fn(&Measurement) -> Option<f64>, digits: usize| {
        of_figure(figure).map_or(NOTHING.to_string(), |summary| format!("{:.digits$}", summary.median))
    };
    let mut row = vec![subject.name().to_string()];
    row.extend(match of_figure(|measurement| Some(measurement.figures.throughput)) {
        Some(summary) => [summary.median, summary.min, summary.max].map(|value| grouped(value.round() as u64)),
        None => [NOTHING; 3].map(str::to_string),
    });
    row.push(median(|measurement| measurement.figures.latency_us_p50, 0));
    row.push(median(|measurement| measurement.figures.latency_us_p99, 0));
    row.push(median(|measurement| measurement.figures.latency_us_p999, 0));
    row.push(median(|measurement| measurement.figures.server_cpu_us, 2));
    row.push(median(|measurement| measurement.figures.load_cpu_share.map(|share| share * 100.0), 0));
    if let Some(share) = row.last_mut().filter(|share| *share != NOTHING) {
        share.push('%');
    }
    row.extend([Subject::Order, Subject::OrderResting].map(|ours| ratio(all, mode, ours, subject)));
    row
}

/// Ours by theirs: the median over the rounds of the ratio within a round, with the smallest and the largest.
fn ratio(all: &[Measurement], mode: Mode, ours: Subject, theirs: Subject) -> String {
    match ratio::throughputs(all, mode, ours, theirs) {
        _ if ours == theirs => "1".to_string(),
        None => NOTHING.to_string(),
        Some(summary) if summary.runs == 1 => format!("{:.2}", summary.median),
        Some(summary) => format!("{:.2} ({:.2}–{:.2})", summary.median, summary.min, summary.max),
    }
}

/// What may be used of one who takes part, in one mode.
pub fn valid(all: &[Measurement], mode: Mode, subject: Subject) -> impl Iterator<Item = &Measurement> {
    all.iter().filter(move |measurement| {
        let wanted = measurement.mode == mode.name() && measurement.subject == subject.name();
        wanted && measurement.invalid_because.is_none()
    })
}

/// What was asked of the server, what it reached, and whether that is enough.
fn goals(comparison: &Comparison) -> String {
    let mut table = Table::new();
    let header = ["goals: load", "figure", "goal", "median", "min", "max", "met"];
    table.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled).set_header(header);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let value = |value: Option<f64>| value.map_or(NOTHING.to_string(), figure);
    for outcome in &comparison.goals {
        let goal = match outcome.goal {
            None => "reported".to_string(),
            Some(Goal::AtLeast(bound)) => format!("≥ {}", figure(bound)),
            Some(Goal::AtMost(bound)) => format!("≤ {}", figure(bound)),
        };
        let met = match (outcome.goal, outcome.met) {
            (None, _) => NOTHING,
            (Some(_), None) => "not measured",
            (Some(_), Some(true)) => "yes",
            (Some(_), Some(false)) => "NO",
        };
        let (load, name) = (outcome.load.to_string(), outcome.figure.to_string());
        let [median, min, max] = [outcome.median, outcome.min, outcome.max].map(value);
        table.add_row([load, name, goal, median, min, max, met.to_string()]);
    }
    let with_goal = || comparison.goals.iter().filter(|outcome| outcome.goal.is_some());
    let [met, measured] = [
        with_goal().filter(|outcome| outcome.met == Some(true)).count(),
        with_goal().filter(|outcome| outcome.met.is_some()).count(),
    ];
    let not_measured = match with_goal().count() - measured {
        0 => String::new(),
        count => format!("; {count} not measured"),
    };
    let mut text = format!("{table}\n{met} of {measured} goals met{not_measured}\n");
    if comparison.seconds < STATED_SECONDS || comparison.rounds < STATED_ROUNDS {
        text += &format!(
            "for figures to state: --rounds {STATED_ROUNDS} --seconds {STATED_SECONDS} on a machine that does nothing else\n"
        );
    }
    text
}

/// Whole where it is large, with decimals where it is a ratio.
fn figure(value: f64) -> String {
    if value >= 100.0 { grouped(value.round() as u64) } else { format!("{value:.2}") }
}

fn notes(comparison: &Comparison) -> String {
    let mut text = String::from(
        "Each figure is a median over the rounds. A ratio is ours by theirs in the same round: its median (smallest to\n\
         largest). Requests of `order`: of three two are orders, half of which execute, and one cancels, so that the number\n\
         of open orders stays; in `order-resting` all are orders that rest. A PostgreSQL request is a transaction. The loop\n\
         is closed but where it says open. CPU is the server's processor time a request. Load CPU is the part of its core\n\
         that the load used: above 80% it may be what is measured.\n",
    );
    let measurements = &comparison.measurements;
    let invalid = measurements.iter().filter(|measurement| measurement.invalid_because.is_some()).count();
    text += &match invalid {
        0 => format!("No error, no wrong and no lost reply in any of the {} measurements.\n", measurements.len()),
        invalid => {
            format!("{invalid} of {} measurements are invalid, and in no figure: see below.\n", measurements.len())
        }
    };
    let busy = |measurement: &&Measurement| measurement.busy_percent > QUIET_PERCENT;
    let disturbed = measurements.iter().filter(busy).count();
    if disturbed > 0 {
        text += &format!(
            "warning: before {disturbed} of {} measurements the machine was busy with other things (more than \
             {QUIET_PERCENT}%): these figures are disturbed; --patient waits\n",
            measurements.len()
        );
    }
    for measurement in measurements.iter().filter(|measurement| is_limited(measurement)) {
        let Measurement { round, mode, subject, .. } = measurement;
        text += &format!("warning: the load used more than 80% of its core: round {round}, {mode}, {subject}\n");
    }
    for measurement in measurements {
        if let Some(why) = &measurement.invalid_because {
            let Measurement { round, mode, subject, .. } = measurement;
            text += &format!("INVALID: round {round}, {mode}, {subject}: {why}\n");
        }
    }
    text
}

/// Whether the load may be what is measured. An open loop looks at the clock all the time and says nothing by it.
fn is_limited(measurement: &Measurement) -> bool {
    let full = measurement.figures.load_cpu_share.is_some_and(|share| share > LOAD_CPU_WARNING);
    let open = [Mode::OpenHalf, Mode::StoreOpenHalf];
    full && open.iter().all(|mode| measurement.mode != mode.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::measurement::{Figures, Task};

    fn measurement(round: u32, subject: Subject, throughput: f64) -> Measurement {
        let figures = Figures { throughput, ..Figures::default() };
        Measurement::of(&Task { round, mode: Mode::Single, subject, seconds: 1.0 }, 0.0, figures, None)
    }

    #[test]
    fn a_ratio_compares_within_a_round_and_shows_its_spread() {
        let mut all: Vec<Measurement> = [(1, 100.0, 50.0), (2, 300.0, 100.0), (3, 80.0, 80.0)]
            .into_iter()
            .flat_map(|(round, ours, theirs)| {
                [measurement(round, Subject::Order, ours), measurement(round, Subject::Echo, theirs)]
            })
            .collect();
        let ratio = |all: &[Measurement]| ratio(all, Mode::Single, Subject::Order, Subject::Echo);
        assert_eq!(ratio(&all), "2.00 (1.00–3.00)");
        all[5].invalid_because = Some("lost replies".to_string());
        assert_eq!(ratio(&all), "2.50 (2.00–3.00)");
        assert_eq!(ratio(&all[..2]), "2.00");
        assert_eq!(ratio(&all[..1]), NOTHING);
    }

    #[test]
    fn what_was_not_measured_is_no_zero() {
        let row = row(&[measurement(1, Subject::Order, 123.4)], Mode::Single, Subject::Order);
        assert_eq!(
            row,
            ["pricetime synced, order", "123", "123", "123", NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, "1", NOTHING]
        );
    }
}
