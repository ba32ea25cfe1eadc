//! Orders for an auction: where they are placed, the price that they make, and their end. Engine and model play each
//! market together.

use terms::{
    AccountLimits, Amendment, AuctionTies, BrokenRule, CancelReason, ClientOrderId, Command, Event, ExecutionBounds,
    KillScope, NewOrder, OrderId, OrderKind, Phase, Place, Position, Reject, Reply, Side, StateItem, SymbolIndex,
    SymbolRules, TimeInForce, Trail, Trigger,
};

use super::rules::{Market, account, buy, dollars, percent, price, sell, shares, symbol};

/// A market whose last execution was at 100, in an auction, with a static band of ten per cent around 100.
fn gathering() -> Market {
    let rules = SymbolRules {
        static_up: percent(10),
        static_down: percent(10),
        reference: Some(price("100")),
        ..SymbolRules::NONE
    };
    let mut market = Market::new(rules);
    market.trade_at("100", "1");
    phase(&mut market, Phase::Auction);
    market
}

fn phase(market: &mut Market, phase: Phase) -> Reply {
    market.apply(Command::ChangePhase { symbol: symbol(), phase, due: None })
}

fn for_auction(order: NewOrder) -> NewOrder {
    NewOrder { kind: OrderKind::AuctionLimit, ..order }
}

fn market_order(side: Side, count: &str) -> NewOrder {
    NewOrder::of_kind(OrderKind::AuctionMarket, symbol(), side, side.any_price(), shares(count))
}

/// Cancels an order of the first account.
fn cancel(order: OrderId) -> Command {
    Command::CancelOrder { account: account(1), order: order.into() }
}

/// The executions of the auction that the last command ended.
fn uncrossed(market: &Market) -> Vec<String> {
    let executed = |event: &Event| match event {
        Event::Uncrossed { price, shares, .. } => Some(format!("{shares} at {price}")),
        _ => None,
    };
    market.last_events.iter().filter_map(executed).collect()
}

/// The balance and the position of an account in the state.
fn holdings(market: &Market, number: u32) -> (terms::Money, Position) {
    let (mut balance, mut position, mut accounts) = (None, Position::ZERO, Vec::new());
    market.engine.export(&mut |item| match item {
        StateItem::Account { id, balance: its } => {
            accounts.push(id);
            balance = if id == account(number) { Some(its) } else { balance };
        }
        StateItem::Position { account: at, shares, .. } if accounts[at.0 as usize] == account(number) => {
            position = shares
        }
        _ => {}
    });
    (balance.unwrap(), position)
}

#[test]
fn what_is_left_of_an_order_for_the_auction_is_canceled_when_the_symbol_opens() {
    let mut market = gathering();
    let before = holdings(&market, 1);
    let order = market.place(for_auction(buy("101", "10"))).unwrap();
    let resting = market.place(buy("95", "1")).unwrap();
    market.place_of(2, sell("99", "4")).unwrap();
    assert_eq!(phase(&mut market, Phase::Open), Reply::Created);
    assert_eq!((uncrossed(&market), market.canceled()), (vec!["4 at 100".to_owned()], vec!["6".to_owned()]));
    assert_eq!(market.reasons(), [CancelReason::NotResting]);
    let (balance, position) = holdings(&market, 1);
    assert_eq!(balance, before.0.minus(dollars(400)).minus(dollars(95)), "the other order holds its money still");
    assert_eq!(position, before.1.plus(shares("4").position()));
    assert_eq!(market.apply(cancel(order)), Reply::Done(order));
    assert!(matches!(market.apply(cancel(resting)), Reply::Canceled(_)));
    market.duel.end();
}

#[test]
fn a_halt_keeps_it_until_the_symbol_opens() {
    let mut market = gathering();
    let gathered = market.place(for_auction(buy("101", "10"))).unwrap();
    market.place_of(2, market_order(Side::Sell, "3")).unwrap();
    assert_eq!(phase(&mut market, Phase::Halted), Reply::Created);
    assert!(market.canceled().is_empty());
    let amended = market.apply(Command::Amend(Amendment::of(account(1), gathered.into()).with_limit(price("102"))));
    assert_eq!(amended, Reply::Rejected(Reject::BreaksRule(BrokenRule::Halted)), "it would come to wait for another");
    let next = market.place(for_auction(buy("101", "10"))).unwrap();
    assert_eq!(phase(&mut market, Phase::Open), Reply::Created);
    assert_eq!((uncrossed(&market), market.canceled()), (vec!["3 at 101".to_owned()], vec!["7".to_owned()]));
    assert!(matches!(market.apply(cancel(next)), Reply::Canceled(_)), "it waits for the next auction");
    market.duel.end();
}

