//! Requests as clients send them: XML that is drawn from the model's workload, and parsed as a gateway does. It does
//! not know what happens to them.

use std::fmt::Write;
use std::net::Ipv4Addr;
use std::sync::Arc;

use exchange::{Caller, Protocol, Requests, Session};
use model::Model;
use model::workload::{Random, Workload, asked_by_gateways};
use terms::{
    AccountId, Amendment, Bond, Change, ClientOrderId, Command, DOLLAR, EXECUTIONS_KEPT, Money, NewOrder, Op,
    OrderKind, OrderName, Place, Position, Price, Query, Shares, Side, Symbol, Trail,
};
use xml::{Documents, Limits};

use super::order_xml::{amendment_attributes, as_on_the_wire, fees_element, placing_attributes, rules_attributes};

const LIMITS: Limits = Limits { children_max: 100 };
/// A source makes so many requests before it places an order that follows the market and is reached.
const UNTIL_TRAIL: u32 = 20;
/// A source makes so many requests before it places an order that is executed in very small parts.
const UNTIL_CRUMBS: u32 = 30;
/// Money has 16 decimals, and a balance over the wire at most 8.
const BALANCE_STEP: i128 = 100_000_000;

/// A source of requests.
#[derive(Clone, Debug)]
pub struct Clients {
    workload: Workload,
    random: Random,
    /// The callers, in no particular order.
    callers: Vec<Arc<Caller>>,
    /// The number of requests so far.
    requests: u32,
    /// Whether orders follow the market.
    trails: bool,
}

impl Clients {
    /// The clients of a seed.
    pub fn new(seed: u64) -> Clients {
        let workload = Workload::with_client_orders(seed).with_all_kinds();
        // With rules there is little trade.
        let workload = match seed % 12 {
            0 | 3 | 6 | 9 => {
                let workload = workload.with_rules().with_fees().with_groups().with_phases().with_mass_cancels();
                workload.with_kills().with_limits()
            }
            1 => workload.with_links().with_pendings(),
            7 => workload.with_pendings(),
            2 | 8 => workload.with_icebergs().with_amendments(),
            4 | 10 => workload.with_trails().with_amendments(),
            5 => workload.with_links().with_icebergs().with_trails().with_pendings().with_fees().with_mass_cancels(),
            _ => workload.with_rules().with_fees(),
        };
        let callers = (0..5).map(|_| Session::begin(Ipv4Addr::LOCALHOST.into()).caller(Protocol::Xml, None)).collect();
        Clients { workload, random: Random::new(!seed), callers, requests: 0, trails: matches!(seed % 12, 4 | 5 | 10) }
    }

    /// One to three gateway batches with one to four requests each.
    pub fn turn(&mut self, model: &Model) -> Vec<Requests> {
        let batches = 1 + self.random.below(3);
        (0..batches).map(|_| self.batch(model)).collect()
    }

    fn batch(&mut self, model: &Model) -> Requests {
        let mut requests = Requests::new();
        for _ in 0..1 + self.random.below(4) {
            match self.request(model) {
                Request::Xml(body) => {
                    let mut documents = Documents::new();
                    documents.parse(body.as_bytes(), &LIMITS);
                    requests.push(documents.requests.ops());
                }
                Request::Ops(ops) => requests.push(&ops),
            }
            if let Some(caller) = self.callers.get(requests.ops().len() % (self.callers.len() + 1)) {
                requests.called_by(caller);
            }
        }
        requests
    }

    fn next_op(&mut self, model: &Model) -> Op {
        without_deadline(self.workload.next_op(model))
    }

    fn request(&mut self, model: &Model) -> Request {
        self.requests += 1;
        match self.requests {
            UNTIL_TRAIL if self.trails => return Request::Ops(trail()),
            UNTIL_CRUMBS => return Request::Ops(crumbs()),
            _ => {}
        }
        if self.random.percent(4) {
            return Request::Xml("<transactions id=\"1\"><order sym=\"SPY\"</transactions>".to_owned());
        }
        let ops = loop {
            let ops: Vec<Op> = self.workload.next_request(model).into_iter().map(without_deadline).collect();
            if asked_by_gateways(&ops) {
                break ops;
            }
        };
        let [first] = ops[..] else { return Request::Ops(ops) };
        if names_client_order(&first) {
            return self.client_orders(model, first);
        }
        Request::Xml(match account_of(&first) {
            Some(account) => self.transactions(model, account, first),
            None => self.create(model, first),
        })
    }

