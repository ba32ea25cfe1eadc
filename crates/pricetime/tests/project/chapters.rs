//! The commands of docs/RUNNING_A_CLASS.md, in their order.

use std::process::{Command, Stdio};

use crate::common::folder::Folder;

const DOCUMENT: &str = include_str!("../../../../docs/RUNNING_A_CLASS.md");

/// Every block that a shell runs. What one of them leaves the next one finds.
fn script() -> String {
    let blocks = DOCUMENT.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let blocks: Vec<&str> = blocks.collect();
    assert!(blocks.len() > 6, "{blocks:?}");
    format!("set -euo pipefail\ntrap 'kill $(jobs -p)' EXIT\n{}", blocks.concat())
}

#[test]
fn a_class_is_run_by_the_commands_of_its_chapter() {
    let folder = Folder::new("class");
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_pricetime")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    // An address of this test alone, of which it may have the usual ports.
    let number = std::process::id();
    let own = format!("127.{}.{}.{}", 64 + (number >> 16) % 64, number >> 8 & 255, 1 + number % 254);
    let [xml, http] = ["12345", "8080"].map(|port| format!("{own}:{port}"));
    let mut shell = Command::new("bash");
    shell.args(["-c", &script()]).current_dir(folder.path()).env("PATH", path).stdin(Stdio::null());
    shell.env("PRICETIME_XML", &xml).env("PRICETIME_HTTP", &http).env("PRICETIME_TO", &xml);
    let ran = shell.output().unwrap();
    let (told, wrong) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{told}{wrong}");
    assert_eq!(told.matches("<opened sym=\"ACME\"").count(), 2, "{told}{wrong}");
    assert!(told.contains("student-7") && told.contains("sell 10 ACME at 25"), "{told}");
    assert!(told.contains("\n40 accounts, 0 open orders, 4000000 dollars"), "{told}");
}
