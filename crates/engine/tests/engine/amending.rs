//! Amendments of any terms: what keeps its place, what is placed again under its id, and what is refused and changes
//! nothing. docs/rules/AMENDMENTS.md has the rules, by the numbers that stand at the tests.

use std::num::NonZeroU32;

use engine::{DoneOrders, Engine, Importer};
use terms::{
    AccountId, AccountLimits, Amendment, Bond, ClientOrderId, Command, DOLLAR, Deadline, Entry, Event, Execution,
    KillScope, Money, NewOrder, OrderId, OrderKind, OrderName, Phase, Place, Position, Price, Query, Reject, Reply,
    SelfTrade, Shares, Side, Symbol, SymbolRules, Time, TimeInForce, Trail, Trigger, WaitsFor,
};

const UNIT: i64 = 100_000_000;

fn account(number: u8) -> AccountId {
    AccountId::parse(&[b'0' + number]).unwrap()
}

fn symbol() -> Symbol {
    Symbol::parse(b"SPY").unwrap()
}

fn price(dollars: i64) -> Price {
    Price::from_units(dollars * UNIT).unwrap()
}

fn shares(count: i64) -> Shares {
    Shares::from_units(count * UNIT).unwrap()
}

fn order(side: Side, count: i64, dollars: i64) -> NewOrder {
    NewOrder::limit(symbol(), side, price(dollars), shares(count))
}

fn buy(count: i64, dollars: i64) -> NewOrder {
    order(Side::Buy, count, dollars)
}

fn sell(count: i64, dollars: i64) -> NewOrder {
    order(Side::Sell, count, dollars)
}

fn of_kind(kind: OrderKind, order: NewOrder) -> NewOrder {
    NewOrder { kind, ..order }
}

fn place(number: u8, order: NewOrder) -> Command {
    Command::Place(Place::order(account(number), order))
}

fn iceberg(number: u8, order: NewOrder, display: i64) -> Command {
    Command::Place(Place::iceberg(account(number), order, shares(display)).unwrap())
}

fn until(time: u64) -> Option<Deadline> {
    Deadline::from_code(time)
}

/// An amendment of an order of account 1.
fn of(order: u64) -> Amendment {
    Amendment::of(account(1), OrderId(order).into())
}

fn stop(dollars: i64) -> WaitsFor {
    WaitsFor::StopLoss(price(dollars))
}

/// Four accounts with a thousand dollars and a hundred shares each.
struct Market {
    engine: Engine,
    events: Vec<Event>,
}

impl Market {
    /// A market in which these commands were given, and none refused.
    fn with(commands: &[Command]) -> Market {
        let mut market = Market { engine: Engine::new(1, DoneOrders::Drop), events: Vec::new() };
        market.apply(Command::CreateSymbol { symbol: symbol() });
        for account in [1, 2, 3, 4].map(account) {
            market.apply(Command::CreateAccount { account, balance: Money::from_units(1_000 * DOLLAR) });
            let shares = Position::from_units(100 * i128::from(UNIT));
            market.apply(Command::IssueShares { symbol: symbol(), account, shares });
        }
        for &command in commands {
            let reply = market.apply(command);
            assert!(!matches!(reply, Reply::Rejected(_)), "{command:?}: {reply:?}");
        }
        market.events.clear();
        market
    }

    fn at(&mut self, time: u64, command: Command) -> Reply {
        let entry = Entry { sequence: self.engine.sequence().next(), time: Time(time), command };
        let reply = self.engine.apply(&entry, &mut Vec::new(), &mut |event| self.events.push(event));
        self.engine.check_invariants();
        reply
    }

    fn apply(&mut self, command: Command) -> Reply {
        self.at(1, command)
    }

    fn amend(&mut self, amendment: Amendment) -> Reply {
        self.apply(Command::Amend(amendment))
    }

    /// Amends an order, which has so many shares open then.
    #[track_caller]
    fn amended(&mut self, amendment: Amendment, open: i64) {
        let OrderName::Id(order) = amendment.order else { panic!("it has an id") };
        assert_eq!(self.amend(amendment), Reply::Amended { order, open: shares(open) });
    }

    /// Checks that an amendment is refused for this reason, and changes nothing.
    #[track_caller]
    fn refused(&mut self, amendment: Amendment, why: &str) {
        let (items, told) = (self.items(), self.events.len());
        let reply = self.amend(amendment);
        assert!(matches!(reply, Reply::Rejected(_)) && format!("{reply:?}").contains(why), "{reply:?}");
        assert_eq!(self.items(), items, "nothing has changed");
        assert_eq!(self.events.len(), told, "nobody is told anything");
    }