#[test]
fn it_waits_for_nothing_but_its_auction_and_needs_a_limit_or_a_band() {
    let mut market = gathering();
    let refused = |market: &mut Market, place: Place| match market.apply(Command::Place(place)) {
        Reply::Rejected(Reject::BreaksRule(rule)) => rule,
        other => panic!("{other:?}"),
    };
    let alone = |order| Place::order(account(1), order);
    let limit = for_auction(buy("101", "10"));
    let stop = Trigger::from_below(price("105"));
    for (order, rule) in [
        (limit.triggered_by(stop), BrokenRule::NotInAuction),
        (market_order(Side::Buy, "1").triggered_by(stop), BrokenRule::NotInAuction),
        (NewOrder::market(symbol(), Side::Buy, shares("1")), BrokenRule::Auction),
    ] {
        assert_eq!(refused(&mut market, alone(order)), rule, "{order:?}");
    }
    let trailing = Place::trailing(account(1), limit, Trail::by(price("1"))).unwrap();
    assert_eq!(refused(&mut market, trailing), BrokenRule::NotInAuction);
    phase(&mut market, Phase::Open);
    for order in [limit.triggered_by(stop), market_order(Side::Buy, "1").triggered_by(stop)] {
        assert_eq!(refused(&mut market, alone(order)), BrokenRule::NotInAuction);
    }
    market.rules(SymbolRules { is_halted: true, ..SymbolRules::NONE });
    assert_eq!(refused(&mut market, alone(limit)), BrokenRule::Halted);
    market.rules(SymbolRules { static_up: percent(10), reference: Some(price("100")), ..SymbolRules::NONE });
    assert_eq!(refused(&mut market, alone(market_order(Side::Sell, "1"))), BrokenRule::AuctionWithoutBand);
    phase(&mut market, Phase::Auction);
    market.rules(SymbolRules { static_down: percent(10), reference: Some(price("100")), ..SymbolRules::NONE });
    market.place_of(2, market_order(Side::Sell, "1")).unwrap();
    assert_eq!(refused(&mut market, alone(market_order(Side::Buy, "1"))), BrokenRule::AuctionWithoutBand);
    market.rules(SymbolRules::NONE);
    assert_eq!(refused(&mut market, alone(market_order(Side::Sell, "1"))), BrokenRule::AuctionWithoutBand);
    market.duel.end();
}

/// The shares of an order, if it is in no book.
fn delayed(market: &Market, order: OrderId) -> Option<String> {
    let mut found = None;
    market.engine.export(&mut |item| match item {
        StateItem::Delayed { order: at, placed, .. } if at == order => found = Some(placed.shares.to_string()),
        _ => {}
    });
    found
}

#[test]
fn before_its_auction_it_holds_what_it_needs_and_executes_with_nobody() {
    let mut market = gathering();
    phase(&mut market, Phase::Open);
    let before = holdings(&market, 1);
    let order = market.place(for_auction(buy("101", "10"))).unwrap();
    assert_eq!(holdings(&market, 1).0, before.0.minus(dollars(1_010)));
    let asked = market.place_of(2, sell("100", "4")).unwrap();
    assert_eq!(delayed(&market, order).as_deref(), Some("10"), "it is in no book");
    market.place(buy("100", "1")).unwrap();
    assert_eq!(delayed(&market, order).as_deref(), Some("10"), "an execution at its price is none of its own");
    phase(&mut market, Phase::Auction);
    assert_eq!(delayed(&market, order), None);
    assert_eq!(phase(&mut market, Phase::Open), Reply::Created);
    assert_eq!((uncrossed(&market), market.canceled()), (vec!["3 at 100".to_owned()], vec!["7".to_owned()]));
    assert_eq!(market.apply(cancel(order)), Reply::Done(order));
    assert!(matches!(market.apply(Command::CancelOrder { account: account(2), order: asked.into() }), Reply::Done(_)));
    assert_eq!(holdings(&market, 1).0, before.0.minus(dollars(400)));
    market.duel.end();
}

