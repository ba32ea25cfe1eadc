//! An exchange without an engine: every order is one transaction on the tables, which lock, match and credit. It is what
//! earlier systems did. Knows no load.

use rust_decimal::Decimal;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, IsolationLevel, Row, Transaction};

use super::statements::{self, *};

/// Which way an order trades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Buy,
    Sell,
}

/// An order to be placed.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    pub account: i64,
    pub symbol: &'a str,
    pub side: Side,
    pub limit: Decimal,
    pub shares: Decimal,
}

/// What is done in one transaction.
#[derive(Clone, Copy)]
enum Work<'a> {
    Place(&'a Order<'a>),
    Cancel { account: i64, order: i64 },
}

/// One connection to the tables.
pub struct Exchange {
    client: Client,
    statements: Statements,
    /// Transactions that were begun again, because another changed what they were about to change.
    pub retries: u64,
}

impl Exchange {
    /// Over this connection to a database that has the schema. Errors: the driver's.
    pub async fn over(client: Client) -> Result<Exchange, Error> {
        client.batch_execute(SETTINGS).await?;
        let statements = statements::prepare(&client).await?;
        Ok(Exchange { client, statements, retries: 0 })
    }

    /// Places an order; its id, or none when it was refused: an unknown account or symbol, too little money, too few
    /// shares. Errors: the database's, but for conflicts, after which it is tried again.
    pub async fn place(&mut self, order: &Order<'_>) -> Result<Option<i64>, Error> {
        self.until_done(Work::Place(order)).await
    }

    /// Cancels what is open of an account's order; false when there is nothing. Errors: as of `place`.
    pub async fn cancel(&mut self, account: i64, order: i64) -> Result<bool, Error> {
        Ok(self.until_done(Work::Cancel { account, order }).await?.is_some())
    }

    /// The order's id, where something was done.
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
        let open = Open { transaction, statements: &self.statements };
        let done = match work {
            Work::Place(order) => open.place(order).await?,
            Work::Cancel { account, order } => open.cancel(account, order).await?.then_some(order),
        };
        // What ends early is rolled back.
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

/// What was executed with a resting order, the maker.
struct Fill {
    maker: i64,
    price: Decimal,
    shares: Decimal,
}

type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

/// An open transaction.
struct Open<'a> {
    transaction: Transaction<'a>,
    statements: &'a Statements,
}

impl Open<'_> {
    async fn run(&self, sql: &'static str, values: Values<'_>) -> Result<u64, Error> {
        self.transaction.execute(&self.statements[sql], values).await
    }

    async fn row(&self, sql: &'static str, values: Values<'_>) -> Result<Option<Row>, Error> {
        self.transaction.query_opt(&self.statements[sql], values).await
    }

    async fn place(&self, order: &Order<'_>) -> Result<Option<i64>, Error> {
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

    /// Sets aside what the order may cost; false when there is too little.
    async fn hold(&self, order: &Order<'_>) -> Result<bool, Error> {
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

    /// Executes the order with the best of the other side, and the next best, as far as its limit. What was executed, and
    /// what is left open.
    async fn fill(&self, order: &Order<'_>) -> Result<(Vec<Fill>, Decimal), Error> {
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

    async fn cancel(&self, account: i64, order: i64) -> Result<bool, Error> {
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
