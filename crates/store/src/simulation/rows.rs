//! The rows of a simulated database, made of effects alone, and the readings of them: the market, and done orders. They
//! know neither the engine nor the model.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use exchange::Trade;
use terms::{
    AccountId, AccountIndex, AccountLimits, AccountStatuses, BandReferences, Cancellation, ClientOrderId, DoneOrder,
    Executed, Execution, FeeSchedule, Groups, Kills, Money, NewOrder, OrderId, OrderKind, Phase, Position, Price,
    Protections, SelfTrade, Sequence, Shares, Side, StateItem, Symbol, SymbolIndex, SymbolPhase, SymbolRules, Time,
    Trail, Trigger, TriggersLeft,
};

use crate::amended_rows::PlacedAnew;
use crate::effects::{Effects, Head, OrderRow};
use crate::iceberg_rows::IcebergRows;
use crate::pending_rows::PendingRows;
use crate::stop_rows::{Delayed, QueueRank, StopRows};
use crate::trail_rows::TrailRows;

/// The time for which a client order id stands for a done order.
const DAY_US: u64 = 24 * 3600 * 1_000_000;

#[derive(Clone)]
pub(super) struct Rows {
    pub head: Head,
    accounts: Vec<(AccountId, Money)>,
    symbols: Vec<(Symbol, Position)>,
    positions: BTreeMap<(AccountIndex, SymbolIndex), Position>,
    /// All orders, with their open shares.
    orders: BTreeMap<OrderId, OrderRow>,
    executions: Vec<Trade>,
    cancellations: BTreeMap<OrderId, Cancellation>,
    /// Pending orders, and their working orders.
    pending: BTreeMap<OrderId, OrderId>,
    /// The shares taken off orders.
    reduced: BTreeMap<OrderId, Shares>,
    /// Linked pairs: the older order, and its partner.
    links: BTreeMap<OrderId, OrderId>,
    client_orders: BTreeMap<OrderId, (ClientOrderId, Option<Time>)>,
    /// Waiting orders, and their turns if their trigger was reached.
    waiting: BTreeMap<OrderId, Option<QueueRank>>,
    /// The active ones among them.
    delayed: BTreeMap<OrderId, Delayed>,
    /// The displays of icebergs, and their hidden shares.
    icebergs: BTreeMap<OrderId, (Shares, Shares)>,
    /// The distances of trailing stops, and the triggers that follow or were reached.
    trails: BTreeMap<OrderId, Trail>,
    triggers: BTreeMap<OrderId, Trigger>,
    /// The trailing stops that follow the market no more.
    fixed: BTreeSet<OrderId>,
    /// The turns at which waiting orders, and tips of icebergs, came to their places.
    queued: BTreeMap<OrderId, QueueRank>,
    watches: BTreeMap<SymbolIndex, (Option<Price>, TriggersLeft, BandReferences)>,
    rules: BTreeMap<SymbolIndex, SymbolRules>,
    fees: FeeSchedule,
    groups: Groups,
    account_statuses: AccountStatuses,
    kills: Kills,
    protections: Protections,
    calendar: Option<Time>,
    limits: BTreeMap<AccountIndex, AccountLimits>,
    phases: BTreeMap<SymbolIndex, SymbolPhase>,
}

impl Rows {
    /// Makes the rows of an empty market.
    pub fn new() -> Rows {
        Rows {
            head: Head::ZERO,
            accounts: Vec::new(),
            symbols: Vec::new(),
            positions: BTreeMap::new(),
            orders: BTreeMap::new(),
            executions: Vec::new(),
            cancellations: BTreeMap::new(),
            pending: BTreeMap::new(),
            reduced: BTreeMap::new(),
            links: BTreeMap::new(),
            client_orders: BTreeMap::new(),
            waiting: BTreeMap::new(),
            delayed: BTreeMap::new(),
            icebergs: BTreeMap::new(),
            trails: BTreeMap::new(),
            triggers: BTreeMap::new(),
            fixed: BTreeSet::new(),
            queued: BTreeMap::new(),
            watches: BTreeMap::new(),
            rules: BTreeMap::new(),
            fees: FeeSchedule::new(),
            groups: Groups::new(),
            account_statuses: AccountStatuses::new(),
            kills: Kills::new(),
            protections: Protections::new(),
            calendar: None,
            limits: BTreeMap::new(),
            phases: BTreeMap::new(),
        }
    }

