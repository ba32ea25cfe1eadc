//! Traders who place an order and leave it: stops, icebergs, linked pairs, post-only orders and orders with deadlines.
//! Each keeps a few, and cancels its oldest ones.

use std::collections::VecDeque;

use exchange::Answer;
use terms::{
    AccountId, Bond, Command, Deadline, NewOrder, Op, OrderId, OrderKind, Place, Price, Reply, Shares, Side, Symbol,
    Time, Trigger,
};

use super::amounts::{price, shares};
use super::random::Random;
use super::venue::Venue;

/// The number of orders that one trader leaves in the market, in all symbols.
const KEPT: usize = 24;

/// One such trader.
pub(super) struct Patient {
    account: AccountId,
    /// The orders, oldest first. Some of them are done.
    left: VecDeque<OrderId>,
}

/// The market of a symbol.
pub(super) struct Scene {
    pub(super) symbol: Symbol,
    /// The fair price in cents.
    pub(super) fair: i64,
    /// The lot of which orders are multiples.
    pub(super) lot: u64,
    /// The deadline of orders with one; none where the time is unknown.
    pub(super) until: Option<Deadline>,
}

impl Patient {
    pub(super) fn new(account: AccountId) -> Patient {
        Patient { account, left: VecDeque::new() }
    }

    /// Places an order, and cancels surplus ones. Returns the number of commands; none when the market has ended.
    pub(super) fn place(&mut self, scene: &Scene, random: &mut Random, venue: &mut impl Venue) -> Option<u64> {
        let side = if random.below(2) == 0 { Side::Buy } else { Side::Sell };
        let placing = self.choose(scene, side, random).unwrap_or_default();
        let mut ops: Vec<Op> = placing.into_iter().map(Op::Command).collect();
        let placed = ops.len();
        let account = self.account;
        for order in self.left.drain(..(self.left.len() + placed).saturating_sub(KEPT)) {
            ops.push(Op::Command(Command::CancelOrder { account, order: order.into() }));
        }
        let answers = venue.send(&ops)?;
        self.left.extend(answers.iter().take(placed).filter_map(|answer| match answer {
            Answer::Reply(Reply::Opened(order)) => Some(*order),
            Answer::Reply(_) | Answer::Unavailable(_) => None,
        }));
        Some(ops.len() as u64)
    }

    /// Chooses the commands of an order; none where a price or a number of shares would be invalid.
    fn choose(&self, scene: &Scene, side: Side, random: &mut Random) -> Option<Vec<Command>> {
        let Scene { symbol, fair, lot, until } = *scene;
        let account = self.account;
        let count = shares(lot * (5 + random.below(40)))?;
        // The distance is up to a hundredth of the price.
        let far = 2 + random.below((fair / 100).max(1).unsigned_abs()).cast_signed();
        let [away, beyond] = match side {
            Side::Buy => [price(fair - far)?, price(fair + far)?],
            Side::Sell => [price(fair + far)?, price(fair - far)?],
        };
        let limit = |kind: OrderKind, limit: Price| NewOrder::of_kind(kind, symbol, side, limit, count);
        let place = |order: NewOrder, until| Command::Place(Place::order(account, order).until(until));
        let market = NewOrder::of_kind(OrderKind::Market, symbol, side, side.any_price(), count);
        let stop = market.triggered_by(Trigger::stop_loss(side, beyond));
        Some(match random.below(6) {
            0 => vec![place(stop, None)],
            1 => vec![place(limit(OrderKind::Limit, away).triggered_by(Trigger::take_profit(side, away)), None)],
            2 => {
                let display = Shares::from_units(count.units() / 5)?;
                let order = limit(OrderKind::Limit, away);
                vec![Command::Place(Place::iceberg(account, order, display)?)]
            }
            3 => {
                let order = market.triggered_by(Trigger::stop_loss(side, beyond));
                let linked = Command::Place(Place::order(account, order).bound(Bond::Linked));
                vec![place(limit(OrderKind::PostOnly, away), None), linked]
            }
            4 => vec![place(limit(OrderKind::PostOnly, away), None)],
            _ => vec![place(limit(OrderKind::Limit, away), until)],
        })
    }
}

/// The time half a minute after a market's time.
pub(super) fn soon(now: Time) -> Option<Deadline> {
    Deadline::new(now.later_by_us(30_000_000))
}
