//! The exchange: every command and query. Each function reads as the paragraph of docs/PROTOCOL.md that it is written
//! from. The model keeps every order that was ever placed, and ignores speed.

use std::collections::BTreeMap;

use terms::{
    AccountId, AccountIndex, AccountLimits, BandReferences, Bond, CancelBounds, CancelReason, Cancellation,
    ClientOrderId, Command, Deadline, Entry, Event, Execution, ExecutionBounds, Fees, Grace, Group, KillScope,
    LogMessage, Money, OpenTerms, OrderId, OrderKind, OrderName, Position, Price, Query, Reject, Reply, SelfTrade,
    Sequence, Shares, Side, Status, Symbol, SymbolIndex, SymbolPhase, SymbolRules, Tier, Time, Trail, Trigger,
};

/// The time that a client order id still stands for its order after that order is done.
const DAY_US: u64 = 86_400_000_000;

/// The whole market.
#[derive(Clone, Debug)]
pub struct Model {
    pub(crate) sequence: Sequence,
    pub(crate) time: Time,
    pub(crate) accounts: Vec<Account>,
    pub(crate) symbols: Vec<Listing>,
    /// All dollars that came with new accounts and deposits, and all that were withdrawn.
    pub(crate) money_in: Money,
    pub(crate) money_out: Money,
    pub(crate) holdings: Vec<Holding>,
    /// All orders ever placed, done ones too; order 1 is the first.
    pub(crate) orders: Vec<Order>,
    /// The orders with open shares, in no particular order.
    pub(crate) open: Vec<OrderId>,
    /// The orders that client order ids stand for, the oldest first.
    pub(crate) named: Vec<OrderId>,
    /// Orders that are not active yet although an execution reached their triggers, in their order.
    pub(crate) reached: Vec<OrderId>,
    /// The number of orders that arrived at the books so far.
    pub(crate) arrivals: u64,
    /// Whether the last command canceled an order.
    pub(crate) has_canceled: bool,
    /// The order that the last command names, and that the next one's order may replace.
    pub(crate) replaceable: Option<OrderId>,
    /// The order that the last command placed.
    pub(crate) just_opened: Option<OrderId>,
    /// Pairs of open orders, each of which cancels the other.
    pub(crate) links: Vec<(OrderId, OrderId)>,
    /// The working order of the last commands, if a later command may place an order that waits for it.
    pub(crate) chain: Option<Chain>,
    /// Executed working orders whose pending orders are not placed yet, in their order.
    pub(crate) due: Vec<OrderId>,
    /// The command since which `due` is not empty.
    pub(crate) due_since: Sequence,
    /// Whether the market is placing a pending order now.
    pub(crate) is_releasing: bool,
    /// The fees of the symbols and tiers that have any, in no particular order.
    pub(crate) fees: Vec<(SymbolIndex, Tier, Fees<AccountIndex>)>,
    /// The prices at which an order executed.
    pub(crate) prices: Vec<Price>,
    /// The killed scopes, sorted.
    pub(crate) kills: Vec<KillScope<AccountIndex, SymbolIndex>>,
    /// The accounts that the commands before kill or release together with the next, and the last such command.
    pub(crate) together: (Vec<AccountIndex>, bool, Sequence),
    /// The protected accounts, in no particular order.
    pub(crate) protected: Vec<(AccountIndex, Grace)>,
    /// All messages of the shared log that the market took.
    pub(crate) messages: Vec<LogMessage>,
    /// All changes of phases since the first of those: when they were asked for, or due.
    pub(crate) phase_changes: Vec<(SymbolIndex, Time)>,
    /// The limits of the accounts that have any.
    pub(crate) limits: BTreeMap<AccountIndex, AccountLimits>,
    /// The time up to which all was done that the calendar has; zero before the first time.
    pub(crate) calendar: Time,
    /// The first order of a pair while the second one is placed, to be linked with it.
    pub(crate) linking: Option<OrderId>,
    /// The most executions of commands, those that the current command has left, and those of all commands of its time.
    pub(crate) execution_bounds: ExecutionBounds,
    /// Below zero if more orders ended their following than were left.
    pub(crate) executions_left: i64,
    pub(crate) executed_in_turn: u64,
    /// The orders that ended their following at the time of the current command.
    pub(crate) ended_in_turn: u64,
    /// The turns that the commands of the current time took.
    pub(crate) turns_in_turn: usize,
    /// Whether the last command met an order that looks at others, when all turns were taken.
    pub(crate) was_put_off: bool,
    /// The symbols that have had their turn in this round, and those that have no further turn in this command, because
    /// a fill-or-kill is first there.
    pub(crate) served: Vec<SymbolIndex>,
    pub(crate) passed_over: Vec<SymbolIndex>,
    /// Orders that commands end, at most, where the client did not name each of them; those that the current command
    /// may still end, and those that all commands of its time have ended.
    pub(crate) cancel_bounds: CancelBounds,
    pub(crate) cancels_left: usize,
    pub(crate) canceled_in_turn: usize,
}

