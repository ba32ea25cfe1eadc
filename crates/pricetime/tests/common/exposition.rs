//! Reads metrics in the OpenMetrics format, strictly: anything that the format forbids is a panic that shows the line.

use std::collections::{BTreeMap, BTreeSet};

/// All families, by the names that queries use: with `_total` or `_info`, and of histograms without a suffix.
pub struct Exposition {
    pub families: BTreeMap<String, Family>,
}

/// The figures of one kind.
#[derive(Clone, Debug, Default)]
pub struct Family {
    pub kind: String,
    pub unit: Option<String>,
    pub help: String,
    pub samples: Vec<Sample>,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

impl Exposition {
    pub fn read(text: &str) -> Exposition {
        let body = text.strip_suffix("# EOF\n").unwrap_or_else(|| panic!("no end: {text}"));
        let mut families: Vec<(String, Family)> = Vec::new();
        for line in body.lines() {
            match line.strip_prefix("# ") {
                Some(about) => describe(&mut families, about),
                None => {
                    let (name, family) = families.last_mut().unwrap_or_else(|| panic!("of no family: {line}"));
                    let sample = sample(line);
                    assert!(
                        suffixes(&family.kind).iter().any(|suffix| sample.name == format!("{name}{suffix}")),
                        "{line}"
                    );
                    family.samples.push(sample);
                }
            }
        }
        let mut named = BTreeMap::new();
        for (name, family) in families {
            check(&name, &family);
            let suffix = match family.kind.as_str() {
                "counter" => "_total",
                "info" => "_info",
                _ => "",
            };
            assert!(named.insert(format!("{name}{suffix}"), family).is_none(), "{name} comes twice");
        }
        Exposition { families: named }
    }

    /// The figures of a name, as queries see them.
    pub fn samples<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.families.values().flat_map(|family| &family.samples).filter(move |sample| sample.name == name)
    }

    /// The sum of the figures of a name with these labels.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has =
            |sample: &Sample| labels.iter().all(|(name, value)| sample.labels.get(*name).is_some_and(|of| of == value));
        let mut found = self.samples(name).filter(|sample| has(sample)).peekable();
        assert!(found.peek().is_some(), "no {name} with {labels:?}");
        found.map(|sample| sample.value).sum()
    }
}

impl Family {
    /// The labels that its figures have, without those of buckets.
    pub fn labels(&self) -> BTreeSet<&str> {
        self.samples
            .iter()
            .flat_map(|sample| sample.labels.keys())
            .map(String::as_str)
            .filter(|name| *name != "le")
            .collect()
    }
}

fn suffixes(kind: &str) -> &'static [&'static str] {
    match kind {
        "counter" => &["_total"],
        "gauge" => &[""],
        "histogram" => &["_bucket", "_sum", "_count"],
        "info" => &["_info"],
        other => panic!("an unknown type: {other}"),
    }
}

fn describe(families: &mut Vec<(String, Family)>, about: &str) {
    let mut words = about.splitn(3, ' ');
    let (what, name, rest) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    assert!(is_name(name), "{about}");
    if families.last().is_none_or(|(last, _)| last != name) {
        families.push((name.to_owned(), Family::default()));
    }
    let family = &mut families.last_mut().unwrap().1;
    assert!(family.samples.is_empty(), "a family is described before its figures: {about}");
    let before = match what {
        "HELP" => !std::mem::replace(&mut family.help, rest.to_owned()).is_empty(),
        "TYPE" => !std::mem::replace(&mut family.kind, rest.to_owned()).is_empty(),
        "UNIT" => family.unit.replace(rest.to_owned()).is_some(),
        _ => panic!("an unknown comment: {about}"),
    };
    assert!(!before, "said twice: {about}");
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn sample(line: &str) -> Sample {
    let end = line.find(['{', ' ']).unwrap_or_else(|| panic!("no value: {line}"));
    let (name, mut rest) = line.split_at(end);
    assert!(is_name(name), "{line}");
    let mut labels = BTreeMap::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            let (label, behind) = rest.split_once("=\"").unwrap_or_else(|| panic!("a label without a value: {line}"));
            assert!(is_name(label), "{line}");
            let (value, behind) = quoted(behind, line);
            assert!(labels.insert(label.to_owned(), value).is_none(), "a label twice: {line}");
            match (behind.strip_prefix(','), behind.strip_prefix('}')) {
                (Some(more), _) => rest = more,
                (None, Some(after)) => {
                    rest = after;
                    break;
                }
                (None, None) => panic!("labels that do not end: {line}"),
            }
        }
    }
    let value = rest.strip_prefix(' ').unwrap_or_else(|| panic!("no blank before the value: {line}"));
    let value =
        if value == "+Inf" { f64::INFINITY } else { value.parse().unwrap_or_else(|_| panic!("no number: {line}")) };
    Sample { name: name.to_owned(), labels, value }
}

/// The text up to the closing quote, and the rest.
fn quoted<'a>(text: &'a str, line: &str) -> (String, &'a str) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (value, &text[at + 1..]),
            '\\' => match characters.next().map(|(_, escaped)| escaped) {
                Some('n') => value.push('\n'),
                Some(escaped @ ('"' | '\\')) => value.push(escaped),
                _ => panic!("an unknown escape: {line}"),
            },
            character => value.push(character),
        }
    }
    panic!("a value that does not end: {line}")
}

fn check(name: &str, family: &Family) {
    assert!(!family.kind.is_empty() && family.help.ends_with('.'), "{name} says what it is: {family:?}");
    assert!(!family.samples.is_empty(), "{name} has figures");
    if let Some(unit) = &family.unit {
        assert!(name.ends_with(&format!("_{unit}")), "{name} is named after its unit {unit}");
    }
    let mut seen = BTreeSet::new();
    for sample in &family.samples {
        assert!(seen.insert((&sample.name, &sample.labels)), "twice: {sample:?}");
        assert!(sample.value >= 0.0 && sample.value.is_finite(), "{sample:?}");
    }
    if family.kind == "histogram" {
        check_histogram(name, family);
    }
}

fn check_histogram(name: &str, family: &Family) {
    let mut series: BTreeMap<BTreeMap<String, String>, Vec<(f64, f64)>> = BTreeMap::new();
    for bucket in family.samples.iter().filter(|sample| sample.name.ends_with("_bucket")) {
        let mut labels = bucket.labels.clone();
        let bound = labels.remove("le").unwrap_or_else(|| panic!("a bucket without a bound: {bucket:?}"));
        let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
        series.entry(labels).or_default().push((bound, bucket.value));
    }
    let counts = family.samples.iter().filter(|sample| sample.name == format!("{name}_count"));
    let sums = family.samples.iter().filter(|sample| sample.name == format!("{name}_sum"));
    assert_eq!((counts.clone().count(), sums.count()), (series.len(), series.len()), "{name}");
    for count in counts {
        let buckets = &series[&count.labels];
        assert!(buckets.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1), "{name}: {buckets:?}");
        assert_eq!(buckets.last(), Some(&(f64::INFINITY, count.value)), "{name}");
    }
}
