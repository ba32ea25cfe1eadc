//! What all handlers share: the server's status, and the market once there is one.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use engine::{AccountId, Time};
use exchange::{
    Exchange, GatewayMetrics, Gauge, Metrics, Mode, Places, Principal, Read, Rights, State, Status, TurnedAway,
    Unavailable,
};
use feed::{Asker, FeedFailure, ReadModel};
use tls::ServerTls;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::sleep_until;

use crate::asking;
use crate::audit::AuditTrail;
use crate::hub::Hub;
use crate::keys::Keys;
use crate::listen_keys::ListenKeys;
use crate::live_count::LiveCount;
use crate::members::Members;
use crate::order_counts::OrderCounts;
use crate::past_markets::PastMarkets;
use crate::problem::Problem;
use crate::publish_cost::PublishCost;
use crate::records::Records;
use crate::sandbox::Sandbox;
use crate::spool::Spool;
use crate::sql_history::SqlHistory;
use crate::submitter::Submitter;
use crate::vitals::{Counting, ModeNow, Vitals};

/// What the server says of itself.
#[derive(Clone, Debug)]
pub struct About {
    pub version: &'static str,
    /// A market of play money and simulated traders.
    pub demo: bool,
    /// Where the market is kept: `journal` or `postgres`.
    pub store: &'static str,
    /// Whether the venue's calendar says when the days of symbols end, of some at least.
    pub days: bool,
    /// Whether the server only follows what other nodes of its cluster do.
    pub read_only: bool,
}

impl About {
    pub(crate) fn is_database(&self) -> bool {
        self.store == "postgres"
    }
}

/// The gateway's name, in metrics, for all requests over HTTP.
const GATEWAY: &str = "rest";

