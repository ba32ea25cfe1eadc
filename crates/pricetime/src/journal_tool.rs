//! `pricetime journal verify|dump|stats`: checks, prints and counts the journal of a data folder.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use journal::{BatchView, Disk, JournalPoint, ReadEnd, snapshot};
use market::recovery;
use terms::{
    AccountId, Amendment, Bond, Change, Command, CommandKind, Fees, FundsOrder, KillScope, LogMessage, NewOrder,
    OrderForm, OrderKind, OrderName, Place, SelfTrade, Side, Time, TimeInForce, TransferNumber, Trigger, WaitsFor,
};

use crate::inspect;
use crate::journal_dump::{self, DumpArgs};

/// The arguments of `pricetime journal`.
#[derive(Args, Debug)]
pub struct JournalArgs {
    #[command(subcommand)]
    command: JournalCommand,
}

#[derive(Subcommand, Debug)]
enum JournalCommand {
    /// Check every checksum of the journal and the snapshots, and that the journal continues them
    Verify(Folder),
    /// Print every command with its caller
    Dump(DumpArgs),
    /// Count commands, units and bytes
    Stats(Folder),
}

#[derive(Args, Debug)]
struct Folder {
    /// Data folder of a stopped or a running server
    folder: PathBuf,
}

/// Runs one of the commands. Errors: a folder that cannot be read, damage.
pub fn run(args: &JournalArgs) -> Result<ExitCode, String> {
    match &args.command {
        JournalCommand::Verify(folder) => verify(&inspect::open_disk(&folder.folder)?),
        JournalCommand::Dump(args) => {
            let disk = inspect::open_disk(&args.folder)?;
            journal_dump::dump(&disk, oldest(&disk)?, args, describe)
        }
        JournalCommand::Stats(folder) => stats(&inspect::open_disk(&folder.folder)?),
    }
}

/// The begin of the oldest journal file.
fn oldest(disk: &Disk) -> Result<JournalPoint, String> {
    let oldest = journal::oldest_point(disk).map_err(|error| error.to_string())?;
    oldest.ok_or_else(|| "there is no journal file in this folder".to_string())
}

fn verify(disk: &Disk) -> Result<ExitCode, String> {
    let from = oldest(disk)?;
    let mut snapshots = Vec::new();
    for info in snapshot::list(disk).map_err(|error| error.to_string())? {
        let (engine, point) = recovery::load(disk, &info).map_err(|error| error.to_string())?;
        println!("{}: {} bytes, state hash {:016x}: sound", info.name, info.bytes, engine.state_hash());
        snapshots.push((info.name, point));
    }
    let end = journal::check(disk, from).map_err(|error| error.to_string())?;
    for (name, point) in snapshots {
        if point.sequence > end.point.sequence {
            return Err(format!(
                "{name} stands at command {}, but the journal ends at {}",
                point.sequence, end.point.sequence
            ));
        }
        // Reading from the snapshot's point checks that its chain is the journal's.
        if point.sequence >= from.sequence {
            journal::visit_batches(disk, point, Some(point.sequence.next()), &mut |_| Ok(()))
                .map_err(|error| format!("{name} does not belong to this journal: {error}"))?;
        }
    }
    println!("journal: commands {} to {} in {} units: sound", from.sequence.next(), end.point.sequence, end.batches);
    print_unfinished(&end);
    Ok(ExitCode::SUCCESS)
}

fn print_unfinished(end: &ReadEnd) {
    if let Some(cut) = &end.unfinished {
        println!(
            "{} has {} bytes behind its last whole unit, at byte {}: being written now, or left by a crash and never \
             acknowledged",
            cut.segment, cut.bytes, cut.offset
        );
    }
}

