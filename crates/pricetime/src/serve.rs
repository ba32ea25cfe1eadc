//! `pricetime serve`: opens the data folder, starts the market and its gateways, and stops them in order.

use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use engine::Engine;
use gateway::{Gateway, Http, State, Status};
use journal::{ARCHIVE_NAME, DataLock, Disk, Journal, Options};
use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::archive_gate::ArchiveGate;
use crate::market::{Market, MarketOptions};
use crate::recovery::{self, Report};
use crate::settings::{Durability, ServeArgs, Settings};
use crate::{logging, snapshots};

/// How long a stopping server waits for its clients to take their replies.
const DRAIN_PATIENCE: Duration = Duration::from_secs(5);
/// A snapshot on stopping is taken when the market has at most so many accounts and open orders: in about a second.
const CHEAP_SNAPSHOT_ITEMS: usize = 1_000_000;

/// Why the server ends.
enum Ending {
    Signal(i32),
    Answered,
    Failed(String),
}

/// Runs the server until it is told to stop. Errors: what keeps it from starting or from going on.
pub fn run(args: &ServeArgs) -> Result<ExitCode, String> {
    let settings = args.settings()?;
    if args.print_config {
        print!("{}", settings.to_toml());
        return Ok(ExitCode::SUCCESS);
    }
    logging::start(&settings.log_level, settings.log_format)?;
    abort_on_panic();
    let started = Instant::now();
    let (endings, ended) = channel();
    catch_signals(endings.clone())?;
    let status = Status::new();
    let http = Http::start(settings.http, status.clone()).map_err(|error| error.to_string())?;
    let server = Server::start(&settings, &endings)?;
    status.set(State::Ready);
    server.announce(&settings, http.local_addr());
    server.run(&settings, &ended, &status, started)
}

/// A running server.
struct Server {
    storage: Disk,
    market: Market<Disk>,
    gateway: Gateway,
    report: Report,
    counts: [usize; 3],
    recovered_in: Duration,
    /// Held for as long as the server runs.
    _lock: DataLock,
}

impl Server {
    fn start(settings: &Settings, endings: &Sender<Ending>) -> Result<Server, String> {
        let started = Instant::now();
        let lock = DataLock::take(&settings.data).map_err(|error| error.to_string())?;
        let storage = Disk::open(&settings.data).map_err(|error| format!("{}: {error}", settings.data.display()))?;
        let options = Options {
            segment_bytes: settings.segment_size.0,
            durability: match settings.durability {
                Durability::Synced => journal::Durability::Synced,
                Durability::Written => journal::Durability::Written,
            },
        };
        let recovered = recovery::open(&storage, options).map_err(|error| error.to_string())?;
        let engine = &recovered.engine;
        let counts = [engine.account_count(), engine.symbol_count(), engine.open_order_count()];
        let report = recovered.report.clone();
        let recovered_in = started.elapsed();
        let market_options = MarketOptions {
            reply_bytes_max: reply_bytes_max(settings),
            keep_journal: settings.keep_journal,
            snapshot_every: settings.snapshot_every,
            disk_low_bytes: settings.disk_low.0,
        };
        let failed = {
            let endings = endings.clone();
            Arc::new(move |cause: String| drop(endings.send(Ending::Failed(cause))))
        };
        let gate = ArchiveGate::open(&settings.data).map_err(|error| format!("archive.gate: {error}"))?;
        let market = Market::start(storage.clone(), recovered, gate, market_options, failed)
            .map_err(|error| format!("cannot start the market's threads: {error}"))?;
        let gateway = gateway::start(gateway_settings(settings), market.door()).map_err(|error| error.to_string())?;
        if settings.stop_after_requests > 0 {
            let endings = endings.clone();
            gateway.when_answered(settings.stop_after_requests, Box::new(move || drop(endings.send(Ending::Answered))));
        }
        Ok(Server { storage, market, gateway, report, counts, recovered_in, _lock: lock })
    }

    /// Says where everything is, what was recovered, and how to try it.
    fn announce(&self, settings: &Settings, http: SocketAddr) {
        let [accounts, symbols, orders] = self.counts;
        let xml = self.gateway.local_addr();
        let durability = match settings.durability {
            Durability::Synced => "synced: a reply means that it is on the disk",
            Durability::Written => "written: a reply survives a crash of the server, not of the machine",
        };
        let mut text = format!(
            "pricetime {version}\n\
             \x20 XML        {xml} ({workers} workers)\n\
             \x20 health     http://{http}/health and /ready\n\
             \x20 data       {data} ({durability})\n\
             \x20 recovered  {accounts} accounts, {symbols} symbols, {orders} open orders; \
             {replayed} commands replayed{snapshot} in {seconds:.3} s\n",
            version = env!("CARGO_PKG_VERSION"),
            workers = settings.workers,
            data = settings.data.display(),
            replayed = self.report.commands_replayed,
            snapshot = match &self.report.snapshot {
                Some(info) => format!(" after the snapshot at command {}", info.sequence),
                None => String::new(),
            },
            seconds = self.recovered_in.as_secs_f64(),
        );
        for refused in &self.report.refused_snapshots {
            text += &format!("  warning    a snapshot was not used: {refused}\n");
        }
        if let Some(cut) = &self.report.cut {
            text += &format!(
                "  note       {} ended in an unfinished write of {} bytes, never acknowledged; it was cut\n",
                cut.segment, cut.bytes
            );
        }
        text += &format!(
            "try it:      echo '<create><account id=\"1\" balance=\"1000\"/></create>' | pricetime send --to {xml}\n"
        );
        // Whoever closed standard output does not want to know.
        let _ = std::io::stdout().write_all(text.as_bytes());
        let _ = std::io::stdout().flush();
    }

