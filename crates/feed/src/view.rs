//! What is so now: accounts, open orders, books, last trades. Built from a state once, then kept by events alone.

mod beginning;
mod past;

use std::collections::HashMap;

pub use beginning::Known;
use engine::{
    AccountId, AccountIndex, ClientOrderId, Event, Money, NewOrder, OrderId, Position, Price, Sequence, Shares, Side,
    Symbol, SymbolIndex, Time,
};
use history::{Ending, History, HistoryError, Interval, PastOrder, Trade};

use crate::accounts::{Account, Accounts};
use crate::ahead::{AHEAD, Ahead, FAR};
use crate::events::EventBatch;
use crate::market::Listing;
use crate::orders::{In, Open, Orders};
use crate::symbols::{Changed, Names};

/// The market as it stands after a command.
#[derive(Debug)]
pub struct View {
    sequence: Sequence,
    time: Time,
    accounts: Accounts,
    listings: Vec<Listing>,
    names: Names,
    /// For those who follow all symbols.
    changed: Changed,
    orders: Orders,
    next_trade: u64,
    /// Trades up to here are known already, from the history: only orders and accounts follow these events.
    trades_known: Sequence,
    /// What the history knows of trades up to there was put back.
    recalled: bool,
    /// Of open orders that have one.
    client_ids: HashMap<OrderId, ClientOrderId>,
    /// The order that is being placed. It rests when all that it executed with is known.
    arriving: Option<Arriving>,
    news: Vec<News>,
    /// Symbols and accounts that watchers are to be told of.
    news_symbols: Vec<SymbolIndex>,
}

#[derive(Clone, Copy, Debug)]
struct Arriving {
    slot: u32,
    sequence: Sequence,
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
    /// When it ended.
    pub time: Time,
    /// The command that ended it.
    pub sequence: Sequence,
}

/// Something that the owner of a watched account is told.
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
    /// It traded: with the side that it took.
    Traded(AccountIndex, Trade, Side),
}

