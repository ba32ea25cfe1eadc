//! The public market: symbols, books, trades, candles.

use std::collections::VecDeque;

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use exchange::Read;
use feed::{ReadModel, Trade, View};
use serde_json::{Value, json};
use terms::{KillScope, Side, SymbolIndex};

use crate::history::{PageRequest, TRADES, gather};
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use crate::time_unit::TimeUnit;
use crate::{names, numbers, pairs, used_weight};
use http_gateway::chunked_answer::{Frame, Piece, in_turn};
use http_gateway::history_pages;
use http_gateway::hub::Hub;

pub(crate) type Answer = Result<Json<Value>, Refusal>;

pub(crate) async fn ping(asked: Parameters) -> Answer {
    asked.only(&[])?;
    Ok(Json(json!({})))
}

pub(crate) async fn time(asked: Parameters) -> Answer {
    asked.only(&[])?;
    Ok(Json(json!({"serverTime": asked.unit.now()})))
}

/// Answers with the pairs. Their filters say what the engine accepts: every price and number of shares with eight
/// decimals, and so every product of two, unless the symbol has rules.
pub(crate) async fn exchange_info(State(app): State<BinanceState>, asked: Parameters) -> Result<Response, Refusal> {
    asked.only(&["symbol", "symbols", "permissions", "showPermissionSets", "symbolStatus"])?;
    let (unit, wanted, has_sets) = (asked.unit, Wanting::of(&asked)?, shows_permission_sets(&asked)?);
    let chosen = app.look(move |model| chosen(&model.view, &asked)).await??;
    let chosen = if wanted == Wanting::Nothing { SymbolChoice::Some(VecDeque::new()) } else { chosen };
    let about = json!({
        "timezone": "UTC",
        "serverTime": unit.now(),
        "rateLimits": used_weight::limits(),
        "exchangeFilters": [],
    });
    app.answer((Frame::field(&about, "symbols"), Read::Market), chosen, move |app, chosen| async move {
        // The feed returns the names and rules; the text is written outside of it.
        let named = |view: &View, symbol: SymbolIndex| {
            let listing = view.listing(symbol);
            let kills = [KillScope::Everything, KillScope::Symbol(symbol)];
            let is_killed = kills.into_iter().any(|scope| view.kills().is_killed(scope));
            let status = if is_killed { pairs::Status::Halted } else { pairs::Status::of(listing) };
            (listing.name, listing.rules, status)
        };
        let (named, next) = look_at_some(&app, chosen, named).await?;
        let shown = named.into_iter().filter(|(.., status)| wanted.is_shown(*status));
        Ok(Piece::written(shown.map(|(name, rules, status)| pairs::pair_text(name, &rules, status, has_sets)), next))
    })
    .await
}

/// The pairs that a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanting {
    All,
    Trading,
    Halted,
    /// Pairs in an auction.
    Auction,
    /// Pairs of a status or a permission that no pair has.
    Nothing,
}

impl Wanting {
    fn of(asked: &Parameters) -> Result<Wanting, Refusal> {
        let status = match asked.text("symbolStatus") {
            None => Wanting::All,
            Some("TRADING") => Wanting::Trading,
            Some("HALT") => Wanting::Halted,
            Some("AUCTION_MATCH") => Wanting::Auction,
            Some("BREAK" | "END_OF_DAY") => Wanting::Nothing,
            Some(_) => {
                return Err(Refusal::invalid(
                    "symbolStatus",
                    "it is TRADING, HALT, AUCTION_MATCH, BREAK or END_OF_DAY",
                ));
            }
        };
        let Some(permissions) = asked.text("permissions") else { return Ok(status) };
        let list: Vec<String> = match permissions.starts_with('[') {
            true => serde_json::from_str(permissions).map_err(|_| Refusal::illegal("permissions", "a JSON list"))?,
            false => vec![permissions.to_owned()],
        };
        let is_one = |permission: &String| {
            ["SPOT", "MARGIN", "LEVERAGED"].contains(&permission.as_str()) || permission.starts_with("TRD_GRP_")
        };
        if !list.iter().all(is_one) {
            return Err(Refusal::invalid(
                "permissions",
                "there are SPOT, MARGIN, LEVERAGED and TRD_GRP_ with a number",
            ));
        }
        Ok(if list.iter().any(|permission| permission == pairs::SPOT) { status } else { Wanting::Nothing })
    }

