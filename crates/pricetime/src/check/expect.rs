//! Replies compared with the expectations of a case: by meaning (numbers as numbers, any order of attributes, any
//! wording of errors) or exactly as Pricetime writes them. This file knows XML, and nothing of the sender.

use std::time::{SystemTime, UNIX_EPOCH};

use scenarios::canonical;

use super::names::Names;

/// The most seconds by which a server's clock may differ from ours.
const CLOCK_SKEW_S: u64 = 86_400;

/// An element of a reply, or an expected one. In the latter a value may be `*` (anything but nothing), `now` (a time),
/// or `{1}` (an order's id, learnt where it is new).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub text: String,
    pub children: Vec<Element>,
}

/// The way in which replies are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Replies are compared by meaning: `125.00` is `125`, executions come in any order, and more attributes than
    /// expected are allowed.
    Meaning,
    /// Replies are compared as they are written: the same text, order and attributes.
    Exact,
}

impl Element {
    /// Reads one XML document. Errors: the fault in it.
    pub fn parse(bytes: &[u8]) -> Result<Element, String> {
        let text = std::str::from_utf8(bytes).map_err(|error| format!("the reply is not UTF-8: {error}"))?;
        let text = text.trim_matches(|letter: char| letter == '\0' || letter.is_whitespace());
        let document = roxmltree::Document::parse(text).map_err(|error| format!("the reply is not XML: {error}"))?;
        Ok(Element::of(document.root_element()))
    }

    fn of(node: roxmltree::Node<'_, '_>) -> Element {
        let own =
            |attribute: roxmltree::Attribute<'_, '_>| (attribute.name().to_string(), attribute.value().to_string());
        Element {
            name: node.tag_name().name().to_string(),
            attributes: node.attributes().map(own).collect(),
            text: node.children().filter(|child| child.is_text()).filter_map(|child| child.text()).collect(),
            children: node.children().filter(|child| child.is_element()).map(Element::of).collect(),
        }
    }

    /// The value of an attribute.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// Compares the children of `<results>`. Errors: the first difference, in words.
pub fn compare_all(expected: &[Element], results: &Element, names: &mut Names, manner: Manner) -> Result<(), String> {
    if results.name != "results" {
        return Err(format!("the root is <{}> and not <results>", results.name));
    }
    if expected.len() != results.children.len() {
        let found = results.children.len();
        return Err(format!("{} elements were expected in <results>, and {found} came", expected.len()));
    }
    let pairs = expected.iter().zip(&results.children);
    pairs.enumerate().try_for_each(|(index, (expected, found))| {
        compare(expected, found, names, manner).map_err(|why| format!("element {}: {why}", index + 1))
    })
}

fn compare(expected: &Element, found: &Element, names: &mut Names, manner: Manner) -> Result<(), String> {
    if expected.name != found.name {
        return Err(format!("<{}> was expected, and <{}> came", expected.name, found.name));
    }
    for (name, wanted) in &expected.attributes {
        let value = found.attribute(name).ok_or_else(|| format!("<{}> has no {name}", found.name))?;
        compare_value(wanted, value, names, manner).map_err(|why| format!("<{}> {name}: {why}", found.name))?;
    }
    if manner == Manner::Exact {
        let order = |element: &Element| element.attributes.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let (wanted, came) = (order(expected), order(found));
        if wanted != came {
            return Err(format!("<{}> has the attributes {came:?}; {wanted:?} were expected", found.name));
        }
    }
    if expected.text == "*" && found.text.trim().is_empty() {
        return Err(format!("<{}> has no text", found.name));
    }
    compare_children(expected, found, names, manner)
}

fn compare_children(expected: &Element, found: &Element, names: &mut Names, manner: Manner) -> Result<(), String> {
    let inside = |why| format!("<{}>: {why}", found.name);
    if expected.children.len() != found.children.len() {
        let (wanted, came) = (expected.children.len(), found.children.len());
        return Err(format!("<{}> has {came} children; {wanted} were expected", found.name));
    }
    if manner == Manner::Exact {
        let mut pairs = expected.children.iter().zip(&found.children);
        return pairs.try_for_each(|(wanted, came)| compare(wanted, came, names, manner).map_err(inside));
    }
    let mut left: Vec<&Element> = found.children.iter().collect();
    for wanted in &expected.children {
        let Some(place) = left.iter().position(|came| compare(wanted, came, names, manner).is_ok()) else {
            return Err(inside(format!("no child is {}", display(wanted))));
        };
        left.remove(place);
    }
    Ok(())
}

fn compare_value(wanted: &str, value: &str, names: &mut Names, manner: Manner) -> Result<(), String> {
    match wanted {
        "*" if value.trim().is_empty() => return Err("it is empty".to_string()),
        "*" => return Ok(()),
        "now" => return check_time(value, manner),
        _ => {}
    }
    if let Some(slot) = wanted.strip_prefix('{').and_then(|slot| slot.strip_suffix('}')?.parse().ok()) {
        return match names.order(slot) {
            Some(id) if id == value => Ok(()),
            Some(id) => Err(format!("{id} was expected, and {} came", cut(value))),
            None => names.learn(slot, value),
        };
    }
    let wanted = names.fill(wanted);
    if wanted == value {
        return Ok(());
    }
    let number = canonical(&wanted);
    if manner == Manner::Meaning && number.is_some() && number == canonical(value) {
        return Ok(());
    }
    Err(format!("{:?} was expected, and {:?} came", cut(&wanted), cut(value)))
}

/// Cuts a value to a length at which it is still recognizable.
fn cut(value: &str) -> String {
    const LETTERS_MAX: usize = 80;
    match value.char_indices().nth(LETTERS_MAX) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_string(),
    }
}

