//! Situations of a duel, counted, so that a comparison that never met one does not pass as if it had.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use model::{Model, Order};
use terms::{
    AccountId, AccountIndex, Bond, CLIENT_ORDER_ID_KEPT_US, ClientOrderId, Command, Event, Money, Op, OrderForm,
    OrderId, OrderKind, OrderName, Position, Price, Query, Reject, Reply, Shares, Side, Time,
};

use super::{
    amended, bounded, charged, funded, grouped, killed, mass_canceled, moved, order_terms, parts, pended, phased,
    protected, reached, ruled, shared_log, trails, transferred,
};

/// All situations that a comparison should meet.
pub const ALL: [&str; 147] = [
    "account created",
    "symbol created",
    "symbol created again",
    "shares issued",
    "no shares issued",
    "rejected: account exists",
    "rejected: unknown account",
    "rejected: unknown symbol",
    "rejected: too much money",
    "rejected: too many shares",
    "rejected: insufficient funds",
    "rejected: insufficient shares",
    "rejected: unknown order",
    "rejected: nothing open",
    "rejected: client order id taken",
    "rejected: would take",
    "rejected: funds trade nothing",
    "rejected: would wait",
    "rejected: triggers at once",
    "stop: waits",
    "stop: waits, of a market buy",
    "stop: waits under a client order id",
    "stop: reached by an execution",
    "stop: reached from below",
    "stop: reached from above",
    "stop: several reached by one command",
    "stop: reached by one that was triggered",
    "triggered: executes whole",
    "triggered: executes in part, the rest rests",
    "triggered: executes in part, the rest is canceled",
    "triggered: rests whole",
    "triggered: rests behind a younger order",
    "triggered: canceled whole",
    "triggered: post-only that would take",
    "triggered: market buy",
    "triggered: with the same account",
    "cancel: of one that waits",
    "query: waits",
    "state: imported with orders that wait",
    "for money: buys",
    "for money: sells",
    "for money: trades with several makers",
    "for money: repeated",
    "for money: another order under its id",
    "post-only: rests",
    "immediate or cancel: executes whole",
    "immediate or cancel: executes in part",
    "immediate or cancel: finds nothing",
    "fill or kill: executes whole",
    "fill or kill: executes whole with several makers",
    "fill or kill: finds too little",
    "fill or kill: finds nothing",
    "market buy: executes whole",
    "market buy: ends where the book does",
    "market buy: ends where the money does",
    "market sell: executes whole",
    "market sell: ends where the book does",
    "market: finds nothing",
    "order: rests whole",
    "order: executes in part, the rest rests",
    "order: executes whole",
    "order: executes with several makers",
    "order: executes with several makers at one price",
    "order: executes at several prices",
    "under way: cut off",
    "under way: another order waits behind it",
    "under way: goes on, or the next one does",
    "under way: gives way to orders of other symbols, and goes on with the same command",
    "under way: a fill or kill order waits for a command that may execute more",
    "order: spends the whole balance",
    "order: sells the whole position",
    "execution: improves a buy's price",
    "execution: improves a sell's price",
    "execution: at the aggressor's limit",
    "execution: takes a part of the maker",
    "execution: takes the whole maker",
    "execution: with the same account",
    "execution: with the same account, improved, and whole",
    "execution: of 10^-8 shares",
    "execution: of the most shares",
    "execution: at 10^-8 dollars",
    "execution: at the highest price",
    "cancel: of a buy",
    "cancel: of a sell",
    "cancel: after a partial execution",
    "cancel: the only order of its level",
    "cancel: the oldest of its level",
    "cancel: in the middle of its level",
    "cancel: the newest of its level",
    "query: open",
    "query: open and executed",
    "query: executed",
    "query: canceled",
    "query: canceled and executed",
    "client order id: freed",
    "client order id: not freed, its order is open",
    "client order id: not freed, it stands for none",
    "client order: opened",
    "client order: opened and done at once",
    "client order: refused, and its id stays free",
    "client order: repeated while open",
    "client order: repeated when done",
    "client order: repeated in the last microsecond",
    "client order: another order under its id while open",
    "client order: another order under its id when done",
    "client order: differs in the symbol",
    "client order: differs in the side",
    "client order: differs in the limit",
    "client order: differs in the number of shares",
    "client order: differs in the kind",
    "client order: differs in the stop",
    "client order: id used again in the first microsecond",
    "client order: id used again after a day",
    "client order: same id of another account",
    "client cancel: canceled",
    "client cancel: nothing open",
    "client cancel: unknown",
    "client query: open",
    "client query: done",
    "client query: unknown",
    "archive: answers a query by a client order id",
    "archive: tells executions of an open order",
    "archive: tells executions of a canceled order",
    "archive: answers a cancel by a client order id",
    "state: imported with client order ids of done orders",
    "archive: order forgotten",
    "archive: answers a query",
    "archive: answers a cancel",
    "state: exported and imported",
    "replacement: canceled and placed",
    "replacement: placed with what the cancel freed",
    "replacement: canceled, and the order refused",
    "replacement: not canceled, so not placed",
    "replacement: of a done order, so not placed",
    "replacement: not canceled, and placed all the same",
    "replacement: not canceled, and refused all the same",
    "replacement: not canceled, and placed before",
    "replacement: not canceled, and its client order id taken",
    "replacement: in one step",
    "replacement: in one step, with what the old order held",
    "replacement: refused, and the old order kept",
    "replacement: placed before, and the old order kept",
    "rejected: not canceled",
    "rejected: unknown payer",
    "rejected: account closed",
    "rejected: account in use",
    "rejected: not the next transfer",
];

