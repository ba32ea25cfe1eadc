//! Waiting orders as rows: the changes of orders that wait, or waited, for a price or for their turn. A market in which
//! no order ever waited has only the last prices.

use std::collections::BTreeMap;

use engine::Engine;
use terms::{BandReferences, NewOrder, OrderId, Price, Sequence, SymbolIndex, Trigger, TriggersLeft};

use crate::column::table;

/// The changes of waiting orders. Effects hold them, and fill and empty them with themselves.
#[derive(Debug, Default)]
pub(crate) struct StopRows {
    pub(crate) activated: Vec<ActivatedRow>,
    /// Orders that were open before these commands, and that they canceled or placed again: each of them may have
    /// waited.
    pub(crate) canceled: Vec<OrderId>,
    pub(crate) reached: Vec<ReachedRow>,
    /// Orders that these commands opened to wait, placed at their release, or made wait for their turn.
    pub(crate) waiting: Vec<WaitingRow>,
    /// The symbols that traded, or whose triggers were reached or canceled, with their last prices.
    pub(crate) watches: Vec<WatchRow>,
    /// The symbols in which triggers were reached since these rows were sealed.
    reached_in: Vec<SymbolIndex>,
    /// The symbols whose rules were changed since then: an operator may have given references.
    ruled: Vec<SymbolIndex>,
    /// The symbols in which orders were canceled since then: triggers may have been left that are no more.
    canceled_in: Vec<SymbolIndex>,
    /// The last place of each order in `waiting`.
    places: BTreeMap<OrderId, usize>,
    /// The place of each order in `activated`.
    activated_at: BTreeMap<OrderId, usize>,
    /// The places in `waiting` of orders whose trigger was not reached.
    queues: BTreeMap<(SymbolIndex, Trigger), Vec<usize>>,
    /// The number of triggers reached, and of orders that had to wait for their turn.
    turns: u64,
    /// The number of executions that `seal` has seen.
    executions: usize,
}

/// A trigger, and the command that reached it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReachedRow {
    pub symbol: SymbolIndex,
    pub trigger: Trigger,
    pub turn: QueueRank,
}

/// The rank of a trigger among those that were reached, or of an order among those that came to the end of a queue
/// after they were placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct QueueRank {
    pub sequence: Sequence,
    /// A number that rises with everything that these commands did.
    pub nth: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingRow {
    pub order: OrderId,
    pub symbol: SymbolIndex,
    /// The trigger; none for an order that only waits for its turn.
    pub trigger: Option<Trigger>,
    pub reached: Option<QueueRank>,
    /// Whether its trigger follows the market.
    pub follows: bool,
    /// The delay; none for an order that waits for a price, or that was reached and not activated.
    pub delayed: Option<Delayed>,
    /// Whether it still waits, and these commands neither activated nor canceled it.
    pub waits: bool,
}

table! { waiting: WaitingRow, row =>
    order_id: row.order,
    symbol: row.symbol,
    trigger_price: row.trigger.map(Trigger::price),
    from_below: row.trigger.map(Trigger::is_from_below),
    reached_sequence: row.reached.map(|turn| turn.sequence),
    reached_nth: row.reached.map(|turn| turn.nth),
    follows: row.follows,
    delayed: row.delayed.map(Delayed::name),
    goes_to: row.delayed.map(|delayed| delayed.goes_to),
}

/// An active order that waits for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delayed {
    pub is_under_way: bool,
    /// The worst price at which it executes.
    pub goes_to: Price,
}

impl Delayed {
    /// The name in the table.
    pub(crate) fn name(self) -> &'static str {
        if self.is_under_way { "under_way" } else { "queued" }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ActivatedRow {
    pub order: OrderId,
    pub turn: QueueRank,
    /// Whether it waited before these commands.
    pub is_older: bool,
}

/// The price of a symbol's last execution, those up to which triggers are still to be reached, and those around which
/// its bands lie.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchRow {
    pub symbol: SymbolIndex,
    pub last: Option<Price>,
    pub left: TriggersLeft,
    pub references: BandReferences,
}

impl StopRows {
    /// Empties the lists, which keep their capacity.
    pub(crate) fn clear(&mut self) {
        self.activated.clear();
        self.canceled.clear();
        self.reached.clear();
        self.waiting.clear();
        self.watches.clear();
        self.reached_in.clear();
        self.ruled.clear();
        self.canceled_in.clear();
        self.queues.clear();
        self.places.clear();
        self.activated_at.clear();
        (self.turns, self.executions) = (0, 0);
    }

    /// The number of rows to write, change or remove.
    pub(crate) fn len(&self) -> usize {
        let StopRows { activated, canceled, reached, waiting, watches, .. } = self;
        activated.len() + canceled.len() + reached.len() + waiting.len() + watches.len()
    }

    /// Adds an order that was opened to wait.
    pub(crate) fn open(&mut self, order: OrderId, symbol: SymbolIndex, trigger: Trigger) {
        self.queues.entry((symbol, trigger)).or_default().push(self.waiting.len());
        self.places.insert(order, self.waiting.len());
        let (trigger, reached, delayed) = (Some(trigger), None, None);
        self.waiting.push(WaitingRow { order, symbol, trigger, reached, follows: false, delayed, waits: true });
    }

    /// Adds an active order that waits for its turn.
    pub(crate) fn delay(
        &mut self,
        order: OrderId,
        placed: &NewOrder<SymbolIndex>,
        is_under_way: bool,
        turn: QueueRank,
    ) {
        let NewOrder { symbol, trigger, limit: goes_to, .. } = *placed;
        let (reached, delayed) = (Some(turn), Some(Delayed { is_under_way, goes_to }));
        self.places.insert(order, self.waiting.len());
        self.waiting.push(WaitingRow { order, symbol, trigger, reached, follows: false, delayed, waits: true });
    }

