//! Measures in processor time what a million keys cost: reading them, a look-up, and a proof with a look at the
//! member's rights. `cargo run --release -p access --example million`

use std::fmt::Write;
use std::time::{Duration, SystemTime};

use access::{Access, hmac_hex};
use exchange::Read;
use rustix::time::{ClockId, clock_gettime};

const SECRET: &str = "a-secret-of-some-length";

fn main() -> Result<(), String> {
    let now = SystemTime::now();
    for keys in [10usize, 1_000_000] {
        let mut text = String::new();
        for number in 0..keys {
            let member = format!("[[member]]\nname = \"m{number}\"\nroles = [\"trader\"]\naccounts = [\"{number}\"]\n");
            let key = format!("[[member.key]]\nid = \"{number:064}\"\nsecret = \"{SECRET}\"\n");
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
        let may_look =
            |rights: &exchange::Rights| rights.may_read(Read::Market) && rights.limits.take_message().is_ok();
        let sent = ids.iter().filter_map(|id| access.by_secret(id, SECRET, now));
        let proven = sent.filter(|member| may_look(&member.rights())).count();
        let proof = (used() - begin) / 200_000;
        let (text, signature) = ([&b"GET"[..]], hmac_hex(SECRET, &[b"GET"]));
        // Other keys than those that were just looked up.
        let ids: Vec<String> = (0..TRIES).map(|number| format!("{:064}", (number * 7919 + 3) % keys)).collect();
        let begin = used();
        let signed = ids.iter().filter_map(|id| access.by_signature(id, &text, &signature, now));
        let proven = proven + signed.filter(|member| may_look(&member.rights())).count();
        let signature = (used() - begin) / 200_000;
        println!(
            "{keys} keys: parsed in {parsed:?}, again in {reloaded:?}; a look-up {looked_up:?}, a secret {proof:?}, a signature {signature:?} ({found} {proven})"
        );
    }
    Ok(())
}

/// Returns the processor time of this thread, which other programs do not change.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
