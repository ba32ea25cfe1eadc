//! A naive exchange, obviously right: lists, linear scans, nothing clever. Its sources are docs/PROTOCOL.md and
//! docs/rules, and it is the oracle that tests compare the fast engine with. It shares the engine's words (amounts,
//! ids, commands, replies, events) and none of its code, and does not know how the engine keeps its books.

mod amending;
mod amending_terms;
mod auctions;
pub mod calendar;
mod closing;
mod deposits;
mod drawn_fees;
mod drawn_rules;
mod exchange;
mod fees;
mod funding;
mod groups;
mod icebergs;
mod instruments;
mod kills;
mod limits;
mod links;
mod mass_canceling;
mod matching;
mod moving;
mod pendings;
mod placing;
mod protections;
mod random;
mod replacement;
mod rounds;
mod self_trade;
mod shared_log;
mod told;
mod trailing;
mod triggering;
mod under_way;
mod view;
pub mod workload;

pub use auctions::Uncrossed;
pub use exchange::{Delay, Model, Order};
pub use told::{ReplyWithExecutions, completed};
pub use view::Level;
