-- Who asked for which command. Source: docs/POSTGRES.md, audit trail.

CREATE TABLE pricetime.callers (
    id bigint PRIMARY KEY CHECK (id > 0),
    protocol text NOT NULL,
    session bigint NOT NULL,
    member text,
    key text,
    address inet NOT NULL
);
COMMENT ON TABLE pricetime.callers IS 'Who asked, on which connection. Whoever goes on asking has a row anew now and then, so that old ones can go.';
COMMENT ON COLUMN pricetime.callers.id IS 'The first command that was noted under it.';
COMMENT ON COLUMN pricetime.callers.session IS 'The connection: each has its own number, in the order of microseconds since 1970 at which they began.';
COMMENT ON COLUMN pricetime.callers.member IS 'Null if nobody proved to be a member.';
COMMENT ON COLUMN pricetime.callers.key IS 'What the member proved itself with, if that is known.';
COMMENT ON COLUMN pricetime.callers.address IS 'Where the connection came from.';

CREATE TABLE pricetime.audited (
    first_command bigint PRIMARY KEY CHECK (first_command > 0),
    anew boolean NOT NULL,
    times timestamptz[] NOT NULL,
    callers bigint[] NOT NULL,
    whats text[] NOT NULL,
    CHECK (cardinality(times) = cardinality(callers) AND cardinality(times) = cardinality(whats) AND cardinality(times) > 0)
);
CREATE INDEX audited_anew ON pricetime.audited (first_command) WHERE anew;
COMMENT ON TABLE pricetime.audited IS 'The commands of a transaction, from the first one on: when, whose, and what. The view audit shows a row for each.';
COMMENT ON COLUMN pricetime.audited.anew IS 'From here on no caller is named whose id is below the first command.';
COMMENT ON COLUMN pricetime.audited.callers IS 'Null for what the server gave by itself.';

CREATE VIEW pricetime.audit AS
    SELECT b.first_command + u.nth - 1 AS command, u.time, c.member, c.protocol, c.session, c.address, c.key, u.what,
        b.first_command
    FROM pricetime.audited b
    CROSS JOIN LATERAL unnest(b.times, b.callers, b.whats) WITH ORDINALITY AS u(time, caller, what, nth)
    LEFT JOIN pricetime.callers c ON c.id = u.caller;
COMMENT ON VIEW pricetime.audit IS 'Each command: when, who asked for it, over what, from where, and what it was. Commands that were refused before they got a number are none.';
COMMENT ON COLUMN pricetime.audit.first_command IS 'The first command of the same transaction: to ask for few by an index.';

CREATE VIEW pricetime.sessions AS
    SELECT c.session, c.protocol, c.address, c.member, c.key, min(c.id) AS first_command
    FROM pricetime.callers c GROUP BY c.session, c.protocol, c.address, c.member, c.key;
COMMENT ON VIEW pricetime.sessions IS 'Connections on which commands were asked for, and as which members.';
COMMENT ON COLUMN pricetime.sessions.first_command IS 'The first command that is kept of it.';

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['callers', 'audited'] LOOP
        EXECUTE format(
            'CREATE TRIGGER only_the_server BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON pricetime.%I'
            ' FOR EACH STATEMENT WHEN (current_setting(''pricetime.server'', true) IS DISTINCT FROM ''on'')'
            ' EXECUTE FUNCTION pricetime.refuse_change()', name);
    END LOOP;
END $$;

-- Called in the same statement as write_batch and behind it, so in the same transaction.
CREATE FUNCTION pricetime.write_audit(
    audit_first bigint, audit_anew boolean, audit_time timestamptz[], audit_caller bigint[], audit_what text[],
    caller_id bigint[], caller_protocol text[], caller_session bigint[], caller_member text[], caller_key text[],
    caller_address text[]
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF cardinality(caller_id) > 0 THEN
        INSERT INTO pricetime.callers (id, protocol, session, member, key, address)
            SELECT u.id, u.protocol, u.session, nullif(u.member, ''), nullif(u.key, ''), u.address::inet
            FROM unnest(caller_id, caller_protocol, caller_session, caller_member, caller_key, caller_address)
                AS u(id, protocol, session, member, key, address);
    END IF;
    IF cardinality(audit_time) > 0 THEN
        INSERT INTO pricetime.audited (first_command, anew, times, callers, whats)
            VALUES (audit_first, audit_anew, audit_time, audit_caller, audit_what);
    END IF;
END $$;
COMMENT ON FUNCTION pricetime.write_audit IS 'Used by the exchange server alone: who asked for a batch of commands.';

-- Removes what was noted before the first order that is kept; gives how many rows of commands went, not more than so many.
CREATE FUNCTION pricetime.remove_audit(most bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    kept_from bigint;
    removed bigint;
BEGIN
    SELECT max(b.first_command) INTO kept_from
    FROM pricetime.audited b CROSS JOIN pricetime.kept k CROSS JOIN pricetime.command_sequence s
    WHERE b.anew AND k.first_order > 1 AND b.first_command <= coalesce(
        (SELECT o.sequence FROM pricetime.orders o WHERE o.id >= k.first_order AND o.sequence IS NOT NULL ORDER BY o.id LIMIT 1),
        s.sequence + 1);
    DELETE FROM pricetime.audited a USING (
        SELECT first_command FROM pricetime.audited WHERE first_command < kept_from ORDER BY first_command LIMIT most
    ) g WHERE a.first_command = g.first_command;
    GET DIAGNOSTICS removed = ROW_COUNT;
    IF removed < most THEN
        DELETE FROM pricetime.callers WHERE id < kept_from;
    END IF;
    RETURN removed;
END $$;
COMMENT ON FUNCTION pricetime.remove_audit IS 'Used by the exchange server alone: what is no longer kept of who asked.';
