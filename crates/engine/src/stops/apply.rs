//! Places orders that wait for a price, and activates them when an execution reaches it: then they act like an order of
//! their kind that is placed.

use terms::{
    AccountIndex, CancelReason, Event, NewOrder, OrderKind, Price, Reject, Reply, Shares, Side, SymbolIndex, Trigger,
    TriggersLeft,
};

use crate::engine::Engine;
use crate::matching::aggressor::{FundsBefore, Remainder};
use crate::matching::liquidity::Wanted;
use crate::orders::order_terms::OrderTerms;
use crate::stops::state::Turn;
use crate::under_way::apply::{ACTIVATION, COUNTED_ON, counted_on};

/// The most turns of one command. It takes no further one once it has executed
/// [`EXECUTIONS_MAX`](terms::EXECUTIONS_MAX) times. Further commands take the others, so that other requests do not
/// wait long for orders that trigger each other.
pub(crate) const TURNS_MAX: usize = 10_000;
/// The turns that every command may take.
const TURNS_SMALL: usize = 100;

impl Engine {
    /// The number of orders that wait only for an `ActivateReached`, including those under way or behind one under way,
    /// and pending ones that are due. Orders in symbols that are not open do not count. A symbol in which triggers are
    /// left counts as one order.
    pub fn reached_orders(&self) -> usize {
        self.stops.reached_orders().saturating_add(self.pendings.due_orders())
    }

    /// Whether an order of this engine ever waited for a price, counting those with which it started.
    pub fn had_waiting_orders(&self) -> bool {
        self.stops.were_any()
    }

    /// The prices of a symbol's executions that reach further triggers.
    pub fn triggers_left(&self, symbol: SymbolIndex) -> TriggersLeft {
        self.stops.triggers_left(symbol)
    }

    /// Whether triggers are left or ever were, counting those with which this engine started.
    pub fn had_triggers_left(&self) -> bool {
        self.stops.left_any()
    }

    /// The price of a symbol's last execution.
    pub fn last_price(&self, symbol: SymbolIndex) -> Option<Price> {
        self.stops.last_price(symbol)
    }

    /// The trigger of the open order in a slot, while it waits for it or for its activation.
    #[inline]
    pub(crate) fn waits(&self, slot: u32) -> Option<Trigger> {
        if !self.is_in_no_book(slot) {
            return None;
        }
        match self.stops.turn(&self.orders, slot) {
            None | Some(Turn::Reached) => self.stops.placed(&self.orders, slot).trigger,
            Some(Turn::Queued | Turn::UnderWay | Turn::Auction) => None,
        }
    }

    /// Whether the open order in a slot waits for a price or for its turn.
    #[inline]
    pub(crate) fn is_in_no_book(&self, slot: u32) -> bool {
        self.stops.is_waiting(slot, self.orders.get(slot).level)
    }

    /// Has an order wait for its trigger. It holds what it would hold if it rested; a market buy holds nothing.
    #[cold]
    pub(crate) fn place_stop(
        &mut self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        trigger: Trigger,
        terms: &OrderTerms,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let symbol = placed.symbol;
        // One that follows the market is made of the last price, which does not reach it.
        if terms.trail.is_none()
            && let Some(last) = self.stops.price_at(symbol, trigger)
        {
            return Err(Reject::TriggersAtOnce { trigger, last });
        }
        let before = self.hold(account, placed)?;
        // From here the order cannot be rejected.
        let (order, slot) = self.open_order(account, placed, terms, events);
        match terms.trail {
            None => self.stops.wait(&mut self.orders, slot, placed, trigger),
            Some(trail) => self.trail_behind(order, slot, placed, trail, events),
        }
        self.tell_held(account, symbol, before, events);
        Ok(Reply::Opened(order))
    }

    /// Reports what the account has left after an order was placed that stands in no book.
    pub(crate) fn tell_held(
        &mut self,
        account: AccountIndex,
        symbol: SymbolIndex,
        before: FundsBefore,
        events: &mut impl FnMut(Event),
    ) {
        match before {
            FundsBefore::Buy(_) => {
                events(Event::BalanceChanged { account, balance: self.accounts.get(account).balance })
            }
            FundsBefore::Sell(_) => {
                events(Event::PositionChanged { account, symbol, shares: self.positions.get(account, symbol) });
            }
            FundsBefore::Pay { .. } | FundsBefore::HeldSell(_) => {}
        }
    }

    /// Activates orders that the order placed before has reached. Orders that were reached earlier come first.
    #[inline]
    pub(crate) fn activate_after(&mut self, reached_before: usize, events: &mut impl FnMut(Event)) {
        if reached_before == 0 && self.stops.reached_orders() > 0 && !self.pendings.is_releasing() {
            self.activate(events);
        }
    }

