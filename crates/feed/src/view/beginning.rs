//! The start of a view: from the market's state, and from what a history or a database knows beside it.

use std::collections::BTreeMap;

use exchange::TradeReader;
use history::History;
use slots::SpreadMap;
use terms::{
    AccountIndex, FeeSchedule, Groups, Kills, MarketState, NewOrder, OrderId, OrderKind, Protections, SelfTrade,
    Sequence, Side, StateItem, SymbolIndex, Time, Trigger,
};

use super::View;
use super::trails::Moves;
use crate::accounts::Accounts;
use crate::market::{FormerMarket, Listing};
use crate::orders::{In, Open, Orders, Terms};
use crate::remembered::Remembered;
use crate::symbols::{Changed, Names};

/// An open order: the time, kind and trigger with which it was placed, its self-trade prevention, the time at which it
/// was triggered, and the order that it was linked with.
pub type PlacedAs = (OrderId, Time, OrderKind, Option<Trigger>, SelfTrade, Option<Time>, Option<OrderId>);

/// Facts that a database knows and a state does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialHistory {
    /// The number that the next trade gets.
    pub next_trade: u64,
    /// The open orders.
    pub placed: Vec<PlacedAs>,
    /// The symbols that were traded.
    pub markets: Vec<FormerMarket>,
}

impl View {
    /// Builds the view from a market's state and a history, which may be behind or ahead of that state.
    pub fn new(market: &dyn MarketState, history: Option<&History>) -> View {
        let mut view = View {
            sequence: Sequence::ZERO,
            time: Time::ZERO,
            accounts: Accounts::default(),
            listings: Vec::new(),
            remembered: Remembered::new(),
            names: Names::default(),
            changed: Changed::default(),
            orders: Orders::new(),
            next_trade: history.map_or(1, History::next_trade),
            trades_known: history.map_or(Sequence::ZERO, History::through),
            recalled: Vec::new(),
            client_ids: SpreadMap::default(),
            links: SpreadMap::default(),
            moves: Moves::default(),
            fees: FeeSchedule::new(),
            groups: Groups::new(),
            kills: Kills::new(),
            protections: Protections::new(),
            limits: BTreeMap::new(),
            trade_reader: TradeReader::default(),
            arriving: None,
            transferring: false,
            notes: 0,
            news: Vec::new(),
            news_symbols: Vec::new(),
            symbol_changes: 0,
            clock: None,
        };
        let (mut last, mut links) = (None, Vec::new());
        market.export(&mut |item| {
            // Links come before their orders.
            if let StateItem::Link { order, partner } = item {
                links.push((order, partner));
            }
            view.take_in(item, &mut last);
        });
        links.into_iter().for_each(|(order, partner)| view.link(order, partner));
        // The state lists orders book by book.
        view.accounts.all_mut().for_each(|account| view.orders.sort(&mut account.orders, In::Account));
        view
    }

    /// Takes in what a database knows of the state that the view began with.
    pub(crate) fn recognize(&mut self, known: &InitialHistory) {
        self.next_trade = known.next_trade;
        for &(order, time, kind, trigger, self_trade, triggered, linked) in &known.placed {
            let Some(slot) = self.orders.find(order) else { continue };
            self.orders.set_placed(slot, time, kind, trigger);
            self.orders.set_self_trade(slot, self_trade);
            if let Some(time) = triggered {
                self.orders.set_triggered(slot, trigger, time);
            }
            if let Some(partner) = linked {
                self.orders.set_linked(slot, partner);
            }
        }
        for former in &known.markets {
            if !former.trades.is_empty() {
                self.share_memory(former.symbol);
            }
            self.listings[former.symbol.0 as usize].recognize(former, &mut self.remembered);
        }
    }