    /// Notes that a trigger was reached. Returns the turn of its orders.
    pub(crate) fn reach(&mut self, symbol: SymbolIndex, trigger: Trigger, sequence: Sequence) -> QueueRank {
        let turn = self.next_turn(sequence);
        note(&mut self.reached_in, symbol);
        self.reached.push(ReachedRow { symbol, trigger, turn });
        for at in self.queues.remove(&(symbol, trigger)).unwrap_or_default() {
            self.waiting[at].reached = Some(turn);
        }
        turn
    }

    /// The rank of what is reached next.
    pub(crate) fn next_turn(&mut self, sequence: Sequence) -> QueueRank {
        self.turns += 1;
        QueueRank { sequence, nth: self.turns }
    }

    /// Notes that the order just opened is a trailing stop. It waits at no fixed trigger.
    pub(crate) fn follow(&mut self, order: OrderId) {
        let row = self.waiting.last_mut().filter(|row| row.order == order);
        let row = row.expect("invariant: an order that follows the market was opened to wait");
        row.follows = true;
        let trigger = row.trigger.expect("invariant: what follows the market has a trigger");
        if let Some(queue) = self.queues.get_mut(&(row.symbol, trigger)) {
            queue.pop();
        }
    }

    /// Notes that an order comes to its book, which an order under way may do again and again.
    pub(crate) fn activate(&mut self, order: OrderId, turn: QueueRank) {
        let is_older = !self.waits_no_more(order);
        match self.activated_at.get(&order) {
            Some(&at) => self.activated[at].turn = turn,
            None => {
                self.activated_at.insert(order, self.activated.len());
                self.activated.push(ActivatedRow { order, turn, is_older });
            }
        }
    }

    /// Notes that an order was canceled or left its place, which these commands opened or earlier ones.
    pub(crate) fn cancel(&mut self, order: OrderId, symbol: SymbolIndex, is_older: bool) {
        note(&mut self.canceled_in, symbol);
        // An older one may have begun to wait by these commands.
        if !self.waits_no_more(order) && is_older {
            self.canceled.push(order);
        }
    }

    /// Notes that the rules of a symbol were changed.
    pub(crate) fn rule(&mut self, symbol: SymbolIndex) {
        note(&mut self.ruled, symbol);
    }

    /// Ends the wait of an order, and returns whether these commands made it wait.
    fn waits_no_more(&mut self, order: OrderId) -> bool {
        self.places.get(&order).is_some_and(|&at| {
            self.waiting[at].waits = false;
            true
        })
    }

    /// Adds the last prices of symbols and the triggers that are left, which no event carries. Each execution of these
    /// commands was in one of `executed`.
    pub(crate) fn seal(&mut self, engine: &Engine, executed: impl ExactSizeIterator<Item = SymbolIndex>) {
        if !engine.had_waiting_orders() {
            self.canceled.clear();
        }
        if !engine.had_triggers_left() {
            self.canceled_in.clear();
        }
        self.watch(executed, |symbol| WatchRow {
            symbol,
            last: engine.last_price(symbol),
            left: engine.triggers_left(symbol),
            references: engine.band_references(symbol),
        });
    }

    /// Writes the rows anew of the symbols in which something happened since the last time. Others keep theirs: many
    /// commands are sealed one by one and written together, and each of them would look at all symbols.
    fn watch(&mut self, executed: impl ExactSizeIterator<Item = SymbolIndex>, look: impl Fn(SymbolIndex) -> WatchRow) {
        let seen = std::mem::replace(&mut self.executions, executed.len());
        let mut touched = std::mem::take(&mut self.reached_in);
        touched.append(&mut self.canceled_in);
        touched.append(&mut self.ruled);
        executed.skip(seen).for_each(|symbol| note(&mut touched, symbol));
        for symbol in touched {
            let row = look(symbol);
            match self.watches.binary_search_by_key(&symbol, |row| row.symbol) {
                Ok(at) => self.watches[at] = row,
                Err(at) => self.watches.insert(at, row),
            }
        }
    }
}

/// Notes a symbol, once if it comes again and again.
fn note(symbols: &mut Vec<SymbolIndex>, symbol: SymbolIndex) {
    if symbols.last() != Some(&symbol) {
        symbols.push(symbol);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A regression: each command looked at all symbols of the commands that are written with it, which are 9,000 by
    /// 9,000 looks where each command cancels in another symbol.
    #[test]
    fn a_command_writes_only_the_rows_of_its_own_symbols_anew() {
        const SYMBOLS: u32 = 100;
        let (mut rows, looks) = (StopRows::default(), Cell::new(0));
        for nth in 0..SYMBOLS {
            rows.cancel(OrderId(1 + u64::from(nth)), SymbolIndex(nth), true);
            rows.reach(SymbolIndex(nth), Trigger::from_above(Price::MAX), Sequence(u64::from(nth)));
            let executed = (0..=nth).map(SymbolIndex).collect::<Vec<_>>();
            rows.watch(executed.into_iter(), |symbol| {
                looks.set(looks.get() + 1);
                let (left, references) = (TriggersLeft::default(), BandReferences::NONE);
                WatchRow { symbol, last: Price::from_units(looks.get()), left, references }
            });
        }
        let told: Vec<_> = rows.watches.iter().map(|row| row.symbol.0).collect();
        assert_eq!(told, (0..SYMBOLS).collect::<Vec<_>>(), "each symbol has a row");
        assert!(looks.get() <= i64::from(3 * SYMBOLS), "{} looks", looks.get());
    }
}
