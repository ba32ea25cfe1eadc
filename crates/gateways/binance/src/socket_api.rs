//! A connection to the WebSocket API: it logs on, follows accounts, and bounds how many calls run at once. `ws_methods`
//! has the methods that REST answers, too.

use std::sync::Arc;

use axum::extract::{ConnectInfo, Extension, State};
use axum::response::Response;
use exchange::Read;
use serde_json::{Value, json};
use terms::AccountId;
use tokio::task::JoinSet;

use crate::parameters::{Parameters, RETURN_RATE_LIMITS};
use crate::refusal::Refusal;
use crate::socket::unit_of;
use crate::state::BinanceState;
use crate::time_unit::TimeUnit;
use crate::topic::{Envelope, StreamTopic, Wrap};
use crate::used_weight::Weigher;
use crate::ws_call::{self, Call, Form};
use crate::ws_methods::{self, AT_ONCE, CallOrder};
use http_gateway::conversation::{self, Party};
use http_gateway::current_caller;
use http_gateway::current_principal::{self, Asker};
use http_gateway::hub::Hub;
use http_gateway::listener::Life;
use http_gateway::outbox::Outbox;
use http_gateway::problem::Problem;
use http_gateway::shared_text::SharedText;
use http_gateway::topic::Topic;
use http_gateway::upgrade::Upgrade;

pub(crate) async fn upgrade(
    State(app): State<BinanceState>,
    upgrade: Result<Upgrade, Problem>,
    Extension(weigher): Extension<Weigher>,
    ConnectInfo(life): ConnectInfo<Life>,
    asked: Parameters,
) -> Result<Response, Refusal> {
    let unit = unit_of(&asked, &[RETURN_RATE_LIMITS])?;
    let tells_limits = asked.text(RETURN_RATE_LIMITS).map_or(Ok(true), ws_call::tells_limits)?;
    app.market()?;
    let turns = Arc::new(CallOrder::new());
    let (since, session, followed, begun) = (unit.now(), None, Vec::new(), JoinSet::new());
    let own = app.clone();
    let party = move |outbox| Caller {
        app: own,
        outbox,
        weigher,
        life,
        tells_limits,
        unit,
        since,
        session,
        followed,
        begun,
        turns,
    };
    conversation::begin(&app, upgrade?, party).await.map_err(Refusal::from)
}

/// The calls that a connection answers itself, except for those that are signed.
const OWN: [&str; 5] = [
    "session.status",
    "session.logout",
    "session.subscriptions",
    "userDataStream.subscribe",
    "userDataStream.unsubscribe",
];

/// A connection to the WebSocket API.
struct Caller {
    app: BinanceState,
    outbox: Outbox,
    weigher: Weigher,
    /// The connection's state.
    life: Life,
    /// Whether answers have the limits, unless a call says otherwise.
    tells_limits: bool,
    /// The unit of times in answers.
    unit: TimeUnit,
    since: u64,
    session: Option<Session>,
    followed: Vec<AccountStream>,
    /// Calls that are running. The client is not read while there are too many.
    begun: JoinSet<()>,
    turns: Arc<CallOrder>,
}

/// The login of a connection.
struct Session {
    key: String,
    account: AccountId,
    /// The asker that has logged on, where there are members.
    asker: Option<Asker>,
    since: u64,
}

/// An account's stream.
#[derive(Clone, Copy)]
struct AccountStream {
    account: AccountId,
    topic: Topic,
    number: u32,
    /// Whether the stream ends when the connection logs out.
    by_session: bool,
}

impl Party for Caller {
    async fn ready(&mut self) {
        while self.begun.len() >= AT_ONCE {
            self.begun.join_next().await;
        }
    }

