//! Balances, positions and open orders rebuilt from events alone, to prove that events are enough for that.

use std::collections::BTreeMap;

use engine::{AccountIndex, Event, Money, OrderId, Position, Shares, SymbolIndex};
use model::Model;

/// What a reader of events knows.
#[derive(Default)]
pub struct Mirror {
    balances: BTreeMap<AccountIndex, Money>,
    positions: BTreeMap<(AccountIndex, SymbolIndex), Position>,
    open: BTreeMap<OrderId, Shares>,
}

impl Mirror {
    pub fn hear(&mut self, event: &Event) {
        match *event {
            Event::AccountCreated { account, .. } => assert_eq!(self.balances.insert(account, Money::ZERO), None),
            Event::SymbolCreated { .. } => {}
            Event::OrderOpened { order, shares, .. } => assert_eq!(self.open.insert(order, shares), None),
            Event::Executed { maker, aggressor, shares, .. } => {
                self.take(maker, shares);
                self.take(aggressor, shares);
            }
            Event::OrderCanceled { order, shares, .. } => {
                assert_eq!(self.open.remove(&order), Some(shares), "a cancel tells all that was open");
            }
            Event::BalanceChanged { account, balance } => {
                self.balances.insert(account, balance);
            }
            Event::PositionChanged { account, symbol, shares } => {
                self.positions.insert((account, symbol), shares);
            }
        }
    }

    /// Panics unless it shows what the model has.
    pub fn check(&self, model: &Model) {
        assert_eq!(self.balances.len(), model.accounts().count(), "accounts heard of");
        for (&account, &balance) in &self.balances {
            assert_eq!(balance, model.balance(account), "the balance of {account:?} as events told it");
            for symbol in (0..model.symbols().count() as u32).map(SymbolIndex) {
                let heard = self.positions.get(&(account, symbol)).copied().unwrap_or(Position::ZERO);
                let message = "as events told it";
                assert_eq!(heard, model.position(account, symbol), "position of {account:?} in {symbol:?} {message}");
            }
        }
        assert_eq!(self.open.len(), model.open_orders().len(), "open orders heard of");
        for order in model.open_orders() {
            assert_eq!(self.open.get(&order.id), Some(&order.open), "what is open as events told it");
        }
    }

    fn take(&mut self, order: OrderId, shares: Shares) {
        let open = self.open.get_mut(&order).expect("an order that executes was opened");
        *open = open.less(shares);
        if open.is_zero() {
            self.open.remove(&order);
        }
    }
}
