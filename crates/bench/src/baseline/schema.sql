-- The tables of the baseline writer. What costs it much and proves nothing here is left out in its favour: foreign keys
-- and checks. Whether the rows are right is looked at after a run.
DROP SCHEMA IF EXISTS pricetime_baseline CASCADE;
CREATE SCHEMA pricetime_baseline;
SET search_path = pricetime_baseline, pg_temp;

CREATE TABLE accounts (
    id bigint PRIMARY KEY,
    created numeric(37,16) NOT NULL,
    balance numeric(37,16) NOT NULL
) WITH (fillfactor = 70);

-- Whoever places an order moves the turn of its book: of two that do so at once, the later one starts again. Without it two
-- orders that match could be placed side by side, each unseen by the other, and both would rest.
CREATE TABLE books (
    symbol text PRIMARY KEY,
    issued numeric(29,8) NOT NULL,
    turn bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 10);

CREATE TABLE positions (
    account bigint NOT NULL,
    symbol text NOT NULL,
    shares numeric(29,8) NOT NULL,
    PRIMARY KEY (account, symbol)
) WITH (fillfactor = 70);

CREATE TABLE orders (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account bigint NOT NULL,
    symbol text NOT NULL,
    buys boolean NOT NULL,
    limit_price numeric(19,8) NOT NULL,
    shares numeric(19,8) NOT NULL,
    open numeric(19,8) NOT NULL,
    canceled numeric(19,8) NOT NULL DEFAULT 0,
    time timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX orders_to_sell ON orders (symbol, limit_price, id) WHERE open > 0 AND NOT buys;
CREATE INDEX orders_to_buy ON orders (symbol, limit_price DESC, id) WHERE open > 0 AND buys;

CREATE TABLE executions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    buy_order bigint NOT NULL,
    sell_order bigint NOT NULL,
    price numeric(19,8) NOT NULL,
    shares numeric(19,8) NOT NULL,
    time timestamptz NOT NULL DEFAULT now()
);
