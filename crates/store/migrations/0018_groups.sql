-- Groups of accounts. Source: docs/POSTGRES.md, groups.

CREATE TABLE pricetime.account_groups (
    account bigint PRIMARY KEY REFERENCES pricetime.accounts,
    group_number bigint NOT NULL CHECK (group_number BETWEEN 1 AND 999999999)
);
COMMENT ON TABLE pricetime.account_groups IS 'The groups of accounts. One without a row is of none.';
COMMENT ON COLUMN pricetime.account_groups.account IS 'Its number in accounts.';
COMMENT ON COLUMN pricetime.account_groups.group_number IS 'An order that is not to execute with its own account does not execute with those of the same group.';

CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.account_groups
    FOR EACH STATEMENT WHEN (current_setting('pricetime.server', true) IS DISTINCT FROM 'on')
    EXECUTE FUNCTION pricetime.refuse_change();

-- Called in the same statement as write_batch and behind it, so in the same transaction: it has inserted the accounts.
CREATE FUNCTION pricetime.write_groups(moved_account bigint[], moved_group bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(moved_account) > 0 THEN
        DELETE FROM pricetime.account_groups g USING unnest(moved_account) AS u(account) WHERE g.account = u.account;
        -- Who is of none has no row.
        INSERT INTO pricetime.account_groups (account, group_number)
            SELECT u.account, u.number FROM unnest(moved_account, moved_group) AS u(account, number) WHERE u.number > 0;
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_groups IS 'Used by the exchange server alone: the groups that a batch of commands put accounts into.';
