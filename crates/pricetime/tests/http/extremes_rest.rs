//! Pairs of extreme values in the numeric fields of REST, as its description names them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::extremes::{DECIMAL, WHOLE, goes_on, launch, no_panic_was_contained, pairs, set_up};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::members::{AccessFile, basic, secret};

/// A numeric field of a REST request.
#[derive(Clone, Debug)]
struct Field {
    name: String,
    place: Place,
    values: Vec<Value>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Path,
    Query,
    Body,
}

/// A REST operation: its numeric fields, and what else its requests contain.
struct Operation {
    fields: Vec<Field>,
    body: Map<String, Value>,
    parameters: Vec<(String, Value)>,
}

/// The description of REST.
struct Description(Value);

impl Description {
    /// The schema without references. Of several alternatives it is the one that is not null.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        loop {
            if let Some(named) = schema["$ref"].as_str() {
                schema = self.0.pointer(named.trim_start_matches('#')).unwrap();
            } else if let Some(choice) =
                schema["oneOf"].as_array().and_then(|all| all.iter().find(|one| one["type"] != "null"))
            {
                schema = choice;
            } else {
                return schema;
            }
        }
    }

    /// The extreme values of a field. Empty for a field that is not numeric.
    fn values(&self, schema: &Value, is_text: bool) -> Vec<Value> {
        let schema = self.resolved(schema);
        let is_type = |name: &str| {
            schema["type"] == name || schema["type"].as_array().is_some_and(|all| all.contains(&json!(name)))
        };
        let whole = || WHOLE.iter().filter_map(|text| text.parse::<u64>().ok());
        if is_type("integer") {
            return if is_text { WHOLE.map(Value::from).to_vec() } else { whole().map(Value::from).collect() };
        }
        let example = schema["examples"][0].as_str().unwrap_or_default();
        let is_decimal = schema["pattern"].as_str().is_some_and(|pattern| pattern.contains(r"\."));
        if is_type("string") && is_decimal && example.parse::<f64>().is_ok() {
            return DECIMAL.map(Value::from).to_vec();
        }
        Vec::new()
    }

    fn example(&self, name: &str, schema: &Value) -> Value {
        let schema = self.resolved(schema);
        match name {
            "account" => "1".into(),
            "symbol" => "SPY".into(),
            _ if schema["type"] == "boolean" => false.into(),
            _ if schema["type"] == "array" => json!([self.example("", &schema["items"])]),
            _ => schema["examples"][0].clone(),
        }
    }

    fn operation(&self, operation: &Value) -> Operation {
        let (mut fields, mut parameters) = (Vec::new(), Vec::new());
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let (name, schema) = (parameter["name"].as_str().unwrap().to_owned(), &parameter["schema"]);
            let values = self.values(schema, true);
            let place = if parameter["in"] == "path" { Place::Path } else { Place::Query };
            if !values.is_empty() {
                fields.push(Field { name: name.clone(), place, values });
            }
            if name == "on_failure" {
                // The first replacement that is done leaves nothing to replace.
                parameters.push((name, "place".into()));
            } else if place == Place::Path || parameter["required"] == true {
                parameters.push((name.clone(), self.example(&name, schema)));
            }
        }
        let body = self.resolved(&operation["requestBody"]["content"]["application/json"]["schema"]);
        let base = self.object("", body, &mut fields);
        Operation { fields, body: base, parameters }
    }

    /// The object of a body, or within one, that has what it must have. Adds its numeric fields, named by where they
    /// stand.
    fn object(&self, within: &str, object: &Value, fields: &mut Vec<Field>) -> Map<String, Value> {
        let required = object["required"].as_array().cloned().unwrap_or_default();
        let mut base = Map::new();
        for (name, schema) in object["properties"].as_object().into_iter().flatten() {
            let (place, schema) = (format!("{within}/{name}"), self.resolved(schema));
            let values = self.values(schema, false);
            if !values.is_empty() {
                fields.push(Field { name: place.clone(), place: Place::Body, values });
            }
            let items = self.resolved(&schema["items"]);
            // An order must have a limit and shares here, though its description does not require them.
            let example = if items["properties"].is_object() {
                let [first, second] = [0, 1].map(|at| self.object(&format!("{place}/{at}"), items, fields));
                // Two orders that cancel each other: one only rests, and the other waits for a price.
                let with = |order: Map<_, _>, name: &str, value: &str| {
                    order.into_iter().chain([(name.to_owned(), value.into())]).collect::<Map<String, Value>>()
                };
                json!([with(first, "kind", "post_only"), with(second, "stop", "92233720368")])
            } else if schema["properties"].is_object() {
                // It is there only with one of its fields.
                self.object(&place, schema, fields);
                continue;
            } else if required.contains(&json!(name)) || ["limit", "shares"].contains(&name.as_str()) {
                self.example(name, schema)
            } else {
                continue;
            };
            base.insert(name.clone(), example);
        }
        base
    }
}

