//! The most executions of one command: for an order, an auction, and the orders activated behind it.

use engine::{DoneOrders, Engine, Importer};
use terms::{
    AccountId, CancelReason, Command, DOLLAR, Deadline, Entry, Event, ExecutionBounds, Money, NewOrder, OrderId,
    OrderKind, Phase, Place, Position, Price, Query, Reject, Reply, Shares, Side, Symbol, SymbolIndex, SymbolPhase,
    SymbolRules, Time, Trigger,
};

const SHARES: i128 = 1_000_000_000_000;

pub(crate) struct Market {
    pub(crate) engine: Engine,
    pub(crate) events: Vec<Event>,
    /// The time of all commands. If none, each command has a time of its own.
    pub(crate) turn: Option<Time>,
}

impl Market {
    pub(crate) fn new(executions_max: u32) -> Market {
        Market::with_bounds(ExecutionBounds::of_command(executions_max))
    }

    pub(crate) fn with_bounds(bounds: ExecutionBounds) -> Market {
        let engine = Engine::new(1, DoneOrders::Drop).with_execution_bounds(bounds);
        let mut market = Market { engine, events: Vec::new(), turn: None };
        market.apply(Command::CreateSymbol { symbol: symbol() });
        for number in [1, 2] {
            let (account, balance) = (account(number), Money::from_units(DOLLAR * 1_000_000_000));
            market.apply(Command::CreateAccount { account, balance });
            let shares = Position::from_units(SHARES);
            market.apply(Command::IssueShares { symbol: symbol(), account, shares });
        }
        market
    }

    pub(crate) fn apply(&mut self, command: Command) -> Reply {
        let sequence = self.engine.sequence().next();
        let entry = Entry { sequence, time: self.turn.unwrap_or(Time(sequence.0)), command };
        self.events.clear();
        let events = &mut self.events;
        self.engine.apply(&entry, &mut Vec::new(), &mut |event| events.push(event))
    }

    pub(crate) fn place(&mut self, number: u32, order: NewOrder) -> OrderId {
        match self.apply(Command::Place(Place::order(account(number), order))) {
            Reply::Opened(order) => order,
            refused => panic!("{refused:?}"),
        }
    }

    pub(crate) fn phase(&mut self, phase: Phase) {
        let told = self.apply(Command::ChangePhase { symbol: symbol(), phase, due: None });
        let is_it = self.engine.phase(SymbolIndex(0)).phase == phase;
        assert_eq!(told, if is_it { Reply::Created } else { Reply::InAuction });
    }

    /// The number of executions of the last command.
    pub(crate) fn executed(&self) -> usize {
        let is_one = |event: &&Event| matches!(event, Event::Executed { .. } | Event::Uncrossed { .. });
        self.events.iter().filter(is_one).count()
    }

    /// Checks that no shares or money are missing.
    pub(crate) fn check(&self) {
        self.engine.check_invariants();
    }
}

pub(crate) fn account(number: u32) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).unwrap()
}

pub(crate) fn symbol() -> Symbol {
    Symbol::parse(b"SPY").unwrap()
}

pub(crate) fn order(side: Side, limit: i64, shares: i64) -> NewOrder {
    let (limit, shares) = (Price::from_units(limit).unwrap(), Shares::from_units(shares).unwrap());
    NewOrder::limit(symbol(), side, limit, shares)
}

fn iceberg(number: u32, order: NewOrder, display: i64) -> Command {
    let display = Shares::from_units(display).unwrap();
    Command::Place(Place::iceberg(account(number), order, display).unwrap())
}

