//! Books: levels, the queues behind them, and the checksum of the best.

use feed::{HistoryError, LevelChange, Open, ReadModel, View};
use serde::Serialize;
use terms::{Side, SymbolIndex};
use utoipa::ToSchema;

use super::PhaseShape;
use crate::schema_values;

/// Limit, shares, number of orders.
pub(crate) type LevelShape = (String, String, u32);

pub(crate) fn level(change: LevelChange) -> LevelShape {
    (change.limit.to_string(), change.shares.to_string(), change.orders)
}

#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Book)]
pub(crate) struct BookShape {
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    #[schema(value_type = schema_values::Count)]
    update: u64,
    #[schema(value_type = schema_values::Time)]
    time: u64,
    #[schema(value_type = Vec<schema_values::Level>)]
    bids: Vec<LevelShape>,
    #[schema(value_type = Vec<schema_values::Level>)]
    asks: Vec<LevelShape>,
    #[schema(value_type = schema_values::Checksum)]
    checksum: u32,
    /// The phase of the symbol; absent while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    phase: Option<PhaseShape>,
}

impl BookShape {
    /// Makes the shape of a book with this number.
    pub(crate) fn of(view: &View, symbol: SymbolIndex, update: u64, depth: usize) -> BookShape {
        let listing = view.listing(symbol);
        let side = |side| {
            let levels = listing.book.levels(side).take(depth);
            levels.map(|(limit, at)| (limit.to_string(), at.shares.to_string(), at.orders)).collect()
        };
        BookShape {
            symbol: listing.name.to_string(),
            sequence: view.sequence().0,
            update,
            time: view.time().0,
            bids: side(Side::Buy),
            asks: side(Side::Sell),
            checksum: checksum(view, symbol),
            phase: PhaseShape::of(listing),
        }
    }
}

/// Levels of a side that the checksum covers.
const CHECKED_LEVELS: usize = 10;

/// Returns the CRC-32 of the best levels, by which a follower sees that its book is ours.
pub(crate) fn checksum(view: &View, symbol: SymbolIndex) -> u32 {
    let book = &view.listing(symbol).book;
    let (mut bids, mut asks) = (book.levels(Side::Buy), book.levels(Side::Sell));
    let mut parts = Vec::new();
    for _ in 0..CHECKED_LEVELS {
        for (limit, level) in [bids.next(), asks.next()].into_iter().flatten() {
            parts.push(format!("{limit}:{}", level.shares));
        }
    }
    crc32fast::hash(parts.join(":").as_bytes())
}

/// An order in its queue.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = QueuedOrder)]
pub(crate) struct QueuedShape {
    #[schema(value_type = schema_values::Order)]
    order_id: u64,
    #[schema(value_type = schema_values::Account)]
    account: String,
    #[schema(value_type = schema_values::Price)]
    limit: String,
    #[schema(value_type = schema_values::Shares)]
    open: String,
    #[schema(value_type = Option<schema_values::Time>, required = true)]
    time: Option<u64>,
}

impl QueuedShape {
    pub(crate) fn of(model: &ReadModel<impl Sized>, open: &Open) -> Result<QueuedShape, HistoryError> {
        let time = model.as_placed(open)?.placed_at();
        Ok(QueuedShape { time: time.map(|time| time.0), ..QueuedShape::in_the_past(&model.view, open) })
    }

    /// Makes an order of a view without a history: it has its time if the view has seen its placing.
    pub(crate) fn in_the_past(view: &View, open: &Open) -> QueuedShape {
        QueuedShape {
            order_id: open.order.0,
            account: view.account(open.account).id.to_string(),
            limit: open.limit.to_string(),
            open: open.on_show().to_string(),
            time: open.placed_at().map(|time| time.0),
        }
    }
}
