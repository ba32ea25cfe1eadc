//! Requests with the exact replies that they must get.

use super::client::Client;
use super::folder::Folder;
use super::reply::{self, without_times};
use super::server::{Launch, Server};

/// The text that stands for any text in an expected reply.
pub const ANY: &str = "…";

/// A talk on one connection, request by request; `T` stands for each time, `…` for any text.
pub struct Talk {
    pub client: Client,
    since: u64,
}

impl Talk {
    /// Makes a talk on a new connection.
    pub fn with(server: &Server) -> Talk {
        Talk { client: server.client(), since: reply::now() - 1 }
    }

    /// Sends a request and compares its reply, given without its root.
    pub fn says(&mut self, request: &str, expected: &str) -> &mut Self {
        let reply = self.client.ask(request);
        compare(request, &without_times(&reply, self.since), &format!("<results>{expected}</results>\n"));
        self
    }

    /// Sends the elements of a `<create>`.
    pub fn creates(&mut self, children: &str, expected: &str) -> &mut Self {
        self.says(&format!("<create>{children}</create>"), expected)
    }

    /// Sends the elements of a `<transactions>` of an account.
    pub fn trades(&mut self, account: &str, children: &str, expected: &str) -> &mut Self {
        self.says(&format!("<transactions id=\"{account}\">{children}</transactions>"), expected)
    }

    /// Sends a document that is refused as a whole; whatever the refusal's text, the connection goes on.
    pub fn refuses(&mut self, request: &str) -> &mut Self {
        self.says(request, &format!("<error>{ANY}</error>"));
        self.says("<create></create>", "")
    }
}

/// Panics unless the reply is the expected one, except where `…` stands.
pub fn compare(request: &str, reply: &str, expected: &str) {
    let mut rest = reply;
    let mut parts = expected.split(ANY);
    let first = parts.next().unwrap_or_default();
    let differs = || format!("\n request {request:.2000}\n   reply {reply:.2000}\nexpected {expected:.2000}");
    rest = rest.strip_prefix(first).unwrap_or_else(|| panic!("{}", differs()));
    for part in parts {
        let text = rest.find('<').unwrap_or(rest.len());
        assert!(text > 0, "an empty text{}", differs());
        rest = rest[text..].strip_prefix(part).unwrap_or_else(|| panic!("{}", differs()));
    }
    assert!(rest.is_empty(), "{}", differs());
}

/// The element of an accepted order.
pub fn opened(symbol: &str, amount: &str, limit: &str, id: u64) -> String {
    format!("<opened sym=\"{symbol}\" amount=\"{amount}\" limit=\"{limit}\" id=\"{id}\"/>")
}

/// The element of an order.
pub fn order(symbol: &str, amount: &str, limit: &str) -> String {
    format!("<order sym=\"{symbol}\" amount=\"{amount}\" limit=\"{limit}\"/>")
}

/// The element of a refused order.
pub fn refused(symbol: &str, amount: &str, limit: &str, why: &str) -> String {
    format!("<error sym=\"{symbol}\" amount=\"{amount}\" limit=\"{limit}\">{why}</error>")
}

/// A server on a folder of its own.
pub fn started(purpose: &str, arguments: &str) -> (Folder, Server) {
    let folder = Folder::new(purpose);
    let server = Launch::new(&folder.data()).with(arguments).start();
    (folder, server)
}

/// Creates an account. Panics unless it is created.
pub fn fund(client: &mut Client, account: usize, dollars: &str) {
    let created = format!("<created id=\"{account}\"/>");
    make(client, &format!("<account id=\"{account}\" balance=\"{dollars}\"/>"), &created);
}

/// Gives an account shares. Panics unless it gets them.
pub fn issue(client: &mut Client, symbol: &str, account: usize, shares: &str) {
    let inner = format!("<account id=\"{account}\">{shares}</account>");
    let created = format!("<created sym=\"{symbol}\" id=\"{account}\"/>");
    make(client, &format!("<symbol sym=\"{symbol}\">{inner}</symbol>"), &created);
}

/// Puts a symbol into a phase. Panics unless it changes.
pub fn change_phase(client: &mut Client, symbol: &str, phase: &str) {
    let terms = format!("sym=\"{symbol}\" is=\"{phase}\"");
    make(client, &format!("<phase {terms}/>"), &format!("<changed {terms}/>"));
}

/// Gives a symbol a price band, so many per cent up and down. `by_pressure`: the market's pressure chooses among the
/// prices of its auctions.
pub fn set_band(client: &mut Client, symbol: &str, percent: &str, by_pressure: bool) {
    let ties = if by_pressure { " auction-ties=\"pressure\"" } else { "" };
    let terms = format!("sym=\"{symbol}\" band-up=\"{percent}\" band-down=\"{percent}\"{ties}");
    make(client, &format!("<rules {terms}/>"), &format!("<changed {terms}/>"));
}

fn make(client: &mut Client, child: &str, expected: &str) {
    let request = format!("<create>{child}</create>");
    let reply = client.ask(&request);
    compare(&request, &reply, &format!("<results>{expected}</results>\n"));
}
