//! The bots of docs/FIRST_BOT.md, exactly as the document shows them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::{Launch, Server};
use crate::common::wait::wait_until;

const DOCUMENT: &str = include_str!("../../../../docs/FIRST_BOT.md");

/// The program that the document shows in a language.
fn program(language: &str) -> &'static str {
    let begins = format!("```{language}\n");
    let from = DOCUMENT.find(&begins).unwrap_or_else(|| panic!("nothing in {language}")) + begins.len();
    &DOCUMENT[from..from + DOCUMENT[from..].find("```").unwrap()]
}

/// Whether the tool of a language is available. If it is not, its bot is left out, and the test says so.
fn has(tool: &str, version: &str) -> bool {
    let is_there = Command::new(tool)
        .arg(version)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|ran| ran.success());
    if !is_there {
        println!("{tool} is not installed: its bot was not run");
    }
    is_there
}

fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    file
}

/// Runs a bot, trades with both of its offers, and checks its output and what it left.
fn trade_with(server: &Server, mut bot: Command) {
    let http = Http::new(server.http);
    let open = || http.read("/api/v1/accounts/1/orders?status=open&symbol=ACME")["orders"].as_array().unwrap().len();
    bot.env("BASE", format!("http://{}", server.http)).env("XML", server.xml.to_string()).env("SECONDS", "3");
    let bot = bot.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("the bot offers both", Duration::from_secs(60), || open() == 2);
    for terms in ["amount=\"10\" limit=\"101\"", "amount=\"-10\" limit=\"99\""] {
        let told = server.ask(&format!("<transactions id=\"2\"><order sym=\"ACME\" {terms}/></transactions>"));
        assert!(told.contains("<opened"), "{told}");
    }
    let ended = bot.wait_with_output().unwrap();
    let (told, wrong) = (String::from_utf8_lossy(&ended.stdout), String::from_utf8_lossy(&ended.stderr));
    assert!(ended.status.success(), "{told}{wrong}");
    assert!(told.contains("sold 10 at 101\n") && told.contains("bought 10 at 99\n"), "{told}{wrong}");
    assert!(told.contains("2 orders canceled"), "{told}{wrong}");
    assert_eq!(open(), 0);
}

#[test]
fn every_first_bot_trades() {
    let folder = Folder::new("first-bot");
    let server = Launch::new(&folder.path().join("data")).start();
    let (from, to) = (DOCUMENT.find("<create>").unwrap(), DOCUMENT.find("</create>").unwrap());
    let created = server.ask(&DOCUMENT[from..to + "</create>".len()]);
    assert!(!created.contains("<error"), "{created}");
    let mut bots = Vec::new();
    if has("python3", "--version") {
        let mut bot = Command::new("python3");
        bot.arg(write(folder.path(), "bot.py", program("python")));
        bots.push(bot);
    }
    if has("node", "--version") {
        let mut bot = Command::new("node");
        bot.arg(write(folder.path(), "bot.mjs", program("js")));
        bots.push(bot);
    }
    for (tool, name, language) in [("go", "bot.go", "go"), ("rustc", "bot.rs", "rust")] {
        if !has(tool, if tool == "go" { "version" } else { "--version" }) {
            continue;
        }
        let (source, built) = (write(folder.path(), name, program(language)), folder.path().join(tool));
        let words: &[&str] = if tool == "go" { &["build"] } else { &["--edition", "2024"] };
        let build = Command::new(tool).args(words).arg("-o").arg(&built).arg(&source).output().unwrap();
        assert!(build.status.success(), "{}", String::from_utf8_lossy(&build.stderr));
        bots.push(Command::new(built));
    }
    assert!(!bots.is_empty());
    bots.into_iter().for_each(|bot| trade_with(&server, bot));
}
