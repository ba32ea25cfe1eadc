//! The server over a real socket against the naive model: all replies to random requests and the final state are the
//! same, with restarts and crashes in between.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::wildcard_enum_match_arm)]

mod common;

use std::fmt::Write;
use std::time::Instant;

use common::client::frame;
use common::folder::Folder;
use common::order_xml::{
    amendment_attributes, as_on_the_wire, fees_element, on_failure_attribute, placing_attributes, rules_attributes,
    seconds,
};
use common::reply::{now, without_times};
use common::server::{Launch, Server};
use exchange::keep_unless_placed;
use model::Model;
use model::workload::{Flavour, Random, Workload};
use serde_json::Value;
use terms::{
    AccountId, AccountLimit, Amendment, AuctionTies, Bond, Change, Command, Deadline, Entry, Execution, Iceberg,
    KillScope, Money, Op, OpenTerms, OrderId, OrderName, Pause, Place, Query, Reject, Reply, Rule, Sequence, Side,
    StateItem, Status, Symbol, SymbolRules, Time,
};

/// Files are small, and the bounds are those of the model.
const SMALL: &str = "--segment-size 64KiB --snapshot-every 500 --max-balance 100000000000000000000 \
    --max-position 100000000000000000000 --max-issue 100000000000000000000";
/// Money has 16 decimals, and a balance at most 8.
const BALANCE_STEP: i128 = 100_000_000;

/// A request, and the reply that the model gives.
struct RequestAndReply {
    body: String,
    reply: String,
}

/// The model with its random requests.
struct Oracle {
    model: Model,
    workload: Workload,
    random: Random,
    sequence: Sequence,
    next: Option<Vec<Op>>,
}

impl Oracle {
    fn new(seed: u64) -> Oracle {
        Oracle {
            model: Model::new(),
            // If symbols have rules, fewer of the other commands are accepted.
            workload: match seed % 4 {
                0 => Workload::new(seed)
                    .with_all_kinds()
                    .with_terms()
                    .with_fees()
                    .with_groups()
                    .with_mass_cancels()
                    .with_kills()
                    .with_limits(),
                1 => Workload::new(seed).with_all_kinds().with_terms().with_icebergs().with_trails().with_amendments(),
                3 => Workload::new(seed).with_all_kinds().with_terms().with_rules().with_phases().with_amendments(),
                _ => Workload::new(seed).with_all_kinds().with_terms().with_rules(),
            },
            random: Random::new(!seed),
            sequence: Sequence::ZERO,
            next: None,
        }
    }

    /// Draws the next element: an op as it can be sent over the wire, or the two ops of a replacement.
    fn draw(&mut self) -> Vec<Op> {
        let mut ops = self.workload.next_request(&self.model);
        for op in &mut ops {
            if let Op::Command(command) = op {
                *command = later(*command);
            }
            if let Op::Command(Command::CreateAccount { balance, .. }) = op {
                let steps = (balance.units() + BALANCE_STEP - 1) / BALANCE_STEP;
                *balance = Money::from_units(steps * BALANCE_STEP).min(Money::CAP);
            }
        }
        ops
    }

    /// A request with one to six children, and its reply.
    fn request(&mut self) -> RequestAndReply {
        let first = self.next.take().unwrap_or_else(|| self.draw());
        let account = account_of(&first[0]);
        let (mut children, mut answers) = (String::new(), String::new());
        let mut ops = first;
        for _ in 0..6 {
            match ops[..] {
                [Op::Command(cancel), Op::Command(placing)] => {
                    self.replace(cancel, placing, &mut children, &mut answers);
                }
                _ => ops.into_iter().for_each(|op| self.answer(op, &mut children, &mut answers)),
            }
            // A few tries, so that requests with several children are not too rare.
            let fitting = (0..4).map(|_| self.draw()).find(|ops| account_of(&ops[0]) == account);
            match fitting {
                Some(fitting) if self.random.percent(80) => ops = fitting,
                other => {
                    self.next = other;
                    break;
                }
            }
        }
        // An op that was drawn before the last answer may name something that is gone by now, which does no harm.
        let body = match account {
            Some(account) => format!("<transactions id=\"{account}\">{children}</transactions>"),
            None => format!("<create>{children}</create>"),
        };
        RequestAndReply { body, reply: format!("<results>{answers}</results>\n") }
    }

