//! Answers to the questions that clients ask before they trade: whether the exchange runs, its fees, and its assets.
//! Nothing is deposited or withdrawn here.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use exchange::{Read, State as Condition};
use feed::View;
use serde_json::{Value, json};
use terms::{AccountIndex, Money, Position, SymbolIndex};

use crate::fees::Rates;
use crate::find_order::of_account;
use crate::market::{Answer, SymbolChoice, look_at_some, of_symbol};
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use crate::{names, numbers};
use http_gateway::chunked_answer::{Frame, Piece};

pub(crate) async fn system_status(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    asked.only(&[])?;
    let (status, msg) = match app.status().get() == Condition::Ready {
        true => (0, "normal"),
        false => (1, "system_maintenance"),
    };
    Ok(Json(json!({"status": status, "msg": msg})))
}

/// Answers with no pairs: none trade on margin, and none is to be delisted. Where there are members, a key's name is
/// enough, for the answer reveals nothing of the market, nor whether the key exists.
pub(crate) async fn no_pairs(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    match app.members() {
        Some(_) => asked.names_key()?,
        None => asked.key(&app).map(|_| ())?,
    }
    asked.only_signed(&["symbol"])?;
    asked.unchecked_time()?;
    if asked.text("symbol").is_some() && app.may_read(Read::Market) {
        of_symbol(&app, &asked, |_, _| Ok(())).await?;
    }
    Ok(Json(json!([])))
}

/// Answers with the fees of one pair, or of all.
pub(crate) async fn trade_fee(State(app): State<BinanceState>, asked: Parameters) -> Result<Response, Refusal> {
    let account = asked.account(&app).await?;
    asked.only_signed(&["symbol"])?;
    let chosen = match asked.text("symbol") {
        Some(_) => SymbolChoice::Some([of_symbol(&app, &asked, |_, symbol| Ok(symbol)).await?].into()),
        None => SymbolChoice::AllFrom(SymbolIndex(0)),
    };
    app.answer((Frame::bare(), Read::Account(account)), chosen, move |app, chosen| async move {
        let (shapes, next) = look_at_some(&app, chosen, move |view, symbol| {
            let pair = names::pair(view.listing(symbol).name);
            let account = view.find_account(account);
            let rates = account.map_or(Rates::default(), |account| Rates::of(view, account, symbol));
            let [maker, taker] = rates.texts();
            json!({"symbol": pair, "makerCommission": maker, "takerCommission": taker})
        })
        .await?;
        Ok(Piece::of(shapes, next))
    })
    .await
}

