//! How far the market's calendar was followed. What it has to do the loop knows, and gives commands for it.

use crate::engine::Engine;
use crate::event::Event;
use crate::ids::Time;

impl Engine {
    /// The time up to which all was done that the market's calendar has; none before the first time.
    pub fn calendar_followed(&self) -> Option<Time> {
        (self.calendar != Time::ZERO).then_some(self.calendar)
    }

    /// It never goes back: of several nodes that follow it the one that comes later changes nothing.
    #[cold]
    pub(crate) fn follow_calendar(&mut self, through: Time, events: &mut impl FnMut(Event)) {
        if through > self.calendar {
            self.calendar = through;
            events(Event::CalendarFollowed { through });
        }
    }
}
