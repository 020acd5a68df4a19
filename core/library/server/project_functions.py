"""Projects as the server knows them: sets of cases for one purpose and a limited time, each a library of its own.

A project has the tables of a library in a schema of its own. Nobody has a right by a role there: policies for rows ask
whether the account is a member, whether the project is closed, and whether its date has passed.

Who made the library owns the lists of projects and the functions, as the audit log, so that administrators can change
neither. What a project has of the tables of the library belongs to administrators, as these do. Making a project calls
nothing that an administrator can change.
"""

from __future__ import annotations

import sqlalchemy as sa

from semblance.core.library.server.people import apply_rights
from semblance.core.library.server.tables import LOBBY, SCHEMA, project_cases, project_members, projects

_CALLED = "SECURITY DEFINER SET search_path = semblance, public, pg_temp"

#: Curators and administrators manage projects; so does the owner, as long as nobody was given a right.
_MAY_MANAGE = f"""
CREATE FUNCTION semblance_projects.may_manage() RETURNS boolean LANGUAGE sql STABLE {_CALLED} AS $$
    SELECT has_table_privilege(session_user, 'semblance.cases', 'UPDATE')
$$
"""
_RIGHT_IN = f"""
CREATE FUNCTION semblance_projects.right_in(place text) RETURNS text LANGUAGE sql STABLE {_CALLED} AS $$
    SELECT CASE WHEN semblance_projects.may_manage()
        THEN CASE WHEN has_right('administrator') THEN 'administrator' ELSE 'curator' END
        ELSE (
            SELECT m."right" FROM projects p JOIN project_members m ON m.project = p.id
            WHERE p.place = right_in.place AND m.person = session_user AND p.closed IS NULL
                AND p.until >= to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD')
        ) END
$$
"""
#: Whoever is no member learns the same of a project as of none.
_STATE = f"""
CREATE FUNCTION semblance_projects.state(wanted text, OUT state text, OUT until text)
LANGUAGE sql STABLE {_CALLED} AS $$
    SELECT CASE
            WHEN p.closed IS NOT NULL THEN 'closed'
            WHEN p.until < to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD') THEN 'expired'
            ELSE 'open'
        END, p.until
    FROM projects p
    WHERE p.name = wanted AND (semblance_projects.may_manage() OR EXISTS (
        SELECT FROM project_members m WHERE m.project = p.id AND m.person = session_user))
$$
"""
_MINE = f"""
CREATE FUNCTION semblance_projects.mine() RETURNS TABLE (name text, purpose text, until text, "right" text)
LANGUAGE sql STABLE {_CALLED} AS $$
    SELECT p.name, p.purpose, p.until, semblance_projects.right_in(p.place) FROM projects p
    WHERE semblance_projects.right_in(p.place) IS NOT NULL AND p.closed IS NULL
        AND p.until >= to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD')
    ORDER BY p.name
$$
"""
#: The tables, triggers and functions of a library are copied as they are, so that later revisions need no other list.
_MAKE = """
CREATE FUNCTION semblance_projects.make(name text, purpose text, until text, place text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $make$
DECLARE
    tables CONSTANT text[] := (SELECT array_agg(tablename ORDER BY tablename) FROM pg_tables
        WHERE schemaname = 'semblance' AND tablename <> ALL (ARRAY[{tables}]) AND tablename !~ '^embedding_[0-9]+$');
    judged CONSTANT text[] := ARRAY['judgements', 'concepts', 'concept_marks'];
    shared CONSTANT text[] := ARRAY['searches', 'thumbnails', 'outlines'];
    made integer;
    one record;
    relation text;
    definition text;
    held CONSTANT text := format('(SELECT semblance_projects.right_in(%L))', place);
    judges CONSTANT text := held || ' <> ''reader''';
    curates CONSTANT text := held || ' IN (''curator'', ''administrator'')';
BEGIN
    IF NOT semblance_projects.may_manage() THEN
        RAISE insufficient_privilege USING MESSAGE = 'permission denied to make a project';
    END IF;
    IF place !~ '^semblance_project_[0-9a-f]{{16}}$' THEN
        RAISE check_violation USING MESSAGE = 'no such schema of a project';
    END IF;
    INSERT INTO semblance.projects (name, purpose, until, created, by, place, key)
        VALUES (name, purpose, until, to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"'),
            session_user, place, encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex'))
        RETURNING id INTO made;
    EXECUTE format('CREATE SCHEMA %I', place);
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO PUBLIC', place);
    EXECUTE format('CREATE SEQUENCE %I.embedding_numbers', place);
    EXECUTE format('GRANT USAGE ON SEQUENCE %I.embedding_numbers TO PUBLIC', place);
    FOREACH relation IN ARRAY tables LOOP
        EXECUTE format('CREATE TABLE %I.%I (LIKE semblance.%I INCLUDING ALL)', place, relation, relation);
        FOR one IN
            SELECT a.attname FROM pg_attribute a JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
            WHERE a.attrelid = format('%I.%I', place, relation)::regclass
                AND pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%'
        LOOP
            EXECUTE format('CREATE SEQUENCE %1$I.%2$I AS integer OWNED BY %1$I.%3$I.%4$I', place,
                relation || '_' || one.attname || '_seq', relation, one.attname);
            EXECUTE format('ALTER TABLE %I.%I ALTER COLUMN %I SET DEFAULT nextval(%L)', place, relation, one.attname,
                format('%I.%I', place, relation || '_' || one.attname || '_seq'));
            EXECUTE format('GRANT USAGE ON SEQUENCE %I.%I TO PUBLIC', place, relation || '_' || one.attname || '_seq');
        END LOOP;
    END LOOP;
    FOR one IN
        SELECT c.conname, c.conrelid, pg_get_constraintdef(c.oid) AS definition, r.relname FROM pg_constraint c
        JOIN pg_class r ON r.oid = c.conrelid
        WHERE r.relnamespace = 'semblance'::regnamespace AND c.contype = 'f' AND r.relname = ANY (tables)
    LOOP
        EXECUTE format('ALTER TABLE %I.%I ADD CONSTRAINT %I %s', place, one.relname, one.conname,
            replace(one.definition, 'semblance.', place || '.'));
    END LOOP;
    EXECUTE format($has$
        CREATE FUNCTION %1$I.has_right(wanted text) RETURNS boolean LANGUAGE sql STABLE AS $body$
            SELECT coalesce(array_position(ARRAY['reader', 'annotator', 'curator', 'administrator'], wanted)
                <= array_position(ARRAY['reader', 'annotator', 'curator', 'administrator'],
                    semblance_projects.right_in(%1$L)), false)
        $body$ $has$, place);
    FOR one IN
        SELECT oid FROM pg_proc WHERE pronamespace = 'semblance'::regnamespace AND proname <> ALL (ARRAY[{functions}])
    LOOP
        definition := pg_get_functiondef(one.oid);
        definition := replace(replace(definition, 'semblance.', place || '.'), '''semblance''', quote_literal(place));
        EXECUTE definition;
    END LOOP;
    -- People have no role in a project: whoever may read it reads its embeddings.
    EXECUTE format($embed$
        CREATE FUNCTION %1$I.make_embedding(dimensions integer) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = %1$I, public, pg_temp AS $body$
        DECLARE
            made bigint := nextval('%1$I.embedding_numbers');
        BEGIN
            IF NOT semblance_projects.may_manage() THEN
                RAISE insufficient_privilege USING MESSAGE = 'permission denied to make an embedding';
            END IF;
            EXECUTE format('CREATE TABLE %%I ("case" integer PRIMARY KEY, chunk integer NOT NULL, near halfvec(%%s) '
                'NOT NULL, exact bytea NOT NULL)', 'embedding_' || made, dimensions);
            EXECUTE format('ALTER TABLE %%I ALTER COLUMN exact SET STORAGE EXTERNAL', 'embedding_' || made);
            EXECUTE format('ALTER TABLE %%I ENABLE ROW LEVEL SECURITY', 'embedding_' || made);
            EXECUTE format('CREATE POLICY members ON %%I FOR SELECT USING (%%s IS NOT NULL)', 'embedding_' || made,
                %2$L);
            EXECUTE format('CREATE POLICY curators ON %%I USING (%%s)', 'embedding_' || made, %3$L);
            EXECUTE format('GRANT SELECT ON %%I TO PUBLIC', 'embedding_' || made);
            PERFORM semblance_projects.share(%1$L);
            RETURN made;
        END $body$ $embed$, place, held, curates);
    EXECUTE format($event$
        CREATE FUNCTION %1$I.audit_event(action text, detail text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = semblance, public, pg_temp AS $body$
        BEGIN
            IF semblance_projects.right_in(%1$L) IS NULL THEN
                RAISE insufficient_privilege USING MESSAGE = 'permission denied for the project';
            END IF;
            IF action NOT IN ('search', 'view', 'export') OR jsonb_typeof(detail::jsonb) <> 'object' THEN
                RAISE check_violation USING MESSAGE = 'no such action';
            END IF;
            PERFORM append_audit(action, (detail::jsonb || jsonb_build_object('project', %2$L))::text);
        END $body$ $event$, place, name);
    FOR one IN
        SELECT pg_get_triggerdef(t.oid) AS definition FROM pg_trigger t JOIN pg_class r ON r.oid = t.tgrelid
        WHERE r.relnamespace = 'semblance'::regnamespace AND r.relname = ANY (tables) AND NOT t.tgisinternal
    LOOP
        EXECUTE replace(replace(one.definition, 'semblance.', place || '.'),
            place || '.count_change(', 'semblance.count_change(');
    END LOOP;
    FOREACH relation IN ARRAY tables LOOP
        EXECUTE format('GRANT SELECT ON %I.%I TO PUBLIC', place, relation);
        EXECUTE format('ALTER TABLE %I.%I ENABLE ROW LEVEL SECURITY', place, relation);
        EXECUTE format('CREATE POLICY members ON %I.%I FOR SELECT USING (%s IS NOT NULL)', place, relation, held);
        IF relation = ANY (judged) THEN
            definition := format('(author = session_user::text AND %s) OR %s', judges, curates);
            EXECUTE format('CREATE POLICY add_own ON %I.%I FOR INSERT WITH CHECK (%s)', place, relation, definition);
            EXECUTE format('CREATE POLICY change_own ON %I.%I FOR UPDATE USING (%s IS NOT NULL) WITH CHECK (%s)', place,
                relation, held, definition);
            EXECUTE format('CREATE POLICY delete_own ON %I.%I FOR DELETE USING (%s)', place, relation, definition);
        ELSIF relation = ANY (shared) THEN
            EXECUTE format('CREATE POLICY annotators ON %I.%I USING (%s)', place, relation, judges);
        ELSE
            EXECUTE format('CREATE POLICY curators ON %I.%I USING (%s)', place, relation, curates);
        END IF;
        IF relation = ANY (judged || shared) THEN
            EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %I.%I TO PUBLIC', place, relation);
        END IF;
    END LOOP;
    EXECUTE format('GRANT INSERT ON %I.reader_answers TO PUBLIC', place);
    EXECUTE format('CREATE POLICY annotators ON %I.reader_answers FOR INSERT WITH CHECK (%s)', place, judges);
    EXECUTE format('GRANT UPDATE (number) ON %I.library_state TO PUBLIC', place);
    EXECUTE format('CREATE POLICY annotators ON %I.library_state FOR UPDATE USING (%s)', place, judges);
    EXECUTE format('CREATE VIEW %I.alembic_version AS SELECT * FROM semblance.alembic_version', place);
    EXECUTE format('CREATE VIEW %I.audit_log WITH (security_barrier) AS SELECT * FROM semblance.audit_log '
        'WHERE (SELECT semblance_projects.may_manage()) AND detail::json->>''project'' = %L', place, name);
    EXECUTE format('GRANT SELECT ON %1$I.alembic_version, %1$I.audit_log TO PUBLIC', place);
    PERFORM semblance_projects.share(place);
    RETURN made;
END $make$
"""
#: What curators may change in a project, who have a role; and what administrators own, so that they can update it.
_SHARE = f"""
CREATE FUNCTION semblance_projects.share(place text) RETURNS void LANGUAGE plpgsql {_CALLED} AS $$
DECLARE
    curators text := (SELECT role FROM library_roles WHERE name = 'curator');
    administrators text := (SELECT role FROM library_roles WHERE name = 'administrator');
    one record;
BEGIN
    IF NOT semblance_projects.may_manage() THEN
        RAISE insufficient_privilege USING MESSAGE = 'permission denied to share a project';
    END IF;
    IF curators IS NULL OR NOT EXISTS (SELECT FROM projects p WHERE p.place = share.place) THEN
        RETURN;
    END IF;
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO %I', place, curators);
    EXECUTE format('GRANT USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA %I TO %I', place, curators);
    EXECUTE format('GRANT USAGE, CREATE ON SCHEMA %I TO %I', place, administrators);
    FOR one IN
        SELECT format('TABLE %s', c.oid::regclass) AS owned FROM pg_class c
            WHERE c.relnamespace = place::regnamespace AND c.relkind = 'r'
        UNION ALL SELECT format('FUNCTION %s', p.oid::regprocedure) FROM pg_proc p
            WHERE p.pronamespace = place::regnamespace AND p.proname NOT IN ('has_right', 'audit_event')
    LOOP
        EXECUTE format('ALTER %s OWNER TO %I', one.owned, administrators);
    END LOOP;
    EXECUTE format('ALTER SEQUENCE %I.embedding_numbers OWNER TO %I', place, administrators);
END $$
"""
_DROP = f"""
CREATE FUNCTION semblance_projects.remove(project text) RETURNS void LANGUAGE plpgsql {_CALLED} AS $$
DECLARE
    found projects%ROWTYPE;
BEGIN
    IF NOT semblance_projects.may_manage() THEN
        RAISE insufficient_privilege USING MESSAGE = 'permission denied to remove a project';
    END IF;
    SELECT * INTO STRICT found FROM projects p WHERE p.name = project;
    EXECUTE format('DROP SCHEMA %I CASCADE', found.place);
    DELETE FROM project_cases c WHERE c.project = found.id;
    DELETE FROM project_members m WHERE m.project = found.id;
    DELETE FROM projects p WHERE p.id = found.id;
END $$
"""
#: As before, with the schema of a project.
_COUNT = f"""
CREATE OR REPLACE FUNCTION count_change() RETURNS trigger LANGUAGE plpgsql {_CALLED} AS $$
DECLARE
    changed bigint;
BEGIN
    IF tg_op = 'TRUNCATE' THEN
        changed := -1;
    ELSE
        SELECT count(*) INTO changed FROM changed_rows;
    END IF;
    IF changed <> 0 THEN
        INSERT INTO audit_pending (transaction, relation, operation, rows)
            VALUES (pg_current_xact_id()::text, CASE tg_table_schema WHEN 'semblance' THEN tg_table_name
                ELSE tg_table_schema || '.' || tg_table_name END, lower(tg_op), changed)
        ON CONFLICT (transaction, relation, operation) DO UPDATE SET rows = audit_pending.rows + excluded.rows;
    END IF;
    RETURN NULL;
END $$
"""
_LOG = f"""
CREATE OR REPLACE FUNCTION log_change() RETURNS trigger LANGUAGE plpgsql {_CALLED} AS $$
DECLARE
    counted bigint;
    home text := CASE WHEN strpos(new.relation, '.') > 0 THEN split_part(new.relation, '.', 1) ELSE 'semblance' END;
    called text := split_part(new.relation, '.', CASE home WHEN 'semblance' THEN 1 ELSE 2 END);
BEGIN
    DELETE FROM audit_pending p
        WHERE (p.transaction, p.relation, p.operation) = (new.transaction, new.relation, new.operation)
        RETURNING p.rows INTO counted;
    IF counted IS NOT NULL THEN
        IF home = 'semblance' THEN
            PERFORM append_audit('change', json_build_object('table', called, 'operation', new.operation,
                'rows', nullif(counted, -1))::text);
        ELSE
            PERFORM append_audit('change', json_build_object('table', called, 'operation', new.operation,
                'rows', nullif(counted, -1), 'project',
                (SELECT p.name FROM projects p WHERE p.place = home))::text);
        END IF;
        PERFORM pg_notify(home, called);
    END IF;
    RETURN NULL;
END $$
"""
#: Who made, extended or closed a project, and whom they let in.
_LOG_PROJECT = f"""
CREATE FUNCTION log_project() RETURNS trigger LANGUAGE plpgsql {_CALLED} AS $$
DECLARE
    changed jsonb := to_jsonb(CASE tg_op WHEN 'DELETE' THEN old ELSE new END);
    project integer := coalesce((changed->>'project')::integer, (changed->>'id')::integer);
    home text := coalesce(changed->>'place', (SELECT p.place FROM projects p WHERE p.id = project));
BEGIN
    PERFORM append_audit('project', json_build_object('table', tg_table_name, 'operation', lower(tg_op), 'project',
        coalesce(changed->>'name', (SELECT p.name FROM projects p WHERE p.id = project)),
        'row', changed - 'key' - 'place')::text);
    -- Those who have it open ask whether they still may.
    PERFORM pg_notify(home, tg_table_name);
    RETURN NULL;
END $$
"""
#: The tables and functions of a library that a project has no copy of.
_KEPT_TABLES = (
    "alembic_version", "library_roles", "audit_log", "audit_head", "audit_pending", "projects", "project_members",
    "project_cases",
)  # fmt: skip
_KEPT_FUNCTIONS = (
    "append_audit", "audit_event", "count_change", "log_change", "log_project", "refuse_change", "has_right",
    "make_embedding",
)  # fmt: skip

