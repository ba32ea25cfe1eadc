//! The view: the market as it stands now, with its accounts, open orders, books and last trades. It is built from a
//! state once, and follows events from then on.

mod beginning;
mod icebergs;
mod links;
mod past;
mod pendings;
mod phases;
mod trails;

use std::collections::{BTreeMap, HashMap};

pub use beginning::InitialHistory;
use engine::{
    AccountId, AccountIndex, AccountLimits, CancelReason, ClientOrderId, Event, Fee, FeeSchedule, Groups, KillScope,
    Kills, Money, NewOrder, OrderId, Position, Price, Protections, Sequence, Shares, Side, Symbol, SymbolIndex, Time,
};
use exchange::EventBatch;
use foldhash::fast::RandomState;
use history::{Amended, Note, Noted, PastOrder, Trade};
use past::Recalled;
use trails::Trails;

use crate::accounts::{Account, Accounts};
use crate::ahead::{AHEAD, Ahead, FAR};
use crate::market::Listing;
use crate::orders::{In, Open, Orders, Terms};
use crate::place::Place;
use crate::symbols::{Changed, Names, SymbolFollowers};

/// The market as it stands after a command.
#[derive(Debug)]
pub struct View {
    sequence: Sequence,
    time: Time,
    accounts: Accounts,
    listings: Vec<Listing>,
    names: Names,
    /// The symbols that changed, for watchers of all symbols.
    changed: Changed,
    orders: Orders,
    next_trade: u64,
    /// Trades up to this command are known from the history already, so that events up to it change only orders and
    /// accounts.
    trades_known: Sequence,
    /// What the history knew of trades up to there, by symbol, until it is put back.
    recalled: Vec<Recalled>,
    /// Of open orders that have one.
    client_ids: HashMap<OrderId, ClientOrderId, RandomState>,
    /// Orders of which one cancels the other, both ways.
    links: HashMap<OrderId, OrderId, RandomState>,
    /// Which orders follow the market.
    trails: Trails,
    /// Who pays which fees.
    fees: FeeSchedule,
    /// Which accounts belong together.
    groups: Groups,
    /// What takes no orders.
    kills: Kills,
    protections: Protections,
    /// Of the accounts that have any.
    limits: BTreeMap<AccountIndex, AccountLimits>,
    /// What the maker and the aggressor of the next execution pay.
    due: [Fee; 2],
    /// The order that is being placed, or that was triggered last. It rests when all that it executed with is known; or waits.
    arriving: Option<Arriving>,
    /// How many notes this command has made.
    notes: u32,
    news: Vec<News>,
    /// Symbols that watchers are to be told of.
    news_symbols: Vec<SymbolIndex>,
    /// At least the number of levels and trades that watchers of symbols are to be told of.
    symbol_changes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Arriving {
    slot: u32,
    sequence: Sequence,
    /// What was paid for what it executed.
    paid: Money,
}

/// An order with nothing open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// As it was at the end: nothing open.
    pub order: Open,
    /// What its client calls it.
    pub client_id: Option<ClientOrderId>,
    /// What was canceled of it.
    pub canceled: Shares,
    /// Why it was; none where nothing was.
    pub why: Option<CancelReason>,
    /// When it ended.
    pub time: Time,
    /// The command that ended it.
    pub sequence: Sequence,
}

/// News of a watched account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Its money or shares changed.
    Account(AccountIndex),
    /// An order of it was placed.
    Placed(AccountIndex, PastOrder),
    /// An order of it was opened or executed and is open.
    Order(AccountIndex, OrderId),
    /// An order of it ended.
    Ended(AccountIndex, Ended),
    /// Shares were taken off an order of it, of which others are open.
    Amended(AccountIndex, Amended),
    /// It traded: with the side that it took.
    Traded(AccountIndex, Trade, Side),
    /// An order of it was triggered, or whatever else a note tells.
    Noted(AccountIndex, Note),
}

impl News {
    /// Whose it is.
    pub fn account(&self) -> AccountIndex {
        match self {
            News::Account(account)
            | News::Placed(account, _)
            | News::Order(account, _)
            | News::Ended(account, _)
            | News::Amended(account, _)
            | News::Traded(account, ..)
            | News::Noted(account, _) => *account,
        }
    }
}

