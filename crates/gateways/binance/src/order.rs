//! An order with its whole history, and its shapes for these clients.

use feed::{Ending, Open, PastOrder, ReadModel, View};
use serde_json::{Value, json};
use terms::{
    CancelReason, ClientOrderId, Money, OrderId, OrderKind, Price, SelfTrade, Shares, Side, Symbol, Time, Trail,
    Trigger,
};

use crate::refusal::Refusal;
use crate::time_unit::TimeUnit;
use crate::{client_names, names, numbers, self_trade, trailing};
use http_gateway::history_port::Past;
use http_gateway::hub::Hub;

/// An order with its whole history.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) id: OrderId,
    pub(crate) name: Symbol,
    pub(crate) client_id: Option<ClientOrderId>,
    pub(crate) side: Side,
    pub(crate) limit: Price,
    pub(crate) shares: Shares,
    pub(crate) kind: OrderKind,
    /// The trigger for which it waits or waited.
    pub(crate) trigger: Option<Trigger>,
    /// The distance at which its trigger follows the market, until it is reached.
    pub(crate) trail: Option<Trail>,
    pub(crate) waits: bool,
    /// The time at which it was triggered; `None` where that is not known.
    pub(crate) triggered: Option<Time>,
    /// The working order that has to execute before this one is placed; `None` once it is placed.
    pub(crate) pends_on: Option<OrderId>,
    /// Whether other orders pend on this one.
    pub(crate) has_pending: bool,
    /// The order that it is linked with; `None` without one, or where that is not known.
    pub(crate) linked: Option<OrderId>,
    /// The working order on which it pends or pended; `None` where that is not known, and for an open order without a
    /// look into the history.
    pub(crate) pended: Option<OrderId>,
    pub(crate) self_trade: SelfTrade,
    /// Its display; `None` for an order that shows all, or is done.
    pub(crate) display: Option<Shares>,
    pub(crate) executed: Shares,
    /// The reason why shares were canceled; `None` where none were.
    pub(crate) why: Option<CancelReason>,
    /// The money paid for the executed shares; `None` where that is not known.
    pub(crate) money: Option<Money>,
    /// The times at which it was placed and done; `None` where it is open, or the time is not known.
    pub(crate) time: Option<Time>,
    pub(crate) done: Option<Time>,
}

impl Order {
    /// Makes an open order.
    pub(crate) fn of_open(model: &ReadModel<Hub>, open: &Open) -> Result<Order, Refusal> {
        let open = model.as_placed(open).map_err(Refusal::unreadable)?;
        Ok(Order::of(&model.view, &open, model.view.client_id(open.order)))
    }

    /// Makes an order of the history.
    pub(crate) fn of_past(view: &View, past: &Past) -> Order {
        let Past { order: past, open, triggered, linked, pended } = past;
        if let Some(open) = open {
            let open = Order::of(view, open, past.client_id);
            let standing = view.open_order(past.order);
            let waits = standing.is_some_and(|open| open.waits);
            let display = standing.and_then(|open| open.iceberg).map(|iceberg| iceberg.display);
            let pends_on = standing.and_then(|open| open.pends_on);
            // Only the state knows the list of orders that were imported.
            let linked = linked.or(standing.and_then(|open| open.linked));
            // Its trigger may have moved since it was placed.
            let trigger = standing.and_then(|open| open.trigger).or(open.trigger);
            let trail = standing.and_then(|open| open.trail);
            return Order {
                time: Some(past.time),
                waits,
                trigger,
                trail,
                display,
                pends_on,
                triggered: *triggered,
                linked,
                pended: *pended,
                ..open
            };
        }
        let canceled = past.ended.map_or(Shares::ZERO, |ended| ended.canceled);
        Order {
            id: past.order,
            name: view.listing(past.symbol).name,
            client_id: past.client_id,
            side: past.side,
            limit: past.limit,
            shares: past.shares_now(),
            kind: past.kind,
            trigger: past.trigger,
            trail: None,
            waits: false,
            triggered: *triggered,
            pends_on: None,
            has_pending: false,
            linked: *linked,
            pended: *pended,
            self_trade: past.self_trade,
            display: None,
            executed: past.shares_now().less(canceled),
            why: past.ended.as_ref().and_then(|ended| why_canceled(past, ended)),
            money: past.ended.map(|ended| ended.money),
            time: Some(past.time),
            done: past.ended.map(|ended| ended.time),
        }
    }

