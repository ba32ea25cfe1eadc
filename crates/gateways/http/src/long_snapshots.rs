//! Snapshots of many rows. Their data is copied when they are made, and becomes text piece by piece when a client takes
//! it. So the feed's thread only copies, which is quick, and the whole text is never in memory.

use std::collections::HashMap;

use feed::{HistoryError, Open, ReadModel, View};
use terms::{AccountIndex, ClientOrderId, Position, Price, Side, Symbol, SymbolIndex};

use crate::shapes::{AccountShape, OrderShape, PhaseShape, checksum};
use crate::shared_text::{Long, Rows, SharedText};

/// Levels of a book, bids first, best first.
#[derive(Debug)]
struct Levels {
    levels: Vec<(Price, Position, u32)>,
    bids: usize,
}

/// Copies all levels of a book.
pub(crate) fn book(view: &View, symbol: SymbolIndex) -> SharedText {
    let listing = view.listing(symbol);
    let mut levels = Vec::with_capacity(listing.book.count());
    let mut bids = 0;
    for side in [Side::Buy, Side::Sell] {
        bids = levels.len();
        levels.extend(listing.book.levels(side).map(|(limit, level)| (limit, level.shares, level.orders)));
    }
    let head = format!(
        r#"{{"type":"snapshot","channel":"book","symbol":"{}","sequence":{},"update":{},"time":{},"bids":["#,
        listing.name,
        view.sequence().0,
        listing.update,
        view.time().0
    );
    let no_asks = if bids == levels.len() { r#"],"asks":["# } else { "" };
    let phase = PhaseShape::of(listing).map(|phase| format!(",\"phase\":{}", crate::json::text(&phase)));
    let tail = format!(r#"{no_asks}],"checksum":{}{}}}"#, checksum(view, symbol), phase.unwrap_or_default());
    Long { head, rows: Box::new(Levels { levels, bids }), tail }.into()
}

impl Rows for Levels {
    fn count(&self) -> usize {
        self.levels.len()
    }

    fn bytes_each(&self) -> usize {
        size_of::<(Price, Position, u32)>()
    }

    fn write(&self, row: usize, into: &mut String) {
        if row == self.bids {
            into.push_str(r#"],"asks":["#);
        } else if row > 0 {
            into.push(',');
        }
        let (limit, shares, orders) = self.levels[row];
        into.push_str(&format!(r#"["{limit}","{shares}",{orders}]"#));
    }
}

/// Open orders of an account, newest first.
#[derive(Debug)]
struct Orders {
    account: String,
    names: HashMap<SymbolIndex, Symbol>,
    orders: Vec<(Open, Option<ClientOrderId>)>,
}

/// Copies all open orders of an account. Errors: the history does not say when one of them was placed.
pub(crate) fn orders(model: &ReadModel<impl Sized>, account: AccountIndex) -> Result<SharedText, HistoryError> {
    let view = &model.view;
    let mut orders = Vec::with_capacity(view.account(account).open_orders as usize);
    let mut names = HashMap::new();
    for open in view.orders_of(account) {
        names.entry(open.symbol).or_insert_with(|| view.listing(open.symbol).name);
        orders.push((model.as_placed(&open)?, view.client_id(open.order)));
    }
    let shape = crate::json::text(&AccountShape::of(view, account));
    let head = format!(
        r#"{{"type":"snapshot","channel":"orders","sequence":{},"account":{shape},"orders":["#,
        view.sequence().0
    );
    let rows = Orders { account: view.account(account).id.to_string(), names, orders };
    Ok(Long { head, rows: Box::new(rows), tail: "]}".to_owned() }.into())
}

impl Rows for Orders {
    fn count(&self) -> usize {
        self.orders.len()
    }

    fn bytes_each(&self) -> usize {
        size_of::<(Open, Option<ClientOrderId>)>()
    }

    fn write(&self, row: usize, into: &mut String) {
        if row > 0 {
            into.push(',');
        }
        let (open, client_id) = &self.orders[row];
        let symbol = self.names.get(&open.symbol).map(Symbol::to_string).unwrap_or_default();
        let shape = OrderShape::still_open(self.account.clone(), symbol, open, *client_id);
        into.push_str(&crate::json::text(&shape));
    }
}
