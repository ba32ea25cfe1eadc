//! An order as a client asks for it, and the rules across its fields that hold whatever the market is. Each gateway
//! maps its own fields to an [`OrderRequest`]; this file knows no protocol, and no text.

use terms::{
    AccountId, ClientOrderId, Deadline, FundsOrder, Money, NewOrder, OrderKind, Place, Price, SelfTrade, Shares, Side,
    Symbol, Trail, Trigger,
};

use crate::order_fault::OrderFault;

/// All that a client may say of one order.
#[derive(Clone, Copy, Debug)]
pub struct OrderRequest {
    pub account: AccountId,
    pub symbol: Symbol,
    pub side: Side,
    pub order_type: OrderType,
    pub tif: Option<TimeInForce>,
    /// Whether it ends when the day of its symbol does, which the market decides.
    pub ends_with_day: bool,
    pub post_only: Option<PostOnly>,
    pub limit: Option<Price>,
    pub shares: Option<Shares>,
    /// The money that a market order without shares spends, or brings in, at most; above zero.
    pub funds: Option<Money>,
    pub stop: Option<Price>,
    pub take_profit: Option<Price>,
    /// The distance of a trigger that follows the market.
    pub trail: Option<Price>,
    /// The distance in hundredths of a per cent, in place of `trail`.
    pub trail_bips: Option<u64>,
    /// The shares shown at a time, above zero.
    pub display: Option<Shares>,
    pub until: Option<Deadline>,
    pub self_trade: SelfTrade,
    pub client_id: Option<ClientOrderId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderType {
    Limit,
    Market,
}

/// Time in force: how long shares that do not execute at once stay open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeInForce {
    GoodTillCanceled,
    /// Open until the order's `until`.
    GoodTillDate,
    ImmediateOrCancel,
    FillOrKill,
    /// Open until the auction ends in which its symbol is, or else the next one.
    GoodForAuction,
}

/// The fate of a post-only order that would execute at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PostOnly {
    Refused,
    Moves,
}

impl OrderRequest {
    /// A limit order of which nothing else is known.
    pub fn new(account: AccountId, symbol: Symbol, side: Side) -> OrderRequest {
        OrderRequest {
            account,
            symbol,
            side,
            order_type: OrderType::Limit,
            tif: None,
            ends_with_day: false,
            post_only: None,
            limit: None,
            shares: None,
            funds: None,
            stop: None,
            take_profit: None,
            trail: None,
            trail_bips: None,
            display: None,
            until: None,
            self_trade: SelfTrade::default(),
            client_id: None,
        }
    }

    /// Checks the order, and returns it as a command places it: with all that was asked for. Errors: the first fault.
    pub fn place(&self) -> Result<Place, OrderFault> {
        let kind = self.kind()?;
        let (trail, trigger) = (self.trail()?, self.trigger()?);
        let waits = trail.is_some() || trigger.is_some();
        if waits && kind == OrderKind::PostOnlyMove {
            return Err(OrderFault::MoveWaits);
        }
        if waits && kind.is_for_auction() {
            return Err(OrderFault::AuctionWaits);
        }
        let until = self.deadline(kind, waits)?;
        if self.display.is_some() && !kind.may_show_a_part() {
            return Err(OrderFault::DisplayAtOnce);
        }
        let place = match self.funds {
            Some(funds) => self.for_money(funds, waits || kind.is_for_auction())?,
            None => self.for_shares(kind, trigger, trail)?,
        };
        place.named(self.client_id).with_deadline(until).ok_or(OrderFault::UntilAtOnce)
    }

    fn kind(&self) -> Result<OrderKind, OrderFault> {
        use TimeInForce::{FillOrKill, GoodForAuction, GoodTillCanceled, GoodTillDate, ImmediateOrCancel};
        match (self.order_type, self.post_only, self.tif) {
            (OrderType::Market, Some(_), _) => Err(OrderFault::PostOnlyMarket),
            (OrderType::Market, None, Some(FillOrKill)) => Err(OrderFault::TifOfMarket),
            // A market order that waits for a price may have a time until which it does.
            (OrderType::Market, None, None | Some(GoodTillCanceled | GoodTillDate | ImmediateOrCancel)) => {
                Ok(OrderKind::Market)
            }
            (OrderType::Market, None, Some(GoodForAuction)) => Ok(OrderKind::AuctionMarket),
            (OrderType::Limit, None, Some(GoodForAuction)) => Ok(OrderKind::AuctionLimit),
            (OrderType::Limit, Some(_), Some(ImmediateOrCancel | FillOrKill | GoodForAuction)) => {
                Err(OrderFault::PostOnlyAtOnce)
            }
            (OrderType::Limit, Some(PostOnly::Refused), None | Some(GoodTillCanceled | GoodTillDate)) => {
                Ok(OrderKind::PostOnly)
            }
            (OrderType::Limit, Some(PostOnly::Moves), None | Some(GoodTillCanceled | GoodTillDate)) => {
                Ok(OrderKind::PostOnlyMove)
            }
            (OrderType::Limit, None, Some(ImmediateOrCancel)) => Ok(OrderKind::ImmediateOrCancel),
            (OrderType::Limit, None, Some(FillOrKill)) => Ok(OrderKind::FillOrKill),
            (OrderType::Limit, None, None | Some(GoodTillCanceled | GoodTillDate)) => Ok(OrderKind::Limit),
        }
    }

