//! The values in requests and answers, as schemas: their form, and an example of each.

use std::borrow::Cow;

use utoipa::openapi::schema::{
    AllOfBuilder, ArrayBuilder, KnownFormat, Object, ObjectBuilder, OneOfBuilder, Ref, Schema, SchemaFormat, Type,
};
use utoipa::{PartialSchema, ToSchema, openapi::RefOr};

/// Names a kind of value and its schema. It exists in descriptions only: no value is ever made of it.
macro_rules! values {
    ($($(#[doc = $doc:literal])+ $name:ident $shown:literal $schema:expr;)+) => {$(
        $(#[doc = $doc])+
        pub(crate) enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let mut schema: Object = $schema.build();
                schema.description = Some(concat!($($doc),+).trim().to_owned());
                schema.into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                $shown.into()
            }
        }
    )+

        /// Returns all of them, by name.
        pub(crate) fn all() -> Vec<(String, RefOr<Schema>)> {
            let mut all = vec![$((<$name as ToSchema>::name().into_owned(), <$name as PartialSchema>::schema())),+];
            all.push((Level::name().into_owned(), Level::schema()));
            all
        }
    };
}

fn text(pattern: &str, example: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).pattern(Some(pattern)).examples([example])
}

/// A whole number. Its format is for generated clients: some of them take 32 bits for a number without one.
fn number(least: u64, example: u64) -> ObjectBuilder {
    let format = SchemaFormat::KnownFormat(KnownFormat::Int64);
    ObjectBuilder::new().schema_type(Type::Integer).format(Some(format)).minimum(Some(least)).examples([example])
}

fn one_of(names: &[&str]) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names.iter().copied())).examples([names[0]])
}

