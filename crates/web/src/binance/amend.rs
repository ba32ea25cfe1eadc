//! Amending orders: shares are taken off an order, which keeps its place, its number and its name.

use axum::Json;
use axum::extract::State;
use engine::{AccountId, Command, Op, Reply, Shares};
use serde_json::{Value, json};

use super::market::Answer;
use super::meant::{BY_NUMBER_OR_NAME, Meant, ask, meant, of_account};
use super::order::Order;
use super::parameters::Parameters;
use super::place::quantity;
use super::refusal::Refusal;
use super::time_unit::TimeUnit;
use super::{names, numbers};
use crate::site::Site;

const NEW_QUANTITY: &str = "newQty";
const NEW_NAME: &str = "newClientOrderId";

pub(super) async fn amend(State(site): State<Site>, asked: Parameters) -> Answer {
    let account = asked.account(&site)?;
    let [number, name] = BY_NUMBER_OR_NAME;
    asked.only_signed(&["symbol", number, name, NEW_QUANTITY, NEW_NAME])?;
    let pair = asked.needed("symbol")?.to_owned();
    let shares = quantity(&asked, NEW_QUANTITY)?;
    site.ascertain().await?;
    let meant = meant(&site, account, &asked, BY_NUMBER_OR_NAME).await?.ok_or_else(Refusal::unknown_to_amend)?;
    let before = amendable(&site, account, meant, pair.clone()).await?;
    let before = before.ok_or_else(Refusal::unknown_to_amend)?;
    if asked.text(NEW_NAME).is_some_and(|asked| asked != before.client_name()) {
        return Err(Refusal::invalid(NEW_NAME, "an amended order keeps its name; send that one, or none"));
    }
    let command = Command::AmendOrder { account, order: before.id.into(), shares };
    let open = match ask(&site, Op::Command(command)).await? {
        Reply::Amended { open, .. } => open,
        // It was done meanwhile.
        Reply::Done(_) => return Err(Refusal::unknown_to_amend()),
        Reply::Rejected(reject) => return Err(Refusal::of(&reject)),
        Reply::Created
        | Reply::Opened(_)
        | Reply::Repeated(_)
        | Reply::Freed(_)
        | Reply::Moved { .. }
        | Reply::Activated
        | Reply::Expired
        | Reply::Status(_)
        | Reply::Canceled(_) => return Err(Refusal::internal()),
    };
    // It is amended: whoever cannot be told of it must not be told that it is not.
    let told = tell(&site, account, (meant, pair), Amended { before, shares, open }, asked.unit).await;
    told.map(Json).map_err(|_| Refusal::unknown_outcome())
}

/// The order if it is open. Errors: there is no such symbol.
async fn amendable(site: &Site, account: AccountId, meant: Meant, pair: String) -> Result<Option<Order>, Refusal> {
    let open = of_account(site, account, move |scene, account| {
        let symbol = names::find(&scene.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        let its = scene.view.open_order(meant.order).filter(|open| open.account == account && open.symbol == symbol);
        its.map(|open| Order::of_open(scene, &open)).transpose()
    });
    Ok(open.await?.filter(|order| meant.is(order)))
}

/// An order that was amended.
struct Amended {
    /// As it was just before, or a little earlier.
    before: Order,
    /// What it was left, of which so many are open.
    shares: Shares,
    open: Shares,
}

async fn tell(
    site: &Site,
    account: AccountId,
    (meant, pair): (Meant, String),
    amended: Amended,
    unit: TimeUnit,
) -> Result<Value, Refusal> {
    let after = amendable(site, account, meant, pair).await?;
    // The reply tells no time: this is that of the last command that is known now, which is this one, or came behind it.
    let time = site.look(|scene| scene.view.time()).await?;
    let Amended { before, shares, open } = amended;
    let executed = shares.less(open);
    // It may have executed between being looked at and being amended, or behind that.
    let knows = [Some(&before), after.as_ref()].into_iter().flatten().find(|order| order.executed == executed);
    let money = knows.and_then(|order| order.money);
    let order = Order { shares, executed, money, ..before };
    Ok(json!({
        "transactTime": unit.tell(time),
        // As `I` of reports.
        "executionId": 0,
        "amendedOrder": order.amended_shape(unit),
    }))
}

/// How an order was amended nobody keeps.
pub(super) async fn amendments(State(site): State<Site>, asked: Parameters) -> Answer {
    asked.account(&site)?;
    asked.only_signed(&["symbol", "orderId", "fromExecutionId", "limit"])?;
    Err(Refusal::not_kept(
        "amendments are not kept; an order has the quantity that it was left, and the account's stream tells each",
    ))
}

impl Order {
    /// In the words of an amendment, which are not those of all others.
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
