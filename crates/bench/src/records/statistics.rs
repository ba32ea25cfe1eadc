//! Statistics of several runs of the same thing.

/// Mean, spread and an interval that holds the mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub runs: usize,
    pub mean: f64,
    /// Sample standard deviation; zero for one run.
    pub deviation: f64,
    /// Half the width of the 95% interval of the mean by Student's t; `None` for one run.
    pub t95: Option<f64>,
    pub median: f64,
    pub min: f64,
    pub max: f64,
}

/// Student's t, two-sided 95%, by degrees of freedom from 1.
const T95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
    2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// Sums up runs; `None` when there are none.
pub fn summarize(values: &[f64]) -> Option<Summary> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (&min, &max) = (sorted.first()?, sorted.last()?);
    let runs = sorted.len();
    let mean = sorted.iter().sum::<f64>() / runs as f64;
    let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = if runs > 1 { (squares / (runs - 1) as f64).sqrt() } else { 0.0 };
    let t = (runs > 1).then(|| T95.get(runs - 2).copied().unwrap_or(1.96));
    let t95 = t.map(|t| t * deviation / (runs as f64).sqrt());
    let median = (sorted[(runs - 1) / 2] + sorted[runs / 2]) / 2.0;
    Some(Summary { runs, mean, deviation, t95, median, min, max })
}

/// Returns different values in the order in which they first came.
pub fn different<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_runs_by_hand() {
        let summary = summarize(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).expect("runs");
        assert_eq!((summary.runs, summary.mean, summary.median, summary.min, summary.max), (8, 5.0, 4.5, 2.0, 9.0));
        assert!((summary.deviation - 2.138).abs() < 1e-3, "{}", summary.deviation);
        assert!((summary.t95.expect("several runs") - 2.365 * 2.138 / 8f64.sqrt()).abs() < 1e-3);
    }

    #[test]
    fn one_run_has_no_interval_and_none_has_nothing() {
        let summary = summarize(&[3.0]).expect("a run");
        assert_eq!((summary.mean, summary.median, summary.deviation, summary.t95), (3.0, 3.0, 0.0, None));
        assert_eq!(summarize(&[]), None);
    }
}
