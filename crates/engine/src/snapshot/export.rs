//! Exports the state as a stream of items, and computes their hash. It reads the engine and changes nothing.

use terms::{
    AccountIndex, AccountLimits, AccountStatus, AuctionTies, Deadline, Distance, Executed, Execution, Fees, Iceberg,
    KillScope, LogMessage, MarketState, NewOrder, OrderId, OrderKind, SelfTrade, Sequence, Side, StateItem,
    SymbolIndex, SymbolRules, Time, Trail, Trigger,
};
use xxhash_rust::xxh3::Xxh3;

use crate::engine::Engine;
use crate::orders::client_ids::ClientOrder;
use crate::stops::state::Turn;

/// The engine's state for readers who know no engine.
impl MarketState for Engine {
    fn sequence(&self) -> Sequence {
        self.sequence
    }

    fn time(&self) -> Time {
        self.time
    }

    fn next_order(&self) -> OrderId {
        self.next_order
    }

    fn export(&self, visit: &mut dyn FnMut(StateItem)) {
        Engine::export(self, visit);
    }
}

impl Engine {
    /// Visits the state, item by item, in the order that [`StateItem`] describes. It leaves out done orders.
    pub fn export(&self, visit: &mut dyn FnMut(StateItem)) {
        visit(StateItem::Head { sequence: self.sequence, time: self.time, next_order: self.next_order });
        for account in self.accounts.all() {
            visit(StateItem::Account { id: account.id, balance: account.balance });
        }
        for listing in self.symbols.all() {
            visit(StateItem::Symbol { name: listing.name, issued: listing.issued });
        }
        for (account, symbol, shares) in self.positions.sorted() {
            visit(StateItem::Position { account, symbol, shares });
        }
        for (order, partner) in self.links.pairs() {
            visit(StateItem::Link { order, partner });
        }
        for (symbol, phase) in self.instruments.phases() {
            visit(StateItem::Phase { symbol, phase });
        }
        let mut executions = Vec::new();
        for symbol in 0..self.symbols.all().len() {
            let symbol = SymbolIndex(u32::try_from(symbol).expect("invariant: at most 2^32 - 1 symbols"));
            for side in [Side::Buy, Side::Sell] {
                self.export_side(symbol, side, &mut executions, visit);
            }
        }
        for (symbol, last, left) in self.stops.watches() {
            let references = self.instruments.references(symbol);
            visit(StateItem::Watch { symbol, last, left, references });
        }
        for (symbol, &rules) in self.instruments.all() {
            visit(StateItem::Rules { symbol, rules });
        }
        self.stops.walk(&self.orders, &mut |slot, turn| {
            let (order, account) = (self.orders.get(slot).id, self.orders.get(slot).account);
            let (placed, trail) = (self.stops.placed(&self.orders, slot), self.stops.trail(&self.orders, slot));
            let is_under_way = turn == Some(Turn::UnderWay);
            match turn {
                None => visit(StateItem::Stop { order, account, placed, is_reached: false, trail }),
                Some(Turn::Reached) => visit(StateItem::Stop { order, account, placed, is_reached: true, trail }),
                Some(Turn::Queued | Turn::UnderWay | Turn::Auction) => {
                    visit(StateItem::Delayed { order, account, placed, is_under_way });
                }
            }
            // An order that waits for its turn may have executed before: it is under way, or was amended.
            if matches!(turn, Some(Turn::Queued | Turn::UnderWay | Turn::Auction)) {
                self.export_executions(slot, &mut executions, visit);
            }
        });
        self.export_pendings(visit);
        for (until, order) in self.deadlines.all() {
            visit(StateItem::Deadline { order, until });
        }
        for (order, _) in self.icebergs.all() {
            let Iceberg { display, shown } = self.iceberg(order).expect("invariant: what shows a part is open");
            visit(StateItem::Iceberg { order, display, shown });
        }
        for &ClientOrder { id, account, order, placed, until, display, trail, done } in
            self.client_orders.standing(self.time)
        {
            visit(StateItem::ClientOrder { order, id, account, placed, until, display, trail, done });
        }
        for (symbol, tier, fees) in self.fees.all() {
            visit(StateItem::Fees { symbol, tier, fees });
        }
        for (account, tier) in self.fees.tiers() {
            visit(StateItem::Tier { account, tier });
        }
        for (account, group) in self.groups.all() {
            visit(StateItem::Group { account, group });
        }
        for (account, status) in self.account_statuses.all() {
            visit(StateItem::AccountStatus { account, status });
        }
        for scope in self.kills.all() {
            visit(StateItem::Kill { scope });
        }
        for (account, grace) in self.protections.all() {
            visit(StateItem::Protection { account, grace });
        }
        for (account, limits) in self.limits.all() {
            visit(StateItem::Limits { account, limits });
        }
        if let Some(through) = self.calendar_followed() {
            visit(StateItem::Calendar { through });
        }
        self.shared_log.all().for_each(|message| visit(StateItem::Message(message)));
        self.shared_log.phases().for_each(|(symbol, at)| visit(StateItem::PhaseChanged { symbol, at }));
    }

