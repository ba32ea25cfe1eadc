//! Orders that wait for their turn at their book: those whose trigger an execution reached, those that were accepted
//! while another order of their symbol was under way, and orders that are under way themselves. In a symbol they keep
//! the order in which they began to wait, except that the order under way is first. Among symbols, the one whose first
//! order has waited longest comes first; `rounds.rs` has each symbol take one turn before one takes two. Orders of a
//! symbol that is not open keep their places, and no walk goes over them meanwhile. Those that wait for an auction have
//! their turns while their symbol is in one, and at no other time.

use std::collections::BTreeMap;

use slots::NONE;
use terms::{NewOrder, Phase, SymbolIndex, Trigger};

use super::{Queue, Stop, Stops};
use crate::orders::state::Orders;

/// The turn of an order: what happens when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Activation: an execution reached its trigger.
    Reached,
    /// Coming to the book: it was accepted while another order was under way, or waited behind one.
    Queued,
    /// Going on: one command did not complete it.
    UnderWay,
    /// Coming to the book of an auction: it was accepted before one began.
    Auction,
}

impl Turn {
    /// Whether orders that come to its symbol have to wait behind it.
    fn delays(self) -> bool {
        match self {
            Turn::Reached | Turn::Auction => false,
            Turn::Queued | Turn::UnderWay => true,
        }
    }
}

/// The queues of one symbol, by rank.
#[derive(Default)]
struct SymbolTurns {
    under_way: Option<(u64, u32)>,
    queues: BTreeMap<u64, u32>,
    /// The number of orders in these.
    orders: usize,
    /// The queues of orders for the next auction.
    auction_queues: BTreeMap<u64, u32>,
    auction_orders: usize,
    /// The number of orders that keep others waiting.
    delaying: usize,
    /// Whether the symbol is not open.
    is_held_back: bool,
    /// Whether the symbol is in an auction.
    gathers: bool,
    /// Whether triggers are left: nothing but an order under way may execute before these are reached.
    is_being_reached: bool,
    /// Whether the symbol has no further turn in this round, or in this command.
    is_passed_over: bool,
    /// Whether its orders have turns, now or in a later round.
    has_turns: bool,
    /// The symbol's rank among all; none if its orders have no turn now.
    rank: Option<u64>,
}

impl SymbolTurns {
    /// The queue whose order has a turn next; none if no order of the symbol may have one now.
    fn next(&self) -> Option<(u64, u32)> {
        let first = |queues: &BTreeMap<u64, u32>| queues.first_key_value().map(|(&rank, &queue)| (rank, queue));
        if self.is_held_back {
            return first(&self.auction_queues).filter(|_| self.gathers);
        }
        self.under_way.or(first(&self.queues).filter(|_| !self.is_being_reached))
    }

    /// The number of orders that have turns.
    fn with_turns(&self) -> usize {
        match (self.is_held_back, self.gathers) {
            (false, _) => self.orders,
            (true, true) => self.auction_orders,
            (true, false) => 0,
        }
    }

    /// Changes the number of orders with this turn. Returns the number of orders that have turns, before and after.
    fn count(&mut self, turn: Turn, change: impl Fn(usize) -> usize) -> (usize, usize) {
        let before = self.with_turns();
        let orders = if turn == Turn::Auction { &mut self.auction_orders } else { &mut self.orders };
        *orders = change(*orders);
        (before, self.with_turns())
    }
}

/// All queues whose orders wait for their turn. None of them is empty.
pub(super) struct Turns {
    of_symbol: BTreeMap<SymbolIndex, SymbolTurns>,
    /// The symbols whose orders have turns, by the ranks of their first queues.
    symbols: BTreeMap<u64, SymbolIndex>,
    /// The number of symbols whose orders have turns, including those that are passed over.
    with_turns: usize,
    /// The lowest rank with which the round began. Lower ones come behind all others.
    begins_at: u64,
    /// The symbols that have had their turn in this round. Empty between commands.
    served: Vec<SymbolIndex>,
    /// The symbols that have no further turn in this command. Empty between commands.
    passed_over: Vec<SymbolIndex>,
    next_rank: u64,
    /// The queue that got the last rank, or `NONE`: further orders may join it.
    last: u32,
    /// The number of orders with turns; held-back ones have none.
    orders: usize,
    /// The number of orders that keep others of their symbols waiting.
    delaying: usize,
}

