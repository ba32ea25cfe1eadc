//! What commands changed of orders that wait, or waited, for a price or for their turn, as the rows that will say so.
//! In a market in which no order ever waited they are the last prices alone.

use std::collections::BTreeMap;

use engine::{Engine, NewOrder, OrderId, Price, Sequence, SymbolIndex, Trigger};

/// They belong to effects, and are filled and emptied with them.
#[derive(Debug, Default)]
pub(crate) struct StopRows {
    pub(crate) activated: Vec<ActivatedRow>,
    /// Orders that were open before these commands, canceled by them: any of them may have waited.
    pub(crate) canceled: Vec<OrderId>,
    pub(crate) reached: Vec<ReachedRow>,
    /// Of the orders that these commands opened, or placed because another one was executed, or had wait for their
    /// turn.
    pub(crate) waiting: Vec<WaitingRow>,
    /// By symbol.
    pub(crate) watched: Vec<WatchedRow>,
    /// Where in `waiting` each order is, the last time.
    places: BTreeMap<OrderId, usize>,
    /// Where in `activated` each order is.
    activated_at: BTreeMap<OrderId, usize>,
    /// Where in `waiting` the orders are whose trigger was not reached.
    queues: BTreeMap<(SymbolIndex, Trigger), Vec<usize>>,
    /// How many triggers and orders that follow the market were reached, and orders had to wait for their turn.
    turns: u64,
    /// Executions that were looked at for what is watched.
    executions: usize,
}

/// A trigger, and the command that reached it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReachedRow {
    pub symbol: SymbolIndex,
    pub trigger: Trigger,
    pub turn: Turn,
}

/// The rank of a trigger among those that were reached, or of an order among those that came to an end of a queue after they were placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    pub sequence: Sequence,
    /// Rises with all that these commands did.
    pub nth: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingRow {
    pub order: OrderId,
    pub symbol: SymbolIndex,
    /// None of one that waits for its turn alone.
    pub trigger: Option<Trigger>,
    pub reached: Option<Turn>,
    /// None of one that waits for a price, or did and was not activated.
    pub delayed: Option<Delayed>,
    /// Not if it was activated or canceled by these commands, too.
    pub waits: bool,
}

/// An order that is active and waits for its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delayed {
    pub is_under_way: bool,
    /// The worst price that it executes at.
    pub goes_to: Price,
}

impl Delayed {
    /// As the table calls it.
    pub(crate) fn name(self) -> &'static str {
        if self.is_under_way { "under_way" } else { "queued" }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct ActivatedRow {
    pub order: OrderId,
    pub turn: Turn,
    /// Whether it waited before these commands.
    pub is_older: bool,
}

/// A symbol whose executions are noted, and the price of the last one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WatchedRow {
    pub symbol: SymbolIndex,
    pub last: Option<Price>,
}

impl StopRows {
    /// Empties this; lists keep their room.
    pub(crate) fn clear(&mut self) {
        self.activated.clear();
        self.canceled.clear();
        self.reached.clear();
        self.waiting.clear();
        self.watched.clear();
        self.queues.clear();
        self.places.clear();
        self.activated_at.clear();
        (self.turns, self.executions) = (0, 0);
    }

    /// Rows to be written, changed or removed.
    pub(crate) fn len(&self) -> usize {
        let StopRows { activated, canceled, reached, waiting, watched, .. } = self;
        activated.len() + canceled.len() + reached.len() + waiting.len() + watched.len()
    }

    /// An order was opened that waits.
    pub(crate) fn open(&mut self, order: OrderId, symbol: SymbolIndex, trigger: Trigger) {
        self.queues.entry((symbol, trigger)).or_default().push(self.waiting.len());
        self.places.insert(order, self.waiting.len());
        let trigger = Some(trigger);
        self.waiting.push(WaitingRow { order, symbol, trigger, reached: None, delayed: None, waits: true });
    }

    /// An active order waits for its turn.
    pub(crate) fn delay(&mut self, order: OrderId, placed: &NewOrder<SymbolIndex>, is_under_way: bool, turn: Turn) {
        let NewOrder { symbol, trigger, limit: goes_to, .. } = *placed;
        let delayed = Some(Delayed { is_under_way, goes_to });
        self.places.insert(order, self.waiting.len());
        self.waiting.push(WaitingRow { order, symbol, trigger, reached: Some(turn), delayed, waits: true });
    }

    pub(crate) fn reach(&mut self, symbol: SymbolIndex, trigger: Trigger, sequence: Sequence) {
        let turn = self.next_turn(sequence);
        self.reached.push(ReachedRow { symbol, trigger, turn });
        for at in self.queues.remove(&(symbol, trigger)).unwrap_or_default() {
            self.waiting[at].reached = Some(turn);
        }
    }

    /// The rank of what is reached next.
    pub(crate) fn next_turn(&mut self, sequence: Sequence) -> Turn {
        self.turns += 1;
        Turn { sequence, nth: self.turns }
    }

    /// The trigger of the order that was just opened follows the market: it is reached by the order's id.
    pub(crate) fn follow(&mut self, order: OrderId) {
        let row = self.waiting.last().filter(|row| row.order == order);
        let row = row.expect("invariant: an order that follows the market was opened to wait");
        let trigger = row.trigger.expect("invariant: what follows the market has a trigger");
        if let Some(queue) = self.queues.get_mut(&(row.symbol, trigger)) {
            queue.pop();
        }
    }

    /// An order waits no more: it comes to its book, which one may do again and again that is under way.
    pub(crate) fn activate(&mut self, order: OrderId, turn: Turn) {
        let is_older = !self.waits_no_more(order);
        match self.activated_at.get(&order) {
            Some(&at) => self.activated[at].turn = turn,
            None => {
                self.activated_at.insert(order, self.activated.len());
                self.activated.push(ActivatedRow { order, turn, is_older });
            }
        }
    }

    /// An order was canceled that was opened by these commands, or before.
    pub(crate) fn cancel(&mut self, order: OrderId, is_older: bool) {
        // An older one may have come to wait by these commands.
        if !self.waits_no_more(order) && is_older {
            self.canceled.push(order);
        }
    }

    /// Whether it is among those that these commands opened to wait.
    fn waits_no_more(&mut self, order: OrderId) -> bool {
        self.places.get(&order).is_some_and(|&at| {
            self.waiting[at].waits = false;
            true
        })
    }

    /// Adds what no event tells: the last prices of what is watched. These commands created the symbols of `begun` or gave them
    /// rules or a phase, and each of their executions was of one of `executed`.
    pub(crate) fn seal(
        &mut self,
        engine: &Engine,
        begun: impl Iterator<Item = SymbolIndex>,
        executed: impl ExactSizeIterator<Item = SymbolIndex>,
    ) {
        if !engine.had_waiting_orders() {
            self.canceled.clear();
        }
        let seen = std::mem::replace(&mut self.executions, executed.len());
        let executed = executed.skip(seen);
        let opened = self.waiting.iter().map(|row| row.symbol);
        for symbol in begun.chain(executed).chain(opened).filter(|symbol| engine.is_watched(*symbol)) {
            if let Err(at) = self.watched.binary_search_by_key(&symbol, |row| row.symbol) {
                self.watched.insert(at, WatchedRow { symbol, last: None });
            }
        }
        self.watched.iter_mut().for_each(|row| row.last = engine.last_price(row.symbol));
    }
}
