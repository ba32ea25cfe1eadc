//! Orders: looking them up, canceling them, and how they are shown.

use std::collections::VecDeque;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use engine::{
    AccountId, AccountIndex, ClientOrderId, Command, Money, Op, OrderId, OrderKind, Price, Query, Reply, Shares, Side,
    Symbol, Time, Trigger,
};
use exchange::Answer as Answered;
use feed::{Open, ReadModel, View};
use serde_json::{Value, json};

use super::cancel_restriction::CancelRestriction;
use super::client_names::Named;
use super::history::{Wanted, gather};
use super::market::Answer;
use super::parameters::Parameters;
use super::refusal::Refusal;
use super::time_unit::TimeUnit;
use super::{client_names, names, numbers};
use crate::hub::Hub;
use crate::open_orders::{self, Direction, Stopped, Walk};
use crate::past::{self, Trouble};
use crate::pieces::{self, Frame, Piece};
use crate::records::Past;
use crate::site::Site;

/// Orders that are shown between two turns of the feed.
const SHOWN_AT_ONCE: usize = 250;

/// An order with all that became of it.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) id: OrderId,
    pub(super) name: Symbol,
    pub(super) client_id: Option<ClientOrderId>,
    pub(super) side: Side,
    pub(super) limit: Price,
    pub(super) shares: Shares,
    pub(super) kind: OrderKind,
    /// What it waits for, or waited for.
    pub(super) trigger: Option<Trigger>,
    pub(super) waits: bool,
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
    fn of_open(scene: &ReadModel<Hub>, open: &Open) -> Result<Order, Refusal> {
        let open = scene.as_placed(open).map_err(Refusal::unreadable)?;
        Ok(Order::of(&scene.view, &open, scene.view.client_id(open.order)))
    }

    /// One of the history.
    fn of_past(view: &View, past: &Past) -> Order {
        let Past { order: past, open } = past;
        if let Some(open) = open {
            let open = Order::of(view, open, past.client_id);
            let waits = view.open_order(past.order).is_some_and(|open| open.waits);
            return Order { time: Some(past.time), waits, ..open };
        }
        let canceled = past.ended.map_or(Shares::ZERO, |ended| ended.canceled);
        Order {
            id: past.order,
            name: view.listing(past.symbol).name,
            client_id: past.client_id,
            side: past.side,
            limit: past.limit,
            shares: past.shares,
            kind: past.kind,
            trigger: past.trigger,
            waits: false,
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
            kind: open.kind,
            trigger: open.trigger,
            waits: open.waits,
            executed: open.shares.less(open.open),
            canceled: Shares::ZERO,
            money: Some(open.money),
            time: open.placed_at(),
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
            (false, _) if self.expired() => "EXPIRED",
            (false, _) => "CANCELED",
            (true, executed) if executed == self.shares => "FILLED",
            (true, Shares::ZERO) => "NEW",
            (true, _) => "PARTIALLY_FILLED",
        }
    }

    /// Whether the order itself ended what was canceled of it, and not its owner. Of one that waited for a price and executed nothing
    /// nobody knows that when it is done.
    pub(super) fn expired(&self) -> bool {
        !self.kind.rests() && !self.waits && (self.trigger.is_none() || !self.executed.is_zero())
    }

    /// Zero for one that waits for no price.
    pub(super) fn stop_price_text(&self) -> String {
        numbers::price_or_zero(self.trigger.map(Trigger::price))
    }

    pub(super) fn type_name(&self) -> &'static str {
        type_name(self.kind, self.side, self.trigger)
    }

    /// Zero for a market order.
    pub(super) fn price_text(&self) -> String {
        price_text(self.kind, self.limit)
    }

    pub(super) fn side_name(&self) -> &'static str {
        side_name(self.side)
    }

    /// What these clients call it.
    pub(super) fn client_name(&self) -> String {
        client_names::name_of(self.id, self.client_id.as_ref())
    }

    /// Below zero, which these clients know as not available, where nobody knows.
    pub(super) fn money_text(&self) -> String {
        self.money.map_or_else(|| "-1.00000000".to_owned(), numbers::money)
    }

    fn shape(&self, unit: TimeUnit) -> Value {
        let time = self.time.map_or(0, |time| unit.tell(time));
        json!({
            "symbol": names::pair(self.name),
            "orderId": self.id.0,
            "orderListId": -1,
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
            "icebergQty": numbers::zero(),
            "time": time,
            "updateTime": self.done.map_or(time, |done| unit.tell(done)),
            "isWorking": !self.waits,
            // Of one that waited nobody knows when it was triggered.
            "workingTime": if self.trigger.is_some() { json!(-1) } else { json!(time) },
            "selfTradePreventionMode": "NONE",
        })
    }

    pub(super) fn canceled_shape(&self, unit: TimeUnit) -> Value {
        self.canceled_shape_under(&self.client_name(), unit)
    }

    /// The same, where its client gave the cancel a name of its own.
    pub(super) fn canceled_shape_under(&self, cancel_name: &str, unit: TimeUnit) -> Value {
        json!({
            "symbol": names::pair(self.name),
            "origClientOrderId": self.client_name(),
            "orderId": self.id.0,
            "orderListId": -1,
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
            "selfTradePreventionMode": "NONE",
        })
    }
}

