//! Imports the market of a data folder as rows: its state, and the done orders of its history, in one transaction.
//!
//! Neither has all that the rows could hold: the time at which an open order was placed, the terms of a done one
//! (unless a client order id stands for it), the other order of an execution, and the reason of a cancel. Those columns
//! stay null, and those executions go to a table of their own.

use std::collections::HashMap;
use std::fmt::Display;

use engine::{
    AccountId, AccountIndex, ClientOrderId, Deadline, DoneOrder, DoneOrders, Executed, Execution, Importer, NewOrder,
    OrderId, Position, Price, Shares, Side, StateItem, Symbol, SymbolIndex, Time, Trigger,
};

use tokio_postgres::types::ToSql;

use crate::column::{Parameter, Single, columns};
use crate::effects::Head;
use crate::error::StoreError;
use crate::fee_rows::{self, FeesRow, TierRow};
use crate::group_rows::GroupRow;
use crate::kill_rows::KillRow;
use crate::limits_rows::LimitsRow;
use crate::parts;
use crate::phase_rows::PhaseRow;
use crate::protection_rows::ProtectionRow;
use crate::rules_rows::RulesRow;
use crate::session::Session;
use crate::standing;
use crate::stop_rows::Delayed;
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

const ACCOUNTS: &str = "
    INSERT INTO pricetime.accounts (number, id, balance)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::numeric[])";
const SYMBOLS: &str = "
    INSERT INTO pricetime.symbols (number, name, issued)
    SELECT * FROM unnest($1::bigint[], $2::text[], $3::numeric[])";
const POSITIONS: &str = "
    INSERT INTO pricetime.positions (account, symbol, shares)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::numeric[])";
const ORDERS: &str = "
    INSERT INTO pricetime.orders
        (id, account, symbol, side, limit_price, shares, kind, trigger_price, trigger_from_below, self_trade, until)
    SELECT u.id, u.account, u.symbol,
        CASE u.buys WHEN true THEN 'buy'::pricetime.side WHEN false THEN 'sell'::pricetime.side END, u.limit_price, u.shares,
        u.kind::pricetime.order_kind, u.trigger_price, u.from_below, u.self_trade::pricetime.self_trade, u.until
    FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[], $5::numeric[], $6::numeric[], $7::text[],
        $8::numeric[], $9::boolean[], $10::text[], $11::timestamptz[])
        AS u(id, account, symbol, buys, limit_price, shares, kind, trigger_price, from_below, self_trade, until)";
/// Inserts resting orders in the order in which they stand in their queues, which is not that of their ids.
const RESTING: &str = "
    INSERT INTO pricetime.resting (order_id, open, queued_sequence, queued_nth)
    SELECT u.order_id, u.open, 0, u.ordinal
    FROM unnest($1::bigint[], $2::numeric[], $3::bigint[]) AS u(order_id, open, ordinal)";
const WATCHED: &str = "
    UPDATE pricetime.symbols s SET watched = true, last_price = u.price
    FROM unnest($1::bigint[], $2::numeric[]) AS u(number, price) WHERE s.number = u.number";
const RULES: &str = "SELECT pricetime.write_rules($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
const PHASES: &str = "SELECT pricetime.write_phases($1, $2, $3, $4, $5)";
/// Inserts waiting orders; reached ones come in their order.
const WAITING: &str = "
    INSERT INTO pricetime.waiting
        (order_id, symbol, trigger_price, from_below, reached_sequence, reached_nth, follows, delayed, goes_to)
    SELECT u.order_id, u.symbol, u.trigger_price, u.from_below, CASE WHEN u.is_reached THEN 0 END,
        CASE WHEN u.is_reached THEN u.ordinal END, u.follows, u.delayed, u.goes_to
    FROM unnest($1::bigint[], $2::bigint[], $3::numeric[], $4::boolean[], $5::boolean[], $6::bigint[], $7::boolean[],
        $8::text[], $9::numeric[])
        AS u(order_id, symbol, trigger_price, from_below, is_reached, ordinal, follows, delayed, goes_to)";
