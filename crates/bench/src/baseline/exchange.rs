//! An exchange without an engine: every order is one transaction on the tables, which lock, match and credit. Earlier
//! systems worked like this. It knows no load.

use std::collections::HashMap;

use rust_decimal::Decimal;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, IsolationLevel, Row, Statement, Transaction};

/// Settings as in our own server's sessions: a commit is durable, and plans use indexes even while the statistics are
/// of tables that were empty a moment ago.
const SETTINGS: &str = "
    SET search_path = pricetime_baseline, pg_temp;
    SET synchronous_commit = on;
    SET jit = off;
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_sort = off;";

const TAKE_TURN: &str = "UPDATE books SET turn = turn + 1 WHERE symbol = $1";
const LOCK_BALANCE: &str = "SELECT balance >= $2::numeric * $3::numeric FROM accounts WHERE id = $1 FOR UPDATE";
const LOCK_POSITION: &str = "SELECT shares >= $3 FROM positions WHERE account = $1 AND symbol = $2 FOR UPDATE";
const HOLD_MONEY: &str = "UPDATE accounts SET balance = balance - $2::numeric * $3::numeric WHERE id = $1";
const HOLD_SHARES: &str = "UPDATE positions SET shares = shares - $3 WHERE account = $1 AND symbol = $2";
const BEST_SELL: &str = "SELECT id, account, limit_price, open FROM orders o
    WHERE symbol = $1 AND NOT buys AND open > 0 AND limit_price <= $2
    ORDER BY o.limit_price, o.id LIMIT 1 FOR UPDATE";
const BEST_BUY: &str = "SELECT id, account, limit_price, open FROM orders o
    WHERE symbol = $1 AND buys AND open > 0 AND limit_price >= $2
    ORDER BY o.limit_price DESC, o.id LIMIT 1 FOR UPDATE";
const TAKE_SHARES: &str = "UPDATE orders SET open = open - $2 WHERE id = $1";
const CREDIT_MONEY: &str = "UPDATE accounts SET balance = balance + $2::numeric * $3::numeric WHERE id = $1";
const CREDIT_SHARES: &str = "INSERT INTO positions AS p (account, symbol, shares) VALUES ($1, $2, $3)
    ON CONFLICT (account, symbol) DO UPDATE SET shares = p.shares + excluded.shares";
const INSERT_ORDER: &str = "INSERT INTO orders (account, symbol, buys, limit_price, shares, open)
    VALUES ($1, $2, $3, $4, $5, $6) RETURNING id";
const INSERT_EXECUTION: &str = "INSERT INTO executions (buy_order, sell_order, price, shares) VALUES ($1, $2, $3, $4)";
const LOCK_ORDER: &str = "SELECT symbol, buys, limit_price, open FROM orders WHERE id = $1 AND account = $2 FOR UPDATE";
const CANCEL: &str = "UPDATE orders SET canceled = open, open = 0 WHERE id = $1";

/// The side of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Buy,
    Sell,
}

/// An order to place.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    pub account: i64,
    pub symbol: &'a str,
    pub side: Side,
    pub limit: Decimal,
    pub shares: Decimal,
}

/// The work of one transaction.
#[derive(Clone, Copy)]
enum Work<'a> {
    Place(&'a Order<'a>),
    Cancel { account: i64, order: i64 },
}

/// One connection to the tables.
pub struct Exchange {
    client: Client,
    statements: Statements,
    /// Transactions that were begun again, because another one changed rows that they were about to change.
    pub retries: u64,
}

impl Exchange {
    /// Uses this connection to a database that has the schema. Errors: the driver's.
    pub async fn over(client: Client) -> Result<Exchange, Error> {
        client.batch_execute(SETTINGS).await?;
        Ok(Exchange { client, statements: Statements::new(), retries: 0 })
    }

    /// Places an order. Returns its id, or `None` when it was refused: an unknown account or symbol, too little money,
    /// too few shares. Errors: the database's, except conflicts, after which it tries again.
    pub async fn place(&mut self, order: &Order<'_>) -> Result<Option<i64>, Error> {
        self.until_done(Work::Place(order)).await
    }

    /// Cancels an account's open order. Returns false if there is none. Errors: as for `place`.
    pub async fn cancel(&mut self, account: i64, order: i64) -> Result<bool, Error> {
        Ok(self.until_done(Work::Cancel { account, order }).await?.is_some())
    }

    /// Returns the order's id, if something was done.
    async fn until_done(&mut self, work: Work<'_>) -> Result<Option<i64>, Error> {
        loop {
            match self.try_once(work).await {
                Err(error) if is_conflict(&error) => self.retries += 1,
                outcome => return outcome,
            }
        }
    }

    async fn try_once(&mut self, work: Work<'_>) -> Result<Option<i64>, Error> {
        let transaction =
            self.client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).start().await?;
        let mut open = Open { transaction, statements: &mut self.statements };
        let done = match work {
            Work::Place(order) => open.place(order).await?,
            Work::Cancel { account, order } => open.cancel(account, order).await?.then_some(order),
        };
        // A transaction that ends early is rolled back.
        if done.is_some() {
            open.transaction.commit().await?;
        }
        Ok(done)
    }
}

