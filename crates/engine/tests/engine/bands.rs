//! The price band: orders that stand outside it, because they are older or an auction left them, and what moves it.

use engine::{DoneOrders, Importer};
use terms::{
    BandReferences, Command, ExecutionBounds, NewOrder, OrderKind, Pause, Phase, SelfTrade, Side, StateItem,
    SymbolIndex, SymbolRules, Trigger,
};

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
fn nothing_executes_before_the_band_begins_whatever_the_kind_of_the_order() {
    for (others, outside, order) in [(Side::Sell, "80", buy("110", "7")), (Side::Buy, "120", sell("90", "7"))] {
        let mut market = market_with(others);
        let told = format!("Would execute at {outside}, outside the price band, which is from 90 to 110 now");
        assert_eq!(market.place(order).unwrap_err(), told);
        for kind in [OrderKind::Market, OrderKind::ImmediateOrCancel, OrderKind::FillOrKill] {
            let order = match kind {
                OrderKind::Market => NewOrder::market(symbol(), order.side, order.shares),
                _ => NewOrder { kind, ..order },
            };
            market.place(order).unwrap();
            assert_eq!((market.executed(), market.canceled()), (vec![], vec!["7".to_owned()]), "{kind:?}");
        }
        assert_eq!(
            market.by_funds(order.side, dollars(500)).unwrap_err(),
            "Nothing can be traded for 500: nobody is on the other side, or a share costs too much"
        );
        let told = market.place(NewOrder { kind: OrderKind::PostOnly, ..order }).unwrap_err();
        assert!(told.contains(outside), "{told}");
        // The order that is older than the rule stays, and the band interrupts trading where it may.
        market.rules(SymbolRules { interruption: Pause::from_seconds(60), ..band() });
        let prevents = order.with_self_trade(SelfTrade::CancelNewest);
        assert!(market.place(prevents).unwrap_err().starts_with("Would execute at "));
        market.place(order).unwrap();
        assert_eq!(market.executed(), [""; 0]);
        assert!(market.engine.phase(SymbolIndex(0)).until.is_some());
        market.duel.end();
    }
}

#[test]
fn what_an_auction_triggers_ends_before_the_band_begins() {
    let mut market = Market::new(band());
    market.trade_at("100", "1");
    let falls = Trigger::from_above(price("99"));
    market.place(NewOrder::market(symbol(), Side::Buy, shares("2")).triggered_by(falls)).unwrap();
    market.place(buy("105", "3").triggered_by(falls)).unwrap();
    market.apply(phase(Phase::Auction));
    market.place_of(2, sell("80", "5")).unwrap();
    market.place_of(2, buy("99", "1")).unwrap();
    market.apply(phase(Phase::Open));
    assert_eq!(market.canceled(), ["2", "3"], "the auction's price was 99, and 4 are left at 80");
    market.duel.end();
}

#[test]
fn own_orders_that_are_passed_by_are_no_executions() {
    let mut market = Market::new(SymbolRules::NONE);
    market.trade_at("100", "1");
    market.place_of(1, sell("80", "2")).unwrap();
    market.place_of(2, sell("85", "2")).unwrap();
    market.place_of(2, sell("105", "2")).unwrap();
    market.rules(band());
    let mode = |mode, count| buy("110", count).with_self_trade(mode);
    let told = "Would execute at 85, outside the price band, which is from 90 to 110 now";
    assert_eq!(market.place(mode(SelfTrade::Allowed, "1")).unwrap_err(), told.replace("85", "80"));
    assert_eq!(market.place(mode(SelfTrade::CancelOldest, "1")).unwrap_err(), told);
    assert_eq!(market.place(mode(SelfTrade::Decrement, "3")).unwrap_err(), told);
    // These two get no further than their own account's order.
    market.place(mode(SelfTrade::CancelNewest, "3")).unwrap();
    market.place(mode(SelfTrade::Decrement, "2")).unwrap();
    assert_eq!(market.executed(), [""; 0]);
    market.duel.end();
}

#[test]
fn a_thousand_orders_that_are_passed_by_are_enough() {
    for (own, is_placed) in [(999, true), (1_000, false)] {
        let mut market = Market::new(SymbolRules::NONE);
        market.trade_at("100", "1");
        for _ in 0..own {
            market.place_of(1, sell("80", "0.5")).unwrap();
        }
        market.place_of(2, sell("105", "1")).unwrap();
        market.rules(band());
        let told = market.place(buy("110", "1").with_self_trade(SelfTrade::CancelOldest));
        assert_eq!(told.is_ok(), is_placed, "{told:?}");
        assert_eq!(market.executed().len(), usize::from(is_placed));
    }
}

/// An order goes on with the band of its arrival. An auction in between may leave what is before the band by then.
#[test]
fn an_order_under_way_ends_where_an_auction_left_an_offer_before_the_band() {
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
        assert_eq!(market.executed(), [""; 0]);
        match interruption {
            Some(_) => assert!(market.engine.phase(SymbolIndex(0)).until.is_some()),
            None => assert_eq!(market.canceled(), ["2"]),
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
