-- Cancel on disconnect. Source: docs/POSTGRES.md, cancel on disconnect.

CREATE TABLE pricetime.protections (
    account bigint PRIMARY KEY REFERENCES pricetime.accounts,
    grace_ms bigint NOT NULL CHECK (grace_ms BETWEEN 0 AND 60000)
);
COMMENT ON TABLE pricetime.protections IS 'Accounts whose open orders are canceled when nobody is there for them any more.';
COMMENT ON COLUMN pricetime.protections.account IS 'Its number in accounts.';
COMMENT ON COLUMN pricetime.protections.grace_ms IS 'How long somebody may be away, in milliseconds.';

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.protections
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

-- Called in the same statement as write_batch and behind it, so in the same transaction: it has inserted the accounts.
CREATE FUNCTION pricetime.write_protections(protected_account bigint[], protected_grace bigint[]) RETURNS void
    LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(protected_account) > 0 THEN
        DELETE FROM pricetime.protections p USING unnest(protected_account) AS u(account) WHERE p.account = u.account;
        -- Who is protected no longer has no row.
        INSERT INTO pricetime.protections (account, grace_ms)
            SELECT u.account, u.grace FROM unnest(protected_account, protected_grace) AS u(account, grace) WHERE u.grace IS NOT NULL;
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_protections IS 'Used by the exchange server alone: the accounts that a batch of commands protected, or protects no longer.';

COMMENT ON COLUMN pricetime.cancellations.why IS '1: its account asked for it. 2: it is of a kind that does not rest. 3: it was triggered, or its working order was executed, and it would have been refused then. 4: its deadline came. 5: it would have executed with an order of its own account. 6: something happened to the order that it was linked with. 7: it waited for another order, and that one ended without being executed wholly. 8: nobody was there for its account any more. Null: nobody knows.';

-- As before, with the reason of those that nobody was there for.
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
            WHEN 5 THEN 'self_trade' WHEN 6 THEN 'linked' WHEN 7 THEN 'not_placed'
            WHEN 8 THEN 'disconnected' END AS canceled_why,
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
