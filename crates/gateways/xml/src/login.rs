//! The identity of the client on one connection: from its first byte, and after each login. `access` compares secrets;
//! this module decides what may be sent where, and writes the answers to logins.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use access::{Access, hmac_hex, random_text};
use exchange::{
    Caller, Connected, KillRoom, Limit, NotKilled, PROTECTED_ACCOUNTS_MAX, PlaceHandle, Principal, Protocol, Session,
    Source, TurnedAway, member_kill,
};
use terms::Grace;

use crate::document::{Documents, Limits, Login};

/// The text before a challenge where it is signed, so that the signature is good for nothing else.
const SIGNED_BEFORE: &str = "pricetime-login:";
/// Wrong signatures that one connection may send: verifying one takes tens of microseconds of its worker.
const WRONG_SIGNATURES_MAX: u8 = 4;

/// Signs a challenge as a client with this secret does.
pub fn login_signature(secret: &str, challenge: &str) -> String {
    hmac_hex(secret, &[SIGNED_BEFORE.as_bytes(), challenge.as_bytes()])
}

/// The members against which logins are checked, for all connections.
#[derive(Clone, Debug)]
pub struct Desk {
    access: Access,
}

/// The client of a connection.
pub(crate) struct Asker {
    /// `None` where everybody may do everything.
    desk: Option<Arc<Desk>>,
    address: IpAddr,
    /// Whether the bytes are encrypted or never leave this machine.
    private: bool,
    /// The proven principal; `None` before any proof.
    principal: Option<Principal>,
    /// Counts the connection among those of its member.
    connected: Option<Connected>,
    /// The connection's place, which is its member's.
    place: Option<PlaceHandle>,
    /// The challenge to sign. It is used once.
    challenge: Option<String>,
    /// The reason why the last login was turned away, until it is counted.
    turned_away: Option<TurnedAway>,
    wrong_signatures: u8,
    /// `None` where the journal keeps no callers.
    session: Option<Session>,
    /// The caller as the journal keeps it, made when the first request needs it, for the present principal.
    caller: Option<Arc<Caller>>,
}

/// The result of a login.
enum LoggedIn {
    /// Requests are this member's from now on.
    As(String),
    /// The challenge that the client has to sign.
    Challenge(String),
    Refused(Refused),
}

/// The reason why a login was refused. An unknown key, a wrong secret and an expired key give the same one.
enum Refused {
    NotPrivate,
    NoChallenge,
    NoRandomness,
    Past(Limit),
    TooSoon(Duration),
    Wrong,
}

impl Desk {
    /// Returns a desk for these members.
    pub fn new(access: Access) -> Desk {
        Desk { access }
    }
}

impl Asker {
    /// Makes the asker of a new connection; `None` where there are no members and, by `audit`, the journal keeps no
    /// callers.
    pub fn of(desk: Option<&Arc<Desk>>, address: IpAddr, audit: bool) -> Option<Asker> {
        if desk.is_none() && !audit {
            return None;
        }
        let private = address.to_canonical().is_loopback();
        let session = audit.then(|| Session::begin(address));
        let mut asker = Asker {
            desk: desk.cloned(),
            address,
            private,
            principal: None,
            connected: None,
            place: None,
            challenge: None,
            turned_away: None,
            wrong_signatures: 0,
            session,
            caller: None,
        };
        asker.come_as(desk.and_then(|desk| desk.access.by_address(address, SystemTime::now())));
        Some(asker)
    }

    /// Notes the connection's place.
    pub fn takes(&mut self, place: PlaceHandle) {
        if let Some(principal) = &self.principal {
            place.prove(principal.member());
        }
        self.place = Some(place);
    }

    /// Notes that the connection is encrypted from now on. `certificate`: SHA-256 of the client's verified certificate.
    pub fn encrypted(&mut self, certificate: Option<&[u8; 32]>) {
        self.private = true;
        let access = self.desk.as_ref().map(|desk| &desk.access);
        let proven =
            access.zip(certificate).and_then(|(access, sha256)| access.by_certificate(sha256, SystemTime::now()));
        self.come_as(proven);
    }

