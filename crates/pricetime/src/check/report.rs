//! The report of a check, for people (a table, and below it the differences) and for machines (JSON).

use std::io::{self, Write};

use comfy_table::{ContentArrangement, Table, presets};
use serde_json::{Value, json};

use super::Finding;
use super::case::{Case, Kind};
use super::fault::Fault;
use super::probe::{Exchange, Server};

/// The width of the table where there is no terminal to ask.
const WIDTH_COLUMNS: u16 = 120;

/// Prints the table, then each case that does not hold with its exchanges, then the sums.
pub fn table(output: &mut impl Write, server: &Server, findings: &[Finding], verbose: bool) -> io::Result<()> {
    let mut table = new_table(&["group", "case", "kind", "rule", "result"]);
    let mut last_group = "";
    for finding in findings {
        let case = finding.case;
        let group = if finding.group == last_group { "" } else { finding.group };
        last_group = finding.group;
        table.add_row([group, case.name, case.kind.name(), case.rule, result(finding)]);
    }
    writeln!(output, "{table}")?;
    for finding in findings {
        details(output, finding, verbose)?;
    }
    writeln!(output)?;
    for kind in [Kind::Spec, Kind::Decided] {
        let sum = Sum::of(findings, kind);
        let Sum { all, holds, differs, no_answer } = sum;
        let name = kind.name();
        writeln!(
            output,
            "{name:8}{holds} of {all} hold, {differs} differ, {no_answer} without an answer ({})",
            server.address
        )?;
    }
    Ok(())
}

/// Prints the report as one JSON object.
pub fn json(output: &mut impl Write, server: &Server, findings: &[Finding]) -> io::Result<()> {
    let sum = |kind| {
        let Sum { all, holds, differs, no_answer } = Sum::of(findings, kind);
        json!({ "all": all, "holds": holds, "differs": differs, "no_answer": no_answer })
    };
    let cases: Vec<Value> = findings
        .iter()
        .map(|finding| {
            let mut value = described(finding.group, &finding.case);
            value["result"] = json!(result(finding).replace(' ', "_"));
            if let Err(Fault::Differs(why) | Fault::NoAnswer(why)) = &finding.result {
                value["why"] = json!(why);
                let said = finding.said.iter().map(|exchange| json!({ "sent": exchange.sent, "got": exchange.got }));
                value["said"] = said.collect();
            }
            value
        })
        .collect();
    let summary = json!({ "spec": sum(Kind::Spec), "decided": sum(Kind::Decided) });
    print(output, &json!({ "server": server.address, "cases": cases, "summary": summary }))
}

/// Prints the cases.
pub fn list(output: &mut impl Write, cases: &[(&'static str, Case)], as_json: bool) -> io::Result<()> {
    if as_json {
        let cases: Vec<Value> = cases.iter().map(|(group, case)| described(group, case)).collect();
        return print(output, &json!({ "cases": cases }));
    }
    let mut table = new_table(&["group", "case", "kind", "rule"]);
    for (group, case) in cases {
        table.add_row([group, case.name, case.kind.name(), case.rule]);
    }
    writeln!(output, "{table}")?;
    writeln!(output, "{} cases", cases.len())
}

/// The numbers of cases of a kind by result.
struct Sum {
    all: usize,
    holds: usize,
    differs: usize,
    no_answer: usize,
}

impl Sum {
    fn of(findings: &[Finding], kind: Kind) -> Sum {
        let mut sum = Sum { all: 0, holds: 0, differs: 0, no_answer: 0 };
        for finding in findings.iter().filter(|finding| finding.case.kind == kind) {
            sum.all += 1;
            match finding.result {
                Ok(()) => sum.holds += 1,
                Err(Fault::Differs(_)) => sum.differs += 1,
                Err(Fault::NoAnswer(_)) => sum.no_answer += 1,
            }
        }
        sum
    }
}

fn details(output: &mut impl Write, finding: &Finding, verbose: bool) -> io::Result<()> {
    let Err(Fault::Differs(why) | Fault::NoAnswer(why)) = &finding.result else {
        return Ok(());
    };
    let case = finding.case;
    writeln!(output, "\n{} ({}): {}: {why}", case.name, case.kind.name(), result(finding))?;
    let from = if verbose { 0 } else { finding.said.len().saturating_sub(1) };
    for Exchange { sent, got } in finding.said.iter().skip(from) {
        writeln!(output, "  sent {}", one_line(sent))?;
        writeln!(output, "  got  {}", one_line(got))?;
    }
    Ok(())
}

fn result(finding: &Finding) -> &'static str {
    match finding.result {
        Ok(()) => "holds",
        Err(Fault::Differs(_)) => "differs",
        Err(Fault::NoAnswer(_)) => "no answer",
    }
}

fn described(group: &str, case: &Case) -> Value {
    json!({ "group": group, "name": case.name, "kind": case.kind.name(), "rule": case.rule })
}

fn print(output: &mut impl Write, value: &Value) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *output, value)?;
    writeln!(output)
}

fn new_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED);
    table.set_content_arrangement(ContentArrangement::Dynamic);
    if !table.is_tty() {
        table.set_width(WIDTH_COLUMNS);
    }
    table.set_header(header);
    table
}

/// Writes control characters as escapes, so that a server's text cannot move the reader's cursor.
fn one_line(text: &str) -> String {
    if text.is_empty() {
        return "(nothing)".to_string();
    }
    text.chars()
        .flat_map(|letter| {
            let escape = if letter.is_control() { letter.escape_default().collect() } else { vec![letter] };
            escape.into_iter()
        })
        .collect()
}
