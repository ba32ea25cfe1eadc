//! The market as rows of PostgreSQL: schema, writer, recovery, history, and the market that runs on them. Source:
//! docs/POSTGRES.md.
//!
//! The engine decides in memory; its events become [`Effects`], and a [`Writer`] commits them, one transaction for each
//! batch. A recovery reads what was committed, so a reply may leave when `commit` has returned, and not before. This
//! crate knows no socket of a client and no gateway.
//!
//! ```text
//! Store::connect ─► migrate ─► take_over ─► Writer ─► load ─► engine, and where it stands
//!                                             └─► commit(effects), again and again
//! History::connect ─► done_within, beside it, for queries of orders that the engine no longer keeps
//! Reader::connect  ─► pages of trades, orders and candles, for people
//! SqlMarket        ─► the loop over a SqlLedger, and the Committer: the running market
//! ```

mod amended_rows;
mod audit_rows;
mod batch_statement;
mod candles;
mod column;
mod commit_queue;
mod commits;
mod committer;
mod effects;
mod error;
mod export;
mod fee_rows;
mod fields;
mod history;
mod iceberg_rows;
mod import;
mod kept;
mod known_members;
mod link_rows;
mod load;
mod markets;
mod notes;
mod numeric;
mod pages;
mod parts;
mod pending_rows;
mod reader;
mod reports;
mod retention;
mod runtime;
mod schema;
mod session;
mod setting_rows;
#[cfg(test)]
mod simulation;
mod sql_ledger;
mod sql_market;
pub mod sql_reader;
mod standing;
mod statement;
#[cfg(test)]
mod stepped;
mod stop;
mod stop_rows;
mod store;
mod term_rows;
mod tls;
mod trail_rows;
mod url;
mod verify;
mod writer;

pub use audit_rows::{AuditRows, CallerIds, CallerRow, CommandRow};
pub use candles::{CandleRow, Stretch};
pub use commits::Probe;
pub use effects::{Effects, Head};
pub use error::StoreError;
pub use history::{AskedOrder, History, Within};
pub use import::Imported;
pub use load::Loaded;
pub use markets::MarketRows;
pub use notes::{Befell, NewTerms, NotedRow};
pub use pages::{EndRow, Of, OpenedRow, Page, PlacedRow, Since};
pub use reader::{PlacedAs, Reader, Seen};
pub use reports::{CanceledRow, ReportRows};
pub use retention::{Keep, Retention};
pub use schema::{MIGRATIONS, Migrated, Migration};
pub use session::connect;
pub use sql_market::{SqlMarket, SqlOptions};
pub use standing::{Epoch, Standing};
pub use stop::Stop;
pub use store::Store;
pub use url::{StoreUrl, Trust};
pub use verify::Verified;
pub use writer::Writer;
