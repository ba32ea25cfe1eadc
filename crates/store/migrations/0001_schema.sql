-- The market as rows. One writer, the exchange server, changes them; everybody else reads. Source: docs/POSTGRES.md.
--
-- Sections: types, the guard, the sequence, symbols, accounts, orders, open orders, executions and notes, what is kept,
-- the audit trail, views, writing, the first parts.
--
-- Amounts: numeric(19,8) holds every price and the shares of one order, numeric(29,8) a symbol's shares up to 10^20,
-- numeric(37,16) dollars up to 10^20 with the 16 decimals of price times shares, and numeric(38,16) the value of one
-- order.
--
-- Numbers of accounts and symbols are those of the columns accounts.number and symbols.number.

---------------------------------------------------------------------------------------------------------------- types

-- A domain checks a value where it is written into its column, and not again with every change of another column.
CREATE DOMAIN pricetime.account_id AS text COLLATE "C" CHECK (VALUE ~ '^[0-9]{1,32}$');
CREATE DOMAIN pricetime.symbol_name AS text COLLATE "C" CHECK (VALUE ~ '^[0-9A-Za-z]{1,32}$');
CREATE DOMAIN pricetime.client_order_id AS text COLLATE "C" CHECK (VALUE ~ '^[0-9A-Za-z._:/-]{1,36}$');
CREATE TYPE pricetime.side AS ENUM ('buy', 'sell');
CREATE TYPE pricetime.order_kind AS ENUM (
    'limit', 'post_only', 'immediate_or_cancel', 'fill_or_kill', 'market', 'auction_limit', 'auction_market');
CREATE TYPE pricetime.self_trade AS ENUM ('allowed', 'cancel_newest', 'cancel_oldest', 'cancel_both', 'decrement');

------------------------------------------------------------------------------------------------------------- the guard

-- Refuses a statement that changes a table, unless its session says that it is the server. This stops a mistake, not
-- malice: the server's own checks and `store verify` find changes that were made in spite of it.
CREATE FUNCTION pricetime.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'only the exchange server changes %.%: it keeps the market in memory and would not see this',
        TG_TABLE_SCHEMA, TG_TABLE_NAME
        USING ERRCODE = 'PT002', HINT = 'Send the server a command, or read docs/POSTGRES.md on changing rows by hand.';
END $$;

