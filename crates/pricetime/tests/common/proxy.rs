//! A network between the server and its database that a test can slow down, stop in either direction, and break.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The way from the server to its database.
    Out,
    /// The way from the database to the server.
    Back,
}

/// A proxy, which listens on a port of its own and passes on all bytes. Its connections end with it.
pub struct Proxy {
    /// The port on which it listens.
    pub port: u16,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Whether nothing passes in a direction.
    held: [bool; 2],
    /// The numbers of bytes that came and wait.
    waiting: [usize; 2],
    connections: Vec<TcpStream>,
}

impl Proxy {
    /// Makes a proxy for a port of this machine.
    pub fn to(port: u16) -> Proxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let shared = Arc::new(Shared::default());
        let proxy = Proxy { port: listener.local_addr().unwrap().port(), shared: shared.clone() };
        // The thread waits in accept until the test process ends.
        std::thread::spawn(move || {
            let target = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            for near in listener.incoming().map_while(Result::ok) {
                // The database is gone: the connection breaks, as it would without the proxy.
                let Ok(far) = TcpStream::connect(target) else { continue };
                shared.lock().connections.extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                pass_on(&shared, Way::Out, near.try_clone().unwrap(), far.try_clone().unwrap());
                pass_on(&shared, Way::Back, far, near);
            }
        });
        proxy
    }

    /// Stops bytes in a direction.
    pub fn hold(&self, way: Way) {
        self.shared.lock().held[way as usize] = true;
    }

    /// Lets all waiting and later bytes pass.
    pub fn release(&self) {
        self.shared.lock().held = [false; 2];
        self.shared.changed.notify_all();
    }

    /// Whether bytes wait in a direction.
    pub fn holds(&self, way: Way) -> bool {
        self.shared.lock().waiting[way as usize] > 0
    }

    /// Breaks all connections; waiting bytes are lost.
    pub fn cut(&self) {
        for connection in std::mem::take(&mut self.shared.lock().connections) {
            // It may be broken already.
            let _ = connection.shutdown(Shutdown::Both);
        }
        self.shared.changed.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // The connections are cut first, so that held bytes are lost.
        self.cut();
        self.release();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until bytes may pass.
    fn wait(&self, way: Way, bytes: usize) {
        let mut state = self.lock();
        state.waiting[way as usize] += bytes;
        while state.held[way as usize] {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting[way as usize] -= bytes;
    }
}

fn pass_on(shared: &Arc<Shared>, way: Way, mut from: TcpStream, mut to: TcpStream) {
    let shared = shared.clone();
    std::thread::spawn(move || {
        let mut bytes = [0; 64 << 10];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            shared.wait(way, count);
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        // One end is gone, so the connection ends.
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}
