//! A random market, its naive model, and feeds that follow it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use engine::{DoneOrders, Engine};
use exchange::{EventBatch, EventFork, EventSink};
use feed::{
    Amended, AmendedTerms, Canceled, Candle, Feed, History, Interval, Listeners, Note, Noted, PastOrder, ReadModel,
    Report, ReportKey, SharedHistory, Trade, View, Watcher,
};
use history::{Keeper, Sizes};
use journal::Disk;
use journal::simulated::SimulatedDisk;
use model::Model;
use model::workload::{Random, Workload};
use terms::{
    AccountId, AccountIndex, CancelReason, ClientOrderId, Command, Entry, Event, ExecutionBounds, Fee, Money, NewOrder,
    Op, OrderId, OrderKind, Place, Position, Price, Sequence, Shares, Side, Symbol, SymbolIndex, Time, Trigger,
};

/// Some commands of a test fall into one minute, others are hours apart.
pub const TICK_US: u64 = 7_700_003;
pub const TURN_MAX: usize = 9;

/// Little waits to be written.
pub const EAGER: Sizes = Sizes { waiting_max: [1000; 3], ..Sizes::USUAL };
/// Parts have few records, too, so that there are many.
pub const SMALL: Sizes = Sizes { waiting_max: [1000; 3], part_records: 8, block_records: 3 };

pub struct Nobody;

impl Watcher for Nobody {
    fn look(_scene: &mut ReadModel<Nobody>) -> Duration {
        Duration::MAX
    }

    fn tell_now(_scene: &mut ReadModel<Nobody>) {}
}

/// The last command of a turn, its time, and its events.
pub type Turn = (Sequence, Time, Vec<(Sequence, Event)>);

/// The market in engine and model, and the lists that a listener wrote down.
pub struct Market {
    pub model: Model,
    pub engine: Engine,
    pub workload: Workload,
    pub random: Random,
    pub trades: Vec<Trade>,
    /// The time at which each order was placed; `ended` has the time of its end, and the canceled shares.
    pub placed: BTreeMap<OrderId, Time>,
    pub named: BTreeMap<OrderId, ClientOrderId>,
    pub ended: BTreeMap<OrderId, (Time, Shares)>,
    /// The reason for which shares of orders were canceled.
    pub reasons: BTreeMap<OrderId, CancelReason>,
    /// Notes of orders.
    pub notes: Vec<Note>,
    /// Amendments of orders, with their accounts.
    pub amended: Vec<(AccountIndex, Amended)>,
    /// The shares that each order has, executed ones included.
    pub sizes: BTreeMap<OrderId, (Side, Shares)>,
    /// The terms with which each order was placed.
    pub terms: BTreeMap<OrderId, NewOrder<SymbolIndex>>,
    /// The symbol and side of the order that left its place last.
    pub aside: Option<(OrderId, SymbolIndex, Side)>,
    pub entries: Vec<Entry>,
    /// All batches, for replays.
    pub batches: Vec<Turn>,
    /// The fees of the next execution.
    pub fees: [Fee; 2],
    /// Amendments that gave orders other terms.
    pub amended_terms: usize,
}

impl Market {
    pub fn new(seed: u64) -> Market {
        Market {
            model: Model::new(),
            engine: Engine::new(seed, DoneOrders::Keep),
            workload: Workload::new(seed),
            random: Random::new(seed ^ 0xFEED),
            trades: Vec::new(),
            placed: BTreeMap::new(),
            named: BTreeMap::new(),
            ended: BTreeMap::new(),
            reasons: BTreeMap::new(),
            notes: Vec::new(),
            amended: Vec::new(),
            sizes: BTreeMap::new(),
            terms: BTreeMap::new(),
            aside: None,
            entries: Vec::new(),
            batches: Vec::new(),
            fees: [Fee::NONE; 2],
            amended_terms: 0,
        }
    }

