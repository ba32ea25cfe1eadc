//! The words of the faults that an order has whatever the market is, and the fields at fault.

use exchange::OrderFault;

use crate::message::Fault;
use crate::reasons::SessionRejectReason as Reason;
use crate::tags;

/// Words the fault of an order. FIX has no fields for trails, nor for orders that move.
pub(crate) fn order_fault(fault: OrderFault) -> Fault {
    let (tag, reason, text) = match fault {
        OrderFault::NoShares => (tags::ORDER_QTY, Reason::Missing, "OrderQty(38) is missing"),
        OrderFault::NoLimit => (tags::PRICE, Reason::Missing, "Price(44) is missing"),
        OrderFault::LimitOfMarket => (tags::PRICE, Reason::Value, "Price(44) belongs to OrdType(40) 2 or 4"),
        OrderFault::FundsBesideShares => {
            (tags::CASH_ORDER_QTY, Reason::Value, "OrderQty(38) and CashOrderQty(152) exclude each other")
        }
        OrderFault::FundsOfLimit | OrderFault::FundsWait => (
            tags::CASH_ORDER_QTY,
            Reason::Value,
            "CashOrderQty(152) is for market orders that are done at once: OrdType(40)=1, and TimeInForce(59) is not 2",
        ),
        OrderFault::TwoTriggers
        | OrderFault::TwoTrails
        | OrderFault::TrailBips
        | OrderFault::TriggerBesideTrail { .. } => {
            (tags::STOP_PX, Reason::Value, "StopPx(99) is the one price for which an order waits")
        }
        OrderFault::DisplayBesideTrail | OrderFault::DisplayAtOnce => {
            (tags::MAX_FLOOR, Reason::Value, "MaxFloor(111) belongs to an order with a limit that rests")
        }
        OrderFault::PostOnlyMarket | OrderFault::MoveWaits => {
            (tags::EXEC_INST, Reason::Value, "ExecInst(18) is 6 (post-only), of an order with a limit")
        }
        OrderFault::PostOnlyAtOnce => {
            (tags::TIME_IN_FORCE, Reason::Value, "TimeInForce(59) of a post-only order is 0, 1 or 6")
        }
        OrderFault::AuctionWaits => {
            (tags::TIME_IN_FORCE, Reason::Value, "TimeInForce(59)=2 belongs to an order that waits for no price")
        }
        OrderFault::TifOfMarket | OrderFault::DayAtOnce => (
            tags::TIME_IN_FORCE,
            Reason::Value,
            "TimeInForce(59)=4 belongs to an order with a limit, and 6 to one that rests or waits for a price",
        ),
        OrderFault::NoUntil => (
            tags::EXPIRE_TIME,
            Reason::Value,
            "ExpireTime(126) is a time such as 20261231-23:59:59 in UTC, and TimeInForce(59)=6 needs it",
        ),
        OrderFault::DayUntil | OrderFault::UntilAtOnce | OrderFault::UntilOfGtc => {
            (tags::EXPIRE_TIME, Reason::Value, "ExpireTime(126) belongs to TimeInForce(59)=6, or 2")
        }
    };
    Fault::of(tag, reason, text)
}