    fn export_side(
        &self,
        symbol: SymbolIndex,
        side: Side,
        executions: &mut Vec<Execution>,
        visit: &mut dyn FnMut(StateItem),
    ) {
        self.books.walk(symbol, side, &self.orders, &mut |level, slot| {
            let order = self.orders.get(slot);
            let (limit, open, account) = (level.price, self.open_of(slot), order.account);
            visit(StateItem::Order { order: order.id, account, symbol, side, limit, open });
            let (kind, self_trade) = self.orders.kind(slot);
            if (kind, self_trade) != (OrderKind::Limit, SelfTrade::Allowed) {
                visit(StateItem::Kind { kind, self_trade });
            }
            self.export_executions(slot, executions, visit);
        });
    }

    fn export_executions(&self, slot: u32, executions: &mut Vec<Execution>, visit: &mut dyn FnMut(StateItem)) {
        if let Some(executed) = self.orders.added_up(slot) {
            return visit(StateItem::Executed(executed));
        }
        executions.clear();
        self.orders.history(slot, executions);
        for execution in executions.iter() {
            visit(StateItem::Execution(*execution));
        }
    }

    /// A hash of the whole state: xxh3-64 over its items, integers little-endian. The same commands give the same
    /// hash on every machine and in every build.
    pub fn state_hash(&self) -> u64 {
        let mut hash = StateHash::new();
        self.export(&mut |item| hash.add(&item));
        hash.finish()
    }
}

/// The hash of a stream of state items.
pub struct StateHash {
    xxh3: Xxh3,
}

impl Default for StateHash {
    fn default() -> StateHash {
        StateHash::new()
    }
}

impl StateHash {
    /// The hash of no item.
    pub fn new() -> StateHash {
        StateHash { xxh3: Xxh3::new() }
    }

