//! A closed loop of connections that speak other protocols, all in this thread: each asks, waits for its answer, and
//! asks again. It counts their answers, as the loop over our own sockets does.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::GRACE;
use super::clock::own_cpu;
use super::replies::Kind;
use super::result::LoadResult;
use crate::machine::interrupt;
use crate::records::LoadSettings;

/// One connection, and a task of the runtime.
pub trait Requester: Send + 'static {
    /// Returns how many requests it makes at once, all with one answer.
    fn requests(&self) -> u64 {
        1
    }

    /// Makes the next request. Errors: the reason why this connection ends.
    fn ask(&mut self) -> impl Future<Output = Result<Answer, String>> + Send;
}

/// The answer to a request.
pub enum Answer {
    Right(Kind),
    /// The bytes of a wrong answer.
    Wrong(Vec<u8>),
}

/// Runs asynchronous work in this thread. Errors: its own; the system's.
pub fn block_on<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start a runtime: {error}"))?;
    runtime.block_on(work)
}

/// Awaits an answer. Errors: none within the patience; the connection's.
pub async fn in_time<T, E: Display>(
    patience: Duration,
    answer: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    match tokio::time::timeout(patience, answer).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no reply for {} s", patience.as_secs_f64())),
    }
}

/// Runs the load within `block_on`: each connection until the end or its first fault. Calls `measuring` when the
/// measured part begins. Errors: a connection's task has failed.
pub async fn run_requesters(
    requesters: Vec<impl Requester>,
    load: &LoadSettings,
    measuring: &mut dyn FnMut(),
) -> Result<LoadResult, String> {
    let [warmup, duration] = [load.warmup, load.duration.unwrap_or_default()].map(Duration::from_secs_f64);
    let mut all = LoadResult { connections_max: load.connections, ..LoadResult::default() };
    let from = Instant::now() + warmup;
    let measured = Measured { from, to: from + duration, any: Arc::default() };
    let tasks: Vec<_> =
        requesters.into_iter().map(|requester| tokio::spawn(go_on(requester, measured.clone()))).collect();
    tokio::time::sleep_until(from.into()).await;
    measuring();
    let (cpu, since) = (own_cpu(), Instant::now());
    for task in tasks {
        all.add(&task.await.map_err(|_| "a connection has failed: see the message above".to_string())?);
    }
    all.cpu_share = own_cpu().saturating_sub(cpu).as_secs_f64() / since.elapsed().as_secs_f64().max(1e-9);
    Ok(all)
}

/// The measured part, and whether any connection has sent a request in it.
#[derive(Clone)]
struct Measured {
    from: Instant,
    to: Instant,
    any: Arc<AtomicBool>,
}

impl Measured {
    /// Whether a request may still be sent; the first measured one also where everything came too late.
    fn goes_on(&self, now: Instant) -> bool {
        now < self.to || (now < self.to + GRACE && !self.any.load(Ordering::Relaxed))
    }
}

async fn go_on(mut requester: impl Requester, part: Measured) -> LoadResult {
    let count = requester.requests();
    let mut result = LoadResult { in_flight_max: count, ..LoadResult::default() };
    loop {
        let sent = Instant::now();
        if !part.goes_on(sent) || interrupt::is_asked() {
            return result;
        }
        let measured = sent >= part.from;
        if measured {
            part.any.store(true, Ordering::Relaxed);
            result.counts.sent += count;
            result.first_sent.get_or_insert(sent);
        }
        let answer = requester.ask().await;
        if let (true, Ok(_)) = (measured, &answer) {
            result.answered(Instant::now(), sent.elapsed(), count);
        }
        match answer {
            Ok(Answer::Right(kind)) => result.kinds[kind as usize] += if measured { count } else { 0 },
            Ok(Answer::Wrong(reply)) => result.wrong("a wrong reply", &reply),
            Err(fault) => {
                result.broken(&fault);
                result.counts.lost += count;
                return result;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Slow;

    impl Requester for Slow {
        async fn ask(&mut self) -> Result<Answer, String> {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Ok(Answer::Right(Kind::Opened))
        }
    }

    /// Answers that outlast the measured part once left it without a request, and the run without a figure.
    #[test]
    fn a_measured_part_that_is_slept_through_has_a_request() {
        let load = LoadSettings { warmup: 0.005, duration: Some(0.005), ..LoadSettings::default() };
        let run = async { run_requesters(vec![Slow, Slow], &load, &mut || ()).await };
        let result = block_on(run).expect("a load");
        assert!((1..=2).contains(&result.counts.answered), "{}", result.counts.answered);
    }
}
