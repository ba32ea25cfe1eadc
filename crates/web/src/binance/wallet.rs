//! Answers to the questions that clients ask before they trade: whether the exchange runs, its fees, and its assets.
//! Nothing is deposited or withdrawn here.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use engine::{AccountIndex, Money, Position, SymbolIndex};
use exchange::{Read, State as Condition};
use feed::View;
use serde_json::{Value, json};

use super::fees::Rates;
use super::market::{Answer, Chosen, look_at_some, of_symbol};
use super::meant::of_account;
use super::parameters::Parameters;
use super::refusal::Refusal;
use super::{names, numbers};
use crate::pieces::{self, Frame, Piece};
use crate::site::Site;

pub(super) async fn system_status(State(site): State<Site>, asked: Parameters) -> Answer {
    asked.only(&[])?;
    let (status, msg) = match site.status().get() == Condition::Ready {
        true => (0, "normal"),
        false => (1, "system_maintenance"),
    };
    Ok(Json(json!({"status": status, "msg": msg})))
}

/// Answers with no pairs: none trade on margin, and none is to be delisted. Where there are members, a key's name is
/// enough, for the answer reveals nothing of the market, nor whether the key exists.
pub(super) async fn no_pairs(State(site): State<Site>, asked: Parameters) -> Answer {
    match site.members() {
        Some(_) => asked.names_key()?,
        None => asked.key(&site).map(|_| ())?,
    }
    asked.only_signed(&["symbol"])?;
    asked.unchecked_time()?;
    if asked.text("symbol").is_some() && site.may_read(Read::Market) {
        of_symbol(&site, &asked, |_, _| Ok(())).await?;
    }
    Ok(Json(json!([])))
}

/// Answers with the fees of one pair, or of all.
pub(super) async fn trade_fee(State(site): State<Site>, asked: Parameters) -> Result<Response, Refusal> {
    let account = asked.account(&site).await?;
    asked.only_signed(&["symbol"])?;
    let chosen = match asked.text("symbol") {
        Some(_) => Chosen::Some([of_symbol(&site, &asked, |_, symbol| Ok(symbol)).await?].into()),
        None => Chosen::AllFrom(SymbolIndex(0)),
    };
    pieces::answer(&site, Frame::bare(), chosen, move |site, chosen| async move {
        let (shapes, next) = look_at_some(&site, chosen, move |view, symbol| {
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

pub(super) async fn commission(State(site): State<Site>, asked: Parameters) -> Answer {
    let account = asked.account(&site).await?;
    asked.only_signed(&["symbol"])?;
    let pair = asked.needed("symbol")?.to_owned();
    let (pair, rates) = of_account(&site, account, move |scene, account| {
        let symbol = names::find(&scene.view, &pair).ok_or_else(Refusal::unknown_symbol)?;
        Ok((names::pair(scene.view.listing(symbol).name), Rates::of(&scene.view, account, symbol)))
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
pub(super) fn order_commission(rates: Rates) -> Value {
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
    Symbols(Chosen),
}

/// Answers with the details of all assets, or of one.
pub(super) async fn asset_detail(State(site): State<Site>, asked: Parameters) -> Result<Response, Refusal> {
    asked.account(&site).await?;
    asked.only_signed(&["asset"])?;
    if let Some(asset) = asked.text("asset").map(str::to_owned) {
        let known = site.look(move |scene| is_asset(&scene.view, &asset).then_some(asset)).await?;
        let known = known.ok_or_else(|| Refusal::invalid("asset", "there is no such asset"))?;
        return Ok(Json(json!({known: detail()})).into_response());
    }
    pieces::answer(&site, Frame::fields(), Assets::All, move |site, assets| async move {
        let (dollars, symbols) = some_of(assets);
        let (names, next) = look_at_some(&site, symbols, |view, symbol| view.listing(symbol).name).await?;
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
pub(super) async fn coins(State(site): State<Site>, asked: Parameters) -> Result<Response, Refusal> {
    let account = asked.account(&site).await?;
    asked.only_signed(&[])?;
    let account = of_account(&site, account, |_, account| Ok(account)).await?;
    pieces::answer(&site, Frame::bare(), Assets::All, move |site, assets| async move {
        let (dollars, symbols) = some_of(assets);
        let dollars = match dollars {
            Some(_) => Some(site.look(move |scene| dollars_shape(&scene.view, account)).await?),
            None => None,
        };
        let (coins, next) = look_at_some(&site, symbols, move |view, symbol| coin_of(view, account, symbol)).await?;
        Ok(Piece::of(dollars.into_iter().chain(coins), next.map(Assets::Symbols)))
    })
    .await
}

/// Returns dollars if they come first, and the symbols to read.
fn some_of(assets: Assets) -> (Option<&'static str>, Chosen) {
    match assets {
        Assets::All => (Some(names::DOLLARS), Chosen::AllFrom(SymbolIndex(0))),
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
