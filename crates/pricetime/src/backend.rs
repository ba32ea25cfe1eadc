//! The backend of the gateways: the market on its data folder, or on its database. It knows which of the two it is, and
//! nobody else does.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant, SystemTime};

use cluster::{LogUrl, NodeStatus};
use engine::Engine;
use exchange::{EventFork, Exchange, Gauge, Metrics, Session, Status};
use feed::{FeedFailure, FeedHandle, MarketClock};
use http_gateway::{AuditTrail, HistoryPort, Hub, PastMarkets};
use journal::{DataLock, Disk, Journal, Options, Storage};
use market::inbox::Inbox;
use market::recovery::{self, Recovered, Report};
use market::snapshots;
use market::timekeeper::Clock;
use market::turn::TurnOptions;
use market::{Failed, Market, MarketOptions};
use store::sql_reader;
use store::{SqlMarket, SqlOptions, Stop, StoreUrl};
use terms::{Sequence, Time};

use crate::audit_trail::JournalTrail;
use crate::cluster_tool;
use crate::feed_start::RunningFeed;
use crate::followers::Followers;
use crate::join::{DataFolder, join};
use crate::journal_tool;
use crate::members;
use crate::past_markets::Rewinder;
use crate::settings::{Durability, Settings};
use crate::sql_history::SqlHistory;
use crate::store_location::StoreLocation;
use crate::take_over::{self, FollowerStart, TakenOver};
use crate::unjoined::{WHOLE, expect_joined};

/// The number of accounts and open orders up to which a stop takes a snapshot, in about a second.
const CHEAP_SNAPSHOT_ITEMS: usize = 1_000_000;
/// The time for which a start waits for the feed.
const FEED_PATIENCE: Duration = Duration::from_secs(5);

/// A running market, with its ledger.
pub enum Backend {
    /// A data folder with a journal.
    Folder(Box<Folder>),
    /// A PostgreSQL database.
    Database(SqlMarket, Option<(RunningFeed, Arc<SqlHistory>)>),
}

/// A market on its data folder.
pub struct Folder {
    storage: Disk,
    market: Market<Disk>,
    followers: Followers,
    /// The lock, held as long as the server runs.
    _lock: DataLock,
}

/// The opened market, in words for the operator.
pub struct Opened {
    /// The place where the market is kept, and the promise of a reply.
    pub kept: String,
    /// The recovered state.
    pub recovered: String,
    /// Notes for the operator.
    pub notes: Vec<String>,
    /// The time since which no other server takes requests for this market; none if it is new, so that none ever did.
    pub alone_since: Option<Instant>,
    /// The market's time when it was opened, which is that of its last command.
    pub time: Time,
}

impl Backend {
    /// Opens the ledger of the settings, reads its content, and starts the market. The market calls `failed` when
    /// nothing more may be acknowledged. Errors: the reason why it cannot start.
    pub fn open(
        settings: &Settings,
        status: &Status,
        metrics: Metrics,
        clock: Clock,
        failed: Failed,
    ) -> Result<(Backend, Opened), String> {
        let looked_at = clock.clone();
        let (backend, opened) = match &settings.store {
            StoreLocation::Journal => open_folder(settings, metrics, clock, failed, None),
            StoreLocation::Log(url) => open_folder(settings, metrics, clock, failed, Some((url, status.clone()))),
            StoreLocation::Database(url) => open_database(url, settings, status, metrics, clock, failed),
            StoreLocation::Invalid(fault) => Err(fault.clone()),
        }?;
        if let Some(asker) = backend.asker() {
            asker.ask(move |model| model.view.follow_clock(MarketClock::new(move || looked_at.market_time())));
        }
        Ok((backend, opened))
    }

    /// The handle through which gateways hand in batches.
    pub fn exchange(&self) -> Arc<dyn Exchange> {
        match self {
            Backend::Folder(folder) => folder.market.exchange(),
            Backend::Database(market, _) => market.exchange(),
        }
    }

    /// The way to ask the feed; none where there is no feed.
    pub fn asker(&self) -> Option<FeedHandle<Hub>> {
        let feed = match self {
            Backend::Folder(folder) => folder.followers.feed(),
            Backend::Database(_, followed) => followed.as_ref().map(|(feed, _)| feed),
        };
        feed.map(RunningFeed::asker)
    }

