//! The reasons why an order cannot be placed, whatever the market is. Each protocol has one table that words them; this
//! file knows no protocol.

/// A field that an order lacks, or fields that exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OrderFault {
    /// The order has neither shares nor funds.
    NoShares,
    /// The order is a limit order without a limit.
    NoLimit,
    /// The order is a market order with a limit.
    LimitOfMarket,
    /// The order has both shares and funds.
    FundsBesideShares,
    /// The order is a limit order with funds.
    FundsOfLimit,
    /// The order has funds and is to wait for a price, or for an auction's end: nobody knows how many shares the funds
    /// pay for then.
    FundsWait,
    /// The order has both a stop and a take-profit.
    TwoTriggers,
    /// The order has a trail both in dollars and in hundredths of a per cent.
    TwoTrails,
    /// The trail in hundredths of a per cent is not from 1 to [`terms::TRAIL_BIPS_MAX`].
    TrailBips,
    /// The order has a trigger beside a trail, which says where the trigger is. `in_bips`: the trail is not in dollars.
    TriggerBesideTrail { in_bips: bool },
    /// The order has a display beside a trail.
    DisplayBesideTrail,
    /// The order has a display and does not rest.
    DisplayAtOnce,
    /// The order is a post-only market order.
    PostOnlyMarket,
    /// The order is post-only, and is to be done at once.
    PostOnlyAtOnce,
    /// The order is to move to a price at which it does not execute, and waits for a price itself.
    MoveWaits,
    /// The order is for an auction, and waits for a price.
    AuctionWaits,
    /// The order is a market order that is to execute wholly or not at all, or to stay open without a trigger.
    TifOfMarket,
    /// The order is to end with the day, and is done at once.
    DayAtOnce,
    /// The order is to end with the day, and also at a time, or not before it is canceled.
    DayUntil,
    /// The order is to end at a time, and does not say when.
    NoUntil,
    /// The order is to end at a time, and is done at once.
    UntilAtOnce,
    /// The order is to end at a time, and to stay until it is canceled.
    UntilOfGtc,
}