/// The situations of this file and of the others.
fn all() -> impl Iterator<Item = &'static str> {
    ALL.into_iter()
        .chain(order_terms::ALL)
        .chain(ruled::ALL)
        .chain(parts::ALL)
        .chain(charged::ALL)
        .chain(phased::ALL)
        .chain(grouped::ALL)
        .chain(trails::ALL)
        .chain(reached::ALL)
        .chain(pended::ALL)
        .chain(moved::ALL)
        .chain(mass_canceled::ALL)
        .chain(killed::ALL)
        .chain(protected::ALL)
        .chain(bounded::ALL)
        .chain(shared_log::ALL)
        .chain(funded::ALL)
        .chain(transferred::ALL)
        .chain(amended::ALL)
}

/// The number of times that each was met.
#[derive(Clone, Debug, Default)]
pub struct Situations {
    counts: BTreeMap<&'static str, u64>,
    /// The findings of `before` that only `after` can judge: whether the id was used before, and a microsecond ago.
    seen: SeenBefore,
    /// The result of the cancel that was the last op, with what its account had before.
    last_cancel: Option<LastCancel>,
    /// The account whose open order the last command named to be replaced, and its balance then.
    last_named: Option<(AccountId, Money)>,
    named_balance: Option<Money>,
    /// The state of the symbol of the order that is being placed.
    ruled_before: Option<ruled::Before>,
    /// The orders with hidden shares.
    parts_before: parts::Before,
    /// The phases of all symbols.
    phased_before: Option<phased::Before>,
    /// The triggers that follow the market.
    trails_before: trails::Before,
    reached_before: reached::Before,
    was_protected: bool,
    /// The order that is about to be amended, and the market.
    amended_before: Option<(Order, Model)>,
}

/// A cancel behind which an order may stand in one request.
#[derive(Clone, Copy, Debug)]
struct LastCancel {
    account: AccountId,
    outcome: Result<(), Reject>,
    balance_before: Money,
}

/// The use of a client order id by an account before an order was placed under it.
#[derive(Clone, Copy, Debug, Default)]
struct SeenBefore {
    /// Whether it stood for an open order.
    open: bool,
    /// Whether it once stood for a done order.
    done: bool,
    /// Whether it stands for that order at the last microsecond, or no longer at the first.
    at_the_edge: bool,
    /// Whether it stands for another account's order.
    of_another: bool,
}

impl Situations {
    pub fn new() -> Situations {
        Situations {
            counts: all().map(|name| (name, 0)).collect(),
            seen: SeenBefore::default(),
            last_cancel: None,
            last_named: None,
            named_balance: None,
            ruled_before: None,
            parts_before: parts::Before::default(),
            phased_before: None,
            trails_before: trails::Before::default(),
            reached_before: reached::Before::default(),
            was_protected: false,
            amended_before: None,
        }
    }

    pub fn count(&mut self, name: &'static str) {
        *self.counts.get_mut(name).expect("a situation is listed") += 1;
    }

    pub fn add(&mut self, other: &Situations) {
        for (name, count) in &other.counts {
            *self.counts.get_mut(name).expect("a situation is listed") += count;
        }
    }

    /// The situations met fewer than `least` times.
    pub fn rarer_than(&self, least: u64) -> Vec<(&'static str, u64)> {
        self.counts.iter().map(|(&name, &count)| (name, count)).filter(|&(_, count)| count < least).collect()
    }

