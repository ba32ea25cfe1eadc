//! Changes of members by operators: beside the event loop, and one after the other.

use std::sync::Arc;

use access::{Access, Author, Change, Unchanged};
use exchange::Unavailable;

use super::Members;
use crate::problem::Problem;
use crate::problem_code::Code;

/// The author of a change, for the record.
pub(crate) struct Editor {
    pub(crate) name: String,
    pub(crate) from: String,
}

/// The file of members, for work that may wait for the disk.
pub(crate) struct Editing {
    access: Access,
    editor: Editor,
}

impl Editing {
    pub(crate) fn change(&self, change: &Change<'_>) -> Result<(), Problem> {
        let Editor { name, from } = &self.editor;
        self.access.change(change, Author { name, from }).map_err(|why| refusal(change, &why))
    }

    pub(crate) fn member(&self, name: &str) -> Result<access::ListedMember, Problem> {
        listed(&self.access)?.into_iter().find(|member| member.name == name).ok_or_else(unknown_member)
    }
}

impl Members {
    /// Lists all members of the file for a member, beside edits: a list of many members delays no revocation.
    pub(crate) async fn list(&self, asker: &str) -> Result<Vec<access::ListedMember>, Problem> {
        // The turn lasts until the file is read, also when the client has hung up.
        let (turn, access) = (self.listing.take(asker).await, self.access.clone());
        let read = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            listed(&access)
        });
        read.await.map_err(|_| Problem::not_ready())?
    }

    /// Runs `work` on the file of members, once earlier edits are done. It takes longer the more members there are.
    pub(crate) async fn edit<T: Send + 'static>(
        &self,
        editor: Editor,
        work: impl FnOnce(&Editing) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Problem> {
        // The permit is held until the work is done, also when the client has hung up.
        let turn = Arc::clone(&self.editing).acquire_owned().await.map_err(|_| Problem::not_ready())?;
        let editing = Editing { access: self.access.clone(), editor };
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work(&editing)
        });
        done.await.map_err(|_| Problem::not_ready())?
    }
}

fn listed(access: &Access) -> Result<Vec<access::ListedMember>, Problem> {
    access.listed().map_err(|why| unwritable(&why))
}

fn refusal(change: &Change<'_>, why: &Unchanged) -> Problem {
    match why {
        Unchanged::Unknown if matches!(change, Change::Revoked(access::Revoked::Key(_))) => unknown_key(),
        Unchanged::Unknown => unknown_member(),
        Unchanged::IsThere => Problem::new(Code::MemberExists, why.to_string()),
        Unchanged::NoOperator => Problem::new(Code::LastOperator, why.to_string()),
        Unchanged::WrittenOtherwise | Unchanged::BeingEdited => Problem::new(Code::WrittenOtherwise, why.to_string()),
        Unchanged::Wrong(why) => wrong(why),
        Unchanged::Failed(why) => unwritable(why),
        Unchanged::Away(_) => {
            tracing::warn!(%why, "members were not changed");
            Problem::unavailable(Unavailable::StoreAway)
        }
        Unchanged::InDoubt => Problem::new(Code::OutcomeUnknown, why.to_string()),
        Unchanged::ReadOnly => Problem::unavailable(Unavailable::ReadOnlyNode),
    }
}

pub(crate) fn unknown_member() -> Problem {
    Problem::new(Code::UnknownMember, "there is no member of this name")
}

pub(crate) fn unknown_key() -> Problem {
    Problem::new(Code::UnknownKey, "the member has no key with this id")
}

/// Makes the refusal of a wrong change. The file's error names the line, the member and the field; the client knows the
/// field.
fn wrong(why: &str) -> Problem {
    let why = why.rsplit_once("\": ").map_or(why, |(_, why)| why);
    let field = why.split(' ').next().unwrap_or_default();
    match FIELDS.contains(&field.split('.').next().unwrap_or_default()) {
        true => Problem::field(field, why),
        false => Problem::malformed(why),
    }
}

const FIELDS: [&str; 6] = ["name", "roles", "accounts", "limits", "id", "expires"];

/// Makes the refusal where the file cannot be written. The log gets the cause.
fn unwritable(why: &str) -> Problem {
    tracing::error!(%why, "the access file cannot be changed or read for an operator");
    let detail = "the access file cannot be changed or read; the server's log says why";
    Problem::new(Code::MembersUnwritable, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_told_with_its_field_and_without_the_files_line() {
        for (said, told) in [
            (
                "line 7: member \"alice\": limits.order_shares has 9 decimal places; at most 8",
                "limits.order_shares has 9 decimal places; at most 8",
            ),
            ("line 7: member \"al ice\": name has other characters", "name has other characters"),
            ("expires must be like 2027", "expires must be like 2027"),
        ] {
            let field = told.split(' ').next().unwrap_or_default();
            assert_eq!(wrong(said), Problem::field(field, told));
        }
        let same = "line 7: member \"alice\": key \"k\": an earlier one has the same id";
        assert_eq!(wrong(same), Problem::malformed("an earlier one has the same id"));
    }

    /// A list of all members waited for the edits before it, and edits waited for it, among them revocations.
    #[tokio::test]
    async fn a_list_and_an_edit_do_not_wait_for_each_other() {
        let access = Access::parse("[[member]]\nname = \"alice\"\nroles = [\"operator\"]\n").expect("an access file");
        let members = Members::new(access, None);
        let _edit = Arc::clone(&members.editing).acquire_owned().await.expect("it is free");
        assert_eq!(members.list("otto").await.expect("it has no file").len(), 0);
    }
}