/// A regression: 200,000 orders that showed a hundredth of their shares each, and one order that swept them, made 20
/// million executions in one command: its events took 4 GiB, and every start played it again.
#[test]
fn an_order_goes_on_with_the_next_command_and_keeps_its_place() {
    let mut market = Market::new(10);
    for _ in 0..3 {
        let told = market.apply(iceberg(1, order(Side::Sell, 500, 10), 1));
        assert!(matches!(told, Reply::Opened(_)), "{told:?}");
    }
    let taker = market.place(2, order(Side::Buy, 600, 25));
    assert_eq!((market.executed(), open_of(&market, 2, taker)), (10, 15));
    assert_eq!(market.engine.reached_orders(), 1, "the loop is to go on with it");
    // Orders that come meanwhile wait behind it, even if they would not execute with it.
    let (behind, seller) = (market.place(2, order(Side::Buy, 500, 2)), market.place(1, order(Side::Sell, 400, 3)));
    assert_eq!((market.executed(), market.engine.reached_orders()), (0, 3));
    restart(&mut market);
    market.apply(Command::ActivateReached);
    assert_eq!((market.executed(), open_of(&market, 2, taker)), (10, 5));
    market.check();
    restart(&mut market);
    market.apply(Command::ActivateReached);
    assert_eq!(market.executed(), 5 + 2, "it is done, and then the others come in their order");
    let turns = market.events.iter().filter_map(|event| match event {
        Event::OrderResumed { order, .. } => Some(*order),
        _ => None,
    });
    assert_eq!(turns.collect::<Vec<_>>(), [taker, behind, seller]);
    assert_eq!(open_of(&market, 2, behind), 0);
    assert_eq!((market.engine.reached_orders(), open_of(&market, 1, seller)), (0, 3), "it meets nobody");
    market.check();
}

/// Its remaining shares can be canceled as always, also while it waits for its turn.
#[test]
fn an_order_that_is_under_way_can_be_canceled() {
    let mut market = Market::new(2);
    for _ in 0..5 {
        market.place(1, order(Side::Sell, 500, 1));
    }
    let taker = market.place(2, order(Side::Buy, 600, 5));
    let told = market.apply(Command::CancelOrder { account: account(2), order: taker.into() });
    assert!(matches!(&told, Reply::Canceled(status) if status.canceled.unwrap().shares.units() == 3), "{told:?}");
    assert_eq!(market.engine.reached_orders(), 0);
    market.place(2, order(Side::Buy, 500, 1));
    assert_eq!(market.executed(), 1, "nobody waits any more");
    market.check();
}

/// A regression: its executions were counted order by order, while the walk goes round by round, so it was cut, and no
/// import accepted that.
#[test]
fn a_fill_or_kill_order_counts_hidden_parts_as_it_walks_over_them() {
    let mut market = Market::new(10);
    market.apply(iceberg(1, order(Side::Sell, 500, 400), 100));
    for _ in 0..4 {
        market.apply(iceberg(1, order(Side::Sell, 500, 4), 1));
    }
    let fill_or_kill = |shares| NewOrder { kind: OrderKind::FillOrKill, ..order(Side::Buy, 500, shares) };
    // The large order's third part comes behind two rounds of the small ones.
    let killed = market.place(2, fill_or_kill(300));
    assert_eq!((market.executed(), open_of(&market, 2, killed)), (0, 0), "it needs 11 executions");
    market.check();
    restart(&mut market);
    market.place(2, fill_or_kill(208));
    assert_eq!((market.executed(), market.engine.reached_orders()), (10, 0), "two rounds");
    market.check();
    restart(&mut market);
}

/// A regression: it went on executing, 10,000 times a command, while no order could be placed.
#[test]
fn an_order_under_way_is_canceled_when_trading_is_off_by_its_turn() {
    let mut market = Market::new(2);
    for _ in 0..5 {
        market.place(1, order(Side::Sell, 500, 1));
    }
    let (taker, behind) = (market.place(2, order(Side::Buy, 600, 5)), market.place(2, order(Side::Buy, 400, 1)));
    let rules = SymbolRules { is_halted: true, ..SymbolRules::NONE };
    assert_eq!(market.apply(Command::ChangeRules { symbol: symbol(), rules }), Reply::Created);
    restart(&mut market);
    market.apply(Command::ActivateReached);
    assert_eq!((market.executed(), market.engine.reached_orders()), (0, 0));
    let canceled = market.events.iter().filter_map(|event| match event {
        Event::OrderCanceled { order, why: CancelReason::Refused, .. } => Some(*order),
        _ => None,
    });
    assert_eq!(canceled.collect::<Vec<_>>(), [taker, behind]);
    market.check();
}