fn check_time(value: &str, manner: Manner) -> Result<(), String> {
    let (seconds, fraction) = value.split_once('.').unwrap_or((value, ""));
    let whole = manner == Manner::Meaning || fraction.is_empty();
    let seconds = seconds.parse::<u64>().ok().filter(|_| whole);
    let seconds = seconds.ok_or_else(|| format!("{:?} is no number of seconds", cut(value)))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default();
    if seconds.abs_diff(now) > CLOCK_SKEW_S {
        return Err(format!("{seconds} is more than a day from now, which is {now} seconds since the epoch"));
    }
    Ok(())
}

fn display(element: &Element) -> String {
    let attributes: String = element.attributes.iter().map(|(name, value)| format!(" {name}=\"{value}\"")).collect();
    format!("<{}{attributes}/>", element.name)
}

#[cfg(test)]
mod tests {
    use super::super::names::Fresh;
    use super::*;

    fn check(expected: &str, reply: &str, meaning: bool, exact: bool) {
        let wrapped = format!("<results>{expected}</results>");
        let expected = Element::parse(wrapped.as_bytes()).expect("the test's own XML").children;
        let reply = Element::parse(format!("<results>{reply}</results>").as_bytes()).expect("the test's own XML");
        for (manner, holds) in [(Manner::Meaning, meaning), (Manner::Exact, exact)] {
            let mut names = Names::new(Fresh::new());
            let result = compare_all(&expected, &reply, &mut names, manner);
            assert_eq!(result.is_ok(), holds, "{manner:?} {reply:?}: {result:?}");
        }
    }

    #[test]
    fn numbers_orders_and_wordings_are_compared_by_meaning_or_exactly() {
        check(r#"<a x="1" y="2"/>"#, r#"<a x="1" y="2"/>"#, true, true);
        check(r#"<a x="1" y="2"/>"#, r#" <a  y='2.00' x="01"></a> "#, true, false);
        check(r#"<a x="1"/>"#, r#"<a x="1" y="2"/>"#, true, false);
        check(r#"<s><a n="1"/><a n="2"/></s>"#, r#"<s><a n="2"/><a n="1"/></s>"#, true, false);
        check(r#"<error>*</error>"#, r#"<error>any words</error>"#, true, true);
    }

    #[test]
    fn every_kind_of_difference_is_noticed() {
        check(r#"<a x="1"/>"#, r#"<a x="2"/>"#, false, false);
        check(r#"<a x="1"/>"#, r#"<b x="1"/>"#, false, false);
        check(r#"<a x="1"/>"#, r#"<a/>"#, false, false);
        check(r#"<a/>"#, "", false, false);
        check("", r#"<a/>"#, false, false);
        check(r#"<a/><b/>"#, r#"<b/><a/>"#, false, false);
        check(r#"<s><a n="1"/><a n="1"/></s>"#, r#"<s><a n="1"/><a n="2"/></s>"#, false, false);
        check(r#"<s><a/></s>"#, r#"<s><a/><a/></s>"#, false, false);
        check(r#"<error>*</error>"#, r#"<error> </error>"#, false, false);
        check(r#"<a id="{1}"/><a id="{1}"/>"#, r#"<a id="7"/><a id="8"/>"#, false, false);
        check(r#"<a id="{1}"/><a id="{2}"/>"#, r#"<a id="7"/><a id="7"/>"#, false, false);
        check(r#"<a time="now"/>"#, r#"<a time="1519348326"/>"#, false, false);
        check(r#"<a time="now"/>"#, r#"<a time="now"/>"#, false, false);
        check(r#"<a id="*"/>"#, r#"<a id=""/>"#, false, false);
    }
}
