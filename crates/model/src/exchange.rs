//! The exchange: what every command and query does. Each function reads as the paragraph of docs/PROTOCOL.md it is
//! written from. Every order ever placed is kept. It does not know what speed is.

use std::cmp::Reverse;

use engine::{
    AccountId, AccountIndex, Cancellation, ClientOrderId, Command, Entry, Event, Execution, FundsOrder, Money,
    NewOrder, OrderDifference, OrderId, OrderKind, OrderName, Position, Price, Query, Reject, Reply, Sequence, Shares,
    Side, Status, Symbol, SymbolIndex, Time, Trigger,
};

/// A client order id stands for its order while that is open and for so long after.
const DAY_US: u64 = 86_400_000_000;

/// A fill-or-kill, and an order for money, looks at so many orders, the best ones.
const LOOKED_AT_MAX: usize = 1_000;

/// The whole market.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) sequence: Sequence,
    pub(crate) time: Time,
    pub(crate) accounts: Vec<Account>,
    pub(crate) symbols: Vec<Listing>,
    pub(crate) holdings: Vec<Holding>,
    /// All orders ever, done ones too; order 1 is the first.
    pub(crate) orders: Vec<Order>,
    /// Which of them have shares open, in no order that means anything.
    pub(crate) open: Vec<OrderId>,
    /// The orders that client order ids stand for, the oldest first.
    pub(crate) named: Vec<OrderId>,
    /// Orders whose triggers were reached and that are not active yet, in their order.
    pub(crate) reached: Vec<OrderId>,
    /// How many orders came to the books so far.
    pub(crate) arrivals: u64,
    /// Whether the last command canceled an order.
    pub(crate) has_canceled: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub id: AccountId,
    pub balance: Money,
}

#[derive(Clone, Debug)]
pub(crate) struct Listing {
    pub name: Symbol,
    pub issued: Position,
    /// Whether the prices of its executions are noted.
    pub is_watched: bool,
    /// The price of the last execution that was noted.
    pub last: Option<Price>,
}

#[derive(Clone, Debug)]
pub(crate) struct Holding {
    pub account: AccountIndex,
    pub symbol: SymbolIndex,
    pub shares: Position,
}

/// An order and all that happened to it.
#[derive(Clone, Debug)]
pub struct Order {
    /// Its id.
    pub id: OrderId,
    /// Whose it is.
    pub account: AccountIndex,
    /// What it trades.
    pub symbol: SymbolIndex,
    /// Which way.
    pub side: Side,
    /// The worst price it takes.
    pub limit: Price,
    /// What it may do when it arrives.
    pub kind: OrderKind,
    /// What is neither executed nor canceled.
    pub open: Shares,
    /// What was canceled, and when.
    pub canceled: Option<Cancellation>,
    /// Its executions, oldest first.
    pub executions: Vec<Execution>,
    /// The id that its client gave it.
    pub client_id: Option<ClientOrderId>,
    /// The shares that it was placed with.
    pub placed: Shares,
    /// What it waits for, or waited for.
    pub trigger: Option<Trigger>,
    /// Whether it waits still.
    pub waits: bool,
    /// The how manyth that came to the books. One that waits comes there when it is triggered.
    pub arrival: u64,
}

impl Default for Model {
    fn default() -> Model {
        Model::new()
    }
}

impl Model {
    /// An exchange without accounts and symbols.
    pub fn new() -> Model {
        Model {
            sequence: Sequence::ZERO,
            time: Time::ZERO,
            accounts: Vec::new(),
            symbols: Vec::new(),
            holdings: Vec::new(),
            orders: Vec::new(),
            open: Vec::new(),
            named: Vec::new(),
            reached: Vec::new(),
            arrivals: 0,
            has_canceled: false,
        }
    }

    /// Does what the entry says, or refuses it. Appends to `executions` what the reply refers to, and to `events` all
    /// that happened.
    pub fn apply(&mut self, entry: &Entry, executions: &mut Vec<Execution>, events: &mut Vec<Event>) -> Reply {
        self.sequence = entry.sequence;
        self.time = entry.time;
        let named = std::mem::take(&mut self.named);
        self.named = named.into_iter().filter(|&order| self.client_id_stands(self.order(order))).collect();
        let outcome = self.obey(entry.command, executions, events);
        let canceled = matches!((entry.command, &outcome), (Command::CancelOrder { .. }, Ok(_)));
        self.has_canceled = canceled;
        outcome.unwrap_or_else(Reply::Rejected)
    }

