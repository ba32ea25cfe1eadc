//! The progress of a series of measurements: a bar on a terminal, nothing elsewhere.

use indicatif::{ProgressBar, ProgressStyle};

/// Steps of the bar in one measurement.
const STEPS: u64 = 1000;

/// The bar. Gone when it is dropped.
pub struct Progress(ProgressBar);

impl Progress {
    /// Begins a bar for this many measurements.
    pub fn new(measurements: usize) -> Progress {
        let style = ProgressStyle::with_template("[{bar:30}] {percent}% {elapsed}, {eta} left  {msg}");
        let style = style.expect("invariant: the template is right").progress_chars("=> ");
        Progress(ProgressBar::new(measurements as u64 * STEPS).with_style(style))
    }

    /// Shows how many runs are made, and how far the current one, of this name, is.
    pub fn at(&self, made: usize, part: f64, name: &str) {
        self.0.set_message(name.to_string());
        self.0.set_position(made as u64 * STEPS + (part.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }

    /// Prints something that stays, above the bar.
    pub fn aside(&self, print: impl FnOnce()) {
        self.0.suspend(print);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
