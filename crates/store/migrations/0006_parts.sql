-- Orders, cancellations and executions in parts by ranges of ids, so that the oldest go as whole tables. Source:
-- docs/POSTGRES.md, what is no longer kept.

CREATE TABLE pricetime.parts (
    rows_of text NOT NULL CHECK (rows_of IN ('orders', 'executions')),
    begins bigint NOT NULL,
    ends bigint NOT NULL CHECK (ends > begins),
    PRIMARY KEY (rows_of, begins)
);
COMMENT ON TABLE pricetime.parts IS 'The parts that are kept, by ids: from where one begins to before it ends. Those of orders are those of cancellations.';

CREATE TABLE pricetime.kept (
    one_row boolean PRIMARY KEY DEFAULT true CHECK (one_row),
    first_order bigint NOT NULL CHECK (first_order > 0),
    first_execution bigint NOT NULL CHECK (first_execution > 0),
    until timestamptz,
    whole boolean,
    part_ids bigint NOT NULL CHECK (part_ids > 0)
);
COMMENT ON TABLE pricetime.kept IS 'One row: what is kept of the past. Whoever reads several tables at one moment locks it in ACCESS SHARE MODE first.';
COMMENT ON COLUMN pricetime.kept.first_order IS 'All orders from this one on are here. Of those before it, those that were open when the others went.';
COMMENT ON COLUMN pricetime.kept.first_execution IS 'All executions from this one on are here. Of those before it, those of orders that are here.';
COMMENT ON COLUMN pricetime.kept.until IS 'All that is gone happened up to then; null while nothing is.';
COMMENT ON COLUMN pricetime.kept.whole IS 'Whether the orders that are gone, if there are such, were all written as they were placed, none imported.';
COMMENT ON COLUMN pricetime.kept.part_ids IS 'Ids of the smallest part.';
INSERT INTO pricetime.kept VALUES (true, 1, 1, NULL, NULL, 1048576);

CREATE TABLE pricetime.gone (
    rows_of text NOT NULL CHECK (rows_of IN ('orders of account', 'trades of account', 'trades of symbol')),
    number bigint NOT NULL,
    id bigint NOT NULL,
    time timestamptz NOT NULL,
    sequence bigint NOT NULL,
    PRIMARY KEY (rows_of, number)
);
COMMENT ON TABLE pricetime.gone IS 'Of which accounts and symbols something is no longer kept, and up to where.';
COMMENT ON COLUMN pricetime.gone.number IS 'That of the account or the symbol.';
COMMENT ON COLUMN pricetime.gone.id IS 'The last order or execution that is gone.';
COMMENT ON COLUMN pricetime.gone.time IS 'All that is gone happened up to then.';
COMMENT ON COLUMN pricetime.gone.sequence IS 'The last command of which something is gone.';

-- What was one table becomes the first part of one. The views and the functions name the whole.
ALTER TABLE pricetime.imported_executions DROP CONSTRAINT imported_executions_order_id_fkey;
ALTER TABLE pricetime.orders RENAME TO orders_1;
ALTER INDEX pricetime.orders_pkey RENAME TO orders_1_pkey;
ALTER INDEX pricetime.orders_by_account RENAME TO orders_1_account_id_idx;
ALTER TABLE pricetime.cancellations RENAME TO cancellations_1;
ALTER INDEX pricetime.cancellations_pkey RENAME TO cancellations_1_pkey;
ALTER INDEX pricetime.cancellations_by_account RENAME TO cancellations_1_account_sequence_idx;
ALTER TABLE pricetime.executions RENAME TO executions_1;
ALTER INDEX pricetime.executions_pkey RENAME TO executions_1_pkey;
ALTER INDEX pricetime.executions_once RENAME TO executions_1_buy_order_sell_order_key;
ALTER INDEX pricetime.executions_by_sell_order RENAME TO executions_1_sell_order_idx;
ALTER INDEX pricetime.executions_by_symbol RENAME TO executions_1_symbol_time_id_idx;
ALTER INDEX pricetime.executions_by_buyer RENAME TO executions_1_buyer_id_idx;
ALTER INDEX pricetime.executions_by_seller RENAME TO executions_1_seller_id_idx;
COMMENT ON CONSTRAINT executions_1_buy_order_sell_order_key ON pricetime.executions_1 IS NULL;
COMMENT ON TABLE pricetime.orders_1 IS 'A part of orders.';
COMMENT ON TABLE pricetime.cancellations_1 IS 'A part of cancellations.';
COMMENT ON TABLE pricetime.executions_1 IS 'A part of executions.';

