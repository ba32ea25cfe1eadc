-- Orders that wait until another one is executed wholly. Source: docs/POSTGRES.md, orders that wait for others.

-- Without foreign keys, as the tables that it belongs to.
CREATE TABLE pricetime.pending (
    order_id bigint PRIMARY KEY,
    working bigint NOT NULL CHECK (working < order_id),
    imported_nth bigint
);
COMMENT ON TABLE pricetime.pending IS 'The open orders that are not placed yet: each is when its working order is executed wholly. They hold nothing, and stand in no book.';
COMMENT ON COLUMN pricetime.pending.order_id IS 'Its id in orders and in resting.';
COMMENT ON COLUMN pricetime.pending.working IS 'The id in orders of the order that it waits for.';
COMMENT ON COLUMN pricetime.pending.imported_nth IS 'Where it stood among all orders that were imported; null for another one.';

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.pending
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

ALTER TABLE pricetime.notes DROP CONSTRAINT notes_kind_check;
ALTER TABLE pricetime.notes ADD CONSTRAINT notes_kind_check CHECK (kind IN ('triggered', 'linked', 'amended', 'pends', 'released'));
ALTER TABLE pricetime.notes DROP CONSTRAINT notes_partner_check;
ALTER TABLE pricetime.notes ADD CONSTRAINT notes_partner_check CHECK ((kind IN ('linked', 'pends')) = (partner IS NOT NULL));
COMMENT ON COLUMN pricetime.notes.kind IS 'triggered: an execution had reached the price that the order waited for, and it is active from then on. linked: it is canceled when something happens to another order, and the other way round. amended: shares were taken off it, and it kept its place. pends: it waits until another order is executed wholly. released: that order was, and so it was placed.';
COMMENT ON COLUMN pricetime.notes.partner IS 'Of what was linked: the other order. Of what waits: the order that it waits for.';
COMMENT ON COLUMN pricetime.cancellations.why IS '1: its account asked for it. 2: it is of a kind that does not rest. 3: it was triggered, or its working order was executed, and it would have been refused then. 4: its deadline came. 5: it would have executed with an order of its own account. 6: something happened to the order that it was linked with. 7: it waited for another order, and that one ended without being executed wholly. Null: nobody knows.';
COMMENT ON COLUMN pricetime.resting.queued_sequence IS 'The command that activated or released it, so that it came to the book or began to wait for a price, or that brought a part of it on show, so that it stands behind the others of its price; 0 for one that was imported; null for one that stands where it came when it was placed.';

