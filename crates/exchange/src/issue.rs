//! An issue of shares that creates their symbol if there is none: two ops of one request, of which both are done or
//! neither. It can say how many shares must have been issued before it, so that sending it twice issues them once. This
//! module does not know how many there are.

use terms::{AccountId, Command, Op, Position, Symbol};

/// An issue of shares of a symbol to an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issue {
    pub symbol: Symbol,
    pub account: AccountId,
    pub shares: Position,
    /// The condition under which the shares are issued.
    pub before: IssuedBefore,
}

/// The shares of a symbol that must have been issued before an issue, to all accounts together. A symbol that does not
/// exist has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssuedBefore {
    Any,
    Exactly(Position),
}

impl Issue {
    /// The ops of the issue.
    pub fn ops(&self) -> [Op; 2] {
        let Issue { symbol, account, shares, .. } = *self;
        [Command::CreateSymbol { symbol }, Command::IssueShares { symbol, account, shares }].map(Op::Command)
    }
}
