//! Amendments: reads an OrderCancelReplaceRequest, and says what it asks of the order that it names. FIX has such a
//! message carry the whole order, so a field that no amendment changes has to be the order's own.

use exchange::{AmendmentRequest, AmendmentRequestFault, OrderFault, TimeInForce};
use feed::Open;
use terms::{
    AccountId, Amendment, Change as Term, Deadline, OrderId, OrderKind, Price, Side, Symbol, Trigger, WaitsFor,
};

use crate::message::{Fault, Message};
use crate::order_fault::order_fault;
use crate::order_fields::{self as fields, Change};
use crate::reports::ord_type;
use crate::tags;
use crate::times;

/// An order's other terms, as a message names them.
#[derive(Debug)]
pub(crate) struct Amending {
    pub(crate) change: Change,
    /// All terms but the ones below, which depend on the order.
    terms: AmendmentRequest,
    stop_px: Option<Price>,
    /// Whether the order is to end with its day.
    is_day: bool,
    side: Option<Side>,
    symbol: Option<Symbol>,
    /// OrdType.
    kind: Option<&'static str>,
    is_post_only: bool,
}

/// The values of OrdType with which orders are reported.
const TYPES: [&str; 6] = ["1", "2", "3", "4", "J", "P"];

/// The text of an amendment that would make an order a day order.
const NO_DAY_ORDER: &str = "TimeInForce(59)=0 is for an order that this session placed as a day order: leave the field \
                            out, or give 6 and ExpireTime(126)";

/// The text of an amendment that would make an order for an auction a day order.
const ENDS_WITH_AUCTION: &str = "TimeInForce(59) of an order for an auction stays 2: leave the field out";

/// Reads an OrderCancelReplaceRequest. `own`: the account of messages that name none.
pub(crate) fn read(message: &Message<'_>, own: Option<AccountId>) -> Result<Amending, Fault> {
    fields::check_offered(message)?;
    if message.get(tags::CASH_ORDER_QTY)?.is_some() {
        let text = "CashOrderQty(152) belongs to NewOrderSingle: an amendment has OrderQty(38)";
        return Err(Fault::value(tags::CASH_ORDER_QTY, text));
    }
    let change = fields::change(message, own)?;
    let has = |tag| message.get(tag).map(|value| value.is_some());
    let shares = |tag, name| Ok(if has(tag)? { Some(fields::shares(message, tag, name)?) } else { None });
    let price = |tag, name| Ok(if has(tag)? { Some(fields::price(message, tag, name)?) } else { None });
    let (shares, display) = (shares(tags::ORDER_QTY, "OrderQty")?, shares(tags::MAX_FLOOR, "MaxFloor")?);
    let (limit, stop_px) = (price(tags::PRICE, "Price")?, price(tags::STOP_PX, "StopPx")?);
    let (in_force, expires) = (message.get(tags::TIME_IN_FORCE)?, message.get(tags::EXPIRE_TIME)?);
    let terms = AmendmentRequest {
        shares,
        limit,
        display: display.map_or(Term::Keep, Term::Set),
        tif: time_in_force(in_force)?,
        ..AmendmentRequest::new(change.account, change.order.name())
    };
    let terms = match expires {
        None => terms,
        Some(_) if !fields::may_expire(in_force) => return Err(order_fault(OrderFault::UntilOfGtc)),
        Some(text) => AmendmentRequest { until: Term::Set(fields::deadline(text)?), ..terms },
    };
    made(&terms).map_err(order_fault)?;
    Ok(Amending {
        change,
        terms,
        stop_px,
        is_day: in_force == Some("0"),
        side: if has(tags::SIDE)? { Some(fields::side(message)?) } else { None },
        symbol: if has(tags::SYMBOL)? { Some(fields::symbol(message)?) } else { None },
        kind: message.get(tags::ORD_TYPE)?.map(read_type).transpose()?,
        is_post_only: fields::is_post_only(message)?,
    })
}

fn time_in_force(named: Option<&str>) -> Result<Option<TimeInForce>, Fault> {
    match named {
        None | Some("0") => Ok(None),
        Some("1") => Ok(Some(TimeInForce::GoodTillCanceled)),
        Some("2") => Ok(Some(TimeInForce::GoodForAuction)),
        Some("3") => Ok(Some(TimeInForce::ImmediateOrCancel)),
        Some("4") => Ok(Some(TimeInForce::FillOrKill)),
        Some("6") => Ok(Some(TimeInForce::GoodTillDate)),
        Some(other) => Err(fields::no_such_time_in_force(other)),
    }
}

