//! One WebSocket connection: requests in, messages out.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use exchange::Read;
use serde_json::Value;
use tokio::sync::Semaphore;

use crate::app_state::AppState;
use crate::contained::{TaskBeside, tell_beside};
use crate::conversation::{self, Party};
use crate::current_principal;
use crate::drop_copy::{self, DropCopyRequest, DropCopyScope};
use crate::hub::Hub;
use crate::input;
use crate::messages::{done, refusal};
use crate::outbox::Outbox;
use crate::problem::Problem;
use crate::protecting::{self, Protection, Protector};
use crate::report_replay;
use crate::shared_text::SharedText;
use crate::topic::Topic;
use crate::topic_count::TopicCount;
use crate::upgrade::Upgrade;

/// Subscriptions of one connection, at most.
const SUBSCRIPTIONS_MAX: usize = 64;
/// Replays of one connection that are under way at once; further ones wait for one of these to end.
const REPLAYS_AT_ONCE: usize = 4;

pub(crate) async fn upgrade(State(app): State<AppState>, upgrade: Upgrade) -> Result<Response, Problem> {
    app.market()?;
    app.follow(Read::Market)?;
    conversation::begin(&app, upgrade, |outbox| Session {
        app: app.clone(),
        outbox,
        topics: TopicCount::default(),
        protector: None,
        drop_copy: None,
        replays: HashMap::new(),
        replaying: Arc::new(Semaphore::new(REPLAYS_AT_ONCE)),
    })
    .await
}

struct Session {
    app: AppState,
    outbox: Outbox,
    topics: TopicCount,
    /// The protector, once it protects accounts.
    protector: Option<Protector>,
    drop_copy: Option<TaskBeside>,
    /// The replays of accounts' reports, which are over or end with the subscription.
    replays: HashMap<terms::AccountId, TaskBeside>,
    /// Permits for replays that are under way.
    replaying: Arc<Semaphore>,
}

/// A request of a client.
enum Request {
    Subscribe(Channel),
    /// A subscription to the reports of an account behind a command.
    Replay(terms::AccountId, terms::Sequence),
    Unsubscribe(Channel),
    Protection(Protection),
    DropCopy(DropCopyRequest),
    NoDropCopy,
    Ping,
}

/// A topic by the names that clients use.
enum Channel {
    Book(terms::Symbol),
    Trades(terms::Symbol),
    Candles(terms::Symbol, feed::Interval),
    Orders(terms::AccountId),
    Symbols,
    Status,
}

impl Party for Session {
    async fn heard(&mut self, text: &str) {
        let room = current_principal::take_message().map_err(Problem::past_limit);
        let request: Value = match crate::json::request(text) {
            Ok(request) => request,
            Err(error) => return self.refuse_unread(room, &error.to_string()),
        };
        let followed = match room {
            Ok(()) => self.follow(&request).await,
            past => past,
        };
        if let Err(problem) = followed {
            self.outbox.send(refusal(request.get("id"), problem.code.name(), &problem.detail));
        }
    }

    fn no_text(&mut self) {
        let room = current_principal::take_message().map_err(Problem::past_limit);
        self.refuse_unread(room, "requests are JSON objects in text messages");
    }

    fn farewell(&self) -> Option<SharedText> {
        Some(refusal(None, "too-slow", "messages were not read in time"))
    }
}

impl Session {
    /// Refuses a message that is no request, or that exceeds the member's limit.
    fn refuse_unread(&self, room: Result<(), Problem>, why: &str) {
        match room {
            Ok(()) => self.outbox.send(refusal(None, "malformed", why)),
            Err(past) => self.outbox.send(refusal(None, past.code.name(), &past.detail)),
        }
    }

    async fn follow(&mut self, request: &Value) -> Result<(), Problem> {
        match read(request)? {
            Request::Ping => self.outbox.send(done("pong", request)),
            Request::DropCopy(asked) => {
                if self.drop_copy.is_some() {
                    return Err(Problem::malformed("a connection has one drop copy"));
                }
                let answer = done("subscribed", request);
                let running =
                    drop_copy::begin(&self.app, &self.outbox, current_principal::asker(), asked, answer).await?;
                self.drop_copy = Some(running);
            }
            Request::NoDropCopy => {
                self.drop_copy = None;
                self.outbox.send(done("unsubscribed", request));
            }
            Request::Protection(asked) => {
                let told = protecting::change(&self.app, &mut self.protector, &asked, request).await?;
                self.outbox.send(told);
            }
            Request::Subscribe(channel) => {
                self.room_for_one()?;
                self.app.follow(channel.read())?;
                // A long snapshot comes later, and is as certain.
                if !matches!(channel, Channel::Status) {
                    self.app.ascertain().await?;
                }
                let (outbox, answer) = (self.outbox.clone(), done("subscribed", request));
                let subscribed = self.app.subscribe(&self.outbox, move |model| {
                    let topic = channel.topic(model)?;
                    Ok::<_, Problem>(Hub::subscribe_in_turn(model, topic, &outbox, answer))
                });
                self.topics.began(usize::from(subscribed.await??));
            }
            Request::Replay(account, from) => {
                self.room_for_one()?;
                self.app.follow(Read::Account(account))?;
                self.app.ascertain().await?;
                let (outbox, answer) = (self.outbox.clone(), done("subscribed", request));
                let library = self.app.market()?.library.clone();
                let begun = self.app.subscribe(&self.outbox, move |model| {
                    let begun = report_replay::begin(model, library.as_ref(), account, from, &outbox)?;
                    outbox.send(answer);
                    Ok(begun)
                });
                if let Some(replay) = begun.await?? {
                    self.topics.began(1);
                    let (app, topics) = (self.app.clone(), self.topics.clone());
                    let running = report_replay::run(app, current_principal::member(), topics, replay);
                    let replaying = Arc::clone(&self.replaying);
                    let in_turn = async move {
                        // The semaphore is never closed.
                        let _under_way = replaying.acquire().await;
                        running.await;
                    };
                    self.replays.insert(account, tell_beside(self.outbox.clone(), in_turn));
                }
            }
            Request::Unsubscribe(channel) => {
                let read = channel.read();
                self.app.follow(read)?;
                if let Read::Account(account) = read {
                    self.replays.remove(&account);
                }
                let (outbox, answer) = (self.outbox.clone(), done("unsubscribed", request));
                let unsubscribed = self.app.look(move |model| {
                    let topic = channel.topic(model)?;
                    let mut were = usize::from(Hub::unsubscribe(model, topic, &outbox));
                    if let Topic::Orders(account) = topic {
                        were += usize::from(Hub::unsubscribe(model, Topic::Reports(account), &outbox));
                    }
                    outbox.send(answer);
                    Ok(were)
                });
                self.topics.ended(unsubscribed.await??);
                if read != Read::Market {
                    current_principal::leaves(read);
                }
            }
        }
        Ok(())
    }

