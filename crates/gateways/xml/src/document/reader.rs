//! A strict reader of XML 1.0 in one pass: tokens that point into the body, no tree, no recursion, no allocation.
//!
//! It refuses documents that are not well-formed, and what the protocol excludes (DOCTYPE, other encodings, deep
//! nesting, too many elements). It knows neither the names of elements nor their meaning. Source: docs/PROTOCOL.md, bad
//! XML.

use std::borrow::Cow;

use super::chars::{self, TextContext};
use super::fault::{FaultCause, Refusal};

/// The deepest nesting of any request: `create`, `symbol`, `account`.
pub(super) const DEPTH_MAX: usize = 3;
/// Attributes of a tag up to which each new one is compared with those before it; more are sorted once.
const COMPARED_ATTRIBUTES_MAX: usize = 16;

/// Mass cancels and kills that a request may have if it has nothing else.
const MASS_ELEMENTS_MAX: usize = 100;

/// The declaration with which nearly every request begins. It needs no parsing.
const USUAL_DECLARATION: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

/// Encodings that may be declared. UTF8 is no registered name, but some client libraries write it.
const ENCODINGS: [&str; 4] = ["UTF-8", "UTF8", "US-ASCII", "ASCII"];

/// A start tag. Its attributes stay in the reader until the next one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag<'a> {
    pub(super) name: &'a [u8],
    /// The byte at which its `<` stands.
    pub(super) at: usize,
    /// Whether it is `<name/>`, so that no end follows.
    pub(super) empty: bool,
}

/// Text between tags, or of a CDATA section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    raw: &'a [u8],
    place: TextContext,
    white: bool,
    pub(super) at: usize,
}

/// A token inside an element.
#[derive(Clone, Copy, Debug)]
pub(super) enum Token<'a> {
    Start(Tag<'a>),
    Text(Text<'a>),
    /// The end of the innermost open element.
    End,
}

/// An attribute's value.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Value<'a> {
    pub(super) raw: &'a [u8],
    /// Whether no character is decoded or escaped differently: `raw` is the decoded and the escaped value too.
    pub(super) verbatim: bool,
    /// `name="value"` as it stands in the request, if the reply repeats it in the same form.
    pub(super) written: Option<&'a [u8]>,
}

/// An attribute by its places in the body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attribute {
    name: (usize, usize),
    value: (usize, usize),
    verbatim: bool,
    /// Whether only `="` stands between its name and its value.
    is_tight: bool,
}

/// The reader and its place in the body.
pub(super) struct Reader<'a> {
    body: &'a [u8],
    at: usize,
    open: [&'a [u8]; DEPTH_MAX],
    depth: usize,
    depth_max: usize,
    elements: usize,
    elements_max: usize,
    /// The number of elements that a mass cancel or kill counts for; 0 until there was one.
    mass_counts: usize,
    attributes: Vec<Attribute>,
    /// A bit for each length of a name among these attributes: names of different lengths are not the same.
    name_lengths: u64,
}

impl<'a> Text<'a> {
    /// Decodes the text.
    pub(super) fn decoded(&self) -> Cow<'a, [u8]> {
        chars::decode(self.raw, self.place)
    }

    /// Whether it is only white space.
    pub(super) fn is_white(&self) -> bool {
        self.white || self.decoded().iter().all(|&byte| chars::is_white(byte))
    }
}

impl<'a> Value<'a> {
    /// Decodes the value.
    pub(super) fn decoded(self) -> Cow<'a, [u8]> {
        if self.verbatim { Cow::Borrowed(self.raw) } else { chars::decode(self.raw, TextContext::Attribute) }
    }

    /// Decodes the value and removes the white space around it.
    pub(super) fn trimmed(self) -> Cow<'a, [u8]> {
        match self.decoded() {
            Cow::Borrowed(value) => Cow::Borrowed(chars::trim(value)),
            Cow::Owned(value) => Cow::Owned(chars::trim(&value).to_vec()),
        }
    }
}

