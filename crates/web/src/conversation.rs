//! A WebSocket connection, whatever is spoken over it: its messages go to a handler, and what waits in its outbox is
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

use crate::asking::{self, Asker};
use crate::calling;
use crate::hub::Hub;
use crate::listener::Life;
use crate::outbox::{Outbox, Piece};
use crate::problem::Problem;
use crate::site::Site;
use crate::text::{PIECE, Text};
use crate::upgrade::{Socket, Upgrade};

/// After so many sent pieces the client is read from again.
const SENT_AT_ONCE: usize = 256;

/// The handler of this side of a conversation.
pub(crate) trait Party: Send + 'static {
    /// Runs before anything is read.
    fn begin(&mut self) -> impl Future<Output = ()> + Send;

    /// Returns when it can hear more: until then its client is not read.
    fn ready(&mut self) -> impl Future<Output = ()> + Send {
        async {}
    }

    /// Does what a client asks for, and answers, now or later.
    fn heard(&mut self, text: &str) -> impl Future<Output = ()> + Send;

    /// The one who logged on over the connection, where that is not whose it was from the start.
    fn logged_on(&self) -> Option<Asker> {
        None
    }

    /// A client sent what is no text.
    fn no_text(&mut self);

    /// What a client that proved too slow is told, if anything.
    fn farewell(&self) -> Option<Text>;
}

/// Accepts the WebSocket and runs the conversation until either side ends it. Then all its subscriptions end.
/// Errors: whoever asks has as many connections as they may have.
pub(crate) fn begin<P: Party>(
    site: Site,
    upgrade: Upgrade,
    party: impl FnOnce(Site, Outbox) -> P,
) -> Result<Response, Problem> {
    let outbox = Outbox::new(site.spool());
    let mut party = party(site.clone(), outbox.clone());
    let (asker, read, calling) = (asking::asker(), asking::followed(), calling::current());
    let connected = connected(&site, asker.iter().chain(read.iter().map(|(asker, _)| asker)))?;
    let life = upgrade.life.clone();
    Ok(upgrade.then(move |socket| {
        let talk = asking::as_whoever(asker, async move {
            asking::begins(read, connected);
            life.lasts();
            let _counted = site.instruments().websockets.enter();
            let last = LastHeard::default();
            let talking = async {
                party.begin().await;
                keep_place(&life, &party);
                converse((&site, &life), socket, (&mut party, &last), &outbox).await;
            };
            if let Err(panicked) = Containing::new(Part::Http, talking).await {
                let message = last.shown();
                tracing::error!(%panicked, message, "a WebSocket ended by a fault of the server; please report it");
            }
            outbox.close();
            if let Ok(market) = site.market() {
                market.asker.ask(move |scene| Hub::leave(scene, &outbox));
            }
        });
        calling::carry(calling, talk)
    }))
}

