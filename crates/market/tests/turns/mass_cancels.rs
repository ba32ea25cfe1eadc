//! Kills and lost accounts with more orders than one command cancels, turn by turn: each turn cancels some, other
//! requests are answered in between, and a replay of what was kept continues where it ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;

use engine::{DoneOrders, Engine};
use exchange::{Answer, Batch, Requests};
use market::memory_ledger::MemoryLedger;
use market::turn::MarketLoop;
use terms::{
    AccountId, Among, CANCELS_MAX, CancelBounds, Command, DOLLAR, Entry, Grace, KillScope, Money, NewOrder, Op,
    OrderId, Phase, Place, Position, Price, Reject, Reply, Shares, Side, Symbol, Time,
};

use crate::turn_options::options;

struct Market {
    turn: MarketLoop<MemoryLedger>,
    clock: Arc<AtomicU64>,
}

impl Market {
    fn at(engine: Engine, kept: Vec<Entry>) -> Market {
        let clock = Arc::new(AtomicU64::new(engine.time().0.max(1_000_000)));
        let shows = Arc::clone(&clock);
        let options = options(move || Time(shows.load(Ordering::Relaxed)));
        Market { turn: MarketLoop::new(engine, MemoryLedger::keeping(kept), options), clock }
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
        self.requests(|requests| commands.iter().for_each(|command| requests.push(&[Op::Command(*command)])))
    }

