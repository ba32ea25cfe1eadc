//! Turns messages about orders into values of the exchange. It changes nothing, and knows no session.

use exchange::{OrderFault, OrderRequest, OrderType, PostOnly, TimeInForce};
use terms::{AccountId, AmountError, ClientOrderId, Command, Money, Side, Symbol};

use crate::amending::{self, Amending};
use crate::message::{Fault, Fields, Message};
use crate::order_fault::order_fault;
use crate::order_fields::{
    Change, OrderRef, account, amount, change, check_offered, cl_ord_id, deadline, is_post_only, may_expire,
    named_by_id, no_such_time_in_force, price, shares, side, symbol,
};
use crate::reasons::SessionRejectReason as Reason;
use crate::session::third_parties;
use crate::tags::{self, Tag};

/// A request about orders.
#[derive(Debug)]
pub(crate) enum ClientRequest {
    Place(Placing),
    Cancel(Change),
    Amend(Box<Amending>),
    CancelAll { cl_ord_id: String, account: AccountId, symbol: Option<Symbol>, kind: String },
    Status { change: Change, symbol: Symbol, side: Side },
    StatusOfAll { id: String, account: AccountId, symbol: Option<Symbol> },
}

impl ClientRequest {
    /// Whether it is done by itself, and what comes behind it waits for its answer. That may be long.
    pub(crate) fn is_alone(&self) -> bool {
        match self {
            ClientRequest::Amend(_) | ClientRequest::CancelAll { .. } | ClientRequest::StatusOfAll { .. } => true,
            ClientRequest::Place(_) | ClientRequest::Cancel(_) | ClientRequest::Status { .. } => false,
        }
    }
}

/// An order to place.
#[derive(Debug)]
pub(crate) struct Placing {
    pub(crate) command: Command,
    pub(crate) cl_ord_id: ClientOrderId,
    pub(crate) account: AccountId,
    /// Whether the message may have come before.
    pub(crate) is_again: bool,
    /// The message's fields that a report of its refusal repeats, as they arrived.
    pub(crate) echoed_fields: Fields,
}

/// Reads a request about orders. Returns `None` for a kind of message that is not taken. `own`: the account of messages
/// that name none.
pub(crate) fn read(message: &Message<'_>, own: Option<AccountId>) -> Result<Option<ClientRequest>, Fault> {
    let asked = match message.kind() {
        "D" => ClientRequest::Place(place(message, own)?),
        "F" => ClientRequest::Cancel(change(message, own)?),
        "G" => ClientRequest::Amend(Box::new(amending::read(message, own)?)),
        "H" => ClientRequest::Status { change: status(message, own)?, symbol: symbol(message)?, side: side(message)? },
        "q" => cancel_all(message, own)?,
        "AF" => status_of_all(message, own)?,
        _ => return Ok(None),
    };
    Ok(Some(asked))
}

fn place(message: &Message<'_>, own: Option<AccountId>) -> Result<Placing, Fault> {
    check_offered(message)?;
    let cl_ord_id = cl_ord_id(message, tags::CL_ORD_ID, "ClOrdID")?;
    let (account, symbol, side) = (account(message, own)?, symbol(message)?, side(message)?);
    let given = |tag, name| message.get(tag)?.map(|_| shares(message, tag, name)).transpose();
    let request = OrderRequest {
        shares: given(tags::ORDER_QTY, "OrderQty")?,
        funds: message.get(tags::CASH_ORDER_QTY)?.map(|_| funds(message)).transpose()?,
        display: given(tags::MAX_FLOOR, "MaxFloor")?,
        client_id: Some(cl_ord_id),
        ..OrderRequest::new(account, symbol, side)
    };
    let request = with_terms(message, request)?;
    let place = request.place().map_err(order_fault)?;
    let is_again =
        message.flag(tags::POSS_DUP_FLAG, "PossDupFlag")? || message.flag(tags::POSS_RESEND, "PossResend")?;
    let echoed_fields = echoed_fields(message)?;
    Ok(Placing { command: Command::Place(place), cl_ord_id, account, is_again, echoed_fields })
}

/// Collects the fields by which a client recognizes an order that was refused.
fn echoed_fields(message: &Message<'_>) -> Result<Fields, Fault> {
    const TOLD: [Tag; 9] = [
        tags::CL_ORD_ID,
        tags::ACCOUNT,
        tags::SYMBOL,
        tags::SIDE,
        tags::ORDER_QTY,
        tags::CASH_ORDER_QTY,
        tags::ORD_TYPE,
        tags::PRICE,
        tags::TIME_IN_FORCE,
    ];
    TOLD.into_iter().try_fold(third_parties(message), |fields, tag| Ok(fields.add_some(tag, message.get(tag)?)))
}

