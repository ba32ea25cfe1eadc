//! The page around a chapter.

use pulldown_cmark::{Event, html};

use super::chapters::Chapter;
use super::render::Rendered;

/// Writes a page of the site.
pub(super) fn page(chapter: &Chapter, made: &Rendered, all: &[(&Chapter, &Rendered)]) -> String {
    let (title, contents, text) = (escaped(&made.title), contents(chapter, all), &made.html);
    let place = all.iter().position(|(other, _)| other.source == chapter.source).unwrap_or_default();
    let beside = [("Before: ", place.checked_sub(1)), ("Next: ", place.checked_add(1))];
    let turn: String = beside
        .into_iter()
        .filter_map(|(words, place)| Some((words, all.get(place?)?)))
        .map(|(words, (other, made))| format!("<a href=\"{}\">{words}{}</a>", other.file(), escaped(&made.title)))
        .collect();
    format!(
        r##"<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>{title}: Pricetime</title>
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="dark light">
  <link rel="icon" href="icon.svg" type="image/svg+xml">
  <link rel="stylesheet" href="style/theme.css">
  <link rel="stylesheet" href="style/reference.css">
  <link rel="stylesheet" href="style/manual.css">
  <script src="early.js"></script>
  <script type="module" src="manual.js"></script>
</head>
<body class="manual">
  <a class="skip" href="#content">Skip to the text</a>
  <header class="head">
    <p class="name"><a href="index.html">Pricetime</a> <span class="muted">documents</span></p>
  </header>
  <div class="columns">
    <nav aria-label="Chapters">
      <details id="contents" open>
        <summary>Chapters</summary>
        <label class="search">Search <input id="search" type="search" autocomplete="off" spellcheck="false" placeholder="a part of any chapter"></label>
        <p id="count" class="muted" role="status"></p>
        <ul id="found"></ul>
        <div id="chapters">{contents}</div>
      </details>
    </nav>
    <main id="content" tabindex="-1">
{text}
      <p class="turn">{turn}</p>
    </main>
  </div>
</body>
</html>
"##
    )
}

/// Writes links to all chapters, and to the parts of this one.
fn contents(shown: &Chapter, all: &[(&Chapter, &Rendered)]) -> String {
    let (mut text, mut group) = (String::new(), "");
    for (chapter, made) in all {
        if chapter.group != group {
            text += if group.is_empty() { "" } else { "</ul>" };
            text += &format!("<h2>{}</h2><ul>", escaped(chapter.group));
            group = chapter.group;
        }
        let is_shown = chapter.source == shown.source;
        let current = if is_shown { " aria-current=\"page\"" } else { "" };
        text += &format!("<li><a href=\"{}\"{current}>{}</a>", chapter.file(), escaped(&made.title));
        if is_shown {
            let parts = made.headings.iter().filter(|heading| heading.level == 2);
            let parts = parts.map(|part| format!("<li><a href=\"#{}\">{}</a></li>", part.id, escaped(&part.text)));
            text += &format!("<ul>{}</ul>", parts.collect::<String>());
        }
        text += "</li>";
    }
    text + "</ul>"
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    html::push_html(&mut escaped, [Event::Text(text.into())].into_iter());
    escaped
}
