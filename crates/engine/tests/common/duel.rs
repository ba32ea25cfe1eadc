//! The engine against the model, command by command: replies, executions, events, and the whole state. Beside them runs
//! a replica that drops its done orders at once. The effects of a history on the engine come at random: done orders are
//! taken, forgotten, and answered from the taken ones; the state is exported and imported.

use std::collections::BTreeMap;

use engine::{DoneOrders, Engine, Importer};
use model::workload::Random;
use model::{Model, completed};
use terms::{
    CLIENT_ORDER_ID_KEPT_US, CancelBounds, Command, DoneOrder, Entry, Event, Execution, ExecutionBounds, Fee, Op,
    OrderId, OrderName, Price, Query, Reject, Reply, Sequence, Shares, StateItem, SymbolIndex, SymbolRules, Tier, Time,
};

use super::grouped;
use super::mirror::Mirror;
use super::phased;
use super::situations::Situations;

pub struct Duel {
    engine: Engine,
    replica: Engine,
    model: Model,
    mirror: Mirror,
    archive: BTreeMap<OrderId, DoneOrder>,
    /// The orders that are in the history and still in the engine.
    taken: Vec<OrderId>,
    sequence: Sequence,
    time: Time,
    /// No command has an earlier time.
    earliest: Time,
    random: Random,
    situations: Situations,
    seed: u64,
    steps: u64,
    check_every: u64,
}

/// One answer, with the executions it refers to.
struct Answer {
    reply: Reply,
    executions: Vec<Execution>,
    events: Vec<Event>,
}

impl Duel {
    pub fn new(seed: u64, check_every: u64) -> Duel {
        Duel::with_bounds(seed, check_every, ExecutionBounds::ALL)
    }

    pub fn with_bounds(seed: u64, check_every: u64, bounds: ExecutionBounds) -> Duel {
        Duel::with_cancel_bounds(seed, check_every, bounds, CancelBounds::ALL)
    }

