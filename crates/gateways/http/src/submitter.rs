//! Hands ops to the exchange and brings back their answers. All ops that handlers submit in one turn of the event loop
//! go as one batch, except heavy requests: those go by themselves, so that light ones do not wait for them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::member_shares::MemberShares;
use crate::{current_caller, current_principal, timing};
use exchange::containment::{Part, contain};
use exchange::{
    Answer, Batch, Exchange, GatewayMetrics, Issue, Kind, LIGHT_COST, Outcome, ProtectorId, Requests, Source, Times,
    cost_of,
};
use terms::Op;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};

/// Permits of light requests, and as many again of heavy ones; further requests wait. A request takes one for each op,
/// and [`OF_REQUEST_MAX`] at most.
const IN_FLIGHT_MAX: usize = 4096;

/// The part of that which one request takes, at most. A kill of a member is a command for each of its accounts, and
/// only the last one costs more than a few bytes; others that ask much do not wait for all before it to end.
const OF_REQUEST_MAX: usize = IN_FLIGHT_MAX / 16;

/// The permits that heavy requests of one member have at once, so that those of others find room.
const HEAVY_OF_MEMBER: usize = IN_FLIGHT_MAX / 8;

/// The error where the result of a request is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

/// The way from handlers to the exchange.
#[derive(Clone)]
pub struct Submitter(Arc<Inner>);

struct Inner {
    exchange: Arc<dyn Exchange>,
    metrics: GatewayMetrics,
    room: Arc<Semaphore>,
    /// The permits for heavy requests: light ones wait for none of them.
    heavy_room: Arc<Semaphore>,
    /// The share of heavy requests that each member has at once; its further ones wait for those.
    heavy_shares: MemberShares,
    waiting: Mutex<NextBatch>,
    answered: mpsc::UnboundedSender<(Box<Batch>, Askers)>,
}

/// The requests of the next batch.
#[derive(Default)]
struct NextBatch {
    requests: Requests,
    askers: Askers,
    /// Whether one of them asks how long it takes.
    timed: bool,
}

/// The tasks that wait for a batch.
#[derive(Default)]
struct Askers {
    /// Senders of the answers, one for each request.
    asked: Vec<oneshot::Sender<RequestAnswers>>,
    /// Senders that only say that the batch is answered.
    passing: Vec<oneshot::Sender<()>>,
    /// The requests' permits. A client that hangs up does not get them back before its batch has left the exchange.
    room: Vec<OwnedSemaphorePermit>,
}

/// The answers for one request.
struct RequestAnswers {
    answers: Vec<Answer>,
    /// The ops as they were decided, if they asked for orders that end with the day.
    decided: Vec<Op>,
    /// The times of the batch on its way, and when it was back, if a request asked for them.
    journey: Option<(Times, Instant)>,
}

impl Submitter {
    /// Makes the submitter. Must be called within its runtime.
    pub fn new(exchange: Arc<dyn Exchange>, metrics: GatewayMetrics) -> Submitter {
        let (answered, mut batches) = mpsc::unbounded_channel::<(Box<Batch>, Askers)>();
        let watched = metrics.clone();
        tokio::spawn(async move {
            while let Some((batch, askers)) = batches.recv().await {
                let back = Instant::now();
                let handed_out = contain(Part::Http, || {
                    watched.came_back(&batch, back, done);
                    hand_out(&batch, back, askers);
                });
                // A request without an answer gets an unknown outcome; the next batch is handed out as ever.
                if let Err(panicked) = handed_out {
                    tracing::error!(%panicked, "answers were lost by a fault of the server; please report it");
                }
            }
        });
        let [room, heavy_room] = std::array::from_fn(|_| Arc::new(Semaphore::new(IN_FLIGHT_MAX)));
        let (heavy_shares, waiting) = (MemberShares::new(HEAVY_OF_MEMBER), Mutex::new(NextBatch::default()));
        Submitter(Arc::new(Inner { exchange, metrics, room, heavy_room, heavy_shares, waiting, answered }))
    }

    /// Submits consecutive ops, and returns an answer for each.
    pub async fn ask(&self, ops: &[Op]) -> Result<Vec<Answer>, Unknown> {
        Ok(self.ask_decided(ops).await?.0)
    }

