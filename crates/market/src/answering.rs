//! Answers one batch from the engine: applies the admitted commands and answers the queries, within bounds on the
//! number of executions. It neither orders nor keeps anything: its caller has decided what is admitted, and holds the
//! answers until they may leave.

use engine::{Command, Engine, Event, Execution, Op, Reply, Sequence, Time};
use exchange::{Answer, Batch, Unavailable};

use crate::admission::Decision;
use crate::protection::unchanging;

/// Bounds on what answers may take.
#[derive(Clone, Copy, Debug)]
pub struct AnswerLimits {
    /// Executions that the answers to one request may have.
    pub request_executions_max: usize,
}

/// A listener to what a batch does.
pub trait Told {
    /// Takes an event of a command.
    fn event(&mut self, sequence: Sequence, event: Event);

    /// Called when a command of a request is applied, and `next` comes behind it, if anything does.
    #[inline]
    fn command_applied(&mut self, _: &Engine, _next: Option<&Op>) {}

    /// Called when all of a request is applied.
    fn request_applied(&mut self, engine: &Engine);
}

/// A listener to events alone.
impl<F: FnMut(Sequence, Event)> Told for F {
    #[inline]
    fn event(&mut self, sequence: Sequence, event: Event) {
        self(sequence, event);
    }

    #[inline]
    fn request_applied(&mut self, _: &Engine) {}
}

/// So many requests of one batch may each have as many executions as one request may have.
const LONG_REQUESTS_MAX: usize = 2;
/// An order with at most so many executions is shown whatever else its batch holds, so that nobody's short answer is
/// refused because of another's long ones.
const SHORT_EXECUTIONS: usize = 16;

/// Applies the commands of `batch` that were let in and answers all of it, in order. `decisions` says for each command what
/// becomes of it. Events go to `told`.
pub fn answer(
    engine: &mut Engine,
    limits: AnswerLimits,
    batch: &mut Batch,
    time: Time,
    decisions: &mut impl Iterator<Item = Decision>,
    told: &mut impl Told,
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
                        Decision::LetIn => {
                            let sequence = engine.sequence().next();
                            let mut events = |event| told.event(sequence, event);
                            let reply = engine.apply_command(sequence, time, command, executions, &mut events);
                            told.command_applied(engine, ops.get(index + 1));
                            Answer::Reply(reply)
                        }
                        Decision::Vain => Answer::Reply(vain(engine, command)),
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

/// What a command is told that changes nothing: as a cancel that finds nothing open.
#[cold]
fn vain(engine: &mut Engine, command: &Command) -> Reply {
    let newest = engine.newest_order();
    let none = |is_left: bool, newest| Reply::CanceledAll {
        orders: 0,
        left: is_left.then_some(newest),
        sequence: Sequence::ZERO,
    };
    // One of the same turn before it has canceled some, and may have left others.
    if let Command::CancelAll { account, symbol, through } = *command {
        let newest = through.map_or(newest, |through| through.min(newest));
        let found = engine.would_cancel_any(account, symbol, through);
        return found.map_or_else(Reply::Rejected, |is_left| none(is_left, newest));
    }
    if let Command::Kill { scope } = *command {
        let found = engine.is_killed(scope);
        assert!(found != Ok(false), "invariant: what changes something is let in");
        return engine.goes_on(scope).map_or_else(Reply::Rejected, |is_left| none(is_left, newest));
    }
    if let Some(told) = unchanging(engine, command) {
        return told;
    }
    let told = engine.would_cancel(command).and_then(Result::err);
    told.expect("invariant: what would cancel something is let in")
}

/// How many executions may still be answered, so that neither a reply nor the memory of a batch grows past its bound.
struct ExecutionBudget {
    request_max: usize,
    /// What is left to the request. A query that does not fit closes it for the queries after it.
    request: usize,
    /// Left to all requests of the batch together.
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

    /// To find out that an order does not fit costs as much as there is room. So the bound that it met is closed, and
    /// thousands of such queries do not each pay that cost.
    fn refused(&mut self) {
        if self.request <= self.batch.max(SHORT_EXECUTIONS) {
            self.request = 0;
        } else {
            self.batch = 0;
        }
    }
}
