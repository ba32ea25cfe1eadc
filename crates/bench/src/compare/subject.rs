//! Who takes part in a comparison, and in which modes.

use clap::ValueEnum;

use super::mode::Mode;

/// Whom a user may choose to stand beside ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Other {
    /// Redis: SET of the same size, synced and without persistence
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
            Subject::Order => "pricetime synced, order",
            Subject::OrderResting => "pricetime synced, order-resting",
            Subject::Echo => "raw durable echo",
            Subject::RedisAlways => "Redis, appendfsync always",
            Subject::RedisMemory => "Redis, no persistence",
            Subject::Postgres => "PostgreSQL, synchronous_commit on",
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
            Mode::Clients8 | Mode::Clients32 => {
                matches!(self, Subject::Order | Subject::OrderResting | Subject::Postgres)
            }
            Mode::OpenHalf => matches!(self, Subject::Order | Subject::Echo),
            Mode::OneCore | Mode::TwoCores => self == Subject::Order,
        }
    }
}

/// What is measured in each of these modes with these others, in the order of the tables.
pub fn schedule(modes: &[Mode], others: &[Other]) -> Vec<(Mode, Vec<Subject>)> {
    let there = |subject: &Subject| subject.other().is_none_or(|other| others.contains(&other));
    let subjects = |mode| Subject::ALL.into_iter().filter(move |subject| there(subject) && subject.takes_part(mode));
    Mode::ALL
        .into_iter()
        .filter(|mode| modes.contains(mode))
        .map(|mode| (mode, subjects(mode).collect::<Vec<_>>()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_left_out_takes_part_in_nothing() {
        let with_all = schedule(&Mode::ALL, &[Other::Redis, Other::Postgres, Other::Echo]);
        assert_eq!(with_all.len(), Mode::ALL.len());
        assert_eq!(with_all[3], (Mode::Single, Subject::ALL.to_vec()));
        let without = schedule(&[Mode::OneCore, Mode::Single, Mode::Persistent], &[Other::Echo]);
        let ours_and_echo = vec![Subject::Order, Subject::OrderResting, Subject::Echo];
        let expected = [
            (Mode::Persistent, ours_and_echo.clone()),
            (Mode::Single, ours_and_echo),
            (Mode::OneCore, vec![Subject::Order]),
        ];
        assert_eq!(without, expected);
    }
}
