//! The events of order lists in an account's stream: a list was placed, and a list is done.

use std::collections::{HashMap, HashSet};

use feed::{News, Noted, View};
use serde_json::{Value, json};
use terms::{AccountIndex, OrderId, Time};

use crate::order::Order;
use crate::order_lists::{Contingency, Member, list_status};
use http_gateway::clock;

/// The lists of an account with an open order, by their first orders.
#[derive(Debug, Default)]
pub(crate) struct Lists(HashMap<OrderId, (Contingency, Vec<Member>)>);

impl Lists {
    /// Returns the lists whose orders are all open. The history alone knows orders that are done.
    pub(crate) fn begin(view: &View, account: AccountIndex) -> Lists {
        let mut lists = Lists::default();
        for open in view.orders_of(account) {
            if let Some(partner) = view.partner(open.order).filter(|partner| open.order < *partner) {
                lists.take_in(view, Contingency::Oco, &[open.order, partner]);
            }
            let pending = view.pending_of(open.order);
            if !pending.is_empty() {
                lists.take_in(view, Contingency::Oto, &[&[open.order], &pending[..]].concat());
            }
        }
        lists
    }

    fn take_in(&mut self, view: &View, contingency: Contingency, orders: &[OrderId]) {
        let member = |order: &OrderId| {
            view.open_order(*order).map(|open| Member::of(&Order::of(view, &open, view.client_id(*order))))
        };
        if let Some(members) = orders.iter().map(member).collect() {
            self.0.insert(orders[0], (contingency, members));
        }
    }

    /// Returns the event, with times in microseconds, for a piece of news, if it is about a list. `ended`: the orders
    /// that all the news end, as far as events reported them. `order_of` returns the orders that the news are about.
    pub(crate) fn follow<'a>(
        &mut self,
        view: &View,
        news: &News,
        ended: &mut HashSet<OrderId>,
        order_of: impl Fn(OrderId) -> Option<&'a Order>,
    ) -> Option<Value> {
        match news {
            News::Noted(_, note) => {
                let time = note.time;
                match note.what {
                    Noted::Triggered(_) => None,
                    Noted::Linked(partner) => {
                        let members = [order_of(note.order)?, order_of(partner)?].map(Member::of).to_vec();
                        if partner < note.order {
                            return None;
                        }
                        Some(self.begun(Contingency::Oco, members, time))
                    }
                    // The last of the pending orders reports the list, unless they are placed by now.
                    Noted::Pends(working) => {
                        let pending = view.pending_of(working);
                        if pending.last() != Some(&note.order) {
                            return None;
                        }
                        let members =
                            std::iter::once(working).chain(pending).map(|order| order_of(order).map(Member::of));
                        Some(self.begun(Contingency::Oto, members.collect::<Option<Vec<Member>>>()?, time))
                    }
                    Noted::Released => {
                        let working = [1, 2].map(|behind| OrderId(note.order.0.saturating_sub(behind)));
                        let list = working.into_iter().find(|list| self.is_oto(*list))?;
                        self.over(list, time)
                    }
                }
            }
            News::Ended(_, order) => {
                let (id, time) = (order.order.order, order.time);
                ended.insert(id);
                if let Some(working) = order.order.pends_on {
                    let (_, members) = self.0.get(&working)?;
                    let are_done = members.iter().skip(1).all(|member| ended.contains(&member.order()));
                    return if are_done { self.over(working, time) } else { None };
                }
                let partner = order.order.linked?;
                let partner_is_done =
                    ended.contains(&partner) || (view.open_order(partner).is_none() && order_of(partner).is_none());
                if partner_is_done { self.over(id.min(partner), time) } else { None }
            }
            News::Account(_) | News::Placed(..) | News::Order(..) | News::Traded(..) | News::Amended(..) => None,
        }
    }

    fn is_oto(&self, list: OrderId) -> bool {
        self.0.get(&list).is_some_and(|(contingency, _)| *contingency == Contingency::Oto)
    }

    fn begun(&mut self, contingency: Contingency, members: Vec<Member>, time: Time) -> Value {
        let event = event(contingency, &members, false, time);
        self.0.insert(members[0].order(), (contingency, members));
        event
    }

    fn over(&mut self, list: OrderId, time: Time) -> Option<Value> {
        let (contingency, members) = self.0.remove(&list)?;
        Some(event(contingency, &members, true, time))
    }
}

fn event(contingency: Contingency, members: &[Member], is_done: bool, time: Time) -> Value {
    let [status_type, order_status] = list_status(is_done);
    let first = &members[0];
    let order = |member: &Member| json!({"s": member.pair(), "i": member.order().0, "c": member.client_name()});
    json!({
        "e": "listStatus",
        "E": clock::now(),
        "s": first.pair(),
        "g": first.order().0,
        "c": contingency.name(),
        "l": status_type,
        "L": order_status,
        "r": "NONE",
        "C": first.client_name(),
        "T": time.0,
        "O": members.iter().map(order).collect::<Vec<Value>>(),
    })
}
