-- The audit log. Its functions run as the audit role, whose tables nobody else can write to. Who changes a table only
-- makes its trigger run; nobody can attach one of these functions to a table of their own.

SET LOCAL ROLE :"audit";

-- JSON that every reader of the log can read: not too long, not too deep, and without numbers of hundreds of digits.
CREATE FUNCTION semblance_audit.is_plain(value text, longest integer) RETURNS boolean LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bare text;
BEGIN
    IF value IS NULL THEN
        RETURN true;
    END IF;
    IF length(value) > longest THEN
        RETURN false;
    END IF;
    -- The program writes NaN and Infinity too, which are no JSON.
    IF value IS NOT JSON AND regexp_replace(value, '-?\m(NaN|Infinity)\M', '0', 'g') IS NOT JSON THEN
        RETURN false;
    END IF;
    bare := regexp_replace(value, '"([^"\\]|\\.)*"', '""', 'g');
    IF bare ~ '[0-9]{255}' THEN
        RETURN false;
    END IF;
    FOR level IN 1 .. 64 LOOP
        EXIT WHEN bare !~ '[][{}]';
        bare := regexp_replace(bare, '[\[{][^][{}]*[\]}]', '0', 'g');
    END LOOP;
    RETURN bare !~ '[][{}]';
END $$;

-- Puts what waits into the chain of hashes. Where another transaction does so, it takes these entries along later, so
-- that nobody who keeps a transaction open keeps others from working.
CREATE FUNCTION semblance_audit.seal() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    head semblance_audit.audit_head%ROWTYPE;
    one semblance_audit.audit_waiting%ROWTYPE;
BEGIN
    SELECT * INTO head FROM semblance_audit.audit_head FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    FOR one IN SELECT * FROM semblance_audit.audit_waiting ORDER BY id LOOP
        DELETE FROM semblance_audit.audit_waiting w WHERE w.id = one.id;
        head.number := head.number + 1;
        head.hash := encode(sha256(convert_to(concat_ws(E'\n', head.hash, head.number, one.time,
            to_json(one."by")::text, one.action, one.detail), 'UTF8')), 'hex');
        INSERT INTO semblance_audit.audit_log (number, time, by, action, detail, hash)
            VALUES (head.number, one.time, one."by", one.action, one.detail, head.hash);
        UPDATE semblance_audit.audit_head SET number = head.number, hash = head.hash;
    END LOOP;
END $$;

-- The server alone calls it: who and when is its own knowledge.
CREATE FUNCTION semblance_audit.append(action text, detail jsonb) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT semblance_audit.is_plain(detail::text, 100000) THEN
        RAISE check_violation USING MESSAGE = 'the entry is too long, too deep or has too large a number';
    END IF;
    INSERT INTO semblance_audit.audit_waiting (time, by, action, detail)
        VALUES (to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"'), session_user,
            action, detail::text);
    PERFORM semblance_audit.seal();
END $$;

-- Searches, views and exports, which the program reports. The server adds the project.
CREATE FUNCTION semblance_audit.audit_event(place text, action text, detail text) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF semblance_projects.right_in(place) IS NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'permission denied to write to the audit log';
    END IF;
    IF action IS NULL OR action NOT IN ('search', 'view', 'export') THEN
        RAISE check_violation USING MESSAGE = 'no such action';
    END IF;
    IF detail IS NULL OR NOT semblance_audit.is_plain(detail, 100000) OR detail IS NOT JSON OBJECT THEN
        RAISE check_violation USING MESSAGE = 'the entry is no object of JSON, too long, too deep or has too large a number';
    END IF;
    PERFORM semblance_audit.append(action, detail::jsonb - 'project' || coalesce(
        (SELECT jsonb_build_object('project', p.name) FROM semblance.projects p WHERE p.place = audit_event.place), '{}'));
END $$;

-- Counts the rows that a statement changed. They are logged when the transaction ends, one entry for each table.
CREATE FUNCTION semblance_audit.count_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changed bigint;
BEGIN
    IF tg_op = 'TRUNCATE' THEN
        changed := -1;
    ELSE
        SELECT count(*) INTO changed FROM changed_rows;
    END IF;
    IF changed <> 0 THEN
        INSERT INTO semblance_audit.audit_pending (transaction, relation, operation, rows)
            VALUES (pg_current_xact_id()::text, concat(tg_table_schema, '.', tg_table_name), lower(tg_op), changed)
        ON CONFLICT (transaction, relation, operation)
            DO UPDATE SET rows = audit_pending.rows + excluded.rows;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION semblance_audit.log_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    counted bigint;
    home CONSTANT text := split_part(new.relation, '.', 1);
    relation CONSTANT text := split_part(new.relation, '.', 2);
BEGIN
    DELETE FROM semblance_audit.audit_pending p
        WHERE (p.transaction, p.relation, p.operation) = (new.transaction, new.relation, new.operation)
        RETURNING p.rows INTO counted;
    IF counted IS NOT NULL THEN
        PERFORM semblance_audit.append('change', jsonb_build_object('table', relation, 'operation', new.operation,
            'rows', nullif(counted, -1)) || coalesce(
            (SELECT jsonb_build_object('project', p.name) FROM semblance.projects p WHERE p.place = home), '{}'));
        PERFORM pg_notify(home, relation);
    END IF;
    RETURN NULL;
END $$;

-- Who made, extended or closed a project, and whom they let in.
CREATE FUNCTION semblance_audit.log_project() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    changed CONSTANT jsonb := to_jsonb(CASE tg_op WHEN 'DELETE' THEN old ELSE new END);
    number CONSTANT integer := coalesce(changed->>'project', changed->>'id')::integer;
    project CONSTANT text := coalesce(changed->>'name',
        (SELECT p.name FROM semblance.projects p WHERE p.id = number));
BEGIN
    PERFORM semblance_audit.append('project', jsonb_build_object('table', tg_table_name, 'operation', lower(tg_op),
        'project', project, 'row', changed - 'key' - 'place'));
    -- Those who have it open ask whether they still may.
    PERFORM pg_notify(coalesce(changed->>'place', (SELECT p.place FROM semblance.projects p WHERE p.id = number)),
        tg_table_name);
    RETURN NULL;
END $$;

CREATE FUNCTION semblance_audit.refuse_change() RETURNS trigger LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE insufficient_privilege USING MESSAGE = 'the audit log cannot be changed';
END $$;

CREATE TRIGGER only_added BEFORE UPDATE OR DELETE OR TRUNCATE ON semblance_audit.audit_log
    FOR EACH STATEMENT EXECUTE FUNCTION semblance_audit.refuse_change();
CREATE CONSTRAINT TRIGGER log_changes AFTER INSERT ON semblance_audit.audit_pending DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION semblance_audit.log_change();

-- Of an entry of any kind; NULL where it names no project.
CREATE FUNCTION semblance_audit.project_of(detail text) RETURNS text LANGUAGE plpgsql IMMUTABLE
SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN detail::jsonb->>'project';
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END $$;

RESET ROLE;
