//! An order that replaces another one: it is placed if the command before it canceled that one; or both are done, or
//! neither is.

use terms::{AccountId, Event, Execution, OrderName, Place, Reject, Reply};

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

    /// Names the order that the next command's order replaces. The reply is that of a cancel, which nobody has done
    /// yet.
    pub(crate) fn name_replaced(
        &mut self,
        account: AccountId,
        order: OrderName,
        executions: &mut Vec<Execution>,
    ) -> Result<Reply, Reject> {
        self.replaceable = None;
        let order = self.named_order(account, order)?;
        let reply = self.clone().cancel_order(account, order, executions, &mut Vec::new())?;
        self.replaceable = Some(order);
        Ok(reply)
    }

    /// Cancels the named order and places the other one. If that is refused, nothing has happened.
    pub(crate) fn place_replacing(&mut self, placing: Place, events: &mut Vec<Event>) -> Result<Reply, Reject> {
        let before = self.clone();
        let mut told = Vec::new();
        let named = self.replaceable.take();
        let canceled = named.map(|order| self.cancel_order(placing.account, order, &mut Vec::new(), &mut told));
        self.has_canceled = matches!(canceled, Some(Ok(_)));
        let reply = self.place_if_canceled(placing, &mut told);
        match reply {
            Ok(Reply::Opened(_) | Reply::Moved { is_new: true, .. }) => events.extend(told),
            // The look at other orders counts, whatever became of the order.
            _ => *self = Model { turns_in_turn: self.turns_in_turn, was_put_off: self.was_put_off, ..before },
        }
        reply
    }
}
