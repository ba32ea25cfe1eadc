//! The tables, what is in them before a load, and whether they are right after it.

use rust_decimal::Decimal;
use tokio_postgres::{Client, Error};

use super::exchange::Order;

/// The owner of the tables: makes them, issues money and shares, and checks.
pub struct Market {
    client: Client,
}

impl Market {
    /// Makes the schema anew: what an earlier run left is dropped. Errors: the driver's.
    pub async fn make(client: Client) -> Result<Market, Error> {
        client.batch_execute("SET client_min_messages = warning").await?;
        client.batch_execute(include_str!("schema.sql")).await?;
        Ok(Market { client })
    }

    /// The one that is there. Errors: the driver's.
    pub async fn open(client: Client) -> Result<Market, Error> {
        client.batch_execute("SET search_path = pricetime_baseline, pg_temp").await?;
        Ok(Market { client })
    }

    /// Creates an account with so many dollars; nothing if it is there.
    pub async fn create_account(&self, account: i64, dollars: Decimal) -> Result<(), Error> {
        let sql = "INSERT INTO accounts (id, created, balance) VALUES ($1, $2, $2) ON CONFLICT DO NOTHING";
        self.client.execute(sql, &[&account, &dollars]).await.map(drop)
    }

    /// Creates a symbol; nothing if it is there.
    pub async fn create_symbol(&self, symbol: &str) -> Result<(), Error> {
        let sql = "INSERT INTO books (symbol, issued) VALUES ($1, 0) ON CONFLICT DO NOTHING";
        self.client.execute(sql, &[&symbol]).await.map(drop)
    }

    /// Gives an account shares that nobody had; nothing if either is unknown.
    pub async fn issue(&self, account: i64, symbol: &str, shares: Decimal) -> Result<(), Error> {
        let sql = "WITH issued AS (
                UPDATE books SET issued = issued + $3
                WHERE symbol = $2 AND EXISTS (SELECT FROM accounts WHERE id = $1) RETURNING symbol
            )
            INSERT INTO positions AS p (account, symbol, shares) SELECT $1, symbol, $3 FROM issued
            ON CONFLICT (account, symbol) DO UPDATE SET shares = p.shares + excluded.shares";
        self.client.execute(sql, &[&account, &symbol, &shares]).await.map(drop)
    }

    /// Creates accounts 1 to `accounts` and these symbols, and gives everybody so much of everything.
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

    /// Everything written so far is on the disk, and the tables have statistics.
    pub async fn settle(&self) -> Result<(), Error> {
        self.client.batch_execute("ANALYZE accounts, books, positions, orders, executions").await
    }

    /// All orders and executions there are.
    pub async fn counts(&self) -> Result<(i64, i64), Error> {
        let sql = "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM executions)";
        self.client.query_one(sql, &[]).await.map(|row| (row.get(0), row.get(1)))
    }

    /// What is wrong with the rows; nothing when money and shares are those that were created, nobody owes any, no book is
    /// crossed, and orders and executions agree.
    pub async fn faults(&self) -> Result<Vec<String>, Error> {
        let mut faults = Vec::new();
        for (what, sql) in CHECKS {
            let row = self.client.query_opt(sql, &[]).await?;
            faults.extend(row.map(|row| format!("{what}: {}", row.get::<_, &str>(0))));
        }
        Ok(faults)
    }
}

/// What would be wrong, and a query that gives a row that says so.
const CHECKS: [(&str, &str); 6] = [
    (
        "money was made or lost",
        "SELECT 'created ' || created || ', there is ' || there FROM (
             SELECT coalesce(sum(created), 0) AS created,
                 coalesce(sum(balance), 0)
                     + (SELECT coalesce(sum(limit_price * open), 0) FROM orders WHERE buys) AS there
             FROM accounts
         ) sums WHERE created <> there",
    ),
    (
        "shares were made or lost",
        "SELECT b.symbol || ': issued ' || b.issued || ', there are ' || coalesce(p.shares, 0) + coalesce(o.shares, 0)
         FROM books b
         LEFT JOIN (SELECT symbol, sum(shares) AS shares FROM positions GROUP BY symbol) p USING (symbol)
         LEFT JOIN (SELECT symbol, sum(open) AS shares FROM orders WHERE NOT buys GROUP BY symbol) o USING (symbol)
         WHERE b.issued <> coalesce(p.shares, 0) + coalesce(o.shares, 0) LIMIT 1",
    ),
    (
        "somebody has less than nothing",
        "SELECT 'account ' || id FROM accounts WHERE balance < 0
         UNION ALL SELECT 'account ' || account || ' of ' || symbol FROM positions WHERE shares < 0 LIMIT 1",
    ),
    (
        "a book is crossed",
        "SELECT symbol || ': bid ' || max(limit_price) FILTER (WHERE buys)
             || ', asked ' || min(limit_price) FILTER (WHERE NOT buys)
         FROM orders WHERE open > 0 GROUP BY symbol
         HAVING max(limit_price) FILTER (WHERE buys) >= min(limit_price) FILTER (WHERE NOT buys) LIMIT 1",
    ),
    (
        "an order's shares are not what is open, canceled and executed of it",
        "SELECT 'order ' || o.id FROM orders o
         LEFT JOIN (
             SELECT id, sum(shares) AS shares FROM (
                 SELECT buy_order AS id, shares FROM executions UNION ALL SELECT sell_order, shares FROM executions
             ) sides GROUP BY id
         ) e USING (id)
         WHERE o.shares <> o.open + o.canceled + coalesce(e.shares, 0) OR o.open < 0 LIMIT 1",
    ),
    (
        "an execution that its orders could not have agreed to",
        "SELECT 'execution ' || e.id FROM executions e
         LEFT JOIN orders b ON b.id = e.buy_order LEFT JOIN orders s ON s.id = e.sell_order
         WHERE (b.buys AND NOT s.buys AND b.symbol = s.symbol AND s.limit_price <= e.price AND e.price <= b.limit_price
             AND e.shares > 0) IS NOT TRUE LIMIT 1",
    ),
];
