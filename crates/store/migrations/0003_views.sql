-- What people ask for, with names in place of numbers.

CREATE VIEW pricetime.open_orders AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side, o.limit_price, o.shares, r.open, o.time
    FROM pricetime.resting r
    JOIN pricetime.orders o ON o.id = r.order_id
    JOIN pricetime.accounts a ON a.number = o.account
    JOIN pricetime.symbols s ON s.number = o.symbol;
COMMENT ON VIEW pricetime.open_orders IS 'Orders on the books: who, what, and how much is open.';

CREATE VIEW pricetime.order_history AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side, o.limit_price, o.shares, o.time,
        coalesce(r.open, 0) AS open,
        coalesce(c.shares, 0) AS canceled,
        o.shares - coalesce(r.open, 0) - coalesce(c.shares, 0) AS executed,
        c.time AS canceled_time,
        CASE WHEN r.open IS NOT NULL THEN 'open' WHEN c.shares IS NOT NULL THEN 'canceled' ELSE 'executed' END AS status
    FROM pricetime.orders o
    JOIN pricetime.accounts a ON a.number = o.account
    LEFT JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.resting r ON r.order_id = o.id
    LEFT JOIN pricetime.cancellations c ON c.order_id = o.id;
COMMENT ON VIEW pricetime.order_history IS 'Every order and what became of it. One that was partly executed before it was canceled counts as canceled.';

CREATE VIEW pricetime.book AS
    SELECT s.name AS symbol, o.side, o.limit_price AS price, sum(r.open) AS shares, count(*) AS orders
    FROM pricetime.resting r
    JOIN pricetime.orders o ON o.id = r.order_id
    JOIN pricetime.symbols s ON s.number = o.symbol
    GROUP BY s.name, o.side, o.limit_price;
COMMENT ON VIEW pricetime.book IS 'Price levels. Order by price: the best buy is the highest, the best sell the lowest.';

CREATE VIEW pricetime.trades AS
    SELECT e.id, s.name AS symbol, e.price, e.shares, e.time, e.aggressor, e.buy_order, buyer.id AS buyer, e.sell_order,
        seller.id AS seller
    FROM pricetime.executions e
    JOIN pricetime.orders b ON b.id = e.buy_order
    JOIN pricetime.orders o ON o.id = e.sell_order
    JOIN pricetime.accounts buyer ON buyer.number = b.account
    JOIN pricetime.accounts seller ON seller.number = o.account
    JOIN pricetime.symbols s ON s.number = b.symbol;
COMMENT ON VIEW pricetime.trades IS 'Executions with their symbol and both accounts, numbered in the order in which they happened.';

CREATE VIEW pricetime.account_summary AS
    SELECT a.id AS account, a.balance, coalesce(h.held, 0) AS held, coalesce(h.open_orders, 0) AS open_orders, p.positions
    FROM pricetime.accounts a
    LEFT JOIN (
        SELECT o.account, count(*) AS open_orders, sum(o.limit_price * r.open) FILTER (WHERE o.side = 'buy') AS held
        FROM pricetime.resting r JOIN pricetime.orders o ON o.id = r.order_id GROUP BY o.account
    ) h ON h.account = a.number
    LEFT JOIN LATERAL (
        SELECT jsonb_object_agg(s.name, q.shares) AS positions
        FROM pricetime.positions q JOIN pricetime.symbols s ON s.number = q.symbol
        WHERE q.account = a.number AND q.shares > 0
    ) p ON true;
COMMENT ON VIEW pricetime.account_summary IS 'What an account may spend, what its open buys hold, and what it may sell of each symbol.';
