//! Pages of the files in steps. The members take turns at the steps, so that a page that looks at many records delays
//! the questions of others by one step at a time.

use feed::{HistoryAt, HistoryError, LOOKED_AT_MAX, PageBounds, View};

use super::read;
use crate::app_state::AppState;
use crate::current_principal;
use crate::history_port::{HistoryFault, Page};

/// The most records, or notes, that one step looks at: about a millisecond of the feed's thread.
pub(super) const AT_ONCE: usize = 512;

/// The start of a step, and its bounds.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// The step goes on behind this entry; `None` begins with the newest one.
    pub(super) before: Option<u64>,
    pub(super) bounds: PageBounds,
}

/// A page while it is made.
struct UnfinishedPage<T> {
    entries: Vec<T>,
    before: Option<u64>,
    /// The number of entries of a full page.
    limit: usize,
    /// The number of records that the page may still look at.
    records_left: usize,
}

impl<T> UnfinishedPage<T> {
    fn begin(before: Option<u64>, limit: usize) -> UnfinishedPage<T> {
        UnfinishedPage { entries: Vec::new(), before, limit, records_left: LOOKED_AT_MAX }
    }

    fn next_step(&self) -> Step {
        let entries = self.limit.saturating_sub(self.entries.len());
        let bounds = PageBounds { entries, looked_at: AT_ONCE.min(self.records_left) };
        Step { before: self.before, bounds }
    }

    /// Adds the entries of a step. Returns whether the page goes on with another one.
    fn add(&mut self, (entries, next): Page<T>) -> bool {
        self.entries.extend(entries);
        self.before = next;
        self.records_left = self.records_left.saturating_sub(AT_ONCE);
        next.is_some() && self.entries.len() < self.limit && self.records_left > 0
    }
}

/// Makes a page of the files. Each step is as of its own moment. Returns `None` if `before` is not an entry of the
/// list.
pub(super) async fn page<T: Send + 'static>(
    app: &AppState,
    before: Option<u64>,
    limit: usize,
    step: impl Fn(&View, &HistoryAt<'_>, Step) -> Result<Option<Page<T>>, HistoryError> + Clone + Send + 'static,
) -> Result<Option<Page<T>>, HistoryFault> {
    let mut page = UnfinishedPage::begin(before, limit);
    loop {
        let (next, step) = (page.next_step(), step.clone());
        let entries = read(app, move |view, history| Ok(step(view, history, next))).await?;
        let goes_on = match entries {
            Ok(Some(entries)) => page.add(entries),
            Ok(None) => return Ok(None),
            // The next page gets the error.
            Err(HistoryError::NoLongerKept { .. }) if !page.entries.is_empty() => false,
            Err(error) => return Err(error.into()),
        };
        if !goes_on {
            return Ok(Some((page.entries, page.before)));
        }
    }
}

/// Waits for a turn of the current member, and keeps it for one question to the feed.
pub(super) async fn in_turn<T>(app: &AppState, asked: impl Future<Output = T>) -> T {
    let _turn = app.past_pages().take(&current_principal::member()).await;
    asked.await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a page of the numbers below `before`, newest first, that `is_wanted`. Returns it with the number of steps.
    fn page_of(before: u64, limit: usize, is_wanted: impl Fn(u64) -> bool) -> (Page<u64>, usize) {
        let (mut page, mut steps) = (UnfinishedPage::begin(Some(before), limit), 0);
        loop {
            let Step { before, bounds } = page.next_step();
            assert!(bounds.looked_at <= AT_ONCE && bounds.entries > 0, "{bounds:?}");
            let (mut entries, mut last) = (Vec::new(), before.expect("a step begins somewhere"));
            for number in (0..last).rev().take(bounds.looked_at) {
                last = number;
                entries.extend(Some(number).filter(|number| is_wanted(*number)));
                if entries.len() == bounds.entries {
                    break;
                }
            }
            steps += 1;
            if !page.add((entries, Some(last).filter(|last| *last > 0))) {
                return ((page.entries, page.before), steps);
            }
        }
    }

    /// A page once looked at all of its 10,000 records in one question.
    #[test]
    fn a_page_in_steps_is_the_one_that_a_single_question_finds() {
        assert_eq!(page_of(50_000, 100, |_| false), ((Vec::new(), Some(40_000)), 20));
        let wanted: Vec<u64> = (49_900..50_000).rev().collect();
        assert_eq!(page_of(50_000, 100, |_| true), ((wanted, Some(49_900)), 1));
        let wanted: Vec<u64> = (49_000..50_000).rev().collect();
        assert_eq!(page_of(50_000, 1_000, |_| true), ((wanted, Some(49_000)), 2));
        let wanted = vec![49_000, 48_000, 47_000];
        assert_eq!(page_of(50_000, 3, |number| number % 1_000 == 0), ((wanted, Some(47_000)), 6));
        assert_eq!(page_of(700, 9, |number| number == 0), ((vec![0], None), 2));
    }
}
