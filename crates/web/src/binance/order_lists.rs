//! Order lists of two orders of which one cancels the other, and of one and those that wait until it is executed: looking them up and
//! canceling them. A list has the number and the name of its first order, so nobody has to keep more of it than that two were linked, and
//! what an open order waits for.

use std::collections::HashMap;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use engine::{AccountId, AccountIndex, ClientOrderId, Command, Op, OrderId, Symbol};
use feed::ReadModel;
use serde_json::{Value, json};

use super::cancel::{after_cancel, as_canceled};
use super::history::{TRADES, Wanted, gather};
use super::market::Answer;
use super::meant::{ask, meant, of_account};
use super::order::Order;
use super::parameters::Parameters;
use super::place::client_order_id;
use super::refusal::Refusal;
use super::time_unit::TimeUnit;
use super::{client_names, names};
use crate::hub::Hub;
use crate::open_orders::{Direction, Walk};
use crate::past;
use crate::pieces::{self, Frame, Piece};
use crate::records::Past;
use crate::site::Site;

/// The parameters by which a list is named where it is looked up, and where it is canceled.
const LOOKED_UP: [&str; 2] = ["orderListId", "origClientOrderId"];
const CANCELED: [&str; 2] = ["orderListId", "listClientOrderId"];
/// Orders that are looked at between two turns of the feed.
const LOOKED_AT_ONCE: usize = 250;

/// An order of a list, as the list shows it.
#[derive(Clone, Debug)]
pub(super) struct Member {
    order: OrderId,
    name: Symbol,
    client_id: Option<ClientOrderId>,
}

impl Member {
    pub(super) fn new(order: OrderId, name: Symbol, client_id: Option<ClientOrderId>) -> Member {
        Member { order, name, client_id }
    }

    pub(super) fn of(order: &Order) -> Member {
        Member::new(order.id, order.name, order.client_id)
    }

    pub(super) fn client_name(&self) -> String {
        client_names::name_of(self.order, self.client_id.as_ref())
    }

    pub(super) fn pair(&self) -> String {
        names::pair(self.name)
    }

    pub(super) fn order(&self) -> OrderId {
        self.order
    }
}

/// What a list is called whose orders are done, or not.
pub(super) fn list_status(is_done: bool) -> [&'static str; 2] {
    if is_done { ["ALL_DONE", "ALL_DONE"] } else { ["EXEC_STARTED", "EXECUTING"] }
}

/// What the orders of a list have to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contingency {
    /// One cancels the other.
    Oco,
    /// The others are placed when the first one is executed.
    Oto,
}

impl Contingency {
    pub(super) fn name(self) -> &'static str {
        match self {
            Contingency::Oco => "OCO",
            Contingency::Oto => "OTO",
        }
    }
}

