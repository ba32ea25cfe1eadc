//! The state that all handlers share: the server's status, and the market once there is one.

use std::any::type_name;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use exchange::{
    Exchange, GatewayMetrics, Gauge, Metrics, Mode, Places, Principal, Read, Rights, State, Status, TurnedAway,
    Unavailable,
};
use feed::{FeedFailure, FeedHandle, ReadModel};
use terms::Time;
use tls::ServerTls;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::sleep_until;

use crate::account_turns::AccountTurns;
use crate::audit::AuditTrail;
use crate::current_principal;
use crate::history_port::HistoryPort;
use crate::hub::Hub;
use crate::listener::Life;
use crate::live_count::LiveCount;
use crate::member_turns::{MemberTurns, Turn};
use crate::members::Members;
use crate::outbox::Outbox;
use crate::outbox_budget::OutboxBudget;
use crate::past_events_room::PastEventsRoom;
use crate::problem::Problem;
use crate::publish_cost::PublishCost;
use crate::rewind_port::PastMarkets;
use crate::route_needs::DialectPaths;
use crate::sandbox::Sandbox;
use crate::server_stats::{Counting, ModeNow, ServerStats};
use crate::sql_history::SqlHistory;
use crate::submitter::Submitter;

/// Facts about the server.
#[derive(Clone, Debug)]
pub struct About {
    pub version: &'static str,
    /// Whether it is a market of play money and simulated traders.
    pub demo: bool,
    /// The store of the market: `journal` or `postgres`.
    pub store: &'static str,
    /// Whether the venue's calendar has the day's end of some symbols.
    pub days: bool,
    /// Whether the server only follows the other nodes of its cluster.
    pub read_only: bool,
}

impl About {
    /// Whether a database keeps the market.
    pub fn is_database(&self) -> bool {
        self.store == "postgres"
    }
}

/// The gateway's name, in metrics, for all requests over HTTP.
const GATEWAY: &str = "rest";

