//! The engine: applies each command and answers each query. It checks everything, then changes. `matching.rs` matches;
//! `export.rs` and `import.rs` write the state down and read it back.

use std::collections::{BTreeSet, VecDeque};

use foldhash::fast::FixedState;
use terms::{
    AccountId, AccountIndex, CancelBounds, ClientOrderId, Command, Entry, Event, Execution, ExecutionBounds,
    FeeSchedule, Groups, KillScope, Kills, Money, OpenTerms, OrderId, OrderName, Position, Protections, Query, Reject,
    Reply, Sequence, Status, Symbol, SymbolIndex, Time,
};

use crate::account_orders::AccountOrders;
use crate::accounts::{Accounts, Positions, Symbols};
use crate::book::Books;
use crate::client_orders::ClientOrders;
use crate::deadlines::Deadlines;
use crate::icebergs::Icebergs;
use crate::instruments::Instruments;
use crate::limited::LimitedAccounts;
use crate::links::Links;
use crate::order_terms::{Condition, Terms};
use crate::orders::Orders;
use crate::pendings::Pendings;
use crate::shared_log::SharedLog;
use crate::stops::Stops;

/// The number of ops read ahead together: enough that their waits overlap, few enough that their data stays in the
/// nearest cache.
pub const AHEAD: usize = 32;

/// All accounts, books and open orders, and the done orders that are kept until `forget`.
pub struct Engine {
    pub(crate) sequence: Sequence,
    pub(crate) time: Time,
    pub(crate) next_order: OrderId,
    /// The sum of the balances with which all accounts were created.
    pub(crate) money_issued: Money,
    pub(crate) accounts: Accounts,
    pub(crate) symbols: Symbols,
    pub(crate) positions: Positions,
    pub(crate) books: Books,
    pub(crate) orders: Orders,
    pub(crate) client_orders: ClientOrders,
    pub(crate) stops: Stops,
    pub(crate) instruments: Instruments,
    /// The last cancel that canceled an order; zero before the first. It is not part of the exported state: its reader
    /// follows the cancel in the same request, and no state is exported within a request.
    pub(crate) last_cancel: Sequence,
    /// The last command that placed an order; zero before the first. It is not part of the exported state, for the same
    /// reason.
    pub(crate) last_opened: Sequence,
    pub(crate) deadlines: Deadlines,
    pub(crate) links: Links,
    pub(crate) icebergs: Icebergs,
    pub(crate) fees: FeeSchedule,
    /// Groups of accounts of one owner.
    pub(crate) groups: Groups,
    pub(crate) pendings: Pendings,
    pub(crate) kills: Kills,
    /// Kills that may still have orders to cancel. All other killed scopes have no open orders. It is not part of the
    /// state, because it follows from it.
    pub(crate) kills_going_on: BTreeSet<KillScope<AccountIndex, SymbolIndex>>,
    /// Accounts whose orders are canceled when their last protected connection has ended.
    pub(crate) protections: Protections,
    /// Accounts with limits. Their counts are no part of the state, because they follow from it.
    pub(crate) limits: LimitedAccounts,
    /// The messages taken of the log that several nodes share.
    pub(crate) shared_log: SharedLog,
    /// The time up to which everything in the market's calendar was done. Zero before the first time.
    pub(crate) calendar: Time,
    /// The orders by account. They are no part of the state, because they follow from it.
    pub(crate) account_orders: AccountOrders,
    pub(crate) execution_bounds: ExecutionBounds,
    /// The number of executions that the current command may still make.
    pub(crate) executions_left: u32,
    /// The moves of triggers for which a turn had no executions left; `within` counts them from the turn's begin.
    pub(crate) moved_beyond: u32,
    /// The number of executions that the commands of the current time may still make together. It is not written down
    /// as a part of the state: no two turns have the same time, and no state is written down within a turn.
    turn_executions_left: u32,
    pub(crate) cancel_bounds: CancelBounds,
    /// The number of orders that the current command may still end without naming them.
    pub(crate) cancels_left: usize,
    /// The number of orders that the commands of the current time may still end so together. It is not written down,
    /// as `turn_executions_left` is not.
    pub(crate) turn_cancels_left: usize,
    /// Slots of done orders that nobody took yet, in the order in which they were done.
    done: VecDeque<u32>,
    done_orders: DoneOrders,
    /// The number of done orders that are still kept, taken or not.
    done_kept: usize,
}