-- Guards a table. The last section guards all tables of this file; a later migration guards its own.
CREATE FUNCTION pricetime.guard(name text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(
        'CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.%I'
        ' FOR EACH STATEMENT WHEN (current_setting(''pricetime.server'', true) IS DISTINCT FROM ''on'')'
        ' EXECUTE FUNCTION pricetime.refuse_change()', name);
END $$;
COMMENT ON FUNCTION pricetime.guard IS 'Used by migrations: lets only the exchange server change a table.';

---------------------------------------------------------------------------------------------------------- the sequence

CREATE TABLE pricetime.command_sequence (
    one_row boolean PRIMARY KEY DEFAULT true CHECK (one_row),
    sequence bigint NOT NULL CHECK (sequence >= 0),
    time timestamptz NOT NULL,
    next_order bigint NOT NULL CHECK (next_order > 0),
    next_execution bigint NOT NULL CHECK (next_execution > 0),
    epoch bigint NOT NULL CHECK (epoch >= 0),
    writer text NOT NULL,
    since timestamptz NOT NULL
);
COMMENT ON TABLE pricetime.command_sequence IS
    'One row: the last command in the rows, and the server that writes. Each transaction of the server begins with it.';
COMMENT ON COLUMN pricetime.command_sequence.sequence IS
    'The last command whose effects are in the rows; those of all commands before it are, too.';
COMMENT ON COLUMN pricetime.command_sequence.time IS 'The time of that command.';
COMMENT ON COLUMN pricetime.command_sequence.next_order IS 'The id of the next accepted order.';
COMMENT ON COLUMN pricetime.command_sequence.next_execution IS 'The id of the next execution.';
COMMENT ON COLUMN pricetime.command_sequence.epoch IS
    'A number that rises whenever a server takes over. Later writes of an earlier server are refused.';
COMMENT ON COLUMN pricetime.command_sequence.writer IS 'The name of the server that took over last.';
COMMENT ON COLUMN pricetime.command_sequence.since IS 'The time at which it did.';
INSERT INTO pricetime.command_sequence VALUES (true, 0, 'epoch', 1, 1, 0, 'nobody', now());

CREATE TABLE pricetime.market (
    one_row boolean PRIMARY KEY DEFAULT true CHECK (one_row),
    has_members boolean NOT NULL
);
COMMENT ON TABLE pricetime.market IS 'One row: facts of the market as a whole.';
COMMENT ON COLUMN pricetime.market.has_members IS
    'Whether a server had members for it. Then no server opens it to everybody, unless it is told to.';
INSERT INTO pricetime.market VALUES (true, false);

--------------------------------------------------------------------------------------------------------------- symbols

CREATE TABLE pricetime.symbols (
    number bigint PRIMARY KEY CHECK (number >= 0),
    name pricetime.symbol_name NOT NULL UNIQUE,
    issued numeric(29,8) NOT NULL CHECK (issued >= 0),
    last_price numeric(19,8),
    reaches_up_to numeric(19,8),
    reaches_down_to numeric(19,8),
    dynamic_reference numeric(19,8) CHECK (dynamic_reference > 0),
    static_reference numeric(19,8) CHECK (static_reference > 0)
);
COMMENT ON TABLE pricetime.symbols IS 'The symbols that are traded.';
COMMENT ON COLUMN pricetime.symbols.number IS 'The number of the symbol, from 0 in the order of creation.';
COMMENT ON COLUMN pricetime.symbols.issued IS
    'All shares ever issued: those in positions and those that open sells hold.';
COMMENT ON COLUMN pricetime.symbols.last_price IS 'The price of the last execution; null if there was none.';
COMMENT ON COLUMN pricetime.symbols.reaches_up_to IS
    'The price up to which trigger prices from below are still to be reached; null if none is left.';
COMMENT ON COLUMN pricetime.symbols.reaches_down_to IS
    'The price down to which trigger prices from above are still to be reached; null if none is left.';
COMMENT ON COLUMN pricetime.symbols.dynamic_reference IS
    'The price around which its dynamic band lies; null while there is none.';
COMMENT ON COLUMN pricetime.symbols.static_reference IS
    'The price of the last auction, or the one that an operator gave since; null if there was neither.';

CREATE TABLE pricetime.symbol_rules (
    symbol bigint PRIMARY KEY REFERENCES pricetime.symbols,
    tick_size numeric(19,8) CHECK (tick_size > 0),
    lot_size numeric(19,8) CHECK (lot_size > 0),
    min_shares numeric(19,8) CHECK (min_shares > 0),
    max_shares numeric(19,8) CHECK (max_shares > 0),
    min_value numeric(38,16) CHECK (min_value > 0),
    max_value numeric(38,16) CHECK (max_value >= 0),
    band_up numeric(9,2) CHECK (band_up > 0),
    band_down numeric(9,2) CHECK (band_down > 0 AND band_down < 100),
    halted boolean NOT NULL,
    interruption bigint CHECK (interruption BETWEEN 1 AND 86400),
    band_size numeric(19,8) CHECK (band_size > 0),
    static_up numeric(9,2) CHECK (static_up > 0),
    static_down numeric(9,2) CHECK (static_down > 0 AND static_down < 100),
    auction_ties text CHECK (auction_ties IN ('pressure'))
);
COMMENT ON TABLE pricetime.symbol_rules IS
    'The rules for orders in a symbol. A symbol without a row has no rules; null is a rule that is not set.';
COMMENT ON COLUMN pricetime.symbol_rules.symbol IS 'The number of the symbol.';
COMMENT ON COLUMN pricetime.symbol_rules.tick_size IS 'Limits and stops are multiples of it.';
COMMENT ON COLUMN pricetime.symbol_rules.lot_size IS 'Shares are multiples of it.';
COMMENT ON COLUMN pricetime.symbol_rules.min_shares IS 'The smallest number of shares of an order.';
COMMENT ON COLUMN pricetime.symbol_rules.max_shares IS 'The largest number of shares of an order.';
COMMENT ON COLUMN pricetime.symbol_rules.min_value IS 'The smallest value of an order, limit times shares in dollars.';
COMMENT ON COLUMN pricetime.symbol_rules.max_value IS 'The largest value of an order.';
COMMENT ON COLUMN pricetime.symbol_rules.band_up IS
    'The largest distance of a price above the dynamic reference, in per cent.';
COMMENT ON COLUMN pricetime.symbol_rules.band_down IS
    'The largest distance of a price below the dynamic reference, in per cent.';
COMMENT ON COLUMN pricetime.symbol_rules.halted IS 'Whether nothing is placed and nothing executes.';
COMMENT ON COLUMN pricetime.symbol_rules.interruption IS
    'The seconds of the auction that begins when an order would execute outside the band.';
COMMENT ON COLUMN pricetime.symbol_rules.band_size IS
    'The fewest shares of an execution that moves a reference of the bands.';
COMMENT ON COLUMN pricetime.symbol_rules.static_up IS
    'The largest distance of a price above the static reference, in per cent.';
COMMENT ON COLUMN pricetime.symbol_rules.static_down IS
    'The largest distance of a price below the static reference, in per cent.';
COMMENT ON COLUMN pricetime.symbol_rules.auction_ties IS
    'pressure: of prices that are equally good, an auction takes the one at the end of the side that has more.';

CREATE TABLE pricetime.symbol_phases (
    symbol bigint PRIMARY KEY REFERENCES pricetime.symbols,
    phase text NOT NULL CHECK (phase IN ('halted', 'auction')),
    until timestamptz CHECK (until IS NULL OR phase = 'auction')
);
COMMENT ON TABLE pricetime.symbol_phases IS 'The symbols that are not open.';
COMMENT ON COLUMN pricetime.symbol_phases.symbol IS 'The number of the symbol.';
COMMENT ON COLUMN pricetime.symbol_phases.phase IS
    'halted: nothing is placed and nothing executes. auction: orders gather, and execute at one price when it opens.';
COMMENT ON COLUMN pricetime.symbol_phases.until IS 'The end of an auction that an order began.';

CREATE TABLE pricetime.calendar (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    followed timestamptz NOT NULL
);
COMMENT ON TABLE pricetime.calendar IS
    'One row: how far the server followed the market''s calendar. No row: it never followed one.';
COMMENT ON COLUMN pricetime.calendar.one IS 'True, so that there is one row at most.';
COMMENT ON COLUMN pricetime.calendar.followed IS 'The server did everything that the calendar has up to this time.';

-------------------------------------------------------------------------------------------------------------- accounts

CREATE TABLE pricetime.accounts (
    number bigint PRIMARY KEY CHECK (number >= 0),
    id pricetime.account_id NOT NULL UNIQUE,
    balance numeric(37,16) NOT NULL CHECK (balance >= 0)
) WITH (fillfactor = 70);
COMMENT ON TABLE pricetime.accounts IS 'The accounts that trade.';
COMMENT ON COLUMN pricetime.accounts.number IS 'The number of the account, from 0 in the order of creation.';
COMMENT ON COLUMN pricetime.accounts.id IS 'The account''s id, a text: 01234 is not 1234.';
COMMENT ON COLUMN pricetime.accounts.balance IS
    'The dollars that it may spend: its money without those that its open buys hold.';

CREATE TABLE pricetime.positions (
    account bigint NOT NULL REFERENCES pricetime.accounts,
    symbol bigint NOT NULL REFERENCES pricetime.symbols,
    shares numeric(29,8) NOT NULL CHECK (shares >= 0),
    PRIMARY KEY (account, symbol)
) WITH (fillfactor = 70);
COMMENT ON TABLE pricetime.positions IS 'The shares that accounts own. A row whose shares become '
    'zero stays until a server takes over.';
COMMENT ON COLUMN pricetime.positions.shares IS
    'The shares that it may sell: its own without those that its open sells hold.';

CREATE TABLE pricetime.account_groups (
    account bigint PRIMARY KEY REFERENCES pricetime.accounts,
    group_number bigint NOT NULL CHECK (group_number BETWEEN 1 AND 999999999)
);
COMMENT ON TABLE pricetime.account_groups IS 'The groups of accounts. An account without a row is in no group.';
COMMENT ON COLUMN pricetime.account_groups.account IS 'The number of the account.';
COMMENT ON COLUMN pricetime.account_groups.group_number IS
    'Self-trade prevention holds between all accounts of one group.';

CREATE TABLE pricetime.account_statuses (
    account bigint PRIMARY KEY REFERENCES pricetime.accounts,
    transfers bigint NOT NULL CHECK (transfers >= 0),
    closed boolean NOT NULL,
    CHECK (closed OR transfers > 0)
);
COMMENT ON TABLE pricetime.account_statuses IS
    'The accounts that have made transfers or are closed. An account without a row is open and has made none.';
COMMENT ON COLUMN pricetime.account_statuses.account IS 'The number of the account.';
COMMENT ON COLUMN pricetime.account_statuses.transfers IS 'The number of its deposits and withdrawals.';
COMMENT ON COLUMN pricetime.account_statuses.closed IS 'Whether the account is closed.';

CREATE TABLE pricetime.account_limits (
    account bigint PRIMARY KEY REFERENCES pricetime.accounts,
    open_orders bigint CHECK (open_orders BETWEEN 1 AND 4294967295),
    order_shares numeric(19,8) CHECK (order_shares > 0),
    order_value numeric(38,16) CHECK (order_value > 0),
    position numeric(19,8) CHECK (position >= 0),
    collar numeric(9,2) CHECK (collar > 0)
);
COMMENT ON TABLE pricetime.account_limits IS
    'The limits of accounts. An account without a row has no limits; null is a limit that is not set.';
COMMENT ON COLUMN pricetime.account_limits.account IS 'The number of the account.';
COMMENT ON COLUMN pricetime.account_limits.open_orders IS 'The largest number of its open orders.';
COMMENT ON COLUMN pricetime.account_limits.order_shares IS 'The largest number of shares of one order.';
COMMENT ON COLUMN pricetime.account_limits.order_value IS 'The largest value of one order, in dollars.';
COMMENT ON COLUMN pricetime.account_limits.position IS
    'The largest number of its shares of one symbol, with those that its open buys may bring.';
COMMENT ON COLUMN pricetime.account_limits.collar IS
    'The largest distance, in per cent, by which it pays more than the market asks for, or takes less than it bids.';

CREATE TABLE pricetime.protections (
    account bigint PRIMARY KEY REFERENCES pricetime.accounts,
    grace_ms bigint NOT NULL CHECK (grace_ms BETWEEN 0 AND 60000)
);
COMMENT ON TABLE pricetime.protections IS
    'The accounts whose open orders the server cancels when no client is connected for them.';
COMMENT ON COLUMN pricetime.protections.account IS 'The number of the account.';
COMMENT ON COLUMN pricetime.protections.grace_ms IS 'The milliseconds for which no client may be connected.';

CREATE TABLE pricetime.kills (
    scope text NOT NULL CHECK (scope IN ('everything', 'account', 'symbol')),
    account bigint REFERENCES pricetime.accounts,
    symbol bigint REFERENCES pricetime.symbols,
    CHECK ((scope = 'account') = (account IS NOT NULL) AND (scope = 'symbol') = (symbol IS NOT NULL))
);
CREATE UNIQUE INDEX kills_once ON pricetime.kills (scope, coalesce(account, -1), coalesce(symbol, -1));
COMMENT ON TABLE pricetime.kills IS 'The scopes that take no orders until they are released. No order is open there.';
COMMENT ON COLUMN pricetime.kills.scope IS 'Everything, or the orders of an account, or those in a symbol.';
COMMENT ON COLUMN pricetime.kills.account IS 'The number of the account.';
COMMENT ON COLUMN pricetime.kills.symbol IS 'The number of the symbol.';

CREATE TABLE pricetime.fees (
    symbol bigint NOT NULL REFERENCES pricetime.symbols,
    tier smallint NOT NULL CHECK (tier BETWEEN 0 AND 15),
    maker numeric(7,4) NOT NULL CHECK (maker BETWEEN 0 AND 100),
    taker numeric(7,4) NOT NULL CHECK (taker BETWEEN 0 AND 100),
    account bigint NOT NULL REFERENCES pricetime.accounts,
    PRIMARY KEY (symbol, tier),
    CHECK (maker + taker > 0)
);
COMMENT ON TABLE pricetime.fees IS
    'The fees for executions in a symbol, by the tier of the account. Without a row there is no fee.';
COMMENT ON COLUMN pricetime.fees.symbol IS 'The number of the symbol.';
COMMENT ON COLUMN pricetime.fees.maker IS 'The maker''s rate, in per cent of its proceeds.';
COMMENT ON COLUMN pricetime.fees.taker IS 'The aggressor''s rate, in per cent of its proceeds.';
COMMENT ON COLUMN pricetime.fees.account IS 'The number of the account that gets the fees.';

CREATE TABLE pricetime.account_tiers (
    account bigint PRIMARY KEY REFERENCES pricetime.accounts,
    tier smallint NOT NULL CHECK (tier BETWEEN 1 AND 15)
);
COMMENT ON TABLE pricetime.account_tiers IS 'The tiers of accounts, for fees. An account without a row has tier 0.';
COMMENT ON COLUMN pricetime.account_tiers.account IS 'The number of the account.';

---------------------------------------------------------------------------------------------------------------- orders

-- Orders, cancellations and executions are in parts by ranges of ids, so that the oldest go as whole tables. These
-- tables and those of their orders carry no foreign keys: checking them row by row takes half of the time of writing.
-- The server writes no row without the row that it names, and `store verify` looks at all of them.

CREATE TABLE pricetime.orders (
    id bigint PRIMARY KEY CHECK (id > 0),
    account bigint NOT NULL,
    symbol bigint,
    time timestamptz,
    sequence bigint,
    side pricetime.side,
    limit_price numeric(19,8) CHECK (limit_price > 0),
    shares numeric(19,8) NOT NULL CHECK (shares > 0),
    kind pricetime.order_kind DEFAULT 'limit',
    trigger_price numeric(19,8),
    trigger_from_below boolean,
    self_trade pricetime.self_trade DEFAULT 'allowed',
    until timestamptz,
    CONSTRAINT orders_known CHECK (
        (sequence IS NULL) = (time IS NULL)
        AND (side IS NULL) = (symbol IS NULL) AND (side IS NULL) = (limit_price IS NULL)
        AND (sequence IS NULL OR side IS NOT NULL)
    )
) PARTITION BY RANGE (id);
CREATE INDEX orders_by_account ON pricetime.orders (account, id);
COMMENT ON TABLE pricetime.orders IS 'Every order that is kept, as it was placed. Never changed.';
COMMENT ON COLUMN pricetime.orders.account IS 'The number of its account.';
COMMENT ON COLUMN pricetime.orders.symbol IS 'The number of its symbol.';
COMMENT ON COLUMN pricetime.orders.time IS
    'The time at which it was placed; null for an order that was imported without it.';
COMMENT ON COLUMN pricetime.orders.sequence IS 'The command that placed it; null like the time.';
COMMENT ON COLUMN pricetime.orders.side IS
    'Its side. Side, symbol, limit and kind are null for an order that was imported when it was done.';
COMMENT ON COLUMN pricetime.orders.limit_price IS
    'The worst price that it takes; for a market order the highest price, or the lowest for a sell.';
COMMENT ON COLUMN pricetime.orders.shares IS
    'The shares ordered: those that are open, executed and canceled, and those in reductions, unless the order was '
    'placed again with others.';
COMMENT ON COLUMN pricetime.orders.kind IS
    'The kind: what it may do on arrival, and whether the remainder rests. Only limit and post_only orders rest, and '
    'auction_limit and auction_market orders until their symbol opens.';
COMMENT ON COLUMN pricetime.orders.trigger_price IS 'The price that activates it; null for an order without a trigger.';
COMMENT ON COLUMN pricetime.orders.trigger_from_below IS
    'Whether an execution at that price or above activates it; otherwise one at that price or below does.';
COMMENT ON COLUMN pricetime.orders.self_trade IS
    'Its mode of self-trade prevention; null for an order that was imported without it.';
COMMENT ON COLUMN pricetime.orders.until IS 'The deadline at which the server cancels it; null if it has none.';

CREATE TABLE pricetime.cancellations (
    order_id bigint PRIMARY KEY,
    account bigint NOT NULL,
    time timestamptz NOT NULL,
    sequence bigint,
    shares numeric(19,8) NOT NULL CHECK (shares > 0),
    why smallint DEFAULT 1
) PARTITION BY RANGE (order_id);
CREATE INDEX cancellations_by_account ON pricetime.cancellations (account, sequence);
COMMENT ON TABLE pricetime.cancellations IS 'The canceled shares of an order. Never changed.';
COMMENT ON COLUMN pricetime.cancellations.account IS 'The number of the order''s account.';
COMMENT ON COLUMN pricetime.cancellations.sequence IS 'The command that canceled it; null for an imported order.';
COMMENT ON COLUMN pricetime.cancellations.why IS
    'The reason. 1: its account asked for it. 2: orders of its kind do not rest. 3: it was activated or placed later, '
    'and would have been refused then. 4: its deadline came. 5: it would have executed with its own account. '
    '6: something happened to the order that it was linked with. 7: the order that it waited for ended without '
    'executing completely. 8: no client was connected for its account. Null: it was imported without a reason.';

CREATE TABLE pricetime.client_orders (
    order_id bigint PRIMARY KEY,
    account bigint NOT NULL,
    client_order_id pricetime.client_order_id NOT NULL,
    done timestamptz,
    freed boolean NOT NULL DEFAULT false
);
CREATE INDEX client_orders_by_id ON pricetime.client_orders (account, client_order_id);
-- A recovery reads those that are open or were done lately.
CREATE INDEX client_orders_by_done ON pricetime.client_orders (done);
COMMENT ON TABLE pricetime.client_orders IS
    'The client order ids. An id stands for its order while that is open and for 24 hours after, unless it was freed.';
COMMENT ON COLUMN pricetime.client_orders.order_id IS 'The id of the order.';
COMMENT ON COLUMN pricetime.client_orders.account IS 'The number of its account.';
COMMENT ON COLUMN pricetime.client_orders.client_order_id IS
    'The client''s name for it. In time an account may give one id to several orders, never to two at once.';
COMMENT ON COLUMN pricetime.client_orders.done IS 'The time at which the order was done; null while it is open.';
COMMENT ON COLUMN pricetime.client_orders.freed IS 'Whether the id was freed when the order was done.';

-- The next four are no columns of orders: few orders have any, and the removal of a part copies rows of orders while
-- these are written.
CREATE TABLE pricetime.amended_orders (
    order_id bigint PRIMARY KEY,
    until timestamptz,
    sequence bigint,
    kind pricetime.order_kind,
    limit_price numeric(19,8) CHECK (limit_price > 0),
    shares numeric(19,8) CHECK (shares > 0),
    trigger_price numeric(19,8) CHECK (trigger_price > 0),
    trigger_from_below boolean,
    CONSTRAINT amended_orders_placed_again CHECK (
        (sequence IS NULL) = (kind IS NULL) AND (sequence IS NULL) = (limit_price IS NULL)
        AND (sequence IS NULL) = (shares IS NULL) AND (trigger_price IS NULL) = (trigger_from_below IS NULL)
        AND (sequence IS NOT NULL OR trigger_price IS NULL)
    )
) WITH (fillfactor = 70);
COMMENT ON TABLE pricetime.amended_orders IS
    'The orders that got other terms than fewer shares, and these terms. The view present_orders has all orders with '
    'the terms that they have now.';
COMMENT ON COLUMN pricetime.amended_orders.order_id IS 'The id of the order.';
COMMENT ON COLUMN pricetime.amended_orders.until IS
    'Its deadline, in place of the one in orders; null if it has none any more.';
COMMENT ON COLUMN pricetime.amended_orders.sequence IS
    'The last command that placed it again under its id; null if it kept its place. The next columns are null then, too.';
COMMENT ON COLUMN pricetime.amended_orders.kind IS 'Its kind, in place of the one in orders.';
COMMENT ON COLUMN pricetime.amended_orders.limit_price IS 'Its limit, in place of the one in orders.';
COMMENT ON COLUMN pricetime.amended_orders.shares IS
    'The shares with which it was placed again, executed ones included. Later reductions are in reductions.';
COMMENT ON COLUMN pricetime.amended_orders.trigger_price IS
    'The price that activates it, in place of the one in orders; null if it waits for none.';
COMMENT ON COLUMN pricetime.amended_orders.trigger_from_below IS 'As in orders.';

CREATE TABLE pricetime.reductions (
    order_id bigint PRIMARY KEY,
    shares numeric(19,8) NOT NULL CHECK (shares > 0)
) WITH (fillfactor = 70);
COMMENT ON TABLE pricetime.reductions IS
    'The orders that lost shares: because their accounts asked for it, by self-trade prevention, or because their '
    'accounts had fewer when they were placed.';
COMMENT ON COLUMN pricetime.reductions.order_id IS 'The id of the order.';
COMMENT ON COLUMN pricetime.reductions.shares IS
    'All shares taken off it since it was placed, or placed again. It has that many fewer than were ordered then.';

CREATE TABLE pricetime.trails (
    order_id bigint PRIMARY KEY,
    distance numeric(19,8) CHECK (distance > 0),
    bips bigint CHECK (bips BETWEEN 1 AND 9999),
    CHECK ((distance IS NULL) <> (bips IS NULL))
);
COMMENT ON TABLE pricetime.trails IS
    'The trailing stops: orders placed, or placed again, with a trigger that follows the market.';
COMMENT ON COLUMN pricetime.trails.order_id IS 'The id of the order.';
COMMENT ON COLUMN pricetime.trails.distance IS 'The distance of the trigger from the market, in dollars.';
COMMENT ON COLUMN pricetime.trails.bips IS 'The distance of the trigger from the market, in hundredths of a per cent.';

CREATE TABLE pricetime.icebergs (
    order_id bigint PRIMARY KEY,
    display numeric(19,8) NOT NULL CHECK (display > 0),
    hidden numeric(19,8) NOT NULL DEFAULT 0 CHECK (hidden >= 0)
) WITH (fillfactor = 70);
COMMENT ON TABLE pricetime.icebergs IS
    'The icebergs: orders placed, or amended, to show a part of their shares at a time.';
COMMENT ON COLUMN pricetime.icebergs.order_id IS 'The id of the order.';
COMMENT ON COLUMN pricetime.icebergs.display IS 'The number of shares that it shows at a time.';
COMMENT ON COLUMN pricetime.icebergs.hidden IS
    'The hidden part of its open shares in resting. For an order that is done it means nothing.';

----------------------------------------------------------------------------------------------------------- open orders

CREATE TABLE pricetime.resting (
    order_id bigint PRIMARY KEY,
    open numeric(19,8) NOT NULL CHECK (open > 0),
    queued_sequence bigint,
    queued_nth bigint
) WITH (fillfactor = 70);
COMMENT ON TABLE pricetime.resting IS
    'The open orders: on the books, in waiting, and in pending. On a book priority is by limit, then by the command '
    'with which an order came there, then by id. See the view open_orders.';
COMMENT ON COLUMN pricetime.resting.open IS 'The shares that are neither executed nor canceled.';
COMMENT ON COLUMN pricetime.resting.queued_sequence IS
    'The command with which it came behind the others of its price after it was placed: the command activated it, '
    'released it, placed it again with other terms, came to its trigger, which followed the market before, or showed its '
    'next part. 0: before an import. '
    'Null: it stands where it came when it was placed.';
COMMENT ON COLUMN pricetime.resting.queued_nth IS
    'Its number among those that did so with that command; null like queued_sequence.';

CREATE TABLE pricetime.waiting (
    order_id bigint PRIMARY KEY,
    symbol bigint NOT NULL,
    trigger_price numeric(19,8) CHECK (trigger_price > 0),
    from_below boolean,
    reached_sequence bigint,
    reached_nth bigint,
    follows boolean NOT NULL DEFAULT false,
    delayed text CHECK (delayed IN ('queued', 'under_way')),
    goes_to numeric(19,8) CHECK (goes_to > 0),
    CHECK ((reached_sequence IS NULL) = (reached_nth IS NULL)),
    CONSTRAINT waiting_has_trigger CHECK ((trigger_price IS NULL) = (from_below IS NULL)),
    CONSTRAINT waiting_is_delayed CHECK ((delayed IS NULL) = (goes_to IS NULL)),
    CONSTRAINT waiting_for_what CHECK (CASE WHEN delayed IS NULL THEN trigger_price IS NOT NULL
        ELSE reached_sequence IS NOT NULL AND NOT follows END)
) WITH (fillfactor = 70);
CREATE INDEX waiting_by_trigger ON pricetime.waiting (symbol, trigger_price, from_below, order_id);
COMMENT ON TABLE pricetime.waiting IS
    'The open orders that wait for a price, or were reached and wait for their activation, or are active and wait for '
    'their turn. They are on no book.';
COMMENT ON COLUMN pricetime.waiting.order_id IS
    'The id of the order. Its row in orders has the symbol and the trigger, too.';
COMMENT ON COLUMN pricetime.waiting.trigger_price IS
    'The present trigger, also after it was reached; null for an order without one.';
COMMENT ON COLUMN pricetime.waiting.from_below IS 'As trigger_from_below of orders.';
COMMENT ON COLUMN pricetime.waiting.reached_sequence IS
    'The command that reached the trigger, or that made an active order wait; 0: before an import. Null: not reached, '
    'or a row of reached_triggers has it.';
COMMENT ON COLUMN pricetime.waiting.reached_nth IS
    'Its number among those of that command. Turns go by reached_sequence, reached_nth and id; but in each symbol the '
    'order that is under way is first.';
COMMENT ON COLUMN pricetime.waiting.follows IS
    'Whether the trigger follows the market, as trails says. It is the present one here, and the first one in orders.';
COMMENT ON COLUMN pricetime.waiting.delayed IS
    'under_way: an active order that executed as often as one command does, and goes on with another command. queued: '
    'an active order behind one that is under way. Null: it is not active.';
COMMENT ON COLUMN pricetime.waiting.goes_to IS
    'The worst price at which an active order executes: its limit, or the end of the walk of a market order.';

CREATE TABLE pricetime.reached_triggers (
    symbol bigint NOT NULL,
    trigger_price numeric(19,8) NOT NULL,
    from_below boolean NOT NULL,
    sequence bigint NOT NULL,
    nth bigint NOT NULL,
    noted_up_to bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (symbol, trigger_price, from_below, sequence, nth)
);
COMMENT ON TABLE pricetime.reached_triggers IS
    'The triggers that one command reached and at which many orders waited. The rows of these in waiting are changed in '
    'pieces, and then the row here goes.';
COMMENT ON COLUMN pricetime.reached_triggers.sequence IS
    'The command that reached it. Orders that began to wait with an earlier command are reached.';
COMMENT ON COLUMN pricetime.reached_triggers.nth IS 'As reached_nth of waiting.';
COMMENT ON COLUMN pricetime.reached_triggers.noted_up_to IS 'The last order whose row in waiting is changed.';

-- Returns the row of reached_triggers, if any, that reached an order that began to wait with this command.
CREATE FUNCTION pricetime.reached_by(w pricetime.waiting, began bigint) RETURNS SETOF pricetime.reached_triggers
LANGUAGE sql STABLE AS $$
    SELECT t.* FROM pricetime.reached_triggers t
    WHERE w.reached_sequence IS NULL AND NOT w.follows AND t.symbol = w.symbol AND t.trigger_price = w.trigger_price
        AND t.from_below = w.from_below AND t.sequence > began
    ORDER BY t.sequence, t.nth LIMIT 1
$$;
COMMENT ON FUNCTION pricetime.reached_by IS
    'The row of reached_triggers, if any, that reached an order that began to wait with this command.';

CREATE TABLE pricetime.pending (
    order_id bigint PRIMARY KEY,
    working bigint NOT NULL CHECK (working < order_id),
    imported_nth bigint
);
COMMENT ON TABLE pricetime.pending IS
    'The open orders that are placed when their working order has executed completely. They hold nothing until then.';
COMMENT ON COLUMN pricetime.pending.order_id IS 'The id of the order.';
COMMENT ON COLUMN pricetime.pending.working IS 'The id of its working order.';
COMMENT ON COLUMN pricetime.pending.imported_nth IS 'Its place among all imported orders; null if it was not imported.';

CREATE TABLE pricetime.links (
    order_id bigint PRIMARY KEY,
    partner bigint NOT NULL UNIQUE,
    CHECK (order_id < partner)
);
COMMENT ON TABLE pricetime.links IS
    'The pairs of open orders of which the server cancels one as soon as something happens to the other.';
COMMENT ON COLUMN pricetime.links.order_id IS 'The id of the older order.';
COMMENT ON COLUMN pricetime.links.partner IS 'The id of the younger order.';

-------------------------------------------------------------------------------------------------- executions and notes

CREATE TABLE pricetime.executions (
    id bigint PRIMARY KEY CHECK (id > 0),
    buy_order bigint NOT NULL,
    sell_order bigint NOT NULL,
    time timestamptz NOT NULL,
    sequence bigint NOT NULL,
    aggressor pricetime.side NOT NULL,
    price numeric(19,8) NOT NULL CHECK (price > 0),
    shares numeric(19,8) NOT NULL CHECK (shares > 0),
    symbol bigint NOT NULL,
    buyer bigint NOT NULL,
    seller bigint NOT NULL,
    buyer_fee_rate numeric(7,4) CHECK (buyer_fee_rate > 0 AND buyer_fee_rate <= 100),
    seller_fee_rate numeric(7,4) CHECK (seller_fee_rate > 0 AND seller_fee_rate <= 100)
) PARTITION BY RANGE (id);
-- Time never runs back in the order of ids, so a page of trades and the trades of a candle are both a stretch of this.
CREATE INDEX executions_by_symbol ON pricetime.executions (symbol, time, id);
CREATE INDEX executions_by_buyer ON pricetime.executions (buyer, id);
CREATE INDEX executions_by_seller ON pricetime.executions (seller, id);
CREATE INDEX executions_by_buy_order ON pricetime.executions (buy_order);
CREATE INDEX executions_by_sell_order ON pricetime.executions (sell_order);
COMMENT ON TABLE pricetime.executions IS
    'Every execution that is kept, numbered from 1 without gaps. Never changed. Two orders execute at most once for '
    'each part that the one on the book shows.';
COMMENT ON COLUMN pricetime.executions.symbol IS 'The number of the symbol.';
COMMENT ON COLUMN pricetime.executions.buy_order IS 'The id of the buy.';
COMMENT ON COLUMN pricetime.executions.buyer IS 'The number of the buy''s account.';
COMMENT ON COLUMN pricetime.executions.sell_order IS 'The id of the sell.';
COMMENT ON COLUMN pricetime.executions.seller IS 'The number of the sell''s account.';
COMMENT ON COLUMN pricetime.executions.aggressor IS
    'The side of the order that was placed or activated; the other one was on the book and set the price. In an '
    'auction, which has one price, the side of the younger order.';
COMMENT ON COLUMN pricetime.executions.buyer_fee_rate IS
    'The buyer''s fee in per cent of the shares, rounded up; null for no fee.';
COMMENT ON COLUMN pricetime.executions.seller_fee_rate IS
    'The seller''s fee in per cent of the dollars, rounded up; null for no fee.';

CREATE TABLE pricetime.imported_executions (
    order_id bigint NOT NULL,
    ordinal bigint NOT NULL,
    time timestamptz NOT NULL,
    price numeric(19,8) NOT NULL CHECK (price > 0),
    shares numeric(19,8) NOT NULL CHECK (shares > 0),
    share_fee_rate numeric(7,4) CHECK (share_fee_rate > 0 AND share_fee_rate <= 100),
    money_fee_rate numeric(7,4) CHECK (money_fee_rate > 0 AND money_fee_rate <= 100),
    PRIMARY KEY (order_id, ordinal)
);
COMMENT ON TABLE pricetime.imported_executions IS
    'The executions of one order before an import. The data folder does not have the other order of each.';
COMMENT ON COLUMN pricetime.imported_executions.share_fee_rate IS
    'The fee of a buy in per cent of the shares, rounded up; null for no fee.';
COMMENT ON COLUMN pricetime.imported_executions.money_fee_rate IS
    'The fee of a sell in per cent of the dollars, rounded up; null for no fee.';

CREATE TABLE pricetime.notes (
    order_id bigint NOT NULL,
    account bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('triggered', 'linked', 'amended', 'pends', 'released')),
    price numeric(19,8) CHECK (price > 0),
    from_below boolean,
    time timestamptz NOT NULL,
    sequence bigint NOT NULL,
    place bigint NOT NULL CHECK (place >= 0),
    next_execution bigint NOT NULL CHECK (next_execution > 0),
    partner bigint,
    taken numeric(19,8) CHECK (taken > 0),
    shares_before numeric(19,8) CHECK (shares_before > 0),
    shares_after numeric(19,8) CHECK (shares_after > 0),
    why smallint CHECK (why IN (1, 3, 5)),
    new_kind pricetime.order_kind,
    new_limit numeric(19,8) CHECK (new_limit > 0),
    keeps_place boolean,
    PRIMARY KEY (sequence, place),
    CONSTRAINT notes_trigger_check CHECK ((price IS NULL) = (from_below IS NULL)
        AND CASE WHEN kind = 'triggered' THEN price IS NOT NULL ELSE price IS NULL OR new_kind IS NOT NULL END),
    CONSTRAINT notes_partner_check CHECK ((kind IN ('linked', 'pends')) = (partner IS NOT NULL)),
    CONSTRAINT notes_amended_check CHECK (
        (kind = 'amended') = (shares_before IS NOT NULL) AND (kind = 'amended') = (shares_after IS NOT NULL)
        AND (kind = 'amended') = (why IS NOT NULL) AND (kind = 'amended') = (taken IS NOT NULL OR new_kind IS NOT NULL)
        AND (new_kind IS NULL) = (new_limit IS NULL) AND (new_kind IS NULL) = (keeps_place IS NULL)
        AND (taken IS NULL OR (new_kind IS NULL AND shares_after = shares_before - taken))
    )
);
CREATE INDEX notes_by_order ON pricetime.notes (order_id);
CREATE INDEX notes_by_account ON pricetime.notes (account, sequence, place);
COMMENT ON TABLE pricetime.notes IS
    'The events of orders besides their executions and cancellations. Never changed. A row goes with its order.';
