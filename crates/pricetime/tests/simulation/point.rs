//! One point: a world with a seed that is struck by a fault at an operation, and all conditions that must hold
//! afterwards. A second fault may strike while it recovers. The choice of points is made elsewhere.

use std::fmt;

use journal::JournalError;
use journal::simulated::{PowerCut, SimulatedDisk};
use market::recovery::RecoveryError;
use model::workload::Random;

use super::audit::{self, Findings, Trust};
use super::faults::Fault;
use super::ledger::Ledger;
use super::process::{Fate, Kind, Sabotage};
use super::tally::{self, Tally};
use super::world::World;
use super::{Stop, ensure};

/// The number of steps between a recovery and the first snapshot after it, and from there to the next one.
const STEPS_AFTER: usize = 10;
/// The most steps for which a disk lies before the power is cut.
const STEPS_OF_LIES: usize = 24;

/// The operations and faults of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    pub seed: u64,
    pub at: u64,
    pub fault: Fault,
    /// A second fault, at an operation of the recovery from the first.
    pub then: Option<(u64, Fault)>,
    pub sabotage: Sabotage,
}

impl Point {
    /// Whether the disk breaks its promises.
    pub fn deceives(&self) -> bool {
        [Some(self.fault), self.then.map(|then| then.1)].into_iter().flatten().any(Fault::deceives)
    }
}

impl fmt::Display for Point {
    /// Writes the point as the long form of the simulation takes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--seed {} --at {} --fault {}", self.seed, self.at, self.fault)?;
        match self.then {
            Some((at, fault)) => write!(f, " --then-at {at} --then {fault}"),
            None => Ok(()),
        }
    }
}

/// A folder to start from, and what may be expected of it.
struct Found {
    disk: SimulatedDisk,
    ledger: Ledger,
    trust: Trust,
}

/// The operations of a world's life without faults. Fails if a condition does not hold even then.
pub fn calm_life(seed: u64, sabotage: Sabotage) -> Result<(Vec<Kind>, Tally), String> {
    let disk = SimulatedDisk::new();
    let mut world = World::new(seed, &disk, Fate { sabotage, ..Fate::CALM });
    match world.live() {
        Ok(()) => {}
        Err(Stop::Wrong(what) | Stop::Dead(what)) => return Err(what),
        Err(Stop::Refused(error)) => return Err(error.to_string()),
    }
    let kinds = world.process.kinds();
    ensure!(kinds.len() as u64 == disk.operations(), "not all operations were noted");
    let mut tally = Tally::default();
    let node = world.node.as_ref().expect("a node is running");
    tally.count(tally::PAST_ORDERS, audit::check_history(node, &world.ledger, Trust::Honest)?);
    tally.count(tally::HISTORIES, 1);
    tally.count(tally::SCENARIOS, 1);
    tally.count(tally::OPERATIONS, kinds.len() as u64);
    tally.count(tally::COMMANDS, world.ledger.sequence().0);
    tally.add(&world.done());
    Ok((kinds, tally))
}

/// Runs a point. Fails if a condition does not hold.
pub fn run(point: &Point) -> Result<Tally, String> {
    let mut tally = Tally::default();
    tally.count_point(point.fault);
    let mut random = Random::new(point.seed ^ (point.at << 20) ^ ((point.fault as u64) << 56));
    let disk = SimulatedDisk::new();
    let mut world = World::new(point.seed, &disk, point.fault.plan(&disk, point.at, point.sabotage));
    let patience = random.below(STEPS_OF_LIES);
    let ended = live_until_struck(&mut world, patience);
    for found in strike(&mut world, ended, point.fault, point.at, &mut random, &mut tally)? {
        match point.then {
            None => go_on(found, point, &mut random, &mut tally)?,
            Some((at, fault)) => {
                tally.count(tally::SECOND_FAULTS, 1);
                for found in strike_recovery(found, point, at, fault, &mut random, &mut tally)? {
                    go_on(found, point, &mut random, &mut tally)?;
                }
            }
        }
    }
    Ok(tally)
}

