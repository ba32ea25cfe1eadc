//! Versions of a log's messages. The log says which one nodes write ([`crate::upgrade`]).

/// The oldest version that is read and written, and the newest that this program knows. Release 0.1.0 began with
/// version 1. A version says how a message's bytes are read, and by which rules its commands are applied: where
/// [`journal::RULES_VERSION`] rises, both of these rise.
pub const OLDEST: u8 = 1;
pub const NEWEST: u8 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_one_version_have_commands_of_one_version_of_the_rules() {
        assert_eq!(
            (journal::RULES_VERSION, OLDEST),
            (1, 1),
            "what commands mean has changed: nodes that apply one log by different rules would part; raise OLDEST and NEWEST, too"
        );
    }
}
