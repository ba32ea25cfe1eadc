//! A WebSocket connection, for any protocol over it: its messages go to a handler, and the contents of its outbox are
//! sent. It is read only when nothing waits to be written, so a client that does not read is not read either. A client
//! that takes nothing, or that is silent and does not answer a ping, is disconnected.

use std::future::pending;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::response::Response;
use exchange::containment::{Containing, Part, shown};
use exchange::{Connected, GAVE_WAY};
use futures_util::{SinkExt, StreamExt};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::protocol::frame::{CloseFrame, Frame};
use tokio_tungstenite::tungstenite::{Bytes, Message, Utf8Bytes};

use crate::app_state::AppState;
use crate::current_caller;
use crate::current_principal::{self, Asker};
use crate::hub::Hub;
use crate::listener::Life;
use crate::outbox::{Outbox, Piece};
use crate::problem::Problem;
use crate::shared_text::{PIECE, SharedText};
use crate::upgrade::{Socket, Upgrade};

/// Pieces that are sent before the client is read again.
const SENT_AT_ONCE: usize = 256;

/// The handler of this side of a conversation.
pub trait Party: Send + 'static {
    /// Runs before the connection is accepted. Streams that begin here have everything that happens once the client is
    /// connected. Errors: the connection is refused.
    fn begin(&mut self) -> impl Future<Output = Result<(), Problem>> + Send {
        async { Ok(()) }
    }

    /// Runs once the connection is accepted, before anything is read.
    fn accepted(&mut self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Returns when it can take more: until then its client is not read.
    fn ready(&mut self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Does what a client asks for, and answers, now or later.
    fn heard(&mut self, text: &str) -> impl Future<Output = ()> + Send;

    /// Returns the member that logged on over the connection, if it is not the one that began it.
    fn logged_on(&self) -> Option<Asker> {
        None
    }

    /// Answers a message that is no text.
    fn no_text(&mut self);

    /// Returns the last message to a client that proved too slow, if any.
    fn farewell(&self) -> Option<SharedText>;
}

/// Accepts the WebSocket and runs the conversation until either side ends it. Then all its subscriptions end. Errors:
/// the asker has as many connections as it may have, or what it is to follow cannot begin.
pub async fn begin<P: Party>(
    app: &AppState,
    upgrade: Upgrade,
    party: impl FnOnce(Outbox) -> P,
) -> Result<Response, Problem> {
    let app = app.clone();
    let subscriber = Subscriber { app: app.clone(), outbox: Outbox::to(upgrade.life.there(), app.budget()) };
    let mut party = party(subscriber.outbox.clone());
    let (asker, read, calling) = (current_principal::asker(), current_principal::followed(), current_caller::current());
    let connected = connected(&app, asker.iter().chain(read.iter().map(|(asker, _)| asker)))?;
    let life = upgrade.life.clone();
    party.begin().await?;
    Ok(upgrade.then(move |socket| {
        let talk = current_principal::as_whoever(asker, async move {
            current_principal::begins(read, connected);
            life.lasts();
            let _counted = app.instruments().websockets.enter();
            let last = LastHeard::default();
            let talking = converse((&app, &life), socket, (&mut party, &last), &subscriber.outbox);
            if let Err(panicked) = Containing::new(Part::Http, talking).await {
                let message = last.shown();
                tracing::error!(%panicked, message, "a WebSocket ended by a fault of the server; please report it");
            }
            drop(subscriber);
        });
        current_caller::carry(calling, talk)
    }))
}

/// The outbox of a connection. When this is dropped, all subscriptions of the outbox end, also if the client left
/// before the connection was accepted.
struct Subscriber {
    app: AppState,
    outbox: Outbox,
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.outbox.close();
        if let Ok(market) = self.app.market() {
            let outbox = self.outbox.clone();
            market.asker.ask(move |model| Hub::leave(model, &outbox));
        }
    }
}

/// Counts a connection among those of its members: the one that asks for it, and those as whom it follows something.
/// Errors: one of them has as many as it may have.
fn connected<'a>(app: &AppState, askers: impl Iterator<Item = &'a Asker>) -> Result<Vec<Connected>, Problem> {
    let mut counted = Vec::new();
    if let Some(members) = app.members() {
        for asker in askers {
            current_principal::connect(&mut counted, members.access().connections(), &asker.principal)
                .map_err(Problem::past_limit)?;
        }
    }
    Ok(counted)
}

