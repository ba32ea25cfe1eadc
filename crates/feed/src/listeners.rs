//! Those who hear what happens to accounts, beside the watcher: each has its own words for it.

use std::collections::HashMap;
use std::sync::Arc;

use engine::AccountIndex;
use exchange::containment::{Part, contain};

use crate::view::{News, View};

/// Hears of accounts, in the feed's thread.
pub trait Listener: Send + Sync {
    /// Takes what happened to an account, in order. The view has it all already. False: it hears of this account no
    /// more.
    fn hear(&self, view: &View, account: AccountIndex, news: &[News]) -> bool;

    /// Ends those who hear of an account: there was a fault in what this one does with its news.
    fn fail(&self, _account: AccountIndex) {}

    /// The feed has failed: nothing more is heard.
    fn end(&self) {}
}

/// All listeners, by the accounts that they listen to.
#[derive(Default)]
pub struct Listeners(HashMap<AccountIndex, Vec<Arc<dyn Listener>>>);

impl Listeners {
    /// Somebody hears of an account from now on. Does nothing if they do already.
    pub(crate) fn add(&mut self, view: &mut View, account: AccountIndex, listener: &Arc<dyn Listener>) {
        let all = self.0.entry(account).or_default();
        if !all.iter().any(|known| Arc::ptr_eq(known, listener)) {
            all.push(Arc::clone(listener));
            view.watch_account(account, true);
        }
    }

    /// Tells all that nothing more is heard.
    pub(crate) fn end(&self) {
        self.0.values().flatten().for_each(|listener| listener.end());
    }

    /// Tells each what happened to its accounts, and forgets those that hear of one no more.
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
                // A fault in the words for an account's news is the end of those alone who hear of it.
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
