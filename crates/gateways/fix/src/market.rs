//! The two ports that a session asks: the exchange does what it asks for, the feed knows what is open.

use std::sync::Arc;
use std::time::Instant;

use access::Access;
use exchange::{
    Answer, Batch, Caller, Exchange, GatewayMetrics, Kind, LIGHT_COST, LookedUpOrder, Lookup, Outcome, Principal,
    Requests, Source, cost_of,
};
use feed::{FeedHandle, Watcher};
use terms::{AccountId, Command, Execution, Op, OrderId, Reply, Symbol};
use tokio::sync::{Semaphore, oneshot};

use crate::listing_turns::ListingTurns;
use crate::report_queues::{Model, ReportQueues};

/// Ops of all sessions on their way, at most: this number for light requests and as many again for heavy ones. It is a
/// part of what one worker of the XML gateway may have.
const IN_FLIGHT_MAX: usize = 4096;
/// Mass cancels of all sessions that go on at once, at most; further ones wait for one to end.
const CANCELING_AT_ONCE: usize = 1024;
/// Executions of a done order that are added up, at most.
const EXECUTIONS_MAX: usize = 1 << 20;

pub(crate) type Question = Box<dyn FnOnce(&mut dyn Model) + Send>;

/// The ports behind the gateway. Clones share them.
#[derive(Clone)]
pub struct FixBackend(Arc<Inner>);

/// Gives the feed a question.
type Ask = Box<dyn Fn(Question) + Send + Sync>;
/// Says whether the feed runs.
type HasFeed = Box<dyn Fn() -> bool + Send + Sync>;

struct Inner {
    exchange: Arc<dyn Exchange>,
    ask: Ask,
    has_feed: HasFeed,
    access: Option<Access>,
    metrics: GatewayMetrics,
    audit: bool,
    /// Permits for ops on their way; further ops wait for one.
    room: Semaphore,
    heavy_room: Semaphore,
    /// Permits for mass cancels, which go on when their sessions are gone.
    canceling: Arc<Semaphore>,
    /// Permits for lists of open orders.
    listing: ListingTurns,
    /// The listener of all sessions.
    report_queues: Arc<ReportQueues>,
}

/// The client that asks.
pub(crate) struct Requester<'a> {
    pub(crate) principal: Option<&'a Principal>,
    pub(crate) caller: Option<&'a Arc<Caller>>,
    /// Whether what it asks for is counted already among the messages of its member.
    pub(crate) is_counted: bool,
}

/// The error where the result of an op is not known: the server ends, or the feed has ended.
pub(crate) struct Unknown;

impl FixBackend {
    /// Puts the ports together. `access`: the members; `None` if everybody may do everything. `audit`: whether the
    /// journal keeps the caller of each command.
    pub fn new<W: Watcher>(
        exchange: Arc<dyn Exchange>,
        asker: FeedHandle<W>,
        access: Option<Access>,
        metrics: GatewayMetrics,
        audit: bool,
    ) -> FixBackend {
        let looked_at = asker.clone();
        let has_feed = Box::new(move || looked_at.failure().is_none());
        let ask = Box::new(move |question: Question| asker.ask(move |model| question(model)));
        FixBackend::asking(exchange, (ask, has_feed), access, metrics, audit)
    }

    /// Puts the ports together; of the feed, what takes questions and what says whether it runs.
    pub(crate) fn asking(
        exchange: Arc<dyn Exchange>,
        (ask, has_feed): (Ask, HasFeed),
        access: Option<Access>,
        metrics: GatewayMetrics,
        audit: bool,
    ) -> FixBackend {
        let (room, heavy_room) = (Semaphore::new(IN_FLIGHT_MAX), Semaphore::new(IN_FLIGHT_MAX));
        let canceling = Arc::new(Semaphore::new(CANCELING_AT_ONCE));
        let listing = ListingTurns::new();
        let report_queues = Arc::new(ReportQueues::new(metrics.clone()));
        FixBackend(Arc::new(Inner {
            exchange,
            ask,
            has_feed,
            access,
            metrics,
            audit,
            room,
            heavy_room,
            canceling,
            listing,
            report_queues,
        }))
    }

    /// Whether the feed runs.
    pub(crate) fn has_feed(&self) -> bool {
        (self.0.has_feed)()
    }

    pub(crate) fn access(&self) -> Option<&Access> {
        self.0.access.as_ref()
    }

    pub(crate) fn metrics(&self) -> &GatewayMetrics {
        &self.0.metrics
    }

    /// Returns the listener of all sessions.
    pub(crate) fn report_queues(&self) -> &Arc<ReportQueues> {
        &self.0.report_queues
    }

    /// Returns the permits for lists of open orders.
    pub(crate) fn listing(&self) -> &ListingTurns {
        &self.0.listing
    }

    /// Whether the journal keeps the caller of each command.
    pub(crate) fn audits(&self) -> bool {
        self.0.audit
    }

