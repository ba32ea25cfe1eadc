//! A reusable store of parsed requests: their ops, and what their replies are made of. Knows nothing of XML's grammar.

use std::ops::Range;

use engine::Op;

use super::escape::push_escaped;
use super::reader::Attribute;

/// Memory for so many attributes of one tag is used again.
const ATTRIBUTES_KEPT_MAX: usize = 1024;

/// What a request may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most elements below the root, nested ones counted.
    pub children_max: usize,
}

/// Parsed requests of any number of connections, in the order in which they were appended.
///
/// An op asks the engine for something; a part is what the reply shows for one child, mostly of one op.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    pub(super) ops: Vec<Op>,
    pub(super) parts: Vec<Part>,
    /// Escaped XML that parts refer to.
    pub(super) text: Vec<u8>,
    /// Memory that the reader uses while it reads one request.
    pub(super) attributes: Vec<Attribute>,
    ends: Vec<End>,
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
    /// One op, one element.
    Answered,
    /// One op that creates a symbol without accounts: silent unless refused.
    Symbol,
    /// One op that creates a symbol whose accounts say whether it was refused.
    SymbolWithAccounts,
    /// One op that issues shares of the symbol before it.
    Issued,
}

/// A range of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Where a request's ops and parts end.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    ops: usize,
    parts: usize,
}

/// How much there was before a request was appended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    ops: usize,
    parts: usize,
    text: usize,
}

impl Requests {
    /// None yet.
    pub fn new() -> Requests {
        Requests::default()
    }

    /// Forgets all requests and keeps the memory.
    pub fn clear(&mut self) {
        self.ops.clear();
        self.parts.clear();
        self.text.clear();
        self.ends.clear();
    }

    /// Appends one request whose reply is a top-level error that says `why`: for bytes that are no request at all.
    pub fn refuse(&mut self, why: &str) {
        self.refuse_with(|text| push_escaped(text, why.as_bytes()));
    }

    /// Appends one request that is no XML: its ops alone, so that its reply here would have no elements.
    pub fn push_ops(&mut self, ops: &[Op]) {
        self.ops.extend_from_slice(ops);
        self.end_request();
    }

    /// The number of requests.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no request.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Children, and whole documents, of XML requests that were refused for their form: each has a part and no op.
    pub fn refused(&self) -> usize {
        self.parts.len().saturating_sub(self.ops.len())
    }

    /// The ops of all requests, in order.
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// Where the ops of one request stand in [`Requests::ops`].
    pub fn ops_of(&self, request: usize) -> Range<usize> {
        self.start_of(request).ops..self.ends[request].ops
    }

    pub(super) fn parts_of(&self, request: usize) -> &[Part] {
        &self.parts[self.start_of(request).parts..self.ends[request].parts]
    }

    pub(super) fn text_of(&self, span: Span) -> &[u8] {
        &self.text[span.start..span.end]
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { ops: self.ops.len(), parts: self.parts.len(), text: self.text.len() }
    }

    /// Takes back all that was appended since `mark`.
    pub(super) fn roll_back(&mut self, mark: Mark) {
        self.ops.truncate(mark.ops);
        self.parts.truncate(mark.parts);
        self.text.truncate(mark.text);
    }

    /// Takes the reader's memory back, unless a hostile tag made it large.
    pub(super) fn keep_attributes(&mut self, attributes: Vec<Attribute>) {
        if attributes.capacity() <= ATTRIBUTES_KEPT_MAX {
            self.attributes = attributes;
        }
    }

    /// What was appended since the last request is the next one.
    pub(super) fn end_request(&mut self) {
        self.ends.push(End { ops: self.ops.len(), parts: self.parts.len() });
    }

    /// Appends a request whose reply is one error without attributes; `why` writes its text, escaped.
    pub(super) fn refuse_with(&mut self, why: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len();
        self.text.push(b'>');
        why(&mut self.text);
        self.text.extend_from_slice(b"</error>");
        let own = Span { start, end: self.text.len() };
        self.parts.push(Part { kind: PartKind::Refused, symbol: Span::default(), own });
        self.end_request();
    }

    fn start_of(&self, request: usize) -> End {
        request.checked_sub(1).map_or(End::default(), |before| self.ends[before])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "<create><account id='1' balance='&lt;'/><account id='1' balance='5'/><symbol sym='S'>\
        <account id='1'>5</account><bond/></symbol><symbol sym='-'/><bond/></create>";

    #[test]
    fn a_document_refused_at_any_byte_leaves_the_store_as_it_was_but_for_its_error() {
        let limits = Limits { children_max: 100 };
        let mut requests = Requests::new();
        requests.parse(DOCUMENT.as_bytes(), &limits);
        let whole = requests.clone();
        for end in 0..DOCUMENT.len() {
            requests.parse(&DOCUMENT.as_bytes()[..end], &limits);
            assert_eq!(requests.len(), 2, "cut after {end} bytes");
            assert_eq!(requests.ops, whole.ops);
            assert_eq!(requests.parts.len(), whole.parts.len() + 1);
            let error = requests.parts_of(1)[0];
            assert_eq!((error.kind, error.own.start), (PartKind::Refused, whole.text.len()));
            assert!(requests.text_of(error.own).ends_with(b"</error>"));
            assert_eq!(error.own.end, requests.text.len());
            requests.roll_back(Mark { ops: whole.ops.len(), parts: whole.parts.len(), text: whole.text.len() });
            requests.ends.pop();
            assert_eq!((&requests.parts, &requests.text), (&whole.parts, &whole.text));
        }
    }
}
