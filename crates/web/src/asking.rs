//! Who asks what is being answered at the moment: it goes with the task, so that no handler has to hand it on, and none that
//! forgets it asks as somebody. Without an access file nobody is asked for.

use std::cell::{Cell, RefCell};

use exchange::{Connected, Connections, Limit, Mode, Principal, Read, TurnedAway};

pub(crate) use crate::members::Asker;

/// Who asks, and what they are being told from now on.
struct Asking {
    asker: Asker,
    /// What a connection follows, and as whom.
    followed: Vec<(Asker, Read)>,
    /// The message that is being answered was counted among its asker's.
    counted: bool,
    /// The connection that is spoken over, as it is counted among those of members; none of a request.
    connected: Option<Vec<Connected>>,
}

/// What a connection may follow in all, as different members: more than it may subscribe to.
const FOLLOWED_MAX: usize = 512;

tokio::task_local! {
    static ASKING: RefCell<Asking>;
    static TURNED_AWAY: Cell<Option<TurnedAway>>;
}

/// Does something as somebody.
pub(crate) async fn as_asker<T>(asker: Asker, work: impl Future<Output = T>) -> T {
    let asking = Asking { asker, followed: Vec::new(), counted: false, connected: None };
    ASKING.scope(RefCell::new(asking), work).await
}

/// Does something as somebody, if it is known as whom.
pub(crate) async fn as_whoever<T>(asker: Option<Asker>, work: impl Future<Output = T>) -> T {
    match asker {
        Some(asker) => as_asker(asker, work).await,
        None => work.await,
    }
}

/// Who asks; none where it is not known.
pub(crate) fn asker() -> Option<Asker> {
    ASKING.try_with(|asking| asking.borrow().asker.clone()).ok()
}

/// A member as whom the connection is told something; none if it is told nothing that only members are told.
pub(crate) fn told_as() -> Option<Asker> {
    let first = |asking: &RefCell<Asking>| {
        let asking = asking.borrow();
        let told = asking.followed.iter().map(|(asker, _)| asker);
        told.into_iter().find(|asker| !asker.principal.member().is_empty()).cloned()
    };
    ASKING.try_with(first).ok().flatten()
}

/// Counts a message of whoever asks. Errors: there were too many.
pub(crate) fn take_message() -> Result<(), Limit> {
    asker().map_or(Ok(()), |asker| take_message_as(&asker))
}

/// Takes a message of somebody who has proven who they are just now.
pub(crate) fn take_message_as(asker: &Asker) -> Result<(), Limit> {
    set_counted(true);
    asker.rights().limits.take_message().inspect_err(|_| turned_away(TurnedAway::PastLimit))
}

/// Counts the message that is being answered, unless that was done: each has one door at which it counts. One that asks
/// the exchange for something counts there, and not if it is refused before.
pub(crate) fn take_message_once() -> Result<(), Limit> {
    let was_counted = ASKING.try_with(|asking| asking.borrow().counted).unwrap_or(true);
    if was_counted { Ok(()) } else { take_message() }
}

/// Says whether the message that is being answered was counted.
pub(crate) fn set_counted(counted: bool) {
    let _ = ASKING.try_with(|asking| asking.borrow_mut().counted = counted);
}

/// What is done from now on is done as somebody else, who has proven it just now.
pub(crate) fn becomes(asker: Asker) {
    // Without an access file nobody is asked for.
    let _ = ASKING.try_with(|asking| asking.borrow_mut().asker = asker);
}

/// Answers something, and gives the reason why its client was turned away, if it was.
pub(crate) async fn noting<T>(work: impl Future<Output = T>) -> (T, Option<TurnedAway>) {
    let noted = async {
        let done = work.await;
        (done, take_turned_away())
    };
    TURNED_AWAY.scope(Cell::default(), noted).await
}

/// Notes the reason why the client is turned away that is being answered: the first one, but for a wrong proof, which
/// has to be known.
pub(crate) fn turned_away(why: TurnedAway) {
    let _ = TURNED_AWAY.try_with(|noted| {
        if noted.get().is_none() || why == TurnedAway::WrongProof {
            noted.set(Some(why));
        }
    });
}

/// The reason that was noted since this was last asked.
pub(crate) fn take_turned_away() -> Option<TurnedAway> {
    TURNED_AWAY.try_with(Cell::take).ok().flatten()
}

/// Notes what a connection is being told from now on, and as whom. False if that is too much.
pub(crate) fn follows(asker: Asker, read: Read) -> bool {
    let noted = ASKING.try_with(|asking| {
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

/// The reads that are followed so far, each with who may: by a connection, or by a request that becomes one.
pub(crate) fn followed() -> Vec<(Asker, Read)> {
    ASKING.try_with(|asking| asking.borrow().followed.clone()).unwrap_or_default()
}

/// A connection begins with what its request followed, and counts as it was counted.
pub(crate) fn begins(followed: Vec<(Asker, Read)>, connected: Vec<Connected>) {
    followed.into_iter().for_each(|(asker, read)| {
        follows(asker, read);
    });
    let _ = ASKING.try_with(|asking| asking.borrow_mut().connected = Some(connected));
}

/// Counts the connection that is spoken over among those of a member, once. A request counts when it becomes a
/// connection. Errors: the member has as many as it may have.
pub(crate) fn connects(all: &Connections, principal: &Principal) -> Result<(), Limit> {
    let counted = ASKING.try_with(|asking| match &mut asking.borrow_mut().connected {
        Some(connected) => connect(connected, all, principal),
        None => Ok(()),
    });
    counted.unwrap_or(Ok(()))
}

/// Counts a connection among those of a member, unless it is nobody's, or counts there. Errors: as above.
pub(crate) fn connect(counted: &mut Vec<Connected>, all: &Connections, principal: &Principal) -> Result<(), Limit> {
    if !principal.member().is_empty() && !counted.iter().any(|its| its.is_of(principal)) {
        counted.push(all.open(principal).inspect_err(|_| turned_away(TurnedAway::PastLimit))?);
    }
    Ok(())
}

/// Takes the connection out of those of members whose it is no more: that neither began it, nor have logged on over it,
/// nor are followed.
pub(crate) fn keeps_connected(logged_on: Option<&Asker>) {
    let _ = ASKING.try_with(|asking| {
        let Asking { asker, followed, connected, .. } = &mut *asking.borrow_mut();
        let followed = followed.iter().map(|(asker, _)| asker);
        let its: Vec<&Asker> = followed.chain([&*asker]).chain(logged_on).collect();
        let is_its = |counted: &Connected| its.iter().any(|asker| counted.is_of(&asker.principal));
        connected.iter_mut().for_each(|connected| connected.retain(is_its));
    });
}

/// Goes back to what a connection followed before a request that came to nothing.
pub(crate) fn follows_again(before: Vec<(Asker, Read)>) {
    let _ = ASKING.try_with(|asking| asking.borrow_mut().followed = before);
}

/// Ends what a connection is told of this.
pub(crate) fn leaves(read: Read) {
    let _ = ASKING.try_with(|asking| asking.borrow_mut().followed.retain(|(_, its)| *its != read));
}

/// Whether whoever is told something may still be told it, in this mode.
pub(crate) fn still_may(mode: Mode) -> bool {
    let may = |(asker, read): &(Asker, Read)| {
        let rights = asker.rights();
        rights.may_read(*read) && rights.may_look_in(mode)
    };
    let may_all = |asking: &RefCell<Asking>| asking.borrow().followed.iter().all(may);
    ASKING.try_with(may_all).unwrap_or(true)
}
