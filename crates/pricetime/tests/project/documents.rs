//! The documents tell the truth: their examples are sent to a fresh server, and their sessions are run from top to
//! bottom.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::client::Client;
use crate::common::folder::Folder;
use crate::common::server::Launch;

/// The fenced blocks of a document, each with the words after its opening fence.
pub(super) fn blocks(document: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in document.lines() {
        // A block within a list is indented.
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(kind)) => open = Some((kind.to_string(), String::new())),
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some((_, text)), None) => *text += &format!("{line}\n"),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "every fence is closed");
    blocks
}

/// Removes times, which are never the same twice.
fn without_times(reply: &str) -> String {
    let mut parts = reply.split("time=\"");
    let mut text = parts.next().unwrap().to_string();
    for part in parts {
        let (digits, rest) = part.split_once('"').unwrap();
        assert!(digits.len() >= 10 && digits.bytes().all(|byte| byte.is_ascii_digit()), "a time in seconds: {digits}");
        text += &format!("time=\"…\"{rest}");
    }
    text
}

/// `…` in a document stands for any text.
fn agrees(written: &str, got: &str) -> bool {
    let (written, got) = (without_times(written.trim()), without_times(got.trim()));
    match written.split_once('…') {
        Some((before, after)) => got.starts_with(before) && got.ends_with(after),
        None => written == got,
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(super) fn document(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

/// The protocol document and the pages of rules, in the order of its table.
fn protocol() -> String {
    let first = document("docs/PROTOCOL.md");
    let rows = first.lines().filter(|line| line.starts_with("| ") && line.contains("](rules/"));
    let pages: Vec<&str> = rows
        .filter(|row| row.split(' ').nth(1).is_some_and(|number| number.parse::<u32>().is_ok()))
        .map(|row| row.split_once("](").unwrap().1.split_once(')').unwrap().0)
        .collect();
    assert_eq!(pages.len(), std::fs::read_dir(root().join("docs/rules")).unwrap().count(), "the table has every page");
    pages.iter().fold(first.clone(), |all, page| all + &document(&format!("docs/{page}")))
}

/// Each rule has the number of its page and one of its own, in order, so that it can be cited.
#[test]
fn rules_are_numbered_in_order() {
    let (mut page, mut rule, mut rules) = (0, 0, 0);
    for line in protocol().lines() {
        let title = line.strip_prefix("# ").and_then(|title| title.split_once(". "));
        if let Some((number, _)) = title {
            page += 1;
            assert_eq!(number.parse(), Ok(page), "{line}");
            rule = 0;
        }
        let item = line.strip_prefix("- ");
        let Some((number, _)) = item.unwrap_or(line).strip_prefix("**").and_then(|rest| rest.split_once("** ")) else {
            assert!(page == 0 || item.is_none(), "page {page} has a rule without a number: {line}");
            continue;
        };
        if let Some((of_page, number)) = number.split_once('.').filter(|(page, _)| page.parse::<u32>().is_ok()) {
            rule += 1;
            assert_eq!((of_page.parse(), number.parse()), (Ok(page), Ok(rule)), "{line}");
            rules += 1;
        }
    }
    assert!(rules > 100, "{rules}");
}

#[test]
fn refusals_name_rules_that_are_written() {
    let (rules, table) = (protocol(), document("crates/terms/src/rule_numbers.rs"));
    let code = table.lines().filter(|line| !line.trim_start().starts_with("//"));
    let named: Vec<&str> = code.flat_map(|line| line.split('"').skip(1).step_by(2)).collect();
    assert!(named.len() > 25, "{named:?}");
    let unwritten: Vec<&&str> = named.iter().filter(|number| !rules.contains(&format!("**{number}** "))).collect();
    assert!(unwritten.is_empty(), "{unwritten:?}");
}

#[test]
fn the_protocol_document_shows_what_the_server_answers() {
    let folder = Folder::new("protocol-document");
    let server = Launch::new(&folder.data()).start();
    let mut client = server.client();
    let examples = sent(&mut client, "xml request");
    assert!(examples >= 9, "the document has its examples: {examples}");
    server.stop();
}

/// Sends the requests of this kind, and compares the replies. Returns how many there are.
fn sent(client: &mut Client, sent_kind: &str) -> usize {
    let blocks = blocks(&protocol());
    let mut examples = 0;
    for pair in blocks.windows(2) {
        let [(kind, request), (next_kind, reply)] = pair else { unreachable!("windows of two") };
        if kind != sent_kind {
            continue;
        }
        assert_eq!(next_kind, "xml reply", "a reply follows the request {request}");
        let got = client.ask(request);
        assert!(agrees(reply, &got), "the document says of\n{request}that the reply is\n{reply}but it is\n{got}");
        examples += 1;
    }
    examples
}

#[test]
fn the_protocol_document_shows_what_members_are_answered() {
    let folder = Folder::new("protocol-document-members");
    std::fs::create_dir_all(folder.data()).unwrap();
    let secret = "Zt3vQkPw0bX7mN2c";
    let text = format!(
        "[[member]]\nname = \"alice\"\nroles = [\"trader\"]\naccounts = [\"1\"]\n\
         [[member.key]]\nid = \"alice-desk\"\nsecret = \"{secret}\"\n\
         [[member]]\nname = \"root\"\nroles = [\"operator\"]\n\
         [[member.key]]\nid = \"here\"\naddress = \"127.0.0.1\"\n"
    );
    let path = folder.data().join("access.toml");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let server = Launch::new(&folder.data()).start();
    server.ask(
        "<create><account id=\"1\" balance=\"1\"/><account id=\"2\" balance=\"1\"/><symbol sym=\"SPY\"/></create>",
    );
    assert_eq!(sent(&mut server.client(), "xml request of members"), 10);
    let signature = xml::login_signature(secret, "N");
    assert!(document("docs/PROTOCOL.md").contains(&format!("the nonce `N` it is `{signature}`")), "{signature}");
    server.stop();
}

#[test]
fn the_session_of_the_readme_and_the_first_session_print_what_they_say() {
    let folder = Folder::new("readme-session");
    let server = Launch::new(&folder.data()).start();
    let binaries = PathBuf::from(env!("CARGO_BIN_EXE_pricetime")).parent().unwrap().to_owned();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let mut commands = 0;
    let documents = document("README.md") + &document("docs/FIRST_SESSION.md");
    for (_, session) in blocks(&documents).iter().filter(|(kind, _)| kind == "console") {
        let mut lines = session.lines().peekable();
        while let Some(line) = lines.next() {
            let command = line.strip_prefix("$ ").unwrap_or_else(|| panic!("a command, not {line}"));
            let written: Vec<&str> = std::iter::from_fn(|| lines.next_if(|line| !line.starts_with("$ "))).collect();
            let output = Command::new("bash")
                .args(["-c", command])
                .env("PATH", &path)
                .env("PRICETIME_TO", server.xml.to_string())
                .output()
                .unwrap();
            let got = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
            assert!(agrees(&written.join("\n"), &got), "{command} prints\n{got}and not\n{}", written.join("\n"));
            commands += 1;
        }
    }
    assert!(commands >= 6, "the session has its commands: {commands}");
    server.stop();
}

/// The help said of a setting's value `required` no more than "No", which was the answer to another question.
#[test]
fn the_help_says_what_each_value_of_a_setting_does() {
    let help = Command::new(env!("CARGO_BIN_EXE_pricetime")).args(["serve", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let values = help.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split_once(": "));
    let values: Vec<(&str, &str)> = values.collect();
    assert!(values.iter().any(|(name, _)| *name == "required"), "{help}");
    for (name, does) in values {
        assert!(does.split_whitespace().count() > 2, "{name}: {does}");
    }
}

#[test]
fn the_document_of_settings_lists_each_with_its_default() {
    let help = Command::new(env!("CARGO_BIN_EXE_pricetime")).args(["serve", "--print-config"]).output().unwrap();
    let config = String::from_utf8(help.stdout).unwrap();
    let settings = document("docs/SETTINGS.md");
    for line in config.lines() {
        let (name, value) = line.split_once(" = ").unwrap();
        let row = settings.lines().find(|line| line.starts_with(&format!("| `--{name}")));
        let row = row.unwrap_or_else(|| panic!("docs/SETTINGS.md has no row for --{name}"));
        // The number of workers depends on this machine's cores.
        assert!(
            name == "workers" || row.contains(value.trim_matches('"')),
            "docs/SETTINGS.md says another default: {row} {value}"
        );
    }
}