/// Adds the type of the order, its prices and its time in force.
fn with_terms(message: &Message<'_>, request: OrderRequest) -> Result<OrderRequest, Fault> {
    let ord_type = message.need(tags::ORD_TYPE, "OrdType")?;
    let order_type = match ord_type {
        "1" | "3" | "J" => OrderType::Market,
        "2" | "4" => OrderType::Limit,
        _ => {
            let text = "OrdType(40) is 1 (market), 2 (limit), 3 (stop), 4 (stop limit) or J (market if touched)";
            return Err(Fault::value(tags::ORD_TYPE, text));
        }
    };
    let trigger = match (ord_type, message.get(tags::STOP_PX)?) {
        ("3" | "4" | "J", _) => Some(price(message, tags::STOP_PX, "StopPx")?),
        (_, None) => None,
        (_, Some(_)) => return Err(Fault::value(tags::STOP_PX, "StopPx(99) belongs to OrdType(40) 3, 4 or J")),
    };
    let limit = message.get(tags::PRICE)?.map(|_| price(message, tags::PRICE, "Price")).transpose()?;
    let post_only = is_post_only(message)?.then_some(PostOnly::Refused);
    let request = OrderRequest {
        order_type,
        limit,
        stop: trigger.filter(|_| ord_type != "J"),
        take_profit: trigger.filter(|_| ord_type == "J"),
        post_only,
        ..request
    };
    with_time(message, request)
}

/// Adds the time in force.
fn with_time(message: &Message<'_>, request: OrderRequest) -> Result<OrderRequest, Fault> {
    let (in_force, expires) = (message.get(tags::TIME_IN_FORCE)?, message.get(tags::EXPIRE_TIME)?);
    if expires.is_some() && !may_expire(in_force) {
        return Err(order_fault(OrderFault::UntilOfGtc));
    }
    let waits = request.stop.is_some() || request.take_profit.is_some();
    let tif = match in_force {
        // FIX allows both for a market order, which is done at once all the same.
        None | Some("0" | "1") if request.order_type == OrderType::Market && !waits => None,
        None => {
            let text = "TimeInForce(59) is missing: 0 (day), 1 (until canceled), 2 (for an auction), 3 (immediate or cancel), 4 \
                        (fill or kill) or 6 (until ExpireTime(126))";
            return Err(Fault::of(tags::TIME_IN_FORCE, Reason::Missing, text));
        }
        Some("0") => return Ok(OrderRequest { ends_with_day: true, ..request }),
        Some("1") => Some(TimeInForce::GoodTillCanceled),
        Some("2") => Some(TimeInForce::GoodForAuction),
        Some("3") => Some(TimeInForce::ImmediateOrCancel),
        Some("4") => Some(TimeInForce::FillOrKill),
        Some("6") => Some(TimeInForce::GoodTillDate),
        Some(other) => return Err(no_such_time_in_force(other)),
    };
    Ok(OrderRequest { tif, until: expires.map(deadline).transpose()?, ..request })
}

fn status(message: &Message<'_>, own: Option<AccountId>) -> Result<Change, Fault> {
    let cl_ord_id = cl_ord_id(message, tags::CL_ORD_ID, "ClOrdID")?;
    let order = match message.get(tags::ORDER_ID)? {
        Some(id) => named_by_id(id)?,
        None => OrderRef::Client(cl_ord_id),
    };
    Ok(Change { cl_ord_id: cl_ord_id.to_string(), account: account(message, own)?, order, original: None })
}

fn cancel_all(message: &Message<'_>, own: Option<AccountId>) -> Result<ClientRequest, Fault> {
    let kind = message.need(tags::MASS_CANCEL_REQUEST_TYPE, "MassCancelRequestType")?;
    let symbol = match kind {
        "1" => Some(symbol(message)?),
        "7" => None,
        _ => {
            let text = "MassCancelRequestType(530) is 1 (one symbol) or 7 (all orders)";
            return Err(Fault::value(tags::MASS_CANCEL_REQUEST_TYPE, text));
        }
    };
    let cl_ord_id = cl_ord_id(message, tags::CL_ORD_ID, "ClOrdID")?.to_string();
    Ok(ClientRequest::CancelAll { cl_ord_id, account: account(message, own)?, symbol, kind: kind.to_owned() })
}

