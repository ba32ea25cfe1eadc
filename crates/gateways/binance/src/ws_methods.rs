//! The methods of the WebSocket API: each is a request of REST, which the same handler answers.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use exchange::Read;
use futures_util::StreamExt;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use crate::ws_call::Form;
use crate::{
    account, amend, cancel, empty_lists, klines, market, oco, order_counts, order_lists, order_test, orders, oto,
    place, replace, rolling, tickers, wallet,
};
use http_gateway::current_principal;
use http_gateway::listener::Life;
use http_gateway::member_turns::Turn;
use http_gateway::outbox::{KeptBytes, Outbox};
use http_gateway::problem::Problem;

/// Bytes of the longest answer, which is one message.
const ANSWER_BYTES_MAX: usize = 8 << 20;
/// Calls of one connection that run at once.
pub(crate) const AT_ONCE: usize = 16;

/// The order in which the calls of a connection run.
pub(crate) struct CallOrder {
    /// The permits for orders: placing one takes one of them, a cancel takes all.
    orders: Semaphore,
    /// The permit for a long answer: one is made at a time.
    long: Semaphore,
}

/// The turn of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallTurn {
    /// Immediately.
    Any,
    /// The turn after the cancels before it. Orders are placed as they arrive, and do not wait for one another's
    /// answers.
    AfterCancels,
    /// The turn after all placements and cancels before it.
    Alone,
}

impl CallTurn {
    /// Returns the turn of a method: orders and cancels of a connection run in the order in which they arrive, as far
    /// as that makes a difference.
    fn of(method: &str) -> CallTurn {
        match method {
            "order.place"
            | "orderList.place"
            | "orderList.place.oco"
            | "orderList.place.oto"
            | "orderList.place.otoco" => CallTurn::AfterCancels,
            "orderList.cancel" => CallTurn::Alone,
            "order.cancel" | "order.cancelReplace" | "order.amend.keepPriority" | "openOrders.cancelAll" => {
                CallTurn::Alone
            }
            _ => CallTurn::Any,
        }
    }
}

impl CallOrder {
    pub(crate) fn new() -> CallOrder {
        CallOrder { orders: Semaphore::new(AT_ONCE), long: Semaphore::new(1) }
    }

    /// Waits for this turn. The calls that wait are served in their order.
    async fn come(&self, turn: CallTurn) -> Option<SemaphorePermit<'_>> {
        let places = match turn {
            CallTurn::Any => return None,
            CallTurn::AfterCancels => 1,
            CallTurn::Alone => AT_ONCE as u32,
        };
        // The semaphore is never closed.
        self.orders.acquire_many(places).await.ok()
    }
}

/// Whether a call is to change something.
pub(crate) fn changes(method: &str) -> bool {
    CallTurn::of(method) != CallTurn::Any
}

/// The methods whose handlers check the signature. The others read the market.
const OF_KEYS: [&str; 24] = [
    "order.place",
    "order.test",
    "order.status",
    "order.cancel",
    "order.cancelReplace",
    "order.amend.keepPriority",
    "order.amendments",
    "orderList.place",
    "orderList.place.oco",
    "orderList.place.oto",
    "orderList.place.otoco",
    "orderList.status",
    "orderList.cancel",
    "openOrderLists.status",
    "allOrderLists",
    "openOrders.status",
    "openOrders.cancelAll",
    "allOrders",
    "myTrades",
    "myAllocations",
    "myPreventedMatches",
    "account.rateLimits.orders",
    "account.status",
    "account.commission",
];

