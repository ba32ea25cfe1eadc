//! The events of order lists in an account's stream: a list was placed, and a list is done.

use std::collections::{HashMap, HashSet};

use feed::{News, Noted, View};
use serde_json::{Value, json};
use terms::{OrderId, Time};

use crate::order_lists::{Contingency, Member, list_status};
use http_gateway::clock;

/// The lists of which some orders are done and others open, by their first orders. News name the other orders of a list
/// when the first of them ends, so nothing is read when a stream begins: an account may have a million open orders.
#[derive(Debug, Default)]
pub(crate) struct Lists(HashMap<OrderId, (Contingency, Vec<Member>)>);

/// The news that are reported together.
pub(crate) struct Batch<'a> {
    view: &'a View,
    /// The orders that the news are about.
    members: HashMap<OrderId, Member>,
    /// The pending orders that were released, or that ended without being placed.
    pended: HashSet<OrderId>,
    /// The orders whose end was reported.
    ended: HashSet<OrderId>,
    /// The lists whose end was reported.
    over: HashSet<OrderId>,
}

impl Batch<'_> {
    pub(crate) fn of<'a>(view: &'a View, news: &[News], members: HashMap<OrderId, Member>) -> Batch<'a> {
        let pended = |news: &News| match news {
            News::Noted(_, note) => (note.what == Noted::Released).then_some(note.order),
            News::Ended(_, ended) => ended.order.pends_on.map(|_| ended.order.order),
            News::Account(_)
            | News::Shares(..)
            | News::Transferred(..)
            | News::Placed(..)
            | News::Order(..)
            | News::Traded(..)
            | News::Amended(..) => None,
        };
        let pended = news.iter().filter_map(pended).collect();
        Batch { view, members, pended, ended: HashSet::new(), over: HashSet::new() }
    }

    /// Returns an order that is open, or that the news are about.
    fn member(&self, order: OrderId) -> Option<Member> {
        let open = || {
            let open = self.view.open_order(order)?;
            Some(Member::new(order, self.view.listing(open.symbol).name, self.view.client_id(order)))
        };
        self.members.get(&order).cloned().or_else(open)
    }

    /// Returns the orders that pended on this one when the news began.
    fn pending_of(&self, working: OrderId) -> Vec<OrderId> {
        // A pending order is not a working one, and two of one working order are released by the same command.
        if self.pended.contains(&working) {
            return Vec::new();
        }
        let pends = |order: &OrderId| {
            let open = self.view.open_order(*order);
            self.pended.contains(order) || open.is_some_and(|open| open.pends_on == Some(working))
        };
        [1, 2].map(|behind| OrderId(working.0.saturating_add(behind))).into_iter().take_while(pends).collect()
    }
}

impl Lists {
    /// Takes in a list whose first order ends, unless an order of it was done before the stream began.
    fn take_in(&mut self, batch: &Batch<'_>, contingency: Contingency, orders: &[OrderId]) {
        if self.0.contains_key(&orders[0]) || batch.over.contains(&orders[0]) {
            return;
        }
        if let Some(members) = orders.iter().map(|order| batch.member(*order)).collect() {
            self.0.insert(orders[0], (contingency, members));
        }
    }

    /// Returns the event, with times in microseconds, for a piece of news of the batch, if it is about a list.
    pub(crate) fn follow(&mut self, batch: &mut Batch<'_>, news: &News) -> Option<Value> {
        match news {
            News::Noted(_, note) => {
                let time = note.time;
                let begun = |contingency, orders: &[OrderId]| {
                    let members =
                        orders.iter().map(|order| batch.members.get(order).cloned()).collect::<Option<Vec<Member>>>();
                    members.map(|members| event(contingency, &members, false, time))
                };
                match note.what {
                    Noted::Triggered(_) => None,
                    Noted::Linked(partner) if partner < note.order => None,
                    Noted::Linked(partner) => begun(Contingency::Oco, &[note.order, partner]),
                    // The last of the pending orders reports the list, unless they are placed by now.
                    Noted::Pends(working) => {
                        let pending = batch.view.pending_of(working);
                        if pending.last() != Some(&note.order) {
                            return None;
                        }
                        begun(Contingency::Oto, &[&[working], &pending[..]].concat())
                    }
                    Noted::Released => {
                        let working = [1, 2].map(|behind| OrderId(note.order.0.saturating_sub(behind)));
                        let list = working.into_iter().find(|list| self.is_oto(*list))?;
                        self.over(batch, list, time)
                    }
                }
            }
            News::Ended(_, order) => {
                let (id, time) = (order.order.order, order.time);
                batch.ended.insert(id);
                let working = order.order.pends_on.unwrap_or(id);
                let pending = batch.pending_of(working);
                if !pending.is_empty() {
                    self.take_in(batch, Contingency::Oto, &[&[working], &pending[..]].concat());
                }
                if order.order.pends_on.is_some() {
                    let (_, members) = self.0.get(&working)?;
                    let are_done = members.iter().skip(1).all(|member| batch.ended.contains(&member.order()));
                    return if are_done { self.over(batch, working, time) } else { None };
                }
                let partner = order.order.linked?;
                self.take_in(batch, Contingency::Oco, &[id.min(partner), id.max(partner)]);
                let partner_is_done = batch.ended.contains(&partner) || batch.member(partner).is_none();
                if partner_is_done { self.over(batch, id.min(partner), time) } else { None }
            }
            News::Account(_)
            | News::Shares(..)
            | News::Transferred(..)
            | News::Placed(..)
            | News::Order(..)
            | News::Traded(..)
            | News::Amended(..) => None,
        }
    }

    fn is_oto(&self, list: OrderId) -> bool {
        self.0.get(&list).is_some_and(|(contingency, _)| *contingency == Contingency::Oto)
    }

    fn over(&mut self, batch: &mut Batch<'_>, list: OrderId, time: Time) -> Option<Value> {
        let (contingency, members) = self.0.remove(&list)?;
        batch.over.insert(list);
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
