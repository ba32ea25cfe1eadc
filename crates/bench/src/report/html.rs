//! A report as one page that needs nothing else: style and plots are inside it. Knows no figures' content.

use super::document::{Block, Figure, Report, Table};

const STYLE: &str = include_str!("page.css");

pub fn page(report: &Report) -> String {
    let title = escaped(&report.title);
    let mut body = format!("<h1>{title}</h1>\n");
    for block in &report.blocks {
        body.push_str(&element(block));
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
        Block::Table(table) => table_element(table),
        Block::Figure(figure) => figure_element(figure),
    }
}

fn table_element(table: &Table) -> String {
    let class = |numbers: bool| if numbers { " class=\"n\"" } else { "" };
    let heads: String = table
        .columns
        .iter()
        .map(|c| format!("<th scope=\"col\"{}>{}</th>", class(c.numbers), escaped(&c.head)))
        .collect();
    let mut rows = String::new();
    for cells in &table.rows {
        rows.push_str("<tr>");
        for (index, (cell, column)) in cells.iter().zip(&table.columns).enumerate() {
            let (class, cell) = (class(column.numbers), escaped(cell));
            // The first cell names its row to those who hear the table.
            rows.push_str(&match index {
                0 => format!("<th scope=\"row\"{class}>{cell}</th>"),
                _ => format!("<td{class}>{cell}</td>"),
            });
        }
        rows.push_str("</tr>\n");
    }
    let caption = escaped(&table.caption);
    let facts = if table.columns.len() == 2 { " class=\"facts\"" } else { "" };
    let inner = format!(
        "<div class=\"wide\" role=\"region\" aria-label=\"{caption}\" tabindex=\"0\">\n<table{facts}>\n\
         <caption>{caption}</caption>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n"
    );
    if table.long { format!("<details>\n<summary>{caption}</summary>\n{inner}</details>\n") } else { inner }
}

fn figure_element(figure: &Figure) -> String {
    // A drawing inside a page needs no name space, and the page then holds no address at all.
    let inside = |svg: &str, class: &str| {
        svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", &format!(" class=\"{class}\""), 1)
    };
    format!(
        "<figure id=\"{}\">\n{}\n{}\n<figcaption>{}</figcaption>\n</figure>\n",
        escaped(&figure.file),
        inside(&figure.wide, "on-wide"),
        inside(&figure.narrow, "on-narrow"),
        escaped(&figure.caption)
    )
}

pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
