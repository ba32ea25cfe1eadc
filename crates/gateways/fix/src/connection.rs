//! A connection, from its Logon to its end. One loop serves its socket, the reports of its accounts, and the clock.

use std::io;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use access::{Access, turn_away};
use exchange::containment::shown;
use exchange::{Caller, Connected, GAVE_WAY, GatewayMetrics, Limit, PlaceHandle, Principal, Protocol, TurnedAway};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::watch;
use tokio::task::yield_now;
use tokio::time::{sleep, sleep_until, timeout};

use crate::answers::Answers;
use crate::frame::{self, MESSAGE_BYTES_MAX};
use crate::market::FixBackend;
use crate::message::{Fault, Message};
use crate::orders::{self, ClientRequest};
use crate::report_queues::{QueuedReports, ReportQueue};
use crate::session::{Logon, Session, refusal};
use crate::session_book::{Attached, SessionBook, SessionKey};
use crate::tags;
use crate::trader::{NO_FEED, TOGETHER_MAX, Trader};

/// The reason for a message about one account too many.
const NO_ROOM: &str = "a session is about 1000 accounts at most: begin another one";
/// Time in which a client has to log on.
const LOGON_PATIENCE: Duration = Duration::from_secs(10);
/// Time after which a client that does not read what is written loses its connection.
const WRITE_PATIENCE: Duration = Duration::from_secs(10);
/// Time in which reports of changes come. The feed may pause for a part of it, and a change without one is a fault.
const REPORT_PATIENCE: Duration = Duration::from_secs(10);
/// Pauses, and their number, in which a Logon waits for the connection before to end.
const LEAVING_PAUSE: Duration = Duration::from_millis(10);
const LEAVING_PAUSES_MAX: usize = 100;
/// Reports that are written before the loop sends and looks at its other sources again.
const TOLD_AT_ONCE: usize = 256;
/// Bytes that one read takes at most.
const READ_BYTES: usize = 64 << 10;
/// Bytes for which a client has [`WRITE_PATIENCE`]: one that reads slowly and steadily gets the longest answer.
const PIECE_BYTES: usize = 64 << 10;

/// The origin of a connection, and its place.
pub(crate) struct Peer {
    pub(crate) address: IpAddr,
    /// Whether the bytes are encrypted or never leave this machine, so that nobody else reads them.
    pub(crate) is_private: bool,
    /// SHA-256 of the client's certificate, verified by the TLS handshake.
    pub(crate) certificate: Option<[u8; 32]>,
    pub(crate) place: PlaceHandle,
    /// Becomes true when another connection is to get the place.
    pub(crate) wanted: watch::Receiver<bool>,
    /// The difference between SendingTime and the server's clock, at most; `None` where they are not compared.
    pub(crate) clock_difference_max: Option<Duration>,
    /// The sessions of the server.
    pub(crate) sessions: Arc<SessionBook>,
    /// The session's last message, which the log shows after a panic.
    pub(crate) last_message: Arc<LastMessage>,
}

/// The body of a session's last message. A Logon may hold a secret, so its body is not kept.
#[derive(Debug, Default)]
pub(crate) struct LastMessage(Mutex<Vec<u8>>);

