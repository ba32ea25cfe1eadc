//! The access file: TOML, which only its owner may read.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use exchange::{Mode, Rights, Role};
use serde::Deserialize;
use terms::AccountId;
use toml::Spanned;
use toml::value::Datetime;

use crate::budget::BudgetText;
use crate::limits::LimitsText;
use crate::listing::{KeyKind, ListedKey, ListedMember};
use crate::network::Network;
use crate::proof::{self, Proof, SECRET_BYTES_MAX};
use crate::table::{Entry, ID_BYTES_MAX, Id, Member, Table};
use crate::time::seconds_of;

/// The message about an expiry that is no time.
pub(crate) const NO_TIME: &str = "expires must be like 2027-01-01T00:00:00Z";
/// Bytes of the shortest secret: shorter ones can be guessed.
const SECRET_BYTES_MIN: usize = 16;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    /// The mode of the venue.
    mode: Option<String>,
    #[serde(default, rename = "member")]
    members: Vec<Spanned<MemberText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MemberText {
    name: String,
    #[serde(default)]
    roles: Vec<String>,
    #[serde(default)]
    accounts: Vec<String>,
    limits: Option<LimitsText>,
    budget: Option<BudgetText>,
    #[serde(default, rename = "key")]
    keys: Vec<Spanned<KeyText>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeyText {
    id: String,
    secret: Option<String>,
    secret_hash: Option<String>,
    ed25519: Option<String>,
    certificate: Option<String>,
    address: Option<String>,
    password: Option<String>,
    expires: Option<Datetime>,
}

/// Reads the text of an access file. Errors: it cannot be read, or others may read it.
pub(crate) fn text(path: &Path) -> Result<String, String> {
    let mut file = File::open(path).map_err(|error| format!("{}: {error}", path.display()))?;
    read_secrets(&mut file, path)
}

/// Reads the text of a file that holds secrets. Errors: it cannot be read, or others may read it.
pub fn read_secrets(file: &mut File, path: &Path) -> Result<String, String> {
    let at = |error: std::io::Error| format!("{}: {error}", path.display());
    let mode = file.metadata().map_err(at)?.mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(format!(
            "{}: its mode is {mode:03o}, so others may read the secrets in it or change them; chmod 600 it",
            path.display()
        ));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(at)?;
    Ok(text)
}

/// Parses the keys of an access file. Errors: the line, the member, the field and the fault; never a secret.
pub(crate) fn parse(text: &str) -> Result<Table, String> {
    let mut table = Table::default();
    let mut parsed = 0;
    while parsed < text.len() {
        let part = text.get(parsed..next_part(text, parsed)).unwrap_or_default();
        parse_part(part, &mut table).map_err(|(at, why)| format!("line {}: {why}", line_of(text, parsed + at)))?;
        parsed += part.len();
    }
    table.complete();
    Ok(table)
}

/// Parses the members of an access file, as they are written. Errors: as for `parse`.
pub(crate) fn members(text: &str) -> Result<Vec<ListedMember>, String> {
    parse(text)?;
    let mut members = Vec::new();
    let mut parsed = 0;
    while parsed < text.len() {
        let part = text.get(parsed..next_part(text, parsed)).unwrap_or_default();
        let contents: Contents = toml::from_str(part).map_err(|error| without_values(error.message()))?;
        members.extend(contents.members.iter().map(|member| ListedMember::from(member.get_ref())));
        parsed += part.len();
    }
    Ok(members)
}

/// Returns the end of the part of a long file that begins here: parts end between two members. Parsed at once, a
/// million members would take gigabytes, and most of the time for them.
fn next_part(text: &str, begin: usize) -> usize {
    const PART_BYTES: usize = 64 << 10;
    let next = text.as_bytes().get(begin + PART_BYTES..).and_then(|rest| find(rest, b"\n[[member]]"));
    next.map_or(text.len(), |at| begin + PART_BYTES + at + 1)
}

fn find(text: &[u8], sought: &[u8]) -> Option<usize> {
    text.windows(sought.len()).position(|window| window == sought)
}

/// Parses one part. Errors: the offset and the fault.
fn parse_part(text: &str, table: &mut Table) -> Result<(), (usize, String)> {
    let contents: Contents = toml::from_str(text).map_err(|error| {
        // The error's own text would show the line, which may hold a secret.
        (error.span().map_or(0, |span| span.start), without_values(error.message()))
    })?;
    if let Some(mode) = &contents.mode {
        table.mode = mode_named(mode).map_err(|why| (0, why))?;
    }
    for written in &contents.members {
        let at = |start: usize, why: String| (start, format!("member {:?}: {why}", written.get_ref().name));
        let member = member(written.get_ref()).map_err(|why| at(written.span().start, why))?;
        let member = Arc::new(member);
        if !table.insert_member(&member) {
            return Err(at(written.span().start, "an earlier one has the same name".to_owned()));
        }
        for key in &written.get_ref().keys {
            let entry = entry(key.get_ref(), &member);
            let inserted = entry.and_then(|entry| table.insert(entry).map_err(str::to_owned));
            inserted.map_err(|why| at(key.span().start, format!("key {:?}: {why}", key.get_ref().id)))?;
        }
    }
    Ok(())
}

fn line_of(text: &str, at: usize) -> usize {
    text.get(..at).map_or(1, |before| before.matches('\n').count() + 1)
}

/// Removes quoted values from a message: one of them may be a secret that stands in the wrong place.
fn without_values(message: &str) -> String {
    let outside: Vec<&str> = message.split('"').step_by(2).collect();
    outside.join("\"…\"")
}

/// Checks that a name has letters, digits and a few signs only, so that it can be shown and sent anywhere.
pub fn check_name(field: &str, name: &str) -> Result<(), String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:@".contains(&byte);
    if name.is_empty() || name.len() > ID_BYTES_MAX {
        return Err(format!("{field} has {} bytes; it must have 1 to {ID_BYTES_MAX}", name.len()));
    }
    match name.bytes().all(fits) {
        true => Ok(()),
        false => Err(format!("{field} has other characters than letters, digits and . _ - : @")),
    }
}

