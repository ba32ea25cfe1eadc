//! The answers to requests about orders, before they are messages of a session: the session can say something else
//! while further answers are waited for.

use crate::message::Fields;
use crate::session::Session;

/// Answers in order.
#[derive(Default)]
pub(crate) struct Answers {
    messages: Vec<(&'static str, Fields)>,
    /// The reason why the session ends behind them, if it does.
    end: Option<String>,
}

impl Answers {
    /// Adds a message about orders, of this kind.
    pub(crate) fn add(&mut self, kind: &'static str, fields: Fields) {
        self.messages.push((kind, fields));
    }

    /// Ends the session behind these answers.
    pub(crate) fn end(&mut self, text: &str) {
        self.end.get_or_insert_with(|| text.to_owned());
    }

    /// Sends all of them.
    pub(crate) fn send(self, session: &mut Session) {
        self.messages.into_iter().for_each(|(kind, fields)| session.send_kept(kind, fields));
        self.end.into_iter().for_each(|text| session.end(&text));
    }
}
