-- Orders that their clients gave an id. Source: docs/POSTGRES.md.

CREATE DOMAIN pricetime.client_order_id AS text COLLATE "C" CHECK (VALUE ~ '^[0-9A-Za-z._:/-]{1,36}$');

-- Without foreign keys, as the tables that it belongs to.
CREATE TABLE pricetime.client_orders (
    order_id bigint PRIMARY KEY,
    account bigint NOT NULL,
    client_order_id pricetime.client_order_id NOT NULL,
    done timestamptz
);
COMMENT ON TABLE pricetime.client_orders IS 'The orders that their clients gave an id, and which id. It stands for the order while that is open and for 24 hours after.';
COMMENT ON COLUMN pricetime.client_orders.order_id IS 'Its id in orders.';
COMMENT ON COLUMN pricetime.client_orders.account IS 'Its number in accounts.';
COMMENT ON COLUMN pricetime.client_orders.client_order_id IS 'What the client called it. In time one account may give one id to several orders, never to two at once.';
COMMENT ON COLUMN pricetime.client_orders.done IS 'When nothing was open of the order any more; null while something is.';
CREATE INDEX client_orders_by_id ON pricetime.client_orders (account, client_order_id);
-- A recovery reads those that are open or were done lately.
CREATE INDEX client_orders_by_done ON pricetime.client_orders (done);

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.client_orders
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

-- Called in the same statement as write_batch, so in the same transaction.
CREATE FUNCTION pricetime.write_client_orders(
    named_order bigint[], named_account bigint[], named_id text[], named_done timestamptz[],
    done_order bigint[], done_time timestamptz[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    changed bigint;
BEGIN
    IF cardinality(named_order) > 0 THEN
        INSERT INTO pricetime.client_orders (order_id, account, client_order_id, done)
            SELECT u.order_id, u.account, u.id, u.done
            FROM unnest(named_order, named_account, named_id, named_done) AS u(order_id, account, id, done);
    END IF;
    IF cardinality(done_order) > 0 THEN
        UPDATE pricetime.client_orders c SET done = u.done
            FROM unnest(done_order, done_time) AS u(order_id, done) WHERE c.order_id = u.order_id AND c.done IS NULL;
        GET DIAGNOSTICS changed = ROW_COUNT;
        PERFORM pricetime.expect('client_orders', changed, cardinality(done_order));
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_client_orders IS 'Used by the exchange server alone: what a batch of commands did to orders with client order ids.';

-- As before, with one column more.

CREATE OR REPLACE VIEW pricetime.open_orders AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side, o.limit_price, o.shares, r.open, o.time,
        c.client_order_id
    FROM pricetime.resting r
    JOIN pricetime.orders o ON o.id = r.order_id
    JOIN pricetime.accounts a ON a.number = o.account
    JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.client_orders c ON c.order_id = o.id;

CREATE OR REPLACE VIEW pricetime.order_history AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side, o.limit_price, o.shares, o.time,
        coalesce(r.open, 0) AS open,
        coalesce(c.shares, 0) AS canceled,
        o.shares - coalesce(r.open, 0) - coalesce(c.shares, 0) AS executed,
        c.time AS canceled_time,
        CASE WHEN r.open IS NOT NULL THEN 'open' WHEN c.shares IS NOT NULL THEN 'canceled' ELSE 'executed' END AS status,
        n.client_order_id
    FROM pricetime.orders o
    JOIN pricetime.accounts a ON a.number = o.account
    LEFT JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.resting r ON r.order_id = o.id
    LEFT JOIN pricetime.cancellations c ON c.order_id = o.id
    LEFT JOIN pricetime.client_orders n ON n.order_id = o.id;
