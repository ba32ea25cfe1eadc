//! The members that have proven their identity: by a signature, a secret, a password, or a session that one of these
//! began. It knows no route, and not what a member may do.

mod asker;
mod editing;
mod elsewhere;
mod passwords;
mod replays;
mod sessions;
mod signed;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use access::{Access, Tries};
use exchange::{Principal, TurnedAway};
use terms::Time;
use tokio::sync::Semaphore;
use tokio::time::sleep_until;

pub use asker::Asker;
pub(crate) use editing::{Editing, Editor, unknown_key, unknown_member};
pub use elsewhere::{Elsewhere, MarkLog, Marked};
pub use replays::{NotTaken, Signer};
pub use signed::SIGNED_AHEAD_MAX;
pub(crate) use signed::{SignatureHeaders, Unsigned, WINDOW};

use crate::clock::now;
use crate::denied::Denied;
use crate::member_turns::MemberTurns;
use crate::problem::Problem;
use crate::problem_code::Code;
use passwords::Passwords;
use replays::{Replays, mark};
use sessions::Sessions;

/// Time by which a signed request of the compatible interface may be old or ahead, together.
const COMPATIBLE_LASTING: Duration = Duration::from_secs(62);

/// All members, and their proofs.
pub struct Members {
    access: Access,
    sessions: Sessions,
    /// Signed requests that were taken: of our interface, and of the compatible one.
    taken: Replays,
    compatible_taken: Replays,
    /// Signed requests of the compatible interface that only read: their signatures cover no method.
    compatible_read: Replays,
    /// Servers to which these requests may be sent as well; `None` for a single server.
    elsewhere: Option<Elsewhere>,
    /// The time since when this server knows which requests it took, in microseconds since the Unix epoch.
    began: AtomicU64,
    passwords: Passwords,
    /// The permit to change members, one after the other.
    editing: Arc<Semaphore>,
    /// Turns of listing the members.
    listing: MemberTurns,
}

impl Members {
    pub(crate) fn new(access: Access, elsewhere: Option<Elsewhere>) -> Members {
        Members {
            access,
            elsewhere,
            sessions: Sessions::default(),
            taken: Replays::lasting(WINDOW + SIGNED_AHEAD_MAX),
            compatible_taken: Replays::lasting(COMPATIBLE_LASTING),
            compatible_read: Replays::lasting(COMPATIBLE_LASTING),
            began: AtomicU64::new(now()),
            passwords: Passwords::default(),
            editing: Arc::new(Semaphore::new(1)),
            listing: MemberTurns::default(),
        }
    }

    /// Returns the access file.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Returns the asker of a request that proves nothing: a member whose certificate or address the connection shows,
    /// or an anonymous one.
    pub(crate) fn unproven(&self, address: IpAddr, certificate: Option<&[u8; 32]>) -> Asker {
        let now = SystemTime::now();
        let by_certificate = certificate.and_then(|sha256| self.access.by_certificate(sha256, now));
        let bound = by_certificate.or_else(|| self.access.by_address(address, now));
        Asker::of(bound.unwrap_or_else(Principal::anonymous))
    }

    /// Finds the member of a session by its token.
    pub(crate) fn by_token(&self, token: &str) -> Option<Asker> {
        let session = self.sessions.find(token, Instant::now())?;
        Some(Asker { principal: session.principal.clone(), session: Some(session) })
    }

    /// Begins to take requests for a market whose last earlier command has this time. Another server may have taken
    /// requests that were signed earlier, and none later: no other has served it for [`SIGNED_AHEAD_MAX`]. Its clock
    /// may have been ahead of this one's.
    pub(crate) fn begin(&self, market_time: Time) {
        let ahead = u64::try_from(SIGNED_AHEAD_MAX.as_micros()).unwrap_or(u64::MAX);
        self.began.store(now().max(market_time.0.saturating_add(ahead)), Ordering::Relaxed);
    }

    /// Checks that a request that changes something was signed since this server began: earlier ones may have been
    /// taken before. Clients write milliseconds. Callers ask before they verify the signature, and the answer counts
    /// for nobody. Errors: it was signed earlier.
    pub fn check_signed_since_start(&self, Time(signed_at): Time) -> Result<(), NotTaken> {
        match signed_at >= self.began.load(Ordering::Relaxed) / 1000 * 1000 {
            true => Ok(()),
            false => Err(NotTaken::BeforeStart),
        }
    }

