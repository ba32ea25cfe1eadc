//! A market of tests in which account 1 has orders in SPY alone. Its feed answers each question at once.

use std::sync::{Arc, Mutex};

use exchange::{Exchange, GatewayMetrics};
use feed::{Listener, View};
use terms::{
    AccountId, AccountIndex, MarketState, Money, OrderId, Position, Price, Sequence, Shares, Side, StateItem, Symbol,
    SymbolIndex, Time,
};

use crate::market::{FixBackend, Question};
use crate::report_queues::Model;

/// The read model of the market.
pub(crate) struct SpyMarket {
    view: View,
    /// The number of questions that were answered.
    pub(crate) looks: usize,
}

/// The state of a market with this many orders.
struct Orders(u64);

impl SpyMarket {
    /// Returns a market with this many orders, and the gateway's end of it.
    pub(crate) fn new(exchange: Arc<dyn Exchange>, orders: u64) -> (Arc<Mutex<SpyMarket>>, FixBackend) {
        let market = Arc::new(Mutex::new(SpyMarket { view: View::new(&Orders(orders), None), looks: 0 }));
        let asked = Arc::clone(&market);
        let ask = move |question: Question| {
            let mut market = asked.lock().expect("nobody panics");
            market.looks += 1;
            question(&mut *market);
        };
        let feed = (Box::new(ask) as Box<_>, Box::new(|| true) as Box<_>);
        (market, FixBackend::asking(exchange, feed, None, GatewayMetrics::new("fix"), false))
    }

    /// Replaces the orders by this many.
    pub(crate) fn set_orders(&mut self, orders: u64) {
        self.view = View::new(&Orders(orders), None);
    }
}

impl Model for SpyMarket {
    fn view(&self) -> &View {
        &self.view
    }

    fn listen(&mut self, _: AccountIndex, _: &Arc<dyn Listener>) {}
}

impl MarketState for Orders {
    fn sequence(&self) -> Sequence {
        Sequence(self.0)
    }

    fn time(&self) -> Time {
        Time(1)
    }

    fn next_order(&self) -> OrderId {
        OrderId(self.0 + 1)
    }

    fn export(&self, visit: &mut dyn FnMut(StateItem)) {
        visit(StateItem::Head { sequence: self.sequence(), time: self.time(), next_order: self.next_order() });
        visit(StateItem::Account { id: AccountId::parse(b"1").expect("digits"), balance: Money::ZERO });
        for name in ["SPY", "QQQ"] {
            let name = Symbol::parse(name.as_bytes()).expect("letters");
            visit(StateItem::Symbol { name, issued: Position::ZERO });
        }
        for order in 1..=self.0 {
            visit(StateItem::Order {
                order: OrderId(order),
                account: AccountIndex(0),
                symbol: SymbolIndex(0),
                side: Side::Buy,
                limit: Price::MIN,
                open: Shares::MIN,
            });
        }
    }
}