pub(crate) async fn commission(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    asked.only_signed(&["symbol"])?;
    let pair = asked.needed("symbol")?.to_owned();
    let (pair, rates) = of_account(&app, account, move |model, account| {
        let symbol = names::find(&model.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        Ok((names::pair(model.view.listing(symbol).name), Rates::of(&model.view, account, symbol)))
    })
    .await?;
    let none = Rates::default().with_sides();
    Ok(Json(json!({
        "symbol": pair,
        "standardCommission": rates.with_sides(),
        "specialCommission": none,
        "taxCommission": none,
        "discount": no_discount(),
    })))
}

fn no_discount() -> Value {
    json!({
        "enabledForAccount": false,
        "enabledForSymbol": false,
        "discountAsset": Value::Null,
        "discount": numbers::zero(),
    })
}

/// Writes the fees of one order.
pub(crate) fn order_commission(rates: Rates) -> Value {
    let none = Rates::default().alone();
    json!({
        "standardCommissionForOrder": rates.alone(),
        "specialCommissionForOrder": none,
        "taxCommissionForOrder": none,
        "discount": no_discount(),
    })
}

/// The assets that are still to be shown.
enum Assets {
    /// Dollars, and all symbols.
    All,
    /// Symbols alone.
    Symbols(SymbolChoice),
}

/// Answers with the details of all assets, or of one.
pub(crate) async fn asset_detail(State(app): State<BinanceState>, asked: Parameters) -> Result<Response, Refusal> {
    let account = asked.account(&app).await?;
    asked.only_signed(&["asset"])?;
    if let Some(asset) = asked.text("asset").map(str::to_owned) {
        let known = app.look(move |model| is_asset(&model.view, &asset).then_some(asset)).await?;
        let known = known.ok_or_else(|| Refusal::invalid("asset", "there is no such asset"))?;
        return Ok(Json(json!({known: detail()})).into_response());
    }
    app.answer((Frame::fields(), Read::Account(account)), Assets::All, move |app, assets| async move {
        let (dollars, symbols) = some_of(assets);
        let (names, next) = look_at_some(&app, symbols, |view, symbol| view.listing(symbol).name).await?;
        // A name is letters and digits.
        let field = |asset: &str| format!("\"{asset}\":{}", detail());
        let all: Vec<String> =
            dollars.into_iter().map(field).chain(names.iter().map(|name| field(name.as_str()))).collect();
        Ok(Piece::written(all, next.map(Assets::Symbols)))
    })
    .await
}

/// Writes the detail, which is the same for every asset.
fn detail() -> Value {
    json!({"minWithdrawAmount": numbers::zero(), "depositStatus": false, "withdrawFee": 0, "withdrawStatus": false})
}

fn is_asset(view: &View, asset: &str) -> bool {
    asset == names::DOLLARS || names::find(view, &format!("{asset}{}", names::DOLLARS)).is_some()
}

/// Answers with all assets, and the account's balance of each.
pub(crate) async fn coins(State(app): State<BinanceState>, asked: Parameters) -> Result<Response, Refusal> {
    let id = asked.account(&app).await?;
    asked.only_signed(&[])?;
    let account = of_account(&app, id, |_, account| Ok(account)).await?;
    app.answer((Frame::bare(), Read::Account(id)), Assets::All, move |app, assets| async move {
        let (dollars, symbols) = some_of(assets);
        let dollars = match dollars {
            Some(_) => Some(app.look(move |model| dollars_shape(&model.view, account)).await?),
            None => None,
        };
        let (coins, next) = look_at_some(&app, symbols, move |view, symbol| coin_of(view, account, symbol)).await?;
        Ok(Piece::of(dollars.into_iter().chain(coins), next.map(Assets::Symbols)))
    })
    .await
}

/// Returns dollars if they come first, and the symbols to read.
fn some_of(assets: Assets) -> (Option<&'static str>, SymbolChoice) {
    match assets {
        Assets::All => (Some(names::DOLLARS), SymbolChoice::AllFrom(SymbolIndex(0))),
        Assets::Symbols(chosen) => (None, chosen),
    }
}

fn dollars_shape(view: &View, account: AccountIndex) -> Value {
    let account = view.account(account);
    let (balance, held): (Money, Money) = (account.balance, account.held);
    coin_shape(names::DOLLARS, numbers::money(balance), numbers::money(held))
}

fn coin_of(view: &View, account: AccountIndex, symbol: SymbolIndex) -> Value {
    let holding = view.account(account).holdings.of(symbol);
    let (shares, held) = holding.map_or((Position::ZERO, Position::ZERO), |holding| (holding.shares, holding.held));
    coin_shape(view.listing(symbol).name.as_str(), numbers::position(shares), numbers::position(held))
}

fn coin_shape(asset: &str, free: String, locked: String) -> Value {
    json!({
        "coin": asset,
        "name": asset,
        "depositAllEnable": false,
        "withdrawAllEnable": false,
        "free": free,
        "locked": locked,
        "freeze": "0",
        "withdrawing": "0",
        "ipoing": "0",
        "ipoable": "0",
        "storage": "0",
        "isLegalMoney": asset == names::DOLLARS,
        "trading": true,
        "networkList": [],
    })
}
