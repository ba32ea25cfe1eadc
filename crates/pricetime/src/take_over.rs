//! Takes over a database: waits for it as a standby, takes its lock, raises its epoch, and reads everything that a
//! server needs before it serves. It starts nothing.

use std::time::{Duration, Instant};

use engine::DoneOrders;
use exchange::{State, Status};
use feed::{FormerMarket, InitialHistory, RECALLED};
use market::recovery;
use store::{History, Loaded, Migrated, Reader, Retention, Stop, Store, StoreError, StoreUrl, Writer};

use crate::members;
use crate::settings::Settings;
use crate::sql_history::former;

/// The number of connections for long questions about the past. One more looks up orders.
const READERS: usize = 2;

/// The time that the database may take to notice the end of the server before this one.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);

/// The pause of a standby between two tries to reach a database that is away.
const STANDBY_PAUSE: Duration = Duration::from_millis(250);

/// A database that this server has taken over.
pub struct TakenOver {
    pub migrated: Migrated,
    pub writer: Writer,
    pub loaded: Loaded,
    /// The time at which it had the lock.
    pub since: Instant,
    /// The connections that look up done orders: one for short look-ups, one for long ones.
    pub histories: [History; 2],
    /// The start of the feed; none where there is no feed.
    pub followed: Option<FollowerStart>,
    pub retention: Option<Retention>,
}

/// The state with which followers of the market begin.
pub struct FollowerStart {
    pub known: InitialHistory,
    pub pages: Vec<Reader>,
    pub look_ups: Reader,
    /// Whether the rows have every order that there ever was.
    pub whole: bool,
}

/// Takes the database over. A standby waits for the database, and until no other server writes; it stands by again when
/// it loses the database, also to another server, before it has read everything. A signal ends the process meanwhile:
/// nothing is to be finished yet. Errors: the reason why it cannot start.
pub fn take_over(url: &StoreUrl, settings: &Settings, status: &Status, stop: &Stop) -> Result<TakenOver, String> {
    let name = format!("{} {}", rustix::system::uname().nodename().to_string_lossy(), std::process::id());
    let connect = || Store::connect(url, &name, stop.clone());
    let say = |error: StoreError| error.to_string();
    let mut store = match settings.standby {
        true => wait_to_connect(connect, status),
        false => connect(),
    }
    .map_err(say)?;
    loop {
        if settings.standby {
            status.set(State::Standby);
            tracing::info!(database = %url, "standing by: taking over when no other server writes to the database");
            store.wait_for_lock().map_err(say)?;
            status.set(State::Recovering);
        }
        match read_all(store, url, &name, settings, stop) {
            Err(Failure::Store(error)) if settings.standby && is_lost(&error) => {
                status.set(State::Standby);
                tracing::warn!(%error, "lost the database while taking over; standing by again");
                std::thread::sleep(STANDBY_PAUSE);
                store = wait_to_connect(connect, status).map_err(say)?;
            }
            Err(Failure::Store(error)) => return Err(say(error)),
            Err(Failure::Members(why)) => return Err(why),
            Ok(taken_over) => return Ok(taken_over),
        }
    }
}

/// Whether a standby has lost the database before it served: it is away, or another server was faster.
fn is_lost(error: &StoreError) -> bool {
    use StoreError::{AnotherServer, Fenced, Unreachable};
    matches!(error, Unreachable { .. } | Fenced { .. } | AnotherServer { .. })
}

/// The reason why a database is not taken over.
enum Failure {
    Store(StoreError),
    /// Its market has members, and nobody says who they are.
    Members(String),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

/// Connects as soon as the database can be reached. Errors: it refuses this server.
fn wait_to_connect(connect: impl Fn() -> Result<Store, StoreError>, status: &Status) -> Result<Store, StoreError> {
    let mut is_told = false;
    loop {
        match connect() {
            Err(StoreError::Unreachable { fault, .. }) => {
                status.set(State::StoreAway);
                if !std::mem::replace(&mut is_told, true) {
                    tracing::warn!(fault, "the database is away; a standby goes on asking");
                }
                std::thread::sleep(STANDBY_PAUSE);
            }
            other => return other,
        }
    }
}

fn read_all(
    mut store: Store,
    url: &StoreUrl,
    name: &str,
    settings: &Settings,
    stop: &Stop,
) -> Result<TakenOver, Failure> {
    lock(&mut store)?;
    let since = Instant::now();
    let migrated = store.migrate()?;
    match members::are_known(settings) {
        true => store.note_members()?,
        false => {
            let has_members = store.has_members()?;
            members::refuse_forgotten_in_rows(settings, url, has_members).map_err(Failure::Members)?;
        }
    }
    let mut writer = store.take_over()?;
    let loaded = writer.load(recovery::random_seed(), DoneOrders::Keep)?;
    let patience = settings.store_patience.0;
    let history = || History::connect(url, &format!("{name} done"), patience, stop.clone());
    let histories = [history()?, history()?];
    let followed = match settings.feed {
        true => Some(followed(&loaded, |what| Reader::connect(url, &format!("{name} {what}"), stop.clone()))?),
        false => None,
    };
    let keep = settings.history();
    let retention = (keep != history::Keep::default()).then(|| {
        let keep = store::Keep { age_us: keep.age_us, bytes: keep.bytes };
        Retention::new(url, &format!("{name} retention"), keep, writer.epoch())
    });
    Ok(TakenOver { migrated, writer, loaded, since, histories, followed, retention: retention.transpose()? })
}

fn followed(loaded: &Loaded, reader: impl Fn(&str) -> Result<Reader, StoreError>) -> Result<FollowerStart, StoreError> {
    let mut look_ups = reader("orders")?;
    let head = loaded.standing.head;
    let since = FormerMarket::since_of(head.time);
    // No other server has written since the engine was loaded, so these rows are of the same state.
    let markets = look_ups.markets(RECALLED, since)?;
    let known = InitialHistory {
        next_trade: head.next_execution,
        placed: look_ups.placed_times()?,
        markets: markets.into_iter().map(|rows| former(rows, since)).collect(),
    };
    let whole = look_ups.is_whole()?;
    let pages = (0..READERS).map(|_| reader("history")).collect::<Result<_, _>>()?;
    Ok(FollowerStart { known, pages, look_ups, whole })
}

/// Takes the database's lock. A server that was killed a moment ago may still seem to hold it.
pub fn lock(store: &mut Store) -> Result<(), StoreError> {
    let started = Instant::now();
    loop {
        match store.lock() {
            Err(StoreError::AnotherServer { .. }) if started.elapsed() < LOCK_PATIENCE => {
                std::thread::sleep(Duration::from_millis(50));
            }
            other => return other,
        }
    }
}