/// A regression: market buys hold nothing, so an account without money had thousands of them wait, and kept the symbol
/// under way.
#[test]
fn a_market_buy_that_can_pay_for_nothing_is_refused_while_an_order_is_under_way() {
    let mut market = Market::new(2);
    market.apply(Command::CreateAccount { account: account(3), balance: Money::from_units(499) });
    for _ in 0..3 {
        market.place(1, order(Side::Sell, 500, 1));
    }
    market.place(2, order(Side::Buy, 600, 3));
    let order = NewOrder::market(symbol(), Side::Buy, Shares::from_units(1).unwrap());
    let asked = |number| Command::Place(Place::order(account(number), order));
    let told = market.apply(asked(3));
    assert!(matches!(told, Reply::Rejected(Reject::InsufficientFunds { .. })), "{told:?}");
    assert_eq!(market.engine.reached_orders(), 1);
    assert!(matches!(market.apply(asked(2)), Reply::Opened(_)), "others wait as ever");
    market.check();
}

/// A regression: these orders held nothing, or were canceled and placed again, and no other order had its turn any
/// more.
#[test]
fn orders_that_wait_behind_one_under_way_are_bounded() {
    let mut market = Market::new(2);
    for _ in 0..3 {
        market.place(1, order(Side::Sell, 500, 1));
    }
    market.place(2, order(Side::Buy, 600, 3));
    let behind: Vec<OrderId> = (1..20).map(|_| market.place(2, order(Side::Buy, 400, 1))).collect();
    let asked = Command::Place(Place::order(account(2), order(Side::Buy, 400, 1)));
    assert_eq!(market.apply(asked), Reply::Rejected(Reject::TooManyWaiting { most: 20 }));
    market.apply(Command::CancelOrder { account: account(2), order: behind[7].into() });
    assert!(matches!(market.apply(asked), Reply::Opened(_)), "there is room again");
    market.check();
    market.apply(Command::ActivateReached);
    assert_eq!(market.engine.reached_orders(), 0);
}

/// A regression: a command brought 1,000 of them to their books, while a turn of the loop takes more.
#[test]
fn a_command_brings_ten_thousand_waiting_orders_to_their_book() {
    let mut market = Market::new(5_000);
    for _ in 0..5_001 {
        market.place(1, order(Side::Sell, 500, 1));
    }
    market.place(2, order(Side::Buy, 600, 5_001));
    for _ in 0..12_000 {
        market.place(2, order(Side::Buy, 400, 1));
    }
    market.apply(Command::ActivateReached);
    // The one under way counts as ten.
    assert_eq!((market.executed(), market.engine.reached_orders()), (1, 2_010));
    market.apply(Command::ActivateReached);
    assert_eq!(market.engine.reached_orders(), 0);
    market.check();
}

/// A regression: a thousand of them looked at the whole book twice, in one command.
#[test]
fn looks_at_the_book_count_among_the_turns_of_a_command() {
    let mut market = Market::new(1_000);
    for _ in 0..1_001 {
        market.place(1, order(Side::Sell, 400, 1));
    }
    for _ in 0..1_000 {
        market.place(1, order(Side::Sell, 500, 1));
    }
    market.place(2, order(Side::Buy, 400, 1_001));
    let fill_or_kill = NewOrder { kind: OrderKind::FillOrKill, ..order(Side::Buy, 500, 2_000) };
    for _ in 0..2_000 {
        market.place(2, fill_or_kill);
    }
    market.apply(Command::ActivateReached);
    // Each counts on the 1,000 executions that a command has, which is ten turns more than its own.
    assert_eq!((market.executed(), market.engine.reached_orders()), (1, 2_000 - 909));
    market.check();
}

