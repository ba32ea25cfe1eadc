//! The problems of the faults that an order has whatever the market is: the field at fault, and the words.

use exchange::OrderFault;
use terms::TRAIL_BIPS_MAX;

use crate::problem::Problem;

/// The problem of an order that has this fault.
pub(super) fn order_problem(fault: OrderFault) -> Problem {
    const { assert!(TRAIL_BIPS_MAX == 9_999) };
    let (field, why) = match fault {
        OrderFault::NoShares => ("shares", "shares is missing"),
        OrderFault::NoLimit => ("limit", "limit is missing: only a market order has none"),
        OrderFault::LimitOfMarket => ("limit", "a market order has no limit"),
        OrderFault::FundsBesideShares => ("funds", "shares and funds exclude each other"),
        OrderFault::FundsOfLimit => ("funds", "funds are for market orders"),
        OrderFault::FundsWait => {
            ("funds", "an order with funds executes at once, so it waits for no price and no auction")
        }
        OrderFault::TwoTriggers => ("take_profit", "stop and take_profit exclude each other"),
        OrderFault::TwoTrails => ("trail_bips", "trail and trail_bips exclude each other"),
        OrderFault::TrailBips => {
            ("trail_bips", "trail_bips is a whole number of hundredths of a per cent, from 1 to 9999")
        }
        OrderFault::TriggerBesideTrail { in_bips } => (
            if in_bips { "trail_bips" } else { "trail" },
            "the market says where a trailing stop is: stop and take_profit exclude it",
        ),
        OrderFault::DisplayBesideTrail => ("display", "an order that follows the market shows all its shares"),
        OrderFault::DisplayAtOnce => {
            ("display", "display belongs to an order that rests, and this one is done at once")
        }
        OrderFault::PostOnlyMarket | OrderFault::PostOnlyAtOnce => {
            ("kind", "a post-only order is a limit order that rests")
        }
        OrderFault::MoveWaits => {
            ("kind", "kind cannot be post_only_move: an order that waits for a price does not move")
        }
        OrderFault::AuctionWaits => ("kind", "an order for an auction waits for no price"),
        OrderFault::TifOfMarket => ("tif", "a market order that waits for nothing is done at once"),
        OrderFault::DayAtOnce => ("tif", "tif belongs to an order that rests or waits, and this one is done at once"),
        OrderFault::DayUntil => ("until", "an order whose tif is DAY ends with the day, so it has no until"),
        OrderFault::NoUntil => ("until", "until is missing: the order is to end at a time"),
        OrderFault::UntilAtOnce => {
            ("until", "until belongs to an order that rests or waits, and this one is done at once")
        }
        OrderFault::UntilOfGtc => ("until", "an order that stays until it is canceled has no until"),
    };
    Problem::field(field, why)
}
