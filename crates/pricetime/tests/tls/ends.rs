//! The ends of connections, and truncated data: every reply to a complete request comes, and then the end, as TLS tells
//! it.

use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use crate::common::client::frame;
use crate::common::folder::Folder;
use crate::common::server::Server;
use crate::common::wait::wait_until;
use crate::peer::{BOTH, MARKET, SELL, Start};
use crate::pki::Pki;

fn market(folder: &Folder, more: &str) -> (Server, Start) {
    let pki = Pki::new(folder);
    let server = pki.launch(folder).with(more).start();
    let start = Start::trusting(&pki.authority);
    start.ask(server.xml, MARKET).unwrap();
    (server, start)
}

/// The number of open orders.
fn open_orders(server: &Server, start: &Start) -> usize {
    let queries: String = (1..=300).map(|id| format!("<query id=\"{id}\"/>")).collect();
    let reply = start.ask(server.xml, &format!("<transactions id=\"2\">{queries}</transactions>")).unwrap();
    reply.matches("<open ").count()
}

#[test]
fn a_client_that_ends_sending_gets_its_replies_and_the_end() {
    let folder = Folder::new("tls-half-close");
    let pki = Pki::new(&folder);
    let server = pki.launch(&folder).start();
    Start::trusting(&pki.authority).ask(server.xml, MARKET).unwrap();
    for version in BOTH {
        let mut peer = Start::with(&pki.authority, &[version], None).connect(server.xml).unwrap();
        peer.send(&frame(SELL).repeat(20)).unwrap();
        peer.end_sending();
        assert_eq!(peer.rest().unwrap().matches("<opened ").count(), 20);
        // The request and the end in TLS come together, and the socket stays open for sending, so no end is told by the
        // kernel.
        let mut peer = Start::with(&pki.authority, &[version], None).connect(server.xml).unwrap();
        peer.stream.conn.writer().write_all(&frame(SELL)).unwrap();
        peer.stream.conn.send_close_notify();
        peer.stream.flush().unwrap();
        assert_eq!(peer.rest().unwrap().matches("<opened ").count(), 1);
    }
    server.stop();
}

/// The length of a request is in the request, so nobody can shorten one by ending the stream.
#[test]
fn what_is_cut_in_the_middle_is_not_done_and_what_came_whole_is() {
    let folder = Folder::new("tls-cut");
    let (server, start) = market(&folder, "");
    let whole = frame(SELL);
    let mut peer = start.connect(server.xml).unwrap();
    peer.send(&[&whole[..], &whole[..whole.len() - 1]].concat()).unwrap();
    peer.stream.sock.shutdown(Shutdown::Write).unwrap();
    let replies = peer.rest().unwrap();
    assert_eq!((replies.matches("<opened ").count(), replies.matches("<results>").count()), (1, 2), "{replies}");
    assert_eq!(open_orders(&server, &start), 1);
    // This is the middle of a record.
    let mut peer = start.connect(server.xml).unwrap();
    peer.send(&whole).unwrap();
    peer.reply().unwrap();
    peer.stream.sock.write_all(&[23, 3, 3, 1, 0, 1, 2, 3]).unwrap();
    peer.stream.sock.shutdown(Shutdown::Write).unwrap();
    assert_eq!(peer.rest().unwrap(), "");
    // A record that was changed on its way ends the connection.
    let mut peer = start.connect(server.xml).unwrap();
    peer.stream.sock.write_all(&[&[23, 3, 3, 0, 40][..], &[9; 40]].concat()).unwrap();
    assert!(peer.rest().is_err());
    assert_eq!(open_orders(&server, &start), 2);
    server.stop();
}

#[test]
fn replies_of_ten_megabytes_reach_a_client_that_reads_late() {
    let folder = Folder::new("tls-long");
    let (server, start) = market(&folder, "");
    let queries: String = (1..=3000).map(|id| format!("<query id=\"{id}\"/>")).collect();
    let request = frame(&format!("<transactions id=\"2\">{queries}</transactions>"));
    let mut peer = start.connect(server.xml).unwrap();
    let mut bystander = start.connect(server.xml).unwrap();
    let sender = std::thread::spawn(move || {
        peer.send(&request.repeat(100)).unwrap();
        peer
    });
    std::thread::sleep(Duration::from_millis(500));
    assert!(bystander.ask(SELL).unwrap().contains("<opened "));
    let mut peer = sender.join().unwrap();
    let mut bytes = 0;
    for _ in 0..100 {
        bytes += peer.reply().unwrap().len();
    }
    assert!(bytes > 10 << 20, "{bytes}");
    peer.end_sending();
    assert_eq!(peer.rest().unwrap(), "");
    server.stop();
}

#[test]
fn the_server_ends_a_connection_over_tls() {
    let folder = Folder::new("tls-ends");
    let (server, start) = market(&folder, "--idle-timeout 300ms");
    let mut peer = start.connect(server.xml).unwrap();
    peer.ask(SELL).unwrap();
    assert_eq!(peer.rest().unwrap(), "", "an idle one");
    let mut peer = start.connect(server.xml).unwrap();
    peer.send(b"nonsense").unwrap();
    assert!(peer.rest().unwrap().starts_with("<results><error>"), "a malformed one");
    let mut peer = start.connect(server.xml).unwrap();
    peer.send(&frame(SELL)).unwrap();
    wait_until("the order is there", Duration::from_secs(10), || open_orders(&server, &start) == 2);
    server.stop();
    assert!(peer.rest().unwrap().contains("<opened "), "one of a server that stops");
}