    /// Returns such a market with orders of all kinds.
    pub fn of_all_kinds(seed: u64) -> Market {
        let market = Market::new(seed);
        let workload = market.workload.with_all_kinds().with_own_commands().with_links().with_terms();
        let workload = if seed % 4 < 2 { workload.with_icebergs() } else { workload };
        // Symbols with rules trade less.
        let workload = if seed % 3 == 2 { workload.with_rules() } else { workload };
        let workload = if seed % 5 == 3 { workload.with_trails() } else { workload };
        let workload = if seed % 4 == 1 { workload.with_fees() } else { workload };
        let workload = if seed % 4 == 1 { workload.with_phases() } else { workload };
        let workload =
            if seed % 7 == 6 { workload.with_mass_cancels().with_kills().with_protections() } else { workload };
        let workload = if seed % 7 == 5 { workload.with_limits().with_funding().with_closings() } else { workload };
        // Where a command executes once, amendments keep orders from waiting for their turn.
        let workload =
            if seed.is_multiple_of(2) || seed.is_multiple_of(3) { workload.with_amendments() } else { workload };
        let market = Market { workload: if seed % 4 >= 2 { workload.with_pendings() } else { workload }, ..market };
        if seed % 2 == 1 { market.with_executions_max(1) } else { market }
    }

    /// Limits how many executions a command makes, from the start on.
    pub fn with_executions_max(self, executions_max: u32) -> Market {
        self.with_execution_bounds(ExecutionBounds::of_command(executions_max))
    }

    /// Sets how many executions commands, turns and orders make, from the start on.
    pub fn with_execution_bounds(self, bounds: ExecutionBounds) -> Market {
        let engine = self.engine.with_execution_bounds(bounds);
        Market { engine, model: Model::with_execution_bounds(bounds), ..self }
    }

    /// Returns how often an order went on, or came to its book behind one that did.
    pub fn resumed(&self) -> usize {
        let events = self.batches.iter().flat_map(|(_, _, events)| events);
        events.filter(|(_, event)| matches!(event, Event::OrderResumed { .. })).count()
    }

    /// Applies a turn of a few commands.
    pub fn turn(&mut self) {
        let mut events = Vec::new();
        let time = Time(1_700_000_000_000_000 + self.engine.sequence().0 * TICK_US);
        for _ in 0..=self.random.below(TURN_MAX) {
            for op in self.workload.next_request(&self.model) {
                let Op::Command(command) = op else { continue };
                self.apply(command, time, &mut events);
            }
        }
        self.batches.push((self.engine.sequence(), time, events));
    }

    /// Returns a market of this many turns in which many orders wait and are triggered.
    pub fn of_stops(seed: u64, turns: usize) -> Market {
        let mut market = Market::new(seed);
        (0..turns).for_each(|turn| market.stop_turn(turn == 0));
        assert!(market.notes.len() * 4 > turns, "only {} of {turns}", market.notes.len());
        market
    }

    /// Applies a turn of a few commands of a market in which prices wander; the first one founds it.
    pub fn stop_turn(&mut self, founds: bool) {
        let accounts = ["1", "22", "333", "4444"].map(|id| AccountId::parse(id.as_bytes()).unwrap());
        let symbol = Symbol::parse(b"SPY").unwrap();
        let mut commands = Vec::new();
        if founds {
            commands.push(Command::CreateSymbol { symbol });
            for account in accounts {
                let balance = Money::from_units(10_i128.pow(23));
                commands.push(Command::CreateAccount { account, balance });
                let shares = Position::from_units(10_i128.pow(13));
                commands.push(Command::IssueShares { symbol, account, shares });
            }
        }
        for _ in 0..=self.random.below(TURN_MAX) {
            let account = self.random.pick(&accounts);
            if self.random.percent(15) {
                let order = OrderId(1 + self.random.below(1 + self.placed.len()) as u64);
                commands.push(Command::CancelOrder { account, order: order.into() });
                continue;
            }
            let (side, kind) = (self.random.pick(&[Side::Buy, Side::Sell]), self.random.pick(&OrderKind::ALL));
            let kind = if self.random.percent(75) { OrderKind::Limit } else { kind };
            let price = |random: &mut Random| Price::from_units((95 + random.below(11) as i64) * 100_000_000).unwrap();
            let shares = Shares::from_units((1 + self.random.below(4) as i64) * 100_000_000).unwrap();
            let order = NewOrder::of_kind(kind, symbol, side, price(&mut self.random), shares);
            let at = price(&mut self.random);
            let trigger = match self.random.below(100) {
                0..30 => Some(Trigger::stop_loss(side, at)),
                30..40 => Some(Trigger::take_profit(side, at)),
                _ => None,
            };
            commands.push(Command::Place(Place::order(account, NewOrder { trigger, ..order })));
        }
        let (mut events, time) = (Vec::new(), Time(1_700_000_000_000_000 + self.engine.sequence().0 * TICK_US));
        commands.into_iter().for_each(|command| self.apply(command, time, &mut events));
        self.batches.push((self.engine.sequence(), time, events));
    }

