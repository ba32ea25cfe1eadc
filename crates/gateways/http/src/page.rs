//! The live page, and the documents beside it. The page's files are part of the program, and compressed there. A
//! document is compressed when it is first requested, and kept so.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{LazyLock, OnceLock};

use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Redirect, Response};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::manual::{self, Contents};
use crate::page_files::Packed;

/// The documents that were compressed so far, by path in the site.
static COMPRESSED: LazyLock<HashMap<String, OnceLock<Vec<u8>>>> =
    LazyLock::new(|| manual::made_paths().map(|path| (path, OnceLock::new())).collect());

/// The path of the documents.
const MANUAL: &str = "docs/";

/// Allows only our own files, and what the build put into pages; and no other page may frame ours.
const POLICY: &str = concat!(
    "default-src 'none'; script-src 'self' ",
    include_str!(concat!(env!("OUT_DIR"), "/scripts.txt")),
    "; style-src 'self' ",
    include_str!(concat!(env!("OUT_DIR"), "/styles.txt")),
    "; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
);

/// Answers with a file of the page. Files can only be read.
pub(crate) async fn file(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let path = match path {
        "" => "index.html",
        "reference" => "reference.html",
        // Relative links of a document's page need the slash.
        "docs" => return Redirect::permanent("/docs/").into_response(),
        "docs/" => "docs/index.html",
        path => path,
    };
    let Some(contents) = find(path) else {
        return (StatusCode::NOT_FOUND, "there is nothing here; the page is at /, the interface at /api/v1\n")
            .into_response();
    };
    if !matches!(method, Method::GET | Method::HEAD) {
        let detail = format!("{method} is not for a file of the page; GET and HEAD are\n");
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET,HEAD")], detail).into_response();
    }
    let compressed = takes_gzip(&headers).then(|| compressed(path, &contents)).flatten();
    // A file changes with the program alone. The compressed one is another representation, with a tag of its own.
    let suffix = if compressed.is_some() { "-gzip" } else { "" };
    let tag = format!("\"{:08x}{suffix}\"", checksum(&contents));
    let headers_sent = [
        (header::CONTENT_TYPE, kind(path).to_owned()),
        (header::CONTENT_SECURITY_POLICY, POLICY.to_owned()),
        (header::REFERRER_POLICY, "no-referrer".to_owned()),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
        (header::VARY, header::ACCEPT_ENCODING.to_string()),
        (header::ETAG, tag.clone()),
    ];
    let same = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()) == Some(&tag);
    match (same, compressed) {
        (true, _) => (StatusCode::NOT_MODIFIED, headers_sent).into_response(),
        (false, Some(bytes)) => (headers_sent, [(header::CONTENT_ENCODING, "gzip")], bytes).into_response(),
        (false, None) => (headers_sent, contents.plain()).into_response(),
    }
}

fn find(path: &str) -> Option<Contents> {
    let of_page = Packed::of_page(path).map(Contents::Packed);
    of_page.or_else(|| manual::file(path.strip_prefix(MANUAL)?))
}

fn checksum(contents: &Contents) -> u32 {
    match contents {
        Contents::Packed(packed) => packed.checksum(),
        Contents::Made(made) => crc32fast::hash(made),
    }
}

/// Whether a client accepts gzip: by name or by `*`, and not at quality zero.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut any = false;
    for coding in values.flat_map(|value| value.split(',')) {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        let quality =
            parameters.trim().strip_prefix("q=").map_or(Some(1.0), |quality| quality.trim().parse::<f32>().ok());
        let taken = quality.is_some_and(|quality| quality > 0.0);
        match name.trim() {
            name if name.eq_ignore_ascii_case("gzip") => return taken,
            "*" => any = taken,
            _ => {}
        }
    }
    any
}

/// Returns a file's contents in gzip; `None` if they cannot be compressed.
fn compressed(path: &str, contents: &Contents) -> Option<&'static [u8]> {
    match contents {
        Contents::Packed(packed) => Some(packed.gzip()),
        Contents::Made(made) => {
            let slot = COMPRESSED.get(path.strip_prefix(MANUAL)?)?;
            let compressed = slot.get_or_init(|| gzip(made).unwrap_or_default());
            (!compressed.is_empty()).then_some(compressed)
        }
    }
}

fn gzip(contents: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(contents)?;
    encoder.finish()
}

fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("json" | "webmanifest") => "application/json",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        _ => "text/plain; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(value: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, value.parse().expect("a header"));
        takes_gzip(&headers)
    }

    #[test]
    fn gzip_is_for_those_who_say_that_they_take_it() {
        for taken in ["gzip", "gzip, deflate, br, zstd", "br;q=1.0, GZIP;q=0.5", "*", "identity;q=0, *;q=0.1"] {
            assert!(takes(taken), "{taken}");
        }
        for not in ["", "identity", "br", "gzip;q=0", "gzip; q=0.0, *", "*;q=0", "xgzip"] {
            assert!(!takes(not), "{not}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    #[test]
    fn every_document_has_a_place_to_be_compressed_in() {
        assert!(COMPRESSED.len() > 20);
        for path in COMPRESSED.keys().map(|path| format!("{MANUAL}{path}")) {
            let contents = find(&path).expect("it is there");
            let packed = compressed(&path, &contents).expect("it is compressed");
            assert!(packed.len() < contents.plain().len(), "{path}");
        }
    }
}