    /// Takes the next item.
    pub fn add(&mut self, item: &StateItem) {
        match *item {
            StateItem::Head { sequence, time, next_order } => {
                self.word(1);
                self.word(sequence.0);
                self.word(time.0);
                self.word(next_order.0);
            }
            StateItem::Account { id, balance } => {
                self.word(2);
                self.wide(id.packed());
                self.wide(balance.units() as u128);
            }
            StateItem::Symbol { name, issued } => {
                self.word(3);
                self.word(name.as_bytes().len() as u64);
                self.xxh3.update(name.as_bytes());
                self.wide(issued.units() as u128);
            }
            StateItem::Position { account, symbol, shares } => {
                self.word(4);
                self.names(account, symbol);
                self.wide(shares.units() as u128);
            }
            StateItem::Order { order, account, symbol, side, limit, open } => {
                self.word(match side {
                    Side::Buy => 5,
                    Side::Sell => 6,
                });
                self.word(order.0);
                self.names(account, symbol);
                self.word(limit.units() as u64);
                self.word(open.units() as u64);
            }
            StateItem::Kind { kind, self_trade } => {
                self.word(54);
                self.word(kind.code().into());
                self.word(self_trade.code().into());
            }
            StateItem::Execution(execution) => {
                self.word(7);
                self.word(execution.shares.units() as u64);
                self.word(execution.price.units() as u64);
                self.word(execution.time.0);
                if !execution.fee.is_none() {
                    self.word(22);
                    self.word(execution.fee.code().into());
                }
            }
            StateItem::Executed(Executed { executions, shares, money }) => {
                self.word(43);
                self.word(executions);
                self.word(shares.units() as u64);
                self.wide(money.units() as u128);
            }
            StateItem::Watch { symbol, last, left, references } => {
                self.word(14);
                self.word(symbol.0.into());
                self.word(last.map_or(0, |last| last.units() as u64));
                if !left.is_none() {
                    self.word(50);
                    self.word(left.up_to.map_or(0, |up_to| up_to.units() as u64));
                    self.word(left.down_to.map_or(0, |down_to| down_to.units() as u64));
                }
                if !references.is_none() {
                    self.word(51);
                    for reference in [references.dynamic, references.fixed] {
                        self.word(reference.map_or(0, |reference| reference.units() as u64));
                    }
                }
            }
            StateItem::Rules { symbol, ref rules } => {
                self.word(15);
                self.word(symbol.0.into());
                self.rules(rules);
            }
            StateItem::Stop { order, account, placed, is_reached, trail } => {
                self.side_and_kind(if is_reached { 12 } else { 10 }, &placed);
                self.word(order.0);
                self.terms(account, &placed);
                if trail.is_some() {
                    self.word(31);
                    self.word(Trail::code(trail) as u64);
                }
            }
            StateItem::Delayed { order, account, placed, is_under_way } => {
                self.side_and_kind(if is_under_way { 44 } else { 46 }, &placed);
                self.word(order.0);
                self.terms(account, &placed);
            }
            StateItem::Link { order, partner } => {
                self.word(16);
                self.word(order.0);
                self.word(partner.0);
            }
            StateItem::Phase { symbol, phase } => {
                self.word(23);
                self.word(symbol.0.into());
                self.word(phase.phase.code().into());
                self.word(phase.until.map_or(0, |until| until.0));
            }
            StateItem::Deadline { order, until } => {
                self.word(17);
                self.word(order.0);
                self.word(until.time().0);
            }
            StateItem::Iceberg { order, display, shown } => {
                self.word(26);
                self.word(order.0);
                self.word(display.units() as u64);
                self.word(shown.units() as u64);
            }
            StateItem::ClientOrder { order, id, account, placed, until, display, trail, done } => {
                self.side_and_kind(8, &placed);
                self.word(order.0);
                self.word(id.as_bytes().len() as u64);
                self.xxh3.update(id.as_bytes());
                self.terms(account, &placed);
                self.word(u64::from(done.is_some()));
                self.word(done.map_or(0, |done| done.0));
                if until.is_some() {
                    self.word(Deadline::code(until));
                }
                if let Some(display) = display {
                    self.word(27);
                    self.word(display.units() as u64);
                }
                if trail.is_some() {
                    self.word(32);
                    self.word(Trail::code(trail) as u64);
                }
            }
            StateItem::Fees { symbol, tier, fees: Fees { maker, taker, account } } => {
                self.word(20);
                self.word(tier.number().into());
                self.names(account, symbol);
                self.word(maker.millionths().into());
                self.word(taker.millionths().into());
            }
            StateItem::Tier { account, tier } => {
                self.word(21);
                self.word(account.0.into());
                self.word(tier.number().into());
            }
            StateItem::Group { account, group } => {
                self.word(33);
                self.word(account.0.into());
                self.word(group.number().into());
            }
            StateItem::AccountStatus { account, status: AccountStatus { transfers, is_closed } } => {
                self.word(55);
                self.word(account.0.into());
                self.word(transfers);
                self.word(is_closed.into());
            }
            StateItem::Kill { scope } => {
                let (kind, index) = match scope {
                    KillScope::Everything => (0, 0),
                    KillScope::Account(account) => (1, account.0),
                    KillScope::Symbol(symbol) => (2, symbol.0),
                };
                self.word(34);
                self.word(kind);
                self.word(index.into());
            }
            StateItem::Protection { account, grace } => {
                self.word(35);
                self.word(account.0.into());
                self.word(grace.millis().into());
            }
            StateItem::Limits { account, ref limits } => {
                self.word(36);
                self.word(account.0.into());
                self.limits(limits);
            }
            StateItem::Calendar { through } => {
                self.word(42);
                self.word(through.0);
            }
            StateItem::Message(LogMessage { position, node, epoch, number }) => {
                self.word(41);
                self.word(node.number().into());
                self.word(epoch.into());
                self.word(number);
                self.word(position);
            }
            StateItem::PhaseChanged { symbol, at } => {
                self.word(48);
                self.word(symbol.0.into());
                self.word(at.0);
            }
            StateItem::Pending { order, account, placed, working, is_due } => {
                self.side_and_kind(29, &placed);
                self.word(order.0);
                self.word(working.0);
                self.word(is_due.into());
                self.terms(account, &placed);
            }
        }
    }

