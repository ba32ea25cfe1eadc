//! Auctions with so many orders for them that one command cannot cancel the rest: no client keeps the symbol from
//! opening, and a replay or a state in between continues where it ended.

use std::sync::mpsc::channel;

use engine::{DoneOrders, Engine, Importer};
use exchange::{Answer, Batch};
use market::memory_ledger::MemoryLedger;
use market::turn::MarketLoop;
use terms::{
    AccountId, BrokenRule, CANCELS_MAX, Command, DOLLAR, Distance, Money, NewOrder, Op, OrderKind, Phase, Place,
    Position, Price, Reject, Reply, Shares, Side, Symbol, SymbolIndex, SymbolRules, Time,
};

use crate::turn_options::options;

struct Market {
    turn: MarketLoop<MemoryLedger>,
}

impl Market {
    fn at(engine: Engine) -> Market {
        let ledger = MemoryLedger::keeping(Vec::new());
        Market { turn: MarketLoop::new(engine, ledger, options(|| Time(1_000_000))) }
    }

    /// A symbol in an auction, whose orders may execute between 90 and 110. Account 1 buys, and account 2 sells.
    fn gathering() -> Market {
        let mut market = Market::at(Engine::new(1, DoneOrders::Drop));
        let symbol = symbol();
        let range = Distance::from_hundredths(1_000);
        let reference = Price::from_units(100 * DOLLAR as i64);
        let rules = SymbolRules { static_up: range, static_down: range, reference, ..SymbolRules::NONE };
        let (balance, shares) = (Money::from_units(1_000_000 * DOLLAR), Position::from_units(1_000_000));
        market.asks(&[
            Command::CreateSymbol { symbol },
            Command::CreateAccount { account: account(1), balance },
            Command::CreateAccount { account: account(2), balance },
            Command::IssueShares { symbol, account: account(2), shares },
            Command::ChangeRules { symbol, rules },
            Command::ChangePhase { symbol, phase: Phase::Auction, due: None },
        ]);
        market
    }

    fn asks(&mut self, commands: &[Command]) -> Vec<Answer> {
        let (back, answers) = channel();
        let mut batch = Batch::detached(back);
        commands.iter().for_each(|command| batch.requests.push(&[Op::Command(*command)]));
        self.turn.step(&mut vec![batch]).unwrap();
        answers.recv().unwrap().answers
    }

    fn left(&self) -> usize {
        self.turn.engine().open_order_count()
    }

    fn phase(&self) -> Phase {
        self.turn.engine().phase(SymbolIndex(0)).phase
    }

    /// Has the loop end what it ends by itself. Returns the state then, and how many turns that took.
    fn ends(&mut self) -> (u64, usize) {
        for turns in 0..10 {
            if self.phase() == Phase::Open {
                return (self.turn.engine().state_hash(), turns);
            }
            self.turn.idle().unwrap();
        }
        panic!("{} orders are left", self.left());
    }
}

fn account(number: u32) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).unwrap()
}

fn symbol() -> Symbol {
    Symbol::parse(b"SPY").unwrap()
}

fn place(number: u32, kind: OrderKind, side: Side) -> Command {
    let (limit, shares) = (Price::from_units(100 * DOLLAR as i64).unwrap(), Shares::from_units(1).unwrap());
    Command::Place(Place::order(account(number), NewOrder::of_kind(kind, symbol(), side, limit, shares)))
}

/// Both kinds of orders in turns.
fn buys(orders: usize) -> Vec<Command> {
    let kinds = [OrderKind::AuctionMarket, OrderKind::AuctionLimit].into_iter().cycle();
    kinds.map(|kind| place(1, kind, Side::Buy)).take(orders).collect()
}

fn open() -> Command {
    Command::ChangePhase { symbol: symbol(), phase: Phase::Open, due: None }
}

/// An auction that was over went on as long as a client placed more orders for it in a turn than a command cancels.
#[test]
fn nobody_keeps_an_auction_that_is_over_going_with_more_orders_for_it() {
    let mut market = Market::gathering();
    market.asks(&buys(3 * CANCELS_MAX));
    assert_eq!(market.asks(&[open()]), [Answer::Reply(Reply::InAuction)]);
    let refused = Answer::Reply(Reply::Rejected(Reject::BreaksRule(BrokenRule::NotInAuction)));
    assert_eq!(market.left(), 2 * CANCELS_MAX);
    let told = market.asks(&buys(2 * CANCELS_MAX));
    assert!(told.iter().all(|told| *told == refused), "{:?}", told.first());
    assert_eq!((market.phase(), market.left()), (Phase::Auction, CANCELS_MAX));
    // The symbol opens before the next ones, which wait for another auction.
    let told = market.asks(&buys(2));
    assert!(told.iter().all(|told| matches!(told, Answer::Reply(Reply::Opened(_)))), "{:?}", told.first());
    assert_eq!((market.phase(), market.left()), (Phase::Open, 2));
}

#[test]
fn a_replay_and_a_state_between_two_steps_of_the_end_come_to_the_same_end() {
    let mut market = Market::gathering();
    market.asks(&buys(2 * CANCELS_MAX));
    market.asks(&[place(2, OrderKind::AuctionMarket, Side::Sell), place(2, OrderKind::Limit, Side::Sell)]);
    let gathering = market.turn.engine().auction_price(SymbolIndex(0));
    assert_eq!(gathering.map(|found| found.price), Price::from_units(100 * DOLLAR as i64));
    for step in 0..2 {
        let kept = market.turn.ledger().kept().to_vec();
        let mut replayed = Engine::new(7, DoneOrders::Drop);
        for entry in &kept {
            replayed.apply(entry, &mut Vec::new(), &mut |_| {});
        }
        let mut importer = Importer::new(9, DoneOrders::Drop);
        market.turn.engine().export(&mut |item| importer.add(item).unwrap());
        let imported = importer.finish().unwrap();
        let ends = [replayed, imported].map(|engine| {
            engine.check_invariants();
            assert_eq!(engine.auction_price(SymbolIndex(0)), market.turn.engine().auction_price(SymbolIndex(0)));
            let mut other = Market::at(engine);
            if step == 0 {
                assert_eq!(other.asks(&[open()]), [Answer::Reply(Reply::InAuction)]);
                assert_eq!(other.left(), CANCELS_MAX - 2, "two of them executed");
            }
            other.ends()
        });
        assert_eq!(ends[0], ends[1]);
        assert_eq!(ends[0].1, 1, "what is left takes one step");
        if step == 0 {
            market.asks(&[open()]);
        } else {
            assert_eq!(market.ends(), ends[0]);
        }
    }
}
