//! The places that connections have, and the connection that gives way when all are taken. A member that has proven its
//! name has a place of its own; of all others the oldest connection of the source address with the most goes first.
//! This module knows neither sockets nor keys.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::addresses::{Addresses, Visitor, source_of};
use crate::crowd::Crowd;

/// The most connections that were told to give way and are not closed yet: the server needs that many files beyond the
/// places.
pub const LEAVING_MAX: usize = 8;
/// The part of the places that is never a member's: one in this many, because a member connects before it proves its
/// name.
const NEWCOMERS_PART: usize = 8;

/// The last words of the server to a client whose connection gives way.
pub const GAVE_WAY: &str = "too many connections: this one gave way to another; who logs in keeps its place";

/// The places of one protocol. Clones share them.
#[derive(Clone, Debug)]
pub struct Places(Arc<Shared>);

/// The place that a newcomer gets when all are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Newcomers {
    /// A place in any case: the newcomer may prove a member's name.
    MayProve,
    /// The place of an address that has more than the newcomer's. Clients of this protocol prove nothing.
    Share,
    /// The place of an address that has more than the newcomer's, once one is free for a connection of unknown address.
    /// All clients are on this machine, so they may as well wait.
    Wait,
}

/// A place, until this is dropped.
#[derive(Debug)]
pub struct Place(PlaceHandle);

/// A handle that a gateway says with whose place it is.
#[derive(Clone, Debug)]
pub struct PlaceHandle {
    shared: Arc<Shared>,
    number: u64,
    source: IpAddr,
}

/// Room for a connection that is not accepted yet, until it enters or this is dropped.
#[derive(Debug)]
pub struct Ticket(Arc<Shared>);

/// The reason why there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoPlace {
    /// The address has as many as one address may have.
    OfAddress(usize),
    /// All are taken, and no other address has more.
    Taken,
    /// A place will be free in a moment.
    Soon,
}

/// Counts of connections so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaceCounts {
    /// Connections that are open.
    pub open: usize,
    /// Open connections that have a place as a member's.
    pub proven: usize,
    /// Connections refused because their address had as many as one may have.
    pub refused_of_address: u64,
    /// Connections refused because all places were taken.
    pub refused_taken: u64,
    /// Connections of the address with the most that gave way.
    pub gave_way_of_address: u64,
    /// Connections of the member with the most that gave way.
    pub gave_way_of_member: u64,
}

struct Shared {
    max: usize,
    /// The most places of members.
    of_members_max: usize,
    newcomers: Newcomers,
    addresses: Addresses,
    state: Mutex<PlacesState>,
}

#[derive(Default)]
struct PlacesState {
    last: u64,
    open: HashMap<u64, Connection>,
    strangers: Crowd<IpAddr>,
    members: Crowd<Arc<str>>,
    tickets: usize,
    leaving: usize,
    counts: PlaceCounts,
}

struct Connection {
    holder: Holder,
    leave: Option<Leave>,
    _visitor: Visitor,
}

enum Holder {
    Address(IpAddr),
    Member(Arc<str>),
    /// No holder: the connection was told to give way.
    Nobody,
}

/// The call that has a connection closed soon.
type Leave = Box<dyn FnOnce() + Send>;

impl Places {
    /// Makes `max` places; `addresses` bounds those of each address.
    pub fn new(max: usize, addresses: Addresses, newcomers: Newcomers) -> Places {
        let of_members_max = max - max.div_ceil(NEWCOMERS_PART);
        Places(Arc::new(Shared { max, of_members_max, newcomers, addresses, state: Mutex::default() }))
    }

    /// The number of places.
    pub fn max(&self) -> usize {
        self.0.max
    }

    /// Reserves room for a connection whose address is not known yet. Returns `None` while the connection has to wait
    /// until another one is closed.
    pub fn ticket(&self) -> Option<Ticket> {
        let mut state = self.0.lock();
        let expected = state.taken() + state.tickets;
        let has_room = match self.0.newcomers {
            Newcomers::Wait => expected < self.0.max,
            Newcomers::MayProve | Newcomers::Share => expected + state.leaving < self.0.max.saturating_add(LEAVING_MAX),
        };
        has_room.then(|| {
            state.tickets += 1;
            Ticket(Arc::clone(&self.0))
        })
    }

    /// Gives a place to a connection from this address. Calls `leave`, from any thread, when the connection has to give
    /// way.
    pub fn enter(&self, address: IpAddr, leave: impl FnOnce() + Send + 'static) -> Result<Place, NoPlace> {
        Shared::enter(&self.0, address, Box::new(leave))
    }

    /// The counts of connections so far.
    pub fn counts(&self) -> PlaceCounts {
        let state = self.0.lock();
        PlaceCounts { open: state.open.len(), proven: state.members.len(), ..state.counts }
    }
}

