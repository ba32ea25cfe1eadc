//! Other terms of an open order as a client asks for them, and the rules across them that hold whatever the order and
//! the market are. Each gateway maps its own fields to an [`AmendmentRequest`]; this file knows no protocol, and no
//! text.

use terms::{AccountId, Amendment, Change, Deadline, OrderName, Price, Shares, TimeInForce as Amended, WaitsFor};

use crate::order_fault::OrderFault;
use crate::order_request::{TimeInForce, trail_of};

/// All that a client may say of the terms that an order is to have.
#[derive(Clone, Copy, Debug)]
pub struct AmendmentRequest {
    pub account: AccountId,
    pub order: OrderName,
    /// The number of shares, executed ones included; above zero.
    pub shares: Option<Shares>,
    pub limit: Option<Price>,
    pub stop: Option<Price>,
    pub take_profit: Option<Price>,
    /// The distance of a trigger that follows the market.
    pub trail: Option<Price>,
    /// The distance in hundredths of a per cent, in place of `trail`.
    pub trail_bips: Option<u64>,
    /// The shares shown at a time, above zero.
    pub display: Change<Shares>,
    pub until: Change<Deadline>,
    pub tif: Option<TimeInForce>,
    /// Whether it is to end when the day of its symbol does.
    pub ends_with_day: bool,
}

/// The reason why no order can have the terms that an amendment names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum AmendmentRequestFault {
    /// The amendment names no term.
    NamesNothing,
    /// The order is to end with the day: only an order that is placed may say so.
    EndsWithDay,
    /// Two terms exclude each other, or one cannot be.
    Order(OrderFault),
}

impl From<OrderFault> for AmendmentRequestFault {
    fn from(fault: OrderFault) -> AmendmentRequestFault {
        AmendmentRequestFault::Order(fault)
    }
}

impl AmendmentRequest {
    /// An amendment that names no term yet.
    pub fn new(account: AccountId, order: OrderName) -> AmendmentRequest {
        AmendmentRequest {
            account,
            order,
            shares: None,
            limit: None,
            stop: None,
            take_profit: None,
            trail: None,
            trail_bips: None,
            display: Change::Keep,
            until: Change::Keep,
            tif: None,
            ends_with_day: false,
        }
    }

    /// Checks the terms, and returns the amendment with all that was asked for. Errors: the first fault.
    pub fn amendment(&self) -> Result<Amendment, AmendmentRequestFault> {
        if self.ends_with_day {
            return Err(AmendmentRequestFault::EndsWithDay);
        }
        let nothing = Amendment::of(self.account, self.order);
        let amendment = self.shares.map_or(nothing, |shares| nothing.with_shares(shares));
        let amendment = self.limit.map_or(amendment, |limit| amendment.with_limit(limit));
        let amendment = self.waits_for()?.map_or(amendment, |waits_for| amendment.with_wait(waits_for));
        let amendment = match self.display {
            Change::Keep => amendment,
            Change::Remove => amendment.with_display(None),
            Change::Set(display) => amendment.with_display(Some(display)),
        };
        let amendment = self.with_time(amendment)?;
        if amendment == nothing { Err(AmendmentRequestFault::NamesNothing) } else { Ok(amendment) }
    }

    fn waits_for(&self) -> Result<Option<WaitsFor>, OrderFault> {
        let trail = trail_of(self.trail, self.trail_bips, self.stop.is_some() || self.take_profit.is_some())?;
        match (trail, self.stop, self.take_profit) {
            (Some(_), _, _) if matches!(self.display, Change::Set(_)) => Err(OrderFault::DisplayBesideTrail),
            (Some(trail), _, _) => Ok(Some(WaitsFor::Trail(trail))),
            (None, Some(_), Some(_)) => Err(OrderFault::TwoTriggers),
            (None, Some(price), None) => Ok(Some(WaitsFor::StopLoss(price))),
            (None, None, Some(price)) => Ok(Some(WaitsFor::TakeProfit(price))),
            (None, None, None) => Ok(None),
        }
    }