    /// Adds the tag and the kind: `tag` for a buy, the next number for a sell.
    fn side_and_kind(&mut self, tag: u64, placed: &NewOrder<SymbolIndex>) {
        let tag = match placed.side {
            Side::Buy => tag,
            Side::Sell => tag.wrapping_add(1),
        };
        self.word(tag | (u64::from(placed.kind.code()) << 8) | (u64::from(placed.self_trade.code()) << 16));
    }

    /// Adds the account and the other terms of an order.
    fn terms(&mut self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) {
        let NewOrder { symbol, limit, shares, trigger, side: _, kind: _, self_trade: _ } = *placed;
        self.names(account, symbol);
        self.word(limit.units() as u64);
        self.word(shares.units() as u64);
        // Without a trigger the hash stays the one that engines before triggers computed.
        if trigger.is_some() {
            self.word(Trigger::code(trigger) as u64);
        }
    }

    fn rules(&mut self, rules: &SymbolRules) {
        let SymbolRules { tick, lot, shares_min, shares_max, value_min, value_max, band_up, band_down, .. } = *rules;
        let SymbolRules { is_halted, interruption, band_size, static_up, static_down, auction_ties, .. } = *rules;
        self.word(tick.units() as u64);
        for shares in [lot, shares_min, shares_max] {
            self.word(shares.units() as u64);
        }
        self.wide(value_min.units() as u128);
        self.wide(value_max.units() as u128);
        for distance in [band_up, band_down] {
            self.word(distance.map_or(0, Distance::hundredths).into());
        }
        self.word(is_halted.into());
        // Without an interruption the hash stays the one that engines before interruptions computed.
        if let Some(pause) = interruption {
            self.word(24);
            self.word(pause.seconds().into());
        }
        if band_size != SymbolRules::NONE.band_size || rules.has_static_band() {
            self.word(52);
            self.word(band_size.units() as u64);
            for distance in [static_up, static_down] {
                self.word(distance.map_or(0, Distance::hundredths).into());
            }
        }
        if auction_ties == AuctionTies::Pressure {
            self.word(53);
        }
    }

    fn limits(&mut self, limits: &AccountLimits) {
        let AccountLimits { open_orders, order_shares, order_value, position, collar } = *limits;
        self.word(open_orders.map_or(0, |most| most.get().into()));
        self.word(order_shares.units() as u64);
        self.wide(order_value.units() as u128);
        self.word(position.units() as u64);
        self.word(collar.map_or(0, Distance::hundredths).into());
    }

    fn names(&mut self, account: AccountIndex, symbol: SymbolIndex) {
        self.word((u64::from(account.0) << 32) | u64::from(symbol.0));
    }

    fn word(&mut self, word: u64) {
        self.xxh3.update(&word.to_le_bytes());
    }

    fn wide(&mut self, wide: u128) {
        self.xxh3.update(&wide.to_le_bytes());
    }

    /// The hash of all items added.
    pub fn finish(self) -> u64 {
        self.xxh3.digest()
    }
}