impl LastMessage {
    fn note(&self, body: &[u8]) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.clear();
        last.extend_from_slice(body);
    }

    /// Returns the text that the log shows.
    pub(crate) fn shown(&self) -> String {
        shown(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Serves a connection until it ends.
pub(crate) async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    peer: Peer,
    market: FixBackend,
    mut stopped: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut bytes = Vec::new();
    let mut wanted = peer.wanted.clone();
    let logged_on = tokio::select! {
        logged_on = timeout(LOGON_PATIENCE, log_on(&mut stream, &mut bytes, &peer, &market)) => Some(logged_on),
        () = stop_requested(&mut stopped) => return Ok(()),
        () = stop_requested(&mut wanted) => None,
    };
    let Some(logged_on) = logged_on else { return last_words(&mut stream, &refusal(None, GAVE_WAY)).await };
    let Ok(logged_on) = logged_on else {
        return last_words(&mut stream, &refusal(None, "no Logon came in time")).await;
    };
    let Some((mut attached, _counted)) = logged_on? else { return Ok(()) };
    let Some((session, trader, reports)) = attached.parts.as_mut() else { return Ok(()) };
    let mut read = vec![0; READ_BYTES];
    // The reports of what the session missed come behind the answer, before all others.
    send(&mut stream, session, trader.metrics()).await?;
    send_untold(&mut stream, session, trader).await?;
    // Messages that the client sent behind its Logon, before the answer.
    take_messages(&mut bytes, &mut stream, (session, trader, reports), &peer.last_message).await?;
    loop {
        trader.note_positions(session);
        if let Err(closed) = trader.check_open() {
            session.end(&closed);
        } else if trader.listen_to_coming().await.is_err() {
            session.end(unknown(trader));
        }
        send(&mut stream, session, trader.metrics()).await?;
        send_untold(&mut stream, session, trader).await?;
        if session.has_ended() {
            // The client may come again at once.
            drop(attached);
            return last_words(&mut stream, &[]).await;
        }
        let next_look = trader.next_check().into_iter().fold(session.next_look(), Instant::min);
        // Reads come before the clock, so that a message which has arrived but is not read yet does not count as
        // silence.
        tokio::select! {
            biased;
            () = stop_requested(&mut stopped) => session.end("the server stops"),
            () = stop_requested(&mut wanted) => session.end(GAVE_WAY),
            count = stream.read(&mut read) => {
                match count? {
                    0 => return Ok(()),
                    count => bytes.extend_from_slice(&read[..count]),
                }
                take_messages(&mut bytes, &mut stream, (session, trader, reports), &peer.last_message).await?;
                // Reports have their turn, too, however fast messages come.
                send_waiting(reports, &mut stream, session, trader).await?;
                send_piece(&mut stream, session, trader).await?;
            }
            happened = reports.recv() => match happened {
                Some(happened) => send_reports(happened, &mut stream, session, trader).await?,
                None => session.end(trader.no_more_reports()),
            },
            () = sleep_until(next_look.into()) => session.look_at_the_clock(Instant::now()),
        }
    }
}

/// Reports what happened, some reports at a time. What is not told when the session ends is told when it goes on.
async fn send_reports(
    happened: QueuedReports,
    stream: &mut (impl AsyncWrite + Unpin),
    session: &mut Session,
    trader: &mut Trader,
) -> io::Result<()> {
    if let Err(closed) = trader.check_open() {
        session.end(&closed);
    }
    trader.queue_up(happened);
    send_untold(stream, session, trader).await
}

/// Reports what is queued, some reports at a time.
async fn send_untold(
    stream: &mut (impl AsyncWrite + Unpin),
    session: &mut Session,
    trader: &mut Trader,
) -> io::Result<()> {
    while !session.has_ended() && trader.report_some(TOLD_AT_ONCE, session) {
        send_piece(stream, session, trader).await?;
    }
    Ok(())
}

/// Reports what has happened so far.
async fn send_waiting(
    reports: &mut UnboundedReceiver<QueuedReports>,
    stream: &mut (impl AsyncWrite + Unpin),
    session: &mut Session,
    trader: &mut Trader,
) -> io::Result<()> {
    // One more than there are now, because only that one can say that no more come.
    for _ in 0..=reports.len() {
        match reports.try_recv() {
            Ok(happened) => send_reports(happened, stream, session, trader).await?,
            Err(TryRecvError::Empty) => break,
            Err(TryRecvError::Disconnected) => {
                session.end(trader.no_more_reports());
                break;
            }
        }
    }
    Ok(())
}

/// Reports what has happened so far, and waits for reports where many changes wait for theirs: the client may send
/// changes faster than the feed tells of them.
async fn catch_up(
    reports: &mut UnboundedReceiver<QueuedReports>,
    stream: &mut (impl AsyncWrite + Unpin),
    session: &mut Session,
    trader: &mut Trader,
) -> io::Result<()> {
    send_waiting(reports, stream, session, trader).await?;
    while trader.awaits_many() && !session.has_ended() {
        let next = timeout(REPORT_PATIENCE, reports.recv());
        match beating(next, stream, session, trader.metrics()).await? {
            Ok(Some(happened)) => send_reports(happened, stream, session, trader).await?,
            Ok(None) => session.end(trader.no_more_reports()),
            Err(_) => trader.forget_changes(),
        }
    }
    Ok(())
}

/// Waits for work of the session, and sends Heartbeats meanwhile. The work goes on while one is written: it may have a
/// turn that others wait for, and gives it back however slowly the client reads.
async fn beating<T>(
    work: impl Future<Output = T>,
    stream: &mut (impl AsyncWrite + Unpin),
    session: &mut Session,
    metrics: &GatewayMetrics,
) -> io::Result<T> {
    let mut work = pin!(work);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return Ok(done),
            () = sleep_until(session.next_beat().into()) => session.beat(Instant::now()),
        }
        let mut sent = pin!(send(stream, session, metrics));
        tokio::select! {
            biased;
            done = &mut work => {
                sent.await?;
                return Ok(done);
            }
            written = &mut sent => written?,
        }
    }
}

