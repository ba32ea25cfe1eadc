//! Random commands and queries that make every situation of matching frequent: few accounts, few prices, small sizes,
//! and at times the extremes. The workload looks at the model to aim well (an order that costs exactly the balance, a
//! cancel of an order that is open). The same seed gives the same commands on every machine. The workload does not know
//! the engine.

mod amendments;
mod asked;
mod closing;
mod funding;
mod groups;
mod kills;
mod limits;
mod mass_cancels;
mod pendings;
mod phases;
mod protections;
mod shared_log;
mod trails;

use terms::{
    AccountId, AccountIndex, Bond, ClientOrderId, Command, DOLLAR, Deadline, FundsOrder, Money, NewOrder, Op,
    OrderForm, OrderId, OrderKind, OrderName, Pause, Place, Position, Price, Query, SelfTrade, Shares, Side, Symbol,
    SymbolIndex, SymbolRules, Trigger,
};

pub use self::asked::asked_by_gateways;
use crate::drawn_fees;
use crate::drawn_rules::draw;
use crate::exchange::{Model, Order};
pub use crate::random::Random;

/// The kind of a drawn market: high or low prices, and much or little money and shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Prices around 100 dollars, one to a few shares, and money enough.
    Plain,
    /// Prices and sizes as in a plain market, with little money and few shares, so that refusals are frequent.
    Poor,
    /// Prices and sizes of a few 10^-8.
    Crumbs,
    /// The lowest and the highest prices and sizes, and accounts that together reach the caps.
    Extreme,
}

/// The source of commands for one market.
#[derive(Clone, Debug)]
pub struct Workload {
    random: Random,
    flavour: Flavour,
    accounts: Vec<AccountId>,
    symbols: Vec<Symbol>,
    prices: Vec<Price>,
    sizes: Vec<Shares>,
    balances: Vec<Money>,
    issues: Vec<Position>,
    /// The number of open orders above which cancels prevail.
    open_max: usize,
    /// The ids that clients give their orders; empty in a market without such orders.
    client_ids: Vec<ClientOrderId>,
    /// Whether there are other orders than limit orders.
    has_all_kinds: bool,
    /// Whether there are commands that no client gives.
    has_own_commands: bool,
    /// Whether orders have deadlines and modes of self-trade prevention, and are amended.
    has_terms: bool,
    /// Whether orders are linked.
    has_links: bool,
    /// Whether symbols are given rules.
    has_rules: bool,
    /// Whether orders show a part of their shares at a time.
    has_icebergs: bool,
    /// Whether there are fees.
    has_fees: bool,
    /// Whether symbols are halted and have auctions.
    has_phases: bool,
    /// Whether accounts are put into groups.
    has_groups: bool,
    /// Whether triggers follow the market.
    has_trails: bool,
    /// Whether orders wait for others to be executed.
    has_pendings: bool,
    /// Whether clients cancel all orders of an account at once.
    has_mass_cancels: bool,
    /// Whether the workload kills accounts, symbols and everything.
    has_kills: bool,
    /// Whether the workload kills and releases several accounts together.
    has_kills_together: bool,
    /// Whether accounts are protected.
    has_protections: bool,
    /// Whether the market takes messages of a log that several nodes share.
    has_messages: bool,
    /// Whether accounts get limits.
    has_limits: bool,
    /// Whether accounts pay for what other accounts get.
    has_funding: bool,
    /// Whether open orders get other terms.
    has_amendments: bool,
    /// Whether accounts come and are closed.
    has_closings: bool,
}

/// The order that a command places by itself or in place of another one, alone, and that bond.
pub(crate) fn apart(placing: Command) -> Option<(Place, Bond)> {
    let Command::Place(place) = placing else { return None };
    let bond = place.bond();
    matches!(bond, Bond::Alone | Bond::IfCanceled | Bond::Replacing).then(|| (place.bound(Bond::Alone), bond))
}

impl Workload {
    /// Draws a market; its flavour follows from the seed.
    pub fn new(seed: u64) -> Workload {
        let mut random = Random::new(seed);
        let flavour = random.pick(&[Flavour::Plain, Flavour::Plain, Flavour::Poor, Flavour::Crumbs, Flavour::Extreme]);
        let account_count = 6 + random.below(7);
        let symbol_count = 2 + random.below(2);
        let steps = 3 + random.below(7) as i64;
        let (prices, sizes) = match flavour {
            Flavour::Plain | Flavour::Poor => (
                (0..steps).map(|step| 9_900_000_000 + step * 50_000_000).collect(),
                vec![100_000_000, 200_000_000, 300_000_000, 500_000_000, 250_000_000],
            ),
            Flavour::Crumbs => ((1..=steps).collect(), vec![1, 2, 3, 4, 5]),
            Flavour::Extreme => {
                (vec![1, 2, 100_000_000, i64::MAX - 1, i64::MAX], vec![1, 2, 100_000_000, i64::MAX - 1, i64::MAX])
            }
        };
        let (balances, issues) = stocks(flavour);
        Workload {
            accounts: account_ids().take(account_count).collect(),
            symbols: ["SPY", "spy", "T5asdf0123456789T5asdf0123456789"][..symbol_count].iter().map(symbol).collect(),
            prices: prices.into_iter().map(|units: i64| Price::from_units(units).expect("above zero")).collect(),
            sizes: sizes.into_iter().map(|units| Shares::from_units(units).expect("above zero")).collect(),
            balances,
            issues,
            open_max: random.pick(&[10, 30, 80]),
            flavour,
            random,
            client_ids: Vec::new(),
            has_all_kinds: false,
            has_own_commands: false,
            has_terms: false,
            has_links: false,
            has_rules: false,
            has_icebergs: false,
            has_fees: false,
            has_phases: false,
            has_groups: false,
            has_trails: false,
            has_pendings: false,
            has_mass_cancels: false,
            has_kills: false,
            has_kills_together: false,
            has_protections: false,
            has_messages: false,
            has_limits: false,
            has_funding: false,
            has_amendments: false,
            has_closings: false,
        }
    }

