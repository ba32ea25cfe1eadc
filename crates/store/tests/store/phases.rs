//! Phases of symbols in rows: SQL shows them, a server continues with them, and an import and an export carry them.

use crate::common::market::Market;
use crate::common::postgres::database;
use crate::common::simple::goes_in_and_comes_out;
use engine::DoneOrders;
use terms::{
    AccountId, ClientOrderId, Command, DOLLAR, Distance, Money, NewOrder, OrderKind, Pause, Phase, Place, Position,
    Price, Shares, Side, StateItem, Symbol, SymbolIndex, SymbolRules, Time,
};

const ONE: i64 = 100_000_000;

fn symbol(name: &str) -> Symbol {
    Symbol::parse(name.as_bytes()).unwrap()
}

fn account() -> AccountId {
    AccountId::parse(b"1").unwrap()
}

fn place(market: &mut Market, name: &str, side: Side, dollars: i64, shares: i64) {
    let (limit, shares) = (Price::from_units(dollars * ONE).unwrap(), Shares::from_units(shares * ONE).unwrap());
    let order = NewOrder::limit(symbol(name), side, limit, shares);
    market.apply(Command::Place(Place::order(account(), order)));
}

/// Makes a symbol that is open, one that is halted, one whose gathered orders executed, and one that its band
/// interrupted.
fn market() -> Market {
    let mut market = Market::of_all_kinds(1);
    market.apply(Command::CreateAccount { account: account(), balance: Money::from_units(100_000 * DOLLAR) });
    for name in ["OPEN", "HALT", "GATHER"] {
        market.apply(Command::CreateSymbol { symbol: symbol(name) });
    }
    market.apply(Command::CreateSymbol { symbol: symbol("BAND") });
    for name in ["GATHER", "BAND"] {
        let shares = Position::from_units(1_000 * i128::from(ONE));
        market.apply(Command::IssueShares { symbol: symbol(name), account: account(), shares });
    }
    // The phase changes twice in one batch: the last change counts.
    for phase in [Phase::Halted, Phase::Auction, Phase::Open] {
        market.apply(Command::ChangePhase { symbol: symbol("OPEN"), phase, due: None });
    }
    market.apply(Command::ChangePhase { symbol: symbol("HALT"), phase: Phase::Halted, due: None });
    market.apply(Command::ChangePhase { symbol: symbol("GATHER"), phase: Phase::Auction, due: None });
    place(&mut market, "GATHER", Side::Buy, 110, 5);
    place(&mut market, "GATHER", Side::Sell, 90, 3);
    let (band, interruption) = (Distance::from_hundredths(1_000), Pause::from_seconds(30));
    let rules = SymbolRules { band_up: band, band_down: band, interruption, ..SymbolRules::NONE };
    place(&mut market, "BAND", Side::Sell, 100, 1);
    place(&mut market, "BAND", Side::Sell, 150, 1);
    // The account executes with itself: that begins a band, and would not move one.
    place(&mut market, "BAND", Side::Buy, 100, 1);
    market.apply(Command::ChangeRules { symbol: symbol("BAND"), rules });
    place(&mut market, "BAND", Side::Buy, 150, 1);
    // The last time counts, and an earlier one does not set it back.
    for through in [1_000, 3_000_000, 2_000_000] {
        market.apply(Command::FollowCalendar { through: Time(through) });
    }
    market
}

#[test]
fn sql_shows_the_phases_that_a_server_goes_on_with() {
    let (database, mut market) = (database(), market());
    assert_eq!(market.engine.phase(SymbolIndex(3)).phase, Phase::Auction, "the band interrupts");
    market.restart(&database, "one");
    let shown = "SELECT s.name, p.phase, p.until IS NOT NULL FROM pricetime.symbol_phases p
        JOIN pricetime.symbols s ON s.number = p.symbol ORDER BY s.number";
    assert_eq!(database.sql(shown), ["HALT|halted|f", "GATHER|auction|f", "BAND|auction|t"]);
    assert_eq!(database.sql("SELECT interruption FROM pricetime.symbol_rules"), ["30"]);
    for name in ["HALT", "GATHER", "BAND"] {
        market.apply(Command::ChangePhase { symbol: symbol(name), phase: Phase::Open, due: None });
    }
    market.restart(&database, "two");
    assert_eq!(database.sql("SELECT count(*) FROM pricetime.symbol_phases"), ["0"]);
    // These executed at the auction prices: two gathered orders, and the one that the band interrupted.
    let executed = "SELECT trim_scale(price), trim_scale(shares), aggressor FROM pricetime.executions ORDER BY id";
    assert_eq!(database.sql(executed), ["100|1|buy", "100|3|sell", "150|1|buy"]);
}

#[test]
fn a_market_in_auctions_goes_on_and_ends_where_the_model_does() {
    for seed in [2, 5, 7] {
        let database = database();
        let mut market = Market::of_all_kinds(seed).with_rules().with_links().with_icebergs().with_fees().with_phases();
        for server in 0..3 {
            let mut writer = database.writer(&format!("server {server}"));
            market.engine = writer.load(seed, DoneOrders::Keep).unwrap().engine;
            market.run(&mut writer, 500);
            market.check(&database);
            writer.close();
        }
    }
}

