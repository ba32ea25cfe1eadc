//! An exchange without an engine: every order is one transaction on the tables, which lock, match and credit. It is what
//! earlier systems did. Knows no load.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, IsolationLevel, Row, Transaction};

use super::amount::Amount;
use super::statements::{SETTINGS, Statements};

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
    pub limit: Amount,
    pub shares: Amount,
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
        let statements = Statements::prepare(&client).await?;
        Ok(Exchange { client, statements, retries: 0 })
    }

    /// Places an order; its id, or none when it was refused: an unknown account or symbol, too little money, too few
    /// shares. Errors: the database's, but for conflicts, after which it is tried again.
    pub async fn place(&mut self, order: &Order<'_>) -> Result<Option<i64>, Error> {
        loop {
            match self.try_place(order).await {
                Err(error) if is_conflict(&error) => self.retries += 1,
                outcome => return outcome,
            }
        }
    }

    /// Cancels what is open of an account's order; false when there is nothing. Errors: as of `place`.
    pub async fn cancel(&mut self, account: i64, order: i64) -> Result<bool, Error> {
        loop {
            match self.try_cancel(account, order).await {
                Err(error) if is_conflict(&error) => self.retries += 1,
                outcome => return outcome,
            }
        }
    }

    async fn try_place(&mut self, order: &Order<'_>) -> Result<Option<i64>, Error> {
        // What ends early is rolled back.
        let work = Work { transaction: begin(&mut self.client).await?, statements: &self.statements };
        let placed = work.place(order).await?;
        if placed.is_some() {
            work.transaction.commit().await?;
        }
        Ok(placed)
    }

    async fn try_cancel(&mut self, account: i64, order: i64) -> Result<bool, Error> {
        let work = Work { transaction: begin(&mut self.client).await?, statements: &self.statements };
        let canceled = work.cancel(account, order).await?;
        if canceled {
            work.transaction.commit().await?;
        }
        Ok(canceled)
    }
}

async fn begin(client: &mut Client) -> Result<Transaction<'_>, Error> {
    client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).start().await
}

fn is_conflict(error: &Error) -> bool {
    let conflicts = [&SqlState::T_R_SERIALIZATION_FAILURE, &SqlState::T_R_DEADLOCK_DETECTED];
    error.code().is_some_and(|code| conflicts.contains(&code))
}

/// A resting order that is executed with.
struct Maker {
    id: i64,
    account: i64,
    limit: Amount,
    open: Amount,
}

/// What was executed with one of them.
struct Fill {
    maker: i64,
    price: Amount,
    shares: Amount,
}

/// An open transaction.
struct Work<'a> {
    transaction: Transaction<'a>,
    statements: &'a Statements,
}