#[test]
fn a_symbol_that_opens_without_an_auction_leaves_it_waiting() {
    let mut market = gathering();
    phase(&mut market, Phase::Halted);
    let order = market.place(for_auction(sell("99", "5"))).unwrap();
    market.duel.export_and_import();
    assert_eq!(phase(&mut market, Phase::Open), Reply::Created);
    market.place_of(2, buy("110", "1")).unwrap();
    assert_eq!(delayed(&market, order).as_deref(), Some("5"));
    phase(&mut market, Phase::Auction);
    phase(&mut market, Phase::Halted);
    assert_eq!(phase(&mut market, Phase::Open), Reply::Created);
    assert_eq!((uncrossed(&market), market.canceled()), (vec!["1 at 100".to_owned()], vec!["4".to_owned()]));
    market.duel.end();
}

#[test]
fn a_market_order_keeps_the_limit_of_its_placing_however_the_band_moves_until_its_auction() {
    let mut market = gathering();
    phase(&mut market, Phase::Open);
    let before = holdings(&market, 1);
    market.place(market_order(Side::Buy, "10")).unwrap();
    assert_eq!(holdings(&market, 1).0, before.0.minus(dollars(1_100)), "for 110 each");
    let moved = SymbolRules {
        static_up: percent(10),
        static_down: percent(10),
        reference: Some(price("200")),
        ..SymbolRules::NONE
    };
    market.rules(moved);
    phase(&mut market, Phase::Auction);
    market.place_of(2, sell("111", "5")).unwrap();
    market.place_of(2, sell("110", "2")).unwrap();
    assert_eq!(phase(&mut market, Phase::Open), Reply::Created);
    assert_eq!((uncrossed(&market), market.canceled()), (vec!["2 at 110".to_owned()], vec!["8".to_owned()]));
    assert_eq!(holdings(&market, 1).0, before.0.minus(dollars(220)));
    market.duel.end();
}

#[test]
fn before_its_auction_it_keeps_its_place_or_is_not_amended() {
    let mut market = gathering();
    phase(&mut market, Phase::Open);
    let order = market.place(for_auction(buy("101", "10"))).unwrap();
    let amend = Amendment::of(account(1), order.into());
    for refused in [amend.with_limit(price("102")), amend.with_shares(shares("11"))] {
        let reply = market.apply(Command::Amend(refused));
        assert_eq!(reply, Reply::Rejected(Reject::CannotAmend(terms::AmendFault::WaitsForTurn)));
    }
    let reply = market.apply(Command::Amend(amend.with_shares(shares("6"))));
    assert_eq!(reply, Reply::Amended { order, open: shares("6") });
    assert_eq!(delayed(&market, order).as_deref(), Some("6"));
    phase(&mut market, Phase::Auction);
    market.place_of(2, sell("99", "6")).unwrap();
    assert_eq!(phase(&mut market, Phase::Open), Reply::Created);
    assert_eq!((uncrossed(&market), market.canceled()), (vec!["6 at 100".to_owned()], Vec::new()));
    market.duel.end();
}

/// A command brings as many orders to their book as it has turns, and an auction that ended before the last of them
/// had come would leave them to another one.
#[test]
fn an_auction_ends_only_when_all_that_waited_for_it_have_gathered() {
    let bounds = ExecutionBounds { turns: 1, ..ExecutionBounds::ALL };
    let mut market = Market::with_bounds(SymbolRules::NONE, bounds);
    for _ in 0..250 {
        market.place(for_auction(buy("10", "1"))).unwrap();
    }
    market.place_of(2, sell("10", "250")).unwrap();
    phase(&mut market, Phase::Auction);
    let waits = |item: &StateItem| matches!(item, StateItem::Delayed { .. });
    let left = |market: &Market| {
        let mut left = 0;
        market.engine.export(&mut |item| left += usize::from(waits(&item)));
        left
    };
    assert_eq!(left(&market), 150);
    let later = market.place(for_auction(buy("10", "1"))).unwrap();
    assert!(delayed(&market, later).is_some(), "it comes behind them");
    assert_eq!(phase(&mut market, Phase::Open), Reply::InAuction);
    assert!(uncrossed(&market).is_empty());
    market.apply(Command::EndAuction);
    assert_eq!(left(&market), 151, "the auction waits");
    market.duel.export_and_import();
    market.apply(Command::ActivateReached);
    market.apply(Command::ActivateReached);
    assert_eq!(left(&market), 0);
    market.apply(Command::EndAuction);
    assert_eq!((uncrossed(&market).len(), market.canceled()), (250, vec!["1".to_owned()]));
    assert_eq!(market.apply(cancel(later)), Reply::Done(later), "the last one found nothing left");
    market.duel.end();
}