    /// Makes the connection a member's that did not log in. If the member has too many connections, its login gets the
    /// reason.
    fn come_as(&mut self, proven: Option<Principal>) {
        if proven.is_some_and(|principal| self.become_member(principal).is_err()) {
            self.turned_away = Some(TurnedAway::PastLimit);
        }
    }

    /// Makes requests this member's from now on. Errors: it has as many connections as it may have, and nothing was
    /// changed.
    fn become_member(&mut self, principal: Principal) -> Result<(), Limit> {
        let is_of_its = self.connected.as_ref().is_some_and(|connected| connected.is_of(&principal));
        if let Some(desk) = self.desk.as_ref().filter(|_| !is_of_its) {
            self.connected = Some(desk.access.connections().open(&principal)?);
        }
        if let Some(place) = &self.place {
            place.prove(principal.member());
        }
        self.principal = Some(principal);
        Ok(())
    }

    /// Appends a request for the member; performs and answers a login.
    pub fn ask(&mut self, documents: &mut Documents, body: &[u8], limits: &Limits) {
        let login = match &self.desk {
            Some(desk) => {
                let asker = self.principal.as_ref().map(Principal::rights);
                let of_member = |member: &str, is_killed, room: &mut KillRoom| {
                    let asker = asker.as_deref().ok_or(NotKilled::Unknown)?;
                    member_kill(asker, desk.access.rights_of(member).as_deref(), is_killed, room)
                };
                documents.parse_unless_login(body, limits, &of_member)
            }
            None => {
                documents.parse(body, limits);
                None
            }
        };
        if let (Some(login), Some(desk)) = (login, self.desk.clone()) {
            self.caller = None;
            match self.log_in(&desk, &login.shows) {
                LoggedIn::As(member) => match login.grace {
                    None => documents.say("logged-in", Some(("member", &member)), ""),
                    Some(grace) => self.protect(documents, &member, grace),
                },
                LoggedIn::Challenge(nonce) => documents.say("challenge", Some(("nonce", &nonce)), ""),
                LoggedIn::Refused(why) => {
                    self.turned_away = why.reason();
                    documents.say("error", None, &why.to_string());
                }
            }
        }
        if let Some(principal) = &self.principal {
            documents.requests.asked_by(principal);
        }
        if let Some(session) = self.session {
            let principal = self.principal.as_ref();
            documents.requests.called_by(self.caller.get_or_insert_with(|| session.caller(Protocol::Xml, principal)));
        }
    }

    /// Takes the reason why a login was turned away since the last call.
    pub fn take_turned_away(&mut self) -> Option<TurnedAway> {
        self.turned_away.take()
    }

    /// Whether the connection ends after this reply: as many wrong signatures came as one may send.
    pub fn is_over(&self) -> bool {
        self.wrong_signatures >= WRONG_SIGNATURES_MAX
    }

    /// Returns the client's address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Appends that a member is logged in, and protects the accounts that it trades for.
    fn protect(&self, documents: &mut Documents, member: &str, grace: Grace) {
        let rights = self.principal.as_ref().map(Principal::rights);
        let accounts = rights.map(|rights| rights.traded()).unwrap_or_default();
        match accounts.len() {
            1..=PROTECTED_ACCOUNTS_MAX => {
                documents.say_and_protect("logged-in", ("member", member), &accounts, grace);
            }
            count => documents.say_and_refuse("logged-in", ("member", member), &Unprotected(count).to_string()),
        }
    }

    /// Returns the member's name; `None` where the client has proven nothing.
    pub fn member(&self) -> Option<&str> {
        self.principal.as_ref().map(Principal::member)
    }

