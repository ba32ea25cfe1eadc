//! Opens the members of this server, and refuses to be open to anyone by mistake.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use access::{Access, SealingKeys, Watch};
use cluster::LogUrl;
use exchange::{Exchange, Guarded, Metrics, Newcomers};
use http_gateway::Elsewhere;
use market::Failed;
use market::recovery::HAS_MEMBERS_NAME;
use store::StoreUrl;

use crate::common_members::Common;
use crate::settings::Settings;
use crate::store_location::StoreLocation;

/// The access file in the data folder, which counts without a setting.
pub const FILE_NAME: &str = "access.toml";

/// The members of a running server. Their file is followed until this is dropped.
pub struct Members {
    pub access: Access,
    /// The other servers with the same members; none where this is the only one.
    pub elsewhere: Option<Elsewhere>,
    _watch: Watch,
}

/// Opens the members; none where anyone may do anything. `failed` ends the server later. Errors: the access file cannot
/// be read, or there is none and the server would be open to other machines.
pub fn open(settings: &Settings, metrics: &Metrics, failed: Failed) -> Result<Option<Members>, String> {
    if let StoreLocation::Log(url) = &settings.store {
        return open_in_common(url, settings, metrics, failed);
    }
    let Some(path) = file(settings) else {
        refuse_strangers(settings)?;
        return Ok(None);
    };
    let (access, watch) = Access::follow(&path).map_err(|why| match path.exists() {
        true => why,
        false => none_there(&why, &path),
    })?;
    Ok(Some(Members { access, elsewhere: None, _watch: watch }))
}

/// Opens the members of a cluster's node, which it shares with the other nodes. Errors also: the log cannot be asked,
/// or the key is missing or wrong.
fn open_in_common(
    url: &LogUrl,
    settings: &Settings,
    metrics: &Metrics,
    failed: Failed,
) -> Result<Option<Members>, String> {
    let has_key = has_key(settings);
    if let Some(path) = file(settings).filter(|_| !has_key) {
        return Err(format!(
            "{} names members, which the nodes of a cluster have in common: give all nodes the key that seals them in the log with \
             --members-key; `pricetime cluster key FILE` makes one",
            path.display()
        ));
    }
    let common = Common::open(url, settings.store_patience.0, metrics.clone())?;
    let joined = match has_key {
        true => {
            let path = file(settings).unwrap_or_else(|| settings.data.join(FILE_NAME));
            let keys = SealingKeys::read(&settings.members_key)?;
            common.join(&path, keys, settings.read_only, Arc::clone(&failed))?
        }
        false => common.refuse_members().map(|()| None)?,
    };
    if let Some((access, watch)) = joined {
        return Ok(Some(Members { access, elsewhere: Some(common.elsewhere()), _watch: watch }));
    }
    if has_key {
        // Others may have members that the log does not have yet.
        let path = file(settings).unwrap_or_else(|| settings.data.join(FILE_NAME));
        let why = "--members-key says that the cluster has members, and neither its log nor this node has any: start a node that has \
                   some first, or give this one an access file";
        return Err(none_there(why, &path));
    }
    refuse_strangers(settings)?;
    common.end_when_there_are_members(failed)?;
    Ok(None)
}

/// Refuses to open a market to everybody that had members. Errors: its data folder says that it had some, and no
/// setting says who they are or that it is open to anyone. A log that was recovered does not know of members, so a
/// node's folder says so, too.
pub fn refuse_forgotten(settings: &Settings) -> Result<(), String> {
    if has_some(settings) || settings.open_to_anyone || !is_marked(&settings.data) {
        return Ok(());
    }
    let (fault, way) = match is_in_common(settings) {
        true => ("this node has no key to them", "Give it the key with --members-key".to_owned()),
        false => ("there is no access file", way_back(settings)),
    };
    let none_more = format!("remove the file {}", settings.data.join(HAS_MEMBERS_NAME).display());
    Err(forgotten(settings.data.display(), fault, &way, &none_more))
}

/// Refuses to open a market in a database to everybody that had members. Errors: it had some, and nobody says who they
/// are or that it is open to anyone.
pub fn refuse_forgotten_in_rows(settings: &Settings, url: &StoreUrl, has_members: bool) -> Result<(), String> {
    match has_members && !settings.open_to_anyone {
        true => {
            let none_more = "run `set pricetime.server = 'on'; update pricetime.market set has_members = false` in it";
            Err(forgotten(url, "there is no access file", &way_back(settings), none_more))
        }
        false => Ok(()),
    }
}

fn way_back(settings: &Settings) -> String {
    format!("Put the file back to {} or name it with --access", settings.data.join(FILE_NAME).display())
}

