//! Balances, positions and open orders rebuilt from events alone, to prove that events are enough for that.

use std::collections::{BTreeMap, BTreeSet};

use model::Model;
use terms::{
    AccountIndex, AccountLimits, AccountStatuses, CancelReason, ClientOrderId, Deadline, Event, Fees, Groups, Kills,
    Money, NewOrder, OrderId, Phase, Position, Price, Protections, Shares, Side, SymbolIndex, SymbolRules, Tier, Time,
    Trail, Trigger,
};

/// The market as a reader of events knows it.
#[derive(Default)]
pub struct Mirror {
    balances: BTreeMap<AccountIndex, Money>,
    positions: BTreeMap<(AccountIndex, SymbolIndex), Position>,
    open: BTreeMap<OrderId, Shares>,
    client_ids: BTreeMap<OrderId, ClientOrderId>,
    /// The deadlines, those of done orders included.
    deadlines: BTreeMap<OrderId, Deadline>,
    /// The links, both ways.
    links: BTreeMap<OrderId, OrderId>,
    /// The orders whose trigger was not reached, and those that are to be activated, in this order.
    waiting: BTreeMap<(SymbolIndex, Trigger), Vec<OrderId>>,
    /// The trailing stops with their present triggers, and the sides of all orders.
    trails: BTreeMap<OrderId, (Trail, Trigger)>,
    sides: BTreeMap<OrderId, Side>,
    reached: Vec<OrderId>,
    /// The orders among them that wait without a trigger; true for one under way.
    delayed: BTreeMap<OrderId, bool>,
    /// The order that the command placed, until it waits.
    arrived: Option<OrderId>,
    /// The pending orders, and their working orders.
    pending: BTreeMap<OrderId, OrderId>,
    rules: BTreeMap<SymbolIndex, SymbolRules>,
    /// The displays of icebergs, and their tips, those of done orders included.
    displays: BTreeMap<OrderId, Shares>,
    shown: BTreeMap<OrderId, Shares>,
    fees: BTreeMap<(SymbolIndex, Tier), Fees<AccountIndex>>,
    /// The tiers that events gave.
    tiers: BTreeMap<AccountIndex, Tier>,
    groups: Groups,
    statuses: AccountStatuses,
    kills: Kills,
    protections: Protections,
    /// The time up to which the calendar was followed.
    calendar: Option<Time>,
    /// The limits that events gave.
    limits: BTreeMap<AccountIndex, AccountLimits>,
    /// The symbols that are not open, and the symbols of all orders.
    closed: BTreeMap<SymbolIndex, Phase>,
    /// The delayed orders that wait for an auction.
    for_auction: BTreeSet<OrderId>,
    symbols: BTreeMap<OrderId, SymbolIndex>,
    /// The highest and the lowest price of executions since an order began to wait for one of them.
    rose: BTreeMap<SymbolIndex, Price>,
    fell: BTreeMap<SymbolIndex, Price>,
}

