-- The tables of revision 0006, once nothing that was made before can run any more.

SET LOCAL ROLE :"owner";
DO $upgrade$
DECLARE
    place text;
BEGIN
    FOR place IN SELECT 'semblance' UNION ALL SELECT p.place FROM semblance.projects p LOOP
        EXECUTE format('ALTER TABLE %I.library_state ADD COLUMN changed_by bigint', place);
        EXECUTE format('CREATE TABLE %I.locks (name text COLLATE "C" PRIMARY KEY)', place);
        EXECUTE format('INSERT INTO %I.locks VALUES (''write''), (''build'')', place);
        EXECUTE format('CREATE TABLE %1$I.reader_accounts (study integer NOT NULL REFERENCES %1$I.reader_studies (id) '
            'ON DELETE CASCADE, reader text COLLATE "C" NOT NULL, account text COLLATE "C" NOT NULL, '
            'PRIMARY KEY (study, reader))', place);
    END LOOP;
END $upgrade$;
ALTER TABLE semblance.projects ALTER COLUMN until TYPE date USING
    CASE WHEN pg_catalog.pg_input_is_valid(until, 'date') AND until ~ '^[0-9]' THEN until::date ELSE current_date END;
ALTER TABLE semblance.projects ADD CONSTRAINT until_is_a_day CHECK (isfinite(until));
INSERT INTO semblance.library_roles VALUES
    ('owner', :'owner'), ('audit', :'audit'), ('project_reader', :'project_reader'),
    ('project_annotator', :'project_annotator'), ('reader', :'reader'), ('annotator', :'annotator'),
    ('curator', :'curator'), ('administrator', :'administrator') ON CONFLICT DO NOTHING;
-- Members name the tables of projects by a role.
DO $upgrade$
DECLARE
    one record;
BEGIN
    FOR one IN SELECT DISTINCT r.role, m.person FROM semblance.project_members m
        JOIN semblance.library_roles r ON r.name = 'project_' || m."right" JOIN pg_catalog.pg_roles p ON p.rolname = m.person
    LOOP
        EXECUTE format('GRANT %I TO %I', one.role, one.person);
    END LOOP;
END $upgrade$;
UPDATE semblance.alembic_version SET version_num = :'revision';
RESET ROLE;