    /// Returns the source that its heavy requests count for.
    pub fn source(&self) -> Source {
        self.member().map_or_else(Source::connection, Source::member)
    }

    #[cfg(test)]
    fn principal(&self) -> Option<&Principal> {
        self.principal.as_ref()
    }

    fn log_in(&mut self, desk: &Desk, login: &Login) -> LoggedIn {
        let (key, proven) = match login {
            Login::Asks => {
                let past = self.principal.as_ref().and_then(|principal| principal.rights().limits.has_room().err());
                return past.map_or_else(|| self.new_challenge(), |past| LoggedIn::Refused(Refused::Past(past)));
            }
            Login::Secret { .. } if !self.private => return LoggedIn::Refused(Refused::NotPrivate),
            Login::Secret { key, secret } => (key, desk.access.by_secret(key, secret, SystemTime::now())),
            Login::Signature { key, signature } => match self.challenge.take() {
                None => return LoggedIn::Refused(Refused::NoChallenge),
                Some(challenge) => {
                    let proven = by_signature(desk, key, &challenge, signature);
                    self.wrong_signatures = self.wrong_signatures.saturating_add(u8::from(proven.is_none()));
                    (key, proven)
                }
            },
        };
        match proven {
            Some(principal) => {
                let member = principal.member().to_owned();
                // The exchange counts the login among the member's messages.
                let room = principal.rights().limits.has_room();
                if let Err(past) = room.and_then(|()| self.become_member(principal)) {
                    return LoggedIn::Refused(Refused::Past(past));
                }
                tracing::debug!(member, address = %self.address, "logged in over XML");
                LoggedIn::As(member)
            }
            // Replies come in order, so none is held back: a wrong one before its turn gets the time to wait. A right
            // one waits for nothing, because nobody can guess it.
            None => LoggedIn::Refused(match desk.access.tries().wrong(self.address, key, Instant::now()) {
                Ok(()) => Refused::Wrong,
                Err(patience) => Refused::TooSoon(patience),
            }),
        }
    }

    fn new_challenge(&mut self) -> LoggedIn {
        let Ok(challenge) = random_text() else {
            return LoggedIn::Refused(Refused::NoRandomness);
        };
        self.challenge = Some(challenge.clone());
        LoggedIn::Challenge(challenge)
    }
}

fn by_signature(desk: &Desk, key: &str, challenge: &str, signature: &str) -> Option<Principal> {
    let signed = [SIGNED_BEFORE.as_bytes(), challenge.as_bytes()];
    desk.access.by_signature(key, &signed, signature, SystemTime::now())
}

/// The refusal to protect any of this many accounts.
struct Unprotected(usize);

impl fmt::Display for Unprotected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cancel-on-disconnect protects nothing: ")?;
        match self.0 {
            0 => f.write_str("no accounts are named that this member trades for")?,
            count => write!(
                f,
                "this member trades for {count} accounts, and one connection may protect {PROTECTED_ACCOUNTS_MAX}"
            )?,
        }
        f.write_str("; ask for each: <transactions id=\"…\"><protect grace=\"…\"/></transactions>")
    }
}

