//! Who asks, on one connection: from its first byte, and after each login. Secrets are compared in `access`; here stands what may be
//! sent where, and what a client is told.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use access::{Access, Algorithm, hmac_hex, random_text};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use exchange::{NotKilled, Principal, member_kill};

use crate::document::{Documents, Limits, Login};

/// Stands before a challenge where it is signed, so that the signature is good for nothing else.
const SIGNED_BEFORE: &str = "pricetime-login:";

/// What a client with this secret answers to a challenge.
pub fn login_signature(secret: &str, challenge: &str) -> String {
    hmac_hex(secret, &[SIGNED_BEFORE.as_bytes(), challenge.as_bytes()])
}

/// Where those who log in are checked, for all connections.
#[derive(Clone, Debug)]
pub struct Desk {
    access: Access,
}

/// Who asks on a connection.
pub(crate) struct Asker {
    desk: Arc<Desk>,
    address: IpAddr,
    /// Nobody else reads what is sent.
    private: bool,
    /// None: nobody has proven anything.
    principal: Option<Principal>,
    /// What is to be signed. It is used once.
    challenge: Option<String>,
}

/// What a login came to.
enum LoggedIn {
    /// From now on requests are this member's.
    As(String),
    /// This is to be signed.
    Challenge(String),
    Refused(Refused),
}

/// Why a login was refused. A key that there is not, a wrong secret and one that has expired are told apart nowhere.
enum Refused {
    NotPrivate,
    NoChallenge,
    NoRandomness,
    TooSoon(Duration),
    Wrong,
}

impl Desk {
    /// For the members and keys that there are.
    pub fn new(access: Access) -> Desk {
        Desk { access }
    }
}

impl Asker {
    /// Of a new connection.
    pub fn new(desk: &Arc<Desk>, address: IpAddr) -> Asker {
        let principal = desk.access.by_address(address, SystemTime::now());
        let private = address.to_canonical().is_loopback();
        Asker { desk: Arc::clone(desk), address, private, principal, challenge: None }
    }

    /// The connection is encrypted from now on. `certificate`: the SHA-256 of one that it has proven to have.
    pub fn encrypted(&mut self, certificate: Option<&[u8; 32]>) {
        self.private = true;
        let proven = certificate.and_then(|sha256| self.desk.access.by_certificate(sha256, SystemTime::now()));
        self.principal = proven.or(self.principal.take());
    }

    /// Appends a request, which is its member's; a login is followed and answered.
    pub fn ask(&mut self, documents: &mut Documents, body: &[u8], limits: &Limits) {
        let (access, asker) = (&self.desk.access, self.principal.as_ref().map(Principal::rights));
        let of_member = |member: &str, is_killed| {
            let asker = asker.as_deref().ok_or(NotKilled::Unknown)?;
            member_kill(asker, access.rights_of(member).as_deref(), is_killed)
        };
        if let Some(login) = documents.parse_unless_login(body, limits, &of_member) {
            match self.log_in(&login) {
                LoggedIn::As(member) => documents.say("logged-in", Some(("member", &member)), ""),
                LoggedIn::Challenge(nonce) => documents.say("challenge", Some(("nonce", &nonce)), ""),
                LoggedIn::Refused(why) => documents.say("error", None, &why.to_string()),
            }
        }
        if let Some(principal) = &self.principal {
            documents.requests.asked_by(principal);
        }
    }

    #[cfg(test)]
    fn principal(&self) -> Option<&Principal> {
        self.principal.as_ref()
    }

    fn log_in(&mut self, login: &Login) -> LoggedIn {
        // Replies come in order, so none is held back: whoever comes too soon is told how long to wait, and nothing is compared.
        if let Err(patience) = self.desk.access.tries().may_try(self.address, Instant::now()) {
            return LoggedIn::Refused(Refused::TooSoon(patience));
        }
        let proven = match login {
            Login::Asks => return self.new_challenge(),
            Login::Secret { .. } if !self.private => return LoggedIn::Refused(Refused::NotPrivate),
            Login::Secret { key, secret } => self.desk.access.by_secret(key, secret, SystemTime::now()),
            Login::Signature { key, signature } => match self.challenge.take() {
                None => return LoggedIn::Refused(Refused::NoChallenge),
                Some(challenge) => self.by_signature(key, &challenge, signature),
            },
        };
        match proven {
            Some(principal) => {
                let member = principal.member().to_owned();
                tracing::debug!(member, address = %self.address, "logged in over XML");
                self.principal = Some(principal);
                LoggedIn::As(member)
            }
            None => {
                let _ = self.desk.access.tries().turn(self.address, Instant::now());
                tracing::warn!(address = %self.address, "a login over XML was refused");
                LoggedIn::Refused(Refused::Wrong)
            }
        }
    }

    fn by_signature(&self, key: &str, challenge: &str, signature: &str) -> Option<Principal> {
        let (access, now) = (&self.desk.access, SystemTime::now());
        let signed = [SIGNED_BEFORE.as_bytes(), challenge.as_bytes()];
        match access.key_algorithm(key) {
            Algorithm::Hmac => access.by_hmac(key, &signed, signature, now),
            Algorithm::Ed25519 => {
                let signature = BASE64_STANDARD.decode(signature).unwrap_or_default();
                access.by_ed25519(key, &signed, &signature, now)
            }
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
            Refused::TooSoon(patience) => write!(
                f,
                "login refused: too many wrong ones came from this address; try again in {} s",
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
        Asker::new(&Arc::new(Desk::new(access)), address.parse().expect("an address"))
    }

    fn asks(asker: &mut Asker, login: Login) -> Result<(), String> {
        match asker.log_in(&login) {
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
    fn whoever_has_a_members_certificate_needs_no_login() {
        let mut far = asker("192.0.2.1");
        assert!(far.principal().is_none());
        far.encrypted(Some(&[0xac; 32]));
        assert!(far.principal().is_none());
        far.encrypted(Some(&[0xab; 32]));
        assert_eq!(far.principal().map(Principal::member), Some("alice"));
    }
}