    pub(crate) fn obey(
        &mut self,
        command: Command,
        executions: &mut Vec<Execution>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        match command {
            Command::CreateAccount { account, balance } => self.create_account(account, balance, events),
            Command::CreateSymbol { symbol } => self.create_symbol(symbol, true, events),
            Command::CreateOldSymbol { symbol } => self.create_symbol(symbol, false, events),
            Command::IssueShares { symbol, account, shares } => self.issue_shares(symbol, account, shares, events),
            Command::PlaceOrder { account, order, client_id: None } => self.place(None, account, order, events),
            Command::PlaceOrder { account, order, client_id: Some(id) } => {
                self.place_client_order(id, account, order, events)
            }
            Command::PlaceByFunds { account, order, client_id } => {
                self.place_by_funds(client_id, account, order, events)
            }
            Command::CancelOrder { account, order } => match self.named_order(account, order) {
                Ok(order) => self.cancel_order(account, order, executions, events),
                Err(reject) => Err(reject),
            },
            Command::ActivateReached => {
                self.activate_reached(events);
                Ok(Reply::Activated)
            }
            Command::PlaceIfCanceled { .. } | Command::PlaceByFundsIfCanceled { .. } => {
                self.place_if_canceled(command.unconditional().expect("it has the condition"), events)
            }
        }
    }

    /// How an order stands.
    pub fn query(&self, query: &Query, executions: &mut Vec<Execution>) -> Reply {
        let named = self.named_order(query.account, query.order);
        match named.and_then(|order| self.owned_order(query.account, order)) {
            Ok(order) => Reply::Status(self.status(order, executions)),
            Err(reject) => Reply::Rejected(reject),
        }
    }

    fn named_order(&self, account: AccountId, order: OrderName) -> Result<OrderId, Reject> {
        match order {
            OrderName::Id(order) => Ok(order),
            OrderName::Client(id) => self.client_order(account, id),
        }
    }

    fn create_account(&mut self, id: AccountId, balance: Money, events: &mut Vec<Event>) -> Result<Reply, Reject> {
        if self.accounts.iter().any(|account| account.id == id) {
            return Err(Reject::AccountExists);
        }
        // Money is neither made nor lost in trade, so what there is now is what was created.
        let created = self.total_money();
        if created.plus(balance) > Money::CAP {
            return Err(Reject::TooMuchMoney { issued: created });
        }
        let account = AccountIndex(self.accounts.len() as u32);
        self.accounts.push(Account { id, balance });
        events.push(Event::AccountCreated { account, id });
        events.push(Event::BalanceChanged { account, balance });
        Ok(Reply::Created)
    }

    fn create_symbol(&mut self, name: Symbol, is_watched: bool, events: &mut Vec<Event>) -> Result<Reply, Reject> {
        if self.symbols.iter().all(|listing| listing.name != name) {
            let symbol = SymbolIndex(self.symbols.len() as u32);
            self.symbols.push(Listing { name, issued: Position::ZERO, is_watched, last: None });
            events.push(Event::SymbolCreated { symbol, name });
        }
        Ok(Reply::Created)
    }

    fn issue_shares(
        &mut self,
        symbol: Symbol,
        account: AccountId,
        shares: Position,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let symbol = self.symbol_named(symbol)?;
        let account = self.account_named(account)?;
        let issued = self.symbols[symbol.0 as usize].issued;
        if issued.plus(shares) > Position::CAP {
            return Err(Reject::TooManyShares { issued });
        }
        self.symbols[symbol.0 as usize].issued = issued.plus(shares);
        if shares != Position::ZERO {
            self.credit_shares(account, symbol, shares);
            events.push(self.position_changed(account, symbol));
        }
        Ok(Reply::Created)
    }