    /// Submits ops, and also returns them as they were decided, if they ask for orders that end with the day. Otherwise
    /// it returns none, because nothing was to be decided.
    pub async fn ask_decided(&self, ops: &[Op]) -> Result<(Vec<Answer>, Vec<Op>), Unknown> {
        self.ask_all(ops, None, Requests::push).await
    }

    /// Submits one request, which `push` appends to the next batch.
    async fn ask_all(
        &self,
        ops: &[Op],
        protector: Option<ProtectorId>,
        push: impl FnOnce(&mut Requests, &[Op]),
    ) -> Result<(Vec<Answer>, Vec<Op>), Unknown> {
        let permits = u32::try_from(ops.len().min(OF_REQUEST_MAX)).map_err(|_| Unknown)?;
        // Ops that protect accounts come before the end of their connection, which is light.
        let is_heavy = protector.is_none() && cost_of(ops) > LIGHT_COST;
        let asker = current_principal::asker();
        let mut taken = Vec::new();
        if let Some(asker) = asker.as_ref().filter(|_| is_heavy) {
            let share = self.0.heavy_shares.of(asker.principal.member().to_owned());
            taken.push(share.acquire_many_owned(permits).await.map_err(|_| Unknown)?);
        }
        let room = if is_heavy { &self.0.heavy_room } else { &self.0.room };
        taken.push(Arc::clone(room).acquire_many_owned(permits).await.map_err(|_| Unknown)?);
        let (asked, answer) = oneshot::channel();
        let timed = timing::is_wanted();
        let add = |waiting: &mut NextBatch| {
            waiting.timed |= timed;
            push(&mut waiting.requests, ops);
            // Each request has its asker, whatever happens behind this.
            waiting.askers.asked.push(asked);
            waiting.askers.room.append(&mut taken);
            if let Some(asker) = &asker {
                waiting.requests.asked_by(&asker.principal);
                // The exchange counts the first request of a message, unless the gateway has counted the message.
                if current_principal::is_counted() {
                    waiting.requests.set_counted();
                }
                current_principal::set_counted(true);
            }
            if let Some(caller) = current_caller::caller(asker.as_ref().map(|asker| &asker.principal)) {
                waiting.requests.called_by(&caller);
            }
            if let Some(protector) = protector {
                waiting.requests.protected_by(protector);
            }
        };
        if is_heavy {
            let member = asker.as_ref().map(|asker| Source::member(asker.principal.member()));
            let mut alone = NextBatch::default();
            add(&mut alone);
            self.0.submit(alone, Some(member.unwrap_or_else(Source::connection)));
        } else {
            self.add(add);
        }
        let RequestAnswers { answers, decided, journey } = answer.await.map_err(|_| Unknown)?;
        if let (true, Some((times, back))) = (timed, journey) {
            timing::note(times, back);
        }
        Ok((answers, decided))
    }

    /// Submits an issue of shares. Returns an answer for each of its ops.
    pub async fn issue(&self, issue: &Issue) -> Result<Vec<Answer>, Unknown> {
        Ok(self.ask_all(&issue.ops(), None, |requests, _| requests.push_issue(issue)).await?.0)
    }

    /// Submits consecutive ops by which a connection protects accounts, or ends their protection.
    pub async fn ask_on(&self, ops: &[Op], protector: ProtectorId) -> Result<Vec<Answer>, Unknown> {
        Ok(self.ask_all(ops, Some(protector), Requests::push).await?.0)
    }

    /// Tells the exchange that a connection which protected accounts has ended, behind all its requests.
    pub fn depart(&self, protector: ProtectorId) {
        // While the runtime ends, nothing can hand it in, and the server ends with it.
        if tokio::runtime::Handle::try_current().is_ok() {
            let (passing, _) = oneshot::channel();
            self.add(|waiting| {
                waiting.requests.depart(protector);
                waiting.askers.passing.push(passing);
            });
        }
    }

