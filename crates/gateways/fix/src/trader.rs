//! The trader of a session: submits its orders, and reports what happens to the orders of its accounts.

use std::collections::{HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use access::{Access, turn_away};
use exchange::{Answer, Caller, GatewayMetrics, Limit, Mode, Principal, Read, TurnedAway};
use terms::{
    AccountId, ClientOrderId, Command, Deadline, Executed, Execution, Op, OrderId, Query, Reject, Reply, Sequence,
    Shares, Side, Symbol,
};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::answers::Answers;
use crate::awaited_changes::AwaitedChanges;
use crate::coming_accounts::ComingAccounts;
use crate::day_orders::DayOrders;
use crate::market::{FixBackend, Requester, Unknown, done_order};
use crate::message::{Fault, Fields, Message};
use crate::open_orders::{self, Listed, Looked};
use crate::order_fields::{Change, OrderRef};
use crate::orders::{ClientRequest, Placing};
use crate::past_reports::{Untold, past_happenings};
use crate::reasons::{BusinessRejectReason, CxlRejReason, MassCancelRejectReason, OrdRejReason, SessionRejectReason};
use crate::report_queues::{Model, QueuedReports, ReportQueue};
use crate::reports::{AskedFor, Happening, Names, OrderSnapshot, side};
use crate::session::{Session, third_parties};
use crate::tags;
use crate::times;

mod amend;

/// Accounts that one session listens to, at most.
const ACCOUNTS_MAX: usize = 1_000;
/// Reports that a session missed and is told at its Logon, at most.
const CAUGHT_UP_MAX: usize = 1 << 15;
/// Time between two checks whether a session may go on in which nothing comes.
const CHECKED_EVERY: Duration = Duration::from_millis(250);
/// The text that a session gets where the feed has failed.
pub(crate) const NO_FEED: &str =
    "the server has no feed any more, by a fault of its own: trade over XML until it is started again";
/// The reason for a session whose key was revoked, or has expired.
const LOST_KEY: &str = "the key of this session counts no more";
/// The text of a refused order whose name an amendment gave to another one.
const NAME_OF_AN_AMENDED_ORDER: &str = "this ClOrdID(11) is what an order is called since it was amended";
/// Open orders of which the reports are made at once, some 50 KB. Further ones follow when these are sent.
const LISTED_AT_ONCE: usize = 128;
/// Ops that are submitted together, at most.
pub(crate) const TOGETHER_MAX: usize = 256;

pub(crate) struct Trader {
    market: FixBackend,
    /// `None` where everybody may do everything.
    principal: Option<Principal>,
    address: IpAddr,
    caller: Option<Arc<Caller>>,
    /// The account of messages that name none.
    own: Option<AccountId>,
    queue: Arc<ReportQueue>,
    listened: HashSet<AccountId>,
    /// The member's accounts to which the session does not listen yet.
    coming: ComingAccounts,
    /// The time of the last look for them.
    looked_for: Instant,
    changes: AwaitedChanges,
    days: DayOrders,
    /// The names of amended orders, by the order; `orders` has them the other way round.
    names: HashMap<OrderId, String>,
    orders: HashMap<String, OrderId>,
    /// The time at which this trader began and the number of orders that were refused since: their reports get their
    /// ExecIDs from both.
    began: u64,
    refused: u64,
    /// Reports that came and were not told yet, and the number of those in the first batch that were.
    untold: VecDeque<QueuedReports>,
    told_of_first: usize,
    /// The commands up to which the reports of each account are told.
    positions: HashMap<AccountId, Sequence>,
    /// The positions that the session does not know yet.
    unnoted: Vec<(AccountId, Sequence)>,
    /// The rest of an answer to an OrderMassStatusRequest.
    listing: Option<Listing>,
}

/// The rest of a list of open orders.
struct Listing {
    id: String,
    account: AccountId,
    orders: std::vec::IntoIter<Listed>,
    /// The number of all orders of the list.
    count: usize,
}

/// The reason why an order could not be canceled or amended.
struct NotChanged {
    order: Option<OrderId>,
    status: &'static str,
    reason: CxlRejReason,
    text: String,
}

impl Trader {
    /// Returns the trader of a new session. `address`: the client's.
    pub(crate) fn new(
        market: FixBackend,
        principal: Option<Principal>,
        address: IpAddr,
        caller: Option<Arc<Caller>>,
        queue: ReportQueue,
    ) -> Trader {
        let queue = Arc::new(queue);
        let own = principal.as_ref().zip(market.access()).and_then(own_of);
        Trader {
            market,
            principal,
            address,
            caller,
            own,
            queue,
            listened: HashSet::new(),
            coming: ComingAccounts::default(),
            looked_for: Instant::now(),
            changes: AwaitedChanges::default(),
            days: DayOrders::default(),
            names: HashMap::new(),
            orders: HashMap::new(),
            began: times::now().0,
            refused: 0,
            untold: VecDeque::new(),
            told_of_first: 0,
            positions: HashMap::new(),
            unnoted: Vec::new(),
            listing: None,
        }
    }

    /// Goes on for a client that is back.
    pub(crate) fn resume(&mut self, principal: Option<Principal>, address: IpAddr, caller: Option<Arc<Caller>>) {
        let own = principal.as_ref().zip(self.market.access()).and_then(own_of);
        (self.principal, self.address, self.caller, self.own) = (principal, address, caller, own);
        self.coming = ComingAccounts::default();
        self.listing = None;
    }

    /// Begins a new queue where the old one was closed, because too much waited in it.
    pub(crate) fn renew(&mut self) -> UnboundedReceiver<QueuedReports> {
        let (queue, reports) = ReportQueue::new();
        self.market.report_queues().end(&self.queue);
        self.queue = Arc::new(queue);
        self.listened.clear();
        reports
    }

    /// Returns the commands up to which the reports of each account are told.
    pub(crate) fn positions(&self) -> HashMap<AccountId, Sequence> {
        self.positions.clone()
    }

    /// Listens to accounts whose reports are told up to these commands, and queues the reports behind them that are not
    /// among those with these ExecIDs. `is_resend`: whether they may have been sent before. Errors: the reason why some
    /// cannot be told.
    pub(crate) async fn catch_up(
        &mut self,
        positions: HashMap<AccountId, Sequence>,
        told: &HashSet<String>,
        is_resend: bool,
    ) -> Result<(), String> {
        let mut count = 0_usize;
        for (account, behind) in positions {
            if self.has_lost_its_key() {
                return Err(LOST_KEY.to_owned());
            }
            if self.listened.len() >= ACCOUNTS_MAX || self.listened.contains(&account) || !self.may_hear_of(account) {
                continue;
            }
            let (report_queues, queue) = (Arc::clone(self.market.report_queues()), Arc::clone(&self.queue));
            let look = move |model: &mut dyn Model| {
                let index = model.view().find_account(account)?;
                // What is not told yet is a part of the past.
                model.tell_news();
                report_queues.begin(model, index, &queue);
                let past = model.history().map(|history| past_happenings(model.view(), history, index, behind));
                Some((past, model.view().sequence()))
            };
            let Some((past, through)) = self.market.look(look).await.map_err(|_| NO_FEED)? else { continue };
            self.listened.insert(account);
            let mut past = past.unwrap_or(Err(Untold::NoHistory)).map_err(|why| cannot_tell(account, &why))?;
            let all = past.len();
            past.retain(|happening| !told.contains(&happening.exec_id()));
            // Some were told before the end of the server: perhaps more than are kept.
            let is_resend = is_resend || past.len() < all;
            count = count.saturating_add(past.len());
            if count > CAUGHT_UP_MAX {
                return Err(cannot_tell(account, &Untold::TooMany));
            }
            let metrics = self.market.metrics();
            self.queue.add(past.len());
            self.untold.push_back(QueuedReports::complete(past, (account, through), is_resend, metrics));
        }
        Ok(())
    }

    /// Has the session know up to where reports are told.
    pub(crate) fn note_positions(&mut self, session: &mut Session) {
        for (account, through) in std::mem::take(&mut self.unnoted) {
            session.note_position(account, through);
        }
    }

    /// Returns the account of messages that name none.
    pub(crate) fn own(&self) -> Option<AccountId> {
        self.own
    }

    /// Listens to all accounts that the member trades for.
    pub(crate) async fn begin(&mut self) -> Result<(), Unknown> {
        let traded = self.principal.as_ref().map(|principal| principal.rights().traded()).unwrap_or_default();
        self.listen_to(traded.into_iter().take(ACCOUNTS_MAX).collect()).await
    }

    /// Listens to accounts that the member trades for by now, some at a time. Does nothing if it has just looked for
    /// them.
    pub(crate) async fn listen_to_coming(&mut self) -> Result<(), Unknown> {
        let Some(principal) = self.principal.as_ref().filter(|_| self.looked_for.elapsed() >= CHECKED_EVERY) else {
            return Ok(());
        };
        self.looked_for = Instant::now();
        let rights = principal.rights();
        let has_changed = self.coming.follow(&rights, &self.listened, ACCOUNTS_MAX);
        if has_changed && !self.own.is_some_and(|own| rights.may_trade(own)) {
            self.own = self.market.access().and_then(|access| own_of((principal, access)));
        }
        let room = ACCOUNTS_MAX.saturating_sub(self.listened.len());
        if self.coming.is_empty() || room == 0 {
            return Ok(());
        }
        if self.coming.were_looked_for() {
            self.coming.look_again(self.market.look(|model| model.view().accounts().len()).await?);
        }
        let some = self.coming.take_some(room);
        self.listen_to(some.iter().copied().collect()).await?;
        self.coming.put_back(some.into_iter().filter(|account| !self.listened.contains(account)));
        Ok(())
    }

    /// Listens to further accounts, those that exist and that the member may see.
    async fn listen_to(&mut self, accounts: HashSet<AccountId>) -> Result<(), Unknown> {
        let new: Vec<AccountId> =
            accounts.into_iter().filter(|account| !self.listened.contains(account) && self.may_see(*account)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let (report_queues, queue) = (Arc::clone(self.market.report_queues()), Arc::clone(&self.queue));
        let look = move |model: &mut dyn Model| {
            let found = |account: AccountId| Some((account, model.view().find_account(account)?));
            let found: Vec<_> = new.into_iter().filter_map(found).collect();
            found.iter().for_each(|(_, index)| report_queues.begin(model, *index, &queue));
            (found, model.view().sequence())
        };
        let (found, through) = self.market.look(look).await?;
        for (account, _) in found {
            self.listened.insert(account);
            self.positions.insert(account, through);
            self.unnoted.push((account, through));
        }
        Ok(())
    }

    /// Checks whether the session may go on. Errors: the venue is closed to its member, or its key is gone.
    pub(crate) fn check_open(&self) -> Result<(), String> {
        if self.has_lost_its_key() {
            return Err(LOST_KEY.to_owned());
        }
        let Some(rights) = self.principal.as_ref().map(Principal::rights) else { return Ok(()) };
        if rights.may_look_in(self.mode()) { Ok(()) } else { Err(self.mode().to_string()) }
    }

    /// Whether the key of the client counts no more. What the member may hear is not known until another one comes.
    fn has_lost_its_key(&self) -> bool {
        self.principal.as_ref().is_some_and(|principal| principal.rights().roles.is_empty())
    }

    /// Returns the mode of the venue.
    fn mode(&self) -> Mode {
        self.market.access().map_or(Mode::Normal, |access| access.mode().get())
    }

    /// Returns the time at which to check again whether the session may go on; `None` where everybody may.
    pub(crate) fn next_check(&self) -> Option<Instant> {
        self.principal.as_ref().map(|_| Instant::now() + CHECKED_EVERY)
    }

    /// Counts a message that the exchange does not get. Errors: the member sent too many.
    pub(crate) fn take_message(&self) -> Result<(), Limit> {
        let room = self.principal.as_ref().map_or(Ok(()), |principal| principal.rights().limits.take_message());
        room.inspect_err(|_| turn_away(self.market.metrics(), TurnedAway::PastLimit, self.address))
    }

    /// Whether the client may see an account now.
    fn may_see(&self, account: AccountId) -> bool {
        let may_look = |principal: &Principal| principal.rights().may_look_in(self.mode());
        self.principal.as_ref().is_none_or(may_look) && self.may_hear_of(account)
    }

    /// Whether the client may see an account where the venue is open.
    fn may_hear_of(&self, account: AccountId) -> bool {
        let may_read = |principal: &Principal| principal.rights().may_read(Read::Account(account));
        self.principal.as_ref().is_none_or(may_read)
    }

    /// Whether a request is about an account of the session, or about a further one that it may have. `beside`: the
    /// number of requests that are submitted with it.
    pub(crate) fn has_room(&self, asked: &ClientRequest, beside: usize) -> bool {
        self.listened.contains(&account_of(asked)) || self.listened.len().saturating_add(beside) < ACCOUNTS_MAX
    }

    /// Submits requests in order, and writes the answers that do not come as reports. Errors: the server ends.
    pub(crate) async fn submit(&mut self, asked: Vec<ClientRequest>, answers: &mut Answers) -> Result<(), Unknown> {
        let accounts: HashSet<AccountId> = asked.iter().map(account_of).collect();
        self.listen_to(accounts).await?;
        let mut together = Vec::new();
        for asked in asked {
            match asked {
                ClientRequest::Amend(amending) => {
                    self.submit_together(std::mem::take(&mut together), answers).await?;
                    self.amend(*amending, answers).await?;
                }
                ClientRequest::StatusOfAll { id, account, symbol } => {
                    self.submit_together(std::mem::take(&mut together), answers).await?;
                    self.begin_list(id, account, symbol, answers).await?;
                }
                ClientRequest::CancelAll { cl_ord_id, account, symbol, kind } => {
                    // It may take several commands, and what is behind it comes behind them all.
                    self.submit_together(std::mem::take(&mut together), answers).await?;
                    let answer = self.market.cancel_all(account, symbol, &self.who()).await?;
                    answers.add("r", canceled_all(&cl_ord_id, symbol, &kind, &answer));
                }
                ClientRequest::Place(placing) if self.amended(placing.cl_ord_id.as_str()).is_some() => {
                    self.submit_together(std::mem::take(&mut together), answers).await?;
                    // The exchange does not get it, so it is counted here.
                    let (reason, text) = match self.take_message() {
                        Ok(()) => (OrdRejReason::Duplicate, NAME_OF_AN_AMENDED_ORDER.to_owned()),
                        Err(past) => (OrdRejReason::Other, past.to_string()),
                    };
                    self.refuse(&placing, reason, &text, answers);
                }
                ClientRequest::Place(_) | ClientRequest::Cancel(_) | ClientRequest::Status { .. } => {
                    together.push(asked)
                }
            }
        }
        self.submit_together(together, answers).await
    }

    async fn submit_together(&mut self, asked: Vec<ClientRequest>, answers: &mut Answers) -> Result<(), Unknown> {
        if asked.is_empty() {
            return Ok(());
        }
        let ops: Vec<Op> = asked.iter().map(|asked| self.op(asked)).collect();
        // The report of a cancel may come before its answer.
        let remembered: Vec<Option<u64>> = asked.iter().map(|asked| self.remember_cancel(asked)).collect();
        let (given, executions) = self.market.submit(&ops, &self.who()).await?;
        for (((asked, remembered), op), answer) in asked.iter().zip(remembered).zip(ops).zip(given) {
            match asked {
                ClientRequest::Place(placing) => self.placed(placing, &answer, answers),
                ClientRequest::Cancel(change) => {
                    if let Some(why) = self.not_changed(op, &answer).await? {
                        remembered.into_iter().for_each(|number| self.changes.forget(number));
                        self.refuse_change(change, '1', &why, answers);
                    }
                }
                ClientRequest::Status { change, symbol, side } => {
                    let about = (*symbol, *side);
                    let told = match done_order(&answer) {
                        Some(order) => {
                            let (answer, executions) = self.market.look_up(op, order, self.member()).await?;
                            status(Some(&change.cl_ord_id), change.account, about, &answer, &executions)
                        }
                        None => status(Some(&change.cl_ord_id), change.account, about, &answer, &executions),
                    };
                    answers.add("8", told);
                }
                ClientRequest::CancelAll { .. } | ClientRequest::Amend(_) | ClientRequest::StatusOfAll { .. } => {
                    unreachable!("invariant: these are done one by one")
                }
            }
        }
        Ok(())
    }

    /// Remembers the names for the report of a cancel. Returns its number; `None` if the request is no cancel.
    fn remember_cancel(&mut self, asked: &ClientRequest) -> Option<u64> {
        let ClientRequest::Cancel(change) = asked else { return None };
        // By its number, because an amendment that is reported first may rename it.
        let order = self.known(&change.order);
        Some(self.changes.remember(Change { order, ..change.clone() }, AskedFor::Cancel))
    }

    fn who(&self) -> Requester<'_> {
        Requester { principal: self.principal.as_ref(), caller: self.caller.as_ref(), is_counted: false }
    }

    /// The client whose message the gateway has counted.
    fn who_is_counted(&self) -> Requester<'_> {
        Requester { is_counted: true, ..self.who() }
    }

    fn op(&self, asked: &ClientRequest) -> Op {
        match asked {
            ClientRequest::Place(placing) => Op::Command(placing.command),
            ClientRequest::Cancel(change) => {
                Op::Command(Command::CancelOrder { account: change.account, order: self.known(&change.order).name() })
            }
            ClientRequest::Status { change, .. } => {
                Op::Query(Query { account: change.account, order: self.known(&change.order).name() })
            }
            ClientRequest::CancelAll { .. } | ClientRequest::Amend(_) | ClientRequest::StatusOfAll { .. } => {
                unreachable!("invariant: these are done one by one")
            }
        }
    }

    /// Returns the order to which an amendment gave this name, whether the amendment is reported yet or not.
    fn amended(&self, name: &str) -> Option<OrderId> {
        self.orders.get(name).copied().or_else(|| self.changes.order_of(name))
    }

    /// Returns an order's number if an amendment gave the order this name.
    fn known(&self, named: &OrderRef) -> OrderRef {
        match named {
            OrderRef::Client(id) => self.amended(id.as_str()).map_or_else(|| named.clone(), OrderRef::Id),
            OrderRef::Id(_) => named.clone(),
        }
    }

    /// Finds out why an order was not canceled or amended. Returns `None` if it was.
    async fn not_changed(&self, op: Op, answer: &Answer) -> Result<Option<NotChanged>, Unknown> {
        let why = match answer {
            Answer::Reply(Reply::Canceled(_) | Reply::Amended { .. }) => return Ok(None),
            Answer::Reply(Reply::Done(order)) => {
                let account = match op {
                    Op::Command(Command::CancelOrder { account, .. }) | Op::Query(Query { account, .. }) => account,
                    Op::Command(Command::Amend(amendment)) => amendment.account,
                    Op::Command(_) => return Err(Unknown),
                };
                let query = Op::Query(Query { account, order: (*order).into() });
                let (answer, executions) = self.market.look_up(query, *order, self.member()).await?;
                match known(&answer, &executions) {
                    Some(known) => NotChanged {
                        order: Some(*order),
                        status: known.status(),
                        reason: CxlRejReason::TooLate,
                        text: Reject::NothingOpen.to_string(),
                    },
                    None => NotChanged::unknown(said(&answer)),
                }
            }
            Answer::Reply(Reply::Rejected(Reject::UnknownOrder | Reject::UnknownAccount)) => {
                NotChanged::unknown(said(answer))
            }
            Answer::Reply(_) | Answer::Unavailable(_) => NotChanged::other(said(answer)),
        };
        Ok(Some(why))
    }

    fn refuse_change(&self, change: &Change, response_to: char, why: &NotChanged, answers: &mut Answers) {
        let original = change.original.clone().or_else(|| match &change.order {
            OrderRef::Client(id) => Some(id.to_string()),
            OrderRef::Id(order) => self.names.get(order).cloned(),
        });
        let fields = Fields::new()
            .add(tags::ORDER_ID, why.order.map_or_else(|| "NONE".to_owned(), |order| order.0.to_string()))
            .add(tags::CL_ORD_ID, &change.cl_ord_id)
            // The field is required.
            .add(tags::ORIG_CL_ORD_ID, original.as_deref().unwrap_or("NONE"))
            .add(tags::ORD_STATUS, why.status)
            .add(tags::ACCOUNT, change.account)
            .add(tags::CXL_REJ_RESPONSE_TO, response_to)
            .add(tags::CXL_REJ_REASON, why.reason as u8)
            .add(tags::TEXT, &why.text);
        answers.add("9", fields);
    }

    /// Refuses an order that was not placed. An order that was placed is reported when the feed tells of it.
    fn placed(&mut self, placing: &Placing, answer: &Answer, answers: &mut Answers) {
        let (reason, text) = match answer {
            Answer::Reply(Reply::Opened(order)) => {
                if placing.command.place().is_some_and(|place| place.deadline() == Some(Deadline::UNDECIDED)) {
                    self.days.add(*order);
                }
                return;
            }
            Answer::Reply(Reply::Moved { is_new: true, .. }) => return,
            // Its report tells that it stands, and was sent or is to come.
            Answer::Reply(Reply::Repeated(_) | Reply::Moved { .. }) if placing.is_again => return,
            Answer::Reply(Reply::Repeated(order) | Reply::Moved { order, .. }) => {
                (OrdRejReason::Duplicate, format!("this ClOrdID(11) stands for order {}, which is the same", order.0))
            }
            Answer::Reply(Reply::Rejected(reject)) => (reject.into(), reject.to_string()),
            Answer::Reply(_) | Answer::Unavailable(_) => (OrdRejReason::Other, said(answer)),
        };
        self.refuse(placing, reason, &text, answers);
    }

    fn refuse(&mut self, placing: &Placing, reason: OrdRejReason, text: &str, answers: &mut Answers) {
        self.refused += 1;
        let fields = Fields::new()
            .add(tags::ORDER_ID, "NONE")
            .add(tags::EXEC_ID, format!("X{}-{}", self.began, self.refused))
            .add(tags::EXEC_TYPE, 8)
            .add(tags::ORD_STATUS, 8)
            .add(tags::ORD_REJ_REASON, reason as u8)
            .add(tags::LEAVES_QTY, 0)
            .add(tags::CUM_QTY, 0)
            .add(tags::AVG_PX, 0)
            .add(tags::TRANSACT_TIME, times::written(times::now()))
            .add(tags::TEXT, text);
        answers.add("8", placing.echoed_fields.clone().followed_by(&fields));
    }

    /// Lists the open orders of an account, and says so where there are none.
    async fn begin_list(
        &mut self,
        id: String,
        account: AccountId,
        symbol: Option<Symbol>,
        answers: &mut Answers,
    ) -> Result<(), Unknown> {
        let listed = match self.take_message() {
            Ok(()) if self.may_see(account) => open_orders::list(&self.market, self.member(), account, symbol).await?,
            Ok(()) => Err(Reject::UnknownAccount.to_string()),
            Err(past) => Err(past.to_string()),
        };
        match listed {
            Ok(open) if !open.is_empty() => {
                self.listing = Some(Listing { id, account, count: open.len(), orders: open.into_iter() });
            }
            nothing => {
                let why = nothing.err().unwrap_or_else(|| "no orders are open".to_owned());
                // Both fields are required: they say no symbol in particular, and an undisclosed side.
                let named = symbol.map_or_else(|| "[N/A]".to_owned(), |symbol| symbol.to_string());
                let fields = none_open(account, &why).add(tags::SYMBOL, named).add(tags::SIDE, 7);
                answers.add("8", of_list(fields, &id, 0, true));
            }
        }
        Ok(())
    }

    /// Whether a list of open orders goes on.
    pub(crate) fn lists(&self) -> bool {
        self.listing.is_some()
    }

    fn member(&self) -> Option<&str> {
        self.principal.as_ref().map(Principal::member)
    }

    /// Reports the next orders of the list, as they stand now.
    pub(crate) async fn list_some(&mut self, answers: &mut Answers) -> Result<(), Unknown> {
        let Some(mut listing) = self.listing.take() else { return Ok(()) };
        let (account, market) = (listing.account, self.market.clone());
        if !self.may_see(account) {
            answers.end(&Reject::UnknownAccount.to_string());
            return Ok(());
        }
        let looked = {
            let _turn = market.listing().take(self.member()).await;
            open_orders::look(&market, listing.orders.by_ref().take(LISTED_AT_ONCE).collect()).await?
        };
        let is_end = listing.orders.len() == 0;
        let last = looked.len() - 1;
        for (at, looked) in looked.into_iter().enumerate() {
            let fields = match looked {
                Looked::Open(happening) => {
                    let name = self.name(&happening);
                    happening.fields(Names { cl_ord_id: name.as_deref(), original: None })
                }
                Looked::Done { order, symbol, side } => {
                    let query = Op::Query(Query { account, order: order.into() });
                    // A long look-up waits for others of its member, and the lists of others do not wait for it.
                    let (answer, executions) = market.look_up(query, order, self.member()).await?;
                    status(self.names.get(&order).map(String::as_str), account, (symbol, side), &answer, &executions)
                }
            };
            answers.add("8", of_list(fields, &listing.id, listing.count, is_end && at == last));
        }
        self.listing = (!is_end).then_some(listing);
        Ok(())
    }

    /// Returns the metrics, which count what is not sent yet.
    pub(crate) fn metrics(&self) -> &GatewayMetrics {
        self.market.metrics()
    }

    /// Whether many changes wait for their reports.
    pub(crate) fn awaits_many(&self) -> bool {
        self.changes.are_many()
    }

    /// Whether the session is to take reports before it takes further messages.
    pub(crate) fn is_behind(&self) -> bool {
        self.awaits_many() || self.queue.has_many()
    }

    /// Forgets the changes that wait for their reports, which do not come.
    pub(crate) fn forget_changes(&mut self) {
        self.changes.clear();
    }

    /// The current name of an order.
    fn name(&self, happening: &Happening) -> Option<String> {
        self.names.get(&happening.order()).cloned().or_else(|| happening.client_id().map(|id| id.to_string()))
    }

    /// Queues what happened, to be told.
    pub(crate) fn queue_up(&mut self, happened: QueuedReports) {
        self.untold.push_back(happened);
    }

    /// Tells some of what is queued. Returns false where nothing is, or it waits for a key that counts.
    pub(crate) fn report_some(&mut self, most: usize, session: &mut Session) -> bool {
        if self.has_lost_its_key() {
            return false;
        }
        let Some(first) = self.untold.front().cloned() else { return false };
        let end = first.len().min(self.told_of_first + most);
        self.report_as(&first[self.told_of_first..end], first.is_resend(), session);
        self.told_of_first = end;
        if end == first.len() {
            self.untold.pop_front();
            self.told_of_first = 0;
            self.unnoted.extend(first.completes());
            self.positions.extend(first.completes());
            self.note_positions(session);
            if first.is_resend() {
                self.end_resends(session);
            }
        }
        true
    }

    /// Has the session know where no reports are queued any more that may have been sent before.
    pub(crate) fn end_resends(&self, session: &mut Session) {
        if !self.untold.iter().any(QueuedReports::is_resend) {
            session.make_whole();
        }
    }

    /// Whether the client is a member.
    pub(crate) fn has_member(&self) -> bool {
        self.principal.is_some()
    }

    /// Writes reports for what happened.
    #[cfg(test)]
    pub(crate) fn report(&mut self, reports: &[Happening], session: &mut Session) {
        self.report_as(reports, false, session);
    }

    /// Writes reports for what happened. `is_resend`: whether they may have been sent before, under other numbers.
    fn report_as(&mut self, reports: &[Happening], is_resend: bool, session: &mut Session) {
        self.queue.took(reports.len());
        for happening in reports {
            self.note(happening);
            let change = self.take_change(happening);
            // Under maintenance no session is connected, and its reports wait.
            if !self.may_hear_of(happening.account) {
                continue;
            }
            let resend = Fields::new().add_some(tags::POSS_RESEND, is_resend.then_some("Y"));
            session.send_kept("8", resend.followed_by(&self.told(happening, change)));
            while let Some((change, unchanged)) = self.changes.take_unchanged(happening.order()) {
                session.send_kept("8", self.told(&unchanged, Some(change)));
            }
        }
    }

    /// Writes a report, and gives the order the name of the amendment that it answers.
    fn told(&mut self, happening: &Happening, change: Option<Change>) -> Fields {
        let (order, name) = (happening.order(), self.name(happening));
        let names = match &change {
            Some(change) => {
                Names { cl_ord_id: Some(&change.cl_ord_id), original: change.original.as_deref().or(name.as_deref()) }
            }
            None => Names { cl_ord_id: name.as_deref(), original: None },
        };
        let fields = happening.fields(names);
        if happening.is_end() || change.is_some() {
            self.names.remove(&order).map(|name| self.orders.remove(&name));
        }
        if let Some(change) = change.filter(|_| !happening.is_end()) {
            self.orders.insert(change.cl_ord_id.clone(), order);
            self.names.insert(order, change.cl_ord_id);
        }
        fields
    }

    /// Notes what the session has to know of an order later.
    fn note(&mut self, happening: &Happening) {
        let order = happening.order();
        if happening.is_placing() {
            self.days.placed(order, happening.until());
        }
        if happening.is_end() {
            self.days.remove(order);
        }
    }

    /// Takes the change of this session that asked for this, if one did.
    fn take_change(&mut self, happening: &Happening) -> Option<Change> {
        let order = happening.order();
        let amended = self.names.get(&order).and_then(|name| ClientOrderId::parse(name.as_bytes()).ok());
        let names = [happening.client_id(), amended];
        self.changes.take(|change, asked_for| {
            happening.answers(asked_for)
                && change.account == happening.account
                && match &change.order {
                    OrderRef::Id(id) => *id == order,
                    OrderRef::Client(id) => names.contains(&Some(*id)),
                }
        })
    }

    /// Waits until the feed has told of everything that was answered.
    pub(crate) async fn wait_for_the_feed(&self) {
        // Without a feed no more reports come.
        drop(self.market.look(|model| model.tell_news()).await);
    }

    /// Whether the feed runs.
    pub(crate) fn has_feed(&self) -> bool {
        self.market.has_feed()
    }

    /// Says why no more reports come.
    pub(crate) fn no_more_reports(&self) -> &'static str {
        match self.has_feed() {
            true => "too many reports waited: their reader is too slow",
            false => NO_FEED,
        }
    }

    /// Counts a message that was refused for its form.
    pub(crate) fn count_malformed(&self) {
        self.market.metrics().malformed(1);
    }

    /// Refuses a message of a kind that is not taken.
    pub(crate) fn refuse_kind(&self, message: &Message<'_>, session: &mut Session) {
        // A refusal is not refused: both sides would go on for ever.
        if message.kind() == "j" {
            return;
        }
        self.count_malformed();
        if !is_kind(message.kind()) {
            let fault = Fault::of(tags::MSG_TYPE, SessionRejectReason::UnknownKind, "MsgType(35) is none of FIX 4.4");
            return session.reject(message, &fault);
        }
        let number = message.get(tags::MSG_SEQ_NUM).ok().flatten().unwrap_or("0");
        let text = "MsgType(35) is none of D, F, G, H, q and AF: the WebSocket has the market";
        let fields = third_parties(message)
            .add(tags::REF_SEQ_NUM, number)
            .add(tags::REF_MSG_TYPE, message.kind())
            .add(tags::BUSINESS_REJECT_REASON, BusinessRejectReason::UnsupportedKind as u8)
            .add(tags::TEXT, text);
        session.send("j", fields);
    }
}

