//! The drop copy: everything that some accounts do, as one stream in the order of the commands, from any command on. It
//! is read from the history, in files or in a database: first everything up to the newest command, then what came
//! meanwhile, ten times a second. So no report is missing or comes twice however a reader comes and goes, and nothing
//! is held for a slow reader.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use exchange::{AccountSet, Read, Rights, Role};
use feed::{HistoryError, ReadModel, Report, ReportKey, Sweep};
use terms::{AccountId, AccountIndex, Sequence};

use crate::app_state::AppState;
use crate::contained::{TaskBeside, tell_beside};
use crate::current_principal::Asker;
use crate::history_pages::{self, HistoryFault};
use crate::hub::Hub;
use crate::members::unknown_member;
use crate::messages::{self, REPORTS_AT_ONCE, refusal, unreadable, whole};
use crate::outbox::{KeptBytes, Outbox};
use crate::problem::Problem;
use crate::report_replay::{ahead, begins_later};

/// Accounts of one stream, at most.
const ACCOUNTS_MAX: usize = 1_000;
/// Time between two looks whether anything happened.
const EVERY: Duration = Duration::from_millis(100);
/// The rest after each step of a live stream, and of one that catches up, as a multiple of its time: so a stream takes
/// a bounded part of the feed's thread.
const REST: u32 = 49;
const CATCHING_UP_REST: u32 = 4;
/// Pause after a database did not answer.
const PAUSE: Duration = Duration::from_secs(1);
/// Records that are read in one step, and reports of an account that are found ahead of the others'.
const RECORDS_AT_ONCE: usize = 512;

/// The accounts of a stream.
#[derive(Clone)]
pub(crate) enum DropCopyScope {
    /// All accounts that the asker trades for or looks at.
    Theirs,
    Accounts(Vec<AccountId>),
    /// All accounts that a member trades for or looks at.
    Member(String),
}

/// The request for a stream.
pub(crate) struct DropCopyRequest {
    pub whose: DropCopyScope,
    /// The command behind which it begins; `None` to begin now.
    pub from: Option<Sequence>,
}

struct DropCopy {
    app: AppState,
    outbox: Outbox,
    asker: Option<Asker>,
    whose: DropCopyScope,
    /// Nanoseconds of the feed's thread that it took since its last rest.
    cost: Arc<AtomicU64>,
    /// The last command whose reports were all sent.
    told: Sequence,
    /// The bytes of what was found and not sent yet.
    kept: KeptBytes,
}

/// The reports of one account up to some command that are still to be sent.
struct Source {
    id: AccountId,
    account: AccountIndex,
    /// The reports that were found, in order. They are sent once all other accounts have some, too, or have no more.
    found: VecDeque<FoundReport>,
    stage: Stage,
}

enum Stage {
    Looking(Box<Sweep>),
    /// The database has to be asked behind this command.
    CurrentPrincipal(Sequence),
    /// All reports were found.
    Whole,
}

impl Source {
    /// Returns the bytes that it keeps.
    fn bytes(&self) -> usize {
        let of_one = match self.found.front() {
            Some(FoundReport::Report(_)) => size_of::<FoundReport>() + size_of::<Report>(),
            Some(FoundReport::Key(_)) | None => size_of::<FoundReport>(),
        };
        let sweep = match &self.stage {
            Stage::Looking(sweep) => sweep.bytes(),
            Stage::CurrentPrincipal(_) | Stage::Whole => 0,
        };
        size_of::<Source>() + self.found.capacity() * of_one + sweep
    }
}

enum FoundReport {
    Key(ReportKey),
    Report(Box<Report>),
}

impl FoundReport {
    fn key(&self) -> ReportKey {
        match self {
            FoundReport::Key(key) => *key,
            FoundReport::Report(report) => report.key(),
        }
    }
}

/// The result of a look at the database.
enum DatabaseLook {
    /// No account needs it.
    Needless,
    /// One account has its next reports.
    Found,
    /// The database did not answer.
    Away,
}

/// The reason why a stream ends.
enum Ends {
    /// The access file names this many accounts by now.
    TooMany(usize),
    /// The client gets this error.
    WithError(HistoryError),
    /// The server ends.
    Silently,
}

