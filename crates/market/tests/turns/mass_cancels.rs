//! Kills and lost accounts with more orders than one command cancels, turn by turn: each turn cancels some, other
//! requests are answered in between, and a replay of what was kept continues where it ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;

use engine::{
    AccountId, CANCELS_MAX, Command, DOLLAR, DoneOrders, Engine, Entry, Grace, KillScope, Money, NewOrder, Op,
    Position, Price, Reply, Shares, Side, Symbol, Time,
};
use exchange::{Answer, Batch};
use market::memory_ledger::MemoryLedger;
use market::turn::Turn;

use crate::turn_options::options;

struct Market {
    turn: Turn<MemoryLedger>,
    clock: Arc<AtomicU64>,
}

impl Market {
    fn at(engine: Engine, kept: Vec<Entry>) -> Market {
        let clock = Arc::new(AtomicU64::new(engine.time().0.max(1_000_000)));
        let shows = Arc::clone(&clock);
        let options = options(move || Time(shows.load(Ordering::Relaxed)));
        Market { turn: Turn::new(engine, MemoryLedger::keeping(kept), options), clock }
    }

    /// Account 1 sells this often at 10, and account 2 may sell at 11.
    fn new(orders: usize) -> Market {
        let mut market = Market::at(Engine::new(1, DoneOrders::Drop), Vec::new());
        let symbol = symbol();
        let mut commands = vec![Command::CreateSymbol { symbol }];
        for number in [1, 2] {
            let (account, shares) = (account(number), Position::from_units(1_000_000));
            commands.push(Command::CreateAccount { account, balance: Money::from_units(DOLLAR) });
            commands.push(Command::IssueShares { symbol, account, shares });
        }
        commands.extend(std::iter::repeat_n(place(1, Side::Sell, 10), orders));
        market.asks(&commands);
        market
    }

    fn asks(&mut self, commands: &[Command]) -> Vec<Answer> {
        let (back, answers) = channel();
        let mut batch = Batch::detached(back);
        commands.iter().for_each(|command| batch.requests.push(&[Op::Command(*command)]));
        self.turn.step(&mut vec![batch]).unwrap();
        answers.recv().unwrap().answers
    }

    fn open(&self) -> usize {
        self.turn.engine().open_order_count()
    }

    /// Ends the server, and starts another one that replays what was kept.
    fn restart(self) -> Market {
        let kept = self.turn.ledger().kept().to_vec();
        let mut engine = Engine::new(7, DoneOrders::Drop);
        for entry in &kept {
            engine.apply(entry, &mut Vec::new(), &mut |_| {});
        }
        assert_eq!(engine.state_hash(), self.turn.engine().state_hash(), "a replay decides the same");
        Market::at(engine, kept)
    }
}

fn account(number: u32) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).unwrap()
}

fn symbol() -> Symbol {
    Symbol::parse(b"SPY").unwrap()
}

fn place(number: u32, side: Side, price: i64) -> Command {
    let (limit, shares) = (Price::from_units(price).unwrap(), Shares::from_units(1).unwrap());
    let order = NewOrder::limit(symbol(), side, limit, shares);
    Command::PlaceOrder { account: account(number), order, client_id: None, until: None }
}

#[test]
fn a_kill_goes_on_turn_by_turn_and_others_are_answered_in_between() {
    let mut market = Market::new(4 * CANCELS_MAX + 7);
    let scope = KillScope::Account(account(1));
    let told = market.asks(&[Command::Kill { scope }]);
    let canceled = |orders| move |answer: &Answer| matches!(answer, Answer::Reply(Reply::CanceledAll { orders: told, left: Some(_), .. }) if *told == orders);
    assert!(told.iter().all(canceled(CANCELS_MAX)), "{told:?}");
    assert_eq!(market.open(), 3 * CANCELS_MAX + 7);
    // Each turn cancels some orders before it handles the requests.
    let told = market.asks(&[place(2, Side::Sell, 11), Command::Release { scope }]);
    assert!(matches!(told[0], Answer::Reply(Reply::Opened(_))), "{told:?}");
    assert!(matches!(told[1], Answer::Reply(Reply::Rejected(engine::Reject::KillGoesOn))), "{told:?}");
    assert_eq!(market.open(), 2 * CANCELS_MAX + 7 + 1);
    let mut market = market.restart();
    market.turn.idle().unwrap();
    assert_eq!(market.open(), CANCELS_MAX + 7 + 1);
    // A buy of two does not execute with the killed orders: the loop has canceled all but seven before.
    let order = NewOrder::limit(symbol(), Side::Buy, Price::from_units(11).unwrap(), Shares::from_units(1).unwrap());
    market.asks(&[Command::PlaceOrder { account: account(2), order, client_id: None, until: None }]);
    assert_eq!(market.open(), 0, "the seven that were left were met, and account 2 executed with itself");
    assert_eq!(market.turn.engine().position(account(1), symbol()), Some(Position::from_units(1_000_000)));
    let mut market = market.restart();
    (0..3).for_each(|_| market.turn.idle().unwrap());
    let kept = market.turn.ledger().kept().len();
    market.turn.idle().unwrap();
    assert_eq!(market.turn.ledger().kept().len(), kept, "it is over");
    let kills = market.turn.ledger().kept().iter().filter(|entry| matches!(entry.command, Command::Kill { .. }));
    assert_eq!(kills.count(), 1, "what goes on kills nothing anew, so that it may come behind a release");
    assert_eq!(market.asks(&[Command::Release { scope }]), [Answer::Reply(Reply::Created)]);
}

#[test]
fn an_account_that_nobody_came_back_for_loses_its_orders_turn_by_turn() {
    let mut market = Market::new(3 * CANCELS_MAX + 7);
    let protect = Command::Protect { account: account(1), grace: Grace::from_millis(10).unwrap() };
    market.asks(&[protect]);
    let mut market = market.restart();
    market.clock.fetch_add(10_000, Ordering::Relaxed);
    market.turn.idle().unwrap();
    assert_eq!(market.open(), 2 * CANCELS_MAX + 7);
    market.asks(&[place(2, Side::Sell, 11)]);
    assert_eq!(market.open(), CANCELS_MAX + 7 + 1);
    // After a start the account has its grace once more, and then loses the other orders.
    let mut market = market.restart();
    market.turn.idle().unwrap();
    assert_eq!(market.open(), CANCELS_MAX + 7 + 1);
    market.clock.fetch_add(10_000, Ordering::Relaxed);
    for left in [8, 1, 1] {
        market.turn.idle().unwrap();
        assert_eq!(market.open(), left);
    }
    assert_eq!(market.turn.engine().protections().count(), 0);
}