impl View {
    /// The last command whose events are in.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// Its time.
    pub fn time(&self) -> Time {
        self.time
    }

    /// By index.
    pub fn accounts(&self) -> &[Account] {
        self.accounts.all()
    }

    pub fn account(&self, account: AccountIndex) -> &Account {
        self.accounts.get(account)
    }

    pub fn find_account(&self, id: AccountId) -> Option<AccountIndex> {
        self.accounts.find(id)
    }

    /// By index.
    pub fn listings(&self) -> &[Listing] {
        &self.listings
    }

    pub fn listing(&self, symbol: SymbolIndex) -> &Listing {
        &self.listings[symbol.0 as usize]
    }

    pub fn find_symbol(&self, name: Symbol) -> Option<SymbolIndex> {
        self.names.find(name)
    }

    /// Of symbols that differ in nothing but their letters' case, the one in capitals, else the first.
    pub fn find_symbol_in_any_case(&self, name: Symbol) -> Option<SymbolIndex> {
        self.names.find_in_any_case(name)
    }

    /// The first symbol that is this one in any case and is not all capitals.
    pub fn find_symbol_with_small_letters(&self, name: Symbol) -> Option<SymbolIndex> {
        self.names.find_with_small_letters(name)
    }

    pub fn fees(&self) -> &FeeSchedule {
        &self.fees
    }

    /// Which accounts belong together.
    pub fn groups(&self) -> &Groups {
        &self.groups
    }

    /// What takes no orders until it is released.
    pub fn kills(&self) -> &Kills {
        &self.kills
    }

    /// Whose orders are canceled when nobody is there for them.
    pub fn protections(&self) -> &Protections {
        &self.protections
    }

    /// The limits of an account; those that say nothing if it has none.
    pub fn account_limits(&self, account: AccountIndex) -> AccountLimits {
        self.limits.get(&account).copied().unwrap_or(AccountLimits::NONE)
    }

    /// How many accounts have limits.
    pub fn limited_accounts(&self) -> usize {
        self.limits.len()
    }

    /// Kills or releases, and tells whoever follows the account or the symbol.
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

    /// The number that the next trade gets.
    pub fn next_trade(&self) -> u64 {
        self.next_trade
    }

    pub fn open_order(&self, order: OrderId) -> Option<Open> {
        self.orders.find(order).map(|slot| self.orders.get(slot))
    }

    /// What its client calls an open order.
    pub fn client_id(&self, order: OrderId) -> Option<ClientOrderId> {
        self.client_ids.get(&order).copied()
    }

    /// Open orders of an account, newest first.
    pub fn orders_of(&self, account: AccountIndex) -> impl Iterator<Item = Open> {
        self.orders.backwards(self.accounts.get(account).orders, In::Account)
    }

    /// Open orders of an account, oldest first.
    pub fn orders_since(&self, account: AccountIndex) -> impl Iterator<Item = Open> {
        self.orders.forwards(self.accounts.get(account).orders, In::Account)
    }

    /// Those of its account that were placed before an open order, newest first; none when it is open no more.
    pub fn orders_before(&self, order: OrderId) -> Option<impl Iterator<Item = Open>> {
        let slot = self.orders.find(order)?;
        Some(self.orders.backwards_from(slot, In::Account).skip(1))
    }

    /// Those of its account that were placed after an open order, oldest first; none when it is open no more.
    pub fn orders_after(&self, order: OrderId) -> Option<impl Iterator<Item = Open>> {
        let slot = self.orders.find(order)?;
        Some(self.orders.forwards_from(slot, In::Account).skip(1))
    }

    /// Open orders of a side in the order in which they execute.
    pub fn queue(&self, symbol: SymbolIndex, side: Side) -> impl Iterator<Item = Open> {
        self.listing(symbol).book.queue(&self.orders, side)
    }

    /// Where an open order stands at its price. None of one that stands in no book.
    pub fn place(&self, order: OrderId) -> Option<Place> {
        let slot = self.orders.find(order)?;
        let Terms { symbol, .. } = self.orders.terms(slot);
        (!self.orders.is_in_no_book(slot)).then(|| Place::of(&self.listing(symbol).book, &self.orders, slot))
    }

