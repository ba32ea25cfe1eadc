//! Situations with icebergs in a duel, counted.

use model::{Model, Order};
use terms::{CancelReason, Command, Event, Op, OrderForm, OrderId, OrderKind, Reject, Reply};

use super::situations::Situations;

/// All situations with icebergs that a comparison should meet.
pub const ALL: [&str; 31] = [
    "rejected: display out of bounds",
    "rejected: display off the lot",
    "iceberg: rests",
    "iceberg: rests after executions",
    "iceberg: shows all that it has",
    "iceberg: a hundred parts",
    "iceberg: post-only",
    "iceberg: done at once",
    "iceberg: waits",
    "iceberg: rests when it is triggered",
    "iceberg: ends at a time",
    "iceberg: replaces another order",
    "iceberg: repeated",
    "client order: differs in the display",
    "iceberg: shows its next part behind others",
    "iceberg: shows its next part alone",
    "iceberg: shows a part that is smaller",
    "iceberg: shows several parts by one command",
    "iceberg: two take turns",
    "iceberg: done when its last part is",
    "iceberg: canceled with hidden shares",
    "iceberg: expired with hidden shares",
    "iceberg: canceled because of its partner, with hidden shares",
    "iceberg: amended, of what it hides",
    "iceberg: amended, of what it shows",
    "iceberg: canceled whole because of self-trade prevention",
    "iceberg: decremented, and shows its next part",
    "iceberg: decremented, and shows what is left",
    "iceberg: hidden shares fill a fill or kill",
    "iceberg: a fill or kill does not count what is hidden behind its own",
    "iceberg: hidden shares are traded for money",
];

/// The facts about an order that is about to be canceled or executed.
#[derive(Clone, Debug, Default)]
pub struct Before {
    /// The open orders with hidden shares.
    hide: Vec<OrderId>,
}

impl Before {
    pub fn of(model: &Model) -> Before {
        let hides = |order: &&Order| !order.waits && order.shown < order.open;
        Before { hide: model.open_orders().filter(hides).map(|order| order.id).collect() }
    }
}

impl Situations {
    /// Counts the situations that `op` caused; `model` stands after it.
    pub(super) fn after_in_parts(&mut self, before: &Before, op: &Op, reply: &Reply, events: &[Event], model: &Model) {
        let Op::Command(command) = *op else { return };
        if let Reply::Rejected(Reject::ClientOrderIdTaken { differs, .. }) = reply
            && differs.display
        {
            self.count("client order: differs in the display");
        }
        if let Command::Place(place) = command
            && let OrderForm::Iceberg { .. } = place.form()
        {
            self.asked(place.deadline().is_some(), command.unconditional().is_some(), reply, model);
        }
        self.rested(events, model);
        self.shown(events, model);
        let mut hide = before.hide.clone();
        for (at, event) in events.iter().enumerate() {
            let next = events.get(at + 1);
            match *event {
                Event::OrderCanceled { order, why, .. } if hide.contains(&order) => {
                    hide.retain(|&other| other != order);
                    let name = match why {
                        CancelReason::Asked => "iceberg: canceled with hidden shares",
                        CancelReason::Expired => "iceberg: expired with hidden shares",
                        CancelReason::Linked => "iceberg: canceled because of its partner, with hidden shares",
                        CancelReason::SelfTrade => "iceberg: canceled whole because of self-trade prevention",
                        CancelReason::NotResting
                        | CancelReason::Refused
                        | CancelReason::NotPlaced
                        | CancelReason::Disconnected => continue,
                    };
                    self.count(name);
                }
                Event::OrderReduced { order, why, .. } if hide.contains(&order) => {
                    let is_told = matches!(next, Some(Event::TipShown { .. }));
                    let shares = if let Some(Event::TipShown { shares, .. }) = next { Some(*shares) } else { None };
                    let is_whole = shares == model.order(order).display;
                    self.count(match (why, is_told) {
                        (CancelReason::SelfTrade, _) if is_whole => "iceberg: decremented, and shows its next part",
                        (CancelReason::SelfTrade, _) => "iceberg: decremented, and shows what is left",
                        (_, false) => "iceberg: amended, of what it hides",
                        (_, true) => "iceberg: amended, of what it shows",
                    });
                }
                _ => {}
            }
        }
        self.looked(&command, reply, events, model);
    }