impl Mirror {
    pub fn hear(&mut self, event: &Event) {
        match *event {
            Event::AccountCreated { account, .. } => assert_eq!(self.balances.insert(account, Money::ZERO), None),
            Event::SymbolCreated { symbol, .. } => {
                assert_eq!(self.rules.insert(symbol, SymbolRules::NONE), None);
            }
            Event::RulesChanged { symbol, part } => {
                self.rules.get_mut(&symbol).expect("a symbol is there before its rules").set(part);
            }
            Event::FeesChanged { symbol, tier, fees } => {
                let before = match fees {
                    Some(fees) => self.fees.insert((symbol, tier), fees),
                    None => self.fees.remove(&(symbol, tier)),
                };
                assert_ne!(before, fees, "what is told has changed");
            }
            Event::TierChanged { account, tier } => {
                assert_ne!(self.tiers.insert(account, tier).unwrap_or_default(), tier, "what is told has changed");
            }
            Event::GroupChanged { account, group } => {
                assert_ne!(self.groups.of(account), group, "what is told has changed");
                self.groups.set(account, group);
            }
            Event::AccountStatusChanged { account, status } => {
                assert_ne!(self.statuses.of(account), status, "what is told has changed");
                self.statuses.set(account, status);
            }
            Event::KillChanged { scope, is_killed } => {
                assert_ne!(self.kills.is_killed(scope), is_killed, "what is told has changed");
                self.kills.set(scope, is_killed);
            }
            Event::CalendarFollowed { through } => self.calendar = Some(through),
            Event::ProtectionChanged { account, grace } => {
                assert_ne!(self.protections.of(account), grace, "what is told has changed");
                self.protections.set(account, grace);
            }
            Event::LimitsChanged { account, open_orders, order_shares, order_value, position, collar } => {
                let limits = AccountLimits { open_orders, order_shares, order_value, position, collar };
                assert_ne!(self.limits.insert(account, limits).unwrap_or_default(), limits, "what is told has changed");
            }
            Event::FeesTaken { maker, aggressor } => {
                assert!(!maker.is_none() || !aggressor.is_none(), "fees are of something");
            }
            Event::OrderOpened { order, placed: NewOrder { symbol, side, shares, trigger, .. }, .. } => {
                self.sides.insert(order, side);
                self.arrived = Some(order);
                assert_eq!(self.open.insert(order, shares), None);
                self.symbols.insert(order, symbol);
                self.wait(order, symbol, trigger);
            }
            Event::OrderPends { order, is_second, placed: NewOrder { symbol, side, shares, .. }, .. } => {
                self.sides.insert(order, side);
                assert_eq!(self.open.insert(order, shares), None);
                self.symbols.insert(order, symbol);
                self.pending.insert(order, Event::working(order, is_second));
            }
            Event::OrderReleased { order, placed: NewOrder { symbol, shares, trigger, .. }, .. } => {
                assert_eq!(self.open.get(&order), Some(&shares), "an order that waits has what it was asked with");
                self.arrived = Some(order);
                let working = self.pending.remove(&order).expect("it waited");
                assert!(!self.open.contains_key(&working), "the working order was executed");
                self.wait(order, symbol, trigger);
            }
            Event::TriggerReached { symbol, trigger } => {
                let reached = self.waiting.remove(&(symbol, trigger)).expect("somebody waits for what is reached");
                self.reached.extend(reached);
            }
            Event::OrderTriggered { order, placed, .. } => {
                assert_eq!(
                    self.open.get(&order),
                    Some(&placed.shares),
                    "an order that waits has what was not taken off"
                );
                self.arrived = None;
                self.take_turn(order);
                assert!(!self.delayed.contains_key(&order), "it waited for a price");
            }
            Event::OrderDelayed { order, is_under_way, placed } => {
                assert_eq!(self.open.get(&order), Some(&placed.shares), "what is delayed is what is open");
                assert!(!is_under_way || !self.is_under_way(placed.symbol), "one order of a symbol is under way");
                self.arrived = None;
                self.reached.push(order);
                assert_eq!(self.delayed.insert(order, is_under_way), None);
                if placed.kind.is_for_auction() {
                    self.for_auction.insert(order);
                }
            }
            Event::OrderResumed { order, placed, .. } => {
                assert_eq!(self.open.get(&order), Some(&placed.shares), "it has what was not taken off");
                self.arrived = None;
                self.take_turn(order);
                assert!(self.delayed.remove(&order).is_some(), "it waited for its turn");
            }
            Event::ClientOrderIdGiven { order, id } => {
                assert!(self.open.contains_key(&order), "an order is opened and then named");
                assert_eq!(self.client_ids.insert(order, id), None);
            }
            Event::ClientOrderDone { order } => {
                assert!(!self.open.contains_key(&order), "what is done has nothing open");
                assert!(self.client_ids.remove(&order).is_some(), "and was named");
            }
            Event::ClientOrderIdFreed { order } => {
                assert!(!self.open.contains_key(&order), "what is open keeps its name");
            }
            Event::PhaseChanged { symbol, phase, .. } if phase.phase == Phase::Open => {
                assert!(self.closed.remove(&symbol).is_some(), "what opens was not open");
            }
            Event::PhaseChanged { symbol, phase, .. } => drop(self.closed.insert(symbol, phase.phase)),
            Event::Executed { symbol, .. } if self.closed.contains_key(&symbol) => {
                panic!("it executes and is not open")
            }
            Event::Executed { symbol, aggressor, .. }
                if self.is_under_way(symbol) || (self.arrived == Some(aggressor) && self.delays(symbol)) =>
            {
                panic!("order {aggressor} trades through those that wait for their turn")
            }
            Event::Executed { symbol, maker, aggressor, price, shares, .. }
            | Event::Uncrossed { symbol, maker, aggressor, price, shares, .. } => {
                self.rose.entry(symbol).and_modify(|highest| *highest = price.max(*highest)).or_insert(price);
                self.fell.entry(symbol).and_modify(|lowest| *lowest = price.min(*lowest)).or_insert(price);
                for order in [maker, aggressor] {
                    assert!(!self.pending.contains_key(&order), "what waits for another order does not execute");
                    assert!(!self.links.contains_key(&order), "a linked order executes alone");
                }
                self.take(maker, shares);
                self.take(aggressor, shares);
                // Both orders of an auction's execution may be icebergs.
                for order in [maker, aggressor] {
                    if let Some(shown) = self.shown.get_mut(&order) {
                        *shown = shown.less(shares);
                    }
                }
            }
            Event::OrdersLinked { order, partner, .. } => {
                assert!(self.open.contains_key(&order) && self.open.contains_key(&partner), "linked orders are open");
                self.links.insert(order, partner);
                self.links.insert(partner, order);
            }
            Event::DeadlineGiven { order, until } => {
                assert!(self.open.contains_key(&order), "an order is opened and then given its deadline");
                assert_eq!(self.deadlines.insert(order, until), None);
            }
            Event::DisplayGiven { order, display } => {
                assert!(self.open.contains_key(&order), "an order is opened and then shows a part");
                assert_eq!(self.displays.insert(order, display), None);
            }
            Event::TrailGiven { order, trail } => {
                let is_it = |(_, orders): &(&(SymbolIndex, Trigger), &mut Vec<OrderId>)| orders.last() == Some(&order);
                let (&(_, trigger), orders) =
                    self.waiting.iter_mut().find(is_it).expect("it waits and was just opened");
                orders.pop();
                self.waiting.retain(|_, queue| !queue.is_empty());
                assert_eq!(self.trails.insert(order, (trail, trigger)), None);
            }
            Event::TrailReached { order, symbol, trigger } => {
                assert_eq!(self.trails.remove(&order).map(|(_, trigger)| trigger), Some(trigger), "it waited for that");
                assert_eq!(self.symbols[&order], symbol);
                self.wait(order, symbol, Some(trigger));
            }
            Event::TrailsMoved { symbol, side, price } => self.move_trails(symbol, side, price),
            Event::TipShown { order, shares, .. } => {
                assert!(!shares.is_zero() && shares <= self.displays[&order] && shares <= self.open[&order]);
                self.shown.insert(order, shares);
            }
            Event::OrderSetAside { order, symbol, .. } => {
                assert!(self.open.contains_key(&order), "what is amended is open");
                assert_eq!(self.symbols[&order], symbol);
            }
            Event::OrderAmended { order, keeps_place, trigger, open: shares, .. } => {
                assert_eq!(self.pending.get(&order), None, "it was placed");
                self.deadlines.remove(&order);
                self.displays.remove(&order);
                if keeps_place {
                    assert_eq!(self.open.get(&order), Some(&shares), "it has as many shares");
                    return;
                }
                assert!(!self.reached.contains(&order), "what waits for its turn keeps its place");
                assert!(self.open.insert(order, shares).is_some(), "what is amended is open");
                self.shown.remove(&order);
                self.trails.remove(&order);
                self.waiting.values_mut().for_each(|queue| queue.retain(|&waiting| waiting != order));
                self.waiting.retain(|_, queue| !queue.is_empty());
                self.arrived = Some(order);
                self.wait(order, self.symbols[&order], trigger);
            }
            Event::OrderReduced { order, shares, .. } => {
                assert!(!self.links.contains_key(&order), "a linked order is not reduced");
                self.take(order, shares);
                assert!(self.open.contains_key(&order), "an order that is reduced stays open");
            }
            Event::OrderCanceled { order, shares, why, .. } => {
                if let Some(partner) = self.links.remove(&order) {
                    self.links.remove(&partner);
                    assert_eq!(why, CancelReason::Linked, "the other one is canceled first");
                }
                assert_eq!(self.open.remove(&order), Some(shares), "a cancel tells all that was open");
                self.pending.remove(&order);
                self.reached.retain(|&reached| reached != order);
                self.delayed.remove(&order);
                self.for_auction.remove(&order);
                self.waiting.values_mut().for_each(|queue| queue.retain(|&waiting| waiting != order));
                self.waiting.retain(|_, queue| !queue.is_empty());
                self.trails.remove(&order);
            }
            Event::BalanceChanged { account, balance } => {
                self.balances.insert(account, balance);
            }
            Event::PositionChanged { account, symbol, shares } => {
                self.positions.insert((account, symbol), shares);
            }
        }
    }

