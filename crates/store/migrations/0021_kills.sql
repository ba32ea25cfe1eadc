-- The kill switch. Source: docs/POSTGRES.md, kill switch.

CREATE TABLE pricetime.kills (
    scope text NOT NULL CHECK (scope IN ('everything', 'account', 'symbol')),
    account bigint REFERENCES pricetime.accounts,
    symbol bigint REFERENCES pricetime.symbols,
    CHECK ((scope = 'account') = (account IS NOT NULL) AND (scope = 'symbol') = (symbol IS NOT NULL))
);
CREATE UNIQUE INDEX kills_once ON pricetime.kills (scope, coalesce(account, -1), coalesce(symbol, -1));
COMMENT ON TABLE pricetime.kills IS 'What takes no orders until it is released: nothing is open there.';
COMMENT ON COLUMN pricetime.kills.scope IS 'Everything, or the orders of an account, or those in a symbol.';
COMMENT ON COLUMN pricetime.kills.account IS 'Its number in accounts.';
COMMENT ON COLUMN pricetime.kills.symbol IS 'Its number in symbols.';

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.kills
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

-- Called in the same statement as write_batch and behind it, so in the same transaction: it has inserted the accounts and symbols.
CREATE FUNCTION pricetime.write_kills(kill_scope text[], kill_account bigint[], kill_symbol bigint[], kill_is_on boolean[])
    RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(kill_scope) > 0 THEN
        DELETE FROM pricetime.kills k USING unnest(kill_scope, kill_account, kill_symbol) AS u(scope, account, symbol)
            WHERE k.scope = u.scope AND k.account IS NOT DISTINCT FROM u.account AND k.symbol IS NOT DISTINCT FROM u.symbol;
        -- What is released has no row.
        INSERT INTO pricetime.kills (scope, account, symbol)
            SELECT u.scope, u.account, u.symbol
            FROM unnest(kill_scope, kill_account, kill_symbol, kill_is_on) AS u(scope, account, symbol, is_on) WHERE u.is_on;
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_kills IS 'Used by the exchange server alone: what a batch of commands killed or released.';