    /// Draws a market in which clients give ids to many of their orders. There are few ids, so that ids come again.
    pub fn with_client_orders(seed: u64) -> Workload {
        let mut workload = Workload::new(seed);
        let count = workload.random.pick(&[2, 5, 30]);
        workload.client_ids = client_ids().take(count).collect();
        workload
    }

    /// Adds other kinds of orders: about one order in four is no limit order, and one in four waits for a price.
    pub fn with_all_kinds(self) -> Workload {
        Workload { has_all_kinds: true, ..self }
    }

    /// Adds the commands that no client of the XML protocol gives: those of the market's loop, those of older journals,
    /// and the freeing of client order ids.
    pub fn with_own_commands(self) -> Workload {
        Workload { has_own_commands: true, ..self }
    }

    /// Adds orders that expire, self-trade prevention, and amends.
    pub fn with_terms(self) -> Workload {
        Workload { has_terms: true, ..self }
    }

    /// Adds pairs of orders, each of which cancels the other.
    pub fn with_links(self) -> Workload {
        Workload { has_links: true, ..self }
    }

    /// Adds changes of the rules of symbols.
    pub fn with_rules(self) -> Workload {
        Workload { has_rules: true, ..self }
    }

    /// Adds groups of accounts, which change at times.
    pub fn with_groups(self) -> Workload {
        Workload { has_groups: true, ..self }
    }

    /// Adds orders that show a part of their shares at a time.
    pub fn with_icebergs(self) -> Workload {
        Workload { has_icebergs: true, ..self }
    }

    /// Adds fees and tiers, which change at times.
    pub fn with_fees(self) -> Workload {
        Workload { has_fees: true, ..self }
    }

    /// Adds halts of symbols, and auctions in which orders gather.
    pub fn with_phases(self) -> Workload {
        Workload { has_phases: true, ..self }
    }

    /// Adds orders whose triggers follow the market.
    pub fn with_trails(self) -> Workload {
        Workload { has_trails: true, ..self }
    }

    /// Adds orders that wait until others are executed.
    pub fn with_pendings(self) -> Workload {
        Workload { has_pendings: true, ..self }
    }

    /// Adds cancels of all orders of an account at once.
    pub fn with_mass_cancels(self) -> Workload {
        Workload { has_mass_cancels: true, ..self }
    }

    /// Adds the kill switch.
    pub fn with_kills(self) -> Workload {
        Workload { has_kills: true, ..self }
    }

    /// Adds kills and releases of several accounts together.
    pub fn with_kills_together(self) -> Workload {
        Workload { has_kills_together: true, ..self }
    }

    /// Adds messages of a log that several nodes share, and repeated ones.
    pub fn with_messages(self) -> Workload {
        Workload { has_messages: true, ..self }
    }

    /// Adds protected accounts, some of which have no session any more.
    pub fn with_protections(self) -> Workload {
        Workload { has_protections: true, ..self }
    }

    /// Adds limits of accounts, which come and go.
    pub fn with_limits(self) -> Workload {
        Workload { has_limits: true, ..self }
    }

    /// Adds accounts that pay for what other accounts get.
    pub fn with_funding(self) -> Workload {
        Workload { has_funding: true, ..self }
    }

    /// Adds amendments of all terms.
    pub fn with_amendments(self) -> Workload {
        Workload { has_amendments: true, ..self }
    }

    /// Adds accounts that come, have a little and are closed.
    pub fn with_closings(self) -> Workload {
        Workload { has_closings: true, ..self }
    }

    /// The kind of market that was drawn.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// Draws the next command or query for the state of the model.
    pub fn next_op(&mut self, model: &Model) -> Op {
        if self.has_phases && self.random.percent(5) {
            return Op::Command(phases::draw(self, model));
        }
        let few_accounts = model.accounts().count() * 2 < self.accounts.len();
        let many_open = model.open_orders().len() > self.open_max;
        let op = match self.random.below(100) {
            0..40 if few_accounts => self.create_account(),
            40..60 if model.symbols().count() == 0 => self.create_symbol(),
            0..2 => self.create_account(),
            2..3 if self.has_own_commands && self.random.percent(50) => Op::Command(self.own_command()),
            2..3 => self.create_symbol(),
            3..5 if self.has_rules => self.change_rules(model),
            3..9 if self.has_own_commands && self.random.percent(10) => self.free_client_order_id(model),
            5..7 if self.has_fees => self.change_fees(),
            3..9 if self.has_groups && self.random.percent(30) => Op::Command(groups::draw(self)),
            3..9 => self.issue_shares(),
            9..60 if many_open => self.cancel_order(model),
            9..65 => self.place_order(model),
            65..85 => self.cancel_order(model),
            _ => self.query(model),
        };
        let gathers = self.has_phases && phases::gathers(&op, model) && self.random.percent(80);
        let op = if self.has_terms && !gathers { self.on_terms(op, model) } else { op };
        self.by_client_id(op, model)
    }

