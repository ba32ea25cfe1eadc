//! Reports on their way from the feed's thread to the sessions. The feed's thread makes a report once for all sessions
//! that listen to an account, and none for sessions whose queues are full.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use exchange::GatewayMetrics;
use feed::{Listener, News, ReadModel, SharedHistory, View, Watcher};
use terms::{AccountId, AccountIndex, Sequence};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::reports::{Happening, happenings};

/// Reports that wait for one session, at most. Past it the client has not read for long, and the session ends.
const WAITING_MAX: usize = 1 << 15;
/// Reports that wait for all sessions together, at most, some 100 MB; a report that waits for several sessions counts
/// once. Past it each session with more than [`FEW`] waiting ends.
const ALL_WAITING_MAX: u64 = 1 << 18;
const FEW: usize = 1 << 10;
/// Reports that wait for one session above which it takes them before it takes further messages.
const MANY: usize = 1 << 12;

/// The listener of all sessions.
pub(crate) struct ReportQueues {
    sessions: Mutex<HashMap<AccountIndex, Vec<Arc<ReportQueue>>>>,
    /// Counts the reports that were made and wait.
    metrics: GatewayMetrics,
}

/// The queue of one session.
pub(crate) struct ReportQueue {
    /// `None` once too much waited.
    sender: Mutex<Option<UnboundedSender<QueuedReports>>>,
    waiting: AtomicUsize,
    /// The accounts that the session began to listen to. They are looked at with the lock on all sessions held.
    accounts: Mutex<Vec<AccountIndex>>,
}

/// Reports of an account, shared by all sessions that listen to it, and counted until the last of them has taken them.
#[derive(Clone)]
pub(crate) struct QueuedReports(Arc<CountedReports>);

struct CountedReports {
    happenings: Vec<Happening>,
    /// The account, and the command up to which these are all of its reports behind those before them.
    complete: Option<(AccountId, Sequence)>,
    /// Whether they may have been sent before, under other numbers.
    is_resend: bool,
    metrics: GatewayMetrics,
}

impl ReportQueues {
    /// Returns a listener without sessions.
    pub(crate) fn new(metrics: GatewayMetrics) -> ReportQueues {
        ReportQueues { sessions: Mutex::default(), metrics }
    }

    /// Adds a session to the listeners of an account. Does nothing if it listens already or has ended meanwhile:
    /// nothing would remove it again before the account's next event.
    pub(crate) fn begin(
        self: &Arc<ReportQueues>,
        model: &mut dyn Model,
        account: AccountIndex,
        queue: &Arc<ReportQueue>,
    ) {
        let listener: Arc<dyn Listener> = Arc::<ReportQueues>::clone(self);
        model.listen(account, &listener);
        let mut sessions = self.sessions();
        // The check holds the lock on the sessions: a session that ends from now on removes itself.
        if queue.is_closed() {
            return;
        }
        let its = sessions.entry(account).or_default();
        if !its.iter().any(|known| Arc::ptr_eq(known, queue)) {
            its.push(Arc::clone(queue));
            queue.accounts().push(account);
        }
    }

