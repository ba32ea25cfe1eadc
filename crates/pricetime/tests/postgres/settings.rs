//! The setting `store`: where it may be given, which value is used, and that its password is never shown.

use std::path::PathBuf;
use std::process::Command;

use crate::common::folder::Folder;

const PASSWORD: &str = "s3cret";

/// The program's output on both streams, with these arguments and this environment.
fn said(arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pricetime"))
        .args(arguments)
        .env_clear()
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

/// The store that is used, as `--print-config` shows it.
fn store_of(said: &str) -> String {
    let lines: Vec<&str> = said.lines().filter_map(|line| line.strip_prefix("store = ")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    lines[0].trim_matches('"').to_owned()
}

fn config(folder: &Folder, text: &str) -> PathBuf {
    let file = folder.path().join("pricetime.toml");
    std::fs::write(&file, text).unwrap();
    file
}

#[test]
fn the_command_line_goes_before_the_environment_and_that_before_the_file() {
    let folder = Folder::new("store-settings");
    let file = config(&folder, "store = \"postgres://me:s3cret@file/market\"\n");
    let file = ["--print-config", "--config", file.to_str().unwrap()];
    let environment = [("PRICETIME_STORE", "postgres://me:s3cret@environment/market")];
    let line = [&file[..], &["--store", "postgres://me:s3cret@line/market"]].concat();
    assert_eq!(store_of(&said(&["--print-config"], &[])), "journal");
    assert_eq!(store_of(&said(&file, &[])), "postgres://me@file:5432/market");
    assert_eq!(store_of(&said(&["--print-config"], &environment)), "postgres://me@environment:5432/market");
    assert_eq!(store_of(&said(&file, &environment)), "postgres://me@environment:5432/market");
    assert_eq!(store_of(&said(&line, &environment)), "postgres://me@line:5432/market");
    assert_eq!(store_of(&said(&[&line[..4], &["journal"]].concat(), &environment)), "journal");
}

/// A copy of the printed settings must not weaken the encryption of the connection.
#[test]
fn what_is_printed_says_how_the_connection_is_encrypted() {
    let url = "postgres://me:s3cret@db/market?connect_timeout=3&sslmode=verify-full&sslrootcert=/etc/my%20ca.pem";
    let printed = store_of(&said(&["--print-config", "--store", url], &[]));
    assert_eq!(printed, "postgres://me@db:5432/market?sslmode=verify-full&sslrootcert=/etc/my%20ca.pem");
    assert_eq!(store_of(&said(&["--print-config", "--store", &printed], &[])), printed);
}

/// Parsers of command lines and settings files tend to show values that they could not read.
#[test]
fn the_password_is_shown_nowhere_however_wrong_the_setting_is() {
    let folder = Folder::new("store-settings");
    let url = |rest: &str| format!("postgres://me:{PASSWORD}@{rest}");
    // A wrong port, host, mode and option, and a database that does not exist.
    let wrong = [
        url("db:port/market"),
        format!("mysql://me:{PASSWORD}@db/market"),
        url("db/market?sslmode=maybe"),
        url("db/market?nonsense=1"),
        format!("postgres://me@db/market?password={PASSWORD}&sslrootcert=%zz"),
        url("127.0.0.1:1/market"),
    ];
    let data = folder.data();
    let data = data.to_str().unwrap();
    let serve = ["serve", "--xml", "127.0.0.1:0", "--http", "127.0.0.1:0", "--log-level", "trace", "--data", data];
    for url in &wrong {
        let file = config(&folder, &format!("store = \"{url}\"\n"));
        let file = file.to_str().unwrap();
        for said in [
            said(&[&serve[..], &["--store", url]].concat(), &[]),
            said(&serve, &[("PRICETIME_STORE", url)]),
            said(&[&serve[..], &["--config", file]].concat(), &[]),
            said(&["store", "verify", url], &[]),
            said(&["store", "import", data, url], &[]),
            said(&["store", "export", url, &format!("{data}-new")], &[]),
            said(&["state", url], &[]),
        ] {
            assert!(said.starts_with("pricetime: "), "it is refused: {said}");
            assert!(!said.contains(PASSWORD), "{said}");
        }
    }
    let good = url("db/market");
    let files = [
        format!("stor = \"{good}\"\n"),
        format!("store = \"{good}\n"),
        format!("workers = 1\nstore = \"{good}\"\nstore = \"{good}\"\n"),
        format!("store = [\"{good}\"]\n"),
    ];
    for text in files {
        let file = config(&folder, &text);
        let said = said(&["--print-config", "--config", file.to_str().unwrap()], &[]);
        assert!(said.contains("pricetime.toml, line ") && !said.contains(PASSWORD), "{text}{said}");
    }
    for command in [&["--help"][..], &["serve", "--help"]] {
        let said = said(command, &[("PRICETIME_STORE", &good)]);
        assert!(said.contains("PRICETIME_STORE") && !said.contains(PASSWORD), "{said}");
    }
}
