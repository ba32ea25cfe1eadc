-- Client order ids that are free again before their day is over. Source: docs/POSTGRES.md.

ALTER TABLE pricetime.client_orders ADD COLUMN freed boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN pricetime.client_orders.freed IS 'Whether the id was freed when the order was done: it does not stand for it any more.';

-- Called in the same statement as write_client_orders and behind it, so in the same transaction.
CREATE FUNCTION pricetime.write_freed_ids(freed_order bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    changed bigint;
BEGIN
    IF cardinality(freed_order) > 0 THEN
        UPDATE pricetime.client_orders c SET freed = true
            FROM unnest(freed_order) AS u(order_id) WHERE c.order_id = u.order_id AND c.done IS NOT NULL AND NOT c.freed;
        GET DIAGNOSTICS changed = ROW_COUNT;
        PERFORM pricetime.expect('client_orders', changed, cardinality(freed_order));
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_freed_ids IS 'Used by the exchange server alone: the orders whose client order ids a batch of commands freed.';
