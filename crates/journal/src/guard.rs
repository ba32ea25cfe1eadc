//! Reads of what may be damaged. redb panics on some damage, and takes no operation any more after a read that failed: neither
//! may become of a client's question more than an error for that client.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a fault does while a thread reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    /// A panic is a panic, an error an error.
    None,
    /// A panic is told as damage.
    Panics,
    /// And what cannot be read is read as zeros, at which redb panics.
    PanicsAndErrors,
}

thread_local! {
    static GUARD: Cell<Guard> = const { Cell::new(Guard::None) };
}

/// Whether a panic of this thread is about to be told as damage: a hook that ends the process must let it pass.
pub fn is_guarded() -> bool {
    GUARD.get() != Guard::None
}

/// Whether a file's errors are to be kept from redb.
pub(crate) fn hides_errors() -> bool {
    GUARD.get() == Guard::PanicsAndErrors
}

/// Does something that may panic for damage. Errors: what the panic said.
pub(crate) fn guarded<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    under(Guard::Panics, read)
}

/// As `guarded`, for a client: redb is to take operations as before, whatever cannot be read.
pub(crate) fn guarded_for_client<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    under(Guard::PanicsAndErrors, read)
}

fn under<T>(guard: Guard, read: impl FnOnce() -> T) -> Result<T, String> {
    let before = GUARD.replace(guard);
    // What `read` touches is redb's, which keeps nothing half done of a read.
    let done = catch_unwind(AssertUnwindSafe(read));
    GUARD.set(before);
    done.map_err(|panic| words(&*panic))
}

fn words(panic: &(dyn Any + Send)) -> String {
    let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("redb cannot make sense of its pages: {}", said.unwrap_or("it does not say why"))
}
