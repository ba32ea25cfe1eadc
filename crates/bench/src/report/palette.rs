//! Pixels to a small PNG: each is an index into at most 256 colours. A plot has few, and shades of them where strokes and
//! letters end. Knows no plots.

use std::collections::BTreeMap;

use png::{BitDepth, ColorType, Compression, Encoder, EncodingError, Filter};

/// Red, green, blue.
pub type Colour = [u8; 3];

/// As many as an index of a byte has.
const COLOURS_MAX: usize = 256;
/// Colours that are no further apart in each channel are one to the eye. Less than from the ground to a line of the fine grid
/// that lies between two rows of pixels.
const ALIKE: u8 = 6;

/// A picture of this width, row by row. Errors: the encoder's.
pub fn png(width: u32, pixels: &[Colour]) -> Result<Vec<u8>, EncodingError> {
    let colours = Palette::of(pixels);
    let indices: Vec<u8> = pixels.iter().map(|pixel| colours.index_of(*pixel)).collect();
    let mut file = Vec::new();
    let mut encoder = Encoder::new(&mut file, width, pixels.len() as u32 / width.max(1));
    encoder.set_color(ColorType::Indexed);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_palette(colours.chosen.concat());
    encoder.set_compression(Compression::High);
    // Differences between indices mean nothing.
    encoder.set_filter(Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&indices)?;
    writer.finish()?;
    Ok(file)
}

/// The colours that stand for all others.
struct Palette {
    chosen: Vec<Colour>,
    /// Of every colour of the picture.
    indices: BTreeMap<Colour, u8>,
}

impl Palette {
    /// The most frequent colour stands for those alike, then the most frequent of the others, and so on. What a plot is drawn
    /// in is frequent, so it stays exactly what it is.
    fn of(pixels: &[Colour]) -> Palette {
        let mut counts: BTreeMap<Colour, u32> = BTreeMap::new();
        pixels.iter().for_each(|pixel| *counts.entry(*pixel).or_default() += 1);
        let mut by_count: Vec<(Colour, u32)> = counts.into_iter().collect();
        by_count.sort_by_key(|(colour, count)| (std::cmp::Reverse(*count), *colour));
        let (mut chosen, mut indices): (Vec<Colour>, _) = (Vec::new(), BTreeMap::new());
        for (colour, _) in by_count {
            let nearest = (0..chosen.len()).min_by_key(|at| distance(chosen[*at], colour));
            let index = match nearest {
                Some(at) if chosen.len() == COLOURS_MAX || distance(chosen[at], colour) <= ALIKE => at,
                _ => {
                    chosen.push(colour);
                    chosen.len() - 1
                }
            };
            indices.insert(colour, index as u8);
        }
        Palette { chosen, indices }
    }

    fn index_of(&self, colour: Colour) -> u8 {
        self.indices[&colour]
    }
}

/// In the channel in which they are furthest apart.
fn distance(one: Colour, other: Colour) -> u8 {
    one.into_iter().zip(other).map(|(one, other)| one.abs_diff(other)).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(file: &[u8]) -> (u32, Vec<Colour>) {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().expect("a header");
        let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut bytes).expect("a picture");
        let pixels = bytes[..info.buffer_size()].chunks(3).map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        (info.width, pixels)
    }

    #[test]
    fn few_colours_stay_what_they_are() {
        let colours: Vec<Colour> = (0..18).map(|step| [step * 14, 255 - step * 14, 7]).collect();
        let pixels: Vec<Colour> = (0..600).map(|at| colours[at % colours.len()]).collect();
        assert!(decoded(&png(30, &pixels).expect("a file")) == (30, pixels));
    }

    #[test]
    fn of_many_colours_the_frequent_stay_and_the_others_become_alike() {
        let ground = [255; 3];
        let fine_grid = [241; 3];
        let mut pixels = vec![ground; 3_000];
        pixels.extend([fine_grid; 1_000]);
        // All shades on the way from white to an ink, as strokes that end between pixels have them.
        pixels.extend((0..=250).map(|step| [255 - step, 255 - step / 2, 255 - step / 3]));
        pixels.extend((0..=250).map(|step| [255 - step / 2, 255 - step, 255]));
        pixels.resize(4_600, ground);
        let (_, found) = decoded(&png(100, &pixels).expect("a file"));
        assert!(found[..4_000] == pixels[..4_000]);
        let furthest = found.iter().zip(&pixels).map(|(one, other)| distance(*one, *other)).max();
        assert!(furthest.is_some_and(|furthest| furthest <= ALIKE), "{furthest:?}");
    }

    #[test]
    fn more_colours_than_an_index_has_become_the_nearest_of_those() {
        let shade = |step: u32| (step % 10 * 25) as u8;
        let pixels: Vec<Colour> = (0..1_000).map(|at| [shade(at), shade(at / 10), shade(at / 100)]).collect();
        let (_, found) = decoded(&png(100, &pixels).expect("a file"));
        let mut chosen = found.clone();
        chosen.sort_unstable();
        chosen.dedup();
        assert_eq!(chosen.len(), COLOURS_MAX);
        let nearest = |pixel: Colour| chosen.iter().map(|colour| distance(*colour, pixel)).min();
        assert!(found.iter().zip(&pixels).all(|(one, other)| Some(distance(*one, *other)) == nearest(*other)));
    }
}