/// The operations of the recovery from a point, at which a second fault may strike. None if the folder is refused.
pub fn recovery_of(point: &Point) -> Result<Vec<Kind>, String> {
    let mut random = Random::new(point.seed ^ (point.at << 20) ^ ((point.fault as u64) << 56));
    let disk = SimulatedDisk::new();
    let mut world = World::new(point.seed, &disk, point.fault.plan(&disk, point.at, point.sabotage));
    let ended = live_until_struck(&mut world, random.below(STEPS_OF_LIES));
    let found = strike(&mut world, ended, point.fault, point.at, &mut random, &mut Tally::default())?;
    let Some(Found { disk, ledger, trust }) = found.into_iter().last() else { return Ok(Vec::new()) };
    let mut world = World::resume(point.seed, &disk, Fate::CALM, ledger);
    match world.start_after(trust == Trust::Deceived) {
        Ok(_) => Ok(world.process.kinds()),
        Err(Stop::Refused(_)) => Ok(Vec::new()),
        Err(Stop::Wrong(what) | Stop::Dead(what)) => Err(what),
    }
}

/// Lives until the fault strikes, or for so many steps after the disk began to lie.
fn live_until_struck(world: &mut World, mut patience: usize) -> Result<(), Stop> {
    world.start()?;
    for _ in 0..super::world::STEPS {
        if world.process.is_lied_to() {
            if patience == 0 {
                break;
            }
            patience -= 1;
        }
        world.step()?;
    }
    Ok(())
}

/// Checks how a struck world ended, ends it, and returns the folders that it may leave.
fn strike(
    world: &mut World,
    ended: Result<(), Stop>,
    fault: Fault,
    at: u64,
    random: &mut Random,
    tally: &mut Tally,
) -> Result<Vec<Found>, String> {
    tally.count(tally::COMMANDS, world.ledger.sequence().0);
    match ended {
        Ok(()) => tally.count(tally::SURVIVED, 1),
        Err(Stop::Wrong(what)) => return Err(what),
        Err(Stop::Dead(what)) => check_died_of_it(world, fault, at, &what, tally)?,
        Err(Stop::Refused(error)) => check_died_of_it(world, fault, at, &error.to_string(), tally)?,
    }
    world.end();
    tally.add(&world.done());
    if fault == Fault::DiskFull {
        start_without_room(world, random, tally)?;
    }
    let how = fault.power_cut(random.pick(&[PowerCut::LosesAll, PowerCut::Tears, PowerCut::Reorders]));
    let (disk, ledger) = (&world.disk, &world.ledger);
    // Data that was only written survives the end of the process, and a power cut may remove it.
    let trust = if world.is_synced() { Trust::Honest } else { Trust::Deceived };
    let mut cut = || Found { disk: disk.after_crash(random.any(), how), ledger: ledger.clone(), trust };
    // A failed sync may lose data that was only written, too, and recovery makes only the last unit durable again.
    let trust = if world.is_synced() || fault != Fault::FailedSync { Trust::Honest } else { Trust::Deceived };
    let same = || Found { disk: disk.clone(), ledger: ledger.clone(), trust };
    let found = match fault {
        // The system stays up, or it goes down as well.
        Fault::Error | Fault::NoSpace | Fault::DiskFull | Fault::ShortWrite | Fault::FailedSync => {
            vec![cut(), same()]
        }
        Fault::Killed => vec![same()],
        Fault::CrashLost | Fault::CrashTorn | Fault::CrashReordered => vec![cut()],
        Fault::LyingSync => vec![Found { trust: Trust::Deceived, ..cut() }],
        Fault::BitFlip => vec![flip_a_bit(cut(), random)],
    };
    if fault != Fault::Killed {
        tally.count(tally::POWER_CUTS, 1);
    }
    Ok(found)
}

