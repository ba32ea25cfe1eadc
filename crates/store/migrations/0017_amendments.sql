-- What was taken off orders, one reduction at a time. Source: docs/POSTGRES.md, amendments.

ALTER TABLE pricetime.notes ADD COLUMN taken numeric(19,8) CHECK (taken > 0);
ALTER TABLE pricetime.notes ADD COLUMN taken_in_all numeric(19,8) CHECK (taken_in_all >= taken);
ALTER TABLE pricetime.notes ADD COLUMN why smallint CHECK (why IN (1, 5));
ALTER TABLE pricetime.notes DROP CONSTRAINT notes_kind_check;
ALTER TABLE pricetime.notes ADD CONSTRAINT notes_kind_check CHECK (kind IN ('triggered', 'linked', 'amended'));
ALTER TABLE pricetime.notes ADD CONSTRAINT notes_amended_check
    CHECK ((kind = 'amended') = (taken IS NOT NULL AND taken_in_all IS NOT NULL AND why IS NOT NULL));
COMMENT ON COLUMN pricetime.notes.kind IS 'triggered: an execution had reached the price that the order waited for, and it is active from then on. linked: it is canceled when something happens to another order, and the other way round. amended: shares were taken off it, and it kept its place.';
COMMENT ON COLUMN pricetime.notes.taken IS 'Of what was amended: how many shares were taken off.';
COMMENT ON COLUMN pricetime.notes.taken_in_all IS 'Of what was amended: how many were taken off the order until then, these among them. What is left of shares in orders is what the order had from then on.';
COMMENT ON COLUMN pricetime.notes.why IS 'Of what was amended, as in cancellations: 1: its account asked for it. 5: they would have executed with an order of its own account.';

-- Called in the same statement as write_terms and behind it, so in the same transaction: it has counted what the batch took off.
CREATE FUNCTION pricetime.write_amendments(
    amended_order bigint[], amended_account bigint[], amended_taken numeric[], amended_why bigint[],
    amended_time timestamptz[], amended_sequence bigint[], amended_place bigint[], amended_next bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(amended_order) > 0 THEN
        INSERT INTO pricetime.notes (order_id, account, kind, taken, taken_in_all, why, time, sequence, place, next_execution)
            SELECT u.id, u.account, 'amended', u.taken,
                d.shares - sum(u.taken) OVER (PARTITION BY u.id)
                    + sum(u.taken) OVER (PARTITION BY u.id ORDER BY u.sequence, u.place),
                u.why, u.time, u.sequence, u.place, u.next
            FROM unnest(amended_order, amended_account, amended_taken, amended_why, amended_time, amended_sequence,
                amended_place, amended_next) AS u(id, account, taken, why, time, sequence, place, next)
            JOIN pricetime.reductions d ON d.order_id = u.id;
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_amendments IS 'Used by the exchange server alone: what was taken off orders in a batch of commands, one reduction at a time.';
