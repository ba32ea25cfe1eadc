//! The parameters of a request, from its query string, its body, or both, or of a call over the WebSocket API, and the
//! check of their signature.

use std::collections::{BTreeMap, HashSet};

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{Method, StatusCode};
use exchange::TurnedAway;
use terms::{AccountId, Time};

use crate::refusal::Refusal;
use crate::signer::{self, Signer};
use crate::state::BinanceState;
use crate::time_unit::{self, TimeUnit};
use http_gateway::clock::now;
use http_gateway::current_principal::{self, Asker};
use http_gateway::input::digits;

/// Microseconds after which a signed request is too old: by default, and at most.
const WINDOW: u64 = 5_000_000;
const WINDOW_MAX: u64 = 60_000_000;
/// Microseconds that a client's clock may be ahead.
const AHEAD_MAX: u64 = 1_000_000;
/// Parameters that every signed request may have.
const OF_SIGNED: [&str; 3] = ["timestamp", "recvWindow", SIGNATURE];

/// A request's parameters.
pub(crate) struct Parameters {
    key: Option<String>,
    /// The unit of times in the answer.
    pub(crate) unit: TimeUnit,
    proof: Proof,
    /// Whether the request is to change something.
    changes: bool,
    /// Whether the request counts once only: it changes something, or opens its connection to its member.
    is_taken_once: bool,
    parameters: Vec<(String, String)>,
}

/// The proof of a request's origin.
enum Proof {
    /// The signature of the query string and the body, as they arrived.
    SignedRequest { query: String, body: Bytes },
    /// The signature of all other parameters of a call, in the order of their names.
    SignedCall(Vec<(String, String)>),
    /// The connection of the call has logged on.
    LoggedOn,
}

/// The parameters of a call that name its key and signature, and ask for the limits.
const API_KEY: &str = "apiKey";
const SIGNATURE: &str = "signature";
pub(crate) const RETURN_RATE_LIMITS: &str = "returnRateLimits";

impl<S: Send + Sync> FromRequest<S> for Parameters {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Parameters, Refusal> {
        let key = request.headers().get("x-mbx-apikey").and_then(|key| key.to_str().ok()).map(str::to_owned);
        let unit = TimeUnit::of(request.headers())?;
        let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
        let query = request.uri().query().unwrap_or_default().to_owned();
        let body = Bytes::from_request(request, state).await;
        let body = body.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => Refusal::too_large(),
            _ => Refusal::new(-1130, rejection.body_text()),
        })?;
        let mut parameters = parsed(query.as_bytes())?;
        parameters.extend(parsed(&body)?);
        let proof = Proof::SignedRequest { query, body };
        Ok(Parameters { key, unit, proof, changes, is_taken_once: changes, parameters })
    }
}

impl Parameters {
    /// Reads the parameters of a call, whose connection has logged on with the key `session`. A call that names a key
    /// or has a signature stands for itself. `changes`: it is to change something, or opens the connection to its
    /// member.
    pub(crate) fn of_call(
        mut sent: BTreeMap<String, String>,
        session: Option<&str>,
        (changes, opens): (bool, bool),
        unit: TimeUnit,
    ) -> Parameters {
        let is_by_itself = session.is_none() || [API_KEY, SIGNATURE].iter().any(|name| sent.contains_key(*name));
        let signed =
            || sent.iter().filter(|(name, _)| *name != SIGNATURE).map(|(name, value)| (name.clone(), value.clone()));
        let proof = if is_by_itself { Proof::SignedCall(signed().collect()) } else { Proof::LoggedOn };
        let key = sent.remove(API_KEY).or_else(|| session.map(str::to_owned));
        sent.remove(RETURN_RATE_LIMITS);
        let parameters = sent.into_iter().collect();
        Parameters { key, unit, proof, changes, is_taken_once: changes || opens, parameters }
    }

