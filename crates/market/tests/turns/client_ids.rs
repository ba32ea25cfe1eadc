//! The client order ids of all accounts together have a bound, and no account or member leaves nothing to the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;

use engine::{DoneOrders, Engine};
use exchange::{Answer, Batch, Bound, Principal, Rights, Role, Unavailable};
use market::admission::Bounds;
use market::memory_ledger::MemoryLedger;
use market::turn::{MarketLoop, TurnOptions};
use terms::{
    AccountId, CLIENT_ORDER_ID_KEPT_US, ClientOrderId, Command, DOLLAR, Entry, Money, NewOrder, Op, Place, Price,
    Reply, Shares, Side, Symbol, Time,
};

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
    let order = NewOrder::of_kind(terms::OrderKind::ImmediateOrCancel, symbol(), Side::Buy, limit, shares);
    let client_id = Some(ClientOrderId::parse(format!("id-{id}").as_bytes()).unwrap());
    Command::Place(Place::order(account(of), order).named(client_id))
}

/// A market with accounts 1 to 6 and so many ids for all, and its clock.
fn market(client_orders_in_all: u64) -> (MarketLoop<MemoryLedger>, Arc<AtomicU64>) {
    let now = Arc::new(AtomicU64::new(1));
    let mut market = served(Engine::new(7, DoneOrders::Drop), Vec::new(), &now, client_orders_in_all);
    let created = (1..=6).map(|of| Command::CreateAccount { account: account(of), balance: Money::from_units(DOLLAR) });
    ask(&mut market, created.chain([Command::CreateSymbol { symbol: symbol() }]));
    (market, now)
}

fn served(
    engine: Engine,
    kept: Vec<Entry>,
    now: &Arc<AtomicU64>,
    client_orders_in_all: u64,
) -> MarketLoop<MemoryLedger> {
    let clock = Arc::clone(now);
    let bounds = Bounds { client_orders: 100, client_orders_in_all, ..Bounds::NONE };
    let options = TurnOptions { bounds, ..options(move || Time(clock.load(Ordering::Relaxed))) };
    MarketLoop::new(engine, MemoryLedger::keeping(kept), options)
}

/// Starts another server of a market, which knows only its commands.
fn restarted(
    market: &MarketLoop<MemoryLedger>,
    now: &Arc<AtomicU64>,
    client_orders_in_all: u64,
) -> MarketLoop<MemoryLedger> {
    let kept = market.ledger().kept().to_vec();
    let mut engine = Engine::new(8, DoneOrders::Drop);
    for entry in &kept {
        engine.apply(entry, &mut Vec::new(), &mut |_| {});
    }
    served(engine, kept, now, client_orders_in_all)
}

/// Asks for commands in one turn.
fn ask(market: &mut MarketLoop<MemoryLedger>, commands: impl IntoIterator<Item = Command>) -> Vec<Answer> {
    ask_as(market, None, commands)
}

/// Asks for commands of a member in one turn.
fn ask_as(
    market: &mut MarketLoop<MemoryLedger>,
    member: Option<&Principal>,
    commands: impl IntoIterator<Item = Command>,
) -> Vec<Answer> {
    let (back, answers) = channel();
    let mut batch = Batch::detached(back);
    for command in commands {
        batch.requests.push(&[Op::Command(command)]);
        member.into_iter().for_each(|member| batch.requests.asked_by(member));
    }
    market.step(&mut vec![batch]).unwrap();
    answers.recv().unwrap().answers
}

/// The number of answers that are not refused.
fn taken(answers: &[Answer]) -> usize {
    let is_refused =
        |answer: &&Answer| matches!(answer, Answer::Unavailable(Unavailable::Bound(Bound::ClientOrdersInAll { .. })));
    answers.len() - answers.iter().filter(is_refused).count()
}

/// An account could take a million ids, and each of a million accounts: memory had no bound.
#[test]
fn an_account_gets_as_many_client_order_ids_as_are_left_to_all_and_all_have_a_bound() {
    let (mut market, now) = market(ALL);
    let first = ask(&mut market, (0..8).map(|id| order(1, id)));
    assert_eq!(taken(&first), 5, "{first:?}");
    let each = |market: &mut MarketLoop<MemoryLedger>, of| {
        (0..8).map(|id| taken(&ask(market, [order(of, id)]))).sum::<usize>()
    };
    assert_eq!([each(&mut market, 2), each(&mut market, 3)], [3, 1], "others are left some");
    assert_eq!(market.engine().client_order_ids(), 9);
    // A repeated id stands for its order for a day, and takes no further room.
    now.store(CLIENT_ORDER_ID_KEPT_US, Ordering::Relaxed);
    let again = ask(&mut market, [order(1, 0), order(1, 7)]);
    assert!(matches!(again[0], Answer::Reply(Reply::Repeated(_))) && taken(&again) == 1, "{again:?}");
    now.fetch_add(1_000_000, Ordering::Relaxed);
    assert_eq!(taken(&ask(&mut market, (10..13).map(|id| order(1, id)))), 3, "a day later there is room again");
}

