//! What a million keys cost, in a processor's time: reading them, and one look-up. `cargo run --release -p access --example million`

use std::fmt::Write;
use std::time::{Duration, SystemTime};

use access::{Access, hash_of_secret};
use rustix::time::{ClockId, clock_gettime};

fn main() -> Result<(), String> {
    let now = SystemTime::now();
    for keys in [10usize, 1_000_000] {
        let hash = hash_of_secret("a-secret-of-some-length");
        let mut text = String::new();
        for number in 0..keys {
            let member = format!("[[member]]\nname = \"m{number}\"\nroles = [\"trader\"]\naccounts = [\"{number}\"]\n");
            let key = format!("[[member.key]]\nid = \"{number:064}\"\nsecret_hash = \"{hash}\"\n");
            write!(text, "{member}{key}").map_err(|error| error.to_string())?;
        }
        let begin = used();
        let access = Access::parse(&text)?;
        let parsed = used() - begin;
        let begin = used();
        access.reload(&text)?;
        let reloaded = used() - begin;
        const TRIES: usize = 200_000;
        let ids: Vec<String> = (0..TRIES).map(|number| format!("{:064}", number * 7919 % keys)).collect();
        let begin = used();
        let found = ids.iter().filter(|id| access.account_of(id).is_some()).count();
        let looked_up = (used() - begin) / 200_000;
        let begin = used();
        let proven = ids.iter().filter(|id| access.by_secret(id, "a-secret-of-some-length", now).is_some()).count();
        let proof = (used() - begin) / 200_000;
        println!(
            "{keys} keys: parsed in {parsed:?}, again in {reloaded:?}; a look-up {looked_up:?}, a proof {proof:?} ({found} {proven})"
        );
    }
    Ok(())
}

/// What this thread had of a processor: others may use it, too.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