/// Begins a stream. Errors: it cannot begin there, or not with these accounts.
pub(crate) async fn begin(
    app: &AppState,
    outbox: &Outbox,
    asker: Option<Asker>,
    asked: DropCopyRequest,
    answer: crate::shared_text::SharedText,
) -> Result<TaskBeside, Problem> {
    let DropCopyRequest { whose, from } = asked;
    let accounts = accounts_of(app, asker.as_ref(), &whose);
    check(&whose, accounts.len())?;
    app.ascertain().await?;
    let library = app.market()?.library.clone();
    let (named, sender) = (whose.clone(), outbox.clone());
    let told = app.look(move |model| {
        let unknown = |account: &&AccountId| model.view.find_account(**account).is_none();
        if let DropCopyScope::Accounts(named) = named
            && named.iter().any(|account| unknown(&account))
        {
            return Err(Problem::unknown_account());
        }
        let through = model.view.sequence();
        let from = from.unwrap_or(through);
        let whole = match (&model.history, library) {
            (Some(history), _) => history.read().is_whole(),
            (None, Some(library)) => library.is_whole(),
            (None, None) => return Err(Problem::not_ready()),
        };
        if !whole {
            return Err(begins_later());
        }
        if from > through {
            return Err(ahead(from, through));
        }
        sender.send(answer);
        Ok(from)
    });
    let told = told.await??;
    let (app, cost, kept) = (app.clone(), Arc::default(), outbox.keep(0));
    let copy = DropCopy { app, outbox: outbox.clone(), asker, whose, cost, told, kept };
    Ok(tell_beside(outbox.clone(), copy.run()))
}

/// Checks the number of accounts. Errors: a stream cannot have this many of these.
fn check(whose: &DropCopyScope, count: usize) -> Result<(), Problem> {
    match whose {
        _ if count > ACCOUNTS_MAX => {
            Err(Problem::field("accounts", format!("{count} accounts; at most {ACCOUNTS_MAX}")))
        }
        DropCopyScope::Accounts(named) if named.len() != count => Err(Problem::unknown_account()),
        DropCopyScope::Theirs if count == 0 => {
            Err(Problem::field("accounts", "accounts is missing: the asker's member has no accounts of its own"))
        }
        DropCopyScope::Member(_) if count == 0 => Err(unknown_member()),
        DropCopyScope::Theirs | DropCopyScope::Accounts(_) | DropCopyScope::Member(_) => Ok(()),
    }
}

/// Returns those of the accounts that the asker may follow now.
fn accounts_of(app: &AppState, asker: Option<&Asker>, whose: &DropCopyScope) -> Vec<AccountId> {
    let rights = asker.map(Asker::rights);
    let may = |account: &AccountId| rights.as_ref().is_none_or(|rights| rights.may_read(Read::Account(*account)));
    match whose {
        DropCopyScope::Accounts(named) => named.iter().copied().filter(may).collect(),
        DropCopyScope::Theirs => rights.as_ref().map_or_else(Vec::new, |rights| named_of(rights)),
        // An asker that may not look at all of them does not learn that the member exists.
        DropCopyScope::Member(name) => {
            let theirs = app.members().and_then(|members| members.access().rights_of(name));
            let theirs = theirs.map_or_else(Vec::new, |rights| named_of(&rights));
            if theirs.iter().all(may) { theirs } else { Vec::new() }
        }
    }
}

/// Returns the accounts that the access file names for a holder of these rights who trades for them or looks at them.
fn named_of(rights: &Rights) -> Vec<AccountId> {
    let has = |role| rights.roles.contains(role);
    let are_theirs = has(Role::Trader) || has(Role::Viewer);
    if are_theirs { rights.accounts.iter().collect() } else { Vec::new() }
}

impl DropCopy {
    async fn run(mut self) {
        let mut was_live = false;
        while self.outbox.has_room().await {
            match self.round(&mut was_live).await {
                Ok(()) => tokio::time::sleep(EVERY.max(self.rest(REST))).await,
                Err(Ends::TooMany(count)) => {
                    let detail = format!("the member has {count} accounts by now; at most {ACCOUNTS_MAX}");
                    return self.outbox.send(refusal(None, "too-many-accounts", &detail));
                }
                Err(Ends::WithError(error)) => return self.outbox.send(unreadable(&error)),
                Err(Ends::Silently) => return,
            }
        }
    }