/// The order stood on no book, and was still one of those that the end of the auction cancels. No snapshot says so.
#[test]
fn one_that_gathered_and_is_amended_while_others_gather_waits_as_they_do() {
    let bounds = ExecutionBounds { turns: 1, ..ExecutionBounds::ALL };
    let mut market = Market::with_bounds(SymbolRules::NONE, bounds);
    let first = market.place(for_auction(buy("10", "1"))).unwrap();
    for _ in 0..150 {
        market.place(for_auction(buy("10", "1"))).unwrap();
    }
    phase(&mut market, Phase::Auction);
    assert_eq!(delayed(&market, first), None, "it has gathered");
    let amended = market.apply(Command::Amend(Amendment::of(account(1), first.into()).with_limit(price("9"))));
    assert_eq!(amended, Reply::Amended { order: first, open: shares("1") });
    assert_eq!(delayed(&market, first).as_deref(), Some("1"));
    market.duel.export_and_import();
    phase(&mut market, Phase::Halted);
    phase(&mut market, Phase::Open);
    market.apply(Command::EndAuction);
    assert!(delayed(&market, first).is_some(), "it waits for the next auction");
    market.duel.end();
}

#[test]
fn a_bounded_number_of_orders_of_a_symbol_waits_for_an_auction() {
    let bounds = ExecutionBounds { command: 1, ..ExecutionBounds::ALL };
    let mut market = Market::with_bounds(SymbolRules::NONE, bounds);
    for _ in 0..10 {
        market.place(for_auction(buy("10", "1"))).unwrap();
    }
    let refused = market.place(for_auction(buy("10", "1"))).unwrap_err();
    assert_eq!(refused, Reject::TooManyWaiting { most: 10 }.to_string());
    market.duel.end();
}

#[test]
fn a_market_order_holds_the_worst_price_that_the_band_and_its_collar_allow_and_gets_back_the_rest() {
    let mut market = gathering();
    let before = holdings(&market, 1);
    let order = market.place(market_order(Side::Buy, "10")).unwrap();
    assert_eq!(holdings(&market, 1).0, before.0.minus(dollars(1_100)));
    assert!(matches!(market.apply(cancel(order)), Reply::Canceled(_)));
    assert_eq!(holdings(&market, 1), before);
    let limits = AccountLimits { collar: percent(5), ..AccountLimits::NONE };
    market.apply(Command::ChangeLimits { account: account(1), limits });
    market.place(market_order(Side::Buy, "10")).unwrap();
    assert_eq!(holdings(&market, 1).0, before.0.minus(dollars(1_050)));
    market.place_of(2, sell("98", "10")).unwrap();
    assert_eq!(phase(&mut market, Phase::Open), Reply::Created);
    assert_eq!(uncrossed(&market), ["10 at 98"]);
    assert_eq!(holdings(&market, 1).0, before.0.minus(dollars(980)));
    // A buy that its account cannot pay at that price is refused.
    phase(&mut market, Phase::Auction);
    let too_much = market.place(market_order(Side::Buy, "9800")).unwrap_err();
    assert_eq!(too_much, "Insufficient funds: 1008420 needed, 998920 available");
    market.duel.end();
}

/// The price and the shares of an auction behind this last price, with a band of half of it. A limit "market" is
/// that of a market order.
fn price_of(ties: AuctionTies, bids: &[(&str, &str)], asks: &[(&str, &str)], last: &str) -> String {
    let rules = SymbolRules { auction_ties: ties, band_up: percent(50), band_down: percent(50), ..SymbolRules::NONE };
    let mut market = Market::new(rules);
    market.trade_at(last, "1");
    phase(&mut market, Phase::Auction);
    for (number, side, orders) in [(1, Side::Buy, bids), (2, Side::Sell, asks)] {
        for (limit, count) in orders {
            let order = match *limit {
                "market" => market_order(side, count),
                limit => NewOrder::limit(symbol(), side, price(limit), shares(count)),
            };
            market.place_of(number, order).unwrap();
        }
    }
    let found = market.engine.auction_price(SymbolIndex(0)).unwrap();
    assert_eq!(phase(&mut market, Phase::Open), Reply::Created);
    let at = format!(" at {}", found.price);
    assert!(uncrossed(&market).iter().all(|one| one.ends_with(&at)), "{:?}", uncrossed(&market));
    market.duel.end();
    format!("{} for {}", found.price, terms::Shares::from_units(found.shares.units() as i64).unwrap())
}