/// Finds the mode of this name.
pub(crate) fn mode_named(name: &str) -> Result<Mode, String> {
    Mode::named(name).ok_or_else(|| format!("mode is one of {}", Mode::ALL.map(Mode::name).join(", ")))
}

fn member(written: &MemberText) -> Result<Member, String> {
    check_name("name", &written.name)?;
    let role = |name: &String| {
        Role::named(name).ok_or_else(|| {
            let names: Vec<&str> = Role::ALL.into_iter().map(Role::name).collect();
            format!("roles has one that there is not; there are {}", names.join(", "))
        })
    };
    let account = |id: &String| AccountId::parse(id.as_bytes()).map_err(|why| format!("accounts has one that {why}"));
    let roles = written.roles.iter().map(role).collect::<Result<Vec<Role>, String>>()?;
    let accounts = written.accounts.iter().map(account).collect::<Result<Vec<AccountId>, String>>()?;
    let first_account = accounts.first().copied();
    let limits = written.limits.as_ref().map(LimitsText::limits).transpose()?.unwrap_or_default();
    let budget = written.budget.as_ref().map(|budget| budget.of(&roles)).transpose()?.unwrap_or_default();
    let rights = Arc::new(Rights {
        roles: roles.into_iter().collect(),
        accounts: accounts.into_iter().collect(),
        limits,
        budget,
    });
    Ok(Member { name: written.name.clone(), rights, first_account })
}

fn entry(written: &KeyText, member: &Arc<Member>) -> Result<Entry, String> {
    check_name("id", &written.id)?;
    let expires = match &written.expires {
        None => None,
        Some(time) => Some(seconds_of(time).ok_or(NO_TIME)?),
    };
    let id = Id::new(&written.id).ok_or("id is too long")?;
    Ok(Entry::new(id, member, proof(written)?, expires))
}

fn proof(written: &KeyText) -> Result<Proof, String> {
    let KeyText { secret, secret_hash, ed25519, certificate, address, password, .. } = written;
    let mut proofs = [
        secret.as_deref().map(secret_proof),
        secret_hash.as_deref().map(secret_hash_proof),
        ed25519.as_deref().map(ed25519_proof),
        certificate.as_deref().map(certificate_proof),
        address.as_deref().map(|text| Network::parse(text).map(Proof::Address).map_err(|why| format!("address {why}"))),
        password.as_deref().map(|text| {
            let hash = proof::password_hash(text).map_err(|why| format!("password {why}"))?;
            Ok(Proof::Password(Box::new(hash)))
        }),
    ]
    .into_iter()
    .flatten();
    match (proofs.next(), proofs.next()) {
        (Some(proof), None) => proof,
        _ => Err("must have one of secret, secret_hash, ed25519, certificate, address and password".to_owned()),
    }
}

fn secret_proof(text: &str) -> Result<Proof, String> {
    match (SECRET_BYTES_MIN..=SECRET_BYTES_MAX).contains(&text.len()) {
        true => Ok(Proof::secret(text)),
        false => Err(format!("secret has {} bytes; it must have {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX}", text.len())),
    }
}

fn secret_hash_proof(text: &str) -> Result<Proof, String> {
    let hash = text.strip_prefix("sha256:").and_then(proof::bytes_32);
    hash.map(Proof::SecretHash).ok_or("secret_hash must be sha256: and 64 hexadecimal digits".to_owned())
}

fn ed25519_proof(text: &str) -> Result<Proof, String> {
    let key = proof::public_key(text).ok_or("ed25519 is no public key of Ed25519, in PEM or base64")?;
    Ok(Proof::Ed25519(Box::new(key)))
}

/// Reads a fingerprint, which is often written with colons.
fn certificate_proof(text: &str) -> Result<Proof, String> {
    let hash = proof::bytes_32(&text.replace(':', ""));
    hash.map(Proof::Certificate).ok_or("certificate must be a SHA-256 fingerprint: 64 hexadecimal digits".to_owned())
}

impl From<&MemberText> for ListedMember {
    fn from(member: &MemberText) -> ListedMember {
        ListedMember {
            name: member.name.clone(),
            roles: member.roles.clone(),
            accounts: member.accounts.clone(),
            limits: member.limits.clone(),
            budget: member.budget.clone(),
            keys: member.keys.iter().map(|key| ListedKey::from(key.get_ref())).collect(),
        }
    }
}

impl From<&KeyText> for ListedKey {
    fn from(key: &KeyText) -> ListedKey {
        let fields = [&key.secret, &key.secret_hash, &key.ed25519, &key.certificate, &key.address, &key.password];
        let kind = KeyKind::ALL.into_iter().zip(fields).find(|(_, field)| field.is_some());
        ListedKey {
            id: key.id.clone(),
            kind: kind.map_or(KeyKind::Hmac, |(kind, _)| kind),
            expires: key.expires.map(|time| time.to_string()),
        }
    }
}
