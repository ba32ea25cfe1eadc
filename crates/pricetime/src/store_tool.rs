//! `pricetime store import|export|verify`: moves a market between a data folder and a database, in both directions, and
//! compares the two. It never moves a market to a place that holds one already.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use engine::{DoneOrders, Engine, Importer};
use history::{Done, History, HistoryError};
use journal::{DataLock, Disk, Journal, JournalPoint, VisitError};
use market::{recovery, snapshots};
use store::{Effects, Head, Stop, Store, StoreError, StoreUrl, Writer};
use terms::{DoneOrder, Entry, Executed, Execution, OrderId, Sequence, StateItem};

use crate::inspect;
use crate::members;
use crate::replayed_callers::ReplayedCallers;
use crate::store_location::GivenUrl;
use crate::take_over;

/// The number of commands in one transaction of a replay.
const COMMANDS_AT_ONCE: u64 = 4096;
/// The time for which a database has to answer.
const ROWS_PATIENCE: Duration = Duration::from_secs(60);
/// The number of executions of an order read at once.
const EXECUTIONS_AT_ONCE: usize = 1 << 16;
/// The number of open orders whose executions one statement reads.
const LONG_ORDERS_AT_ONCE: usize = 64;

/// The arguments of `pricetime store`.
#[derive(Args, Debug)]
pub struct StoreArgs {
    #[command(subcommand)]
    command: StoreCommand,
}

#[derive(Subcommand, Debug)]
enum StoreCommand {
    /// Copy the market of a data folder whose server is stopped into an empty database
    Import {
        /// The data folder
        folder: PathBuf,
        /// The database, postgres://…
        url: GivenUrl,
    },
    /// Copy the market of a database whose server is stopped into a new data folder
    Export {
        /// The database, postgres://…
        url: GivenUrl,
        /// The data folder; it must be missing or empty
        folder: PathBuf,
    },
    /// Check all rows against each other, and print the state hash
    Verify {
        /// The database, postgres://…
        url: GivenUrl,
        /// Fail unless this data folder has the same state hash
        #[arg(long)]
        against: Option<PathBuf>,
    },
}

/// Runs one of the commands. Errors: a place that cannot be read, is not empty, or does not agree.
pub fn run(args: &StoreArgs) -> Result<ExitCode, String> {
    match &args.command {
        StoreCommand::Import { folder, url } => import(folder, url.url()?),
        StoreCommand::Export { url, folder } => export(url.url()?, folder),
        StoreCommand::Verify { url, against } => verify(url.url()?, against.as_deref()),
    }
}