    /// Returns the parameters of a part of the request; the origin is checked for the whole request.
    pub(crate) fn part<'a>(&self, parameters: impl Iterator<Item = (&'a str, &'a str)>) -> Parameters {
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let Parameters { unit, changes, is_taken_once, .. } = *self;
        Parameters { key: None, unit, proof: Proof::LoggedOn, changes, is_taken_once, parameters }
    }

    /// Reads the parameters of a request that goes nowhere.
    #[cfg(feature = "fuzz")]
    pub(crate) fn read_alone(query: &[u8], body: &[u8]) -> Result<Parameters, Refusal> {
        let mut parameters = parsed(query)?;
        parameters.extend(parsed(body)?);
        let unit = TimeUnit::Millisecond;
        Ok(Parameters { key: None, unit, proof: Proof::LoggedOn, changes: true, is_taken_once: true, parameters })
    }

    /// Returns a parameter. The query's counts if the body has it too.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    pub(crate) fn needed(&self, name: &str) -> Result<&str, Refusal> {
        self.text(name).ok_or_else(|| Refusal::missing(name))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().map(|(name, _)| name.as_str())
    }

    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Refusal> {
        self.text(name).map(|text| number(name, text)).transpose()
    }

    /// Reads a time.
    pub(crate) fn time(&self, name: &str) -> Result<Option<Time>, Refusal> {
        Ok(self.number(name)?.map(time_unit::sent))
    }

    /// Reads the end of a range that includes this time.
    pub(crate) fn end(&self, name: &str) -> Result<Option<Time>, Refusal> {
        Ok(self.number(name)?.map(time_unit::end_of_sent))
    }

    /// Checks that the request has only known parameters. Errors: another one would ask for something that would not be
    /// done.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Refusal> {
        let is_known = |name: &&str| known.contains(name);
        match self.names().find(|name| !is_known(name)) {
            None => Ok(()),
            Some(unknown) => {
                let read = self.names().filter(is_known).count();
                Err(Refusal::unread(read, self.parameters.len(), unknown))
            }
        }
    }

    /// Checks that a signed request has only these parameters and those of its signature.
    pub(crate) fn only_signed(&self, known: &[&str]) -> Result<(), Refusal> {
        self.only(&[known, &OF_SIGNED].concat())
    }

    /// Checks that a request about a listen key has only these parameters. It may be signed.
    pub(crate) fn only_of_listener(&self, known: &[&str]) -> Result<(), Refusal> {
        if self.text(SIGNATURE).is_some() { self.only_signed(known) } else { self.only(known) }
    }

    /// Reads how many to show; a higher number counts as `most`.
    pub(crate) fn limit(&self, usual: usize, most: usize) -> Result<usize, Refusal> {
        match self.number("limit")? {
            None => Ok(usual),
            Some(0) => Err(Refusal::invalid("limit", "it is 1 at least")),
            Some(limit) => Ok(usize::try_from(limit).unwrap_or(most).min(most)),
        }
    }

    /// Finds the key that the request names.
    pub(crate) fn key<'a>(&'a self, app: &'a BinanceState) -> Result<Signer<'a>, Refusal> {
        signer::find(app, self.key_name()?)
    }

    /// Finds the key of a request about a listen key. Its proof is a signature, a session of the key's member, or a
    /// random name of the key, which cannot be guessed; `is_private` says that nobody else reads the connection.
    /// Without members a name is enough. Errors: none of these, or the member may not look at the key's account.
    pub(crate) async fn holder<'a>(
        &'a self,
        app: &'a BinanceState,
        is_private: bool,
    ) -> Result<(Signer<'a>, Option<Asker>), Refusal> {
        if self.text(SIGNATURE).is_some() {
            self.account(app).await?;
            current_principal::take_message().map_err(Refusal::past_pace)?;
            return Ok((self.key(app)?, current_principal::asker()));
        }
        let Some(members) = app.members() else { return Ok((self.key(app)?, None)) };
        let name = self.key_name()?;
        // The answer does not reveal which keys exist.
        let found = self.key(app).ok().and_then(|signer| signer::holder(members, &signer).map(|asker| (signer, asker)));
        let is_of_session = |holder: &Asker| {
            current_principal::asker().is_some_and(|asker| asker.principal.member() == holder.principal.member())
        };
        match found {
            Some((signer, holder)) if is_of_session(&holder) || is_private && access::is_random_name(name) => {
                current_principal::take_message_as(&holder).map_err(Refusal::past_pace)?;
                signer::go_on_as(app, holder.clone(), signer.account)?;
                Ok((signer, Some(holder)))
            }
            found => {
                // A chosen name proves nothing, whoever has it: a client that sends one is not guessing.
                let is_guessed = found.is_none() && access::is_random_name(name);
                current_principal::turned_away(if is_guessed { TurnedAway::WrongProof } else { TurnedAway::Unproven });
                Err(Refusal::name_is_no_proof())
            }
        }
    }

    fn key_name(&self) -> Result<&str, Refusal> {
        self.key.as_deref().filter(|key| !key.is_empty()).ok_or_else(|| {
            current_principal::turned_away(TurnedAway::Unproven);
            Refusal::no_key()
        })
    }

    /// Checks that the request names a key.
    pub(crate) fn names_key(&self) -> Result<(), Refusal> {
        self.key_name().map(drop)
    }

    /// Checks the time and window of a request that need not be signed and may look like it. Errors: one of them is
    /// invalid.
    pub(crate) fn unchecked_time(&self) -> Result<(), Refusal> {
        self.time("timestamp")?;
        self.text("recvWindow").map(window).transpose().map(drop)
    }

    /// Returns the account of the request, if it is signed and recent.
    pub(crate) async fn account(&self, app: &BinanceState) -> Result<AccountId, Refusal> {
        let key = self.key_name()?;
        if app.members().is_none() {
            // An unknown key is refused before other faults.
            signer::find(app, key)?;
        }
        let timestamp = self.time("timestamp")?.ok_or_else(|| Refusal::missing("timestamp"))?;
        // Verifying a signature is dear, and one of another time counts for nobody.
        check_time(timestamp, self.text("recvWindow").map(window).transpose()?)?;
        if self.is_taken_once && !matches!(self.proof, Proof::LoggedOn) {
            signer::check_since_start(app, timestamp)?;
        }
        let signed: Vec<Vec<u8>> = match &self.proof {
            Proof::SignedRequest { query, body } => vec![[unsigned(query.as_bytes()), unsigned(body)].concat()],
            Proof::SignedCall(others) => as_signed(others).map(String::into_bytes).into(),
            Proof::LoggedOn => Vec::new(),
        };
        let (account, asker) = match &self.proof {
            // The asker is the one that logged on.
            Proof::LoggedOn => (signer::find(app, key)?.account, current_principal::asker()),
            Proof::SignedRequest { .. } | Proof::SignedCall(_) => {
                let texts: Vec<[&[u8]; 1]> = signed.iter().map(|text| [text.as_slice()]).collect();
                let texts: Vec<&[&[u8]]> = texts.iter().map(<[&[u8]; 1]>::as_slice).collect();
                let (signer, asker) = signer::signer(app, key, &texts, self.needed(SIGNATURE)?)?;
                (signer.account, asker)
            }
        };
        if let Some(members) = app.members() {
            let asker = asker.ok_or_else(Refusal::no_key)?;
            if let Some(text) = signed.first() {
                let its = (&asker.principal, key);
                if let Err(why) = signer::take(members, its, &[text], self.is_taken_once, timestamp).await {
                    // A replay counts for the connection that sent it. Verifying another one cost time, so it counts
                    // as a message of its member.
                    let counted = if why.is_replay() { Ok(()) } else { current_principal::take_message_as(&asker) };
                    return Err(counted.map_or_else(Refusal::past_pace, |()| signer::not_taken(why)));
                }
            }
            let past = if self.changes { None } else { current_principal::take_message_as(&asker).err() };
            past.map_or(Ok(()), |past| Err(Refusal::past_pace(past)))?;
            signer::go_on_as(app, asker, account)?;
        }
        Ok(account)
    }
}

