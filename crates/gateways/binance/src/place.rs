//! Places orders: limit orders of every time in force, market orders, and both with a trigger.

use axum::Json;
use axum::extract::State;
use feed::{PastOrder, RECENT_MAX, ReadModel, Trade};
use serde_json::{Value, json};
use terms::{
    AccountId, AmountError, ClientOrderId, Command, Decimal, FundsOrder, Money, NewOrder, Op, OrderId, OrderKind,
    Place, Position, Price, Reject, Reply, SelfTrade, Shares, Side, Symbol, Time, Trail, Trigger,
};

use crate::find_order::{ask, ask_all, of_account};
use crate::market::Answer;
use crate::order::{canceled_status, price_text, side_name, time_in_force, type_name, why_canceled};
use crate::parameters::Parameters;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use crate::time_unit::TimeUnit;
use crate::{client_names, fees, names, numbers, self_trade, trailing};
use http_gateway::history_pages;
use http_gateway::hub::Hub;

/// The parameters that an order may have. Any other one would ask for something that would not be done.
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

/// An order as it is requested.
pub(crate) struct Placing {
    pub(crate) symbol: Symbol,
    side: Side,
    kind: OrderKind,
    limit: Price,
    trigger: Option<Trigger>,
    /// The distance at which its trigger follows the market. Then it has no trigger yet.
    trail: Option<Trail>,
    amount: Amount,
    self_trade: SelfTrade,
    client_id: Option<ClientOrderId>,
    /// The display; `None` to show all.
    display: Option<Shares>,
    tell: Tell,
}

/// The amount to trade.
#[derive(Clone, Copy)]
enum Amount {
    Shares(Shares),
    Funds(Money),
}

/// The amount of detail in the answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tell {
    Ack,
    Result,
    Full,
}

pub(crate) async fn place(State(app): State<BinanceState>, asked: Parameters) -> Answer {
    let account = asked.account(&app).await?;
    let placing = Placing::read(&asked, &[])?;
    let order = placing.ask(&app, account).await?;
    app.count_order(account);
    let told = placing.tell(&app, account, order, asked.unit).await;
    // The order is placed: an error in writing the answer must not invite the client to try again.
    told.map(Json).map_err(|_| Refusal::unknown_outcome())
}

/// Whether its client order id stands for another order, or for the same one sent before.
fn is_taken(reply: &Reply) -> bool {
    matches!(reply, Reply::Repeated(_) | Reply::Rejected(Reject::ClientOrderIdTaken { .. }))
}

/// Returns the order that was placed.
pub(crate) fn placed(reply: Reply) -> Result<OrderId, Refusal> {
    match reply {
        Reply::Opened(order) => Ok(order),
        // The native interface answers a repeat with the first order's number; these clients get an error.
        Reply::Repeated(_) => Err(Refusal::duplicate()),
        Reply::Rejected(reject) => Err(Refusal::of(&reject)),
        Reply::Created
        | Reply::Freed(_)
        | Reply::Moved { .. }
        | Reply::Amended { .. }
        | Reply::Activated
        | Reply::Expired
        | Reply::InAuction
        | Reply::CanceledAll { .. }
        | Reply::Status(_)
        | Reply::Canceled(_)
        | Reply::Done(_) => Err(Refusal::internal()),
    }
}

impl Placing {
    /// Places the order. A client order id whose order is done is freed for it.
    pub(crate) async fn ask(&self, app: &BinanceState, account: AccountId) -> Result<OrderId, Refusal> {
        let place = Op::Command(Command::Place(self.order(account)));
        let reply = ask(app, place).await?;
        let (true, Some(id)) = (is_taken(&reply), self.client_id) else { return placed(reply) };
        let [freed, reply] = ask_all(app, [Op::Command(Command::FreeClientOrderId { account, id }), place]).await?;
        freed?;
        placed(reply?)
    }

