-- Executions say what was traded and by whom, and cancellations whose order it was, so that the history of a symbol or of an
-- account is read by index, a page at a time. Source: docs/POSTGRES.md, history.

ALTER TABLE pricetime.executions ADD COLUMN symbol bigint, ADD COLUMN buyer bigint, ADD COLUMN seller bigint;
SET LOCAL pricetime.server = 'on';
-- Whole tables, unlike what a writer does.
SET LOCAL enable_seqscan = on;
SET LOCAL enable_hashjoin = on;
UPDATE pricetime.executions e SET symbol = b.symbol, buyer = b.account, seller = o.account
    FROM pricetime.orders b, pricetime.orders o WHERE b.id = e.buy_order AND o.id = e.sell_order;
ALTER TABLE pricetime.executions
    ALTER COLUMN symbol SET NOT NULL, ALTER COLUMN buyer SET NOT NULL, ALTER COLUMN seller SET NOT NULL;
COMMENT ON COLUMN pricetime.executions.symbol IS 'That of both orders: its number in symbols.';
COMMENT ON COLUMN pricetime.executions.buyer IS 'Whose the buy order is: its number in accounts, as is seller.';

-- Time never runs back in the order of ids, so a page of trades and the trades of a candle are both a stretch of this index.
CREATE INDEX executions_by_symbol ON pricetime.executions (symbol, time, id);
CREATE INDEX executions_by_buyer ON pricetime.executions (buyer, id);
CREATE INDEX executions_by_seller ON pricetime.executions (seller, id);

ALTER TABLE pricetime.cancellations ADD COLUMN account bigint;
UPDATE pricetime.cancellations c SET account = o.account FROM pricetime.orders o WHERE o.id = c.order_id;
ALTER TABLE pricetime.cancellations ALTER COLUMN account SET NOT NULL;
COMMENT ON COLUMN pricetime.cancellations.account IS 'Whose the order is: its number in accounts.';
CREATE INDEX cancellations_by_account ON pricetime.cancellations (account, sequence);

-- As before, but that an execution is told its symbol and its accounts and a cancellation its account, and that positions are
-- updated before those that are new are inserted.
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
    opened_buys boolean[], opened_limit numeric[], opened_shares numeric[],
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
        INSERT INTO pricetime.orders (id, account, symbol, time, sequence, side, limit_price, shares)
            SELECT u.id, u.account, u.symbol, u.time, u.sequence,
                CASE WHEN u.buys THEN 'buy'::pricetime.side ELSE 'sell'::pricetime.side END, u.limit_price, u.shares
            FROM unnest(opened_order, opened_account, opened_symbol, opened_time, opened_sequence, opened_buys,
                opened_limit, opened_shares)
                AS u(id, account, symbol, time, sequence, buys, limit_price, shares);
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