/// The engine's treatment of done orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoneOrders {
    /// Keeps them until `forget`, for a ledger that writes them down before others may look them up there.
    Keep,
    /// Drops them at once: the followers of the events have them.
    Drop,
}

impl Engine {
    /// Makes an empty exchange. `hash_seed` should be random where clients choose names; it changes no reply, event or
    /// hash.
    pub fn new(hash_seed: u64, done_orders: DoneOrders) -> Engine {
        let hasher = FixedState::with_seed(hash_seed);
        Engine {
            sequence: Sequence::ZERO,
            time: Time::ZERO,
            next_order: OrderId(1),
            money_issued: Money::ZERO,
            accounts: Accounts::new(hasher.clone()),
            symbols: Symbols::new(hasher.clone()),
            positions: Positions::new(hasher.clone()),
            books: Books::new(),
            orders: Orders::new(),
            client_orders: ClientOrders::new(hasher.clone()),
            stops: Stops::new(),
            instruments: Instruments::new(),
            last_cancel: Sequence::ZERO,
            last_opened: Sequence::ZERO,
            deadlines: Deadlines::new(hasher),
            links: Links::new(),
            icebergs: Icebergs::new(),
            fees: FeeSchedule::new(),
            groups: Groups::new(),
            pendings: Pendings::new(),
            kills: Kills::new(),
            kills_going_on: BTreeSet::new(),
            protections: Protections::new(),
            limits: LimitedAccounts::default(),
            shared_log: SharedLog::new(),
            calendar: Time::ZERO,
            account_orders: AccountOrders::new(),
            execution_bounds: ExecutionBounds::ALL,
            executions_left: 0,
            moved_beyond: 0,
            turn_executions_left: ExecutionBounds::ALL.turn,
            cancel_bounds: CancelBounds::ALL,
            cancels_left: 0,
            turn_cancels_left: CancelBounds::ALL.turn,
            done: VecDeque::new(),
            done_orders,
            done_kept: 0,
        }
    }

    /// Replaces [`ExecutionBounds::ALL`] by other bounds, for tests. Markets can be compared only if they have the same
    /// bounds.
    pub fn with_execution_bounds(self, bounds: ExecutionBounds) -> Engine {
        Engine { execution_bounds: bounds, turn_executions_left: bounds.turn, ..self }
    }

    /// Replaces the bounds by ones in which each command may make this many executions, whatever other commands did.
    pub fn with_executions_max(self, executions_max: u32) -> Engine {
        self.with_execution_bounds(ExecutionBounds::of_command(executions_max))
    }

    /// Replaces [`CancelBounds::ALL`] by other bounds, for tests. Markets can be compared only if they have the same
    /// bounds.
    pub fn with_cancel_bounds(self, bounds: CancelBounds) -> Engine {
        Engine { cancel_bounds: bounds, turn_cancels_left: bounds.turn, ..self }
    }

    /// The sequence of the last command applied.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// The time of the last command applied.
    pub fn time(&self) -> Time {
        self.time
    }

    /// The number of accounts.
    pub fn account_count(&self) -> usize {
        self.accounts.all().len()
    }

    /// The number of symbols.
    pub fn symbol_count(&self) -> usize {
        self.symbols.all().len()
    }

    /// The number of open orders.
    pub fn open_order_count(&self) -> usize {
        self.orders.len().saturating_sub(self.done_kept)
    }

    /// The number of done orders that are kept until `forget`.
    pub fn done_order_count(&self) -> usize {
        self.done_kept
    }

    /// The id that the next accepted order gets.
    pub fn next_order(&self) -> OrderId {
        self.next_order
    }

    /// The balance of an account; none for an unknown one.
    pub fn balance(&self, account: AccountId) -> Option<Money> {
        Some(self.accounts.get(self.accounts.find(account)?).balance)
    }

