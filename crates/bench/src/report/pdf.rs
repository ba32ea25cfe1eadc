//! A report as PDF, with its plots as drawings and its text as text. Knows no layout: pages.rs does.

use krilla::Document;
use krilla::color::rgb;
use krilla::destination::XyzDestination;
use krilla::geom::{PathBuilder, Point, Transform};
use krilla::metadata::Metadata;
use krilla::num::NormalizedF32;
use krilla::outline::{Outline, OutlineNode};
use krilla::page::PageSettings;
use krilla::paint::{Fill, Stroke};
use krilla::surface::Surface;
use krilla::text::{Font, TextDirection};

use super::document::{Figure, Report};
use super::font::{BOLD, REGULAR, width};
use super::pages::{self, MARGIN, Mark, PAGE_HEIGHT, PAGE_WIDTH};
use super::{pdf_plot, picture};

pub fn file(report: &Report) -> Result<Vec<u8>, String> {
    let layout = pages::lay_out(report, height_of)?;
    let fonts = Fonts::load()?;
    let mut document = Document::new();
    let count = layout.pages.len();
    for (index, marks) in layout.pages.iter().enumerate() {
        let size =
            PageSettings::from_wh(PAGE_WIDTH as f32, PAGE_HEIGHT as f32).ok_or("our bug: a page without a size")?;
        let mut page = document.start_page_with(size);
        let mut surface = page.surface();
        for mark in marks {
            draw(&mut surface, &fonts, mark)?;
        }
        let foot = format!("{} / {count}", index + 1);
        let x = PAGE_WIDTH - MARGIN - width(&foot, 8.0, false);
        let foot = Mark::Text { x, y: PAGE_HEIGHT - 30.0, size: 8.0, bold: false, text: foot };
        draw(&mut surface, &fonts, &foot)?;
        surface.finish();
        page.finish();
    }
    let mut outline = Outline::new();
    for (text, page) in layout.chapters {
        outline.push_child(OutlineNode::new(text, XyzDestination::new(page, Point::from_xy(0.0, 0.0))));
    }
    document.set_outline(outline);
    document.set_metadata(Metadata::new().title(report.title.clone()).language("en".to_string()));
    document.finish().map_err(|error| format!("the PDF cannot be made: {error:?}"))
}

/// The typeface, for text and for plots.
pub struct Fonts {
    pub regular: Font,
    pub bold: Font,
}

impl Fonts {
    fn load() -> Result<Self, String> {
        let font = |bytes: &'static [u8]| Font::new(bytes.into(), 0).ok_or("our bug: the typeface does not load");
        Ok(Self { regular: font(REGULAR)?, bold: font(BOLD)? })
    }
}

fn height_of(figure: &Figure, width: f64) -> Result<f64, String> {
    let size = picture::tree(&figure.narrow)?.size();
    Ok(width * f64::from(size.height() / size.width()))
}

fn draw(surface: &mut Surface, fonts: &Fonts, mark: &Mark) -> Result<(), String> {
    match mark {
        Mark::Text { x, y, size, bold, text } => {
            let font = if *bold { &fonts.bold } else { &fonts.regular };
            surface.set_fill(Some(Fill { paint: rgb::Color::new(26, 26, 26).into(), ..Fill::default() }));
            surface.set_stroke(None);
            let start = Point::from_xy(*x as f32, *y as f32);
            surface.draw_text(start, font.clone(), *size as f32, text, false, TextDirection::LeftToRight);
        }
        Mark::Rule { y } => {
            let mut line = PathBuilder::new();
            line.move_to(MARGIN as f32, *y as f32);
            line.line_to((PAGE_WIDTH - MARGIN) as f32, *y as f32);
            let Some(path) = line.finish() else { return Ok(()) };
            let paint = rgb::Color::new(210, 210, 210).into();
            surface.set_fill(None);
            surface.set_stroke(Some(Stroke { paint, width: 0.5, opacity: NormalizedF32::ONE, ..Stroke::default() }));
            surface.draw_path(&path);
        }
        Mark::Drawing { figure, x, y, width, height } => {
            surface.push_transform(&Transform::from_translate(*x as f32, *y as f32));
            pdf_plot::draw(surface, fonts, &figure.narrow, *width, *height)?;
            surface.pop();
        }
    }
    Ok(())
}
