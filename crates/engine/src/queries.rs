//! Answers questions without a change: counts, balances, positions, and the state of an order.

use terms::{
    AccountId, ClientOrderId, Command, Execution, Money, OpenTerms, OrderId, Position, Query, Reject, Reply, Sequence,
    Status, Symbol, SymbolIndex, Time,
};

use crate::engine::Engine;

impl Engine {
    /// The sequence of the last command applied.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// The time of the last command applied.
    pub fn time(&self) -> Time {
        self.time
    }

    /// The number of accounts.
    pub fn account_count(&self) -> usize {
        self.accounts.all().len()
    }

    /// The number of symbols.
    pub fn symbol_count(&self) -> usize {
        self.symbols.all().len()
    }

    /// The number of open orders.
    pub fn open_order_count(&self) -> usize {
        self.orders.len().saturating_sub(self.done_kept)
    }

    /// The number of done orders that are kept until `forget`.
    pub fn done_order_count(&self) -> usize {
        self.done_kept
    }

    /// The id that the next accepted order gets.
    pub fn next_order(&self) -> OrderId {
        self.next_order
    }

    /// The balance of an account; none for an unknown one.
    pub fn balance(&self, account: AccountId) -> Option<Money> {
        Some(self.accounts.get(self.accounts.find(account)?).balance)
    }

    /// The dollars that the market has: those with which accounts were created, with deposits and without withdrawals.
    pub fn money_issued(&self) -> Money {
        self.money_issued
    }

    /// The position of an account in a symbol; none if either is unknown.
    pub fn position(&self, account: AccountId, symbol: Symbol) -> Option<Position> {
        Some(self.positions.get(self.accounts.find(account)?, self.symbols.find(symbol)?))
    }

    /// All shares of a symbol: those that were issued, without withdrawn ones; none for an unknown one.
    pub fn issued(&self, symbol: SymbolIndex) -> Option<Position> {
        self.symbols.all().get(symbol.0 as usize).map(|listing| listing.issued)
    }

    /// All shares of a symbol: those that were issued, without withdrawn ones, by its name; none for an unknown one.
    pub fn issued_of(&self, symbol: Symbol) -> Option<Position> {
        Some(self.symbols.get(self.symbols.find(symbol)?).issued)
    }

    /// The number of an account's client order ids in memory: those that stand for an order, and some that have
    /// expired.
    pub fn client_order_ids_of(&self, account: AccountId) -> usize {
        self.accounts.find(account).map_or(0, |account| self.client_orders.count_of(account))
    }

    /// The number of all accounts' client order ids in memory.
    pub fn client_order_ids(&self) -> usize {
        self.client_orders.len()
    }

    /// Whether a client order id that has expired at `time` is still in memory once `added` new ones are: then the next
    /// one removes at least as many as it adds.
    pub fn has_expired_client_order_ids_behind(&self, added: usize, time: Time) -> bool {
        self.client_orders.has_expired_behind(added, time)
    }

    /// The order that an account's client order id stands for, as of the last command.
    /// Errors: `UnknownAccount`; `UnknownOrder` for an id that stands for none, or no longer.
    pub fn client_order(&self, account: AccountId, id: ClientOrderId) -> Result<OrderId, Reject> {
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        self.client_orders.find(account, id, self.time).map(|found| found.order).ok_or(Reject::UnknownOrder)
    }

    /// The client order id that an open order was placed under.
    pub fn client_order_id(&self, order: OrderId) -> Option<ClientOrderId> {
        match self.client_orders.open_count() {
            0 => None,
            _ => self.client_orders.id_at(self.orders.find(order)?),
        }
    }

    /// Answers a query. Appends all executions of the order that the engine keeps to `executions`.
    pub fn query(&self, query: &Query, executions: &mut Vec<Execution>) -> Reply {
        self.query_within(query, usize::MAX, executions).expect("invariant: no order has so many executions")
    }

    /// Answers a query, unless the engine keeps more than `executions_max` executions of the order: then it returns
    /// `None` and appends nothing.
    pub fn query_within(&self, query: &Query, executions_max: usize, executions: &mut Vec<Execution>) -> Option<Reply> {
        let order = match self.named_order(query.account, query.order) {
            Ok(order) => order,
            Err(reject) => return Some(Reply::Rejected(reject)),
        };
        match self.find_order(query.account, order) {
            Ok(Some(slot)) => {
                if self.orders.executions_kept(slot) > executions_max {
                    return None;
                }
                let start = executions.len();
                let canceled = self.orders.history(slot, executions);
                let executions = start..executions.len();
                let elsewhere = self.orders.added_up(slot).map(Box::new);
                let terms = OpenTerms {
                    waits: self.waits(slot),
                    trail: self.trail_of(slot),
                    pends_on: self.pends_on(order),
                    until: self.deadlines.of(order),
                    iceberg: self.iceberg(order),
                };
                let (open, terms) = (self.open_of(slot), terms.if_any());
                Some(Reply::Status(Status { order, open, terms, canceled, executions, elsewhere }))
            }
            Ok(None) => Some(Reply::Done(order)),
            Err(reject) => Some(Reply::Rejected(reject)),
        }
    }

    /// The open order that a cancel would cancel after the last command; none for another command. Errors: the reply to
    /// a cancel that would change nothing.
    pub fn would_cancel(&self, command: &Command) -> Option<Result<OrderId, Reply>> {
        let Command::CancelOrder { account, order } = *command else { return None };
        let order = self.named_order(account, order).map_err(Reply::Rejected);
        Some(order.and_then(|order| self.find_open(account, order).map(|_| order)))
    }
}