fn say(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn connect(url: &StoreUrl) -> Result<Store, String> {
    Store::connect(url, "store tool", Stop::new()).map_err(say)
}

fn import(folder: &Path, url: &StoreUrl) -> Result<ExitCode, String> {
    inspect::open_disk(folder)?;
    let _lock = DataLock::take(folder).map_err(say)?;
    let disk = Disk::open(folder).map_err(say)?;
    let inspected = inspect::inspect(&disk)?;
    if inspected.engine.shared_log().position() > 0 {
        return Err(format!(
            "{} is the data folder of a node of a cluster, whose market goes on in its log: nothing was written. A database is no node, and a \
             backup of a node's folder is one, too",
            folder.display()
        ));
    }
    let mut store = connect(url)?;
    store.migrate().map_err(say)?;
    let sequence = store.standing().map_err(say)?.head.sequence;
    if sequence != Sequence::ZERO {
        store.expect_whole().map_err(say)?;
        return Err(StoreError::NotEmpty { sequence }.to_string());
    }
    // The mark comes before the market, so that no half of an import is open to everybody.
    if members::is_marked(folder) {
        store.note_members().map_err(say)?;
    }
    let how = match journal::replays_from_start(&disk).map_err(say)? {
        true => {
            replay(&disk, store.begin_import().map_err(say)?)?;
            let mut store = connect(url)?;
            take_over::lock(&mut store).and_then(|()| store.end_import()).map_err(say)?;
            "replayed from its first command"
        }
        false => {
            copy(&disk, &inspected.engine, &mut store)?;
            "copied from its state and history, since its journal cannot be replayed from its first command: see docs/POSTGRES.md \
             for what these rows lack"
        }
    };
    let found = connect(url)?.load(recovery::random_seed(), DoneOrders::Drop).map_err(say)?.engine.state_hash();
    agree(inspected.engine.state_hash(), found)?;
    println!("{} was {how}; both have the state hash {found:016x}", folder.display());
    Ok(ExitCode::SUCCESS)
}

/// Applies every command again and writes the effects.
fn replay(disk: &Disk, mut writer: Writer) -> Result<(), String> {
    let mut engine = Engine::new(recovery::random_seed(), DoneOrders::Drop);
    let mut effects = Effects::after(writer.head());
    let (mut scratch, mut callers) = (Vec::new(), ReplayedCallers::default());
    let read = journal::visit_batches(disk, JournalPoint::ZERO, None, &mut |batch| {
        // A transaction has the callers of all its commands, or of none.
        let is_other = callers.said_of_last() == batch.callers.is_empty();
        if effects.commands() >= COMMANDS_AT_ONCE || (effects.commands() > 0 && is_other) {
            commit(&mut writer, &mut effects)?;
        }
        callers.note(batch, effects.audit())?;
        Ok(batch.entries(&mut |entry: Entry| -> Result<(), VisitError> {
            let Entry { sequence, time, .. } = entry;
            engine.apply_told(&entry, &mut scratch, &mut |event| effects.add(sequence, time, event));
            scratch.clear();
            effects.seal(&engine);
            Ok(())
        })?)
    });
    read.map_err(say)?;
    commit(&mut writer, &mut effects).map_err(say)?;
    writer.close();
    Ok(())
}

fn commit(writer: &mut Writer, effects: &mut Effects) -> Result<(), StoreError> {
    writer.commit(effects)?;
    effects.restart(writer.head());
    Ok(())
}

/// Copies a state, and everything that the history holds of the orders before it.
fn copy(disk: &Disk, engine: &Engine, store: &mut Store) -> Result<(), String> {
    if history::through(disk).map_err(say)? != Some(engine.sequence()) {
        return Err("the history is behind the journal: start the server on this folder once, and stop it".to_string());
    }
    let history = History::open(disk, engine).map_err(say)?;
    let items = whole_state(engine, |order, executed| {
        let Some(mut executions) = history.executions_so_far(order).map_err(say)? else { return Ok(None) };
        while history.read_executions(&mut executions, EXECUTIONS_AT_ONCE).map_err(say)? {}
        Ok(executions.oldest(executed))
    })?;
    let orders = (1..engine.next_order().0).map(OrderId);
    let done = orders.filter_map(|order| done(&history, order).transpose());
    store.import(items.into_iter().map(Ok), done).map_err(say).map(|_| ())
}

/// The items of a state with all executions of the open orders. `first` finds the first executions of an order, as many
/// as wanted.
fn whole_state(
    engine: &Engine,
    first: impl Fn(OrderId, &Executed) -> Result<Option<Vec<Execution>>, String>,
) -> Result<Vec<StateItem>, String> {
    let (mut items, mut last) = (Vec::new(), OrderId(0));
    let mut missing = Ok(());
    engine.export(&mut |item| {
        if let StateItem::Order { order, .. } | StateItem::Delayed { order, .. } = item {
            last = order;
        }
        let StateItem::Executed(executed) = item else { return items.push(item) };
        let Executed { executions, .. } = executed;
        match first(last, &executed) {
            Ok(Some(executions)) => items.extend(executions.into_iter().map(StateItem::Execution)),
            Ok(None) => {
                missing = Err(lacking(last, &format!("its first {executions} executions are no longer kept singly")));
            }
            Err(error) => missing = Err(error),
        }
    });
    missing.map(|()| items)
}

fn done(history: &History, order: OrderId) -> Result<Option<DoneOrder>, String> {
    let said = |error| of_order(order, error);
    let Some(Done { account, canceled, mut executions }) = history.done(order).map_err(said)? else { return Ok(None) };
    while history.read_executions(&mut executions, EXECUTIONS_AT_ONCE).map_err(said)? {}
    let executions = executions.finish().map_err(|_| lacking(order, "its single executions are no longer kept"))?;
    Ok(Some(DoneOrder { order, account, canceled, executions }))
}

/// The reason why an order cannot be read.
fn of_order(order: OrderId, error: HistoryError) -> String {
    if matches!(error, HistoryError::NoLongerKept { .. }) {
        return lacking(order, "it is no longer kept");
    }
    format!("order {order}: {error}")
}

/// The reason why an order is not copied, and what the operator can do instead.
fn lacking(order: OrderId, what: &str) -> String {
    format!(
        "order {order}: {what}, and an import copies a market with all its orders or not at all: import a backup of the folder \
         from when that was kept, or go on serving this folder"
    )
}

fn export(url: &StoreUrl, folder: &Path) -> Result<ExitCode, String> {
    if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(format!("{} holds something already: name a new folder", folder.display()));
    }
    let mut store = connect(url)?;
    store.lock().map_err(say)?;
    store.expect_whole().map_err(say)?;
    let _lock = DataLock::take(folder).map_err(say)?;
    let at = |error: std::io::Error| format!("{}: {error}", folder.display());
    let disk = Disk::open(folder).map_err(at)?;
    journal::mark_unfinished(folder).map_err(at)?;
    if store.has_members().map_err(say)? {
        members::mark(folder)?;
    }
    let mut importer = Importer::new(recovery::random_seed(), DoneOrders::Keep);
    let mut refused = None;
    let head = state_into(&mut store, &mut importer, &mut refused)?;
    if let Some(refused) = refused {
        return Err(refused);
    }
    let engine = importer.finish().map_err(say)?;
    let orders = history_into(&mut store, &disk, &engine, &long_orders(url, &engine)?)?;
    let point = JournalPoint { sequence: head.sequence, chain: 0 };
    snapshots::write_if_new(&disk, &engine, point).map_err(say)?;
    let hash = engine.state_hash();
    let options = journal::Options::default();
    drop(Journal::begin_behind(disk.clone(), options, point, engine.time()).map_err(say)?);
    // The folder is now like one that a server leaves behind.
    let recovered = recovery::open(&disk, options).map_err(say)?;
    agree(hash, recovered.engine.state_hash())?;
    drop(recovered);
    journal::mark_finished(folder).map_err(at)?;
    println!(
        "{} holds the market of {url} and {orders} done orders; both have the state hash {hash:016x}",
        folder.display()
    );
    Ok(ExitCode::SUCCESS)
}