    async fn heard(&mut self, text: &str) {
        let (form, read) = ws_call::read(text, self.weigher.add(), self.tells_limits);
        current_principal::set_counted(false);
        let called = match read {
            Ok(call) => self.call(&form, call).await,
            Err(refusal) => Err(refusal),
        };
        let called = called.or_else(|refusal| self.count_once().and(Err(refusal)));
        if let Some(why) = current_principal::take_turned_away()
            && !self.app.turn_away(why, &self.life).await
        {
            return self.outbox.send(form.refusal(&Refusal::from(Problem::too_many_tries())));
        }
        match called {
            Ok(Called::Answered(result)) => self.outbox.send(form.result(&result)),
            Ok(Called::Sent) => {}
            // Other calls run beside it, and may be answered before it.
            Ok(Called::OfRest(method, asked)) => {
                let (app, outbox, turns) = (self.app.clone(), self.outbox.clone(), self.turns.clone());
                let session = self.session.as_ref().and_then(|session| session.asker.clone());
                let performed = ws_methods::perform(app, (form, method, asked), self.life.clone(), outbox, turns);
                let performed = current_principal::as_whoever(session.or_else(current_principal::asker), performed);
                self.begun.spawn(current_caller::carry(current_caller::current(), performed));
            }
            Err(refusal) => self.outbox.send(form.refusal(&refusal)),
        }
    }

    fn logged_on(&self) -> Option<Asker> {
        self.session.as_ref().and_then(|session| session.asker.clone())
    }

    fn no_text(&mut self) {
        let (form, _) = ws_call::read("", self.weigher.add(), self.tells_limits);
        current_principal::set_counted(false);
        let refusal = self.count_once().err().unwrap_or_else(|| Refusal::bad_call("requests are text messages"));
        self.outbox.send(form.refusal(&refusal));
    }

    fn farewell(&self) -> Option<SharedText> {
        None
    }
}

/// The result of a call.
enum Called {
    Answered(Value),
    /// Its answer was sent.
    Sent,
    /// A handler of REST answers it.
    OfRest(String, Parameters),
}

impl Caller {
    async fn call(&mut self, form: &Form, call: Call) -> Result<Called, Refusal> {
        let Call { method, parameters } = call;
        let logs_on = ["session.logon", "userDataStream.subscribe.signature"].contains(&method.as_str());
        let session = self.session.as_ref().filter(|_| !logs_on);
        let asked = Parameters::of_call(
            parameters,
            session.map(|session| session.key.as_str()),
            (ws_methods::changes(&method), logs_on),
            self.unit,
        );
        if OWN.contains(&method.as_str()) {
            self.count_once()?;
        }
        match method.as_str() {
            "session.logon" => {
                let (account, asker) = self.proven(&asked).await?;
                asked.only_signed(&[])?;
                asker.iter().try_for_each(|asker| self.app.connects(asker))?;
                let key = asked.key(&self.app)?.key.to_owned();
                if self.session.as_ref().is_some_and(|before| before.account != account) {
                    self.leave(|its| its.by_session).await?;
                }
                self.session = Some(Session { key, account, asker, since: self.unit.now() });
                Ok(Called::Answered(self.status()))
            }
            "session.status" => {
                asked.only(&[])?;
                Ok(Called::Answered(self.status()))
            }
            "session.logout" => {
                asked.only(&[])?;
                self.session = None;
                self.leave(|its| its.by_session).await?;
                Ok(Called::Answered(self.status()))
            }
            "session.subscriptions" => {
                asked.only(&[])?;
                Ok(Called::Answered(self.followed.iter().map(|its| json!({"subscriptionId": its.number})).collect()))
            }
            "userDataStream.subscribe" => {
                asked.only(&[])?;
                let session = self.session.as_ref().ok_or_else(Refusal::no_session)?;
                let (account, asker) = (session.account, session.asker.clone());
                self.follow(form, (account, asker), true).await
            }
            "userDataStream.subscribe.signature" => {
                let proven = self.proven(&asked).await?;
                asked.only_signed(&[])?;
                self.follow(form, proven, false).await
            }
            "userDataStream.unsubscribe" => {
                asked.only(&["subscriptionId"])?;
                let number = asked.number("subscriptionId")?;
                self.leave(|its| number.is_none_or(|number| number == u64::from(its.number))).await?;
                Ok(Called::Answered(json!({})))
            }
            _ => Ok(Called::OfRest(method, asked)),
        }
    }