    fn replace(&mut self, cancel: Command, placing: Command, children: &mut String, answers: &mut String) {
        let Some((_, order)) = cancel.named_order() else { panic!("{cancel:?} cancels nothing") };
        let placing = as_on_the_wire(placing);
        let (canceled, placed) = (format!(" id=\"{}\"", id_of(order).0), placing_attributes(&placing));
        write!(children, "<replace{canceled}{placed}{}/>", on_failure_attribute(&placing)).unwrap();
        answers.push_str("<replaced>");
        let (mut reply, executions) = self.apply(cancel);
        let (new_reply, new_executions) = self.apply(placing);
        if placing.bond() == Some(Bond::Replacing) {
            keep_unless_placed(&mut reply, &new_reply);
        }
        write_answer(answers, &canceled, &reply, &executions);
        write_answer(answers, &placed, &new_reply, &new_executions);
        answers.push_str("</replaced>");
    }

    fn answer(&mut self, op: Op, children: &mut String, answers: &mut String) {
        let mut executions = Vec::new();
        match op {
            // No order has the id 0, so the query is refused before it reaches the market.
            Op::Query(Query { order: OrderName::Id(OrderId(0)), .. }) => {
                children.push_str("<query id=\"0\"/>");
                write_answer(answers, " id=\"0\"", &Reply::Rejected(Reject::UnknownOrder), &[]);
            }
            Op::Command(Command::CancelOrder { order: OrderName::Id(OrderId(0)), .. }) => {
                children.push_str("<cancel id=\"0\"/>");
                write_answer(answers, " id=\"0\"", &Reply::Rejected(Reject::UnknownOrder), &[]);
            }
            Op::Command(command @ (Command::AmendOrder { .. } | Command::Amend(_)))
                if command.named_order().is_some_and(|(_, order)| order == OrderName::Id(OrderId(0))) =>
            {
                let Command::Amend(amendment) = as_on_the_wire(command) else { unreachable!("it is an amendment") };
                let echo = format!(" id=\"0\"{}", amendment_attributes(&amendment));
                write!(children, "<amend{echo}/>").unwrap();
                write_answer(answers, &echo, &Reply::Rejected(Reject::UnknownOrder), &[]);
            }
            Op::Query(query) => {
                let order = id_of(query.order);
                write!(children, "<query id=\"{}\"/>", order.0).unwrap();
                let reply = self.model.query(&query, &mut executions);
                write_answer(answers, &format!(" id=\"{}\"", order.0), &reply, &executions);
            }
            Op::Command(command) => self.command(command, children, answers),
        }
    }

