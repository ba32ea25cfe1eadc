//! An amendment: other terms of an open order, which keeps its id.
//!
//! The server copies a command for every order, so an `Amendment` is packed: a term that it leaves as it is has a value
//! that no term has.

use crate::amount::{Price, Shares};
use crate::ids::{AccountId, Deadline};
use crate::order::{OrderKind, OrderName};
use crate::trail::Trail;

/// Other terms of an open order. It leaves each term as it is that it does not name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Amendment {
    /// The account whose order it is.
    pub account: AccountId,
    /// The order.
    pub order: OrderName,
    /// Zero if it names none.
    shares: Shares,
    limit: Option<Price>,
    /// The units of a price or the code of a trail; zero if `waiting` is none.
    wait: i64,
    /// Zero unless `shows`.
    display: Shares,
    until: Option<Deadline>,
    waiting: Option<Waiting>,
    shows: bool,
    ends: bool,
    tif: Option<TimeInForce>,
}

/// The variant of [`WaitsFor`] that an amendment names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    StopLoss,
    TakeProfit,
    Trail,
}

/// A price for which an order waits, as its client names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// A price at which the order limits a loss.
    StopLoss(Price),
    /// A price at which it takes a profit.
    TakeProfit(Price),
    /// A price that follows the market at this distance.
    Trail(Trail),
}

/// The time in force that an amendment gives an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeInForce {
    /// The remaining shares of the order rest.
    Rests,
    /// The remaining shares are canceled at once.
    ImmediateOrCancel,
    /// The order executes completely or not at all.
    FillOrKill,
    /// The order ends with the auction of its symbol.
    GoodForAuction,
}

impl TimeInForce {
    /// All times in force.
    pub const ALL: [TimeInForce; 4] =
        [TimeInForce::Rests, TimeInForce::ImmediateOrCancel, TimeInForce::FillOrKill, TimeInForce::GoodForAuction];

    /// The number of the time in force wherever amendments are stored, above zero.
    pub fn code(self) -> u8 {
        match self {
            TimeInForce::Rests => 1,
            TimeInForce::ImmediateOrCancel => 2,
            TimeInForce::FillOrKill => 3,
            TimeInForce::GoodForAuction => 4,
        }
    }

    /// The time in force with this number.
    pub fn from_code(code: u8) -> Option<TimeInForce> {
        TimeInForce::ALL.into_iter().find(|tif| tif.code() == code)
    }
}

/// A change of a term that an order may have or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change<T> {
    /// The term stays as it is.
    Keep,
    /// The order loses the term.
    Remove,
    /// The order has this term from now on.
    Set(T),
}

impl<T> Change<T> {
    /// The term of an order that had `before`.
    pub fn of(self, before: Option<T>) -> Option<T> {
        match self {
            Change::Keep => before,
            Change::Remove => None,
            Change::Set(term) => Some(term),
        }
    }
}

impl Amendment {
    /// An amendment that leaves all terms as they are.
    pub fn of(account: AccountId, order: OrderName) -> Amendment {
        Amendment {
            account,
            order,
            shares: Shares::ZERO,
            limit: None,
            wait: 0,
            display: Shares::ZERO,
            until: None,
            waiting: None,
            shows: false,
            ends: false,
            tif: None,
        }
    }

    /// Names the number of shares, executed ones included. Panics if that is zero.
    #[must_use]
    pub fn with_shares(self, shares: Shares) -> Amendment {
        assert!(!shares.is_zero(), "invariant: an order of no shares is refused by the parser");
        Amendment { shares, ..self }
    }

    /// Names the limit.
    #[must_use]
    pub fn with_limit(self, limit: Price) -> Amendment {
        Amendment { limit: Some(limit), ..self }
    }

    /// Names the price for which the order waits.
    #[must_use]
    pub fn with_wait(self, waits_for: WaitsFor) -> Amendment {
        let (waiting, wait) = match waits_for {
            WaitsFor::StopLoss(price) => (Waiting::StopLoss, price.units()),
            WaitsFor::TakeProfit(price) => (Waiting::TakeProfit, price.units()),
            WaitsFor::Trail(trail) => (Waiting::Trail, Trail::code(Some(trail))),
        };
        Amendment { waiting: Some(waiting), wait, ..self }
    }

