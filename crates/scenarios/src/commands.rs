//! The player of markets that take commands: the engine, and the model.

use terms::{
    AccountId, Amendment, AuctionTies, Command, Decimal, Distance, Entry, Execution, FundsOrder, NewOrder, OpenTerms,
    OrderId, OrderKind, Phase, Place, Price, Query, Reply, SelfTrade, Sequence, Shares, Side as MarketSide, Status,
    Symbol, SymbolRules, Time, Trigger,
};

use crate::order::{Amount, Bond, Kind, Order, Side};
use crate::play::{Answer, OrderStatus, Placed, Player, Refused, account_number, symbol_name};
use crate::step::Part;

/// A market that takes commands one by one and keeps its done orders.
pub trait Market {
    /// Applies a command. Appends the executions that the reply refers to.
    fn apply(&mut self, entry: &Entry, executions: &mut Vec<Execution>) -> Reply;
    /// Answers a query. Appends the executions that the reply refers to.
    fn query(&self, query: &Query, executions: &mut Vec<Execution>) -> Reply;
}

/// Plays to a market, one command a microsecond.
pub struct CommandPlayer<M> {
    market: M,
    scenario: usize,
    sequence: u64,
}

impl<M: Market> CommandPlayer<M> {
    /// Makes a player for an empty market.
    pub fn new(market: M) -> CommandPlayer<M> {
        CommandPlayer { market, scenario: 0, sequence: 0 }
    }

    fn account(&self, letter: char) -> AccountId {
        let number = account_number(self.scenario, letter).to_string();
        AccountId::parse(number.as_bytes()).expect("a number is an account")
    }

    fn symbol(&self, letter: char) -> Symbol {
        Symbol::parse(symbol_name(self.scenario, letter).as_bytes()).expect("letters and digits are a symbol")
    }

    fn apply(&mut self, command: Command) -> Answer<(Reply, Vec<Execution>)> {
        self.sequence += 1;
        let entry = Entry { sequence: Sequence(self.sequence), time: Time(self.sequence), command };
        let mut executions = Vec::new();
        answered(self.market.apply(&entry, &mut executions), executions)
    }

    fn set_up(&mut self, command: Command) {
        self.apply(command).unwrap_or_else(|Refused(why)| panic!("{command:?}: {why}"));
    }

    fn place_one(&mut self, command: Command) -> Answer<String> {
        let (reply, _) = self.apply(command)?;
        let Reply::Opened(order) = reply else { panic!("{command:?} is answered with {reply:?}") };
        Ok(order.to_string())
    }

    /// The order of the terms. Errors: an invalid amount or price.
    fn asked(&self, order: &Order) -> Answer<NewOrder> {
        let side = side(order);
        let kind = match order.kind {
            Kind::Limit => OrderKind::Limit,
            Kind::PostOnly => OrderKind::PostOnly,
            Kind::ImmediateOrCancel => OrderKind::ImmediateOrCancel,
            Kind::FillOrKill => OrderKind::FillOrKill,
            Kind::Market => OrderKind::Market,
            Kind::AuctionLimit => OrderKind::AuctionLimit,
            Kind::AuctionMarket => OrderKind::AuctionMarket,
        };
        let limit = order.limit.as_deref().map_or(Ok(side.any_price()), price)?;
        let amount = shares(order.shares().expect("an order for money is placed alone, and for nothing else"))?;
        let asked =
            NewOrder::of_kind(kind, self.symbol(order.symbol), side, limit, amount).with_self_trade(mode(order));
        Ok(match &order.stop {
            Some(stop) => asked.triggered_by(Trigger::stop_loss(side, price(stop)?)),
            None => asked,
        })
    }

    /// The command for an order alone.
    fn alone(&self, account: AccountId, order: &Order) -> Answer<Command> {
        if let Amount::Funds(funds) = &order.amount {
            let funds = decimal(funds).money().expect("an amount of money");
            let symbol = self.symbol(order.symbol);
            let order = FundsOrder { symbol, side: side(order), funds, self_trade: mode(order) };
            return Ok(Command::Place(Place::funds(account, order)));
        }
        let asked = self.asked(order)?;
        Ok(Command::Place(match &order.display {
            Some(display) => Place::iceberg(account, asked, shares(display)?).expect("an iceberg rests"),
            None => Place::order(account, asked),
        }))
    }
}

impl<M: Market> Player for CommandPlayer<M> {
    fn begin(&mut self, scenario: usize) {
        self.scenario = scenario;
    }

    fn fund(&mut self, account: char, dollars: &str) {
        let balance = decimal(dollars).money().expect("an amount of money");
        self.set_up(Command::CreateAccount { account: self.account(account), balance });
    }

    fn issue(&mut self, symbol: char, account: char, shares: &str) {
        let (symbol, account) = (self.symbol(symbol), self.account(account));
        self.set_up(Command::CreateSymbol { symbol });
        let shares = decimal(shares).position().expect("a number of shares");
        self.set_up(Command::IssueShares { symbol, account, shares });
    }