impl Ended {
    /// What the history keeps of it.
    fn ending(&self) -> Ending {
        Ending { canceled: self.canceled, money: self.order.money, time: self.time, sequence: self.sequence }
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

    pub fn open_orders(&self) -> usize {
        self.orders.len()
    }

    /// The number that the next trade gets.
    pub fn next_trade(&self) -> u64 {
        self.next_trade
    }

    /// All of them, in no particular order.
    pub(crate) fn open_order_ids(&self) -> impl Iterator<Item = OrderId> {
        let lists = self.accounts.all().iter().map(|account| account.orders);
        lists.flat_map(|list| self.orders.backwards(list, In::Account)).map(|open| open.order)
    }

    pub fn open_order(&self, order: OrderId) -> Option<&Open> {
        self.orders.find(order).map(|slot| self.orders.get(slot))
    }

    /// What its client calls an open order.
    pub fn client_id(&self, order: OrderId) -> Option<ClientOrderId> {
        self.client_ids.get(&order).copied()
    }

    /// Open orders of an account, newest first.
    pub fn orders_of(&self, account: AccountIndex) -> impl Iterator<Item = &Open> {
        self.orders.backwards(self.accounts.get(account).orders, In::Account)
    }

    /// Open orders of an account, oldest first.
    pub fn orders_since(&self, account: AccountIndex) -> impl Iterator<Item = &Open> {
        self.orders.forwards(self.accounts.get(account).orders, In::Account)
    }

    /// Those of its account that were placed before an open order, newest first; none when it is open no more.
    pub fn orders_before(&self, order: OrderId) -> Option<impl Iterator<Item = &Open>> {
        let slot = self.orders.find(order)?;
        Some(self.orders.backwards_from(slot, In::Account).skip(1))
    }

    /// Those of its account that were placed after an open order, oldest first; none when it is open no more.
    pub fn orders_after(&self, order: OrderId) -> Option<impl Iterator<Item = &Open>> {
        let slot = self.orders.find(order)?;
        Some(self.orders.forwards_from(slot, In::Account).skip(1))
    }

    /// Open orders of a side in the order in which they execute.
    pub fn queue(&self, symbol: SymbolIndex, side: Side) -> impl Iterator<Item = &Open> {
        self.listing(symbol).book.queue(&self.orders, side)
    }

    /// Whether somebody is to be told of this symbol from now on.
    pub fn watch_symbol(&mut self, symbol: SymbolIndex, watched: bool) {
        self.listings[symbol.0 as usize].watched = watched;
    }

    /// Whether somebody is to be told of all symbols from now on.
    pub fn follow_symbols(&mut self, followed: bool) {
        self.changed.follow(followed);
    }

    /// The first `most` symbols that changed since those who follow all of them were told.
    pub fn take_changed_symbols(&mut self, most: usize) -> Vec<SymbolIndex> {
        self.changed.take(most)
    }

    /// Whether somebody is to be told of this account from now on.
    pub fn watch_account(&mut self, account: AccountIndex, watched: bool) {
        self.accounts.get_mut(account).watched = watched;
    }

    /// Gives what watched accounts are to be told, and forgets it.
    pub fn take_news(&mut self) -> Vec<News> {
        std::mem::take(&mut self.news)
    }

    /// Gives the watched symbols in which something happened.
    pub fn take_symbols(&mut self) -> Vec<SymbolIndex> {
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

    /// Follows a turn's events, and has the history follow them.
    pub fn apply(&mut self, batch: &EventBatch, history: &mut Option<History>) -> Result<(), HistoryError> {
        let time = batch.time.unwrap_or(self.time);
        for (at, (sequence, event)) in batch.events.iter().enumerate() {
            if at % AHEAD == 0 && self.orders.len() >= FAR {
                let events = &batch.events[at..];
                self.ahead().look(&events[..events.len().min(AHEAD)]);
            }
            if *sequence != self.sequence {
                self.arrive(history)?;
                self.recall_before(*sequence, history)?;
                self.sequence = *sequence;
                self.time = time;
            }
            self.follow(event, history)?;
        }
        self.arrive(history)?;
        self.sequence = batch.through.unwrap_or(self.sequence).max(self.sequence);
        self.time = time;
        self.recall_before(self.sequence.next(), history)
    }

    fn ahead(&self) -> Ahead<'_> {
        Ahead { accounts: &self.accounts, listings: &self.listings, orders: &self.orders }
    }

    /// Puts back what the history knows of trades, once all events up to there were followed.
    pub(crate) fn recall_before(&mut self, next: Sequence, history: &mut Option<History>) -> Result<(), HistoryError> {
        if self.recalled || next <= self.trades_known {
            return Ok(());
        }
        self.recalled = true;
        match history {
            Some(history) => self.recall(history),
            None => Ok(()),
        }
    }

    fn follow(&mut self, event: &Event, history: &mut Option<History>) -> Result<(), HistoryError> {
        match *event {
            Event::AccountCreated { id, .. } => self.accounts.add(id, Money::ZERO),
            Event::SymbolCreated { name, symbol } => {
                self.add_listing(Listing::new(name));
                self.changed.add(symbol);
            }
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
            Event::OrderOpened { order, account, placed: NewOrder { symbol, side, limit, shares } } => {
                let time = self.time;
                let open = Open { order, account, symbol, side, limit, shares, open: shares, money: Money::ZERO, time };
                let placed = open.placed(self.sequence);
                if let Some(history) = history {
                    history.placed(&placed)?;
                }
                let slot = self.enter(open);
                self.tell(account, News::Placed(account, placed));
                self.arriving = Some(Arriving { slot, sequence: self.sequence });
            }
            Event::ClientOrderIdGiven { order, id } => {
                self.client_ids.insert(order, id);
                // That it was placed was the last that happened.
                if let Some(News::Placed(_, placed)) = self.news.last_mut()
                    && placed.order == order
                {
                    placed.client_id = Some(id);
                }
                if let Some(history) = history {
                    history.named(id, self.sequence);
                }
            }
            // That the id is free again in a day is the engine's business.
            Event::ClientOrderDone { .. } => {}
            Event::Executed { symbol, maker, aggressor, price, shares, .. } => {
                return self.executed(symbol, maker, aggressor, price, shares, history);
            }
            Event::OrderCanceled { order, shares, .. } => {
                let slot = self.find(order);
                self.take_shares(slot, shares, Money::ZERO);
                self.leave_book(slot, shares, true);
                return self.end(slot, shares, history);
            }
        }
        Ok(())
    }

    fn executed(
        &mut self,
        symbol: SymbolIndex,
        maker: OrderId,
        aggressor: OrderId,
        price: Price,
        shares: Shares,
        history: &mut Option<History>,
    ) -> Result<(), HistoryError> {
        let (maker_slot, aggressor_slot) = (self.find(maker), self.find(aggressor));
        let side = self.orders.get(aggressor_slot).side;
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
            maker_account: self.orders.get(maker_slot).account,
            aggressor_account: self.orders.get(aggressor_slot).account,
        };
        self.take_shares(aggressor_slot, shares, trade.money());
        self.take_shares(maker_slot, shares, trade.money());
        let maker_done = self.orders.get(maker_slot).open.is_zero();
        self.leave_book(maker_slot, shares, maker_done);
        if self.sequence > self.trades_known {
            self.next_trade += 1;
            self.record(&trade, history)?;
        }
        self.tell(trade.maker_account, News::Traded(trade.maker_account, trade, side.opposite()));
        self.tell(trade.aggressor_account, News::Traded(trade.aggressor_account, trade, side));
        match maker_done {
            true => self.end(maker_slot, Shares::ZERO, history),
            false => {
                self.tell(trade.maker_account, News::Order(trade.maker_account, maker));
                Ok(())
            }
        }
    }

