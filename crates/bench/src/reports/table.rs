//! A table as data, and its two forms: text for a terminal, HTML for the report. It knows nothing of its cells'
//! contents.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement};

/// The width of a table without a terminal.
const WIDTH_COLUMNS: u16 = 120;
/// Letters from which a cell is prose, and is wrapped.
const PROSE_LETTERS_MIN: usize = 80;

/// Rows under heads, with a caption.
#[derive(Clone, Debug)]
pub struct Table {
    pub caption: String,
    /// The heads of columns, and whether they hold numbers.
    columns: Vec<(String, bool)>,
    rows: Vec<Vec<String>>,
    /// Whether it is too long to be read through: folded in the report, and without a table's trimmings.
    pub long: bool,
}

impl Table {
    /// Makes a table. Columns whose heads start with `#` hold numbers.
    pub fn new(caption: impl Into<String>, heads: impl IntoIterator<Item = impl AsRef<str>>) -> Table {
        let column = |head: &str| (head.trim_start_matches('#').to_string(), head.starts_with('#'));
        let columns = heads.into_iter().map(|head| column(head.as_ref())).collect();
        Table { caption: caption.into(), columns, rows: Vec::new(), long: false }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.columns.len(), "invariant: a row has a cell for each column");
        self.rows.push(cells);
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Writes it for a terminal: the caption, then a grid.
    pub fn text(&self) -> String {
        let mut grid = comfy_table::Table::new();
        let prose = self.rows.iter().flatten().any(|cell| cell.chars().count() >= PROSE_LETTERS_MIN);
        let arrangement = if prose { ContentArrangement::Dynamic } else { ContentArrangement::Disabled };
        grid.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(arrangement);
        if prose && grid.width().is_none() {
            grid.set_width(WIDTH_COLUMNS);
        }
        grid.set_header(self.columns.iter().map(|(head, _)| head));
        for (cells, (_, numbers)) in grid.column_iter_mut().zip(&self.columns) {
            cells.set_cell_alignment(if *numbers { CellAlignment::Right } else { CellAlignment::Left });
        }
        grid.add_rows(&self.rows);
        format!("{}\n{grid}\n", self.caption)
    }

    /// Writes it for the report.
    pub fn html(&self) -> String {
        if self.long { self.folded_html() } else { self.whole_html() }
    }

    /// Writes hundreds of rows as text: a table's elements would be most of the page.
    fn folded_html(&self) -> String {
        let heads: Vec<&str> = self.columns.iter().map(|(head, _)| head.as_str()).collect();
        let lines: Vec<String> =
            [heads.join("\t")].into_iter().chain(self.rows.iter().map(|row| row.join("\t"))).collect();
        let (caption, text) = (escaped(&self.caption), escaped(&lines.join("\n")));
        format!(
            "<details>\n<summary>{caption}</summary>\n<pre tabindex=\"0\" class=\"rows\">{text}</pre>\n</details>\n"
        )
    }

    fn whole_html(&self) -> String {
        let class = |numbers: bool| if numbers { "" } else { " class=\"t\"" };
        let head =
            |(head, numbers): &(String, bool)| format!("<th scope=\"col\"{}>{}</th>", class(*numbers), escaped(head));
        let heads: String = self.columns.iter().map(head).collect();
        // The first cell names its row in a screen reader. HTML requires no end tags of rows and cells, and they would
        // be a third of a table.
        let cell = |(index, (text, (_, numbers))): (usize, (&String, &(String, bool)))| match index {
            0 if *numbers => format!("<th scope=\"row\" class=\"n\">{}", escaped(text)),
            0 => format!("<th scope=\"row\">{}", escaped(text)),
            _ => format!("<td{}>{}", class(*numbers), escaped(text)),
        };
        let row = |cells: &Vec<String>| {
            let cells: String = cells.iter().zip(&self.columns).enumerate().map(cell).collect();
            format!("<tr>{cells}\n")
        };
        let (caption, rows) = (escaped(&self.caption), self.rows.iter().map(row).collect::<String>());
        let facts = if self.columns.len() == 2 { " class=\"facts\"" } else { "" };
        format!(
            "<div class=\"wide\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">\n<table{facts}>\n\
             <caption><span>{caption}</span></caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
        )
    }
}

/// Escapes text for HTML.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_a_grid_on_a_terminal_and_markup_on_the_page() {
        let mut table = Table::new("what it took", ["who", "#requests/s"]);
        table.row(["a <b> & c".to_string(), "1,000".to_string()]);
        let text = table.text();
        assert!(text.starts_with("what it took\n") && text.contains("│ a <b> & c"), "{text}");
        assert!(table.html().contains("<th scope=\"row\">a &lt;b&gt; &amp; c<td>1,000"), "{}", table.html());
        table.row(["prose ".repeat(40), String::new()]);
        let widest = table.text().lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(usize::from(WIDTH_COLUMNS)), "prose is wrapped: {widest:?}");
        table.long = true;
        assert!(table.html().starts_with("<details>") && !table.html().contains("<td>"));
    }
}