impl Turns {
    pub(super) fn new() -> Turns {
        Turns {
            of_symbol: BTreeMap::new(),
            symbols: BTreeMap::new(),
            with_turns: 0,
            begins_at: 0,
            served: Vec::new(),
            passed_over: Vec::new(),
            next_rank: 0,
            last: NONE,
            orders: 0,
            delaying: 0,
        }
    }

    /// The queues in the order of their ranks.
    pub(super) fn in_order(&self) -> Vec<u32> {
        let of_symbol = |turns: &SymbolTurns| {
            let others = turns.queues.iter().chain(&turns.auction_queues).map(|(&rank, &queue)| (rank, queue));
            turns.under_way.into_iter().chain(others).collect::<Vec<_>>()
        };
        let mut all: Vec<(u64, u32)> = self.of_symbol.values().flat_map(of_symbol).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, queue)| queue).collect()
    }

    /// The queues of a symbol.
    pub(super) fn of_symbol(&self, symbol: SymbolIndex) -> impl Iterator<Item = u32> {
        let turns = self.of_symbol.get(&symbol).into_iter();
        turns.flat_map(|turns| {
            let others = turns.queues.values().chain(turns.auction_queues.values()).copied();
            turns.under_way.map(|(_, queue)| queue).into_iter().chain(others)
        })
    }

    /// Counts orders that begin to wait for their turn.
    fn add(&mut self, symbol: SymbolIndex, turn: Turn, orders: usize) {
        let turns = self.of_symbol.entry(symbol).or_default();
        let (before, after) = turns.count(turn, |count| count.saturating_add(orders));
        self.orders = self.orders.saturating_sub(before).saturating_add(after);
        if turn.delays() {
            turns.delaying = turns.delaying.saturating_add(orders);
            self.delaying = self.delaying.saturating_add(orders);
        }
    }

    /// Has one order keep others waiting again, or no longer, if its turn does. It keeps its place.
    pub(super) fn delay(&mut self, symbol: SymbolIndex, turn: Turn, delays: bool) {
        if !turn.delays() {
            return;
        }
        let turns = self.of_symbol.entry(symbol).or_default();
        for delaying in [&mut turns.delaying, &mut self.delaying] {
            *delaying = if delays { delaying.saturating_add(1) } else { delaying.saturating_sub(1) };
        }
    }

    /// Counts one order that no longer waits for its turn.
    fn take(&mut self, symbol: SymbolIndex, turn: Turn) {
        let turns = self.of_symbol.entry(symbol).or_default();
        let (before, after) = turns.count(turn, |count| count.saturating_sub(1));
        self.orders = self.orders.saturating_sub(before).saturating_add(after);
        if turn.delays() {
            turns.delaying = turns.delaying.saturating_sub(1);
            self.delaying = self.delaying.saturating_sub(1);
        }
    }

    /// Gives a symbol the rank of its first queue.
    fn rank(&mut self, symbol: SymbolIndex) {
        let Some(turns) = self.of_symbol.get_mut(&symbol) else { return };
        let next = turns.next().map(|(rank, _)| rank);
        let has_turns = next.is_some();
        if std::mem::replace(&mut turns.has_turns, has_turns) != has_turns {
            self.with_turns = match has_turns {
                true => self.with_turns.saturating_add(1),
                false => self.with_turns.saturating_sub(1),
            };
        }
        let next = next.filter(|_| !turns.is_passed_over);
        if next != turns.rank {
            if let Some(rank) = std::mem::replace(&mut turns.rank, next) {
                self.symbols.remove(&rank);
            }
            if let Some(rank) = next {
                self.symbols.insert(rank, symbol);
            }
        }
        let is_empty = turns.orders == 0 && turns.auction_orders == 0;
        if is_empty && !turns.is_held_back && !turns.is_being_reached && !turns.is_passed_over {
            self.of_symbol.remove(&symbol);
        }
    }

    /// Notes whether triggers are left in a symbol.
    pub(super) fn note_being_reached(&mut self, symbol: SymbolIndex, is_being_reached: bool) {
        self.of_symbol.entry(symbol).or_default().is_being_reached = is_being_reached;
        self.rank(symbol);
    }

    fn enter(&mut self, symbol: SymbolIndex, phase: Phase) {
        let turns = self.of_symbol.entry(symbol).or_default();
        let before = turns.with_turns();
        (turns.is_held_back, turns.gathers) = (phase != Phase::Open, phase == Phase::Auction);
        self.orders = self.orders.saturating_sub(before).saturating_add(turns.with_turns());
        self.rank(symbol);
    }
}

