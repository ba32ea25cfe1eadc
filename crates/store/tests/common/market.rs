//! A random market that runs through engine, effects and writer, with the naive model beside it, and the comparison of
//! every row with that model, by plain SQL.

use std::collections::BTreeMap;

use engine::{DoneOrders, Engine};
use model::workload::{Random, Workload};
use model::{Model, completed};
use store::{Effects, Head, StoreError, Writer};
use terms::{
    AccountIndex, CLIENT_ORDER_ID_KEPT_US, CancelReason, Command, Deadline, DoneOrder, Entry, Event, NewOrder, Op,
    OrderId, Position, Reply, Sequence, Shares, Side, StateItem, SymbolIndex, Time, Trigger,
};

use super::postgres::Database;

/// The state of an engine, item by item.
pub fn state(engine: &Engine) -> Vec<StateItem> {
    let mut items = Vec::new();
    engine.export(&mut |item| items.push(item));
    items
}

/// The market, and the notes of a listener to its events.
pub struct Market {
    pub model: Model,
    pub engine: Engine,
    pub effects: Effects,
    pub random: Random,
    workload: Workload,
    /// The command and time of each order's placing.
    pub placed: BTreeMap<OrderId, (Sequence, Time)>,
    /// The buy order, sell order, aggressor and sequence of each execution.
    pub executed: Vec<(OrderId, OrderId, Side, Sequence)>,
    /// The orders as they were placed, and their deadlines.
    asked: BTreeMap<OrderId, (NewOrder<SymbolIndex>, Option<Deadline>)>,
    /// The notes on orders, as the query shows them.
    pub noted: Vec<String>,
    /// The number of shares of each order.
    shares: BTreeMap<OrderId, Shares>,
    /// The amended orders, and the last commands that placed them again, if any did.
    pub amended: BTreeMap<OrderId, Option<Sequence>>,
    /// The commands that canceled, and the reasons.
    canceled: BTreeMap<OrderId, (Sequence, CancelReason)>,
}

/// Microseconds between commands: client order ids become free again after a hundred of them.
const TICK_US: u64 = CLIENT_ORDER_ID_KEPT_US / 100 + 1;

impl Market {
    pub fn new(seed: u64) -> Market {
        Market {
            model: Model::new(),
            engine: Engine::new(seed, DoneOrders::Keep),
            effects: Effects::after(Head::ZERO),
            random: Random::new(seed ^ 0x5DEE_CE66),
            workload: Workload::with_client_orders(seed),
            placed: BTreeMap::new(),
            executed: Vec::new(),
            asked: BTreeMap::new(),
            noted: Vec::new(),
            shares: BTreeMap::new(),
            amended: BTreeMap::new(),
            canceled: BTreeMap::new(),
        }
    }

    /// From now on a command executes at most this many times.
    pub fn with_executions_max_from_now_on(mut self, executions_max: u32) -> Market {
        self.engine = self.engine.with_executions_max(executions_max);
        self.model.set_executions_max(executions_max);
        self
    }

    /// Makes a market with orders of all kinds.
    pub fn of_all_kinds(seed: u64) -> Market {
        Market::new(seed).with_all_kinds()
    }

    /// From now on symbols' rules change now and then.
    pub fn with_rules(self) -> Market {
        Market { workload: self.workload.with_rules(), ..self }
    }

    /// From now on fees and tiers change now and then.
    pub fn with_fees(self) -> Market {
        Market { workload: self.workload.with_fees(), ..self }
    }

    /// From now on symbols have halts and auctions now and then.
    pub fn with_phases(self) -> Market {
        Market { workload: self.workload.with_phases(), ..self }
    }

    /// From now on the market has orders of all kinds and terms.
    pub fn with_all_kinds(self) -> Market {
        Market { workload: self.workload.with_all_kinds().with_own_commands().with_terms(), ..self }
    }

    /// From now on the market has linked pairs.
    pub fn with_links(self) -> Market {
        Market { workload: self.workload.with_links(), ..self }
    }

    /// From now on the market has mass cancels and kill switches now and then.
    pub fn with_mass_cancels(self) -> Market {
        Market { workload: self.workload.with_mass_cancels().with_kills().with_funding().with_closings(), ..self }
    }

    /// From now on the market has protected accounts that lose their connections.
    pub fn with_protections(self) -> Market {
        Market { workload: self.workload.with_protections(), ..self }
    }