    /// The ids of the makers with which an order of account 4 executes, in their order.
    fn makers(&mut self, order: NewOrder) -> Vec<u64> {
        self.events.clear();
        self.apply(place(4, order));
        let maker = |event: &Event| if let Event::Executed { maker, .. } = event { Some(maker.0) } else { None };
        self.events.iter().filter_map(maker).collect()
    }

    fn balance(&self, number: u8) -> Money {
        self.engine.balance(account(number)).unwrap()
    }

    /// The answer to a query for an order of account 1.
    fn status(&self, order: u64) -> String {
        let query = Query { account: account(1), order: OrderId(order).into() };
        format!("{:?}", self.engine.query(&query, &mut Vec::<Execution>::new()))
    }

    /// The display and the tip of an order of account 1.
    fn iceberg(&self, order: u64) -> Option<(i64, i64)> {
        let iceberg = self.engine.iceberg(OrderId(order))?;
        Some((iceberg.display.units() / UNIT, iceberg.shown.units() / UNIT))
    }

    fn has_kept_place(&self) -> Vec<bool> {
        let kept =
            |event: &Event| if let Event::OrderAmended { keeps_place, .. } = event { Some(*keeps_place) } else { None };
        self.events.iter().filter_map(kept).collect()
    }

    /// The state, as it is exported, without the number of the last command.
    fn items(&self) -> Vec<String> {
        let mut items = Vec::new();
        self.engine.export(&mut |item| items.push(format!("{item:?}")));
        items.split_off(1)
    }

    /// The market as an export and an import leave it.
    fn again(self) -> Market {
        let mut importer = Importer::new(7, DoneOrders::Drop);
        self.engine.export(&mut |item| importer.add(item).unwrap());
        let engine = importer.finish().unwrap();
        assert_eq!(engine.state_hash(), self.engine.state_hash());
        Market { engine, events: Vec::new() }
    }
}

fn dollars(whole: i64) -> Money {
    Money::from_units(i128::from(whole) * DOLLAR)
}

/// 7.3
#[test]
fn an_order_keeps_its_place_where_it_could_not_execute_sooner_or_more() {
    let queue = [place(1, buy(5, 10)), place(2, buy(5, 10))];
    for amendment in [
        of(1).with_shares(shares(4)),
        of(1).with_deadline(until(9)),
        of(1).with_display(Some(shares(2))),
        of(1).with_shares(shares(4)).with_deadline(until(9)).with_display(Some(shares(4))),
        of(1).with_limit(price(10)),
        of(1).with_shares(shares(5)),
        of(1).with_tif(TimeInForce::Rests).with_deadline(None),
    ] {
        let mut market = Market::with(&queue);
        let open = amendment.shares().map_or(5, |shares| shares.units() / UNIT);
        market.amended(amendment, open);
        assert_eq!(market.makers(sell(1, 10)), [1], "{amendment:?}");
    }
}

/// 7.3: nothing is told where nothing changes, and a second time changes nothing.
#[test]
fn an_amendment_that_changes_nothing_is_answered_and_told_to_nobody() {
    let mut market = Market::with(&[iceberg(1, buy(5, 10), 2)]);
    let amendment = of(1).with_shares(shares(7)).with_limit(price(11)).with_deadline(until(9));
    market.amended(amendment, 7);
    let (items, told) = (market.items(), market.events.len());
    market.amended(amendment.with_display(Some(shares(2))), 7);
    market.amended(of(1), 7);
    assert_eq!((market.items(), market.events.len()), (items, told));
}

/// 7.4
#[test]
fn any_other_terms_place_the_order_again_behind_the_others() {
    let queue = [place(2, buy(5, 11)), place(1, buy(5, 10)), place(2, buy(5, 10))];
    for (amendment, open, sold, makers) in [
        (of(2).with_shares(shares(6)), 6, sell(6, 10), vec![1, 3]),
        (of(2).with_limit(price(11)), 5, sell(6, 10), vec![1, 2]),
        (of(2).with_limit(price(12)), 5, sell(1, 10), vec![2]),
        (of(2).with_limit(price(9)), 5, sell(11, 9), vec![1, 3, 2]),
        (of(2).with_limit(price(11)).with_shares(shares(1)), 1, sell(6, 11), vec![1, 2]),
    ] {
        let mut market = Market::with(&queue);
        market.amended(amendment, open);
        assert_eq!(market.has_kept_place(), [false]);
        assert_eq!(market.makers(sold), makers, "{amendment:?}");
    }
}

