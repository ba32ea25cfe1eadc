//! A report laid out on pages of paper: what stands where, in points from the upper left corner. Knows no PDF.

use super::document::{Block, Figure, Report, Table};
use super::font::{width, wrap};

/// A4.
pub const PAGE_WIDTH: f64 = 595.0;
pub const PAGE_HEIGHT: f64 = 842.0;
pub const MARGIN: f64 = 48.0;
const INNER: f64 = PAGE_WIDTH - 2.0 * MARGIN;
const BOTTOM: f64 = PAGE_HEIGHT - 56.0;
const TABLE_TEXT: f64 = 7.5;
const CELL_GAP: f64 = 8.0;
const FIGURE_GAP: f64 = 15.0;
const FIGURE_WIDTH: f64 = (INNER - FIGURE_GAP) / 2.0;
const CAPTION_TEXT: f64 = 7.5;

/// Something at a place.
pub enum Mark<'a> {
    Text { x: f64, y: f64, size: f64, bold: bool, text: String },
    Rule { y: f64 },
    Drawing { figure: &'a Figure, x: f64, y: f64, width: f64, height: f64 },
}

pub struct Layout<'a> {
    pub pages: Vec<Vec<Mark<'a>>>,
    /// Headings of experiments, with the index of their page.
    pub chapters: Vec<(String, usize)>,
    y: f64,
}

pub fn lay_out<'a>(
    report: &'a Report,
    height_of: impl Fn(&Figure, f64) -> Result<f64, String>,
) -> Result<Layout<'a>, String> {
    let mut layout = Layout { pages: vec![Vec::new()], chapters: Vec::new(), y: MARGIN };
    layout.text(&report.title, 20.0, true, 0.0);
    layout.y += 10.0;
    for run in report.blocks.chunk_by(|one, next| one.is_figure() && next.is_figure()) {
        let figures: Vec<&Figure> = run.iter().filter_map(Block::figure).collect();
        for pair in figures.chunks(2) {
            layout.figures(pair, &height_of)?;
        }
        for block in run {
            layout.block(block);
        }
    }
    Ok(layout)
}

