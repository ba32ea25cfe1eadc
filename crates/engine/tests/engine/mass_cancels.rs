//! Kills, cancels of all orders and cancels on disconnect with more orders than one command cancels: each goes on with
//! the next command, and killed orders no longer execute meanwhile. Each step is compared with the model.

use terms::{
    AccountId, Among, Bond, CANCELS_MAX, CancelBounds, Command, DOLLAR, Deadline, EXECUTIONS_MAX, ExecutionBounds,
    FundsOrder, Grace, KillScope, Money, NewOrder, Op, OrderId, OrderKind, Phase, Place, Position, Price, Reply,
    SelfTrade, Shares, Side, Symbol, Trigger,
};

use crate::common::duel::Duel;

/// The number of orders that one command cancels here.
const MOST: usize = 3;

struct Market {
    duel: Duel,
    symbol: Symbol,
}

impl Market {
    fn new() -> Market {
        Market::with_executions_max(EXECUTIONS_MAX)
    }

    fn with_executions_max(executions_max: u32) -> Market {
        Market::with_bounds(ExecutionBounds::of_command(executions_max), CancelBounds::of_command(MOST))
    }

    fn with_bounds(executions: ExecutionBounds, cancels: CancelBounds) -> Market {
        let symbol = Symbol::parse(b"SPY").unwrap();
        let mut market = Market { duel: Duel::with_cancel_bounds(1, 1, executions, cancels), symbol };
        market.play(Command::CreateSymbol { symbol });
        for number in 1..=3 {
            let account = account(number);
            market.play(Command::CreateAccount { account, balance: Money::from_units(DOLLAR) });
            market.play(Command::IssueShares { symbol, account, shares: Position::from_units(1_000) });
        }
        market
    }

    fn play(&mut self, command: Command) {
        self.duel.play(Op::Command(command));
    }

    fn place(&mut self, number: u32, order: NewOrder) {
        self.play(Command::Place(Place::order(account(number), order)));
    }

    fn limit(&mut self, number: u32, side: Side, price: i64, shares: i64) {
        self.place(number, NewOrder::limit(self.symbol, side, units(price), of(shares)));
    }

    fn of_kind(&mut self, number: u32, kind: OrderKind, price: i64, shares: i64) {
        self.place(number, NewOrder::of_kind(kind, self.symbol, Side::Buy, units(price), of(shares)));
    }

    /// The number of open orders of an account.
    fn open(&self, number: u32) -> usize {
        let owner = |order: &model::Order| self.duel.model().accounts().nth(order.account.0 as usize);
        self.duel.model().open_orders().filter(|order| owner(order) == Some(account(number))).count()
    }

    fn is_in_auction(&self, at: u32) -> bool {
        self.duel.model().phase(terms::SymbolIndex(at)).phase == Phase::Auction
    }

    /// The number of executions of an account's orders.
    fn executions(&self, number: u32) -> usize {
        let model = self.duel.model();
        let all = (1..=model.orders_placed()).map(|order| model.order(OrderId(order)));
        let owner = |order: &&model::Order| model.accounts().nth(order.account.0 as usize) == Some(account(number));
        all.filter(owner).map(|order| order.executions.len()).sum()
    }
}

fn account(number: u32) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).unwrap()
}

fn units(price: i64) -> Price {
    Price::from_units(price).unwrap()
}

fn of(shares: i64) -> Shares {
    Shares::from_units(shares).unwrap()
}

