//! ExecutionReports: each says one thing that happened to an order, and how the order stands after it.

use std::collections::HashMap;

use feed::{Amended, News, Noted, Open, OrderProgress, Trade, View, amended_with_terms, progress_before};
use terms::{
    AccountId, AccountIndex, Amendment, CancelReason, ClientOrderId, Deadline, Money, OrderId, OrderKind, Price,
    Sequence, Shares, Side, Symbol, Taken, Time, Trigger, WaitsFor,
};

use crate::message::Fields;
use crate::tags;
use crate::times;

/// An event of an order, and how the order stands after it.
#[derive(Clone, Debug)]
pub(crate) struct Happening {
    pub(crate) account: AccountId,
    symbol: Symbol,
    /// The state of the order after it.
    at: OrderProgress,
    what: HappeningKind,
    time: Time,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum HappeningKind {
    Placed,
    Triggered,
    Released,
    Executed(Trade, Side),
    Amended(Amended),
    Canceled(Option<CancelReason>),
    /// The answer to an amendment that changed nothing. The number is a part of its ExecID.
    Unchanged(u64),
    /// The answer to a query: nothing happened.
    Queried,
}

/// A change of an order that its account asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskedFor {
    Cancel,
    Amendment {
        amendment: Amendment,
        /// The last command before it that the session knows of.
        since: Sequence,
    },
}

/// The names by which an ExecutionReport refers to the message that it answers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Names<'a> {
    pub(crate) cl_ord_id: Option<&'a str>,
    pub(crate) original: Option<&'a str>,
}

/// Lists what happened to the orders of an account, oldest first.
pub(crate) fn happenings(view: &View, account: AccountIndex, news: &[News]) -> Vec<Happening> {
    let mut standings: HashMap<OrderId, OrderProgress> = progress_before(view, news);
    let account = view.account(account).id;
    let with_terms = amended_with_terms(news);
    let mut all = Vec::new();
    for news in news {
        let (order, what, time) = match news {
            News::Account(_) | News::Shares(..) | News::Transferred(..) | News::Order(..) => continue,
            News::Placed(_, placed) => (placed.order, HappeningKind::Placed, placed.time),
            News::Noted(_, note) => match note.what {
                Noted::Triggered(_) => (note.order, HappeningKind::Triggered, note.time),
                Noted::Released => (note.order, HappeningKind::Released, note.time),
                Noted::Linked(_) | Noted::Pends(_) => continue,
            },
            News::Traded(_, trade, side) => (trade.order(*side), HappeningKind::Executed(*trade, *side), trade.time),
            News::Amended(_, amended, terms) => {
                standings.entry(amended.order).and_modify(|standing| standing.amend(amended, terms.as_ref()));
                // One report tells all that an amendment changed.
                let is_part = amended.terms.is_none() && amended.why == CancelReason::Asked;
                if is_part && with_terms.contains(&(amended.order, amended.sequence)) {
                    continue;
                }
                (amended.order, HappeningKind::Amended(*amended), amended.time)
            }
            News::Ended(_, ended) if ended.canceled.is_zero() => continue,
            News::Ended(_, ended) => (ended.order.order, HappeningKind::Canceled(ended.why), ended.time),
        };
        let Some(standing) = standings.get_mut(&order) else { continue };
        match &what {
            HappeningKind::Executed(trade, _) => standing.execute(trade),
            HappeningKind::Amended(_)
            | HappeningKind::Placed
            | HappeningKind::Triggered
            | HappeningKind::Released
            | HappeningKind::Canceled(_)
            | HappeningKind::Unchanged(_)
            | HappeningKind::Queried => {}
        }
        let symbol = view.listing(standing.order.symbol).name;
        all.push(Happening { account, symbol, at: *standing, what, time });
    }
    all
}

/// The report of an amendment that changes nothing of an open order.
pub(crate) fn unchanged(view: &View, open: Open) -> Happening {
    Happening { what: HappeningKind::Unchanged(times::now().0), ..asked(view, open) }
}

/// The state of an open order, as the answer to a query.
pub(crate) fn asked(view: &View, open: Open) -> Happening {
    let executed = open.shares.less(open.open);
    let at = OrderProgress {
        order: open,
        client_id: view.client_id(open.order),
        shares: open.shares,
        executed,
        money: open.money,
    };
    let account = view.account(open.account).id;
    let symbol = view.listing(open.symbol).name;
    Happening { account, symbol, at, what: HappeningKind::Queried, time: view.time() }
}

