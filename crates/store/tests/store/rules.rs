//! Rules of symbols in rows: SQL shows them, a server continues with them, and an import and an export carry them.

use crate::common::market::Market;
use crate::common::postgres::database;
use crate::common::simple::goes_in_and_comes_out;
use store::StoreError;
use terms::{
    AuctionTies, Command, DOLLAR, Distance, Money, Pause, Price, Shares, StateItem, Symbol, SymbolIndex, SymbolRules,
};

fn symbol(name: &str) -> Symbol {
    Symbol::parse(name.as_bytes()).unwrap()
}

fn rules() -> SymbolRules {
    SymbolRules {
        tick: Price::from_units(1_000_000).unwrap(),
        lot: Shares::from_units(50_000_000).unwrap(),
        shares_min: Shares::from_units(100_000_000).unwrap(),
        shares_max: Shares::MAX,
        value_min: Money::from_units(5 * DOLLAR),
        value_max: Money::from_units(1_000_000 * DOLLAR),
        band_up: Distance::from_hundredths(1_025),
        band_down: Distance::from_hundredths(5),
        is_halted: true,
        interruption: Pause::from_seconds(90),
        band_size: Shares::from_units(200_000_000).unwrap(),
        static_up: Distance::from_hundredths(2_000),
        static_down: Distance::from_hundredths(1_550),
        reference: None,
        auction_ties: AuctionTies::Pressure,
    }
}

/// Makes three symbols: with all rules, with the halt alone, and with none any more.
fn market() -> Market {
    let mut market = Market::of_all_kinds(1);
    for name in ["ALL", "HALTED", "NONE"] {
        market.apply(Command::CreateSymbol { symbol: symbol(name) });
    }
    market.apply(Command::CreateSymbol { symbol: symbol("OLD") });
    let halted = SymbolRules { is_halted: true, ..SymbolRules::NONE };
    // They change twice in one batch: the last ones count.
    for (name, rules) in [("ALL", halted), ("ALL", rules()), ("HALTED", halted), ("NONE", rules()), ("OLD", halted)] {
        market.apply(Command::ChangeRules { symbol: symbol(name), rules });
    }
    market.apply(Command::ChangeRules { symbol: symbol("NONE"), rules: SymbolRules::NONE });
    let reference = Price::from_units(10_050_000_000);
    market.apply(Command::ChangeRules { symbol: symbol("ALL"), rules: SymbolRules { reference, ..rules() } });
    market
}

#[test]
fn sql_shows_the_rules_that_a_server_goes_on_with() {
    let (database, mut market) = (database(), market());
    market.restart(&database, "one");
    assert_eq!(market.engine.rules(SymbolIndex(0)), Some(&rules()));
    let shown =
        "SELECT s.name, r.tick_size, r.lot_size, r.min_shares, r.max_shares, r.min_value, r.max_value, r.band_up,
        r.band_down, r.band_size, r.static_up, r.static_down, s.static_reference, r.auction_ties, r.halted FROM
        pricetime.symbol_rules r JOIN pricetime.symbols s ON s.number = r.symbol ORDER BY s.number";
    let all = "ALL|0.01000000|0.50000000|1.00000000||5.0000000000000000|1000000.0000000000000000|10.25|0.05|2.00000000|20.00|15.50|100.50000000|pressure|t";
    assert_eq!(database.sql(shown), [all, "HALTED||||||||||||||t", "OLD||||||||||||||t"]);
    for name in ["ALL", "HALTED", "OLD"] {
        market.apply(Command::ChangeRules { symbol: symbol(name), rules: SymbolRules::NONE });
    }
    market.restart(&database, "two");
    assert_eq!(database.sql("SELECT count(*) FROM pricetime.symbol_rules"), ["0"]);
}

#[test]
fn rules_go_in_and_come_out_the_same() {
    let market = market();
    let database = database();
    goes_in_and_comes_out(&market, &database, (3, |item| matches!(item, StateItem::Rules { .. })));
}

#[test]
fn rules_that_somebody_else_wrote_are_refused_or_named() {
    let (database, mut market) = (database(), market());
    market.restart(&database, "one");
    let changed = std::panic::catch_unwind(|| database.sql("UPDATE pricetime.symbol_rules SET halted = false"));
    assert!(changed.is_err(), "only the server changes rules");
    // The most shares are fewer than the fewest.
    database.sql(
        "SET pricetime.server = 'on'; UPDATE pricetime.symbol_rules SET max_shares = 0.5 WHERE tick_size IS NOT NULL",
    );
    let error = database.store("auditor").verify().map(|_| ()).unwrap_err();
    assert!(matches!(error, StoreError::Unsound { .. }), "{error}");
}