    /// Reaches the triggers that earlier commands left, and takes the turns of the orders that wait for them, in rounds
    /// (`rounds.rs`).
    #[cold]
    pub(crate) fn activate_reached(&mut self, may_fill: bool, events: &mut impl FnMut(Event)) {
        self.reach_further(events);
        self.take_rounds(may_fill, events);
    }

    /// Reaches triggers that earlier commands left, for half of the executions that the command may make, so that the
    /// orders of other symbols go on meanwhile. Each symbol has an equal part. If there are more symbols than that, the
    /// first ones have one trigger each.
    fn reach_further(&mut self, events: &mut impl FnMut(Event)) {
        let half = (self.executions_left / 2).max(1);
        let symbols = self.stops.to_reach(half);
        let parts = u32::try_from(symbols.len()).unwrap_or(u32::MAX);
        let part = half.checked_div(parts).unwrap_or(0).max(1);
        for symbol in symbols {
            let may = part.min(self.executions_left);
            let left = self.stops.reach_further(symbol, may, events);
            self.executions_left = self.executions_left.saturating_sub(may.saturating_sub(left));
        }
    }

    #[cold]
    fn activate(&mut self, events: &mut impl FnMut(Event)) {
        let (most, mut turns) = (self.turns_of_command(), 0usize);
        while self.executions_left > 0
            && turns < most
            && let Some(slot) = self.stops.next_turn()
            && let Some(taken) = self.take_turn(slot, events)
        {
            turns = turns.saturating_add(taken);
        }
        self.count_turns(turns);
    }

    /// The most turns of a command that is no `ActivateReached`: what those of its time have left, and at least a few.
    pub(crate) fn turns_of_command(&self) -> usize {
        self.turns_left.clamp(TURNS_SMALL, TURNS_MAX)
    }

    /// Counts turns for the commands of this time.
    pub(crate) fn count_turns(&mut self, turns: usize) {
        self.turns_left = self.turns_left.saturating_sub(turns);
    }

    /// Takes the turn of an order. Returns what the turn counts; none if the order did not take it: a fill-or-kill may
    /// need a command of its own.
    pub(crate) fn take_turn(&mut self, slot: u32, events: &mut impl FnMut(Event)) -> Option<usize> {
        let (order, account) = (self.orders.get(slot).id, self.orders.get(slot).account);
        let (placed, turn) = (self.stops.placed(&self.orders, slot), self.stops.turn(&self.orders, slot));
        let fills = self.fills(account, &placed);
        if self.is_too_much(fills) {
            return None;
        }
        let only_waited = matches!(turn, Some(Turn::Queued | Turn::Auction));
        let looks = !only_waited || self.looks_for_interruption(&placed);
        let turns = if looks { ACTIVATION } else { 1 };
        let ending = self.ending(slot, placed.symbol);
        self.stops.remove(&mut self.orders, slot);
        if let Some(why) = ending {
            if !self.links.is_empty() {
                self.cancel_partner(order, &placed, events);
            }
            self.cancel_open(slot, &placed, why, events);
            self.finish(slot, events);
            return Some(turns);
        }
        if !only_waited && !self.links.is_empty() {
            self.cancel_partner(order, &placed, events);
        }
        events(match turn {
            Some(Turn::Queued | Turn::UnderWay | Turn::Auction) => Event::OrderResumed { order, account, placed },
            Some(Turn::Reached) | None => Event::OrderTriggered { order, account, placed },
        });
        match turn {
            Some(Turn::UnderWay) => self.go_on(slot, &placed, events),
            Some(Turn::Auction) => self.gather(slot, &placed, self.before_turn(account, &placed), events),
            Some(Turn::Queued | Turn::Reached) | None => self.come_to_book(slot, &placed, fills, events),
        }
        Some(turns.saturating_add(counted_on(fills).div_euclid(COUNTED_ON)))
    }

    /// Continues an order that is under way. A halt ends it. Where it meets an order outside the near end of the band,
    /// behind an auction or under new rules, it begins an interruption if it may.
    fn go_on(&mut self, slot: u32, placed: &NewOrder<SymbolIndex>, events: &mut impl FnMut(Event)) {
        let (order, account) = (self.orders.get(slot).id, self.orders.get(slot).account);
        let near_end = self.near_end(placed.symbol, placed.side);
        let pause = near_end.and_then(|within| self.interrupts_beyond(placed, within));
        if let Some(pause) = pause {
            self.interrupt(placed.symbol, pause, events);
        }
        let (wanted, rest) = match placed.kind.rests() {
            _ if pause.is_some() => (Shares::ZERO, Remainder::Stays),
            _ if self.is_halted_by_rules(placed.symbol) => (Shares::ZERO, Remainder::Canceled(CancelReason::Refused)),
            true => (placed.shares, Remainder::Stays),
            false => (placed.shares, Remainder::Canceled(CancelReason::NotResting)),
        };
        let before = self.before_turn(account, placed);
        self.execute_all((slot, order, account), placed, wanted, before, rest, events);
    }

