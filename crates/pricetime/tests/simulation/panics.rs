//! Panics as values that tell where they happened, without output on standard error.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether panics of this thread are caught, and the first caught panic.
    static CAUGHT: RefCell<Option<Option<Panic>>> = const { RefCell::new(None) };
}

/// A panic that was caught.
#[derive(Clone, Debug, Default)]
pub struct Panic {
    /// The source file, the line and the message.
    pub what: String,
}

impl Panic {
    fn of(info: &PanicHookInfo<'_>) -> Panic {
        Panic { what: info.to_string() }
    }
}

/// Runs a function and catches its panic. Within another `catch` the panic is left to that one.
pub fn catch<T>(run: impl FnOnce() -> T) -> Result<T, Panic> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            let caught = CAUGHT.with_borrow_mut(|caught| match caught {
                // A second panic during the unwinding of the first ends the process, so it is printed, too.
                Some(first) if first.is_none() => {
                    *first = Some(Panic::of(info));
                    true
                }
                Some(_) | None => false,
            });
            if !caught {
                before(info);
            }
        }));
    });
    CAUGHT.set(Some(None));
    let result = catch_unwind(AssertUnwindSafe(run));
    let caught = CAUGHT.take();
    result.map_err(|_| caught.flatten().unwrap_or_default())
}
