//! Answers one gateway batch from the engine: applies what was let in, looks up what is asked, within the bounds of a reply.
//! It neither orders nor keeps anything: whoever calls it has decided what is let in, and keeps the answers until they may
//! leave.

use engine::{Command, Engine, Event, Execution, Op, Reply, Sequence, Time};
use wire::{Answer, EXECUTED_BYTES_MIN, Requests, Unavailable};

use crate::admission::Decision;

/// One gateway batch, as the sequencer sees it: what is asked, and where the answers go.
pub struct Work<'a> {
    /// The requests of one gateway turn.
    pub requests: &'a Requests,
    /// Gets one answer an op, in order.
    pub answers: &'a mut Vec<Answer>,
    /// Gets the executions that answers refer to.
    pub executions: &'a mut Vec<Execution>,
}

/// Bounds of what a turn may answer.
#[derive(Clone, Copy, Debug)]
pub struct ReplyLimits {
    /// The longest reply in bytes.
    pub reply_bytes_max: usize,
}

/// Executions held for the replies of one batch: the room of a few of the longest replies.
const BATCH_REPLIES_MAX: usize = 2;
/// An order with so few executions is shown whatever else its batch holds: nobody's short answer is refused because of
/// another's long ones.
const SHORT_EXECUTIONS: usize = 16;

/// Applies the commands of `work` that were let in and answers all of it, in order. `decisions` says for each command what
/// becomes of it. Events go to `events`.
pub fn answer(
    engine: &mut Engine,
    limits: ReplyLimits,
    work: &mut Work<'_>,
    time: Time,
    decisions: &mut impl Iterator<Item = Decision>,
    events: &mut impl FnMut(Sequence, Event),
) {
    let mut room = Room::of_batch(limits.reply_bytes_max);
    let ops = work.requests.ops();
    for request in 0..work.requests.len() {
        room.begin_request();
        for index in work.requests.ops_of(request) {
            if index.is_multiple_of(engine::AHEAD) && engine.is_far() {
                engine.look_ahead(&ops[index..ops.len().min(index + engine::AHEAD)]);
            }
            let answer = match &ops[index] {
                Op::Command(command) => {
                    match decisions.next().expect("invariant: it was decided of the same commands") {
                        Decision::LetIn => {
                            let sequence = engine.sequence().next();
                            let mut events = |event| events(sequence, event);
                            Answer::Reply(engine.apply_command(sequence, time, command, work.executions, &mut events))
                        }
                        Decision::Vain => Answer::Reply(vain(engine, command)),
                        Decision::Refused(why) => Answer::Unavailable(why),
                    }
                }
                Op::Query(query) => room.within(work.executions, |executions_max, executions| {
                    engine.query_within(query, executions_max, executions)
                }),
                Op::ClientQuery(query) => room.within(work.executions, |executions_max, executions| {
                    engine.client_query_within(query, executions_max, executions)
                }),
            };
            work.answers.push(answer);
        }
    }
}

/// What a cancel is told that finds nothing open.
#[cold]
fn vain(engine: &Engine, command: &Command) -> Reply {
    let told = engine.would_cancel(command).and_then(Result::err);
    told.expect("invariant: what would cancel something is let in")
}

/// How many executions may still be answered, so that neither a reply nor the memory of a batch grows past its bound.
struct Room {
    reply_max: usize,
    /// Left to the request; a query that does not fit closes it for those behind it.
    request: usize,
    /// Left to all requests of the batch together.
    batch: usize,
}

impl Room {
    fn of_batch(reply_bytes_max: usize) -> Room {
        let reply_max = reply_bytes_max / EXECUTED_BYTES_MIN;
        Room { reply_max, request: reply_max, batch: reply_max.saturating_mul(BATCH_REPLIES_MAX) }
    }

    fn begin_request(&mut self) {
        self.request = self.reply_max;
    }

    /// Answers a query if what it appends to `executions` fits.
    fn within(
        &mut self,
        executions: &mut Vec<Execution>,
        query: impl FnOnce(usize, &mut Vec<Execution>) -> Option<Reply>,
    ) -> Answer {
        let before = executions.len();
        match query(self.executions(), executions) {
            Some(reply) => {
                self.take(executions.len() - before);
                Answer::Reply(reply)
            }
            None => {
                self.refused();
                Answer::Unavailable(Unavailable::ReplyTooLarge)
            }
        }
    }

    fn executions(&self) -> usize {
        self.request.min(self.batch.max(SHORT_EXECUTIONS))
    }

    fn take(&mut self, executions: usize) {
        self.request = self.request.saturating_sub(executions);
        self.batch = self.batch.saturating_sub(executions);
    }

    /// Finding out that an order does not fit costs as much as there is room: whichever bound it met is closed, so that
    /// thousands of such queries do not each pay for that.
    fn refused(&mut self) {
        if self.request <= self.batch.max(SHORT_EXECUTIONS) {
            self.request = 0;
        } else {
            self.batch = 0;
        }
    }
}
