//! The codes of refusals: one table, from which answers and their descriptions are made.

use axum::http::StatusCode;
use serde::{Serialize, Serializer};

macro_rules! codes {
    ($($status:ident { $($code:ident $name:literal, $title:literal, $meaning:literal;)* })*) => {
        /// A reason for which a request is refused, for programs. Its name never changes its meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $($(#[doc = $meaning] $code,)*)*
        }

        impl Code {
            /// All codes, by their status.
            pub(crate) const ALL: &[Code] = &[$($(Code::$code,)*)*];

            /// Returns the code as answers have it.
            pub fn name(self) -> &'static str {
                match self {
                    $($(Code::$code => $name,)*)*
                }
            }

            /// Returns the code in words.
            pub(crate) fn title(self) -> &'static str {
                match self {
                    $($(Code::$code => $title,)*)*
                }
            }

            /// Returns the status of an answer with this code.
            pub(crate) fn status(self) -> StatusCode {
                match self {
                    $($(Code::$code => StatusCode::$status,)*)*
                }
            }

            /// Returns the reason in a sentence, for the descriptions.
            pub(crate) fn meaning(self) -> &'static str {
                match self {
                    $($(Code::$code => $meaning,)*)*
                }
            }
        }
    };
}

codes! {
    BAD_REQUEST {
        Malformed "malformed", "Malformed request",
            "Not JSON, or a field or parameter is missing, unknown or of the wrong form: `field`";
    }
    UNAUTHORIZED {
        Unauthenticated "unauthenticated", "Not authenticated",
            "Nobody has proven who asks, or the proof is wrong, over or used before";
    }
    FORBIDDEN {
        ForeignHost "foreign-host", "Foreign host", "The header `Host` does not name this server";
        ForeignOrigin "foreign-origin", "Foreign origin", "A page of another server sent it";
        NotPermitted "not-permitted", "Not permitted", "It is for members of another role";
    }
    NOT_FOUND {
        UnknownAccount "unknown-account", "Unknown account", "There is no such account, or it is not the member's";
        UnknownSymbol "unknown-symbol", "Unknown symbol", "There is no such symbol";
        UnknownOrder "unknown-order", "Unknown order", "The account has no such order";
        UnknownMember "unknown-member", "Unknown member", "There is no member of this name";
        UnknownKey "unknown-key", "Unknown key", "The member has no such key";
        NotFound "not-found", "Not found", "There is nothing at this path";
    }
    METHOD_NOT_ALLOWED {
        MethodNotAllowed "method-not-allowed", "Method not allowed", "The method is not for this path";
    }
    CONFLICT {
        NoSandbox "no-sandbox", "No sandbox",
            "No simulated traders can be started here, they trade already, or they ended before their market was there";
        NoAudit "no-audit", "No audit trail here",
            "The market is kept in a database, which tells who asked for which command";
        NoJournal "no-journal", "No journal",
            "The market has no journal of its own, or the server's settings want no replays";
        NoMembers "no-members", "No members", "The server has no access file, so nobody logs in";
        AccountExists "account-exists", "Account exists", "There is such an account";
        UnknownPayer "unknown-payer", "Unknown payer", "The account that an issuer's budget is of does not exist";
        IssuedOtherwise "issued-otherwise", "Issued otherwise",
            "Another number of shares of the symbol is issued than `expected_issued`: nothing was done";
        AccountClosed "account-closed", "Account is closed", "A closed account places no orders and gets nothing";
        AccountInUse "account-in-use", "Account is in use",
            "The account has open orders, dollars or shares, or gets the fees of a symbol";
        NotNextTransfer "not-next-transfer", "Not the next transfer",
            "The number is not that of the account's next transfer: it was made already, or others are missing";
        MemberExists "member-exists", "Member exists", "There is a member of this name";
        LastOperator "last-operator", "Last operator",
            "Nobody could change members any more: no operator would have a key that counts";
        WrittenOtherwise "written-otherwise", "Written otherwise",
            "The access file has no tables `[[member]]` and `[[member.key]]`: it is changed by hand";
        NothingOpen "nothing-open", "Nothing open", "All of the order is executed or canceled";
        NothingToAmend "nothing-to-amend", "Nothing to amend", "All of the order is executed or canceled";
        AmendsOneOfTwo "amends-one-of-two", "One of two linked orders",
            "The order is linked with another one, which would have other shares then";
        CannotAmend "cannot-amend", "Cannot be amended so", "The order cannot have a term that the amendment names";
        AmendsPending "amends-pending", "Not placed yet",
            "The order waits for another one to be executed, and is not placed yet";
        NotCanceled "not-canceled", "Not canceled",
            "The order that it was to replace was not canceled, so nothing was placed";
        Kept "kept", "Kept", "The order that was to replace it was not placed, so it stays as it is";
        ClientOrderIdTaken "client-order-id-taken", "Client order id taken", "It stands for another order";
        Halted "halted", "Trading is halted", "Trading in the symbol is halted: orders can be canceled";
        InAuction "in-auction", "In an auction",
            "The orders of the symbol gather: only limit orders, those for the auction, and orders with a stop, are placed";
        NotInAuction "not-in-auction", "In no auction",
            "The order is for an auction, and the one of its symbol is over, or the order waits for something else";
        AuctionWithoutBand "auction-without-band", "No band bounds the auction",
            "A market order for an auction needs a price band, and a price around which it lies";
        HaltedByRules "halted-by-rules", "Halted by its rules", "The rules of the symbol halt it, so it cannot open";
        Killed "killed", "Killed", "The kill switch is on for the account, the symbol or everything.";
        KillGoesOn "kill-goes-on", "Orders are still being canceled",
            "Orders of what is to be released are still being canceled: release it when that is over.";
        NothingToTrail "nothing-to-trail", "No price to follow",
            "Nothing of the symbol was executed yet, so that a stop has no price to follow";
        HistoryBeginsLater "history-begins-later", "History begins later",
            "The history has no report as old as the one to begin with";
        FromAhead "from-ahead", "Ahead of the present", "The report to begin with is not there yet";
        NotLinked "not-linked", "Not linked", "The order before it was refused, so the linked one was not placed";
        NotWorking "not-working", "No order to wait for", "The order that it was to wait for was refused";
    }
    GONE {
        NoLongerKept "no-longer-kept", "No longer kept", "It was there, and is older than what the server keeps";
    }
    PAYLOAD_TOO_LARGE {
        TooLarge "too-large", "Too large", "The body is longer than 64 KiB, or the answer than the server's bound";
    }
    UNSUPPORTED_MEDIA_TYPE {
        NotJson "not-json", "Not JSON", "The header `content-type: application/json` is missing";
    }
    UNPROCESSABLE_ENTITY {
        OutsideBudget "outside-budget", "Outside the budget", "An issuer may create other accounts than this one";
        InsufficientFunds "insufficient-funds", "Insufficient funds", "The account has not enough money";
        InsufficientShares "insufficient-shares", "Insufficient shares", "The account has not enough shares";
        WouldTake "would-take", "Would execute at once", "A post-only order would execute at once";
        TriggersAtOnce "triggers-at-once", "Would be triggered at once",
            "An execution reaches the order's `stop` or `take_profit` already";
        TrailTooFar "trail-too-far", "Too far behind the market",
            "So far behind the last price there is none to wait for";
        PastOpenOrders "past-open-orders", "Past a limit of the account",
            "The account has as many open orders as it may";
        PastOrderShares "past-order-shares", "Past a limit of the account",
            "More shares than an order of the account may have";
        PastOrderValue "past-order-value", "Past a limit of the account",
            "More dollars than an order of the account may be worth";
        PastPosition "past-position", "Past a limit of the account",
            "The account would have more shares of the symbol than it may, with those that its open buys may bring";
        PastCollar "past-collar", "Past a limit of the account",
            "The limit is farther from the market than those of the account may be";
        TooManyTrails "too-many-trails", "Too many stops follow this price",
            "1,000 stops follow the price of the symbol already, or 100 of the account";
        DeadlinePassed "deadline-passed", "Deadline passed", "The order would end before it is placed";
        NoDayEnd "no-day-end", "No day's end",
            "The order is to end with the day, and the server's calendar does not say when the day of its symbol ends";
        NotInACluster "not-in-a-cluster", "Not in a cluster",
            "Cancel on disconnect, and `expected_issued`, are not offered where several servers share a market";
        GivenFromBudget "given-from-budget", "Given from a budget",
            "A member with a budget gives shares and issues none, so `expected_issued` would not notice a second time";
        AmendsBelowExecuted "amends-below-executed", "Fewer shares than were executed",
            "As many shares of the order were executed as it was to have, or more";
        FundsTradeNothing "funds-trade-nothing", "Nothing can be traded for these funds",
            "Nobody is on the other side, or a share costs too much for these funds";
        CannotLink "cannot-link", "Cannot be linked", "The two orders cannot be linked";
        CannotWork "cannot-work", "Others cannot wait for it", "Others cannot wait for an order of this kind";
        CannotPend "cannot-pend", "Cannot wait for that order", "An order of this kind cannot wait for that one";
        OffTick "off-tick", "Not a multiple of the tick size",
            "A limit or `stop` is not a multiple of the symbol's `tick`";
        OffLot "off-lot", "Not a multiple of the lot size",
            "The shares, or the `display`, are not a multiple of the symbol's `lot`";
        DisplayOutOfRange "display-out-of-range", "Too few or too many shares on show",
            "The `display` is less than a hundredth of the shares, or more than all";
        SharesOutOfRange "shares-out-of-range", "Too few or too many shares",
            "Fewer shares than the symbol's `min_shares`, or more than its `max_shares`";
        ValueOutOfRange "value-out-of-range", "Too little or too much value",
            "Limit times shares is less than the symbol's `min_value`, or more than its `max_value`";
        OutsideBand "outside-band", "Outside the price band",
            "The limit is outside the symbol's band";
        OrderTooLarge "order-too-large", "Order too large",
            "More shares, or dollars, than an order of this member may have";
        TooMuchMoney "too-much-money", "Too much money",
            "More dollars than an account, a request or all accounts together may be given";
        TooManyShares "too-many-shares", "Too many shares",
            "More shares of the symbol than an account, a request or all accounts together may be given";
        ReplayTooLarge "replay-too-large", "Too much to replay",
            "To show that moment would take more commands, or memory, than the server's settings allow";
        TooMuchToSearch "too-much-to-search", "Too much to search",
            "Candles of seconds at that time lie behind more trades than are read for one answer";
        NoAccounts "no-accounts", "No accounts", "The member has no accounts that could be killed";
        TooManyAccounts "too-many-accounts", "Too many accounts",
            "The server keeps no more accounts, or a member has more than are killed together";
        TooManySymbols "too-many-symbols", "Too many symbols", "The server keeps no more symbols";
        TooManyProtected "too-many-protected", "Too many protected accounts",
            "As many accounts cancel their orders on disconnect as the server keeps";
        TooManyClientOrderIds "too-many-client-order-ids", "Too many client order ids",
            "The account has no more client order ids: an order without one is taken";
    }
    TOO_MANY_REQUESTS {
        TooManyMessages "too-many-messages", "Too many messages",
            "More requests a second than this member may send: `Retry-After`";
        TooManyConnectionsOfMember "too-many-connections-of-member", "Too many connections",
            "As many XML connections, FIX sessions and WebSockets are open as this member may have";
        TooManyOrders "too-many-orders", "Too many orders", "More orders a second than this member may place";
        TooManyTries "too-many-tries", "Too many tries",
            "Too many wrong proofs came from this address, or too many passwords are being compared";
    }
    INTERNAL_SERVER_ERROR {
        MembersUnwritable "members-unwritable", "Members unwritable", "The access file cannot be changed or read";
        JournalUnreadable "journal-unreadable", "Journal unreadable", "The journal or a snapshot cannot be read";
        ReplayEnded "replay-ended", "Replay ended", "The server shows the past no more until it is started again";
        HistoryUnreadable "history-unreadable", "History unreadable", "The files of the history cannot be read";
        RecordDamaged "record-damaged", "Record damaged", "What the server keeps of this is damaged";
        InternalFault "internal-fault", "Internal fault",
            "A fault of the server, which its log tells: what was asked for may have been done";
    }
    SERVICE_UNAVAILABLE {
        ReadOnly "read-only", "Read-only", "The venue is read-only: members look, and change nothing";
        ReadOnlyNode "read-only-node", "Read-only node",
            "The server only follows other nodes of its cluster: send it to one of those";
        Maintenance "maintenance", "Under maintenance",
            "The venue is under maintenance: there are no members but operators";
        ReplayBusy "replay-busy", "Replay busy",
            "Others are shown the past, or that moment takes longer than one answer may: ask again, `Retry-After`";
        DiskLow "disk-low", "Disk nearly full", "The disk is nearly full";
        StoreAway "store-away", "Store away", "The database cannot be reached";
        Behind "behind", "Behind",
            "The server has not applied the command yet that `pricetime-at-least` names: ask again, or another server";
        TooManyWaiting "too-many-waiting", "Too many orders wait",
            "100,000 orders of the symbol wait already while the server executes a large one";
        WouldWait "would-wait", "Would have to wait",
            "An order with `funds` would wait for its turn, so its shares are not known: send it again";
        Full "full", "The exchange is full", "The exchange cannot hold more";
        TooManyConnections "too-many-connections", "Too many connections",
            "All connections are taken: only /health, /ready and /metrics are answered";
        FeedUnavailable "feed-unavailable", "Feed unavailable",
            "What shows the market has ended by a fault of the server: nothing was done, and XML goes on";
        NotReady "not-ready", "Not ready", "The server is starting, waiting or stopping";
    }
    GATEWAY_TIMEOUT {
        OutcomeUnknown "outcome-unknown", "Outcome unknown",
            "The database, the log, the feed or the server went away before the answer was known: look before you send it again";
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// The refusals of an order, alone or in a list.
pub(crate) const ANY_ORDER: &[Code] = &[
    Code::UnknownAccount,
    Code::UnknownSymbol,
    Code::ClientOrderIdTaken,
    Code::TooManyClientOrderIds,
    Code::InsufficientFunds,
    Code::InsufficientShares,
    Code::WouldTake,
    Code::TriggersAtOnce,
    Code::NothingToTrail,
    Code::TrailTooFar,
    Code::TooManyTrails,
    Code::DeadlinePassed,
    Code::NoDayEnd,
    Code::Halted,
    Code::InAuction,
    Code::NotInAuction,
    Code::AuctionWithoutBand,
    Code::Killed,
    Code::PastOpenOrders,
    Code::PastOrderShares,
    Code::PastOrderValue,
    Code::PastPosition,
    Code::PastCollar,
    Code::OffTick,
    Code::OffLot,
    Code::SharesOutOfRange,
    Code::ValueOutOfRange,
    Code::OutsideBand,
];

/// The refusals of other terms for an open order.
pub(crate) const AMENDMENT: &[Code] = &[
    Code::UnknownAccount,
    Code::UnknownOrder,
    Code::NothingToAmend,
    Code::AmendsBelowExecuted,
    Code::AmendsOneOfTwo,
    Code::AmendsPending,
    Code::CannotAmend,
    Code::CannotLink,
    Code::CannotWork,
    Code::InsufficientFunds,
    Code::InsufficientShares,
    Code::WouldTake,
    Code::TriggersAtOnce,
    Code::NothingToTrail,
    Code::TrailTooFar,
    Code::TooManyTrails,
    Code::DeadlinePassed,
    Code::Halted,
    Code::InAuction,
    Code::NotInAuction,
    Code::AuctionWithoutBand,
    Code::Killed,
    Code::PastOpenOrders,
    Code::PastOrderShares,
    Code::PastOrderValue,
    Code::PastPosition,
    Code::PastCollar,
    Code::OffTick,
    Code::OffLot,
    Code::DisplayOutOfRange,
    Code::SharesOutOfRange,
    Code::ValueOutOfRange,
    Code::OutsideBand,
    Code::TooManyOrders,
    Code::OrderTooLarge,
    Code::TooManyWaiting,
];

/// The refusals of orders that no list has: those with `funds` or `display`.
pub(crate) const ORDER_ALONE: &[Code] = &[Code::FundsTradeNothing, Code::DisplayOutOfRange];

/// The refusals of a question that reads the history.
pub(crate) const RECORD: &[Code] = &[Code::HistoryUnreadable, Code::RecordDamaged, Code::NoLongerKept];