#[test]
fn nothing_of_a_killed_account_executes_while_its_kill_goes_on() {
    let mut market = Market::new();
    for price in 10..22 {
        market.limit(1, Side::Sell, price, 5);
    }
    let stop = NewOrder::limit(market.symbol, Side::Sell, units(9), of(5));
    market.place(1, stop.triggered_by(Trigger::from_below(units(22))));
    market.limit(2, Side::Sell, 18, 7);
    market.limit(2, Side::Sell, 22, 7);
    let scope = KillScope::Account(account(1));
    market.play(Command::Kill { scope });
    assert_eq!(market.open(1), 13 - MOST, "the first ones are canceled, and the others go on being open");
    market.play(Command::Release { scope });
    assert_eq!(market.duel.model().kills().len(), 1, "it cannot be released yet");
    market.duel.export_and_import();
    // The order does not count the killed account's orders.
    market.of_kind(3, OrderKind::FillOrKill, 20, 8);
    assert_eq!(market.open(1), 13 - MOST);
    let symbol = market.symbol;
    let funds = Money::from_units(18);
    let order = FundsOrder { symbol, side: Side::Buy, funds, self_trade: SelfTrade::Allowed };
    market.play(Command::Place(Place::funds(account(3), order)));
    assert!(market.open(1) < 13 - MOST && market.executions(2) == 1);
    market.play(Command::Kill { scope });
    market.duel.export_and_import();
    // The killed order's trigger is reached, and the order is not activated.
    market.limit(3, Side::Buy, 22, 20);
    market.play(Command::ActivateReached);
    assert_eq!((market.executions(1), market.open(1)), (0, 0));
    market.play(Command::Kill { scope });
    market.play(Command::Release { scope });
    assert_eq!(market.duel.model().kills().len(), 0);
    market.limit(1, Side::Sell, 10, 5);
    assert_eq!(market.executions(1), 1, "released, it trades again");
    market.duel.end();
}

#[test]
fn a_killed_order_that_is_under_way_or_waits_behind_it_does_not_go_on() {
    let mut market = Market::with_executions_max(2);
    for _ in 0..6 {
        market.limit(2, Side::Sell, 10, 1);
    }
    for _ in 0..2 * MOST {
        market.limit(1, Side::Buy, 5, 1);
    }
    market.limit(1, Side::Buy, 10, 5);
    market.limit(3, Side::Buy, 10, 1);
    market.limit(1, Side::Buy, 10, 1);
    market.limit(3, Side::Buy, 10, 1);
    assert_eq!((market.executions(1), market.open(1)), (2, 2 * MOST + 2), "one is under way, and one behind it");
    market.play(Command::Kill { scope: KillScope::Account(account(1)) });
    assert_eq!(market.open(1), MOST + 2, "the oldest ones are canceled first");
    market.duel.export_and_import();
    market.play(Command::ActivateReached);
    assert_eq!((market.executions(1), market.open(1)), (2, MOST), "both are canceled when their turn comes");
    assert_eq!(market.executions(3), 2, "and the order that waited behind them is next");
    market.duel.end();
}

#[test]
fn a_kill_of_a_symbol_cancels_an_order_under_way_and_those_behind_it() {
    let mut market = Market::with_executions_max(1);
    let symbol = market.symbol;
    for _ in 0..4 {
        market.limit(2, Side::Sell, 10, 1);
    }
    market.limit(1, Side::Buy, 10, 4);
    for nth in 0..3 {
        market.limit(3, Side::Buy, 10 + nth, 1);
    }
    let scope = KillScope::Symbol(symbol);
    for open in [4, 1, 0] {
        market.play(Command::Kill { scope });
        assert_eq!(market.duel.model().open_orders().len(), open);
        market.duel.export_and_import();
    }
    market.play(Command::ActivateReached);
    assert_eq!((market.executions(1), market.executions(3)), (1, 0));
    market.play(Command::Release { scope });
    market.limit(2, Side::Sell, 10, 1);
    market.limit(3, Side::Buy, 10, 1);
    assert_eq!(market.executions(3), 1, "nobody waits behind what was canceled");
    market.duel.end();
}