/// A working order whose request may not be over yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    pub(crate) working: OrderId,
    /// The number of pending orders that the request has yet to place.
    pub(crate) left: u8,
    /// The command that placed it.
    pub(crate) begun: Sequence,
}

#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub id: AccountId,
    pub balance: Money,
    pub tier: Tier,
    pub group: Group,
    /// The number of deposits and withdrawals.
    pub transfers: u64,
    pub is_closed: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Listing {
    pub name: Symbol,
    pub issued: Position,
    /// The price of the last execution.
    pub last: Option<Price>,
    /// The prices around which its bands lie.
    pub references: BandReferences,
    /// The prices of executions since no trigger from below was left, and since none from above was.
    pub rose: Vec<Price>,
    pub fell: Vec<Price>,
    /// The rules that its orders obey.
    pub rules: SymbolRules,
    /// Its phase.
    pub phase: SymbolPhase,
}

#[derive(Clone, Debug)]
pub(crate) struct Holding {
    pub account: AccountIndex,
    pub symbol: SymbolIndex,
    pub shares: Position,
}

/// An order with its whole history.
#[derive(Clone, Debug)]
pub struct Order {
    /// Its id.
    pub id: OrderId,
    /// The account that placed it.
    pub account: AccountIndex,
    /// The symbol that it trades.
    pub symbol: SymbolIndex,
    /// The side.
    pub side: Side,
    /// The worst price that it accepts.
    pub limit: Price,
    /// The kind, which says how it executes on arrival.
    pub kind: OrderKind,
    /// The shares that are neither executed nor canceled.
    pub open: Shares,
    /// The canceled shares, and the time.
    pub canceled: Option<Cancellation>,
    /// Its executions, oldest first.
    pub executions: Vec<Execution>,
    /// The id that the client gave it.
    pub client_id: Option<ClientOrderId>,
    /// The shares that it was placed with.
    pub placed: Shares,
    /// The shares that amends and self-trade prevention took off it.
    pub reduced: Shares,
    /// The shares that it shows at a time, if not all.
    pub display: Option<Shares>,
    /// The shares that it shows now, if it rests.
    pub shown: Shares,
    /// The treatment of a match with an order of its own account.
    pub self_trade: SelfTrade,
    /// Whether its shares were chosen for money. Such an order goes on with no other command.
    pub(crate) for_money: bool,
    /// The time at which it expires.
    pub until: Option<Deadline>,
    /// The trigger that it waits for, or waited for.
    pub trigger: Option<Trigger>,
    /// The distance that its trigger keeps from the market until an execution reaches it, if it was placed to follow
    /// the market.
    pub trail: Option<Trail>,
    /// Whether its trigger follows the market: no execution has reached it.
    pub follows: bool,
    /// Whether its trigger moved.
    pub has_moved: bool,
    /// Whether it still waits for its trigger.
    pub waits: bool,
    /// The reason why it arrives at its book later, or continues there later.
    pub delayed: Option<Delay>,
    /// The worst price at which it continues there.
    pub worst: Option<Price>,
    /// The working order that this order waits for; `None` once that one is executed.
    pub pends_on: Option<OrderId>,
    /// The number of its arrival at the books. An order that waits for a trigger arrives when that is reached.
    pub arrival: u64,
}

/// The reason why an order that waits for no price is in no book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// An order of its symbol is under way, and this one waits behind it.
    Queued,
    /// The order executed as often as one command may, and a later command continues it.
    UnderWay,
    /// The order is for an auction, and its symbol was in none.
    Auction,
}

