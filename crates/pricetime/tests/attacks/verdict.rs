//! The costs of an attack, compared with the allowed ones: always printed, and in the long form a row of the table that
//! `proof/attacks` shows. Bystanders' waits are compared with those at an idle server in the same run.

use std::io::Write;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::attack::{Limits, MIB};
use crate::bystanders::Waits;

/// The variable with the file of the table, one row for each attack with tabs between its cells. If it is set, the form
/// is the long one.
const TABLE: &str = "PRICETIME_ATTACKS_TABLE";

/// The longest wait at the idle server, in the short form, that shows an otherwise idle machine: beside other load no
/// wait is judged.
const QUIET: Duration = Duration::from_millis(250);

/// Whether attacks run at length and times are judged.
pub fn is_long() -> bool {
    std::env::var_os(TABLE).is_some()
}

/// A part of an attack with a bound of its own.
pub struct Part {
    pub what: &'static str,
    pub took: Duration,
    pub allowed: Duration,
}

/// The costs of an attack.
pub struct Verdict<'a> {
    pub title: &'static str,
    pub limits: Limits,
    /// The most bytes by which resident memory grew.
    pub grown: u64,
    pub lasted: Duration,
    pub waits: Waits,
    /// The waits at the idle server.
    pub control: Waits,
    pub parts: Vec<Part>,
    /// The attacker's answers, in words.
    pub outcome: &'a str,
}

impl Verdict<'_> {
    /// Prints the verdict, and writes its row in the long form.
    pub fn tell(&self) {
        let memory = format!("{} of {} MiB", self.grown.div_ceil(MIB), self.limits.memory / MIB);
        let [xml, http, operator] = self.waits.all().map(spread);
        let [idle_xml, idle_http, _] = self.control.all().map(spread);
        let parts: String = self.parts.iter().map(|part| format!("{} took {:.1?}; ", part.what, part.took)).collect();
        println!(
            "{}: memory grew by {memory}, {:.1} s; waits (p50/p99/longest ms) XML {xml}, HTTP {http}, /health {operator}, idle XML {idle_xml}, HTTP {idle_http}; {parts}{}",
            self.title,
            self.lasted.as_secs_f64(),
            self.outcome
        );
        let p99 = |waits: &Histogram<u64>, idle: &Histogram<u64>| {
            let [waits, idle] = [waits, idle].map(|waits| ms(waits.value_at_quantile(0.99)));
            format!("{waits:.1} of {idle:.1} + {} ms", self.limits.p99.as_millis())
        };
        if !self.is_quiet(is_long()) {
            let idle = ms(self.control.longest_us());
            println!("{}: waits not judged, because a bystander of the idle server waited {idle:.0} ms", self.title);
        }
        let faults = self.faults(is_long());
        row(&[
            self.title,
            &memory,
            &p99(&self.waits.xml, &self.control.xml),
            &p99(&self.waits.http, &self.control.http),
            &format!(
                "{:.0} of {:.0} + {} ms",
                ms(self.waits.longest_us()),
                ms(self.control.longest_us()),
                self.limits.longest.as_millis()
            ),
            &format!("{:.1} s", self.lasted.as_secs_f64()),
            if faults.is_empty() { "ok" } else { "EXCEEDED" },
            &format!("{parts}{}", self.outcome),
        ]);
    }

    /// Panics where a limit is exceeded: of memory, of bystanders' longest wait where the machine is quiet, and of all
    /// times in the long form.
    pub fn judge(&self) {
        let faults = self.faults(is_long());
        assert!(faults.is_empty(), "{}: {}", self.title, faults.join("; "));
    }

    /// Whether the longest wait is judged: always in the long form, otherwise on a machine that the idle server shows
    /// to be quiet.
    fn is_quiet(&self, is_long: bool) -> bool {
        is_long || self.control.longest_us() < QUIET.as_micros() as u64
    }

    fn faults(&self, is_long: bool) -> Vec<String> {
        let mut faults = Vec::new();
        let (grown, allowed) = (self.grown, self.limits.memory);
        if grown > allowed {
            faults.push(format!("memory grew by {} MiB; at most {}", grown.div_ceil(MIB), allowed / MIB));
        }
        let (waits, control) = (&self.waits, &self.control);
        let (longest_us, idle_us) = (waits.longest_us(), control.longest_us());
        let allowed_us = idle_us * slack(is_long) + self.limits.longest.as_micros() as u64;
        if self.is_quiet(is_long) && longest_us > allowed_us {
            let (longest, idle) = (ms(longest_us), ms(idle_us));
            faults.push(format!("a bystander waited {longest:.0} ms, and {idle:.0} ms at most at an idle server"));
        }
        if let Some(longest_xml) = self.limits.longest_xml {
            let [longest_us, idle_us] = [waits, control].map(|waits| waits.xml.max());
            if self.is_quiet(is_long) && longest_us > idle_us * slack(is_long) + longest_xml.as_micros() as u64 {
                let (longest, idle) = (ms(longest_us), ms(idle_us));
                faults.push(format!("the one over XML waited {longest:.0} ms, and {idle:.0} ms at an idle server"));
            }
        }
        if !is_long {
            return faults;
        }
        for (who, waits, idle) in [("XML", &waits.xml, &control.xml), ("HTTP", &waits.http, &control.http)] {
            let [p99_us, idle_us] = [waits, idle].map(|waits| waits.value_at_quantile(0.99));
            if p99_us > idle_us + self.limits.p99.as_micros() as u64 {
                let (p99, idle) = (ms(p99_us), ms(idle_us));
                faults
                    .push(format!("a bystander's p99 over {who} was {p99:.1} ms, and {idle:.1} ms at an idle server"));
            }
        }
        let late = self.parts.iter().filter(|part| part.took > part.allowed);
        faults.extend(late.map(|part| format!("{} took {:?}; at most {:?}", part.what, part.took, part.allowed)));
        faults
    }
}