-- Called in the same statement as write_batch and behind it, so in the same transaction: what rests is there.
CREATE FUNCTION pricetime.write_pendings(
    opened_order bigint[], opened_working bigint[], closed_order bigint[],
    queued_order bigint[], queued_in bigint[], queued_as bigint[],
    noted_order bigint[], noted_account bigint[], noted_kind text[], noted_partner bigint[], noted_time timestamptz[],
    noted_sequence bigint[], noted_place bigint[], noted_next bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(opened_order) > 0 THEN
        INSERT INTO pricetime.pending (order_id, working) SELECT * FROM unnest(opened_order, opened_working);
    END IF;
    IF cardinality(closed_order) > 0 THEN
        -- Most of those that were canceled waited for no other order.
        DELETE FROM pricetime.pending p USING unnest(closed_order) AS u(order_id) WHERE p.order_id = u.order_id;
    END IF;
    IF cardinality(queued_order) > 0 THEN
        -- Unless another function says that it came to the end of another queue later, and as far as something is left of them.
        UPDATE pricetime.resting r SET queued_sequence = u.sequence, queued_nth = u.nth
            FROM unnest(queued_order, queued_in, queued_as) AS u(order_id, sequence, nth)
            WHERE r.order_id = u.order_id
                AND (coalesce(r.queued_sequence, -1), coalesce(r.queued_nth, -1)) < (u.sequence, u.nth);
    END IF;
    IF cardinality(noted_order) > 0 THEN
        INSERT INTO pricetime.notes (order_id, account, kind, partner, time, sequence, place, next_execution)
            SELECT u.* FROM unnest(noted_order, noted_account, noted_kind, noted_partner, noted_time, noted_sequence, noted_place,
                noted_next) AS u(id, account, kind, partner, time, sequence, place, next);
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_pendings IS 'Used by the exchange server alone: the orders that a batch of commands had wait for others, and those that wait no more.';

-- As before, with the order that one waits for.
CREATE OR REPLACE VIEW pricetime.open_orders AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side, o.limit_price,
        (o.shares - coalesce(d.shares, 0))::numeric(19,8) AS shares, r.open, o.time,
        c.client_order_id, o.kind, coalesce(w.trigger_price, o.trigger_price) AS stop_price, w.order_id IS NOT NULL AS waits,
        o.self_trade, o.until, coalesce(d.shares, 0) AS reduced, p.working AS pends_on
    FROM pricetime.resting r
    JOIN pricetime.orders o ON o.id = r.order_id
    JOIN pricetime.accounts a ON a.number = o.account
    JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.client_orders c ON c.order_id = o.id
    LEFT JOIN pricetime.waiting w ON w.order_id = o.id
    LEFT JOIN pricetime.reductions d ON d.order_id = o.id
    LEFT JOIN pricetime.pending p ON p.order_id = o.id;

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
            WHEN 5 THEN 'self_trade' WHEN 6 THEN 'linked' WHEN 7 THEN 'not_placed' END AS canceled_why,
        p.working AS pends_on
    FROM pricetime.orders o
    JOIN pricetime.accounts a ON a.number = o.account
    LEFT JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.resting r ON r.order_id = o.id
    LEFT JOIN pricetime.cancellations c ON c.order_id = o.id
    LEFT JOIN pricetime.client_orders n ON n.order_id = o.id
    LEFT JOIN pricetime.waiting w ON w.order_id = o.id
    LEFT JOIN pricetime.reductions d ON d.order_id = o.id
    LEFT JOIN pricetime.pending p ON p.order_id = o.id;

-- As before, without those that wait for others.
CREATE OR REPLACE VIEW pricetime.book AS
    SELECT s.name AS symbol, o.side, o.limit_price AS price, sum(r.open - coalesce(i.hidden, 0)) AS shares, count(*) AS orders
    FROM pricetime.resting r
    JOIN pricetime.orders o ON o.id = r.order_id
    JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.waiting w ON w.order_id = r.order_id
    LEFT JOIN pricetime.icebergs i ON i.order_id = r.order_id
    LEFT JOIN pricetime.pending p ON p.order_id = r.order_id
    WHERE w.order_id IS NULL AND p.order_id IS NULL
    GROUP BY s.name, o.side, o.limit_price;

-- As before; those that wait for others hold nothing.
CREATE OR REPLACE VIEW pricetime.account_summary AS
    SELECT a.id AS account, a.balance, coalesce(h.held, 0) AS held, coalesce(h.open_orders, 0) AS open_orders, p.positions
    FROM pricetime.accounts a
    LEFT JOIN (
        SELECT o.account, count(*) AS open_orders,
            sum(greatest(o.limit_price * r.open - coalesce(f.limit_price * r.open, 0), 0))
                FILTER (WHERE o.side = 'buy' AND o.kind <> 'market' AND q.order_id IS NULL) AS held
        FROM pricetime.resting r JOIN pricetime.orders o ON o.id = r.order_id
        LEFT JOIN pricetime.links l ON l.partner = r.order_id
        LEFT JOIN pricetime.orders f ON f.id = l.order_id AND f.kind <> 'market'
        LEFT JOIN pricetime.pending q ON q.order_id = r.order_id
        GROUP BY o.account
    ) h ON h.account = a.number
    LEFT JOIN LATERAL (
        SELECT jsonb_object_agg(s.name, q.shares) AS positions
        FROM pricetime.positions q JOIN pricetime.symbols s ON s.number = q.symbol
        WHERE q.account = a.number AND q.shares > 0
    ) p ON true;