    /// Finds the member that has signed a recent request and not sent it before. A request that changes something must
    /// be signed since this server began.
    pub(crate) async fn by_signature(
        &self,
        signed: &SignatureHeaders<'_>,
        changes: bool,
        text: &[&[u8]],
    ) -> Result<Asker, Denied> {
        let signed_at = Time(signed.micros());
        if changes {
            self.check_signed_since_start(signed_at).map_err(not_taken)?;
        }
        let principal = self.signer(signed.key, text, signed.signature);
        let principal = principal.ok_or_else(|| Denied::new(TurnedAway::WrongProof, Problem::unproven()))?;
        let signer = Signer { member: principal.member(), key: signed.key };
        let mut taken = self.taken.take(signer, text, signed_at, Time(now()));
        if changes && taken.is_ok() {
            taken = self.take_elsewhere(&principal, signed.key, text).await;
        }
        match taken {
            Ok(()) => Ok(Asker::of(principal)),
            // Its member did not send it, so it counts for the connection that did.
            Err(why) if why.is_replay() => Err(not_taken(why)),
            // Verifying it cost time, so it counts as a message of its member.
            Err(why) => Err(match principal.rights().limits.take_message() {
                Ok(()) => not_taken(why),
                Err(limit) => Denied::new(TurnedAway::PastLimit, Problem::past_limit(limit)),
            }),
        }
    }

    /// Finds the member that has signed a text with a key: in hexadecimal digits or in base64, by the kind of the key.
    pub fn signer(&self, key: &str, text: &[&[u8]], signature: &str) -> Option<Principal> {
        self.access.by_signature(key, text, signature, SystemTime::now())
    }

    /// Takes a signed request of the compatible interface that changes something, unless it was taken before, or came
    /// as a read.
    pub async fn take_compatible(
        &self,
        (principal, key): (&Principal, &str),
        text: &[&[u8]],
        signed_at: Time,
    ) -> Result<(), NotTaken> {
        let now = Time(now());
        let signer = Signer { member: principal.member(), key };
        if self.compatible_read.has(key, text, signed_at, now)? {
            return Err(NotTaken::WasRead);
        }
        self.compatible_taken.take(signer, text, signed_at, now)?;
        self.take_elsewhere(principal, key, text).await
    }

    /// Takes a request that this server did not take before, unless another one did.
    async fn take_elsewhere(&self, principal: &Principal, key: &str, text: &[&[u8]]) -> Result<(), NotTaken> {
        let Some(elsewhere) = &self.elsewhere else { return Ok(()) };
        principal.rights().limits.take_told().map_err(NotTaken::PastPace)?;
        elsewhere.take(principal.member(), mark(key, text)).await
    }

    /// Notes a request that only reads, which may come again. Errors: the same text came before as a change, which
    /// somebody may have recorded, or too many came.
    pub fn note_compatible(&self, signer: Signer<'_>, text: &[&[u8]], signed_at: Time) -> Result<(), NotTaken> {
        let now = Time(now());
        if self.compatible_taken.has(signer.key, text, signed_at, now) == Ok(true) {
            return Err(NotTaken::Again);
        }
        match (self.compatible_read.take(signer, text, signed_at, now), &self.elsewhere) {
            // This server takes no change signed at a time of which it forgot requests; another server may.
            (Ok(()) | Err(NotTaken::BeforeStart), Some(elsewhere)) => {
                elsewhere.note(signer.member, mark(signer.key, text))
            }
            (Err(NotTaken::Again | NotTaken::BeforeStart), _) => Ok(()),
            (noted, _) => noted,
        }
    }

    /// Finds the member that has the secret of a key.
    pub(crate) fn by_secret(&self, key: &str, secret: &str) -> Option<Asker> {
        self.access.by_secret(key, secret, SystemTime::now()).map(Asker::of)
    }

