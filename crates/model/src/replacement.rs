//! An order that replaces another one: it is placed if the command before it canceled that one.

use terms::{Event, Place, Reject, Reply};

use crate::exchange::Model;

impl Model {
    pub(crate) fn place_if_canceled(&mut self, placing: Place, events: &mut Vec<Event>) -> Result<Reply, Reject> {
        if self.has_canceled {
            return self.place_command(placing, events);
        }
        // Without a cancel, the reply is the one about the account or the client order id, and the market places
        // nothing.
        let told = self.clone().place_command(placing, &mut Vec::new());
        match told {
            Ok(Reply::Repeated(_) | Reply::Moved { is_new: false, .. })
            | Err(Reject::UnknownAccount | Reject::ClientOrderIdTaken { .. }) => told,
            _ => Err(Reject::NotCanceled),
        }
    }
}