/// A session, its trader, and the reports for it.
type Talk<'a> = (&'a mut Session, &'a mut Trader, &'a mut UnboundedReceiver<QueuedReports>);

/// A session with its client, and its place among the connections of its member.
type LoggedOn = (Attached, Option<Connected>);

/// Takes all messages that have arrived completely.
async fn take_messages(
    bytes: &mut Vec<u8>,
    stream: &mut (impl AsyncWrite + Unpin),
    (session, trader, reports): Talk<'_>,
    last_message: &LastMessage,
) -> io::Result<()> {
    let (mut taken, mut asked) = (0, Vec::new());
    let mut is_whole = true;
    while !session.has_ended() && is_whole {
        match frame::first(&bytes[taken..]) {
            Ok(Some(frame)) => {
                taken += frame.bytes;
                last_message.note(frame.body);
                take(frame.body, &mut asked, stream, (session, trader, reports)).await?;
                if session.is_full() {
                    send_piece(stream, session, trader).await?;
                }
                go_on(stream, session, trader).await?;
                if trader.is_behind() {
                    // The session may end there, and what it gathered came before.
                    flush(&mut asked, stream, session, trader).await?;
                    catch_up(reports, stream, session, trader).await?;
                }
            }
            Ok(None) => is_whole = false,
            Err(fault) => {
                flush(&mut asked, stream, session, trader).await?;
                trader.count_malformed();
                if matches!(fault, frame::Fault::TooLong(_)) {
                    session.end(&fault.to_string());
                } else {
                    session.ignore_garbled(&fault);
                }
                taken += frame::garbled_bytes(&bytes[taken..]);
            }
        }
    }
    bytes.drain(..taken);
    flush(&mut asked, stream, session, trader).await
}

/// Makes and sends the rest of a long answer, each part when the one before was sent.
async fn go_on(stream: &mut (impl AsyncWrite + Unpin), session: &mut Session, trader: &mut Trader) -> io::Result<()> {
    while session.sends_again() && !session.has_ended() {
        send_piece(stream, session, trader).await?;
        session.go_on();
    }
    while trader.lists() && !session.has_ended() {
        send_piece(stream, session, trader).await?;
        if let Err(closed) = trader.check_open() {
            session.end(&closed);
            break;
        }
        let (metrics, mut answers) = (trader.metrics().clone(), Answers::default());
        let listed = beating(trader.list_some(&mut answers), stream, session, &metrics).await?;
        answers.send(session);
        if listed.is_err() {
            session.end(unknown(trader));
        }
    }
    Ok(())
}

/// Submits the requests gathered so far and waits for their answers.
async fn flush(
    asked: &mut Vec<ClientRequest>,
    stream: &mut (impl AsyncWrite + Unpin),
    session: &mut Session,
    trader: &mut Trader,
) -> io::Result<()> {
    if asked.is_empty() {
        session.settle();
        return Ok(());
    }
    let (metrics, mut answers) = (trader.metrics().clone(), Answers::default());
    let submitted = trader.submit(std::mem::take(asked), &mut answers);
    let submitted = beating(submitted, stream, session, &metrics).await?;
    answers.send(session);
    session.settle();
    if submitted.is_err() {
        session.end(unknown(trader));
    }
    Ok(())
}

/// Says why a client gets no answer.
fn unknown(trader: &Trader) -> &'static str {
    match trader.has_feed() {
        true => "what became of it is not known yet: it may still be done, so ask for its order later",
        false => NO_FEED,
    }
}

