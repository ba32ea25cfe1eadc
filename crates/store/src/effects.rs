//! Effects of a run of commands, as rows: gathered from events on the engine's thread, written as one transaction. Only
//! the last balance and position count, and an order that was opened and done within the run never rests. This file
//! knows no SQL, and allocates nothing for an event once its lists have grown.

use std::hash::BuildHasher;

use engine::Engine;
use exchange::{Trade, TradeReader};
use foldhash::fast::FixedState;
use hashbrown::HashTable;
use terms::{
    AccountId, AccountIndex, AccountLimits, CancelReason, ClientOrderId, Deadline, Event, Money, NewOrder, OrderId,
    OrderKind, Position, Price, SelfTrade, Sequence, Shares, Side, Symbol, SymbolIndex, Time, Trigger,
};

use crate::amended_rows::{AmendedRows, PlacedAnew};
use crate::audit_rows::AuditRows;
use crate::fee_rows::FeeRows;
use crate::iceberg_rows::IcebergRows;
use crate::link_rows::LinkRows;
use crate::notes::{NewTerms, NoteRows};
use crate::pending_rows::PendingRows;
use crate::setting_rows::{
    AccountStatusRow, GroupRow, KillRow, LimitsRow, PhaseRow, ProtectionRow, RulesRow, change, change_rules,
};
use crate::stop_rows::{QueueRank, StopRows};
use crate::term_rows::TermRows;
use crate::trail_rows::TrailRows;

/// The head of the rows: the one row of `command_sequence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The last command whose effects are included.
    pub sequence: Sequence,
    /// The time of that command.
    pub time: Time,
    /// The id that the next accepted order gets.
    pub next_order: OrderId,
    /// The id that the next execution gets, from 1.
    pub next_execution: u64,
}

impl Head {
    /// The head before the first command.
    pub const ZERO: Head =
        Head { sequence: Sequence::ZERO, time: Time::ZERO, next_order: OrderId(1), next_execution: 1 };
}

