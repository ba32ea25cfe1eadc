//! The entrance to a database: a connection that migrates, locks and takes over, and the tasks without a take-over:
//! verify and export. It blocks, for ordinary threads. It does not write the market: the writer, which `take_over`
//! returns, does.

use std::time::Duration;

use engine::{DoneOrders, Engine};
use terms::{DoneOrder, OrderId, StateItem};
use tokio::runtime::Runtime;

use crate::error::{StoreError, final_error};
use crate::export;
use crate::import::{self, Imported};
use crate::known_members;
use crate::load::{self, Loaded};
use crate::runtime::runtime;
use crate::schema::{self, MIGRATIONS, Migrated, Migration};
use crate::session::{Connector, Purpose, Session};
use crate::standing::{self, Standing};
use crate::stop::{Stop, unless_stopped};
use crate::url::StoreUrl;
use crate::verify::{self, Verified};
use crate::writer::Writer;

/// The interval at which a standby tries to get the lock.
const ASK_EVERY: Duration = Duration::from_millis(250);

/// The name under which an import by commands writes. The database has it until the import has ended.
const IMPORT: &str = "an import";

/// A connection to the database of a market.
pub struct Store {
    // The session stands before the runtime, so that it is dropped while it can still close its connection.
    session: Session,
    runtime: Runtime,
    connector: Connector,
    name: String,
    locked: bool,
    stop: Stop,
}

impl Store {
    /// Connects; other servers see `name`. Errors: `Unreachable`, `Tls`, `Refused` (an unknown role, database or
    /// password).
    pub fn connect(url: &StoreUrl, name: &str, stop: Stop) -> Result<Store, StoreError> {
        let connector = Connector::new(url, name)?;
        let runtime = runtime()?;
        let session = runtime.block_on(connector.open(Purpose::Write));
        let session = session.map_err(|error| final_error(&error, "let this server in", &connector.place()))?;
        Ok(Store { session, runtime, connector, name: name.to_owned(), locked: false, stop })
    }

    /// Takes the lock that keeps other servers waiting. Errors: `AnotherServer`, which names its holder.
    pub fn lock(&mut self) -> Result<(), StoreError> {
        let Store { session, runtime, .. } = self;
        if !self.locked {
            let locked = runtime.block_on(standing::try_lock(session));
            self.locked = locked.map_err(|error| session.error(&error, "take the lock"))?;
        }
        if self.locked { Ok(()) } else { Err(runtime.block_on(standing::lock_holder(session))) }
    }

    /// Waits until no other server holds the lock, and takes it: for a standby. It connects again as often as
    /// necessary. Errors: `Stopped`.
    pub fn wait_for_lock(&mut self) -> Result<(), StoreError> {
        let mut is_away = false;
        loop {
            match self.lock() {
                Ok(()) => return Ok(()),
                Err(StoreError::AnotherServer { .. }) => is_away = false,
                Err(StoreError::Unreachable { fault, .. }) => {
                    if !std::mem::replace(&mut is_away, true) {
                        tracing::warn!(fault, "the database is away; a standby goes on asking");
                    }
                    if let Ok(session) = self.runtime.block_on(self.connector.open(Purpose::Write)) {
                        self.session = session;
                    }
                }
                Err(other) => return Err(other),
            }
            let rest = unless_stopped(async { tokio::time::sleep(ASK_EVERY).await }, &self.stop);
            if self.runtime.block_on(rest).is_none() || self.stop.is_told() {
                return Err(StoreError::Stopped);
            }
        }
    }

    /// Makes the schema or brings it to this program's version. Takes the lock: no server may write meanwhile. Errors:
    /// `AnotherServer`, `EarlierBuild`, `NewerSchema`, `AlteredMigration`, `ForeignSchema`, `Rights`.
    pub fn migrate(&mut self) -> Result<Migrated, StoreError> {
        self.migrate_with(MIGRATIONS)
    }

    /// Migrates like a program that has these migrations. Errors: those of `migrate`.
    pub fn migrate_with(&mut self, migrations: &[Migration]) -> Result<Migrated, StoreError> {
        self.lock()?;
        self.runtime.block_on(schema::migrate(&self.session, migrations))
    }

    /// Reads the standing of the database. Errors: `NoSchema` and its like, `Unreachable`.
    pub fn standing(&mut self) -> Result<Standing, StoreError> {
        self.runtime.block_on(async {
            schema::require(&self.session).await?;
            let standing = standing::standing(&self.session).await;
            standing.map_err(|error| self.session.error(&error, "read the sequence"))
        })
    }

