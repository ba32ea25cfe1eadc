//! Situations with limits of accounts in a duel that a comparison should meet.

use model::Model;
use terms::{
    AccountIndex, AccountLimit, AccountLimits, Bond, CancelReason, Command, Event, NewOrder, Op, OrderForm, OrderKind,
    PastLimit, Reject, Reply, Side,
};

pub const ALL: [&str; 56] = [
    "limits: given",
    "limits: given where orders are open",
    "limits: given where a pair is open",
    "limits: others",
    "limits: the same again",
    "limits: taken away",
    "limits: of an unknown account",
    "past open orders: limit",
    "past open orders: post-only",
    "past open orders: waits for a price",
    "past open orders: follows the market",
    "past open orders: shown by parts",
    "past open orders: second of two",
    "past open orders: waits for another one",
    "past order shares: limit",
    "past order shares: post-only",
    "past order shares: at once",
    "past order shares: market",
    "past order shares: for money",
    "past order shares: waits for a price",
    "past order shares: follows the market",
    "past order shares: shown by parts",
    "past order shares: waits for another one",
    "past order value: limit",
    "past order value: post-only",
    "past order value: at once",
    "past order value: market",
    "past order value: for money",
    "past order value: waits for a price",
    "past order value: follows the market",
    "past order value: shown by parts",
    "past order value: second of two",
    "past order value: waits for another one",
    "past position: limit",
    "past position: post-only",
    "past position: at once",
    "past position: market",
    "past position: for money",
    "past position: waits for a price",
    "past position: follows the market",
    "past position: shown by parts",
    "past collar: limit",
    "past collar: post-only",
    "past collar: at once",
    "past collar: shown by parts",
    "past collar: second of two",
    "collar: ends a market buy",
    "collar: ends a market sell",
    "collar: cancels one that was triggered",
    "collar: cancels one that waited for another one",
    "position: cancels one that waited for another one",
    "position: of one that is linked counts once",
    "bound reached: open orders",
    "bound reached: order shares",
    "bound reached: position",
    "state: imported with limits",
];

/// The form in which an order is placed.
fn form(command: &Command) -> &'static str {
    let plain = command.unconditional().unwrap_or(*command);
    let of_kind = |order: &NewOrder| match (order.trigger, order.kind) {
        (Some(_), _) => "waits for a price",
        (None, OrderKind::Limit) => "limit",
        (None, OrderKind::PostOnly | OrderKind::PostOnlyMove) => "post-only",
        (None, OrderKind::ImmediateOrCancel | OrderKind::FillOrKill) => "at once",
        (None, OrderKind::Market) => "market",
        (None, OrderKind::AuctionLimit | OrderKind::AuctionMarket) => "for an auction",
    };
    // Amendments are counted by themselves.
    let Command::Place(place) = plain else { return "amended" };
    match (place.form(), place.bond()) {
        (_, Bond::Linked) => "second of two",
        (_, Bond::Pending) => "waits for another one",
        (OrderForm::Plain(order), _) => of_kind(&order),
        (OrderForm::Funds(_), _) => "for money",
        (OrderForm::Iceberg { .. }, _) => "shown by parts",
        (OrderForm::Trailing { .. }, _) => "follows the market",
    }
}

/// The situation of a refusal; none for one that is not listed.
fn refused(command: &Command, past: PastLimit) -> Option<&'static str> {
    let limit = match past.limit() {
        AccountLimit::OpenOrders => "past open orders",
        AccountLimit::OrderShares => "past order shares",
        AccountLimit::OrderValue => "past order value",
        AccountLimit::Position => "past position",
        AccountLimit::Collar => "past collar",
    };
    let name = format!("{limit}: {}", form(command));
    ALL.into_iter().find(|listed| *listed == name)
}

fn given(event: &Event) -> Option<(AccountIndex, AccountLimits)> {
    let Event::LimitsChanged { account, open_orders, order_shares, order_value, position, collar } = *event else {
        return None;
    };
    Some((account, AccountLimits { open_orders, order_shares, order_value, position, collar }))
}

