//! The condition of a cancel. It is checked just before the cancel is handed in: the exchange knows no such condition,
//! so an order may execute between the two.

use terms::Shares;

use crate::parameters::Parameters;
use crate::refusal::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelRestriction {
    /// Cancels the order only if no share is executed.
    New,
    /// Cancels the order only if some shares are executed.
    PartiallyFilled,
}

impl CancelRestriction {
    pub(crate) fn read(asked: &Parameters) -> Result<Option<CancelRestriction>, Refusal> {
        match asked.text("cancelRestrictions") {
            None => Ok(None),
            Some("ONLY_NEW") => Ok(Some(CancelRestriction::New)),
            Some("ONLY_PARTIALLY_FILLED") => Ok(Some(CancelRestriction::PartiallyFilled)),
            Some(_) => Err(Refusal::new(-1145, "Invalid cancelRestrictions. It is ONLY_NEW or ONLY_PARTIALLY_FILLED.")),
        }
    }

    /// Whether an open order with this many executed shares must stay.
    pub(crate) fn forbids(self, executed: Shares) -> bool {
        executed.is_zero() == (self == CancelRestriction::PartiallyFilled)
    }

    pub(crate) fn refusal() -> Refusal {
        Refusal::new(-2011, "Order was not canceled due to cancel restrictions.")
    }
}