/// Puts a command into words. The view `killed_orders` of the database reads those of kills.
pub fn describe(command: &Command) -> String {
    match command {
        Command::CreateAccount { account, balance } => format!("create account {account} balance {balance}"),
        Command::CreateSymbol { symbol } => format!("create symbol {symbol}"),
        Command::IssueShares { symbol, account, shares } => format!("issue {shares} {symbol} to account {account}"),
        Command::FundAccount { payer, account, balance } => {
            format!("create account {account} balance {balance} from account {payer}")
        }
        Command::GiveShares { payer, symbol, account, shares } => {
            format!("give {shares} {symbol} of account {payer} to account {account}")
        }
        Command::Deposit { account, assets, number } => {
            format!("deposit {assets} to account {account}{}", numbered(*number))
        }
        Command::DepositFrom { payer, account, assets, number } => {
            format!("deposit {assets} of account {payer} to account {account}{}", numbered(*number))
        }
        Command::Withdraw { account, assets, number } => {
            format!("withdraw {assets} from account {account}{}", numbered(*number))
        }
        Command::CloseAccount { account } => format!("close account {account}"),
        Command::Place(place) => describe_order(place),
        Command::CancelOrder { account, order: OrderName::Id(order) } => {
            format!("cancel of account {account}: order {order}")
        }
        Command::CancelOrder { account, order: OrderName::Client(id) } => {
            format!("cancel of account {account}: client order id {id}")
        }
        Command::ReplaceOrder { account, order: OrderName::Id(order) } => {
            format!("replacement of account {account}: order {order}, unless the next command is refused")
        }
        Command::ReplaceOrder { account, order: OrderName::Client(id) } => {
            format!("replacement of account {account}: client order id {id}, unless the next command is refused")
        }
        Command::CancelAll { account, symbol, through } => {
            let of = symbol.map(|symbol| format!(" of {symbol}")).unwrap_or_default();
            let up_to = through.map(|order| format!(" up to {order}")).unwrap_or_default();
            format!("cancel of account {account}: all orders{of}{up_to}")
        }
        Command::Kill { scope } => format!("kill {}", scoped(scope)),
        Command::Release { scope } => format!("release {}", scoped(scope)),
        Command::KillTogether { account, .. } => format!("kill account {account}"),
        Command::ReleaseTogether { account, .. } => format!("release account {account}"),
        Command::Protect { account, grace } => format!("protect account {account} with a grace of {grace}"),
        Command::Unprotect { account, is_lost: false, .. } => format!("protect account {account} no longer"),
        Command::Unprotect { account, is_lost: true, through } => {
            let up_to = through.map(|order| format!(" up to {order}")).unwrap_or_default();
            format!("cancel all orders of account {account}{up_to}, for which nobody came back")
        }
        Command::ChangeLimits { account, limits } => format!("limits of account {account}: {limits}"),
        Command::TakeMessage(LogMessage { position, node, epoch, number }) => {
            format!("take message {position} of the shared log: number {number} of node {node} in its epoch {epoch}")
        }
        Command::AmendOrder { account, order: OrderName::Id(order), shares } => {
            format!("amendment of account {account}: order {order} to {shares}")
        }
        Command::AmendOrder { account, order: OrderName::Client(id), shares } => {
            format!("amendment of account {account}: client order id {id} to {shares}")
        }
        Command::Amend(amendment) => describe_amendment(amendment),
        Command::ChangeRules { symbol, rules } => format!("rules of {symbol}: {rules}"),
        Command::FreeClientOrderId { account, id } => format!("account {account}: client order id {id} is free again"),
        Command::ChangeFees { symbol, tier, fees: None } => format!("fees of {symbol}, tier {}: none", tier.number()),
        Command::ChangeFees { symbol, tier, fees: Some(Fees { maker, taker, account }) } => format!(
            "fees of {symbol}, tier {}: maker {maker} per cent, taker {taker} per cent, to account {account}",
            tier.number()
        ),
        Command::ChangeTier { account, tier } => format!("tier of account {account}: {}", tier.number()),
        Command::ChangeGroup { account, group } => format!("group of account {account}: {}", group.number()),
        Command::ChangePhase { symbol, phase, due: None } => format!("phase of {symbol}: {phase}"),
        Command::ChangePhase { symbol, phase, due: Some(Time(due)) } => {
            format!("phase of {symbol}: {phase}, as the calendar had due at {due}")
        }
        Command::EndAuction => "end the auction whose time came".to_owned(),
        Command::FollowCalendar { through } => format!("the calendar was followed through {}", through.0),
        Command::ActivateReached => "activate orders whose stop was reached".to_owned(),
        Command::ExpireOrders => "end orders whose deadline came, or that a kill left".to_owned(),
    }
}

