//! A report as Markdown beside its plots. Knows no figures' content.

use super::document::{Block, Report, Table};

pub fn text(report: &Report) -> String {
    let mut text = format!("# {}\n", plain(&report.title));
    for block in &report.blocks {
        text.push('\n');
        match block {
            Block::Heading(level, heading) => {
                text.push_str(&format!("{} {}\n", "#".repeat(usize::from(*level)), plain(heading)));
            }
            Block::Paragraph(paragraph) => text.push_str(&format!("{}\n", plain(paragraph))),
            Block::List(items) => items.iter().for_each(|item| text.push_str(&format!("- {}\n", plain(item)))),
            Block::Commands(lines) => text.push_str(&format!("```sh\n{}\n```\n", lines.join("\n"))),
            Block::Table(table) if table.long => {}
            Block::Table(table) => text.push_str(&table_text(table)),
            Block::Figure(figure) => {
                let title = plain(&figure.title).replace(['[', ']'], "");
                text.push_str(&format!("![{title}](plots/{}.svg)\n\n*{}*\n", figure.file, plain(&figure.caption)));
            }
        }
    }
    text
}

fn table_text(table: &Table) -> String {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = format!("**{}**\n\n", plain(&table.caption));
    text.push_str(&row(table.columns.iter().map(|column| cell(&column.head)).collect()));
    text.push_str(&row(table.columns.iter().map(|c| if c.numbers { "---:" } else { "---" }.to_string()).collect()));
    for cells in &table.rows {
        text.push_str(&row(cells.iter().map(|text| cell(text)).collect()));
    }
    text
}

fn cell(text: &str) -> String {
    plain(text).replace('|', "\\|")
}

/// Nothing in names and commands is meant as markup.
fn plain(text: &str) -> String {
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    one_line.replace('&', "&amp;").replace('<', "&lt;").replace('*', "\\*").replace('_', "\\_")
}
