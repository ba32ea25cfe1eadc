//! What a sweep prints at its end, and the list of presets: text from figures.

use comfy_table::{ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};

use super::conduct::Outcome;
use super::design::{Cell, Design, Shows, Size};
use super::figures::{Point, beside, figure, point};
use super::presets::Preset;
use super::scale;

/// The width of the list of presets where there is no terminal to ask.
const WIDTH_COLUMNS: u16 = 120;
const NOTHING: &str = "–";

/// The figures of each point beside the published ones, then how they came about, then what must be known of them.
pub fn of(design: &Design, outcome: &Outcome) -> String {
    let points: Vec<(&Cell, Option<Point>)> =
        design.cells.iter().zip(&outcome.records).map(|(cell, records)| (cell, point(design.shows, records))).collect();
    let mut text = format!("{}: {}\n{}\n", design.name, design.shows.unit(), summaries(design, &points));
    text += &format!("how they came about\n{}\n", circumstances(design, &points));
    for note in notes(design, outcome, &points) {
        text += &format!("{note}\n");
    }
    text
}

fn summaries(design: &Design, points: &[(&Cell, Option<Point>)]) -> Table {
    let mut table = table(&[design.axis.name(), "line", "runs", "mean", "± 95%", "deviation", "median", "min", "max"]);
    if !design.published.is_empty() {
        let header = table.header().cloned().unwrap_or_default();
        let mut cells: Vec<String> = header.cell_iter().map(|cell| cell.content().to_string()).collect();
        cells.extend(["published".to_string(), "times as good (other hardware)".to_string()]);
        table.set_header(cells);
    }
    for (cell, point) in points {
        let mut row = vec![figure(cell.value as f64), cell.series.clone()];
        let Some(Point { summary, invalid, .. }) = point else {
            row.push("0".to_string());
            table.add_row(row);
            continue;
        };
        row.push(if *invalid > 0 {
            format!("{} of {}", summary.runs, summary.runs + invalid)
        } else {
            summary.runs.to_string()
        });
        row.push(figure(summary.mean));
        row.push(summary.t95.map_or(NOTHING.to_string(), figure));
        row.push(if summary.runs > 1 { figure(summary.deviation) } else { NOTHING.to_string() });
        row.extend([summary.median, summary.min, summary.max].map(figure));
        let published = beside(design, cell.value, summary.mean);
        let joined = |figures: Vec<String>| if figures.is_empty() { NOTHING.to_string() } else { figures.join(" to ") };
        row.push(joined(published.iter().map(|(mean, _)| figure(*mean)).collect()));
        // A longer run takes longer: only the throughput of a scaled one can stand beside what was published.
        let comparable = cell.size == Size::Planned || design.shows == Shows::Throughput;
        row.push(joined(published.iter().filter(|_| comparable).map(|(_, times)| figure(*times)).collect()));
        row.truncate(table.header().map_or(0, comfy_table::Row::cell_count));
        table.add_row(row);
    }
    table
}

fn circumstances(design: &Design, points: &[(&Cell, Option<Point>)]) -> Table {
    let header = ["line", "requests", "s a run", "µs a request", "p50 µs", "p99 µs", "in flight", "connections"];
    let mut header: Vec<&str> = std::iter::once(design.axis.name()).chain(header).collect();
    header.extend(["refused, rightly", "backlog"]);
    let mut table = table(&header);
    for (cell, point) in points {
        let Some(point) = point else { continue };
        let [least, most] = point.requests;
        let requests = if least == most {
            figure(most as f64)
        } else {
            format!("{} to {}", figure(least as f64), figure(most as f64))
        };
        let [p50, p99] = point.latency_us.map_or([NOTHING, NOTHING].map(str::to_string), |pair| pair.map(figure));
        let mean_requests = (least + most) as f64 / 2.0;
        table.add_row(vec![
            figure(cell.value as f64),
            cell.series.clone(),
            requests,
            figure(point.seconds),
            if mean_requests > 0.0 { figure(point.seconds / mean_requests * 1e6) } else { NOTHING.to_string() },
            p50,
            p99,
            figure(point.in_flight_max as f64),
            figure(point.connections_max as f64),
            figure(point.refused_as_expected as f64),
            point.backlog.map_or(NOTHING.to_string(), |backlog| figure(backlog as f64)),
        ]);
    }
    table
}

