-- Fees: who pays which, and what was paid for each execution. Source: docs/POSTGRES.md, fees.

CREATE TABLE pricetime.fees (
    symbol bigint NOT NULL REFERENCES pricetime.symbols,
    tier smallint NOT NULL CHECK (tier BETWEEN 0 AND 15),
    maker numeric(7,4) NOT NULL CHECK (maker BETWEEN 0 AND 100),
    taker numeric(7,4) NOT NULL CHECK (taker BETWEEN 0 AND 100),
    account bigint NOT NULL REFERENCES pricetime.accounts,
    PRIMARY KEY (symbol, tier),
    CHECK (maker + taker > 0)
);
COMMENT ON TABLE pricetime.fees IS 'What the accounts of a tier pay for executions in a symbol. Without a row they pay nothing.';
COMMENT ON COLUMN pricetime.fees.symbol IS 'Its number in symbols.';
COMMENT ON COLUMN pricetime.fees.maker IS 'Per cent of what it receives, of whose order was on the book first.';
COMMENT ON COLUMN pricetime.fees.taker IS 'The same of whose order came to it.';
COMMENT ON COLUMN pricetime.fees.account IS 'Who gets them: its number in accounts.';

CREATE TABLE pricetime.account_tiers (
    account bigint PRIMARY KEY REFERENCES pricetime.accounts,
    tier smallint NOT NULL CHECK (tier BETWEEN 1 AND 15)
);
COMMENT ON TABLE pricetime.account_tiers IS 'The tiers of accounts. One without a row is of tier 0.';
COMMENT ON COLUMN pricetime.account_tiers.account IS 'Its number in accounts.';

ALTER TABLE pricetime.executions
    ADD COLUMN buyer_fee_rate numeric(7,4) CHECK (buyer_fee_rate > 0 AND buyer_fee_rate <= 100),
    ADD COLUMN seller_fee_rate numeric(7,4) CHECK (seller_fee_rate > 0 AND seller_fee_rate <= 100);
COMMENT ON COLUMN pricetime.executions.buyer_fee_rate IS 'The buyer paid so many per cent of the shares, rounded up; null if nothing.';
COMMENT ON COLUMN pricetime.executions.seller_fee_rate IS 'The seller paid so many per cent of the dollars, rounded up; null if nothing.';
ALTER TABLE pricetime.imported_executions
    ADD COLUMN share_fee_rate numeric(7,4) CHECK (share_fee_rate > 0 AND share_fee_rate <= 100),
    ADD COLUMN money_fee_rate numeric(7,4) CHECK (money_fee_rate > 0 AND money_fee_rate <= 100);
COMMENT ON COLUMN pricetime.imported_executions.share_fee_rate IS 'Of a buy: so many per cent of the shares were paid for it, rounded up; null if nothing.';
COMMENT ON COLUMN pricetime.imported_executions.money_fee_rate IS 'Of a sell: so many per cent of the dollars were paid for it, rounded up; null if nothing.';

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.fees
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();
CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.account_tiers
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

-- Called in the same statement as write_batch and behind it, so in the same transaction: it has inserted symbols and accounts. Fees
-- without an account are none.
CREATE FUNCTION pricetime.write_fees(
    changed_symbol bigint[], changed_tier bigint[], changed_maker numeric[], changed_taker numeric[], changed_account bigint[],
    moved_account bigint[], moved_tier bigint[],
    execution_id bigint[], execution_symbol bigint[], execution_buy bigint[], execution_buyer bigint[], execution_sell bigint[],
    execution_seller bigint[], execution_time timestamptz[], execution_sequence bigint[], execution_bought boolean[],
    execution_price numeric[], execution_shares numeric[], execution_buyer_rate numeric[], execution_seller_rate numeric[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(changed_symbol) > 0 THEN
        DELETE FROM pricetime.fees f USING unnest(changed_symbol, changed_tier) AS u(symbol, tier)
            WHERE f.symbol = u.symbol AND f.tier = u.tier;
        INSERT INTO pricetime.fees (symbol, tier, maker, taker, account)
            SELECT * FROM unnest(changed_symbol, changed_tier, changed_maker, changed_taker, changed_account)
                AS u(symbol, tier, maker, taker, account)
            WHERE u.account IS NOT NULL;
    END IF;
    IF cardinality(moved_account) > 0 THEN
        DELETE FROM pricetime.account_tiers t USING unnest(moved_account) AS u(account) WHERE t.account = u.account;
        INSERT INTO pricetime.account_tiers (account, tier)
            SELECT * FROM unnest(moved_account, moved_tier) AS u(account, tier) WHERE u.tier > 0;
    END IF;
    IF cardinality(execution_id) > 0 THEN
        INSERT INTO pricetime.executions (id, symbol, buy_order, buyer, sell_order, seller, time, sequence, aggressor, price,
                shares, buyer_fee_rate, seller_fee_rate)
            SELECT u.id, u.symbol, u.buy, u.buyer, u.sell, u.seller, u.time, u.sequence,
                CASE WHEN u.bought THEN 'buy'::pricetime.side ELSE 'sell'::pricetime.side END, u.price, u.shares,
                u.buyer_rate, u.seller_rate
            FROM unnest(execution_id, execution_symbol, execution_buy, execution_buyer, execution_sell, execution_seller,
                execution_time, execution_sequence, execution_bought, execution_price, execution_shares,
                execution_buyer_rate, execution_seller_rate)
                AS u(id, symbol, buy, buyer, sell, seller, time, sequence, bought, price, shares, buyer_rate, seller_rate);
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_fees IS 'Used by the exchange server alone: fees and tiers that a batch of commands changed, and executions that somebody paid for.';

CREATE FUNCTION pricetime.share_fee(shares numeric, rate numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ceil(shares * rate * 1000000) * 0.00000001;
COMMENT ON FUNCTION pricetime.share_fee IS 'So many per cent of shares, rounded up to 8 decimals.';
CREATE FUNCTION pricetime.money_fee(money numeric, rate numeric) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ceil(money * rate * 100000000000000) * 0.0000000000000001;
COMMENT ON FUNCTION pricetime.money_fee IS 'So many per cent of dollars, rounded up to 16 decimals.';

-- As before, with the fees.

CREATE OR REPLACE VIEW pricetime.trades AS
    SELECT e.id, s.name AS symbol, e.price, e.shares, e.time, e.aggressor, e.buy_order, buyer.id AS buyer, e.sell_order,
        seller.id AS seller,
        coalesce(pricetime.share_fee(e.shares, e.buyer_fee_rate), 0) AS buyer_fee,
        coalesce(pricetime.money_fee(e.price * e.shares, e.seller_fee_rate), 0) AS seller_fee
    FROM pricetime.executions e
    JOIN pricetime.accounts buyer ON buyer.number = e.buyer
    JOIN pricetime.accounts seller ON seller.number = e.seller
    JOIN pricetime.symbols s ON s.number = e.symbol;
COMMENT ON COLUMN pricetime.trades.buyer_fee IS 'What the buyer paid of the shares.';
COMMENT ON COLUMN pricetime.trades.seller_fee IS 'What the seller paid of the dollars.';

CREATE VIEW pricetime.fee_schedule AS
    SELECT s.name AS symbol, f.tier, f.maker, f.taker, a.id AS account
    FROM pricetime.fees f
    JOIN pricetime.symbols s ON s.number = f.symbol
    JOIN pricetime.accounts a ON a.number = f.account;
COMMENT ON VIEW pricetime.fee_schedule IS 'What the accounts of a tier pay for executions in a symbol, in per cent of what they receive, and which account gets it.';
