//! A closed loop over connections that speak a protocol of their own, with several requests in flight on each, all in
//! this thread. It counts acknowledgements, as the loop over our own protocol does; each [`Speech`] knows the form of
//! its requests and answers.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::net::TcpStream;

use crate::interrupt;
use crate::load::{Kind, LoadResult, block_on, own_cpu};
use crate::record::LoadSettings;

/// Time without a byte after which a connection has failed.
const PATIENCE: Duration = Duration::from_secs(10);
const READ_BYTES: usize = 1 << 16;

/// The protocol on one connection.
pub trait Speech: Send + 'static {
    /// Returns the bytes before the first request.
    fn begin(&mut self) -> Vec<u8>;

    /// Appends `count` further requests. Returns the number of the first; the others follow it by [`Speech::STEP`].
    fn ask(&mut self, count: usize, to: &mut Vec<u8>) -> u32;

    /// The distance between the numbers of requests.
    const STEP: u32;

    /// Takes whole answers off the front of `from`, and adds the numbers of acknowledged requests. Other bytes to send
    /// go into `to`. Errors: what came instead.
    fn hear(&mut self, from: &mut Vec<u8>, to: &mut Vec<u8>, acknowledged: &mut Vec<u32>) -> Result<(), String>;
}

/// Runs a load: a connection for each speech. Calls `measuring` when the measured part begins. Errors: connections that
/// cannot be made.
pub fn run<S: Speech>(
    speeches: Vec<(SocketAddr, S)>,
    load: &LoadSettings,
    measuring: &mut dyn FnMut(),
) -> Result<LoadResult, String> {
    let [warmup, duration] = [load.warmup, load.duration.unwrap_or_default()].map(Duration::from_secs_f64);
    let depth = load.depth as usize;
    block_on(async {
        let mut all = LoadResult { connections_max: speeches.len() as u64, ..LoadResult::default() };
        let mut connections = Vec::new();
        for (to, speech) in speeches {
            let connected = TcpStream::connect(to).await.and_then(|stream| stream.set_nodelay(true).map(|()| stream));
            connections.push((connected.map_err(|error| format!("{to}: {error}"))?, speech));
        }
        let from = Instant::now() + warmup;
        let go = |(stream, speech)| tokio::spawn(go_on(stream, speech, depth, (from, from + duration)));
        let tasks: Vec<_> = connections.into_iter().map(go).collect();
        tokio::time::sleep_until(from.into()).await;
        measuring();
        let (cpu, since) = (own_cpu(), Instant::now());
        for task in tasks {
            all.add(&task.await.map_err(|_| "a connection has failed: see the message above".to_string())?);
        }
        all.cpu_share = own_cpu().saturating_sub(cpu).as_secs_f64() / since.elapsed().as_secs_f64().max(1e-9);
        Ok(all)
    })
}

/// Runs until the end, and until everything is answered then; or until the first fault.
async fn go_on<S: Speech>(
    stream: TcpStream,
    mut speech: S,
    depth: usize,
    (from, to): (Instant, Instant),
) -> LoadResult {
    let mut result = LoadResult { in_flight_max: depth as u64, ..LoadResult::default() };
    let (mut in_flight, mut acknowledged) = (HashMap::with_capacity(depth), (0..depth as u32).collect::<Vec<_>>());
    let (mut incoming, mut outgoing) = (Vec::new(), speech.begin());
    loop {
        let now = Instant::now();
        if now < to && !interrupt::is_asked() && !acknowledged.is_empty() {
            let count = acknowledged.len();
            let first = speech.ask(count, &mut outgoing);
            in_flight.extend((0..count as u32).map(|next| (first + next * S::STEP, now)));
            if now >= from {
                result.counts.sent += count as u64;
                result.first_sent.get_or_insert(now);
            }
        }
        acknowledged.clear();
        let heard = match write(&stream, &mut outgoing).await {
            Ok(()) if in_flight.is_empty() => return result,
            Ok(()) => read(&stream, &mut incoming).await,
            Err(fault) => Err(fault),
        };
        let heard = heard.and_then(|()| speech.hear(&mut incoming, &mut outgoing, &mut acknowledged));
        let now = Instant::now();
        for sent in acknowledged.iter().filter_map(|number| in_flight.remove(number)).filter(|sent| *sent >= from) {
            result.answered(now, now - sent);
            result.kinds[Kind::Opened as usize] += 1;
        }
        if let Err(fault) = heard {
            result.broken(&fault);
            result.counts.lost += in_flight.len() as u64;
            return result;
        }
    }
}

async fn write(stream: &TcpStream, outgoing: &mut Vec<u8>) -> Result<(), String> {
    let mut written = 0;
    while written < outgoing.len() {
        stream.writable().await.map_err(|error| error.to_string())?;
        match stream.try_write(&outgoing[written..]) {
            Ok(bytes) => written += bytes,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    outgoing.clear();
    Ok(())
}

async fn read(stream: &TcpStream, incoming: &mut Vec<u8>) -> Result<(), String> {
    let before = incoming.len();
    loop {
        let readable = tokio::time::timeout(PATIENCE, stream.readable()).await;
        let readable = readable.map_err(|_| format!("no reply for {} s", PATIENCE.as_secs()))?;
        readable.map_err(|error| error.to_string())?;
        incoming.resize(before + READ_BYTES, 0);
        let read = stream.try_read(&mut incoming[before..]);
        incoming.truncate(before + read.as_ref().copied().unwrap_or(0));
        match read {
            Ok(0) => return Err("the server closed it".to_string()),
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}
