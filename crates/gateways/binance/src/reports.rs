//! The events of an account's stream: each order that is placed, executed or canceled, and the account's balances after
//! that.

use std::collections::HashMap;

use feed::{
    Account, Amended, EndedOrder, News, Noted, ReportedHoldings, TermsChange, Trade, Transferred, View,
    amended_with_terms,
};
use serde_json::{Value, json};
use terms::{AccountIndex, CancelReason, Group, Money, OrderId, Shares, Side, Time};

use crate::list_events::{Batch, Lists};
use crate::order::{Order, canceled_status, time_in_force};
use crate::order_lists::Member;
use crate::{fees, names, numbers, trailing};
use http_gateway::clock;

/// The state that an account's stream has reported.
#[derive(Debug)]
pub(crate) struct ReportedState {
    /// The last order that was reported as new. Orders are numbered as they are placed.
    through: OrderId,
    balance: Money,
    held: Money,
    holdings: ReportedHoldings,
    lists: Lists,
}

/// An order between two events.
struct Standing {
    /// The order after all events.
    order: Order,
    /// The group of its account.
    group: Group,
    /// The order between the two events.
    at: feed::OrderProgress,
}

/// An event of an order.
enum Happened<'a> {
    Placed,
    Executed(&'a Trade, Side),
    Amended(&'a Amended),
    Canceled(&'a EndedOrder, CancelReason),
}

impl ReportedState {
    /// Returns the state at the start of a stream. Walks no orders: there may be a million.
    pub(crate) fn begin(view: &View, account: AccountIndex) -> ReportedState {
        let through = view.orders_of(account).next().map_or(OrderId(0), |newest| newest.order);
        let Account { balance, held, holdings, .. } = view.account(account);
        let holdings = ReportedHoldings::begin(holdings);
        ReportedState { through, balance: *balance, held: *held, holdings, lists: Lists::default() }
    }

    /// Returns the events for news, in order; times in microseconds.
    pub(crate) fn follow(&mut self, view: &View, account: AccountIndex, news: &[News]) -> Vec<Value> {
        let mut standings = standings(view, news);
        let mut events = Vec::new();
        let members = standings.iter().map(|(order, its)| (*order, Member::of(&its.order))).collect();
        let mut batch = Batch::of(view, news, members);
        let with_terms = amended_with_terms(news);
        let before = self.through;
        for news in news {
            let of_list = self.lists.follow(&mut batch, news);
            let (order, happened) = match news {
                News::Noted(_, note) => {
                    // A pending order that was reported becomes new.
                    let is_known = note.what == Noted::Released && note.order <= before;
                    if let Some(standing) = standings.get_mut(&note.order).filter(|_| is_known) {
                        events.push(standing.report(Happened::Placed));
                    }
                    events.extend(of_list);
                    continue;
                }
                News::Transferred(_, moved) => {
                    events.push(balance_update(view, moved));
                    continue;
                }
                News::Account(_) | News::Shares(..) => continue,
                // Placing is reported before anything else that the command did to the order.
                News::Placed(_, placed) => (placed.order, None),
                News::Order(_, order) => (*order, None),
                News::Traded(_, trade, side) => (trade.order(*side), Some(Happened::Executed(trade, *side))),
                News::Amended(_, amended, terms) => {
                    standings.entry(amended.order).and_modify(|standing| standing.amend(amended, terms.as_ref()));
                    // One report tells all that an amendment changed.
                    let is_part = amended.terms.is_none() && amended.why == CancelReason::Asked;
                    if is_part && with_terms.contains(&(amended.order, amended.sequence)) {
                        continue;
                    }
                    (amended.order, Some(Happened::Amended(amended)))
                }
                News::Ended(_, ended) => (ended.order.order, ended.why.map(|why| Happened::Canceled(ended, why))),
            };
            let Some(standing) = standings.get_mut(&order) else { continue };
            if order > self.through {
                self.through = order;
                events.push(standing.report(Happened::Placed));
            }
            if let Some(happened) = happened {
                events.push(standing.report(happened));
            }
            events.extend(of_list);
        }
        events.extend(self.changes(view, account, news));
        events
    }

    /// Returns the account's balances that changed with the news.
    fn changes(&mut self, view: &View, account: AccountIndex, news: &[News]) -> Option<Value> {
        let Account { balance, held, holdings, .. } = view.account(account);
        let shares = self.holdings.follow(holdings, news).into_iter().map(|holding| {
            json!({
                "a": view.listing(holding.symbol).name.as_str(),
                "f": numbers::position(holding.shares),
                "l": numbers::position(holding.held),
            })
        });
        let shares: Vec<Value> = shares.collect();
        if (self.balance, self.held) == (*balance, *held) && shares.is_empty() {
            return None;
        }
        let dollars = json!({"a": names::DOLLARS, "f": numbers::money(*balance), "l": numbers::money(*held)});
        (self.balance, self.held) = (*balance, *held);
        let all: Vec<Value> = std::iter::once(dollars).chain(shares).collect();
        let time = micros(view.time());
        Some(json!({"e": "outboundAccountPosition", "E": clock::now(), "u": time, "B": all}))
    }
}

/// Writes a deposit or withdrawal.
fn balance_update(view: &View, moved: &Transferred) -> Value {
    let (asset, amount) = match *moved {
        Transferred::Dollars(dollars) => (names::DOLLARS.to_owned(), numbers::money(dollars)),
        Transferred::Shares(symbol, shares) => (view.listing(symbol).name.to_string(), numbers::position(shares)),
    };
    json!({"e": "balanceUpdate", "E": clock::now(), "a": asset, "d": amount, "T": micros(view.time())})
}

fn micros(time: Time) -> u64 {
    time.0
}

/// Returns the orders that the news are about, each as it was before them.
fn standings(view: &View, news: &[News]) -> HashMap<OrderId, Standing> {
    let standings = feed::progress_before(view, news).into_iter();
    let of = |at: feed::OrderProgress| Standing {
        order: Order::of(view, &at.order, at.client_id),
        group: view.groups().of(at.order.account),
        at,
    };
    standings.map(|(order, at)| (order, of(at))).collect()
}

impl Standing {
    /// Gives the order its shares and terms after an amendment.
    fn amend(&mut self, amended: &Amended, terms: Option<&TermsChange>) {
        self.at.amend(amended, terms);
        let feed::Open { kind, limit, trigger, .. } = self.at.order;
        (self.order.kind, self.order.limit, self.order.trigger) = (kind, limit, trigger);
    }

    /// Writes the event, and advances the order to its state after it.
    fn report(&mut self, happened: Happened<'_>) -> Value {
        let placed = self.order.time.map_or(0, micros);
        let (shares, price, id, maker) = match &happened {
            Happened::Executed(trade, side) => {
                self.at.execute(trade);
                (trade.shares, Some(trade.price), i64::try_from(trade.id).unwrap_or(-1), *side != trade.aggressor)
            }
            Happened::Placed | Happened::Amended(_) | Happened::Canceled(..) => (Shares::ZERO, None, -1, false),
        };
        let time = match &happened {
            Happened::Placed => placed,
            Happened::Executed(trade, _) => micros(trade.time),
            Happened::Amended(amended) => micros(amended.time),
            Happened::Canceled(ended, _) => micros(ended.time),
        };
        let prevented = happened.prevented();
        let (kind, status) = (happened.kind(), self.status(&happened));
        let canceled = kind == "CANCELED" || kind == "REPLACED";
        let order = &self.order;
        // An order with a trigger waits when it is placed, whatever it has done by now.
        let waits = order.waits || order.pends_on.is_some() || (kind == "NEW" && order.trigger.is_some());
        let working = if waits { None } else { order.working_since() };
        let paid = match &happened {
            Happened::Executed(trade, side) => fees::paid(trade, *side, order.name.as_str()),
            Happened::Placed | Happened::Amended(_) | Happened::Canceled(..) => None,
        };
        let mut report = json!({
            "e": "executionReport",
            "E": clock::now(),
            "s": names::pair(order.name),
            "c": order.client_name(),
            "S": order.side_name(),
            "o": order.type_name(),
            "f": time_in_force(order.kind),
            "q": numbers::shares(self.at.shares),
            "p": order.price_text(),
            "P": order.stop_price_text(),
            "F": order.display_text(),
            "g": order.list_number(),
            // Only canceled and amended orders have an original name.
            "C": if canceled { order.client_name() } else { String::new() },
            "x": kind,
            "X": status,
            "r": "NONE",
            "i": order.id.0,
            "l": numbers::shares(shares),
            "z": numbers::shares(self.at.executed),
            "L": numbers::price_or_zero(price),
            "n": paid.as_ref().map_or("0", |(amount, _)| amount),
            "N": paid.as_ref().map(|(_, asset)| asset),
            "T": time,
            "t": id,
            // The number of an amendment is its command's; other executions have none here.
            "I": happened.amendment(),
            "w": !waits && (status == "NEW" || status == "PARTIALLY_FILLED"),
            "m": maker,
            "M": false,
            "O": placed,
            "Z": numbers::money(self.at.money),
            "Y": price.map_or_else(numbers::zero, |price| numbers::money(price.times(shares))),
            "Q": numbers::zero(),
            "W": working.map_or(json!(-1), |time| json!(micros(time))),
            "V": order.mode_name(),
        });
        trailing::tell(&mut report, "d", order.trail);
        if let Some(prevented) = prevented {
            report["B"] = numbers::shares(prevented).into();
            if self.group != Group::NONE {
                report["u"] = self.group.number().into();
            }
        }
        report
    }

    /// Returns the status of the order after the event.
    fn status(&self, happened: &Happened<'_>) -> &'static str {
        match happened {
            Happened::Canceled(_, why) => canceled_status(*why),
            Happened::Placed if self.order.pends_on.is_some() => "PENDING_NEW",
            Happened::Placed => "NEW",
            Happened::Executed(..) | Happened::Amended(_) if self.at.executed == self.at.shares => "FILLED",
            Happened::Executed(..) | Happened::Amended(_) if self.at.executed.is_zero() => "NEW",
            Happened::Executed(..) | Happened::Amended(_) => "PARTIALLY_FILLED",
        }
    }
}

impl Happened<'_> {
    /// Returns the execution type.
    fn kind(&self) -> &'static str {
        match self {
            Happened::Placed => "NEW",
            Happened::Executed(..) => "TRADE",
            Happened::Amended(Amended { why: CancelReason::SelfTrade, .. })
            | Happened::Canceled(_, CancelReason::SelfTrade) => "TRADE_PREVENTION",
            Happened::Amended(_) => "REPLACED",
            Happened::Canceled(_, CancelReason::Asked) => "CANCELED",
            Happened::Canceled(
                _,
                CancelReason::NotResting
                | CancelReason::Refused
                | CancelReason::Expired
                | CancelReason::Linked
                | CancelReason::NotPlaced
                | CancelReason::Disconnected,
            ) => "EXPIRED",
        }
    }

    /// Returns the number of an amendment that its client asked for, and 0 for anything else.
    fn amendment(&self) -> u64 {
        match self {
            Happened::Amended(amended) if amended.why == CancelReason::Asked => amended.sequence.0,
            Happened::Placed | Happened::Executed(..) | Happened::Amended(_) | Happened::Canceled(..) => 0,
        }
    }

    /// Returns the shares that would have been executed with the own account or group.
    fn prevented(&self) -> Option<Shares> {
        match self {
            Happened::Amended(amended) if amended.why == CancelReason::SelfTrade => Some(amended.taken()),
            Happened::Canceled(ended, CancelReason::SelfTrade) => Some(ended.canceled),
            Happened::Placed | Happened::Executed(..) | Happened::Amended(_) | Happened::Canceled(..) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use exchange::EventBatch;
    use terms::{AccountId, Event, MarketState, NewOrder, Price, Sequence, StateItem, Symbol, SymbolIndex};

    use super::*;

    /// A market without anything.
    struct Empty;

    impl MarketState for Empty {
        fn sequence(&self) -> Sequence {
            Sequence::ZERO
        }

        fn time(&self) -> Time {
            Time::ZERO
        }

        fn next_order(&self) -> OrderId {
            OrderId(1)
        }

        fn export(&self, visit: &mut dyn FnMut(StateItem)) {
            visit(StateItem::Head { sequence: self.sequence(), time: self.time(), next_order: self.next_order() });
        }
    }

    /// A stream once walked through all open orders of its account when it began, and kept their lists: of a million
    /// orders, in one step of the feed, while nobody got anything.
    #[test]
    fn a_stream_begins_without_a_walk_through_the_orders() {
        let mut view = View::new(&Empty, None);
        let mut batch = EventBatch::default();
        let (account, symbol) = (AccountIndex(0), SymbolIndex(0));
        let (limit, shares) = (Price::from_units(1).expect("a price"), Shares::from_units(1).expect("shares"));
        let placed = NewOrder::limit(symbol, Side::Sell, limit, shares);
        batch.add(Sequence(1), Event::AccountCreated { account, id: AccountId::parse(b"1").expect("digits") });
        batch.add(Sequence(1), Event::SymbolCreated { symbol, name: Symbol::parse(b"A").expect("a letter") });
        let [order, partner] = [OrderId(1), OrderId(2)];
        for order in [order, partner] {
            batch.add(Sequence(order.0 + 1), Event::OrderOpened { order, account, placed });
        }
        batch.add(Sequence(3), Event::OrdersLinked { order, partner, account, symbol, side: placed.side });
        batch.seal(Sequence(3), Time(3));
        view.apply(&batch);
        assert_eq!(view.partner(order), Some(partner));
        let begun = ReportedState::begin(&view, account);
        assert_eq!((begun.through, format!("{:?}", begun.lists)), (partner, "Lists({})".to_owned()));
    }
}
