//! Orders: as they were placed, and with their whole history.

use feed::{EndedOrder, HistoryError, Open, PastOrder, ReadModel, View};
use serde::Serialize;
use terms::{
    CancelReason, ClientOrderId, Deadline, Money, NewOrder, OrderId, OrderKind, Price, Shares, Side, Time, Trail,
    Trigger,
};
use utoipa::ToSchema;

use crate::history_port::Past;
use crate::schema_values;

use super::side_name;

/// An accepted order, as it was placed: the same in each answer.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Placed)]
pub(crate) struct PlacedShape {
    #[schema(value_type = schema_values::Order)]
    pub(crate) order_id: u64,
    #[schema(value_type = Option<schema_values::ClientOrder>, required = true)]
    pub(crate) client_order_id: Option<String>,
    #[schema(value_type = schema_values::Account)]
    pub(crate) account: String,
    #[schema(value_type = schema_values::Symbol)]
    pub(crate) symbol: String,
    #[schema(value_type = schema_values::Side)]
    pub(crate) side: &'static str,
    #[schema(value_type = schema_values::OrderKind)]
    pub(crate) kind: &'static str,
    /// The limit; null for a market order.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    pub(crate) limit: Option<String>,
    /// The price that it waits for, or waited for, to limit a loss.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    pub(crate) stop: Option<String>,
    /// The price that it waits for, or waited for, to take a profit.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    pub(crate) take_profit: Option<String>,
    #[schema(value_type = schema_values::SelfTrade)]
    pub(crate) self_trade: &'static str,
    /// The time at which its open shares are canceled.
    #[schema(value_type = Option<schema_values::Time>, required = true)]
    pub(crate) until: Option<u64>,
    /// The number of shares that it shows at a time; absent for an order that shows all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema_values::Shares>)]
    pub(crate) display: Option<String>,
    /// The distance in dollars at which its trigger follows the market; absent for a trigger that stands still, or was
    /// reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema_values::Price>)]
    pub(crate) trail: Option<String>,
    /// The distance in hundredths of a per cent of the best price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trail_bips: Option<u16>,
    #[schema(value_type = schema_values::Shares)]
    pub(crate) shares: String,
}

impl PlacedShape {
    pub(crate) fn of(
        order: OrderId,
        client_order_id: Option<String>,
        account: String,
        placed: &NewOrder,
        until: Option<Deadline>,
    ) -> PlacedShape {
        let [stop, take_profit] = trigger_texts(placed.side, placed.trigger);
        PlacedShape {
            order_id: order.0,
            client_order_id,
            account,
            symbol: placed.symbol.to_string(),
            side: side_name(placed.side),
            kind: placed.kind.name(),
            limit: limit_text(placed.kind, placed.limit),
            stop,
            take_profit,
            self_trade: placed.self_trade.name(),
            until: micros(until),
            display: None,
            trail: None,
            trail_bips: None,
            shares: placed.shares.to_string(),
        }
    }
}

/// Writes a limit; `None` for a market order, also for one that gathers at the end of the price band.
pub(super) fn limit_text(kind: OrderKind, limit: Price) -> Option<String> {
    (!kind.is_market()).then(|| limit.to_string())
}

fn micros(until: Option<Deadline>) -> Option<u64> {
    until.map(|until| until.time().0)
}

/// Writes the price of a trigger in the field that an order of this side has it in: `stop` or `take_profit`.
pub(super) fn trigger_texts(side: Side, trigger: Option<Trigger>) -> [Option<String>; 2] {
    let price = trigger.map(|trigger| (trigger.is_stop_loss(side), trigger.price().to_string()));
    [true, false].map(|is_stop| price.clone().filter(|(stop, _)| *stop == is_stop).map(|(_, price)| price))
}