    /// Brings a waiting order to its book. An order that would have been refused is canceled. The caller has checked
    /// whether a fill-or-kill executes completely.
    fn come_to_book(
        &mut self,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        fills: Option<Result<u32, u32>>,
        events: &mut impl FnMut(Event),
    ) {
        let (order, account) = (self.orders.get(slot).id, self.orders.get(slot).account);
        let is_near = self.limits.is_empty() || self.check_collar(account, placed).is_ok();
        let pause = self.interrupts(placed).filter(|_| is_near);
        if let Some(pause) = pause {
            self.interrupt(placed.symbol, pause, events);
        }
        // An order of a pair that only waited for its turn leaves its partner alone if it just rests.
        if !self.links.is_empty() && pause.is_none() && !(is_near && self.only_rests(account, placed)) {
            self.cancel_partner(order, placed, events);
        }
        // A fill-or-kill that can execute completely goes on like an immediate-or-cancel.
        let kind = if fills.is_some() { OrderKind::ImmediateOrCancel } else { placed.kind };
        let (arriving, wanted, rest) = match self.arriving(account, &NewOrder { kind, ..*placed }) {
            _ if !is_near => (*placed, Shares::ZERO, Remainder::Canceled(CancelReason::Refused)),
            Ok(_) if fills.is_some_and(|fills| fills.is_err()) => {
                (*placed, Shares::ZERO, Remainder::Canceled(CancelReason::NotResting))
            }
            _ if pause.is_some() => (*placed, Shares::ZERO, Remainder::Stays),
            Ok((arriving, wanted)) if placed.kind.rests() => (arriving, wanted.shares, Remainder::Stays),
            Ok((arriving, wanted)) => (arriving, wanted.shares, Remainder::Canceled(CancelReason::NotResting)),
            Err(_) => (*placed, Shares::ZERO, Remainder::Canceled(CancelReason::Refused)),
        };
        let before = self.before_turn(account, placed);
        self.execute_all((slot, order, account), &arriving, wanted, before, rest, events);
    }

    /// Whether an order that comes to its book rests there without an execution.
    fn only_rests(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> bool {
        placed.kind.rests() && !self.meets(placed) && self.arriving(account, placed).is_ok()
    }

    /// The balance or position of the account of an order whose turn has come: the order already holds what it needs,
    /// except a buy that pays as it goes.
    fn before_turn(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> FundsBefore {
        match placed.side {
            Side::Buy if placed.pays_as_it_goes() => {
                let lot = self.rules(placed.symbol).map_or(Shares::MIN, |rules| rules.lot);
                FundsBefore::Pay { funds: self.accounts.get(account).balance, lot }
            }
            Side::Buy => FundsBefore::Buy(self.accounts.get(account).balance),
            Side::Sell => FundsBefore::HeldSell(self.positions.get(account, placed.symbol)),
        }
    }

    /// A triggered order as it comes to its book, and the shares that it may execute. Errors: the refusal that it would
    /// get.
    pub(crate) fn arriving(
        &self,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
    ) -> Result<(NewOrder<SymbolIndex>, Wanted), Reject> {
        match self.rules(placed.symbol) {
            None => {
                let arriving = self.within_collar(account, placed);
                let wanted = self.wanted(account, &arriving)?;
                Ok((arriving, wanted))
            }
            Some(_) => self.arriving_by_rules(account, placed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TURNS_MAX, TURNS_SMALL};
    use crate::matching::liquidity::LOOKED_AT_MAX;
    use crate::under_way::apply::{ACTIVATION, COUNTED_ON, WAITING_PER_EXECUTION};

    /// Other numbers would make another market of the same commands. Tests of the journal pin those that other crates
    /// know.
    #[test]
    fn the_bounds_of_turns_are_those_of_the_rules() {
        let told = (TURNS_MAX, TURNS_SMALL, ACTIVATION, COUNTED_ON, LOOKED_AT_MAX, WAITING_PER_EXECUTION);
        assert_eq!(told, (10_000, 100, 10, 100, 1_000, 10));
    }
}
