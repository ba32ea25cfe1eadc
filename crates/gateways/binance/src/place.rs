//! Places orders: limit orders of every time in force, market orders, and both with a trigger.

use axum::Json;
use axum::extract::State;
use exchange::{OrderRequest, OrderType, PostOnly, TimeInForce};
use feed::{PastOrder, RECENT_MAX, ReadModel, Trade};
use serde_json::{Value, json};
use terms::{
    AccountId, AmountError, ClientOrderId, Command, Decimal, FundsOrder, Money, NewOrder, Op, OrderForm, OrderId,
    Place, Position, Price, Reject, Reply, SelfTrade, Shares, Side, Symbol, SymbolIndex, Time, Trigger,
};

use crate::find_order::{ask, ask_all, of_account};
use crate::market::Answer;
use crate::order::{canceled_status, price_text, side_name, time_in_force, type_name, why_canceled};
use crate::order_refusal::order_refusal;
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
    place: Place,
    tell: Tell,
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
    let placing = Placing::read(account, &asked, &[])?;
    let order = placing.ask(&app).await?;
    app.count_order(account);
    let told = placing.tell(&app, order, asked.unit).await;
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
    pub(crate) async fn ask(&self, app: &BinanceState) -> Result<OrderId, Refusal> {
        let (account, place) = (self.place.account, Op::Command(Command::Place(self.place)));
        let reply = ask(app, place).await?;
        let (true, Some(id)) = (is_taken(&reply), self.client_id()) else { return placed(reply) };
        let [freed, reply] = ask_all(app, [Op::Command(Command::FreeClientOrderId { account, id }), place]).await?;
        freed?;
        placed(reply?)
    }

    /// Reads an order of this account. `others`: the parameters that the request has besides.
    pub(crate) fn read(account: AccountId, asked: &Parameters, others: &[&str]) -> Result<Placing, Refusal> {
        let symbol = names::parse(asked.needed("symbol")?).ok_or_else(Refusal::unknown_symbol)?;
        let side = match asked.needed("side")? {
            "BUY" => Side::Buy,
            "SELL" => Side::Sell,
            _ => return Err(Refusal::new(-1117, "Invalid side.")),
        };
        let named = asked.needed("type")?;
        if !names::ORDER_TYPES.contains(&named) {
            let types = names::ORDER_TYPES.join(", ");
            return Err(Refusal::new(-1116, format!("Invalid orderType. There are {types}.")));
        }
        if let Some(unknown) = asked.names().find(|name| !KNOWN.contains(name) && !others.contains(name)) {
            return Err(Refusal::not_required(unknown));
        }
        let price = |name| asked.text(name).map(|text| amount(text, name, "PRICE_FILTER", Decimal::price)).transpose();
        let shares = |name| asked.text(name).map(|_| quantity(asked, name)).transpose();
        let trail_bips = trailing::read(asked, named)?;
        let waits = named.starts_with("STOP_LOSS") || named.starts_with("TAKE_PROFIT");
        match (waits, asked.text("stopPrice")) {
            (true, None) if trail_bips.is_none() => return Err(Refusal::missing("stopPrice")),
            (false, Some(_)) => return Err(Refusal::not_required("stopPrice")),
            (true, _) | (false, None) => {}
        }
        let trigger = price("stopPrice")?;
        let tell = match asked.text("newOrderRespType") {
            None | Some("FULL") => Tell::Full,
            Some("RESULT") => Tell::Result,
            Some("ACK") => Tell::Ack,
            Some(_) => return Err(Refusal::new(-1136, "Invalid newOrderRespType.")),
        };
        let request = OrderRequest {
            order_type: if named.contains("LIMIT") { OrderType::Limit } else { OrderType::Market },
            tif: time_in_force_asked(asked, named)?,
            post_only: (named == "LIMIT_MAKER").then_some(PostOnly::Refused),
            limit: price("price")?,
            shares: shares("quantity")?,
            funds: asked.text("quoteOrderQty").map(funds).transpose()?,
            stop: trigger.filter(|_| named.starts_with("STOP_LOSS")),
            take_profit: trigger.filter(|_| named.starts_with("TAKE_PROFIT")),
            trail_bips,
            display: shares("icebergQty")?,
            self_trade: self_trade::read(asked)?,
            client_id: asked.text("newClientOrderId").map(|id| client_order_id("newClientOrderId", id)).transpose()?,
            ..OrderRequest::new(account, symbol, side)
        };
        let place = request.place().map_err(|fault| order_refusal(&request, fault))?;
        Ok(Placing { place, tell })
    }

    /// Returns its trigger price, or else its limit.
    pub(crate) fn reference_price(&self) -> Price {
        let order = self.order();
        order.trigger.map_or(order.limit, Trigger::price)
    }

    pub(crate) fn client_id(&self) -> Option<ClientOrderId> {
        self.place.client_id()
    }

    pub(crate) fn set_client_id(&mut self, id: Option<ClientOrderId>) {
        self.place = self.place.named(id);
    }

    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Returns the order. One for money has no shares, because the engine chooses how many.
    fn order(&self) -> NewOrder {
        match self.place.form() {
            OrderForm::Plain(order) | OrderForm::Iceberg { order, .. } | OrderForm::Trailing { order, .. } => order,
            OrderForm::Funds(FundsOrder { symbol, side, self_trade, .. }) => {
                NewOrder::market(symbol, side, Shares::ZERO).with_self_trade(self_trade)
            }
        }
    }

    /// Writes the answer to the order: its executions at its placing, not later ones.
    pub(crate) async fn tell(&self, app: &BinanceState, order: OrderId, unit: TimeUnit) -> Result<Value, Refusal> {
        let (funds, display, trail) = match self.place.form() {
            OrderForm::Plain(_) => (None, None, None),
            OrderForm::Iceberg { display, .. } => (None, Some(display), None),
            OrderForm::Trailing { trail, .. } => (None, None, Some(trail)),
            OrderForm::Funds(FundsOrder { funds, .. }) => (Some(funds), None, None),
        };
        let NewOrder { symbol: name, side, kind, limit, shares, trigger, self_trade } = self.order();
        let waits = trigger.is_some() || trail.is_some();
        let (time, fills) = of_account(app, self.place.account, move |model, _| {
            let time = time_of(model, order)?;
            // A waiting order has executed nothing at its placing, whatever it did since.
            let fills = if waits { Fills::Known(Vec::new()) } else { fills(model, name, order, time) };
            Ok((time, fills))
        })
        .await?;
        let fills = match fills {
            Fills::Known(fills) => Some(fills),
            Fills::InFiles(symbol) => Some(fills_in_files(app, symbol, order, time).await?),
            Fills::Unknown => None,
        };
        let time = fills.iter().flatten().next().map(|trade| trade.time).or(time);
        let time = time.map_or_else(|| unit.now(), |time| unit.tell(time));
        let mut told = json!({
            "symbol": names::pair(name),
            "orderId": order.0,
            "orderListId": -1,
            "clientOrderId": client_names::name_of(order, self.client_id().as_ref()),
            "transactTime": time,
        });
        let Some(fills) = fills.filter(|_| self.tell != Tell::Ack) else { return Ok(told) };
        let executed = fills.iter().fold(Position::ZERO, |sum, trade| sum.plus(trade.shares.position()));
        let money = fills.iter().fold(Money::ZERO, |sum, trade| sum.plus(trade.money()));
        let past = match funds {
            None if executed == shares.position() || waits => None,
            None if kind.rests() && self_trade == SelfTrade::Allowed => None,
            // Some shares may have been canceled at once, or the order may be under way.
            None | Some(_) => past_order(app, order).await?,
        };
        let (shares, funds) = match funds {
            None => (shares.position(), Money::ZERO),
            // The engine chose the number of shares, and cancels what one command does not execute.
            Some(funds) => (past.map_or(executed, |past| past.shares.position()), funds),
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
            "selfTradePreventionMode": self_trade::name(self_trade),
        });
        trailing::tell(&mut told, trailing::DELTA, trail);
        if let (Some(told), Value::Object(more)) = (told.as_object_mut(), more) {
            told.extend(more);
            told.extend(display.map(|display| ("icebergQty".to_owned(), json!(numbers::shares(display)))));
            if self.tell == Tell::Full {
                told.insert("fills".to_owned(), fills.iter().map(|trade| fill_shape(trade, name)).collect());
            }
        }
        Ok(told)
    }
}