/// What the server measures of itself.
pub(crate) struct Instruments {
    pub(crate) about: About,
    pub(crate) metrics: Metrics,
    /// Those of REST.
    pub(crate) rest: GatewayMetrics,
    /// Set once the XML gateway runs.
    pub(crate) counters: OnceLock<Counting>,
    /// Those of HTTP.
    pub(crate) connections: LiveCount,
    pub(crate) websockets: LiveCount,
    /// None where connections are plain.
    pub(crate) tls: Option<ServerTls>,
    /// Each gateway's.
    pub(crate) places: Vec<(&'static str, Places)>,
}

/// The market that is served.
pub struct Market {
    pub exchange: Arc<dyn Exchange>,
    pub asker: Asker<Hub>,
    /// Who may sign requests of the compatible interface.
    pub keys: Keys,
    /// The database that has the history; none if the feed has it in files.
    pub records: Option<Arc<dyn Records>>,
    /// The port of the XML protocol, which is told to whoever asks how the server stands; 0 if there is none.
    pub xml_port: u16,
    /// That of FIX.
    pub fix_port: u16,
    /// Simulated traders that can be started here; none where they cannot.
    pub sandbox: Option<Arc<dyn Sandbox>>,
    /// Who asked for which command; none where that is not in files of this server.
    pub audit: Option<Arc<dyn AuditTrail>>,
    /// Who makes markets of the past; none where the market has no journal of its own, or the settings want none.
    pub past: Option<Arc<dyn PastMarkets>>,
    /// The time of the last command before this server; 0 where there was none.
    pub time: Time,
}

/// The parts of a market that handlers use while it is served.
pub(crate) struct Served {
    pub(crate) about: About,
    pub(crate) asker: Asker<Hub>,
    pub(crate) submitter: Submitter,
    pub(crate) keys: Keys,
    /// The history, where a database keeps it.
    pub(crate) library: Option<SqlHistory>,
    pub(crate) listen_keys: ListenKeys,
    pub(crate) order_counts: OrderCounts,
    pub(crate) xml_port: u16,
    pub(crate) fix_port: u16,
    pub(crate) sandbox: Option<Arc<dyn Sandbox>>,
    pub(crate) audit: Option<Arc<dyn AuditTrail>>,
    pub(crate) past: Option<Arc<dyn PastMarkets>>,
}

/// Shared by all handlers.
#[derive(Clone)]
pub(crate) struct Site(Arc<Inner>);

struct Inner {
    status: Status,
    started: Instant,
    market: OnceLock<Served>,
    /// Hosts that requests may name, beyond the usual ones.
    hosts: Vec<String>,
    /// None if whoever reaches the server may do everything.
    members: Option<Members>,
    /// Whether requests say whose they are.
    audit: bool,
    instruments: Instruments,
    /// Permits for replays at the same time.
    replays: Semaphore,
    /// Permits for reading who asked for which command.
    audits: Arc<Semaphore>,
    /// Permits for making a piece of a long answer.
    pieces: Semaphore,
    /// Permits for gathering a long answer that is one message.
    gathering: Semaphore,
    /// Permits for writing a piece of a long message.
    writing: Semaphore,
    telling: PublishCost,
    spool: Spool,
    /// How long a client of a WebSocket may say nothing, or take nothing of what it is told.
    silence_max: Duration,
}

/// Pieces of long answers that are made at once.
const PIECES_AT_ONCE: usize = 2;
/// Long answers that are gathered at once, for all clients together: each takes memory until it is told.
const GATHERED_AT_ONCE: usize = 4;

impl Site {
    pub(crate) fn new(
        status: Status,
        (hosts, members, audit): (Vec<String>, Option<Members>, bool),
        silence_max: Duration,
        about: About,
        metrics: Metrics,
        (tls, places): (Option<ServerTls>, Vec<(&'static str, Places)>),
    ) -> Site {
        let (connections, websockets) = (LiveCount::default(), LiveCount::default());
        let rest = metrics.gateway(GATEWAY);
        let counters = OnceLock::new();
        let instruments = Instruments { about, metrics, rest, counters, connections, websockets, tls, places };
        Site(Arc::new(Inner {
            status,
            started: Instant::now(),
            market: OnceLock::new(),
            hosts,
            members,
            audit,
            instruments,
            replays: Semaphore::new(1),
            audits: Arc::new(Semaphore::new(1)),
            pieces: Semaphore::new(PIECES_AT_ONCE),
            gathering: Semaphore::new(GATHERED_AT_ONCE),
            writing: Semaphore::new(1),
            telling: PublishCost::default(),
            spool: Spool::default(),
            silence_max,
        }))
    }

    /// Serves a market from now on. Within the runtime.
    pub(crate) fn open(&self, market: Market) {
        let Market { exchange, asker, keys, records, xml_port, fix_port, sandbox, audit, past, time } = market;
        let Instruments { about, metrics, rest, counters, .. } = &self.0.instruments;
        metrics.set(Gauge::Subscribers, 0);
        self.0.members.iter().for_each(|members| members.begin(time));
        let telling = self.0.telling.clone();
        asker.ask(move |scene| scene.watcher.count_with(telling));
        if let Some(counters) = counters.get() {
            let (counters, metrics, rest) = (counters.clone(), metrics.clone(), rest.clone());
            let access = self.members().map(|members| members.access().clone());
            let mode: ModeNow = Box::new(move || access.as_ref().map_or(Mode::Normal, |access| access.mode().get()));
            asker.ask(move |scene| scene.watcher.measure_with(Vitals::new(counters, metrics, rest, mode, &scene.view)));
        }
        let submitter = Submitter::new(exchange, rest.clone());
        let (library, listen_keys) = (records.map(SqlHistory::new), ListenKeys::default());
        let order_counts = OrderCounts::default();
        let about = about.clone();
        let served = Served {
            about,
            asker,
            submitter,
            keys,
            library,
            listen_keys,
            order_counts,
            xml_port,
            fix_port,
            sandbox,
            audit,
            past,
        };
        if self.0.market.set(served).is_err() {
            tracing::error!("a market is served already");
        }
    }

    pub(crate) fn instruments(&self) -> &Instruments {
        &self.0.instruments
    }

    pub(crate) fn status(&self) -> &Status {
        &self.0.status
    }

    pub(crate) fn started(&self) -> Instant {
        self.0.started
    }

    /// Counts what writing to subscribers costs.
    pub(crate) fn telling(&self) -> &PublishCost {
        &self.0.telling
    }

    /// What waits for all clients of WebSockets.
    pub(crate) fn spool(&self) -> &Spool {
        &self.0.spool
    }

    pub(crate) fn silence_max(&self) -> Duration {
        self.0.silence_max
    }

    pub(crate) fn hosts(&self) -> &[String] {
        &self.0.hosts
    }

    pub(crate) fn members(&self) -> Option<&Members> {
        self.0.members.as_ref()
    }

    /// Whether requests say whose they are.
    pub(crate) fn audits(&self) -> bool {
        self.0.audit
    }

    /// How far the venue is open.
    pub(crate) fn mode(&self) -> Mode {
        self.members().map_or(Mode::Normal, |members| members.access().mode().get())
    }

    /// Whether whoever asks may look at this.
    pub(crate) fn may_read(&self, read: Read) -> bool {
        let may = |rights: &Rights| rights.may_read(read) && rights.may_look_in(self.mode());
        self.members().is_none() || asking::asker().is_some_and(|asker| may(&asker.rights()))
    }

    /// Notes that whoever asks is told this from now on. Errors: they may not be.
    pub(crate) fn follow(&self, read: Read) -> Result<(), Problem> {
        self.follow_as(asking::asker(), read)
    }

    /// The same of somebody else, who has proven it.
    pub(crate) fn follow_as(&self, asker: Option<asking::Asker>, read: Read) -> Result<(), Problem> {
        if self.members().is_none() {
            return Ok(());
        }
        let asker = asker.unwrap_or_else(|| asking::Asker::of(Principal::anonymous()));
        let (rights, mode) = (asker.rights(), self.mode());
        if !rights.roles.is_empty() && !rights.may_look_in(mode) {
            asking::turned_away(TurnedAway::Closed);
            return Err(Problem::unavailable(Unavailable::Closed(mode)));
        }
        if rights.may_read(read) {
            self.connects(&asker)?;
            let too_much = || Problem::malformed("this connection follows too much");
            return asking::follows(asker, read).then_some(()).ok_or_else(too_much);
        }
        let (why, problem) = match read {
            _ if rights.roles.is_empty() => (TurnedAway::Unproven, Problem::unknown_asker()),
            Read::Account(_) => (TurnedAway::NotTheirs, Problem::unknown_account()),
            Read::Anyone | Read::Market | Read::AllAccounts | Read::Venue => {
                (TurnedAway::NotPermitted, Problem::not_permitted())
            }
        };
        asking::turned_away(why);
        Err(problem)
    }

    /// Counts the connection that is spoken over among those of a member who has proven it. Errors: that has as many as
    /// it may have.
    pub(crate) fn connects(&self, asker: &asking::Asker) -> Result<(), Problem> {
        let all = self.members().map(|members| members.access().connections());
        all.map_or(Ok(()), |all| asking::connects(all, &asker.principal)).map_err(Problem::past_limit)
    }

    /// Counts a client that is turned away.
    pub(crate) fn count_turned_away(&self, why: TurnedAway, address: IpAddr) {
        access::turn_away(&self.instruments().rest, why, address);
    }

    /// Counts a client that is turned away, and waits for the turn of a wrong proof's answer where members are known.
    /// False if that is too far off: it is one try too many.
    pub(crate) async fn turn_away(&self, why: TurnedAway, address: IpAddr) -> bool {
        let turn = self.members().filter(|_| why == TurnedAway::WrongProof).map(|members| members.wrong_turn(address));
        let is_too_many = turn.is_some_and(|turn| turn.is_err());
        self.count_turned_away(if is_too_many { TurnedAway::TooManyTries } else { why }, address);
        if let Some(Ok(turn)) = turn {
            sleep_until(turn.into()).await;
        }
        !is_too_many
    }

    pub(crate) fn replays(&self) -> &Semaphore {
        &self.0.replays
    }

    pub(crate) fn audits_at_once(&self) -> &Arc<Semaphore> {
        &self.0.audits
    }

    pub(crate) fn pieces(&self) -> &Semaphore {
        &self.0.pieces
    }

    pub(crate) fn gathering(&self) -> &Semaphore {
        &self.0.gathering
    }

    pub(crate) fn writing(&self) -> &Semaphore {
        &self.0.writing
    }

    /// The market. Errors: there is none yet, or its feed has failed, without which no client is told what became of
    /// its requests.
    pub(crate) fn market(&self) -> Result<&Served, Problem> {
        let market = self.0.market.get().ok_or_else(Problem::not_ready)?;
        match market.asker.failure() {
            None => Ok(market),
            Some(_) => Err(Problem::no_feed()),
        }
    }

    /// Counts an order that was placed. It has no errors: what was done is not told as refused.
    pub(crate) fn count_order(&self, account: AccountId) {
        if let Some(market) = self.0.market.get() {
            market.order_counts.add(account);
        }
    }

    /// Whether there is a market that is looked at.
    pub(crate) fn has_market(&self) -> bool {
        self.0.market.get().is_some()
    }

    /// The fault by which the feed has ended; none while it goes on, and where there never was one.
    pub(crate) fn feed_failure(&self) -> Option<&FeedFailure> {
        self.0.market.get().and_then(|market| market.asker.failure())
    }

    pub(crate) fn submitter(&self) -> Result<&Submitter, Problem> {
        self.market().map(|market| &market.submitter)
    }

    /// Returns once it is certain that what is looked at from now on is true: with a database, another server may have taken
    /// over without this one's knowing, and goes on where this one's view stands still. A file has no other server.
    /// Errors: the database is away.
    pub(crate) async fn ascertain(&self) -> Result<(), Problem> {
        let market = self.market()?;
        match market.about.is_database() {
            true => market.submitter.pass().await.map_err(|_| Problem::unavailable(Unavailable::StoreAway)),
            false => Ok(()),
        }
    }

    /// Looks at the market as it is after all that was answered so far.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut ReadModel<Hub>) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (told, seen) = oneshot::channel();
        self.market()?.asker.ask(move |scene| drop(told.send(look(scene))));
        seen.await.map_err(|_| match self.status().get() {
            // The feed goes on as long as the server does: the question panicked, or the feed.
            State::Ready => Problem::fault(),
            State::Standby | State::Recovering | State::StoreAway | State::Stopping | State::Failed(_) => {
                Problem::not_ready()
            }
        })
    }
}