    fn trail(&self) -> Result<Option<Trail>, OrderFault> {
        let trail = trail_of(self.trail, self.trail_bips, self.stop.is_some() || self.take_profit.is_some())?;
        if trail.is_some() && self.display.is_some() { Err(OrderFault::DisplayBesideTrail) } else { Ok(trail) }
    }

    fn trigger(&self) -> Result<Option<Trigger>, OrderFault> {
        match (self.stop, self.take_profit) {
            (None, None) => Ok(None),
            (Some(price), None) => Ok(Some(Trigger::stop_loss(self.side, price))),
            (None, Some(price)) => Ok(Some(Trigger::take_profit(self.side, price))),
            (Some(_), Some(_)) => Err(OrderFault::TwoTriggers),
        }
    }

    fn deadline(&self, kind: OrderKind, waits: bool) -> Result<Option<Deadline>, OrderFault> {
        use TimeInForce::{FillOrKill, GoodForAuction, GoodTillCanceled, GoodTillDate, ImmediateOrCancel};
        let is_done_at_once = !kind.rests() && !waits;
        if self.ends_with_day {
            return match (self.tif, self.until) {
                (_, Some(_)) | (Some(GoodTillCanceled | GoodTillDate), None) => Err(OrderFault::DayUntil),
                (None | Some(ImmediateOrCancel | FillOrKill | GoodForAuction), None) if is_done_at_once => {
                    Err(OrderFault::DayAtOnce)
                }
                (None | Some(ImmediateOrCancel | FillOrKill | GoodForAuction), None) => Ok(Some(Deadline::UNDECIDED)),
            };
        }
        match (self.tif, self.until) {
            (Some(GoodTillCanceled | GoodTillDate), _) if is_done_at_once => Err(OrderFault::TifOfMarket),
            (Some(GoodTillDate), None) => Err(OrderFault::NoUntil),
            (None | Some(GoodTillCanceled | ImmediateOrCancel | FillOrKill | GoodForAuction), None) => Ok(None),
            (_, Some(_)) if is_done_at_once => Err(OrderFault::UntilAtOnce),
            (Some(GoodTillCanceled), Some(_)) => Err(OrderFault::UntilOfGtc),
            (None | Some(GoodTillDate | ImmediateOrCancel | FillOrKill | GoodForAuction), Some(until)) => {
                Ok(Some(until))
            }
        }
    }

    fn for_money(&self, funds: Money, waits: bool) -> Result<Place, OrderFault> {
        let OrderRequest { account, symbol, side, self_trade, .. } = *self;
        match (self.order_type, self.shares, self.limit) {
            (_, Some(_), _) => Err(OrderFault::FundsBesideShares),
            (OrderType::Limit, None, _) => Err(OrderFault::FundsOfLimit),
            (OrderType::Market, None, Some(_)) => Err(OrderFault::LimitOfMarket),
            (OrderType::Market, None, None) if waits => Err(OrderFault::FundsWait),
            (OrderType::Market, None, None) => {
                Ok(Place::funds(account, FundsOrder { symbol, side, funds, self_trade }))
            }
        }
    }