    /// Counts the situations that `op` is about to meet at its time.
    pub fn before(&mut self, op: &Op, time: Time, model: &Model) {
        self.ruled_before = ruled::Before::of(op, model);
        self.parts_before = parts::Before::of(model);
        self.phased_before = Some(phased::Before::of(model));
        self.trails_before = trails::Before::of(model);
        self.reached_before = reached::Before::of(model);
        self.was_protected = protected::is_protected(op, model);
        self.amended_before = amended::before(op, model);
        shared_log::before(op, model).into_iter().for_each(|name| self.count(name));
        mass_canceled::before(op, model).into_iter().for_each(|name| self.count(name));
        if let Op::Command(Command::Place(place)) = op
            && let (Some(_), Some(id)) = (place.alone(), place.client_id())
        {
            self.seen = SeenBefore::of(place.account, id, time, model);
        }
        if let Op::Command(Command::CancelOrder { account, .. }) = *op {
            let index = model.accounts().position(|other| other == account);
            let balance_before = index.map_or(Money::ZERO, |index| model.balance(AccountIndex(index as u32)));
            self.last_cancel = Some(LastCancel { account, outcome: Ok(()), balance_before });
        }
        if let Op::Command(Command::ReplaceOrder { account, .. }) = *op {
            let index = model.accounts().position(|other| other == account);
            self.named_balance = index.map(|index| model.balance(AccountIndex(index as u32)));
        }
        let Op::Command(Command::CancelOrder { order: OrderName::Id(order), .. }) = *op else { return };
        let Some(order) = model.open_orders().find(|open| open.id == order) else { return };
        if order.pends_on.is_some() {
            return self.count("pending: canceled by itself");
        }
        if order.waits {
            return self.count("cancel: of one that waits");
        }
        let level: Vec<OrderId> = model
            .queue(order.symbol, order.side)
            .iter()
            .filter(|other| other.limit == order.limit)
            .map(|other| other.id)
            .collect();
        self.count(match (level.first() == Some(&order.id), level.last() == Some(&order.id)) {
            (true, true) => "cancel: the only order of its level",
            (true, false) => "cancel: the oldest of its level",
            (false, false) => "cancel: in the middle of its level",
            (false, true) => "cancel: the newest of its level",
        });
    }

    /// Counts the situations that `op` caused; `model` stands after it.
    pub fn after(&mut self, op: &Op, reply: &Reply, events: &[Event], model: &Model) {
        let reached_before = std::mem::take(&mut self.reached_before);
        reached::after(&reached_before, op, reply, events, model).into_iter().for_each(|name| self.count(name));
        pended::after(op, reply, events, model).into_iter().for_each(|name| self.count(name));
        killed::after(op, reply, events, model).into_iter().for_each(|name| self.count(name));
        let protection = protected::after(op, reply, events, self.was_protected, model);
        protection.into_iter().for_each(|name| self.count(name));
        funded::after(op, reply, events, model).into_iter().for_each(|name| self.count(name));
        transferred::after(op, reply, events, model).into_iter().for_each(|name| self.count(name));
        let amended_before = self.amended_before.take();
        amended::after(amended_before.as_ref(), op, reply, events, model).into_iter().for_each(|name| self.count(name));
        bounded::after(op, reply, events, model).into_iter().for_each(|name| self.count(name));
        // Pending orders are counted there alone.
        let bond = if let Op::Command(command) = op { command.bond() } else { None };
        if bond == Some(Bond::Pending) {
            if let Reply::Rejected(reject) = reply
                && !matches!(reject, Reject::PastLimit(_) | Reject::TooManyWaiting { .. } | Reject::Full)
            {
                self.count(rejected(reject));
            }
            return;
        }
        let events = &pended::without(events, model)[..];
        moved::after(op, reply, events, model).into_iter().for_each(|name| self.count(name));
        // A moved order is like any other from then on.
        let reply = match *reply {
            Reply::Moved { order, is_new: true, .. } => &Reply::Opened(order),
            Reply::Moved { order, is_new: false, .. } => &Reply::Repeated(order),
            _ => reply,
        };
        let ruled = ruled::after(self.ruled_before.take().as_ref(), op, reply, events, model);
        ruled.into_iter().for_each(|name| self.count(name));
        charged::after(op, reply, events, model).into_iter().for_each(|name| self.count(name));
        grouped::after(op, reply, events, model).into_iter().for_each(|name| self.count(name));
        let phased = self.phased_before.take().map(|before| phased::after(&before, op, reply, events, model));
        phased.into_iter().flatten().for_each(|name| self.count(name));
        let trails_before = std::mem::take(&mut self.trails_before);
        trails::after(&trails_before, op, reply, events, model).into_iter().for_each(|name| self.count(name));
        self.after_by_client_id(op, reply, model);
        self.after_a_cancel(op, reply);
        self.after_a_name(op, reply);
        if let Op::Command(Command::Place(place)) = op
            && let (Some(order), Bond::Alone) = (place.for_money(), place.bond())
        {
            match (reply, order.side) {
                (Reply::Opened(_), Side::Buy) => self.count("for money: buys"),
                (Reply::Opened(_), Side::Sell) => self.count("for money: sells"),
                (Reply::Repeated(_), _) => self.count("for money: repeated"),
                (Reply::Rejected(Reject::ClientOrderIdTaken { .. }), _) => {
                    self.count("for money: another order under its id");
                }
                _ => {}
            }
            if events.iter().filter(|event| matches!(event, Event::Executed { .. })).count() > 1 {
                self.count("for money: trades with several makers");
            }
        }
        self.triggered(events, model);
        self.after_on_terms(op, reply, events, model);
        let parts_before = std::mem::take(&mut self.parts_before);
        self.after_in_parts(&parts_before, op, reply, events, model);
        match reply {
            Reply::Created => self.created(op, events),
            Reply::Activated | Reply::Expired | Reply::Amended { .. } | Reply::Freed(_) | Reply::Moved { .. } => {}
            Reply::CanceledAll { .. } | Reply::InAuction => {}
            Reply::Opened(order) if model.order(*order).trigger.is_some() => self.stopped(model.order(*order)),
            Reply::Opened(order) => {
                let own = events.iter().position(|event| matches!(event, Event::OrderTriggered { .. }));
                self.opened(model.order(*order), &events[..own.unwrap_or(events.len())], model);
            }
            // The first order of a pair whose second was placed before, with another first, is canceled.
            Reply::Repeated(_) if bond == Some(Bond::Linked) => {}
            Reply::Repeated(_) => assert!(events.is_empty(), "a repeated order changes nothing"),
            Reply::Status(status) => {
                let terms = status.terms.as_deref().copied().unwrap_or_default();
                self.count(match (status.open.is_zero(), status.canceled, status.executions.len()) {
                    (false, _, _) if terms.pends_on.is_some() => "query: pends",
                    (false, _, _) if terms.waits.is_some() => "query: waits",
                    (false, _, 0) => "query: open",
                    (false, _, _) => "query: open and executed",
                    (true, None, _) => "query: executed",
                    (true, Some(_), 0) => "query: canceled",
                    (true, Some(_), _) => "query: canceled and executed",
                })
            }
            Reply::Canceled(status) => {
                self.count(match model.order(status.order).side {
                    Side::Buy => "cancel: of a buy",
                    Side::Sell => "cancel: of a sell",
                });
                if !status.executions.is_empty() {
                    self.count("cancel: after a partial execution");
                }
            }
            Reply::Done(_) => panic!("the history's answer is counted, not that it was asked"),
            // This many orders wait only where one command executes little.
            Reply::Rejected(Reject::PastLimit(_) | Reject::TooManyWaiting { .. } | Reject::Full) => {}
            Reply::Rejected(reject) => self.count(rejected(reject)),
        }
    }

