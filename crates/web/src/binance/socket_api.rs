//! The WebSocket API, as far as clients need it to follow their account: one signed request subscribes to it.

use axum::extract::State;
use axum::response::Response;
use engine::AccountId;
use serde_json::{Map, Value, json};

use super::parameters::{self, Parameters, check_time, find_key};
use super::refusal::Refusal;
use super::socket::of_this_unit;
use super::{numbers, time_unit};
use crate::conversation::{self, Party};
use crate::hub::Hub;
use crate::outbox::Outbox;
use crate::problem::Problem;
use crate::site::Site;
use crate::text::Text;
use crate::topic::{Envelope, Topic};
use crate::upgrade::Upgrade;

pub(super) async fn upgrade(
    State(site): State<Site>,
    upgrade: Result<Upgrade, Problem>,
    asked: Parameters,
) -> Result<Response, Refusal> {
    // Its answers tell of no limits, whether they are to or not.
    of_this_unit(&asked, &["returnRateLimits"])?;
    site.market()?;
    Ok(conversation::begin(site, upgrade?, |site, outbox| Caller { site, outbox, followed: Vec::new() }))
}

/// A connection.
struct Caller {
    site: Site,
    outbox: Outbox,
    followed: Vec<Topic>,
}

impl Party for Caller {
    async fn begin(&mut self) {}

    async fn heard(&mut self, text: &str) {
        let request: Value = match crate::json::request(text) {
            Ok(request) => request,
            Err(error) => {
                let refusal = Refusal::new(-1135, format!("Invalid JSON Request: {error}"));
                return self.outbox.send(refused(&Value::Null, &refusal));
            }
        };
        let id = request["id"].clone();
        if let Err(refusal) = self.call(&id, &request).await {
            self.outbox.send(refused(&id, &refusal));
        }
    }

    fn no_text(&mut self) {
        let refusal = Refusal::new(-1135, "Invalid JSON Request: requests are text messages");
        self.outbox.send(refused(&Value::Null, &refusal));
    }

    fn farewell(&self) -> Option<Text> {
        None
    }
}

impl Caller {
    async fn call(&mut self, id: &Value, request: &Value) -> Result<(), Refusal> {
        let none = Map::new();
        let parameters = request["params"].as_object().unwrap_or(&none);
        match request["method"].as_str() {
            Some("ping") => {
                only(parameters, &[])?;
                self.outbox.send(answered(id, &json!({})));
            }
            Some("time") => {
                only(parameters, &[])?;
                self.outbox.send(answered(id, &json!({"serverTime": numbers::now()})));
            }
            Some("userDataStream.subscribe.signature") => {
                only(parameters, &["apiKey", "timestamp", "recvWindow", "signature"])?;
                let account = signed(&self.site, parameters)?;
                self.follow(id, account).await?;
            }
            Some("userDataStream.unsubscribe") => {
                only(parameters, &["subscriptionId"])?;
                let number = parameters.get("subscriptionId").and_then(Value::as_u64);
                self.leave(id, number).await?;
            }
            _ => {
                let msg = "This operation is not supported: method is ping, time, userDataStream.subscribe.signature or \
                           userDataStream.unsubscribe; orders go over REST.";
                return Err(Refusal::new(-1020, msg));
            }
        }
        Ok(())
    }

    async fn follow(&mut self, id: &Value, account: AccountId) -> Result<(), Refusal> {
        self.site.ascertain().await?;
        let (id, outbox) = (id.clone(), self.outbox.clone());
        let topic = self.site.look(move |scene| {
            let unknown = || Refusal::of(&engine::Reject::UnknownAccount);
            let account = scene.view.find_account(account).ok_or_else(unknown)?;
            let topic = Topic::User(account, Envelope::Api);
            outbox.send(answered(&id, &json!({"subscriptionId": account.0})));
            Hub::subscribe(scene, topic, &outbox);
            Ok::<Topic, Refusal>(topic)
        });
        let topic = topic.await??;
        if !self.followed.contains(&topic) {
            self.followed.push(topic);
        }
        Ok(())
    }

    /// One of its subscriptions, or all.
    async fn leave(&mut self, id: &Value, number: Option<u64>) -> Result<(), Refusal> {
        let is_meant = |topic: &Topic| matches!(*topic, Topic::User(account, _) if number.is_none_or(|number| number == u64::from(account.0)));
        let (left, kept): (Vec<Topic>, Vec<Topic>) = self.followed.iter().partition(|topic| is_meant(topic));
        self.followed = kept;
        let (id, outbox) = (id.clone(), self.outbox.clone());
        let done = self.site.look(move |scene| {
            for topic in left {
                Hub::unsubscribe(scene, topic, &outbox);
            }
            outbox.send(answered(&id, &json!({})));
        });
        Ok(done.await?)
    }
}

/// Errors: a request has a parameter that is none of these.
fn only(parameters: &Map<String, Value>, known: &[&str]) -> Result<(), Refusal> {
    let mut unknown = parameters.keys().filter(|name| !known.contains(&name.as_str())).peekable();
    match unknown.peek().copied() {
        None => Ok(()),
        Some(first) => Err(Refusal::unread(parameters.len() - unknown.count(), parameters.len(), first)),
    }
}

/// Whom a request comes from, if it is signed and of now.
fn signed(site: &Site, parameters: &Map<String, Value>) -> Result<AccountId, Refusal> {
    let text = |name: &str| parameters.get(name).and_then(Value::as_str);
    let key = find_key(site, text("apiKey").filter(|key| !key.is_empty()).ok_or_else(Refusal::no_key)?)?;
    let written =
        |name: &str| parameters.get(name).map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    let timestamp = written("timestamp").ok_or_else(|| Refusal::missing("timestamp"))?;
    let timestamp = time_unit::sent(parameters::number("timestamp", &timestamp)?);
    let window = written("recvWindow").map(|text| parameters::window(&text)).transpose()?;
    let signature = text("signature").ok_or_else(|| Refusal::missing("signature"))?;
    if !key.signed(&[signed_text(parameters).as_bytes()], signature) {
        return Err(Refusal::bad_signature());
    }
    check_time(timestamp, window)?;
    Ok(key.account)
}

/// All parameters but the signature, in the order of their names.
fn signed_text(parameters: &Map<String, Value>) -> String {
    let mut parts: Vec<String> = parameters
        .iter()
        .filter(|(name, _)| *name != "signature")
        .map(|(name, value)| match value.as_str() {
            Some(text) => format!("{name}={text}"),
            None => format!("{name}={value}"),
        })
        .collect();
    parts.sort_unstable();
    parts.join("&")
}

fn answered(id: &Value, result: &Value) -> Text {
    json!({"id": id, "status": 200, "result": result, "rateLimits": []}).to_string().into()
}

fn refused(id: &Value, refusal: &Refusal) -> Text {
    json!({"id": id, "status": refusal.status.as_u16(), "error": refusal.body(), "rateLimits": []}).to_string().into()
}
