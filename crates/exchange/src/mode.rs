//! The mode of the venue: how far it is open to its members. This module does not know who sets the mode, nor where it
//! is kept: a command that the mode stops gets no number, so a replay needs no mode.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

/// The mode of the venue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Members do what their roles allow.
    #[default]
    Normal,
    /// Members look, and change nothing.
    ReadOnly,
    /// Only operators may do anything.
    Maintenance,
}

impl Mode {
    pub const ALL: [Mode; 3] = [Mode::Normal, Mode::ReadOnly, Mode::Maintenance];

    /// The name as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Normal => "normal",
            Mode::ReadOnly => "read-only",
            Mode::Maintenance => "maintenance",
        }
    }

    /// The mode of this name.
    pub fn named(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// The text for a member whose op the mode stops.
impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Normal => "the venue is open",
            Mode::ReadOnly => "the venue is read-only: nothing was changed; queries are answered",
            Mode::Maintenance => "the venue is under maintenance: nothing was changed; try again later",
        })
    }
}

/// The mode of a venue. Clones share it.
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
    use super::*;

    #[test]
    fn a_mode_is_kept_by_its_name_and_for_all_who_hold_the_switch() {
        let switch = ModeSwitch::default();
        assert_eq!(switch.get(), Mode::Normal);
        for mode in Mode::ALL {
            assert_eq!(Mode::named(mode.name()), Some(mode));
            switch.clone().set(mode);
            assert_eq!(switch.get(), mode);
        }
        assert_eq!(Mode::named("closed"), None);
    }
}
