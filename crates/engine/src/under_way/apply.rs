//! Orders that one command does not bring to the end of their walk through the book. A command executes at most
//! [`EXECUTIONS_MAX`] times, including the orders that it activates. An order that would go on is then under way: it
//! stands first among the waiting orders of its symbol, holds what it holds, and commands of the loop continue it. No
//! order trades through it: one that comes to its symbol meanwhile is opened, holds what it needs, and waits behind it.
//! Everything that needs the book is decided at its turn (`stops/apply.rs`).
//!
//! [`EXECUTIONS_MAX`]: terms::EXECUTIONS_MAX

use std::collections::VecDeque;

use slots::NONE;
use terms::{AccountIndex, Event, NewOrder, OrderKind, Reject, Reply, Shares, SymbolIndex};

use crate::engine::Engine;
use crate::icebergs::state::Hiding;
use crate::matching::liquidity::LOOKED_AT_MAX;
use crate::orders::order_terms::OrderTerms;
use crate::orders::state::Order;
use crate::rules::band::is_before;
use crate::self_trade::counted::SelfTradeCount;
use crate::stops::state::Turn;

/// The most orders of a symbol under way or behind one under way, for each execution that one command may make:
/// 100,000. They hold their shares or dollars, except that a market buy holds nothing.
pub(crate) const WAITING_PER_EXECUTION: u32 = 10;

/// The turns that an activation counts: one command activates 1,000 orders. An order that only waited behind others
/// counts one turn: as many may come between two commands.
pub(crate) const ACTIVATION: usize = 10;

/// The executions for which a fill-or-kill counts one turn more.
pub(crate) const COUNTED_ON: usize = 100;

/// A fill-or-kill, while its executions are counted.
struct Filling {
    left: Shares,
    executions: u32,
    /// The most executions of one command.
    most: u32,
}

impl Filling {
    /// Counts one execution of these shares. Returns whether the order is then executed completely. Error: the count,
    /// when it already is the most that one command may make.
    fn takes(&mut self, shares: Shares) -> Result<bool, u32> {
        if self.executions == self.most {
            return Err(self.executions);
        }
        self.executions = self.executions.saturating_add(1);
        self.left = self.left.less(self.left.min(shares));
        Ok(self.left.is_zero())
    }
}

impl Engine {
    /// Whether the best order on the other side is within the limit of an order.
    pub(crate) fn meets(&self, placed: &NewOrder<SymbolIndex>) -> bool {
        let best = self.books.best(placed.symbol, placed.side.opposite());
        best.is_some_and(|level| placed.accepts(self.books.level(level).price))
    }

    /// Whether an order that comes to a symbol's book waits for its turn: behind others, or because the commands of the
    /// turn have ended the following of as many orders as they may, and it might end that of many.
    #[inline]
    pub(crate) fn waits_for_turn(&self, symbol: SymbolIndex) -> bool {
        let small = self.execution_bounds.small as usize;
        self.stops.delays(symbol) || (self.turn_ends_left == 0 && self.stops.trailing(symbol) > small)
    }

    /// Whether a placed order waits for its turn, as those of `waits_for_turn` do, or because it looks at many orders
    /// before it executes, and the commands of the turn have taken all turns.
    pub(crate) fn waits_when_placed(&self, placed: &NewOrder<SymbolIndex>) -> bool {
        self.waits_for_turn(placed.symbol)
            || (self.turns_left == 0 && (placed.kind == OrderKind::FillOrKill || self.looks_for_interruption(placed)))
    }

    /// Whether orders that come to some symbols' books may have to wait for their turn.
    #[inline]
    pub(crate) fn any_wait_for_turn(&self) -> bool {
        self.stops.delays_any() || self.turn_ends_left == 0
    }