/// Returns the record of an order; `None` if it is not kept any more.
async fn past_order(app: &BinanceState, order: OrderId) -> Result<Option<PastOrder>, Refusal> {
    let found = history_pages::order(app, None, order).await.map_err(Refusal::troubled)?;
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

/// Reads the time in force of an order of this type. Only orders with a limit that are not post-only have one.
fn time_in_force_asked(asked: &Parameters, named: &str) -> Result<Option<TimeInForce>, Refusal> {
    match (named, asked.text("timeInForce")) {
        ("LIMIT" | "STOP_LOSS_LIMIT" | "TAKE_PROFIT_LIMIT", None) => Err(Refusal::missing("timeInForce")),
        ("LIMIT" | "STOP_LOSS_LIMIT" | "TAKE_PROFIT_LIMIT", Some(text)) => match text {
            "GTC" => Ok(Some(TimeInForce::GoodTillCanceled)),
            "IOC" => Ok(Some(TimeInForce::ImmediateOrCancel)),
            "FOK" => Ok(Some(TimeInForce::FillOrKill)),
            _ => Err(Refusal::new(-1115, "Invalid timeInForce. There are GTC, IOC and FOK.")),
        },
        (_, Some(_)) => Err(Refusal::not_required("timeInForce")),
        (_, None) => Ok(None),
    }
}

/// Reads dollars above zero.
fn funds(text: &str) -> Result<Money, Refusal> {
    amount(text, "quoteOrderQty", "NOTIONAL", |decimal| match decimal.money()? {
        Money::ZERO => Err(AmountError::Zero),
        funds => Ok(funds),
    })
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

/// The executions of an order at its placing, in order, as far as memory knows.
enum Fills {
    Known(Vec<Trade>),
    /// The files have those that are too long ago for memory.
    InFiles(SymbolIndex),
    /// The executions are too long ago for a memory without files.
    Unknown,
}

/// Whether a trade was an execution of an order at its placing, at this time. The order may have been the aggressor of
/// an auction since.
fn is_fill(trade: &Trade, order: OrderId, placed: Option<Time>) -> bool {
    trade.aggressor_order == order && placed.is_none_or(|placed| trade.time == placed)
}

fn is_before(trade: &Trade, placed: Option<Time>) -> bool {
    placed.is_some_and(|placed| trade.time < placed)
}

/// Finds the executions of an order at its placing, at this time, in memory.
fn fills(model: &ReadModel<Hub>, name: Symbol, order: OrderId, placed: Option<Time>) -> Fills {
    let Some(symbol) = model.view.find_symbol(name) else { return Fills::Unknown };
    let listing = model.view.listing(symbol);
    let mut found: Vec<Trade> = Vec::new();
    for trade in listing.recent() {
        if is_before(trade, placed) {
            found.reverse();
            return Fills::Known(found);
        }
        found.extend(Some(*trade).filter(|trade| is_fill(trade, order, placed)));
    }
    found.reverse();
    match (listing.has_older, &model.history) {
        (false, _) => Fills::Known(found),
        (true, Some(_)) => Fills::InFiles(symbol),
        (true, None) => Fills::Unknown,
    }
}

/// Finds the executions of an order at its placing, at this time, in the files. There may be thousands, so they are
/// read some at a time.
async fn fills_in_files(
    app: &BinanceState,
    symbol: SymbolIndex,
    order: OrderId,
    placed: Option<Time>,
) -> Result<Vec<Trade>, Refusal> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let page = history_pages::trades_of_symbol(app, symbol, before, RECENT_MAX).await.map_err(Refusal::troubled)?;
        let (trades, next) = page.ok_or_else(Refusal::internal)?;
        found.extend(trades.iter().filter(|trade| is_fill(trade, order, placed)));
        if next.is_none() || trades.iter().any(|trade| is_before(trade, placed)) {
            found.reverse();
            return Ok(found);
        }
        before = next;
    }
}