/// Puts a value where it stands in a body: a field of an object, which may be missing, or one of a list's element.
fn put(body: &mut Map<String, Value>, place: &str, value: &Value) {
    let mut whole = Value::Object(std::mem::take(body));
    let mut into = &mut whole;
    for name in place.split('/').skip(1) {
        into = match name.parse::<usize>() {
            Ok(at) => &mut into[at],
            Err(_) => &mut into[name],
        };
    }
    *into = value.clone();
    *body = whole.as_object().cloned().unwrap();
}

/// The address and the body of a request with values for one or two fields.
fn rest_request(
    path: &str,
    (base, parameters): (&Map<String, Value>, &[(String, Value)]),
    given: &[(&Field, &Value)],
) -> (String, Map<String, Value>) {
    let (mut path, mut body, mut query) = (path.to_owned(), base.clone(), String::new());
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let in_address = |name: &str| given.iter().any(|(field, _)| field.name == name && field.place != Place::Body);
    for (field, value) in given {
        match field.place {
            Place::Path => path = path.replace(&format!("{{{}}}", field.name), &plain(value)),
            Place::Query => query += &format!("&{}={}", field.name, plain(value)),
            Place::Body => put(&mut body, &field.name, value),
        }
    }
    for (name, example) in parameters.iter().filter(|(name, _)| !in_address(name)) {
        let named = format!("{{{name}}}");
        match path.contains(&named) {
            true => path = path.replace(&named, &plain(example)),
            false => query += &format!("&{name}={}", plain(example)),
        }
    }
    (format!("{path}?{}", query.trim_start_matches('&')), body)
}

