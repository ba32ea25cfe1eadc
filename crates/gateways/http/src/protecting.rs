//! Cancel on disconnect over a WebSocket: while it is open, the accounts that it protects keep their orders.

use exchange::{PROTECTED_ACCOUNTS_MAX, ProtectorId};
use serde_json::{Value, json};
use terms::{AccountId, Command, Grace, Op};

use crate::app_state::AppState;
use crate::input;
use crate::problem::{self, Problem};
use crate::shared_text::SharedText;
use crate::submitter::Submitter;

/// A request about protection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Protection {
    /// Protects these accounts.
    Protect(Vec<AccountId>, Grace),
    /// Ends their protection.
    Unprotect(Vec<AccountId>),
}

/// A connection that protects accounts. It departs when it is dropped, however its conversation ended.
pub(crate) struct Protector {
    id: ProtectorId,
    submitter: Submitter,
}

impl Drop for Protector {
    fn drop(&mut self) {
        self.submitter.depart(self.id);
    }
}

/// Reads the accounts of a request. Errors: the fault of the field.
pub(crate) fn accounts(request: &Value) -> Result<Vec<AccountId>, Problem> {
    let missing = || Problem::field("accounts", "accounts is missing, or no list of strings");
    let listed = request.get("accounts").and_then(Value::as_array).ok_or_else(missing)?;
    if listed.is_empty() || listed.len() > PROTECTED_ACCOUNTS_MAX {
        let detail = format!("accounts has {} accounts; 1 to {PROTECTED_ACCOUNTS_MAX} are taken", listed.len());
        return Err(Problem::field("accounts", detail));
    }
    let mut accounts = Vec::with_capacity(listed.len());
    for account in listed {
        let text = account.as_str().ok_or_else(missing)?;
        accounts.push(input::account(text).map_err(|problem| problem.within("accounts"))?);
    }
    Ok(accounts)
}

/// Reads a request. Errors: the field that is wrong.
pub(crate) fn read(op: &str, request: &Value) -> Result<Protection, Problem> {
    let accounts = accounts(request)?;
    match (op, request.get("grace")) {
        ("unprotect", None) => Ok(Protection::Unprotect(accounts)),
        ("unprotect", Some(_)) => Err(Problem::field("grace", "unprotect has no grace")),
        (_, given) => {
            let text = given.and_then(Value::as_str);
            let text = text.ok_or_else(|| Problem::field("grace", "grace is missing, or no string"))?;
            let grace = Grace::parse(text.as_bytes()).map_err(|why| Problem::field("grace", format!("grace {why}")))?;
            Ok(Protection::Protect(accounts, grace))
        }
    }
}

/// Performs it. Errors: the refusal of the first account that failed; the others are done.
pub(crate) async fn change(
    app: &AppState,
    protector: &mut Option<Protector>,
    asked: &Protection,
    request: &Value,
) -> Result<SharedText, Problem> {
    let submitter = app.submitter()?;
    let id = match protector {
        Some(protector) => protector.id,
        None => {
            let id = ProtectorId::new();
            *protector = Some(Protector { id, submitter: submitter.clone() });
            id
        }
    };
    let (kind, accounts, grace) = match asked {
        Protection::Protect(accounts, grace) => ("protected", accounts, Some(*grace)),
        Protection::Unprotect(accounts) => ("unprotected", accounts, None),
    };
    let command = |account| match grace {
        Some(grace) => Command::Protect { account, grace },
        None => Command::Unprotect { account, is_lost: false, through: None },
    };
    let ops: Vec<Op> = accounts.iter().map(|&account| Op::Command(command(account))).collect();
    let answers = submitter.ask_on(&ops, id).await.map_err(|_| Problem::unknown_outcome())?;
    for (account, answer) in accounts.iter().zip(answers) {
        problem::reply(answer).map_err(|mut why| {
            why.detail = format!("account {account}: {}", why.detail);
            why
        })?;
    }
    Ok(told(kind, request))
}

fn told(kind: &'static str, request: &Value) -> SharedText {
    let mut told = json!({"type": kind});
    for field in ["id", "accounts", "grace"] {
        if let Some(value) = request.get(field) {
            told[field] = value.clone();
        }
    }
    crate::json::text(&told).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_a_request_is_named_by_its_field() {
        let asked = |op: &str, request: Value| read(op, &request).map_err(|problem| problem.detail);
        let accounts = vec![AccountId::parse(b"1").expect("a digit"), AccountId::parse(b"2").expect("a digit")];
        let grace = Grace::from_millis(5_000).expect("it is in bounds");
        let both = json!({"accounts": ["1", "2"], "grace": "5s"});
        assert_eq!(asked("protect", both.clone()), Ok(Protection::Protect(accounts.clone(), grace)));
        assert_eq!(asked("unprotect", json!({"accounts": ["1", "2"]})), Ok(Protection::Unprotect(accounts)));
        let wrong = [
            ("protect", json!({"grace": "5s"}), "accounts is missing"),
            ("protect", json!({"accounts": [], "grace": "5s"}), "accounts has 0 accounts"),
            ("protect", json!({"accounts": vec!["1"; 1_001], "grace": "5s"}), "accounts has 1001 accounts"),
            ("protect", json!({"accounts": [1], "grace": "5s"}), "accounts is missing"),
            ("protect", json!({"accounts": ["x"], "grace": "5s"}), "account"),
            ("protect", json!({"accounts": ["1"]}), "grace is missing"),
            ("protect", json!({"accounts": ["1"], "grace": "61s"}), "grace is not a time from 0s to 60s"),
            ("unprotect", both, "unprotect has no grace"),
        ];
        for (op, request, why) in wrong {
            let found = asked(op, request.clone()).expect_err("it is wrong");
            assert!(found.contains(why), "{request}: {found}");
        }
    }
}
