//! Listeners of accounts, beside the watcher: each makes its own messages of the news.

use std::collections::HashMap;
use std::sync::Arc;

use exchange::containment::{Part, contain};
use terms::AccountIndex;

use crate::view::{News, View};

/// A listener of accounts, called in the feed's thread.
pub trait Listener: Send + Sync {
    /// Takes the news of an account, in order. The view has followed all of it already. Returns false to listen to this
    /// account no more.
    fn hear(&self, view: &View, account: AccountIndex, news: &[News]) -> bool;

    /// Ends the clients that listen to an account: `hear` panicked over its news.
    fn fail(&self, _account: AccountIndex) {}

    /// The feed has failed: no more news come.
    fn end(&self) {}
}

/// All listeners, by the accounts that they listen to.
#[derive(Default)]
pub struct Listeners(HashMap<AccountIndex, Vec<Arc<dyn Listener>>>);

impl Listeners {
    /// Adds a listener of an account. Does nothing if it listens already.
    pub(crate) fn add(&mut self, view: &mut View, account: AccountIndex, listener: &Arc<dyn Listener>) {
        let all = self.0.entry(account).or_default();
        if !all.iter().any(|known| Arc::ptr_eq(known, listener)) {
            all.push(Arc::clone(listener));
            view.watch_account(account, true);
        }
    }

    /// Says to all listeners that no more news come.
    pub(crate) fn end(&self) {
        self.0.values().flatten().for_each(|listener| listener.end());
    }

    /// Gives each listener the news of its accounts, and drops those that want no more of one.
    pub(crate) fn tell(&mut self, view: &mut View, all: &[News]) {
        if self.0.is_empty() {
            return;
        }
        let mut heard: Vec<(AccountIndex, Vec<News>)> = Vec::new();
        let mut places = HashMap::new();
        for news in all.iter().filter(|news| self.0.contains_key(&news.account())) {
            let place = *places.entry(news.account()).or_insert_with(|| {
                heard.push((news.account(), Vec::new()));
                heard.len() - 1
            });
            heard[place].1.push(*news);
        }
        for (account, news) in heard {
            let Some(its) = self.0.get_mut(&account) else { continue };
            let before = its.len();
            its.retain(|listener| {
                // A panic in a listener's work on the news of an account ends only the clients that listen to that
                // account.
                contain(Part::Question, || listener.hear(view, account, &news)).unwrap_or_else(|panicked| {
                    tracing::error!(account = account.0, %panicked, "a listener ended by a fault of the server; please report it");
                    listener.fail(account);
                    false
                })
            });
            (its.len()..before).for_each(|_| view.watch_account(account, false));
            if its.is_empty() {
                self.0.remove(&account);
            }
        }
    }
}