    /// From now on the market has limits of accounts.
    pub fn with_limits(self) -> Market {
        Market { workload: self.workload.with_limits(), ..self }
    }

    /// From now on the market has pending orders.
    pub fn with_pendings(self) -> Market {
        Market { workload: self.workload.with_pendings(), ..self }
    }

    /// From now on orders get other terms now and then.
    pub fn with_amendments(self) -> Market {
        Market { workload: self.workload.with_amendments(), ..self }
    }

    /// Notes what happened to an order: its trigger, the order that it has to do with, and its amendment.
    fn note(
        &mut self,
        (order, account): (OrderId, AccountIndex),
        (kind, trigger, partner, amendment): (&str, Option<Trigger>, Option<OrderId>, &str),
        (sequence, time): (Sequence, Time),
    ) {
        let of_command = format!("{sequence}|");
        let place = self.noted.iter().rev().take_while(|note| note.starts_with(&of_command)).count();
        let (account, next, time) = (account.0, self.executed.len() + 1, time.0);
        let partner = partner.map_or(String::new(), |partner| partner.to_string());
        let trigger = trigger.map_or(String::new(), shown);
        self.noted
            .push(format!("{sequence}|{place}|{order}|{account}|{kind}|{trigger}|{time}|{next}|{partner}|{amendment}"));
    }

    /// From now on the market has icebergs.
    pub fn with_icebergs(self) -> Market {
        Market { workload: self.workload.with_icebergs(), ..self }
    }

    /// From now on the market has trailing stops.
    pub fn with_trails(self) -> Market {
        Market { workload: self.workload.with_trails(), ..self }
    }

    /// The number of orders canceled for this reason.
    pub fn canceled_for(&self, reason: CancelReason) -> usize {
        self.canceled.values().filter(|(_, why)| *why == reason).count()
    }

    /// Applies this many random commands and adds their effects.
    pub fn play(&mut self, commands: usize) {
        let mut played = 0;
        while played < commands {
            for op in self.workload.next_request(&self.model) {
                let Op::Command(command) = op else { continue };
                self.apply(command);
                played += 1;
            }
        }
        self.effects.seal(&self.engine);
    }

    /// Applies one command.
    pub fn apply(&mut self, command: Command) {
        let sequence = self.engine.sequence().next();
        let entry = Entry { sequence, time: Time(1_700_000_000_000_000 + sequence.0 * TICK_US), command };
        let mut events = Vec::new();
        let mut executions = Vec::new();
        let reply = self.engine.apply(&entry, &mut executions, &mut |event| events.push(event));
        let mut model_events = Vec::new();
        let expected = self.model.apply(&entry, &mut Vec::new(), &mut model_events);
        let all = reply.elsewhere().map_or(Vec::new(), |(order, _)| self.model.order(order).executions.clone());
        let reply = completed(reply, &mut executions, &all);
        // After a recovery the engine keeps no done orders.
        assert!(reply == expected || matches!(reply, Reply::Done(_)), "{reply:?}, but the model says {expected:?}");
        for event in events {
            self.remember(sequence, entry.time, event);
            self.effects.add(sequence, entry.time, event);
        }
    }

    /// Commits everything so far, and has another server continue from what it reads.
    pub fn restart(&mut self, database: &Database, server: &str) {
        let mut writer = database.writer(server);
        self.commit(&mut writer).unwrap();
        self.check(database);
        let loaded = writer.load(5, DoneOrders::Keep).unwrap().engine;
        loaded.check_invariants();
        assert!(state(&loaded) == self.model.state_items(), "{server}: what is read is not what the model says");
        self.engine = loaded;
        writer.close();
        let (verified, _) = database.store("auditor").verify().unwrap();
        assert_eq!(verified.state_hash, self.engine.state_hash());
    }

    /// Commits the gathered effects; the next ones follow them.
    pub fn commit(&mut self, writer: &mut Writer) -> Result<(), StoreError> {
        self.effects.seal(&self.engine);
        writer.commit(&self.effects)?;
        let head = self.effects.head();
        self.effects.restart(head);
        Ok(())
    }