    /// Finds a member by its password. Compares it when its turn has come, beside the event loop. With the token of a
    /// known device it waits for no other client of its address. Errors: it is wrong, which has had its wait, or too
    /// many are being compared.
    pub(crate) async fn by_password(
        &self,
        member: String,
        password: String,
        address: IpAddr,
        devices: &[&str],
    ) -> Result<Principal, Denied> {
        let too_many = || Denied::new(TurnedAway::TooManyTries, Problem::too_many_tries());
        let tries = self.access.tries();
        let is_known = devices.iter().any(|token| self.access.knows_device(&member, token, SystemTime::now()));
        let guess = if is_known { Tries::guess_of_device } else { Tries::guess };
        let mut guess = guess(tries, address, &member, Instant::now()).map_err(|_| too_many())?;
        sleep_until(guess.turn().into()).await;
        // A password that waits for its turn takes no permit from others. The permit is held until the comparison is
        // done, also when the client has hung up.
        let standing = (guess.is_familiar(), guess.earlier());
        let comparing = self.passwords.turn(&member, address, standing).await.ok_or_else(too_many)?;
        guess.compared();
        let access = self.access.clone();
        let compared = tokio::task::spawn_blocking(move || {
            let _comparing = comparing;
            access.by_password(&member, &password, SystemTime::now())
        });
        let principal = compared.await.map_err(|_| Problem::not_ready())?;
        let principal = principal.ok_or_else(|| Denied::new(TurnedAway::WrongProof, Problem::unproven()))?;
        guess.right();
        Ok(principal)
    }

    /// Returns the turn of the answer to a wrong proof: each from an address waits longer than the one before. A right
    /// secret or signature waits for none of them, since nobody can guess one. Errors: the turn is too far off, by this
    /// much.
    pub(crate) fn wrong_turn(&self, address: IpAddr) -> Result<Instant, Duration> {
        self.access.tries().turn(address, "", Instant::now())
    }

    /// Begins a session, and returns its token.
    pub(crate) fn begin_session(&self, principal: Principal, is_cookie: bool) -> Result<String, Problem> {
        match self.sessions.begin(principal, is_cookie, Instant::now()) {
            Ok(Some(token)) => Ok(token),
            Ok(None) => Err(Problem::too_many_tries()),
            Err(error) => {
                tracing::error!(%error, "no session can begin");
                Err(Problem::not_ready())
            }
        }
    }
}

/// The advice to a client whose signed request is older than this server's knowledge.
pub const SIGNED_BEFORE_START: &str = "this request was signed before this server started, or its clock was set back, and may have been done: look whether it was, or sign it again";

/// The advice where other servers cannot be asked: these bytes are taken once, and were taken here.
pub const SIGN_AGAIN: &str =
    "the servers of the cluster's log are away: nothing was changed; sign the request again and send it later";

fn not_taken(why: NotTaken) -> Denied {
    let problem = match why {
        NotTaken::Again | NotTaken::WasRead => {
            Problem::unauthenticated("this signed request was sent before: each is taken once")
        }
        NotTaken::BeforeStart => Problem::unauthenticated(SIGNED_BEFORE_START),
        NotTaken::Away => Problem::new(Code::StoreAway, SIGN_AGAIN),
        NotTaken::PastPace(limit) => Problem::past_limit(limit),
        NotTaken::Full => Problem::too_many_tries(),
    };
    Denied { why: why.turned_away(), problem }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that was ahead was set right, and the server was started again: the second server repeated requests that
    /// the first had taken.
    #[test]
    fn what_was_signed_before_the_markets_last_command_is_not_taken_whatever_the_clock_shows() {
        let access = Access::parse("[[member]]\nname = \"alice\"\nroles = [\"trader\"]\n").expect("an access file");
        let (members, now) = (Members::new(access, None), now());
        let seconds = |after: u64| Time(now + after * 1_000_000);
        let taken = |signed_at| members.check_signed_since_start(signed_at).is_ok();
        members.begin(Time(0));
        assert_eq!([Time(now - 2_000_000), seconds(5), seconds(32)].map(taken), [false, true, true]);
        members.begin(seconds(30));
        assert_eq!([0, 30, 31, 32].map(|after| taken(seconds(after))), [false, false, false, true]);
    }
}
