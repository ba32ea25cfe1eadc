//! The live page: its files are part of the program.

use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use include_dir::{Dir, include_dir};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../web/page");

/// Nothing but our own files runs, and nothing frames us.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page.
pub(crate) async fn file(uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    let path = match path {
        "" => "index.html",
        "reference" => "reference.html",
        path => path,
    };
    let Some(file) = FILES.get_file(path) else {
        return (StatusCode::NOT_FOUND, "there is nothing here; the page is at /, the interface at /api/v1\n")
            .into_response();
    };
    // It changes with the program alone.
    let tag = format!("\"{:08x}\"", crc32fast::hash(file.contents()));
    let headers_sent = [
        (header::CONTENT_TYPE, kind(path).to_owned()),
        (header::CONTENT_SECURITY_POLICY, POLICY.to_owned()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::REFERRER_POLICY, "no-referrer".to_owned()),
        (header::CACHE_CONTROL, "no-cache".to_owned()),
        (header::ETAG, tag.clone()),
    ];
    let same = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()) == Some(&tag);
    match same {
        true => (StatusCode::NOT_MODIFIED, headers_sent).into_response(),
        false => (headers_sent, file.contents()).into_response(),
    }
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