    /// Places an order that joins its book after the orders before it are done. Errors: `TooManyWaiting`; there is not
    /// enough for the order's hold; or, for a market buy, which holds nothing, the account cannot pay for anything at
    /// the best price.
    #[cold]
    pub(crate) fn place_behind_others(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let most = self.execution_bounds.command.saturating_mul(WAITING_PER_EXECUTION);
        if self.stops.delayed_orders(placed.symbol) >= most as usize {
            return Err(Reject::TooManyWaiting { most });
        }
        if placed.pays_as_it_goes() {
            self.arriving(account, placed)?;
        }
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

    /// The number of executions that it takes to execute all shares of an order now, in the order of the walk: at each
    /// price first the shown shares, and then the next parts of icebergs, round by round. Error: the
    /// number counted until it was clear that the order cannot execute completely, or not with one command.
    pub(crate) fn executions_to_fill(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Result<u32, u32> {
        self.executions_within(self.execution_bounds.command, account, placed)
    }

    /// The executions that fill an order, as `executions_to_fill` counts them, if these are at most `most`.
    fn executions_within(&self, most: u32, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Result<u32, u32> {
        let mut filling = Filling { left: placed.shares, executions: 0, most };
        let mut looked_at = 0usize;
        let near_end = self.near_end(placed.symbol, placed.side);
        for level in self.books.levels(placed.symbol, placed.side.opposite()) {
            if !placed.accepts(level.price) {
                break;
            }
            let (mut slot, mut hiding) = (level.oldest, VecDeque::new());
            while slot != NONE {
                let maker = self.orders.get(slot);
                if looked_at == LOOKED_AT_MAX {
                    return Err(filling.executions);
                }
                looked_at = looked_at.saturating_add(1);
                let shown = match self.counts(placed.self_trade, account, placed.symbol, maker) {
                    _ if is_before(near_end, level.price) => Shares::ZERO,
                    SelfTradeCount::NothingFromHere => return Err(filling.executions),
                    SelfTradeCount::Nothing => Shares::ZERO,
                    SelfTradeCount::Whole => {
                        hiding.extend(self.icebergs.get(maker.id).filter(|hiding| !hiding.hidden.is_zero()));
                        maker.open
                    }
                };
                if filling.takes(shown)? {
                    return Ok(filling.executions);
                }
                slot = maker.newer;
            }
            while let Some(Hiding { display, hidden }) = hiding.pop_front() {
                let shown = hidden.min(display);
                if filling.takes(shown)? {
                    return Ok(filling.executions);
                }
                let hidden = hidden.less(shown);
                hiding.extend(Some(Hiding { display, hidden }).filter(|hiding| !hiding.hidden.is_zero()));
            }
        }
        Err(filling.executions)
    }

    /// The executions that an order of this kind needs if it executes wholly or not at all. None for other kinds, and
    /// for orders that remain of a kill.
    pub(crate) fn fills(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Option<Result<u32, u32>> {
        let is_counted = placed.kind == OrderKind::FillOrKill && !self.is_killed_order(account, placed.symbol);
        is_counted.then(|| self.executions_to_fill(account, placed))
    }

    /// Whether an order executes wholly or not at all, and may need more executions than a share for it. The count
    /// stops at a share.
    pub(crate) fn fills_beyond_share(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> bool {
        let share = self.execution_bounds.share;
        placed.kind == OrderKind::FillOrKill
            && !self.is_killed_order(account, placed.symbol)
            && self.executions_within(share, account, placed).is_err_and(|counted| counted >= share)
    }

    /// Whether a fill-or-kill that is placed has to wait for another command to execute completely. Its look counts as
    /// many turns as its activation would.
    pub(crate) fn fills_later(&mut self, fills: Option<Result<u32, u32>>) -> bool {
        if fills.is_some() {
            self.count_turns(ACTIVATION.saturating_add(counted_on(fills).div_euclid(COUNTED_ON)));
        }
        self.is_too_much(fills)
    }

    /// Whether a fill-or-kill has to wait for another command to execute completely.
    pub(crate) fn is_too_much(&self, fills: Option<Result<u32, u32>>) -> bool {
        matches!(fills, Some(Ok(executions)) if executions > self.executions_left)
    }

    /// The turns that the next release of pending orders counts; none if it needs another command.
    pub(crate) fn turns_of_release(&self) -> Option<usize> {
        let mut counted = 0usize;
        for pending in self.next_due().into_iter().flatten() {
            let fills = self.fills(self.orders.get(pending.slot).account, &pending.placed);
            if self.is_too_much(fills) {
                return None;
            }
            counted = counted.saturating_add(counted_on(fills));
        }
        Some(ACTIVATION.saturating_add(counted.div_euclid(COUNTED_ON)))
    }
}

/// The number of executions counted to know whether an order executes completely.
pub(crate) fn counted_on(fills: Option<Result<u32, u32>>) -> usize {
    fills.map_or(0, |fills| fills.unwrap_or_else(|counted| counted)) as usize
}