    /// Plays and commits batches of random sizes.
    pub fn run(&mut self, writer: &mut Writer, commands: usize) {
        let mut left = commands;
        while left > 0 {
            let batch = (1 + self.batch_size()).min(left);
            self.play(batch);
            self.commit(writer).unwrap();
            left -= batch;
        }
    }

    fn batch_size(&mut self) -> usize {
        let most = self.random.pick(&[1, 3, 20, 200]);
        self.random.below(most)
    }

    fn remember(&mut self, sequence: Sequence, time: Time, event: Event) {
        match event {
            Event::OrderOpened { order, placed, .. } => {
                self.placed.insert(order, (sequence, time));
                self.asked.insert(order, (placed, None));
                self.shares.insert(order, placed.shares);
            }
            // An amended order may get another one.
            Event::DeadlineGiven { order, until } if !self.amended.contains_key(&order) => {
                self.asked.get_mut(&order).expect("it was placed").1 = Some(until);
            }
            Event::DeadlineGiven { .. } => {}
            Event::Executed { maker, aggressor, .. } => {
                let side = self.model.order(aggressor).side;
                let (buy, sell) = if side == Side::Buy { (aggressor, maker) } else { (maker, aggressor) };
                self.executed.push((buy, sell, side, sequence));
            }
            Event::Uncrossed { maker, aggressor, aggressor_side: side, .. } => {
                let (buy, sell) = if side == Side::Buy { (aggressor, maker) } else { (maker, aggressor) };
                self.executed.push((buy, sell, side, sequence));
            }
            Event::OrderCanceled { order, why, .. } => {
                self.canceled.insert(order, (sequence, why));
            }
            Event::OrderTriggered { order, account, placed } => {
                self.note((order, account), ("triggered", placed.trigger, None, NOT_AMENDED), (sequence, time));
            }
            Event::OrderPends { order, account, is_second, placed } => {
                self.placed.insert(order, (sequence, time));
                self.asked.insert(order, (placed, None));
                self.shares.insert(order, placed.shares);
                let working = Some(Event::working(order, is_second));
                self.note((order, account), ("pends", None, working, NOT_AMENDED), (sequence, time));
            }
            Event::OrderReleased { order, account, .. } => {
                self.note((order, account), ("released", None, None, NOT_AMENDED), (sequence, time));
            }
            Event::OrdersLinked { order, partner, account, .. } => {
                for (order, partner) in [(order, partner), (partner, order)] {
                    self.note((order, account), ("linked", None, Some(partner), NOT_AMENDED), (sequence, time));
                }
            }
            Event::OrderAmended { order, account, keeps_place, kind, limit, trigger, open, executed } => {
                let (before, after) = (self.shares[&order], executed.plus(open));
                assert!(after == before || !keeps_place, "{order} has {before} shares, and {after} in its place");
                self.shares.insert(order, after);
                let anew = Some(sequence).filter(|_| !keeps_place);
                let last = self.amended.entry(order).or_default();
                *last = anew.or(*last);
                let (asked, keeps_place) = (CancelReason::Asked.code(), if keeps_place { 't' } else { 'f' });
                let terms = format!("|{before}|{after}|{asked}|{}|{limit}|{keeps_place}", kind.name());
                self.note((order, account), ("amended", trigger, None, &terms), (sequence, time));
            }
            Event::OrderReduced { order, account, shares, why, .. } => {
                let before = self.shares[&order];
                let after = before.less(shares);
                self.shares.insert(order, after);
                let taken = format!("{shares}|{before}|{after}|{}|||", why.code());
                self.note((order, account), ("amended", None, None, &taken), (sequence, time));
            }
            Event::AccountCreated { .. }
            | Event::SymbolCreated { .. }
            | Event::RulesChanged { .. }
            | Event::FeesTaken { .. }
            | Event::FeesChanged { .. }
            | Event::TierChanged { .. }
            | Event::AccountStatusChanged { .. }
            | Event::GroupChanged { .. }
            | Event::KillChanged { .. }
            | Event::ProtectionChanged { .. }
            | Event::CalendarFollowed { .. }
            | Event::LimitsChanged { .. }
            | Event::PhaseChanged { .. }
            | Event::TriggerReached { .. }
            | Event::OrderDelayed { .. }
            | Event::OrderResumed { .. }
            | Event::ClientOrderIdGiven { .. }
            | Event::OrderSetAside { .. }
            | Event::DisplayGiven { .. }
            | Event::TipShown { .. }
            | Event::TrailGiven { .. }
            | Event::TrailsMoved { .. }
            | Event::TrailReached { .. }
            | Event::ClientOrderDone { .. }
            | Event::ClientOrderIdFreed { .. }
            | Event::BalanceChanged { .. }
            | Event::PositionChanged { .. } => {}
        }
    }

