//! Those who hear what happens to accounts, beside the watcher: each has its own words for it.

use std::collections::HashMap;
use std::sync::Arc;

use engine::AccountIndex;
use exchange::containment::{Part, contain};

use crate::view::{News, View};

/// Hears of accounts, in the feed's thread.
pub trait Listener: Send + Sync {
    /// What happened to an account, in order. The view has it all already.
    fn hear(&self, view: &View, account: AccountIndex, news: &[News]);

    /// The feed has failed, or what this one does with the news: nothing more is heard.
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

    /// Somebody hears of no account any more.
    pub(crate) fn remove(&mut self, view: &mut View, listener: &Arc<dyn Listener>) {
        self.0.retain(|account, all| {
            let before = all.len();
            all.retain(|known| !Arc::ptr_eq(known, listener));
            (all.len()..before).for_each(|_| view.watch_account(*account, false));
            !all.is_empty()
        });
    }

    /// Tells all that nothing more is heard.
    pub(crate) fn end(&self) {
        self.0.values().flatten().for_each(|listener| listener.end());
    }

    /// Tells each what happened to its accounts.
    pub(crate) fn tell(&self, view: &View, all: &[News]) {
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
            for listener in &self.0[&account] {
                // Each hears for one client: a fault in its words for the news is the end of that one's alone.
                if let Err(panicked) = contain(Part::Question, || listener.hear(view, account, &news)) {
                    tracing::error!(account = account.0, %panicked, "a listener ended by a fault of the server; please report it");
                    listener.end();
                }
            }
        }
    }
}
