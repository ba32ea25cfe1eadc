//! Imports the market of a data folder as rows: its state, and the done orders of its history, in one transaction.
//!
//! Neither has all that the rows could hold: the time at which an open order was placed, the terms of a done one
//! (unless a client order id stands for it), the other order of an execution, and the reason of a cancel. Those columns
//! stay null, and those executions go to a table of their own.

use std::collections::HashMap;
use std::fmt::Display;

use engine::{DoneOrders, Importer};
use terms::{
    AccountId, AccountIndex, ClientOrderId, Deadline, DoneOrder, Executed, Execution, NewOrder, OrderId, Position,
    Sequence, Shares, StateItem, Symbol, SymbolIndex, Time, Trigger,
};

use tokio_postgres::types::ToSql;

use crate::column::{NamedParameter, Parameter, Single, Table, columns, rows, table};
use crate::effects::Head;
use crate::error::StoreError;
use crate::fee_rows::{self, FeesRow, TierRow};
use crate::parts;
use crate::session::Session;
use crate::setting_rows::{AccountStatusRow, GroupRow, KillRow, LimitsRow, PhaseRow, ProtectionRow, RulesRow};
use crate::standing;
use crate::stop_rows::{Delayed, QueueRank, WaitingRow, WatchRow};
use crate::trail_rows::TrailRow;

/// The result of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The head of the rows.
    pub head: Head,
    /// The hash of the given state, as the engine computes it.
    pub state_hash: u64,
    /// The number of open orders.
    pub open_orders: u64,
    /// The number of done orders.
    pub done_orders: u64,
}

const ACTION: &str = "import a market";
/// Rows written by one statement.
const ROWS_MAX: usize = 10_000;

const WATCHES: &str = "
    UPDATE pricetime.symbols s SET last_price = u.last, reaches_up_to = u.up_to, reaches_down_to = u.down_to,
        dynamic_reference = u.dynamic, static_reference = u.fixed
    FROM unnest($1::bigint[], $2::numeric[], $3::numeric[], $4::numeric[], $5::numeric[], $6::numeric[])
        AS u(number, last, up_to, down_to, dynamic, fixed)
    WHERE s.number = u.number";
const CALENDAR: &str = "INSERT INTO pricetime.calendar (followed) VALUES ($1)";
const ICEBERGS: &str = "
    INSERT INTO pricetime.icebergs (order_id, display, hidden)
    SELECT u.order_id, u.display, CASE WHEN u.shown > 0 THEN r.open - u.shown ELSE 0 END
    FROM unnest($1::bigint[], $2::numeric[], $3::numeric[]) AS u(order_id, display, shown)
    LEFT JOIN pricetime.resting r ON r.order_id = u.order_id";
/// Inserts trails. A waiting order with a client order id comes twice.
const TRAILS: &str = "INSERT INTO pricetime.trails SELECT * FROM unnest($1::pricetime.trails[]) ON CONFLICT DO NOTHING";
const DEADLINES: &str = "
    UPDATE pricetime.orders o SET until = u.until FROM unnest($1::bigint[], $2::timestamptz[]) AS u(id, until)
    WHERE o.id = u.id";
/// Sets the terms of open orders, as far as their client order ids tell them. An order was reduced by the shares with
/// which it was placed beyond its open and executed ones. A client order id does not tell the trigger of a trailing
/// stop. Both parts see the rows as they were before.
const TERMS: &str = "
    WITH told AS (
        SELECT * FROM unnest($1::bigint[], $2::text[], $3::numeric[], $4::boolean[], $5::text[], $6::numeric[])
            AS u(id, kind, trigger_price, from_below, self_trade, shares)
    ), reduced AS (
        INSERT INTO pricetime.reductions (order_id, shares)
        SELECT o.id, t.shares - o.shares FROM told t JOIN pricetime.orders o ON o.id = t.id WHERE t.shares > o.shares
    )
    UPDATE pricetime.orders o
    SET kind = t.kind::pricetime.order_kind, trigger_price = coalesce(t.trigger_price, o.trigger_price),
        trigger_from_below = coalesce(t.from_below, o.trigger_from_below),
        self_trade = t.self_trade::pricetime.self_trade, shares = t.shares
    FROM told t WHERE o.id = t.id AND (o.kind, o.trigger_price, o.trigger_from_below, o.self_trade, o.shares)
        IS DISTINCT FROM (t.kind::pricetime.order_kind, coalesce(t.trigger_price, o.trigger_price),
            coalesce(t.from_below, o.trigger_from_below), t.self_trade::pricetime.self_trade, t.shares)";
