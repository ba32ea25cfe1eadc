//! A report as one page that needs nothing else: style and plots are inside it. Knows no figures' content.

use super::document::{Block, Figure, Report, Table};

const STYLE: &str = include_str!("page.css");

pub fn page(report: &Report) -> String {
    let title = escaped(&report.title);
    let mut body = format!("<h1>{title}</h1>\n");
    for run in report.blocks.chunk_by(|one, next| one.is_figure() && next.is_figure()) {
        let elements: String = run.iter().map(element).collect();
        match run[0].is_figure() {
            true => body.push_str(&format!("<div class=\"plots\">\n{elements}</div>\n")),
            false => body.push_str(&elements),
        }
    }
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n\
         <body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )
}

fn element(block: &Block) -> String {
    match block {
        Block::Heading(level, text) => format!("<h{level}>{}</h{level}>\n", escaped(text)),
        Block::Paragraph(text) => format!("<p>{}</p>\n", escaped(text)),
        Block::List(items) => {
            let items: String = items.iter().map(|item| format!("<li>{}</li>\n", escaped(item))).collect();
            format!("<ul>\n{items}</ul>\n")
        }
        Block::Commands(lines) => format!("<pre tabindex=\"0\"><code>{}</code></pre>\n", escaped(&lines.join("\n"))),
        Block::Table(table) if table.long => long_element(table),
        Block::Table(table) => table_element(table),
        Block::Figure(figure) => figure_element(figure),
    }
}

/// Hundreds of rows as text: a table's elements would be most of the page.
fn long_element(table: &Table) -> String {
    let heads = table.columns.iter().map(|column| column.head.as_str()).collect::<Vec<_>>().join("\t");
    let rows = table.rows.iter().map(|cells| cells.join("\t"));
    let text = std::iter::once(heads).chain(rows).collect::<Vec<_>>().join("\n");
    let (caption, text) = (escaped(&table.caption), escaped(&text));
    format!("<details>\n<summary>{caption}</summary>\n<pre tabindex=\"0\" class=\"rows\">{text}</pre>\n</details>\n")
}

fn table_element(table: &Table) -> String {
    let class = |numbers: bool| if numbers { "" } else { " class=\"t\"" };
    let heads: String = table
        .columns
        .iter()
        .map(|c| format!("<th scope=\"col\"{}>{}</th>", class(c.numbers), escaped(&c.head)))
        .collect();
    // HTML asks for no end of rows and cells, and they would be a third of a table.
    let mut rows = String::new();
    for cells in &table.rows {
        rows.push_str("<tr>");
        for (index, (cell, column)) in cells.iter().zip(&table.columns).enumerate() {
            let (numbers, cell) = (column.numbers, escaped(cell));
            // The first cell names its row to those who hear the table.
            rows.push_str(&match index {
                0 if numbers => format!("<th scope=\"row\" class=\"n\">{cell}"),
                0 => format!("<th scope=\"row\">{cell}"),
                _ => format!("<td{}>{cell}", class(numbers)),
            });
        }
        rows.push('\n');
    }
    let caption = escaped(&table.caption);
    let facts = if table.columns.len() == 2 { " class=\"facts\"" } else { "" };
    format!(
        "<div class=\"wide\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">\n<table{facts}>\n\
         <caption><span>{caption}</span></caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    )
}

fn figure_element(figure: &Figure) -> String {
    // A drawing inside a page needs no name space, and the page then holds no address at all.
    let drawing = figure.narrow.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1);
    let (id, caption) = (escaped(&figure.file), escaped(&figure.caption));
    format!("<figure id=\"{id}\">\n{drawing}<figcaption>{caption}</figcaption>\n</figure>\n")
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
