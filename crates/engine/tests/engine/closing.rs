//! Closings of accounts: what keeps one open, and what a closed one still does.

use engine::{DoneOrders, Importer};
use terms::{
    AccountUse, Assets, Command, FeeRate, Fees, Money, NewOrder, Place, Position, Reject, Reply, Shares, Side,
    StateItem, SymbolRules, Tier,
};

use crate::rules::{Market, account, buy, symbol};

const CLOSE: fn() -> Command = || Command::CloseAccount { account: account(1) };

fn in_use(found: AccountUse) -> Reply {
    Reply::Rejected(Reject::AccountInUse(found))
}

/// Takes all that account 1 has out of the market, but for so many units of money.
fn empty(market: &mut Market, but: i128) {
    let money = market.engine.balance(account(1)).unwrap().minus(Money::from_units(but));
    let shares = market.engine.position(account(1), symbol()).unwrap();
    for assets in [Assets::Dollars(money), Assets::Shares { symbol: symbol(), shares }] {
        let withdrawn = market.apply(Command::Withdraw { account: account(1), assets, number: None });
        assert_eq!(withdrawn, Reply::Created);
    }
}

#[test]
fn an_account_that_has_or_gets_something_stays_open() {
    let mut market = Market::new(SymbolRules::NONE);
    let order = market.place(buy("10", "5")).unwrap();
    assert_eq!(market.apply(CLOSE()), in_use(AccountUse::Orders));
    let cancel = Command::CancelOrder { account: account(1), order: terms::OrderName::Id(order) };
    assert!(matches!(market.apply(cancel), Reply::Canceled(_)));
    let dollars = market.engine.balance(account(1)).unwrap();
    assert_eq!(market.apply(CLOSE()), in_use(AccountUse::Dollars));
    let assets = Assets::Dollars(dollars);
    market.apply(Command::Withdraw { account: account(1), assets, number: None });
    let shares = market.engine.position(account(1), symbol()).unwrap();
    assert_eq!(market.apply(CLOSE()), in_use(AccountUse::Shares(symbol())));
    let assets = Assets::Shares { symbol: symbol(), shares };
    market.apply(Command::Withdraw { account: account(1), assets, number: None });
    let rate = FeeRate::from_millionths(5).unwrap();
    let fees = |fees| Command::ChangeFees { symbol: symbol(), tier: Tier::FIRST, fees };
    assert_eq!(market.apply(fees(Some(Fees { maker: rate, taker: rate, account: account(1) }))), Reply::Created);
    assert_eq!(market.apply(CLOSE()), in_use(AccountUse::Fees(symbol())));
    assert_eq!(market.apply(fees(None)), Reply::Created);
    assert_eq!(market.apply(CLOSE()), Reply::Created);
    market.duel.end();
}

#[test]
fn what_no_withdrawal_can_name_leaves_the_market_with_its_account() {
    let mut market = Market::new(SymbolRules::NONE);
    empty(&mut market, 100_000_000);
    assert_eq!(market.apply(CLOSE()), in_use(AccountUse::Dollars));
    let assets = Assets::Dollars(Money::from_units(1));
    assert_eq!(market.apply(Command::Withdraw { account: account(1), assets, number: None }), Reply::Created);
    let issued = market.engine.money_issued();
    assert_eq!(market.apply(CLOSE()), Reply::Created);
    assert_eq!(market.engine.balance(account(1)), Some(Money::ZERO));
    assert_eq!(market.engine.money_issued(), issued.minus(Money::from_units(99_999_999)));
    market.engine.check_invariants();
    market.duel.end();
}

#[test]
fn a_closed_account_places_nothing_and_gets_nothing() {
    let mut market = Market::new(SymbolRules::NONE);
    empty(&mut market, 0);
    assert_eq!(market.apply(CLOSE()), Reply::Created);
    assert_eq!(market.apply(CLOSE()), Reply::Created);
    let (shares, dollars) = (Position::from_units(5), Assets::Dollars(Money::from_units(5)));
    let order = NewOrder::limit(symbol(), Side::Buy, buy("10", "5").limit, Shares::MIN);
    let rate = FeeRate::from_millionths(5).unwrap();
    let fees = Some(Fees { maker: rate, taker: rate, account: account(1) });
    for refused in [
        Command::Place(Place::order(account(1), order)),
        Command::Deposit { account: account(1), assets: dollars, number: None },
        Command::DepositFrom { payer: account(2), account: account(1), assets: dollars, number: None },
        Command::Withdraw { account: account(1), assets: dollars, number: None },
        Command::IssueShares { symbol: symbol(), account: account(1), shares },
        Command::GiveShares { payer: account(2), symbol: symbol(), account: account(1), shares },
        Command::ChangeFees { symbol: symbol(), tier: Tier::FIRST, fees },
    ] {
        assert_eq!(market.apply(refused), Reply::Rejected(Reject::AccountClosed), "{refused:?}");
    }
    let again = Command::CreateAccount { account: account(1), balance: Money::ZERO };
    assert_eq!(market.apply(again), Reply::Rejected(Reject::AccountExists));
    market.duel.end();
}

#[test]
fn a_state_in_which_a_closed_account_has_something_is_not_imported() {
    let fault = Some("a closed account that has or gets something");
    let import = |market: &Market| {
        let mut importer = Importer::new(1, DoneOrders::Drop);
        let mut items = Vec::new();
        market.engine.export(&mut |item| items.push(item));
        for item in &mut items {
            if let StateItem::AccountStatus { account, status } = item {
                status.is_closed = account.0 == 0;
            }
        }
        items.into_iter().try_for_each(|item| importer.add(item)).unwrap();
        importer.finish().map(|_| ()).map_err(|error| error.fault).err()
    };
    let mut market = Market::new(SymbolRules::NONE);
    empty(&mut market, 0);
    assert_eq!(import(&market), None);
    let rate = FeeRate::from_millionths(5).unwrap();
    let fees = |fees| Command::ChangeFees { symbol: symbol(), tier: Tier::FIRST, fees };
    market.apply(fees(Some(Fees { maker: rate, taker: rate, account: account(1) })));
    assert_eq!(import(&market), fault);
    market.apply(fees(None));
    for (assets, price) in [
        (Assets::Dollars(buy("1", "1").limit.times(Shares::MIN)), buy("1", "1")),
        (Assets::Shares { symbol: symbol(), shares: Position::from_units(1) }, crate::rules::sell("1", "1")),
    ] {
        let order = NewOrder { shares: Shares::MIN, ..price };
        market.apply(Command::Deposit { account: account(1), assets, number: None });
        assert_eq!(import(&market), fault, "{assets:?}");
        // What an order holds is no longer available.
        market.place(order).unwrap();
        assert_eq!(import(&market), fault, "{assets:?} that an order holds");
        market.apply(Command::CancelAll { account: account(1), symbol: None, through: None });
        market.apply(Command::Withdraw { account: account(1), assets, number: None });
        assert_eq!(import(&market), None);
    }
}
