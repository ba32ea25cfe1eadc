//! Which commands of cancel on disconnect get a number: those that change whether an account is protected. A protector that joins others, or
//! leaves some behind, and one that comes again within the grace, leave no trace. So whoever comes and goes writes little.

use std::time::Duration;

use engine::{AccountId, Command, Engine, Grace, Reject, Reply};
use exchange::{Bound, PROTECTED_ACCOUNTS_MAX, Requests, Unavailable};

use crate::presence::{Left, Presence};

/// Whether a command is one of these.
pub(crate) fn is_protection(command: &Command) -> bool {
    matches!(command, Command::Protect { .. } | Command::Unprotect { .. })
}

impl Presence {
    /// A turn begins when so much has passed: what the loop does, before all else, about accounts that nobody came back for.
    pub(crate) fn lost(&mut self, engine: &Engine, passed: Duration) -> Vec<Command> {
        let lost = self.begin_turn(passed);
        // One that was refused when it was to be protected is protected by nobody.
        let protected = lost.into_iter().filter(|account| engine.grace(*account).is_some());
        let commands: Vec<Command> = protected.map(|account| Command::Unprotect { account, is_lost: true }).collect();
        commands.iter().for_each(|command| self.note(command));
        commands
    }

    /// Whether a command changes an account's protection, after those that this turn has let in. `is_there`: the account is, or will be.
    /// Errors: it may not.
    #[cold]
    pub(crate) fn decide(
        &mut self,
        engine: &Engine,
        (disk_low, is_there): (bool, bool),
        (requests, request): (&Requests, usize),
        command: &Command,
    ) -> Result<bool, Unavailable> {
        let protector = requests.protector(request);
        let changes = match *command {
            Command::Protect { account, grace } => {
                let changes = is_there && self.so_far(engine, account) != Some(grace);
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
            Command::Unprotect { account, .. } => {
                self.part(account, protector) == Left::Nobody && self.so_far(engine, account).is_some()
            }
            _ => panic!("invariant: no other command is of this kind"),
        };
        if changes {
            self.note(command);
        }
        Ok(changes)
    }

    /// An account's grace after what this turn has let in.
    fn so_far(&self, engine: &Engine, account: AccountId) -> Option<Grace> {
        self.changed.get(&account).copied().unwrap_or_else(|| engine.grace(account))
    }

    fn note(&mut self, command: &Command) {
        match *command {
            Command::Protect { account, grace } => self.changed.insert(account, Some(grace)),
            Command::Unprotect { account, .. } => self.changed.insert(account, None),
            _ => panic!("invariant: no other command is of this kind"),
        };
    }
}

/// What a command of these is told that changes nothing; none for another command.
pub(crate) fn unchanging(engine: &Engine, command: &Command) -> Option<Reply> {
    let (account, told) = match *command {
        Command::Protect { account, .. } | Command::Unprotect { account, is_lost: false } => (account, Reply::Created),
        Command::Unprotect { account, is_lost: true } => (account, Reply::CanceledAll { orders: 0 }),
        _ => return None,
    };
    Some(engine.balance(account).map_or(Reply::Rejected(Reject::UnknownAccount), |_| told))
}
