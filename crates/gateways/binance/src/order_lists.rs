//! Looks up and cancels order lists: of two linked orders, and of a working order and those that pend on it. A list has
//! the number and the name of its first order, so the server keeps only that two orders were linked, and the working
//! order of a pending one.

use std::collections::{BTreeSet, HashMap};

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use exchange::Read;
use feed::{Direction, ReadModel, Walk};
use serde_json::{Value, json};
use terms::{AccountId, AccountIndex, ClientOrderId, Command, Op, OrderId, Symbol, Time};

use crate::cancel::{after_cancel, as_canceled};
use crate::find_order::{ask, find_order, of_account};
use crate::history::{Dated, PageRequest, TRADES, gather};
use crate::market::Answer;
use crate::order::Order;
use crate::parameters::Parameters;
use crate::place::client_order_id;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use crate::time_unit::TimeUnit;
use crate::{client_names, names};
use http_gateway::chunked_answer::{Frame, Piece, in_turn, past_in_turn};
use http_gateway::history_pages;
use http_gateway::history_port::Past;
use http_gateway::hub::Hub;

/// The parameters that name a list in look-ups and in cancels.
const LOOKED_UP: [&str; 2] = ["orderListId", "origClientOrderId"];
const CANCELED: [&str; 2] = ["orderListId", "listClientOrderId"];
/// Orders that are read between two turns of the feed.
const LOOKED_AT_ONCE: usize = 250;

/// An order of a list, as the list shows it.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    order: OrderId,
    name: Symbol,
    client_id: Option<ClientOrderId>,
}

impl Member {
    pub(crate) fn new(order: OrderId, name: Symbol, client_id: Option<ClientOrderId>) -> Member {
        Member { order, name, client_id }
    }

    pub(crate) fn of(order: &Order) -> Member {
        Member::new(order.id, order.name, order.client_id)
    }

    pub(crate) fn client_name(&self) -> String {
        client_names::name_of(self.order, self.client_id.as_ref())
    }

    pub(crate) fn pair(&self) -> String {
        names::pair(self.name)
    }

    pub(crate) fn order(&self) -> OrderId {
        self.order
    }
}

/// Returns the two statuses of a list.
pub(crate) fn list_status(is_done: bool) -> [&'static str; 2] {
    if is_done { ["ALL_DONE", "ALL_DONE"] } else { ["EXEC_STARTED", "EXECUTING"] }
}

/// The contingency of a list's orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contingency {
    /// One cancels the other.
    Oco,
    /// The others are placed when the first one is executed.
    Oto,
}

impl Contingency {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Contingency::Oco => "OCO",
            Contingency::Oto => "OTO",
        }
    }
}

/// Writes a list, its first order first.
pub(crate) fn list_shape(contingency: Contingency, members: &[Member], time: Value, is_done: bool) -> Value {
    let [status_type, order_status] = list_status(is_done);
    let first = members.first();
    let order = |member: &Member| json!({"symbol": member.pair(), "orderId": member.order.0, "clientOrderId": member.client_name()});
    json!({
        "orderListId": first.map(|first| first.order.0),
        "contingencyType": contingency.name(),
        "listStatusType": status_type,
        "listOrderStatus": order_status,
        "listClientOrderId": first.map(Member::client_name),
        "transactionTime": time,
        "symbol": first.map(Member::pair),
        "orders": members.iter().map(order).collect::<Vec<Value>>(),
    })
}

/// A list with its orders.
struct List(Contingency, Vec<Order>);

impl List {
    fn shape(&self, unit: TimeUnit) -> Value {
        let List(contingency, orders) = self;
        let time = orders[0].time.map_or(0, |time| unit.tell(time));
        list_shape(*contingency, &orders.iter().map(Member::of).collect::<Vec<Member>>(), json!(time), self.is_done())
    }

    /// Whether the list is final: no share of two linked orders is open, or no order pends on the first one.
    fn is_done(&self) -> bool {
        let List(contingency, orders) = self;
        match contingency {
            Contingency::Oco => orders.iter().all(|order| order.done.is_some()),
            Contingency::Oto => orders.iter().all(|order| order.pends_on.is_none()),
        }
    }
}

