//! Looks at a database while it is measured: how many transactions wrote something. Knows no load.

use store::StoreUrl;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Client;

use crate::baseline::said;

/// A connection of its own. What it asks writes nothing.
pub struct Observer {
    runtime: Runtime,
    client: Client,
}

impl Observer {
    /// Errors: what the database said.
    pub fn connect(url: &StoreUrl) -> Result<Observer, String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot start a runtime: {error}"))?;
        let client = runtime.block_on(store::connect(url, "observer")).map_err(|error| error.to_string())?;
        Ok(Observer { runtime, client })
    }

    /// Does one statement. Errors: what the database said.
    pub fn run(&self, sql: &str) -> Result<(), String> {
        self.runtime.block_on(self.client.batch_execute(sql)).map_err(|error| said(&error))
    }

    /// Transactions that wrote, ever, with those that were rolled back: each has an id, and ids count up. The counters in
    /// pg_stat_database say the same a second late.
    pub fn transactions(&self) -> Result<u64, String> {
        let sql = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text";
        let row = self.runtime.block_on(self.client.query_one(sql, &[])).map_err(|error| said(&error))?;
        let text: &str = row.get(0);
        text.parse().map_err(|_| format!("PostgreSQL counts `{text}` transactions"))
    }
}
