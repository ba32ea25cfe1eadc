//! Retention of the log: which messages are no longer needed. A node remembers nothing for it, since it may start anew
//! more often than messages get old: the log's own messages say how old they are.

use std::time::Duration;

use async_nats::jetstream::stream::Stream;
use terms::Time;
use tokio::sync::watch;

use crate::client::LogError;
use crate::log_check::time_of;
use crate::message::Message;
use crate::message_parts::WINDOW;
use crate::servers;

/// The part of the time for which messages are kept that lies at least between two looks at the log.
const LOOKS_IN_KEPT: u32 = 1_000;

/// A mark at which at least two nodes have the same snapshot, and the market's time when they agreed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgreedMark {
    /// The position of the message behind the mark.
    pub position: u64,
    pub time: Time,
}

/// Has the log forget what is no longer needed, when nodes agree on a mark. Ends when the sender of marks is gone.
pub(crate) async fn forget(stream: Stream, keep: Duration, mut agreed: watch::Receiver<AgreedMark>) {
    while agreed.changed().await.is_ok() {
        let mark = *agreed.borrow_and_update();
        match forget_before(&stream, keep, mark).await {
            Ok(Some((before, messages))) => {
                tracing::info!(before, messages, "the log forgot what nodes have snapshots of")
            }
            Ok(None) => {}
            Err(error) => tracing::warn!(%error, "the log does not forget what nodes have snapshots of"),
        }
        tokio::time::sleep(keep.checked_div(LOOKS_IN_KEPT).unwrap_or_default()).await;
    }
}

/// Returns the first message that is kept and the number of forgotten ones; none where nothing was forgotten.
async fn forget_before(stream: &Stream, keep: Duration, mark: AgreedMark) -> Result<Option<(u64, u64)>, LogError> {
    let info = stream.get_info().await.map_err(|error| LogError(format!("the log cannot be asked: {error}")))?;
    let is_old = |position| async move {
        let found = servers::message(stream, position).await?;
        let arrived = time_of(found.time.unix_timestamp_nanos());
        // Only the log's time is known of a message that this program does not read any more.
        let written = Message::read(&found.payload).map_or(arrived, |message| message.written);
        Ok(is_older([arrived, written], keep, mark.time))
    };
    let Some(before) = first_needed(info.state.first_sequence, mark.position, is_old).await? else { return Ok(None) };
    let purged = stream.purge().sequence(before).await;
    let purged = purged.map_err(|error| LogError(format!("messages before {before} cannot be purged: {error}")))?;
    Ok(Some((before, purged.purged)))
}

/// Whether a message is older than `keep` at the market's time `now`. The log's clock gave it one time, and its
/// writer's clock another one, and either may have been wrong, so both have to say so. A time that is further ahead
/// than `keep` is that of a clock that had leapt, and says nothing. One that is less far ahead may be right: a clock of
/// the log that is behind holds market time still.
fn is_older(times: [Time; 2], keep: Duration, now: Time) -> bool {
    let since = |earlier: Time, later: Time| Duration::from_micros(later.0.saturating_sub(earlier.0));
    let latest = times.into_iter().filter(|time| since(now, *time) <= keep).max();
    latest.is_some_and(|latest| since(latest, now) >= keep)
}

/// Finds the first message that is still needed in a log that begins at `first`; none if that is its first one. A node
/// that took an old message last needs it no more, nor one before the mark: it begins with a snapshot. All others need
/// the parts of the batches with which they begin, too. Messages stand in the order of their ages, as far as clocks are
/// right, so whatever stands before an old message is old.
async fn first_needed<F: Future<Output = Result<bool, LogError>>>(
    first: u64,
    mark: u64,
    is_old: impl Fn(u64) -> F,
) -> Result<Option<u64>, LogError> {
    let (mut old, mut needed) = (first.max(1).saturating_add(WINDOW), mark);
    if old >= needed || !is_old(old).await? {
        return Ok(None);
    }
    while needed.saturating_sub(old) > 1 {
        let middle = old.midpoint(needed);
        match is_old(middle).await? {
            true => old = middle,
            false => needed = middle,
        }
    }
    Ok(Some(needed.saturating_sub(WINDOW)))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::FutureExt;

    use super::*;

    const KEEP: Duration = Duration::from_secs(10);

    fn second(second: u64) -> Time {
        Time(second * 1_000_000)
    }

    /// The first needed message of a log with a message each second, when the market's time is `now` and the nodes
    /// agree on a mark; `times` gives a message's times.
    fn needed(first: u64, mark: u64, now: u64, times: impl Fn(u64) -> [Time; 2]) -> Option<u64> {
        let (asked, times) = (&Cell::new(0), &times);
        let is_old = |position| async move {
            assert!((first..mark).contains(&position), "message {position} is not there");
            asked.set(asked.get() + 1);
            Ok(is_older(times(position), KEEP, second(now)))
        };
        let found = first_needed(first, mark, is_old).now_or_never();
        assert!(asked.get() <= 21, "{} messages were asked for", asked.get());
        found.expect("no answer is waited for").expect("no error")
    }

    fn steady(position: u64) -> [Time; 2] {
        [second(position); 2]
    }

    #[test]
    fn messages_are_kept_until_they_are_old_and_nodes_agree_on_a_mark_behind_them() {
        // Message 39,991 is the first that is not 10 seconds old.
        assert_eq!(needed(1, 40_000, 40_000, steady), Some(39_991 - WINDOW));
        assert_eq!(needed(1, 30_000, 40_000, steady), Some(30_000 - WINDOW), "nodes agree on an earlier mark alone");
        assert_eq!(needed(29_991, 40_000, 40_000, steady), None, "all of it is forgotten already");
        assert_eq!(needed(29_990, 40_000, 40_000, steady), Some(29_991));
        assert_eq!(needed(1, 10_001, 40_000, steady), None, "the window holds it all");
        assert_eq!(needed(1, 10_010, 10_010, steady), None, "nothing behind the window is old");
    }

    /// All nodes start anew more often than messages get old: what they agreed on before that is in no memory.
    #[test]
    fn messages_are_forgotten_at_the_first_mark_behind_a_start() {
        assert_eq!(needed(1, 1_000_000, 1_000_000, steady), Some(1_000_000 - 9 - WINDOW));
    }

    #[test]
    fn a_wrong_clock_makes_no_message_old_and_none_young_for_ever() {
        let first = Some(39_991 - WINDOW);
        for [log, writer] in [[0, 1], [1, 0]] {
            let with = |wrong: fn(u64) -> u64| {
                needed(1, 40_000, 40_000, |position| {
                    let times = [second(wrong(position)), second(position)];
                    [times[log], times[writer]]
                })
            };
            assert_eq!(with(|right| right.saturating_sub(20_000)), first, "one of the clocks is behind");
            assert_eq!(with(|right| right + 1_000_000), first, "one of the clocks has leapt");
        }
        assert_eq!(needed(1, 40_000, 40_000, |position| [second(position + 1_000_000); 2]), None, "both have leapt");
    }

    /// Market time stands still at 20,000, because the log's clock is behind.
    #[test]
    fn no_message_gets_old_while_market_time_stands_still() {
        let found = needed(1, 20_009, 20_000, |position| match position {
            0..20_000 => steady(position),
            _ => [second(position - 15_000), second(position)],
        });
        assert_eq!(found, Some(19_991 - WINDOW));
    }
}
