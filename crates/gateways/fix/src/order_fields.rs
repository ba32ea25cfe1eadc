//! The fields of messages about orders, and the names of orders in them.

use exchange::{OrderFault, deadline_at};
use terms::{
    AccountId, AmountError, ClientOrderId, Deadline, Decimal, OrderId, OrderName, Price, Shares, Side, Symbol,
};

use crate::message::{Fault, Message};
use crate::order_fault::order_fault;
use crate::reasons::SessionRejectReason as Reason;
use crate::tags::{self, Tag};
use crate::times;

/// Fields that would change what an order does and are not offered. A message with one of them is refused, so that none
/// is ignored silently.
const NOT_OFFERED: [(Tag, &str); 6] = [
    (tags::MIN_QTY, "MinQty"),
    (tags::EFFECTIVE_TIME, "EffectiveTime"),
    (tags::PEG_OFFSET_VALUE, "PegOffsetValue"),
    (tags::DISCRETION_INST, "DiscretionInst"),
    (tags::EXPIRE_DATE, "ExpireDate"),
    (tags::QTY_TYPE, "QtyType"),
];

/// A cancel, an amendment or a query of an existing order.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// ClOrdID of the message itself.
    pub(crate) cl_ord_id: String,
    pub(crate) account: AccountId,
    /// The order's name in the message.
    pub(crate) order: OrderRef,
    /// The name that the client gave the order, if the message has it.
    pub(crate) original: Option<String>,
}

impl Change {
    /// The message's own ClOrdID, as a name that an order could have.
    pub(crate) fn new_name(&self) -> ClientOrderId {
        ClientOrderId::parse(self.cl_ord_id.as_bytes()).expect("invariant: it was read as one")
    }
}

/// The name of an order in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OrderRef {
    Id(OrderId),
    /// ClOrdID of the order, or of a message that amended it.
    Client(ClientOrderId),
}

impl OrderRef {
    pub(crate) fn name(&self) -> OrderName {
        match self {
            OrderRef::Id(order) => (*order).into(),
            OrderRef::Client(id) => (*id).into(),
        }
    }
}

/// Refuses a message with a field that is not offered.
pub(crate) fn check_offered(message: &Message<'_>) -> Result<(), Fault> {
    for (tag, name) in NOT_OFFERED {
        if message.get(tag)?.is_some() {
            return Err(Fault::value(tag, format!("{name}({tag}) is not offered")));
        }
    }
    if message.get(tags::CURRENCY)?.is_some_and(|currency| currency != "USD") {
        return Err(Fault::value(tags::CURRENCY, "Currency(15) is USD"));
    }
    Ok(())
}

/// Whether the message says that the order is post-only.
pub(crate) fn is_post_only(message: &Message<'_>) -> Result<bool, Fault> {
    match message.get(tags::EXEC_INST)? {
        None => Ok(false),
        Some("6") => Ok(true),
        Some(_) => Err(order_fault(OrderFault::PostOnlyMarket)),
    }
}

/// Makes the fault of a time in force that is not offered.
pub(crate) fn no_such_time_in_force(named: &str) -> Fault {
    let text = match named {
        "7" => "TimeInForce(59)=7 (at the close) is not offered: an order for the next auction, whichever it is, has 2",
        _ => "TimeInForce(59) is 0, 1, 2, 3, 4 or 6",
    };
    Fault::value(tags::TIME_IN_FORCE, text)
}

/// Whether ExpireTime belongs to orders with this time in force.
pub(crate) fn may_expire(in_force: Option<&str>) -> bool {
    matches!(in_force, Some("2" | "6"))
}

/// Reads ExpireTime.
pub(crate) fn deadline(text: &str) -> Result<Deadline, Fault> {
    times::read(text).and_then(deadline_at).ok_or_else(|| order_fault(OrderFault::NoUntil))
}

pub(crate) fn change(message: &Message<'_>, own: Option<AccountId>) -> Result<Change, Fault> {
    let cl_ord_id = cl_ord_id(message, tags::CL_ORD_ID, "ClOrdID")?.to_string();
    let original = message.get(tags::ORIG_CL_ORD_ID)?.map(str::to_owned);
    let order = match message.get(tags::ORDER_ID)? {
        Some(id) => named_by_id(id)?,
        None => OrderRef::Client(self::cl_ord_id(message, tags::ORIG_CL_ORD_ID, "OrigClOrdID")?),
    };
    Ok(Change { cl_ord_id, account: account(message, own)?, order, original })
}

pub(crate) fn named_by_id(id: &str) -> Result<OrderRef, Fault> {
    let text = "OrderID(37) is the number that this server gave the order";
    OrderId::parse(id.as_bytes()).map(OrderRef::Id).ok_or_else(|| Fault::value(tags::ORDER_ID, text))
}

pub(crate) fn cl_ord_id(message: &Message<'_>, tag: Tag, name: &str) -> Result<ClientOrderId, Fault> {
    let text = message.need(tag, name)?;
    ClientOrderId::parse(text.as_bytes()).map_err(|why| Fault::value(tag, format!("{name}({tag}) {why}")))
}

pub(crate) fn account(message: &Message<'_>, own: Option<AccountId>) -> Result<AccountId, Fault> {
    match (message.get(tags::ACCOUNT)?, own) {
        (Some(text), _) => {
            AccountId::parse(text.as_bytes()).map_err(|why| Fault::value(tags::ACCOUNT, format!("Account(1) {why}")))
        }
        (None, Some(own)) => Ok(own),
        (None, None) => Err(Fault::of(tags::ACCOUNT, Reason::Missing, "Account(1) is missing")),
    }
}

pub(crate) fn symbol(message: &Message<'_>) -> Result<Symbol, Fault> {
    let text = message.need(tags::SYMBOL, "Symbol")?;
    Symbol::parse(text.as_bytes()).map_err(|why| Fault::value(tags::SYMBOL, format!("Symbol(55) {why}")))
}

pub(crate) fn side(message: &Message<'_>) -> Result<Side, Fault> {
    match message.need(tags::SIDE, "Side")? {
        "1" => Ok(Side::Buy),
        "2" => Ok(Side::Sell),
        _ => Err(Fault::value(tags::SIDE, "Side(54) is 1 (buy) or 2 (sell): there is no short sale")),
    }
}

pub(crate) fn price(message: &Message<'_>, tag: Tag, name: &str) -> Result<Price, Fault> {
    amount(message, tag, name, Decimal::price)
}

pub(crate) fn shares(message: &Message<'_>, tag: Tag, name: &str) -> Result<Shares, Fault> {
    amount(message, tag, name, Decimal::order_shares)
}

pub(crate) fn amount<T>(
    message: &Message<'_>,
    tag: Tag,
    name: &str,
    of: impl FnOnce(Decimal) -> Result<T, AmountError>,
) -> Result<T, Fault> {
    let text = message.need(tag, name)?;
    let unsigned = if text.starts_with('-') { Err(AmountError::Negative) } else { Decimal::parse(text.as_bytes()) };
    unsigned.and_then(of).map_err(|why| Fault::value(tag, format!("{name}({tag}) {why}")))
}
