//! Long lists as answers, made in pieces. The feed makes a piece when the client has taken the one before, so an answer
//! delays the feed no longer, and takes no more memory, than one piece does. Members take turns at the pieces.
//!
//! A list that fits in one piece is answered as a whole. In a longer list each piece is as of its own moment. If
//! something goes wrong after the first piece, the answer is broken off, so that no client takes a part for the whole.

use std::fmt::Display;
use std::io;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use exchange::Read;
use futures_util::stream;
use serde::Serialize;

use crate::app_state::AppState;
use crate::current_principal::{self, Asker};
use crate::problem::Problem;

/// Some elements of a list, and the start of the next piece; `None` when the list ends here.
pub struct Piece<At> {
    /// The elements as text, with commas between them.
    text: String,
    pub(crate) next: Option<At>,
}

impl<At> Piece<At> {
    /// Writes elements in JSON. `next` is the start of the next piece, if there is one.
    pub fn of<T: Serialize>(elements: impl IntoIterator<Item = T>, next: Option<At>) -> Piece<At> {
        Piece::written(elements.into_iter().map(|element| crate::json::text(&element)), next)
    }

    /// Makes a piece of elements that are JSON already.
    pub fn written(elements: impl IntoIterator<Item = String>, next: Option<At>) -> Piece<At> {
        let mut text = String::new();
        for element in elements {
            if !text.is_empty() {
                text.push(',');
            }
            text += &element;
        }
        Piece { text, next }
    }
}

/// A JSON document with one list: the text before its elements and behind them.
pub struct Frame {
    head: String,
    tail: &'static str,
}

impl Frame {
    /// A document that is the list alone.
    pub fn bare() -> Frame {
        Frame { head: "[".to_owned(), tail: "]" }
    }

    /// An object whose fields are the elements: each is written with its name.
    pub fn fields() -> Frame {
        Frame { head: "{".to_owned(), tail: "}" }
    }

    /// An object whose last field is a list without elements: they are written into it.
    pub(crate) fn around(object: &impl Serialize) -> Frame {
        let mut head = crate::json::text(object);
        debug_assert!(head.ends_with("[]}"), "invariant: the last field is an empty list");
        head.truncate(head.len().saturating_sub("]}".len()));
        Frame { head, tail: "]}" }
    }

    /// An object, with the list as its last field.
    pub fn field(object: &impl Serialize, name: &str) -> Frame {
        let mut head = crate::json::text(object);
        let closing = head.pop();
        debug_assert_eq!(closing, Some('}'), "invariant: the list is a field of an object");
        if !head.ends_with('{') {
            head.push(',');
        }
        head += &format!("\"{name}\":[");
        Frame { head, tail: "]}" }
    }
}

/// Answers with the list whose pieces `ask` returns, beginning with the one at `first`. `ask` runs as the current
/// asker, also for later pieces, and takes a turn for each part of its work: [`in_turn`], [`past_in_turn`]. The answer
/// breaks off when the asker may no longer `read` what it lists. Errors: that of the first piece.
pub async fn answer<At, Refused, Asked>(
    app: &AppState,
    (frame, read): (Frame, Read),
    first: At,
    ask: impl Fn(AppState, At) -> Asked + Send + 'static,
) -> Result<Response, Refused>
where
    At: Send + 'static,
    Refused: Display + Send + 'static,
    Asked: Future<Output = Result<Piece<At>, Refused>> + Send + 'static,
{
    let Piece { text, next } = ask(app.clone(), first).await?;
    let Frame { mut head, tail } = frame;
    head += &text;
    let body = match next {
        None => Body::from(head + tail),
        Some(next) => {
            let begun = !text.is_empty();
            let rest = RemainingPieces {
                app: app.clone(),
                asker: current_principal::asker(),
                read,
                ask,
                at: Some(next),
                begun,
                tail,
                made: Bytes::from(head),
                worked: Duration::ZERO,
            };
            Body::from_stream(stream::try_unfold(rest, RemainingPieces::take))
        }
    };
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// The rest of a list.
struct RemainingPieces<At, Ask> {
    app: AppState,
    /// The asker, as whom the pieces are made: they are made outside of the request's task.
    asker: Option<Asker>,
    read: Read,
    ask: Ask,
    /// The start of the next piece; `None` when only the tail is left.
    at: Option<At>,
    /// Whether there was an element.
    begun: bool,
    tail: &'static str,
    /// Bytes that were made and are not taken yet.
    made: Bytes,
    /// Time of work since the last rest.
    worked: Duration,
}

/// Time that pieces take before others have as much: a shorter rest is rounded up to a millisecond or two.
const WORKED_AT_ONCE: Duration = Duration::from_millis(5);
/// Bytes that are handed on at once. The connection takes a number of such parts, however long they are, before its
/// client takes any.
const PART: usize = 8 << 10;

impl<At, Ask, Refused, Asked> RemainingPieces<At, Ask>
where
    Refused: Display,
    Ask: Fn(AppState, At) -> Asked,
    Asked: Future<Output = Result<Piece<At>, Refused>>,
{
    async fn take(mut self) -> io::Result<Option<(Bytes, Self)>> {
        while self.made.is_empty() {
            let Some(at) = self.at.take() else { return Ok(None) };
            self.make(at).await?;
        }
        let part = self.made.split_to(self.made.len().min(PART));
        Ok(Some((part, self)))
    }

    /// Makes the piece that begins there.
    async fn make(&mut self, at: At) -> io::Result<()> {
        // Each piece is as true as an answer of its own would be.
        self.app.ascertain().await.map_err(broken_off)?;
        // A list may last as long as its reader likes.
        if !self.app.may_read_as(self.asker.as_ref(), self.read) {
            return Err(broken_off(Problem::not_permitted()));
        }
        let begun = Instant::now();
        let asked = (self.ask)(self.app.clone(), at);
        let piece = current_principal::as_whoever(self.asker.clone(), asked).await;
        // At least half of the thread's time is left to others.
        self.worked += begun.elapsed();
        if self.worked >= WORKED_AT_ONCE {
            tokio::time::sleep(std::mem::take(&mut self.worked)).await;
        }
        let Piece { text, next } = piece.map_err(broken_off)?;
        self.at = next;
        let mut made = String::new();
        if !text.is_empty() {
            if std::mem::replace(&mut self.begun, true) {
                made.push(',');
            }
            made += &text;
        }
        if self.at.is_none() {
            made += self.tail;
        }
        self.made = Bytes::from(made);
        Ok(())
    }
}

fn broken_off(refused: impl Display) -> io::Error {
    tracing::warn!(%refused, "a long answer breaks off");
    io::Error::other(refused.to_string())
}

/// Waits for a turn of the current member to ask the feed for a piece, and keeps it until the feed has answered: few
/// pieces are made at a time, however many long answers there are, so that a short answer waits for no more than these.
/// A database must not be asked within it.
pub async fn in_turn<T>(app: &AppState, asked: impl Future<Output = T>) -> T {
    let _turn = app.pieces().take(&current_principal::member()).await;
    asked.await
}

/// Waits for a turn of the current member to read the history for a piece: pieces that need no history wait for none of
/// these.
pub async fn past_in_turn<T>(app: &AppState, asked: impl Future<Output = T>) -> T {
    let _turn = app.past_pieces().take(&current_principal::member()).await;
    asked.await
}
