//! Amendments: take shares off an order, which keeps its place, its number and its name.

use axum::Json;
use axum::extract::State;
use feed::Amended;
use serde_json::{Value, json};
use terms::{AccountId, CancelReason, Command, Op, OrderId, Reply, Sequence, Shares};

use crate::find_order::{BY_NUMBER_OR_NAME, OrderRef, ask, find_order, of_account};
use crate::history::TRADES;
use crate::market::Answer;
use crate::order::Order;
use crate::parameters::Parameters;
use crate::place::quantity;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use crate::time_unit::TimeUnit;
use crate::{names, numbers};
use http_gateway::history_pages;

const NEW_QUANTITY: &str = "newQty";
const NEW_NAME: &str = "newClientOrderId";
/// Amendments of an order that are read for one answer, at most.
const AMENDMENTS_MAX: usize = 10_000;

pub(crate) async fn amend(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    let [number, name] = BY_NUMBER_OR_NAME;
    asked.only_signed(&["symbol", number, name, NEW_QUANTITY, NEW_NAME])?;
    let pair = asked.needed("symbol")?.to_owned();
    let shares = quantity(&asked, NEW_QUANTITY)?;
    app.ascertain().await?;
    let order_ref =
        find_order(&app, account, &asked, BY_NUMBER_OR_NAME).await?.ok_or_else(Refusal::unknown_to_amend)?;
    let before = amendable(&app, account, order_ref, pair.clone()).await?;
    let before = before.ok_or_else(Refusal::unknown_to_amend)?;
    if asked.text(NEW_NAME).is_some_and(|asked| asked != before.client_name()) {
        return Err(Refusal::invalid(NEW_NAME, "an amended order keeps its name; send that one, or none"));
    }
    let seen = app.look(|model| model.view.sequence()).await?;
    let command = Command::AmendOrder { account, order: before.id.into(), shares };
    let open = match ask(&app, Op::Command(command)).await? {
        Reply::Amended { open, .. } => open,
        // The order was done meanwhile.
        Reply::Done(_) => return Err(Refusal::unknown_to_amend()),
        Reply::Rejected(reject) => return Err(Refusal::of(&reject)),
        Reply::Created
        | Reply::Opened(_)
        | Reply::Repeated(_)
        | Reply::Freed(_)
        | Reply::Moved { .. }
        | Reply::Activated
        | Reply::Expired
        | Reply::InAuction
        | Reply::CanceledAll { .. }
        | Reply::Status(_)
        | Reply::Canceled(_) => return Err(Refusal::internal()),
    };
    // The order is amended: an error in writing the answer must not say that it is not.
    let told = tell(&app, account, (order_ref, pair), AmendedOrder { before, shares, open, seen }, asked.unit).await;
    told.map(Json).map_err(|_| Refusal::unknown_outcome())
}

