//! Situations with deadlines, amendments and self-trade prevention in a duel, counted.

use model::{Model, Order};
use terms::{Bond, CancelReason, Command, Event, Op, OrderId, OrderKind, Reject, Reply, SelfTrade, Side};

use super::situations::Situations;

/// All situations of this file that a comparison should meet.
pub const ALL: [&str; 61] = [
    "rejected: nothing to amend",
    "rejected: amends upward",
    "rejected: amends below what is executed",
    "rejected: deadline passed",
    "self-trade: cancel newest, limit",
    "self-trade: cancel newest, immediate or cancel",
    "self-trade: cancel newest, market",
    "self-trade: cancel oldest, limit",
    "self-trade: cancel oldest, immediate or cancel",
    "self-trade: cancel oldest, fill or kill",
    "self-trade: cancel oldest, market",
    "self-trade: cancel both, limit",
    "self-trade: cancel both, immediate or cancel",
    "self-trade: cancel both, market",
    "self-trade: decrement, limit",
    "self-trade: decrement, immediate or cancel",
    "self-trade: decrement, market",
    "self-trade: the open one is reduced",
    "self-trade: the newest is reduced",
    "self-trade: decrement ends both",
    "self-trade: after executions with others",
    "self-trade: executions with others after it",
    "self-trade: of a buy",
    "self-trade: of a sell",
    "self-trade: of one that was triggered",
    "self-trade: of an order for money",
    "self-trade: a fill or kill does not count its own",
    "amend: of a buy",
    "amend: of a sell",
    "amend: of one that waits",
    "amend: of one with executions",
    "amend: once more",
    "amend: of one with others behind it",
    "amend: by a client order id",
    "expired: of one that rests",
    "expired: of one that waits",
    "expired: at its time",
    "expired: several at once",
    "expired: of a client order",
    "deadline: of one that is done at once",
    "rejected: amends one of two",
    "rejected: not linked",
    "rejected: cannot link",
    "linked: sells",
    "linked: buys",
    "linked: both wait",
    "linked: a market order",
    "linked: with deadlines",
    "linked: the second is held for what the first holds",
    "linked: the first canceled, because the second is refused",
    "linked: repeated",
    "link: canceled by an execution of the other",
    "link: canceled because the other was triggered",
    "link: canceled with the other, which was asked for",
    "link: canceled with the other, which expired",
    "link: canceled with the other, because of self-trade prevention",
    "link: money given back",
    "link: of a client order",
    "link: of one that was reached",
    "link: by an order of the same account",
    "link: several by one command",
];

impl Situations {
    /// Counts the situations that `op` caused; `model` stands after it.
    pub(super) fn after_on_terms(&mut self, op: &Op, reply: &Reply, events: &[Event], model: &Model) {
        let Op::Command(command) = *op else { return };
        self.prevented(&command, events, model);
        self.unlinked(&command, events, model);
        match (command, reply) {
            (Command::AmendOrder { order, .. }, Reply::Amended { order: amended, .. }) => {
                if matches!(order, terms::OrderName::Client(_)) {
                    self.count("amend: by a client order id");
                }
                self.amended(model.order(*amended), model);
            }
            (Command::ExpireOrders, _) => self.expired(events, model),
            (Command::Place(place), reply) if place.bond() == Bond::Linked => match reply {
                Reply::Repeated(_) => self.count("linked: repeated"),
                Reply::Opened(_) => self.linked(events, model),
                Reply::Rejected(_) if !events.is_empty() => {
                    self.count("linked: the first canceled, because the second is refused");
                }
                _ => {}
            },
            (Command::Place(place), Reply::Opened(order))
                if place.alone().is_some() && place.deadline().is_some() && model.order(*order).open.is_zero() =>
            {
                self.count("deadline: of one that is done at once");
            }
            _ => {}
        }
        if let (Some(order), Reply::Opened(id)) = (command.alone(), reply)
            && order.kind == OrderKind::FillOrKill
            && order.self_trade != SelfTrade::Allowed
            && model.order(*id).canceled.is_some()
        {
            let placed = model.order(*id);
            let own = model.queue(placed.symbol, order.side.opposite()).into_iter().filter(|maker| match order.side {
                Side::Buy => maker.limit <= order.limit,
                Side::Sell => maker.limit >= order.limit,
            });
            if own.into_iter().any(|maker| maker.account == placed.account) {
                self.count("self-trade: a fill or kill does not count its own");
            }
        }
    }

    fn linked(&mut self, events: &[Event], model: &Model) {
        let pair = events.iter().find_map(|event| match *event {
            Event::OrdersLinked { order, partner, .. } => Some([order, partner].map(|order| model.order(order))),
            _ => None,
        });
        let [one, other] = pair.expect("what is placed so is linked");
        self.count(if one.side == Side::Buy { "linked: buys" } else { "linked: sells" });
        if one.waits && other.waits {
            self.count("linked: both wait");
        }
        if [one, other].iter().any(|order| order.kind == OrderKind::Market) {
            self.count("linked: a market order");
        }
        if [one, other].iter().any(|order| order.until.is_some()) {
            self.count("linked: with deadlines");
        }
        if one.side == Side::Sell && model.position(one.account, one.symbol) < other.open.position() {
            self.count("linked: the second is held for what the first holds");
        }
    }