/// Returns the response of a method's handler.
async fn respond(app: BinanceState, method: &str, asked: Parameters) -> Result<Response, Refusal> {
    // Signed calls are counted when their member is known.
    if !OF_KEYS.contains(&method) {
        current_principal::take_message().map_err(Refusal::past_pace)?;
    }
    // Calls that write are certain by their commit, or check by themselves; the first two are about the server alone.
    if CallTurn::of(method) == CallTurn::Any && !["ping", "time"].contains(&method) {
        app.ascertain().await?;
    }
    if !OF_KEYS.contains(&method) && !["ping", "time"].contains(&method) {
        app.follow(Read::Market)?;
    }
    let app = State(app);
    Ok(match method {
        "ping" => market::ping(asked).await.into_response(),
        "time" => market::time(asked).await.into_response(),
        "exchangeInfo" => market::exchange_info(app, asked).await.into_response(),
        "depth" => market::depth(app, asked).await.into_response(),
        "trades.recent" => market::trades(app, asked).await.into_response(),
        "trades.historical" => market::historical_trades(app, asked).await.into_response(),
        "trades.aggregate" => market::aggregate_trades(app, asked).await.into_response(),
        "klines" | "uiKlines" => klines::klines(app, asked).await.into_response(),
        "avgPrice" => tickers::average_price(app, asked).await.into_response(),
        "ticker" => rolling::rolling(app, asked).await.into_response(),
        "ticker.tradingDay" => rolling::trading_day(app, asked).await.into_response(),
        "ticker.24hr" => tickers::day(app, asked).await.into_response(),
        "ticker.price" => tickers::price(app, asked).await.into_response(),
        "ticker.book" => tickers::book(app, asked).await.into_response(),
        "order.place" => place::place(app, asked).await.into_response(),
        "order.test" => order_test::test(app, asked).await.into_response(),
        "order.status" => orders::one(app, asked).await.into_response(),
        "order.cancel" => cancel::cancel(app, asked).await.into_response(),
        "order.cancelReplace" => replace::replace(app, asked).await.into_response(),
        "order.amend.keepPriority" => amend::amend(app, asked).await.into_response(),
        "order.amendments" => amend::amendments(app, asked).await.into_response(),
        "orderList.place" => oco::place_legacy_oco(app, asked).await.into_response(),
        "orderList.place.oco" => oco::place(app, asked).await.into_response(),
        "orderList.place.oto" => oto::place_oto(app, asked).await.into_response(),
        "orderList.place.otoco" => oto::place_otoco(app, asked).await.into_response(),
        "orderList.status" => order_lists::one(app, asked).await.into_response(),
        "orderList.cancel" => order_lists::cancel(app, asked).await.into_response(),
        "openOrderLists.status" => order_lists::open(app, asked).await.into_response(),
        "allOrderLists" => order_lists::all(app, asked).await.into_response(),
        "openOrders.status" => orders::open(app, asked).await.into_response(),
        "openOrders.cancelAll" => cancel::cancel_open(app, asked).await.into_response(),
        "allOrders" => orders::all(app, asked).await.into_response(),
        "myTrades" => account::trades(app, asked).await.into_response(),
        "myAllocations" => empty_lists::allocations(app, asked).await.into_response(),
        "myPreventedMatches" => empty_lists::prevented_matches(app, asked).await.into_response(),
        "account.rateLimits.orders" => order_counts::limits(app, asked).await.into_response(),
        "account.status" => account::account(app, asked).await.into_response(),
        "account.commission" => wallet::commission(app, asked).await.into_response(),
        _ => return Err(Refusal::no_such_call(method)),
    })
}

/// Runs a call and sends its answer.
pub(crate) async fn perform(
    app: BinanceState,
    (form, method, asked): (Form, String, Parameters),
    life: Life,
    outbox: Outbox,
    turns: Arc<CallOrder>,
) {
    let responded = async {
        let responded = {
            let _turn = turns.come(CallTurn::of(&method)).await;
            respond(app.clone(), &method, asked).await
        };
        // A call that was refused before its member was known, or before it came to the exchange, counts here.
        current_principal::take_message_once().map_err(Refusal::past_pace).and(responded)
    };
    let (responded, why) = current_principal::noting(responded).await;
    if let Some(why) = why
        && !app.turn_away(why, &life).await
    {
        return outbox.send(form.refusal(&Refusal::from(Problem::too_many_tries())));
    }
    let gathered = match responded {
        Ok(response) => gather(&app, response, &outbox, &turns).await,
        Err(refusal) => Err(refusal),
    };
    match gathered {
        // The counted bytes and the permits are released once the answer waits in the outbox.
        Ok(GatheredResponse { status, body, .. }) => outbox.send(form.answer(status, body)),
        Err(refusal) => outbox.send(form.refusal(&refusal)),
    }
}

/// A response with all of its body.
struct GatheredResponse<'a> {
    status: StatusCode,
    body: Vec<Box<str>>,
    /// The bytes of the body, counted among those that wait for the connection.
    _kept: Vec<KeptBytes>,
    /// The permit of a long answer of its connection, and its member's turn.
    _turns: Option<(Option<SemaphorePermit<'a>>, Turn)>,
}

/// Collects a response. Errors: the answer is too long, or breaks off; the connection has ended.
async fn gather<'a>(
    app: &'a BinanceState,
    response: Response,
    outbox: &Outbox,
    turns: &'a CallOrder,
) -> Result<GatheredResponse<'a>, Refusal> {
    let status = response.status();
    let mut parts = response.into_body().into_data_stream();
    let (mut body, mut bytes, mut kept, mut long) = (Vec::new(), 0, Vec::new(), None);
    while let Some(part) = parts.next().await {
        // The log has the cause.
        let part = part.map_err(|_| Refusal::internal())?;
        bytes += part.len();
        if bytes > ANSWER_BYTES_MAX {
            return Err(Refusal::too_long_an_answer(ANSWER_BYTES_MAX));
        }
        if long.is_none() && !body.is_empty() {
            let own = turns.long.acquire().await;
            // The client must have taken the previous answer first. Only this connection waits for that.
            outbox.has_room().await;
            // The semaphore is never closed.
            long = Some((own.ok(), app.gathers().await));
        }
        if !outbox.is_open() {
            // This refusal is sent to no client.
            return Err(Refusal::internal());
        }
        kept.push(outbox.keep(part.len()));
        // All answers of REST are ASCII, so no character is cut in two.
        body.push(str::from_utf8(&part).map_err(|_| Refusal::internal())?.into());
    }
    Ok(GatheredResponse { status, body, _kept: kept, _turns: long })
}
