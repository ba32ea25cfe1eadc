//! The figures of a run, for people and for machines, and what the load program itself used.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::json;

use crate::Args;
use crate::tally::Tally;

/// Above this part of a core the load program may be what is measured.
const OWN_CPU_WARNING: f64 = 0.8;
/// The unit of `/proc/self/stat`, the same on every Linux that Rust runs on.
const TICK: Duration = Duration::from_millis(10);

/// What is said about a run.
pub struct Report {
    setting: String,
    tally: Tally,
    /// Part of a core that the load program used.
    own_cpu: Option<f64>,
}

impl Report {
    pub fn new(args: &Args, tally: Tally, own_cpu: Option<Duration>) -> Report {
        let how = match args.connection_per_request {
            true => "a connection for each request".to_string(),
            false => format!("{} in flight each", args.depth),
        };
        let setting = format!("{:?}, {} connections, {how}", args.workload, args.connections).to_lowercase();
        let elapsed = tally.elapsed.as_secs_f64();
        let own_cpu = own_cpu.filter(|_| elapsed > 0.0).map(|cpu| cpu.as_secs_f64() / elapsed);
        Report { setting, tally, own_cpu }
    }

    /// Whether every request got its right reply.
    pub fn is_sound(&self) -> bool {
        let Tally { wrong, broken, answered, .. } = self.tally;
        wrong == 0 && broken == 0 && self.tally.lost() == 0 && answered > 0
    }

    pub fn text(&self) -> String {
        let tally = &self.tally;
        let mut text = format!("workload      {}\n", self.setting);
        let _ = writeln!(text, "answered      {} in {:.3} s", tally.answered, tally.elapsed.as_secs_f64());
        let _ = writeln!(text, "requests/s    {:.0}", self.requests_per_second());
        let at = |quantile| self.latency_us(quantile);
        let _ = writeln!(
            text,
            "latency us    p50 {:.0}   p90 {:.0}   p99 {:.0}   p99.9 {:.0}   max {:.0}",
            at(0.5),
            at(0.9),
            at(0.99),
            at(0.999),
            at(1.0)
        );
        if let Some(part) = self.own_cpu {
            let _ = writeln!(text, "load program  {:.0}% of a core", part * 100.0);
            if part > OWN_CPU_WARNING {
                text += "warning: the load program was busy; the server may be faster than this\n";
            }
        }
        let _ = writeln!(text, "wrong {}, lost {}, broken connections {}", tally.wrong, tally.lost(), tally.broken);
        for sample in &tally.samples {
            let _ = writeln!(text, "  {sample}");
        }
        text
    }

    pub fn json(&self) -> String {
        let tally = &self.tally;
        let object = json!({
            "setting": self.setting,
            "answered": tally.answered,
            "seconds": tally.elapsed.as_secs_f64(),
            "requests_per_second": self.requests_per_second().round(),
            "latency_us_p50": self.latency_us(0.5),
            "latency_us_p90": self.latency_us(0.9),
            "latency_us_p99": self.latency_us(0.99),
            "latency_us_p999": self.latency_us(0.999),
            "latency_us_max": self.latency_us(1.0),
            "own_cpu": self.own_cpu,
            "wrong": tally.wrong,
            "lost": tally.lost(),
            "broken": tally.broken,
            "samples": tally.samples,
        });
        format!("{object}\n")
    }

    fn requests_per_second(&self) -> f64 {
        let seconds = self.tally.elapsed.as_secs_f64();
        if seconds > 0.0 { self.tally.answered as f64 / seconds } else { 0.0 }
    }

    fn latency_us(&self, quantile: f64) -> f64 {
        let nanoseconds = self.tally.latency_ns.value_at_quantile(quantile);
        (nanoseconds as f64 / 100.0).round() / 10.0
    }
}

/// Processor time that this program used so far, where the system tells it.
pub fn own_cpu() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // Behind the name, which may hold anything: state is field 3, user and system time are 14 and 15.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11).map(|field| field.parse::<u32>().ok());
    Some(TICK * times.next()??.checked_add(times.next()??)?)
}
