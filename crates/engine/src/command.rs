//! What the engine is asked: commands, which change the market and are journaled, and queries, which are not.

use crate::amount::{Money, Position, Price, Shares};
use crate::ids::{AccountId, ClientOrderId, OrderId, Sequence, Symbol, Time};

/// Which way an order goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Gives money for shares; holds limit × shares of the balance.
    Buy,
    /// Gives shares for money; holds the shares.
    Sell,
}

impl Side {
    /// The side an order of this one matches with.
    pub fn opposite(self) -> Side {
        match self {
            Side::Buy => Side::Sell,
            Side::Sell => Side::Buy,
        }
    }
}

/// A change asked for. It never changes after it is parsed; whether it is accepted is the engine's to decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Create an account with dollars.
    CreateAccount { account: AccountId, balance: Money },
    /// Create a symbol unless it exists.
    CreateSymbol { symbol: Symbol },
    /// Give an account new shares of a symbol.
    IssueShares { symbol: Symbol, account: AccountId, shares: Position },
    /// Place a limit order. While the id that its client gives it stands for an order, no second one is placed under it.
    PlaceOrder { account: AccountId, order: NewOrder, client_id: Option<ClientOrderId> },
    /// Cancel what is still open of an order.
    CancelOrder { account: AccountId, order: OrderName },
}

/// An order as it is asked for. The symbol goes by its name, and behind the engine by its index. The client's id is not part of
/// it: few orders have one, and an event of every order is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder<S = Symbol> {
    pub symbol: S,
    pub side: Side,
    /// The worst price that it accepts.
    pub limit: Price,
    /// Above zero.
    pub shares: Shares,
}

/// Which order of an account is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderName {
    /// That of this id.
    Id(OrderId),
    /// The one that a client order id stands for when the command's or query's turn comes.
    Client(ClientOrderId),
}

impl From<OrderId> for OrderName {
    fn from(order: OrderId) -> OrderName {
        OrderName::Id(order)
    }
}

impl From<ClientOrderId> for OrderName {
    fn from(id: ClientOrderId) -> OrderName {
        OrderName::Client(id)
    }
}

/// A question about an order, answered in its place among the commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Who asks: only its own orders are shown.
    pub account: AccountId,
    /// The order asked about.
    pub order: OrderName,
}

/// What a gateway hands inward, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// To be sequenced, journaled and applied.
    Command(Command),
    /// To be answered.
    Query(Query),
}

/// A command with its place in the sequence and its time, as it is applied and replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// One more than that of the entry before.
    pub sequence: Sequence,
    /// Not before that of the entry before.
    pub time: Time,
    /// What to do.
    pub command: Command,
}
