//! Orders that one command does not finish, and the orders that wait behind them. See docs/PROTOCOL.md, how much one
//! command does.

use std::collections::BTreeSet;

use terms::{
    AccountIndex, Event, ExecutionBounds, NewOrder, OrderId, OrderKind, Price, Reject, Reply, SelfTrade, Shares, Side,
    SymbolIndex,
};

use crate::exchange::{Delay, Model, Order, Terms};
use crate::icebergs::LOOKED_AT_MAX;
use crate::placing::pays_as_it_goes;

impl Model {
    /// Whether an order that arrives at its symbol's book waits for its turn behind others.
    pub fn delays(&self, symbol: SymbolIndex) -> bool {
        self.keeping_others(symbol).next().is_some() || self.is_being_reached(symbol)
    }

    /// The orders of a symbol that keep others waiting: all delayed ones but those for an auction.
    fn keeping_others(&self, symbol: SymbolIndex) -> impl Iterator<Item = &Order> {
        let its = self.open_orders().filter(move |order| order.symbol == symbol);
        its.filter(|order| matches!(order.delayed, Some(Delay::Queued | Delay::UnderWay)))
    }

    /// Whether an order that arrives at its symbol's book waits for its turn: behind others, or because it might end
    /// the following of many orders in a turn that has ended that of many.
    pub(crate) fn waits_for_turn(&self, symbol: SymbolIndex) -> bool {
        let ExecutionBounds { turn, small, .. } = self.execution_bounds;
        self.delays(symbol) || self.ended_in_turn >= u64::from(turn) && self.following(symbol).len() > small as usize
    }

    /// Opens an order that arrives at its book later.
    pub(crate) fn place_behind_others(
        &mut self,
        terms: Terms,
        account: AccountIndex,
        placed: NewOrder<SymbolIndex>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let NewOrder { symbol, side, limit, shares, .. } = placed;
        let most = 10 * self.execution_bounds.command;
        if self.keeping_others(symbol).count() >= most as usize {
            return Err(Reject::TooManyWaiting { most });
        }
        match pays_as_it_goes(&placed) {
            true => self.refusal_on_arrival(account, &placed).map_or(Ok(()), Err)?,
            false => self.hold(account, symbol, side, limit, shares)?,
        }
        let id = self.open_order(terms, account, placed, events);
        self.delay(id, Delay::Queued, limit, events);
        match side {
            Side::Buy if pays_as_it_goes(&placed) => {}
            Side::Buy => events.push(self.balance_changed(account)),
            Side::Sell => events.push(self.position_changed(account, symbol)),
        }
        Ok(Reply::Opened(id))
    }

    pub(crate) fn delay(&mut self, id: OrderId, delay: Delay, worst: Price, events: &mut Vec<Event>) {
        let order = &mut self.orders[id.0 as usize - 1];
        let is_under_way = delay == Delay::UnderWay;
        (order.delayed, order.worst) = (Some(delay), Some(worst).filter(|_| is_under_way));
        let placed = NewOrder { shares: order.open, limit: worst, ..order.as_placed() };
        self.reached.push(id);
        events.push(Event::OrderDelayed { order: id, is_under_way, placed });
    }

    /// The order whose turn is next, in this symbol if one is given, as an index into `reached`. An order that is under
    /// way goes before the others of its symbol. These have no turns while triggers of their symbol are left.
    pub(crate) fn next_turn(&self, of: Option<SymbolIndex>) -> Option<usize> {
        if self.reached.is_empty() {
            return None;
        }
        let is_under_way = |order: OrderId| self.order(order).delayed == Some(Delay::UnderWay);
        let being_reached: Vec<SymbolIndex> = self.being_reached().collect();
        self.reached.iter().position(|&id| {
            let symbol = self.order(id).symbol;
            let others = || self.reached.iter().filter(|&&other| self.order(other).symbol == symbol);
            let comes_first = || {
                is_under_way(id)
                    || self.is_for_auction(id)
                    || !being_reached.contains(&symbol) && !others().any(|&other| is_under_way(other))
            };
            // What looks at all others comes last.
            of.is_none_or(|of| of == symbol)
                && self.is_in_its_phase(id)
                && !self.served.contains(&symbol)
                && !self.passed_over.contains(&symbol)
                && comes_first()
        })
    }

