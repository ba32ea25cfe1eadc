//! Tests of issues: what they expect to be issued, and that a refused one leaves no symbol.

use engine::{DoneOrders, Engine};
use exchange::{Bound, Issue, IssuedBefore, Requests, Unavailable};
use terms::{AccountId, Command, Entry, Money, Op, Position, Reject, Sequence, Symbol, Time};

use crate::admission::{Admission, Bounds, Conditions, Decision};
use crate::ledger::Writers;

const ADMITTED: &[Decision] = &[Decision::Admitted; 2];

fn account(id: &str) -> AccountId {
    AccountId::parse(id.as_bytes()).expect("digits")
}

fn symbol(name: &str) -> Symbol {
    Symbol::parse(name.as_bytes()).expect("letters")
}

fn issued_otherwise(issued: Option<i128>) -> [Decision; 2] {
    [Decision::Refused(Unavailable::IssuedOtherwise { issued: issued.map(Position::from_units) }); 2]
}

/// Issues of a turn, in order.
#[derive(Default)]
struct Turn(Requests);

impl Turn {
    /// Adds an issue to account 7, for which `expected` shares must be issued.
    fn issue(mut self, name: &str, shares: i128, expected: impl Into<Option<i128>>) -> Turn {
        let before =
            expected.into().map_or(IssuedBefore::Any, |units| IssuedBefore::Exactly(Position::from_units(units)));
        let shares = Position::from_units(shares);
        self.0.push_issue(&Issue { symbol: symbol(name), account: account("7"), shares, before });
        self
    }

    /// Adds a request of commands, as XML sends them.
    fn commands(mut self, commands: &[Command]) -> Turn {
        self.0.push(&commands.iter().copied().map(Op::Command).collect::<Vec<_>>());
        self
    }

    /// Decides in a market with account 7, and 100 units of SPY issued to it.
    fn decide(self, writers: Writers, bounds: Bounds) -> Vec<Decision> {
        let mut engine = Engine::new(1, DoneOrders::Drop);
        let (account, symbol) = (account("7"), symbol("SPY"));
        let created = [
            Command::CreateAccount { account, balance: Money::ZERO },
            Command::CreateSymbol { symbol },
            Command::IssueShares { symbol, account, shares: Position::from_units(100) },
        ];
        for (number, command) in (1..).zip(created) {
            let entry = Entry { sequence: Sequence(number), time: Time(1), command };
            engine.apply(&entry, &mut Vec::new(), &mut |_| {});
        }
        let conditions = Conditions { disk_low: false, writers, bounds };
        let mut admission = Admission::default();
        admission.decide(&mut engine, &conditions, Time(2), [&self.0].into_iter(), &mut |_| {});
        admission.decisions().collect()
    }

    fn check(self, bounds: Bounds, expected: &[&[Decision]]) {
        assert_eq!(self.decide(Writers::This, bounds), expected.concat());
    }
}

#[test]
fn an_issue_expects_what_is_issued_with_what_the_same_turn_issues_before_it() {
    let none = Bounds::NONE;
    Turn::default().issue("SPY", 50, 100).issue("SPY", 50, 100).check(none, &[ADMITTED, &issued_otherwise(Some(150))]);
    Turn::default().issue("SPY", 50, 100).issue("SPY", 50, 150).check(none, &[ADMITTED; 2]);
    Turn::default().issue("SPY", 50, 99).issue("SPY", 50, 100).check(none, &[&issued_otherwise(Some(100)), ADMITTED]);
    Turn::default().issue("NEW", 5, 0).issue("NEW", 5, 0).check(none, &[ADMITTED, &issued_otherwise(Some(5))]);
    Turn::default().issue("NEW", 5, 1).issue("NEW", 0, 0).check(none, &[&issued_otherwise(Some(0)), ADMITTED]);
    let plain = Command::IssueShares { symbol: symbol("SPY"), account: account("7"), shares: Position::from_units(5) };
    Turn::default().commands(&[plain]).issue("SPY", 1, 105).check(none, &[&[Decision::Admitted], ADMITTED]);
    let any = Turn::default().issue("SPY", 50, None).issue("SPY", 50, None).issue("SPY", 1, 200);
    any.check(none, &[ADMITTED; 3]);
}

/// Whether the engine creates the account, takes the symbol or has room for the shares is not known in that turn.
#[test]
fn an_issue_expects_nothing_behind_one_that_the_engine_may_refuse() {
    let (account, new) = (account("8"), symbol("NEW"));
    let shares = Position::from_units(5);
    let funded = Command::FundAccount { payer: account, account, balance: Money::ZERO };
    let issue = |symbol, shares| Command::IssueShares { symbol, account, shares };
    let behind = |commands: &[Command], name, expected| {
        let admitted = vec![Decision::Admitted; commands.len()];
        let turn = Turn::default().commands(commands).issue(name, 1, expected);
        turn.check(Bounds::NONE, &[&admitted, &issued_otherwise(None)]);
    };
    behind(&[funded, issue(symbol("SPY"), shares)], "SPY", 105);
    behind(&[funded, issue(new, shares)], "NEW", 5);
    let all = Command::IssueShares { symbol: symbol("SPY"), account: self::account("7"), shares: Position::CAP };
    behind(&[all], "SPY", 100);
    let settled = Turn::default().commands(&[funded, issue(symbol("SPY"), shares)]).issue("NEW", 1, 0);
    settled.check(Bounds::NONE, &[ADMITTED, ADMITTED]);
}

#[test]
fn a_refused_issue_leaves_no_symbol() {
    let symbols = Bounds { symbols: 2, ..Bounds::NONE };
    let bounds = Bounds { position: Position::from_units(10), ..symbols };
    let decided = Turn::default().issue("NEW", 11, None).issue("NEXT", 10, 0).decide(Writers::This, bounds);
    let (most, left) = (Position::from_units(10), Position::CAP);
    assert_eq!(decided[..2], [Decision::Refused(Unavailable::Bound(Bound::Position { most, left })); 2]);
    assert_eq!(&decided[2..], ADMITTED, "NEW takes no place among the symbols, and none of its shares count");
    let refused = [Decision::Refused(Unavailable::Bound(Bound::Symbols { most: 2 })); 2];
    Turn::default()
        .issue("NEW", 1, 0)
        .issue("NEXT", 1, 0)
        .issue("NEXT", 1, 0)
        .check(symbols, &[ADMITTED, &refused, &refused]);
    let mut turn = Turn::default().issue("SPY", 1, 7);
    let (symbol, account) = (symbol("NEW"), account("8"));
    turn.0.push_issue(&Issue { symbol, account, shares: Position::ZERO, before: IssuedBefore::Any });
    turn.check(Bounds::NONE, &[&issued_otherwise(Some(100)), &[Decision::Rejected(Reject::UnknownAccount); 2]]);
}

#[test]
fn where_several_servers_write_an_issue_expects_nothing() {
    let turn = Turn::default().issue("SPY", 1, 100).issue("SPY", 1, None);
    let refused = [Decision::Refused(Unavailable::SharedIssue); 2];
    assert_eq!(turn.decide(Writers::Several, Bounds::NONE), [&refused, ADMITTED].concat());
}
