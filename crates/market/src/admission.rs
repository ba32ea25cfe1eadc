//! Admission decides which commands get a number. It decides by the surroundings, the settings and the engine's state,
//! before the commands are ordered. A replay sees only admitted commands, so it has nothing to decide.
//!
//! A command is judged by the engine's state and by the commands that the same turn has admitted before it. Whether the
//! engine will refuse one of those is not known yet. So at a bound the last commands of a turn may be refused although
//! there was room for them.
//!
//! While the disk is nearly full, only one cancel of each open order is admitted, because it frees something. So the
//! number of commands that can be written then is bounded. Any other cancel changes nothing, and is answered like a
//! query.

mod transfers;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use engine::Engine;
use exchange::{Bound, IssuedBefore, Principal, Requests, Unavailable, without_day_end};
use terms::{
    AccountId, Among, Bond, ClientOrderId, Command, KillScope, Money, Op, OrderForm, OrderId, Place, Position, Reject,
    Symbol, Time,
};

use crate::given_ids::GivenIds;
use crate::ledger::Writers;
use crate::presence::Presence;
use crate::protection::is_protection;

/// The present state of the surroundings and the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conditions {
    /// Whether the disk is nearly full, so that only commands that free something are admitted.
    pub disk_low: bool,
    /// The writers of the ledger.
    pub writers: Writers,
    /// Bounds on what clients may have the server keep.
    pub bounds: Bounds,
}

/// Bounds on what clients may have the server keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The number of accounts.
    pub accounts: u64,
    /// The number of symbols.
    pub symbols: u64,
    /// The dollars with which an account may be created.
    pub balance: Money,
    /// The shares of a symbol that an account may have when it is issued more.
    pub position: Position,
    /// The dollars with which one request may create accounts.
    pub request_money: Money,
    /// The shares of a symbol that one request may issue.
    pub request_shares: Position,
    /// The number of an account's client order ids.
    pub client_orders: u64,
    /// The number of all accounts' client order ids. Those with as many as are left get no further one: see
    /// `one_more_client_order`.
    pub client_orders_in_all: u64,
}

impl Bounds {
    /// No bounds but those of the engine.
    pub const NONE: Bounds = Bounds {
        accounts: u64::MAX,
        symbols: u64::MAX,
        balance: Money::CAP,
        position: Position::CAP,
        request_money: Money::CAP,
        request_shares: Position::CAP,
        client_orders: u64::MAX,
        client_orders_in_all: u64::MAX,
    };

    /// The most that one account, which has `there`, may get of what is `left` of `cap` when `others` may still want
    /// some and each may have `bound`. A hundredth of the cap is kept for late accounts, shared equally among the
    /// accounts that there may be, so that no account can leave nothing to them. Not so if one account may have all.
    fn share(&self, bound: i128, cap: i128, left: i128, there: i128, others: u64) -> i128 {
        if bound >= cap {
            return left;
        }
        let of_each = cap / 100 / i128::from(self.accounts.max(1));
        let free = left.saturating_sub(of_each.saturating_mul(others.into()));
        let share = free.max(of_each.saturating_sub(there)).clamp(0, left);
        share.min(bound.saturating_sub(there)).max(0)
    }
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds::NONE
    }
}

/// The decision on a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The command gets a number, and is kept.
    Admitted,
    /// The command changes nothing when its turn comes, such as a cancel that finds nothing open. It is answered
    /// without a number, and not kept.
    NoEffect,
    /// The engine would refuse the command. It is answered so without a number, and not kept.
    Rejected(Reject),
    /// The caller may not give this command.
    Denied,
    /// The command is refused before it reaches the engine.
    Refused(Unavailable),
}

/// Decides on the commands of a turn, and keeps its memory for the next.
#[derive(Default)]
pub struct Admission {
    turn: TurnSoFar,
    request: RequestSoFar,
    /// Whether each command is let in.
    let_in: Vec<bool>,
    /// The decision on each command that is not let in.
    others: Vec<Decision>,
    given_ids: GivenIds,
    /// The connections that protect accounts.
    pub(crate) presence: Presence,
}

/// The surroundings of a command.
#[derive(Clone, Copy)]
struct Facts<'a> {
    engine: &'a Engine,
    bounds: &'a Bounds,
    now: Time,
    /// The requests that it came with.
    requests: &'a Requests,
    /// Its request among them.
    request: usize,
}

impl Facts<'_> {
    /// The member that asks, if this is one of its accounts.
    fn member_of(&self, account: AccountId) -> Option<&Principal> {
        self.requests.principal(self.request).filter(|principal| principal.rights().accounts.contains(account))
    }
}

/// The commands that a turn has let in, as if the engine would accept all of them.
#[derive(Default)]
struct TurnSoFar {
    canceled: HashSet<OrderId>,
    /// The accounts whose orders are all canceled, or those in one symbol.
    all_canceled: HashSet<(AccountId, Option<Symbol>)>,
    killed: HashSet<KillScope>,
    accounts: HashSet<AccountId>,
    symbols: HashSet<Symbol>,
    money: i128,
    /// Dollars deposited by account, with the first balances of new ones.
    deposited: HashMap<AccountId, i128>,
    /// Shares issued by symbol, and by account and symbol.
    issued: HashMap<Symbol, i128>,
    positions: HashMap<(AccountId, Symbol), i128>,
    /// The symbols of which the engine may still refuse to issue some of these shares.
    unsettled: HashSet<Symbol>,
    client_orders: HashMap<AccountId, u64>,
    /// The client order ids of all accounts together.
    new_client_orders: u64,
}