    /// What a trade means for the symbol's market, and for the history.
    fn record(&mut self, trade: &Trade, history: &mut Option<History>) -> Result<(), HistoryError> {
        let listing = &mut self.listings[trade.symbol.0 as usize];
        let Some(history) = history else {
            listing.traded(trade, &mut |_, _| {});
            self.symbol_news(trade.symbol);
            return Ok(());
        };
        history.traded(trade)?;
        let mut kept = Ok(());
        listing.traded(trade, &mut |interval: Interval, candle| {
            if kept.is_ok() {
                kept = history.candle(trade.symbol, interval, candle);
            }
        });
        self.symbol_news(trade.symbol);
        kept
    }

    /// The order that was being placed, once all that it executed with is known.
    fn arrive(&mut self, history: &mut Option<History>) -> Result<(), HistoryError> {
        let Some(Arriving { slot, sequence }) = self.arriving.take() else { return Ok(()) };
        debug_assert!(sequence == self.sequence, "invariant: an order arrives with its own command");
        let Open { account, order, open, .. } = *self.orders.get(slot);
        if open.is_zero() {
            return self.end(slot, Shares::ZERO, history);
        }
        self.rest(slot);
        self.tell(account, News::Order(account, order));
        Ok(())
    }

    /// Adds an open order to all but its book.
    fn enter(&mut self, open: Open) -> u32 {
        let slot = self.orders.insert(open);
        let account = self.accounts.get_mut(open.account);
        self.orders.append(&mut account.orders, In::Account, slot);
        account.open_orders += 1;
        self.hold(slot, open.open, true);
        slot
    }

    fn rest(&mut self, slot: u32) {
        let Open { symbol, side, limit, .. } = *self.orders.get(slot);
        let listing = &mut self.listings[symbol.0 as usize];
        listing.book.rest(&mut self.orders, slot);
        listing.touch(side, limit);
        self.symbol_news(symbol);
    }

    /// Shares of a resting order go, and the order too if it `leaves`.
    fn leave_book(&mut self, slot: u32, shares: Shares, leaves: bool) {
        let Open { symbol, side, limit, .. } = *self.orders.get(slot);
        let listing = &mut self.listings[symbol.0 as usize];
        listing.book.take(&mut self.orders, slot, shares, leaves);
        listing.touch(side, limit);
        self.symbol_news(symbol);
    }

    /// Shares of an order are executed or canceled: it no longer holds what they took.
    fn take_shares(&mut self, slot: u32, shares: Shares, money: Money) {
        self.hold(slot, shares, false);
        let order = self.orders.get_mut(slot);
        order.open = order.open.less(shares);
        order.money = order.money.plus(money);
    }

    /// What an order holds of its account grows or shrinks.
    fn hold(&mut self, slot: u32, shares: Shares, grows: bool) {
        let Open { account, symbol, side, limit, .. } = *self.orders.get(slot);
        let account = self.accounts.get_mut(account);
        match side {
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

    /// Forgets an order with nothing open, which is in no book any more.
    fn end(&mut self, slot: u32, canceled: Shares, history: &mut Option<History>) -> Result<(), HistoryError> {
        let order = *self.orders.get(slot);
        let client_id = self.client_ids.remove(&order.order);
        let ended = Ended { order, client_id, canceled, time: self.time, sequence: self.sequence };
        if let Some(history) = history {
            history.ended(order.order, order.account, &ended.ending())?;
        }
        let account = self.accounts.get_mut(order.account);
        account.open_orders -= 1;
        self.orders.unlink(&mut account.orders, In::Account, slot);
        self.orders.remove(slot);
        self.tell(order.account, News::Ended(order.account, ended));
        Ok(())
    }

    fn find(&self, order: OrderId) -> u32 {
        self.orders.find(order).expect("invariant: events are about orders that are open")
    }

    fn tell(&mut self, account: AccountIndex, news: News) {
        if self.accounts.get(account).watched {
            self.news.push(news);
        }
    }

    fn symbol_news(&mut self, symbol: SymbolIndex) {
        self.changed.add(symbol);
        if self.listings[symbol.0 as usize].watched && self.news_symbols.last() != Some(&symbol) {
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
