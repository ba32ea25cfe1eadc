//! The rules of symbols, one by one, each as a small market that engine and model play together.

use crate::common::duel::Duel;
use engine::{DoneOrders, Engine, Importer};
use terms::{
    AccountId, BrokenRule, CancelReason, Command, DOLLAR, Distance, Entry, Event, ExecutionBounds, FundsOrder, Money,
    NewOrder, Op, OrderId, OrderKind, Pause, Place, Position, Price, Reject, Reply, SelfTrade, Sequence, Shares, Side,
    StateItem, Symbol, SymbolIndex, SymbolRules, Time, Trigger,
};

const UNIT: i64 = 100_000_000;

pub(crate) fn symbol() -> Symbol {
    Symbol::parse(b"SPY").unwrap()
}

pub(crate) fn account(number: u32) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).unwrap()
}

pub(crate) fn price(text: &str) -> Price {
    terms::Decimal::parse(text.as_bytes()).unwrap().price().unwrap()
}

pub(crate) fn shares(text: &str) -> Shares {
    terms::Decimal::parse(text.as_bytes()).unwrap().order_shares().unwrap()
}

pub(crate) fn dollars(whole: i128) -> Money {
    Money::from_units(whole * DOLLAR)
}

pub(crate) fn percent(whole: u32) -> Option<Distance> {
    Distance::from_hundredths(whole * 100)
}

pub(crate) fn buy(limit: &str, count: &str) -> NewOrder {
    NewOrder::limit(symbol(), Side::Buy, price(limit), shares(count))
}

pub(crate) fn sell(limit: &str, count: &str) -> NewOrder {
    NewOrder::limit(symbol(), Side::Sell, price(limit), shares(count))
}

/// A market of SPY and two accounts with a million dollars and a thousand shares each, compared with the model.
pub(crate) struct Market {
    pub(crate) duel: Duel,
    pub(crate) engine: Engine,
    sequence: u64,
    pub(crate) last_events: Vec<Event>,
}

impl Market {
    pub(crate) fn new(rules: SymbolRules) -> Market {
        Market::with_bounds(rules, ExecutionBounds::ALL)
    }

    pub(crate) fn with_bounds(rules: SymbolRules, bounds: ExecutionBounds) -> Market {
        let engine = Engine::new(1, DoneOrders::Drop).with_execution_bounds(bounds);
        let duel = Duel::with_bounds(1, 1, bounds);
        let mut market = Market { duel, engine, sequence: 0, last_events: Vec::new() };
        market.apply(Command::CreateSymbol { symbol: symbol() });
        for number in 1..=2 {
            market.apply(Command::CreateAccount { account: account(number), balance: dollars(1_000_000) });
            let shares = Position::from_units(1_000 * i128::from(UNIT));
            market.apply(Command::IssueShares { symbol: symbol(), account: account(number), shares });
        }
        market.rules(rules);
        market
    }

    pub(crate) fn apply(&mut self, command: Command) -> Reply {
        self.duel.play(Op::Command(command));
        self.sequence += 1;
        let entry = Entry { sequence: Sequence(self.sequence), time: Time(self.sequence), command };
        self.last_events.clear();
        let events = &mut self.last_events;
        self.engine.apply(&entry, &mut Vec::new(), &mut |event| events.push(event))
    }

    pub(crate) fn rules(&mut self, rules: SymbolRules) {
        assert_eq!(self.apply(Command::ChangeRules { symbol: symbol(), rules }), Reply::Created);
    }

    /// Places an order of the first account.
    pub(crate) fn place(&mut self, order: NewOrder) -> Result<OrderId, String> {
        self.place_of(1, order)
    }

    pub(crate) fn place_of(&mut self, number: u32, order: NewOrder) -> Result<OrderId, String> {
        match self.apply(Command::Place(Place::order(account(number), order))) {
            Reply::Opened(order) => Ok(order),
            Reply::Rejected(reject) => Err(reject.to_string()),
            other => panic!("{other:?} answers no order"),
        }
    }

    pub(crate) fn by_funds(&mut self, side: Side, funds: Money) -> Result<OrderId, String> {
        let order = FundsOrder { symbol: symbol(), side, funds, self_trade: SelfTrade::Allowed };
        match self.apply(Command::Place(Place::funds(account(1), order))) {
            Reply::Opened(order) => Ok(order),
            Reply::Rejected(reject) => Err(reject.to_string()),
            other => panic!("{other:?} answers no order"),
        }
    }