    /// The last command of the rows.
    pub fn sequence(&self) -> Sequence {
        self.head.sequence
    }

    /// Writes a whole transaction.
    pub fn write(&mut self, effects: &Effects) {
        self.symbols.extend(effects.symbols.iter().map(|row| (row.name, Position::ZERO)));
        self.watches.extend(
            effects.symbols.iter().map(|row| (row.symbol, (None, TriggersLeft::default(), BandReferences::NONE))),
        );
        effects.issued.iter().for_each(|row| self.symbols[row.symbol.0 as usize].1 = row.issued);
        self.accounts.extend(effects.accounts.iter().map(|row| (row.id, row.balance)));
        effects.balances.iter().for_each(|row| self.accounts[row.account.0 as usize].1 = row.balance);
        self.positions.extend(effects.positions.iter().map(|row| ((row.account, row.symbol), row.shares)));
        self.orders.extend(effects.orders.iter().map(|row| (row.order, *row)));
        for row in &effects.taken {
            let order = self.orders.get_mut(&row.order).expect("an order is there before something is taken of it");
            order.open = order.open.less(row.shares);
        }
        self.amend(effects);
        self.executions.extend(&effects.executions);
        let canceled = effects.cancellations.iter();
        let canceled = canceled.map(|row| (row.order, Cancellation { shares: row.shares, time: row.time }));
        self.cancellations.extend(canceled);
        for row in effects.terms.reduced().iter().filter(|row| !row.shares.is_zero()) {
            let reduced = self.reduced.entry(row.order).or_insert(Shares::ZERO);
            *reduced = reduced.plus(row.shares);
        }
        self.links.extend(effects.links.linked.iter().copied());
        let canceled = &effects.links.canceled;
        self.links.retain(|order, partner| !canceled.contains(order) && !canceled.contains(partner));
        self.client_orders.extend(effects.client_orders.iter().map(|row| (row.order, (row.id, row.done))));
        for row in &effects.client_orders_done {
            self.client_orders.get_mut(&row.order).expect("an order is named before it is done").1 = Some(row.time);
        }
        // The state no longer has these ids, so their rows need not be kept.
        for order in &effects.client_orders_freed {
            self.client_orders.remove(order);
        }
        self.write_pendings(&effects.pendings);
        self.write_stops(&effects.stops);
        self.write_icebergs(&effects.icebergs);
        self.write_trails(&effects.trails);
        self.write_delays(&effects.stops);
        self.rules.extend(effects.rules.iter().map(|row| (row.symbol, row.rules)));
        self.phases.extend(effects.phases.iter().map(|row| (row.symbol, row.phase)));
        self.phases.retain(|_, phase| phase.phase != Phase::Open);
        self.rules.retain(|_, rules| *rules != SymbolRules::NONE);
        effects.fees.changed().iter().for_each(|row| self.fees.set(row.symbol, row.tier, row.fees));
        effects.fees.moved().iter().for_each(|row| self.fees.set_tier(row.account, row.tier));
        effects.groups.iter().for_each(|row| self.groups.set(row.account, row.group));
        let statuses = effects.account_statuses.iter();
        statuses.for_each(|row| self.account_statuses.set(row.account, row.status));
        self.limits.extend(effects.limits.iter().map(|row| (row.account, row.limits)));
        self.limits.retain(|_, limits| *limits != AccountLimits::NONE);
        effects.kills.iter().for_each(|row| self.kills.set(row.scope, row.is_killed));
        self.calendar = effects.calendar.or(self.calendar);
        effects.protections.iter().for_each(|row| self.protections.set(row.account, row.grace));
        self.head = effects.after;
        assert_eq!(self.head.next_execution, self.executions.len() as u64 + 1, "executions are counted wrongly");
    }

    /// Gives amended orders their terms, before all rows of what they did with them.
    fn amend(&mut self, effects: &Effects) {
        for row in effects.amended.rows() {
            let order = self.orders.get_mut(&row.order).expect("an order is there before it is amended");
            order.until = row.until;
            self.icebergs.remove(&row.order);
            let Some(PlacedAnew { kind, limit, trigger, shares, turn, .. }) = row.anew else { continue };
            (order.kind, order.limit, order.trigger, order.shares) = (kind, limit, trigger, shares);
            order.open = row.open().unwrap_or(order.open);
            self.reduced.remove(&row.order);
            self.trails.remove(&row.order);
            self.triggers.remove(&row.order);
            self.fixed.remove(&row.order);
            self.queue(row.order, turn);
        }
    }

