-- Orders that wait for a price which follows the market. Source: docs/POSTGRES.md, trailing stops.

-- Without foreign keys, as the tables that it belongs to. Not columns of orders: few orders have any.
CREATE TABLE pricetime.trails (
    order_id bigint PRIMARY KEY,
    distance numeric(19,8) CHECK (distance > 0),
    bips bigint CHECK (bips BETWEEN 1 AND 9999),
    CHECK ((distance IS NULL) <> (bips IS NULL))
);
COMMENT ON TABLE pricetime.trails IS 'The orders that were placed to wait for a price which follows the market.';
COMMENT ON COLUMN pricetime.trails.order_id IS 'Its id in orders.';
COMMENT ON COLUMN pricetime.trails.distance IS 'How many dollars the price that it waits for stays behind the market.';
COMMENT ON COLUMN pricetime.trails.bips IS 'How many hundredths of a per cent it does.';

ALTER TABLE pricetime.waiting ADD COLUMN follows boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN pricetime.waiting.follows IS 'Whether trigger_price follows the market, as trails says, and was not reached. Then it is where the market took it; orders has where it was first.';

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.trails
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

-- Called in the same statement as write_stops. That one would take an order for reached whose price moved on in the same batch: what
-- follows the market is reached here, by its id.
CREATE FUNCTION pricetime.write_trails(
    opened_order bigint[], opened_distance numeric[], opened_bips bigint[],
    moved_order bigint[], moved_trigger numeric[],
    reached_order bigint[], reached_trigger numeric[], reached_in bigint[], reached_as bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(opened_order) > 0 THEN
        INSERT INTO pricetime.trails (order_id, distance, bips)
            SELECT * FROM unnest(opened_order, opened_distance, opened_bips);
        UPDATE pricetime.waiting w SET follows = true FROM unnest(opened_order) AS u(order_id)
            WHERE w.order_id = u.order_id;
    END IF;
    IF cardinality(moved_order) > 0 THEN
        -- As far as they wait still.
        UPDATE pricetime.waiting w SET trigger_price = u.trigger_price
            FROM unnest(moved_order, moved_trigger) AS u(order_id, trigger_price)
            WHERE w.order_id = u.order_id AND w.trigger_price <> u.trigger_price;
    END IF;
    IF cardinality(reached_order) > 0 THEN
        UPDATE pricetime.waiting w
            SET trigger_price = u.trigger_price, follows = false, reached_sequence = u.sequence, reached_nth = u.nth
            FROM unnest(reached_order, reached_trigger, reached_in, reached_as) AS u(order_id, trigger_price, sequence, nth)
            WHERE w.order_id = u.order_id;
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_trails IS 'Used by the exchange server alone: what a batch of commands did to orders that wait for a price which follows the market.';

-- As before, without those that follow the market.
CREATE OR REPLACE FUNCTION pricetime.write_stops(
    opened_order bigint[], opened_account bigint[], opened_symbol bigint[], opened_time timestamptz[],
    opened_sequence bigint[], opened_buys boolean[], opened_limit numeric[], opened_shares numeric[], opened_kind text[],
    opened_trigger numeric[], opened_from_below boolean[],
    activated_order bigint[], canceled_order bigint[],
    reached_symbol bigint[], reached_trigger numeric[], reached_from_below boolean[], reached_in bigint[], reached_as bigint[],
    waiting_order bigint[], waiting_symbol bigint[], waiting_trigger numeric[], waiting_from_below boolean[],
    waiting_reached_in bigint[], waiting_reached_as bigint[],
    queued_order bigint[], queued_in bigint[], queued_as bigint[],
    watched_symbol bigint[], watched_price numeric[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    changed bigint;
BEGIN
    IF cardinality(opened_order) > 0 THEN
        INSERT INTO pricetime.orders (id, account, symbol, time, sequence, side, limit_price, shares, kind, trigger_price,
                trigger_from_below)
            SELECT u.id, u.account, u.symbol, u.time, u.sequence,
                CASE WHEN u.buys THEN 'buy'::pricetime.side ELSE 'sell'::pricetime.side END, u.limit_price, u.shares,
                u.kind::pricetime.order_kind, u.trigger_price, u.from_below
            FROM unnest(opened_order, opened_account, opened_symbol, opened_time, opened_sequence, opened_buys,
                opened_limit, opened_shares, opened_kind, opened_trigger, opened_from_below)
                AS u(id, account, symbol, time, sequence, buys, limit_price, shares, kind, trigger_price, from_below);
    END IF;
    IF cardinality(activated_order) > 0 THEN
        DELETE FROM pricetime.waiting w USING unnest(activated_order) AS u(order_id) WHERE w.order_id = u.order_id;
        GET DIAGNOSTICS changed = ROW_COUNT;
        PERFORM pricetime.expect('waiting', changed, cardinality(activated_order));
    END IF;
    IF cardinality(canceled_order) > 0 THEN
        -- Most of them were on a book.
        DELETE FROM pricetime.waiting w USING unnest(canceled_order) AS u(order_id) WHERE w.order_id = u.order_id;
    END IF;
    IF cardinality(reached_symbol) > 0 THEN
        -- Those that were waiting before the batch: of what is reached twice in it, they were reached by the first.
        UPDATE pricetime.waiting w SET reached_sequence = u.sequence, reached_nth = u.nth
            FROM (
                SELECT DISTINCT ON (r.symbol, r.trigger_price, r.from_below) r.*
                FROM unnest(reached_symbol, reached_trigger, reached_from_below, reached_in, reached_as)
                    AS r(symbol, trigger_price, from_below, sequence, nth)
                ORDER BY r.symbol, r.trigger_price, r.from_below, r.nth
            ) u
            WHERE w.symbol = u.symbol AND w.trigger_price = u.trigger_price AND w.from_below = u.from_below
                AND w.reached_sequence IS NULL AND NOT w.follows;
    END IF;
    IF cardinality(waiting_order) > 0 THEN
        INSERT INTO pricetime.waiting (order_id, symbol, trigger_price, from_below, reached_sequence, reached_nth)
            SELECT * FROM unnest(waiting_order, waiting_symbol, waiting_trigger, waiting_from_below, waiting_reached_in,
                waiting_reached_as);
    END IF;
    IF cardinality(queued_order) > 0 THEN
        -- As far as something was left of them.
        UPDATE pricetime.resting r SET queued_sequence = u.sequence, queued_nth = u.nth
            FROM unnest(queued_order, queued_in, queued_as) AS u(order_id, sequence, nth) WHERE r.order_id = u.order_id;
    END IF;
    IF cardinality(watched_symbol) > 0 THEN
        UPDATE pricetime.symbols s SET watched = true, last_price = u.price
            FROM unnest(watched_symbol, watched_price) AS u(number, price) WHERE s.number = u.number;
        GET DIAGNOSTICS changed = ROW_COUNT;
        PERFORM pricetime.expect('symbols', changed, cardinality(watched_symbol));
    END IF;
END $$;

CREATE VIEW pricetime.trailing_orders AS
    SELECT w.order_id, a.id AS account, s.name AS symbol, o.side, w.trigger_price AS stop_price, t.distance, t.bips
    FROM pricetime.waiting w
    JOIN pricetime.trails t ON t.order_id = w.order_id
    JOIN pricetime.orders o ON o.id = w.order_id
    JOIN pricetime.accounts a ON a.number = o.account
    JOIN pricetime.symbols s ON s.number = w.symbol
    WHERE w.follows;
COMMENT ON VIEW pricetime.trailing_orders IS 'The orders that wait for a price which follows the market: where that is now, and how far behind the market.';

-- As before, with where the price is now that an order waits for.
CREATE OR REPLACE VIEW pricetime.open_orders AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side, o.limit_price,
        (o.shares - coalesce(d.shares, 0))::numeric(19,8) AS shares, r.open, o.time,
        c.client_order_id, o.kind, coalesce(w.trigger_price, o.trigger_price) AS stop_price, w.order_id IS NOT NULL AS waits,
        o.self_trade, o.until, coalesce(d.shares, 0) AS reduced
    FROM pricetime.resting r
    JOIN pricetime.orders o ON o.id = r.order_id
    JOIN pricetime.accounts a ON a.number = o.account
    JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.client_orders c ON c.order_id = o.id
    LEFT JOIN pricetime.waiting w ON w.order_id = o.id
    LEFT JOIN pricetime.reductions d ON d.order_id = o.id;