    fn command(&mut self, command: Command, children: &mut String, answers: &mut String) {
        let command = as_on_the_wire(lasting(command));
        let echo = match command {
            Command::CreateAccount { account, balance } => {
                write!(children, "<account id=\"{account}\" balance=\"{balance}\"/>").unwrap();
                format!(" id=\"{account}\"")
            }
            Command::CreateSymbol { symbol } => {
                write!(children, "<symbol sym=\"{symbol}\"/>").unwrap();
                let (reply, _) = self.apply(command);
                assert_eq!(reply, Reply::Created);
                return;
            }
            Command::IssueShares { symbol, account, shares } => {
                write!(children, "<symbol sym=\"{symbol}\"><account id=\"{account}\">{shares}</account></symbol>")
                    .unwrap();
                // Over the wire a symbol is created together with its first shares.
                self.apply(Command::CreateSymbol { symbol });
                format!(" sym=\"{symbol}\" id=\"{account}\"")
            }
            Command::ChangeRules { symbol, rules } => {
                let echo = rules_attributes(symbol, &rules);
                write!(children, "<rules{echo}/>").unwrap();
                match self.apply(command).0 {
                    Reply::Created => write!(answers, "<changed{echo}/>").unwrap(),
                    refused => write_answer(answers, &echo, &refused, &[]),
                }
                return;
            }
            Command::ChangeFees { .. }
            | Command::ChangeTier { .. }
            | Command::ChangeGroup { .. }
            | Command::Kill { .. }
            | Command::Release { .. }
            | Command::TakeMessage(_)
            | Command::FundAccount { .. }
            | Command::Deposit { .. }
            | Command::DepositFrom { .. }
            | Command::Withdraw { .. }
            | Command::CloseAccount { .. }
            | Command::GiveShares { .. }
            | Command::ChangeLimits { .. } => {
                let (element, echo) = fees_element(&command).expect("it is one of these");
                write!(children, "<{element}{echo}/>").unwrap();
                match self.apply(command).0 {
                    Reply::Created => write!(answers, "<changed{echo}/>").unwrap(),
                    Reply::CanceledAll { orders, .. } => {
                        write!(answers, "<killed{echo} orders=\"{orders}\"/>").unwrap()
                    }
                    refused => write_answer(answers, &echo, &refused, &[]),
                }
                return;
            }
            Command::ChangePhase { symbol, phase, .. } => {
                let echo = format!(" sym=\"{symbol}\" is=\"{phase}\"");
                write!(children, "<phase{echo}/>").unwrap();
                match self.apply(command).0 {
                    Reply::Created => write!(answers, "<changed{echo}/>").unwrap(),
                    Reply::InAuction => write!(answers, "<changed sym=\"{symbol}\" is=\"auction\"/>").unwrap(),
                    refused => write_answer(answers, &echo, &refused, &[]),
                }
                return;
            }
            Command::KillTogether { .. } | Command::ReleaseTogether { .. } => {
                unreachable!("this market has no members")
            }
            Command::Protect { .. } | Command::Unprotect { .. } => unreachable!("this workload protects nobody"),
            Command::EndAuction | Command::FollowCalendar { .. } => {
                unreachable!("this workload draws no commands of the market's loop")
            }
            Command::Place(place) => {
                assert_eq!(
                    place.bond(),
                    Bond::Alone,
                    "this workload links nothing, and a replacement is answered apart"
                );
                let echo = placing_attributes(&command);
                write!(children, "<order{echo}/>").unwrap();
                echo
            }
            Command::CancelOrder { order, .. } => {
                let order = id_of(order);
                write!(children, "<cancel id=\"{}\"/>", order.0).unwrap();
                format!(" id=\"{}\"", order.0)
            }
            Command::ReplaceOrder { .. } => unreachable!("the order behind it is answered together with it"),
            Command::CancelAll { symbol, through, .. } => {
                let symbol = symbol.map(|symbol| format!(" sym=\"{symbol}\"")).unwrap_or_default();
                let echo = symbol + &through.map(|through| format!(" through=\"{through}\"")).unwrap_or_default();
                write!(children, "<cancel-all{echo}/>").unwrap();
                echo
            }
            Command::AmendOrder { .. } => unreachable!("over the wire it is an amendment like any other"),
            Command::Amend(amendment) => {
                let echo = format!(" id=\"{}\"{}", id_of(amendment.order).0, amendment_attributes(&amendment));
                write!(children, "<amend{echo}/>").unwrap();
                echo
            }
            Command::ActivateReached | Command::ExpireOrders | Command::FreeClientOrderId { .. } => {
                unreachable!("no client asks for it")
            }
        };
        let (reply, executions) = self.apply(command);
        write_answer(answers, &echo, &reply, &executions);
    }

    fn apply(&mut self, command: Command) -> (Reply, Vec<Execution>) {
        self.sequence = self.sequence.next();
        let mut executions = Vec::new();
        let entry = Entry { sequence: self.sequence, time: Time(0), command };
        let reply = self.model.apply(&entry, &mut executions, &mut Vec::new());
        (reply, executions)
    }
}