/// The measurements of the server.
pub(crate) struct Instruments {
    pub(crate) about: About,
    pub(crate) metrics: Metrics,
    /// The metrics of REST.
    pub(crate) rest: GatewayMetrics,
    /// Set once the XML gateway runs.
    pub(crate) counters: OnceLock<Counting>,
    /// The connections of HTTP.
    pub(crate) connections: LiveCount,
    pub(crate) websockets: LiveCount,
    /// `None` where connections are plain.
    pub(crate) tls: Option<ServerTls>,
    /// The places of each gateway.
    pub(crate) places: Vec<(&'static str, Places)>,
}

/// The market that is served.
pub struct HttpBackend {
    pub exchange: Arc<dyn Exchange>,
    pub asker: FeedHandle<Hub>,
    /// The database that has the history; `None` if the feed has it in files.
    pub records: Option<Arc<dyn HistoryPort>>,
    /// The port of the XML protocol, for the server's status; 0 without one.
    pub xml_port: u16,
    /// The port of FIX; 0 without one.
    pub fix_port: u16,
    /// Simulated traders that can be started here; `None` where they cannot.
    pub sandbox: Option<Arc<dyn Sandbox>>,
    /// The audit trail; `None` where it is not in files of this server.
    pub audit: Option<Arc<dyn AuditTrail>>,
    /// The past markets; `None` where the market has no journal of its own, or the settings want none.
    pub past: Option<Arc<dyn PastMarkets>>,
    /// The time of the last command before this server; 0 where there was none.
    pub time: Time,
}

/// The parts of a market that handlers use while it is served.
pub struct Served {
    pub about: About,
    pub(crate) asker: FeedHandle<Hub>,
    pub(crate) submitter: Submitter,
    /// The history, where a database keeps it.
    pub(crate) library: Option<SqlHistory>,
    pub(crate) xml_port: u16,
    pub(crate) fix_port: u16,
    pub(crate) sandbox: Option<Arc<dyn Sandbox>>,
    pub(crate) audit: Option<Arc<dyn AuditTrail>>,
    pub(crate) past: Option<Arc<dyn PastMarkets>>,
}

/// The state that all handlers share.
#[derive(Clone)]
pub struct AppState(Arc<Inner>);

struct Inner {
    status: Status,
    started: Instant,
    market: OnceLock<Served>,
    /// The paths of the dialect that is served, too.
    dialect: Option<DialectPaths>,
    /// Hosts that requests may name, beyond the usual ones.
    hosts: Vec<String>,
    /// `None` if every client may do everything.
    members: Option<Members>,
    /// Whether requests carry their callers.
    audit: bool,
    instruments: Instruments,
    /// Turns of replays, and of drop copies that catch up.
    replays: MemberTurns,
    /// Turns of drop copies that have caught up: they wait for no replay.
    live_copies: MemberTurns,
    /// Turns of reading the audit trail.
    audits: MemberTurns,
    /// Turns of the pages of the past that the feed reads from files.
    past_pages: MemberTurns,
    /// Turns of making a piece of a long answer.
    pieces: MemberTurns,
    /// Turns of reading the history for a piece of a long answer: a database may take its time for that.
    past_pieces: MemberTurns,
    /// Turns of gathering a long answer that is one message.
    gathering: MemberTurns,
    /// Turns of writing a piece of a long message.
    writing: MemberTurns,
    /// Turns of listing the open orders that a cancel of all cancels: it waits for no long answer.
    listing_open: MemberTurns,
    /// Turns of cancels of all orders of an account, which go on when their clients are gone.
    canceling: MemberTurns,
    /// Turns of canceling all orders of an account.
    cancels_in_turn: AccountTurns,
    /// A permit for each canceled order of a long list that its client has not taken yet.
    listing: Arc<Semaphore>,
    past_events: PastEventsRoom,
    telling: PublishCost,
    budget: OutboxBudget,
    /// Time for which a client of a WebSocket may send nothing, or take nothing.
    silence_max: Duration,
}

/// Pieces of long answers that are made at once, and lists of open orders that are to be canceled.
const PIECES_AT_ONCE: usize = 2;
/// Pieces of long answers for which the history is read at once: fewer than the questions that a database takes of one
/// member.
const PAST_PIECES_AT_ONCE: usize = 4;
/// Long answers that are gathered at once, over all clients: each takes memory until it is sent.
const GATHERED_AT_ONCE: usize = 4;
/// Cancels of all orders of an account that go on at once, over all clients; further ones wait for one to end.
const CANCELING_AT_ONCE: usize = 1024;
/// Canceled orders that wait in long lists to be told, over all clients: 32 MiB of ids.
const LISTED_AT_ONCE: usize = 4 << 20;

impl AppState {
    pub(crate) fn new(
        status: Status,
        (hosts, members, audit): (Vec<String>, Option<Members>, bool),
        silence_max: Duration,
        about: About,
        metrics: Metrics,
        (tls, places): (Option<ServerTls>, Vec<(&'static str, Places)>),
        dialect: Option<DialectPaths>,
    ) -> AppState {
        let (connections, websockets) = (LiveCount::default(), LiveCount::default());
        let rest = metrics.gateway(GATEWAY);
        let counters = OnceLock::new();
        let instruments = Instruments { about, metrics, rest, counters, connections, websockets, tls, places };
        AppState(Arc::new(Inner {
            status,
            started: Instant::now(),
            market: OnceLock::new(),
            dialect,
            hosts,
            members,
            audit,
            instruments,
            replays: MemberTurns::default(),
            live_copies: MemberTurns::default(),
            audits: MemberTurns::default(),
            past_pages: MemberTurns::default(),
            pieces: MemberTurns::of(PIECES_AT_ONCE),
            past_pieces: MemberTurns::of(PAST_PIECES_AT_ONCE),
            gathering: MemberTurns::of(GATHERED_AT_ONCE),
            writing: MemberTurns::default(),
            listing_open: MemberTurns::of(PIECES_AT_ONCE),
            canceling: MemberTurns::of(CANCELING_AT_ONCE),
            cancels_in_turn: AccountTurns::default(),
            listing: Arc::new(Semaphore::new(LISTED_AT_ONCE)),
            past_events: PastEventsRoom::default(),
            telling: PublishCost::default(),
            budget: OutboxBudget::default(),
            silence_max,
        }))
    }

    /// Serves a market from now on. Must be called within the runtime.
    pub(crate) fn open(&self, market: HttpBackend) {
        let HttpBackend { exchange, asker, records, xml_port, fix_port, sandbox, audit, past, time } = market;
        let Instruments { about, metrics, rest, counters, .. } = &self.0.instruments;
        for second in [Gauge::Subscribers, Gauge::RememberedBytes] {
            metrics.set(second, 0);
        }
        self.0.members.iter().for_each(|members| members.begin(time));
        let telling = self.0.telling.clone();
        asker.ask(move |model| model.watcher.count_with(telling));
        if let Some(counters) = counters.get() {
            let (counters, metrics, rest) = (counters.clone(), metrics.clone(), rest.clone());
            let access = self.members().map(|members| members.access().clone());
            let mode: ModeNow = Box::new(move || access.as_ref().map_or(Mode::Normal, |access| access.mode().get()));
            asker.ask(move |model| {
                model.watcher.measure_with(ServerStats::new(counters, metrics, rest, mode, &model.view))
            });
        }
        let submitter = Submitter::new(exchange, rest.clone());
        let library = records.map(SqlHistory::new);
        let about = about.clone();
        let served = Served { about, asker, submitter, library, xml_port, fix_port, sandbox, audit, past };
        if self.0.market.set(served).is_err() {
            tracing::error!("a market is served already");
        }
    }

    pub(crate) fn instruments(&self) -> &Instruments {
        &self.0.instruments
    }

    /// Returns the state of the server.
    pub fn status(&self) -> &Status {
        &self.0.status
    }

    pub(crate) fn started(&self) -> Instant {
        self.0.started
    }

    /// Returns the counter of the cost of writing to subscribers.
    pub(crate) fn telling(&self) -> &PublishCost {
        &self.0.telling
    }

    /// Returns the budget of what waits for all clients of WebSockets.
    pub(crate) fn budget(&self) -> &OutboxBudget {
        &self.0.budget
    }

    pub(crate) fn silence_max(&self) -> Duration {
        self.0.silence_max
    }

    /// Returns the paths of the dialect to which a path or a route belongs, and the rest behind the prefix; `None` for
    /// one of our own.
    pub(crate) fn in_dialect<'a>(&self, path: &'a str) -> Option<(&DialectPaths, &'a str)> {
        let dialect = self.0.dialect.as_ref()?;
        path.strip_prefix(dialect.prefix).map(|rest| (dialect, rest))
    }

    pub(crate) fn hosts(&self) -> &[String] {
        &self.0.hosts
    }

    /// Returns the members; `None` if every client may do everything.
    pub fn members(&self) -> Option<&Members> {
        self.0.members.as_ref()
    }

    /// Whether requests carry their callers.
    pub(crate) fn audits(&self) -> bool {
        self.0.audit
    }

    /// Returns the mode of the venue.
    pub fn mode(&self) -> Mode {
        self.members().map_or(Mode::Normal, |members| members.access().mode().get())
    }

    /// Whether the asker may look at this.
    pub fn may_read(&self, read: Read) -> bool {
        self.may_read_as(current_principal::asker().as_ref(), read)
    }

    /// Whether another asker may look at this.
    pub(crate) fn may_read_as(&self, asker: Option<&current_principal::Asker>, read: Read) -> bool {
        let may = |rights: &Rights| rights.may_read(read) && rights.may_look_in(self.mode());
        self.members().is_none() || asker.is_some_and(|asker| may(&asker.rights()))
    }

    /// Notes that the asker follows this from now on. Errors: it may not.
    pub fn follow(&self, read: Read) -> Result<(), Problem> {
        self.follow_as(current_principal::asker(), read)
    }

    /// Notes the same for another asker, which has proven its identity.
    pub fn follow_as(&self, asker: Option<current_principal::Asker>, read: Read) -> Result<(), Problem> {
        if self.members().is_none() {
            return Ok(());
        }
        let asker = asker.unwrap_or_else(|| current_principal::Asker::of(Principal::anonymous()));
        let (rights, mode) = (asker.rights(), self.mode());
        if !rights.roles.is_empty() && !rights.may_look_in(mode) {
            current_principal::turned_away(TurnedAway::Closed);
            return Err(Problem::unavailable(Unavailable::Closed(mode)));
        }
        if rights.may_read(read) {
            self.connects(&asker)?;
            let too_much = || Problem::malformed("this connection follows too much");
            return current_principal::follows(asker, read).then_some(()).ok_or_else(too_much);
        }
        let (why, problem) = match read {
            _ if rights.roles.is_empty() => (TurnedAway::Unproven, Problem::unknown_asker()),
            Read::Account(_) => (TurnedAway::NotTheirs, Problem::unknown_account()),
            Read::Anyone | Read::Market | Read::AllAccounts | Read::Venue => {
                (TurnedAway::NotPermitted, Problem::not_permitted())
            }
        };
        current_principal::turned_away(why);
        Err(problem)
    }

    /// Counts the connection among those of a member that has proven its identity. Errors: the member has as many as it
    /// may have.
    pub fn connects(&self, asker: &current_principal::Asker) -> Result<(), Problem> {
        let all = self.members().map(|members| members.access().connections());
        all.map_or(Ok(()), |all| current_principal::connects(all, &asker.principal)).map_err(Problem::past_limit)
    }

    /// Counts a client that is turned away.
    pub(crate) fn count_turned_away(&self, why: TurnedAway, address: IpAddr) {
        access::turn_away(&self.instruments().rest, why, address);
    }

    /// Counts a client that is turned away, and, where there are members, waits for the turn of a wrong proof's answer.
    /// Returns false if that is too far off: it is one try too many. Wrong proofs and replays count for their
    /// connection, too.
    pub async fn turn_away(&self, why: TurnedAway, life: &Life) -> bool {
        let address = life.there();
        let turn = self.members().filter(|_| why == TurnedAway::WrongProof).map(|members| members.wrong_turn(address));
        let is_too_many = turn.is_some_and(|turn| turn.is_err());
        self.count_turned_away(if is_too_many { TurnedAway::TooManyTries } else { why }, address);
        if let Some(Ok(turn)) = turn {
            sleep_until(turn.into()).await;
        }
        if turn.is_some() {
            life.proves_wrongly();
        } else if why == TurnedAway::Replayed {
            life.repeats();
        }
        !is_too_many
    }

    pub(crate) fn replays(&self) -> &MemberTurns {
        &self.0.replays
    }

    pub(crate) fn live_copies(&self) -> &MemberTurns {
        &self.0.live_copies
    }

    pub(crate) fn audits_in_turn(&self) -> &MemberTurns {
        &self.0.audits
    }

    pub(crate) fn past_pages(&self) -> &MemberTurns {
        &self.0.past_pages
    }

    pub(crate) fn pieces(&self) -> &MemberTurns {
        &self.0.pieces
    }

    pub(crate) fn past_pieces(&self) -> &MemberTurns {
        &self.0.past_pieces
    }

    /// Waits for a turn of the current member to gather a long answer that is one message.
    pub async fn gathers(&self) -> Turn {
        self.0.gathering.take(&current_principal::member()).await
    }

    pub(crate) fn listing_open(&self) -> &MemberTurns {
        &self.0.listing_open
    }

    pub(crate) fn canceling(&self) -> &MemberTurns {
        &self.0.canceling
    }

    pub(crate) fn cancels_in_turn(&self) -> &AccountTurns {
        &self.0.cancels_in_turn
    }

    pub(crate) fn listing(&self) -> &Arc<Semaphore> {
        &self.0.listing
    }

    pub(crate) fn past_events(&self) -> &PastEventsRoom {
        &self.0.past_events
    }

    pub(crate) fn writing(&self) -> &MemberTurns {
        &self.0.writing
    }

    /// Returns the market. Errors: there is none yet, or its feed has failed, without which no client gets the results
    /// of its requests.
    pub fn market(&self) -> Result<&Served, Problem> {
        let market = self.0.market.get().ok_or_else(Problem::not_ready)?;
        match market.asker.failure() {
            None => Ok(market),
            Some(_) => Err(Problem::no_feed()),
        }
    }

    /// Whether there is a market with a feed.
    pub(crate) fn has_market(&self) -> bool {
        self.0.market.get().is_some()
    }

    /// Returns the fault by which the feed has ended; `None` while it runs, and where there never was one.
    pub(crate) fn feed_failure(&self) -> Option<&FeedFailure> {
        self.0.market.get().and_then(|market| market.asker.failure())
    }

    /// Returns the way to the exchange. Errors: those of [`AppState::market`].
    pub fn submitter(&self) -> Result<&Submitter, Problem> {
        self.market().map(|market| &market.submitter)
    }

    /// Returns once reads from now on are certain: with a database, another server may have taken over unnoticed, and
    /// goes on where this one's view stands still. Files have no other server. Errors: the database is away.
    pub async fn ascertain(&self) -> Result<(), Problem> {
        let market = self.market()?;
        match market.about.is_database() {
            true => market.submitter.pass().await.map_err(|_| Problem::unavailable(Unavailable::StoreAway)),
            false => Ok(()),
        }
    }

    /// Looks at the market as it is after everything that was answered so far. If the client has left by then, nobody
    /// looks.
    pub async fn look<T: Send + 'static, F: FnOnce(&mut ReadModel<Hub>) -> T + Send + 'static>(
        &self,
        look: F,
    ) -> Result<T, Problem> {
        let (told, seen) = oneshot::channel();
        self.market()?.asker.ask_as(type_name::<F>(), move |model| {
            if !told.is_closed() {
                drop(told.send(look(model)));
            }
        });
        self.seen(seen).await
    }

    /// Looks at the read model as [`AppState::look`] does, to subscribe a client: with the next publishing. If the
    /// client has left by then, nobody looks.
    pub async fn subscribe<T: Send + 'static>(
        &self,
        outbox: &Outbox,
        look: impl FnOnce(&mut ReadModel<Hub>) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (told, seen) = oneshot::channel();
        let begin = move |model: &mut ReadModel<Hub>| drop(told.send(look(model)));
        let (outbox, client) = (outbox.clone(), outbox.client(&current_principal::member()));
        self.market()?.asker.ask(move |model| model.watcher.begin_next(client, outbox, begin));
        self.seen(seen).await
    }

    async fn seen<T>(&self, seen: oneshot::Receiver<T>) -> Result<T, Problem> {
        seen.await.map_err(|_| match self.status().get() {
            // The feed runs as long as the server: the question panicked, or the feed.
            State::Ready => Problem::fault(),
            State::Standby | State::Recovering | State::StoreAway | State::Stopping | State::Failed(_) => {
                Problem::not_ready()
            }
        })
    }
}