/// Puts the number that a transfer must have into words.
fn numbered(number: Option<TransferNumber>) -> String {
    number.map(|number| format!(" as its transfer {number}")).unwrap_or_default()
}

/// Puts the terms that an amendment names into words.
fn describe_amendment(amendment: &Amendment) -> String {
    let order = match amendment.order {
        OrderName::Id(order) => format!("order {order}"),
        OrderName::Client(id) => format!("client order id {id}"),
    };
    let mut terms = Vec::new();
    terms.extend(amendment.shares().map(|shares| format!("shares {shares}")));
    terms.extend(amendment.limit().map(|limit| format!("limit {limit}")));
    terms.extend(amendment.waits_for().map(|waits_for| match waits_for {
        WaitsFor::StopLoss(price) => format!("stop {price}"),
        WaitsFor::TakeProfit(price) => format!("take-profit {price}"),
        WaitsFor::Trail(trail) => format!("{trail:?} the market"),
    }));
    terms.extend(match amendment.display() {
        Change::Keep => None,
        Change::Remove => Some("no display".to_owned()),
        Change::Set(display) => Some(format!("display {display}")),
    });
    terms.extend(match amendment.deadline() {
        Change::Keep => None,
        Change::Remove => Some("no deadline".to_owned()),
        Change::Set(until) => Some(format!("until {}", until.time().seconds())),
    });
    terms.extend(amendment.tif().map(|tif| match tif {
        TimeInForce::Rests => "rests".to_owned(),
        TimeInForce::ImmediateOrCancel => "immediate or cancel".to_owned(),
        TimeInForce::FillOrKill => "fill or kill".to_owned(),
        TimeInForce::GoodForAuction => "good for the auction".to_owned(),
    }));
    format!("amendment of account {}: {order} to {}", amendment.account, terms.join(", "))
}

/// Puts an order that a command places into words.
fn describe_order(place: &Place) -> String {
    let account = &place.account;
    let (order, manner) = match &place.form() {
        OrderForm::Plain(order) => (placed(account, order), String::new()),
        OrderForm::Iceberg { order, display } => (placed(account, order), format!(", shows {display} at a time")),
        OrderForm::Trailing { order, trail } => (placed(account, order), format!(", stop {trail:?} the market")),
        OrderForm::Funds(FundsOrder { symbol, side, funds, self_trade }) => {
            let (side, mode) = (word(*side), prevention(*self_trade));
            (format!("order of account {account}: {side} {symbol} for {funds} at any price{mode}"), String::new())
        }
    };
    let until = place.deadline().map(|until| format!(", until {}", until.time().0)).unwrap_or_default();
    let id = place.client_id().map(|id| format!(", client order id {id}")).unwrap_or_default();
    let bond = match place.bond() {
        Bond::Alone => "",
        Bond::IfCanceled => ", if the command before canceled one",
        Bond::Replacing => ", in place of that of the command before",
        Bond::Linked => ", linked with the order of the command before",
        Bond::Working { two_wait: false } => ", and the order of the next command waits for it",
        Bond::Working { two_wait: true } => ", and the orders of the next two commands wait for it",
        Bond::Pending => ", when the working order before it is executed",
    };
    format!("{order}{until}{id}{manner}{bond}")
}

fn scoped(scope: &KillScope) -> String {
    match scope {
        KillScope::Everything => "everything".to_owned(),
        KillScope::Account(account) => format!("account {account}"),
        KillScope::Symbol(symbol) => format!("symbol {symbol}"),
    }
}