    /// Draws a command of the market's loop.
    fn own_command(&mut self) -> Command {
        if self.has_terms && self.random.percent(70) { Command::ExpireOrders } else { Command::ActivateReached }
    }

    /// Gives an op a deadline or a mode of self-trade prevention; at times turns a cancel into an amend.
    fn on_terms(&mut self, op: Op, model: &Model) -> Op {
        match op {
            Op::Command(Command::Place(place)) if let Some(order) = place.alone() => {
                let (account, order) = self.against_its_own(model).unwrap_or((place.account, order));
                // With another mode, a fill-or-kill that meets its own account's order is merely canceled.
                let cancels_oldest = order.kind == OrderKind::FillOrKill && self.random.percent(60);
                let self_trade = if cancels_oldest { SelfTrade::CancelOldest } else { self.self_trade() };
                let until = self.deadline(model);
                let order = order.with_self_trade(self_trade);
                if let Some(for_money) = groups::for_money(self, account, &order) {
                    return Op::Command(for_money);
                }
                Op::Command(Command::Place(Place::order(account, order).named(place.client_id()).until(until)))
            }
            Op::Command(Command::Place(place)) if let OrderForm::Funds(order) = place.form() => {
                let self_trade = if self.random.percent(60) { self.self_trade() } else { SelfTrade::Allowed };
                let (account, order) = match self.against_its_own(model) {
                    Some((account, NewOrder { symbol, side, .. })) => (account, FundsOrder { symbol, side, ..order }),
                    None => (place.account, order),
                };
                let order = FundsOrder { self_trade, ..order };
                Op::Command(Command::Place(Place::funds(account, order).named(place.client_id())))
            }
            Op::Command(Command::CancelOrder { account, order }) if self.random.percent(25) => {
                let shares = self.amended_shares(order, model);
                Op::Command(Command::AmendOrder { account, order, shares })
            }
            other @ (Op::Command(_) | Op::Query(_)) => other,
        }
    }

    /// Draws an order that matches an open one of the same account or its group, at times.
    fn against_its_own(&mut self, model: &Model) -> Option<(AccountId, NewOrder)> {
        let skipped_percent = if self.has_groups { 60 } else { 86 };
        if model.open_orders().len() == 0 || self.random.percent(skipped_percent) {
            return None;
        }
        let nth = self.random.below(model.open_orders().len());
        let own = model.open_orders().nth(nth)?;
        let account = groups::another(self, own.account, model);
        let account = account.or_else(|| model.accounts().nth(own.account.0 as usize))?;
        let symbol = model.symbols().nth(own.symbol.0 as usize)?;
        let kind = self.kind();
        let shares = if self.random.percent(40) { own.open } else { self.random.pick(&self.sizes) };
        let limit = if self.random.percent(60) { own.limit } else { self.random.pick(&self.prices) };
        let limit = if own.kind == OrderKind::Market { self.random.pick(&self.prices) } else { limit };
        Some((account, NewOrder::of_kind(kind, symbol, own.side.opposite(), limit, shares)))
    }

    /// Draws a kind. Orders for auctions are rare: they are drawn where orders gather.
    fn kind(&mut self) -> OrderKind {
        let kind = self.random.pick(&OrderKind::ALL);
        if kind.is_for_auction() && self.random.percent(90) { OrderKind::Limit } else { kind }
    }

    fn self_trade(&mut self) -> SelfTrade {
        if self.random.percent(50) { self.random.pick(&SelfTrade::ALL) } else { SelfTrade::Allowed }
    }

    /// Draws a time soon, or one that has passed.
    fn deadline(&mut self, model: &Model) -> Option<Deadline> {
        let now = model.time().0;
        let at = match self.random.below(100) {
            0 => now,
            1 => now.saturating_sub(1),
            2..16 => now.saturating_add(self.random.pick(&[400_001, 800_000, 4_000_000, 40_000_000, 400_000_000])),
            _ => 0,
        };
        Deadline::from_code(at)
    }

    /// Draws the amended shares of an order: mostly fewer than it has, and more than were executed.
    fn amended_shares(&mut self, order: OrderName, model: &Model) -> Shares {
        let aimed = match order {
            OrderName::Id(order) => model.open_orders().find(|open| open.id == order),
            OrderName::Client(_) => None,
        };
        let Some(order) = aimed.filter(|_| self.random.percent(90)) else { return self.random.pick(&self.sizes) };
        let has = order.placed.less(order.reduced);
        let executed = has.less(order.open);
        let open = order.open.units();
        let left = match self.random.below(10) {
            0 => 0,
            1 => open,
            2 => 1,
            3 => open - 1,
            _ => 1 + self.random.below(usize::try_from(open).unwrap_or(usize::MAX)) as i64,
        };
        let shares = executed.units().saturating_add(left).max(1);
        Shares::from_units(shares).expect("above zero")
    }