/// The situations that `op` caused; `model` stands after it.
pub fn after(op: &Op, reply: &Reply, events: &[Event], model: &Model) -> Vec<&'static str> {
    let Op::Command(command) = op else { return Vec::new() };
    let mut met = Vec::new();
    let open_of = |account| model.open_orders().filter(move |order| order.account == account);
    match (command, reply) {
        (Command::ChangeLimits { .. }, Reply::Rejected(_)) => met.push("limits: of an unknown account"),
        (Command::ChangeLimits { .. }, _) => match events.first().and_then(given) {
            None => met.push("limits: the same again"),
            Some((_, AccountLimits::NONE)) => met.push("limits: taken away"),
            Some((account, _)) => {
                met.push("limits: given");
                if open_of(account).next().is_some() {
                    met.push("limits: given where orders are open");
                }
                if open_of(account).any(|order| model.partner(order.id).is_some()) {
                    met.push("limits: given where a pair is open");
                }
                if model.limited_accounts() > 1 {
                    met.push("limits: others");
                }
            }
        },
        (_, Reply::Rejected(Reject::PastLimit(past))) => met.extend(refused(command, *past)),
        (_, Reply::Opened(order)) => {
            let order = model.order(*order);
            let limits = model.limits(order.account);
            if limits == AccountLimits::NONE {
                return ended(events, model);
            }
            if limits.open_orders.is_some_and(|most| open_of(order.account).count() == most.get() as usize) {
                met.push("bound reached: open orders");
            }
            if limits.order_shares == order.placed {
                met.push("bound reached: order shares");
            }
            let placed = NewOrder { shares: terms::Shares::MIN, ..order.as_placed() };
            let is_full = model.past_position(order.account, &placed).is_some();
            if is_full && order.side == Side::Buy {
                met.push("bound reached: position");
            }
            let again = NewOrder { shares: order.placed, ..placed };
            let is_linked = command.bond() == Some(Bond::Linked);
            if is_linked && model.past_position(order.account, &again).is_some() {
                met.push("position: of one that is linked counts once");
            }
            // The book has more, and no band of the symbol's rules keeps the order from it.
            let ends_early = order.kind == OrderKind::Market && order.canceled.is_some() && !order.waits;
            let worst = model.collar(order.account, order.symbol, order.side);
            let has_more = model.queue(order.symbol, order.side.opposite()).first().is_some_and(|best| {
                worst.is_some_and(|worst| if order.side == Side::Buy { best.limit > worst } else { best.limit < worst })
            });
            // The best order is within the collar again, because it is the best one now.
            let executed = !order.executions.is_empty() && order.self_trade == terms::SelfTrade::Allowed;
            let rest = model.queue(order.symbol, order.side.opposite());
            let has_money = |price| order.side == Side::Sell || !model.balance(order.account).buys(price).is_zero();
            let is_bound =
                !model.rules(order.symbol).has_band() && rest.first().is_some_and(|best| has_money(best.limit));
            if ends_early && worst.is_some() && (has_more || executed && is_bound) {
                met.push(match order.side {
                    Side::Buy => "collar: ends a market buy",
                    Side::Sell => "collar: ends a market sell",
                });
            }
        }
        _ => {}
    }
    met.extend(ended(events, model));
    met
}

/// Orders that waited, and that a limit canceled when their turn came.
fn ended(events: &[Event], model: &Model) -> Vec<&'static str> {
    let mut met = Vec::new();
    for event in events {
        let Event::OrderCanceled { order, why: CancelReason::Refused, .. } = *event else { continue };
        let order = model.order(order);
        let placed = order.as_placed();
        let is_past = model.past_collar(order.account, &placed).is_some();
        match order.pends_on {
            None if is_past && order.trigger.is_some() => met.push("collar: cancels one that was triggered"),
            Some(_) if model.past_position(order.account, &placed).is_some() => {
                met.push("position: cancels one that waited for another one");
            }
            Some(_) if is_past && order.trigger.is_none() => {
                met.push("collar: cancels one that waited for another one")
            }
            _ => {}
        }
    }
    met
}