/// The factor of the idle server's longest wait: in the short form others use the machine, and one server's work takes
/// more from its own bystanders than from those of the idle one.
fn slack(is_long: bool) -> u64 {
    if is_long { 1 } else { 4 }
}

/// Reports that an attack ended early, and why the server was killed if it was.
pub fn tell_failed(title: &str, killed: Option<String>) {
    let why = killed.map_or("see its output".to_string(), |why| format!("the server was killed: {why}"));
    eprintln!("{title}: FAILED, {why}");
    row(&[title, "", "", "", "", "", "FAILED", &why]);
}

fn row(cells: &[&str]) {
    if let Some(table) = std::env::var_os(TABLE) {
        let mut file = std::fs::File::options().append(true).create(true).open(table).unwrap();
        writeln!(file, "{}", cells.join("\t")).unwrap();
    }
}

fn spread(waits: &Histogram<u64>) -> String {
    let [p50, p99, longest] = [0.5, 0.99, 1.0].map(|quantile| ms(waits.value_at_quantile(quantile)));
    format!("{p50:.1}/{p99:.1}/{longest:.0}")
}

fn ms(us: u64) -> f64 {
    us as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attack::ORDINARY;

    /// The waits of bystanders of whom one, over HTTP, waited this long.
    fn waits(longest: Duration) -> Waits {
        let [xml, mut http, operator] = std::array::from_fn(|_| {
            let mut waits = Histogram::new(3).unwrap();
            waits.record_n(1_000, 1_000).unwrap();
            waits
        });
        http.record(longest.as_micros() as u64).unwrap();
        Waits { xml, http, operator }
    }

    fn faults(grown: u64, longest_ms: u64, idle_ms: u64, is_long: bool) -> Vec<String> {
        let limits = Limits { memory: 16 * MIB, longest: Duration::from_secs(2), ..ORDINARY };
        let [waits, control] = [longest_ms, idle_ms].map(|ms| waits(Duration::from_millis(ms)));
        let lasted = Duration::from_secs(9);
        let late = Part { what: "a part", took: lasted, allowed: Duration::from_secs(8) };
        Verdict { title: "made", limits, grown, lasted, waits, control, parts: vec![late], outcome: "" }.faults(is_long)
    }

    #[test]
    fn a_wait_is_allowed_what_the_idle_server_shows_and_the_limit() {
        assert_eq!(faults(16 * MIB, 2_300, 100, false), [""; 0]);
        let waited = faults(16 * MIB, 2_500, 100, false);
        assert!(matches!(&waited[..], [one] if one.starts_with("a bystander waited 25")), "{waited:?}");
        // Six seconds without HTTP was a fault of the feed.
        assert_eq!(faults(0, 6_000, 100, false).len(), 1);
        assert_eq!(faults(0, 6_000, 240, false).len(), 1);
        // Beside an idle server as slow as this, the longest wait says nothing in the short form.
        assert_eq!(faults(0, 6_000, 300, false), [""; 0]);
        assert_eq!(faults(16 * MIB + 1, 6_000, 300, false), ["memory grew by 17 MiB; at most 16"]);
    }

    #[test]
    fn the_long_form_judges_every_time() {
        let late = "a part took 9s; at most 8s";
        assert_eq!(faults(0, 2_200, 300, true), [late]);
        let waited = faults(0, 2_400, 300, true);
        assert!(matches!(&waited[..], [one, two] if one.starts_with("a bystander waited 24") && two == late));
    }
}