    /// Counts orders that were canceled because something happened to their partners.
    fn unlinked(&mut self, command: &Command, events: &[Event], model: &Model) {
        let is_link = |event: &&Event| matches!(event, Event::OrderCanceled { why: CancelReason::Linked, .. });
        if events.iter().filter(is_link).count() > 1 {
            self.count("link: several by one command");
        }
        let mut aggressor = None;
        for (at, event) in events.iter().enumerate() {
            match *event {
                Event::OrderOpened { account, .. }
                | Event::OrderAmended { account, .. }
                | Event::OrderTriggered { account, .. }
                | Event::OrderResumed { account, .. } => aggressor = Some(account),
                Event::OrderCanceled { order, account, why: CancelReason::Linked, .. } => {
                    let mut rest =
                        events[at + 1..].iter().filter(|event| !matches!(event, Event::ClientOrderDone { .. }));
                    let given_back = matches!(rest.clone().next(), Some(Event::BalanceChanged { .. }));
                    let next = rest.find(|event| !matches!(event, Event::BalanceChanged { .. }));
                    let Some(name) = what_canceled(next, command) else { continue };
                    self.count(name);
                    if given_back {
                        self.count("link: money given back");
                    }
                    let order = model.order(order);
                    if order.client_id.is_some() {
                        self.count("link: of a client order");
                    }
                    let last = model.last_price(order.symbol);
                    if order.waits && order.trigger.zip(last).is_some_and(|(trigger, last)| trigger.is_reached_by(last))
                    {
                        self.count("link: of one that was reached");
                    }
                    if name == "link: canceled by an execution of the other" && aggressor == Some(account) {
                        self.count("link: by an order of the same account");
                    }
                }
                _ => {}
            }
        }
    }

    /// Counts orders that met one of their own account and did not execute with it.
    fn prevented(&mut self, command: &Command, events: &[Event], model: &Model) {
        let mut aggressor = None;
        let mut has_met = false;
        let mut executed = 0;
        for event in events {
            match *event {
                Event::OrderOpened { order, .. }
                | Event::OrderAmended { order, .. }
                | Event::OrderTriggered { order, .. }
                | Event::OrderResumed { order, .. } => {
                    (aggressor, has_met, executed) = (Some(order), false, 0);
                }
                Event::Executed { .. } => {
                    executed += 1;
                    if has_met {
                        self.count("self-trade: executions with others after it");
                    }
                }
                Event::OrderReduced { order, why: CancelReason::SelfTrade, .. } => {
                    self.count(match Some(order) == aggressor {
                        true => "self-trade: the newest is reduced",
                        false => "self-trade: the open one is reduced",
                    });
                    has_met = self.met(aggressor, has_met, executed, command, model);
                }
                Event::OrderCanceled { why: CancelReason::SelfTrade, .. } => {
                    has_met = self.met(aggressor, has_met, executed, command, model);
                }
                _ => {}
            }
        }
        let ended: Vec<OrderId> = events
            .iter()
            .filter_map(|event| match *event {
                Event::OrderCanceled { order, why: CancelReason::SelfTrade, .. } => Some(order),
                _ => None,
            })
            .collect();
        if ended.len() == 2 && ended.iter().any(|&order| model.order(order).self_trade == SelfTrade::Decrement) {
            self.count("self-trade: decrement ends both");
        }
    }

    /// Counts each such order once.
    fn met(
        &mut self,
        aggressor: Option<OrderId>,
        has_met: bool,
        executed: usize,
        command: &Command,
        model: &Model,
    ) -> bool {
        let order = model.order(aggressor.expect("somebody arrived"));
        if has_met {
            return true;
        }
        self.count(mode_and_kind(order));
        self.count(if order.side == Side::Buy { "self-trade: of a buy" } else { "self-trade: of a sell" });
        if executed > 0 {
            self.count("self-trade: after executions with others");
        }
        if order.trigger.is_some() {
            self.count("self-trade: of one that was triggered");
        }
        if command.place().is_some_and(|place| place.for_money().is_some()) {
            self.count("self-trade: of an order for money");
        }
        true
    }

    fn amended(&mut self, order: &Order, model: &Model) {
        self.count(if order.side == Side::Buy { "amend: of a buy" } else { "amend: of a sell" });
        if order.waits {
            return self.count("amend: of one that waits");
        }
        if !order.executions.is_empty() {
            self.count("amend: of one with executions");
        }
        if order.reduced.units() > 1 && order.placed.less(order.reduced) > order.open {
            self.count("amend: once more");
        }
        let behind = model.queue(order.symbol, order.side);
        if behind.iter().any(|other| other.limit == order.limit && other.arrival > order.arrival) {
            self.count("amend: of one with others behind it");
        }
    }