/// Sends every pair of numbers of the operations whose paths are asked for. Before each `rest` places an order, under
/// a client order id of its own, which the operation may be about. Returns the number of accepted requests of each
/// operation, and the last refusal.
fn ask_every_pair(
    http: &Http,
    proof: &[(&str, &str)],
    is_asked: impl Fn(&str) -> bool,
    rest: impl Fn(&str) -> Option<u64>,
) -> BTreeMap<String, (usize, String)> {
    let description = Description(http.read("/api/v1/openapi.json"));
    let mut told = BTreeMap::<String, (usize, String)>::new();
    for (path, item) in description.0["paths"].as_object().unwrap().iter().filter(|(path, _)| is_asked(path)) {
        for (method, operation) in item.as_object().unwrap() {
            let Operation { mut fields, body: mut base, mut parameters } = description.operation(operation);
            let name = format!("at-rest-{}", told.len());
            if let Some(order) = rest(&name) {
                let orders = fields.iter_mut().filter(|field| field.name == "order");
                orders.for_each(|field| field.values.push(order.into()));
                for (name, value) in &mut parameters {
                    match name.as_str() {
                        "order" => *value = order.into(),
                        "client_order_id" => *value = format!("at-rest-{}", told.len()).into(),
                        _ => {}
                    }
                }
            }
            // Something new, where it is made.
            for (made, name, value) in [("/api/v1/accounts", "account", "88"), ("/api/v1/members", "name", "edgar")] {
                if path == made && base.contains_key(name) {
                    base.insert(name.to_owned(), value.into());
                }
            }
            if path.ends_with("/deposits") || path.ends_with("/withdrawals") {
                base.insert("symbol".to_owned(), "SPY".into());
            }
            let (accepted, refusal) = told.entry(format!("{method} {path}")).or_default();
            for (one, other) in pairs(fields.len()) {
                for (first, second) in fields[one]
                    .values
                    .iter()
                    .flat_map(|first| fields[other].values.iter().map(move |second| (first, second)))
                {
                    let both = [(&fields[one], first), (&fields[other], second)];
                    let given = if one == other { &both[..1] } else { &both[..] };
                    let (place, body) = rest_request(path, (&base, &parameters), given);
                    let body = (!base.is_empty() || given.iter().any(|(field, _)| field.place == Place::Body))
                        .then(|| Value::Object(body).to_string());
                    let json = body.is_some().then_some(("content-type", "application/json"));
                    let headers: Vec<_> = proof.iter().copied().chain(json).collect();
                    let answer = http.send(&method.to_uppercase(), &place, body.as_deref(), &headers);
                    *accepted += usize::from(answer.status < 300);
                    let what = format!("{method} {place} {body:?}: {} {}", answer.status, answer.text);
                    assert!((200..500).contains(&answer.status), "{what:.600}");
                    if answer.status >= 400 {
                        let says = ["code", "detail"].map(|name| answer.body[name].as_str().unwrap_or_default().len());
                        assert!(says.iter().all(|length| *length > 0), "{what:.600}");
                        *refusal = what;
                    }
                }
            }
        }
    }
    told.retain(|_, (accepted, refusal)| *accepted > 0 || !refusal.is_empty());
    told
}

#[test]
fn rest_answers_every_pair_of_numbers_that_its_description_names() {
    let folder = Folder::new("extremes-rest");
    let server = launch(&folder).start();
    set_up(&server);
    let http = Http::new(server.http);
    let rest = |name: &str| {
        let order = json!({"account": "1", "symbol": "SPY", "side": "sell",
            "shares": "1000", "limit": "92233720368", "client_order_id": name});
        http.make("/api/v1/orders", &order)["order_id"].as_u64()
    };
    // Limits, rules and fees come last, because few orders are accepted under the extreme ones.
    let is_setting = |path: &str| ["/limits", "/rules", "/fees"].iter().any(|end| path.ends_with(end));
    // Simulated traders would trade until the end of the test.
    let is_asked = |path: &str| !path.ends_with("/sandbox") && !path.starts_with("/api/v1/members");
    let mut told = ask_every_pair(&http, &[], |path| is_asked(path) && !is_setting(path), rest);
    told.extend(ask_every_pair(&http, &[], is_setting, |_| None));
    assert!(told.len() > 25, "{told:#?}");
    let never: BTreeMap<_, _> = told.iter().filter(|(_, (accepted, _))| *accepted == 0).collect();
    assert!(never.is_empty(), "of these no request was accepted, so they were not tried: {never:#?}");
    goes_on(&server, "the extremes of REST");
    server.stop();
}

#[test]
fn rest_answers_every_pair_of_numbers_of_members() {
    let folder = Folder::new("extremes-members");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let http = Http::new(server.http);
    let proof = basic("olga-key", &secret("olga"));
    let proof = [("authorization", proof.as_str())];
    let told = ask_every_pair(&http, &proof, |path| path.starts_with("/api/v1/members"), |_| None);
    for changes in ["post /api/v1/members", "put /api/v1/members/{member}"] {
        assert!(told[changes].0 > 0, "{told:#?}");
    }
    let metrics = http.send("GET", "/metrics", None, &proof).text;
    no_panic_was_contained(&metrics, "the extremes of members");
    server.stop();
}