COMMENT ON COLUMN pricetime.notes.kind IS
    'triggered: an execution reached its trigger, and it is active. linked: it and its partner cancel each other. '
    'amended: it lost shares and kept its place, or it got other terms. pends: it waits until its partner has executed completely. released: '
    'that order has, so it was placed.';
COMMENT ON COLUMN pricetime.notes.price IS
    'The trigger of an order that was triggered, or for which an order with other terms waits.';
COMMENT ON COLUMN pricetime.notes.from_below IS 'As trigger_from_below of orders.';
COMMENT ON COLUMN pricetime.notes.partner IS
    'The other order of a link, or the working order of one that pends.';
COMMENT ON COLUMN pricetime.notes.taken IS 'The shares that an amended order lost; null if it got other terms.';
COMMENT ON COLUMN pricetime.notes.shares_before IS
    'The shares of an amended order until then, executed ones included.';
COMMENT ON COLUMN pricetime.notes.shares_after IS 'Its shares from then on.';
COMMENT ON COLUMN pricetime.notes.new_kind IS
    'The kind of an amended order from then on; null, like the next two, if it only lost shares.';
COMMENT ON COLUMN pricetime.notes.new_limit IS 'Its limit from then on.';
COMMENT ON COLUMN pricetime.notes.keeps_place IS 'Whether it kept its place; otherwise it was placed again under its id.';
COMMENT ON COLUMN pricetime.notes.why IS 'The reason of an amendment: 1, 3 or 5 as in cancellations.';
COMMENT ON COLUMN pricetime.notes.place IS 'The number of notes that the same command had made before.';
COMMENT ON COLUMN pricetime.notes.next_execution IS
    'The id of the next execution, past or future. It gives a note its place among the executions of its command.';

