//! The open orders: found by id, in the queue of their price level, and in the list of their account. One slab holds
//! them, with links, so that each order takes one slot for all three. A slot fits a line of the processor's cache; the
//! money paid, which few open orders have, is kept in a map beside them.

use foldhash::fast::RandomState;
use history::PastOrder;
use slots::{IdIndex, NONE, Slab, SpreadMap};
use terms::{
    AccountIndex, Deadline, Iceberg, Money, NewOrder, OrderId, OrderKind, Price, SelfTrade, Sequence, Shares, Side,
    SymbolIndex, Time, Trail, Trigger,
};

use crate::followed::Followed;
use crate::sparse_column::SparseColumn;

/// An open order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    pub order: OrderId,
    pub account: AccountIndex,
    pub symbol: SymbolIndex,
    pub side: Side,
    pub limit: Price,
    /// Shares that it has, executed ones included: those as it was placed, until an amendment.
    pub shares: Shares,
    /// Shares of these that are still open.
    pub open: Shares,
    /// Money paid for the executed shares.
    pub money: Money,
    /// The kind; a limit order's where only the history knows it.
    pub kind: OrderKind,
    /// The trigger for which it waits or waited; `None` where only the history knows that it waited, and where it
    /// waited no longer and was placed again with other terms.
    pub trigger: Option<Trigger>,
    /// The distance at which its trigger follows the market, until the trigger is reached.
    pub trail: Option<Trail>,
    /// Whether it waits for its trigger: it stands in no book.
    pub waits: bool,
    /// Whether it is under way, or waits for its turn behind an order of its symbol that is: it is active, and stands
    /// in no book.
    pub delayed: bool,
    /// The working order that has to execute wholly before this one is placed; `None` once it is placed. Until then it
    /// holds nothing and stands in no book.
    pub pends_on: Option<OrderId>,
    /// Self-trade prevention; the default where only the history knows it.
    pub self_trade: SelfTrade,
    /// The deadline.
    pub until: Option<Deadline>,
    /// The iceberg's display and tip, if it shows a part at a time.
    pub iceberg: Option<Iceberg>,
    /// The time at which it was triggered; `None` where nothing knows it.
    pub triggered: Option<Time>,
    /// The order that it is linked with, or was: whatever happens first to one of the two cancels the other.
    pub linked: Option<OrderId>,
    /// The time at which it was placed; zero where only the history knows it.
    pub time: Time,
}

impl Open {
    /// Money that it holds by itself.
    pub(crate) fn held_money(&self) -> Money {
        match self.side {
            _ if self.pends_on.is_some() => Money::ZERO,
            Side::Buy if self.kind != OrderKind::Market => self.limit.times(self.open),
            Side::Buy | Side::Sell => Money::ZERO,
        }
    }

    /// Open shares that its book shows, if it rests.
    pub fn on_show(&self) -> Shares {
        self.iceberg.map_or(self.open, |iceberg| iceberg.shown)
    }

    /// Returns the time at which it was placed, if that is known.
    pub fn placed_at(&self) -> Option<Time> {
        Some(self.time).filter(|time| *time != Time::ZERO)
    }

    /// Makes an order that was just placed. It waits if it has a trigger.
    pub(crate) fn of(order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex>, time: Time) -> Open {
        let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade } = placed;
        Open {
            order,
            account,
            symbol,
            side,
            limit,
            shares,
            open: shares,
            money: Money::ZERO,
            kind,
            trigger,
            trail: None,
            waits: trigger.is_some(),
            delayed: false,
            pends_on: None,
            self_trade,
            until: None,
            iceberg: None,
            triggered: None,
            linked: None,
            time,
        }
    }

    /// Makes an order from its record in the history. Only the view knows whether it still waits, and its deadline.
    pub fn of_past(past: &PastOrder, open: Shares, money: Money) -> Open {
        let PastOrder { order, account, time, .. } = *past;
        let shares = past.shares_now();
        Open { shares, open, money, waits: false, ..Open::of(order, account, past.as_placed(), time) }
    }

    /// The record of the order as the command of this number has just placed it.
    pub(crate) fn placed(&self, sequence: Sequence) -> PastOrder {
        let Open { order, account, symbol, side, limit, shares, kind, trigger, self_trade, time, .. } = *self;
        let placed = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
        PastOrder::placed(order, account, placed, time, sequence)
    }
}

/// The two lists that contain an order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum In {
    /// The queue of its price level, first come first.
    Queue = 0,
    /// The orders of its account, in the order of placing.
    Account = 1,
}

/// First and last order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct List {
    first: u32,
    last: u32,
}

