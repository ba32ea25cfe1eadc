//! Containment: code that runs for one client alone. A panic in it ends what that client asked for and nothing else,
//! whereas a panic anywhere else ends the server. This module knows neither what such code does nor where panics are
//! logged.
//!
//! The panic hook decides: it asks [`panicked`] whether the thread that panicked is within such code.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

/// The bytes of an input that the log shows at most.
pub const SHOWN_BYTES_MAX: usize = 512;
/// Words that hint at a secret: the log does not show inputs that contain one.
const SECRET_WORDS: [&str; 7] = ["secret", "password", "token", "login", "signature", "key", "\u{1}554="];

/// A part of the server whose code runs for one client at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A request over XML: parsing it, and writing its reply.
    Xml,
    /// A request over HTTP, or a conversation over a WebSocket.
    Http,
    /// A session over FIX.
    Fix,
    /// A question of one client that a thread answers beside its connection: the feed, or a reader of the past.
    Question,
    /// The feed, which XML has no need of.
    Feed,
}

const PARTS: usize = Part::Feed as usize + 1;

/// The number of panics in each part since the process started.
static PANICS: [AtomicU64; PARTS] = [const { AtomicU64::new(0) }; PARTS];

thread_local! {
    static WITHIN: Cell<Option<Within>> = const { Cell::new(None) };
    /// The place and message of the last panic, which [`contain`] is catching.
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// The contained code that a thread is in.
#[derive(Clone, Copy)]
struct Within {
    part: Part,
    /// Whether [`contain`] catches a panic and reports it. Otherwise a runtime catches it, which reports nothing.
    is_told: bool,
}

impl Part {
    /// All parts.
    pub const ALL: [Part; PARTS] = [Part::Xml, Part::Http, Part::Fix, Part::Question, Part::Feed];

    /// The name in metrics and in the log.
    pub fn name(self) -> &'static str {
        match self {
            Part::Xml => "xml",
            Part::Http => "http",
            Part::Fix => "fix",
            Part::Question => "question",
            Part::Feed => "feed",
        }
    }

    /// The number of panics since the process started.
    pub fn panics(self) -> u64 {
        PANICS[self as usize].load(Ordering::Relaxed)
    }
}

/// A panic that was contained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panicked {
    /// The place that it came from, and its message.
    pub what: String,
}

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// The verdict of a panic hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contained {
    /// The server has to end.
    No,
    /// The code that catches the panic reports it.
    Told,
    /// The hook has to log the panic: its place and its message.
    ToLog(Part, String),
}

/// Counts a panic of code that runs for one client; called by a panic hook.
pub fn panicked(panic: &PanicHookInfo<'_>) -> Contained {
    let Some(Within { part, is_told }) = WITHIN.get() else { return Contained::No };
    PANICS[part as usize].fetch_add(1, Ordering::Relaxed);
    if !is_told {
        return Contained::ToLog(part, panic.to_string());
    }
    LAST.set(Some(panic.to_string()));
    Contained::Told
}

/// Runs code of one client. Errors: the code panicked, and the caller has to drop everything that the code was
/// changing.
pub fn contain<T>(part: Part, work: impl FnOnce() -> T) -> Result<T, Panicked> {
    let before = WITHIN.replace(Some(Within { part, is_told: true }));
    let done = catch_unwind(AssertUnwindSafe(work));
    WITHIN.set(before);
    done.map_err(|payload| Panicked { what: LAST.take().unwrap_or_else(|| words(&*payload)) })
}

/// Runs the event loop of a thread whose tasks are sessions: when a task panics, the runtime ends that task alone.
/// Panics when the loop itself does, because that ends the server.
pub fn serve_sessions<T>(part: Part, event_loop: impl FnOnce() -> T) -> T {
    let before = WITHIN.replace(Some(Within { part, is_told: false }));
    let done = catch_unwind(AssertUnwindSafe(event_loop));
    WITHIN.set(before);
    match done {
        Ok(done) => done,
        Err(payload) => panic!("the event loop of {} ended: {}", part.name(), words(&*payload)),
    }
}

/// Marks a thread that helps such a loop: its work is for one client at a time.
pub fn help_sessions(part: Part) {
    WITHIN.set(Some(Within { part, is_told: false }));
}

/// A future that runs code of one client. Errors: the code panicked.
pub struct Containing<F> {
    part: Part,
    /// The future; `None` once it has panicked.
    work: Option<Pin<Box<F>>>,
}

impl<F: Future> Containing<F> {
    pub fn new(part: Part, work: F) -> Containing<F> {
        Containing { part, work: Some(Box::pin(work)) }
    }
}

impl<F: Future> Future for Containing<F> {
    type Output = Result<F::Output, Panicked>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let part = self.part;
        let Some(work) = &mut self.work else { return Poll::Pending };
        let polled = contain(part, || work.as_mut().poll(context));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(panicked) => {
                // The destructors of the future run here, and may panic as well.
                let work = self.work.take();
                let _ = contain(part, || drop(work));
                Poll::Ready(Err(panicked))
            }
        }
    }
}

/// An input as the log shows it: shortened, and hidden if it may hold a secret.
pub fn shown(input: &[u8]) -> String {
    let text = String::from_utf8_lossy(input);
    let lower = text.to_ascii_lowercase();
    if SECRET_WORDS.iter().any(|word| lower.contains(word)) {
        return format!("{} bytes, which may hold a secret", input.len());
    }
    match input.len() {
        length if length <= SHOWN_BYTES_MAX => format!("{text:?}"),
        length => format!("{:?}… of {length} bytes", String::from_utf8_lossy(&input[..SHOWN_BYTES_MAX])),
    }
}

fn words(payload: &(dyn Any + Send)) -> String {
    let said = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    said.unwrap_or("it does not say why").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_of_one_client_panics_and_the_thread_goes_on() {
        assert_eq!(contain(Part::Xml, || 7), Ok(7));
        let panicked = contain(Part::Xml, || -> u8 { panic!("planted {}", 1) });
        assert_eq!(panicked.map_err(|panicked| panicked.what), Err("planted 1".to_owned()));
        assert!(WITHIN.get().is_none());
        let inner = contain(Part::Feed, || {
            let inner = contain(Part::Question, || panic!("planted"));
            (inner.is_err(), WITHIN.get().map(|within| within.part))
        });
        assert_eq!(inner, Ok((true, Some(Part::Feed))));
    }

    #[test]
    fn what_may_hold_a_secret_is_not_shown_and_what_is_long_is_cut() {
        assert_eq!(shown(b"<create>\n"), "\"<create>\\n\"");
        assert_eq!(shown(b"<Login key='k' Secret='s'/>"), "27 bytes, which may hold a secret");
        let long = shown(&[b'x'; 100_000]);
        assert!(long.len() < 600 && long.ends_with("… of 100000 bytes"), "{long}");
        assert!(shown(&[0xFF; 3]).len() < 20);
    }
}
