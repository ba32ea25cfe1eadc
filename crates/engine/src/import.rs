//! Builds an engine from the items that `export` made. Checks that they make a sound exchange.

use std::fmt;

use terms::{
    AccountIndex, AccountLimits, Deadline, Fee, Fees, Grace, Group, KillScope, LogMessage, Money, NewOrder, OrderId,
    OrderKind, Phase, Position, Price, Shares, Side, StateItem, SymbolIndex, SymbolPhase, SymbolRules, Tier, Time,
    Trail, Trigger,
};

use crate::client_orders::ClientOrder;
use crate::engine::{DoneOrders, Engine};
use crate::stops::Turn;

/// The reason why a stream of items makes no exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The fault.
    pub fault: &'static str,
    /// The item with the fault, counted from 1.
    pub item: u64,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {} of the state: {}", self.item, self.fault)
    }
}

impl std::error::Error for ImportError {}

/// Builds an engine from the items that another one exported, in their order.
pub struct Importer {
    engine: Engine,
    items: u64,
    stage: Stage,
    /// The order to which the next executions belong.
    last_order: Option<LastOrder>,
    last_position: Option<(AccountIndex, SymbolIndex)>,
    last_client_order: Option<OrderId>,
    last_rules: Option<SymbolIndex>,
    last_stop: Option<LastStop>,
    last_deadline: Option<(Deadline, OrderId)>,
    last_link: Option<OrderId>,
    last_iceberg: Option<OrderId>,
    last_fees: Option<(SymbolIndex, Tier)>,
    last_tier: Option<AccountIndex>,
    last_group: Option<AccountIndex>,
    last_kill: Option<KillScope<AccountIndex, SymbolIndex>>,
    last_protection: Option<AccountIndex>,
    last_limits: Option<AccountIndex>,
    last_phase: Option<SymbolIndex>,
    last_pending: Option<(bool, OrderId)>,
    /// Shares of each symbol found so far, in positions and open sells.
    found: Vec<Position>,
}

#[derive(Clone, Copy)]
struct LastOrder {
    slot: u32,
    place: (SymbolIndex, Side),
    limit: Price,
    /// Whether the sum of its executions was in the stream.
    is_added_up: bool,
}

/// The sort key of the stop before.
type LastStop = (bool, SymbolIndex, bool, Option<Trigger>);

/// The stage of the stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Head,
    Accounts,
    Symbols,
    Positions,
    Links,
    Phases,
    Orders,
    Watches,
    Rules,
    Stops,
    Pendings,
    Deadlines,
    Icebergs,
    ClientOrders,
    Fees,
    Tiers,
    Groups,
    Kills,
    Protections,
    Limits,
    Calendar,
    Messages,
    PhaseChanges,
}

impl Importer {
    /// Makes an importer for an engine with this seed, see [`Engine::new`].
    pub fn new(hash_seed: u64, done_orders: DoneOrders) -> Importer {
        Importer {
            engine: Engine::new(hash_seed, done_orders),
            items: 0,
            stage: Stage::Head,
            last_order: None,
            last_position: None,
            last_client_order: None,
            last_rules: None,
            last_stop: None,
            last_deadline: None,
            last_link: None,
            last_iceberg: None,
            last_fees: None,
            last_tier: None,
            last_group: None,
            last_kill: None,
            last_protection: None,
            last_limits: None,
            last_phase: None,
            last_pending: None,
            found: Vec::new(),
        }
    }

    /// Adds the next item. Errors: the reason why it cannot stand here.
    pub fn add(&mut self, item: StateItem) -> Result<(), ImportError> {
        self.items = self.items.saturating_add(1);
        self.place(item).map_err(|fault| ImportError { fault, item: self.items })
    }