impl Drop for Trader {
    fn drop(&mut self) {
        self.market.report_queues().end(&self.queue);
    }
}

impl NotChanged {
    fn unknown(text: String) -> NotChanged {
        NotChanged { order: None, status: "8", reason: CxlRejReason::UnknownOrder, text }
    }

    fn other(text: String) -> NotChanged {
        NotChanged { order: None, status: "0", reason: CxlRejReason::Other, text }
    }
}

/// Says why a session cannot go on, and logs the cause.
fn cannot_tell(account: AccountId, why: &Untold) -> String {
    tracing::warn!(%account, %why, "the reports for a FIX session that was away cannot be told");
    format!(
        "not all reports of account {account} since the last one can be told: begin again with ResetSeqNumFlag(141)=Y, and \
         ask for its orders"
    )
}

/// The account of messages of a member that name none.
fn own_of((principal, access): (&Principal, &Access)) -> Option<AccountId> {
    let named = access.account_of(principal.key());
    named.or_else(|| principal.rights().traded().first().copied())
}

fn account_of(asked: &ClientRequest) -> AccountId {
    match asked {
        ClientRequest::Place(placing) => placing.account,
        ClientRequest::Cancel(change) | ClientRequest::Status { change, .. } => change.account,
        ClientRequest::Amend(amending) => amending.change.account,
        ClientRequest::CancelAll { account, .. } | ClientRequest::StatusOfAll { account, .. } => *account,
    }
}