impl Ticket {
    /// Turns into a place, as [`Places::enter`] gives one.
    pub fn enter(self, address: IpAddr, leave: impl FnOnce() + Send + 'static) -> Result<Place, NoPlace> {
        let shared = Arc::clone(&self.0);
        drop(self);
        Shared::enter(&shared, address, Box::new(leave))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.0.lock().tickets -= 1;
    }
}

impl Place {
    /// The source address that counts.
    pub fn source(&self) -> IpAddr {
        self.0.source
    }

    /// A handle for the code that learns which member the connection belongs to.
    pub fn handle(&self) -> PlaceHandle {
        self.0.clone()
    }
}

impl PlaceHandle {
    /// Notes that the connection has proven to be this member's. Returns whether it has a place of its own now: not
    /// where members have as many as they may have, and no other member has more than this one. Then it keeps its place
    /// as a stranger's, and may have to give way.
    pub fn prove(&self, member: &str) -> bool {
        let (proven, leave) = self.shared.lock().prove(self.number, member, self.shared.of_members_max);
        leave.into_iter().for_each(|leave| leave());
        proven
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, PlacesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(shared: &Arc<Shared>, address: IpAddr, leave: Leave) -> Result<Place, NoPlace> {
        let mut state = shared.lock();
        let Some(visitor) = shared.addresses.enter(address) else {
            state.counts.refused_of_address += 1;
            return Err(NoPlace::OfAddress(shared.addresses.max()));
        };
        let source = source_of(address);
        let mut told = None;
        if state.taken() >= shared.max {
            if state.leaving >= LEAVING_MAX {
                return Err(NoPlace::Soon);
            }
            let Some(oldest) = state.gives_way(shared.newcomers, &source) else {
                state.counts.refused_taken += 1;
                return Err(NoPlace::Taken);
            };
            state.counts.gave_way_of_address += 1;
            told = state.send_away(oldest);
        }
        state.last += 1;
        let number = state.last;
        state.strangers.add(source, number);
        state
            .open
            .insert(number, Connection { holder: Holder::Address(source), leave: Some(leave), _visitor: visitor });
        drop(state);
        told.into_iter().for_each(|leave| leave());
        Ok(Place(PlaceHandle { shared: Arc::clone(shared), number, source }))
    }
}

impl PlacesState {
    /// The places whose connections were not told to give way.
    fn taken(&self) -> usize {
        self.strangers.len() + self.members.len()
    }

    /// The connection that gives way to one from this source.
    fn gives_way(&self, newcomers: Newcomers, source: &IpAddr) -> Option<u64> {
        let (count, oldest) = self.strangers.heaviest()?;
        match newcomers {
            Newcomers::MayProve => Some(oldest),
            Newcomers::Share | Newcomers::Wait => (count > self.strangers.count(source) + 1).then_some(oldest),
        }
    }

    fn send_away(&mut self, number: u64) -> Option<Leave> {
        let connection = self.open.get_mut(&number)?;
        let leave = connection.leave.take();
        self.leave(number);
        if let Some(connection) = self.open.get_mut(&number) {
            connection.holder = Holder::Nobody;
            self.leaving += 1;
        }
        leave
    }

    /// Takes a connection off those of its holder.
    fn leave(&mut self, number: u64) {
        match self.open.get(&number).map(|connection| &connection.holder) {
            Some(Holder::Address(source)) => self.strangers.remove(source, number),
            Some(Holder::Member(member)) => self.members.remove(member, number),
            Some(Holder::Nobody) => self.leaving -= 1,
            None => {}
        }
    }

    fn prove(&mut self, number: u64, name: &str, of_members_max: usize) -> (bool, Option<Leave>) {
        let is_members = match self.open.get(&number).map(|connection| &connection.holder) {
            Some(Holder::Member(member)) if **member == *name => return (true, None),
            Some(Holder::Member(_)) => true,
            Some(Holder::Address(_)) => false,
            Some(Holder::Nobody) | None => return (false, None),
        };
        let member: Arc<str> = name.into();
        let mut told = None;
        if !is_members && self.members.len() >= of_members_max {
            match self.members.heaviest() {
                Some((count, oldest)) if count > self.members.count(&member) + 1 => {
                    self.counts.gave_way_of_member += 1;
                    told = self.send_away(oldest);
                }
                Some(_) | None => return (false, None),
            }
        }
        self.leave(number);
        self.members.add(Arc::clone(&member), number);
        if let Some(connection) = self.open.get_mut(&number) {
            connection.holder = Holder::Member(member);
        }
        (true, told)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.0.shared.lock();
        state.leave(self.0.number);
        state.open.remove(&self.0.number);
    }
}

impl fmt::Display for NoPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoPlace::OfAddress(max) => write!(f, "too many connections: at most {max} from one address"),
            NoPlace::Taken => {
                f.write_str("too many connections: all places are taken, and no address has more than this one")
            }
            NoPlace::Soon => f.write_str("too many connections: all places are taken; try again"),
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places").field("max", &self.max).field("newcomers", &self.newcomers).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::mpsc::{Receiver, channel};

