//! An account with a few orders that nobody trades with: each is placed under a name, may be placed again, which changes
//! nothing, and canceled once.

use crate::common::checker::{Call, Model};

/// Orders of an account.
pub const ORDERS: usize = 4;

/// What becomes of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    #[default]
    Unknown,
    Open,
    Canceled,
}

/// How an account is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Account([Order; ORDERS]);

/// What is asked of it; orders by their numbers here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Place(usize),
    Cancel(usize),
    Look(usize),
    /// Which orders are open, whichever way that is shown.
    LookAtAll,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Placed,
    Canceled,
    /// There is nothing to cancel any more.
    NothingOpen,
    /// There is no such order.
    Unknown,
    Is(Order),
    /// Bit by bit.
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