/// Returns the order if it is open. Errors: there is no such symbol.
async fn amendable(
    app: &BinanceState,
    account: AccountId,
    order_ref: OrderRef,
    pair: String,
) -> Result<Option<Order>, Refusal> {
    let open = of_account(app, account, move |model, account| {
        let symbol = names::find(&model.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        let its =
            model.view.open_order(order_ref.order).filter(|open| open.account == account && open.symbol == symbol);
        its.map(|open| Order::of_open(model, &open)).transpose()
    });
    Ok(open.await?.filter(|order| order_ref.is(order)))
}

/// An order that was amended.
struct AmendedOrder {
    /// The order just before, or a little earlier.
    before: Order,
    /// The shares that the amendment left it; `open` of these are open.
    shares: Shares,
    open: Shares,
    /// The last command before the look: the amendment's comes later.
    seen: Sequence,
}

async fn tell(
    app: &BinanceState,
    account: AccountId,
    (order_ref, pair): (OrderRef, String),
    amended: AmendedOrder,
    unit: TimeUnit,
) -> Result<Value, Refusal> {
    let after = amendable(app, account, order_ref, pair).await?;
    let AmendedOrder { before, shares, open, seen } = amended;
    let executed = shares.less(open);
    // The order may have executed after the look and before its amendment, or after that.
    let knows = [Some(&before), after.as_ref()].into_iter().flatten().find(|order| order.executed == executed);
    let money = knows.and_then(|order| order.money);
    let order = Order { shares, executed, money, ..before };
    let told =
        history_pages::amendments(app, order.id, seen.next(), AMENDMENTS_MAX).await.map_err(Refusal::troubled)?;
    // Others may give the order more shares again, but only behind this amendment: it is the first that left so many.
    let is_it = |amended: &&Amended| amended.after == shares && amended.terms.is_none();
    let its = told.iter().find(is_it).ok_or_else(Refusal::internal)?;
    Ok(json!({
        "transactTime": unit.tell(its.time),
        "executionId": its.sequence.0,
        "amendedOrder": order.amended_shape(unit),
    }))
}

/// Lists the amendments of an order that its account asked for, oldest first. The number of an amendment is its
/// command's.
pub(crate) async fn amendments(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    asked.only_signed(&["symbol", "orderId", "fromExecutionId", "limit"])?;
    let pair = asked.needed("symbol")?.to_owned();
    let order = OrderId(asked.number("orderId")?.ok_or_else(|| Refusal::missing("orderId"))?);
    let (from, limit) = (asked.number("fromExecutionId")?.unwrap_or_default(), asked.limit(TRADES.0, TRADES.1)?);
    let (symbol, account) = of_account(&app, account, move |model, account| {
        let symbol = names::find(&model.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        Ok((symbol, account))
    })
    .await?;
    let found = history_pages::order(&app, Some(account), order).await.map_err(Refusal::troubled)?;
    let its = found.filter(|past| past.order.symbol == symbol);
    let past = its.ok_or_else(Refusal::no_such_order)?;
    // Reductions by self-trade prevention are among them, and other terms without other shares: they are no amendments
    // here.
    let told =
        history_pages::amendments(&app, order, Sequence(from), AMENDMENTS_MAX).await.map_err(Refusal::troubled)?;
    let unit = asked.unit;
    let shown = app.look(move |model| {
        let order = Order::of_past(&model.view, &past);
        let its = told.iter().filter(|amended| is_listed(amended)).take(limit);
        its.map(|amended| amendment_shape(&order, amended, unit)).collect::<Value>()
    });
    Ok(Json(shown.await?))
}

/// Whether an amendment is one of these clients' kind, who know no other than of shares.
fn is_listed(amended: &Amended) -> bool {
    amended.why == CancelReason::Asked && amended.before != amended.after
}

fn amendment_shape(order: &Order, amended: &Amended, unit: TimeUnit) -> Value {
    json!({
        "symbol": names::pair(order.name),
        "orderId": order.id.0,
        "executionId": amended.sequence.0,
        "origClientOrderId": order.client_name(),
        "newClientOrderId": order.client_name(),
        "origQty": numbers::shares(amended.before),
        "newQty": numbers::shares(amended.after),
        "time": unit.tell(amended.time),
    })
}

impl Order {
    /// Writes the order with the field names of an amendment, which differ from all others.
    fn amended_shape(&self, unit: TimeUnit) -> Value {
        let shown = self.shape(unit);
        let mut told = json!({
            "origClientOrderId": self.client_name(),
            "qty": shown["origQty"],
            "preventedQty": numbers::zero(),
            "quoteOrderQty": numbers::zero(),
            "cumulativeQuoteQty": shown["cummulativeQuoteQty"],
        });
        let same = [
            "symbol",
            "orderId",
            "orderListId",
            "clientOrderId",
            "price",
            "executedQty",
            "status",
            "timeInForce",
            "type",
            "side",
            "stopPrice",
            "workingTime",
            "selfTradePreventionMode",
        ];
        for field in same {
            told[field] = shown[field].clone();
        }
        told
    }
}
