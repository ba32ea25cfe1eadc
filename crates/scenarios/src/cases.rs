//! The files of scenarios, and their reading.

use crate::step::Step;

/// A file of scenarios.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// The name.
    pub name: &'static str,
    /// The path in the repository.
    pub path: &'static str,
    text: &'static str,
}

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(File {
            name: $name,
            path: concat!("crates/scenarios/cases/", $name, ".txt"),
            text: include_str!(concat!("../cases/", $name, ".txt")),
        }),*]
    };
}

/// All files, in the order in which they are played.
pub const FILES: &[File] = files![
    "matching",
    "orders",
    "query",
    "balances",
    "kinds",
    "self_trade",
    "icebergs",
    "stops",
    "linked",
    "phases",
    "bands"
];

/// One scenario.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The path of its file in the repository.
    pub path: &'static str,
    /// The name: short, unique, without blanks.
    pub name: &'static str,
    /// Whether the public specification says so, and not Pricetime where that one is silent.
    pub is_specified: bool,
    /// The rule in one sentence.
    pub rule: &'static str,
    /// The text of its steps.
    pub text: &'static str,
    /// The line of its head in the file, from 1.
    pub line: usize,
    /// The words in the brackets of the head.
    remarks: &'static str,
}

impl File {
    /// The scenarios of the file. Panics if a head cannot be read.
    pub fn scenarios(&self) -> Vec<Scenario> {
        let mut scenarios = Vec::new();
        let mut line = 1;
        for part in self.text.split_inclusive("\n== ").map(|part| part.strip_suffix("== ").unwrap_or(part)) {
            let (head, text) = part.split_once('\n').unwrap_or((part, ""));
            // The part before the first head describes the file.
            if line > 1 {
                let scenario = Scenario::of_head(head, self.path, text, line);
                scenarios.push(scenario.expect("invariant: a test reads every head"));
            }
            line += part.matches('\n').count();
        }
        scenarios
    }
}

impl Scenario {
    fn of_head(head: &'static str, path: &'static str, text: &'static str, line: usize) -> Option<Scenario> {
        let (head, rule) = head.split_once(": ")?;
        let (name, remarks) = head.strip_suffix(')')?.split_once(" (")?;
        let is_specified = remarks.split(", ").next() == Some("spec");
        Some(Scenario { path, name, is_specified, rule, text, line, remarks })
    }

    /// The protocols that leave it out, because they cannot say it.
    pub fn left_out_by(&self) -> impl Iterator<Item = &'static str> {
        self.remarks.split(", ").filter_map(|remark| remark.strip_prefix("not "))
    }

    /// The steps, each with its line's number and text. Errors: a line that is no step, and why.
    pub fn steps(&self) -> Result<Vec<(usize, &'static str, Step)>, String> {
        let lines = self.text.lines().zip(self.line + 1..).filter(|(line, _)| !line.trim().is_empty());
        let step = |(line, number): (&'static str, usize)| {
            let step = Step::read(line).map_err(|why| format!("{}:{number}: {line:?}: {why}", self.path))?;
            Ok((number, line.trim(), step))
        };
        lines.map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scenario_can_be_read_and_has_a_name_of_its_own() {
        let all: Vec<Scenario> = FILES.iter().flat_map(File::scenarios).collect();
        for (index, scenario) in all.iter().enumerate() {
            let Scenario { name, rule, remarks, .. } = *scenario;
            assert!(!name.contains(' ') && !rule.is_empty() && !rule.ends_with('.'), "{name}");
            assert!(!all[..index].iter().any(|other| other.name == name), "{name} stands twice");
            let (source, others) = remarks.split_once(", ").unwrap_or((remarks, ""));
            assert!(["spec", "decided"].contains(&source), "{name}: {source}");
            let known = ["", "not binance", "not fix"];
            assert!(others.split(", ").all(|remark| known.contains(&remark)), "{name}: {others}");
            assert!(!scenario.steps().unwrap_or_else(|why| panic!("{why}")).is_empty(), "{name} does nothing");
        }
    }

    #[test]
    fn a_step_has_the_number_of_its_line() {
        let file = File {
            name: "x",
            path: "x.txt",
            text: "about\n\n== a (spec): b\nfund A 1\n\nA has $1\n\n== c (decided): d\nfund B 1\n",
        };
        let lines =
            |scenario: &Scenario| scenario.steps().map(|steps| steps.iter().map(|step| step.0).collect::<Vec<_>>());
        let scenarios = file.scenarios();
        assert_eq!(scenarios.iter().map(lines).collect::<Vec<_>>(), [Ok(vec![4, 6]), Ok(vec![9])]);
    }
}
