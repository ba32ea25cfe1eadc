//! Who takes part in a comparison, and in which modes.

use clap::ValueEnum;

use super::mode::Mode;

/// Whom a user may choose to stand beside ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Other {
    /// Redis: SET of 200 bytes, synced and without persistence
    Redis,
    /// PostgreSQL: one INSERT a transaction
    Postgres,
    /// The raw durable echo: appends, syncs once a turn, parses nothing
    Echo,
}

/// One row of each table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Order,
    OrderResting,
    Echo,
    RedisAlways,
    RedisMemory,
    Postgres,
}

impl Subject {
    pub const ALL: [Subject; 6] = [
        Subject::Order,
        Subject::OrderResting,
        Subject::Echo,
        Subject::RedisAlways,
        Subject::RedisMemory,
        Subject::Postgres,
    ];

    /// The row that it stands in, in raw files too.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Order => "pricetime, order",
            Subject::OrderResting => "pricetime, order-resting",
            Subject::Echo => "raw durable echo",
            Subject::RedisAlways => "Redis, appendfsync always",
            Subject::RedisMemory => "Redis, no persistence",
            Subject::Postgres => "PostgreSQL, INSERT",
        }
    }

    /// Whose it is; none for ours.
    pub fn other(self) -> Option<Other> {
        match self {
            Subject::Order | Subject::OrderResting => None,
            Subject::Echo => Some(Other::Echo),
            Subject::RedisAlways | Subject::RedisMemory => Some(Other::Redis),
            Subject::Postgres => Some(Other::Postgres),
        }
    }

    /// Whether it is measured so.
    pub fn takes_part(self, mode: Mode) -> bool {
        match mode {
            Mode::Persistent | Mode::Pipelined | Mode::PerRequest => self != Subject::Postgres,
            Mode::Single => true,
            // Only there to have ours beside PostgreSQL with as many connections.
            Mode::Clients8 | Mode::Clients32 => {
                matches!(self, Subject::Order | Subject::OrderResting | Subject::Postgres)
            }
        }
    }
}

/// What is measured in each mode with these others, in the order of the table; no modes that only PostgreSQL needs
/// without it.
pub fn schedule(others: &[Other]) -> Vec<(Mode, Vec<Subject>)> {
    let there = |subject: &Subject| subject.other().is_none_or(|other| others.contains(&other));
    let modes = Mode::ALL.into_iter().map(|mode| {
        let subjects = Subject::ALL.into_iter().filter(|subject| there(subject) && subject.takes_part(mode));
        (mode, subjects.collect::<Vec<_>>())
    });
    let for_postgres = |mode: &Mode| matches!(mode, Mode::Clients8 | Mode::Clients32);
    modes.filter(|(mode, _)| !for_postgres(mode) || others.contains(&Other::Postgres)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_left_out_takes_part_in_nothing() {
        let with_all = schedule(&[Other::Redis, Other::Postgres, Other::Echo]);
        assert_eq!(with_all.len(), 6);
        assert_eq!(with_all[3].1, Subject::ALL);
        let without = schedule(&[Other::Echo]);
        let modes: Vec<Mode> = without.iter().map(|(mode, _)| *mode).collect();
        assert_eq!(modes, [Mode::Persistent, Mode::Pipelined, Mode::PerRequest, Mode::Single]);
        for (_, subjects) in without {
            assert_eq!(subjects, [Subject::Order, Subject::OrderResting, Subject::Echo]);
        }
    }
}
