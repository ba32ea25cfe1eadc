//! Places order lists of a working order and its pending orders: one, or two that are linked then.

use axum::Json;
use axum::extract::State;
use exchange::{PendingFault, pending, placed_tree};
use serde_json::{Value, json};
use terms::{AccountId, Op, Place};

use crate::market::Answer;
use crate::oco::{LIST_NAME, NAME, Names, OF_LIST, in_words_of, name_first, not_placed, one};
use crate::order_lists::{Contingency, Member, list_shape};
use crate::parameters::Parameters;
use crate::place::{Placing, client_order_id};
use crate::refusal::Refusal;
use crate::self_trade;
use crate::state::BinanceState;

const WORKING: [(&str, &str); 6] = [
    ("workingType", "type"),
    ("workingSide", "side"),
    ("workingPrice", "price"),
    ("workingQuantity", "quantity"),
    ("workingTimeInForce", "timeInForce"),
    ("workingClientOrderId", NAME),
];
const PENDING: [(&str, &str); 7] = [
    ("pendingType", "type"),
    ("pendingSide", "side"),
    ("pendingPrice", "price"),
    ("pendingStopPrice", "stopPrice"),
    ("pendingQuantity", "quantity"),
    ("pendingTimeInForce", "timeInForce"),
    ("pendingClientOrderId", NAME),
];
const ABOVE: [(&str, &str); 7] = [
    ("pendingAboveType", "type"),
    ("pendingSide", "side"),
    ("pendingAbovePrice", "price"),
    ("pendingAboveStopPrice", "stopPrice"),
    ("pendingQuantity", "quantity"),
    ("pendingAboveTimeInForce", "timeInForce"),
    ("pendingAboveClientOrderId", NAME),
];
const BELOW: [(&str, &str); 7] = [
    ("pendingBelowType", "type"),
    ("pendingSide", "side"),
    ("pendingBelowPrice", "price"),
    ("pendingBelowStopPrice", "stopPrice"),
    ("pendingQuantity", "quantity"),
    ("pendingBelowTimeInForce", "timeInForce"),
    ("pendingBelowClientOrderId", NAME),
];
/// The orders of the two kinds of lists.
pub(crate) const OTO: [&Names; 2] = [&WORKING, &PENDING];
pub(crate) const OTOCO: [&Names; 3] = [&WORKING, &ABOVE, &BELOW];
/// The parameters that all orders share.
const OF_ALL: [(&str, &str); 2] = [("symbol", "symbol"), (self_trade::MODE, self_trade::MODE)];

/// Answers `orderList/oto`.
pub(crate) async fn place_oto(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    place(&app, account, &asked, &OTO).await
}

/// Answers `orderList/otoco`.
pub(crate) async fn place_otoco(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    place(&app, account, &asked, &OTOCO).await
}

/// Reads the order that `lists` names first, and the others pending on it, and the ops that place them.
pub(crate) fn read(
    account: AccountId,
    asked: &Parameters,
    lists: &[&Names],
) -> Result<(Vec<Placing>, Vec<Op>), Refusal> {
    let of_orders = |name: &str| lists.iter().copied().flatten().chain(&OF_ALL).any(|(outer, _)| *outer == name);
    if let Some(unknown) = asked.names().find(|name| !of_orders(name) && !OF_LIST.contains(name)) {
        return Err(Refusal::not_required(unknown));
    }
    let list_name = asked.text(LIST_NAME).map(|name| client_order_id(LIST_NAME, name)).transpose()?;
    let mut orders = Vec::with_capacity(lists.len());
    for names in lists {
        let order = one(asked, names, &OF_ALL, None)?;
        orders.push(Placing::read(account, &order, &[]).map_err(|refusal| in_words_of(refusal, names))?);
    }
    if let [_, above, below] = &orders[..]
        && above.reference_price() <= below.reference_price()
    {
        return Err(Refusal::new(-2010, "The relationship of the prices for the orders is not correct."));
    }
    name_first(
        &mut orders[0],
        list_name,
        "a list is called as its working order: send the name of one of them, or the same for both",
    )?;
    let places: Vec<Place> = orders.iter().map(Placing::place).collect();
    let ops = pending(places[0], &places[1..]);
    let ops = ops.map_err(|fault: PendingFault| Refusal::new(-2010, format!("{fault}.")))?;
    Ok((orders, ops))
}

/// Places the order that `lists` names first, and the others pending on it.
async fn place(app: &BinanceState, account: AccountId, asked: &Parameters, lists: &[&Names]) -> Answer {
    let (orders, ops) = read(account, asked, lists)?;
    let answers = app.submitter()?.ask(&ops).await.map_err(|_| Refusal::unknown_outcome())?;
    let tree = placed_tree(&answers).map_err(|(_, why)| not_placed(*why))?;
    if tree.repeated {
        return Err(Refusal::duplicate());
    }
    tree.orders.iter().for_each(|_| app.count_order(account));
    let list = tree.orders[0];
    let waits = app.look(move |model| model.view.pending_of(list)).await.map_err(|_| Refusal::unknown_outcome())?;
    let (mut reports, mut members) = (Vec::new(), Vec::new());
    for (placing, &order) in orders.iter().zip(&tree.orders) {
        // The orders are placed: an error in writing the answer must not invite the client to try again.
        let told = placing.tell(app, order, asked.unit).await;
        let mut told = told.map_err(|_| Refusal::unknown_outcome())?;
        told["orderListId"] = json!(list.0);
        if waits.contains(&order) && told.get("status").is_some() {
            told["status"] = json!("PENDING_NEW");
            told["workingTime"] = json!(-1);
        }
        members.push(Member::new(order, placing.place().symbol(), placing.client_id()));
        reports.push(told);
    }
    let mut shape = list_shape(Contingency::Oto, &members, reports[0]["transactTime"].clone(), false);
    shape["orderReports"] = Value::Array(reports);
    Ok(Json(shape))
}
