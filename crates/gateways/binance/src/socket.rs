//! A connection that follows streams: those in its path, and those that it subscribes to later.

use std::collections::BTreeSet;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::response::Response;
use exchange::Read;
use feed::{Candle, ReadModel};
use serde_json::{Value, json};
use terms::{AccountId, AccountIndex, SymbolIndex};

use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use crate::time_unit::TimeUnit;
use crate::topic::{Envelope, Stream, StreamTopic, Wrap};
use crate::{klines, stream};
use http_gateway::conversation::{self, Party};
use http_gateway::current_principal::{self, Asker};
use http_gateway::hub::Hub;
use http_gateway::outbox::Outbox;
use http_gateway::problem::Problem;
use http_gateway::shared_text::SharedText;
use http_gateway::topic::SecretName;
use http_gateway::upgrade::Upgrade;

/// Streams that one connection may follow, at most.
const STREAMS_MAX: usize = 200;
/// The one property of a connection: whether each event names its stream.
const COMBINED: &str = "combined";
/// The pause between two changes of it.
const EXCHANGE_PAUSE: Duration = Duration::from_millis(100);

/// Begins a connection without streams.
pub(crate) async fn upgrade_bare(
    State(app): State<BinanceState>,
    upgrade: Result<Upgrade, Problem>,
    asked: Parameters,
) -> Result<Response, Refusal> {
    let unit = unit_of(&asked, &[])?;
    follow(app, upgrade?, Envelope { wrap: Wrap::Raw, unit }, Vec::new()).await
}

/// Begins a connection with the streams in its path: their names, or a listen key. A number is no stream; some clients
/// number their connections in this way.
pub(crate) async fn upgrade_raw(
    State(app): State<BinanceState>,
    Path(streams): Path<String>,
    upgrade: Result<Upgrade, Problem>,
    asked: Parameters,
) -> Result<Response, Refusal> {
    let unit = unit_of(&asked, &[])?;
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let names = streams.split('/').filter(|name| !is_number(name)).map(str::to_owned).collect();
    follow(app, upgrade?, Envelope { wrap: Wrap::Raw, unit }, names).await
}

/// Begins a connection with the streams of `?streams=`, whose events name their stream.
pub(crate) async fn upgrade_combined(
    State(app): State<BinanceState>,
    upgrade: Result<Upgrade, Problem>,
    asked: Parameters,
) -> Result<Response, Refusal> {
    let unit = unit_of(&asked, &["streams"])?;
    let streams = asked.text("streams").unwrap_or_default();
    let names = streams.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    follow(app, upgrade?, Envelope { wrap: Wrap::Combined, unit }, names).await
}

/// Reads the unit of times from an address. Errors: it has other parameters than that and `known`.
pub(crate) fn unit_of(asked: &Parameters, known: &[&str]) -> Result<TimeUnit, Refusal> {
    asked.only(&[known, &["timeUnit"]].concat())?;
    let unit = |name| TimeUnit::parse(name).ok_or_else(|| Refusal::illegal("timeUnit", "MILLISECOND, MICROSECOND"));
    asked.text("timeUnit").map_or(Ok(asked.unit), unit)
}

/// Begins a connection. An unknown stream does not refuse it, because the client may subscribe to other streams later.
async fn follow(
    app: BinanceState,
    upgrade: Upgrade,
    envelope: Envelope,
    names: Vec<String>,
) -> Result<Response, Refusal> {
    let found = find_all(&app, envelope, names).await?;
    let topics = found.into_iter().filter_map(|(name, topic)| topic.map(|topic| (name, topic))).collect();
    let own = app.clone();
    let party = move |outbox| StreamConnection { app: own, outbox, envelope, topics };
    conversation::begin(&app, upgrade, party).await.map_err(Refusal::from)
}

/// A stream, and the name by which the client asked for it.
type NamedTopic = (String, StreamTopic);

/// A connection that follows streams.
struct StreamConnection {
    app: BinanceState,
    outbox: Outbox,
    envelope: Envelope,
    /// The streams that it follows; before it begins, those that it is to follow.
    topics: Vec<NamedTopic>,
}