    /// Requests that XML cannot express.
    fn client_orders(&mut self, model: &Model, first: Op) -> Request {
        let more: Vec<Op> = (0..self.random.below(4)).map(|_| self.next_op(model)).collect();
        let more = more.into_iter().filter(names_client_order);
        Request::Ops(std::iter::once(first).chain(more).collect())
    }

    fn create(&mut self, model: &Model, first: Op) -> String {
        let mut body = "<create>".to_owned();
        push_create(&mut body, &first);
        for _ in 0..self.random.below(4) {
            let op = self.next_op(model);
            if account_of(&op).is_none() {
                push_create(&mut body, &op);
            }
        }
        body + "</create>"
    }

    fn transactions(&mut self, model: &Model, account: AccountId, first: Op) -> String {
        let mut body = format!("<transactions id=\"{account}\">");
        push_transaction(&mut body, &first);
        for _ in 0..self.random.below(12) {
            let op = self.next_op(model);
            if account_of(&op) == Some(account) && !names_client_order(&op) {
                push_transaction(&mut body, &op);
            }
        }
        body + "</transactions>"
    }
}

/// An open order that executes more often than the engine keeps singly, and a query for it.
fn crumbs() -> Vec<Op> {
    let own = Own::of(b"7770001", b"CRUMBS");
    let (price, name) = (100_000_000, ClientOrderId::parse(b"crumbs").unwrap());
    let executed = (0..=EXECUTIONS_KEPT).map(|_| own.place(Side::Buy, price, 1, None));
    let query = Op::Query(Query { account: own.account, order: name.into() });
    let placed = own.create().into_iter().chain([own.place(Side::Sell, price, 1_000, Some(name))]);
    placed.chain(executed).map(Op::Command).chain([query]).collect()
}

/// A sell whose stop follows the market. A new high moves its trigger, and an execution below reaches it.
fn trail() -> Vec<Op> {
    let own = Own::of(b"7770002", b"TRAIL");
    let (last, high, low, distance) = (100_000_000, 120_000_000, 105_000_000, 10_000_000);
    let shares = Shares::from_units(1).unwrap();
    let order = NewOrder::of_kind(OrderKind::Market, own.symbol, Side::Sell, Side::Sell.any_price(), shares);
    let trail = Trail::by(Price::from_units(distance).unwrap());
    let follows = Command::Place(Place::trailing(own.account, order, trail).unwrap());
    let traded = [own.place(Side::Buy, last, 1, None), own.place(Side::Sell, last, 1, None), follows];
    let reached =
        [own.place(Side::Buy, high, 1, None), own.place(Side::Buy, low, 2, None), own.place(Side::Sell, low, 2, None)];
    own.create().into_iter().chain(traded).chain(reached).map(Op::Command).collect()
}

/// An account that is the only one with its symbol.
struct Own {
    account: AccountId,
    symbol: Symbol,
}

impl Own {
    fn of(account: &[u8], symbol: &[u8]) -> Own {
        Own { account: AccountId::parse(account).unwrap(), symbol: Symbol::parse(symbol).unwrap() }
    }

    fn create(&self) -> [Command; 3] {
        let Own { account, symbol } = *self;
        [
            Command::CreateSymbol { symbol },
            Command::CreateAccount { account, balance: Money::from_units(DOLLAR) },
            Command::IssueShares { symbol, account, shares: Position::from_units(1_000) },
        ]
    }

    fn place(&self, side: Side, price: i64, units: i64, client_id: Option<ClientOrderId>) -> Command {
        let (price, shares) = (Price::from_units(price).unwrap(), Shares::from_units(units).unwrap());
        let order = NewOrder::limit(self.symbol, side, price, shares);
        Command::Place(Place::order(self.account, order).named(client_id))
    }
}

