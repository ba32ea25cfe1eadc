//! The holdings that changed, as the news of an account say it: in random markets they are those that a comparison of
//! all holdings finds.

use std::collections::BTreeMap;

use crate::common::{Market, batch};
use feed::{Holding, Holdings, News, ReportedHoldings, View};
use terms::{AccountIndex, Position};

/// Compares all holdings of an account with what they were.
fn compare_all(before: &Holdings, now: &Holdings) -> Vec<Holding> {
    let changed = now.iter().filter(|holding| before.of(holding.symbol) != Some(*holding));
    let gone = before.iter().filter(|holding| now.of(holding.symbol).is_none());
    let gone = gone.map(|holding| Holding { shares: Position::ZERO, held: Position::ZERO, ..holding });
    let mut all: Vec<Holding> = changed.chain(gone).collect();
    all.sort_unstable_by_key(|holding| holding.symbol);
    all
}

#[test]
fn the_news_of_an_account_name_every_holding_that_changed() {
    let (mut changes, mut unchanged) = (0, 0);
    for seed in 0..56 {
        let mut market = Market::of_all_kinds(seed);
        let mut view = View::new(&market.engine, None);
        let mut followed: BTreeMap<AccountIndex, (ReportedHoldings, Holdings)> = BTreeMap::new();
        for turn in 0..200 {
            market.turn();
            view.apply(&batch(&market, turn));
            // News of several turns come together now and then.
            if market.random.percent(30) {
                continue;
            }
            let mut news: BTreeMap<AccountIndex, Vec<News>> = BTreeMap::new();
            view.take_news().into_iter().for_each(|told| news.entry(told.account()).or_default().push(told));
            for (account, (reported, before)) in &mut followed {
                let now = &view.account(*account).holdings;
                let told = reported.follow(now, news.get(account).map_or(&[], Vec::as_slice));
                assert_eq!(told, compare_all(before, now), "seed {seed}, turn {turn}, {account:?}");
                (changes, unchanged) = (changes + told.len(), unchanged + usize::from(told.is_empty()));
                before.clone_from(now);
            }
            for account in (0..).map(AccountIndex).take(view.accounts().len()).skip(followed.len()) {
                view.watch_account(account, true);
                let holdings = &view.account(account).holdings;
                followed.insert(account, (ReportedHoldings::begin(holdings), holdings.clone()));
            }
        }
    }
    assert!(changes > 2_000 && unchanged > 1_000, "{changes} changes, {unchanged} times without one");
}