    fn run(
        self,
        settings: &Settings,
        ended: &Receiver<Ending>,
        status: &Status,
        started: Instant,
    ) -> Result<ExitCode, String> {
        match ended.recv() {
            Ok(Ending::Signal(signal)) => tracing::info!(signal, "stopping"),
            Ok(Ending::Answered) => self.print_times(started),
            Ok(Ending::Failed(cause)) => {
                status.set(State::Failed(cause.clone()));
                // Whatever still runs must acknowledge nothing more: leave at once.
                tracing::error!(%cause, "the server cannot go on and stops; start it again to recover from the disk");
                std::process::exit(1);
            }
            Err(_) => return Err("nobody is left who could end the server".to_string()),
        }
        status.set(State::Stopping);
        self.stop(settings)
    }

    /// What `--stop-after-requests` is for.
    fn print_times(&self, started: Instant) {
        let first = self.gateway.first_request_at().unwrap_or(started);
        let last = self.gateway.last_reply_at().unwrap_or(first);
        let execution = last.saturating_duration_since(first);
        println!("requests answered:   {}", self.gateway.counters().requests_answered);
        println!("execution time:      {} us = {:.6} s", execution.as_micros(), execution.as_micros() as f64 / 1e6);
        println!("total running time:  {:.6} s", started.elapsed().as_secs_f64());
    }

    /// Answers what is in flight, then brings everything to the disk.
    fn stop(self, settings: &Settings) -> Result<ExitCode, String> {
        self.gateway.stop_accepting();
        self.gateway.drain(DRAIN_PATIENCE);
        let (engine, journal) = self.market.stop().map_err(|error| error.to_string())?;
        snapshot_if_cheap(&self.storage, &engine, &journal, settings);
        tracing::info!(commands = engine.sequence().0, "stopped");
        Ok(ExitCode::SUCCESS)
    }
}

fn snapshot_if_cheap(storage: &Disk, engine: &Engine, journal: &Journal<Disk>, settings: &Settings) {
    let items = engine.account_count().saturating_add(engine.open_order_count());
    if items > CHEAP_SNAPSHOT_ITEMS || settings.durability == Durability::Written {
        return;
    }
    match snapshots::write_if_new(storage, engine, journal.point()) {
        Ok(Some(info)) => tracing::info!(sequence = info.sequence.0, bytes = info.bytes, "snapshot taken"),
        Ok(None) => {}
        // The journal has it all: the next start only takes longer.
        Err(error) => tracing::warn!(%error, "no snapshot could be taken"),
    }
}

fn reply_bytes_max(settings: &Settings) -> usize {
    usize::try_from(settings.max_reply.0).unwrap_or(usize::MAX)
}

fn gateway_settings(settings: &Settings) -> gateway::Settings {
    gateway::Settings {
        address: settings.xml,
        workers: settings.workers,
        backlog: settings.backlog,
        connections_max: if settings.max_connections == 0 { usize::MAX } else { settings.max_connections },
        request_bytes_max: usize::try_from(settings.max_request.0).unwrap_or(usize::MAX),
        children_max: settings.max_children,
        reply_bytes_max: reply_bytes_max(settings),
        idle_timeout: settings.idle_timeout.0,
        close_after_reply: settings.close_after_reply,
        reply_length: settings.reply_length,
        ..gateway::Settings::default()
    }
}

/// A thread that fails an invariant must take the server with it: nothing it left half done may be acknowledged.
fn abort_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        eprintln!("pricetime: {}", advice(panic.location().map_or("", |location| location.file())));
        std::process::abort();
    }));
}

/// What to do after a panic in a source file. redb panics on some damage that its own checks let pass.
fn advice(file: &str) -> String {
    match file.contains("redb") {
        true => format!(
            "{ARCHIVE_NAME} seems damaged, so the server stops; nothing acknowledged is lost. Start it again; if this comes \
             back, restore the data folder from a backup, or with every journal file since the first (--keep-journal) move \
             {ARCHIVE_NAME} and the snapshots away: all is rebuilt from the journal"
        ),
        false => "this is a fault of the server, which stops; nothing acknowledged is lost. Start it again, and please report \
                  the lines above"
            .to_owned(),
    }
}

/// The first signal asks for an orderly stop, the second ends the process.
fn catch_signals(endings: Sender<Ending>) -> Result<(), String> {
    // A write past the limit on the size of files is to fail, and stop the server with its reason, not to end the process.
    let ignored = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGXFSZ, ignored).map_err(|error| format!("cannot catch signals: {error}"))?;
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(|error| format!("cannot catch signals: {error}"))?;
    let watch = move || {
        for (count, signal) in signals.forever().enumerate() {
            if count > 0 {
                std::process::exit(128 + signal);
            }
            let _ = endings.send(Ending::Signal(signal));
        }
    };
    std::thread::Builder::new()
        .name("signals".to_string())
        .spawn(watch)
        .map(|_| ())
        .map_err(|error| format!("cannot start a thread: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_says_what_to_do() {
        assert!(advice("/somewhere/redb-4.4.0/src/tree_store/page.rs").contains(ARCHIVE_NAME));
        assert!(advice("crates/engine/src/book.rs").contains("please report"));
    }
}
