//! What an account's stream sends: each order that is placed, executed and canceled, and what the account has then.

use std::collections::HashMap;

use engine::{AccountIndex, Money, OrderId, Position, Shares, Side, Time};
use feed::{Account, Holding, Holdings, News, Trade, View};
use serde_json::{Value, json};

use super::order::{Order, time_in_force};
use super::{names, numbers};

/// What the stream of an account was told.
#[derive(Debug)]
pub(super) struct Told {
    /// Its last order that was told as new. Orders are numbered as they are placed.
    through: OrderId,
    balance: Money,
    held: Money,
    holdings: Holdings,
}

/// An order as it is between two events.
struct Standing {
    /// As it stands after all of them.
    order: Order,
    executed: Shares,
    money: Money,
}

/// What happened to an order.
enum Happened<'a> {
    Placed,
    Executed(&'a Trade, Side),
    Canceled(Time),
}

impl Told {
    /// Nothing yet of what comes.
    pub(super) fn begin(view: &View, account: AccountIndex) -> Told {
        let through = view.orders_of(account).next().map_or(OrderId(0), |newest| newest.order);
        let Account { balance, held, holdings, .. } = view.account(account);
        Told { through, balance: *balance, held: *held, holdings: holdings.clone() }
    }

    /// The events that tell of news, in order.
    pub(super) fn follow(&mut self, view: &View, account: AccountIndex, news: &[News]) -> Vec<String> {
        let mut standings = standings(view, news);
        let mut events = Vec::new();
        for news in news {
            let (order, happened) = match news {
                News::Account(_) | News::Placed(..) => continue,
                News::Order(_, order) => (*order, None),
                News::Traded(_, trade, side) => (trade.order(*side), Some(Happened::Executed(trade, *side))),
                News::Ended(_, ended) => {
                    let canceled = (!ended.canceled.is_zero()).then_some(Happened::Canceled(ended.time));
                    (ended.order.order, canceled)
                }
            };
            let Some(standing) = standings.get_mut(&order) else { continue };
            if order > self.through {
                self.through = order;
                events.push(standing.report(Happened::Placed).to_string());
            }
            if let Some(happened) = happened {
                events.push(standing.report(happened).to_string());
            }
        }
        events.extend(self.changes(view, account));
        events
    }

    /// What the account has, as far as that changed.
    fn changes(&mut self, view: &View, account: AccountIndex) -> Option<String> {
        let Account { balance, held, holdings, .. } = view.account(account);
        let none = |holding: &Holding| holding.shares == Position::ZERO && holding.held == Position::ZERO;
        let changed = holdings.iter().filter(|holding| match self.holdings.of(holding.symbol) {
            Some(before) => before != *holding,
            None => !none(holding),
        });
        let shares = changed.map(|holding| {
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
        self.holdings.clone_from(holdings);
        let all: Vec<Value> = std::iter::once(dollars).chain(shares).collect();
        let time = numbers::milliseconds(view.time());
        Some(json!({"e": "outboundAccountPosition", "E": numbers::now(), "u": time, "B": all}).to_string())
    }
}

/// The orders that the news is about, each with what it had executed before the news.
fn standings(view: &View, news: &[News]) -> HashMap<OrderId, Standing> {
    let mut standings: HashMap<OrderId, Standing> = HashMap::new();
    let mut add = |order: Order| {
        let (executed, money) = (order.executed, order.money.unwrap_or(Money::ZERO));
        standings.insert(order.id, Standing { order, executed, money });
    };
    for news in news {
        match news {
            News::Ended(_, ended) => {
                let open = Order::of(view, &ended.order, ended.client_id);
                add(Order { executed: open.executed.less(ended.canceled), ..open });
            }
            News::Order(_, order) => {
                if let Some(open) = view.open_order(*order) {
                    add(Order::of(view, &open, view.client_id(*order)));
                }
            }
            News::Traded(..) | News::Account(_) | News::Placed(..) => {}
        }
    }
    for news in news {
        if let News::Traded(_, trade, side) = news
            && let Some(standing) = standings.get_mut(&trade.order(*side))
        {
            standing.executed = standing.executed.less(trade.shares);
            standing.money = standing.money.minus(trade.money());
        }
    }
    standings
}

impl Standing {
    /// Makes the event of what happened, and changes the order to what it is after that.
    fn report(&mut self, happened: Happened<'_>) -> Value {
        let placed = self.order.time.map_or(0, numbers::milliseconds);
        let (shares, price, id, maker) = match &happened {
            Happened::Executed(trade, side) => {
                let all = self.executed.units().checked_add(trade.shares.units()).and_then(Shares::from_units);
                self.executed = all.unwrap_or(self.order.shares);
                self.money = self.money.plus(trade.money());
                (trade.shares, Some(trade.price), i64::try_from(trade.id).unwrap_or(-1), *side != trade.aggressor)
            }
            Happened::Placed | Happened::Canceled(_) => (Shares::ZERO, None, -1, false),
        };
        let (kind, status, time) = match happened {
            Happened::Placed => ("NEW", "NEW", placed),
            Happened::Executed(trade, _) if self.executed == self.order.shares => {
                ("TRADE", "FILLED", numbers::milliseconds(trade.time))
            }
            Happened::Executed(trade, _) => ("TRADE", "PARTIALLY_FILLED", numbers::milliseconds(trade.time)),
            Happened::Canceled(time) if !self.order.expired() => ("CANCELED", "CANCELED", numbers::milliseconds(time)),
            Happened::Canceled(time) => ("EXPIRED", "EXPIRED", numbers::milliseconds(time)),
        };
        let canceled = kind == "CANCELED";
        let order = &self.order;
        json!({
            "e": "executionReport",
            "E": numbers::now(),
            "s": names::pair(order.name),
            "c": order.client_name(),
            "S": order.side_name(),
            "o": order.type_name(),
            "f": time_in_force(order.kind),
            "q": numbers::shares(order.shares),
            "p": order.price_text(),
            "P": order.stop_price_text(),
            "F": numbers::zero(),
            "g": -1,
            // Of the order that is canceled; nothing else has an original.
            "C": if canceled { order.client_name() } else { String::new() },
            "x": kind,
            "X": status,
            "r": "NONE",
            "i": order.id.0,
            "l": numbers::shares(shares),
            "z": numbers::shares(self.executed),
            "L": numbers::price_or_zero(price),
            "n": "0",
            "N": Value::Null,
            "T": time,
            "t": id,
            "I": 0,
            "w": !order.waits && (status == "NEW" || status == "PARTIALLY_FILLED"),
            "m": maker,
            "M": false,
            "O": placed,
            "Z": numbers::money(self.money),
            "Y": price.map_or_else(numbers::zero, |price| numbers::money(price.times(shares))),
            "Q": numbers::zero(),
            "W": if order.trigger.is_some() { json!(-1) } else { json!(placed) },
            "V": "NONE",
        })
    }
}