pub(crate) async fn one(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    asked.only_signed(&LOOKED_UP)?;
    let (_, list) = find(&app, account, &asked, LOOKED_UP).await?.ok_or_else(Refusal::no_such_order)?;
    Ok(Json(list.shape(asked.unit)))
}

pub(crate) async fn cancel(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    asked.only_signed(&[&["symbol", "newClientOrderId"][..], &CANCELED].concat())?;
    let cancel_name = asked.text("newClientOrderId").map(|id| client_order_id("newClientOrderId", id)).transpose()?;
    let pair = asked.needed("symbol")?.to_owned();
    app.ascertain().await?;
    let symbol = of_account(&app, account, move |model, _| {
        names::find(&model.view, &pair)
            .map(|symbol| model.view.listing(symbol).name)
            .ok_or_else(Refusal::unknown_symbol)
    });
    let symbol = symbol.await?;
    let found = find(&app, account, &asked, CANCELED).await?.filter(|(_, List(_, orders))| orders[0].name == symbol);
    let (ids, list) = found.filter(|(_, list)| !list.is_done()).ok_or_else(Refusal::unknown_to_cancel)?;
    let List(contingency, orders) = list;
    let Some(open) = orders.into_iter().find(|order| order.done.is_none()) else {
        return Err(Refusal::unknown_to_cancel());
    };
    let reply = ask(&app, Op::Command(Command::CancelOrder { account, order: open.id.into() })).await?;
    after_cancel(&app, open, reply).await??;
    let past = history_pages::orders(&app, None, ids).await.map_err(|_| Refusal::unknown_outcome())?;
    let shown = app.look(move |model| past.iter().map(|past| as_canceled(&model.view, past)).collect::<Vec<Order>>());
    let list = List(contingency, shown.await.map_err(|_| Refusal::unknown_outcome())?);
    if list.1.is_empty() {
        return Err(Refusal::unknown_outcome());
    }
    let mut shape = list.shape(asked.unit);
    let report = |order: &Order| {
        let name = cancel_name.map_or_else(|| order.client_name(), |name| name.to_string());
        order.canceled_shape_under(&name, asked.unit)
    };
    shape["orderReports"] = list.1.iter().map(report).collect();
    Ok(Json(shape))
}

/// Finds the list that a request names by its number, or by its name. Returns `None` if there is no such list.
async fn find(
    app: &BinanceState,
    account: AccountId,
    asked: &Parameters,
    by: [&str; 2],
) -> Result<Option<(Vec<OrderId>, List)>, Refusal> {
    let Some(order_ref) = find_order(app, account, asked, by).await? else { return Ok(None) };
    let owner = of_account(app, account, |_, account| Ok(account)).await?;
    let list =
        lists_of(app, owner, vec![order_ref.order]).await?.pop().filter(|List(_, orders)| order_ref.is(&orders[0]));
    if list.is_none() {
        // It is not known whether an order that is no longer kept began a list.
        history_pages::order(app, Some(owner), order_ref.order).await.map_err(Refusal::troubled)?;
    }
    Ok(list.map(|list| (list.1.iter().map(|order| order.id).collect(), list)))
}

/// Returns the lists of this account that begin with these orders.
async fn lists_of(app: &BinanceState, account: AccountIndex, firsts: Vec<OrderId>) -> Result<Vec<List>, Refusal> {
    let asked: BTreeSet<OrderId> = firsts.iter().flat_map(|first| all_of(*first)).collect();
    let found =
        history_pages::orders(app, Some(account), asked.into_iter().collect()).await.map_err(Refusal::troubled)?;
    let shown = app.look(move |model| {
        let orders = found.iter().map(|past| Order::of_past(&model.view, past));
        orders.map(|order| (order.id, order)).collect::<HashMap<_, _>>()
    });
    let orders = shown.await?;
    let list = |first: OrderId| {
        let others = || all_of(first).into_iter().skip(1).filter_map(|order| orders.get(&order));
        let begins = |contingency, others: Vec<&Order>| {
            let all = orders.get(&first).into_iter().chain(others).cloned().collect::<Vec<Order>>();
            (all.len() > 1).then_some(List(contingency, all))
        };
        let of_pair = |other: &&Order| {
            other.linked == Some(first) && orders.get(&first).is_some_and(|one| one.linked == Some(other.id))
        };
        begins(Contingency::Oto, others().filter(|order| order.pended == Some(first)).collect())
            .or_else(|| begins(Contingency::Oco, others().filter(of_pair).collect()))
    };
    Ok(firsts.into_iter().filter_map(list).collect())
}

