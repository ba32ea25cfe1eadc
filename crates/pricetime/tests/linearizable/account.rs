//! An account with a few orders that nobody trades with: each is placed under a client order id, may be placed again
//! without effect, and may be canceled once.

use crate::common::checker::{Call, Model};

/// The number of orders of an account.
pub const ORDERS: usize = 4;

/// The state of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    #[default]
    Unknown,
    Open,
    Canceled,
}

/// The state of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Account([Order; ORDERS]);

/// A client's question about an account. Orders are identified by their numbers in this test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Place(usize),
    Cancel(usize),
    Look(usize),
    /// Asks which orders are open, in any of the ways that show it.
    LookAtAll,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Placed,
    Canceled,
    /// The order exists and has nothing open.
    NothingOpen,
    /// The order does not exist.
    Unknown,
    Is(Order),
    /// A bit for each open order.
    Open(u8),
}

pub type AccountCall = Call<Asked, Told>;

impl Model for Account {
    type Asked = Asked;
    type Told = Told;

    fn apply(&mut self, asked: &Asked) -> Told {
        match *asked {
            Asked::Place(order) => {
                if self.0[order] == Order::Unknown {
                    self.0[order] = Order::Open;
                }
                Told::Placed
            }
            Asked::Cancel(order) => match self.0[order] {
                Order::Unknown => Told::Unknown,
                Order::Canceled => Told::NothingOpen,
                Order::Open => {
                    self.0[order] = Order::Canceled;
                    Told::Canceled
                }
            },
            Asked::Look(order) => match self.0[order] {
                Order::Unknown => Told::Unknown,
                known => Told::Is(known),
            },
            Asked::LookAtAll => {
                let bits = self.0.iter().enumerate().map(|(at, order)| u8::from(*order == Order::Open) << at);
                Told::Open(bits.sum())
            }
        }
    }
}
