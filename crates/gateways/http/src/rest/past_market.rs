//! A symbol's market as it was behind a command, and what followed. It delays no trading.

use std::collections::HashSet;
use std::vec;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use exchange::Read;
use feed::{News, Open, TradedThen, View};
use futures_util::StreamExt;
use serde::Deserialize;
use terms::{AccountId, AccountIndex, Sequence, Side, Symbol, SymbolIndex, Time};
use tokio::sync::oneshot;
use utoipa::IntoParams;

use super::symbols::{DEPTH, QueuesShape, of_symbol};
use super::troubled;
use crate::app_state::AppState;
use crate::chunked_answer::{self, Frame, Piece};
use crate::current_principal;
use crate::history_pages;
use crate::input::{self, Parameters, PathParameter};
use crate::past_events_room::NoRoom;
use crate::problem::Problem;
use crate::problem_code::Code;
use crate::rewind_port::{NotShown, PastMarket, PastMoment, PastQuestion};
use crate::schema_values;
use crate::shapes::{
    PastBookShape, PastEventShape, PastEventsShape, PastOrderShape, PastTradeShape, PhaseShape, QueuedShape, checksum,
    sides,
};

/// Trades that a book of the past shows.
const TRADES_SHOWN: usize = 100;
/// Orders of an account that it shows.
const ORDERS_SHOWN: usize = 1_000;
/// Events of a page: shown by default, and at most.
const EVENTS: (usize, usize) = (500, 1_000);
/// Commands that are read for a page, whatever they changed.
const COMMANDS_MAX: usize = 100_000;
/// Levels, trades and orders of a page's events, roughly: a page ends with the event that reaches this number.
const CHANGES_MAX: usize = 10_000;
/// Levels, trades and orders that are written at once.
const WRITTEN_AT_ONCE: usize = 500;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct At {
    /// The command behind which the market is shown; without it, and without a time, the last one.
    #[param(value_type = Option<schema_values::Sequence>)]
    #[serde(default, deserialize_with = "input::number")]
    at: Option<u64>,
    /// The time whose last command counts, or the last command of an earlier time.
    #[param(value_type = Option<schema_values::Time>)]
    #[serde(default, deserialize_with = "input::number")]
    time: Option<u64>,
    /// Levels, or orders, of a side.
    #[param(minimum = 1, maximum = 1000, default = 50)]
    #[serde(default, deserialize_with = "input::number")]
    depth: Option<usize>,
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct BookAt {
    /// The command behind which the market is shown; without it, and without a time, the last one.
    #[param(value_type = Option<schema_values::Sequence>)]
    #[serde(default, deserialize_with = "input::number")]
    at: Option<u64>,
    /// The time whose last command counts, or the last command of an earlier time.
    #[param(value_type = Option<schema_values::Time>)]
    #[serde(default, deserialize_with = "input::number")]
    time: Option<u64>,
    /// Levels of a side.
    #[param(minimum = 1, maximum = 1000, default = 50)]
    #[serde(default, deserialize_with = "input::number")]
    depth: Option<usize>,
    /// The account whose orders and fills are shown.
    #[param(value_type = Option<schema_values::Account>)]
    account: Option<String>,
}

/// Shows the best price levels at a moment of the past, with the trades before it.
#[utoipa::path(
    get, path = "/symbols/{symbol}/past/book", operation_id = "getPastBook", tag = "Symbols",
    params(("symbol" = schema_values::Symbol, Path, description = "The symbol's name"), BookAt),
    responses((status = 200, description = "The book as it was", body = PastBookShape)),
    extensions(("x-refusals" = json!([Code::UnknownSymbol, Code::UnknownAccount, Code::NoJournal, Code::NoLongerKept, Code::ReplayTooLarge, Code::ReplayBusy, Code::ReplayEnded, Code::JournalUnreadable, Code::HistoryUnreadable, Code::RecordDamaged]))),
)]
pub(crate) async fn book(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Parameters(asked): Parameters<BookAt>,
) -> Result<Json<PastBookShape>, Problem> {
    let depth = input::count("depth", asked.depth, DEPTH.0, DEPTH.1)?;
    let ground = Ground::of(&app, &name, asked.account.as_deref()).await?;
    let moment = ground.moment(asked.at, asked.time)?;
    let (symbol, account, newest) = (ground.name, ground.account_id, ground.newest.0);
    let look = move |market: &mut dyn PastMarket| {
        let view = market.view();
        let found = view.find_symbol(symbol);
        let side = |side: Side| {
            let levels = found.into_iter().flat_map(|symbol| view.listing(symbol).book.levels(side));
            levels.take(depth).map(|(limit, at)| (limit.to_string(), at.shares.to_string(), at.orders)).collect()
        };
        Ok(PastBookShape {
            symbol: symbol.to_string(),
            sequence: view.sequence().0,
            time: view.time().0,
            newest,
            bids: side(Side::Buy),
            asks: side(Side::Sell),
            checksum: found.map_or(0, |symbol| checksum(view, symbol)),
            phase: found.and_then(|symbol| PhaseShape::of(view.listing(symbol))),
            trades: None,
            orders: account.map(|account| orders(view, account, found)),
        })
    };
    let mut shown = ground.look(&app, moment, look)?.result().await?;
    let then = Sequence(shown.sequence);
    let traded = history_pages::traded_then(&app, then, ground.symbol, TRADES_SHOWN).await.map_err(troubled)?;
    let shapes =
        |traded: TradedThen| traded.trades.iter().map(|trade| PastTradeShape::of(trade, ground.account)).collect();
    shown.trades = traded.map(shapes);
    Ok(Json(shown))
}