/// The money and shares that a request has been let create so far.
#[derive(Default)]
struct RequestSoFar {
    /// Whether the kill of several accounts that is being decided is let in.
    kills_together: bool,
    money: i128,
    shares: HashMap<Symbol, i128>,
}

impl Admission {
    /// Makes the admission of a market that starts when this time has passed.
    pub fn at_start(engine: &Engine, passed: Duration) -> Admission {
        Admission { presence: Presence::at_start(engine, passed), ..Admission::default() }
    }

    /// Decides on all commands of a turn's `requests`, in order. Calls `let_in` with those that are let in.
    pub fn decide<'a>(
        &mut self,
        engine: &mut Engine,
        conditions: &Conditions,
        now: Time,
        requests: impl Iterator<Item = &'a Requests>,
        let_in: &mut impl FnMut(&Command),
    ) {
        self.turn.clear();
        self.let_in.clear();
        self.others.clear();
        for requests in requests {
            for request in 0..requests.len() {
                self.request.clear();
                let range = requests.ops_of(request);
                let (first, ops) = (range.start, &requests.ops()[range]);
                let issued_before = requests.issued_before(request);
                for (place, op) in ops.iter().enumerate() {
                    let Op::Command(command) = op else { continue };
                    let no_day_end = requests.asks_for_days().then(|| no_day_end(&ops[place..])).flatten();
                    let decision = match (conditions.disk_low, no_day_end) {
                        _ if requests.denial(first + place).is_some() => Decision::Denied,
                        _ if conditions.writers == Writers::Others => Decision::Refused(Unavailable::ReadOnlyNode),
                        _ if conditions.writers == Writers::Nobody => Decision::Refused(Unavailable::StoreAway),
                        _ if is_protection(command) && conditions.writers == Writers::Several => {
                            Decision::Refused(Unavailable::Shared)
                        }
                        _ if is_protection(command) => {
                            self.protection(engine, conditions, (requests, request), command)
                        }
                        (true, _) => self.below_the_low_water(engine, command, &ops[place + 1..]),
                        (false, Some(why)) => Decision::Refused(why),
                        (false, None) => {
                            let facts = Facts { engine, bounds: &conditions.bounds, now, requests, request };
                            match issued_before {
                                Some(before) if place == 0 => self.issue(&facts, conditions.writers, before, ops),
                                Some(_) => self.as_before(),
                                None => self.within_bounds(&facts, command, &ops[..place], &ops[place + 1..]),
                            }
                        }
                    };
                    self.let_in.push(decision == Decision::Admitted);
                    match decision {
                        Decision::Admitted => let_in(command),
                        Decision::NoEffect | Decision::Rejected(_) | Decision::Denied | Decision::Refused(_) => {
                            self.others.push(decision);
                        }
                    }
                }
            }
            requests.departed().iter().for_each(|protector| self.presence.depart(*protector));
        }
    }

    /// The decisions on all commands, in order.
    pub fn decisions(&self) -> impl Iterator<Item = Decision> {
        let mut others = self.others.iter();
        self.let_in.iter().map(move |let_in| match let_in {
            true => Decision::Admitted,
            false => *others.next().expect("invariant: for each that is not let in it is said what becomes of it"),
        })
    }

    /// Decides while the disk is nearly full. The turn then admits nothing that makes an order. So an admitted cancel
    /// does cancel, unless an earlier one also ended its order, because the two were linked or one was pending on the
    /// other; and a cancel that finds nothing open still finds nothing when its turn comes.
    #[cold]
    fn below_the_low_water(&mut self, engine: &mut Engine, command: &Command, behind: &[Op]) -> Decision {
        if let Command::KillTogether { account, among: Among::First } = *command {
            self.request.kills_together = self.kills_one(engine, account, behind);
        }
        if let Some(frees) = self.frees_many(engine, command) {
            return if frees { Decision::Admitted } else { Decision::NoEffect };
        }
        match engine.would_cancel(command) {
            Some(Ok(order)) if self.turn.canceled.insert(order) => Decision::Admitted,
            Some(Ok(_) | Err(_)) => Decision::NoEffect,
            None => Decision::Refused(Unavailable::DiskLow),
        }
    }

    /// Whether a command that cancels many orders cancels at least one; none for another command. If this turn admitted
    /// single cancels of these orders before, it may find none at its turn: then there is one command too many for each
    /// of them. A killed scope is killed once.
    fn frees_many(&mut self, engine: &mut Engine, command: &Command) -> Option<bool> {
        if let Command::CancelAll { account, symbol, through } = *command {
            let is_new = [None, symbol].into_iter().all(|of| !self.turn.all_canceled.contains(&(account, of)));
            let frees = is_new && engine.would_cancel_any(account, symbol, through) == Ok(true);
            return Some(frees && self.turn.all_canceled.insert((account, symbol)));
        }
        if matches!(command, Command::KillTogether { .. }) {
            return Some(self.request.kills_together);
        }
        let Command::Kill { scope } = *command else { return None };
        Some(engine.is_killed(scope) == Ok(false) && self.turn.killed.insert(scope))
    }

    /// Whether a kill of several accounts, of which this is the first, kills one that is not killed yet. Then admission
    /// lets all of its commands in, because the last of them kills only together with the others.
    fn kills_one(&mut self, engine: &Engine, first: AccountId, behind: &[Op]) -> bool {
        let others = behind.iter().map_while(|op| match *op {
            Op::Command(Command::KillTogether { account, among: Among::Between | Among::Last }) => Some(account),
            Op::Command(_) | Op::Query(_) => None,
        });
        let scopes = std::iter::once(first).chain(others).map(KillScope::Account);
        let killed = self.turn.killed.len();
        self.turn.killed.extend(scopes.filter(|&scope| engine.is_killed(scope) == Ok(false)));
        self.turn.killed.len() > killed
    }

    /// Checks a command against the bounds. `before` are the ops before it in its request, and `behind` those behind
    /// it.
    #[inline]
    fn within_bounds(&mut self, facts: &Facts, command: &Command, before: &[Op], behind: &[Op]) -> Decision {
        let Facts { engine, bounds, .. } = *facts;
        // Both orders of a linked pair are let in, or neither; and so are the two commands of a replacement that keeps
        // the old order if the new one is refused.
        if let Some(Op::Command(Command::Place(second))) = behind.first()
            && matches!(second.bond(), Bond::Linked | Bond::Replacing)
            && let Some(id) = second.client_id()
            && let Err(bound) = self.client_order(facts, second.account, id)
        {
            return Decision::Refused(Unavailable::Bound(bound));
        }
        let within = match *command {
            Command::Place(ref place) => return self.placed(facts, place, before, behind),
            Command::CancelOrder { .. }
            | Command::ReplaceOrder { .. }
            | Command::CancelAll { .. }
            | Command::Kill { .. }
            | Command::Release { .. }
            | Command::KillTogether { .. }
            | Command::ReleaseTogether { .. }
            | Command::ChangeLimits { .. }
            | Command::AmendOrder { .. }
            | Command::Amend(_)
            | Command::ActivateReached
            | Command::TakeMessage(_)
            | Command::ExpireOrders
            | Command::ChangeRules { .. }
            | Command::ChangeFees { .. }
            | Command::ChangeTier { .. }
            | Command::ChangeGroup { .. }
            | Command::ChangePhase { .. }
            | Command::CloseAccount { .. }
            | Command::Protect { .. }
            | Command::Unprotect { .. }
            | Command::EndAuction
            | Command::FollowCalendar { .. } => Ok(()),
            Command::CreateAccount { account, balance } => self.account(engine, bounds, account, balance),
            Command::CreateSymbol { symbol } => self.symbol(engine, bounds, symbol),
            Command::IssueShares { symbol, account, shares } => self.shares(engine, bounds, symbol, account, shares),
            // Nothing is created, and the payer's own bound limits the amount: the server only keeps one account more.
            Command::FundAccount { account, .. } => self.account(engine, bounds, account, Money::ZERO),
            Command::GiveShares { .. } | Command::DepositFrom { .. } => Ok(()),
            // One that was made needs no room: the engine refuses it by its number.
            Command::Deposit { account, number: Some(number), .. }
                if engine.next_transfer(account).is_some_and(|next| number < next) =>
            {
                Ok(())
            }
            Command::Deposit { account, assets, .. } => self.deposit(engine, bounds, account, assets),
            Command::Withdraw { assets, .. } => {
                self.withdrawal(assets);
                Ok(())
            }
            // The order that gets the id again adds one id of this day. It is counted here, where admission knows that
            // the id becomes free.
            Command::FreeClientOrderId { account, id } => match engine.client_order(account, id) {
                Ok(_) => self.one_more_client_order(facts, account),
                Err(_) => Ok(()),
            },
        };
        match within {
            Ok(()) => Decision::Admitted,
            Err(bound) => Decision::Refused(Unavailable::Bound(bound)),
        }
    }

    /// Decides on an order: by its client order id, and by the commands beside it that it is bound to.
    #[inline]
    fn placed(&mut self, facts: &Facts, place: &Place, before: &[Op], behind: &[Op]) -> Decision {
        let account = place.account;
        let own_id = place.client_id().into_iter();
        let within = match place.bond() {
            Bond::Alone => self.client_ids(facts, account, own_id),
            Bond::IfCanceled => {
                assert_behind_cancel(account, before);
                self.client_ids(facts, account, own_id)
            }
            Bond::Replacing => {
                assert_behind_replaced(account, before);
                return self.as_before();
            }
            Bond::Linked => {
                assert_behind_its_first(account, before);
                return self.as_before();
            }
            // The working order and its pending orders are all let in, or none.
            Bond::Working { .. } => self.client_ids(facts, account, own_id.chain(pending_ids(behind))),
            Bond::Pending => {
                assert_behind_its_working_order(account, before);
                return self.as_before();
            }
        };
        match within {
            Ok(()) => Decision::Admitted,
            Err(bound) => Decision::Refused(Unavailable::Bound(bound)),
        }
    }

    /// Decides on client order ids that orders of an account get.
    #[inline]
    fn client_ids(
        &mut self,
        facts: &Facts,
        account: AccountId,
        mut ids: impl Iterator<Item = ClientOrderId>,
    ) -> Result<(), Bound> {
        ids.try_for_each(|id| self.client_order(facts, account, id))
    }

    /// Decides on a protection. A command that changes no protection is answered without a number.
    #[cold]
    fn protection(
        &mut self,
        engine: &Engine,
        conditions: &Conditions,
        request: (&Requests, usize),
        command: &Command,
    ) -> Decision {
        let (Command::Protect { account, .. } | Command::Unprotect { account, .. }) = command else {
            panic!("invariant: no other command is of this kind")
        };
        let is_there = engine.balance(*account).is_some() || self.turn.accounts.contains(account);
        match self.presence.decide(engine, (conditions.disk_low, is_there), request, command) {
            Ok(true) => Decision::Admitted,
            Ok(false) => Decision::NoEffect,
            Err(why) => Decision::Refused(why),
        }
    }

    /// The decision on the command before, which belongs to the same group of orders.
    fn as_before(&self) -> Decision {
        match self.let_in.last() {
            Some(true) => Decision::Admitted,
            _ => *self.others.last().expect("invariant: the first one was refused"),
        }
    }

    #[cold]
    fn account(&mut self, engine: &Engine, bounds: &Bounds, id: AccountId, balance: Money) -> Result<(), Bound> {
        let Admission { turn, request, .. } = self;
        if engine.balance(id).is_some() || turn.accounts.contains(&id) {
            // The engine refuses it, because the account exists.
            return Ok(());
        }
        let accounts = engine.account_count().saturating_add(turn.accounts.len()) as u64;
        if accounts >= bounds.accounts {
            return Err(Bound::Accounts { most: bounds.accounts });
        }
        let (cap, balance) = (Money::CAP.units(), balance.units());
        let left = cap.saturating_sub(engine.money_issued().units()).saturating_sub(turn.money).max(0);
        let others = bounds.accounts.saturating_sub(accounts).saturating_sub(1);
        let most = bounds.share(bounds.balance.units(), cap, left, 0, others);
        // If the account may have all that is left, the engine refuses what is too much.
        if balance > most && most < left {
            return Err(Bound::Balance { most: Money::from_units(most), left: Money::from_units(left) });
        }
        let of_request = request.money.saturating_add(balance);
        if of_request > bounds.request_money.units() && bounds.request_money < Money::CAP {
            return Err(Bound::RequestMoney { most: bounds.request_money, left: Money::from_units(left) });
        }
        request.money = of_request;
        turn.money = turn.money.saturating_add(balance);
        turn.accounts.insert(id);
        turn.deposited.insert(id, balance);
        Ok(())
    }

    #[cold]
    fn symbol(&mut self, engine: &Engine, bounds: &Bounds, symbol: Symbol) -> Result<(), Bound> {
        let turn = &mut self.turn;
        if engine.issued_of(symbol).is_some() || turn.symbols.contains(&symbol) {
            return Ok(());
        }
        if engine.symbol_count().saturating_add(turn.symbols.len()) as u64 >= bounds.symbols {
            return Err(Bound::Symbols { most: bounds.symbols });
        }
        turn.symbols.insert(symbol);
        Ok(())
    }

    #[cold]
    fn shares(
        &mut self,
        engine: &Engine,
        bounds: &Bounds,
        symbol: Symbol,
        account: AccountId,
        shares: Position,
    ) -> Result<(), Bound> {
        let Admission { turn, request, .. } = self;
        let (cap, shares) = (Position::CAP.units(), shares.units());
        let is_there = engine.balance(account).is_some() || turn.accounts.contains(&account);
        if shares == 0 || !is_there {
            // Nothing is issued; the engine refuses an unknown account.
            return Ok(());
        }
        let issued = turn.issued.entry(symbol).or_default();
        let so_far = engine.issued_of(symbol).map_or(0, Position::units).saturating_add(*issued);
        let left = cap.saturating_sub(so_far).max(0);
        let position = turn.positions.entry((account, symbol)).or_default();
        let there = engine.position(account, symbol).map_or(0, Position::units).saturating_add(*position);
        let has_symbol = engine.issued_of(symbol).is_some() || turn.symbols.contains(&symbol);
        let is_settled = has_symbol && engine.balance(account).is_some() && shares <= left;
        // Every account may always be issued more.
        let share = bounds.share(bounds.position.units(), cap, left, there, bounds.accounts);
        if shares > share && share < left {
            let most = Position::from_units(there.saturating_add(share));
            return Err(Bound::Position { most, left: Position::from_units(left) });
        }
        let of_request = request.shares.entry(symbol).or_default();
        if of_request.saturating_add(shares) > bounds.request_shares.units() && bounds.request_shares < Position::CAP {
            return Err(Bound::RequestShares { most: bounds.request_shares, left: Position::from_units(left) });
        }
        *of_request = of_request.saturating_add(shares);
        *issued = issued.saturating_add(shares);
        *position = position.saturating_add(shares);
        if !is_settled {
            turn.unsettled.insert(symbol);
        }
        Ok(())
    }

    /// Decides on both commands of an issue, so that a refused one leaves no symbol.
    #[cold]
    fn issue(&mut self, facts: &Facts, writers: Writers, before: IssuedBefore, ops: &[Op]) -> Decision {
        let Facts { engine, bounds, .. } = *facts;
        let [Op::Command(Command::CreateSymbol { symbol }), Op::Command(issue)] = *ops else {
            panic!("invariant: an issue creates its symbol, and then issues shares")
        };
        if let IssuedBefore::Exactly(expected) = before
            && let Err(why) = self.issued_as_expected(engine, writers, &issue, (symbol, expected))
        {
            return Decision::Refused(why);
        }
        let has_symbol = engine.issued_of(symbol).is_some() || self.turn.symbols.contains(&symbol);
        if let Err(reject) = issue_to_unknown(engine, writers, &issue, has_symbol) {
            return Decision::Rejected(reject);
        }
        let mut within = self.symbol(engine, bounds, symbol);
        if within.is_ok()
            && let Command::IssueShares { account, shares, .. } = issue
        {
            within = self.shares(engine, bounds, symbol, account, shares);
        }
        match within {
            Ok(()) => Decision::Admitted,
            Err(bound) => {
                if !has_symbol {
                    self.turn.symbols.remove(&symbol);
                }
                Decision::Refused(Unavailable::Bound(bound))
            }
        }
    }

    /// Checks that as many shares of a symbol are issued as expected when an issue's turn comes. Errors: another number
    /// is, or the number would not notice an issue that is sent twice.
    fn issued_as_expected(
        &self,
        engine: &Engine,
        writers: Writers,
        issue: &Command,
        (symbol, expected): (Symbol, Position),
    ) -> Result<(), Unavailable> {
        if writers == Writers::Several {
            return Err(Unavailable::SharedIssue);
        }
        if matches!(issue, Command::GiveShares { .. }) {
            return Err(Unavailable::GivenFromBudget);
        }
        if self.turn.unsettled.contains(&symbol) {
            return Err(Unavailable::IssuedOtherwise { issued: None });
        }
        let before_turn = engine.issued_of(symbol).map_or(0, Position::units);
        let of_turn = self.turn.issued.get(&symbol).copied().unwrap_or(0);
        let issued = Position::from_units(before_turn.saturating_add(of_turn));
        if issued == expected { Ok(()) } else { Err(Unavailable::IssuedOtherwise { issued: Some(issued) }) }
    }

    #[cold]
    fn client_order(&mut self, facts: &Facts, account: AccountId, id: ClientOrderId) -> Result<(), Bound> {
        // An id that stands for an order is answered with that order; the engine refuses an unknown account.
        match facts.engine.client_order(account, id) {
            Ok(_) => Ok(()),
            Err(_) => self.one_more_client_order(facts, account),
        }
    }

    /// Lets an account have one more client order id. A member is refused when the ids of its accounts together reach
    /// those that are left to all. An account whose caller is no member, or not its member, is refused when its own ids
    /// reach them. So who has the most is refused first. Accounts may belong to several members: half of what is left
    /// is divided among a member's accounts, and one with less than its part is not refused for the ids of the others.
    fn one_more_client_order(&mut self, facts: &Facts, account: AccountId) -> Result<(), Bound> {
        let Facts { engine, bounds, now, .. } = *facts;
        let Admission { turn: TurnSoFar { client_orders, new_client_orders, .. }, given_ids, .. } = self;
        let of_account = |account| {
            let new = client_orders.get(&account).copied().unwrap_or(0);
            (engine.client_order_ids_of(account) as u64).saturating_add(new)
        };
        let there = of_account(account);
        let all = (engine.client_order_ids() as u64).saturating_add(*new_client_orders);
        let left = bounds.client_orders_in_all.saturating_sub(all);
        // While fewer than half are there, nobody has as many as are left.
        let is_scarce = all >= left;
        let member = if is_scarce { facts.member_of(account) } else { None };
        let of_caller = member.map_or(there, |member| given_ids.of(member, now, of_account));
        let accounts = member.map_or(1, |member| member.rights().accounts.len().max(1)) as u64;
        let part = left / accounts.saturating_mul(2);
        let bound = if there >= bounds.client_orders {
            Some(Bound::ClientOrders { most: bounds.client_orders })
        } else if of_caller >= left && there >= part {
            Some(Bound::ClientOrdersInAll { most: bounds.client_orders_in_all })
        } else {
            None
        };
        // While expired ids are still in memory, each new one removes at least one.
        if let Some(bound) = bound
            && !engine.has_expired_client_order_ids_behind(*new_client_orders as usize, now)
        {
            return Err(bound);
        }
        match member {
            Some(member) => given_ids.give(member),
            None if is_scarce => {}
            None => given_ids.clear(),
        }
        let new = client_orders.entry(account).or_default();
        *new = new.saturating_add(1);
        *new_client_orders = new_client_orders.saturating_add(1);
        Ok(())
    }
}