impl<'a> Layout<'a> {
    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(level, text) => self.heading(*level, text),
            Block::Paragraph(text) => self.paragraph(text),
            Block::List(items) => items.iter().for_each(|item| self.item(item)),
            Block::Commands(lines) => lines.iter().for_each(|line| self.text(line, 7.5, false, 8.0)),
            Block::Table(table) if table.long => {}
            Block::Table(table) => self.table(table),
            Block::Figure(_) => {}
        }
    }

    fn page(&mut self) -> &mut Vec<Mark<'a>> {
        self.pages.last_mut().expect("invariant: there is a page from the start")
    }

    /// On to a new page where so much has no room on this one.
    fn need(&mut self, height: f64) {
        if self.y + height > BOTTOM && !self.page().is_empty() {
            self.pages.push(Vec::new());
            self.y = MARGIN;
        }
    }

    fn heading(&mut self, level: u8, text: &str) {
        if level == 2 {
            // The first experiment follows the introduction; each other starts a page.
            if !self.chapters.is_empty() {
                self.need(f64::INFINITY);
            }
            self.y += 12.0;
            self.chapters.push((text.to_string(), self.pages.len() - 1));
            self.text(text, 15.0, true, 0.0);
            self.y += 4.0;
        } else {
            // A heading stays with what it heads.
            self.need(90.0);
            self.y += 10.0;
            self.text(text, 11.5, true, 0.0);
            self.y += 3.0;
        }
    }

    fn paragraph(&mut self, text: &str) {
        self.text(text, 9.5, false, 0.0);
        self.y += 5.0;
    }

    fn item(&mut self, text: &str) {
        self.need(13.0);
        let y = self.y + 9.5;
        self.page().push(Mark::Text { x: MARGIN + 2.0, y, size: 9.5, bold: false, text: "•".to_string() });
        self.text(text, 9.5, false, 12.0);
        self.y += 2.0;
    }

    fn text(&mut self, text: &str, size: f64, bold: bool, indent: f64) {
        for line in wrap(text, size, bold, INNER - indent) {
            self.need(size * 1.35);
            let y = self.y + size;
            self.page().push(Mark::Text { x: MARGIN + indent, y, size, bold, text: line });
            self.y += size * 1.35;
        }
    }

    /// One or two beside each other.
    fn figures(
        &mut self,
        pair: &[&'a Figure],
        height_of: impl Fn(&Figure, f64) -> Result<f64, String>,
    ) -> Result<(), String> {
        let mut cells = Vec::new();
        for figure in pair {
            let caption = wrap(&figure.caption, CAPTION_TEXT, false, FIGURE_WIDTH);
            cells.push((*figure, height_of(figure, FIGURE_WIDTH)?, caption));
        }
        let line = CAPTION_TEXT * 1.35;
        let below = |(_, height, caption): &(&Figure, f64, Vec<String>)| height + caption.len() as f64 * line;
        let height = cells.iter().map(below).fold(0.0, f64::max);
        self.need(height + 14.0);
        let top = self.y;
        for (index, (figure, height, caption)) in cells.into_iter().enumerate() {
            let x = MARGIN + index as f64 * (FIGURE_WIDTH + FIGURE_GAP);
            self.page().push(Mark::Drawing { figure, x, y: top, width: FIGURE_WIDTH, height });
            for (index, text) in caption.into_iter().enumerate() {
                let y = top + height + CAPTION_TEXT + index as f64 * line;
                self.page().push(Mark::Text { x, y, size: CAPTION_TEXT, bold: false, text });
            }
        }
        self.y += height + 14.0;
        Ok(())
    }

    fn table(&mut self, table: &Table) {
        let columns = Columns::of(table);
        let caption = wrap(&table.caption, 9.0, true, INNER).len() as f64 * 9.0 * 1.35;
        // The caption is not left alone at the foot of a page.
        self.need(caption + columns.height(&columns.heads) + 3.0 * TABLE_TEXT);
        self.y += 4.0;
        self.text(&table.caption, 9.0, true, 0.0);
        self.row(&columns, &columns.heads, true);
        for cells in &table.rows {
            let cells = columns.wrapped(cells, false);
            if self.y + columns.height(&cells) > BOTTOM {
                self.need(f64::INFINITY);
                self.row(&columns, &columns.heads, true);
            }
            self.row(&columns, &cells, false);
        }
        self.y += 10.0;
    }

    fn row(&mut self, columns: &Columns, cells: &[Vec<String>], bold: bool) {
        let (top, mut x) = (self.y, MARGIN);
        for ((lines, column_width), numbers) in cells.iter().zip(&columns.widths).zip(&columns.numbers) {
            for (index, line) in lines.iter().enumerate() {
                let y = top + TABLE_TEXT * (1.2 + 1.25 * index as f64);
                let spare = if *numbers { column_width - width(line, TABLE_TEXT, bold) } else { 0.0 };
                self.page().push(Mark::Text { x: x + spare, y, size: TABLE_TEXT, bold, text: line.clone() });
            }
            x += column_width + CELL_GAP;
        }
        self.y += columns.height(cells);
        let y = self.y - 1.0;
        self.page().push(Mark::Rule { y });
    }
}

/// How wide the columns of a table are, and its heads in them.
struct Columns {
    widths: Vec<f64>,
    numbers: Vec<bool>,
    heads: Vec<Vec<String>>,
}

impl Columns {
    fn of(table: &Table) -> Self {
        let count = table.columns.len();
        let natural = |index: usize| {
            let cells = table.rows.iter().map(|row| width(&row[index], TABLE_TEXT, false));
            let head = &table.columns[index].head;
            // A head may break at its spaces; a figure is rather not broken.
            let words = head.split(' ').map(|word| width(word, TABLE_TEXT, true));
            cells.chain(words).fold(0.0, f64::max) + 1.0
        };
        let mut columns = Self {
            widths: (0..count).map(natural).collect(),
            numbers: table.columns.iter().map(|column| column.numbers).collect(),
            heads: Vec::new(),
        };
        columns.fit(INNER - CELL_GAP * (count as f64 - 1.0));
        columns.heads =
            columns.wrapped(&table.columns.iter().map(|column| column.head.clone()).collect::<Vec<_>>(), true);
        columns
    }

    /// Takes from the widest until all fit: their text is wrapped.
    fn fit(&mut self, room: f64) {
        while self.widths.iter().sum::<f64>() > room {
            let widest = self.widths.iter().copied().fold(0.0, f64::max);
            self.widths.iter_mut().filter(|width| **width >= widest).for_each(|width| *width -= 1.0);
        }
    }

    fn wrapped(&self, cells: &[String], bold: bool) -> Vec<Vec<String>> {
        cells.iter().zip(&self.widths).map(|(cell, limit)| wrap(cell, TABLE_TEXT, bold, *limit)).collect()
    }

    fn height(&self, cells: &[Vec<String>]) -> f64 {
        let lines = cells.iter().map(Vec::len).max().unwrap_or(1);
        TABLE_TEXT * (1.25 * lines as f64 + 0.6)
    }
}