    /// Counts the message that is being answered, for the member that has logged on or that began the connection,
    /// unless it was counted. Errors: there were too many.
    fn count_once(&self) -> Result<(), Refusal> {
        let before = current_principal::asker();
        if let Some(asker) = self.session.as_ref().and_then(|session| session.asker.clone()) {
            current_principal::becomes(asker);
        }
        let counted = current_principal::take_message_once().map_err(Refusal::past_pace);
        before.into_iter().for_each(current_principal::becomes);
        counted
    }

    /// Returns the account of a call; the connection's asker stays.
    async fn proven(&self, asked: &Parameters) -> Result<(AccountId, Option<Asker>), Refusal> {
        let before = current_principal::asker();
        let account = asked.account(&self.app).await?;
        let asker = current_principal::asker();
        before.into_iter().for_each(current_principal::becomes);
        Ok((account, asker))
    }

    /// Writes the state of the connection's login.
    fn status(&self) -> Value {
        json!({
            "apiKey": self.session.as_ref().map(|session| &session.key),
            "authorizedSince": self.session.as_ref().map(|session| session.since),
            "connectedSince": self.since,
            "returnRateLimits": self.tells_limits,
            "serverTime": self.unit.now(),
            "userDataStream": !self.followed.is_empty(),
        })
    }

    /// Follows an account. The connection gets its events, and counts among its member's, if this succeeds.
    async fn follow(
        &mut self,
        form: &Form,
        whose: (AccountId, Option<Asker>),
        by_session: bool,
    ) -> Result<Called, Refusal> {
        let before = current_principal::followed();
        let followed = self.follow_account(form, whose, by_session).await;
        followed.inspect_err(|_| current_principal::follows_again(before))
    }

    async fn follow_account(
        &mut self,
        form: &Form,
        (account, asker): (AccountId, Option<Asker>),
        by_session: bool,
    ) -> Result<Called, Refusal> {
        self.app.follow_as(asker, Read::Account(account))?;
        self.app.ascertain().await?;
        let (outbox, form) = (self.outbox.clone(), form.clone());
        let envelope = Envelope { wrap: Wrap::Api, unit: self.unit };
        let followed = self.app.subscribe(&self.outbox, move |model| {
            let unknown = || Refusal::of(&terms::Reject::UnknownAccount);
            let index = model.view.find_account(account).ok_or_else(unknown)?;
            let topic = StreamTopic::User(index, envelope).topic();
            outbox.send(form.result(&json!({"subscriptionId": index.0})));
            Hub::subscribe(model, topic, &outbox);
            Ok::<AccountStream, Refusal>(AccountStream { account, topic, number: index.0, by_session })
        });
        let followed = followed.await??;
        match self.followed.iter_mut().find(|its| its.topic == followed.topic) {
            // A subscription of its own does not end with the session.
            Some(its) => its.by_session &= by_session,
            None => self.followed.push(followed),
        }
        Ok(Called::Sent)
    }

    /// Ends some of its subscriptions, and answers that.
    async fn leave(&mut self, is_meant: impl Fn(&AccountStream) -> bool) -> Result<(), Refusal> {
        let (left, kept): (Vec<AccountStream>, Vec<AccountStream>) =
            self.followed.iter().partition(|its| is_meant(its));
        self.followed = kept;
        left.iter().for_each(|its| current_principal::leaves(Read::Account(its.account)));
        let (outbox, unit) = (self.outbox.clone(), self.unit);
        let done = self.app.look(move |model| {
            for its in left {
                Hub::unsubscribe(model, its.topic, &outbox);
                let event = json!({"e": "eventStreamTerminated", "E": unit.now()});
                outbox.send(json!({"subscriptionId": its.number, "event": event}).to_string().into());
            }
        });
        Ok(done.await?)
    }
}
