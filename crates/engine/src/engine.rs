//! The engine: applies each command and answers each query. It checks everything, then changes. `matching/` matches;
//! `snapshot/` writes the state and reads it back.

use std::collections::{BTreeSet, VecDeque};

use terms::{
    AccountIndex, AccountStatuses, CancelBounds, Command, Entry, Event, Execution, ExecutionBounds, FeeSchedule,
    Groups, KillScope, Kills, Money, OrderId, OrderName, Protections, Reply, Sequence, SymbolIndex, Time,
};

use crate::accounts::state::{Accounts, Positions, Symbols};
use crate::icebergs::state::Icebergs;
use crate::kill_switch::state::KillsTogether;
use crate::limits::state::LimitedAccounts;
use crate::links::state::Links;
use crate::matching::book::Books;
use crate::orders::aside::SetAside;
use crate::orders::client_ids::ClientOrders;
use crate::orders::deadlines::Deadlines;
use crate::orders::of_account::AccountOrders;
use crate::orders::order_terms::OrderTerms;
use crate::orders::state::Orders;
use crate::pending::state::Pendings;
use crate::phases::state::AuctionOrders;
use crate::rules::state::Instruments;
use crate::shared_log::state::SharedLog;
use crate::stops::state::Stops;

use foldhash::fast::FixedState;

/// The number of ops read ahead together: enough that their waits overlap, few enough that their data stays in the
/// nearest cache.
pub const AHEAD: usize = 32;

