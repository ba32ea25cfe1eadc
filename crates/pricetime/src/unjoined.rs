//! The folders in which a node takes a copy of another node's data folder, and the check that none is left. This file
//! does not know how a node joins.

use std::path::Path;

/// The folder of an unfinished copy.
pub const TAKEN: &str = "copy-being-taken";
/// The folder of a whole copy, whose files become this folder's.
pub const WHOLE: &str = "copy-taken";

/// Checks that no copy of another node's folder waits in a data folder: without the files that are not moved up yet,
/// the others are another market. Errors: there is one.
pub fn expect_joined(data: &Path) -> Result<(), String> {
    match [TAKEN, WHOLE].iter().find(|name| data.join(name).is_dir()) {
        None => Ok(()),
        Some(name) => Err(format!(
            "{}: {name} in this folder is a copy of another node's data folder that is not all moved up yet: start it once with --store \
             nats://… and its --node, which goes on; or remove the whole folder, and begin with an empty one",
            data.display()
        )),
    }
}
