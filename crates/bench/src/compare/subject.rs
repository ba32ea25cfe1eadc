//! Who takes part in a comparison, and in which modes.

use clap::ValueEnum;

use super::mode::Mode;

/// Whom a user may choose to stand beside ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Other {
    /// Redis: SET of the same size, synced and without persistence
    Redis,
    /// PostgreSQL: one INSERT a transaction, one transaction an order, and ours with its market there
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
    /// Ours, with its market in PostgreSQL.
    OrderInPostgres,
    /// The baseline: one transaction an order.
    Baseline,
}

impl Subject {
    pub const ALL: [Subject; 8] = [
        Subject::OrderInPostgres,
        Subject::Baseline,
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
            Subject::OrderInPostgres => "pricetime on PostgreSQL, order",
            Subject::Baseline => "one transaction an order",
        }
    }

    /// What must be there for it; nothing for ours on its journal.
    pub fn needs(self) -> Option<Other> {
        match self {
            Subject::Order | Subject::OrderResting => None,
            Subject::Echo => Some(Other::Echo),
            Subject::RedisAlways | Subject::RedisMemory => Some(Other::Redis),
            Subject::Postgres | Subject::OrderInPostgres | Subject::Baseline => Some(Other::Postgres),
        }
    }

    /// Whether it is this server.
    pub fn is_ours(self) -> bool {
        matches!(self, Subject::Order | Subject::OrderResting | Subject::OrderInPostgres)
    }

    /// Whether it is measured so.
    pub fn takes_part(self, mode: Mode) -> bool {
        let on_postgres = matches!(self, Subject::OrderInPostgres | Subject::Baseline);
        match mode {
            Mode::Persistent | Mode::Pipelined | Mode::PerRequest => !on_postgres && self != Subject::Postgres,
            Mode::Single => !on_postgres,
            Mode::Clients8 | Mode::Clients32 => {
                matches!(self, Subject::Order | Subject::OrderResting | Subject::Postgres)
            }
            Mode::OpenHalf | Mode::OneCore | Mode::TwoCores | Mode::OneCorePipelined | Mode::TwoCoresPipelined => {
                matches!(self, Subject::Order | Subject::Echo)
            }
            Mode::StoreClients1 | Mode::StoreClients8 | Mode::StoreClients32 => {
                on_postgres || self == Subject::Postgres
            }
            Mode::StorePersistent => matches!(self, Subject::OrderInPostgres | Subject::Postgres),
            Mode::StorePipelined | Mode::StoreOpenHalf => self == Subject::OrderInPostgres,
        }
    }
}

/// What is measured in each of these modes with these others, in the order of the tables.
pub fn schedule(modes: &[Mode], others: &[Other]) -> Vec<(Mode, Vec<Subject>)> {
    let there = |subject: &Subject| subject.needs().is_none_or(|other| others.contains(&other));
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
        let journals = Subject::ALL.into_iter().filter(|subject| subject.takes_part(Mode::Single));
        assert_eq!(with_all[3], (Mode::Single, journals.collect::<Vec<_>>()));
        let on_postgres = vec![Subject::OrderInPostgres, Subject::Baseline, Subject::Postgres];
        assert!(with_all.contains(&(Mode::StoreClients8, on_postgres)), "{with_all:?}");
        let without = schedule(&[Mode::OneCore, Mode::Single, Mode::Persistent], &[Other::Echo]);
        let ours_and_echo = vec![Subject::Order, Subject::OrderResting, Subject::Echo];
        let expected = [
            (Mode::Persistent, ours_and_echo.clone()),
            (Mode::Single, ours_and_echo),
            (Mode::OneCore, vec![Subject::Order, Subject::Echo]),
        ];
        assert_eq!(without, expected);
    }
}
