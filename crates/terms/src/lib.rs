//! Words of the market: amounts, ids, commands, events, replies, refusals, rules, fees, phases and limits.
//!
//! They are values, and what follows from a value alone. The crate has no market: it knows neither books nor balances,
//! and depends on no other crate. The engine applies commands to its state; all others speak of the market in these
//! words, and need no engine for it.

mod account_limits;
mod amendment;
mod amount;
mod band;
mod cancel_bounds;
mod command;
mod command_facts;
mod distance;
mod event;
mod executed;
mod execution_bounds;
mod fee;
mod fee_schedule;
mod fees;
mod groups;
mod iceberg;
mod ids;
mod kills;
mod log_message;
mod order;
mod past_limit;
mod phase;
mod place;
mod protections;
mod reject;
mod reply;
mod rule_checks;
mod rule_numbers;
mod rules;
mod state;
mod trail;
mod transfers;
mod triggers_left;
mod turnover;
mod uncross;

pub use account_limits::{AccountLimit, AccountLimits};
pub use amendment::{AmendFault, Amendment, Change, TimeInForce, WaitsFor};
pub use amount::{
    AmountError, DOLLAR, Decimal, DecimalText, MONEY_DECIMALS, Money, Position, Price, SHARE_DECIMALS, Shares,
};
pub use band::{BandReferences, price_range};
pub use cancel_bounds::{CANCELS_MAX, CancelBounds};
pub use command::{Command, Entry, Op, Query};
pub use command_facts::CommandKind;
pub use distance::Distance;
pub use event::Event;
pub use executed::{EXECUTIONS_KEPT, Executed, Execution};
pub use execution_bounds::{EXECUTIONS_MAX, ExecutionBounds};
pub use fee::{Fee, Taken};
pub use fee_schedule::FeeSchedule;
pub use fees::{FeeRate, Fees, Tier, TierError};
pub use groups::{Group, GroupError, Groups};
pub use iceberg::{ICEBERG_PARTS_MAX, Iceberg, least_display};
pub use ids::{
    AccountId, AccountIndex, CLIENT_ORDER_ID_BYTES_MAX, CLIENT_ORDER_ID_KEPT_US, ClientOrderId, Deadline, IdError,
    NAME_BYTES_MAX, OrderId, Sequence, Symbol, SymbolIndex, Time,
};
pub use kills::{Among, KillScope, Kills};
pub use log_message::{LogMessage, NodeId};
pub use order::{CancelReason, FundsOrder, NewOrder, OrderKind, OrderName, SelfTrade, Side, Trigger};
pub use past_limit::PastLimit;
pub use phase::{Pause, Phase, SymbolPhase};
pub use place::{Bond, OrderForm, Place};
pub use protections::{Grace, GraceError, Protections};
pub use reject::{OrderDifference, Reject};
pub use reply::{Cancellation, DoneOrder, OpenTerms, Reply, Status};
pub use rules::{BrokenRule, Rule, RulesFault, RulesPart, SymbolRules};
pub use state::{MarketState, StateItem};
pub use trail::{TRAIL_BIPS_MAX, TRAILING_MAX, TRAILING_OF_ACCOUNT_MAX, Trail};
pub use transfers::{AccountStatus, AccountStatuses, AccountUse, Assets, TransferNumber, TransferNumberError};
pub use triggers_left::TriggersLeft;
pub use turnover::Turnover;
pub use uncross::{AuctionLevel, AuctionPrice, AuctionTerms, AuctionTies, auction_price};