/// The model's time stands still and the server's does not, so deadlines must be reached in neither.
const CENTURY: u64 = 4_000_000_000_000_000;

/// The command with its deadline, if any, moved to the far future.
fn later(command: Command) -> Command {
    let far = |until: Deadline| Deadline::new(Time(until.time().0 + CENTURY)).expect("later than 1970");
    match command {
        Command::Place(place) => Command::Place(place.until(place.deadline().map(far))),
        Command::Amend(amendment) => match amendment.deadline() {
            Change::Set(until) => Command::Amend(amendment.with_deadline(Some(far(until)))),
            Change::Keep | Change::Remove => command,
        },
        other => other,
    }
}

/// An auction that an order brings about ends by the clock, which the model does not have, so it is made to last longer
/// than this test.
fn lasting(command: Command) -> Command {
    let Command::ChangeRules { symbol, rules } = command else { return command };
    let interruption = rules.interruption.map(|_| Pause::MAX);
    Command::ChangeRules { symbol, rules: SymbolRules { interruption, ..rules } }
}

fn account_of(op: &Op) -> Option<AccountId> {
    match op {
        Op::Query(Query { account, .. })
        | Op::Command(
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
            | Command::TakeMessage(_)
            | Command::ChangePhase { .. }
            | Command::EndAuction
            | Command::FollowCalendar { .. },
        ) => None,
    }
}

fn id_of(order: OrderName) -> OrderId {
    match order {
        OrderName::Id(order) => order,
        OrderName::Client(_) => unreachable!("{WITHOUT_CLIENT_ORDERS}"),
    }
}

const WITHOUT_CLIENT_ORDERS: &str = "XML has no client order ids, and this workload draws none";

/// Writes the reply as docs/PROTOCOL.md describes it, independently of the server's code.
fn write_answer(out: &mut String, echo: &str, reply: &Reply, executions: &[Execution]) {
    match reply {
        Reply::Created => write!(out, "<created{echo}/>").unwrap(),
        Reply::Opened(OrderId(id)) => write!(out, "<opened{echo} id=\"{id}\"/>").unwrap(),
        Reply::Moved { order, limit, .. } => {
            write!(out, "<opened{echo} moved-to=\"{limit}\" id=\"{order}\"/>").unwrap()
        }
        Reply::Status(status) => write_status(out, "status", echo, status, executions),
        Reply::Canceled(status) => write_status(out, "canceled", echo, status, executions),
        Reply::CanceledAll { orders, .. } => write!(out, "<canceled-all{echo} orders=\"{orders}\"/>").unwrap(),
        Reply::Rejected(reject) => write!(out, "<error{echo}>{reject}</error>").unwrap(),
        Reply::Done(_) => panic!("the model keeps every order"),
        Reply::Repeated(_) => unreachable!("{WITHOUT_CLIENT_ORDERS}"),
        Reply::Amended { open, .. } => {
            write!(out, "<amended{echo}><open shares=\"{open}\"/></amended>").unwrap();
        }
        Reply::Activated | Reply::Expired | Reply::Freed(_) => unreachable!("no client asks for it"),
        Reply::InAuction => unreachable!("a change of phase is answered by itself"),
    }
}