    /// Draws the next command or query; at times, in a market with all kinds of orders, the two commands of a
    /// replacement, with no other command between them; or those that kill or release several accounts together.
    pub fn next_request(&mut self, model: &Model) -> Vec<Op> {
        if self.has_mass_cancels && self.random.percent(1) {
            return vec![Op::Command(mass_cancels::draw(self, model))];
        }
        if self.has_kills
            && let Some(kill) = kills::draw(self, model)
        {
            return vec![Op::Command(kill)];
        }
        if self.has_kills_together
            && let Some(together) = kills::draw_together(self, model)
        {
            return together.into_iter().map(Op::Command).collect();
        }
        if self.has_messages && self.random.percent(5) {
            return vec![Op::Command(shared_log::draw(self, model))];
        }
        if self.has_protections
            && let Some(protection) = protections::draw(self, model)
        {
            return vec![Op::Command(protection)];
        }
        if self.has_limits && self.random.percent(3) {
            return vec![Op::Command(limits::draw(self, model))];
        }
        if self.has_limits
            && self.random.percent(1)
            && let Some(order) = limits::market_order(self, model)
        {
            return vec![Op::Command(order)];
        }
        if self.has_funding
            && let Some(command) = funding::draw(self, model)
        {
            return vec![Op::Command(command)];
        }
        if self.has_closings && self.random.percent(8) {
            return vec![Op::Command(closing::draw(self, model))];
        }
        if self.has_amendments && self.random.percent(11) {
            return vec![Op::Command(amendments::draw(self, model))];
        }
        let request = self.shown_request(model);
        if !self.has_trails {
            return request;
        }
        let trailing =
            |op| if let Op::Command(placing) = op { Op::Command(trails::behind(self, placing, model)) } else { op };
        request.into_iter().map(trailing).collect()
    }

    fn shown_request(&mut self, model: &Model) -> Vec<Op> {
        if !self.has_icebergs {
            return self.whole_request(model);
        }
        let behind = if self.random.percent(3) { self.fill_behind_a_tip(model) } else { None };
        let request = behind.map_or_else(|| self.whole_request(model), |fill| vec![Op::Command(fill)]);
        let by_parts = |op| if let Op::Command(placing) = op { Op::Command(self.in_parts(placing, model)) } else { op };
        request.into_iter().map(by_parts).collect()
    }

    fn whole_request(&mut self, model: &Model) -> Vec<Op> {
        if self.has_all_kinds && self.random.percent(6) {
            return self.replacement(model).into_iter().map(Op::Command).collect();
        }
        if self.has_links && self.random.percent(5) {
            let again = if self.random.percent(20) { self.repeated_pair(model) } else { None };
            return again.unwrap_or_else(|| self.pair(model)).into_iter().map(Op::Command).collect();
        }
        if self.has_pendings && self.random.percent(14) {
            return pendings::draw(self, model).into_iter().map(Op::Command).collect();
        }
        vec![self.next_op(model)]
    }

    /// Turns an order that shows all its shares into one that shows a part at a time, at times.
    fn in_parts(&mut self, placing: Command, model: &Model) -> Command {
        let Some((place, bond)) = apart(placing) else { return placing };
        let Some(order) = place.alone() else { return placing };
        let (account, client_id) = (place.account, place.client_id());
        let before = model.client_orders().find(|&(id, order)| {
            Some(id) == client_id && model.accounts().nth(order.account.0 as usize) == Some(account)
        });
        let display = match before.map(|(_, order)| order.display) {
            Some(display) if self.random.percent(85) => display,
            _ if self.random.percent(30) => Some(self.display(order.shares)),
            _ => None,
        };
        let iceberg = display.and_then(|display| Place::iceberg(account, order, display));
        let Some(iceberg) = iceberg else { return placing };
        Command::Place(iceberg.named(client_id).until(place.deadline()).bound(bond))
    }

    /// Draws a fill-or-kill that needs hidden shares of an order and does not get that far: an order of its own account
    /// stands behind the tip.
    fn fill_behind_a_tip(&mut self, model: &Model) -> Option<Command> {
        let hide: Vec<&Order> = model.resting().filter(|order| order.shown < order.open).collect();
        let tip = if hide.is_empty() { None } else { Some(self.random.pick(&hide)) }?;
        let queue = model.queue(tip.symbol, tip.side);
        let own = queue.into_iter().find(|own| own.limit == tip.limit && own.arrival > tip.arrival)?;
        let account = model.accounts().nth(own.account.0 as usize)?;
        let symbol = model.symbols().nth(own.symbol.0 as usize)?;
        let shares = Shares::from_units(tip.shown.units() + 1)?;
        let order = NewOrder::of_kind(OrderKind::FillOrKill, symbol, tip.side.opposite(), tip.limit, shares);
        let self_trade = self.self_trade();
        Some(Command::Place(Place::order(account, order.with_self_trade(self_trade))))
    }