    /// Names the shares that the order shows at a time; none for all of them. Panics if a display is zero.
    #[must_use]
    pub fn with_display(self, display: Option<Shares>) -> Amendment {
        assert!(display != Some(Shares::ZERO), "invariant: a display of no shares is refused by the parser");
        Amendment { display: display.unwrap_or(Shares::ZERO), shows: true, ..self }
    }

    /// Names the deadline of the order; none for an order without one.
    #[must_use]
    pub fn with_deadline(self, until: Option<Deadline>) -> Amendment {
        Amendment { until, ends: true, ..self }
    }

    /// Names the time in force.
    #[must_use]
    pub fn with_tif(self, tif: TimeInForce) -> Amendment {
        Amendment { tif: Some(tif), ..self }
    }

    /// The number of shares, executed ones included.
    pub fn shares(&self) -> Option<Shares> {
        Some(self.shares).filter(|shares| !shares.is_zero())
    }

    /// The limit.
    pub fn limit(&self) -> Option<Price> {
        self.limit
    }

    /// The price for which the order waits.
    pub fn waits_for(&self) -> Option<WaitsFor> {
        let price = || Price::from_units(self.wait).expect("invariant: it was made of a price");
        Some(match self.waiting? {
            Waiting::StopLoss => WaitsFor::StopLoss(price()),
            Waiting::TakeProfit => WaitsFor::TakeProfit(price()),
            Waiting::Trail => WaitsFor::Trail(Trail::from_code(self.wait).expect("invariant: it was made of a trail")),
        })
    }

    /// The shares that the order shows at a time.
    pub fn display(&self) -> Change<Shares> {
        match (self.shows, self.display.is_zero()) {
            (false, _) => Change::Keep,
            (true, true) => Change::Remove,
            (true, false) => Change::Set(self.display),
        }
    }

    /// The deadline.
    pub fn deadline(&self) -> Change<Deadline> {
        match (self.ends, self.until) {
            (false, _) => Change::Keep,
            (true, None) => Change::Remove,
            (true, Some(until)) => Change::Set(until),
        }
    }

    /// The time in force.
    pub fn tif(&self) -> Option<TimeInForce> {
        self.tif
    }

    /// The kind of an order with this time in force that is of a kind. None if it cannot have it: a post-only order
    /// rests, a market order takes what it gets, and an order for an auction ends with it.
    pub fn kind(&self, before: OrderKind) -> Option<OrderKind> {
        let Some(tif) = self.tif else { return Some(before) };
        match (before, tif) {
            (OrderKind::Limit | OrderKind::ImmediateOrCancel | OrderKind::FillOrKill, TimeInForce::Rests) => {
                Some(OrderKind::Limit)
            }
            (
                OrderKind::Limit | OrderKind::ImmediateOrCancel | OrderKind::FillOrKill,
                TimeInForce::ImmediateOrCancel,
            ) => Some(OrderKind::ImmediateOrCancel),
            (OrderKind::Limit | OrderKind::ImmediateOrCancel | OrderKind::FillOrKill, TimeInForce::FillOrKill) => {
                Some(OrderKind::FillOrKill)
            }
            (OrderKind::PostOnly | OrderKind::PostOnlyMove, TimeInForce::Rests) => Some(before),
            (OrderKind::Market, TimeInForce::Rests | TimeInForce::ImmediateOrCancel) => Some(before),
            (OrderKind::AuctionLimit | OrderKind::AuctionMarket, TimeInForce::GoodForAuction) => Some(before),
            (OrderKind::PostOnly | OrderKind::PostOnlyMove, _)
            | (OrderKind::Market, TimeInForce::FillOrKill)
            | (OrderKind::AuctionLimit | OrderKind::AuctionMarket, _)
            | (_, TimeInForce::GoodForAuction) => None,
        }
    }
}

impl std::fmt::Debug for Amendment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Amendment")
            .field("account", &self.account)
            .field("order", &self.order)
            .field("shares", &self.shares())
            .field("limit", &self.limit)
            .field("waits_for", &self.waits_for())
            .field("display", &self.display())
            .field("until", &self.deadline())
            .field("tif", &self.tif)
            .finish()
    }
}

