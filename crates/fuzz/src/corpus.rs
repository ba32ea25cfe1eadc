//! Kept inputs: one a line, in base64, in `proof/fuzz/corpus`.

use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::Target;

/// The file with the inputs of a target. A gateway's are also those of what it reads alone.
pub fn file(target: Target) -> PathBuf {
    let name = target.name();
    let name = name.strip_suffix("-reading").unwrap_or(name);
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../proof/fuzz/corpus").join(name)
}

/// Reads the inputs of a text. Panics: a line is not base64.
pub fn inputs(text: &str) -> Vec<Vec<u8>> {
    text.lines().map(|line| BASE64_STANDARD.decode(line).expect("a line is base64")).collect()
}