---------------------------------------------------------------------------------------------------------- what is kept

CREATE TABLE pricetime.parts (
    rows_of text NOT NULL CHECK (rows_of IN ('orders', 'executions')),
    begins bigint NOT NULL,
    ends bigint NOT NULL CHECK (ends > begins),
    PRIMARY KEY (rows_of, begins)
);
COMMENT ON TABLE pricetime.parts IS
    'The parts that are kept, by ids from begins to before ends. Cancellations have the parts of orders.';

CREATE TABLE pricetime.kept (
    one_row boolean PRIMARY KEY DEFAULT true CHECK (one_row),
    first_order bigint NOT NULL CHECK (first_order > 0),
    first_execution bigint NOT NULL CHECK (first_execution > 0),
    until timestamptz,
    whole boolean,
    part_ids bigint NOT NULL CHECK (part_ids > 0)
);
COMMENT ON TABLE pricetime.kept IS
    'One row: the limits of what is kept. A program that reads several tables at one moment locks it in ACCESS SHARE '
    'MODE first.';
COMMENT ON COLUMN pricetime.kept.first_order IS
    'The first order from which on all orders are kept. Earlier ones are kept if they were open when the others went.';
COMMENT ON COLUMN pricetime.kept.first_execution IS
    'The first execution from which on all executions are kept. Earlier ones are kept with their orders.';
COMMENT ON COLUMN pricetime.kept.until IS 'The time of the last removed event; null if none was removed.';
COMMENT ON COLUMN pricetime.kept.whole IS
    'Whether all removed orders had been written as they were placed, none imported; null if none was removed.';
COMMENT ON COLUMN pricetime.kept.part_ids IS 'The number of ids of the smallest part.';
INSERT INTO pricetime.kept VALUES (true, 1, 1, NULL, NULL, 1048576);

CREATE TABLE pricetime.gone (
    rows_of text NOT NULL CHECK (rows_of IN ('orders of account', 'trades of account', 'trades of symbol')),
    number bigint NOT NULL,
    id bigint NOT NULL,
    time timestamptz NOT NULL,
    sequence bigint NOT NULL,
    PRIMARY KEY (rows_of, number)
);
COMMENT ON TABLE pricetime.gone IS
    'The accounts and symbols that lost rows to retention, and the last row that each lost.';
COMMENT ON COLUMN pricetime.gone.number IS 'The number of the account or the symbol.';
COMMENT ON COLUMN pricetime.gone.id IS 'The last removed order or execution.';
COMMENT ON COLUMN pricetime.gone.time IS 'The time of the last removed event.';
COMMENT ON COLUMN pricetime.gone.sequence IS 'The last command of which rows were removed.';

