//! The accounts that commands of one request name to be killed or released together. This file does not know what is
//! killed.

use terms::{AccountIndex, Among, Sequence};

/// The accounts that commands up to the last one have named.
pub(crate) struct KillsTogether {
    pub(crate) accounts: Vec<AccountIndex>,
    is_killed: bool,
    /// The last command that named one.
    last: Sequence,
}

impl KillsTogether {
    pub(crate) fn new() -> KillsTogether {
        KillsTogether { accounts: Vec::new(), is_killed: false, last: Sequence::ZERO }
    }

    /// Adds the account that the command of this sequence names, unless it does not exist. Those of commands that this
    /// one does not go on with are forgotten.
    pub(crate) fn add(&mut self, sequence: Sequence, account: Option<AccountIndex>, among: Among, is_killed: bool) {
        let goes_on = self.last.next() == sequence && self.is_killed == is_killed && among != Among::First;
        if !goes_on {
            self.accounts.clear();
        }
        (self.is_killed, self.last) = (is_killed, sequence);
        self.accounts.extend(account);
    }
}