    /// Counts the fate of an order that replaces another one in one step.
    fn after_a_name(&mut self, op: &Op, reply: &Reply) {
        let last = self.last_named.take();
        let Op::Command(command) = *op else { return };
        if let (Command::ReplaceOrder { account, .. }, Reply::Canceled(_)) = (command, reply) {
            self.last_named = self.named_balance.map(|balance| (account, balance));
            return;
        }
        let (Some((account, balance_before)), Some(Bond::Replacing)) = (last, command.bond()) else { return };
        let Some((_, needed)) = placing(&command).filter(|(placer, _)| *placer == account) else { return };
        match reply {
            Reply::Opened(_) => {
                self.count("replacement: in one step");
                if needed > balance_before {
                    self.count("replacement: in one step, with what the old order held");
                }
            }
            Reply::Repeated(_) => self.count("replacement: placed before, and the old order kept"),
            _ => self.count("replacement: refused, and the old order kept"),
        }
    }

    /// Counts the fate of an order behind a cancel of the same account.
    fn after_a_cancel(&mut self, op: &Op, reply: &Reply) {
        let last = self.last_cancel.take();
        let Op::Command(command) = *op else { return };
        if let (Command::CancelOrder { .. }, Some(last)) = (command, last) {
            let outcome = if let Reply::Rejected(reject) = reply { Err(*reject) } else { Ok(()) };
            self.last_cancel = Some(LastCancel { outcome, ..last });
            return;
        }
        let (Some(last), Some((account, needed))) = (last, placing(&command)) else { return };
        if account != last.account {
            return;
        }
        let is_conditional = command.unconditional().is_some();
        match (last.outcome, reply) {
            (Ok(()), Reply::Opened(_)) => {
                self.count("replacement: canceled and placed");
                if is_conditional && needed > last.balance_before {
                    self.count("replacement: placed with what the cancel freed");
                }
            }
            (Ok(()), Reply::Rejected(_)) => self.count("replacement: canceled, and the order refused"),
            (Err(why), Reply::Rejected(Reject::NotCanceled)) => {
                self.count("replacement: not canceled, so not placed");
                if why == Reject::NothingOpen {
                    self.count("replacement: of a done order, so not placed");
                }
            }
            (Err(_), Reply::Repeated(_)) if is_conditional => {
                self.count("replacement: not canceled, and placed before");
            }
            (Err(_), Reply::Rejected(Reject::ClientOrderIdTaken { .. })) if is_conditional => {
                self.count("replacement: not canceled, and its client order id taken");
            }
            (Err(_), Reply::Opened(_)) => {
                assert!(!is_conditional, "nothing is placed without the cancel that it needs");
                self.count("replacement: not canceled, and placed all the same");
            }
            (Err(_), Reply::Rejected(_)) if !is_conditional => {
                self.count("replacement: not canceled, and refused all the same");
            }
            _ => {}
        }
    }