/// A limit; zero for a market order, which has none.
pub(super) fn price_text(kind: OrderKind, limit: Price) -> String {
    if kind == OrderKind::Market { numbers::zero().to_owned() } else { numbers::price(limit) }
}

pub(super) fn type_name(kind: OrderKind, side: Side, trigger: Option<Trigger>) -> &'static str {
    if let Some(trigger) = trigger {
        return match (trigger.is_stop_loss(side), kind == OrderKind::Market) {
            (true, true) => "STOP_LOSS",
            (true, false) => "STOP_LOSS_LIMIT",
            (false, true) => "TAKE_PROFIT",
            (false, false) => "TAKE_PROFIT_LIMIT",
        };
    }
    match kind {
        OrderKind::Limit | OrderKind::ImmediateOrCancel | OrderKind::FillOrKill => "LIMIT",
        OrderKind::PostOnly => "LIMIT_MAKER",
        OrderKind::Market => "MARKET",
    }
}

pub(super) fn time_in_force(kind: OrderKind) -> &'static str {
    match kind {
        OrderKind::Limit | OrderKind::PostOnly | OrderKind::Market => "GTC",
        OrderKind::ImmediateOrCancel => "IOC",
        OrderKind::FillOrKill => "FOK",
    }
}

pub(super) fn side_name(side: Side) -> &'static str {
    match side {
        Side::Buy => "BUY",
        Side::Sell => "SELL",
    }
}

