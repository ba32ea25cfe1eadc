//! The principal of the request that is being answered: it goes with the task, so that no handler has to pass it on,
//! and a handler that forgets to cannot act as another one. Without an access file there is none.

use std::cell::{Cell, RefCell};

use exchange::{Connected, Connections, Limit, Mode, Principal, Read, TurnedAway};

pub use crate::members::Asker;

/// The asker, and what its connection follows.
struct CurrentPrincipal {
    asker: Asker,
    /// The reads that a connection follows, and as which asker.
    followed: Vec<(Asker, Read)>,
    /// Whether the message that is being answered was counted among its asker's.
    counted: bool,
    /// The connection, as it is counted for members; `None` for a request.
    connected: Option<Vec<Connected>>,
}

/// Reads that a connection may follow in all, as different members, at most: more than it may subscribe to.
const FOLLOWED_MAX: usize = 512;

tokio::task_local! {
    static CURRENT: RefCell<CurrentPrincipal>;
    static TURNED_AWAY: Cell<Option<TurnedAway>>;
}

/// Runs `work` as this asker.
pub(crate) async fn as_asker<T>(asker: Asker, work: impl Future<Output = T>) -> T {
    let asking = CurrentPrincipal { asker, followed: Vec::new(), counted: false, connected: None };
    CURRENT.scope(RefCell::new(asking), work).await
}

/// Runs `work` as this asker, if there is one.
pub async fn as_whoever<T>(asker: Option<Asker>, work: impl Future<Output = T>) -> T {
    match asker {
        Some(asker) => as_asker(asker, work).await,
        None => work.await,
    }
}

/// Returns the asker; `None` where it is not known.
pub fn asker() -> Option<Asker> {
    CURRENT.try_with(|asking| asking.borrow().asker.clone()).ok()
}

/// Returns the name of the asker's member; an empty one where there is none.
pub(crate) fn member() -> String {
    asker().map(|asker| asker.principal.member().to_owned()).unwrap_or_default()
}

/// Returns a member as whom the connection follows something; `None` if it follows only what is public.
pub(crate) fn told_as() -> Option<Asker> {
    let first = |asking: &RefCell<CurrentPrincipal>| {
        let asking = asking.borrow();
        let told = asking.followed.iter().map(|(asker, _)| asker);
        told.into_iter().find(|asker| !asker.principal.member().is_empty()).cloned()
    };
    CURRENT.try_with(first).ok().flatten()
}

/// Counts a message of the asker. Errors: there were too many.
pub fn take_message() -> Result<(), Limit> {
    asker().map_or(Ok(()), |asker| take_message_as(&asker))
}

/// Counts a message of an asker that has just proven its identity.
pub fn take_message_as(asker: &Asker) -> Result<(), Limit> {
    set_counted(true);
    asker.rights().limits.take_message().inspect_err(|_| turned_away(TurnedAway::PastLimit))
}

/// Counts the message that is being answered, unless it was counted: each message counts at one place. A message for
/// the exchange counts there, and here if it is refused before.
pub fn take_message_once() -> Result<(), Limit> {
    if is_counted() { Ok(()) } else { take_message() }
}

/// Whether the message that is being answered was counted, or has no asker.
pub(crate) fn is_counted() -> bool {
    CURRENT.try_with(|asking| asking.borrow().counted).unwrap_or(true)
}

/// Sets whether the message that is being answered was counted.
pub fn set_counted(counted: bool) {
    let _ = CURRENT.try_with(|asking| asking.borrow_mut().counted = counted);
}

/// Goes on as another asker, which has just proven its identity.
pub fn becomes(asker: Asker) {
    // Without an access file there is no asker to replace.
    let _ = CURRENT.try_with(|asking| asking.borrow_mut().asker = asker);
}

/// Runs `work`, and returns the reason why its client was turned away, if it was.
pub async fn noting<T>(work: impl Future<Output = T>) -> (T, Option<TurnedAway>) {
    let noted = async {
        let done = work.await;
        (done, take_turned_away())
    };
    TURNED_AWAY.scope(Cell::default(), noted).await
}

