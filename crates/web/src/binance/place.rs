//! Placing orders: limit orders of every time in force, market orders, and both waiting for a price.

use axum::Json;
use axum::extract::State;
use engine::{
    AccountId, AmountError, ClientOrderId, Command, Decimal, FundsOrder, IcebergOrder, Money, NewOrder, Op, OrderId,
    OrderKind, Position, Price, Reject, Reply, SelfTrade, Shares, Side, Symbol, Time, Trail, TrailingOrder, Trigger,
};
use feed::{PastOrder, RECENT_MAX, ReadModel, Trade};
use serde_json::{Value, json};

use super::market::Answer;
use super::meant::{ask, ask_all, of_account};
use super::order::{canceled_status, price_text, side_name, time_in_force, type_name, why_canceled};
use super::parameters::Parameters;
use super::refusal::Refusal;
use super::time_unit::TimeUnit;
use super::{client_names, fees, names, numbers, self_trade, trailing};
use crate::hub::Hub;
use crate::past;
use crate::site::Site;

/// All parameters that an order may have. Any other one would ask for something that would not be done.
const KNOWN: [&str; 16] = [
    "symbol",
    "side",
    "type",
    "timeInForce",
    "quantity",
    "quoteOrderQty",
    "price",
    "stopPrice",
    "newClientOrderId",
    "newOrderRespType",
    "icebergQty",
    trailing::DELTA,
    self_trade::MODE,
    "recvWindow",
    "timestamp",
    "signature",
];

/// An order as it is asked for.
pub(super) struct Placing {
    pub(super) symbol: Symbol,
    side: Side,
    kind: OrderKind,
    limit: Price,
    trigger: Option<Trigger>,
    /// How far behind the market that stays, if it follows that. Then there is no trigger yet.
    trail: Option<Trail>,
    amount: Amount,
    self_trade: SelfTrade,
    client_id: Option<ClientOrderId>,
    /// How many shares it shows at a time, if not all.
    display: Option<Shares>,
    tell: Tell,
}

/// How much is to be traded.
#[derive(Clone, Copy)]
enum Amount {
    Shares(Shares),
    Funds(Money),
}

/// How much is answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tell {
    Ack,
    Result,
    Full,
}

pub(super) async fn place(State(site): State<Site>, asked: Parameters) -> Answer {
    let account = asked.account(&site).await?;
    let placing = Placing::read(&asked, &[])?;
    let order = placing.ask(&site, account).await?;
    site.count_order(account);
    let told = placing.tell(&site, account, order, asked.unit).await;
    // It is placed: whoever cannot be told of it must not be told to try again.
    told.map(Json).map_err(|_| Refusal::unknown_outcome())
}

/// Whether its client order id stands for another order, or for the same one sent before.
fn is_taken(reply: &Reply) -> bool {
    matches!(reply, Reply::Repeated(_) | Reply::Rejected(Reject::ClientOrderIdTaken { .. }))
}

/// The order that was placed.
pub(super) fn placed(reply: Reply) -> Result<OrderId, Refusal> {
    match reply {
        Reply::Opened(order) => Ok(order),
        // The native interface answers the same order with the first one's number; these clients are told that it was sent twice.
        Reply::Repeated(_) => Err(Refusal::duplicate()),
        Reply::Rejected(reject) => Err(Refusal::of(&reject)),
        Reply::Created
        | Reply::Freed(_)
        | Reply::Moved { .. }
        | Reply::Amended { .. }
        | Reply::Activated
        | Reply::Expired
        | Reply::CanceledAll { .. }
        | Reply::Status(_)
        | Reply::Canceled(_)
        | Reply::Done(_) => Err(Refusal::internal()),
    }
}

impl Placing {
    /// Places it. A client order id whose order is done is free for it.
    pub(super) async fn ask(&self, site: &Site, account: AccountId) -> Result<OrderId, Refusal> {
        let place = Op::Command(self.command(account));
        let reply = ask(site, place).await?;
        let (true, Some(id)) = (is_taken(&reply), self.client_id) else { return placed(reply) };
        let [freed, reply] = ask_all(site, [Op::Command(Command::FreeClientOrderId { account, id }), place]).await?;
        freed?;
        placed(reply?)
    }

