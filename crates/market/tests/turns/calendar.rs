//! The calendar in the loop, over a ledger that keeps its commands in memory: a server that ends while it follows its
//! calendar continues where it was, and no order is placed before all due steps are done.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;

use engine::{DoneOrders, Engine};
use exchange::{Answer, Batch, Unavailable};
use market::calendar::Calendar;
use market::memory_ledger::MemoryLedger;
use market::turn::MarketLoop;
use terms::{
    AccountId, BrokenRule, Command, DOLLAR, Entry, KillScope, Money, NewOrder, Op, Phase, Place, Price, Reject, Reply,
    Shares, Side, Symbol, SymbolIndex, SymbolPhase, Time,
};

use crate::turn_options::options;

const SECOND: u64 = 1_000_000;
/// The number of symbols: more than a turn changes.
const SYMBOLS: u32 = 2_500;

type Market = MarketLoop<MemoryLedger>;

fn symbol(number: u32) -> Symbol {
    Symbol::parse(format!("S{number}").as_bytes()).unwrap()
}

fn account() -> AccountId {
    AccountId::parse(b"1").unwrap()
}

/// A market after these commands, and its server, which starts at this second.
fn start(kept: &[Entry], calendar: &str, second: u64) -> Market {
    start_by(kept, calendar, move || Time(second * SECOND))
}

/// A market after these commands, and its server, which reads this clock.
fn start_by(kept: &[Entry], calendar: &str, clock: impl Fn() -> Time + Send + Sync + 'static) -> Market {
    let mut engine = Engine::new(7, DoneOrders::Drop);
    for entry in kept {
        engine.apply(entry, &mut Vec::new(), &mut |_| {});
    }
    let calendar = Calendar::parse(calendar).unwrap();
    let options = market::turn::TurnOptions { calendar, ..options(clock) };
    MarketLoop::new(engine, MemoryLedger::keeping(kept.to_vec()), options)
}

fn ask(market: &mut Market, commands: impl IntoIterator<Item = Command>) -> Vec<Answer> {
    let (back, answers) = channel();
    let mut batch = Batch::detached(back);
    commands.into_iter().for_each(|command| batch.requests.push(&[Op::Command(command)]));
    market.step(&mut vec![batch]).unwrap();
    answers.recv().unwrap().answers
}

fn change(number: u32, phase: Phase) -> Command {
    Command::ChangePhase { symbol: symbol(number), phase, due: None }
}

fn buy(number: u32) -> Command {
    let limit = Price::from_units(i64::try_from(DOLLAR / 100_000_000).unwrap()).unwrap();
    let order = NewOrder::limit(symbol(number), Side::Buy, limit, Shares::from_units(1).unwrap());
    Command::Place(Place::order(account(), order))
}

/// The commands that a market has kept when it ends at this second.
fn kept_of_a_market(calendar: &str, second: u64) -> Vec<Entry> {
    let mut market = start(&[], calendar, second);
    let account = Command::CreateAccount { account: account(), balance: Money::from_units(1_000 * DOLLAR) };
    let symbols = (0..SYMBOLS).map(|number| Command::CreateSymbol { symbol: symbol(number) });
    ask(&mut market, [account].into_iter().chain(symbols));
    market.ledger().kept().to_vec()
}

fn are_all(market: &Market, phase: Phase) -> bool {
    (0..SYMBOLS).all(|at| market.engine().phase(SymbolIndex(at)) == SymbolPhase { phase, until: None })
}

/// Orders once were taken in symbols that the calendar had closed while no server ran.
#[test]
fn what_comes_first_after_a_start_finds_all_done_that_was_due() {
    let lines: String = (0..SYMBOLS).map(|number| format!("00:01:00 S{number} halted\n")).collect();
    for calendar in ["00:01:00 * halted", &lines] {
        let kept = kept_of_a_market(calendar, 1);
        let mut market = start(&kept, calendar, 61);
        let halted = Answer::Reply(Reply::Rejected(Reject::BreaksRule(BrokenRule::Halted)));
        assert_eq!(ask(&mut market, [buy(SYMBOLS - 1)]), [halted]);
        assert!(are_all(&market, Phase::Halted));
    }
}

/// The due steps once were only in memory: what a server that was killed had not done yet was not done on that day.
#[test]
fn a_server_that_ends_while_it_follows_its_calendar_goes_on_where_it_was() {
    let calendar = "00:01:00 * auction\n00:01:30 * halted";
    let before = kept_of_a_market(calendar, 1);
    let mut market = start(&before, calendar, 91);
    ask(&mut market, [buy(0)]);
    let all = market.ledger().kept().to_vec();
    assert_eq!(all.len(), before.len() + 2 * SYMBOLS as usize + 2, "each symbol twice, the note, and the order");
    for end in (before.len()..all.len()).step_by(397) {
        let mut market = start(&all[..end], calendar, 92);
        ask(&mut market, [buy(0)]);
        assert!(are_all(&market, Phase::Halted), "of {} commands {end} were kept", all.len());
        assert!(market.engine().calendar_followed() >= Some(Time(90 * SECOND)));
    }
}

