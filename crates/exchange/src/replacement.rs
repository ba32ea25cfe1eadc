//! A replacement: the market cancels an order, and places another one for it. It is two ops of one request, and the
//! second follows the first at once, so that nothing comes between them, neither another client's command nor a crash.
//! This module does not know how they are answered: each gets the answer that it would get alone.

use terms::{Command, Op, OrderName, Place};

/// The fate of the new order when the old one cannot be canceled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// The market does not place it.
    #[default]
    Stop,
    /// The market places it all the same.
    Place,
}

/// The ops that cancel an order and then place another one of the same account.
pub fn replacement(canceled: OrderName, placing: Place, on_failure: OnFailure) -> [Op; 2] {
    let (account, placing) = (placing.account, Command::Place(placing));
    let placing = match on_failure {
        OnFailure::Stop => placing.if_canceled().expect("invariant: an order replaces an order"),
        OnFailure::Place => placing,
    };
    [Op::Command(Command::CancelOrder { account, order: canceled }), Op::Command(placing)]
}