    /// The executions of the last command.
    pub(crate) fn executed(&self) -> Vec<String> {
        let executed = |event: &Event| match event {
            Event::Executed { price, shares, .. } => Some(format!("{shares} at {price}")),
            _ => None,
        };
        self.last_events.iter().filter_map(executed).collect()
    }

    pub(crate) fn canceled(&self) -> Vec<String> {
        let canceled = |event: &Event| match event {
            Event::OrderCanceled { shares, .. } => Some(shares.to_string()),
            _ => None,
        };
        self.last_events.iter().filter_map(canceled).collect()
    }

    /// The reasons of the orders that the last command canceled.
    pub(crate) fn reasons(&self) -> Vec<CancelReason> {
        let reason = |event: &Event| match event {
            Event::OrderCanceled { why, .. } => Some(*why),
            _ => None,
        };
        self.last_events.iter().filter_map(reason).collect()
    }

    /// Makes an execution at a price, around which the band then lies.
    pub(crate) fn trade_at(&mut self, limit: &str, count: &str) {
        self.place_of(2, sell(limit, count)).unwrap();
        self.place_of(1, buy(limit, count)).unwrap();
    }
}

#[test]
fn a_limit_and_a_stop_are_multiples_of_the_tick_size() {
    let mut market = Market::new(SymbolRules { tick: price("0.05"), ..SymbolRules::NONE });
    market.place(buy("10.05", "1")).unwrap();
    assert_eq!(market.place(buy("10.02", "1")).unwrap_err(), "Limit 10.02 is not a multiple of the tick size 0.05");
    let stop = |stop: &str| sell("9", "1").triggered_by(Trigger::from_above(price(stop)));
    market.place(stop("9.95")).unwrap();
    assert_eq!(market.place(stop("9.99")).unwrap_err(), "Stop 9.99 is not a multiple of the tick size 0.05");
    let kinds = [OrderKind::PostOnly, OrderKind::ImmediateOrCancel, OrderKind::FillOrKill];
    for kind in kinds {
        market.place(NewOrder::of_kind(kind, symbol(), Side::Buy, price("10.02"), shares("1"))).unwrap_err();
    }
    // A market order has no limit.
    market.place(NewOrder::market(symbol(), Side::Sell, shares("1"))).unwrap();
    assert_eq!(market.executed(), ["1 at 10.05"]);
    market.duel.end();
}

#[test]
fn shares_are_whole_lots_between_the_fewest_and_the_most() {
    let (shares_min, shares_max) = (shares("2"), shares("10"));
    let mut market = Market::new(SymbolRules { lot: shares("0.5"), shares_min, shares_max, ..SymbolRules::NONE });
    for (count, told) in [
        ("2", None),
        ("2.5", None),
        ("10", None),
        ("2.25", Some("2.25 shares are not a multiple of the lot size 0.5")),
        ("1.5", Some("Too few shares: 1.5; an order has at least 2")),
        ("10.5", Some("Too many shares: 10.5; an order has at most 10")),
    ] {
        assert_eq!(market.place(buy("10", count)).err().as_deref(), told, "{count}");
        let market_order = NewOrder::market(symbol(), Side::Sell, shares(count));
        assert_eq!(market.place(market_order).err().as_deref(), told, "{count}, of a market order");
    }
    market.duel.end();
}

#[test]
fn an_order_is_worth_its_limit_times_its_shares_and_a_market_order_what_the_last_price_says() {
    let mut market = Market::new(SymbolRules::NONE);
    let rules = SymbolRules { value_min: dollars(100), value_max: dollars(1_000), ..SymbolRules::NONE };
    market.rules(rules);
    let few = "Too little value: 99; an order is worth at least 100";
    assert_eq!(market.place(buy("9.9", "10")).unwrap_err(), few);
    assert_eq!(market.place(buy("10", "100.1")).unwrap_err(), "Too much value: 1001; an order is worth at most 1000");
    // Before the first execution the value of a share is unknown.
    market.place(NewOrder::market(symbol(), Side::Sell, shares("1"))).unwrap();
    market.trade_at("11", "10");
    let sell_nine = NewOrder::market(symbol(), Side::Sell, shares("9"));
    assert_eq!(market.place(sell_nine).unwrap_err(), few);
    // A waiting market order is valued at its trigger.
    market.place(sell_nine.triggered_by(Trigger::from_above(price("10.99")))).unwrap_err();
    market.place(sell_nine.triggered_by(Trigger::from_below(price("11.2")))).unwrap();
    market.duel.end();
}