fn write_status(out: &mut String, name: &str, echo: &str, status: &Status, executions: &[Execution]) {
    let mut children = String::new();
    if !status.open.is_zero() {
        let OpenTerms { waits, trail, pends_on, until, iceberg } = status.terms.as_deref().copied().unwrap_or_default();
        let waits = waits.map(|trigger| format!(" waits-for=\"{}\"", trigger.price())).unwrap_or_default();
        let trail = trail.map(|trail| match trail.bips() {
            Some(bips) => format!(" trail-bips=\"{bips}\""),
            None => format!(" trail=\"{}\"", trail.distance().expect("one or the other")),
        });
        let trail = trail.unwrap_or_default();
        let pends = pends_on.map(|working| format!(" pends-on=\"{working}\"")).unwrap_or_default();
        let until = until.map(|until| format!(" until=\"{}\"", seconds(until.time()))).unwrap_or_default();
        let iceberg = iceberg.map(|Iceberg { display, shown }| format!(" display=\"{display}\" shown=\"{shown}\""));
        let iceberg = iceberg.unwrap_or_default();
        write!(children, "<open shares=\"{}\"{waits}{trail}{pends}{until}{iceberg}/>", status.open).unwrap();
    }
    if let Some(canceled) = &status.canceled {
        write!(children, "<canceled shares=\"{}\" time=\"T\"/>", canceled.shares).unwrap();
    }
    for execution @ Execution { shares, price, .. } in &executions[status.executions.clone()] {
        let fee = execution.taken().map(|taken| format!(" fee=\"{}\"", taken.text().as_str())).unwrap_or_default();
        write!(children, "<executed shares=\"{shares}\" price=\"{price}\"{fee} time=\"T\"/>").unwrap();
    }
    write!(out, "<{name}{echo}>{children}</{name}>").unwrap();
}

/// Sends requests, singly or several at once, and compares the replies.
fn compare_replies(server: &Server, oracle: &mut Oracle, requests: usize, since: u64) {
    let mut clients = [server.client(), server.client(), server.client()];
    let mut left = requests;
    while left > 0 {
        let at_once = 1 + oracle.random.below(20).min(left - 1);
        left -= at_once;
        let asked: Vec<RequestAndReply> = (0..at_once).map(|_| oracle.request()).collect();
        let client = &mut clients[oracle.random.below(3)];
        client.send(&asked.iter().flat_map(|asked| frame(&asked.body)).collect::<Vec<u8>>()).unwrap();
        for RequestAndReply { body, reply } in asked {
            let told = client.reply().unwrap_or_else(|why| panic!("{body}: {why}"));
            assert_eq!(without_times(&told, since), reply, "the reply to {body}");
        }
    }
}

