//! Orders: looking them up, canceling them, and how they are shown.

use axum::Json;
use axum::extract::State;
use engine::{
    AccountId, AccountIndex, ClientOrderId, ClientQuery, Command, Money, Op, OrderId, Price, Reply, Shares, Side,
    Symbol, Time,
};
use feed::{Open, Scene, View};
use serde_json::{Value, json};
use wire::Answer as Answered;

use super::asked::Asked;
use super::history::{Wanted, gather};
use super::market::Answer;
use super::refusal::Refusal;
use super::{names, numbers};
use crate::hub::Hub;
use crate::past::{self, Past};
use crate::shapes::placed_at;
use crate::site::Site;

/// Commands of one request that stand in one line without others between.
const CANCELED_AT_ONCE: usize = 500;

/// An order with all that became of it.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) id: OrderId,
    pub(super) name: Symbol,
    pub(super) client_id: Option<ClientOrderId>,
    pub(super) side: Side,
    pub(super) limit: Price,
    pub(super) shares: Shares,
    pub(super) executed: Shares,
    pub(super) canceled: Shares,
    /// What was paid for those that are executed; none where nobody knows.
    pub(super) money: Option<Money>,
    /// When it was placed, and when it was done; none where it is open, or nobody knows.
    pub(super) time: Option<Time>,
    pub(super) done: Option<Time>,
}

impl Order {
    /// One that is open.
    fn of_open(scene: &Scene<Hub>, open: &Open) -> Result<Order, Refusal> {
        let time = placed_at(scene.history.as_ref(), open).map_err(Refusal::unreadable)?.map(Time);
        Ok(Order { time, ..Order::of(&scene.view, open, scene.view.client_id(open.order)) })
    }

    /// One of the history.
    fn of_past(view: &View, past: &Past) -> Order {
        let Past { order: past, open } = past;
        if let Some(open) = open {
            return Order { time: Some(past.time), ..Order::of(view, open, past.client_id) };
        }
        let canceled = past.ended.map_or(Shares::ZERO, |ended| ended.canceled);
        Order {
            id: past.order,
            name: view.listing(past.symbol).name,
            client_id: past.client_id,
            side: past.side,
            limit: past.limit,
            shares: past.shares,
            executed: past.shares.less(canceled),
            canceled,
            money: past.ended.map(|ended| ended.money),
            time: Some(past.time),
            done: past.ended.map(|ended| ended.time),
        }
    }

    /// As the view has it.
    pub(super) fn of(view: &View, open: &Open, client_id: Option<ClientOrderId>) -> Order {
        Order {
            id: open.order,
            name: view.listing(open.symbol).name,
            client_id,
            side: open.side,
            limit: open.limit,
            shares: open.shares,
            executed: open.shares.less(open.open),
            canceled: Shares::ZERO,
            money: Some(open.money),
            time: Some(open.time).filter(|time| *time != Time::ZERO),
            done: None,
        }
    }

    /// Shares of it were canceled, and nothing is open any more.
    fn after_cancel(self, canceled: Shares, time: Time) -> Order {
        let executed = self.shares.less(canceled);
        // It may have executed until it was canceled: for what is known only by who keeps a history.
        let money = self.money.filter(|_| executed == self.executed);
        Order { executed, canceled, money, done: Some(time), ..self }
    }

    pub(super) fn status(&self) -> &'static str {
        match (self.canceled.is_zero(), self.executed) {
            (false, _) => "CANCELED",
            (true, executed) if executed == self.shares => "FILLED",
            (true, Shares::ZERO) => "NEW",
            (true, _) => "PARTIALLY_FILLED",
        }
    }

    pub(super) fn side_name(&self) -> &'static str {
        side_name(self.side)
    }

    /// What its client calls it, or nothing.
    pub(super) fn client_name(&self) -> &str {
        self.client_id.as_ref().map_or("", ClientOrderId::as_str)
    }

    /// Below zero, which these clients know as not available, where nobody knows.
    pub(super) fn money_text(&self) -> String {
        self.money.map_or_else(|| "-1.00000000".to_owned(), numbers::money)
    }

    fn shape(&self) -> Value {
        let time = self.time.map_or(0, numbers::milliseconds);
        json!({
            "symbol": names::pair(self.name),
            "orderId": self.id.0,
            "orderListId": -1,
            "clientOrderId": self.client_name(),
            "price": numbers::price(self.limit),
            "origQty": numbers::shares(self.shares),
            "executedQty": numbers::shares(self.executed),
            "origQuoteOrderQty": numbers::zero(),
            "cummulativeQuoteQty": self.money_text(),
            "status": self.status(),
            "timeInForce": "GTC",
            "type": "LIMIT",
            "side": self.side_name(),
            "stopPrice": numbers::zero(),
            "icebergQty": numbers::zero(),
            "time": time,
            "updateTime": self.done.map_or(time, numbers::milliseconds),
            "isWorking": true,
            "workingTime": time,
            "selfTradePreventionMode": "NONE",
        })
    }

    fn canceled_shape(&self) -> Value {
        json!({
            "symbol": names::pair(self.name),
            "origClientOrderId": self.client_name(),
            "orderId": self.id.0,
            "orderListId": -1,
            "clientOrderId": self.client_name(),
            "transactTime": self.done.map_or(0, numbers::milliseconds),
            "price": numbers::price(self.limit),
            "origQty": numbers::shares(self.shares),
            "executedQty": numbers::shares(self.executed),
            "origQuoteOrderQty": numbers::zero(),
            "cummulativeQuoteQty": self.money_text(),
            "status": self.status(),
            "timeInForce": "GTC",
            "type": "LIMIT",
            "side": self.side_name(),
            "selfTradePreventionMode": "NONE",
        })
    }
}