impl Party for StreamConnection {
    async fn begin(&mut self) -> Result<(), Problem> {
        let topics = std::mem::take(&mut self.topics);
        self.subscribe(topics, None, Vec::new()).await
    }

    /// Asks a database for the last days of streams that began without them.
    async fn accepted(&mut self) {
        let days = days_of(&self.app, &self.topics).await;
        if !days.is_empty() {
            let learn = |model: &mut ReadModel<Hub>| {
                days.into_iter().for_each(|(symbol, days)| Hub::learn(model, symbol, days));
            };
            // A feed that has ended sends no events.
            drop(self.app.look(learn).await);
        }
    }

    async fn heard(&mut self, text: &str) {
        let room = current_principal::take_message();
        let request: Value = match http_gateway::json::request(text) {
            Ok(request) => request,
            Err(error) if room.is_ok() => return self.refuse(&Value::Null, 3, &format!("Invalid JSON: {error}")),
            Err(_) => Value::Null,
        };
        let id = request["id"].clone();
        if let Err(past) = room {
            return self.refuse(&id, 2, &Refusal::past_pace(past).msg);
        }
        match request["method"].as_str() {
            Some("SUBSCRIBE") => {
                let before = current_principal::followed();
                if let Err(refusal) = self.follow_more(&request, answer(&id, &Value::Null)).await {
                    current_principal::follows_again(before);
                    self.refuse(&id, 2, &refusal.msg);
                }
            }
            Some("UNSUBSCRIBE") => {
                let before = current_principal::followed();
                let named = self.named(&request).await;
                current_principal::follows_again(before);
                match named {
                    Ok(topics) => self.unsubscribe(topics, answer(&id, &Value::Null)).await,
                    Err(refusal) => self.refuse(&id, 2, &refusal.msg),
                }
            }
            Some("LIST_SUBSCRIPTIONS") => {
                let names: Vec<&str> = self.topics.iter().map(|(name, _)| name.as_str()).collect();
                self.outbox.send(answer(&id, &json!(names)));
            }
            Some("SET_PROPERTY") => match (&request["params"][0], &request["params"][1]) {
                (Value::String(name), Value::Bool(combined)) if name == COMBINED => {
                    let wrap = if *combined { Wrap::Combined } else { Wrap::Raw };
                    let envelope = Envelope { wrap, ..self.envelope };
                    self.envelop(envelope, answer(&id, &Value::Null)).await;
                }
                (Value::String(name), _) if name == COMBINED => {
                    self.refuse(&id, 1, "Invalid value type: expected Boolean");
                }
                _ => self.refuse(&id, 0, "Unknown property"),
            },
            Some("GET_PROPERTY") if request["params"][0] == COMBINED => {
                self.outbox.send(answer(&id, &json!(self.envelope.wrap == Wrap::Combined)));
            }
            Some("GET_PROPERTY") => self.refuse(&id, 0, "Unknown property"),
            _ => self.refuse(
                &id,
                2,
                "Invalid request: method is SUBSCRIBE, UNSUBSCRIBE, LIST_SUBSCRIPTIONS, SET_PROPERTY or GET_PROPERTY",
            ),
        }
    }

    fn no_text(&mut self) {
        match current_principal::take_message() {
            Ok(()) => self.refuse(&Value::Null, 3, "Invalid JSON: requests are text messages"),
            Err(past) => self.refuse(&Value::Null, 2, &Refusal::past_pace(past).msg),
        }
    }

    fn farewell(&self) -> Option<SharedText> {
        None
    }
}