/// Compares the state that `pricetime state` shows with the model's.
fn compare_state(state: &Value, model: &Model) {
    assert_eq!(state["next_order"], model.orders_placed() + 1);
    assert_eq!(state["totals"]["money"], model.total_money().to_string());
    let accounts: Vec<AccountId> = model.accounts().collect();
    let symbols: Vec<Symbol> = model.symbols().collect();
    let told = state["accounts"].as_array().unwrap();
    assert_eq!(told.len(), accounts.len());
    let mut orders = state["orders"].as_array().unwrap().iter();
    let (mut executions, mut added_up) = ([].iter(), &Value::Null);
    let mut positions = 0;
    let mut told_symbols = state["totals"]["symbols"].as_array().unwrap().iter();
    let mut told_accounts = told.iter();
    for item in model.state_items() {
        match item {
            StateItem::Head { sequence, .. } => assert_eq!(state["sequence"], sequence.0),
            StateItem::Account { id, balance } => {
                let told = told_accounts.next().unwrap();
                assert_eq!((&told["id"], &told["balance"]), (&id.to_string().into(), &balance.to_string().into()));
            }
            StateItem::Symbol { name, issued } => {
                let told = told_symbols.next().unwrap();
                assert_eq!((&told["symbol"], &told["issued"]), (&name.to_string().into(), &issued.to_string().into()));
            }
            StateItem::Position { account, symbol, shares } => {
                let name = symbols[symbol.0 as usize].to_string();
                let all = told[account.0 as usize]["positions"].as_array().unwrap();
                let found = all.iter().find(|position| position["symbol"] == name).unwrap_or_else(|| panic!("{all:?}"));
                assert_eq!(found["shares"], shares.to_string());
                positions += 1;
            }
            StateItem::Order { order, account, symbol, side, limit, open } => {
                assert_eq!(executions.len(), 0, "executions that the model has not");
                let told = orders.next().expect("an open order of the model");
                let side = if side == Side::Buy { "buy" } else { "sell" };
                let (account, symbol) = (accounts[account.0 as usize], symbols[symbol.0 as usize]);
                for (name, value) in [("account", account.to_string()), ("symbol", symbol.to_string())] {
                    assert_eq!(told[name], value, "order {}", order.0);
                }
                for (name, value) in
                    [("side", side.to_string()), ("limit", limit.to_string()), ("open", open.to_string())]
                {
                    assert_eq!(told[name], value, "order {}", order.0);
                }
                assert_eq!(told["id"], order.0);
                executions = told["executions"].as_array().unwrap().iter();
                added_up = &told["executed"];
            }
            StateItem::Watch { .. }
            | StateItem::Kind { .. }
            | StateItem::Deadline { .. }
            | StateItem::Link { .. }
            | StateItem::Message(_)
            | StateItem::PhaseChanged { .. }
            | StateItem::Calendar { .. } => {}
            StateItem::Protection { account, grace } => {
                let told = &state["accounts"][account.0 as usize]["cancel_on_disconnect"];
                assert_eq!(*told, grace.to_string(), "account {}", account.0);
            }
            StateItem::Limits { account, limits } => {
                let told = &state["accounts"][account.0 as usize]["limits"];
                for limit in AccountLimit::ALL {
                    let said = limits.amount(limit).map(|amount| amount.as_str().to_owned());
                    assert_eq!(told.get(limit.name()).and_then(Value::as_str), said.as_deref());
                }
            }
            StateItem::Kill { scope } => {
                let name = match scope {
                    KillScope::Everything => "everything".to_owned(),
                    KillScope::Account(account) => format!("account {}", accounts[account.0 as usize]),
                    KillScope::Symbol(symbol) => format!("symbol {}", symbols[symbol.0 as usize]),
                };
                let killed = state["totals"]["killed"].as_array().unwrap();
                assert!(killed.iter().any(|told| *told == name), "{name} is killed: {killed:?}");
            }
            StateItem::Iceberg { order, display, shown } => {
                let told = state["orders"].as_array().unwrap().iter().find(|told| told["id"] == order.0).unwrap();
                assert_eq!(told["iceberg"]["display"], display.to_string());
                assert_eq!(told["iceberg"]["shown"], shown.to_string());
            }
            StateItem::Phase { symbol, phase } => {
                let told = &state["totals"]["symbols"][symbol.0 as usize]["phase"];
                assert_eq!(told["phase"], phase.phase.name());
                // The model's time stands still, so the server's auction ends at another time.
                assert_eq!(told.get("until_us").is_some(), phase.until.is_some());
            }
            StateItem::Rules { symbol, rules } => {
                let told = &state["totals"]["symbols"][symbol.0 as usize]["rules"];
                assert_eq!(told["trading"], if rules.is_halted { "off" } else { "on" });
                let is_pressed = rules.auction_ties == AuctionTies::Pressure;
                assert_eq!(told.get("auction-ties").is_some_and(|told| told == "pressure"), is_pressed);
                for rule in Rule::ALL {
                    let amount = rules.amount(rule).map(|amount| amount.as_str().to_owned());
                    assert_eq!(told.get(rule.name()).and_then(Value::as_str), amount.as_deref(), "{}", rule.name());
                }
            }
            StateItem::Stop { order, placed, .. } => {
                assert_eq!(executions.len(), 0, "executions that the model has not");
                let (told, trigger) = (orders.next().expect("an open order of the model"), placed.trigger.unwrap());
                let word = if trigger.is_stop_loss(placed.side) { "stop" } else { "take profit" };
                let waits_for = format!("{word} {}", trigger.price());
                let found = (&told["id"], &told["waits_for"], &told["open"]);
                assert_eq!(found, (&order.0.into(), &waits_for.into(), &placed.shares.to_string().into()));
            }
            StateItem::Delayed { order, placed, is_under_way, .. } => {
                let told = orders.next().expect("an open order of the model");
                let why = if is_under_way { "under way" } else { "behind another" };
                let found = (&told["id"], &told["delayed"], &told["open"]);
                assert_eq!(found, (&order.0.into(), &why.into(), &placed.shares.to_string().into()));
            }
            StateItem::Pending { order, placed, working, .. } => {
                let told = orders.next().expect("an open order of the model");
                let found = (&told["id"], &told["pends_on"], &told["open"]);
                assert_eq!(found, (&order.0.into(), &working.0.into(), &placed.shares.to_string().into()));
            }
            StateItem::Fees { symbol, tier, fees } => {
                let all = state["totals"]["symbols"][symbol.0 as usize]["fees"].as_array().unwrap();
                let told = all.iter().find(|told| told["tier"] == tier.number()).unwrap();
                let (maker, taker) = (fees.maker.to_string(), fees.taker.to_string());
                let account = accounts[fees.account.0 as usize].to_string();
                assert_eq!(
                    (&told["maker"], &told["taker"], &told["account"]),
                    (&maker.into(), &taker.into(), &account.into())
                );
            }
            StateItem::Tier { account, tier } => assert_eq!(told[account.0 as usize]["tier"], tier.number()),
            StateItem::AccountStatus { account, status } => {
                let transfers = Some(status.transfers).filter(|&made| made > 0);
                let told = &told[account.0 as usize];
                assert_eq!((told["transfers"].as_u64(), told["closed"] == true), (transfers, status.is_closed));
            }
            StateItem::Group { account, group } => assert_eq!(told[account.0 as usize]["group"], group.number()),
            StateItem::Execution(execution @ Execution { shares, price, .. }) => {
                let told = executions.next().expect("an execution of the model");
                assert_eq!((&told["shares"], &told["price"]), (&shares.to_string().into(), &price.to_string().into()));
                let fee = execution.taken().map(|taken| taken.text().as_str().to_owned());
                assert_eq!(told.get("fee").and_then(Value::as_str), fee.as_deref());
            }
            StateItem::Executed(executed) => {
                assert_eq!(added_up["executions"], executed.executions);
                assert_eq!(added_up["shares"], executed.shares.to_string());
                assert_eq!(added_up["money"], executed.money.to_string());
            }
            StateItem::ClientOrder { .. } => unreachable!("{WITHOUT_CLIENT_ORDERS}"),
        }
    }
    assert_eq!((orders.len(), executions.len(), told_symbols.len(), told_accounts.len()), (0, 0, 0, 0));
    let free = |account: &Value| account["positions"].as_array().unwrap().iter().filter(|p| p["shares"] != "0").count();
    assert_eq!(told.iter().map(free).sum::<usize>(), positions);
}