    /// Whether somebody is to be told of this symbol from now on.
    pub fn watch_symbol(&mut self, symbol: SymbolIndex, watched: bool) {
        self.listings[symbol.0 as usize].watched = watched;
    }

    /// Whether these are to be told of all symbols from now on.
    pub fn follow_symbols(&mut self, who: SymbolFollowers, followed: bool) {
        self.changed.follow(who, followed);
    }

    /// The first `most` symbols that changed since these were told.
    pub fn take_changed_symbols(&mut self, who: SymbolFollowers, most: usize) -> Vec<SymbolIndex> {
        self.changed.take(who, most)
    }

    /// One more is to be told of this account from now on, or one less.
    pub fn watch_account(&mut self, account: AccountIndex, watched: bool) {
        let watchers = &mut self.accounts.get_mut(account).watchers;
        *watchers = if watched { *watchers + 1 } else { watchers.saturating_sub(1) };
    }

    /// Gives what watched accounts are to be told, and forgets it.
    pub fn take_news(&mut self) -> Vec<News> {
        self.trails.forget_moves();
        std::mem::take(&mut self.news)
    }

    /// Bytes of the news that watchers were not told yet; at least what they take.
    pub fn gathered(&self) -> usize {
        self.news.len() * size_of::<News>() + self.symbol_changes * size_of::<Trade>()
    }

    /// Gives the watched symbols in which something happened.
    pub fn take_symbols(&mut self) -> Vec<SymbolIndex> {
        self.symbol_changes = 0;
        std::mem::take(&mut self.news_symbols)
    }

    /// Gives the levels of a symbol that changed, each once, and its trades, and forgets them. When levels changed, the
    /// book's number of updates counts on.
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

