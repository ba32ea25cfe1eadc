//! Guards reads of the archive: redb panics on some damage, and the guard makes an error of the panic.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread will be reported as damage. A panic hook that ends the process must let it pass.
pub fn is_guarded() -> bool {
    GUARDED.get()
}

/// Runs a function that may panic on damage. Errors: the message of the panic.
pub(crate) fn guarded<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    let before = GUARDED.replace(true);
    // The data that `read` touches is redb's, which keeps no half-done state of a read.
    let done = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(before);
    done.map_err(|panic| words(&*panic))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("redb cannot make sense of its pages: {}", said.unwrap_or("it does not say why"))
}
