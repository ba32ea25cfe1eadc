//! What an account's stream sends of order lists: that one was placed, and that all of it is done.

use std::collections::{HashMap, HashSet};

use engine::{AccountIndex, OrderId, Time};
use feed::{News, Noted, View};
use serde_json::{Value, json};

use super::order::Order;
use super::order_lists::{Member, list_status};
use crate::clock;

/// The lists of an account of which an order is open, by their first orders.
#[derive(Debug, Default)]
pub(super) struct Lists(HashMap<OrderId, [Member; 2]>);

impl Lists {
    /// Those whose orders are both open. Of the others, an order that is done is known to the history alone.
    pub(super) fn begin(view: &View, account: AccountIndex) -> Lists {
        let mut lists = Lists::default();
        for open in view.orders_of(account) {
            if let Some(partner) = view.partner(open.order).filter(|partner| open.order < *partner) {
                lists.take_in(view, open.order, partner);
            }
        }
        lists
    }

    fn take_in(&mut self, view: &View, first: OrderId, second: OrderId) {
        let member =
            |order| view.open_order(order).map(|open| Member::of(&Order::of(view, &open, view.client_id(order))));
        if let (Some(one), Some(other)) = (member(first), member(second)) {
            self.0.insert(first, [one, other]);
        }
    }

    /// The event that tells, in microseconds, of the last of these news, if it tells something of a list. `ended` are the orders that all the news end, as
    /// far as that was told. `order_of` knows the orders that the news is about.
    pub(super) fn follow<'a>(
        &mut self,
        view: &View,
        news: &News,
        ended: &mut HashSet<OrderId>,
        order_of: impl Fn(OrderId) -> Option<&'a Order>,
    ) -> Option<Value> {
        match news {
            News::Noted(_, note) => {
                let Noted::Linked(partner) = note.what else { return None };
                let members = [order_of(note.order)?, order_of(partner)?].map(Member::of);
                if partner < note.order {
                    return None;
                }
                let event = event(&members, false, note.time);
                self.0.insert(note.order, members);
                Some(event)
            }
            News::Ended(_, order) => {
                let (id, partner) = (order.order.order, order.order.linked?);
                ended.insert(id);
                let partner_is_done =
                    ended.contains(&partner) || (view.open_order(partner).is_none() && order_of(partner).is_none());
                let members = partner_is_done.then(|| self.0.remove(&id.min(partner)))??;
                Some(event(&members, true, order.time))
            }
            News::Account(_) | News::Placed(..) | News::Order(..) | News::Traded(..) | News::Amended(..) => None,
        }
    }
}

fn event(members: &[Member; 2], is_done: bool, time: Time) -> Value {
    let [status_type, order_status] = list_status(is_done);
    let [first, _] = members;
    let order = |member: &Member| json!({"s": member.pair(), "i": member.order().0, "c": member.client_name()});
    json!({
        "e": "listStatus",
        "E": clock::now(),
        "s": first.pair(),
        "g": first.order().0,
        "c": "OCO",
        "l": status_type,
        "L": order_status,
        "r": "NONE",
        "C": first.client_name(),
        "T": time.0,
        "O": members.iter().map(order).collect::<Vec<Value>>(),
    })
}
