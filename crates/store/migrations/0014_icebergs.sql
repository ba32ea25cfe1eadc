-- Orders that show a part of their shares at a time. Source: docs/POSTGRES.md, icebergs.

-- Without foreign keys, as the tables that it belongs to. Not columns of orders and of resting: few orders have any.
CREATE TABLE pricetime.icebergs (
    order_id bigint PRIMARY KEY,
    display numeric(19,8) NOT NULL CHECK (display > 0),
    hidden numeric(19,8) NOT NULL DEFAULT 0 CHECK (hidden >= 0)
) WITH (fillfactor = 70);
COMMENT ON TABLE pricetime.icebergs IS 'The orders that were placed to show a part of their shares at a time.';
COMMENT ON COLUMN pricetime.icebergs.order_id IS 'Its id in orders.';
COMMENT ON COLUMN pricetime.icebergs.display IS 'How many shares it shows at a time.';
COMMENT ON COLUMN pricetime.icebergs.hidden IS 'What it hides of what resting says is open; the rest is on show. Of an order that is done it says nothing.';
COMMENT ON COLUMN pricetime.resting.queued_sequence IS 'The command that activated it, so that it came to the book, or that brought a part of it on show, so that it stands behind the others of its price; 0 for one that was imported; null for one that stands where it came when it was placed.';

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.icebergs
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

-- Who executes with several parts of an order executes with it several times. What found executions by their buys was the key that said
-- they do so once.
CREATE INDEX executions_by_buy_order ON pricetime.executions (buy_order);
DO $$
DECLARE
    once record;
BEGIN
    FOR once IN
        SELECT c.conname AS name, t.relname AS part
        FROM pg_inherits i JOIN pg_class t ON t.oid = i.inhrelid
        JOIN pg_constraint c ON c.conrelid = t.oid AND c.contype = 'u'
        WHERE i.inhparent = 'pricetime.executions'::regclass
    LOOP
        EXECUTE format('ALTER TABLE pricetime.%I DROP CONSTRAINT %I', once.part, once.name);
    END LOOP;
END $$;
COMMENT ON TABLE pricetime.executions IS 'Every execution that is kept, in order, numbered from 1 without gaps. Never changed. Two orders execute at most once for each part that the one on the book shows.';

-- As before, without that key.
CREATE OR REPLACE FUNCTION pricetime.make_part(name text, whole text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE pricetime.%I (LIKE pricetime.%I INCLUDING ALL)', name, whole);
    EXECUTE format('COMMENT ON TABLE pricetime.%I IS %L', name, format('A part of %s.', whole));
    EXECUTE format(
        'CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.%I'
        ' FOR EACH STATEMENT WHEN (current_setting(''pricetime.server'', true) IS DISTINCT FROM ''on'')'
        ' EXECUTE FUNCTION pricetime.refuse_change()', name);
END $$;

-- Called in the same statement as write_batch and write_stops and behind them, so in the same transaction: what rests is there.
CREATE FUNCTION pricetime.write_icebergs(
    opened_order bigint[], opened_display numeric[],
    changed_order bigint[], changed_hidden numeric[],
    queued_order bigint[], queued_in bigint[], queued_as bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(opened_order) > 0 THEN
        INSERT INTO pricetime.icebergs (order_id, display) SELECT * FROM unnest(opened_order, opened_display);
    END IF;
    IF cardinality(changed_order) > 0 THEN
        -- Most orders that are reduced are none of these.
        UPDATE pricetime.icebergs i SET hidden = u.hidden
            FROM unnest(changed_order, changed_hidden) AS u(order_id, hidden)
            WHERE i.order_id = u.order_id AND i.hidden <> u.hidden;
    END IF;
    IF cardinality(queued_order) > 0 THEN
        -- As far as something is left of them.
        UPDATE pricetime.resting r SET queued_sequence = u.sequence, queued_nth = u.nth
            FROM unnest(queued_order, queued_in, queued_as) AS u(order_id, sequence, nth) WHERE r.order_id = u.order_id;
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_icebergs IS 'Used by the exchange server alone: what a batch of commands did to orders that show a part of their shares at a time.';

-- As before, with what is on show alone.
CREATE OR REPLACE VIEW pricetime.book AS
    SELECT s.name AS symbol, o.side, o.limit_price AS price, sum(r.open - coalesce(i.hidden, 0)) AS shares, count(*) AS orders
    FROM pricetime.resting r
    JOIN pricetime.orders o ON o.id = r.order_id
    JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.waiting w ON w.order_id = r.order_id
    LEFT JOIN pricetime.icebergs i ON i.order_id = r.order_id
    WHERE w.order_id IS NULL
    GROUP BY s.name, o.side, o.limit_price;
