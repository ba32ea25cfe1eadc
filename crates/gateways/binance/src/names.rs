//! Names of pairs and of types of orders: the symbol `SPY`, traded for dollars, is `SPYUSD` here.

use feed::View;
use terms::{Symbol, SymbolIndex};

/// The asset that pays for every symbol.
pub(crate) const DOLLARS: &str = "USD";

/// The types of orders.
pub(crate) const ORDER_TYPES: [&str; 7] =
    ["LIMIT", "LIMIT_MAKER", "MARKET", "STOP_LOSS", "STOP_LOSS_LIMIT", "TAKE_PROFIT", "TAKE_PROFIT_LIMIT"];

/// Whether a symbol has the name of money: it would be the same asset, so it is not traded here.
fn is_dollars(name: Symbol) -> bool {
    name.as_str() == DOLLARS
}

/// Returns the pair of a symbol.
pub(crate) fn pair(name: Symbol) -> String {
    format!("{name}{DOLLARS}")
}

/// Whether a symbol is traded here.
pub(crate) fn is_traded(view: &View, symbol: SymbolIndex) -> bool {
    !is_dollars(view.listing(symbol).name)
}

/// Returns the name of a pair's symbol, whether that exists or not.
pub(crate) fn parse(pair: &str) -> Option<Symbol> {
    Symbol::parse(pair.strip_suffix(DOLLARS)?.as_bytes()).ok().filter(|name| !is_dollars(*name))
}

/// Finds the symbol of a pair.
pub(crate) fn find(view: &View, pair: &str) -> Option<SymbolIndex> {
    view.find_symbol(parse(pair)?)
}

/// Finds the symbol of a pair in any case, as streams name it. Of symbols that differ only in case it takes the one in
/// capitals, else the first.
pub(crate) fn find_in_any_case(view: &View, pair: &str) -> Option<SymbolIndex> {
    let (name, dollars) = pair.split_at_checked(pair.len().checked_sub(DOLLARS.len())?)?;
    if !dollars.eq_ignore_ascii_case(DOLLARS) {
        return None;
    }
    let name = Symbol::parse(name.as_bytes()).ok()?;
    let found = view.find_symbol_in_any_case(name).filter(|symbol| is_traded(view, *symbol));
    found.or_else(|| view.find_symbol_with_small_letters(name))
}