fn notes(design: &Design, outcome: &Outcome, points: &[(&Cell, Option<Point>)]) -> Vec<String> {
    let mut notes: Vec<String> = design.skipped.iter().map(|why| format!("not run: {why}")).collect();
    let records = || outcome.records.iter().flatten();
    if let Some(backlog) = records().filter_map(|record| record.server.backlog).min() {
        let somaxconn = records().map(|record| record.machine.somaxconn).min().unwrap_or_default();
        notes.push(format!(
            "backlog in force: {} on each listener (somaxconn {}); in flight and connections: the most that really were \
             at once",
            figure(backlog as f64),
            figure(somaxconn as f64)
        ));
    }
    let scaled = points.iter().filter(|(cell, _)| cell.size == Size::Scaled).filter_map(|(_, point)| point.as_ref());
    let shortest = scaled.map(|point| point.seconds).min_by(f64::total_cmp);
    if let Some(seconds) = shortest.filter(|&seconds| seconds < scale::SECONDS_MIN) {
        notes.push(format!("scaled runs lasted {} s on average at a point, less than intended", figure(seconds)));
    }
    let invalid = records().filter(|record| !record.invalid_because.is_empty()).count();
    if invalid > 0 {
        let first = records().flat_map(|record| &record.invalid_because).next().map_or("", String::as_str);
        notes.push(format!("NOT VALID: {invalid} runs, kept but left out of the figures; the first because {first}"));
    }
    notes.extend(warnings(outcome));
    if !design.published.is_empty() {
        notes.push(
            "published figures are from other hardware: the ratios tell of both the programs and the machines"
                .to_string(),
        );
    }
    notes
}

/// What the runs warn of, each kind once: they differ in figures, which stand in the records.
fn warnings(outcome: &Outcome) -> Vec<String> {
    let mut kinds: Vec<(String, &str, usize)> = Vec::new();
    for warning in outcome.records.iter().flatten().flat_map(|record| &record.warnings) {
        let kind: String = warning.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        match kinds.iter_mut().find(|(known, _, _)| *known == kind) {
            Some((_, _, runs)) => *runs += 1,
            None => kinds.push((kind, warning, 1)),
        }
    }
    kinds.into_iter().map(|(_, first, runs)| format!("warning in {runs} runs: {first}")).collect()
}

/// The presets: what each does and what was published.
pub fn presets(presets: &[Preset]) -> Table {
    let mut table = table(&["preset", "what it does", "published, other hardware"]);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if table.width().is_none() {
        table.set_width(WIDTH_COLUMNS);
    }
    for preset in presets {
        let values = super::design::list(preset.values);
        let what = format!("{}; {} {values}. {}", preset.title, preset.axis.name(), preset.text);
        table.add_row(vec![preset.name, &what, preset.reported]);
    }
    table
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(header.to_vec());
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::presets::ALL;
    use crate::sweep::trial::{args, fake_at, here};

    fn row<'a>(text: &'a str, first: &str, second: &str) -> Vec<&'a str> {
        let cells = |line: &'a str| line.trim_matches('│').split('┆').map(str::trim).collect::<Vec<_>>();
        let mut rows = text.lines().filter(|line| line.starts_with('│')).map(cells);
        rows.find(|cells| cells[0] == first && cells[1] == second)
            .unwrap_or_else(|| panic!("no {first} {second}: {text}"))
    }

    #[test]
    fn each_point_stands_beside_what_was_published() {
        let args = args("--preset one-shot --scale published --runs 3");
        let preset = ALL.iter().find(|preset| preset.name == "one-shot").expect("the preset");
        let design = preset.design(&args.choice(), &here(2)).expect("a design");
        let mut records: Vec<Vec<_>> = design
            .cells
            .iter()
            .map(|cell| [1.0, 2.0, 3.0].map(|step| fake_at(&cell.plan, 4_190.0 * step)).to_vec())
            .collect();
        records[1].remove(2);
        let mut invalid = fake_at(&design.cells[1].plan, 1.0);
        invalid.invalid_because.push("2 replies are missing".to_string());
        records[1].push(invalid);
        records[0][1].warnings.push("a load thread used 91% of its core".to_string());
        records[0][2].warnings.push("a load thread used 93% of its core".to_string());
        let text = of(&design, &Outcome { records });
        let first = row(&text, "1", "published size");
        assert_eq!(first[2..9], ["3", "8,380", "10,409", "4,190", "8,380", "4,190", "12,570"]);
        assert_eq!(first[9..], ["419", "20"]);
        assert_eq!(row(&text, "2", "published size")[2..4], ["2 of 3", "6,285"]);
        let said = [
            "not run: 3 server cores: this machine has 2",
            "NOT VALID: 1 runs",
            "2 replies are missing",
            "warning in 2 runs: a load thread used 91% of its core",
            "backlog in force: 4,096",
            "other hardware",
        ];
        said.iter().for_each(|said| assert!(text.contains(said), "{said}: {text}"));
    }

    #[test]
    fn a_time_is_better_when_it_is_shorter() {
        let args = args("--preset connect-send-receive --quick");
        let preset = ALL.iter().find(|preset| preset.name == "connect-send-receive").expect("the preset");
        let design = preset.design(&args.choice(), &here(2)).expect("a design");
        let records = design.cells.iter().map(|cell| vec![fake_at(&cell.plan, 20_000.0)]).collect();
        let text = of(&design, &Outcome { records });
        let first = row(&text, "2,000", "published size");
        assert_eq!((first[3], first[9], first[10]), ("0.1000", "9.86", "98.60"));
        assert!(text.contains("50 "), "µs a request: {text}");
    }

    #[test]
    fn the_list_names_every_preset_and_its_figures() {
        let text = presets(ALL).to_string();
        for preset in ALL {
            assert!(text.contains(preset.name), "{text}");
        }
        assert!(text.contains("419 ± 40") && text.contains("a plot only"), "{text}");
    }
}
