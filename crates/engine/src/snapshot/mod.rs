//! The whole state as items: written by `export`, read back by `import`.

pub(crate) mod export;
pub(crate) mod import;