    fn place_client_order(
        &mut self,
        client_id: ClientOrderId,
        account: AccountId,
        asked: NewOrder,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        match self.client_order(account, client_id) {
            Ok(order) => {
                let before = self.order(order);
                let differs = OrderDifference {
                    symbol: self.symbols[before.symbol.0 as usize].name != asked.symbol,
                    side: before.side != asked.side,
                    limit: before.limit != asked.limit,
                    shares: before.placed != asked.shares,
                    kind: before.kind != asked.kind,
                    trigger: before.trigger != asked.trigger,
                };
                if differs.is_none() {
                    Ok(Reply::Repeated(order))
                } else {
                    Err(Reject::ClientOrderIdTaken { order, differs })
                }
            }
            Err(Reject::UnknownOrder) => self.place(Some(client_id), account, asked, events),
            Err(reject) => Err(reject),
        }
    }

    /// A market order for as many shares as can be traded for the money now.
    fn place_by_funds(
        &mut self,
        client_id: Option<ClientOrderId>,
        account: AccountId,
        asked: FundsOrder,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let FundsOrder { symbol: name, side, funds } = asked;
        let owner = self.account_named(account)?;
        if let Some(Ok(order)) = client_id.map(|client_id| self.client_order(account, client_id)) {
            let before = self.order(order);
            let differs = OrderDifference {
                symbol: self.symbols[before.symbol.0 as usize].name != name,
                side: before.side != side,
                kind: before.kind != OrderKind::Market,
                trigger: before.trigger.is_some(),
                ..OrderDifference::default()
            };
            return if differs.is_none() {
                Ok(Reply::Repeated(order))
            } else {
                Err(Reject::ClientOrderIdTaken { order, differs })
            };
        }
        let symbol = self.symbol_named(name)?;
        let available = self.balance(owner);
        if side == Side::Buy && funds > available {
            return Err(Reject::InsufficientFunds { needed: funds, available });
        }
        let (mut left, mut units) = (funds, 0);
        for maker in self.matching(symbol, side, side.any_price()).into_iter().take(LOOKED_AT_MAX) {
            let Order { limit: price, open, .. } = *self.order(maker);
            let shares = open.min(affordable(left, price));
            left = left.minus(price.times(shares));
            units += i128::from(shares.units());
            if shares < open {
                break;
            }
        }
        let shares = Shares::from_units(units.min(i128::from(i64::MAX)) as i64).expect("no fewer than none");
        if shares.is_zero() {
            return Err(Reject::FundsTradeNothing { funds });
        }
        self.place(client_id, account, NewOrder::market(name, side, shares), events)
    }

    fn place(
        &mut self,
        client_id: Option<ClientOrderId>,
        account: AccountId,
        asked: NewOrder,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let NewOrder { symbol, side, limit, shares, kind, trigger } = asked;
        let account = self.account_named(account)?;
        let symbol = self.symbol_named(symbol)?;
        let placed = NewOrder { symbol, side, limit, shares, kind, trigger };
        if let Some(trigger) = trigger {
            return self.place_stop(client_id, account, placed, trigger, events);
        }
        self.refusal_on_arrival(account, &placed).map_or(Ok(()), Err)?;
        let before = [self.balance_changed(account), self.position_changed(account, symbol)];
        if !pays_as_it_goes(&placed) {
            self.hold(account, symbol, side, limit, shares)?;
        }
        let told_before = events.len();
        let id = self.open_order(client_id, account, placed, events);
        let nobody_was_reached = self.reached.is_empty();
        self.execute_all(id, before, told_before, events);
        if nobody_was_reached {
            self.activate_reached(events);
        }
        Ok(Reply::Opened(id))
    }

    /// Why an order is refused when it arrives at its book, whatever it holds.
    pub(crate) fn refusal_on_arrival(&self, account: AccountIndex, placed: &NewOrder<SymbolIndex>) -> Option<Reject> {
        let best =
            self.matching(placed.symbol, placed.side, placed.limit).first().map(|&best| self.order(best).limit)?;
        let available = self.balance(account);
        match placed.kind {
            OrderKind::PostOnly => Some(Reject::WouldTake { price: best }),
            OrderKind::Market if pays_as_it_goes(placed) && affordable(available, best).is_zero() => {
                Some(Reject::InsufficientFunds { needed: best.times(placed.shares), available })
            }
            OrderKind::Limit | OrderKind::ImmediateOrCancel | OrderKind::FillOrKill | OrderKind::Market => None,
        }
    }

