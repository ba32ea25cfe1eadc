//! Where an open order stands.

use engine::OrderId;
use feed::{Place, Queued, View};
use serde::Serialize;
use utoipa::ToSchema;

use super::book::{LevelShape, level};
use crate::values;

/// The place of an order; null of one that stands in no book because it waits or is done.
#[derive(Serialize, ToSchema)]
#[schema(as = OrderPlace)]
pub(crate) struct PlaceShape {
    #[schema(value_type = values::Order)]
    order_id: u64,
    #[schema(value_type = values::Sequence)]
    sequence: u64,
    #[schema(required = true)]
    place: Option<InQueueShape>,
}

/// What executes before it. What others hide is not counted.
#[derive(Serialize, ToSchema)]
#[schema(as = PlaceInQueue)]
struct InQueueShape {
    /// All that stands at its price, the order included.
    #[schema(value_type = values::Level)]
    level: LevelShape,
    /// What came to its price before it.
    ahead: QueuedSumShape,
    /// What stands at better prices.
    better: QueuedSumShape,
    /// False where there is more before it than was counted.
    exact: bool,
}

/// A number of orders, and what they show together.
#[derive(Serialize, ToSchema)]
#[schema(as = QueuedSum)]
struct QueuedSumShape {
    #[schema(value_type = values::Count)]
    orders: u32,
    #[schema(value_type = values::Position)]
    shares: String,
}

impl PlaceShape {
    pub(crate) fn of(view: &View, order: OrderId) -> PlaceShape {
        let place = view.place(order).map(|place| InQueueShape::of(&place));
        PlaceShape { order_id: order.0, sequence: view.sequence().0, place }
    }
}

impl InQueueShape {
    fn of(place: &Place) -> InQueueShape {
        let sum = |queued: Queued| QueuedSumShape { orders: queued.orders, shares: queued.shares.to_string() };
        InQueueShape {
            level: level(place.level),
            ahead: sum(place.ahead),
            better: sum(place.better),
            exact: place.exact,
        }
    }
}