fn state_into(store: &mut Store, importer: &mut Importer, refused: &mut Option<String>) -> Result<Head, String> {
    let mut visit = |item: StateItem| {
        if refused.is_none() {
            *refused = importer.add(item).err().map(say);
        }
        Ok(())
    };
    Ok(store.export_state(&mut visit).map_err(say)?.head)
}

/// The open orders that have more executions than a state holds, with their executions, by id.
fn long_orders(url: &StoreUrl, engine: &Engine) -> Result<Vec<DoneOrder>, String> {
    let (mut accounts, mut last, mut long) = (Vec::new(), None, Vec::new());
    engine.export(&mut |item| {
        if let StateItem::Account { id, .. } = item {
            accounts.push(id);
        }
        if let StateItem::Order { order, account, .. } | StateItem::Delayed { order, account, .. } = item {
            last = Some((order, account));
        }
        if let StateItem::Executed(executed) = item {
            long.extend(last.map(|(order, account)| (order, account, executed)));
        }
    });
    if long.is_empty() {
        return Ok(Vec::new());
    }
    long.sort_unstable_by_key(|(order, ..)| *order);
    let mut rows = store::History::connect(url, "store tool", ROWS_PATIENCE, Stop::new()).map_err(say)?;
    let mut orders = Vec::new();
    for some in long.chunks(LONG_ORDERS_AT_ONCE) {
        let count = |executed: &Executed| usize::try_from(executed.executions).unwrap_or(usize::MAX);
        let asked: Vec<_> = some.iter().map(|(order, _, executed)| (*order, count(executed))).collect();
        let read = rows.first_executions(&asked).map_err(say)?;
        for ((order, account, executed), executions) in some.iter().zip(read) {
            if Executed::of(&executions) != *executed {
                return Err(format!("the rows have not all executions of order {order}"));
            }
            let account = accounts[account.0 as usize];
            orders.push(DoneOrder { order: *order, account, canceled: None, executions });
        }
    }
    Ok(orders)
}

/// Keeps every done order, and the executions of the `long` ones that are open; returns the number of done ones.
fn history_into(store: &mut Store, disk: &Disk, engine: &Engine, long: &[DoneOrder]) -> Result<u64, String> {
    let (mut orders, mut unreadable) = (0, None);
    let begun = History::begin_behind(disk, engine, |keep| {
        let mut long = long.iter().peekable();
        let exported = store.export_done(&mut |done| {
            if unreadable.is_none() {
                let order = done.order;
                let before = std::iter::from_fn(|| long.next_if(|open| open.order < order).cloned());
                unreadable = before.chain([done]).try_for_each(&mut *keep).err().map(say);
            }
            Ok(())
        });
        if unreadable.is_none() {
            unreadable = long.cloned().try_for_each(&mut *keep).err().map(say);
        }
        match exported {
            Ok(count) => orders = count,
            Err(error) => unreadable = Some(say(error)),
        }
        Ok(())
    });
    begun.map_err(say)?;
    unreadable.map_or(Ok(orders), Err)
}

fn verify(url: &StoreUrl, against: Option<&Path>) -> Result<ExitCode, String> {
    let mut store = connect(url)?;
    store.expect_whole().map_err(say)?;
    let (verified, _) = store.verify().map_err(say)?;
    println!(
        "{url}: command {}, {} orders, {} executions: sound; state hash {:016x}",
        verified.standing.head.sequence, verified.orders, verified.executions, verified.state_hash
    );
    if let Some(folder) = against {
        let engine = inspect::inspect(&inspect::open_disk(folder)?)?.engine;
        agree(engine.state_hash(), verified.state_hash)?;
        println!("{}: the same state hash", folder.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn agree(one: u64, other: u64) -> Result<(), String> {
    match one == other {
        true => Ok(()),
        false => {
            Err(format!("the state hashes differ: {one:016x} and {other:016x}; what was written is not to be used"))
        }
    }
}
