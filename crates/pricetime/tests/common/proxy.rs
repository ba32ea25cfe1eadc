//! A network between the server and its database that a test can slow down, stop in either direction, and break.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// What the server says to its database.
    Out,
    /// What the database answers.
    Back,
}

/// Listens on a port of its own and passes on what comes. Its connections end with it.
pub struct Proxy {
    /// Where it listens.
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
    /// Nothing passes there.
    held: [bool; 2],
    /// Bytes that came and wait.
    waiting: [usize; 2],
    connections: Vec<TcpStream>,
}

impl Proxy {
    /// In front of a port of this machine.
    pub fn to(port: u16) -> Proxy {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let shared = Arc::new(Shared::default());
        let proxy = Proxy { port: listener.local_addr().unwrap().port(), shared: shared.clone() };
        // It waits in accept until the test process ends.
        std::thread::spawn(move || {
            let target = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            for near in listener.incoming().map_while(Result::ok) {
                // A database that is gone: the connection breaks, as it would without us.
                let Ok(far) = TcpStream::connect(target) else { continue };
                shared.lock().connections.extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                pass_on(&shared, Way::Out, near.try_clone().unwrap(), far.try_clone().unwrap());
                pass_on(&shared, Way::Back, far, near);
            }
        });
        proxy
    }

    /// From now on nothing passes there.
    pub fn hold(&self, way: Way) {
        self.shared.lock().held[way as usize] = true;
    }

    /// Whatever waits, and whatever comes, passes.
    pub fn release(&self) {
        self.shared.lock().held = [false; 2];
        self.shared.changed.notify_all();
    }

    /// Whether something waits there.
    pub fn holds(&self, way: Way) -> bool {
        self.shared.lock().waiting[way as usize] > 0
    }

    /// Breaks all connections; what waited is lost.
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
        // In this order, so that what was held is lost.
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
        // One end is gone, and so is the connection.
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}
