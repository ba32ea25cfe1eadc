//! Cancels the open orders of an account, some at a time, because an account may have a million.

use std::collections::VecDeque;
use std::sync::Arc;

use exchange::{Answer, Unavailable};
use feed::{Direction, Walk};
use terms::{AccountId, AccountIndex, Command, Op, OrderId, Reply, Sequence, Symbol, SymbolIndex};
use tokio::sync::OwnedSemaphorePermit;

use crate::account_turns::AccountTurn;
use crate::app_state::AppState;
use crate::chunked_answer;
use crate::history_pages::{self, HistoryFault};
use crate::history_port::Past;
use crate::problem::Problem;
use crate::{current_caller, current_principal, timing};

/// Canceled orders that are shown together.
const TOLD_AT_ONCE: usize = 500;
/// Orders that are read together to find those that were placed while others were listed: at first, because there is
/// seldom one, and then.
const NEWEST_AT_ONCE: (usize, usize) = (16, 512);

/// The reason why orders are not canceled, or why that is not known.
pub enum Stopped {
    /// The outcome of some is not known yet.
    Unknown,
    /// No order is canceled.
    Unavailable(Unavailable),
    /// No order is canceled: the server serves no client at the moment.
    NotReady(Problem),
    /// All are canceled, but cannot be listed.
    Untold(HistoryFault),
}

impl From<Problem> for Stopped {
    fn from(problem: Problem) -> Stopped {
        Stopped::NotReady(problem)
    }
}

/// The orders that a cancel of all orders canceled.
pub struct Canceled {
    /// The orders that it may have canceled, newest first.
    asked: VecDeque<OrderId>,
    /// The commands that did it, in order.
    by: Vec<Sequence>,
    /// The permits of a long list, until all of it is shown.
    _room: Option<OwnedSemaphorePermit>,
}

impl Canceled {
    const NOTHING: Canceled = Canceled { asked: VecDeque::new(), by: Vec::new(), _room: None };

    /// Whether no order is left.
    pub fn is_empty(&self) -> bool {
        self.asked.is_empty()
    }

    /// Takes the next orders, to be shown together. Returns them, and the rest if there is any. Orders that ended
    /// otherwise are left out.
    pub async fn take_some(mut self, app: &AppState) -> Result<(Vec<Past>, Option<Canceled>), HistoryFault> {
        let some = self.asked.drain(..self.asked.len().min(TOLD_AT_ONCE)).collect();
        let mut past = chunked_answer::past_in_turn(app, history_pages::orders(app, None, some)).await?;
        past.retain(|past| past.order.ended.is_some_and(|ended| self.by.binary_search(&ended.sequence).is_ok()));
        Ok((past, Some(self).filter(|left| !left.is_empty())))
    }
}

/// Cancels the open orders of an account, of one symbol or of all. One command cancels
/// [`CANCELS_MAX`](terms::CANCELS_MAX) orders at most; the next commands cancel the others, so that others' requests
/// come between, and orders placed after the first command stay. Once it has begun it ends, also when the client is
/// gone. Another cancel of all orders of the account begins when this one has ended, so that each order is in one list.
pub async fn cancel(
    app: &AppState,
    (account, index): (AccountId, AccountIndex),
    of: Option<(Symbol, SymbolIndex)>,
) -> Result<Canceled, Stopped> {
    let (symbol, symbol_index) = (of.map(|(symbol, _)| symbol), of.map(|(_, index)| index));
    let turn = app.cancels_in_turn().take(account).await;
    let (open, through) = open_of(app, index, symbol_index).await?;
    if open.is_empty() {
        return Ok(Canceled::NOTHING);
    }
    let by = cancel_apart(app, turn, account, symbol).await?;
    if by.is_empty() {
        return Ok(Canceled::NOTHING);
    }
    let mut asked = placed_behind(app, index, symbol_index, through).await.map_err(Stopped::Untold)?;
    asked.extend(open);
    let _room = room_for(app, asked.len())?;
    Ok(Canceled { asked, by, _room })
}

/// Takes permits for a list of canceled orders that is not shown at once. Errors: clients that do not read have taken
/// all of them. The orders are canceled, so this does not wait.
fn room_for(app: &AppState, orders: usize) -> Result<Option<OwnedSemaphorePermit>, Stopped> {
    if orders <= TOLD_AT_ONCE {
        return Ok(None);
    }
    let orders = u32::try_from(orders).map_err(|_| Stopped::Unknown)?;
    Arc::clone(app.listing()).try_acquire_many_owned(orders).map(Some).map_err(|_| Stopped::Unknown)
}

