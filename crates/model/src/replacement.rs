//! An order in the stead of another one: it is placed if the command before it canceled that one.

use engine::{Command, Event, Reject, Reply};

use crate::exchange::Model;

impl Model {
    pub(crate) fn place_if_canceled(&mut self, placing: Command, events: &mut Vec<Event>) -> Result<Reply, Reject> {
        if self.has_canceled {
            return self.obey(placing, &mut Vec::new(), events);
        }
        // Without a cancel it is told what it would be told of its account and of its client order id, and nothing is placed.
        let told = self.clone().obey(placing, &mut Vec::new(), &mut Vec::new());
        match told {
            Ok(Reply::Repeated(_) | Reply::Moved { is_new: false, .. })
            | Err(Reject::UnknownAccount | Reject::ClientOrderIdTaken { .. }) => told,
            _ => Err(Reject::NotCanceled),
        }
    }
}
