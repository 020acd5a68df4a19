-- Projects: a library of chosen cases in a schema of its own. Nobody has a right there by a role alone: policies of rows
-- ask whether the account is a member, whether the project is closed, and whether its last day has passed.

SET LOCAL ROLE :"owner";

-- The name of the role for a right in the library, or in a project.
CREATE OR REPLACE FUNCTION semblance_projects.role_in(place text, wanted text) RETURNS text LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.role FROM semblance.library_roles r
    WHERE r.name = CASE WHEN place <> 'semblance' AND wanted IN ('reader', 'annotator') THEN 'project_' ELSE '' END || wanted
$$;

-- Give one table to those who may write to it. `writers`: see semblance_projects.tables().
CREATE OR REPLACE FUNCTION semblance_projects.share(place text, relation text, writers text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    target CONSTANT text := format('%I.%I', place, relation);
    readers CONSTANT text := semblance_projects.role_in(place, 'reader');
    annotators CONSTANT text := semblance_projects.role_in(place, 'annotator');
    curators CONSTANT text := semblance_projects.role_in(place, 'curator');
    judges CONSTANT text := format('(SELECT semblance_projects.has_right(%L, ''annotator''))', place);
    curates CONSTANT text := format('(SELECT semblance_projects.has_right(%L, ''curator''))', place);
    own CONSTANT text := format('author = session_user::text AND %s OR %s', judges, curates);
    numbers text;
BEGIN
    IF writers = 'none' THEN
        RETURN;
    END IF;
    EXECUTE format('GRANT SELECT ON %s TO %I', target, readers);
    IF place <> 'semblance' OR writers = 'author' THEN
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', target);
        EXECUTE format('CREATE POLICY members ON %s FOR SELECT USING ((SELECT semblance_projects.right_in(%L)) IS NOT NULL)',
            target, place);
    END IF;
    IF writers = 'server' THEN
        RETURN;
    END IF;
    EXECUTE format('GRANT %s ON %s TO %I', CASE writers WHEN 'answer' THEN 'DELETE' ELSE 'INSERT, UPDATE, DELETE' END,
        target, curators);
    IF writers = 'author' THEN
        EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %s TO %I', target, annotators);
        EXECUTE format('CREATE POLICY add_own ON %s FOR INSERT WITH CHECK (%s)', target, own);
        -- The row is found and then refused, because a change of nothing would go unnoticed.
        EXECUTE format('CREATE POLICY change_own ON %s FOR UPDATE USING (%s) WITH CHECK (%s)', target, judges, own);
        EXECUTE format('CREATE POLICY delete_own ON %s FOR DELETE USING (%s)', target, own);
    ELSIF writers = 'annotator' THEN
        EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %s TO %I', target, annotators);
    ELSIF writers = 'answer' THEN
        EXECUTE format('GRANT INSERT ON %s TO %I', target, annotators);
    END IF;
    IF place <> 'semblance' AND writers = 'annotator' THEN
        EXECUTE format('CREATE POLICY writers ON %s USING (%s)', target, judges);
    ELSIF place <> 'semblance' AND writers <> 'author' THEN
        EXECUTE format('CREATE POLICY writers ON %s USING (%s)', target, curates);
        IF writers = 'answer' THEN
            EXECUTE format('CREATE POLICY answers ON %s FOR INSERT WITH CHECK (%s)', target, judges);
        END IF;
    END IF;
    FOR numbers IN
        SELECT format('%s', d.objid::regclass) FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
        WHERE d.refobjid = target::regclass AND d.deptype = 'a'
    LOOP
        EXECUTE format('GRANT USAGE, UPDATE ON SEQUENCE %s TO %I', numbers, curators);
        IF writers IN ('author', 'annotator') THEN
            EXECUTE format('GRANT USAGE ON SEQUENCE %s TO %I', numbers, annotators);
        END IF;
    END LOOP;
END $$;

-- Give all tables of the library, or of a project, with their triggers.
CREATE OR REPLACE FUNCTION semblance_projects.share_all(place text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    one record;
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', place, semblance_projects.role_in(place, 'reader'));
    PERFORM semblance_projects.add_triggers(place);
    FOR one IN SELECT t.name, t.writers FROM semblance_projects.tables() t LOOP
        PERFORM semblance_projects.share(place, one.name, one.writers);
    END LOOP;
    FOR one IN SELECT c.relname FROM pg_class c
        WHERE c.relnamespace = place::regnamespace AND c.relkind = 'r' AND c.relname ~ '^embedding_[0-9]+$'
    LOOP
        PERFORM semblance_projects.share(place, one.relname, 'curator');
    END LOOP;
    IF place <> 'semblance' THEN
        EXECUTE format('CREATE VIEW %I.alembic_version AS SELECT version_num FROM semblance.alembic_version', place);
        EXECUTE format('GRANT SELECT ON %I.alembic_version TO %I', place, semblance_projects.role_in(place, 'reader'));
    END IF;
END $$;

-- Make tables of a project as the library has them.
CREATE OR REPLACE FUNCTION semblance_projects.add_tables(place text, names text[]) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name text;
    one record;
BEGIN
    FOREACH name IN ARRAY names LOOP
        EXECUTE format('CREATE TABLE %I.%I (LIKE semblance.%I INCLUDING ALL)', place, name, name);
    END LOOP;
    -- Numbers of its own, and references to its own tables.
    FOR one IN
        SELECT r.relname, a.attname, r.relname || '_' || a.attname || '_seq' AS numbers
        FROM pg_attrdef d JOIN pg_class r ON r.oid = d.adrelid
        JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
        WHERE r.relnamespace = add_tables.place::regnamespace AND r.relname = ANY(names)
            AND pg_get_expr(d.adbin, d.adrelid) LIKE 'nextval(%'
    LOOP
        EXECUTE format('CREATE SEQUENCE %1$I.%2$I AS integer OWNED BY %1$I.%3$I.%4$I', place, one.numbers, one.relname,
            one.attname);
        EXECUTE format('ALTER TABLE %I.%I ALTER COLUMN %I SET DEFAULT nextval(%L)', place, one.relname, one.attname,
            format('%I.%I', place, one.numbers));
    END LOOP;
    FOR one IN
        SELECT c.conname, r.relname, pg_get_constraintdef(c.oid) AS definition FROM pg_constraint c
        JOIN pg_class r ON r.oid = c.conrelid
        WHERE r.relnamespace = 'semblance'::regnamespace AND r.relname = ANY(names) AND c.contype = 'f'
    LOOP
        EXECUTE format('ALTER TABLE %I.%I ADD CONSTRAINT %I %s', place, one.relname, one.conname,
            replace(one.definition, 'semblance.', place || '.'));
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION semblance_projects.make(name text, purpose text, until date, place text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    made integer;
BEGIN
    PERFORM semblance_projects.check_right('semblance', 'curator');
    IF place !~ '^semblance_project_[0-9a-f]{16}$' THEN
        RAISE check_violation USING MESSAGE = 'no such schema of a project';
    END IF;
    INSERT INTO semblance.projects (name, purpose, until, created, by, place, key)
        VALUES (name, purpose, until, to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"'),
            session_user, place, encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex'))
        RETURNING id INTO made;
    EXECUTE format('CREATE SCHEMA %I', place);
    EXECUTE format('CREATE SEQUENCE %I.embedding_numbers', place);
    PERFORM semblance_projects.add_tables(place, ARRAY(SELECT t.name FROM semblance_projects.tables() t));
    EXECUTE format('INSERT INTO %I.library_state DEFAULT VALUES', place);
    EXECUTE format('INSERT INTO %I.locks SELECT name FROM semblance.locks', place);
    PERFORM semblance_projects.share_all(place);
    EXECUTE format('INSERT INTO %I.meta SELECT key, value FROM semblance.meta WHERE key = ''schema''', place);
    RETURN made;
END $$;

CREATE OR REPLACE FUNCTION semblance_projects.remove(project text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found semblance.projects%ROWTYPE;
BEGIN
    PERFORM semblance_projects.check_right('semblance', 'curator');
    SELECT * INTO STRICT found FROM semblance.projects p WHERE p.name = project;
    EXECUTE format('DROP SCHEMA %I CASCADE', found.place);
    DELETE FROM semblance.project_cases c WHERE c.project = found.id;
    DELETE FROM semblance.project_members m WHERE m.project = found.id;
    DELETE FROM semblance.projects p WHERE p.id = found.id;
END $$;

-- The role lets the account name the tables of projects; the list of members says which rows it sees.
CREATE OR REPLACE FUNCTION semblance_projects.let_in(project integer, person text, "right" text) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM semblance_projects.check_right('semblance', 'curator');
    IF "right" IS NULL OR "right" NOT IN ('reader', 'annotator')
        OR NOT EXISTS (SELECT FROM pg_roles WHERE rolname = person AND rolcanlogin)
    THEN
        RAISE check_violation USING MESSAGE = 'no such right or account';
    END IF;
    INSERT INTO semblance.project_members VALUES (project, person, "right")
        ON CONFLICT ON CONSTRAINT project_members_pkey DO UPDATE SET "right" = excluded."right";
    EXECUTE format('GRANT %I TO %I', (SELECT r.role FROM semblance.library_roles r WHERE r.name = 'project_' || "right"),
        person);
END $$;

RESET ROLE;
