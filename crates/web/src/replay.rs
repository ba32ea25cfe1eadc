//! Replaying the reports of an account from the history, for a client that was away: in pieces, so that the feed's thread
//! is never held up and a client is sent no more than it reads; then it joins those who are told as it happens.

use std::collections::VecDeque;
use std::time::Instant;

use engine::{AccountId, AccountIndex, Sequence};
use feed::{HistoryError, ReportKey, Scene, Sweep};

use crate::hub::{Hub, Topic};
use crate::messages::{self, refusal};
use crate::outbox::Outbox;
use crate::problem::Problem;
use crate::rest::no_history;
use crate::site::Site;

/// Records looked at in one go, and reports told in one message.
const RECORDS_AT_ONCE: usize = 512;
pub(crate) const REPORTS_AT_ONCE: usize = 256;

/// A replay takes this part of the feed's time at most: it rests four times as long as it worked.
const SHARE: u32 = 4;

/// A replay on its way.
pub(crate) struct Replay {
    number: u64,
    account: AccountIndex,
    outbox: Outbox,
    /// Up to here the history is looked at; what came later waits at the hub.
    through: Sequence,
    /// The last that was told.
    told: ReportKey,
    stage: Stage,
}

enum Stage {
    Looking(Sweep),
    /// Found and not told yet, and the sweep for more behind them, if there are.
    Telling(VecDeque<ReportKey>, Option<Sweep>),
    /// All of the history is told; now what happened meanwhile.
    Joining,
}

/// Subscribes to the reports behind `from`. None if that is subscribed to already.
pub(crate) fn begin(
    scene: &mut Scene<Hub>,
    id: AccountId,
    from: Sequence,
    outbox: &Outbox,
) -> Result<Option<Replay>, Problem> {
    let account = scene.view.find_account(id).ok_or_else(Problem::unknown_account)?;
    let through = scene.view.sequence();
    let history = scene.history.as_ref().ok_or_else(no_history)?;
    if !history.is_whole() {
        return Err(begins_later());
    }
    if from > through {
        return Err(ahead(from, through));
    }
    let told = ReportKey::after(from);
    let sweep = history.sweep(account, told, through);
    if !Hub::subscribe(scene, Topic::Reports(account), outbox) {
        return Ok(None);
    }
    let number = scene.watcher.hold(account, outbox);
    Ok(Some(Replay { number, account, outbox: outbox.clone(), through, told, stage: Stage::Looking(sweep) }))
}

fn begins_later() -> Problem {
    let detail = "the history of this server begins later than its market: reports cannot be replayed";
    Problem::new(axum::http::StatusCode::CONFLICT, "history-begins-later", "History begins later", detail)
}

fn ahead(from: Sequence, through: Sequence) -> Problem {
    let detail = format!("from is {from}, and the last command is {through}: is this another market?");
    Problem::new(axum::http::StatusCode::CONFLICT, "from-ahead", "Ahead of the present", detail)
}

/// Goes on until all is told or nobody listens any more.
pub(crate) async fn run(site: Site, mut replay: Replay) {
    while replay.outbox.has_room().await {
        // One replay at a time is at work.
        let Ok(_turn) = site.replays().acquire().await else { return };
        let stepped = site.look(move |scene| {
            let begun = Instant::now();
            let goes_on = match replay.step(scene) {
                Ok(goes_on) => goes_on,
                Err(error) => {
                    tracing::error!(%error, "reports cannot be replayed");
                    replay.outbox.send(refusal(None, "history-unreadable", &error.to_string()));
                    Hub::unsubscribe(scene, Topic::Reports(replay.account), &replay.outbox);
                    false
                }
            };
            goes_on.then(|| (replay, begun.elapsed()))
        });
        let Ok(Some((goes_on, worked))) = stepped.await else { return };
        replay = goes_on;
        tokio::time::sleep(worked.saturating_mul(SHARE)).await;
    }
}

impl Replay {
    /// Does a little more. False when it is over.
    fn step(&mut self, scene: &mut Scene<Hub>) -> Result<bool, HistoryError> {
        if !scene.watcher.holds(self.account, &self.outbox, self.number) {
            // It was unsubscribed meanwhile.
            return Ok(false);
        }
        let history = scene.history.as_ref().ok_or(HistoryError::Ended)?;
        match std::mem::replace(&mut self.stage, Stage::Joining) {
            Stage::Looking(mut sweep) => {
                self.stage = match history.sweep_on(&mut sweep, RECORDS_AT_ONCE)? {
                    true => Stage::Looking(sweep),
                    false => {
                        let (found, more) = sweep.finish();
                        Stage::Telling(found.into(), more)
                    }
                };
            }
            Stage::Telling(mut found, more) => {
                let keys: Vec<ReportKey> = found.drain(..found.len().min(REPORTS_AT_ONCE)).collect();
                let next = found.front().copied();
                self.told = keys.last().copied().unwrap_or(self.told);
                let through = match next {
                    Some(next) => whole(self.told, Some(next)),
                    None if more.is_some() => whole(self.told, None),
                    None => self.through,
                };
                self.stage = match (next, more) {
                    (Some(_), more) => Stage::Telling(found, more),
                    (None, Some(sweep)) => Stage::Looking(sweep),
                    (None, None) => Stage::Joining,
                };
                if !keys.is_empty() {
                    self.outbox.send(messages::reports(scene, self.account, &keys, through, false)?);
                }
            }
            Stage::Joining => return self.join(scene),
        }
        Ok(true)
    }

    /// Tells of what happened meanwhile; when nothing is left of that, the subscriber is one of the others.
    fn join(&mut self, scene: &mut Scene<Hub>) -> Result<bool, HistoryError> {
        Hub::publish(scene);
        let (keys, next) = scene.watcher.take_held(self.account, &self.outbox, REPORTS_AT_ONCE);
        let through = match (keys.last(), next) {
            (Some(last), Some(next)) => whole(*last, Some(next)),
            _ => scene.view.sequence(),
        };
        let live = next.is_none();
        self.outbox.send(messages::reports(scene, self.account, &keys, through, live)?);
        if live {
            scene.watcher.release(self.account, &self.outbox);
        }
        Ok(!live)
    }
}

/// The last command that all is told of, when `last` was told and `next` is not yet; an unknown one may be of the same.
pub(crate) fn whole(last: ReportKey, next: Option<ReportKey>) -> Sequence {
    match next {
        Some(next) if next.sequence > last.sequence => last.sequence,
        _ => Sequence(last.sequence.0.saturating_sub(1)),
    }
}
