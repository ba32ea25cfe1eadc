-- Limits of accounts. Source: docs/POSTGRES.md, limits.

CREATE TABLE pricetime.account_limits (
    account bigint PRIMARY KEY REFERENCES pricetime.accounts,
    open_orders bigint CHECK (open_orders BETWEEN 1 AND 4294967295),
    order_shares numeric(19,8) CHECK (order_shares > 0),
    order_value numeric(38,16) CHECK (order_value > 0),
    position numeric(19,8) CHECK (position >= 0),
    collar numeric(9,2) CHECK (collar > 0)
);
COMMENT ON TABLE pricetime.account_limits IS 'How much accounts may do. One without a row has no limits; null is a limit that is not set.';
COMMENT ON COLUMN pricetime.account_limits.account IS 'Its number in accounts.';
COMMENT ON COLUMN pricetime.account_limits.open_orders IS 'So many orders of it are open at most.';
COMMENT ON COLUMN pricetime.account_limits.order_shares IS 'An order has so many shares at most.';
COMMENT ON COLUMN pricetime.account_limits.order_value IS 'An order is worth so many dollars at most.';
COMMENT ON COLUMN pricetime.account_limits.position IS 'It has so many shares of a symbol at most, with those that its open buys may bring.';
COMMENT ON COLUMN pricetime.account_limits.collar IS 'It pays at most so many per cent more than the market asks for, and takes at most so many less.';

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.account_limits
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

-- Called in the same statement as write_batch and behind it, so in the same transaction: it has inserted the accounts.
CREATE FUNCTION pricetime.write_limits(
    limited_account bigint[], limited_orders bigint[], limited_shares numeric[], limited_value numeric[], limited_position numeric[],
    limited_collar numeric[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(limited_account) > 0 THEN
        DELETE FROM pricetime.account_limits l USING unnest(limited_account) AS u(account) WHERE l.account = u.account;
        -- Limits that say nothing have no row.
        INSERT INTO pricetime.account_limits
            SELECT * FROM unnest(limited_account, limited_orders, limited_shares, limited_value, limited_position, limited_collar)
                AS u(account, orders, shares, value, position, collar)
            WHERE num_nonnulls(u.orders, u.shares, u.value, u.position, u.collar) > 0;
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_limits IS 'Used by the exchange server alone: the limits that a batch of commands gave to accounts.';