    /// The engine, once all items were added. Errors: missing or surplus shares.
    pub fn finish(mut self) -> Result<Engine, ImportError> {
        let fail = |fault| Err(ImportError { fault, item: self.items });
        if self.items == 0 {
            return fail("there are no items");
        }
        if self.engine.money_issued > Money::CAP {
            return fail("there is more money than may be created");
        }
        let issued = self.engine.symbols.all().iter().map(|listing| listing.issued);
        if !issued.eq(self.found.iter().copied()) {
            return fail("the shares of a symbol in positions and open sells are not those that were issued");
        }
        if self.engine.stops.watched() != self.engine.symbols.all().len() {
            return fail("a symbol without its last price: each that was listed has one, or none yet");
        }
        if self.engine.stops.being_reached().into_iter().any(|symbol| !self.engine.stops.check_left(symbol)) {
            return fail("triggers that are left in a symbol, and none is");
        }
        if !self.are_links_sound() {
            return fail("two orders are linked that are not open or are no pair");
        }
        self.engine.client_orders.sort_done();
        self.engine.count_limited();
        self.engine.find_kills_going_on();
        Ok(self.engine)
    }

    fn place(&mut self, item: StateItem) -> Result<(), &'static str> {
        if self.items == 1 && !matches!(item, StateItem::Head { .. }) {
            return Err("a first item that is no head");
        }
        match item {
            StateItem::Head { sequence, time, next_order } => {
                if self.items != 1 || next_order == OrderId(0) {
                    return Err("a head that is not the first item or is not sound");
                }
                (self.engine.sequence, self.engine.time, self.engine.next_order) = (sequence, time, next_order);
                self.advance(Stage::Accounts)
            }
            StateItem::Account { id, balance } => {
                self.advance(Stage::Accounts)?;
                if self.engine.accounts.find(id).is_some() || balance.is_negative() || balance > Money::CAP {
                    return Err("an account that is there twice or has an impossible balance");
                }
                self.engine.accounts.create(id, balance);
                self.add_money(balance)
            }
            StateItem::Symbol { name, issued } => {
                self.advance(Stage::Symbols)?;
                if self.engine.symbols.find(name).is_some() || issued.is_negative() || issued > Position::CAP {
                    return Err("a symbol that is there twice or has an impossible number of shares");
                }
                self.engine.symbols.create(name, issued);
                self.engine.books.create();
                self.found.push(Position::ZERO);
                Ok(())
            }
            StateItem::Position { account, symbol, shares } => {
                self.advance(Stage::Positions)?;
                if shares.is_negative() || shares == Position::ZERO || shares > Position::CAP {
                    return Err("an impossible position");
                }
                self.check_names(account, symbol)?;
                if self.last_position.replace((account, symbol)).is_some_and(|last| last >= (account, symbol)) {
                    return Err("a position before its turn, or twice");
                }
                self.add_shares(symbol, shares);
                self.engine.positions.credit(account, symbol, shares);
                Ok(())
            }
            StateItem::Link { order, partner } => {
                self.advance(Stage::Links)?;
                self.add_link(order, partner)
            }
            StateItem::Phase { symbol, phase } => {
                self.advance(Stage::Phases)?;
                self.add_phase(symbol, phase)
            }
            StateItem::Order { order, account, symbol, side, limit, open } => {
                self.advance(Stage::Orders)?;
                self.check_names(account, symbol)?;
                self.add_order(order, account, (symbol, side), limit, open)
            }
            StateItem::Execution(execution) => {
                self.advance_to_executions()?;
                let Some(last) = self.last_order else { return Err("an execution without an order") };
                if execution.shares.is_zero() {
                    return Err("an execution of no shares");
                }
                if Fee::on(last.place.1, execution.fee.rate()) != execution.fee {
                    return Err("a fee of another side's order");
                }
                if last.is_added_up {
                    return Err("an execution behind what all of them come to");
                }
                self.engine.orders.note_execution(last.slot, execution);
                Ok(())
            }
            StateItem::Executed(executed) => {
                self.advance_to_executions()?;
                let Some(last) = &mut self.last_order else { return Err("executions without an order") };
                let orders = &mut self.engine.orders;
                if !orders.is_unexecuted(last.slot) || !executed.is_sound(orders.get(last.slot).open) {
                    return Err("executions of an order that cannot have come to this");
                }
                last.is_added_up = true;
                orders.restore_executed(last.slot, executed);
                Ok(())
            }
            StateItem::Watch { symbol, last, left } => {
                self.advance(Stage::Watches)?;
                if symbol.0 as usize >= self.engine.symbols.all().len() {
                    return Err("the last price of a symbol that was not listed");
                }
                if symbol.0 as usize != self.engine.stops.watched() {
                    return Err("a last price out of its turn: each symbol has one or none, in their order");
                }
                if !left.is_sound(last) {
                    return Err("triggers that are left of prices between which the last one does not lie");
                }
                self.engine.stops.watch_next(last, left);
                Ok(())
            }
            StateItem::Rules { symbol, rules } => {
                self.advance(Stage::Rules)?;
                self.add_rules(symbol, &rules)
            }
            StateItem::Stop { order, account, placed, is_reached, trail } => {
                self.advance(Stage::Stops)?;
                self.check_names(account, placed.symbol)?;
                self.last_order = None;
                self.add_stop(order, account, &placed, is_reached, trail)
            }
            StateItem::Delayed { order, account, placed, is_under_way } => {
                self.advance(Stage::Stops)?;
                self.check_names(account, placed.symbol)?;
                self.add_delayed(order, account, &placed, is_under_way)
            }
            StateItem::Pending { order, account, placed, working, is_due } => {
                self.advance(Stage::Pendings)?;
                self.check_names(account, placed.symbol)?;
                self.check_order(order, placed.shares)?;
                // Orders whose release is due have an order of their own.
                let is_behind = |last: (bool, OrderId)| if is_due { last.0 <= is_due } else { last < (is_due, order) };
                if !self.last_pending.replace((is_due, order)).is_none_or(is_behind) {
                    return Err("an order that waits for another one before its turn");
                }
                self.engine.restore_pending(order, account, &placed, working, is_due)
            }
            StateItem::Deadline { order, until } => {
                self.advance(Stage::Deadlines)?;
                self.add_deadline(order, until)
            }
            StateItem::Iceberg { order, display, shown } => {
                self.advance(Stage::Icebergs)?;
                if self.last_iceberg.replace(order).is_some_and(|last| last >= order) {
                    return Err("an order that shows a part before its turn, or twice");
                }
                self.engine.restore_iceberg(order, display, shown)
            }
            StateItem::ClientOrder { order, id, account, placed, until, display, trail, done } => {
                self.advance(Stage::ClientOrders)?;
                self.check_names(account, placed.symbol)?;
                self.add_client_order(ClientOrder { id, account, order, placed, until, display, trail, done })
            }
            StateItem::Fees { symbol, tier, fees } => {
                self.advance(Stage::Fees)?;
                self.check_names(fees.account, symbol)?;
                self.add_fees(symbol, tier, fees)
            }
            StateItem::Tier { account, tier } => {
                self.advance(Stage::Tiers)?;
                self.add_tier(account, tier)
            }
            StateItem::Group { account, group } => {
                self.advance(Stage::Groups)?;
                self.add_group(account, group)
            }
            StateItem::Kill { scope } => {
                self.advance(Stage::Kills)?;
                self.add_kill(scope)
            }
            StateItem::Protection { account, grace } => {
                self.advance(Stage::Protections)?;
                self.add_protection(account, grace)
            }
            StateItem::Limits { account, limits } => {
                self.advance(Stage::Limits)?;
                self.add_limits(account, limits)
            }
            StateItem::Calendar { through } => {
                self.advance(Stage::Calendar)?;
                self.add_calendar(through)
            }
            StateItem::Message(message) => {
                self.advance(Stage::Messages)?;
                self.add_message(message)
            }
            StateItem::PhaseChanged { symbol, at } => {
                self.advance(Stage::PhaseChanges)?;
                self.add_phase_change(symbol, at)
            }
        }
    }

    fn add_order(
        &mut self,
        order: OrderId,
        account: AccountIndex,
        place: (SymbolIndex, Side),
        limit: Price,
        open: Shares,
    ) -> Result<(), &'static str> {
        self.check_order(order, open)?;
        if let Some(last) = self.last_order.filter(|last| last.place == place) {
            let worse = match place.1 {
                Side::Buy => limit < last.limit,
                Side::Sell => limit > last.limit,
            };
            if !worse && limit != last.limit {
                return Err("an order before its turn in price");
            }
        }
        if self.last_order.is_some_and(|last| last.place > place) {
            return Err("an order on a book before its turn");
        }
        let (symbol, side) = place;
        self.add_held(order, &NewOrder::limit(symbol, side, limit, open))?;
        let slot = self.engine.orders.insert(order, account, open);
        self.engine.books.rest((symbol, side, limit), slot, open, &mut self.engine.orders);
        if self.engine.phase(symbol).phase == Phase::Open && !self.engine.is_uncrossed(symbol) {
            return Err("a book whose best bid is not below its best ask");
        }
        self.last_order = Some(LastOrder { slot, place, limit, is_added_up: false });
        Ok(())
    }

    fn add_phase(&mut self, symbol: SymbolIndex, phase: SymbolPhase) -> Result<(), &'static str> {
        if symbol.0 as usize >= self.engine.symbols.all().len() {
            return Err("a phase of a symbol that was not listed");
        }
        if self.last_phase.replace(symbol).is_some_and(|last| last >= symbol) {
            return Err("a phase before its turn, or twice");
        }
        if phase.phase == Phase::Open || !phase.is_sound() {
            return Err("a phase that is none");
        }
        self.engine.instruments.set_phase(symbol, phase);
        self.engine.stops.hold_back(symbol);
        Ok(())
    }

    fn add_rules(&mut self, symbol: SymbolIndex, rules: &SymbolRules) -> Result<(), &'static str> {
        if symbol.0 as usize >= self.engine.stops.watched() {
            return Err("rules of a symbol without its last price");
        }
        if self.last_rules.replace(symbol).is_some_and(|last| last >= symbol) {
            return Err("rules before their turn, or twice");
        }
        if *rules == SymbolRules::NONE || rules.check().is_err() {
            return Err("rules that say nothing, or that no order could obey");
        }
        self.engine.instruments.set(symbol, rules);
        Ok(())
    }

    fn add_stop(
        &mut self,
        order: OrderId,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        is_reached: bool,
        trail: Option<Trail>,
    ) -> Result<(), &'static str> {
        self.check_order(order, placed.shares)?;
        check_kind(placed)?;
        let NewOrder { symbol, shares, trigger: Some(trigger), .. } = *placed else {
            return Err("an order that waits for no price");
        };
        if symbol.0 as usize >= self.engine.stops.watched() {
            return Err("an order that waits for a price of a symbol without its last price");
        }
        // Stops with one trigger keep the order in which they came.
        let this = (is_reached, symbol, trail.is_some(), Some(trigger));
        let is_behind = |last: LastStop| if is_reached { last.0 <= is_reached } else { last <= this };
        if !self.last_stop.replace(this).is_none_or(is_behind) {
            return Err("an order that waits before its turn");
        }
        self.add_held(order, placed)?;
        let Engine { orders, stops, .. } = &mut self.engine;
        let slot = orders.insert(order, account, shares);
        if is_reached {
            stops.wait_for_turn(orders, slot, placed, Some(trigger), Turn::Reached);
            if trail.is_some() { Err("a stop that was reached and follows the market") } else { Ok(()) }
        } else if stops.last_price(symbol).is_some_and(|last| trigger.is_reached_by(last))
            && (trail.is_some() || !stops.triggers_left(symbol).reaches(trigger))
        {
            Err("a stop that the last price reaches")
        } else if let Some(trail) = trail {
            self.engine.restore_trailing(slot, placed, trigger, trail)
        } else {
            stops.wait(orders, slot, placed, trigger);
            Ok(())
        }
    }

    fn add_delayed(
        &mut self,
        order: OrderId,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        is_under_way: bool,
    ) -> Result<(), &'static str> {
        self.check_order(order, placed.shares)?;
        check_kind(placed)?;
        let NewOrder { symbol, side, limit, shares, kind, trigger, .. } = *placed;
        self.last_stop = Some((true, symbol, false, trigger));
        let turn = if is_under_way { Turn::UnderWay } else { Turn::Queued };
        if is_under_way && (self.engine.stops.is_under_way(symbol) || kind == OrderKind::FillOrKill) {
            return Err("an order that is under way where another one is, or of a kind that cannot be");
        }
        if !is_under_way && trigger.is_some() {
            return Err("an order that waits behind another one and for a price");
        }
        self.add_held(order, placed)?;
        let Engine { orders, stops, .. } = &mut self.engine;
        let slot = orders.insert(order, account, shares);
        stops.wait_for_turn(orders, slot, placed, trigger, turn);
        let last = LastOrder { slot, place: (symbol, side), limit, is_added_up: false };
        self.last_order = Some(last).filter(|_| is_under_way);
        Ok(())
    }

    /// Counts what an open order holds as issued. For a linked pair the second order adds only what it needs beyond the
    /// first.
    fn add_held(&mut self, order: OrderId, placed: &NewOrder<SymbolIndex>) -> Result<(), &'static str> {
        let partner = self.engine.links.partner_of(order).and_then(|partner| self.engine.orders.find(partner));
        let partner = partner.map(|slot| self.engine.standing_as(slot));
        match placed.side {
            Side::Buy => {
                let shared = partner.map_or(Money::ZERO, |partner| partner.held_money());
                if placed.held_money() > shared { self.add_money(placed.held_money().minus(shared)) } else { Ok(()) }
            }
            Side::Sell => {
                if partner.is_none() {
                    self.add_shares(placed.symbol, placed.shares.position());
                }
                Ok(())
            }
        }
    }

    fn add_link(&mut self, order: OrderId, partner: OrderId) -> Result<(), &'static str> {
        if order >= partner || self.last_link.replace(order).is_some_and(|last| last >= order) {
            return Err("a link before its turn, or twice");
        }
        if [order, partner].into_iter().any(|order| self.engine.links.partner_of(order).is_some()) {
            return Err("an order that is linked twice");
        }
        self.engine.links.link(order, partner);
        Ok(())
    }

    /// Whether both orders of each link exist and may be linked.
    fn are_links_sound(&self) -> bool {
        let engine = &self.engine;
        engine.links.pairs().all(|(one, other)| match (engine.orders.find(one), engine.orders.find(other)) {
            (Some(one), Some(other)) => engine.are_a_pair(one, other),
            _ => false,
        })
    }

    fn check_order(&self, order: OrderId, open: Shares) -> Result<(), &'static str> {
        if order >= self.engine.next_order || order == OrderId(0) || open.is_zero() {
            return Err("an order with an impossible id or nothing open");
        }
        match self.engine.orders.find(order) {
            Some(_) => Err("an order that is there twice"),
            None => Ok(()),
        }
    }

    fn add_deadline(&mut self, order: OrderId, until: Deadline) -> Result<(), &'static str> {
        if self.last_deadline.replace((until, order)).is_some_and(|last| last >= (until, order)) {
            return Err("a deadline before its turn, or twice");
        }
        if self.engine.orders.find(order).is_none() || self.engine.deadlines.of(order).is_some() {
            return Err("a deadline of an order that is not open, or has one");
        }
        self.engine.deadlines.insert(order, until);
        Ok(())
    }

    fn add_client_order(&mut self, client: ClientOrder) -> Result<(), &'static str> {
        let ClientOrder { id, account, order, placed, until, display, trail, done } = client;
        let now = self.engine.time;
        if trail.is_some() && placed.trigger.is_some() {
            return Err("a client order id for an order with a trigger that follows the market and stands still");
        }
        check_kind(&placed)?;
        if order >= self.engine.next_order || order == OrderId(0) || placed.shares.is_zero() {
            return Err("a client order id for an order with an impossible id or no shares");
        }
        if self.last_client_order.replace(order).is_some_and(|last| last >= order) {
            return Err("a client order id before its turn, or twice for one order");
        }
        if self.engine.client_orders.find(account, id, now).is_some() {
            return Err("a client order id that stands for two orders");
        }
        match (done, self.engine.orders.find(order)) {
            (None, Some(slot)) => {
                let shows = self.engine.icebergs.get(order).map(|iceberg| iceberg.display);
                let is_on_terms = self.engine.deadlines.of(order) == until && shows == display;
                if !self.is_as_placed(slot, account, &placed, trail) || !is_on_terms {
                    return Err("a client order id for an open order that is another one");
                }
                self.engine.client_orders.open(slot, client, now);
            }
            (Some(done), None) => {
                if done > now || !client.stands(now) {
                    return Err("a client order id that stands for an order no longer, or not yet");
                }
                self.engine.client_orders.restore_done(client);
            }
            (None, None) => return Err("a client order id for an open order that is on no book"),
            (Some(_), Some(_)) => return Err("a client order id for a done order that is on a book"),
        }
        Ok(())
    }

    /// Whether an open order equals the order as placed, less its executed and its canceled shares.
    fn is_as_placed(
        &self,
        slot: u32,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        trail: Option<Trail>,
    ) -> bool {
        let order = self.engine.orders.get(slot);
        if self.engine.stops.is_waiting(slot, order.level) {
            let waiting = self.engine.stops.placed(&self.engine.orders, slot);
            let trigger = if trail.is_some() { waiting.trigger } else { placed.trigger };
            let trails = self.engine.stops.trail(&self.engine.orders, slot);
            return order.account == account
                && (trails.is_none() || trails == trail)
                && waiting.shares <= placed.shares
                && waiting.as_placed() == NewOrder { shares: waiting.shares, trigger, ..*placed };
        }
        if let Some(pending) = self.engine.pendings.get(order.id) {
            return order.account == account && pending.placed == *placed;
        }
        let level = self.engine.books.level(order.level);
        let executed = i128::from(self.engine.orders.executed(slot).units());
        let all = i128::from(self.engine.open_of(slot).units()).saturating_add(executed);
        order.account == account
            && placed.kind.rests()
            && (level.symbol, level.side, level.price) == (placed.symbol, placed.side, placed.limit)
            && all <= i128::from(placed.shares.units())
    }

    fn add_fees(&mut self, symbol: SymbolIndex, tier: Tier, fees: Fees<AccountIndex>) -> Result<(), &'static str> {
        if self.last_fees.replace((symbol, tier)).is_some_and(|last| last >= (symbol, tier)) {
            return Err("fees before their turn, or twice");
        }
        if !fees.is_any() {
            return Err("fees of nothing");
        }
        self.engine.fees.set(symbol, tier, Some(fees));
        Ok(())
    }

    fn add_tier(&mut self, account: AccountIndex, tier: Tier) -> Result<(), &'static str> {
        if self.last_tier.replace(account).is_some_and(|last| last >= account) {
            return Err("the tier of an account before its turn, or twice");
        }
        if account.0 as usize >= self.engine.accounts.all().len() || tier == Tier::FIRST {
            return Err("the tier of an account that was not listed, or everybody's");
        }
        self.engine.fees.set_tier(account, tier);
        Ok(())
    }

    fn add_group(&mut self, account: AccountIndex, group: Group) -> Result<(), &'static str> {
        if self.last_group.replace(account).is_some_and(|last| last >= account) {
            return Err("the group of an account before its turn, or twice");
        }
        if account.0 as usize >= self.engine.accounts.all().len() || group == Group::NONE {
            return Err("the group of an account that was not listed, or none");
        }
        self.engine.groups.set(account, group);
        Ok(())
    }

    fn add_limits(&mut self, account: AccountIndex, limits: AccountLimits) -> Result<(), &'static str> {
        if self.last_limits.replace(account).is_some_and(|last| last >= account) {
            return Err("the limits of an account before their turn, or twice");
        }
        if account.0 as usize >= self.engine.accounts.all().len() {
            return Err("the limits of an account that was not listed");
        }
        if limits == AccountLimits::NONE || !limits.is_sound() {
            return Err("limits that say nothing, or that no order could obey");
        }
        self.engine.limits.set(account, limits);
        Ok(())
    }

    /// Adds a kill. All orders were added before it.
    fn add_kill(&mut self, scope: KillScope<AccountIndex, SymbolIndex>) -> Result<(), &'static str> {
        if self.last_kill.replace(scope).is_some_and(|last| last >= scope) {
            return Err("a kill before its turn, or twice");
        }
        let is_listed = match scope {
            KillScope::Everything => true,
            KillScope::Account(account) => (account.0 as usize) < self.engine.accounts.all().len(),
            KillScope::Symbol(symbol) => (symbol.0 as usize) < self.engine.symbols.all().len(),
        };
        if !is_listed {
            return Err("a kill of an account or symbol that was not listed");
        }
        self.engine.kills.set(scope, true);
        Ok(())
    }

    fn add_protection(&mut self, account: AccountIndex, grace: Grace) -> Result<(), &'static str> {
        if self.last_protection.replace(account).is_some_and(|last| last >= account) {
            return Err("the protection of an account before its turn, or twice");
        }
        if account.0 as usize >= self.engine.accounts.all().len() {
            return Err("the protection of an account that was not listed");
        }
        self.engine.protections.set(account, Some(grace));
        Ok(())
    }

    fn add_calendar(&mut self, through: Time) -> Result<(), &'static str> {
        if through == Time::ZERO || self.engine.calendar_followed().is_some() {
            return Err("a calendar that was followed twice, or up to the beginning of time");
        }
        self.engine.calendar = through;
        Ok(())
    }

    fn add_message(&mut self, message: LogMessage) -> Result<(), &'static str> {
        let log = &self.engine.shared_log;
        if log.all().any(|before| before.node >= message.node || before.position == message.position) {
            return Err("a message of the shared log before its turn, or twice");
        }
        if message.epoch == 0 || message.position == 0 {
            return Err("a message of the shared log that nobody can have written");
        }
        self.engine.shared_log.take(message);
        Ok(())
    }

    fn add_phase_change(&mut self, symbol: SymbolIndex, at: Time) -> Result<(), &'static str> {
        if self.engine.symbol_name(symbol).is_none() {
            return Err("a change of the phase of a symbol that was not listed");
        }
        let log = &mut self.engine.shared_log;
        if log.phases().any(|(before, _)| before >= symbol) {
            return Err("a change of a phase before its turn, or twice");
        }
        if log.position() == 0 {
            return Err("a change of a phase where no message of a shared log was taken");
        }
        log.note_phase(symbol, at);
        Ok(())
    }

    fn advance(&mut self, stage: Stage) -> Result<(), &'static str> {
        if stage < self.stage {
            return Err("an item out of its order");
        }
        self.stage = stage;
        Ok(())
    }

    /// Executions follow an order on a book, or one that is under way.
    fn advance_to_executions(&mut self) -> Result<(), &'static str> {
        if self.stage == Stage::Stops { Ok(()) } else { self.advance(Stage::Orders) }
    }

    fn check_names(&self, account: AccountIndex, symbol: SymbolIndex) -> Result<(), &'static str> {
        let known = (account.0 as usize) < self.engine.accounts.all().len()
            && (symbol.0 as usize) < self.engine.symbols.all().len();
        if known { Ok(()) } else { Err("an account or symbol that was not listed") }
    }

    fn add_money(&mut self, money: Money) -> Result<(), &'static str> {
        // One order's hold is below 10^38 units, and the sum so far at most 10^36: no overflow before the check.
        self.engine.money_issued = self.engine.money_issued.plus(money);
        if self.engine.money_issued > Money::CAP { Err("more money than may be created") } else { Ok(()) }
    }

    fn add_shares(&mut self, symbol: SymbolIndex, shares: Position) {
        let found = &mut self.found[symbol.0 as usize];
        *found = found.plus(shares);
    }
}

/// Checks that a post-only-move order has the kind that it gets when it is placed.
fn check_kind(placed: &NewOrder<SymbolIndex>) -> Result<(), &'static str> {
    if placed.kind == placed.kind.once_placed() { Ok(()) } else { Err("an order of a kind that no order is of") }
}
