//! Members that the nodes of a cluster share: sealed beside the cluster's log, and in each node's access file.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use access::{Access, Disagreement, MembersLog, NotPut, Place, SealingKeys, Watch};
use cluster::LogUrl;
use cluster::members::{self, CommonLog, Mark};
use exchange::Metrics;
use http_gateway::{Elsewhere, MarkLog, Marked};
use market::Failed;

/// The interval at which a node without members looks for some.
const LOOK_AFTER: Duration = Duration::from_secs(1);

/// The members of a cluster, as one of its nodes has them.
pub struct Common {
    log: Arc<CommonLog>,
}

impl Common {
    /// Opens the shared members. Errors: there is no such log, or its servers do not answer.
    pub fn open(url: &LogUrl, patience: Duration, metrics: Metrics) -> Result<Common, String> {
        let log = CommonLog::open(url, patience, metrics).map_err(|error| error.to_string())?;
        Ok(Common { log: Arc::new(log) })
    }

    /// Keeps an access file and the log in agreement from now on. None: there are no members yet. A node that only
    /// follows changes nothing. Errors: the log cannot be asked, or its members are sealed with another key, or
    /// unreadable; later such errors go to `failed`.
    /// `failed` is called then.
    pub fn join(
        &self,
        file: &Path,
        keys: SealingKeys,
        is_read_only: bool,
        failed: Failed,
    ) -> Result<Option<(Access, Watch)>, String> {
        Access::join(file, Arc::new(SealedEditions { log: Arc::clone(&self.log), keys, is_read_only }), failed)
    }

    /// The way in which the nodes announce their signed requests to each other.
    pub fn elsewhere(&self) -> Elsewhere {
        Elsewhere::new(Arc::new(Marks(Arc::clone(&self.log))))
    }

    /// Checks that there are no members, which a node without their key could not know. Errors: there are some.
    pub fn refuse_members(&self) -> Result<(), String> {
        match self.log.last().map_err(|error| error.to_string())? {
            None | Some(0) => Ok(()),
            Some(edition) => Err(unknown_members(edition)),
        }
    }

    /// Ends a node without members when there are some: it would go on to let anyone do anything.
    pub fn end_when_there_are_members(self, failed: Failed) -> Result<(), String> {
        let look = move || {
            loop {
                thread::sleep(LOOK_AFTER);
                if let Ok(Some(edition @ 1..)) = self.log.last() {
                    return failed(unknown_members(edition));
                }
            }
        };
        let started = thread::Builder::new().name("members-watch".to_owned()).spawn(look);
        started.map(drop).map_err(|error| format!("cannot start a thread: {error}"))
    }
}

fn unknown_members(edition: u64) -> String {
    format!(
        "the cluster has members (edition {edition} in its log), and this node was started without them: start it with --members-key, \
         the file with the key that seals them (docs/CLUSTER.md)"
    )
}

/// The sealed editions of an access file.
struct SealedEditions {
    log: Arc<CommonLog>,
    keys: SealingKeys,
    is_read_only: bool,
}

impl MembersLog for SealedEditions {
    fn cluster(&self) -> u64 {
        self.log.cluster()
    }

    fn last(&self) -> Result<Option<u64>, Disagreement> {
        self.log.last().map_err(|error| match self.log.is_lost() {
            true => Disagreement::ForEver(error.to_string()),
            false => Disagreement::ForNow(error.to_string()),
        })
    }

    fn read(&self, edition: u64) -> Result<String, Disagreement> {
        // The edition may have been the last one a moment ago, and be removed by now.
        let sealed = self.log.read(edition).map_err(|error| Disagreement::ForNow(error.to_string()))?;
        self.keys.open(&sealed, Place { cluster: self.cluster(), edition }).map_err(Disagreement::ForEver)
    }

    fn put(&self, edition: &str, last: u64) -> Result<u64, NotPut> {
        if self.is_read_only {
            return Err(NotPut::ReadOnly);
        }
        let place = Place { cluster: self.cluster(), edition: last.saturating_add(1) };
        let sealed = self.keys.seal(edition, place).map_err(NotPut::Refused)?;
        self.log.put(sealed.into(), last).map_err(|why| match why {
            members::NotPut::Outdated => NotPut::Outdated,
            members::NotPut::Away(error) => NotPut::Away(error.to_string()),
            members::NotPut::InDoubt => NotPut::InDoubt,
            members::NotPut::TooLong { bytes, most } => NotPut::Refused(format!(
                "the access file takes {bytes} bytes in the log, whose servers take {most} in a message: raise their max_payload, or \
                 keep fewer members"
            )),
        })
    }
}

struct Marks(Arc<CommonLog>);

impl MarkLog for Marks {
    fn mark(&self, mark: Mark, tell: Box<dyn FnOnce(Marked) + Send>) {
        let tell = move |marked| {
            tell(match marked {
                members::Marked::First => Marked::First,
                members::Marked::Again => Marked::Again,
                members::Marked::Away => Marked::Away,
                members::Marked::Full => Marked::Full,
            });
        };
        self.0.mark(mark, Box::new(tell));
    }
}