    fn expired(&mut self, events: &[Event], model: &Model) {
        let mut count = 0;
        for event in events {
            let Event::OrderCanceled { order, why, .. } = *event else { continue };
            if why != CancelReason::Expired {
                continue;
            }
            let order = model.order(order);
            count += 1;
            self.count(if order.waits { "expired: of one that waits" } else { "expired: of one that rests" });
            if order.until.is_some_and(|until| until.time() == model.time()) {
                self.count("expired: at its time");
            }
            if order.client_id.is_some() {
                self.count("expired: of a client order");
            }
        }
        if count > 1 {
            self.count("expired: several at once");
        }
    }
}

/// The event that canceled an order of a pair, which stands behind its cancel; none if the second order was refused.
fn what_canceled(next: Option<&Event>, command: &Command) -> Option<&'static str> {
    Some(match next {
        // In an auction the cancel of the other order's partner may come between.
        Some(
            Event::Executed { .. }
            | Event::FeesTaken { .. }
            | Event::Uncrossed { .. }
            | Event::OrderCanceled { why: CancelReason::Linked, .. },
        ) => "link: canceled by an execution of the other",
        Some(Event::OrderTriggered { .. }) => "link: canceled because the other was triggered",
        Some(Event::OrderCanceled { why: CancelReason::Asked, .. }) => {
            "link: canceled with the other, which was asked for"
        }
        Some(Event::OrderCanceled { why: CancelReason::Expired, .. }) => "link: canceled with the other, which expired",
        Some(Event::OrderCanceled { why: CancelReason::Disconnected, .. }) => {
            "link: canceled with the other, which nobody was there for"
        }
        Some(Event::OrderCanceled { why: CancelReason::SelfTrade, .. } | Event::OrderReduced { .. }) => {
            "link: canceled with the other, because of self-trade prevention"
        }
        // The order waited for its turn behind one under way.
        Some(
            Event::OrderCanceled { why: CancelReason::Refused | CancelReason::NotResting, .. }
            | Event::OrderResumed { .. },
        ) => return None,
        other => {
            assert!(command.bond() == Some(Bond::Linked), "what canceled it? {other:?}");
            return None;
        }
    })
}

fn mode_and_kind(order: &Order) -> &'static str {
    match (order.self_trade, order.kind) {
        (SelfTrade::Allowed, _) => panic!("then they execute"),
        (_, OrderKind::PostOnly | OrderKind::PostOnlyMove) => panic!("it takes nothing"),
        (_, OrderKind::AuctionLimit | OrderKind::AuctionMarket) => panic!("it is refused"),
        (SelfTrade::CancelNewest, OrderKind::Limit) => "self-trade: cancel newest, limit",
        (SelfTrade::CancelNewest, OrderKind::ImmediateOrCancel) => "self-trade: cancel newest, immediate or cancel",
        (SelfTrade::CancelNewest, OrderKind::Market) => "self-trade: cancel newest, market",
        (SelfTrade::CancelOldest, OrderKind::Limit) => "self-trade: cancel oldest, limit",
        (SelfTrade::CancelOldest, OrderKind::ImmediateOrCancel) => "self-trade: cancel oldest, immediate or cancel",
        (SelfTrade::CancelOldest, OrderKind::FillOrKill) => "self-trade: cancel oldest, fill or kill",
        (SelfTrade::CancelOldest, OrderKind::Market) => "self-trade: cancel oldest, market",
        (SelfTrade::CancelBoth, OrderKind::Limit) => "self-trade: cancel both, limit",
        (SelfTrade::CancelBoth, OrderKind::ImmediateOrCancel) => "self-trade: cancel both, immediate or cancel",
        (SelfTrade::CancelBoth, OrderKind::Market) => "self-trade: cancel both, market",
        (SelfTrade::Decrement, OrderKind::Limit) => "self-trade: decrement, limit",
        (SelfTrade::Decrement, OrderKind::ImmediateOrCancel) => "self-trade: decrement, immediate or cancel",
        (SelfTrade::Decrement, OrderKind::Market) => "self-trade: decrement, market",
        (_, OrderKind::FillOrKill) => panic!("it does not come that far"),
    }
}

/// The situation of a refusal.
pub(super) fn rejected(reject: &Reject) -> Option<&'static str> {
    match reject {
        Reject::NothingToAmend => Some("rejected: nothing to amend"),
        Reject::AmendsUpward { .. } => Some("rejected: amends upward"),
        Reject::AmendsBelowExecuted { .. } => Some("rejected: amends below what is executed"),
        Reject::DeadlinePassed { .. } => Some("rejected: deadline passed"),
        Reject::AmendsOneOfTwo { .. } => Some("rejected: amends one of two"),
        Reject::NotLinked => Some("rejected: not linked"),
        Reject::CannotLink { .. } => Some("rejected: cannot link"),
        _ => None,
    }
}