/// An account without an id was told that it may have at most 0.
#[test]
fn an_account_without_client_order_ids_is_told_the_bound_of_all() {
    let (mut market, _now) = market(ALL);
    for of in [1, 2, 3, 4] {
        ask(&mut market, (0..8).map(|id| order(of, id)));
    }
    assert_eq!(market.engine().client_order_ids(), ALL as usize);
    let refused = ask(&mut market, [order(5, 0)]);
    assert_eq!(refused, [Answer::Unavailable(Unavailable::Bound(Bound::ClientOrdersInAll { most: ALL }))]);
    let told = Bound::ClientOrdersInAll { most: ALL }.to_string();
    assert!(told.contains("at most 10 together (max-client-orders-in-all)"), "{told}");
}

/// One member could take all ids with several accounts, three of four of them where it began while there were few, and
/// as many again after a restart.
#[test]
fn a_member_with_several_accounts_leaves_client_order_ids_to_the_others_also_after_a_restart() {
    let (mut market, now) = market(100);
    let member = |name, accounts: &[u64]| {
        let accounts = accounts.iter().map(|&number| account(number)).collect();
        Principal::new(name, Rights { roles: [Role::Trader].into(), accounts, ..Rights::default() })
    };
    let (alice, bob, carol) = (member("alice", &[1, 2, 3, 4]), member("bob", &[5]), member("carol", &[6]));
    let ask = |market: &mut MarketLoop<MemoryLedger>, member, of, ids: std::ops::Range<u64>| {
        // Each order in a turn of its own, or all in one: both are counted.
        let orders: Vec<Command> = ids.map(|id| order(of, id)).collect();
        let (together, alone) = orders.split_at(orders.len() / 2);
        let first = taken(&ask_as(market, Some(member), together.iter().copied()));
        first + alone.iter().map(|&order| taken(&ask_as(market, Some(member), [order]))).sum::<usize>()
    };
    assert_eq!(ask(&mut market, &bob, 5, 0..30), 30);
    let alices: usize = (1..=4).map(|of| ask(&mut market, &alice, of, 0..30)).sum();
    assert_eq!(alices, 42, "half of what bob left, with those of the first half, and what her other accounts may have");
    let mut market = restarted(&market, &now, 100);
    assert_eq!(ask(&mut market, &alice, 1, 60..70), 0);
    assert_eq!(ask(&mut market, &bob, 5, 30..60), 0, "he has more than are left");
    assert_eq!(ask(&mut market, &carol, 6, 0..60), 14, "half of what both left");
    assert_eq!(ask(&mut market, &alice, 1, 60..70), 0);
    now.store(CLIENT_ORDER_ID_KEPT_US + 1_000_000, Ordering::Relaxed);
    assert_eq!(ask(&mut market, &alice, 1, 80..90), 10, "a day later there is room again");
}

/// The ids that a customer had placed in two accounts once kept a desk that traded for those, too, from all others.
#[test]
fn ids_of_others_keep_no_member_from_accounts_that_have_none() {
    let (mut market, _now) = market(100);
    let member = |name, accounts: &[u64]| {
        let accounts = accounts.iter().map(|&number| account(number)).collect();
        Principal::new(name, Rights { roles: [Role::Trader].into(), accounts, ..Rights::default() })
    };
    let (alice, desk) = (member("alice", &[1, 2]), member("desk", &[1, 2, 3, 4, 5]));
    let mut ask = |member, of, ids: std::ops::Range<u64>| {
        ids.map(|id| taken(&ask_as(&mut market, Some(member), [order(of, id)]))).sum::<usize>()
    };
    let alices = ask(&alice, 1, 0..60) + ask(&alice, 2, 0..60);
    assert!(alices >= 50, "{alices}");
    assert_eq!(ask(&desk, 1, 60..70), 0, "this one has more than its part");
    let each: Vec<usize> = (3..=5).map(|of| ask(&desk, of, 0..60)).collect();
    assert!(each.iter().all(|&taken| taken > 0), "{each:?}");
}

/// One expired id in memory let in all new ones of a turn, although each new one removes no more than four.
#[test]
fn one_expired_client_order_id_makes_room_for_one_and_not_for_a_whole_turn() {
    let (mut market, now) = market(ALL);
    assert_eq!(taken(&ask(&mut market, [order(1, 0)])), 1);
    now.store(1_000_000, Ordering::Relaxed);
    for id in 1..20 {
        ask(&mut market, (1..=6).map(|of| order(of, id)));
    }
    let full = market.engine().client_order_ids();
    assert_eq!(taken(&ask(&mut market, (20..30).map(|id| order(1, id)))), 0, "{full} ids are there");
    now.store(CLIENT_ORDER_ID_KEPT_US + 500_000, Ordering::Relaxed);
    assert_eq!(taken(&ask(&mut market, (30..40).map(|id| order(1, id)))), 1);
    assert_eq!(market.engine().client_order_ids(), full);
}