    /// `others` are the parameters that the request has besides.
    pub(super) fn read(asked: &Parameters, others: &[&str]) -> Result<Placing, Refusal> {
        let symbol = names::parse(asked.needed("symbol")?).ok_or_else(Refusal::unknown_symbol)?;
        let side = match asked.needed("side")? {
            "BUY" => Side::Buy,
            "SELL" => Side::Sell,
            _ => return Err(Refusal::new(-1117, "Invalid side.")),
        };
        let order_type = asked.needed("type")?;
        if !names::ORDER_TYPES.contains(&order_type) {
            return Err(Refusal::new(
                -1116,
                format!("Invalid orderType. There are {}.", names::ORDER_TYPES.join(", ")),
            ));
        }
        if let Some(unknown) = asked.names().find(|name| !KNOWN.contains(name) && !others.contains(name)) {
            return Err(Refusal::not_required(unknown));
        }
        let has_time_in_force = matches!(order_type, "LIMIT" | "STOP_LOSS_LIMIT" | "TAKE_PROFIT_LIMIT");
        let kind = match (has_time_in_force, asked.text("timeInForce")) {
            (true, None) => return Err(Refusal::missing("timeInForce")),
            (true, Some("GTC")) => OrderKind::Limit,
            (true, Some("IOC")) => OrderKind::ImmediateOrCancel,
            (true, Some("FOK")) => OrderKind::FillOrKill,
            (true, Some(_)) => return Err(Refusal::new(-1115, "Invalid timeInForce. There are GTC, IOC and FOK.")),
            (false, Some(_)) => return Err(Refusal::not_required("timeInForce")),
            (false, None) if order_type == "LIMIT_MAKER" => OrderKind::PostOnly,
            (false, None) => OrderKind::Market,
        };
        let stop = || amount(asked.needed("stopPrice")?, "stopPrice", "PRICE_FILTER", Decimal::price);
        let trail = trailing::read(asked, order_type)?;
        let trigger = match order_type {
            _ if trail.is_some() => None,
            "STOP_LOSS" | "STOP_LOSS_LIMIT" => Some(Trigger::stop_loss(side, stop()?)),
            "TAKE_PROFIT" | "TAKE_PROFIT_LIMIT" => Some(Trigger::take_profit(side, stop()?)),
            _ if asked.text("stopPrice").is_some() => return Err(Refusal::not_required("stopPrice")),
            _ => None,
        };
        let amount_asked = match (kind, asked.text("quantity"), asked.text("quoteOrderQty")) {
            (OrderKind::Market, None, Some(funds)) if trigger.is_none() && trail.is_none() => {
                let funds = amount(funds, "quoteOrderQty", "NOTIONAL", |decimal| match decimal.money()? {
                    Money::ZERO => Err(AmountError::Zero),
                    funds => Ok(funds),
                });
                Amount::Funds(funds?)
            }
            (_, _, Some(_)) => return Err(Refusal::not_required("quoteOrderQty")),
            (_, _, None) => Amount::Shares(quantity(asked, "quantity")?),
        };
        let limit = match (kind, asked.text("price")) {
            (OrderKind::Market, None) => side.any_price(),
            (OrderKind::Market, Some(_)) => return Err(Refusal::not_required("price")),
            _ => amount(asked.needed("price")?, "price", "PRICE_FILTER", Decimal::price)?,
        };
        let client_id = asked.text("newClientOrderId").map(|id| client_order_id("newClientOrderId", id));
        let tell = match asked.text("newOrderRespType") {
            None | Some("FULL") => Tell::Full,
            Some("RESULT") => Tell::Result,
            Some("ACK") => Tell::Ack,
            Some(_) => return Err(Refusal::new(-1136, "Invalid newOrderRespType.")),
        };
        Ok(Placing {
            symbol,
            side,
            kind,
            limit,
            trigger,
            trail,
            amount: amount_asked,
            self_trade: self_trade::read(asked)?,
            client_id: client_id.transpose()?,
            display: display(asked, kind, has_time_in_force)?,
            tell,
        })
    }

    /// The price that it waits for, or else its limit.
    pub(super) fn reference_price(&self) -> Price {
        self.trigger.map_or(self.limit, Trigger::price)
    }

    pub(super) fn client_id(&self) -> Option<ClientOrderId> {
        self.client_id
    }

    pub(super) fn set_client_id(&mut self, id: Option<ClientOrderId>) {
        self.client_id = id;
    }

    pub(super) fn command(&self, account: AccountId) -> Command {
        let Placing { symbol, side, kind, limit, trigger, self_trade, client_id, .. } = *self;
        match self.amount {
            Amount::Shares(shares) => {
                let order = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
                if let Some(trail) = self.trail {
                    return TrailingOrder { account, order, trail, client_id, until: None }.command();
                }
                let in_parts = |display| IcebergOrder { account, order, display, client_id, until: None }.command();
                let iceberg = self.display.and_then(in_parts);
                iceberg.unwrap_or(Command::PlaceOrder { account, order, client_id, until: None })
            }
            Amount::Funds(funds) => {
                let order = FundsOrder { symbol, side, funds, self_trade };
                Command::PlaceByFunds { account, order, client_id }
            }
        }
    }