    pub fn with_cancel_bounds(seed: u64, check_every: u64, bounds: ExecutionBounds, cancels: CancelBounds) -> Duel {
        let bounded = |engine: Engine| engine.with_execution_bounds(bounds).with_cancel_bounds(cancels);
        Duel {
            engine: bounded(Engine::new(seed, DoneOrders::Keep)),
            replica: bounded(Engine::new(!seed, DoneOrders::Drop)),
            model: Model::with_execution_bounds(bounds).with_cancel_bounds(cancels),
            mirror: Mirror::default(),
            archive: BTreeMap::new(),
            taken: Vec::new(),
            sequence: Sequence::ZERO,
            time: Time(1_700_000_000_000_000),
            earliest: Time::ZERO,
            random: Random::new(seed.rotate_left(32)),
            situations: Situations::new(),
            seed,
            steps: 0,
            check_every,
        }
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    pub fn situations(&self) -> &Situations {
        &self.situations
    }

    /// Plays a command, and returns the reply.
    pub fn play_told(&mut self, command: Command) -> Reply {
        let entry = self.entry(&Op::Command(command));
        self.play_at(Op::Command(command), entry).reply
    }

    /// Plays commands at one time, which is later than that of all before.
    pub fn turn(&mut self, commands: &[Command]) {
        self.time = Time(self.time.0.max(self.earliest.0) + 1);
        for &command in commands {
            self.sequence = self.sequence.next();
            let entry = Entry { sequence: self.sequence, time: self.time, command };
            self.play_at(Op::Command(command), Some(entry));
        }
    }

    /// Has all three answer, and compares the answers.
    pub fn play(&mut self, op: Op) {
        self.play_heard(op);
    }

    /// Does what `play` does. Returns the events.
    pub fn play_heard(&mut self, op: Op) -> Vec<Event> {
        let entry = self.entry(&op);
        self.play_at(op, entry).events
    }

    fn play_at(&mut self, op: Op, entry: Option<Entry>) -> Answer {
        self.steps += 1;
        self.situations.before(&op, entry.as_ref().map_or(self.time, |entry| entry.time), &self.model);
        if let Op::Command(Command::CancelAll { account, symbol, through }) = op {
            let expected = self.model.would_cancel_any(account, symbol, through);
            assert_eq!(self.engine.would_cancel_any(account, symbol, through), expected, "whether {op:?} cancels one");
        }
        let mut found = ask_engine(&mut self.engine, &op, entry.as_ref());
        let replica = ask_engine(&mut self.replica, &op, entry.as_ref());
        let expected = self.ask_model(&op, entry.as_ref());
        if let Reply::Done(order) = found.reply {
            let done = self.archive.get(&order).expect("what the engine does not keep is in the history");
            found.reply = done.answer(&op, &mut found.executions);
            self.situations.count(match op {
                Op::Query(Query { order: OrderName::Id(_), .. }) => "archive: answers a query",
                Op::Query(Query { order: OrderName::Client(_), .. }) => "archive: answers a query by a client order id",
                Op::Command(Command::CancelOrder { order: OrderName::Client(_), .. }) => {
                    "archive: answers a cancel by a client order id"
                }
                Op::Command(_) => "archive: answers a cancel",
            });
        }
        if let Some((order, _)) = found.reply.elsewhere() {
            let is_forgotten = matches!(replica.reply, Reply::Done(_));
            assert!(is_forgotten || replica.reply == found.reply, "the replica's reply to {op:?}: {:?}", replica.reply);
            let all = &self.model.order(order).executions;
            found.reply = completed(found.reply, &mut found.executions, all);
            self.situations.count(match op {
                Op::Query(_) => "archive: tells executions of an open order",
                Op::Command(_) => "archive: tells executions of a canceled order",
            });
        }
        assert_eq!(found.reply, expected.reply, "reply to {op:?}");
        assert_eq!(found.executions, expected.executions, "executions in the reply to {op:?}");
        assert_eq!(found.events, expected.events, "events of {op:?}");
        self.check_replica(&op, &replica, &expected);
        found.events.iter().for_each(|event| self.mirror.hear(event));
        self.situations.after(&op, &expected.reply, &expected.events, &self.model);
        if self.steps.is_multiple_of(self.check_every) {
            self.check_state();
        }
        expected
    }

    /// Goes on with orders under way, now and then: a server does at once, and here others come behind them first.
    pub fn go_on(&mut self) {
        if self.turns_are_long() && self.model.reached_orders() > 0 && self.random.percent(10) {
            self.play(Op::Command(Command::ActivateReached));
        }
    }

    /// Does now and then what a server does with done orders and snapshots.
    pub fn keep_house(&mut self) {
        match self.random.below(1_000) {
            0..80 => self.take_done(),
            80..200 => self.forget_some(),
            200..205 => self.export_and_import(),
            205..260 if phased::held_back(&self.model) > 0 => self.export_and_import(),
            _ => {}
        }
    }

    /// Makes the last checks: the state, and the status of every order ever placed.
    pub fn end(&mut self) {
        self.check_state();
        self.take_done();
        for order in (1..=self.model.orders_placed()).map(OrderId) {
            let owner = self.model.order(order).account.0 as usize;
            let account = self.model.accounts().nth(owner).expect("an order's account exists");
            self.play(Op::Query(Query { account, order: order.into() }));
        }
        assert_eq!(self.replica.state_hash(), self.engine.state_hash(), "the same commands give the same hash");
        assert_eq!(self.replica.done_order_count(), 0, "a replica keeps no done orders");
    }

    /// Takes the done orders; each is taken once, in the order in which they were done, and equals the model's.
    pub fn take_done(&mut self) {
        let (archive, taken, model) = (&mut self.archive, &mut self.taken, &self.model);
        self.engine.take_done(&mut |id| {
            let order = model.order(id);
            assert!(order.open.is_zero(), "only what is done is taken");
            let account = model.accounts().nth(order.account.0 as usize).expect("an order's account exists");
            let (canceled, executions) = (order.canceled, order.executions.clone());
            let done = DoneOrder { order: id, account, canceled, executions };
            assert!(archive.insert(id, done).is_none(), "a done order is taken once");
            taken.push(id);
        });
        let done = self.model.orders_placed() - self.model.open_orders().len() as u64;
        assert_eq!(self.archive.len() as u64, done, "all that is done was taken");
    }

    pub fn forget_some(&mut self) {
        let mut archived = Vec::new();
        for _ in 0..self.random.below(self.taken.len() + 1) {
            archived.push(self.taken.swap_remove(self.random.below(self.taken.len())));
            self.situations.count("archive: order forgotten");
        }
        self.engine.forget_all(archived.into_iter());
    }

    /// Continues with an engine that imports the state of this one. The history has the orders done by then.
    pub fn export_and_import(&mut self) {
        self.take_done();
        self.taken.clear();
        let mut importer = Importer::new(self.random.any(), DoneOrders::Keep);
        export(&self.engine).into_iter().for_each(|item| importer.add(item).expect("what was exported is sound"));
        let imported = importer.finish().expect("what was exported is sound");
        assert_eq!(imported.state_hash(), self.engine.state_hash(), "an import has the hash of its export");
        assert_eq!(self.replica.state_hash(), self.engine.state_hash(), "the same commands give the same hash");
        self.engine = imported
            .with_execution_bounds(self.model.execution_bounds())
            .with_cancel_bounds(self.model.cancel_bounds());
        // State is written down between turns, and the next turn has a later time.
        self.earliest = Time(self.time.0 + 1);
        self.situations.count("state: exported and imported");
        if self.model.client_orders().any(|(_, order)| order.done_at().is_some()) {
            self.situations.count("state: imported with client order ids of done orders");
        }
        if (0..self.model.symbols().count() as u32).any(|at| self.engine.rules(SymbolIndex(at)).is_some()) {
            self.situations.count("state: imported with rules");
        }
        if (0..self.model.symbols().count() as u32)
            .any(|at| Tier::all().any(|tier| self.engine.fees(SymbolIndex(at), tier).is_some()))
        {
            self.situations.count("state: imported with fees");
        }
        if self.model.limited_accounts() > 0 {
            self.situations.count("state: imported with limits");
        }
        if !self.model.kills().is_empty() {
            self.situations.count("state: imported with kills");
        }
        if self.model.kills_going_on().next().is_some() {
            self.situations.count("state: imported while a kill goes on");
        }
        if (0..self.model.symbols().count() as u32).any(|at| self.model.is_being_reached(SymbolIndex(at))) {
            self.situations.count("state: imported while further triggers are to be reached");
        }
        if !self.model.protections().is_empty() {
            self.situations.count("state: imported with protections");
        }
        grouped::imported(&self.model).into_iter().for_each(|name| self.situations.count(name));
        phased::imported(&self.model).into_iter().for_each(|name| self.situations.count(name));
        if self.model.open_orders().any(|order| order.pends_on.is_some()) {
            self.situations.count("state: imported with orders that wait for others");
        }
        if self.model.open_orders().any(|order| order.waits) {
            self.situations.count("state: imported with orders that wait");
        }
        if self.model.accounts().count() > 0 {
            self.check_state();
        }
    }

    /// Compares the engine's phases and gathered orders with the model's.
    fn check_phases(&self) {
        for at in (0..self.model.symbols().count() as u32).map(SymbolIndex) {
            assert_eq!(self.engine.phase(at), self.model.phase(at), "the phase of symbol {at:?}");
            let found = self.engine.auction_price(at);
            let found = found.map(|found| (found.price, found.shares.units(), found.surplus.units()));
            let expected = self.model.auction_price(at).map(|found| (found.price, found.shares, found.surplus));
            assert_eq!(found, expected, "the one price of symbol {at:?}");
        }
        assert_eq!(self.engine.next_auction_end(), self.model.next_auction_end(), "the end of an auction");
        assert_eq!(self.engine.reached_orders(), self.model.reached_orders(), "orders that are to be activated");
    }

    /// Compares the engine's rules with the model's.
    fn check_rules(&self) {
        for at in (0..self.model.symbols().count() as u32).map(SymbolIndex) {
            let rules = self.engine.rules(at).copied().unwrap_or(SymbolRules::NONE);
            assert_eq!(rules, self.model.rules(at), "the rules of symbol {at:?}");
        }
    }

    fn check_limits(&self) {
        for at in (0..self.model.accounts().count() as u32).map(terms::AccountIndex) {
            assert_eq!(self.engine.account_limits(at), self.model.limits(at), "the limits of account {at:?}");
        }
    }

    pub fn check_state(&self) {
        self.check_rules();
        self.check_phases();
        self.check_limits();
        assert!(self.engine.kills().all().eq(self.model.kills().iter().copied()), "what is killed");
        if self.model.kills_going_on().next().is_some() {
            assert!(self.engine.has_kills_going_on(), "a kill goes on");
        }
        assert!(self.engine.protections().all().eq(self.model.protections()), "who is protected");
        self.model.check_invariants();
        self.engine.check_invariants();
        self.mirror.check(&self.model);
        assert_eq!(export(&self.engine), self.model.state_items(), "the state");
        assert_eq!(self.engine.open_order_count(), self.model.open_orders().len(), "open orders");
        assert_eq!(self.replica.open_order_count(), self.model.open_orders().len(), "open orders of the replica");
        assert_eq!(self.engine.next_order(), OrderId(self.model.orders_placed() + 1), "the next order's id");
        for order in self.model.open_orders() {
            assert_eq!(self.engine.client_order_id(order.id), order.client_id, "the client order id of {}", order.id);
        }
        for (place, id) in self.model.accounts().enumerate() {
            let account = terms::AccountIndex(place as u32);
            assert_eq!(self.engine.balance(id), Some(self.model.balance(account)), "the balance of {id}");
            for (place, name) in self.model.symbols().enumerate() {
                let expected = Some(self.model.position(account, SymbolIndex(place as u32)));
                assert_eq!(self.engine.position(id, name), expected, "the position of {id} in {name}");
            }
        }
    }

    /// Makes the entry of a command. Its time is a little after the last one's, or the same; now and then hours later,
    /// so that client order ids become free again, and exactly when the next one does, or one microsecond before.
    fn entry(&mut self, op: &Op) -> Option<Entry> {
        let Op::Command(command) = *op else { return None };
        self.sequence = self.sequence.next();
        let hour_us = 3_600_000_000;
        let ends_orders = matches!(command, Command::ExpireOrders) && self.random.percent(40);
        let ends_an_auction = command == Command::EndAuction && self.random.percent(50);
        let time = match self.random.below(120) {
            _ if ends_orders => self.next_deadline().unwrap_or(self.time),
            _ if ends_an_auction => self.model.next_auction_end().unwrap_or(self.time).max(self.time),
            0 => Time(self.time.0 + self.random.below(30) as u64 * hour_us),
            1 => self.next_freed().unwrap_or(self.time),
            2 => self.next_freed().map_or(self.time, |freed| Time(freed.0 - 1)),
            3 => self.next_deadline().unwrap_or(self.time),
            4 => self.next_deadline().map_or(self.time, |until| Time((until.0 - 1).max(self.time.0))),
            _ if self.turns_are_long() && self.random.below(20) > 0 => self.time,
            _ => Time(self.time.0 + self.random.below(3) as u64 * 400_000),
        };
        self.time = time.max(self.earliest);
        Some(Entry { sequence: self.sequence, time: self.time, command })
    }

    /// Whether many commands share one time, because the bounds are those of small turns.
    fn turns_are_long(&self) -> bool {
        self.model.execution_bounds().turn < ExecutionBounds::ALL.turn
            || self.model.cancel_bounds().turn < CancelBounds::ALL.turn
    }

    /// The time at which the next client order id becomes free.
    fn next_freed(&self) -> Option<Time> {
        let done = self.model.client_orders().filter_map(|(_, order)| order.done_at()).min();
        done.map(|done| done.later_by_us(CLIENT_ORDER_ID_KEPT_US))
    }

    /// The deadline of the next order, if it has not passed.
    fn next_deadline(&self) -> Option<Time> {
        let deadlines = self.model.open_orders().filter_map(|order| order.until);
        deadlines.map(|until| until.time()).filter(|&until| until >= self.time).min()
    }

    fn ask_model(&mut self, op: &Op, entry: Option<&Entry>) -> Answer {
        let mut answer = Answer { reply: Reply::Created, executions: vec![EARLIER], events: Vec::new() };
        answer.reply = match (op, entry) {
            (Op::Query(query), _) => self.model.query(query, &mut answer.executions),
            (Op::Command(_), entry) => {
                let entry = entry.expect("a command has an entry");
                self.model.apply(entry, &mut answer.executions, &mut answer.events)
            }
        };
        answer
    }

    /// Compares the replica's answer, except for done orders, of which it knows nothing any more.
    fn check_replica(&self, op: &Op, replica: &Answer, expected: &Answer) {
        assert_eq!(replica.events, expected.events, "the replica's events of {op:?}");
        if let Reply::Done(_) = replica.reply {
            let done = match &expected.reply {
                Reply::Status(status) => status.open.is_zero(),
                Reply::Rejected(reject) => {
                    matches!(reject, Reject::NothingOpen | Reject::NothingToAmend | Reject::UnknownOrder)
                }
                Reply::Created
                | Reply::Opened(_)
                | Reply::Repeated(_)
                | Reply::Freed(_)
                | Reply::Moved { .. }
                | Reply::Activated
                | Reply::Expired
                | Reply::InAuction
                | Reply::Amended { .. }
                | Reply::Canceled(_)
                | Reply::CanceledAll { .. }
                | Reply::Done(_) => false,
            };
            assert!(
                done,
                "the replica no longer knows the order of {op:?}, to which the reply is {:?}",
                expected.reply
            );
        } else if replica.reply.elsewhere().is_none() {
            assert_eq!(replica.reply, expected.reply, "the replica's reply to {op:?}");
            assert_eq!(replica.executions, expected.executions, "executions in the replica's reply to {op:?}");
        }
    }
}

impl Drop for Duel {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the duel failed in the market of seed {}, at its op {}", self.seed, self.steps);
            eprintln!("replay: cargo run --profile ci -p engine --example against_model -- --market {}", self.seed);
        }
    }
}

/// An execution in the list before each answer, which must leave it alone and count it in its range.
const EARLIER: Execution = Execution { shares: Shares::ZERO, price: Price::MAX, time: Time::ZERO, fee: Fee::NONE };

fn ask_engine(engine: &mut Engine, op: &Op, entry: Option<&Entry>) -> Answer {
    let (mut executions, mut events) = (vec![EARLIER], Vec::new());
    engine.look_ahead(std::slice::from_ref(op));
    let reply = match (op, entry) {
        (Op::Query(query), _) => engine.query(query, &mut executions),
        (Op::Command(_), entry) => {
            let entry = entry.expect("a command has an entry");
            engine.apply(entry, &mut executions, &mut |event| events.push(event))
        }
    };
    Answer { reply, executions, events }
}

fn export(engine: &Engine) -> Vec<StateItem> {
    let mut items = Vec::new();
    engine.export(&mut |item| items.push(item));
    items
}
