//! The readers of stored bytes and of a cluster's log under libFuzzer, without an engine or a node:
//! `PRICETIME_FUZZ_TARGET=commands-reading`.
#![no_main]

use std::sync::LazyLock;

use fuzz::stored_reading;
use libfuzzer_sys::fuzz_target;

static READ: LazyLock<fn(&[u8])> = LazyLock::new(|| match std::env::var("PRICETIME_FUZZ_TARGET").as_deref() {
    Ok("commands-reading") => stored_reading::commands,
    Ok("items-reading") => stored_reading::items,
    Ok("block") => stored_reading::block,
    Ok("message-reading") => stored_reading::messages,
    _ => panic!("PRICETIME_FUZZ_TARGET is commands-reading, items-reading, block or message-reading"),
});

fuzz_target!(|input: &[u8]| READ(input));
