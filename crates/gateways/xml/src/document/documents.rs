//! A reusable store of parsed documents: the ops of each, and the parts of its reply. It knows nothing of XML's
//! grammar.

use exchange::Requests;
use exchange::containment::{Panicked, Part as Contained, contain};

use super::escape::push_escaped;
use super::reader::Attribute;

/// Attributes of one tag whose memory is kept for reuse, at most.
const ATTRIBUTES_KEPT_MAX: usize = 1024;

/// The reply to a request whose reading panicked.
pub(crate) const FAULT: &str = "a fault of the server ended this connection; nothing of this request was done";

/// The limits of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Elements below the root, nested ones counted, at most.
    pub children_max: usize,
}

/// Parsed documents of any number of connections, in the order in which they were appended: each is a request.
///
/// An op asks the exchange for something; a part is what the reply shows for one child, mostly of one op.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    /// The ops. The exchange may have them meanwhile, and they are back when replies are written.
    pub requests: Requests,
    pub(super) parts: Vec<Part>,
    /// Escaped XML that parts refer to.
    pub(super) text: Vec<u8>,
    /// Memory that the reader uses while it reads one document.
    pub(super) attributes: Vec<Attribute>,
    /// The end of each document's parts.
    ends: Vec<usize>,
    /// Parts without an op that are not refusals of malformed children.
    said: usize,
    /// Whether the last document protects or unprotects accounts.
    pub(super) protects: bool,
}

/// The part of a reply for one child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    /// ` sym="S"` of the enclosing `symbol`, which its accounts share.
    pub(super) symbol: Span,
    /// The child's own attributes, ` id="1"`; for a refused child, all up to and including `</error>`.
    pub(super) own: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    /// A child that was refused while parsing: it has no op.
    Refused,
    /// A whole element that the gateway wrote: it has no op either.
    Said,
    /// An op that is answered with one element.
    Answered,
    /// An op that creates a symbol without accounts: silent unless refused.
    Symbol,
    /// An op that creates a symbol whose accounts say whether it was refused.
    SymbolWithAccounts,
    /// An op that issues shares of the symbol before it.
    Issued,
    /// An op that changes rules, limits, a phase, fees, a tier or a group, or kills or releases.
    Change,
    /// An op that adds assets to an account.
    Deposit,
    /// An op that takes assets out of an account.
    Withdraw,
    /// An op that closes an account.
    Close,
    /// An op that protects an account.
    Protect,
    /// An op that unprotects an account.
    Unprotect,
    /// The op that cancels an order to be replaced. The next part is its `ReplaceOrder`.
    ReplaceCancel,
    /// The op that places the replacement.
    ReplaceOrder,
    /// The op that places the first of two linked orders. The next part is its `LinkedSecond`.
    LinkedFirst,
    /// The op that places the second one.
    LinkedSecond,
    /// The op that places a working order or a pending one, except the last one.
    OfTree,
    /// The op that places the last pending order.
    LastOfTree,
    /// The op that kills or releases an account of a member, except the last one.
    OfMember,
    /// The op for the last account.
    LastOfMember,
}

/// A range of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The sizes of a store before a request was appended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    parts: usize,
    text: usize,
    said: usize,
    documents: usize,
}

/// The number of parts, and the bytes of their text.
#[derive(Clone, Copy, Debug)]
pub struct DocumentsSize {
    pub parts: usize,
    pub text_bytes: usize,
}

impl Documents {
    /// The size of all documents.
    pub fn size(&self) -> DocumentsSize {
        DocumentsSize { parts: self.parts.len(), text_bytes: self.text.len() }
    }

    /// Returns an empty store.
    pub fn new() -> Documents {
        Documents::default()
    }

    /// Forgets all documents and keeps the memory.
    pub fn clear(&mut self) {
        self.requests.clear();
        self.parts.clear();
        self.text.clear();
        self.ends.clear();
        self.said = 0;
        self.protects = false;
    }

    /// Appends a document whose reply is a top-level error with the reason `why`: for bytes that are no request at all.
    pub fn refuse(&mut self, why: &str) {
        self.refuse_with(|text| push_escaped(text, why.as_bytes()));
    }

    /// Returns the number of children, and of whole documents, that were refused for their form: each has a part and no
    /// op.
    pub fn refused(&self) -> usize {
        self.parts.len() - self.requests.ops().len() - self.said
    }

    /// Appends a document whose reply is an element of this text.
    pub fn say(&mut self, element: &str, attribute: Option<(&str, &str)>, text: &str) {
        self.say_part(element, attribute, text);
        self.end_document();
    }

    /// Appends such an element; the document goes on.
    pub(super) fn say_part(&mut self, element: &str, attribute: Option<(&str, &str)>, text: &str) {
        let start = self.text.len();
        push_element(&mut self.text, element, attribute, text);
        let own = Span { start, end: self.text.len() };
        self.parts.push(Part { kind: PartKind::Said, symbol: Span::default(), own });
        self.said += 1;
    }

    pub(super) fn parts_of(&self, document: usize) -> &[Part] {
        let start = document.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.parts[start..self.ends[document]]
    }

    pub(super) fn text_of(&self, span: Span) -> &[u8] {
        &self.text[span.start..span.end]
    }

    pub(super) fn mark(&self) -> Mark {
        let (parts, text) = (self.parts.len(), self.text.len());
        Mark { parts, text, said: self.said, documents: self.ends.len() }
    }

