//! The state of this interface: that of the server, and what only clients of this interface need.

use std::ops::Deref;
use std::sync::Arc;

use axum::response::Response;
use exchange::Read;
use terms::AccountId;

use crate::keys::Keys;
use crate::listen_keys::ListenKeys;
use crate::placed_orders::OrderCounts;
use crate::refusal::Refusal;
use http_gateway::app_state::AppState;
use http_gateway::chunked_answer::{self, Frame, Piece};
use http_gateway::problem::Problem;

/// The state that all handlers of this interface share. It stands for the server's state, too.
#[derive(Clone)]
pub(crate) struct BinanceState {
    app: AppState,
    own: Arc<OwnState>,
}

/// The state that only this interface has.
pub(crate) struct OwnState {
    /// The keys of the key file.
    pub(crate) keys: Keys,
    pub(crate) listen_keys: ListenKeys,
    pub(crate) order_counts: OrderCounts,
}

impl BinanceState {
    pub(crate) fn new(app: AppState, own: Arc<OwnState>) -> BinanceState {
        BinanceState { app, own }
    }

    /// Returns what only this interface has, once there is a market.
    pub(crate) fn own(&self) -> Result<&OwnState, Problem> {
        self.app.market().map(|_| &*self.own)
    }

    /// Counts an order that was placed. It has no errors: an order that was placed must not be refused.
    pub(crate) fn count_order(&self, account: AccountId) {
        self.own.order_counts.add(account);
    }

    /// Answers with the list whose pieces `ask` returns, as [`chunked_answer::answer`] does. Errors: that of the first
    /// piece.
    pub(crate) async fn answer<At, Asked>(
        &self,
        list: (Frame, Read),
        first: At,
        ask: impl Fn(BinanceState, At) -> Asked + Send + 'static,
    ) -> Result<Response, Refusal>
    where
        At: Send + 'static,
        Asked: Future<Output = Result<Piece<At>, Refusal>> + Send + 'static,
    {
        let own = self.own.clone();
        let ask = move |app, at| ask(BinanceState::new(app, own.clone()), at);
        chunked_answer::answer(&self.app, list, first, ask).await
    }
}

impl Deref for BinanceState {
    type Target = AppState;

    fn deref(&self) -> &AppState {
        &self.app
    }
}