/// 7.4: it executes as a new order does, under its id, and the improvement is its own.
#[test]
fn an_order_that_is_placed_again_executes_at_once_with_what_it_meets() {
    let mut market = Market::with(&[place(1, buy(10, 10)), place(2, sell(4, 11)), place(2, sell(2, 12))]);
    market.amended(of(1).with_limit(price(12)), 4);
    assert_eq!(market.balance(1), dollars(1_000 - 4 * 11 - 2 * 12 - 4 * 12));
    assert_eq!(market.makers(sell(1, 12)), [1], "the rest of it rests at its new limit");
    market.apply(place(2, sell(3, 13)));
    market.amended(of(1).with_limit(price(13)), 0);
    assert!(market.status(1).starts_with("Done"), "it has executed whole");
    assert_eq!(market.balance(1), dollars(1_000 - 4 * 11 - 2 * 12 - 12 - 3 * 13));
}

/// 7.4: what the order held pays for its new terms, and limits do not count it.
#[test]
fn what_the_order_held_is_free_for_its_new_terms() {
    let mut market = Market::with(&[place(1, buy(100, 10)), place(1, sell(100, 20))]);
    market.amended(of(1).with_limit(price(9)).with_shares(shares(111)), 111);
    market.refused(of(1).with_shares(shares(112)), "InsufficientFunds { needed: Money(10080000000000000000)");
    market.amended(of(2).with_limit(price(21)), 100);
    market.refused(of(2).with_shares(shares(101)), "InsufficientShares");
    let limits = AccountLimits {
        open_orders: NonZeroU32::new(1),
        position: shares(110),
        order_shares: shares(12),
        order_value: dollars(120),
        ..AccountLimits::NONE
    };
    let limited = [Command::ChangeLimits { account: account(1), limits }, place(1, buy(10, 10))];
    let mut market = Market::with(&limited);
    market.amended(of(1).with_limit(price(11)), 10);
    market.refused(of(1).with_shares(shares(11)), "OrderValue");
    market.refused(of(1).with_shares(shares(11)).with_limit(price(5)), "Position");
    market.refused(of(1).with_shares(shares(13)).with_limit(price(1)), "OrderShares");
    let again = market.apply(place(1, buy(1, 1)));
    assert!(format!("{again:?}").contains("OpenOrders"), "it counts again: {again:?}");
}

/// 7.4: the order is out of the market while it is checked.
#[test]
fn an_order_never_meets_itself() {
    let mut market = Market::with(&[place(1, of_kind(OrderKind::PostOnly, sell(5, 20)))]);
    market.amended(of(1).with_limit(price(10)), 5);
    market.amended(of(1).with_shares(shares(6)), 6);
    assert!(market.events.iter().all(|event| !matches!(event, Event::Executed { .. })));
}

/// 7.2 and 7.4: a resting order is post-only still, and prevents trading with its own account, over a restart, too.
#[test]
fn an_order_that_rested_keeps_its_kind_and_its_mode_of_self_trade_prevention() {
    let post_only = of_kind(OrderKind::PostOnly, buy(5, 10));
    let mut market = Market::with(&[place(1, post_only), place(2, sell(5, 20))]).again();
    market.refused(of(1).with_limit(price(20)), "WouldTake");
    market.amended(of(1).with_limit(price(19)), 5);
    let prevents = buy(5, 10).with_self_trade(SelfTrade::CancelOldest);
    let mut market = Market::with(&[place(1, prevents), place(1, sell(5, 20)), place(2, sell(5, 20))]).again();
    market.amended(of(1).with_limit(price(20)), 0);
    let traded = |event: &Event| if let Event::Executed { maker, .. } = event { Some(maker.0) } else { None };
    assert_eq!(market.events.iter().filter_map(traded).collect::<Vec<_>>(), [3], "its own order was canceled");
}

