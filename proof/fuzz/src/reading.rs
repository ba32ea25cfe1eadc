//! A gateway's readers under libFuzzer, without a market: `PRICETIME_FUZZ_TARGET=xml-reading`. The program has fewer
//! branches, and libFuzzer looks at all of them after each input.
#![no_main]

use std::sync::LazyLock;

use fuzz::reading;
use libfuzzer_sys::fuzz_target;

static READ: LazyLock<fn(&[u8])> = LazyLock::new(|| match std::env::var("PRICETIME_FUZZ_TARGET").as_deref() {
    Ok("xml-reading") => reading::xml,
    Ok("fix-reading") => reading::fix,
    Ok("http-reading") => reading::http,
    Ok("websocket-reading") => reading::websocket,
    _ => panic!("PRICETIME_FUZZ_TARGET is xml-reading, fix-reading, http-reading or websocket-reading"),
});

fuzz_target!(|input: &[u8]| READ(input));
