//! An order as a command places it: the order, its terms, and its bond to the commands beside it.
//!
//! The server copies a command for every order, so a `Place` is packed: fields that exclude each other share their
//! room, and small ones share a byte. [`Place::form`] is the order in the words of the market.

use crate::amount::{Money, Price, Shares};
use crate::ids::{AccountId, ClientOrderId, Deadline, PackedClientId, Symbol};
use crate::order::{FundsOrder, NewOrder, OrderKind, SelfTrade, Side, Trigger};
use crate::trail::Trail;

/// An order that a command places, with its terms.
///
/// The last byte is its `shape`, whose unused values tell other commands apart. Only the rules of a symbol are longer.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Place {
    /// The account that places the order.
    pub account: AccountId,
    symbol: Symbol,
    limit: Price,
    /// The upper half of the funds of an order for money.
    shares: Shares,
    trigger: Option<Trigger>,
    /// The shares that an iceberg shows at a time, the code of a trail, or the lower half of the funds of an order for
    /// money.
    part: i64,
    until: Option<Deadline>,
    client_id: PackedClientId,
    manner: Manner,
    kind: OrderKind,
    self_trade: SelfTrade,
    shape: Shape,
}

/// The form of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderForm {
    /// An order for shares.
    Plain(NewOrder),
    /// An order of which `display` shares are shown at a time.
    Iceberg { order: NewOrder, display: Shares },
    /// An order whose trigger follows the market at a distance.
    Trailing { order: NewOrder, trail: Trail },
    /// A market order for money.
    Funds(FundsOrder),
}

/// The bond between an order and the commands beside it in its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bond {
    /// The order stands alone.
    Alone,
    /// The order is placed if the command before it canceled one. One request holds both, in this order.
    IfCanceled,
    /// The order replaces the one that the command before names. One request holds both, in this order. If it is
    /// refused, the other order stays as it is.
    Replacing,
    /// The order is the second of a pair whose first the command just before placed, in the same request: the first
    /// event of either cancels the other. Both have one symbol, side and number of shares, and one of them waits for a
    /// price. If the second is refused, the first is canceled.
    Linked,
    /// The order, limit or post-only, is one for which others wait: the next of the same request, or the next two.
    Working { two_wait: bool },
    /// The engine places the order when the working order of its request, of the same symbol, has executed completely.
    /// It gets its id now, but stands in no book and holds nothing until then. The second of two is linked with the
    /// first when they are placed. If it is refused, the working order is canceled.
    Pending,
}

/// The variant of [`OrderForm`] that an order has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    Iceberg,
    Trailing,
    Funds,
}

/// Side and bond in one byte.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Manner(u8);

const SELLS: u8 = 1;
const BOND_SHIFT: u32 = 1;

/// The bonds by their numbers in a [`Manner`].
const BONDS: [Bond; 7] = [
    Bond::Alone,
    Bond::IfCanceled,
    Bond::Linked,
    Bond::Working { two_wait: false },
    Bond::Working { two_wait: true },
    Bond::Pending,
    Bond::Replacing,
];

impl Manner {
    #[inline]
    fn alone(side: Side) -> Manner {
        Manner(if side == Side::Sell { SELLS } else { 0 })
    }

    fn bound(self, bond: Bond) -> Manner {
        let number = match bond {
            Bond::Alone => 0,
            Bond::IfCanceled => 1,
            Bond::Linked => 2,
            Bond::Working { two_wait: false } => 3,
            Bond::Working { two_wait: true } => 4,
            Bond::Pending => 5,
            Bond::Replacing => 6,
        };
        Manner(self.0 & SELLS | number << BOND_SHIFT)
    }

    #[inline]
    fn side(self) -> Side {
        if self.0 & SELLS == 0 { Side::Buy } else { Side::Sell }
    }

    #[inline]
    fn is_alone(self) -> bool {
        self.0 <= SELLS
    }