/// 7.5
#[test]
fn shares_count_those_that_were_executed() {
    let mut market = Market::with(&[place(1, buy(10, 10)), place(2, sell(3, 10))]);
    market.refused(of(1).with_shares(shares(3)), "AmendsBelowExecuted { executed: Shares(300000000)");
    market.amended(of(1).with_shares(shares(12)), 9);
    assert_eq!(market.balance(1), dollars(1_000 - 120));
    market.amended(of(1).with_shares(shares(4)).with_limit(price(11)), 1);
    assert_eq!(market.balance(1), dollars(1_000 - 30 - 11));
    // The rules of the symbol look at all shares.
    let rules = SymbolRules { shares_min: shares(10), ..SymbolRules::NONE };
    let mut market =
        Market::with(&[place(1, buy(12, 10)), place(2, sell(3, 10)), Command::ChangeRules { symbol: symbol(), rules }]);
    market.amended(of(1).with_limit(price(11)), 9);
    market.refused(of(1).with_shares(shares(9)).with_limit(price(12)), "TooFewShares");
    market.refused(of(1).with_shares(shares(9)).with_deadline(until(9)), "TooFewShares");
    market.amended(of(1).with_shares(shares(10)), 7);
}

/// 7.6
#[test]
fn an_order_that_waits_goes_on_waiting_for_the_same_price_or_for_another() {
    let traded = [place(2, sell(1, 10)), place(3, buy(1, 10))];
    let waiting = |trigger| buy(5, 15).triggered_by(Trigger::from_below(price(trigger)));
    let mut market = Market::with(&[&traded[..], &[place(1, waiting(14)), place(2, waiting(14))]].concat());
    market.amended(of(3).with_wait(stop(12)), 5);
    assert!(market.status(3).contains("Trigger(1200000000)"), "{}", market.status(3));
    market.refused(of(3).with_wait(stop(10)), "TriggersAtOnce");
    market.refused(of(3).with_wait(WaitsFor::TakeProfit(price(11))), "TriggersAtOnce");
    market.amended(of(3).with_wait(WaitsFor::TakeProfit(price(9))), 5);
    market.amended(of(3).with_wait(stop(14)), 5);
    // The other one has waited for this price longer.
    market.apply(place(3, sell(1, 14)));
    market.apply(place(3, sell(9, 15)));
    let triggered = |market: &Market| -> Vec<u64> {
        let order = |event: &Event| if let Event::OrderTriggered { order, .. } = event { Some(order.0) } else { None };
        market.events.iter().filter_map(order).collect()
    };
    market.makers(buy(1, 14));
    assert_eq!(triggered(&market), [4, 3]);
    market.refused(of(3).with_wait(stop(20)), "WaitsForNoPrice");
    // With another limit it waits for the same price, behind the others.
    let mut market = Market::with(&[&traded[..], &[place(1, waiting(14)), place(2, waiting(14))]].concat());
    market.amended(of(3).with_limit(price(16)), 5);
    assert_eq!(market.balance(1), dollars(1_000 - 5 * 16));
    market.apply(place(3, sell(9, 14)));
    market.makers(buy(1, 14));
    assert_eq!(triggered(&market), [4, 3]);
    // A market order has no limit, and waits on.
    let market_order = NewOrder::market(symbol(), Side::Sell, shares(5)).triggered_by(Trigger::from_above(price(8)));
    let mut market = Market::with(&[&traded[..], &[place(1, market_order)]].concat());
    market.refused(of(3).with_limit(price(7)), "HasNoLimit");
    market.amended(of(3).with_wait(stop(7)).with_shares(shares(6)), 6);
    market.refused(of(3).with_shares(shares(101)), "InsufficientShares");
}

/// 7.6
#[test]
fn a_trailing_stop_goes_on_from_its_price_unless_it_gets_another_distance() {
    let trade = |at: i64| [place(2, sell(1, at)), place(3, buy(1, at))];
    let follows = Place::trailing(account(1), sell(5, 1), Trail::by(price(3))).unwrap();
    let all = [&trade(20)[..], &[Command::Place(follows)], &trade(30), &trade(28)].concat();
    let trails = |dollars| WaitsFor::Trail(Trail::by(price(dollars)));
    for (amendment, waits_for) in [
        (of(3).with_limit(price(2)), 27),
        (of(3).with_shares(shares(6)), 27),
        (of(3).with_wait(trails(3)).with_limit(price(2)), 27),
        (of(3).with_wait(trails(2)), 26),
        (of(3).with_wait(trails(5)), 23),
        (of(3).with_wait(stop(25)), 25),
    ] {
        let mut market = Market::with(&all);
        let open = amendment.shares().map_or(5, |shares| shares.units() / UNIT);
        market.amended(amendment, open);
        let status = market.status(3);
        assert!(status.contains(&format!("Trigger(-{waits_for}00000000)")), "{amendment:?}: {status}");
        let mut market = market.again();
        // It follows the market still, if it has a distance.
        trade(40).into_iter().for_each(|command| drop(market.apply(command)));
        let moves = !status.contains("trail: None");
        assert_eq!(status != market.status(3), moves, "{amendment:?}");
    }
    let mut market = Market::with(&all);
    market.refused(of(3).with_wait(trails(28)), "TrailTooFar");
    market.refused(of(3).with_display(Some(shares(2))), "ShowsAll");
    // One with a fixed price begins to follow.
    let fixed = place(1, sell(5, 1).triggered_by(Trigger::from_above(price(15))));
    let mut market = Market::with(&[&trade(20)[..], &[fixed]].concat());
    market.amended(of(3).with_wait(trails(4)), 5);
    trade(30).into_iter().for_each(|command| drop(market.apply(command)));
    assert!(market.status(3).contains("Trigger(-2600000000)"), "{}", market.status(3));
    let mut nothing_traded = Market::with(&[place(1, sell(5, 1).triggered_by(Trigger::from_above(price(15))))]);
    nothing_traded.refused(of(1).with_wait(trails(4)), "NothingToTrail");
}

