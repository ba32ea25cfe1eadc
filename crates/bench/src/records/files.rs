//! The raw files as text: written as a whole.

use std::path::Path;

use serde::Serialize;

/// Writes a file of JSON as a whole: beside it, then renamed, so that a reader gets the old text or the new one.
/// Errors: the system's, with its name.
pub fn write_json(file: &Path, content: &impl Serialize) -> Result<(), String> {
    let text = serde_json::to_string_pretty(content).map_err(|error| format!("{}: {error}", file.display()))? + "\n";
    if file.exists() && !file.is_file() {
        // A pipe or a terminal is written to, and not replaced.
        return write_text(file, &text);
    }
    let unfinished = file.with_extension("unfinished");
    write_text(&unfinished, &text)?;
    std::fs::rename(&unfinished, file).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

/// Writes a file. Errors: the system's, with its name.
pub fn write_text(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))
}