    /// Panics unless it equals the model.
    pub fn check(&self, model: &Model) {
        assert_eq!(self.balances.len(), model.accounts().count(), "accounts heard of");
        assert!(self.kills.all().eq(model.kills().iter().copied()), "what is killed");
        assert!(self.protections.all().eq(model.protections()), "who is protected");
        assert_eq!(self.calendar, model.calendar_followed(), "how far the calendar was followed");
        for (&account, &balance) in &self.balances {
            assert_eq!(balance, model.balance(account), "the balance of {account:?} as events told it");
            assert_eq!(self.tiers.get(&account).copied().unwrap_or_default(), model.tier(account), "its tier");
            assert_eq!(self.groups.of(account), model.group(account), "its group");
            assert_eq!(self.statuses.of(account), model.account_status(account), "its status");
            for symbol in (0..model.symbols().count() as u32).map(SymbolIndex) {
                let heard = self.positions.get(&(account, symbol)).copied().unwrap_or(Position::ZERO);
                let message = "as events told it";
                assert_eq!(heard, model.position(account, symbol), "position of {account:?} in {symbol:?} {message}");
            }
        }
        for (&symbol, &rules) in &self.rules {
            assert_eq!(rules, model.rules(symbol), "the rules of {symbol:?} as events told them");
            for tier in Tier::all() {
                assert_eq!(self.fees.get(&(symbol, tier)).copied(), model.fees(symbol, tier), "the fees of {symbol:?}");
            }
        }
        assert_eq!(self.open.len(), model.open_orders().len(), "open orders heard of");
        for order in model.open_orders() {
            assert_eq!(self.open.get(&order.id), Some(&order.open), "what is open as events told it");
            assert_eq!(self.client_ids.get(&order.id), order.client_id.as_ref(), "its client order id");
            assert_eq!(self.deadlines.get(&order.id), order.until.as_ref(), "its deadline");
            assert_eq!(self.displays.get(&order.id), order.display.as_ref(), "how many it shows at a time");
            if order.display.is_some() && !order.waits && order.delayed.is_none() {
                assert_eq!(self.shown.get(&order.id), Some(&order.shown), "how many it shows now");
            }
            if let Some((_, trigger)) = self.trails.get(&order.id) {
                assert_eq!(Some(*trigger), order.trigger, "where its trigger is, as events told it");
            }
            assert_eq!(self.links.get(&order.id).copied(), model.partner(order.id), "what it is linked with");
            assert_eq!(self.pending.get(&order.id).copied(), order.pends_on, "what it waits for");
        }
        assert_eq!(
            self.reached.len(),
            model.all_reached_orders(),
            "orders that are to be activated, as events told it"
        );
        let named = model.open_orders().filter(|order| order.client_id.is_some()).count();
        assert_eq!(self.client_ids.len(), named, "open orders with client order ids heard of");
    }

