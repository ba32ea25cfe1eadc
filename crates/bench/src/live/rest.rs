//! A closed loop of orders over REST: connections that stay open, one request in flight on each.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::interrupt;
use crate::load::{Choice, Random, Tally, crossing, own_cpu, resting, symbol_name};

/// Orders are sent round and round.
const PREPARED: usize = 1 << 14;

/// What is sent to whom.
pub struct RestPlan {
    pub to: SocketAddr,
    pub connections: usize,
    pub accounts: u64,
    pub symbols: u64,
    pub warmup: Duration,
    pub duration: Duration,
    /// How long no reply may come.
    pub patience: Duration,
}

/// Sends orders, of which half execute. Calls `measuring` when the measured part begins. Errors: connections that cannot be
/// made.
pub fn drive(plan: &RestPlan, measuring: impl FnOnce()) -> Result<Tally, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("cannot start a runtime: {error}"))?.block_on(run(plan, measuring))
}

/// What all connections share.
struct Shared {
    host: String,
    orders: Vec<Prepared>,
    next: AtomicUsize,
    measured_from: Instant,
    until: Instant,
    patience: Duration,
}

async fn run(plan: &RestPlan, measuring: impl FnOnce()) -> Result<Tally, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", plan.to);
    let orders = orders(plan);
    let mut senders = Vec::new();
    for _ in 0..plan.connections {
        let stream = TcpStream::connect(plan.to).await.map_err(|error| failed(&error))?;
        stream.set_nodelay(true).map_err(|error| failed(&error))?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
        // What ends it is told to its sender.
        tokio::spawn(async { drop(connection.await) });
        senders.push(sender);
    }
    let measured_from = Instant::now() + plan.warmup;
    let until = measured_from + plan.duration;
    let (host, next, patience) = (plan.to.to_string(), AtomicUsize::new(0), plan.patience);
    let shared = Arc::new(Shared { host, orders, next, measured_from, until, patience });
    let mut traders: JoinSet<Tally> = senders.into_iter().map(|sender| trade(sender, shared.clone())).collect();
    tokio::time::sleep_until(measured_from.into()).await;
    measuring();
    let (cpu, since) = (own_cpu(), Instant::now());
    let mut all = Tally { connections_max: plan.connections as u64, ..Tally::default() };
    while let Some(tally) = traders.join_next().await {
        all.add(&tally.map_err(|_| "a connection has failed: see the message above".to_string())?);
    }
    all.cpu_share = own_cpu().saturating_sub(cpu).as_secs_f64() / since.elapsed().as_secs_f64().max(1e-9);
    Ok(all)
}

/// One connection, until the end or its first fault.
async fn trade(mut sender: SendRequest<Full<Bytes>>, shared: Arc<Shared>) -> Tally {
    let mut tally = Tally { in_flight_max: 1, ..Tally::default() };
    loop {
        let sent = Instant::now();
        if sent >= shared.until || interrupt::is_asked() {
            return tally;
        }
        let order = &shared.orders[shared.next.fetch_add(1, Ordering::Relaxed) % shared.orders.len()];
        let measured = sent >= shared.measured_from;
        if measured {
            tally.sent += 1;
            tally.first_sent.get_or_insert(sent);
        }
        let fault = match tokio::time::timeout(shared.patience, ask(&mut sender, &shared.host, order)).await {
            Ok(Ok((status, body))) => {
                let now = Instant::now();
                if measured {
                    tally.answered(now, now.saturating_duration_since(sent));
                }
                if !order.is_right(status, &body) {
                    tally.wrong += 1;
                    tally.wrong("a wrong reply", &body);
                }
                continue;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no reply for {} s", shared.patience.as_secs_f64()),
        };
        tally.broken(&fault);
        tally.lost += 1;
        return tally;
    }
}

async fn ask(
    sender: &mut SendRequest<Full<Bytes>>,
    host: &str,
    order: &Prepared,
) -> Result<(StatusCode, Bytes), Box<dyn std::error::Error + Send + Sync>> {
    let request = Request::post("/api/v1/orders").header(HOST, host).header(CONTENT_TYPE, "application/json");
    sender.ready().await?;
    let reply = sender.send_request(request.body(Full::new(order.body.clone()))?).await?;
    Ok((reply.status(), reply.into_body().collect().await?.to_bytes()))
}

/// An order to be placed, and what its reply must say.
struct Prepared {
    body: Bytes,
    /// The body of its reply behind the order's id.
    echo: String,
}

impl Prepared {
    fn new(order: &Choice) -> Prepared {
        let &Choice { account, symbol, buys, shares, cents } = order;
        let (symbol, side, limit) = (symbol_name(symbol), if buys { "buy" } else { "sell" }, dollars(cents));
        let fields = format!(
            r#""account":"{account}","symbol":"{symbol}","side":"{side}","limit":"{limit}","shares":"{shares}"}}"#
        );
        Prepared { body: format!("{{{fields}").into(), echo: format!(r#","client_order_id":null,{fields}"#) }
    }

    /// Whether this reply accepts the order.
    fn is_right(&self, status: StatusCode, body: &[u8]) -> bool {
        let Some(id) = body.strip_prefix(b"{\"order_id\":") else { return false };
        let digits = id.iter().take_while(|byte| byte.is_ascii_digit()).count();
        status == StatusCode::CREATED && digits > 0 && id[digits..] == *self.echo.as_bytes()
    }
}

/// As the server writes it: without zeros at the end.
fn dollars(cents: usize) -> String {
    let text = format!("{}.{:02}", cents / 100, cents % 100);
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// In turn two that execute against each other and two that rest.
fn orders(plan: &RestPlan) -> Vec<Prepared> {
    let mut random = Random(1);
    let crossing = crossing(&mut random, plan.accounts, plan.symbols, PREPARED / 2);
    let resting = resting(&mut random, plan.accounts, plan.symbols, PREPARED / 2);
    let pairs = crossing.chunks(2).zip(resting.chunks(2));
    pairs.flat_map(|(crossing, resting)| crossing.iter().chain(resting)).map(Prepared::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_order_that_was_sent_is_right() {
        const BODY: &str = r#"{"order_id":99,"client_order_id":null,"account":"7","symbol":"SYM1","side":"buy","limit":"145.5","shares":"12"}"#;
        let prepared = Prepared::new(&Choice { account: 7, symbol: 1, buys: true, shares: 12, cents: 14_550 });
        let right = |status, body: &str| prepared.is_right(status, body.as_bytes());
        assert!(right(StatusCode::CREATED, BODY));
        assert!(!right(StatusCode::OK, BODY));
        assert!(!right(StatusCode::CREATED, &BODY.replace("99", "")));
        assert!(!right(StatusCode::CREATED, &BODY.replace("145.5", "145.4")));
        assert!(!right(StatusCode::CREATED, &(BODY.to_string() + " ")));
        assert_eq!([100, 101, 110, 1000].map(dollars), ["1", "1.01", "1.1", "10"]);
    }
}