    fn created(&mut self, op: &Op, events: &[Event]) {
        let Op::Command(command) = op else { panic!("a query creates nothing") };
        self.count(match command {
            // These commands are counted with rules, phases, fees and groups.
            Command::ChangeRules { .. }
            | Command::ChangePhase { .. }
            | Command::EndAuction
            | Command::FollowCalendar { .. }
            | Command::ChangeFees { .. }
            | Command::ChangeTier { .. }
            | Command::ChangeGroup { .. }
            | Command::FundAccount { .. }
            | Command::GiveShares { .. }
            | Command::Deposit { .. }
            | Command::DepositFrom { .. }
            | Command::Withdraw { .. }
            | Command::CloseAccount { .. }
            | Command::Release { .. }
            | Command::KillTogether { .. }
            | Command::ReleaseTogether { .. }
            | Command::Protect { .. }
            | Command::Unprotect { .. }
            | Command::ChangeLimits { .. }
            | Command::TakeMessage(_) => return,
            Command::CreateAccount { .. } => "account created",
            Command::CreateSymbol { .. } if events.is_empty() => "symbol created again",
            Command::CreateSymbol { .. } => "symbol created",
            Command::IssueShares { shares, .. } if *shares == Position::ZERO => "no shares issued",
            Command::IssueShares { .. } => "shares issued",
            Command::Place(_)
            | Command::CancelOrder { .. }
            | Command::ReplaceOrder { .. }
            | Command::AmendOrder { .. }
            | Command::Amend(_)
            | Command::ActivateReached
            | Command::ExpireOrders
            | Command::FreeClientOrderId { .. }
            | Command::CancelAll { .. }
            | Command::Kill { .. } => panic!("creates nothing"),
        });
    }

    fn stopped(&mut self, order: &Order) {
        self.count("stop: waits");
        if order.kind == OrderKind::Market && order.side == Side::Buy {
            self.count("stop: waits, of a market buy");
        }
        if order.client_id.is_some() {
            self.count("stop: waits under a client order id");
        }
    }

    /// Visits the orders that a command triggered, each with the events up to the next.
    fn triggered(&mut self, events: &[Event], model: &Model) {
        for event in events {
            match event {
                Event::OrderDelayed { is_under_way: true, .. } => self.count("under way: cut off"),
                Event::OrderDelayed { is_under_way: false, placed, .. } => {
                    let delayed = model.open_orders().filter(|order| order.delayed.is_some());
                    let is_alone = delayed.filter(|order| order.symbol == placed.symbol).count() == 1;
                    self.count(match is_alone && placed.kind == OrderKind::FillOrKill {
                        true => "under way: a fill or kill order waits for a command that may execute more",
                        false => "under way: another order waits behind it",
                    });
                }
                Event::OrderResumed { .. } => self.count("under way: goes on, or the next one does"),
                _ => {}
            }
        }
        let resumed = events.iter().filter_map(|event| match event {
            Event::OrderResumed { order, .. } => Some(order),
            _ => None,
        });
        let mut had_turns = BTreeSet::new();
        if !resumed.clone().all(|order| had_turns.insert(order)) {
            self.count("under way: gives way to orders of other symbols, and goes on with the same command");
        }
        let is_triggered = |event: &Event| matches!(event, Event::OrderTriggered { .. });
        let is_one = |event: &Event| is_triggered(event) || matches!(event, Event::OrderResumed { .. });
        let Some(first) = events.iter().position(is_triggered) else { return };
        self.count("stop: reached by an execution");
        let mut reached_by_one = 0;
        for (at, one) in events[first..].chunk_by(|_, next| !is_one(next)).enumerate() {
            let Event::OrderTriggered { order, placed, .. } = one[0] else { continue };
            let order = model.order(order);
            let makers: Vec<&Order> = one
                .iter()
                .filter_map(
                    |event| if let Event::Executed { maker, .. } = event { Some(model.order(*maker)) } else { None },
                )
                .collect();
            let is_canceled = one
                .iter()
                .any(|event| matches!(event, Event::OrderCanceled { order: canceled, .. } if *canceled == order.id));
            self.count(match placed.trigger.expect("it waited").is_from_below() {
                true => "stop: reached from below",
                false => "stop: reached from above",
            });
            let executed: i128 = one
                .iter()
                .map(|event| if let Event::Executed { shares, .. } = event { i128::from(shares.units()) } else { 0 })
                .sum();
            self.count(match (executed == i128::from(placed.shares.units()), makers.is_empty(), is_canceled) {
                (true, ..) => "triggered: executes whole",
                (false, false, true) => "triggered: executes in part, the rest is canceled",
                (false, false, false) => "triggered: executes in part, the rest rests",
                (false, true, true) if placed.kind == OrderKind::PostOnly => "triggered: post-only that would take",
                (false, true, true) => "triggered: canceled whole",
                (false, true, false) => "triggered: rests whole",
            });
            if model.resting().any(|other| {
                (other.symbol, other.side, other.limit) == (order.symbol, order.side, order.limit)
                    && other.id > order.id
                    && other.arrival < order.arrival
                    && !order.waits
                    && !order.open.is_zero()
            }) {
                self.count("triggered: rests behind a younger order");
            }
            if placed.kind == OrderKind::Market && placed.side == Side::Buy {
                self.count("triggered: market buy");
            }
            if makers.iter().any(|maker| maker.account == order.account) {
                self.count("triggered: with the same account");
            }
            if at > 0 {
                self.count("stop: several reached by one command");
            }
            let prices = one
                .iter()
                .filter_map(|event| if let Event::Executed { price, .. } = event { Some(*price) } else { None });
            let later = events.iter().rev().take_while(|event| **event != one[0]);
            let next: Vec<_> = later
                .filter_map(
                    |event| if let Event::OrderTriggered { placed, .. } = event { placed.trigger } else { None },
                )
                .collect();
            if prices.into_iter().any(|price| next.iter().any(|trigger| trigger.is_reached_by(price))) {
                reached_by_one += 1;
            }
        }
        if reached_by_one > 0 {
            self.count("stop: reached by one that was triggered");
        }
    }

