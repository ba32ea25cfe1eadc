//! Replies read: a tree of elements, the status of an order, and replies made comparable. It understands only what the
//! server writes, which is strict enough: anything else panics.

use std::time::{SystemTime, UNIX_EPOCH};

use super::decimal;

/// An element of a reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
    pub text: String,
}

impl Element {
    /// Reads a whole reply. Panics if it is none.
    pub fn parse(reply: &str) -> Element {
        let body = reply.strip_suffix('\n').unwrap_or_else(|| panic!("no newline ends the reply {reply:?}"));
        let mut rest = body;
        let root = element(&mut rest, body);
        assert!(rest.is_empty() && root.name == "results", "not one <results>: {reply}");
        root
    }

    /// The value of an attribute. Panics if it is missing.
    pub fn get(&self, name: &str) -> &str {
        self.find(name).unwrap_or_else(|| panic!("no attribute {name} in {self:?}"))
    }

    /// The value of an attribute, if it is there.
    pub fn find(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(attribute, _)| attribute == name).map(|(_, value)| value.as_str())
    }
}

fn element(rest: &mut &str, whole: &str) -> Element {
    let bad = || -> ! { panic!("not as the server writes it: {whole}") };
    let Some(inside) = rest.strip_prefix('<') else { bad() };
    let Some((tag, after)) = inside.split_once('>') else { bad() };
    *rest = after;
    let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
    let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut found = Element { name: name.to_string(), ..Element::default() };
    let mut pieces = attributes.split('"');
    while let Some(key) = pieces.next().filter(|key| !key.is_empty()) {
        let (Some(key), Some(value)) = (key.trim_start().strip_suffix('='), pieces.next()) else { bad() };
        found.attributes.push((key.to_string(), unescaped(value)));
    }
    if empty {
        return found;
    }
    let end = format!("</{name}>");
    loop {
        if let Some(after) = rest.strip_prefix(end.as_str()) {
            *rest = after;
            return found;
        }
        if rest.starts_with('<') {
            found.children.push(element(rest, whole));
        } else {
            let Some(length) = rest.find('<') else { bad() };
            found.text.push_str(&unescaped(&rest[..length]));
            *rest = &rest[length..];
        }
    }
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    text.replace("&apos;", "'").replace("&amp;", "&")
}

/// The status of an order in the answer to a query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Status {
    /// The open shares, in units of 10^-8, like all shares and prices here.
    pub open: i64,
    /// The canceled shares, and the time.
    pub canceled: Option<(i64, u64)>,
    pub executed: Vec<Executed>,
}

/// One execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Executed {
    pub shares: i64,
    pub price: i64,
    pub time: u64,
}

impl Status {
    /// Reads a `<status>` or `<canceled>` element. Panics if it has other children.
    pub fn of(element: &Element) -> Status {
        let mut status = Status::default();
        for child in &element.children {
            let shares = decimal::shares(child.get("shares"));
            let time = || child.get("time").parse().unwrap();
            assert!(shares > 0, "nothing of nothing: {element:?}");
            match child.name.as_str() {
                "open" => status.open = shares,
                "canceled" => status.canceled = Some((shares, time())),
                "executed" => {
                    let price = decimal::shares(child.get("price"));
                    status.executed.push(Executed { shares, price, time: time() });
                }
                other => panic!("a status with <{other}>: {element:?}"),
            }
        }
        assert!(status.open == 0 || status.canceled.is_none(), "open and canceled: {element:?}");
        status
    }

    /// The executed shares.
    pub fn executed_shares(&self) -> i64 {
        self.executed.iter().map(|executed| executed.shares).sum()
    }

    /// The shares with which the order was placed.
    pub fn placed(&self) -> i64 {
        self.open + self.canceled.map_or(0, |(shares, _)| shares) + self.executed_shares()
    }

    /// Whether `later` can follow: no event is undone, and a done order does not change.
    pub fn may_become(&self, later: &Status) -> bool {
        let grows = later.executed.starts_with(&self.executed) && self.placed() == later.placed();
        grows && (self.open > 0 || self == later)
    }
}

/// Replaces every `time="…"` of a reply by `time="T"`. Panics unless each is between the epoch's `since` and now.
pub fn without_times(reply: &str, since: u64) -> String {
    let mut parts = reply.split(" time=\"");
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (time, rest) = part.split_once('"').unwrap_or_else(|| panic!("an unfinished time in {reply}"));
        let seconds: u64 = time.parse().unwrap_or_else(|_| panic!("time {time} is not in whole seconds"));
        assert!((since..=now()).contains(&seconds), "time {seconds} is not between {since} and now");
        text.push_str(" time=\"T\"");
        text.push_str(rest);
    }
    text
}

/// Whole seconds since the Unix epoch.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}
