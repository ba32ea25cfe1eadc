//! Where an open order stands: what executes before it. What others hide is not counted: it executes behind all that is shown at its
//! price, and nobody is told of it.

use engine::Position;

use crate::book::{Book, LevelChange};
use crate::orders::{In, Open, Orders, Terms};

/// Orders, or price levels, that are counted one by one: more than these hold up others.
const COUNTED_MAX: usize = 4_096;

/// A number of orders, and what they show together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    pub orders: u32,
    pub shares: Position,
}

/// The place of an order in the queue of its price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// All that stands at its price, itself included.
    pub level: LevelChange,
    /// What came to its price before it.
    pub ahead: Queued,
    /// What stands at better prices.
    pub better: Queued,
    /// Whether all of it was counted; otherwise there is more than is told.
    pub exact: bool,
}

impl Place {
    /// Counts from the order to the nearer end of its queue.
    pub(crate) fn of(book: &Book, orders: &Orders, slot: u32) -> Place {
        let Terms { side, limit, .. } = orders.terms(slot);
        let level = book.level(side, limit);
        let before = counted(orders.backwards_from(slot, In::Queue));
        let (ahead, is_whole) = match before {
            Ok(before) => (before, true),
            Err(some) => match counted(orders.forwards_from(slot, In::Queue)) {
                Ok(behind) => {
                    let shares = level.shares.minus(behind.shares).minus(orders.shown(slot).position());
                    (Queued { orders: level.orders - behind.orders - 1, shares }, true)
                }
                Err(_) => (some, false),
            },
        };
        let mut better = Queued::NONE;
        let mut levels = book.levels(side).take_while(|(price, _)| *price != limit);
        levels.by_ref().take(COUNTED_MAX).for_each(|(_, at)| better.add(at.orders, at.shares));
        let exact = is_whole && levels.next().is_none();
        Place { level, ahead, better, exact }
    }
}

impl Queued {
    const NONE: Queued = Queued { orders: 0, shares: Position::ZERO };

    fn add(&mut self, orders: u32, shares: Position) {
        self.orders += orders;
        self.shares = self.shares.plus(shares);
    }
}

/// What comes behind the first. Errors: there is more, and so much was counted.
fn counted(walk: impl Iterator<Item = Open>) -> Result<Queued, Queued> {
    let (mut sum, mut walk) = (Queued::NONE, walk.skip(1));
    walk.by_ref().take(COUNTED_MAX).for_each(|open| sum.add(1, open.on_show().position()));
    if walk.next().is_none() { Ok(sum) } else { Err(sum) }
}