impl Refused {
    /// Returns the reason as it is counted; `None` where the client is not at fault.
    fn reason(&self) -> Option<TurnedAway> {
        match self {
            Refused::Wrong => Some(TurnedAway::WrongProof),
            Refused::TooSoon(_) => Some(TurnedAway::TooManyTries),
            Refused::NotPrivate | Refused::NoChallenge => Some(TurnedAway::Unproven),
            Refused::Past(_) => Some(TurnedAway::PastLimit),
            Refused::NoRandomness => None,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::NotPrivate => f.write_str(
                "login refused: a secret may be sent over TLS or from this machine only; sign a challenge instead: <login key=\"…\"/>",
            ),
            Refused::NoChallenge => f.write_str(
                "login refused: no challenge waits to be signed on this connection; ask for one: <login key=\"…\"/>",
            ),
            Refused::NoRandomness => f.write_str("login refused: the server has no randomness for a challenge; try again"),
            Refused::Past(limit) => write!(f, "login refused: {limit}"),
            Refused::TooSoon(patience) => write!(
                f,
                "login refused: too many wrong ones came for this key from this address; try again in {} s",
                patience.as_secs() + 1
            ),
            Refused::Wrong => f.write_str("login refused: no valid key is proven by this"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "a-secret-of-some-length";

    fn asker(address: &str) -> Asker {
        let certified = "ab".repeat(32);
        let text = format!(
            "[[member]]\nname = \"alice\"\nroles = [\"trader\"]\n\
             [[member.key]]\nid = \"k\"\nsecret = \"{SECRET}\"\n\
             [[member.key]]\nid = \"c\"\ncertificate = \"{certified}\"\n"
        );
        let access = Access::parse(&text).expect("an access file");
        let desk = Arc::new(Desk::new(access));
        Asker::of(Some(&desk), address.parse().expect("an address"), false).expect("members are known")
    }

    fn asks(asker: &mut Asker, login: Login) -> Result<(), String> {
        let desk = asker.desk.clone().expect("members are known");
        match asker.log_in(&desk, &login) {
            LoggedIn::As(_) | LoggedIn::Challenge(_) => Ok(()),
            LoggedIn::Refused(why) => Err(why.to_string()),
        }
    }

    fn secret() -> Login {
        Login::Secret { key: "k".to_owned(), secret: SECRET.to_owned() }
    }

    #[test]
    fn a_secret_is_taken_where_nobody_listens() {
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.9"] {
            assert_eq!(asks(&mut asker(address), secret()), Ok(()), "{address}");
        }
        let mut far = asker("192.0.2.1");
        assert!(asks(&mut far, secret()).is_err_and(|why| why.contains("may be sent over TLS")));
        assert!(far.principal().is_none());
        let mut encrypted = asker("192.0.2.1");
        encrypted.encrypted(None);
        assert!(encrypted.principal().is_none());
        assert_eq!(asks(&mut encrypted, secret()), Ok(()));
        assert_eq!(asks(&mut far, Login::Asks), Ok(()));
        let challenge = far.challenge.clone().unwrap_or_default();
        let signature = login_signature(SECRET, &challenge);
        assert_eq!(asks(&mut far, Login::Signature { key: "k".to_owned(), signature }), Ok(()));
        assert_eq!(far.principal().map(Principal::member), Some("alice"));
    }

    #[test]
    fn requests_are_whoevers_they_are_on_one_session() {
        let open = asker("127.0.0.1");
        let mut asker = Asker::of(open.desk.as_ref(), open.address, true).expect("members are known");
        let (mut documents, limits) = (Documents::new(), Limits { children_max: 9 });
        let cancel = "<transactions id=\"1\"><cancel id=\"1\"/></transactions>";
        for body in [cancel, &format!("<login key=\"k\" secret=\"{SECRET}\"/>"), cancel, cancel] {
            asker.ask(&mut documents, body.as_bytes(), &limits);
        }
        let asked = |request| documents.requests.caller(request).expect("it is kept");
        let names = [0, 2, 3].map(|request| (asked(request).member(), asked(request).key()));
        assert_eq!(names, [("", ""), ("alice", "k"), ("alice", "k")]);
        assert_eq!((asked(0).session(), asked(2).number()), (asked(3).session(), asked(3).number()));
        assert!(Asker::of(None, open.address, false).is_none());
    }

    #[test]
    fn whoever_has_a_members_certificate_needs_no_login() {
        let mut far = asker("192.0.2.1");
        assert!(far.principal().is_none());
        far.encrypted(Some(&[0xac; 32]));
        assert!(far.principal().is_none());
        far.encrypted(Some(&[0xab; 32]));
        assert_eq!(far.principal().map(Principal::member), Some("alice"));
    }
}
