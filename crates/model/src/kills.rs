//! The kill switch: a killed scope takes no orders, and its open orders execute no more: each command cancels a bounded
//! number of them.

use terms::{
    AccountId, AccountIndex, Among, CancelReason, Event, KillScope, OrderId, Reject, Reply, Side, SymbolIndex,
};

use crate::exchange::{Delay, Model, Order};

impl Model {
    /// The killed scopes, sorted.
    pub fn kills(&self) -> &[KillScope<AccountIndex, SymbolIndex>] {
        &self.kills
    }

    /// Whether a scope is killed.
    pub fn is_killed(&self, scope: KillScope) -> Result<bool, Reject> {
        self.scope(scope).map(|scope| self.kills.contains(&scope))
    }

    fn scope(&self, scope: KillScope) -> Result<KillScope<AccountIndex, SymbolIndex>, Reject> {
        Ok(match scope {
            KillScope::Everything => KillScope::Everything,
            KillScope::Account(id) => KillScope::Account(self.account_named(id)?),
            KillScope::Symbol(name) => KillScope::Symbol(self.symbol_named(name)?),
        })
    }

    pub(crate) fn kill(&mut self, scope: KillScope, events: &mut Vec<Event>) -> Result<Reply, Reject> {
        let scope = self.scope(scope)?;
        self.switch_on(scope, events);
        Ok(self.cancel_first(self.open_in(scope), None, CancelReason::Asked, events))
    }

    /// Cancels what is left of kills, one scope after the other, as far as the command goes.
    pub(crate) fn go_on_with_kills(&mut self, events: &mut Vec<Event>) {
        for scope in self.kills.clone() {
            let mut meant = self.open_in(scope);
            meant.truncate(self.cancels_left);
            self.cancel_each(meant, CancelReason::Asked, events);
        }
    }

    /// The open orders of a scope, in the order in which they are canceled.
    fn open_in(&self, scope: KillScope<AccountIndex, SymbolIndex>) -> Vec<OrderId> {
        let symbols = (0..self.symbols.len() as u32).map(SymbolIndex);
        match scope {
            KillScope::Everything => symbols.flat_map(|symbol| self.open_in_symbol(symbol)).collect(),
            KillScope::Symbol(symbol) => self.open_in_symbol(symbol),
            KillScope::Account(account) => {
                let its = self.open_orders().filter(|order| order.account == account);
                let mut its: Vec<OrderId> = its.map(|order| order.id).collect();
                its.sort();
                its
            }
        }
    }

    /// The orders on the book, then those that wait for a price, those that wait for their turn, the one under way
    /// first and those for an auction last, and those that wait for another order.
    fn open_in_symbol(&self, symbol: SymbolIndex) -> Vec<OrderId> {
        let mut waiting: Vec<&Order> = self.waiting().filter(|order| order.symbol == symbol).collect();
        waiting.sort_by_key(|order| (order.follows, order.trigger, order.rank_of_wait()));
        let with_turns = self.reached.iter().map(|&order| self.order(order)).filter(|order| order.symbol == symbol);
        let mut with_turns: Vec<&Order> = with_turns.collect();
        with_turns.sort_by_key(|order| (order.delayed != Some(Delay::UnderWay), order.delayed == Some(Delay::Auction)));
        let pends = |order: &&Order| order.symbol == symbol && order.pends_on.is_some();
        let mut pending: Vec<&Order> = self.open_orders().filter(pends).collect();
        pending.sort_by_key(|order| order.id);
        let books = [Side::Buy, Side::Sell].map(|side| self.queue(symbol, side)).concat();
        books.into_iter().chain(waiting).chain(with_turns).chain(pending).map(|order| order.id).collect()
    }

    /// Cancels what is left of kills in a symbol, one scope after the other, as far as the command goes. Says whether
    /// that was all.
    pub(crate) fn end_killed_in(&mut self, symbol: SymbolIndex, events: &mut Vec<Event>) -> bool {
        for scope in self.kills.clone() {
            let mut meant = self.open_in(scope);
            meant.retain(|&order| self.order(order).symbol == symbol);
            let is_cut = meant.len() > self.cancels_left;
            meant.truncate(self.cancels_left);
            self.cancel_each(meant, CancelReason::Asked, events);
            if is_cut {
                return false;
            }
        }
        true
    }

