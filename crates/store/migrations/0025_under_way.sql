-- Orders that are under way, and those that wait behind them. Source: docs/POSTGRES.md, orders that wait for their turn.

ALTER TABLE pricetime.waiting ALTER COLUMN trigger_price DROP NOT NULL, ALTER COLUMN from_below DROP NOT NULL,
    ADD COLUMN delayed text CHECK (delayed IN ('queued', 'under_way')),
    ADD COLUMN goes_to numeric(19,8) CHECK (goes_to > 0),
    ADD CONSTRAINT waiting_has_trigger CHECK ((trigger_price IS NULL) = (from_below IS NULL)),
    ADD CONSTRAINT waiting_is_delayed CHECK ((delayed IS NULL) = (goes_to IS NULL)),
    ADD CONSTRAINT waiting_for_what CHECK (CASE WHEN delayed IS NULL THEN trigger_price IS NOT NULL
        ELSE reached_sequence IS NOT NULL AND NOT follows END);
COMMENT ON TABLE pricetime.waiting IS 'The open orders that are on no book: they wait for a price, or, once that was reached, for their turn; or they are active and wait for their turn.';
COMMENT ON COLUMN pricetime.waiting.trigger_price IS 'The price that it waits for, or waited for; null for one that waited for none.';
COMMENT ON COLUMN pricetime.waiting.reached_sequence IS 'The command whose executions reached the price, or that had an active order wait for its turn; 0 if that was before an import; null if none has.';
COMMENT ON COLUMN pricetime.waiting.reached_nth IS 'Which one the price was among those that were reached, or the order among those that had to wait. Orders have their turns by reached_sequence, reached_nth and id; but of each symbol the one that is under way is first.';
COMMENT ON COLUMN pricetime.waiting.delayed IS 'under_way: it executed as often as one command does, and goes on with another one. queued: it comes to its book behind one that is under way. Null for one that waits for a price, or did and was not activated.';
COMMENT ON COLUMN pricetime.waiting.goes_to IS 'The worst price that an active order executes at: of a market order that is under way where it ends; else its limit.';

-- Called in the same statement as write_stops and behind it, so in the same transaction: those that wait again are there no more.
CREATE FUNCTION pricetime.write_delays(
    delayed_order bigint[], delayed_symbol bigint[], delayed_trigger numeric[], delayed_from_below boolean[], delayed_in bigint[],
    delayed_as bigint[], delayed_how text[], delayed_goes_to numeric[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(delayed_order) > 0 THEN
        INSERT INTO pricetime.waiting
                (order_id, symbol, trigger_price, from_below, reached_sequence, reached_nth, delayed, goes_to)
            SELECT * FROM unnest(delayed_order, delayed_symbol, delayed_trigger, delayed_from_below, delayed_in, delayed_as,
                delayed_how, delayed_goes_to);
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_delays IS 'Used by the exchange server alone: the active orders that a batch of commands had wait for their turn.';
