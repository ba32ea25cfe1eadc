//! Long lists as answers, made in pieces. The feed makes a piece when the client has taken the one before, so an answer
//! delays the feed no longer, and takes no more memory, than one piece does.
//!
//! A list that fits in one piece is answered as a whole. In a longer list each piece is as of its own moment. If
//! something goes wrong after the first piece, the answer is broken off, so that no client takes a part for the whole.

use std::fmt::Display;
use std::io;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Serialize;

use crate::app_state::AppState;

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

/// Answers with the list whose pieces `ask` returns, beginning with the one at `first`. Errors: that of the first
/// piece.
pub async fn answer<At, Refused, Asked>(
    app: &AppState,
    frame: Frame,
    first: At,
    ask: impl Fn(AppState, At) -> Asked + Send + 'static,
) -> Result<Response, Refused>
where
    At: Send + 'static,
    Refused: Display + Send + 'static,
    Asked: Future<Output = Result<Piece<At>, Refused>> + Send + 'static,
{
    let Piece { text, next } = in_turn(app, ask(app.clone(), first)).await?;
    let Frame { mut head, tail } = frame;
    head += &text;
    let body = match next {
        None => Body::from(head + tail),
        Some(next) => {
            let begun = !text.is_empty();
            let rest = RemainingPieces {
                app: app.clone(),
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
        let begun = Instant::now();
        let piece = in_turn(&self.app, (self.ask)(self.app.clone(), at)).await;
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

/// Waits for a permit: few pieces are made at a time, however many long answers there are, so that a short answer waits
/// for no more than these.
pub(crate) async fn in_turn<T>(app: &AppState, asked: impl Future<Output = T>) -> T {
    // The semaphore is never closed.
    let _turn = app.pieces().acquire().await;
    asked.await
}
