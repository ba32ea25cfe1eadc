//! Panics as values that say where they began, and without a word on standard error.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Where the last panic of this thread began, if this thread catches it.
    static CAUGHT: RefCell<Option<String>> = const { RefCell::new(None) };
    static CATCHING: RefCell<u32> = const { RefCell::new(0) };
}

/// A panic that was caught.
#[derive(Clone, Debug)]
pub struct Panic {
    /// The source file and line.
    pub place: String,
    pub what: String,
}

impl Panic {
    /// Whether it began in the archive's database.
    pub fn is_of_the_database(&self) -> bool {
        self.place.contains("/redb-")
    }
}

/// Runs and catches.
pub fn catch<T>(run: impl FnOnce() -> T) -> Result<T, Panic> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            if CATCHING.with_borrow(|depth| *depth == 0) {
                return before(info);
            }
            CAUGHT.set(info.location().map(|place| format!("{}:{}", place.file(), place.line())));
        }));
    });
    CATCHING.with_borrow_mut(|depth| *depth += 1);
    let result = catch_unwind(AssertUnwindSafe(run));
    CATCHING.with_borrow_mut(|depth| *depth -= 1);
    result.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Panic { place: CAUGHT.take().unwrap_or_default(), what: text.unwrap_or_default() }
    })
}
