//! The queue position of an open order: what executes before it. Hidden shares of other orders are not counted: they
//! execute behind all that is shown at their price, and only their accounts see them.

use terms::Position;

use crate::book::{Book, LevelChange};
use crate::orders::{In, Open, Orders, Terms};

/// Orders, or price levels, that are counted one by one, at most: a longer count would delay events.
const COUNTED_MAX: usize = 4_096;

/// A number of orders, and the shares that they show together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueTotal {
    pub orders: u32,
    pub shares: Position,
}

/// The position of an order in the queue of its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePosition {
    /// The level at its price, with the order itself.
    pub level: LevelChange,
    /// Orders that are before it at its price.
    pub ahead: QueueTotal,
    /// Orders at better prices.
    pub better: QueueTotal,
    /// Whether everything was counted; otherwise there is more than these numbers say.
    pub exact: bool,
}

impl QueuePosition {
    /// Counts from the order to the nearer end of its queue.
    pub(crate) fn of(book: &Book, orders: &Orders, slot: u32) -> QueuePosition {
        let Terms { side, limit, .. } = orders.terms(slot);
        let level = book.level(side, limit);
        let before = counted(orders.backwards_from(slot, In::Queue));
        let (ahead, is_whole) = match before {
            Ok(before) => (before, true),
            Err(some) => match counted(orders.forwards_from(slot, In::Queue)) {
                Ok(behind) => {
                    let shares = level.shares.minus(behind.shares).minus(orders.shown(slot).position());
                    (QueueTotal { orders: level.orders - behind.orders - 1, shares }, true)
                }
                Err(_) => (some, false),
            },
        };
        let mut better = QueueTotal::NONE;
        let mut levels = book.levels(side).take_while(|(price, _)| *price != limit);
        levels.by_ref().take(COUNTED_MAX).for_each(|(_, at)| better.add(at.orders, at.shares));
        let exact = is_whole && levels.next().is_none();
        QueuePosition { level, ahead, better, exact }
    }
}

impl QueueTotal {
    const NONE: QueueTotal = QueueTotal { orders: 0, shares: Position::ZERO };

    fn add(&mut self, orders: u32, shares: Position) {
        self.orders += orders;
        self.shares = self.shares.plus(shares);
    }
}

/// Counts the orders behind the first. Errors: there are more than `COUNTED_MAX`; the error holds what was counted.
fn counted(walk: impl Iterator<Item = Open>) -> Result<QueueTotal, QueueTotal> {
    let (mut sum, mut walk) = (QueueTotal::NONE, walk.skip(1));
    walk.by_ref().take(COUNTED_MAX).for_each(|open| sum.add(1, open.on_show().position()));
    if walk.next().is_none() { Ok(sum) } else { Err(sum) }
}
