//! `pricetime state`: accounts, positions, holds, open orders, totals and the state hash of a data folder or database.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use engine::Engine;
use serde::Serialize;
use terms::{
    AccountIndex, AccountLimit, AccountLimits, AuctionTies, Executed, FeeSchedule, Fees, Group, Groups, KillScope,
    Money, NewOrder, OrderId, OrderKind, Position, Protections, Rule, Side, StateItem, SymbolIndex, SymbolPhase,
    SymbolRules, Tier, Trigger,
};

use crate::inspect;

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for people
    Text,
    /// JSON for programs; numbers are exact strings
    Json,
}

/// The arguments of `pricetime state`.
#[derive(Args, Debug)]
pub struct StateArgs {
    /// Data folder of a stopped or a running server, or the URL of a database, postgres://…
    #[arg(value_name = "FOLDER|URL", env = "PRICETIME_STORE", hide_env_values = true)]
    pub kept: String,
    /// Format of the output
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// Leave out accounts and orders
    #[arg(long)]
    pub totals: bool,
}

/// Prints the state. Errors: a folder that cannot be read.
pub fn run(args: &StateArgs) -> Result<ExitCode, String> {
    let mut state = State::of(&inspect::engine_of(&args.kept)?);
    if args.totals {
        state.accounts.clear();
        state.orders.clear();
        state.client_order_ids_of_done_orders.clear();
    }
    let text = match args.format {
        Format::Json => serde_json::to_string_pretty(&state).map_err(|error| error.to_string())? + "\n",
        Format::Text => state.to_text(),
    };
    // A reader that closed standard output has seen enough.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}

/// The market as it is printed. Amounts are strings, so that no reader rounds them.
#[derive(Debug, Serialize)]
pub struct State {
    /// The sequence of the last command.
    pub sequence: u64,
    /// The time of that command, in microseconds since the Unix epoch.
    pub time_us: u64,
    /// The id that the next accepted order gets.
    pub next_order: u64,
    /// The last message of the log that a node of a cluster has taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_message: Option<u64>,
    /// The xxh3-64 of the whole state, in hexadecimal.
    pub state_hash: String,
    pub totals: Totals,
    pub accounts: Vec<AccountState>,
    pub orders: Vec<OrderState>,
    /// The client order ids that stand for done orders, by order.
    pub client_order_ids_of_done_orders: Vec<DoneClientOrderState>,
}

/// Sums over the whole market.
#[derive(Debug, Serialize)]
pub struct Totals {
    pub accounts: usize,
    pub open_orders: usize,
    /// The money that accounts may spend, in dollars.
    pub balance: String,
    /// Money held by open buys.
    pub held: String,
    /// The sum of both: the money with which the accounts were created.
    pub money: String,
    pub symbols: Vec<SymbolState>,
    /// The killed scopes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub killed: Vec<String>,
}

/// Sums of one symbol.
#[derive(Debug, Serialize)]
pub struct SymbolState {
    pub symbol: String,
    /// The shares that accounts may sell.
    pub shares: String,
    /// Shares held by open sells.
    pub held: String,
    /// The shares that were issued, without withdrawn ones: the sum of both.
    pub issued: String,
    /// The rules by name; none if it has no rules.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<RulesState>,
    /// The fees by tier; empty if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fees: Vec<FeesState>,
    /// The phase; none while it is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<PhaseState>,
}

/// A phase, and the time at which it ends by itself.
#[derive(Debug, Serialize)]
pub struct PhaseState {
    pub phase: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until_us: Option<u64>,
}

/// The rules of a symbol: each one with an amount, by its name, the choice of its auctions, and whether it trades.
#[derive(Debug, Serialize)]
pub struct RulesState {
    #[serde(flatten)]
    pub amounts: BTreeMap<&'static str, String>,
    /// Missing where it is the nearest price.
    #[serde(rename = "auction-ties", skip_serializing_if = "Option::is_none")]
    pub auction_ties: Option<&'static str>,
    pub trading: &'static str,
    #[serde(skip)]
    text: String,
}

/// The fees of a tier's accounts, in per cent of their proceeds, and the account that gets them.
#[derive(Debug, Serialize)]
pub struct FeesState {
    pub tier: u8,
    pub maker: String,
    pub taker: String,
    pub account: String,
}

/// One account.
#[derive(Debug, Serialize)]
pub struct AccountState {
    pub id: String,
    pub balance: String,
    pub held: String,
    /// The tier; none for tier 0, in which an account is until it is moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<u8>,
    /// The group; none for an account in no group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<u32>,
    /// The number of deposits and withdrawals; none without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfers: Option<u64>,
    /// Whether it is closed; none for an account that is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<bool>,
    /// The grace; none for an account that is not protected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel_on_disconnect: Option<String>,
    /// The limits that are set, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<BTreeMap<&'static str, String>>,
    pub positions: Vec<PositionState>,
}

/// The shares of an account in a symbol.
#[derive(Clone, Debug, Serialize)]
pub struct PositionState {
    pub symbol: String,
    pub shares: String,
    pub held: String,
}

/// An open order.
#[derive(Debug, Serialize)]
pub struct OrderState {
    pub id: u64,
    pub account: String,
    pub symbol: String,
    pub side: &'static str,
    /// The kind: `limit`, `post_only`, `auction_market` and so on. An active order is what it was placed as.
    pub kind: &'static str,
    /// The limit; none for a market order that waits. A market order for an auction has the limit at which it gathers.
    pub limit: Option<String>,
    pub open: String,
    /// The trigger for which it waits: `stop` or `take profit`, and the price.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<String>,
    /// The reason why an active order stands in no book: it is `under way`, or `behind another`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed: Option<&'static str>,
    /// The distance of a trailing stop: `5 behind the market`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trail: Option<String>,
    /// The deadline, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<u64>,
    /// The display and the tip of an iceberg.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iceberg: Option<IcebergState>,
    /// The partner of a linked order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linked_with: Option<u64>,
    /// The working order of a pending one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pends_on: Option<u64>,
    /// The client order id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_order_id: Option<String>,
    pub executions: Vec<ExecutionState>,
    /// The sum of its executions, if there are more than the state has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub executed: Option<ExecutedState>,
}

/// The display and the tip of an iceberg.
#[derive(Debug, Serialize)]
pub struct IcebergState {
    pub display: String,
    pub shown: String,
}

/// A client order id that stands for a done order, for a day after it was done.
#[derive(Debug, Serialize)]
pub struct DoneClientOrderState {
    pub client_order_id: String,
    pub account: String,
    pub order: u64,
    pub symbol: String,
    pub side: &'static str,
    pub kind: &'static str,
    /// The limit; none for a market order.
    pub limit: Option<String>,
    /// The trigger for which it waited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    pub shares: String,
    /// The time at which the order was done, in seconds since the Unix epoch.
    pub done: u64,
}

/// The sum of an open order's executions.
#[derive(Debug, Serialize)]
pub struct ExecutedState {
    pub executions: u64,
    pub shares: String,
    pub money: String,
}

/// An execution of an open order.
#[derive(Debug, Serialize)]
pub struct ExecutionState {
    pub shares: String,
    pub price: String,
    pub time: u64,
    /// The fee: shares of a buy, dollars of a sell; none if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fee: Option<String>,
}

/// The free and the held shares of one account in one symbol.
#[derive(Clone, Copy)]
struct Holding {
    shares: Position,
    held: Position,
}

const NO_SHARES: Holding = Holding { shares: Position::ZERO, held: Position::ZERO };

/// The sums that are gathered while the items go by.
#[derive(Default)]
struct StateSums {
    accounts: Vec<(String, Money, Money)>,
    symbols: Vec<(String, Holding, Position)>,
    rules: BTreeMap<SymbolIndex, SymbolRules>,
    fees: FeeSchedule,
    groups: Groups,
    protections: Protections,
    phases: BTreeMap<SymbolIndex, SymbolPhase>,
    holdings: BTreeMap<(AccountIndex, SymbolIndex), Holding>,
    orders: Vec<OrderState>,
    done: Vec<DoneClientOrderState>,
    client_order_ids: BTreeMap<u64, String>,
    deadlines: BTreeMap<u64, u64>,
    icebergs: BTreeMap<u64, IcebergState>,
    /// The linked orders, both ways.
    links: BTreeMap<u64, u64>,
    /// The money that the linked orders seen so far hold.
    held_by_linked: BTreeMap<u64, Money>,
    /// The pending orders, with their working orders.
    pending: BTreeMap<u64, u64>,
}

impl State {
    /// Makes the printed state of an engine.
    pub fn of(engine: &Engine) -> State {
        let mut gathered = StateSums::default();
        engine.export(&mut |item| gathered.add(item));
        let StateSums {
            accounts,
            symbols,
            rules,
            fees,
            groups,
            protections,
            phases,
            holdings,
            mut orders,
            done,
            mut client_order_ids,
            mut deadlines,
            mut icebergs,
            mut links,
            ..
        } = gathered;
        for order in &mut orders {
            order.client_order_id = client_order_ids.remove(&order.id);
            order.until = deadlines.remove(&order.id);
            order.iceberg = icebergs.remove(&order.id);
            order.linked_with = links.remove(&order.id);
        }
        let balance = accounts.iter().fold(Money::ZERO, |sum, (_, balance, _)| sum.plus(*balance));
        let held = accounts.iter().fold(Money::ZERO, |sum, (_, _, held)| sum.plus(*held));
        let killed = engine.kills().all().map(|scope| match scope {
            KillScope::Everything => "everything".to_owned(),
            KillScope::Account(account) => format!("account {}", accounts[account.0 as usize].0),
            KillScope::Symbol(symbol) => format!("symbol {}", symbols[symbol.0 as usize].0),
        });
        let killed: Vec<String> = killed.collect();
        let mut positions = vec![Vec::new(); accounts.len()];
        for ((account, symbol), holding) in holdings {
            let symbol = symbols[symbol.0 as usize].0.clone();
            let Holding { shares, held } = holding;
            positions[account.0 as usize].push(PositionState {
                symbol,
                shares: shares.to_string(),
                held: held.to_string(),
            });
        }
        State {
            sequence: engine.sequence().0,
            time_us: engine.time().0,
            next_order: engine.next_order().0,
            log_message: engine.shared_log().last().map(|message| message.position),
            state_hash: format!("{:016x}", engine.state_hash()),
            totals: Totals {
                killed,
                accounts: accounts.len(),
                open_orders: orders.len(),
                balance: balance.to_string(),
                held: held.to_string(),
                money: balance.plus(held).to_string(),
                symbols: (0..)
                    .zip(symbols)
                    .map(|(at, symbol)| (SymbolIndex(at), symbol))
                    .map(|(at, symbol)| {
                        let fees = fees_of(&fees, at, &accounts);
                        SymbolState { fees, ..SymbolState::of(symbol, rules.get(&at), phases.get(&at)) }
                    })
                    .collect(),
            },
            accounts: accounts
                .into_iter()
                .zip(positions)
                .zip((0..).map(AccountIndex))
                .map(|(((id, balance, held), positions), at)| AccountState {
                    tier: Some(fees.tier(at)).filter(|&tier| tier != Tier::FIRST).map(Tier::number),
                    group: Some(groups.of(at)).filter(|&group| group != Group::NONE).map(Group::number),
                    transfers: Some(engine.account_status(at).transfers).filter(|&transfers| transfers > 0),
                    closed: engine.account_status(at).is_closed.then_some(true),
                    cancel_on_disconnect: protections.of(at).map(|grace| grace.to_string()),
                    limits: limits_of(&engine.account_limits(at)),
                    id,
                    balance: balance.to_string(),
                    held: held.to_string(),
                    positions,
                })
                .collect(),
            orders,
            client_order_ids_of_done_orders: done,
        }
    }

    fn to_text(&self) -> String {
        let log = self.log_message.map(|position| format!(", message {position} of the log")).unwrap_or_default();
        let mut text = format!("state hash {} at command {}{log}\n", self.state_hash, self.sequence);
        text += &format!(
            "{} accounts, {} open orders, {} dollars ({} held by buys)\n",
            self.totals.accounts, self.totals.open_orders, self.totals.money, self.totals.held
        );
        for symbol in &self.totals.symbols {
            let rules = symbol.rules.as_ref().map(|rules| format!(", {}", rules.text)).unwrap_or_default();
            let phase = symbol.phase.as_ref().map(|phase| format!(", phase {}", phase.phase)).unwrap_or_default();
            text += &format!(
                "  {}: {} shares issued ({} held by sells){rules}{phase}\n",
                symbol.symbol, symbol.issued, symbol.held
            );
            for FeesState { tier, maker, taker, account } in &symbol.fees {
                text += &format!("    fees of tier {tier}: maker {maker} %, taker {taker} %, to account {account}\n");
            }
        }
        if !self.totals.killed.is_empty() {
            text += &format!("killed: {}\n", self.totals.killed.join(", "));
        }
        for account in &self.accounts {
            let tier = account.tier.map(|tier| format!(", tier {tier}")).unwrap_or_default();
            let group = account.group.map(|group| format!(", group {group}")).unwrap_or_default();
            let transfers = account.transfers.map(|made| format!(", {made} transfers")).unwrap_or_default();
            let grace = account.cancel_on_disconnect.as_ref();
            let grace = grace.map(|grace| format!(", cancel on disconnect after {grace}")).unwrap_or_default();
            let money = format!("balance {} (held {})", account.balance, account.held);
            let limits = account.limits.iter().flatten().map(|(limit, amount)| format!(", {limit} {amount}"));
            let limits: String = limits.collect();
            let closed = if account.closed.is_some() { ", closed" } else { "" };
            text += &format!("account {}: {money}{tier}{group}{transfers}{closed}{grace}{limits}\n", account.id);
            for position in &account.positions {
                text += &format!("  {}: {} (held {})\n", position.symbol, position.shares, position.held);
            }
        }
        for order in &self.orders {
            text += &format!(
                "order {}: {} {} {} of account {} at {}{}{}{}{}{}{}{}{}, {} executions{}\n",
                order.id,
                order.side,
                order.open,
                order.symbol,
                order.account,
                order.limit.as_deref().unwrap_or("any price"),
                said_of(order.kind),
                order.waits_for.as_ref().map(|price| format!(", waits for {price}")).unwrap_or_default(),
                order.delayed.map(|why| format!(", {why}")).unwrap_or_default(),
                order.trail.as_ref().map(|trail| format!(", {trail}")).unwrap_or_default(),
                order.until.map(|until| format!(", until {until}")).unwrap_or_default(),
                order.iceberg.as_ref().map(IcebergState::text).unwrap_or_default(),
                order.linked_with.map(|other| format!(", linked with order {other}")).unwrap_or_default(),
                order.pends_on.map(|other| format!(", placed when order {other} is executed")).unwrap_or_default(),
                order.executed.as_ref().map_or(order.executions.len() as u64, |executed| executed.executions),
                order.client_order_id.as_ref().map(|id| format!(", client order id {id}")).unwrap_or_default()
            );
        }
        for done in &self.client_order_ids_of_done_orders {
            text += &format!(
                "client order id {} of account {}: order {}, {} {} {} at {}{}{}, done at {}\n",
                done.client_order_id,
                done.account,
                done.order,
                done.side,
                done.shares,
                done.symbol,
                done.limit.as_deref().unwrap_or("any price"),
                said_of(done.kind),
                done.trigger.as_ref().map(|price| format!(", {price}")).unwrap_or_default(),
                done.done
            );
        }
        text
    }
}

impl IcebergState {
    fn text(&self) -> String {
        format!(", shows {} at a time, {} now", self.display, self.shown)
    }
}

/// The words for an order's kind beyond its limit.
fn said_of(kind: &str) -> String {
    match kind {
        "limit" | "market" => String::new(),
        kind => format!(", {kind}"),
    }
}

impl SymbolState {
    fn of(
        (symbol, holding, issued): (String, Holding, Position),
        rules: Option<&SymbolRules>,
        phase: Option<&SymbolPhase>,
    ) -> SymbolState {
        let Holding { shares, held } = holding;
        let rules = rules.map(RulesState::of);
        let phase = phase.map(|&SymbolPhase { phase, until }| PhaseState {
            phase: phase.name(),
            until_us: until.map(|until| until.0),
        });
        let (shares, held, issued) = (shares.to_string(), held.to_string(), issued.to_string());
        SymbolState { symbol, shares, held, issued, rules, phase, fees: Vec::new() }
    }
}

fn fees_of(fees: &FeeSchedule, symbol: SymbolIndex, accounts: &[(String, Money, Money)]) -> Vec<FeesState> {
    let of = |tier: Tier| Some((tier, fees.get(symbol, tier)?));
    Tier::all()
        .filter_map(of)
        .map(|(tier, Fees { maker, taker, account })| FeesState {
            tier: tier.number(),
            maker: maker.to_string(),
            taker: taker.to_string(),
            account: accounts[account.0 as usize].0.clone(),
        })
        .collect()
}

fn limits_of(limits: &AccountLimits) -> Option<BTreeMap<&'static str, String>> {
    let said = AccountLimit::ALL
        .into_iter()
        .filter_map(|limit| Some((limit.name(), limits.amount(limit)?.as_str().to_owned())));
    Some(said.collect()).filter(|said: &BTreeMap<_, _>| !said.is_empty())
}