/// A list, its first order first.
pub(super) fn list_shape(contingency: Contingency, members: &[Member], time: Value, is_done: bool) -> Value {
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

/// A list with all that is known of its orders.
struct List(Contingency, Vec<Order>);

impl List {
    fn shape(&self, unit: TimeUnit) -> Value {
        let List(contingency, orders) = self;
        let time = orders[0].time.map_or(0, |time| unit.tell(time));
        let is_done = orders.iter().all(|order| order.done.is_some());
        list_shape(*contingency, &orders.iter().map(Member::of).collect::<Vec<Member>>(), json!(time), is_done)
    }
}

pub(super) async fn one(State(site): State<Site>, asked: Parameters) -> Answer {
    let account = asked.account(&site)?;
    asked.only_signed(&LOOKED_UP)?;
    let (_, list) = find(&site, account, &asked, LOOKED_UP).await?.ok_or_else(Refusal::no_such_order)?;
    Ok(Json(list.shape(asked.unit)))
}

pub(super) async fn cancel(State(site): State<Site>, asked: Parameters) -> Answer {
    let account = asked.account(&site)?;
    asked.only_signed(&[&["symbol", "newClientOrderId"][..], &CANCELED].concat())?;
    let cancel_name = asked.text("newClientOrderId").map(|id| client_order_id("newClientOrderId", id)).transpose()?;
    let pair = asked.needed("symbol")?.to_owned();
    site.ascertain().await?;
    let symbol = of_account(&site, account, move |scene, _| {
        names::find(&scene.view, &pair)
            .map(|symbol| scene.view.listing(symbol).name)
            .ok_or_else(Refusal::unknown_symbol)
    });
    let symbol = symbol.await?;
    let found = find(&site, account, &asked, CANCELED).await?.filter(|(_, List(_, orders))| orders[0].name == symbol);
    let (ids, List(contingency, orders)) = found.ok_or_else(Refusal::unknown_to_cancel)?;
    let Some(open) = orders.into_iter().find(|order| order.done.is_none()) else {
        return Err(Refusal::unknown_to_cancel());
    };
    let reply = ask(&site, Op::Command(Command::CancelOrder { account, order: open.id.into() })).await?;
    after_cancel(&site, open, reply).await??;
    let past = past::orders(&site, ids).await.map_err(|_| Refusal::unknown_outcome())?;
    let shown = site.look(move |scene| past.iter().map(|past| as_canceled(&scene.view, past)).collect::<Vec<Order>>());
    let list = List(contingency, shown.await?);
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

/// The list that a request names by its number, or by its name: its orders' ids and the orders. None if there is no such list.
async fn find(
    site: &Site,
    account: AccountId,
    asked: &Parameters,
    by: [&str; 2],
) -> Result<Option<(Vec<OrderId>, List)>, Refusal> {
    let Some(meant) = meant(site, account, asked, by).await? else { return Ok(None) };
    let (first, second) = (meant.order, OrderId(meant.order.0.saturating_add(1)));
    let owner = of_account(site, account, |_, account| Ok(account)).await?;
    if let Some(tree) = trees_of(site, owner, vec![first]).await?.pop().filter(|List(_, orders)| meant.is(&orders[0])) {
        return Ok(Some((tree.1.iter().map(|order| order.id).collect(), tree)));
    }
    let lists = lists_of(site, owner, vec![[first, second]]).await?;
    Ok(lists.into_iter().next().filter(|List(_, orders)| meant.is(&orders[0])).map(|list| (vec![first, second], list)))
}

/// Those of these pairs of orders that are lists of this account.
async fn lists_of(site: &Site, account: AccountIndex, pairs: Vec<[OrderId; 2]>) -> Result<Vec<List>, Refusal> {
    let found = past::orders(site, pairs.iter().flatten().copied().collect()).await.map_err(Refusal::troubled)?;
    let shown = site.look(move |scene| {
        let its = found.iter().filter(|past| past.order.account == account);
        its.map(|past| Order::of_past(&scene.view, past)).map(|order| (order.id, order)).collect::<HashMap<_, _>>()
    });
    let mut orders = shown.await?;
    let mut list = |[first, second]: [OrderId; 2]| {
        let (one, other) = (orders.remove(&first)?, orders.remove(&second)?);
        let are_linked = one.linked == Some(second) && other.linked == Some(first);
        are_linked.then(|| List(Contingency::Oco, vec![one, other]))
    };
    Ok(pairs.into_iter().filter_map(&mut list).collect())
}

/// The lists of this account whose working orders are these, and open, and whose other orders still wait for them.
async fn trees_of(site: &Site, account: AccountIndex, working: Vec<OrderId>) -> Result<Vec<List>, Refusal> {
    let shown = site.look(move |scene| {
        let view = &scene.view;
        let tree = |first: OrderId| {
            let pending = view.pending_of(first);
            let open = |order| view.open_order(order).filter(|open| open.account == account);
            let orders = std::iter::once(first).chain(pending).map(|order| Order::of_open(scene, &open(order)?).ok());
            orders.collect::<Option<Vec<Order>>>().filter(|orders| orders.len() > 1)
        };
        working.into_iter().filter_map(tree).map(|orders| List(Contingency::Oto, orders)).collect::<Vec<List>>()
    });
    Ok(shown.await?)
}

pub(super) async fn all(State(site): State<Site>, asked: Parameters) -> Answer {
    let id = asked.account(&site)?;
    asked.only_signed(&["fromId", "startTime", "endTime", "limit"])?;
    let wanted = Wanted::of(&asked, "fromId")?;
    let account = of_account(&site, id, |_, account| Ok(account)).await?;
    let from = &site;
    // A page of orders has the lists that begin in it.
    let firsts = gather(wanted, |before| async move {
        let page = past::orders_of(from, account, None, before, TRADES.1).await?;
        let is_first = |past: &Past| past.linked.is_some_and(|partner| past.order.order < partner);
        Ok(page.map(|(orders, next)| (orders.into_iter().filter(is_first).collect(), next)))
    });
    let pairs = firsts.await?.iter().filter_map(|past| Some([past.order.order, past.linked?])).collect();
    let lists = lists_of(&site, account, pairs).await?;
    Ok(Json(lists.iter().map(|list| list.shape(asked.unit)).collect()))
}

/// Those of which an order is open. In pieces, for this protocol has no pages.
pub(super) async fn open(State(site): State<Site>, asked: Parameters) -> Result<Response, Refusal> {
    let id = asked.account(&site)?;
    asked.only_signed(&[])?;
    let unit = asked.unit;
    let account = of_account(&site, id, |_, account| Ok(account)).await?;
    let walk = Walk::new(account, Direction::OldestFirst, None);
    pieces::answer(&site, Frame::bare(), walk, move |site, mut walk| async move {
        let looked = site.look(move |scene| {
            let (mut found, mut working) = (Vec::new(), Vec::new());
            let more = walk.go_on(&scene.view, |open| {
                found.extend(list_begun_by(scene, open.order, open.linked));
                working.extend(Some(open.order).filter(|order| !scene.view.pending_of(*order).is_empty()));
                found.len() + working.len() < LOOKED_AT_ONCE
            });
            (found, working, more.then_some(walk))
        });
        let (pairs, working, next) = looked.await?;
        let mut lists = lists_of(&site, account, pairs).await?;
        lists.extend(trees_of(&site, account, working).await?);
        lists.sort_by_key(|List(_, orders)| orders[0].id);
        let lists: Vec<Value> = lists.iter().map(|list| list.shape(unit)).collect();
        Ok::<_, Refusal>(Piece::of(lists, next))
    })
    .await
}

/// The list of an open order, unless its other one is open and shows it.
fn list_begun_by(scene: &ReadModel<Hub>, order: OrderId, linked: Option<OrderId>) -> Option<[OrderId; 2]> {
    let partner = linked?;
    let is_shown = partner < order && scene.view.open_order(partner).is_some();
    (!is_shown).then(|| [order.min(partner), order.max(partner)])
}