    /// Goes the way of a query that asks for nothing: returns when requests of the same time are answered, so that the
    /// exchange was there after this was called, and everything that it had answered before is known. Errors: it
    /// refuses to answer, or that is not known.
    pub async fn pass(&self) -> Result<(), Unknown> {
        let (passing, passed) = oneshot::channel();
        self.add(|waiting| waiting.askers.passing.push(passing));
        passed.await.map_err(|_| Unknown)
    }

    /// Adds to the next batch. The first request hands it in, after handlers that are ready now have added theirs.
    fn add(&self, add: impl FnOnce(&mut NextBatch)) {
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let first = waiting.askers.asked.is_empty() && waiting.askers.passing.is_empty();
        add(&mut waiting);
        if first {
            let submitter = self.clone();
            tokio::spawn(async move {
                tokio::task::yield_now().await;
                submitter.0.submit_waiting();
            });
        }
    }
}

impl Inner {
    fn submit_waiting(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        self.submit(waiting, None);
    }

    /// Hands in a batch, which is heavy if it has a source.
    fn submit(&self, waiting: NextBatch, source: Option<Source>) {
        let NextBatch { mut requests, askers, timed } = waiting;
        if !askers.passing.is_empty() {
            // This request is for the exchange, whatever happens to the others.
            requests.push(&[]);
        }
        let answered = self.answered.clone();
        // When the runtime has ended, nothing waits.
        let mut batch = Batch::calling(move |batch| drop(answered.send((batch, askers))));
        batch.requests = requests;
        (batch.timed, batch.source) = (timed, source);
        self.metrics.hand_in(batch, &*self.exchange);
    }
}

/// The outcome, as it is counted, of an op about a done order, which is looked up in the history.
fn done(kind: Kind) -> Option<Outcome> {
    Some(if kind == Kind::Cancel { Outcome::Conflict } else { Outcome::Accepted })
}

/// Hands each request the answers to its ops. An abandoned batch has none, and its senders are dropped; nothing passes
/// with a refused one.
fn hand_out(batch: &Batch, back: Instant, askers: Askers) {
    if batch.is_abandoned() {
        return;
    }
    // A client that hung up does not want to know.
    for (request, asked) in askers.asked.into_iter().enumerate() {
        let ops = batch.requests.ops_of(request);
        let decided = if batch.requests.asks_for_days() { &batch.requests.ops()[ops.clone()] } else { &[] };
        let journey = batch.times.map(|times| (times, back));
        let _ = asked.send(RequestAnswers { answers: batch.answers[ops].to_vec(), decided: decided.to_vec(), journey });
    }
    for passing in askers.passing.into_iter().filter(|_| !batch.is_refused()) {
        let _ = passing.send(());
    }
}

#[cfg(test)]
mod tests {
    use exchange::{Lookup, Principal, Rights};
    use terms::{AccountId, OrderId, Query, Reject, Reply};

    use super::*;
    use crate::current_principal::Asker;

    /// An exchange that keeps what is handed in.
    #[derive(Default)]
    #[expect(clippy::vec_box, reason = "a batch is handed over by its pointer")]
    struct Keeps(Mutex<Vec<Box<Batch>>>);

    impl Exchange for Keeps {
        fn submit(&self, batch: Box<Batch>) {
            self.0.lock().expect("nobody panics").push(batch);
        }

        fn look_up(&self, _: Lookup) {}
    }

    impl Keeps {
        /// Returns, for each batch, whether it is heavy and how many ops it has.
        fn kept(&self) -> Vec<(bool, usize)> {
            let batches = self.0.lock().expect("nobody panics");
            batches.iter().map(|batch| (batch.source.is_some(), batch.requests.ops().len())).collect()
        }

        fn answer_all(&self) {
            let batches = std::mem::take(&mut *self.0.lock().expect("nobody panics"));
            for mut batch in batches {
                let answer = Answer::Reply(Reply::Rejected(Reject::UnknownOrder));
                batch.answers.resize(batch.requests.ops().len(), answer);
                batch.give_back();
            }
        }
    }