/// The effects of consecutive commands. The loop fills them with `add`, closes each turn with `seal`, hands them to the
/// writer, and has the next ones `follow` these.
#[derive(Debug)]
pub struct Effects {
    pub(crate) before: Head,
    pub(crate) after: Head,
    pub(crate) symbols: Vec<SymbolRow>,
    pub(crate) issued: Vec<IssuedRow>,
    pub(crate) accounts: Vec<AccountRow>,
    pub(crate) balances: Vec<BalanceRow>,
    pub(crate) positions: Vec<PositionRow>,
    pub(crate) orders: Vec<OrderRow>,
    pub(crate) taken: Vec<TakenRow>,
    pub(crate) executions: Vec<Trade>,
    pub(crate) cancellations: Vec<CancellationRow>,
    pub(crate) client_orders: Vec<ClientOrderRow>,
    pub(crate) client_orders_done: Vec<ClientOrderDoneRow>,
    /// The done orders whose client order ids were freed, those of these effects included.
    pub(crate) client_orders_freed: Vec<OrderId>,
    pub(crate) stops: StopRows,
    pub(crate) notes: NoteRows,
    pub(crate) rules: Vec<RulesRow>,
    pub(crate) phases: Vec<PhaseRow>,
    pub(crate) terms: TermRows,
    pub(crate) amended: AmendedRows,
    pub(crate) links: LinkRows,
    pub(crate) icebergs: IcebergRows,
    pub(crate) trails: TrailRows,
    pub(crate) pendings: PendingRows,
    /// The number of orders that came to the end of a queue after they were placed.
    turns: u64,
    pub(crate) fees: FeeRows,
    pub(crate) groups: Vec<GroupRow>,
    pub(crate) account_statuses: Vec<AccountStatusRow>,
    pub(crate) kills: Vec<KillRow>,
    pub(crate) protections: Vec<ProtectionRow>,
    /// The time up to which the calendar was followed, if it was.
    pub(crate) calendar: Option<Time>,
    pub(crate) limits: Vec<LimitsRow>,
    pub(crate) audit: AuditRows,
    /// The places of accounts' balances, accounts' positions and older orders in the lists above.
    balance_at: RowsByKey,
    position_at: RowsByKey,
    taken_at: RowsByKey,
    trade_reader: TradeReader,
    /// The order that executes now, its account and its side: the one opened or activated last.
    arriving: Option<(OrderId, AccountIndex, Side)>,
    /// The command of the last event, by which the first event of a command is known.
    last: Option<Sequence>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SymbolRow {
    pub symbol: SymbolIndex,
    pub name: Symbol,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct IssuedRow {
    pub symbol: SymbolIndex,
    pub issued: Position,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct AccountRow {
    pub account: AccountIndex,
    pub id: AccountId,
    pub balance: Money,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BalanceRow {
    pub account: AccountIndex,
    pub balance: Money,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PositionRow {
    pub account: AccountIndex,
    pub symbol: SymbolIndex,
    pub shares: Position,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderRow {
    pub order: OrderId,
    pub account: AccountIndex,
    pub symbol: SymbolIndex,
    pub side: Side,
    pub limit: Price,
    pub shares: Shares,
    pub kind: OrderKind,
    pub trigger: Option<Trigger>,
    pub self_trade: SelfTrade,
    pub until: Option<Deadline>,
    /// The open shares after these commands.
    pub open: Shares,
    pub sequence: Sequence,
    pub time: Time,
}

/// The shares executed or canceled of an order that was open before these commands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TakenRow {
    pub order: OrderId,
    pub shares: Shares,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct CancellationRow {
    pub order: OrderId,
    pub account: AccountIndex,
    pub shares: Shares,
    pub why: CancelReason,
    pub sequence: Sequence,
    pub time: Time,
}

/// An order that was placed under a client order id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientOrderRow {
    pub order: OrderId,
    pub account: AccountIndex,
    pub id: ClientOrderId,
    /// The time at which it was done, if these commands did that too.
    pub done: Option<Time>,
}

/// An order with a client order id that was open before these commands and is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientOrderDoneRow {
    pub order: OrderId,
    pub time: Time,
}

impl Effects {
    /// Makes empty effects behind `head`.
    pub fn after(head: Head) -> Effects {
        Effects {
            before: head,
            after: head,
            symbols: Vec::new(),
            issued: Vec::new(),
            accounts: Vec::new(),
            balances: Vec::new(),
            positions: Vec::new(),
            orders: Vec::new(),
            taken: Vec::new(),
            executions: Vec::new(),
            cancellations: Vec::new(),
            client_orders: Vec::new(),
            client_orders_done: Vec::new(),
            client_orders_freed: Vec::new(),
            stops: StopRows::default(),
            notes: NoteRows::default(),
            rules: Vec::new(),
            phases: Vec::new(),
            terms: TermRows::default(),
            amended: AmendedRows::default(),
            links: LinkRows::default(),
            icebergs: IcebergRows::default(),
            trails: TrailRows::default(),
            pendings: PendingRows::default(),
            turns: 0,
            fees: FeeRows::default(),
            groups: Vec::new(),
            account_statuses: Vec::new(),
            kills: Vec::new(),
            protections: Vec::new(),
            calendar: None,
            limits: Vec::new(),
            audit: AuditRows::default(),
            balance_at: RowsByKey::default(),
            position_at: RowsByKey::default(),
            taken_at: RowsByKey::default(),
            trade_reader: TradeReader::default(),
            arriving: None,
            last: None,
        }
    }

    /// Empties these and begins behind the end of `other`; lists keep their capacity.
    pub fn follow(&mut self, other: &Effects) {
        self.restart(other.after);
    }

    /// Empties these and begins behind `head`; lists keep their capacity.
    pub fn restart(&mut self, head: Head) {
        (self.before, self.after, self.last) = (head, head, None);
        self.symbols.clear();
        self.issued.clear();
        self.accounts.clear();
        self.balances.clear();
        self.positions.clear();
        self.orders.clear();
        self.taken.clear();
        self.executions.clear();
        self.cancellations.clear();
        self.client_orders.clear();
        self.client_orders_done.clear();
        self.client_orders_freed.clear();
        self.stops.clear();
        self.notes.clear();
        self.rules.clear();
        self.phases.clear();
        self.terms.clear();
        self.amended.clear();
        self.links.clear();
        self.icebergs.clear();
        self.trails.clear();
        self.pendings.clear();
        self.turns = 0;
        self.fees.clear();
        self.groups.clear();
        self.account_statuses.clear();
        self.kills.clear();
        self.protections.clear();
        self.calendar = None;
        self.limits.clear();
        self.audit.clear();
        self.balance_at.clear();
        self.position_at.clear();
        self.taken_at.clear();
    }

    /// The rows of the audit trail: for all of the commands, or for none.
    pub fn audit(&mut self) -> &mut AuditRows {
        &mut self.audit
    }

    /// Adds the next event. The time is that of its command.
    pub fn add(&mut self, sequence: Sequence, time: Time, event: Event) {
        let first_of_command = self.last.replace(sequence) != Some(sequence);
        match event {
            // A balance event follows.
            Event::AccountCreated { account, id } => {
                self.accounts.push(AccountRow { account, id, balance: Money::ZERO });
            }
            Event::SymbolCreated { symbol, name } => self.symbols.push(SymbolRow { symbol, name }),
            Event::RulesChanged { symbol, part } => {
                change_rules(&mut self.rules, symbol, part);
                self.stops.rule(symbol);
            }
            Event::FeesChanged { symbol, tier, fees } => self.fees.change(symbol, tier, fees),
            Event::TierChanged { account, tier } => self.fees.move_to(account, tier),
            Event::GroupChanged { account, group } => {
                change(&mut self.groups, GroupRow { account, group }, |row| row.account == account)
            }
            Event::AccountStatusChanged { account, status } => {
                change(&mut self.account_statuses, AccountStatusRow { account, status }, |row| row.account == account);
                // The next event says what came or went, as the first event of an issue does.
                self.last = None;
            }
            Event::KillChanged { scope, is_killed } => {
                change(&mut self.kills, KillRow { scope, is_killed }, |row| row.scope == scope)
            }
            Event::CalendarFollowed { through } => self.calendar = Some(through),
            Event::ProtectionChanged { account, grace } => {
                change(&mut self.protections, ProtectionRow { account, grace }, |row| row.account == account);
            }
            Event::LimitsChanged { account, open_orders, order_shares, order_value, position, collar } => {
                let limits = AccountLimits { open_orders, order_shares, order_value, position, collar };
                change(&mut self.limits, LimitsRow { account, limits }, |row| row.account == account);
            }
            Event::FeesTaken { maker, aggressor } => self.trade_reader.take_fees(maker, aggressor),
            Event::PhaseChanged { symbol, phase, .. } => {
                change(&mut self.phases, PhaseRow { symbol, phase }, |row| row.symbol == symbol)
            }
            Event::OrderOpened { order, account, placed } => {
                self.orders.push(OrderRow::of(order, account, &placed, sequence, time));
                self.arriving = Some((order, account, placed.side));
                if let Some(trigger) = placed.trigger {
                    self.stops.open(order, placed.symbol, trigger);
                }
            }
            Event::OrderPends { order, account, is_second, placed } => {
                self.orders.push(OrderRow::of(order, account, &placed, sequence, time));
                let working = Event::working(order, is_second);
                self.pendings.opened.push((order, working));
                self.notes.pending((order, account), Some(working), (sequence, time), self.after.next_execution);
            }
            Event::OrderReleased { order, account, placed } => {
                let turn = self.next_turn(sequence);
                self.pendings.release(order, turn);
                self.notes.pending((order, account), None, (sequence, time), self.after.next_execution);
                self.arriving = Some((order, account, placed.side));
                if let Some(trigger) = placed.trigger {
                    self.stops.open(order, placed.symbol, trigger);
                }
            }
            Event::TriggerReached { symbol, trigger } => {
                let turn = self.stops.reach(symbol, trigger, sequence);
                self.trails.give_turn(symbol, trigger, turn);
            }
            Event::OrderTriggered { order, account, placed } => {
                let turn = self.next_turn(sequence);
                self.stops.activate(order, turn);
                self.notes.triggered((order, account), &placed, (sequence, time), self.after.next_execution);
                self.arriving = Some((order, account, placed.side));
            }
            Event::OrderDelayed { order, is_under_way, placed } => {
                let turn = self.stops.next_turn(sequence);
                self.stops.delay(order, &placed, is_under_way, turn);
            }
            Event::OrderResumed { order, account, placed } => {
                let turn = self.next_turn(sequence);
                self.stops.activate(order, turn);
                self.arriving = Some((order, account, placed.side));
            }
            Event::ClientOrderIdGiven { order, id } => {
                let account = self.just_opened(order).account;
                self.client_orders.push(ClientOrderRow { order, account, id, done: None });
            }
            Event::ClientOrderDone { order } => self.note_done(order, time),
            Event::ClientOrderIdFreed { order } => self.client_orders_freed.push(order),
            Event::Uncrossed { .. } => {
                // An order that the command before placed rests by now, so nothing arrives.
                self.arriving = None;
                self.execute(&event, (sequence, time));
            }
            Event::Executed { .. } => self.execute(&event, (sequence, time)),
            Event::OrderCanceled { order, account, symbol, shares, why } => {
                self.take(order, shares);
                self.stops.cancel(order, symbol, order < self.before.next_order);
                self.pendings.closed.push(order);
                if why == CancelReason::Linked {
                    self.links.canceled.push(order);
                }
                self.cancellations.push(CancellationRow { order, account, shares, why, sequence, time });
            }
            Event::OrderSetAside { order, symbol, side } => self.amended.set_aside(order, symbol, side),
            Event::OrderAmended { order, account, keeps_place, kind, limit, trigger, open, executed } => {
                let terms = NewTerms { kind, limit, trigger, keeps_place };
                let shares = executed.plus(open);
                let after = Some(shares).filter(|_| !keeps_place);
                self.notes.terms((order, account), terms, after, (sequence, time), self.after.next_execution);
                match keeps_place {
                    true => self.amend_in_place(order),
                    false => {
                        let turn = self.next_turn(sequence);
                        self.place_anew(order, account, PlacedAnew { kind, limit, trigger, shares, open, turn });
                    }
                }
            }
            Event::OrderReduced { order, account, shares, why, .. } => {
                self.notes.amended((order, account), (shares, why), (sequence, time), self.after.next_execution);
                self.take(order, shares);
                self.terms.reduce(order, shares);
                self.icebergs.touch(order);
            }
            Event::DisplayGiven { order, display } => {
                self.icebergs.open(order, display);
                // One that keeps its place hides the shares that it has.
                if self.amended.find(order).is_some() {
                    self.icebergs.touch(order);
                }
            }
            Event::TipShown { order, stands_last, .. } => {
                self.icebergs.touch(order);
                // An arriving order got its place with its placing or activation.
                if stands_last && self.arriving.is_none_or(|(arriving, ..)| arriving != order) {
                    let turn = self.next_turn(sequence);
                    self.icebergs.stand_last(order, turn);
                }
            }
            Event::TrailGiven { order, trail } => {
                self.stops.follow(order);
                self.trails.open(order, trail);
            }
            Event::TrailsMoved { symbol, .. } => self.trails.touch(symbol),
            Event::TrailReached { order, symbol, trigger } => {
                let came = self.next_turn(sequence);
                self.trails.reach(order, symbol, trigger, came);
            }
            Event::DeadlineGiven { order, until } => match self.amended.find(order) {
                Some(amended) => amended.until = Some(until),
                None => self.just_opened(order).until = Some(until),
            },
            Event::OrdersLinked { order, partner, account, .. } => {
                self.links.linked.push((order, partner));
                self.notes.linked([order, partner], account, (sequence, time), self.after.next_execution);
            }
            Event::BalanceChanged { account, balance } => self.set_balance(account, balance),
            Event::PositionChanged { account, symbol, shares } => {
                self.set_position(account, symbol, shares);
                // The events of an order or a cancel begin otherwise, so a command that begins with this one issued
                // shares, or moved them in a transfer.
                if first_of_command {
                    self.note_issue(symbol);
                }
            }
        }
    }

    /// Closes a turn with the facts that no event carries: the head of the sequence, the issued shares, and the last
    /// prices. The added events must be all that `engine` made since these effects began.
    pub fn seal(&mut self, engine: &Engine) {
        self.after.sequence = engine.sequence();
        self.after.time = engine.time();
        self.after.next_order = engine.next_order();
        for row in &mut self.issued {
            row.issued = engine.issued(row.symbol).expect("invariant: shares of a symbol that exists were issued");
        }
        self.icebergs.seal(engine);
        self.trails.seal(engine);
        self.pendings.seal(engine);
        self.stops.seal(engine, self.executions.iter().map(|row| row.symbol));
    }

    /// The head of the rows after these effects.
    pub fn head(&self) -> Head {
        self.after
    }

    /// The number of commands included.
    pub fn commands(&self) -> u64 {
        self.after.sequence.0 - self.before.sequence.0
    }

    /// Whether no command is included, so that no row has to be written.
    pub fn is_empty(&self) -> bool {
        self.commands() == 0
    }

    /// The number of rows of the kinds of which one command may make very many.
    pub(crate) fn bulk(&self) -> usize {
        self.orders.len() + self.taken.len() + self.executions.len() + self.cancellations.len()
    }

    /// The number of rows to write, change or remove, the sequence's own included.
    pub fn rows(&self) -> usize {
        let resting = self.orders.iter().filter(|order| !order.open.is_zero()).count();
        let created = self.symbols.len() + self.accounts.len() + self.orders.len() + resting;
        let changed = self.issued.len() + self.balances.len() + self.positions.len() + self.taken.len();
        let named = self.client_orders.len() + self.client_orders_done.len() + self.client_orders_freed.len();
        let others = named + self.stops.len() + self.notes.rows().len() + self.rules.len() + self.terms.reduced().len();
        let others = others + self.phases.len();
        let others = others + self.links.len() + self.amended.len();
        let others = others + self.icebergs.len() + self.trails.len() + self.pendings.len();
        let others = others + self.fees.len();
        let others = others
            + self.groups.len()
            + self.account_statuses.len()
            + self.kills.len()
            + self.protections.len()
            + self.limits.len();
        1 + created + changed + self.executions.len() + self.cancellations.len() + others
    }

    /// The rank of an order that comes to the end of a queue now.
    fn next_turn(&mut self, sequence: Sequence) -> QueueRank {
        self.turns += 1;
        QueueRank { sequence, nth: self.turns }
    }

    /// Adds an execution, and takes its shares off both orders.
    #[inline]
    fn execute(&mut self, event: &Event, at: (Sequence, Time)) {
        let trade = self.trade_reader.trade(event, self.after.next_execution, at, self.arriving);
        self.after.next_execution += 1;
        self.executions.push(trade);
        self.take(trade.aggressor_order, trade.shares);
        self.take(trade.maker_order, trade.shares);
    }

    /// Gives an order other terms without another place: a deadline and a display follow, if it has them.
    fn amend_in_place(&mut self, order: OrderId) {
        self.amended.amend(order, order < self.before.next_order, None);
        self.icebergs.forget(order);
    }

    /// Gives an order other terms and another place. It does what an order does that was opened with them.
    fn place_anew(&mut self, order: OrderId, account: AccountIndex, anew: PlacedAnew) {
        let (is_older, (symbol, side)) = (order < self.before.next_order, self.amended.taken_back(order));
        self.amended.amend(order, is_older, Some(anew));
        if !is_older {
            self.row_of_new(order).open = anew.open;
        }
        self.terms.forget(order);
        self.icebergs.forget(order);
        self.trails.forget(order);
        self.stops.cancel(order, symbol, is_older);
        self.arriving = Some((order, account, side));
        if let Some(trigger) = anew.trigger {
            self.stops.open(order, symbol, trigger);
        }
    }

    /// The row of an order that these effects opened: their ids are consecutive.
    fn row_of_new(&mut self, order: OrderId) -> &mut OrderRow {
        &mut self.orders[(order.0 - self.before.next_order.0) as usize]
    }

    /// The order that was opened last, which must be this one.
    fn just_opened(&mut self, order: OrderId) -> &mut OrderRow {
        let opened = self.orders.last_mut().filter(|row| row.order == order);
        opened.expect("invariant: what is said of an order's placing follows its opening")
    }

    /// Takes shares off an order: one that these effects opened, whose ids are consecutive, or an older one.
    fn take(&mut self, order: OrderId, shares: Shares) {
        if order >= self.before.next_order {
            let row = self.row_of_new(order);
            row.open = row.open.less(shares);
            return;
        }
        if let Some(anew) = self.amended.find(order).and_then(|row| row.anew.as_mut()) {
            anew.open = anew.open.less(shares);
            return;
        }
        match self.taken_at.place(order.0, self.taken.len(), |place| self.taken[place].order.0) {
            FoundRow::New => self.taken.push(TakenRow { order, shares }),
            FoundRow::Known(place) => {
                let sum = self.taken[place].shares.units().checked_add(shares.units()).and_then(Shares::from_units);
                self.taken[place].shares = sum.expect("invariant: no more is taken of an order than it has");
            }
        }
    }

    fn note_done(&mut self, order: OrderId, time: Time) {
        if order < self.before.next_order {
            self.client_orders_done.push(ClientOrderDoneRow { order, time });
            return;
        }
        let place = self.client_orders.binary_search_by_key(&order, |row| row.order);
        self.client_orders[place.expect("invariant: an order is named before it is done")].done = Some(time);
    }

    fn set_balance(&mut self, account: AccountIndex, balance: Money) {
        if let Some(first) = self.accounts.first()
            && let Some(place) = account.0.checked_sub(first.account.0)
        {
            self.accounts[place as usize].balance = balance;
            return;
        }
        match self
            .balance_at
            .place(account.0.into(), self.balances.len(), |place| self.balances[place].account.0.into())
        {
            FoundRow::New => self.balances.push(BalanceRow { account, balance }),
            FoundRow::Known(place) => self.balances[place].balance = balance,
        }
    }

    fn set_position(&mut self, account: AccountIndex, symbol: SymbolIndex, shares: Position) {
        let key = |row: &PositionRow| (u64::from(row.account.0) << 32) | u64::from(row.symbol.0);
        let row = PositionRow { account, symbol, shares };
        match self.position_at.place(key(&row), self.positions.len(), |place| key(&self.positions[place])) {
            FoundRow::New => self.positions.push(row),
            FoundRow::Known(place) => self.positions[place].shares = shares,
        }
    }

    fn note_issue(&mut self, symbol: SymbolIndex) {
        // Few symbols are issued in one batch, so a search is cheap.
        if !self.issued.iter().any(|row| row.symbol == symbol) {
            self.issued.push(IssuedRow { symbol, issued: Position::ZERO });
        }
    }
}

impl OrderRow {
    /// A row of an order that was just placed.
    fn of(
        order: OrderId,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
        sequence: Sequence,
        time: Time,
    ) -> OrderRow {
        let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade } = *placed;
        let (open, until) = (shares, None);
        OrderRow { order, account, symbol, side, limit, shares, kind, trigger, self_trade, until, open, sequence, time }
    }
}

/// The places of rows in a list, by key.
#[derive(Debug)]
struct RowsByKey {
    table: HashTable<u32>,
    hasher: FixedState,
}

impl Default for RowsByKey {
    fn default() -> RowsByKey {
        // The engine numbers accounts and orders in the order of creation: no client chooses these keys.
        RowsByKey { table: HashTable::new(), hasher: FixedState::with_seed(0) }
    }
}

enum FoundRow {
    Known(usize),
    /// A new key: its row is the next one.
    New,
}

impl RowsByKey {
    fn place(&mut self, key: u64, next: usize, key_at: impl Fn(usize) -> u64) -> FoundRow {
        let hasher = &self.hasher;
        let hash = hasher.hash_one(key);
        let entry = self.table.entry(
            hash,
            |&place| key_at(place as usize) == key,
            |&place| hasher.hash_one(key_at(place as usize)),
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(entry) => FoundRow::Known(*entry.get() as usize),
            hashbrown::hash_table::Entry::Vacant(entry) => {
                entry.insert(u32::try_from(next).expect("invariant: fewer than 2^32 rows in a batch"));
                FoundRow::New
            }
        }
    }

    fn clear(&mut self) {
        self.table.clear();
    }
}
