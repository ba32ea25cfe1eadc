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

-- What is wrong with the rows, a row of each kind; none when money and shares are those that were created, nobody owes any, no
-- book is crossed, and orders and executions agree.
CREATE VIEW faults AS
(
    SELECT 'money was made or lost: created ' || created || ', there is ' || there AS fault
    FROM (
        SELECT coalesce(sum(created), 0) AS created,
            coalesce(sum(balance), 0) + (SELECT coalesce(sum(limit_price * open), 0) FROM orders WHERE buys) AS there
        FROM accounts
    ) sums WHERE created <> there
) UNION ALL (
    SELECT 'shares were made or lost: ' || b.symbol || ': issued ' || b.issued || ', there are '
        || coalesce(p.shares, 0) + coalesce(o.shares, 0)
    FROM books b
    LEFT JOIN (SELECT symbol, sum(shares) AS shares FROM positions GROUP BY symbol) p USING (symbol)
    LEFT JOIN (SELECT symbol, sum(open) AS shares FROM orders WHERE NOT buys GROUP BY symbol) o USING (symbol)
    WHERE b.issued <> coalesce(p.shares, 0) + coalesce(o.shares, 0) LIMIT 1
) UNION ALL (
    SELECT 'somebody has less than nothing: account ' || who
    FROM (
        SELECT id::text AS who FROM accounts WHERE balance < 0
        UNION ALL SELECT account || ' of ' || symbol FROM positions WHERE shares < 0
    ) owing LIMIT 1
) UNION ALL (
    SELECT 'a book is crossed: ' || symbol || ': bid ' || bid || ', asked ' || asked
    FROM (
        SELECT symbol, max(limit_price) FILTER (WHERE buys) AS bid, min(limit_price) FILTER (WHERE NOT buys) AS asked
        FROM orders WHERE open > 0 GROUP BY symbol
    ) books WHERE bid >= asked LIMIT 1
) UNION ALL (
    SELECT 'an order''s shares are not what is open, canceled and executed of it: order ' || o.id
    FROM orders o
    LEFT JOIN (
        SELECT id, sum(shares) AS shares FROM (
            SELECT buy_order AS id, shares FROM executions UNION ALL SELECT sell_order, shares FROM executions
        ) sides GROUP BY id
    ) e USING (id)
    WHERE o.shares <> o.open + o.canceled + coalesce(e.shares, 0) OR o.open < 0 LIMIT 1
) UNION ALL (
    SELECT 'an execution that its orders could not have agreed to: execution ' || e.id
    FROM executions e
    LEFT JOIN orders b ON b.id = e.buy_order LEFT JOIN orders s ON s.id = e.sell_order
    WHERE (b.buys AND NOT s.buys AND b.symbol = s.symbol AND s.limit_price <= e.price AND e.price <= b.limit_price
        AND e.shares > 0) IS NOT TRUE LIMIT 1
);