/// Reads a number: digits only, without other forms that a parser takes.
fn number(name: &str, text: &str) -> Result<u64, Refusal> {
    let number = Some(text).filter(|text| digits(text)).and_then(|text| text.parse().ok());
    number.ok_or_else(|| Refusal::illegal(name, "^[0-9]{1,20}$"))
}

/// Reads a window in microseconds: milliseconds with up to three decimals.
fn window(text: &str) -> Result<u64, Refusal> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_decimal = digits(whole) && digits(decimals) && decimals.len() <= 3;
    let micros = is_decimal.then(|| format!("{whole}{decimals:0<3}").parse().ok()).flatten();
    micros.ok_or_else(|| Refusal::illegal("recvWindow", r"^[0-9]{1,17}(\.[0-9]{1,3})?$"))
}

/// Checks that a signed request is recent: no older than its window in microseconds.
fn check_time(Time(timestamp): Time, window: Option<u64>) -> Result<(), Refusal> {
    let (now, window) = (now(), window.unwrap_or(WINDOW));
    if window > WINDOW_MAX {
        return Err(Refusal::new(-1131, format!("recvWindow must be less than {}.", WINDOW_MAX / 1000)));
    }
    if timestamp > now.saturating_add(AHEAD_MAX) {
        let msg = format!("Timestamp for this request was {}ms ahead of the server's time.", AHEAD_MAX / 1000);
        return Err(Refusal::new(-1021, msg));
    }
    if timestamp.saturating_add(window) < now {
        return Err(Refusal::new(-1021, "Timestamp for this request is outside of the recvWindow."));
    }
    Ok(())
}