const HEAD: &str = "
    UPDATE pricetime.command_sequence SET sequence = $1, time = $2, next_order = $3
    WHERE sequence = 0 AND next_order = 1";

/// Rows gathered for the next statements.
#[derive(Default)]
struct Rows {
    accounts: Vec<(u64, AccountId, terms::Money)>,
    symbols: Vec<(u64, Symbol, Position)>,
    positions: Vec<(AccountIndex, SymbolIndex, Position)>,
    orders: Vec<Order>,
    executions: Vec<(OrderId, u64, Execution)>,
    cancellations: Vec<(OrderId, AccountIndex, Shares, Time)>,
    client_orders: Vec<(OrderId, AccountIndex, ClientOrderId, Option<Time>)>,
    watches: Vec<WatchRow>,
    rules: Vec<RulesRow>,
    phases: Vec<PhaseRow>,
    waiting: Vec<WaitingRow>,
    deadlines: Vec<(OrderId, Deadline)>,
    links: Vec<(OrderId, OrderId)>,
    /// Pending orders, their working orders, and their places.
    pending: Vec<(OrderId, OrderId, u64)>,
    /// The displays and the tips of icebergs: a tip is zero for an order that waits or is done.
    icebergs: Vec<(OrderId, Shares, Shares)>,
    trails: Vec<TrailRow>,
    /// The terms of open orders as they were placed, as far as their client order ids tell.
    terms: Vec<(OrderId, NewOrder<SymbolIndex>)>,
    fees: Vec<FeesRow>,
    tiers: Vec<TierRow>,
    groups: Vec<GroupRow>,
    account_statuses: Vec<AccountStatusRow>,
    kills: Vec<KillRow>,
    protections: Vec<ProtectionRow>,
    calendar: Option<Time>,
    limits: Vec<LimitsRow>,
    /// The terms and deadlines of done orders, as far as their client order ids tell.
    asked: HashMap<OrderId, (NewOrder<SymbolIndex>, Option<Deadline>)>,
    /// All accounts so far.
    numbers: HashMap<AccountId, AccountIndex>,
    next_symbol: u64,
    next_execution: u64,
    /// The number of open orders so far.
    open_orders: u64,
}

struct Order {
    order: OrderId,
    account: AccountIndex,
    /// The terms as placed, without the shares.
    asked: Option<NewOrder<SymbolIndex>>,
    until: Option<Deadline>,
    open: Shares,
    /// The place among the open orders.
    ordinal: u64,
    /// The shares with which it was placed, as far as that is known.
    shares: Shares,
    /// The shares by which a done order was reduced.
    reduced: Shares,
}

/// Imports into an empty market. Errors: `NotEmpty`, `Import`, `Unsound`; after one, nothing was changed.
pub(crate) async fn import<E: Display>(
    session: &Session,
    state: impl Iterator<Item = Result<StateItem, E>>,
    done: impl Iterator<Item = Result<DoneOrder, E>>,
) -> Result<Imported, StoreError> {
    session.run("BEGIN", ACTION).await?;
    let imported = import_here(session, state, done).await;
    match imported {
        Ok(imported) => session.run("COMMIT", ACTION).await.map(|()| imported),
        Err(error) => {
            // If even this fails, the connection is gone and the transaction with it.
            let _ = session.run("ROLLBACK", ACTION).await;
            Err(error)
        }
    }
}