    /// Draws a display: mostly a few parts; at times as many as are allowed, one more, one, or less than one.
    fn display(&mut self, shares: Shares) -> Shares {
        let all = shares.units();
        let least = all / 100 + i64::from(all % 100 != 0);
        let units = match self.random.below(24) {
            0 => least,
            1 => least - 1,
            2 => all,
            3 => all.saturating_add(1),
            4 => self.random.pick(&self.sizes).units(),
            5..8 => all / 7 + 1,
            8..16 => all / 3 + 1,
            _ => all / 2 + 1,
        };
        Shares::from_units(units.max(1)).expect("above zero")
    }

    /// Draws two orders, each of which cancels the other: mostly one takes a profit on one side of the market and the
    /// other limits a loss on the other side; at times two that cannot be linked.
    fn pair(&mut self, model: &Model) -> [Command; 2] {
        let (account, symbol) = (self.account(), self.symbol());
        let side = self.random.pick(&[Side::Buy, Side::Sell]);
        let [mut low, mut high] = [self.random.pick(&self.prices), self.random.pick(&self.prices)];
        if low > high {
            (low, high) = (high, low);
        }
        let (profit, loss) = if side == Side::Sell { (high, low) } else { (low, high) };
        let shares = match self.random.below(10) {
            0..8 => self.random.pick(&self.sizes),
            _ => affordable(model, account, symbol, side, profit, 0),
        };
        let stop = self.random.pick(&[OrderKind::Limit, OrderKind::Market, OrderKind::ImmediateOrCancel]);
        let loss = NewOrder::of_kind(stop, symbol, side, loss, shares).triggered_by(Trigger::stop_loss(side, loss));
        let profit = match self.random.percent(70) {
            true => NewOrder::of_kind(OrderKind::PostOnly, symbol, side, profit, shares),
            false => NewOrder::limit(symbol, side, profit, shares).triggered_by(Trigger::take_profit(side, profit)),
        };
        let [mut first, mut second] = if self.random.percent(50) { [loss, profit] } else { [profit, loss] };
        match self.random.below(40) {
            0 => second.shares = self.random.pick(&self.sizes),
            1 => second.symbol = self.symbol(),
            2 => second.side = second.side.opposite(),
            3 => second.trigger = None,
            4 => first.trigger = None,
            5 => first.kind = OrderKind::Limit,
            _ => {}
        }
        for order in [&mut first, &mut second] {
            *order = order.with_self_trade(if self.has_terms { self.self_trade() } else { SelfTrade::Allowed });
            if order.kind == OrderKind::Market {
                order.limit = order.side.any_price();
            }
        }
        let other = if self.random.percent(4) { self.account() } else { account };
        let (one, two) = (self.terms_of_a_pair(model), self.terms_of_a_pair(model));
        [
            Command::Place(Place::order(account, first).named(one.0).until(one.1)),
            Command::Place(Place::order(other, second).named(two.0).until(two.1).bound(Bond::Linked)),
        ]
    }

    /// Draws a pair again whose orders have client order ids.
    fn repeated_pair(&mut self, model: &Model) -> Option<[Command; 2]> {
        let named = |order: OrderId| model.order(order).client_id.is_some();
        let pairs: Vec<(OrderId, OrderId)> = model.pairs().filter(|&(one, other)| named(one) && named(other)).collect();
        if pairs.is_empty() {
            return None;
        }
        let (one, other) = self.random.pick(&pairs);
        let again = |order: OrderId| {
            let order = model.order(order);
            let account = model.accounts().nth(order.account.0 as usize).expect("it placed the order");
            let symbol = model.symbols().nth(order.symbol.0 as usize).expect("an order's symbol exists");
            let NewOrder { side, limit, shares, kind, trigger, self_trade, .. } = order.as_placed();
            let again = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
            (account, again, order.client_id, order.until)
        };
        let (account, order, client_id, until) = again(one);
        let first = Command::Place(Place::order(account, order).named(client_id).until(until));
        let (account, order, client_id, until) = again(other);
        Some([first, Command::Place(Place::order(account, order).named(client_id).until(until).bound(Bond::Linked))])
    }

    fn terms_of_a_pair(&mut self, model: &Model) -> (Option<ClientOrderId>, Option<Deadline>) {
        let named = !self.client_ids.is_empty() && self.random.percent(30);
        let id = if named { Some(self.random.pick(&self.client_ids)) } else { None };
        (id, if self.has_terms { self.deadline(model) } else { None })
    }

    /// Draws a cancel, and an order of the same account behind it: on the condition that the cancel cancels something,
    /// or without, or in one step with the cancel.
    fn replacement(&mut self, model: &Model) -> [Command; 2] {
        let (account, canceled) = self.aim(model, 60);
        let open = model.open_orders().find(|open| open.id == canceled);
        let placing = match open.filter(|_| self.random.percent(50)) {
            // The money or shares that the cancel frees pay for it, or nearly.
            Some(&Order { side, open: shares, symbol, .. }) => {
                let symbol = model.symbols().nth(symbol.0 as usize).expect("an order's symbol exists");
                let limit = self.random.pick(&self.prices);
                let order = NewOrder::limit(symbol, side, limit, shares);
                Op::Command(Command::Place(Place::order(account, order)))
            }
            None => self.place_order(model),
        };
        let placing = if self.has_terms { self.on_terms(placing, model) } else { placing };
        let cancel = self.by_client_id(Op::Command(Command::CancelOrder { account, order: canceled.into() }), model);
        let (Op::Command(cancel), Op::Command(placing)) = (cancel, self.by_client_id(placing, model)) else {
            panic!("a command by a client order id is a command");
        };
        let Command::CancelOrder { account, .. } = cancel else { panic!("a cancel by a client order id is a cancel") };
        let Command::Place(mut place) = placing else { panic!("{placing:?} places no order") };
        place.account = account;
        let bond = match self.random.below(20) {
            0..8 => Bond::IfCanceled,
            8..15 => Bond::Replacing,
            _ => Bond::Alone,
        };
        let first = match (cancel, bond) {
            (Command::CancelOrder { account, order }, Bond::Replacing) => Command::ReplaceOrder { account, order },
            (cancel, _) => cancel,
        };
        [first, Command::Place(place.bound(bond))]
    }