const PENDING: &str = "
    INSERT INTO pricetime.pending (order_id, working, imported_nth)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])";
const EXECUTIONS: &str = "
    INSERT INTO pricetime.imported_executions (order_id, ordinal, shares, price, time, share_fee_rate, money_fee_rate)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::numeric[], $4::numeric[], $5::timestamptz[], $6::numeric[], $7::numeric[])";
const FEES: &str = "
    INSERT INTO pricetime.fees (symbol, tier, maker, taker, account)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::numeric[], $4::numeric[], $5::bigint[])";
const GROUPS: &str =
    "INSERT INTO pricetime.account_groups (account, group_number) SELECT * FROM unnest($1::bigint[], $2::bigint[])";
const LIMITS: &str = "SELECT pricetime.write_limits($1, $2, $3, $4, $5, $6)";
const KILLS: &str = "
    INSERT INTO pricetime.kills (scope, account, symbol) SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[])";
const PROTECTIONS: &str =
    "INSERT INTO pricetime.protections (account, grace_ms) SELECT * FROM unnest($1::bigint[], $2::bigint[])";
const CALENDAR: &str = "INSERT INTO pricetime.calendar (followed) VALUES ($1)";
const TIERS: &str =
    "INSERT INTO pricetime.account_tiers (account, tier) SELECT * FROM unnest($1::bigint[], $2::bigint[])";
const CANCELLATIONS: &str = "
    INSERT INTO pricetime.cancellations (order_id, account, shares, time, why)
    SELECT u.*, NULL::smallint FROM unnest($1::bigint[], $2::bigint[], $3::numeric[], $4::timestamptz[]) AS u";
/// Inserts the reductions of done orders.
const REDUCTIONS: &str = "
    INSERT INTO pricetime.reductions (order_id, shares) SELECT * FROM unnest($1::bigint[], $2::numeric[])";
const LINKS: &str = "
    INSERT INTO pricetime.links (order_id, partner) SELECT * FROM unnest($1::bigint[], $2::bigint[])";
const ICEBERGS: &str = "
    INSERT INTO pricetime.icebergs (order_id, display, hidden)
    SELECT u.order_id, u.display, CASE WHEN u.shown > 0 THEN r.open - u.shown ELSE 0 END
    FROM unnest($1::bigint[], $2::numeric[], $3::numeric[]) AS u(order_id, display, shown)
    LEFT JOIN pricetime.resting r ON r.order_id = u.order_id";
/// Inserts trails. A waiting order with a client order id comes twice.
const TRAILS: &str = "
    INSERT INTO pricetime.trails (order_id, distance, bips) SELECT * FROM unnest($1::bigint[], $2::numeric[], $3::bigint[])
    ON CONFLICT DO NOTHING";
const DEADLINES: &str = "
    UPDATE pricetime.orders o SET until = u.until FROM unnest($1::bigint[], $2::timestamptz[]) AS u(id, until)
    WHERE o.id = u.id";
const CLIENT_ORDERS: &str = "
    INSERT INTO pricetime.client_orders (order_id, account, client_order_id, done)
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::timestamptz[])";
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
    accounts: Vec<(u64, AccountId, engine::Money)>,
    symbols: Vec<(u64, Symbol, Position)>,
    positions: Vec<(AccountIndex, SymbolIndex, Position)>,
    orders: Vec<Order>,
    executions: Vec<(OrderId, u64, Execution)>,
    cancellations: Vec<(OrderId, AccountIndex, Shares, Time)>,
    client_orders: Vec<(OrderId, AccountIndex, ClientOrderId, Option<Time>)>,
    watched: Vec<(SymbolIndex, Option<Price>)>,
    rules: Vec<RulesRow>,
    phases: Vec<PhaseRow>,
    waiting: Vec<Waiting>,
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