/// The reason why an order cannot have a term that an amendment names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmendFault {
    /// A limit of a market order.
    HasNoLimit,
    /// A price to wait for, of an order that waits for none.
    WaitsForNoPrice,
    /// A time in force that its kind cannot have.
    KeepsTif,
    /// A display of an order that does not rest, follows the market, is linked, or has others wait for it.
    ShowsAll,
    /// A deadline of an order that would be done at once.
    DoneAtOnce,
    /// Another place, for an order that waits for its turn.
    WaitsForTurn,
}

impl std::fmt::Display for AmendFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            AmendFault::HasNoLimit => "Order executes at any price, so it has no limit to amend",
            AmendFault::WaitsForNoPrice => {
                "Order does not wait for a price, so it has no stop, take-profit or trail to amend"
            }
            AmendFault::KeepsTif => {
                "Order cannot have this time in force: a post-only order rests, a market order takes what it gets, and an order for an auction ends with it"
            }
            AmendFault::ShowsAll => {
                "Order shows all its shares: display belongs to one that rests, stands alone and follows no price"
            }
            AmendFault::DoneAtOnce => "Order would be done at once, and until belongs to one that rests or waits",
            AmendFault::WaitsForTurn => {
                "Order waits for its turn, and keeps its place until then: take shares off it, cancel it, or try later"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_amendment_says_what_it_was_told_and_nothing_else() {
        let (shares, price) = (Shares::from_units(5).unwrap(), Price::from_units(7).unwrap());
        let (trail, until) = (Trail::by_bips(9).unwrap(), Deadline::from_code(3));
        let bare = Amendment::of(AccountId::parse(b"1").unwrap(), OrderName::Id(crate::OrderId(2)));
        let named = |one: Amendment| (one.shares(), one.limit(), one.waits_for(), one.tif());
        assert_eq!(named(bare), (None, None, None, None));
        assert_eq!((bare.display(), bare.deadline()), (Change::Keep, Change::Keep));
        assert_eq!(named(bare.with_shares(shares)), (Some(shares), None, None, None));
        assert_eq!(named(bare.with_limit(price)), (None, Some(price), None, None));
        for waits_for in [WaitsFor::StopLoss(price), WaitsFor::TakeProfit(price), WaitsFor::Trail(trail)] {
            assert_eq!(named(bare.with_wait(waits_for)), (None, None, Some(waits_for), None));
        }
        for tif in TimeInForce::ALL {
            assert_eq!(named(bare.with_tif(tif)), (None, None, None, Some(tif)));
            assert_eq!(TimeInForce::from_code(tif.code()), Some(tif));
        }
        assert_eq!(bare.with_display(Some(shares)).display(), Change::Set(shares));
        assert_eq!(bare.with_display(None).display(), Change::Remove);
        assert_eq!(bare.with_deadline(until).deadline(), Change::Set(until.unwrap()));
        assert_eq!(bare.with_deadline(None).deadline(), Change::Remove);
    }

    #[test]
    fn a_time_in_force_makes_another_kind_of_an_order_that_may_have_it() {
        let bare = Amendment::of(AccountId::parse(b"1").unwrap(), OrderName::Id(crate::OrderId(2)));
        let kinds = |before| TimeInForce::ALL.map(|tif| bare.with_tif(tif).kind(before));
        let (limit, at_once, whole) = (OrderKind::Limit, OrderKind::ImmediateOrCancel, OrderKind::FillOrKill);
        for before in [limit, at_once, whole] {
            assert_eq!(kinds(before), [Some(limit), Some(at_once), Some(whole), None]);
        }
        assert_eq!(kinds(OrderKind::PostOnly), [Some(OrderKind::PostOnly), None, None, None]);
        assert_eq!(kinds(OrderKind::Market), [Some(OrderKind::Market), Some(OrderKind::Market), None, None]);
        for kind in [OrderKind::AuctionLimit, OrderKind::AuctionMarket] {
            assert_eq!(kinds(kind), [None, None, None, Some(kind)]);
        }
        OrderKind::ALL.into_iter().for_each(|kind| assert_eq!(bare.kind(kind), Some(kind)));
    }
}