    /// Writes pending orders, before all rows that may bring one to the end of another queue.
    fn write_pendings(&mut self, pendings: &PendingRows) {
        self.pending.extend(pendings.opened.iter().copied());
        for order in &pendings.closed {
            self.pending.remove(order);
        }
        pendings.released.iter().for_each(|&(order, turn)| self.queue(order, turn));
    }

    fn write_stops(&mut self, stops: &StopRows) {
        for row in stops.activated.iter().filter(|row| row.is_older) {
            assert!(self.waiting.remove(&row.order).is_some(), "an order waits before it is activated");
            self.delayed.remove(&row.order);
        }
        self.waiting.retain(|order, _| !stops.canceled.contains(order));
        self.delayed.retain(|order, _| !stops.canceled.contains(order));
        for row in &stops.reached {
            let Rows { trails, triggers, fixed, waiting, orders, .. } = &mut *self;
            let follows = |order: &OrderId| trails.contains_key(order) && !fixed.contains(order);
            let still = |(order, turn): &(&OrderId, &mut Option<QueueRank>)| turn.is_none() && !follows(order);
            for (order, turn) in waiting.iter_mut().filter(still) {
                let OrderRow { symbol, trigger, .. } = orders[order];
                let trigger = triggers.get(order).copied().or(trigger);
                *turn = Some(row.turn).filter(|_| (symbol, trigger) == (row.symbol, Some(row.trigger)));
            }
        }
        let waiting = stops.waiting.iter().filter(|row| row.waits && row.delayed.is_none());
        self.waiting.extend(waiting.map(|row| (row.order, row.reached)));
        stops.activated.iter().for_each(|row| self.queue(row.order, row.turn));
        self.watches.extend(stops.watches.iter().map(|row| (row.symbol, (row.last, row.left, row.references))));
    }

    fn write_trails(&mut self, trails: &TrailRows) {
        self.trails.extend(trails.opened().iter().filter_map(|row| Some((row.order, row.trail?))));
        self.triggers.extend(trails.moved().iter().filter_map(|row| Some((row.order, row.trigger?))));
        for row in trails.reached().iter().filter(|row| !row.is_past) {
            self.triggers.insert(row.order, row.trigger);
            self.fixed.insert(row.order);
            self.queue(row.order, row.came);
            if let Some(turn) = self.waiting.get_mut(&row.order) {
                *turn = row.turn;
            }
        }
    }

    /// Writes delays, after the other rows of waiting orders: one of these may be delayed now.
    fn write_delays(&mut self, stops: &StopRows) {
        for row in stops.waiting.iter().filter(|row| row.waits) {
            if let Some(delayed) = row.delayed {
                self.waiting.insert(row.order, row.reached);
                self.delayed.insert(row.order, delayed);
            }
        }
    }

    /// Whether the trigger of an order follows the market.
    fn follows(&self, order: OrderId) -> bool {
        self.trails.contains_key(&order) && !self.fixed.contains(&order)
    }

    /// The present trigger of an order.
    fn trigger(&self, row: &OrderRow) -> Option<Trigger> {
        self.triggers.get(&row.order).copied().or(row.trigger)
    }

    fn write_icebergs(&mut self, icebergs: &IcebergRows) {
        let opened = icebergs.opened().iter().filter_map(|row| Some((row.order, (row.display?, Shares::ZERO))));
        self.icebergs.extend(opened);
        for row in icebergs.changed() {
            if let Some((_, hidden)) = self.icebergs.get_mut(&row.order) {
                *hidden = row.hidden;
            }
            if let Some(turn) = row.turn {
                self.queue(row.order, turn);
            }
        }
    }

    /// Notes that an order came to the end of a queue. It may have come to another one later in the same batch.
    fn queue(&mut self, order: OrderId, turn: QueueRank) {
        let came = self.queued.entry(order).or_insert(turn);
        *came = turn.max(*came);
    }