    fn after_by_client_id(&mut self, op: &Op, reply: &Reply, model: &Model) {
        match (op, reply) {
            (Op::Command(Command::Place(place)), reply) if place.alone().is_some() && place.client_id().is_some() => {
                self.placed_by_client_id(reply, model)
            }
            (Op::Command(Command::CancelOrder { order: OrderName::Client(_), .. }), Reply::Canceled(_)) => {
                self.count("client cancel: canceled");
            }
            (
                Op::Command(Command::CancelOrder { order: OrderName::Client(_), .. }),
                Reply::Rejected(Reject::NothingOpen),
            ) => {
                self.count("client cancel: nothing open");
            }
            (
                Op::Command(Command::CancelOrder { order: OrderName::Client(_), .. }),
                Reply::Rejected(Reject::UnknownOrder),
            ) => {
                self.count("client cancel: unknown");
            }
            (Op::Command(Command::FreeClientOrderId { .. }), Reply::Freed(_)) => self.count("client order id: freed"),
            (Op::Command(Command::FreeClientOrderId { .. }), Reply::Repeated(_)) => {
                self.count("client order id: not freed, its order is open");
            }
            (Op::Command(Command::FreeClientOrderId { .. }), Reply::Rejected(Reject::UnknownOrder)) => {
                self.count("client order id: not freed, it stands for none");
            }
            (Op::Query(Query { order: OrderName::Client(_), .. }), Reply::Status(status)) if status.open.is_zero() => {
                self.count("client query: done")
            }
            (Op::Query(Query { order: OrderName::Client(_), .. }), Reply::Status(_)) => {
                self.count("client query: open")
            }
            (Op::Query(Query { order: OrderName::Client(_), .. }), Reply::Rejected(Reject::UnknownOrder)) => {
                self.count("client query: unknown")
            }
            _ => {}
        }
    }

    fn placed_by_client_id(&mut self, reply: &Reply, model: &Model) {
        let seen = self.seen;
        match reply {
            Reply::Opened(order) => {
                self.count("client order: opened");
                if model.order(*order).open.is_zero() {
                    self.count("client order: opened and done at once");
                }
                if seen.done {
                    self.count("client order: id used again after a day");
                }
                if seen.at_the_edge {
                    self.count("client order: id used again in the first microsecond");
                }
                if seen.of_another {
                    self.count("client order: same id of another account");
                }
            }
            Reply::Repeated(_) => {
                self.count(match seen.open {
                    true => "client order: repeated while open",
                    false => "client order: repeated when done",
                });
                if seen.at_the_edge {
                    self.count("client order: repeated in the last microsecond");
                }
            }
            Reply::Rejected(Reject::ClientOrderIdTaken { differs, .. }) => {
                self.count(match seen.open {
                    true => "client order: another order under its id while open",
                    false => "client order: another order under its id when done",
                });
                for (differs, name) in [
                    (differs.symbol, "client order: differs in the symbol"),
                    (differs.side, "client order: differs in the side"),
                    (differs.limit, "client order: differs in the limit"),
                    (differs.shares, "client order: differs in the number of shares"),
                    (differs.kind, "client order: differs in the kind"),
                    (differs.trigger, "client order: differs in the stop"),
                ] {
                    if differs {
                        self.count(name);
                    }
                }
            }
            Reply::Rejected(Reject::InsufficientFunds { .. } | Reject::InsufficientShares { .. }) => {
                self.count("client order: refused, and its id stays free");
            }
            _ => {}
        }
    }