    fn requests(&mut self, make: impl FnOnce(&mut Requests)) -> Vec<Answer> {
        let (back, answers) = channel();
        let mut batch = Batch::detached(back);
        make(&mut batch.requests);
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
    Command::Place(Place::order(account(number), order))
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
    assert!(matches!(told[1], Answer::Reply(Reply::Rejected(Reject::KillGoesOn))), "{told:?}");
    assert_eq!(market.open(), 2 * CANCELS_MAX + 7 + 1);
    let mut market = market.restart();
    market.turn.idle().unwrap();
    assert_eq!(market.open(), CANCELS_MAX + 7 + 1);
    // A buy of two does not execute with the killed orders: the loop has canceled all but seven before.
    let order = NewOrder::limit(symbol(), Side::Buy, Price::from_units(11).unwrap(), Shares::from_units(1).unwrap());
    market.asks(&[Command::Place(Place::order(account(2), order))]);
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

/// Account 1 sells this often, and is lost with the next turn.
fn about_to_be_lost(orders: usize) -> Market {
    let mut market = Market::new(orders);
    market.asks(&[Command::Protect { account: account(1), grace: Grace::from_millis(10).unwrap() }]);
    let market = market.restart();
    market.clock.fetch_add(10_000, Ordering::Relaxed);
    market
}

/// A lost account had its later orders canceled, too, as long as others of it were left.
#[test]
fn an_order_that_is_placed_for_a_lost_account_meanwhile_stays() {
    let mut market = about_to_be_lost(2 * CANCELS_MAX + 7);
    market.turn.idle().unwrap();
    assert_eq!(market.open(), CANCELS_MAX + 7);
    // Each turn cancels before it places.
    let told = market.asks(&[place(1, Side::Sell, 12)]);
    assert!(matches!(told[..], [Answer::Reply(Reply::Opened(_))]), "{told:?}");
    assert_eq!(market.open(), 7 + 1);
    (0..3).for_each(|_| market.turn.idle().unwrap());
    assert_eq!((market.open(), market.turn.engine().protections().count()), (1, 0));
    market.restart();
}

/// An `unprotect` in the turn in which the account was found lost was answered as done, and the next turns canceled the
/// other orders.
#[test]
fn an_unprotect_in_the_turn_in_which_an_account_is_lost_keeps_the_orders_that_are_left() {
    let mut market = about_to_be_lost(3 * CANCELS_MAX);
    let unprotect = Command::Unprotect { account: account(1), is_lost: false, through: None };
    assert_eq!(market.asks(&[unprotect]), [Answer::Reply(Reply::Created)]);
    assert_eq!((market.open(), market.turn.engine().protections().count()), (2 * CANCELS_MAX, 0));
    let kept = market.turn.ledger().kept().len();
    (0..3).for_each(|_| market.turn.idle().unwrap());
    assert_eq!((market.open(), market.turn.ledger().kept().len()), (2 * CANCELS_MAX, kept));
    market.restart();
}

/// A turn ended the orders of a whole command for each of the cancels in it, and others waited for all of them.
#[test]
fn the_cancels_of_a_turn_end_a_bounded_number_of_orders_together() {
    let CancelBounds { command, turn, small } = CancelBounds::ALL;
    let mut market = Market::new(turn + 20 * small);
    let cancel = |through| Command::CancelAll { account: account(1), symbol: None, through };
    let told = market.asks(&[cancel(None); 15]);
    let orders = told.iter().map(|answer| match answer {
        Answer::Reply(Reply::CanceledAll { orders, left: Some(_), .. }) => *orders,
        other @ (Answer::Reply(_) | Answer::Unavailable(_)) => panic!("{other:?}"),
    });
    assert!(orders.eq([[command; 10].as_slice(), &[small; 5]].concat()), "{told:?}");
    assert_eq!(market.open(), 15 * small);
    let mut market = market.restart();
    market.asks(&[cancel(Some(OrderId(u64::MAX))); 2]);
    assert_eq!(market.open(), 0, "the next turn ends whole commands again");
    market.restart();
}

/// The commands that kill, or release, both accounts together.
fn together(is_killed: bool) -> [Command; 2] {
    [(2, Among::First), (1, Among::Last)].map(|(number, among)| match is_killed {
        true => Command::KillTogether { account: account(number), among },
        false => Command::ReleaseTogether { account: account(number), among },
    })
}

/// A release of a member was done by halves: in a cluster another node's kill of one account could come before it in
/// the log, and refused the release of that account alone.
#[test]
fn a_release_of_several_accounts_releases_none_while_the_kill_of_one_goes_on_wherever_it_came_from() {
    let mut market = Market::new(3 * CANCELS_MAX);
    market.asks(&[2, 1].map(|number| Command::Kill { scope: KillScope::Account(account(number)) }));
    let (done, goes_on) = (Answer::Reply(Reply::Created), Answer::Reply(Reply::Rejected(Reject::KillGoesOn)));
    assert_eq!(market.asks(&together(false)), [done.clone(), goes_on]);
    assert_eq!(market.turn.engine().kills().all().count(), 2);
    (0..2).for_each(|_| market.turn.idle().unwrap());
    assert_eq!(market.asks(&together(false)), [done.clone(), done]);
    assert!(market.turn.engine().kills().is_empty());
    market.restart();
}

#[test]
fn a_kill_of_several_accounts_kills_all_with_its_last_command_and_holds_against_a_release_of_its_turn() {
    for (before, in_the_turn) in [(CANCELS_MAX + 1, 0), (0, CANCELS_MAX + 1), (0, 0)] {
        let mut market = Market::new(before);
        let ops = |is_killed| together(is_killed).map(Op::Command);
        let told = market.requests(|requests| {
            (0..in_the_turn).for_each(|_| requests.push(&[Op::Command(place(1, Side::Sell, 10))]));
            requests.push(&ops(true));
            requests.push(&ops(false));
        });
        let last = told.last().unwrap();
        if before + in_the_turn > CANCELS_MAX {
            assert_eq!(
                *last,
                Answer::Reply(Reply::Rejected(Reject::KillGoesOn)),
                "{before}, {in_the_turn} in the turn"
            );
            assert_eq!(market.turn.engine().kills().all().count(), 2);
            market.turn.idle().unwrap();
            market.asks(&together(false));
        } else {
            assert_eq!(*last, Answer::Reply(Reply::Created), "nothing is left");
        }
        assert!(market.turn.engine().kills().is_empty());
        market.restart();
    }
}

/// A trader that shared one account with a member could keep it from being released, by killing that account again.
#[test]
fn a_kill_of_what_is_killed_keeps_no_member_from_being_released() {
    let mut market = Market::new(1);
    market.asks(&together(true));
    let again = Command::Kill { scope: KillScope::Account(account(2)) };
    let told = market.asks(&[[again].as_slice(), &together(false), &[again], &together(false)].concat());
    assert_eq!(told[1..3], [Answer::Reply(Reply::Created), Answer::Reply(Reply::Created)], "{told:?}");
    assert_eq!(told[4..], [Answer::Reply(Reply::Created), Answer::Reply(Reply::Created)], "nothing is left: {told:?}");
}

/// A trader that killed its own account kept every auction of the market from ending, as long as it had orders left.
#[test]
fn an_auction_ends_while_a_kill_in_another_symbol_goes_on() {
    let mut market = Market::new(5 * CANCELS_MAX);
    let symbol = Symbol::parse(b"ZED").unwrap();
    let phase = |phase| Command::ChangePhase { symbol, phase, due: None };
    let shares = Position::from_units(1_000_000);
    let pair = |side| {
        let order = NewOrder::limit(symbol, side, Price::from_units(1).unwrap(), Shares::from_units(1).unwrap());
        Command::Place(Place::order(account(2), order))
    };
    market.asks(&[
        Command::CreateSymbol { symbol },
        Command::IssueShares { symbol, account: account(2), shares },
        phase(Phase::Auction),
        pair(Side::Sell),
        pair(Side::Buy),
    ]);
    market.asks(&[Command::Kill { scope: KillScope::Account(account(1)) }, phase(Phase::Open)]);
    let zed = market.turn.engine().symbol_named(symbol).unwrap();
    assert_eq!(market.turn.engine().phase(zed).phase, Phase::Auction, "the loop ends it while a kill goes on");
    market.turn.idle().unwrap();
    assert_eq!(market.turn.engine().phase(zed).phase, Phase::Open);
    assert_eq!(market.open(), 3 * CANCELS_MAX, "the kill goes on");
    market.restart();
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