/// Counts a connection among those of the members whose it is: who asks for it, and as whom it follows something.
/// Errors: one of them has as many as it may have.
fn connected<'a>(site: &Site, askers: impl Iterator<Item = &'a Asker>) -> Result<Vec<Connected>, Problem> {
    let mut counted = Vec::new();
    if let Some(members) = site.members() {
        for asker in askers {
            asking::connect(&mut counted, members.access().connections(), &asker.principal)
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

/// Has a connection keep its place over which somebody has proven to be a member: whoever asks, has logged on, or is
/// told of an account. It counts among the connections of these members alone.
fn keep_place(life: &Life, party: &impl Party) {
    let logged_on = party.logged_on();
    asking::keeps_connected(logged_on.as_ref());
    let proven = [asking::asker(), logged_on, asking::told_as()];
    proven.iter().flatten().for_each(|asker| life.is_of(&asker.principal));
}

/// Has a party do something for its client, and counts that client if it was turned away.
async fn counted(site: &Site, life: &Life, work: impl Future<Output = ()>) {
    let ((), why) = asking::noting(work).await;
    why.into_iter().for_each(|why| site.count_turned_away(why, life.there()));
}

async fn converse(
    (site, life): (&Site, &Life),
    mut socket: Socket,
    (party, last): (&mut impl Party, &LastHeard),
    outbox: &Outbox,
) {
    let mut sender = Sender { site, outbox, patience: site.silence_max(), midway: false };
    let mut silence = Silence::of(site.silence_max());
    let mut look = pin!(sleep(silence.until_looked_at()));
    let mut revoked = pin!(revoked(site));
    loop {
        tokio::select! {
            heard = async { party.ready().await; socket.next().await } => {
                silence.broken();
                match heard {
                    Some(Ok(Message::Text(text))) => {
                        last.note(&text);
                        tokio::select! {
                            () = counted(site, life, party.heard(&text)) => {}
                            () = life.gives_way() => return sender.give_way(socket).await,
                        }
                        keep_place(life, party);
                    }
                    // The library answers pings when something is sent next.
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Ok(Message::Binary(_) | Message::Frame(_))) => {
                        counted(site, life, async { party.no_text() }).await;
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
            sent = site.telling().count(sender.send(&mut socket)) => if sent.is_none() { return },
            () = outbox.too_slow() => return sender.too_slow(socket, party.farewell()).await,
            () = &mut revoked => return sender.end(socket, None, REVOKED).await,
            () = life.gives_way() => return sender.give_way(socket).await,
        }
    }
}

/// How often it is looked at whether a client may still be told what it follows.
const LOOKED_AT: Duration = Duration::from_millis(250);

/// Returns when a client may no longer be told what it follows.
async fn revoked(site: &Site) {
    if site.members().is_none() {
        return pending().await;
    }
    while asking::still_may(site.mode()) {
        sleep(LOOKED_AT).await;
    }
}

/// How long a client has said nothing.
struct Silence {
    longest: Duration,
    since: Instant,
    pinged: bool,
}

enum Lasts {
    NotLong,
    /// The client is to be asked whether it is there.
    Long,
    /// It did not answer that.
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

    /// How long until that is to be asked again.
    fn until_looked_at(&self) -> Duration {
        let due = if self.pinged { self.longest } else { self.longest / 2 };
        due.saturating_sub(self.since.elapsed())
    }
}

/// What ends a conversation whose client may no longer be told what it follows.
const REVOKED: (CloseCode, &str) = (CloseCode::Policy, "not-permitted");

/// How long a client has to take the last that it is told.
const FAREWELL_PATIENCE: Duration = Duration::from_secs(1);

/// A client said that it ends: the library answers so, when it gets to write.
async fn answer_close(mut socket: Socket) {
    // Whoever does not wait for it does not want it.
    let _ = timeout(FAREWELL_PATIENCE, SinkExt::<Message>::close(&mut socket)).await;
}

/// Hands over what waits.
struct Sender<'a> {
    site: &'a Site,
    outbox: &'a Outbox,
    /// How long a client may take none of it.
    patience: Duration,
    /// Of a message, a part was sent.
    midway: bool,
}

impl Sender<'_> {
    /// Sends some of what waits, and what the library has to say. None when the connection is to end.
    async fn send(&mut self, socket: &mut Socket) -> Option<()> {
        for _ in 0..SENT_AT_ONCE {
            let Some(Piece { bytes, first, last }) = self.next().await else { break };
            self.midway = !last;
            let part = if first { Data::Text } else { Data::Continue };
            let is_whole_piece = bytes.len() >= PIECE;
            let frame = Frame::message(bytes, OpCode::Data(part), last);
            timeout(self.patience, socket.feed(Message::Frame(frame))).await.ok()?.ok()?;
            if is_whole_piece {
                // Others get their turn before the next one is sent.
                yield_now().await;
            }
        }
        timeout(self.patience, SinkExt::<Message>::flush(socket)).await.ok()?.ok()
    }

    /// Takes what is to be sent next. Of long messages one piece is written at a time, however many clients there are to take
    /// some: whoever asks for something short waits for no more than that.
    async fn next(&self) -> Option<Piece> {
        if !self.outbox.is_to_write() {
            return self.outbox.take();
        }
        // The semaphore is never closed.
        let _turn = self.site.writing().acquire().await;
        let piece = self.outbox.take();
        yield_now().await;
        piece
    }

    /// Says so, if the client still listens, and ends.
    async fn too_slow(&self, socket: Socket, farewell: Option<Text>) {
        match self.site.feed_failure() {
            None => self.end(socket, farewell, (CloseCode::Again, "too-slow")).await,
            Some(_) => self.end(socket, None, (CloseCode::Error, "feed-unavailable")).await,
        }
    }

    /// Says that another connection gets the place, if the kernel takes that at once, and ends.
    async fn give_way(&self, socket: Socket) {
        let _ = timeout(Duration::ZERO, self.end(socket, None, (CloseCode::Again, GAVE_WAY))).await;
    }

    async fn end(&self, mut socket: Socket, farewell: Option<Text>, (code, reason): (CloseCode, &'static str)) {
        let frame = CloseFrame { code, reason: reason.into() };
        let told = async {
            // Within a message there is no place for another one.
            if let Some(farewell) = farewell.filter(|_| !self.midway) {
                let frame = Frame::message(farewell.piece(0).0, OpCode::Data(Data::Text), true);
                let _ = socket.send(Message::Frame(frame)).await;
            }
            let _ = socket.send(Message::Close(Some(frame))).await;
        };
        let _ = timeout(FAREWELL_PATIENCE, told).await;
    }
}