/// The other terms that an order is placed with.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) client_id: Option<ClientOrderId>,
    pub(crate) until: Option<Deadline>,
    pub(crate) display: Option<Shares>,
    pub(crate) trail: Option<Trail>,
    /// The id that the order already has because it waited for another order.
    pub(crate) released: Option<OrderId>,
    /// The open order that gets these terms in place of others.
    pub(crate) amended: Option<OrderId>,
    /// The shares of it that were executed.
    pub(crate) executed: Shares,
    /// Whether its shares were chosen for money.
    pub(crate) for_money: bool,
}

impl Terms {
    /// No further terms.
    pub(crate) const NONE: Terms = Terms {
        client_id: None,
        until: None,
        display: None,
        trail: None,
        released: None,
        amended: None,
        executed: Shares::ZERO,
        for_money: false,
    };
}

impl Default for Model {
    fn default() -> Model {
        Model::new()
    }
}

impl Model {
    /// Makes an exchange without accounts and symbols.
    pub fn new() -> Model {
        Model {
            sequence: Sequence::ZERO,
            time: Time::ZERO,
            accounts: Vec::new(),
            symbols: Vec::new(),
            money_in: Money::ZERO,
            money_out: Money::ZERO,
            holdings: Vec::new(),
            orders: Vec::new(),
            open: Vec::new(),
            named: Vec::new(),
            reached: Vec::new(),
            arrivals: 0,
            has_canceled: false,
            replaceable: None,
            just_opened: None,
            links: Vec::new(),
            chain: None,
            due: Vec::new(),
            due_since: Sequence::ZERO,
            is_releasing: false,
            fees: Vec::new(),
            prices: Vec::new(),
            kills: Vec::new(),
            together: (Vec::new(), false, Sequence::ZERO),
            protected: Vec::new(),
            messages: Vec::new(),
            phase_changes: Vec::new(),
            limits: BTreeMap::new(),
            calendar: Time::ZERO,
            linking: None,
            execution_bounds: ExecutionBounds::ALL,
            executions_left: 0,
            ended_in_turn: 0,
            turns_in_turn: 0,
            was_put_off: false,
            executed_in_turn: 0,
            served: Vec::new(),
            passed_over: Vec::new(),
            cancel_bounds: CancelBounds::ALL,
            cancels_left: 0,
            canceled_in_turn: 0,
        }
    }

    /// Sets other bounds of the orders that commands end without naming them: for tests.
    pub fn with_cancel_bounds(self, cancel_bounds: CancelBounds) -> Model {
        Model { cancel_bounds, ..self }
    }

    /// The most orders that a command and a turn end where they do not name each of them.
    pub fn cancel_bounds(&self) -> CancelBounds {
        self.cancel_bounds
    }

    /// The most executions of a command and of a turn.
    pub fn execution_bounds(&self) -> ExecutionBounds {
        self.execution_bounds
    }

    /// Sets the most executions of each later command.
    pub fn set_executions_max(&mut self, executions_max: u32) {
        self.execution_bounds = ExecutionBounds::of_command(executions_max);
    }

    /// Makes an exchange whose commands execute at most this often.
    pub fn with_executions_max(executions_max: u32) -> Model {
        Model::with_execution_bounds(ExecutionBounds::of_command(executions_max))
    }

    /// Makes an exchange with these bounds of executions.
    pub fn with_execution_bounds(execution_bounds: ExecutionBounds) -> Model {
        Model { execution_bounds, ..Model::new() }
    }

    /// Obeys the command of an entry, or refuses it. Appends the executions that the reply refers to to `executions`,
    /// and everything that happened to `events`.
    pub fn apply(&mut self, entry: &Entry, executions: &mut Vec<Execution>, events: &mut Vec<Event>) -> Reply {
        self.sequence = entry.sequence;
        self.cancels_left = self.cancels_of(entry);
        let may_execute = self.executions_of(entry);
        self.was_put_off = false;
        self.executions_left = may_execute;
        self.time = entry.time;
        let named = std::mem::take(&mut self.named);
        self.named = named.into_iter().filter(|&order| self.client_id_stands(self.order(order))).collect();
        let outcome = self.obey(entry.command, executions, events);
        let canceled = matches!((entry.command, &outcome), (Command::CancelOrder { .. }, Ok(_)));
        self.has_canceled = canceled;
        self.replaceable = self.replaceable.filter(|_| matches!(entry.command, Command::ReplaceOrder { .. }));
        let is_placed = entry.command.place().is_none_or(|place| place.bond() != Bond::Pending);
        self.just_opened = match outcome {
            Ok(Reply::Opened(order) | Reply::Moved { order, is_new: true, .. }) => Some(order).filter(|_| is_placed),
            _ => None,
        };
        self.end_chain(&entry.command, &outcome);
        self.release_after(events);
        self.forget_prices();
        self.executed_in_turn += (may_execute - self.executions_left) as u64;
        outcome.unwrap_or_else(Reply::Rejected)
    }