/// Checks an issue for what the engine would refuse after it had created the symbol. Errors: the engine's refusal. An
/// account that this turn creates may still be refused, so it does not count. In a cluster, commands of other nodes
/// that come before this one may give the payer shares.
fn issue_to_unknown(engine: &Engine, writers: Writers, issue: &Command, has_symbol: bool) -> Result<(), Reject> {
    let is_there = |account| engine.balance(account).is_some();
    if !issue.account().is_some_and(is_there) {
        return Err(Reject::UnknownAccount);
    }
    let Command::GiveShares { payer, shares, .. } = *issue else { return Ok(()) };
    if has_symbol || writers == Writers::Several {
        return Ok(());
    }
    if !is_there(payer) {
        return Err(Reject::UnknownPayer);
    }
    // Nobody has shares of a symbol that does not exist.
    match shares == Position::ZERO {
        true => Ok(()),
        false => Err(Reject::InsufficientShares { needed: shares, available: Position::ZERO }),
    }
}

/// The refusal of the first op, if it places an order for a day that has no end, or if orders behind it that belong to
/// it do: orders that are placed together are all let in, or none.
#[cold]
fn no_day_end(ops: &[Op]) -> Option<Unavailable> {
    let (first, behind) = ops.split_first()?;
    let together = std::iter::once(first).chain(behind.iter().take_while(|op| op.is_placed_with_previous()));
    let symbol = together.into_iter().find_map(without_day_end)?;
    Some(Unavailable::NoDayEnd { symbol })
}