/// A member's accounts were killed and released one by one, so that a part of them could be left.
#[test]
fn several_accounts_are_killed_and_released_all_together_or_not_at_all() {
    let mut market = Market::new();
    (10..12).for_each(|price| market.limit(1, Side::Sell, price, 5));
    (10..12).for_each(|price| market.limit(2, Side::Sell, price, 5));
    let kills = |market: &Market| market.duel.model().kills().len();
    // Account 9 does not exist.
    let of = |number, among| (account(number), among);
    let named = [of(1, Among::First), of(9, Among::Between), of(3, Among::Between), of(2, Among::Last)];
    for (account, among) in &named[..3] {
        market.play(Command::KillTogether { account: *account, among: *among });
        assert_eq!(kills(&market), 0, "the last one does it");
    }
    market.play(Command::KillTogether { account: account(2), among: Among::Last });
    assert_eq!((kills(&market), market.open(1), market.open(2)), (3, 0, 1), "one command cancels no more than others");
    // The kill that goes on is not that of the last account.
    let release = |market: &mut Market| {
        let among = named.map(|(_, among)| among);
        let back = named.iter().rev().map(|&(account, _)| account).zip(among);
        back.for_each(|(account, among)| market.play(Command::ReleaseTogether { account, among }))
    };
    release(&mut market);
    assert_eq!(kills(&market), 3, "the kill of one account goes on");
    market.duel.export_and_import();
    market.play(Command::ExpireOrders);
    release(&mut market);
    assert_eq!((kills(&market), market.open(2)), (0, 0));
    market.limit(1, Side::Sell, 10, 5);
    market.limit(2, Side::Sell, 10, 5);
    // Others that come between end the list: the last command has its own account alone.
    market.play(Command::KillTogether { account: account(3), among: Among::First });
    market.play(Command::ExpireOrders);
    market.play(Command::KillTogether { account: account(1), among: Among::Last });
    assert_eq!((kills(&market), market.open(1), market.open(2)), (1, 0, 1));
    market.play(Command::KillTogether { account: account(3), among: Among::First });
    market.play(Command::ReleaseTogether { account: account(1), among: Among::Last });
    assert_eq!(kills(&market), 0);
    market.play(Command::KillTogether { account: account(3), among: Among::First });
    market.play(Command::KillTogether { account: account(2), among: Among::First });
    market.play(Command::KillTogether { account: account(2), among: Among::Last });
    assert_eq!((kills(&market), market.open(2)), (1, 0));
}

#[test]
fn a_fill_or_kill_that_meets_killed_orders_executes_wholly_or_not_at_all() {
    let mut market = Market::with_executions_max(4);
    for _ in 0..2 * MOST {
        market.limit(1, Side::Sell, 10, 1);
    }
    for _ in 0..4 {
        market.limit(2, Side::Sell, 11, 1);
    }
    market.play(Command::Kill { scope: KillScope::Account(account(1)) });
    market.of_kind(3, OrderKind::FillOrKill, 11, 4);
    assert_eq!((market.executions(3), market.open(1)), (0, MOST), "to cancel what it meets takes of its command, too");
    market.of_kind(3, OrderKind::FillOrKill, 11, 1);
    assert_eq!((market.executions(3), market.open(1)), (1, 0));
    market.duel.end();
}

#[test]
fn kills_of_a_symbol_and_of_everything_go_on_with_the_best_orders_first() {
    let mut market = Market::new();
    for nth in 0..5 {
        market.limit(1, Side::Buy, 5 + nth, 1);
        market.limit(2, Side::Sell, 20 + nth, 1);
        let stop = NewOrder::limit(market.symbol, Side::Sell, units(3), of(1));
        market.place(3, stop.triggered_by(Trigger::from_above(units(4 - nth / 2))));
    }
    let symbol = market.symbol;
    for scope in [KillScope::Symbol(symbol), KillScope::Everything] {
        market.play(Command::Kill { scope });
    }
    assert_eq!(market.duel.model().open_orders().len(), 15 - 2 * MOST);
    let best = market.duel.model().book(terms::SymbolIndex(0), Side::Buy);
    assert!(best.is_empty(), "buys go first");
    for _ in 0..5 {
        market.play(Command::Kill { scope: KillScope::Symbol(symbol) });
        market.duel.export_and_import();
        market.play(Command::Kill { scope: KillScope::Everything });
        market.play(Command::Release { scope: KillScope::Everything });
    }
    assert_eq!(market.duel.model().open_orders().len(), 0);
    assert_eq!(market.duel.model().kills().len(), 1);
    market.duel.end();
}