/// Takes one message. Orders are gathered to be submitted together; they are submitted before any other answer is
/// written.
async fn take(
    body: &[u8],
    asked: &mut Vec<ClientRequest>,
    stream: &mut (impl AsyncWrite + Unpin),
    (session, trader, reports): Talk<'_>,
) -> io::Result<()> {
    let message = match Message::read(body) {
        Ok(message) => message,
        Err(fault) => {
            flush(asked, stream, session, trader).await?;
            trader.count_malformed();
            session.ignore_garbled(&fault.text);
            return Ok(());
        }
    };
    if let Err(closed) = trader.check_open() {
        flush(asked, stream, session, trader).await?;
        session.end(&closed);
        return Ok(());
    }
    // A session answers to what is its own, or ends with it, behind the requests that came before.
    let read = session.is_next_request(&message).then(|| orders::read(&message, trader.own()));
    let goes_with_them = read.as_ref().is_some_and(|read| match read {
        Ok(Some(its)) => trader.has_room(its, asked.len()),
        Ok(None) | Err(_) => true,
    });
    if !goes_with_them {
        flush(asked, stream, session, trader).await?;
    }
    if session.is_goodbye(&message) {
        // The Logout is the last message: reports of what was answered come before it.
        trader.wait_for_the_feed().await;
        send_waiting(reports, stream, session, trader).await?;
    }
    if session.has_ended() || !session.take(&message, || trader.take_message(), Instant::now()) {
        return Ok(());
    }
    // The exchange counts the messages that it gets.
    match read.unwrap_or_else(|| orders::read(&message, trader.own())) {
        Ok(Some(its)) if !trader.has_room(&its, asked.len()) => match trader.take_message() {
            Ok(()) => session.reject(&message, &Fault::value(tags::ACCOUNT, NO_ROOM)),
            Err(past) => session.reject(&message, &Fault::past(&past)),
        },
        Ok(Some(its)) => {
            // Answers that may be long are sent before the next ones are made.
            let is_last = its.is_alone();
            asked.push(its);
            if is_last || asked.len() >= TOGETHER_MAX {
                flush(asked, stream, session, trader).await?;
            }
        }
        Ok(None) => {
            flush(asked, stream, session, trader).await?;
            match trader.take_message() {
                Ok(()) => trader.refuse_kind(&message, session),
                Err(past) => session.reject(&message, &Fault::past(&past)),
            }
        }
        Err(fault) => {
            flush(asked, stream, session, trader).await?;
            trader.count_malformed();
            session.reject(&message, &trader.take_message().map_or_else(|past| Fault::past(&past), |()| fault));
        }
    }
    Ok(())
}

/// Waits for the Logon. Returns `None` where it was refused or did not arrive.
async fn log_on(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    bytes: &mut Vec<u8>,
    peer: &Peer,
    market: &FixBackend,
) -> io::Result<Option<LoggedOn>> {
    let mut read = vec![0; MESSAGE_BYTES_MAX];
    let (body, count) = loop {
        match frame::first(bytes) {
            Ok(Some(frame)) => break (frame.body.to_vec(), frame.bytes),
            Ok(None) => {}
            Err(fault) => {
                market.metrics().malformed(1);
                last_words(stream, &refusal(None, &fault.to_string())).await?;
                return Ok(None);
            }
        }
        match stream.read(&mut read).await? {
            0 => return Ok(None),
            count => bytes.extend_from_slice(&read[..count]),
        }
    };
    bytes.drain(..count);
    let message = Message::read(&body);
    let theirs = message.as_ref().ok().and_then(|message| message.get(tags::SENDER_COMP_ID).ok().flatten());
    let logged_on = match &message {
        Err(fault) => Err(fault.text.clone()),
        Ok(message) => match Logon::read(message, peer.clock_difference_max) {
            Err(fault) => Err(fault.text),
            Ok(logon) => attach(&logon, peer, market).await,
        },
    };
    match logged_on {
        Ok(Some(logged_on)) => Ok(Some(logged_on)),
        Ok(None) => {
            // A Logout would have a number of the session, and the client that has it misses none.
            last_words(stream, &[]).await?;
            Ok(None)
        }
        Err(text) => {
            last_words(stream, &refusal(theirs, &text)).await?;
            Ok(None)
        }
    }
}

/// Finds out who logs on, and gives the client its session, or begins one. Returns `None` where another connection has
/// it. Errors: the reason why the Logon is refused.
async fn attach(logon: &Logon<'_>, peer: &Peer, market: &FixBackend) -> Result<Option<LoggedOn>, String> {
    let (principal, counted) = who(logon, peer, market)?;
    let member = principal.as_ref().map(|principal| principal.member().to_owned());
    let key = SessionKey { member, theirs: logon.theirs().to_owned() };
    let Some(mut attached) = attach_soon(&peer.sessions, &key).await? else {
        tracing::info!(session = ?key, address = %peer.address, "another connection has this FIX session");
        return Ok(None);
    };
    let caller = market.audits().then(|| caller(peer, principal.as_ref()));
    if logon.resets() {
        attached.parts = None;
    }
    // They are put back when all is told that they missed: a Logon that ends before leaves the session to its file.
    let parts = match attached.parts.take() {
        Some((mut session, mut trader, mut reports)) => {
            trader.resume(principal, peer.address, caller);
            if reports.is_closed() && trader.has_feed() {
                while let Ok(happened) = reports.try_recv() {
                    trader.queue_up(happened);
                }
                while trader.report_some(TOLD_AT_ONCE, &mut session) {
                    session.save();
                }
                reports = trader.renew();
                trader.catch_up(trader.positions(), &session.exec_ids(), false).await?;
            }
            session.log_on(logon, Instant::now());
            (session, trader, reports)
        }
        None => {
            let (queue, reports) = ReportQueue::new();
            let mut trader = Trader::new(market.clone(), principal, peer.address, caller, queue);
            let mut saved = None;
            if !logon.resets() {
                (attached, saved) = attached.saved().await?;
            }
            let session = match saved {
                Some((file, saved)) => {
                    let (positions, is_resend) = (saved.positions.clone(), !saved.is_whole);
                    let mut session = Session::restored(logon.theirs(), saved, file);
                    trader.catch_up(positions, &session.exec_ids(), is_resend).await?;
                    if is_resend {
                        trader.end_resends(&mut session);
                    }
                    session.log_on(logon, Instant::now());
                    session
                }
                None => {
                    logon.check_first()?;
                    let mut session = Session::begin(logon, Instant::now());
                    let file;
                    (attached, file) = attached.new_file().await?;
                    file.into_iter().for_each(|file| session.keep_in(file));
                    session
                }
            };
            (session, trader, reports)
        }
    };
    let (_, trader, _) = attached.parts.insert(parts);
    trader.begin().await.map_err(|_| NO_FEED)?;
    Ok(Some((attached, counted)))
}