#[test]
fn orders_for_an_auction_are_rows_with_their_kinds_and_end_with_their_reason() {
    let (database, mut market) = (database(), market());
    let gather = symbol("GATHER");
    let range = Distance::from_hundredths(1_000);
    let rules = SymbolRules { static_up: range, static_down: range, ..SymbolRules::NONE };
    let rules = SymbolRules { reference: Price::from_units(100 * ONE), ..rules };
    market.apply(Command::ChangeRules { symbol: gather, rules });
    for (kind, side, shares, name) in [
        (OrderKind::AuctionLimit, Side::Buy, 4, None),
        (OrderKind::AuctionMarket, Side::Buy, 5, Some("mine")),
        (OrderKind::AuctionMarket, Side::Sell, 2, None),
    ] {
        let (limit, shares) = (Price::from_units(95 * ONE).unwrap(), Shares::from_units(shares * ONE).unwrap());
        let order = Place::order(account(), NewOrder::of_kind(kind, gather, side, limit, shares));
        let name = name.map(|name| ClientOrderId::parse(name.as_bytes()).unwrap());
        market.apply(Command::Place(order.named(name)));
    }
    let price = market.engine.auction_price(SymbolIndex(2)).expect("they execute");
    market.restart(&database, "one");
    assert_eq!(market.engine.auction_price(SymbolIndex(2)), Some(price));
    let kinds = "SELECT kind, side, trim_scale(limit_price), trim_scale(shares) FROM pricetime.orders
        WHERE kind IN ('auction_limit', 'auction_market') ORDER BY id";
    assert_eq!(database.sql(kinds), ["auction_limit|buy|95|4", "auction_market|buy|110|5", "auction_market|sell|90|2"]);
    let again = NewOrder::of_kind(
        OrderKind::AuctionMarket,
        gather,
        Side::Buy,
        Price::MAX,
        Shares::from_units(5 * ONE).unwrap(),
    );
    let again = Place::order(account(), again).named(ClientOrderId::parse(b"mine").ok());
    market.apply(Command::Place(again));
    market.apply(Command::ChangePhase { symbol: gather, phase: Phase::Open, due: None });
    market.restart(&database, "two");
    let ended = "SELECT o.kind, trim_scale(c.shares), c.why FROM pricetime.cancellations c
        JOIN pricetime.orders o ON o.id = c.order_id WHERE o.kind IN ('auction_limit', 'auction_market') ORDER BY o.id";
    assert_eq!(database.sql(kinds).len(), 3, "an order that is sent again is known by its name");
    // The limit order that came before them to 110 buys all that is for sale.
    assert_eq!(database.sql(ended), ["auction_limit|4|2", "auction_market|5|2"]);
}

#[test]
fn parts_that_are_shown_in_an_auction_stand_behind_each_other_in_rows_too() {
    let (database, mut market) = (database(), market());
    let berg = |market: &mut Market| {
        let [shares, display] = [9, 3].map(|shares| Shares::from_units(shares * ONE).unwrap());
        let order = NewOrder::limit(symbol("BERG"), Side::Sell, Price::from_units(90 * ONE).unwrap(), shares);
        market.apply(Command::Place(Place::iceberg(account(), order, display).unwrap()));
    };
    market.apply(Command::CreateSymbol { symbol: symbol("BERG") });
    let shares = Position::from_units(18 * i128::from(ONE));
    market.apply(Command::IssueShares { symbol: symbol("BERG"), account: account(), shares });
    market.apply(Command::ChangePhase { symbol: symbol("BERG"), phase: Phase::Auction, due: None });
    berg(&mut market);
    place(&mut market, "BERG", Side::Buy, 110, 6);
    // This order arrives just before the auction ends, with its own command and not with the auction's.
    berg(&mut market);
    market.apply(Command::ChangePhase { symbol: symbol("BERG"), phase: Phase::Open, due: None });
    market.restart(&database, "one");
    // An iceberg that is the younger order executes with the other again and again.
    market.apply(Command::ChangePhase { symbol: symbol("BERG"), phase: Phase::Auction, due: None });
    place(&mut market, "BERG", Side::Buy, 110, 12);
    market.apply(Command::ChangePhase { symbol: symbol("BERG"), phase: Phase::Open, due: None });
    market.apply(Command::ChangePhase { symbol: symbol("BERG"), phase: Phase::Auction, due: None });
    place(&mut market, "BERG", Side::Buy, 110, 9);
    market.apply(Command::IssueShares { symbol: symbol("BERG"), account: account(), shares });
    berg(&mut market);
    market.apply(Command::ChangePhase { symbol: symbol("BERG"), phase: Phase::Open, due: None });
    market.restart(&database, "two");
}

#[test]
fn phases_go_in_and_come_out_the_same() {
    let market = market();
    let database = database();
    goes_in_and_comes_out(&market, &database, (3, |item| matches!(item, StateItem::Phase { .. })));
}

#[test]
fn phases_that_somebody_else_wrote_are_refused() {
    let (database, mut market) = (database(), market());
    market.restart(&database, "one");
    let changed = std::panic::catch_unwind(|| database.sql("DELETE FROM pricetime.symbol_phases"));
    assert!(changed.is_err(), "only the server changes phases");
    // An open symbol has no crossed book.
    database.sql("SET pricetime.server = 'on'; DELETE FROM pricetime.symbol_phases");
    assert!(database.store("auditor").verify().is_err());
}
