//! A table as data, and its two forms: text for a terminal, HTML for the report. It knows nothing of what its cells say.

use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{CellAlignment, ContentArrangement};

/// Where there is no terminal to ask for its width.
const WIDTH_COLUMNS: u16 = 120;
/// Longer cells are prose, and are wrapped.
const PROSE_LETTERS_MIN: usize = 80;

/// Rows under heads, with a line that says what they are.
#[derive(Clone, Debug)]
pub struct Table {
    pub caption: String,
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    /// Too long to be read through: folded in the report, and without a table's trimmings.
    pub long: bool,
}

#[derive(Clone, Debug)]
struct Column {
    head: String,
    numbers: bool,
}

impl Table {
    /// Columns whose heads start with `#` hold numbers.
    pub fn new(caption: impl Into<String>, heads: impl IntoIterator<Item = impl AsRef<str>>) -> Table {
        let column =
            |head: &str| Column { head: head.trim_start_matches('#').to_string(), numbers: head.starts_with('#') };
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

    /// For a terminal: the caption, then a grid.
    pub fn text(&self) -> String {
        let mut grid = comfy_table::Table::new();
        let prose = self.rows.iter().flatten().any(|cell| cell.chars().count() >= PROSE_LETTERS_MIN);
        let arrangement = if prose { ContentArrangement::Dynamic } else { ContentArrangement::Disabled };
        grid.load_style(UTF8_FULL_CONDENSED).set_content_arrangement(arrangement);
        if prose && grid.width().is_none() {
            grid.set_width(WIDTH_COLUMNS);
        }
        grid.set_header(self.columns.iter().map(|column| &column.head));
        for (cells, column) in grid.column_iter_mut().zip(&self.columns) {
            cells.set_cell_alignment(if column.numbers { CellAlignment::Right } else { CellAlignment::Left });
        }
        self.rows.iter().for_each(|row| {
            grid.add_row(row);
        });
        format!("{}\n{grid}\n", self.caption)
    }

    /// For the report.
    pub fn html(&self) -> String {
        if self.long { self.folded_html() } else { self.whole_html() }
    }

    /// Hundreds of rows as text: a table's elements would be most of the page.
    fn folded_html(&self) -> String {
        let heads = self.columns.iter().map(|column| column.head.as_str()).collect::<Vec<_>>().join("\t");
        let rows = self.rows.iter().map(|cells| cells.join("\t"));
        let text = std::iter::once(heads).chain(rows).collect::<Vec<_>>().join("\n");
        let (caption, text) = (escaped(&self.caption), escaped(&text));
        format!(
            "<details>\n<summary>{caption}</summary>\n<pre tabindex=\"0\" class=\"rows\">{text}</pre>\n</details>\n"
        )
    }

    fn whole_html(&self) -> String {
        let class = |numbers: bool| if numbers { "" } else { " class=\"t\"" };
        let head = |c: &Column| format!("<th scope=\"col\"{}>{}</th>", class(c.numbers), escaped(&c.head));
        let heads: String = self.columns.iter().map(head).collect();
        // HTML asks for no end of rows and cells, and they would be a third of a table.
        let mut rows = String::new();
        for cells in &self.rows {
            rows.push_str("<tr>");
            for (index, (cell, Column { numbers, .. })) in cells.iter().zip(&self.columns).enumerate() {
                let cell = escaped(cell);
                // The first cell names its row to those who hear the table.
                rows.push_str(&match index {
                    0 if *numbers => format!("<th scope=\"row\" class=\"n\">{cell}"),
                    0 => format!("<th scope=\"row\">{cell}"),
                    _ => format!("<td{}>{cell}", class(*numbers)),
                });
            }
            rows.push('\n');
        }
        let caption = escaped(&self.caption);
        let facts = if self.columns.len() == 2 { " class=\"facts\"" } else { "" };
        format!(
            "<div class=\"wide\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">\n<table{facts}>\n\
             <caption><span>{caption}</span></caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
        )
    }
}

/// Text that is no markup in HTML.
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