/// A server that is started while the disk is still full either starts or refuses with a message, and harms nothing.
fn start_without_room(world: &mut World, random: &mut Random, tally: &mut Tally) -> Result<(), String> {
    let fate = Fate { full_from: Some(0), ..Fate::CALM };
    let mut still_full = World::resume(random.any(), &world.disk, fate, world.ledger.clone());
    still_full.options = world.options;
    tally.count(tally::RECOVERIES, 1);
    let lived = still_full.start().and_then(|()| (0..STEPS_AFTER).try_for_each(|_| still_full.step()));
    match lived {
        Ok(()) | Err(Stop::Dead(_)) => {}
        Err(Stop::Wrong(what)) => return Err(what),
        Err(Stop::Refused(error)) => {
            let what = error.to_string();
            ensure!(!what.contains("damaged") && !what.contains("missing"), "a full disk is taken for damage: {what}");
        }
    }
    still_full.end();
    world.ledger = still_full.ledger.clone();
    Ok(())
}

fn check_died_of_it(world: &World, fault: Fault, at: u64, what: &str, tally: &mut Tally) -> Result<(), String> {
    ensure!(fault != Fault::LyingSync, "the node died of a lying sync alone: {what}");
    ensure!(world.disk.operations() >= at, "the node died before the fault: {what}");
    tally.count(tally::DEATHS, 1);
    Ok(())
}

/// Flips a bit of any file. Unless a mark says that the last unit was durable, it cannot be told from a torn one.
fn flip_a_bit(mut found: Found, random: &mut Random) -> Found {
    let names = journal::Storage::list(&found.disk).unwrap();
    let names: Vec<_> = names.into_iter().filter(|name| !found.disk.contents(name).is_empty()).collect();
    if !names.is_empty() {
        let name = &names[random.below(names.len())];
        found.disk.flip_bit(name, random.below(found.disk.contents(name).len() * 8));
    }
    let units = &found.ledger.units;
    let last_but_one = units.len().checked_sub(2).map_or(terms::Sequence::ZERO, |place| units[place]);
    if !found.ledger.marked {
        found.ledger.safe = found.ledger.safe.min(last_but_one);
    }
    found.trust = Trust::Deceived;
    found
}

/// Strikes with a second fault while the folder is opened.
fn strike_recovery(
    found: Found,
    point: &Point,
    at: u64,
    fault: Fault,
    random: &mut Random,
    tally: &mut Tally,
) -> Result<Vec<Found>, String> {
    let disk = found.disk;
    let at = disk.operations() + at;
    let fate = fault.plan(&disk, at, point.sabotage);
    let mut world = World::resume(point.seed, &disk, fate, found.ledger);
    let ended = world.start_after(found.trust == Trust::Deceived).map(|_| ());
    tally.count(tally::RECOVERIES, 1);
    if disk.operations() <= at && fault != Fault::Killed {
        // This recovery was shorter than the one from which the point was drawn.
        return Ok(Vec::new());
    }
    if let Err(Stop::Refused(error)) = &ended
        && found.trust == Trust::Deceived
        && refuse(error, found.trust, tally).is_ok()
    {
        // The damage of the first fault is refused, whatever the second one did.
        return Ok(Vec::new());
    }
    let mut after = strike(&mut world, ended, fault, at, random, tally)?;
    if found.trust == Trust::Deceived {
        after.iter_mut().for_each(|found| found.trust = Trust::Deceived);
    }
    Ok(after)
}

/// Opens a folder, checks everything, continues for a while, stops in some way, and checks everything again.
fn go_on(found: Found, point: &Point, random: &mut Random, tally: &mut Tally) -> Result<(), String> {
    let Found { disk, ledger, trust } = found;
    let calm = Fate { sabotage: point.sabotage, ..Fate::CALM };
    let Some(mut world) = reopen(&disk, calm, ledger, trust, point, random.any(), tally)? else { return Ok(()) };
    let before = world.ledger.sequence();
    for _ in 0..2 {
        let lived = (0..STEPS_AFTER).try_for_each(|_| world.step()).and_then(|()| world.snapshot_now());
        if let Err(stop) = lived {
            return after_stop(stop, trust, tally);
        }
    }
    tally.add(&world.done());
    tally.count(tally::COMMANDS, world.ledger.sequence().0.saturating_sub(before.0));
    let disk = match random.below(5) {
        0 => return world.restart(true).or_else(|stop| after_stop(stop, trust, tally)),
        1 => {
            world.end();
            disk
        }
        // Data that was only written may be lost with the power.
        _ if !world.is_synced() => return Ok(()),
        how => {
            world.end();
            tally.count(tally::POWER_CUTS, 1);
            disk.after_crash(random.any(), [PowerCut::LosesAll, PowerCut::Tears, PowerCut::Reorders][how - 2])
        }
    };
    reopen(&disk, calm, world.ledger, trust, point, random.any(), tally)?;
    Ok(())
}

