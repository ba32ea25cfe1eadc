//! The files of the page, as they are in the program.

use include_dir::{Dir, include_dir};

pub(crate) static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../web/page");
