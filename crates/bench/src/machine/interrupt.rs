//! Ctrl-C and SIGTERM as a flag that loops look at: the owner of a server or folder then drops it, and dropping cleans
//! up. This module does not know the owners.

use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Time within which two signals count as one: some programs that pass a signal on (`timeout`) send it to the process
/// and to its group.
const SAME_MOMENT: Duration = Duration::from_millis(300);

/// The first signal; 0 for none.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Notes the first signal from now on; a second one ends the process at once. Errors: the system's.
pub fn watch() -> Result<(), String> {
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(|error| format!("cannot catch signals: {error}"))?;
    let note = move || {
        let mut first: Option<Instant> = None;
        for signal in signals.forever() {
            match first {
                None => {
                    SIGNAL.store(signal, Ordering::Relaxed);
                    first = Some(Instant::now());
                }
                Some(first) if first.elapsed() < SAME_MOMENT => {}
                Some(_) => std::process::exit(128 + signal),
            }
        }
    };
    let thread = std::thread::Builder::new().name("signals".to_string()).spawn(note);
    thread.map(drop).map_err(|error| format!("cannot start a thread: {error}"))
}

/// Returns the signal that asked to stop, if one did.
pub fn signal() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
}

/// Whether a signal asked to stop.
pub fn is_asked() -> bool {
    signal().is_some()
}

/// Checks that no signal asked to stop. Errors: one did.
pub fn check() -> Result<(), String> {
    match signal() {
        None => Ok(()),
        Some(SIGINT) => Err("interrupted by SIGINT".to_string()),
        Some(_) => Err("interrupted by SIGTERM".to_string()),
    }
}
