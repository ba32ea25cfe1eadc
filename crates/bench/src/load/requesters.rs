//! A closed loop of connections that another client library drives, all in this thread: each asks, waits for its
//! answer, and asks again. It counts their answers, as the loop over our own sockets does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::GRACE;
use super::clock::own_cpu;
use super::replies::Kind;
use super::result::LoadResult;
use crate::interrupt;

/// One connection, and a task of the runtime.
pub trait Requester: Send + 'static {
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

/// Runs the load within `block_on`: each connection until the end or its first fault. Calls `measuring` when the
/// measured part begins. Errors: a connection's task has failed.
pub async fn run_requesters(
    requesters: Vec<impl Requester>,
    warmup: Duration,
    duration: Duration,
    measuring: &mut dyn FnMut(),
) -> Result<LoadResult, String> {
    let mut all = LoadResult { connections_max: requesters.len() as u64, ..LoadResult::default() };
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
    let mut result = LoadResult { in_flight_max: 1, ..LoadResult::default() };
    loop {
        let sent = Instant::now();
        if !part.goes_on(sent) || interrupt::is_asked() {
            return result;
        }
        let measured = sent >= part.from;
        if measured {
            part.any.store(true, Ordering::Relaxed);
            result.counts.sent += 1;
            result.first_sent.get_or_insert(sent);
        }
        let answer = requester.ask().await;
        if let (true, Ok(_)) = (measured, &answer) {
            result.answered(Instant::now(), sent.elapsed());
        }
        match answer {
            Ok(Answer::Right(kind)) => result.kinds[kind as usize] += u64::from(measured),
            Ok(Answer::Wrong(reply)) => result.wrong("a wrong reply", &reply),
            Err(fault) => {
                result.broken(&fault);
                result.counts.lost += 1;
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
        let short = Duration::from_millis(5);
        let run = async { run_requesters(vec![Slow, Slow], short, short, &mut || ()).await };
        let result = block_on(run).expect("a load");
        assert!((1..=2).contains(&result.counts.answered), "{}", result.counts.answered);
    }
}