/// Returns the orders of an account in the book.
fn orders(view: &View, account: AccountId, symbol: Option<SymbolIndex>) -> Vec<PastOrderShape> {
    let Some(account) = view.find_account(account) else { return Vec::new() };
    let in_it = |open: &Open| Some(open.symbol) == symbol && stands(open);
    view.orders_of(account).filter(in_it).take(ORDERS_SHOWN).map(|open| PastOrderShape::of(&open)).collect()
}

/// Shows the best open orders at a moment of the past, in priority. An order's time is shown if it was placed since the
/// snapshot.
#[utoipa::path(
    get, path = "/symbols/{symbol}/past/book/orders", operation_id = "getPastBookOrders", tag = "Symbols",
    params(("symbol" = schema_values::Symbol, Path, description = "The symbol's name"), At),
    responses((status = 200, description = "The orders as they were", body = QueuesShape)),
    extensions(("x-refusals" = json!([Code::UnknownSymbol, Code::NoJournal, Code::NoLongerKept, Code::ReplayTooLarge, Code::ReplayBusy, Code::ReplayEnded, Code::JournalUnreadable]))),
)]
pub(crate) async fn queues(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Parameters(asked): Parameters<At>,
) -> Result<Json<QueuesShape>, Problem> {
    let depth = input::count("depth", asked.depth, DEPTH.0, DEPTH.1)?;
    let ground = Ground::of(&app, &name, None).await?;
    let moment = ground.moment(asked.at, asked.time)?;
    let symbol = ground.name;
    let look = move |market: &mut dyn PastMarket| {
        let view = market.view();
        let found = view.find_symbol(symbol);
        let side = |side: Side| {
            let queue = found.into_iter().flat_map(|symbol| view.queue(symbol, side));
            queue.take(depth).map(|open| QueuedShape::in_the_past(view, &open)).collect()
        };
        Ok(QueuesShape {
            symbol: symbol.to_string(),
            sequence: view.sequence().0,
            bids: side(Side::Buy),
            asks: side(Side::Sell),
        })
    };
    ground.look(&app, moment, look)?.result().await.map(Json)
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct From {
    /// The command behind which events are listed; without it the last one, which nothing has followed yet.
    #[param(value_type = Option<schema_values::Sequence>)]
    #[serde(default, deserialize_with = "input::number")]
    from: Option<u64>,
    /// Events of a page.
    #[param(minimum = 1, maximum = 1000, default = 500)]
    #[serde(default, deserialize_with = "input::number")]
    limit: Option<usize>,
    /// The account whose orders and fills are shown.
    #[param(value_type = Option<schema_values::Account>)]
    account: Option<String>,
}

/// Lists what changed in a symbol behind a command, command by command. A page reads 100,000 commands at most, and ends
/// with the event by which it has 10,000 levels, trades and orders.
#[utoipa::path(
    get, path = "/symbols/{symbol}/past/events", operation_id = "listPastEvents", tag = "Symbols",
    params(("symbol" = schema_values::Symbol, Path, description = "The symbol's name"), From),
    responses((status = 200, description = "A page of events", body = PastEventsShape)),
    extensions(("x-refusals" = json!([Code::UnknownSymbol, Code::UnknownAccount, Code::NoJournal, Code::NoLongerKept, Code::ReplayTooLarge, Code::ReplayBusy, Code::ReplayEnded, Code::JournalUnreadable, Code::HistoryUnreadable, Code::RecordDamaged]))),
)]
pub(crate) async fn events(
    State(app): State<AppState>,
    PathParameter(name): PathParameter<String>,
    Parameters(asked): Parameters<From>,
) -> Result<Response, Problem> {
    let limit = input::count("limit", asked.limit, EVENTS.0, EVENTS.1)?;
    let ground = Ground::of(&app, &name, asked.account.as_deref()).await?;
    let from = asked.from.map_or(ground.newest, Sequence);
    ground.check("from", from)?;
    let (symbol, account, newest) = (ground.name, ground.account_id, ground.newest.0);
    let look = move |market: &mut dyn PastMarket| {
        let mut watch = Watch { symbol, account, watched: (None, None) };
        watch.begin(market.view());
        let (mut page, mut gone_through) = (PastEventsPage::begin(limit), 0);
        let stepped = loop {
            if page.is_full() || gone_through == COMMANDS_MAX {
                break Ok(());
            }
            match market.step() {
                Ok(true) => watch.news(market.view()).into_iter().for_each(|event| page.add(event)),
                Ok(false) => break Ok(()),
                Err(why) => break Err(why),
            }
            gone_through += 1;
        };
        watch.end(market.view());
        // Events from before the error are shown, and the next question gets the error.
        if let Err(why) = stepped
            && gone_through == 0
        {
            return Err(problem(why));
        }
        let (began, view) = (market.began(), market.view());
        let (through, time) = (view.sequence().0, view.time().0);
        // The events are written into it piece by piece.
        let events = Vec::new();
        let head = PastEventsShape { symbol: symbol.to_string(), from: from.0, through, time, newest, events };
        Ok((began, head, page))
    };
    let (began, head, mut page) = ground.look(&app, PastMoment::Command(from), look)?.result().await?;
    let member = current_principal::asker().map(|asker| asker.principal.member().to_owned());
    let place = app.past_events().take(member, page.events.len() + page.changes).map_err(|full| match full {
        NoRoom::Member => busy("take the pages of past events that you asked for before: then ask again"),
        NoRoom::All => busy("others have not taken their pages of the past yet: ask again in a second"),
    })?;
    number(&app, began, ground.symbol, &mut page.events).await?;
    let events = page.events.into_iter();
    let frame = (Frame::around(&head), account.map_or(Read::Market, Read::Account));
    let told = chunked_answer::answer(&app, frame, events, |_, events| async { Ok(written(events)) });
    let held = |body: Body| {
        Body::from_stream(body.into_data_stream().inspect(move |_| {
            let _held = &place;
        }))
    };
    told.await.map(|response: Response| response.map(held))
}