    pub fn apply(&mut self, command: Command, time: Time, events: &mut Vec<(Sequence, Event)>) {
        let sequence = self.engine.sequence().next();
        let entry = Entry { sequence, time, command };
        self.entries.push(entry);
        let mut happened = Vec::new();
        self.engine.apply(&entry, &mut Vec::new(), &mut |event| happened.push(event));
        self.model.apply(&entry, &mut Vec::new(), &mut Vec::new());
        for event in happened {
            self.write_down(sequence, time, event);
            events.push((sequence, event));
        }
    }

    pub fn write_down(&mut self, sequence: Sequence, time: Time, event: Event) {
        let mut done = Vec::new();
        match event {
            Event::OrderOpened { order, placed, .. } => {
                self.placed.insert(order, time);
                self.sizes.insert(order, (placed.side, placed.shares));
                self.terms.insert(order, placed);
            }
            Event::OrderSetAside { order, symbol, side } => self.aside = Some((order, symbol, side)),
            Event::OrderAmended { .. } => self.write_down_terms(sequence, time, event),
            Event::OrderReduced { order, account, symbol, shares, why } => {
                let (side, before) = self.sizes[&order];
                let after = before.less(shares);
                self.sizes.insert(order, (side, after));
                let (next_trade, place) = (self.trades.len() as u64 + 1, self.place(sequence));
                let amended =
                    Amended { order, symbol, side, before, after, why, time, sequence, next_trade, place, terms: None };
                self.amended.push((account, amended));
            }
            Event::FeesTaken { maker, aggressor } => self.fees = [maker, aggressor],
            Event::Executed { symbol, maker, aggressor, price, shares, .. }
            | Event::Uncrossed { symbol, maker, aggressor, price, shares, .. } => {
                let [maker_fee, aggressor_fee] = std::mem::replace(&mut self.fees, [Fee::NONE; 2]);
                let (maker_order, aggressor_order) = (self.model.order(maker), self.model.order(aggressor));
                self.trades.push(Trade {
                    id: self.trades.len() as u64 + 1,
                    symbol,
                    price,
                    shares,
                    time,
                    sequence,
                    aggressor: aggressor_order.side,
                    maker_order: maker,
                    aggressor_order: aggressor,
                    maker_account: maker_order.account,
                    aggressor_account: aggressor_order.account,
                    maker_fee,
                    aggressor_fee,
                });
                done = vec![maker, aggressor];
            }
            Event::OrderCanceled { order, shares, why, .. } => {
                self.ended.insert(order, (time, shares));
                self.reasons.insert(order, why);
            }
            Event::ClientOrderIdGiven { order, id } => drop(self.named.insert(order, id)),
            Event::OrderTriggered { order, account, placed } => self.notes.push(Note {
                order,
                account,
                symbol: placed.symbol,
                side: placed.side,
                what: Noted::Triggered(placed.trigger.unwrap()),
                time,
                sequence,
                next_trade: self.trades.len() as u64 + 1,
                place: self.place(sequence),
            }),
            Event::OrderPends { order, account, is_second, placed } => {
                self.placed.insert(order, time);
                self.sizes.insert(order, (placed.side, placed.shares));
                self.terms.insert(order, placed);
                let what = Noted::Pends(Event::working(order, is_second));
                self.note_pending((order, account), &placed, what, (time, sequence));
            }
            Event::OrderReleased { order, account, placed } => {
                self.note_pending((order, account), &placed, Noted::Released, (time, sequence));
            }
            Event::OrdersLinked { order, partner, account, symbol, side } => {
                for (order, partner) in [(order, partner), (partner, order)] {
                    self.notes.push(Note {
                        order,
                        account,
                        symbol,
                        side,
                        what: Noted::Linked(partner),
                        time,
                        sequence,
                        next_trade: self.trades.len() as u64 + 1,
                        place: self.place(sequence),
                    });
                }
            }
            Event::AccountCreated { .. }
            | Event::TriggerReached { .. }
            | Event::OrderDelayed { .. }
            | Event::OrderResumed { .. }
            | Event::DeadlineGiven { .. }
            | Event::DisplayGiven { .. }
            | Event::TipShown { .. }
            | Event::TrailGiven { .. }
            | Event::TrailsMoved { .. }
            | Event::TrailReached { .. }
            | Event::ClientOrderDone { .. }
            | Event::ClientOrderIdFreed { .. }
            | Event::SymbolCreated { .. }
            | Event::RulesChanged { .. }
            | Event::FeesChanged { .. }
            | Event::TierChanged { .. }
            | Event::AccountStatusChanged { .. }
            | Event::GroupChanged { .. }
            | Event::KillChanged { .. }
            | Event::ProtectionChanged { .. }
            | Event::CalendarFollowed { .. }
            | Event::LimitsChanged { .. }
            | Event::PhaseChanged { .. }
            | Event::BalanceChanged { .. }
            | Event::PositionChanged { .. } => {}
        }
        // The model is ahead of the event by the rest of its command, which does not open an order again.
        for order in done {
            if self.model.order(order).open.is_zero() {
                self.ended.insert(order, (time, Shares::ZERO));
            }
        }
    }