    /// The turn at which an order came to the end of its queue.
    fn came(&self, row: &OrderRow) -> QueueRank {
        self.queued.get(&row.order).copied().unwrap_or(QueueRank { sequence: row.sequence, nth: 0 })
    }

    /// The place of an order's last execution, and whether the order was the aggressor.
    fn last_execution(&self, order: OrderId) -> Option<(usize, bool)> {
        let place = self.executions.iter().rposition(|trade| trade.side_of(order).is_some())?;
        Some((place, self.executions[place].aggressor_order == order))
    }

    /// The market, as a start reads it.
    pub fn state_items(&self) -> Vec<StateItem> {
        let Head { sequence, time, next_order, .. } = self.head;
        let mut items = vec![StateItem::Head { sequence, time, next_order }];
        items.extend(self.accounts.iter().map(|&(id, balance)| StateItem::Account { id, balance }));
        items.extend(self.symbols.iter().map(|&(name, issued)| StateItem::Symbol { name, issued }));
        let owned = self.positions.iter().filter(|(_, shares)| **shares != Position::ZERO);
        items.extend(owned.map(|(&(account, symbol), &shares)| StateItem::Position { account, symbol, shares }));
        items.extend(self.links.iter().map(|(&order, &partner)| StateItem::Link { order, partner }));
        items.extend(self.phases.iter().map(|(&symbol, &phase)| StateItem::Phase { symbol, phase }));
        let is_open = |order: &&OrderRow| {
            let elsewhere = self.waiting.contains_key(&order.order) || self.pending.contains_key(&order.order);
            !order.open.is_zero() && !elsewhere
        };
        let mut open: Vec<&OrderRow> = self.orders.values().filter(is_open).collect();
        open.sort_by_key(|order| {
            let (buy, sell) = match order.side {
                Side::Buy => (Some(Reverse(order.limit)), None),
                Side::Sell => (None, Some(order.limit)),
            };
            (order.symbol, order.side == Side::Sell, buy, sell, self.came(order))
        });
        for &&OrderRow { order, account, symbol, side, limit, open, kind, self_trade, .. } in &open {
            items.push(StateItem::Order { order, account, symbol, side, limit, open });
            let is_plain = (kind, self_trade) == (OrderKind::Limit, SelfTrade::Allowed);
            items.extend((!is_plain).then_some(StateItem::Kind { kind, self_trade }));
            items.extend(self.execution_items(order));
        }
        let watched = self.watches.iter();
        items.extend(watched.map(|(&symbol, &(last, left, references))| StateItem::Watch {
            symbol,
            last,
            left,
            references,
        }));
        items.extend(self.rules.iter().map(|(&symbol, &rules)| StateItem::Rules { symbol, rules }));
        let mut waiting: Vec<_> = self.waiting.iter().map(|(order, turn)| (turn, &self.orders[order])).collect();
        waiting.sort_by_key(|(turn, order)| {
            let place = turn.is_none().then_some((order.symbol, self.follows(order.order), self.trigger(order)));
            // Trailing stops of one trigger go by their ids.
            let came = (!self.follows(order.order)).then(|| self.came(order));
            (**turn, place, came, order.order)
        });
        for (turn, row) in waiting {
            let OrderRow { order, account, open: shares, .. } = *row;
            let placed = NewOrder { shares, trigger: self.trigger(row), ..row.placed() };
            match self.delayed.get(&order) {
                None => {
                    let trail = self.trails.get(&order).copied().filter(|_| self.follows(order));
                    items.push(StateItem::Stop { order, account, placed, is_reached: turn.is_some(), trail });
                }
                Some(&Delayed { is_under_way, goes_to: limit }) => {
                    let placed = NewOrder { limit, ..placed };
                    items.push(StateItem::Delayed { order, account, placed, is_under_way });
                    items.extend(self.execution_items(order));
                }
            }
        }
        let mut pending: Vec<_> = self.pending.iter().map(|(order, working)| (&self.orders[order], *working)).collect();
        let due = |working: OrderId| self.orders[&working].open.is_zero();
        pending.sort_by_key(|&(row, working)| (due(working).then(|| self.last_execution(working)), row.order));
        items.extend(pending.into_iter().map(|(row, working)| StateItem::Pending {
            order: row.order,
            account: row.account,
            placed: NewOrder { shares: row.open, ..row.placed() },
            working,
            is_due: due(working),
        }));
        let open = self.orders.values().filter(|row| !row.open.is_zero());
        let mut ending: Vec<_> = open.filter_map(|row| Some((row.until?, row.order))).collect();
        ending.sort_unstable();
        items.extend(ending.into_iter().map(|(until, order)| StateItem::Deadline { order, until }));
        for (&order, &(display, hidden)) in &self.icebergs {
            let (open, waits) = (self.orders[&order].open, self.waiting.contains_key(&order));
            let shown = if waits { Shares::ZERO } else { open.less(hidden.min(open)) };
            items.extend((!open.is_zero()).then_some(StateItem::Iceberg { order, display, shown }));
        }
        let stands = |done: Option<Time>| done.is_none_or(|done| time.0 < done.0 + DAY_US);
        for (&order, &(id, done)) in self.client_orders.iter().filter(|(_, (_, done))| stands(*done)) {
            let OrderRow { account, until, .. } = self.orders[&order];
            let trail = self.trails.get(&order).copied();
            let placed = self.orders[&order].placed();
            let placed = NewOrder { trigger: placed.trigger.filter(|_| trail.is_none()), ..placed };
            let display = self.icebergs.get(&order).map(|iceberg| iceberg.0);
            items.push(StateItem::ClientOrder { order, id, account, placed, until, display, trail, done });
        }
        items.extend(self.fees.all().map(|(symbol, tier, fees)| StateItem::Fees { symbol, tier, fees }));
        items.extend(self.fees.tiers().map(|(account, tier)| StateItem::Tier { account, tier }));
        items.extend(self.groups.all().map(|(account, group)| StateItem::Group { account, group }));
        let statuses = self.account_statuses.all();
        items.extend(statuses.map(|(account, status)| StateItem::AccountStatus { account, status }));
        items.extend(self.kills.all().map(|scope| StateItem::Kill { scope }));
        items.extend(self.protections.all().map(|(account, grace)| StateItem::Protection { account, grace }));
        items.extend(self.limits.iter().map(|(&account, &limits)| StateItem::Limits { account, limits }));
        items.extend(self.calendar.map(|through| StateItem::Calendar { through }));
        items
    }

