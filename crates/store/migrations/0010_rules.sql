-- Rules of symbols. Source: docs/POSTGRES.md, rules.

CREATE TABLE pricetime.symbol_rules (
    symbol bigint PRIMARY KEY REFERENCES pricetime.symbols,
    tick_size numeric(19,8) CHECK (tick_size > 0),
    lot_size numeric(19,8) CHECK (lot_size > 0),
    min_shares numeric(19,8) CHECK (min_shares > 0),
    max_shares numeric(19,8) CHECK (max_shares > 0),
    min_value numeric(38,16) CHECK (min_value > 0),
    max_value numeric(38,16) CHECK (max_value >= 0),
    band_up numeric(9,2) CHECK (band_up > 0),
    band_down numeric(9,2) CHECK (band_down > 0 AND band_down < 100),
    halted boolean NOT NULL
);
COMMENT ON TABLE pricetime.symbol_rules IS 'What the orders in a symbol have to obey. A symbol without a row has no rules; null is a rule that is not set.';
COMMENT ON COLUMN pricetime.symbol_rules.symbol IS 'Its number in symbols.';
COMMENT ON COLUMN pricetime.symbol_rules.tick_size IS 'Limits and stops are multiples of it.';
COMMENT ON COLUMN pricetime.symbol_rules.lot_size IS 'Shares are multiples of it.';
COMMENT ON COLUMN pricetime.symbol_rules.min_shares IS 'An order has at least so many shares.';
COMMENT ON COLUMN pricetime.symbol_rules.max_shares IS 'And at most so many.';
COMMENT ON COLUMN pricetime.symbol_rules.min_value IS 'Limit times shares are at least so many dollars.';
COMMENT ON COLUMN pricetime.symbol_rules.max_value IS 'And at most so many.';
COMMENT ON COLUMN pricetime.symbol_rules.band_up IS 'A limit is at most so many per cent above the last price.';
COMMENT ON COLUMN pricetime.symbol_rules.band_down IS 'And at most so many per cent below it.';
COMMENT ON COLUMN pricetime.symbol_rules.halted IS 'Whether nothing is placed and nothing executes.';

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.symbol_rules
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

-- Called in the same statement as write_batch and behind it, so in the same transaction: it has inserted the symbols.
CREATE FUNCTION pricetime.write_rules(
    ruled_symbol bigint[], ruled_tick numeric[], ruled_lot numeric[], ruled_min_shares numeric[], ruled_max_shares numeric[],
    ruled_min_value numeric[], ruled_max_value numeric[], ruled_band_up numeric[], ruled_band_down numeric[], ruled_halted boolean[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(ruled_symbol) > 0 THEN
        DELETE FROM pricetime.symbol_rules r USING unnest(ruled_symbol) AS u(symbol) WHERE r.symbol = u.symbol;
        -- Rules that say nothing have no row.
        INSERT INTO pricetime.symbol_rules
            SELECT * FROM unnest(ruled_symbol, ruled_tick, ruled_lot, ruled_min_shares, ruled_max_shares, ruled_min_value,
                    ruled_max_value, ruled_band_up, ruled_band_down, ruled_halted)
                AS u(symbol, tick, lot, min_shares, max_shares, min_value, max_value, band_up, band_down, halted)
            WHERE u.halted OR num_nonnulls(u.tick, u.lot, u.min_shares, u.max_shares, u.min_value, u.max_value, u.band_up,
                u.band_down) > 0;
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_rules IS 'Used by the exchange server alone: the rules that a batch of commands gave to symbols.';