/// Orders that a kill has left open kept those waiting that had ended, and every auction with them.
#[test]
fn kills_go_on_by_themselves_one_after_the_other_beside_orders_that_end_at_a_time() {
    let mut market = Market::new();
    let until = market.duel.model().time().later_by_us(10_000 * 3_600_000_000);
    for number in [1, 2] {
        for _ in 0..MOST + 1 {
            market.limit(number, Side::Sell, 20, 1);
        }
    }
    for _ in 0..2 * MOST {
        let order = NewOrder::limit(market.symbol, Side::Sell, units(20), of(1));
        market.play(Command::Place(Place::order(account(3), order).until(Deadline::new(until))));
    }
    for number in [1, 2] {
        market.play(Command::Kill { scope: KillScope::Account(account(number)) });
    }
    assert_eq!([1, 2, 3].map(|number| market.open(number)), [1, 1, 2 * MOST]);
    while market.duel.model().time() < until {
        market.play(Command::CreateSymbol { symbol: market.symbol });
    }
    market.duel.export_and_import();
    market.play(Command::ExpireOrders);
    assert_eq!([1, 2, 3].map(|number| market.open(number)), [0, 0, MOST], "a command's number of each");
    let scope = KillScope::Account(account(1));
    market.play(Command::Release { scope });
    market.limit(1, Side::Sell, 20, 1);
    market.play(Command::ExpireOrders);
    assert_eq!([1, 3].map(|number| market.open(number)), [1, 0], "it cancels nothing of what was released");
    market.duel.end();
}

#[test]
fn an_auction_waits_until_the_orders_of_a_killed_account_are_canceled() {
    let mut market = Market::new();
    let symbol = market.symbol;
    market.play(Command::ChangePhase { symbol, phase: Phase::Auction, due: None });
    for nth in 0..8 {
        market.limit(1, Side::Sell, 10, 1 + nth);
    }
    market.limit(2, Side::Sell, 12, 4);
    market.limit(3, Side::Buy, 15, 4);
    market.play(Command::Kill { scope: KillScope::Account(account(1)) });
    assert_eq!(market.open(1), 8 - MOST);
    market.play(Command::ChangePhase { symbol, phase: Phase::Open, due: None });
    market.play(Command::EndAuction);
    assert!(market.is_in_auction(0), "it is to end, and does not yet");
    assert_eq!(market.open(1), 8 - 2 * MOST, "it goes on with the kill");
    market.duel.export_and_import();
    market.play(Command::EndAuction);
    assert_eq!([1, 2, 3].map(|number| market.executions(number)), [0, 1, 1]);
    market.duel.end();
}

