//! Orders, and the rules of symbols, in the XML protocol.

use terms::{
    AccountLimit, AccountLimits, Amendment, AuctionTies, Bond, Change, Command, Deadline, Fees, FundsOrder, KillScope,
    Money, NewOrder, OrderForm, OrderKind, Place, Rule, SelfTrade, Side, Symbol, SymbolRules, Time, TimeInForce, Trail,
    WaitsFor,
};

/// The attributes of an `<order>`, each with a blank before it, in the order in which a reply repeats them.
pub fn order_attributes(order: &NewOrder, until: Option<Deadline>) -> String {
    let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade } = order;
    let sign = if *side == Side::Buy { "" } else { "-" };
    let start = format!(" sym=\"{symbol}\" amount=\"{sign}{shares}\"");
    let asked = match kind {
        OrderKind::Limit => format!("{start} limit=\"{limit}\""),
        OrderKind::PostOnly => format!("{start} limit=\"{limit}\" post-only=\"true\""),
        // An order that waits for a price does not move, so a client cannot ask for that.
        OrderKind::PostOnlyMove if trigger.is_some() => format!("{start} limit=\"{limit}\" post-only=\"true\""),
        OrderKind::PostOnlyMove => format!("{start} limit=\"{limit}\" post-only=\"move\""),
        OrderKind::ImmediateOrCancel => format!("{start} limit=\"{limit}\" tif=\"IOC\""),
        OrderKind::FillOrKill => format!("{start} limit=\"{limit}\" tif=\"FOK\""),
        OrderKind::Market => format!("{start} type=\"market\""),
        OrderKind::AuctionLimit => format!("{start} limit=\"{limit}\" tif=\"GFA\""),
        OrderKind::AuctionMarket => format!("{start} type=\"market\" tif=\"GFA\""),
    };
    let asked = match trigger {
        None => asked,
        Some(trigger) if trigger.is_stop_loss(*side) => format!("{asked} stop=\"{}\"", trigger.price()),
        Some(trigger) => format!("{asked} take-profit=\"{}\"", trigger.price()),
    };
    let until = until.map(|until| format!(" until=\"{}\"", seconds(until.time()))).unwrap_or_default();
    format!("{asked}{}{until}", self_trade_attribute(*self_trade))
}

/// The attribute of self-trade prevention, if it is on.
fn self_trade_attribute(mode: SelfTrade) -> String {
    if mode == SelfTrade::Allowed {
        return String::new();
    }
    format!(" self-trade=\"{}\"", mode.name().replace('_', "-"))
}

