//! Pairs as `exchangeInfo` shows them: the fields that all share, and the filters that a symbol's rules become.

use std::sync::OnceLock;

use feed::Listing;
use serde_json::{Value, json};
use terms::{Distance, ICEBERG_PARTS_MAX, Money, Phase, Price, Shares, Symbol, SymbolRules};

use crate::{names, numbers, self_trade, trailing};

/// The permission that every pair has.
pub(crate) const SPOT: &str = "SPOT";

/// A factor that no price exceeds, where a band has no upper bound.
const NO_MULTIPLIER_UP: &str = "10000000000000000000";

/// The status of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Trading,
    Halted,
    Auction,
}

impl Status {
    pub(crate) fn of(listing: &Listing) -> Status {
        match listing.phase.phase {
            _ if listing.rules.is_halted => Status::Halted,
            Phase::Open => Status::Trading,
            Phase::Halted => Status::Halted,
            Phase::Auction => Status::Auction,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Status::Trading => "TRADING",
            Status::Halted => "HALT",
            Status::Auction => "AUCTION_MATCH",
        }
    }
}

/// Writes a pair as JSON. Everything but the name is written once for pairs without rules: there may be many.
pub(crate) fn pair_text(name: Symbol, rules: &SymbolRules, status: Status, has_sets: bool) -> String {
    static SAME: [OnceLock<String>; 2] = [OnceLock::new(), OnceLock::new()];
    let of_its_own;
    let same = match *rules == SymbolRules::NONE && status == Status::Trading {
        true => SAME[usize::from(has_sets)].get_or_init(|| about(rules, status, has_sets).to_string()),
        false => {
            of_its_own = about(rules, status, has_sets).to_string();
            &of_its_own
        }
    };
    // A name is letters and digits.
    format!("{{\"symbol\":\"{}\",\"baseAsset\":\"{name}\",{}", names::pair(name), same.trim_start_matches('{'))
}

/// Writes the fields that all pairs with these rules share.
fn about(rules: &SymbolRules, status: Status, has_sets: bool) -> Value {
    let sets = if has_sets { json!([[SPOT]]) } else { json!([]) };
    json!({
        "status": status.name(),
        "baseAssetPrecision": 8,
        "quoteAsset": names::DOLLARS,
        "quotePrecision": 8,
        "quoteAssetPrecision": 8,
        "baseCommissionPrecision": 8,
        "quoteCommissionPrecision": 8,
        "orderTypes": names::ORDER_TYPES,
        "icebergAllowed": true,
        "ocoAllowed": true,
        "otoAllowed": false,
        "quoteOrderQtyMarketAllowed": true,
        "allowTrailingStop": true,
        "cancelReplaceAllowed": true,
        "amendAllowed": true,
        "isSpotTradingAllowed": true,
        "isMarginTradingAllowed": false,
        "filters": filters(rules),
        "permissions": [SPOT],
        "permissionSets": sets,
        "defaultSelfTradePreventionMode": self_trade::default_name(),
        "allowedSelfTradePreventionModes": self_trade::names(),
    })
}

fn filters(rules: &SymbolRules) -> Vec<Value> {
    let SymbolRules { tick, lot, shares_min, shares_max, value_min, value_max, band_up, band_down, .. } = *rules;
    let (tick, most_price) = (numbers::price(tick), numbers::price(Price::MAX));
    let (least, most, step) = (numbers::shares(shares_min.max(lot)), numbers::shares(shares_max), numbers::shares(lot));
    let none = SymbolRules::NONE;
    // A bound below the least value of an order is no bound.
    let least_value = numbers::money(value_min.max(Money::from_units(1)));
    let is_least = value_min != none.value_min;
    // A market order counts at the last price. Without a greatest value there is the filter that has none: clients
    // whose money has fewer digits take no number that stands for it.
    let notional = if value_max != none.value_max {
        json!({"filterType": "NOTIONAL", "minNotional": least_value, "applyMinToMarket": is_least,
            "maxNotional": numbers::money(value_max), "applyMaxToMarket": true, "avgPriceMins": 0})
    } else {
        json!({"filterType": "MIN_NOTIONAL", "minNotional": least_value, "applyToMarket": is_least, "avgPriceMins": 0})
    };
    let mut filters = vec![
        json!({"filterType": "PRICE_FILTER", "minPrice": tick, "maxPrice": most_price, "tickSize": tick}),
        json!({"filterType": "LOT_SIZE", "minQty": least, "maxQty": most, "stepSize": step}),
        json!({"filterType": "MARKET_LOT_SIZE", "minQty": least, "maxQty": most, "stepSize": step}),
        notional,
        json!({"filterType": "ICEBERG_PARTS", "limit": ICEBERG_PARTS_MAX}),
        trailing::filter(),
    ];
    if rules.has_dynamic_band() {
        let up = band_up.map_or_else(|| NO_MULTIPLIER_UP.to_owned(), |up| factor(10_000 + i64::from(up.hundredths())));
        let down = band_down.map_or(0, |down| 10_000 - i64::from(Distance::hundredths(down)));
        filters.push(json!({"filterType": "PERCENT_PRICE", "multiplierUp": up, "multiplierDown": factor(down),
            "avgPriceMins": 0}));
    }
    filters
}

/// Writes a number of ten-thousandths.
fn factor(ten_thousandths: i64) -> String {
    let units = Shares::from_units(ten_thousandths * 10_000);
    units.expect("invariant: a band reaches down to no less than zero").to_string()
}
