//! The view: the market as it stands now, with its accounts, open orders, books and last trades. It is built from a
//! state once, and follows events from then on.

mod amendments;
mod beginning;
mod icebergs;
mod links;
mod past;
mod pendings;
mod phases;
mod trails;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

pub use beginning::InitialHistory;
use exchange::{EventBatch, Trade, TradeReader};
use foldhash::fast::RandomState;
use history::{Amended, AmendedTerms, Note, Noted, PastOrder};
use past::Recalled;
use slots::SpreadMap;
use terms::{
    AccountId, AccountIndex, AccountLimits, CancelReason, ClientOrderId, Event, FeeSchedule, Groups, KillScope, Kills,
    Money, NewOrder, OrderId, OrderKind, Phase, Position, Price, Protections, Sequence, Shares, Side, Symbol,
    SymbolIndex, Time,
};
use trails::Moves;

use crate::accounts::{Account, Accounts};
use crate::market::Listing;
use crate::orders::{In, Open, Orders, Terms};
use crate::prefetch::{AHEAD, FAR, Prefetch};
use crate::queue_position::QueuePosition;
use crate::remembered::Remembered;
use crate::symbols::{Changed, Names, SymbolFollowers};
use crate::terms_change::TermsChange;

/// The market as it stands after a command.
#[derive(Debug)]
pub struct View {
    sequence: Sequence,
    time: Time,
    accounts: Accounts,
    listings: Vec<Listing>,
    /// The share of each symbol in the trades and candles that memory keeps.
    remembered: Remembered,
    names: Names,
    /// The symbols that changed, for watchers of all symbols.
    changed: Changed,
    orders: Orders,
    next_trade: u64,
    /// The last command whose trades the history knew at the start: events up to it change only orders and accounts.
    trades_known: Sequence,
    /// Trades and candles that the history knew up to that command, by symbol, until they are put back.
    recalled: Vec<Recalled>,
    /// The client order ids of open orders that have one.
    client_ids: SpreadMap<OrderId, ClientOrderId, RandomState>,
    /// Linked orders, both ways.
    links: SpreadMap<OrderId, OrderId, RandomState>,
    /// The moves of triggers that follow the market.
    moves: Moves,
    /// The fees by symbol and tier.
    fees: FeeSchedule,
    /// The groups of accounts.
    groups: Groups,
    /// The scopes in which the kill switch refuses orders.
    kills: Kills,
    protections: Protections,
    /// The limits of accounts that have any.
    limits: BTreeMap<AccountIndex, AccountLimits>,
    trade_reader: TradeReader,
    /// The order that the current command places or has triggered last. It goes to its book, or waits, once all its
    /// executions are known.
    arriving: Option<Arriving>,
    /// Whether the next event is the effect of a transfer.
    transferring: bool,
    /// The number of notes that this command has made.
    notes: u32,
    news: Vec<News>,
    /// Symbols with news for watchers.
    news_symbols: Vec<SymbolIndex>,
    /// The number of levels and trades that watchers of symbols have to get, or more.
    symbol_changes: usize,
    clock: Option<MarketClock>,
}

/// Tells the time of the market.
#[derive(Clone)]
pub struct MarketClock(Arc<dyn Fn() -> Time + Send + Sync>);

impl MarketClock {
    pub fn new(tells: impl Fn() -> Time + Send + Sync + 'static) -> MarketClock {
        MarketClock(Arc::new(tells))
    }
}

impl fmt::Debug for MarketClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a clock that tells {}", (self.0)().0)
    }
}

#[derive(Clone, Copy, Debug)]
struct Arriving {
    slot: u32,
    sequence: Sequence,
    /// Money paid for what it executed.
    paid: Money,
}

/// An order with nothing open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndedOrder {
    /// The order at its end: nothing is open.
    pub order: Open,
    /// The name that its client gave it.
    pub client_id: Option<ClientOrderId>,
    /// Shares that were canceled.
    pub canceled: Shares,
    /// The reason of the cancel; `None` if nothing was canceled.
    pub why: Option<CancelReason>,
    /// The time at which it ended.
    pub time: Time,
    /// The command that ended it.
    pub sequence: Sequence,
}