/// 7.7
#[test]
fn an_order_may_get_another_time_in_force() {
    let offers = [place(1, buy(5, 10)), place(2, sell(2, 11))];
    let (at_once, whole) = (TimeInForce::ImmediateOrCancel, TimeInForce::FillOrKill);
    let mut market = Market::with(&offers);
    market.amended(of(1).with_tif(at_once).with_limit(price(11)), 0);
    assert_eq!(market.balance(1), dollars(1_000 - 22), "two were executed, and the rest was canceled");
    let mut market = Market::with(&offers);
    market.amended(of(1).with_tif(whole).with_limit(price(11)), 0);
    assert_eq!(market.balance(1), dollars(1_000), "two are not all");
    let mut market = Market::with(&[place(1, of_kind(OrderKind::PostOnly, buy(5, 10)))]);
    market.refused(of(1).with_tif(at_once), "KeepsTif");
    market.refused(of(1).with_tif(whole), "KeepsTif");
    market.amended(of(1).with_tif(TimeInForce::Rests), 5);
    // An order that waits is of another kind when it is triggered.
    let waits = of_kind(OrderKind::ImmediateOrCancel, buy(5, 12)).triggered_by(Trigger::from_below(price(11)));
    let mut market = Market::with(&[place(1, waits), place(2, sell(1, 11))]);
    market.amended(of(1).with_tif(TimeInForce::Rests), 5);
    market.makers(buy(1, 11));
    assert_eq!(market.makers(sell(1, 12)), [1], "it rests");
}

/// 7.7
#[test]
fn a_deadline_comes_and_goes_with_amendments() {
    let mut market = Market::with(&[place(1, buy(5, 10)), place(2, buy(5, 10))]);
    market.refused(of(1).with_deadline(until(1)), "DeadlinePassed");
    market.amended(of(1).with_deadline(until(5)), 5);
    assert_eq!(market.has_kept_place(), [true]);
    market.amended(of(1).with_limit(price(9)), 5);
    assert_eq!(market.engine.next_deadline(), Some(Time(5)), "the deadline stays with another place");
    market.refused(of(1).with_tif(TimeInForce::ImmediateOrCancel).with_deadline(until(9)), "DoneAtOnce");
    market.amended(of(1).with_deadline(None), 5);
    assert_eq!(market.engine.next_deadline(), None);
    market.amended(of(1).with_deadline(until(5)), 5);
    market.amended(of(1).with_deadline(until(7)), 5);
    market.at(6, Command::ExpireOrders);
    assert_eq!(market.engine.open_order_count(), 2);
    market.at(7, Command::ExpireOrders);
    assert_eq!(market.engine.open_order_count(), 1);
    let mut market = Market::with(&[Command::Place(Place::order(account(1), buy(5, 10)).until(until(5)))]);
    market.amended(of(1).with_tif(TimeInForce::ImmediateOrCancel), 0);
    assert_eq!(market.engine.next_deadline(), None, "what is done at once has none");
}

