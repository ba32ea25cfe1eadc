//! What a session hears of its accounts, from the feed's thread to its own.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::AccountIndex;
use feed::{Listener, News, ReadModel, View};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::reports::{Happening, happenings};

/// Reports that wait for a session at most: then its client has not read for long, and is left.
const WAITING_MAX: usize = 1 << 15;
/// Those that wait for all sessions, some 100 MB. Past it whoever has more than a few waiting is left.
const ALL_WAITING_MAX: usize = 1 << 18;
const FEW: usize = 1 << 10;

/// Hears of accounts for one session.
pub(crate) struct Ears {
    /// None when too much waited.
    sender: Mutex<Option<UnboundedSender<Vec<Happening>>>>,
    waiting: AtomicUsize,
    /// For all sessions.
    all_waiting: Arc<AtomicUsize>,
}

impl Ears {
    /// With where its session gets what was heard: nothing more comes when too much waited. `all_waiting` counts for all sessions.
    pub(crate) fn new(all_waiting: &Arc<AtomicUsize>) -> (Ears, UnboundedReceiver<Vec<Happening>>) {
        let (sender, receiver) = unbounded_channel();
        let (sender, waiting) = (Mutex::new(Some(sender)), AtomicUsize::new(0));
        (Ears { sender, waiting, all_waiting: Arc::clone(all_waiting) }, receiver)
    }

    /// So many reports wait no more.
    pub(crate) fn took(&self, reports: usize) {
        self.waiting.fetch_sub(reports, Ordering::Relaxed);
        self.all_waiting.fetch_sub(reports, Ordering::Relaxed);
    }
}

impl Drop for Ears {
    fn drop(&mut self) {
        self.took(self.waiting.load(Ordering::Relaxed));
    }
}

impl Listener for Ears {
    fn hear(&self, view: &View, account: AccountIndex, news: &[News]) {
        let mut sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(open) = &*sender else { return };
        let heard = happenings(view, account, news);
        let waiting = self.waiting.fetch_add(heard.len(), Ordering::Relaxed) + heard.len();
        let all = self.all_waiting.fetch_add(heard.len(), Ordering::Relaxed) + heard.len();
        let is_too_much = waiting > WAITING_MAX || all > ALL_WAITING_MAX && waiting > FEW;
        if is_too_much || open.send(heard).is_err() {
            *sender = None;
        }
    }

    fn end(&self) {
        *self.sender.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The read model as this gateway needs it, whoever watches it.
pub(crate) trait Scene {
    fn view(&self) -> &View;
    fn listen(&mut self, account: AccountIndex, listener: &Arc<dyn Listener>);
    fn stop_listening(&mut self, listener: &Arc<dyn Listener>);
}

impl<W> Scene for ReadModel<W> {
    fn view(&self) -> &View {
        &self.view
    }

    fn listen(&mut self, account: AccountIndex, listener: &Arc<dyn Listener>) {
        ReadModel::listen(self, account, listener);
    }

    fn stop_listening(&mut self, listener: &Arc<dyn Listener>) {
        ReadModel::stop_listening(self, listener);
    }
}