#[test]
fn a_limit_outside_the_band_around_the_last_price_is_refused() {
    let mut market = Market::new(SymbolRules { band_up: percent(10), band_down: percent(20), ..SymbolRules::NONE });
    // Before the first execution there is no band.
    market.place_of(2, sell("500", "1")).unwrap();
    market.trade_at("100", "1");
    for limit in ["80", "110"] {
        market.place(buy(limit, "1")).unwrap();
    }
    let told = "Limit 79.99 is outside the price band, which is from 80 to 110 now";
    assert_eq!(market.place(buy("79.99", "1")).unwrap_err(), told);
    market.place(sell("110.01", "1")).unwrap_err();
    // The next execution moves the band.
    market.place_of(2, sell("110", "1")).unwrap();
    assert_eq!(market.executed(), ["1 at 110"]);
    market.place(sell("121", "1")).unwrap();
    market.place(buy("87.99", "1")).unwrap_err();
    market.duel.end();
}

#[test]
fn a_market_order_executes_up_to_the_band_and_no_further() {
    let mut market = Market::new(SymbolRules::NONE);
    market.trade_at("100", "1");
    for limit in ["105", "110", "111"] {
        market.place_of(2, sell(limit, "1")).unwrap();
    }
    for limit in ["95", "90", "89"] {
        market.place_of(2, buy(limit, "1")).unwrap();
    }
    market.rules(SymbolRules { band_up: percent(10), band_down: percent(10), ..SymbolRules::NONE });
    market.place(NewOrder::market(symbol(), Side::Buy, shares("3"))).unwrap();
    assert_eq!(market.executed(), ["1 at 105", "1 at 110"], "the band stays where it was when the order came");
    assert_eq!(market.canceled(), ["1"]);
    // The last price is 110 now, and the lowest one 99.
    market.place(NewOrder::market(symbol(), Side::Sell, shares("3"))).unwrap();
    assert_eq!(market.executed(), [""; 0]);
    assert_eq!(market.canceled(), ["3"]);
    market.duel.end();
}

/// A limit order that would execute outside the band begins an auction, and a market order stops at the band's end.
#[test]
fn nothing_executes_outside_the_band_however_many_orders_stand_before_its_end() {
    let rules = SymbolRules { band_up: percent(10), interruption: Pause::from_seconds(60), ..SymbolRules::NONE };
    let (orders, all) = (1_000, buy("125", "510"));
    for order in [all, NewOrder::market(symbol(), Side::Buy, all.shares)] {
        let mut market = Market::new(rules);
        market.place_of(2, sell("120", "10")).unwrap();
        market.trade_at("100", "1");
        for _ in 0..orders {
            market.place_of(2, sell("100", "0.5")).unwrap();
        }
        market.place(order).unwrap();
        let interrupts = market.engine.phase(SymbolIndex(0)).until.is_some();
        assert_eq!(interrupts, order.kind == OrderKind::Limit);
        if interrupts {
            assert_eq!(market.executed(), [""; 0]);
        } else {
            assert_eq!(market.executed().len(), orders);
            assert!(market.executed().iter().all(|one| one == "0.5 at 100") && market.canceled() == ["10"]);
        }
    }
}

#[test]
fn a_market_order_for_money_counts_what_the_band_allows_and_whole_lots() {
    let rules = SymbolRules { lot: shares("2"), band_up: percent(10), ..SymbolRules::NONE };
    let mut market = Market::new(SymbolRules::NONE);
    market.trade_at("100", "1");
    for limit in ["100", "110", "120"] {
        market.place_of(2, sell(limit, "3")).unwrap();
    }
    market.rules(rules);
    // 6 shares are within the band, for 630, and 3 more outside it.
    market.by_funds(Side::Buy, dollars(900)).unwrap();
    assert_eq!(market.executed(), ["3 at 100", "3 at 110"]);
    assert_eq!(market.canceled(), [""; 0], "what it cannot buy was never asked for");
    market.place_of(2, sell("100", "4")).unwrap();
    // 350 dollars would buy 3.5 shares.
    market.by_funds(Side::Buy, dollars(350)).unwrap();
    assert_eq!(market.executed(), ["2 at 100"]);
    let told = "Too few shares: 1.5; an order has at least 2";
    assert_eq!(market.by_funds(Side::Buy, dollars(150)).unwrap_err(), told);
    market.duel.end();
}

