//! A worker accepts connections. While there are too many connections or open files it pauses, and new connections wait
//! in the listener's backlog.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use exchange::{NoPlace, Place};
use mio::Interest;
use mio::net::TcpStream;
use rustix::io::Errno;

use crate::connection::Connection;
use crate::login::Asker;
use crate::mailbox::Origin;
use crate::stream::Stream;
use crate::worker::Worker;

/// Connections that a turn accepts, at most, so that open ones have their turn too.
const ACCEPTS_A_TURN: usize = 256;
impl Worker {
    /// Accepts connections that wait, and reads from each at once, for most have already sent their request.
    pub(crate) fn accept(&mut self) {
        self.acceptor.end_pause_if_over(self.now_ms, &self.shared);
        for _ in 0..ACCEPTS_A_TURN {
            if !self.acceptor.may_accept() {
                return;
            }
            let Some(listener) = &self.acceptor.listener else { return };
            let closed = self.shared.connections_closed.load(Ordering::SeqCst);
            let Some(ticket) = self.settings.places.ticket() else {
                self.pause_accepting(closed, "as many connections are open as are allowed");
                return;
            };
            match listener.accept() {
                Ok((stream, address)) => {
                    let generation = self.next_generation();
                    let origin = Origin { slot: self.connections.vacant_key() as u32, generation };
                    let mailbox = Arc::clone(&self.mailboxes[self.index]);
                    let leave = move || mailbox.post(|letters| letters.give_way.push(origin));
                    match ticket.enter(address.ip(), leave) {
                        Ok(place) => self.open(stream, address.ip(), place, generation),
                        Err(why) => self.turn_away(stream, why),
                    }
                }
                Err(error) => self.accept_failed(error, closed),
            }
        }
    }

    fn accept_failed(&mut self, error: io::Error, closed: u64) {
        if matches!(error.kind(), io::ErrorKind::WouldBlock) {
            self.acceptor.ready = false;
            return;
        }
        let short = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
        if error.raw_os_error().is_some_and(|code| short.contains(&Errno::from_raw_os_error(code))) {
            self.pause_accepting(closed, "the process or the machine has no more files or memory for sockets");
        }
        // Any other error is the end of one connection before it was accepted.
    }

    fn pause_accepting(&mut self, closed: u64, why: &str) {
        self.acceptor.pause(self.now_ms, closed, &self.shared);
        if self.acceptor.may_log(self.now_ms) {
            let open = self.shared.connections_open.load(Ordering::Relaxed);
            let allowed = self.settings.places.max();
            tracing::warn!(open, allowed, "new connections wait: {why}");
        }
    }

    /// Refuses a connection for which there is no place with the reason, and closes it.
    fn turn_away(&mut self, mut stream: TcpStream, why: NoPlace) {
        if self.handshakes.is_tls() {
            // A message would have to be encrypted, and the places for that are what is missing.
            return;
        }
        let why = format!("<results><error>{why}</error></results>\n");
        // Bytes that arrived are read, or the system would answer them with a reset that may overtake the refusal. A
        // client that does not get the refusal finds the connection closed, as it must expect at any time.
        let _ = stream.read(&mut self.read_buffer);
        let _ = stream.write(why.as_bytes());
        let _ = stream.shutdown(Shutdown::Write);
    }

    fn open(&mut self, stream: TcpStream, address: IpAddr, place: Place, generation: u32) {
        self.shared.connections_open.fetch_add(1, Ordering::SeqCst);
        self.shared.accepted_by_worker[self.index].fetch_add(1, Ordering::Relaxed);
        let mut asker = Asker::of(self.settings.desk.as_ref(), address, self.settings.audit).map(Box::new);
        if let Some(asker) = &mut asker {
            asker.takes(place.handle());
        }
        let is_tls = self.handshakes.is_tls();
        let stream = if is_tls { Stream::tls(stream) } else { Stream::plain(stream) };
        let slot = self.connections.insert(Connection::new(stream, place, asker, generation, self.now_ms));
        // Plain connections are read before they are registered, so that bytes which are there already are not
        // reported. With TLS they are reported, and handshakes have their turn beside the other work.
        if !is_tls && self.intake.has_room() {
            self.read(slot);
        }
        let Some(connection) = self.connections.get_mut(slot) else { return };
        let registered = self.poll.registry().register(&mut connection.stream, mio::Token(slot), Interest::READABLE);
        if let Err(error) = registered {
            tracing::warn!(%error, "a connection is closed: the kernel watches no more sockets");
            self.close(slot);
        }
    }
}