/// News of a watched account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// The account's money changed, its number of transfers, or whether it may trade.
    Account(AccountIndex),
    /// The shares of a symbol that the account may sell changed.
    Shares(AccountIndex, SymbolIndex),
    /// A deposit of the account was made, or, with an amount below zero, a withdrawal.
    Transferred(AccountIndex, Transferred),
    /// An order of the account was placed.
    Placed(AccountIndex, PastOrder),
    /// An order of the account was opened or executed, and is open.
    Order(AccountIndex, OrderId),
    /// An order of the account ended.
    Ended(AccountIndex, EndedOrder),
    /// Shares were taken off an order of the account, and others of it are open; or it has other terms.
    Amended(AccountIndex, Amended, Option<TermsChange>),
    /// The account traded, on this side.
    Traded(AccountIndex, Trade, Side),
    /// An order of the account was triggered, linked, pends or was released.
    Noted(AccountIndex, Note),
}

/// The assets of one kind that a transfer moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transferred {
    Dollars(Money),
    Shares(SymbolIndex, Position),
}

impl News {
    /// Returns the account that the news are about.
    pub fn account(&self) -> AccountIndex {
        match self {
            News::Account(account)
            | News::Shares(account, _)
            | News::Transferred(account, _)
            | News::Placed(account, _)
            | News::Order(account, _)
            | News::Ended(account, _)
            | News::Amended(account, ..)
            | News::Traded(account, ..)
            | News::Noted(account, _) => *account,
        }
    }
}

impl View {
    /// Returns the last command whose events the view has followed.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// Returns the time of that command.
    pub fn time(&self) -> Time {
        self.time
    }

    /// Asks this clock for the time of the market from now on.
    pub fn follow_clock(&mut self, clock: MarketClock) {
        self.clock = Some(clock);
    }

    /// Returns the time that the next command would have; `None` for a view without a clock, such as one of the past.
    pub fn market_time(&self) -> Option<Time> {
        self.clock.as_ref().map(|clock| (clock.0)())
    }

    /// Returns all accounts, by index.
    pub fn accounts(&self) -> &[Account] {
        self.accounts.all()
    }

    pub fn account(&self, account: AccountIndex) -> &Account {
        self.accounts.get(account)
    }

    pub fn find_account(&self, id: AccountId) -> Option<AccountIndex> {
        self.accounts.find(id)
    }

    /// Returns all symbols, by index.
    pub fn listings(&self) -> &[Listing] {
        &self.listings
    }

    pub fn listing(&self, symbol: SymbolIndex) -> &Listing {
        &self.listings[symbol.0 as usize]
    }

    pub fn find_symbol(&self, name: Symbol) -> Option<SymbolIndex> {
        self.names.find(name)
    }

    /// Finds a symbol in any case. Of several that differ only in case it takes the one in capitals, else the first.
    pub fn find_symbol_in_any_case(&self, name: Symbol) -> Option<SymbolIndex> {
        self.names.find_in_any_case(name)
    }

    /// Finds the first symbol that equals the name in any case and is not all capitals.
    pub fn find_symbol_with_small_letters(&self, name: Symbol) -> Option<SymbolIndex> {
        self.names.find_with_small_letters(name)
    }

    pub fn fees(&self) -> &FeeSchedule {
        &self.fees
    }

    /// Returns the groups of accounts.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// Returns the scopes in which the kill switch refuses orders until it is released.
    pub fn kills(&self) -> &Kills {
        &self.kills
    }

    /// Returns the accounts whose orders are canceled when their client is gone.
    pub fn protections(&self) -> &Protections {
        &self.protections
    }

    /// Returns the limits of an account; no limits if it has none.
    pub fn account_limits(&self, account: AccountIndex) -> AccountLimits {
        self.limits.get(&account).copied().unwrap_or(AccountLimits::NONE)
    }

    /// Returns the number of accounts with limits.
    pub fn limited_accounts(&self) -> usize {
        self.limits.len()
    }