    /// What the order was answered with: what it executed with when it was placed, not what came later.
    pub(super) async fn tell(
        &self,
        site: &Site,
        account: AccountId,
        order: OrderId,
        unit: TimeUnit,
    ) -> Result<Value, Refusal> {
        let Placing { symbol: name, side, kind, limit, trigger, trail, .. } = *self;
        let waits = trigger.is_some() || trail.is_some();
        let (time, fills) = of_account(site, account, move |scene, _| {
            let time = time_of(scene, order)?;
            // One that waits has executed nothing when it was placed, whatever it did since.
            let fills = if waits { Some(Vec::new()) } else { fills(scene, name, order, time)? };
            Ok((time, fills))
        })
        .await?;
        let time = fills.iter().flatten().next().map(|trade| trade.time).or(time);
        let time = time.map_or_else(|| unit.now(), |time| unit.tell(time));
        let mut told = json!({
            "symbol": names::pair(name),
            "orderId": order.0,
            "orderListId": -1,
            "clientOrderId": client_names::name_of(order, self.client_id.as_ref()),
            "transactTime": time,
        });
        let Some(fills) = fills.filter(|_| self.tell != Tell::Ack) else { return Ok(told) };
        let executed = fills.iter().fold(Position::ZERO, |sum, trade| sum.plus(trade.shares.position()));
        let money = fills.iter().fold(Money::ZERO, |sum, trade| sum.plus(trade.money()));
        let past = match self.amount {
            Amount::Shares(shares) if executed == shares.position() || waits => None,
            Amount::Shares(_) if kind.rests() && self.self_trade == SelfTrade::Allowed => None,
            // It may have been canceled at once, or go on.
            Amount::Shares(_) | Amount::Funds(_) => past_order(site, order).await?,
        };
        let (shares, funds) = match self.amount {
            Amount::Shares(shares) => (shares.position(), Money::ZERO),
            // The engine chose as many shares as there were, and may go on to execute them.
            Amount::Funds(funds) => (past.map_or(executed, |past| past.shares.position()), funds),
        };
        let status = match past {
            Some(past) => status_at_once(&past, executed),
            None if executed == shares => "FILLED",
            None if waits => "NEW",
            None => open_status(executed),
        };
        let more = json!({
            "price": price_text(kind, limit),
            "origQty": numbers::position(shares),
            "executedQty": numbers::position(executed),
            "origQuoteOrderQty": numbers::money(funds),
            "cummulativeQuoteQty": numbers::money(money),
            "status": status,
            "timeInForce": time_in_force(kind),
            "type": type_name(kind, side, trigger.or(trail.map(|_| Trigger::stop_loss(side, limit)))),
            "side": side_name(side),
            "stopPrice": numbers::price_or_zero(trigger.map(Trigger::price)),
            "workingTime": if waits { json!(-1) } else { json!(time) },
            "selfTradePreventionMode": self_trade::name(self.self_trade),
        });
        trailing::tell(&mut told, trailing::DELTA, trail);
        if let (Some(told), Value::Object(more)) = (told.as_object_mut(), more) {
            told.extend(more);
            told.extend(self.display.map(|display| ("icebergQty".to_owned(), json!(numbers::shares(display)))));
            if self.tell == Tell::Full {
                told.insert("fills".to_owned(), fills.iter().map(|trade| fill_shape(trade, name)).collect());
            }
        }
        Ok(told)
    }
}

/// The order as it is kept; none if it is not kept any more.
async fn past_order(site: &Site, order: OrderId) -> Result<Option<PastOrder>, Refusal> {
    let found = past::order(site, order).await.map_err(Refusal::troubled)?;
    Ok(found.map(|found| found.order))
}

/// The status of an order by the command that placed it, where it may have met its own account, or does not rest. It
/// need not have executed all of its shares to be filled, and goes on with later commands if it executed as often as
/// one does.
fn status_at_once(past: &PastOrder, executed: Position) -> &'static str {
    let by_its_own_command = past.ended.filter(|ended| ended.sequence == past.sequence);
    match by_its_own_command.map(|ended| why_canceled(past, &ended)) {
        Some(Some(why)) => canceled_status(why),
        Some(None) => "FILLED",
        None => open_status(executed),
    }
}

/// What an order is of which so much is executed, and something is open.
fn open_status(executed: Position) -> &'static str {
    if executed == Position::ZERO { "NEW" } else { "PARTIALLY_FILLED" }
}

