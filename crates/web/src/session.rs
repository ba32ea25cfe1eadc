//! One WebSocket connection: requests in, messages out.

use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::response::Response;
use futures_util::SinkExt;
use serde_json::Value;
use tokio::sync::mpsc::UnboundedReceiver;

use crate::hub::{Hub, Topic};
use crate::input;
use crate::messages::{done, refusal};
use crate::outbox::Outbox;
use crate::problem::Problem;
use crate::site::Site;

/// Subscriptions of one connection at most.
const SUBSCRIPTIONS_MAX: usize = 64;
/// The longest message from a client.
const MESSAGE_BYTES_MAX: usize = 16 * 1024;
/// The library fills this much with zeros whenever it looks whether a client sent something.
const READ_BYTES: usize = 1024;
/// Messages sent before the socket is flushed.
const SENT_AT_ONCE: usize = 256;

pub(crate) async fn upgrade(State(site): State<Site>, upgrade: WebSocketUpgrade) -> Result<Response, Problem> {
    site.market()?;
    let upgrade = upgrade.max_message_size(MESSAGE_BYTES_MAX).read_buffer_size(READ_BYTES);
    Ok(upgrade.on_upgrade(move |socket| async move {
        let (outbox, messages) = Outbox::new();
        let mut session = Session { site: site.clone(), outbox: outbox.clone(), topics: 0 };
        session.run(socket, messages).await;
        if let Ok(market) = site.market() {
            market.asker.ask(move |scene| Hub::leave(scene, &outbox));
        }
    }))
}

struct Session {
    site: Site,
    outbox: Outbox,
    topics: usize,
}

/// What a client asks for.
enum Request {
    Subscribe(Channel),
    Unsubscribe(Channel),
    Ping,
}

/// A topic by the names that clients use.
enum Channel {
    Book(engine::Symbol),
    Trades(engine::Symbol),
    Candles(engine::Symbol, feed::Interval),
    Orders(engine::AccountId),
    Symbols,
    Status,
}

impl Session {
    /// Until either side ends it.
    async fn run(&mut self, mut socket: WebSocket, mut messages: UnboundedReceiver<Utf8Bytes>) {
        loop {
            tokio::select! {
                received = socket.recv() => match received {
                    Some(Ok(Message::Text(text))) => self.request(&text).await,
                    // Pongs are sent by the library.
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Ok(Message::Binary(_))) => {
                        self.outbox.send(refusal(None, "malformed", "requests are JSON objects in text messages"));
                    }
                    Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                },
                Some(message) = messages.recv() => {
                    let sending = send(&mut socket, message, &mut messages, &self.outbox);
                    let sending = self.site.telling().count(sending);
                    tokio::select! {
                        sent = sending => if sent.is_err() { return },
                        () = self.outbox.too_slow() => return too_slow(socket).await,
                    }
                }
                () = self.outbox.too_slow() => return too_slow(socket).await,
            }
        }
    }

    /// Does what a client asks for and answers.
    async fn request(&mut self, text: &str) {
        let request: Value = match serde_json::from_str(text) {
            Ok(request) => request,
            Err(error) => return self.outbox.send(refusal(None, "malformed", &error.to_string())),
        };
        if let Err(problem) = self.follow(&request).await {
            self.outbox.send(refusal(request.get("id"), problem.code, &problem.detail));
        }
    }

    async fn follow(&mut self, request: &Value) -> Result<(), Problem> {
        match read(request)? {
            Request::Ping => self.outbox.send(done("pong", request)),
            Request::Subscribe(channel) => {
                if self.topics >= SUBSCRIPTIONS_MAX {
                    let detail = format!("a connection may have {SUBSCRIPTIONS_MAX} subscriptions");
                    return Err(Problem::malformed(detail));
                }
                let (outbox, answer) = (self.outbox.clone(), done("subscribed", request));
                let subscribed = self.site.look(move |scene| {
                    let topic = channel.topic(scene)?;
                    outbox.send(answer);
                    Ok(Hub::subscribe(scene, topic, &outbox))
                });
                self.topics += usize::from(subscribed.await??);
            }
            Request::Unsubscribe(channel) => {
                let (outbox, answer) = (self.outbox.clone(), done("unsubscribed", request));
                let unsubscribed = self.site.look(move |scene| {
                    let topic = channel.topic(scene)?;
                    let was = Hub::unsubscribe(scene, topic, &outbox);
                    outbox.send(answer);
                    Ok(was)
                });
                self.topics -= usize::from(unsubscribed.await??);
            }
        }
        Ok(())
    }
}

