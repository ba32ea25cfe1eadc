//! Balances, positions and open orders rebuilt from events alone, to prove that events are enough for that.

use std::collections::BTreeMap;

use engine::{AccountIndex, ClientOrderId, Event, Money, NewOrder, OrderId, Position, Shares, SymbolIndex, Trigger};
use model::Model;

/// What a reader of events knows.
#[derive(Default)]
pub struct Mirror {
    balances: BTreeMap<AccountIndex, Money>,
    positions: BTreeMap<(AccountIndex, SymbolIndex), Position>,
    open: BTreeMap<OrderId, Shares>,
    client_ids: BTreeMap<OrderId, ClientOrderId>,
    /// Orders whose trigger was not reached, and those that are to be activated, in this order.
    waiting: BTreeMap<(SymbolIndex, Trigger), Vec<OrderId>>,
    reached: Vec<OrderId>,
}

impl Mirror {
    pub fn hear(&mut self, event: &Event) {
        match *event {
            Event::AccountCreated { account, .. } => assert_eq!(self.balances.insert(account, Money::ZERO), None),
            Event::SymbolCreated { .. } => {}
            Event::OrderOpened { order, placed: NewOrder { symbol, shares, trigger, .. }, .. } => {
                assert_eq!(self.open.insert(order, shares), None);
                if let Some(trigger) = trigger {
                    self.waiting.entry((symbol, trigger)).or_default().push(order);
                }
            }
            Event::TriggerReached { symbol, trigger } => {
                let reached = self.waiting.remove(&(symbol, trigger)).expect("somebody waits for what is reached");
                self.reached.extend(reached);
            }
            Event::OrderTriggered { order, placed, .. } => {
                assert_eq!(self.open.get(&order), Some(&placed.shares), "an order that waits is as it was placed");
                assert_eq!(self.reached.remove(0), order, "what was reached first is activated first");
            }
            Event::ClientOrderIdGiven { order, id } => {
                assert!(self.open.contains_key(&order), "an order is opened and then named");
                assert_eq!(self.client_ids.insert(order, id), None);
            }
            Event::ClientOrderDone { order } => {
                assert!(!self.open.contains_key(&order), "what is done has nothing open");
                assert!(self.client_ids.remove(&order).is_some(), "and was named");
            }
            Event::Executed { maker, aggressor, shares, .. } => {
                self.take(maker, shares);
                self.take(aggressor, shares);
            }
            Event::OrderCanceled { order, shares, .. } => {
                assert_eq!(self.open.remove(&order), Some(shares), "a cancel tells all that was open");
                self.reached.retain(|&reached| reached != order);
                self.waiting.values_mut().for_each(|queue| queue.retain(|&waiting| waiting != order));
                self.waiting.retain(|_, queue| !queue.is_empty());
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
            assert_eq!(self.client_ids.get(&order.id), order.client_id.as_ref(), "its client order id");
        }
        assert_eq!(self.reached.len(), model.reached_orders(), "orders that are to be activated, as events told it");
        let named = model.open_orders().filter(|order| order.client_id.is_some()).count();
        assert_eq!(self.client_ids.len(), named, "open orders with client order ids heard of");
    }

    fn take(&mut self, order: OrderId, shares: Shares) {
        let open = self.open.get_mut(&order).expect("an order that executes was opened");
        *open = open.less(shares);
        if open.is_zero() {
            self.open.remove(&order);
        }
    }
}