pub(super) fn side_name(side: Side) -> &'static str {
    match side {
        Side::Buy => "BUY",
        Side::Sell => "SELL",
    }
}

pub(super) async fn one(State(site): State<Site>, asked: Asked) -> Answer {
    let account = asked.account(&site)?;
    let pair = asked.needed("symbol")?.to_owned();
    let order = named(&site, account, &asked).await?.ok_or_else(Refusal::no_such_order)?;
    let (symbol, account, open) = of_account(&site, account, move |scene, account| {
        let symbol = names::find(&scene.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        let open = scene.view.open_order(order).filter(|open| open.account == account && open.symbol == symbol);
        Ok((symbol, account, open.map(|open| Order::of_open(scene, open)).transpose()?))
    })
    .await?;
    if let Some(open) = open {
        return Ok(Json(open.shape()));
    }
    let found = past::orders(&site, vec![order]).await.map_err(Refusal::troubled)?;
    let past = found.into_iter().find(|past| past.order.account == account && past.order.symbol == symbol);
    let past = past.ok_or_else(Refusal::no_such_order)?;
    Ok(Json(site.look(move |scene| Order::of_past(&scene.view, &past)).await?.shape()))
}

pub(super) async fn open(State(site): State<Site>, asked: Asked) -> Answer {
    let account = asked.account(&site)?;
    let pair = asked.text("symbol").map(str::to_owned);
    let shown = of_account(&site, account, move |scene, account| {
        let view = &scene.view;
        let symbol = pair.map(|pair| names::find(view, &pair).ok_or_else(Refusal::unknown_symbol)).transpose()?;
        let wanted = view.orders_of(account).filter(|open| symbol.is_none_or(|symbol| open.symbol == symbol));
        wanted.map(|open| Order::of_open(scene, open)).collect::<Result<Vec<_>, _>>()
    });
    // They came newest first.
    Ok(Json(shown.await?.iter().rev().map(Order::shape).collect()))
}

pub(super) async fn all(State(site): State<Site>, asked: Asked) -> Answer {
    let account = asked.account(&site)?;
    let (pair, wanted) = (asked.needed("symbol")?.to_owned(), Wanted::of(&asked, "orderId")?);
    let (symbol, account) = of_account(&site, account, move |scene, account| {
        let symbol = names::find(&scene.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        Ok((symbol, account))
    })
    .await?;
    let from = &site;
    let orders = gather(wanted, |before| async move {
        let page = past::orders_of(from, account, Some(symbol), before, super::market::TRADES.1).await;
        page.map_err(Refusal::troubled)?.ok_or_else(Refusal::internal)
    });
    let orders = orders.await?;
    let shown = site.look(move |scene| {
        let orders: Vec<Order> = orders.iter().map(|past| Order::of_past(&scene.view, past)).collect();
        orders
    });
    Ok(Json(shown.await?.iter().map(Order::shape).collect()))
}

pub(super) async fn cancel(State(site): State<Site>, asked: Asked) -> Answer {
    let account = asked.account(&site)?;
    let pair = asked.needed("symbol")?.to_owned();
    site.ascertain().await?;
    let order = named(&site, account, &asked).await?.ok_or_else(Refusal::unknown_to_cancel)?;
    let open = of_account(&site, account, move |scene, account| {
        let symbol = names::find(&scene.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        let its = scene.view.open_order(order).filter(|open| open.account == account && open.symbol == symbol);
        its.map(|open| Order::of_open(scene, open)).transpose()
    });
    // One that is not open any more cannot be canceled, whatever became of it.
    let open = open.await?.ok_or_else(Refusal::unknown_to_cancel)?;
    let canceled = cancel_these(&site, account, vec![open]).await?;
    canceled.first().map(|order| Json(order.canceled_shape())).ok_or_else(Refusal::unknown_to_cancel)
}

/// Cancels what is open when it is asked; an order that is executed meanwhile is not among the canceled.
pub(super) async fn cancel_open(State(site): State<Site>, asked: Asked) -> Answer {
    let account = asked.account(&site)?;
    let pair = asked.needed("symbol")?.to_owned();
    site.ascertain().await?;
    let open = of_account(&site, account, move |scene, account| {
        let symbol = names::find(&scene.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        let its = scene.view.orders_of(account).filter(|open| open.symbol == symbol);
        its.map(|open| Order::of_open(scene, open)).collect::<Result<Vec<_>, _>>()
    });
    let canceled = cancel_these(&site, account, open.await?).await?;
    match canceled.is_empty() {
        true => Err(Refusal::unknown_to_cancel()),
        false => Ok(Json(canceled.iter().map(Order::canceled_shape).collect())),
    }
}

/// Gives those that were canceled, as they ended.
async fn cancel_these(site: &Site, account: AccountId, open: Vec<Order>) -> Result<Vec<Order>, Refusal> {
    let mut canceled = Vec::new();
    for some in open.chunks(CANCELED_AT_ONCE) {
        let ops: Vec<Op> =
            some.iter().map(|order| Op::Command(Command::CancelOrder { account, order: order.id })).collect();
        let answers = site.desk()?.ask(&ops).await.map_err(|_| Refusal::unknown_outcome())?;
        for (order, answer) in some.iter().zip(answers) {
            match answer {
                Answered::Reply(Reply::Canceled(status)) => {
                    if let Some(cancellation) = status.canceled {
                        canceled.push(order.clone().after_cancel(cancellation.shares, cancellation.time));
                    }
                }
                Answered::Unavailable(why) if canceled.is_empty() => return Err(Refusal::unavailable(why)),
                Answered::Reply(_) | Answered::Unavailable(_) => {}
            }
        }
    }
    // The history knows what was paid until the end. They are canceled whether it answers or not.
    let ended = past::orders(site, canceled.iter().map(|order| order.id).collect()).await.unwrap_or_default();
    let shown = site.look(move |scene| {
        let as_it_ended = |order: Order| match ended.iter().find(|past| past.order.order == order.id) {
            Some(past) => Order::of_past(&scene.view, past),
            None => order,
        };
        canceled.into_iter().map(as_it_ended).collect::<Vec<_>>()
    });
    Ok(shown.await?)
}

/// The order that a request names by its number, or by what its client calls it. None if the client calls none so.
async fn named(site: &Site, account: AccountId, asked: &Asked) -> Result<Option<OrderId>, Refusal> {
    if let Some(order) = asked.number("orderId")? {
        return Ok(Some(OrderId(order)));
    }
    let Some(name) = asked.text("origClientOrderId") else {
        let msg = "Param 'origClientOrderId' or 'orderId' must be sent, but both were empty/null!";
        return Err(Refusal::new(-1102, msg));
    };
    // What cannot be such an id is the id of no order.
    let Ok(id) = ClientOrderId::parse(name.as_bytes()) else { return Ok(None) };
    match ask(site, Op::ClientQuery(ClientQuery { account, id })).await? {
        Reply::Status(status) => Ok(Some(status.order)),
        Reply::Archived(order) => Ok(Some(order)),
        Reply::Rejected(_) => Ok(None),
        Reply::Created | Reply::Opened(_) | Reply::Repeated(_) | Reply::Canceled(_) => Err(Refusal::internal()),
    }
}

/// Has one op done.
pub(super) async fn ask(site: &Site, op: Op) -> Result<Reply, Refusal> {
    let answers = site.desk()?.ask(&[op]).await.map_err(|_| Refusal::unknown_outcome())?;
    match answers.into_iter().next() {
        Some(Answered::Reply(reply)) => Ok(reply),
        Some(Answered::Unavailable(why)) => Err(Refusal::unavailable(why)),
        None => Err(Refusal::unknown_outcome()),
    }
}

/// What `show` makes of the account that a request comes from.
pub(super) async fn of_account<T: Send + 'static>(
    site: &Site,
    account: AccountId,
    show: impl FnOnce(&mut Scene<Hub>, AccountIndex) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let shown = site.look(move |scene| match scene.view.find_account(account) {
        Some(account) => show(scene, account),
        None => Err(Refusal::of(&engine::Reject::UnknownAccount)),
    });
    shown.await?
}
