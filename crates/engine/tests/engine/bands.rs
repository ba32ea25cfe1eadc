//! The price band: orders that stand outside it, because they are older or an auction left them, and what moves it.

use engine::{DoneOrders, Importer};
use terms::{
    BandReferences, CancelBounds, CancelReason, Command, Entry, Event, ExecutionBounds, KillScope, NewOrder, OrderKind,
    Pause, Phase, Place, Position, Price, Reply, SelfTrade, Shares, Side, StateItem, SymbolIndex, SymbolRules, Time,
    Trigger,
};

use crate::common::duel::Duel;
use crate::rules::{Market, account, buy, dollars, percent, price, sell, shares, symbol};

fn band() -> SymbolRules {
    SymbolRules { band_up: percent(10), band_down: percent(10), ..SymbolRules::NONE }
}

/// A market with a band from 90 to 110 and two orders of the second account: one to sell at 80, or one to buy at 120,
/// which is outside the band and better than any inside, and one inside behind it.
fn market_with(side: Side) -> Market {
    let mut market = Market::new(SymbolRules::NONE);
    market.trade_at("100", "1");
    match side {
        Side::Sell => {
            market.place_of(2, sell("80", "5")).unwrap();
            market.place_of(2, sell("105", "5")).unwrap();
        }
        Side::Buy => {
            market.place_of(2, buy("120", "5")).unwrap();
            market.place_of(2, buy("95", "5")).unwrap();
        }
    }
    market.rules(band());
    market
}

#[test]
fn an_order_before_the_band_is_canceled_by_whatever_meets_it_and_keeps_nobody_waiting() {
    for (others, near, order) in [(Side::Sell, "105", buy("110", "7")), (Side::Buy, "95", sell("90", "7"))] {
        let inside = format!("5 at {near}");
        for kind in [OrderKind::Limit, OrderKind::Market, OrderKind::ImmediateOrCancel] {
            let mut market = market_with(others);
            let order = match kind {
                OrderKind::Market => NewOrder::market(symbol(), order.side, order.shares),
                _ => NewOrder { kind, ..order },
            };
            market.place(order).unwrap();
            assert_eq!(market.executed(), [inside.as_str()], "{kind:?}");
            let rest = if kind == OrderKind::Limit { vec!["5"] } else { vec!["5", "2"] };
            assert_eq!(market.canceled(), rest, "{kind:?}");
            assert_eq!(market.reasons()[0], CancelReason::Refused);
            market.duel.end();
        }
        // It is no liquidity, for money neither.
        let mut market = market_with(others);
        market.place(NewOrder { kind: OrderKind::FillOrKill, ..order }).unwrap();
        assert_eq!((market.executed(), market.canceled()), (vec![], vec!["7".to_owned()]));
        market.by_funds(order.side, dollars(500)).unwrap();
        let for_money = if others == Side::Sell { "4.76190476 at 105" } else { "5 at 95" };
        assert_eq!((market.executed(), market.canceled()), (vec![for_money.to_owned()], vec!["5".to_owned()]));
        market.duel.end();
        // A fill-or-kill that is filled cancels it on its way.
        let mut market = market_with(others);
        let filled = NewOrder { kind: OrderKind::FillOrKill, shares: shares("5"), ..order };
        market.place(filled).unwrap();
        assert_eq!((market.executed(), market.canceled()), (vec![inside], vec!["5".to_owned()]));
        market.duel.end();
    }
}

#[test]
fn an_order_that_may_interrupt_leaves_what_is_before_the_band_to_the_auction() {
    for (others, outside, order) in [(Side::Sell, "80", buy("110", "7")), (Side::Buy, "120", sell("90", "7"))] {
        let mut market = market_with(others);
        let told = market.place(NewOrder { kind: OrderKind::PostOnly, ..order }).unwrap_err();
        assert!(told.contains(outside), "{told}");
        market.rules(SymbolRules { interruption: Pause::from_seconds(60), ..band() });
        market.place(order).unwrap();
        assert_eq!((market.executed(), market.canceled()), (vec![], vec![]));
        assert!(market.engine.phase(SymbolIndex(0)).until.is_some());
        market.duel.end();
    }
}

