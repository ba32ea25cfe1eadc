//! Scenarios: what a market does, in one language for the engine, the model and every protocol.
//!
//! A file of `cases/` holds scenarios. Each has a head and steps, one a line:
//!
//! ```text
//! == older-buy (spec, not fix): of two buys of the same limit the older goes first
//! fund A 1000                          an account with a balance; A to H are accounts
//! issue S A 50                         shares of a symbol; S to Z are symbols
//! A buy 10 S @ 12.5 -> 1               an order that is opened, known as 1 from here on (`sell` likewise)
//! A buy 10 S @ 12.5 refused            an order that is refused
//! A buy 10 S market -> 1               a market order; `A buy $45 S market` spends money instead
//! A buy 10 S @ 12.5 ioc -> 1           further words of an order: `ioc`, `fok`, `post-only`, `stop 9`, `display 4`,
//!                                      `self-trade cancel-newest`
//! A buy 10 S @ 12.5 gfa -> 1           an order for the auction of its symbol; `A buy 10 S market gfa` likewise
//! A oco sell 9 S @ 30 post-only -> 1, sell 9 S market stop 20 -> 2
//!                                      two orders of which one cancels the other
//! A oto buy 9 S @ 5 -> 1, sell 9 S @ 7 -> 2
//!                                      a working order, and the one or two that wait until it is executed
//! A query 1: open 4, executed 6 @ 12   its status; further parts: `canceled 4`, `waits 4 for 9` (for a price),
//!                                      `pends 4` (for another order), `open 12 shown 4`
//! A cancel 1: canceled 4               the answer to its cancel
//! A cancel 1 refused                   `query` and `amend` likewise
//! A amend 1 to 3                       its new total of shares
//! S is auction                         a phase of the symbol: `auction`, `halted` or `open`
//! S within 10%                         its price band: so far up and down from the reference; with `by pressure` at
//!                                      the end, its auctions choose among equal prices by the market's pressure
//! A has $12.5                          it can spend that, and no more
//! A has 50 S                           it can sell that, and no more
//! exact                                from here on XML is compared as Pricetime writes it, and not by meaning
//! ```
//!
//! The head says whether the public specification or Pricetime decided it, and which players leave it out because their
//! protocol cannot say it. This crate reads and plays scenarios; a [`Player`] says each step in its protocol. It knows
//! no engine and no socket.

mod amount;
mod cases;
mod commands;
mod names;
mod order;
mod play;
mod step;

pub use amount::{canonical, minus, plus};
pub use cases::{FILES, File, Scenario};
pub use commands::{CommandPlayer, Market};
pub use names::{is_account, is_symbol};
pub use order::{Amount, Bond, Kind, Order, Side};
pub use play::{
    Answer, Failure, OrderStatus, Placed, Player, Refused, account_number, play, play_all, scenario_count, symbol_name,
};
pub use step::{Outcome, Part, Step};
