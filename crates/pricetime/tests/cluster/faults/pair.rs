//! Two accounts and a symbol that nobody else trades: in each order the first one sells a share or the second one buys
//! one, all at one price. So the effect of an order depends on all orders before it, whichever node they went through.

use crate::common::checker::{Call, Model};

/// The number of a pair's orders. Those with even numbers sell, the others buy.
pub const ORDERS: usize = 6;
/// The dollars and the shares that each account has in the beginning.
pub const DOLLARS: i64 = 1_000;
pub const SHARES: i64 = 100;
/// The price of every order.
pub const PRICE: i64 = 10;

/// The state of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    #[default]
    Unknown,
    Open,
    Executed,
    Canceled,
}

/// The state of a pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pair {
    orders: [Order; ORDERS],
    /// The open orders, oldest first: they all sell, or they all buy.
    book: Vec<usize>,
}

/// A request to it, with accounts and orders by their numbers here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Place(usize),
    Cancel(usize),
    Look(usize),
    /// A read of an account.
    Account(usize),
}

impl Asked {
    /// Whether the request may change something.
    pub fn changes(self) -> bool {
        matches!(self, Asked::Place(_) | Asked::Cancel(_))
    }
}

/// The holdings of an account: free ones, and those that its open orders hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holdings {
    pub dollars: i64,
    pub dollars_held: i64,
    pub shares: i64,
    pub shares_held: i64,
}

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    Placed,
    Canceled,
    /// The order has nothing open that could be canceled.
    NothingOpen,
    /// The order does not exist.
    Unknown,
    Is(Order),
    Has(Holdings),
}

pub type PairCall = Call<Asked, Told>;

impl Pair {
    fn count(&self, account: usize, what: Order) -> i64 {
        let of_account = self.orders.iter().skip(account).step_by(2);
        of_account.filter(|order| **order == what).count() as i64
    }

    fn place(&mut self, order: usize) {
        if self.orders[order] != Order::Unknown {
            return;
        }
        let meets = self.book.first().is_some_and(|first| first % 2 != order % 2);
        if meets {
            self.orders[self.book.remove(0)] = Order::Executed;
            self.orders[order] = Order::Executed;
        } else {
            self.orders[order] = Order::Open;
            self.book.push(order);
        }
    }
}

impl Model for Pair {
    type Asked = Asked;
    type Told = Told;

    fn apply(&mut self, asked: &Asked) -> Told {
        match *asked {
            Asked::Place(order) => {
                self.place(order);
                Told::Placed
            }
            Asked::Cancel(order) => match self.orders[order] {
                Order::Unknown => Told::Unknown,
                Order::Executed | Order::Canceled => Told::NothingOpen,
                Order::Open => {
                    self.orders[order] = Order::Canceled;
                    self.book.retain(|open| *open != order);
                    Told::Canceled
                }
            },
            Asked::Look(order) => match self.orders[order] {
                Order::Unknown => Told::Unknown,
                known @ (Order::Open | Order::Executed | Order::Canceled) => Told::Is(known),
            },
            Asked::Account(account) => {
                let (open, executed) = (self.count(account, Order::Open), self.count(account, Order::Executed));
                // The first account exchanges shares for dollars, the second one dollars for shares.
                let (sold, bought, sells, buys) =
                    if account == 0 { (executed, 0, open, 0) } else { (0, executed, 0, open) };
                Told::Has(Holdings {
                    dollars: DOLLARS + PRICE * (sold - bought - buys),
                    dollars_held: PRICE * buys,
                    shares: SHARES + bought - sold - sells,
                    shares_held: sells,
                })
            }
        }
    }
}
