//! Costs of commands in markets with other features: no more than in a market without them. The times are those of the
//! same commands in two engines of one run, the best of several; the regressions took hundreds of times as long.

use std::time::{Duration, Instant};

use engine::{DoneOrders, Engine};
use terms::{
    AccountId, Among, Command, DOLLAR, Entry, KillScope, Money, NewOrder, OrderId, Phase, Place, Position, Price,
    Reply, Shares, Side, Symbol, Time, Trigger,
};

const OWNER: &[u8] = b"7";
/// The factor that is no noise.
const TIMES_MAX: u32 = 20;

struct Market {
    engine: Engine,
}

impl Market {
    fn new() -> Market {
        let mut market = Market { engine: Engine::new(1, DoneOrders::Drop) };
        market
            .apply(Command::CreateAccount { account: owner(), balance: Money::from_units(DOLLAR * 1_000_000_000_000) });
        for name in ["A", "B"] {
            market.apply(Command::CreateSymbol { symbol: symbol(name) });
            let shares = Position::from_units(1_000_000_000);
            market.apply(Command::IssueShares { symbol: symbol(name), account: owner(), shares });
        }
        market
    }

    fn apply(&mut self, command: Command) -> Reply {
        let sequence = self.engine.sequence().next();
        self.engine.apply_untold(&Entry { sequence, time: Time(1), command }, &mut Vec::new())
    }

    fn place(&mut self, name: &str, side: Side, units: i64, trigger: Option<i64>) -> OrderId {
        let limit = Price::from_units(units).unwrap();
        let order = NewOrder::limit(symbol(name), side, limit, Shares::from_units(1).unwrap());
        let order = NewOrder { trigger: trigger.and_then(Trigger::from_code), ..order };
        match self.apply(Command::Place(Place::order(owner(), order))) {
            Reply::Opened(order) => order,
            refused => panic!("{refused:?}"),
        }
    }
}

fn owner() -> AccountId {
    AccountId::parse(OWNER).unwrap()
}

fn symbol(name: &str) -> Symbol {
    Symbol::parse(name.as_bytes()).unwrap()
}

/// The shortest of several runs.
fn time_of(market: &mut Market, run: impl Fn(&mut Market)) -> Duration {
    let once = |market: &mut Market| {
        let begun = Instant::now();
        run(market);
        begun.elapsed()
    };
    (0..7).map(|_| once(market)).min().unwrap()
}

/// A market that never had orders, and one that once had very many.
fn with_old_slots() -> [Market; 2] {
    let [small, mut large] = [Market::new(), Market::new()];
    let orders: Vec<OrderId> = (0..300_000).map(|_| large.place("A", Side::Buy, 1, None)).collect();
    for order in orders {
        large.apply(Command::CancelOrder { account: owner(), order: order.into() });
    }
    [small, large]
}

/// A regression: a kill of a symbol, an account or everything looked at each slot that an order ever had: 4,000 kills
/// and releases of one request kept all others waiting for 20 s in a market that once had a million open orders.
#[test]
fn a_kill_costs_what_is_open_and_not_what_once_was() {
    let [mut small, mut large] = with_old_slots();
    let kill = |market: &mut Market| {
        let symbols = ["A", "B"].map(|name| KillScope::Symbol(symbol(name)));
        for scope in symbols.into_iter().chain([KillScope::Account(owner()), KillScope::Everything]) {
            for _ in 0..20 {
                market.place("A", Side::Buy, 1, None);
                let told = market.apply(Command::Kill { scope });
                assert!(matches!(told, Reply::CanceledAll { .. }), "{told:?}");
                market.apply(Command::Release { scope });
            }
        }
    };
    let (expected, taken) = (time_of(&mut small, kill), time_of(&mut large, kill));
    assert!(taken < expected * TIMES_MAX, "{taken:?} with slots of old orders, {expected:?} without");
}

/// The kill of a member is one of all its accounts.
#[test]
fn kills_of_accounts_together_cost_what_is_open_and_not_what_once_was() {
    let [mut small, mut large] = with_old_slots();
    let accounts = [OWNER, b"8"].map(|id| AccountId::parse(id).unwrap());
    for market in [&mut small, &mut large] {
        market.apply(Command::CreateAccount { account: accounts[1], balance: Money::ZERO });
    }
    let kill = |market: &mut Market| {
        for _ in 0..20 {
            market.place("A", Side::Buy, 1, None);
            let [first, last] = [(accounts[0], Among::First), (accounts[1], Among::Last)];
            market.apply(Command::KillTogether { account: first.0, among: first.1 });
            let told = market.apply(Command::KillTogether { account: last.0, among: last.1 });
            assert!(matches!(told, Reply::CanceledAll { orders: 1, .. }), "{told:?}");
            for (account, among) in [first, last] {
                market.apply(Command::ReleaseTogether { account, among });
            }
        }
    };
    let (expected, taken) = (time_of(&mut small, kill), time_of(&mut large, kill));
    assert!(taken < expected * TIMES_MAX, "{taken:?} with slots of old orders, {expected:?} without");
}

/// A regression: each activation in another symbol walked over the orders that an interruption held back.
#[test]
fn orders_that_are_held_back_cost_the_activations_of_other_symbols_nothing() {
    let [mut small, mut large] = [Market::new(), Market::new()];
    for market in [&mut small, &mut large] {
        market.place("B", Side::Sell, 5_000, None);
        market.place("B", Side::Buy, 5_000, None);
        market.place("A", Side::Sell, 5_000, None);
        market.place("A", Side::Buy, 5_000, None);
    }
    for at in 0..60_000 {
        large.place("A", Side::Buy, 1, Some(5_001 + at));
    }
    large.place("A", Side::Sell, 100_000, None);
    large.place("A", Side::Buy, 100_000, None);
    // One command reaches 5,000 of their prices.
    for _ in 0..12 {
        large.apply(Command::ActivateReached);
    }
    assert!(large.engine.reached_orders() > 50_000, "most wait for their turn");
    large.apply(Command::ChangePhase { symbol: symbol("A"), phase: Phase::Halted, due: None });
    assert_eq!(large.engine.reached_orders(), 0, "and are held back");
    let trade = |market: &mut Market| {
        for _ in 0..50 {
            let waits = market.place("B", Side::Buy, 1, Some(6_000));
            market.place("B", Side::Sell, 6_000, None);
            market.place("B", Side::Buy, 6_000, None);
            market.apply(Command::CancelOrder { account: owner(), order: waits.into() });
            // The price goes down again.
            market.place("B", Side::Sell, 5_000, None);
            market.place("B", Side::Buy, 5_000, None);
        }
    };
    let (expected, taken) = (time_of(&mut small, trade), time_of(&mut large, trade));
    assert!(taken < expected * TIMES_MAX, "{taken:?} with orders held back, {expected:?} without");
}
