//! Places order lists of two orders of which one cancels the other: by `above` and `below` the market, and by the older
//! words `limit` and `stop`.

use axum::Json;
use axum::extract::State;
use exchange::{linked, placed_pair};
use serde_json::{Value, json};
use terms::{AccountId, ClientOrderId, Op};

use crate::market::Answer;
use crate::order_lists::{Contingency, Member, list_shape};
use crate::parameters::Parameters;
use crate::place::{Placing, client_order_id, placed};
use crate::refusal::Refusal;
use crate::self_trade;
use crate::state::BinanceState;

/// The parameters of one order of a list: their names in the list's request, and in a request for one order.
pub(crate) type Names = [(&'static str, &'static str)];

const ABOVE: [(&str, &str); 5] = [
    ("aboveType", "type"),
    ("abovePrice", "price"),
    ("aboveStopPrice", "stopPrice"),
    ("aboveTimeInForce", "timeInForce"),
    ("aboveClientOrderId", NAME),
];
const BELOW: [(&str, &str); 5] = [
    ("belowType", "type"),
    ("belowPrice", "price"),
    ("belowStopPrice", "stopPrice"),
    ("belowTimeInForce", "timeInForce"),
    ("belowClientOrderId", NAME),
];
const LIMIT: [(&str, &str); 2] = [("price", "price"), ("limitClientOrderId", NAME)];
const STOP: [(&str, &str); 4] = [
    ("stopPrice", "stopPrice"),
    ("stopLimitPrice", "price"),
    ("stopLimitTimeInForce", "timeInForce"),
    ("stopClientOrderId", NAME),
];
/// The parameters that both orders share.
const OF_BOTH: [(&str, &str); 4] =
    [("symbol", "symbol"), ("side", "side"), ("quantity", "quantity"), (self_trade::MODE, self_trade::MODE)];
/// The parameters of the list, and of its answer.
pub(crate) const OF_LIST: [&str; 5] = [LIST_NAME, RESPONSE, "recvWindow", "timestamp", "signature"];
pub(crate) const NAME: &str = "newClientOrderId";
pub(crate) const LIST_NAME: &str = "listClientOrderId";
const RESPONSE: &str = "newOrderRespType";

/// Answers `orderList/oco`.
pub(crate) async fn place(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    place_two(&app, account, &asked, above_and_below(&asked)?).await
}

