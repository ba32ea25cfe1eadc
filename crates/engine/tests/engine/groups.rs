//! Groups of accounts: the ones that count where two orders meet, and where none count.

use terms::{CancelReason, Command, Event, Group, OrderId, Phase, SelfTrade, SymbolRules};

use crate::rules::{Market, account, buy, sell, symbol};

fn put(market: &mut Market, number: u32, group: u32) {
    market.apply(Command::ChangeGroup { account: account(number), group: Group::new(group).unwrap() });
}

fn phase(market: &mut Market, phase: Phase) {
    market.apply(Command::ChangePhase { symbol: symbol(), phase, due: None });
}

#[test]
fn the_groups_of_the_moment_at_which_orders_meet_count() {
    let mut market = Market::new(SymbolRules::NONE);
    // This one was placed when nobody had a group.
    market.place_of(2, sell("10", "5")).unwrap();
    put(&mut market, 1, 7);
    put(&mut market, 2, 7);
    let mine = buy("10", "1").with_self_trade(SelfTrade::CancelNewest);
    market.place(mine).unwrap();
    assert_eq!((market.executed(), market.reasons()), (vec![], vec![CancelReason::SelfTrade]));
    // Without a mode they trade as any two do.
    market.place(buy("10", "1")).unwrap();
    assert_eq!(market.executed(), ["1 at 10"]);
    for (number, group) in [(2, 8), (1, 0)] {
        put(&mut market, number, group);
        market.place(mine).unwrap();
        assert_eq!(market.executed(), ["1 at 10"], "account {number} in group {group}");
    }
    // Two accounts of no group have nothing in common.
    put(&mut market, 2, 0);
    market.place(mine).unwrap();
    assert_eq!(market.executed(), ["1 at 10"]);
    market.duel.end();
}

/// The orders were placed with a mode, before the auction.
#[test]
fn in_an_auction_orders_of_one_group_and_of_one_account_execute_all_the_same() {
    for seller in [1, 2] {
        let mut market = Market::new(SymbolRules::NONE);
        put(&mut market, 1, 7);
        put(&mut market, 2, 7);
        market.place(buy("10", "5").with_self_trade(SelfTrade::CancelBoth)).unwrap();
        phase(&mut market, Phase::Auction);
        market.place_of(seller, sell("10", "5")).unwrap();
        phase(&mut market, Phase::Open);
        let met = |event: &&Event| matches!(event, Event::Uncrossed { maker: OrderId(1), aggressor: OrderId(2), .. });
        assert_eq!(market.last_events.iter().filter(met).count(), 1, "{:?}", market.last_events);
        assert_eq!(market.reasons(), []);
        market.duel.end();
    }
}