    /// Gives an order that is accepted its id.
    pub(crate) fn open_order(
        &mut self,
        client_id: Option<ClientOrderId>,
        account: AccountIndex,
        placed: NewOrder<SymbolIndex>,
        events: &mut Vec<Event>,
    ) -> OrderId {
        let NewOrder { symbol, side, limit, shares, kind, trigger } = placed;
        let id = OrderId(self.orders.len() as u64 + 1);
        self.arrivals += 1;
        self.orders.push(Order {
            id,
            account,
            symbol,
            side,
            limit,
            kind,
            open: shares,
            canceled: None,
            executions: Vec::new(),
            client_id,
            placed: shares,
            trigger,
            waits: trigger.is_some(),
            arrival: self.arrivals,
        });
        self.open.push(id);
        events.push(Event::OrderOpened { order: id, account, placed });
        if let Some(client_id) = client_id {
            self.named.push(id);
            events.push(Event::ClientOrderIdGiven { order: id, id: client_id });
        }
        id
    }

    /// An order arrives at its book: executes, and then rests or is canceled. `before` is what its account was told last of its
    /// balance and position, before the events from `told_before` on.
    pub(crate) fn execute_all(&mut self, id: OrderId, before: [Event; 2], told_before: usize, events: &mut Vec<Event>) {
        let Order { account, symbol, side, limit, open: shares, kind, trigger, .. } = *self.order(id);
        let placed = NewOrder { symbol, side, limit, shares, kind, trigger };
        let pays_as_it_goes = pays_as_it_goes(&placed);
        let funds = self.balance(account);
        let reached_before = self.reached.len();
        let matching = self.matching(symbol, side, limit);
        let on_the_book = matching.iter().take(LOOKED_AT_MAX).map(|&maker| i128::from(self.order(maker).open.units()));
        let is_short = kind == OrderKind::FillOrKill && on_the_book.sum::<i128>() < i128::from(shares.units());
        // What was refused if it had just been placed.
        let is_refused = self.refusal_on_arrival(account, &placed).is_some();

        // What the executions bring the aggressor is added up here and credited after the last of them.
        let mut money_due = Money::ZERO;
        let mut shares_due = Position::ZERO;
        while let Some(maker) = self.best_match(id).filter(|_| !is_short && !is_refused) {
            let price = self.order(maker).limit;
            let mut shares = self.order(maker).open.min(self.order(id).open);
            if pays_as_it_goes {
                shares = shares.min(affordable(funds.plus(money_due), price));
                if shares.is_zero() {
                    break;
                }
            }
            self.execute(maker, price, shares);
            self.execute(id, price, shares);
            self.reach(symbol, price);
            let maker_account = self.order(maker).account;
            let maker_done = self.order(maker).open.is_zero();
            events.push(Event::Executed { symbol, maker, maker_account, aggressor: id, price, shares, maker_done });
            self.say_if_client_order_is_done(maker, events);
            match side {
                Side::Buy => {
                    self.credit_money(maker_account, price.times(shares));
                    events.push(self.balance_changed(maker_account));
                    let held = if pays_as_it_goes { Money::ZERO } else { limit.times(shares) };
                    money_due = money_due.plus(held.minus(price.times(shares)));
                    shares_due = shares_due.plus(shares.position());
                }
                Side::Sell => {
                    self.credit_shares(maker_account, symbol, shares.position());
                    events.push(self.position_changed(maker_account, symbol));
                    money_due = money_due.plus(price.times(shares));
                }
            }
        }
        self.credit_money(account, money_due);
        self.credit_shares(account, symbol, shares_due);
        for (before, now) in
            before.into_iter().zip([self.balance_changed(account), self.position_changed(account, symbol)])
        {
            // Said where it is not as before the order, and where a maker of the same account was told otherwise.
            let told = events[told_before..].iter().rfind(|told| is_of_the_same(told, &now)).copied();
            if now != before || told.is_some_and(|told| told != now) {
                events.push(now);
            }
        }
        if (!kind.rests() || is_refused) && !self.order(id).open.is_zero() {
            self.cancel_open(id, events);
        }
        self.say_if_client_order_is_done(id, events);
        self.say_what_was_reached(reached_before, events);
    }

