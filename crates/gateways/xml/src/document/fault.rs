//! The reasons for which a document or one of its children is refused. The client gets their `Display`.

use std::fmt;

use exchange::{NotKilled, PairFault, PendingFault};
use terms::{AmountError, GraceError, GroupError, IdError, Reject, RulesFault, TierError, TransferNumberError};

/// The refusal of a whole document: none of it takes effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal<'a> {
    pub(super) why: FaultCause<'a>,
    /// The byte of the body, from 0.
    pub(super) at: usize,
}

impl fmt::Display for Refusal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at byte {}", self.why, self.at)
    }
}

/// The fault of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultCause<'a> {
    NotUtf8,
    ForbiddenCharacter(char),
    NoRoot,
    AfterRoot,
    UnknownRoot(&'a [u8]),
    Unclosed(&'a [u8]),
    UnfinishedMarkup,
    BadMarkup,
    NoName,
    Mismatched {
        open: &'a [u8],
        end: &'a [u8],
    },
    BadTag,
    NoValue(&'a [u8]),
    UnquotedValue(&'a [u8]),
    AngleInValue(&'a [u8]),
    NoWhiteSpace,
    DuplicateAttribute(&'a [u8]),
    CdataEndInText,
    UnfinishedReference,
    UnknownEntity(&'a [u8]),
    BadCharacterReference(&'a [u8]),
    Doctype,
    DashesInComment,
    BadInstruction,
    MisplacedDeclaration,
    BadDeclaration,
    OtherEncoding(&'a [u8]),
    TooDeep {
        depth_max: usize,
    },
    TooManyElements {
        elements_max: usize,
        /// The number of elements that a mass cancel or kill counts for; `None` if the request has none.
        mass_counts: Option<usize>,
    },
    TextNotAllowed,
    ChildNotAllowed(&'a [u8]),
    RootAttribute {
        root: &'static str,
        name: &'a [u8],
    },
    NoKey,
    TwoProofs,
    /// `cancel-on-disconnect` is no grace, or stands in a login that asks for a challenge.
    Grace(GraceError),
    GraceTooEarly,
    NoAccount,
    TwoAccounts,
    NoChildren,
    SymbolTooLong,
}

impl fmt::Display for FaultCause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            FaultCause::NotUtf8 => f.write_str("not UTF-8"),
            FaultCause::ForbiddenCharacter(character) => {
                write!(f, "character U+{:04X} is not allowed in XML", u32::from(character))
            }
            FaultCause::NoRoot => f.write_str("no root element: expected <create> or <transactions>"),
            FaultCause::AfterRoot => f.write_str("something other than comments after the root element"),
            FaultCause::UnknownRoot(name) => {
                write!(f, "unknown root element {}: expected create or transactions", Excerpt(name))
            }
            FaultCause::Unclosed(name) => write!(f, "element {} has no end tag", Excerpt(name)),
            FaultCause::UnfinishedMarkup => f.write_str("the document ends inside a tag, comment or other markup"),
            FaultCause::BadMarkup => {
                f.write_str("markup that is no tag, comment, processing instruction or CDATA section")
            }
            FaultCause::NoName => f.write_str("a name was expected"),
            FaultCause::Mismatched { open, end } => {
                write!(f, "end tag {} where the end of {} was expected", Excerpt(end), Excerpt(open))
            }
            FaultCause::BadTag => f.write_str("a tag that does not end with > or />"),
            FaultCause::NoValue(name) => write!(f, "attribute {} has no value", Excerpt(name)),
            FaultCause::UnquotedValue(name) => write!(f, "the value of attribute {} is not quoted", Excerpt(name)),
            FaultCause::AngleInValue(name) => write!(f, "the value of attribute {} has a <; write &lt;", Excerpt(name)),
            FaultCause::NoWhiteSpace => f.write_str("white space was expected before an attribute"),
            FaultCause::DuplicateAttribute(name) => write!(f, "attribute {} stands twice in one tag", Excerpt(name)),
            FaultCause::CdataEndInText => f.write_str("]]> in text; write ]]&gt;"),
            FaultCause::UnfinishedReference => f.write_str("& without a ;: write &amp;"),
            FaultCause::UnknownEntity(name) => {
                write!(f, "unknown entity {}: only lt, gt, amp, apos and quot are known", Excerpt(name))
            }
            FaultCause::BadCharacterReference(name) => {
                write!(f, "character reference {} is no character that XML allows", Excerpt(name))
            }
            FaultCause::Doctype => f.write_str("a DOCTYPE is not accepted"),
            FaultCause::DashesInComment => f.write_str("-- inside a comment"),
            FaultCause::BadInstruction => f.write_str("a processing instruction without white space after its name"),
            FaultCause::MisplacedDeclaration => f.write_str("an XML declaration elsewhere than at the very start"),
            FaultCause::BadDeclaration => f.write_str("an XML declaration that is not well-formed"),
            FaultCause::OtherEncoding(name) => {
                write!(f, "encoding {} is declared; only UTF-8 and ASCII are read", Excerpt(name))
            }
            FaultCause::TooDeep { depth_max } => {
                write!(f, "elements are nested deeper than the request allows; at most {depth_max} levels")
            }
            FaultCause::TooManyElements { elements_max, mass_counts: None } => {
                write!(f, "more than {elements_max} elements in one request; split it")
            }
            FaultCause::TooManyElements { elements_max, mass_counts: Some(counts) } => write!(
                f,
                "more than {elements_max} elements in one request, where cancel-all, kill and release count as {counts} each; split it"
            ),
            FaultCause::TextNotAllowed => f.write_str("text where none belongs"),
            FaultCause::ChildNotAllowed(name) => {
                write!(f, "an element inside {}, nested deeper than the request allows", Excerpt(name))
            }
            FaultCause::RootAttribute { root, name } => write!(f, "{root} has an unknown attribute {}", Excerpt(name)),
            FaultCause::NoKey => f.write_str("login has no key"),
            FaultCause::TwoProofs => f.write_str("login has both a secret and a signature"),
            FaultCause::Grace(error) => write!(f, "cancel-on-disconnect {error}"),
            FaultCause::GraceTooEarly => {
                f.write_str("cancel-on-disconnect stands in the login with the secret or the signature")
            }
            FaultCause::NoAccount => f.write_str("transactions has no id attribute"),
            FaultCause::TwoAccounts => {
                f.write_str("transactions has an id and an account attribute, which mean the same: give one")
            }
            FaultCause::NoChildren => f.write_str("transactions has no children"),
            FaultCause::SymbolTooLong => f.write_str("a sym too long to be repeated for each of its accounts"),
        }
    }
}

/// The refusal of one child, which leaves the other children alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChildFault<'a> {
    UnknownElement(&'a [u8]),
    /// A kill with both an account and a symbol.
    TwoScopes,
    UnknownAttribute {
        element: &'static str,
        name: &'a [u8],
    },
    MissingAttribute {
        element: &'static str,
        name: &'static str,
    },
    NoShares,
    Amount {
        field: &'static str,
        error: AmountError,
    },
    Id {
        field: &'static str,
        error: IdError,
    },
    UnknownOrder,
    /// Rules that no order could obey.
    Rules(RulesFault),
    /// Two orders that cannot be linked.
    Pair(PairFault),
    /// Orders that cannot pend on another one.
    Pending(PendingFault),
    Tier(TierError),
    Grace {
        field: &'static str,
        error: GraceError,
    },
    Group(GroupError),
    /// The text is no number of a transfer.
    Transfer(TransferNumberError),
    /// A transfer of nothing, or of both kinds of assets.
    NoAssets,
    /// A member that cannot be killed.
    Member(NotKilled),
    /// An order that is invalid, in words.
    Order(&'static str),
}

impl fmt::Display for ChildFault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChildFault::TwoScopes => f.write_str("give account or sym, not both"),
            ChildFault::UnknownElement(name) => write!(f, "unknown element {}", Excerpt(name)),
            ChildFault::UnknownAttribute { element, name } => {
                write!(f, "{element} has an unknown attribute {}", Excerpt(name))
            }
            ChildFault::MissingAttribute { element, name } => write!(f, "{element} has no {name} attribute"),
            ChildFault::NoShares => f.write_str("shares are missing: they are the text of the account"),
            ChildFault::Amount { field, error } => write!(f, "{field} {error}"),
            ChildFault::Id { field, error } => write!(f, "{field} {error}"),
            ChildFault::UnknownOrder => Reject::UnknownOrder.fmt(f),
            ChildFault::Rules(fault) => fault.fmt(f),
            ChildFault::Pair(fault) => fault.fmt(f),
            ChildFault::Pending(fault) => fault.fmt(f),
            ChildFault::Grace { field, error } => write!(f, "{field} {error}"),
            ChildFault::Tier(error) => write!(f, "tier {error}"),
            ChildFault::Group(error) => write!(f, "group {error}"),
            ChildFault::Transfer(error) => write!(f, "transfer {error}"),
            ChildFault::NoAssets => f.write_str("give dollars, or sym and shares"),
            ChildFault::Member(why) => why.fmt(f),
            ChildFault::Order(fault) => f.write_str(fault),
        }
    }
}

/// The client's own words in a message, cut to a length fit for one.
struct Excerpt<'a>(&'a [u8]);

const SHOWN_CHARACTERS_MAX: usize = 40;

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = std::str::from_utf8(self.0).unwrap_or_default();
        match text.char_indices().nth(SHOWN_CHARACTERS_MAX) {
            Some((end, _)) => write!(f, "{}…", &text[..end]),
            None => f.write_str(text),
        }
    }
}
