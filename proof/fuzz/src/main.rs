//! A target under libFuzzer, which the environment names: `PRICETIME_FUZZ_TARGET=xml`.
#![no_main]

use std::sync::LazyLock;

use fuzz::Target;
use libfuzzer_sys::fuzz_target;

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("PRICETIME_FUZZ_TARGET").unwrap_or_default();
    let found = Target::ALL.into_iter().find(|target| target.name() == name);
    let names = || Target::ALL.map(Target::name).join(", ");
    found.unwrap_or_else(|| panic!("PRICETIME_FUZZ_TARGET is one of {}", names()))
});

fuzz_target!(|input: &[u8]| TARGET.send(input));