async fn import_here<E: Display>(
    session: &Session,
    state: impl Iterator<Item = Result<StateItem, E>>,
    done: impl Iterator<Item = Result<DoneOrder, E>>,
) -> Result<Imported, StoreError> {
    let standing = standing::standing(session).await.map_err(|error| session.error(&error, ACTION))?;
    if standing.head != Head::ZERO {
        return Err(StoreError::NotEmpty { sequence: standing.head.sequence });
    }
    let mut rows = Rows::default();
    let mut importer = Importer::new(0, DoneOrders::Drop);
    for item in state {
        let item = item.map_err(|error| StoreError::Import(error.to_string()))?;
        if let StateItem::Head { next_order, .. } = item {
            let head = Head { next_order, ..Head::ZERO };
            let made = parts::make(session, standing.epoch, &head).await;
            made.map_err(|error| session.error(&error, ACTION))?;
        }
        if let StateItem::Executed(Executed { executions, .. }) = item {
            return Err(StoreError::Import(format!("{executions} executions of an open order are not there")));
        }
        importer.add(item)?;
        // The kind and the executions that follow an order belong to it, so it is not written before they have come.
        if rows.are_many() && !matches!(item, StateItem::Kind { .. } | StateItem::Execution(_)) {
            rows.write(session).await?;
        }
        rows.add_item(item);
    }
    let engine = importer.finish()?;
    rows.write(session).await?;
    let mut done_orders = 0;
    for done in done {
        let done = done.map_err(|error| StoreError::Import(error.to_string()))?;
        let account = rows.numbers.get(&done.account).copied().ok_or_else(|| {
            StoreError::Import(format!("order {} belongs to account {}, which is not there", done.order, done.account))
        })?;
        rows.add_done(&done, account)?;
        done_orders += 1;
        if rows.are_many() {
            rows.write(session).await?;
        }
    }
    rows.write(session).await?;
    let open_orders = engine.open_order_count() as u64;
    let placed = engine.next_order().0 - 1;
    // No id can come twice, so the right number of orders means all of them, unless some ids are too high.
    if open_orders + done_orders != placed {
        return Err(StoreError::Import(format!(
            "{placed} orders were placed, but {open_orders} open and {done_orders} done ones were given"
        )));
    }
    let head =
        Head { sequence: engine.sequence(), time: engine.time(), next_order: engine.next_order(), next_execution: 1 };
    let head_parameters: [Parameter<'_>; 3] =
        [Box::new(Single(head.sequence.0)), Box::new(Single(head.time)), Box::new(Single(head.next_order.0))];
    let moved = execute(session, HEAD, head_parameters).await?;
    assert!(moved == 1, "invariant: the sequence row was read in this transaction");
    Ok(Imported { head, state_hash: engine.state_hash(), open_orders, done_orders })
}

impl Rows {
    fn add_item(&mut self, item: StateItem) {
        match item {
            StateItem::Head { .. } => {}
            StateItem::Account { id, balance } => {
                let number = u32::try_from(self.numbers.len()).expect("invariant: the engine took this account");
                self.numbers.insert(id, AccountIndex(number));
                self.accounts.push((number.into(), id, balance));
            }
            StateItem::Symbol { name, issued } => {
                self.symbols.push((self.next_symbol, name, issued));
                self.next_symbol += 1;
            }
            StateItem::Position { account, symbol, shares } => self.positions.push((account, symbol, shares)),
            StateItem::Order { order, account, symbol, side, limit, open } => {
                self.add_open(order, account, NewOrder::limit(symbol, side, limit, open));
            }
            StateItem::Kind { kind, self_trade } => {
                let order = self.orders.last_mut().expect("invariant: the engine took this kind");
                order.asked = order.asked.map(|asked| NewOrder { kind, self_trade, ..asked });
            }
            StateItem::Execution(execution) => {
                let order = self.orders.last_mut().expect("invariant: the engine took this execution");
                order.shares = order.shares.plus(execution.shares);
                let order = order.order;
                self.add_execution(order, execution);
            }
            StateItem::Executed(_) => unreachable!("invariant: a state without its executions is refused"),
            StateItem::Link { order, partner } => self.links.push((order, partner)),
            StateItem::Pending { order, account, placed, working, .. } => {
                self.add_open(order, account, placed);
                self.pending.push((order, working, self.open_orders));
            }
            StateItem::Deadline { order, until } => self.deadlines.push((order, until)),
            StateItem::Iceberg { order, display, shown } => self.icebergs.push((order, display, shown)),
            StateItem::ClientOrder { order, id, account, placed, until, display, trail, done } => {
                self.client_orders.push((order, account, id, done));
                self.trails.extend(trail.map(|_| TrailRow { order, trail }));
                // An open order's display came before.
                self.icebergs.extend(display.filter(|_| done.is_some()).map(|display| (order, display, Shares::ZERO)));
                match done {
                    Some(_) => drop(self.asked.insert(order, (placed, until))),
                    None => self.terms.push((order, placed)),
                }
            }
            StateItem::Watch { symbol, last, left, references } => {
                self.watches.push(WatchRow { symbol, last, left, references });
            }
            StateItem::Rules { symbol, rules } => self.rules.push(RulesRow { symbol, rules }),
            StateItem::Fees { symbol, tier, fees } => self.fees.push(FeesRow { symbol, tier, fees: Some(fees) }),
            StateItem::Tier { account, tier } => self.tiers.push(TierRow { account, tier }),
            StateItem::Group { account, group } => self.groups.push(GroupRow { account, group }),
            StateItem::AccountStatus { account, status } => {
                self.account_statuses.push(AccountStatusRow { account, status });
            }
            StateItem::Kill { scope } => self.kills.push(KillRow { scope, is_killed: true }),
            StateItem::Calendar { through } => self.calendar = Some(through),
            StateItem::Protection { account, grace } => {
                self.protections.push(ProtectionRow { account, grace: Some(grace) });
            }
            // A database is no node of a cluster.
            StateItem::Message(_) | StateItem::PhaseChanged { .. } => {}
            StateItem::Limits { account, limits } => self.limits.push(LimitsRow { account, limits }),
            StateItem::Phase { symbol, phase } => self.phases.push(PhaseRow { symbol, phase }),
            StateItem::Stop { order, account, placed, is_reached, trail } => {
                self.add_open(order, account, placed);
                self.trails.extend(trail.map(|_| TrailRow { order, trail }));
                let (symbol, trigger, reached) = (placed.symbol, placed.trigger, self.turn().filter(|_| is_reached));
                let (follows, delayed, waits) = (trail.is_some(), None, true);
                self.waiting.push(WaitingRow { order, symbol, trigger, reached, follows, delayed, waits });
            }
            StateItem::Delayed { order, account, placed, is_under_way } => {
                self.add_open(order, account, placed.as_placed());
                let (symbol, trigger, reached) = (placed.symbol, placed.trigger, self.turn());
                let (follows, waits) = (false, true);
                let delayed = Some(Delayed { is_under_way, goes_to: placed.limit });
                self.waiting.push(WaitingRow { order, symbol, trigger, reached, follows, delayed, waits });
            }
        }
    }

    fn add_open(&mut self, order: OrderId, account: AccountIndex, placed: NewOrder<SymbolIndex>) {
        self.open_orders += 1;
        let (open, ordinal, reduced) = (placed.shares, self.open_orders, Shares::ZERO);
        // Its deadline follows, if it has one.
        let (asked, until) = (Some(placed), None);
        self.orders.push(Order { order, account, asked, until, open, ordinal, shares: open, reduced });
    }

    /// The turn of the last open order: imported orders have theirs before all commands.
    fn turn(&self) -> Option<QueueRank> {
        Some(QueueRank { sequence: Sequence::ZERO, nth: self.open_orders })
    }

    fn add_execution(&mut self, order: OrderId, execution: Execution) {
        self.executions.push((order, self.next_execution, execution));
        self.next_execution += 1;
    }

    fn add_done(&mut self, done: &DoneOrder, account: AccountIndex) -> Result<(), StoreError> {
        let executed = done.executions.iter().fold(Shares::ZERO, |shares, execution| shares.plus(execution.shares));
        let left = done.canceled.map_or(executed, |canceled| executed.plus(canceled.shares));
        if left.is_zero() {
            return Err(StoreError::Import(format!("of order {} nothing was executed or canceled", done.order)));
        }
        let (asked, until) = self.asked.get(&done.order).copied().unzip();
        let shares = asked.map_or(left, |asked| asked.shares);
        if shares < left {
            return Err(StoreError::Import(format!(
                "of order {} more was executed or canceled than it had",
                done.order
            )));
        }
        let (until, open, reduced) = (until.flatten(), Shares::ZERO, shares.less(left));
        self.orders.push(Order { order: done.order, account, asked, until, open, ordinal: 0, shares, reduced });
        for execution in &done.executions {
            self.add_execution(done.order, *execution);
        }
        self.cancellations.extend(done.canceled.map(|canceled| (done.order, account, canceled.shares, canceled.time)));
        Ok(())
    }

    fn are_many(&self) -> bool {
        let Rows { accounts, positions, orders, executions, client_orders, links, icebergs, .. } = self;
        [
            accounts.len(),
            positions.len(),
            orders.len(),
            executions.len(),
            client_orders.len(),
            links.len(),
            icebergs.len(),
        ]
        .iter()
        .any(|&n| n >= ROWS_MAX)
    }

    /// Writes the gathered rows, each after the rows to which it refers.
    async fn write(&mut self, session: &Session) -> Result<(), StoreError> {
        insert_into(session, "accounts", rows!(rows: &self.accounts, row => number: row.0, id: row.1, balance: row.2))
            .await?;
        let symbols = rows!(rows: &self.symbols, row => number: row.0, name: row.1, issued: row.2);
        insert_into(session, "symbols", symbols).await?;
        let positions = rows!(rows: &self.positions, row => account: row.0, symbol: row.1, shares: row.2);
        insert_into(session, "positions", positions).await?;
        let watches = columns!(&self.watches, row => row.symbol, row.last, row.left.up_to, row.left.down_to,
            row.references.dynamic, row.references.fixed);
        execute(session, WATCHES, watches).await?;
        insert(session, &self.rules).await?;
        insert(session, &self.phases).await?;
        insert(session, &self.orders).await?;
        let is_reduced: fn(&Order) -> bool = |order| !order.reduced.is_zero();
        let reduced = rows!(rows: &self.orders, if is_reduced, row => order_id: row.order, shares: row.reduced);
        insert_into(session, "reductions", reduced).await?;
        insert_into(session, "links", rows!(rows: &self.links, row => order_id: row.0, partner: row.1)).await?;
        execute(session, DEADLINES, columns!(&self.deadlines, row => row.0, row.1)).await?;
        // They come in the order in which they stand in their queues, which is not that of their ids.
        let rests: fn(&Order) -> bool = |order| !order.open.is_zero();
        let resting = rows!(rows: &self.orders, if rests, row => order_id: row.order, open: row.open,
            queued_sequence: Sequence::ZERO, queued_nth: row.ordinal);
        insert_into(session, "resting", resting).await?;
        execute(session, ICEBERGS, columns!(&self.icebergs, row => row.0, row.1, row.2)).await?;
        insert(session, &self.waiting).await?;
        execute(session, TRAILS, [rows!(rows: &self.trails).value]).await?;
        let pending = rows!(rows: &self.pending, row => order_id: row.0, working: row.1, imported_nth: row.2);
        insert_into(session, "pending", pending).await?;
        let executions = rows!(rows: &self.executions, row => order_id: row.0, ordinal: row.1, shares: row.2.shares,
            price: row.2.price, time: row.2.time, share_fee_rate: fee_rows::columns_of(row.2.fee)[0],
            money_fee_rate: fee_rows::columns_of(row.2.fee)[1]);
        insert_into(session, "imported_executions", executions).await?;
        let cancellations =
            rows!(rows: &self.cancellations, row => order_id: row.0, account: row.1, shares: row.2, time: row.3);
        insert_into(session, "cancellations", cancellations).await?;
        let client_orders = rows!(rows: &self.client_orders, row => order_id: row.0, account: row.1,
            client_order_id: row.2, done: row.3, freed: false);
        insert_into(session, "client_orders", client_orders).await?;
        let terms = columns!(&self.terms, row => row.0, row.1.kind, row.1.trigger.map(Trigger::price),
            row.1.trigger.map(Trigger::is_from_below), row.1.self_trade, row.1.shares);
        execute(session, TERMS, terms).await?;
        insert(session, &self.fees).await?;
        insert(session, &self.tiers).await?;
        insert(session, &self.groups).await?;
        insert(session, &self.account_statuses).await?;
        insert(session, &self.kills).await?;
        insert(session, &self.protections).await?;
        if let Some(through) = self.calendar.take() {
            execute(session, CALENDAR, [Box::new(Single(through)) as Parameter<'_>]).await?;
        }
        insert(session, &self.limits).await?;
        self.accounts.clear();
        self.symbols.clear();
        self.positions.clear();
        self.orders.clear();
        self.executions.clear();
        self.cancellations.clear();
        self.client_orders.clear();
        self.watches.clear();
        self.rules.clear();
        self.phases.clear();
        self.waiting.clear();
        self.pending.clear();
        self.deadlines.clear();
        self.links.clear();
        self.icebergs.clear();
        self.trails.clear();
        self.terms.clear();
        self.fees.clear();
        self.tiers.clear();
        self.groups.clear();
        self.account_statuses.clear();
        self.kills.clear();
        self.protections.clear();
        self.limits.clear();
        Ok(())
    }
}

table! { orders: Order, row =>
    id: row.order,
    account: row.account,
    symbol: row.asked.map(|asked| asked.symbol),
    side: row.asked.map(|asked| asked.side),
    limit_price: row.asked.map(|asked| asked.limit),
    shares: row.shares,
    kind: row.asked.map(|asked| asked.kind),
    trigger_price: row.trigger().map(Trigger::price),
    trigger_from_below: row.trigger().map(Trigger::is_from_below),
    self_trade: row.asked.map(|asked| asked.self_trade),
    until: row.until,
}

impl Order {
    fn trigger(&self) -> Option<Trigger> {
        self.asked?.trigger
    }
}

/// Inserts rows of a described table.
async fn insert<R: Table + Sync>(session: &Session, rows: &[R]) -> Result<u64, StoreError> {
    insert_into(session, R::NAME, rows!(rows: rows)).await
}

/// Inserts rows into a table.
async fn insert_into(session: &Session, table: &str, rows: NamedParameter<'_>) -> Result<u64, StoreError> {
    let sql = format!("INSERT INTO pricetime.{table} SELECT * FROM unnest($1::pricetime.{table}[])");
    execute(session, &sql, [rows.value]).await
}

async fn execute(session: &Session, sql: &str, parameters: impl AsRef<[Parameter<'_>]>) -> Result<u64, StoreError> {
    let parameters: Vec<&(dyn ToSql + Sync)> =
        parameters.as_ref().iter().map(|parameter| parameter.as_ref() as _).collect();
    session.client.execute(sql, &parameters).await.map_err(|error| session.error(&error, ACTION))
}
