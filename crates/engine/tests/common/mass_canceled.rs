//! Situations with cancels of all orders of an account in a duel that a comparison should meet.

use model::{Model, Order};
use terms::{AccountIndex, Command, Op, OrderId, Phase, SymbolIndex};

pub const ALL: [&str; 18] = [
    "cancel all: none open",
    "cancel all: one",
    "cancel all: several",
    "cancel all: of a symbol, and others stay",
    "cancel all: of a symbol, and none is of that",
    "cancel all: of an unknown account",
    "cancel all: of an unknown symbol",
    "cancel all: of one that rests and was executed in part",
    "cancel all: of one that waits",
    "cancel all: of one that follows the market",
    "cancel all: of one that shows a part",
    "cancel all: of two that are linked",
    "cancel all: of one that waits for another one",
    "cancel all: of one with a client order id",
    "cancel all: of one that ends at a time",
    "cancel all: where orders gather",
    "cancel all: of more than one command cancels",
    "cancel all: of those that are old",
];

/// The situations that `op` is about to meet.
pub fn before(op: &Op, model: &Model) -> Vec<&'static str> {
    let Op::Command(Command::CancelAll { account, symbol, through }) = *op else { return Vec::new() };
    let Some(account) = model.accounts().position(|other| other == account) else {
        return vec!["cancel all: of an unknown account"];
    };
    let account = AccountIndex(account as u32);
    let found = |symbol| model.symbols().position(|other| other == symbol).map(|at| SymbolIndex(at as u32));
    let is_known = symbol.is_none_or(|symbol| found(symbol).is_some());
    if !is_known {
        return vec!["cancel all: of an unknown symbol"];
    }
    let own: Vec<&Order> = model.open_orders().filter(|order| order.account == account).collect();
    let is_meant = |order: &&&Order| symbol.is_none_or(|symbol| found(symbol) == Some(order.symbol));
    let meant: Vec<&Order> = own.iter().filter(is_meant).copied().collect();
    let is_meant = |id: OrderId| meant.iter().any(|order| order.id == id);
    let any = |is_so: &dyn Fn(&Order) -> bool| meant.iter().any(|order| is_so(order));
    let is_in_auction = |order: &Order| model.phase(order.symbol).phase == Phase::Auction;
    let rests = |order: &Order| !order.waits && order.pends_on.is_none();
    let met = [
        (own.is_empty(), "cancel all: none open"),
        (meant.len() == 1, "cancel all: one"),
        (meant.len() > 1, "cancel all: several"),
        (!meant.is_empty() && meant.len() < own.len(), "cancel all: of a symbol, and others stay"),
        (meant.is_empty() && !own.is_empty(), "cancel all: of a symbol, and none is of that"),
        (meant.len() > model.cancel_bounds().command, "cancel all: of more than one command cancels"),
        (
            through.is_some_and(|through| meant.iter().any(|order| order.id > through)),
            "cancel all: of those that are old",
        ),
        (any(&|order| rests(order) && !order.executions.is_empty()), ALL[7]),
        (any(&|order| order.waits), "cancel all: of one that waits"),
        (any(&|order| order.waits && order.trail.is_some()), "cancel all: of one that follows the market"),
        (any(&|order| rests(order) && order.shown < order.open), "cancel all: of one that shows a part"),
        (any(&|order| model.partner(order.id).is_some_and(is_meant)), "cancel all: of two that are linked"),
        (any(&|order| order.pends_on.is_some_and(is_meant)), "cancel all: of one that waits for another one"),
        (any(&|order| order.client_id.is_some()), "cancel all: of one with a client order id"),
        (any(&|order| order.until.is_some()), "cancel all: of one that ends at a time"),
        (any(&is_in_auction), "cancel all: where orders gather"),
    ];
    met.into_iter().filter(|(is_met, _)| *is_met).map(|(_, name)| name).collect()
}
