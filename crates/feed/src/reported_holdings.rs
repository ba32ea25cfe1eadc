//! The holdings of an account as its follower was told of them last. The news say which of them may have changed, so
//! an account of ten thousand positions costs with each piece of news what one position costs.

use std::collections::BTreeSet;

use terms::{Position, SymbolIndex};

use crate::holdings::{Amounts, Holding, Holdings};
use crate::view::News;

/// The holdings that were reported last.
#[derive(Clone, Debug)]
pub struct ReportedHoldings(Holdings);

impl ReportedHoldings {
    /// Returns the holdings at the start.
    pub fn begin(holdings: &Holdings) -> ReportedHoldings {
        ReportedHoldings(holdings.clone())
    }

    /// Follows the account's news up to these holdings. Returns the holdings that changed, by symbol; one of which
    /// nothing is left has no shares.
    pub fn follow(&mut self, now: &Holdings, news: &[News]) -> Vec<Holding> {
        let touched: BTreeSet<SymbolIndex> = news.iter().filter_map(touched).collect();
        touched.into_iter().filter_map(|symbol| self.follow_symbol(now, symbol)).collect()
    }

    fn follow_symbol(&mut self, now: &Holdings, symbol: SymbolIndex) -> Option<Holding> {
        let nothing = Holding { symbol, shares: Position::ZERO, held: Position::ZERO };
        let [before, now] = [&self.0, now].map(|holdings| holdings.of(symbol).unwrap_or(nothing));
        self.0.change(symbol, |amounts| *amounts = Amounts { shares: now.shares, held: now.held });
        (now != before).then_some(now)
    }
}

/// Returns the symbol in which the account's holding may have changed with a piece of news.
fn touched(news: &News) -> Option<SymbolIndex> {
    match news {
        News::Shares(_, symbol) => Some(*symbol),
        News::Placed(_, placed) => Some(placed.symbol),
        News::Traded(_, trade, _) => Some(trade.symbol),
        // A pending sell that is released holds shares from then on.
        News::Noted(_, note) => Some(note.symbol),
        News::Amended(_, amended, _) => Some(amended.symbol),
        // A sell that was linked with it holds its own shares from then on, of the same symbol.
        News::Ended(_, ended) => Some(ended.order.symbol),
        // Each change of an open order that changes what it holds is other news, too.
        News::Account(_) | News::Transferred(..) | News::Order(..) => None,
    }
}

#[cfg(test)]
mod tests {
    use terms::AccountIndex;

    use super::*;

    /// An account's stream once compared and copied all of its holdings with each piece of news: milliseconds of the
    /// feed's thread for ten thousand positions.
    #[test]
    fn one_piece_of_news_looks_at_one_of_ten_thousand_positions() {
        const POSITIONS: u32 = 10_000;
        let holdings_of = |shares: i128| {
            let mut holdings = Holdings::default();
            for symbol in (0..POSITIONS).map(SymbolIndex) {
                holdings.change(symbol, |amounts| amounts.shares = Position::from_units(shares));
            }
            holdings
        };
        // All positions are others, so each one that is looked at is told, and each one that is copied is told no more.
        let (mut reported, now) = (ReportedHoldings::begin(&holdings_of(1)), holdings_of(2));
        let mut told = 0;
        for symbol in (0..POSITIONS).step_by(997).map(SymbolIndex) {
            let news = [News::Shares(AccountIndex(0), symbol), News::Account(AccountIndex(0))];
            let changed = reported.follow(&now, &news);
            assert_eq!(changed, [now.of(symbol).expect("a position")]);
            assert_eq!(reported.follow(&now, &news), []);
            told += changed.len();
        }
        let others = now.iter().filter(|holding| reported.0.of(holding.symbol) != Some(*holding)).count();
        assert_eq!(others + told, POSITIONS as usize);
    }
}