    /// The most orders that a command ends without naming them.
    fn cancels_of(&mut self, entry: &Entry) -> usize {
        let CancelBounds { command, turn, small } = self.cancel_bounds;
        if entry.time > self.time {
            self.canceled_in_turn = 0;
        }
        match matches!(entry.command, Command::ExpireOrders | Command::EndAuction) {
            true => command,
            false if self.canceled_in_turn + small >= turn => small,
            false => command.min(turn - self.canceled_in_turn),
        }
    }

    /// The most executions of a command.
    fn executions_of(&mut self, entry: &Entry) -> i64 {
        let ExecutionBounds { command, turn, small, .. } = self.execution_bounds;
        if entry.time > self.time || entry.command == Command::ActivateReached {
            (self.executed_in_turn, self.ended_in_turn, self.turns_in_turn) = (0, 0, 0);
        }
        let left = u64::from(turn).saturating_sub(self.executed_in_turn);
        match matches!(entry.command, Command::ActivateReached | Command::EndAuction) {
            true => command.into(),
            false if left < small.into() => small.into(),
            false => left.min(command.into()) as i64,
        }
    }

    pub(crate) fn obey(
        &mut self,
        command: Command,
        executions: &mut Vec<Execution>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        match command {
            Command::CreateAccount { account, balance } => self.create_account(account, balance, events),
            Command::CreateSymbol { symbol } => self.create_symbol(symbol, events),
            Command::IssueShares { symbol, account, shares } => self.issue_shares(symbol, account, shares, events),
            Command::FundAccount { payer, account, balance } => self.fund_account(payer, account, balance, events),
            Command::GiveShares { payer, symbol, account, shares } => {
                self.give_shares(payer, symbol, account, shares, events)
            }
            Command::Deposit { account, assets, number } => self.deposit(account, assets, number, events),
            Command::DepositFrom { payer, account, assets, number } => {
                self.deposit_from(payer, account, assets, number, events)
            }
            Command::Withdraw { account, assets, number } => self.withdraw(account, assets, number, events),
            Command::CloseAccount { account } => self.close_account(account, events),
            Command::Place(place) => self.place_command(place, events),
            Command::CancelOrder { account, order } => match self.named_order(account, order) {
                Ok(order) => self.cancel_order(account, order, executions, events),
                Err(reject) => Err(reject),
            },
            Command::ReplaceOrder { account, order } => self.name_replaced(account, order, executions),
            Command::AmendOrder { account, order, shares } => match self.named_order(account, order) {
                Ok(order) => self.amend_order(account, order, shares, events),
                Err(reject) => Err(reject),
            },
            Command::Amend(amendment) => match self.named_order(amendment.account, amendment.order) {
                Ok(order) => self.amend_terms(order, &amendment, events),
                Err(reject) => Err(reject),
            },
            Command::ActivateReached => {
                self.activate_reached(true, events);
                Ok(Reply::Activated)
            }
            Command::ExpireOrders => {
                self.expire_orders(events);
                Ok(Reply::Expired)
            }
            Command::ChangeRules { symbol, rules } => self.change_rules(symbol, rules, events),
            Command::FreeClientOrderId { account, id } => {
                let order = self.client_order(account, id)?;
                if !self.order(order).open.is_zero() {
                    return Ok(Reply::Repeated(order));
                }
                self.named.retain(|named| *named != order);
                events.push(Event::ClientOrderIdFreed { order });
                Ok(Reply::Freed(order))
            }
            Command::ChangeFees { symbol, tier, fees } => self.change_fees(symbol, tier, fees, events),
            Command::ChangeTier { account, tier } => self.change_tier(account, tier, events),
            Command::ChangeGroup { account, group } => self.change_group(account, group, events),
            Command::ChangePhase { symbol, phase, due } => self.change_phase(symbol, (phase, due), events),
            Command::FollowCalendar { through } => {
                if through > self.calendar {
                    self.calendar = through;
                    events.push(Event::CalendarFollowed { through });
                }
                Ok(Reply::Created)
            }
            Command::EndAuction => {
                self.end_auction(events);
                Ok(Reply::Created)
            }
            Command::CancelAll { account, symbol, through } => self.cancel_all(account, symbol, through, events),
            Command::Kill { scope } => self.kill(scope, events),
            Command::Release { scope } => self.release_killed(scope, events),
            Command::KillTogether { account, among } => Ok(self.kill_together(account, among, events)),
            Command::ReleaseTogether { account, among } => self.release_together(account, among, events),
            Command::TakeMessage(message) => {
                self.take_message(message);
                Ok(Reply::Created)
            }
            Command::Protect { account, grace } => self.protect(account, grace, events),
            Command::Unprotect { account, is_lost, through } => self.unprotect(account, (is_lost, through), events),
            Command::ChangeLimits { account, limits } => self.change_limits(account, limits, events),
        }
    }