impl Happening {
    /// Makes an event of an order that stands so after it.
    pub(crate) fn new(
        account: AccountId,
        symbol: Symbol,
        at: OrderProgress,
        what: HappeningKind,
        time: Time,
    ) -> Happening {
        Happening { account, symbol, at, what, time }
    }

    pub(crate) fn order(&self) -> OrderId {
        self.at.order.order
    }

    /// The name that the client gave the order.
    pub(crate) fn client_id(&self) -> Option<ClientOrderId> {
        self.at.client_id
    }

    /// Whether this is what a session asked for. An order is canceled once. Of two amendments with the same terms that
    /// come at once over two protocols, the first is taken for the session's.
    pub(crate) fn answers(&self, asked_for: &AskedFor) -> bool {
        match (&self.what, asked_for) {
            (HappeningKind::Canceled(why), AskedFor::Cancel) => *why == Some(CancelReason::Asked),
            (HappeningKind::Amended(amended), AskedFor::Amendment { amendment, since }) => {
                amended.why == CancelReason::Asked && amended.sequence > *since && has_terms(amended, amendment)
            }
            (
                HappeningKind::Placed
                | HappeningKind::Triggered
                | HappeningKind::Released
                | HappeningKind::Executed(..)
                | HappeningKind::Amended(_)
                | HappeningKind::Canceled(_)
                | HappeningKind::Unchanged(_)
                | HappeningKind::Queried,
                AskedFor::Cancel | AskedFor::Amendment { .. },
            ) => false,
        }
    }

    /// Whether this is the placing of an order.
    pub(crate) fn is_placing(&self) -> bool {
        matches!(self.what, HappeningKind::Placed)
    }

    /// The deadline of the order.
    pub(crate) fn until(&self) -> Option<Deadline> {
        self.at.order.until
    }

    /// Whether nothing is open after it.
    pub(crate) fn is_end(&self) -> bool {
        matches!(self.what, HappeningKind::Canceled(_)) || self.at.executed == self.at.shares
    }

    /// Writes the ExecutionReport.
    pub(crate) fn fields(&self, names: Names<'_>) -> Fields {
        let Happening { at, what, .. } = self;
        let order = &at.order;
        let leaves =
            if matches!(what, HappeningKind::Canceled(_)) { Shares::ZERO } else { at.shares.less(at.executed) };
        let (kind, text) = self.kind();
        let fields = Fields::new()
            .add(tags::ORDER_ID, order.order.0)
            .add_some(tags::CL_ORD_ID, names.cl_ord_id)
            .add_some(tags::ORIG_CL_ORD_ID, names.original)
            .add(tags::EXEC_ID, self.exec_id())
            .add(tags::EXEC_TYPE, kind)
            .add(tags::ORD_STATUS, self.status())
            .add(tags::ACCOUNT, self.account)
            .add(tags::SYMBOL, self.symbol)
            .add(tags::SIDE, side(order.side))
            .add(tags::ORDER_QTY, at.shares)
            .add(tags::ORD_TYPE, ord_type(order))
            .add_some(tags::PRICE, (!order.kind.is_market()).then_some(order.limit))
            .add_some(tags::STOP_PX, order.trigger.map(Trigger::price))
            .add(tags::TIME_IN_FORCE, time_in_force(order.kind, order.until))
            .add_some(tags::EXPIRE_TIME, order.until.map(|until| times::written(until.time())))
            .add_some(tags::EXEC_INST, (order.kind == OrderKind::PostOnly).then_some("6"))
            .add_some(tags::MAX_FLOOR, order.iceberg.map(|iceberg| iceberg.display))
            .add(tags::LEAVES_QTY, leaves)
            .add(tags::CUM_QTY, at.executed)
            .add(tags::AVG_PX, average(at.money, at.executed))
            .add(tags::TRANSACT_TIME, times::written(self.time))
            .add_some(tags::EXEC_RESTATEMENT_REASON, self.restatement())
            .add_some(tags::TEXT, text);
        match what {
            HappeningKind::Executed(trade, side) => self.executed(fields, trade, *side),
            HappeningKind::Placed
            | HappeningKind::Triggered
            | HappeningKind::Released
            | HappeningKind::Amended(_)
            | HappeningKind::Canceled(_)
            | HappeningKind::Unchanged(_)
            | HappeningKind::Queried => fields,
        }
    }