    use super::*;

    /// A call that enters from an address, under a name.
    type Enter = Box<dyn Fn(&str, u32) -> Result<Place, NoPlace>>;

    struct Scene {
        places: Places,
        told: Receiver<u32>,
        enter: Enter,
    }

    /// Makes places whose connections have names, and a channel of those that are told to give way.
    fn scene(max: usize, newcomers: Newcomers) -> Scene {
        let places = Places::new(max, Addresses::new(0), newcomers);
        let (sender, told) = channel();
        let entered = places.clone();
        let enter = move |address: &str, name| {
            let sender = sender.clone();
            entered.enter(address.parse().unwrap(), move || sender.send(name).unwrap())
        };
        Scene { places, told, enter: Box::new(enter) }
    }

    const ATTACKER: &str = "192.0.2.1";
    const OTHER: &str = "192.0.2.2";

    #[test]
    fn the_oldest_of_the_address_with_the_most_gives_way_and_whoever_proved_to_be_a_member_does_not() {
        let Scene { places, told, enter } = scene(8, Newcomers::MayProve);
        let member = enter(ATTACKER, 0).unwrap();
        assert!(member.handle().prove("alice"));
        let strangers: Vec<Place> = (1..=7).map(|name| enter(ATTACKER, name).unwrap()).collect();
        let other = enter(OTHER, 8).unwrap();
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [1]);
        let own = enter(ATTACKER, 9).unwrap();
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [2], "its own address has the most");
        let counts = places.counts();
        assert_eq!((counts.open, counts.proven, counts.gave_way_of_address), (10, 1, 2));
        drop((strangers, own, member));
        assert_eq!(places.counts().open, 1);
        drop(other);
        let state = places.0.lock();
        assert!(state.taken() == 0 && state.leaving == 0 && state.open.is_empty(), "nothing is kept of who left");
    }

    #[test]
    fn where_nobody_can_prove_anything_an_address_gives_way_to_those_with_fewer() {
        let Scene { told, enter, .. } = scene(4, Newcomers::Share);
        let _first: Vec<Place> = (1..=4).map(|name| enter(ATTACKER, name).unwrap()).collect();
        assert_eq!(enter(ATTACKER, 5).err(), Some(NoPlace::Taken));
        let _others: Vec<Place> = (6..=7).map(|name| enter(OTHER, name).unwrap()).collect();
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [1, 2]);
        assert_eq!(enter(OTHER, 8).err(), Some(NoPlace::Taken), "both have two");
        assert_eq!(enter(ATTACKER, 9).err(), Some(NoPlace::Taken));
    }

    #[test]
    fn no_more_are_told_to_give_way_than_there_are_files_for() {
        let Scene { places, told, enter } = scene(20, Newcomers::MayProve);
        let mut all: Vec<Place> = (0..20).map(|name| enter(ATTACKER, name).unwrap()).collect();
        all.extend((0..8).map(|name| enter(OTHER, 20 + name).unwrap()));
        assert_eq!(told.try_iter().count(), LEAVING_MAX);
        assert!(enter(OTHER, 28).err() == Some(NoPlace::Soon) && places.ticket().is_none());
        all.remove(0);
        let ticket = places.ticket().unwrap();
        assert!(places.ticket().is_none(), "it is expected");
        all.push(ticket.enter(OTHER.parse().unwrap(), || {}).unwrap());
        assert_eq!(places.counts().open, 28);
    }

    #[test]
    fn a_member_with_the_most_gives_way_to_one_with_fewer_and_newcomers_keep_room() {
        let Scene { places, told, enter } = scene(8, Newcomers::MayProve);
        let greedy: Vec<Place> = (0..8).map(|name| enter(ATTACKER, name).unwrap()).collect();
        let proven: Vec<bool> = greedy.iter().map(|place| place.handle().prove("greedy")).collect();
        assert_eq!(proven, [true, true, true, true, true, true, true, false]);
        let other = enter(OTHER, 8).unwrap();
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [7], "the one without a place of its own");
        assert!(other.handle().prove("alice") && other.handle().prove("alice"));
        assert_eq!(told.try_iter().collect::<Vec<_>>(), [0]);
        assert_eq!((places.counts().gave_way_of_member, places.counts().proven), (1, 7));
        assert!(other.handle().prove("bob"), "another one logs in on the connection");
        assert!(!greedy[0].handle().prove("alice"), "it is told to give way");
    }

    #[test]
    fn where_all_are_on_this_machine_those_who_come_later_wait_until_one_is_closed() {
        let Scene { places, enter, .. } = scene(1, Newcomers::Wait);
        let place = enter("127.0.0.1", 0).unwrap();
        assert!(places.ticket().is_none());
        drop(place);
        assert!(places.ticket().is_some());
    }
}
