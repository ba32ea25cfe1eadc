// Every message of the HTTP and WebSocket interface, as types. Holds no code.
//
// Prices, shares and money are exact decimal strings; times are microseconds since the Unix epoch.

/** @typedef {"buy"|"sell"} Side */
/** @typedef {"1s"|"1m"|"5m"|"15m"|"1h"|"1d"} Interval */

/**
 * The figures of a symbol; null where there is none yet.
 * @typedef {object} SymbolInfo
 * @property {string} symbol
 * @property {string|null} last
 * @property {number|null} last_time
 * @property {string|null} change
 * @property {string|null} change_percent
 * @property {string|null} open_24h
 * @property {string|null} high_24h
 * @property {string|null} low_24h
 * @property {string|null} volume_24h
 * @property {string|null} money_24h
 * @property {number|null} trades_24h
 * @property {string|null} best_bid
 * @property {string|null} best_ask
 * @property {string} issued
 * @property {Rules} [rules] what its orders have to obey; missing where it has none
 * @property {Phase} [phase] missing while it is open
 * @property {boolean} [killed] while it takes no orders
 */

/**
 * The rules of a symbol; what is missing is no rule.
 * @typedef {object} Rules
 * @property {string} [tick] limits and stops are multiples of it
 * @property {string} [lot] shares are multiples of it
 * @property {string} [min_shares]
 * @property {string} [max_shares]
 * @property {string} [min_value]
 * @property {string} [max_value]
 * @property {string} [band_up] per cent above the price of the last execution between two accounts
 * @property {string} [band_down]
 * @property {string} [band_size] shares of an execution that moves the band
 * @property {string} [static_up] per cent above the price of the last auction
 * @property {string} [static_down]
 * @property {string} [interruption] seconds of the auction that an order outside the band begins
 * @property {"nearest"|"pressure"} [auction_ties] the choice among auction prices that are equally good
 * @property {boolean} trading whether orders are placed and execute
 */

/**
 * The phase of a symbol that is not open.
 * @typedef {object} Phase
 * @property {"halted"|"auction"} name
 * @property {number|null} until when it ends by itself
 * @property {string|null} price at which what gathered would execute now
 * @property {string|null} shares that would
 * @property {string|null} surplus bought less sold at that price
 */

/** The fees of a tier's accounts, in per cent of what they receive. @typedef {{tier?: number, maker?: string, taker?: string, account?: string}} TierFees */
/** @typedef {{symbol: string, fees: TierFees[]}} SymbolFees */

/** A price level on the wire: limit, shares, orders. @typedef {[string, string, number]} WireLevel */

/**
 * @typedef {object} BookMessage
 * @property {string} symbol
 * @property {number} sequence
 * @property {number} update counts by one
 * @property {number} time
 * @property {WireLevel[]} bids
 * @property {WireLevel[]} asks
 * @property {number} checksum
 * @property {Phase} [phase] missing while the symbol is open
 */

/**
 * @typedef {object} Trade
 * @property {number} trade_id
 * @property {string} symbol
 * @property {string} price
 * @property {string} shares
 * @property {number} time
 * @property {Side} aggressor
 * @property {number} buy_order
 * @property {number} sell_order
 */

/** @typedef {{trades: Trade[], next: number|null}} TradesPage */

/**
 * A trade of the past, with what was executed of the account that was asked for.
 * @typedef {object} PastTrade
 * @property {number|null} trade_id null where the history does not reach back so far
 * @property {string} price
 * @property {string} shares
 * @property {number} time
 * @property {Side} aggressor
 * @property {number} buy_order
 * @property {number} sell_order
 * @property {{side: Side, order_id: number, role: "maker"|"aggressor"}[]|undefined} [fills]
 */

/** An order in the book of the past; with nothing open once it is gone. @typedef {{order_id: number, side: Side, limit: string, open: string}} PastOrder */

/**
 * @typedef {object} PastBook
 * @property {string} symbol
 * @property {number} sequence
 * @property {number} time
 * @property {number} newest the last command by now
 * @property {WireLevel[]} bids
 * @property {WireLevel[]} asks
 * @property {number} checksum
 * @property {Phase} [phase]
 * @property {PastTrade[]|null} trades newest first
 * @property {PastOrder[]} [orders]
 */