/// Writes some of the events.
fn written(mut events: vec::IntoIter<PastEventShape>) -> Piece<vec::IntoIter<PastEventShape>> {
    let mut some = PastEventsPage { changes_max: WRITTEN_AT_ONCE, ..PastEventsPage::begin(EVENTS.1) };
    while !some.is_full()
        && let Some(event) = events.next()
    {
        some.add(event);
    }
    Piece::of(some.events, Some(events).filter(|events| events.len() > 0))
}

/// A page of events while it is gathered.
struct PastEventsPage {
    events: Vec<PastEventShape>,
    limit: usize,
    /// Levels, trades and orders of the events, and the number at which the page ends.
    changes: usize,
    changes_max: usize,
}

impl PastEventsPage {
    fn begin(limit: usize) -> PastEventsPage {
        PastEventsPage { events: Vec::new(), limit, changes: 0, changes_max: CHANGES_MAX }
    }

    fn is_full(&self) -> bool {
        self.events.len() >= self.limit || self.changes >= self.changes_max
    }

    fn add(&mut self, event: PastEventShape) {
        self.changes += event.changes();
        self.events.push(event);
    }
}

/// Gives trades that count from 1 behind a command the numbers that the history has for them.
async fn number(
    app: &AppState,
    began: Sequence,
    symbol: SymbolIndex,
    events: &mut [PastEventShape],
) -> Result<(), Problem> {
    if events.iter().all(|event| event.trades.is_empty()) {
        return Ok(());
    }
    let before =
        history_pages::traded_then(app, began, symbol, 0).await.map_err(troubled)?.map(|then| then.next_trade - 1);
    for trade in events.iter_mut().flat_map(|event| &mut event.trades) {
        trade.trade_id = trade.trade_id.zip(before).map(|(number, before)| before + number);
    }
    Ok(())
}