    /// Appends a document as `parse` does. If that panics, the reply is an error, and none of its ops happens. Errors:
    /// it panicked.
    pub fn contained(&mut self, parse: impl FnOnce(&mut Documents)) -> Result<(), Panicked> {
        let mark = self.mark();
        contain(Contained::Xml, || parse(self)).inspect_err(|_| {
            // A document that has ended stands: its ops are complete.
            if self.ends.len() == mark.documents {
                self.roll_back(mark);
                self.refuse(FAULT);
            }
        })
    }

    /// Takes back everything that was appended since `mark`, which was made at the end of a document.
    pub(super) fn roll_back(&mut self, mark: Mark) {
        self.requests.drop_unfinished();
        self.protects = false;
        self.parts.truncate(mark.parts);
        self.text.truncate(mark.text);
        self.said = mark.said;
    }

    /// Takes the reader's memory back, unless a hostile tag made it large.
    pub(super) fn keep_attributes(&mut self, attributes: Vec<Attribute>) {
        if attributes.capacity() <= ATTRIBUTES_KEPT_MAX {
            self.attributes = attributes;
        }
    }

    /// Ends the document that was appended.
    pub(super) fn end_document(&mut self) {
        self.requests.end_request();
        self.ends.push(self.parts.len());
    }

    /// Appends a document whose reply is one error without attributes; `why` writes its text, escaped.
    pub(super) fn refuse_with(&mut self, why: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len();
        self.text.push(b'>');
        why(&mut self.text);
        self.text.extend_from_slice(b"</error>");
        let own = Span { start, end: self.text.len() };
        self.parts.push(Part { kind: PartKind::Refused, symbol: Span::default(), own });
        self.end_document();
    }
}

fn push_element(out: &mut Vec<u8>, element: &str, attribute: Option<(&str, &str)>, text: &str) {
    out.push(b'<');
    out.extend_from_slice(element.as_bytes());
    if let Some((name, value)) = attribute {
        out.push(b' ');
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"=\"");
        push_escaped(out, value.as_bytes());
        out.push(b'"');
    }
    if text.is_empty() {
        return out.extend_from_slice(b"/>");
    }
    out.push(b'>');
    push_escaped(out, text.as_bytes());
    out.extend_from_slice(b"</");
    out.extend_from_slice(element.as_bytes());
    out.push(b'>');
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "<create><account id='1' balance='&lt;'/><account id='1' balance='5'/><symbol sym='S'>\
        <account id='1'>5</account><bond/></symbol><symbol sym='-'/><bond/></create>";

    #[test]
    fn a_document_refused_at_any_byte_leaves_the_store_as_it_was_but_for_its_error() {
        let limits = Limits { children_max: 100 };
        let mut whole = Documents::new();
        whole.parse(DOCUMENT.as_bytes(), &limits);
        for end in 0..DOCUMENT.len() {
            let mut documents = whole.clone();
            documents.parse(&DOCUMENT.as_bytes()[..end], &limits);
            assert_eq!(documents.requests.len(), 2, "cut after {end} bytes");
            assert_eq!(documents.requests.ops(), whole.requests.ops());
            assert_eq!(documents.parts.len(), whole.parts.len() + 1);
            let error = documents.parts_of(1)[0];
            assert_eq!((error.kind, error.own.start), (PartKind::Refused, whole.text.len()));
            assert!(documents.text_of(error.own).ends_with(b"</error>"));
            assert_eq!(error.own.end, documents.text.len());
            assert_eq!(documents.parts[..whole.parts.len()], whole.parts);
            assert_eq!(documents.text[..whole.text.len()], whole.text);
        }
    }

    /// A panic in reading one document leaves those of other clients as they were.
    #[test]
    fn a_document_whose_reading_panics_is_refused_and_others_stay() {
        let limits = Limits { children_max: 100 };
        let mut whole = Documents::new();
        whole.parse(DOCUMENT.as_bytes(), &limits);
        let mut documents = whole.clone();
        let panicked = documents.contained(|documents| {
            documents.requests.push_op(whole.requests.ops()[0]);
            documents.say_part("said", None, "half");
            panic!("planted");
        });
        assert!(panicked.is_err());
        assert!(documents.contained(|documents| documents.parse(DOCUMENT.as_bytes(), &limits)).is_ok());
        assert_eq!((documents.requests.len(), documents.refused()), (3, 2 * whole.refused() + 1));
        assert_eq!(documents.requests.ops(), [whole.requests.ops(), whole.requests.ops()].concat());
        assert_eq!(documents.parts_of(1).iter().map(|part| part.kind).collect::<Vec<_>>(), [PartKind::Refused]);
    }

    /// Attributes that are copied from the request equal those that are written anew.
    #[test]
    fn attributes_are_repeated_alike_however_they_are_written() {
        let text = |body: &str| {
            let mut documents = Documents::new();
            documents.parse(body.as_bytes(), &Limits { children_max: 9 });
            String::from_utf8(documents.text).expect("it was text")
        };
        let usual = text("<transactions id=\"1\"><order sym=\"S\" amount=\"5\" limit=\"1.5\"/></transactions>");
        assert_eq!(usual, " sym=\"S\" amount=\"5\" limit=\"1.5\"");
        for order in [
            "sym='S' amount='5' limit='1.5'",
            "sym = \"S\"\tamount= \"5\"\nlimit =\"1.5\" ",
            "limit=\"1.5\" amount=\"5\" sym=\"S\"",
            "amount='5'  sym=\"&#83;\" limit='1&#46;5'",
        ] {
            assert_eq!(text(&format!("<transactions id='1'><order {order}/></transactions>")), usual, "{order}");
        }
        let quoted = text("<transactions id='1'><order sym='&quot;' amount='\"'  limit=\"'\"/></transactions>");
        assert!(quoted.starts_with(" sym=\"&quot;\" amount=\"&quot;\" limit=\"'\">"), "{quoted}");
    }
}