/// One request, as XML or as another protocol would hand it in.
enum Request {
    Xml(String),
    Ops(Vec<Op>),
}

fn names_client_order(op: &Op) -> bool {
    match op {
        Op::Command(Command::Place(place)) => place.bond() == Bond::Alone && place.client_id().is_some(),
        Op::Query(Query { order, .. })
        | Op::Command(Command::CancelOrder { order, .. } | Command::Amend(Amendment { order, .. })) => {
            matches!(order, OrderName::Client(_))
        }
        Op::Command(_) => false,
    }
}

/// The op, but an amendment gives no deadline: orders of these clients have none.
fn without_deadline(op: Op) -> Op {
    match op {
        Op::Command(Command::Amend(amendment)) if matches!(amendment.deadline(), Change::Set(_)) => {
            Op::Command(Command::Amend(amendment.with_deadline(None)))
        }
        Op::Command(_) | Op::Query(_) => op,
    }
}

/// The account of a transaction. None for an op that creates something.
fn account_of(op: &Op) -> Option<AccountId> {
    match op {
        Op::Query(query) => Some(query.account),
        Op::Command(
            Command::Place(Place { account, .. })
            | Command::CancelOrder { account, .. }
            | Command::ReplaceOrder { account, .. }
            | Command::CancelAll { account, .. }
            | Command::AmendOrder { account, .. }
            | Command::Amend(Amendment { account, .. })
            | Command::FreeClientOrderId { account, .. },
        ) => Some(*account),
        Op::Command(
            Command::CreateAccount { .. }
            | Command::CreateSymbol { .. }
            | Command::IssueShares { .. }
            | Command::FundAccount { .. }
            | Command::Deposit { .. }
            | Command::DepositFrom { .. }
            | Command::Withdraw { .. }
            | Command::CloseAccount { .. }
            | Command::GiveShares { .. }
            | Command::ActivateReached
            | Command::TakeMessage(_)
            | Command::ExpireOrders
            | Command::ChangeRules { .. }
            | Command::ChangeFees { .. }
            | Command::ChangeTier { .. }
            | Command::ChangeGroup { .. }
            | Command::Kill { .. }
            | Command::Release { .. }
            | Command::KillTogether { .. }
            | Command::ReleaseTogether { .. }
            | Command::Protect { .. }
            | Command::Unprotect { .. }
            | Command::ChangeLimits { .. }
            | Command::ChangePhase { .. }
            | Command::EndAuction
            | Command::FollowCalendar { .. },
        ) => None,
    }
}

fn push_create(body: &mut String, op: &Op) {
    let op = match *op {
        Op::Command(command) => &Op::Command(as_on_the_wire(command)),
        Op::Query(_) => op,
    };
    match op {
        Op::Command(Command::CreateAccount { account, balance }) => {
            let steps = (balance.units() + BALANCE_STEP - 1) / BALANCE_STEP;
            let balance = Money::from_units(steps * BALANCE_STEP).min(Money::CAP);
            write!(body, "<account id=\"{account}\" balance=\"{balance}\"/>").unwrap();
        }
        Op::Command(Command::CreateSymbol { symbol }) => write!(body, "<symbol sym=\"{symbol}\"/>").unwrap(),
        Op::Command(Command::ChangeRules { symbol, rules }) => {
            write!(body, "<rules{}/>", rules_attributes(*symbol, rules)).unwrap();
        }
        Op::Command(
            command @ (Command::ChangeFees { .. }
            | Command::ChangeTier { .. }
            | Command::ChangeGroup { .. }
            | Command::Kill { .. }
            | Command::Release { .. }
            | Command::ChangeLimits { .. }),
        ) => {
            let (element, attributes) = fees_element(command).unwrap();
            write!(body, "<{element}{attributes}/>").unwrap();
        }
        Op::Command(Command::ChangePhase { symbol, phase, .. }) => {
            write!(body, "<phase sym=\"{symbol}\" is=\"{phase}\"/>").unwrap();
        }
        Op::Command(Command::IssueShares { symbol, account, shares }) => {
            let account = format!("<account id=\"{account}\">{shares}</account>");
            write!(body, "<symbol sym=\"{symbol}\">{account}</symbol>").unwrap();
        }
        Op::Command(
            Command::Place(_)
            | Command::CancelOrder { .. }
            | Command::ReplaceOrder { .. }
            | Command::CancelAll { .. }
            | Command::KillTogether { .. }
            | Command::ReleaseTogether { .. }
            | Command::Protect { .. }
            | Command::Unprotect { .. }
            | Command::AmendOrder { .. }
            | Command::Amend(_)
            | Command::ActivateReached
            | Command::TakeMessage(_)
            | Command::ExpireOrders
            | Command::FreeClientOrderId { .. }
            | Command::EndAuction
            | Command::FollowCalendar { .. }
            | Command::FundAccount { .. }
            | Command::Deposit { .. }
            | Command::DepositFrom { .. }
            | Command::Withdraw { .. }
            | Command::CloseAccount { .. }
            | Command::GiveShares { .. },
        )
        | Op::Query(_) => {
            unreachable!("transactions create nothing")
        }
    }
}

