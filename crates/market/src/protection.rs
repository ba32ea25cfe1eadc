//! Cancel on disconnect: which commands get a number, namely those that change whether an account is protected. A
//! connection that joins others, leaves others behind, or returns within the grace leaves no trace, so connections that
//! come and go write little.

use std::time::Duration;

use engine::Engine;
use exchange::{Bound, PROTECTED_ACCOUNTS_MAX, Requests, Unavailable};
use terms::{AccountId, Command, Grace, Reject, Reply, Sequence};

use crate::presence::{Changed, Left, Presence};

/// Whether a command is about protection.
pub(crate) fn is_protection(command: &Command) -> bool {
    matches!(command, Command::Protect { .. } | Command::Unprotect { .. })
}

impl Presence {
    /// Begins a turn after this time has passed. Returns the loop's commands for accounts whose grace has ended.
    pub(crate) fn lost(&mut self, engine: &Engine, passed: Duration) -> Vec<Command> {
        let mut lost = self.begin_turn(passed);
        // If the engine refused to protect an account, nothing protects it.
        lost.retain(|(account, _)| engine.grace(*account).is_some());
        self.changed.extend(lost.iter().map(|(account, _)| (*account, Changed::Lost)));
        lost.into_iter().map(|(account, through)| Command::Unprotect { account, is_lost: true, through }).collect()
    }

    /// Whether a command changes an account's protection, after those that this turn has let in. `is_there` says that
    /// the account exists, or will. Errors: the connection may not protect more accounts.
    #[cold]
    pub(crate) fn decide(
        &mut self,
        engine: &Engine,
        (disk_low, is_there): (bool, bool),
        (requests, request): (&Requests, usize),
        command: &Command,
    ) -> Result<bool, Unavailable> {
        let protector = requests.protector(request);
        let (account, asked) = of(command);
        let changes = match asked {
            Some(grace) => {
                let changes = is_there && !self.is_so_far(engine, account, Some(grace));
                if changes && disk_low {
                    return Err(Unavailable::DiskLow);
                }
                if protector.is_some_and(|protector| !self.has_room(protector, account)) {
                    return Err(Unavailable::Bound(Bound::Protected { most: PROTECTED_ACCOUNTS_MAX }));
                }
                if is_there {
                    self.join(account, grace, protector, requests.principal(request));
                }
                changes
            }
            None => self.part(account, protector) == Left::Nobody && !self.is_so_far(engine, account, None),
        };
        if changes {
            self.note(command);
        }
        Ok(changes)
    }

    /// Whether the account surely has this grace after the commands that this turn has let in.
    fn is_so_far(&self, engine: &Engine, account: AccountId, grace: Option<Grace>) -> bool {
        match self.changed.get(&account) {
            Some(Changed::To(so_far)) => *so_far == grace,
            Some(Changed::Lost) => false,
            None => engine.grace(account) == grace,
        }
    }

    fn note(&mut self, command: &Command) {
        let (account, grace) = of(command);
        self.changed.insert(account, Changed::To(grace));
    }
}

/// The account of a protection command, and the grace that it sets.
fn of(command: &Command) -> (AccountId, Option<Grace>) {
    if let Command::Protect { account, grace } = *command {
        return (account, Some(grace));
    }
    let Command::Unprotect { account, .. } = *command else { panic!("invariant: no other command is of this kind") };
    (account, None)
}

/// The reply to a protection command that changes nothing; none for another command.
pub(crate) fn unchanging(engine: &Engine, command: &Command) -> Option<Reply> {
    if !is_protection(command) {
        return None;
    }
    let (account, _) = of(command);
    let is_lost = matches!(command, Command::Unprotect { is_lost: true, .. });
    let told =
        if is_lost { Reply::CanceledAll { orders: 0, left: None, sequence: Sequence::ZERO } } else { Reply::Created };
    Some(engine.balance(account).map_or(Reply::Rejected(Reject::UnknownAccount), |_| told))
}