/// Gives a client its session, once the server has seen that the connection before is gone. Returns `None` where it
/// stays.
async fn attach_soon(sessions: &Arc<SessionBook>, key: &SessionKey) -> Result<Option<Attached>, &'static str> {
    for _ in 0..LEAVING_PAUSES_MAX {
        let attached = sessions.attach(key.clone()).await?;
        if attached.is_some() {
            return Ok(attached);
        }
        sleep(LEAVING_PAUSE).await;
    }
    sessions.attach(key.clone()).await
}

fn caller(peer: &Peer, principal: Option<&Principal>) -> Arc<Caller> {
    exchange::Session::begin(peer.address).caller(Protocol::Fix, principal)
}

/// Finds the member that logs on, and takes a place among its connections. Errors: the reason, as the client gets it.
fn who(logon: &Logon<'_>, peer: &Peer, market: &FixBackend) -> Result<(Option<Principal>, Option<Connected>), String> {
    let Some(access) = market.access() else {
        // Connections that have not logged on give way to one that has.
        peer.place.prove(logon.theirs());
        return Ok((None, None));
    };
    let refuse = |(why, text)| {
        turn_away(market.metrics(), why, peer.address);
        text
    };
    let principal = prove(logon, peer, access).map_err(refuse)?;
    let (rights, mode) = (principal.rights(), access.mode().get());
    if !rights.may_look_in(mode) {
        return Err(refuse((TurnedAway::Closed, mode.to_string())));
    }
    let past = |past: Limit| refuse((TurnedAway::PastLimit, past.to_string()));
    rights.limits.take_message().map_err(past)?;
    let connected = access.connections().open(&principal).map_err(past)?;
    peer.place.prove(principal.member());
    tracing::debug!(member = principal.member(), address = %peer.address, "logged on over FIX");
    Ok((Some(principal), Some(connected)))
}

/// Identifies the member by key and secret or by certificate. Errors: the reason, as it is counted and as the client
/// gets it.
fn prove(logon: &Logon<'_>, peer: &Peer, access: &Access) -> Result<Principal, (TurnedAway, String)> {
    let now = SystemTime::now();
    let (key, secret) = match (logon.username, logon.password) {
        (Some(key), Some(secret)) => (key, secret),
        (None, None) => {
            let by_certificate = peer.certificate.as_ref().and_then(|sha256| access.by_certificate(sha256, now));
            let known = by_certificate.or_else(|| access.by_address(peer.address, now));
            let text = "who logs on is not known: Username(553) is a key, and Password(554) its secret";
            return known.ok_or_else(|| (TurnedAway::Unproven, text.to_owned()));
        }
        (Some(_), None) | (None, Some(_)) => {
            let text = "Username(553) and Password(554) come together: a key and its secret";
            return Err((TurnedAway::Unproven, text.to_owned()));
        }
    };
    if !peer.is_private {
        return Err((TurnedAway::Unproven, "a secret may be sent over TLS or from this machine only".to_owned()));
    }
    // A right secret waits for no wrong ones, because nobody can guess it.
    access.by_secret(key, secret, now).ok_or_else(|| match access.tries().wrong(peer.address, key, Instant::now()) {
        Ok(()) => (TurnedAway::WrongProof, "what was shown is not the secret of any key".to_owned()),
        Err(patience) => {
            let seconds = patience.as_secs() + 1;
            let text = format!("too many wrong secrets came for this key from this address: try again in {seconds} s");
            (TurnedAway::TooManyTries, text)
        }
    })
}