impl Work<'_> {
    async fn place(&self, order: &Order<'_>) -> Result<Option<i64>, Error> {
        let turn = self.transaction.execute(&self.statements.take_turn, &[&order.symbol]).await?;
        if turn == 0 || !self.hold(order).await? {
            return Ok(None);
        }
        let (fills, open) = self.fill(order).await?;
        let &Order { account, symbol, side, limit, shares } = order;
        let buys = side == Side::Buy;
        let [limit, shares, open] = [limit, shares, open].map(|amount| amount.to_string());
        let row = self
            .transaction
            .query_one(&self.statements.insert_order, &[&account, &symbol, &buys, &limit, &shares, &open])
            .await?;
        let id: i64 = row.get(0);
        for Fill { maker, price, shares } in fills {
            let (buy, sell) = if buys { (id, maker) } else { (maker, id) };
            let values = [price.to_string(), shares.to_string()];
            self.transaction.execute(&self.statements.insert_execution, &[&buy, &sell, &values[0], &values[1]]).await?;
        }
        Ok(Some(id))
    }

    /// Sets aside what the order may cost; false when there is too little.
    async fn hold(&self, order: &Order<'_>) -> Result<bool, Error> {
        let Statements { lock_balance, lock_position, hold_money, hold_shares, .. } = self.statements;
        let (limit, shares) = (order.limit.to_string(), order.shares.to_string());
        let transaction = &self.transaction;
        let enough = match order.side {
            Side::Buy => transaction.query_opt(lock_balance, &[&order.account, &limit, &shares]).await?,
            Side::Sell => transaction.query_opt(lock_position, &[&order.account, &order.symbol, &shares]).await?,
        };
        if !enough.is_some_and(|row| row.get(0)) {
            return Ok(false);
        }
        match order.side {
            Side::Buy => transaction.execute(hold_money, &[&order.account, &limit, &shares]).await?,
            Side::Sell => transaction.execute(hold_shares, &[&order.account, &order.symbol, &shares]).await?,
        };
        Ok(true)
    }

    /// Executes the order with the best of the other side, and the next best, as far as its limit. What was executed, and
    /// what is left open.
    async fn fill(&self, order: &Order<'_>) -> Result<(Vec<Fill>, Amount), Error> {
        let (mut fills, mut left) = (Vec::new(), order.shares);
        while left > Amount::ZERO {
            let Some(maker) = self.best(order).await? else { break };
            let shares = left.min(maker.open);
            self.transaction.execute(&self.statements.take_shares, &[&maker.id, &shares.to_string()]).await?;
            // The maker's price: the aggressor keeps the improvement.
            let price = maker.limit;
            match order.side {
                Side::Buy => {
                    self.credit_money(maker.account, price, shares).await?;
                    self.credit_shares(order.account, order.symbol, shares).await?;
                    if order.limit > price {
                        self.credit_money(order.account, order.limit - price, shares).await?;
                    }
                }
                Side::Sell => {
                    self.credit_shares(maker.account, order.symbol, shares).await?;
                    self.credit_money(order.account, price, shares).await?;
                }
            }
            left -= shares;
            fills.push(Fill { maker: maker.id, price, shares });
        }
        Ok((fills, left))
    }

    async fn best(&self, order: &Order<'_>) -> Result<Option<Maker>, Error> {
        let best = match order.side {
            Side::Buy => &self.statements.best_sell,
            Side::Sell => &self.statements.best_buy,
        };
        let row = self.transaction.query_opt(best, &[&order.symbol, &order.limit.to_string()]).await?;
        Ok(row.map(|row| Maker { id: row.get(0), account: row.get(1), limit: amount(&row, 2), open: amount(&row, 3) }))
    }

    async fn cancel(&self, account: i64, order: i64) -> Result<bool, Error> {
        let Some(row) = self.transaction.query_opt(&self.statements.lock_order, &[&order, &account]).await? else {
            return Ok(false);
        };
        let (symbol, buys, limit, open): (&str, bool, _, _) =
            (row.get(0), row.get(1), amount(&row, 2), amount(&row, 3));
        if open == Amount::ZERO {
            return Ok(false);
        }
        self.transaction.execute(&self.statements.cancel, &[&order]).await?;
        match buys {
            true => self.credit_money(account, limit, open).await?,
            false => self.credit_shares(account, symbol, open).await?,
        }
        Ok(true)
    }

    async fn credit_money(&self, account: i64, price: Amount, shares: Amount) -> Result<(), Error> {
        let (price, shares) = (price.to_string(), shares.to_string());
        self.transaction.execute(&self.statements.credit_money, &[&account, &price, &shares]).await.map(drop)
    }

    async fn credit_shares(&self, account: i64, symbol: &str, shares: Amount) -> Result<(), Error> {
        let shares = shares.to_string();
        self.transaction.execute(&self.statements.credit_shares, &[&account, &symbol, &shares]).await.map(drop)
    }
}

fn amount(row: &Row, column: usize) -> Amount {
    row.get::<_, &str>(column).parse().expect("invariant: the column has 8 decimals and 19 digits")
}