    fn write_down_terms(&mut self, sequence: Sequence, time: Time, event: Event) {
        let Event::OrderAmended { order, account, keeps_place, kind, limit, trigger, open, executed } = event else {
            panic!("{event:?}")
        };
        let ((side, before), placed) = (self.sizes[&order], self.terms[&order]);
        let after = executed.plus(open);
        assert_eq!(self.aside.take().is_some(), !keeps_place);
        assert!(!keeps_place || before == after, "an order that keeps its place was reduced before");
        self.sizes.insert(order, (side, after));
        self.amended_terms += 1;
        let (next_trade, place) = (self.trades.len() as u64 + 1, self.place(sequence));
        let terms = Some(AmendedTerms { kind, limit, trigger, keeps_place });
        let (symbol, why) = (placed.symbol, CancelReason::Asked);
        let amended = Amended { order, symbol, side, before, after, why, time, sequence, next_trade, place, terms };
        self.amended.push((account, amended));
    }

    /// Returns the terms that an order had after a command, and the shares. An order that waits no longer keeps the
    /// trigger for which it waited until it is placed again.
    pub fn terms_then(&self, order: OrderId, through: Sequence) -> NewOrder<SymbolIndex> {
        let then = |amended: &&Amended| amended.order == order && amended.sequence <= through;
        let mut terms = self.terms[&order];
        for Amended { after, terms: other, .. } in self.amended.iter().map(|(_, amended)| amended).filter(then) {
            terms.shares = *after;
            if let Some(AmendedTerms { kind, limit, trigger, keeps_place }) = *other {
                let trigger = trigger.or(terms.trigger.filter(|_| keeps_place));
                terms = NewOrder { kind, limit, trigger, ..terms };
            }
        }
        terms
    }

    /// Checks that an order of the history has the terms that it had after a command.
    pub fn check_terms(&self, order: &PastOrder, through: Sequence) {
        let expected = self.terms_then(order.order, through);
        assert_eq!(order.shares_now(), expected.shares, "order {} after {through}", order.order);
        assert_eq!(NewOrder { shares: expected.shares, ..order.as_placed() }, expected, "{} then", order.order);
    }

    /// Returns how many notes the command has made so far.
    fn place(&self, sequence: Sequence) -> u32 {
        let notes = self.notes.iter().filter(|note| note.sequence == sequence).count();
        let amended = self.amended.iter().filter(|(_, amended)| amended.sequence == sequence).count();
        u32::try_from(notes + amended).unwrap()
    }

    fn note_pending(
        &mut self,
        (order, account): (OrderId, AccountIndex),
        placed: &NewOrder<SymbolIndex>,
        what: Noted,
        (time, sequence): (Time, Sequence),
    ) {
        let NewOrder { symbol, side, .. } = *placed;
        let next_trade = self.trades.len() as u64 + 1;
        let place = self.place(sequence);
        self.notes.push(Note { order, account, symbol, side, what, time, sequence, next_trade, place });
    }