/// An order with its whole history.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[schema(as = Order)]
pub(crate) struct OrderShape {
    #[schema(value_type = schema_values::Order)]
    pub(crate) order_id: u64,
    #[schema(value_type = Option<schema_values::ClientOrder>, required = true)]
    client_order_id: Option<String>,
    #[schema(value_type = schema_values::Account)]
    account: String,
    #[schema(value_type = schema_values::Symbol)]
    symbol: String,
    #[schema(value_type = schema_values::Side)]
    side: &'static str,
    #[schema(value_type = schema_values::OrderKind)]
    kind: &'static str,
    /// The limit; null for a market order.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    limit: Option<String>,
    /// The price that it waits for, or waited for, to limit a loss.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    stop: Option<String>,
    /// The price that it waits for, or waited for, to take a profit.
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    take_profit: Option<String>,
    #[schema(value_type = schema_values::SelfTrade)]
    self_trade: &'static str,
    /// The order that it is, or was, linked with: what happens first to one of them cancels the other.
    #[schema(value_type = schema_values::Order)]
    #[serde(skip_serializing_if = "Option::is_none")]
    linked_with: Option<u64>,
    /// The working order that has to execute wholly before this one is placed; absent once it is placed. Until then it
    /// holds nothing and stands in no book.
    #[schema(value_type = schema_values::Order)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pends_on: Option<u64>,
    /// The time at which its open shares are canceled; null for an order that is done.
    #[schema(value_type = Option<schema_values::Time>, required = true)]
    until: Option<u64>,
    /// The number of shares that it shows at a time; absent for an order that shows all, or is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema_values::Shares>)]
    display: Option<String>,
    /// The open shares that it shows now; absent for an order that shows all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema_values::Shares>)]
    shown: Option<String>,
    /// The distance in dollars at which its trigger follows the market; absent for a trigger that stands still, or was
    /// reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema_values::Price>)]
    trail: Option<String>,
    /// The distance in hundredths of a per cent of the best price.
    #[serde(skip_serializing_if = "Option::is_none")]
    trail_bips: Option<u16>,
    /// Whether it still waits: it stands in no book.
    waits: bool,
    /// Whether it is under way, or waits behind an order that is. It stands in no book.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    delayed: bool,
    #[schema(value_type = schema_values::Shares)]
    shares: String,
    #[schema(value_type = schema_values::Shares)]
    open: String,
    #[schema(value_type = schema_values::Shares)]
    executed: String,
    #[schema(value_type = schema_values::Shares)]
    canceled: String,
    #[schema(value_type = schema_values::OrderStatus)]
    status: &'static str,
    /// The reason of the cancel; absent for an order that is not canceled, or was before reasons were kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<schema_values::CancelReason>)]
    canceled_why: Option<&'static str>,
    #[schema(value_type = Option<schema_values::Time>, required = true)]
    time: Option<u64>,
    /// The time at which it was triggered, if it waited for a price and that is known.
    #[schema(value_type = Option<schema_values::Time>, required = true)]
    triggered_time: Option<u64>,
    #[schema(value_type = Option<schema_values::Time>, required = true)]
    done_time: Option<u64>,
    #[schema(value_type = Option<schema_values::Price>, required = true)]
    average_price: Option<String>,
}

impl OrderShape {
    pub(crate) fn open(model: &ReadModel<impl Sized>, open: &Open) -> Result<OrderShape, HistoryError> {
        let (view, open) = (&model.view, model.as_placed(open)?);
        Ok(OrderShape::new(Names::of(view, &open), &open, view.client_id(open.order), None))
    }

    pub(crate) fn ended(model: &ReadModel<impl Sized>, ended: &EndedOrder) -> Result<OrderShape, HistoryError> {
        let order = model.as_placed(&ended.order)?;
        let end = End { canceled: ended.canceled, why: ended.why, time: ended.time };
        Ok(OrderShape::new(Names::of(&model.view, &order), &order, ended.client_id, Some(end)))
    }

    /// Makes an open order with all its fields.
    pub(crate) fn still_open(
        account: String,
        symbol: String,
        open: &Open,
        client_id: Option<ClientOrderId>,
    ) -> OrderShape {
        OrderShape::new(Names { account, symbol }, open, client_id, None)
    }