    fn room_for_one(&self) -> Result<(), Problem> {
        match self.topics.count() < SUBSCRIPTIONS_MAX {
            true => Ok(()),
            false => Err(Problem::malformed(format!("a connection may have {SUBSCRIPTIONS_MAX} subscriptions"))),
        }
    }
}

/// Reads a message that goes nowhere.
#[cfg(feature = "fuzz")]
pub(crate) fn read_alone(text: &str) {
    drop(crate::json::request(text).map(|request| drop(read(&request))));
}

fn read(request: &Value) -> Result<Request, Problem> {
    let known = ["op", "id", "channel", "symbol", "account", "interval", "from", "accounts", "member", "grace"];
    let fields = request.as_object().ok_or_else(|| Problem::malformed("a request is a JSON object"))?;
    if let Some(unknown) = fields.keys().find(|field| !known.contains(&field.as_str())) {
        return Err(Problem::field(unknown, format!("there is no field {unknown}")));
    }
    match field(request, "op")? {
        "ping" => Ok(Request::Ping),
        "subscribe" if is_drop_copy(request) => Ok(Request::DropCopy(drop_copy_asked(request)?)),
        "unsubscribe" if is_drop_copy(request) => Ok(Request::NoDropCopy),
        "subscribe" => match (channel(request)?, request.get("from")) {
            (channel, None) => Ok(Request::Subscribe(channel)),
            (Channel::Orders(account), Some(from)) => Ok(Request::Replay(account, sequence(from)?)),
            (_, Some(_)) => Err(Problem::field("from", "only the channels orders and drop-copy have a from")),
        },
        "unsubscribe" => Ok(Request::Unsubscribe(channel(request)?)),
        op @ ("protect" | "unprotect") => Ok(Request::Protection(protecting::read(op, request)?)),
        _ => Err(Problem::field("op", "op is subscribe, unsubscribe, protect, unprotect or ping")),
    }
}

fn sequence(from: &Value) -> Result<terms::Sequence, Problem> {
    from.as_u64().map(terms::Sequence).ok_or_else(|| Problem::field("from", "from is no sequence"))
}

fn is_drop_copy(request: &Value) -> bool {
    request.get("channel").and_then(Value::as_str) == Some("drop-copy")
}

fn drop_copy_asked(request: &Value) -> Result<DropCopyRequest, Problem> {
    let whose = match (request.get("accounts"), request.get("member")) {
        (None, None) => DropCopyScope::Theirs,
        (Some(_), None) => DropCopyScope::Accounts(protecting::accounts(request)?),
        (None, Some(_)) => DropCopyScope::Member(field(request, "member")?.to_owned()),
        (Some(_), Some(_)) => return Err(Problem::field("member", "member and accounts exclude each other")),
    };
    Ok(DropCopyRequest { whose, from: request.get("from").map(sequence).transpose()? })
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
            let detail = "channel is book, trades, candles, orders, drop-copy, symbols or status";
            return Err(Problem::field("channel", detail));
        }
    })
}

fn field<'a>(request: &'a Value, name: &str) -> Result<&'a str, Problem> {
    let text = request.get(name).and_then(Value::as_str);
    text.ok_or_else(|| Problem::field(name, format!("{name} is missing, or no string")))
}

impl Channel {
    /// Returns the read that a subscriber needs the right to.
    fn read(&self) -> Read {
        match self {
            Channel::Orders(account) => Read::Account(*account),
            Channel::Book(_) | Channel::Trades(_) | Channel::Candles(..) | Channel::Symbols | Channel::Status => {
                Read::Market
            }
        }
    }

    fn topic(&self, model: &feed::ReadModel<Hub>) -> Result<Topic, Problem> {
        let symbol = |name| model.view.find_symbol(name).ok_or_else(Problem::unknown_symbol);
        Ok(match *self {
            Channel::Book(name) => Topic::Book(symbol(name)?),
            Channel::Trades(name) => Topic::Trades(symbol(name)?),
            Channel::Candles(name, interval) => Topic::Candles(symbol(name)?, interval),
            Channel::Orders(id) => Topic::Orders(model.view.find_account(id).ok_or_else(Problem::unknown_account)?),
            Channel::Symbols => Topic::Symbols,
            Channel::Status => Topic::Status,
        })
    }
}
