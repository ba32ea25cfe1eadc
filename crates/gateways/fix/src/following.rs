//! Reports on their way from the feed's thread to the sessions. The feed's thread makes a report once for all sessions
//! that listen to an account, and none for sessions whose queues are full.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::AccountIndex;
use exchange::GatewayMetrics;
use feed::{Listener, News, ReadModel, View};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::reports::{Happening, happenings};

/// Reports that wait for one session, at most. Past it the client has not read for long, and the session ends.
const WAITING_MAX: usize = 1 << 15;
/// Reports that wait for all sessions together, at most, some 100 MB; a report that waits for several sessions counts
/// once. Past it each session with more than [`FEW`] waiting ends.
const ALL_WAITING_MAX: u64 = 1 << 18;
const FEW: usize = 1 << 10;

/// The listener of all sessions.
pub(crate) struct Following {
    sessions: Mutex<HashMap<AccountIndex, Vec<Arc<Ears>>>>,
    /// Counts the reports that were made and wait.
    metrics: GatewayMetrics,
}

/// The queue of one session.
pub(crate) struct Ears {
    /// `None` once too much waited.
    sender: Mutex<Option<UnboundedSender<Heard>>>,
    waiting: AtomicUsize,
}

/// Reports of an account, shared by all sessions that listen to it, and counted until the last of them has taken them.
#[derive(Clone)]
pub(crate) struct Heard(Arc<Counted>);

struct Counted {
    happenings: Vec<Happening>,
    metrics: GatewayMetrics,
}

impl Following {
    /// Returns a listener without sessions.
    pub(crate) fn new(metrics: GatewayMetrics) -> Following {
        Following { sessions: Mutex::default(), metrics }
    }

    /// Adds a session to the listeners of an account. Does nothing if it listens already or has ended meanwhile:
    /// nothing would remove it again before the account's next event.
    pub(crate) fn begin(self: &Arc<Following>, scene: &mut dyn Scene, account: AccountIndex, ears: &Arc<Ears>) {
        let listener: Arc<dyn Listener> = Arc::<Following>::clone(self);
        scene.listen(account, &listener);
        let mut sessions = self.sessions();
        // The check holds the lock on the sessions: a session that ends from now on removes itself.
        if ears.is_closed() {
            return;
        }
        let its = sessions.entry(account).or_default();
        if !its.iter().any(|known| Arc::ptr_eq(known, ears)) {
            its.push(Arc::clone(ears));
        }
    }

