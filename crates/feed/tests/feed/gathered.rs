//! The news of watched accounts and symbols are gathered within a bound, whatever happens to them.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use engine::{DoneOrders, Engine};
use exchange::{EventBatch, EventFork};
use feed::{Feed, GATHERED_MAX, News, ReadModel, View, Watcher};
use terms::{
    AccountId, AccountIndex, Event, Money, NewOrder, OrderId, OrderKind, Price, Sequence, Shares, Side, Symbol,
    SymbolIndex, Time, Trail,
};

const ACCOUNT: AccountIndex = AccountIndex(0);
const SYMBOL: SymbolIndex = SymbolIndex(0);
const TRAILING: u64 = 100;

fn dollars(price: u64) -> Price {
    Price::from_units(price as i64 * 100_000_000).unwrap()
}

fn batch(sequence: u64, events: impl IntoIterator<Item = Event>) -> EventBatch {
    let mut batch = EventBatch::default();
    events.into_iter().for_each(|event| batch.add(Sequence(sequence), event));
    batch.seal(Sequence(sequence), Time(sequence));
    batch
}

/// Builds a view with a watched account whose orders follow the market.
fn trailing() -> View {
    let mut view = View::new(&Engine::new(1, DoneOrders::Keep), None);
    let (id, name) = (AccountId::parse(b"1").unwrap(), Symbol::parse(b"S").unwrap());
    view.apply(&batch(
        1,
        [Event::AccountCreated { account: ACCOUNT, id }, Event::SymbolCreated { symbol: SYMBOL, name }],
    ));
    view.watch_account(ACCOUNT, true);
    let trail = Trail::by(dollars(5));
    for order in 1..=TRAILING {
        let shares = Shares::from_units(100_000_000).unwrap();
        let placed = NewOrder::of_kind(OrderKind::Market, SYMBOL, Side::Sell, dollars(1), shares);
        let placed = placed.triggered_by(trail.trigger(Side::Sell, dollars(100)).unwrap());
        let order = OrderId(order);
        let opened = Event::OrderOpened { order, account: ACCOUNT, placed };
        view.apply(&batch(1 + order.0, [opened, Event::TrailGiven { order, trail }]));
    }
    view
}

/// A thousand orders that followed the market made a thousand pieces of news for each new price: 5.4 GiB for some
/// requests.
#[test]
fn orders_that_the_market_moves_again_and_again_are_told_once() {
    const MOVES: u64 = 1000;
    let mut view = trailing();
    for told in 0..2 {
        assert_ne!(view.take_news(), []);
        let from = 101 + told * MOVES;
        let moves =
            (from..from + MOVES).map(|at| Event::TrailsMoved { symbol: SYMBOL, side: Side::Sell, price: dollars(at) });
        view.apply(&batch(2 + TRAILING + told, moves));
        let gathered = view.gathered();
        assert!(gathered <= TRAILING as usize * size_of::<News>(), "{gathered} bytes of {MOVES} moves");
        let stops = view.orders_of(ACCOUNT).map(|open| open.trigger.unwrap().price());
        assert!(stops.eq((0..TRAILING).map(|_| dollars(from + MOVES - 1 - 5))), "all of them follow");
    }
    let mut told: Vec<OrderId> = Vec::new();
    for news in view.take_news() {
        let News::Order(ACCOUNT, order) = news else { panic!("{news:?}") };
        told.push(order);
    }
    told.sort_unstable();
    assert!(told.into_iter().eq((1..=TRAILING).map(OrderId)));
}

/// A watcher that notes how much was gathered whenever it sends.
struct Slow(Sender<usize>);

impl Watcher for Slow {
    fn look(_scene: &mut ReadModel<Slow>) -> Duration {
        Duration::MAX
    }

    fn tell_now(scene: &mut ReadModel<Slow>) {
        let gathered = scene.view.gathered();
        drop(scene.take_news());
        scene.watcher.0.send(gathered).unwrap();
    }
}

/// News gathered between two messages had no bound: a subscriber of a busy account gets messages at a pace.
#[test]
fn a_watcher_is_to_tell_what_it_gathered_before_it_is_too_much() {
    const EVENTS: usize = 1 << 10;
    const BATCHES: u64 = 100;
    let (told, tellings) = channel();
    let feed = Feed::start(&Engine::new(1, DoneOrders::Keep), None, Slow(told)).unwrap();
    let sink = EventFork::to(vec![feed.follower()]);
    let ids = [b"1", b"2"].map(|id| AccountId::parse(id).unwrap());
    let created = (0..).map(AccountIndex).zip(ids).map(|(account, id)| Event::AccountCreated { account, id });
    sink.push(batch(1, created));
    feed.asker().ask(|scene| scene.view.watch_account(ACCOUNT, true));
    for number in 2..2 + BATCHES {
        let balance = Money::from_units(number.into());
        let changed = |account| Event::BalanceChanged { account: AccountIndex(account), balance };
        sink.push(batch(number, (0..EVENTS).map(|at| changed(at as u32 % 2))));
    }
    let left = feed.stop().view.gathered();
    let one = EVENTS / 2 * size_of::<News>();
    let tellings: Vec<usize> = tellings.into_iter().collect();
    assert!(tellings.iter().chain([&left]).all(|gathered| *gathered <= GATHERED_MAX + one), "{tellings:?} {left}");
    assert_eq!(tellings.iter().sum::<usize>() + left, BATCHES as usize * one, "nothing is lost");
}