    fn asked(&mut self, ends: bool, replaces: bool, reply: &Reply, model: &Model) {
        let Reply::Opened(order) = *reply else {
            if matches!(reply, Reply::Repeated(_)) {
                self.count("iceberg: repeated");
            }
            return;
        };
        let order = model.order(order);
        let parts = order.placed.units() / order.display.map_or(1, |display| display.units());
        for (is_so, name) in [
            (ends, "iceberg: ends at a time"),
            (replaces, "iceberg: replaces another order"),
            (order.trigger.is_some(), "iceberg: waits"),
            (order.kind == OrderKind::PostOnly, "iceberg: post-only"),
            (order.display == Some(order.placed), "iceberg: shows all that it has"),
            (parts >= 99, "iceberg: a hundred parts"),
            (order.trigger.is_none() && order.open.is_zero(), "iceberg: done at once"),
        ] {
            if is_so {
                self.count(name);
            }
        }
    }

    /// Counts orders that came to their book.
    fn rested(&mut self, events: &[Event], model: &Model) {
        let (mut aggressor, mut executed, mut was_triggered) = (None, 0, false);
        for event in events {
            match *event {
                Event::OrderOpened { order, .. } | Event::OrderAmended { order, .. } => {
                    (aggressor, executed, was_triggered) = (Some(order), 0, false)
                }
                Event::OrderTriggered { order, .. } | Event::OrderResumed { order, .. } => {
                    (aggressor, executed, was_triggered) = (Some(order), 0, true)
                }
                Event::Executed { maker, maker_done, .. } => {
                    executed += 1;
                    if maker_done && model.order(maker).display.is_some() {
                        self.count("iceberg: done when its last part is");
                    }
                }
                Event::TipShown { order, .. } if Some(order) == aggressor => {
                    self.count(if executed > 0 { "iceberg: rests after executions" } else { "iceberg: rests" });
                    if was_triggered {
                        self.count("iceberg: rests when it is triggered");
                    }
                }
                _ => {}
            }
        }
    }

    /// Counts parts that are shown because the part before was executed.
    fn shown(&mut self, events: &[Event], model: &Model) {
        let mut shown: Vec<OrderId> = Vec::new();
        for pair in events.windows(2) {
            let (Event::Executed { maker, .. }, Event::TipShown { order, shares, .. }) = (pair[0], pair[1]) else {
                continue;
            };
            if maker != order {
                continue;
            }
            let iceberg = model.order(order);
            let others = model.queue(iceberg.symbol, iceberg.side);
            let is_alone = !others.iter().any(|other| other.limit == iceberg.limit && other.arrival < iceberg.arrival);
            self.count(match is_alone {
                true => "iceberg: shows its next part alone",
                false => "iceberg: shows its next part behind others",
            });
            if Some(shares) != iceberg.display {
                self.count("iceberg: shows a part that is smaller");
            }
            if shown.contains(&order) {
                self.count("iceberg: shows several parts by one command");
            }
            // One is shown, then another, then the first one again.
            if shown.last().is_some_and(|last| *last != order) && shown.contains(&order) {
                self.count("iceberg: two take turns");
            }
            shown.push(order);
        }
    }

    /// Counts orders that look at the book before they execute.
    fn looked(&mut self, command: &Command, reply: &Reply, events: &[Event], model: &Model) {
        let Reply::Opened(order) = *reply else { return };
        let opened = model.order(order);
        let own = events.iter().take_while(|event| !matches!(event, Event::OrderTriggered { .. }));
        let shows = own.filter(|event| matches!(event, Event::TipShown { .. })).count();
        if shows > 0 && command.place().is_some_and(|place| place.for_money().is_some()) {
            self.count("iceberg: hidden shares are traded for money");
        }
        if opened.kind != OrderKind::FillOrKill || opened.trigger.is_some() {
            return;
        }
        if shows > 0 {
            self.count("iceberg: hidden shares fill a fill or kill");
        }
        let own_limit = model
            .queue(opened.symbol, opened.side.opposite())
            .into_iter()
            .take_while(|maker| maker.account != opened.account)
            .filter(|maker| maker.shown < maker.open)
            .map(|maker| maker.limit)
            .last();
        let first_own = model
            .queue(opened.symbol, opened.side.opposite())
            .into_iter()
            .find(|maker| maker.account == opened.account)
            .map(|maker| maker.limit);
        if opened.canceled.is_some() && own_limit.is_some() && own_limit == first_own {
            self.count("iceberg: a fill or kill does not count what is hidden behind its own");
        }
    }
}

/// The situation of a refusal of icebergs.
pub(super) fn rejected(reject: &Reject) -> Option<&'static str> {
    match reject {
        Reject::DisplayOutOfBounds { .. } => Some("rejected: display out of bounds"),
        Reject::DisplayOffLot { .. } => Some("rejected: display off the lot"),
        _ => None,
    }
}
