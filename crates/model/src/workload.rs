//! Random commands and queries that make every situation of matching frequent: few accounts, few prices, small sizes, and
//! now and then the extremes. Looks at the model to aim well (an order that costs exactly the balance, a cancel of an
//! order that is open). The same seed gives the same commands on every machine. It knows nothing of the engine.

use engine::{
    AccountId, AccountIndex, ClientOrderId, Command, DOLLAR, FundsOrder, Money, NewOrder, Op, OrderId, OrderKind,
    Position, Price, Query, Shares, Side, Symbol, SymbolIndex, Trigger,
};

use crate::exchange::{Model, Order};

/// Pseudo-random numbers: splitmix64.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence that `seed` names.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; zero when that is zero.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.any()) * bound as u128) >> 64) as usize
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of several. Panics if there are none.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

/// What kind of market is drawn: how dear things are and how much of them there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// Prices around 100 dollars, one to a few shares, and money enough.
    Plain,
    /// The same with little money and few shares, so that refusals are frequent.
    Poor,
    /// Prices and sizes of a few 10^-8.
    Crumbs,
    /// The least and the greatest prices and sizes, and accounts that together reach the caps.
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
    /// Above so many open orders, cancels prevail.
    open_max: usize,
    /// The ids that clients give their orders; empty in a market without such orders.
    client_ids: Vec<ClientOrderId>,
    /// Whether there are other orders than limit orders.
    has_all_kinds: bool,
    /// Whether there are commands that no client gives.
    has_own_commands: bool,
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
        }
    }

    /// The same kind of market, in which clients give ids to many of their orders, few ids each, so that they come again.
    pub fn with_client_orders(seed: u64) -> Workload {
        let mut workload = Workload::new(seed);
        let count = workload.random.pick(&[2, 5, 30]);
        workload.client_ids = client_ids().take(count).collect();
        workload
    }

    /// The same, with one order in four of another kind than a limit order, or so, and one in four that waits for a price.
    pub fn with_all_kinds(self) -> Workload {
        Workload { has_all_kinds: true, ..self }
    }

    /// The same, with the commands that no client gives: those of the market's loop, and those of older journals.
    pub fn with_own_commands(self) -> Workload {
        Workload { has_own_commands: true, ..self }
    }

    /// The kind of market that was drawn.
    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The next command or query, given how things stand.
    pub fn next_op(&mut self, model: &Model) -> Op {
        let few_accounts = model.accounts().count() * 2 < self.accounts.len();
        let many_open = model.open_orders().len() > self.open_max;
        let op = match self.random.below(100) {
            0..40 if few_accounts => self.create_account(),
            40..60 if model.symbols().count() == 0 => self.create_symbol(),
            0..2 => self.create_account(),
            2..3 if self.has_own_commands && self.random.percent(50) => Op::Command(Command::ActivateReached),
            2..3 => self.create_symbol(),
            3..9 => self.issue_shares(),
            9..60 if many_open => self.cancel_order(model),
            9..65 => self.place_order(model),
            65..85 => self.cancel_order(model),
            _ => self.query(model),
        };
        self.by_client_id(op, model)
    }

    /// The next command or query; now and then, in a market with all kinds of orders, the two commands of a replacement. No other
    /// one comes between those.
    pub fn next_request(&mut self, model: &Model) -> Vec<Op> {
        if self.has_all_kinds && self.random.percent(6) {
            return self.replacement(model).into_iter().map(Op::Command).collect();
        }
        vec![self.next_op(model)]
    }

    /// A cancel, and an order of the same account behind it: on the condition that the cancel cancels one, or without.
    fn replacement(&mut self, model: &Model) -> [Command; 2] {
        let (account, canceled) = self.aim(model, 60);
        let open = model.open_orders().find(|open| open.id == canceled);
        let placing = match open.filter(|_| self.random.percent(50)) {
            // What the cancel frees pays for it, or nearly.
            Some(&Order { side, open: shares, symbol, .. }) => {
                let symbol = model.symbols().nth(symbol.0 as usize).expect("an order's symbol exists");
                let limit = self.random.pick(&self.prices);
                let order = NewOrder::limit(symbol, side, limit, shares);
                Op::Command(Command::PlaceOrder { account, order, client_id: None })
            }
            None => self.place_order(model),
        };
        let cancel = self.by_client_id(Op::Command(Command::CancelOrder { account, order: canceled.into() }), model);
        let (Op::Command(cancel), Op::Command(placing)) = (cancel, self.by_client_id(placing, model)) else {
            panic!("a command by a client order id is a command");
        };
        let Command::CancelOrder { account, .. } = cancel else { panic!("a cancel by a client order id is a cancel") };
        let placing = if let Command::PlaceOrder { order, client_id, .. } = placing {
            Command::PlaceOrder { account, order, client_id }
        } else if let Command::PlaceByFunds { order, client_id, .. } = placing {
            Command::PlaceByFunds { account, order, client_id }
        } else {
            panic!("{placing:?} places no order");
        };
        let conditional = placing.if_canceled().filter(|_| self.random.percent(65));
        [cancel, conditional.unwrap_or(placing)]
    }

    /// The same by a client order id, now and then.
    fn by_client_id(&mut self, op: Op, model: &Model) -> Op {
        if self.client_ids.is_empty() || self.random.percent(50) {
            return op;
        }
        let id = self.random.pick(&self.client_ids);
        match op {
            Op::Command(Command::PlaceOrder { account, order, .. }) => {
                let new = Command::PlaceOrder { account, order, client_id: Some(id) };
                Op::Command(self.repeated(model).unwrap_or(new))
            }
            Op::Command(Command::PlaceByFunds { account, order, .. }) => {
                Op::Command(Command::PlaceByFunds { account, order, client_id: Some(id) })
            }
            Op::Command(Command::CancelOrder { account, .. }) => {
                let (account, id) = self.named_order(model).unwrap_or((account, id));
                Op::Command(Command::CancelOrder { account, order: id.into() })
            }
            Op::Query(Query { account, .. }) => {
                let (account, id) = self.named_order(model).unwrap_or((account, id));
                Op::Query(Query { account, order: id.into() })
            }
            other @ Op::Command(_) => other,
        }
    }

    /// A client's order once more, now and then: just the same, or with another part.
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
        let Order { side, limit, placed: shares, kind, trigger, .. } = *order;
        let same = NewOrder { symbol, side, limit, shares, kind, trigger };
        let order = match self.random.below(if self.has_all_kinds { 10 } else { 8 }) {
            0 => NewOrder { symbol: self.symbol(), ..same },
            1 => NewOrder { side: same.side.opposite(), ..same },
            2 => NewOrder { limit: self.random.pick(&self.prices), ..same },
            3 => NewOrder { shares: self.random.pick(&self.sizes), ..same },
            8 => NewOrder { kind: self.random.pick(&OrderKind::ALL), ..same },
            9 => NewOrder { trigger: self.trigger(same.side), ..same },
            _ => same,
        };
        let NewOrder { symbol, side, limit, shares, kind, trigger } = order;
        let order = NewOrder { trigger, ..NewOrder::of_kind(kind, symbol, side, limit, shares) };
        Some(Command::PlaceOrder { account, order, client_id: Some(id) })
    }

    /// An account with an id that stands for an order of its, now and then.
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
        let symbol = self.random.pick(&self.symbols);
        let is_old = self.has_own_commands && self.random.percent(50);
        Op::Command(if is_old { Command::CreateOldSymbol { symbol } } else { Command::CreateSymbol { symbol } })
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
        let (account, symbol) = (self.account(), self.symbol());
        let side = self.random.pick(&[Side::Buy, Side::Sell]);
        let limit = self.random.pick(&self.prices);
        let shares = match self.random.below(100) {
            0..80 => self.random.pick(&self.sizes),
            80..90 => affordable(model, account, symbol, side, limit, 0),
            _ => affordable(model, account, symbol, side, limit, 1),
        };
        if self.has_all_kinds && self.random.percent(6) {
            let funds = match self.random.below(4) {
                0 => affordable_money(model, account),
                _ => limit.times(shares).min(Money::CAP),
            };
            let order = FundsOrder { symbol, side, funds };
            return Op::Command(Command::PlaceByFunds { account, order, client_id: None });
        }
        let kind = match self.has_all_kinds && self.random.percent(30) {
            true => self.random.pick(&OrderKind::ALL),
            false => OrderKind::Limit,
        };
        let order = NewOrder::of_kind(kind, symbol, side, limit, shares);
        let trigger = if self.has_all_kinds && self.random.percent(25) { self.trigger(side) } else { None };
        Op::Command(Command::PlaceOrder { account, order: NewOrder { trigger, ..order }, client_id: None })
    }

    /// What an order may wait for.
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

    /// An order, mostly with its own account; an open one in so many of a hundred cases.
    fn aim(&mut self, model: &Model, open_percent: usize) -> (AccountId, OrderId) {
        let placed = model.orders_placed();
        let order = if self.random.percent(open_percent) && model.open_orders().len() > 0 {
            let nth = self.random.below(model.open_orders().len());
            model.open_orders().nth(nth).map_or(OrderId(0), |order| order.id)
        } else if self.random.percent(85) {
            // The last few hundred: older ones all look the same.
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

    /// Mostly one of the market's accounts, created or not; rarely one that never will be.
    fn account(&mut self) -> AccountId {
        if self.random.percent(2) { account(b"7777777") } else { self.random.pick(&self.accounts) }
    }

    fn symbol(&mut self) -> Symbol {
        if self.random.percent(2) { symbol(&"NONE") } else { self.random.pick(&self.symbols) }
    }
}

/// Balances and issues that accounts are given.
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

/// All that an account has, or the least that there is.
fn affordable_money(model: &Model, account: AccountId) -> Money {
    let account = model.accounts().position(|id| id == account).map(|place| AccountIndex(place as u32));
    let balance = account.map_or(Money::ZERO, |account| model.balance(account));
    balance.max(Money::from_units(1))
}

/// The most shares of an order that the account can pay for, and so many units more; at least one unit.
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

/// Ids that differ in leading zeros alone, the longest, and plain ones.
fn account_ids() -> impl Iterator<Item = AccountId> {
    let odd = ["1", "01", "001", "99999999999999999999999999999999", "0"];
    let odd = odd.into_iter().map(|text| account(text.as_bytes()));
    odd.chain((100..).map(|number: u32| account(number.to_string().as_bytes())))
}

/// The shortest and the longest, some that differ in case or in a mark alone, and plain ones.
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
