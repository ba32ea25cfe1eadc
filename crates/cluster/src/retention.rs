//! Retention of the log: which messages are no longer needed. A node remembers only when it began, because it may start
//! anew more often than messages get old: the log's own messages say how old they are.

use std::time::{Duration, Instant};

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
/// The part of that time which nodes have to start after all of them were stopped, and the most of it.
const STARTS_IN_KEPT: u32 = 2;
const STARTS_MAX: Duration = Duration::from_secs(3_600);

/// A mark at which at least two nodes have the same snapshot, and the market's time when they agreed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AgreedMark {
    /// The position of the message behind the mark.
    pub position: u64,
    pub time: Time,
}

/// The messages of a log.
trait Messages {
    /// The position of the first one.
    async fn first(&self) -> Result<u64, LogError>;
    /// The times that the log's clock and its writer's clock gave to a message. Errors: it is not there, or no server
    /// answers.
    async fn times(&self, position: u64) -> Result<[Time; 2], LogError>;
}

impl Messages for Stream {
    async fn first(&self) -> Result<u64, LogError> {
        let info = self.get_info().await.map_err(|error| LogError(format!("the log cannot be asked: {error}")))?;
        Ok(info.state.first_sequence)
    }

    async fn times(&self, position: u64) -> Result<[Time; 2], LogError> {
        let found = servers::message(self, position).await?;
        let arrived = time_of(found.time.unix_timestamp_nanos());
        // Only the log's time is known of a message that this program does not read any more.
        let written = Message::read(&found.payload).map_or(arrived, |message| message.written);
        Ok([arrived, written])
    }
}

