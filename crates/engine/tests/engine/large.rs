//! A market so large that the engine looks ahead: its answers stay the same.

use engine::{AHEAD, DoneOrders, Engine};
use model::workload::Random;
use terms::{
    AccountId, Command, DOLLAR, Entry, Money, NewOrder, Op, OrderId, Place, Position, Price, Query, Reply, Sequence,
    Shares, Side, Symbol, Time,
};

const ACCOUNTS: usize = 50;
const RESTING: u64 = 70_000;
const OPS: usize = 100_000;

fn account(number: usize) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).unwrap()
}

fn symbol() -> Symbol {
    Symbol::parse(b"SPY").unwrap()
}

/// Creates rich accounts, then more resting orders than the bound for looking ahead.
fn beginning() -> Vec<Op> {
    let mut commands = vec![Command::CreateSymbol { symbol: symbol() }];
    for number in 0..ACCOUNTS {
        commands.push(Command::CreateAccount {
            account: account(number),
            balance: Money::from_units(DOLLAR * 1_000_000_000),
        });
        let shares = Position::from_units(1_000_000_000_000_000);
        commands.push(Command::IssueShares { symbol: symbol(), account: account(number), shares });
    }
    commands.extend(
        (0..RESTING).map(|number| order(number as usize % ACCOUNTS, Side::Sell, 2_000_000 + number as i64 % 999)),
    );
    commands.into_iter().map(Op::Command).collect()
}

fn order(owner: usize, side: Side, limit: i64) -> Command {
    let (limit, shares) = (Price::from_units(limit * 100).unwrap(), Shares::from_units(100_000_000).unwrap());
    let order = NewOrder::limit(symbol(), side, limit, shares);
    Command::Place(Place::order(account(owner), order))
}

/// Draws orders on both sides, and cancels and queries of old, new and missing orders.
fn next_op(random: &mut Random, orders: u64) -> Op {
    let owner = random.below(ACCOUNTS);
    let any_order = OrderId(1 + random.any() % (orders + 5));
    match random.below(10) {
        0..3 => Op::Command(order(owner, Side::Sell, 2_000_000 + random.below(999) as i64)),
        3..6 => Op::Command(order(owner, Side::Buy, 1_999_800 + random.below(300) as i64)),
        6..9 => Op::Command(Command::CancelOrder {
            account: account(any_order.0 as usize % ACCOUNTS),
            order: any_order.into(),
        }),
        _ => Op::Query(Query { account: account(owner), order: any_order.into() }),
    }
}

fn answer(engine: &mut Engine, op: &Op) -> (Reply, usize) {
    let mut executions = Vec::new();
    let reply = match op {
        Op::Command(command) => {
            let sequence = engine.sequence().next();
            engine.apply(&Entry { sequence, time: Time(sequence.0), command: *command }, &mut executions, &mut |_| {})
        }
        Op::Query(query) => engine.query(query, &mut executions),
    };
    (reply, executions.len())
}

fn take(engine: &mut Engine) -> Vec<OrderId> {
    let mut taken = Vec::new();
    engine.take_done(&mut |order| taken.push(order));
    taken
}

#[test]
fn looking_ahead_changes_no_reply_and_no_state() {
    let mut plain = Engine::new(1, DoneOrders::Keep);
    let mut looking = Engine::new(2, DoneOrders::Keep);
    let mut random = Random::new(20_261_121);
    let mut ops = beginning();
    while plain.sequence() < Sequence(RESTING + OPS as u64) {
        for ahead in ops.chunks(AHEAD) {
            looking.look_ahead(ahead);
            for op in ahead {
                assert_eq!(answer(&mut looking, op), answer(&mut plain, op), "{op:?}");
            }
        }
        let (taken, taken_looking) = (take(&mut plain), take(&mut looking));
        assert_eq!(taken, taken_looking);
        taken.iter().for_each(|&order| plain.forget(order));
        looking.forget_all(taken_looking.into_iter());
        assert!(looking.is_far(), "the market is a large one");
        let orders = plain.next_order().0;
        ops = (0..1000).map(|_| next_op(&mut random, orders)).collect();
    }
    plain.check_invariants();
    looking.check_invariants();
    assert_eq!(plain.state_hash(), looking.state_hash());
}