fn read_type(named: &str) -> Result<&'static str, Fault> {
    let text = "OrdType(40) is that of the order: 1, 2, 3, 4, J or P";
    TYPES.into_iter().find(|kind| *kind == named).ok_or_else(|| Fault::value(tags::ORD_TYPE, text))
}

/// Makes the amendment. One that names no term changes nothing.
fn made(terms: &AmendmentRequest) -> Result<Amendment, OrderFault> {
    match terms.amendment() {
        Ok(amendment) => Ok(amendment),
        Err(AmendmentRequestFault::NamesNothing) => Ok(Amendment::of(terms.account, terms.order)),
        Err(AmendmentRequestFault::EndsWithDay) => Err(OrderFault::DayAtOnce),
        Err(AmendmentRequestFault::Order(fault)) => Err(fault),
    }
}

/// Whether an order has all terms that an amendment names.
pub(crate) fn changes_nothing(amendment: &Amendment, order: &Open) -> bool {
    let trigger = match amendment.waits_for() {
        None => order.trigger,
        Some(WaitsFor::StopLoss(price)) => Some(Trigger::stop_loss(order.side, price)),
        Some(WaitsFor::TakeProfit(price)) => Some(Trigger::take_profit(order.side, price)),
        Some(WaitsFor::Trail(_)) => None,
    };
    let display = order.iceberg.map(|iceberg| iceberg.display);
    trigger == order.trigger
        && amendment.shares().is_none_or(|shares| shares == order.shares)
        // A market order for an auction gathers at a limit that its client did not name, and cannot.
        && amendment.limit().is_none_or(|limit| limit == order.limit && !order.kind.is_market())
        && amendment.kind(order.kind) == Some(order.kind)
        && amendment.display().of(display) == display
        && amendment.deadline().of(order.until) == order.until
}

impl Amending {
    /// Makes the amendment of the order of this number, which the feed does not know as open any more.
    pub(crate) fn of_done(&self, order: OrderId) -> Amendment {
        Amendment::of(self.change.account, order.into())
    }

    /// Makes the amendment of an open order. `day_end`: the time at which it ends, if it is known as a day order.
    /// Errors: the text of the refusal.
    pub(crate) fn amendment(
        &self,
        order: &Open,
        symbol: Symbol,
        day_end: Option<Deadline>,
    ) -> Result<Amendment, String> {
        self.check_same(order, symbol)?;
        let is_done_at_once = order.kind == OrderKind::Market && !order.waits;
        let stays_day = day_end.is_some() && day_end == order.until;
        if self.is_day && !is_done_at_once && !stays_day {
            let text = if order.kind.is_for_auction() { ENDS_WITH_AUCTION } else { NO_DAY_ORDER };
            return Err(text.to_owned());
        }
        let terms = AmendmentRequest { order: order.order.into(), until: self.until(order), ..self.terms };
        let terms = self.with_trigger(order, terms)?;
        made(&terms).map_err(|fault| order_fault(fault).text)
    }

    /// Checks the fields that no amendment changes.
    fn check_same(&self, order: &Open, symbol: Symbol) -> Result<(), String> {
        // An order that waits for no price any more is a plain one, and may go on being called what it was.
        let plain = if order.kind.is_market() { "1" } else { "2" };
        let is_of_kind = |kind: &str| kind == ord_type(order) || !order.waits && kind == plain;
        let others = [
            ("Side(54)", self.side.is_some_and(|side| side != order.side)),
            ("Symbol(55)", self.symbol.is_some_and(|named| named != symbol)),
            ("OrdType(40)", self.kind.is_some_and(|kind| !is_of_kind(kind))),
            ("ExecInst(18)", self.is_post_only && order.kind != OrderKind::PostOnly),
        ];
        match others.into_iter().find(|(_, is_another)| *is_another) {
            Some((field, _)) => Err(format!(
                "{field} is another one than the order's: an amendment keeps the side, the symbol and the type of an \
                 order, and whether it is post-only"
            )),
            None => Ok(()),
        }
    }

    /// The deadline that it names. Reports have milliseconds, so a client that repeats one keeps the order's own.
    fn until(&self, order: &Open) -> Term<Deadline> {
        let told = |until: Deadline| times::written(until.time());
        match (self.terms.until, order.until) {
            (Term::Set(named), Some(its)) if told(named) == told(its) => Term::Set(its),
            (named, _) => named,
        }
    }