fn placed(account: &AccountId, order: &NewOrder) -> String {
    let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade } = order;
    let order = format!("order of account {account}: {} {shares} {symbol}", word(*side));
    let placed = match kind {
        OrderKind::Limit => format!("{order} at {limit}"),
        OrderKind::Market => format!("{order} at any price"),
        OrderKind::AuctionMarket => format!("{order} at any price, {}", kind.name()),
        OrderKind::PostOnly
        | OrderKind::PostOnlyMove
        | OrderKind::ImmediateOrCancel
        | OrderKind::FillOrKill
        | OrderKind::AuctionLimit => format!("{order} at {limit}, {}", kind.name()),
    };
    let trigger = trigger.map(|trigger| format!(", {} {}", waiting(*side, trigger), trigger.price()));
    format!("{placed}{}{}", trigger.unwrap_or_default(), prevention(*self_trade))
}

/// The words for self-trade prevention, if it is on.
fn prevention(self_trade: SelfTrade) -> String {
    if self_trade == SelfTrade::Allowed {
        return String::new();
    }
    format!(", self-trade {}", self_trade.name())
}

/// The words for a trigger.
fn waiting(side: Side, trigger: Trigger) -> &'static str {
    if trigger.is_stop_loss(side) { "stop" } else { "take profit" }
}

fn word(side: Side) -> &'static str {
    match side {
        Side::Buy => "buy",
        Side::Sell => "sell",
    }
}

fn stats(disk: &Disk) -> Result<ExitCode, String> {
    let (mut bytes, mut largest, mut segments) = (0u64, 0u32, Vec::<String>::new());
    let mut kinds = [0u64; KINDS.len()];
    let from = oldest(disk)?;
    let end = journal::visit_batches(disk, from, None, &mut |batch: &BatchView<'_>| {
        bytes += batch.bytes;
        largest = largest.max(batch.count);
        if segments.last().is_none_or(|last| last != batch.segment) {
            segments.push(batch.segment.to_string());
        }
        let mut payload = batch.payload;
        while !payload.is_empty() {
            kinds[kind(&journal::decode(&mut payload)?)] += 1;
        }
        Ok(())
    });
    let end = end.map_err(|error| error.to_string())?;
    let per = |sum: u64, count: u64| if count == 0 { 0.0 } else { sum as f64 / count as f64 };
    println!("files with commands   {}", segments.len());
    println!("units                 {} (largest {largest} commands)", end.batches);
    println!("commands              {}", end.commands);
    for (name, count) in KINDS.iter().zip(kinds) {
        println!("  {name:<19} {count}");
    }
    println!("bytes                 {bytes}");
    println!("commands a unit       {:.1}", per(end.commands, end.batches));
    println!("bytes a command       {:.1}", per(bytes, end.commands));
    Ok(ExitCode::SUCCESS)
}

const KINDS: [&str; 18] = [
    "accounts",
    "symbols",
    "issues",
    "orders",
    "cancels",
    "activations",
    "amendments",
    "expirations",
    "rules",
    "freed ids",
    "fees",
    "phases",
    "groups",
    "kills",
    "protections",
    "limits",
    "messages",
    "transfers",
];

/// The place of a command's kind among [`KINDS`].
fn kind(command: &Command) -> usize {
    match command.kind() {
        CommandKind::CreateAccount | CommandKind::FundAccount => 0,
        CommandKind::CreateSymbol => 1,
        CommandKind::IssueShares | CommandKind::GiveShares => 2,
        CommandKind::Place => 3,
        CommandKind::CancelOrder | CommandKind::CancelAll => 4,
        CommandKind::ActivateReached => 5,
        CommandKind::AmendOrder => 6,
        CommandKind::ExpireOrders => 7,
        CommandKind::ChangeRules => 8,
        CommandKind::FreeClientOrderId => 9,
        CommandKind::ChangeFees | CommandKind::ChangeTier => 10,
        CommandKind::ChangePhase | CommandKind::EndAuction | CommandKind::FollowCalendar => 11,
        CommandKind::ChangeGroup => 12,
        CommandKind::Kill | CommandKind::Release => 13,
        CommandKind::Protect | CommandKind::Unprotect => 14,
        CommandKind::ChangeLimits => 15,
        CommandKind::TakeMessage => 16,
        CommandKind::Deposit | CommandKind::DepositFrom | CommandKind::Withdraw | CommandKind::CloseAccount => 17,
    }
}