    /// Makes an order of the history.
    pub(crate) fn past(view: &View, past: &Past) -> OrderShape {
        let PastOrder { order, client_id, .. } = past.order;
        match (past.open, past.order.ended) {
            (Some(open), _) => {
                // A database does not have these.
                let (self_trade, standing) = (past.order.self_trade, view.open_order(order));
                let (waits, until) = standing.map_or((false, None), |standing| (standing.waits, standing.until));
                let delayed = standing.is_some_and(|standing| standing.delayed);
                let iceberg = standing.and_then(|standing| standing.iceberg);
                let trail = standing.and_then(|standing| standing.trail);
                // Its trigger may have moved since it was placed.
                let trigger = standing.and_then(|standing| standing.trigger).or(open.trigger);
                let pends_on = standing.and_then(|standing| standing.pends_on);
                // Only the state knows the partner of an order that was imported.
                let linked = open.linked.or(standing.and_then(|standing| standing.linked));
                OrderShape::new(
                    Names::of(view, &open),
                    &Open { waits, delayed, until, iceberg, trail, trigger, pends_on, self_trade, linked, ..open },
                    client_id,
                    None,
                )
            }
            (None, ended) => {
                let money = ended.map_or(Money::ZERO, |ended| ended.money);
                let done = Open {
                    triggered: past.triggered,
                    linked: past.linked,
                    ..Open::of_past(&past.order, Shares::ZERO, money)
                };
                let end = ended.map(|ended| End { canceled: ended.canceled, why: ended.why, time: ended.time });
                OrderShape::new(Names::of(view, &done), &done, client_id, end)
            }
        }
    }

    fn new(names: Names, order: &Open, client_id: Option<ClientOrderId>, end: Option<End>) -> OrderShape {
        let canceled = end.map_or(Shares::ZERO, |end| end.canceled);
        let done = end.map(|end| end.time);
        let executed = order.shares.less(order.open).less(canceled);
        let status = match (done, canceled.is_zero()) {
            (None, _) => "open",
            (Some(_), true) => "executed",
            (Some(_), false) => "canceled",
        };
        let [stop, take_profit] = trigger_texts(order.side, order.trigger);
        let iceberg = order.iceberg.filter(|_| done.is_none());
        let trail = order.trail.filter(|_| done.is_none());
        OrderShape {
            order_id: order.order.0,
            client_order_id: client_id.map(|id| id.to_string()),
            account: names.account,
            symbol: names.symbol,
            side: side_name(order.side),
            kind: order.kind.name(),
            limit: limit_text(order.kind, order.limit),
            stop,
            take_profit,
            self_trade: order.self_trade.name(),
            linked_with: order.linked.map(|partner| partner.0),
            pends_on: order.pends_on.filter(|_| done.is_none()).map(|working| working.0),
            until: micros(order.until.filter(|_| done.is_none())),
            display: iceberg.map(|iceberg| iceberg.display.to_string()),
            shown: iceberg.map(|iceberg| iceberg.shown.to_string()),
            trail: trail.and_then(Trail::distance).map(|distance| distance.to_string()),
            trail_bips: trail.and_then(Trail::bips),
            waits: order.waits && done.is_none(),
            delayed: order.delayed && done.is_none(),
            shares: order.shares.to_string(),
            open: order.open.to_string(),
            executed: executed.to_string(),
            canceled: canceled.to_string(),
            status,
            canceled_why: end.and_then(|end| end.why).map(CancelReason::name),
            time: order.placed_at().map(|time| time.0),
            triggered_time: order.triggered.map(|time| time.0),
            done_time: done.map(|time| time.0),
            average_price: average(order.money, executed),
        }
    }
}

/// The end of an order.
#[derive(Clone, Copy)]
struct End {
    /// The canceled shares.
    canceled: Shares,
    /// The reason of the cancel; none if nothing was canceled, or it is unknown.
    why: Option<CancelReason>,
    time: Time,
}

/// The names of an order's account and symbol.
struct Names {
    account: String,
    symbol: String,
}

impl Names {
    fn of(view: &View, order: &Open) -> Names {
        Names {
            account: view.account(order.account).id.to_string(),
            symbol: view.listing(order.symbol).name.to_string(),
        }
    }
}

/// Divides money by shares, rounded down to the decimals of a price; `None` without shares.
fn average(money: Money, shares: Shares) -> Option<String> {
    let average = money.units().checked_div(shares.units().into())?;
    i64::try_from(average).ok().and_then(Price::from_units).map(|price| price.to_string())
}