/// Writes the bytes that the session has ready.
async fn send(
    stream: &mut (impl AsyncWrite + Unpin),
    session: &mut Session,
    metrics: &GatewayMetrics,
) -> io::Result<()> {
    let out = session.take_out();
    if out.is_empty() {
        return Ok(());
    }
    let _unsent = metrics.count_unsent(out.len());
    // What is under way goes on without the client, and its answers are kept.
    if let Err(error) = write(stream, &out).await {
        tracing::debug!(%error, "a FIX client no longer reads");
        session.cut();
    }
    Ok(())
}

/// Writes the bytes that the session has ready and gives other connections a turn: a client that reads as fast as this
/// writes, and sends as fast as this reads, would hold up all of them.
async fn send_piece(stream: &mut (impl AsyncWrite + Unpin), session: &mut Session, trader: &Trader) -> io::Result<()> {
    send(stream, session, trader.metrics()).await?;
    yield_now().await;
    Ok(())
}

async fn write(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    for piece in bytes.chunks(PIECE_BYTES) {
        let written = async {
            stream.write_all(piece).await?;
            stream.flush().await
        };
        timeout(WRITE_PATIENCE, written).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    }
    Ok(())
}

/// Writes these bytes and closes the connection.
pub(crate) async fn last_words(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    write(stream, bytes).await?;
    let _ = timeout(WRITE_PATIENCE, stream.shutdown()).await;
    Ok(())
}