/// The client order ids of the pending orders that stand first among these ops.
fn pending_ids(behind: &[Op]) -> impl Iterator<Item = ClientOrderId> {
    let pending = behind.iter().map_while(|op| match op {
        Op::Command(Command::Place(place)) if place.bond() == Bond::Pending => Some(place),
        Op::Command(_) | Op::Query(_) => None,
    });
    pending.filter_map(Place::client_id)
}

/// Asserts that the second of two linked orders stands just behind the first one.
#[cold]
fn assert_behind_its_first(account: AccountId, before: &[Op]) {
    let is_its = |first: &Place| {
        let is_free = matches!(first.bond(), Bond::Alone | Bond::IfCanceled);
        first.account == account && is_free && !matches!(first.form(), OrderForm::Funds(_))
    };
    let is_its = last_placed(before).is_some_and(is_its);
    assert!(is_its, "invariant: gateways ask for two linked orders as an order and the other one behind it");
}

/// Asserts that an order that waits for a working order stands behind it, or behind another one that waits for it.
fn assert_behind_its_working_order(account: AccountId, before: &[Op]) {
    let is_its =
        |place: &Place| place.account == account && matches!(place.bond(), Bond::Working { .. } | Bond::Pending);
    let is_its = last_placed(before).is_some_and(is_its);
    assert!(is_its, "invariant: gateways ask for orders that wait behind their working order");
}