    fn for_shares(&self, kind: OrderKind, trigger: Option<Trigger>, trail: Option<Trail>) -> Result<Place, OrderFault> {
        let OrderRequest { account, symbol, side, self_trade, .. } = *self;
        let shares = self.shares.ok_or(OrderFault::NoShares)?;
        let limit = match (self.order_type, self.limit) {
            (OrderType::Market, None) => side.any_price(),
            (OrderType::Market, Some(_)) => return Err(OrderFault::LimitOfMarket),
            (OrderType::Limit, limit) => limit.ok_or(OrderFault::NoLimit)?,
        };
        let order = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
        match (trail, self.display) {
            (None, None) => Ok(Place::order(account, order)),
            (None, Some(display)) => Place::iceberg(account, order, display).ok_or(OrderFault::DisplayAtOnce),
            (Some(trail), None) => {
                let fault = OrderFault::TriggerBesideTrail { in_bips: self.trail_bips.is_some() };
                Place::trailing(account, order, trail).ok_or(fault)
            }
            (Some(_), Some(_)) => Err(OrderFault::DisplayBesideTrail),
        }
    }
}

/// Reads the distance of a trigger that follows the market, in dollars or hundredths of a per cent. `has_trigger`: the
/// order names the price of its trigger as well.
pub(crate) fn trail_of(
    distance: Option<Price>,
    bips: Option<u64>,
    has_trigger: bool,
) -> Result<Option<Trail>, OrderFault> {
    let trail = match (distance, bips) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return Err(OrderFault::TwoTrails),
        (Some(distance), None) => Trail::by(distance),
        (None, Some(bips)) => {
            let bips = u16::try_from(bips).ok().and_then(Trail::by_bips);
            bips.ok_or(OrderFault::TrailBips)?
        }
    };
    if has_trigger { Err(OrderFault::TriggerBesideTrail { in_bips: bips.is_some() }) } else { Ok(Some(trail)) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeSet;

    use terms::{OrderForm, TRAIL_BIPS_MAX, Time};

    use super::*;

    const PRICE: Option<Price> = Some(Price::MIN);

    fn base() -> OrderRequest {
        let (account, symbol) = (AccountId::parse(b"1").unwrap(), Symbol::parse(b"SPY").unwrap());
        OrderRequest { client_id: ClientOrderId::parse(b"mine").ok(), ..OrderRequest::new(account, symbol, Side::Sell) }
    }

    /// Calls `check` with the requests that have each field or not, in each combination.
    fn each_request(mut check: impl FnMut(OrderRequest)) {
        let tifs = [
            None,
            Some(TimeInForce::GoodTillCanceled),
            Some(TimeInForce::GoodTillDate),
            Some(TimeInForce::ImmediateOrCancel),
            Some(TimeInForce::FillOrKill),
            Some(TimeInForce::GoodForAuction),
        ];
        let post_only = [None, Some(PostOnly::Refused), Some(PostOnly::Moves)];
        let bips = [None, Some(u64::from(TRAIL_BIPS_MAX)), Some(u64::from(TRAIL_BIPS_MAX) + 1)];
        for at in 0..2 * 6 * 3 * 3 * (1_u32 << 9) {
            let (flags, rest) = (at & 511, (at >> 9) as usize);
            let has = |bit: u32| flags >> bit & 1 == 1;
            check(OrderRequest {
                order_type: if rest % 2 == 0 { OrderType::Limit } else { OrderType::Market },
                tif: tifs[rest / 2 % 6],
                post_only: post_only[rest / 12 % 3],
                trail_bips: bips[rest / 36],
                ends_with_day: has(0),
                limit: PRICE.filter(|_| has(1)),
                shares: Some(Shares::MAX).filter(|_| has(2)),
                funds: Some(Money::CAP).filter(|_| has(3)),
                stop: PRICE.filter(|_| has(4)),
                take_profit: PRICE.filter(|_| has(5)),
                trail: PRICE.filter(|_| has(6)),
                display: Some(Shares::MIN).filter(|_| has(7)),
                until: Deadline::new(Time(9)).filter(|_| has(8)),
                ..base()
            });
        }
    }

    /// A display or a trail beside which an order could not be made was once left out of it silently.
    #[test]
    fn an_order_is_placed_with_all_that_was_asked_for_or_refused() {
        let (mut faults, mut placed) = (BTreeSet::new(), 0);
        each_request(|asked| {
            let place = match asked.place() {
                Ok(place) => place,
                Err(fault) => {
                    faults.insert(fault);
                    return;
                }
            };
            placed += 1;
            assert_eq!((place.account, place.client_id()), (asked.account, asked.client_id));
            let until = if asked.ends_with_day { Some(Deadline::UNDECIDED) } else { asked.until };
            assert_eq!(place.deadline(), until, "{asked:?}");
            let stays = matches!(asked.tif, Some(TimeInForce::GoodTillCanceled | TimeInForce::GoodTillDate));
            assert!(!asked.ends_with_day || !stays, "{asked:?}");
            let (order, display, trail) = match place.form() {
                OrderForm::Plain(order) => (order, None, None),
                OrderForm::Iceberg { order, display } => (order, Some(display), None),
                OrderForm::Trailing { order, trail } => (order, None, Some(trail)),
                OrderForm::Funds(order) => {
                    assert_eq!((Some(order.funds), asked.shares, asked.limit), (asked.funds, None, None));
                    assert_ne!(asked.tif, Some(TimeInForce::GoodForAuction), "{asked:?}");
                    return;
                }
            };
            assert_eq!((Some(order.shares), display, None), (asked.shares, asked.display, asked.funds), "{asked:?}");
            let is_market = asked.order_type == OrderType::Market;
            assert_eq!(order.kind.is_market(), is_market, "{asked:?}");
            assert_eq!(order.kind.is_for_auction(), asked.tif == Some(TimeInForce::GoodForAuction), "{asked:?}");
            assert_eq!(Some(order.limit).filter(|_| !is_market), asked.limit, "{asked:?}");
            let trigger = |price| order.trigger.filter(|trigger| trigger.price() == price);
            assert_eq!(asked.stop.and_then(trigger).is_some(), asked.stop.is_some(), "{asked:?}");
            assert_eq!(asked.take_profit.and_then(trigger).is_some(), asked.take_profit.is_some(), "{asked:?}");
            assert_eq!(trail.and_then(Trail::distance), asked.trail, "{asked:?}");
            assert_eq!(trail.and_then(Trail::bips).map(u64::from), asked.trail_bips, "{asked:?}");
        });
        // Each fault is met, a trigger beside a trail of either unit. So many combinations are orders.
        assert_eq!((faults.len(), placed), (23, 161), "{faults:?}");
    }

    #[test]
    fn a_kind_is_made_of_a_type_a_time_in_force_and_post_only() {
        use TimeInForce::{FillOrKill, GoodTillCanceled, GoodTillDate, ImmediateOrCancel};
        let kind = |order_type, tif, post_only| OrderRequest { order_type, tif, post_only, ..base() }.kind();
        let limit = |tif, post_only| kind(OrderType::Limit, tif, post_only);
        for tif in [None, Some(GoodTillCanceled), Some(GoodTillDate)] {
            assert_eq!(limit(tif, None), Ok(OrderKind::Limit));
            assert_eq!(limit(tif, Some(PostOnly::Refused)), Ok(OrderKind::PostOnly));
            assert_eq!(limit(tif, Some(PostOnly::Moves)), Ok(OrderKind::PostOnlyMove));
        }
        assert_eq!(limit(Some(ImmediateOrCancel), None), Ok(OrderKind::ImmediateOrCancel));
        assert_eq!(limit(Some(FillOrKill), None), Ok(OrderKind::FillOrKill));
        assert_eq!(kind(OrderType::Market, Some(ImmediateOrCancel), None), Ok(OrderKind::Market));
        assert_eq!(kind(OrderType::Market, Some(FillOrKill), None), Err(OrderFault::TifOfMarket));
        assert_eq!(limit(Some(FillOrKill), Some(PostOnly::Refused)), Err(OrderFault::PostOnlyAtOnce));
    }

    #[test]
    fn a_market_order_stays_open_only_while_it_waits_for_a_price() {
        let market = OrderRequest { order_type: OrderType::Market, shares: Some(Shares::MIN), ..base() };
        let until = Deadline::new(Time(9));
        for (asked, fault) in [
            (OrderRequest { tif: Some(TimeInForce::GoodTillCanceled), ..market }, OrderFault::TifOfMarket),
            (OrderRequest { tif: Some(TimeInForce::GoodTillDate), until, ..market }, OrderFault::TifOfMarket),
            (OrderRequest { ends_with_day: true, ..market }, OrderFault::DayAtOnce),
            (OrderRequest { until, ..market }, OrderFault::UntilAtOnce),
        ] {
            assert_eq!(asked.place(), Err(fault), "{asked:?}");
            for waits in [OrderRequest { stop: PRICE, ..asked }, OrderRequest { trail: PRICE, ..asked }] {
                assert!(waits.place().is_ok(), "{waits:?}");
            }
        }
        let at_once = OrderRequest { tif: Some(TimeInForce::ImmediateOrCancel), ..market };
        assert!(at_once.place().is_ok() && OrderRequest { stop: PRICE, ..at_once }.place().is_ok());
    }
}