    fn executed(&self, fields: Fields, trade: &Trade, side: Side) -> Fields {
        let fields = fields.add(tags::LAST_QTY, trade.shares).add(tags::LAST_PX, trade.price);
        let Some(taken) = trade.fee(side).taken(trade.price, trade.shares) else { return fields };
        let fields = fields.add(tags::NO_MISC_FEES, 1).add(tags::MISC_FEE_AMT, taken.text().as_str());
        let fields = match taken {
            Taken::Money(_) => fields.add(tags::MISC_FEE_CURR, "USD"),
            // A buyer pays in the shares that it gets.
            Taken::Shares(_) => fields.add(tags::MISC_FEE_CURR, self.symbol),
        };
        fields.add(tags::MISC_FEE_TYPE, 4)
    }

    /// ExecID: unique among all reports, and the same when the report is sent again.
    pub(crate) fn exec_id(&self) -> String {
        let order = self.order().0;
        match &self.what {
            HappeningKind::Placed => format!("N{order}"),
            HappeningKind::Triggered => format!("G{order}"),
            HappeningKind::Released => format!("R{order}"),
            HappeningKind::Executed(trade, _) => format!("T{}-{order}", trade.id),
            HappeningKind::Amended(amended) if amended.why == CancelReason::Asked => {
                format!("A{}-{order}", amended.sequence.0)
            }
            // One command may take shares off an order several times.
            HappeningKind::Amended(amended) => format!("A{}-{order}-{}", amended.sequence.0, amended.place),
            HappeningKind::Canceled(_) => format!("C{order}"),
            HappeningKind::Unchanged(number) => format!("A{number}-{order}-N"),
            HappeningKind::Queried => "0".to_owned(),
        }
    }

    /// ExecType, and the reason in words.
    fn kind(&self) -> (&'static str, Option<&'static str>) {
        match &self.what {
            HappeningKind::Placed if self.at.order.pends_on.is_some() => ("A", Some("it waits for another order")),
            HappeningKind::Placed => ("0", None),
            HappeningKind::Triggered => ("D", Some("triggered")),
            HappeningKind::Released => ("D", Some("the order that it waited for was executed")),
            HappeningKind::Executed(..) => ("F", None),
            HappeningKind::Amended(amended) if amended.why == CancelReason::Asked => ("5", None),
            HappeningKind::Amended(amended) => ("D", Some(amended.why.name())),
            HappeningKind::Canceled(why) => (canceled(*why), why.map(CancelReason::name)),
            HappeningKind::Unchanged(_) => ("5", None),
            HappeningKind::Queried => ("I", None),
        }
    }

    fn restatement(&self) -> Option<u8> {
        match &self.what {
            HappeningKind::Triggered | HappeningKind::Released => Some(99),
            HappeningKind::Amended(amended) if amended.why != CancelReason::Asked => Some(5),
            HappeningKind::Placed
            | HappeningKind::Executed(..)
            | HappeningKind::Amended(_)
            | HappeningKind::Canceled(_)
            | HappeningKind::Unchanged(_)
            | HappeningKind::Queried => None,
        }
    }

    /// OrdStatus.
    fn status(&self) -> &'static str {
        match &self.what {
            HappeningKind::Canceled(why) => canceled(*why),
            HappeningKind::Placed
            | HappeningKind::Triggered
            | HappeningKind::Released
            | HappeningKind::Executed(..)
            | HappeningKind::Amended(_)
            | HappeningKind::Unchanged(_)
            | HappeningKind::Queried => {
                let is_pending = matches!(self.what, HappeningKind::Placed | HappeningKind::Queried)
                    && self.at.order.pends_on.is_some();
                standing(is_pending, self.at.executed, self.at.shares)
            }
        }
    }
}