    /// Removes a session from the listeners of its accounts. The feed learns of it with the next news.
    pub(crate) fn end(&self, queue: &Arc<ReportQueue>) {
        queue.close();
        let mut sessions = self.sessions();
        // The feed's thread waits for this lock, so nothing is done about the accounts of others.
        for account in std::mem::take(&mut *queue.accounts()) {
            if let Entry::Occupied(mut its) = sessions.entry(account) {
                its.get_mut().retain(|known| !Arc::ptr_eq(known, queue));
                if its.get().is_empty() {
                    its.remove();
                }
            }
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<AccountIndex, Vec<Arc<ReportQueue>>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for ReportQueues {
    fn hear(&self, view: &View, account: AccountIndex, news: &[News]) -> bool {
        let mut sessions = self.sessions();
        let Some(its) = sessions.get_mut(&account) else { return false };
        if !its.is_empty() {
            let (happened, complete) = (happenings(view, account, news), (view.account(account).id, view.sequence()));
            if happened.is_empty() {
                return true;
            }
            let reports = QueuedReports::complete(happened, complete, false, &self.metrics);
            // Sessions that are full are dropped here, so that nothing more is made for them.
            its.retain(|queue| queue.take(&reports, self.metrics.reports_waiting()));
        }
        if its.is_empty() {
            sessions.remove(&account);
            return false;
        }
        true
    }

    fn fail(&self, account: AccountIndex) {
        self.sessions().remove(&account).iter().flatten().for_each(|queue| queue.close());
    }

    fn end(&self) {
        self.sessions().drain().flat_map(|(_, its)| its).for_each(|queue| queue.close());
    }
}

impl ReportQueue {
    /// Returns a queue and the session's end of it, which closes when too much waited.
    pub(crate) fn new() -> (ReportQueue, UnboundedReceiver<QueuedReports>) {
        let (sender, receiver) = unbounded_channel();
        let (sender, waiting, accounts) = (Mutex::new(Some(sender)), AtomicUsize::new(0), Mutex::default());
        (ReportQueue { sender, waiting, accounts }, receiver)
    }

    fn accounts(&self) -> MutexGuard<'_, Vec<AccountIndex>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether so many reports wait that the session takes them first.
    pub(crate) fn has_many(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > MANY
    }

    /// Counts reports that wait beside the queue.
    pub(crate) fn add(&self, reports: usize) {
        self.waiting.fetch_add(reports, Ordering::Relaxed);
    }

    /// Counts reports that the session took.
    pub(crate) fn took(&self, reports: usize) {
        self.waiting.fetch_sub(reports, Ordering::Relaxed);
    }

    /// Closes the queue: no more reports come.
    fn close(&self) {
        *self.sender.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether the queue is closed, or the session no longer takes from it.
    fn is_closed(&self) -> bool {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        sender.as_ref().is_none_or(UnboundedSender::is_closed)
    }

    /// Queues reports for the session. Returns false when too much waits: the session gets nothing more.
    fn take(&self, reports: &QueuedReports, all_waiting: u64) -> bool {
        let mut sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = self.waiting.fetch_add(reports.len(), Ordering::Relaxed) + reports.len();
        let is_too_much = waiting > WAITING_MAX || all_waiting > ALL_WAITING_MAX && waiting > FEW;
        let is_taken = !is_too_much && sender.as_ref().is_some_and(|open| open.send(reports.clone()).is_ok());
        if !is_taken {
            *sender = None;
        }
        is_taken
    }
}

impl QueuedReports {
    /// Makes reports of an account that are all up to a command. `is_resend`: whether they may have been sent before.
    pub(crate) fn complete(
        happenings: Vec<Happening>,
        complete: (AccountId, Sequence),
        is_resend: bool,
        metrics: &GatewayMetrics,
    ) -> QueuedReports {
        QueuedReports::made(happenings, Some(complete), is_resend, metrics)
    }

    fn made(
        happenings: Vec<Happening>,
        complete: Option<(AccountId, Sequence)>,
        is_resend: bool,
        metrics: &GatewayMetrics,
    ) -> QueuedReports {
        metrics.reports_made(happenings.len());
        QueuedReports(Arc::new(CountedReports { happenings, complete, is_resend, metrics: metrics.clone() }))
    }

    /// Returns the account, and the command up to which its reports are complete with these.
    pub(crate) fn completes(&self) -> Option<(AccountId, Sequence)> {
        self.0.complete
    }

    /// Whether they may have been sent before, under other numbers.
    pub(crate) fn is_resend(&self) -> bool {
        self.0.is_resend
    }
}

impl Deref for QueuedReports {
    type Target = [Happening];

    fn deref(&self) -> &[Happening] {
        &self.0.happenings
    }
}

impl Drop for CountedReports {
    fn drop(&mut self) {
        self.metrics.reports_dropped(self.happenings.len());
    }
}

#[cfg(test)]
impl QueuedReports {
    /// Makes reports that complete nothing.
    pub(crate) fn new(happenings: Vec<Happening>, metrics: &GatewayMetrics) -> QueuedReports {
        QueuedReports::made(happenings, None, false, metrics)
    }
}

/// The read model as this gateway needs it, for any `Watcher`.
pub(crate) trait Model {
    fn view(&self) -> &View;
    fn listen(&mut self, account: AccountIndex, listener: &Arc<dyn Listener>);
    /// Tells the listeners all that they were not told yet.
    fn tell_news(&mut self) {}
    /// Returns the history; `None` where it is not in files of ours.
    fn history(&self) -> Option<&SharedHistory> {
        None
    }
}

impl<W: Watcher> Model for ReadModel<W> {
    fn tell_news(&mut self) {
        W::tell_now(self);
    }

    fn history(&self) -> Option<&SharedHistory> {
        self.history.as_ref()
    }

    fn view(&self) -> &View {
        &self.view
    }

    fn listen(&mut self, account: AccountIndex, listener: &Arc<dyn Listener>) {
        ReadModel::listen(self, account, listener);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nobody;

    /// A view that ends a session just when that session begins to listen to an account.
    struct Ending<'a>(&'a ReportQueues, &'a Arc<ReportQueue>);

    impl Model for Ending<'_> {
        fn view(&self) -> &View {
            unreachable!("nobody looks")
        }

        fn listen(&mut self, _: AccountIndex, _: &Arc<dyn Listener>) {
            self.0.end(self.1);
        }
    }

    impl Model for Nobody {
        fn view(&self) -> &View {
            unreachable!("nobody looks")
        }

        fn listen(&mut self, _: AccountIndex, _: &Arc<dyn Listener>) {}
    }

    /// A session that ended while its question waited for the feed was kept until something happened to the account.
    #[test]
    fn a_session_that_has_ended_is_kept_nowhere() {
        let report_queues = Arc::new(ReportQueues::new(GatewayMetrics::new("fix")));
        let (queue, receiver) = ReportQueue::new();
        let queue = Arc::new(queue);
        report_queues.begin(&mut Nobody, AccountIndex(1), &queue);
        assert_eq!(report_queues.sessions().len(), 1);
        report_queues.end(&queue);
        assert!(report_queues.sessions().is_empty(), "an account without sessions takes no room");
        report_queues.begin(&mut Nobody, AccountIndex(1), &queue);
        assert!(report_queues.sessions().is_empty(), "it has ended");
        let (queue, _receiver) = ReportQueue::new();
        let queue = Arc::new(queue);
        report_queues.begin(&mut Ending(&report_queues, &queue), AccountIndex(1), &queue);
        assert!(report_queues.sessions().is_empty(), "it ended meanwhile");
        let (other, gone) = ReportQueue::new();
        drop((receiver, gone));
        report_queues.begin(&mut Nobody, AccountIndex(1), &Arc::new(other));
        assert!(report_queues.sessions().is_empty(), "nobody takes what it would hear");
    }

    /// The end of a session went through the accounts of all sessions while the feed waited for it.
    #[test]
    fn a_session_that_ends_leaves_the_accounts_of_others_alone() {
        let report_queues = Arc::new(ReportQueues::new(GatewayMetrics::new("fix")));
        let [(queue, _receiver), (other, _others)] = [ReportQueue::new(), ReportQueue::new()];
        let (queue, other) = (Arc::new(queue), Arc::new(other));
        for account in [1, 2] {
            report_queues.begin(&mut Nobody, AccountIndex(account), &queue);
        }
        report_queues.begin(&mut Nobody, AccountIndex(2), &other);
        // Only a look at it could remove this account, which has no sessions.
        report_queues.sessions().insert(AccountIndex(3), Vec::new());
        report_queues.end(&queue);
        let sessions = report_queues.sessions();
        let mut left: Vec<_> = sessions.iter().map(|(account, its)| (account.0, its.len())).collect();
        left.sort_unstable();
        assert_eq!(left, [(2, 1), (3, 0)]);
        assert_eq!(Arc::strong_count(&queue), 1, "it is kept nowhere");
    }

    fn reports(reports: usize) -> QueuedReports {
        QueuedReports::new(vec![Happening::of_nothing(); reports], &GatewayMetrics::new("fix"))
    }

    #[test]
    fn a_session_waits_with_few_reports_where_all_wait_with_many() {
        let (queue, _receiver) = ReportQueue::new();
        assert!(queue.take(&reports(FEW), ALL_WAITING_MAX + 1), "it has few itself");
        assert!(queue.take(&reports(1), ALL_WAITING_MAX), "all have as many as they may");
        assert!(!queue.take(&reports(1), ALL_WAITING_MAX + 1));
        let (queue, _receiver) = ReportQueue::new();
        assert!(queue.take(&reports(WAITING_MAX), 0));
        queue.took(1);
        assert!(queue.take(&reports(1), 0), "there is room for what was taken");
        assert!(!queue.take(&reports(1), 0));
        assert!(!queue.take(&reports(0), 0), "it gets nothing more");
    }
}
