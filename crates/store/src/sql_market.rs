//! A market in PostgreSQL: the thread of its loop, and the one that commits.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

use engine::Engine;
use exchange::{EventSink, Status};
use market::Failed;
use market::exchange_handle::{ExchangeHandle, Readers};
use market::turn::{self, MarketLoop, TurnOptions};
use terms::Command;

use crate::commit_queue::{CommitQueue, GLANCE};
use crate::committer::Committer;
use crate::error::StoreError;
use crate::retention::Retention;
use crate::sql_ledger::SqlLedger;
use crate::stop::Stop;
use crate::writer::Writer;

/// Settings of a market in PostgreSQL.
pub struct SqlOptions {
    /// Settings of the loop.
    pub turn: TurnOptions,
    /// The time for which requests wait for a database that is away.
    pub patience: Duration,
    /// The sink of committed events.
    pub events: Option<EventSink>,
    /// The remover of old parts; none where everything is kept.
    pub retention: Option<Retention>,
    /// Puts a command into words, for the audit trail.
    pub describe: fn(&Command) -> String,
}

/// A market with its threads.
pub struct SqlMarket {
    exchange: Arc<ExchangeHandle>,
    queue: Arc<CommitQueue>,
    stop: Stop,
    running: JoinHandle<Engine>,
    committer: JoinHandle<()>,
    /// The retention thread, and the way to stop it.
    retention: Option<(JoinHandle<()>, Stop)>,
}

impl SqlMarket {
    /// Starts the threads, beside those that read done orders, on an engine at the sequence of the database. `stop`
    /// ends the writer's waits. The threads call `failed` when nothing more may be acknowledged; `status` says whether
    /// the database can be reached.
    pub fn start(
        engine: Engine,
        writer: Writer,
        readers: Readers,
        stop: Stop,
        options: SqlOptions,
        status: Status,
        failed: Failed,
    ) -> std::io::Result<SqlMarket> {
        let SqlOptions { turn: turn_options, patience, events, retention, describe } = options;
        let queue = Arc::new(CommitQueue::new(writer.head(), patience, status));
        let exchange = Arc::new(ExchangeHandle::new(readers));
        let (outbox, committed) = channel();
        let metrics = turn_options.metrics.clone();
        let committer = Committer::new(writer.into_commits(), queue.clone(), outbox, events.clone(), metrics);
        let committer =
            std::thread::Builder::new().name("committer".to_string()).spawn(move || match committer.run() {
                Ok(()) => {}
                Err(StoreError::Stopped) => {
                    tracing::error!("stopped without the database: what waited for it may be lost")
                }
                Err(error) => failed(error.to_string()),
            })?;
        let ledger = SqlLedger::new(queue.clone(), committed, events);
        let ledger = if turn_options.audit { ledger.audited(describe) } else { ledger };
        let (turn, shared) = (MarketLoop::new(engine, ledger, turn_options), exchange.clone());
        let running = std::thread::Builder::new().name("sequencer".to_string()).spawn(move || {
            let Ok((engine, _)) = turn::run(turn, &shared.inbox);
            engine
        })?;
        let retention = retention.map(|retention| {
            let stop = Stop::new();
            Ok::<_, std::io::Error>((retention.start(stop.clone())?, stop))
        });
        Ok(SqlMarket { exchange, queue, stop, running, committer, retention: retention.transpose()? })
    }

    /// The handle through which gateways hand in batches.
    pub fn exchange(&self) -> Arc<ExchangeHandle> {
        self.exchange.clone()
    }

    /// Commits and answers what was handed in, and ends the threads. Returns the engine.
    pub fn stop(self) -> Engine {
        if let Some((retention, stop)) = self.retention {
            stop.tell();
            retention.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
        self.exchange.inbox.close();
        let engine = self.running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        while !self.committer.is_finished() {
            if self.queue.is_away() {
                self.stop.tell();
            }
            std::thread::sleep(GLANCE);
        }
        self.committer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        engine
    }
}
