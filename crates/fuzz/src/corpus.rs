//! Kept inputs: one a line, in base64, in `proof/fuzz/corpus`.

use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::Target;

/// The file with the inputs of a target.
pub fn file(target: Target) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../proof/fuzz/corpus").join(target.name())
}

/// Reads the inputs of a text. Panics: a line is not base64.
pub fn inputs(text: &str) -> Vec<Vec<u8>> {
    text.lines().map(|line| BASE64_STANDARD.decode(line).expect("a line is base64")).collect()
}
