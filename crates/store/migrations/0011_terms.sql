-- Terms of orders: when they end, what they do where they meet orders of their own account, what was taken off them, and why
-- they were canceled. Source: docs/POSTGRES.md, terms of orders.

CREATE TYPE pricetime.self_trade AS ENUM ('allowed', 'cancel_newest', 'cancel_oldest', 'cancel_both', 'decrement');
ALTER TABLE pricetime.orders ADD COLUMN self_trade pricetime.self_trade DEFAULT 'allowed', ADD COLUMN until timestamptz;
COMMENT ON COLUMN pricetime.orders.self_trade IS 'What becomes of it where it would execute with an order of its own account. Null, as the side, where an import did not say.';
COMMENT ON COLUMN pricetime.orders.until IS 'When it ends if it is open then; null for an order that ends at no time.';
COMMENT ON COLUMN pricetime.orders.shares IS 'What was ordered: what is open, executed and canceled of it together, and what reductions says was taken off.';

-- Whatever write_batch inserts was asked for: it says no reason. Of what was canceled before, nobody knows.
ALTER TABLE pricetime.cancellations ADD COLUMN why smallint;
ALTER TABLE pricetime.cancellations ALTER COLUMN why SET DEFAULT 1;
COMMENT ON COLUMN pricetime.cancellations.why IS '1: its account asked for it. 2: it is of a kind that does not rest. 3: it was triggered, and would have been refused then. 4: its deadline came. 5: it would have executed with an order of its own account. Null: nobody knows.';

-- Without foreign keys, as the tables that it belongs to. Not columns of orders: who removes old parts copies rows of these while
-- they are written.
CREATE TABLE pricetime.reductions (
    order_id bigint PRIMARY KEY,
    shares numeric(19,8) NOT NULL CHECK (shares > 0)
) WITH (fillfactor = 70);
COMMENT ON TABLE pricetime.reductions IS 'The orders that shares were taken off, because their accounts asked for it or to keep them from executing with their own.';
COMMENT ON COLUMN pricetime.reductions.order_id IS 'Its id in orders.';
COMMENT ON COLUMN pricetime.reductions.shares IS 'All that was taken off it: so many fewer it has than it was placed with.';

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.reductions
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

-- Called in the same statement as write_batch and behind it, so in the same transaction.
CREATE FUNCTION pricetime.write_terms(
    opened_order bigint[], opened_account bigint[], opened_symbol bigint[], opened_time timestamptz[],
    opened_sequence bigint[], opened_buys boolean[], opened_limit numeric[], opened_shares numeric[], opened_kind text[],
    opened_trigger numeric[], opened_from_below boolean[], opened_self_trade text[], opened_until timestamptz[],
    reduced_order bigint[], reduced_shares numeric[],
    cancellation_order bigint[], cancellation_account bigint[], cancellation_time timestamptz[],
    cancellation_sequence bigint[], cancellation_shares numeric[], cancellation_why bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(opened_order) > 0 THEN
        INSERT INTO pricetime.orders (id, account, symbol, time, sequence, side, limit_price, shares, kind, trigger_price,
                trigger_from_below, self_trade, until)
            SELECT u.id, u.account, u.symbol, u.time, u.sequence,
                CASE WHEN u.buys THEN 'buy'::pricetime.side ELSE 'sell'::pricetime.side END, u.limit_price, u.shares,
                u.kind::pricetime.order_kind, u.trigger_price, u.from_below, u.self_trade::pricetime.self_trade, u.until
            FROM unnest(opened_order, opened_account, opened_symbol, opened_time, opened_sequence, opened_buys,
                opened_limit, opened_shares, opened_kind, opened_trigger, opened_from_below, opened_self_trade, opened_until)
                AS u(id, account, symbol, time, sequence, buys, limit_price, shares, kind, trigger_price, from_below,
                    self_trade, until);
    END IF;
    IF cardinality(reduced_order) > 0 THEN
        INSERT INTO pricetime.reductions AS r (order_id, shares)
            SELECT u.order_id, u.shares FROM unnest(reduced_order, reduced_shares) AS u(order_id, shares)
            ON CONFLICT (order_id) DO UPDATE SET shares = r.shares + excluded.shares;
    END IF;
    IF cardinality(cancellation_order) > 0 THEN
        INSERT INTO pricetime.cancellations (order_id, account, time, sequence, shares, why)
            SELECT u.order_id, u.account, u.time, u.sequence, u.shares, u.why::smallint
            FROM unnest(cancellation_order, cancellation_account, cancellation_time, cancellation_sequence,
                cancellation_shares, cancellation_why) AS u(order_id, account, time, sequence, shares, why);
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_terms IS 'Used by the exchange server alone: the orders of a batch of commands that have a deadline or prevent self-trades, what was taken off orders, and what was canceled unasked.';

-- As before, with the terms. Shares are those that an order has now.

CREATE OR REPLACE VIEW pricetime.open_orders AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side, o.limit_price,
        (o.shares - coalesce(d.shares, 0))::numeric(19,8) AS shares, r.open, o.time,
        c.client_order_id, o.kind, o.trigger_price AS stop_price, w.order_id IS NOT NULL AS waits,
        o.self_trade, o.until, coalesce(d.shares, 0) AS reduced
    FROM pricetime.resting r
    JOIN pricetime.orders o ON o.id = r.order_id
    JOIN pricetime.accounts a ON a.number = o.account
    JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.client_orders c ON c.order_id = o.id
    LEFT JOIN pricetime.waiting w ON w.order_id = o.id
    LEFT JOIN pricetime.reductions d ON d.order_id = o.id;

CREATE OR REPLACE VIEW pricetime.order_history AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side,
        (CASE o.kind WHEN 'market' THEN NULL ELSE o.limit_price END)::numeric(19,8) AS limit_price,
        (o.shares - coalesce(d.shares, 0))::numeric(19,8) AS shares, o.time,
        coalesce(r.open, 0) AS open,
        coalesce(c.shares, 0) AS canceled,
        o.shares - coalesce(d.shares, 0) - coalesce(r.open, 0) - coalesce(c.shares, 0) AS executed,
        c.time AS canceled_time,
        CASE WHEN r.open IS NOT NULL THEN 'open' WHEN c.shares IS NOT NULL THEN 'canceled' ELSE 'executed' END AS status,
        n.client_order_id, o.kind, o.trigger_price AS stop_price, w.order_id IS NOT NULL AS waits,
        o.self_trade, o.until, coalesce(d.shares, 0) AS reduced,
        CASE c.why WHEN 1 THEN 'asked' WHEN 2 THEN 'not_resting' WHEN 3 THEN 'refused' WHEN 4 THEN 'expired'
            WHEN 5 THEN 'self_trade' END AS canceled_why
    FROM pricetime.orders o
    JOIN pricetime.accounts a ON a.number = o.account
    LEFT JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.resting r ON r.order_id = o.id
    LEFT JOIN pricetime.cancellations c ON c.order_id = o.id
    LEFT JOIN pricetime.client_orders n ON n.order_id = o.id
    LEFT JOIN pricetime.waiting w ON w.order_id = o.id
    LEFT JOIN pricetime.reductions d ON d.order_id = o.id;
