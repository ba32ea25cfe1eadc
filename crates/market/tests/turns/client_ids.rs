//! The client order ids of all accounts together have a bound, and no account leaves nothing to the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;

use engine::{
    AccountId, CLIENT_ORDER_ID_KEPT_US, ClientOrderId, Command, DOLLAR, DoneOrders, Engine, Money, NewOrder, Op, Price,
    Reply, Shares, Side, Symbol, Time,
};
use exchange::{Answer, Batch, Bound, Unavailable};
use market::admission::Bounds;
use market::memory_ledger::MemoryLedger;
use market::turn::{Turn, TurnOptions};

use crate::turn_options::options;

/// The ids of all accounts together.
const ALL: u64 = 10;

fn account(number: u64) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).unwrap()
}

fn symbol() -> Symbol {
    Symbol::parse(b"S").unwrap()
}

/// An order that is done at once: it executes with nothing, and may not rest.
fn order(of: u64, id: u64) -> Command {
    let (limit, shares) = (Price::from_units(1).unwrap(), Shares::from_units(1).unwrap());
    let order = NewOrder::of_kind(engine::OrderKind::ImmediateOrCancel, symbol(), Side::Buy, limit, shares);
    let client_id = Some(ClientOrderId::parse(format!("id-{id}").as_bytes()).unwrap());
    Command::PlaceOrder { account: account(of), order, client_id, until: None }
}

/// Asks for commands in one turn.
fn ask(market: &mut Turn<MemoryLedger>, commands: impl IntoIterator<Item = Command>) -> Vec<Answer> {
    let (back, answers) = channel();
    let mut batch = Batch::detached(back);
    commands.into_iter().for_each(|command| batch.requests.push(&[Op::Command(command)]));
    market.step(&mut vec![batch]).unwrap();
    answers.recv().unwrap().answers
}

/// The number of answers that are not refused.
fn taken(answers: &[Answer]) -> usize {
    let is_refused =
        |answer: &&Answer| matches!(answer, Answer::Unavailable(Unavailable::Bound(Bound::ClientOrders { .. })));
    answers.len() - answers.iter().filter(is_refused).count()
}

/// An account could take a million ids, and each of a million accounts: memory had no bound.
#[test]
fn an_account_gets_as_many_client_order_ids_as_are_left_to_all_and_all_have_a_bound() {
    let now = Arc::new(AtomicU64::new(1));
    let clock = now.clone();
    let bounds = Bounds { client_orders: 100, client_orders_in_all: ALL, ..Bounds::NONE };
    let options = TurnOptions { bounds, ..options(move || Time(clock.load(Ordering::Relaxed))) };
    let mut market = Turn::new(Engine::new(7, DoneOrders::Drop), MemoryLedger::keeping(Vec::new()), options);
    let created = (1..=3).map(|of| Command::CreateAccount { account: account(of), balance: Money::from_units(DOLLAR) });
    ask(&mut market, created.chain([Command::CreateSymbol { symbol: symbol() }]));
    let first = ask(&mut market, (0..8).map(|id| order(1, id)));
    assert_eq!(taken(&first), 5, "{first:?}");
    assert!(matches!(first[5], Answer::Unavailable(Unavailable::Bound(Bound::ClientOrders { most: 5 }))), "{first:?}");
    let each =
        |market: &mut Turn<MemoryLedger>, of| (0..8).map(|id| taken(&ask(market, [order(of, id)]))).sum::<usize>();
    assert_eq!([each(&mut market, 2), each(&mut market, 3)], [3, 1], "others are left some");
    assert_eq!(market.engine().client_order_ids(), 9);
    // An id that was taken stands for its order as long as ever, and is no further one.
    now.store(CLIENT_ORDER_ID_KEPT_US, Ordering::Relaxed);
    let again = ask(&mut market, [order(1, 0), order(1, 7)]);
    assert!(matches!(again[0], Answer::Reply(Reply::Repeated(_))) && taken(&again) == 1, "{again:?}");
    now.fetch_add(1_000_000, Ordering::Relaxed);
    assert_eq!(taken(&ask(&mut market, (10..13).map(|id| order(1, id)))), 3, "a day later there is room again");
}
