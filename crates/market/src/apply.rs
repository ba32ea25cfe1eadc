//! Answers one batch from the engine: applies the admitted commands and answers the queries, within bounds on the
//! number of executions. It neither orders nor keeps commands: its caller has decided what is admitted, and holds the
//! answers until they may leave.

use engine::Engine;
use exchange::{Answer, Batch, Unavailable, keep_unless_placed};
use terms::{Bond, Command, Event, Execution, KillScope, Op, Reply, Sequence, Time};

use crate::admission::Decision;
use crate::protection::unchanging;

/// Bounds on answers.
#[derive(Clone, Copy, Debug)]
pub struct AnswerLimits {
    /// The most executions in the answers to one request.
    pub request_executions_max: usize,
}

/// A listener to the effects of a batch.
pub trait EffectListener {
    /// Takes an event of a command.
    fn event(&mut self, sequence: Sequence, event: Event);

    /// Called after a command of a request was applied; `next` is the op behind it, if there is one.
    #[inline]
    fn command_applied(&mut self, _: &Engine, _next: Option<&Op>) {}

    /// Called after a whole request was applied.
    fn request_applied(&mut self, engine: &Engine);
}

/// A listener to events alone.
impl<F: FnMut(Sequence, Event)> EffectListener for F {
    #[inline]
    fn event(&mut self, sequence: Sequence, event: Event) {
        self(sequence, event);
    }

    #[inline]
    fn request_applied(&mut self, _: &Engine) {}
}

/// The number of requests in a batch that may each have as many executions as one request may.
const LONG_REQUESTS_MAX: usize = 2;
/// The number of executions up to which an order is shown whatever else its batch holds, so that long answers do not
/// cause the refusal of another client's short one.
const SHORT_EXECUTIONS: usize = 16;

/// Applies the admitted commands of `batch` and answers all its ops, in order. `decisions` has the decision on each
/// command. Events go to `told`.
pub fn answer(
    engine: &mut Engine,
    limits: AnswerLimits,
    batch: &mut Batch,
    time: Time,
    decisions: &mut impl Iterator<Item = Decision>,
    told: &mut impl EffectListener,
) {
    let Batch { requests, answers, executions, .. } = batch;
    let mut budget = ExecutionBudget::of_batch(limits);
    let ops = requests.ops();
    for request in 0..requests.len() {
        budget.begin_request();
        for index in requests.ops_of(request) {
            if index.is_multiple_of(engine::AHEAD) && engine.is_far() {
                engine.look_ahead(&ops[index..ops.len().min(index + engine::AHEAD)]);
            }
            let answer = match &ops[index] {
                Op::Command(command) => {
                    match decisions.next().expect("invariant: it was decided of the same commands") {
                        Decision::Admitted => {
                            let sequence = engine.sequence().next();
                            let mut events = |event| told.event(sequence, event);
                            let reply = engine.apply_command(sequence, time, command, executions, &mut events);
                            told.command_applied(engine, ops.get(index + 1));
                            if !matches!(reply, Reply::Opened(_))
                                && command.bond() == Some(Bond::Replacing)
                                && let Some(Answer::Reply(replaced)) = answers.last_mut()
                            {
                                keep_unless_placed(replaced, &reply);
                            }
                            Answer::Reply(reply)
                        }
                        Decision::NoEffect => vain(engine, command),
                        Decision::Rejected(reject) => Answer::Reply(Reply::Rejected(reject)),
                        Decision::Denied => {
                            Answer::from(requests.denial(index).expect("invariant: what is denied has a reason"))
                        }
                        Decision::Refused(why) => Answer::Unavailable(why),
                    }
                }
                Op::Query(query) => match requests.denial(index) {
                    Some(denial) => Answer::from(denial),
                    None => budget.within(executions, |executions_max, executions| {
                        engine.query_within(query, executions_max, executions)
                    }),
                },
            };
            answers.push(answer);
        }
        told.request_applied(engine);
    }
}

/// The answer to a command that changed nothing when admission looked, such as a cancel that found nothing open.
/// Commands of other nodes may have come since: where it would change something now, it is refused, and can be sent
/// again.
#[cold]
fn vain(engine: &mut Engine, command: &Command) -> Answer {
    let newest = engine.newest_order();
    let none = |is_left: bool, newest| Reply::CanceledAll {
        orders: 0,
        left: is_left.then_some(newest),
        sequence: Sequence::ZERO,
    };
    // An earlier command of the same turn has canceled some orders, and may have left others.
    if let Command::CancelAll { account, symbol, through } = *command {
        let newest = through.map_or(newest, |through| through.min(newest));
        let found = engine.would_cancel_any(account, symbol, through);
        return Answer::Reply(found.map_or_else(Reply::Rejected, |is_left| none(is_left, newest)));
    }
    if let Some(scope) = killed_scope(command) {
        if engine.is_killed(scope) == Ok(false) {
            return Answer::Unavailable(Unavailable::DiskLow);
        }
        return Answer::Reply(engine.goes_on(scope).map_or_else(Reply::Rejected, |is_left| none(is_left, newest)));
    }
    if let Some(told) = unchanging(engine, command) {
        return Answer::Reply(told);
    }
    match engine.would_cancel(command) {
        Some(Err(told)) => Answer::Reply(told),
        Some(Ok(_)) | None => Answer::Unavailable(Unavailable::DiskLow),
    }
}

/// The scope that a command kills, alone or together with others.
fn killed_scope(command: &Command) -> Option<KillScope> {
    if let Command::Kill { scope } = *command {
        return Some(scope);
    }
    if let Command::KillTogether { account, .. } = *command { Some(KillScope::Account(account)) } else { None }
}

/// The number of executions that answers may still have, which bounds replies and the memory of a batch.
struct ExecutionBudget {
    request_max: usize,
    /// The executions left to the request. A query that does not fit closes it for the queries behind it.
    request: usize,
    /// The executions left to all requests of the batch together.
    batch: usize,
}

impl ExecutionBudget {
    fn of_batch(limits: AnswerLimits) -> ExecutionBudget {
        let request_max = limits.request_executions_max;
        ExecutionBudget { request_max, request: request_max, batch: request_max.saturating_mul(LONG_REQUESTS_MAX) }
    }

    fn begin_request(&mut self) {
        self.request = self.request_max;
    }

    /// Answers a query if the executions that it appends fit.
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

    /// Closes the bound that an order's executions exceeded. To find out that they do not fit costs as much as there is
    /// room, and thousands of such queries should not each pay that.
    fn refused(&mut self) {
        if self.request <= self.batch.max(SHORT_EXECUTIONS) {
            self.request = 0;
        } else {
            self.batch = 0;
        }
    }
}
