//! Starts the workers of the XML gateway, watches them, and stops them.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use exchange::{Counters, Exchange};
use mio::{Poll, Waker};

use crate::asking::long_replies_max;
use crate::counters::Shared;
use crate::listener;
use crate::mailbox::Mailbox;
use crate::settings::Settings;
use crate::worker::{WAKER, Worker};

/// A time that is never reached.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// A running XML gateway. Dropping it closes every connection at once; see [`Gateway::drain`].
pub struct Gateway {
    address: SocketAddr,
    backlog: u32,
    shared: Arc<Shared>,
    mailboxes: Vec<Arc<Mailbox>>,
    threads: Vec<JoinHandle<bool>>,
}

/// Listens on the address of the settings and serves it, handing requests to `exchange`. Errors: the address is in use,
/// is not ours or may not be used.
pub fn start(settings: Settings, exchange: Arc<dyn Exchange>) -> io::Result<Gateway> {
    let settings = Settings { workers: settings.workers.max(1), ..settings };
    let listeners = listener::bind(settings.address, settings.workers, settings.backlog)?;
    if listeners.backlog < settings.backlog {
        tracing::info!(
            asked = settings.backlog,
            granted = listeners.backlog,
            "the kernel holds fewer waiting connections than asked for; raise net.core.somaxconn to have more"
        );
    }
    let shared = Arc::new(Shared::new(settings.workers, long_replies_max(&settings)));
    let mut polls = Vec::new();
    let mut mailboxes = Vec::new();
    for _ in 0..settings.workers {
        let poll = Poll::new()?;
        mailboxes.push(Arc::new(Mailbox::new(Waker::new(poll.registry(), WAKER)?)));
        polls.push(poll);
    }
    let mut gateway = Gateway {
        address: listeners.address,
        backlog: listeners.backlog,
        shared: Arc::clone(&shared),
        mailboxes: mailboxes.clone(),
        threads: Vec::new(),
    };
    for (index, (poll, socket)) in polls.into_iter().zip(listeners.sockets).enumerate() {
        let (settings, shared) = (settings.clone(), Arc::clone(&shared));
        let worker = Worker::new(index, poll, socket, mailboxes.clone(), settings, shared, Arc::clone(&exchange))?;
        let thread = thread::Builder::new().name(format!("xml-{index}")).spawn(move || worker.run())?;
        gateway.threads.push(thread);
    }
    Ok(gateway)
}

impl Gateway {
    /// Returns the address on which it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Returns how many connections the kernel holds for each worker until they are accepted: the setting or what the
    /// kernel allows, whichever is less.
    pub fn backlog(&self) -> u32 {
        self.backlog
    }

    /// Returns its counters.
    pub fn counters(&self) -> Counters {
        self.shared.snapshot()
    }

    /// Returns a function that returns its counters, also after the gateway has ended.
    pub fn counting(&self) -> impl Fn() -> Counters + Send + Sync + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.snapshot()
    }

    /// Returns the number of requests whose reply was made, those of clients that left meanwhile included.
    pub fn requests_answered(&self) -> u64 {
        self.shared.answered.load(Ordering::SeqCst)
    }

    /// Returns the time at which the first complete request was read.
    pub fn first_request_at(&self) -> Option<Instant> {
        self.shared.first_request_at()
    }

    /// Returns the time at which the last reply so far was written.
    pub fn last_reply_at(&self) -> Option<Instant> {
        self.shared.last_reply_at()
    }

    /// Calls `hook`, once and from any thread, when `count` requests were answered; at once if they were. It must not
    /// block: a worker may call it.
    pub fn when_answered(&self, count: u64, hook: impl FnOnce() + Send + 'static) {
        self.shared.when_answered(count, Box::new(hook));
    }

    /// Waits until `count` requests were answered.
    pub fn wait_for_answered(&self, count: u64) {
        let (sender, receiver) = mpsc::channel();
        self.when_answered(count, move || {
            let _ = sender.send(());
        });
        receiver.recv().expect("invariant: the hook is kept until it is called");
    }

    /// Stops listening; open connections go on. Those in the backlog are turned away.
    pub fn stop_accepting(&self) {
        stop_accepting(&self.shared, &self.mailboxes);
    }

    /// Stops listening when `count` requests were answered, before it calls `hook`, which must not block. The worker
    /// that answers the last one does both, so no thread that wakes late lets more connections in.
    pub fn stop_accepting_after(&self, count: u64, hook: impl FnOnce() + Send + 'static) {
        // What it shares holds the hook, which must not hold that in turn.
        let (shared, mailboxes) = (Arc::downgrade(&self.shared), self.mailboxes.clone());
        self.when_answered(count, move || {
            if let Some(shared) = shared.upgrade() {
                stop_accepting(&shared, &mailboxes);
            }
            hook();
        });
    }

    /// Stops listening and reading, answers the requests that were read completely, closes every connection gently and
    /// ends the workers; gives up what is not sent after `timeout`. Returns whether every reply was sent. The exchange
    /// must go on answering meanwhile.
    pub fn drain(mut self, timeout: Duration) -> bool {
        self.end(timeout)
    }

    fn end(&mut self, timeout: Duration) -> bool {
        let now = Instant::now();
        // Only the first call sets the time, and there is only one.
        let _ = self.shared.drain_until.set(now.checked_add(timeout).unwrap_or(now + FOR_EVER));
        self.nudge();
        // Every thread is waited for, whatever the one before returns.
        let sent: Vec<bool> = self.threads.drain(..).map(|thread| thread.join().unwrap_or(false)).collect();
        !sent.contains(&false)
    }

    fn nudge(&self) {
        self.mailboxes.iter().for_each(|mailbox| mailbox.nudge());
    }
}

fn stop_accepting(shared: &Shared, mailboxes: &[Arc<Mailbox>]) {
    shared.stop_accepting.store(true, Ordering::SeqCst);
    mailboxes.iter().for_each(|mailbox| mailbox.nudge());
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.end(Duration::ZERO);
    }
}
