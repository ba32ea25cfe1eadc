//! The port of the exchange: requests of any protocol, their answers, and measurements on the way.
//!
//! A gateway gathers ops into a [`Batch`], hands it to an [`Exchange`], and gets it back with one [`Answer`] for each
//! op. It asks for done orders, which the engine no longer keeps, with a [`Lookup`]. Followers of the market get its
//! events as an [`EventBatch`]. Nothing here knows a socket, a protocol, a file or how the exchange does its work.

mod account_set;
mod addresses;
mod amendment_request;
mod answer;
mod batch;
mod bound;
mod budget;
mod caller;
mod connections;
pub mod containment;
mod cost;
mod counters;
mod crowd;
mod day_orders;
mod deadline;
mod events;
mod gateway_metrics;
mod guarded;
mod histogram;
mod issue;
mod limits;
mod linked;
mod lookup;
mod member_kill;
mod metrics;
mod mode;
mod order_fault;
mod order_request;
mod outcome;
mod pending;
mod places;
mod principal;
mod protector;
mod refusals;
mod replacement;
mod requests;
mod role;
mod runs;
mod source;
mod status;
#[cfg(test)]
mod test_answers;
mod trade;
mod trade_reader;
mod turned_away;

pub use account_set::AccountSet;
pub use addresses::{Addresses, source_of};
pub use amendment_request::{AmendmentRequest, AmendmentRequestFault};
pub use answer::{Answer, Unavailable};
pub use batch::{Batch, Exchange, Times};
pub use bound::Bound;
pub use budget::{AccountRange, Budget};
pub use caller::{Caller, Protocol, Session};
pub use connections::{Connected, Connections};
pub use cost::{LIGHT_COST, MASS_COST, cost, cost_of};
pub use counters::Counters;
pub use day_orders::without_day_end;
pub use deadline::{DEADLINE_MAX, deadline_at};
pub use events::{EventBatch, EventFollower, EventFork, EventQueue, EventSink, Lag};
pub use gateway_metrics::{GatewayMetrics, UnsentBytes};
pub use guarded::Guarded;
pub use histogram::Reading;
pub use issue::{Issue, IssuedBefore};
pub use limits::{Limit, Limits};
pub use linked::{PairFault, PlacedPair, Which, linked, placed_pair};
pub use lookup::{LookedUp, LookedUpOrder, Lookup, OrderAnswer, Wanted};
pub use member_kill::{
    KILLED_AT_ONCE_MAX, KILLED_TOGETHER_MAX, KillRoom, KilledTogether, NotKilled, killed_together, member_kill,
};
pub use metrics::{Gauge, Metrics, Stage};
pub use mode::{Mode, ModeSwitch};
pub use order_fault::OrderFault;
pub use order_request::{OrderRequest, OrderType, PostOnly, TimeInForce};
pub use outcome::{Kind, Outcome};
pub use pending::{PendingFault, PlacedTree, pending, placed_tree};
pub use places::{GAVE_WAY, LEAVING_MAX, Newcomers, NoPlace, Place, PlaceCounts, PlaceHandle, Places, Ticket};
pub use principal::{Denial, Principal, Read, Rights};
pub use protector::{PROTECTED_ACCOUNTS_MAX, ProtectorId};
pub use replacement::{OnFailure, keep_unless_placed, replacement};
pub use requests::Requests;
pub use role::{Role, Roles};
pub use source::Source;
pub use status::{State, Status};
pub use trade::Trade;
pub use trade_reader::TradeReader;
pub use turned_away::TurnedAway;
