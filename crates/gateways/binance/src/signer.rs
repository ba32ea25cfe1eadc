//! The holder of a key, and the check of its signatures: keys of the key file, and of the access file.

use exchange::{Principal, Read, Rights, Role, TurnedAway, Unavailable};
use terms::{AccountId, Time};

use crate::keys::Key;
use crate::refusal::Refusal;
use crate::state::BinanceState;
use http_gateway::current_principal::{self, Asker};
use http_gateway::members::{self, Members, NotTaken};

/// The key that a request names.
pub(crate) struct Signer<'a> {
    pub(crate) key: &'a str,
    /// The account for which it trades.
    pub(crate) account: AccountId,
    /// The key of the key file; `None` for a key of the access file.
    known: Option<&'a Key>,
}

/// Finds the key of this name. Errors: there is none.
pub(crate) fn find<'a>(app: &'a BinanceState, key: &'a str) -> Result<Signer<'a>, Refusal> {
    let keys = &app.own()?.keys;
    if let Some(known) = keys.find(key) {
        return Ok(Signer { key, account: known.account, known: Some(known) });
    }
    match app.members() {
        Some(members) => {
            let account = members.access().account_of(key).ok_or_else(|| unknown_key(""))?;
            Ok(Signer { key, account, known: None })
        }
        None if keys.is_empty() => {
            let how = ": this server has no keys; make one with `pricetime keys add FILE --account 1` and start it with \
                       `--keys FILE`";
            Err(unknown_key(how))
        }
        None => Err(unknown_key("")),
    }
}

/// Returns the asker that signed one of these texts with the key of this name. Errors: no existing key signed it. Where
/// there are members, an unknown key gets the same answer as a wrong signature.
pub(crate) fn signer<'a>(
    app: &'a BinanceState,
    key: &'a str,
    texts: &[&[&[u8]]],
    signature: &str,
) -> Result<(Signer<'a>, Option<Asker>), Refusal> {
    let found = find(app, key);
    let Some(members) = app.members() else {
        let signer = found?;
        let is_signed = texts.iter().any(|text| signer.known.is_some_and(|known| known.signed(text, signature)));
        return if is_signed { Ok((signer, None)) } else { Err(wrong_signature()) };
    };
    let known = found.as_ref().ok().and_then(|signer| signer.known);
    let principal = texts.iter().find_map(|text| match known {
        Some(known) => known.signed(text, signature).then(|| trader(known)),
        None => members.signer(key, text, signature),
    });
    let Some(principal) = principal else {
        return Err(wrong_signature());
    };
    Ok((found?, Some(Asker::of(principal))))
}

fn unknown_key(how: &str) -> Refusal {
    current_principal::turned_away(TurnedAway::Unproven);
    Refusal::bad_key(how)
}

fn wrong_signature() -> Refusal {
    current_principal::turned_away(TurnedAway::WrongProof);
    Refusal::bad_signature()
}

/// Returns the holder of a key without a signature, which is enough for an account's stream.
pub(crate) fn holder(members: &Members, signer: &Signer<'_>) -> Option<Asker> {
    let now = std::time::SystemTime::now();
    let principal = match signer.known {
        Some(known) => Some(trader(known)),
        None => members.access().holder(signer.key, now),
    };
    principal.map(Asker::of)
}

/// Makes the principal of a key of the key file: it trades for the key's account.
fn trader(key: &Key) -> Principal {
    Principal::new(
        &key.key,
        Rights { roles: [Role::Trader].into(), accounts: [key.account].into(), ..Rights::default() },
    )
}

/// Goes on as an asker that has signed for an account. Errors: it may not look at the account.
pub(crate) fn go_on_as(app: &BinanceState, asker: Asker, account: AccountId) -> Result<(), Refusal> {
    let mode = app.mode();
    if !asker.rights().may_look_in(mode) {
        current_principal::turned_away(TurnedAway::Closed);
        return Err(Refusal::unavailable(Unavailable::Closed(mode)));
    }
    if !asker.rights().may_read(Read::Account(account)) {
        current_principal::turned_away(TurnedAway::NotTheirs);
        return Err(Refusal::bad_key(""));
    }
    current_principal::becomes(asker);
    Ok(())
}

/// Checks that a change was signed since the server began. Errors: earlier ones may have been done.
pub(crate) fn check_since_start(app: &BinanceState, signed_at: Time) -> Result<(), Refusal> {
    let Some(members) = app.members() else { return Ok(()) };
    members.check_signed_since_start(signed_at).map_err(|why| {
        why.turned_away().into_iter().for_each(current_principal::turned_away);
        not_taken(why)
    })
}

/// Takes a signed request that changes something, once. Requests that only read may come again: clients send equal ones
/// within a millisecond. A signature does not cover the method, so such a request can change nothing later.
pub(crate) async fn take(
    members: &Members,
    (principal, key): (&Principal, &str),
    text: &[&[u8]],
    changes: bool,
    at: Time,
) -> Result<(), NotTaken> {
    let taken = match changes {
        true => members.take_compatible((principal, key), text, at).await,
        false => members.note_compatible(members::Signer { member: principal.member(), key }, text, at),
    };
    taken.inspect_err(|why| why.turned_away().into_iter().for_each(current_principal::turned_away))
}

/// Returns the refusal of a signed request that is not taken.
pub(crate) fn not_taken(why: NotTaken) -> Refusal {
    match why {
        NotTaken::Again => Refusal::sent_before(),
        NotTaken::WasRead => Refusal::sent_to_look(),
        NotTaken::BeforeStart => Refusal::signed_before_start(),
        NotTaken::Away => Refusal::sign_again(),
        NotTaken::PastPace(limit) => Refusal::past_pace(limit),
        NotTaken::Full => Refusal::from(http_gateway::problem::Problem::too_many_tries()),
    }
}