    /// Cancels what is open of an order, and gives back what that held.
    fn cancel_open(&mut self, id: OrderId, events: &mut Vec<Event>) {
        let Order { account, symbol, side, limit, kind, .. } = *self.order(id);
        let shares = self.cancel(id);
        events.push(Event::OrderCanceled { order: id, account, symbol, shares });
        match side {
            Side::Buy if kind == OrderKind::Market => {}
            Side::Buy => {
                self.credit_money(account, limit.times(shares));
                events.push(self.balance_changed(account));
            }
            Side::Sell => {
                self.credit_shares(account, symbol, shares.position());
                events.push(self.position_changed(account, symbol));
            }
        }
    }

    fn cancel_order(
        &mut self,
        account: AccountId,
        order: OrderId,
        executions: &mut Vec<Execution>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let Order { id, open, .. } = *self.owned_order(account, order)?;
        if open.is_zero() {
            return Err(Reject::NothingOpen);
        }
        self.cancel_open(id, events);
        self.say_if_client_order_is_done(id, events);
        Ok(Reply::Canceled(self.status(self.order(id), executions)))
    }

    /// Sets aside what the order may cost: money for a buy, shares for a sell.
    pub(crate) fn hold(
        &mut self,
        account: AccountIndex,
        symbol: SymbolIndex,
        side: Side,
        limit: Price,
        shares: Shares,
    ) -> Result<(), Reject> {
        match side {
            Side::Buy => {
                let (needed, available) = (limit.times(shares), self.balance(account));
                if needed > available {
                    return Err(Reject::InsufficientFunds { needed, available });
                }
                self.accounts[account.0 as usize].balance = available.minus(needed);
            }
            Side::Sell => {
                let (needed, available) = (shares.position(), self.position(account, symbol));
                if needed > available {
                    return Err(Reject::InsufficientShares { needed, available });
                }
                let left = available.minus(needed);
                self.holdings
                    .iter_mut()
                    .filter(|holding| holding.account == account && holding.symbol == symbol)
                    .for_each(|holding| holding.shares = left);
            }
        }
        Ok(())
    }

    /// Cancels what is open of an order, and gives it.
    fn cancel(&mut self, order: OrderId) -> Shares {
        let canceled = &mut self.orders[order.0 as usize - 1];
        let shares = std::mem::replace(&mut canceled.open, Shares::ZERO);
        canceled.canceled = Some(Cancellation { shares, time: self.time });
        self.open.retain(|&open| open != order);
        self.reached.retain(|&reached| reached != order);
        shares
    }

    /// The open order that `aggressor` executes with next.
    fn best_match(&self, aggressor: OrderId) -> Option<OrderId> {
        let aggressor = self.order(aggressor);
        if aggressor.open.is_zero() {
            return None;
        }
        self.matching(aggressor.symbol, aggressor.side, aggressor.limit).first().copied()
    }

    /// The open orders that one of this side and limit executes with: the best price first, then the one that came earlier.
    fn matching(&self, symbol: SymbolIndex, side: Side, limit: Price) -> Vec<OrderId> {
        let others = self.resting().filter(|maker| maker.symbol == symbol && maker.side == side.opposite());
        let mut matching: Vec<&Order> = match side {
            Side::Buy => others.filter(|maker| maker.limit <= limit).collect(),
            Side::Sell => others.filter(|maker| maker.limit >= limit).collect(),
        };
        match side {
            Side::Buy => matching.sort_by_key(|maker| (maker.limit, maker.arrival)),
            Side::Sell => matching.sort_by_key(|maker| (Reverse(maker.limit), maker.arrival)),
        }
        matching.into_iter().map(|maker| maker.id).collect()
    }

    fn execute(&mut self, order: OrderId, price: Price, shares: Shares) {
        let time = self.time;
        let executed = &mut self.orders[order.0 as usize - 1];
        executed.open = executed.open.less(shares);
        executed.executions.push(Execution { shares, price, time });
        if executed.open.is_zero() {
            self.open.retain(|&open| open != order);
        }
    }

