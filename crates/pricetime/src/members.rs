//! Whether this server knows its members, and that it is not open to anyone by mistake.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use access::{Access, Watch};
use exchange::{Exchange, Guarded, Newcomers};

use crate::settings::Settings;

/// The access file in the data folder, which counts without being named.
pub const FILE_NAME: &str = "access.toml";

/// The members of a running server. Their file is followed until this is dropped.
pub struct Members {
    pub access: Access,
    _watch: Watch,
}

/// Who may do what; none where everybody may do everything. Errors: the access file cannot be read, or there is none and
/// the server would be open to other machines.
pub fn open(settings: &Settings) -> Result<Option<Members>, String> {
    let Some(path) = file(settings) else {
        refuse_strangers(settings)?;
        return Ok(None);
    };
    let (access, watch) = Access::follow(&path).map_err(|why| match path.exists() {
        true => why,
        false => format!("{why}; `pricetime access add {} --member alice --role operator` makes one", path.display()),
    })?;
    Ok(Some(Members { access, _watch: watch }))
}

/// What gateways hand their requests to: where members are known, only what each may do goes on.
pub fn guarded(members: Option<&Members>, exchange: Arc<dyn Exchange>) -> Arc<dyn Exchange> {
    match members {
        Some(members) => Arc::new(Guarded::new(exchange, members.access.mode().clone())),
        None => exchange,
    }
}

/// Where members of the XML protocol log in.
pub fn desk(members: Option<&Members>) -> Option<Arc<xml::Desk>> {
    members.map(|Members { access, .. }| Arc::new(xml::Desk::new(access.clone())))
}

/// Whether it is kept whose each command is.
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

/// Whether there is an access file.
pub fn are_known(settings: &Settings) -> bool {
    file(settings).is_some()
}

/// The place of those who connect when all are taken.
pub fn newcomers(settings: &Settings) -> Newcomers {
    match (are_known(settings), open_address(settings)) {
        (true, _) => Newcomers::MayProve,
        (false, Some(_)) => Newcomers::Share,
        (false, None) => Newcomers::Wait,
    }
}

/// Errors: it would listen where other machines reach it, and nobody said that they may.
fn refuse_strangers(settings: &Settings) -> Result<(), String> {
    match open_address(settings) {
        Some((flag, address)) if !settings.open_to_anyone => Err(format!(
            "{flag} is {address}, which is not loopback, and there is no access file: whoever reaches it could trade with every \
             account. Either name who may do what (`pricetime access add {} --member alice --role operator` makes a file that \
             counts at the next start), or say --open-to-anyone",
            settings.data.join(FILE_NAME).display()
        )),
        Some(_) | None => Ok(()),
    }
}

/// An address that other machines reach, with the setting that names it.
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
