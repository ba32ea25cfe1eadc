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
    /// Place a limit order; `shares` is above zero.
    PlaceOrder { account: AccountId, symbol: Symbol, side: Side, limit: Price, shares: Shares },
    /// Cancel what is still open of an order.
    CancelOrder { account: AccountId, order: OrderId },
    /// Place a limit order as `PlaceOrder` does, under an id that its client gives it: while that id stands for an order, no
    /// second one is placed under it. A variant of its own, so that the others stay as short as they are on their way.
    PlaceClientOrder { id: ClientOrderId, account: AccountId, symbol: Symbol, side: Side, limit: Price, shares: Shares },
    /// Cancel what is still open of the order that a client order id stands for.
    CancelClientOrder { account: AccountId, id: ClientOrderId },
}

/// A question about an order, answered in its place among the commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query {
    /// Who asks: only its own orders are shown.
    pub account: AccountId,
    /// The order asked about.
    pub order: OrderId,
}

/// A question about the order that a client order id stands for when the question's turn comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientQuery {
    /// Who asks: ids of other accounts are others.
    pub account: AccountId,
    /// The id that the order was placed under.
    pub id: ClientOrderId,
}

/// What a gateway hands inward, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// To be sequenced, journaled and applied.
    Command(Command),
    /// To be answered.
    Query(Query),
    /// To be answered, likewise.
    ClientQuery(ClientQuery),
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