/// A kill that went on kept the auctions of all symbols from ending. Later an auction that another command had to end
/// kept those behind it from ending in the same one.
#[test]
fn an_auction_ends_beside_one_that_waits_for_killed_orders() {
    let mut market = Market::new();
    let symbols = [market.symbol, Symbol::parse(b"ZED").unwrap()];
    market.play(Command::CreateSymbol { symbol: symbols[1] });
    market.play(Command::IssueShares { symbol: symbols[1], account: account(2), shares: Position::from_units(100) });
    for symbol in symbols {
        market.play(Command::ChangePhase { symbol, phase: Phase::Auction, due: None });
    }
    for _ in 0..5 * MOST {
        market.limit(1, Side::Sell, 10, 1);
    }
    market.limit(3, Side::Buy, 10, 1);
    for (number, side) in [(2, Side::Sell), (3, Side::Buy)] {
        market.place(number, NewOrder::limit(symbols[1], side, units(10), of(1)));
    }
    // An order has ended and is to be taken out first, so neither symbol opens with the change of its phase.
    let until = Deadline::new(market.duel.model().time().later_by_us(2));
    let order = NewOrder::limit(symbols[1], Side::Buy, units(1), of(1));
    let order = Command::Place(Place::order(account(3), order).until(until));
    market.duel.turn(&[order, Command::Kill { scope: KillScope::Account(account(1)) }]);
    let open = symbols.map(|symbol| Command::ChangePhase { symbol, phase: Phase::Open, due: None });
    market.duel.turn(&open);
    assert_eq!([0, 1].map(|at| market.is_in_auction(at)), [true, true]);
    market.duel.turn(&[Command::ExpireOrders, Command::EndAuction]);
    assert_eq!([0, 1].map(|at| market.is_in_auction(at)), [true, false]);
    assert_eq!((market.open(1), market.executions(2)), (2 * MOST, 1));
    market.duel.export_and_import();
    market.duel.turn(&[Command::EndAuction, Command::EndAuction]);
    assert!(!market.is_in_auction(0));
    assert_eq!((market.open(1), market.executions(1)), (0, 0));
    market.duel.end();
}

/// Thousands of auctions each asked thousands of kills in one command.
#[test]
fn an_auction_counts_the_kills_that_it_asks() {
    let mut market = Market::with_executions_max(10);
    let symbols: Vec<Symbol> = (0..5).map(|nth| Symbol::parse(format!("Z{nth}").as_bytes()).unwrap()).collect();
    for number in [1, 2] {
        (0..5 * MOST).for_each(|_| market.limit(number, Side::Sell, 10, 1));
    }
    for &symbol in &symbols {
        market.play(Command::CreateSymbol { symbol });
        market.play(Command::IssueShares { symbol, account: account(3), shares: Position::from_units(100) });
        market.play(Command::ChangePhase { symbol, phase: Phase::Auction, due: None });
        for side in [Side::Sell, Side::Buy] {
            market.place(3, NewOrder::limit(symbol, side, units(10), of(1)));
        }
    }
    for number in [1, 2] {
        market.play(Command::Kill { scope: KillScope::Account(account(number)) });
    }
    for &symbol in &symbols {
        market.play(Command::ChangePhase { symbol, phase: Phase::Open, due: None });
    }
    let waiting = |market: &Market| (1..=5).filter(|&at| market.is_in_auction(at)).count();
    assert_eq!(waiting(&market), 5, "while kills go on, auctions are left to a command of the loop");
    market.play(Command::EndAuction);
    assert_eq!(waiting(&market), 2, "each has one execution, and counts itself and two kills");
    market.duel.export_and_import();
    market.play(Command::EndAuction);
    assert_eq!((waiting(&market), market.executions(3)), (0, 10));
    market.duel.end();
}

/// A regression: a command looked at four auctions that waited for killed orders, as many as the kills that they count
/// let it, and so did each one behind it. Auctions behind those waited until the kills were over.
#[test]
fn auctions_behind_waiting_ones_end_however_many_kills_these_count() {
    const WAITING: usize = 4;
    let mut market = Market::with_executions_max(10);
    let symbols: Vec<Symbol> = (0..=WAITING).map(|nth| Symbol::parse(format!("Z{nth}").as_bytes()).unwrap()).collect();
    for &symbol in &symbols {
        market.play(Command::CreateSymbol { symbol });
        for number in 1..=3 {
            let shares = Position::from_units(100);
            market.play(Command::IssueShares { symbol, account: account(number), shares });
        }
        market.play(Command::ChangePhase { symbol, phase: Phase::Auction, due: None });
        for side in [Side::Sell, Side::Buy] {
            market.place(3, NewOrder::limit(symbol, side, units(10), of(1)));
        }
    }
    for &symbol in &symbols[..WAITING] {
        for number in [1, 2] {
            (0..3 * MOST).for_each(|_| market.place(number, NewOrder::limit(symbol, Side::Sell, units(10), of(1))));
        }
    }
    for number in [1, 2] {
        market.play(Command::Kill { scope: KillScope::Account(account(number)) });
    }
    for &symbol in &symbols {
        market.play(Command::ChangePhase { symbol, phase: Phase::Open, due: None });
    }
    let is_in_auction =
        |market: &Market| (1..=WAITING as u32 + 1).map(|at| market.is_in_auction(at)).collect::<Vec<_>>();
    market.duel.turn(&[Command::EndAuction]);
    assert_eq!(is_in_auction(&market), [true; WAITING + 1], "each counts itself and two kills");
    market.duel.export_and_import();
    market.duel.turn(&[Command::EndAuction]);
    assert_eq!(is_in_auction(&market), [true, true, true, true, false], "the last one was the first one now");
    while market.open(1) + market.open(2) > 0 {
        market.duel.turn(&[Command::EndAuction]);
    }
    market.duel.turn(&[Command::EndAuction]);
    assert_eq!((is_in_auction(&market), market.executions(3)), (vec![false; WAITING + 1], 2 * (WAITING + 1)));
    market.duel.end();
}