    /// Returns the rest that is due, as a multiple of the time that the stream took from the feed. Many accounts take
    /// longer to read.
    fn rest(&self, share: u32) -> Duration {
        Duration::from_nanos(self.cost.swap(0, Ordering::Relaxed)).saturating_mul(share)
    }

    /// Sends everything that happened up to now. `was_live`: set once everything before was sent.
    async fn round(&mut self, was_live: &mut bool) -> Result<(), Ends> {
        let accounts = accounts_of(&self.app, self.asker.as_ref(), &self.whose);
        if accounts.len() > ACCOUNTS_MAX {
            return Err(Ends::TooMany(accounts.len()));
        }
        let told = self.told;
        let begun = self.look(move |model| {
            let through = model.view.sequence();
            if through == told {
                return Ok((Vec::new(), through));
            }
            let history = model.history()?;
            let found = accounts.iter().filter_map(|id| Some((*id, model.view.find_account(*id)?)));
            let sources = found.map(|(id, account)| Source {
                id,
                account,
                found: VecDeque::new(),
                stage: match &history {
                    Some(history) => {
                        let sweep = history.sweep(account, ReportKey::after(told));
                        Stage::Looking(Box::new(sweep.in_pieces_of(RECORDS_AT_ONCE)))
                    }
                    None => Stage::CurrentPrincipal(told),
                },
            });
            Ok((sources.collect(), through))
        });
        let (mut sources, through): (Vec<Source>, Sequence) = begun.await?;
        let mut is_told = *was_live && (sources.is_empty() || through == told);
        while !is_told {
            if !self.outbox.has_room().await {
                return Err(Ends::Silently);
            }
            let turns = if *was_live { self.app.live_copies() } else { self.app.replays() };
            let turn = turns.take(self.member()).await;
            // A round lasts as long as its reader likes.
            self.drop_others(&mut sources);
            match self.ask_database(&mut sources, through).await? {
                DatabaseLook::Needless => {}
                // The others get their turns before it is asked for more.
                DatabaseLook::Found => {
                    self.weigh(&sources);
                    continue;
                }
                DatabaseLook::Away => {
                    drop(turn);
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            }
            let outbox = self.outbox.clone();
            let stepped = self.look(move |model| {
                look_further(&mut sources, model, through)?;
                let is_whole = tell(&mut sources, model, through, &outbox)?;
                Ok((sources, is_whole))
            });
            (sources, is_told) = stepped.await?;
            if is_told {
                break;
            }
            self.weigh(&sources);
            // The rest of one that catches up belongs to its turn: many of them take no more of the feed than one does.
            let turn = Some(turn).filter(|_| !*was_live);
            tokio::time::sleep(self.rest(if *was_live { REST } else { CATCHING_UP_REST })).await;
            drop(turn);
        }
        self.weigh(&[]);
        self.told = through;
        *was_live = true;
        Ok(())
    }

    /// Drops the accounts that the asker may not follow any more.
    fn drop_others(&self, sources: &mut Vec<Source>) {
        let accounts = AccountSet::from_iter(accounts_of(&self.app, self.asker.as_ref(), &self.whose));
        sources.retain(|source| accounts.contains(source.id));
    }

    /// Counts the bytes that these keep, in place of those before.
    fn weigh(&mut self, sources: &[Source]) {
        self.kept = self.outbox.keep(sources.iter().map(Source::bytes).sum());
    }

    fn member(&self) -> &str {
        self.asker.as_ref().map_or("", |asker| asker.principal.member())
    }

    async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut ReadModel<Hub>) -> Result<T, HistoryError> + Send + 'static,
    ) -> Result<T, Ends> {
        let cost = Arc::clone(&self.cost);
        let timed = move |model: &mut ReadModel<Hub>| {
            let began = Instant::now();
            let looked = look(model);
            cost.fetch_add(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
            looked
        };
        self.app.look(timed).await.map_err(|_| Ends::Silently)?.map_err(Ends::WithError)
    }

    /// Asks the database for more reports of one account that has none left.
    async fn ask_database(&self, sources: &mut [Source], through: Sequence) -> Result<DatabaseLook, Ends> {
        let needing = sources.iter_mut().find_map(|source| match source.stage {
            Stage::CurrentPrincipal(behind) if source.found.is_empty() => Some((source, behind)),
            Stage::CurrentPrincipal(_) | Stage::Looking(_) | Stage::Whole => None,
        });
        let Some((source, behind)) = needing else { return Ok(DatabaseLook::Needless) };
        let (found, complete) =
            match history_pages::reports(&self.app, source.account, (behind, through), REPORTS_AT_ONCE).await {
                Ok(found) => found,
                Err(HistoryFault::Away | HistoryFault::Crowded) => return Ok(DatabaseLook::Away),
                Err(HistoryFault::Unreadable(error)) => return Err(Ends::WithError(error)),
                Err(HistoryFault::NotReady) => return Err(Ends::Silently),
                Err(HistoryFault::Fault) => {
                    // It would miss reports.
                    self.outbox.overflow();
                    return Err(Ends::Silently);
                }
            };
        source.found = found.into_iter().map(|report| FoundReport::Report(Box::new(report))).collect();
        source.stage = if complete < through { Stage::CurrentPrincipal(complete) } else { Stage::Whole };
        Ok(DatabaseLook::Found)
    }
}