    /// Adds the time in force and the deadline. An order that stays until it is canceled has no deadline any more.
    fn with_time(&self, amendment: Amendment) -> Result<Amendment, OrderFault> {
        let amended = match (self.tif, self.until) {
            (None, _) => None,
            (Some(TimeInForce::GoodTillCanceled), Change::Set(_)) => return Err(OrderFault::UntilOfGtc),
            (Some(TimeInForce::GoodTillDate), Change::Keep | Change::Remove) => return Err(OrderFault::NoUntil),
            (Some(TimeInForce::GoodTillCanceled | TimeInForce::GoodTillDate), _) => Some(Amended::Rests),
            (Some(TimeInForce::ImmediateOrCancel), _) => Some(Amended::ImmediateOrCancel),
            (Some(TimeInForce::FillOrKill), _) => Some(Amended::FillOrKill),
            (Some(TimeInForce::GoodForAuction), _) => Some(Amended::GoodForAuction),
        };
        let at_once = matches!(amended, Some(Amended::ImmediateOrCancel | Amended::FillOrKill));
        if at_once && matches!(self.display, Change::Set(_)) {
            return Err(OrderFault::DisplayAtOnce);
        }
        let amendment = match (self.until, self.tif) {
            (Change::Set(until), _) => amendment.with_deadline(Some(until)),
            (Change::Remove, _) | (Change::Keep, Some(TimeInForce::GoodTillCanceled)) => amendment.with_deadline(None),
            (
                Change::Keep,
                None
                | Some(
                    TimeInForce::GoodTillDate
                    | TimeInForce::ImmediateOrCancel
                    | TimeInForce::FillOrKill
                    | TimeInForce::GoodForAuction,
                ),
            ) => amendment,
        };
        Ok(amended.map_or(amendment, |tif| amendment.with_tif(tif)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use terms::{OrderId, TRAIL_BIPS_MAX, Time, Trail};

    use super::*;

    const PRICE: Option<Price> = Some(Price::MIN);

    fn base() -> AmendmentRequest {
        AmendmentRequest::new(AccountId::parse(b"1").unwrap(), OrderId(7).into())
    }

    fn until() -> Change<Deadline> {
        Change::Set(Deadline::new(Time(9)).unwrap())
    }

    #[test]
    fn an_amendment_has_all_that_was_asked_for() {
        let made = |asked: AmendmentRequest| asked.amendment().unwrap();
        let amendment = made(AmendmentRequest { shares: Some(Shares::MIN), limit: PRICE, ..base() });
        assert_eq!((amendment.shares(), amendment.limit()), (Some(Shares::MIN), PRICE));
        assert_eq!((amendment.account, amendment.order), (base().account, base().order));
        let waits = |asked| made(asked).waits_for().unwrap();
        assert_eq!(waits(AmendmentRequest { stop: PRICE, ..base() }), WaitsFor::StopLoss(Price::MIN));
        assert_eq!(waits(AmendmentRequest { take_profit: PRICE, ..base() }), WaitsFor::TakeProfit(Price::MIN));
        let trail = WaitsFor::Trail(Trail::by(Price::MIN));
        assert_eq!(waits(AmendmentRequest { trail: PRICE, ..base() }), trail);
        let bips = WaitsFor::Trail(Trail::by_bips(TRAIL_BIPS_MAX).unwrap());
        assert_eq!(waits(AmendmentRequest { trail_bips: Some(TRAIL_BIPS_MAX.into()), ..base() }), bips);
        for display in [Change::Remove, Change::Set(Shares::MIN)] {
            assert_eq!(made(AmendmentRequest { display, ..base() }).display(), display);
        }
        for until in [Change::Remove, until()] {
            assert_eq!(made(AmendmentRequest { until, ..base() }).deadline(), until);
        }
    }

    #[test]
    fn an_order_that_stays_until_it_is_canceled_loses_its_deadline() {
        use TimeInForce::{FillOrKill, GoodTillCanceled, GoodTillDate, ImmediateOrCancel};
        let made = |tif, until| {
            let amendment = AmendmentRequest { tif: Some(tif), until, ..base() }.amendment();
            amendment.map(|amendment| (amendment.tif().unwrap(), amendment.deadline()))
        };
        assert_eq!(made(GoodTillCanceled, Change::Keep), Ok((Amended::Rests, Change::Remove)));
        assert_eq!(made(GoodTillCanceled, Change::Remove), Ok((Amended::Rests, Change::Remove)));
        assert_eq!(made(GoodTillDate, until()), Ok((Amended::Rests, until())));
        assert_eq!(made(ImmediateOrCancel, Change::Keep), Ok((Amended::ImmediateOrCancel, Change::Keep)));
        assert_eq!(made(ImmediateOrCancel, until()), Ok((Amended::ImmediateOrCancel, until())));
        assert_eq!(made(FillOrKill, Change::Remove), Ok((Amended::FillOrKill, Change::Remove)));
        assert_eq!(made(GoodTillCanceled, until()), Err(OrderFault::UntilOfGtc.into()));
        for missing in [Change::Keep, Change::Remove] {
            assert_eq!(made(GoodTillDate, missing), Err(OrderFault::NoUntil.into()));
        }
    }

    #[test]
    fn terms_that_no_order_can_have_are_refused() {
        let display = Change::Set(Shares::MIN);
        for (asked, fault) in [
            (base(), AmendmentRequestFault::NamesNothing),
            (AmendmentRequest { ends_with_day: true, limit: PRICE, ..base() }, AmendmentRequestFault::EndsWithDay),
            (AmendmentRequest { stop: PRICE, take_profit: PRICE, ..base() }, OrderFault::TwoTriggers.into()),
            (AmendmentRequest { trail: PRICE, trail_bips: Some(1), ..base() }, OrderFault::TwoTrails.into()),
            (AmendmentRequest { trail_bips: Some(0), ..base() }, OrderFault::TrailBips.into()),
            (
                AmendmentRequest { trail: PRICE, stop: PRICE, ..base() },
                OrderFault::TriggerBesideTrail { in_bips: false }.into(),
            ),
            (
                AmendmentRequest { trail_bips: Some(1), take_profit: PRICE, ..base() },
                OrderFault::TriggerBesideTrail { in_bips: true }.into(),
            ),
            (AmendmentRequest { trail: PRICE, display, ..base() }, OrderFault::DisplayBesideTrail.into()),
            (
                AmendmentRequest { tif: Some(TimeInForce::FillOrKill), display, ..base() },
                OrderFault::DisplayAtOnce.into(),
            ),
        ] {
            assert_eq!(asked.amendment(), Err(fault), "{asked:?}");
        }
    }
}