impl<'a> Reader<'a> {
    /// Returns a reader of a document of at most `elements_max` elements below the root. `attributes` is memory to use
    /// again.
    pub(super) fn new(body: &'a [u8], elements_max: usize, attributes: Vec<Attribute>) -> Reader<'a> {
        let open = [&body[..0]; DEPTH_MAX];
        Reader {
            body,
            at: 0,
            open,
            depth: 0,
            depth_max: DEPTH_MAX,
            elements: 0,
            elements_max,
            mass_counts: 0,
            attributes,
            name_lengths: 0,
        }
    }

    /// Returns the memory of the attributes.
    pub(super) fn into_attributes(self) -> Vec<Attribute> {
        self.attributes
    }

    /// Lists the attributes of the last start tag, in their order; no two have the same name.
    pub(super) fn attributes(&self) -> impl Iterator<Item = (&'a [u8], Value<'a>)> {
        self.attributes.iter().map(|attribute| {
            let Attribute { name: (name, name_end), value: (value, value_end), verbatim, is_tight } = *attribute;
            let written = (verbatim && is_tight).then(|| &self.body[name..=value_end]);
            (&self.body[name..name_end], Value { raw: &self.body[value..value_end], verbatim, written })
        })
    }

    /// Reads up to the root's start tag. The first call.
    pub(super) fn root(&mut self) -> Result<Tag<'a>, Refusal<'a>> {
        chars::check(self.body).map_err(|(why, at)| Refusal { why, at })?;
        if self.body.starts_with(b"\xef\xbb\xbf") {
            self.at = 3;
        }
        if self.rest().starts_with(USUAL_DECLARATION) {
            self.at += USUAL_DECLARATION.len();
        } else if self.rest().starts_with(b"<?xml") && chars::name_length(&self.rest()[2..]) == Some(3) {
            self.declaration()?;
        }
        self.skip_around_root()?;
        match self.rest() {
            [b'<', b'/' | b'!', ..] => Err(self.refuse(FaultCause::BadMarkup)),
            [b'<', ..] => self.start_tag(),
            _ => Err(self.refuse(FaultCause::NoRoot)),
        }
    }

    /// Limits the depth of nesting from here on, the root included.
    pub(super) fn limit_depth(&mut self, depth_max: usize) {
        self.depth_max = depth_max;
    }

    /// Returns the next token inside the innermost open element. Skips comments and processing instructions.
    pub(super) fn next(&mut self) -> Result<Token<'a>, Refusal<'a>> {
        loop {
            match self.rest() {
                [b'<', b'/', ..] => return self.end_tag(),
                [b'<', b'!', ..] => {
                    if self.rest().starts_with(b"<![CDATA[") {
                        return self.cdata();
                    }
                    self.comment()?;
                }
                [b'<', b'?', ..] => self.instruction()?,
                [b'<', ..] => return self.start_tag().map(Token::Start),
                [] => return Err(self.refuse(FaultCause::Unclosed(self.innermost()))),
                _ => return self.text(),
            }
        }
    }

    /// Checks that only comments, processing instructions and white space follow the root's end. The last call.
    pub(super) fn finish(&mut self) -> Result<(), Refusal<'a>> {
        self.skip_around_root()?;
        if self.rest().is_empty() { Ok(()) } else { Err(self.refuse(FaultCause::AfterRoot)) }
    }