    /// Adds the price for which the order is to wait.
    fn with_trigger(&self, order: &Open, terms: AmendmentRequest) -> Result<AmendmentRequest, String> {
        let Some(price) = self.stop_px else { return Ok(terms) };
        let is_its = order.trigger.map(Trigger::price) == Some(price);
        if order.trail.is_some() {
            let text = "StopPx(99) of a trailing stop follows the market: leave it out";
            return if is_its { Ok(terms) } else { Err(text.to_owned()) };
        }
        if is_its && !order.waits {
            // The price was reached, and the message repeats it.
            return Ok(terms);
        }
        let is_take_profit = order.trigger.is_some_and(|trigger| !trigger.is_stop_loss(order.side));
        let (stop, take_profit) = if is_take_profit { (None, Some(price)) } else { (Some(price), None) };
        Ok(AmendmentRequest { stop, take_profit, ..terms })
    }
}

#[cfg(test)]
mod tests {
    use terms::{Decimal, Shares, Time, TimeInForce as Amended, Trail};

    use super::*;
    use crate::message::Fault;
    use crate::reasons::SessionRejectReason as Reason;
    use crate::reports::Happening;
    use crate::tags::Tag;

    fn price(text: &str) -> Price {
        Decimal::parse(text.as_bytes()).and_then(Decimal::price).expect("a price")
    }

    fn shares(text: &str) -> Shares {
        Decimal::parse(text.as_bytes()).and_then(Decimal::order_shares).expect("shares")
    }

    fn symbol(name: &str) -> Symbol {
        Symbol::parse(name.as_bytes()).expect("letters")
    }

    fn asked(fields: &str) -> Result<Amending, Fault> {
        let body = format!("35=G|11=b|41=a|1=7|{fields}").replace('|', "\x01");
        let message = Message::read(body.as_bytes()).expect("it is a message");
        read(&message, None)
    }

    /// The amendment of an order, or the text of its refusal.
    fn amended(order: &Open, fields: &str) -> Result<Amendment, String> {
        asked(fields).expect("it is an amendment").amendment(order, symbol("SPY"), Deadline::from_code(5_000))
    }

    /// A buy of SPY.
    fn buy() -> Open {
        Happening::of_nothing().at().order
    }

    fn nothing(order: &Open) -> Amendment {
        Amendment::of(AccountId::parse(b"7").expect("digits"), order.order.into())
    }

    #[test]
    fn an_amendment_names_the_terms_that_the_message_has() {
        let order = buy();
        let nothing = nothing(&order);
        let until = Deadline::new(Time(4_102_444_799_000_000));
        for (fields, expected) in [
            ("", nothing),
            ("55=SPY|54=1|40=2|", nothing),
            ("38=12|44=10.5|", nothing.with_shares(shares("12")).with_limit(price("10.5"))),
            ("111=3|", nothing.with_display(Some(shares("3")))),
            ("59=1|", nothing.with_tif(Amended::Rests).with_deadline(None)),
            ("59=3|", nothing.with_tif(Amended::ImmediateOrCancel)),
            ("59=4|", nothing.with_tif(Amended::FillOrKill)),
            ("59=2|", nothing.with_tif(Amended::GoodForAuction)),
            ("59=2|126=20991231-23:59:59|", nothing.with_tif(Amended::GoodForAuction).with_deadline(until)),
            ("59=6|126=20991231-23:59:59|", nothing.with_tif(Amended::Rests).with_deadline(until)),
            ("99=9|", nothing.with_wait(WaitsFor::StopLoss(price("9")))),
        ] {
            assert_eq!(amended(&order, fields), Ok(expected), "{fields}");
        }
    }

    #[test]
    fn a_price_to_wait_for_is_of_the_orders_kind() {
        let (side, at) = (Side::Buy, price("9"));
        let waiting = |trigger| Open { trigger: Some(trigger), waits: true, kind: OrderKind::Market, ..buy() };
        let named = |order: &Open, fields: &str| amended(order, fields).map(|amendment| amendment.waits_for());
        let stop = waiting(Trigger::stop_loss(side, at));
        assert_eq!(named(&stop, "40=3|99=8|"), Ok(Some(WaitsFor::StopLoss(price("8")))));
        let touched = waiting(Trigger::take_profit(side, at));
        assert_eq!(named(&touched, "40=J|99=9|"), Ok(Some(WaitsFor::TakeProfit(at))));
        // A stop that was triggered is repeated as it was, or called what it is by now.
        let triggered = Open { waits: false, kind: OrderKind::Limit, ..stop };
        for fields in ["40=4|99=9|", "40=2|"] {
            assert_eq!(named(&triggered, fields), Ok(None), "{fields}");
        }
        // The exchange refuses it: the order waits for no price.
        assert_eq!(named(&triggered, "40=4|99=8|"), Ok(Some(WaitsFor::StopLoss(price("8")))));
        let trailing = Open { trail: Some(Trail::by(at)), ..stop };
        assert_eq!(named(&trailing, "40=P|99=9|"), Ok(None));
        assert!(named(&trailing, "40=P|99=8|").is_err_and(|text| text.contains("follows the market")));
    }