/// The last message of a client, for the log of a fault of ours.
#[derive(Default)]
struct LastHeard(Mutex<Option<Utf8Bytes>>);

impl LastHeard {
    fn note(&self, text: &Utf8Bytes) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.clone());
    }

    fn shown(&self) -> String {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().map_or_else(|| "none".to_owned(), |text| shown(text.as_bytes()))
    }
}

/// Keeps the place of a connection over which a member has proven its identity: it asked, has logged on, or follows an
/// account. The connection counts among those of these members alone.
fn keep_place(life: &Life, party: &impl Party) {
    let logged_on = party.logged_on();
    current_principal::keeps_connected(logged_on.as_ref());
    let proven = [current_principal::asker(), logged_on, current_principal::told_as()];
    proven.iter().flatten().for_each(|asker| life.is_of(&asker.principal));
}

/// Runs a party's work for its client, and counts the client if it was turned away.
async fn counted(app: &AppState, life: &Life, work: impl Future<Output = ()>) {
    let ((), why) = current_principal::noting(work).await;
    why.into_iter().for_each(|why| app.count_turned_away(why, life.there()));
}

async fn converse(
    (app, life): (&AppState, &Life),
    mut socket: Socket,
    (party, last): (&mut impl Party, &LastHeard),
    outbox: &Outbox,
) {
    let mut sender = Sender { app, outbox, patience: app.silence_max(), midway: false };
    let mut silence = Silence::of(app.silence_max());
    let mut look = pin!(sleep(silence.until_looked_at()));
    let mut revoked = pin!(revoked(app));
    // A database may take its time for this.
    tokio::select! {
        () = party.accepted() => keep_place(life, party),
        () = outbox.too_slow() => return sender.too_slow(socket, party.farewell()).await,
        () = &mut revoked => return sender.end(socket, None, REVOKED).await,
        () = life.gives_way() => return sender.give_way(socket).await,
    }
    loop {
        tokio::select! {
            heard = async { party.ready().await; socket.next().await } => {
                silence.broken();
                match heard {
                    Some(Ok(Message::Text(text))) => {
                        last.note(&text);
                        tokio::select! {
                            () = counted(app, life, party.heard(&text)) => {}
                            () = life.gives_way() => return sender.give_way(socket).await,
                        }
                        keep_place(life, party);
                    }
                    // The library answers pings with the next message that is sent.
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Ok(Message::Binary(_) | Message::Frame(_))) => {
                        counted(app, life, async { party.no_text() }).await;
                    }
                    Some(Ok(Message::Close(_))) => return answer_close(socket).await,
                    Some(Err(_)) | None => return,
                }
            }
            () = outbox.filled() => {}
            () = outbox.too_slow() => return sender.too_slow(socket, party.farewell()).await,
            () = &mut revoked => return sender.end(socket, None, REVOKED).await,
            () = life.gives_way() => return sender.give_way(socket).await,
            () = &mut look => {
                match silence.lasts() {
                    Lasts::NotLong => {}
                    Lasts::Long => if socket.feed(Message::Ping(Bytes::new())).await.is_err() { return },
                    Lasts::TooLong => return,
                }
                look.as_mut().reset(Instant::now() + silence.until_looked_at());
            }
        }
        tokio::select! {
            sent = app.telling().count(sender.send(&mut socket)) => if sent.is_none() { return },
            () = outbox.too_slow() => return sender.too_slow(socket, party.farewell()).await,
            () = &mut revoked => return sender.end(socket, None, REVOKED).await,
            () = life.gives_way() => return sender.give_way(socket).await,
        }
        if life.is_over() {
            return sender.end(socket, None, WRONG_PROOFS).await;
        }
    }
}

/// Time between two checks whether a client may still get what it follows.
const LOOKED_AT: Duration = Duration::from_millis(250);

/// Returns when a client may no longer get what it follows.
async fn revoked(app: &AppState) {
    if app.members().is_none() {
        return pending().await;
    }
    while current_principal::still_may(app.mode()) {
        sleep(LOOKED_AT).await;
    }
}

/// The silence of a client.
struct Silence {
    longest: Duration,
    since: Instant,
    pinged: bool,
}

enum Lasts {
    NotLong,
    /// The client needs a ping.
    Long,
    /// The client did not answer the ping.
    TooLong,
}