impl StreamConnection {
    /// Reads the streams of a request.
    async fn named(&self, request: &Value) -> Result<Vec<NamedTopic>, Refusal> {
        let invalid = || Refusal::new(2, "Invalid request: params is a list of names of streams");
        let names = request["params"].as_array().ok_or_else(invalid)?;
        let names = names.iter().map(|name| name.as_str().map(str::to_owned).ok_or_else(invalid));
        let found = find_all(&self.app, self.envelope, names.collect::<Result<_, _>>()?).await?;
        // A client that subscribes now can be refused at once; it would never get an event.
        let unknown = |name: &str| Refusal::new(-1130, format!("Invalid request: there is no stream {name:?}"));
        found.into_iter().map(|(name, topic)| Ok((name.clone(), topic.ok_or_else(|| unknown(&name))?))).collect()
    }

    /// Returns these streams. Errors: the connection would follow too many.
    fn with_room(&self, topics: Vec<NamedTopic>) -> Result<Vec<NamedTopic>, Refusal> {
        let has_room = self.topics.len() + topics.len() <= STREAMS_MAX;
        let too_many = || Refusal::new(2, format!("Invalid request: a connection may follow {STREAMS_MAX} streams"));
        has_room.then_some(topics).ok_or_else(too_many)
    }

    /// Follows the streams of a request. `answer` is sent before their first events.
    async fn follow_more(&mut self, request: &Value, answer: SharedText) -> Result<(), Refusal> {
        let topics = self.with_room(self.named(request).await?)?;
        let days = days_of(&self.app, &topics).await;
        Ok(self.subscribe(topics, Some(answer), days).await?)
    }

    /// Follows streams. `answer` is sent before their first events. Errors: the feed has ended.
    async fn subscribe(
        &mut self,
        topics: Vec<NamedTopic>,
        answer: Option<SharedText>,
        days: Vec<(SymbolIndex, Vec<Candle>)>,
    ) -> Result<(), Problem> {
        let (outbox, all) = (self.outbox.clone(), topics.clone());
        let subscribed = self.app.subscribe(&self.outbox, move |model| {
            if let Some(answer) = answer {
                outbox.send(answer);
            }
            for (_, topic) in all {
                Hub::subscribe(model, topic.topic(), &outbox);
            }
            days.into_iter().for_each(|(symbol, days)| Hub::learn(model, symbol, days));
        });
        subscribed.await?;
        let new = topics.into_iter().filter(|(_, topic)| !self.topics.iter().any(|(_, its)| its == topic));
        let new: Vec<NamedTopic> = new.collect();
        self.topics.extend(new);
        Ok(())
    }

    /// Leaves streams, and follows the accounts no more whose last stream it was.
    async fn unsubscribe(&mut self, topics: Vec<NamedTopic>, answer: SharedText) {
        let accounts =
            |its: &[NamedTopic]| its.iter().filter_map(|(_, topic)| topic.account()).collect::<BTreeSet<_>>();
        let before = accounts(&self.topics);
        self.topics.retain(|(_, topic)| !topics.iter().any(|(_, gone)| gone == topic));
        let left: Vec<AccountIndex> = before.difference(&accounts(&self.topics)).copied().collect();
        let outbox = self.outbox.clone();
        let unsubscribed = self.app.look(move |model| {
            for (_, topic) in topics {
                Hub::unsubscribe(model, topic.topic(), &outbox);
            }
            outbox.send(answer);
            left.into_iter().map(|account| model.view.account(account).id).collect::<Vec<AccountId>>()
        });
        // A feed that has ended sends no events either.
        let left = unsubscribed.await.unwrap_or_default();
        left.into_iter().for_each(|account| current_principal::leaves(Read::Account(account)));
    }

    /// Sends events in another envelope from now on.
    async fn envelop(&mut self, envelope: Envelope, answer: SharedText) {
        self.envelope = envelope;
        let changed: Vec<(StreamTopic, StreamTopic)> = self
            .topics
            .iter()
            .map(|named| (named.1, enveloped(named, envelope)))
            .filter(|(from, to)| from != to)
            .collect();
        self.topics.iter_mut().for_each(|named| named.1 = enveloped(named, envelope));
        let outbox = self.outbox.clone();
        let exchanged = self.app.subscribe(&self.outbox, move |model| {
            changed.into_iter().for_each(|(from, to)| Hub::exchange(model, from.topic(), to.topic(), &outbox));
            outbox.send(answer);
        });
        // A feed that has ended sends no events either.
        drop(exchanged.await);
        // Each change sends gathered events early: the pause keeps a client from getting them all the time by changing
        // it again and again.
        tokio::time::sleep(EXCHANGE_PAUSE).await;
    }

