//! The progress of a series of measurements: a bar on a terminal, nothing elsewhere.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Time between two updates of the clock in the bar.
const TICK: Duration = Duration::from_secs(1);

/// The bar. Gone when it is dropped.
pub struct Progress(ProgressBar);

impl Progress {
    /// Begins a bar for this many measurements.
    pub fn new(measurements: usize) -> Progress {
        let style = ProgressStyle::with_template("[{bar:30}] {percent}% {elapsed}, {eta} left  {msg}");
        let style = style.expect("invariant: the template is right").progress_chars("=> ");
        let bar = ProgressBar::new(measurements as u64).with_style(style);
        bar.enable_steady_tick(TICK);
        Progress(bar)
    }

    /// Shows how many runs are made, and the name of the current one.
    pub fn at(&self, made: usize, name: &str) {
        self.0.set_message(name.to_string());
        self.0.set_position(made as u64);
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