/// Of an order that was just placed.
fn fill_shape(trade: &Trade, symbol: Symbol) -> Value {
    let (commission, asset) = fees::commission(trade, trade.aggressor, symbol.as_str());
    json!({
        "price": numbers::price(trade.price),
        "qty": numbers::shares(trade.shares),
        "commission": commission,
        "commissionAsset": asset,
        "tradeId": trade.id,
    })
}

/// A parameter that is a name for an order.
pub(super) fn client_order_id(parameter: &str, text: &str) -> Result<ClientOrderId, Refusal> {
    ClientOrderId::parse(text.as_bytes()).map_err(|_| Refusal::illegal(parameter, "^[a-zA-Z0-9._:/-]{1,36}$"))
}

/// How many shares an order of this kind shows at a time, if not all.
fn display(asked: &Parameters, kind: OrderKind, has_time_in_force: bool) -> Result<Option<Shares>, Refusal> {
    match asked.text("icebergQty") {
        None => Ok(None),
        Some(_) if kind.rests() => quantity(asked, "icebergQty").map(Some),
        Some(_) if has_time_in_force => {
            Err(Refusal::new(-1115, "Invalid timeInForce. An order with icebergQty can only be GTC."))
        }
        Some(_) => Err(Refusal::not_required("icebergQty")),
    }
}

/// A number of shares.
pub(super) fn quantity(asked: &Parameters, parameter: &str) -> Result<Shares, Refusal> {
    amount(asked.needed(parameter)?, parameter, "LOT_SIZE", |decimal| match decimal.negative {
        true => Err(AmountError::Negative),
        false => decimal.order_shares(),
    })
}

/// An amount, with the filter that it fails when it is out of bounds.
fn amount<T>(
    text: &str,
    parameter: &str,
    filter: &str,
    of: impl FnOnce(Decimal) -> Result<T, AmountError>,
) -> Result<T, Refusal> {
    Decimal::parse(text.as_bytes()).and_then(of).map_err(|why| match why {
        AmountError::NotADecimal => Refusal::illegal(parameter, r"^([0-9]{1,20})(\.[0-9]{1,8})?$"),
        AmountError::TooManyDecimals { .. } | AmountError::MoreDecimalsThan { .. } => {
            Refusal::new(-1111, format!("Parameter '{parameter}' has too much precision."))
        }
        AmountError::AboveMaximum { .. } | AmountError::Negative | AmountError::Zero | AmountError::NotAboveZero => {
            Refusal::filter(filter)
        }
    })
}

/// When an order that was just placed was placed.
fn time_of(scene: &ReadModel<Hub>, order: OrderId) -> Result<Option<Time>, Refusal> {
    if let Some(open) = scene.view.open_order(order) {
        return Ok(Some(open.time));
    }
    let Some(history) = scene.history().map_err(Refusal::unreadable)? else { return Ok(None) };
    Ok(history.order(order).map_err(Refusal::unreadable)?.map(|past| past.time))
}

/// What an order executed with when it was placed, at this time, in order. None if that was too long ago for a memory without
/// history.
fn fills(
    scene: &ReadModel<Hub>,
    name: Symbol,
    order: OrderId,
    placed: Option<Time>,
) -> Result<Option<Vec<Trade>>, Refusal> {
    let Some(symbol) = scene.view.find_symbol(name) else { return Ok(None) };
    let (mut found, mut seen) = (Vec::new(), 0);
    let is_older = |trade: &Trade| placed.is_some_and(|placed| trade.time < placed);
    // It may be the aggressor of an auction since.
    let is_its = |trade: &Trade| trade.aggressor_order == order && placed.is_none_or(|placed| trade.time == placed);
    let mut take = |trade: &Trade| {
        seen += 1;
        if is_its(trade) {
            found.push(*trade);
        }
        !is_older(trade)
    };
    let complete = !scene.view.listing(symbol).recent().all(&mut take);
    if !complete && seen >= RECENT_MAX {
        let Some(history) = scene.history().map_err(Refusal::unreadable)? else { return Ok(None) };
        found.clear();
        let mut before = None;
        loop {
            let page = history.trades_of(symbol, before, RECENT_MAX).map_err(Refusal::unreadable)?;
            let (trades, next) = page.ok_or_else(Refusal::internal)?;
            found.extend(trades.iter().filter(|trade| is_its(trade)));
            let older = trades.iter().any(is_older);
            if older || next.is_none() {
                break;
            }
            before = next;
        }
    }
    found.reverse();
    Ok(Some(found))
}