/// A kill of which others have canceled everything no longer goes on.
#[test]
fn a_kill_without_open_orders_is_asked_by_no_auction() {
    let mut market = Market::with_executions_max(10);
    let symbol = Symbol::parse(b"ZED").unwrap();
    market.play(Command::CreateSymbol { symbol });
    market.play(Command::IssueShares { symbol, account: account(3), shares: Position::from_units(100) });
    (0..MOST + 1).for_each(|_| market.limit(1, Side::Sell, 10, 1));
    market.play(Command::Kill { scope: KillScope::Account(account(1)) });
    assert_eq!(market.open(1), 1);
    market.play(Command::CancelOrder { account: account(1), order: OrderId(MOST as u64 + 1).into() });
    market.play(Command::ChangePhase { symbol, phase: Phase::Auction, due: None });
    for side in [Side::Sell, Side::Buy] {
        market.place(3, NewOrder::limit(symbol, side, units(10), of(1)));
    }
    market.play(Command::ChangePhase { symbol, phase: Phase::Open, due: None });
    assert_eq!((market.is_in_auction(1), market.executions(3)), (false, 2));
    market.duel.end();
}

#[test]
fn a_cancel_of_all_orders_goes_on_with_those_that_were_there() {
    let mut market = Market::new();
    for nth in 0..8 {
        market.limit(1, Side::Buy, 5 + nth, 1);
    }
    let cancel = |through| Command::CancelAll { account: account(1), symbol: None, through };
    market.play(cancel(None));
    assert_eq!(market.open(1), 8 - MOST);
    market.limit(1, Side::Buy, 9, 1);
    let newest = Some(OrderId(8));
    market.duel.export_and_import();
    market.play(cancel(newest));
    market.play(cancel(newest));
    market.play(cancel(newest));
    assert_eq!(market.open(1), 1, "the one that was placed meanwhile stays");
    market.play(cancel(Some(OrderId(u64::MAX))));
    assert_eq!(market.open(1), 0);
    market.duel.end();
}

/// The number left out what ended with the last order of a step.
#[test]
fn what_ends_with_the_last_order_of_a_step_is_counted() {
    let mut market = Market::new();
    let place = |market: &mut Market| {
        for nth in 0..MOST as i64 - 1 {
            market.limit(1, Side::Buy, 5 + nth, 1);
        }
        market.limit(1, Side::Sell, 20, 1);
        let stop =
            NewOrder::limit(market.symbol, Side::Sell, units(2), of(1)).triggered_by(Trigger::from_above(units(3)));
        market.play(Command::Place(Place::order(account(1), stop).bound(Bond::Linked)));
    };
    place(&mut market);
    let reply = market.duel.play_told(Command::CancelAll { account: account(1), symbol: None, through: None });
    assert!(matches!(reply, Reply::CanceledAll { orders, .. } if orders == MOST + 1), "{reply:?}");
    place(&mut market);
    let reply = market.duel.play_told(Command::Kill { scope: KillScope::Account(account(1)) });
    assert!(matches!(reply, Reply::CanceledAll { orders, .. } if orders == MOST + 1), "{reply:?}");
    assert_eq!(market.open(1), 0);
    market.duel.end();
}

