//! Under which circumstances a comparison is made, said before it begins. Text; measures nothing.

use super::measurement::Comparison;
use super::mode::Mode;
use super::subject::Subject;

/// What runs where, and what each of those who take part is set to.
pub fn text(comparison: &Comparison, schedule: &[(Mode, Vec<Subject>)]) -> String {
    let in_a_round: usize = schedule.iter().map(|(_, subjects)| subjects.len()).sum();
    let minutes = (in_a_round as f64 * f64::from(comparison.rounds) * comparison.seconds / 60.0).ceil();
    let machine = &comparison.machine;
    let fsync =
        machine.fsync_us.map_or(String::new(), |[p50, p99]| format!(", fdatasync median {p50:.0} us, p99 {p99:.0} us"));
    let rounds = format!(
        "{} of {in_a_round} measurements of {} s, new servers and new data for each: {minutes:.0} min, and more to start them",
        comparison.rounds, comparison.seconds
    );
    let mut lines = vec![
        ("machine", format!("{} cores, {}, {}", machine.cores, machine.cpu, machine.kernel)),
        ("disk", format!("{}{fsync}", machine.disk)),
        ("network", format!("loopback, congestion control {}", machine.congestion_control)),
        ("built", format!("{}, {}", machine.commit.as_deref().unwrap_or("unknown commit"), machine.compiler)),
        ("rounds", rounds),
        ("cores", cores(comparison, schedule)),
    ];
    lines.extend(comparison.subjects.iter().map(|subject| ("subject", subject.clone())));
    lines.extend(comparison.left_out.iter().map(|left_out| ("left out", left_out.clone())));
    lines.into_iter().map(|(label, value)| format!("{label:<12}{value}\n")).collect()
}

fn cores(comparison: &Comparison, schedule: &[(Mode, Vec<Subject>)]) -> String {
    let Comparison { server_core, load_core, .. } = comparison;
    if server_core == load_core {
        return format!(
            "servers and loads share core {server_core}, the only one that may be used: a figure is what both together reach"
        );
    }
    let together = match schedule.iter().any(|(mode, _)| mode.is_on_postgres()) {
        true => format!("; on PostgreSQL server, database and load all on both of {server_core} and {load_core}"),
        false => String::new(),
    };
    format!("servers on core {server_core}, loads on core {load_core}{together}")
}
