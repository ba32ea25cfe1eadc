//! How far the venue is open to its members. Operators may do what they may do in every mode. It knows not who sets it, nor where it
//! is kept: a command that is refused for it gets no number, so a replay needs to know nothing of it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use engine::Op;

use crate::principal::Rights;

/// How far it is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Members do what their roles allow.
    #[default]
    Normal,
    /// Members look, and change nothing.
    ReadOnly,
    /// There are no members but operators.
    Maintenance,
}

impl Mode {
    pub const ALL: [Mode; 3] = [Mode::Normal, Mode::ReadOnly, Mode::Maintenance];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Normal => "normal",
            Mode::ReadOnly => "read-only",
            Mode::Maintenance => "maintenance",
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// Whether somebody may look at what their roles let them look at.
    pub fn lets_look(self, rights: &Rights) -> bool {
        self != Mode::Maintenance || rights.is_operator()
    }

    /// Whether an op goes no further in this mode.
    pub(crate) fn stops(self, rights: &Rights, op: &Op) -> bool {
        match self {
            Mode::Normal => false,
            Mode::ReadOnly => matches!(op, Op::Command(_)) && !rights.is_operator(),
            Mode::Maintenance => !rights.is_operator(),
        }
    }
}

/// What a member is told whose op is stopped.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Normal => "the venue is open",
            Mode::ReadOnly => "the venue is read-only: nothing was changed; queries are answered",
            Mode::Maintenance => "the venue is under maintenance: nothing was changed; try again later",
        })
    }
}

/// The mode of a venue. Clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct ModeSwitch(Arc<AtomicU8>);

impl ModeSwitch {
    pub fn set(&self, mode: Mode) {
        self.0.store(mode as u8, Ordering::Release);
    }

    pub fn get(&self) -> Mode {
        Mode::ALL.get(usize::from(self.0.load(Ordering::Acquire))).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use engine::{AccountId, Command, OrderId, Query};

    use super::*;
    use crate::principal::Role;

    #[test]
    fn a_mode_stops_all_but_operators() {
        let account = AccountId::parse(b"1").expect("digits");
        let query = Op::Query(Query { account, order: OrderId(1).into() });
        let cancel = Op::Command(Command::CancelOrder { account, order: OrderId(1).into() });
        let [operator, trader] =
            [Role::Operator, Role::Trader].map(|role| Rights { roles: vec![role], ..Rights::default() });
        for (mode, stops_query, stops_cancel) in
            [(Mode::Normal, false, false), (Mode::ReadOnly, false, true), (Mode::Maintenance, true, true)]
        {
            assert_eq!((mode.stops(&trader, &query), mode.stops(&trader, &cancel)), (stops_query, stops_cancel));
            assert_eq!(mode.lets_look(&trader), !stops_query);
            assert!(!mode.stops(&operator, &cancel) && mode.lets_look(&operator));
            assert_eq!(Mode::named(mode.name()), Some(mode));
            let switch = ModeSwitch::default();
            switch.clone().set(mode);
            assert_eq!(switch.get(), mode);
        }
    }
}