/// The subject of a question, as it is known by now.
struct Ground {
    name: Symbol,
    symbol: SymbolIndex,
    account_id: Option<AccountId>,
    account: Option<AccountIndex>,
    /// The last command that other clients know of.
    newest: Sequence,
}

impl Ground {
    async fn of(app: &AppState, name: &str, account: Option<&str>) -> Result<Ground, Problem> {
        let account_id = account.map(input::account).transpose()?;
        let Json(ground) = of_symbol(app, name, move |model, symbol| {
            let find = |id| model.view.find_account(id).ok_or_else(Problem::unknown_account);
            let account = account_id.map(find).transpose()?;
            let (name, newest) = (model.view.listing(symbol).name, model.view.sequence());
            Ok(Ground { name, symbol, account_id, account, newest })
        })
        .await?;
        Ok(ground)
    }

    fn moment(&self, at: Option<u64>, time: Option<u64>) -> Result<PastMoment, Problem> {
        match (at.map(Sequence), time) {
            (Some(_), Some(_)) => Err(Problem::field("time", "a command or a time is asked for, not both")),
            (None, Some(time)) => Ok(PastMoment::Time(Time(time))),
            (at, None) => {
                let at = at.unwrap_or(self.newest);
                self.check("at", at).map(|()| PastMoment::Command(at))
            }
        }
    }

    fn check(&self, field: &str, at: Sequence) -> Result<(), Problem> {
        let beyond = || Problem::field(field, format!("{field} is {at}; the last command is {}", self.newest));
        if at > self.newest { Err(beyond()) } else { Ok(()) }
    }

    /// Runs `look` on the market of that moment.
    fn look<T: Send + 'static>(
        &self,
        app: &AppState,
        moment: PastMoment,
        look: impl FnOnce(&mut dyn PastMarket) -> Result<T, Problem> + Send + 'static,
    ) -> Result<PendingLook<T>, Problem> {
        let markets = app.market()?.past.clone().ok_or_else(no_journal)?;
        let (told, seen) = oneshot::channel();
        let answer = move |found: Result<&mut dyn PastMarket, NotShown>| {
            // A client that has gone away needs no answer.
            if !told.is_closed() {
                drop(told.send(found.map_err(problem).and_then(look)));
            }
        };
        let member = current_principal::asker().map_or_else(Box::default, |asker| asker.principal.member().into());
        markets.ask(PastQuestion { member, moment, newest: self.newest, look: Box::new(answer) });
        Ok(PendingLook(seen))
    }
}

/// The result of a look at a past market.
struct PendingLook<T>(oneshot::Receiver<Result<T, Problem>>);

impl<T> PendingLook<T> {
    async fn result(self) -> Result<T, Problem> {
        // A look that panics gives no answer.
        self.0.await.map_err(|_| problem(NotShown::Fault))?
    }
}

/// Watches a symbol, and an account, in a past market, once they exist.
struct Watch {
    symbol: Symbol,
    account: Option<AccountId>,
    watched: (Option<SymbolIndex>, Option<AccountIndex>),
}

impl Watch {
    fn begin(&mut self, view: &mut View) {
        if self.watched.0.is_none() {
            self.watched.0 = view.find_symbol(self.symbol);
            self.watched.0.inspect(|symbol| view.watch_symbol(*symbol, true));
        }
        if self.watched.1.is_none() {
            self.watched.1 = self.account.and_then(|account| view.find_account(account));
            self.watched.1.inspect(|account| view.watch_account(*account, true));
        }
    }

    fn end(self, view: &mut View) {
        self.watched.0.inspect(|symbol| view.watch_symbol(*symbol, false));
        self.watched.1.inspect(|account| view.watch_account(*account, false));
    }

