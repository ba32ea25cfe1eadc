//! The parts that are new for each run: the folder of its server's data and log and, if the market is kept in one, the
//! database.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use super::database::FreshDatabase;
use super::store::Store;
use crate::machine::disk::DataFolder;
use crate::machine::facts;
use crate::records::Machine;

/// The variable that passes a database's URL to the server and `pricetime state`: on a command line all users of the
/// machine could read the password.
const STORE_VARIABLE: &str = "PRICETIME_STORE";

/// The folder and the database of a run, removed when it is dropped.
pub struct Fresh {
    folder: DataFolder,
    database: Option<FreshDatabase>,
}

impl Fresh {
    /// Makes them, the folder in `parent`. Errors: a folder or a database that cannot be made.
    pub fn make(parent: Option<&Path>, store: &Store) -> Result<Fresh, String> {
        let folder = DataFolder::fresh(parent)?;
        let database = match store {
            Store::Journal => None,
            Store::Postgres(url) => Some(FreshDatabase::create(url)?),
        };
        Ok(Fresh { folder, database })
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn database(&self) -> Option<&FreshDatabase> {
        self.database.as_ref()
    }

    /// Describes the machine, with the disk that holds the market as far as it is known.
    pub fn machine(&self) -> Machine {
        match &self.database {
            None => facts::describe(Some(self.folder())),
            Some(_) => Machine { disk: "the database's, not known here".to_string(), ..facts::describe(None) },
        }
    }

    /// Returns a warning about figures from here.
    pub fn warning(&self) -> Option<String> {
        match &self.database {
            None => self.folder.warning(),
            Some(database) => database.warning(),
        }
    }

    /// Passes the store to a server's command.
    pub fn tell(&self, serve: &mut Command) {
        serve.arg("--data").arg(self.folder());
        if let Some(database) = &self.database {
            serve.env(STORE_VARIABLE, database.url.secret());
        }
    }

    /// Passes the store to `pricetime state`.
    pub fn tell_reader(&self, state: &mut Command) {
        match &self.database {
            None => state.arg(self.folder()),
            Some(database) => state.env(STORE_VARIABLE, OsStr::new(database.url.secret())),
        };
    }

    /// Returns what `tell` passes, without the password and the folder's name: for people.
    pub fn told(&self) -> String {
        match &self.database {
            None => "--data DIR".to_string(),
            Some(database) => format!("--store {} --data DIR", database.url),
        }
    }
}
