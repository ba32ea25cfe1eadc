//! The one typeface of plots and pages, carried along so that nothing depends on what a system has, and how wide its
//! text is. Knows no layout.

use std::sync::{Arc, LazyLock};

use resvg::usvg::fontdb::Database;

pub const REGULAR: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");
pub const BOLD: &[u8] = include_bytes!("../../assets/DejaVuSans-Bold-subset.ttf");

/// For SVG files, which are also read where the typeface is not: the next ones are about as wide.
pub const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

const UNITS_PER_EM: f64 = 2048.0;

/// Advances of the characters from space to tilde, regular, from the font's `hmtx`.
#[rustfmt::skip]
const ADVANCES: [u16; 95] = [
    651, 821, 942, 1716, 1303, 1946, 1597, 563, 799, 799, 1024, 1716, 651, 739, 651, 690, 1303, 1303, 1303, 1303, 1303,
    1303, 1303, 1303, 1303, 1303, 690, 690, 1716, 1716, 1716, 1087, 2048, 1401, 1405, 1430, 1577, 1294, 1178, 1587,
    1540, 604, 604, 1343, 1141, 1767, 1532, 1612, 1235, 1612, 1423, 1300, 1251, 1499, 1401, 2025, 1403, 1251, 1403, 799,
    690, 799, 1716, 1024, 1024, 1255, 1300, 1126, 1300, 1260, 721, 1300, 1298, 569, 569, 1186, 569, 1995, 1298, 1253,
    1300, 1300, 842, 1067, 803, 1298, 1212, 1675, 1212, 1212, 1075, 1303, 690, 1303, 1716,
];
/// Bold text is this much wider, at most.
const BOLD_WIDTH: f64 = 1.13;

/// Width of a line of text in the unit of `size`. Without kerning: a little more than it takes.
pub fn width(text: &str, size: f64, bold: bool) -> f64 {
    let advance = |character: char| {
        let index = (character as usize).wrapping_sub(32);
        f64::from(ADVANCES.get(index).copied().unwrap_or(1303))
    };
    let units: f64 = text.chars().map(advance).sum();
    units / UNITS_PER_EM * size * if bold { BOLD_WIDTH } else { 1.0 }
}

/// Lines no wider than `limit`, broken at spaces, and inside a word only where it is wider than a line.
pub fn wrap(text: &str, size: f64, bold: bool, limit: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("invariant: there is a line from the start");
        let joined = if line.is_empty() { word.to_string() } else { format!("{line} {word}") };
        if width(&joined, size, bold) <= limit {
            *line = joined;
            continue;
        }
        if line.is_empty() {
            lines.pop();
        }
        lines.extend(pieces(word, size, bold, limit));
    }
    lines
}

fn pieces(word: &str, size: f64, bold: bool, limit: f64) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for character in word.chars() {
        let piece = pieces.last_mut().expect("invariant: there is a piece from the start");
        if !piece.is_empty() && width(&format!("{piece}{character}"), size, bold) > limit {
            pieces.push(character.to_string());
        } else {
            piece.push(character);
        }
    }
    pieces
}

/// The typeface for those who draw SVG.
pub fn database() -> Arc<Database> {
    static FONTS: LazyLock<Arc<Database>> = LazyLock::new(|| {
        let mut fonts = Database::new();
        fonts.load_font_data(REGULAR.to_vec());
        fonts.load_font_data(BOLD.to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        Arc::new(fonts)
    });
    Arc::clone(&FONTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_fit_and_lose_nothing() {
        let text = "pricetime-bench sweep --axis cores --values 1,2,3,4 averyveryverylongwordthatfitsnoline end";
        let lines = wrap(text, 10.0, false, 120.0);
        assert!(lines.len() > 3, "{lines:?}");
        assert!(lines.iter().all(|line| width(line, 10.0, false) <= 120.0), "{lines:?}");
        assert_eq!(lines.concat().replace(' ', ""), text.replace(' ', ""));
    }
}
