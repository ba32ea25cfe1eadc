//! Finds the order that a request names, and hands its commands to the market.

use exchange::Answer as Answered;
use feed::ReadModel;
use terms::{AccountId, AccountIndex, Op, OrderId, Query, Reply};

use crate::client_names::{self, ParsedName};
use crate::order::Order;
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use http_gateway::hub::Hub;

/// The parameters by which most requests name an order.
pub(crate) const BY_NUMBER_OR_NAME: [&str; 2] = ["orderId", "origClientOrderId"];

/// The order that a request names.
#[derive(Clone, Copy)]
pub(crate) struct OrderRef {
    pub(crate) order: OrderId,
    /// The name that the order must have, if the request has one too.
    called: Option<ParsedName>,
}

impl OrderRef {
    /// Whether this order, which has the number, also has the name.
    pub(crate) fn is(self, order: &Order) -> bool {
        match self.called {
            None => true,
            Some(ParsedName::Own(id)) => order.client_id == Some(id),
            Some(ParsedName::Made(made)) => order.id == made && order.client_id.is_none(),
        }
    }
}

/// Finds the order by its number, or by its name: the two parameters. Returns `None` if no order of the client has the
/// name.
pub(crate) async fn find_order(
    app: &BinanceState,
    account: AccountId,
    asked: &Parameters,
    [number, name]: [&str; 2],
) -> Result<Option<OrderRef>, Refusal> {
    let by_number = |order| Ok(Some(OrderRef { order, called: None }));
    if let Some(order) = asked.number(number)? {
        let Some(text) = asked.text(name) else { return by_number(OrderId(order)) };
        // If a request has both, both have to fit.
        return Ok(client_names::read(text).map(|called| OrderRef { order: OrderId(order), called: Some(called) }));
    }
    let Some(text) = asked.text(name) else {
        let msg = format!("Param '{name}' or '{number}' must be sent, but both were empty/null!");
        return Err(Refusal::new(-1102, msg));
    };
    let id = match client_names::read(text) {
        Some(ParsedName::Own(id)) => id,
        Some(called @ ParsedName::Made(order)) => return Ok(Some(OrderRef { order, called: Some(called) })),
        None => return Ok(None),
    };
    match ask(app, Op::Query(Query { account, order: id.into() })).await? {
        Reply::Status(status) => by_number(status.order),
        Reply::Done(order) => by_number(order),
        Reply::Rejected(_) => Ok(None),
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
        | Reply::Canceled(_) => Err(Refusal::internal()),
    }
}

/// Submits one op.
pub(crate) async fn ask(app: &BinanceState, op: Op) -> Result<Reply, Refusal> {
    let [answer] = ask_all(app, [op]).await?;
    answer
}

/// Submits several ops as one request, with nothing in between.
pub(crate) async fn ask_all<const N: usize>(
    app: &BinanceState,
    ops: [Op; N],
) -> Result<[Result<Reply, Refusal>; N], Refusal> {
    let answers = app.submitter()?.ask(&ops).await.map_err(|_| Refusal::unknown_outcome())?;
    let answers: [Answered; N] = answers.try_into().map_err(|_| Refusal::unknown_outcome())?;
    Ok(answers.map(|answer| match answer {
        Answered::Reply(reply) => Ok(reply),
        Answered::Unavailable(why) => Err(Refusal::unavailable(why)),
    }))
}

/// Calls `show` for the account of a request.
pub(crate) async fn of_account<T: Send + 'static>(
    app: &BinanceState,
    account: AccountId,
    show: impl FnOnce(&mut ReadModel<Hub>, AccountIndex) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let shown = app.look(move |model| match model.view.find_account(account) {
        Some(account) => show(model, account),
        None => Err(Refusal::of(&terms::Reject::UnknownAccount)),
    });
    shown.await?
}