    pub fn check(&self, view: &View) {
        assert_eq!(view.sequence(), self.engine.sequence());
        assert_eq!(view.open_orders(), self.model.open_orders().len());
        for (index, id) in (0..).map(AccountIndex).zip(self.model.accounts()) {
            assert_eq!(view.find_account(id), Some(index));
            let account = view.account(index);
            assert_eq!(account.balance, self.model.balance(index));
            let open: Vec<_> = self.model.open_orders().filter(|order| order.account == index).collect();
            assert_eq!(account.held, self.model.held(index));
            assert_eq!(account.open_orders as usize, open.len());
            let mut ids: Vec<OrderId> = open.iter().map(|order| order.id).collect();
            ids.sort_by(|a, b| b.cmp(a));
            assert_eq!(view.orders_of(index).map(|order| order.order).collect::<Vec<_>>(), ids);
            for order in open.into_iter().filter(|order| order.waits) {
                let shown = view.open_order(order.id).unwrap();
                assert_eq!((shown.kind, shown.trigger, shown.waits), (order.kind, order.trigger, true));
                assert!(shown.trail.is_none() || shown.trail == order.trail, "how far behind the market it waits");
            }
            for order in view.orders_of(index) {
                let expected = self.model.order(order.order);
                assert_eq!(order.limit, expected.limit);
                assert_eq!((order.waits, order.until), (expected.waits, expected.until));
                assert_eq!(order.delayed, expected.delayed.is_some());
                assert_eq!(order.pends_on, expected.pends_on);
                assert_eq!(order.iceberg, expected.iceberg());
                assert_eq!(view.partner(order.order), self.model.partner(order.order));
            }
        }
        for (symbol, name) in (0..).map(SymbolIndex).zip(self.model.symbols()) {
            assert_eq!(view.find_symbol(name), Some(symbol));
            assert_eq!(view.listing(symbol).issued, self.model.issued(symbol));
            assert_eq!(view.listing(symbol).rules, self.model.rules(symbol));
            assert_eq!(view.listing(symbol).phase, self.model.phase(symbol));
            let found = view.listing(symbol).auction_price().map(|found| (found.price, found.shares.units()));
            let expected = self.model.auction_price(symbol).filter(|_| !self.model.is_open(symbol));
            assert_eq!(found, expected.map(|found| (found.price, found.shares)));
            for side in [Side::Buy, Side::Sell] {
                self.check_side(view, symbol, side);
            }
            let accounts = u32::try_from(self.model.accounts().count()).unwrap();
            for account in (0..accounts).map(AccountIndex) {
                assert_eq!(view.holding(account, symbol), self.model.position(account, symbol));
            }
        }
    }

    pub fn check_side(&self, view: &View, symbol: SymbolIndex, side: Side) {
        let shown: Vec<_> =
            view.listing(symbol).book.levels(side).map(|(limit, level)| (limit, level.shares)).collect();
        let expected: Vec<_> = self.model.book(symbol, side).iter().map(|level| (level.price, level.shares)).collect();
        assert_eq!(shown, expected);
        let queue: Vec<_> = view.queue(symbol, side).map(|order| (order.order, order.open, order.shares)).collect();
        let expected: Vec<_> = self
            .model
            .queue(symbol, side)
            .iter()
            .map(|order| (order.id, order.open, self.placed_shares(order.id)))
            .collect();
        assert_eq!(queue, expected);
    }

    pub fn placed_shares(&self, order: OrderId) -> Shares {
        let executed: i64 = self
            .trades
            .iter()
            .flat_map(|trade| [(trade.maker_order, trade.shares), (trade.aggressor_order, trade.shares)])
            .filter(|(id, _)| *id == order)
            .map(|(_, shares)| shares.units())
            .sum();
        let canceled = self.ended.get(&order).map_or(0, |(_, canceled)| canceled.units());
        Shares::from_units(self.model.order(order).open.units() + executed + canceled).unwrap()
    }