    /// The fault by which the feed has ended, after it had time to follow the market so far; none while it goes on, and
    /// where there is no feed.
    pub fn feed_failure(&self) -> Option<FeedFailure> {
        let asker = self.asker()?;
        let (told, followed) = channel();
        asker.ask(move |_| {
            let _ = told.send(());
        });
        // A feed that has failed drops the question.
        let _ = followed.recv_timeout(FEED_PATIENCE);
        asker.failure().cloned()
    }

    /// The records of the past in a database; none where the feed has the history.
    pub fn records(&self) -> Option<Arc<dyn HistoryPort>> {
        match self {
            Backend::Folder(_) => None,
            Backend::Database(_, followed) => {
                followed.as_ref().map(|(_, records)| records.clone() as Arc<dyn HistoryPort>)
            }
        }
    }

    /// The audit trail in the journal; none where the database has it.
    pub fn audit(&self) -> Option<Arc<dyn AuditTrail>> {
        match self {
            Backend::Folder(folder) => Some(Arc::new(JournalTrail::new(folder.storage.clone()))),
            Backend::Database(..) => None,
        }
    }

    /// The markets of the past; none where there is no journal of ours, or the settings turn them off. Errors: the
    /// system gives no thread.
    pub fn past(&self, settings: &Settings) -> Result<Option<Arc<dyn PastMarkets>>, String> {
        match self {
            Backend::Folder(folder) if settings.replay_commands > 0 => {
                let rewinder = Rewinder::start(folder.storage.clone(), settings.rewind_bounds()).map_err(no_threads)?;
                Ok(Some(Arc::new(rewinder)))
            }
            Backend::Folder(_) | Backend::Database(..) => Ok(None),
        }
    }

    /// Answers what was handed in, keeps everything, and ends. Returns the last command.
    pub fn stop(self, settings: &Settings) -> Result<Sequence, String> {
        match self {
            Backend::Folder(folder) => {
                let Folder { storage, market, followers, _lock } = *folder;
                let (engine, journal) = market.stop()?;
                // The history must hold what a snapshot leaves out.
                followers.stop().map_err(|error| error.to_string())?;
                snapshot_if_cheap(&storage, &engine, &journal, settings)?;
                Ok(engine.sequence())
            }
            Backend::Database(market, followed) => {
                let sequence = market.stop().sequence();
                if let Some((feed, _)) = followed {
                    feed.stop();
                }
                Ok(sequence)
            }
        }
    }
}

/// Refuses a data folder of a build before the first release, before anything in it is made or changed. A node's copy
/// of such a folder is refused where it lies, before its files become the node's. Errors: the settings name such a
/// folder.
pub fn refuse_unreleased(settings: &Settings) -> Result<(), String> {
    let refuse = |folder: &Path| match Disk::open_to_read(folder) {
        Ok(disk) => recovery::refuse_unreleased(&disk).map_err(|error| error.to_string()),
        // The opening says what else is wrong with the folder.
        Err(_) => Ok(()),
    };
    match settings.store {
        StoreLocation::Journal => refuse(&settings.data),
        StoreLocation::Log(_) => {
            refuse(&settings.data)?;
            let copy = settings.data.join(WHOLE);
            refuse(&copy).map_err(|error| format!("{}: {error}", copy.display()))
        }
        StoreLocation::Database(_) | StoreLocation::Invalid(_) => Ok(()),
    }
}