#[test]
fn a_start_does_not_do_again_what_was_done() {
    let calendar = "00:01:00 * halted";
    let mut market = start(&kept_of_a_market(calendar, 1), calendar, 61);
    ask(&mut market, (0..SYMBOLS).map(|number| change(number, Phase::Open)));
    let kept = market.ledger().kept().to_vec();
    let mut market = start(&kept, calendar, 62);
    ask(&mut market, [buy(0)]);
    assert!(are_all(&market, Phase::Open), "who opened it behind its line knew why");
    assert_eq!(market.ledger().kept().len(), kept.len() + 2, "the start's note, and the order");
}

fn phase(market: &Market, number: u32) -> Phase {
    market.engine().phase(SymbolIndex(number)).phase
}

/// A line was done that lay before the operator's halt, though nobody had missed it.
#[test]
fn a_line_that_was_added_for_the_days_to_come_undoes_no_halt() {
    let mut market = start(&kept_of_a_market("00:00:30 * open", 1), "00:00:30 * open", 31);
    ask(&mut market, [buy(0)]);
    // The start notes that nothing was left to do then, and the halt comes later.
    let now = Arc::new(AtomicU64::new(55));
    let clock = now.clone();
    let shows = move || Time(clock.load(Ordering::Relaxed) * SECOND);
    let mut market = start_by(market.ledger().kept(), "00:00:30 * open", shows);
    ask(&mut market, [buy(0)]);
    now.store(70, Ordering::Relaxed);
    ask(&mut market, [change(0, Phase::Halted)]);
    let calendar = "00:00:30 * open\n00:01:00 * open";
    let mut market = start(market.ledger().kept(), calendar, 80);
    ask(&mut market, [buy(1)]);
    assert_eq!(phase(&market, 0), Phase::Halted);
}

/// The operator's halt came while no calendar was given, and the next start with one did the lines since the last.
#[test]
fn a_start_without_the_calendar_lets_its_lines_pass() {
    let calendar = "00:00:30 * halted\n00:01:00 * open";
    let mut market = start(&kept_of_a_market(calendar, 1), calendar, 31);
    ask(&mut market, [buy(0)]);
    let mut market = start(market.ledger().kept(), "", 55);
    ask(&mut market, [buy(0)]);
    ask(&mut market, [change(1, Phase::Open)]);
    let mut market = start(market.ledger().kept(), calendar, 57);
    ask(&mut market, [buy(1)]);
    assert_eq!(phase(&market, 1), Phase::Open, "the halt of second 30 was done before");
    let mut market = start(market.ledger().kept(), "", 65);
    ask(&mut market, [change(0, Phase::Halted), change(1, Phase::Halted)]);
    let mut market = start(market.ledger().kept(), calendar, 70);
    ask(&mut market, [buy(1)]);
    assert_eq!([0, 1].map(|number| phase(&market, number)), [Phase::Halted; 2]);
    // Also where nobody changed a phase meanwhile: the line of second 60 came while no calendar was followed.
    let mut market = start(&kept_of_a_market(calendar, 1), calendar, 31);
    ask(&mut market, [buy(0)]);
    let mut market = start(market.ledger().kept(), "", 65);
    ask(&mut market, [buy(0)]);
    let mut market = start(market.ledger().kept(), calendar, 70);
    ask(&mut market, [buy(1)]);
    assert_eq!(phase(&market, 1), Phase::Halted);
}

/// A halt that was refused while lines waited for room on the disk had these lines pass over its symbol, until a
/// restart. The request of anyone who may not change phases did the same, and wrote to the disk.
#[test]
fn a_halt_that_is_refused_at_a_nearly_full_disk_changes_nothing() {
    let calendar = "00:01:00 * open\n00:01:20 * auction";
    let now = Arc::new(AtomicU64::new(31));
    let kept = kept_of_a_market(calendar, 1);
    let clock = now.clone();
    let mut market = start_by(&kept, calendar, move || Time(clock.load(Ordering::Relaxed) * SECOND));
    ask(&mut market, [change(0, Phase::Halted), change(1, Phase::Halted)]);
    let nearly_full = market.ledger().nearly_full();
    nearly_full.store(true, Ordering::Relaxed);
    let halt = || [change(0, Phase::Halted), change(2, Phase::Halted)];
    let kill = Command::Kill { scope: KillScope::Symbol(symbol(2)) };
    for second in [40, 70] {
        now.store(second, Ordering::Relaxed);
        let before = market.ledger().kept().len();
        assert_eq!(ask(&mut market, halt()), [const { Answer::Unavailable(Unavailable::DiskLow) }; 2]);
        assert_eq!(market.ledger().kept().len(), before, "second {second}");
    }
    assert!(matches!(ask(&mut market, [kill])[..], [Answer::Reply(Reply::CanceledAll { .. })]), "a kill is taken");
    // Whether the server starts again before the disk has room makes no difference.
    let at_75 = start(market.ledger().kept(), calendar, 75);
    nearly_full.store(false, Ordering::Relaxed);
    for mut market in [market, at_75] {
        ask(&mut market, [buy(1)]);
        assert_eq!([0, 1, 2].map(|number| phase(&market, number)), [Phase::Open; 3]);
        let refused = ask(&mut market, [buy(2)]);
        assert!(matches!(refused[..], [Answer::Reply(Reply::Rejected(Reject::Killed(_)))]), "{refused:?}");
    }
}
