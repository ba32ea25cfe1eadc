//! The refusals of the faults that an order has whatever the market is.

use exchange::{OrderFault, OrderRequest};

use crate::refusal::Refusal;
use crate::trailing;

/// The refusal of an order that has this fault. These orders have no time at which they end.
pub(crate) fn order_refusal(request: &OrderRequest, fault: OrderFault) -> Refusal {
    match fault {
        OrderFault::NoShares => Refusal::missing("quantity"),
        OrderFault::NoLimit => Refusal::missing("price"),
        OrderFault::LimitOfMarket => Refusal::not_required("price"),
        OrderFault::FundsBesideShares | OrderFault::FundsOfLimit | OrderFault::FundsWait => {
            Refusal::not_required("quoteOrderQty")
        }
        OrderFault::TwoTriggers => Refusal::not_required("stopPrice"),
        OrderFault::TwoTrails => Refusal::not_required(trailing::DELTA),
        OrderFault::TrailBips => Refusal::filter("TRAILING_DELTA"),
        OrderFault::TriggerBesideTrail { .. } => Refusal::new(
            -1106,
            "Parameter 'stopPrice' sent when not required: with 'trailingDelta' the order follows the market from its \
             placing on.",
        ),
        OrderFault::DisplayBesideTrail => Refusal::new(
            -1106,
            "Parameter 'icebergQty' sent when not required: an order with 'trailingDelta' shows all its shares.",
        ),
        OrderFault::DisplayAtOnce if request.tif.is_some() => {
            Refusal::new(-1115, "Invalid timeInForce. An order with icebergQty can only be GTC.")
        }
        OrderFault::DisplayAtOnce => Refusal::not_required("icebergQty"),
        OrderFault::PostOnlyMarket | OrderFault::PostOnlyAtOnce | OrderFault::MoveWaits => {
            Refusal::not_required("type")
        }
        OrderFault::AuctionWaits
        | OrderFault::TifOfMarket
        | OrderFault::DayAtOnce
        | OrderFault::DayUntil
        | OrderFault::NoUntil
        | OrderFault::UntilAtOnce
        | OrderFault::UntilOfGtc => Refusal::not_required("timeInForce"),
    }
}
