//! Orders that wait for others: the cases that a count of the comparison with the model cannot show.

use terms::{
    AccountId, Bond, Command, DOLLAR, FeeRate, Fees, Money, NewOrder, Op, OrderId, Place, Position, Price, Reject,
    Reply, SelfTrade, Shares, Side, Symbol, SymbolRules, Tier,
};

use crate::common::duel::Duel;

fn account(number: u8) -> AccountId {
    AccountId::parse(&[b'0' + number]).unwrap()
}

fn order(symbol: Symbol, side: Side, limit: i64) -> NewOrder {
    NewOrder::limit(symbol, side, Price::from_units(limit).unwrap(), Shares::from_units(10).unwrap())
}

/// A working order, and one that waits for it.
fn chain(number: u8, working: NewOrder, pending: NewOrder) -> [Command; 2] {
    let (account, client_id, until) = (account(number), None, None);
    [
        Command::Place(
            Place::order(account, working).named(client_id).until(until).bound(Bond::Working { two_wait: false }),
        ),
        Command::Place(Place::order(account, pending).named(client_id).until(until).bound(Bond::Pending)),
    ]
}

/// The exit waited until a command of the loop placed it: one request kept a stop-loss of somebody else from standing.
#[test]
fn a_refused_request_places_the_exits_of_those_with_whom_its_first_order_executed() {
    let mut duel = Duel::new(1, 1);
    let [symbol, other] = [b"SPY", b"ZED"].map(|name| Symbol::parse(name).unwrap());
    [symbol, other].into_iter().for_each(|symbol| duel.play(Op::Command(Command::CreateSymbol { symbol })));
    for account in [1, 2].map(account) {
        duel.play(Op::Command(Command::CreateAccount { account, balance: Money::from_units(DOLLAR) }));
        let shares = Position::from_units(100);
        duel.play(Op::Command(Command::IssueShares { symbol, account, shares }));
    }
    for command in chain(1, order(symbol, Side::Buy, 5), order(symbol, Side::Sell, 7)) {
        duel.play(Op::Command(command));
    }
    let exit = OrderId(2);
    assert_eq!(duel.model().order(exit).pends_on, Some(OrderId(1)));
    let [working, pending] = chain(2, order(symbol, Side::Sell, 5), order(other, Side::Buy, 4));
    assert_eq!(duel.play_told(working), Reply::Opened(OrderId(3)));
    let is_due = |duel: &Duel| duel.model().due_orders().any(|order| order == exit);
    assert!(is_due(&duel), "it executed at once, and its request goes on");
    assert_eq!(duel.play_told(pending), Reply::Rejected(Reject::CannotPend { order: OrderId(3) }));
    assert!(!is_due(&duel) && duel.model().order(exit).pends_on.is_none(), "the exit stands in the book");
    duel.end();
}

/// The exits were refused: the fee of a buyer is taken from the shares that it bought.
#[test]
fn an_exit_sells_what_the_fee_has_left_in_whole_lots_or_is_refused() {
    // 10 shares at 7 less the fee of 1; the lot, the fewest shares of an order, and the least that it is worth.
    for (lot, fewest, least, left) in
        [(1, 1, 63, Some(9)), (2, 2, 0, Some(8)), (1, 10, 0, None), (10, 10, 0, None), (1, 1, 64, None)]
    {
        let mut duel = Duel::new(1, 1);
        let symbol = Symbol::parse(b"SPY").unwrap();
        duel.play(Op::Command(Command::CreateSymbol { symbol }));
        for account in [1, 2, 3].map(account) {
            duel.play(Op::Command(Command::CreateAccount { account, balance: Money::from_units(DOLLAR) }));
        }
        let shares = Position::from_units(100);
        duel.play(Op::Command(Command::IssueShares { symbol, account: account(2), shares }));
        let [lot, shares_min] = [lot, fewest].map(|units| Shares::from_units(units).unwrap());
        let value_min = Money::from_units(least);
        let rules = SymbolRules { lot, shares_min, value_min, ..SymbolRules::NONE };
        duel.play(Op::Command(Command::ChangeRules { symbol, rules }));
        let tenth = FeeRate::from_millionths(100_000).unwrap();
        let fees = Some(Fees { maker: tenth, taker: tenth, account: account(3) });
        duel.play(Op::Command(Command::ChangeFees { symbol, tier: Tier::FIRST, fees }));
        for command in chain(1, order(symbol, Side::Buy, 7), order(symbol, Side::Sell, 7)) {
            duel.play(Op::Command(command));
        }
        let order = order(symbol, Side::Sell, 7);
        let sell = Command::Place(Place::order(account(2), order));
        assert_eq!(duel.play_told(sell), Reply::Opened(OrderId(3)));
        let exit = duel.model().order(OrderId(2));
        let is = (!exit.open.is_zero()).then(|| exit.open.units());
        assert_eq!(
            (is, exit.canceled.is_some()),
            (left, left.is_none()),
            "in lots of {lot:?}, at least {fewest}, worth {least}"
        );
        duel.end();
    }
}

/// A working order that was amended has executed when the rest of it has; one that self-trade prevention cancels ends
/// those that wait for it.
#[test]
fn the_orders_of_an_amended_working_order_are_placed_and_those_of_one_that_met_its_account_end() {
    for is_own in [false, true] {
        let mut duel = Duel::new(1, 1);
        let symbol = Symbol::parse(b"SPY").unwrap();
        duel.play(Op::Command(Command::CreateSymbol { symbol }));
        for account in [1, 2].map(account) {
            duel.play(Op::Command(Command::CreateAccount { account, balance: Money::from_units(DOLLAR) }));
            let shares = Position::from_units(100);
            duel.play(Op::Command(Command::IssueShares { symbol, account, shares }));
        }
        for command in chain(1, order(symbol, Side::Buy, 5), order(symbol, Side::Sell, 7)) {
            duel.play(Op::Command(command));
        }
        let sell = |count| NewOrder { shares: Shares::from_units(count).unwrap(), ..order(symbol, Side::Sell, 5) };
        duel.play(Op::Command(Command::Place(Place::order(account(2), sell(4)))));
        let shares = Shares::from_units(6).unwrap();
        let amended = Command::AmendOrder { account: account(1), order: OrderId(1).into(), shares };
        assert!(matches!(duel.play_told(amended), Reply::Amended { .. }));
        assert_eq!(duel.model().order(OrderId(2)).pends_on, Some(OrderId(1)), "2 are open yet");
        match is_own {
            true => {
                let mine = sell(2).with_self_trade(SelfTrade::CancelOldest);
                duel.play(Op::Command(Command::Place(Place::order(account(1), mine))));
            }
            false => duel.play(Op::Command(Command::Place(Place::order(account(2), sell(2))))),
        }
        let exit = duel.model().order(OrderId(2));
        // It keeps all its shares: the account has more of them than it bought.
        let left = if is_own { 0 } else { 10 };
        assert_eq!((exit.open.units(), exit.canceled.is_some()), (left, is_own));
        duel.end();
    }
}
