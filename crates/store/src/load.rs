//! Reads the market from its rows: everything in one snapshot of the database, in the order in which an engine imports
//! it. It streams; only the executions of partly executed open orders are gathered first.

use std::collections::HashMap;
use std::pin::pin;

use engine::{DoneOrders, Engine, Importer};
use futures_util::TryStreamExt;
use terms::{
    AccountId, AccountIndex, AccountStatus, BandReferences, ClientOrderId, Executed, Execution, NewOrder, OrderId,
    OrderKind, SelfTrade, StateItem, Symbol, SymbolIndex, TriggersLeft,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::column::select;
use crate::error::StoreError;
use crate::fee_rows::{self, FeesRow, TierRow};
use crate::fields::Fields;
use crate::kept::NOTHING_GOES;
use crate::pages::side;
use crate::session::Session;
use crate::setting_rows::{AccountStatusRow, GroupRow, KillRow, LimitsRow, PhaseRow, ProtectionRow, RulesRow};
use crate::standing::{self, Standing};
use crate::term_rows;
use crate::trail_rows;

/// The result of a load.
pub struct Loaded {
    /// The engine.
    pub engine: Engine,
    /// The head of the rows, and their owner.
    pub standing: Standing,
}

const ACTION: &str = "read the market";

const ACCOUNTS: &str = "SELECT number, id, balance FROM pricetime.accounts ORDER BY number";
const SYMBOLS: &str = "SELECT number, name, issued FROM pricetime.symbols ORDER BY number";
const POSITIONS: &str =
    "SELECT account, symbol, shares FROM pricetime.positions WHERE shares > 0 ORDER BY account, symbol";
const LINKS: &str = "SELECT order_id, partner FROM pricetime.links ORDER BY order_id";
/// Selects orders on books, best price first, and within a price in the order in which they came there: an activated
/// order came with the command that activated it, behind the order that this command placed.
const ORDERS: &str = "
    SELECT o.id, o.account, o.symbol, o.side = 'buy', o.limit_price, r.open, o.kind, o.self_trade
    FROM pricetime.resting r JOIN pricetime.present_orders o ON o.id = r.order_id
    LEFT JOIN pricetime.waiting w ON w.order_id = r.order_id
    LEFT JOIN pricetime.pending p ON p.order_id = r.order_id
    WHERE w.order_id IS NULL AND p.order_id IS NULL
    ORDER BY o.symbol, o.side, CASE WHEN o.side = 'buy' THEN -o.limit_price ELSE o.limit_price END,
        coalesce(r.queued_sequence, o.sequence, 0), coalesce(r.queued_nth, 0), o.id";
const WATCHES: &str = "SELECT number, last_price, reaches_up_to, reaches_down_to, dynamic_reference,
    static_reference FROM pricetime.symbols ORDER BY number";
/// Selects waiting orders: those that no execution has reached, by symbol, in each those with fixed triggers before the
/// trailing ones, by trigger; then those that wait for their turn, in their order. A trigger is the present one. Orders
/// with one trigger come in the order in which they began to wait, and trailing ones by id.
const WAITING: &str = "
    SELECT o.id, o.account, o.symbol, o.side = 'buy', o.limit_price, r.open, o.kind, w.trigger_price,
        w.from_below, o.self_trade, n.sequence IS NOT NULL, t.distance, t.bips, w.delayed = 'under_way', w.goes_to
    FROM pricetime.waiting w JOIN pricetime.present_orders o ON o.id = w.order_id
    JOIN pricetime.resting r ON r.order_id = w.order_id
    LEFT JOIN pricetime.trails t ON t.order_id = w.order_id AND w.follows
    LEFT JOIN LATERAL pricetime.reached_by(w, coalesce(r.queued_sequence, o.sequence, 0)) m ON true
    CROSS JOIN LATERAL (SELECT coalesce(w.reached_sequence, m.sequence), coalesce(w.reached_nth, m.nth)) n (sequence, nth)
    ORDER BY n.sequence NULLS FIRST, n.nth,
        CASE WHEN n.sequence IS NULL THEN w.symbol END, w.follows,
        CASE WHEN n.sequence IS NULL THEN CASE WHEN w.from_below THEN w.trigger_price ELSE -w.trigger_price END END,
        CASE WHEN NOT w.follows THEN coalesce(r.queued_sequence, o.sequence, 0) END,
        CASE WHEN NOT w.follows THEN coalesce(r.queued_nth, 0) END, o.id";
/// Selects pending orders: those whose working orders are open, and then the due ones, in the order in which their
/// working orders executed. Of two working orders that ended with one execution, the resting one ended first.
const PENDING: &str = "
    SELECT o.id, o.account, o.symbol, o.side = 'buy', o.limit_price, r.open, o.kind, o.trigger_price,
        o.trigger_from_below, o.self_trade, p.working, w.order_id IS NULL
    FROM pricetime.pending p JOIN pricetime.present_orders o ON o.id = p.order_id
    JOIN pricetime.resting r ON r.order_id = p.order_id
    LEFT JOIN pricetime.resting w ON w.order_id = p.working
    LEFT JOIN LATERAL (
        SELECT x.id, (x.aggressor = 'buy') = (x.buy_order = p.working) AS arrived FROM pricetime.executions x
        WHERE w.order_id IS NULL AND (x.buy_order = p.working OR x.sell_order = p.working) ORDER BY x.id DESC LIMIT 1
    ) e ON true
    ORDER BY w.order_id IS NULL, CASE WHEN w.order_id IS NULL THEN p.imported_nth END NULLS LAST, e.id, e.arrived, o.id";
/// Selects deadlines of open orders, the earliest first.
const DEADLINES: &str = "
    SELECT o.id, o.until FROM pricetime.resting r JOIN pricetime.present_orders o ON o.id = r.order_id
    WHERE o.until IS NOT NULL ORDER BY o.until, o.id";
/// Selects open icebergs, by id. A waiting one shows no shares yet.
const ICEBERGS: &str = "
    SELECT i.order_id, i.display, (CASE WHEN w.order_id IS NULL THEN r.open - i.hidden ELSE 0 END)::numeric(19,8)
    FROM pricetime.icebergs i JOIN pricetime.resting r ON r.order_id = i.order_id
    LEFT JOIN pricetime.waiting w ON w.order_id = i.order_id
    ORDER BY i.order_id";
const EXECUTIONS: &str = "
    WITH part AS MATERIALIZED (
        SELECT o.id FROM pricetime.resting r JOIN pricetime.present_orders o ON o.id = r.order_id WHERE r.open < o.shares
    )
    SELECT part.id, 0 AS later, i.ordinal, i.shares, i.price, i.time, OF_IMPORTED
        FROM part JOIN pricetime.imported_executions i ON i.order_id = part.id
    UNION ALL SELECT part.id, 1, e.id, e.shares, e.price, e.time, OF_BUY
        FROM part JOIN pricetime.executions e ON e.buy_order = part.id
    UNION ALL SELECT part.id, 1, e.id, e.shares, e.price, e.time, OF_SELL
        FROM part JOIN pricetime.executions e ON e.sell_order = part.id
    ORDER BY 1, 2, 3";

/// Selects orders whose client order ids stand for them at the time of the last command, with the shares with which
/// they were placed, or placed again.
const CLIENT_ORDERS: &str = "
    SELECT o.id, c.client_order_id, o.account, o.symbol, o.side = 'buy', o.limit_price, o.shares, o.kind,
        CASE WHEN t.order_id IS NULL THEN o.trigger_price END, o.trigger_from_below, o.self_trade, o.until, i.display,
        t.distance, t.bips, c.done
    FROM pricetime.client_orders c JOIN pricetime.present_orders o ON o.id = c.order_id
    LEFT JOIN pricetime.icebergs i ON i.order_id = c.order_id
    LEFT JOIN pricetime.trails t ON t.order_id = c.order_id
    WHERE NOT c.freed
        AND (c.done IS NULL OR c.done > (SELECT time FROM pricetime.command_sequence) - interval '24 hours')
    ORDER BY o.id";

const CALENDAR: &str = "SELECT followed FROM pricetime.calendar";

/// Reads an engine from a snapshot of its own. Errors: `Unsound`, `Inconsistent`, `Unreadable`, `Unreachable`.
pub(crate) async fn load(session: &Session, hash_seed: u64, done_orders: DoneOrders) -> Result<Loaded, StoreError> {
    begin_snapshot(session).await?;
    let loaded = load_here(session, hash_seed, done_orders).await?;
    session.run("COMMIT", ACTION).await?;
    Ok(loaded)
}

/// Begins to read at one moment. Retention removes nothing until the end.
pub(crate) async fn begin_snapshot(session: &Session) -> Result<(), StoreError> {
    session.run(&format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {NOTHING_GOES}"), ACTION).await
}

/// Reads an engine within a snapshot that was begun.
pub(crate) async fn load_here(
    session: &Session,
    hash_seed: u64,
    done_orders: DoneOrders,
) -> Result<Loaded, StoreError> {
    let mut importer = Importer::new(hash_seed, done_orders);
    let standing = visit_state(session, &mut |item| importer.add(item).map_err(StoreError::from)).await?;
    Ok(Loaded { engine: importer.finish()?, standing })
}

/// Visits the state within a snapshot that was begun, in the order that [`StateItem`] describes.
pub(crate) async fn visit_state(
    session: &Session,
    visit: &mut dyn FnMut(StateItem) -> Result<(), StoreError>,
) -> Result<Standing, StoreError> {
    let standing = standing::standing(session).await.map_err(|error| session.error(&error, ACTION))?;
    let head = standing.head;
    visit(StateItem::Head { sequence: head.sequence, time: head.time, next_order: head.next_order })?;
    let mut accounts = Numbers::default();
    each_row(session, ACCOUNTS, &mut |fields| {
        accounts.expect(fields.next()?, "an account's number")?;
        let id = AccountId::parse(fields.next::<&str>()?.as_bytes()).map_err(|_| unreadable("accounts.id"))?;
        visit(StateItem::Account { id, balance: fields.next()? })
    })
    .await?;
    let mut symbols = Numbers::default();
    each_row(session, SYMBOLS, &mut |fields| {
        symbols.expect(fields.next()?, "a symbol's number")?;
        let name = Symbol::parse(fields.next::<&str>()?.as_bytes()).map_err(|_| unreadable("symbols.name"))?;
        visit(StateItem::Symbol { name, issued: fields.next()? })
    })
    .await?;
    each_row(session, POSITIONS, &mut |fields| {
        let (account, symbol) = (AccountIndex(fields.next()?), SymbolIndex(fields.next()?));
        visit(StateItem::Position { account, symbol, shares: fields.next()? })
    })
    .await?;
    each_row(session, LINKS, &mut |fields| {
        visit(StateItem::Link { order: OrderId(fields.next()?), partner: OrderId(fields.next()?) })
    })
    .await?;
    each_row(session, &select::<PhaseRow>("symbol"), &mut |fields| {
        let PhaseRow { symbol, phase } = PhaseRow::take(fields)?;
        visit(StateItem::Phase { symbol, phase })
    })
    .await?;
    let pasts = visit_orders(session, visit).await?;
    visit_stops(session, pasts, visit).await?;
    visit_pendings(session, visit).await?;
    visit_deadlines(session, visit).await?;
    visit_icebergs(session, visit).await?;
    visit_client_orders(session, visit).await?;
    visit_fees(session, visit).await?;
    each_row(session, &select::<GroupRow>("account"), &mut |fields| {
        visit(StateItem::Group { account: AccountIndex(fields.next()?), group: fields.next()? })
    })
    .await?;
    each_row(session, &select::<AccountStatusRow>("account"), &mut |fields| {
        let account = AccountIndex(fields.next()?);
        let status = AccountStatus { transfers: fields.next()?, is_closed: fields.next()? };
        visit(StateItem::AccountStatus { account, status })
    })
    .await?;
    each_row(session, &select::<KillRow>("scope <> 'everything', scope, account, symbol"), &mut |fields| {
        visit(StateItem::Kill { scope: KillRow::take(fields)?.scope })
    })
    .await?;
    each_row(session, &select::<ProtectionRow>("account"), &mut |fields| {
        visit(StateItem::Protection { account: AccountIndex(fields.next()?), grace: fields.next()? })
    })
    .await?;
    each_row(session, &select::<LimitsRow>("account"), &mut |fields| {
        let LimitsRow { account, limits } = LimitsRow::take(fields)?;
        visit(StateItem::Limits { account, limits })
    })
    .await?;
    each_row(session, CALENDAR, &mut |fields| visit(StateItem::Calendar { through: fields.next()? })).await?;
    Ok(standing)
}

/// Visits the orders on the books. Returns the executions of orders that stand in none.
async fn visit_orders(
    session: &Session,
    visit: &mut dyn FnMut(StateItem) -> Result<(), StoreError>,
) -> Result<HashMap<OrderId, Past>, StoreError> {
    let mut pasts: HashMap<OrderId, Past> = HashMap::new();
    each_row(session, &fee_rows::named(EXECUTIONS), &mut |fields| {
        let order = OrderId(fields.next()?);
        fields.skip(2);
        pasts.entry(order).or_default().add(fee_rows::execution(fields)?);
        Ok(())
    })
    .await?;
    each_row(session, ORDERS, &mut |fields| {
        let order = OrderId(fields.next()?);
        let (account, symbol) = (AccountIndex(fields.next()?), SymbolIndex(fields.next()?));
        let side = side(fields.next()?);
        let (limit, open) = (fields.next()?, fields.next()?);
        visit(StateItem::Order { order, account, symbol, side, limit, open })?;
        let (kind, self_trade) = (fields.next()?, term_rows::self_trade(fields)?);
        if (kind, self_trade) != (OrderKind::Limit, SelfTrade::Allowed) {
            visit(StateItem::Kind { kind, self_trade })?;
        }
        pasts.remove(&order).unwrap_or_default().visit(visit)
    })
    .await?;
    Ok(pasts)
}

/// The executions of an open order: their sum, and the first ones.
#[derive(Default)]
struct Past {
    executed: Executed,
    first: Vec<Execution>,
}

impl Past {
    fn add(&mut self, execution: Execution) {
        self.executed.add(&execution);
        if !self.executed.is_past() {
            self.first.push(execution);
        }
    }

    fn visit(self, visit: &mut dyn FnMut(StateItem) -> Result<(), StoreError>) -> Result<(), StoreError> {
        match self.executed.is_past() {
            true => visit(StateItem::Executed(self.executed)),
            false => self.first.into_iter().try_for_each(|execution| visit(StateItem::Execution(execution))),
        }
    }
}

async fn visit_stops(
    session: &Session,
    mut pasts: HashMap<OrderId, Past>,
    visit: &mut dyn FnMut(StateItem) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    each_row(session, WATCHES, &mut |fields| {
        let (symbol, last) = (SymbolIndex(fields.next()?), fields.maybe()?);
        let left = TriggersLeft { up_to: fields.maybe()?, down_to: fields.maybe()? };
        let references = BandReferences { dynamic: fields.maybe()?, fixed: fields.maybe()? };
        visit(StateItem::Watch { symbol, last, left, references })
    })
    .await?;
    each_row(session, &select::<RulesRow>("symbol"), &mut |fields| {
        let RulesRow { symbol, rules } = RulesRow::take(fields)?;
        visit(StateItem::Rules { symbol, rules })
    })
    .await?;
    each_row(session, WAITING, &mut |fields| {
        let order = OrderId(fields.next()?);
        let (account, placed) = placed(fields)?;
        let (is_reached, trail) = (fields.next()?, trail_rows::trail(fields)?);
        let Some(is_under_way) = fields.maybe::<bool>()? else {
            return visit(StateItem::Stop { order, account, placed, is_reached, trail });
        };
        let placed = NewOrder { limit: fields.next()?, ..placed };
        visit(StateItem::Delayed { order, account, placed, is_under_way })?;
        pasts.remove(&order).unwrap_or_default().visit(visit)
    })
    .await
}

async fn visit_pendings(
    session: &Session,
    visit: &mut dyn FnMut(StateItem) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    each_row(session, PENDING, &mut |fields| {
        let order = OrderId(fields.next()?);
        let (account, placed) = placed(fields)?;
        let working = OrderId(fields.next()?);
        visit(StateItem::Pending { order, account, placed, working, is_due: fields.next()? })
    })
    .await
}

async fn visit_deadlines(
    session: &Session,
    visit: &mut dyn FnMut(StateItem) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    each_row(session, DEADLINES, &mut |fields| {
        let order = OrderId(fields.next()?);
        visit(StateItem::Deadline { order, until: fields.next()? })
    })
    .await
}

async fn visit_icebergs(
    session: &Session,
    visit: &mut dyn FnMut(StateItem) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    each_row(session, ICEBERGS, &mut |fields| {
        visit(StateItem::Iceberg { order: OrderId(fields.next()?), display: fields.next()?, shown: fields.next()? })
    })
    .await
}

async fn visit_client_orders(
    session: &Session,
    visit: &mut dyn FnMut(StateItem) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    each_row(session, CLIENT_ORDERS, &mut |fields| {
        let order = OrderId(fields.next()?);
        let id = ClientOrderId::parse(fields.next::<&str>()?.as_bytes())
            .map_err(|_| unreadable("client_orders.client_order_id"))?;
        let (account, placed) = placed(fields)?;
        let (until, display, trail) = (fields.maybe()?, fields.maybe()?, trail_rows::trail(fields)?);
        visit(StateItem::ClientOrder { order, id, account, placed, until, display, trail, done: fields.maybe()? })
    })
    .await
}

async fn visit_fees(
    session: &Session,
    visit: &mut dyn FnMut(StateItem) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    each_row(session, &select::<FeesRow>("symbol, tier"), &mut |fields| {
        let (symbol, tier, fees) = fee_rows::take_fees(fields)?;
        visit(StateItem::Fees { symbol, tier, fees })
    })
    .await?;
    each_row(session, &select::<TierRow>("account"), &mut |fields| {
        visit(StateItem::Tier { account: AccountIndex(fields.next()?), tier: fields.next()? })
    })
    .await
}

/// Takes the account of an order, and its terms as placed.
fn placed(fields: &mut Fields<'_>) -> Result<(AccountIndex, NewOrder<SymbolIndex>), StoreError> {
    let (account, symbol) = (AccountIndex(fields.next()?), SymbolIndex(fields.next()?));
    let side = side(fields.next()?);
    let (limit, shares, kind) = (fields.next()?, fields.next()?, fields.next()?);
    let (trigger, self_trade) = (fields.trigger()?, term_rows::self_trade(fields)?);
    Ok((account, NewOrder { symbol, side, limit, shares, kind, trigger, self_trade }))
}

/// Visits the rows of a query as they come.
async fn each_row(
    session: &Session,
    sql: &str,
    visit: &mut impl FnMut(&mut Fields<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let fail = |error| session.error(&error, ACTION);
    let rows = session.client.query_raw(sql, std::iter::empty::<&(dyn ToSql + Sync)>()).await.map_err(fail)?;
    let mut rows = pin!(rows);
    while let Some(row) = rows.try_next().await.map_err(fail)? {
        let row: Row = row;
        visit(&mut Fields::of(&row))?;
    }
    Ok(())
}

/// A check that numbers come from 0 without gaps.
#[derive(Default)]
struct Numbers {
    next: u32,
}

impl Numbers {
    fn expect(&mut self, number: u32, what: &str) -> Result<(), StoreError> {
        if number != self.next {
            return Err(StoreError::Inconsistent(format!("{what} is {number} where {} was expected", self.next)));
        }
        self.next += 1;
        Ok(())
    }
}

fn unreadable(column: &str) -> StoreError {
    StoreError::Unreadable { column: column.to_owned() }
}
