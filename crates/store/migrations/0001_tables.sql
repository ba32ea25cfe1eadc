-- The market as rows. One writer, the exchange server, changes them; everybody else reads. Source: docs/POSTGRES.md.
-- numeric(19,8) holds every price and the shares of one order, numeric(29,8) a symbol's shares up to 10^20, numeric(37,16)
-- dollars up to 10^20 with the 16 decimals of price times shares.

-- Domains check a value where it is written into the column, and not again with every change of another column.
CREATE DOMAIN pricetime.account_id AS text COLLATE "C" CHECK (VALUE ~ '^[0-9]{1,32}$');
CREATE DOMAIN pricetime.symbol_name AS text COLLATE "C" CHECK (VALUE ~ '^[0-9A-Za-z]{1,32}$');
CREATE TYPE pricetime.side AS ENUM ('buy', 'sell');

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
COMMENT ON TABLE pricetime.command_sequence IS 'One row: where the one order of all commands stands. Every transaction of the server changes it first.';
COMMENT ON COLUMN pricetime.command_sequence.sequence IS 'The last command whose effects are here; all before it are here too.';
COMMENT ON COLUMN pricetime.command_sequence.time IS 'The time of that command.';
COMMENT ON COLUMN pricetime.command_sequence.next_order IS 'The id that the next accepted order gets.';
COMMENT ON COLUMN pricetime.command_sequence.next_execution IS 'The id that the next execution gets.';
COMMENT ON COLUMN pricetime.command_sequence.epoch IS 'Raised whenever a server takes over: what an earlier one still sends is refused.';
COMMENT ON COLUMN pricetime.command_sequence.writer IS 'The server that took over last.';
COMMENT ON COLUMN pricetime.command_sequence.since IS 'When it did.';
INSERT INTO pricetime.command_sequence VALUES (true, 0, 'epoch', 1, 1, 0, 'nobody', now());

CREATE TABLE pricetime.symbols (
    number bigint PRIMARY KEY CHECK (number >= 0),
    name pricetime.symbol_name NOT NULL UNIQUE,
    issued numeric(29,8) NOT NULL CHECK (issued >= 0)
);
COMMENT ON TABLE pricetime.symbols IS 'What is traded.';
COMMENT ON COLUMN pricetime.symbols.number IS 'Symbols in the order of their creation, from 0.';
COMMENT ON COLUMN pricetime.symbols.issued IS 'All shares ever issued: those in positions and those that open sells hold.';

CREATE TABLE pricetime.accounts (
    number bigint PRIMARY KEY CHECK (number >= 0),
    id pricetime.account_id NOT NULL UNIQUE,
    balance numeric(37,16) NOT NULL CHECK (balance >= 0)
) WITH (fillfactor = 70);
COMMENT ON TABLE pricetime.accounts IS 'Who trades.';
COMMENT ON COLUMN pricetime.accounts.number IS 'Accounts in the order of their creation, from 0.';
COMMENT ON COLUMN pricetime.accounts.id IS 'The account''s id, a text: 01234 is not 1234.';
COMMENT ON COLUMN pricetime.accounts.balance IS 'Dollars that it may spend: its money less what its open buys hold.';

CREATE TABLE pricetime.positions (
    account bigint NOT NULL REFERENCES pricetime.accounts,
    symbol bigint NOT NULL REFERENCES pricetime.symbols,
    shares numeric(29,8) NOT NULL CHECK (shares >= 0),
    PRIMARY KEY (account, symbol)
) WITH (fillfactor = 70);
COMMENT ON TABLE pricetime.positions IS 'What accounts own. A row stays when its shares come to zero.';
COMMENT ON COLUMN pricetime.positions.shares IS 'Shares that it may sell: its own less what its open sells hold.';

-- The next four tables carry no foreign keys: checking them row by row takes half of the time of writing. write_batch proves
-- every reference by other means, and `store verify` looks at all of them. Source: docs/POSTGRES.md, what the schema costs.