    /// Sets or releases a kill switch, and makes news for the watchers of the account or the symbol.
    fn change_kill(&mut self, scope: KillScope<AccountIndex, SymbolIndex>, is_killed: bool) {
        self.kills.set(scope, is_killed);
        match scope {
            KillScope::Everything => {}
            KillScope::Account(account) => self.tell(account, News::Account(account)),
            KillScope::Symbol(symbol) => self.changed.add(symbol),
        }
    }

    fn set_limits(&mut self, account: AccountIndex, limits: AccountLimits) {
        match limits {
            AccountLimits::NONE => self.limits.remove(&account),
            limits => self.limits.insert(account, limits),
        };
    }

    pub fn open_orders(&self) -> usize {
        self.orders.len()
    }

    /// Returns the number that the next trade gets.
    pub fn next_trade(&self) -> u64 {
        self.next_trade
    }

    pub fn open_order(&self, order: OrderId) -> Option<Open> {
        self.orders.find(order).map(|slot| self.orders.get(slot))
    }

    /// Returns the name that its client gave an open order.
    pub fn client_id(&self, order: OrderId) -> Option<ClientOrderId> {
        self.client_ids.get(order)
    }

    /// Lists the open orders of an account, newest first.
    pub fn orders_of(&self, account: AccountIndex) -> impl Iterator<Item = Open> {
        self.orders.backwards(self.accounts.get(account).orders, In::Account)
    }

    /// Lists the open orders of an account, oldest first.
    pub fn orders_since(&self, account: AccountIndex) -> impl Iterator<Item = Open> {
        self.orders.forwards(self.accounts.get(account).orders, In::Account)
    }

    /// Lists the open orders of its account that were placed before an order, newest first; `None` if the order is no
    /// longer open.
    pub fn orders_before(&self, order: OrderId) -> Option<impl Iterator<Item = Open>> {
        let slot = self.orders.find(order)?;
        Some(self.orders.backwards_from(slot, In::Account).skip(1))
    }

    /// Lists the open orders of its account that were placed after an order, oldest first; `None` if the order is no
    /// longer open.
    pub fn orders_after(&self, order: OrderId) -> Option<impl Iterator<Item = Open>> {
        let slot = self.orders.find(order)?;
        Some(self.orders.forwards_from(slot, In::Account).skip(1))
    }

    /// Lists the open orders of a side in the order in which they execute.
    pub fn queue(&self, symbol: SymbolIndex, side: Side) -> impl Iterator<Item = Open> {
        self.listing(symbol).book.queue(&self.orders, side)
    }

    /// Returns the queue position of an open order; `None` for an order that stands in no book.
    pub fn place(&self, order: OrderId) -> Option<QueuePosition> {
        let slot = self.orders.find(order)?;
        let Terms { symbol, .. } = self.orders.terms(slot);
        (!self.orders.is_in_no_book(slot)).then(|| QueuePosition::of(&self.listing(symbol).book, &self.orders, slot))
    }

    /// Sets whether the symbol's changes are gathered.
    pub fn watch_symbol(&mut self, symbol: SymbolIndex, watched: bool) {
        self.listings[symbol.0 as usize].watched = watched;
    }

    /// Sets whether these watchers follow the changes of all symbols.
    pub fn follow_symbols(&mut self, who: SymbolFollowers, followed: bool) {
        self.changed.follow(who, followed);
    }

    /// Takes the first `most` symbols that changed since these watchers got the last ones.
    pub fn take_changed_symbols(&mut self, who: SymbolFollowers, most: usize) -> Vec<SymbolIndex> {
        self.changed.take(who, most)
    }

    /// Adds a watcher of an account, or removes one.
    pub fn watch_account(&mut self, account: AccountIndex, watched: bool) {
        // The moves so far are counted for the watchers so far.
        self.tell_moves();
        let its = self.accounts.get_mut(account);
        its.watchers = if watched { its.watchers + 1 } else { its.watchers.saturating_sub(1) };
        let is_watched = its.is_watched();
        self.orders.followed.set_watched(account, is_watched);
    }

