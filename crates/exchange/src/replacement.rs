//! A replacement: an order is canceled, and another one placed in its stead. It is two ops of one request, of which the second
//! follows the first at once, so that nothing comes between them, neither another's command nor a crash. It does not know how they
//! are answered: each is answered as it would be alone.

use engine::{AccountId, Command, Op, OrderName};

/// What becomes of the new order when the old one cannot be canceled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// It is not placed.
    #[default]
    Stop,
    /// It is placed all the same.
    Place,
}

/// The ops that cancel an order of an account and then do `placing`, which places one of the same account.
pub fn replacement(account: AccountId, canceled: OrderName, placing: Command, on_failure: OnFailure) -> [Op; 2] {
    let placing = match on_failure {
        OnFailure::Stop => placing.if_canceled().expect("invariant: an order replaces an order"),
        OnFailure::Place => placing,
    };
    [Op::Command(Command::CancelOrder { account, order: canceled }), Op::Command(placing)]
}
