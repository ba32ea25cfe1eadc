//! The time up to which the market's calendar was followed. The market's loop knows the calendar, and gives the
//! commands for it.

use terms::{Event, Time};

use crate::engine::Engine;

impl Engine {
    /// The time up to which everything in the market's calendar was done. None before the first time.
    pub fn calendar_followed(&self) -> Option<Time> {
        (self.calendar != Time::ZERO).then_some(self.calendar)
    }

    /// The time never goes back: if several nodes follow the calendar, the one that comes later changes nothing.
    #[cold]
    pub(crate) fn follow_calendar(&mut self, through: Time, events: &mut impl FnMut(Event)) {
        if through > self.calendar {
            self.calendar = through;
            events(Event::CalendarFollowed { through });
        }
    }
}
