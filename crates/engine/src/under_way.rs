//! Orders that one command does not bring to the end of their walk through the book. A command executes
//! [`EXECUTIONS_MAX`] times at most, whatever it activates included; an order that would go on then is under way: it
//! stands first among those of its symbol that wait for their turn, holds what it holds, and commands of the loop go on
//! with it. Nothing trades through it: an order that comes to its symbol meanwhile is opened, holds what it needs, and
//! waits behind it. What needs the book is decided when its turn comes (`triggering.rs`).
//!
//! [`EXECUTIONS_MAX`]: crate::EXECUTIONS_MAX

use crate::command::{NewOrder, OrderKind, Terms};
use crate::counting::Counted;
use crate::engine::Engine;
use crate::event::Event;
use crate::ids::{AccountIndex, SymbolIndex};
use crate::orders::Order;
use crate::reject::Reject;
use crate::reply::Reply;
use crate::stops::Turn;

impl Engine {
    /// Places an order that comes to its book behind others, when these are done.
    #[cold]
    pub(crate) fn place_behind_others(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        terms: &Terms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let before = self.hold(account, placed)?;
        // From here the order cannot be rejected.
        let (order, slot) = self.open_order(account, placed, terms, events);
        self.delay(slot, placed, Turn::Queued, events);
        self.tell_held(account, placed.symbol, before, events);
        Ok(Reply::Opened(order))
    }

    /// Has an active order wait for its turn.
    #[cold]
    pub(crate) fn delay(
        &mut self,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        turn: Turn,
        events: &mut impl FnMut(Event),
    ) {
        let Order { id: order, open, .. } = *self.orders.get(slot);
        let placed = NewOrder { shares: open, ..*placed };
        self.stops.wait_for_turn(&mut self.orders, slot, &placed, placed.trigger, turn);
        events(Event::OrderDelayed { order, is_under_way: turn == Turn::UnderWay, placed });
    }

    /// How many executions it takes to execute all shares of an order now, at most; none if that cannot be, or not with
    /// one command.
    pub(crate) fn executions_to_fill(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Option<u32> {
        let (mut left, mut executions) = (placed.shares, 0u64);
        self.look(placed.symbol, placed.side, &mut |price, maker| {
            if !placed.accepts(price) {
                return false;
            }
            executions = executions.saturating_add(self.parts_of(maker));
            match self.counts(placed.self_trade, account, maker) {
                Counted::Nothing => return true,
                Counted::NothingFromHere => return false,
                Counted::Whole => {}
            }
            left = left.less(left.min(maker.open));
            !left.is_zero()
        });
        let executions = u32::try_from(executions).ok().filter(|executions| *executions <= self.executions_max);
        executions.filter(|_| left.is_zero())
    }

    /// In how many parts these shares of an order are shown.
    fn parts_of(&self, maker: &Order) -> u64 {
        let display = self.icebergs.get(maker.id).map_or(maker.open, |hiding| hiding.display);
        maker.open.units().unsigned_abs().div_ceil(display.units().unsigned_abs().max(1))
    }

    /// Whether an order that executes wholly or not at all has to wait for another command to do so.
    pub(crate) fn is_too_much(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> bool {
        placed.kind == OrderKind::FillOrKill
            && self.executions_left < self.executions_max
            && self.executions_to_fill(account, placed).is_some_and(|executions| executions > self.executions_left)
    }

    /// The same of the order that is placed next because its working order was executed.
    pub(crate) fn needs_more_than_is_left(&self) -> bool {
        let next = if self.executions_left < self.executions_max { self.pendings.next_due() } else { [None; 2] };
        next.into_iter()
            .flatten()
            .any(|pending| self.is_too_much(self.orders.get(pending.slot).account, &pending.placed))
    }
}