    /// Frees an id, mostly one that stands for an order. Without ids, issues shares.
    fn free_client_order_id(&mut self, model: &Model) -> Op {
        if self.client_ids.is_empty() {
            return self.issue_shares();
        }
        let any = (self.random.pick(&self.accounts), self.random.pick(&self.client_ids));
        let (account, id) = self.named_order(model).unwrap_or(any);
        Op::Command(Command::FreeClientOrderId { account, id })
    }

    /// Makes an op name its order by client order id, at times.
    fn by_client_id(&mut self, op: Op, model: &Model) -> Op {
        if self.client_ids.is_empty() || self.random.percent(50) {
            return op;
        }
        let id = self.random.pick(&self.client_ids);
        match op {
            Op::Command(Command::Place(place)) if place.alone().is_some() => {
                let new = Command::Place(place.named(Some(id)));
                Op::Command(self.repeated(model).unwrap_or(new))
            }
            Op::Command(Command::Place(place)) if matches!(place.form(), OrderForm::Funds(_)) => {
                Op::Command(Command::Place(place.named(Some(id))))
            }
            Op::Command(Command::CancelOrder { account, .. }) => {
                let (account, id) = self.named_order(model).unwrap_or((account, id));
                Op::Command(Command::CancelOrder { account, order: id.into() })
            }
            Op::Command(Command::AmendOrder { account, shares, .. }) => {
                let (account, id) = self.named_order(model).unwrap_or((account, id));
                Op::Command(Command::AmendOrder { account, order: id.into(), shares })
            }
            Op::Query(Query { account, .. }) => {
                let (account, id) = self.named_order(model).unwrap_or((account, id));
                Op::Query(Query { account, order: id.into() })
            }
            other @ Op::Command(_) => other,
        }
    }

