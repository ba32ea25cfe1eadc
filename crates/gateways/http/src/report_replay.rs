//! Replays the reports of an account from the history, in files or in a database, for a client that was away. It sends
//! them in pieces, so that it never delays the feed's thread for long and a client gets no more than it reads. Then the
//! client joins the live subscribers.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use feed::{HistoryError, ReadModel, Report, ReportKey, Sweep};
use terms::{AccountId, AccountIndex, Sequence};

use crate::app_state::AppState;
use crate::history_pages::{self, HistoryFault};
use crate::hub::Hub;
use crate::messages::{self, REPORTS_AT_ONCE, unreadable, whole};
use crate::outbox::{KeptBytes, Outbox};
use crate::problem::Problem;
use crate::problem_code::Code;
use crate::sql_history::SqlHistory;
use crate::topic::Topic;
use crate::topic_count::TopicCount;

/// Records that are read in one step.
const RECORDS_AT_ONCE: usize = 512;

/// Pause before a database that did not answer is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// The rest after each step, as a multiple of its time: so a replay takes a bounded part of the feed's time.
const SHARE: u32 = 4;

/// A replay under way.
pub(crate) struct Replay {
    number: u64,
    account: AccountIndex,
    outbox: Outbox,
    /// The command up to which the history is read; later reports wait at the hub.
    through: Sequence,
    /// The last report that was sent.
    told: ReportKey,
    stage: Stage,
    /// The bytes of what was found and not sent yet.
    kept: KeptBytes,
}

enum Stage {
    Looking(Sweep),
    /// Reports that were found and not sent yet, and the sweep for later ones, if there are more.
    Found(VecDeque<ReportKey>, Option<Sweep>),
    /// The database has to be asked for more behind this command.
    CurrentPrincipal(Sequence),
    /// The database's answer, complete up to a command.
    Answered(VecDeque<Report>, Sequence),
    /// The history cannot be read: the client gets this error.
    Unreadable(HistoryError),
    /// All of the history is sent. Reports from meanwhile come next.
    Joining,
}

impl Stage {
    /// Returns the bytes that are kept for it.
    fn bytes(&self) -> usize {
        match self {
            Stage::Looking(sweep) => sweep.bytes(),
            Stage::Found(found, later) => {
                found.capacity() * size_of::<ReportKey>() + later.as_ref().map_or(0, Sweep::bytes)
            }
            Stage::Answered(found, _) => found.capacity() * size_of::<Report>(),
            Stage::CurrentPrincipal(_) | Stage::Unreadable(_) | Stage::Joining => 0,
        }
    }
}

/// Subscribes to the reports behind `from`. Returns `None` if the client is subscribed already. `library` is the
/// history, where it is in a database.
pub(crate) fn begin(
    model: &mut ReadModel<Hub>,
    library: Option<&SqlHistory>,
    id: AccountId,
    from: Sequence,
    outbox: &Outbox,
) -> Result<Option<Replay>, Problem> {
    let account = model.view.find_account(id).ok_or_else(Problem::unknown_account)?;
    let through = model.view.sequence();
    let whole = match (&model.history, library) {
        (Some(history), _) => history.read().is_whole(),
        (None, Some(library)) => library.is_whole(),
        (None, None) => return Err(Problem::not_ready()),
    };
    if !whole {
        return Err(begins_later());
    }
    if from > through {
        return Err(ahead(from, through));
    }
    let told = ReportKey::after(from);
    let stage = match model.history().map_err(|error| Problem::unreadable(&error))? {
        Some(history) => Stage::Looking(history.sweep(account, told)),
        None => Stage::CurrentPrincipal(from),
    };
    if !Hub::subscribe(model, Topic::Reports(account), outbox) {
        return Ok(None);
    }
    let number = model.watcher.hold(account, outbox);
    let kept = outbox.keep(0);
    Ok(Some(Replay { number, account, outbox: outbox.clone(), through, told, stage, kept }))
}

pub(crate) fn begins_later() -> Problem {
    let detail = "the history of this server begins later than its market: reports cannot be replayed";
    Problem::new(Code::HistoryBeginsLater, detail)
}

pub(crate) fn ahead(from: Sequence, through: Sequence) -> Problem {
    let detail = format!("from is {from}, and the last command is {through}: is this another market?");
    Problem::new(Code::FromAhead, detail)
}

