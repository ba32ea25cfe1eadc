//! `pricetime-bench live`: what those who look on cost those who trade, how soon they are told of trades, and orders over
//! REST. A server of its own with a fresh market for each measurement; with and without subscribers in turn.

mod args;
mod audience;
mod ear;
mod part;
mod rest;
mod tables;
mod trades;

use std::net::SocketAddr;
use std::time::Duration;

use hdrhistogram::Histogram;
use indicatif::{ProgressBar, ProgressStyle};

pub use args::LiveArgs;

use crate::interrupt;
use crate::load::{self, Recipe, Settings, Tally};
use crate::processor::busy_percent;
use crate::record::{Conservation, LoadSettings, RunRecord};
use crate::run::{self, Beside, Fresh, Options, OwnServer, RunPlan, Store, Target};
use audience::{Audience, HeardByAll};
use part::{FORMAT, Latency, Measurement, Part, Record};
use rest::RestPlan;
use trades::Listener;

const WARMUP_SECONDS: f64 = 0.5;
/// In an `order` load two of three requests are orders.
const REQUESTS_PER_ORDER: f64 = 1.5;
/// How long it is looked how busy the machine is.
const LOOK: Duration = Duration::from_millis(200);
/// Above this part of a core the load may be what is measured.
const LOAD_CPU_WARNING: f64 = 0.8;
const PATIENCE: Duration = Duration::from_secs(10);