/// Sends a message and those that wait behind it, then flushes.
async fn send(
    socket: &mut WebSocket,
    first: Utf8Bytes,
    messages: &mut UnboundedReceiver<Utf8Bytes>,
    outbox: &Outbox,
) -> Result<(), axum::Error> {
    let mut next = Some(first);
    for _ in 0..SENT_AT_ONCE {
        let Some(message) = next else { break };
        let length = message.len();
        socket.feed(Message::Text(message)).await?;
        outbox.sent(length);
        next = messages.try_recv().ok();
    }
    if let Some(message) = next {
        let length = message.len();
        socket.feed(Message::Text(message)).await?;
        outbox.sent(length);
    }
    socket.flush().await
}

/// Says so, if the client still listens, and ends.
async fn too_slow(mut socket: WebSocket) {
    let frame = CloseFrame { code: close_code::AGAIN, reason: "too-slow".into() };
    let told = async {
        let _ = socket.send(Message::Text(refusal(None, "too-slow", "messages were not read in time"))).await;
        let _ = socket.send(Message::Close(Some(frame))).await;
    };
    let _ = tokio::time::timeout(std::time::Duration::from_secs(1), told).await;
}

fn read(request: &Value) -> Result<Request, Problem> {
    let known = ["op", "id", "channel", "symbol", "account", "interval"];
    let fields = request.as_object().ok_or_else(|| Problem::malformed("a request is a JSON object"))?;
    if let Some(unknown) = fields.keys().find(|field| !known.contains(&field.as_str())) {
        return Err(Problem::field(unknown, format!("there is no field {unknown}")));
    }
    match field(request, "op")? {
        "ping" => Ok(Request::Ping),
        "subscribe" => Ok(Request::Subscribe(channel(request)?)),
        "unsubscribe" => Ok(Request::Unsubscribe(channel(request)?)),
        _ => Err(Problem::field("op", "op is subscribe, unsubscribe or ping")),
    }
}

fn channel(request: &Value) -> Result<Channel, Problem> {
    let symbol = || field(request, "symbol").and_then(input::symbol);
    Ok(match field(request, "channel")? {
        "book" => Channel::Book(symbol()?),
        "trades" => Channel::Trades(symbol()?),
        "candles" => Channel::Candles(symbol()?, input::interval(field(request, "interval")?)?),
        "orders" => Channel::Orders(input::account(field(request, "account")?)?),
        "symbols" => Channel::Symbols,
        "status" => Channel::Status,
        _ => {
            let detail = "channel is book, trades, candles, orders, symbols or status";
            return Err(Problem::field("channel", detail));
        }
    })
}

fn field<'a>(request: &'a Value, name: &str) -> Result<&'a str, Problem> {
    let text = request.get(name).and_then(Value::as_str);
    text.ok_or_else(|| Problem::field(name, format!("{name} is missing, or no string")))
}

impl Channel {
    fn topic(&self, scene: &feed::Scene<Hub>) -> Result<Topic, Problem> {
        let symbol = |name| scene.view.find_symbol(name).ok_or_else(Problem::unknown_symbol);
        Ok(match *self {
            Channel::Book(name) => Topic::Book(symbol(name)?),
            Channel::Trades(name) => Topic::Trades(symbol(name)?),
            Channel::Candles(name, interval) => Topic::Candles(symbol(name)?, interval),
            Channel::Orders(id) => Topic::Orders(scene.view.find_account(id).ok_or_else(Problem::unknown_account)?),
            Channel::Symbols => Topic::Symbols,
            Channel::Status => Topic::Status,
        })
    }
}
