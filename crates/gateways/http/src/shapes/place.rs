//! The queue position of an open order.

use feed::{QueuePosition, QueueTotal, View};
use serde::Serialize;
use terms::OrderId;
use utoipa::ToSchema;

use super::book::{LevelShape, level};
use crate::schema_values;

/// The queue position of an order; null for an order that stands in no book because it waits or is done.
#[derive(Serialize, ToSchema)]
#[schema(as = OrderPlace)]
pub(crate) struct PlaceShape {
    #[schema(value_type = schema_values::Order)]
    order_id: u64,
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    #[schema(required = true)]
    place: Option<InQueueShape>,
}

/// The orders that execute before it. Hidden shares of others are not counted.
#[derive(Serialize, ToSchema)]
#[schema(as = PlaceInQueue)]
struct InQueueShape {
    /// The level at its price, with the order itself.
    #[schema(value_type = schema_values::Level)]
    level: LevelShape,
    /// Orders that are before it at its price.
    ahead: QueuedSumShape,
    /// Orders at better prices.
    better: QueuedSumShape,
    /// Whether all of them were counted; false where there are more.
    exact: bool,
}

/// A number of orders, and the shares that they show together.
#[derive(Serialize, ToSchema)]
#[schema(as = QueuedSum)]
struct QueuedSumShape {
    #[schema(value_type = schema_values::Count)]
    orders: u32,
    #[schema(value_type = schema_values::Position)]
    shares: String,
}

impl PlaceShape {
    pub(crate) fn of(view: &View, order: OrderId) -> PlaceShape {
        let place = view.place(order).map(|place| InQueueShape::of(&place));
        PlaceShape { order_id: order.0, sequence: view.sequence().0, place }
    }
}

impl InQueueShape {
    fn of(place: &QueuePosition) -> InQueueShape {
        let sum = |queued: QueueTotal| QueuedSumShape { orders: queued.orders, shares: queued.shares.to_string() };
        InQueueShape {
            level: level(place.level),
            ahead: sum(place.ahead),
            better: sum(place.better),
            exact: place.exact,
        }
    }
}