    /// Takes in one part of the state. `last`: the order that executions belong to.
    fn take_in(&mut self, item: StateItem, last: &mut Option<u32>) {
        match item {
            StateItem::Head { sequence, time, .. } => (self.sequence, self.time) = (sequence, time),
            StateItem::Account { id, balance } => self.accounts.add(id, balance),
            StateItem::Symbol { name, issued } => {
                let mut listing = Listing::new(name);
                listing.issued = issued;
                self.add_listing(listing);
            }
            StateItem::Position { account, symbol, shares } => {
                self.accounts.get_mut(account).holdings.change(symbol, |holding| holding.shares = shares);
            }
            StateItem::Order { order, account, symbol, side, limit, open } => {
                let slot = self.take_in_order(order, account, NewOrder::limit(symbol, side, limit, open));
                self.rest(slot);
                *last = Some(slot);
            }
            StateItem::Stop { order, account, placed, trail, .. } => {
                self.take_in_order(order, account, placed);
                if let Some(trail) = trail {
                    self.give_trail(order, trail);
                }
            }
            StateItem::Delayed { order, account, placed, .. } => {
                let slot = self.take_in_order(order, account, placed.as_placed());
                self.orders.set_delayed(slot, true);
                *last = Some(slot);
            }
            StateItem::Pending { order, account, placed, working, .. } => {
                let pends =
                    Open { pends_on: Some(working), waits: false, ..Open::of(order, account, placed, Time::ZERO) };
                self.enter_pending(pends);
            }
            StateItem::Watch { symbol, last, .. } => self.listings[symbol.0 as usize].reference = last,
            StateItem::Kind { kind, self_trade } => {
                let slot = last.expect("invariant: a kind follows its order");
                self.orders.set_kind(slot, kind, self_trade);
                if kind == OrderKind::AuctionMarket {
                    let Terms { symbol, side, limit, open, .. } = self.orders.terms(slot);
                    self.listings[symbol.0 as usize].book.count_market(side, limit, open.position());
                }
            }
            StateItem::Link { .. } => {}
            StateItem::Phase { symbol, phase } => self.listings[symbol.0 as usize].phase = phase,
            StateItem::Fees { symbol, tier, fees } => self.fees.set(symbol, tier, Some(fees)),
            StateItem::Tier { account, tier } => self.fees.set_tier(account, tier),
            StateItem::AccountStatus { account, status } => self.accounts.get_mut(account).status = status,
            StateItem::Group { account, group } => self.groups.set(account, group),
            StateItem::Kill { scope } => self.kills.set(scope, true),
            StateItem::Protection { account, grace } => self.protections.set(account, Some(grace)),
            StateItem::Message(_) | StateItem::PhaseChanged { .. } | StateItem::Calendar { .. } => {}
            StateItem::Limits { account, limits } => self.set_limits(account, limits),
            StateItem::Rules { symbol, rules } => self.listings[symbol.0 as usize].rules = rules,
            StateItem::Deadline { order, until } => {
                let slot = self.orders.find(order).expect("invariant: an order with a deadline is open");
                self.orders.set_until(slot, Some(until));
            }
            StateItem::Iceberg { order, display, shown } => self.begin_iceberg(order, display, shown),
            StateItem::ClientOrder { order, id, done, .. } => {
                if done.is_none() {
                    self.client_ids.insert(order, id);
                }
            }
            StateItem::Execution(execution) => {
                let slot = last.expect("invariant: an execution follows its order");
                self.orders.was_executed(slot, execution.shares, execution.price.times(execution.shares));
            }
            StateItem::Executed(executed) => {
                let slot = last.expect("invariant: what its executions come to follows its order");
                self.orders.was_executed(slot, executed.shares, executed.money);
            }
        }
    }
    /// Adds an open order to all but its book. It waits if it has a trigger.
    fn take_in_order(&mut self, order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex>) -> u32 {
        let NewOrder { symbol, side, shares: open, .. } = placed;
        let slot = self.enter(&Open::of(order, account, placed, Time::ZERO));
        // The issued shares include those that open orders hold.
        if side == Side::Sell {
            let listing = &mut self.listings[symbol.0 as usize];
            listing.issued = listing.issued.minus(open.position());
        }
        slot
    }
}
