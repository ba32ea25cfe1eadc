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
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::member_turns::MemberTurns;
use crate::report_queues::{Model, ReportQueues};

/// Ops of all sessions on their way, at most: this number for light requests and as many again for heavy ones. It is a
/// part of what one worker of the XML gateway may have.
const IN_FLIGHT_MAX: usize = 4096;
/// Mass cancels of all sessions that go on at once, at most; further ones wait for one to end.
const CANCELING_AT_ONCE: usize = 1024;
/// Executions of a done order that are added up, at most.
const EXECUTIONS_MAX: usize = 1 << 20;
/// Short look-ups of all sessions that the history has not answered, at most.
const SHORT_LOOKUPS_AT_ONCE: usize = 64;

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
    room: Arc<Semaphore>,
    heavy_room: Arc<Semaphore>,
    /// Permits for mass cancels, which go on when their sessions are gone.
    canceling: Arc<Semaphore>,
    /// Permits for lists of open orders.
    listing: MemberTurns,
    /// Permits for short look-ups in the history.
    short_lookups: Arc<Semaphore>,
    /// Permits for long ones.
    long_lookups: MemberTurns,
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

/// An answered batch on its way to the session that handed it in, whether that one still waits for it or not.
struct ReturnedBatch {
    /// `None` once it is counted.
    batch: Option<Box<Batch>>,
    metrics: GatewayMetrics,
    /// Permits for its ops. A client that hangs up does not get them back before its batch has left the exchange.
    _room: OwnedSemaphorePermit,
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
        let permits = |count| Arc::new(Semaphore::new(count));
        let (room, heavy_room) = (permits(IN_FLIGHT_MAX), permits(IN_FLIGHT_MAX));
        let (canceling, short_lookups) = (permits(CANCELING_AT_ONCE), permits(SHORT_LOOKUPS_AT_ONCE));
        let (listing, long_lookups) = (MemberTurns::new(), MemberTurns::new());
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
            short_lookups,
            long_lookups,
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
    pub(crate) fn listing(&self) -> &MemberTurns {
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
        let room = Arc::clone(room).acquire_many_owned(permits).await.map_err(|_| Unknown)?;
        let (back, answered) = oneshot::channel();
        let metrics = self.0.metrics.clone();
        let mut batch = Batch::calling(move |batch| {
            drop(back.send(ReturnedBatch { batch: Some(batch), metrics, _room: room }));
        });
        for op in ops {
            batch.requests.push(&[*op]);
            self.say_who(&mut batch.requests, who);
            if who.is_counted {
                batch.requests.set_counted();
            }
        }
        if is_heavy {
            let member = who.principal.map(|principal| Source::member(principal.member()));
            batch.source = Some(member.unwrap_or_else(Source::connection));
        }
        self.0.metrics.hand_in(batch, &*self.0.exchange);
        let mut batch = answered.await.map_err(|_| Unknown)?.count().ok_or(Unknown)?;
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
            // All steps are one message of the client.
            let who = Requester { is_counted: who.is_counted || first.is_some(), ..*who };
            let (answers, _) = self.submit(&[op], &who).await?;
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

    /// Looks up a done order in the history: in a long look-up where a short one finds too much.
    pub(crate) async fn look_up(
        &self,
        op: Op,
        order: OrderId,
        member: Option<&str>,
    ) -> Result<(Answer, Vec<Execution>), Unknown> {
        let room = Arc::clone(&self.0.short_lookups).acquire_owned().await.map_err(|_| Unknown)?;
        let mut lookup = self.hand_in_lookup(op, order, None, room).await?;
        if lookup.is_too_short() {
            let turn = self.0.long_lookups.take(member).await;
            lookup = self.hand_in_lookup(op, order, Some(EXECUTIONS_MAX), turn).await?;
        }
        let mut executions = Vec::new();
        let answer = lookup.answers(&mut executions).answer(&op, Answer::Reply(Reply::Done(order)));
        Ok((answer, executions))
    }

    /// Hands a look-up in and waits until it is back. Its permit comes back with it, whether its session waits or not.
    async fn hand_in_lookup(
        &self,
        op: Op,
        order: OrderId,
        executions_max: Option<usize>,
        permit: impl Send + 'static,
    ) -> Result<Lookup, Unknown> {
        let (back, found) = oneshot::channel();
        let lookup = Lookup::new(std::iter::once(LookedUpOrder::done(&op, order)), executions_max, move |lookup| {
            drop(permit);
            drop(back.send(lookup));
        });
        self.0.exchange.look_up(lookup);
        found.await.map_err(|_| Unknown)
    }

    /// Looks at the market as it is after everything that was answered. Errors: the feed has ended.
    pub(crate) async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut dyn Model) -> T + Send + 'static,
    ) -> Result<T, Unknown> {
        let (told, seen) = oneshot::channel();
        (self.0.ask)(Box::new(move |model| {
            // A client that has hung up needs no answer.
            if !told.is_closed() {
                drop(told.send(look(model)));
            }
        }));
        seen.await.map_err(|_| Unknown)
    }
}