    fn ahead(&self) -> Ahead<'_> {
        Ahead { accounts: &self.accounts, listings: &self.listings, orders: &self.orders }
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
            Event::GroupChanged { account, group } => self.groups.set(account, group),
            Event::KillChanged { scope, is_killed } => self.change_kill(scope, is_killed),
            Event::ProtectionChanged { account, grace } => self.protections.set(account, grace),
            Event::LimitsChanged { account, open_orders, order_shares, order_value, position, collar } => {
                let limits = AccountLimits { open_orders, order_shares, order_value, position, collar };
                self.set_limits(account, limits);
            }
            Event::FeesTaken { maker, aggressor } => self.due = [maker, aggressor],
            Event::PhaseChanged { symbol, phase, last } => self.change_phase(symbol, phase, last),
            Event::Uncrossed { .. } => self.uncrossed(event),
            Event::BalanceChanged { account, balance } => {
                self.accounts.get_mut(account).balance = balance;
                self.tell(account, News::Account(account));
            }
            Event::PositionChanged { account, symbol, shares } => {
                let holding = self.accounts.get_mut(account).holdings.entry(symbol);
                let more = shares.minus(holding.shares);
                holding.shares = shares;
                let listing = &mut self.listings[symbol.0 as usize];
                listing.issued = listing.issued.plus(more);
                self.changed.add(symbol);
                self.tell(account, News::Account(account));
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
                // That it was placed was the last that happened, or for what it waits was.
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
            Event::DisplayGiven { order, display } => self.give_display(order, display),
            Event::TipShown { order, shares, stands_last, .. } => self.show_tip(order, shares, stands_last),
            Event::TrailGiven { order, trail } => self.give_trail(order, trail),
            Event::TrailsMoved { symbol, side, price } => self.move_trails(symbol, side, price),
            Event::TrailReached { order, .. } => self.forget_trail(order),
            Event::DeadlineGiven { order, until } => {
                let slot = self.find(order);
                self.orders.set_until(slot, until);
            }
            Event::OrderReduced { order, account, shares, why, .. } => {
                let slot = self.find(order);
                self.note_amendment(slot, shares, why);
                self.hold(slot, shares, false);
                let hidden = self.hidden(slot);
                self.orders.reduce(slot, shares);
                let arrives = self.arriving.as_ref().is_some_and(|arriving| arriving.slot == slot);
                // Of one that shows a part it is told what it shows then.
                if !arrives && !self.orders.is_in_no_book(slot) && self.orders.iceberg(slot).is_none() {
                    self.leave_book(slot, shares, false);
                }
                if !arrives {
                    self.hide(slot, self.hidden(slot).minus(hidden));
                    self.tell(account, News::Order(account, order));
                }
            }
            // That the id is free again in a day is the engine's business, and so is which orders are to be activated.
            Event::ClientOrderDone { .. } | Event::ClientOrderIdFreed { .. } | Event::TriggerReached { .. } => {}
            Event::Executed { symbol, maker, aggressor, price, shares, .. } => {
                self.executed(symbol, maker, aggressor, price, shares);
            }
            Event::OrderCanceled { order, shares, why, .. } => {
                self.unlink(order);
                let slot = self.find(order);
                if self.orders.pends(slot) {
                    return self.end_pending(slot, shares, why);
                }
                let shown = self.orders.iceberg(slot).map_or(shares, |iceberg| iceberg.shown);
                let hidden = self.hidden(slot);
                let paid = self.take_shares(slot, shares, Money::ZERO);
                // One that never rests is canceled as it arrives.
                let arrives = self.arriving.take_if(|arriving| arriving.slot == slot).is_some();
                if !arrives && !self.orders.is_in_no_book(slot) {
                    self.hide(slot, Position::ZERO.minus(hidden));
                    self.leave_book(slot, shown, true);
                }
                self.end(slot, shares, Some(why), paid);
            }
        }
    }

    /// Tells that an order was triggered.
    fn note_trigger(&mut self, order: OrderId, account: AccountIndex, placed: &NewOrder<SymbolIndex>) {
        let NewOrder { symbol, side, trigger, .. } = *placed;
        let what = Noted::Triggered(trigger.expect("invariant: what is triggered had a trigger"));
        self.note(order, (account, symbol, side), what);
    }

    /// Tells that shares are taken off an order.
    fn note_amendment(&mut self, slot: u32, shares: Shares, why: CancelReason) {
        let Open { order, account, symbol, side, shares: before, .. } = self.orders.get(slot);
        let (after, place) = (before.less(shares), self.notes);
        let (time, sequence, next_trade) = (self.time, self.sequence, self.next_trade);
        self.notes += 1;
        let amended = Amended { order, symbol, side, before, after, why, time, sequence, next_trade, place };
        self.tell(account, News::Amended(account, amended));
    }

    /// Tells what befell an order.
    fn note(&mut self, order: OrderId, (account, symbol, side): (AccountIndex, SymbolIndex, Side), what: Noted) {
        let (time, sequence, next_trade, place) = (self.time, self.sequence, self.next_trade, self.notes);
        self.notes += 1;
        let note = Note { order, account, symbol, side, what, time, sequence, next_trade, place };
        self.tell(account, News::Noted(account, note));
    }

    fn executed(&mut self, symbol: SymbolIndex, maker: OrderId, aggressor: OrderId, price: Price, shares: Shares) {
        let (maker_slot, aggressor_slot) = (self.find(maker), self.find_arriving(aggressor));
        let Terms { side, account: aggressor_account, .. } = self.orders.terms(aggressor_slot);
        let [maker_fee, aggressor_fee] = std::mem::replace(&mut self.due, [Fee::NONE; 2]);
        let trade = Trade {
            id: self.next_trade,
            symbol,
            price,
            shares,
            time: self.time,
            sequence: self.sequence,
            aggressor: side,
            maker_order: maker,
            aggressor_order: aggressor,
            maker_account: self.orders.terms(maker_slot).account,
            aggressor_account,
            maker_fee,
            aggressor_fee,
        };
        let paid = self.take_shares(aggressor_slot, shares, trade.money());
        self.arriving.iter_mut().for_each(|arriving| arriving.paid = paid);
        let maker_paid = self.take_shares(maker_slot, shares, trade.money());
        let maker_done = self.orders.terms(maker_slot).open.is_zero();
        self.leave_book(maker_slot, shares, maker_done);
        self.take_shown(maker_slot, shares);
        if self.sequence > self.trades_known {
            self.next_trade += 1;
            self.listings[symbol.0 as usize].traded(&trade);
            self.symbol_news(symbol);
        }
        self.tell(trade.maker_account, News::Traded(trade.maker_account, trade, side.opposite()));
        self.tell(trade.aggressor_account, News::Traded(trade.aggressor_account, trade, side));
        match maker_done {
            true => self.end(maker_slot, Shares::ZERO, None, maker_paid),
            false => self.tell(trade.maker_account, News::Order(trade.maker_account, maker)),
        }
    }

    /// The order that was being placed, once all that it executed with is known.
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

    /// Adds an open order to all but its book.
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
        listing.touch(side, limit);
        self.hide(slot, self.hidden(slot));
        self.symbol_news(symbol);
    }

    /// Shares of a resting order go, and the order too if it `leaves`.
    fn leave_book(&mut self, slot: u32, shares: Shares, leaves: bool) {
        let Terms { symbol, side, limit, .. } = self.orders.terms(slot);
        let listing = &mut self.listings[symbol.0 as usize];
        listing.book.take(&mut self.orders, slot, shares, leaves);
        listing.touch(side, limit);
        self.symbol_news(symbol);
    }

    /// Shares of an order are executed or canceled: it no longer holds what they took. Gives what was paid for it in all.
    fn take_shares(&mut self, slot: u32, shares: Shares, money: Money) -> Money {
        self.hold(slot, shares, false);
        self.orders.take(slot, shares, money)
    }

    /// What an order holds of its account grows or shrinks.
    fn hold(&mut self, slot: u32, shares: Shares, grows: bool) {
        let Terms { account, symbol, side, limit, .. } = self.orders.terms(slot);
        let account = self.accounts.get_mut(account);
        match side {
            // It pays as it executes, and holds nothing.
            Side::Buy if limit == side.any_price() && self.orders.is_market(slot) => {}
            Side::Buy => {
                let money = limit.times(shares);
                account.held = if grows { account.held.plus(money) } else { account.held.minus(money) };
            }
            Side::Sell => {
                let (shares, listing) = (shares.position(), &mut self.listings[symbol.0 as usize]);
                let holding = account.holdings.entry(symbol);
                (holding.held, listing.issued) = match grows {
                    true => (holding.held.plus(shares), listing.issued.plus(shares)),
                    false => (holding.held.minus(shares), listing.issued.minus(shares)),
                };
            }
        }
    }

    /// Forgets an order with nothing open, which is in no book any more, and for which so much was paid.
    fn end(&mut self, slot: u32, canceled: Shares, why: Option<CancelReason>, money: Money) {
        self.forget_trail(self.orders.terms(slot).order);
        let Terms { order, account: its_account, .. } = self.orders.terms(slot);
        // Few orders have one: the others should not pay for the search.
        let client_id = if self.client_ids.is_empty() { None } else { self.client_ids.remove(&order) };
        let account = self.accounts.get_mut(its_account);
        account.open_orders -= 1;
        if account.is_watched() {
            let order = Open { money, ..self.orders.get(slot) };
            let ended = Ended { order, client_id, canceled, why, time: self.time, sequence: self.sequence };
            self.news.push(News::Ended(its_account, ended));
        }
        self.orders.unlink(&mut account.orders, In::Account, slot);
        self.orders.remove(slot);
    }

    fn find(&self, order: OrderId) -> u32 {
        self.orders.find(order).expect("invariant: events are about orders that are open")
    }

    /// As `find`, of an order that is most likely the one that is being placed.
    fn find_arriving(&self, order: OrderId) -> u32 {
        match &self.arriving {
            Some(arriving) if self.orders.terms(arriving.slot).order == order => arriving.slot,
            Some(_) | None => self.find(order),
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

    /// Puts back what a history knows of a symbol's market.
    pub(crate) fn listing_mut(&mut self, symbol: SymbolIndex) -> &mut Listing {
        &mut self.listings[symbol.0 as usize]
    }

    /// Shares of an account that nobody told it of: none yet.
    pub fn holding(&self, account: AccountIndex, symbol: SymbolIndex) -> Position {
        self.account(account).holdings.of(symbol).map_or(Position::ZERO, |holding| holding.shares)
    }
}