CREATE TABLE pricetime.orders (
    id bigint PRIMARY KEY CHECK (id > 0),
    account bigint NOT NULL,
    symbol bigint,
    time timestamptz,
    sequence bigint,
    side pricetime.side,
    limit_price numeric(19,8) CHECK (limit_price > 0),
    shares numeric(19,8) NOT NULL CHECK (shares > 0),
    CONSTRAINT orders_known CHECK (
        (sequence IS NULL) = (time IS NULL)
        AND (side IS NULL) = (symbol IS NULL) AND (side IS NULL) = (limit_price IS NULL)
        AND (sequence IS NULL OR side IS NOT NULL)
    )
);
COMMENT ON TABLE pricetime.orders IS 'Every order ever accepted, as it was placed. Never changed.';
COMMENT ON COLUMN pricetime.orders.account IS 'Its number in accounts.';
COMMENT ON COLUMN pricetime.orders.symbol IS 'Its number in symbols.';
COMMENT ON COLUMN pricetime.orders.time IS 'When it was placed; null for an order imported from a data folder that did not say.';
COMMENT ON COLUMN pricetime.orders.sequence IS 'The command that placed it; null as the time is.';
COMMENT ON COLUMN pricetime.orders.side IS 'Buy or sell; null, as symbol and limit, for an order that was done before it was imported.';
COMMENT ON COLUMN pricetime.orders.limit_price IS 'The worst price it takes.';
COMMENT ON COLUMN pricetime.orders.shares IS 'What was ordered: what is open, executed and canceled of it together.';
CREATE INDEX orders_by_account ON pricetime.orders (account, id);

CREATE TABLE pricetime.resting (
    order_id bigint PRIMARY KEY,
    open numeric(19,8) NOT NULL CHECK (open > 0)
) WITH (fillfactor = 70);
COMMENT ON TABLE pricetime.resting IS 'The orders on the books. Priority is by limit, then by id. See the view open_orders.';
COMMENT ON COLUMN pricetime.resting.open IS 'Shares neither executed nor canceled.';

CREATE TABLE pricetime.executions (
    id bigint PRIMARY KEY CHECK (id > 0),
    buy_order bigint NOT NULL,
    sell_order bigint NOT NULL,
    time timestamptz NOT NULL,
    sequence bigint NOT NULL,
    aggressor pricetime.side NOT NULL,
    price numeric(19,8) NOT NULL CHECK (price > 0),
    shares numeric(19,8) NOT NULL CHECK (shares > 0),
    CONSTRAINT executions_once UNIQUE (buy_order, sell_order)
);
COMMENT ON TABLE pricetime.executions IS 'Every execution, in order, numbered from 1 without gaps. Never changed.';
COMMENT ON COLUMN pricetime.executions.buy_order IS 'Its id in orders, as is sell_order.';
COMMENT ON COLUMN pricetime.executions.aggressor IS 'Which of both was being placed; the other was open first and set the price.';
COMMENT ON CONSTRAINT executions_once ON pricetime.executions IS 'An execution ends one of its two orders, so two orders execute at most once.';
CREATE INDEX executions_by_sell_order ON pricetime.executions (sell_order);

CREATE TABLE pricetime.cancellations (
    order_id bigint PRIMARY KEY,
    time timestamptz NOT NULL,
    sequence bigint,
    shares numeric(19,8) NOT NULL CHECK (shares > 0)
);
COMMENT ON TABLE pricetime.cancellations IS 'What was canceled of an order. Never changed.';
COMMENT ON COLUMN pricetime.cancellations.sequence IS 'The command that canceled it; null for an imported order.';

CREATE TABLE pricetime.imported_executions (
    order_id bigint NOT NULL REFERENCES pricetime.orders,
    ordinal bigint NOT NULL,
    time timestamptz NOT NULL,
    price numeric(19,8) NOT NULL CHECK (price > 0),
    shares numeric(19,8) NOT NULL CHECK (shares > 0),
    PRIMARY KEY (order_id, ordinal)
);
COMMENT ON TABLE pricetime.imported_executions IS 'Executions from before an import, as one order saw them: the data folder does not say with which other order.';
