//! Helpers for the tests of requests and replies: the ops of a request, and its reply when everything is accepted.

use exchange::Answer;
use terms::{Among, Command, Op, OrderId, Reply, Sequence, Shares, Status};
use xml::{Documents, Limits, ReplyLimits, write_reply};

pub const LIMITS: Limits = Limits { children_max: 10_000 };
pub const REPLY_LIMITS: ReplyLimits = ReplyLimits { reply_bytes_max: 1 << 24, length_line: false };

pub fn parse(body: impl AsRef<[u8]>) -> Documents {
    let mut documents = Documents::new();
    documents.parse(body.as_ref(), &LIMITS);
    assert_eq!(documents.requests.len(), 1);
    documents
}

pub fn ops(body: impl AsRef<[u8]>) -> Vec<Op> {
    parse(body).requests.ops().to_vec()
}

pub fn commands(body: impl AsRef<[u8]>) -> Vec<Command> {
    let command = |op: Op| match op {
        Op::Command(command) => command,
        Op::Query(_) => panic!("{op:?} is no command"),
    };
    ops(body).into_iter().map(command).collect()
}

/// Returns the answers of an exchange that accepts everything: orders are 1, 2, 3 …, and nothing ever executes.
pub fn accept(ops: &[Op]) -> Vec<Answer> {
    let mut orders = 0;
    let (order, open, executions) = (OrderId(7), Shares::ZERO, 0..0);
    let nothing = Status { order, open, terms: None, canceled: None, executions, elsewhere: None };
    let mut accept = |op: &Op| match op {
        Op::Query(_) => Reply::Status(nothing.clone()),
        Op::Command(Command::CancelOrder { .. } | Command::ReplaceOrder { .. }) => Reply::Canceled(nothing.clone()),
        Op::Command(Command::Amend(one)) => {
            Reply::Amended { order: OrderId(7), open: one.shares().unwrap_or(Shares::ZERO) }
        }
        Op::Command(Command::AmendOrder { shares, .. }) => Reply::Amended { order: OrderId(7), open: *shares },
        Op::Command(
            Command::CancelAll { .. } | Command::Kill { .. } | Command::KillTogether { among: Among::Last, .. },
        ) => Reply::CanceledAll { orders: 3, left: None, sequence: Sequence(1) },
        Op::Command(Command::FreeClientOrderId { .. }) => Reply::Freed(OrderId(7)),
        Op::Command(
            Command::Place(_)
            | Command::ActivateReached
            | Command::TakeMessage(_)
            | Command::ExpireOrders
            | Command::EndAuction
            | Command::FollowCalendar { .. },
        ) => {
            orders += 1;
            Reply::Opened(OrderId(orders))
        }
        Op::Command(
            Command::CreateAccount { .. }
            | Command::CreateSymbol { .. }
            | Command::IssueShares { .. }
            | Command::FundAccount { .. }
            | Command::Deposit { .. }
            | Command::DepositFrom { .. }
            | Command::Withdraw { .. }
            | Command::CloseAccount { .. }
            | Command::GiveShares { .. }
            | Command::ChangeRules { .. }
            | Command::ChangeFees { .. }
            | Command::ChangeTier { .. }
            | Command::ChangeGroup { .. }
            | Command::ChangePhase { .. }
            | Command::Release { .. }
            | Command::KillTogether { .. }
            | Command::ReleaseTogether { .. }
            | Command::Protect { .. }
            | Command::Unprotect { .. }
            | Command::ChangeLimits { .. },
        ) => Reply::Created,
    };
    ops.iter().map(|op| Answer::Reply(accept(op))).collect()
}

/// Returns the elements of the reply, without the root and the newline around them.
pub fn reply_with(documents: &Documents, answers: &[Answer]) -> String {
    let mut out = Vec::new();
    write_reply(&mut out, documents, 0, answers, &[], &REPLY_LIMITS);
    let reply = String::from_utf8(out).unwrap();
    roxmltree::Document::parse(&reply).unwrap();
    reply.strip_prefix("<results>").unwrap().strip_suffix("</results>\n").unwrap().to_string()
}

/// Returns the elements of the reply of an exchange that accepts everything.
pub fn reply(body: impl AsRef<[u8]>) -> String {
    let documents = parse(body);
    let answers = accept(documents.requests.ops());
    reply_with(&documents, &answers)
}

/// Checks the answer to the children of a `create`.
#[track_caller]
pub fn check_create(children: &str, expected: &str) {
    assert_eq!(reply(format!("<create>{children}</create>")), expected, "{children}");
}

/// Checks the answer to the children of `transactions` of account 1.
#[track_caller]
pub fn check_transactions(children: &str, expected: &str) {
    assert_eq!(reply(format!("<transactions id=\"1\">{children}</transactions>")), expected, "{children}");
}

/// Checks that a document is refused whole: no ops, and one error with the reason.
#[track_caller]
pub fn check_refused(body: impl AsRef<[u8]>, why: &str) {
    let body = body.as_ref();
    let shown = String::from_utf8_lossy(body);
    assert_eq!(ops(body), [], "{shown}");
    assert_eq!(reply(body), format!("<error>{why}</error>"), "{shown}");
}
