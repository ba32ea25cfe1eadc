//! The prices up to which the triggers of a symbol are still to be reached, because the commands that executed there
//! had no executions left for all of them.

use crate::amount::Price;
use crate::order::Trigger;

/// The range of executions' prices that reach further triggers. A fixed trigger within it that stands in no queue with
/// turns is left. None is placed there meanwhile, and those that follow the market are never left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TriggersLeft {
    /// The highest price, while triggers from below are left.
    pub up_to: Option<Price>,
    /// The lowest price, while triggers from above are left.
    pub down_to: Option<Price>,
}

impl TriggersLeft {
    /// Whether all triggers are reached.
    pub fn is_none(self) -> bool {
        self.up_to.is_none() && self.down_to.is_none()
    }

    /// Whether a fixed trigger lies within the range.
    pub fn reaches(self, trigger: Trigger) -> bool {
        self.price_for(trigger).is_some_and(|price| trigger.is_reached_by(price))
    }

    /// Whether the range can be that of a symbol with this last price.
    pub fn is_sound(self, last: Option<Price>) -> bool {
        match last {
            None => self.is_none(),
            Some(last) => self.up_to.is_none_or(|up_to| up_to >= last) && self.down_to.is_none_or(|down| down <= last),
        }
    }

    /// The price with which a trigger is compared.
    pub fn price_for(self, trigger: Trigger) -> Option<Price> {
        if trigger.is_from_below() { self.up_to } else { self.down_to }
    }

    /// Takes in executions between these prices.
    pub fn extend(&mut self, lowest: Price, highest: Price) {
        self.up_to = Some(self.up_to.map_or(highest, |before| before.max(highest)));
        self.down_to = Some(self.down_to.map_or(lowest, |before| before.min(lowest)));
    }
}