impl Default for List {
    fn default() -> List {
        List { first: NONE, last: NONE }
    }
}

impl List {
    pub(crate) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    /// Returns the slot of its last order.
    pub(crate) fn newest(&self) -> Option<u32> {
        (self.last != NONE).then_some(self.last)
    }
}

#[derive(Clone, Copy)]
struct Link {
    before: u32,
    behind: u32,
}

#[derive(Clone, Copy)]
struct Node {
    order: OrderId,
    account: AccountIndex,
    symbol: SymbolIndex,
    /// Negative for a sell: limits are above zero.
    signed_limit: i64,
    shares: Shares,
    open: Shares,
    time: Time,
    links: [Link; 2],
}

const _: () = assert!(size_of::<Node>() == 64);

/// The terms of an order, and its open shares.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub(crate) order: OrderId,
    pub(crate) account: AccountIndex,
    pub(crate) symbol: SymbolIndex,
    pub(crate) side: Side,
    pub(crate) limit: Price,
    pub(crate) open: Shares,
}

impl Node {
    fn new(open: &Open) -> Node {
        let Open { order, account, symbol, side, limit, shares, open, time, .. } = *open;
        let signed_limit = signed(side, limit);
        let links = [Link { before: NONE, behind: NONE }; 2];
        Node { order, account, symbol, signed_limit, shares, open, time, links }
    }

    fn side(&self) -> Side {
        if self.signed_limit > 0 { Side::Buy } else { Side::Sell }
    }

    fn limit(&self) -> Price {
        Price::from_units(self.signed_limit.abs()).expect("invariant: it was a price")
    }

    /// Whether any share of it is executed.
    fn has_traded(&self) -> bool {
        self.open < self.shares
    }
}

/// A limit with its side: negative for a sell.
fn signed(side: Side, limit: Price) -> i64 {
    match side {
        Side::Buy => limit.units(),
        Side::Sell => -limit.units(),
    }
}

/// All open orders.
pub struct Orders {
    nodes: Slab<Node>,
    by_id: IdIndex,
    /// The money paid for the executed shares of open orders that have any, by slot.
    paid: SpreadMap<u32, Money, RandomState>,
    /// The terms of orders that are more than a side, a limit and shares, by slot.
    specials: SparseColumn<Special>,
    /// The rarer terms of some of those, by slot.
    rarities: SpreadMap<u32, Rarity, RandomState>,
    /// The orders that show a part of their shares at a time, by slot.
    icebergs: SpreadMap<u32, Iceberg, RandomState>,
    /// The orders whose triggers follow the market.
    pub(crate) followed: Followed,
}

/// Terms that some orders have. A market may have a million orders that wait, so it is small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Special {
    /// The trigger; of an order that follows the market, the one with which it began to.
    trigger: Option<Trigger>,
    kind: OrderKind,
    waits: bool,
    delayed: bool,
    self_trade: SelfTrade,
    is_rare: bool,
}

const _: () = assert!(size_of::<Special>() == 16);

/// Terms that few orders have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Rarity {
    pends_on: Option<OrderId>,
    until: Option<Deadline>,
    triggered: Option<Time>,
    linked: Option<OrderId>,
}

impl std::fmt::Debug for Orders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} open orders", self.len())
    }
}