CREATE TABLE pricetime.orders (LIKE pricetime.orders_1 INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (id);
ALTER TABLE pricetime.orders ADD PRIMARY KEY (id);
CREATE INDEX orders_by_account ON pricetime.orders (account, id);
COMMENT ON TABLE pricetime.orders IS 'Every order that is kept, as it was placed. Never changed.';

CREATE TABLE pricetime.cancellations (LIKE pricetime.cancellations_1 INCLUDING ALL EXCLUDING INDEXES)
    PARTITION BY RANGE (order_id);
ALTER TABLE pricetime.cancellations ADD PRIMARY KEY (order_id);
CREATE INDEX cancellations_by_account ON pricetime.cancellations (account, sequence);
COMMENT ON TABLE pricetime.cancellations IS 'What was canceled of an order. Never changed.';

CREATE TABLE pricetime.executions (LIKE pricetime.executions_1 INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (id);
ALTER TABLE pricetime.executions ADD PRIMARY KEY (id);
CREATE INDEX executions_by_sell_order ON pricetime.executions (sell_order);
CREATE INDEX executions_by_symbol ON pricetime.executions (symbol, time, id);
CREATE INDEX executions_by_buyer ON pricetime.executions (buyer, id);
CREATE INDEX executions_by_seller ON pricetime.executions (seller, id);
COMMENT ON TABLE pricetime.executions IS 'Every execution that is kept, in order, numbered from 1 without gaps. Never changed. Two orders execute at most once: a key says so within a part.';

-- Who may read one of these tables may read it as before.
DO $$
DECLARE
    may record;
BEGIN
    FOR may IN
        SELECT replace(c.relname, '_1', '') AS name, a.privilege_type AS right_to, a.is_grantable AS passes_on,
            CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee
        FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
        WHERE c.relnamespace = 'pricetime'::regnamespace AND a.grantee <> c.relowner
            AND c.relname IN ('orders_1', 'cancellations_1', 'executions_1')
    LOOP
        EXECUTE format('GRANT %s ON pricetime.%I TO %s%s', may.right_to, may.name, may.grantee,
            CASE WHEN may.passes_on THEN ' WITH GRANT OPTION' ELSE '' END);
    END LOOP;
END $$;

-- Makes a table that is to be a part: as the whole, with the guard. It is not attached.
CREATE FUNCTION pricetime.make_part(name text, whole text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TABLE pricetime.%I (LIKE pricetime.%I INCLUDING ALL)', name, whole);
    EXECUTE format('COMMENT ON TABLE pricetime.%I IS %L', name, format('A part of %s.', whole));
    IF whole = 'executions' THEN
        EXECUTE format('ALTER TABLE pricetime.%I ADD UNIQUE (buy_order, sell_order)', name);
    END IF;
    EXECUTE format(
        'CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.%I'
        ' FOR EACH STATEMENT WHEN (current_setting(''pricetime.server'', true) IS DISTINCT FROM ''on'')'
        ' EXECUTE FUNCTION pricetime.refuse_change()', name);
END $$;
COMMENT ON FUNCTION pricetime.make_part IS 'Used by the exchange server alone.';

-- Sees to it that there are parts for all ids before these, and gives where the last ones end. Nobody waits for it: a table that
-- nobody knows yet is attached beside whoever reads and writes. A part is a quarter of all that is kept before it, so that
-- there are few of them.
CREATE FUNCTION pricetime.make_parts(
    expected_epoch bigint, next_order bigint, next_execution bigint, OUT orders_end bigint, OUT executions_end bigint
) LANGUAGE plpgsql AS $$
DECLARE
    least_ids bigint;
    first bigint;
    last bigint;
    size bigint;
    whole text;
BEGIN
    SELECT k.part_ids INTO least_ids FROM pricetime.kept k;
    PERFORM FROM pricetime.command_sequence WHERE epoch = expected_epoch FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another server writes to this database' USING ERRCODE = 'PT001';
    END IF;
    SELECT min(p.begins), max(p.ends) INTO first, last FROM pricetime.parts p WHERE p.rows_of = 'orders';
    IF next_order > last THEN
        size := greatest(least_ids, (last - first) / 4);
        orders_end := next_order + size;
        FOREACH whole IN ARRAY ARRAY['orders', 'cancellations'] LOOP
            PERFORM pricetime.make_part(format('%s_%s', whole, last), whole);
            EXECUTE format('ALTER TABLE pricetime.%I ATTACH PARTITION pricetime.%I FOR VALUES FROM (%s) TO (%s)',
                whole, format('%s_%s', whole, last), last, orders_end);
        END LOOP;
        INSERT INTO pricetime.parts VALUES ('orders', last, orders_end);
    ELSE
        orders_end := last;
    END IF;
    SELECT min(p.begins), max(p.ends) INTO first, last FROM pricetime.parts p WHERE p.rows_of = 'executions';
    IF next_execution > last THEN
        size := greatest(least_ids, (last - first) / 4);
        executions_end := next_execution + size;
        PERFORM pricetime.make_part(format('executions_%s', last), 'executions');
        EXECUTE format('ALTER TABLE pricetime.executions ATTACH PARTITION pricetime.%I FOR VALUES FROM (%s) TO (%s)',
            format('executions_%s', last), last, executions_end);
        INSERT INTO pricetime.parts VALUES ('executions', last, executions_end);
    ELSE
        executions_end := last;
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.make_parts IS 'Used by the exchange server alone: makes room for the orders and executions to come.';

-- All that there is, and as many ids as the smallest part has.
DO $$
DECLARE
    head pricetime.command_sequence;
    least_ids bigint;
    whole text;
    name text;
BEGIN
    SELECT * INTO head FROM pricetime.command_sequence;
    SELECT part_ids INTO least_ids FROM pricetime.kept;
    FOREACH whole IN ARRAY ARRAY['orders', 'cancellations', 'executions'] LOOP
        EXECUTE format('ALTER TABLE pricetime.%I ATTACH PARTITION pricetime.%I FOR VALUES FROM (MINVALUE) TO (%s)', whole,
            whole || '_1', least_ids + CASE whole WHEN 'executions' THEN head.next_execution ELSE head.next_order END);
    END LOOP;
    INSERT INTO pricetime.parts VALUES
        ('orders', 1, head.next_order + least_ids), ('executions', 1, head.next_execution + least_ids);
    FOREACH name IN ARRAY ARRAY['parts', 'kept', 'gone', 'orders', 'cancellations', 'executions'] LOOP
        EXECUTE format(
            'CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.%I'
            ' FOR EACH STATEMENT WHEN (current_setting(''pricetime.server'', true) IS DISTINCT FROM ''on'')'
            ' EXECUTE FUNCTION pricetime.refuse_change()', name);
    END LOOP;
END $$;

-- As before, of the whole.

CREATE OR REPLACE VIEW pricetime.open_orders AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side, o.limit_price, o.shares, r.open, o.time,
        c.client_order_id
    FROM pricetime.resting r
    JOIN pricetime.orders o ON o.id = r.order_id
    JOIN pricetime.accounts a ON a.number = o.account
    JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.client_orders c ON c.order_id = o.id;

CREATE OR REPLACE VIEW pricetime.order_history AS
    SELECT o.id AS order_id, a.id AS account, s.name AS symbol, o.side, o.limit_price, o.shares, o.time,
        coalesce(r.open, 0) AS open,
        coalesce(c.shares, 0) AS canceled,
        o.shares - coalesce(r.open, 0) - coalesce(c.shares, 0) AS executed,
        c.time AS canceled_time,
        CASE WHEN r.open IS NOT NULL THEN 'open' WHEN c.shares IS NOT NULL THEN 'canceled' ELSE 'executed' END AS status,
        n.client_order_id
    FROM pricetime.orders o
    JOIN pricetime.accounts a ON a.number = o.account
    LEFT JOIN pricetime.symbols s ON s.number = o.symbol
    LEFT JOIN pricetime.resting r ON r.order_id = o.id
    LEFT JOIN pricetime.cancellations c ON c.order_id = o.id
    LEFT JOIN pricetime.client_orders n ON n.order_id = o.id;
COMMENT ON VIEW pricetime.order_history IS 'Every order that is kept, and what became of it. One that was partly executed before it was canceled counts as canceled.';

CREATE OR REPLACE VIEW pricetime.book AS
    SELECT s.name AS symbol, o.side, o.limit_price AS price, sum(r.open) AS shares, count(*) AS orders
    FROM pricetime.resting r
    JOIN pricetime.orders o ON o.id = r.order_id
    JOIN pricetime.symbols s ON s.number = o.symbol
    GROUP BY s.name, o.side, o.limit_price;

-- An execution may be kept longer than its orders.
CREATE OR REPLACE VIEW pricetime.trades AS
    SELECT e.id, s.name AS symbol, e.price, e.shares, e.time, e.aggressor, e.buy_order, buyer.id AS buyer, e.sell_order,
        seller.id AS seller
    FROM pricetime.executions e
    JOIN pricetime.accounts buyer ON buyer.number = e.buyer
    JOIN pricetime.accounts seller ON seller.number = e.seller
    JOIN pricetime.symbols s ON s.number = e.symbol;

CREATE OR REPLACE VIEW pricetime.account_summary AS
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
