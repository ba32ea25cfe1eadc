//! The news of watched accounts and symbols are gathered within a bound, whatever happens to them.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use engine::{DoneOrders, Engine};
use exchange::{EventBatch, EventFork};
use feed::{Feed, GATHERED_MAX, News, ReadModel, View, Watcher};
use terms::{
    AccountId, AccountIndex, CancelReason, Event, Money, NewOrder, OrderId, OrderKind, Price, Sequence, Shares, Side,
    Symbol, SymbolIndex, Time, Trail,
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
    follow(&mut view, ACCOUNT, 1);
    view
}

/// Has orders of an account follow the market, the first of which is this one.
fn follow(view: &mut View, account: AccountIndex, first: u64) {
    let trail = Trail::by(dollars(5));
    for order in first..first + TRAILING {
        let shares = Shares::from_units(100_000_000).unwrap();
        let placed = NewOrder::of_kind(OrderKind::Market, SYMBOL, Side::Sell, dollars(1), shares);
        let placed = placed.triggered_by(trail.trigger(Side::Sell, dollars(100)).unwrap());
        let order = OrderId(order);
        let opened = Event::OrderOpened { order, account, placed };
        view.apply(&batch(1 + order.0, [opened, Event::TrailGiven { order, trail }]));
    }
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

/// All orders of a symbol were looked at when a price had moved one, and counted as news that nobody was to hear.
#[test]
fn moves_are_news_of_watched_accounts_alone() {
    let mut view = trailing();
    let others = [AccountIndex(1), AccountIndex(2)];
    for (nth, account) in others.into_iter().enumerate() {
        let id = AccountId::parse(&[b'2' + nth as u8]).unwrap();
        view.apply(&batch(TRAILING + 2 + nth as u64, [Event::AccountCreated { account, id }]));
    }
    follow(&mut view, others[0], 2 * TRAILING + 1);
    follow(&mut view, others[1], 3 * TRAILING + 1);
    let told = |view: &mut View, price: u64| {
        view.apply(&batch(
            1_000 + price,
            [Event::TrailsMoved { symbol: SYMBOL, side: Side::Sell, price: dollars(price) }],
        ));
        let gathered = view.gathered();
        let told: Vec<OrderId> = view.take_news().into_iter().filter_map(of_order).collect();
        assert_eq!(gathered, told.len() * size_of::<News>());
        told
    };
    drop(view.take_news());
    assert!(told(&mut view, 101).into_iter().eq((1..=TRAILING).map(OrderId)));
    view.watch_account(ACCOUNT, false);
    assert_eq!(told(&mut view, 102), []);
    others.into_iter().for_each(|account| view.watch_account(account, true));
    assert_eq!(view.take_news(), [], "a watcher hears of later moves");
    let all = told(&mut view, 103);
    assert!(all.into_iter().eq((2 * TRAILING + 1..=4 * TRAILING).map(OrderId)), "by their numbers");
    view.watch_account(ACCOUNT, true);
    assert_eq!(told(&mut view, 104).len(), 3 * TRAILING as usize);
    let canceled = OrderId(2 * TRAILING + 1);
    let shares = Shares::from_units(100_000_000).unwrap();
    let why = CancelReason::Asked;
    let canceled = Event::OrderCanceled { order: canceled, account: others[0], symbol: SYMBOL, shares, why };
    view.apply(&batch(2_000, [canceled]));
    drop(view.take_news());
    assert_eq!(told(&mut view, 1_105).len(), 3 * TRAILING as usize - 1);
}

fn of_order(news: News) -> Option<OrderId> {
    if let News::Order(_, order) = news { Some(order) } else { None }
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