/// Returns the orders that a list may have that begins with this one: they were placed together.
fn all_of(first: OrderId) -> [OrderId; 3] {
    [0, 1, 2].map(|behind| OrderId(first.0.saturating_add(behind)))
}

/// The start of a list, as one of its orders reveals it.
struct ListStart {
    first: OrderId,
    time: Time,
}

impl ListStart {
    /// Lists them, the newest first: orders that pend on another one may later be a list of their own.
    fn of(past: &Past) -> impl Iterator<Item = ListStart> {
        let (order, time) = (past.order.order, past.order.time);
        let pair = past.linked.filter(|partner| order < *partner).map(|_| order);
        // Of two orders that pend on one, the first reveals it.
        let tree = past.pended.filter(|working| working.0.checked_add(1) == Some(order.0));
        pair.into_iter().chain(tree).map(move |first| ListStart { first, time })
    }
}

impl Dated for ListStart {
    fn number(&self) -> u64 {
        self.first.0
    }

    fn time(&self) -> Time {
        self.time
    }
}

pub(crate) async fn all(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let id = asked.account(&app).await?;
    asked.only_signed(&["fromId", "startTime", "endTime", "limit"])?;
    let wanted = PageRequest::of(&asked, "fromId")?;
    let account = of_account(&app, id, |_, account| Ok(account)).await?;
    let from = &app;
    // A page of orders reveals the lists that begin in it.
    let firsts = gather(wanted, |before| async move {
        let page = history_pages::orders_of(from, account, None, before, TRADES.1).await?;
        Ok(page.map(|(orders, next)| (orders.iter().flat_map(ListStart::of).collect(), next)))
    });
    let firsts = firsts.await?.iter().map(|begun| begun.first).collect();
    let lists = lists_of(&app, account, firsts).await?;
    Ok(Json(lists.iter().map(|list| list.shape(asked.unit)).collect()))
}

/// Answers with the lists that have an open order. It streams the answer, because this protocol has no pages.
pub(crate) async fn open(State(app): State<BinanceState>, asked: Parameters) -> Result<Response, Refusal> {
    let id = asked.account(&app).await?;
    asked.only_signed(&[])?;
    let unit = asked.unit;
    let account = of_account(&app, id, |_, account| Ok(account)).await?;
    let walk = Walk::new(account, Direction::OldestFirst, None);
    app.answer((Frame::bare(), Read::Account(id)), walk, move |app, mut walk| async move {
        let looked = app.look(move |model| {
            let mut firsts = Vec::new();
            let more = walk.go_on(&model.view, |open| {
                firsts.extend(list_begun_by(model, open.order, open.linked));
                firsts.extend(Some(open.order).filter(|order| !model.view.pending_of(*order).is_empty()));
                firsts.len() < LOOKED_AT_ONCE
            });
            (firsts, more.then_some(walk))
        });
        let (firsts, next) = in_turn(&app, looked).await?;
        let mut lists = past_in_turn(&app, lists_of(&app, account, firsts)).await?;
        lists.sort_by_key(|List(_, orders)| orders[0].id);
        let lists: Vec<Value> = lists.iter().map(|list| list.shape(unit)).collect();
        Ok::<_, Refusal>(Piece::of(lists, next))
    })
    .await
}

/// Returns the first order of an open order's list, unless its partner is open and shows it.
fn list_begun_by(model: &ReadModel<Hub>, order: OrderId, linked: Option<OrderId>) -> Option<OrderId> {
    let partner = linked?;
    let is_shown = partner < order && model.view.open_order(partner).is_some();
    (!is_shown).then(|| order.min(partner))
}