/// The order that the last of these ops places.
fn last_placed(before: &[Op]) -> Option<&Place> {
    let Some(Op::Command(command)) = before.last() else { return None };
    command.place()
}

/// Asserts that an order on the condition of a cancel stands just behind it: otherwise its fate would depend on where a
/// snapshot was made.
fn assert_behind_cancel(account: AccountId, before: &[Op]) {
    let cancel = before.last();
    let is_its = matches!(cancel, Some(Op::Command(Command::CancelOrder { account: other, .. })) if *other == account);
    assert!(is_its, "invariant: gateways ask for a replacement as a cancel and the order behind it");
}

/// Asserts that an order that replaces another one stands just behind the command that names that one.
fn assert_behind_replaced(account: AccountId, before: &[Op]) {
    let named = before.last();
    let is_its = matches!(named, Some(Op::Command(Command::ReplaceOrder { account: other, .. })) if *other == account);
    assert!(is_its, "invariant: gateways ask for a replacement as the name of an order and the order behind it");
}

impl TurnSoFar {
    fn clear(&mut self) {
        let TurnSoFar {
            canceled,
            all_canceled,
            killed,
            accounts,
            symbols,
            money,
            deposited,
            issued,
            positions,
            unsettled,
            client_orders,
            new_client_orders,
        } = self;
        canceled.clear();
        all_canceled.clear();
        killed.clear();
        accounts.clear();
        symbols.clear();
        *money = 0;
        deposited.clear();
        issued.clear();
        positions.clear();
        unsettled.clear();
        client_orders.clear();
        *new_client_orders = 0;
    }
}