    /// The result of a look-up: none for an order that was never placed or is open.
    pub fn done_order(&self, order: OrderId) -> Option<DoneOrder> {
        let row = self.orders.get(&order).filter(|row| row.open.is_zero())?;
        let account = self.accounts[row.account.0 as usize].0;
        let canceled = self.cancellations.get(&order).copied();
        let executions: Vec<Execution> = self.executions_of(order).collect();
        let all = executions_and_canceled(&executions, canceled);
        let reduced = self.reduced.get(&order).copied().unwrap_or(Shares::ZERO);
        assert_eq!(all.plus(reduced), row.shares, "shares of order {order} are nowhere");
        Some(DoneOrder { order, account, canceled, executions })
    }

    /// The executions of an order so far.
    pub fn executions_so_far(&self, order: OrderId) -> Vec<Execution> {
        self.executions_of(order).collect()
    }

    /// The executions of an order, or their sum if there are many.
    fn execution_items(&self, order: OrderId) -> Vec<StateItem> {
        let executions: Vec<Execution> = self.executions_of(order).collect();
        match Executed::of(&executions) {
            executed if executed.is_past() => vec![StateItem::Executed(executed)],
            _ => executions.into_iter().map(StateItem::Execution).collect(),
        }
    }

    fn executions_of(&self, order: OrderId) -> impl Iterator<Item = Execution> {
        self.executions.iter().filter_map(move |trade| Some(trade.execution(trade.side_of(order)?)))
    }
}

fn executions_and_canceled(executions: &[Execution], canceled: Option<Cancellation>) -> Shares {
    let shares = executions.iter().map(|execution| execution.shares).chain(canceled.map(|canceled| canceled.shares));
    shares.fold(Shares::ZERO, Shares::plus)
}

impl OrderRow {
    fn placed(&self) -> NewOrder<SymbolIndex> {
        let OrderRow { symbol, side, limit, shares, kind, trigger, self_trade, .. } = *self;
        NewOrder { symbol, side, limit, shares, kind, trigger, self_trade }
    }
}
