//! The WebSocket as AsyncAPI 3.0: a channel for each kind of subscription, all of them on one connection.

use serde_json::{Map, Value, json};
use utoipa::{PartialSchema, ToSchema};

use crate::messages::{
    BookUpdate, CandleUpdate, DropCopyTold, OrdersShown, OrdersUpdate, Reports, SymbolsShown, TradesTold,
};
use crate::problem_code::Code;
use crate::schema_values;
use crate::server_stats::Measured;
use crate::shapes::BookShape;
use crate::shapes::CandlesShape;

/// The path to which a client connects.
const ADDRESS: &str = "/ws/v1";

/// A kind of subscription, with the fields that its request needs besides, and its messages.
struct Channel {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// Field, schema, whether it may be left out.
    fields: &'static [(&'static str, &'static str, bool)],
    told: Vec<(&'static str, Value)>,
}

/// Returns the schema of a shape, which describes its messages.
fn of<T: PartialSchema>() -> Value {
    crate::json::value(T::schema())
}

fn channels() -> Vec<Channel> {
    let symbol = &[("symbol", "SymbolName", false)];
    vec![
        Channel {
            name: "book",
            title: "Price levels",
            description: "All levels of a symbol, then those that change; shares `0`: gone. `update` counts by one: after a gap subscribe again.",
            fields: symbol,
            told: vec![("snapshot", of::<BookShape>()), ("update", of::<BookUpdate>())],
        },
        Channel {
            name: "trades",
            title: "Trades",
            description: "The last 50 trades of a symbol, oldest first, then those that come.",
            fields: symbol,
            told: vec![("snapshot", of::<TradesTold>()), ("update", of::<TradesTold>())],
        },
        Channel {
            name: "candles",
            title: "Candles",
            description: "The last 500 candles of a symbol, oldest first, then the current one, as it stands after trades.",
            fields: &[("symbol", "SymbolName", false), ("interval", "Interval", false)],
            told: vec![("snapshot", of::<CandlesShape>()), ("update", of::<CandleUpdate>())],
        },
        Channel {
            name: "orders",
            title: "An account and its orders",
            description: "An account and its open orders, then what changes, the done orders a last time. With `from`: each \
                report after that command, in order and once, from the history first (`live` is false) and then as they come. \
                All up to `through` was told: a client that was away subscribes again from there, and forgets what it got behind it.",
            fields: &[("account", "AccountId", false), ("from", "Sequence", true)],
            told: vec![
                ("snapshot", of::<OrdersShown>()),
                ("update", of::<OrdersUpdate>()),
                ("reports", of::<Reports>()),
            ],
        },
        Channel {
            name: "drop-copy",
            title: "What some accounts do",
            description: "Each report of the accounts named, in the order of the commands and once: from the history behind `from`, or from now on \
                without it, until `live` is true, and then as they come. Without `accounts` it is about all that the member trades for or looks at, \
                or the one that `member` names, at each moment. All up to `through` was told: a client that was away subscribes again from there, and forgets what it got behind it.",
            fields: &[("accounts", "AccountList", true), ("member", "Name", true), ("from", "Sequence", true)],
            told: vec![("reports", of::<DropCopyTold>())],
        },
        Channel {
            name: "status",
            title: "How busy the server is",
            description: "Each second. There is no snapshot.",
            fields: &[],
            told: vec![("update", of::<Measured>())],
        },
        Channel {
            name: "symbols",
            title: "Symbols",
            description: "Symbols, then those that change, four times a second at most. The first 500 are shown: those behind `next` are at \
                `GET /symbols`.",
            fields: &[],
            told: vec![("snapshot", of::<SymbolsShown>()), ("update", of::<SymbolsShown>())],
        },
    ]
}

/// Returns the whole description. Schemas that REST has as well are those of `openapi`.
pub(super) fn description(openapi: &Value) -> Value {
    let mut schemas = openapi["components"]["schemas"].clone();
    for (name, schema) in new_schemas() {
        schemas[name] = schema;
    }
    let mut parts = Parts::default();
    parts.control();
    channels().into_iter().for_each(|channel| parts.channel(channel));
    let Parts { channels, operations, messages } = parts;
    json!({
        "asyncapi": "3.0.0",
        "info": {
            "title": "Pricetime, WebSocket",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "One JSON object a message. A client subscribes to channels, as many as 64 on a connection, and is told how \
                things stand and then how they change. A client that takes nothing for a second of more than 1 MiB that \
                waits for it, or for which more than 16 MiB wait, gets the error `too-slow` and is disconnected.",
            "license": {"name": "MIT OR Apache-2.0"},
        },
        "defaultContentType": "application/json",
        "servers": {"here": {"host": "127.0.0.1:8080", "protocol": "ws", "description": "Unless told otherwise"}},
        "channels": channels,
        "operations": operations,
        "components": {"messages": messages, "schemas": schemas},
    })
}

/// Returns the schemas that only the WebSocket has.
fn new_schemas() -> Vec<(String, Value)> {
    let mut all = Vec::new();
    let mut found = Vec::new();
    Measured::schemas(&mut found);
    Reports::schemas(&mut found);
    DropCopyTold::schemas(&mut found);
    for (name, schema) in found {
        let mut schema = crate::json::value(schema);
        // Each kind of report names itself.
        if let Some(kind) = name.strip_suffix("Report").filter(|kind| !kind.is_empty()) {
            schema["properties"]["report"] = exactly(&kind.to_lowercase());
            schema["required"].as_array_mut().into_iter().for_each(|required| required.push(json!("report")));
        }
        for choice in schema.get_mut("oneOf").and_then(Value::as_array_mut).into_iter().flatten() {
            *choice = choice["allOf"][0].clone();
        }
        super::close(&mut schema);
        all.push((name, schema));
    }
    all.push((
        "AccountList".to_owned(),
        json!({"type": "array", "items": schema("AccountId"), "minItems": 1, "maxItems": 1000}),
    ));
    // Schemas of values are described already.
    let values: Vec<String> = schema_values::all().into_iter().map(|(name, _)| name).collect();
    all.retain(|(name, _)| !values.contains(name));
    all
}

fn schema(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn exactly(text: &str) -> Value {
    json!({"type": "string", "const": text})
}

/// Returns the schema of an object with these fields and no others.
fn object(fields: Vec<(&str, Value)>, optional: &[&str]) -> Value {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).filter(|name| !optional.contains(name)).collect();
    let properties: Map<String, Value> = fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// Returns the schema of an id, which the answer repeats.
fn id() -> Value {
    json!({"description": "Anything; the answer gives it back."})
}

#[derive(Default)]
struct Parts {
    channels: Map<String, Value>,
    operations: Map<String, Value>,
    messages: Map<String, Value>,
}

impl Parts {
    /// Adds the messages that belong to no channel.
    fn control(&mut self) {
        let ping = object(vec![("op", exactly("ping")), ("id", id())], &["id"]);
        let pong = object(vec![("type", exactly("pong")), ("id", id())], &["id"]);
        let error = object(
            vec![
                ("type", exactly("error")),
                ("id", id()),
                ("code", json!({"type": "string", "enum": codes(), "description": "For programs."})),
                ("detail", json!({"type": "string", "description": "For people."})),
            ],
            &["id"],
        );
        let named = [
            ("ping", "Is anybody there?", ping),
            ("pong", "Yes.", pong),
            ("error", "A request is refused, or the connection ends.", error),
        ];
        let mut messages = named.map(|(name, summary, payload)| self.message(name, summary, payload)).to_vec();
        messages.extend(self.protection());
        let description =
            "Signs of life, refusals, and cancel on disconnect: accounts are protected while this connection is open.";
        self.place("control", "Requests that are about no channel", description, &messages);
        self.operation("receiveProtect", "receive", "control", &["protect"], Some(("control", &["protected"])));
        self.operation("receiveUnprotect", "receive", "control", &["unprotect"], Some(("control", &["unprotected"])));
        self.operation("receivePing", "receive", "control", &["ping"], Some(("control", &["pong"])));
        self.operation("sendError", "send", "control", &["error"], None);
    }

    /// Adds cancel on disconnect.
    fn protection(&mut self) -> Vec<String> {
        let grace = || json!({"type": "string", "description": "How long nobody may be there: `0s` to `60s`, or in `ms`.", "examples": ["5s"]});
        let message = |head: (&'static str, &str), has_grace: bool| {
            let mut fields = vec![(head.0, exactly(head.1)), ("id", id()), ("accounts", schema("AccountList"))];
            fields.extend(has_grace.then(|| ("grace", grace())));
            object(fields, &["id"])
        };
        let named = [
            ("protect", "Their orders are canceled when nobody is there.", message(("op", "protect"), true)),
            ("protected", "They are protected.", message(("type", "protected"), true)),
            ("unprotect", "They are not any more, and nothing is canceled.", message(("op", "unprotect"), false)),
            ("unprotected", "This connection protects them no longer.", message(("type", "unprotected"), false)),
        ];
        named.map(|(name, summary, payload)| self.message(name, summary, payload)).to_vec()
    }

    fn channel(&mut self, channel: Channel) {
        let Channel { name, title, description, fields, told } = channel;
        let mut all = Vec::new();
        let optional: Vec<&str> =
            ["id"].into_iter().chain(fields.iter().filter(|field| field.2).map(|field| field.0)).collect();
        let named = |first: (&'static str, Value)| {
            let mut parts = vec![first, ("id", id()), ("channel", exactly(name))];
            parts.extend(fields.iter().map(|(field, value, _)| (*field, schema(value))));
            object(parts, &optional)
        };
        for (op, answer) in [("subscribe", "subscribed"), ("unsubscribe", "unsubscribed")] {
            let (request, reply) = (format!("{name}.{op}"), format!("{name}.{answer}"));
            all.push(self.message(&request, &format!("{title}: {op}."), named(("op", exactly(op)))));
            all.push(self.message(&reply, &format!("{title}: {answer}."), named(("type", exactly(answer)))));
            self.operation(&request, "receive", name, &[&request], Some((name, &[&reply])));
        }
        let mut messages = Vec::new();
        for (kind, content) in told {
            let message = format!("{name}.{kind}");
            all.push(self.message(&message, &format!("{title}: {kind}."), with_head(kind, name, content)));
            messages.push(message);
        }
        let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
        self.place(name, title, description, &all);
        self.operation(&format!("{name}.tell"), "send", name, &messages, None);
    }

    fn message(&mut self, name: &str, summary: &str, payload: Value) -> String {
        self.messages.insert(name.to_owned(), json!({"name": name, "summary": summary, "payload": payload}));
        name.to_owned()
    }

    fn place(&mut self, name: &str, title: &str, description: &str, messages: &[String]) {
        let listed = |message: &String| (message.clone(), json!({"$ref": format!("#/components/messages/{message}")}));
        let messages: Map<String, Value> = messages.iter().map(listed).collect();
        let channel = json!({"address": ADDRESS, "title": title, "description": description, "messages": messages});
        self.channels.insert(name.to_owned(), channel);
    }

    fn operation(
        &mut self,
        name: &str,
        action: &str,
        channel: &str,
        messages: &[&str],
        reply: Option<(&str, &[&str])>,
    ) {
        let pointers = |channel: &str, messages: &[&str]| -> Vec<Value> {
            let pointer = |message: &&str| json!({"$ref": format!("#/channels/{channel}/messages/{message}")});
            messages.iter().map(pointer).collect()
        };
        let of = |channel: &str| json!({"$ref": format!("#/channels/{channel}")});
        let mut operation = json!({"action": action, "channel": of(channel), "messages": pointers(channel, messages)});
        if let Some((channel, messages)) = reply {
            operation["reply"] = json!({"channel": of(channel), "messages": pointers(channel, messages)});
        }
        self.operations.insert(name.to_owned(), operation);
    }
}

/// The codes of errors that are refusals of REST, too.
const CODES: &[Code] = &[
    Code::Malformed,
    Code::Unauthenticated,
    Code::NotPermitted,
    Code::UnknownAccount,
    Code::UnknownSymbol,
    Code::HistoryBeginsLater,
    Code::FromAhead,
    Code::NoLongerKept,
    Code::TooManyAccounts,
    Code::TooManyProtected,
    Code::TooManyMessages,
    Code::HistoryUnreadable,
    Code::RecordDamaged,
    Code::InternalFault,
    Code::ReadOnly,
    Code::ReadOnlyNode,
    Code::Maintenance,
    Code::DiskLow,
    Code::StoreAway,
    Code::FeedUnavailable,
    Code::NotReady,
    Code::OutcomeUnknown,
];

/// Returns the codes of errors: refusals, and the end of a client that reads too slowly.
fn codes() -> Vec<&'static str> {
    CODES.iter().map(|code| code.name()).chain(["too-slow"]).collect()
}

/// Adds the fields with which each message of a channel begins.
fn with_head(kind: &str, channel: &str, mut content: Value) -> Value {
    content["properties"]["type"] = exactly(kind);
    content["properties"]["channel"] = exactly(channel);
    if let Some(required) = content["required"].as_array_mut() {
        required.extend([json!("type"), json!("channel")]);
    }
    super::close(&mut content);
    content
}