impl RequestSoFar {
    fn clear(&mut self) {
        self.kills_together = false;
        self.money = 0;
        self.shares.clear();
    }
}

#[cfg(test)]
mod tests {
    mod issues;

    use engine::DoneOrders;
    use terms::{Entry, NewOrder, Price, Reply, Sequence, Shares, Side};

    use super::*;

    fn order(account: AccountId, id: Option<&str>, linked: bool) -> Op {
        let symbol = Symbol::parse(b"SPY").expect("letters");
        let (limit, shares) = (Price::from_units(1).expect("above zero"), Shares::from_units(1).expect("not negative"));
        let order = NewOrder::limit(symbol, Side::Buy, limit, shares);
        let client_id = id.map(|id| ClientOrderId::parse(id.as_bytes()).expect("legal"));
        let bond = if linked { Bond::Linked } else { Bond::Alone };
        Op::Command(Command::Place(Place::order(account, order).named(client_id).bound(bond)))
    }

    /// Decides on requests of an account that may have two client order ids, and has one.
    fn decide(requests: &[&[Op]]) -> Vec<Decision> {
        let mut engine = Engine::new(1, DoneOrders::Drop);
        let account = AccountId::parse(b"7").expect("digits");
        let create = Command::CreateAccount { account, balance: Money::from_units(100) };
        let symbol = Command::CreateSymbol { symbol: Symbol::parse(b"SPY").expect("letters") };
        let Op::Command(first) = order(account, Some("first"), false) else { panic!("an order is a command") };
        for (number, command) in (1..).zip([create, symbol, first]) {
            let entry = Entry { sequence: Sequence(number), time: Time(1), command };
            engine.apply(&entry, &mut Vec::new(), &mut |_| {});
        }
        let mut all = Requests::default();
        for ops in requests {
            all.push(ops);
        }
        let bounds = Bounds { client_orders: 2, ..Bounds::NONE };
        let conditions = Conditions { disk_low: false, writers: Writers::This, bounds };
        let mut admission = Admission::default();
        admission.decide(&mut engine, &conditions, Time(2), [&all].into_iter(), &mut |_| {});
        admission.decisions().collect()
    }

