//! A reusable store of parsed documents: what is asked with each, and what its reply is made of. Knows nothing of XML's grammar.

use exchange::Requests;
use exchange::containment::{Panicked, Part as Contained, contain};

use super::escape::push_escaped;
use super::reader::Attribute;

/// Memory for so many attributes of one tag is used again.
const ATTRIBUTES_KEPT_MAX: usize = 1024;

/// What a document may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most elements below the root, nested ones counted.
    pub children_max: usize,
}

/// Parsed documents of any number of connections, in the order in which they were appended: a request each.
///
/// An op asks the exchange for something; a part is what the reply shows for one child, mostly of one op.
#[derive(Clone, Debug, Default)]
pub struct Documents {
    /// What is asked. It may be handed inward meanwhile, and is back when replies are written.
    pub requests: Requests,
    pub(super) parts: Vec<Part>,
    /// Escaped XML that parts refer to.
    pub(super) text: Vec<u8>,
    /// Memory that the reader uses while it reads one document.
    pub(super) attributes: Vec<Attribute>,
    /// Where the parts of each document end.
    ends: Vec<usize>,
    /// Parts without an op that are no refusals of their form.
    said: usize,
    /// Whether the last document protects accounts, or does so no longer.
    pub(super) protects: bool,
}

/// What the reply shows for one child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) kind: PartKind,
    /// ` sym="S"` of the enclosing `symbol`, which its accounts share.
    pub(super) symbol: Span,
    /// The child's own attributes, ` id="1"`; of a refused child, all up to and including `</error>`.
    pub(super) own: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    /// Refused while parsing: it has no op.
    Refused,
    /// A whole element, which its gateway wrote: it has no op either.
    Said,
    /// One op, one element.
    Answered,
    /// One op that creates a symbol without accounts: silent unless refused.
    Symbol,
    /// One op that creates a symbol whose accounts say whether it was refused.
    SymbolWithAccounts,
    /// One op that issues shares of the symbol before it.
    Issued,
    /// One op that changes rules, a phase, fees, a tier or a group.
    Change,
    /// One op that protects an account.
    Protect,
    /// One op that does so no longer.
    Unprotect,
    /// The op that cancels an order to be replaced. The next part is its `ReplaceOrder`.
    ReplaceCancel,
    /// The op that places an order in the stead of that one.
    ReplaceOrder,
    /// The op that places the first of two orders to be linked. The next part is its `LinkedSecond`.
    LinkedFirst,
    /// The op that places the other one.
    LinkedSecond,
    /// The op that places a working order, or one that waits for it, but for the last of these.
    OfTree,
    /// The op that places the last one.
    LastOfTree,
    /// The op that kills or releases an account of a member, but for the last of these.
    OfMember,
    /// The op of the last one.
    LastOfMember,
}

/// A range of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// How much there was before a request was appended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    parts: usize,
    text: usize,
    said: usize,
    documents: usize,
}

impl Documents {
    /// None yet.
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

    /// Appends one document whose reply is a top-level error that says `why`: for bytes that are no request at all.
    pub fn refuse(&mut self, why: &str) {
        self.refuse_with(|text| push_escaped(text, why.as_bytes()));
    }

    /// Children, and whole documents, that were refused for their form: each has a part and no op.
    pub fn refused(&self) -> usize {
        self.parts.len() - self.requests.ops().len() - self.said
    }

    /// Appends one document whose reply is an element of this text.
    pub fn say(&mut self, element: &str, attribute: Option<(&str, &str)>, text: &str) {
        self.say_part(element, attribute, text);
        self.end_document();
    }

    /// The same, and the document goes on.
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

    /// Appends one document as `parse` does. If that panics, the reply is an error, and nothing of it is done.
    /// Errors: it panicked.
    pub fn contained(&mut self, parse: impl FnOnce(&mut Documents)) -> Result<(), Panicked> {
        let mark = self.mark();
        contain(Contained::Xml, || parse(self)).inspect_err(|_| {
            // One that has ended stands: its ops are whole.
            if self.ends.len() == mark.documents {
                self.roll_back(mark);
                self.refuse("a fault of the server ended this connection; nothing of this request was done");
            }
        })
    }

    /// Takes back all that was appended since `mark`, which was made at the end of a document.
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

    /// What was appended since the last document is the next one.
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

    /// A fault of ours in reading one document leaves those of others as they were.
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

    /// What is repeated as it stands in the request is the same that is written anew where it stands otherwise.
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
