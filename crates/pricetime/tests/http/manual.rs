//! The documents as a site, under `/docs` and as files in a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::Launch;

/// The values of an attribute, in all tags.
fn all_of<'a>(html: &'a str, attribute: &str) -> Vec<&'a str> {
    let begins = format!(" {attribute}=\"");
    let tags = html.split('<').filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag);
    tags.filter_map(|tag| tag.split_once(&begins)).filter_map(|(_, rest)| rest.split('"').next()).collect()
}

fn files_in(folder: &Path, within: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{within}{}", entry.file_name().to_string_lossy());
        match entry.file_type().unwrap().is_dir() {
            true => files_in(&entry.path(), &format!("{name}/"), found),
            false => drop(found.insert(name, std::fs::read(entry.path()).unwrap())),
        }
    }
}

#[test]
fn every_link_of_the_documents_leads_somewhere_and_no_page_asks_anybody_else() {
    let folder = Folder::new("manual");
    let (data, site) = (folder.path().join("data"), folder.path().join("site"));
    let wrote = Command::new(env!("CARGO_BIN_EXE_pricetime")).arg("docs").arg(&site).output().unwrap();
    assert!(wrote.status.success() && String::from_utf8_lossy(&wrote.stdout).contains("index.html"), "{wrote:?}");
    let mut files = BTreeMap::new();
    files_in(&site, "", &mut files);
    let server = Launch::new(&data).start();
    let http = Http::new(server.http);
    let pages: BTreeMap<&str, String> = files
        .iter()
        .filter(|(name, _)| name.ends_with(".html"))
        .map(|(name, bytes)| (name.as_str(), String::from_utf8(bytes.clone()).unwrap()))
        .collect();
    assert!(pages.len() > 18, "{:?}", pages.keys());
    let ids: BTreeMap<&str, BTreeSet<&str>> =
        pages.iter().map(|(name, html)| (*name, all_of(html, "id").into_iter().collect())).collect();
    let leads = |from: &str, link: &str| {
        let (file, part) = link.split_once('#').map_or((link, None), |(file, part)| (file, Some(part)));
        let file = if file.is_empty() { from } else { file };
        let is_there = files.contains_key(file) && part.is_none_or(|part| ids[file].contains(part));
        assert!(is_there, "{from}: {link}");
    };
    for (name, html) in &pages {
        let links = all_of(html, "href").into_iter().filter(|link| !link.starts_with("http"));
        links.for_each(|link| leads(name, link));
        for asked in all_of(html, "src") {
            leads(name, asked);
        }
        assert!(!html.contains("<img") && html.matches("<script").count() == 2, "{name}");
        assert_eq!(ids[name].len(), all_of(html, "id").len(), "{name} names two parts the same");
    }
    let index: Vec<Value> = serde_json::from_slice(&files["search.json"]).unwrap();
    assert!(index.len() > 100);
    // A word that is in no heading is found in the text.
    let is_found = |part: &Value| part["words"].as_str().unwrap().contains("fdatasync");
    assert!(index.iter().any(|part| part["chapter"] == "Architecture" && is_found(part)));
    let drawn: Vec<&&str> = pages.iter().filter(|(_, html)| html.contains("<svg ")).map(|(name, _)| name).collect();
    assert_eq!(drawn, [&"ARCHITECTURE.html", &"CLUSTER.html"]);
    index.iter().for_each(|part| leads("search.json", part["at"].as_str().unwrap()));

    // A server shows the same files, compressed or not.
    for (name, bytes) in &files {
        let (headers, body) = http.bytes(&format!("/docs/{name}"), &[]);
        assert_eq!(&body, bytes, "{name}");
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
        let (headers, body) = http.bytes(&format!("/docs/{name}"), &[("accept-encoding", "gzip")]);
        let is_shorter =
            headers.get("content-encoding").is_some_and(|coding| coding == "gzip") && body.len() < bytes.len();
        assert!(is_shorter, "{name}");
    }
    assert_eq!(http.bytes("/docs/", &[]).1, files["index.html"]);
    let bare = http.bytes("/docs", &[]).1;
    assert_eq!(bare, files["index.html"], "a redirect leads there");
    for nowhere in ["/docs/NOPE.html", "/docs/../Cargo.toml", "/docs/app.js", "/docs/docs/index.html"] {
        assert_eq!(http.get(nowhere).status, 404, "{nowhere}");
    }
}
