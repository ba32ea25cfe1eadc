//! All conditions that must hold for a node that has just started, compared with the ledger and its model.

use engine::{DoneOrders, Engine};
use journal::{JournalPoint, Storage, snapshot};
use model::{Model, Order, ReplyWithExecutions, completed};
use terms::{Executed, Op, Query, Reply, StateItem};

use super::ensure;
use super::ledger::Ledger;
use super::node::Node;
use super::past::Past;
use super::process::Process;

/// Audit findings that are no faults of the program, because the disk lied or was damaged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Done orders whose record the history refuses, because it is damaged or no longer kept.
    pub refused_rows: u64,
    /// Done orders that the history takes for open.
    pub denied_rows: u64,
    /// Journal files that no start needs any more are damaged.
    pub damaged_journal: bool,
}

/// Whether the disk kept its promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The disk kept its promises, apart from power cuts and errors.
    Honest,
    /// Syncs lied, or bits were flipped.
    Deceived,
}

/// Checks that the engine's state is the model's, item by item, and has the hash of a fresh engine. Does not use the
/// disk.
pub fn check_state(node: &Node, ledger: &Ledger) -> Result<(), String> {
    let engine = node.engine();
    ensure!(engine.sequence() == ledger.sequence(), "the engine stands at {}", engine.sequence());
    let mut items: Vec<StateItem> = Vec::new();
    engine.export(&mut |item| items.push(item));
    let expected = ledger.model.state_items();
    if let Some(place) = (0..items.len().max(expected.len())).find(|&place| items.get(place) != expected.get(place)) {
        let (found, expected) = (items.get(place), expected.get(place));
        return Err(format!("state item {place} is {found:?}, of the model {expected:?}"));
    }
    let mut fresh = Engine::new(7, DoneOrders::Drop);
    for entry in &ledger.entries {
        fresh.apply(entry, &mut Vec::new(), &mut |_| {});
    }
    ensure!(engine.state_hash() == fresh.state_hash(), "the state hashes differently in a fresh engine");
    engine.check_invariants();
    Ok(())
}

/// Checks everything: the state, every order that ever existed, the journal, the folder.
pub fn check_all(node: &mut Node, ledger: &Ledger, process: &Process, trust: Trust) -> Result<Findings, String> {
    check_state(node, ledger)?;
    let mut findings = Findings::default();
    for number in 1..=ledger.model.orders_placed() {
        check_order(node, &ledger.model, ledger.model.order(terms::OrderId(number)), trust, &mut findings)?;
    }
    findings.damaged_journal = check_journal(ledger, process, trust)?;
    check_folder(process)?;
    Ok(findings)
}

/// Checks that the history tells what the model does. After lies of the disk nothing is checked. A new history that
/// begins later is right only if the machine lost commands. Returns the number of orders in the history.
pub fn check_history(node: &Node, ledger: &Ledger, trust: Trust) -> Result<u64, String> {
    let checked = node.follower.look(|scene| Past::of(&ledger.entries).check(scene, trust == Trust::Honest));
    checked.map_err(|error| error.to_string())?
}

/// Checks that the node's answer about an order is the model's, whether the order is open or done.
fn check_order(node: &Node, model: &Model, order: &Order, trust: Trust, findings: &mut Findings) -> Result<(), String> {
    let owner = model.accounts().nth(order.account.0 as usize).ok_or("an order's account exists")?;
    let query = Query { account: owner, order: order.id.into() };
    let mut executions = Vec::new();
    let expected = model.query(&query, &mut executions);
    let expected = ReplyWithExecutions::of(&expected, &executions);
    executions.clear();
    let mut reply = node.engine().query(&query, &mut executions);
    let archived = Reply::Done(order.id);
    ensure!((reply == archived) == order.open.is_zero(), "order {} is in the wrong place: {reply:?}", order.id);
    if reply == archived {
        match node.done_order(order.id) {
            Ok(Some(done)) => reply = done.answer(&Op::Query(query), &mut executions),
            Ok(None) if trust == Trust::Deceived => {
                findings.denied_rows += 1;
                return Ok(());
            }
            Err(_) if trust == Trust::Deceived => {
                findings.refused_rows += 1;
                return Ok(());
            }
            Ok(None) => return Err(format!("done order {} is not in the history", order.id)),
            Err(error) => return Err(format!("done order {}: {error}", order.id)),
        }
    }
    if let Some((_, executed)) = reply.elsewhere() {
        let all = match node.executions_so_far(order.id) {
            Ok(all) if Executed::of(&all) == executed => all,
            Ok(_) | Err(_) if trust == Trust::Deceived => {
                findings.refused_rows += 1;
                return Ok(());
            }
            Ok(all) => {
                return Err(format!("open order {} has {executed:?}, the history {} of them", order.id, all.len()));
            }
            Err(error) => return Err(format!("open order {}: {error:?}", order.id)),
        };
        reply = completed(reply, &mut executions, &all);
    }
    let told = ReplyWithExecutions::of(&reply, &executions);
    ensure!(told == expected, "order {} is told as {told:?}, the model says {expected:?}", order.id);
    Ok(())
}

/// Checks that the journal, from its beginning on, has every command once, with its sequence and time. Returns true if
/// the journal is damaged, which is allowed only after deceit.
fn check_journal(ledger: &Ledger, process: &Process, trust: Trust) -> Result<bool, String> {
    let (mut from, mut entries) = (JournalPoint::ZERO, Vec::new());
    let read = journal::oldest_point(process).and_then(|oldest| {
        from = oldest.unwrap_or(JournalPoint::ZERO);
        journal::read(process, from, None, &mut |entry| {
            entries.push(entry);
            Ok(())
        })
    });
    match read {
        Ok(_) => {}
        Err(error) if trust == Trust::Deceived && error.is_damage() => return Ok(true),
        Err(error) => return Err(error.to_string()),
    }
    let expected = &ledger.entries[from.sequence.0 as usize..];
    ensure!(entries == expected, "the journal's commands behind {} are not those of the ledger", from.sequence);
    Ok(false)
}

/// Checks that there are no files that nothing will ever remove.
fn check_folder(process: &Process) -> Result<(), String> {
    let names = process.list().map_err(|error| error.to_string())?;
    let snapshots = snapshot::list(process).map_err(|error| error.to_string())?;
    let known = |name: &String| name.starts_with("journal-") || snapshots.iter().any(|info| info.name == *name);
    let odd: Vec<_> = names.iter().filter(|name| !known(name) || name.ends_with(".tmp")).collect();
    ensure!(odd.is_empty(), "the folder holds {odd:?} after a start");
    Ok(())
}