/// 7.8
#[test]
fn a_display_keeps_the_tip_where_it_is_and_never_fills_it_up() {
    let berg = [iceberg(1, sell(30, 10), 10), place(2, sell(5, 10)), place(3, buy(4, 10))];
    // 6 of the tip are left, in front of the other order.
    let mut market = Market::with(&berg);
    market.amended(of(1).with_display(Some(shares(4))), 26);
    assert_eq!(market.has_kept_place(), [true]);
    assert_eq!(market.iceberg(1), Some((4, 4)));
    assert_eq!(market.makers(buy(14, 10)), [1, 2, 1, 1], "4, then 5 of the other order, then 4 and 1");
    let mut market = Market::with(&berg);
    market.amended(of(1).with_display(Some(shares(20))), 26);
    assert_eq!(market.iceberg(1), Some((20, 6)));
    assert_eq!(market.makers(buy(12, 10)), [1, 2, 1]);
    assert_eq!(market.iceberg(1), Some((20, 19)));
    // All of it is shown again, behind the other order.
    let mut market = Market::with(&berg);
    market.amended(of(1).with_display(None), 26);
    assert_eq!(market.makers(buy(6, 10)), [2, 1]);
    assert_eq!(market.iceberg(1), None);
    // One that showed all its shares hides some.
    let mut market = Market::with(&[place(1, sell(30, 10)), place(2, sell(5, 10))]).again();
    market.amended(of(1).with_display(Some(shares(10))), 30);
    let mut market = market.again();
    assert_eq!(market.makers(buy(16, 10)), [1, 2, 1]);
    market.refused(of(1).with_display(Some(shares(31))), "DisplayOutOfBounds");
    market.refused(of(1).with_shares(shares(1_100)).with_limit(price(1)), "DisplayOutOfBounds");
    market.refused(of(1).with_display(Some(shares(1))).with_tif(TimeInForce::FillOrKill), "ShowsAll");
}

/// 7.9
#[test]
fn linked_orders_stay_linked_and_hold_what_the_dearer_one_needs() {
    let traded = [place(2, sell(1, 10)), place(3, buy(1, 10))];
    let waits = buy(5, 15).triggered_by(Trigger::from_below(price(14)));
    let rests = of_kind(OrderKind::PostOnly, buy(5, 8));
    let linked = |order| Command::Place(Place::order(account(1), order).bound(Bond::Linked));
    for (pair, [resting, waiting]) in [([rests, waits], [3, 4]), ([waits, rests], [4, 3])] {
        let mut market = Market::with(&[&traded[..], &[place(1, pair[0]), linked(pair[1])]].concat());
        assert_eq!(market.balance(1), dollars(1_000 - 75));
        market.refused(of(resting).with_shares(shares(4)), "AmendsOneOfTwo");
        market.refused(of(waiting).with_shares(shares(6)), "AmendsOneOfTwo");
        market.refused(of(resting).with_display(Some(shares(1))), "ShowsAll");
        market.amended(of(resting).with_limit(price(9)).with_shares(shares(5)), 5);
        assert_eq!(market.balance(1), dollars(1_000 - 75), "the other one is dearer");
        market.amended(of(waiting).with_limit(price(16)).with_deadline(until(9)), 5);
        assert_eq!(market.balance(1), dollars(1_000 - 80));
        market.amended(of(waiting).with_limit(price(7)).with_wait(WaitsFor::TakeProfit(price(7))), 5);
        assert_eq!(market.balance(1), dollars(1_000 - 45), "now this one is cheaper");
        market.refused(
            of(waiting).with_limit(price(300)),
            "InsufficientFunds { needed: Money(15000000000000000000), available: Money(10000000000000000000)",
        );
        assert_eq!(market.balance(1), dollars(1_000 - 45));
        let mut market = market.again();
        market.apply(place(2, sell(1, 9)));
        assert_eq!(market.engine.open_order_count(), 1, "the execution of one cancels the other");
        assert_eq!(market.balance(1), dollars(1_000 - 45));
    }
    // A limit order that is the first of two would execute beside its partner.
    let mut market =
        Market::with(&[&traded[..], &[place(1, buy(5, 8)), linked(waits), place(2, sell(5, 11))]].concat());
    market.refused(of(3).with_limit(price(11)), "CannotLink");
    market.refused(of(3).with_tif(TimeInForce::ImmediateOrCancel), "CannotLink");
    market.amended(of(3).with_deadline(until(9)), 5);
    let limits = AccountLimits { position: shares(106), ..AccountLimits::NONE };
    let limited = Command::ChangeLimits { account: account(1), limits };
    let mut market = Market::with(&[&traded[..], &[place(1, rests), linked(waits), limited]].concat());
    market.amended(of(3).with_limit(price(9)), 5);
    market.amended(of(4).with_limit(price(9)), 5);
    let past = market.apply(place(1, buy(2, 1)));
    assert!(format!("{past:?}").contains("Position"), "the two count once: {past:?}");
    market.apply(place(1, buy(1, 1)));
    assert_eq!(market.engine.open_order_count(), 3);
}

