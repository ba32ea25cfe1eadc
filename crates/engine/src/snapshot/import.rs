//! Builds an engine from the items that `export` made. Checks that they make a sound exchange.

mod orders;
mod settings;

use std::fmt;

use terms::{
    AccountIndex, Deadline, Fee, KillScope, Money, OrderId, Position, Price, Side, StateItem, SymbolIndex, Tier,
    Trigger, TriggersLeft,
};

use crate::engine::{DoneOrders, Engine};
use crate::orders::client_ids::ClientOrder;

/// The reason why a stream of items makes no exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImportError {
    /// The fault.
    pub fault: &'static str,
    /// The item with the fault, counted from 1.
    pub item: u64,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {} of the state: {}", self.item, self.fault)
    }
}

impl std::error::Error for ImportError {}

/// Builds an engine from the items that another one exported, in their order.
pub struct Importer {
    engine: Engine,
    items: u64,
    stage: Stage,
    /// The symbols in which triggers are left.
    left: Vec<(SymbolIndex, TriggersLeft)>,
    /// The order to which the next executions belong.
    last_order: Option<LastOrder>,
    last_position: Option<(AccountIndex, SymbolIndex)>,
    last_client_order: Option<OrderId>,
    last_rules: Option<SymbolIndex>,
    last_stop: Option<LastStop>,
    last_deadline: Option<(Deadline, OrderId)>,
    last_link: Option<OrderId>,
    last_iceberg: Option<OrderId>,
    last_fees: Option<(SymbolIndex, Tier)>,
    last_tier: Option<AccountIndex>,
    last_group: Option<AccountIndex>,
    last_account_status: Option<AccountIndex>,
    last_kill: Option<KillScope<AccountIndex, SymbolIndex>>,
    last_protection: Option<AccountIndex>,
    last_limits: Option<AccountIndex>,
    last_phase: Option<SymbolIndex>,
    last_pending: Option<(bool, OrderId)>,
    /// Shares of each symbol found so far, in positions and open sells.
    found: Vec<Position>,
}

#[derive(Clone, Copy)]
struct LastOrder {
    slot: u32,
    place: (SymbolIndex, Side),
    limit: Price,
    /// Whether the sum of its executions was in the stream.
    is_added_up: bool,
}

/// The sort key of the stop before.
type LastStop = (bool, SymbolIndex, bool, Option<Trigger>);

/// The stage of the stream.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Head,
    Accounts,
    Symbols,
    Positions,
    Links,
    Phases,
    Orders,
    Watches,
    Rules,
    Stops,
    Pendings,
    Deadlines,
    Icebergs,
    ClientOrders,
    Fees,
    Tiers,
    Groups,
    AccountStatuses,
    Kills,
    Protections,
    Limits,
    Calendar,
    Messages,
    PhaseChanges,
}

impl Importer {
    /// Makes an importer for an engine with this seed, see [`Engine::new`].
    pub fn new(hash_seed: u64, done_orders: DoneOrders) -> Importer {
        Importer {
            engine: Engine::new(hash_seed, done_orders),
            items: 0,
            stage: Stage::Head,
            left: Vec::new(),
            last_order: None,
            last_position: None,
            last_client_order: None,
            last_rules: None,
            last_stop: None,
            last_deadline: None,
            last_link: None,
            last_iceberg: None,
            last_fees: None,
            last_tier: None,
            last_group: None,
            last_account_status: None,
            last_kill: None,
            last_protection: None,
            last_limits: None,
            last_phase: None,
            last_pending: None,
            found: Vec::new(),
        }
    }

    /// Adds the next item. Errors: the reason why it cannot stand here.
    pub fn add(&mut self, item: StateItem) -> Result<(), ImportError> {
        self.items = self.items.saturating_add(1);
        self.place(item).map_err(|fault| ImportError { fault, item: self.items })
    }

    /// The engine, once all items were added. Errors: missing or surplus shares.
    pub fn finish(mut self) -> Result<Engine, ImportError> {
        let fail = |fault| Err(ImportError { fault, item: self.items });
        if self.items == 0 {
            return fail("there are no items");
        }
        if self.engine.money_issued > Money::CAP {
            return fail("there is more money than may be created");
        }
        let issued = self.engine.symbols.all().iter().map(|listing| listing.issued);
        if !issued.eq(self.found.iter().copied()) {
            return fail("the shares of a symbol in positions and open sells are not those that were issued");
        }
        if self.engine.stops.watched() != self.engine.symbols.all().len() {
            return fail("a symbol without its last price: each that was listed has one, or none yet");
        }
        if self.left.iter().any(|&(symbol, left)| !self.engine.stops.check_left(symbol, left)) {
            return fail("triggers that are left in a symbol, and none is");
        }
        if !self.are_references_sound() {
            return fail("a dynamic reference of a symbol without a dynamic band");
        }
        if !self.are_links_sound() {
            return fail("two orders are linked that are not open or are no pair");
        }
        if !self.engine.are_closed_accounts_empty() {
            return fail("a closed account that has or gets something");
        }
        self.engine.client_orders.sort_done();
        self.engine.count_limited();
        self.engine.find_kills_going_on();
        Ok(self.engine)
    }