    pub fn check_history(&self, history: &History, page: usize) {
        for symbol in (0..).map(SymbolIndex).take(self.model.symbols().count()) {
            let mut expected: Vec<Trade> = self.trades.iter().filter(|trade| trade.symbol == symbol).copied().collect();
            expected.reverse();
            let found = pages(|before| history.trades_of(symbol, before, page).unwrap().unwrap());
            assert_eq!(found, expected);
        }
        for account in (0..).map(AccountIndex).take(self.model.accounts().count()) {
            let its = |trade: &&Trade| trade.maker_account == account || trade.aggressor_account == account;
            let mut expected: Vec<Trade> = self.trades.iter().filter(its).copied().collect();
            expected.reverse();
            assert_eq!(
                pages(|before| history.trades_of_account(account, before, page, |_| true).unwrap().unwrap()),
                expected
            );
            let orders = pages(|before| history.orders_of(account, before, page, &mut |_| true).unwrap().unwrap());
            let mut ids: Vec<OrderId> =
                self.placed.keys().copied().filter(|order| self.model.order(*order).account == account).collect();
            ids.reverse();
            assert_eq!(orders.iter().map(|order| order.order).collect::<Vec<_>>(), ids);
            for order in orders {
                assert_eq!(history.order(order.order).unwrap(), Some(order));
                self.check_terms(&order, self.engine.sequence());
                assert_eq!(order.limit, self.model.order(order.order).limit);
                assert_eq!(order.time, self.placed[&order.order]);
                assert_eq!(order.shares_now(), self.placed_shares(order.order));
                assert_eq!(order.self_trade, self.model.order(order.order).self_trade);
                assert_eq!(order.kind, self.model.order(order.order).kind);
                assert_eq!(history.triggered_at(&order).unwrap(), self.triggered_at(order.order));
                assert_eq!(history.relatives_of(&order).unwrap().linked, self.linked_with(order.order));
                assert_eq!(order.client_id, self.named.get(&order.order).copied());
                let ended = order.ended.map(|ended| (ended.time, ended.canceled));
                assert_eq!(ended, self.ended.get(&order.order).copied(), "order {}", order.order);
                assert_eq!(order.ended.and_then(|ended| ended.why), self.reasons.get(&order.order).copied());
                let paid = self
                    .trades
                    .iter()
                    .flat_map(|trade| [(trade.maker_order, trade.money()), (trade.aggressor_order, trade.money())])
                    .filter(|(id, _)| *id == order.order)
                    .fold(Money::ZERO, |sum, (_, money)| sum.plus(money));
                assert!(order.ended.is_none_or(|ended| ended.money == paid));
                let its = |trade: &&Trade| [trade.maker_order, trade.aggressor_order].contains(&order.order);
                let executions: Vec<Trade> = self.trades.iter().filter(its).copied().collect();
                let found = history.executions_of(order.order, executions.len()).unwrap();
                assert_eq!(found.as_ref(), Some(&executions), "executions of order {}", order.order);
                if let Some(fewer) = executions.len().checked_sub(1) {
                    assert_eq!(history.executions_of(order.order, fewer).unwrap(), None);
                }
            }
            self.check_reports(history, account, page);
            self.check_amendments(history, account);
        }
    }

    /// Checks that the view knows when orders were triggered, those before its start included, where a history knew.
    pub fn check_triggered(&self, view: &View) {
        for account in (0..).map(AccountIndex).take(self.model.accounts().count()) {
            for order in view.orders_of(account) {
                assert_eq!(order.triggered, self.triggered_at(order.order), "open order {}", order.order);
                assert_eq!(order.linked, self.linked_with(order.order), "open order {}", order.order);
            }
        }
    }

    pub fn triggered_at(&self, order: OrderId) -> Option<Time> {
        let its = |note: &&Note| note.order == order && matches!(note.what, Noted::Triggered(_));
        self.notes.iter().find(its).map(|note| note.time)
    }

    pub fn linked_with(&self, order: OrderId) -> Option<OrderId> {
        self.notes.iter().filter(|note| note.order == order).find_map(|note| match note.what {
            Noted::Linked(partner) => Some(partner),
            Noted::Triggered(_) | Noted::Pends(_) | Noted::Released => None,
        })
    }

    /// Checks that the history lists amendments one at a time, from any command on.
    pub fn check_amendments(&self, history: &History, account: AccountIndex) {
        let all: Vec<Amended> = self.amended.iter().filter(|(its, _)| *its == account).map(|(_, its)| *its).collect();
        for (order, from) in all.iter().map(|amended| (amended.order, amended.sequence)) {
            let expected = |from: Sequence| {
                all.iter().filter(move |amended| amended.order == order && amended.sequence >= from).copied()
            };
            for from in [from, from.next()] {
                let found = history.amendments(order, from, usize::MAX).unwrap();
                assert_eq!(found, expected(from).collect::<Vec<Amended>>(), "order {order} from {from}");
            }
            let found = history.amendments(order, Sequence(0), 1).unwrap();
            assert_eq!(found, expected(Sequence(0)).take(1).collect::<Vec<Amended>>());
        }
    }

