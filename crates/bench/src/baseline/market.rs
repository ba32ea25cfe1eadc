//! The tables, their contents before a load, and the check of them after it.

use rust_decimal::Decimal;
use tokio_postgres::{Client, Error};

use super::exchange::Order;

/// The owner of the tables: makes them, issues money and shares, and checks.
pub struct Market {
    client: Client,
}

impl Market {
    /// Makes the schema anew: drops what an earlier run left. Errors: the driver's.
    pub async fn make(client: Client) -> Result<Market, Error> {
        client.batch_execute("SET client_min_messages = warning").await?;
        client.batch_execute(include_str!("schema.sql")).await?;
        Ok(Market { client })
    }

    /// Creates accounts 1 to `accounts` and these symbols, and gives each account `each` dollars, and `each` shares of
    /// each symbol.
    pub async fn fill(&self, accounts: u64, symbols: &[String], each: u64) -> Result<(), Error> {
        let (accounts, each) = (accounts as i64, Decimal::from(each));
        let sql = "INSERT INTO accounts (id, created, balance)
            SELECT id, $2, $2 FROM generate_series(1, $1::bigint) AS id";
        self.client.execute(sql, &[&accounts, &each]).await?;
        let sql = "INSERT INTO books (symbol, issued) SELECT symbol, $2::numeric * $1::bigint FROM unnest($3::text[]) AS symbol";
        self.client.execute(sql, &[&accounts, &each, &symbols]).await?;
        let sql = "INSERT INTO positions (account, symbol, shares)
            SELECT id, symbol, $1 FROM accounts, books ORDER BY id, symbol";
        self.client.execute(sql, &[&each]).await.map(drop)
    }

    /// Places a buy that rests, without matching it: only before a load, where nothing can match.
    pub async fn rest(&self, order: &Order<'_>) -> Result<i64, Error> {
        let sql = "WITH held AS (
                UPDATE accounts SET balance = balance - $3::numeric * $4::numeric WHERE id = $1 RETURNING id
            )
            INSERT INTO orders (account, symbol, buys, limit_price, shares, open)
            SELECT id, $2, true, $3, $4, $4 FROM held RETURNING id";
        let row = self.client.query_one(sql, &[&order.account, &order.symbol, &order.limit, &order.shares]).await?;
        Ok(row.get(0))
    }

    /// Gathers statistics of the tables.
    pub async fn settle(&self) -> Result<(), Error> {
        self.client.batch_execute("ANALYZE accounts, books, positions, orders, executions").await
    }

    /// Returns the faults in the rows of a market that acknowledged this many orders.
    pub async fn faults(&self, acknowledged: u64) -> Result<Vec<String>, Error> {
        let orders: i64 = self.client.query_one("SELECT count(*) FROM orders", &[]).await?.get(0);
        let lost = (orders as u64 != acknowledged)
            .then(|| format!("{acknowledged} orders were acknowledged, and there are {orders}"));
        let rows = self.client.query("SELECT fault FROM faults", &[]).await?;
        Ok(lost.into_iter().chain(rows.iter().map(|row| row.get(0))).collect())
    }
}
