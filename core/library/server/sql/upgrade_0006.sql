-- From revision 0006: administrators owned the tables, and who made the library its functions and its audit log. Run by
-- that account, and followed by the pages that remove all functions, triggers, policies and grants and make them again.

DO $upgrade$
DECLARE
    owner CONSTANT text := :'owner';
    audit CONSTANT text := :'audit';
    one text;
    place text;
BEGIN
    FOR place IN SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname ~ '^semblance(_projects|_project_[0-9a-f]{16})?$' LOOP
        EXECUTE format('GRANT USAGE, CREATE ON SCHEMA %I TO %I, %I', place, owner, audit);
        FOR one IN
            SELECT format('ALTER %s %s OWNER TO %I', CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END,
                c.oid::regclass, CASE WHEN c.relkind = 'r' AND c.relname ~ '^audit_' THEN audit ELSE owner END)
            FROM pg_catalog.pg_class c WHERE c.relnamespace = place::regnamespace AND c.relkind IN ('r', 'v', 'S')
                -- Those of columns go with their tables.
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                    WHERE d.objid = c.oid AND d.classid = 'pg_catalog.pg_class'::regclass AND d.deptype IN ('a', 'i')
                        AND d.refclassid = 'pg_catalog.pg_class'::regclass AND c.relkind = 'S')
            UNION ALL SELECT format('ALTER FUNCTION %s OWNER TO %I', p.oid::regprocedure, owner)
            FROM pg_catalog.pg_proc p WHERE p.pronamespace = place::regnamespace
        LOOP EXECUTE one; END LOOP;
        EXECUTE format('ALTER SCHEMA %I OWNER TO %I', place, owner);
    END LOOP;
END $upgrade$;

SET LOCAL ROLE :"audit";
DROP TRIGGER only_added ON semblance.audit_log;
DROP TRIGGER log_changes ON semblance.audit_pending;
ALTER TABLE semblance.audit_log SET SCHEMA semblance_audit;
ALTER TABLE semblance.audit_head SET SCHEMA semblance_audit;
ALTER TABLE semblance.audit_pending SET SCHEMA semblance_audit;
CREATE TABLE semblance_audit.audit_waiting (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    time text COLLATE "C" NOT NULL,
    by text COLLATE "C" NOT NULL,
    action text COLLATE "C" NOT NULL,
    detail text COLLATE "C" NOT NULL
);
RESET ROLE;