    fn place(&mut self, item: StateItem) -> Result<(), &'static str> {
        if self.items == 1 && !matches!(item, StateItem::Head { .. }) {
            return Err("a first item that is no head");
        }
        match item {
            StateItem::Head { sequence, time, next_order } => {
                if self.items != 1 || next_order == OrderId(0) {
                    return Err("a head that is not the first item or is not sound");
                }
                (self.engine.sequence, self.engine.time, self.engine.next_order) = (sequence, time, next_order);
                self.advance(Stage::Accounts)
            }
            StateItem::Account { id, balance } => {
                self.advance(Stage::Accounts)?;
                if self.engine.accounts.find(id).is_some() || balance.is_negative() || balance > Money::CAP {
                    return Err("an account that is there twice or has an impossible balance");
                }
                self.engine.accounts.create(id, balance);
                self.add_money(balance)
            }
            StateItem::Symbol { name, issued } => {
                self.advance(Stage::Symbols)?;
                if self.engine.symbols.find(name).is_some() || issued.is_negative() || issued > Position::CAP {
                    return Err("a symbol that is there twice or has an impossible number of shares");
                }
                self.engine.symbols.create(name, issued);
                self.engine.books.create();
                self.found.push(Position::ZERO);
                Ok(())
            }
            StateItem::Position { account, symbol, shares } => {
                self.advance(Stage::Positions)?;
                if shares.is_negative() || shares == Position::ZERO || shares > Position::CAP {
                    return Err("an impossible position");
                }
                self.check_names(account, symbol)?;
                if self.last_position.replace((account, symbol)).is_some_and(|last| last >= (account, symbol)) {
                    return Err("a position before its turn, or twice");
                }
                self.add_shares(symbol, shares);
                self.engine.positions.credit(account, symbol, shares);
                Ok(())
            }
            StateItem::Link { order, partner } => {
                self.advance(Stage::Links)?;
                self.add_link(order, partner)
            }
            StateItem::Phase { symbol, phase } => {
                self.advance(Stage::Phases)?;
                self.add_phase(symbol, phase)
            }
            StateItem::Order { order, account, symbol, side, limit, open } => {
                self.advance(Stage::Orders)?;
                self.check_names(account, symbol)?;
                self.add_order(order, account, (symbol, side), limit, open)
            }
            StateItem::Kind { kind, self_trade } => {
                self.advance(Stage::Orders)?;
                self.add_kind(kind, self_trade)
            }
            StateItem::Execution(execution) => {
                self.advance_to_executions()?;
                let Some(last) = self.last_order else { return Err("an execution without an order") };
                if execution.shares.is_zero() {
                    return Err("an execution of no shares");
                }
                if Fee::on(last.place.1, execution.fee.rate()) != execution.fee {
                    return Err("a fee of another side's order");
                }
                if last.is_added_up {
                    return Err("an execution behind what all of them come to");
                }
                self.engine.orders.note_execution(last.slot, execution);
                Ok(())
            }
            StateItem::Executed(executed) => {
                self.advance_to_executions()?;
                let Some(last) = &mut self.last_order else { return Err("executions without an order") };
                let orders = &mut self.engine.orders;
                if !orders.is_unexecuted(last.slot) || !executed.is_sound(orders.get(last.slot).open) {
                    return Err("executions of an order that cannot have come to this");
                }
                last.is_added_up = true;
                orders.restore_executed(last.slot, executed);
                Ok(())
            }
            StateItem::Watch { symbol, last, left, references } => {
                self.advance(Stage::Watches)?;
                if symbol.0 as usize >= self.engine.symbols.all().len() {
                    return Err("the last price of a symbol that was not listed");
                }
                if symbol.0 as usize != self.engine.stops.watched() {
                    return Err("a last price out of its turn: each symbol has one or none, in their order");
                }
                if !left.is_sound(last) {
                    return Err("triggers that are left of prices between which the last one does not lie");
                }
                if last.is_none() && references.dynamic.is_some() {
                    return Err("a dynamic reference of a symbol without an execution");
                }
                self.left.extend((!left.is_none()).then_some((symbol, left)));
                self.engine.stops.watch_next(last, left);
                self.engine.instruments.set_references(symbol, references);
                Ok(())
            }
            StateItem::Rules { symbol, rules } => {
                self.advance(Stage::Rules)?;
                self.add_rules(symbol, &rules)
            }
            StateItem::Stop { order, account, placed, is_reached, trail } => {
                self.advance(Stage::Stops)?;
                self.check_names(account, placed.symbol)?;
                self.last_order = None;
                self.add_stop(order, account, &placed, is_reached, trail)
            }
            StateItem::Delayed { order, account, placed, is_under_way } => {
                self.advance(Stage::Stops)?;
                self.check_names(account, placed.symbol)?;
                self.add_delayed(order, account, &placed, is_under_way)
            }
            StateItem::Pending { order, account, placed, working, is_due } => {
                self.advance(Stage::Pendings)?;
                self.check_names(account, placed.symbol)?;
                self.check_order(order, placed.shares)?;
                // Orders whose release is due have an order of their own.
                let is_behind = |last: (bool, OrderId)| if is_due { last.0 <= is_due } else { last < (is_due, order) };
                if !self.last_pending.replace((is_due, order)).is_none_or(is_behind) {
                    return Err("an order that waits for another one before its turn");
                }
                self.engine.restore_pending(order, account, &placed, working, is_due)
            }
            StateItem::Deadline { order, until } => {
                self.advance(Stage::Deadlines)?;
                self.add_deadline(order, until)
            }
            StateItem::Iceberg { order, display, shown } => {
                self.advance(Stage::Icebergs)?;
                if self.last_iceberg.replace(order).is_some_and(|last| last >= order) {
                    return Err("an order that shows a part before its turn, or twice");
                }
                self.engine.restore_iceberg(order, display, shown)
            }
            StateItem::ClientOrder { order, id, account, placed, until, display, trail, done } => {
                self.advance(Stage::ClientOrders)?;
                self.check_names(account, placed.symbol)?;
                self.add_client_order(ClientOrder { id, account, order, placed, until, display, trail, done })
            }
            StateItem::Fees { symbol, tier, fees } => {
                self.advance(Stage::Fees)?;
                self.check_names(fees.account, symbol)?;
                self.add_fees(symbol, tier, fees)
            }
            StateItem::Tier { account, tier } => {
                self.advance(Stage::Tiers)?;
                self.add_tier(account, tier)
            }
            StateItem::Group { account, group } => {
                self.advance(Stage::Groups)?;
                self.add_group(account, group)
            }
            StateItem::AccountStatus { account, status } => {
                self.advance(Stage::AccountStatuses)?;
                self.add_account_status(account, status)
            }
            StateItem::Kill { scope } => {
                self.advance(Stage::Kills)?;
                self.add_kill(scope)
            }
            StateItem::Protection { account, grace } => {
                self.advance(Stage::Protections)?;
                self.add_protection(account, grace)
            }
            StateItem::Limits { account, limits } => {
                self.advance(Stage::Limits)?;
                self.add_limits(account, limits)
            }
            StateItem::Calendar { through } => {
                self.advance(Stage::Calendar)?;
                self.add_calendar(through)
            }
            StateItem::Message(message) => {
                self.advance(Stage::Messages)?;
                self.add_message(message)
            }
            StateItem::PhaseChanged { symbol, at } => {
                self.advance(Stage::PhaseChanges)?;
                self.add_phase_change(symbol, at)
            }
        }
    }

    fn advance(&mut self, stage: Stage) -> Result<(), &'static str> {
        if stage < self.stage {
            return Err("an item out of its order");
        }
        self.stage = stage;
        Ok(())
    }

    /// Executions follow an order on a book, or one that waits for its turn.
    fn advance_to_executions(&mut self) -> Result<(), &'static str> {
        if self.stage == Stage::Stops { Ok(()) } else { self.advance(Stage::Orders) }
    }

    fn check_names(&self, account: AccountIndex, symbol: SymbolIndex) -> Result<(), &'static str> {
        let known = (account.0 as usize) < self.engine.accounts.all().len()
            && (symbol.0 as usize) < self.engine.symbols.all().len();
        if known { Ok(()) } else { Err("an account or symbol that was not listed") }
    }

    fn add_money(&mut self, money: Money) -> Result<(), &'static str> {
        // One order's hold is below 10^38 units, and the sum so far at most 10^36: no overflow before the check.
        self.engine.money_issued = self.engine.money_issued.plus(money);
        if self.engine.money_issued > Money::CAP { Err("more money than may be created") } else { Ok(()) }
    }

    fn add_shares(&mut self, symbol: SymbolIndex, shares: Position) {
        let found = &mut self.found[symbol.0 as usize];
        *found = found.plus(shares);
    }
}