    fn status(&self, order: &Order, executions: &mut Vec<Execution>) -> Status {
        let start = executions.len();
        executions.extend_from_slice(&order.executions);
        let waits = order.trigger.filter(|_| order.waits && !order.open.is_zero());
        Status {
            order: order.id,
            open: order.open,
            waits,
            canceled: order.canceled,
            executions: start..executions.len(),
        }
    }

    /// The order, if it is the account's: another account's is as unknown as one that never was.
    fn owned_order(&self, account: AccountId, order: OrderId) -> Result<&Order, Reject> {
        let account = self.account_named(account)?;
        let found = order.0.checked_sub(1).and_then(|place| self.orders.get(usize::try_from(place).ok()?));
        found.filter(|found| found.account == account).ok_or(Reject::UnknownOrder)
    }

    /// The order that an account's client order id stands for.
    fn client_order(&self, account: AccountId, client_id: ClientOrderId) -> Result<OrderId, Reject> {
        let account = self.account_named(account)?;
        let is_it = |(id, order): &(ClientOrderId, &Order)| order.account == account && *id == client_id;
        self.client_orders().find(is_it).map(|(_, order)| order.id).ok_or(Reject::UnknownOrder)
    }

    /// Whether the client order id of an order stands for it now.
    fn client_id_stands(&self, order: &Order) -> bool {
        order.done_at().is_none_or(|done| self.time.0 < done.0 + DAY_US)
    }

    fn say_if_client_order_is_done(&self, order: OrderId, events: &mut Vec<Event>) {
        let order = self.order(order);
        if order.client_id.is_some() && order.open.is_zero() {
            events.push(Event::ClientOrderDone { order: order.id });
        }
    }

    fn account_named(&self, id: AccountId) -> Result<AccountIndex, Reject> {
        let found = self.accounts.iter().position(|account| account.id == id);
        found.map(|place| AccountIndex(place as u32)).ok_or(Reject::UnknownAccount)
    }

    fn symbol_named(&self, name: Symbol) -> Result<SymbolIndex, Reject> {
        let found = self.symbols.iter().position(|listing| listing.name == name);
        found.map(|place| SymbolIndex(place as u32)).ok_or(Reject::UnknownSymbol)
    }

    fn credit_money(&mut self, account: AccountIndex, money: Money) {
        let balance = &mut self.accounts[account.0 as usize].balance;
        *balance = balance.plus(money);
    }

    fn credit_shares(&mut self, account: AccountIndex, symbol: SymbolIndex, shares: Position) {
        match self.holdings.iter_mut().find(|holding| holding.account == account && holding.symbol == symbol) {
            Some(holding) => holding.shares = holding.shares.plus(shares),
            None => self.holdings.push(Holding { account, symbol, shares }),
        }
    }

    pub(crate) fn balance_changed(&self, account: AccountIndex) -> Event {
        Event::BalanceChanged { account, balance: self.balance(account) }
    }

    pub(crate) fn position_changed(&self, account: AccountIndex, symbol: SymbolIndex) -> Event {
        Event::PositionChanged { account, symbol, shares: self.position(account, symbol) }
    }
}

/// A market buy holds nothing: it pays as it goes, and stops where its account's money ends.
pub(crate) fn pays_as_it_goes(placed: &NewOrder<SymbolIndex>) -> bool {
    (placed.kind, placed.side) == (OrderKind::Market, Side::Buy)
}

/// The most shares of one order that the money pays for.
fn affordable(money: Money, price: Price) -> Shares {
    let units = money.units() / i128::from(price.units());
    Shares::from_units(i64::try_from(units).unwrap_or(i64::MAX)).expect("no balance is negative")
}

/// Whether both tell the same account's balance, or its position in the same symbol.
fn is_of_the_same(one: &Event, other: &Event) -> bool {
    match (*one, *other) {
        (Event::BalanceChanged { account: one, .. }, Event::BalanceChanged { account: other, .. }) => one == other,
        (
            Event::PositionChanged { account: one, symbol: s1, .. },
            Event::PositionChanged { account: other, symbol: s2, .. },
        ) => (one, s1) == (other, s2),
        _ => false,
    }
}
