//! Decides before anything changes what an order will execute: whether all of it, and what its money buys.

use slots::NONE;
use terms::{AccountIndex, FundsOrder, NewOrder, OrderKind, Price, Reject, Shares, Side, SymbolIndex};

use crate::engine::Engine;
use crate::orders::state::Order;
use crate::rules::band::is_before;
use crate::self_trade::counted::SelfTradeCount;

/// The most resting orders that an order looks at before it executes anything: its client need not take them, and may
/// look at them again and again.
pub(crate) const LOOKED_AT_MAX: usize = 1_000;

/// The shares that an arriving order may execute.
pub(crate) struct Wanted {
    pub(crate) shares: Shares,
    /// The count of `executions_to_fill` for a fill-or-kill; none for other kinds.
    pub(crate) fills: Option<Result<u32, u32>>,
}

impl Wanted {
    pub(crate) fn all(placed: &NewOrder<SymbolIndex>) -> Wanted {
        Wanted { shares: placed.shares, fills: None }
    }
}

impl Engine {
    /// The shares that an order of another kind than a limit order may execute when it arrives. Errors: `WouldTake`;
    /// `InsufficientFunds` of a market buy that can pay for nothing.
    #[cold]
    pub(crate) fn wanted(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Result<Wanted, Reject> {
        let best = self.books.best(placed.symbol, placed.side.opposite()).map(|level| self.books.level(level).price);
        match (placed.kind, best) {
            (OrderKind::PostOnly, Some(price)) if placed.accepts(price) => Err(Reject::WouldTake { price }),
            (OrderKind::Market, Some(price)) if placed.side == Side::Buy && placed.accepts(price) => {
                let available = self.accounts.get(account).balance;
                match available.buys(price).is_zero() {
                    true => Err(Reject::InsufficientFunds { needed: price.times(placed.shares), available }),
                    false => Ok(Wanted::all(placed)),
                }
            }
            (OrderKind::FillOrKill, _) => {
                let fills = self.executions_to_fill(account, placed);
                let shares = if fills.is_ok() { placed.shares } else { Shares::ZERO };
                Ok(Wanted { shares, fills: Some(fills) })
            }
            (
                OrderKind::Limit
                | OrderKind::PostOnly
                | OrderKind::PostOnlyMove
                | OrderKind::ImmediateOrCancel
                | OrderKind::Market
                | OrderKind::AuctionLimit
                | OrderKind::AuctionMarket,
                _,
            ) => Ok(Wanted::all(placed)),
        }
    }

    /// The shares that an order trades for this money, at most as many as one order may have.
    pub(crate) fn traded_for(&self, account: AccountIndex, symbol: SymbolIndex, asked: &FundsOrder) -> Shares {
        let (mut left, mut room) = (asked.funds, Shares::MAX);
        let (low, high) = self.band(symbol).unwrap_or((Price::MIN, Price::MAX));
        let limit = if asked.side == Side::Buy { high } else { low };
        let limit = self.nearest_limit(account, symbol, asked.side, limit);
        let within = NewOrder::limit(symbol, asked.side, limit, Shares::MAX);
        let near_end = self.near_end(symbol, asked.side);
        self.look(symbol, asked.side, &mut |price, maker| {
            if !within.accepts(price) {
                return false;
            }
            if is_before(near_end, price) {
                return true;
            }
            match self.counts(asked.self_trade, account, symbol, maker) {
                SelfTradeCount::Nothing => return true,
                SelfTradeCount::NothingFromHere => return false,
                SelfTradeCount::Whole => {}
            }
            let shares = maker.open.min(left.buys(price)).min(room);
            left = left.minus(price.times(shares));
            room = room.less(shares);
            shares == maker.open
        });
        Shares::MAX.less(room)
    }

    /// Visits the first [`LOOKED_AT_MAX`] orders on the other side, with their prices, until `visit` says that it has
    /// seen enough. Hidden shares are executed, and visited, after all shown shares at their price.
    pub(crate) fn look(&self, symbol: SymbolIndex, side: Side, visit: &mut impl FnMut(Price, &Order) -> bool) {
        let mut looked_at = 0usize;
        for level in self.books.levels(symbol, side.opposite()) {
            let mut maker = level.oldest;
            while maker != NONE {
                let order = self.orders.get(maker);
                if looked_at == LOOKED_AT_MAX || !visit(level.price, order) {
                    return;
                }
                maker = order.newer;
                looked_at = looked_at.saturating_add(1);
            }
            if !self.icebergs.is_empty() && !self.look_below(level, visit) {
                return;
            }
        }
    }
}