struct Waiting {
    order: OrderId,
    symbol: SymbolIndex,
    trigger: Option<Trigger>,
    is_reached: bool,
    follows: bool,
    delayed: Option<Delayed>,
    ordinal: u64,
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
        // The executions that follow an order belong to it, so it is not written before they have come.
        if rows.are_many() && !matches!(item, StateItem::Execution(_)) {
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
                self.trails.extend(trail.map(|trail| TrailRow { order, trail }));
                // An open order's display came before.
                self.icebergs.extend(display.filter(|_| done.is_some()).map(|display| (order, display, Shares::ZERO)));
                match done {
                    Some(_) => drop(self.asked.insert(order, (placed, until))),
                    None => self.terms.push((order, placed)),
                }
            }
            StateItem::Watch { symbol, last } => self.watched.push((symbol, last)),
            StateItem::Rules { symbol, rules } => self.rules.push(RulesRow { symbol, rules }),
            StateItem::Fees { symbol, tier, fees } => self.fees.push(FeesRow { symbol, tier, fees: Some(fees) }),
            StateItem::Tier { account, tier } => self.tiers.push(TierRow { account, tier }),
            StateItem::Group { account, group } => self.groups.push(GroupRow { account, group }),
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
                self.trails.extend(trail.map(|trail| TrailRow { order, trail }));
                let (symbol, trigger, ordinal) = (placed.symbol, placed.trigger, self.open_orders);
                let (follows, delayed) = (trail.is_some(), None);
                self.waiting.push(Waiting { order, symbol, trigger, is_reached, follows, delayed, ordinal });
            }
            StateItem::Delayed { order, account, placed, is_under_way } => {
                self.add_open(order, account, placed.as_placed());
                let (symbol, trigger, ordinal) = (placed.symbol, placed.trigger, self.open_orders);
                let (follows, delayed) = (false, Some(Delayed { is_under_way, goes_to: placed.limit }));
                self.waiting.push(Waiting { order, symbol, trigger, is_reached: true, follows, delayed, ordinal });
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
        execute(session, ACCOUNTS, columns!(&self.accounts, row => row.0, row.1, row.2)).await?;
        execute(session, SYMBOLS, columns!(&self.symbols, row => row.0, row.1, row.2)).await?;
        execute(session, POSITIONS, columns!(&self.positions, row => row.0.0, row.1.0, row.2)).await?;
        execute(session, WATCHED, columns!(&self.watched, row => row.0.0, row.1)).await?;
        let rules = columns!(&self.rules, row => row.symbol.0, row.tick(), row.lot(), row.shares_min(), row.shares_max(),
            row.value_min(), row.value_max(), row.rules.band_up, row.rules.band_down, row.rules.is_halted);
        execute(session, RULES, rules).await?;
        let mut phases =
            Vec::from(columns!(&self.phases, row => row.symbol.0, row.phase.phase.name(), row.phase.until));
        phases.extend(
            columns!(&self.rules, if |row| row.interruption().is_some(), row => row.symbol.0, row.interruption()),
        );
        execute(session, PHASES, phases).await?;
        let orders = columns!(&self.orders, row => row.order.0, row.account.0, row.asked.map(|asked| asked.symbol.0),
            row.asked.map(|asked| asked.side == Side::Buy), row.asked.map(|asked| asked.limit), row.shares,
            row.asked.map(|asked| asked.kind.name()), row.trigger().map(Trigger::price),
            row.trigger().map(Trigger::is_from_below), row.asked.map(|asked| asked.self_trade.name()),
            row.until.map(Deadline::time));
        execute(session, ORDERS, orders).await?;
        let reduced = columns!(&self.orders, if |order| !order.reduced.is_zero(), row => row.order.0, row.reduced);
        execute(session, REDUCTIONS, reduced).await?;
        execute(session, LINKS, columns!(&self.links, row => row.0.0, row.1.0)).await?;
        execute(session, DEADLINES, columns!(&self.deadlines, row => row.0.0, row.1.time())).await?;
        let resting =
            columns!(&self.orders, if |order| !order.open.is_zero(), row => row.order.0, row.open, row.ordinal);
        execute(session, RESTING, resting).await?;
        execute(session, ICEBERGS, columns!(&self.icebergs, row => row.0.0, row.1, row.2)).await?;
        let waiting = columns!(&self.waiting, row => row.order.0, row.symbol.0, row.trigger.map(Trigger::price),
            row.trigger.map(Trigger::is_from_below), row.is_reached, row.ordinal, row.follows,
            row.delayed.map(Delayed::name), row.delayed.map(|delayed| delayed.goes_to));
        execute(session, WAITING, waiting).await?;
        execute(session, TRAILS, columns!(&self.trails, row => row.order.0, row.distance(), row.bips())).await?;
        execute(session, PENDING, columns!(&self.pending, row => row.0.0, row.1.0, row.2)).await?;
        let executions = columns!(&self.executions, row => row.0.0, row.1, row.2.shares, row.2.price, row.2.time,
            fee_rows::columns_of(row.2.fee)[0], fee_rows::columns_of(row.2.fee)[1]);
        execute(session, EXECUTIONS, executions).await?;
        execute(session, CANCELLATIONS, columns!(&self.cancellations, row => row.0.0, row.1.0, row.2, row.3)).await?;
        let client_orders = columns!(&self.client_orders, row => row.0.0, row.1.0, row.2, row.3);
        execute(session, CLIENT_ORDERS, client_orders).await?;
        let terms = columns!(&self.terms, row => row.0.0, row.1.kind.name(), row.1.trigger.map(Trigger::price),
            row.1.trigger.map(Trigger::is_from_below), row.1.self_trade.name(), row.1.shares);
        execute(session, TERMS, terms).await?;
        let fees = columns!(&self.fees, row => row.symbol.0, u64::from(row.tier.number()), row.maker(), row.taker(), row.account());
        execute(session, FEES, fees).await?;
        let tiers = columns!(&self.tiers, row => row.account.0, u64::from(row.tier.number()));
        execute(session, TIERS, tiers).await?;
        let groups = columns!(&self.groups, row => row.account.0, u64::from(row.group.number()));
        execute(session, GROUPS, groups).await?;
        let kills = columns!(&self.kills, row => row.scope.name(), row.account(), row.symbol());
        execute(session, KILLS, kills).await?;
        let protections = columns!(&self.protections, row => row.account.0, row.millis());
        execute(session, PROTECTIONS, protections).await?;
        if let Some(through) = self.calendar.take() {
            execute(session, CALENDAR, [Box::new(Single(through)) as Parameter<'_>]).await?;
        }
        let limits = columns!(&self.limits, row => row.account.0, row.open_orders(), row.order_shares(), row.order_value(),
            row.position(), row.limits.collar);
        execute(session, LIMITS, limits).await?;
        self.accounts.clear();
        self.symbols.clear();
        self.positions.clear();
        self.orders.clear();
        self.executions.clear();
        self.cancellations.clear();
        self.client_orders.clear();
        self.watched.clear();
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
        self.kills.clear();
        self.protections.clear();
        self.limits.clear();
        Ok(())
    }
}

impl Order {
    fn trigger(&self) -> Option<Trigger> {
        self.asked?.trigger
    }
}

async fn execute(session: &Session, sql: &str, parameters: impl AsRef<[Parameter<'_>]>) -> Result<u64, StoreError> {
    let parameters: Vec<&(dyn ToSql + Sync)> =
        parameters.as_ref().iter().map(|parameter| parameter.as_ref() as _).collect();
    session.client.execute(sql, &parameters).await.map_err(|error| session.error(&error, ACTION))
}