#[test]
fn what_an_auction_triggers_passes_over_what_it_left_before_the_band() {
    let mut market = Market::new(band());
    market.trade_at("100", "1");
    let falls = Trigger::from_above(price("99"));
    market.place(NewOrder::market(symbol(), Side::Buy, shares("2")).triggered_by(falls)).unwrap();
    market.place(buy("105", "3").triggered_by(falls)).unwrap();
    market.apply(phase(Phase::Auction));
    market.place_of(2, sell("80", "5")).unwrap();
    market.place_of(2, buy("99", "1")).unwrap();
    market.apply(phase(Phase::Open));
    assert_eq!(market.canceled(), ["4", "2"], "the auction left 4 at 80, and the market order finds nobody");
    market.duel.end();
}

#[test]
fn self_trade_prevention_is_not_asked_for_an_own_order_before_the_band() {
    for mode in [SelfTrade::Allowed, SelfTrade::CancelNewest, SelfTrade::CancelOldest, SelfTrade::Decrement] {
        let mut market = Market::new(SymbolRules::NONE);
        market.trade_at("100", "1");
        market.place_of(1, sell("80", "2")).unwrap();
        market.place_of(2, sell("85", "2")).unwrap();
        market.place_of(2, sell("105", "2")).unwrap();
        market.rules(band());
        market.place(buy("110", "1").with_self_trade(mode)).unwrap();
        assert_eq!((market.executed(), market.canceled()), (vec!["1 at 105".to_owned()], vec!["2".to_owned(); 2]));
        market.duel.end();
    }
}

/// Each order that an arriving one cancels on its way counts as one of the executions that a command has.
#[test]
fn orders_before_the_band_end_with_the_executions_of_a_command() {
    let mut market = Market::with_bounds(SymbolRules::NONE, ExecutionBounds::of_command(2));
    market.trade_at("100", "1");
    for _ in 0..3 {
        market.place_of(2, sell("80", "1")).unwrap();
    }
    market.place_of(2, sell("105", "1")).unwrap();
    market.rules(band());
    market.place(buy("110", "1")).unwrap();
    assert_eq!((market.executed().len(), market.canceled().len()), (0, 2));
    market.apply(Command::ActivateReached);
    assert_eq!((market.executed().len(), market.canceled().len()), (1, 1));
    market.duel.end();
}

/// An order goes on with the band of its arrival. An auction in between may leave what is before the band by then.
#[test]
fn an_order_under_way_passes_over_what_an_auction_left_before_the_band_or_interrupts() {
    for (interruption, kind) in
        [(None, OrderKind::Limit), (Pause::from_seconds(60), OrderKind::Limit), (None, OrderKind::ImmediateOrCancel)]
    {
        let rules = SymbolRules { interruption, ..band() };
        let mut market = Market::with_bounds(rules, ExecutionBounds::of_command(2));
        market.trade_at("100", "1");
        let makers = [(); 3].map(|()| market.place_of(2, sell("100", "1")).unwrap());
        market.place(NewOrder { kind, ..buy("105", "4") }).unwrap();
        assert_eq!(market.executed().len(), 2);
        market.apply(phase(Phase::Auction));
        market.apply(Command::CancelOrder { account: account(2), order: makers[2].into() });
        market.place_of(2, sell("80", "5")).unwrap();
        market.place_of(1, buy("100", "1")).unwrap();
        market.apply(phase(Phase::Open));
        if interruption.is_some() {
            assert_eq!((market.executed().len(), market.engine.phase(SymbolIndex(0)).until.is_some()), (0, true));
        } else {
            let canceled = if kind == OrderKind::Limit { vec!["4"] } else { vec!["4", "2"] };
            assert_eq!(market.canceled(), canceled);
        }
        market.duel.end();
    }
}

fn phase(phase: Phase) -> Command {
    Command::ChangePhase { symbol: symbol(), phase, due: None }
}

/// The band that the refusal of an order far above it names.
fn told(market: &mut Market) -> String {
    let refused = market.place_of(2, sell("100000", "1")).unwrap_err();
    refused.trim_start_matches("Limit 100000 is outside the price band, which is ").trim_end_matches(" now").to_owned()
}

