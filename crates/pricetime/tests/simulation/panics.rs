//! Panics as values that say where they began, and without a word on standard error.

use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::mpsc::{Sender, channel};

thread_local! {
    static CATCHING: RefCell<Catching> = const { RefCell::new(Catching::No) };
}

/// What becomes of a panic of this thread.
enum Catching {
    /// It is printed as ever.
    No,
    /// It is kept for `catch`.
    Here(Option<Panic>),
    /// It is sent, and the thread goes no further: not even backwards.
    Apart(Sender<Panic>),
}

/// A panic that was caught.
#[derive(Clone, Debug, Default)]
pub struct Panic {
    /// The source file and line, and what it said.
    pub what: String,
    /// The calls that led there.
    frames: String,
}

impl Panic {
    /// Whether it began in the archive's database.
    pub fn is_of_the_database(&self) -> bool {
        // It calls nothing of ours but the file.
        self.frames.contains("redb::")
    }
}

/// Runs and catches.
pub fn catch<T>(run: impl FnOnce() -> T) -> Result<T, Panic> {
    watch();
    CATCHING.set(Catching::Here(None));
    let result = catch_unwind(AssertUnwindSafe(run));
    let caught = CATCHING.replace(Catching::No);
    result.map_err(|_| match caught {
        Catching::Here(Some(panic)) => panic,
        Catching::Here(None) | Catching::No | Catching::Apart(_) => Panic::default(),
    })
}

/// Runs in a thread of its own, which a panic ends where it stands: the database, which panics on pages that are not what
/// it wrote, panics once more while it unwinds, and that would end all.
pub fn catch_apart<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Result<T, Panic> {
    watch();
    let (done, result) = channel();
    let (panicked, panic) = channel();
    std::thread::spawn(move || {
        CATCHING.set(Catching::Apart(panicked));
        let _ = done.send(run());
    });
    // Either sender ends with the thread's work, or the panic is sent and the other sender stands still with the thread.
    loop {
        if let Ok(result) = result.try_recv() {
            return Ok(result);
        }
        match panic.recv_timeout(std::time::Duration::from_millis(1)) {
            Ok(panic) => return Err(panic),
            Err(_) => continue,
        }
    }
}

fn watch() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |info| {
            let sender = CATCHING.with_borrow_mut(|catching| match catching {
                Catching::No => {
                    before(info);
                    None
                }
                Catching::Here(kept) => {
                    kept.get_or_insert_with(|| Panic::of(info));
                    None
                }
                Catching::Apart(sender) => Some(sender.clone()),
            });
            if let Some(sender) = sender {
                let _ = sender.send(Panic::of(info));
                loop {
                    std::thread::park();
                }
            }
        }));
    });
}

impl Panic {
    fn of(info: &PanicHookInfo<'_>) -> Panic {
        Panic { what: info.to_string(), frames: Backtrace::force_capture().to_string() }
    }
}
