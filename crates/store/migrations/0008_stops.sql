-- Orders that wait for a price. Source: docs/POSTGRES.md, orders that wait.

ALTER TABLE pricetime.orders ADD COLUMN trigger_price numeric(19,8), ADD COLUMN trigger_from_below boolean;
COMMENT ON COLUMN pricetime.orders.trigger_price IS 'The price that activates an order which waits for one; null for another order, and where an import did not say.';
COMMENT ON COLUMN pricetime.orders.trigger_from_below IS 'Whether an execution at that price or above activates it; otherwise one at that price or below does.';
COMMENT ON COLUMN pricetime.executions.aggressor IS 'Which of both was being placed, or had just been activated; the other was on the book and set the price.';

ALTER TABLE pricetime.symbols ADD COLUMN watched boolean NOT NULL DEFAULT false, ADD COLUMN last_price numeric(19,8);
COMMENT ON COLUMN pricetime.symbols.watched IS 'Whether the prices of its executions are noted: from its creation on, or from its first order that waited if it is older than such orders.';
COMMENT ON COLUMN pricetime.symbols.last_price IS 'The price of the last execution that was noted; null if none was.';

ALTER TABLE pricetime.resting ADD COLUMN queued_sequence bigint, ADD COLUMN queued_nth bigint;
COMMENT ON TABLE pricetime.resting IS 'The orders that are open: those on the books, and those in waiting. On the books priority is by limit, then by when they came there, then by id. See the view open_orders.';
COMMENT ON COLUMN pricetime.resting.queued_sequence IS 'The command that activated it, so that it came to the book; 0 for one that was imported; null for one that came there when it was placed.';
COMMENT ON COLUMN pricetime.resting.queued_nth IS 'Which one it was among those that came to the books with that command; null as queued_sequence is.';

-- Without foreign keys, as the tables that it belongs to.
CREATE TABLE pricetime.waiting (
    order_id bigint PRIMARY KEY,
    symbol bigint NOT NULL,
    trigger_price numeric(19,8) NOT NULL CHECK (trigger_price > 0),
    from_below boolean NOT NULL,
    reached_sequence bigint,
    reached_nth bigint,
    CHECK ((reached_sequence IS NULL) = (reached_nth IS NULL))
) WITH (fillfactor = 70);
COMMENT ON TABLE pricetime.waiting IS 'The open orders that are on no book yet: they wait for a price, or, once that was reached, for their turn.';
COMMENT ON COLUMN pricetime.waiting.order_id IS 'Its id in orders and in resting; symbol, trigger_price and from_below are those of orders.';
COMMENT ON COLUMN pricetime.waiting.reached_sequence IS 'The command whose executions reached the price; 0 if that was before an import; null if none has.';
COMMENT ON COLUMN pricetime.waiting.reached_nth IS 'Which one the price was among those that were reached. Orders are activated by reached_sequence, reached_nth and id.';
CREATE INDEX waiting_by_trigger ON pricetime.waiting (symbol, trigger_price, from_below);

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.waiting
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

-- Called in the same statement as write_batch and behind it, so in the same transaction: it has inserted what rests.
CREATE FUNCTION pricetime.write_stops(
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
                AND w.reached_sequence IS NULL;
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
COMMENT ON FUNCTION pricetime.write_stops IS 'Used by the exchange server alone: what a batch of commands did to orders that wait, or waited, for a price.';

-- As before, with what orders wait for. Those that wait are in no book, and a market order that waits holds nothing.

CREATE OR REPLACE VIEW pricetime.open_orders AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side, o.limit_price, o.shares, r.open, o.time,
        c.client_order_id, o.kind, o.trigger_price AS stop_price, w.order_id IS NOT NULL AS waits
    FROM pricetime.resting r
    JOIN pricetime.orders o ON o.id = r.order_id
    JOIN pricetime.accounts a ON a.number = o.account
    JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.client_orders c ON c.order_id = o.id
    LEFT JOIN pricetime.waiting w ON w.order_id = o.id;
COMMENT ON VIEW pricetime.open_orders IS 'Orders on the books and orders that wait for a price: who, what, and how much is open.';

CREATE OR REPLACE VIEW pricetime.order_history AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side,
        (CASE o.kind WHEN 'market' THEN NULL ELSE o.limit_price END)::numeric(19,8) AS limit_price, o.shares, o.time,
        coalesce(r.open, 0) AS open,
        coalesce(c.shares, 0) AS canceled,
        o.shares - coalesce(r.open, 0) - coalesce(c.shares, 0) AS executed,
        c.time AS canceled_time,
        CASE WHEN r.open IS NOT NULL THEN 'open' WHEN c.shares IS NOT NULL THEN 'canceled' ELSE 'executed' END AS status,
        n.client_order_id, o.kind, o.trigger_price AS stop_price, w.order_id IS NOT NULL AS waits
    FROM pricetime.orders o
    JOIN pricetime.accounts a ON a.number = o.account
    LEFT JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.resting r ON r.order_id = o.id
    LEFT JOIN pricetime.cancellations c ON c.order_id = o.id
    LEFT JOIN pricetime.client_orders n ON n.order_id = o.id
    LEFT JOIN pricetime.waiting w ON w.order_id = o.id;

CREATE OR REPLACE VIEW pricetime.book AS
    SELECT s.name AS symbol, o.side, o.limit_price AS price, sum(r.open) AS shares, count(*) AS orders
    FROM pricetime.resting r
    JOIN pricetime.orders o ON o.id = r.order_id
    JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.waiting w ON w.order_id = r.order_id
    WHERE w.order_id IS NULL
    GROUP BY s.name, o.side, o.limit_price;

CREATE OR REPLACE VIEW pricetime.account_summary AS
    SELECT a.id AS account, a.balance, coalesce(h.held, 0) AS held, coalesce(h.open_orders, 0) AS open_orders, p.positions
    FROM pricetime.accounts a
    LEFT JOIN (
        SELECT o.account, count(*) AS open_orders,
            sum(o.limit_price * r.open) FILTER (WHERE o.side = 'buy' AND o.kind <> 'market') AS held
        FROM pricetime.resting r JOIN pricetime.orders o ON o.id = r.order_id GROUP BY o.account
    ) h ON h.account = a.number
    LEFT JOIN LATERAL (
        SELECT jsonb_object_agg(s.name, q.shares) AS positions
        FROM pricetime.positions q JOIN pricetime.symbols s ON s.number = q.symbol
        WHERE q.account = a.number AND q.shares > 0
    ) p ON true;