/// Notes why the client is turned away: the first reason, except that a wrong proof, which has to be known, replaces
/// others.
pub fn turned_away(why: TurnedAway) {
    let _ = TURNED_AWAY.try_with(|noted| {
        if noted.get().is_none() || why == TurnedAway::WrongProof {
            noted.set(Some(why));
        }
    });
}

/// Takes the reason that was noted since the last call.
pub fn take_turned_away() -> Option<TurnedAway> {
    TURNED_AWAY.try_with(Cell::take).ok().flatten()
}

/// Notes a read that a connection follows from now on, and as which asker. Returns false if that is too much.
pub(crate) fn follows(asker: Asker, read: Read) -> bool {
    let noted = CURRENT.try_with(|asking| {
        let followed = &mut asking.borrow_mut().followed;
        let is_there = followed.iter().any(|(who, what)| *what == read && who.principal == asker.principal);
        let has_room = followed.len() < FOLLOWED_MAX;
        if !is_there && has_room {
            followed.push((asker, read));
        }
        is_there || has_room
    });
    noted.unwrap_or(true)
}

/// Returns the reads that are followed so far, each with its asker: by a connection, or by a request that becomes one.
pub fn followed() -> Vec<(Asker, Read)> {
    CURRENT.try_with(|asking| asking.borrow().followed.clone()).unwrap_or_default()
}

/// Begins a connection with the reads that its request followed, and the members for which it was counted.
pub(crate) fn begins(followed: Vec<(Asker, Read)>, connected: Vec<Connected>) {
    followed.into_iter().for_each(|(asker, read)| {
        follows(asker, read);
    });
    let _ = CURRENT.try_with(|asking| asking.borrow_mut().connected = Some(connected));
}

/// Counts the connection among those of a member, once. A request counts when it becomes a connection. Errors: the
/// member has as many connections as it may have.
pub(crate) fn connects(all: &Connections, principal: &Principal) -> Result<(), Limit> {
    let counted = CURRENT.try_with(|asking| match &mut asking.borrow_mut().connected {
        Some(connected) => connect(connected, all, principal),
        None => Ok(()),
    });
    counted.unwrap_or(Ok(()))
}

/// Counts a connection among those of a member, unless the asker is no member, or it is counted there. Errors: as
/// above.
pub(crate) fn connect(counted: &mut Vec<Connected>, all: &Connections, principal: &Principal) -> Result<(), Limit> {
    if !principal.member().is_empty() && !counted.iter().any(|its| its.is_of(principal)) {
        counted.push(all.open(principal).inspect_err(|_| turned_away(TurnedAway::PastLimit))?);
    }
    Ok(())
}

/// Stops counting the connection for members that neither began it, nor have logged on over it, nor follow something
/// over it.
pub(crate) fn keeps_connected(logged_on: Option<&Asker>) {
    let _ = CURRENT.try_with(|asking| {
        let CurrentPrincipal { asker, followed, connected, .. } = &mut *asking.borrow_mut();
        let followed = followed.iter().map(|(asker, _)| asker);
        let its: Vec<&Asker> = followed.chain([&*asker]).chain(logged_on).collect();
        let is_its = |counted: &Connected| its.iter().any(|asker| counted.is_of(&asker.principal));
        connected.iter_mut().for_each(|connected| connected.retain(is_its));
    });
}

/// Restores the reads that a connection followed before a request that failed.
pub fn follows_again(before: Vec<(Asker, Read)>) {
    let _ = CURRENT.try_with(|asking| asking.borrow_mut().followed = before);
}

/// Removes a read from those that the connection follows.
pub fn leaves(read: Read) {
    let _ = CURRENT.try_with(|asking| asking.borrow_mut().followed.retain(|(_, its)| *its != read));
}

/// Whether every asker may still read what it follows, in this mode.
pub(crate) fn still_may(mode: Mode) -> bool {
    let may = |(asker, read): &(Asker, Read)| {
        let rights = asker.rights();
        rights.may_read(*read) && rights.may_look_in(mode)
    };
    let may_all = |asking: &RefCell<CurrentPrincipal>| asking.borrow().followed.iter().all(may);
    CURRENT.try_with(may_all).unwrap_or(true)
}
