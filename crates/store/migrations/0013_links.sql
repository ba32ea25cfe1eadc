-- Pairs of orders of which one cancels the other. Source: docs/POSTGRES.md, orders that cancel each other.

-- Without foreign keys, as the tables that it belongs to.
CREATE TABLE pricetime.links (
    order_id bigint PRIMARY KEY,
    partner bigint NOT NULL UNIQUE,
    CHECK (order_id < partner)
);
COMMENT ON TABLE pricetime.links IS 'The pairs of open orders of which one is canceled as soon as something happens to the other.';
COMMENT ON COLUMN pricetime.links.order_id IS 'The older one: its id in orders.';
COMMENT ON COLUMN pricetime.links.partner IS 'The younger one.';

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.links
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

ALTER TABLE pricetime.notes ADD COLUMN partner bigint;
ALTER TABLE pricetime.notes DROP CONSTRAINT notes_kind_check;
ALTER TABLE pricetime.notes ADD CONSTRAINT notes_kind_check CHECK (kind IN ('triggered', 'linked'));
ALTER TABLE pricetime.notes ADD CONSTRAINT notes_partner_check CHECK ((kind = 'linked') = (partner IS NOT NULL));
COMMENT ON COLUMN pricetime.notes.kind IS 'triggered: an execution had reached the price that the order waited for, and it is active from then on. linked: it is canceled when something happens to another order, and the other way round.';
COMMENT ON COLUMN pricetime.notes.partner IS 'Of what was linked: the other order.';

COMMENT ON COLUMN pricetime.cancellations.why IS '1: its account asked for it. 2: it is of a kind that does not rest. 3: it was triggered, and would have been refused then. 4: its deadline came. 5: it would have executed with an order of its own account. 6: something happened to the order that it was linked with. Null: nobody knows.';

-- Called in the same statement as write_batch and behind it, so in the same transaction. A pair may be linked and parted by one batch.
CREATE FUNCTION pricetime.write_links(
    linked_order bigint[], linked_partner bigint[], canceled_order bigint[],
    noted_order bigint[], noted_account bigint[], noted_partner bigint[], noted_time timestamptz[],
    noted_sequence bigint[], noted_place bigint[], noted_next bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(linked_order) > 0 THEN
        INSERT INTO pricetime.links (order_id, partner) SELECT * FROM unnest(linked_order, linked_partner);
    END IF;
    IF cardinality(canceled_order) > 0 THEN
        DELETE FROM pricetime.links l USING unnest(canceled_order) AS u(id) WHERE l.order_id = u.id;
        DELETE FROM pricetime.links l USING unnest(canceled_order) AS u(id) WHERE l.partner = u.id;
    END IF;
    IF cardinality(noted_order) > 0 THEN
        INSERT INTO pricetime.notes (order_id, account, kind, partner, time, sequence, place, next_execution)
            SELECT u.id, u.account, 'linked', u.partner, u.time, u.sequence, u.place, u.next
            FROM unnest(noted_order, noted_account, noted_partner, noted_time, noted_sequence, noted_place, noted_next)
                AS u(id, account, partner, time, sequence, place, next);
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_links IS 'Used by the exchange server alone: the pairs of orders that a batch of commands linked, and those that are no more.';

-- The orders of all pairs that were linked since the rows were begun, and are kept.
CREATE VIEW pricetime.linked_orders AS
    SELECT n.order_id, n.partner AS linked_with, n.time,
        EXISTS (SELECT FROM pricetime.links l WHERE l.order_id = least(n.order_id, n.partner)) AS is_linked
    FROM pricetime.notes n WHERE n.kind = 'linked';
COMMENT ON VIEW pricetime.linked_orders IS 'Orders that cancel each other, one row an order, and whether both are open still.';

-- As before, with the reason that is new.
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
            WHEN 5 THEN 'self_trade' WHEN 6 THEN 'linked' END AS canceled_why
    FROM pricetime.orders o
    JOIN pricetime.accounts a ON a.number = o.account
    LEFT JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.resting r ON r.order_id = o.id
    LEFT JOIN pricetime.cancellations c ON c.order_id = o.id
    LEFT JOIN pricetime.client_orders n ON n.order_id = o.id
    LEFT JOIN pricetime.waiting w ON w.order_id = o.id
    LEFT JOIN pricetime.reductions d ON d.order_id = o.id;

-- As before; of two buys that are linked the younger one counts what it holds beyond the older.
CREATE OR REPLACE VIEW pricetime.account_summary AS
    SELECT a.id AS account, a.balance, coalesce(h.held, 0) AS held, coalesce(h.open_orders, 0) AS open_orders, p.positions
    FROM pricetime.accounts a
    LEFT JOIN (
        SELECT o.account, count(*) AS open_orders,
            sum(greatest(o.limit_price * r.open - coalesce(f.limit_price * r.open, 0), 0))
                FILTER (WHERE o.side = 'buy' AND o.kind <> 'market') AS held
        FROM pricetime.resting r JOIN pricetime.orders o ON o.id = r.order_id
        LEFT JOIN pricetime.links l ON l.partner = r.order_id
        LEFT JOIN pricetime.orders f ON f.id = l.order_id AND f.kind <> 'market'
        GROUP BY o.account
    ) h ON h.account = a.number
    LEFT JOIN LATERAL (
        SELECT jsonb_object_agg(s.name, q.shares) AS positions
        FROM pricetime.positions q JOIN pricetime.symbols s ON s.number = q.symbol
        WHERE q.account = a.number AND q.shares > 0
    ) p ON true;