/// Measures and prints. Returns whether all measurements are valid. Errors: a line for people.
pub fn run(args: &LiveArgs) -> Result<bool, String> {
    let (server_cores, client_cores) = args.cores();
    let mut record = Record {
        format: FORMAT,
        started: run::now(),
        command: std::env::args().skip(1).fold("pricetime-bench".to_string(), |line, word| line + " " + &word),
        rounds: args.rounds(),
        seconds: args.seconds(),
        subscribers: args.subscribers,
        rate: args.rate,
        trade_rate: args.trade_rate,
        connections: args.connections,
        machine: Fresh::make(args.data_parent.as_deref(), &Store::Journal)?.machine(),
        server_cores,
        client_cores,
        measurements: Vec::new(),
    };
    print!("{}", tables::circumstances(&record));
    let bench = Bench { args, server: record.server_cores.clone(), client: record.client_cores.clone() };
    let ended = bench.measure_all(&mut record.measurements);
    if !record.measurements.is_empty() {
        tables::tables(&record).iter().for_each(|table| println!("\n{}", table.text()));
        tables::notes(&record).iter().for_each(|note| println!("{note}"));
        if let Some(file) = &args.json {
            let text = serde_json::to_string_pretty(&record).map_err(|error| error.to_string())? + "\n";
            std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    ended?;
    Ok(record.measurements.iter().all(|measurement| measurement.invalid_because.is_empty()))
}

/// What measures.
struct Bench<'a> {
    args: &'a LiveArgs,
    server: Vec<usize>,
    client: Vec<usize>,
}

impl Bench<'_> {
    fn measure_all(&self, measurements: &mut Vec<Measurement>) -> Result<(), String> {
        let bar = progress_bar(u64::from(self.args.rounds()) * self.args.parts(1).len() as u64);
        for round in 1..=self.args.rounds() {
            if bar.is_hidden() {
                eprintln!("round {round} of {}", self.args.rounds());
            }
            for part in self.args.parts(round) {
                bar.set_message(format!("round {round}, {}", part.name()));
                let busy_percent = busy_percent(LOOK);
                let measured = match part {
                    Part::Rest => self.rest(),
                    part => self.orders(part),
                };
                // What was going on when a signal came is no measurement.
                interrupt::check().inspect_err(|_| bar.finish_and_clear())?;
                // One that fails is told as such; the others go on.
                let failed = |error| Measurement { invalid_because: vec![error], ..Measurement::default() };
                let measured = measured.unwrap_or_else(failed);
                measurements.push(Measurement { round, part: part.name(), busy_percent, ..measured });
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// The order path over XML, alone or with somebody who looks on.
    fn orders(&self, part: Part) -> Result<Measurement, String> {
        let rate = match part {
            Part::ClosedAlone | Part::ClosedHeard | Part::Rest => None,
            Part::OpenAlone | Part::OpenHeard => Some(self.args.rate * REQUESTS_PER_ORDER),
            Part::Trades => Some(self.args.trade_rate * REQUESTS_PER_ORDER),
        };
        let (plan, options) =
            (self.plan(rate), Options { data_parent: self.args.data_parent.clone(), ..Options::default() });
        match part {
            Part::ClosedAlone | Part::OpenAlone | Part::Rest => {
                let record = run::measure_with(&plan, &options, &mut |_| ())?;
                Ok(of_record(&record))
            }
            Part::ClosedHeard | Part::OpenHeard => {
                let mut hall = Hall {
                    subscribers: self.args.subscribers,
                    symbols: self.args.symbols,
                    audience: None,
                    heard: None,
                };
                let record = run::measure_beside(&plan, &options, &mut hall, &mut |_| ())?;
                let heard = hall.heard.ok_or("the subscribers heard nothing to the end")??;
                Ok(of_record(&record).with_heard(heard))
            }
            Part::Trades => {
                let mut listener = Listener::new(self.args.symbols);
                let record = run::measure_beside(&plan, &options, &mut listener, &mut |_| ())?;
                let found = listener.found.ok_or("the subscriber heard nothing to the end")?;
                let mut measured = of_record(&record).with_heard(found.heard);
                if found.latency_ns.is_empty() {
                    measured.invalid_because.push("no trade was told".to_string());
                } else {
                    measured.trade_to_socket_us = Some(Latency::of(&found.latency_ns));
                }
                if found.unknown > 0 {
                    measured.invalid_because.push(format!("{} trades of orders that nobody sent", found.unknown));
                }
                Ok(measured)
            }
        }
    }

    fn plan(&self, rate: Option<f64>) -> RunPlan {
        let args = self.args;
        RunPlan {
            load: LoadSettings {
                workload: "order".to_string(),
                mode: "persistent".to_string(),
                connections: args.connections,
                depth: 1,
                requests: None,
                duration: Some(args.seconds()),
                rate,
                warmup: WARMUP_SECONDS,
                accounts: args.accounts,
                symbols: args.symbols,
                seed: 1,
                threads: 1,
            },
            target: Target::Own {
                cores: self.server.clone(),
                workers: None,
                store: Store::Journal,
                arguments: args.serve_args.clone(),
            },
            client_cores: self.client.clone(),
        }
    }

    /// Orders over REST.
    fn rest(&self) -> Result<Measurement, String> {
        let args = self.args;
        let fresh = Fresh::make(args.data_parent.as_deref(), &Store::Journal)?;
        let own = OwnServer::start(fresh, &self.server, None, &args.serve_args)?;
        let settings = Settings {
            recipe: Recipe::OrderCrossing,
            accounts: args.accounts,
            symbols: args.symbols,
            seed: 1,
            strict: true,
        };
        let plan = RestPlan {
            to: own.http,
            connections: args.connections as usize,
            accounts: args.accounts,
            symbols: args.symbols,
            warmup: Duration::from_secs_f64(WARMUP_SECONDS),
            duration: Duration::from_secs_f64(args.seconds()),
            patience: PATIENCE,
        };
        let mut cpu_before = None;
        let driven = run::on_cores(&self.client, || {
            let found = load::probe(own.address, PATIENCE)?;
            let (_, issued) = load::prepare(own.address, PATIENCE, found, &settings, args.connections, true)?;
            Ok((rest::drive(&plan, || cpu_before = own.cpu())?, issued))
        })?;
        let (tally, issued): (Tally, _) = driven.map_err(|error: String| error)?;
        let cpu = own.cpu().zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
        interrupt::check()?;
        let mut measured = of_tally(&tally, cpu);
        match own.stop() {
            Err(why) => measured.invalid_because.push(why),
            Ok(market) => {
                if let Conservation::Broken(what) = run::check_market(&market, &issued) {
                    measured.invalid_because.push(format!("money or shares are not those that were created: {what}"));
                }
            }
        }
        Ok(measured)
    }
}

/// Drawn on a terminal only.
fn progress_bar(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("[{bar:30}] {pos}/{len} {elapsed} of {duration}  {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    ProgressBar::new(length).with_style(style)
}

/// Where subscribers sit beside a load.
struct Hall {
    subscribers: u64,
    symbols: u64,
    audience: Option<Audience>,
    heard: Option<Result<HeardByAll, String>>,
}

impl Beside for Hall {
    fn begin(&mut self, http: SocketAddr) -> Result<(), String> {
        self.audience = Some(Audience::start(http, self.subscribers, self.symbols)?);
        Ok(())
    }

    fn beginning(&self) -> Box<dyn Fn()> {
        match &self.audience {
            Some(audience) => Box::new(audience.measuring()),
            None => Box::new(|| ()),
        }
    }

    fn end(&mut self, _: &Tally) {
        self.heard = self.audience.take().map(Audience::end);
    }
}

fn of_record(record: &RunRecord) -> Measurement {
    let answered = record.counts.answered.max(1) as f64;
    let orders = record.counts.kinds.get("opened").copied().unwrap_or(0) as f64;
    let latency = &record.latency;
    Measurement {
        throughput: record.throughput,
        orders_per_second: if record.seconds > 0.0 { orders / record.seconds } else { 0.0 },
        latency_us: Some(Latency {
            p50: latency.p50,
            p99: latency.p99,
            p999: latency.p999,
            max: latency.max,
            count: record.counts.answered,
            histogram: latency.histogram.clone(),
        }),
        server_cpu_us: record.server.cpu_seconds.map(|seconds| seconds * 1e6 / answered),
        load_cpu_share: record.client.cpu_share,
        invalid_because: record.invalid_because.clone(),
        warnings: record.warnings.clone(),
        ..Measurement::default()
    }
}

fn of_tally(tally: &Tally, server_cpu: Option<Duration>) -> Measurement {
    let seconds = tally.elapsed().as_secs_f64();
    let throughput = if seconds > 0.0 { tally.answered as f64 / seconds } else { 0.0 };
    let mut measured = Measurement {
        throughput,
        orders_per_second: throughput,
        server_cpu_us: server_cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / tally.answered.max(1) as f64),
        load_cpu_share: tally.cpu_share,
        ..Measurement::default()
    };
    match tally.answered {
        0 => measured.invalid_because.push("nothing was answered in the measured part".to_string()),
        _ => measured.latency_us = Some(Latency::of(&tally.latency_ns)),
    }
    let faults = [
        (tally.wrong, "wrong replies"),
        (tally.lost, "requests without a reply"),
        (tally.broken, "broken connections"),
    ];
    let faults = faults.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    measured.invalid_because.extend(faults);
    if let Some(first) = tally.first_wrong.as_ref().filter(|_| !measured.invalid_because.is_empty()) {
        measured.invalid_because.push(format!("the first fault was {first}"));
    }
    if tally.cpu_share > LOAD_CPU_WARNING {
        measured.warnings.push(format!("the load used {:.0}% of its core", tally.cpu_share * 100.0));
    }
    measured
}

impl Measurement {
    /// With what subscribers heard, and what was wrong with it.
    fn with_heard(mut self, heard: HeardByAll) -> Measurement {
        let faults = [
            (heard.gaps, "updates of books were missing"),
            (heard.dropped, "subscribers were disconnected"),
            (heard.wrong, "messages that no subscriber must get"),
            (heard.deaf, "subscribers heard nothing"),
        ];
        let faults = faults.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
        self.invalid_because.extend(faults);
        if let Some(first) = &heard.first_wrong {
            self.invalid_because.push(format!("the first of them was {first}"));
        }
        self.heard = Some(heard);
        self
    }
}

impl Latency {
    fn of(histogram_ns: &Histogram<u64>) -> Latency {
        let at = |quantile| histogram_ns.value_at_quantile(quantile) as f64 / 1e3;
        Latency {
            p50: at(0.5),
            p99: at(0.99),
            p999: at(0.999),
            max: histogram_ns.max() as f64 / 1e3,
            count: histogram_ns.len(),
            histogram: run::encode_histogram(histogram_ns),
        }
    }
}
