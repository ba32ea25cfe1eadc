-- What befalls an order beside its executions and its cancellation. Source: docs/POSTGRES.md, tables.

-- Without foreign keys, as the tables that it belongs to: a row goes with its order.
CREATE TABLE pricetime.notes (
    order_id bigint NOT NULL,
    account bigint NOT NULL,
    kind text NOT NULL CHECK (kind IN ('triggered')),
    price numeric(19,8) CHECK (price > 0),
    time timestamptz NOT NULL,
    sequence bigint NOT NULL,
    place bigint NOT NULL CHECK (place >= 0),
    next_execution bigint NOT NULL CHECK (next_execution > 0),
    PRIMARY KEY (sequence, place),
    CHECK ((kind = 'triggered') = (price IS NOT NULL))
);
COMMENT ON TABLE pricetime.notes IS 'What befell orders beside their executions and cancellations. Never changed.';
COMMENT ON COLUMN pricetime.notes.kind IS 'triggered: an execution had reached the price that the order waited for, and it is active from then on.';
COMMENT ON COLUMN pricetime.notes.price IS 'Of what was triggered: the price that it waited for.';
COMMENT ON COLUMN pricetime.notes.place IS 'How many notes the same command had made before.';
COMMENT ON COLUMN pricetime.notes.next_execution IS 'The id of the execution that came next, or will come: it tells a note''s place among the executions of its command.';
CREATE INDEX notes_by_order ON pricetime.notes (order_id);
CREATE INDEX notes_by_account ON pricetime.notes (account, sequence, place);

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.notes
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

-- Called in the same statement as write_batch, so in the same transaction.
CREATE FUNCTION pricetime.write_notes(
    noted_order bigint[], noted_account bigint[], noted_kind text[], noted_price numeric[], noted_time timestamptz[],
    noted_sequence bigint[], noted_place bigint[], noted_next bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(noted_order) > 0 THEN
        INSERT INTO pricetime.notes (order_id, account, kind, price, time, sequence, place, next_execution)
            SELECT * FROM unnest(noted_order, noted_account, noted_kind, noted_price, noted_time, noted_sequence,
                noted_place, noted_next);
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_notes IS 'Used by the exchange server alone: what befell orders in a batch of commands.';
