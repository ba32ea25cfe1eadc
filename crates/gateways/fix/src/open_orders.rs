//! The open orders of an account, for the answer to an OrderMassStatusRequest. The feed lists some at a time, because
//! an account may have many, and others' questions and events come between. The list has their numbers alone, so that a
//! client which does not read holds little; their states are looked at when they are sent.

use feed::{Direction, View, Walk};
use terms::{AccountId, OrderId, Reject, Side, Symbol, SymbolIndex};

use crate::market::{FixBackend, Unknown};
use crate::report_queues::Model;
use crate::reports::{self, Happening};

/// Open orders that one answer lists, at most.
const LISTED_MAX: usize = 5_000;
/// Open orders that an account may have when a client asks for those of one symbol: the feed looks at all of them.
const LOOKED_AT_MAX: usize = 1 << 16;

/// An order that was open when it was listed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    pub(crate) order: OrderId,
    symbol: SymbolIndex,
    side: Side,
}

/// The state of a listed order.
pub(crate) enum Looked {
    Open(Box<Happening>),
    /// The order is done by now.
    Done {
        order: OrderId,
        symbol: Symbol,
        side: Side,
    },
}

/// Looks at listed orders.
pub(crate) async fn look(market: &FixBackend, listed: Vec<Listed>) -> Result<Vec<Looked>, Unknown> {
    let look = move |model: &mut dyn Model| {
        let view = model.view();
        let state = |Listed { order, symbol, side }| match view.open_order(order) {
            Some(open) => Looked::Open(Box::new(reports::asked(view, open))),
            None => Looked::Done { order, symbol: view.listing(symbol).name, side },
        };
        listed.into_iter().map(state).collect()
    };
    market.look(look).await
}

/// Lists the open orders of an account, of one symbol or of all, oldest first. The inner error says why it lists none.
pub(crate) async fn list(
    market: &FixBackend,
    member: Option<&str>,
    account: AccountId,
    symbol: Option<Symbol>,
) -> Result<Result<Vec<Listed>, String>, Unknown> {
    let _turn = market.listing().take(member).await;
    let (mut walk, symbol) = match market.look(move |model| begin(model.view(), account, symbol)).await? {
        Ok(begun) => begun,
        Err(why) => return Ok(Err(why)),
    };
    let (mut listed, mut more) = (Vec::new(), true);
    while more {
        let room = LISTED_MAX.saturating_sub(listed.len());
        let look = move |model: &mut dyn Model| {
            let (view, mut found) = (model.view(), Vec::new());
            let more = walk.go_on(view, |open| {
                if symbol.is_none_or(|symbol| open.symbol == symbol) {
                    found.push(Listed { order: open.order, symbol: open.symbol, side: open.side });
                }
                found.len() <= room
            });
            (found, walk, more)
        };
        let (found, gone, others) = market.look(look).await?;
        listed.extend(found);
        if listed.len() > LISTED_MAX {
            let why = format!("more than {LISTED_MAX} orders are open: ask by symbol, or page through them over REST");
            return Ok(Err(why));
        }
        (walk, more) = (gone, others);
    }
    listed.reverse();
    listed.shrink_to_fit();
    Ok(Ok(listed))
}

fn begin(view: &View, account: AccountId, symbol: Option<Symbol>) -> Result<(Walk, Option<SymbolIndex>), String> {
    let index = view.find_account(account).ok_or_else(|| Reject::UnknownAccount.to_string())?;
    let known = |symbol| view.find_symbol(symbol).ok_or_else(|| Reject::UnknownSymbol.to_string());
    let symbol = symbol.map(known).transpose()?;
    let all = view.account(index).open_orders as usize;
    if symbol.is_some() && all > LOOKED_AT_MAX {
        return Err(format!(
            "the account has {all} open orders, and {LOOKED_AT_MAX} are looked at: page through them over REST"
        ));
    }
    Ok((Walk::new(index, Direction::NewestFirst, None), symbol))
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::answers::Answers;
    use crate::orders::ClientRequest;
    use crate::tests::kept_requests::{KeptRequests, log_on};
    use crate::tests::spy_market::SpyMarket;

    fn account() -> AccountId {
        AccountId::parse(b"1").expect("digits")
    }

    fn symbol(name: &str) -> Symbol {
        Symbol::parse(name.as_bytes()).expect("letters")
    }

    /// Lists open orders of an account with this many. Returns their number, or why they are not listed, and the number
    /// of looks.
    fn listed(orders: u64, of: Option<&str>) -> (Result<usize, String>, usize) {
        let (model, market) = SpyMarket::new(Arc::<KeptRequests>::default(), orders);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let listed = runtime.block_on(list(&market, None, account(), of.map(symbol)));
        let listed = listed.unwrap_or_else(|_| panic!("the feed runs"));
        let listed = listed.map(|listed| {
            assert!(listed.is_sorted_by_key(|listed| listed.order), "oldest first");
            listed.len()
        });
        let looks = model.lock().expect("nobody panics").looks;
        (listed, looks)
    }

    /// Two clients whose lists waited for the history kept all other lists waiting.
    #[test]
    fn a_list_that_waits_for_the_history_keeps_no_other_one_waiting() {
        let kept = Arc::<KeptRequests>::default();
        let (model, market) = SpyMarket::new(Arc::<KeptRequests>::clone(&kept), 1);
        let mut context = Context::from_waker(Waker::noop());
        let mut traders = [(); 3].map(|()| log_on(&market).1);
        for trader in &mut traders {
            let asked = ClientRequest::StatusOfAll { id: "all".to_owned(), account: account(), symbol: None };
            let mut answers = Answers::default();
            assert!(matches!(pin!(trader.submit(vec![asked], &mut answers)).poll(&mut context), Poll::Ready(Ok(()))));
            assert!(trader.lists());
        }
        // The order is done before it is listed.
        model.lock().expect("nobody panics").set_orders(0);
        let list = |trader: crate::trader::Trader| {
            Box::pin(async move {
                let mut trader = trader;
                trader.list_some(&mut Answers::default()).await.is_ok()
            })
        };
        let mut lists = traders.map(list);
        assert!(lists.iter_mut().all(|list| list.as_mut().poll(&mut context).is_pending()));
        assert_eq!(kept.counts(), (0, 3), "each of them waits for its own order alone");
    }

    /// A request for the orders of one symbol read 65,536 orders of others in one look, for which all clients waited.
    #[test]
    fn the_feed_looks_at_so_many_orders_at_a_time() {
        assert_eq!(listed(3, None), (Ok(3), 2));
        assert_eq!(listed(5_000, None), (Ok(5_000), 3));
        assert_eq!(listed(1 << 16, Some("QQQ")), (Ok(0), 18), "4,096 at a time");
        let refused = |(listed, looks): (Result<usize, String>, usize), why: &str, looks_max| {
            let told = listed.expect_err("there are too many");
            assert!(told.contains(why) && looks <= looks_max, "{told}: {looks}");
        };
        refused(listed(5_001, None), "more than 5000 orders are open", 3);
        refused(listed(5_001, Some("SPY")), "more than 5000 orders are open", 3);
        refused(listed((1 << 16) + 1, Some("QQQ")), "the account has 65537 open orders, and 65536 are looked at", 1);
    }
}
