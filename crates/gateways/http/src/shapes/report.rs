//! Reports of an account: each says one thing that happened to an order.

use feed::{AmendedTerms, Noted, Report, View};
use serde::Serialize;
use terms::{CancelReason, Side};
use utoipa::ToSchema;

use crate::schema_values;

use super::fees::paid;
use super::order::{limit_text, trigger_texts};
use super::side_name;
use super::trade::role;

/// An event of an order.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(tag = "report", rename_all = "lowercase")]
#[schema(as = Report)]
pub(crate) enum ReportShape {
    Placed(PlacedReport),
    Executed(ExecutedReport),
    Triggered(TriggeredReport),
    Linked(LinkedReport),
    Amended(AmendedReport),
    Pending(PendingReport),
    Released(ReleasedReport),
    Canceled(CanceledReport),
}

/// An order was placed.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct PlacedReport {
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    #[schema(value_type = schema_values::Time)]
    time: u64,
    #[schema(value_type = schema_values::Order)]
    order_id: u64,
    #[schema(value_type = Option<schema_values::ClientOrder>, required = true)]
    client_order_id: Option<String>,
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Side)]
    side: &'static str,
    #[schema(value_type = schema_values::OrderKind)]
    kind: &'static str,
    /// The limit; null for a market order.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    limit: Option<String>,
    /// The price that it waits for to limit a loss.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    stop: Option<String>,
    /// The price that it waits for to take a profit.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    take_profit: Option<String>,
    #[schema(value_type = schema_values::Shares)]
    shares: String,
}

/// Shares of an order were executed.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ExecutedReport {
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    #[schema(value_type = schema_values::Time)]
    time: u64,
    #[schema(value_type = schema_values::Order)]
    order_id: u64,
    #[schema(value_type = schema_values::Trade)]
    trade_id: u64,
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Side)]
    side: &'static str,
    #[schema(value_type = schema_values::Role)]
    role: &'static str,
    #[schema(value_type = schema_values::Price)]
    price: String,
    #[schema(value_type = schema_values::Shares)]
    shares: String,
    /// The fee that it paid for this execution, if any.
    #[schema(value_type = Option<schema_values::Money>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    fee: Option<String>,
    #[schema(value_type = Option<schema_values::FeeOf>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    fee_of: Option<&'static str>,
}

/// An order was triggered: an execution reached its trigger price, and it is active from now on.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct TriggeredReport {
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    #[schema(value_type = schema_values::Time)]
    time: u64,
    #[schema(value_type = schema_values::Order)]
    order_id: u64,
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Side)]
    side: &'static str,
    /// The price that it waited for to limit a loss.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    stop: Option<String>,
    /// The price that it waited for to take a profit.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    take_profit: Option<String>,
}

/// An order was linked with another one, which has a report of its own: what happens first to one of them cancels the
/// other.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct LinkedReport {
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    #[schema(value_type = schema_values::Time)]
    time: u64,
    #[schema(value_type = schema_values::Order)]
    order_id: u64,
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Side)]
    side: &'static str,
    #[schema(value_type = schema_values::Order)]
    linked_with: u64,
}

/// Shares were taken off an order, which keeps its place, or it got other terms.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct AmendedReport {
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    #[schema(value_type = schema_values::Time)]
    time: u64,
    #[schema(value_type = schema_values::Order)]
    order_id: u64,
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Side)]
    side: &'static str,
    /// The number of shares that it had before, executed ones included.
    #[schema(value_type = schema_values::Shares)]
    shares_before: String,
    /// The number of shares that it has from then on.
    #[schema(value_type = schema_values::Shares)]
    shares: String,
    #[schema(value_type = schema_values::CancelReason)]
    why: &'static str,
    /// The terms that it has from then on; absent if only its shares became fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    terms: Option<AmendedTermsShape>,
}

/// The terms of an order from an amendment on, besides its shares.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = AmendedTerms)]
pub(crate) struct AmendedTermsShape {
    #[schema(value_type = schema_values::OrderKind)]
    kind: &'static str,
    /// The limit; null for a market order.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    limit: Option<String>,
    /// The price that it waits for to limit a loss.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    stop: Option<String>,
    /// The price that it waits for to take a profit.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    take_profit: Option<String>,
    /// Whether it kept its place among the others of its price.
    keeps_place: bool,
}

impl AmendedTermsShape {
    fn of(side: Side, terms: &AmendedTerms) -> AmendedTermsShape {
        let [stop, take_profit] = trigger_texts(side, terms.trigger);
        AmendedTermsShape {
            kind: terms.kind.name(),
            limit: limit_text(terms.kind, terms.limit),
            stop,
            take_profit,
            keeps_place: terms.keeps_place,
        }
    }
}

