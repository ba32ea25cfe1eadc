//! An order as a command places it. Each way to place an order is a command of its own, as short as its fields allow.
//! Here all of them are one value, read by everything that asks about the order and not about the command.

use crate::amount::Shares;
use crate::command::{Command, Manner, Trail};
use crate::ids::{AccountId, ClientOrderId, Deadline, Symbol};
use crate::order::{FundsOrder, NewOrder};

/// An order that a command places, with its terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    pub account: AccountId,
    pub form: OrderForm,
    pub bond: Bond,
    pub client_id: Option<ClientOrderId>,
    pub until: Option<Deadline>,
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
    /// The order is placed if the command before it canceled one.
    IfCanceled,
    /// The order is the second of a pair: the first event of either cancels the other.
    Linked,
    /// The next order waits for this one, or the next two.
    Working { two_wait: bool },
    /// The order waits for the working order of its request.
    Pending,
}

impl OrderForm {
    /// The symbol that the order trades.
    pub fn symbol(&self) -> Symbol {
        match self {
            OrderForm::Plain(order) | OrderForm::Iceberg { order, .. } | OrderForm::Trailing { order, .. } => {
                order.symbol
            }
            OrderForm::Funds(order) => order.symbol,
        }
    }
}

impl Placement {
    /// The command that places the order. None if no command does: an order for money has no deadline, an iceberg
    /// rests, a trailing stop has no trigger of its own, and only plain orders are linked, work or wait.
    pub fn command(self) -> Option<Command> {
        let Placement { account, form, bond, client_id, until } = self;
        let if_canceled = bond == Bond::IfCanceled;
        match (form, bond) {
            (OrderForm::Plain(order), Bond::Alone) => Some(Command::PlaceOrder { account, order, client_id, until }),
            (OrderForm::Plain(order), Bond::IfCanceled) => {
                Some(Command::PlaceIfCanceled { account, order, client_id, until })
            }
            (OrderForm::Plain(order), Bond::Linked) => Some(Command::PlaceLinked { account, order, client_id, until }),
            (OrderForm::Plain(order), Bond::Working { two_wait }) => {
                Some(Command::PlaceWorking { account, order, client_id, until, two_wait })
            }
            (OrderForm::Plain(order), Bond::Pending) => {
                Some(Command::PlacePending { account, order, client_id, until })
            }
            (OrderForm::Funds(order), Bond::Alone) if until.is_none() => {
                Some(Command::PlaceByFunds { account, order, client_id })
            }
            (OrderForm::Funds(order), Bond::IfCanceled) if until.is_none() => {
                Some(Command::PlaceByFundsIfCanceled { account, order, client_id })
            }
            (OrderForm::Iceberg { order, display }, Bond::Alone | Bond::IfCanceled) if order.kind.rests() => {
                let NewOrder { symbol, limit, shares, trigger, .. } = order;
                let manner = Manner::of(&order, if_canceled);
                Some(Command::PlaceIceberg {
                    account,
                    symbol,
                    manner,
                    limit,
                    shares,
                    display,
                    trigger,
                    client_id,
                    until,
                })
            }
            (OrderForm::Trailing { order, trail }, Bond::Alone | Bond::IfCanceled) if order.trigger.is_none() => {
                let NewOrder { symbol, limit, shares, .. } = order;
                let manner = Manner::of(&order, if_canceled);
                Some(Command::PlaceTrailing { account, symbol, manner, limit, shares, trail, client_id, until })
            }
            (OrderForm::Funds(_) | OrderForm::Iceberg { .. } | OrderForm::Trailing { .. }, _) => None,
        }
    }
}

impl Command {
    /// The order that this command places; none if it places none.
    #[inline]
    pub fn placement(&self) -> Option<Placement> {
        let plain = |account, order, bond, (client_id, until)| {
            Some(Placement { account, form: OrderForm::Plain(order), bond, client_id, until })
        };
        let for_money = |account, order, bond, client_id| {
            Some(Placement { account, form: OrderForm::Funds(order), bond, client_id, until: None })
        };
        match *self {
            Command::PlaceOrder { account, order, client_id, until } => {
                plain(account, order, Bond::Alone, (client_id, until))
            }
            Command::PlaceIfCanceled { account, order, client_id, until } => {
                plain(account, order, Bond::IfCanceled, (client_id, until))
            }
            Command::PlaceLinked { account, order, client_id, until } => {
                plain(account, order, Bond::Linked, (client_id, until))
            }
            Command::PlaceWorking { account, order, client_id, until, two_wait } => {
                plain(account, order, Bond::Working { two_wait }, (client_id, until))
            }
            Command::PlacePending { account, order, client_id, until } => {
                plain(account, order, Bond::Pending, (client_id, until))
            }
            Command::PlaceByFunds { account, order, client_id } => for_money(account, order, Bond::Alone, client_id),
            Command::PlaceByFundsIfCanceled { account, order, client_id } => {
                for_money(account, order, Bond::IfCanceled, client_id)
            }
            Command::PlaceIceberg { account, symbol, manner, limit, shares, display, trigger, client_id, until } => {
                let order = NewOrder { trigger, ..manner.order(symbol, limit, shares) };
                let form = OrderForm::Iceberg { order, display };
                Some(Placement { account, form, bond: manner.bond(), client_id, until })
            }
            Command::PlaceTrailing { account, symbol, manner, limit, shares, trail, client_id, until } => {
                let form = OrderForm::Trailing { order: manner.order(symbol, limit, shares), trail };
                Some(Placement { account, form, bond: manner.bond(), client_id, until })
            }
            Command::CreateAccount { .. }
            | Command::CreateSymbol { .. }
            | Command::IssueShares { .. }
            | Command::FundAccount { .. }
            | Command::GiveShares { .. }
            | Command::CancelOrder { .. }
            | Command::CancelAll { .. }
            | Command::AmendOrder { .. }
            | Command::FreeClientOrderId { .. }
            | Command::ActivateReached
            | Command::ExpireOrders
            | Command::EndAuction
            | Command::FollowCalendar { .. }
            | Command::TakeMessage(_)
            | Command::ChangeRules { .. }
            | Command::ChangeFees { .. }
            | Command::ChangeTier { .. }
            | Command::ChangeGroup { .. }
            | Command::ChangeLimits { .. }
            | Command::ChangePhase { .. }
            | Command::Kill { .. }
            | Command::Release { .. }
            | Command::KillTogether { .. }
            | Command::ReleaseTogether { .. }
            | Command::Protect { .. }
            | Command::Unprotect { .. } => None,
        }
    }