    fn is_shown(self, status: pairs::Status) -> bool {
        match self {
            Wanting::All => true,
            Wanting::Trading => status == pairs::Status::Trading,
            Wanting::Halted => status == pairs::Status::Halted,
            Wanting::Auction => status == pairs::Status::Auction,
            Wanting::Nothing => false,
        }
    }
}

fn shows_permission_sets(asked: &Parameters) -> Result<bool, Refusal> {
    match asked.text("showPermissionSets") {
        None | Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(_) => Err(Refusal::invalid("showPermissionSets", "it is true or false")),
    }
}

/// Symbols that are read between two turns of the feed.
const AT_ONCE: usize = 100;

/// The symbols of a request that are still to be shown.
pub(crate) enum SymbolChoice {
    /// A single symbol, shown without a list where the interface has none for one symbol.
    One(SymbolIndex),
    Some(VecDeque<SymbolIndex>),
    /// All symbols that are traded here, from this one on.
    AllFrom(SymbolIndex),
}

impl SymbolChoice {
    /// Takes the next symbols. `None` is left when nothing more is to be shown.
    fn take_some(self, view: &View) -> (Vec<SymbolIndex>, Option<SymbolChoice>) {
        match self {
            SymbolChoice::One(symbol) => (vec![symbol], None),
            SymbolChoice::Some(mut symbols) => {
                let some = symbols.drain(..symbols.len().min(AT_ONCE)).collect();
                (some, Some(symbols).filter(|left| !left.is_empty()).map(SymbolChoice::Some))
            }
            SymbolChoice::AllFrom(SymbolIndex(from)) => {
                let end = u32::try_from(view.listings().len()).unwrap_or(u32::MAX);
                let to = from.saturating_add(AT_ONCE as u32).min(end);
                let some = (from..to).map(SymbolIndex).filter(|symbol| names::is_traded(view, *symbol));
                (some.collect(), (to < end).then_some(SymbolChoice::AllFrom(SymbolIndex(to))))
            }
        }
    }
}

/// Calls `show` for the next symbols. Returns the results, and the symbols that are left.
pub(crate) async fn look_at_some<T: Send + 'static>(
    app: &BinanceState,
    chosen: SymbolChoice,
    show: impl Fn(&View, SymbolIndex) -> T + Send + 'static,
) -> Result<(Vec<T>, Option<SymbolChoice>), Refusal> {
    let looked = app.look(move |model| {
        let (some, next) = chosen.take_some(&model.view);
        (some.into_iter().map(|symbol| show(&model.view, symbol)).collect(), next)
    });
    Ok(in_turn(app, looked).await?)
}

/// Reads the symbols from `symbol`, from `symbols` (a JSON list), or takes all.
pub(crate) fn chosen(view: &View, asked: &Parameters) -> Result<SymbolChoice, Refusal> {
    let find = |pair: &str| names::find(view, pair).ok_or_else(Refusal::unknown_symbol);
    if let Some(pair) = asked.text("symbol") {
        return find(pair).map(SymbolChoice::One);
    }
    let Some(list) = asked.text("symbols") else { return Ok(SymbolChoice::AllFrom(SymbolIndex(0))) };
    let pairs: Vec<String> =
        serde_json::from_str(list).map_err(|_| Refusal::illegal("symbols", "a JSON list of symbols"))?;
    pairs.iter().map(|pair| find(pair)).collect::<Result<_, _>>().map(SymbolChoice::Some)
}

/// Levels of a side: shown by default, and at most.
const DEPTH: (usize, usize) = (100, 5000);