fn push_transaction(body: &mut String, op: &Op) {
    let op = match *op {
        Op::Command(command) => &Op::Command(as_on_the_wire(command)),
        Op::Query(_) => op,
    };
    match op {
        Op::Command(placing @ Command::Place(place)) => {
            assert_eq!(place.bond(), Bond::Alone, "others stand beside it in one request");
            write!(body, "<order{}/>", placing_attributes(placing)).unwrap();
        }
        Op::Command(Command::CancelOrder { order: OrderName::Id(order), .. }) => {
            write!(body, "<cancel id=\"{order}\"/>").unwrap();
        }
        Op::Command(Command::CancelAll { symbol, .. }) => {
            let symbol = symbol.map(|symbol| format!(" sym=\"{symbol}\"")).unwrap_or_default();
            write!(body, "<cancel-all{symbol}/>").unwrap();
        }
        Op::Command(Command::Amend(amendment @ Amendment { order: OrderName::Id(order), .. })) => {
            write!(body, "<amend id=\"{order}\"{}/>", amendment_attributes(amendment)).unwrap();
        }
        Op::Query(Query { order: OrderName::Id(order), .. }) => write!(body, "<query id=\"{order}\"/>").unwrap(),
        Op::Command(
            Command::CreateAccount { .. }
            | Command::CreateSymbol { .. }
            | Command::IssueShares { .. }
            | Command::FundAccount { .. }
            | Command::Deposit { .. }
            | Command::DepositFrom { .. }
            | Command::Withdraw { .. }
            | Command::CloseAccount { .. }
            | Command::GiveShares { .. }
            | Command::ActivateReached
            | Command::TakeMessage(_)
            | Command::ExpireOrders
            | Command::ChangeRules { .. }
            | Command::ChangeFees { .. }
            | Command::ChangeTier { .. }
            | Command::ChangeGroup { .. }
            | Command::Kill { .. }
            | Command::Release { .. }
            | Command::KillTogether { .. }
            | Command::ReleaseTogether { .. }
            | Command::Protect { .. }
            | Command::Unprotect { .. }
            | Command::ChangeLimits { .. }
            | Command::ChangePhase { .. }
            | Command::EndAuction
            | Command::FollowCalendar { .. },
        ) => {
            unreachable!("what is created is no transaction")
        }
        Op::Command(Command::ReplaceOrder { .. }) => unreachable!("the order behind it stands in the same request"),
        Op::Command(Command::AmendOrder { .. }) => unreachable!("over the wire it is an amendment like any other"),
        Op::Command(Command::CancelOrder { order: OrderName::Client(_), .. })
        | Op::Command(Command::Amend(Amendment { order: OrderName::Client(_), .. }))
        | Op::Command(Command::FreeClientOrderId { .. })
        | Op::Query(Query { order: OrderName::Client(_), .. }) => {
            unreachable!("XML has no client order ids")
        }
    }
}
