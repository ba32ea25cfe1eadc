//! The words of the faults that an order has whatever the market is. Source: docs/PROTOCOL.md, kinds of orders and the
//! sections behind it.

use exchange::OrderFault;
use terms::TRAIL_BIPS_MAX;

use super::fault::ChildFault;

/// Words the fault of an order that this element places.
pub(super) fn order_fault(element: &'static str, fault: OrderFault) -> ChildFault<'static> {
    const { assert!(TRAIL_BIPS_MAX == 9_999) };
    ChildFault::Order(match fault {
        OrderFault::NoShares => return ChildFault::MissingAttribute { element, name: "amount" },
        OrderFault::NoLimit => return ChildFault::MissingAttribute { element, name: "limit" },
        OrderFault::LimitOfMarket => "a market order has no limit",
        OrderFault::FundsBesideShares | OrderFault::FundsOfLimit => {
            "funds belong to a market order without amount and limit"
        }
        OrderFault::FundsWait => "an order with funds executes at once, so it waits for no price and no auction",
        OrderFault::TwoTriggers => "an order waits for one price: give stop or take-profit",
        OrderFault::TwoTrails => "trail and trail-bips say the same: give one",
        OrderFault::TrailBips => "trail-bips is a whole number of hundredths of a per cent, from 1 to 9999",
        OrderFault::TriggerBesideTrail { .. } => {
            "the market says where a trailing stop is: give trail without stop and take-profit"
        }
        OrderFault::DisplayBesideTrail => "an order with trail shows all its shares: leave display out",
        OrderFault::DisplayAtOnce => "display belongs to an order that rests, and this one is done at once",
        OrderFault::PostOnlyMarket => "a market order executes at once, so it cannot be post-only",
        OrderFault::PostOnlyAtOnce => "a post-only order rests, so its tif can only be GTC, GTD or DAY",
        OrderFault::MoveWaits => {
            "an order that waits for a price does not move, so its post-only can only be true or false"
        }
        OrderFault::AuctionWaits => "an order for an auction waits for no price: leave out tif GFA, or the price",
        OrderFault::TifOfMarket => "the tif of a market order can only be IOC or GFA",
        OrderFault::DayAtOnce => "tif can be DAY of an order that rests or waits, and this one is done at once",
        OrderFault::DayUntil => "an order whose tif is DAY ends with the day, so it has no until",
        OrderFault::NoUntil => "an order whose tif is GTD needs until, the time at which it ends",
        OrderFault::UntilAtOnce => "until belongs to an order that rests or waits, and this one is done at once",
        OrderFault::UntilOfGtc => "an order with until ends at that time, so its tif cannot be GTC: leave it out",
    })
}
