//! Those who hear what happens to accounts, beside the watcher: each has its own words for it.

use std::collections::HashMap;
use std::sync::Arc;

use engine::AccountIndex;

use crate::feed::ReadModel;
use crate::view::{News, View};

/// Hears of accounts, in the feed's thread.
pub trait Listener: Send + Sync {
    /// What happened to an account, in order. The view has it all already.
    fn hear(&self, view: &View, account: AccountIndex, news: &[News]);
}

/// All listeners, by the accounts that they listen to.
#[derive(Default)]
pub struct Listeners(HashMap<AccountIndex, Vec<Arc<dyn Listener>>>);

impl<W> ReadModel<W> {
    /// Somebody hears of an account from now on. Does nothing if they do already.
    pub fn listen(&mut self, account: AccountIndex, listener: &Arc<dyn Listener>) {
        let all = self.listeners.0.entry(account).or_default();
        if !all.iter().any(|known| Arc::ptr_eq(known, listener)) {
            all.push(Arc::clone(listener));
            self.view.watch_account(account, true);
        }
    }

    /// Somebody hears of no account any more.
    pub fn stop_listening(&mut self, listener: &Arc<dyn Listener>) {
        let view = &mut self.view;
        self.listeners.0.retain(|account, all| {
            let before = all.len();
            all.retain(|known| !Arc::ptr_eq(known, listener));
            (all.len()..before).for_each(|_| view.watch_account(*account, false));
            !all.is_empty()
        });
    }

    /// Gives what watched accounts are to be told, and forgets it. Listeners hear it first.
    pub fn take_news(&mut self) -> Vec<News> {
        let all = self.view.take_news();
        if self.listeners.0.is_empty() {
            return all;
        }
        let mut heard: Vec<(AccountIndex, Vec<News>)> = Vec::new();
        let mut places = HashMap::new();
        for news in all.iter().filter(|news| self.listeners.0.contains_key(&news.account())) {
            let place = *places.entry(news.account()).or_insert_with(|| {
                heard.push((news.account(), Vec::new()));
                heard.len() - 1
            });
            heard[place].1.push(*news);
        }
        for (account, news) in heard {
            self.listeners.0[&account].iter().for_each(|listener| listener.hear(&self.view, account, &news));
        }
        all
    }
}
