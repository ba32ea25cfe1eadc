//! Names of pairs, and of types of orders: the symbol `SPY`, traded for dollars, is `SPYUSD` here.

use engine::{Symbol, SymbolIndex};
use feed::View;

/// What every symbol is paid for with.
pub(super) const DOLLARS: &str = "USD";

/// The types of orders that there are.
pub(super) const ORDER_TYPES: [&str; 7] =
    ["LIMIT", "LIMIT_MAKER", "MARKET", "STOP_LOSS", "STOP_LOSS_LIMIT", "TAKE_PROFIT", "TAKE_PROFIT_LIMIT"];

/// A symbol of this name would be the same asset as money: it is not traded here.
fn is_dollars(name: Symbol) -> bool {
    name.as_str() == DOLLARS
}

/// What a symbol is called here.
pub(super) fn pair(name: Symbol) -> String {
    format!("{name}{DOLLARS}")
}

/// Whether a symbol is traded here.
pub(super) fn is_traded(view: &View, symbol: SymbolIndex) -> bool {
    !is_dollars(view.listing(symbol).name)
}

/// The name of a pair's symbol, whether there is one or not.
pub(super) fn parse(pair: &str) -> Option<Symbol> {
    Symbol::parse(pair.strip_suffix(DOLLARS)?.as_bytes()).ok().filter(|name| !is_dollars(*name))
}

/// The symbol of a pair.
pub(super) fn find(view: &View, pair: &str) -> Option<SymbolIndex> {
    view.find_symbol(parse(pair)?)
}

/// The symbol of a pair in any letters, as streams name it. Of symbols that differ in nothing but their letters' case, the one
/// in capitals is meant, else the first.
pub(super) fn find_in_any_case(view: &View, pair: &str) -> Option<SymbolIndex> {
    let (name, dollars) = pair.split_at_checked(pair.len().checked_sub(DOLLARS.len())?)?;
    if !dollars.eq_ignore_ascii_case(DOLLARS) {
        return None;
    }
    let name = Symbol::parse(name.as_bytes()).ok()?;
    let found = view.find_symbol_in_any_case(name).filter(|symbol| is_traded(view, *symbol));
    found.or_else(|| view.find_symbol_with_small_letters(name))
}