    /// Makes an order as the view has it.
    pub(crate) fn of(view: &View, open: &Open, client_id: Option<ClientOrderId>) -> Order {
        Order {
            id: open.order,
            name: view.listing(open.symbol).name,
            client_id,
            side: open.side,
            limit: open.limit,
            shares: open.shares,
            kind: open.kind,
            trigger: open.trigger,
            trail: open.trail,
            waits: open.waits,
            triggered: open.triggered,
            pends_on: open.pends_on,
            has_pending: !view.pending_of(open.order).is_empty(),
            linked: open.linked,
            pended: open.pends_on,
            self_trade: open.self_trade,
            display: open.iceberg.map(|iceberg| iceberg.display),
            executed: open.shares.less(open.open),
            why: None,
            money: Some(open.money),
            time: open.placed_at(),
            done: None,
        }
    }

    /// Returns the order after its owner canceled this many shares, so that nothing is open.
    pub(crate) fn after_cancel(self, canceled: Shares, time: Time) -> Order {
        let executed = self.shares.less(canceled);
        // It may have executed until it was canceled: then only the history knows the money.
        let money = self.money.filter(|_| executed == self.executed);
        Order { executed, money, done: Some(time), why: Some(CancelReason::Asked), ..self }
    }

    pub(crate) fn status(&self) -> &'static str {
        match (self.why, self.executed) {
            (Some(why), _) => canceled_status(why),
            (None, _) if self.pends_on.is_some() => "PENDING_NEW",
            (None, executed) if executed == self.shares => "FILLED",
            (None, Shares::ZERO) => "NEW",
            (None, _) => "PARTIALLY_FILLED",
        }
    }

    /// Returns the time from which it stands or stood in a book: when it was placed or triggered. `None` where it
    /// waits, or the time is not known.
    pub(crate) fn working_since(&self) -> Option<Time> {
        if self.pends_on.is_some() {
            return None;
        }
        if self.trigger.is_some() { self.triggered } else { self.time }
    }

    /// Returns the first order of its list. `None` where it is in no list, or that is not known.
    pub(crate) fn list(&self) -> Option<OrderId> {
        let of_tree = self.pends_on.or(self.has_pending.then_some(self.id));
        of_tree.or(self.linked.map(|partner| partner.min(self.id)))
    }

    /// Returns the list's number; below zero where it is in no list.
    pub(crate) fn list_number(&self) -> Value {
        self.list().map_or_else(|| json!(-1), |list| json!(list.0))
    }

    pub(crate) fn mode_name(&self) -> &'static str {
        self_trade::name(self.self_trade)
    }

    /// Writes the trigger price; zero for an order without one.
    pub(crate) fn stop_price_text(&self) -> String {
        numbers::price_or_zero(self.trigger.map(Trigger::price))
    }

    /// Writes the display; zero for an order that shows all its shares.
    pub(crate) fn display_text(&self) -> String {
        self.display.map_or_else(|| numbers::zero().to_owned(), numbers::shares)
    }

    pub(crate) fn type_name(&self) -> &'static str {
        type_name(self.kind, self.side, self.trigger)
    }

    /// Writes the limit; zero for a market order.
    pub(crate) fn price_text(&self) -> String {
        price_text(self.kind, self.limit)
    }

    pub(crate) fn side_name(&self) -> &'static str {
        side_name(self.side)
    }

    /// Returns its name for these clients.
    pub(crate) fn client_name(&self) -> String {
        client_names::name_of(self.id, self.client_id.as_ref())
    }

    /// Writes the money paid; below zero, which these clients know as not available, where it is not known.
    pub(crate) fn money_text(&self) -> String {
        self.money.map_or_else(|| "-1.00000000".to_owned(), numbers::money)
    }

    /// Returns the shares that self-trade prevention canceled.
    pub(crate) fn prevented(&self) -> Option<Shares> {
        (self.why == Some(CancelReason::SelfTrade)).then(|| self.shares.less(self.executed))
    }

    pub(crate) fn shape(&self, unit: TimeUnit) -> Value {
        let time = self.time.map_or(0, |time| unit.tell(time));
        let mut told = json!({
            "symbol": names::pair(self.name),
            "orderId": self.id.0,
            "orderListId": self.list_number(),
            "clientOrderId": self.client_name(),
            "price": self.price_text(),
            "origQty": numbers::shares(self.shares),
            "executedQty": numbers::shares(self.executed),
            "origQuoteOrderQty": numbers::zero(),
            "cummulativeQuoteQty": self.money_text(),
            "status": self.status(),
            "timeInForce": time_in_force(self.kind),
            "type": self.type_name(),
            "side": self.side_name(),
            "stopPrice": self.stop_price_text(),
            "icebergQty": self.display_text(),
            "time": time,
            "updateTime": self.done.map_or(time, |done| unit.tell(done)),
            "isWorking": !self.waits && self.pends_on.is_none(),
            "workingTime": match (self.trigger, self.working_since()) {
                (_, Some(since)) => json!(unit.tell(since)),
                (Some(_), None) => json!(-1),
                (None, None) if self.pends_on.is_some() => json!(-1),
                (None, None) => json!(time),
            },
            "selfTradePreventionMode": self.mode_name(),
        });
        if let Some(prevented) = self.prevented() {
            told["preventedQuantity"] = numbers::shares(prevented).into();
        }
        trailing::tell(&mut told, trailing::DELTA, self.trail);
        told
    }

    pub(crate) fn canceled_shape(&self, unit: TimeUnit) -> Value {
        self.canceled_shape_under(&self.client_name(), unit)
    }

    /// Writes the canceled order, where its client gave the cancel a name of its own.
    pub(crate) fn canceled_shape_under(&self, cancel_name: &str, unit: TimeUnit) -> Value {
        json!({
            "symbol": names::pair(self.name),
            "origClientOrderId": self.client_name(),
            "orderId": self.id.0,
            "orderListId": self.list_number(),
            "clientOrderId": cancel_name,
            "transactTime": self.done.map_or(0, |done| unit.tell(done)),
            "price": self.price_text(),
            "origQty": numbers::shares(self.shares),
            "executedQty": numbers::shares(self.executed),
            "origQuoteOrderQty": numbers::zero(),
            "cummulativeQuoteQty": self.money_text(),
            "status": self.status(),
            "timeInForce": time_in_force(self.kind),
            "type": self.type_name(),
            "side": self.side_name(),
            "stopPrice": self.stop_price_text(),
            "selfTradePreventionMode": self.mode_name(),
        })
    }
}

