//! Lines as the data of an SVG path, in as few letters as there are: each step from the place before, in tenths of a unit,
//! finer than which nobody sees.

use std::fmt;

use super::canvas::Place;

/// Lines that are drawn in one stroke of the pen each.
#[derive(Default)]
pub struct Path {
    data: String,
    /// Where the pen is, in tenths, so that no rounding adds up.
    pen: (i64, i64),
}

impl Path {
    /// All of them, each closed to its beginning or not.
    pub fn of<L: AsRef<[Place]>>(lines: &[L], closed: bool) -> Path {
        let mut path = Path::default();
        for line in lines {
            let Some((start, rest)) = line.as_ref().split_first() else { continue };
            path.step('m', *start);
            let begun = path.pen;
            rest.iter().for_each(|place| path.step('l', *place));
            if closed {
                path.data.push('z');
                path.pen = begun;
            }
        }
        path
    }

    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    fn step(&mut self, letter: char, (x, y): Place) {
        let to = ((x * 10.0).round() as i64, (y * 10.0).round() as i64);
        let by = (to.0 - self.pen.0, to.1 - self.pen.1);
        self.pen = to;
        match (letter, by) {
            ('l', (x, 0)) => self.command('h', &[x]),
            ('l', (0, y)) => self.command('v', &[y]),
            (letter, (x, y)) => self.command(letter, &[x, y]),
        }
    }

    fn command(&mut self, letter: char, tenths: &[i64]) {
        self.data.push(letter);
        for (index, value) in tenths.iter().enumerate() {
            // A minus parts two numbers by itself.
            if index > 0 && *value >= 0 {
                self.data.push(' ');
            }
            self.data.push_str(&decimal(*value));
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.data)
    }
}

fn decimal(tenths: i64) -> String {
    let (sign, units, rest) = (if tenths < 0 { "-" } else { "" }, tenths.abs() / 10, tenths.abs() % 10);
    match (units, rest) {
        (_, 0) => format!("{sign}{units}"),
        (0, _) => format!("{sign}.{rest}"),
        (_, _) => format!("{sign}{units}.{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_told_from_the_place_before() {
        let lines = [vec![(10.0, 20.04), (12.5, 20.0), (12.5, 19.0), (12.0, 18.9)], vec![(0.0, 0.0), (-1.0, 1.0)]];
        assert_eq!(Path::of(&lines, false).to_string(), "m10 20h2.5v-1l-.5-.1m-12-18.9l-1 1");
        assert_eq!(Path::of(&lines, true).to_string(), "m10 20h2.5v-1l-.5-.1zm-10-20l-1 1z");
        assert!(Path::of(&[Vec::new(), Vec::new()], true).is_empty());
    }

    #[test]
    fn a_long_way_does_not_add_up_what_is_rounded() {
        let line: Vec<Place> = (0..1_000).map(|step| (f64::from(step) * 0.333, 0.0)).collect();
        let mut path = Path::of(&[line], false);
        path.step('l', (332.667, 0.0));
        assert!(path.data.ends_with("h0"), "where it ends is known to the tenth: {}", path.data);
    }
}
