//! An account's balances and trades, and the listen keys of its stream.

use std::collections::{BTreeSet, HashMap};

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::response::Response;
use exchange::Read;
use feed::{Holding, ReadModel, Trade, View};
use serde_json::{Value, json};
use terms::{AccountIndex, KillScope, OrderId, Side, SymbolIndex};

use crate::fees::{self, Rates};
use crate::find_order::of_account;
use crate::history::{PageRequest, TRADES, gather};
use crate::market::Answer;
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use crate::time_unit::TimeUnit;
use crate::{names, numbers};
use http_gateway::chunked_answer::{Frame, Piece, in_turn};
use http_gateway::history_pages;
use http_gateway::history_port::{Past, TradesOfAccount};
use http_gateway::hub::Hub;
use http_gateway::listener::Life;

/// Positions that are read between two turns of the feed.
const AT_ONCE: usize = 500;
/// Orders that are looked up between two turns of the feed.
const ORDERS_AT_ONCE: usize = 250;

/// Answers with a balance of each symbol that the account ever had. It streams the answer, because this protocol has no
/// pages.
pub(crate) async fn account(State(app): State<BinanceState>, asked: Parameters) -> Result<Response, Refusal> {
    let id = asked.account(&app).await?;
    asked.only_signed(&["omitZeroBalances"])?;
    let unit = asked.unit;
    // Either way, a symbol of which the account has nothing is not listed.
    if !matches!(asked.text("omitZeroBalances"), None | Some("false" | "true")) {
        return Err(Refusal::invalid("omitZeroBalances", "it is true or false"));
    }
    let (account, about) =
        of_account(&app, id, move |model, account| Ok((account, about(model, account, unit)))).await?;
    let balances = move |app: BinanceState, next: Balances| async move {
        let looked = app.look(move |model| balances(&model.view, account, next));
        let (shapes, next) = in_turn(&app, looked).await?;
        Ok(Piece::of(shapes, next))
    };
    app.answer((Frame::field(&about, "balances"), Read::Account(id)), Balances::All, balances).await
}

/// The balances that are still to be shown.
enum Balances {
    All,
    /// The symbols behind this one.
    Behind(SymbolIndex),
}

fn about(model: &ReadModel<Hub>, account: AccountIndex, unit: TimeUnit) -> Value {
    let view = &model.view;
    let rates = Rates::highest(view, account);
    let [maker, taker] = rates.basis_points();
    let kills = [KillScope::Everything, KillScope::Account(account)];
    let is_killed = kills.into_iter().any(|scope| view.kills().is_killed(scope));
    let is_closed = view.account(account).status.is_closed;
    json!({
        "makerCommission": maker,
        "takerCommission": taker,
        "buyerCommission": 0,
        "sellerCommission": 0,
        "commissionRates": rates.with_sides(),
        "canTrade": !is_killed && !is_closed,
        "canWithdraw": false,
        "canDeposit": false,
        "brokered": false,
        "requireSelfTradePrevention": false,
        "preventSor": false,
        "updateTime": unit.tell(view.time()),
        "accountType": "SPOT",
        "permissions": ["SPOT"],
        "uid": view.account(account).id.to_string().parse::<u64>().ok(),
    })
}

/// Returns the next balances, and those that are left then.
fn balances(view: &View, account: AccountIndex, next: Balances) -> (Vec<Value>, Option<Balances>) {
    let account = view.account(account);
    let dollars = || {
        json!({
            "asset": names::DOLLARS,
            "free": numbers::money(account.balance),
            "locked": numbers::money(account.held),
        })
    };
    let (behind, dollars) = match next {
        Balances::All => (None, Some(dollars())),
        Balances::Behind(symbol) => (Some(symbol), None),
    };
    let mut rest = account.holdings.behind(behind);
    let some: Vec<Holding> = rest.by_ref().take(AT_ONCE).collect();
    let shares = some.iter().filter(|holding| names::is_traded(view, holding.symbol)).map(|holding| {
        json!({
            "asset": view.listing(holding.symbol).name.as_str(),
            "free": numbers::position(holding.shares),
            "locked": numbers::position(holding.held),
        })
    });
    let last = some.last().filter(|_| rest.next().is_some()).map(|holding| Balances::Behind(holding.symbol));
    (dollars.into_iter().chain(shares).collect(), last)
}