#: Whether the library is ready for projects, and whether the account may act as who made it.
_READY = sa.text(
    f"SELECT to_regnamespace('{LOBBY}') IS NOT NULL AS ready, pg_has_role(nspowner, 'USAGE') AS may, "
    f"quote_ident(pg_get_userbyid(nspowner)) AS owner FROM pg_namespace WHERE nspname = '{SCHEMA}'"
)


def prepare_projects(connection: sa.Connection) -> bool:
    """Create the lists of projects and the functions that everybody may call, unless they are there. Returns whether
    they are: only the account that made the library can create them."""
    found = connection.execute(_READY).one()
    if found.ready or not found.may:
        return bool(found.ready)
    run = connection.exec_driver_sql
    # A superuser would give its own rights to the functions.
    run(f"SET LOCAL ROLE {found.owner}")
    # Administrators owned it, which functions with the owner's rights read.
    run("ALTER TABLE library_roles OWNER TO CURRENT_USER")
    run(f"CREATE SCHEMA {LOBBY}")
    run(f"GRANT USAGE ON SCHEMA {LOBBY} TO PUBLIC")
    for table in (projects, project_members, project_cases):
        table.create(connection)
    lists = {
        name: ", ".join(f"'{one}'" for one in listed)
        for name, listed in (("tables", _KEPT_TABLES), ("functions", _KEPT_FUNCTIONS))
    }
    make = _MAKE.format(**lists)
    for statement in (_MAY_MANAGE, _RIGHT_IN, _STATE, _MINE, _SHARE, make, _DROP, _COUNT, _LOG, _LOG_PROJECT):
        run(statement.replace("%", "%%"))
    for operation, rows in (("INSERT", "NEW"), ("UPDATE", "NEW"), ("DELETE", "OLD")):
        run(
            f"CREATE TRIGGER audited_{operation.lower()} AFTER {operation} ON project_cases REFERENCING {rows} TABLE "
            "AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION count_change()"
        )
    for table in (projects, project_members):
        run(
            f"CREATE TRIGGER logged AFTER INSERT OR UPDATE OR DELETE ON {table.name} FOR EACH ROW "
            "EXECUTE FUNCTION log_project()"
        )
    run("RESET ROLE")
    apply_rights(connection)
    return True