fn status_of_all(message: &Message<'_>, own: Option<AccountId>) -> Result<ClientRequest, Fault> {
    let symbol = match message.need(tags::MASS_STATUS_REQ_TYPE, "MassStatusReqType")? {
        "1" => Some(symbol(message)?),
        "7" => None,
        _ => {
            let text = "MassStatusReqType(585) is 1 (one symbol) or 7 (all orders)";
            return Err(Fault::value(tags::MASS_STATUS_REQ_TYPE, text));
        }
    };
    let id = cl_ord_id(message, tags::MASS_STATUS_REQ_ID, "MassStatusReqID")?.to_string();
    Ok(ClientRequest::StatusOfAll { id, account: account(message, own)?, symbol })
}

/// Reads dollars above zero.
fn funds(message: &Message<'_>) -> Result<Money, Fault> {
    amount(message, tags::CASH_ORDER_QTY, "CashOrderQty", |funds| match funds.money()? {
        Money::ZERO => Err(AmountError::NotAboveZero),
        funds => Ok(funds),
    })
}

#[cfg(test)]
mod tests {
    use exchange::deadline_at;
    use terms::{Deadline, Decimal, OrderId, OrderKind, Trigger};

    use super::*;
    use crate::times;

    fn asked(text: &str) -> Result<ClientRequest, (Option<Tag>, Reason)> {
        let body = text.replace('|', "\x01");
        let message = Message::read(body.as_bytes()).expect("it is a message");
        let asked = read(&message, None).map_err(|fault| (fault.tag, fault.reason))?;
        Ok(asked.expect("it is about orders"))
    }

    /// An order's kind, its trigger, and its deadline.
    type Placed = (OrderKind, Option<Trigger>, Option<Deadline>);

    fn placed(text: &str) -> Result<Placed, (Option<Tag>, Reason)> {
        let text = format!("35=D|11=a|1=7|55=SPY|54=2|{text}");
        let asked = asked(&text)?;
        let ClientRequest::Place(Placing { command: Command::Place(place), .. }) = asked else { panic!("{asked:?}") };
        let order = place.alone().expect("a plain order");
        assert_eq!((order.side, order.shares.to_string().as_str()), (Side::Sell, "2.5"), "{text}");
        Ok((order.kind, order.trigger, place.deadline()))
    }

