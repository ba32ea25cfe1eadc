//! The price band where an order stands outside it that is older than the rule, or was left by an auction.

use terms::{
    Command, ExecutionBounds, NewOrder, OrderKind, Pause, Phase, SelfTrade, Side, SymbolIndex, SymbolRules, Trigger,
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
    let phase = |phase| Command::ChangePhase { symbol: symbol(), phase, due: None };
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
        let phase = |phase| Command::ChangePhase { symbol: symbol(), phase, due: None };
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