/// Looks for more reports of accounts that have none left.
fn look_further(sources: &mut [Source], model: &ReadModel<Hub>, through: Sequence) -> Result<(), HistoryError> {
    let is_needed = |source: &&mut Source| source.found.is_empty() && matches!(source.stage, Stage::Looking(_));
    let mut left = RECORDS_AT_ONCE;
    for source in sources.iter_mut().filter(is_needed) {
        let Stage::Looking(mut sweep) = std::mem::replace(&mut source.stage, Stage::Whole) else { continue };
        let history = model.history()?.ok_or(HistoryError::Ended)?;
        if history.sweep_on(&mut sweep, left.min(RECORDS_AT_ONCE))? {
            source.stage = Stage::Looking(sweep);
            return Ok(());
        }
        let (found, more) = sweep.finish();
        source.found = found.into_iter().filter(|key| key.sequence <= through).map(FoundReport::Key).collect();
        source.stage = more.map_or(Stage::Whole, |sweep| Stage::Looking(Box::new(sweep)));
        // An account without results costs as much as one record.
        left = left.saturating_sub(source.found.len().max(1));
        if left == 0 {
            return Ok(());
        }
    }
    Ok(())
}

/// Sends the next reports of all accounts, as long as the next one of each is known. Returns true when everything up to
/// `through` is sent.
fn tell(
    sources: &mut [Source],
    model: &ReadModel<Hub>,
    through: Sequence,
    outbox: &Outbox,
) -> Result<bool, HistoryError> {
    let mut told: Vec<(AccountIndex, Report)> = Vec::new();
    let mut is_whole = true;
    let mut next = None;
    loop {
        if sources.iter().any(|source| source.found.is_empty() && !matches!(source.stage, Stage::Whole)) {
            is_whole = false;
            break;
        }
        let heads = sources.iter().enumerate().filter_map(|(at, source)| Some((source.found.front()?.key(), at)));
        let Some((key, at)) = heads.min() else { break };
        if told.len() == REPORTS_AT_ONCE {
            (is_whole, next) = (false, Some(key));
            break;
        }
        let report = match sources[at].found.pop_front() {
            Some(FoundReport::Report(report)) => *report,
            Some(FoundReport::Key(key)) => model.history()?.ok_or(HistoryError::Ended)?.report(key)?,
            None => break,
        };
        told.push((sources[at].account, report));
    }
    let complete = match (told.last(), is_whole) {
        (_, true) => through,
        (Some((_, last)), false) => whole(last.key(), next),
        (None, false) => return Ok(false),
    };
    outbox.send(messages::drop_copy(&model.view, &told, complete, is_whole));
    Ok(is_whole)
}