    /// Reads an order. `others`: the parameters that the request has besides.
    pub(crate) fn read(asked: &Parameters, others: &[&str]) -> Result<Placing, Refusal> {
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

    /// Returns its trigger price, or else its limit.
    pub(crate) fn reference_price(&self) -> Price {
        self.trigger.map_or(self.limit, Trigger::price)
    }

    pub(crate) fn client_id(&self) -> Option<ClientOrderId> {
        self.client_id
    }

    pub(crate) fn set_client_id(&mut self, id: Option<ClientOrderId>) {
        self.client_id = id;
    }

    pub(crate) fn order(&self, account: AccountId) -> Place {
        let Placing { symbol, side, kind, limit, trigger, self_trade, client_id, .. } = *self;
        match self.amount {
            Amount::Shares(shares) => {
                let order = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
                let trailing = self.trail.and_then(|trail| Place::trailing(account, order, trail));
                let iceberg = self.display.and_then(|display| Place::iceberg(account, order, display));
                let place = trailing.or(iceberg).unwrap_or(Place::order(account, order));
                place.named(client_id)
            }
            Amount::Funds(funds) => {
                let order = FundsOrder { symbol, side, funds, self_trade };
                Place::funds(account, order).named(client_id)
            }
        }
    }

    /// Writes the answer to the order: its executions at its placing, not later ones.
    pub(crate) async fn tell(
        &self,
        app: &BinanceState,
        account: AccountId,
        order: OrderId,
        unit: TimeUnit,
    ) -> Result<Value, Refusal> {
        let Placing { symbol: name, side, kind, limit, trigger, trail, .. } = *self;
        let waits = trigger.is_some() || trail.is_some();
        let (time, fills) = of_account(app, account, move |model, _| {
            let time = time_of(model, order)?;
            // A waiting order has executed nothing at its placing, whatever it did since.
            let fills = if waits { Some(Vec::new()) } else { fills(model, name, order, time)? };
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
            // Some shares may have been canceled at once, or the order may be under way.
            Amount::Shares(_) | Amount::Funds(_) => past_order(app, order).await?,
        };
        let (shares, funds) = match self.amount {
            Amount::Shares(shares) => (shares.position(), Money::ZERO),
            // The engine chose the number of shares, and may go on to execute them.
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

/// Returns the record of an order; `None` if it is not kept any more.
async fn past_order(app: &BinanceState, order: OrderId) -> Result<Option<PastOrder>, Refusal> {
    let found = history_pages::order(app, order).await.map_err(Refusal::troubled)?;
    Ok(found.map(|found| found.order))
}

/// Returns the status of an order after the command that placed it, where self-trade prevention may have acted, or it
/// does not rest. It may be filled without having executed all of its shares, and goes on with later commands if it
/// executed as often as one command may.
fn status_at_once(past: &PastOrder, executed: Position) -> &'static str {
    let by_its_own_command = past.ended.filter(|ended| ended.sequence == past.sequence);
    match by_its_own_command.map(|ended| why_canceled(past, &ended)) {
        Some(Some(why)) => canceled_status(why),
        Some(None) if past.shares_now().position() == executed => "FILLED",
        // An order that its executions triggered took the rest.
        Some(None) | None => open_status(executed),
    }
}

/// Returns the status of an order with open shares and these executed ones.
fn open_status(executed: Position) -> &'static str {
    if executed == Position::ZERO { "NEW" } else { "PARTIALLY_FILLED" }
}

/// Writes an execution of an order that was just placed.
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

/// Reads a parameter that is a client order id.
pub(crate) fn client_order_id(parameter: &str, text: &str) -> Result<ClientOrderId, Refusal> {
    ClientOrderId::parse(text.as_bytes()).map_err(|_| Refusal::illegal(parameter, "^[a-zA-Z0-9._:/-]{1,36}$"))
}

/// Reads the display of an order of this kind; `None` to show all.
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

/// Reads a number of shares.
pub(crate) fn quantity(asked: &Parameters, parameter: &str) -> Result<Shares, Refusal> {
    amount(asked.needed(parameter)?, parameter, "LOT_SIZE", |decimal| match decimal.negative {
        true => Err(AmountError::Negative),
        false => decimal.order_shares(),
    })
}

/// Reads an amount; `filter` is the filter that it fails when it is out of bounds.
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

/// Returns the time of an order that was just placed.
fn time_of(model: &ReadModel<Hub>, order: OrderId) -> Result<Option<Time>, Refusal> {
    if let Some(open) = model.view.open_order(order) {
        return Ok(Some(open.time));
    }
    let Some(history) = model.history().map_err(Refusal::unreadable)? else { return Ok(None) };
    Ok(history.order(order).map_err(Refusal::unreadable)?.map(|past| past.time))
}

/// Returns the executions of an order at its placing, at this time, in order. `None` if that is too long ago for a
/// memory without history.
fn fills(
    model: &ReadModel<Hub>,
    name: Symbol,
    order: OrderId,
    placed: Option<Time>,
) -> Result<Option<Vec<Trade>>, Refusal> {
    let Some(symbol) = model.view.find_symbol(name) else { return Ok(None) };
    let mut found = Vec::new();
    let is_older = |trade: &Trade| placed.is_some_and(|placed| trade.time < placed);
    // The order may have been the aggressor of an auction since.
    let is_its = |trade: &Trade| trade.aggressor_order == order && placed.is_none_or(|placed| trade.time == placed);
    let mut take = |trade: &Trade| {
        if is_its(trade) {
            found.push(*trade);
        }
        !is_older(trade)
    };
    let complete = !model.view.listing(symbol).recent().all(&mut take);
    if !complete && model.view.listing(symbol).has_older {
        let Some(history) = model.history().map_err(Refusal::unreadable)? else { return Ok(None) };
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
