//! A market on a data folder: the thread of its loop, with the readers of done orders, the snapshots and the watch of
//! the disk beside it. Gateways hand in batches through its [`ExchangeHandle`].

use std::sync::Arc;
use std::thread::JoinHandle;

use engine::Engine;
use journal::{Journal, Storage};
use terms::Sequence;

use crate::disk_watch::DiskWatch;
use crate::done_orders;
use crate::exchange_handle::ExchangeHandle;
use crate::follower::Follower;
use crate::inbox::Inbox;
use crate::journal_ledger::JournalLedger;
use crate::ledger::Ledger;
use crate::recovery::Recovered;
use crate::snapshots::{JournalCoverage, SnapshotMaker, Snapshots};
use crate::turn::{self, MarketLoop, TurnOptions};

/// Settings of a market on a data folder.
#[derive(Clone, Debug)]
pub struct MarketOptions {
    /// Settings of the loop.
    pub turn: TurnOptions,
    /// Whether journal files are never retired.
    pub keep_journal: bool,
    /// The number of commands in full journal files after which a snapshot is made.
    pub snapshot_every: u64,
    /// The free bytes on the disk below which only commands that free something are admitted.
    pub disk_low_bytes: u64,
}

/// Called with the reason when the server has to end.
pub type Failed = Arc<dyn Fn(String) + Send + Sync>;

/// A market with its threads.
pub struct Market<S: Storage> {
    exchange: Arc<ExchangeHandle>,
    running: JoinHandle<Result<(Engine, Journal<S>), String>>,
    snapshots: Snapshots,
    disk: DiskWatch,
}

impl<S: Storage> Market<S> {
    /// Starts the threads on a recovered data folder. They call `failed` when nothing more may be acknowledged.
    pub fn start(
        storage: S,
        recovered: Recovered<S>,
        options: MarketOptions,
        follower: Follower,
        failed: Failed,
    ) -> Result<Market<S>, String> {
        Market::start_over(storage, recovered, options, follower, failed, |_, ledger, _| Ok(ledger))
    }

    /// Starts the threads over a ledger that is built on the journal's. `make` makes it, and may bring the engine to
    /// its state. Errors: those of `make`, or threads cannot be started.
    pub fn start_over<L>(
        storage: S,
        recovered: Recovered<S>,
        options: MarketOptions,
        follower: Follower,
        failed: Failed,
        make: impl FnOnce(&mut Engine, JournalLedger<S>, &Arc<Inbox>) -> Result<L, String>,
    ) -> Result<Market<S>, String>
    where
        L: Ledger + Into<Journal<S>> + Send + 'static,
    {
        let Recovered { mut engine, journal, report } = recovered;
        let MarketOptions { turn: turn_options, keep_journal, snapshot_every, disk_low_bytes } = options;
        let Follower { events, checkpoint, history } = follower;
        let metrics = turn_options.metrics.clone();
        let readers = done_orders::start(&history).map_err(no_threads)?;
        let exchange = Arc::new(ExchangeHandle::new(readers));
        let lost = failed.clone();
        let disk = DiskWatch::start(storage.clone(), disk_low_bytes, metrics.clone(), move |cause| lost(cause))
            .map_err(no_threads)?;
        let coverage = Arc::new(JournalCoverage::default());
        let last = report.snapshot.map_or(Sequence::ZERO, |info| info.sequence);
        let snapshots =
            Snapshots::start(SnapshotMaker::new(storage, snapshot_every, last, coverage.clone(), checkpoint, metrics))
                .map_err(no_threads)?;
        let ledger = JournalLedger::new(journal, Some(events), coverage, keep_journal, disk.low.clone());
        let last = engine.time();
        let ledger = make(&mut engine, ledger, &exchange.inbox)?;
        let (turn, shared) = (MarketLoop::new(engine, ledger, turn_options).away_since(last), exchange.inbox.clone());
        let run = move || -> Result<_, String> {
            let (engine, ledger) = turn::run(turn, &shared).map_err(|error| error.to_string())?;
            Ok((engine, ledger.into()))
        };
        let running = std::thread::Builder::new().name("sequencer".to_string()).spawn(move || {
            let ended = run();
            if let Err(error) = &ended {
                failed(String::clone(error));
            }
            ended
        });
        let running = running.map_err(no_threads)?;
        Ok(Market { exchange, running, snapshots, disk })
    }

    /// The handle through which gateways hand in batches.
    pub fn exchange(&self) -> Arc<ExchangeHandle> {
        self.exchange.clone()
    }

    /// Answers what was handed in and ends the threads. Returns the engine and the journal: everything is on the disk,
    /// except what followers make of events. Errors: the ledger's, in words.
    pub fn stop(self) -> Result<(Engine, Journal<S>), String> {
        // An unfinished snapshot does not delay the stop.
        self.snapshots.hurry();
        self.exchange.inbox.close();
        let (engine, journal) = self.running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        self.disk.stop();
        self.snapshots.stop();
        Ok((engine, journal))
    }
}

fn no_threads(error: std::io::Error) -> String {
    format!("cannot start the market's threads: {error}")
}