#[test]
fn executions_of_an_account_with_itself_and_small_ones_do_not_move_the_band() {
    let mut market = Market::new(SymbolRules { band_size: shares("1"), ..band() });
    market.trade_at("100", "1");
    market.place_of(1, sell("95", "5")).unwrap();
    market.place_of(1, buy("95", "5")).unwrap();
    assert_eq!((market.executed(), told(&mut market)), (vec!["5 at 95".to_owned()], "from 90 to 110".to_owned()));
    market.trade_at("95", "0.99");
    assert_eq!(told(&mut market), "from 90 to 110");
    // It is the last execution for all else.
    assert_eq!(market.engine.last_price(SymbolIndex(0)), Some(price("95")));
    market.trade_at("95", "1");
    assert_eq!(told(&mut market), "from 85.5 to 104.5");
    market.duel.end();
}

#[test]
fn a_band_begins_around_the_last_execution_and_ends_with_its_rule() {
    let mut market = Market::new(SymbolRules::NONE);
    market.trade_at("100", "1");
    market.rules(band());
    assert_eq!(told(&mut market), "from 90 to 110");
    market.trade_at("105", "1");
    market.rules(SymbolRules { band_down: None, ..band() });
    assert_eq!(told(&mut market), "from 0.00000001 to 115.5");
    market.rules(SymbolRules::NONE);
    market.trade_at("200", "1");
    market.rules(band());
    assert_eq!(told(&mut market), "from 180 to 220");
    market.duel.end();
}

#[test]
fn a_band_begins_around_the_last_execution_also_of_an_account_with_itself() {
    let mut market = Market::new(SymbolRules::NONE);
    market.trade_at("100", "1");
    market.place_of(1, sell("50", "1")).unwrap();
    market.place_of(1, buy("50", "1")).unwrap();
    market.rules(SymbolRules { band_size: shares("5"), ..band() });
    assert_eq!(told(&mut market), "from 45 to 55");
    // From then on such an execution does not move it.
    market.place_of(1, sell("54", "9")).unwrap();
    market.place_of(1, buy("54", "9")).unwrap();
    assert_eq!((market.executed(), told(&mut market)), (vec!["9 at 54".to_owned()], "from 45 to 55".to_owned()));
    market.duel.end();
}

/// A market whose band an order has interrupted for a minute.
fn interrupted() -> (Market, SymbolRules) {
    let mut market = Market::new(SymbolRules::NONE);
    market.trade_at("100", "1");
    market.place_of(2, sell("120", "1")).unwrap();
    let rules = SymbolRules { interruption: Pause::from_seconds(60), ..band() };
    market.rules(rules);
    market.place(buy("125", "1")).unwrap();
    assert!(market.engine.phase(SymbolIndex(0)).until.is_some());
    (market, rules)
}

#[test]
fn an_interruption_ends_by_itself_or_halted_or_early_or_lasts() {
    // Has its loop end the auctions whose time has come.
    let end = |market: &mut Market| {
        let until = market.engine.phase(SymbolIndex(0)).until.unwrap_or(Time(1 << 40));
        let entry = Entry { sequence: market.engine.sequence().next(), time: until, command: Command::EndAuction };
        let mut uncrossed = 0;
        market.engine.apply(&entry, &mut Vec::new(), &mut |event| {
            uncrossed += usize::from(matches!(event, Event::Uncrossed { .. }));
        });
        (market.engine.phase(SymbolIndex(0)).phase, uncrossed)
    };
    let (mut market, _) = interrupted();
    assert_eq!(end(&mut market), (Phase::Open, 1));
    let (mut market, rules) = interrupted();
    market.rules(SymbolRules { is_halted: true, ..rules });
    assert_eq!(end(&mut market), (Phase::Halted, 0));
    // An operator makes another one last.
    let (mut market, _) = interrupted();
    market.apply(phase(Phase::Auction));
    assert_eq!(market.engine.phase(SymbolIndex(0)).until, None);
    assert_eq!(end(&mut market), (Phase::Auction, 0));
    // And ends it early.
    let (mut market, _) = interrupted();
    market.apply(phase(Phase::Open));
    let executed = market.last_events.iter().filter(|event| matches!(event, Event::Uncrossed { .. })).count();
    assert_eq!((market.engine.phase(SymbolIndex(0)).phase, executed), (Phase::Open, 1));
    market.duel.end();
}