pub(crate) fn open_of(market: &Market, number: u32, order: OrderId) -> i64 {
    match market.engine.query(&Query { account: account(number), order: order.into() }, &mut Vec::new()) {
        Reply::Status(status) => status.open.units(),
        Reply::Done(_) => 0,
        told => panic!("{told:?}"),
    }
}

/// Activated orders count with the order that reached them.
#[test]
fn a_command_that_executed_so_often_activates_nothing() {
    let mut market = Market::new(3);
    for limit in [100, 101, 102, 103] {
        market.place(1, order(Side::Sell, limit, 1));
    }
    let stop = NewOrder { trigger: Trigger::from_code(101), ..order(Side::Buy, 103, 1) };
    market.place(2, stop);
    market.place(2, order(Side::Buy, 102, 3));
    assert_eq!((market.executed(), market.engine.reached_orders()), (3, 1), "its turn comes with another command");
    let begins = |event: &Event| matches!(event, Event::OrderTriggered { .. });
    assert!(!market.events.iter().any(begins), "and not to find that nothing is left to execute");
    market.apply(Command::ActivateReached);
    assert_eq!((market.executed(), market.engine.reached_orders()), (1, 0));
    market.check();
}

/// A regression: an uncross of a million orders, or of some icebergs, kept all requests waiting.
#[test]
fn an_auction_ends_piece_by_piece_at_one_price_and_cancels_come_between() {
    let mut market = Market::new(10);
    market.phase(Phase::Auction);
    let buys: Vec<OrderId> = (0..25).map(|_| market.place(2, order(Side::Buy, 110, 1))).collect();
    for _ in 0..25 {
        market.place(1, order(Side::Sell, 90, 1));
    }
    let mut prices = Vec::new();
    market.phase(Phase::Open);
    for piece in [10, 10, 4] {
        assert_eq!(market.executed(), piece);
        prices.extend(market.events.iter().filter_map(|event| match event {
            Event::Uncrossed { price, .. } => Some(*price),
            _ => None,
        }));
        market.check();
        if piece == 4 {
            break;
        }
        let now = market.engine.time();
        let auction = SymbolPhase { phase: Phase::Auction, until: Some(now) };
        assert_eq!(market.engine.phase(SymbolIndex(0)), auction, "it goes on");
        assert!(market.engine.has_auctions_to_end(now), "and is over at once");
        if piece == 10 && prices.len() == 10 {
            let told = market.apply(Command::CancelOrder { account: account(2), order: buys[20].into() });
            assert!(matches!(told, Reply::Canceled(_)), "{told:?}");
        }
        restart(&mut market);
        market.apply(Command::EndAuction);
    }
    assert_eq!(market.engine.phase(SymbolIndex(0)), SymbolPhase::OPEN);
    assert!(prices.windows(2).all(|pair| pair[0] == pair[1]), "all at one price: {prices:?}");
    assert_eq!(market.engine.open_order_count(), 1, "the seller of the order that was canceled is left");
}

/// Begins a turn whose commands may make 25 executions together. Account 1 sells one share 20 times in each of two
/// symbols.
fn begin_turn(small: u32) -> Market {
    let mut market =
        Market::with_bounds(ExecutionBounds { command: 10, turn: 25, small, share: 3, ..ExecutionBounds::ALL });
    market.apply(Command::CreateSymbol { symbol: other_symbol() });
    let shares = Position::from_units(SHARES);
    market.apply(Command::IssueShares { symbol: other_symbol(), account: account(1), shares });
    for _ in 0..20 {
        market.place(1, order(Side::Sell, 500, 1));
        market.place(1, NewOrder { symbol: other_symbol(), ..order(Side::Sell, 500, 1) });
    }
    market.turn = Some(Time(1_000));
    for _ in 0..2 {
        market.place(2, order(Side::Buy, 500, 10));
        assert_eq!(market.executed(), 10);
    }
    market
}

fn other_symbol() -> Symbol {
    Symbol::parse(b"QQQ").unwrap()
}