    /// Answers a query for an order.
    pub fn query(&self, query: &Query, executions: &mut Vec<Execution>) -> Reply {
        let named = self.named_order(query.account, query.order);
        match named.and_then(|order| self.owned_order(query.account, order)) {
            Ok(order) => Reply::Status(self.status(order, executions)),
            Err(reject) => Reply::Rejected(reject),
        }
    }

    pub(crate) fn named_order(&self, account: AccountId, order: OrderName) -> Result<OrderId, Reject> {
        match order {
            OrderName::Id(order) => Ok(order),
            OrderName::Client(id) => self.client_order(account, id),
        }
    }

    fn create_account(&mut self, id: AccountId, balance: Money, events: &mut Vec<Event>) -> Result<Reply, Reject> {
        if self.accounts.iter().any(|account| account.id == id) {
            return Err(Reject::AccountExists);
        }
        // Trading neither makes nor loses money, so the money that exists now is what came and was not withdrawn.
        let created = self.total_money();
        if created.plus(balance) > Money::CAP {
            return Err(Reject::TooMuchMoney { issued: created });
        }
        self.money_in = self.money_in.plus(balance);
        Ok(self.add_account(id, balance, events))
    }

    pub(crate) fn add_account(&mut self, id: AccountId, balance: Money, events: &mut Vec<Event>) -> Reply {
        let account = AccountIndex(self.accounts.len() as u32);
        self.accounts.push(Account {
            id,
            balance,
            tier: Tier::FIRST,
            group: Group::NONE,
            transfers: 0,
            is_closed: false,
        });
        events.push(Event::AccountCreated { account, id });
        events.push(Event::BalanceChanged { account, balance });
        Reply::Created
    }

    pub(crate) fn set_balance(&mut self, account: AccountIndex, balance: Money) {
        self.accounts[account.0 as usize].balance = balance;
    }

