-- How far the calendar was followed. Source: docs/POSTGRES.md, phases.

CREATE TABLE pricetime.calendar (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    followed timestamptz NOT NULL
);
COMMENT ON TABLE pricetime.calendar IS 'How far the market''s calendar was followed, in one row; without a row it never was.';
COMMENT ON COLUMN pricetime.calendar.one IS 'True: there is one row at most.';
COMMENT ON COLUMN pricetime.calendar.followed IS 'All that the calendar has up to here was done.';

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.calendar
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

-- Called in the same statement as write_batch and behind it, so in the same transaction as the phases that were changed.
CREATE FUNCTION pricetime.write_calendar(calendar_followed timestamptz) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF calendar_followed IS NOT NULL THEN
        INSERT INTO pricetime.calendar (followed) VALUES (calendar_followed)
            ON CONFLICT (one) DO UPDATE SET followed = excluded.followed;
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_calendar IS 'Used by the exchange server alone: how far the calendar was followed in a batch of commands.';
