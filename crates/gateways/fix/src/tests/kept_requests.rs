//! Ports for tests: they keep what a session asks for, until the test answers.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use exchange::{Answer, Batch, Exchange, GatewayMetrics, Lookup};
use feed::{Listener, View};
use terms::{AccountIndex, Reject, Reply};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::market::{FixBackend, Question};
use crate::message::Message;
use crate::report_queues::{Model, QueuedReports, ReportQueue};
use crate::session::{Logon, Session};
use crate::trader::Trader;

/// All that was asked for and is not answered.
#[derive(Default)]
pub(crate) struct KeptRequests {
    #[expect(clippy::vec_box, reason = "a batch is handed over by its pointer")]
    pub(crate) batches: Mutex<Vec<Box<Batch>>>,
    pub(crate) lookups: Mutex<Vec<Lookup>>,
    pub(crate) questions: Mutex<Vec<Question>>,
}

/// A read model into which no test looks.
pub(crate) struct Unseen;

impl KeptRequests {
    /// Returns the ports, and the gateway's end of them.
    pub(crate) fn new() -> (Arc<KeptRequests>, FixBackend) {
        let kept = Arc::<KeptRequests>::default();
        let questions = Arc::clone(&kept);
        let ask = move |question: Question| questions.questions.lock().expect("nobody panics").push(question);
        let feed = (Box::new(ask) as Box<_>, Box::new(|| true) as Box<_>);
        let exchange: Arc<dyn Exchange> = Arc::<KeptRequests>::clone(&kept);
        let market = FixBackend::asking(exchange, feed, None, GatewayMetrics::new("fix"), false);
        (kept, market)
    }

    /// Returns the numbers of batches and of look-ups that wait.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let batches = self.batches.lock().expect("nobody panics").len();
        (batches, self.lookups.lock().expect("nobody panics").len())
    }

    /// Answers all batches: each op names an unknown order.
    pub(crate) fn refuse_batches(&self) {
        for batch in std::mem::take(&mut *self.batches.lock().expect("nobody panics")) {
            let answers = vec![Answer::Reply(Reply::Rejected(Reject::UnknownOrder)); batch.requests.ops().len()];
            answer(batch, answers);
        }
    }
}

/// Gives a batch back with these answers.
pub(crate) fn answer(mut batch: Box<Batch>, answers: Vec<Answer>) {
    batch.answers = answers;
    batch.give_back();
}

/// Begins a session and its trader.
pub(crate) fn log_on(market: &FixBackend) -> (Session, Trader, UnboundedReceiver<QueuedReports>) {
    let logon = "35=A|49=ALICE|56=PRICETIME|34=1|52=20260101-00:00:00|98=0|108=30|".replace('|', "\x01");
    let message = Message::read(logon.as_bytes()).expect("it is one");
    let session = Session::begin(&Logon::read(&message, None).expect("it is a Logon"), Instant::now());
    let (queue, reports) = ReportQueue::new();
    let trader = Trader::new(market.clone(), None, IpAddr::V4(Ipv4Addr::LOCALHOST), None, queue);
    (session, trader, reports)
}

impl Exchange for KeptRequests {
    fn submit(&self, batch: Box<Batch>) {
        self.batches.lock().expect("nobody panics").push(batch);
    }

    fn look_up(&self, lookup: Lookup) {
        self.lookups.lock().expect("nobody panics").push(lookup);
    }
}

impl Model for Unseen {
    fn view(&self) -> &View {
        unreachable!("nobody looks")
    }

    fn listen(&mut self, _: AccountIndex, _: &Arc<dyn Listener>) {}
}
