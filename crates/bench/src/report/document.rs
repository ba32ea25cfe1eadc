//! A report before it is a page, a PDF or Markdown: headings, paragraphs, lists, tables and figures. Knows no format.

pub struct Report {
    pub title: String,
    pub blocks: Vec<Block>,
}

pub enum Block {
    /// 2 for an experiment, 3 for a part of one.
    Heading(u8, String),
    Paragraph(String),
    List(Vec<String>),
    Commands(Vec<String>),
    Table(Table),
    Figure(Figure),
}

pub struct Table {
    pub caption: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<String>>,
    /// Too long to be read through: folded on the page and without a table's trimmings, left out elsewhere.
    pub long: bool,
}

pub struct Column {
    pub head: String,
    pub numbers: bool,
}

pub struct Figure {
    /// Its file's name without ending.
    pub file: String,
    /// As it stands in the drawing, for those who do not see it.
    pub title: String,
    /// What the drawing does not say itself.
    pub caption: String,
    /// The drawing for files, and
    pub wide: String,
    /// the same for phones, and for columns beside each other on wider screens and paper.
    pub narrow: String,
}

impl Block {
    pub fn figure(&self) -> Option<&Figure> {
        match self {
            Self::Figure(figure) => Some(figure),
            _ => None,
        }
    }

    pub fn is_figure(&self) -> bool {
        self.figure().is_some()
    }
}

impl Report {
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.blocks.iter().filter_map(Block::figure)
    }

    /// The first of those that follow each other: what each experiment is for.
    pub fn main_figures(&self) -> impl Iterator<Item = &Figure> {
        let runs = self.blocks.chunk_by(|one, next| one.is_figure() == next.is_figure());
        runs.filter_map(|run| run[0].figure())
    }
}

impl Table {
    /// Columns whose heads start with `#` hold numbers.
    pub fn new(caption: impl Into<String>, heads: &[&str]) -> Self {
        let column = |head: &&str| match head.strip_prefix('#') {
            Some(head) => Column { head: head.to_string(), numbers: true },
            None => Column { head: (*head).to_string(), numbers: false },
        };
        Self { caption: caption.into(), columns: heads.iter().map(column).collect(), rows: Vec::new(), long: false }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let cells: Vec<String> = cells.into_iter().collect();
        assert_eq!(cells.len(), self.columns.len(), "invariant: a row has a cell for each column");
        self.rows.push(cells);
    }
}