impl Silence {
    fn of(longest: Duration) -> Silence {
        Silence { longest, since: Instant::now(), pinged: false }
    }

    fn broken(&mut self) {
        self.since = Instant::now();
        self.pinged = false;
    }

    fn lasts(&mut self) -> Lasts {
        let lasted = self.since.elapsed();
        if self.pinged && lasted >= self.longest {
            return Lasts::TooLong;
        }
        if self.pinged || lasted < self.longest / 2 {
            return Lasts::NotLong;
        }
        self.pinged = true;
        Lasts::Long
    }

    /// Returns the time until the next check.
    fn until_looked_at(&self) -> Duration {
        let due = if self.pinged { self.longest } else { self.longest / 2 };
        due.saturating_sub(self.since.elapsed())
    }
}

/// The close code and reason for a client that may no longer get what it follows.
const REVOKED: (CloseCode, &str) = (CloseCode::Policy, "not-permitted");

/// The close code and reason for a client that sent as many wrong proofs as one connection may.
const WRONG_PROOFS: (CloseCode, &str) = (CloseCode::Policy, "too-many-wrong-proofs");

/// Time that a client has to take the last message.
const FAREWELL_PATIENCE: Duration = Duration::from_secs(1);

/// Answers a client's close: the library does so when it gets to write.
async fn answer_close(mut socket: Socket) {
    // A client that does not wait for the answer does not want it.
    let _ = timeout(FAREWELL_PATIENCE, SinkExt::<Message>::close(&mut socket)).await;
}

/// Sends what waits in the outbox.
struct Sender<'a> {
    app: &'a AppState,
    outbox: &'a Outbox,
    /// Time for which a client may take none of it.
    patience: Duration,
    /// Whether a part of a message was sent.
    midway: bool,
}

impl Sender<'_> {
    /// Sends some pieces, and the library's own frames. Returns `None` when the connection is to end.
    async fn send(&mut self, socket: &mut Socket) -> Option<()> {
        for _ in 0..SENT_AT_ONCE {
            let Some(Piece { bytes, first, last }) = self.next().await else { break };
            self.midway = !last;
            let part = if first { Data::Text } else { Data::Continue };
            let is_whole_piece = bytes.len() >= PIECE;
            let frame = Frame::message(bytes, OpCode::Data(part), last);
            timeout(self.patience, socket.feed(Message::Frame(frame))).await.ok()?.ok()?;
            if is_whole_piece {
                // Other tasks get their turn before the next piece is sent.
                yield_now().await;
            }
        }
        timeout(self.patience, SinkExt::<Message>::flush(socket)).await.ok()?.ok()
    }

    /// Takes the next piece. Pieces of long messages are written one at a time, over all clients, so that a short
    /// message waits for one piece at most; members take turns at them.
    async fn next(&self) -> Option<Piece> {
        if !self.outbox.is_to_write() {
            return self.outbox.take();
        }
        let _turn = self.app.writing().take(&current_principal::member()).await;
        let piece = self.outbox.take();
        yield_now().await;
        piece
    }

    /// Ends the connection with the reason, if the client still listens.
    async fn too_slow(&self, socket: Socket, farewell: Option<SharedText>) {
        match self.app.feed_failure() {
            None => self.end(socket, farewell, (CloseCode::Again, "too-slow")).await,
            Some(_) => self.end(socket, None, (CloseCode::Error, "feed-unavailable")).await,
        }
    }

    /// Ends the connection with the message that another one gets its place, if the kernel takes that at once.
    async fn give_way(&self, socket: Socket) {
        let _ = timeout(Duration::ZERO, self.end(socket, None, (CloseCode::Again, GAVE_WAY))).await;
    }

    async fn end(&self, mut socket: Socket, farewell: Option<SharedText>, (code, reason): (CloseCode, &'static str)) {
        let frame = CloseFrame { code, reason: reason.into() };
        let told = async {
            // No other message fits within a message.
            if let Some(farewell) = farewell.filter(|_| !self.midway) {
                let frame = Frame::message(farewell.piece(0).0, OpCode::Data(Data::Text), true);
                let _ = socket.send(Message::Frame(frame)).await;
            }
            let _ = socket.send(Message::Close(Some(frame))).await;
        };
        let _ = timeout(FAREWELL_PATIENCE, told).await;
    }
}