/**
 * The changes by one command.
 * @typedef {object} PastEvent
 * @property {number} sequence
 * @property {number} time
 * @property {WireLevel[]} bids
 * @property {WireLevel[]} asks
 * @property {number} checksum
 * @property {Phase} [phase]
 * @property {PastTrade[]} trades oldest first
 * @property {PastOrder[]} [orders]
 */

/** @typedef {{symbol: string, from: number, through: number, time: number, newest: number, events: PastEvent[]}} PastEvents */

/**
 * @typedef {object} Candle
 * @property {number} start microseconds
 * @property {string} open
 * @property {string} high
 * @property {string} low
 * @property {string} close
 * @property {string} volume
 * @property {string} money
 * @property {number} trades
 */

/** @typedef {{symbol: string, shares: string, held: string}} Position */

/**
 * The limits of an account. A missing field is no limit.
 * @typedef {object} Limits
 * @property {number} [open_orders]
 * @property {string} [order_shares]
 * @property {string} [order_value]
 * @property {string} [position]
 * @property {string} [collar]
 */

/**
 * Balance and shares are what can be spent and sold; held is what open orders hold.
 * @typedef {object} Account
 * @property {string} account
 * @property {string} balance
 * @property {string} held
 * @property {Position[]} positions
 * @property {number} open_orders
 * @property {number} [tier] whose fees it pays; 0 if it is missing
 * @property {Limits} [limits]
 * @property {boolean} [killed] while it takes no orders
 * @property {boolean} [closed] once it is
 * @property {number} [tier]
 * @property {number} [group]
 * @property {number} sequence
 */

/** @typedef {{account: string, balance: string}} AccountLine */

/**
 * The member that is logged in, and its rights.
 * @typedef {object} Session
 * @property {boolean} members whether the server knows its members
 * @property {string|null} member
 * @property {string[]} roles
 * @property {string[]} accounts
 */

/** The outcome of a kill or release. @typedef {{killed: boolean, canceled: number, goes_on?: boolean}} KillGiven `goes_on`: others are still being canceled */

/**
 * The kills in force: everything, or the named symbols and accounts.
 * @typedef {object} Kills
 * @property {boolean} killed
 * @property {string[]} [symbols]
 * @property {string[]} [accounts]
 */

/**
 * The state of the simulated traders.
 * @typedef {object} Sandbox
 * @property {boolean} possible
 * @property {boolean} made
 * @property {string|null} why why not
 * @property {boolean} running
 * @property {boolean} stopping
 * @property {number} rate
 * @property {number} seed
 * @property {string[]} strategies
 * @property {number} commands
 * @property {{account: string, name: string, strategy: string|null}[]} accounts
 * @property {string[]} symbols
 */

/** @typedef {"normal"|"read-only"|"maintenance"} Mode */

/** @typedef {"hmac"|"secret"|"ed25519"|"certificate"|"address"|"password"} KeyKind */
/** A key of a member; its secret is told once. @typedef {{id: string, kind: KeyKind, expires: string|null, secret?: string}} MemberKey */

/**
 * A member of the venue.
 * @typedef {object} Member
 * @property {string} name
 * @property {string[]} roles
 * @property {string[]} accounts
 * @property {Record<string, number|string>|null} limits
 * @property {MemberKey[]} keys
 * @property {{from: string|null, accounts: string|null}} [budget]
 */

/** @typedef {{members: Member[], next: string|null}} MembersPage */

/** An event of an account's order. @typedef {{account: string, report: {report: string, sequence: number, time: number, order_id: number, symbol: string, side: Side, shares?: string, limit?: string|null, price?: string, why?: string|null}}} DropCopyReport */
/** @typedef {{type: "reports", channel: "drop-copy", reports: DropCopyReport[], through: number, live: boolean}} DropCopyFeed */

/**
 * A command in words, and who asked for it: null if that was not kept, all of it null of what the server does by itself.
 * @typedef {object} AuditedCommand
 * @property {number} sequence
 * @property {number} time
 * @property {string|null} account
 * @property {string} what
 * @property {{protocol: string|null, session: number|null, member: string|null, key: string|null, address: string|null}|null} by
 */

/** @typedef {{commands: AuditedCommand[], next: number|null}} AuditPage */