/// A time in seconds, with as many decimals as it has.
pub fn seconds(time: Time) -> String {
    let text = format!("{}.{:06}", time.0 / 1_000_000, time.0 % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The units of money in 10^-8 dollars: dollars have at most 8 decimals over the wire, and 16 in the engine.
const DOLLAR_STEP: i128 = 100_000_000;

/// The command as the wire can carry it: with funds and values of few decimals, and with a deadline where that has a
/// meaning. Fewer or more shares of an order are an amendment like any other.
pub fn as_on_the_wire(command: Command) -> Command {
    if let Command::ChangeRules { symbol, rules } = command {
        return Command::ChangeRules { symbol, rules: rules_on_the_wire(rules) };
    }
    if let Command::ChangeLimits { account, limits } = command {
        return Command::ChangeLimits { account, limits: limits_on_the_wire(limits) };
    }
    if let Command::Amend(amendment) = command {
        return Command::Amend(amendment_on_the_wire(&amendment));
    }
    if let Command::AmendOrder { account, order, shares } = command {
        return Command::Amend(Amendment::of(account, order).with_shares(shares));
    }
    let Command::Place(place) = command else { return command };
    Command::Place(match place.form() {
        OrderForm::Plain(order) | OrderForm::Iceberg { order, .. } => {
            place.until(place.deadline().filter(|_| order.kind.rests() || order.trigger.is_some()))
        }
        OrderForm::Trailing { .. } => place,
        OrderForm::Funds(order) => {
            let steps = (order.funds.units() + DOLLAR_STEP - 1) / DOLLAR_STEP;
            let order = FundsOrder { funds: Money::from_units(steps * DOLLAR_STEP), ..order };
            Place::funds(place.account, order).named(place.client_id()).bound(place.bond())
        }
    })
}

/// The amendment as the wire can carry it. An order that stays until it is canceled has no deadline, and a display
/// beside terms that exclude it is refused before the market sees it.
fn amendment_on_the_wire(amendment: &Amendment) -> Amendment {
    let tif = amendment.tif();
    let shows_all = matches!(tif, Some(TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill))
        || matches!(amendment.waits_for(), Some(WaitsFor::Trail(_)));
    let mut said = Amendment::of(amendment.account, amendment.order);
    said = amendment.shares().map_or(said, |shares| said.with_shares(shares));
    said = amendment.limit().map_or(said, |limit| said.with_limit(limit));
    said = amendment.waits_for().map_or(said, |waits_for| said.with_wait(waits_for));
    said = tif.map_or(said, |tif| said.with_tif(tif));
    said = match (amendment.deadline(), tif) {
        (Change::Set(until), _) => said.with_deadline(Some(until)),
        (Change::Remove, _) | (Change::Keep, Some(TimeInForce::Rests)) => said.with_deadline(None),
        (
            Change::Keep,
            None | Some(TimeInForce::ImmediateOrCancel | TimeInForce::FillOrKill | TimeInForce::GoodForAuction),
        ) => said,
    };
    match amendment.display() {
        Change::Set(display) if !shows_all => said.with_display(Some(display)),
        Change::Remove => said.with_display(None),
        Change::Set(_) | Change::Keep => said,
    }
}

/// The attributes of an `<amend>` behind the name of its order, in the order in which a reply repeats them.
pub fn amendment_attributes(amendment: &Amendment) -> String {
    let mut said = Vec::new();
    said.extend(amendment.shares().map(|shares| ("shares", shares.to_string())));
    said.extend(amendment.limit().map(|limit| ("limit", limit.to_string())));
    said.extend(amendment.waits_for().map(|waits_for| match waits_for {
        WaitsFor::StopLoss(price) => ("stop", price.to_string()),
        WaitsFor::TakeProfit(price) => ("take-profit", price.to_string()),
        WaitsFor::Trail(trail) => trail_attribute(trail),
    }));
    said.extend(match amendment.display() {
        Change::Keep => None,
        Change::Remove => Some(("display", "none".to_owned())),
        Change::Set(display) => Some(("display", display.to_string())),
    });
    let has_end = matches!(amendment.deadline(), Change::Set(_));
    said.extend(match (amendment.deadline(), amendment.tif()) {
        (Change::Keep, _) | (Change::Remove, Some(TimeInForce::Rests)) => None,
        (Change::Remove, _) => Some(("until", "none".to_owned())),
        (Change::Set(until), _) => Some(("until", seconds(until.time()))),
    });
    said.extend(amendment.tif().map(|tif| match tif {
        TimeInForce::Rests if has_end => ("tif", "GTD".to_owned()),
        TimeInForce::Rests => ("tif", "GTC".to_owned()),
        TimeInForce::ImmediateOrCancel => ("tif", "IOC".to_owned()),
        TimeInForce::FillOrKill => ("tif", "FOK".to_owned()),
        TimeInForce::GoodForAuction => ("tif", "GFA".to_owned()),
    }));
    said.into_iter().map(|(name, value)| format!(" {name}=\"{value}\"")).collect()
}

/// The attribute of a distance at which a trigger follows the market.
fn trail_attribute(trail: Trail) -> (&'static str, String) {
    match trail.bips() {
        Some(bips) => ("trail-bips", bips.to_string()),
        None => ("trail", trail.distance().expect("one or the other").to_string()),
    }
}

/// The nearest limits that the wire can carry: no more money than there is, in steps, and at least one.
fn limits_on_the_wire(limits: AccountLimits) -> AccountLimits {
    let none = AccountLimits::NONE.order_value;
    let steps = (limits.order_value.units() / DOLLAR_STEP).max(1);
    let said = Money::from_units(steps * DOLLAR_STEP).min(Money::CAP);
    AccountLimits { order_value: if limits.order_value == none { none } else { said }, ..limits }
}

/// The nearest rules that the wire can carry: no more money than there is, in steps.
fn rules_on_the_wire(rules: SymbolRules) -> SymbolRules {
    let none = SymbolRules::NONE;
    let said = |value: Money| Money::from_units(value.units() / DOLLAR_STEP * DOLLAR_STEP).min(Money::CAP);
    let value_max = if rules.value_max == none.value_max { none.value_max } else { said(rules.value_max) };
    let rules = SymbolRules { value_min: said(rules.value_min), value_max, ..rules };
    if rules.check().is_ok() { rules } else { none }
}

/// The attributes of a `<rules>`, in the order in which a reply repeats them.
pub fn rules_attributes(symbol: Symbol, rules: &SymbolRules) -> String {
    let said = |rule: Rule| Some(format!(" {}=\"{}\"", rule.name(), rules.amount(rule)?.as_str()));
    let amounts: String = Rule::ALL.into_iter().filter_map(said).collect();
    let is_pressed = rules.auction_ties == AuctionTies::Pressure;
    let ties = if is_pressed { " auction-ties=\"pressure\"" } else { "" };
    format!(" sym=\"{symbol}\"{amounts}{ties}{}", if rules.is_halted { " trading=\"off\"" } else { "" })
}

/// The element that changes fees, a tier or a group, and its attributes, in the order in which a reply repeats them;
/// none for another command.
pub fn fees_element(command: &Command) -> Option<(&'static str, String)> {
    if let Command::ChangeTier { account, tier } = *command {
        return Some(("tier", format!(" id=\"{account}\" tier=\"{}\"", tier.number())));
    }
    if let Command::ChangeGroup { account, group } = *command {
        return Some(("group", format!(" id=\"{account}\" group=\"{}\"", group.number())));
    }
    if let Command::Kill { scope } | Command::Release { scope } = *command {
        let element = if matches!(command, Command::Kill { .. }) { "kill" } else { "release" };
        let echo = match scope {
            KillScope::Everything => String::new(),
            KillScope::Account(account) => format!(" account=\"{account}\""),
            KillScope::Symbol(symbol) => format!(" sym=\"{symbol}\""),
        };
        return Some((element, echo));
    }
    if let Command::ChangeLimits { account, limits } = *command {
        let said = |limit: AccountLimit| Some(format!(" {}=\"{}\"", limit.name(), limits.amount(limit)?.as_str()));
        let amounts: String = AccountLimit::ALL.into_iter().filter_map(said).collect();
        return Some(("limits", format!(" account=\"{account}\"{amounts}")));
    }
    let Command::ChangeFees { symbol, tier, fees } = *command else { return None };
    let said = |Fees { maker, taker, account }| format!(" maker=\"{maker}\" taker=\"{taker}\" account=\"{account}\"");
    let said = fees.map(said).unwrap_or_default();
    Some(("fees", format!(" sym=\"{symbol}\" tier=\"{}\"{said}", tier.number())))
}

/// The attributes of an `<order>` for money.
pub fn funds_attributes(order: &FundsOrder) -> String {
    let FundsOrder { symbol, side, funds, self_trade } = order;
    let sign = if *side == Side::Buy { "" } else { "-" };
    format!(" sym=\"{symbol}\" type=\"market\" funds=\"{sign}{funds}\"{}", self_trade_attribute(*self_trade))
}

/// The attributes of the order that a command places, without a client order id.
pub fn placing_attributes(command: &Command) -> String {
    let Command::Place(place) = command else { panic!("{command:?} places no order") };
    let until = place.deadline();
    match place.form() {
        OrderForm::Plain(order) => order_attributes(&order, until),
        OrderForm::Iceberg { order, display } => format!("{} display=\"{display}\"", order_attributes(&order, until)),
        OrderForm::Trailing { order, trail } => {
            let (name, distance) = trail_attribute(trail);
            // An order that waits for a price does not move, so a client cannot ask for that.
            let order = NewOrder { kind: order.kind.once_placed(), ..order };
            format!("{} {name}=\"{distance}\"", order_attributes(&order, until))
        }
        OrderForm::Funds(order) => funds_attributes(&order),
    }
}

/// The further attribute of a `<replace>`: whether the order is placed without the cancel, or both are done or neither.
pub fn on_failure_attribute(command: &Command) -> &'static str {
    match command.bond() {
        Some(Bond::IfCanceled) => "",
        Some(Bond::Replacing) => " on-failure=\"keep\"",
        _ => " on-failure=\"place\"",
    }
}