    #[test]
    fn fields_that_no_amendment_changes_are_the_orders() {
        let order = buy();
        for (fields, field) in [
            ("54=2|", "Side(54)"),
            ("55=QQQ|", "Symbol(55)"),
            ("40=1|", "OrdType(40)"),
            ("40=4|", "OrdType(40)"),
            ("18=6|", "ExecInst(18)"),
            ("59=0|", "TimeInForce(59)"),
        ] {
            let refused = amended(&order, fields).expect_err(fields);
            assert!(refused.starts_with(field), "{fields}: {refused}");
        }
        let post_only = Open { kind: OrderKind::PostOnly, ..order };
        assert_eq!(amended(&post_only, "18=6|"), Ok(nothing(&order)));
    }

    /// The answer to an amendment was waited for in vain where the order had its terms.
    #[test]
    fn an_amendment_to_the_terms_that_an_order_has_changes_nothing() {
        let until = Deadline::new(Time(4_102_444_799_000_000));
        let trigger = Trigger::stop_loss(Side::Buy, price("9"));
        let order = Open { shares: shares("5"), limit: price("10"), until, ..buy() };
        let order = Open { trigger: Some(trigger), waits: true, ..order };
        let changes = |fields: &str| !changes_nothing(&amended(&order, fields).expect("it is one"), &order);
        for same in ["", "38=5|", "44=10|", "99=9|", "59=6|126=20991231-23:59:59|"] {
            assert!(!changes(same), "{same}");
        }
        assert!(!changes("38=5|44=10|99=9|59=6|126=20991231-23:59:59|"));
        for other in ["38=6|", "38=4|", "44=11|", "99=8|", "111=3|", "59=1|", "59=3|", "59=4|"] {
            assert!(changes(other), "{other}");
        }
        assert!(changes("59=6|126=20991231-23:59:58|"));
        let gathers = Open { kind: OrderKind::AuctionMarket, limit: price("10"), ..buy() };
        assert!(changes_nothing(&amended(&gathers, "40=1|59=2|").expect("it is one"), &gathers));
        assert!(!changes_nothing(&amended(&gathers, "40=1|59=2|44=10|").expect("it is one"), &gathers));
        assert!(amended(&gathers, "40=1|59=0|").is_err_and(|text| text.contains("stays 2")));
        let market = Open { kind: OrderKind::Market, trigger: Some(trigger), waits: true, ..buy() };
        for same in ["40=3|59=1|", "40=3|59=3|99=9|"] {
            assert!(changes_nothing(&amended(&market, same).expect("it is one"), &market), "{same}");
        }
    }

    #[test]
    fn an_order_keeps_the_end_that_a_message_repeats() {
        let until = |order: &Open, fields: &str| amended(order, fields).map(|amendment| amendment.deadline());
        let precise = Deadline::new(Time(4_102_444_799_000_321));
        let order = Open { until: precise, ..buy() };
        let named = precise.map_or(Term::Keep, Term::Set);
        assert_eq!(until(&order, "59=6|126=20991231-23:59:59.000|"), Ok(named));
        assert!(until(&order, "59=0|").is_err(), "it ends at another time than its day");
        let of_day = Open { until: Deadline::from_code(5_000), ..buy() };
        assert_eq!(until(&of_day, "59=0|"), Ok(Term::Keep));
        let market = Open { kind: OrderKind::Market, ..buy() };
        assert_eq!(until(&market, "40=1|59=0|"), Ok(Term::Keep));
    }

    #[test]
    fn what_no_order_can_have_is_named() {
        let fault = |fields: &str| asked(fields).map(|_| ()).map_err(|fault| (fault.tag, fault.reason));
        let value = |tag: Tag| Err((Some(tag), Reason::Value));
        for (fields, tag) in [
            ("38=0|", 38),
            ("44=x|", 44),
            ("99=-1|", 99),
            ("111=0|", 111),
            ("59=3|111=5|", 111),
            ("59=7|", 59),
            ("59=6|", 126),
            ("126=20991231-23:59:59|", 126),
            ("59=1|126=20991231-23:59:59|", 126),
            ("59=6|126=soon|", 126),
            ("40=K|", 40),
            ("54=5|", 54),
            ("18=G|", 18),
            ("152=5|", 152),
            ("110=1|", 110),
            ("15=EUR|", 15),
        ] {
            assert_eq!(fault(fields), value(tag), "{fields}");
        }
        assert_eq!(fault("38=1|38=2|"), Err((Some(38), Reason::Twice)));
    }
}
