//! Cancels orders: one of them, or all open orders of a pair.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use exchange::Read;
use feed::View;
use terms::{AccountId, CancelReason, Command, Op, Reply};

use crate::cancel_restriction::CancelRestriction;
use crate::find_order::{BY_NUMBER_OR_NAME, OrderRef, ask, find_order, of_account};
use crate::market::Answer;
use crate::names;
use crate::order::Order;
use crate::parameters::Parameters;
use crate::place::client_order_id;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use http_gateway::chunked_answer::{Frame, Piece, in_turn};
use http_gateway::history_pages::{self, HistoryFault};
use http_gateway::history_port::Past;
use http_gateway::open_orders::{self, Canceled, Stopped};

pub(crate) async fn cancel(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    asked.only_signed(&["symbol", "orderId", "origClientOrderId", "newClientOrderId", "cancelRestrictions"])?;
    let cancel_name = asked.text("newClientOrderId").map(|id| client_order_id("newClientOrderId", id)).transpose()?;
    let (pair, restriction) = (asked.needed("symbol")?.to_owned(), CancelRestriction::read(&asked)?);
    app.ascertain().await?;
    let order_ref =
        find_order(&app, account, &asked, BY_NUMBER_OR_NAME).await?.ok_or_else(Refusal::unknown_to_cancel)?;
    let open = cancelable(&app, account, order_ref, pair, restriction).await??;
    let reply = ask(&app, Op::Command(Command::CancelOrder { account, order: open.id.into() })).await?;
    let order = after_cancel(&app, open, reply).await??;
    let name = cancel_name.map_or_else(|| order.client_name(), |name| name.to_string());
    Ok(Json(order.canceled_shape_under(&name, asked.unit)))
}

/// Returns the order if it is open and may be canceled, or the refusal of its cancel. Errors: there is no such symbol.
pub(crate) async fn cancelable(
    app: &BinanceState,
    account: AccountId,
    order_ref: OrderRef,
    pair: String,
    restriction: Option<CancelRestriction>,
) -> Result<Result<Order, Refusal>, Refusal> {
    let open = of_account(app, account, move |model, account| {
        let symbol = names::find(&model.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        let its =
            model.view.open_order(order_ref.order).filter(|open| open.account == account && open.symbol == symbol);
        its.map(|open| Order::of_open(model, &open)).transpose()
    });
    Ok(match open.await?.filter(|order| order_ref.is(order)) {
        // An order that is not open any more cannot be canceled, however it ended.
        None => Err(Refusal::unknown_to_cancel()),
        Some(open) if restriction.is_some_and(|restriction| restriction.forbids(open.executed)) => {
            Err(CancelRestriction::refusal())
        }
        Some(open) => Ok(open),
    })
}

/// Cancels all open orders of a pair. Orders that end with these are among the canceled.
pub(crate) async fn cancel_open(State(app): State<BinanceState>, asked: Parameters) -> Result<Response, Refusal> {
    let id = asked.account(&app).await?;
    asked.only_signed(&["symbol"])?;
    let (pair, unit) = (asked.needed("symbol")?.to_owned(), asked.unit);
    app.ascertain().await?;
    let (account, symbol) = of_account(&app, id, move |model, account| {
        let symbol = names::find(&model.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        Ok((account, (model.view.listing(symbol).name, symbol)))
    })
    .await?;
    let untold = |trouble| match trouble {
        HistoryFault::Away | HistoryFault::Crowded | HistoryFault::NotReady | HistoryFault::Fault => {
            Refusal::unknown_outcome()
        }
        HistoryFault::Unreadable(_) => Refusal::troubled(trouble),
    };
    let canceled = open_orders::cancel(&app, (id, account), Some(symbol)).await.map_err(|stopped| match stopped {
        Stopped::Unknown => Refusal::unknown_outcome(),
        Stopped::Unavailable(why) => Refusal::unavailable(why),
        Stopped::NotReady(problem) => Refusal::from(problem),
        Stopped::Untold(trouble) => untold(trouble),
    })?;
    if canceled.is_empty() {
        return Err(Refusal::unknown_to_cancel());
    }
    // All are canceled by now; the answer lists them as fast as the client takes it.
    app.answer((Frame::bare(), Read::Account(id)), canceled, move |app, canceled: Canceled| async move {
        let (some, left) = canceled.take_some(&app).await.map_err(untold)?;
        let orders =
            app.look(move |model| -> Vec<Order> { some.iter().map(|past| as_canceled(&model.view, past)).collect() });
        let shapes = in_turn(&app, orders).await?;
        Ok(Piece::of(shapes.iter().map(|order| order.canceled_shape(unit)), left))
    })
    .await
}

/// Makes the order of a past record whose owner has just canceled it.
pub(crate) fn as_canceled(view: &View, past: &Past) -> Order {
    Order { why: Some(CancelReason::Asked), ..Order::of_past(view, past) }
}

/// Returns the order as it ended, or why it could not be canceled.
pub(crate) async fn after_cancel(
    app: &BinanceState,
    open: Order,
    reply: Reply,
) -> Result<Result<Order, Refusal>, Refusal> {
    let canceled = match reply {
        Reply::Canceled(status) => status.canceled,
        Reply::Rejected(_) | Reply::Done(_) => None,
        Reply::Created
        | Reply::Opened(_)
        | Reply::Repeated(_)
        | Reply::Freed(_)
        | Reply::Moved { .. }
        | Reply::Amended { .. }
        | Reply::Activated
        | Reply::Expired
        | Reply::InAuction
        | Reply::CanceledAll { .. }
        | Reply::Status(_) => {
            return Err(Refusal::internal());
        }
    };
    let Some(cancellation) = canceled else { return Ok(Err(Refusal::unknown_to_cancel())) };
    // The history knows what was paid until the end. The order is canceled whether the history answers or not.
    let ended = history_pages::order(app, None, open.id).await.unwrap_or_default();
    let shown = app.look(move |model| match ended {
        Some(past) => as_canceled(&model.view, &past),
        None => open.after_cancel(cancellation.shares, cancellation.time),
    });
    // The order is canceled: an error in showing it must not look like a refusal.
    Ok(Ok(shown.await.map_err(|_| Refusal::unknown_outcome())?))
}