    fn refuse(&self, id: &Value, code: i32, msg: &str) {
        let refusal = json!({"error": {"code": code, "msg": msg}, "id": id});
        self.outbox.send(refusal.to_string().into());
    }
}

/// Returns the last days of symbols whose candles are made of more days than memory may have.
async fn days_of(app: &BinanceState, topics: &[NamedTopic]) -> Vec<(SymbolIndex, Vec<Candle>)> {
    if !app.market().is_ok_and(|market| market.about.is_database()) {
        return Vec::new();
    }
    let symbols: BTreeSet<SymbolIndex> = topics.iter().filter_map(|(_, topic)| of_days(*topic)).collect();
    let mut found = Vec::new();
    for symbol in symbols {
        match klines::days(app, symbol).await {
            Ok(days) => found.push((symbol, days)),
            Err(error) => tracing::warn!(%error, "candles of days begin with what memory has"),
        }
    }
    found
}

fn of_days(topic: StreamTopic) -> Option<SymbolIndex> {
    let StreamTopic::OfSymbol(symbol, Stream::Kline(interval), _) = topic else { return None };
    interval.is_of_days().then_some(symbol)
}

fn answer(id: &Value, result: &Value) -> SharedText {
    json!({"result": result, "id": id}).to_string().into()
}

/// Returns the account of a listen key; `None` for another name, which is a stream of the market. Errors: the asker may
/// not follow the account, or the holder of the key may not any more.
fn of_whom(app: &BinanceState, found: Option<(AccountId, Option<Asker>)>) -> Result<Option<AccountId>, Problem> {
    match found {
        Some((account, holder)) => app.follow_as(holder, Read::Account(account)).map(|()| Some(account)),
        None => app.follow(Read::Market).map(|()| None),
    }
}

/// Finds the streams of these names; `None` for a name without a stream.
async fn find_all(
    app: &BinanceState,
    envelope: Envelope,
    names: Vec<String>,
) -> Result<Vec<(String, Option<StreamTopic>)>, Refusal> {
    if names.len() > STREAMS_MAX {
        return Err(Refusal::invalid("streams", &format!("a connection may follow {STREAMS_MAX}")));
    }
    let own = app.own()?;
    let mut found = Vec::with_capacity(names.len());
    for name in names {
        found.push((of_whom(app, own.listen_keys.find(&name))?, name));
    }
    let names = found;
    app.ascertain().await?;
    let found = app.look(move |model| {
        let find = |(account, name): (Option<AccountId>, String)| {
            let topic = match account {
                Some(account) => {
                    let account = model.view.find_account(account);
                    account.zip(SecretName::of(&name)).map(|(account, key)| of_account(account, key, envelope))
                }
                None => stream::find(&model.view, &name, envelope),
            };
            (name, topic)
        };
        names.into_iter().map(find).collect()
    });
    Ok(found.await?)
}

fn of_account(account: AccountIndex, key: SecretName, envelope: Envelope) -> StreamTopic {
    match envelope.wrap {
        Wrap::Combined => StreamTopic::UserByKey(account, key, envelope.unit),
        Wrap::Raw | Wrap::Api => StreamTopic::User(account, envelope),
    }
}

/// Returns the same stream in another envelope.
fn enveloped((name, topic): &NamedTopic, envelope: Envelope) -> StreamTopic {
    match *topic {
        StreamTopic::OfSymbol(symbol, stream, _) => StreamTopic::OfSymbol(symbol, stream, envelope),
        StreamTopic::OfAll(tickers, _) => StreamTopic::OfAll(tickers, envelope),
        StreamTopic::User(account, _) | StreamTopic::UserByKey(account, ..) => {
            SecretName::of(name).map_or(*topic, |key| of_account(account, key, envelope))
        }
    }
}