    /// Takes the news of watched accounts.
    pub fn take_news(&mut self) -> Vec<News> {
        self.tell_moves();
        std::mem::take(&mut self.news)
    }

    /// Returns at least the number of bytes that the waiting news take.
    pub fn gathered(&self) -> usize {
        (self.news.len() + self.moves.len()) * size_of::<News>() + self.symbol_changes * size_of::<Trade>()
    }

    /// Takes the watched symbols in which something happened.
    pub fn take_symbols(&mut self) -> Vec<SymbolIndex> {
        self.symbol_changes = 0;
        std::mem::take(&mut self.news_symbols)
    }

    /// Takes the levels of a symbol that changed, each once, and its trades. If levels changed, the book's number of
    /// updates goes up.
    pub fn take_symbol_news(&mut self, symbol: SymbolIndex) -> (Vec<(Side, Price)>, Vec<Trade>) {
        let listing = &mut self.listings[symbol.0 as usize];
        let mut touched = std::mem::take(&mut listing.touched);
        touched.sort_unstable();
        touched.dedup();
        if !touched.is_empty() {
            listing.update += 1;
        }
        (touched, std::mem::take(&mut listing.news))
    }

    /// Follows a turn's events.
    pub fn apply(&mut self, batch: &EventBatch) {
        let time = batch.time.unwrap_or(self.time);
        let events = &batch.events;
        for (at, (sequence, event)) in events.iter().enumerate() {
            if at % AHEAD == 0 && self.orders.len() >= FAR {
                let next = &events[at..];
                self.ahead().look(&next[..next.len().min(AHEAD)]);
            }
            if *sequence != self.sequence {
                self.arrive();
                self.recall_before(*sequence);
                self.sequence = *sequence;
                self.time = time;
                self.notes = 0;
            }
            self.follow(event);
        }
        self.arrive();
        self.sequence = batch.through.unwrap_or(self.sequence).max(self.sequence);
        self.time = time;
        self.recall_before(self.sequence.next());
    }