    fn rest(&self) -> &'a [u8] {
        &self.body[self.at..]
    }

    fn refuse(&self, why: FaultCause<'a>) -> Refusal<'a> {
        Refusal { why, at: self.at }
    }

    fn innermost(&self) -> &'a [u8] {
        self.open[self.depth - 1]
    }

    /// Skips white space. Returns whether there was any.
    #[inline]
    fn skip_white(&mut self) -> bool {
        let start = self.at;
        while let Some(&byte) = self.body.get(self.at)
            && chars::is_white(byte)
        {
            self.at += 1;
        }
        self.at > start
    }

    fn name(&mut self) -> Result<&'a [u8], Refusal<'a>> {
        let rest = self.rest();
        let length = chars::name_length(rest).ok_or_else(|| self.refuse(FaultCause::NoName))?;
        self.at += length;
        Ok(&rest[..length])
    }

    fn skip_around_root(&mut self) -> Result<(), Refusal<'a>> {
        loop {
            self.skip_white();
            match self.rest() {
                [b'<', b'!', ..] => self.comment()?,
                [b'<', b'?', ..] => self.instruction()?,
                _ => return Ok(()),
            }
        }
    }

    /// Counts the last element, a mass cancel or kill, as a hundredth of all elements that there may be: so the cost of
    /// one request is bounded. Errors: there are too many.
    pub(super) fn count_mass(&mut self) -> Result<(), Refusal<'a>> {
        self.mass_counts = (self.elements_max / MASS_ELEMENTS_MAX).max(1);
        self.count(self.mass_counts - 1)
    }

    fn count(&mut self, elements: usize) -> Result<(), Refusal<'a>> {
        self.elements += elements;
        match self.elements > self.elements_max {
            true => Err(self.refuse(FaultCause::TooManyElements {
                elements_max: self.elements_max,
                mass_counts: (self.mass_counts > 1).then_some(self.mass_counts),
            })),
            false => Ok(()),
        }
    }

    fn start_tag(&mut self) -> Result<Tag<'a>, Refusal<'a>> {
        let at = self.at;
        if self.depth > 0 {
            self.count(1)?;
        }
        if self.depth == self.depth_max {
            return Err(self.refuse(FaultCause::TooDeep { depth_max: self.depth_max }));
        }
        self.at += 1;
        let name = self.name()?;
        self.attributes.clear();
        self.name_lengths = 0;
        let empty = loop {
            let spaced = self.skip_white();
            match self.body.get(self.at) {
                Some(b'>') => break false,
                Some(b'/') if self.body.get(self.at + 1) == Some(&b'>') => break true,
                Some(b'/') => return Err(self.refuse(FaultCause::BadTag)),
                Some(_) if spaced => self.attribute()?,
                Some(_) => return Err(self.refuse(FaultCause::NoWhiteSpace)),
                None => return Err(self.refuse(FaultCause::UnfinishedMarkup)),
            }
        };
        if self.attributes.len() > COMPARED_ATTRIBUTES_MAX {
            self.check_many_attributes()?;
        }
        if empty {
            self.at += 2;
        } else {
            self.at += 1;
            self.open[self.depth] = name;
            self.depth += 1;
        }
        Ok(Tag { name, at, empty })
    }

    fn attribute(&mut self) -> Result<(), Refusal<'a>> {
        let start = self.at;
        let name = self.name()?;
        self.skip_white();
        if self.body.get(self.at) != Some(&b'=') {
            return Err(self.refuse(FaultCause::NoValue(name)));
        }
        self.at += 1;
        self.skip_white();
        let quote = match self.body.get(self.at) {
            Some(&quote @ (b'"' | b'\'')) => quote,
            Some(_) => return Err(self.refuse(FaultCause::UnquotedValue(name))),
            None => return Err(self.refuse(FaultCause::UnfinishedMarkup)),
        };
        self.at += 1;
        let value_start = self.at;
        let verbatim = self.value(quote, name)?;
        let length = 1 << (name.len() % u64::BITS as usize);
        if self.name_lengths & length != 0
            && self.attributes.len() < COMPARED_ATTRIBUTES_MAX
            && self.attributes().any(|(before, _)| chars::same(before, name))
        {
            return Err(Refusal { why: FaultCause::DuplicateAttribute(name), at: start });
        }
        let name_end = start + name.len();
        let is_tight = quote == b'"' && value_start == name_end + 2;
        let attribute = Attribute { name: (start, name_end), value: (value_start, self.at), verbatim, is_tight };
        self.attributes.push(attribute);
        self.name_lengths |= length;
        self.at += 1;
        Ok(())
    }

    /// Goes to the closing quote. Returns whether the value is verbatim.
    fn value(&mut self, quote: u8, name: &'a [u8]) -> Result<bool, Refusal<'a>> {
        let mut verbatim = true;
        loop {
            let rest = self.rest();
            let Some(length) = rest.iter().position(|&byte| VALUE_SPECIAL[usize::from(byte)]) else {
                return Err(Refusal { why: FaultCause::UnfinishedMarkup, at: self.body.len() });
            };
            self.at += length;
            match rest[length] {
                byte if byte == quote => return Ok(verbatim),
                b'<' => return Err(self.refuse(FaultCause::AngleInValue(name))),
                b'&' => self.reference()?,
                _ => self.at += 1,
            }
            verbatim = false;
        }
    }

    /// Steps over a reference. Errors: it is invalid.
    fn reference(&mut self) -> Result<(), Refusal<'a>> {
        let (_, length) = chars::reference(self.rest()).map_err(|why| self.refuse(why))?;
        self.at += length;
        Ok(())
    }

    /// Sorts many attributes of one tag to find a duplicate: comparing each with each would take a hostile request too
    /// long.
    fn check_many_attributes(&self) -> Result<(), Refusal<'a>> {
        let mut names: Vec<(&[u8], usize)> = self
            .attributes
            .iter()
            .map(|attribute| (&self.body[attribute.name.0..attribute.name.1], attribute.name.0))
            .collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            Some(pair) => Err(Refusal { why: FaultCause::DuplicateAttribute(pair[1].0), at: pair[1].1 }),
            None => Ok(()),
        }
    }

    fn end_tag(&mut self) -> Result<Token<'a>, Refusal<'a>> {
        let at = self.at;
        self.at += 2;
        let open = self.innermost();
        let rest = self.rest();
        // Nearly always it is the right name and nothing else.
        if rest.get(open.len()) == Some(&b'>') && chars::same(&rest[..open.len()], open) {
            self.at += open.len() + 1;
            self.depth -= 1;
            return Ok(Token::End);
        }
        let end = self.name()?;
        if !chars::same(end, open) {
            return Err(Refusal { why: FaultCause::Mismatched { open, end }, at });
        }
        self.skip_white();
        match self.rest() {
            [b'>', ..] => self.at += 1,
            [] => return Err(self.refuse(FaultCause::UnfinishedMarkup)),
            _ => return Err(self.refuse(FaultCause::BadTag)),
        }
        self.depth -= 1;
        Ok(Token::End)
    }

    fn text(&mut self) -> Result<Token<'a>, Refusal<'a>> {
        let start = self.at;
        self.skip_white();
        let mut white = true;
        while let Some(&byte) = self.body.get(self.at) {
            match byte {
                b'<' => break,
                b'&' => {
                    self.reference()?;
                    white = false;
                    continue;
                }
                b']' if self.rest().starts_with(b"]]>") => return Err(self.refuse(FaultCause::CdataEndInText)),
                _ => white &= chars::is_white(byte),
            }
            self.at += 1;
        }
        Ok(Token::Text(Text { raw: &self.body[start..self.at], place: TextContext::Text, white, at: start }))
    }

    fn cdata(&mut self) -> Result<Token<'a>, Refusal<'a>> {
        let at = self.at;
        self.at += b"<![CDATA[".len();
        let raw = self.up_to(*b"]]>")?;
        Ok(Token::Text(Text { raw, place: TextContext::Cdata, white: false, at }))
    }

    /// Returns the bytes before `end`, and goes behind it.
    fn up_to<const N: usize>(&mut self, end: [u8; N]) -> Result<&'a [u8], Refusal<'a>> {
        let rest = self.rest();
        let mut length = 0;
        while let Some(skipped) = rest[length..].iter().position(|&byte| byte == end[0]) {
            length += skipped;
            if rest[length..].first_chunk() == Some(&end) {
                self.at += length + N;
                return Ok(&rest[..length]);
            }
            length += 1;
        }
        Err(Refusal { why: FaultCause::UnfinishedMarkup, at: self.body.len() })
    }

    /// Skips a comment. Errors: something else starts with `<!`.
    fn comment(&mut self) -> Result<(), Refusal<'a>> {
        if !self.rest().starts_with(b"<!--") {
            let why = if self.rest().starts_with(b"<!DOCTYPE") { FaultCause::Doctype } else { FaultCause::BadMarkup };
            return Err(self.refuse(why));
        }
        self.at += 4;
        self.up_to(*b"--")?;
        match self.rest() {
            [b'>', ..] => self.at += 1,
            [] => return Err(self.refuse(FaultCause::UnfinishedMarkup)),
            _ => return Err(Refusal { why: FaultCause::DashesInComment, at: self.at - 2 }),
        }
        Ok(())
    }

    /// Skips a processing instruction.
    fn instruction(&mut self) -> Result<(), Refusal<'a>> {
        let at = self.at;
        self.at += 2;
        if self.name()?.eq_ignore_ascii_case(b"xml") {
            return Err(Refusal { why: FaultCause::MisplacedDeclaration, at });
        }
        if !self.rest().starts_with(b"?>") && !self.skip_white() {
            return Err(self.refuse(if self.rest().is_empty() {
                FaultCause::UnfinishedMarkup
            } else {
                FaultCause::BadInstruction
            }));
        }
        self.up_to(*b"?>").map(|_| ())
    }

    /// Reads `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`, in which only the version is required.
    fn declaration(&mut self) -> Result<(), Refusal<'a>> {
        let at = self.at;
        self.at += b"<?xml".len();
        let version = self.declared(b"version")?;
        let encoding = self.declared(b"encoding")?;
        let standalone = self.declared(b"standalone")?;
        self.skip_white();
        let well_formed = matches!(version, Some([b'1', b'.', minor @ ..])
                if !minor.is_empty() && minor.iter().all(u8::is_ascii_digit))
            && matches!(standalone, None | Some(b"yes" | b"no"))
            && self.rest().starts_with(b"?>");
        if !well_formed {
            return Err(Refusal { why: FaultCause::BadDeclaration, at });
        }
        self.at += 2;
        let is_read = |name: &[u8]| ENCODINGS.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes()));
        match encoding.filter(|name| !is_read(name)) {
            Some(name) => Err(Refusal { why: FaultCause::OtherEncoding(name), at }),
            None => Ok(()),
        }
    }

    /// Returns the value of a pseudo-attribute of the declaration, if it is the next one.
    fn declared(&mut self, name: &[u8]) -> Result<Option<&'a [u8]>, Refusal<'a>> {
        let start = self.at;
        if !self.skip_white() || !self.rest().starts_with(name) {
            self.at = start;
            return Ok(None);
        }
        self.at += name.len();
        self.skip_white();
        if self.body.get(self.at) != Some(&b'=') {
            return Err(self.refuse(FaultCause::BadDeclaration));
        }
        self.at += 1;
        self.skip_white();
        match self.body.get(self.at) {
            Some(&quote @ (b'"' | b'\'')) => {
                self.at += 1;
                self.up_to([quote]).map(Some)
            }
            _ => Err(self.refuse(FaultCause::BadDeclaration)),
        }
    }
}

/// Bytes of an attribute's value that end it, are refused, or are decoded or escaped.
static VALUE_SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = matches!(byte as u8, b'"' | b'\'' | b'<' | b'>' | b'&' | b'\t' | b'\n' | b'\r');
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests;