pub(crate) async fn trades(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let id = asked.account(&app).await?;
    asked.only_signed(&["symbol", "orderId", "startTime", "endTime", "fromId", "limit"])?;
    let unit = asked.unit;
    let (pair, wanted) = (asked.needed("symbol")?.to_owned(), PageRequest::of(&asked, "fromId")?);
    let order = asked.number("orderId")?;
    let (symbol, account) = of_account(&app, id, move |model, account| {
        let symbol = names::find(&model.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        Ok((symbol, account))
    })
    .await?;
    let of = TradesOfAccount { account, symbol: Some(symbol), order: order.map(OrderId) };
    let from = &app;
    let trades = gather(wanted, |before| history_pages::trades_of_account(from, of, before, TRADES.1));
    let trades = trades.await?;
    let lists = lists_of(&app, account, &trades).await?;
    let shown = app.look(move |model| {
        let sides = |trade: &Trade| {
            let took = [
                (trade.maker_account == account).then_some(trade.aggressor.opposite()),
                (trade.aggressor_account == account).then_some(trade.aggressor),
            ];
            let its = took.into_iter().flatten();
            its.filter(|side| order.is_none_or(|order| trade.order(*side).0 == order)).collect::<Vec<_>>()
        };
        let shapes = trades
            .iter()
            .flat_map(|trade| sides(trade).into_iter().map(|side| own_shape(&model.view, (trade, side), &lists, unit)));
        shapes.collect::<Value>()
    });
    Ok(Json(shown.await?))
}

/// Returns the list of each executed order of an account that is in one. The list of an order that is no longer kept is
/// not known.
async fn lists_of(
    app: &BinanceState,
    account: AccountIndex,
    trades: &[Trade],
) -> Result<HashMap<OrderId, OrderId>, Refusal> {
    let its = |trade: &Trade| {
        let orders = [(trade.maker_account, trade.maker_order), (trade.aggressor_account, trade.aggressor_order)];
        orders.into_iter().filter(|(whose, _)| *whose == account).map(|(_, order)| order)
    };
    let orders: BTreeSet<OrderId> = trades.iter().flat_map(its).collect();
    let (orders, mut lists) = (orders.into_iter().collect::<Vec<OrderId>>(), HashMap::new());
    for some in orders.chunks(ORDERS_AT_ONCE) {
        let found = history_pages::orders(app, Some(account), some.to_vec()).await.map_err(Refusal::troubled)?;
        let linked = |past: &Past| past.linked.map(|partner| (past.order.order, partner.min(past.order.order)));
        lists.extend(found.iter().filter_map(linked));
    }
    Ok(lists)
}

/// Writes a trade as one of its two sides sees it.
fn own_shape(view: &View, (trade, side): (&Trade, Side), lists: &HashMap<OrderId, OrderId>, unit: TimeUnit) -> Value {
    let name = view.listing(trade.symbol).name;
    let (commission, asset) = fees::commission(trade, side, name.as_str());
    json!({
        "symbol": names::pair(name),
        "id": trade.id,
        "orderId": trade.order(side).0,
        "orderListId": lists.get(&trade.order(side)).map_or_else(|| json!(-1), |list| json!(list.0)),
        "price": numbers::price(trade.price),
        "qty": numbers::shares(trade.shares),
        "quoteQty": numbers::money(trade.money()),
        "commission": commission,
        "commissionAsset": asset,
        "time": unit.tell(trade.time),
        "isBuyer": side == Side::Buy,
        "isMaker": side != trade.aggressor,
        "isBestMatch": true,
    })
}

pub(crate) async fn listen(
    State(app): State<BinanceState>,
    ConnectInfo(life): ConnectInfo<Life>,
    asked: Parameters,
) -> Answer {
    let (key, holder) = asked.holder(&app, life.is_private()).await?;
    asked.only_of_listener(&[])?;
    let listen_key = app.own()?.listen_keys.of(key.key, key.account, holder).map_err(|error| {
        tracing::error!(%error, "no listen key can be made");
        Refusal::internal()
    })?;
    Ok(Json(json!({"listenKey": listen_key})))
}

pub(crate) async fn keep_listening(
    State(app): State<BinanceState>,
    ConnectInfo(life): ConnectInfo<Life>,
    asked: Parameters,
) -> Answer {
    let (key, _) = asked.holder(&app, life.is_private()).await?;
    asked.only_of_listener(&["listenKey"])?;
    let listen_key = asked.needed("listenKey")?;
    match app.own()?.listen_keys.keep(key.key, listen_key) {
        true => Ok(Json(json!({}))),
        false => Err(no_such_listen_key()),
    }
}

pub(crate) async fn stop_listening(
    State(app): State<BinanceState>,
    ConnectInfo(life): ConnectInfo<Life>,
    asked: Parameters,
) -> Answer {
    let (key, _) = asked.holder(&app, life.is_private()).await?;
    asked.only_of_listener(&["listenKey"])?;
    let listen_key = asked.needed("listenKey")?;
    match app.own()?.listen_keys.stop(key.key, listen_key) {
        true => Ok(Json(json!({}))),
        false => Err(no_such_listen_key()),
    }
}

fn no_such_listen_key() -> Refusal {
    Refusal::new(-1125, "This listenKey does not exist.")
}