    #[test]
    fn of_two_linked_orders_both_are_let_in_or_none() {
        let account = AccountId::parse(b"7").expect("digits");
        let refused = Decision::Refused(Unavailable::Bound(Bound::ClientOrders { most: 2 }));
        let place = |id| order(account, id, false);
        let link = |id| order(account, id, true);
        assert_eq!(decide(&[&[place(Some("a")), link(None)]]), [Decision::Admitted; 2]);
        assert_eq!(decide(&[&[place(None), link(Some("b"))]]), [Decision::Admitted; 2]);
        assert_eq!(decide(&[&[place(Some("a")), link(Some("b"))]]), [refused; 2]);
        let two = decide(&[&[place(Some("a"))], &[place(None), link(Some("b"))], &[place(None)]]);
        assert_eq!(two, [Decision::Admitted, refused, refused, Decision::Admitted]);
    }

    #[test]
    fn a_working_order_and_those_that_wait_for_it_are_let_in_all_or_none() {
        let account = AccountId::parse(b"7").expect("digits");
        let refused = Decision::Refused(Unavailable::Bound(Bound::ClientOrders { most: 2 }));
        let working = |id| bound(order(account, id, false), Bond::Working { two_wait: true });
        let pends = |id| bound(order(account, id, false), Bond::Pending);
        assert_eq!(decide(&[&[working(None), pends(Some("a")), pends(None)]]), [Decision::Admitted; 3]);
        assert_eq!(decide(&[&[working(None), pends(Some("a")), pends(Some("b"))]]), [refused; 3]);
        assert_eq!(decide(&[&[working(Some("a")), pends(None), pends(Some("b"))]]), [refused; 3]);
        let two = decide(&[&[working(None), pends(None)], &[working(Some("a")), pends(Some("b"))]]);
        assert_eq!(two, [Decision::Admitted, Decision::Admitted, refused, refused]);
    }

    /// Makes the same order end with the day.
    fn for_the_day(op: Op) -> Op {
        let Op::Command(Command::Place(place)) = op else { panic!("{op:?} places no order") };
        Op::Command(Command::Place(place.until(Some(terms::Deadline::UNDECIDED))))
    }

    /// Makes the same order one with this bond.
    fn bound(op: Op, bond: Bond) -> Op {
        let Op::Command(Command::Place(place)) = op else { panic!("{op:?} places no order") };
        Op::Command(Command::Place(place.bound(bond)))
    }

    #[test]
    fn an_order_for_a_day_without_an_end_is_not_let_in_nor_what_belongs_to_it() {
        let account = AccountId::parse(b"7").expect("digits");
        let symbol = Symbol::parse(b"SPY").expect("letters");
        let refused = Decision::Refused(Unavailable::NoDayEnd { symbol });
        let (place, link) = (order(account, None, false), order(account, None, true));
        assert_eq!(
            decide(&[&[for_the_day(place), place], &[place]]),
            [refused, Decision::Admitted, Decision::Admitted]
        );
        assert_eq!(decide(&[&[for_the_day(place), link, place]]), [refused, refused, Decision::Admitted]);
        assert_eq!(decide(&[&[place, for_the_day(link)], &[place]]), [refused, refused, Decision::Admitted]);
        let (working, pends) = (bound(place, Bond::Working { two_wait: true }), bound(place, Bond::Pending));
        assert_eq!(decide(&[&[working, pends, for_the_day(pends)]]), [refused; 3]);
        assert_eq!(decide(&[&[working, pends, pends]]), [Decision::Admitted; 3]);
    }