    fn opened(&mut self, order: &Order, events: &[Event], model: &Model) {
        let makers: Vec<&Order> = events
            .iter()
            .filter_map(
                |event| if let Event::Executed { maker, .. } = event { Some(model.order(*maker)) } else { None },
            )
            .collect();
        self.opened_as(order, makers.len(), model);
        match (makers.is_empty(), order.open.is_zero()) {
            (true, false) => self.count("order: rests whole"),
            (false, false) => self.count("order: executes in part, the rest rests"),
            (false, true) if order.canceled.is_none() => self.count("order: executes whole"),
            (_, true) => {}
        }
        if makers.len() > 1 {
            self.count("order: executes with several makers");
        }
        if makers.windows(2).any(|pair| pair[0].limit == pair[1].limit) {
            self.count("order: executes with several makers at one price");
        }
        if makers.windows(2).any(|pair| pair[0].limit != pair[1].limit) {
            self.count("order: executes at several prices");
        }
        match order.side {
            Side::Buy if model.balance(order.account).units() == 0 => self.count("order: spends the whole balance"),
            Side::Sell if model.position(order.account, order.symbol) == Position::ZERO => {
                self.count("order: sells the whole position");
            }
            Side::Buy | Side::Sell => {}
        }
        for event in events {
            if let Event::Executed { maker, price, shares, .. } = *event {
                self.executed(order, model.order(maker), price, shares);
            }
        }
        let own = !makers.is_empty() && makers.iter().all(|maker| maker.account == order.account);
        let improved = order.side == Side::Buy && makers.iter().any(|maker| maker.limit < order.limit);
        if own && improved && order.open.is_zero() {
            self.count("execution: with the same account, improved, and whole");
        }
    }

    /// Counts orders by kind and number of makers.
    fn opened_as(&mut self, order: &Order, makers: usize, model: &Model) {
        let left_on_the_book = model.queue(order.symbol, order.side.opposite()).len();
        self.count(match (order.kind, order.canceled, makers, order.side) {
            (OrderKind::Limit, ..) => return,
            (OrderKind::PostOnlyMove, ..) => panic!("placed, it is of another kind"),
            (OrderKind::AuctionLimit | OrderKind::AuctionMarket, ..) => return,
            (OrderKind::PostOnly, ..) => "post-only: rests",
            (OrderKind::ImmediateOrCancel, None, ..) => "immediate or cancel: executes whole",
            (OrderKind::ImmediateOrCancel, Some(_), 0, _) => "immediate or cancel: finds nothing",
            (OrderKind::ImmediateOrCancel, Some(_), ..) => "immediate or cancel: executes in part",
            (OrderKind::FillOrKill, None, 1, _) => "fill or kill: executes whole",
            (OrderKind::FillOrKill, None, ..) => "fill or kill: executes whole with several makers",
            (OrderKind::FillOrKill, Some(_), ..) if left_on_the_book > 0 => "fill or kill: finds too little",
            (OrderKind::FillOrKill, Some(_), ..) => "fill or kill: finds nothing",
            (OrderKind::Market, Some(_), 0, _) => "market: finds nothing",
            (OrderKind::Market, None, _, Side::Buy) => "market buy: executes whole",
            (OrderKind::Market, Some(_), _, Side::Buy) if left_on_the_book > 0 => {
                "market buy: ends where the money does"
            }
            (OrderKind::Market, Some(_), _, Side::Buy) => "market buy: ends where the book does",
            (OrderKind::Market, None, _, Side::Sell) => "market sell: executes whole",
            (OrderKind::Market, Some(_), _, Side::Sell) => "market sell: ends where the book does",
        });
    }

    fn executed(&mut self, order: &Order, maker: &Order, price: Price, shares: Shares) {
        self.count(match order.side {
            Side::Buy if price < order.limit => "execution: improves a buy's price",
            Side::Sell if price > order.limit => "execution: improves a sell's price",
            Side::Buy | Side::Sell => "execution: at the aggressor's limit",
        });
        self.count(match maker.open.is_zero() {
            true => "execution: takes the whole maker",
            false => "execution: takes a part of the maker",
        });
        let extremes = [
            (maker.account == order.account, "execution: with the same account"),
            (shares.units() == 1, "execution: of 10^-8 shares"),
            (shares == Shares::MAX, "execution: of the most shares"),
            (price.units() == 1, "execution: at 10^-8 dollars"),
            (price == Price::MAX, "execution: at the highest price"),
        ];
        extremes.iter().filter(|(met, _)| *met).for_each(|&(_, name)| self.count(name));
    }
}