    /// Notes a new order; with a trigger it waits for that.
    fn wait(&mut self, order: OrderId, symbol: SymbolIndex, trigger: Option<Trigger>) {
        let Some(trigger) = trigger else { return };
        self.waiting.entry((symbol, trigger)).or_default().push(order);
        // No order begins to wait where triggers are left, so those prices reach no further ones.
        let prices = if trigger.is_from_below() { &mut self.rose } else { &mut self.fell };
        if prices.get(&symbol).is_some_and(|price| trigger.is_reached_by(*price)) {
            prices.remove(&symbol);
        }
    }

    /// Whether executions of a symbol have reached fixed triggers that no command has reached.
    fn is_being_reached(&self, symbol: SymbolIndex) -> bool {
        let mut still = self.waiting.keys().filter(|(of, _)| *of == symbol).map(|(_, trigger)| *trigger);
        still.any(|trigger| {
            let price = if trigger.is_from_below() { self.rose.get(&symbol) } else { self.fell.get(&symbol) };
            price.is_some_and(|price| trigger.is_reached_by(*price))
        })
    }

    fn is_under_way(&self, symbol: SymbolIndex) -> bool {
        self.delayed.iter().any(|(order, is_under_way)| *is_under_way && self.symbols[order] == symbol)
    }

    fn delays(&self, symbol: SymbolIndex) -> bool {
        self.delayed.keys().any(|order| self.symbols[order] == symbol && !self.for_auction.contains(order))
    }

