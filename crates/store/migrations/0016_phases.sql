-- Phases of symbols, and for how long a band interrupts trading. Source: docs/POSTGRES.md, phases.

ALTER TABLE pricetime.symbol_rules ADD COLUMN interruption bigint CHECK (interruption BETWEEN 1 AND 86400);
COMMENT ON COLUMN pricetime.symbol_rules.interruption IS 'An order that would execute outside the band begins an auction of so many seconds.';

CREATE TABLE pricetime.symbol_phases (
    symbol bigint PRIMARY KEY REFERENCES pricetime.symbols,
    phase text NOT NULL CHECK (phase IN ('halted', 'auction')),
    until timestamptz CHECK (until IS NULL OR phase = 'auction')
);
COMMENT ON TABLE pricetime.symbol_phases IS 'The symbols that are not open.';
COMMENT ON COLUMN pricetime.symbol_phases.symbol IS 'Its number in symbols.';
COMMENT ON COLUMN pricetime.symbol_phases.phase IS 'halted: nothing is placed and nothing executes. auction: orders gather, and execute at one price when the symbol opens.';
COMMENT ON COLUMN pricetime.symbol_phases.until IS 'When an auction ends by itself that an order brought about.';

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.symbol_phases
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

-- Called in the same statement as write_rules and behind it, so in the same transaction: it has inserted the rules.
CREATE FUNCTION pricetime.write_phases(
    phased_symbol bigint[], phased_phase text[], phased_until timestamptz[],
    interrupting_symbol bigint[], interrupting_seconds bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(phased_symbol) > 0 THEN
        DELETE FROM pricetime.symbol_phases p USING unnest(phased_symbol) AS u(symbol) WHERE p.symbol = u.symbol;
        -- A symbol that is open has no row.
        INSERT INTO pricetime.symbol_phases (symbol, phase, until)
            SELECT u.symbol, u.phase, u.until FROM unnest(phased_symbol, phased_phase, phased_until) AS u(symbol, phase, until)
            WHERE u.phase <> 'open';
    END IF;
    IF cardinality(interrupting_symbol) > 0 THEN
        UPDATE pricetime.symbol_rules r SET interruption = u.seconds
            FROM unnest(interrupting_symbol, interrupting_seconds) AS u(symbol, seconds) WHERE r.symbol = u.symbol;
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_phases IS 'Used by the exchange server alone: the phases that a batch of commands put symbols into, and the interruptions that it gave them.';
COMMENT ON COLUMN pricetime.executions.aggressor IS 'Which of both was being placed; the other was open first and set the price. In an auction, whose price is that of all: which of both is the younger.';