/// Nine thousand orders of one request once executed ten thousand times each, and nobody was answered meanwhile.
#[test]
fn the_commands_of_one_turn_execute_no_more_than_so_often_together() {
    let mut market = begin_turn(2);
    let buy = |shares| NewOrder { symbol: other_symbol(), ..order(Side::Buy, 500, shares) };
    let cut = market.place(2, buy(7));
    assert_eq!((market.executed(), open_of(&market, 2, cut)), (5, 2), "no more are left");
    assert_eq!(market.engine.reached_orders(), 1, "it is under way");
    market.apply(Command::CancelOrder { account: account(2), order: cut.into() });
    for _ in 0..2 {
        let small = market.place(2, buy(2));
        assert_eq!((market.executed(), open_of(&market, 2, small)), (2, 0), "a small order executes all the same");
    }
    let cut = market.place(2, buy(3));
    assert_eq!((market.executed(), open_of(&market, 2, cut)), (2, 1));
    market.check();
    market.turn = Some(Time(1_001));
    market.apply(Command::CancelOrder { account: account(2), order: cut.into() });
    market.place(2, buy(8));
    assert_eq!(market.executed(), 8, "the next turn has all of them again");
    market.check();
}

/// Market time waits for a clock that was set back, and no order may wait that long.
#[test]
fn what_goes_on_is_not_bounded_by_the_turn_and_gives_it_all_executions_anew() {
    let mut market = begin_turn(0);
    let buy = |shares| NewOrder { symbol: other_symbol(), ..order(Side::Buy, 500, shares) };
    market.place(2, buy(6));
    let waits = market.place(2, buy(3));
    assert_eq!((market.executed(), market.engine.reached_orders()), (0, 2));
    market.apply(Command::ActivateReached);
    assert_eq!((market.executed(), open_of(&market, 2, waits)), (4, 0));
    market.place(2, buy(10));
    assert_eq!(market.executed(), 10, "at the same time");
    market.check();
}

/// Symbol by symbol, one client's orders executed all that a command may, and who had little left waited for them all.
#[test]
fn an_order_that_goes_on_gives_way_to_those_of_other_symbols() {
    let elsewhere = |order| NewOrder { symbol: other_symbol(), ..order };
    for kind in [OrderKind::Limit, OrderKind::FillOrKill] {
        let mut market = begin_turn(2);
        for _ in 0..30 {
            market.place(1, order(Side::Sell, 500, 1));
        }
        let large = market.place(2, order(Side::Buy, 500, 30));
        assert_eq!((market.executed(), open_of(&market, 2, large)), (5, 25));
        let short = market.place(2, NewOrder { kind, ..elsewhere(order(Side::Buy, 500, 6)) });
        let is_cut = kind == OrderKind::Limit;
        assert_eq!(open_of(&market, 2, short), if is_cut { 4 } else { 6 });
        market.apply(Command::ActivateReached);
        // Of ten executions the large order has three, then the other one three, and so on; or the other one has all
        // six that it needs, besides the ten.
        assert_eq!((market.executed(), open_of(&market, 2, short)), (if is_cut { 10 } else { 16 }, 0));
        assert_eq!(open_of(&market, 2, large), if is_cut { 19 } else { 15 });
        market.check();
        market.apply(Command::ActivateReached);
        assert_eq!(market.executed(), 10, "it is alone");
        market.check();
    }
}

