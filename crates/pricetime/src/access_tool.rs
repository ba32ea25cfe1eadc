//! `pricetime access`: manages the members and their keys. A running server follows the file.

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use access::{Author, KeyKind, ListedMember, NewKey, NewMember, Revoked};
use clap::{Args, Subcommand};
use comfy_table::{Table, presets};
use exchange::Mode;

/// The arguments of `pricetime access`.
#[derive(Args, Debug)]
pub struct AccessArgs {
    #[command(subcommand)]
    command: AccessCommand,
}

#[derive(Subcommand, Debug)]
enum AccessCommand {
    /// Add a key to an existing member or to a new one, and print its secret once; a missing access file is made
    Add(AddArgs),
    /// Remove a key, or a member with all its keys; a running server follows within a second
    Revoke(RevokeArgs),
    /// Set the mode of the venue: normal, read-only or maintenance
    Mode {
        /// The access file
        file: PathBuf,
        #[arg(value_name = "MODE", value_parser = mode)]
        mode: Mode,
    },
    /// List members with their roles, accounts and keys; no secrets
    List {
        /// The access file
        file: PathBuf,
    },
}

#[derive(Args, Debug)]
struct AddArgs {
    /// The access file for `serve --access`; the server finds `access.toml` in its data folder without that setting
    file: PathBuf,
    /// Name of the member
    #[arg(long)]
    member: String,
    /// Role of a new member: operator, issuer, trader, viewer or auditor; may be repeated
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// Account that a new member may trade for or look at; may be repeated
    #[arg(long = "account", value_name = "ACCOUNT")]
    accounts: Vec<String>,
    /// Kind of key: hmac (a secret to sign with), secret (a secret to send), ed25519, certificate, address, or password
    /// (read from standard input)
    #[arg(long, value_name = "KIND", default_value = "hmac", value_parser = kind)]
    key: KeyKind,
    /// Public key of ed25519, in base64 or as a PEM file; SHA-256 fingerprint of a certificate; or an address or a
    /// network
    #[arg(long)]
    value: Option<String>,
    /// Id of the key [default: 64 random letters and digits]
    #[arg(long)]
    id: Option<String>,
    /// Time from which the key no longer counts, as 2027-01-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
}

#[derive(Args, Debug)]
struct RevokeArgs {
    /// The access file
    file: PathBuf,
    /// The key's id
    #[arg(long, required_unless_present = "member", conflicts_with = "member")]
    key: Option<String>,
    /// The member's name
    #[arg(long)]
    member: Option<String>,
}

fn kind(name: &str) -> Result<KeyKind, String> {
    KeyKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
        let names: Vec<&str> = KeyKind::ALL.into_iter().map(KeyKind::name).collect();
        format!("there are {}", names.join(", "))
    })
}

fn mode(name: &str) -> Result<Mode, String> {
    Mode::named(name).ok_or_else(|| format!("there are {}", Mode::ALL.map(Mode::name).join(", ")))
}

/// Runs `pricetime access`.
pub fn run(args: &AccessArgs) -> Result<ExitCode, String> {
    match &args.command {
        AccessCommand::Add(args) => add(args)?,
        AccessCommand::Revoke(RevokeArgs { file, key, member }) => {
            let revoked = match (key, member) {
                (Some(key), _) => Revoked::Key(key),
                (None, Some(member)) => Revoked::Member(member),
                (None, None) => return Err("nothing to revoke: give --key or --member".to_owned()),
            };
            access::revoke(file, revoked, ToolUser::now().author())?;
            println!("revoked; a running server takes the rights away within a second");
        }
        AccessCommand::Mode { file, mode } => {
            access::set_mode(file, *mode, ToolUser::now().author())?;
            println!("the mode is {}; a running server follows within a second", mode.name());
        }
        AccessCommand::List { file } => print!("{}", table(&access::list(file)?)),
    }
    Ok(ExitCode::SUCCESS)
}