    /// The sum of the balances with which all accounts were created.
    pub fn money_issued(&self) -> Money {
        self.money_issued
    }

    /// The position of an account in a symbol; none if either is unknown.
    pub fn position(&self, account: AccountId, symbol: Symbol) -> Option<Position> {
        Some(self.positions.get(self.accounts.find(account)?, self.symbols.find(symbol)?))
    }

    /// All shares ever issued in a symbol; none for an unknown one.
    pub fn issued(&self, symbol: SymbolIndex) -> Option<Position> {
        self.symbols.all().get(symbol.0 as usize).map(|listing| listing.issued)
    }

    /// All shares ever issued in a symbol, by its name; none for an unknown one.
    pub fn issued_of(&self, symbol: Symbol) -> Option<Position> {
        Some(self.symbols.get(self.symbols.find(symbol)?).issued)
    }

    /// The number of an account's client order ids in memory: those that stand for an order, and some that have
    /// expired.
    pub fn client_order_ids_of(&self, account: AccountId) -> usize {
        self.accounts.find(account).map_or(0, |account| self.client_orders.count_of(account))
    }

    /// The number of all accounts' client order ids in memory.
    pub fn client_order_ids(&self) -> usize {
        self.client_orders.len()
    }

    /// Whether a client order id that has expired at `time` is still in memory once `added` new ones are: then the next
    /// one removes at least as many as it adds.
    pub fn has_expired_client_order_ids_behind(&self, added: usize, time: Time) -> bool {
        self.client_orders.has_expired_behind(added, time)
    }

    /// The order that an account's client order id stands for, as of the last command.
    /// Errors: `UnknownAccount`; `UnknownOrder` for an id that stands for none, or no longer.
    pub fn client_order(&self, account: AccountId, id: ClientOrderId) -> Result<OrderId, Reject> {
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        self.client_orders.find(account, id, self.time).map(|found| found.order).ok_or(Reject::UnknownOrder)
    }

    /// The client order id that an open order was placed under.
    pub fn client_order_id(&self, order: OrderId) -> Option<ClientOrderId> {
        match self.client_orders.open_count() {
            0 => None,
            _ => self.client_orders.id_at(self.orders.find(order)?),
        }
    }

    /// Applies the next command. It appends the executions of a `Canceled` reply to `executions`, and passes every
    /// event to `events`. Panics unless the entry's sequence is the next and its time is not before the last: that
    /// would be a fault of the caller.
    pub fn apply(&mut self, entry: &Entry, executions: &mut Vec<Execution>, events: &mut impl FnMut(Event)) -> Reply {
        self.apply_command(entry.sequence, entry.time, &entry.command, executions, events)
    }

    /// Applies a command like `apply`, for callers that are not on the path of an order: the compiler makes its code
    /// once, and not once for each kind of `events`.
    pub fn apply_told(
        &mut self,
        entry: &Entry,
        executions: &mut Vec<Execution>,
        events: &mut dyn FnMut(Event),
    ) -> Reply {
        self.apply(entry, executions, &mut |event| events(event))
    }

    /// Applies a command like `apply_told`, without making events.
    pub fn apply_untold(&mut self, entry: &Entry, executions: &mut Vec<Execution>) -> Reply {
        self.apply(entry, executions, &mut |_| {})
    }