    #[inline]
    fn bond(self) -> Bond {
        *BONDS.get(usize::from(self.0 >> BOND_SHIFT)).expect("invariant: it was made of a bond")
    }
}

impl Place {
    /// An order for shares that stands alone. It has no deadline, and no client order id.
    #[inline]
    pub fn order(account: AccountId, order: NewOrder) -> Place {
        let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade } = order;
        Place {
            account,
            symbol,
            limit,
            shares,
            trigger,
            part: 0,
            until: None,
            client_id: PackedClientId::NONE,
            manner: Manner::alone(side),
            kind,
            self_trade,
            shape: Shape::Plain,
        }
    }

    /// A market order for money. The engine chooses the number of shares; the order never rests.
    pub fn funds(account: AccountId, order: FundsOrder) -> Place {
        let FundsOrder { symbol, side, funds, self_trade } = order;
        let upper = i64::try_from(funds.units() >> u64::BITS).ok().and_then(Shares::from_units);
        let upper = upper.expect("invariant: no parser lets in funds below zero");
        let market = NewOrder::market(symbol, side, upper).with_self_trade(self_trade);
        Place { part: funds.units() as i64, shape: Shape::Funds, ..Place::order(account, market) }
    }

    /// An order of which `display` shares, above zero, are shown at a time. None for a kind that does not rest, and so
    /// has nothing to show.
    pub fn iceberg(account: AccountId, order: NewOrder, display: Shares) -> Option<Place> {
        let part = display.units();
        let iceberg = Place { part, shape: Shape::Iceberg, ..Place::order(account, order) };
        order.kind.may_show_a_part().then_some(iceberg)
    }

    /// A trailing stop, whose trigger follows the market at a distance. None for an order that has a trigger of its
    /// own.
    pub fn trailing(account: AccountId, order: NewOrder, trail: Trail) -> Option<Place> {
        let part = Trail::code(Some(trail));
        let trailing = Place { part, shape: Shape::Trailing, ..Place::order(account, order) };
        order.trigger.is_none().then_some(trailing)
    }

    /// Gives the order a client order id. While it stands for an order, no second one is placed under it.
    #[must_use]
    pub fn named(self, client_id: Option<ClientOrderId>) -> Place {
        Place { client_id: PackedClientId::new(client_id), ..self }
    }

    /// Gives the order a deadline, at which its open shares are canceled. Panics if it may have none.
    #[must_use]
    pub fn until(self, until: Option<Deadline>) -> Place {
        self.with_deadline(until).expect("invariant: an order for money is done at once, and gets no deadline")
    }

    /// Binds the order to the commands beside it. Panics if it cannot have this bond.
    #[must_use]
    pub fn bound(self, bond: Bond) -> Place {
        self.with_bond(bond).expect("invariant: an order of this form can have this bond")
    }

    /// Replaces the deadline of the order. None if it may have no deadline.
    pub fn with_deadline(self, until: Option<Deadline>) -> Option<Place> {
        (self.shape != Shape::Funds || until.is_none()).then_some(Place { until, ..self })
    }

    /// Replaces the bond of the order. None if it cannot have this one.
    pub fn with_bond(self, bond: Bond) -> Option<Place> {
        // Only plain orders are linked, work or wait.
        let is_free = matches!(bond, Bond::Alone | Bond::IfCanceled | Bond::Replacing);
        (is_free || self.shape == Shape::Plain).then_some(Place { manner: self.manner.bound(bond), ..self })
    }

    /// The id that the client gives the order.
    #[inline]
    pub fn client_id(&self) -> Option<ClientOrderId> {
        self.client_id.get()
    }

    /// The deadline of the order.
    #[inline]
    pub fn deadline(&self) -> Option<Deadline> {
        self.until
    }

    /// The bond between the order and the commands beside it.
    #[inline]
    pub fn bond(&self) -> Bond {
        self.manner.bond()
    }

    /// The symbol that the order trades.
    #[inline]
    pub fn symbol(&self) -> Symbol {
        self.symbol
    }

    /// The order, in the form that it has.
    #[inline]
    pub fn form(&self) -> OrderForm {
        let order = self.as_shares();
        match self.shape {
            Shape::Plain => OrderForm::Plain(order),
            Shape::Iceberg => {
                let display = Shares::from_units(self.part).expect("invariant: it was made of shares");
                OrderForm::Iceberg { order, display }
            }
            Shape::Trailing => {
                let trail = Trail::from_code(self.part).expect("invariant: it was made of a trail");
                OrderForm::Trailing { order, trail }
            }
            Shape::Funds => {
                let NewOrder { symbol, side, shares: upper, self_trade, .. } = order;
                let funds = Money::from_units(i128::from(upper.units()) << u64::BITS | i128::from(self.part as u64));
                OrderForm::Funds(FundsOrder { symbol, side, funds, self_trade })
            }
        }
    }

    /// The order, if it is for shares, and neither an iceberg nor a trailing stop.
    #[inline]
    pub fn plain(&self) -> Option<NewOrder> {
        if self.shape == Shape::Plain { Some(self.as_shares()) } else { None }
    }

    /// The order, if it is plain and stands alone.
    #[inline]
    pub fn alone(&self) -> Option<NewOrder> {
        if self.manner.is_alone() { self.plain() } else { None }
    }

    /// Whether the order looks at others before it executes: a fill-or-kill, or one for money.
    #[inline]
    pub fn looks_first(&self) -> bool {
        self.kind == OrderKind::FillOrKill || self.shape == Shape::Funds
    }

    /// The order, if it is for money.
    #[inline]
    pub fn for_money(&self) -> Option<FundsOrder> {
        if let OrderForm::Funds(order) = self.form() { Some(order) } else { None }
    }

    /// The order, if it is plain and stands alone, without a client order id and a deadline.
    #[inline]
    pub fn bare(&self) -> Option<NewOrder> {
        if self.client_id.is_none() && self.until.is_none() { self.alone() } else { None }
    }

    /// The order for shares. For an order for money its number of shares means something else.
    #[inline]
    fn as_shares(&self) -> NewOrder {
        let Place { symbol, limit, shares, trigger, manner, kind, self_trade, .. } = *self;
        NewOrder { symbol, side: manner.side(), limit, shares, kind, trigger, self_trade }
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Place")
            .field("account", &self.account)
            .field("form", &self.form())
            .field("bond", &self.bond())
            .field("client_id", &self.client_id())
            .field("until", &self.until)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{Command, Time};

    const ACCOUNT: &[u8] = b"1";

    fn symbol() -> Symbol {
        Symbol::parse(b"SPY").unwrap()
    }

    /// Orders of each form.
    fn forms() -> [OrderForm; 5] {
        let symbol = symbol();
        let (price, shares) = (Price::from_units(7).unwrap(), Shares::from_units(5).unwrap());
        let order = NewOrder::limit(symbol, Side::Sell, price, shares).with_self_trade(SelfTrade::CancelBoth);
        let funds = FundsOrder { symbol, side: Side::Buy, funds: Money::CAP, self_trade: SelfTrade::Decrement };
        [
            OrderForm::Plain(order),
            OrderForm::Plain(NewOrder::market(symbol, Side::Buy, shares)),
            OrderForm::Iceberg { order: order.triggered_by(Trigger::from_below(price)), display: shares },
            OrderForm::Trailing { order, trail: Trail::by(price) },
            OrderForm::Funds(funds),
        ]
    }

    fn placed(form: OrderForm, bond: Bond, until: Option<Deadline>) -> Option<Place> {
        let account = AccountId::parse(ACCOUNT).unwrap();
        let place = match form {
            OrderForm::Plain(order) => Place::order(account, order),
            OrderForm::Iceberg { order, display } => Place::iceberg(account, order, display)?,
            OrderForm::Trailing { order, trail } => Place::trailing(account, order, trail)?,
            OrderForm::Funds(order) => Place::funds(account, order),
        };
        place.named(ClientOrderId::parse(b"mine").ok()).with_deadline(until)?.with_bond(bond)
    }

    #[test]
    fn a_command_places_the_order_that_it_was_made_of() {
        let until = Deadline::new(Time(9));
        let mut commands = 0;
        for (form, bond) in forms().into_iter().flat_map(|form| BONDS.map(|bond| (form, bond))) {
            for until in [None, until] {
                let Some(place) = placed(form, bond, until) else { continue };
                assert_eq!((place.form(), place.bond(), place.deadline()), (form, bond, until));
                let command = Command::Place(place);
                assert_eq!(command.if_canceled().is_some(), bond == Bond::Alone, "{place:?}");
                let replaces = matches!(bond, Bond::IfCanceled | Bond::Replacing);
                assert_eq!(command.unconditional().is_some(), replaces, "{place:?}");
                let twice = command.if_canceled().and_then(Command::unconditional);
                assert!(twice.is_none_or(|again| again == command));
                commands += 1;
            }
        }
        // Two plain orders with seven bonds, an iceberg and a trailing stop with three, and all of them with and
        // without a deadline. The order for money has three bonds and no deadline.
        assert_eq!(commands, (2 * 7 + 3 + 3) * 2 + 3);
    }

    #[test]
    fn every_word_of_an_order_is_kept() {
        let (limit, shares) = (Price::MAX, Shares::MAX);
        let (lowest, account) = (Trigger::from_above(Price::MAX), AccountId::parse(ACCOUNT).unwrap());
        for trigger in [None, Some(Trigger::from_below(Price::MIN)), Some(lowest)] {
            for (side, kind) in
                [Side::Buy, Side::Sell].into_iter().flat_map(|side| OrderKind::ALL.map(|kind| (side, kind)))
            {
                for self_trade in SelfTrade::ALL {
                    let order = NewOrder { symbol: symbol(), side, limit, shares, kind, trigger, self_trade };
                    assert_eq!(Place::order(account, order).plain(), Some(order));
                }
            }
        }
        for funds in [Money::from_units(1), Money::from_units(i128::from(u64::MAX)), Money::CAP] {
            let order = FundsOrder { symbol: symbol(), side: Side::Sell, funds, self_trade: SelfTrade::CancelBoth };
            assert_eq!(Place::funds(account, order).form(), OrderForm::Funds(order));
        }
    }

    #[test]
    fn only_plain_orders_are_bound_to_orders_beside_them() {
        for form in forms() {
            let is_plain = matches!(form, OrderForm::Plain(_));
            for bond in [Bond::Linked, Bond::Working { two_wait: true }, Bond::Pending] {
                assert_eq!(placed(form, bond, None).is_some(), is_plain, "{form:?} {bond:?}");
            }
        }
        let shares = Shares::from_units(5).unwrap();
        let market = NewOrder::market(symbol(), Side::Buy, shares);
        assert_eq!(OrderKind::Market, market.kind);
        let hidden = OrderForm::Iceberg { order: market, display: shares };
        assert_eq!(placed(hidden, Bond::Alone, None), None, "it does not rest");
        let trigger = Trigger::from_below(Price::from_units(7).unwrap());
        let trailing = OrderForm::Trailing { order: market.triggered_by(trigger), trail: Trail::by_bips(1).unwrap() };
        assert_eq!(placed(trailing, Bond::Alone, None), None, "the market decides its trigger");
    }

    #[test]
    fn an_order_takes_no_more_room_than_128_bytes_and_a_command_144() {
        assert_eq!((size_of::<Place>(), size_of::<Command>()), (128, 144), "both are copied for every order");
    }
}
