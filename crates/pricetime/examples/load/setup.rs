//! What must be there before the load: accounts with more money and shares than they can spend, and open orders to
//! query. One blocking connection, many elements a request; a market that is already there is used as it is.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::workload::{OpenOrder, frame, order_child, symbol_name, transactions};

/// Elements a request: well below the default of `--max-children`.
const CHILDREN_PER_REQUEST: u32 = 1_000;
/// Issued in all, a hundredth of what a server may issue, so that the setup can be repeated on the same data.
const ISSUED_IN_ALL: u64 = 1_000_000_000_000_000_000;
const OPEN_ORDERS: u32 = 10_000;
const PATIENCE: Duration = Duration::from_secs(30);

/// Creates accounts 1 to `accounts`, and gives each its part of every symbol. Errors: what the server refused.
pub fn market(to: SocketAddr, accounts: u32, symbols: u32) -> Result<(), String> {
    let mut server = Server::connect(to)?;
    let each = ISSUED_IN_ALL / u64::from(accounts);
    for some in batches(accounts) {
        let mut body = String::from("<create>\n");
        for account in some {
            let _ = writeln!(body, "  <account id=\"{account}\" balance=\"{each}\"/>");
        }
        server.ask(&(body + "</create>\n"), |error| error.contains("already exists"))?;
    }
    for symbol in 0..symbols {
        for some in batches(accounts) {
            let mut body = format!("<create>\n  <symbol sym=\"{}\">\n", symbol_name(symbol as usize));
            for account in some {
                let _ = writeln!(body, "    <account id=\"{account}\">{each}</account>");
            }
            server.ask(&(body + "  </symbol>\n</create>\n"), |_| false)?;
        }
    }
    Ok(())
}

/// Opens orders that rest, and returns them. Errors: what the server refused.
pub fn open_orders(to: SocketAddr, accounts: u32, symbols: u32) -> Result<Vec<OpenOrder>, String> {
    let mut server = Server::connect(to)?;
    let per_account = OPEN_ORDERS.div_ceil(accounts.min(OPEN_ORDERS));
    let mut orders = Vec::new();
    for account in 1..=accounts.min(OPEN_ORDERS) {
        let children: String =
            (0..per_account).map(|number| order_child((number % symbols) as usize, "", 1, 100)).collect();
        let reply = server.ask(&transactions(u64::from(account), &children), |_| false)?;
        // The values echoed before it hold no quotes and no ` id=`.
        for opened in reply.split(" id=\"").skip(1) {
            let id = opened.split('"').next().and_then(|id| id.parse().ok());
            orders.push(OpenOrder { account, id: id.ok_or_else(|| format!("an order without an id in {reply}"))? });
        }
    }
    Ok(orders)
}

fn batches(accounts: u32) -> impl Iterator<Item = RangeInclusive<u32>> {
    let starts = (1..=accounts).step_by(CHILDREN_PER_REQUEST as usize);
    starts.map(move |start| start..=accounts.min(start.saturating_add(CHILDREN_PER_REQUEST - 1)))
}

struct Server {
    stream: BufReader<TcpStream>,
    to: SocketAddr,
}

impl Server {
    fn connect(to: SocketAddr) -> Result<Server, String> {
        let connect = || {
            let stream = TcpStream::connect_timeout(&to, PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_nodelay(true)?;
            Ok(Server { stream: BufReader::new(stream), to })
        };
        connect().map_err(|error: std::io::Error| format!("{to}: {error}; is the server running?"))
    }

    /// The reply. Errors: no reply, or one with an error in it that is not `tolerated`.
    fn ask(&mut self, body: &str, tolerated: impl Fn(&str) -> bool) -> Result<String, String> {
        let mut reply = String::new();
        self.stream
            .get_mut()
            .write_all(frame(body).as_bytes())
            .and_then(|()| self.stream.read_line(&mut reply))
            .map_err(|error| format!("{}: no reply during the setup: {error}", self.to))?;
        if !reply.ends_with("</results>\n") {
            return Err(format!("{}: not a whole reply during the setup: `{reply}`", self.to));
        }
        match reply.split("<error").skip(1).find(|error| !tolerated(error)) {
            Some(error) => Err(format!("{}: the setup was refused: <error{error}", self.to)),
            None => Ok(reply),
        }
    }
}
