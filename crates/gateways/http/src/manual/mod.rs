//! The documents as a site: under `/docs`, and as files in a folder (`pricetime docs`). They are part of the program,
//! and become HTML when one of them is first requested. The site loads nothing from other servers.

mod chapters;
mod render;
mod template;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::json;

use crate::page_files::Packed;
use chapters::CHAPTERS;
use render::{Rendered, render};

/// Files of the page that the site's pages use as well.
const SHARED: [&str; 6] =
    ["style/theme.css", "style/reference.css", "style/manual.css", "early.js", "manual.js", "icon.svg"];
/// The search index: the words of each part of each chapter, and its place.
const INDEX: &str = "search.json";

/// The files that were made of the documents, by name.
static MADE: LazyLock<HashMap<String, Vec<u8>>> = LazyLock::new(|| {
    let rendered: Vec<Rendered> = CHAPTERS.iter().map(|chapter| render(chapter, &chapter.text())).collect();
    let pages = CHAPTERS.iter().zip(&rendered).map(|(chapter, made)| {
        let html = template::page(chapter, made, &CHAPTERS.iter().zip(&rendered).collect::<Vec<_>>());
        (chapter.file(), html.into_bytes())
    });
    let parts = CHAPTERS.iter().zip(&rendered).flat_map(|(chapter, made)| {
        made.headings.iter().map(move |heading| {
            let at = format!("{}#{}", chapter.file(), heading.id);
            json!({"chapter": made.title, "heading": heading.text, "at": at, "words": heading.words})
        })
    });
    let index = (INDEX.to_owned(), json!(parts.collect::<Vec<_>>()).to_string().into_bytes());
    pages.chain([index]).collect()
});

/// Returns a file of the site, by its path in it.
pub(crate) fn file(path: &str) -> Option<Contents> {
    match SHARED.contains(&path) {
        true => Packed::of_page(path).map(Contents::Packed),
        false => MADE.get(path).map(|made| Contents::Made(made)),
    }
}

/// The contents of a file of the page or of the site.
pub(crate) enum Contents {
    Packed(Packed),
    Made(&'static [u8]),
}

impl Contents {
    pub fn plain(&self) -> Cow<'static, [u8]> {
        match self {
            Contents::Packed(packed) => packed.plain().into(),
            Contents::Made(made) => (*made).into(),
        }
    }
}

/// Lists the paths of all files of the site.
fn paths() -> impl Iterator<Item = String> {
    made_paths().chain(SHARED.map(str::to_owned))
}

/// Lists the paths of those that are made, not packed.
pub(crate) fn made_paths() -> impl Iterator<Item = String> {
    CHAPTERS.iter().map(chapters::Chapter::file).chain([INDEX.to_owned()])
}

/// Lists all files of the site, with their paths in it.
pub fn files() -> impl Iterator<Item = (String, Cow<'static, [u8]>)> {
    paths().filter_map(|path| file(&path).map(|contents| (path, contents.plain())))
}
