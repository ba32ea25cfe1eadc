//! Deposits and withdrawals: what leaves the market, what orders keep, and transfers that are sent twice.

use terms::{Assets, Command, Money, Position, Reject, Reply, SymbolRules, TransferNumber};

use crate::rules::{Market, account, buy, sell, symbol};

fn dollars(count: i128) -> Assets {
    Assets::Dollars(Money::from_units(count * 10_i128.pow(16)))
}

fn shares(count: i128) -> Assets {
    Assets::Shares { symbol: symbol(), shares: Position::from_units(count * 10_i128.pow(8)) }
}

fn withdraw(assets: Assets, number: Option<u64>) -> Command {
    Command::Withdraw { account: account(1), assets, number: number.and_then(TransferNumber::new) }
}

fn deposit(assets: Assets, number: Option<u64>) -> Command {
    Command::Deposit { account: account(1), assets, number: number.and_then(TransferNumber::new) }
}

/// The dollars and shares that account 1 has available.
fn has(market: &Market) -> (Money, Position) {
    let engine = &market.engine;
    (engine.balance(account(1)).unwrap(), engine.position(account(1), symbol()).unwrap())
}

#[test]
fn what_is_withdrawn_has_left_the_market_and_may_come_again() {
    let mut market = Market::new(SymbolRules::NONE);
    let (money, position) = has(&market);
    let all = [Assets::Dollars(money), Assets::Shares { symbol: symbol(), shares: position }];
    let before = (market.engine.money_issued(), market.engine.issued_of(symbol()).unwrap());
    for assets in all {
        assert_eq!(market.apply(withdraw(assets, None)), Reply::Created);
    }
    assert_eq!(has(&market), (Money::ZERO, Position::ZERO));
    let after = (market.engine.money_issued(), market.engine.issued_of(symbol()).unwrap());
    assert_eq!(after, (before.0.minus(money), before.1.minus(position)));
    market.engine.check_invariants();
    for assets in all {
        assert_eq!(market.apply(deposit(assets, None)), Reply::Created);
    }
    assert_eq!(has(&market), (money, position));
    market.duel.end();
}

#[test]
fn orders_keep_what_they_hold() {
    let mut market = Market::new(SymbolRules::NONE);
    market.place(buy("10", "5")).unwrap();
    market.place(sell("20", "5")).unwrap();
    let (available, position) = has(&market);
    let needed = available.plus(Money::from_units(1));
    let refused = Reply::Rejected(Reject::InsufficientFunds { needed, available });
    assert_eq!(market.apply(withdraw(Assets::Dollars(needed), None)), refused);
    let needed = position.plus(Position::from_units(1));
    let refused = Reply::Rejected(Reject::InsufficientShares { needed, available: position });
    assert_eq!(market.apply(withdraw(Assets::Shares { symbol: symbol(), shares: needed }, None)), refused);
    assert_eq!(market.apply(withdraw(Assets::Dollars(available), None)), Reply::Created);
    assert_eq!(has(&market), (Money::ZERO, position));
    market.duel.end();
}

#[test]
fn a_transfer_that_is_sent_twice_is_made_once() {
    let mut market = Market::new(SymbolRules::NONE);
    let (money, _) = has(&market);
    let number = |number| TransferNumber::new(number).unwrap();
    let refused = |sent, next| Reply::Rejected(Reject::NotNextTransfer { number: number(sent), next: number(next) });
    assert_eq!(market.apply(withdraw(dollars(7), Some(2))), refused(2, 1));
    assert_eq!(market.apply(withdraw(dollars(7), Some(1))), Reply::Created);
    assert_eq!(market.apply(withdraw(dollars(7), Some(1))), refused(1, 2));
    // A transfer without a number counts, too.
    assert_eq!(market.apply(deposit(shares(3), None)), Reply::Created);
    assert_eq!(market.apply(deposit(dollars(1), Some(2))), refused(2, 3));
    assert_eq!(market.apply(deposit(dollars(1), Some(3))), Reply::Created);
    assert_eq!(has(&market).0, money.minus(Money::from_units(6 * 10_i128.pow(16))));
    market.duel.end();
}