/// Answers with the book as it is after the command `lastUpdateId`: streams of depth go on from any such number.
pub(crate) async fn depth(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    asked.only(&["symbol", "limit"])?;
    let limit = asked.limit(DEPTH.0, DEPTH.1)?;
    of_symbol(&app, &asked, move |model, symbol| Ok(book_shape(&model.view, symbol, limit))).await.map(Json)
}

/// Writes the best levels.
pub(crate) fn book_shape(view: &View, symbol: SymbolIndex, limit: usize) -> Value {
    let book = &view.listing(symbol).book;
    let side = |side: Side| -> Vec<[String; 2]> {
        let levels = book.levels(side).take(limit);
        levels.map(|(limit, level)| [numbers::price(limit), numbers::position(level.shares)]).collect()
    };
    json!({"lastUpdateId": view.sequence().0, "bids": side(Side::Buy), "asks": side(Side::Sell)})
}

pub(crate) async fn trades(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    asked.only(&["symbol", "limit"])?;
    let limit = asked.limit(TRADES.0, TRADES.1)?;
    let trades = trades_of(&app, &asked, PageRequest { limit, ..PageRequest::default() }).await?;
    Ok(Json(trades.iter().map(|trade| trade_shape(trade, asked.unit)).collect()))
}

pub(crate) async fn historical_trades(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    asked.only(&["symbol", "limit", "fromId"])?;
    let (limit, from) = (asked.limit(TRADES.0, TRADES.1)?, asked.number("fromId")?);
    let trades = trades_of(&app, &asked, PageRequest { from, limit, ..PageRequest::default() }).await?;
    Ok(Json(trades.iter().map(|trade| trade_shape(trade, asked.unit)).collect()))
}

/// Answers with trades, each of which is an aggregate of its own.
pub(crate) async fn aggregate_trades(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    asked.only(&["symbol", "limit", "fromId", "startTime", "endTime"])?;
    let wanted = PageRequest::of(&asked, "fromId")?;
    let trades = trades_of(&app, &asked, wanted).await?;
    Ok(Json(trades.iter().map(|trade| aggregate_shape(trade, asked.unit)).collect()))
}

/// Returns trades of a symbol, oldest first.
async fn trades_of(app: &BinanceState, asked: &Parameters, wanted: PageRequest) -> Result<Vec<Trade>, Refusal> {
    let symbol = of_symbol(app, asked, |_, symbol| Ok(symbol)).await?;
    if let Some(since) = wanted.since() {
        let found = history_pages::trades_since(app, symbol, since, wanted.limit).await.map_err(Refusal::troubled)?;
        if let Some(mut trades) = found {
            trades.retain(|trade| !wanted.ends_before(trade.time));
            return Ok(trades);
        }
    }
    gather(wanted, |before| history_pages::trades_of_symbol(app, symbol, before, TRADES.1)).await
}

fn trade_shape(trade: &Trade, unit: TimeUnit) -> Value {
    json!({
        "id": trade.id,
        "price": numbers::price(trade.price),
        "qty": numbers::shares(trade.shares),
        "quoteQty": numbers::money(trade.money()),
        "time": unit.tell(trade.time),
        "isBuyerMaker": trade.aggressor == Side::Sell,
        "isBestMatch": true,
    })
}

fn aggregate_shape(trade: &Trade, unit: TimeUnit) -> Value {
    json!({
        "a": trade.id,
        "p": numbers::price(trade.price),
        "q": numbers::shares(trade.shares),
        "f": trade.id,
        "l": trade.id,
        "T": unit.tell(trade.time),
        "m": trade.aggressor == Side::Sell,
        "M": true,
    })
}

/// Calls `show` for the symbol of a request.
pub(crate) async fn of_symbol<T: Send + 'static>(
    app: &BinanceState,
    asked: &Parameters,
    show: impl FnOnce(&mut ReadModel<Hub>, SymbolIndex) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let pair = asked.needed("symbol")?.to_owned();
    let shown = app.look(move |model| match names::find(&model.view, &pair) {
        Some(symbol) => show(model, symbol),
        None => Err(Refusal::unknown_symbol()),
    });
    shown.await?
}