/// Whether FIX 4.4 has messages of this kind.
fn is_kind(kind: &str) -> bool {
    match kind.as_bytes() {
        [one] => one.is_ascii_alphanumeric() && !b"IOU".contains(one),
        [b'A', second] => second.is_ascii_uppercase(),
        [b'B', second] => (b'A'..=b'H').contains(second),
        _ => false,
    }
}

/// The text of an answer that is no success.
fn said(answer: &Answer) -> String {
    match answer {
        Answer::Reply(Reply::Rejected(reject)) => reject.to_string(),
        Answer::Unavailable(why) => why.to_string(),
        Answer::Reply(_) => "what became of it is not known".to_owned(),
    }
}

/// The state of an order, if the answer has it.
fn known(answer: &Answer, executions: &[Execution]) -> Option<OrderSnapshot> {
    let Answer::Reply(Reply::Status(status)) = answer else { return None };
    let Executed { shares: executed, money, .. } = match &status.elsewhere {
        Some(executed) => **executed,
        None => Executed::of(executions.get(status.executions.clone())?),
    };
    let canceled = status.canceled.map_or(Shares::ZERO, |canceled| canceled.shares);
    Some(OrderSnapshot { order: status.order, open: status.open, canceled, executed, money })
}

fn status(
    name: Option<&str>,
    account: AccountId,
    (symbol, its_side): (Symbol, Side),
    answer: &Answer,
    executions: &[Execution],
) -> Fields {
    match known(answer, executions) {
        Some(known) => known.fields(name, account, symbol, its_side),
        None => none_open(account, &said(answer))
            .add_some(tags::CL_ORD_ID, name)
            .add(tags::SYMBOL, symbol)
            .add(tags::SIDE, side(its_side)),
    }
}