#[test]
fn market_orders_make_the_prices_that_rule_books_print() {
    let by = |ties, bids: &[_], asks: &[_], last| price_of(ties, bids, asks, last);
    let each = |bids: &[_], asks: &[_], last| AuctionTies::ALL.map(|ties| by(ties, bids, asks, last));
    // Sellers are left over at 198 and at 199.
    let (bids, asks) = ([("market", "250"), ("199", "150"), ("market", "50")], [("market", "300"), ("198", "200")]);
    assert_eq!(by(AuctionTies::Pressure, &bids, &asks, "200"), "198 for 450");
    // Market orders alone execute at the last price.
    assert_eq!(each(&[("market", "900")], &[("market", "800")], "123"), ["123 for 800"; 2]);
    // Buyers at any price are left over, and 200 is the one limit.
    let (bids, asks) = ([("market", "900"), ("200", "100")], [("200", "500")]);
    assert_eq!(each(&bids, &asks, "210"), ["200 for 500"; 2]);
    // The market order decides between two limits.
    let (bids, asks) = ([("202", "300"), ("201", "200")], [("market", "400"), ("199", "200")]);
    assert_eq!(by(AuctionTies::Pressure, &bids, &asks, "200"), "199 for 500");
    // Xetra: buyers are left over at 199 and sellers at 202, and the nearer one is the price.
    let (bids, asks) = ([("market", "100"), ("199", "100")], [("market", "100"), ("202", "100")]);
    for (last, printed) in [("199", "199 for 100"), ("200", "199 for 100"), ("202", "202 for 100")] {
        assert_eq!(each(&bids, &asks, last), [printed; 2]);
    }
    // Euronext: the most shares execute behind several limits.
    assert_eq!(each(&[("market", "80")], &[("10.02", "40"), ("10.04", "40")], "10"), ["10.04 for 80"; 2]);
    assert_eq!(each(&[("9.98", "40"), ("9.96", "40")], &[("market", "80")], "10"), ["9.96 for 80"; 2]);
}

#[test]
fn at_the_end_of_the_band_the_first_order_executes_first() {
    let mut market = gathering();
    let limit = market.place(buy("110", "1")).unwrap();
    let first = market.place(market_order(Side::Buy, "1")).unwrap();
    market.place_of(2, sell("100", "1")).unwrap();
    phase(&mut market, Phase::Open);
    let done = market.last_events.iter().find_map(|event| match event {
        Event::Uncrossed { maker, .. } => Some(*maker),
        _ => None,
    });
    assert_eq!((done, market.canceled()), (Some(limit), vec!["1".to_owned()]));
    assert_eq!(market.apply(cancel(first)), Reply::Done(first));
    market.duel.end();
}

#[test]
fn more_than_one_command_cancels_end_with_several() {
    let mut market = gathering();
    let most = terms::CancelBounds::ALL.command;
    let orders: Vec<OrderId> = (0..most + 5).map(|_| market.place(market_order(Side::Buy, "0.01")).unwrap()).collect();
    assert_eq!(phase(&mut market, Phase::Open), Reply::InAuction);
    assert_eq!(market.canceled().len(), most);
    // The auction goes on, over at once: another order gathers, and executes with one that is left.
    market.place_of(2, sell("100", "0.01")).unwrap();
    market.apply(Command::EndAuction);
    assert_eq!((uncrossed(&market), market.canceled().len()), (vec!["0.01 at 100".to_owned()], 4));
    assert_eq!(market.engine.phase(SymbolIndex(0)).phase, Phase::Open);
    assert_eq!(market.apply(cancel(orders[0])), Reply::Done(orders[0]));
    market.duel.end();
}