/// 7.9
#[test]
fn others_wait_for_a_working_order_whatever_its_terms_become() {
    let working = Command::Place(Place::order(account(1), buy(5, 8)).bound(Bond::Working { two_wait: false }));
    let pending = Command::Place(Place::order(account(1), sell(5, 20)).bound(Bond::Pending));
    let mut market = Market::with(&[working, pending, place(2, sell(4, 10))]);
    market.refused(of(2).with_limit(price(21)), "AmendsPending");
    market.refused(of(1).with_tif(TimeInForce::FillOrKill), "CannotWork");
    market.refused(of(1).with_display(Some(shares(1))), "ShowsAll");
    market.amended(of(1).with_limit(price(9)).with_shares(shares(4)), 4);
    assert!(market.status(2).contains("pends_on: Some"), "it waits still");
    market.amended(of(1).with_limit(price(10)), 0);
    assert_eq!(market.makers(buy(1, 20)), [2], "it was placed when the working order had executed");
    market.amended(of(2).with_limit(price(21)), 4);
}

/// 7.10
#[test]
fn an_order_that_waits_for_its_turn_keeps_its_place_until_then() {
    let mut market = Market::with(&[place(2, sell(1, 10)), place(2, sell(1, 10)), place(2, sell(1, 10))]);
    market.engine = std::mem::replace(&mut market.engine, Engine::new(2, DoneOrders::Drop)).with_executions_max(1);
    market.apply(place(3, buy(3, 10)));
    market.apply(place(1, buy(5, 10)));
    for amendment in
        [of(5).with_limit(price(11)), of(5).with_shares(shares(6)), of(5).with_tif(TimeInForce::FillOrKill)]
    {
        market.refused(amendment, "WaitsForTurn");
    }
    market.amended(of(5).with_deadline(until(9)).with_shares(shares(4)), 4);
    market.amended(of(5).with_display(Some(shares(2))), 4);
    (0..4).for_each(|_| drop(market.apply(Command::ActivateReached)));
    assert_eq!(market.iceberg(5), Some((2, 2)));
    market.amended(of(5).with_limit(price(11)), 4);
    // One with executions that is placed again behind others waits for its turn with them, over a restart, too.
    let mut market = Market::with(&[place(1, buy(5, 9)), place(2, sell(2, 9)), place(2, sell(1, 10))]);
    market.engine = std::mem::replace(&mut market.engine, Engine::new(2, DoneOrders::Drop)).with_executions_max(1);
    market.apply(place(2, sell(1, 10)));
    market.apply(place(3, buy(2, 10)));
    market.amended(of(1).with_limit(price(11)), 3);
    assert!(market.events.iter().any(|event| matches!(event, Event::OrderDelayed { order: OrderId(1), .. })));
    let mut market = market.again();
    assert!(market.status(1).contains("executions: 0..1"), "{}", market.status(1));
    market.refused(of(1).with_shares(shares(2)), "AmendsBelowExecuted");
    market.apply(Command::ActivateReached);
    market.amended(of(1).with_limit(price(12)), 3);
}

/// 7.2, 7.10: it lost its deadline with its first shares.
#[test]
fn an_order_that_is_under_way_keeps_its_deadline() {
    let trigger = Some(Trigger::stop_loss(Side::Sell, price(10)));
    let stop = NewOrder { trigger, ..of_kind(OrderKind::ImmediateOrCancel, sell(3, 9)) };
    let stop = Command::Place(Place::order(account(1), stop).until(until(50)));
    let bids = [place(2, buy(1, 10)); 4];
    let mut market = Market::with(&[&[stop][..], &bids].concat());
    market.engine = std::mem::replace(&mut market.engine, Engine::new(2, DoneOrders::Drop)).with_executions_max(1);
    market.apply(place(3, sell(1, 10)));
    for _ in 0..3 {
        if market.status(1).contains("executions: 0..0") {
            market.apply(Command::ActivateReached);
        }
    }
    assert!(market.status(1).contains("executions: 0..1"), "it is under way: {}", market.status(1));
    market.events.clear();
    market.amended(of(1).with_shares(shares(2)), 1);
    assert_eq!((market.engine.next_deadline(), market.has_kept_place()), (Some(Time(50)), Vec::new()));
}