/// Notes durably in the data folder of an opened market that it has members, if it has some. Errors: the folder cannot
/// be written.
pub fn note_known(settings: &Settings) -> Result<(), String> {
    match has_some(settings) {
        true => mark(&settings.data),
        false => Ok(()),
    }
}

/// Whether the settings name members, or the key to those of a cluster.
fn has_some(settings: &Settings) -> bool {
    are_known(settings) || (is_in_common(settings) && has_key(settings))
}

/// Whether several nodes have their members in common.
fn is_in_common(settings: &Settings) -> bool {
    matches!(settings.store, StoreLocation::Log(_))
}

fn forgotten(place: impl Display, fault: &str, way: &str, none_more: &str) -> String {
    format!(
        "the market in {place} has members, and {fault}: everybody could trade with every account. {way}; or say --open-to-anyone; \
         or {none_more}, if the market is to have no members any more"
    )
}

/// Whether it is noted in a data folder that its market has members.
pub fn is_marked(data: &Path) -> bool {
    data.join(HAS_MEMBERS_NAME).exists()
}

/// Notes durably in a data folder that its market has members, if that is not noted yet.
pub fn mark(data: &Path) -> Result<(), String> {
    let path = data.join(HAS_MEMBERS_NAME);
    match path.exists() {
        true => Ok(()),
        false => note(&path).map_err(|error| {
            // The next start must not take a note that may not be durable for one.
            let _ = std::fs::remove_file(&path);
            format!("{}: {error}", path.display())
        }),
    }
}

fn note(path: &Path) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(b"This market has members: it is served with their access file alone, or with --open-to-anyone.\n")?;
    file.sync_all()?;
    File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

fn none_there(why: &str, path: &Path) -> String {
    format!("{why}; `pricetime access add {} --member alice --role operator` makes one", path.display())
}

/// The exchange for gateways: with members, one that lets each do only what it may.
pub fn guarded(members: Option<&Members>, exchange: Arc<dyn Exchange>) -> Arc<dyn Exchange> {
    match members {
        Some(members) => Arc::new(Guarded::new(exchange, members.access.mode().clone())),
        None => exchange,
    }
}

/// The desk at which members of the XML protocol log in.
pub fn desk(members: Option<&Members>) -> Option<Arc<xml::Desk>> {
    members.map(|Members { access, .. }| Arc::new(xml::Desk::new(access.clone())))
}

/// Whether the server keeps the callers of commands.
pub fn audits(settings: &Settings) -> bool {
    settings.audit || are_known(settings)
}

fn file(settings: &Settings) -> Option<PathBuf> {
    let in_the_data_folder = settings.data.join(FILE_NAME);
    match settings.access.as_os_str().is_empty() {
        false => Some(settings.access.clone()),
        true => in_the_data_folder.exists().then_some(in_the_data_folder),
    }
}

/// Whether the nodes of a cluster seal their members with a key.
fn has_key(settings: &Settings) -> bool {
    !settings.members_key.as_os_str().is_empty()
}

/// Whether there is an access file.
pub fn are_known(settings: &Settings) -> bool {
    file(settings).is_some()
}

/// The treatment of new connections when all places are taken.
pub fn newcomers(settings: &Settings) -> Newcomers {
    match (are_known(settings), open_address(settings)) {
        (true, _) => Newcomers::MayProve,
        (false, Some(_)) => Newcomers::Share,
        (false, None) => Newcomers::Wait,
    }
}

/// Refuses to listen where other machines reach it, without members or permission. Errors: it would.
fn refuse_strangers(settings: &Settings) -> Result<(), String> {
    match open_address(settings) {
        Some((flag, address)) if !settings.open_to_anyone => Err(format!(
            "{flag} is {address}, which is not loopback, and there is no access file: every client that reaches it could trade with every \
             account. Either name who may do what (`pricetime access add {} --member alice --role operator` makes a file that \
             counts at the next start), or say --open-to-anyone",
            settings.data.join(FILE_NAME).display()
        )),
        Some(_) | None => Ok(()),
    }
}

/// An address that other machines reach, with its setting.
fn open_address(settings: &Settings) -> Option<(&'static str, SocketAddr)> {
    let listening = [
        ("--xml", Some(settings.xml)),
        ("--http", Some(settings.http)),
        ("--binance-at", settings.compatible_address().unwrap_or_default()),
        ("--fix", settings.fix_address().unwrap_or_default()),
    ];
    let is_open = |address: &SocketAddr| !address.ip().to_canonical().is_loopback();
    listening.into_iter().find_map(|(flag, address)| Some((flag, address.filter(is_open)?)))
}