/// An auction over which a command had no cancels left was opened and begun again by each command.
#[test]
fn a_command_without_executions_left_leaves_them_gathered() {
    let bounds = ExecutionBounds { command: 1, turn: 1, small: 1, ..ExecutionBounds::ALL };
    let rules = SymbolRules { band_up: percent(10), band_down: percent(10), ..SymbolRules::NONE };
    let mut market = Market::with_bounds(rules, bounds);
    market.trade_at("100", "1");
    phase(&mut market, Phase::Auction);
    for _ in 0..2 {
        market.place(for_auction(buy("101", "1"))).unwrap();
        market.place_of(2, market_order(Side::Sell, "1")).unwrap();
    }
    market.place(for_auction(buy("99", "1"))).unwrap();
    assert_eq!(phase(&mut market, Phase::Open), Reply::InAuction);
    assert_eq!((uncrossed(&market).len(), market.canceled().len()), (1, 0));
    market.apply(Command::EndAuction);
    assert_eq!((uncrossed(&market).len(), market.canceled().len()), (1, 1));
    market.duel.end();
}

#[test]
fn sent_again_under_its_name_it_is_the_same_order() {
    let mut market = gathering();
    let named = |order| Command::Place(Place::order(account(1), order).named(ClientOrderId::parse(b"mine").ok()));
    let Reply::Opened(order) = market.apply(named(market_order(Side::Buy, "1"))) else { panic!("it gathers") };
    assert_eq!(market.apply(named(market_order(Side::Buy, "1"))), Reply::Repeated(order));
    let other = market.apply(named(NewOrder::market(symbol(), Side::Buy, shares("1"))));
    assert!(matches!(other, Reply::Rejected(Reject::ClientOrderIdTaken { .. })), "{other:?}");
    phase(&mut market, Phase::Open);
    assert_eq!(market.apply(named(market_order(Side::Buy, "1"))), Reply::Repeated(order));
    market.duel.end();
}

#[test]
fn an_amendment_changes_its_shares_and_its_limit_and_no_order_becomes_one() {
    let mut market = gathering();
    let before = holdings(&market, 1);
    let limit = market.place(for_auction(buy("101", "10"))).unwrap();
    let at_any = market.place(market_order(Side::Buy, "10")).unwrap();
    let resting = market.place(buy("90", "1")).unwrap();
    let amend = |order: OrderId| Amendment::of(account(1), order.into());
    let mut apply = |amendment| market.apply(Command::Amend(amendment));
    assert_eq!(
        apply(amend(limit).with_limit(price("99")).with_shares(shares("12"))),
        Reply::Amended { order: limit, open: shares("12") }
    );
    assert_eq!(
        apply(amend(limit).with_tif(TimeInForce::GoodForAuction)),
        Reply::Amended { order: limit, open: shares("12") }
    );
    for fewer_and_more in ["4", "20"] {
        let shares = shares(fewer_and_more);
        assert_eq!(apply(amend(at_any).with_shares(shares)), Reply::Amended { order: at_any, open: shares });
    }
    for refused in [
        amend(at_any).with_limit(price("99")),
        amend(at_any).with_display(Some(shares("10"))),
        amend(limit).with_tif(TimeInForce::Rests),
        amend(resting).with_tif(TimeInForce::GoodForAuction),
    ] {
        assert!(matches!(apply(refused), Reply::Rejected(Reject::CannotAmend(_))), "{refused:?}");
    }
    let held = dollars(12 * 99 + 20 * 110 + 90);
    assert_eq!(holdings(&market, 1).0, before.0.minus(held));
    phase(&mut market, Phase::Open);
    assert_eq!(holdings(&market, 1).0, before.0.minus(dollars(90)));
    market.duel.end();
}

#[test]
fn a_kill_takes_it_out_of_its_auction() {
    let mut market = gathering();
    let before = holdings(&market, 1);
    market.place(for_auction(buy("101", "10"))).unwrap();
    market.place(market_order(Side::Buy, "10")).unwrap();
    market.place_of(2, sell("99", "4")).unwrap();
    market.apply(Command::Kill { scope: KillScope::Account(account(1)) });
    assert_eq!(phase(&mut market, Phase::Open), Reply::Created);
    assert!(uncrossed(&market).is_empty());
    assert_eq!(holdings(&market, 1), before);
    market.duel.end();
}