    fn create_symbol(&mut self, name: Symbol, events: &mut Vec<Event>) -> Result<Reply, Reject> {
        if self.symbols.iter().all(|listing| listing.name != name) {
            let symbol = SymbolIndex(self.symbols.len() as u32);
            self.symbols.push(Listing {
                name,
                issued: Position::ZERO,
                last: None,
                references: BandReferences::NONE,
                rose: Vec::new(),
                fell: Vec::new(),
                rules: SymbolRules::NONE,
                phase: SymbolPhase::OPEN,
            });
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
        let account = self.open_account(account)?;
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

    /// Cancels the open shares of an order, and gives back what they held.
    pub(crate) fn cancel_open(&mut self, id: OrderId, why: CancelReason, events: &mut Vec<Event>) {
        let Order { account, symbol, .. } = *self.order(id);
        let shares = self.cancel(id);
        events.push(Event::OrderCanceled { order: id, account, symbol, shares, why });
        self.give_back(id, shares, events);
    }

    /// Gives back what these shares of an order held.
    pub(crate) fn give_back(&mut self, id: OrderId, shares: Shares, events: &mut Vec<Event>) {
        if self.order(id).pends_on.is_some() {
            return;
        }
        let Order { account, symbol, side, limit, kind, .. } = *self.order(id);
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

    pub(crate) fn cancel_order(
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
        self.cancel_partner(id, events);
        self.cancel_open(id, CancelReason::Asked, events);
        self.say_if_it_is_done(id, events);
        Ok(Reply::Canceled(self.status(self.order(id), executions)))
    }

    /// Cancels the open shares of an order, and returns them.
    pub(crate) fn cancel(&mut self, order: OrderId) -> Shares {
        let canceled = &mut self.orders[order.0 as usize - 1];
        let shares = std::mem::replace(&mut canceled.open, Shares::ZERO);
        (canceled.delayed, canceled.worst) = (None, None);
        canceled.canceled = Some(Cancellation { shares, time: self.time });
        self.open.retain(|&open| open != order);
        self.reached.retain(|&reached| reached != order);
        shares
    }

    fn status(&self, order: &Order, executions: &mut Vec<Execution>) -> Status {
        let start = executions.len();
        executions.extend_from_slice(&order.executions);
        let waits = order.trigger.filter(|_| order.waits && !order.open.is_zero());
        let trail = order.trail.filter(|_| waits.is_some() && order.follows);
        let terms = OpenTerms {
            waits,
            trail,
            pends_on: order.pends_on.filter(|_| !order.open.is_zero()),
            until: order.until.filter(|_| !order.open.is_zero()),
            iceberg: order.iceberg(),
        };
        Status {
            order: order.id,
            open: order.open,
            terms: terms.if_any(),
            canceled: order.canceled,
            executions: start..executions.len(),
            elsewhere: None,
        }
    }

    /// The order, if it is the account's: an order of another account counts as unknown.
    pub(crate) fn owned_order(&self, account: AccountId, order: OrderId) -> Result<&Order, Reject> {
        let account = self.account_named(account)?;
        let found = order.0.checked_sub(1).and_then(|place| self.orders.get(usize::try_from(place).ok()?));
        found.filter(|found| found.account == account).ok_or(Reject::UnknownOrder)
    }

    /// The order that an account's client order id stands for.
    pub(crate) fn client_order(&self, account: AccountId, client_id: ClientOrderId) -> Result<OrderId, Reject> {
        let account = self.account_named(account)?;
        let is_it = |(id, order): &(ClientOrderId, &Order)| order.account == account && *id == client_id;
        self.client_orders().find(is_it).map(|(_, order)| order.id).ok_or(Reject::UnknownOrder)
    }

    /// Whether the client order id of an order still stands for it.
    fn client_id_stands(&self, order: &Order) -> bool {
        order.done_at().is_none_or(|done| self.time.0 < done.0 + DAY_US)
    }

    /// Tells the orders that wait for this one, if it is done.
    pub(crate) fn say_if_it_is_done(&mut self, order: OrderId, events: &mut Vec<Event>) {
        let order = self.order(order).clone();
        if !order.open.is_zero() {
            return;
        }
        if order.client_id.is_some() {
            events.push(Event::ClientOrderDone { order: order.id });
        }
        self.tell_pending(&order, events);
    }

    pub(crate) fn account_named(&self, id: AccountId) -> Result<AccountIndex, Reject> {
        let found = self.accounts.iter().position(|account| account.id == id);
        found.map(|place| AccountIndex(place as u32)).ok_or(Reject::UnknownAccount)
    }

    /// The account of this id, which is not closed.
    pub(crate) fn open_account(&self, id: AccountId) -> Result<AccountIndex, Reject> {
        let account = self.account_named(id)?;
        self.check_not_closed(account)?;
        Ok(account)
    }

    pub(crate) fn symbol_named(&self, name: Symbol) -> Result<SymbolIndex, Reject> {
        let found = self.symbols.iter().position(|listing| listing.name == name);
        found.map(|place| SymbolIndex(place as u32)).ok_or(Reject::UnknownSymbol)
    }

    pub(crate) fn credit_money(&mut self, account: AccountIndex, money: Money) {
        let balance = &mut self.accounts[account.0 as usize].balance;
        *balance = balance.plus(money);
    }

    pub(crate) fn credit_shares(&mut self, account: AccountIndex, symbol: SymbolIndex, shares: Position) {
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
