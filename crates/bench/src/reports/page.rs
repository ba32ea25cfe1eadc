//! The report as one page that needs nothing else: style and plots are inside it. It knows nothing of the figures'
//! contents.

use super::table::{Table, escaped};

const STYLE: &str = include_str!("page.css");

/// A plot.
pub struct Figure {
    /// Its name on the page, and that of its file without the ending.
    pub file: String,
    /// The caption, which adds to the drawing.
    pub caption: String,
    pub svg: String,
}

/// A page that is being written, from top to bottom.
pub struct Page {
    title: String,
    body: String,
    /// The first plot of each group: the main one of an experiment.
    pub main_figures: Vec<Figure>,
}

impl Page {
    pub fn new(title: &str) -> Page {
        let title = escaped(title);
        Page { body: format!("<h1>{title}</h1>\n"), title, main_figures: Vec::new() }
    }

    /// Writes a heading: 2 for an experiment, 3 for a part of one.
    pub fn heading(&mut self, level: u8, text: &str) {
        self.body += &format!("<h{level}>{}</h{level}>\n", escaped(text));
    }

    pub fn paragraph(&mut self, text: &str) {
        self.body += &format!("<p>{}</p>\n", escaped(text));
    }

    pub fn list<'a>(&mut self, items: impl IntoIterator<Item = &'a String>) {
        let items: String = items.into_iter().map(|item| format!("<li>{}</li>\n", escaped(item))).collect();
        self.body += &format!("<ul>\n{items}</ul>\n");
    }

    pub fn commands(&mut self, lines: &[String]) {
        self.body += &format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", escaped(&lines.join("\n")));
    }

    pub fn tables(&mut self, tables: &[Table]) {
        self.body.extend(tables.iter().map(Table::html));
    }

    /// Writes plots beside each other, where there is room.
    pub fn figures(&mut self, figures: Vec<Figure>) {
        self.body += "<div class=\"plots\">\n";
        for Figure { file, caption, svg } in &figures {
            // A drawing inside a page needs no name space, and the page then holds no address at all.
            let drawing = svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
            let (id, caption) = (escaped(file), escaped(caption));
            self.body += &format!("<figure id=\"{id}\">\n{drawing}<figcaption>{caption}</figcaption>\n</figure>\n");
        }
        self.body += "</div>\n";
        self.main_figures.extend(figures.into_iter().next());
    }

    pub fn html(&self) -> String {
        let Page { title, body, .. } = self;
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
             <body>\n<main>\n{body}</main>\n</body>\n</html>\n"
        )
    }
}