/// Returns when the server is to stop.
pub(crate) async fn stop_requested(stopped: &mut watch::Receiver<bool>) {
    // The sender lives as long as the server.
    let _ = stopped.wait_for(|stop| *stop).await;
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::net::Ipv4Addr;
    use std::task::{Context, Poll, Waker};

    use exchange::{Addresses, Newcomers, Places};
    use terms::{AccountId, ClientOrderId, Sequence};
    use tokio::sync::mpsc::unbounded_channel;

    use super::*;
    use crate::message::Fields;
    use crate::order_fields::{Change, OrderRef};
    use crate::reports::Happening;
    use crate::tests::kept_requests::{KeptRequests, log_on};
    use crate::tests::spy_market::SpyMarket;

    /// Returns how often other tasks had a turn before this ended.
    async fn turns_of_others(work: impl Future<Output = io::Result<()>>) -> usize {
        let (mut work, mut turns) = (pin!(work), 0);
        poll_fn(|cx| match work.as_mut().poll(cx) {
            Poll::Ready(done) => Poll::Ready(done.is_ok()),
            Poll::Pending => {
                turns += 1;
                Poll::Pending
            }
        })
        .await;
        turns
    }

    /// Makes the bytes of a message.
    fn message(kind: &str, number: u64, fields: &str) -> Vec<u8> {
        let body = format!("35={kind}|49=ALICE|56=PRICETIME|34={number}|52=20260101-00:00:00|{fields}");
        frame::framed(body.replace('|', "\x01").as_bytes())
    }

    /// Begins a session that sends a Heartbeat each second.
    fn beating_each_second() -> Session {
        let logon = "35=A|49=ALICE|56=PRICETIME|34=1|52=20260101-00:00:00|98=0|108=1|".replace('|', "\x01");
        let logon = Message::read(logon.as_bytes()).expect("it is one");
        Session::begin(&Logon::read(&logon, None).expect("it is a Logon"), Instant::now())
    }

    /// Takes these messages in a session. The exchange refuses those that it gets. Returns the kinds of messages that
    /// the client is told.
    async fn told(
        kept: &KeptRequests,
        (mut session, mut trader, mut reports): (Session, Trader, UnboundedReceiver<QueuedReports>),
        mut bytes: Vec<u8>,
    ) -> Vec<String> {
        let (mut written, last_message) = (Vec::new(), LastMessage::default());
        let taken = take_messages(&mut bytes, &mut written, (&mut session, &mut trader, &mut reports), &last_message);
        let refused = async {
            while kept.counts().0 == 0 {
                yield_now().await;
            }
            kept.refuse_batches();
        };
        let both = async { tokio::join!(taken, refused) };
        let (taken, ()) = timeout(Duration::from_secs(10), both).await.expect("the exchange is asked and answers");
        assert!(taken.is_ok());
        written.extend(session.take_out());
        let written = String::from_utf8(written).expect("it is text");
        written.split("\x0135=").skip(1).filter_map(|message| Some(message.split_once('\x01')?.0.to_owned())).collect()
    }

    /// A Logon that ended while it waited for the feed left a session that listened to none of its accounts, and lost
    /// what happened to them.
    #[tokio::test]
    async fn a_session_whose_logon_ends_while_it_catches_up_is_left_to_its_file() {
        let (_kept, market) = KeptRequests::new();
        let (key, (peer, _stays)) = (SessionKey { member: None, theirs: "ALICE".to_owned() }, local_peer());
        let (mut session, mut trader, reports) = log_on(&market);
        let account = AccountId::parse(b"1").expect("digits");
        trader.queue_up(QueuedReports::complete(Vec::new(), (account, Sequence(7)), false, market.metrics()));
        assert!(trader.report_some(1, &mut session));
        // Too much waited, and its queue was closed.
        drop(trader.renew());
        let attached = peer.sessions.attach(key.clone()).await.expect("no fault");
        attached.expect("nobody has it").parts = Some((session, trader, reports));
        let logon = String::from_utf8(message("A", 2, "98=0|108=1|")).expect("it is text");
        let logon = logon[logon.find("35=").expect("its kind")..].rsplit_once("10=").expect("its sum").0.to_owned();
        let logon = Message::read(logon.as_bytes()).expect("it is one");
        let logon = Logon::read(&logon, None).expect("it is a Logon");
        assert!(timeout(Duration::from_millis(200), attach(&logon, &peer, &market)).await.is_err(), "nobody answers");
        let attached = peer.sessions.attach(key).await.expect("no fault");
        assert!(attached.expect("nobody has it").parts.is_none(), "half of it is left");
    }

    /// A client on this machine, and what keeps its place from others.
    fn local_peer() -> (Peer, watch::Sender<bool>) {
        let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let places = Places::new(1, Addresses::new(1), Newcomers::Share);
        let (place, (stays, wanted)) = (places.enter(address, || {}).expect("room").handle(), watch::channel(false));
        let (last_message, sessions) = (Arc::default(), Arc::default());
        let clock_difference_max = None;
        let peer = Peer {
            address,
            is_private: true,
            certificate: None,
            place,
            wanted,
            clock_difference_max,
            sessions,
            last_message,
        };
        (peer, stays)
    }

    const ORDER: &str = "11=a|1=1|55=SPY|54=1|38=1|40=2|59=1|44=1|";

    /// Orders were submitted, and answered, behind the Logout of their session: where it ended while it took reports
    /// between them, and where the message behind them ended it. A TestRequest was answered before them.
    #[tokio::test]
    async fn orders_are_answered_before_what_comes_behind_them() {
        let kept = Arc::<KeptRequests>::default();
        let (_model, market) = SpyMarket::new(Arc::<KeptRequests>::clone(&kept), 0);
        let own = [("1", 3, "112=there?|", "0"), ("5", 3, "", "5"), ("D", 2, ORDER, "5")];
        for (kind, number, fields, answer) in own {
            let bytes = [message("D", 2, ORDER), message(kind, number, fields)].concat();
            assert_eq!(told(&kept, log_on(&market), bytes).await, ["A", "8", answer], "{kind} {number}");
        }
        let (session, mut trader, _reports) = log_on(&market);
        let cancel = |number: usize| {
            let name = format!("c{number}");
            let order = OrderRef::Client(ClientOrderId::parse(name.as_bytes()).expect("it is a name"));
            let account = AccountId::parse(b"1").expect("digits");
            ClientRequest::Cancel(Change { cl_ord_id: name, account, order, original: None })
        };
        {
            let (cancels, mut answers) = ((0..2_049).map(cancel).collect(), Answers::default());
            let mut submitted = pin!(trader.submit(cancels, &mut answers));
            assert!(submitted.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            kept.refuse_batches();
        }
        assert!(trader.is_behind(), "the reports of the cancels are to come");
        // No more reports come.
        let (_, reports) = unbounded_channel();
        assert_eq!(told(&kept, (session, trader, reports), message("D", 2, ORDER)).await, ["A", "8", "5"]);
    }

    /// Asks for a list of open orders, and reads nothing of what is written.
    async fn list_to_nobody(market: &FixBackend) -> io::Result<()> {
        let (mut stream, _unread) = tokio::io::duplex(1);
        let (mut session, (_session, mut trader, mut reports)) = (beating_each_second(), log_on(market));
        let talk = (&mut session, &mut trader, &mut reports);
        let mut bytes = message("AF", 2, "584=all|585=7|1=1|");
        take_messages(&mut bytes, &mut stream, talk, &LastMessage::default()).await
    }

    /// Sessions whose clients did not read were given the turns at lists while they wrote Heartbeats, and kept them for
    /// ten seconds: some of them one after the other kept the lists of all others waiting for minutes.
    #[tokio::test]
    async fn a_session_that_writes_a_heartbeat_keeps_no_turn_of_others() {
        let (_model, market) = SpyMarket::new(Arc::<KeptRequests>::default(), 1);
        let turns = [market.listing().take(None).await, market.listing().take(None).await];
        let third = async {
            while market.metrics().unsent() == 0 {
                sleep(Duration::from_millis(20)).await;
            }
            // Both write by now.
            sleep(Duration::from_millis(200)).await;
            drop(turns);
            let (account, mut trader) = (AccountId::parse(b"1").expect("digits"), log_on(&market).1);
            let asked = ClientRequest::StatusOfAll { id: "all".to_owned(), account, symbol: None };
            let is_begun = trader.submit(vec![asked], &mut Answers::default()).await.is_ok() && trader.lists();
            is_begun && trader.list_some(&mut Answers::default()).await.is_ok()
        };
        let third = timeout(Duration::from_secs(6), third);
        let others = async { tokio::join!(list_to_nobody(&market), list_to_nobody(&market)) };
        tokio::select! {
            biased;
            done = third => assert!(matches!(done, Ok(true)), "the turns of the others are given back"),
            others = others => panic!("nobody reads: {others:?}"),
        }
    }

    /// A session that waited for the history for minutes said nothing, and its client took it for dead.
    #[tokio::test]
    async fn a_session_that_waits_for_an_answer_sends_heartbeats() {
        let (_kept, market) = KeptRequests::new();
        let (_session, mut trader, mut reports) = log_on(&market);
        let mut session = beating_each_second();
        let (mut bytes, mut written) = (message("H", 2, "11=a|1=1|55=SPY|54=1|"), Vec::new());
        let talk = (&mut session, &mut trader, &mut reports);
        let last_message = LastMessage::default();
        let taken = take_messages(&mut bytes, &mut written, talk, &last_message);
        assert!(timeout(Duration::from_millis(1_500), taken).await.is_err(), "nobody answers");
        let written = String::from_utf8(written).expect("it is text").replace('\x01', "|");
        assert!(written.contains("|35=0|"), "{written}");
    }

    /// A client that sent message after message got one report for all that it sent in between: reports piled up until
    /// it counted as too slow.
    #[tokio::test]
    async fn all_reports_that_wait_are_told_between_two_reads() {
        let (_kept, market) = KeptRequests::new();
        let (mut session, mut trader, _reports) = log_on(&market);
        let (sender, mut told) = unbounded_channel();
        for _ in 0..10 {
            let happened = QueuedReports::new(vec![Happening::of_nothing(); 3], &GatewayMetrics::new("fix"));
            assert!(sender.send(happened).is_ok());
        }
        let mut written = Vec::new();
        let sent = send_waiting(&mut told, &mut written, &mut session, &mut trader).await;
        let count = String::from_utf8(written).expect("it is text").matches("\x0135=8\x01").count();
        assert!(sent.is_ok() && !session.has_ended());
        assert_eq!((count, told.len()), (30, 0));
        drop(sender);
        let sent = send_waiting(&mut told, &mut tokio::io::sink(), &mut session, &mut trader).await;
        assert!(sent.is_ok() && session.has_ended(), "no more come");
    }

    /// One client that asked for long answers, and read them as fast as they came, held up all others.
    #[tokio::test]
    async fn others_have_a_turn_behind_each_piece_of_a_long_answer() {
        let (_kept, market) = KeptRequests::new();
        let (mut session, mut trader, _reports) = log_on(&market);
        let mut stream = tokio::io::sink();
        let happened = QueuedReports::new(vec![Happening::of_nothing(); 4 * TOLD_AT_ONCE], &GatewayMetrics::new("fix"));
        let turns = turns_of_others(send_reports(happened, &mut stream, &mut session, &mut trader)).await;
        assert!(turns >= 4, "{turns}");
        for _ in 0..1_000 {
            session.send_kept("8", Fields::new().add(tags::TEXT, "x".repeat(180)));
        }
        drop(session.take_out());
        let again = "35=2|49=ALICE|56=PRICETIME|34=2|52=20260101-00:00:00|7=1|16=0|".replace('|', "\x01");
        session.take(&Message::read(again.as_bytes()).expect("it is one"), || Ok(()), Instant::now());
        assert!(session.sends_again(), "the answer has several pieces");
        let turns = turns_of_others(go_on(&mut stream, &mut session, &mut trader)).await;
        assert!(turns >= 1 && !session.sends_again(), "{turns}");
    }
}