/// Whether an order that was amended has the terms that an amendment names. Its display and its deadline are not told.
fn has_terms(amended: &Amended, amendment: &Amendment) -> bool {
    if amendment.shares().is_some_and(|shares| shares != amended.after) {
        return false;
    }
    let Some(terms) = amended.terms else { return amendment.shares().is_some() };
    let price = terms.trigger.map(Trigger::price);
    let waits = match amendment.waits_for() {
        Some(WaitsFor::StopLoss(named) | WaitsFor::TakeProfit(named)) => price == Some(named),
        Some(WaitsFor::Trail(_)) => price.is_some(),
        None => true,
    };
    waits
        && amendment.limit().is_none_or(|limit| limit == terms.limit)
        && amendment.kind(terms.kind) == Some(terms.kind)
}

fn standing(is_pending: bool, executed: Shares, shares: Shares) -> &'static str {
    match executed {
        _ if is_pending => "A",
        executed if executed == shares => "2",
        Shares::ZERO => "0",
        _ => "1",
    }
}

/// ExecType and OrdStatus of a canceled order: the two have the same letters.
fn canceled(why: Option<CancelReason>) -> &'static str {
    match why {
        Some(CancelReason::Expired | CancelReason::NotResting) => "C",
        Some(
            CancelReason::Asked
            | CancelReason::Refused
            | CancelReason::SelfTrade
            | CancelReason::Linked
            | CancelReason::NotPlaced
            | CancelReason::Disconnected,
        )
        | None => "4",
    }
}

/// The state of an order from a look-up, which knows only its shares and money.
pub(crate) struct OrderSnapshot {
    pub(crate) order: OrderId,
    pub(crate) open: Shares,
    pub(crate) canceled: Shares,
    pub(crate) executed: Shares,
    pub(crate) money: Money,
}

impl OrderSnapshot {
    /// OrdStatus.
    pub(crate) fn status(&self) -> &'static str {
        match (self.open, self.canceled) {
            (Shares::ZERO, Shares::ZERO) => "2",
            (Shares::ZERO, _) => "4",
            _ => standing(false, self.executed, self.open.plus(self.executed)),
        }
    }

    /// Writes the ExecutionReport that answers a query.
    pub(crate) fn fields(&self, cl_ord_id: Option<&str>, account: AccountId, symbol: Symbol, its_side: Side) -> Fields {
        Fields::new()
            .add(tags::ORDER_ID, self.order.0)
            .add_some(tags::CL_ORD_ID, cl_ord_id)
            .add(tags::EXEC_ID, 0)
            .add(tags::EXEC_TYPE, "I")
            .add(tags::ORD_STATUS, self.status())
            .add(tags::ACCOUNT, account)
            .add(tags::SYMBOL, symbol)
            .add(tags::SIDE, side(its_side))
            .add(tags::ORDER_QTY, self.open.plus(self.executed).plus(self.canceled))
            .add(tags::LEAVES_QTY, self.open)
            .add(tags::CUM_QTY, self.executed)
            .add(tags::AVG_PX, average(self.money, self.executed))
            .add(tags::TRANSACT_TIME, times::written(times::now()))
    }
}

pub(crate) fn side(side: Side) -> u8 {
    match side {
        Side::Buy => 1,
        Side::Sell => 2,
    }
}

/// OrdType.
pub(crate) fn ord_type(order: &Open) -> &'static str {
    let is_market = order.kind.is_market();
    match order.trigger {
        _ if order.trail.is_some() => "P",
        None if is_market => "1",
        None => "2",
        Some(trigger) if trigger.is_stop_loss(order.side) => {
            if is_market {
                "3"
            } else {
                "4"
            }
        }
        // FIX 4.4 has no OrdType for a take-profit order with a limit.
        Some(_) => "J",
    }
}

fn time_in_force(kind: OrderKind, until: Option<Deadline>) -> u8 {
    match kind {
        OrderKind::AuctionLimit | OrderKind::AuctionMarket => 2,
        _ if until.is_some() => 6,
        OrderKind::Limit | OrderKind::PostOnly | OrderKind::PostOnlyMove => 1,
        OrderKind::ImmediateOrCancel | OrderKind::Market => 3,
        OrderKind::FillOrKill => 4,
    }
}

/// The average price of what was executed, rounded down to eight decimals; zero where nothing was executed.
fn average(money: Money, executed: Shares) -> String {
    let shares = i128::from(executed.units());
    let units = money.units().checked_div(shares).and_then(|units| i64::try_from(units).ok());
    units.and_then(Price::from_units).map_or_else(|| "0".to_owned(), |price| price.to_string())
}