impl ReturnedBatch {
    /// Counts the batch, and returns it, once.
    fn count(&mut self) -> Option<Box<Batch>> {
        let batch = self.batch.take()?;
        self.metrics.came_back(&batch, Instant::now(), done);
        Some(batch)
    }
}

impl Drop for ReturnedBatch {
    fn drop(&mut self) {
        // The client hung up: its ops were done all the same.
        drop(self.count());
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

#[cfg(test)]
mod tests {
    use std::pin::{Pin, pin};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Poll, Waker};

    use exchange::Unavailable;
    use terms::Query;

    use super::*;
    use crate::tests::kept_requests::{KeptRequests, Unseen};

    fn query(order: u64) -> Op {
        Op::Query(Query { account: AccountId::parse(b"1").expect("digits"), order: OrderId(order).into() })
    }

    /// Polls what goes on, and says which of it is ready.
    fn ready<Work: Future>(all: &mut [Option<Pin<Box<Work>>>; 3]) -> [bool; 3] {
        let mut context = Context::from_waker(Waker::noop());
        all.each_mut().map(|work| work.as_mut().is_some_and(|work| work.as_mut().poll(&mut context).is_ready()))
    }

    /// Clients that asked and hung up, again and again, had the feed look at the market for each of them.
    #[test]
    fn a_question_whose_asker_is_gone_is_not_looked_up() {
        let ((kept, market), looks) = (KeptRequests::new(), Arc::new(AtomicUsize::new(0)));
        let mut context = Context::from_waker(Waker::noop());
        let look = || {
            let looks = Arc::clone(&looks);
            market.look(move |_: &mut dyn Model| looks.fetch_add(1, Ordering::Relaxed))
        };
        let mut stays = pin!(look());
        assert!(stays.as_mut().poll(&mut context).is_pending());
        assert!(pin!(look()).poll(&mut context).is_pending());
        let questions = std::mem::take(&mut *kept.questions.lock().expect("nobody panics"));
        assert_eq!(questions.len(), 2);
        questions.into_iter().for_each(|question| question(&mut Unseen));
        assert!(matches!(stays.poll(&mut context), Poll::Ready(Ok(0))));
        assert_eq!(looks.load(Ordering::Relaxed), 1, "the other one hung up");
    }

    /// Clients that sent and hung up, again and again, filled the memory with batches that the exchange had not begun.
    #[test]
    fn who_hangs_up_gets_its_room_back_with_the_batch() {
        let (kept, market) = KeptRequests::new();
        let mut context = Context::from_waker(Waker::noop());
        let ops = vec![query(1); IN_FLIGHT_MAX];
        let who = Requester { principal: None, caller: None, is_counted: false };
        assert!(pin!(market.submit(&ops, &who)).poll(&mut context).is_pending());
        let mut next = pin!(market.submit(&ops, &who));
        assert!(next.as_mut().poll(&mut context).is_pending());
        assert_eq!(kept.counts(), (1, 0), "the batch of the one that hung up is still there");
        kept.refuse_batches();
        assert_eq!(market.metrics().ops_in_flight(), 0, "a batch that came back is not in flight");
        assert!(next.as_mut().poll(&mut context).is_pending());
        assert_eq!(kept.counts(), (1, 0));
        kept.refuse_batches();
        let Poll::Ready(Ok((answers, _))) = next.poll(&mut context) else { panic!("it is answered") };
        assert_eq!((answers.len(), market.metrics().ops_in_flight()), (IN_FLIGHT_MAX, 0));
    }

    /// A member with many sessions had the history work on a long look-up for each of them, and others wait for all.
    #[test]
    fn a_member_has_one_long_look_up_at_a_time() {
        let (kept, market) = KeptRequests::new();
        let look_up = |member| market.look_up(query(7), OrderId(7), Some(member));
        let mut sessions = ["alice", "alice", "bob"].map(|member| Some(Box::pin(look_up(member))));
        assert_eq!(ready(&mut sessions), [false; 3]);
        let shorts = std::mem::take(&mut *kept.lookups.lock().expect("nobody panics"));
        assert_eq!(shorts.len(), 3);
        for mut short in shorts {
            short.cut();
            short.give_back();
        }
        assert_eq!(ready(&mut sessions), [false; 3]);
        assert_eq!(kept.counts(), (0, 2), "one of each member");
        let [first, _, _] = &mut sessions;
        *first = None;
        assert_eq!(ready(&mut sessions), [false; 3]);
        assert_eq!(kept.counts(), (0, 2), "the long look-up of the session that hung up goes on");
        for long in std::mem::take(&mut *kept.lookups.lock().expect("nobody panics")) {
            assert!(long.is_long());
            long.refuse(Unavailable::Stopping);
        }
        assert_eq!(ready(&mut sessions), [false, false, true]);
        assert_eq!(kept.counts(), (0, 1));
    }
}