fn add(args: &AddArgs) -> Result<(), String> {
    let AddArgs { file, member, roles, accounts, key: kind, expires, .. } = args;
    let no_randomness = |error: io::Error| format!("no randomness for a key: {error}");
    let (value, secret) = match (kind, &args.value) {
        (KeyKind::Hmac | KeyKind::Secret | KeyKind::Password, Some(_)) => {
            return Err(format!("--value is not for {kind}: a secret would stand in the process list"));
        }
        (KeyKind::Ed25519 | KeyKind::Certificate | KeyKind::Address, None) => {
            return Err(format!("{kind} needs --value"));
        }
        (KeyKind::Ed25519, Some(value)) if Path::new(value).is_file() => {
            (std::fs::read_to_string(value).map_err(|error| format!("{value}: {error}"))?, None)
        }
        (KeyKind::Ed25519 | KeyKind::Certificate | KeyKind::Address, Some(value)) => (value.clone(), None),
        (KeyKind::Hmac, None) => {
            let secret = access::random_text().map_err(no_randomness)?;
            (secret.clone(), Some(secret))
        }
        (KeyKind::Secret, None) => {
            let secret = access::random_text().map_err(no_randomness)?;
            (access::hash_of_secret(&secret), Some(secret))
        }
        (KeyKind::Password, None) => (access::hash_of_password(&password()?)?, None),
    };
    let id = match &args.id {
        Some(id) => id.clone(),
        None => access::random_text().map_err(no_randomness)?,
    };
    let key = NewKey { member, id: &id, kind: *kind, value: &value, expires: expires.as_deref() };
    access::add(file, &key, NewMember { roles, accounts, limits: None, budget: None }, ToolUser::now().author())?;
    println!("member  {member}\nkey     {id}");
    if let Some(secret) = secret {
        println!("secret  {secret}\nThe secret is shown this once.");
    }
    println!("A server that runs with {} follows it within a second.", file.display());
    Ok(())
}

/// A password is never an argument, which others see in the process list.
fn password() -> Result<String, String> {
    const BYTES_MIN: usize = 8;
    if io::stdin().is_terminal() {
        eprintln!("password (it is shown while you type; `… < file` hides it):");
    }
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).map_err(|error| format!("the standard input: {error}"))?;
    let password = line.trim_end_matches(['\r', '\n']);
    match password.len() {
        BYTES_MIN.. => Ok(password.to_owned()),
        bytes => Err(format!("the password has {bytes} bytes; at least {BYTES_MIN}")),
    }
}

/// The user who runs the tool, for the record.
struct ToolUser {
    name: String,
    from: String,
}

impl ToolUser {
    fn now() -> ToolUser {
        let said = |names: &[&str]| names.iter().find_map(|name| std::env::var(name).ok()).unwrap_or_default();
        // The environment chooses these words, so they are cut to what fits a line; the user number is the system's.
        let words = |text: String| text.chars().filter(|c| c.is_ascii_graphic()).take(64).collect::<String>();
        let uid = rustix::process::getuid().as_raw();
        let from = said(&["SSH_CLIENT"]);
        let from = from.split(' ').next().filter(|address| !address.is_empty()).unwrap_or("this-machine");
        ToolUser { name: format!("{}({uid})", words(said(&["SUDO_USER", "USER"]))), from: words(from.to_owned()) }
    }

    fn author(&self) -> Author<'_> {
        Author { name: &self.name, from: &self.from }
    }
}

fn table(members: &[ListedMember]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["member", "roles", "accounts", "key", "kind", "expires"]);
    for member in members {
        let (roles, accounts) = (member.roles.join(" "), member.accounts.join(" "));
        let of_member = [member.name.clone(), roles, accounts];
        if member.keys.is_empty() {
            table.add_row(of_member.clone());
        }
        for key in &member.keys {
            let expires = key.expires.clone().unwrap_or_default();
            table.add_row(of_member.iter().cloned().chain([key.id.clone(), key.kind.to_string(), expires]));
        }
    }
    format!("{table}\n")
}