/// Cancels in a task of its own, so that a cancel that has begun ends whether its client waits for it or not, and so
/// does its turn. Returns the commands that canceled something.
async fn cancel_apart(
    app: &AppState,
    turn: AccountTurn,
    account: AccountId,
    symbol: Option<Symbol>,
) -> Result<Vec<Sequence>, Stopped> {
    let place = app.canceling().take(&current_principal::member()).await;
    let steps = {
        let (app, is_counted) = (app.clone(), current_principal::is_counted());
        async move {
            let _places = (turn, place);
            current_principal::set_counted(is_counted);
            let done = cancel_in_steps(&app, account, symbol).await;
            (done, current_principal::is_counted())
        }
    };
    let (asker, calling) = (current_principal::asker(), current_caller::current());
    let task = tokio::spawn(current_principal::as_whoever(asker, current_caller::carry(calling, timing::apart(steps))));
    let ((done, is_counted), journey) = task.await.map_err(|_| Stopped::Unknown)?;
    journey.into_iter().for_each(|(times, back)| timing::note(times, back));
    current_principal::set_counted(is_counted);
    done
}

async fn cancel_in_steps(app: &AppState, account: AccountId, symbol: Option<Symbol>) -> Result<Vec<Sequence>, Stopped> {
    // It goes on where the feed fails meanwhile: the exchange's answers do not come by the feed.
    let submitter = app.submitter()?;
    let (mut by, mut through) = (Vec::new(), None);
    loop {
        let op = Op::Command(Command::CancelAll { account, symbol, through });
        let answers = submitter.ask(&[op]).await.map_err(|_| Stopped::Unknown)?;
        match answers.first() {
            Some(Answer::Reply(Reply::CanceledAll { orders, left, sequence })) => {
                by.extend(Some(*sequence).filter(|_| *orders > 0));
                through = *left;
            }
            Some(Answer::Reply(_)) => through = None,
            Some(Answer::Unavailable(why)) if by.is_empty() => return Err(Stopped::Unavailable(*why)),
            // Some are canceled.
            Some(Answer::Unavailable(_)) | None => return Err(Stopped::Unknown),
        }
        if through.is_none() {
            return Ok(by);
        }
    }
}

/// Returns the open orders, newest first, and the last command that was known when the walk began.
async fn open_of(
    app: &AppState,
    account: AccountIndex,
    symbol: Option<SymbolIndex>,
) -> Result<(Vec<OrderId>, Sequence), Problem> {
    let mut walk = Walk::new(account, Direction::NewestFirst, None);
    let (mut open, mut through, mut more) = (Vec::new(), None, true);
    while more {
        let looked = app.look(move |model| {
            let mut found = Vec::new();
            let more = walk.go_on(&model.view, |open| {
                if symbol.is_none_or(|symbol| open.symbol == symbol) {
                    found.push(open.order);
                }
                true
            });
            (found, walk, more, model.view.sequence())
        });
        let (found, gone, others, at) = {
            let _turn = app.listing_open().take(&current_principal::member()).await;
            looked.await?
        };
        open.extend(found);
        through.get_or_insert(at);
        (walk, more) = (gone, others);
    }
    Ok((open, through.unwrap_or(Sequence::ZERO)))
}

/// Returns the orders of an account that were placed behind a command, newest first. The orders of all symbols are
/// read: the last one of a symbol may be older than millions of others.
async fn placed_behind(
    app: &AppState,
    account: AccountIndex,
    symbol: Option<SymbolIndex>,
    command: Sequence,
) -> Result<VecDeque<OrderId>, HistoryFault> {
    let (mut placed, mut before, mut most) = (VecDeque::new(), None, NEWEST_AT_ONCE.0);
    loop {
        let page = history_pages::orders_of(app, account, None, before, most).await?;
        let Some((orders, next)) = page else { return Ok(placed) };
        let is_behind = |past: &&Past| past.order.sequence > command;
        let found = orders.iter().take_while(is_behind).count();
        let its = orders[..found].iter().filter(|past| symbol.is_none_or(|symbol| past.order.symbol == symbol));
        placed.extend(its.map(|past| past.order.order));
        (before, most) = (next, NEWEST_AT_ONCE.1);
        if found < orders.len() || next.is_none() {
            return Ok(placed);
        }
    }
}