/// A thousand auctions that were to end took a thousand turns, however little executed in each.
#[test]
fn one_command_ends_auctions_until_it_has_executed_so_often() {
    let phase_of = |market: &Market, number| market.engine.phase(SymbolIndex(number)).phase;
    for (shares, executed) in [(3, 6), (20, 9)] {
        let mut market = begin_turn(0);
        market.place(2, NewOrder { symbol: other_symbol(), ..order(Side::Buy, 500, 5) });
        for (symbol, shares) in [(symbol(), 3), (other_symbol(), shares)] {
            market.apply(Command::ChangePhase { symbol, phase: Phase::Auction, due: None });
            for _ in 0..shares {
                market.place(1, NewOrder { symbol, ..order(Side::Sell, 400, 1) });
                market.place(2, NewOrder { symbol, ..order(Side::Buy, 400, 1) });
            }
            market.apply(Command::ChangePhase { symbol, phase: Phase::Open, due: None });
            assert_eq!(market.executed(), 0, "the turn has no executions left");
        }
        market.apply(Command::EndAuction);
        assert_eq!(market.executed(), executed, "an auction counts as one of ten");
        let is_all = executed == 6;
        assert_eq!(phase_of(&market, 0), Phase::Open);
        assert_eq!(phase_of(&market, 1), if is_all { Phase::Open } else { Phase::Auction });
        market.check();
    }
}

/// An auction that a command of a turn ends goes on, too.
#[test]
fn an_auction_executes_what_its_turn_has_left_and_goes_on() {
    let mut market = begin_turn(2);
    market.phase(Phase::Auction);
    for _ in 0..20 {
        market.place(1, order(Side::Sell, 500, 1));
        market.place(2, order(Side::Buy, 500, 1));
    }
    market.phase(Phase::Open);
    assert_eq!(market.executed(), 5);
    market.phase(Phase::Open);
    assert_eq!(market.executed(), 2);
    for executed in [10, 3] {
        market.apply(Command::EndAuction);
        assert_eq!(market.executed(), executed);
    }
    market.check();
}

/// The order is not cut off, and not canceled because of the executions of others.
#[test]
fn a_fill_or_kill_order_waits_for_a_command_that_may_execute_all_of_it() {
    let mut market = begin_turn(2);
    let fill_or_kill = |shares| {
        let order = NewOrder { kind: OrderKind::FillOrKill, ..order(Side::Buy, 500, shares) };
        NewOrder { symbol: other_symbol(), ..order }
    };
    let too_large = market.place(2, fill_or_kill(11));
    assert_eq!((open_of(&market, 2, too_large), market.engine.reached_orders()), (0, 0), "no command could do it");
    market.place(2, fill_or_kill(4));
    assert_eq!((market.executed(), market.engine.reached_orders()), (4, 0));
    let waits = market.place(2, fill_or_kill(6));
    assert_eq!((market.executed(), open_of(&market, 2, waits), market.engine.reached_orders()), (0, 6, 1));
    let behind = market.place(2, fill_or_kill(1));
    assert_eq!((market.executed(), market.engine.reached_orders()), (0, 2), "nothing comes before it");
    market.check();
    market.apply(Command::ActivateReached);
    assert_eq!((market.executed(), open_of(&market, 2, waits), open_of(&market, 2, behind)), (7, 0, 0));
    market.check();
}

/// An auction ended with 3,000 orders that ended at its end: once 1,000 ended before it, and 2,000 executed in it.
#[test]
fn orders_that_end_with_an_auction_take_no_part_in_it() {
    for is_begun in [true, false] {
        let mut market = Market::new(10_000);
        market.phase(Phase::Auction);
        for _ in 0..2_500 {
            bid_until(&mut market, symbol(), 100, 1_000_000);
        }
        market.place(2, order(Side::Sell, 100, 2_500));
        let stays = market.place(1, order(Side::Buy, 100, 5));
        market.turn = Some(Time(1_000_000));
        if is_begun {
            market.apply(Command::ExpireOrders);
        }
        market.phase(Phase::Open);
        assert_eq!(market.executed(), 0, "some that have ended would");
        assert_eq!(market.engine.phase(SymbolIndex(0)).until, market.turn, "it goes on, and is over at once");
        market.phase(Phase::Open);
        assert_eq!(market.events, [], "so it does already");
        // An order that is placed meanwhile, and ends before the auction does, does not prolong it.
        bid_until(&mut market, symbol(), 90, 2_000_000);
        let canceled: &[usize] = if is_begun { &[1_000, 500] } else { &[1_000, 1_000, 500] };
        for (nth, &expected) in canceled.iter().enumerate() {
            market.turn = Some(Time(3_000_000));
            assert!(market.engine.has_auctions_to_end(Time(3_000_000)));
            market.apply(Command::EndAuction);
            assert_eq!(ended(&market), expected);
            let is_last = nth + 1 == canceled.len();
            assert_eq!(market.executed(), usize::from(is_last), "who did not end executes");
            market.check();
            restart(&mut market);
        }
        assert!(!market.engine.has_auctions_to_end(Time(3_000_000)));
        assert_eq!(market.engine.next_deadline(), Some(Time(2_000_000)));
        let asked = Query { account: account(1), order: stays.into() };
        let told = market.engine.query(&asked, &mut Vec::new());
        assert!(matches!(told, Reply::Done(_)), "{told:?}");
    }
}