pub(super) async fn one(State(site): State<Site>, asked: Parameters) -> Answer {
    let account = asked.account(&site)?;
    asked.only_signed(&["symbol", "orderId", "origClientOrderId"])?;
    let pair = asked.needed("symbol")?.to_owned();
    let meant = meant(&site, account, &asked, BY_NUMBER_OR_NAME).await?.ok_or_else(Refusal::no_such_order)?;
    let order = meant.order;
    let (symbol, account, open) = of_account(&site, account, move |scene, account| {
        let symbol = names::find(&scene.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        let open = scene.view.open_order(order).filter(|open| open.account == account && open.symbol == symbol);
        Ok((symbol, account, open.map(|open| Order::of_open(scene, &open)).transpose()?))
    })
    .await?;
    let shown = match open {
        Some(open) => open,
        None => {
            let found = past::orders(&site, vec![order]).await.map_err(Refusal::troubled)?;
            let past = found.into_iter().find(|past| past.order.account == account && past.order.symbol == symbol);
            let past = past.ok_or_else(Refusal::no_such_order)?;
            site.look(move |scene| Order::of_past(&scene.view, &past)).await?
        }
    };
    let shown = Some(shown).filter(|order| meant.is(order)).ok_or_else(Refusal::no_such_order)?;
    Ok(Json(shown.shape(asked.unit)))
}

/// Oldest first, as many as there are: in pieces, for this protocol has no pages.
pub(super) async fn open(State(site): State<Site>, asked: Parameters) -> Result<Response, Refusal> {
    let account = asked.account(&site)?;
    asked.only_signed(&["symbol"])?;
    let (pair, unit) = (asked.text("symbol").map(str::to_owned), asked.unit);
    let (account, symbol) = of_account(&site, account, move |scene, account| {
        let find = |pair: String| names::find(&scene.view, &pair).ok_or_else(Refusal::unknown_symbol);
        Ok((account, pair.map(find).transpose()?))
    })
    .await?;
    let walk = Walk::new(account, Direction::OldestFirst, None);
    pieces::answer(&site, Frame::bare(), walk, move |site, mut walk| async move {
        let looked = site.look(move |scene| {
            let mut found = Vec::new();
            let more = walk.go_on(&scene.view, |open| {
                if symbol.is_none_or(|symbol| open.symbol == symbol) {
                    found.push(Order::of_open(scene, open));
                }
                found.len() < SHOWN_AT_ONCE
            });
            (found.into_iter().collect::<Result<Vec<Order>, Refusal>>(), more.then_some(walk))
        });
        let (orders, next) = looked.await?;
        Ok(Piece::of(orders?.iter().map(|order| order.shape(unit)), next))
    })
    .await
}

pub(super) async fn all(State(site): State<Site>, asked: Parameters) -> Answer {
    let account = asked.account(&site)?;
    asked.only_signed(&["symbol", "orderId", "startTime", "endTime", "limit"])?;
    let (pair, wanted) = (asked.needed("symbol")?.to_owned(), Wanted::of(&asked, "orderId")?);
    let (symbol, account) = of_account(&site, account, move |scene, account| {
        let symbol = names::find(&scene.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        Ok((symbol, account))
    })
    .await?;
    let from = &site;
    let orders =
        gather(wanted, |before| past::orders_of(from, account, Some(symbol), before, super::history::TRADES.1));
    let orders = orders.await?;
    let shown = site.look(move |scene| {
        let orders: Vec<Order> = orders.iter().map(|past| Order::of_past(&scene.view, past)).collect();
        orders
    });
    Ok(Json(shown.await?.iter().map(|order| order.shape(asked.unit)).collect()))
}

pub(super) async fn cancel(State(site): State<Site>, asked: Parameters) -> Answer {
    let account = asked.account(&site)?;
    asked.only_signed(&["symbol", "orderId", "origClientOrderId", "cancelRestrictions"])?;
    let (pair, restriction) = (asked.needed("symbol")?.to_owned(), CancelRestriction::read(&asked)?);
    site.ascertain().await?;
    let meant = meant(&site, account, &asked, BY_NUMBER_OR_NAME).await?.ok_or_else(Refusal::unknown_to_cancel)?;
    let open = cancelable(&site, account, meant, pair, restriction).await??;
    let reply = ask(&site, Op::Command(Command::CancelOrder { account, order: open.id.into() })).await?;
    Ok(Json(after_cancel(&site, open, reply).await??.canceled_shape(asked.unit)))
}

/// The order if it is open and may be canceled, or why a cancel of it is refused. Errors: there is no such symbol.
pub(super) async fn cancelable(
    site: &Site,
    account: AccountId,
    meant: Meant,
    pair: String,
    restriction: Option<CancelRestriction>,
) -> Result<Result<Order, Refusal>, Refusal> {
    let open = of_account(site, account, move |scene, account| {
        let symbol = names::find(&scene.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        let its = scene.view.open_order(meant.order).filter(|open| open.account == account && open.symbol == symbol);
        its.map(|open| Order::of_open(scene, &open)).transpose()
    });
    Ok(match open.await?.filter(|order| meant.is(order)) {
        // One that is not open any more cannot be canceled, whatever became of it.
        None => Err(Refusal::unknown_to_cancel()),
        Some(open) if restriction.is_some_and(|restriction| restriction.forbids(open.executed)) => {
            Err(CancelRestriction::refusal())
        }
        Some(open) => Ok(open),
    })
}

/// Cancels what is open when it is asked; an order that is executed meanwhile is not among the canceled.
pub(super) async fn cancel_open(State(site): State<Site>, asked: Parameters) -> Result<Response, Refusal> {
    let id = asked.account(&site)?;
    asked.only_signed(&["symbol"])?;
    let (pair, unit) = (asked.needed("symbol")?.to_owned(), asked.unit);
    site.ascertain().await?;
    let (account, symbol) = of_account(&site, id, move |scene, account| {
        Ok((account, names::find(&scene.view, &pair).ok_or_else(Refusal::unknown_symbol)?))
    })
    .await?;
    let walk = Walk::new(account, Direction::NewestFirst, None);
    let canceled = open_orders::cancel(&site, id, walk, Some(symbol)).await.map_err(|stopped| match stopped {
        Stopped::Unknown => Refusal::unknown_outcome(),
        Stopped::Unavailable(why) => Refusal::unavailable(why),
        Stopped::NotReady(problem) => Refusal::from(problem),
    })?;
    if canceled.is_empty() {
        return Err(Refusal::unknown_to_cancel());
    }
    // All is canceled by now; how it ended is told as fast as the client takes it.
    pieces::answer(&site, Frame::bare(), canceled, move |site, mut canceled: VecDeque<OrderId>| async move {
        let some = past::orders(&site, open_orders::take_some(&mut canceled)).await;
        let some = some.map_err(|trouble| match trouble {
            Trouble::Away | Trouble::NotReady => Refusal::unknown_outcome(),
            Trouble::Unreadable(_) => Refusal::troubled(trouble),
        })?;
        let orders = site
            .look(move |scene| -> Vec<Order> { some.iter().map(|past| Order::of_past(&scene.view, past)).collect() });
        let shapes = orders.await?;
        Ok(Piece::of(
            shapes.iter().map(|order| order.canceled_shape(unit)),
            Some(canceled).filter(|left| !left.is_empty()),
        ))
    })
    .await
}

/// The order as it ended, or why it could not be canceled.
pub(super) async fn after_cancel(site: &Site, open: Order, reply: Reply) -> Result<Result<Order, Refusal>, Refusal> {
    let canceled = match reply {
        Reply::Canceled(status) => status.canceled,
        Reply::Rejected(_) | Reply::Done(_) => None,
        Reply::Created | Reply::Opened(_) | Reply::Repeated(_) | Reply::Activated | Reply::Status(_) => {
            return Err(Refusal::internal());
        }
    };
    let Some(cancellation) = canceled else { return Ok(Err(Refusal::unknown_to_cancel())) };
    // The history knows what was paid until the end. It is canceled whether it answers or not.
    let ended = past::orders(site, vec![open.id]).await.unwrap_or_default();
    let shown = site.look(move |scene| match ended.first() {
        Some(past) => Order::of_past(&scene.view, past),
        None => open.after_cancel(cancellation.shares, cancellation.time),
    });
    Ok(Ok(shown.await?))
}

/// The parameters by which most requests name an order.
const BY_NUMBER_OR_NAME: [&str; 2] = ["orderId", "origClientOrderId"];

/// The order that a request means.
#[derive(Clone, Copy)]
pub(super) struct Meant {
    order: OrderId,
    /// It is meant by the name that an order has whose client gave it none.
    by_made_name: bool,
}

impl Meant {
    /// Whether this order, which has the number, is meant.
    fn is(self, order: &Order) -> bool {
        !self.by_made_name || order.client_id.is_none()
    }
}

/// The order that a request names by its number, or by what it is called: the two parameters. None if the client calls none so.
pub(super) async fn meant(
    site: &Site,
    account: AccountId,
    asked: &Parameters,
    [number, name]: [&str; 2],
) -> Result<Option<Meant>, Refusal> {
    let by_number = |order| Ok(Some(Meant { order, by_made_name: false }));
    if let Some(order) = asked.number(number)? {
        return by_number(OrderId(order));
    }
    let Some(text) = asked.text(name) else {
        let msg = format!("Param '{name}' or '{number}' must be sent, but both were empty/null!");
        return Err(Refusal::new(-1102, msg));
    };
    let id = match client_names::read(text) {
        Some(Named::Own(id)) => id,
        Some(Named::Made(order)) => return Ok(Some(Meant { order, by_made_name: true })),
        None => return Ok(None),
    };
    match ask(site, Op::Query(Query { account, order: id.into() })).await? {
        Reply::Status(status) => by_number(status.order),
        Reply::Done(order) => by_number(order),
        Reply::Rejected(_) => Ok(None),
        Reply::Created | Reply::Opened(_) | Reply::Repeated(_) | Reply::Activated | Reply::Canceled(_) => {
            Err(Refusal::internal())
        }
    }
}

/// Has one op done.
pub(super) async fn ask(site: &Site, op: Op) -> Result<Reply, Refusal> {
    let [answer] = ask_all(site, [op]).await?;
    answer
}

/// Has several done, with nothing in between.
pub(super) async fn ask_all<const N: usize>(site: &Site, ops: [Op; N]) -> Result<[Result<Reply, Refusal>; N], Refusal> {
    let answers = site.submitter()?.ask(&ops).await.map_err(|_| Refusal::unknown_outcome())?;
    let answers: [Answered; N] = answers.try_into().map_err(|_| Refusal::unknown_outcome())?;
    Ok(answers.map(|answer| match answer {
        Answered::Reply(reply) => Ok(reply),
        Answered::Unavailable(why) => Err(Refusal::unavailable(why)),
    }))
}

/// What `show` makes of the account that a request comes from.
pub(super) async fn of_account<T: Send + 'static>(
    site: &Site,
    account: AccountId,
    show: impl FnOnce(&mut ReadModel<Hub>, AccountIndex) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let shown = site.look(move |scene| match scene.view.find_account(account) {
        Some(account) => show(scene, account),
        None => Err(Refusal::of(&engine::Reject::UnknownAccount)),
    });
    shown.await?
}