-- Makes a table that becomes a part: like the whole, with the guard. It is not attached yet.
CREATE FUNCTION pricetime.make_part(name text, whole text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE pricetime.%I (LIKE pricetime.%I INCLUDING ALL)', name, whole);
    EXECUTE format('COMMENT ON TABLE pricetime.%I IS %L', name, format('A part of %s.', whole));
    PERFORM pricetime.guard(name);
END $$;
COMMENT ON FUNCTION pricetime.make_part IS 'Used by the exchange server alone.';

-- Makes missing parts, so that all ids before these have one, and returns the ends of the last ones. It waits for no
-- reader or writer, because nobody knows the table that it attaches. A part has a quarter of all ids that are kept
-- before it, so that there are few parts.
CREATE FUNCTION pricetime.make_parts(
    expected_epoch bigint, next_order bigint, next_execution bigint, OUT orders_end bigint, OUT executions_end bigint
) LANGUAGE plpgsql AS $$
DECLARE
    least_ids bigint;
    first bigint;
    last bigint;
    size bigint;
    whole text;
BEGIN
    SELECT k.part_ids INTO least_ids FROM pricetime.kept k;
    PERFORM FROM pricetime.command_sequence WHERE epoch = expected_epoch FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another server writes to this database' USING ERRCODE = 'PT001';
    END IF;
    SELECT min(p.begins), max(p.ends) INTO first, last FROM pricetime.parts p WHERE p.rows_of = 'orders';
    IF next_order > last THEN
        size := greatest(least_ids, (last - first) / 4);
        orders_end := next_order + size;
        FOREACH whole IN ARRAY ARRAY['orders', 'cancellations'] LOOP
            PERFORM pricetime.make_part(format('%s_%s', whole, last), whole);
            EXECUTE format('ALTER TABLE pricetime.%I ATTACH PARTITION pricetime.%I FOR VALUES FROM (%s) TO (%s)',
                whole, format('%s_%s', whole, last), last, orders_end);
        END LOOP;
        INSERT INTO pricetime.parts VALUES ('orders', last, orders_end);
    ELSE
        orders_end := last;
    END IF;
    SELECT min(p.begins), max(p.ends) INTO first, last FROM pricetime.parts p WHERE p.rows_of = 'executions';
    IF next_execution > last THEN
        size := greatest(least_ids, (last - first) / 4);
        executions_end := next_execution + size;
        PERFORM pricetime.make_part(format('executions_%s', last), 'executions');
        EXECUTE format('ALTER TABLE pricetime.executions ATTACH PARTITION pricetime.%I FOR VALUES FROM (%s) TO (%s)',
            format('executions_%s', last), last, executions_end);
        INSERT INTO pricetime.parts VALUES ('executions', last, executions_end);
    ELSE
        executions_end := last;
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.make_parts IS
    'Used by the exchange server alone: makes room for the orders and executions to come.';

------------------------------------------------------------------------------------------------------- the audit trail

CREATE TABLE pricetime.callers (
    id bigint PRIMARY KEY CHECK (id > 0),
    protocol text NOT NULL,
    session bigint NOT NULL,
    member text,
    key text,
    address inet NOT NULL
);
COMMENT ON TABLE pricetime.callers IS
    'The callers of commands: members on connections. A caller that stays gets a new row now and then, so that old '
    'rows can go.';
COMMENT ON COLUMN pricetime.callers.id IS 'The first command noted under this caller.';
COMMENT ON COLUMN pricetime.callers.session IS
    'The number of the connection, which rises with the microseconds since 1970 at which connections began.';
COMMENT ON COLUMN pricetime.callers.member IS 'The member; null for a caller that proved to be none.';
COMMENT ON COLUMN pricetime.callers.key IS 'The proof of the member, if it is known.';
COMMENT ON COLUMN pricetime.callers.address IS 'The address from which the connection came.';

CREATE TABLE pricetime.audited (
    first_command bigint PRIMARY KEY CHECK (first_command > 0),
    anew boolean NOT NULL,
    times timestamptz[] NOT NULL,
    callers bigint[] NOT NULL,
    whats text[] NOT NULL,
    CHECK (cardinality(times) = cardinality(callers) AND cardinality(times) = cardinality(whats)
        AND cardinality(times) > 0)
);
CREATE INDEX audited_anew ON pricetime.audited (first_command) WHERE anew;
COMMENT ON TABLE pricetime.audited IS
    'The commands of a transaction, from the first one on: time, caller and words. The view audit has a row for each.';
COMMENT ON COLUMN pricetime.audited.anew IS 'Whether this row and later ones name no caller of earlier rows.';
COMMENT ON COLUMN pricetime.audited.callers IS 'The ids of the callers; null for commands of the server itself.';

-- Removes rows from before the first order that is kept, at most this many of commands, and returns their number.
CREATE FUNCTION pricetime.remove_audit(most bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    kept_from bigint;
    removed bigint;
BEGIN
    SELECT max(b.first_command) INTO kept_from
    FROM pricetime.audited b CROSS JOIN pricetime.kept k CROSS JOIN pricetime.command_sequence s
    WHERE b.anew AND k.first_order > 1 AND b.first_command <= coalesce(
        (SELECT o.sequence FROM pricetime.orders o WHERE o.id >= k.first_order AND o.sequence IS NOT NULL
            ORDER BY o.id LIMIT 1),
        s.sequence + 1);
    DELETE FROM pricetime.audited a USING (
        SELECT first_command FROM pricetime.audited WHERE first_command < kept_from ORDER BY first_command LIMIT most
    ) g WHERE a.first_command = g.first_command;
    GET DIAGNOSTICS removed = ROW_COUNT;
    IF removed < most THEN
        DELETE FROM pricetime.callers WHERE id < kept_from;
    END IF;
    RETURN removed;
END $$;
COMMENT ON FUNCTION pricetime.remove_audit IS 'Used by the exchange server alone: removes old rows of the audit trail.';

----------------------------------------------------------------------------------------------------------------- views

CREATE VIEW pricetime.present_orders AS
    SELECT o.id, o.account, o.symbol, o.time, o.sequence, o.side,
        coalesce(m.limit_price, o.limit_price) AS limit_price, coalesce(m.shares, o.shares) AS shares,
        coalesce(m.kind, o.kind) AS kind,
        CASE WHEN m.kind IS NULL THEN o.trigger_price ELSE m.trigger_price END AS trigger_price,
        CASE WHEN m.kind IS NULL THEN o.trigger_from_below ELSE m.trigger_from_below END AS trigger_from_below,
        o.self_trade, CASE WHEN m.order_id IS NULL THEN o.until ELSE m.until END AS until,
        m.sequence AS placed_again
    FROM pricetime.orders o LEFT JOIN pricetime.amended_orders m ON m.order_id = o.id;
COMMENT ON VIEW pricetime.present_orders IS
    'Every order that is kept, with its present terms: those of orders, or those with which it was amended since. Its '
    'shares are those with which it was placed, or placed again: reductions has those that it lost since.';
COMMENT ON COLUMN pricetime.present_orders.placed_again IS
    'The last command that placed it again under its id; null if it always kept its place.';

CREATE VIEW pricetime.open_orders AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side, o.limit_price,
        (o.shares - coalesce(d.shares, 0))::numeric(19,8) AS shares, r.open, o.time,
        c.client_order_id, o.kind, coalesce(w.trigger_price, o.trigger_price) AS stop_price,
        w.order_id IS NOT NULL AND w.delayed IS NULL AS waits,
        o.self_trade, o.until, coalesce(d.shares, 0) AS reduced, p.working AS pends_on,
        w.delayed IS NOT NULL AS delayed
    FROM pricetime.resting r
    JOIN pricetime.present_orders o ON o.id = r.order_id
    JOIN pricetime.accounts a ON a.number = o.account
    JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.client_orders c ON c.order_id = o.id
    LEFT JOIN pricetime.waiting w ON w.order_id = o.id
    LEFT JOIN pricetime.reductions d ON d.order_id = o.id
    LEFT JOIN pricetime.pending p ON p.order_id = o.id;
COMMENT ON VIEW pricetime.open_orders IS
    'The open orders, on the books and waiting, with the terms and shares that they have now.';

CREATE VIEW pricetime.order_history AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side,
        (CASE o.kind WHEN 'market' THEN NULL ELSE o.limit_price END)::numeric(19,8) AS limit_price,
        (o.shares - coalesce(d.shares, 0))::numeric(19,8) AS shares, o.time,
        coalesce(r.open, 0) AS open,
        coalesce(c.shares, 0) AS canceled,
        o.shares - coalesce(d.shares, 0) - coalesce(r.open, 0) - coalesce(c.shares, 0) AS executed,
        c.time AS canceled_time,
        CASE WHEN r.open IS NOT NULL THEN 'open' WHEN c.shares IS NOT NULL THEN 'canceled' ELSE 'executed' END
            AS status,
        n.client_order_id, o.kind, o.trigger_price AS stop_price,
        w.order_id IS NOT NULL AND w.delayed IS NULL AS waits,
        o.self_trade, o.until, coalesce(d.shares, 0) AS reduced,
        CASE c.why WHEN 1 THEN 'asked' WHEN 2 THEN 'not_resting' WHEN 3 THEN 'refused' WHEN 4 THEN 'expired'
            WHEN 5 THEN 'self_trade' WHEN 6 THEN 'linked' WHEN 7 THEN 'not_placed'
            WHEN 8 THEN 'disconnected' END AS canceled_why,
        p.working AS pends_on,
        w.delayed IS NOT NULL AS delayed
    FROM pricetime.present_orders o
    JOIN pricetime.accounts a ON a.number = o.account
    LEFT JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.resting r ON r.order_id = o.id
    LEFT JOIN pricetime.cancellations c ON c.order_id = o.id
    LEFT JOIN pricetime.client_orders n ON n.order_id = o.id
    LEFT JOIN pricetime.waiting w ON w.order_id = o.id
    LEFT JOIN pricetime.reductions d ON d.order_id = o.id
    LEFT JOIN pricetime.pending p ON p.order_id = o.id;
COMMENT ON VIEW pricetime.order_history IS
    'Every order that is kept, and its outcome. One that executed in part before it was canceled counts as canceled.';

CREATE VIEW pricetime.book AS
    SELECT s.name AS symbol, o.side, o.limit_price AS price, sum(r.open - coalesce(i.hidden, 0)) AS shares,
        count(*) AS orders
    FROM pricetime.resting r
    JOIN pricetime.present_orders o ON o.id = r.order_id
    JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.waiting w ON w.order_id = r.order_id
    LEFT JOIN pricetime.icebergs i ON i.order_id = r.order_id
    LEFT JOIN pricetime.pending p ON p.order_id = r.order_id
    WHERE w.order_id IS NULL AND p.order_id IS NULL
    GROUP BY s.name, o.side, o.limit_price;
COMMENT ON VIEW pricetime.book IS
    'The price levels, with the shown shares. Order by price: the best buy is the highest, the best sell the lowest.';

CREATE VIEW pricetime.linked_orders AS
    SELECT n.order_id, n.partner AS linked_with, n.time,
        EXISTS (SELECT FROM pricetime.links l WHERE l.order_id = least(n.order_id, n.partner)) AS is_linked
    FROM pricetime.notes n WHERE n.kind = 'linked';
COMMENT ON VIEW pricetime.linked_orders IS
    'The orders of all pairs that are kept, one row an order, and whether both are open. Imported pairs are missing.';

CREATE VIEW pricetime.trailing_orders AS
    SELECT w.order_id, a.id AS account, s.name AS symbol, o.side, w.trigger_price AS stop_price, t.distance, t.bips
    FROM pricetime.waiting w
    JOIN pricetime.trails t ON t.order_id = w.order_id
    JOIN pricetime.present_orders o ON o.id = w.order_id
    JOIN pricetime.accounts a ON a.number = o.account
    JOIN pricetime.symbols s ON s.number = w.symbol
    WHERE w.follows;
COMMENT ON VIEW pricetime.trailing_orders IS
    'The orders whose triggers follow the market, with the present trigger and its distance.';

CREATE FUNCTION pricetime.share_fee(shares numeric, rate numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ceil(shares * rate * 1000000) * 0.00000001;
COMMENT ON FUNCTION pricetime.share_fee IS
    'The fee of a buyer: shares times a rate in per cent, rounded up to 8 decimals.';
CREATE FUNCTION pricetime.money_fee(money numeric, rate numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ceil(money * rate * 100000000000000) * 0.0000000000000001;
COMMENT ON FUNCTION pricetime.money_fee IS
    'The fee of a seller: dollars times a rate in per cent, rounded up to 16 decimals.';

-- An execution may be kept longer than its orders.
CREATE VIEW pricetime.trades AS
    SELECT e.id, s.name AS symbol, e.price, e.shares, e.time, e.aggressor, e.buy_order, buyer.id AS buyer, e.sell_order,
        seller.id AS seller,
        coalesce(pricetime.share_fee(e.shares, e.buyer_fee_rate), 0) AS buyer_fee,
        coalesce(pricetime.money_fee(e.price * e.shares, e.seller_fee_rate), 0) AS seller_fee
    FROM pricetime.executions e
    JOIN pricetime.accounts buyer ON buyer.number = e.buyer
    JOIN pricetime.accounts seller ON seller.number = e.seller
    JOIN pricetime.symbols s ON s.number = e.symbol;
COMMENT ON VIEW pricetime.trades IS 'The executions with their symbol, accounts and fees.';
COMMENT ON COLUMN pricetime.trades.buyer_fee IS 'The buyer''s fee in shares.';
COMMENT ON COLUMN pricetime.trades.seller_fee IS 'The seller''s fee in dollars.';

CREATE VIEW pricetime.fee_schedule AS
    SELECT s.name AS symbol, f.tier, f.maker, f.taker, a.id AS account
    FROM pricetime.fees f
    JOIN pricetime.symbols s ON s.number = f.symbol
    JOIN pricetime.accounts a ON a.number = f.account;
COMMENT ON VIEW pricetime.fee_schedule IS
    'The fees by symbol and tier, in per cent of the proceeds, and the account that gets them.';

-- Of two linked buys the younger one counts with the dollars that it holds beyond the older one. Pending orders and
-- market orders hold nothing.
CREATE VIEW pricetime.account_summary AS
    SELECT a.id AS account, a.balance, coalesce(h.held, 0) AS held, coalesce(h.open_orders, 0) AS open_orders,
        p.positions
    FROM pricetime.accounts a
    LEFT JOIN (
        SELECT o.account, count(*) AS open_orders,
            sum(greatest(o.limit_price * r.open - coalesce(f.limit_price * r.open, 0), 0))
                FILTER (WHERE o.side = 'buy' AND o.kind <> 'market' AND q.order_id IS NULL) AS held
        FROM pricetime.resting r JOIN pricetime.present_orders o ON o.id = r.order_id
        LEFT JOIN pricetime.links l ON l.partner = r.order_id
        LEFT JOIN pricetime.present_orders f ON f.id = l.order_id AND f.kind <> 'market'
        LEFT JOIN pricetime.pending q ON q.order_id = r.order_id
        GROUP BY o.account
    ) h ON h.account = a.number
    LEFT JOIN LATERAL (
        SELECT jsonb_object_agg(s.name, q.shares) AS positions
        FROM pricetime.positions q JOIN pricetime.symbols s ON s.number = q.symbol
        WHERE q.account = a.number AND q.shares > 0
    ) p ON true;
COMMENT ON VIEW pricetime.account_summary IS
    'The dollars that an account may spend, those that its open buys hold, and the shares that it may sell.';

CREATE VIEW pricetime.audit AS
    SELECT b.first_command + u.nth - 1 AS command, u.time, c.member, c.protocol, c.session, c.address, c.key, u.what,
        b.first_command
    FROM pricetime.audited b
    CROSS JOIN LATERAL unnest(b.times, b.callers, b.whats) WITH ORDINALITY AS u(time, caller, what, nth)
    LEFT JOIN pricetime.callers c ON c.id = u.caller;
COMMENT ON VIEW pricetime.audit IS
    'Each command with its time, its caller and its words. Requests that were refused without a number are missing.';
COMMENT ON COLUMN pricetime.audit.first_command IS
    'The first command of the same transaction: a question about few commands names it, to use the index.';

-- The command that canceled such an order may be a later one of the server itself, or one of another client, whose
-- order met it. A kill is not released before its orders have ended. So each kill of an order's account or symbol, or
-- of everything, that came while it was open was on when it ended, and the first one threw the switch.
CREATE VIEW pricetime.killed_orders AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, c.time AS canceled_time, c.sequence AS canceled_by,
        k.command AS kill, k.time, k.member, k.protocol, k.session, k.address, k.key, k.what
    FROM pricetime.cancellations c
    JOIN pricetime.orders o ON o.id = c.order_id
    JOIN pricetime.accounts a ON a.number = o.account
    JOIN pricetime.symbols s ON s.number = o.symbol
    CROSS JOIN LATERAL (
        SELECT u.* FROM pricetime.audit u
        WHERE u.what IN ('kill everything', 'kill account ' || a.id, 'kill symbol ' || s.name)
            AND u.command > coalesce(o.sequence, 0) AND u.command <= c.sequence AND u.first_command <= c.sequence
            AND u.first_command >= coalesce(
                (SELECT max(b.first_command) FROM pricetime.audited b WHERE b.first_command <= o.sequence), 0)
        ORDER BY u.command LIMIT 1
    ) k
    WHERE c.why IN (1, 3, 6, 7);
COMMENT ON VIEW pricetime.killed_orders IS
    'The orders that were canceled after a kill of their account, their symbol or everything, and its caller. An order '
    'that its account canceled before the kill came to it has a row, too.';
COMMENT ON COLUMN pricetime.killed_orders.canceled_by IS 'The command that canceled the order, often a later one.';
COMMENT ON COLUMN pricetime.killed_orders.kill IS
    'The command that threw the switch; time, member, protocol, session, address, key and what are its own.';

CREATE VIEW pricetime.sessions AS
    SELECT c.session, c.protocol, c.address, c.member, c.key, min(c.id) AS first_command
    FROM pricetime.callers c GROUP BY c.session, c.protocol, c.address, c.member, c.key;
COMMENT ON VIEW pricetime.sessions IS 'The connections with commands, and the members that used them.';
COMMENT ON COLUMN pricetime.sessions.first_command IS 'The first command that is kept of it.';

--------------------------------------------------------------------------------------------------------------- writing

-- Fails the transaction unless as many rows were changed as the server expects.
CREATE FUNCTION pricetime.expect(what text, changed bigint, expected bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF changed IS DISTINCT FROM expected THEN
        RAISE EXCEPTION '% rows of pricetime.% changed where the server knows %', changed, what, expected
            USING ERRCODE = 'PT003',
                HINT = 'Somebody else changed this table. Stop the server, restore it, start again.';
    END IF;
END $$;

-- The functions that the server's one statement calls, in this order. A statement outside a transaction block is one
-- transaction: all of it takes effect, or nothing. A parameter has rows of a table, with the columns that its statement
-- needs; the others are null. So a new column needs nothing here if it takes null: a default is not looked at.

-- Moves the sequence, which fails unless this server is the last that took over and everything before is there. Writes
-- what nearly every batch has.
CREATE FUNCTION pricetime.write_batch(
    expected_epoch bigint, expected_sequence bigint,
    new_sequence bigint, new_time timestamptz, new_next_order bigint, new_next_execution bigint,
    new_symbols pricetime.symbols[], issued_symbols pricetime.symbols[],
    new_accounts pricetime.accounts[], balances pricetime.accounts[], positions pricetime.positions[],
    new_orders pricetime.orders[], new_resting pricetime.resting[], taken pricetime.resting[],
    new_executions pricetime.executions[], new_cancellations pricetime.cancellations[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    gone bigint;
    less bigint;
BEGIN
    UPDATE pricetime.command_sequence
        SET sequence = new_sequence, time = new_time, next_order = new_next_order, next_execution = new_next_execution
        WHERE epoch = expected_epoch AND sequence = expected_sequence;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the sequence is not at % in epoch %: another server writes to this database',
            expected_sequence, expected_epoch USING ERRCODE = 'PT001';
    END IF;
    IF cardinality(new_symbols) > 0 THEN
        INSERT INTO pricetime.symbols SELECT * FROM unnest(new_symbols);
    END IF;
    IF cardinality(issued_symbols) > 0 THEN
        UPDATE pricetime.symbols s SET issued = u.issued FROM unnest(issued_symbols) u WHERE s.number = u.number;
        GET DIAGNOSTICS less = ROW_COUNT;
        PERFORM pricetime.expect('symbols', less, cardinality(issued_symbols));
    END IF;
    IF cardinality(new_accounts) > 0 THEN
        INSERT INTO pricetime.accounts SELECT * FROM unnest(new_accounts);
    END IF;
    IF cardinality(balances) > 0 THEN
        UPDATE pricetime.accounts a SET balance = u.balance FROM unnest(balances) u WHERE a.number = u.number;
        GET DIAGNOSTICS less = ROW_COUNT;
        PERFORM pricetime.expect('accounts', less, cardinality(balances));
    END IF;
    IF cardinality(positions) > 0 THEN
        UPDATE pricetime.positions p SET shares = u.shares FROM unnest(positions) u
            WHERE p.account = u.account AND p.symbol = u.symbol;
        GET DIAGNOSTICS less = ROW_COUNT;
        -- Nearly all are there already: to update them costs less than a conflict each.
        IF less < cardinality(positions) THEN
            INSERT INTO pricetime.positions SELECT * FROM unnest(positions) ON CONFLICT (account, symbol) DO NOTHING;
        END IF;
    END IF;
    IF cardinality(new_orders) > 0 THEN
        INSERT INTO pricetime.orders SELECT * FROM unnest(new_orders);
    END IF;
    IF cardinality(new_resting) > 0 THEN
        INSERT INTO pricetime.resting SELECT * FROM unnest(new_resting);
    END IF;
    IF cardinality(taken) > 0 THEN
        -- The open shares of a row of taken are those that were taken of the order.
        DELETE FROM pricetime.resting r USING unnest(taken) u WHERE r.order_id = u.order_id AND r.open = u.open;
        GET DIAGNOSTICS gone = ROW_COUNT;
        less := 0;
        IF gone < cardinality(taken) THEN
            UPDATE pricetime.resting r SET open = r.open - u.open FROM unnest(taken) u WHERE r.order_id = u.order_id;
            GET DIAGNOSTICS less = ROW_COUNT;
        END IF;
        PERFORM pricetime.expect('resting', gone + less, cardinality(taken));
    END IF;
    IF cardinality(new_executions) > 0 THEN
        INSERT INTO pricetime.executions SELECT * FROM unnest(new_executions);
    END IF;
    IF cardinality(new_cancellations) > 0 THEN
        INSERT INTO pricetime.cancellations SELECT * FROM unnest(new_cancellations);
    END IF;
END $$;

-- Notes that orders came to the end of a queue. An order may have come to another one later in the same batch, or be
-- done.
CREATE FUNCTION pricetime.queue(came pricetime.resting[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE pricetime.resting r SET queued_sequence = u.queued_sequence, queued_nth = u.queued_nth FROM unnest(came) u
        WHERE r.order_id = u.order_id AND
            (coalesce(r.queued_sequence, -1), coalesce(r.queued_nth, -1)) < (u.queued_sequence, u.queued_nth);
END $$;

-- Changes the rows in waiting of orders whose triggers were reached, and looks at this many at most. Later batches go on.
CREATE FUNCTION pricetime.note_reached(most bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    looked_at bigint;
    last pricetime.reached_triggers;
BEGIN
    -- Sorted triggers first, so that no more of them are looked at than there is room for.
    WITH page AS MATERIALIZED (
        SELECT t.sequence, t.nth, w.order_id FROM (SELECT * FROM pricetime.reached_triggers ORDER BY sequence, nth) t
        CROSS JOIN LATERAL (
            SELECT u.order_id FROM pricetime.waiting u
            WHERE u.symbol = t.symbol AND u.trigger_price = t.trigger_price AND u.from_below = t.from_below
                AND u.order_id > t.noted_up_to
            ORDER BY u.order_id LIMIT most
        ) w
        ORDER BY t.sequence, t.nth, w.order_id LIMIT most
    ), reached AS MATERIALIZED (
        SELECT w.order_id, m.sequence, m.nth FROM (SELECT DISTINCT order_id FROM page) p
        JOIN pricetime.waiting w ON w.order_id = p.order_id
        JOIN pricetime.resting r ON r.order_id = w.order_id JOIN pricetime.orders o ON o.id = w.order_id
        CROSS JOIN LATERAL pricetime.reached_by(w, coalesce(r.queued_sequence, o.sequence, 0)) m
    ), changed AS (
        UPDATE pricetime.waiting w SET reached_sequence = s.sequence, reached_nth = s.nth FROM reached s
            WHERE w.order_id = s.order_id
    ), ended AS (
        SELECT sequence, nth, order_id FROM page ORDER BY sequence DESC, nth DESC, order_id DESC LIMIT 1
    )
    SELECT (SELECT count(*) FROM page), e.sequence, e.nth, e.order_id
        INTO looked_at, last.sequence, last.nth, last.noted_up_to FROM (SELECT) one LEFT JOIN ended e ON true;
    IF looked_at < most THEN
        DELETE FROM pricetime.reached_triggers;
    ELSE
        DELETE FROM pricetime.reached_triggers d WHERE (d.sequence, d.nth) < (last.sequence, last.nth);
        UPDATE pricetime.reached_triggers u SET noted_up_to = last.noted_up_to
            WHERE (u.sequence, u.nth) = (last.sequence, last.nth);
    END IF;
END $$;

-- Writes the rows that only some orders have.
CREATE FUNCTION pricetime.write_orders(
    new_client_orders pricetime.client_orders[], done_client_orders pricetime.client_orders[],
    freed_client_orders pricetime.client_orders[],
    activated pricetime.waiting[], canceled pricetime.waiting[], reached pricetime.waiting[],
    new_waiting pricetime.waiting[], queued_stops pricetime.resting[],
    amended_orders pricetime.amended_orders[], placed_anew pricetime.resting[],
    reductions pricetime.reductions[], new_notes pricetime.notes[], amended pricetime.notes[],
    new_links pricetime.links[], parted pricetime.links[],
    new_icebergs pricetime.icebergs[], changed_icebergs pricetime.icebergs[], queued_icebergs pricetime.resting[],
    new_trails pricetime.trails[], moved pricetime.waiting[], reached_trails pricetime.waiting[],
    queued_trails pricetime.resting[],
    new_pending pricetime.pending[], closed pricetime.pending[], queued_pending pricetime.resting[],
    delayed_orders pricetime.waiting[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    -- Rows of orders that wait for a price and that one batch changes, at most: as many as a command executes.
    reached_max CONSTANT bigint := 10000;
    changed bigint;
    gone bigint;
BEGIN
    IF cardinality(new_client_orders) > 0 THEN
        INSERT INTO pricetime.client_orders SELECT * FROM unnest(new_client_orders);
    END IF;
    IF cardinality(done_client_orders) > 0 THEN
        UPDATE pricetime.client_orders c SET done = u.done FROM unnest(done_client_orders) u
            WHERE c.order_id = u.order_id AND c.done IS NULL;
        GET DIAGNOSTICS changed = ROW_COUNT;
        PERFORM pricetime.expect('client_orders', changed, cardinality(done_client_orders));
    END IF;
    IF cardinality(freed_client_orders) > 0 THEN
        UPDATE pricetime.client_orders c SET freed = true FROM unnest(freed_client_orders) u
            WHERE c.order_id = u.order_id AND c.done IS NOT NULL AND NOT c.freed;
        GET DIAGNOSTICS changed = ROW_COUNT;
        PERFORM pricetime.expect('client_orders', changed, cardinality(freed_client_orders));
    END IF;
    IF cardinality(activated) > 0 THEN
        DELETE FROM pricetime.waiting w USING unnest(activated) u WHERE w.order_id = u.order_id;
        GET DIAGNOSTICS changed = ROW_COUNT;
        PERFORM pricetime.expect('waiting', changed, cardinality(activated));
    END IF;
    IF cardinality(canceled) > 0 THEN
        -- Most of them were on a book.
        DELETE FROM pricetime.waiting w USING unnest(canceled) u WHERE w.order_id = u.order_id;
    END IF;
    IF cardinality(reached) > 0 THEN
        -- Orders that waited before the batch. Those whose trigger it reached twice were reached the first time.
        -- Trailing stops of the batch are reached by their ids, because their triggers may have moved in it.
        reached := ARRAY(
            SELECT DISTINCT ON (r.symbol, r.trigger_price, r.from_below) r FROM unnest(reached) r
            ORDER BY r.symbol, r.trigger_price, r.from_below, r.reached_nth
        );
        SELECT count(*) INTO changed FROM (
            SELECT FROM unnest(reached) u JOIN pricetime.waiting w
                ON w.symbol = u.symbol AND w.trigger_price = u.trigger_price AND w.from_below = u.from_below
            LIMIT reached_max + 1
        ) found;
        IF changed > reached_max OR EXISTS (SELECT FROM pricetime.reached_triggers) THEN
            INSERT INTO pricetime.reached_triggers
                SELECT u.symbol, u.trigger_price, u.from_below, u.reached_sequence, u.reached_nth FROM unnest(reached) u;
        ELSE
            UPDATE pricetime.waiting w SET reached_sequence = u.reached_sequence, reached_nth = u.reached_nth
                FROM unnest(reached) u
                WHERE w.symbol = u.symbol AND w.trigger_price = u.trigger_price AND w.from_below = u.from_below
                    AND w.reached_sequence IS NULL AND NOT w.follows;
        END IF;
    END IF;
    IF cardinality(reached) > 0 OR cardinality(activated) > 0 THEN
        PERFORM pricetime.note_reached(reached_max);
    END IF;
    IF cardinality(new_waiting) > 0 THEN
        INSERT INTO pricetime.waiting SELECT * FROM unnest(new_waiting);
    END IF;
    IF cardinality(queued_stops) > 0 THEN
        PERFORM pricetime.queue(queued_stops);
    END IF;
    IF cardinality(new_notes) > 0 THEN
        INSERT INTO pricetime.notes SELECT * FROM unnest(new_notes);
    END IF;
    IF cardinality(amended) > 0 THEN
        -- Before the reductions and terms below: an order has the shares that it had before the batch. A stretch of its
        -- notes begins where it was placed again, with the shares that it had from then on.
        INSERT INTO pricetime.notes (order_id, account, kind, price, from_below, taken, shares_before, shares_after, why,
            new_kind, new_limit, keeps_place, time, sequence, place, next_execution)
            SELECT n.order_id, n.account, n.kind, n.price, n.from_below, n.taken,
                coalesce(lag(n.left_after) OVER (PARTITION BY n.order_id ORDER BY n.sequence, n.place), n.at_first),
                n.left_after, n.why, n.new_kind, n.new_limit, n.keeps_place, n.time, n.sequence, n.place,
                n.next_execution
            FROM (
                SELECT u.*, s.at_first, coalesce(first_value(u.shares_after) OVER stretch, s.at_first)
                    - coalesce(sum(u.taken) OVER stretch, 0) AS left_after
                FROM (
                    SELECT x.*, count(x.shares_after) OVER (PARTITION BY x.order_id ORDER BY x.sequence, x.place) AS nth
                    FROM unnest(amended) x
                ) u
                CROSS JOIN LATERAL (SELECT i.shares FROM pricetime.orders i WHERE i.id = u.order_id LIMIT 1) o
                LEFT JOIN pricetime.amended_orders m ON m.order_id = u.order_id
                LEFT JOIN pricetime.reductions d ON d.order_id = u.order_id
                CROSS JOIN LATERAL (SELECT coalesce(m.shares, o.shares) - coalesce(d.shares, 0)) s (at_first)
                WINDOW stretch AS (PARTITION BY u.order_id, u.nth ORDER BY u.sequence, u.place)
            ) n;
    END IF;
    IF cardinality(amended_orders) > 0 THEN
        INSERT INTO pricetime.amended_orders AS m SELECT * FROM unnest(amended_orders)
            ON CONFLICT (order_id) DO UPDATE SET until = excluded.until,
                sequence = coalesce(excluded.sequence, m.sequence), kind = coalesce(excluded.kind, m.kind),
                limit_price = coalesce(excluded.limit_price, m.limit_price),
                shares = coalesce(excluded.shares, m.shares),
                trigger_price = CASE WHEN excluded.kind IS NULL THEN m.trigger_price ELSE excluded.trigger_price END,
                trigger_from_below =
                    CASE WHEN excluded.kind IS NULL THEN m.trigger_from_below ELSE excluded.trigger_from_below END;
        -- The display of an amended order follows, if it has one.
        DELETE FROM pricetime.icebergs i USING unnest(amended_orders) u WHERE i.order_id = u.order_id;
    END IF;
    IF cardinality(placed_anew) > 0 THEN
        DELETE FROM pricetime.reductions d USING unnest(placed_anew) u WHERE d.order_id = u.order_id;
        DELETE FROM pricetime.trails t USING unnest(placed_anew) u WHERE t.order_id = u.order_id;
        -- The open shares of a row are those after the batch; null for an order that the batch opened, too.
        DELETE FROM pricetime.resting r USING unnest(placed_anew) u WHERE r.order_id = u.order_id AND u.open = 0;
        GET DIAGNOSTICS gone = ROW_COUNT;
        UPDATE pricetime.resting r SET open = u.open FROM unnest(placed_anew) u
            WHERE r.order_id = u.order_id AND u.open > 0;
        GET DIAGNOSTICS changed = ROW_COUNT;
        PERFORM pricetime.expect('resting', gone + changed, (SELECT count(u.open) FROM unnest(placed_anew) u));
        PERFORM pricetime.queue(placed_anew);
    END IF;
    IF cardinality(reductions) > 0 THEN
        INSERT INTO pricetime.reductions AS r SELECT * FROM unnest(reductions)
            ON CONFLICT (order_id) DO UPDATE SET shares = r.shares + excluded.shares;
    END IF;
    IF cardinality(new_links) > 0 THEN
        INSERT INTO pricetime.links SELECT * FROM unnest(new_links);
    END IF;
    IF cardinality(parted) > 0 THEN
        -- The batch may have linked them, too.
        DELETE FROM pricetime.links l USING unnest(parted) u WHERE l.order_id = u.order_id;
        DELETE FROM pricetime.links l USING unnest(parted) u WHERE l.partner = u.order_id;
    END IF;
    IF cardinality(new_icebergs) > 0 THEN
        INSERT INTO pricetime.icebergs SELECT * FROM unnest(new_icebergs);
    END IF;
    IF cardinality(changed_icebergs) > 0 THEN
        -- Most orders that are reduced are no icebergs.
        UPDATE pricetime.icebergs i SET hidden = u.hidden FROM unnest(changed_icebergs) u
            WHERE i.order_id = u.order_id AND i.hidden <> u.hidden;
    END IF;
    IF cardinality(queued_icebergs) > 0 THEN
        PERFORM pricetime.queue(queued_icebergs);
    END IF;
    IF cardinality(new_trails) > 0 THEN
        INSERT INTO pricetime.trails SELECT * FROM unnest(new_trails);
    END IF;
    IF cardinality(moved) > 0 THEN
        -- Some of them wait no longer.
        UPDATE pricetime.waiting w SET trigger_price = u.trigger_price FROM unnest(moved) u
            WHERE w.order_id = u.order_id AND w.trigger_price <> u.trigger_price;
    END IF;
    IF cardinality(reached_trails) > 0 THEN
        UPDATE pricetime.waiting w SET trigger_price = u.trigger_price, follows = false,
                reached_sequence = u.reached_sequence, reached_nth = u.reached_nth
            FROM unnest(reached_trails) u WHERE w.order_id = u.order_id;
        PERFORM pricetime.queue(queued_trails);
    END IF;
    IF cardinality(new_pending) > 0 THEN
        INSERT INTO pricetime.pending SELECT * FROM unnest(new_pending);
    END IF;
    IF cardinality(closed) > 0 THEN
        -- Most of those that were canceled waited for no other order.
        DELETE FROM pricetime.pending p USING unnest(closed) u WHERE p.order_id = u.order_id;
    END IF;
    IF cardinality(queued_pending) > 0 THEN
        PERFORM pricetime.queue(queued_pending);
    END IF;
    IF cardinality(delayed_orders) > 0 THEN
        -- Behind the deletes and updates above: an order that waits again has its row anew.
        INSERT INTO pricetime.waiting SELECT * FROM unnest(delayed_orders);
    END IF;
END $$;

-- Writes the settings of symbols and accounts. The new rows of a table take the place of the old ones; a setting that
-- was taken back has an old row alone.
CREATE FUNCTION pricetime.write_settings(
    watches pricetime.symbols[],
    old_rules pricetime.symbol_rules[], new_rules pricetime.symbol_rules[],
    old_phases pricetime.symbol_phases[], new_phases pricetime.symbol_phases[],
    old_fees pricetime.fees[], new_fees pricetime.fees[],
    old_tiers pricetime.account_tiers[], new_tiers pricetime.account_tiers[],
    old_groups pricetime.account_groups[], new_groups pricetime.account_groups[],
    old_statuses pricetime.account_statuses[], new_statuses pricetime.account_statuses[],
    old_limits pricetime.account_limits[], new_limits pricetime.account_limits[],
    old_protections pricetime.protections[], new_protections pricetime.protections[],
    old_kills pricetime.kills[], new_kills pricetime.kills[],
    new_calendar timestamptz
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    changed bigint;
BEGIN
    IF cardinality(watches) > 0 THEN
        UPDATE pricetime.symbols s SET last_price = u.last_price, reaches_up_to = u.reaches_up_to,
            reaches_down_to = u.reaches_down_to, dynamic_reference = u.dynamic_reference,
            static_reference = u.static_reference FROM unnest(watches) u WHERE s.number = u.number;
        GET DIAGNOSTICS changed = ROW_COUNT;
        PERFORM pricetime.expect('symbols', changed, cardinality(watches));
    END IF;
    IF cardinality(old_rules) > 0 THEN
        DELETE FROM pricetime.symbol_rules r USING unnest(old_rules) u WHERE r.symbol = u.symbol;
        INSERT INTO pricetime.symbol_rules SELECT * FROM unnest(new_rules);
    END IF;
    IF cardinality(old_phases) > 0 THEN
        DELETE FROM pricetime.symbol_phases p USING unnest(old_phases) u WHERE p.symbol = u.symbol;
        INSERT INTO pricetime.symbol_phases SELECT * FROM unnest(new_phases);
    END IF;
    IF cardinality(old_fees) > 0 THEN
        DELETE FROM pricetime.fees f USING unnest(old_fees) u WHERE f.symbol = u.symbol AND f.tier = u.tier;
        INSERT INTO pricetime.fees SELECT * FROM unnest(new_fees);
    END IF;
    IF cardinality(old_tiers) > 0 THEN
        DELETE FROM pricetime.account_tiers t USING unnest(old_tiers) u WHERE t.account = u.account;
        INSERT INTO pricetime.account_tiers SELECT * FROM unnest(new_tiers);
    END IF;
    IF cardinality(old_groups) > 0 THEN
        DELETE FROM pricetime.account_groups g USING unnest(old_groups) u WHERE g.account = u.account;
        INSERT INTO pricetime.account_groups SELECT * FROM unnest(new_groups);
    END IF;
    IF cardinality(old_statuses) > 0 THEN
        DELETE FROM pricetime.account_statuses s USING unnest(old_statuses) u WHERE s.account = u.account;
        INSERT INTO pricetime.account_statuses SELECT * FROM unnest(new_statuses);
    END IF;
    IF cardinality(old_limits) > 0 THEN
        DELETE FROM pricetime.account_limits l USING unnest(old_limits) u WHERE l.account = u.account;
        INSERT INTO pricetime.account_limits SELECT * FROM unnest(new_limits);
    END IF;
    IF cardinality(old_protections) > 0 THEN
        DELETE FROM pricetime.protections p USING unnest(old_protections) u WHERE p.account = u.account;
        INSERT INTO pricetime.protections SELECT * FROM unnest(new_protections);
    END IF;
    IF cardinality(old_kills) > 0 THEN
        DELETE FROM pricetime.kills k USING unnest(old_kills) u
            WHERE k.scope = u.scope AND k.account IS NOT DISTINCT FROM u.account AND k.symbol IS NOT DISTINCT FROM u.symbol;
        INSERT INTO pricetime.kills SELECT * FROM unnest(new_kills);
    END IF;
    IF new_calendar IS NOT NULL THEN
        INSERT INTO pricetime.calendar (followed) VALUES (new_calendar)
            ON CONFLICT (one) DO UPDATE SET followed = excluded.followed;
    END IF;
END $$;

-- Writes the callers of a batch of commands: of all, or of none.
CREATE FUNCTION pricetime.write_audit(
    new_callers pricetime.callers[],
    new_first_command bigint, new_anew boolean, new_times timestamptz[], new_ids bigint[], new_whats text[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(new_callers) > 0 THEN
        INSERT INTO pricetime.callers SELECT * FROM unnest(new_callers);
    END IF;
    IF cardinality(new_times) > 0 THEN
        INSERT INTO pricetime.audited (first_command, anew, times, callers, whats)
            VALUES (new_first_command, new_anew, new_times, new_ids, new_whats);
    END IF;
END $$;

DO $$
DECLARE
    name regproc;
BEGIN
    FOR name IN SELECT oid::regproc FROM pg_proc
        WHERE pronamespace = 'pricetime'::regnamespace AND (proname ~ '^write_' OR proname IN ('queue', 'note_reached'))
    LOOP
        EXECUTE format('COMMENT ON FUNCTION %s IS ''Used by the exchange server alone: writes a batch of commands.''', name);
    END LOOP;
END $$;

------------------------------------------------------------------------------------------------------- the first parts

DO $$
DECLARE
    least_ids bigint;
    name text;
BEGIN
    SELECT part_ids INTO least_ids FROM pricetime.kept;
    INSERT INTO pricetime.parts VALUES ('orders', 1, 1 + least_ids), ('executions', 1, 1 + least_ids);
    FOR name IN SELECT relname FROM pg_class
        WHERE relnamespace = 'pricetime'::regnamespace AND relkind IN ('r', 'p') AND relname <> 'migrations'
    LOOP
        PERFORM pricetime.guard(name);
    END LOOP;
    FOREACH name IN ARRAY ARRAY['orders', 'cancellations', 'executions'] LOOP
        PERFORM pricetime.make_part(name || '_1', name);
        EXECUTE format('ALTER TABLE pricetime.%I ATTACH PARTITION pricetime.%I FOR VALUES FROM (MINVALUE) TO (%s)',
            name, name || '_1', 1 + least_ids);
    END LOOP;
END $$;