    /// Checks that the reports behind any command are those of the account's orders and trades, in order, in pieces of
    /// any length.
    pub fn check_reports(&self, history: &History, account: AccountIndex, page: usize) {
        let through = self.engine.sequence();
        let mut all = Vec::new();
        for order in pages(|before| history.orders_of(account, before, page, &mut |_| true).unwrap().unwrap()) {
            // The order as it was placed, without amendments.
            let NewOrder { limit, shares, kind, trigger, .. } = self.terms[&order.order];
            let placed = PastOrder { limit, shares, shares_now: shares, kind, trigger, ..order };
            all.push(((order.sequence, 0, order.order.0, 0, 0), Report::Placed(placed)));
            if let Some(ended) = order.ended.filter(|ended| ended.canceled != Shares::ZERO) {
                all.push((
                    (ended.sequence, 2, order.order.0, 0, 0),
                    Report::Canceled(Canceled {
                        order: order.order,
                        symbol: order.symbol,
                        side: order.side,
                        shares: ended.canceled,
                        why: self.reasons.get(&order.order).copied(),
                        time: ended.time,
                        sequence: ended.sequence,
                    }),
                ));
            }
        }
        for trade in &self.trades {
            for (role, its, side) in
                [(1, trade.maker_account, trade.aggressor.opposite()), (2, trade.aggressor_account, trade.aggressor)]
            {
                if its == account {
                    all.push(((trade.sequence, 1, trade.id, role, 0), Report::Executed(*trade, side)));
                }
            }
        }
        // A note stands behind the trade that brought it about, and before the order's own trades.
        for note in self.notes.iter().filter(|note| note.account == account) {
            all.push(((note.sequence, 1, note.next_trade, 0, note.place), Report::Noted(*note)));
        }
        for (_, amended) in self.amended.iter().filter(|(its, _)| *its == account) {
            let Amended { sequence, next_trade, place, .. } = *amended;
            all.push(((sequence, 1, next_trade, 0, place), Report::Amended(*amended)));
        }
        all.sort_unstable_by_key(|(at, _)| *at);
        for from in (0..=through.0).step_by(1 + through.0 as usize / 7).map(Sequence) {
            let expected: Vec<Report> =
                all.iter().filter(|((sequence, ..), _)| *sequence > from).map(|(_, report)| *report).collect();
            let mut found = Vec::new();
            let mut next = Some(history.sweep(account, ReportKey::after(from), through).in_pieces_of(page));
            while let Some(mut sweep) = next {
                while history.sweep_on(&mut sweep, 5).unwrap() {}
                let (keys, more) = sweep.finish();
                assert!(keys.len() <= page);
                found.extend(keys.into_iter().map(|key| history.report(key).unwrap()));
                next = more;
            }
            assert_eq!(found, expected, "account {account:?} from {from}");
        }
    }

    /// Makes candles of all trades at once.
    pub fn candles(&self, symbol: SymbolIndex, interval: Interval) -> Vec<Candle> {
        let mut candles = Vec::new();
        for trade in self.trades.iter().filter(|trade| trade.symbol == symbol) {
            Candle::join(&mut candles, &Candle::of(trade, interval), interval);
        }
        candles
    }

    pub fn check_candles(&self, scene: &ReadModel<Nobody>) {
        for symbol in (0..).map(SymbolIndex).take(self.model.symbols().count()) {
            for interval in Interval::ALL {
                let found = scene.candles(symbol, interval, None, 1_000_000).unwrap();
                assert_eq!(found, self.candles(symbol, interval), "{}", interval.name());
                let some = scene.candles(symbol, interval, None, 3).unwrap();
                assert_eq!(some, found[found.len().saturating_sub(3)..]);
                if let Some(middle) = found.get(found.len() / 2) {
                    let before = scene.candles(symbol, interval, Some(middle.start), 1_000_000).unwrap();
                    assert_eq!(before, found[..found.len() / 2]);
                }
            }
        }
    }

