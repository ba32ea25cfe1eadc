//! Under which condition an order is to be canceled. It is looked at just before the cancel is handed in: the exchange knows no
//! such condition, so an order may execute between the two.

use engine::Shares;

use super::parameters::Parameters;
use super::refusal::Refusal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CancelRestriction {
    /// Nothing of it may be executed.
    New,
    /// Something of it must be.
    PartiallyFilled,
}

impl CancelRestriction {
    pub(super) fn read(asked: &Parameters) -> Result<Option<CancelRestriction>, Refusal> {
        match asked.text("cancelRestrictions") {
            None => Ok(None),
            Some("ONLY_NEW") => Ok(Some(CancelRestriction::New)),
            Some("ONLY_PARTIALLY_FILLED") => Ok(Some(CancelRestriction::PartiallyFilled)),
            Some(_) => Err(Refusal::new(-1145, "Invalid cancelRestrictions. It is ONLY_NEW or ONLY_PARTIALLY_FILLED.")),
        }
    }

    /// Whether an open order of which so much is executed stays.
    pub(super) fn forbids(self, executed: Shares) -> bool {
        executed.is_zero() == (self == CancelRestriction::PartiallyFilled)
    }

    pub(super) fn refusal() -> Refusal {
        Refusal::new(-2011, "Order was not canceled due to cancel restrictions.")
    }
}
