//! The market as a pure, single-threaded, deterministic state machine.
//!
//! Commands go in with their sequence and time; replies and events come out. There is no I/O, clock, randomness, thread
//! or float here, and no code depends on the order of a hash table: the same commands give the same replies, events and
//! state hash on every machine. The crate knows nothing of sockets, XML, files or databases.

mod account_limits;
mod account_orders;
mod accounts;
mod ahead;
mod amending;
mod amount;
mod auctions;
mod book;
mod calendar;
mod cancel_bounds;
mod canceling;
mod charge;
mod charging;
mod client_orders;
mod command;
mod counting;
mod deadlines;
mod engine;
mod event;
mod executed;
mod execution_bounds;
mod export;
mod fee;
mod fee_schedule;
mod fees;
mod funding;
mod grouping;
mod groups;
mod hiding;
mod icebergs;
mod id_index;
mod ids;
mod import;
mod instruments;
mod invariants;
mod killing;
mod kills;
mod limited;
mod limiting;
mod linking;
mod links;
mod manner;
mod mass_canceling;
mod matching;
mod moving;
mod obeying;
mod orders;
mod past_limit;
mod pending;
mod pendings;
mod phase;
mod protecting;
mod protections;
mod reject;
mod reply;
mod rounds;
mod rules;
mod self_trade;
mod shared_log;
mod slab;
mod state;
mod stops;
mod taking;
mod trail;
mod trailing;
mod triggering;
mod turnover;
mod uncross;
mod under_way;

pub use account_limits::{AccountLimit, AccountLimits};
pub use amount::{
    AmountError, DOLLAR, Decimal, DecimalText, MONEY_DECIMALS, Money, Position, Price, SHARE_DECIMALS, Shares,
};
pub use cancel_bounds::{CANCELS_MAX, CancelBounds};
pub use client_orders::CLIENT_ORDER_ID_KEPT_US;
pub use command::{
    CancelReason, Command, Entry, FundsOrder, Manner, NewOrder, Op, OrderKind, OrderName, Query, SelfTrade, Side,
    Trigger,
};
pub use engine::{AHEAD, DoneOrders, Engine};
pub use event::Event;
pub use executed::{EXECUTIONS_KEPT, Executed, Execution};
pub use execution_bounds::{EXECUTIONS_MAX, ExecutionBounds};
pub use export::StateHash;
pub use fee::{Fee, Taken};
pub use fee_schedule::FeeSchedule;
pub use fees::{FeeRate, Fees, Tier, TierError};
pub use groups::{Group, GroupError, Groups};
pub use icebergs::{ICEBERG_PARTS_MAX, Iceberg, least_display};
pub use id_index::IdIndex;
pub use ids::{
    AccountId, AccountIndex, CLIENT_ORDER_ID_BYTES_MAX, ClientOrderId, Deadline, IdError, NAME_BYTES_MAX, OrderId,
    Sequence, Symbol, SymbolIndex, Time,
};
pub use import::{ImportError, Importer};
pub use kills::{KillScope, Kills};
pub use manner::IcebergOrder;
pub use past_limit::PastLimit;
pub use phase::{Pause, Phase, SymbolPhase};
pub use protections::{Grace, GraceError, Protections};
pub use reject::{OrderDifference, Reject};
pub use reply::{Cancellation, DoneOrder, OpenTerms, Reply, Status};
pub use rules::{BrokenRule, Distance, Rule, RulesFault, RulesPart, SymbolRules};
pub use shared_log::{LogMessage, NodeId, SharedLog};
pub use slab::{NONE as NO_SLOT, Slab};
pub use state::StateItem;
pub use trail::{TRAIL_BIPS_MAX, TRAILING_MAX, Trail, TrailingOrder};
pub use turnover::Turnover;
pub use uncross::{AuctionPrice, auction_price};