/// Plays a random market of this many requests, with restarts and crashes.
fn play(seed: u64, requests: usize, rounds: usize) {
    let since = now() - 1;
    let folder = Folder::new("model");
    let launch = Launch::new(&folder.data()).with(SMALL);
    let mut oracle = Oracle::new(seed);
    let mut server = launch.start();
    for round in 0..rounds {
        compare_replies(&server, &mut oracle, requests / rounds, since);
        oracle.model.check_invariants();
        compare_state(&server.state(), &oracle.model);
        if round % 2 == 0 {
            server.kill();
        } else {
            server.stop();
        }
        server = launch.start();
    }
    compare_replies(&server, &mut oracle, 50, since);
    compare_state(&server.state(), &oracle.model);
    server.stop();
}

/// Seeds, `of_each` for each kind of market.
fn seeds(first: u64, of_each: usize) -> Vec<u64> {
    let kinds = [Flavour::Plain, Flavour::Poor, Flavour::Crumbs, Flavour::Extreme];
    let of_kind = |kind| (first..).filter(move |seed| Workload::new(*seed).flavour() == kind).take(of_each);
    kinds.into_iter().flat_map(of_kind).collect()
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

#[test]
fn replies_and_state_are_the_models_with_restarts_and_crashes_in_between() {
    let seeds = seeds(number("PRICETIME_SEED", 1), number("PRICETIME_MARKETS", 12) as usize / 4);
    let started = Instant::now();
    for &seed in &seeds {
        println!("market of seed {seed}");
        play(seed, 1_500, 4);
    }
    println!("{} markets of 1500 requests agree, {:.1} s", seeds.len(), started.elapsed().as_secs_f64());
}
