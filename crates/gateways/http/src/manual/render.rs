//! A document as HTML: headings have names for links, links between documents lead to the site's pages, tables and code
//! can be scrolled sideways, drawings are part of the page. HTML in a document is shown as it stands there.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html};

use super::chapters::{CHAPTERS, Chapter, text};

/// A rendered document.
pub(super) struct Rendered {
    pub title: String,
    pub html: String,
    pub headings: Vec<Heading>,
}

pub(super) struct Heading {
    pub level: usize,
    pub id: String,
    pub text: String,
    /// The words of its part, for searching.
    pub words: String,
}

#[expect(clippy::wildcard_enum_match_arm, reason = "whatever else a library knows of documents stays as it is")]
pub(super) fn render(chapter: &Chapter, text: &str) -> Rendered {
    let events: Vec<Event<'_>> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let (mut out, mut taken) = (Vec::with_capacity(events.len()), HashMap::new());
    let mut headings: Vec<Heading> = Vec::new();
    // Whether each open link leads somewhere.
    let mut links = Vec::new();
    for (place, event) in events.iter().enumerate() {
        if let (Event::Text(text) | Event::Code(text), Some(part)) = (event, headings.last_mut()) {
            add_words(&mut part.words, text);
        }
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                let text = text_of(&events[place..]);
                let (level, id) = (*level as usize, unique(&slug(&text), &mut taken));
                out.push(Event::Html(format!("<h{level} id=\"{id}\">").into()));
                headings.push(Heading { level, id, text, words: String::new() });
            }
            Event::End(TagEnd::Heading(level)) => {
                let id = headings.last().map_or("", |heading| &heading.id);
                let link = format!(
                    " <a class=\"part\" href=\"#{id}\" aria-label=\"This part\">#</a></h{}>\n",
                    *level as usize
                );
                out.push(Event::Html(link.into()));
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let leads = destination(chapter, dest_url);
                links.push(leads.is_some());
                out.extend(leads.map(|to| {
                    let (link_type, title, id) = (*link_type, title.clone(), id.clone());
                    Event::Start(Tag::Link { link_type, dest_url: to.into(), title, id })
                }));
            }
            Event::End(TagEnd::Link) => {
                if links.pop() == Some(true) {
                    out.push(event.clone());
                }
            }
            // The words behind a drawing are for readers who do not see it. They replace a picture that is in the
            // repository alone.
            Event::Start(Tag::Image { dest_url, .. }) => {
                let drawn = drawing(chapter, dest_url);
                let class = if drawn.is_some() { "drawn" } else { "picture" };
                out.extend(drawn.map(|drawn| Event::Html(drawn.into())));
                out.push(Event::Html(format!("<span class=\"{class}\">").into()));
            }
            Event::End(TagEnd::Image) => out.push(Event::Html("</span>".into())),
            Event::Start(Tag::Table(_)) => {
                out.push(Event::Html("<div class=\"wide\" tabindex=\"0\">".into()));
                out.push(event.clone());
            }
            Event::End(TagEnd::Table) => {
                out.push(event.clone());
                out.push(Event::Html("</div>\n".into()));
            }
            Event::Html(text) | Event::InlineHtml(text) => out.push(Event::Text(text.clone())),
            other => out.push(other.clone()),
        }
    }
    let mut made = String::with_capacity(text.len() * 2);
    html::push_html(&mut made, out.into_iter());
    let title = headings.first().map_or_else(|| chapter.source.to_owned(), |heading| heading.text.clone());
    Rendered { title, html: made.replace("<pre><code", "<pre tabindex=\"0\"><code"), headings }
}

/// Adds words to others, with one space between any two.
fn add_words(words: &mut String, more: &str) {
    for word in more.split_whitespace() {
        *words += if words.is_empty() { "" } else { " " };
        *words += word;
    }
}

/// Returns the words of the heading that begins here.
fn text_of(events: &[Event<'_>]) -> String {
    let within = events.iter().take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
    let mut words = String::new();
    for event in within {
        if let Event::Text(text) | Event::Code(text) = event {
            words += text;
        }
    }
    words
}

/// Names a heading as other readers of the documents do.
fn slug(text: &str) -> String {
    let kept = text.to_lowercase();
    let kept = kept.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

fn unique(slug: &str, taken: &mut HashMap<String, usize>) -> String {
    let times = taken.entry(slug.to_owned()).or_default();
    *times += 1;
    if *times == 1 { slug.to_owned() } else { format!("{slug}-{}", *times - 1) }
}

/// Returns a drawing without its own colours: here they are the page's.
fn drawing(chapter: &Chapter, link: &str) -> Option<String> {
    let text = text(within(chapter, link).to_str()?)?;
    let (before, rest) = text.split_once("<style>")?;
    let (_, after) = rest.split_once("</style>\n")?;
    Some(format!("<span class=\"wide\" tabindex=\"0\">{before}{}</span>", after.trim_end()))
}

/// Returns the path in the repository of a file that a chapter names relative to itself.
fn within(chapter: &Chapter, path: &str) -> PathBuf {
    let from = Path::new(chapter.source).parent().unwrap_or(Path::new(""));
    let mut target = PathBuf::new();
    for step in from.join(path).components() {
        match step {
            Component::ParentDir => drop(target.pop()),
            Component::Normal(name) => target.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    target
}

/// Returns the destination of a chapter's link in the site; `None` if it is another file of the repository.
fn destination(chapter: &Chapter, link: &str) -> Option<String> {
    if link.starts_with('#') || link.starts_with("https://") || link.starts_with("http://") {
        return Some(link.to_owned());
    }
    let (path, part) = link.split_once('#').map_or((link, None), |(path, part)| (path, Some(part)));
    let target = within(chapter, path);
    let found = CHAPTERS.iter().find(|chapter| Path::new(chapter.source) == target)?;
    Some(part.map_or_else(|| found.file(), |part| format!("{}#{part}", found.file())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(text: &'static str) -> Rendered {
        render(&Chapter { group: "", source: "docs/API.md" }, text)
    }

    #[test]
    fn headings_have_names_and_links_lead_to_pages() {
        let made = rendered(
            "# One `two`: three\n\n## Part\n\n## Part\n\n[a](CLUSTER.md#on-three-machines) [b](../README.md) [c](../deploy/README.md) [d](../Cargo.toml)",
        );
        assert_eq!(made.title, "One two: three");
        let ids: Vec<&str> = made.headings.iter().map(|heading| heading.id.as_str()).collect();
        assert_eq!(ids, ["one-two-three", "part", "part-1"]);
        assert!(
            made.html.contains("<a href=\"CLUSTER.html#on-three-machines\">a</a> <a href=\"index.html\">b</a> <a href=\"deploy.html\">c</a> d"),
            "{}",
            made.html
        );
    }

    #[test]
    fn a_drawing_has_the_pages_colours_and_another_picture_its_words() {
        let made = rendered("![how](pictures/cluster.svg)\n\n![the page](page.png)");
        assert!(made.html.contains("<svg ") && !made.html.contains("<style"), "{}", made.html);
        assert!(made.html.contains("<span class=\"picture\">the page</span>"), "{}", made.html);
    }

    #[test]
    fn html_in_a_document_is_text() {
        let made = rendered("a <script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n\n`<b>`");
        assert!(!made.html.contains("<script") && !made.html.contains("<img"), "{}", made.html);
    }
}
