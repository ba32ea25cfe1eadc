//! Hands ops to the exchange and brings back their answers. All ops that handlers submit in one turn of the event loop
//! go as one batch, but for those of who asks much at once: they go by themselves, so that the others do not wait for
//! them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::{asking, calling, timing};
use engine::Op;
use exchange::containment::{Part, contain};
use exchange::{
    Answer, Batch, Exchange, GatewayMetrics, Kind, LIGHT_COST, Outcome, ProtectorId, Requests, Source, Times, cost_of,
};
use tokio::sync::{Semaphore, mpsc, oneshot};

/// The most ops in flight, of light requests and of heavy ones each; further ones wait. A part of what one gateway
/// worker may have.
const IN_FLIGHT_MAX: usize = 4096;

/// Why there is no answer: nobody knows yet what becomes of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown;

/// The way from handlers to the exchange.
#[derive(Clone)]
pub struct Submitter(Arc<Inner>);

struct Inner {
    exchange: Arc<dyn Exchange>,
    metrics: GatewayMetrics,
    room: Semaphore,
    /// For those who ask much at once: the others wait for none of them.
    heavy_room: Semaphore,
    waiting: Mutex<Waiting>,
    answered: mpsc::UnboundedSender<(Box<Batch>, Askers)>,
}

/// What the next batch takes along.
#[derive(Default)]
struct Waiting {
    requests: Requests,
    askers: Askers,
    /// Whether one of them wants to know how long it takes.
    timed: bool,
}

/// Who waits for a batch.
#[derive(Default)]
struct Askers {
    /// For what is told to them, one for each request.
    asked: Vec<oneshot::Sender<Told>>,
    /// Only for the batch to be answered.
    passing: Vec<oneshot::Sender<()>>,
}

/// What an asker is told.
struct Told {
    answers: Vec<Answer>,
    /// The ops as they were decided, if they asked for orders that end with the day.
    decided: Vec<Op>,
    /// When the batch was where, and when it was back, if somebody wanted to know.
    journey: Option<(Times, Instant)>,
}

impl Submitter {
    /// Of the runtime that it is made in.
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
                // Whoever was not handed an answer is told that the outcome is unknown; the next batch is handed out as
                // ever.
                if let Err(panicked) = handed_out {
                    tracing::error!(%panicked, "answers were lost by a fault of the server; please report it");
                }
            }
        });
        let (room, heavy_room) = (Semaphore::new(IN_FLIGHT_MAX), Semaphore::new(IN_FLIGHT_MAX));
        let waiting = Mutex::new(Waiting::default());
        Submitter(Arc::new(Inner { exchange, metrics, room, heavy_room, waiting, answered }))
    }

    /// Has consecutive ops done, and gives an answer for each.
    pub async fn ask(&self, ops: &[Op]) -> Result<Vec<Answer>, Unknown> {
        Ok(self.ask_decided(ops).await?.0)
    }

    /// The same; gives also the ops as they were decided, if they ask for orders that end with the day. Otherwise none, for nothing was to
    /// be decided.
    pub async fn ask_decided(&self, ops: &[Op]) -> Result<(Vec<Answer>, Vec<Op>), Unknown> {
        self.ask_all(ops, None).await
    }

    async fn ask_all(&self, ops: &[Op], protector: Option<ProtectorId>) -> Result<(Vec<Answer>, Vec<Op>), Unknown> {
        let permits = u32::try_from(ops.len().min(IN_FLIGHT_MAX)).map_err(|_| Unknown)?;
        // What protects accounts stands before the end of its connection, which is light.
        let is_heavy = protector.is_none() && cost_of(ops) > LIGHT_COST;
        let room = if is_heavy { &self.0.heavy_room } else { &self.0.room };
        let _room = room.acquire_many(permits).await.map_err(|_| Unknown)?;
        let (asked, answer) = oneshot::channel();
        let (timed, asker) = (timing::is_wanted(), asking::asker());
        let add = |waiting: &mut Waiting| {
            waiting.timed |= timed;
            waiting.requests.push(ops);
            // Each request has its asker, whatever happens behind this.
            waiting.askers.asked.push(asked);
            if let Some(asker) = &asker {
                waiting.requests.asked_by(&asker.principal);
                // The exchange counts it.
                asking::set_counted(true);
            }
            if let Some(caller) = calling::caller(asker.as_ref().map(|asker| &asker.principal)) {
                waiting.requests.called_by(&caller);
            }
            if let Some(protector) = protector {
                waiting.requests.protected_by(protector);
            }
        };
        if is_heavy {
            let member = asker.as_ref().map(|asker| Source::member(asker.principal.member()));
            let mut alone = Waiting::default();
            add(&mut alone);
            self.0.submit(alone, Some(member.unwrap_or_else(Source::connection)));
        } else {
            self.add(add);
        }
        let Told { answers, decided, journey } = answer.await.map_err(|_| Unknown)?;
        if let (true, Some((times, back))) = (timed, journey) {
            timing::note(times, back);
        }
        Ok((answers, decided))
    }

    /// Has consecutive ops done by which a connection protects accounts, or does so no longer.
    pub async fn ask_on(&self, ops: &[Op], protector: ProtectorId) -> Result<Vec<Answer>, Unknown> {
        Ok(self.ask_all(ops, Some(protector)).await?.0)
    }

    /// Says that a connection which protected accounts has ended, behind all that came over it.
    pub fn depart(&self, protector: ProtectorId) {
        // While the runtime ends there is nobody to hand it in, and the server ends with it.
        if tokio::runtime::Handle::try_current().is_ok() {
            let (passing, _) = oneshot::channel();
            self.add(|waiting| {
                waiting.requests.depart(protector);
                waiting.askers.passing.push(passing);
            });
        }
    }

    /// Takes the way of a query that asks for nothing: returns when what was asked at the same time is answered, so that
    /// the exchange was there after this was called, and all that it had answered before is known. Errors: it refuses to
    /// answer, or nobody knows.
    pub async fn pass(&self) -> Result<(), Unknown> {
        let (passing, passed) = oneshot::channel();
        self.add(|waiting| waiting.askers.passing.push(passing));
        passed.await.map_err(|_| Unknown)
    }

    /// Adds to the next batch. The first one hands it in, when handlers that are ready now have come along.
    fn add(&self, add: impl FnOnce(&mut Waiting)) {
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
    fn submit(&self, waiting: Waiting, source: Option<Source>) {
        let Waiting { mut requests, askers, timed } = waiting;
        if !askers.passing.is_empty() {
            // Whatever becomes of the others, this one is for the exchange.
            requests.push(&[]);
        }
        let answered = self.answered.clone();
        // When the runtime has ended nobody waits.
        let mut batch = Batch::calling(move |batch| drop(answered.send((batch, askers))));
        batch.requests = requests;
        (batch.timed, batch.source) = (timed, source);
        self.metrics.hand_in(batch, &*self.exchange);
    }
}