/// 7.11
#[test]
fn an_order_whose_time_has_come_loses_no_shares() {
    let mut market = Market::with(&[Command::Place(Place::order(account(1), buy(5, 10)).until(until(5)))]);
    let ends = [until(5), until(9), None].map(|until| of(1).with_deadline(until));
    for amendment in [of(1).with_shares(shares(4)), of(1).with_limit(price(9))].into_iter().chain(ends) {
        assert_eq!(market.at(6, Command::Amend(amendment)), Reply::Rejected(Reject::NothingToAmend));
    }
    assert_eq!(market.engine.next_deadline(), Some(Time(5)));
}

/// 7.11
#[test]
fn a_halt_an_auction_and_a_kill_let_fewer_amendments_through() {
    let halt = Command::ChangePhase { symbol: symbol(), phase: Phase::Halted, due: None };
    let auction = Command::ChangePhase { symbol: symbol(), phase: Phase::Auction, due: None };
    let resting = [place(1, buy(5, 10)), place(1, of_kind(OrderKind::PostOnly, buy(5, 10)))];
    let mut market = Market::with(&[&resting[..], &[halt]].concat());
    market.refused(of(1).with_limit(price(11)), "Halted");
    market.amended(of(1).with_shares(shares(4)).with_deadline(until(9)), 4);
    let mut market = Market::with(&[&resting[..], &[auction, place(2, sell(5, 9))]].concat());
    market.amended(of(1).with_limit(price(11)), 5);
    market.refused(of(2).with_limit(price(8)), "Auction");
    market.refused(of(1).with_tif(TimeInForce::ImmediateOrCancel), "Auction");
    market.apply(Command::ChangePhase { symbol: symbol(), phase: Phase::Open, due: None });
    assert!(market.status(1).starts_with("Done"), "it has executed with what gathered");
    // More orders than one command cancels remain of a kill.
    let mut market = Market::with(&resting);
    market.engine = std::mem::replace(&mut market.engine, Engine::new(2, DoneOrders::Drop))
        .with_cancel_bounds(terms::CancelBounds::of_command(1));
    market.apply(Command::Kill { scope: KillScope::Symbol(symbol()) });
    let left = if market.status(1).starts_with("Done") { 2 } else { 1 };
    market.refused(of(left).with_limit(price(9)), "Killed");
    market.refused(of(left).with_deadline(until(9)), "Killed");
    market.amended(of(left).with_shares(shares(4)), 4);
}

/// 7.12
#[test]
fn a_client_order_id_stands_for_the_order_with_its_new_terms() {
    let id = ClientOrderId::parse(b"mine").unwrap();
    let named = |order: NewOrder| Place::order(account(1), order).named(Some(id));
    let mut market = Market::with(&[Command::Place(named(buy(5, 10)))]);
    let by_name = Amendment::of(account(1), id.into());
    assert_eq!(market.amend(by_name.with_limit(price(11))), Reply::Amended { order: OrderId(1), open: shares(5) });
    let mut market = market.again();
    let again = market.apply(Command::Place(named(buy(5, 10))));
    assert!(format!("{again:?}").contains("limit: true"), "{again:?}");
    assert_eq!(market.apply(Command::Place(named(buy(5, 11)))), Reply::Repeated(OrderId(1)));
    assert_eq!(
        market.amend(by_name.with_shares(shares(4)).with_deadline(until(9))),
        Reply::Amended { order: OrderId(1), open: shares(4) }
    );
    let again = market.apply(Command::Place(named(buy(5, 11)).until(until(9))));
    assert_eq!(again, Reply::Repeated(OrderId(1)), "fewer shares are the same order");
    let unknown = Amendment::of(account(2), id.into());
    assert_eq!(market.amend(unknown), Reply::Rejected(Reject::UnknownOrder));
}

/// 7.2
#[test]
fn only_an_open_order_of_the_account_is_amended() {
    let mut market = Market::with(&[place(1, buy(5, 10)), place(2, buy(5, 10)), place(1, sell(1, 10))]);
    for (amendment, why) in [
        (of(2).with_limit(price(9)), "UnknownOrder"),
        (of(9).with_limit(price(9)), "UnknownOrder"),
        (Amendment::of(account(9), OrderId(1).into()), "UnknownAccount"),
    ] {
        market.refused(amendment, why);
    }
    assert_eq!(market.amend(of(3)), Reply::Done(OrderId(3)), "the history says that nothing is open");
    market.apply(Command::CancelOrder { account: account(1), order: OrderId(1).into() });
    assert_eq!(market.amend(of(1).with_limit(price(9))), Reply::Done(OrderId(1)));
}
