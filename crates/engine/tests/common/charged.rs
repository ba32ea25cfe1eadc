//! Situations with fees in a duel that a comparison should meet.

use model::{Model, Order};
use terms::{AccountIndex, Command, Event, Execution, Fee, FeeRate, Op, Reply, Side, Taken, Tier};

pub const ALL: [&str; 24] = [
    "fees: given",
    "fees: taken away",
    "fees: the same again",
    "tier: changed",
    "tier: the same again",
    "fees: of a maker that buys",
    "fees: of a maker that sells",
    "fees: of an aggressor that buys",
    "fees: of an aggressor that sells",
    "fees: of the maker alone",
    "fees: of the aggressor alone",
    "fees: of another tier",
    "fees: of two tiers, to two accounts",
    "fees: to the maker, of its own",
    "fees: to the aggressor, of its own",
    "fees: to the maker, of the aggressor's",
    "fees: to the aggressor, of the maker's",
    "fees: within one account",
    "fees: rounded up",
    "fees: all that was received",
    "fees: of several executions of one order",
    "fees: of an order that was triggered",
    "fees: of a market buy",
    "state: imported with fees",
];

/// The situations with fees that `op` caused; `model` stands after it.
pub fn after(op: &Op, reply: &Reply, events: &[Event], model: &Model) -> Vec<&'static str> {
    let mut met = Vec::new();
    match (op, reply) {
        (Op::Command(Command::ChangeFees { fees, .. }), Reply::Created) => met.push(match (events, fees) {
            ([], _) => "fees: the same again",
            (_, None) => "fees: taken away",
            (_, Some(_)) => "fees: given",
        }),
        (Op::Command(Command::ChangeTier { .. }), Reply::Created) => {
            met.push(if events.is_empty() { "tier: the same again" } else { "tier: changed" });
        }
        _ => {}
    }
    let is_triggered = |at: usize| events[..at].iter().any(|event| matches!(event, Event::OrderTriggered { .. }));
    let mut aggressors = Vec::new();
    for (at, pair) in events.windows(2).enumerate() {
        let [Event::FeesTaken { maker: of_maker, aggressor: of_aggressor }, executed] = *pair else { continue };
        let (Event::Executed { maker, aggressor, price, shares, .. }
        | Event::Uncrossed { maker, aggressor, price, shares, .. }) = executed
        else {
            panic!("fees are told just before their execution")
        };
        let (maker, aggressor) = (model.order(maker), model.order(aggressor));
        met.extend(of_parties((maker, of_maker), (aggressor, of_aggressor), model));
        let execution = |fee| Execution { shares, price, time: model.time(), fee };
        met.extend([of_maker, of_aggressor].into_iter().flat_map(|fee| of_amount(&execution(fee))));
        if is_triggered(at) {
            met.push("fees: of an order that was triggered");
        }
        if aggressor.kind == terms::OrderKind::Market && aggressor.side == Side::Buy {
            met.push("fees: of a market buy");
        }
        if aggressors.contains(&aggressor.id) {
            met.push("fees: of several executions of one order");
        }
        aggressors.push(aggressor.id);
    }
    met
}

fn of_parties(
    (maker, of_maker): (&Order, Fee),
    (aggressor, of_aggressor): (&Order, Fee),
    model: &Model,
) -> Vec<&'static str> {
    let symbol = maker.symbol;
    let to = |account: AccountIndex| model.fees(symbol, model.tier(account)).map(|fees| fees.account);
    let maker_to = to(maker.account).filter(|_| !of_maker.is_none());
    let aggressor_to = to(aggressor.account).filter(|_| !of_aggressor.is_none());
    let is_other = |account| model.tier(account) != Tier::FIRST;
    let met = [
        (maker_to.is_some() && maker.side == Side::Buy, "fees: of a maker that buys"),
        (maker_to.is_some() && maker.side == Side::Sell, "fees: of a maker that sells"),
        (aggressor_to.is_some() && aggressor.side == Side::Buy, "fees: of an aggressor that buys"),
        (aggressor_to.is_some() && aggressor.side == Side::Sell, "fees: of an aggressor that sells"),
        (aggressor_to.is_none(), "fees: of the maker alone"),
        (maker_to.is_none(), "fees: of the aggressor alone"),
        (maker_to.is_some() && is_other(maker.account), "fees: of another tier"),
        (
            maker_to.is_some() && aggressor_to.is_some() && maker_to != aggressor_to,
            "fees: of two tiers, to two accounts",
        ),
        (maker_to == Some(maker.account), "fees: to the maker, of its own"),
        (aggressor_to == Some(aggressor.account), "fees: to the aggressor, of its own"),
        (aggressor_to == Some(maker.account), "fees: to the maker, of the aggressor's"),
        (maker_to == Some(aggressor.account), "fees: to the aggressor, of the maker's"),
        (maker.account == aggressor.account, "fees: within one account"),
    ];
    met.into_iter().filter(|(is_met, _)| *is_met).map(|(_, name)| name).collect()
}

fn of_amount(execution: &Execution) -> Vec<&'static str> {
    let (received, taken) = match execution.taken() {
        None => return Vec::new(),
        Some(Taken::Shares(shares)) => (i128::from(execution.shares.units()), i128::from(shares.units())),
        Some(Taken::Money(money)) => (execution.price.times(execution.shares).units(), money.units()),
    };
    let rate = execution.fee.rate();
    let is_odd = received % 1_000_000 * i128::from(rate.millionths()) % 1_000_000 != 0;
    let met =
        [(is_odd, "fees: rounded up"), (taken == received && rate != FeeRate::MAX, "fees: all that was received")];
    met.into_iter().filter(|(is_met, _)| *is_met).map(|(_, name)| name).collect()
}
