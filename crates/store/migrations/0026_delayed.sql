-- As before, but an order that is active and waits for its turn is told as delayed, and not as one that waits for a price.
CREATE OR REPLACE VIEW pricetime.open_orders AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side, o.limit_price,
        (o.shares - coalesce(d.shares, 0))::numeric(19,8) AS shares, r.open, o.time,
        c.client_order_id, o.kind, coalesce(w.trigger_price, o.trigger_price) AS stop_price, w.order_id IS NOT NULL AND w.delayed IS NULL AS waits,
        o.self_trade, o.until, coalesce(d.shares, 0) AS reduced, p.working AS pends_on,
        w.delayed IS NOT NULL AS delayed
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
        n.client_order_id, o.kind, o.trigger_price AS stop_price, w.order_id IS NOT NULL AND w.delayed IS NULL AS waits,
        o.self_trade, o.until, coalesce(d.shares, 0) AS reduced,
        CASE c.why WHEN 1 THEN 'asked' WHEN 2 THEN 'not_resting' WHEN 3 THEN 'refused' WHEN 4 THEN 'expired'
            WHEN 5 THEN 'self_trade' WHEN 6 THEN 'linked' WHEN 7 THEN 'not_placed'
            WHEN 8 THEN 'disconnected' END AS canceled_why,
        p.working AS pends_on,
        w.delayed IS NOT NULL AS delayed
    FROM pricetime.orders o
    JOIN pricetime.accounts a ON a.number = o.account
    LEFT JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.resting r ON r.order_id = o.id
    LEFT JOIN pricetime.cancellations c ON c.order_id = o.id
    LEFT JOIN pricetime.client_orders n ON n.order_id = o.id
    LEFT JOIN pricetime.waiting w ON w.order_id = o.id
    LEFT JOIN pricetime.reductions d ON d.order_id = o.id
    LEFT JOIN pricetime.pending p ON p.order_id = o.id;