#[test]
fn pairs_of_orders_walk_to_the_end_of_the_static_band_and_no_further() {
    let reference = Some(price("100"));
    let mut market = Market::new(SymbolRules { static_up: percent(20), static_down: percent(20), reference, ..band() });
    for (limit, band) in [("100", "from 90 to 110"), ("90", "from 81 to 99"), ("81", "from 80 to 89.1")] {
        market.trade_at(limit, "1");
        assert_eq!(told(&mut market), band);
    }
    let refused = market.place(sell("79", "1")).unwrap_err();
    assert_eq!(refused, "Limit 79 is outside the price band, which is from 80 to 89.1 now");
    market.place_of(2, buy("80", "1")).unwrap();
    market.place(NewOrder::market(symbol(), Side::Sell, shares("2"))).unwrap();
    assert_eq!((market.executed(), market.canceled()), (vec!["1 at 80".to_owned()], vec!["1".to_owned()]));
    assert_eq!(told(&mut market), "from 80 to 88");
    market.duel.end();
}

#[test]
fn the_static_reference_is_the_last_auctions_price_or_an_operators() {
    let fixed = SymbolRules { static_up: percent(10), static_down: percent(10), ..SymbolRules::NONE };
    let mut market = Market::new(SymbolRules { reference: Some(price("100")), ..fixed });
    assert_eq!(told(&mut market), "from 90 to 110");
    let auction = |market: &mut Market, accounts: [u32; 2], limit: &str| {
        market.apply(phase(Phase::Auction));
        market.place_of(accounts[0], sell(limit, "1")).unwrap();
        market.place_of(accounts[1], buy(limit, "1")).unwrap();
        market.apply(phase(Phase::Open));
        told(market)
    };
    assert_eq!(auction(&mut market, [2, 1], "105"), "from 94.5 to 115.5");
    assert_eq!(auction(&mut market, [1, 1], "100"), "from 94.5 to 115.5", "an account alone makes no price");
    market.trade_at("100", "1");
    assert_eq!(told(&mut market), "from 94.5 to 115.5");
    // The same rules again change nothing, and give the reference again.
    market.rules(SymbolRules { reference: Some(price("100")), ..fixed });
    assert_ne!(market.last_events, []);
    assert_eq!(told(&mut market), "from 90 to 110");
    market.rules(SymbolRules { reference: Some(price("100")), ..fixed });
    assert_eq!(market.last_events, []);
    // Nothing is in both bands: the static one counts alone. It stays when rules come without a reference.
    market.rules(SymbolRules { reference: Some(price("200")), band_up: percent(10), ..fixed });
    assert_eq!(told(&mut market), "from 180 to 220");
    market.rules(SymbolRules { band_up: percent(100), ..fixed });
    assert_eq!(told(&mut market), "from 180 to 200");
    market.duel.end();
}

#[test]
fn a_state_whose_reference_moves_with_no_band_is_not_imported() {
    let mut market = Market::new(band());
    market.trade_at("100", "1");
    let mut items = Vec::new();
    market.engine.export(&mut |item| items.push(item));
    let import = |items: &mut dyn Iterator<Item = StateItem>| {
        let mut importer = Importer::new(1, DoneOrders::Drop);
        for item in items {
            importer.add(item).map_err(|error| error.fault)?;
        }
        importer.finish().map(|engine| engine.state_hash()).map_err(|error| error.fault)
    };
    assert_eq!(import(&mut items.iter().copied()), Ok(market.engine.state_hash()));
    let without = |item: &StateItem| !matches!(item, StateItem::Rules { .. });
    let told = import(&mut items.iter().copied().filter(without));
    assert_eq!(told, Err("a dynamic reference of a symbol without a dynamic band"));
    let moved = items.iter().map(|item| match *item {
        StateItem::Watch { symbol, last, left, references } => {
            let references = BandReferences { dynamic: Some(price("99")), ..references };
            StateItem::Watch { symbol, last, left, references }
        }
        item => item,
    });
    assert_ne!(import(&mut moved.into_iter()), Ok(market.engine.state_hash()), "references are part of the hash");
}

