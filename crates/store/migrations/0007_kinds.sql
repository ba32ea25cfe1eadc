-- Orders of other kinds than limit orders. Source: docs/PROTOCOL.md, kinds of orders.

CREATE TYPE pricetime.order_kind AS ENUM ('limit', 'post_only', 'immediate_or_cancel', 'fill_or_kill', 'market');
ALTER TABLE pricetime.orders ADD COLUMN kind pricetime.order_kind DEFAULT 'limit';
COMMENT ON COLUMN pricetime.orders.kind IS 'What it might do when it arrived, and what became of what was left then. Only limit and post_only orders rest. Null, as the side, where an import did not say.';
COMMENT ON COLUMN pricetime.orders.limit_price IS 'The worst price it takes; of a market order the one that takes every price.';

-- As before, but that an order is told its kind.
DROP FUNCTION pricetime.write_batch;
CREATE FUNCTION pricetime.write_batch(
    expected_epoch bigint, expected_sequence bigint,
    new_sequence bigint, new_time timestamptz, new_next_order bigint, new_next_execution bigint,
    symbol_number bigint[], symbol_name text[],
    issued_symbol bigint[], issued_shares numeric[],
    account_number bigint[], account_id text[], account_balance numeric[],
    balance_account bigint[], balance_dollars numeric[],
    position_account bigint[], position_symbol bigint[], position_shares numeric[],
    opened_order bigint[], opened_account bigint[], opened_symbol bigint[], opened_time timestamptz[],
    opened_sequence bigint[],
    opened_buys boolean[], opened_limit numeric[], opened_shares numeric[], opened_kind bigint[],
    resting_order bigint[], resting_open numeric[],
    taken_order bigint[], taken_shares numeric[],
    execution_id bigint[], execution_symbol bigint[], execution_buy bigint[], execution_buyer bigint[],
    execution_sell bigint[], execution_seller bigint[], execution_time timestamptz[],
    execution_sequence bigint[], execution_bought boolean[], execution_price numeric[], execution_shares numeric[],
    cancellation_order bigint[], cancellation_account bigint[], cancellation_time timestamptz[],
    cancellation_sequence bigint[], cancellation_shares numeric[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    gone bigint;
    less bigint;
BEGIN
    UPDATE pricetime.command_sequence
        SET sequence = new_sequence, time = new_time, next_order = new_next_order, next_execution = new_next_execution
        WHERE epoch = expected_epoch AND sequence = expected_sequence;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the sequence is not at % in epoch %: another server writes to this database',
            expected_sequence, expected_epoch USING ERRCODE = 'PT001';
    END IF;
    IF cardinality(symbol_number) > 0 THEN
        INSERT INTO pricetime.symbols (number, name, issued)
            SELECT u.number, u.name, 0 FROM unnest(symbol_number, symbol_name) AS u(number, name);
    END IF;
    IF cardinality(issued_symbol) > 0 THEN
        UPDATE pricetime.symbols s SET issued = u.issued
            FROM unnest(issued_symbol, issued_shares) AS u(number, issued) WHERE s.number = u.number;
        GET DIAGNOSTICS less = ROW_COUNT;
        PERFORM pricetime.expect('symbols', less, cardinality(issued_symbol));
    END IF;
    IF cardinality(account_number) > 0 THEN
        INSERT INTO pricetime.accounts (number, id, balance)
            SELECT u.number, u.id, u.balance FROM unnest(account_number, account_id, account_balance) AS u(number, id, balance);
    END IF;
    IF cardinality(balance_account) > 0 THEN
        UPDATE pricetime.accounts a SET balance = u.balance
            FROM unnest(balance_account, balance_dollars) AS u(number, balance) WHERE a.number = u.number;
        GET DIAGNOSTICS less = ROW_COUNT;
        PERFORM pricetime.expect('accounts', less, cardinality(balance_account));
    END IF;
    IF cardinality(position_account) > 0 THEN
        UPDATE pricetime.positions p SET shares = u.shares
            FROM unnest(position_account, position_symbol, position_shares) AS u(account, symbol, shares)
            WHERE p.account = u.account AND p.symbol = u.symbol;
        GET DIAGNOSTICS less = ROW_COUNT;
        -- Nearly all are there already: to update them costs less than a conflict each.
        IF less < cardinality(position_account) THEN
            INSERT INTO pricetime.positions (account, symbol, shares)
                SELECT u.account, u.symbol, u.shares
                FROM unnest(position_account, position_symbol, position_shares) AS u(account, symbol, shares)
                ON CONFLICT (account, symbol) DO NOTHING;
        END IF;
    END IF;
    IF cardinality(opened_order) > 0 THEN
        INSERT INTO pricetime.orders (id, account, symbol, time, sequence, side, limit_price, shares, kind)
            SELECT u.id, u.account, u.symbol, u.time, u.sequence,
                CASE WHEN u.buys THEN 'buy'::pricetime.side ELSE 'sell'::pricetime.side END, u.limit_price, u.shares,
                CASE u.kind WHEN 0 THEN 'limit'::pricetime.order_kind WHEN 1 THEN 'post_only'::pricetime.order_kind
                    WHEN 2 THEN 'immediate_or_cancel'::pricetime.order_kind WHEN 3 THEN 'fill_or_kill'::pricetime.order_kind
                    WHEN 4 THEN 'market'::pricetime.order_kind END
            FROM unnest(opened_order, opened_account, opened_symbol, opened_time, opened_sequence, opened_buys,
                opened_limit, opened_shares, opened_kind)
                AS u(id, account, symbol, time, sequence, buys, limit_price, shares, kind);
    END IF;
    IF cardinality(resting_order) > 0 THEN
        INSERT INTO pricetime.resting (order_id, open)
            SELECT u.order_id, u.open FROM unnest(resting_order, resting_open) AS u(order_id, open);
    END IF;
    IF cardinality(taken_order) > 0 THEN
        DELETE FROM pricetime.resting r USING unnest(taken_order, taken_shares) AS u(order_id, shares)
            WHERE r.order_id = u.order_id AND r.open = u.shares;
        GET DIAGNOSTICS gone = ROW_COUNT;
        less := 0;
        IF gone < cardinality(taken_order) THEN
            UPDATE pricetime.resting r SET open = r.open - u.shares
                FROM unnest(taken_order, taken_shares) AS u(order_id, shares) WHERE r.order_id = u.order_id;
            GET DIAGNOSTICS less = ROW_COUNT;
        END IF;
        PERFORM pricetime.expect('resting', gone + less, cardinality(taken_order));
    END IF;
    IF cardinality(execution_id) > 0 THEN
        INSERT INTO pricetime.executions (id, symbol, buy_order, buyer, sell_order, seller, time, sequence, aggressor, price,
                shares)
            SELECT u.id, u.symbol, u.buy, u.buyer, u.sell, u.seller, u.time, u.sequence,
                CASE WHEN u.bought THEN 'buy'::pricetime.side ELSE 'sell'::pricetime.side END, u.price, u.shares
            FROM unnest(execution_id, execution_symbol, execution_buy, execution_buyer, execution_sell, execution_seller,
                execution_time, execution_sequence, execution_bought, execution_price, execution_shares)
                AS u(id, symbol, buy, buyer, sell, seller, time, sequence, bought, price, shares);
    END IF;
    IF cardinality(cancellation_order) > 0 THEN
        INSERT INTO pricetime.cancellations (order_id, account, time, sequence, shares)
            SELECT u.order_id, u.account, u.time, u.sequence, u.shares
            FROM unnest(cancellation_order, cancellation_account, cancellation_time, cancellation_sequence,
                cancellation_shares) AS u(order_id, account, time, sequence, shares);
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_batch IS 'Used by the exchange server alone: the effects of a batch of commands, in one transaction.';

-- As before, with the kind; a market order has no limit.

CREATE OR REPLACE VIEW pricetime.open_orders AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side, o.limit_price, o.shares, r.open, o.time,
        c.client_order_id, o.kind
    FROM pricetime.resting r
    JOIN pricetime.orders o ON o.id = r.order_id
    JOIN pricetime.accounts a ON a.number = o.account
    JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.client_orders c ON c.order_id = o.id;

CREATE OR REPLACE VIEW pricetime.order_history AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side,
        (CASE o.kind WHEN 'market' THEN NULL ELSE o.limit_price END)::numeric(19,8) AS limit_price, o.shares, o.time,
        coalesce(r.open, 0) AS open,
        coalesce(c.shares, 0) AS canceled,
        o.shares - coalesce(r.open, 0) - coalesce(c.shares, 0) AS executed,
        c.time AS canceled_time,
        CASE WHEN r.open IS NOT NULL THEN 'open' WHEN c.shares IS NOT NULL THEN 'canceled' ELSE 'executed' END AS status,
        n.client_order_id, o.kind
    FROM pricetime.orders o
    JOIN pricetime.accounts a ON a.number = o.account
    LEFT JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.resting r ON r.order_id = o.id
    LEFT JOIN pricetime.cancellations c ON c.order_id = o.id
    LEFT JOIN pricetime.client_orders n ON n.order_id = o.id;
