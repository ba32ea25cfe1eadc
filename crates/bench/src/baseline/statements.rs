//! The statements of a baseline transaction, prepared once a connection. SQL and nothing else.

use tokio_postgres::{Client, Error, Statement};

/// As our own server's sessions: a commit is durable, and plans are by index whatever the statistics say of tables that
/// were empty a moment ago.
pub const SETTINGS: &str = "
    SET search_path = pricetime_baseline, pg_temp;
    SET synchronous_commit = on;
    SET jit = off;
    SET plan_cache_mode = force_generic_plan;
    SET enable_seqscan = off;
    SET enable_bitmapscan = off;
    SET enable_sort = off;";

/// Of an order.
pub struct Statements {
    pub take_turn: Statement,
    pub lock_balance: Statement,
    pub lock_position: Statement,
    pub hold_money: Statement,
    pub hold_shares: Statement,
    pub best_sell: Statement,
    pub best_buy: Statement,
    pub take_shares: Statement,
    pub credit_money: Statement,
    pub credit_shares: Statement,
    pub insert_order: Statement,
    pub insert_execution: Statement,
    pub lock_order: Statement,
    pub cancel: Statement,
}

impl Statements {
    pub async fn prepare(client: &Client) -> Result<Statements, Error> {
        Ok(Statements {
            take_turn: client.prepare("UPDATE books SET turn = turn + 1 WHERE symbol = $1").await?,
            lock_balance: client
                .prepare(
                    "SELECT balance >= $2::text::numeric * $3::text::numeric FROM accounts WHERE id = $1 FOR UPDATE",
                )
                .await?,
            lock_position: client
                .prepare(
                    "SELECT shares >= $3::text::numeric FROM positions WHERE account = $1 AND symbol = $2 FOR UPDATE",
                )
                .await?,
            hold_money: client
                .prepare("UPDATE accounts SET balance = balance - $2::text::numeric * $3::text::numeric WHERE id = $1")
                .await?,
            hold_shares: client
                .prepare("UPDATE positions SET shares = shares - $3::text::numeric WHERE account = $1 AND symbol = $2")
                .await?,
            best_sell: client
                .prepare(
                    "SELECT id, account, limit_price::text, open::text FROM orders o
                     WHERE symbol = $1 AND NOT buys AND open > 0 AND limit_price <= $2::text::numeric
                     ORDER BY o.limit_price, o.id LIMIT 1 FOR UPDATE",
                )
                .await?,
            best_buy: client
                .prepare(
                    "SELECT id, account, limit_price::text, open::text FROM orders o
                     WHERE symbol = $1 AND buys AND open > 0 AND limit_price >= $2::text::numeric
                     ORDER BY o.limit_price DESC, o.id LIMIT 1 FOR UPDATE",
                )
                .await?,
            take_shares: client.prepare("UPDATE orders SET open = open - $2::text::numeric WHERE id = $1").await?,
            credit_money: client
                .prepare("UPDATE accounts SET balance = balance + $2::text::numeric * $3::text::numeric WHERE id = $1")
                .await?,
            credit_shares: client
                .prepare(
                    "INSERT INTO positions AS p (account, symbol, shares) VALUES ($1, $2, $3::text::numeric)
                     ON CONFLICT (account, symbol) DO UPDATE SET shares = p.shares + excluded.shares",
                )
                .await?,
            insert_order: client
                .prepare(
                    "INSERT INTO orders (account, symbol, buys, limit_price, shares, open)
                     VALUES ($1, $2, $3, $4::text::numeric, $5::text::numeric, $6::text::numeric) RETURNING id",
                )
                .await?,
            insert_execution: client
                .prepare(
                    "INSERT INTO executions (buy_order, sell_order, price, shares)
                     VALUES ($1, $2, $3::text::numeric, $4::text::numeric)",
                )
                .await?,
            lock_order: client
                .prepare(
                    "SELECT symbol, buys, limit_price::text, open::text FROM orders
                     WHERE id = $1 AND account = $2 FOR UPDATE",
                )
                .await?,
            cancel: client.prepare("UPDATE orders SET canceled = open, open = 0 WHERE id = $1").await?,
        })
    }
}