    /// Removes a session from the listeners of all accounts. The feed learns of it with the next news.
    pub(crate) fn end(&self, ears: &Arc<Ears>) {
        ears.close();
        self.sessions().retain(|_, its| {
            its.retain(|known| !Arc::ptr_eq(known, ears));
            !its.is_empty()
        });
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<AccountIndex, Vec<Arc<Ears>>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listener for Following {
    fn hear(&self, view: &View, account: AccountIndex, news: &[News]) -> bool {
        let mut sessions = self.sessions();
        let Some(its) = sessions.get_mut(&account) else { return false };
        if !its.is_empty() {
            let heard = Heard::new(happenings(view, account, news), &self.metrics);
            // Sessions that are full are dropped here, so that nothing more is made for them.
            its.retain(|ears| ears.take(&heard, self.metrics.reports_waiting()));
        }
        if its.is_empty() {
            sessions.remove(&account);
            return false;
        }
        true
    }

    fn fail(&self, account: AccountIndex) {
        self.sessions().remove(&account).iter().flatten().for_each(|ears| ears.close());
    }

    fn end(&self) {
        self.sessions().drain().flat_map(|(_, its)| its).for_each(|ears| ears.close());
    }
}

impl Ears {
    /// Returns a queue and the session's end of it, which closes when too much waited.
    pub(crate) fn new() -> (Ears, UnboundedReceiver<Heard>) {
        let (sender, receiver) = unbounded_channel();
        (Ears { sender: Mutex::new(Some(sender)), waiting: AtomicUsize::new(0) }, receiver)
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
    fn take(&self, heard: &Heard, all_waiting: u64) -> bool {
        let mut sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = self.waiting.fetch_add(heard.len(), Ordering::Relaxed) + heard.len();
        let is_too_much = waiting > WAITING_MAX || all_waiting > ALL_WAITING_MAX && waiting > FEW;
        let is_taken = !is_too_much && sender.as_ref().is_some_and(|open| open.send(heard.clone()).is_ok());
        if !is_taken {
            *sender = None;
        }
        is_taken
    }
}

impl Heard {
    fn new(happenings: Vec<Happening>, metrics: &GatewayMetrics) -> Heard {
        metrics.reports_made(happenings.len());
        Heard(Arc::new(Counted { happenings, metrics: metrics.clone() }))
    }
}

impl Deref for Heard {
    type Target = [Happening];

    fn deref(&self) -> &[Happening] {
        &self.0.happenings
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.metrics.reports_dropped(self.happenings.len());
    }
}

/// The read model as this gateway needs it, for any `Watcher`.
pub(crate) trait Scene {
    fn view(&self) -> &View;
    fn listen(&mut self, account: AccountIndex, listener: &Arc<dyn Listener>);
}

impl<W> Scene for ReadModel<W> {
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
    struct Ending<'a>(&'a Following, &'a Arc<Ears>);

    impl Scene for Ending<'_> {
        fn view(&self) -> &View {
            unreachable!("nobody looks")
        }

        fn listen(&mut self, _: AccountIndex, _: &Arc<dyn Listener>) {
            self.0.end(self.1);
        }
    }

    impl Scene for Nobody {
        fn view(&self) -> &View {
            unreachable!("nobody looks")
        }

        fn listen(&mut self, _: AccountIndex, _: &Arc<dyn Listener>) {}
    }

    /// A session that ended while its question waited for the feed was kept until something happened to the account.
    #[test]
    fn a_session_that_has_ended_is_kept_nowhere() {
        let following = Arc::new(Following::new(GatewayMetrics::new("fix")));
        let (ears, receiver) = Ears::new();
        let ears = Arc::new(ears);
        following.begin(&mut Nobody, AccountIndex(1), &ears);
        assert_eq!(following.sessions().len(), 1);
        following.end(&ears);
        assert!(following.sessions().is_empty(), "an account without sessions takes no room");
        following.begin(&mut Nobody, AccountIndex(1), &ears);
        assert!(following.sessions().is_empty(), "it has ended");
        let (ears, _receiver) = Ears::new();
        let ears = Arc::new(ears);
        following.begin(&mut Ending(&following, &ears), AccountIndex(1), &ears);
        assert!(following.sessions().is_empty(), "it ended meanwhile");
        let (other, gone) = Ears::new();
        drop((receiver, gone));
        following.begin(&mut Nobody, AccountIndex(1), &Arc::new(other));
        assert!(following.sessions().is_empty(), "nobody takes what it would hear");
    }

    fn heard(reports: usize) -> Heard {
        let metrics = GatewayMetrics::new("fix");
        metrics.reports_made(reports);
        Heard(Arc::new(Counted { happenings: vec![Happening::of_nothing(); reports], metrics }))
    }

    #[test]
    fn a_session_waits_with_few_reports_where_all_wait_with_many() {
        let (ears, _receiver) = Ears::new();
        assert!(ears.take(&heard(FEW), ALL_WAITING_MAX + 1), "it has few itself");
        assert!(ears.take(&heard(1), ALL_WAITING_MAX), "all have as many as they may");
        assert!(!ears.take(&heard(1), ALL_WAITING_MAX + 1));
        let (ears, _receiver) = Ears::new();
        assert!(ears.take(&heard(WAITING_MAX), 0));
        ears.took(1);
        assert!(ears.take(&heard(1), 0), "there is room for what was taken");
        assert!(!ears.take(&heard(1), 0));
        assert!(!ears.take(&heard(0), 0), "it gets nothing more");
    }
}