    /// Submits ops, each as a request of its own. Returns the answers with the executions that they refer to.
    pub(crate) async fn submit(
        &self,
        ops: &[Op],
        who: &Requester<'_>,
    ) -> Result<(Vec<Answer>, Vec<Execution>), Unknown> {
        let permits = u32::try_from(ops.len().min(IN_FLIGHT_MAX)).map_err(|_| Unknown)?;
        let is_heavy = cost_of(ops) > LIGHT_COST;
        let room = if is_heavy { &self.0.heavy_room } else { &self.0.room };
        let _room = room.acquire_many(permits).await.map_err(|_| Unknown)?;
        let (back, answered) = oneshot::channel();
        let mut batch = Batch::calling(move |batch| drop(back.send(batch)));
        if who.is_counted {
            batch.requests.set_counted();
        }
        for op in ops {
            batch.requests.push(&[*op]);
            self.say_who(&mut batch.requests, who);
        }
        if is_heavy {
            let member = who.principal.map(|principal| Source::member(principal.member()));
            batch.source = Some(member.unwrap_or_else(Source::connection));
        }
        self.0.metrics.hand_in(batch, &*self.0.exchange);
        let mut batch = answered.await.map_err(|_| Unknown)?;
        self.0.metrics.came_back(&batch, Instant::now(), done);
        if batch.is_abandoned() {
            return Err(Unknown);
        }
        Ok((std::mem::take(&mut batch.answers), std::mem::take(&mut batch.executions)))
    }

    /// Cancels the open orders of an account, in one symbol or in all, in a task of its own: what has begun ends,
    /// whether its session waits for it or not.
    pub(crate) async fn cancel_all(
        &self,
        account: AccountId,
        symbol: Option<Symbol>,
        who: &Requester<'_>,
    ) -> Result<Answer, Unknown> {
        let place = Arc::clone(&self.0.canceling).acquire_owned().await.map_err(|_| Unknown)?;
        let (market, principal, caller) = (self.clone(), who.principal.cloned(), who.caller.cloned());
        let task = tokio::spawn(async move {
            let _place = place;
            let who = Requester { principal: principal.as_ref(), caller: caller.as_ref(), is_counted: false };
            market.cancel_in_steps(account, symbol, &who).await
        });
        task.await.map_err(|_| Unknown)?
    }

    /// Goes on with a cancel of all orders, of which one command ends no more than so many, until none is left of those
    /// that were there. Gives one answer for all.
    async fn cancel_in_steps(
        &self,
        account: AccountId,
        symbol: Option<Symbol>,
        who: &Requester<'_>,
    ) -> Result<Answer, Unknown> {
        let (mut canceled, mut through, mut first) = (0usize, None, None);
        loop {
            let op = Op::Command(Command::CancelAll { account, symbol, through });
            let (answers, _) = self.submit(&[op], who).await?;
            let answer = answers.into_iter().next().ok_or(Unknown)?;
            let (sequence, is_over) = match (answer, first) {
                (Answer::Reply(Reply::CanceledAll { orders, left, sequence }), _) => {
                    (canceled, through) = (canceled.saturating_add(orders), left);
                    (*first.get_or_insert(sequence), left.is_none())
                }
                (_, Some(sequence)) => (sequence, true),
                (answer, None) => return Ok(answer),
            };
            if is_over {
                return Ok(Answer::Reply(Reply::CanceledAll { orders: canceled, left: through, sequence }));
            }
        }
    }

    fn say_who(&self, requests: &mut Requests, who: &Requester<'_>) {
        if let Some(principal) = who.principal {
            requests.asked_by(principal);
        }
        if let Some(caller) = who.caller {
            requests.called_by(caller);
        }
    }

    /// Looks up a done order in the history.
    pub(crate) async fn look_up(&self, op: Op, order: OrderId) -> Result<(Answer, Vec<Execution>), Unknown> {
        for executions_max in [None, Some(EXECUTIONS_MAX)] {
            let (back, found) = oneshot::channel();
            let lookup = Lookup::new(std::iter::once(LookedUpOrder::done(&op, order)), executions_max, move |lookup| {
                drop(back.send(lookup));
            });
            self.0.exchange.look_up(lookup);
            let lookup = found.await.map_err(|_| Unknown)?;
            if !lookup.is_too_short() {
                let mut executions = Vec::new();
                let answer = lookup.answers(&mut executions).answer(&op, Answer::Reply(Reply::Done(order)));
                return Ok((answer, executions));
            }
        }
        Err(Unknown)
    }

    /// Looks at the market as it is after everything that was answered. Errors: the feed has ended.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut dyn Model) -> T + Send + 'static,
    ) -> Result<T, Unknown> {
        let (told, seen) = oneshot::channel();
        (self.0.ask)(Box::new(move |model| drop(told.send(look(model)))));
        seen.await.map_err(|_| Unknown)
    }
}

/// The outcome, as it is counted, of an op about a done order, which is looked up in the history.
fn done(kind: Kind) -> Option<Outcome> {
    Some(if kind == Kind::Query { Outcome::Accepted } else { Outcome::Conflict })
}

/// The order that an answer reports as done.
pub(crate) fn done_order(answer: &Answer) -> Option<OrderId> {
    match answer {
        Answer::Reply(Reply::Done(order)) => Some(*order),
        Answer::Reply(_) | Answer::Unavailable(_) => None,
    }
}
