//! Who asks what is being answered at the moment: it goes with the task, so that no handler has to hand it on, and none that
//! forgets it asks as somebody. Without an access file nobody is asked for.

use std::cell::RefCell;

use exchange::{Limit, Mode, Read};

pub(crate) use crate::members::Asker;

/// Who asks, and what they are being told from now on.
struct Asking {
    asker: Asker,
    /// What a connection follows, and as whom.
    followed: Vec<(Asker, Read)>,
    /// Somebody else's signature was claimed.
    wrong: bool,
    /// The message that is being answered was counted among its asker's.
    counted: bool,
}

/// What a connection may follow in all, as different members: more than it may subscribe to.
const FOLLOWED_MAX: usize = 512;

tokio::task_local! {
    static ASKING: RefCell<Asking>;
}

/// Does something as somebody.
pub(crate) async fn as_asker<T>(asker: Asker, work: impl Future<Output = T>) -> T {
    ASKING.scope(RefCell::new(Asking { asker, followed: Vec::new(), wrong: false, counted: false }), work).await
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
    set_counted(true);
    asker().map_or(Ok(()), |asker| asker.rights().limits.take_message())
}

/// The same of somebody who has proven it just now.
pub(crate) fn take_message_as(asker: &Asker) -> Result<(), Limit> {
    set_counted(true);
    asker.rights().limits.take_message()
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

/// Notes that a signature was wrong.
pub(crate) fn claimed_wrongly() {
    let _ = ASKING.try_with(|asking| asking.borrow_mut().wrong = true);
}

/// Whether one was, since this was last asked.
pub(crate) fn was_wrong() -> bool {
    ASKING.try_with(|asking| std::mem::take(&mut asking.borrow_mut().wrong)).unwrap_or_default()
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

/// What is followed so far: by a request that becomes a connection.
pub(crate) fn followed() -> Vec<(Asker, Read)> {
    ASKING.try_with(|asking| asking.borrow().followed.clone()).unwrap_or_default()
}

/// A connection begins with what its request followed.
pub(crate) fn follows_all(followed: Vec<(Asker, Read)>) {
    followed.into_iter().for_each(|(asker, read)| {
        follows(asker, read);
    });
}

/// A connection is no longer told this.
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
