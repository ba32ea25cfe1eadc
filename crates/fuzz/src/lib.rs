//! Inputs of fuzzing. For the gateways, bytes become documents, messages and requests for a market in memory; the
//! readers of stored bytes, and of a cluster's log, get them nearly unchanged. All inputs are also read without a
//! market, an engine or a node behind, which tries many more in the same time. Each target is one function. It panics
//! if the fuzzed code does, or if an answer is malformed. `proof/fuzz` runs the targets under libFuzzer, and the tests
//! here run them over the kept corpora and some changes of these.

pub mod corpus;
mod fix_target;
mod http_target;
mod memory_market;
mod message_target;
mod mutation;
pub mod reading;
mod served;
mod stage;
pub mod stored_reading;
mod stored_target;
mod talk;
mod websocket_target;
mod xml_target;

pub use mutation::Mutation;

/// Separates the documents, messages or requests of one input.
pub const SEPARATOR: u8 = 0;
/// The most documents, messages or requests of one input that are sent.
const SENT_MAX: usize = 16;

/// A fuzzed gateway, or a fuzzed reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Documents of the XML protocol.
    Xml,
    /// Lines of FIX fields, separated by `|`.
    Fix,
    /// HTTP requests: a line with method and target, and the body behind it.
    Http,
    /// A byte that chooses the WebSocket, and text messages.
    WebSocket,
    /// Commands in the form of the journal.
    Commands,
    /// Items in the form of a snapshot.
    Items,
    /// A byte with a number of records, and a packed block of the history.
    Block,
    /// Messages of a cluster's log, each behind its length.
    Message,
    /// Documents of the XML protocol that are read alone.
    XmlReading,
    /// Lines of FIX fields that a session reads alone.
    FixReading,
    /// HTTP requests of which the parameters and bodies are read alone.
    HttpReading,
    /// Text messages of WebSockets that are read alone.
    WebSocketReading,
    /// Commands in the form of the journal that are read alone.
    CommandsReading,
    /// Items in the form of a snapshot that are read alone.
    ItemsReading,
    /// Messages of a cluster's log that are read alone.
    MessageReading,
}

impl Target {
    pub const ALL: [Target; 15] = [
        Target::Xml,
        Target::Fix,
        Target::Http,
        Target::WebSocket,
        Target::Commands,
        Target::Items,
        Target::Block,
        Target::Message,
        Target::XmlReading,
        Target::FixReading,
        Target::HttpReading,
        Target::WebSocketReading,
        Target::CommandsReading,
        Target::ItemsReading,
        Target::MessageReading,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Target::Xml => "xml",
            Target::Fix => "fix",
            Target::Http => "http",
            Target::WebSocket => "websocket",
            Target::Commands => "commands",
            Target::Items => "items",
            Target::Block => "block",
            Target::Message => "message",
            Target::XmlReading => "xml-reading",
            Target::FixReading => "fix-reading",
            Target::HttpReading => "http-reading",
            Target::WebSocketReading => "websocket-reading",
            Target::CommandsReading => "commands-reading",
            Target::ItemsReading => "items-reading",
            Target::MessageReading => "message-reading",
        }
    }

    /// Sends an input to this gateway or reader. Panics: it, or what is behind it, has a fault.
    pub fn send(self, input: &[u8]) {
        match self {
            Target::Xml => xml_target::send(input),
            Target::Fix => fix_target::send(input),
            Target::Http => http_target::send(input),
            Target::WebSocket => websocket_target::send(input),
            Target::Commands => stored_target::commands(input),
            Target::Items => stored_target::items(input),
            Target::Block => stored_reading::block(input),
            Target::Message => message_target::take(input),
            Target::XmlReading => reading::xml(input),
            Target::FixReading => reading::fix(input),
            Target::HttpReading => reading::http(input),
            Target::WebSocketReading => reading::websocket(input),
            Target::CommandsReading => stored_reading::commands(input),
            Target::ItemsReading => stored_reading::items(input),
            Target::MessageReading => stored_reading::messages(input),
        }
    }
}

/// The documents, messages or requests of an input.
fn parts(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    input.split(|byte| *byte == SEPARATOR).take(SENT_MAX)
}