/// Checks that a node without a new fault stopped only if its data was damaged before.
fn after_stop(stop: Stop, trust: Trust, tally: &mut Tally) -> Result<(), String> {
    match stop {
        Stop::Wrong(what) => Err(what),
        Stop::Refused(error) => refuse(&error, trust, tally),
        Stop::Dead(what) => {
            ensure!(trust == Trust::Deceived, "the node died without a new fault: {what}");
            tally.count_refusal("later, when it met the damage");
            Ok(())
        }
    }
}

/// Opens a folder and checks everything. None if the folder was refused, or more of it is damaged, for a reason that is
/// allowed.
fn reopen(
    disk: &SimulatedDisk,
    fate: Fate,
    ledger: Ledger,
    trust: Trust,
    point: &Point,
    seed: u64,
    tally: &mut Tally,
) -> Result<Option<World>, String> {
    let mut world = World::resume(seed, disk, fate, ledger);
    tally.count(tally::RECOVERIES, 1);
    let lost = match world.start_after(trust == Trust::Deceived) {
        Ok(lost) => lost,
        Err(Stop::Wrong(what) | Stop::Dead(what)) => return Err(what),
        Err(Stop::Refused(error)) => return refuse(&error, trust, tally).map(|()| None),
    };
    tally.count(tally::LOST, lost);
    tally.count(tally::WHOLE, u64::from(lost == 0));
    let node = world.node.as_mut().expect("it was started");
    tally.count(tally::CUTS, u64::from(node.report.cut.is_some()));
    tally.count(tally::FROM_SNAPSHOTS, u64::from(node.report.snapshot.is_some()));
    let findings = audit::check_all(node, &world.ledger, &world.process, trust)?;
    if !point.deceives() {
        tally.count(tally::PAST_ORDERS, audit::check_history(node, &world.ledger, trust)?);
        tally.count(tally::HISTORIES, 1);
    }
    tally.count(tally::REFUSED_ROWS, findings.refused_rows);
    tally.count(tally::DENIED_ROWS, findings.denied_rows);
    tally.count(tally::DAMAGED_JOURNALS, u64::from(findings.damaged_journal));
    Ok((findings == Findings::default()).then_some(world))
}

/// Checks that a refusal happened only after deceit, and names damage.
fn refuse(error: &RecoveryError, trust: Trust, tally: &mut Tally) -> Result<(), String> {
    ensure!(trust == Trust::Deceived, "the folder is refused though the disk kept its promises: {error}");
    let kind = match error {
        RecoveryError::Journal(error) if error.is_damage() => journal_kind(error),
        RecoveryError::NoSnapshot { source, .. } if source.is_damage() => {
            "no snapshot can be used, and the journal begins later"
        }
        RecoveryError::OnlySnapshots { .. } => "no snapshot can be used, and there is no journal",
        RecoveryError::History(error) if error.is_damage() => "the history is damaged",
        RecoveryError::Journal(_)
        | RecoveryError::Folder(_)
        | RecoveryError::History(_)
        | RecoveryError::Snapshots(_)
        | RecoveryError::MarketGone { .. }
        | RecoveryError::NoSnapshot { .. } => return Err(format!("a refusal that names no damage: {error}")),
    };
    tally.count_refusal(kind);
    Ok(())
}

fn journal_kind(error: &JournalError) -> &'static str {
    match error {
        JournalError::Damaged { .. } => "a journal file is damaged",
        JournalError::Missing { .. } | JournalError::NextMissing { .. } => "a journal file is missing",
        JournalError::EndsBefore { .. } => "the journal ends before the snapshot",
        JournalError::OtherHistory { .. } | JournalError::OtherFolder { .. } => "a file is of another history",
        _ => "something else in the journal",
    }
}