/// An order was accepted that waits until another one is executed wholly.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct PendingReport {
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    #[schema(value_type = schema_values::Time)]
    time: u64,
    #[schema(value_type = schema_values::Order)]
    order_id: u64,
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Side)]
    side: &'static str,
    #[schema(value_type = schema_values::Order)]
    pends_on: u64,
}

/// A pending order was placed: its working order was executed wholly.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct ReleasedReport {
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    #[schema(value_type = schema_values::Time)]
    time: u64,
    #[schema(value_type = schema_values::Order)]
    order_id: u64,
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Side)]
    side: &'static str,
}

/// The open shares of an order were canceled.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub(crate) struct CanceledReport {
    #[schema(value_type = schema_values::Sequence)]
    sequence: u64,
    #[schema(value_type = schema_values::Time)]
    time: u64,
    #[schema(value_type = schema_values::Order)]
    order_id: u64,
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Side)]
    side: &'static str,
    #[schema(value_type = schema_values::Shares)]
    shares: String,
    /// The reason; null where it was not kept.
    #[schema(value_type = Option<schema_values::CancelReason>, required = true)]
    why: Option<&'static str>,
}

impl ReportShape {
    pub(crate) fn of(view: &View, report: &Report) -> ReportShape {
        let name = |symbol| view.listing(symbol).name.to_string();
        match report {
            Report::Placed(order) => {
                let [stop, take_profit] = trigger_texts(order.side, order.trigger);
                ReportShape::Placed(PlacedReport {
                    sequence: order.sequence.0,
                    time: order.time.0,
                    order_id: order.order.0,
                    client_order_id: order.client_id.map(|id| id.to_string()),
                    symbol: name(order.symbol),
                    side: side_name(order.side),
                    kind: order.kind.name(),
                    limit: limit_text(order.kind, order.limit),
                    stop,
                    take_profit,
                    shares: order.shares.to_string(),
                })
            }
            Report::Executed(trade, side) => {
                let (fee, fee_of) = paid(trade.fee(*side), trade.price, trade.shares);
                ReportShape::Executed(ExecutedReport {
                    sequence: trade.sequence.0,
                    time: trade.time.0,
                    order_id: trade.order(*side).0,
                    trade_id: trade.id,
                    symbol: name(trade.symbol),
                    side: side_name(*side),
                    role: role(trade, *side),
                    price: trade.price.to_string(),
                    shares: trade.shares.to_string(),
                    fee,
                    fee_of,
                })
            }
            Report::Noted(note) => match note.what {
                Noted::Triggered(trigger) => {
                    let [stop, take_profit] = trigger_texts(note.side, Some(trigger));
                    ReportShape::Triggered(TriggeredReport {
                        sequence: note.sequence.0,
                        time: note.time.0,
                        order_id: note.order.0,
                        symbol: name(note.symbol),
                        side: side_name(note.side),
                        stop,
                        take_profit,
                    })
                }
                Noted::Linked(partner) => ReportShape::Linked(LinkedReport {
                    sequence: note.sequence.0,
                    time: note.time.0,
                    order_id: note.order.0,
                    symbol: name(note.symbol),
                    side: side_name(note.side),
                    linked_with: partner.0,
                }),
                Noted::Pends(working) => ReportShape::Pending(PendingReport {
                    sequence: note.sequence.0,
                    time: note.time.0,
                    order_id: note.order.0,
                    symbol: name(note.symbol),
                    side: side_name(note.side),
                    pends_on: working.0,
                }),
                Noted::Released => ReportShape::Released(ReleasedReport {
                    sequence: note.sequence.0,
                    time: note.time.0,
                    order_id: note.order.0,
                    symbol: name(note.symbol),
                    side: side_name(note.side),
                }),
            },
            Report::Amended(amended) => ReportShape::Amended(AmendedReport {
                sequence: amended.sequence.0,
                time: amended.time.0,
                order_id: amended.order.0,
                symbol: name(amended.symbol),
                side: side_name(amended.side),
                shares_before: amended.before.to_string(),
                shares: amended.after.to_string(),
                why: amended.why.name(),
                terms: amended.terms.map(|terms| AmendedTermsShape::of(amended.side, &terms)),
            }),
            Report::Canceled(canceled) => ReportShape::Canceled(CanceledReport {
                sequence: canceled.sequence.0,
                time: canceled.time.0,
                order_id: canceled.order.0,
                symbol: name(canceled.symbol),
                side: side_name(canceled.side),
                shares: canceled.shares.to_string(),
                why: canceled.why.map(CancelReason::name),
            }),
        }
    }
}