/// A request of a hundred cancels, and sixteen lost accounts, each ended the orders of a whole command.
#[test]
fn the_commands_of_a_turn_end_so_many_orders_together_and_then_a_few_each() {
    let cancels = CancelBounds { command: MOST, turn: 7, small: 1 };
    let mut market = Market::with_bounds(ExecutionBounds::ALL, cancels);
    for number in [1, 2] {
        for nth in 0..10 {
            market.limit(number, Side::Buy, 5 + nth, 1);
        }
    }
    let cancel = Command::CancelAll { account: account(1), symbol: None, through: None };
    let kill = Command::Kill { scope: KillScope::Account(account(2)) };
    market.duel.turn(&[cancel, kill, cancel, kill, cancel]);
    assert_eq!([market.open(1), market.open(2)], [10 - 3 - 1 - 1, 10 - 3 - 1]);
    market.duel.turn(&[Command::ExpireOrders, cancel, kill, kill]);
    assert_eq!([market.open(1), market.open(2)], [5 - 3, 6 - 3 - 1 - 1], "a step of a kill is always a whole one");
    market.duel.export_and_import();
    market.duel.turn(&[cancel, kill]);
    assert_eq!([market.open(1), market.open(2)], [0, 0], "another turn");
    market.duel.end();
}

#[test]
fn an_account_stays_protected_until_all_its_orders_are_canceled() {
    let mut market = Market::new();
    let account = account(1);
    market.play(Command::Protect { account, grace: Grace::from_millis(1_000).unwrap() });
    for nth in 0..7 {
        market.limit(1, Side::Buy, 5 + nth, 1);
    }
    let lost = Command::Unprotect { account, is_lost: true, through: None };
    for left in [4, 1] {
        market.play(lost);
        market.duel.export_and_import();
        assert_eq!((market.open(1), market.duel.model().protections().len()), (left, 1));
    }
    market.play(lost);
    assert_eq!((market.open(1), market.duel.model().protections().len()), (0, 0));
    market.duel.end();
}

#[test]
fn a_lost_account_loses_the_orders_that_were_there_and_keeps_later_ones() {
    let mut market = Market::new();
    let account = account(1);
    market.play(Command::Protect { account, grace: Grace::from_millis(1_000).unwrap() });
    for nth in 0..5 {
        market.limit(1, Side::Buy, 5 + nth, 1);
    }
    let reply = market.duel.play_told(Command::Unprotect { account, is_lost: true, through: None });
    assert!(matches!(reply, Reply::CanceledAll { left: Some(OrderId(5)), .. }), "{reply:?}");
    market.limit(1, Side::Buy, 9, 1);
    market.duel.export_and_import();
    market.play(Command::Unprotect { account, is_lost: true, through: Some(OrderId(5)) });
    assert_eq!((market.open(1), market.duel.model().protections().len()), (1, 0));
    market.duel.end();
}

#[test]
fn one_command_cancels_a_thousand_orders_and_says_that_others_are_left() {
    let symbol = Symbol::parse(b"SPY").unwrap();
    let mut market = Market { duel: Duel::new(1, 1_000_000), symbol };
    market.play(Command::CreateSymbol { symbol });
    market.play(Command::CreateAccount { account: account(1), balance: Money::from_units(DOLLAR) });
    for _ in 0..CANCELS_MAX + 1 {
        market.limit(1, Side::Buy, 5, 1);
    }
    market.play(Command::Kill { scope: KillScope::Everything });
    assert_eq!(market.open(1), 1);
    market.play(Command::Kill { scope: KillScope::Everything });
    assert_eq!(market.open(1), 0);
}
