//! Fees as these clients expect them: commissions, with rates as parts of one and not as percentages.

use feed::{Trade, View};
use serde_json::{Value, json};
use terms::{AccountIndex, FeeRate, Side, SymbolIndex, Taken};

use crate::{names, numbers};

/// The rates that an account pays as a maker and as a taker.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rates {
    maker: FeeRate,
    taker: FeeRate,
}

impl Rates {
    pub(crate) fn of(view: &View, account: AccountIndex, symbol: SymbolIndex) -> Rates {
        let fees = view.fees().of(symbol, account);
        fees.map_or(Rates::default(), |fees| Rates { maker: fees.maker, taker: fees.taker })
    }

    /// Returns the highest rates of any pair: an account has no rates that hold for all of them.
    pub(crate) fn highest(view: &View, account: AccountIndex) -> Rates {
        let tier = view.fees().tier(account);
        let its = view.fees().all().filter(|(_, of, _)| *of == tier);
        its.fold(Rates::default(), |highest, (_, _, fees)| Rates {
            maker: highest.maker.max(fees.maker),
            taker: highest.taker.max(fees.taker),
        })
    }

    /// Writes the rates with the surcharges of buyers and sellers, which are zero.
    pub(crate) fn with_sides(self) -> Value {
        json!({
            "maker": part(self.maker), "taker": part(self.taker), "buyer": numbers::zero(), "seller": numbers::zero(),
        })
    }

    pub(crate) fn alone(self) -> Value {
        json!({"maker": part(self.maker), "taker": part(self.taker)})
    }

    /// Returns hundredths of a per cent, rounded up.
    pub(crate) fn basis_points(self) -> [u32; 2] {
        [self.maker, self.taker].map(|rate| rate.millionths().div_ceil(100))
    }

    /// Writes the rates as short as possible.
    pub(crate) fn texts(self) -> [String; 2] {
        [self.maker, self.taker].map(|rate| if rate == FeeRate::ZERO { "0".to_owned() } else { part(rate) })
    }
}

/// Writes a rate as a part of one.
fn part(rate: FeeRate) -> String {
    numbers::millionths(rate.millionths())
}

/// Returns what an order on this side of a trade paid, and in which asset; `None` if nothing.
pub(crate) fn paid(trade: &Trade, side: Side, symbol: &str) -> Option<(String, String)> {
    trade.fee(side).taken(trade.price, trade.shares).map(|taken| match taken {
        Taken::Shares(shares) => (numbers::shares(shares), symbol.to_owned()),
        Taken::Money(money) => (numbers::money(money), names::DOLLARS.to_owned()),
    })
}

/// Returns the same, or zero dollars if nothing was paid.
pub(crate) fn commission(trade: &Trade, side: Side, symbol: &str) -> (String, String) {
    paid(trade, side, symbol).unwrap_or_else(|| (numbers::zero(), names::DOLLARS.to_owned()))
}
