//! A closed loop of orders over REST: connections that stay open, one request in flight on each.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::choice::{Choice, Random, crossing, resting};
use super::replies::Kind;
use super::requesters::{Answer, Requester, block_on, in_time, run_requesters};
use super::requests::symbol_name;
use super::{LoadResult, Plan};
use crate::records::LoadSettings;

/// Orders that are prepared, and sent round and round.
const PREPARED: usize = 1 << 14;

/// Sends orders, half of which execute. Calls `measuring` when the measured part begins. Errors: connections that
/// cannot be made.
pub fn run_rest(plan: &Plan, to: SocketAddr, measuring: &mut dyn FnMut()) -> Result<LoadResult, String> {
    block_on(async {
        let shared = Arc::new(Shared {
            host: to.to_string(),
            orders: orders(&plan.load),
            next: AtomicUsize::new(0),
            patience: plan.server.patience,
        });
        let mut traders = Vec::new();
        for _ in 0..plan.load.connections {
            let sender = connect(to).await.map_err(|error| format!("{to}: {error}"))?;
            traders.push(Trader { sender, shared: shared.clone() });
        }
        run_requesters(traders, &plan.load, measuring).await
    })
}

type Fault = Box<dyn std::error::Error + Send + Sync>;
type Sender = SendRequest<Full<Bytes>>;

async fn connect(to: SocketAddr) -> Result<Sender, Fault> {
    let stream = TcpStream::connect(to).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    // The sender gets the error that ends the connection.
    tokio::spawn(async { drop(connection.await) });
    Ok(sender)
}

/// The state that all connections share.
struct Shared {
    host: String,
    orders: Vec<Prepared>,
    next: AtomicUsize,
    patience: Duration,
}

/// One connection.
struct Trader {
    sender: Sender,
    shared: Arc<Shared>,
}

impl Requester for Trader {
    async fn ask(&mut self) -> Result<Answer, String> {
        let Shared { orders, next, patience, .. } = &*self.shared.clone();
        let order = &orders[next.fetch_add(1, Ordering::Relaxed) % orders.len()];
        let (status, body) = in_time(*patience, self.place(order)).await?;
        Ok(if order.is_right(status, &body) { Answer::Right(Kind::Opened) } else { Answer::Wrong(body.into()) })
    }
}

impl Trader {
    async fn place(&mut self, order: &Prepared) -> Result<(StatusCode, Bytes), Fault> {
        let request = Request::post("/api/v1/orders").header(HOST, &self.shared.host);
        let request = request.header(CONTENT_TYPE, "application/json").body(Full::new(order.body.clone()))?;
        self.sender.ready().await?;
        let reply = self.sender.send_request(request).await?;
        Ok((reply.status(), reply.into_body().collect().await?.to_bytes()))
    }
}

/// An order to place, and its expected reply.
struct Prepared {
    body: Bytes,
    /// The body of its reply behind the order's id.
    echo: String,
}

impl Prepared {
    fn new(order: &Choice) -> Prepared {
        let &Choice { account, symbol, buys, shares, cents, .. } = order;
        let (symbol, side, limit) = (symbol_name(symbol), if buys { "buy" } else { "sell" }, dollars(cents));
        let who = format!(r#""account":"{account}","symbol":"{symbol}","side":"{side}""#);
        let (limit, shares) = (format!(r#""limit":"{limit}""#), format!(r#""shares":"{shares}"}}"#));
        let waits = r#""stop":null,"take_profit":null,"self_trade":"allowed","until":null"#;
        let what = format!(r#""kind":"limit",{limit},{waits},{shares}"#);
        let echo = format!(r#","client_order_id":null,{who},{what}"#);
        Prepared { body: format!("{{{who},{limit},{shares}").into(), echo }
    }

    /// Whether this reply accepts the order.
    fn is_right(&self, status: StatusCode, body: &[u8]) -> bool {
        let Some(id) = body.strip_prefix(b"{\"order_id\":") else { return false };
        let digits = id.iter().take_while(|byte| byte.is_ascii_digit()).count();
        status == StatusCode::CREATED && digits > 0 && id[digits..] == *self.echo.as_bytes()
    }
}

/// Writes dollars as the server does: without zeros at the end.
fn dollars(cents: usize) -> String {
    let text = format!("{}.{:02}", cents / 100, cents % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// Returns in turn two orders that execute against each other and two that rest.
fn orders(load: &LoadSettings) -> Vec<Prepared> {
    let mut random = Random(1);
    let crossing = crossing(&mut random, load.accounts, load.symbols, PREPARED / 2);
    let resting = resting(&mut random, load.accounts, load.symbols, PREPARED / 2);
    let pairs = crossing.chunks(2).zip(resting.chunks(2));
    pairs.flat_map(|(crossing, resting)| crossing.iter().chain(resting)).map(Prepared::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loads::choice::OrderKind;

    #[test]
    fn only_the_order_that_was_sent_is_right() {
        const BODY: &str = r#"{"order_id":99,"client_order_id":null,"account":"7","symbol":"SYM1","side":"buy","kind":"limit","limit":"145.5","stop":null,"take_profit":null,"self_trade":"allowed","until":null,"shares":"12"}"#;
        let prepared = Prepared::new(&Choice {
            account: 7,
            symbol: 1,
            buys: true,
            shares: 12,
            cents: 14_550,
            kind: OrderKind::Limit,
        });
        let right = |status, body: &str| prepared.is_right(status, body.as_bytes());
        assert!(right(StatusCode::CREATED, BODY));
        assert!(!right(StatusCode::OK, BODY));
        assert!(!right(StatusCode::CREATED, &BODY.replace("99", "")));
        assert!(!right(StatusCode::CREATED, &BODY.replace("145.5", "145.4")));
        assert!(!right(StatusCode::CREATED, &(BODY.to_string() + " ")));
        assert_eq!([100, 101, 110, 1000].map(dollars), ["1", "1.01", "1.1", "10"]);
    }
}