#[test]
fn a_market_buy_that_runs_out_of_money_buys_whole_lots() {
    let mut market = Market::new(SymbolRules { lot: shares("2"), ..SymbolRules::NONE });
    market.place_of(2, sell("1000", "200")).unwrap();
    market.place_of(2, sell("150000", "10")).unwrap();
    market.place(buy("1", "1000")).unwrap();
    // 999,000 dollars buy 200 at 1,000, and the remaining 799,000 would buy 5.3 at 150,000.
    market.place(NewOrder::market(symbol(), Side::Buy, shares("300"))).unwrap();
    assert_eq!(market.executed(), ["200 at 1000", "4 at 150000"]);
    assert_eq!(market.canceled(), ["96"]);
    let told = market.place(NewOrder::market(symbol(), Side::Buy, shares("2"))).unwrap_err();
    assert!(told.starts_with("Insufficient funds: 300000 needed"), "{told}");
    market.duel.end();
}

#[test]
fn while_a_symbol_is_halted_orders_are_canceled_and_none_is_placed() {
    let mut market = Market::new(SymbolRules::NONE);
    let resting = market.place(buy("10", "1")).unwrap();
    let waiting = market.place(sell("9", "1").triggered_by(Trigger::from_above(price("9")))).unwrap();
    market.rules(SymbolRules { is_halted: true, ..SymbolRules::NONE });
    let told = "Trading is halted: orders can be canceled, and only those for the next auction are placed";
    assert_eq!(market.place_of(2, sell("10", "1")).unwrap_err(), told);
    assert_eq!(market.by_funds(Side::Sell, dollars(1)).unwrap_err(), told);
    assert_eq!(market.place(sell("9", "1").triggered_by(Trigger::from_above(price("9")))).unwrap_err(), told);
    for order in [resting, waiting] {
        let canceled = market.apply(Command::CancelOrder { account: account(1), order: order.into() });
        assert!(matches!(canceled, Reply::Canceled(_)), "{canceled:?}");
    }
    market.rules(SymbolRules::NONE);
    market.place(buy("10", "1")).unwrap();
    market.duel.end();
}

/// Only orders that were reached before a halt, and were too many for one command, can be triggered during it.
#[test]
fn orders_that_were_reached_before_a_halt_are_canceled_when_their_turn_comes() {
    let mut market = Market::new(SymbolRules::NONE);
    for _ in 0..1_003 {
        let stop = NewOrder::limit(symbol(), Side::Sell, price("9"), shares("0.1"));
        market.place(stop.triggered_by(Trigger::from_above(price("9")))).unwrap();
    }
    market.trade_at("8", "1");
    assert_eq!(market.engine.reached_orders(), 3);
    market.rules(SymbolRules { is_halted: true, ..SymbolRules::NONE });
    market.apply(Command::ActivateReached);
    assert_eq!(market.canceled(), ["0.1", "0.1", "0.1"]);
    market.duel.end();
}

#[test]
fn a_stop_may_wait_with_a_limit_outside_the_band_and_is_canceled_if_that_is_outside_when_its_turn_comes() {
    let mut market = Market::new(SymbolRules { band_up: percent(10), band_down: percent(10), ..SymbolRules::NONE });
    market.trade_at("100", "1");
    let stop = |limit: &str| sell(limit, "1").triggered_by(Trigger::from_above(price("95")));
    market.place(stop("86")).unwrap();
    market.place(stop("70")).unwrap();
    market.trade_at("95", "1");
    assert_eq!(market.canceled(), ["1"], "from 85.5 to 104.5 a limit is inside");
    let rests = market.engine.query(&terms::Query { account: account(1), order: OrderId(3).into() }, &mut Vec::new());
    assert!(matches!(rests, Reply::Status(status) if status.open == shares("1")));
    market.duel.end();
}

#[test]
fn a_triggered_market_order_ends_at_the_band() {
    let mut market = Market::new(SymbolRules { band_down: percent(10), ..SymbolRules::NONE });
    market.place_of(2, buy("85", "5")).unwrap();
    market.trade_at("100", "1");
    let stop = NewOrder::market(symbol(), Side::Sell, shares("2")).triggered_by(Trigger::from_above(price("95")));
    market.place(stop).unwrap();
    market.trade_at("95", "1");
    assert_eq!(market.executed(), ["1 at 95"], "85 is below 85.5");
    assert_eq!(market.canceled(), ["2"]);
    market.duel.end();
}

