//! A panic while one look-up is answered, over a disk that panics.

use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use engine::{DoneOrders, Engine};
use exchange::containment::{Contained, panicked};
use exchange::{Answer, EventBatch};
use history::History;
use journal::simulated::SimulatedDisk;
use journal::{File, Storage};
use terms::{AccountId, Command, Entry, Money, NewOrder, Op, Place, Price, Query, Reply, Shares, Side, Symbol};

use super::*;

const ORDERS: u64 = 3;

/// A disk whose next read panics once somebody says so.
#[derive(Clone)]
struct PanickingDisk {
    disk: SimulatedDisk,
    panics: Arc<AtomicBool>,
}

#[derive(Debug)]
struct PanickingFile<F> {
    file: F,
    panics: Arc<AtomicBool>,
}

impl PanickingDisk {
    fn file<F>(&self, file: F) -> PanickingFile<F> {
        PanickingFile { file, panics: Arc::clone(&self.panics) }
    }
}

impl Storage for PanickingDisk {
    type File = PanickingFile<<SimulatedDisk as Storage>::File>;

    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }

    fn create(&self, name: &str) -> io::Result<Self::File> {
        self.disk.create(name).map(|file| self.file(file))
    }

    fn open(&self, name: &str) -> io::Result<Self::File> {
        self.disk.open(name).map(|file| self.file(file))
    }

    fn folder(&self, name: &str) -> io::Result<Self> {
        Ok(PanickingDisk { disk: self.disk.folder(name)?, panics: Arc::clone(&self.panics) })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.disk.sync_directory()
    }

    fn free_bytes(&self) -> io::Result<u64> {
        self.disk.free_bytes()
    }

    fn displaced(&self) -> Option<String> {
        self.disk.displaced()
    }
}

impl<F: File> File for PanickingFile<F> {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        assert!(!self.panics.swap(false, Ordering::SeqCst), "planted in a read");
        self.file.read_exact_at(bytes, offset)
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }

    fn allocate(&self, length: u64) -> io::Result<()> {
        self.file.allocate(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }
}

/// The log of a test.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn account() -> AccountId {
    AccountId::parse(b"1").expect("digits")
}

/// Applies a command, and has the history follow it.
fn apply(engine: &mut Engine, history: &mut History, command: Command) {
    let sequence = engine.sequence().next();
    let (entry, mut batch) = (Entry { sequence, time: Time(sequence.0), command }, EventBatch::default());
    engine.apply(&entry, &mut Vec::new(), &mut |event| batch.add(sequence, event));
    batch.seal(sequence, entry.time);
    history.follow(&batch).expect("a disk without faults");
}

/// Makes a history of orders that are canceled, all of which is written.
fn canceled_orders(disk: &PanickingDisk) -> SharedHistory {
    let mut engine = Engine::new(1, DoneOrders::Drop);
    let mut history = History::open(disk, &engine).expect("a history");
    let (account, symbol) = (account(), Symbol::parse(b"S").expect("a letter"));
    let (limit, shares) = (Price::from_units(1).expect("a price"), Shares::from_units(1).expect("shares"));
    apply(&mut engine, &mut history, Command::CreateSymbol { symbol });
    apply(&mut engine, &mut history, Command::CreateAccount { account, balance: Money::from_units(1 << 40) });
    let order = NewOrder::limit(symbol, Side::Buy, limit, shares);
    for number in 1..=ORDERS {
        apply(&mut engine, &mut history, Command::Place(Place::order(account, order)));
        apply(&mut engine, &mut history, Command::CancelOrder { account, order: OrderId(number).into() });
    }
    history.checkpoint().expect("a disk without faults");
    SharedHistory::new(history)
}

/// Asks for orders in one look-up. `then` is called when it is answered, on the reader's thread.
fn ask(lookups: &Sender<Lookup>, orders: &[u64], then: impl FnOnce() + Send + 'static) -> Receiver<Vec<Answer>> {
    let (tell, told) = channel();
    let queries: Vec<(Op, OrderId)> = orders
        .iter()
        .map(|number| {
            let order = OrderId(*number);
            (Op::Query(Query { account: account(), order: order.into() }), order)
        })
        .collect();
    let asked: Vec<LookedUpOrder> = queries.iter().map(|(op, order)| LookedUpOrder::done(op, *order)).collect();
    let back = move |lookup: Lookup| {
        let answers = lookup.answers(&mut Vec::new());
        let told = queries.iter().map(|(op, order)| answers.answer(op, Answer::Reply(Reply::Done(*order))));
        let _ = tell.send(told.collect());
        then();
    };
    lookups.send(Lookup::new(asked.into_iter(), None, back)).expect("a reader");
    told
}

fn is_canceled(answer: &Answer, number: u64) -> bool {
    matches!(answer, Answer::Reply(Reply::Status(status)) if status.order == OrderId(number) && status.canceled.is_some())
}

/// A panic in a look-up of a done order once ended the server. It happens while the look-up holds the history, which
/// everybody reads.
#[test]
fn a_look_up_that_panics_is_refused_alone() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if panicked(panic) == Contained::No {
            hook(panic);
        }
    }));
    let disk = PanickingDisk { disk: SimulatedDisk::new(), panics: Arc::default() };
    let history = canceled_orders(&disk);
    let (lookups, inbox) = mpsc::channel();
    let panics = Arc::clone(&disk.panics);
    let before = ask(&lookups, &[1], move || panics.store(true, Ordering::SeqCst));
    let fails = ask(&lookups, &[2, 3], || ());
    let [again, other] = [2, 3].map(|number| ask(&lookups, &[number], || ()));
    drop(lookups);
    let lines = Lines::default();
    let writer = lines.clone();
    let log = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
    let counted = Part::Question.panics();
    let mut reader = Reader { history: history.clone(), at_least: HashMap::new() };
    tracing::subscriber::with_default(log, || reader.run(&inbox));
    let answers = [before, fails, again, other].map(|told| told.recv().expect("an answer"));
    assert!(is_canceled(&answers[0][0], 1), "{answers:?}");
    assert_eq!(answers[1][0], Answer::Unavailable(Unavailable::Fault), "the order whose reading panicked");
    assert!(is_canceled(&answers[1][1], 3), "the other order of the request: {answers:?}");
    assert!(is_canceled(&answers[2][0], 2) && is_canceled(&answers[3][0], 3), "the next look-ups: {answers:?}");
    assert_eq!(Part::Question.panics(), counted + 1, "it is counted");
    let log = String::from_utf8(lines.0.lock().expect("no panic").clone()).expect("text");
    assert_eq!(log.matches("fault of the server").count(), 1, "{log}");
    assert!(log.contains("OrderId(2)") && log.contains("planted in a read"), "{log}");
    let mut next = EventBatch::default();
    next.seal(history.sequence().next(), Time(1 << 20));
    assert!(history.follow(&next).is_ok(), "the history goes on");
}
