//! The terms on which the engine places an order, besides the order itself.

use terms::{Bond, ClientOrderId, Deadline, NewOrder, OrderForm, OrderId, Place, Shares, Trail};

/// The terms on which an order is placed and stays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderTerms {
    pub(crate) client_id: Option<ClientOrderId>,
    pub(crate) until: Option<Deadline>,
    pub(crate) condition: Condition,
    /// The shares that it shows at a time, if not all.
    pub(crate) display: Option<Shares>,
    /// The distance between the market and its trigger, if that follows the market.
    pub(crate) trail: Option<Trail>,
    /// The id and slot that a released order already has.
    pub(crate) released: Option<(OrderId, u32)>,
    /// The id and slot of the order that gets these terms, if it has others already.
    pub(crate) amended: Option<(OrderId, u32)>,
    /// The shares of it that were executed. Rules and limits count them with those to be placed.
    pub(crate) executed: Shares,
    /// Whether its shares were chosen for money, at the prices of this moment.
    pub(crate) is_for_money: bool,
}

impl OrderTerms {
    pub(crate) const NONE: OrderTerms = OrderTerms {
        client_id: None,
        until: None,
        condition: Condition::Always,
        display: None,
        trail: None,
        released: None,
        amended: None,
        executed: Shares::ZERO,
        is_for_money: false,
    };

    /// An order with its executed shares, as rules and limits count it.
    pub(crate) fn whole<S>(&self, placed: NewOrder<S>) -> NewOrder<S> {
        NewOrder { shares: placed.shares.plus(self.executed), ..placed }
    }

    /// The terms of an order that a command places.
    pub(crate) fn of(place: &Place) -> OrderTerms {
        let condition = match place.bond() {
            Bond::IfCanceled => Condition::Canceled,
            Bond::Replacing => Condition::Replacing,
            Bond::Alone | Bond::Linked | Bond::Working { .. } | Bond::Pending => Condition::Always,
        };
        let (display, trail) = match place.form() {
            OrderForm::Plain(_) | OrderForm::Funds(_) => (None, None),
            OrderForm::Iceberg { display, .. } => (Some(display), None),
            OrderForm::Trailing { trail, .. } => (None, Some(trail)),
        };
        let (client_id, until) = (place.client_id(), place.deadline());
        let is_for_money = place.for_money().is_some();
        OrderTerms { client_id, until, condition, display, trail, is_for_money, ..OrderTerms::NONE }
    }
}

/// The condition on which an order is placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    Always,
    /// The command just before this one canceled an order.
    Canceled,
    /// The order that the command just before this one names is open: it is canceled when this one gets its id.
    Replacing,
}
