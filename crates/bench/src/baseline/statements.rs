//! The statements of a baseline transaction, prepared once a connection. SQL and nothing else.

use std::collections::HashMap;

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

pub const TAKE_TURN: &str = "UPDATE books SET turn = turn + 1 WHERE symbol = $1";
pub const LOCK_BALANCE: &str = "SELECT balance >= $2::numeric * $3::numeric FROM accounts WHERE id = $1 FOR UPDATE";
pub const LOCK_POSITION: &str = "SELECT shares >= $3 FROM positions WHERE account = $1 AND symbol = $2 FOR UPDATE";
pub const HOLD_MONEY: &str = "UPDATE accounts SET balance = balance - $2::numeric * $3::numeric WHERE id = $1";
pub const HOLD_SHARES: &str = "UPDATE positions SET shares = shares - $3 WHERE account = $1 AND symbol = $2";
pub const BEST_SELL: &str = "SELECT id, account, limit_price, open FROM orders o
    WHERE symbol = $1 AND NOT buys AND open > 0 AND limit_price <= $2
    ORDER BY o.limit_price, o.id LIMIT 1 FOR UPDATE";
pub const BEST_BUY: &str = "SELECT id, account, limit_price, open FROM orders o
    WHERE symbol = $1 AND buys AND open > 0 AND limit_price >= $2
    ORDER BY o.limit_price DESC, o.id LIMIT 1 FOR UPDATE";
pub const TAKE_SHARES: &str = "UPDATE orders SET open = open - $2 WHERE id = $1";
pub const CREDIT_MONEY: &str = "UPDATE accounts SET balance = balance + $2::numeric * $3::numeric WHERE id = $1";
pub const CREDIT_SHARES: &str = "INSERT INTO positions AS p (account, symbol, shares) VALUES ($1, $2, $3)
    ON CONFLICT (account, symbol) DO UPDATE SET shares = p.shares + excluded.shares";
pub const INSERT_ORDER: &str = "INSERT INTO orders (account, symbol, buys, limit_price, shares, open)
    VALUES ($1, $2, $3, $4, $5, $6) RETURNING id";
pub const INSERT_EXECUTION: &str =
    "INSERT INTO executions (buy_order, sell_order, price, shares) VALUES ($1, $2, $3, $4)";
pub const LOCK_ORDER: &str =
    "SELECT symbol, buys, limit_price, open FROM orders WHERE id = $1 AND account = $2 FOR UPDATE";
pub const CANCEL: &str = "UPDATE orders SET canceled = open, open = 0 WHERE id = $1";

const ALL: [&str; 14] = [
    TAKE_TURN,
    LOCK_BALANCE,
    LOCK_POSITION,
    HOLD_MONEY,
    HOLD_SHARES,
    BEST_SELL,
    BEST_BUY,
    TAKE_SHARES,
    CREDIT_MONEY,
    CREDIT_SHARES,
    INSERT_ORDER,
    INSERT_EXECUTION,
    LOCK_ORDER,
    CANCEL,
];

/// Each of them, by its text.
pub type Statements = HashMap<&'static str, Statement>;

pub async fn prepare(client: &Client) -> Result<Statements, Error> {
    let mut statements = Statements::new();
    for sql in ALL {
        statements.insert(sql, client.prepare(sql).await?);
    }
    Ok(statements)
}
