//! Orders as the XML protocol says them.

use engine::{Command, FundsOrder, Money, NewOrder, OrderKind, Side};

/// The attributes of an `<order>`, each with a blank before it, in the order in which a reply repeats them.
pub fn order_attributes(order: &NewOrder) -> String {
    let NewOrder { symbol, side, limit, shares, kind, trigger } = order;
    let sign = if *side == Side::Buy { "" } else { "-" };
    let start = format!(" sym=\"{symbol}\" amount=\"{sign}{shares}\"");
    let asked = match kind {
        OrderKind::Limit => format!("{start} limit=\"{limit}\""),
        OrderKind::PostOnly => format!("{start} limit=\"{limit}\" post-only=\"true\""),
        OrderKind::ImmediateOrCancel => format!("{start} limit=\"{limit}\" tif=\"IOC\""),
        OrderKind::FillOrKill => format!("{start} limit=\"{limit}\" tif=\"FOK\""),
        OrderKind::Market => format!("{start} type=\"market\""),
    };
    match trigger {
        None => asked,
        Some(trigger) if trigger.is_stop_loss(*side) => format!("{asked} stop=\"{}\"", trigger.price()),
        Some(trigger) => format!("{asked} take-profit=\"{}\"", trigger.price()),
    }
}

/// Dollars over the wire have at most 8 decimals, and in the engine 16.
const DOLLAR_STEP: i128 = 100_000_000;

/// The command with funds that can be said over the wire, if it has any.
pub fn as_on_the_wire(command: Command) -> Command {
    let plain = command.unconditional().unwrap_or(command);
    let Command::PlaceByFunds { account, order, client_id } = plain else { return command };
    let steps = (order.funds.units() + DOLLAR_STEP - 1) / DOLLAR_STEP;
    let order = FundsOrder { funds: Money::from_units(steps * DOLLAR_STEP), ..order };
    let said = Command::PlaceByFunds { account, order, client_id };
    if plain == command { said } else { said.if_canceled().expect("it places an order") }
}

/// The attributes of an `<order>` for money.
pub fn funds_attributes(order: &FundsOrder) -> String {
    let FundsOrder { symbol, side, funds } = order;
    let sign = if *side == Side::Buy { "" } else { "-" };
    format!(" sym=\"{symbol}\" type=\"market\" funds=\"{sign}{funds}\"")
}

/// The attributes of what a command places, without a client order id.
pub fn placing_attributes(command: &Command) -> String {
    let plain = command.unconditional().unwrap_or(*command);
    if let Command::PlaceOrder { order, .. } = plain {
        order_attributes(&order)
    } else if let Command::PlaceByFunds { order, .. } = plain {
        funds_attributes(&order)
    } else {
        panic!("{plain:?} places no order")
    }
}

/// What a `<replace>` has besides: the order to be placed is not placed without the cancel, or it is.
pub fn on_failure_attribute(command: &Command) -> &'static str {
    if command.unconditional().is_some() { "" } else { " on-failure=\"place\"" }
}