/// Returns the status of an order whose remaining shares were canceled for this reason.
pub(crate) fn canceled_status(why: CancelReason) -> &'static str {
    match why {
        CancelReason::Asked => "CANCELED",
        CancelReason::NotResting
        | CancelReason::Refused
        | CancelReason::Expired
        | CancelReason::Linked
        | CancelReason::NotPlaced
        | CancelReason::Disconnected => "EXPIRED",
        CancelReason::SelfTrade => "EXPIRED_IN_MATCH",
    }
}

/// Returns why the remaining shares of a past order were canceled; `None` where none were. Records from before reasons
/// were kept have none: then it follows from the order's kind, except that such a record does not say whether a waiting
/// order without executions was triggered.
pub(crate) fn why_canceled(past: &PastOrder, ended: &Ending) -> Option<CancelReason> {
    if ended.canceled.is_zero() {
        return None;
    }
    let arrived = past.trigger.is_none() || past.shares != ended.canceled;
    let likely = if !past.kind.rests() && arrived { CancelReason::NotResting } else { CancelReason::Asked };
    Some(ended.why.unwrap_or(likely))
}

/// Writes a limit; zero for a market order, which has none.
pub(crate) fn price_text(kind: OrderKind, limit: Price) -> String {
    if kind.is_market() { numbers::zero().to_owned() } else { numbers::price(limit) }
}

pub(crate) fn type_name(kind: OrderKind, side: Side, trigger: Option<Trigger>) -> &'static str {
    if let Some(trigger) = trigger {
        return match (trigger.is_stop_loss(side), kind == OrderKind::Market) {
            (true, true) => "STOP_LOSS",
            (true, false) => "STOP_LOSS_LIMIT",
            (false, true) => "TAKE_PROFIT",
            (false, false) => "TAKE_PROFIT_LIMIT",
        };
    }
    match kind {
        OrderKind::Limit | OrderKind::ImmediateOrCancel | OrderKind::FillOrKill | OrderKind::AuctionLimit => "LIMIT",
        OrderKind::PostOnly | OrderKind::PostOnlyMove => "LIMIT_MAKER",
        OrderKind::Market | OrderKind::AuctionMarket => "MARKET",
    }
}

pub(crate) fn time_in_force(kind: OrderKind) -> &'static str {
    match kind {
        OrderKind::Limit | OrderKind::PostOnly | OrderKind::PostOnlyMove | OrderKind::Market => "GTC",
        // The compatible interface has no name for it.
        OrderKind::AuctionLimit | OrderKind::AuctionMarket => "GTC",
        OrderKind::ImmediateOrCancel => "IOC",
        OrderKind::FillOrKill => "FOK",
    }
}

pub(crate) fn side_name(side: Side) -> &'static str {
    match side {
        Side::Buy => "BUY",
        Side::Sell => "SELL",
    }
}
