//! The messages of one subscriber: counts them, checks that no update of a book is missing, and notes when trades
//! arrive. It reads no more of a message than that needs.

use std::time::Instant;

use memchr::{memchr, memmem};
use serde::Deserialize;
use tungstenite::Message;

use crate::records::SubscriberCounts;

/// A trade, and when it arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradeArrival {
    /// The order that traded with a resting one.
    pub aggressor: u64,
    pub at: Instant,
}

/// Reads messages.
#[derive(Default)]
pub struct MessageReader {
    pub counts: SubscriberCounts,
    /// Subscriptions that were confirmed.
    pub subscribed: usize,
    /// Trades, if it notes them.
    pub trades: Vec<TradeArrival>,
    notes_trades: bool,
    /// Symbols, and the last update of their books.
    books: Vec<(Vec<u8>, u64)>,
}

#[derive(Deserialize)]
struct RareMessage<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    code: Option<&'a str>,
}

#[derive(Deserialize)]
struct Trades<'a> {
    #[serde(borrow)]
    trades: Vec<Trade<'a>>,
}

#[derive(Deserialize)]
struct Trade<'a> {
    aggressor: &'a str,
    buy_order: u64,
    sell_order: u64,
}

impl MessageReader {
    /// Returns one that notes when trades arrive.
    pub fn for_trades() -> MessageReader {
        MessageReader { notes_trades: true, ..MessageReader::default() }
    }

    /// Whether the server ended the connection because too much waited for it.
    pub fn is_dropped(&self) -> bool {
        self.counts.dropped > 0
    }

    /// Counts anew from here on; earlier faults stay.
    pub fn count_anew(&mut self) {
        (self.counts.messages, self.counts.bytes) = (0, 0);
    }

    pub fn take(&mut self, message: &Message) {
        match message {
            Message::Text(text) => self.take_text(text.as_bytes()),
            Message::Ping(_) | Message::Pong(_) => {}
            Message::Close(_) => self.counts.dropped = 1,
            Message::Binary(_) | Message::Frame(_) => self.wrong(b"a message that is no text"),
        }
    }

    fn take_text(&mut self, text: &[u8]) {
        self.counts.messages += 1;
        self.counts.bytes += text.len() as u64;
        match text.strip_prefix(b"{\"type\":\"").unwrap_or_default() {
            rest if rest.starts_with(b"update\",\"channel\":\"book\"") => self.book(text, true),
            rest if rest.starts_with(b"snapshot\",\"channel\":\"book\"") => self.book(text, false),
            rest if rest.starts_with(b"update\",\"channel\":\"trades\"") => self.trades(text),
            rest if rest.starts_with(b"update\"") || rest.starts_with(b"snapshot\"") => {}
            _ => self.other(text),
        }
    }

    /// Reads rare messages, whose fields may come in any order.
    fn other(&mut self, text: &[u8]) {
        match serde_json::from_slice(text) {
            Ok(RareMessage { kind: "update" | "snapshot", .. }) => {}
            Ok(RareMessage { kind: "subscribed", .. }) => self.subscribed += 1,
            Ok(RareMessage { kind: "error", code: Some("too-slow") }) => self.counts.dropped = 1,
            _ => self.wrong(text),
        }
    }

    fn book(&mut self, text: &[u8], follows: bool) {
        let Some((symbol, update)) = symbol_and_update(text) else { return self.wrong(text) };
        let known = self.books.iter_mut().find(|(name, _)| name == symbol);
        match known {
            Some((_, last)) if follows => {
                self.counts.gaps += u64::from(update != *last + 1);
                *last = update;
            }
            Some((_, last)) => *last = update,
            None if follows => self.wrong(b"an update of a book before its snapshot"),
            None => self.books.push((symbol.to_vec(), update)),
        }
    }

    fn trades(&mut self, text: &[u8]) {
        if !self.notes_trades {
            return;
        }
        let at = Instant::now();
        let Ok(told) = serde_json::from_slice::<Trades>(text) else { return self.wrong(text) };
        self.trades.extend(told.trades.iter().map(|trade| {
            let aggressor = if trade.aggressor == "buy" { trade.buy_order } else { trade.sell_order };
            TradeArrival { aggressor, at }
        }));
    }

    fn wrong(&mut self, text: &[u8]) {
        self.counts.wrong += 1;
        let shown = String::from_utf8_lossy(&text[..text.len().min(200)]).into_owned();
        self.counts.first_wrong.get_or_insert(shown);
    }
}

/// Reads a message about a book; the fields come in the order in which docs/API.md has them.
fn symbol_and_update(text: &[u8]) -> Option<(&[u8], u64)> {
    let symbol = behind(text, b"\"symbol\":\"")?;
    let symbol = &symbol[..memchr(b'"', symbol)?];
    let update = behind(text, b"\"update\":")?;
    let digits = update.iter().take_while(|byte| byte.is_ascii_digit()).count();
    Some((symbol, std::str::from_utf8(&update[..digits]).ok()?.parse().ok()?))
}

fn behind<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    memmem::find(text, name).map(|at| &text[at + name.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(texts: &[&str]) -> MessageReader {
        let mut reader = MessageReader::for_trades();
        texts.iter().for_each(|text| reader.take(&Message::text(*text)));
        reader
    }

    const SNAPSHOT: &str =
        r#"{"type":"snapshot","channel":"book","symbol":"A","sequence":9,"update":4,"time":1,"bids":[],"asks":[]}"#;

    fn update(number: u64) -> String {
        format!(r#"{{"type":"update","channel":"book","symbol":"A","update":{number},"sequence":10,"time":1}}"#)
    }

    #[test]
    fn a_missing_update_of_a_book_is_a_gap() {
        assert_eq!(read_all(&[SNAPSHOT, &update(5), &update(6)]).counts.gaps, 0);
        assert_eq!(read_all(&[SNAPSHOT, &update(6), &update(7)]).counts.gaps, 1);
        assert_eq!(read_all(&[SNAPSHOT, &update(4)]).counts.gaps, 1);
        let before_its_snapshot = read_all(&[&update(5)]).counts;
        assert_eq!((before_its_snapshot.wrong, before_its_snapshot.messages), (1, 1));
    }

    #[test]
    fn who_was_too_slow_knows_it_and_any_other_error_is_wrong() {
        let slow = read_all(&[r#"{"code":"too-slow","detail":"…","type":"error"}"#]).counts;
        assert_eq!((slow.dropped, slow.wrong), (1, 0));
        let refused = read_all(&[r#"{"code":"unknown-symbol","detail":"…","type":"error"}"#]).counts;
        assert_eq!((refused.dropped, refused.wrong), (0, 1));
        let confirmed = read_all(&[r#"{"channel":"status","id":1,"type":"subscribed"}"#]);
        assert_eq!((confirmed.subscribed, confirmed.counts.wrong), (1, 0));
    }

    #[test]
    fn a_trade_is_noted_by_the_order_that_caused_it() {
        let trades = r#"{"type":"update","channel":"trades","symbol":"A","trades":[
            {"trade_id":1,"symbol":"A","price":"1","shares":"1","time":1,"aggressor":"sell","buy_order":7,"sell_order":9},
            {"trade_id":2,"symbol":"A","price":"1","shares":"1","time":1,"aggressor":"buy","buy_order":10,"sell_order":8}]}"#;
        let aggressors: Vec<u64> = read_all(&[trades]).trades.iter().map(|trade| trade.aggressor).collect();
        assert_eq!(aggressors, [9, 10]);
    }
}