/// Parses parameters. Errors: two have the same name.
fn parsed(text: &[u8]) -> Result<Vec<(String, String)>, Refusal> {
    let mut names = HashSet::new();
    let parsed = form_urlencoded::parse(text).map(|(name, value)| match names.insert(name.clone()) {
        true => Ok((name.into_owned(), value.into_owned())),
        false => Err(Refusal::new(-1101, format!("Duplicate values for parameter '{name}'."))),
    });
    parsed.collect()
}

/// Removes the signature from parameters as they arrived: it signs the others.
fn unsigned(text: &[u8]) -> Vec<u8> {
    let others: Vec<&[u8]> = text.split(|byte| *byte == b'&').filter(|part| !part.starts_with(b"signature=")).collect();
    others.join(&b'&')
}

/// Returns the texts that a client may have signed: parameters as they are, or encoded as in a query string. Few
/// differ.
fn as_signed(parameters: &[(String, String)]) -> [String; 2] {
    let plain: Vec<String> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
    [plain.join("&"), form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish()]
}

#[cfg(test)]
mod tests {
    use super::window as window_of;
    use super::*;

    #[test]
    fn the_signature_is_of_all_but_itself() {
        assert_eq!(unsigned(b"a=1&b=%20&signature=ff"), b"a=1&b=%20");
        assert_eq!(unsigned(b"signature=ff&a=1"), b"a=1");
        assert_eq!(unsigned(b"signature=ff"), b"");
        assert_eq!(unsigned(b""), b"");
    }

    #[test]
    fn a_request_is_of_now() {
        let now = now();
        let checked = |timestamp: u64, window: Option<&str>| {
            let window = window.map(|text| window_of(text).expect("a window"));
            check_time(Time(timestamp), window).err().map(|refusal| refusal.code)
        };
        assert_eq!(checked(now, None), None);
        assert_eq!(checked(now - 3_000_000, Some("60000")), None);
        assert_eq!(checked(now - 3_000_000, Some("1")), Some(-1021));
        assert_eq!(checked(now - 3_000_000, Some("2999.999")), Some(-1021));
        assert_eq!(checked(now + 60_000_000, None), Some(-1021));
        assert_eq!(checked(now, Some("60000.0")), None);
        assert_eq!(checked(now, Some("60000.001")), Some(-1131));
        assert_eq!(checked(u64::MAX, Some("60000")), Some(-1021));
        assert_eq!(checked(0, None), Some(-1021));
    }

    #[test]
    fn a_window_has_up_to_three_decimals() {
        for (text, micros) in [("5000", 5_000_000), ("5000.5", 5_000_500), ("0.001", 1), ("6.346", 6_346)] {
            assert_eq!(window_of(text), Ok(micros), "{text}");
        }
        for wrong in ["", ".", "1.", ".1", "1.0000", "-1", "1.-1", "1e3", " 1", "1.2.3", "99999999999999999999"] {
            assert_eq!(window_of(wrong).err().map(|refusal| refusal.code), Some(-1100), "{wrong}");
        }
    }
}
