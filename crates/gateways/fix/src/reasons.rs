//! The numbers with which messages are refused: one table, from which the types are made and docs/FIX.md is checked.

use terms::{BrokenRule, Reject};

macro_rules! reasons {
    ($($field:ident $tag:ident { $($reason:ident $number:literal $meaning:literal;)* })*) => {
        $(
            #[doc = concat!(stringify!($field), " of FIX 4.4.")]
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub(crate) enum $field {
                $(#[doc = $meaning] $reason = $number,)*
            }
        )*

        /// Each number with its field and its meaning.
        #[cfg(test)]
        const ALL: &[(&str, crate::tags::Tag, u8, &str)] =
            &[$($((stringify!($field), crate::tags::$tag, $number, $meaning),)*)*];
    };
}

reasons! {
    SessionRejectReason SESSION_REJECT_REASON {
        InvalidTag 0 "a tag is no number above zero, or = does not follow it";
        Missing 1 "a required field is missing";
        NoValue 4 "a field has no value";
        Value 5 "a value is impossible or not offered";
        Format 6 "a number is not a whole one, a time is none, or data is not as long as its length field says";
        CompId 9 "a CompID is another one than the session's; the session ends";
        SendingTime 10 "SendingTime (52) is too far from the server's clock, or before OrigSendingTime (122); the session ends";
        UnknownKind 11 "FIX 4.4 has no such MsgType (35)";
        Twice 13 "a field is there twice";
        Other 99 "the message is beyond the limit of its member";
    }
    OrdRejReason ORD_REJ_REASON {
        UnknownSymbol 1 "there is no such symbol";
        Closed 2 "a kill switch is on, or the symbol is halted";
        PastLimit 3 "the account has too little money or too few shares, or a limit of it would be exceeded";
        Duplicate 6 "ClOrdID (11) stands for an order";
        UnknownAccount 15 "there is no such account, or it is not the member's";
        Other 99 "another reason, which Text (58) says";
    }
    CxlRejReason CXL_REJ_REASON {
        TooLate 0 "the order is done, and OrdStatus (39) says whether it was filled or canceled";
        UnknownOrder 1 "there is no such order";
        Duplicate 6 "the amendment's ClOrdID (11) stands for an order";
        Other 99 "another reason, which Text (58) says";
    }
    BusinessRejectReason BUSINESS_REJECT_REASON {
        UnsupportedKind 3 "a message of this kind is not taken";
    }
    MassCancelRejectReason MASS_CANCEL_REJECT_REASON {
        Other 99 "nothing was canceled, and Text (58) says why";
    }
}

impl From<&Reject> for OrdRejReason {
    #[expect(clippy::wildcard_enum_match_arm, reason = "for all others FIX has no number, and the text says why")]
    fn from(reject: &Reject) -> OrdRejReason {
        match reject {
            Reject::UnknownSymbol => OrdRejReason::UnknownSymbol,
            Reject::Killed(_) | Reject::BreaksRule(BrokenRule::Halted) => OrdRejReason::Closed,
            Reject::InsufficientFunds { .. } | Reject::InsufficientShares { .. } | Reject::PastLimit(_) => {
                OrdRejReason::PastLimit
            }
            Reject::ClientOrderIdTaken { .. } => OrdRejReason::Duplicate,
            Reject::UnknownAccount => OrdRejReason::UnknownAccount,
            _ => OrdRejReason::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_has_all_numbers_and_their_meanings() {
        let document = include_str!("../../../../docs/FIX.md");
        let is_row = |line: &&str| line.split(" | ").next().is_some_and(|cell| cell.contains("Reason ("));
        let documented: Vec<&str> = document.lines().filter(is_row).collect();
        let row = |(field, tag, number, meaning): &(&str, u32, u8, &str)| {
            format!("| {field} ({tag}) | `{number}` | {meaning} |")
        };
        assert_eq!(documented, ALL.iter().map(row).collect::<Vec<_>>());
    }

    #[test]
    fn an_order_in_a_halted_symbol_is_refused_as_closed_and_one_in_an_auction_is_not() {
        let reason = |rule| OrdRejReason::from(&Reject::BreaksRule(rule));
        assert_eq!(reason(BrokenRule::Halted), OrdRejReason::Closed);
        assert_eq!(reason(BrokenRule::Auction), OrdRejReason::Other);
    }
}
