//! Values of requests, where many consecutive requests have the same one.

/// Values of requests, in order. Consecutive requests with the same value share one entry: a connection hands in many
/// at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Runs<T>(Vec<Run<T>>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Run<T> {
    first: usize,
    end: usize,
    value: T,
}

impl<T> Default for Runs<T> {
    fn default() -> Runs<T> {
        Runs(Vec::new())
    }
}

impl<T: Clone + PartialEq> Runs<T> {
    /// Gives a request this value. The request stands behind all that have one.
    pub(crate) fn push(&mut self, request: usize, value: &T) {
        match self.0.last_mut() {
            Some(last) if last.end == request && last.value == *value => last.end = request + 1,
            _ => self.0.push(Run { first: request, end: request + 1, value: value.clone() }),
        }
    }

    /// The value of a request, if it was given one.
    pub(crate) fn get(&self, request: usize) -> Option<&T> {
        let run = self.0.get(self.0.partition_point(|run| run.end <= request))?;
        (run.first <= request).then_some(&run.value)
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_request_has_what_it_was_given() {
        let mut runs = Runs::default();
        let given = [(0, 'a'), (1, 'a'), (3, 'a'), (4, 'b'), (5, 'b'), (6, 'a')];
        given.iter().for_each(|(request, value)| runs.push(*request, value));
        let found: Vec<Option<&char>> = (0..8).map(|request| runs.get(request)).collect();
        let all = [Some('a'), Some('a'), None, Some('a'), Some('b'), Some('b'), Some('a'), None];
        assert_eq!(found, all.each_ref().map(Option::as_ref));
        assert_eq!(runs.0.len(), 4);
        runs.clear();
        assert_eq!(runs.get(0), None);
    }
}