impl Orders {
    pub(crate) fn new() -> Orders {
        Orders {
            nodes: Slab::new(),
            by_id: IdIndex::new(),
            paid: SpreadMap::default(),
            specials: SparseColumn::default(),
            rarities: SpreadMap::default(),
            icebergs: SpreadMap::default(),
            followed: Followed::default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Adds an order of which nothing is executed yet.
    pub(crate) fn insert(&mut self, open: &Open) -> u32 {
        let slot = self.nodes.insert(Node::new(open));
        self.by_id.insert(open.order, slot, |other| self.nodes[other].order);
        let Open { kind, trigger, waits, delayed, pends_on, self_trade, until, triggered, linked, .. } = *open;
        self.set_special(slot, Special { kind, trigger, waits, delayed, self_trade, is_rare: false });
        self.set_rarity(slot, Rarity { pends_on, until, triggered, linked });
        slot
    }

    /// Returns the slot of an open order.
    pub(crate) fn find(&self, order: OrderId) -> Option<u32> {
        self.by_id.find(order, |slot| self.nodes[slot].order == order)
    }

    /// Reads the memory in which `find` looks for an order.
    pub(crate) fn touch_index(&self, order: OrderId) -> u64 {
        self.by_id.touch(order)
    }

    pub(crate) fn get(&self, slot: u32) -> Open {
        self.open(slot, &self.nodes[slot])
    }

    /// Returns part of what `get` does, and looks up nothing beside the slot.
    pub(crate) fn terms(&self, slot: u32) -> Terms {
        let node = &self.nodes[slot];
        let Node { order, account, symbol, open, .. } = *node;
        Terms { order, account, symbol, side: node.side(), limit: node.limit(), open }
    }

    fn open(&self, slot: u32, node: &Node) -> Open {
        let Node { order, account, symbol, shares, open, time, .. } = *node;
        let money = if node.has_traded() { self.paid.get(slot) } else { None };
        let (side, limit, money) = (node.side(), node.limit(), money.unwrap_or(Money::ZERO));
        let Special { kind, trigger, waits, delayed, self_trade, .. } = self.special(slot);
        let Rarity { pends_on, until, triggered, linked } = self.rarity(slot);
        let follows = if waits { self.followed.get(slot, (symbol, side)) } else { None };
        Open {
            order,
            account,
            symbol,
            side,
            limit,
            shares,
            open,
            money,
            kind,
            trigger: follows.map(|(_, trigger)| trigger).or(trigger),
            trail: follows.map(|(trail, _)| trail),
            waits,
            delayed,
            pends_on,
            self_trade,
            until,
            iceberg: self.iceberg(slot),
            triggered,
            linked,
            time,
        }
    }

    /// Returns display and tip of an order that shows a part of its shares.
    pub(crate) fn iceberg(&self, slot: u32) -> Option<Iceberg> {
        self.icebergs.get(slot)
    }

    pub(crate) fn set_iceberg(&mut self, slot: u32, iceberg: Iceberg) {
        self.icebergs.insert(slot, iceberg);
    }

    /// Returns how many shares a resting order shows.
    pub(crate) fn shown(&self, slot: u32) -> Shares {
        self.iceberg(slot).map_or(self.nodes[slot].open, |iceberg| iceberg.shown)
    }

    /// Sets the time, kind and trigger with which an order was placed.
    pub(crate) fn set_placed(&mut self, slot: u32, time: Time, kind: OrderKind, trigger: Option<Trigger>) {
        self.nodes[slot].time = time;
        let special = self.special(slot);
        // The trigger of an order that still waits may have moved since.
        let trigger = if special.waits { special.trigger } else { trigger };
        self.set_special(slot, Special { kind, trigger, ..special });
    }

    /// Sets trigger and time of an order that was triggered. It has no trigger if it was placed again since.
    pub(crate) fn set_triggered(&mut self, slot: u32, trigger: Option<Trigger>, time: Time) {
        let special = self.special(slot);
        if !special.waits {
            self.set_special(slot, Special { trigger, ..special });
            self.set_rarity(slot, Rarity { triggered: Some(time), ..self.rarity(slot) });
        }
    }

    /// Sets an order's self-trade prevention.
    pub(crate) fn set_self_trade(&mut self, slot: u32, self_trade: SelfTrade) {
        let special = self.special(slot);
        self.set_special(slot, Special { self_trade, ..special });
    }

    fn special(&self, slot: u32) -> Special {
        self.specials.get(slot)
    }

    fn set_special(&mut self, slot: u32, special: Special) {
        self.specials.set(slot, special);
    }

    fn rarity(&self, slot: u32) -> Rarity {
        if self.special(slot).is_rare { self.rarities.get(slot).unwrap_or_default() } else { Rarity::default() }
    }

    fn set_rarity(&mut self, slot: u32, rarity: Rarity) {
        let special = self.special(slot);
        if special.is_rare || rarity != Rarity::default() {
            self.set_special(slot, Special { is_rare: true, ..special });
            self.rarities.insert(slot, rarity);
        }
    }

    /// Whether an order waits for its trigger or its turn, and stands in no book.
    pub(crate) fn is_in_no_book(&self, slot: u32) -> bool {
        let Special { waits, delayed, .. } = self.special(slot);
        waits || delayed
    }

    /// Whether an order is pending: it waits for its working order.
    pub(crate) fn pends(&self, slot: u32) -> bool {
        self.rarity(slot).pends_on.is_some()
    }

    /// Places a pending order, whose working order was executed; it waits if it has a trigger.
    pub(crate) fn release(&mut self, slot: u32) {
        let special = self.special(slot);
        self.set_special(slot, Special { waits: special.trigger.is_some(), ..special });
        self.set_rarity(slot, Rarity { pends_on: None, ..self.rarity(slot) });
    }

    /// Sets the order that it is linked with.
    pub(crate) fn set_linked(&mut self, slot: u32, partner: OrderId) {
        self.set_rarity(slot, Rarity { linked: Some(partner), ..self.rarity(slot) });
    }

    /// Lets the trigger of an order that waits follow the market at this distance.
    pub(crate) fn follow_market(&mut self, slot: u32, trail: Trail) {
        let node = &self.nodes[slot];
        let trigger = self.special(slot).trigger.expect("invariant: what follows the market has a trigger");
        self.followed.add((slot, node.account), (node.symbol, node.side()), trail, trigger);
    }

    /// Ends the following of an order, if it follows the market.
    pub(crate) fn follow_no_more(&mut self, slot: u32) {
        let node = &self.nodes[slot];
        self.followed.remove((slot, node.account), (node.symbol, node.side()));
    }

    /// Sets the trigger of an order.
    pub(crate) fn set_trigger(&mut self, slot: u32, trigger: Trigger) {
        let special = self.special(slot);
        self.set_special(slot, Special { trigger: Some(trigger), ..special });
    }

    /// Returns the kind of an order.
    pub(crate) fn kind(&self, slot: u32) -> OrderKind {
        self.special(slot).kind
    }

    /// Sets the kind of an order and its self-trade prevention.
    pub(crate) fn set_kind(&mut self, slot: u32, kind: OrderKind, self_trade: SelfTrade) {
        let special = self.special(slot);
        self.set_special(slot, Special { kind, self_trade, ..special });
    }

    /// Sets an open order's deadline.
    pub(crate) fn set_until(&mut self, slot: u32, until: Option<Deadline>) {
        self.set_rarity(slot, Rarity { until, ..self.rarity(slot) });
    }

    /// Gives an order that stands in no list but its account's other terms: a limit, a kind, a trigger if it waits for
    /// one, and its shares, `open` of which are open. It has no display and no deadline, and follows no price.
    pub(crate) fn amend(&mut self, slot: u32, placed: &NewOrder<SymbolIndex>, open: Shares) {
        self.follow_no_more(slot);
        self.icebergs.remove(slot);
        self.set_until(slot, None);
        let NewOrder { side, limit, shares, kind, trigger, .. } = *placed;
        let node = &mut self.nodes[slot];
        (node.signed_limit, node.shares, node.open) = (signed(side, limit), shares, open);
        let special = self.special(slot);
        self.set_special(slot, Special { kind, trigger, waits: trigger.is_some(), delayed: false, ..special });
    }

    /// Takes shares off an order, as if it had been placed with fewer.
    pub(crate) fn reduce(&mut self, slot: u32, shares: Shares) {
        let node = &mut self.nodes[slot];
        (node.shares, node.open) = (node.shares.less(shares), node.open.less(shares));
    }

    /// Marks an order as waiting for its turn, or as waiting no more.
    pub(crate) fn set_delayed(&mut self, slot: u32, delayed: bool) {
        let special = self.special(slot);
        self.set_special(slot, Special { waits: false, delayed, ..special });
    }

    /// Marks an order as triggered at this time.
    pub(crate) fn triggered(&mut self, slot: u32, time: Time) {
        let special = self.special(slot);
        self.set_special(slot, Special { waits: false, ..special });
        self.set_rarity(slot, Rarity { triggered: Some(time), ..self.rarity(slot) });
    }

    /// Whether an order is a market order, which holds no money where it buys.
    pub(crate) fn is_market(&self, slot: u32) -> bool {
        self.special(slot).kind == OrderKind::Market
    }

    /// Adds shares that were executed before the view began, for this money.
    pub(crate) fn was_executed(&mut self, slot: u32, shares: Shares, money: Money) {
        let node = &mut self.nodes[slot];
        let placed = node.shares.units().checked_add(shares.units()).and_then(Shares::from_units);
        node.shares = placed.expect("invariant: an order has at most so many shares");
        let paid = self.paid.get(slot).unwrap_or(Money::ZERO);
        self.paid.insert(slot, paid.plus(money));
    }

    /// Takes shares off what is open: executed for this money, or canceled for none. Returns the money paid for the
    /// order so far, which is forgotten when nothing is open.
    pub(crate) fn take(&mut self, slot: u32, shares: Shares, money: Money) -> Money {
        let node = &mut self.nodes[slot];
        let had_traded = node.has_traded();
        node.open = node.open.less(shares);
        let is_over = node.open.is_zero();
        let before = match (had_traded, is_over) {
            (false, _) => Money::ZERO,
            (true, false) => self.paid.get(slot).unwrap_or(Money::ZERO),
            (true, true) => self.paid.remove(slot).unwrap_or(Money::ZERO),
        };
        let paid = before.plus(money);
        if !is_over {
            self.paid.insert(slot, paid);
        }
        paid
    }

    /// Removes an order that stands in no list any more.
    pub(crate) fn remove(&mut self, slot: u32) {
        let order = self.nodes[slot].order;
        self.by_id.remove(order, |at| at == slot);
        self.follow_no_more(slot);
        if self.special(slot).is_rare {
            self.rarities.remove(slot);
        }
        self.set_special(slot, Special::default());
        self.icebergs.remove(slot);
        self.nodes.remove(slot);
    }

    /// Puts an order at a list's end.
    pub(crate) fn append(&mut self, list: &mut List, which: In, slot: u32) {
        let before = list.last;
        self.nodes[slot].links[which as usize] = Link { before, behind: NONE };
        match before {
            NONE => list.first = slot,
            _ => self.nodes[before].links[which as usize].behind = slot,
        }
        list.last = slot;
    }

    /// Takes an order out of a list.
    pub(crate) fn unlink(&mut self, list: &mut List, which: In, slot: u32) {
        let Link { before, behind } = self.nodes[slot].links[which as usize];
        match before {
            NONE => list.first = behind,
            _ => self.nodes[before].links[which as usize].behind = behind,
        }
        match behind {
            NONE => list.last = before,
            _ => self.nodes[behind].links[which as usize].before = before,
        }
    }

    /// Sorts a list into the order of placing.
    pub(crate) fn sort(&mut self, list: &mut List, which: In) {
        let (mut slots, mut at) = (Vec::new(), list.first);
        while at != NONE {
            slots.push(at);
            at = self.nodes[at].links[which as usize].behind;
        }
        slots.sort_unstable_by_key(|slot| self.nodes[*slot].order);
        *list = List::default();
        slots.into_iter().for_each(|slot| self.append(list, which, slot));
    }

    /// Lists orders from the first on.
    pub(crate) fn forwards(&self, list: List, which: In) -> impl Iterator<Item = Open> {
        self.walk(list.first, move |node| node.links[which as usize].behind)
    }

    /// Lists orders from the last back.
    pub(crate) fn backwards(&self, list: List, which: In) -> impl Iterator<Item = Open> {
        self.walk(list.last, move |node| node.links[which as usize].before)
    }

    /// Lists orders from one of them on.
    pub(crate) fn forwards_from(&self, slot: u32, which: In) -> impl Iterator<Item = Open> {
        self.walk(slot, move |node| node.links[which as usize].behind)
    }

    /// Lists orders from one of them back.
    pub(crate) fn backwards_from(&self, slot: u32, which: In) -> impl Iterator<Item = Open> {
        self.walk(slot, move |node| node.links[which as usize].before)
    }

    fn walk(&self, from: u32, next: impl Fn(&Node) -> u32) -> impl Iterator<Item = Open> {
        let mut at = from;
        std::iter::from_fn(move || {
            let node = (at != NONE).then(|| &self.nodes[at])?;
            let open = self.open(at, node);
            at = next(node);
            Some(open)
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn open(order: u64) -> Open {
        Open {
            order: OrderId(order),
            account: AccountIndex(0),
            symbol: SymbolIndex(0),
            side: Side::Buy,
            limit: Price::from_units(1).unwrap(),
            shares: Shares::ZERO,
            open: Shares::ZERO,
            money: Money::ZERO,
            kind: OrderKind::Limit,
            trigger: None,
            trail: None,
            waits: false,
            delayed: false,
            pends_on: None,
            self_trade: SelfTrade::Allowed,
            until: None,
            iceberg: None,
            triggered: None,
            linked: None,
            time: Time(0),
        }
    }

    fn ids(orders: impl Iterator<Item = Open>) -> Vec<u64> {
        orders.map(|open| open.order.0).collect()
    }

    #[test]
    fn an_order_leaves_from_anywhere_in_a_list() {
        let (mut orders, mut list) = (Orders::new(), List::default());
        for order in 1..=4 {
            let slot = orders.insert(&open(order));
            orders.append(&mut list, In::Queue, slot);
        }
        for (gone, left) in [(2, vec![1, 3, 4]), (4, vec![1, 3]), (1, vec![3]), (3, vec![])] {
            let slot = orders.find(OrderId(gone)).unwrap();
            orders.unlink(&mut list, In::Queue, slot);
            orders.remove(slot);
            assert_eq!(ids(orders.forwards(list, In::Queue)), left);
            assert_eq!(ids(orders.backwards(list, In::Queue)), left.iter().rev().copied().collect::<Vec<u64>>());
            assert_eq!(orders.find(OrderId(gone)), None);
        }
        assert!(list.is_empty());
        assert_eq!(orders.insert(&open(9)), 2, "places are used again");
    }
}
