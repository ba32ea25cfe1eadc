//! The market of a target, which is made anew after some inputs, so that it stays small and a fault has a short story.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io::Write;
use std::panic;
use std::sync::{LazyLock, Mutex, MutexGuard, Once, PoisonError};
use std::thread::{self, ThreadId};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The number of inputs that one market gets.
const INPUTS_MAX: usize = 500;
/// The file with the inputs that a market got before a panic: one a line, in base64, the last one at the end.
const STORY_FILE: &str = "fuzz-story";

/// The inputs that the market of each sending thread got.
static STORIES: LazyLock<Mutex<HashMap<ThreadId, Vec<Vec<u8>>>>> = LazyLock::new(Mutex::default);
static TELLS: Once = Once::new();

/// Does something with the market of a target. A panic of any thread writes down the inputs of the markets, and ends
/// the process: gateways contain their own panics, and nobody would see them.
pub(crate) fn on<M>(stage: &RefCell<Option<M>>, input: &[u8], make: impl FnOnce() -> M, play: impl FnOnce(&mut M)) {
    TELLS.call_once(tell_when_something_panics);
    let mut made = stage.borrow_mut();
    let sent = stories().get(&thread::current().id()).map_or(0, Vec::len);
    if sent >= INPUTS_MAX {
        *made = None;
    }
    if made.is_none() {
        stories().remove(&thread::current().id());
    }
    stories().entry(thread::current().id()).or_default().push(input.to_vec());
    play(made.get_or_insert_with(make));
}

fn stories() -> MutexGuard<'static, HashMap<ThreadId, Vec<Vec<u8>>>> {
    STORIES.lock().unwrap_or_else(PoisonError::into_inner)
}

fn tell_when_something_panics() {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if let Ok(mut file) = File::create(STORY_FILE) {
            let told = stories().values().flatten().map(|input| BASE64_STANDARD.encode(input)).collect::<Vec<_>>();
            told.iter().for_each(|line| drop(writeln!(file, "{line}")));
        }
        before(info);
        std::process::abort();
    }));
}
