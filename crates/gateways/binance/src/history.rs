//! Makes the pages that these clients expect from pages of the history: the last entries, or the first ones from a
//! number or a time on, always oldest first.

use feed::{HistoryError, Trade};
use terms::Time;

use crate::parameters::Parameters;
use crate::refusal::Refusal;
use http_gateway::history_pages::HistoryFault;
use http_gateway::history_port::{Past, Since};

/// Trades and orders of a page: shown by default, and at most.
pub(crate) const TRADES: (usize, usize) = (500, 1000);
/// Pages that are read for one answer, at most. Each is a question of its own, so that others do not wait.
const PAGES_MAX: usize = 200;

/// A part of a history.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PageRequest {
    /// The first number.
    pub(crate) from: Option<u64>,
    /// The first time, and the time before which the part ends.
    pub(crate) start: Option<Time>,
    pub(crate) end: Option<Time>,
    pub(crate) limit: usize,
}

impl PageRequest {
    /// Reads the part from a request; `from` is its parameter for the number.
    pub(crate) fn of(asked: &Parameters, from: &str) -> Result<PageRequest, Refusal> {
        Ok(PageRequest {
            from: asked.number(from)?,
            start: asked.time("startTime")?,
            end: asked.end("endTime")?,
            limit: asked.limit(TRADES.0, TRADES.1)?,
        })
    }

    /// Returns the start; `None` where the last entries are wanted.
    pub(crate) fn since(&self) -> Option<Since> {
        let since = Since { trade: self.from, time: self.start };
        (self.from.is_some() || self.start.is_some()).then_some(since)
    }

    /// Whether everything older than this is unwanted.
    fn begins_after(&self, number: u64, time: Time) -> bool {
        self.from.is_some_and(|from| number < from) || self.start.is_some_and(|start| time < start)
    }

    /// Whether the entries that were found are all that are wanted, although nothing up to `until` is kept any more.
    fn lacks_nothing<T>(&self, found: &[T], until: Time) -> bool {
        match (self.start, self.from) {
            // The last entries that exist are wanted.
            (None, None) => !found.is_empty(),
            (Some(start), _) => until < start,
            (None, Some(_)) => false,
        }
    }

    pub(crate) fn ends_before(&self, time: Time) -> bool {
        self.end.is_some_and(|end| time >= end)
    }
}

/// An entry of a history.
pub(crate) trait Dated: Send + 'static {
    fn number(&self) -> u64;
    fn time(&self) -> Time;
}

impl Dated for Trade {
    fn number(&self) -> u64 {
        self.id
    }

    fn time(&self) -> Time {
        self.time
    }
}

impl Dated for Past {
    fn number(&self) -> u64 {
        self.order.order.0
    }

    fn time(&self) -> Time {
        self.order.time
    }
}

/// A page, newest first, and the start of the next one; `None` if it cannot follow the previous one.
pub(crate) type Page<T> = Result<Option<(Vec<T>, Option<u64>)>, HistoryFault>;

/// Puts the wanted part together from pages, each of which begins where the previous one ended.
pub(crate) async fn gather<T: Dated, F: Future<Output = Page<T>> + Send>(
    wanted: PageRequest,
    page: impl Fn(Option<u64>) -> F + Send,
) -> Result<Vec<T>, Refusal> {
    // Without a start the last entries are wanted.
    let newest = wanted.since().is_none();
    let (mut found, mut before): (Vec<T>, Option<u64>) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let (some, next) = match page(before).await {
            Ok(page) => page.ok_or_else(Refusal::internal)?,
            Err(HistoryFault::Unreadable(HistoryError::NoLongerKept { until }))
                if wanted.lacks_nothing(&found, until) =>
            {
                (Vec::new(), None)
            }
            Err(trouble) => return Err(Refusal::troubled(trouble)),
        };
        let past_the_first = some.last().is_some_and(|one| wanted.begins_after(one.number(), one.time()));
        found.extend(
            some.into_iter()
                .filter(|one| !wanted.begins_after(one.number(), one.time()) && !wanted.ends_before(one.time())),
        );
        match newest {
            true => found.truncate(wanted.limit),
            false => drop(found.drain(..found.len().saturating_sub(wanted.limit))),
        }
        before = next;
        if next.is_none() || past_the_first || (newest && found.len() == wanted.limit) {
            found.reverse();
            return Ok(found);
        }
    }
    Err(Refusal::invalid("fromId or startTime", "it is too long ago; ask for what is nearer"))
}