/// Runs a member's replay until everything is sent or its client is gone. A replay that ends with an error is one of
/// the connection's `topics` no more.
pub(crate) async fn run(app: AppState, member: String, topics: TopicCount, mut replay: Replay) {
    while replay.outbox.has_room().await {
        // One replay at a time works. Its rest belongs to its turn: many take no more of the feed than one does.
        let turn = app.replays().take(&member).await;
        if let Stage::CurrentPrincipal(behind) = replay.stage {
            match history_pages::reports(&app, replay.account, (behind, replay.through), REPORTS_AT_ONCE).await {
                Ok((found, through)) => replay.stage = Stage::Answered(found.into(), through),
                // The client misses nothing, and only waits: reports from meanwhile are held.
                Err(HistoryFault::Away | HistoryFault::Crowded) => {
                    drop(turn);
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                Err(HistoryFault::Unreadable(error)) => replay.stage = Stage::Unreadable(error),
                // The server ends.
                Err(HistoryFault::NotReady) => return,
                // It would miss reports.
                Err(HistoryFault::Fault) => return replay.outbox.overflow(),
            }
        }
        let topics = topics.clone();
        let stepped = app.look(move |model| {
            let begun = Instant::now();
            let goes_on = replay.step_or_end(model, &topics);
            replay.kept = replay.outbox.keep(replay.stage.bytes());
            goes_on.then(|| (replay, begun.elapsed()))
        });
        let Ok(Some((goes_on, worked))) = stepped.await else { return };
        replay = goes_on;
        tokio::time::sleep(worked.saturating_mul(SHARE)).await;
    }
}

impl Replay {
    /// Does one step. Returns false when it is over. Where the history cannot be read, the subscription ends with it.
    pub(crate) fn step_or_end(&mut self, model: &mut ReadModel<Hub>, topics: &TopicCount) -> bool {
        self.step(model).unwrap_or_else(|error| {
            self.outbox.send(unreadable(&error));
            topics.ended(usize::from(Hub::unsubscribe(model, Topic::Reports(self.account), &self.outbox)));
            false
        })
    }

    /// Does one step. Returns false when it is over.
    fn step(&mut self, model: &mut ReadModel<Hub>) -> Result<bool, HistoryError> {
        if !model.watcher.holds(self.account, &self.outbox, self.number) {
            // It was unsubscribed meanwhile.
            return Ok(false);
        }
        let history = || model.history()?.ok_or(HistoryError::Ended);
        match std::mem::replace(&mut self.stage, Stage::Joining) {
            Stage::Looking(mut sweep) => {
                self.stage = match history()?.sweep_on(&mut sweep, RECORDS_AT_ONCE)? {
                    true => Stage::Looking(sweep),
                    false => {
                        let (found, more) = sweep.finish();
                        Stage::Found(found.into(), more)
                    }
                };
            }
            Stage::Found(mut found, more) => {
                let keys: Vec<ReportKey> = found.drain(..found.len().min(REPORTS_AT_ONCE)).collect();
                let next = found.front().copied();
                self.told = keys.last().copied().unwrap_or(self.told);
                let through = match next {
                    Some(next) => whole(self.told, Some(next)),
                    None if more.is_some() => whole(self.told, None),
                    None => self.through,
                };
                self.stage = match (next, more) {
                    (Some(_), more) => Stage::Found(found, more),
                    (None, Some(sweep)) => Stage::Looking(sweep),
                    (None, None) => Stage::Joining,
                };
                if !keys.is_empty() {
                    let history = history()?;
                    let reports: Result<Vec<Report>, _> = keys.iter().map(|key| history.report(*key)).collect();
                    self.tell(model, &reports?, through);
                }
            }
            Stage::Unreadable(error) => return Err(error),
            // The database did not answer.
            Stage::CurrentPrincipal(behind) => self.stage = Stage::CurrentPrincipal(behind),
            Stage::Answered(mut found, complete) => {
                let reports: Vec<Report> = found.drain(..found.len().min(REPORTS_AT_ONCE)).collect();
                let through = match (reports.last(), found.front()) {
                    (Some(last), Some(next)) => whole(last.key(), Some(next.key())),
                    _ => complete,
                };
                self.stage = match found.is_empty() {
                    false => Stage::Answered(found, complete),
                    true if complete < self.through => Stage::CurrentPrincipal(complete),
                    true => Stage::Joining,
                };
                if !reports.is_empty() {
                    self.tell(model, &reports, through);
                }
            }
            Stage::Joining => return Ok(self.join(model)),
        }
        Ok(true)
    }

    fn tell(&self, model: &ReadModel<Hub>, reports: &[Report], through: Sequence) {
        self.outbox.send(messages::reports(&model.view, self.account, reports, through, false));
    }

    /// Sends the reports from meanwhile. When none is left, the subscriber becomes a live one.
    fn join(&mut self, model: &mut ReadModel<Hub>) -> bool {
        Hub::publish(model);
        let (reports, next) = model.watcher.take_held(self.account, &self.outbox, REPORTS_AT_ONCE);
        let through = match (reports.last(), next) {
            (Some(last), Some(next)) => whole(last.key(), Some(next)),
            _ => model.view.sequence(),
        };
        let live = next.is_none();
        self.outbox.send(messages::reports(&model.view, self.account, &reports, through, live));
        if live {
            model.watcher.release(self.account, &self.outbox);
        }
        !live
    }
}

#[cfg(test)]
impl Replay {
    /// Begins a replay for a subscriber, of a history that cannot be read.
    pub(crate) fn unreadable(model: &mut ReadModel<Hub>, account: AccountIndex, outbox: &Outbox) -> Replay {
        let (through, told) = (Sequence(1), ReportKey::after(Sequence(0)));
        let (number, kept) = (model.watcher.hold(account, outbox), outbox.keep(0));
        let stage = Stage::Unreadable(HistoryError::Ended);
        Replay { number, account, outbox: outbox.clone(), through, told, stage, kept }
    }
}