    /// The state with all executions, as an import needs it.
    pub fn whole_state(&self) -> Vec<StateItem> {
        let (mut items, mut last) = (Vec::new(), OrderId(0));
        for item in state(&self.engine) {
            if let StateItem::Order { order, .. } | StateItem::Delayed { order, .. } = item {
                last = order;
            }
            if matches!(item, StateItem::Executed(_)) {
                items.extend(self.model.order(last).executions.iter().copied().map(StateItem::Execution));
            } else {
                items.push(item);
            }
        }
        items
    }

    /// The done orders of the model.
    pub fn done_orders(&self) -> Vec<DoneOrder> {
        let accounts: Vec<_> = self.model.accounts().collect();
        let orders = (1..=self.model.orders_placed()).map(|id| self.model.order(OrderId(id)));
        orders
            .filter(|order| order.open.is_zero())
            .map(|order| DoneOrder {
                order: order.id,
                account: accounts[order.account.0 as usize],
                canceled: order.canceled,
                executions: order.executions.clone(),
            })
            .collect()
    }

    /// Compares every row of the database with the model.
    pub fn check(&self, database: &Database) {
        let equal = |what: &str, sql: &str, expected: Vec<String>| {
            let found = database.sql(sql);
            let first = found.iter().zip(&expected).find(|(found, expected)| found != expected);
            assert_eq!(found.len(), expected.len(), "{what}: rows");
            assert!(found == expected, "{what}: {first:?}");
        };
        let model = &self.model;
        let head = format!("{}|{}|{}", self.engine.sequence(), model.orders_placed() + 1, self.executed.len() + 1);
        equal("head", "SELECT sequence, next_order, next_execution FROM pricetime.command_sequence", vec![head]);
        let accounts = model.accounts().enumerate();
        let accounts =
            accounts.map(|(at, id)| format!("{at}|{id}|{}", model.balance(AccountIndex(at as u32)))).collect();
        equal("accounts", "SELECT number, id, trim_scale(balance) FROM pricetime.accounts ORDER BY number", accounts);
        let symbols = model.symbols().enumerate();
        let symbols =
            symbols.map(|(at, name)| format!("{at}|{name}|{}", model.issued(SymbolIndex(at as u32)))).collect();
        equal("symbols", "SELECT number, name, trim_scale(issued) FROM pricetime.symbols ORDER BY number", symbols);
        let positions =
            "SELECT account, symbol, trim_scale(shares) FROM pricetime.positions WHERE shares > 0 ORDER BY 1, 2";
        equal("positions", positions, self.positions());
        self.check_orders(&equal);
        let views =
            "SELECT (SELECT count(*) FROM pricetime.open_orders), (SELECT count(*) FROM pricetime.order_history),
            (SELECT count(*) FROM pricetime.trades), (SELECT count(*) FROM pricetime.account_summary),
            (SELECT coalesce(sum(orders), 0) FROM pricetime.book), (SELECT count(*) FROM pricetime.open_orders WHERE waits),
            (SELECT trim_scale(coalesce(sum(balance) + sum(held), 0)) FROM pricetime.account_summary),
            (SELECT count(*) FROM pricetime.order_history h WHERE h.shares <> h.open + h.canceled + coalesce((
                SELECT sum(e.shares) FROM pricetime.executions e WHERE h.order_id IN (e.buy_order, e.sell_order)), 0))";
        let (open, placed, resting) = (model.open_orders().len(), model.orders_placed(), model.resting().count());
        let (executed, accounts, money) = (self.executed.len(), model.accounts().count(), model.total_money());
        let waiting = model.open_orders().filter(|order| order.waits).count();
        let counts = format!("{open}|{placed}|{executed}|{accounts}|{resting}|{waiting}|{money}|0");
        equal("views", views, vec![counts]);
    }