/// Adds the fields of a list of open orders.
fn of_list(fields: Fields, id: &str, count: usize, is_last: bool) -> Fields {
    let flag = if is_last { "Y" } else { "N" };
    fields.add(tags::MASS_STATUS_REQ_ID, id).add(tags::TOT_NUM_REPORTS, count).add(tags::LAST_RPT_REQUESTED, flag)
}

/// An ExecutionReport that is about no order.
fn none_open(account: AccountId, text: &str) -> Fields {
    Fields::new()
        .add(tags::ORDER_ID, "NONE")
        .add(tags::EXEC_ID, 0)
        .add(tags::EXEC_TYPE, "I")
        .add(tags::ORD_STATUS, 8)
        .add(tags::ACCOUNT, account)
        .add(tags::LEAVES_QTY, 0)
        .add(tags::CUM_QTY, 0)
        .add(tags::AVG_PX, 0)
        .add(tags::TEXT, text)
}

fn canceled_all(cl_ord_id: &str, symbol: Option<Symbol>, kind: &str, answer: &Answer) -> Fields {
    let (id, orders, is_cut) = match answer {
        Answer::Reply(Reply::CanceledAll { orders, left, sequence }) => {
            (format!("M{}", sequence.0), Some(*orders), left.is_some())
        }
        Answer::Reply(_) | Answer::Unavailable(_) => ("NONE".to_owned(), None, false),
    };
    let fields = Fields::new()
        .add(tags::ORDER_ID, id)
        .add(tags::CL_ORD_ID, cl_ord_id)
        .add_some(tags::SYMBOL, symbol)
        .add(tags::MASS_CANCEL_REQUEST_TYPE, kind);
    match orders {
        Some(orders) => fields
            .add(tags::MASS_CANCEL_RESPONSE, kind)
            .add(tags::TOTAL_AFFECTED_ORDERS, orders)
            .add_some(tags::TEXT, is_cut.then_some("others were not canceled: ask again")),
        None => fields
            .add(tags::MASS_CANCEL_RESPONSE, 0)
            .add(tags::MASS_CANCEL_REJECT_REASON, MassCancelRejectReason::Other as u8)
            .add(tags::TEXT, said(answer)),
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use exchange::{Rights, Role};
    use terms::Status;

    use super::*;
    use crate::tests::kept_requests::{KeptRequests, answer, log_on};

    /// A message about one account too many ended the session, and those gathered before it were lost.
    #[test]
    fn an_account_beyond_those_of_a_session_is_refused() {
        let (_kept, market) = KeptRequests::new();
        let mut trader = log_on(&market).1;
        let account = |number: usize| AccountId::parse(number.to_string().as_bytes()).expect("digits");
        let check = |trader: &Trader, number: usize, beside: usize| {
            let asked = ClientRequest::StatusOfAll { id: "all".to_owned(), account: account(number), symbol: None };
            trader.has_room(&asked, beside)
        };
        trader.listened.extend((1..ACCOUNTS_MAX).map(account));
        assert!(check(&trader, ACCOUNTS_MAX, 0) && !check(&trader, ACCOUNTS_MAX, 1), "there is room for one");
        trader.listened.insert(account(ACCOUNTS_MAX));
        assert!(!check(&trader, ACCOUNTS_MAX + 1, 0) && check(&trader, 1, 5));
    }

    /// Reports were skipped for good while the key of their session was revoked, though another one of the member came.
    #[test]
    fn reports_wait_for_a_key_that_counts() {
        let (_kept, market) = KeptRequests::new();
        let (mut session, mut trader, _reports) = log_on(&market);
        let address = trader.address;
        let rights = || Rights { roles: [Role::Auditor].into(), ..Rights::default() };
        let revoked = Principal::new("alice", rights());
        trader.resume(Some(revoked.clone()), address, None);
        revoked.set_rights(Rights::default());
        let account = AccountId::parse(b"1").expect("digits");
        let happened = vec![Happening::of_nothing()];
        trader.queue.add(1);
        trader.queue_up(QueuedReports::complete(happened, (account, Sequence(7)), false, market.metrics()));
        drop(session.take_out());
        assert!(!trader.report_some(1, &mut session) && trader.positions().is_empty());
        trader.resume(Some(Principal::new("alice", rights())), address, None);
        assert!(trader.report_some(1, &mut session));
        assert_eq!(trader.positions(), HashMap::from([(account, Sequence(7))]));
        assert!(String::from_utf8(session.take_out()).expect("it is text").contains("\x0135=8\x01"));
    }

    /// A refused cancel took the names of another one with its ClOrdID, and its own were kept for good.
    #[test]
    fn a_refused_cancel_is_forgotten_and_no_other_of_its_name() {
        let (kept, market) = KeptRequests::new();
        let (mut session, mut trader, _reports) = log_on(&market);
        drop(session.take_out());
        let account = AccountId::parse(b"1").expect("digits");
        trader.listened.insert(account);
        let name = |name: &str| ClientOrderId::parse(name.as_bytes()).expect("it is a name");
        let cancel = |order: &str| {
            let (cl_ord_id, original) = ("c".to_owned(), Some(order.to_owned()));
            ClientRequest::Cancel(Change { cl_ord_id, account, order: OrderRef::Client(name(order)), original })
        };
        let (mut context, mut answers) = (Context::from_waker(Waker::noop()), Answers::default());
        {
            let mut submitted = pin!(trader.submit(vec![cancel("unknown"), cancel("known")], &mut answers));
            assert!(submitted.as_mut().poll(&mut context).is_pending());
            let batch = kept.batches.lock().expect("nobody panics").pop().expect("both together");
            let (order, open, executions) = (OrderId(7), Shares::ZERO, 0..0);
            let canceled = Status { order, open, terms: None, canceled: None, executions, elsewhere: None };
            let given = [Reply::Rejected(Reject::UnknownOrder), Reply::Canceled(canceled)];
            answer(batch, given.map(Answer::Reply).into());
            assert!(matches!(submitted.poll(&mut context), Poll::Ready(Ok(()))));
        }
        answers.send(&mut session);
        let told =
            |session: &mut Session| String::from_utf8(session.take_out()).expect("it is text").replace('\x01', "|");
        let refused = told(&mut session);
        assert!(["|35=9|", "|11=c|", "|41=unknown|"].iter().all(|field| refused.contains(field)), "{refused}");
        trader.report(&[Happening::canceled(OrderId(7), name("known"))], &mut session);
        let told = told(&mut session);
        assert!(["|150=4|", "|11=c|", "|41=known|"].iter().all(|field| told.contains(field)), "{told}");
        assert!(trader.changes.is_empty());
    }
}