    fn ahead(&self) -> Prefetch<'_> {
        Prefetch { accounts: &self.accounts, listings: &self.listings, orders: &self.orders }
    }

    /// Whether memory has what the history knew of trades and candles at the start.
    pub(crate) fn has_put_back(&self) -> bool {
        self.recalled.is_empty()
    }

    /// Puts back what the history knew of trades, once all events up to there were followed.
    fn recall_before(&mut self, next: Sequence) {
        if next > self.trades_known && !self.recalled.is_empty() {
            self.put_back();
        }
    }

    fn follow(&mut self, event: &Event) {
        match *event {
            Event::AccountCreated { id, .. } => self.accounts.add(id, Money::ZERO),
            Event::SymbolCreated { name, symbol } => {
                self.add_listing(Listing::new(name));
                self.changed.add(symbol);
            }
            Event::RulesChanged { symbol, part } => {
                self.listings[symbol.0 as usize].rules.set(part);
                self.changed.add(symbol);
            }
            Event::FeesChanged { symbol, tier, fees } => self.fees.set(symbol, tier, fees),
            Event::TierChanged { account, tier } => self.fees.set_tier(account, tier),
            Event::AccountStatusChanged { account, status } => {
                let before = std::mem::replace(&mut self.accounts.get_mut(account).status, status);
                self.transferring = before.transfers != status.transfers;
                self.tell(account, News::Account(account));
            }
            Event::GroupChanged { account, group } => self.groups.set(account, group),
            Event::KillChanged { scope, is_killed } => self.change_kill(scope, is_killed),
            Event::ProtectionChanged { account, grace } => self.protections.set(account, grace),
            // Only the sequencer needs it, which follows the calendar.
            Event::CalendarFollowed { .. } => {}
            Event::LimitsChanged { account, open_orders, order_shares, order_value, position, collar } => {
                let limits = AccountLimits { open_orders, order_shares, order_value, position, collar };
                self.set_limits(account, limits);
            }
            Event::FeesTaken { maker, aggressor } => self.trade_reader.take_fees(maker, aggressor),
            Event::PhaseChanged { symbol, phase, last } => self.change_phase(symbol, phase, last),
            Event::Uncrossed { maker, aggressor, .. } => self.uncrossed(event, [maker, aggressor]),
            Event::BalanceChanged { account, balance } => {
                let before = std::mem::replace(&mut self.accounts.get_mut(account).balance, balance);
                self.tell_transfer(account, || Transferred::Dollars(balance.minus(before)));
                self.tell(account, News::Account(account));
            }
            Event::PositionChanged { account, symbol, shares } => {
                let listing = &mut self.listings[symbol.0 as usize];
                let mut moved = Position::ZERO;
                self.accounts.get_mut(account).holdings.change(symbol, |holding| {
                    moved = shares.minus(holding.shares);
                    listing.issued = listing.issued.plus(moved);
                    holding.shares = shares;
                });
                self.tell_transfer(account, || Transferred::Shares(symbol, moved));
                self.changed.add(symbol);
                self.tell(account, News::Shares(account, symbol));
            }
            Event::OrderOpened { order, account, placed } => {
                let open = Open::of(order, account, placed, self.time);
                let slot = self.enter(&open);
                if self.accounts.get(account).is_watched() {
                    self.news.push(News::Placed(account, open.placed(self.sequence)));
                }
                self.arriving = Some(Arriving { slot, sequence: self.sequence, paid: Money::ZERO });
            }
            Event::OrderPends { .. } => self.pend(event),
            Event::OrderReleased { order, account, placed } => self.release(order, account, &placed),
            Event::OrderTriggered { order, account, placed } => {
                self.arrive();
                let slot = self.find(order);
                self.orders.triggered(slot, self.time);
                self.note_trigger(order, account, &placed);
                self.arriving = Some(Arriving { slot, sequence: self.sequence, paid: Money::ZERO });
            }
            Event::OrderDelayed { order, .. } => {
                let slot = self.find(order);
                self.orders.set_delayed(slot, true);
                self.arrive();
            }
            Event::OrderResumed { order, .. } => {
                self.arrive();
                let slot = self.find(order);
                self.orders.set_delayed(slot, false);
                let paid = self.orders.get(slot).money;
                self.arriving = Some(Arriving { slot, sequence: self.sequence, paid });
            }
            Event::ClientOrderIdGiven { order, id } => {
                self.client_ids.insert(order, id);
                // The order's placing is among the last two pieces of news: at most one comes behind it, with the
                // trigger or the order that it waits for.
                for news in self.news.iter_mut().rev().take(2) {
                    if let News::Placed(_, placed) = news
                        && placed.order == order
                    {
                        placed.client_id = Some(id);
                    }
                }
            }
            Event::OrdersLinked { order, partner, account, symbol, side } => {
                self.count_shares_once(partner);
                self.link(order, partner);
                for (order, partner) in [(order, partner), (partner, order)] {
                    self.note(order, (account, symbol, side), Noted::Linked(partner));
                }
            }
            Event::DisplayGiven { order, display } => {
                self.give_display(order, display);
                self.amended_to(order, |after| after.display = Some(display));
            }
            Event::TipShown { order, shares, stands_last, .. } => self.show_tip(order, shares, stands_last),
            Event::TrailGiven { order, trail } => self.give_trail(order, trail),
            Event::TrailsMoved { symbol, side, price } => self.move_trails(symbol, side, price),
            Event::TrailReached { order, trigger, .. } => self.reach_trail(order, trigger),
            Event::DeadlineGiven { order, until } => {
                let slot = self.find(order);
                self.orders.set_until(slot, Some(until));
                self.amended_to(order, |after| after.until = Some(until));
            }
            // The next event says what the order is from now on.
            Event::OrderSetAside { .. } => {}
            Event::OrderAmended { .. } => self.amend(event),
            Event::OrderReduced { order, account, shares, why, .. } => {
                let slot = self.find(order);
                let after = self.orders.get(slot).shares.less(shares);
                self.note_amendment(slot, after, why, None);
                if self.orders.pends(slot) {
                    self.orders.reduce(slot, shares);
                    return;
                }
                self.hold(slot, shares, false);
                let hidden = self.hidden(slot);
                self.orders.reduce(slot, shares);
                let arrives = self.arriving.as_ref().is_some_and(|arriving| arriving.slot == slot);
                // Another event says what an iceberg shows then.
                if !arrives && !self.orders.is_in_no_book(slot) && self.orders.iceberg(slot).is_none() {
                    self.leave_book(slot, shares, false);
                }
                if !arrives {
                    self.hide(slot, self.hidden(slot).minus(hidden));
                    self.tell(account, News::Order(account, order));
                }
            }
            // Only the engine needs to know when the id is free again, and which orders are to be activated.
            Event::ClientOrderDone { .. } | Event::ClientOrderIdFreed { .. } | Event::TriggerReached { .. } => {}
            Event::Executed { maker, aggressor, .. } => self.executed(event, maker, aggressor),
            Event::OrderCanceled { order, shares, why, .. } => {
                self.unlink(order);
                let slot = self.find(order);
                if self.orders.pends(slot) {
                    return self.end_pending(slot, shares, why);
                }
                let shown = self.orders.iceberg(slot).map_or(shares, |iceberg| iceberg.shown);
                let hidden = self.hidden(slot);
                let paid = self.take_shares(slot, shares, Money::ZERO);
                // An order that never rests is canceled as it arrives.
                let arrives = self.arriving.take_if(|arriving| arriving.slot == slot).is_some();
                if !arrives && !self.orders.is_in_no_book(slot) {
                    self.hide(slot, Position::ZERO.minus(hidden));
                    self.leave_book(slot, shown, true);
                }
                self.end(slot, shares, Some(why), paid);
            }
        }
    }

    /// Notes that an order was triggered.
    fn note_trigger(&mut self, order: OrderId, account: AccountIndex, placed: &NewOrder<SymbolIndex>) {
        let NewOrder { symbol, side, trigger, .. } = *placed;
        let what = Noted::Triggered(trigger.expect("invariant: what is triggered had a trigger"));
        self.note(order, (account, symbol, side), what);
    }

    /// Notes that an order has these shares from now on, executed ones included, or other terms.
    fn note_amendment(&mut self, slot: u32, after: Shares, why: CancelReason, terms: Option<AmendedTerms>) {
        let open = self.orders.get(slot);
        let Open { order, account, symbol, side, shares: before, .. } = open;
        let (time, sequence, next_trade, place) = (self.time, self.sequence, self.next_trade, self.notes);
        self.notes += 1;
        let amended = Amended { order, symbol, side, before, after, why, time, sequence, next_trade, place, terms };
        self.tell(account, News::Amended(account, amended, terms.map(|terms| TermsChange::of(&open, terms))));
    }

    /// Notes what befell an order.
    fn note(&mut self, order: OrderId, (account, symbol, side): (AccountIndex, SymbolIndex, Side), what: Noted) {
        let (time, sequence, next_trade, place) = (self.time, self.sequence, self.next_trade, self.notes);
        self.notes += 1;
        let note = Note { order, account, symbol, side, what, time, sequence, next_trade, place };
        self.tell(account, News::Noted(account, note));
    }

    fn executed(&mut self, event: &Event, maker: OrderId, aggressor: OrderId) {
        let (maker_slot, aggressor_slot) = (self.find(maker), self.find_arriving(aggressor));
        let Terms { account, side, .. } = self.orders.terms(aggressor_slot);
        let trade = self.read_trade(event, Some((aggressor, account, side)));
        let paid = self.take_shares(aggressor_slot, trade.shares, trade.money());
        self.arriving.iter_mut().for_each(|arriving| arriving.paid = paid);
        let maker_paid = self.take_at_rest(maker_slot, &trade);
        self.traded(&trade);
        self.end_if_done(maker_slot, maker_paid);
    }

    /// Makes the trade of an execution's event, as `TradeReader` does.
    fn read_trade(&mut self, event: &Event, arriving: Option<(OrderId, AccountIndex, Side)>) -> Trade {
        self.trade_reader.trade(event, self.next_trade, (self.sequence, self.time), arriving)
    }

    /// Takes the shares of a trade off a resting order. Returns the money paid for the order so far.
    fn take_at_rest(&mut self, slot: u32, trade: &Trade) -> Money {
        let paid = self.take_shares(slot, trade.shares, trade.money());
        let is_done = self.orders.terms(slot).open.is_zero();
        self.leave_book(slot, trade.shares, is_done);
        self.take_shown(slot, trade.shares);
        paid
    }

    /// Adds a trade to its market, and makes news of it for both accounts.
    fn traded(&mut self, trade: &Trade) {
        if self.sequence > self.trades_known {
            self.next_trade += 1;
            self.share_memory(trade.symbol);
            self.listings[trade.symbol.0 as usize].traded(trade, &mut self.remembered);
            self.symbol_news(trade.symbol);
        }
        for side in [trade.aggressor.opposite(), trade.aggressor] {
            let account = trade.account(side);
            self.tell(account, News::Traded(account, *trade, side));
        }
    }

    /// Forgets an order that has left its book with nothing open, or makes news of it; `paid` was paid for it.
    fn end_if_done(&mut self, slot: u32, paid: Money) {
        let Terms { account, order, open, .. } = self.orders.terms(slot);
        match open.is_zero() {
            true => self.end(slot, Shares::ZERO, None, paid),
            false => self.tell(account, News::Order(account, order)),
        }
    }

    /// Puts the order that is being placed on its book, once all its executions are known.
    fn arrive(&mut self) {
        let Some(Arriving { slot, sequence, paid }) = self.arriving.take() else { return };
        debug_assert!(sequence == self.sequence, "invariant: an order arrives with its own command");
        let Terms { account, order, open, .. } = self.orders.terms(slot);
        if open.is_zero() {
            return self.end(slot, Shares::ZERO, None, paid);
        }
        if !self.orders.is_in_no_book(slot) {
            self.rest(slot);
        }
        self.tell(account, News::Order(account, order));
    }

    /// Adds an open order to everything but its book.
    fn enter(&mut self, open: &Open) -> u32 {
        let slot = self.orders.insert(open);
        let account = self.accounts.get_mut(open.account);
        self.orders.append(&mut account.orders, In::Account, slot);
        account.open_orders += 1;
        self.hold(slot, open.open, true);
        slot
    }

    fn rest(&mut self, slot: u32) {
        let Terms { symbol, side, limit, .. } = self.orders.terms(slot);
        let listing = &mut self.listings[symbol.0 as usize];
        listing.book.rest(&mut self.orders, slot);
        if listing.phase.phase != Phase::Open && self.orders.kind(slot) == OrderKind::AuctionMarket {
            listing.book.count_market(side, limit, self.orders.shown(slot).position());
        }
        listing.touch(side, limit);
        self.hide(slot, self.hidden(slot));
        self.symbol_news(symbol);
    }

    /// Takes shares of a resting order off its book, and the order too if it `leaves`.
    fn leave_book(&mut self, slot: u32, shares: Shares, leaves: bool) {
        let Terms { symbol, side, limit, .. } = self.orders.terms(slot);
        let listing = &mut self.listings[symbol.0 as usize];
        listing.book.take(&mut self.orders, slot, shares, leaves);
        if listing.book.has_market_orders() && self.orders.kind(slot) == OrderKind::AuctionMarket {
            listing.book.count_market(side, limit, Position::ZERO.minus(shares.position()));
        }
        listing.touch(side, limit);
        self.symbol_news(symbol);
    }

    /// Takes executed or canceled shares off an order and off what it holds. Returns the money paid for the order so
    /// far.
    fn take_shares(&mut self, slot: u32, shares: Shares, money: Money) -> Money {
        self.hold(slot, shares, false);
        self.orders.take(slot, shares, money)
    }

    /// Adds to what an order holds of its account, or takes off it.
    fn hold(&mut self, slot: u32, shares: Shares, grows: bool) {
        let Terms { account, symbol, side, limit, .. } = self.orders.terms(slot);
        let account = self.accounts.get_mut(account);
        match side {
            // A market buy pays as it executes, and holds nothing.
            Side::Buy if limit == side.any_price() && self.orders.is_market(slot) => {}
            Side::Buy => {
                let money = limit.times(shares);
                account.held = if grows { account.held.plus(money) } else { account.held.minus(money) };
            }
            Side::Sell => {
                let (shares, listing) = (shares.position(), &mut self.listings[symbol.0 as usize]);
                account.holdings.change(symbol, |holding| {
                    (holding.held, listing.issued) = match grows {
                        true => (holding.held.plus(shares), listing.issued.plus(shares)),
                        false => (holding.held.minus(shares), listing.issued.minus(shares)),
                    };
                });
            }
        }
    }

    /// Forgets an order with nothing open that has left its book; `money` was paid for it.
    fn end(&mut self, slot: u32, canceled: Shares, why: Option<CancelReason>, money: Money) {
        let Terms { order, account: its_account, .. } = self.orders.terms(slot);
        // Few orders have one, and the others should not pay for the search.
        let client_id = self.client_ids.remove(order);
        let account = self.accounts.get_mut(its_account);
        account.open_orders -= 1;
        if account.is_watched() {
            let order = Open { money, ..self.orders.get(slot) };
            let ended = EndedOrder { order, client_id, canceled, why, time: self.time, sequence: self.sequence };
            self.news.push(News::Ended(its_account, ended));
        }
        self.orders.unlink(&mut account.orders, In::Account, slot);
        self.orders.remove(slot);
    }

    fn find(&self, order: OrderId) -> u32 {
        self.orders.find(order).expect("invariant: events are about orders that are open")
    }

    /// Finds an order like `find`, faster if it is the one that is being placed.
    fn find_arriving(&self, order: OrderId) -> u32 {
        match &self.arriving {
            Some(arriving) if self.orders.terms(arriving.slot).order == order => arriving.slot,
            Some(_) | None => self.find(order),
        }
    }

    /// Tells a watched account of a transfer, if the event is the effect of one.
    fn tell_transfer(&mut self, account: AccountIndex, moved: impl FnOnce() -> Transferred) {
        if std::mem::take(&mut self.transferring) {
            self.tell(account, News::Transferred(account, moved()));
        }
    }

    fn tell(&mut self, account: AccountIndex, news: News) {
        if self.accounts.get(account).is_watched() {
            self.news.push(news);
        }
    }

    fn symbol_news(&mut self, symbol: SymbolIndex) {
        self.changed.add(symbol);
        if !self.listings[symbol.0 as usize].watched {
            return;
        }
        self.symbol_changes += 1;
        if self.news_symbols.last() != Some(&symbol) {
            self.news_symbols.push(symbol);
        }
    }

    /// Adds the symbol of the next index.
    fn add_listing(&mut self, listing: Listing) {
        let symbol = u32::try_from(self.listings.len()).expect("invariant: the engine keeps at most 2^32 - 1 symbols");
        self.names.add(listing.name, SymbolIndex(symbol));
        self.listings.push(listing);
    }

    /// Gives a symbol its share of what memory keeps of trades, if it gets its first one.
    fn share_memory(&mut self, symbol: SymbolIndex) {
        let is_first = self.listings[symbol.0 as usize].last.is_none();
        if is_first && self.remembered.add_symbol() {
            let View { listings, remembered, .. } = self;
            listings.iter_mut().for_each(|listing| listing.keep_within(remembered));
        }
    }

    /// Returns the bytes of the trades and candles that memory keeps.
    pub fn remembered_bytes(&self) -> usize {
        self.remembered.bytes()
    }

    /// Returns the shares that an account may sell of a symbol; zero if it never had any.
    pub fn holding(&self, account: AccountIndex, symbol: SymbolIndex) -> Position {
        self.account(account).holdings.of(symbol).map_or(Position::ZERO, |holding| holding.shares)
    }
}