fn open_folder(
    settings: &Settings,
    metrics: Metrics,
    clock: Clock,
    failed: Failed,
    shared: Option<(&LogUrl, Status)>,
) -> Result<(Backend, Opened), String> {
    let started = Instant::now();
    let lock = DataLock::take(&settings.data).map_err(|error| error.to_string())?;
    let locked = Instant::now();
    journal::expect_finished(&settings.data)?;
    let storage = Disk::open(&settings.data).map_err(|error| format!("{}: {error}", settings.data.display()))?;
    let options = Options {
        segment_bytes: settings.segment_size.0,
        durability: match settings.durability {
            Durability::Synced => journal::Durability::Synced,
            Durability::Written => journal::Durability::Written,
        },
    };
    if shared.is_none() {
        expect_joined(&settings.data)?;
    }
    let joined = shared.as_ref().map(|(url, _)| join(url, &settings.data, options)).transpose()?.flatten();
    // A copy of another node's folder has the note, too.
    members::refuse_forgotten(settings)?;
    let mut followers = None;
    let recovered = recovery::open_followed(&storage, options, |engine| {
        let kept = (settings.history(), options.durability, settings.feed);
        let started = followers.insert(Followers::start(engine, &storage, kept, &clock, &metrics, &failed)?);
        Ok(Some(started.events()))
    });
    let recovered = recovered.map_err(|error| error.to_string())?;
    expect_all(&storage, &recovered)?;
    let followers = followers.expect("invariant: a recovery is followed");
    let followers = followers.fit(&recovered.engine).map_err(|error| error.to_string())?;
    let promise = match settings.durability {
        Durability::Synced => "synced: a reply means that it is on the disk",
        Durability::Written => "written: a reply survives a crash of the server, not of the machine",
    };
    let promise = match shared.is_some() {
        true => "a reply means that a majority of the log's servers has it, and this disk",
        false => promise,
    };
    let opened = Opened {
        kept: format!("data       {} ({promise})", settings.data.display()),
        recovered: format!(
            "{}; {} commands replayed{} in {:.3} s",
            counts(&recovered.engine),
            recovered.report.commands_replayed,
            match &recovered.report.snapshot {
                Some(info) => format!(" after the snapshot at command {}", info.sequence),
                None => String::new(),
            },
            started.elapsed().as_secs_f64()
        ),
        notes: joined
            .into_iter()
            .chain(notes(&recovered.report))
            .chain(followers.notes())
            .chain(room_note(&storage, settings))
            .collect(),
        alone_since: (recovered.engine.sequence() > Sequence(0)).then_some(locked),
        time: recovered.engine.time(),
    };
    note_recovery(&metrics, started, recovered.report.commands_replayed);
    Session::begin_after(recovered.engine.time());
    if let Some(made) = recovered.report.snapshot.as_ref().and_then(|info| made_at(&settings.data.join(&info.name))) {
        snapshots::note_made(&metrics, made);
    }
    let market_options = MarketOptions {
        turn: turn_options(settings, metrics.clone(), clock)?,
        keep_journal: settings.keep_journal,
        // The nodes of a cluster make their snapshots at its marks.
        snapshot_every: if shared.is_some() { 1 } else { settings.snapshot_every },
        disk_low_bytes: settings.disk_low_bytes(),
    };
    let (storage_of_it, follower) = (storage.clone(), followers.follower());
    let market = match shared {
        None => {
            refuse_node(&recovered.engine)?;
            Market::start(storage_of_it, recovered, market_options, follower, failed)?
        }
        Some((url, status)) => {
            let (number, patience) = (settings.node, settings.store_patience.0);
            let copies = Arc::new(DataFolder::new(&settings.data, settings.disk_low_bytes()));
            let is_read_only = settings.read_only;
            let TurnOptions { clock, clock_leap_max, .. } = market_options.turn.clone();
            let standing = NodeStatus::new(status, metrics);
            let node =
                cluster_tool::Node { url, number, is_read_only, patience, standing, clock, clock_leap_max, copies };
            let make = |engine: &mut Engine, own, inbox: &Arc<Inbox>| node.open(engine, own, inbox);
            let history = follower.history.clone();
            history.reads_a_log(true).map_err(|error| error.to_string())?;
            let market = Market::start_over(storage_of_it, recovered, market_options, follower, failed, make)?;
            history.reads_a_log(false).map_err(|error| error.to_string())?;
            market
        }
    };
    // Behind all refusals: the settings may name the folder of another market by mistake.
    members::note_known(settings)?;
    Ok((Backend::Folder(Box::new(Folder { storage, market, followers, _lock: lock })), opened))
}

/// Refuses a folder of a cluster's node, because the other nodes would not learn of commands outside the log. Errors:
/// it is one.
fn refuse_node(engine: &Engine) -> Result<(), String> {
    match engine.shared_log().position() {
        0 => Ok(()),
        _ => {
            Err("the data folder is that of a node of a cluster: start with --store nats://… and its --node"
                .to_string())
        }
    }
}

fn turn_options(settings: &Settings, metrics: Metrics, clock: Clock) -> Result<TurnOptions, String> {
    Ok(TurnOptions {
        limits: settings.answer_limits(),
        bounds: settings.bounds(),
        metrics,
        clock,
        clock_leap_max: settings.max_clock_leap.0,
        calendar: settings.calendar()?,
        audit: members::audits(settings),
    })
}

/// Opens all journal files, also those that the recovery did not need, so that the disk's watch knows them.
fn expect_all(storage: &Disk, recovered: &Recovered<Disk>) -> Result<(), String> {
    recovered.journal.segments().iter().try_for_each(|segment| {
        storage.open(&segment.name).map(drop).map_err(|error| format!("{}: {error}", segment.name))
    })
}