    /// Draws a client's order again, at times: unchanged, or with another part.
    fn repeated(&mut self, model: &Model) -> Option<Command> {
        if self.random.percent(60) {
            return None;
        }
        let next_freed = model.client_orders().filter(|(_, order)| order.done_at().is_some());
        let next_freed = next_freed.min_by_key(|(_, order)| order.done_at());
        let any = self.random.below(model.client_orders().count());
        let any = model.client_orders().nth(any);
        let (id, order) = if self.random.percent(40) { next_freed.or(any) } else { any }?;
        let account = model.accounts().nth(order.account.0 as usize)?;
        let symbol = model.symbols().nth(order.symbol.0 as usize)?;
        let Order { side, limit, placed: shares, kind, trigger, self_trade, until, .. } = *order;
        let same = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
        let until = if self.has_terms && self.random.percent(10) { self.deadline(model) } else { until };
        let order = match self.random.below(if self.has_all_kinds { 10 } else { 8 }) {
            7 if self.has_terms => NewOrder { self_trade: self.self_trade(), ..same },
            0 => NewOrder { symbol: self.symbol(), ..same },
            1 => NewOrder { side: same.side.opposite(), ..same },
            2 => NewOrder { limit: self.random.pick(&self.prices), ..same },
            3 => NewOrder { shares: self.random.pick(&self.sizes), ..same },
            8 if same.trigger.is_none() => NewOrder { kind: self.random.pick(&OrderKind::ALL), ..same },
            9 if !same.kind.is_for_auction() => NewOrder { trigger: self.trigger(same.side), ..same },
            // The client may have asked for an order that moves, and with any limit.
            _ if kind == OrderKind::PostOnly && self.random.percent(20) => {
                NewOrder { kind: OrderKind::PostOnlyMove, limit: self.random.pick(&self.prices), ..same }
            }
            _ => same,
        };
        let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade } = order;
        let order = NewOrder { trigger, self_trade, ..NewOrder::of_kind(kind, symbol, side, limit, shares) };
        Some(Command::Place(Place::order(account, order).named(Some(id)).until(until)))
    }

    /// Draws an account with an id that stands for one of its orders, at times.
    fn named_order(&mut self, model: &Model) -> Option<(AccountId, ClientOrderId)> {
        if self.random.percent(30) {
            return None;
        }
        let count = model.client_orders().count();
        let (id, order) = model.client_orders().nth(self.random.below(count))?;
        Some((model.accounts().nth(order.account.0 as usize)?, id))
    }

    fn create_account(&mut self) -> Op {
        let account = self.random.pick(&self.accounts);
        let balance = if self.random.percent(3) { Money::CAP } else { self.random.pick(&self.balances) };
        Op::Command(Command::CreateAccount { account, balance })
    }

    fn create_symbol(&mut self) -> Op {
        Op::Command(Command::CreateSymbol { symbol: self.random.pick(&self.symbols) })
    }

    /// Draws rules for a symbol, sometimes those that it has.
    fn change_rules(&mut self, model: &Model) -> Op {
        let symbol = self.symbol();
        let at = model.symbols().position(|name| name == symbol).map(|place| SymbolIndex(place as u32));
        let rules = match at {
            Some(at) if self.random.percent(5) => model.rules(at),
            _ => draw(&mut self.random, &self.prices, &self.sizes),
        };
        let interrupts = self.has_phases && rules.has_band() && self.random.percent(70);
        let pause = if interrupts { Pause::from_seconds(1 + self.random.below(20) as u32) } else { rules.interruption };
        let rules = SymbolRules { interruption: pause, ..rules };
        Op::Command(Command::ChangeRules { symbol, rules })
    }

    /// Draws fees, or sometimes an account's tier.
    fn change_fees(&mut self) -> Op {
        let tier = drawn_fees::tier(&mut self.random);
        if self.random.percent(30) {
            return Op::Command(Command::ChangeTier { account: self.account(), tier });
        }
        let (symbol, fees) = (self.symbol(), drawn_fees::draw(&mut self.random, &self.accounts));
        Op::Command(Command::ChangeFees { symbol, tier, fees })
    }

    /// Draws a market order for more than the book has: it ends where the band ends, or the money for whole lots.
    fn sweep(&mut self, model: &Model, account: AccountId, symbol: Symbol, side: Side) -> Op {
        let at = model.symbols().position(|name| name == symbol).map(|place| SymbolIndex(place as u32));
        let rules = at.map_or(SymbolRules::NONE, |at| model.rules(at));
        let shares = match side {
            Side::Buy => Shares::from_units(self.sizes[2].units().saturating_mul(40)).expect("above zero"),
            Side::Sell => affordable(model, account, symbol, side, Price::MIN, 0),
        };
        let shares = shares.min(rules.shares_max).rounded_down(rules.lot).max(rules.lot);
        let trigger = if self.random.percent(30) { self.trigger(side) } else { None };
        let order = NewOrder { trigger, ..NewOrder::market(symbol, side, shares) };
        Op::Command(Command::Place(Place::order(account, order)))
    }

    /// Draws the last price that the band allows, or the next one outside it.
    fn limit_at_the_band(&mut self, model: &Model, symbol: Symbol) -> Option<Price> {
        let at = model.symbols().position(|name| name == symbol).map(|place| SymbolIndex(place as u32))?;
        let (low, high) = model.band(at)?;
        let units = self.random.pick(&[low.units(), low.units() - 1, high.units(), high.units().saturating_add(1)]);
        Price::from_units(units)
    }

    fn issue_shares(&mut self) -> Op {
        let (account, symbol) = (self.account(), self.symbol());
        let shares = match self.random.below(100) {
            0..5 => Position::CAP,
            5..10 => Position::ZERO,
            _ => self.random.pick(&self.issues),
        };
        Op::Command(Command::IssueShares { symbol, account, shares })
    }

    fn place_order(&mut self, model: &Model) -> Op {
        if self.has_phases
            && let Some(order) = phases::order(self, model)
        {
            return Op::Command(order);
        }
        let (account, symbol) = (self.account(), self.symbol());
        let side = self.random.pick(&[Side::Buy, Side::Sell]);
        let mut limit = self.random.pick(&self.prices);
        if self.has_rules && self.random.percent(5) {
            limit = self.limit_at_the_band(model, symbol).unwrap_or(limit);
        }
        let shares = match self.random.below(100) {
            0..80 => self.random.pick(&self.sizes),
            80..90 => affordable(model, account, symbol, side, limit, 0),
            _ => affordable(model, account, symbol, side, limit, 1),
        };
        if self.has_rules && self.random.percent(7) {
            return self.sweep(model, account, symbol, side);
        }
        if self.has_all_kinds && self.random.percent(6) {
            let funds = match self.random.below(4) {
                0 => affordable_money(model, account),
                _ => limit.times(shares).min(Money::CAP),
            };
            let order = FundsOrder { symbol, side, funds, self_trade: SelfTrade::Allowed };
            return Op::Command(Command::Place(Place::funds(account, order)));
        }
        let kind = match self.has_all_kinds && self.random.percent(30) {
            true => self.random.pick(&OrderKind::ALL),
            false => OrderKind::Limit,
        };
        let order = NewOrder::of_kind(kind, symbol, side, limit, shares);
        let waits = self.has_all_kinds && !kind.is_for_auction() && self.random.percent(25);
        let trigger = if waits { self.trigger(side) } else { None };
        let order = NewOrder { trigger, ..order };
        Op::Command(Command::Place(Place::order(account, order)))
    }

    /// Draws a trigger.
    fn trigger(&mut self, side: Side) -> Option<Trigger> {
        let price = self.random.pick(&self.prices);
        Some(if self.random.percent(60) { Trigger::stop_loss(side, price) } else { Trigger::take_profit(side, price) })
    }

    fn cancel_order(&mut self, model: &Model) -> Op {
        let (account, order) = self.aim(model, 70);
        Op::Command(Command::CancelOrder { account, order: order.into() })
    }

    fn query(&mut self, model: &Model) -> Op {
        let (account, order) = self.aim(model, 40);
        Op::Query(Query { account, order: order.into() })
    }

    /// Draws an order, mostly with its own account; an open order in `open_percent` of a hundred cases.
    fn aim(&mut self, model: &Model, open_percent: usize) -> (AccountId, OrderId) {
        let placed = model.orders_placed();
        let order = if self.random.percent(open_percent) && model.open_orders().len() > 0 {
            let nth = self.random.below(model.open_orders().len());
            model.open_orders().nth(nth).map_or(OrderId(0), |order| order.id)
        } else if self.random.percent(85) {
            // The last few hundred: older orders all look the same.
            let back = self.random.below(placed.min(300) as usize) as u64;
            OrderId(placed - back)
        } else {
            self.random.pick(&[OrderId(0), OrderId(placed + 1), OrderId(placed + 2), OrderId(u64::MAX)])
        };
        if order.0 == 0 || order.0 > placed || self.random.percent(10) {
            return (self.account(), order);
        }
        let owner = model.accounts().nth(model.order(order).account.0 as usize);
        (owner.expect("an order's account exists"), order)
    }

    /// Draws an account: mostly one of the market's, created or not; rarely one that nobody ever creates.
    fn account(&mut self) -> AccountId {
        if self.random.percent(2) { account(b"7777777") } else { self.random.pick(&self.accounts) }
    }

    fn symbol(&mut self) -> Symbol {
        if self.random.percent(2) { symbol(&"NONE") } else { self.random.pick(&self.symbols) }
    }
}