    /// Returns what the last command changed.
    fn news(&mut self, view: &mut View) -> Option<PastEventShape> {
        let (symbols, news) = (view.take_symbols(), view.take_news());
        self.begin(view);
        let symbol = self.watched.0?;
        let orders = changed(view, symbol, &news);
        if symbols.is_empty() && orders.is_empty() {
            return None;
        }
        let (touched, trades) = view.take_symbol_news(symbol);
        let listing = view.listing(symbol);
        let (bids, asks) = sides(touched.into_iter().map(|(side, limit)| listing.book.level(side, limit)));
        Some(PastEventShape {
            sequence: view.sequence().0,
            time: view.time().0,
            bids,
            asks,
            checksum: checksum(view, symbol),
            phase: PhaseShape::of(listing),
            trades: trades.iter().map(|trade| PastTradeShape::of(trade, self.watched.1)).collect(),
            orders,
        })
    }
}

/// Returns the orders in a symbol that came to its book, changed there or left it, each once, in the order of their
/// last changes.
fn changed(view: &View, symbol: SymbolIndex, news: &[News]) -> Vec<PastOrderShape> {
    let (mut orders, mut seen) = (Vec::new(), HashSet::new());
    for news in news.iter().rev() {
        let changed = match news {
            News::Order(_, order) => view.open_order(*order),
            News::Amended(_, amended, _) => view.open_order(amended.order),
            News::Ended(_, ended) => Some(ended.order),
            News::Account(_)
            | News::Shares(..)
            | News::Transferred(..)
            | News::Placed(..)
            | News::Traded(..)
            | News::Noted(..) => None,
        };
        let Some(open) = changed.filter(|open| open.symbol == symbol && stands(open)) else { continue };
        if seen.insert(open.order) {
            orders.push(PastOrderShape::of(&open));
        }
    }
    orders.reverse();
    orders
}

/// Whether an order is in its book, or was when it ended.
fn stands(open: &Open) -> bool {
    !open.waits && !open.delayed && open.pends_on.is_none()
}

fn no_journal() -> Problem {
    let detail = "the past is shown of a journal in a data folder: this server's market has none of its own, or its settings want no replays (--replay-commands)";
    Problem::new(Code::NoJournal, detail)
}

fn busy(detail: impl Into<String>) -> Problem {
    // By then other questions may be answered, and this market is further on.
    Problem::new(Code::ReplayBusy, detail).again_in(1)
}

fn problem(why: NotShown) -> Problem {
    match why {
        NotShown::OnItsWay { at } => busy(format!("it is on its way, at command {at}: ask again, and it goes on")),
        NotShown::TooEarly { first } => {
            let detail = format!("no longer kept: what is kept of the journal begins at command {first}");
            Problem::new(Code::NoLongerKept, detail)
        }
        NotShown::TooMuch(detail) => Problem::new(Code::ReplayTooLarge, detail),
        NotShown::Unreadable => {
            let detail = "the journal or a snapshot cannot be read; the server's log says why";
            Problem::new(Code::JournalUnreadable, detail)
        }
        NotShown::Busy => busy("others are being shown the past: ask again in a second"),
        NotShown::Fault => Problem::fault(),
        NotShown::Ended => {
            let detail = "this server shows the past no more until it is started again; its log says why, and nobody who trades is touched";
            Problem::new(Code::ReplayEnded, detail)
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::header::RETRY_AFTER;
    use axum::response::IntoResponse;

    use super::*;

    #[test]
    fn who_has_to_wait_is_told_how_long() {
        let refused = problem(NotShown::OnItsWay { at: Sequence(7) });
        assert!(refused.detail.contains("at command 7"), "{refused}");
        let response = refused.into_response();
        assert_eq!(
            (response.status(), &response.headers()[RETRY_AFTER]),
            (axum::http::StatusCode::SERVICE_UNAVAILABLE, &"1".parse().expect("a header"))
        );
        assert_eq!(problem(NotShown::Busy).into_response().headers()[RETRY_AFTER], "1");
    }

    /// A client whose look ended without an answer was asked to try again, for ever.
    #[tokio::test]
    async fn who_asks_for_a_look_that_panics_gets_a_fault_and_is_not_asked_to_try_again() {
        let (told, seen) = oneshot::channel::<Result<(), Problem>>();
        drop(told);
        let refused = PendingLook(seen).result().await.expect_err("nobody answers");
        assert_eq!(refused.code, Code::InternalFault);
        assert!(refused.into_response().headers().get(RETRY_AFTER).is_none());
    }
}