    #[test]
    fn an_id_that_is_freed_and_given_again_is_one_more() {
        let account = AccountId::parse(b"7").expect("digits");
        let refused = Decision::Refused(Unavailable::Bound(Bound::ClientOrders { most: 2 }));
        let id = |id: &str| ClientOrderId::parse(id.as_bytes()).expect("legal");
        let free = |name| Op::Command(Command::FreeClientOrderId { account, id: id(name) });
        let again = order(account, Some("first"), false);
        assert_eq!(decide(&[&[free("first"), again]]), [Decision::Admitted; 2]);
        let decided = decide(&[&[free("first"), again], &[free("first"), again]]);
        assert_eq!(decided, [Decision::Admitted, Decision::Admitted, refused, Decision::Admitted]);
        assert_eq!(decide(&[&[free("none")], &[order(account, Some("a"), false)]]), [Decision::Admitted; 2]);
    }

    /// A cancel of all orders of an account, or of those in a symbol, is let in while the disk is nearly full, as long
    /// as there are any.
    #[test]
    fn below_the_low_water_one_cancel_of_all_orders_is_let_in_as_long_as_there_are_any() {
        let mut engine = Engine::new(1, DoneOrders::Drop);
        let [account, nobody] = ["7", "8"].map(|id| AccountId::parse(id.as_bytes()).expect("digits"));
        let [spy, btc, nope] = ["SPY", "BTC", "NOPE"].map(|name| Symbol::parse(name.as_bytes()).expect("letters"));
        let Op::Command(place) = order(account, None, false) else { panic!("an order is a command") };
        let created = [
            Command::CreateAccount { account, balance: Money::from_units(100) },
            Command::CreateSymbol { symbol: spy },
            Command::CreateSymbol { symbol: btc },
            place,
            place,
        ];
        for (number, command) in (1..).zip(created) {
            let entry = Entry { sequence: Sequence(number), time: Time(1), command };
            engine.apply(&entry, &mut Vec::new(), &mut |_| {});
        }
        let all = |account, symbol| Op::Command(Command::CancelAll { account, symbol, through: None });
        let mut decide = |ops: &[Op]| {
            let mut requests = Requests::default();
            requests.push(ops);
            let (mut admission, conditions) =
                (Admission::default(), Conditions { disk_low: true, writers: Writers::This, bounds: Bounds::NONE });
            admission.decide(&mut engine, &conditions, Time(2), [&requests].into_iter(), &mut |_| {});
            admission.decisions().collect::<Vec<Decision>>()
        };
        let vain = [all(nobody, None), all(account, Some(nope)), all(account, Some(btc))];
        assert_eq!(decide(&vain), [Decision::NoEffect; 3]);
        let twice = [all(account, Some(spy)), all(account, Some(spy)), all(account, None), all(account, None)];
        assert_eq!(decide(&twice), [Decision::Admitted, Decision::NoEffect, Decision::Admitted, Decision::NoEffect]);
        assert_eq!(decide(&[all(account, None), all(account, Some(spy))]), [Decision::Admitted, Decision::NoEffect]);
        let kill = |scope| Op::Command(Command::Kill { scope });
        let kills =
            [KillScope::Everything, KillScope::Everything, KillScope::Account(nobody), KillScope::Account(account)];
        let decided = [Decision::Admitted, Decision::NoEffect, Decision::NoEffect, Decision::Admitted];
        assert_eq!(decide(&kills.map(kill)), decided, "once each, and none that there is not");
        let together = [(nobody, Among::First), (account, Among::Between), (nobody, Among::Last)];
        let together = together.map(|(account, among)| Op::Command(Command::KillTogether { account, among }));
        assert_eq!(decide(&together), [Decision::Admitted; 3], "the last kills with the others");
        let twice = [together, together].concat();
        assert_eq!(decide(&twice), [[Decision::Admitted; 3], [Decision::NoEffect; 3]].concat());
        let release = Op::Command(Command::Release { scope: KillScope::Everything });
        assert_eq!(decide(&[release]), [Decision::Refused(Unavailable::DiskLow)]);
        let entry = Entry {
            sequence: Sequence(6),
            time: Time(2),
            command: Command::CancelAll { account, symbol: None, through: None },
        };
        assert_eq!(
            engine.apply(&entry, &mut Vec::new(), &mut |_| {}),
            Reply::CanceledAll { orders: 2, left: None, sequence: Sequence(6) }
        );
        let mut requests = Requests::default();
        requests.push(&[all(account, None)]);
        let (mut admission, conditions) =
            (Admission::default(), Conditions { disk_low: true, writers: Writers::This, bounds: Bounds::NONE });
        admission.decide(&mut engine, &conditions, Time(3), [&requests].into_iter(), &mut |_| {});
        assert_eq!(admission.decisions().collect::<Vec<_>>(), [Decision::NoEffect], "nothing is left");
    }
}