/// Has account 1 bid for a share until a time.
fn bid_until(market: &mut Market, symbol: Symbol, limit: i64, until: u64) {
    let order = NewOrder { symbol, ..order(Side::Buy, limit, 1) };
    let until = Deadline::new(Time(until));
    let told = market.apply(Command::Place(Place::order(account(1), order).until(until)));
    assert!(matches!(told, Reply::Opened(_)), "{told:?}");
}

/// The number of orders that the last command ended at their time.
fn ended(market: &Market) -> usize {
    let is_end = |event: &&Event| matches!(event, Event::OrderCanceled { why: CancelReason::Expired, .. });
    market.events.iter().filter(is_end).count()
}

/// Auctions of all symbols waited until the ended orders of each symbol had been canceled, thousands of commands of
/// another one.
#[test]
fn an_auction_waits_for_no_ended_orders_of_another_symbol() {
    let mut market = Market::new(10_000);
    let symbols = ["SPY", "ONE", "NONE"].map(|name| Symbol::parse(name.as_bytes()).unwrap());
    for (symbol, ending) in symbols.into_iter().zip([3_500, 1, 0]) {
        market.apply(Command::CreateSymbol { symbol });
        market.apply(Command::IssueShares { symbol, account: account(2), shares: Position::from_units(10) });
        market.apply(Command::ChangePhase { symbol, phase: Phase::Auction, due: None });
        for _ in 0..ending {
            bid_until(&mut market, symbol, 100, 1_000_000);
        }
        for side in [Side::Buy, Side::Sell] {
            market.place(2, NewOrder { symbol, ..order(side, 100, 3) });
        }
    }
    market.turn = Some(Time(1_000_000));
    let phases = |market: &Market| [0, 1, 2].map(|symbol| market.engine.phase(SymbolIndex(symbol)).phase);
    for symbol in symbols {
        market.apply(Command::ChangePhase { symbol, phase: Phase::Open, due: None });
    }
    assert_eq!(market.executed(), 1, "no order of its symbol has ended");
    assert_eq!(phases(&market), [Phase::Auction, Phase::Auction, Phase::Open]);
    let mut steps = Vec::new();
    for turn in 2..6 {
        market.turn = Some(Time(turn * 1_000_000));
        market.apply(Command::EndAuction);
        steps.push((ended(&market), phases(&market)[..2] == [Phase::Auction, Phase::Open], market.executed()));
        market.check();
        restart(&mut market);
    }
    // The first one takes all cancels of the first command, and the other one its own of the second.
    assert_eq!(steps, [(1_000, false, 0), (1_000, true, 1), (1_000, true, 0), (501, false, 1)]);
    assert_eq!(phases(&market), [Phase::Open; 3]);
}

/// Continues with an engine that imports the state.
pub(crate) fn restart(market: &mut Market) {
    let mut importer = Importer::new(9, DoneOrders::Drop);
    market.engine.export(&mut |item| importer.add(item).unwrap());
    let engine = importer.finish().unwrap().with_executions_max(10);
    assert_eq!(engine.state_hash(), market.engine.state_hash());
    market.engine = engine;
}