/** The mode of the venue. @typedef {{mode: Mode}} VenueMode */

/** @typedef {"limit"|"post_only"|"post_only_move"|"immediate_or_cancel"|"fill_or_kill"|"market"|"auction_limit"|"auction_market"} OrderKind no order is shown as `post_only_move` */

/**
 * @typedef {object} NewOrder
 * @property {string} account
 * @property {string} symbol
 * @property {Side} side
 * @property {OrderKind} kind
 * @property {string} [limit] a market order has none
 * @property {string} [stop] the price that it waits for, to limit a loss
 * @property {string} [take_profit] the price that it waits for, to take a profit
 * @property {string} [trail] how far behind the market the price stays that it waits for, in place of these
 * @property {number} [trail_bips] the same in hundredths of a per cent
 * @property {SelfTrade} [self_trade] what happens where it meets an order of its own account
 * @property {number} [until] when what is open of it is canceled, in microseconds
 * @property {"DAY"} [tif] what is open of it is canceled when the day of its symbol ends
 * @property {string} [display] how many shares it shows at a time; without it, all
 * @property {string} [shares] missing where `funds` are
 * @property {string} [funds] of a market order that does not wait: the dollars that it spends, or brings in at most
 * @property {string} client_order_id
 */

/** The terms that an open order is to have; it keeps the others. @typedef {{shares?: string, limit?: string, stop?: string, take_profit?: string}} AmendOrder */

/** The kind of an order list: one of two orders cancels the other, or one or two are placed when the first is executed. @typedef {"oco"|"oto"|"otoco"} ListKind */

/** @typedef {"allowed"|"cancel_newest"|"cancel_oldest"|"cancel_both"|"decrement"} SelfTrade */

/** @typedef {Omit<NewOrder, "limit"|"stop"|"take_profit"|"until"|"shares"|"funds"> & {order_id: number, shares: string, limit: string|null, stop: string|null, take_profit: string|null, until: number|null}} Placed */

/**
 * @typedef {object} Order
 * @property {number} order_id
 * @property {string|null} client_order_id
 * @property {string} account
 * @property {string} symbol
 * @property {Side} side
 * @property {OrderKind} kind
 * @property {string|null} limit null of a market order
 * @property {string|null} stop
 * @property {string|null} take_profit
 * @property {string} [trail] how far behind the market `stop` stays, while it follows that
 * @property {number} [trail_bips] the same in hundredths of a per cent
 * @property {SelfTrade} self_trade
 * @property {number} [linked_with] the order that it is, or was, linked with: one of the two cancels the other
 * @property {number} [pends_on] the order that is to be executed before this one is placed
 * @property {number|null} until when what is open of it is canceled
 * @property {string} [display] how many shares it shows at a time, if not all and while it is open
 * @property {string} [shown] how many it shows now
 * @property {boolean} waits whether it stands in no book yet
 * @property {string} shares
 * @property {string} open
 * @property {string} executed
 * @property {string} canceled
 * @property {"open"|"executed"|"canceled"} status
 * @property {CancelReason} [canceled_why] missing of one that is not canceled, or was before reasons were kept
 * @property {number} time
 * @property {number|null} done_time
 * @property {string|null} average_price
 */

/** The reason of a cancel. @typedef {"asked"|"not_resting"|"refused"|"expired"|"self_trade"|"linked"|"not_placed"|"disconnected"} CancelReason */

/** Orders, and what they show together. @typedef {{orders: number, shares: string}} Queued */

/**
 * The queue before an open order; null for an order that stands in no book.
 * @typedef {object} OrderPlace
 * @property {number} order_id
 * @property {number} sequence
 * @property {{level: WireLevel, ahead: Queued, better: Queued, exact: boolean}|null} place
 */

/**
 * @typedef {object} Execution
 * @property {number} trade_id
 * @property {number} order_id
 * @property {string} account
 * @property {string} symbol
 * @property {Side} side
 * @property {"maker"|"aggressor"} role
 * @property {string} price
 * @property {string} shares
 * @property {number} time
 * @property {string} [fee]
 * @property {"shares"|"dollars"} [fee_of]
 */

/** The beginning of the next older page; the page sends it back as it came. @typedef {string|number|null} Cursor */