/// A market whose rules come with `begins`: a band from 90 to 110. The second account has the smallest orders on `side`
/// at this many prices inside the band, this many in all, and before them one of five shares outside of it.
fn behind_small_orders(side: Side, prices: i64, orders: i64) -> Duel {
    let few = CancelBounds { command: 10, turn: 100, small: 1 };
    let mut duel = Duel::with_cancel_bounds(7, 10_000, ExecutionBounds::ALL, few);
    duel.play_told(Command::CreateSymbol { symbol: symbol() });
    for number in 1..=3 {
        duel.play_told(Command::CreateAccount { account: account(number), balance: dollars(1_000_000) });
        let shares = Position::from_units(100_000_000_000);
        duel.play_told(Command::IssueShares { symbol: symbol(), account: account(number), shares });
    }
    place(&mut duel, 2, sell("100", "1"));
    place(&mut duel, 1, buy("100", "1"));
    let (outside, away) = if side == Side::Sell { ("120", 1) } else { ("80", -1) };
    place(&mut duel, 2, NewOrder::limit(symbol(), side, price(outside), shares("5")));
    for nth in 0..orders {
        let limit = Price::from_units(price("100").units() + away * (nth % prices)).unwrap();
        place(&mut duel, 2, NewOrder::limit(symbol(), side, limit, Shares::from_units(1).unwrap()));
    }
    duel
}

fn place(duel: &mut Duel, number: u32, order: NewOrder) -> Reply {
    duel.play_told(Command::Place(Place::order(account(number), order)))
}

/// Whether an order of the first account begins an interruption. It is refused otherwise.
fn begins(duel: &mut Duel, order: NewOrder) -> bool {
    let interruption = Pause::from_seconds(60);
    duel.play_told(Command::ChangeRules { symbol: symbol(), rules: SymbolRules { interruption, ..band() } });
    let is_opened = matches!(place(duel, 1, order), Reply::Opened(_));
    assert_eq!(duel.model().phase(SymbolIndex(0)).until.is_some(), is_opened);
    is_opened
}

/// A thousand orders of the smallest size once switched interruptions off: a limit order looked no further, and was
/// refused.
#[test]
fn small_orders_keep_no_order_from_beginning_an_interruption() {
    for (others, order) in [(Side::Sell, buy("120", "1")), (Side::Buy, sell("80", "1"))] {
        let mut duel = behind_small_orders(others, 3, 1_001);
        assert!(begins(&mut duel, order));
        duel.end();
    }
}

#[test]
fn an_order_that_may_interrupt_looks_at_two_thousand_prices() {
    let mut duel = behind_small_orders(Side::Sell, 2_000, 2_000);
    assert!(!begins(&mut duel, buy("120", "1")));
    let last = duel.model().open_orders().map(|order| order.id).max().unwrap();
    duel.play_told(Command::CancelOrder { account: account(2), order: last.into() });
    assert!(begins(&mut duel, buy("120", "1")), "the price outside the band is the last of them");
    duel.end();
}

#[test]
fn shares_that_are_hidden_inside_the_band_keep_an_order_from_its_end() {
    let mut duel = behind_small_orders(Side::Sell, 3, 1_001);
    let iceberg = Place::iceberg(account(2), sell("105", "50"), shares("1")).unwrap();
    duel.play_told(Command::Place(iceberg));
    assert!(!begins(&mut duel, buy("120", "50.00001001")));
    assert!(begins(&mut duel, buy("120", "50.00001002")));
    duel.end();
}

/// The shares at a price are not those that execute while orders there are about to be canceled.
#[test]
fn while_a_kill_goes_on_an_order_looks_at_a_thousand_orders() {
    let mut duel = behind_small_orders(Side::Sell, 3, 1_001);
    (0..11).for_each(|_| drop(place(&mut duel, 3, buy("1", "1"))));
    duel.play_told(Command::Kill { scope: KillScope::Account(account(3)) });
    assert!(!begins(&mut duel, buy("120", "1")));
    duel.play_told(Command::ExpireOrders);
    assert!(begins(&mut duel, buy("120", "1")));
    duel.end();
}
