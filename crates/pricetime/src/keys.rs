//! The key file: the API keys for the compatible interface, with the account of each, and the command that makes one.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use binance::{Key, Keys};
use clap::{Args, Subcommand};
use serde::Deserialize;
use terms::AccountId;

/// The first line of a new file.
const HEAD: &str = "# API keys of Pricetime. Whoever reads this file can trade with these accounts.\n";

/// The arguments of `pricetime keys`.
#[derive(Args, Debug)]
pub struct KeysArgs {
    #[command(subcommand)]
    command: KeysCommand,
}

#[derive(Subcommand, Debug)]
enum KeysCommand {
    /// Make an API key for an account, add it to a key file, and print it with its secret; a missing file is made
    Add {
        /// The key file for `serve --keys`
        file: PathBuf,
        /// The account that the key trades for
        #[arg(long)]
        account: String,
    },
}

/// The content of a key file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Contents {
    #[serde(default, rename = "key")]
    keys: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    api_key: String,
    secret: String,
    account: String,
}

/// Runs `pricetime keys`.
pub fn run(args: &KeysArgs) -> Result<ExitCode, String> {
    let KeysCommand::Add { file, account } = &args.command;
    let account = AccountId::parse(account.as_bytes()).map_err(|why| format!("account {why}"))?;
    let key = Key::random(account).map_err(|error| format!("no randomness for a key: {error}"))?;
    add(file, &key)?;
    println!("api key  {}\nsecret   {}\naccount  {}", key.key, key.secret, key.account);
    println!("Start the server with --keys {}; it reads the file when it starts.", file.display());
    Ok(ExitCode::SUCCESS)
}

/// Appends a key to a file that only its owner may read.
fn add(path: &Path, key: &Key) -> Result<(), String> {
    let at = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path).map_err(at)?;
    // An existing file must be a key file.
    let text = contents(&mut file, path)?;
    let head = if text.is_empty() { HEAD } else { "" };
    let Key { key, secret, account } = key;
    let entry = format!("{head}\n[[key]]\napi_key = \"{key}\"\nsecret = \"{secret}\"\naccount = \"{account}\"\n");
    file.write_all(entry.as_bytes()).and_then(|()| file.sync_all()).map_err(at)
}

/// Reads the keys of a file. Errors: it cannot be read, others may read it, or it is no key file; none shows a secret.
pub fn read(path: &Path) -> Result<Keys, String> {
    let mut file = File::open(path).map_err(|error| {
        format!("{}: {error}; make a key file with `pricetime keys add FILE --account 1`", path.display())
    })?;
    parse(&contents(&mut file, path)?, path)
}

fn contents(file: &mut File, path: &Path) -> Result<String, String> {
    let text = access::read_secrets(file, path)?;
    parse(&text, path)?;
    Ok(text)
}

fn parse(text: &str, path: &Path) -> Result<Keys, String> {
    // The parser's own text would show the line, which may hold a secret.
    let contents: Contents = toml::from_str(text).map_err(|error| {
        let line =
            error.span().and_then(|span| text.get(..span.start)).map_or(1, |before| before.matches('\n').count() + 1);
        format!("{}, line {line}: {}", path.display(), error.message())
    })?;
    let mut keys = Keys::default();
    for (number, Entry { api_key, secret, account }) in (1..).zip(contents.keys) {
        let fault = |why: String| format!("{}, key {number}: {why}", path.display());
        if api_key.is_empty() || secret.is_empty() {
            return Err(fault("api_key and secret may not be empty".to_owned()));
        }
        let account = AccountId::parse(account.as_bytes()).map_err(|why| fault(format!("account {why}")))?;
        if !keys.add(Key { key: api_key, secret, account }) {
            return Err(fault("an earlier one has the same api_key".to_owned()));
        }
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use super::*;

    #[test]
    fn keys_that_were_added_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        let missing = read(&path).unwrap_err();
        assert!(missing.contains("pricetime keys add"), "{missing}");
        let account = AccountId::parse(b"7").unwrap();
        let keys = [Key::random(account).unwrap(), Key::random(account).unwrap()];
        keys.iter().for_each(|key| add(&path, key).unwrap());
        assert!(!read(&path).unwrap().is_empty());
        add(&path, &keys[0]).unwrap();
        let twice = read(&path).unwrap_err();
        assert!(twice.ends_with("key 3: an earlier one has the same api_key"), "{twice}");
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.toml");
        add(&path, &Key::random(AccountId::parse(b"7").unwrap()).unwrap()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        for mode in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let refused = read(&path).unwrap_err();
            assert!(refused.contains(&format!("{mode:03o}")) && refused.contains("chmod 600"), "{refused}");
        }
    }

    #[test]
    fn a_fault_is_named_and_no_secret_is_shown() {
        for (text, fault) in [
            ("[[key]]\napi_key = \"a\"\nsecret = \"sesame\"\n", "missing field `account`"),
            ("[[key]]\napi_key = \"a\"\nsecret = \"sesame\"\naccount = \"x\"\n", "key 1: account has characters"),
            ("[[key]]\napi_key = \"a\"\nsecret = \"sesame\naccount = \"1\"\n", "line 3"),
            ("[[key]]\napi_key = \"\"\nsecret = \"sesame\"\naccount = \"1\"\n", "may not be empty"),
            ("[[keys]]\nsecret = \"sesame\"\n", "unknown field `keys`"),
        ] {
            let refused = parse(text, Path::new("keys.toml")).unwrap_err();
            assert!(refused.contains(fault) && !refused.contains("sesame"), "{text}: {refused}");
        }
    }
}