/// The balances and issues that accounts are given.
fn stocks(flavour: Flavour) -> (Vec<Money>, Vec<Position>) {
    let dollars = |whole: i128| Money::from_units(whole * DOLLAR);
    let shares = |hundredths: i128| Position::from_units(hundredths * 1_000_000);
    match flavour {
        Flavour::Plain => (vec![Money::ZERO, dollars(50_000), dollars(500_000)], vec![shares(10_000), shares(125)]),
        Flavour::Poor => (vec![Money::ZERO, dollars(250), dollars(1_500)], vec![shares(100), shares(50)]),
        Flavour::Crumbs => (
            vec![Money::ZERO, Money::from_units(150), Money::from_units(7)],
            vec![Position::from_units(20), Position::from_units(1)],
        ),
        Flavour::Extreme => {
            let part = |of: i128, divisor: i128| of / divisor;
            let cap = Money::CAP.units();
            let balances = [part(cap, 4), part(cap, 7), part(cap, 3), 0, 1].map(Money::from_units).to_vec();
            let most = i128::from(i64::MAX);
            (balances, [most, most * 3, 1, part(Position::CAP.units(), 10)].map(Position::from_units).to_vec())
        }
    }
}

/// All money of an account, or one unit if it has none.
fn affordable_money(model: &Model, account: AccountId) -> Money {
    let account = model.accounts().position(|id| id == account).map(|place| AccountIndex(place as u32));
    let balance = account.map_or(Money::ZERO, |account| model.balance(account));
    balance.max(Money::from_units(1))
}

/// The most shares of an order that the account can pay for, plus `more` units; at least one unit.
fn affordable(model: &Model, account: AccountId, symbol: Symbol, side: Side, limit: Price, more: i128) -> Shares {
    let account = model.accounts().position(|id| id == account).map(|place| AccountIndex(place as u32));
    let symbol = model.symbols().position(|name| name == symbol).map(|place| SymbolIndex(place as u32));
    let units = match (account, symbol, side) {
        (Some(account), _, Side::Buy) => model.balance(account).units() / i128::from(limit.units()),
        (Some(account), Some(symbol), Side::Sell) => model.position(account, symbol).units(),
        _ => 0,
    };
    let units = (units + more).clamp(1, i128::from(i64::MAX));
    Shares::from_units(units as i64).expect("at least one unit")
}

/// Ids that differ in leading zeros alone, the longest id, and plain ones.
fn account_ids() -> impl Iterator<Item = AccountId> {
    let odd = ["1", "01", "001", "99999999999999999999999999999999", "0"];
    let odd = odd.into_iter().map(|text| account(text.as_bytes()));
    odd.chain((100..).map(|number: u32| account(number.to_string().as_bytes())))
}

/// The shortest and the longest id, some that differ in case or in a mark alone, and plain ones.
fn client_ids() -> impl Iterator<Item = ClientOrderId> {
    let odd = ["a", "A", "123e4567-e89b-12d3-a456-426614174000", "x.y", "x:y"];
    let parse = |text: &str| ClientOrderId::parse(text.as_bytes()).expect("letters, digits and marks");
    odd.into_iter().map(parse).chain((1..).map(move |number: u32| parse(&format!("order/{number}"))))
}

fn account(digits: &[u8]) -> AccountId {
    AccountId::parse(digits).expect("digits")
}

fn symbol(name: &&str) -> Symbol {
    Symbol::parse(name.as_bytes()).expect("letters and digits")
}