/// Returns the parameters of the order above the market and of the one below it.
pub(crate) fn above_and_below(asked: &Parameters) -> Result<[(Parameters, &'static Names); 2], Refusal> {
    known(asked, &[&ABOVE, &BELOW])?;
    let [above, below] = [one(asked, &ABOVE, &OF_BOTH, None), one(asked, &BELOW, &OF_BOTH, None)];
    Ok([(above?, &ABOVE), (below?, &BELOW)])
}

/// Answers `order/oco`.
pub(crate) async fn place_legacy_oco(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    place_two(&app, account, &asked, limit_and_stop(&asked)?).await
}

/// Returns the same, for the older words.
pub(crate) fn limit_and_stop(asked: &Parameters) -> Result<[(Parameters, &'static Names); 2], Refusal> {
    known(asked, &[&LIMIT, &STOP])?;
    let stop_type = if asked.text("stopLimitPrice").is_some() { "STOP_LOSS_LIMIT" } else { "STOP_LOSS" };
    let limit: (Parameters, &Names) = (one(asked, &LIMIT, &OF_BOTH, Some("LIMIT_MAKER"))?, &LIMIT);
    let stop: (Parameters, &Names) = (one(asked, &STOP, &OF_BOTH, Some(stop_type))?, &STOP);
    Ok(if asked.text("side") == Some("BUY") { [stop, limit] } else { [limit, stop] })
}

/// Checks the parameters. Errors: the request has one that belongs to neither an order nor the list.
fn known(asked: &Parameters, orders: &[&Names]) -> Result<(), Refusal> {
    let of_orders = |name: &str| orders.iter().copied().flatten().chain(&OF_BOTH).any(|(outer, _)| *outer == name);
    match asked.names().find(|name| !of_orders(name) && !OF_LIST.contains(name)) {
        Some(unknown) => Err(Refusal::not_required(unknown)),
        None => Ok(()),
    }
}

/// Returns the parameters of one order of the list, as those of an order alone.
pub(crate) fn one(
    asked: &Parameters,
    names: &Names,
    of_all: &Names,
    order_type: Option<&str>,
) -> Result<Parameters, Refusal> {
    let tell = match asked.text(RESPONSE) {
        Some("ACK") => "ACK",
        None | Some("RESULT" | "FULL") => "RESULT",
        Some(_) => return Err(Refusal::new(-1136, "Invalid newOrderRespType.")),
    };
    let fixed = [Some((RESPONSE, tell)), order_type.map(|order_type| ("type", order_type))];
    let renamed = names.iter().chain(of_all).filter_map(|(outer, inner)| Some((*inner, asked.text(outer)?)));
    Ok(asked.part(renamed.chain(fixed.into_iter().flatten())))
}

/// Reads the order above the market and the one below it, and the ops that place them.
pub(crate) fn read_two(
    account: AccountId,
    asked: &Parameters,
    two: [(Parameters, &Names); 2],
) -> Result<([Placing; 2], [Op; 2]), Refusal> {
    let list_name = asked.text(LIST_NAME).map(|name| client_order_id(LIST_NAME, name)).transpose()?;
    let [(above, above_names), (below, below_names)] = two;
    let mut above = Placing::read(account, &above, &[]).map_err(|refusal| in_words_of(refusal, above_names))?;
    let below = Placing::read(account, &below, &[]).map_err(|refusal| in_words_of(refusal, below_names))?;
    if above.reference_price() <= below.reference_price() {
        return Err(Refusal::new(-2010, "The relationship of the prices for the orders is not correct."));
    }
    name_first(
        &mut above,
        list_name,
        "a list is called as its order above the market: send the name of one of them, or the same for both",
    )?;
    let ops = linked(above.place(), below.place());
    let ops = ops.map_err(|fault| Refusal::new(-2010, format!("{fault}.")))?;
    Ok(([above, below], ops))
}

/// Places the order above the market and the one below it.
async fn place_two(
    app: &BinanceState,
    account: AccountId,
    asked: &Parameters,
    two: [(Parameters, &Names); 2],
) -> Answer {
    let (two, ops) = read_two(account, asked, two)?;
    let answers = app.submitter()?.ask(&ops).await.map_err(|_| Refusal::unknown_outcome())?;
    let [one, other] = <[_; 2]>::try_from(answers).map_err(|_| Refusal::unknown_outcome())?;
    let pair = placed_pair(&one, &other).map_err(|(_, why)| not_placed(*why))?;
    if pair.repeated {
        return Err(Refusal::duplicate());
    }
    pair.orders.iter().for_each(|_| app.count_order(account));
    let list = pair.orders[0];
    let (mut reports, mut members) = (Vec::new(), Vec::new());
    for (placing, order) in two.iter().zip(pair.orders) {
        // The orders are placed: an error in writing the answer must not invite the client to try again.
        let told = placing.tell(app, order, asked.unit).await;
        let mut told = told.map_err(|_| Refusal::unknown_outcome())?;
        told["orderListId"] = json!(list.0);
        members.push(Member::new(order, placing.place().symbol(), placing.client_id()));
        reports.push(told);
    }
    let mut shape = list_shape(Contingency::Oco, &members, reports[0]["transactTime"].clone(), false);
    shape["orderReports"] = Value::Array(reports);
    Ok(Json(shape))
}

/// Returns the refusal of a list, one of whose orders got this answer.
pub(crate) fn not_placed(why: exchange::Answer) -> Refusal {
    match why {
        exchange::Answer::Unavailable(why) => Refusal::unavailable(why),
        exchange::Answer::Reply(reply) => placed(reply).err().unwrap_or_else(Refusal::duplicate),
    }
}

/// Gives the list's name to its first order: a list has the name of that order.
pub(crate) fn name_first(first: &mut Placing, list_name: Option<ClientOrderId>, why: &str) -> Result<(), Refusal> {
    match (first.client_id(), list_name) {
        (Some(own), Some(list)) if own != list => Err(Refusal::invalid(LIST_NAME, why)),
        (own, list) => {
            first.set_client_id(own.or(list));
            Ok(())
        }
    }
}

/// Replaces the parameters' names in the refusal of one order by those of the list.
pub(crate) fn in_words_of(refusal: Refusal, names: &Names) -> Refusal {
    names.iter().fold(refusal, |mut refusal, (outer, inner)| {
        refusal.msg = refusal.msg.replace(&format!("'{inner}'"), &format!("'{outer}'"));
        refusal
    })
}