    /// Takes out an order whose turn it is: in its symbol the one under way comes before those that wait longer.
    fn take_turn(&mut self, order: OrderId) {
        let symbol = self.symbols[&order];
        let at = self.reached.iter().position(|&reached| reached == order).expect("it waits");
        let is_for_auction = self.for_auction.remove(&order);
        let is_before =
            |before: &OrderId| self.symbols[before] == symbol && self.for_auction.contains(before) == is_for_auction;
        let comes_first = match self.delayed.get(&order) {
            Some(true) => true,
            _ => !self.is_under_way(symbol) && !self.reached[..at].iter().any(is_before),
        };
        let is_kept_back = self.is_being_reached(symbol) && self.delayed.get(&order) != Some(&true);
        // Orders for an auction have their turns in one, among themselves.
        let has_turns = match is_for_auction {
            true => self.closed.get(&symbol) == Some(&Phase::Auction),
            false => !self.closed.contains_key(&symbol) && !is_kept_back,
        };
        let comes_first = comes_first || (is_for_auction && !self.reached[..at].iter().any(is_before));
        assert!(comes_first && has_turns, "order {order} has the turn of its symbol");
        self.reached.remove(at);
    }

    fn move_trails(&mut self, symbol: SymbolIndex, side: Side, price: Price) {
        let mut has_moved = false;
        for (order, (trail, trigger)) in &mut self.trails {
            let is_its = self.symbols[order] == symbol && self.sides[order] == side;
            if let Some(to) = trail.moved(side, *trigger, price).filter(|_| is_its) {
                *trigger = to;
                has_moved = true;
            }
        }
        assert!(has_moved, "what is told has moved");
    }

    fn take(&mut self, order: OrderId, shares: Shares) {
        let open = self.open.get_mut(&order).expect("an order that executes was opened");
        *open = open.less(shares);
        if open.is_zero() {
            self.open.remove(&order);
        }
    }
}