impl Stops {
    /// The number of orders that wait for their turn and are not held back, and of symbols in which triggers are
    /// left.
    #[inline]
    pub(crate) fn reached_orders(&self) -> usize {
        self.turns.orders.saturating_add(self.being_reached.len())
    }

    /// The number of symbols whose orders have turns.
    pub(crate) fn symbols_with_turns(&self) -> usize {
        self.turns.with_turns
    }

    /// Whether more than this many symbols have orders with turns, or triggers are left in one.
    pub(crate) fn have_turns_beyond(&self, symbols: usize) -> bool {
        self.turns.with_turns > symbols || !self.being_reached.is_empty()
    }

    /// Whether an order is under way, or waits behind one, or triggers are left in a symbol.
    #[inline]
    pub(crate) fn delays_any(&self) -> bool {
        self.turns.delaying > 0 || !self.being_reached.is_empty()
    }

    /// Whether an order that comes to a symbol's book has to wait behind others.
    #[inline]
    pub(crate) fn delays(&self, symbol: SymbolIndex) -> bool {
        self.delays_any()
            && (self.turns.of_symbol.get(&symbol).is_some_and(|turns| turns.delaying > 0)
                || self.is_being_reached(symbol))
    }

    /// The number of a symbol's orders that are under way or wait behind one.
    pub(crate) fn delayed_orders(&self, symbol: SymbolIndex) -> usize {
        self.turns.of_symbol.get(&symbol).map_or(0, |turns| turns.delaying)
    }

    /// Whether an order of a symbol is under way.
    pub(crate) fn is_under_way(&self, symbol: SymbolIndex) -> bool {
        self.turns.of_symbol.get(&symbol).is_some_and(|turns| turns.under_way.is_some())
    }

    /// The turn of the waiting order in a slot; none if it waits for a price.
    pub(crate) fn turn(&self, orders: &Orders, slot: u32) -> Option<Turn> {
        let Stop { queue, trail, .. } = self.stops[orders.get(slot).level];
        if trail.is_some() { None } else { self.queues[queue].turn.map(|(turn, _)| turn) }
    }

    /// Notes the phase of a symbol, which says which of its orders have turns. The others keep their places.
    pub(crate) fn enter(&mut self, symbol: SymbolIndex, phase: Phase) {
        self.turns.enter(symbol, phase);
    }

    /// Whether orders that waited for the auction in which a symbol is have still to come to its book.
    pub(crate) fn gathers_further(&self, symbol: SymbolIndex) -> bool {
        self.turns.of_symbol.get(&symbol).is_some_and(|turns| turns.gathers && turns.auction_orders > 0)
    }

    /// The number of orders of a symbol that wait for an auction.
    pub(crate) fn waiting_for_auction(&self, symbol: SymbolIndex) -> usize {
        self.turns.of_symbol.get(&symbol).map_or(0, |turns| turns.auction_orders)
    }

    /// Begins a round with the symbol at this place among those whose orders have turns, by their ranks; the place is
    /// counted around. Takes time proportional to their number.
    pub(crate) fn begin_round_at(&mut self, place: u64) {
        let symbols = self.turns.symbols.len() as u64;
        let before = usize::try_from(place.checked_rem(symbols).unwrap_or(0)).unwrap_or(0);
        self.turns.begins_at = self.turns.symbols.keys().nth(before).copied().unwrap_or(0);
    }

    /// Begins a further round: the symbols that were served have turns again.
    pub(crate) fn begin_round(&mut self) {
        self.turns.begins_at = 0;
        while let Some(symbol) = self.turns.served.pop() {
            self.set_passed_over(symbol, false);
        }
    }