    /// Adds the condition that the command just before it canceled an order. None for a command that places no order or
    /// already has a bond.
    pub fn if_canceled(self) -> Option<Command> {
        self.with_bond(Bond::Alone, Bond::IfCanceled)
    }

    /// Removes that condition. None for a command without it.
    pub fn unconditional(self) -> Option<Command> {
        self.with_bond(Bond::IfCanceled, Bond::Alone)
    }

    fn with_bond(self, from: Bond, to: Bond) -> Option<Command> {
        let placement = self.placement().filter(|placement| placement.bond == from)?;
        Placement { bond: to, ..placement }.command()
    }

    /// Replaces the deadline of the order that it places. None for a command that places no order that may have one.
    pub fn with_deadline(self, until: Option<Deadline>) -> Option<Command> {
        Placement { until, ..self.placement()? }.command()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::{Money, OrderKind, Price, SelfTrade, Side, Time, Trigger};

    const BONDS: [Bond; 6] = [
        Bond::Alone,
        Bond::IfCanceled,
        Bond::Linked,
        Bond::Working { two_wait: false },
        Bond::Working { two_wait: true },
        Bond::Pending,
    ];

    /// Orders of each form, without a bond.
    fn forms() -> [OrderForm; 5] {
        let symbol = Symbol::parse(b"SPY").unwrap();
        let (price, shares) = (Price::from_units(7).unwrap(), Shares::from_units(5).unwrap());
        let order = NewOrder::limit(symbol, Side::Sell, price, shares).with_self_trade(SelfTrade::CancelBoth);
        let funds = FundsOrder { symbol, side: Side::Buy, funds: Money::from_units(3), self_trade: SelfTrade::Allowed };
        [
            OrderForm::Plain(order),
            OrderForm::Plain(NewOrder::market(symbol, Side::Buy, shares)),
            OrderForm::Iceberg { order: order.triggered_by(Trigger::from_below(price)), display: shares },
            OrderForm::Trailing { order, trail: Trail::by(price) },
            OrderForm::Funds(funds),
        ]
    }

    fn placed(form: OrderForm, bond: Bond, until: Option<Deadline>) -> Placement {
        let client_id = ClientOrderId::parse(b"mine");
        Placement { account: AccountId::parse(b"1").unwrap(), form, bond, client_id: client_id.ok(), until }
    }

    #[test]
    fn a_command_places_the_order_that_it_was_made_of() {
        let until = Deadline::new(Time(9));
        let mut commands = 0;
        for (form, bond) in forms().into_iter().flat_map(|form| BONDS.map(|bond| (form, bond))) {
            for until in [None, until] {
                let placement = placed(form, bond, until);
                let Some(command) = placement.command() else { continue };
                assert_eq!(command.placement(), Some(placement));
                assert_eq!(command.if_canceled().is_some(), bond == Bond::Alone, "{placement:?}");
                assert_eq!(command.unconditional().is_some(), bond == Bond::IfCanceled, "{placement:?}");
                let twice = command.if_canceled().and_then(Command::unconditional);
                assert!(twice.is_none_or(|again| again == command));
                commands += 1;
            }
        }
        // Two plain orders with six bonds, an iceberg and a trailing stop with two, and all of them with and without a
        // deadline. The order for money has two bonds and no deadline.
        assert_eq!(commands, (2 * 6 + 2 + 2) * 2 + 2);
    }

    #[test]
    fn only_plain_orders_are_bound_to_orders_beside_them() {
        for form in forms() {
            let is_plain = matches!(form, OrderForm::Plain(_));
            for bond in [Bond::Linked, Bond::Working { two_wait: true }, Bond::Pending] {
                assert_eq!(placed(form, bond, None).command().is_some(), is_plain, "{form:?} {bond:?}");
            }
        }
        let symbol = Symbol::parse(b"SPY").unwrap();
        let shares = Shares::from_units(5).unwrap();
        let market = NewOrder::market(symbol, Side::Buy, shares);
        assert_eq!(OrderKind::Market, market.kind);
        let hidden = OrderForm::Iceberg { order: market, display: shares };
        assert_eq!(placed(hidden, Bond::Alone, None).command(), None, "it does not rest");
        let trigger = Trigger::from_below(Price::from_units(7).unwrap());
        let trailing = OrderForm::Trailing { order: market.triggered_by(trigger), trail: Trail::by_bips(1).unwrap() };
        assert_eq!(placed(trailing, Bond::Alone, None).command(), None, "the market decides its trigger");
    }
}