#[test]
fn orders_that_break_new_rules_stay_and_execute() {
    let mut market = Market::new(SymbolRules::NONE);
    let resting = market.place(buy("10.01", "1.5")).unwrap();
    market.rules(SymbolRules { tick: price("0.05"), lot: shares("1"), shares_min: shares("1"), ..SymbolRules::NONE });
    market.place_of(2, sell("10", "2")).unwrap();
    assert_eq!(market.executed(), ["1.5 at 10.01"]);
    let told = market.apply(Command::CancelOrder { account: account(1), order: resting.into() });
    assert_eq!(told, Reply::Done(resting));
    market.duel.end();
}

#[test]
fn rules_are_replaced_as_a_whole_and_the_same_ones_change_nothing() {
    let rules = SymbolRules { tick: price("0.05"), ..SymbolRules::NONE };
    let mut market = Market::new(rules);
    let all = rules.parts().map(|part| Event::RulesChanged { symbol: SymbolIndex(0), part });
    assert_eq!(market.last_events, all);
    market.rules(rules);
    assert_eq!(market.last_events, []);
    market.rules(SymbolRules { lot: shares("1"), ..SymbolRules::NONE });
    market.place(buy("10.01", "1")).unwrap();
    market.rules(SymbolRules::NONE);
    assert_eq!(market.engine.rules(SymbolIndex(0)), None);
    let unknown = Symbol::parse(b"NONE").unwrap();
    let told = market.apply(Command::ChangeRules { symbol: unknown, rules });
    assert_eq!(told, Reply::Rejected(Reject::UnknownSymbol));
    market.duel.end();
}

#[test]
fn under_the_same_client_order_id_an_order_is_told_again_whatever_the_rules_are_by_then() {
    let mut market = Market::new(SymbolRules::NONE);
    let client_id = terms::ClientOrderId::parse(b"a").ok();
    let command = Command::Place(Place::order(account(1), buy("10.01", "1")).named(client_id));
    assert_eq!(market.apply(command), Reply::Opened(OrderId(1)));
    market.rules(SymbolRules { tick: price("1"), is_halted: true, ..SymbolRules::NONE });
    assert_eq!(market.apply(command), Reply::Repeated(OrderId(1)));
    market.duel.end();
}

#[test]
fn a_state_with_impossible_rules_is_not_imported() {
    let mut market = Market::new(SymbolRules { lot: shares("2"), ..SymbolRules::NONE });
    market.place(buy("10", "2")).unwrap();
    let mut items = Vec::new();
    market.engine.export(&mut |item| items.push(item));
    let at = items.iter().position(|item| matches!(item, StateItem::Rules { .. })).expect("it has rules");
    let import = |items: &[StateItem]| {
        let mut importer = Importer::new(1, DoneOrders::Drop);
        items.iter().try_for_each(|item| importer.add(*item)).map_err(|error| error.fault)?;
        importer.finish().map(|engine| engine.state_hash()).map_err(|error| error.fault)
    };
    assert_eq!(import(&items), Ok(market.engine.state_hash()));
    let with =
        |item: StateItem| items.iter().enumerate().map(move |(place, &old)| if place == at { item } else { old });
    let rules_of = |symbol, rules| with(StateItem::Rules { symbol: SymbolIndex(symbol), rules }).collect::<Vec<_>>();
    let nothing = "rules that say nothing, or that no order could obey";
    assert_eq!(import(&rules_of(0, SymbolRules::NONE)), Err(nothing));
    let impossible = SymbolRules { lot: shares("3"), shares_max: shares("2"), ..SymbolRules::NONE };
    assert_eq!(import(&rules_of(0, impossible)), Err(nothing));
    let good = SymbolRules { lot: shares("2"), ..SymbolRules::NONE };
    assert_eq!(import(&rules_of(7, good)), Err("rules of a symbol without its last price"));
    let mut twice = items.clone();
    twice.insert(at, items[at]);
    assert_eq!(import(&twice), Err("rules before their turn, or twice"));
    let other = with(StateItem::Rules { symbol: SymbolIndex(0), rules: SymbolRules { lot: shares("1"), ..good } });
    assert_ne!(
        import(&other.collect::<Vec<_>>()),
        Ok(market.engine.state_hash()),
        "rules are part of the state's hash"
    );
}

#[test]
fn every_broken_rule_is_told_with_its_bound() {
    let (limit, tick) = (price("1.5"), price("1"));
    let told = Reject::BreaksRule(BrokenRule::LimitOffTick { limit, tick }).to_string();
    assert_eq!(told, "Limit 1.5 is not a multiple of the tick size 1");
    assert!(size_of::<Reject>() <= 48 && size_of::<Event>() <= 48, "they are copied for each order");
}