    fn check_orders(&self, equal: &impl Fn(&str, &str, Vec<String>)) {
        let model = &self.model;
        let ids = || (1..=model.orders_placed()).map(OrderId);
        let orders = ids().map(|id| {
            let (order, (sequence, time)) = (model.order(id), self.placed[&id]);
            let (NewOrder { side, limit, shares, kind, trigger, .. }, until) = self.asked[&id];
            let side = if side == Side::Buy { "buy" } else { "sell" };
            let (account, symbol, kind) = (order.account.0, order.symbol.0, kind.name());
            let (trigger, until) = (trigger.map_or(String::new(), shown), until.map_or(String::new(), in_microseconds));
            let placed = format!("{id}|{account}|{symbol}|{side}|{kind}|{limit}|{shares}|{sequence}|{}", time.0);
            format!("{placed}|{trigger}|{}|{until}", order.self_trade.name())
        });
        let sql = "SELECT id, account, symbol, side, kind, trim_scale(limit_price), trim_scale(shares), sequence,
            (extract(epoch FROM time) * 1000000)::bigint,
            CASE WHEN trigger_from_below THEN trim_scale(trigger_price) ELSE -trim_scale(trigger_price) END,
            self_trade, (extract(epoch FROM until) * 1000000)::bigint
            FROM pricetime.orders ORDER BY id";
        equal("orders", sql, orders.collect());
        let present = ids().map(|id| {
            let order = model.order(id);
            let shares = Shares::from_units(order.shares_placed() as i64).unwrap();
            // The trigger of a trailing stop stands with the waiting orders.
            let trigger = order.asked().trigger.map_or(String::new(), shown);
            let (kind, until) = (order.kind.name(), order.until.map_or(String::new(), in_microseconds));
            format!("{id}|{kind}|{}|{shares}|{trigger}|{until}", order.limit)
        });
        let sql = "SELECT id, kind, trim_scale(limit_price), trim_scale(shares),
            CASE WHEN id IN (SELECT order_id FROM pricetime.trails) THEN NULL
                WHEN trigger_from_below THEN trim_scale(trigger_price) ELSE -trim_scale(trigger_price) END,
            (extract(epoch FROM until) * 1000000)::bigint FROM pricetime.present_orders ORDER BY id";
        equal("present orders", sql, present.collect());
        let amended = self.amended.iter().map(|(order, anew)| match anew {
            Some(sequence) => format!("{order}|{sequence}"),
            None => format!("{order}|"),
        });
        let sql = "SELECT order_id, sequence FROM pricetime.amended_orders ORDER BY order_id";
        equal("amended orders", sql, amended.collect());
        let displays = ids().filter_map(|id| Some(format!("{id}|{}", model.order(id).display?)));
        let sql = "SELECT order_id, trim_scale(display) FROM pricetime.icebergs ORDER BY order_id";
        equal("displays", sql, displays.collect());
        let reduced = ids().map(|id| model.order(id)).filter(|order| !order.reduced.is_zero());
        let sql = "SELECT order_id, trim_scale(shares) FROM pricetime.reductions ORDER BY order_id";
        equal("reductions", sql, reduced.map(|order| format!("{}|{}", order.id, order.reduced)).collect());
        let waits = |item: &StateItem| {
            if let StateItem::Stop { order, placed, is_reached, .. } = *item {
                return Some((order, placed, is_reached, String::new()));
            }
            let StateItem::Delayed { order, placed, is_under_way, .. } = *item else { return None };
            let name = if is_under_way { "under_way" } else { "queued" };
            Some((order, placed, true, format!("{name} {}", placed.limit)))
        };
        let mut waiting: Vec<_> = model.state_items().iter().filter_map(waits).collect();
        waiting.sort_by_key(|(order, ..)| *order);
        let waiting = waiting.into_iter().map(|(order, placed, is_reached, delayed)| {
            let (trigger, is_reached) =
                (placed.trigger.map_or(String::new(), shown), if is_reached { 't' } else { 'f' });
            format!("{order}|{}|{trigger}|{is_reached}|{delayed}", placed.symbol.0)
        });
        let sql = "SELECT order_id, w.symbol, CASE WHEN w.from_below THEN trim_scale(w.trigger_price) ELSE -trim_scale(w.trigger_price) END,
            coalesce(w.reached_sequence, m.sequence) IS NOT NULL, delayed || ' ' || trim_scale(goes_to)
            FROM pricetime.waiting w JOIN pricetime.orders o ON o.id = w.order_id JOIN pricetime.resting r USING (order_id)
            LEFT JOIN LATERAL pricetime.reached_by(w, coalesce(r.queued_sequence, o.sequence, 0)) m ON true ORDER BY order_id";
        equal("waiting", sql, waiting.collect());
        let open = ids().map(|id| model.order(id)).filter(|order| !order.open.is_zero());
        let sql = "SELECT order_id, trim_scale(open) FROM pricetime.resting ORDER BY order_id";
        equal("resting", sql, open.map(|order| format!("{}|{}", order.id, order.open)).collect());
        let canceled = ids().map(|id| model.order(id)).filter_map(|order| {
            let (canceled, (sequence, why)) = (order.canceled?, self.canceled[&order.id]);
            Some(format!("{}|{sequence}|{}|{}|{}", order.id, canceled.shares, canceled.time.0, why.code()))
        });
        let sql = "SELECT order_id, sequence, trim_scale(shares), (extract(epoch FROM time) * 1000000)::bigint, why
            FROM pricetime.cancellations ORDER BY order_id";
        equal("cancellations", sql, canceled.collect());
        let named = ids().map(|id| model.order(id)).filter_map(|order| {
            let done = order.done_at().map_or(String::new(), |done| done.0.to_string());
            Some(format!("{}|{}|{}|{done}", order.id, order.account.0, order.client_id?))
        });
        let sql = "SELECT order_id, account, client_order_id, (extract(epoch FROM done) * 1000000)::bigint
            FROM pricetime.client_orders ORDER BY order_id";
        equal("client orders", sql, named.collect());
        let executed = self.executed.iter().enumerate().map(|(at, (buy, sell, side, sequence))| {
            format!("{}|{buy}|{sell}|{}|{sequence}", at + 1, if *side == Side::Buy { "buy" } else { "sell" })
        });
        let sql = "SELECT id, buy_order, sell_order, aggressor, sequence FROM pricetime.executions ORDER BY id";
        equal("executions", sql, executed.collect());
        let sql = "SELECT sequence, place, order_id, account, kind,
            CASE WHEN from_below THEN trim_scale(price) ELSE -trim_scale(price) END,
            (extract(epoch FROM time) * 1000000)::bigint, next_execution, partner, trim_scale(taken),
            trim_scale(shares_before), trim_scale(shares_after), why, new_kind, trim_scale(new_limit), keeps_place
            FROM pricetime.notes ORDER BY sequence, place";
        equal("notes", sql, self.noted.clone());
        let links = model.pairs().map(|(order, partner)| format!("{order}|{partner}"));
        let mut links: Vec<String> = links.collect();
        links.sort_unstable();
        equal("links", "SELECT order_id, partner FROM pricetime.links ORDER BY order_id::text COLLATE \"C\"", links);
        let of_orders = ids().flat_map(|id| {
            let executions = model.order(id).executions.iter();
            executions.map(move |e| format!("{id}|{}|{}|{}", e.price, e.shares, e.time.0))
        });
        let sql = "SELECT o.id, trim_scale(price), trim_scale(e.shares), (extract(epoch FROM e.time) * 1000000)::bigint
            FROM pricetime.orders o JOIN pricetime.executions e ON o.id IN (e.buy_order, e.sell_order) ORDER BY o.id, e.id";
        equal("executions of orders", sql, of_orders.collect());
    }

    fn positions(&self) -> Vec<String> {
        let (accounts, symbols) = (self.model.accounts().count() as u32, self.model.symbols().count() as u32);
        let pairs = (0..accounts).flat_map(|account| (0..symbols).map(move |symbol| (account, symbol)));
        pairs
            .map(|(account, symbol)| (account, symbol, self.model.position(AccountIndex(account), SymbolIndex(symbol))))
            .filter(|(_, _, shares)| *shares != Position::ZERO)
            .map(|(account, symbol, shares)| format!("{account}|{symbol}|{shares}"))
            .collect()
    }
}

/// The columns of an amendment in the note of something else.
const NOT_AMENDED: &str = "||||||";

fn in_microseconds(until: Deadline) -> String {
    until.time().0.to_string()
}

/// A trigger as the queries show it: negative if it is reached from above.
fn shown(trigger: Trigger) -> String {
    format!("{}{}", if trigger.is_from_below() { "" } else { "-" }, trigger.price())
}