    /// Applies a command like `apply`, without copying it into an entry.
    #[inline]
    pub fn apply_command(
        &mut self,
        sequence: Sequence,
        time: Time,
        command: &Command,
        executions: &mut Vec<Execution>,
        events: &mut impl FnMut(Event),
    ) -> Reply {
        assert!(sequence == self.sequence.next(), "invariant: commands are applied in sequence");
        assert!(time >= self.time, "invariant: time does not go back");
        self.sequence = sequence;
        self.begin_cancels(time, command);
        let may_execute = self.begin_executions(time, command);
        let reply = match *command {
            Command::CreateAccount { account, balance } => self.create_account(account, balance, events),
            Command::CreateSymbol { symbol } => self.create_symbol(symbol, events),
            Command::IssueShares { symbol, account, shares } => self.issue_shares(symbol, account, shares, events),
            Command::FundAccount { payer, account, balance } => self.fund_account(payer, account, balance, events),
            Command::GiveShares { payer, symbol, account, shares } => {
                self.give_shares(payer, symbol, account, shares, events)
            }
            Command::PlaceOrder { account, ref order, client_id: None, until: None } => {
                self.place_order(account, order, &Terms::NONE, events)
            }
            Command::PlaceOrder { account, ref order, client_id, until } => {
                self.place_on_terms(account, order, &Terms { client_id, until, ..Terms::NONE }, events)
            }
            Command::PlaceByFunds { account, ref order, client_id } => {
                let terms = Terms { client_id, ..Terms::NONE };
                self.place_by_funds(account, order, &terms, events)
            }
            Command::PlaceIfCanceled { account, ref order, client_id, until } => self.place_on_terms(
                account,
                order,
                &Terms { client_id, until, condition: Condition::Canceled, ..Terms::NONE },
                events,
            ),
            Command::PlaceLinked { account, ref order, client_id, until } => {
                self.place_linked(account, order, &Terms { client_id, until, ..Terms::NONE }, events)
            }
            Command::PlaceByFundsIfCanceled { account, ref order, client_id } => {
                let terms = Terms { client_id, condition: Condition::Canceled, ..Terms::NONE };
                self.place_by_funds(account, order, &terms, events)
            }
            Command::CancelOrder { account, order } => match order {
                OrderName::Id(order) => self.cancel_order(account, order, executions, events),
                OrderName::Client(id) => self.cancel_client_order(account, id, executions, events),
            },
            Command::AmendOrder { account, order, shares } => match self.named_order(account, order) {
                Ok(order) => self.amend_order(account, order, shares, events),
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
            Command::ChangeRules { symbol, ref rules } => self.change_rules(symbol, rules, events),
            Command::FreeClientOrderId { account, id } => self.free_client_order_id(account, id, events),
            Command::PlaceIceberg { .. } => self.place_iceberg(command, events),
            Command::PlaceTrailing { .. } => self.place_trailing(command, events),
            Command::ChangeFees { symbol, tier, fees } => self.change_fees(symbol, tier, fees, events),
            Command::ChangeTier { account, tier } => self.change_tier(account, tier, events),
            Command::ChangePhase { symbol, phase, due } => self.change_phase(symbol, (phase, due), events),
            Command::EndAuction => {
                self.end_auction(events);
                Ok(Reply::Created)
            }
            Command::FollowCalendar { through } => {
                self.follow_calendar(through, events);
                Ok(Reply::Created)
            }
            Command::ChangeGroup { account, group } => self.change_group(account, group, events),
            Command::PlaceWorking { account, ref order, client_id, until, two_wait } => {
                self.place_working(account, order, &Terms { client_id, until, ..Terms::NONE }, two_wait, events)
            }
            Command::PlacePending { account, ref order, client_id, until } => {
                self.place_pending(account, order, &Terms { client_id, until, ..Terms::NONE }, events)
            }
            Command::CancelAll { account, symbol, through } => self.cancel_all(account, symbol, through, events),
            Command::Kill { scope } => self.change_kill(scope, true, events),
            Command::Release { scope } => self.change_kill(scope, false, events),
            Command::Protect { account, grace } => self.protect(account, grace, events),
            Command::Unprotect { account, is_lost, through } => self.unprotect(account, (is_lost, through), events),
            Command::ChangeLimits { account, ref limits } => self.change_limits(account, limits, events),
            Command::TakeMessage(message) => Ok(self.take_message(message)),
        };
        if self.pendings.are_due() {
            self.release_after(events);
        }
        self.turn_executions_left =
            self.turn_executions_left.saturating_sub(may_execute.saturating_sub(self.executions_left));
        reply.unwrap_or_else(Reply::Rejected)
    }

    /// Begins a command of this time, before `begin_executions`: says how many orders it may end.
    #[inline]
    fn begin_cancels(&mut self, time: Time, command: &Command) {
        let bounds = self.cancel_bounds;
        if time != self.time {
            self.turn_cancels_left = bounds.turn;
        }
        self.cancels_left = match matches!(command, Command::ExpireOrders | Command::EndAuction) {
            true => bounds.command,
            false => self.turn_cancels_left.max(bounds.small).min(bounds.command),
        };
    }

    /// Begins a command of this time. Returns how many executions it may make.
    #[inline]
    fn begin_executions(&mut self, time: Time, command: &Command) -> u32 {
        let bounds = self.execution_bounds;
        let goes_on = matches!(command, Command::ActivateReached);
        if time != self.time || goes_on {
            self.turn_executions_left = bounds.turn;
        }
        self.time = time;
        self.executions_left = match goes_on || matches!(command, Command::EndAuction) {
            true => bounds.command,
            false => self.turn_executions_left.max(bounds.small).min(bounds.command),
        };
        self.executions_left
    }

    /// Answers a query. Appends all executions of the order that the engine keeps to `executions`.
    pub fn query(&self, query: &Query, executions: &mut Vec<Execution>) -> Reply {
        self.query_within(query, usize::MAX, executions).expect("invariant: no order has so many executions")
    }

    /// Answers a query, unless the engine keeps more than `executions_max` executions of the order: then it returns
    /// `None` and appends nothing.
    pub fn query_within(&self, query: &Query, executions_max: usize, executions: &mut Vec<Execution>) -> Option<Reply> {
        let order = match self.named_order(query.account, query.order) {
            Ok(order) => order,
            Err(reject) => return Some(Reply::Rejected(reject)),
        };
        match self.find_order(query.account, order) {
            Ok(Some(slot)) => {
                if self.orders.executions_kept(slot) > executions_max {
                    return None;
                }
                let start = executions.len();
                let canceled = self.orders.history(slot, executions);
                let executions = start..executions.len();
                let elsewhere = self.orders.added_up(slot).map(Box::new);
                let terms = OpenTerms {
                    waits: self.waits(slot),
                    trail: self.trail_of(slot),
                    pends_on: self.pends_on(order),
                    until: self.deadlines.of(order),
                    iceberg: self.iceberg(order),
                };
                let (open, terms) = (self.open_of(slot), terms.if_any());
                Some(Reply::Status(Status { order, open, terms, canceled, executions, elsewhere }))
            }
            Ok(None) => Some(Reply::Done(order)),
            Err(reject) => Some(Reply::Rejected(reject)),
        }
    }

    /// The open order that a cancel would cancel after the last command; none for another command. Errors: the reply to
    /// a cancel that would change nothing.
    pub fn would_cancel(&self, command: &Command) -> Option<Result<OrderId, Reply>> {
        let (account, order) = match *command {
            Command::CancelOrder { account, order } => (account, order),
            Command::CreateAccount { .. }
            | Command::CreateSymbol { .. }
            | Command::IssueShares { .. }
            | Command::FundAccount { .. }
            | Command::GiveShares { .. }
            | Command::PlaceOrder { .. }
            | Command::PlaceByFunds { .. }
            | Command::AmendOrder { .. }
            | Command::ActivateReached
            | Command::ExpireOrders
            | Command::PlaceLinked { .. }
            | Command::PlaceIfCanceled { .. }
            | Command::PlaceByFundsIfCanceled { .. }
            | Command::ChangeRules { .. }
            | Command::FreeClientOrderId { .. }
            | Command::PlaceIceberg { .. }
            | Command::PlaceTrailing { .. }
            | Command::ChangeFees { .. }
            | Command::ChangeTier { .. }
            | Command::ChangePhase { .. }
            | Command::EndAuction
            | Command::FollowCalendar { .. }
            | Command::ChangeGroup { .. }
            | Command::PlaceWorking { .. }
            | Command::PlacePending { .. }
            | Command::CancelAll { .. }
            | Command::Kill { .. }
            | Command::Release { .. }
            | Command::Protect { .. }
            | Command::Unprotect { .. }
            | Command::ChangeLimits { .. }
            | Command::TakeMessage(_) => return None,
        };
        let order = self.named_order(account, order).map_err(Reply::Rejected);
        Some(order.and_then(|order| self.find_open(account, order).map(|_| order)))
    }

    /// Visits the done orders that were not taken yet, in the order in which they were done. Queries find them until
    /// `forget`.
    pub fn take_done(&mut self, visit: &mut impl FnMut(OrderId)) {
        while let Some(slot) = self.done.pop_front() {
            visit(self.orders.get(slot).id);
        }
    }

    /// Forgets many orders: in a large state the waits for memory overlap.
    pub fn forget_all(&mut self, mut orders: impl Iterator<Item = OrderId>) {
        loop {
            let mut next = [OrderId(0); AHEAD];
            let count = next.iter_mut().zip(&mut orders).map(|(place, order)| *place = order).count();
            let next = &next[..count];
            if self.is_far() {
                self.look_ahead_forgotten(next);
            }
            next.iter().for_each(|&order| self.forget(order));
            if count < AHEAD {
                return;
            }
        }
    }

    /// Drops a done order that was taken and is kept elsewhere now. Changes no reply and no state hash.
    pub fn forget(&mut self, order: OrderId) {
        self.orders.remove(order);
        self.done_kept = self.done_kept.saturating_sub(1);
    }

    fn create_account(
        &mut self,
        id: AccountId,
        balance: Money,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        if self.accounts.find(id).is_some() {
            return Err(Reject::AccountExists);
        }
        let issued = self.money_issued.plus(balance);
        if issued > Money::CAP {
            return Err(Reject::TooMuchMoney { issued: self.money_issued });
        }
        if !self.accounts.has_room() {
            return Err(Reject::Full);
        }
        self.money_issued = issued;
        let account = self.accounts.create(id, balance);
        events(Event::AccountCreated { account, id });
        events(Event::BalanceChanged { account, balance });
        Ok(Reply::Created)
    }

    fn create_symbol(&mut self, name: Symbol, events: &mut impl FnMut(Event)) -> Result<Reply, Reject> {
        if self.symbols.find(name).is_some() {
            return Ok(Reply::Created);
        }
        if !self.symbols.has_room() {
            return Err(Reject::Full);
        }
        let symbol = self.symbols.create(name, Position::ZERO);
        self.books.create();
        self.stops.watch_next(None, terms::TriggersLeft::default());
        events(Event::SymbolCreated { symbol, name });
        Ok(Reply::Created)
    }

    fn issue_shares(
        &mut self,
        symbol: Symbol,
        account: AccountId,
        shares: Position,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let symbol = self.symbols.find(symbol).ok_or(Reject::UnknownSymbol)?;
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        let issued = self.symbols.get(symbol).issued;
        if issued.plus(shares) > Position::CAP {
            return Err(Reject::TooManyShares { issued });
        }
        if shares != Position::ZERO {
            self.symbols.issue(symbol, shares);
            self.credit_shares(account, symbol, shares, events);
        }
        Ok(Reply::Created)
    }

    /// The id of the named order, whether or not there is such an order. Errors: those of `client_order`.
    #[inline]
    fn named_order(&self, account: AccountId, order: OrderName) -> Result<OrderId, Reject> {
        match order {
            OrderName::Id(order) => Ok(order),
            OrderName::Client(id) => self.client_order(account, id),
        }
    }

    /// The slot of an account's open order. Errors: the reply to a cancel of an order that is not open.
    #[inline(always)]
    pub(crate) fn find_open(&self, account: AccountId, order: OrderId) -> Result<u32, Reply> {
        match self.find_order(account, order) {
            Ok(Some(slot)) if self.orders.get(slot).open.is_zero() => Err(Reply::Rejected(Reject::NothingOpen)),
            Ok(Some(slot)) => Ok(slot),
            Ok(None) => Err(Reply::Done(order)),
            Err(reject) => Err(Reply::Rejected(reject)),
        }
    }

    /// The slot of an account's order; none if it is done and no longer kept. Errors: `UnknownAccount`; `UnknownOrder`,
    /// also for another account's order.
    fn find_order(&self, account: AccountId, order: OrderId) -> Result<Option<u32>, Reject> {
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        if order >= self.next_order || order == OrderId(0) {
            return Err(Reject::UnknownOrder);
        }
        match self.orders.find(order) {
            Some(slot) if self.orders.get(slot).account == account => Ok(Some(slot)),
            Some(_) => Err(Reject::UnknownOrder),
            None => Ok(None),
        }
    }

    /// Ends an order without open shares: it waits for `forget`, or goes at once.
    #[inline]
    pub(crate) fn finish(&mut self, slot: u32, events: &mut impl FnMut(Event)) {
        if self.client_orders.open_count() > 0 {
            self.finish_client_order(slot, events);
        }
        if !self.deadlines.is_empty() || !self.icebergs.is_empty() {
            self.forget_terms(slot);
        }
        if !self.limits.is_empty() {
            self.count_done(slot);
        }
        if self.pendings.are_any() {
            self.tell_pending(slot, events);
        }
        match self.done_orders {
            DoneOrders::Keep => {
                self.done.push_back(slot);
                self.done_kept = self.done_kept.saturating_add(1);
            }
            DoneOrders::Drop => self.orders.remove(self.orders.get(slot).id),
        }
    }

    #[cold]
    fn finish_client_order(&mut self, slot: u32, events: &mut impl FnMut(Event)) {
        if self.client_orders.finish(slot, self.time) {
            events(Event::ClientOrderDone { order: self.orders.get(slot).id });
        }
    }

    /// Frees a client order id. Errors: `UnknownAccount`; `UnknownOrder` for an id that stands for none.
    #[cold]
    fn free_client_order_id(
        &mut self,
        account: AccountId,
        id: ClientOrderId,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let order = self.client_order(account, id)?;
        let index = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        if !self.client_orders.free(index, id) {
            return Ok(Reply::Repeated(order));
        }
        events(Event::ClientOrderIdFreed { order });
        Ok(Reply::Freed(order))
    }

    #[cold]
    fn count_done(&mut self, slot: u32) {
        self.limits.count_order(self.orders.get(slot).account, false);
    }

    /// Drops the deadline and the display of a done order: nobody needs them any more.
    #[cold]
    fn forget_terms(&mut self, slot: u32) {
        let order = self.orders.get(slot).id;
        self.deadlines.remove(order);
        self.icebergs.remove(order);
    }

    pub(crate) fn credit_money(&mut self, account: AccountIndex, money: Money, events: &mut impl FnMut(Event)) {
        let balance = self.accounts.credit(account, money);
        events(Event::BalanceChanged { account, balance });
    }

    pub(crate) fn credit_shares(
        &mut self,
        account: AccountIndex,
        symbol: SymbolIndex,
        shares: Position,
        events: &mut impl FnMut(Event),
    ) {
        let shares = self.positions.credit(account, symbol, shares);
        events(Event::PositionChanged { account, symbol, shares });
    }
}

#[cfg(test)]
mod tests {
    use terms::{NewOrder, Price, Shares, Side};

    use super::*;

    #[test]
    fn an_order_that_no_slot_is_left_for_is_refused_and_changes_nothing() {
        let mut engine = Engine::new(1, DoneOrders::Keep);
        let account = AccountId::parse(b"7").expect("digits");
        let symbol = Symbol::parse(b"SPY").expect("letters");
        let limit = Price::from_units(500).expect("above zero");
        let shares = Shares::from_units(7).expect("not negative");
        let apply = |engine: &mut Engine, command| {
            let sequence = engine.sequence().next();
            engine.apply(&Entry { sequence, time: Time::ZERO, command }, &mut Vec::new(), &mut |_| {})
        };
        apply(&mut engine, Command::CreateAccount { account, balance: limit.times(shares) });
        apply(&mut engine, Command::CreateSymbol { symbol });
        engine.orders.pretend_full();
        let order = NewOrder::limit(symbol, Side::Buy, limit, shares);
        let order = Command::PlaceOrder { account, order, client_id: None, until: None };
        assert_eq!(apply(&mut engine, order), Reply::Rejected(Reject::Full));
        assert_eq!(engine.balance(account), Some(limit.times(shares)), "nothing is held for it");
        assert_eq!(engine.next_order(), OrderId(1), "it got no id");
    }
}
