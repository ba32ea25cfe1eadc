//! What a comparison prints: a table a mode, ratios with their spread, and what must be known to read them. Text from
//! measurements; measures nothing.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};

use super::measurement::{Comparison, Measurement};
use super::mode::Mode;
use super::quiet::QUIET_PERCENT;
use super::subject::Subject;
use crate::statistics::summarize;

const NOTHING: &str = "–";
/// Above this part of a core the load may be what is measured.
const LOAD_CPU_WARNING: f64 = 0.8;
const HEADER: [&str; 10] = [
    "requests/s",
    "median",
    "min",
    "max",
    "p50 us",
    "p99 us",
    "server CPU us",
    "load CPU",
    "order ÷ it",
    "resting ÷ it",
];

/// All tables, then what to know of them.
pub fn of(comparison: &Comparison, schedule: &[(Mode, Vec<Subject>)]) -> String {
    let mut text = String::new();
    for (mode, subjects) in schedule {
        text += &format!("\n{}: {}\n{}\n", mode.name(), mode.title(), table(&comparison.measurements, *mode, subjects));
    }
    text + "\n" + &notes(comparison)
}

/// What runs where, and what each of those who take part is set to.
pub fn circumstances(comparison: &Comparison) -> String {
    let machine = &comparison.machine;
    let fsync = machine.fsync_us.map_or(String::new(), |[p50, p99]| format!(", fdatasync {p50:.0} us (p99 {p99:.0})"));
    let lines = [
        ("machine", format!("{} cores, {}, {}", machine.cores, machine.cpu, machine.kernel)),
        ("disk", format!("{}{fsync}", machine.disk)),
        ("network", format!("loopback, congestion control {}", machine.congestion_control)),
        ("built", format!("{}, {}", machine.commit.as_deref().unwrap_or("unknown commit"), machine.compiler)),
        (
            "rounds",
            format!(
                "{} of {} s a measurement, new servers and new data for each",
                comparison.rounds, comparison.seconds
            ),
        ),
        ("cores", cores(comparison)),
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

fn cores(comparison: &Comparison) -> String {
    let Comparison { server_core, load_core, .. } = comparison;
    match server_core == load_core {
        false => format!("servers on core {server_core}, loads on core {load_core}"),
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
        Some(summary) => [summary.median, summary.min, summary.max].map(|value| format!("{value:.0}")),
        None => [NOTHING; 3].map(str::to_string),
    });
    row.push(median(|measurement| measurement.figures.latency_us_p50, 0));
    row.push(median(|measurement| measurement.figures.latency_us_p99, 0));
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
    let ratios: Vec<f64> = valid(all, mode, ours)
        .filter_map(|our| {
            let their = valid(all, mode, theirs).find(|their| their.round == our.round)?;
            Some(our.figures.throughput / their.figures.throughput)
        })
        .collect();
    match summarize(&ratios) {
        _ if ours == theirs => "1".to_string(),
        None => NOTHING.to_string(),
        Some(summary) if summary.runs == 1 => format!("{:.2}", summary.median),
        Some(summary) => format!("{:.2} ({:.2}–{:.2})", summary.median, summary.min, summary.max),
    }
}

fn valid(all: &[Measurement], mode: Mode, subject: Subject) -> impl Iterator<Item = &Measurement> {
    all.iter().filter(move |measurement| {
        let wanted = measurement.mode == mode.name() && measurement.subject == subject.name();
        wanted && measurement.invalid_because.is_none()
    })
}

fn notes(comparison: &Comparison) -> String {
    let mut text = String::from(
        "Each figure is a median over the rounds. A ratio is ours by theirs in the same round: its median (smallest to\n\
         largest). Requests: of three in `order` two are orders, half of which execute, and one cancels; a PostgreSQL\n\
         request is a transaction. CPU is the server's processor time a request. Load CPU is the part of its core that the\n\
         load used: above 80% it may be what is measured.\n",
    );
    let measurements = &comparison.measurements;
    let busy = |measurement: &&Measurement| measurement.busy_percent > QUIET_PERCENT;
    let disturbed = measurements.iter().filter(busy).count();
    if disturbed > 0 {
        text += &format!(
            "warning: before {disturbed} of {} measurements the machine was busy with other things (more than \
             {QUIET_PERCENT}%): these figures are disturbed; --patient waits\n",
            measurements.len()
        );
    }
    let full =
        |measurement: &&Measurement| measurement.figures.load_cpu_share.is_some_and(|share| share > LOAD_CPU_WARNING);
    let limited = measurements.iter().filter(full).count();
    if limited > 0 {
        text += &format!("warning: in {limited} measurements the load used more than 80% of its core\n");
    }
    for measurement in measurements {
        if let Some(why) = &measurement.invalid_because {
            let Measurement { round, mode, subject, .. } = measurement;
            text += &format!("INVALID: round {round}, {mode}, {subject}: {why}\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::measurement::Figures;

    fn measurement(round: u32, subject: Subject, throughput: f64) -> Measurement {
        let figures = Figures { throughput, ..Figures::default() };
        let (mode, subject) = (Mode::Single.name(), subject.name());
        Measurement { round, mode, subject, busy_percent: 0.0, figures, invalid_because: None }
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
        assert_eq!(row, ["pricetime, order", "123", "123", "123", NOTHING, NOTHING, NOTHING, NOTHING, "1", NOTHING]);
    }
}