/// Has the log forget what is no longer needed, when nodes agree on a mark. Ends when the sender of marks is gone.
pub(crate) async fn forget(stream: Stream, keep: Duration, mut agreed: watch::Receiver<AgreedMark>) {
    let begun = Instant::now();
    while agreed.changed().await.is_ok() {
        let mark = *agreed.borrow_and_update();
        match forget_before(&stream, keep, mark, begun.elapsed()).await {
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
async fn forget_before(
    stream: &Stream,
    keep: Duration,
    mark: AgreedMark,
    followed: Duration,
) -> Result<Option<(u64, u64)>, LogError> {
    let Some(before) = first_needed(stream, keep, mark, followed).await? else { return Ok(None) };
    let purged = stream.purge().sequence(before).await;
    let purged = purged.map_err(|error| LogError(format!("messages before {before} cannot be purged: {error}")))?;
    Ok((purged.purged > 0).then_some((before, purged.purged)))
}

/// Whether a message is older than `age` at the market's time `now`. One that is not there any more was: another node
/// has the log forget at the same time.
async fn is_old(log: &impl Messages, position: u64, age: Duration, now: Time) -> Result<bool, LogError> {
    match log.times(position).await {
        Ok(times) => Ok(is_older(times, age, now)),
        Err(error) => match log.first().await {
            Ok(first) if first > position => Ok(true),
            Ok(_) | Err(_) => Err(error),
        },
    }
}

/// Whether a message is older than `age` at the market's time `now`. The log's clock gave it one time, and its
/// writer's clock another one, and either may have been wrong, so both have to say so. A time that is further ahead
/// than `age` is that of a clock that had leapt, and says nothing. One that is less far ahead may be right: a clock of
/// the log that is behind holds market time still.
fn is_older(times: [Time; 2], age: Duration, now: Time) -> bool {
    let since = |earlier: Time, later: Time| Duration::from_micros(later.0.saturating_sub(earlier.0));
    let latest = times.into_iter().filter(|time| since(now, *time) <= age).max();
    latest.is_some_and(|latest| since(latest, now) >= age)
}

/// Finds the first message that is still needed when nodes agree on a mark and this one has `followed` the log for a
/// time; none if that is the log's first one. A node that took an old message last needs it no more, nor one before the
/// mark: it begins with a snapshot. All others need the parts of the batches with which they begin, too. Messages stand
/// in the order of their ages, as far as clocks are right, so whatever stands before an old message is old.
async fn first_needed(
    log: &impl Messages,
    keep: Duration,
    mark: AgreedMark,
    followed: Duration,
) -> Result<Option<u64>, LogError> {
    let now = mark.time;
    let (mut old, mut needed) = (log.first().await?.max(1).saturating_add(WINDOW), mark.position);
    if old >= needed || !is_old(log, old, keep, now).await? {
        return Ok(None);
    }
    while needed.saturating_sub(old) > 1 {
        let middle = old.midpoint(needed);
        match is_old(log, middle, keep, now).await? {
            true => old = middle,
            false => needed = middle,
        }
    }
    // If all nodes were stopped for longer than messages are kept, everything before the stop is old at the first mark,
    // and a node that starts a little later than the others may need some of it.
    let starts = keep.checked_div(STARTS_IN_KEPT).unwrap_or_default().min(STARTS_MAX);
    let could_all_start = followed >= starts || is_old(log, needed, starts, now).await?;
    Ok(could_all_start.then(|| needed.saturating_sub(WINDOW)))
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

    /// A log whose messages have these times.
    struct Log<T> {
        first: Cell<u64>,
        /// The position of its end, behind which there is no message.
        end: u64,
        times: T,
        asked: Cell<usize>,
        /// The position at which the log begins when the first message is asked for, because another node forgets.
        begins_soon_at: Option<u64>,
    }

    impl<T: Fn(u64) -> [Time; 2]> Messages for Log<T> {
        async fn first(&self) -> Result<u64, LogError> {
            Ok(self.first.get())
        }

        async fn times(&self, position: u64) -> Result<[Time; 2], LogError> {
            self.asked.set(self.asked.get() + 1);
            self.first.set(self.begins_soon_at.unwrap_or(self.first.get()));
            match (self.first.get()..=self.end).contains(&position) {
                true => Ok((self.times)(position)),
                false => Err(LogError(format!("message {position} is not there"))),
            }
        }
    }

    impl<T: Fn(u64) -> [Time; 2]> Log<T> {
        /// Makes a log of these messages.
        fn of(first: u64, end: u64, times: T) -> Log<T> {
            Log { first: Cell::new(first), end, times, asked: Cell::new(0), begins_soon_at: None }
        }

        /// Finds the first needed message when nodes agree on a mark at the market's time `now`, and this node has
        /// followed for so many seconds.
        fn needed(&self, mark: u64, now: u64, followed: u64) -> Result<Option<u64>, LogError> {
            let mark = AgreedMark { position: mark, time: second(now) };
            let found = first_needed(self, KEEP, mark, Duration::from_secs(followed)).now_or_never();
            assert!(self.asked.get() <= 22, "{} messages were asked for", self.asked.get());
            found.expect("no answer is waited for")
        }
    }

    /// The first needed message of a log with a message each second, when the market's time is `now` and the nodes
    /// agree on a mark; `times` gives a message's times. This node has just started.
    fn needed(first: u64, mark: u64, now: u64, times: impl Fn(u64) -> [Time; 2]) -> Option<u64> {
        Log::of(first, mark, times).needed(mark, now, 0).expect("no error")
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
    /// The first mark behind a stop of all nodes that was longer than messages are kept once forgot what a node that
    /// started a minute later than the others still needed.
    #[test]
    fn nodes_that_were_stopped_together_have_time_to_start_before_anything_is_forgotten() {
        // The nodes were stopped at message 30,000, for 1,000 seconds.
        let log = |end| {
            Log::of(1, end, |position| match position {
                0..30_000 => steady(position),
                _ => steady(position + 1_000),
            })
        };
        let at = |mark: u64, followed| log(mark).needed(mark, mark + 1_000, followed).expect("no error");
        assert_eq!(at(30_001, 1), None, "the nodes have just started");
        assert_eq!(at(30_004, 4), None);
        assert_eq!(at(30_005, 1), Some(30_000 - WINDOW), "others have run for long, whenever this one has started");
        assert_eq!(log(30_000).needed(30_000, 31_000, 4).expect("no error"), None);
        let quiet = log(30_000).needed(30_000, 31_000, 5).expect("no error");
        assert_eq!(quiet, Some(30_000 - WINDOW), "this node has run for long, in a market without messages");
    }

    /// A node that was slower than another one asked for a message that was forgotten meanwhile, and said that the log
    /// did not forget.
    #[test]
    fn a_node_that_forgets_at_the_same_time_as_another_one_finds_the_same() {
        let log = Log { begins_soon_at: Some(39_991 - WINDOW), ..Log::of(1, 40_000, steady) };
        assert_eq!(log.needed(40_000, 40_000, 0).expect("no error"), Some(39_991 - WINDOW));
        let ahead = Log { begins_soon_at: Some(39_996), ..Log::of(1, 40_000, steady) };
        let found = ahead.needed(40_000, 40_000, 10).expect("no error");
        assert_eq!(found, Some(39_996 - WINDOW), "the other one agreed on a later mark");
    }

    #[test]
    fn a_message_that_is_missing_in_the_midst_of_a_log_is_an_error() {
        assert!(Log::of(1, 15_000, steady).needed(40_000, 40_000, 0).is_err());
    }
}