impl RulesState {
    fn of(rules: &SymbolRules) -> RulesState {
        let said =
            Rule::ALL.into_iter().filter_map(|rule| Some((rule.name(), rules.amount(rule)?.as_str().to_owned())));
        let trading = if rules.is_halted { "off" } else { "on" };
        let auction_ties = Some(rules.auction_ties.name()).filter(|_| rules.auction_ties != AuctionTies::default());
        RulesState { amounts: said.collect(), auction_ties, trading, text: rules.to_string() }
    }
}

impl StateSums {
    fn add(&mut self, item: StateItem) {
        match item {
            StateItem::Head { .. } => {}
            StateItem::Account { id, balance } => self.accounts.push((id.to_string(), balance, Money::ZERO)),
            StateItem::Symbol { name, issued } => self.symbols.push((name.to_string(), NO_SHARES, issued)),
            StateItem::Position { account, symbol, shares } => {
                self.holdings.entry((account, symbol)).or_insert(NO_SHARES).shares = shares;
                let total = &mut self.symbols[symbol.0 as usize].1;
                total.shares = total.shares.plus(shares);
            }
            StateItem::Order { order, account, symbol, side, limit, open } => {
                self.add_order(order, account, &NewOrder::limit(symbol, side, limit, open));
            }
            StateItem::Watch { .. } => {}
            StateItem::Kind { kind, .. } => {
                self.orders.last_mut().expect("invariant: a kind follows its order").kind = kind.name();
            }
            StateItem::Link { order, partner } => {
                self.links.insert(order.0, partner.0);
                self.links.insert(partner.0, order.0);
            }
            StateItem::Deadline { order, until } => {
                self.deadlines.insert(order.0, until.time().seconds());
            }
            StateItem::Phase { symbol, phase } => drop(self.phases.insert(symbol, phase)),
            StateItem::Rules { symbol, rules } => drop(self.rules.insert(symbol, rules)),
            StateItem::Fees { symbol, tier, fees } => self.fees.set(symbol, tier, Some(fees)),
            StateItem::Tier { account, tier } => self.fees.set_tier(account, tier),
            StateItem::AccountStatus { .. } => {}
            StateItem::Group { account, group } => self.groups.set(account, group),
            StateItem::Protection { account, grace } => self.protections.set(account, Some(grace)),
            StateItem::Kill { .. }
            | StateItem::Limits { .. }
            | StateItem::Calendar { .. }
            | StateItem::Message(_)
            | StateItem::PhaseChanged { .. } => {}
            StateItem::Pending { order, account, placed, working, .. } => {
                self.pending.insert(order.0, working.0);
                self.add_order(order, account, &placed);
            }
            StateItem::Stop { order, account, placed, trail, .. } => {
                self.add_order(order, account, &placed);
                let added = self.orders.last_mut().expect("invariant: it was just added");
                added.trail = trail.map(|trail| format!("{trail:?} the market"));
            }
            StateItem::Delayed { order, account, placed, is_under_way } => {
                self.add_order(order, account, &NewOrder { trigger: None, ..placed.as_placed() });
                let added = self.orders.last_mut().expect("invariant: it was just added");
                added.delayed = Some(if is_under_way { "under way" } else { "behind another" });
            }
            StateItem::Execution(execution) => {
                let order = self.orders.last_mut().expect("invariant: executions follow their order");
                order.executions.push(ExecutionState {
                    shares: execution.shares.to_string(),
                    price: execution.price.to_string(),
                    time: execution.time.seconds(),
                    fee: execution.taken().map(|taken| taken.text().as_str().to_owned()),
                });
            }
            StateItem::Executed(Executed { executions, shares, money }) => {
                let order = self.orders.last_mut().expect("invariant: what its executions come to follows their order");
                let (shares, money) = (shares.to_string(), money.to_string());
                order.executed = Some(ExecutedState { executions, shares, money });
            }
            StateItem::ClientOrder { order, id, done: None, .. } => {
                self.client_order_ids.insert(order.0, id.to_string());
            }
            StateItem::Iceberg { order, display, shown } => {
                let iceberg = IcebergState { display: display.to_string(), shown: shown.to_string() };
                self.icebergs.insert(order.0, iceberg);
            }
            StateItem::ClientOrder { order, id, account, placed, done: Some(done), .. } => {
                let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade: _ } = placed;
                self.done.push(DoneClientOrderState {
                    client_order_id: id.to_string(),
                    account: self.accounts[account.0 as usize].0.clone(),
                    order: order.0,
                    symbol: self.symbols[symbol.0 as usize].0.clone(),
                    side: side_name(side),
                    kind: kind.name(),
                    limit: (!kind.is_market()).then(|| limit.to_string()),
                    trigger: trigger.map(|trigger| trigger_text(side, trigger)),
                    shares: shares.to_string(),
                    done: done.seconds(),
                });
            }
        }
    }

    /// Adds an open order. It waits if it has a trigger.
    fn add_order(&mut self, order: OrderId, account: AccountIndex, placed: &NewOrder<SymbolIndex>) {
        let NewOrder { symbol, side, limit, shares: open, kind, trigger, self_trade: _ } = *placed;
        let (owner, name) = (&mut self.accounts[account.0 as usize], &mut self.symbols[symbol.0 as usize]);
        match side {
            // A pending order holds nothing, either.
            _ if self.pending.contains_key(&order.0) => {}
            // A market buy pays as it executes, and holds nothing.
            Side::Buy if kind == OrderKind::Market => {}
            Side::Buy => {
                let shared = self.links.get(&order.0).and_then(|partner| self.held_by_linked.get(partner));
                let held = limit.times(open);
                let more = held.minus(shared.copied().unwrap_or(Money::ZERO).min(held));
                owner.2 = owner.2.plus(more);
                if self.links.contains_key(&order.0) {
                    self.held_by_linked.insert(order.0, held);
                }
            }
            // The partner holds the same shares.
            Side::Sell if self.links.get(&order.0).is_some_and(|partner| *partner < order.0) => {}
            Side::Sell => {
                let holding = self.holdings.entry((account, symbol)).or_insert(NO_SHARES);
                holding.held = holding.held.plus(open.position());
                name.1.held = name.1.held.plus(open.position());
            }
        }
        self.orders.push(OrderState {
            id: order.0,
            account: owner.0.clone(),
            symbol: name.0.clone(),
            side: side_name(side),
            kind: kind.name(),
            limit: (kind != OrderKind::Market).then(|| limit.to_string()),
            open: open.to_string(),
            waits_for: trigger.map(|trigger| trigger_text(side, trigger)),
            delayed: None,
            trail: None,
            until: None,
            iceberg: None,
            linked_with: None,
            pends_on: self.pending.get(&order.0).copied(),
            client_order_id: None,
            executions: Vec::new(),
            executed: None,
        });
    }
}

fn side_name(side: Side) -> &'static str {
    match side {
        Side::Buy => "buy",
        Side::Sell => "sell",
    }
}

/// The words for the trigger of an order.
fn trigger_text(side: Side, trigger: Trigger) -> String {
    let word = if trigger.is_stop_loss(side) { "stop" } else { "take profit" };
    format!("{word} {}", trigger.price())
}