    /// A request of 4,096 commands took all the room there was, and all other requests waited until it was answered.
    /// Then it took all the room of heavy ones: a kill of a member waited for all of these, and later ones for it.
    #[tokio::test]
    async fn who_asks_much_waits_for_few_and_who_asks_little_for_none_of_them() {
        const AT_ONCE: usize = IN_FLIGHT_MAX / OF_REQUEST_MAX;
        let behind = Arc::new(Keeps::default());
        let submitter = Submitter::new(behind.clone(), GatewayMetrics::new("rest"));
        let ask = |count| {
            let account = AccountId::parse(b"1").expect("digits");
            let ops = vec![Op::Query(Query { account, order: OrderId(1).into() }); count];
            let submitter = submitter.clone();
            tokio::spawn(async move { submitter.ask(&ops).await })
        };
        let counts = [&[IN_FLIGHT_MAX; AT_ONCE + 1][..], &[1, 2]].concat();
        let asked: Vec<_> = counts.iter().map(|&count| ask(count)).collect();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let go_in = [&[(true, IN_FLIGHT_MAX); AT_ONCE][..], &[(false, 3)]].concat();
        assert_eq!(behind.kept(), go_in, "one that asks much waits for another");
        for _ in 0..100 {
            behind.answer_all();
            tokio::task::yield_now().await;
        }
        for (asked, count) in asked.into_iter().zip(counts) {
            let answers = asked.await.expect("it ends");
            assert_eq!(answers.map(|answers| answers.len()), Ok(count));
        }
    }

    /// One member with many connections had all room of heavy requests, and others waited behind each of its own.
    #[tokio::test]
    async fn heavy_requests_of_one_member_leave_room_for_those_of_others() {
        let behind = Arc::new(Keeps::default());
        let submitter = Submitter::new(behind.clone(), GatewayMetrics::new("rest"));
        let account = AccountId::parse(b"1").expect("digits");
        let ops = vec![Op::Query(Query { account, order: OrderId(1).into() }); IN_FLIGHT_MAX];
        let ask = |member: &'static str| {
            let (submitter, ops) = (submitter.clone(), ops.clone());
            let asker = Asker::of(Principal::new(member, Rights::default()));
            tokio::spawn(current_principal::as_asker(asker, async move { submitter.ask(&ops).await }))
        };
        let asked: Vec<_> = (0..40).map(|_| ask("alice")).chain([ask("bob")]).collect();
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        let sources: Vec<_> = behind.0.lock().expect("nobody panics").iter().map(|batch| batch.source).collect();
        let of = |member| sources.iter().filter(|source| **source == Some(Source::member(member))).count();
        assert_eq!((of("alice"), of("bob")), (HEAVY_OF_MEMBER / OF_REQUEST_MAX, 1));
        for _ in 0..200 {
            behind.answer_all();
            tokio::task::yield_now().await;
        }
        for asked in asked {
            assert_eq!(asked.await.expect("it ends").map(|answers| answers.len()), Ok(IN_FLIGHT_MAX));
        }
    }

    /// Clients that sent and hung up, again and again, filled the memory with batches that the exchange had not begun.
    #[tokio::test]
    async fn who_hangs_up_gets_its_room_back_with_the_batch() {
        const AT_ONCE: usize = IN_FLIGHT_MAX / OF_REQUEST_MAX;
        let behind = Arc::new(Keeps::default());
        let submitter = Submitter::new(behind.clone(), GatewayMetrics::new("rest"));
        let account = AccountId::parse(b"1").expect("digits");
        // Such a request goes by itself, and takes as much room as one request may.
        let ops = vec![Op::Query(Query { account, order: OrderId(1).into() }); IN_FLIGHT_MAX];
        let ask = || {
            let (submitter, ops) = (submitter.clone(), ops.clone());
            tokio::spawn(async move { submitter.ask(&ops).await })
        };
        for _ in 0..AT_ONCE {
            let asked = ask();
            tokio::task::yield_now().await;
            asked.abort();
            assert!(asked.await.is_err(), "it hung up");
        }
        assert_eq!(behind.kept().len(), AT_ONCE);
        let next = ask();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(behind.kept().len(), AT_ONCE, "the batches of those that hung up are still there");
        while !next.is_finished() {
            behind.answer_all();
            tokio::task::yield_now().await;
        }
        assert_eq!(next.await.expect("it ends").map(|answers| answers.len()), Ok(IN_FLIGHT_MAX));
    }
}