    /// Has a symbol whose order takes a turn have no further one in this round. Its orders keep their places.
    pub(crate) fn serve(&mut self, symbol: SymbolIndex) {
        self.turns.served.push(symbol);
        self.set_passed_over(symbol, true);
    }

    /// Has the symbol that was served last have no further turn in this command.
    pub(crate) fn pass_over(&mut self) {
        self.turns.passed_over.extend(self.turns.served.pop());
    }

    /// Lets all symbols have turns again: the command is done.
    pub(crate) fn end_rounds(&mut self) {
        self.begin_round();
        while let Some(symbol) = self.turns.passed_over.pop() {
            self.set_passed_over(symbol, false);
        }
    }

    fn set_passed_over(&mut self, symbol: SymbolIndex, is_passed_over: bool) {
        self.turns.of_symbol.entry(symbol).or_default().is_passed_over = is_passed_over;
        self.turns.rank(symbol);
    }

    /// The order whose turn is next.
    pub(crate) fn next_turn(&self) -> Option<u32> {
        let symbols = &self.turns.symbols;
        let next = symbols.range(self.turns.begins_at..).next();
        let (_, symbol) = next.or_else(|| symbols.first_key_value())?;
        let (_, queue) = self.turns.of_symbol.get(symbol)?.next()?;
        Some(self.queues[queue].oldest)
    }

    /// Has an order wait for its turn, behind all others; an order under way is first in its symbol. `trigger` is the
    /// one that was reached, if it waited for a price.
    pub(crate) fn wait_for_turn(
        &mut self,
        orders: &mut Orders,
        slot: u32,
        placed: &NewOrder<SymbolIndex>,
        trigger: Option<Trigger>,
        turn: Turn,
    ) {
        let symbol = placed.symbol;
        let last = Some(self.turns.last).filter(|&last| last != NONE).map(|last| (last, self.queues[last]));
        let takes_in = |queue: &Queue| {
            queue.symbol == symbol
                && queue.trigger == trigger
                && queue.turn.is_some_and(|(of_queue, _)| of_queue == turn && turn != Turn::UnderWay)
        };
        match last.filter(|(_, queue)| takes_in(queue)) {
            Some((queue, _)) => {
                self.append(orders, slot, placed, queue);
                self.turns.add(symbol, turn, 1);
            }
            None => {
                let queue = self.queues.insert(Queue::new(symbol, trigger));
                self.append(orders, slot, placed, queue);
                self.give_turn(queue, turn);
            }
        }
    }

    /// Gives the orders of a queue a turn.
    pub(super) fn give_turn(&mut self, queue: u32, turn: Turn) {
        let rank = self.turns.next_rank;
        self.turns.next_rank = rank.saturating_add(1);
        self.turns.last = queue;
        let at = &mut self.queues[queue];
        at.turn = Some((turn, rank));
        let (symbol, orders) = (at.symbol, at.orders as usize);
        self.turns.add(symbol, turn, orders);
        let turns = self.turns.of_symbol.entry(symbol).or_default();
        match turn {
            Turn::UnderWay => {
                assert!(turns.under_way.is_none(), "invariant: nothing trades through an order that is under way");
                turns.under_way = Some((rank, queue));
            }
            Turn::Reached | Turn::Queued => drop(turns.queues.insert(rank, queue)),
            Turn::Auction => drop(turns.auction_queues.insert(rank, queue)),
        }
        self.turns.rank(symbol);
    }

    /// Notes that an order left a queue with a turn. The last one takes the queue with it.
    pub(super) fn leave_turn(&mut self, queue: u32, symbol: SymbolIndex, turn: Turn, rank: u64) {
        self.turns.take(symbol, turn);
        if self.queues[queue].oldest == NONE {
            let turns = self.turns.of_symbol.entry(symbol).or_default();
            match turn {
                Turn::UnderWay => turns.under_way = None,
                Turn::Reached | Turn::Queued => drop(turns.queues.remove(&rank)),
                Turn::Auction => drop(turns.auction_queues.remove(&rank)),
            }
            if self.turns.last == queue {
                self.turns.last = NONE;
            }
            self.queues.remove(queue);
        }
        self.turns.rank(symbol);
    }
}