/// All accounts, books and open orders, and the done orders that are kept until `forget`.
pub struct Engine {
    pub(crate) sequence: Sequence,
    pub(crate) time: Time,
    pub(crate) next_order: OrderId,
    /// The dollars that the market has: those with which accounts were created, with deposits and without withdrawals.
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
    /// The order that a command names to be replaced by that of the next, and the sequence of that command. It is not
    /// part of the exported state, for the same reason.
    pub(crate) replaceable: Option<(Sequence, OrderId)>,
    /// The order that is out of account while the one that replaces it is checked. None between commands.
    pub(crate) aside: Option<Box<SetAside>>,
    /// The last command that placed an order; zero before the first. It is not part of the exported state, for the same
    /// reason.
    pub(crate) last_opened: Sequence,
    pub(crate) deadlines: Deadlines,
    /// Orders that end with the auction of their symbol. They are no part of the state, because they follow from it.
    pub(crate) auction_orders: AuctionOrders,
    pub(crate) links: Links,
    pub(crate) icebergs: Icebergs,
    pub(crate) fees: FeeSchedule,
    /// Groups of accounts of one owner.
    pub(crate) groups: Groups,
    /// The transfers of accounts.
    pub(crate) account_statuses: AccountStatuses,
    pub(crate) pendings: Pendings,
    pub(crate) kills: Kills,
    /// Kills that may still have orders to cancel. All other killed scopes have no open orders. It is not part of the
    /// state, because it follows from it.
    pub(crate) kills_going_on: BTreeSet<KillScope<AccountIndex, SymbolIndex>>,
    /// The accounts that the commands before kill or release together with that of the next. They are not part of the
    /// exported state, as `last_cancel` is not.
    pub(crate) kills_together: KillsTogether,
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
    /// The number of orders whose following the current command ended beyond the executions that it had left.
    pub(crate) overdrawn: u32,
    /// The number of executions that the commands of the current time may still make together. It is not written down
    /// as a part of the state: no two turns have the same time, and no state is written down within a turn.
    turn_executions_left: u32,
    /// The number of orders whose following the commands of the current time may still end before orders wait for it.
    pub(crate) turn_ends_left: u32,
    /// The number of turns (see [`ACTIVATION`](crate::under_way::apply::ACTIVATION)) that the commands of the current
    /// time may still take together. It is not written down, as `turn_executions_left` is not.
    pub(crate) turns_left: usize,
    pub(crate) cancel_bounds: CancelBounds,
    /// The number of orders that the current command may still end without naming them.
    pub(crate) cancels_left: usize,
    /// The number of orders that the commands of the current time may still end so together. It is not written down,
    /// as `turn_executions_left` is not.
    pub(crate) turn_cancels_left: usize,
    /// Slots of done orders that nobody took yet, in the order in which they were done.
    pub(crate) done: VecDeque<u32>,
    pub(crate) done_orders: DoneOrders,
    /// The number of done orders that are still kept, taken or not.
    pub(crate) done_kept: usize,
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
            client_orders: ClientOrders::new(hasher),
            stops: Stops::new(),
            instruments: Instruments::new(),
            last_cancel: Sequence::ZERO,
            replaceable: None,
            aside: None,
            last_opened: Sequence::ZERO,
            deadlines: Deadlines::new(),
            auction_orders: AuctionOrders::new(),
            links: Links::new(),
            icebergs: Icebergs::new(),
            fees: FeeSchedule::new(),
            groups: Groups::new(),
            account_statuses: AccountStatuses::new(),
            pendings: Pendings::new(),
            kills: Kills::new(),
            kills_going_on: BTreeSet::new(),
            kills_together: KillsTogether::new(),
            protections: Protections::new(),
            limits: LimitedAccounts::default(),
            shared_log: SharedLog::new(),
            calendar: Time::ZERO,
            account_orders: AccountOrders::new(),
            execution_bounds: ExecutionBounds::ALL,
            executions_left: 0,
            overdrawn: 0,
            turn_executions_left: ExecutionBounds::ALL.turn,
            turn_ends_left: ExecutionBounds::ALL.turn,
            turns_left: ExecutionBounds::ALL.turns as usize,
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
        let ExecutionBounds { turn, turns, .. } = bounds;
        let turns_left = turns as usize;
        Engine { execution_bounds: bounds, turn_executions_left: turn, turn_ends_left: turn, turns_left, ..self }
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
            Command::Deposit { account, assets, number } => self.deposit(account, assets, number, events),
            Command::DepositFrom { payer, account, assets, number } => {
                self.deposit_from(payer, account, assets, number, events)
            }
            Command::Withdraw { account, assets, number } => self.withdraw(account, assets, number, events),
            Command::CloseAccount { account } => self.close_account(account, events),
            Command::Place(ref place) => match place.bare() {
                Some(ref order) => self.place_order(place.account, order, &OrderTerms::NONE, events),
                None => self.place(place, events),
            },
            Command::CancelOrder { account, order } => match order {
                OrderName::Id(order) => self.cancel_order(account, order, executions, events),
                OrderName::Client(id) => self.cancel_client_order(account, id, executions, events),
            },
            Command::ReplaceOrder { account, order } => self.name_replaced(account, order, executions),
            Command::AmendOrder { account, order, shares } => match self.named_order(account, order) {
                Ok(order) => self.amend_order(account, order, shares, events),
                Err(reject) => Err(reject),
            },
            Command::Amend(ref amendment) => match self.named_order(amendment.account, amendment.order) {
                Ok(order) => self.amend_terms(order, amendment, events),
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
            Command::CancelAll { account, symbol, through } => self.cancel_all(account, symbol, through, events),
            Command::Kill { scope } => self.change_kill(scope, true, events),
            Command::Release { scope } => self.change_kill(scope, false, events),
            Command::KillTogether { account, among } => self.change_kills(account, among, true, events),
            Command::ReleaseTogether { account, among } => self.change_kills(account, among, false, events),
            Command::Protect { account, grace } => self.protect(account, grace, events),
            Command::Unprotect { account, is_lost, through } => self.unprotect(account, (is_lost, through), events),
            Command::ChangeLimits { account, ref limits } => self.change_limits(account, limits, events),
            Command::TakeMessage(message) => Ok(self.take_message(message)),
        };
        if self.pendings.are_due() {
            self.release_after(events);
        }
        let counted = may_execute.saturating_sub(self.executions_left).saturating_add(self.overdrawn);
        self.turn_executions_left = self.turn_executions_left.saturating_sub(counted);
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
            (self.turn_executions_left, self.turn_ends_left) = (bounds.turn, bounds.turn);
            self.turns_left = bounds.turns as usize;
        }
        (self.time, self.overdrawn) = (time, 0);
        self.executions_left = match goes_on || matches!(command, Command::EndAuction) {
            true => bounds.command,
            false => self.turn_executions_left.max(bounds.small).min(bounds.command),
        };
        self.executions_left
    }
}

#[cfg(test)]
mod tests {
    use terms::{AccountId, NewOrder, Place, Price, Reject, Shares, Side, Symbol};

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
        let order = Command::Place(Place::order(account, order));
        assert_eq!(apply(&mut engine, order), Reply::Rejected(Reject::Full));
        assert_eq!(engine.balance(account), Some(limit.times(shares)), "nothing is held for it");
        assert_eq!(engine.next_order(), OrderId(1), "it got no id");
    }
}