fn is_conflict(error: &Error) -> bool {
    let conflicts = [&SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| conflicts.contains(&code))
}

/// An execution with a resting order, the maker.
struct Fill {
    maker: i64,
    price: Decimal,
    shares: Decimal,
}

type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Statements by their text, each prepared when it is first used.
type Statements = HashMap<&'static str, Statement>;

/// An open transaction.
struct Open<'a> {
    transaction: Transaction<'a>,
    statements: &'a mut Statements,
}

impl Open<'_> {
    async fn prepared(&mut self, sql: &'static str) -> Result<Statement, Error> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.transaction.prepare(sql).await?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    async fn run(&mut self, sql: &'static str, values: Values<'_>) -> Result<u64, Error> {
        let statement = self.prepared(sql).await?;
        self.transaction.execute(&statement, values).await
    }

    async fn row(&mut self, sql: &'static str, values: Values<'_>) -> Result<Option<Row>, Error> {
        let statement = self.prepared(sql).await?;
        self.transaction.query_opt(&statement, values).await
    }

    async fn place(&mut self, order: &Order<'_>) -> Result<Option<i64>, Error> {
        let &Order { account, symbol, side, limit, shares } = order;
        if self.run(TAKE_TURN, &[&symbol]).await? == 0 || !self.hold(order).await? {
            return Ok(None);
        }
        let (fills, open) = self.fill(order).await?;
        let buys = side == Side::Buy;
        let row = self.row(INSERT_ORDER, &[&account, &symbol, &buys, &limit, &shares, &open]).await?;
        let id: i64 = row.expect("invariant: an INSERT of a row returns it").get(0);
        for Fill { maker, price, shares } in fills {
            let (buy, sell) = if buys { (id, maker) } else { (maker, id) };
            self.run(INSERT_EXECUTION, &[&buy, &sell, &price, &shares]).await?;
        }
        Ok(Some(id))
    }

    /// Holds what the order may cost. Returns false when there is too little.
    async fn hold(&mut self, order: &Order<'_>) -> Result<bool, Error> {
        let Order { account, symbol, side, limit, shares } = order;
        let (lock, hold, values): (_, _, Values) = match side {
            Side::Buy => (LOCK_BALANCE, HOLD_MONEY, &[account, limit, shares]),
            Side::Sell => (LOCK_POSITION, HOLD_SHARES, &[account, symbol, shares]),
        };
        if !self.row(lock, values).await?.is_some_and(|row| row.get(0)) {
            return Ok(false);
        }
        self.run(hold, values).await?;
        Ok(true)
    }

    /// Executes the order with the best order of the other side, and the next best, as far as its limit. Returns the
    /// executions, and the shares that are left open.
    async fn fill(&mut self, order: &Order<'_>) -> Result<(Vec<Fill>, Decimal), Error> {
        let best = if order.side == Side::Buy { BEST_SELL } else { BEST_BUY };
        let (mut fills, mut left) = (Vec::new(), order.shares);
        while left > Decimal::ZERO {
            let Some(row) = self.row(best, &[&order.symbol, &order.limit]).await? else { break };
            // The maker's price: the aggressor keeps the improvement.
            let (maker, account, price): (i64, i64, Decimal) = (row.get(0), row.get(1), row.get(2));
            let shares = left.min(row.get(3));
            self.run(TAKE_SHARES, &[&maker, &shares]).await?;
            match order.side {
                Side::Buy => {
                    self.run(CREDIT_MONEY, &[&account, &price, &shares]).await?;
                    self.run(CREDIT_SHARES, &[&order.account, &order.symbol, &shares]).await?;
                    if order.limit > price {
                        self.run(CREDIT_MONEY, &[&order.account, &(order.limit - price), &shares]).await?;
                    }
                }
                Side::Sell => {
                    self.run(CREDIT_SHARES, &[&account, &order.symbol, &shares]).await?;
                    self.run(CREDIT_MONEY, &[&order.account, &price, &shares]).await?;
                }
            }
            left -= shares;
            fills.push(Fill { maker, price, shares });
        }
        Ok((fills, left))
    }

    async fn cancel(&mut self, account: i64, order: i64) -> Result<bool, Error> {
        let Some(row) = self.row(LOCK_ORDER, &[&order, &account]).await? else { return Ok(false) };
        let (symbol, limit, open): (&str, Decimal, Decimal) = (row.get(0), row.get(2), row.get(3));
        if open.is_zero() {
            return Ok(false);
        }
        self.run(CANCEL, &[&order]).await?;
        match row.get(1) {
            true => self.run(CREDIT_MONEY, &[&account, &limit, &open]).await?,
            false => self.run(CREDIT_SHARES, &[&account, &symbol, &open]).await?,
        };
        Ok(true)
    }
}
