//! Random changes of inputs, the same for the same seed: what the short form of fuzzing sends, without a compiler that
//! counts branches.

/// Numbers at which arithmetic and parsers go wrong.
const EXTREMES: [&str; 10] = [
    "0",
    "-1",
    "18446744073709551615",
    "9223372036854775807",
    "170141183460469231731687303715884105727",
    "92233720368.54775807",
    "0.00000001",
    "1e308",
    "99999999999999999999999999999999",
    "-0",
];

/// A generator of changes.
pub struct Mutation(u64);

impl Mutation {
    /// A generator that begins with a seed.
    pub fn from_seed(seed: u64) -> Mutation {
        Mutation(seed | 1)
    }

    /// A random number below `bound`, which is not zero.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 1).unwrap_or(usize::MAX) % bound
    }

    /// Returns one of the inputs with one to four changes: bytes set, taken out or doubled, a part of another input, a
    /// number made extreme.
    pub fn of(&mut self, inputs: &[Vec<u8>]) -> Vec<u8> {
        let mut input = inputs[self.below(inputs.len())].clone();
        for _ in 0..=self.below(4) {
            self.change(&mut input, inputs);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>, inputs: &[Vec<u8>]) {
        if input.is_empty() {
            return input.push(b'0');
        }
        let at = self.below(input.len());
        let end = at.saturating_add(self.below(16)).min(input.len());
        match self.below(5) {
            0 => input[at] = u8::try_from(self.below(256)).unwrap_or_default(),
            1 => drop(input.drain(at..end)),
            2 => {
                let some = input[at..end].to_vec();
                drop(input.splice(at..at, some));
            }
            3 => {
                let other = &inputs[self.below(inputs.len())];
                if !other.is_empty() {
                    let from = self.below(other.len());
                    let until = from.saturating_add(self.below(64)).min(other.len());
                    drop(input.splice(at..end, other[from..until].iter().copied()));
                }
            }
            _ => self.make_extreme(input, at),
        }
    }

    /// Puts an extreme number in place of the next one behind `at`.
    fn make_extreme(&mut self, input: &mut Vec<u8>, at: usize) {
        let Some(begin) = input[at..].iter().position(u8::is_ascii_digit).map(|skipped| at.saturating_add(skipped))
        else {
            return;
        };
        let digits = input[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let extreme = EXTREMES[self.below(EXTREMES.len())];
        drop(input.splice(begin..begin.saturating_add(digits), extreme.bytes()));
    }
}