#[cfg(test)]
impl Happening {
    /// Makes an event for tests of what counts events alone.
    pub(crate) fn of_nothing() -> Happening {
        let order = Open {
            order: OrderId(1),
            account: AccountIndex(0),
            symbol: terms::SymbolIndex(0),
            side: Side::Buy,
            limit: Price::MIN,
            shares: Shares::MIN,
            open: Shares::MIN,
            money: Money::ZERO,
            kind: OrderKind::Limit,
            trigger: None,
            trail: None,
            waits: false,
            delayed: false,
            pends_on: None,
            self_trade: terms::SelfTrade::Allowed,
            until: None,
            iceberg: None,
            triggered: None,
            linked: None,
            time: Time::ZERO,
        };
        let at =
            OrderProgress { order, client_id: None, shares: Shares::MIN, executed: Shares::ZERO, money: Money::ZERO };
        let account = AccountId::parse(b"1").expect("digits");
        let symbol = Symbol::parse(b"SPY").expect("letters");
        Happening { account, symbol, at, what: HappeningKind::Queried, time: Time::ZERO }
    }

    /// Returns the state of its order.
    pub(crate) fn at(&self) -> OrderProgress {
        self.at
    }

    /// Makes the report of a cancel that an account asked for.
    pub(crate) fn canceled(order: OrderId, client_id: ClientOrderId) -> Happening {
        let mut canceled = Happening::of_nothing();
        canceled.at.order.order = order;
        canceled.at.client_id = Some(client_id);
        canceled.what = HappeningKind::Canceled(Some(CancelReason::Asked));
        canceled
    }
}

#[cfg(test)]
mod tests {
    use feed::AmendedTerms;
    use terms::{SymbolIndex, TimeInForce};

    use super::*;

    fn amended(why: CancelReason, terms: Option<AmendedTerms>) -> Happening {
        let [before, after] = [9, 7].map(|units| Shares::from_units(units).expect("shares"));
        let amended = Amended {
            order: OrderId(1),
            symbol: SymbolIndex(0),
            side: Side::Buy,
            before,
            after,
            why,
            time: Time(5),
            sequence: Sequence(40),
            next_trade: 1,
            place: 2,
            terms,
        };
        Happening { what: HappeningKind::Amended(amended), ..Happening::of_nothing() }
    }

    /// An amendment over another protocol was told as the answer to the session's next one.
    #[test]
    fn an_amendment_is_the_sessions_if_it_has_the_terms_that_the_session_asked_for() {
        let limit = Price::MIN;
        let terms = AmendedTerms { kind: OrderKind::Limit, limit, trigger: None, keeps_place: false };
        let shares = |units| Shares::from_units(units).expect("shares");
        let nothing = Amendment::of(AccountId::parse(b"1").expect("digits"), OrderId(1).into());
        let asks = |amendment| AskedFor::Amendment { amendment, since: Sequence(39) };
        let happened = amended(CancelReason::Asked, Some(terms));
        for its in [nothing, nothing.with_shares(shares(7)), nothing.with_limit(limit)] {
            assert!(happened.answers(&asks(its)), "{its:?}");
        }
        let higher = Price::from_units(2).expect("a price");
        let waits = WaitsFor::StopLoss(limit);
        let at_once = nothing.with_tif(TimeInForce::FillOrKill);
        for other in [nothing.with_shares(shares(8)), nothing.with_limit(higher), nothing.with_wait(waits), at_once] {
            assert!(!happened.answers(&asks(other)), "{other:?}");
        }
        let before = AskedFor::Amendment { amendment: nothing, since: Sequence(40) };
        assert!(!happened.answers(&before) && !happened.answers(&AskedFor::Cancel));
        assert!(!amended(CancelReason::SelfTrade, None).answers(&asks(nothing.with_shares(shares(7)))));
        // Other terms than shares do not come as fewer shares alone.
        assert!(!amended(CancelReason::Asked, None).answers(&asks(nothing.with_limit(limit))));
    }

    /// The second of two reductions by one command had the ExecID of the first, so a client took it for a repeat.
    #[test]
    fn each_reduction_of_one_command_has_an_id_of_its_own() {
        assert_eq!(amended(CancelReason::Asked, None).exec_id(), "A40-1");
        assert_eq!(amended(CancelReason::SelfTrade, None).exec_id(), "A40-1-2");
    }
}