values! {
    /// An account: digits; leading zeros count.
    Account "AccountId" text("^[0-9]{1,32}$", "1");
    /// A symbol: ASCII letters and digits.
    Symbol "SymbolName" text("^[A-Za-z0-9]{1,32}$", "SPY");
    /// The name that a client gives its order: ASCII letters, digits and the five . _ : / -
    ClientOrder "ClientOrderId" text("^[A-Za-z0-9._:/-]{1,36}$", "mine-1");
    /// The id that the exchange gives an order.
    Order "OrderId" number(1, 7);
    /// A trade: 1, 2, 3 … over all symbols, from where the history begins.
    Trade "TradeId" number(1, 3);
    /// The number of commands that the exchange has taken.
    Sequence "Sequence" number(0, 1042);
    /// A connection's number: the microsecond since the Unix epoch in which it began, or a later one.
    Connection "Connection" number(0, 1_763_690_000_000_000);
    /// Microseconds since the Unix epoch.
    Time "Time" number(0, 1_763_690_000_000_000);
    /// A count.
    Count "Count" number(0, 2);
    /// Dollars a share, exact: at most 8 decimals, above 0, at most 92233720368.54775807.
    Price "Price" text(r"^(0|[1-9][0-9]{0,10})(\.[0-9]{0,7}[1-9])?$", "145.67");
    /// Shares of an order or an execution, exact: at most 8 decimals, at most 92233720368.54775807.
    Shares "Shares" text(r"^(0|[1-9][0-9]{0,10})(\.[0-9]{0,7}[1-9])?$", "10");
    /// Shares together, exact: at most 8 decimals. An account has at most 10^20.
    Position "Position" text(r"^(0|[1-9][0-9]{0,30})(\.[0-9]{0,7}[1-9])?$", "1200");
    /// Dollars, exact: at most 16 decimals. All accounts together have at most 10^20.
    Money "Money" text(r"^(0|[1-9][0-9]{0,22})(\.[0-9]{0,15}[1-9])?$", "850.25");
    /// Dollars that were traded, exact up to 17014118346046923173168.7303715884105727, which stands for more.
    Turnover "Turnover" text(r"^(0|[1-9][0-9]{0,22})(\.[0-9]{0,15}[1-9])?$", "174000");
    /// Dollars more or less than before, exact.
    Change "Change" text(r"^-?(0|[1-9][0-9]{0,10})(\.[0-9]{0,7}[1-9])?$", "-1.2");
    /// Percent, with two decimals.
    Percent "Percent" text(r"^-?[0-9]+\.[0-9]{2}$", "-0.83");
    /// A limit: dollars a share, at most 8 decimals, above 0, at most 92233720368.54775807.
    LimitAsked "LimitAsked" text(r"^([0-9]+\.?[0-9]{0,8}|\.[0-9]{1,8})$", "125");
    /// Shares to order: at most 8 decimals, above 0, at most 92233720368.54775807.
    SharesAsked "SharesAsked" text(r"^([0-9]+\.?[0-9]{0,8}|\.[0-9]{1,8})$", "10");
    /// Dollars to trade for: at most 8 decimals, above 0, at most 10^20.
    FundsAsked "FundsAsked" text(r"^([0-9]+\.?[0-9]{0,8}|\.[0-9]{1,8})$", "1000");
    /// Shares to issue: at most 8 decimals, at most 10^20 of a symbol together.
    SharesIssued "SharesIssued" text(r"^([0-9]+\.?[0-9]{0,8}|\.[0-9]{1,8})$", "100");
    /// Shares of the symbol that are issued so far, over all accounts: at most 8 decimals, at most 10^20.
    IssuedAsked "IssuedAsked" text(r"^([0-9]+\.?[0-9]{0,8}|\.[0-9]{1,8})$", "0");
    /// Dollars to begin with: at most 8 decimals, at most 10^20 in all accounts together.
    BalanceAsked "BalanceAsked" text(r"^([0-9]+\.?[0-9]{0,8}|\.[0-9]{1,8})$", "1000");
    /// Percent above zero: at most 2 decimals, at most 10000, below a price at most 99.99.
    Distance "Distance" text(r"^([0-9]+\.?[0-9]{0,8}|\.[0-9]{1,8})$", "10");
    /// Percent of what is received: at most 4 decimals, at most 100.
    FeeRate "FeeRate" text(r"^([0-9]+\.?[0-9]{0,8}|\.[0-9]{1,8})$", "0.1");
    /// A class of accounts that pay the same fees: 0 to 15.
    Tier "Tier" number(0, 0);
    /// Dollars to move: at most 8 decimals, above 0, at most 10^20.
    DollarsMoved "DollarsMoved" text(r"^([0-9]+\.?[0-9]{0,8}|\.[0-9]{1,8})$", "10.5");
    /// Shares to move: at most 8 decimals, above 0, at most 10^20.
    SharesMoved "SharesMoved" text(r"^([0-9]+\.?[0-9]{0,8}|\.[0-9]{1,8})$", "3");
    /// The number of a transfer among those of its account.
    TransferNumberAsked "TransferNumber" number(1, 1).maximum(Some(terms::TransferNumber::MAX.get()));
    /// Accounts of one owner: 1 to 999999999; 0 for none.
    Group "Group" number(0, 0);
    /// The asset that a fee was taken of: the shares that were bought, or the dollars that shares were sold for.
    FeeOf "FeeOf" one_of(&["shares", "dollars"]);
    /// Seconds, whole ones above zero, at most 86400.
    Pause "Pause" text(r"^([0-9]+\.?[0-9]{0,8}|\.[0-9]{1,8})$", "300");
    /// Shares more or fewer, exact.
    Surplus "Surplus" text(r"^-?(0|[1-9][0-9]{0,30})(\.[0-9]{0,7}[1-9])?$", "-20");
    /// The phase of a symbol. `open`: orders execute as they come. `halted`: none is placed and none executes.
    /// `auction`: they gather, and execute at one price when the symbol opens.
    Phase "PhaseName" one_of(&["open", "halted", "auction"]);
    /// The side of an order.
    Side "Side" one_of(&["buy", "sell"]);
    /// The kind of an order. `limit` orders rest with the shares that do not execute at once. `post_only` ones are
    /// refused instead of executing at once. `post_only_move` ones get the next price at which they do not, and are
    /// `post_only` once they are placed: no order is shown as one. Three kinds never rest: `immediate_or_cancel` orders
    /// execute what they can up to their limit, `fill_or_kill` ones all or nothing, `market` ones at any price. Two
    /// kinds are for the auction in which their symbol is, or else for the next one, and end with it: `auction_limit`
    /// orders execute up to their limit, `auction_market` ones at any price within the price band.
    OrderKind "OrderKind" one_of(&[
        "limit", "post_only", "immediate_or_cancel", "fill_or_kill", "market", "post_only_move", "auction_limit", "auction_market",
    ]);
    /// The self-trade prevention: what happens where an order would execute with an open one of its own account.
    /// `allowed`: they execute. `cancel_newest`: the rest of the arriving order is canceled; `cancel_oldest`: the open
    /// one is, and the other goes on; `cancel_both`: both are. `decrement`: both lose the shares that they would have
    /// executed, and the one that has none left is canceled.
    SelfTrade "SelfTrade" one_of(&["allowed", "cancel_newest", "cancel_oldest", "cancel_both", "decrement"]);
    /// The reason why shares of an order were canceled. `asked`: its account canceled it; `not_resting`: it is of a
    /// kind that never rests, or its auction is over; `refused`: it was triggered, or its working order was executed,
    /// and it would have been refused then; `expired`: its deadline came; `self_trade`: it met an order of its own
    /// account; `linked`: something happened to the order that it was linked with; `not_placed`: its working order
    /// ended without being executed wholly; `disconnected`: no client was there for its account any more.
    CancelReason "CancelReason" one_of(&["asked", "not_resting", "refused", "expired", "self_trade", "linked", "not_placed", "disconnected"]);
    /// A time at which an order ends: microseconds since the Unix epoch.
    DeadlineAsked "DeadlineAsked" number(1, 4_102_444_800_000_000).maximum(Some(exchange::DEADLINE_MAX.0));
    /// The time in force. `DAY`: until the day of its symbol ends.
    TimeInForce "TimeInForce" one_of(&["DAY"]);
    /// The time in force of an amended order. `GTC`: what does not execute rests until it is canceled, and the order
    /// has no `until` any more. `GTD`: it rests until the time that `until` names beside it. `IOC`: it is canceled at
    /// once. `FOK`: the order executes completely or not at all. `GFA`: it ends with its auction; an order for an
    /// auction has no other time in force, and no other order has this one.
    AmendedTif "AmendedTif" one_of(&["GTC", "GTD", "IOC", "FOK", "GFA"]);
    /// An order is open until all of it is executed, or the rest is canceled.
    OrderStatus "OrderStatus" one_of(&["open", "executed", "canceled"]);
    /// The maker's order was there first; the aggressor's executed with it as it came.
    Role "Role" one_of(&["maker", "aggressor"]);
    /// The length of a candle.
    Interval "Interval" one_of(&["1s", "1m", "5m", "15m", "1h", "1d"]);
    /// CRC-32 (IEEE) of the ten best levels of each side as text `limit:shares`: best bid, best ask, second bid …,
    /// joined by `:`.
    Checksum "Checksum" number(0, 2_774_097_411).maximum(Some(u32::MAX));
    /// A member or a key: ASCII letters, digits and the five . _ - : @
    Name "Name" text("^[A-Za-z0-9._:@-]{1,64}$", "alice");
    /// A role of a member.
    MemberRole "MemberRole" one_of(&["trader", "operator", "issuer", "viewer", "auditor"]);
    /// The mode of the venue for members. `read-only`: they look, and change nothing. `maintenance`: only operators are
    /// admitted.
    Mode "Mode" one_of(&["normal", "read-only", "maintenance"]);
    /// The kind of a key: a secret to sign with, one to send, or another proof.
    KeyKind "KeyKind" one_of(&["hmac", "secret", "ed25519", "certificate", "address", "password"]);
    /// The state of a server.
    Standing "Standing" one_of(&["ready", "standby", "recovering", "store-away", "stopping", "failed"]);
}

/// A price level: limit, shares, orders.
pub(crate) enum Level {}

impl PartialSchema for Level {
    fn schema() -> RefOr<Schema> {
        let parts = ["Price", "Position", "Count"].map(Ref::from_schema_name);
        // Generators of clients that know no tuples need a type of all parts, and take none but a schema for it.
        let each = parts.iter().fold(OneOfBuilder::new(), |each, part| each.item(part.clone()));
        let parts = parts.map(|part| Schema::from(AllOfBuilder::new().item(part).build()));
        ArrayBuilder::new()
            .description(Some("A price level: limit, shares of its orders together, how many orders"))
            .prefix_items(parts)
            .items(each)
            .min_items(Some(3))
            .max_items(Some(3))
            .examples([serde_json::json!(["145.6", "300", 2])])
            .into()
    }
}

impl ToSchema for Level {
    fn name() -> Cow<'static, str> {
        "Level".into()
    }
}