    #[test]
    fn every_kind_of_order_has_its_words() {
        let at = |price: &[u8]| Decimal::parse(price).and_then(Decimal::price).expect("a price");
        let day = Some(Deadline::UNDECIDED);
        let end = deadline_at(times::read("20991231-23:59:59").expect("a time"));
        for (text, expected) in [
            ("38=2.5|40=1|", (OrderKind::Market, None, None)),
            ("38=2.5|40=1|59=0|", (OrderKind::Market, None, None)),
            ("38=2.5|40=2|44=10|59=1|", (OrderKind::Limit, None, None)),
            ("38=2.5|40=2|44=10|59=0|", (OrderKind::Limit, None, day)),
            ("38=2.5|40=2|44=10|59=1|18=6|", (OrderKind::PostOnly, None, None)),
            ("38=2.5|40=2|44=10|59=3|", (OrderKind::ImmediateOrCancel, None, None)),
            ("38=2.5|40=2|44=10|59=4|", (OrderKind::FillOrKill, None, None)),
            ("38=2.5|40=2|44=10|59=6|126=20991231-23:59:59|", (OrderKind::Limit, None, end)),
            ("38=2.5|40=2|44=10|59=2|", (OrderKind::AuctionLimit, None, None)),
            ("38=2.5|40=2|44=10|59=2|126=20991231-23:59:59|", (OrderKind::AuctionLimit, None, end)),
            ("38=2.5|40=1|59=2|", (OrderKind::AuctionMarket, None, None)),
            ("38=2.5|40=3|99=9|59=1|", (OrderKind::Market, Some(Trigger::from_above(at(b"9"))), None)),
            ("38=2.5|40=3|99=9|59=3|", (OrderKind::Market, Some(Trigger::from_above(at(b"9"))), None)),
            ("38=2.5|40=4|99=9|44=8|59=0|", (OrderKind::Limit, Some(Trigger::from_above(at(b"9"))), day)),
            ("38=2.5|40=J|99=11|59=1|", (OrderKind::Market, Some(Trigger::from_below(at(b"11"))), None)),
        ] {
            assert_eq!(placed(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_an_order_cannot_be_is_named() {
        for (text, tag, reason) in [
            ("40=2|44=10|59=1|", 38, Reason::Missing),
            ("38=0|40=2|44=10|59=1|", 38, Reason::Value),
            ("38=-1|40=2|44=10|59=1|", 38, Reason::Value),
            ("38=1|40=2|59=1|", 44, Reason::Missing),
            ("38=1|40=2|44=x|59=1|", 44, Reason::Value),
            ("38=1|40=2|44=10|", 59, Reason::Missing),
            ("38=1|40=2|44=10|59=7|", 59, Reason::Value),
            ("38=1|40=2|44=10|59=6|", 126, Reason::Value),
            ("38=1|40=2|44=10|59=6|126=soon|", 126, Reason::Value),
            ("38=1|40=2|44=10|59=1|126=20991231-23:59:59|", 126, Reason::Value),
            ("38=1|40=2|44=10|59=3|18=6|", 59, Reason::Value),
            ("38=1|40=2|44=10|59=1|18=G|", 18, Reason::Value),
            ("38=1|40=2|44=10|59=1|99=9|", 99, Reason::Value),
            ("38=1|40=1|44=10|", 44, Reason::Value),
            ("38=1|40=1|59=4|", 59, Reason::Value),
            ("38=1|40=3|99=9|59=4|", 59, Reason::Value),
            ("38=1|40=2|44=10|59=2|18=6|", 59, Reason::Value),
            ("38=1|40=2|59=2|", 44, Reason::Missing),
            ("38=1|40=1|59=2|44=10|", 44, Reason::Value),
            ("38=1|40=1|59=2|111=1|", 111, Reason::Value),
            ("38=1|40=3|99=9|59=2|", 59, Reason::Value),
            ("38=1|40=4|99=9|44=8|59=2|", 59, Reason::Value),
            ("38=1|40=J|99=11|59=2|", 59, Reason::Value),
            ("152=5|40=1|59=2|", 152, Reason::Value),
            ("38=1|40=1|18=6|", 18, Reason::Value),
            ("38=1|40=1|111=1|", 111, Reason::Value),
            ("38=1|40=3|59=1|", 99, Reason::Missing),
            ("38=1|40=P|59=1|", 40, Reason::Value),
            ("38=1|40=1|110=1|", 110, Reason::Value),
            ("38=1|40=1|15=EUR|", 15, Reason::Value),
            ("38=1|152=5|40=1|", 152, Reason::Value),
            ("152=0|40=1|", 152, Reason::Value),
            ("152=5|40=2|44=10|59=1|", 152, Reason::Value),
        ] {
            assert_eq!(placed(text), Err((Some(tag), reason)), "{text}");
        }
        assert_eq!(asked("35=D|11=a|55=SPY|54=1|38=1|40=1|").map(|_| ()), Err((Some(1), Reason::Missing)));
        assert_eq!(asked("35=D|11=a|1=7|55=SPY|54=5|38=1|40=1|").map(|_| ()), Err((Some(54), Reason::Value)));
        assert_eq!(asked("35=F|11=b|1=7|").map(|_| ()), Err((Some(41), Reason::Missing)));
        assert_eq!(asked("35=F|11=b|1=7|37=x|").map(|_| ()), Err((Some(37), Reason::Value)));
        assert_eq!(asked("35=q|11=b|1=7|530=3|").map(|_| ()), Err((Some(530), Reason::Value)));
        assert_eq!(asked("35=AF|584=b|1=7|585=2|").map(|_| ()), Err((Some(585), Reason::Value)));
    }

    #[test]
    fn an_order_is_named_by_its_number_or_its_name() {
        let named = |text: &str| match asked(text) {
            Ok(ClientRequest::Cancel(change) | ClientRequest::Status { change, .. }) => change.order,
            other => panic!("{other:?}"),
        };
        let client = |name: &[u8]| OrderRef::Client(ClientOrderId::parse(name).expect("a name"));
        assert_eq!(named("35=F|11=b|41=a|1=7|"), client(b"a"));
        assert_eq!(named("35=F|11=b|41=a|37=5|1=7|"), OrderRef::Id(OrderId(5)));
        assert_eq!(named("35=H|11=a|1=7|55=SPY|54=1|"), client(b"a"));
        assert_eq!(named("35=H|11=a|37=5|1=7|55=SPY|54=1|"), OrderRef::Id(OrderId(5)));
    }
}