    /// Becomes the one server that writes: takes the lock and raises the epoch, so that no transaction that an earlier
    /// server still sends is committed. Errors: `AnotherServer`, `HalfImported`, `NoSchema` and its like.
    pub fn take_over(mut self) -> Result<Writer, StoreError> {
        self.expect_whole()?;
        let standing = self.raise_epoch(None)?;
        Writer::new(self.runtime, self.connector, self.session, &standing, self.stop)
    }

    /// Begins to write the commands of another market, in several transactions. Until `end_import` no server takes the
    /// database over. Errors: those of `take_over`.
    pub fn begin_import(mut self) -> Result<Writer, StoreError> {
        let standing = self.raise_epoch(Some(IMPORT))?;
        Writer::new(self.runtime, self.connector, self.session, &standing, self.stop)
    }

    /// Ends an import whose commands are all committed. Errors: those of `take_over`.
    pub fn end_import(&mut self) -> Result<(), StoreError> {
        self.raise_epoch(None).map(drop)
    }

    /// Checks that no import into the database is unfinished. Errors: `HalfImported`, `NoSchema` and its like.
    pub fn expect_whole(&mut self) -> Result<(), StoreError> {
        match self.standing()?.writer == IMPORT {
            true => Err(StoreError::HalfImported),
            false => Ok(()),
        }
    }

    fn raise_epoch(&mut self, name: Option<&str>) -> Result<Standing, StoreError> {
        self.lock()?;
        self.runtime.block_on(async {
            schema::require(&self.session).await?;
            standing::raise_epoch(&self.session, name.unwrap_or(&self.name)).await
        })
    }

    /// Fills an empty market from a state and the done orders that belong to it, in one transaction. docs/POSTGRES.md
    /// says what such rows lack; a replay from the first command through a [`Writer`] lacks nothing. Errors:
    /// `NotEmpty`, `Import`, `AnotherServer`, `Unsound`.
    pub fn import<E: std::fmt::Display>(
        &mut self,
        state: impl Iterator<Item = Result<StateItem, E>>,
        done: impl Iterator<Item = Result<DoneOrder, E>>,
    ) -> Result<Imported, StoreError> {
        self.lock()?;
        self.runtime.block_on(async {
            schema::require(&self.session).await?;
            import::import(&self.session, state, done).await
        })
    }

    /// Reads the market as an engine, at one moment of the database. Errors: `Unsound`, `Unreachable`.
    pub fn load(&mut self, hash_seed: u64, done_orders: DoneOrders) -> Result<Loaded, StoreError> {
        self.read(async |session| load::load(&session, hash_seed, done_orders).await)
    }

    /// Visits the state, item by item, in the order that [`StateItem`] describes; returns the standing.
    pub fn export_state(
        &mut self,
        visit: &mut dyn FnMut(StateItem) -> Result<(), StoreError>,
    ) -> Result<Standing, StoreError> {
        self.read(async |session| export::state(&session, visit).await)
    }

    /// Notes durably that the market has members. Errors: `AnotherServer`, `NoSchema` and its like.
    pub fn note_members(&mut self) -> Result<(), StoreError> {
        self.lock()?;
        self.runtime.block_on(async {
            schema::require(&self.session).await?;
            known_members::mark(&self.session).await
        })
    }

    /// Whether it is noted that the market has members.
    pub fn has_members(&mut self) -> Result<bool, StoreError> {
        self.read(async |session| known_members::is_marked(&session).await)
    }

    /// Visits every done order by id, up to the last one placed before it began; returns their number.
    pub fn export_done(
        &mut self,
        visit: &mut impl FnMut(DoneOrder) -> Result<(), StoreError>,
    ) -> Result<u64, StoreError> {
        self.read(async |session| export::done_orders(session, OrderId(1), visit).await)
    }

    /// Checks all rows against each other, at one moment of the database, and returns the hash of the state that they
    /// make, for a comparison with another one. Errors: `Inconsistent`, `Unsound`.
    pub fn verify(&mut self) -> Result<(Verified, Engine), StoreError> {
        self.read(async |session| verify::verify(&session).await)
    }

    /// Runs a task on a connection with the settings for reading whole tables.
    fn read<T>(&mut self, task: impl AsyncFnOnce(Session) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let Store { runtime, connector, .. } = self;
        runtime.block_on(async {
            let session = connector.open(Purpose::Read).await;
            let session = session.map_err(|error| final_error(&error, "be read", &connector.place()))?;
            schema::require(&session).await?;
            task(session).await
        })
    }
}
