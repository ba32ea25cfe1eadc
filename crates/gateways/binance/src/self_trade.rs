//! Self-trade prevention by the names of these clients.

use terms::SelfTrade;

use crate::parameters::Parameters;
use crate::refusal::Refusal;

/// The parameter, and the field of every order.
pub(crate) const MODE: &str = "selfTradePreventionMode";

/// Binance's mode that transfers prevented quantities between accounts of a group, which does not exist here.
const TRANSFER: &str = "TRANSFER";

/// Returns the mode of an order that names none.
pub(crate) fn default_name() -> &'static str {
    name(SelfTrade::default())
}

/// Returns the modes that an order may name.
pub(crate) fn names() -> [&'static str; 5] {
    SelfTrade::ALL.map(name)
}

pub(crate) fn name(mode: SelfTrade) -> &'static str {
    match mode {
        SelfTrade::Allowed => "NONE",
        SelfTrade::CancelNewest => "EXPIRE_TAKER",
        SelfTrade::CancelOldest => "EXPIRE_MAKER",
        SelfTrade::CancelBoth => "EXPIRE_BOTH",
        SelfTrade::Decrement => "DECREMENT",
    }
}

/// Reads the mode of a new order.
pub(crate) fn read(asked: &Parameters) -> Result<SelfTrade, Refusal> {
    let Some(asked) = asked.text(MODE) else { return Ok(SelfTrade::default()) };
    let found = SelfTrade::ALL.into_iter().find(|mode| name(*mode) == asked);
    found.ok_or_else(|| match asked {
        TRANSFER => Refusal::new(-1013, "This symbol does not allow the specified self-trade prevention mode."),
        _ => Refusal::invalid(MODE, &format!("there are {}", names().join(", "))),
    })
}