/// What becomes of an op about an order that is done: it is looked up in the history.
fn done(kind: Kind) -> Option<Outcome> {
    Some(if kind == Kind::Cancel { Outcome::Conflict } else { Outcome::Accepted })
}

/// Gives everybody the answers to its ops. Of an abandoned batch nobody gets any, and nobody passes with a refused one.
fn hand_out(batch: &Batch, back: Instant, askers: Askers) {
    if batch.is_abandoned() {
        return;
    }
    // Whoever hung up does not want to know.
    for (request, asked) in askers.asked.into_iter().enumerate() {
        let ops = batch.requests.ops_of(request);
        let decided = if batch.requests.asks_for_days() { &batch.requests.ops()[ops.clone()] } else { &[] };
        let journey = batch.times.map(|times| (times, back));
        let _ = asked.send(Told { answers: batch.answers[ops].to_vec(), decided: decided.to_vec(), journey });
    }
    for passing in askers.passing.into_iter().filter(|_| !batch.is_refused()) {
        let _ = passing.send(());
    }
}

#[cfg(test)]
mod tests {
    use engine::{AccountId, OrderId, Query, Reject, Reply};
    use exchange::Lookup;

    use super::*;

    /// Keeps what is handed in.
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
        /// Of each batch, whether it is heavy and how many ops it has.
        fn kept(&self) -> Vec<(bool, usize)> {
            let batches = self.0.lock().expect("nobody panics");
            batches.iter().map(|batch| (batch.source.is_some(), batch.requests.ops().len())).collect()
        }
    }

    /// A request of 4,096 commands took all the room there was, and every other request waited until it was answered.
    #[tokio::test]
    async fn who_asks_little_waits_for_nobody_who_asks_much() {
        let behind = Arc::new(Keeps::default());
        let submitter = Submitter::new(behind.clone(), GatewayMetrics::new("rest"));
        let ask = |count| {
            let account = AccountId::parse(b"1").expect("digits");
            let ops = vec![Op::Query(Query { account, order: OrderId(1).into() }); count];
            let submitter = submitter.clone();
            tokio::spawn(async move { submitter.ask(&ops).await })
        };
        let asked = [ask(IN_FLIGHT_MAX), ask(IN_FLIGHT_MAX), ask(1), ask(2)];
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(behind.kept(), [(true, IN_FLIGHT_MAX), (false, 3)], "the second that asks much waits for the first");
        for _ in 0..100 {
            let batches = std::mem::take(&mut *behind.0.lock().expect("nobody panics"));
            for mut batch in batches {
                let answer = Answer::Reply(Reply::Rejected(Reject::UnknownOrder));
                batch.answers.resize(batch.requests.ops().len(), answer);
                batch.give_back();
            }
            tokio::task::yield_now().await;
        }
        for (asked, count) in asked.into_iter().zip([IN_FLIGHT_MAX, IN_FLIGHT_MAX, 1, 2]) {
            let answers = asked.await.expect("it ends");
            assert_eq!(answers.map(|answers| answers.len()), Ok(count));
        }
    }
}