    fn change_phase(&mut self, symbol: char, phase: &str) {
        let phase = Phase::named(phase).expect("a phase");
        self.set_up(Command::ChangePhase { symbol: self.symbol(symbol), phase, due: None });
    }

    fn set_band(&mut self, symbol: char, percent: &str, by_pressure: bool) {
        let distance = Decimal::parse(percent.as_bytes()).ok().and_then(|percent| Distance::of(percent).ok());
        assert!(distance.is_some(), "a distance");
        let auction_ties = if by_pressure { AuctionTies::Pressure } else { AuctionTies::Nearest };
        let rules = SymbolRules { band_up: distance, band_down: distance, auction_ties, ..SymbolRules::NONE };
        self.set_up(Command::ChangeRules { symbol: self.symbol(symbol), rules });
    }

    fn place(&mut self, account: char, bond: Bond, orders: &[&Order]) -> Answer<Vec<String>> {
        let account = self.account(account);
        let two_wait = orders.len() == 3;
        let bound = |order: &Order, bond| Ok(Command::Place(Place::order(account, self.asked(order)?).bound(bond)));
        let command = |(nth, order): (usize, &&Order)| match (bond, nth) {
            (Bond::Alone, _) | (Bond::OneCancelsOther, 0) => self.alone(account, order),
            (Bond::OneCancelsOther, _) => bound(order, terms::Bond::Linked),
            (Bond::OneTriggersOther, 0) => bound(order, terms::Bond::Working { two_wait }),
            (Bond::OneTriggersOther, _) => bound(order, terms::Bond::Pending),
        };
        let commands = orders.iter().enumerate().map(command).collect::<Answer<Vec<Command>>>()?;
        commands.into_iter().map(|command| self.place_one(command)).collect()
    }

    fn query(&mut self, account: char, order: &Placed) -> Answer<OrderStatus> {
        let mut executions = Vec::new();
        let query = Query { account: self.account(account), order: id(order).into() };
        let reply = self.market.query(&query, &mut executions);
        answered(reply, executions).map(status)
    }

    fn cancel(&mut self, account: char, order: &Placed) -> Answer<OrderStatus> {
        let command = Command::CancelOrder { account: self.account(account), order: id(order).into() };
        self.apply(command).map(status)
    }

    fn amend(&mut self, account: char, order: &Placed, total: &str) -> Answer<()> {
        let shares = shares(total)?;
        let amendment = Amendment::of(self.account(account), id(order).into()).with_shares(shares);
        self.apply(Command::Amend(amendment)).map(drop)
    }
}

fn answered(reply: Reply, executions: Vec<Execution>) -> Answer<(Reply, Vec<Execution>)> {
    if let Reply::Rejected(reject) = reply {
        return Err(Refused(reject.to_string()));
    }
    Ok((reply, executions))
}

/// The status in a reply.
fn status((reply, executions): (Reply, Vec<Execution>)) -> OrderStatus {
    let status: &Status = reply.status().unwrap_or_else(|| panic!("{reply:?} is no status"));
    let mut parts = Vec::new();
    if !status.open.is_zero() {
        let shares = status.open.to_string();
        let OpenTerms { waits, pends_on, iceberg, .. } = status.terms.as_deref().copied().unwrap_or_default();
        parts.push(match (waits, pends_on) {
            (_, Some(_)) => Part::Pends { shares },
            (Some(trigger), None) => Part::Waits { shares, price: trigger.price().to_string() },
            (None, None) => Part::Open { shares, shown: iceberg.map(|iceberg| iceberg.shown.to_string()) },
        });
    }
    parts.extend(status.canceled.map(|canceled| Part::Canceled { shares: canceled.shares.to_string() }));
    let executed = executions[status.executions.clone()].iter();
    parts.extend(
        executed.map(|execution| Part::Executed {
            shares: execution.shares.to_string(),
            price: execution.price.to_string(),
        }),
    );
    parts
}

fn id(order: &Placed) -> OrderId {
    OrderId(order.id.parse().expect("the number of an order"))
}

fn side(order: &Order) -> MarketSide {
    match order.side {
        Side::Buy => MarketSide::Buy,
        Side::Sell => MarketSide::Sell,
    }
}

fn mode(order: &Order) -> SelfTrade {
    let named = |mode: &String| SelfTrade::named(&mode.replace('-', "_")).expect("a mode of self-trade prevention");
    order.self_trade.as_ref().map(named).unwrap_or_default()
}

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text.as_bytes()).expect("a decimal")
}

fn price(text: &str) -> Answer<Price> {
    Decimal::parse(text.as_bytes()).and_then(Decimal::price).map_err(|fault| Refused(fault.to_string()))
}

fn shares(text: &str) -> Answer<Shares> {
    Decimal::parse(text.as_bytes()).and_then(Decimal::order_shares).map_err(|fault| Refused(fault.to_string()))
}