    /// The number of executions that fill an order. Errors: the executions counted so far, if the order is not filled,
    /// or not by as many as one command may do.
    pub(crate) fn executions_to_fill(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Result<u64, u64> {
        let (mut left, mut executions, mut looked_at) = (i128::from(placed.shares.units()), 0, 0);
        let matching = self.matching(placed.symbol, placed.side, placed.limit);
        for at_one_price in matching.chunk_by(|one, next| self.order(*one).limit == self.order(*next).limit) {
            let makers = at_one_price.iter().map(|&maker| self.order(maker));
            let mut queue: Vec<(&Order, Shares, Shares)> =
                makers.map(|maker| (maker, maker.shown, maker.open.less(maker.shown))).collect();
            let mut taken = 0;
            while taken < queue.len() {
                let (maker, shown, hidden) = queue[taken];
                if taken < at_one_price.len() {
                    if looked_at == LOOKED_AT_MAX {
                        return Err(executions);
                    }
                    looked_at += 1;
                }
                taken += 1;
                let is_ending = self.ending_when_met(maker.id).is_some();
                let is_own = !is_ending && placed.self_trade != SelfTrade::Allowed && self.is_own(account, maker.id);
                if is_own && placed.self_trade != SelfTrade::CancelOldest
                    || executions == u64::from(self.execution_bounds.command)
                {
                    return Err(executions);
                }
                executions += 1;
                if is_own || is_ending {
                    continue;
                }
                left -= i128::from(shown.units());
                if left <= 0 {
                    return Ok(executions);
                }
                if !hidden.is_zero() {
                    let next = maker.display.expect("it hides something").min(hidden);
                    queue.push((maker, next, hidden.less(next)));
                }
            }
        }
        Err(executions)
    }

    /// The result of `executions_to_fill` for a fill-or-kill, `None` for other kinds and for an order that a kill left.
    fn fills(&self, id: OrderId) -> Option<Result<u64, u64>> {
        let order = self.order(id);
        let placed = NewOrder { shares: order.open, ..order.as_placed() };
        let is_counted = order.kind == OrderKind::FillOrKill && !self.is_killed_order(id);
        is_counted.then(|| self.executions_to_fill(order.account, &placed))
    }

    /// Whether an order is a fill-or-kill for which more executions than a share are counted.
    pub(crate) fn fills_beyond_share(&self, id: OrderId) -> bool {
        let share = u64::from(self.execution_bounds.share);
        self.fills(id).is_some_and(|fills| match fills {
            Ok(executions) => executions > share,
            Err(counted) => counted >= share,
        })
    }

    /// Whether a new order is a fill-or-kill that needs more executions than this command has left, but no more than a
    /// later one has. Its look counts turns, as its activation would.
    pub(crate) fn fills_later(&mut self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> bool {
        if placed.kind != OrderKind::FillOrKill {
            return false;
        }
        let fills = self.executions_to_fill(account, placed);
        self.turns_in_turn += 10 + (fills.unwrap_or_else(|counted| counted) / 100) as usize;
        fills.is_ok_and(|executions| executions as i64 > self.executions_left)
    }

    /// Whether one of these orders is a fill-or-kill that needs more executions than this command has left, but no more
    /// than a later one has.
    pub(crate) fn are_too_much(&self, orders: &[OrderId]) -> bool {
        let needs = orders.iter().filter_map(|&order| self.fills(order)?.ok());
        needs.max().is_some_and(|executions| executions as i64 > self.executions_left)
    }

    /// The turns that these orders count as: each hundred executions that a fill-or-kill counts on add one.
    pub(crate) fn turns(&self, orders: &[OrderId]) -> usize {
        let is_queued =
            orders.iter().all(|&order| matches!(self.order(order).delayed, Some(Delay::Queued | Delay::Auction)));
        let counted = orders.iter().filter_map(|&order| self.fills(order));
        let counted: u64 = counted.map(|fills| fills.unwrap_or_else(|counted| counted)).sum();
        let look = orders.iter().any(|&order| {
            let order = self.order(order);
            self.looks_for_interruption(&NewOrder { shares: order.open, ..order.as_placed() })
        });
        (if is_queued && !look { 1 } else { 10 }) + (counted / 100) as usize
    }

    /// The orders that are placed next because their working order was executed. Those of a symbol in which triggers
    /// are left stay where they are, and behind a thousand such symbols there are none.
    pub(crate) fn next_due(&self) -> Vec<OrderId> {
        let mut kept_back = BTreeSet::new();
        for &working in &self.due {
            let next = self.behind(working);
            let Some(symbol) = next.first().map(|&first| self.order(first).symbol) else { continue };
            if !self.is_being_reached(symbol) {
                return next;
            }
            kept_back.insert(symbol);
            if kept_back.len() == 1_000 {
                break;
            }
        }
        Vec::new()
    }
}