/** @typedef {{accounts: AccountLine[], next: string|null}} AccountsPage */
/** @typedef {{symbols: SymbolInfo[], next: string|null}} SymbolsPage */
/** @typedef {{symbol: string, interval: Interval, candles: Candle[]}} CandlesPage */
/** @typedef {{orders: Order[], next: Cursor}} OrdersPage */
/** @typedef {{executions: Execution[], next: Cursor}} ExecutionsPage */

/**
 * `GET /api/v1/status`.
 * @typedef {object} ServerStatus
 * @property {string} status
 * @property {string} version
 * @property {boolean} demo
 * @property {string} store
 * @property {number} [xml_port] the port of the XML protocol
 * @property {number} [fix_port] that of FIX
 * @property {boolean} [orders_for_the_day] whether orders may end with the day
 * @property {Mode} [mode] absent while the venue is open
 * @property {number} time
 * @property {number} sequence
 * @property {number} accounts
 * @property {number} symbols
 * @property {number} open_orders
 */

/**
 * The message of the `status` channel each second; null where a figure is not measured.
 * @typedef {object} Status
 * @property {number} time
 * @property {number} sequence
 * @property {number|null} requests_per_second
 * @property {number|null} commands_per_second
 * @property {number|null} executions_per_second
 * @property {{p50: number|null, p99: number|null, p999: number|null}|null} latency_us
 * @property {{p50: number|null, p99: number|null}|null} sync_us
 * @property {{p50: number|null, p99: number|null}|null} batch
 * @property {number|null} queue
 * @property {number|null} connections
 * @property {number|null} subscribers
 * @property {number|null} open_orders
 * @property {number|null} accounts
 * @property {number|null} memory_bytes
 * @property {number|null} uptime_seconds
 * @property {Mode} [mode] absent while the venue is open
 * @property {boolean} [killed] while everything is
 */

/** The earlier messages of the `status` channel, oldest first. @typedef {{seconds: Status[]}} StatusSeconds */

/**
 * `application/problem+json`.
 * @typedef {object} Problem
 * @property {string} title
 * @property {number} status
 * @property {string} code stable
 * @property {string} detail for people
 * @property {string} [field]
 */

/**
 * The channels of a subscription.
 * @typedef {{channel: "book", symbol: string}
 *   | {channel: "trades", symbol: string}
 *   | {channel: "candles", symbol: string, interval: Interval}
 *   | {channel: "orders", account: string}
 *   | {channel: "drop-copy", member?: string, accounts?: string[], from?: number}
 *   | {channel: "status"}
 *   | {channel: "symbols"}} Topic
 */

/** @typedef {{type: "snapshot"|"update", channel: "book"} & BookMessage} BookFeed */
/** @typedef {{type: "snapshot"|"update", channel: "trades", symbol: string, trades: Trade[]}} TradesFeed */
/** @typedef {{type: "snapshot", channel: "candles", symbol: string, interval: Interval, candles: Candle[]}} CandlesSnapshot */
/** @typedef {{type: "update", channel: "candles", symbol: string, interval: Interval, candle: Candle}} CandleUpdate */
/** @typedef {{type: "snapshot", channel: "orders", account: Account, orders: Order[], sequence: number}} OrdersSnapshot */
/** @typedef {{type: "update", channel: "orders", account: Account, orders: Order[], executions: Execution[], sequence: number}} OrdersUpdate */
/** @typedef {{type: "snapshot"|"update", channel: "symbols", symbols: SymbolInfo[], next?: string}} SymbolsFeed */
/** @typedef {{type: "update", channel: "status"} & Status} StatusFeed */

/** Snapshots and updates. @typedef {BookFeed|TradesFeed|CandlesSnapshot|CandleUpdate|OrdersSnapshot|OrdersUpdate|SymbolsFeed|StatusFeed|DropCopyFeed} FeedMessage */

/** @typedef {{type: "subscribed"|"unsubscribed", id?: number, channel: string}} FeedReply */
/** @typedef {{type: "pong", id?: number}} FeedPong */
/** @typedef {{type: "error", id?: number, code: string, detail?: string}} FeedError */

/** All that the server sends. @typedef {FeedMessage|FeedReply|FeedPong|FeedError} ServerMessage */

export {};