impl SeenBefore {
    fn of(account: AccountId, id: ClientOrderId, time: Time, model: &Model) -> SeenBefore {
        let Some(account) = model.accounts().position(|other| other == account) else { return SeenBefore::default() };
        let mut seen = SeenBefore::default();
        for order in (1..=model.orders_placed()).map(|order| model.order(OrderId(order))) {
            if order.client_id != Some(id) {
                continue;
            }
            if order.account.0 as usize != account {
                seen.of_another |= order.done_at().is_none();
                continue;
            }
            let freed = order.done_at().map(|done| done.later_by_us(CLIENT_ORDER_ID_KEPT_US));
            seen.open |= freed.is_none();
            seen.done |= freed.is_some();
            seen.at_the_edge |= freed.is_some_and(|freed| freed == time || freed.0 - 1 == time.0);
        }
        seen
    }
}

/// The account whose order is placed, and the money that it needs; none for a command that places nothing.
fn placing(command: &Command) -> Option<(AccountId, Money)> {
    let Command::Place(place) = command.unconditional().unwrap_or(*command) else { return None };
    let needed = match (place.form(), place.bond()) {
        (OrderForm::Plain(order), Bond::Alone) => order.held_money(),
        (OrderForm::Funds(order), _) if order.side == Side::Buy => order.funds,
        (OrderForm::Funds(_), _) => Money::ZERO,
        _ => return None,
    };
    Some((place.account, needed))
}

fn rejected(reject: &Reject) -> &'static str {
    match reject {
        Reject::AccountExists => "rejected: account exists",
        Reject::UnknownAccount => "rejected: unknown account",
        Reject::UnknownPayer => "rejected: unknown payer",
        Reject::UnknownSymbol => "rejected: unknown symbol",
        Reject::TooMuchMoney { .. } => "rejected: too much money",
        Reject::TooManyShares { .. } => "rejected: too many shares",
        Reject::InsufficientFunds { .. } => "rejected: insufficient funds",
        Reject::InsufficientShares { .. } => "rejected: insufficient shares",
        Reject::WouldTake { .. } => "rejected: would take",
        Reject::TriggersAtOnce { .. } => "rejected: triggers at once",
        Reject::FundsTradeNothing { .. } => "rejected: funds trade nothing",
        Reject::WouldWait => "rejected: would wait",
        Reject::AccountClosed => "rejected: account closed",
        Reject::AccountInUse(_) => "rejected: account in use",
        Reject::NotNextTransfer { .. } => "rejected: not the next transfer",
        Reject::UnknownOrder => "rejected: unknown order",
        Reject::NothingOpen => "rejected: nothing open",
        Reject::NotCanceled => "rejected: not canceled",
        Reject::Kept => panic!("gateways say so, and not the engine"),
        Reject::ClientOrderIdTaken { .. } => "rejected: client order id taken",
        Reject::NothingToAmend
        | Reject::AmendsUpward { .. }
        | Reject::AmendsBelowExecuted { .. }
        | Reject::DeadlinePassed { .. }
        | Reject::AmendsOneOfTwo { .. }
        | Reject::NotLinked
        | Reject::CannotLink { .. } => order_terms::rejected(reject).expect("it is one of those"),
        Reject::DisplayOutOfBounds { .. } | Reject::DisplayOffLot { .. } => {
            parts::rejected(reject).expect("it is one of those")
        }
        Reject::CannotAmend(fault) => amended::rejected(*fault),
        Reject::CannotWork => "rejected: cannot work",
        Reject::NotWorking => "rejected: not working",
        Reject::CannotPend { .. } => "rejected: cannot pend",
        Reject::AmendsPending { .. } => "rejected: amends pending",
        Reject::BreaksRule(rule) => phased::rejected(rule).unwrap_or_else(|| ruled::rejected(rule)),
        Reject::NothingToTrail | Reject::TrailTooFar { .. } | Reject::TooManyTrails { .. } => {
            trails::rejected(reject).expect("it is one of those")
        }
        Reject::HaltedByRules => "rejected: halted by rules",
        Reject::Killed(scope) => killed::rejected(*scope),
        Reject::KillGoesOn => "rejected: a kill goes on",
        Reject::PastLimit(_) => panic!("they are counted by their orders"),
        Reject::TooManyWaiting { .. } | Reject::Full => panic!("it is not counted"),
    }
}

impl fmt::Display for Situations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        all().try_for_each(|name| writeln!(f, "{:>12}  {name}", self.counts[name]))
    }
}
