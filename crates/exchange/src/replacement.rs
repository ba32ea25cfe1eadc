//! A replacement: the market cancels an order, and places another one for it. It is two ops of one request, and the
//! second follows the first at once, so that nothing comes between them, neither another client's command nor a crash.
//! This module does not know how they are answered: each gets the answer that it would get alone.

use terms::{Bond, Command, Op, OrderName, Place, Reject, Reply};

/// The fate of the one order when something goes wrong with the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// The market does not place the new order when the old one cannot be canceled.
    #[default]
    Stop,
    /// The market places the new order also when the old one cannot be canceled.
    Place,
    /// The old order stays as it is when the market does not place the new one.
    Keep,
}

/// The ops that cancel an order and then place another one of the same account.
pub fn replacement(canceled: OrderName, placing: Place, on_failure: OnFailure) -> [Op; 2] {
    let (account, order) = (placing.account, canceled);
    let (first, bond) = match on_failure {
        OnFailure::Stop => (Command::CancelOrder { account, order }, Bond::IfCanceled),
        OnFailure::Place => (Command::CancelOrder { account, order }, Bond::Alone),
        OnFailure::Keep => (Command::ReplaceOrder { account, order }, Bond::Replacing),
    };
    [Op::Command(first), Op::Command(Command::Place(placing.bound(bond)))]
}

/// Corrects the reply to a [`Command::ReplaceOrder`] if the order behind it, with this reply, was not placed.
pub fn keep_unless_placed(replaced: &mut Reply, placed: &Reply) {
    let is_placed = matches!(placed, Reply::Opened(_) | Reply::Moved { is_new: true, .. });
    if matches!(replaced, Reply::Canceled(_)) && !is_placed {
        *replaced = Reply::Rejected(Reject::Kept);
    }
}