fn note_recovery(metrics: &Metrics, started: Instant, commands: u64) {
    metrics.set(Gauge::RecoveryMicros, u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX - 1));
    metrics.set(Gauge::RecoveredCommands, commands);
}

/// The time at which a file got its contents, if the system has it.
fn made_at(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
}

/// A note for the operator about the server's disk.
fn room_note(storage: &Disk, settings: &Settings) -> Option<String> {
    let (free, wanted) = (storage.free_bytes().ok()?, settings.disk_low_bytes());
    let warning = "warning    the disk is nearly full: new orders and accounts are refused. Free are";
    (free < wanted).then(|| {
        format!("{warning} {} MiB, and --disk-low with the next journal file needs {} MiB", free >> 20, wanted >> 20)
    })
}

fn notes(report: &Report) -> Vec<String> {
    let refused = report.refused_snapshots.iter();
    let mut notes: Vec<String> = refused.map(|why| format!("warning    a snapshot was not used: {why}")).collect();
    if let Some(cut) = &report.cut {
        notes.push(format!(
            "note       {} ended in an unfinished write of {} bytes, never acknowledged; it was cut",
            cut.segment, cut.bytes
        ));
    }
    notes
}

fn counts(engine: &Engine) -> String {
    format!(
        "{} accounts, {} symbols, {} open orders",
        engine.account_count(),
        engine.symbol_count(),
        engine.open_order_count()
    )
}

fn no_threads(error: std::io::Error) -> String {
    format!("cannot start the market's threads: {error}")
}

/// Writes a snapshot if the market is small. Errors: it could not be written; the journal has everything, and only the
/// next start takes longer.
fn snapshot_if_cheap(
    storage: &Disk,
    engine: &Engine,
    journal: &Journal<Disk>,
    settings: &Settings,
) -> Result<(), String> {
    let items = engine.account_count().saturating_add(engine.open_order_count());
    if items > CHEAP_SNAPSHOT_ITEMS || settings.durability == Durability::Written {
        return Ok(());
    }
    match snapshots::write_if_new(storage, engine, journal.point()) {
        Ok(Some(info)) => tracing::info!(sequence = info.sequence.0, bytes = info.bytes, "snapshot taken"),
        Ok(None) => {}
        Err(error) => {
            return Err(format!("stopped, and all that was acknowledged is kept, but without a snapshot: {error}"));
        }
    }
    Ok(())
}

fn open_database(
    url: &StoreUrl,
    settings: &Settings,
    status: &Status,
    metrics: Metrics,
    clock: Clock,
    failed: Failed,
) -> Result<(Backend, Opened), String> {
    let stop = Stop::new();
    let TakenOver { migrated, writer, loaded, since, histories: [short, long], followed, retention } =
        take_over::take_over(url, settings, status, &stop)?;
    note_recovery(&metrics, since, 0);
    Session::begin_after(loaded.engine.time());
    let opened = Opened {
        kept: format!("database   {url} (a reply means that its rows are committed)"),
        recovered: format!(
            "{}; at command {} in {:.3} s",
            counts(&loaded.engine),
            loaded.engine.sequence(),
            since.elapsed().as_secs_f64()
        ),
        notes: match migrated.from < migrated.to {
            true => vec![format!("schema     brought from version {} to {}", migrated.from, migrated.to)],
            false => Vec::new(),
        },
        alone_since: (loaded.engine.sequence() > Sequence(0)).then_some(since),
        time: loaded.engine.time(),
    };
    let patience = settings.store_patience.0;
    let readers = sql_reader::start(short, long, &failed).map_err(no_threads)?;
    let followed = match followed {
        Some(FollowerStart { known, pages, look_ups, whole }) => {
            let feed = RunningFeed::start_from(&loaded.engine, &known).map_err(|error| error.to_string())?;
            let records = SqlHistory::start(pages, look_ups, whole, patience).map_err(no_threads)?;
            Some((feed, Arc::new(records)))
        }
        None => None,
    };
    let events = followed.as_ref().map(|(feed, _)| EventFork::to(vec![feed.follower()]));
    let (turn, describe) = (turn_options(settings, metrics, clock)?, journal_tool::describe);
    let options = SqlOptions { turn, patience, events, retention, describe };
    let market = SqlMarket::start(loaded.engine, writer, readers, stop, options, status.clone(), failed);
    Ok((Backend::Database(market.map_err(no_threads)?, followed), opened))
}