    /// Whether it is only open because its kill goes on.
    pub fn is_killed_order(&self, order: OrderId) -> bool {
        let order = self.order(order);
        self.check_takes_orders(order.account, order.symbol).is_err()
    }

    /// The reason why an open order executes no more, and is canceled when one meets it.
    pub(crate) fn ending(&self, order: OrderId) -> Option<CancelReason> {
        let until = self.order(order).until;
        let has_ended = until.is_some_and(|until| until.time() <= self.time);
        let expired = has_ended.then_some(CancelReason::Expired);
        if self.is_killed_order(order) { Some(CancelReason::Asked) } else { expired }
    }

    /// Kills whose scope still has open orders.
    pub fn kills_going_on(&self) -> impl Iterator<Item = KillScope<AccountIndex, SymbolIndex>> {
        self.kills.iter().copied().filter(|&scope| !self.open_in(scope).is_empty())
    }

    pub(crate) fn release_killed(&mut self, scope: KillScope, events: &mut Vec<Event>) -> Result<Reply, Reject> {
        let scope = self.scope(scope)?;
        self.release_all(vec![scope], events)
    }

    fn switch_on(&mut self, scope: KillScope<AccountIndex, SymbolIndex>, events: &mut Vec<Event>) {
        if !self.kills.contains(&scope) {
            self.kills.push(scope);
            self.kills.sort();
            events.push(Event::KillChanged { scope, is_killed: true });
        }
    }

    pub(crate) fn kill_together(&mut self, account: AccountId, among: Among, events: &mut Vec<Event>) -> Reply {
        let Some(scopes) = self.name_among(account, among, true) else { return Reply::Created };
        for &scope in &scopes {
            self.switch_on(scope, events);
        }
        let mut ended = 0;
        for &scope in &scopes {
            let mut meant = self.open_in(scope);
            meant.truncate(self.cancels_left);
            ended += self.cancel_each(meant, CancelReason::Asked, events);
        }
        let is_left = scopes.iter().any(|&scope| !self.open_in(scope).is_empty());
        Reply::CanceledAll { orders: ended, left: is_left.then(|| self.newest()), sequence: self.sequence }
    }

    pub(crate) fn release_together(
        &mut self,
        account: AccountId,
        among: Among,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let Some(scopes) = self.name_among(account, among, false) else { return Ok(Reply::Created) };
        self.release_all(scopes, events)
    }

    fn release_all(
        &mut self,
        mut scopes: Vec<KillScope<AccountIndex, SymbolIndex>>,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        scopes.retain(|scope| self.kills.contains(scope));
        if scopes.iter().any(|&scope| !self.open_in(scope).is_empty()) {
            return Err(Reject::KillGoesOn);
        }
        for scope in scopes {
            if self.kills.contains(&scope) {
                self.kills.retain(|&killed| killed != scope);
                events.push(Event::KillChanged { scope, is_killed: false });
            }
        }
        Ok(Reply::Created)
    }

    /// Notes an account that is killed or released together with others. Returns all of them with the last one.
    fn name_among(
        &mut self,
        account: AccountId,
        among: Among,
        is_killed: bool,
    ) -> Option<Vec<KillScope<AccountIndex, SymbolIndex>>> {
        let found = self.account_named(account).ok();
        let (named, named_killed, last) = &mut self.together;
        if among == Among::First || (*named_killed, last.next()) != (is_killed, self.sequence) {
            named.clear();
        }
        named.extend(found);
        (*named_killed, *last) = (is_killed, self.sequence);
        let all = || named.drain(..).map(KillScope::Account).collect();
        (among == Among::Last).then(all)
    }

    /// Checks that an order of this account in this symbol may be placed. Errors: the account is closed, or a scope
    /// that covers it is killed.
    pub(crate) fn check_takes_orders(&self, account: AccountIndex, symbol: SymbolIndex) -> Result<(), Reject> {
        self.check_not_closed(account)?;
        for scope in [KillScope::Everything, KillScope::Symbol(symbol), KillScope::Account(account)] {
            if self.kills.contains(&scope) {
                return Err(Reject::Killed(scope.kind()));
            }
        }
        Ok(())
    }
}