    /// Returns the engine that a snapshot after this many turns would hold, behind which the other turns follow.
    pub fn engine_after(&self, turns: usize) -> Engine {
        let through = turns.checked_sub(1).map_or(Sequence::ZERO, |last| self.batches[last].0);
        let bounds = self.model.execution_bounds();
        let mut engine = Engine::new(1, DoneOrders::Keep).with_execution_bounds(bounds);
        for entry in self.entries.iter().take_while(|entry| entry.sequence <= through) {
            engine.apply(entry, &mut Vec::new(), &mut |_| {});
        }
        engine
    }

    pub fn push(&self, followers: &Followers, turns: std::ops::Range<usize>) {
        for (through, time, events) in &self.batches[turns] {
            let mut batch = followers.sink.batch();
            events.iter().for_each(|(sequence, event)| batch.add(*sequence, *event));
            batch.seal(*through, *time);
            followers.sink.push(batch);
        }
    }

    pub fn check_all(&self, scene: &ReadModel<Nobody>, page: usize) {
        self.check(&scene.view);
        self.check_triggered(&scene.view);
        self.check_history(&scene.history.as_ref().unwrap().read(), page);
        self.check_candles(scene);
    }
}

/// The threads that follow a market.
pub struct Followers {
    pub keeper: Keeper,
    pub feed: Feed<Nobody>,
    pub sink: EventSink,
}

impl Followers {
    /// Stops both when everything is followed and durable, and returns the read model.
    pub fn stop(self) -> ReadModel<Nobody> {
        self.keeper.stop().unwrap();
        self.feed.stop()
    }

    pub fn checkpoint(&self) -> bool {
        self.keeper.checkpoints().make(Duration::from_secs(60))
    }
}

pub fn start(engine: &Engine, folder: &Path) -> Followers {
    let history = History::open(&Disk::open(folder).unwrap(), engine).unwrap();
    let keeper = Keeper::start(history, |_| {}, |fault| panic!("{fault}")).unwrap();
    let feed = Feed::start(engine, Some(keeper.history()), Nobody).unwrap();
    let sink = EventFork::to(vec![keeper.follower(), feed.follower()]);
    Followers { keeper, feed, sink }
}

/// Waits until both have followed everything that they got, and looks at the read model.
pub fn look<T: Send + 'static>(
    followers: &Followers,
    look: impl FnOnce(&mut ReadModel<Nobody>) -> T + Send + 'static,
) -> T {
    drop(followers.keeper.history().latest().unwrap());
    let (told, done) = std::sync::mpsc::channel();
    followers.feed.asker().ask(move |scene| told.send(look(scene)).unwrap());
    done.recv().unwrap()
}

/// Builds a view and a history on a disk that follow turns without a thread.
pub fn follow(market: &Market, disk: &SimulatedDisk, turns: usize) -> (View, History) {
    follow_sized(market, disk, turns, EAGER)
}

pub fn follow_sized(market: &Market, disk: &SimulatedDisk, turns: usize, sizes: Sizes) -> (View, History) {
    let engine = market.engine_after(0);
    let mut history = History::open_sized(disk, &engine, sizes).unwrap();
    let mut view = View::new(&engine, Some(&history));
    apply(market, &mut view, &mut history, 0..turns);
    (view, history)
}

/// Puts a view together with a history that nothing changes any more.
pub fn scene(view: View, history: History) -> ReadModel<Nobody> {
    ReadModel { view, history: Some(SharedHistory::new(history)), watcher: Nobody, listeners: Listeners::default() }
}

pub fn apply(market: &Market, view: &mut View, history: &mut History, turns: std::ops::Range<usize>) {
    for turn in turns {
        let batch = batch(market, turn);
        history.follow(&batch).unwrap();
        view.apply(&batch);
    }
}

/// Returns the events of a turn.
pub fn batch(market: &Market, turn: usize) -> EventBatch {
    let (through, time, events) = &market.batches[turn];
    let mut batch = EventBatch::default();
    events.iter().for_each(|(sequence, event)| batch.add(*sequence, *event));
    batch.seal(*through, *time);
    batch
}

/// Collects all pages of a list.
pub fn pages<T, C: Copy>(mut page: impl FnMut(Option<C>) -> (Vec<T>, Option<C>)) -> Vec<T> {
    let (mut all, mut before) = (Vec::new(), None);
    loop {
        let (found, next) = page(before);
        all.extend(found);
        match next {
            Some(next) => before = Some(next),
            None => return all,
        }
    }
}
